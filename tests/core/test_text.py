"""Cleaning and cutting."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.text import (
    ceil_boundary,
    clean,
    cut,
    floor_boundary,
    head,
    head_tail,
)
from tests.strategies import ODD_TEXTS

LIMITS = st.integers(-3, 70)
MARKS = st.sampled_from(["", "…", "[…]", "a mark that is quite long", "{missing}"])


def boundaries(text: str) -> list[int]:
    return [0, *(found.end() for found in regex.finditer(r"\X", text))]


# --- clean ---


def test_clean_replaces_one_for_one() -> None:
    """Each lone surrogate and each NUL becomes one U+FFFD, and nothing else moves."""
    assert clean("a\x00\ud83d\udc00é") == "a\ufffd\ufffd\ufffdé"


@given(ODD_TEXTS)
def test_clean_text_can_be_encoded_and_keeps_its_length(text: str) -> None:
    """What comes out is UTF-8 of the same number of characters."""
    cleaned = clean(text)
    cleaned.encode()

    assert len(cleaned) == len(text)
    assert "\x00" not in cleaned


@pytest.mark.parametrize("text", ["", "plain", "é 你好"])
def test_a_clean_text_is_not_copied(text: str) -> None:
    """A text with nothing to clean comes back as the same object."""
    assert clean(text) is text


# --- boundaries ---


@given(ODD_TEXTS, st.integers(-2, 70))
def test_boundaries_are_those_of_the_whole_text(text: str, index: int) -> None:
    """Looking around the place finds what segmenting the whole text finds."""
    known = boundaries(text)
    inside = max(0, min(index, len(text)))

    assert floor_boundary(text, index) == max(at for at in known if at <= inside)
    assert ceil_boundary(text, index) == min(at for at in known if at >= inside)


@given(ODD_TEXTS, st.integers(0, 60), st.integers(0, 60))
def test_a_known_boundary_changes_no_answer_behind_it(
    text: str, start: int, index: int
) -> None:
    """Looking back no further than a boundary finds the same boundary."""
    known = floor_boundary(text, start)
    index = max(index, known)

    assert floor_boundary(text, index, known) == floor_boundary(text, index)


def test_flags_are_counted_from_the_beginning_of_their_run() -> None:
    """A cut never takes half of one flag and half of the next."""
    flags = "\U0001f1e9\U0001f1ea" * 30

    assert floor_boundary(flags, 31) == 30


# --- cut ---


@given(ODD_TEXTS.map(clean), LIMITS, MARKS)
def test_a_cut_keeps_to_its_limit_between_graphemes(
    text: str, limit: int, mark: str
) -> None:
    """Length with mark is within the limit, and what is kept is whole graphemes."""
    made = cut(text, limit, mark)
    made.encode()

    assert len(made) <= max(0, limit)
    if made != text:
        shown = mark if made.endswith(mark) and len(mark) <= limit else ""
        kept = made.removesuffix(shown)
        assert text.startswith(kept)
        assert len(kept) in boundaries(text)


@given(ODD_TEXTS, LIMITS, MARKS)
def test_cutting_twice_is_cutting_once(text: str, limit: int, mark: str) -> None:
    """A cut text is short enough to stay as it is."""
    once = cut(text, limit, mark)

    assert cut(once, limit, mark) == once


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("0123456789", 4, "0123"),
        ("ab", 4, "ab"),
        ("0123", 4, "0123"),
        ("", 4, ""),
        ("abc", 0, ""),
        ("abc", -1, ""),
    ],
)
def test_F15_without_a_mark_the_head_remains(
    text: str, limit: int, expected: str
) -> None:
    """The reference's cuts, with an empty mark; a limit below 0 gives nothing."""
    assert cut(text, limit, mark="") == expected


@pytest.mark.parametrize("limit", [8_000, 8_001])
def test_FR_G5_an_emoji_at_the_limit_stays_whole(limit: int) -> None:
    """The result can be encoded, and holds the emoji or nothing of it."""
    made = cut("x" * 7_999 + "\U0001f389", limit)

    assert made.encode().decode() == made
    assert len(made) <= limit


@pytest.mark.parametrize("limit", [0, 1, 10, 200])
@pytest.mark.parametrize("shorten", [head, head_tail])
def test_FR_G7_a_cut_counts_its_mark(shorten, limit: int) -> None:
    """The mark is part of the limit, a mark with no room is left out."""
    _, made = shorten("0123456789" * 100, limit, "\n[… {missing} left out …]\n")

    assert len(made) <= limit
    assert ("left out" in made) == (limit == 200)


# --- head and tail ---


@given(ODD_TEXTS, LIMITS, MARKS, st.sampled_from([head, head_tail]))
def test_stretches_are_what_the_text_holds(
    text: str, limit: int, mark: str, shorten
) -> None:
    """Offsets are exact, ascending, apart, and the result is within the limit."""
    spans, made = shorten(text, limit, mark)
    kept = [text[start:end] for start, end in spans]

    assert len(made) <= max(0, limit)
    assert all(end <= start for (_, end), (start, _) in pairwise(spans))
    assert made.startswith(kept[0] if kept else "")
    assert made.endswith(kept[1] if len(kept) == 2 else "")
    assert {at for span in spans for at in span} <= set(boundaries(text))


def test_the_mark_says_how_much_is_missing() -> None:
    """Kept and missing characters add up to the text."""
    spans, made = head_tail("x" * 5_000, 1_000, "[{missing}]")
    kept = sum(end - start for start, end in spans)

    assert f"[{5_000 - kept:,}]" in made


def test_two_thirds_are_head() -> None:
    """Of 93 characters beside the mark the head gets 62."""
    spans, _ = head_tail("x" * 500, 98, "[{missing}]")

    assert spans == [(0, 62), (469, 500)]


@pytest.mark.parametrize(
    "text", ["\n" * 300_000, "\U0001f1e9" * 300_000, "e" + "\u0301" * 300_000]
)
def test_a_long_run_of_anything_is_cut(text: str) -> None:
    """Blank lines, flags and stacked accents are no trouble."""
    assert len(cut(text, 1_000)) <= 1_000
