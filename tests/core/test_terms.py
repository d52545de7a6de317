"""What a question asks for, and where a text mentions it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.terms import (
    WEAK,
    find_pairs,
    find_string,
    find_term,
    fold,
    letter_grams,
    rarity,
    read_question,
)


def plain(word: str) -> str:
    return word


def without_s(word: str) -> str:
    return word.removesuffix("s")


@given(st.text() | st.text(alphabet="İIıẞßΣΑＡｚ０猫"))
def test_folding_keeps_every_offset(text: str) -> None:
    """One character comes out for each that goes in."""
    assert len(fold(text)) == len(text)


@pytest.mark.parametrize(
    ("text", "folded"),
    [("ABC", "abc"), ("İstanbul", "istanbul"), ("ẞ", "ß"), ("猫ＡＢＣ９", "猫abc9")],
)
def test_folding(text: str, folded: str) -> None:
    """Small letters, also where the usual one is two characters, and narrow ones."""
    assert fold(text) == folded


def test_stop_words_are_left_out() -> None:
    """Only what says something is asked for."""
    assert read_question("What is the velocity of a swallow?", plain).weights == {
        "velocity": 1.0,
        "swallow": 1.0,
    }


def test_stop_words_count_where_there_is_nothing_else() -> None:
    """A question of stop words asks for them."""
    assert read_question("Who is who?", plain).weights == {"who": 1.0, "is": 1.0}


def test_words_on_the_task_weigh_less() -> None:
    """`Summarize` says how to answer, not what about."""
    question = read_question("Summarize the treaty", plain)

    assert question.weights == {"summarize": WEAK, "treaty": 1.0}
    assert question.strong == ["treaty"]


def test_words_on_the_task_are_strong_where_there_is_nothing_else() -> None:
    """A question that holds only weak terms asks for those."""
    assert read_question("summary of the discussion", plain).strong == [
        "summary",
        "discussion",
    ]


def test_cjk_is_asked_for_in_pairs() -> None:
    """Neighbouring letters are a term; pairs of hiragana are endings and weigh less."""
    assert read_question("猫の手です", plain).weights == {
        "猫の": 1.0,
        "の手": 1.0,
        "手で": 1.0,
        "です": WEAK,
    }


def test_a_single_cjk_letter_is_asked_for() -> None:
    """One ideograph is a word."""
    assert read_question("猫", plain).weights == {"猫": 1.0}


def test_a_question_without_words_asks_for_nothing() -> None:
    """Signs are no terms."""
    assert read_question("?! … ()", plain).weights == {}


def test_an_endless_question_is_cut() -> None:
    """At most 128 words count, so that the work is bounded."""
    query = " ".join(f"w{i}" for i in range(10_000))

    assert len(read_question(query, plain).weights) == 128


def test_a_term_is_found_at_the_beginning_of_words() -> None:
    """`cats` is a cat; `concat`, `category` and `scat` are not."""
    text = "cats, concat; Cat category scat cat"

    assert find_term(fold(text), "cat", without_s, [(0, 99)]) == [0, 14, 32]


def test_a_stem_with_a_changed_ending_is_found() -> None:
    """`happy` and `happiness` share `happi`."""

    def stem(word: str) -> str:
        return "happi" if word.startswith("happ") else word

    assert find_term("happy happiness", "happi", stem, [(0, 15)]) == [0, 6]


def test_a_term_is_found_in_the_spans_alone() -> None:
    """What lies outside is not looked at."""
    assert find_term("cat cat cat", "cat", plain, [(0, 3), (8, 11)]) == [0, 8]


def test_a_word_beside_cjk_letters_is_found() -> None:
    """No space is needed between a word and Japanese text."""
    assert find_term("猫cat猫", "cat", plain, [(0, 5)]) == [1]


def test_a_word_with_marks_is_one_word() -> None:
    """An accent of its own and a vowel sign of Hindi end no word."""
    for word in ("cafe\u0301s", "हिन्दी"):
        assert list(read_question(word, plain).weights) == [word]
        assert find_term(f"x {word} y", word, plain, [(0, 99)]) == [2]


def test_overlapping_pairs_are_all_found() -> None:
    """Three equal letters hold a pair twice."""
    assert find_string("ああああ", "ああ", [(0, 3)]) == [0, 1]


def test_the_question_is_no_pattern() -> None:
    """Signs of regular expressions mean nothing."""
    assert list(read_question("(a+)+$ [z-a] x{9} \\", plain).weights) == ["z", "x", "9"]


def test_the_rarity_by_hand() -> None:
    """Hits in cells 0 and 2 of ten: ln(1 + (10 - 2 + .5) / (2 + .5))."""
    assert rarity([1, 140, 310], cells=10, cell=150) == math.log(1 + 8.5 / 2.5)


@given(st.lists(st.integers(0, 10_000)), st.floats(0, 50))
def test_a_rarity_is_above_zero(places: list[int], cells: float) -> None:
    """Also where a term is in more cells than there are."""
    assert rarity(places, cells, 150) > 0


def test_grams_share_the_weight_of_their_word() -> None:
    """Five grams have a square root of five of it each; short words have none."""
    question = read_question("Bob searched", lambda word: word[:6])

    assert letter_grams(question) == {
        "sear": 1 / math.sqrt(5),
        "earc": 1 / math.sqrt(5),
        "arch": 1 / math.sqrt(5),
        "rche": 1 / math.sqrt(5),
        "ched": 1 / math.sqrt(5),
    }


def test_pairs_are_neighbours_but_for_stop_words() -> None:
    """A question has pairs of its words in their order, each once."""
    question = read_question("the price of valve-77", lambda word: word)

    assert question.pairs == (("price", "valve"), ("valve", "77"))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("valve-77", [0]),
        ("valve 77", [0]),
        ("valve_77", [0]),
        ("valve (77)", [0]),
        ("valve and 77", []),
        ("valve --- 77", []),
        ("valve77", []),
    ],
)
def test_a_pair_stands_side_by_side(text: str, places: list[int]) -> None:
    """At most three signs between, and no letter."""
    assert find_pairs(text, [0], [text.index("77")]) == places
