"""The reference's acceptance cases, with our departures and its literal rows."""

from __future__ import annotations

import asyncio

import pytest

from langchain_ctxfetch.compressors import ContentPolicyCompressor
from tests.surface.stores import RecordingStore, reference

BIG = "Cats sleep all day. " * 300 + "Dogs bark at night. " + "Fish are silent. " * 300
AT = BIG.index("Dogs")
DOGS = (AT, AT + len("Dogs bark at night."))


@pytest.fixture(params=["sync", "async"])
def compress(request):
    """Compress by either twin."""

    def run(compressor, documents, query="dogs"):
        if request.param == "sync":
            return compressor.compress(documents, query)
        return asyncio.run(compressor.acompress(documents, query))

    return run


def texts(made) -> list[str]:
    return [document.page_content for document in made.documents]


def strategies(made) -> list[str]:
    return [row.strategy for row in made.rows]


def literal(store, **fields) -> ContentPolicyCompressor:
    """Set what gives the reference's own rows."""
    fields = {"truncation": "head", "cut_mark": "", "missing": "drop", **fields}
    return ContentPolicyCompressor(store=store, **fields)


@pytest.mark.parametrize(
    ("case", "length", "asked"),
    [("F1", 2_999, "fetch"), ("F2", 3_000, "fetch"), ("F3", 3_001, "highlight")],
)
def test_F1_F2_F3_the_length_decides(compress, case, length, asked) -> None:
    """Up to the threshold a document is asked whole, above it by its passages."""
    store = RecordingStore({"a": BIG}, {"a": [DOGS]})
    compress(ContentPolicyCompressor(store=store), [reference("a", length)])

    assert [call[0] for call in store.calls] == [asked]


@pytest.mark.parametrize("length", [None, "x", ""])
def test_F4_an_unknown_length_is_asked_whole(compress, length) -> None:
    """Without a length no passages are asked for."""
    store = RecordingStore({"a": "Dogs."})
    made = compress(ContentPolicyCompressor(store=store), [reference("a", length)])

    assert store.asked("highlight") == []
    assert texts(made) == ["Dogs."]


@pytest.mark.parametrize("query", ["", None, " \n"])
def test_F5_F21_a_blank_query_asks_whole_and_cuts_with_a_mark(compress, query) -> None:
    """No passages are asked for; over the limit the text is cut, and says so."""
    store = RecordingStore({"a": BIG})
    made = compress(
        ContentPolicyCompressor(store=store), [reference("a", 99_999)], query
    )

    assert store.asked("highlight") == []
    assert "left out" in texts(made)[0]
    assert len(texts(made)[0]) <= 3_000
    assert made.documents[0].metadata["ctxfetch"]["truncated"] is True


def test_F5_literal_without_a_limit_nothing_is_cut(compress) -> None:
    """With `limit=None` the whole text is delivered."""
    store = RecordingStore({"a": BIG})
    made = compress(literal(store, limit=None), [reference("a", 99_999)], "")

    assert texts(made) == [BIG]


def test_F6_small_and_large_are_asked_at_once_and_keep_their_order(compress) -> None:
    """One fetch for the small, one highlight for the large, in one round."""
    store = RecordingStore({"small": "s", "big": BIG, "small2": "s2"}, {"big": [DOGS]})
    made = compress(
        ContentPolicyCompressor(store=store),
        [reference("small", 100), reference("big", 99_999), reference("small2", 200)],
    )

    assert store.asked("fetch") == [["small", "small2"]]
    assert store.asked("highlight") == [["big"]]
    assert texts(made) == ["s", "Dogs bark at night.", "s2"]
    assert strategies(made) == ["full", "highlight", "full"]


@pytest.mark.parametrize("documents", [[], None])
def test_F7_no_documents_no_calls(compress, documents) -> None:
    """Nothing in, nothing out, nobody asked."""
    store = RecordingStore()
    made = compress(ContentPolicyCompressor(store=store), documents)

    assert made.documents == []
    assert store.calls == []


def test_F8_literal_what_has_no_passage_is_cut_to_its_head(compress) -> None:
    """With limit = threshold, the head, and no mark, the first characters remain."""
    store = RecordingStore({"a": "0123456789"})
    made = compress(literal(store, threshold=4, limit=4), [reference("a", 10)], "q")

    assert texts(made) == ["0123"]


def test_F8_what_has_no_passage_keeps_head_and_tail(compress) -> None:
    """Both ends remain, a mark says how much is missing, the limit holds."""
    text = "Begin. " + "Cats sleep. " * 900 + "End."
    store = RecordingStore({"a": text})
    made = compress(ContentPolicyCompressor(store=store), [reference("a", len(text))])
    (kept,) = texts(made)

    assert kept.startswith("Begin.")
    assert kept.endswith("End.")
    assert "characters left out" in kept
    assert len(kept) <= 3_000


def test_F9_only_what_missed_is_fetched_whole(compress) -> None:
    """A document with a passage is not asked again."""
    store = RecordingStore({"hit": BIG, "miss": "0123456789"}, {"hit": [DOGS]})
    made = compress(
        literal(store, threshold=4, limit=25),
        [reference("hit", 99_999), reference("miss", 10)],
    )

    assert store.asked("fetch") == [["miss"]]
    assert texts(made) == ["Dogs bark at night.", "0123456789"]


def test_F9_literal_the_miss_is_cut_to_the_threshold(compress) -> None:
    """Beside a hit the miss becomes its head."""
    store = RecordingStore(
        {"hit": "dogs bark", "miss": "0123456789"}, {"hit": [(0, 4)]}
    )
    made = compress(
        literal(store, threshold=4, limit=4),
        [reference("hit", 9), reference("miss", 10)],
    )

    assert texts(made) == ["dogs", "0123"]


def test_F10_a_miss_stays_in_its_place(compress) -> None:
    """Two fetches, one for the small, one for the miss, and the order of the input."""
    store = RecordingStore({"small1": "s1", "big": "0123456789", "small2": "s2"})
    made = compress(
        literal(store, threshold=4, limit=4),
        [reference("small1", 2), reference("big", 10), reference("small2", 2)],
    )

    assert store.asked("fetch") == [["small1", "small2"], ["big"]]
    assert texts(made) == ["s1", "0123", "s2"]


def test_F11_nothing_is_fetched_where_all_large_ones_hit(compress) -> None:
    """Passages alone are asked for."""
    store = RecordingStore({"a": BIG, "b": BIG}, {"a": [DOGS], "b": [DOGS]})
    compress(
        ContentPolicyCompressor(store=store),
        [reference("a", 99_999), reference("b", 99_999)],
    )

    assert store.asked("fetch") == []


def test_F12_S13_a_document_that_is_gone_keeps_its_place(compress) -> None:
    """It has no text, says that it is missing, and a gap names it; one call only."""
    store = RecordingStore({"b": "here"})
    made = compress(
        ContentPolicyCompressor(store=store), [reference("a", 10), reference("b", 10)]
    )

    assert texts(made) == ["", "here"]
    assert strategies(made) == ["missing", "full"]
    assert [(gap.part, gap.kind) for gap in made.gaps] == [("a", "missing")]
    assert len(store.calls) == 1


def test_F12_literal_what_is_gone_is_dropped(compress) -> None:
    """With `missing="drop"` it leaves the documents, not the gaps."""
    store = RecordingStore({"b": "here"})
    made = compress(literal(store), [reference("a", 10), reference("b", 10)])

    assert texts(made) == ["here"]
    assert [gap.part for gap in made.gaps] == ["a"]


def test_F12_a_large_document_that_is_gone_is_not_asked_twice(compress) -> None:
    """Where the store knows no such document, its text is not asked for either."""
    store = RecordingStore({})
    made = compress(ContentPolicyCompressor(store=store), [reference("a", 99_999)])

    assert store.asked("fetch") == []
    assert strategies(made) == ["missing"]


def test_F16_a_blank_passage_is_none(compress) -> None:
    """A hit whose passages say nothing has missed."""
    store = RecordingStore({"a": " " * 20 + "cats"}, {"a": [(0, 10)]})
    compress(ContentPolicyCompressor(store=store, threshold=4), [reference("a", 24)])

    assert store.asked("fetch") == [["a"]]


def test_F17_a_bad_document_degrades_alone(compress) -> None:
    """Where one document's passages fail, it alone is fetched whole."""
    store = RecordingStore({"bad": BIG, "good": BIG}, {"good": [DOGS]})
    store.failing.add("bad")
    made = compress(
        ContentPolicyCompressor(store=store),
        [reference("bad", 99_999), reference("good", 99_999)],
    )

    assert store.asked("fetch") == [["bad"]]
    assert all("Dogs bark at night." in text for text in texts(made))
    assert [(gap.part, gap.kind) for gap in made.gaps] == [("bad", "not_searched")]


def test_F17_a_failed_call_degrades_all(compress) -> None:
    """All large documents are fetched whole, and a gap says why."""
    store = RecordingStore({"a": BIG, "b": BIG}, {"a": [DOGS], "b": [DOGS]})
    store.failing.add("highlight")
    made = compress(
        ContentPolicyCompressor(store=store),
        [reference("a", 99_999), reference("b", 99_999)],
    )

    assert store.asked("fetch") == [["a", "b"]]
    assert len(made.documents) == 2
    assert [gap.kind for gap in made.gaps] == ["not_searched"]
    assert "store is down" in made.gaps[0].reason


def test_F18_a_failed_fetch_raises_nothing(compress) -> None:
    """Its documents are missing, and a gap for each says why."""
    store = RecordingStore({"a": "x"})
    store.failing.add("fetch")
    made = compress(
        ContentPolicyCompressor(store=store), [reference("a", 5), reference("b", 5)]
    )

    assert strategies(made) == ["missing", "missing"]
    assert [gap.part for gap in made.gaps] == ["a", "b"]
    assert "store is down" in made.gaps[0].reason


def test_F19_a_duplicate_comes_twice_and_is_asked_once(compress) -> None:
    """Order and duplicates of the input are those of the output."""
    store = RecordingStore({"a": "A", "b": "B"})
    made = compress(
        ContentPolicyCompressor(store=store),
        [reference("a", 1), reference("b", 1), reference("a", 1)],
    )

    assert texts(made) == ["A", "B", "A"]
    assert store.asked("fetch") == [["a", "b"]]


def test_F20_a_large_document_of_unknown_size_is_quoted(compress) -> None:
    """Measured on arrival, over the limit, it is quoted here: no second call."""
    text = BIG * 100
    store = RecordingStore({"a": text})
    made = compress(ContentPolicyCompressor(store=store), [reference("a")])

    assert strategies(made) == ["highlight"]
    assert "Dogs bark at night." in texts(made)[0]
    assert len(texts(made)[0]) <= 3_000
    assert len(store.calls) == 1


def test_F20_literal_without_a_limit_it_comes_whole(compress) -> None:
    """With `limit=None` what was asked whole is delivered whole."""
    store = RecordingStore({"a": BIG * 100})
    made = compress(literal(store, limit=None), [reference("a")])

    assert texts(made) == [BIG * 100]


def test_the_filter_stands_in_every_call(compress) -> None:
    """Fetch, highlight and the second fetch all carry it."""
    where = {"tenant": "a"}
    store = RecordingStore({"small": "s", "big": BIG})
    compress(
        ContentPolicyCompressor(store=store, filter=where),
        [reference("small", 1), reference("big", 99_999)],
    )

    assert len(store.calls) == 3
    assert {str(call[2]) for call in store.calls} == {str(where)}


def test_text_in_hand_is_used(compress) -> None:
    """A store is not asked for a document whose whole text came in."""
    store = RecordingStore()
    whole = reference("a", 5, "Dogs.").model_copy(update={"metadata": {}})
    made = compress(ContentPolicyCompressor(store=store), [whole])

    assert store.calls == []
    assert texts(made) == ["Dogs."]


@pytest.mark.parametrize(("times", "asked"), [(4, "fetch"), (5, "highlight")])
def test_with_a_budget_four_shares_are_asked_whole(compress, times, asked) -> None:
    """Up to 4 times its share a document is asked whole, above it by its passages."""
    store = RecordingStore({"a": BIG}, {"a": [DOGS]})
    compressor = ContentPolicyCompressor(
        store=store, max_tokens=6_000, token_counter=len
    )
    compress(compressor, [reference("a", 6_000 * times)])

    assert [call[0] for call in store.calls] == [asked]


def test_with_a_budget_passages_have_about_a_share_of_room(compress) -> None:
    """Two large documents are asked for half of the budget each, and no third time."""
    store = RecordingStore({"a": BIG, "b": BIG}, {"a": [DOGS], "b": [DOGS]})
    compressor = ContentPolicyCompressor(
        store=store, max_tokens=4_000, token_counter=len
    )
    compress(compressor, [reference("a", 90_000), reference("b", 90_000)])

    assert [call[4] for call in store.calls] == [2_000]
