"""The store as an object: closed, described, asynchronous, made of texts."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_ctxfetch import (
    ConfigurationError,
    SQLiteStore,
    StoreError,
)
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.ports import SearchRequest
from tests.stores.fakes import EMBEDDING, ids


def test_a_closed_store_says_so(either) -> None:
    """Closing twice is fine; every use after it is a typed error."""
    either.add_texts(["cat"])
    either.close()
    either.close()
    (outcome,) = either.search_round([SearchRequest("keyword", "cat", 1)])

    assert isinstance(outcome.error, StoreError)
    for use in (
        lambda: either.similarity_search("cat"),
        lambda: either.add_texts(["dog"]),
        lambda: either.get_by_ids(["a"]),
        lambda: either.delete(["a"]),
        lambda: len(either),
        either.stats,
        lambda: list(either.records()),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()


async def test_a_store_closes_itself_at_the_end_of_a_block(either) -> None:
    """Asynchronously as in a plain block."""
    async with either as store:
        await store.aadd_texts(["cat"])
    await store.aclose()

    with pytest.raises(StoreError, match="closed"):
        await store.asimilarity_search("cat")


def test_stats_and_repr_say_what_a_store_is(tmp_path) -> None:
    """Counts, size, language, model."""
    with SQLiteStore(
        tmp_path / "s.db", embedding=EMBEDDING, language="german"
    ) as store:
        store.add_texts(["Katze. " * 200, "Hund", ""], ids=["a", "b", "c"])
        store.delete(["b"])
        stats = store.stats()

        assert repr(store) == f"SQLiteStore('{tmp_path / 's.db'}', with vectors)"
    assert (stats.documents, stats.passages, stats.dimension) == (2, 3, 8)
    assert (stats.language, stats.embedding_id) == (
        "german",
        "DeterministicFakeEmbedding",
    )
    assert stats.bytes > 10_000


@pytest.mark.parametrize("arguments", [{"passage_size": 0}, {"passage_size": -5}])
def test_a_passage_has_at_least_one_character(arguments) -> None:
    """The argument is named."""
    with pytest.raises(ConfigurationError, match="`passage_size`"):
        SQLiteStore(**arguments)


def test_a_batch_has_at_least_one_document(store) -> None:
    """The argument is named."""
    with pytest.raises(ConfigurationError, match="`batch_size`"):
        store.add_documents([Document("x")], batch_size=0)


def test_the_async_calls_do_as_the_sync_ones(by_vector) -> None:
    """Write, search, fetch, quote, remove."""
    asyncio.run(_compare_twins(by_vector))


async def _compare_twins(by_vector) -> None:
    documents = [Document(f"cat {n}", id=str(n), metadata={"n": n}) for n in range(5)]
    with SQLiteStore(embedding=EMBEDDING) as other:
        other.add_documents(documents)
        assert await by_vector.aadd_documents(documents) == list("01234")
        vector = EMBEDDING.embed_query("cat")
        where = {"n": {"$gt": 0}}
        requests = [
            SearchRequest(name, "cat", 3, where, complete=True)
            for name in ("keyword", "vector")
        ]

        assert await by_vector.asearch_round(requests) == other.search_round(requests)
        for name, arguments in {
            "similarity_search": ["cat"],
            "similarity_search_with_score": ["cat"],
            "similarity_search_with_relevance_scores": ["cat"],
            "similarity_search_by_vector": [vector],
            "max_marginal_relevance_search": ["cat"],
            "max_marginal_relevance_search_by_vector": [vector],
        }.items():
            answer = await getattr(by_vector, f"a{name}")(*arguments, filter=where)
            assert answer == getattr(other, name)(*arguments, filter=where)
        assert await by_vector.afetch(["1", "0"], filter=where) == other.fetch(["1"])
        assert await by_vector.aget_by_ids(["1"]) == other.get_by_ids(["1"])
        assert await by_vector.ahighlight(["1"], "cat") == other.highlight(["1"], "cat")
    assert await by_vector.adelete(["0"], filter=where) is True
    assert await by_vector.aremove(filter=where) == 4
    assert len(by_vector) == 1


def test_a_store_can_be_made_of_texts() -> None:
    """As any vector store."""
    with (
        SQLiteStore.from_texts(["cat"], EMBEDDING, [{"n": 1}], ids=["a"]) as one,
        SQLiteStore.from_documents([Document("cat", id="a")], EMBEDDING) as other,
    ):
        assert one.get_by_ids(["a"]) == [Document("cat", metadata={"n": 1}, id="a")]
        assert len(other) == 1


async def test_a_store_can_be_made_of_texts_without_blocking() -> None:
    """The file is opened beside the event loop too."""
    store = await SQLiteStore.afrom_texts(["cat"], EMBEDDING, [{"n": 1}], ids=["a"])
    async with store:
        assert ids(await store.aget_by_ids(["a"])) == ["a"]


def test_hits_can_be_put_as_they_are(store) -> None:
    """Without an id one is made; without a text the document is blank."""
    (made,) = store.put([Hit(None, None, {"n": 1})])

    assert [hit.text for hit in store.fetch([made])] == [""]


@pytest.mark.parametrize("wrong", [True, False, 1.5, "3", None, -1, np.bool_(True)])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("k", lambda store, n: store.similarity_search("cat", k=n)),
        ("k", lambda store, n: store.similarity_search_with_score("cat", n)),
        ("k", lambda store, n: store.max_marginal_relevance_search("cat", k=n)),
        ("fetch_k", lambda s, n: s.max_marginal_relevance_search("cat", fetch_k=n)),
        ("depth", lambda s, n: s.search_round([SearchRequest("keyword", "cat", n)])),
        ("room", lambda store, n: store.highlight(["a"], "cat", room=n)),
        ("batch_size", lambda store, n: store.add_texts(["x"], batch_size=n)),
        ("passage_size", lambda _, n: SQLiteStore(passage_size=n)),
    ],
)
def test_a_number_of_things_is_a_whole_number(by_vector, name, call, wrong) -> None:
    """No bool, no float, no text, nothing below 0."""
    by_vector.add_texts(["cat"], ids=["a"])

    with pytest.raises(ConfigurationError, match=f"`{name}` must be a whole number"):
        call(by_vector, wrong)


def test_whole_numbers_of_numpy_count(by_vector) -> None:
    """As those of Python."""
    by_vector.add_texts(["cat", "dog", "cow"], batch_size=np.int64(2))

    assert len(by_vector.similarity_search("cat", k=np.int32(2))) == 2


@pytest.mark.parametrize("wrong", [True, None, "0.5", -0.1, 1.1, float("nan")])
def test_the_share_of_diversity_is_a_number_from_0_to_1(by_vector, wrong) -> None:
    """The argument is named."""
    with pytest.raises(ConfigurationError, match="`lambda_mult`"):
        by_vector.max_marginal_relevance_search("cat", lambda_mult=wrong)


@pytest.mark.parametrize("query", [None, 5, ["cat"], b"cat"])
@pytest.mark.parametrize(
    "call",
    [
        lambda store, query: store.similarity_search(query),
        lambda store, query: store.max_marginal_relevance_search(query),
        lambda store, query: store.highlight(["a"], query),
        lambda store, query: store.search_round([SearchRequest("keyword", query, 1)]),
        lambda store, query: store.search_round([SearchRequest("vector", query, 1)]),
    ],
)
def test_a_question_is_a_text(by_vector, call, query) -> None:
    """The argument is named, and the file not blamed."""
    by_vector.add_texts(["cat"], ids=["a"])

    with pytest.raises(ConfigurationError, match="`query` must be a text"):
        call(by_vector, query)


@pytest.mark.parametrize("embedding", ["local", 7, object()])
def test_what_is_no_embedding_is_refused_at_once(embedding) -> None:
    """When the store is made, and before any vector is."""
    with pytest.raises(ConfigurationError, match="`embedding`"):
        SQLiteStore(embedding=embedding)
    with pytest.raises(ConfigurationError, match="`embedding`"):
        SQLiteStore().reembed(embedding)


@pytest.mark.parametrize("given", [None, 7])
def test_what_is_no_list_of_documents_is_refused(given) -> None:
    """Texts neither, nor one text in the place of a list."""
    store = SQLiteStore()
    with pytest.raises(ConfigurationError, match="`documents`"):
        store.add_documents(given)
    with pytest.raises(ConfigurationError, match="`texts`"):
        store.add_texts(given)
    with pytest.raises(ConfigurationError, match="`texts`"):
        store.add_texts("one text")
