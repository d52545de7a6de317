"""The passages of a text that answer a question, within so much room."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, strategies as st

from langchain_ctxfetch._core.passages import Scored, score_sentences
from langchain_ctxfetch._core.picking import cuts_within, pick, quote
from langchain_ctxfetch._core.text import floor_boundary
from langchain_ctxfetch._core.transcripts import (
    favour_named_speakers,
    is_transcript,
)

MARK = 3

texts = st.lists(
    st.sampled_from(
        [
            *"ab. !?\n\t-",
            "cats ",
            "dogs. ",
            "A cat sat. ",
            "。",
            "猫の手",
            "e\u0301",
            "\u0301",
            "👩‍👩‍👧",
            "İ",
            "ẞ",
            "Ann: I see.\n",
            "x" * 600,
        ]
    ),
    max_size=40,
).map("".join)
queries = st.sampled_from(["cats", "dog cat?", "猫の手も", "", "the", "İ ẞ (", "Ann"])
rooms = st.integers(-2, 400)


def plain(word: str) -> str:
    return word.removesuffix("s")


def picked(text: str, query: str, room: int) -> list[tuple[int, int]]:
    return pick(score_sentences(text, query, stem=plain, room=room), room)


def length(spans) -> int:
    return sum(end - start for start, end in spans) + MARK * max(0, len(spans) - 1)


def prose(sentences: int, seed: int = 0) -> str:
    """Return sentences of words that no test asks for."""
    words = "river stone cloud paper window garden letter market winter silver".split()  # noqa: SIM905 - words read better than a list of strings
    choose = random.Random(seed)
    return " ".join(
        " ".join(choose.choices(words, k=10)).capitalize() + "."
        for _ in range(sentences)
    )


# --- laws --------------------------------------------------------------------------


@given(texts, queries, rooms)
@example("x" * 600, "cats", 10)
@example(" \u0301a", "cats", 2)
def test_what_is_picked_never_exceeds_the_room(
    text: str, query: str, room: int
) -> None:
    """Passages and the marks between them fit, whatever the text and the room."""
    assert length(picked(text, query, room)) <= max(0, room)


@given(texts, queries, rooms)
def test_passages_are_in_order_and_do_not_touch(
    text: str, query: str, room: int
) -> None:
    """Each passage holds something and ends before the next begins."""
    spans = picked(text, query, room)

    assert all(0 <= start < end <= len(text) for start, end in spans)
    assert all(before[1] < after[0] for before, after in pairwise(spans))


@given(texts, queries, rooms)
def test_no_grapheme_is_cut(text: str, query: str, room: int) -> None:
    """Passages begin and end between graphemes."""
    whole = {0} | {match.end() for match in regex.finditer(r"\X", text)}

    assert {place for span in picked(text, query, room) for place in span} <= whole


@given(texts, queries, rooms)
def test_picking_twice_is_picking_once(text: str, query: str, room: int) -> None:
    """The same text, question and room give the same passages."""
    assert picked(text, query, room) == picked(text, query, room)


@given(texts, queries)
def test_a_text_that_fits_comes_whole(text: str, query: str) -> None:
    """With room for all of it there is one passage and no mark."""
    spans = picked(text, query, len(text))

    assert quote(text, spans).strip() == text.strip()


@given(texts, queries, st.integers(1, 300))
def test_something_is_picked_where_there_is_something(
    text: str, query: str, room: int
) -> None:
    """A tiny room still brings a part, unless its first grapheme is larger."""
    assert picked(text, query, room) or not text.strip() or room < 16


@given(texts, queries)
def test_there_is_a_score_for_each_sentence(text: str, query: str) -> None:
    """Sentences ascend and cover the text; scores are above zero."""
    scored = score_sentences(text, query, stem=plain, room=100)

    assert "".join(text[start:end] for start, end in scored.units) == text
    assert len(scored.scores) == len(scored.units)
    assert all(score >= 0 for score in scored.scores)


# --- what is found -----------------------------------------------------------------


def test_FR_D3_an_answer_late_in_a_long_text_is_picked() -> None:
    """300,000 characters, the answer at 250,000, room for 4,000."""
    filler = prose(6_000)[:250_000]
    text = filler + " ZX-81 code is 4471. " + prose(800, seed=1)[:50_000]
    spans = picked(text, "ZX-81 code", 4_000)

    assert "4471" in quote(text, spans)
    assert length(spans) <= 4_000


@pytest.mark.parametrize("sentence", [True, False], ids=["sentences", "no sentences"])
def test_FR_D12_a_passage_is_more_than_the_word_itself(sentence: bool) -> None:
    """A match in the middle of 2,000 characters brings text on both sides of it."""
    filler = "The river was cold. " if sentence else "the river was cold and "
    half = (filler * 60)[:1_000].rsplit(" ", 1)[0]
    text = f"{half} zebra {half}"
    ((start, end),) = picked(text, "zebra", 200)
    place = text.index("zebra")

    assert 100 <= end - start <= 200
    assert start < place < place + len("zebra") < end


def test_the_sentences_after_a_hit_come_before_those_in_front() -> None:
    """Hits flow three times as strongly onwards as back."""
    text = prose(10) + " The zebra came. " + prose(10, seed=1)
    place = text.index("The zebra")
    ((start, end),) = picked(text, "zebra", 250)

    assert end - place > place - start


def test_a_text_without_a_word_of_the_question_is_not_found() -> None:
    """No hit at all: `found` is False, and the lead comes first."""
    text = prose(50)
    scored = score_sentences(text, "zebra", stem=plain, room=100)

    assert not scored.found
    assert pick(scored, 100)[0][0] == 0


def test_a_word_within_a_compound_is_found() -> None:
    """What a question asks for may be the second part of a word."""
    text = prose(20) + " Die Lebensversicherung zahlt. " + prose(20, seed=1)
    scored = score_sentences(text, "Versicherung", stem=plain, room=100)

    assert scored.found
    assert "Lebensversicherung" in quote(text, pick(scored, 100))


def test_a_misspelt_word_is_picked() -> None:
    """Strings of four letters find what the words miss."""
    text = prose(20) + " The photosynthesis stops. " + prose(20, seed=1)

    assert "photosynthesis" in quote(text, picked(text, "photosynthesys", 120))


def test_words_on_the_task_alone_find_nothing() -> None:
    """`Describe` in the text is no answer to a question about something else."""
    text = "They describe it. " + prose(20)

    assert not score_sentences(text, "Describe zebras", stem=plain, room=99).found


def test_letters_that_change_length_in_lower_case_keep_offsets_exact() -> None:
    """After hundreds of `İ` the passage still is where it says."""
    text = "İİİ. " * 300 + "The zebra came." + " İİİ." * 300
    ((start, end),) = picked(text, "zebra", 40)

    assert "The zebra came." in text[start:end]


def test_japanese_passages_end_at_full_stops() -> None:
    """Sentences end at `。`, and the question needs no spaces."""
    filler = "これは川の話です。"
    text = filler * 40 + "猫の名前は太郎です。" + filler * 40
    spans = picked(text, "猫の名前は何ですか", 60)

    assert "太郎" in quote(text, spans)
    assert all(text[end - 1] == "。" for _, end in spans)


def test_few_hits_in_a_long_text_still_fill_the_room() -> None:
    """The one hit of a long text brings its surroundings."""
    text = prose(2_000) + " The zebra came. " + prose(2_000, seed=1)

    assert length(picked(text, "zebra", 4_000)) > 3_900


def test_only_regions_of_a_long_text_are_scored() -> None:
    """The work after the first look does not grow with the text."""
    text = prose(20_000)
    scored = score_sentences(text, "river stone", stem=plain, room=4_000)

    assert sum(end - start for start, end in scored.units) < 50_000


# --- picking -----------------------------------------------------------------------


def test_sentences_that_touch_make_one_passage() -> None:
    """Neighbours are joined, and a mark is paid for only where text is left out."""
    text = "Aaaa. Bbbb. Cccc. Dddd."
    units = [(0, 6), (6, 12), (12, 18), (18, 23)]
    scored = Scored(units, [4.0, 3.0, 1.0, 2.0], True, text)

    assert pick(scored, 11) == [(0, 11)]
    assert pick(scored, 18) == [(0, 17)]
    assert pick(scored, 19) == [(0, 11), (18, 23)]


def test_a_sentence_that_does_not_fit_is_passed_over() -> None:
    """A shorter one of less worth takes the room."""
    scored = Scored(
        [(0, 6), (6, 40), (40, 43)], [3.0, 2.0, 1.0], True, "Aaaa. " + "b" * 33 + " Cc."
    )

    assert pick(scored, 30) == [(0, 5), (40, 43)]


def test_equal_scores_keep_the_order_of_the_text() -> None:
    """The earlier sentence is taken first."""
    scored = Scored([(0, 4), (4, 7)], [1.0, 1.0], True, "Ab. Cd.")

    assert pick(scored, 3) == [(0, 3)]


def test_a_blank_sentence_is_never_picked() -> None:
    """White space says nothing, whatever its score."""
    scored = Scored([(0, 9), (9, 12)], [2.0, 1.0], True, " " * 9 + "Ab.")

    assert pick(scored, 5) == [(9, 12)]


def test_no_room_and_no_sentences_give_no_passages() -> None:
    """Nothing fits, or there is nothing."""
    assert pick(Scored([(0, 3)], [1.0], True, "Ab."), 0) == []
    assert pick(Scored([], [], False, ""), 100) == []


def test_a_sentence_too_long_is_cut_around_its_weightiest_hit() -> None:
    """The cut falls between words, with text on both sides of the hit."""
    text = "one two three four five six seven eight nine ten eleven twelve"
    scored = Scored([(0, len(text))], [1.0], True, text, ([text.index("six")], [0]))

    assert quote(text, pick(scored, 24)) == "four five six seven"


def test_a_longer_mark_costs_more() -> None:
    """The length of the mark is the caller's."""
    scored = Scored(
        [(0, 6), (6, 40), (40, 43)], [3.0, 1.0, 2.0], True, "Aaaa. " + "b" * 33 + " Cc."
    )

    assert pick(scored, 11, mark_length=4) == [(0, 5)]


def test_quoting_puts_a_mark_at_each_gap() -> None:
    """None before the first passage and none after the last."""
    assert quote("Ab. Cd. Ef.", [(0, 3), (8, 11)]) == "Ab.\n…\nEf."


# --- transcripts -------------------------------------------------------------------

TALK = "Ann Lee: We met.\nBob: Yes.\n" * 15


def test_a_text_of_labelled_turns_is_a_transcript() -> None:
    """Half of at least 20 lines, by speakers with three turns and more."""
    assert is_transcript(TALK)


@pytest.mark.parametrize(
    "text",
    [
        TALK[:200],
        prose(50).replace(". ", ".\n"),
        "".join(f"key{chr(97 + i)}: value\n" for i in range(26)),
    ],
    ids=["few lines", "prose", "each label once"],
)
def test_other_texts_are_no_transcripts(text: str) -> None:
    """Short texts, lines without labels, and labels that do not come back."""
    assert not is_transcript(text)


def test_the_turns_of_a_speaker_who_is_asked_for_are_favoured() -> None:
    """All names asked: 1.2; one of two: 1.1; none: 1."""
    units = [(0, 17), (17, 27)]

    assert favour_named_speakers(TALK, units, ["ann", "lee", "bob"], str) == [
        pytest.approx(1 + 0.2 * 2 / 3),
        pytest.approx(1 + 0.2 * 1 / 3),
    ]
    assert favour_named_speakers(TALK, units, ["met"], str) == [1.0, 1.0]


def test_words_of_the_best_turns_count_as_well() -> None:
    """A turn that shares a rare word with the best one beats the turn before it."""
    turns = [f"Ann: {prose(1, seed=i)}\n" for i in range(120)]
    turns[20] = "Bob: The zebra has a quagga for a cousin.\n"
    turns[100] = "Bob: That quagga is dead.\n"
    text = "".join(turns)
    scored = score_sentences(text, "zebra", stem=plain, room=2_500)
    number = scored.units.index(
        (text.index(turns[100]), text.index(turns[100]) + len(turns[100]))
    )

    assert scored.scores[number] > scored.scores[number - 1]


@pytest.mark.parametrize("cluster", ["🇩🇪🇩🇪", "👩‍👩‍👧", "👍🏽", "e\u0301\u0302"])
@pytest.mark.parametrize("sentence", ["dog " + "x" * 30, "x" * 30 + " dog"])
@pytest.mark.parametrize("room", range(3, 34))
def test_a_window_around_a_hit_splits_no_grapheme(cluster, sentence, room) -> None:
    """Not where it reaches into the sentence before or after either."""
    text = f"{cluster * 6}\n{sentence}\n{cluster * 6}"
    scored = score_sentences(text, "dog", stem=str, room=room)

    for place in (place for span in pick(scored, room) for place in span):
        assert floor_boundary(text, place) == place


# --- cut sentences ---


@pytest.mark.parametrize(
    ("span", "cut"),
    [((0, 3), (False, False)), ((1, 3), (True, False)), ((4, 6), (False, True))],
)
def test_a_passage_knows_where_it_cuts_a_sentence(span, cut) -> None:
    """White space around a sentence is no part of it."""
    scored = Scored([(0, 4), (4, 8)], [1.0, 2.0], found=True, text="Ab. cde.")

    assert cuts_within(scored, span) == cut


def test_a_cut_sentence_leaves_room_for_its_edges() -> None:
    """What shows the cut, at either side, is within the room."""
    scored = Scored([(0, 90)], [1.0], found=True, text="word " * 18)
    ((start, end),) = pick(scored, 30, edge_length=3)

    assert end - start <= 24
