"""HybridRetriever over channels: pages, failures, filters, calls."""

import asyncio
import copy
import json
import logging
import threading
from itertools import chain

import pytest
from hypothesis import given, strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.vectorstores import InMemoryVectorStore
from pydantic import ValidationError

from langchain_ctxfetch import (
    Channel,
    ConfigurationError,
    FilterError,
    Hit,
    HybridRetriever,
    PageError,
    StoreError,
    StoreTimeoutError,
    VectorStoreChannel,
)
from langchain_ctxfetch.testing import ScriptedChannel


def hits(names, **metadata):
    """Make a hit of each name, scores falling; the text of "." is blank."""
    count = len(names)
    return [
        Hit(
            name,
            " " if name == "." else f"text {name}",
            metadata,
            score=float(count - at),
            length=6,
        )
        for at, name in enumerate(names)
    ]


def retriever(*scripts, **fields):
    channels = [
        ScriptedChannel(f"c{at}", hits(script) if isinstance(script, str) else script)
        for at, script in enumerate(scripts)
    ]
    return HybridRetriever(channels=channels, **fields)


def get_in_a_loop(wanted, *arguments, **keywords):
    return asyncio.run(wanted.aget_page(*arguments, **keywords))


@pytest.fixture(params=[HybridRetriever.get_page, get_in_a_loop], ids=["sync", "async"])
def get(request):
    return request.param


def ids(page):
    return "".join(document.id for document in page.documents)


def all_pages(get, wanted, query="q", **keywords):
    pages = [get(wanted, query, page=1, **keywords)]
    while pages[-1].has_more:
        pages.append(get(wanted, query, page=pages[-1].page + 1, **keywords))
    return pages


def letters(count, start=0):
    return [f"<{start + at}>" for at in range(count)]


# --- Pages ---


def test_a_page_is_cut_from_the_turns(get) -> None:
    """Page 2 of abc and bde is d, c."""
    page = get(retriever("abc", "bde", k=2), "q", page=2)

    assert (ids(page), page.has_more, page.end) == ("dc", True, "more")


def test_round_robin_asks_one_place_past_the_page(get) -> None:
    """Page 2 of size 3 asks seven hits of each channel."""
    wanted = retriever(hits(letters(50)), hits(letters(50, 50)), k=3)
    get(wanted, "q", page=2)

    assert [asked.depth for c in wanted.channels for asked in c.asked] == [7, 7]


@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
def test_fusions_over_scores_always_ask_the_whole_window(get, fusion) -> None:
    """Whatever the page, each channel is asked for max_window hits."""
    wanted = retriever(hits(letters(300)), "abc", fusion=fusion, k=5, max_window=40)
    get(wanted, "q", page=1)
    get(wanted, "q", page=3)

    assert [asked.depth for asked in wanted.channels[0].asked] == [40, 40]


def test_duplicates_inside_a_channel_are_refetched(get) -> None:
    """b,c,b,h,f,i,g,h,c,e alone: page 3 of two is i,g and page 4 holds e."""
    wanted = retriever("", "bcbhfighce", k=2)

    assert [ids(page) for page in all_pages(get, wanted)] == ["bc", "hf", "ig", "e"]


def test_a_channel_cut_off_at_its_ceiling_ends_in_a_limit(get) -> None:
    """A store that gives at most 4 hits does not look exhausted after them."""
    channel = ScriptedChannel("c", hits("abcdefgh"), max_depth=4)
    wanted = HybridRetriever(channels=[channel], k=3)
    page = get(wanted, "q", page=2)

    assert (ids(page), page.end) == ("d", "limit")


def test_the_cap_on_refetching_ends_in_a_limit(get) -> None:
    """800 copies of one document behind another one: 8 windows, then the limit."""
    wanted = retriever("a" * 5000, k=2, max_window=10)
    page = get(wanted, "q")

    assert (ids(page), page.end) == ("a", "limit")
    assert wanted.channels[0].asked[-1].depth == 80


def test_a_page_beyond_the_end_is_empty(get) -> None:
    """Asking on past the last document is no error."""
    page = get(retriever("ab", k=2), "q", page=3)

    assert (page.documents, page.end) == ((), "exhausted")


def test_blank_texts_do_not_shorten_a_page(get) -> None:
    """A hit of blank text takes no place."""
    blank = [Hit("x", "  \n"), *hits("ab")]

    assert ids(get(retriever(blank, k=2), "q")) == "ab"


def test_hits_beyond_the_depth_asked_are_cut(get) -> None:
    """A channel that always answers everything changes nothing."""

    class Generous(Channel):
        name = "generous"

        def ask(self, query, depth, where):
            return hits("abcdefgh")

        async def aask(self, query, depth, where):
            return self.ask(query, depth, where)

    pages = all_pages(get, HybridRetriever(channels=[Generous()], k=3))

    assert [ids(page) for page in pages] == ["abc", "def", "gh"]


names = st.lists(st.sampled_from("..abcdefghijklmnop"), max_size=30).map("".join)


@given(
    st.lists(names, min_size=1, max_size=3),
    st.integers(1, 6),
    st.sampled_from(["round_robin", "rrf", "weighted"]),
)
def test_pages_laid_end_to_end_are_the_ranking(scripts, k, fusion) -> None:
    """Every page continues the one before it; one great page holds the same."""
    wanted = retriever(*scripts, k=k, fusion=fusion)
    pages = all_pages(HybridRetriever.get_page, wanted)
    whole = HybridRetriever.get_page(wanted, "q", k=99)

    assert "".join(map(ids, pages)) == ids(whole)
    assert sorted(ids(whole)) == sorted(set("".join(scripts)) - {"."})
    assert all(len(page.documents) == k for page in pages[:-1])


@given(st.lists(names, min_size=1, max_size=3), st.integers(1, 6))
def test_the_same_page_twice_is_the_same_bytes(scripts, k) -> None:
    """Nothing remembers the call before, sync or async."""
    wanted = retriever(*scripts, k=k)
    once = HybridRetriever.get_page(wanted, "q", page=2)

    assert HybridRetriever.get_page(wanted, "q", page=2) == once
    assert get_in_a_loop(wanted, "q", page=2) == once


def test_FR_P1_three_sources_one_of_them_empty(get) -> None:
    """A(3), B(0), C(10), size 4: turns, then C alone; 13 items, each once."""
    a, c = [f"A{n}" for n in range(1, 4)], [f"C{n}" for n in range(1, 11)]
    pages = all_pages(get, retriever(hits(a), "", hits(c), k=4))
    found = [[document.id for document in page.documents] for page in pages]

    assert found[:2] == [["A1", "C1", "A2", "C2"], ["A3", "C3", "C4", "C5"]]
    assert sorted(chain.from_iterable(found)) == sorted(a + c)


def test_FR_P2_one_document_in_two_sources_stands_once(get) -> None:
    """Over all pages, not once a page."""
    pages = all_pages(get, retriever("abx", "", "xcd", k=2))

    assert "".join(map(ids, pages)).count("x") == 1


def test_FR_P3_the_second_page_first(get) -> None:
    """Pages asked in any order, of two retrievers, are the same."""
    again, in_order = retriever("abcd", "ef", k=2), retriever("abcd", "ef", k=2)
    second, first = get(again, "q", page=2), get(again, "q", page=1)

    assert [first, second] == [get(in_order, "q", page=n) for n in (1, 2)]


def test_FR_P4_a_document_inserted_between_two_pages(get) -> None:
    """One repeat at most, no exception."""
    channel = ScriptedChannel("c", hits("abcd"), then=[hits("xabcd")])
    wanted = HybridRetriever(channels=[channel], k=2)

    assert (ids(get(wanted, "q")), ids(get(wanted, "q", page=2))) == ("ab", "bc")


def test_FR_P5_one_source_fails_on_page_two_only(get) -> None:
    """The page holds what the others give, each once, and a gap names the source."""
    failing = ScriptedChannel("b", hits("uvwxyz"), then=[OSError("down")])
    channels = [ScriptedChannel("a", hits("abcdefuv")), failing]
    wanted = HybridRetriever(channels=channels, k=3)
    get(wanted, "q")
    page = get(wanted, "q", page=2)

    assert (ids(page), page.complete) == ("def", False)
    assert [(gap.part, gap.kind) for gap in page.gaps] == [("b", "not_searched")]


def test_a_failure_in_a_deeper_round_keeps_the_earlier_answer(get) -> None:
    """What the channel brought before stands, and the gap says partly."""
    failing = ScriptedChannel("a", hits("aaab"), then=[OSError("down")])
    page = get(HybridRetriever(channels=[failing], k=2), "q")

    assert (ids(page), page.gaps[0].kind) == ("a", "partly_searched")


def test_FR_E1_a_deep_page_names_the_last_one(get) -> None:
    """Page 1,200 of size 10 is refused before any channel is asked."""
    wanted = retriever("abc")
    with pytest.raises(PageError, match="from 1 to 9"):
        get(wanted, "q", page=1200)

    assert wanted.channels[0].asked == []


def test_FR_E2_equal_scores_page_without_repeats(get) -> None:
    """30 documents of one score: 30 ids over three pages."""
    equal = [Hit(name, "text", score=1.0) for name in letters(30)]
    pages = all_pages(get, retriever(equal, fusion="weighted"))

    assert len({document.id for page in pages for document in page.documents}) == 30


def test_FR_E4_two_pages_are_one_of_double_size(get) -> None:
    """Pages 1 and 2 of ten are page 1 of twenty; window 10 still serves page 1."""
    wanted = retriever(hits(letters(60)), hits(letters(60, 30)), fusion="rrf")
    two = ids(get(wanted, "q", page=1)) + ids(get(wanted, "q", page=2))

    assert two == ids(get(wanted, "q", k=20))
    assert len(get(retriever(hits(letters(60)), max_window=10), "q").documents) == 10


@pytest.mark.parametrize("page", [0, -1, 10, "two", 1.5, True, [1]])
def test_FR_E8_a_page_that_is_none_is_refused(get, page) -> None:
    """Also a ValueError, naming the range."""
    with pytest.raises(ValueError, match="from 1 to 9"):
        get(retriever("abc"), "q", page=page)


@pytest.mark.parametrize("k", [0, -1, 10**9, "3", 2.0, True])
def test_FR_E8_a_size_that_is_none_is_refused(get, k) -> None:
    """The message names k and its range, in the call and in the constructor."""
    with pytest.raises(ConfigurationError, match="`k` must be"):
        get(retriever("abc"), "q", k=k)
    with pytest.raises(ValidationError):
        retriever("abc", k=k)


def test_a_blank_query_finds_nothing_and_says_so(get) -> None:
    """No channel is asked; the gap says why."""
    wanted = retriever("abc")
    page = get(wanted, " \n")

    assert (page.documents, page.gaps[0].kind) == ((), "query_not_searchable")
    assert wanted.channels[0].asked == []


# --- Fusion and identity ---


def test_FR_A7_weights_choose_the_channel(get) -> None:
    """Weight 0 leaves a channel out, either way round; all 0 is refused."""
    words = ScriptedChannel("bm25", hits("abc"))
    sense = ScriptedChannel("vec", hits("xyz"))

    def found(bm25, vec):
        weights = {"bm25": bm25, "vec": vec}
        wanted = HybridRetriever(
            channels=[words, sense], weights=weights, fusion="weighted"
        )
        return ids(get(wanted, "q"))

    assert (found(0, 1), found(1, 0)) == ("xyz", "abc")
    with pytest.raises(ValueError, match="at least one channel above 0"):
        found(0, 0)


@pytest.mark.parametrize("weights", [{"nobody": 1}, {"c0": -1}, {"c0": 0.5}])
def test_wrong_weights_are_refused(weights) -> None:
    """Unknown names, negative weights, and fractions in round robin."""
    with pytest.raises(ValidationError, match="weights"):
        retriever("a", "b", weights=weights)


@pytest.mark.parametrize("fusion", ["round_robin", "rrf", "weighted"])
def test_FR_A10_every_document_says_its_scores(get, fusion) -> None:
    """Fused score, and rank and score of each channel, as plain numbers."""
    page = get(retriever("ab", "b", fusion=fusion), "q")
    added = {d.id: d.metadata["ctxfetch"] for d in page.documents}["b"]

    assert added["channels"]["c0"] == {"rank": 2, "score": 1.0}
    assert added["channels"]["c1"] == {"rank": 1, "score": 1.0}
    assert type(added["score"]) is float
    assert added["v"] == 1


def test_FR_A11_the_answer_has_k_documents(get) -> None:
    """Two disjoint lists of 50 and k 5 give five documents."""
    page = get(retriever(hits(letters(50)), hits(letters(50, 50)), k=5), "q")

    assert len(page.documents) == 5
    assert all(type(document) is Document for document in page.documents)


def test_scores_beyond_the_window_still_count(get) -> None:
    """Duplicates made the first channel answer d too: it is scored, not guessed."""
    scores = zip("aabcd", (9, 9, 7, 6, 1), strict=True)
    first = [Hit(name, "x", score=score) for name, score in scores]
    second = [Hit("d", "x", score=1.0)]
    seen = []

    def look(rankings):
        seen.extend(rankings)
        return [(key, 0.0) for key in rankings[0].keys]

    get(retriever(first, second, fusion=look, max_window=3, k=2), "q")

    assert (list(seen[0].keys), seen[0].extra) == (["a", "b", "c"], {"d": 1.0})


def test_a_fusion_of_ones_own(get) -> None:
    """It sees complete rankings and decides the order."""
    seen = []

    def backwards(rankings):
        seen.extend(rankings)
        return [(key, 1.0) for key in reversed(rankings[0].keys)]

    page = get(retriever("abc", fusion=backwards), "q")

    assert ids(page) == "cba"
    assert (seen[0].channel, list(seen[0].scores)) == ("c0", [3.0, 2.0, 1.0])


@pytest.mark.parametrize(
    "places", [[("a", 1.0), ("a", 0.5)], [("nobody", 1.0)], [("a", float("nan"))]]
)
def test_a_fusion_that_invents_is_refused(get, places) -> None:
    """Repeated keys, unknown keys and scores that are no number."""
    with pytest.raises(ConfigurationError, match="fusion"):
        get(retriever("abc", fusion=lambda rankings: places), "q")


@pytest.mark.parametrize(
    "fields", [{"fusion": lambda r: 1 / 0}, {"key": lambda d: 1 / 0}]
)
def test_an_error_in_a_function_of_the_caller_names_it(get, fields) -> None:
    """A typed error that says which function failed."""
    (name,) = fields
    with pytest.raises(ConfigurationError, match=f"`{name}` failed"):
        get(retriever("abc", **fields), "q")


def test_a_page_is_no_business_of_a_retriever_inside(get) -> None:
    """The inner retriever gives its first hits to whatever page is asked."""
    inner = retriever(hits(letters(40)))
    config = {"configurable": {"ctxfetch_page": 2}}
    page = get(HybridRetriever(channels=[inner], k=5), "q", config=config)

    assert [document.id for document in page.documents] == letters(5, 5)


def test_names_of_a_key_meet_no_ids(get) -> None:
    """A document whose isbn is another one's id is still another document."""
    script = [Hit("1", "A", {"isbn": "7"}), Hit("7", "B")]

    assert ids(get(retriever(script, key="isbn"), "q")) == "17"


def test_blank_ids_are_ids(get) -> None:
    """Two channels that bring the id " " bring one document."""
    same = [Hit(" ", "x")]

    assert len(get(retriever(same, same), "q").documents) == 1


def test_great_scores_do_not_overflow(get) -> None:
    """Scores of 1e200 are standardised like any others."""
    script = [Hit("a", "x", score=1e200), Hit("b", "y", score=-1e200)]

    assert ids(get(retriever(script, fusion="weighted"), "q")) == "ab"


@pytest.mark.parametrize("field", [{"text": 5}, {"metadata": None}, {"passages": None}])
def test_a_hit_of_wrong_types_is_a_gap(get, field) -> None:
    """The channel that brought it failed; the other answers."""
    wrong = Hit(**{"id": "w", "text": "x"} | field)
    page = get(retriever([wrong], "ab"), "q")

    assert (ids(page), page.gaps[0].part) == ("ab", "c0")


def test_text_of_a_channel_is_cleaned(get) -> None:
    """NUL and lone surrogates become U+FFFD, one for one, in metadata too."""
    script = [Hit("a", "x\0y\ud83d", {"title": "\0"})]
    (found,) = get(retriever(script), "q").documents

    assert found.page_content == "x\ufffdy\ufffd"
    assert found.metadata["title"] == "\ufffd"


def test_a_channel_that_changes_the_filter_changes_nothing(get) -> None:
    """It is handed a copy."""

    class Meddling(ScriptedChannel):
        def ask(self, query, depth, where):
            where.clear()
            return super().ask(query, depth, where)

    channels = [Meddling("m", []), ScriptedChannel("c", TENANTS)]
    wanted = HybridRetriever(channels=channels, filter={"tenant": "a"})

    assert ids(get(wanted, "q")) == "a1"
    assert ids(get(wanted, "q")) == "a1"


def test_hits_without_ids_are_one_by_source_and_text(get) -> None:
    """The same text of the same source from two channels stands once."""
    nameless = [Hit(None, "text", {"source": "a"}), Hit(None, "text", {"source": "b"})]
    page = get(retriever(nameless, nameless), "q")

    assert [d.metadata["source"] for d in page.documents] == ["a", "b"]


def test_a_hit_without_an_id_meets_the_one_with_an_id(get) -> None:
    """In either order they are one document."""
    with_id, without = [Hit("1", "text", score=1.0)], [Hit(None, "text", score=1.0)]

    assert len(get(retriever(with_id, without), "q").documents) == 1
    assert len(get(retriever(without, with_id), "q").documents) == 1


def test_ids_are_compared_exactly(get) -> None:
    """README.md and readme.md are two files."""
    page = get(retriever([Hit("README.md", "x")], [Hit("readme.md", "x")]), "q")

    assert len(page.documents) == 2


@pytest.mark.parametrize(
    "key", ["source", lambda document: document.metadata["source"]]
)
def test_a_key_of_ones_own(get, key) -> None:
    """Hits of one source are one document."""
    script = [Hit("1", "a", {"source": "s"}), Hit("2", "b", {"source": "s"})]
    page = get(retriever(script, key=key), "q")

    assert [document.id for document in page.documents] == ["1"]


def test_the_best_ranked_copy_represents_a_document(get) -> None:
    """Then the longer text, then the smaller by code point, in any wiring."""
    stub = [Hit("d1", "stub", score=0.1)]
    full = [Hit("d1", "full text", score=0.9)]
    texts = {
        get(retriever(*order), "q").documents[0].page_content
        for order in ([stub, full], [full, stub])
    }

    assert texts == {"full text"}


def test_FR_K3_scores_are_plain_numbers(get) -> None:
    """A channel of numpy scores gives documents that json can hold."""
    numpy = pytest.importorskip("numpy")
    script = [Hit("a", "x", score=numpy.float32(0.5)), Hit("b", "y", score=numpy.nan)]
    page = get(retriever(script, fusion="weighted"), "q")

    assert json.dumps([document.metadata for document in page.documents])


def test_FR_K9_changing_a_returned_document_changes_nothing(get) -> None:
    """Nested metadata is copied on the way out."""
    wanted = retriever([Hit("a", "x", {"tags": ["one"]})])
    get(wanted, "q").documents[0].metadata["tags"].append("two")

    assert get(wanted, "q").documents[0].metadata["tags"] == ["one"]


# --- Failures ---


def test_FR_A12_a_failing_channel_leaves_a_gap(get) -> None:
    """The other channel's documents come, the gap names the failed one."""
    page = get(retriever(OSError("refused"), "abc"), "q")

    assert (ids(page), page.complete) == ("abc", False)
    assert (page.gaps[0].part, page.gaps[0].kind) == ("c0", "not_searched")
    assert "refused" in page.gaps[0].reason


def test_FR_A12_strictness_raises(get) -> None:
    """With on_error="raise" one failure fails the call, its cause attached."""
    error = OSError("refused")
    with pytest.raises(StoreError, match="refused") as caught:
        get(retriever(error, "abc", on_error="raise"), "q")

    assert caught.value.errors == (error,)


def test_strictness_blames_only_the_channel_that_failed() -> None:
    """Not the one that was stopped for it, whatever their order."""

    class Slow(ScriptedChannel):
        async def aask(self, query, depth, where):
            await asyncio.sleep(60)

    error = OSError("refused")
    wanted = HybridRetriever(
        channels=[Slow("slow", []), ScriptedChannel("bad", error)], on_error="raise"
    )
    with pytest.raises(StoreError, match="no answer from bad: ") as caught:
        asyncio.run(wanted.aget_page("q"))

    assert caught.value.errors == (error,)


def test_FR_A12_all_down_raises_the_first(get) -> None:
    """The causes are attached, newest first."""
    first, second = OSError("first"), OSError("second")
    with pytest.raises(StoreError, match="first") as caught:
        get(retriever(first, second), "q")

    assert caught.value.__cause__ is first
    assert caught.value.errors == (second, first)


def test_a_channel_that_hangs_becomes_a_gap() -> None:
    """Past timeout_s the others' documents are served."""
    release = threading.Event()

    def hang(query):
        release.wait(30)
        return hits("x")

    page = retriever(hang, "abc", timeout_s=0.05).get_page("q")
    release.set()

    assert (ids(page), "0.05" in page.gaps[0].reason) == ("abc", True)


@pytest.mark.parametrize("garbage", [["text"], None, [Hit("a", "x"), 3], "ab"])
def test_garbage_from_a_channel_becomes_a_gap(get, garbage) -> None:
    """An answer that is no list of hits is that channel's failure."""

    class Garbage(Channel):
        name = "garbage"

        def ask(self, query, depth, where):
            return garbage

        async def aask(self, query, depth, where):
            return garbage

    channels = [Garbage(), ScriptedChannel("good", hits("ab"))]
    page = get(HybridRetriever(channels=channels), "q")

    assert (ids(page), page.gaps[0].part) == ("ab", "garbage")


def test_invoke_logs_gaps_and_sends_an_event(caplog) -> None:
    """Without get_page a gap is a warning, and the event ctxfetch_gap."""

    async def events():
        wanted = retriever(OSError("refused"), "abc")
        return [
            event["data"]
            async for event in wanted.astream_events("q", version="v2")
            if event["name"] == "ctxfetch_gap"
        ]

    with caplog.at_level(logging.WARNING, "langchain_ctxfetch"):
        sent = asyncio.run(events())

    assert [event["part"] for event in sent] == ["c0"]
    assert "refused" in caplog.text


# --- Filters ---

TENANTS = [
    Hit("a1", "mine", {"tenant": "a"}, score=1.0),
    Hit("b1", "theirs", {"tenant": "b"}, score=9.0),
]


def test_filter_and_where_are_joined(get) -> None:
    """Every where narrows; none replaces the filter or another where."""
    channel = ScriptedChannel("c", [Hit("1", "x", {"t": "a", "y": 1, "z": 2, "w": 3})])
    wanted = HybridRetriever(channels=[channel], filter={"t": "a"})
    config = {"configurable": {"ctxfetch_where": {"y": 1}}}
    get(wanted, {"query": "q", "where": {"z": 2}}, where={"w": 3}, config=config)
    page = get(wanted, "q", where={"t": "b"})

    for key in ("t", "y", "z", "w"):
        assert repr(key) in repr(channel.asked[0].where)
    assert page.documents == ()


def test_a_channel_that_cannot_filter_is_not_asked(get) -> None:
    """It leaves a gap; alone it is an error that says why."""
    blind = ScriptedChannel("blind", TENANTS, supports_filter=False)
    seeing = ScriptedChannel("seeing", TENANTS)
    page = get(HybridRetriever(channels=[blind, seeing]), "q", where={"tenant": "a"})

    assert (ids(page), page.gaps[0].part, blind.asked) == ("a1", "blind", [])
    with pytest.raises(ConfigurationError, match="cannot filter"):
        get(HybridRetriever(channels=[blind], filter={"tenant": "a"}), "q")


def test_a_channel_that_claims_to_filter_is_checked(get) -> None:
    """What a translation lets through is stopped."""

    class Lying(Channel):
        name = "lying"
        supports_filter = True

        def ask(self, query, depth, where):
            return TENANTS

        async def aask(self, query, depth, where):
            return TENANTS

    wanted = HybridRetriever(channels=[Lying()], filter={"tenant": "a"})

    assert ids(get(wanted, "q")) == "a1"


calls = st.fixed_dictionaries(
    {},
    optional={
        "page": st.integers(-1, 12),
        "k": st.integers(-1, 12),
        "where": st.sampled_from(
            [
                {},
                {"tenant": "b"},
                {"$or": [{"tenant": "b"}, {"tenant": "a"}]},
                {"$not": {"tenant": "a"}},
                {"tenant": {"$in": ["a", "b"]}},
                {"filter": None},
            ]
        ),
    },
)


@given(calls, calls, calls, st.sampled_from(["round_robin", "rrf", "weighted"]))
def test_no_call_reaches_another_tenant(keywords, given_, held, fusion) -> None:
    """No keyword, input or configurable value brings a character of tenant b."""
    channel = ScriptedChannel("c", TENANTS * 5)
    wanted = HybridRetriever(channels=[channel], filter={"tenant": "a"}, fusion=fusion)
    config = {"configurable": {f"ctxfetch_{key}": value for key, value in held.items()}}
    config["configurable"]["filter"] = None
    try:
        found = wanted.invoke({"query": "q", **given_}, config, **keywords)
    except ConfigurationError:
        found = []

    assert all(document.metadata["tenant"] == "a" for document in found)


@pytest.mark.parametrize("name", ["filter", "channels", "key"])
def test_what_guards_tenants_cannot_be_made_configurable(name) -> None:
    """`configurable_fields` refuses it with a reason."""
    with pytest.raises(ConfigurationError, match="cannot be made configurable"):
        retriever("a").configurable_fields(**{name: ConfigurableField(id=name)})


def test_changing_the_given_filter_later_changes_nothing(get) -> None:
    """The filter is copied at construction and cannot be assigned."""
    given_filter = {"tenant": {"$in": ["a"]}}
    channel = ScriptedChannel("c", TENANTS)
    wanted = HybridRetriever(channels=[channel], filter=given_filter)
    given_filter["tenant"]["$in"].append("b")

    assert ids(get(wanted, "q")) == "a1"
    with pytest.raises(ValidationError):
        wanted.filter = None


def test_an_unknown_operator_is_refused_early(get) -> None:
    """At construction and in the call, before any channel is asked."""
    wanted = retriever("abc")
    with pytest.raises(FilterError, match="regex"):
        get(wanted, "q", where={"a": {"$regex": "x"}})
    with pytest.raises(ValidationError, match="regex"):
        retriever("abc", filter={"a": {"$regex": "x"}})

    assert wanted.channels[0].asked == []


# --- Calls ---


def test_page_and_k_in_order_of_precedence() -> None:
    """Keyword before input before configuration before field."""
    wanted = retriever(hits(letters(30)), k=1)
    config = {"configurable": {"ctxfetch_k": 2}}

    assert len(wanted.invoke("q")) == 1
    assert len(wanted.invoke("q", config)) == 2
    assert len(wanted.invoke({"query": "q", "k": 3}, config)) == 3
    assert len(wanted.invoke({"query": "q", "k": 3}, config, k=4)) == 4
    assert len(wanted.with_config(config).invoke("q")) == 2
    assert len(wanted.bind(k=5).invoke("q")) == 5


def test_configuration_reaches_a_retriever_inside_a_chain() -> None:
    """The configurable page of the chain is the retriever's."""
    chain = RunnableLambda(lambda text: text) | retriever("abcd", k=2)
    found = chain.invoke("q", {"configurable": {"ctxfetch_page": 2}})

    assert [document.id for document in found] == ["c", "d"]


@pytest.mark.parametrize(
    ("given_", "keywords"),
    [
        ({"query": "q", "pgae": 2}, {}),
        ("q", {"pgae": 2}),
        ({"page": 2}, {}),
        (None, {}),
        (3, {}),
        ({"query": None}, {}),
    ],
)
def test_a_misspelt_call_is_refused(given_, keywords) -> None:
    """Unknown keywords and inputs without a text are named, not dropped."""
    with pytest.raises(ConfigurationError, match=r"unknown|query"):
        retriever("abc").invoke(given_, **keywords)


def test_a_misspelt_field_is_refused() -> None:
    """The constructor knows its fields."""
    with pytest.raises(ValidationError, match="max_windw"):
        retriever("abc", max_windw=3)


def test_FR_L4_sync_async_and_batch_are_equal() -> None:
    """The same documents by every road."""
    wanted = retriever("abc", "cd", k=3)
    once = wanted.invoke("q")

    assert asyncio.run(wanted.ainvoke("q")) == once
    assert wanted.batch(["q", "q"]) == [once, once]
    assert asyncio.run(wanted.abatch(["q", "q"])) == [once, once]
    assert list(wanted.stream("q")) == [once]


def test_the_input_schema_shows_both_forms() -> None:
    """A text, or an object with query, page, k and where."""
    schema = json.dumps(retriever("a").get_input_jsonschema())

    assert '"string"' in schema
    assert all(f'"{name}"' in schema for name in ("query", "page", "k", "where"))


def test_two_channels_of_one_name_are_refused() -> None:
    """Weights and gaps could not tell them apart."""
    twice = [ScriptedChannel("same", []), ScriptedChannel("same", [])]
    with pytest.raises(ValidationError, match="different names"):
        HybridRetriever(channels=twice)


@pytest.mark.parametrize("channels", [[], ["text"], [None]])
def test_channels_that_are_none_are_refused(channels) -> None:
    """No channel at all, or something else in its place."""
    with pytest.raises(ValidationError, match="channels"):
        HybridRetriever(channels=channels)


def test_a_copy_has_the_same_channels() -> None:
    """Copies ask the same questions."""
    wanted = retriever("abc", k=2)

    assert copy.copy(wanted).invoke("q") == wanted.invoke("q")
    assert wanted.model_copy(update={"k": 1}).invoke("q") == wanted.invoke("q")[:1]


def test_a_retriever_is_not_serialisable_by_langchain() -> None:
    """It holds channels, which cannot be written down."""
    assert not HybridRetriever.is_lc_serializable()


# --- LangChain's retrievers and vector stores as channels ---


class Plain(BaseRetriever):
    """A sync-only retriever that knows no k."""

    texts: list[str]

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in self.texts]


class Sized(Plain):
    """A retriever with a field k."""

    k: int = 4

    def _get_relevant_documents(self, query, *, run_manager):
        return [Document(text) for text in self.texts[: self.k]]


class Words(Embeddings):
    """An embedding for plumbing: counts of letters."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [1.0 + text.count(letter) for letter in "abcdefgh"]


def test_retrievers_are_channels(get) -> None:
    """A plain retriever, one with k, and another HybridRetriever page together."""
    wanted = HybridRetriever(
        channels=[
            Plain(texts=["a", "b"]),
            Sized(texts=[f"s{n}" for n in range(20)], k=1),
            retriever("xy"),
        ],
        k=30,
    )

    assert len(get(wanted, "q").documents) == 24


def test_a_vector_store_is_a_channel(get) -> None:
    """Its documents come with their ids; filtered questions need a translation."""
    vectors = InMemoryVectorStore(Words())
    vectors.add_texts(["aa", "bb"], [{"t": 1}, {"t": 2}], ids=["1", "2"])
    plain = HybridRetriever(channels=[vectors])
    channel = VectorStoreChannel(vectors, translate=lambda where: lambda document: True)

    assert [d.id for d in get(plain, "a").documents] == ["1", "2"]
    with pytest.raises(ConfigurationError, match="cannot filter"):
        get(plain, "a", where={"t": 2})
    checked = HybridRetriever(channels=[channel], filter={"t": 2})
    assert [d.id for d in get(checked, "a").documents] == ["2"]


def test_runs_of_channels_are_children_of_the_retrievers_run() -> None:
    """A tracer sees the inner retriever beneath the outer one."""

    async def parents():
        wanted = HybridRetriever(channels=[Plain(texts=["a"])])
        return {
            event["name"]: event["parent_ids"]
            async for event in wanted.astream_events("q", version="v2")
            if event["event"] == "on_retriever_start"
        }

    found = asyncio.run(parents())

    assert len(found["Plain"]) == len(found["HybridRetriever"]) + 1


def test_FR_L1_a_blocking_channel_does_not_stop_the_loop() -> None:
    """A coroutine of the same loop frees the channel that blocks."""

    async def both():
        ticked = threading.Event()

        class Blocking(Plain):
            def _get_relevant_documents(self, query, *, run_manager):
                assert ticked.wait(10)
                return [Document("a")]

        async def tick():
            await asyncio.sleep(0.01)
            ticked.set()

        wanted = HybridRetriever(channels=[Blocking(texts=[])])
        found, _ = await asyncio.gather(wanted.ainvoke("q"), tick())
        return found

    assert len(asyncio.run(both())) == 1


def test_timeouts_are_typed() -> None:
    """Alone, a channel past its time is a StoreError whose cause is the timeout."""
    release = threading.Event()
    wanted = retriever(lambda query: release.wait(30) or [], timeout_s=0.05)
    with pytest.raises(StoreError) as caught:
        wanted.get_page("q")
    release.set()

    assert isinstance(caught.value.__cause__, StoreTimeoutError)


def test_a_page_is_run_through_like_its_documents(get) -> None:
    """It has a length, and it can be looped over."""
    page = get(retriever("abc", k=2), "q")

    assert len(page) == 2
    assert [document.id for document in page] == ["a", "b"]


def test_a_store_as_a_field_is_told_the_way() -> None:
    """The message names what makes a retriever of a store."""
    with pytest.raises(ValidationError, match="from_store"):
        HybridRetriever(store="anything")


@pytest.mark.parametrize("name", [None, "", "  ", 7])
def test_a_channel_without_a_name_is_refused(name) -> None:
    """Weights, gaps and metadata have to call it something."""
    with pytest.raises(ValidationError, match="`name`"):
        HybridRetriever(channels=[ScriptedChannel(name, [])])


def test_a_channel_that_only_knows_sync_is_asked_in_a_thread() -> None:
    """The loop goes on while it answers."""
    main = threading.get_ident()

    class Plain(Channel):
        name = "plain"

        def ask(self, query, depth, where):
            assert threading.get_ident() != main
            return hits("ab")

    wanted = HybridRetriever(channels=[Plain()])

    assert ids(get_in_a_loop(wanted, "q")) == "ab"
    assert len(asyncio.run(Plain().aask("q", 5, None))) == 2


def test_a_retriever_inside_is_never_asked_for_more_than_it_can_give(get) -> None:
    """A wide window ends where the inner page does, and says so."""
    inner = HybridRetriever(channels=[ScriptedChannel("many", hits(letters(1_500)))])
    outer = HybridRetriever(channels=[inner], max_window=2_000, k=1_000, fusion="rrf")
    page = get(outer, "q")

    assert len(page.documents) == 1_000
    assert page.complete
    assert page.end == "limit"


# --- Floors ---


@pytest.mark.parametrize("fusion", ["round_robin", "rrf", "weighted"])
def test_a_floor_ends_a_ranking(get, fusion) -> None:
    """Scores are 5, 4, 3, 2, 1: what is below 3 does not count."""
    wanted = retriever("abcde", floors={"c0": 3}, fusion=fusion)
    page = get(wanted, "q")

    assert ids(page) == "abc"
    assert (page.end, page.complete) == ("exhausted", True)


def test_a_floor_that_leaves_nothing_is_loud(get) -> None:
    """The other channel answers, and a gap names the one that was emptied."""
    page = get(retriever("ab", "cd", floors={"c1": 9}), "q")

    assert ids(page) == "ab"
    assert [(gap.part, gap.kind) for gap in page.gaps] == [("c1", "partly_searched")]


def test_hits_without_a_score_reach_no_floor(get) -> None:
    """Nobody knows how good they are."""
    page = get(retriever([Hit("a", "text a")], floors={"c0": 0.1}), "q")

    assert ids(page) == ""
    assert len(page.gaps) == 1


def test_a_channel_that_found_nothing_is_not_emptied(get) -> None:
    """Its floor has nothing to do with it."""
    assert get(retriever("", "a", floors={"c0": 1}), "q").complete


@given(st.integers(1, 12), st.integers(0, 12), st.sampled_from(["round_robin", "rrf"]))
def test_pages_with_a_floor_are_the_ranking(k: int, floor: int, fusion) -> None:
    """Laid end to end they are what one large page holds."""
    wanted = retriever("abcdefghij", "jklmabc", floors={"c0": floor}, fusion=fusion)
    pages = all_pages(HybridRetriever.get_page, wanted, k=k)

    assert "".join(map(ids, pages)) == ids(wanted.get_page("q", k=99))


@pytest.mark.parametrize("floors", [{"other": 1}, {"c0": float("nan")}])
def test_wrong_floors_are_refused(floors) -> None:
    """Unknown channels, and what is no finite number."""
    with pytest.raises(ValidationError, match="`floors`"):
        retriever("a", floors=floors)


@pytest.mark.parametrize("query", ["???", "🎉 …", "-- // --"])
def test_a_query_without_a_word_is_told(get, query: str) -> None:
    """Where nothing is found the gap says why; what another channel found stands."""
    page = get(retriever(""), query)

    assert [gap.kind for gap in page.gaps] == ["query_not_searchable"]
    assert get(retriever("a"), query).complete
