"""HybridRetriever over retrievers and vector stores that are not ours."""

import asyncio
import threading

import pytest
from hypothesis import given, settings, strategies as st
from langchain_classic.retrievers import MultiVectorRetriever
from langchain_core.documents import Document
from langchain_core.stores import InMemoryStore

from langchain_ctxfetch import (
    Channel,
    ConfigurationError,
    FilterError,
    HybridRetriever,
    RetrieverChannel,
    SQLiteStore,
    StoreError,
    VectorStoreChannel,
)
from langchain_ctxfetch._core import filters
from langchain_ctxfetch.stores.langchain import (
    document_filter,
    metadata_filter,
    operator_filter,
)
from tests.surface.foreign import (
    FILTERED,
    KINDS,
    Asynchronous,
    AsyncOnly,
    Blocking,
    Fixed,
    FreshIds,
    HalfKeyword,
    Held,
    Keyword,
    SeveralQueries,
    Singles,
    SyncOnly,
    WholeKeyword,
    bm25,
    in_faiss,
    in_memory,
)

FUSIONS = ["round_robin", "rrf", "weighted"]


def get_in_a_loop(wanted, *arguments, **keywords):
    return asyncio.run(wanted.aget_page(*arguments, **keywords))


@pytest.fixture(params=[HybridRetriever.get_page, get_in_a_loop], ids=["sync", "async"])
def get(request):
    return request.param


@pytest.fixture(params=["sync", "async"])
def ask(request):
    def sync(channel, query="a", depth=50, where=None):
        return channel.ask(query, depth, where)

    def in_a_loop(channel, query="a", depth=50, where=None):
        return asyncio.run(channel.aask(query, depth, where))

    return sync if request.param == "sync" else in_a_loop


def corpus(count, **metadata):
    """Return so many documents; every fourth text has the letters of another."""
    return [
        Document(
            f"{'abcdefgh'[n % 8] * (1 + n % 4)} number {n}",
            id=f"d{n}",
            metadata={"n": n, "tenant": "ab"[n % 2], **metadata},
        )
        for n in range(count)
    ]


def texts(page):
    return [document.page_content for document in page.documents]


def end_to_end(get, wanted, query="aa b", **keywords):
    pages = [get(wanted, query, page=1, **keywords)]
    while pages[-1].has_more:
        pages.append(get(wanted, query, page=pages[-1].page + 1, **keywords))
    return [text for page in pages for text in texts(page)]


# --- Every kind serves ---


@pytest.mark.parametrize("fusion", FUSIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_pages_beside_a_store_of_ours(get, kind, fusion) -> None:
    """Pages laid end to end are all 30 documents, each once, in the order of one."""
    documents = corpus(30)
    with SQLiteStore() as store:
        store.add_documents(documents)
        channels = [store, KINDS[kind](documents)]
        wanted = HybridRetriever(channels=channels, k=7, fusion=fusion)
        found = end_to_end(get, wanted)
        whole = texts(get(wanted, "aa b", k=99))

    assert found == whole
    assert sorted(found) == sorted(document.page_content for document in documents)


def test_documents_without_ids_meet_those_with_made_up_ones(get) -> None:
    """BM25Retriever knows no ids, a vector store invents them: one document."""
    plain = [Document(text, metadata={"source": "s"}) for text in ("aa b", "c d")]
    page = get(HybridRetriever(channels=[bm25(plain), in_memory(plain)]), "aa")

    assert sorted(texts(page)) == ["aa b", "c d"]
    assert all(len(d.metadata["ctxfetch"]["channels"]) == 2 for d in page.documents)


FRESH = [Document(text, metadata={"source": "s"}) for text in ("aa", "b", "aa")]


def test_made_up_ids_that_are_not_trusted_do_not_part_documents(get) -> None:
    """Two channels name everything anew: source, start index and text decide."""
    channels = [
        RetrieverChannel(FreshIds(answer=FRESH), name=name, trust_ids=False)
        for name in ("one", "two")
    ]
    page = get(HybridRetriever(channels=channels), "q")

    assert texts(page) == ["aa", "b"]
    assert {document.id for document in page.documents} == {None}


def test_two_stores_that_invented_ids_for_the_same_texts_meet(get) -> None:
    """One of them need not be trusted, and then either finds the other's."""
    plain = [Document(text) for text in ("aa", "b")]
    channels = [
        in_memory(plain),
        VectorStoreChannel(in_faiss(plain), name="faiss", trust_ids=False),
    ]
    page = get(HybridRetriever(channels=channels), "a")

    assert sorted(texts(page)) == ["aa", "b"]
    assert all(document.id for document in page.documents)


def test_a_key_makes_documents_with_made_up_ids_meet(get) -> None:
    """A function of the document comes before any id."""
    channels = [
        RetrieverChannel(FreshIds(answer=FRESH), name=name) for name in ("one", "two")
    ]
    by_text = HybridRetriever(channels=channels, key=lambda each: each.page_content)

    assert texts(get(by_text, "q")) == ["aa", "b"]


# --- How they are asked ---


@pytest.mark.parametrize("kind", [Keyword, HalfKeyword, WholeKeyword])
def test_the_depth_is_handed_on_as_a_keyword(ask, kind) -> None:
    """Also where only the blocking method takes it."""
    retriever = kind(answer=corpus(9))

    assert len(ask(RetrieverChannel(retriever), depth=7)) == 7
    assert retriever.asked == [7]


def test_the_depth_is_handed_on_as_a_field_of_a_copy(ask) -> None:
    """The retriever that was given keeps its own."""
    retriever = Held(answer=corpus(9), k=2)

    assert len(ask(RetrieverChannel(retriever), depth=7)) == 7
    assert retriever.k == 2


def test_the_depth_is_handed_on_in_search_kwargs_of_a_copy(ask) -> None:
    """What else stands there is kept, a filter of its own above all."""
    kwargs = {"k": 1, "filter": lambda document: document.metadata["tenant"] == "a"}
    retriever = in_memory(corpus(20)).as_retriever(search_kwargs=kwargs)
    found = ask(RetrieverChannel(retriever), depth=15)

    assert [hit.metadata["tenant"] for hit in found] == ["a"] * 10
    assert retriever.search_kwargs == kwargs


def test_a_retriever_that_knows_no_depth_is_asked_as_it_is(ask) -> None:
    """One that asks another with several questions keeps that one's k."""
    retriever = SeveralQueries(retriever=Held(answer=corpus(9), k=4))

    assert len(ask(RetrieverChannel(retriever), depth=7)) == 4
    assert len(ask(RetrieverChannel(retriever), depth=2)) == 2


def test_a_retriever_of_pieces_is_asked_until_there_are_documents_enough(get) -> None:
    """The nearest 16 pieces are of one document: the others are found all the same."""
    vectors = in_memory(
        [
            Document("a" * (20 - n), metadata={"doc_id": f"d{n}"})
            for n in range(4)
            for _ in range(16)
        ]
    )
    whole = InMemoryStore()
    whole.mset([(f"d{n}", Document(f"whole {n}", id=f"d{n}")) for n in range(4)])
    pieces = MultiVectorRetriever(vectorstore=vectors, docstore=whole)
    wanted = HybridRetriever(channels=[pieces], k=2)

    assert sorted(end_to_end(get, wanted)) == [f"whole {n}" for n in range(4)]


def test_a_fixed_depth_is_always_asked_and_never_passed(get) -> None:
    """The order of the store depends on k; with one k there is one ranking."""

    class Reordering(Keyword):
        def _get_relevant_documents(self, query, *, run_manager, k=3):
            self.asked.append(k)
            return corpus(40)[k % 5 : k]

    retriever = Reordering()
    channel = RetrieverChannel(retriever, depth=20)
    wanted = HybridRetriever(channels=[channel], k=6)
    found = end_to_end(get, wanted)

    assert found == [document.page_content for document in corpus(20)]
    assert set(retriever.asked) == {20}
    assert get(wanted, "q", page=4).end == "limit"


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
def test_a_fusion_inside_is_not_asked_beyond_its_window(get, fusion) -> None:
    """A wider one would reorder it: pages of the outer are still its ranking."""
    documents = corpus(200)
    shuffled = sorted(documents, key=lambda each: hash(each.metadata["n"] * 7 % 200))
    inner = HybridRetriever(
        channels=[
            RetrieverChannel(Held(answer=documents), name="a"),
            RetrieverChannel(Held(answer=shuffled), name="b"),
        ],
        fusion=fusion,
        max_window=30,
    )
    wanted = HybridRetriever(channels=[inner], k=10, max_window=150)
    found = end_to_end(get, wanted)

    assert found == [d.page_content for d in inner.invoke("aa b", k=29)]


def test_a_retriever_of_ours_inside_gives_its_first_page(get) -> None:
    """Whatever page it was made for: the outer one does the paging."""
    inner = HybridRetriever(channels=[Held(answer=corpus(20))], k=5, page=2)
    wanted = HybridRetriever(channels=[inner], k=3)

    assert texts(get(wanted, "q")) == [d.page_content for d in corpus(3)]


def test_blocking_channels_are_asked_at_the_same_time(get) -> None:
    """Each waits until the other has been asked."""
    meeting = threading.Barrier(2, timeout=20)

    def meet(_):
        meeting.wait()
        return corpus(3)

    channels = [
        RetrieverChannel(Fixed(answer=meet), name="one"),
        RetrieverChannel(SyncOnly(answer=meet), name="two"),
    ]

    assert len(get(HybridRetriever(channels=channels), "q").documents) == 3


def test_asynchronous_channels_are_asked_at_the_same_time() -> None:
    """Each waits until the other has been asked."""

    async def page():
        meeting = asyncio.Barrier(2)

        class Meeting(AsyncOnly):
            async def _aget_relevant_documents(self, query, *, run_manager):
                await asyncio.wait_for(meeting.wait(), 20)
                return self.answer

        channels = [
            RetrieverChannel(Meeting(answer=corpus(2)), name=name) for name in "ab"
        ]
        return await HybridRetriever(channels=channels).aget_page("q")

    assert len(asyncio.run(page()).documents) == 2


# --- What fails ---

GOOD = Fixed(answer=[Document("good")])


def page_beside_good(get, bad, **fields):
    return get(HybridRetriever(channels=[bad, GOOD], **fields), "q")


@pytest.mark.parametrize(
    "bad",
    [AsyncOnly(answer=corpus(2)), Asynchronous(in_memory(corpus(2)))],
    ids=["retriever", "store"],
)
def test_what_answers_asynchronously_only(bad) -> None:
    """Beside others a gap says so, alone an error, with the way to ask it."""
    (gap,) = page_beside_good(HybridRetriever.get_page, bad).gaps
    alone = HybridRetriever(channels=[bad])

    assert "aget_page" in gap.reason
    with pytest.raises(ConfigurationError, match="ainvoke"):
        alone.invoke("q")
    assert len(asyncio.run(alone.ainvoke("q"))) == 2


@pytest.mark.parametrize("fields", [{}, {"timeout_s": 20}])
def test_a_stub_of_an_asynchronous_method_is_passed_over(get, fields) -> None:
    """The blocking method answers instead, in a thread of ours."""
    wanted = HybridRetriever(channels=[SyncOnly(answer=corpus(2))], **fields)

    assert len(get(wanted, "q").documents) == 2


@pytest.mark.parametrize("kind", [Fixed, SyncOnly, "store", "as_retriever"])
def test_one_that_hangs_is_a_gap_and_holds_nobody(get, kind) -> None:
    """The page, and the event loop, are done before the hanging call is."""
    release, ended = threading.Event(), threading.Event()
    held = []

    def hang(*_, **__):
        held.append(not release.wait(20))
        ended.set()
        return []

    class Hanging(Blocking):
        similarity_search = hang

    if kind == "store":
        bad = Hanging(None)
    elif kind == "as_retriever":
        bad = Hanging(None).as_retriever()
    else:
        bad = RetrieverChannel(kind(answer=hang), name="bad")
    page = page_beside_good(get, bad, timeout_s=0.1)
    release.set()
    ended.wait(20)

    assert (texts(page), page.gaps[0].kind) == (["good"], "not_searched")
    assert held == [False]


@pytest.mark.parametrize(
    "garbage", [None, "text", ["text"], [Document("x"), 3], {"a": 1}, [None]]
)
def test_garbage_is_a_gap(get, garbage) -> None:
    """It names the channel, and what came; not one document of it is used."""
    page = page_beside_good(get, RetrieverChannel(Fixed(answer=garbage), name="bad"))

    assert (texts(page), page.gaps[0].part) == (["good"], "bad")
    assert "must answer with a list of documents" in page.gaps[0].reason


def test_one_that_raises_is_a_gap(get) -> None:
    """With its error; alone it is the error's cause."""
    error = OSError("refused")
    bad = RetrieverChannel(Fixed(answer=error), name="bad")
    (gap,) = page_beside_good(get, bad).gaps

    assert (gap.part, gap.reason) == ("bad", "OSError: refused")
    with pytest.raises(StoreError, match="bad") as caught:
        get(HybridRetriever(channels=[bad]), "q")
    assert caught.value.errors == (error,)


# --- Filters ---


@pytest.mark.parametrize("kind", ["bm25", "memory", "faiss", "as_retriever", "field"])
def test_one_that_cannot_filter_never_answers_unfiltered(get, ask, kind) -> None:
    """It is a gap, and directly asked an error."""
    made = KINDS[kind](corpus(8))
    wanted = HybridRetriever(channels=[made, FILTERED["memory"](corpus(8))])
    page = get(wanted, "a", where={"tenant": "a"})

    assert {document.metadata["tenant"] for document in page.documents} == {"a"}
    assert ["cannot filter" in gap.reason for gap in page.gaps] == [True]
    with pytest.raises(ConfigurationError, match="cannot filter"):
        ask(wanted.channels[0], where={"tenant": "a"})


wheres = st.recursive(
    st.one_of(
        st.builds(
            lambda key, name, value: {key: {name: value}},
            st.sampled_from(["n", "tenant", "none"]),
            st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"]),
            st.sampled_from([3, 17, "a", "b"]),
        ),
        st.just({"n": {"$between": [5, 60]}, "tenant": "b"}),
        st.just({"tenant": {"$exists": True}}),
        st.just({"tenant": {"$nin": ["a", "z"]}}),
    ),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$or": parts}),
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: {"$and": parts}),
        inner.map(lambda part: {"$not": part}),
    ),
    max_leaves=4,
)

HUNDRED = corpus(100)
OVER_HUNDRED = {name: make(HUNDRED) for name, make in FILTERED.items()}


@pytest.mark.parametrize("kind", FILTERED)
@settings(max_examples=40)
@given(where=wheres)
def test_filters_of_other_stores_are_ours(kind, where) -> None:
    """Exactly the matching documents, however far from the question they are."""
    parsed = filters.parse(where)
    wanted = {d.id for d in HUNDRED if filters.matches(parsed, d.metadata)}

    assert {hit.id for hit in OVER_HUNDRED[kind].ask("a", 100, where)} == wanted


@pytest.mark.parametrize("kind", FILTERED)
def test_a_filter_leaves_a_prefix_of_its_longer_answer(ask, kind) -> None:
    """Also where the store lets everything through: it is asked for more."""
    channel, where = OVER_HUNDRED[kind], {"n": {"$gte": 90}}
    whole = [hit.id for hit in ask(channel, depth=50, where=where)]

    assert len(whole) == 10
    assert [hit.id for hit in ask(channel, depth=4, where=where)] == whole[:4]


def test_a_translation_that_lets_everything_through_is_named(get) -> None:
    """After 64 times the depth it is a gap, never a ranking with holes."""
    channel = FILTERED["careless"](corpus(300))
    wanted = HybridRetriever(channels=[channel, FILTERED["memory"](corpus(8))], k=1)
    page = get(wanted, "a", where={"n": 3})

    assert [document.id for document in page.documents] == ["d3"]
    assert "`translate` of careless lets too much through" in page.gaps[0].reason


def test_a_filter_that_cannot_be_translated_is_a_gap(get) -> None:
    """The channel is not asked without it."""
    bad = VectorStoreChannel(in_memory(corpus(4)), translate=operator_filter)
    wanted = HybridRetriever(channels=[bad, FILTERED["faiss"](corpus(4))])
    page = get(wanted, "a", where={"n": {"$exists": True}})

    assert page.gaps[0].reason.startswith("FilterError")
    assert len(page.documents) == 4


@pytest.mark.parametrize(
    ("where", "written"),
    [
        ({"t": 1}, {"t": {"$eq": 1}}),
        ({"t": {"$gt": 1}}, {"t": {"$gt": 1}}),
        ({"t": {"$in": ["a", "b"]}}, {"t": {"$in": ["a", "b"]}}),
        ({"t": {"$ne": 1}}, {"t": {"$ne": 1}}),
        ({"$and": [{"a": 1, "b": 2}, {"c": 3}]}, "and of a, b, c"),
        ({"$not": {"$or": [{"a": 1}, {"b": {"$ne": 2}}]}}, "and of not a, b"),
        ({"$or": [{"a": 1}]}, {"a": {"$eq": 1}}),
        ({"$not": {"$not": {"a": True}}}, {"a": {"$eq": True}}),
    ],
)
def test_a_filter_in_one_operator_for_each_key(where, written) -> None:
    """As Chroma reads it: never two keys in one mapping."""
    told = {
        "and of a, b, c": {
            "$and": [{"a": {"$eq": 1}}, {"b": {"$eq": 2}}, {"c": {"$eq": 3}}]
        },
        "and of not a, b": {"$and": [{"a": {"$ne": 1}}, {"b": {"$eq": 2}}]},
    }
    expected = told[written] if isinstance(written, str) else written

    assert operator_filter(where) == expected


@pytest.mark.parametrize(
    "where",
    [
        {"a": {"$exists": True}},
        {"a": {"$contains": "x"}},
        {"$not": {"a": {"$gt": 1}}},
        {"a": float("nan")},
        {"a": {"$regex": "x"}},
        {},
    ],
)
def test_what_those_operators_cannot_say_is_refused(where) -> None:
    """Rather than said wrongly."""
    with pytest.raises(FilterError):
        operator_filter(where)


calls = st.fixed_dictionaries(
    {},
    optional={
        "page": st.integers(-1, 12),
        "k": st.integers(-1, 12),
        "where": st.one_of(wheres, st.just({"filter": None})),
    },
)
TENANTS = [
    Document(f"{'abcd'[n % 4]} of tenant {t}", metadata={"tenant": t, "n": n})
    for n in range(12)
    for t in "ab"
]
OVER_TENANTS = [
    *(make(TENANTS) for make in FILTERED.values()),
    RetrieverChannel(bm25(TENANTS), name="bm25"),
    in_memory(TENANTS),
    in_memory(TENANTS).as_retriever(),
]


@given(calls, calls, calls, st.sampled_from(FUSIONS), st.booleans())
def test_no_call_brings_a_character_of_another_tenant(
    keywords, asked, held, fusion, is_async
) -> None:
    """No keyword, input, configurable value or page does."""
    wanted = HybridRetriever(
        channels=OVER_TENANTS, filter={"tenant": "a"}, fusion=fusion
    )
    config = {"configurable": {f"ctxfetch_{key}": value for key, value in held.items()}}
    config["configurable"] |= {"filter": None, "where": None, "tenant": "b"}
    given_ = {"query": "b of tenant b", **asked}
    try:
        if is_async:
            found = asyncio.run(wanted.ainvoke(given_, config, **keywords))
        else:
            found = wanted.invoke(given_, config, **keywords)
    except ConfigurationError:
        found = []

    assert "tenant b" not in "".join(document.page_content for document in found)
    assert all(document.metadata["tenant"] == "a" for document in found)


# --- Scores ---


@pytest.mark.parametrize(
    ("make", "score"),
    [(in_memory, float), (in_faiss, lambda distance: -distance)],
    ids=["similarity", "distance"],
)
def test_scores_come_where_their_sense_is_told(ask, make, score) -> None:
    """They fall along the ranking, are plain, and floors hold them."""
    channel = VectorStoreChannel(make(corpus(8), Singles()), name="v", score=score)
    scores = [hit.score for hit in ask(channel)]
    wanted = HybridRetriever(channels=[channel], floors={"v": scores[2]})

    assert scores == sorted(scores, reverse=True)
    assert {type(each) for each in scores} == {float}
    assert 3 <= len(wanted.invoke("a")) < 8


@pytest.mark.parametrize(
    ("make", "score"),
    [(in_memory, lambda number: -number), (in_faiss, float)],
    ids=["similarity", "distance"],
)
def test_scores_of_the_wrong_sense_are_refused(ask, make, score) -> None:
    """They rise along the ranking; the message says what to pass."""
    with pytest.raises(ConfigurationError, match="score=lambda distance: -distance"):
        ask(VectorStoreChannel(make(corpus(8)), score=score))


def test_without_that_there_are_no_scores(ask) -> None:
    """A number of unknown sense is worse than none."""
    assert {hit.score for hit in ask(VectorStoreChannel(in_memory(corpus(3))))} == {
        None
    }


def test_FAISS_numbers_are_no_relevance_where_vectors_have_other_lengths() -> None:
    """Why those are not used: far below 0, with a warning; elsewhere missing."""
    with pytest.warns(UserWarning, match="between 0 and 1"):
        scored = in_faiss(corpus(8)).similarity_search_with_relevance_scores("a" * 9)

    assert min(score for _, score in scored) < -10
    with pytest.raises(NotImplementedError):
        in_memory(corpus(8)).similarity_search_with_relevance_scores("a")


# --- Pages laid end to end are the ranking ---

NAMES = {"1": "a", "2": "b", "3": "aa", "4": "ab", " ": "cab"}


def piece(name, text, metadata):
    return Document(NAMES.get(name, text), id=name, metadata=metadata)


pieces = st.lists(
    st.builds(
        piece,
        st.sampled_from([None, None, *NAMES]),
        st.sampled_from(["", " \n", "a", "b", "aa", "ab", "ba", "cab"]),
        st.fixed_dictionaries(
            {}, optional={"source": st.sampled_from("st"), "start_index": st.just(0)}
        ),
    ),
    max_size=24,
)
answering = st.sampled_from(["field", "keyword", "neither", "several", "fresh"])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(answering, pieces), min_size=1, max_size=3),
    st.integers(1, 6),
    st.sampled_from(FUSIONS),
    st.sampled_from([HybridRetriever.get_page, get_in_a_loop]),
)
def test_pages_over_scripted_retrievers_are_the_ranking(
    scripts, k, fusion, get
) -> None:
    """Duplicates, blank texts and missing ids included: no repeats, no holes."""
    channels: list[Channel] = []
    for at, (kind, answer) in enumerate(scripts):
        made = KINDS[kind](answer)
        channel = made if isinstance(made, Channel) else RetrieverChannel(made)
        channel.name = f"c{at}"
        channels.append(channel)
    wanted = HybridRetriever(channels=channels, k=k, fusion=fusion)
    found = texts(get(wanted, "q", k=99))

    assert end_to_end(get, wanted, "q") == found
    assert set(found) == {
        each.page_content
        for _, answer in scripts
        for each in answer
        if each.page_content.strip()
    }


@settings(max_examples=60)
@given(
    st.lists(st.text("abc ", min_size=1, max_size=4), min_size=1, max_size=40),
    st.text("abc ", min_size=1, max_size=5).filter(str.strip),
    st.integers(1, 7),
    st.sampled_from(FUSIONS),
    st.sampled_from(["memory", "faiss"]),
)
def test_pages_over_bm25_and_vectors_are_the_ranking(
    held, query, k, fusion, store
) -> None:
    """Texts that tie, or stand twice in the store, which gives each an id."""
    documents = [Document(text) for text in [*held, "a b c", "b", "c a"]]
    channels = [bm25(documents), KINDS[store](documents)]
    wanted = HybridRetriever(channels=channels, k=k, fusion=fusion)
    found = end_to_end(HybridRetriever.get_page, wanted, query)

    assert found == texts(wanted.get_page(query, k=99))
    assert sorted(found) == sorted(
        each.page_content for each in documents if each.page_content.strip()
    )


def test_a_channel_says_what_it_is() -> None:
    """In a message or a debugger."""
    channels = [RetrieverChannel(GOOD), VectorStoreChannel(in_memory([]), name="v")]

    assert list(map(repr, channels)) == [
        "RetrieverChannel(Fixed, name='Fixed')",
        "VectorStoreChannel(InMemoryVectorStore, name='v')",
    ]


@pytest.mark.parametrize("depth", [0, -1])
def test_a_depth_that_is_none_is_refused(depth) -> None:
    """It would always be asked for nothing."""
    with pytest.raises(ConfigurationError, match="`depth` must be a whole number"):
        RetrieverChannel(GOOD, depth=depth)
    with pytest.raises(ConfigurationError, match="`depth` must be a whole number"):
        VectorStoreChannel(in_memory([]), depth=depth)


@pytest.mark.parametrize("answer", [None, [3], ["ab"], [("text", 1.0)], {"a": 1}])
def test_garbage_with_scores_is_a_gap(get, answer) -> None:
    """Pairs of a document and a number are what a store has to give."""

    class Wrong(Blocking):
        def similarity_search_with_score(self, query, k=4, **kwargs):
            return answer

    page = page_beside_good(get, VectorStoreChannel(Wrong(None), score=float))

    assert texts(page) == ["good"]
    assert "must answer with a list of documents" in page.gaps[0].reason


def test_a_fixed_depth_of_a_vector_store_is_always_asked(get) -> None:
    """Filtered or not; the ranking ends there, and says so."""
    asked = []

    class Counting(Blocking):
        def similarity_search(self, query, k=4, **kwargs):
            asked.append(k)
            return super().similarity_search(query, k, **kwargs)

    store = Counting(in_memory(corpus(40)))
    channel = VectorStoreChannel(store, translate=document_filter, depth=20)
    wanted = HybridRetriever(channels=[channel], k=6)

    assert len(end_to_end(get, wanted)) == 20
    assert len(end_to_end(get, wanted, where={"n": {"$lt": 35}})) == 20
    assert get(wanted, "q", page=4).end == "limit"
    assert set(asked) == {20}


def test_metadata_filter_is_what_document_filter_is() -> None:
    """One reads the document, the other its metadata."""
    where = {"n": {"$lt": 3}}
    by_document, by_metadata = document_filter(where), metadata_filter(where)

    assert [by_document(d) for d in HUNDRED] == [
        by_metadata(d.metadata) for d in HUNDRED
    ]
