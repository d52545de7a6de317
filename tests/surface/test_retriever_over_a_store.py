"""HybridRetriever over SQLiteStore: pages, tenants, passages, hostile queries."""

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.runnables import ConfigurableField
from pydantic import ValidationError

from langchain_ctxfetch import (
    ConfigurationError,
    ContentPolicyCompressor,
    Hit,
    HybridRetriever,
    Ranking,
    SQLiteStore,
    StoreError,
    standardised_fusion,
)
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch.testing import ScriptedChannel

WORDS = [
    "tea",
    "coffee",
    "water",
    "milk",
    "juice",
    "wine",
    "beer",
    "cocoa",
    "soup",
    "broth",
]


def get_in_a_loop(wanted, *arguments, **keywords):
    return asyncio.run(wanted.aget_page(*arguments, **keywords))


@pytest.fixture(params=[HybridRetriever.get_page, get_in_a_loop], ids=["sync", "async"])
def get(request):
    return request.param


@pytest.fixture(scope="module")
def store():
    """Sixty documents of two tenants, with vectors that mean nothing."""
    with SQLiteStore(embedding=DeterministicFakeEmbedding(size=8)) as made:
        made.add_documents(
            [
                Document(
                    f"{WORDS[n % 10]} and {WORDS[n % 7]} of tenant {'ab'[n % 2]}",
                    id=f"{'ab'[n % 2]}{n}",
                    metadata={"tenant": "ab"[n % 2], "n": n},
                )
                for n in range(60)
            ]
        )
        yield made


def all_pages(get, wanted, query="tea and coffee", **keywords):
    pages = [get(wanted, query, page=1, **keywords)]
    while pages[-1].has_more:
        pages.append(get(wanted, query, page=pages[-1].page + 1, **keywords))
    return pages


@pytest.mark.parametrize("fusion", ["round_robin", "rrf", "weighted"])
@pytest.mark.parametrize("k", [1, 7, 10])
def test_pages_are_the_ranking_whatever_the_fusion(get, store, fusion, k) -> None:
    """No repeats, no holes: one great page holds the same."""
    wanted = HybridRetriever.from_store(store, k=k, fusion=fusion)
    pages = all_pages(get, wanted)
    end_to_end = [document.id for page in pages for document in page.documents]
    whole = [document.id for document in get(wanted, "tea and coffee", k=99).documents]

    assert end_to_end == whole
    assert len(set(whole)) == len(whole) == 60


def test_one_store_given_as_a_channel_means_both_its_channels(store) -> None:
    """By keyword and by vector, in one round."""
    wanted = HybridRetriever(channels=[store])

    assert [channel.name for channel in wanted.channels] == ["keyword", "vector"]


def test_a_vector_channel_needs_an_embedding() -> None:
    """Naming it without one is refused with advice; else keyword alone is used."""
    with SQLiteStore() as plain:
        wanted = HybridRetriever.from_store(plain)
        with pytest.raises(ConfigurationError, match="embedding"):
            HybridRetriever.from_store(plain, ["keyword", "vector"])

    assert [channel.name for channel in wanted.channels] == ["keyword"]


def test_weighted_scores_every_document_by_both_channels(get, store) -> None:
    """With a window of three, what one channel brought has its exact score in both."""
    wanted = HybridRetriever.from_store(store, fusion="weighted", k=2, max_window=3)
    page = get(wanted, "milk")
    exact = {}
    for channel in ("keyword", "vector"):
        everything = store.channel(channel).ask("milk", 60, None)
        exact[channel] = {hit.id: hit.score for hit in everything}
    fused = dict(
        standardised_fusion(
            [
                Ranking(
                    channel,
                    list(exact[channel])[:3],
                    list(exact[channel].values())[:3],
                    {name: exact[channel].get(name, 0.0) for name in exact["vector"]},
                )
                for channel in ("keyword", "vector")
            ],
            [0.75, 0.25],
        )
    )

    assert {
        document.id: document.metadata["ctxfetch"]["score"]
        for document in page.documents
    } == pytest.approx(
        dict(sorted(fused.items(), key=lambda pair: -pair[1])[:2]), abs=1e-5
    )


wheres = st.recursive(
    st.sampled_from(
        [
            {},
            {"tenant": "b"},
            {"tenant": {"$ne": "a"}},
            {"tenant": {"$in": ["a", "b"]}},
            {"n": {"$gte": 0}},
            {"missing": {"$exists": False}},
        ]
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
        inner.map(lambda part: {"$not": part}),
    ),
    max_leaves=5,
)


@given(
    where=wheres,
    held=wheres,
    given_=wheres,
    page=st.integers(1, 3),
    fusion=st.sampled_from(["round_robin", "rrf", "weighted"]),
    content=st.sampled_from(["document", "passages"]),
)
def test_no_character_of_another_tenant(
    store, where, held, given_, page, fusion, content
) -> None:
    """Whatever keyword, input and configuration say, tenant b stays out."""
    wanted = HybridRetriever.from_store(
        store, filter={"tenant": "a"}, fusion=fusion, content=content
    )
    config = {"configurable": {"ctxfetch_where": held, "filter": {}}}
    asked = {"query": "tea tenant b", "where": given_}
    found = wanted.invoke(asked, config, where=where, page=page)

    assert all(document.metadata["tenant"] == "a" for document in found)
    assert "tenant b" not in "".join(document.page_content for document in found)


def test_passages_bring_only_passages(get) -> None:
    """A long document comes as its best passages, whose offsets are exact."""
    text = "Filler goes here. " * 300 + "The kettle sings. " + "More of it. " * 300
    with SQLiteStore() as made:
        made.add_documents([Document(text, id="long")])
        wanted = HybridRetriever.from_store(made, content="passages")
        (found,) = get(wanted, "kettle").documents
    added = found.metadata["ctxfetch"]
    quoted = [text[start:end] for start, end in added["passages"]]

    assert "kettle" in found.page_content
    assert len(found.page_content) < 2000
    assert found.page_content == "\n…\n".join(quoted)
    assert (added["content"], added["length"]) == ("passages", len(text))


def test_a_foreign_hit_without_an_id_meets_the_stored_document(get) -> None:
    """By source and text, which the store then brings with its hits."""
    with SQLiteStore() as made:
        made.add_texts(["green tea"], [{"source": "t.md"}], ids=["1"])
        nameless = ScriptedChannel(
            "other", [Hit(None, "green tea", {"source": "t.md"})]
        )
        found = get(HybridRetriever(channels=[made, nameless]), "tea").documents

    assert [document.id for document in found] == ["1"]
    assert set(found[0].metadata["ctxfetch"]["channels"]) == {"keyword", "other"}


def test_a_key_reads_metadata_of_stored_documents(get) -> None:
    """Two files of one source are one document."""
    with SQLiteStore() as made:
        made.add_texts(["green tea", "tea"], [{"source": "s"}] * 2, ids=["1", "2"])
        page = get(HybridRetriever.from_store(made, key="source"), "tea")

    assert len(page.documents) == 1


def test_a_document_deleted_meanwhile_leaves_a_gap() -> None:
    """What was found and is gone when its text is brought is named."""
    with SQLiteStore() as made:
        made.add_texts(["tea one", "tea two"], ids=["1", "2"])
        fetch = made.fetch

        class Shrinking:
            """The same store, which loses a document before every fetch."""

            def __getattr__(self, name):
                return getattr(made, name)

            channel_names = made.channel_names
            search_round, asearch_round = made.search_round, made.asearch_round
            afetch, highlight, ahighlight = made.afetch, made.highlight, made.ahighlight

            def fetch(self, ids, *, filter=None):  # noqa: A002 - the port's word
                made.delete(["1"])
                return fetch(ids, filter=filter)

        page = HybridRetriever(channels=[Shrinking()]).get_page("tea")

    assert [document.id for document in page.documents] == ["2"]
    assert [(gap.part, gap.kind) for gap in page.gaps] == [("1", "missing")]


@pytest.mark.parametrize(
    "query",
    [
        'C++ "foo',
        "NEAR(",
        "AND OR NOT",
        "a* ^b -c col:d",
        "\ud83d lone",
        "nul \0 byte",
        "'; drop table documents; --",
        "{query} %s $1 \\1",
        "tea " * 25_000,
        "．。、",
        "\u202e\u200b",
    ],
)
def test_hostile_queries_are_plain_text(get, store, query) -> None:
    """No operator, no template, no error; pages still work."""
    wanted = HybridRetriever.from_store(store, fusion="weighted")

    assert isinstance(get(wanted, query).documents, tuple)


def test_FR_L6_many_threads_and_tasks_agree(store) -> None:
    """A hundred invokes over eight threads and fifty tasks equal one."""
    wanted = HybridRetriever.from_store(store, fusion="weighted")
    once = wanted.invoke("tea and milk")
    with ThreadPoolExecutor(8) as pool:
        threads = list(pool.map(wanted.invoke, ["tea and milk"] * 100))

    async def tasks():
        return await asyncio.gather(
            *(wanted.ainvoke("tea and milk") for _ in range(50))
        )

    assert [once] * 150 == threads + asyncio.run(tasks())


def test_copies_share_the_store_and_pickling_a_memory_store_is_refused(store) -> None:
    """Deepcopy asks the same store; pickle says why it cannot."""
    wanted = HybridRetriever.from_store(store)

    assert copy.deepcopy(wanted).invoke("tea") == wanted.invoke("tea")
    with pytest.raises(ConfigurationError, match="memory"):
        pickle.dumps(wanted)


def test_a_retriever_over_a_file_can_be_pickled(tmp_path) -> None:
    """The copy opens the file again."""
    with SQLiteStore(tmp_path / "s.db") as made:
        made.add_texts(["tea"])
        again = pickle.loads(pickle.dumps(HybridRetriever.from_store(made)))

        assert again.invoke("tea") == HybridRetriever.from_store(made).invoke("tea")
        again.channels[0].store.close()


def test_a_closed_store_is_a_typed_error(get) -> None:
    """Searching after close says so."""
    made = SQLiteStore()
    made.add_texts(["tea"])
    wanted = HybridRetriever.from_store(made)
    made.close()
    with pytest.raises(StoreError, match="closed"):
        get(wanted, "tea")


def test_configurable_k_is_seen_and_the_store_is_not_rebuilt(store) -> None:
    """configurable_fields runs the constructor again, over the same store."""
    wanted = HybridRetriever.from_store(store).configurable_fields(
        k=ConfigurableField(id="size")
    )

    assert len(wanted.invoke("tea", {"configurable": {"size": 3}})) == 3


def test_the_compressor_works_inside_langchains_own_retriever(store) -> None:
    """ContextualCompressionRetriever hands keywords down."""
    wanted = ContextualCompressionRetriever(
        base_retriever=HybridRetriever.from_store(store),
        base_compressor=ContentPolicyCompressor(store=store),
    )
    found = wanted.invoke("tea", k=2)

    assert [d.metadata["ctxfetch"]["strategy"] for d in found] == ["full", "full"]


def test_a_wrong_filter_is_refused_at_construction(store) -> None:
    """With the operator named."""
    with pytest.raises(ValidationError, match="regex"):
        HybridRetriever.from_store(store, filter={"a": {"$regex": "x"}})


@pytest.mark.parametrize("answer", [None, [], [Ok(None)], [[]], [Ok([])] * 2])
def test_a_store_that_answers_wrongly_is_a_gap(get, store, answer) -> None:
    """The other channel's documents come, and the gap names the store's."""

    class Wrong:
        """A store of somebody else, with a bug."""

        channel_names = staticmethod(lambda: ("wrong",))
        search_round = staticmethod(lambda requests: answer)
        fetch = afetch = highlight = ahighlight = staticmethod(lambda: None)

        @staticmethod
        async def asearch_round(requests):
            return answer

    good = ScriptedChannel("good", [Hit("a", "tea")])
    page = get(HybridRetriever(channels=[Wrong(), good]), "tea")

    assert [document.id for document in page.documents] == ["a"]
    assert [(gap.part, gap.kind) for gap in page.gaps] == [("wrong", "not_searched")]


@pytest.mark.parametrize("fusion", ["round_robin", "rrf", "weighted"])
def test_a_copy_without_text_never_hides_the_stored_one(get, fusion) -> None:
    """However well it is ranked; and a document that nobody has is a gap."""
    with SQLiteStore() as made:
        made.add_texts(["green tea"], [{"n": 1}], ids=["1"])
        ghosts = [Hit("1", None, score=9.0), Hit("ghost", None, score=8.0)]
        wanted = HybridRetriever(
            channels=[ScriptedChannel("other", ghosts), made], fusion=fusion
        )
        page = get(wanted, "tea")

    assert [(d.page_content, d.metadata["n"]) for d in page.documents] == [
        ("green tea", 1)
    ]
    assert [(gap.part, gap.kind) for gap in page.gaps] == [("ghost", "missing")]


def test_the_only_match_by_words_leads_a_weighted_page_beside_a_foreign_channel() -> (
    None
):
    """Documents that the store does not know match no word, so they count 0 there."""
    store = SQLiteStore()
    store.add_texts(["green tea"], ids=["tea"])
    others = [Hit("x", "text x", score=2.0), Hit("y", "text y", score=1.0)]
    wanted = HybridRetriever(
        channels=[store, ScriptedChannel("other", others)], fusion="weighted"
    )

    assert wanted.invoke("tea")[0].id == "tea"


@pytest.mark.parametrize("content", ["document", "passages"])
def test_a_text_that_was_replaced_meanwhile_has_no_old_offsets(content) -> None:
    """It is delivered as it is now, and a gap says why its passages are unknown."""

    class Racing(SQLiteStore):
        def fetch(self, ids, **keywords):
            self.add_documents([Document("new tea", id="1")])
            return super().fetch(ids, **keywords)

    store = Racing()
    store.add_documents([Document("Old words. " * 20 + "green tea", id="1")])
    page = HybridRetriever.from_store(store, content=content).get_page("green tea")
    (found,) = page.documents

    assert found.page_content == "new tea"
    assert found.metadata["ctxfetch"]["passages"] == []
    assert [gap.part for gap in page.gaps] == ["1"]
