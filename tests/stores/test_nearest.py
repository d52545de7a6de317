"""Which terms are nearly a word, and how far away they are."""

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch.stores._nearest import WordTable, edits, near
from tests.stores import plain_ranking

WORDS = st.text("abé\u05d0\U00010400", max_size=9)
TERMS = st.lists(WORDS, max_size=8, unique=True).map(sorted)


@given(WORDS, TERMS)
def test_edits_are_those_of_the_plain_recursion(word, terms) -> None:
    """Letter put in, left out, replaced, or exchanged with its neighbour."""
    expected = [plain_ranking.edits(word, term) for term in terms]

    assert edits(word, terms).tolist() == expected


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("form", "from", 1),
        ("cat", "cart", 1),
        ("cart", "cat", 1),
        ("cat", "cut", 1),
        ("kitten", "sitting", 3),
        ("ca", "abc", 3),  # no stretch is edited twice
        ("same", "same", 0),
    ],
)
def test_edits_by_hand(one, other, distance) -> None:
    """The examples of the books."""
    assert edits(one, [other]).tolist() == [distance]


@given(WORDS.filter(bool), TERMS, st.integers(1, 3))
def test_the_table_passes_over_nothing_that_is_near(word, terms, limit) -> None:
    """Shared pairs of letters only spare comparisons."""
    tables = [WordTable.of(terms[:3]), WordTable.of(terms[2:])]
    distances = sorted((plain_ranking.edits(word, term), term) for term in terms)

    assert near(tables, word, limit) == [pair for pair in distances if pair[0] <= limit]


def test_a_word_of_one_letter_repeated_is_found_too() -> None:
    """It has hardly any pairs of its own."""
    terms = ["aaaaa", "aaaaaaa", "aabaaba", "bbbbbbb"]

    assert near([WordTable.of(terms)], "aaaaaaa", 2) == [
        (0, "aaaaaaa"),
        (2, "aaaaa"),
        (2, "aabaaba"),
    ]


def test_a_table_of_nothing_finds_nothing() -> None:
    """As of a store without text."""
    assert near([WordTable.of([])], "cat", 2) == []
    assert near([], "cat", 2) == []
