"""The decision, the material of a document, and the rounds that the flow asks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._answers import cosines
from langchain_ctxfetch._core.desk import Item, Policy, Scale
from langchain_ctxfetch._core.excerpts import (
    Marks,
    coarse_units,
    excerpt,
    held_passages,
    loose_text,
    scored_by,
    whole_text,
)
from langchain_ctxfetch._core.fetching import divide, read_length
from langchain_ctxfetch._core.flow import Ok, drive
from langchain_ctxfetch._core.hits import Hit, Passage
from langchain_ctxfetch._core.policy import compress
from langchain_ctxfetch._core.requests import FetchPassages, FetchWhole, Work

TEXT = "".join(f"Sentence {number} here. " for number in range(60))
SPANS = st.lists(
    st.tuples(st.integers(0, len(TEXT)), st.integers(1, 80)).map(
        lambda pair: (pair[0], min(len(TEXT), pair[0] + pair[1]))
    ),
    max_size=8,
)


def passages(spans) -> list[Passage]:
    return [Passage(start, end, TEXT[start:end]) for start, end in spans]


# --- lengths out of metadata ---


@pytest.mark.parametrize(
    ("value", "length"),
    [(5, 5), ("7", 7), ("x", None), (None, None), (np.int64(5), 5), ([5], None)],
)
def test_F13_a_length_is_a_whole_number_or_its_digits(value, length) -> None:
    """Anything else is an unknown length."""
    assert read_length(value) == length


@pytest.mark.parametrize(
    ("value", "length"),
    [
        (" 7 ", None),
        ("12.5", None),
        ("", None),
        (3000.9, 3000),
        (np.float32(7.5), 7),
        (math.nan, None),
        (math.inf, None),
        (-1, None),
        (True, None),
        ("9" * 5_000, None),
    ],
)
def test_F14_a_length_has_no_spaces_and_no_point(value, length) -> None:
    """Fractions of a number are dropped; what is no count at all is unknown."""
    assert read_length(value) == length


def test_unknown_lengths_are_asked_whole() -> None:
    """Their size is measured on arrival."""
    lengths = {"a": 4, "b": None, "c": 5}

    assert divide(lengths, lambda length: length < 5) == (("a", "b"), ("c",))


# --- material and excerpts ---


@given(SPANS, st.integers(0, 300), st.sampled_from(["\n…\n", "", " [gap] "]))
def test_an_excerpt_of_passages_has_exact_offsets(spans, room: int, gap: str) -> None:
    """Its text is the stretches it names, joined by the mark, within the room."""
    marks = Marks(gap=gap)
    made = excerpt(held_passages(passages(spans), len(TEXT), marks), room, marks)

    quoted = gap.join(TEXT[start:end] for start, end in made.spans)
    assert made.text in {quoted, quoted + marks.edge * made.cut}
    assert len(made.text) <= room
    assert list(made.spans) == sorted(made.spans)


@given(SPANS)
def test_passages_in_full_tell_each_character_once(spans) -> None:
    """Overlaps are told once, blank passages not at all."""
    marks = Marks()
    made = excerpt(held_passages(passages(spans), None, marks), 10_000, marks)
    told = [at for start, end in made.spans for at in range(start, end)]
    inked = {at for span in spans for at in range(*span) if not TEXT[at].isspace()}

    assert len(told) == len(set(told))
    assert inked <= set(told)


@given(st.integers(0, 2_000))
def test_an_excerpt_by_scores_is_within_its_room(room: int) -> None:
    """Whatever was scored, offsets are exact and the room is kept."""
    units = coarse_units(TEXT, room)
    material = scored_by(whole_text(TEXT), units, [float(end % 7) for _, end in units])
    made = excerpt(material, room, Marks())

    assert len(made.text) <= room
    assert made.strategy == ("full" if len(TEXT) <= room else made.strategy)
    if made.strategy == "highlight":
        quoted = "\n…\n".join(TEXT[start:end] for start, end in made.spans)
        assert made.text.strip("…") == quoted


def test_what_is_no_number_scores_least() -> None:
    """A NaN is never chosen before a number."""
    material = scored_by(whole_text("One. Two."), [(0, 5), (5, 9)], [math.nan, -3.0])

    assert material.scored is not None
    assert material.scored.scores == [-3.0, -3.0]


def test_text_of_unknown_place_has_no_offsets() -> None:
    """It is cut all the same."""
    made = excerpt(loose_text(TEXT, 9_000), 100, Marks(cut="[{missing}]"))

    assert made.spans == ()
    assert 50 < len(made.text) <= 100


@given(st.integers(0, 5_000))
def test_coarse_units_are_a_bounded_number(room: int) -> None:
    """A long text is not judged in thousands of passages."""
    assert len(coarse_units(TEXT * 100, room)) <= 260


@given(
    st.lists(st.integers(-5, 5), min_size=2, max_size=2),
    st.lists(st.integers(-5, 5), min_size=2, max_size=2),
)
def test_a_cosine_is_symmetric_and_bounded(a, b) -> None:
    """It lies in [-1, 1], and the null vector is like nothing."""
    (there,), (back,) = cosines(["a"], a, [b]), cosines(["b"], b, [a])
    (nothing,) = cosines(["b"], [0, 0], [b])

    assert there == pytest.approx(back)
    assert -1 - 1e-9 <= there <= 1 + 1e-9
    assert nothing == 0


# --- rounds ---


def run(items, query="sentence", **settings):
    """Run the flow; return its result and the rounds that it asked the store."""
    policy = Policy(stem=lambda word: word, fetches=True, **settings)
    rounds = []

    def answer(asked):
        kinds = [ask for ask in asked if not isinstance(ask, Work)]
        if kinds:
            rounds.append(kinds)
        return [Ok(reply(ask)) for ask in asked]

    def reply(ask):
        if isinstance(ask, Work):
            return ask.run()
        if isinstance(ask, FetchWhole):
            return [Hit(name, TEXT) for name in ask.ids]
        if isinstance(ask, FetchPassages):
            return [Ok(Hit(name, None)) for name in ask.ids]
        raise AssertionError(ask)

    scale = Scale(len, lambda texts: sum(len(text or "") for text in texts))
    return drive(compress(items, query, policy, scale), answer), rounds


def test_small_and_large_are_one_round_and_misses_another() -> None:
    """Two rounds at most, one request of a kind in each."""
    items = [
        Item("small", "…", partial=True, length=5),
        Item("large", "…", partial=True, length=9_000),
    ]
    _, rounds = run(items)

    assert rounds == [
        [FetchWhole(("small",)), FetchPassages(("large",), "sentence", 3_000)],
        [FetchWhole(("large",))],
    ]


def test_nothing_is_asked_of_a_document_without_an_id() -> None:
    """A store could not find it; what is in hand is delivered."""
    made, rounds = run([Item(None, "In hand.", partial=True, length=9_000)])

    assert rounds == []
    assert made.excerpts[0].text == "In hand."


def test_with_a_budget_a_share_decides() -> None:
    """Of 20,000 characters each has 10,000: 40,000 is asked whole, 40,001 is not."""
    items = [
        Item("whole", "…", partial=True, length=40_000),
        Item("parts", "…", partial=True, length=40_001),
    ]
    _, rounds = run(items, max_tokens=20_000)

    assert rounds[0] == [
        FetchWhole(("whole",)),
        FetchPassages(("parts",), "sentence", 10_000),
    ]


def test_with_a_small_budget_there_is_enough_to_choose_from() -> None:
    """A small document is asked whole, and passages never come in scraps."""
    items = [
        Item("whole", "…", partial=True, length=20_000),
        Item("parts", "…", partial=True, length=20_001),
    ]
    _, rounds = run(items, max_tokens=100)

    assert rounds[0] == [
        FetchWhole(("whole",)),
        FetchPassages(("parts",), "sentence", 1_000),
    ]


def test_who_fits_into_its_share_comes_whole() -> None:
    """The short one is whole, the long ones have the same room."""
    items = [Item("a", TEXT), Item("b", "Short."), Item("c", TEXT)]
    made, _ = run(items, max_tokens=500)
    lengths = [len(each.text) for each in made.excerpts]

    assert made.excerpts[1].strategy == "full"
    assert lengths[0] == lengths[2]
    assert 400 < sum(lengths) <= 500


def test_within_the_budget_the_threshold_does_not_count() -> None:
    """A long document that fits is delivered whole."""
    made, _ = run([Item("a", TEXT)], max_tokens=len(TEXT), threshold=5, limit=5)

    assert made.excerpts[0].text == TEXT
    assert made.excerpts[0].strategy == "full"
