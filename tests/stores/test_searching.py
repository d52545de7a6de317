"""What searches answer, and which arguments they refuse."""

from __future__ import annotations

import math

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index

from langchain_ctxfetch import (
    ConfigurationError,
    FilterError,
    SQLiteStore,
    StoreError,
    StoreMismatchError,
)
from langchain_ctxfetch._core.flow import Failed
from langchain_ctxfetch.ports import SearchRequest
from tests.stores.fakes import EMBEDDING, found_ids, ids


def test_passages_are_documents_of_their_own(either) -> None:
    """Their id says where they stand, exactly."""
    text = "The cat sleeps. 猫は寝る。 " * 120
    either.add_texts([text], [{"n": 1}], ids=["a#1"])
    found = either.similarity_search("cat", k=99, returns="passages")

    assert len(found) >= len(text) // 600
    for passage in found:
        source, _, span = passage.id.rpartition("#")
        start, end = map(int, span.split("-"))
        assert passage.page_content == text[start:end]
        assert passage.metadata == {"n": 1, "source_id": "a#1", "start_index": start}
        assert source == "a#1"


def test_returns_is_one_of_two_words(store) -> None:
    """Anything else is named."""
    with pytest.raises(ConfigurationError, match=r"`returns`.*'chunks'"):
        store.similarity_search("x", returns="chunks")


def test_k_bounds_the_results(either) -> None:
    """0 is none, and a very large number is all."""
    either.add_texts(["cat"] * 7)

    assert [len(either.similarity_search("cat", k=k)) for k in (0, 1, 10**9)] == [
        0,
        1,
        7,
    ]


@pytest.mark.parametrize("k", [-1, 1.5, "3", None, True])
def test_k_is_a_whole_number_from_0(either, k) -> None:
    """Anything else is named."""
    with pytest.raises(ConfigurationError, match="`k`"):
        either.similarity_search("cat", k=k)


@pytest.mark.parametrize(
    "arguments",
    [{"k": -1}, {"fetch_k": -1}, {"lambda_mult": 2}, {"lambda_mult": math.nan}],
)
def test_diverse_search_refuses_wrong_numbers(by_vector, arguments) -> None:
    """Each is named."""
    by_vector.add_texts(["cat"])
    (name,) = arguments

    with pytest.raises(ConfigurationError, match=f"`{name}`"):
        by_vector.max_marginal_relevance_search("cat", **arguments)


def test_diverse_search_prefers_what_differs(by_vector) -> None:
    """Of two equal texts and a third, the third comes second."""
    by_vector.add_texts(["cat", "cat", "dog"], ids=["a", "b", "c"])
    found = by_vector.max_marginal_relevance_search("cat", k=2, lambda_mult=0.1)

    assert ids(found) == ["a", "c"]


def test_an_unknown_operator_is_an_error_that_names_it(either) -> None:
    """It is never ignored."""
    with pytest.raises(FilterError, match=r"\$like"):
        either.similarity_search("cat", filter={"a": {"$like": "x"}})


@pytest.mark.parametrize("call", ["similarity_search", "delete", "add_documents"])
def test_an_unknown_argument_is_refused(store, call) -> None:
    """A misspelt filter must not search, or delete, unfiltered."""
    given = {"query": "x"} if call == "similarity_search" else {}
    given = {"documents": []} if call == "add_documents" else given

    with pytest.raises(ConfigurationError, match="`fliter`"):
        getattr(store, call)(**given, fliter={"a": 1})


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.similarity_search_by_vector([1.0]),
        lambda store: store.max_marginal_relevance_search("x"),
        lambda store: store.max_marginal_relevance_search_by_vector([1.0]),
        lambda store: store.channel("vector"),
    ],
)
def test_vectors_need_an_embedding(store, call) -> None:
    """The error names the argument."""
    with pytest.raises(ConfigurationError, match="`embedding`"):
        call(store)


def test_a_round_without_an_embedding_fails_by_vector_alone(store) -> None:
    """The keyword channel answers."""
    store.add_texts(["cat"], ids=["a"])
    words, meanings = store.search_round(
        [SearchRequest("keyword", "cat", 1), SearchRequest("vector", "cat", 1)]
    )

    assert ids(words.value) == ["a"]
    assert isinstance(meanings, Failed)
    assert "`embedding`" in str(meanings.error)


@pytest.mark.parametrize("vector", [[1.0], [math.nan] * 8, ["x"] * 8, []])
def test_a_vector_of_another_kind_is_refused(by_vector, vector) -> None:
    """Another length, NaN, no numbers."""
    by_vector.add_texts(["cat"])

    with pytest.raises(StoreError):
        by_vector.similarity_search_by_vector(vector)


def test_an_embedding_that_changes_its_length_is_refused(tmp_path) -> None:
    """What is stored stays."""
    path = tmp_path / "s.db"
    with SQLiteStore(path, embedding=EMBEDDING) as store:
        store.add_texts(["cat"], ids=["a"])
    with SQLiteStore(path, embedding=DeterministicFakeEmbedding(size=9)) as other:
        with pytest.raises(StoreMismatchError, match="9 numbers where 8"):
            other.add_texts(["dog"], ids=["b"])
        with pytest.raises(StoreMismatchError, match="9 numbers where 8"):
            other.similarity_search("cat")

        assert found_ids(other, "cat") == ["a"]


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_a_blank_question_finds_nothing(either, query) -> None:
    """In any channel."""
    either.add_texts(["cat", ""])

    assert either.similarity_search(query) == []


def test_a_question_of_stop_words_finds_the_documents_that_hold_them(store) -> None:
    """They count only where there is nothing else."""
    store.add_texts(["to be or not to be", "a cat"], ids=["hamlet", "cat"])

    assert found_ids(store, "to be or not to be") == ["hamlet"]
    assert found_ids(store, "the not cat") == ["cat"]


def test_a_very_long_question_is_answered(either) -> None:
    """100 KB of distinct words, and of one."""
    either.add_texts(["cat sleeps"], ids=["a"])
    words = " ".join(f"w{number}" for number in range(15_000))

    assert ids(either.similarity_search(f"cat {words}")) == ["a"]
    assert ids(either.similarity_search("cat " * 25_000)) == ["a"]


def test_relevance_lies_between_0_and_1(either) -> None:
    """So that LangChain's threshold can be used."""
    either.add_texts(["cat"] * 3 + ["dog"])
    found = either.similarity_search_with_relevance_scores("cat", k=9)
    retriever = either.as_retriever(
        search_type="similarity_score_threshold",
        search_kwargs={"k": 9, "score_threshold": 0.01},
    )

    assert found
    assert all(0 <= score <= 1 for _, score in found)
    assert 3 <= len(retriever.invoke("cat")) <= 4


@pytest.mark.parametrize("kind", ["similarity", "mmr"])
def test_a_store_is_a_retriever_of_langchain(by_vector, kind) -> None:
    """With our filter among its arguments."""
    by_vector.add_texts(["cat", "cat"], [{"n": 1}, {"n": 2}], ids=["a", "b"])
    retriever = by_vector.as_retriever(
        search_type=kind, search_kwargs={"filter": {"n": 2}}
    )

    assert ids(retriever.invoke("cat")) == ["b"]


def test_FR_M2_langchains_index_leaves_what_is_unchanged(by_vector) -> None:
    """200 documents of one source in batches of 100, twice."""
    records = InMemoryRecordManager(namespace="test")
    records.create_schema()
    documents = [
        Document(f"cat {number}", metadata={"source": "s"}) for number in range(200)
    ]
    first, second = (
        index(
            documents,
            records,
            by_vector,
            cleanup="full",
            source_id_key="source",
            key_encoder="sha256",
        )
        for _ in range(2)
    )

    assert (first["num_added"], len(by_vector)) == (200, 200)
    assert (second["num_added"], second["num_deleted"]) == (0, 0)


def test_highlights_answer_in_the_order_of_the_ids(store) -> None:
    """None for what does not exist or match, no passages where nothing answers."""
    filler = "Nothing of interest stands here. " * 40
    store.add_texts(
        [f"{filler}The zebra ran. {filler}", "cats", "zebra"],
        [{"n": 1}, {"n": 1}, {"n": 2}],
        ids=["a", "b", "c"],
    )
    found = [
        each.value
        for each in store.highlight(
            ["c", "a", "none", "b"], "zebra", filter={"n": 1}, room=200
        )
    ]

    assert [hit and hit.id for hit in found] == [None, "a", None, "b"]
    assert any("zebra" in passage.text for passage in found[1].passages)
    assert sum(end - start for start, end, _ in found[1].passages) <= 200
    assert (found[3].passages, found[3].text) == ((), None)
