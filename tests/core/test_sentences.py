"""Sentences and passages: a partition of any text, in units of bounded length."""

from __future__ import annotations

from itertools import pairwise

import pytest
import regex
from hypothesis import example, given, strategies as st

from langchain_ctxfetch._core.sentences import (
    sentences,
    snap,
    split_passages,
    stripped,
)

LONGEST_UNIT = 500  # characters: 1.25 shares of 400

texts = st.lists(
    st.sampled_from(
        [
            *"aB. ,;!?\n\t\r-3",
            "。",
            "「猫」",
            "日本",
            "e\u0301",
            "\u0301",
            "👩‍👩‍👧",
            "🇯🇵",
            "한",
            "\u0600",
            "3.14",
            "word ",
            "Dr. ",
            "a line that is long enough to have been wrapped\n",
        ]
    ),
    max_size=60,
).map("".join)


def pieces(text: str, **options) -> list[str]:
    return [text[start:end] for start, end in sentences(text, **options)]


def boundaries(text: str) -> set[int]:
    return {0} | {match.end() for match in regex.finditer(r"\X", text)}


# --- the partition -----------------------------------------------------------------


@given(texts, st.integers(1, 40))
@example("x" * 100, 1)
@example(" \u0301", 1)
def test_sentences_laid_end_to_end_are_the_text(text: str, longest: int) -> None:
    """No character is lost, repeated or moved."""
    assert "".join(pieces(text, longest=longest)) == text


@given(texts, st.integers(1, 40))
def test_no_sentence_is_empty(text: str, longest: int) -> None:
    """Each sentence ends after it begins."""
    assert all(start < end for start, end in sentences(text, longest=longest))


@given(texts, st.integers(1, 40))
@example("One. \u0301b", 400)
def test_no_grapheme_is_cut_by_a_sentence(text: str, longest: int) -> None:
    """A letter and its accents, a family and a flag stay whole."""
    ends = {end for _, end in sentences(text, longest=longest)}

    assert ends <= boundaries(text)


@given(texts)
def test_a_part_of_a_text_is_divided_alone(text: str) -> None:
    """What is asked for from a boundary to another is covered from one to the other."""
    places = sorted(boundaries(text))
    start, end = places[len(places) // 3], places[-(len(places) // 3) - 1]
    spans = sentences(text, min(start, end), max(start, end))

    assert (
        "".join(text[a:b] for a, b in spans) == text[min(start, end) : max(start, end)]
    )


# --- where sentences end -----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One. Two! Three? Four", ["One. ", "Two! ", "Three? ", "Four"]),
        ('He said "No." Then left.', ['He said "No." ', "Then left."]),
        (
            "今日は晴れ。明日は雨！「本当？」はい",
            ["今日は晴れ。", "明日は雨！", "「本当？」", "はい"],
        ),
        ("「そうだ。」と言った。", ["「そうだ。」", "と言った。"]),
        ("First line\nSecond line", ["First line\n", "Second line"]),
        ("A\r\nB", ["A\r\n", "B"]),
        ("A paragraph\n\n\nanother", ["A paragraph\n\n\n", "another"]),
    ],
)
def test_a_sentence_ends_at(text: str, wanted: list[str]) -> None:
    """Signs with closing quotes, Japanese signs without a space, and line breaks."""
    assert pieces(text) == wanted


@pytest.mark.parametrize(
    "text",
    [
        "Pi is 3.14 and 1,000 is more",
        "See Fig. 3 for Dr. Smith",
        "J. R. Tolkien wrote",
        "It failed, cf. the note",
        "see no. 5 below",
        "it ended. but went on",
        "He said so (e.g. Monday)",
    ],
)
def test_a_sentence_goes_on_after(text: str) -> None:
    """Numbers, abbreviations, initials and small letters after a full stop."""
    assert pieces(text) == [text]


def test_no_is_a_sentence_where_no_number_follows() -> None:
    """`no.` stands for number only before one."""
    assert pieces("I say no. They went.") == ["I say no. ", "They went."]


def test_white_space_before_the_first_sentence_belongs_to_it() -> None:
    """A text that begins with blank lines has no blank first sentence."""
    assert pieces("\n \nOne. Two.") == ["\n \nOne. ", "Two."]


# --- soft wraps --------------------------------------------------------------------

WRAPPED = (
    "The committee went on with its work until late in\n"
    "the evening, and nobody had thought of the lamps\n"
    "that stood in the hall.\n"
)


def test_a_wrapped_line_is_no_end() -> None:
    """Lines about equally long, with a small letter after the break, are one."""
    assert pieces(WRAPPED) == [WRAPPED]


def test_an_indented_wrapped_line_is_no_end() -> None:
    """A hanging paragraph is wrapped as well."""
    text = "   " + WRAPPED.replace("\n", "\n   ").rstrip()

    assert pieces(text) == [text]


def test_an_abbreviation_at_the_end_of_a_wrapped_line_is_no_end() -> None:
    """`Mr.` may be the last word of its line."""
    text = (
        "Nobody was more surprised by the letter than Mr.\nBingley, who laughed at it."
    )

    assert pieces(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "short line\nshort line\n",
        "a line with room for one more word, as it is shorter\n" + "by far " * 12,
        "error: could not connect to the database server\n" * 2,
        "one more line that is long enough to be wrapped\n\nnext\n",
    ],
)
def test_a_line_break_is_an_end_where_nothing_was_wrapped(text: str) -> None:
    """Short lines, lines with room, records that begin alike, and paragraphs."""
    assert len(pieces(text)) == 2


def test_a_log_in_small_letters_keeps_its_lines() -> None:
    """Each of 1,000 equal lines is a unit of its own."""
    line = "connection refused by the remote server, trying again\n"

    assert pieces(line * 1_000) == [line] * 1_000


# --- overlong sentences ------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 100_000,
        " " * 100_000,
        "a-" * 50_000,
        "QWxhZGRpbjpvcGVuIHNlc2FtZQ" * 4_000,
        "1234567890" * 10_000,
        ("3.14 1,000 27\t" * 60 + "\n") * 100,
        "function(a){return b+c;}var x=1;" * 3_000,
        "a line in small letters without an end" * 2_000,
        "日本語の文章です" * 10_000,
        "." * 100_000,
        '."' * 50_000,
        "🇯🇵" * 20_000,
    ],
    ids=range(12),
)
def test_units_are_bounded_whatever_the_text(text: str) -> None:
    """Text without any end of a sentence comes in units of at most 500 characters."""
    lengths = [end - start for start, end in sentences(text)]

    assert max(lengths) <= LONGEST_UNIT
    assert len(lengths) <= len(text) / 100


def test_a_grapheme_longer_than_a_unit_stays_whole() -> None:
    """A letter with 10,000 accents is one unit."""
    text = "a" + "\u0301" * 10_000

    assert sentences(text) == [(0, len(text))]


def test_shares_are_half_as_long_in_japanese() -> None:
    """A share says as much in fewer characters where a letter says more."""
    assert (
        max(len(piece) for piece in pieces("日本語の文章です" * 100))
        <= LONGEST_UNIT / 2
    )


def test_a_cut_prefers_a_semicolon_to_a_comma_and_that_to_a_space() -> None:
    """The strongest sign near the middle of the share wins."""
    words = "word " * 38
    text = f"{words}one, {words}two; {words}three, {words}"

    assert pieces(text)[0].endswith("two; ")


def test_a_cut_falls_between_words() -> None:
    """A space within reach is better than the inside of a word."""
    text = "extraordinarily " * 100

    assert all(piece.startswith("extra") for piece in pieces(text))


@pytest.mark.parametrize("number", ["3.14", "1,000", "1,234,567.89"])
def test_no_number_is_cut(number: str) -> None:
    """A number in a text without spaces is moved to the next share."""
    text = f"値は{number}で" * 400
    ends = [end for _, end in sentences(text)][:-1]

    assert not [text[end - 2 : end + 2] for end in ends if text[end - 1] in ".,"]
    assert not [end for end in ends if text[end - 1].isdigit() and text[end] in "0.,"]


# --- passages for the index --------------------------------------------------------


@given(texts, st.integers(1, 50))
@example("chunk chunk", 5)
def test_FR_F6_passages_joined_are_the_text(text: str, size: int) -> None:
    """Joined passages equal the text byte for byte; a blank text has none."""
    joined = "".join(text[start:end] for start, end in split_passages(text, size))

    assert joined == (text if text.strip() else "")


@given(texts, st.integers(1, 50))
def test_a_passage_is_not_blank_and_not_over_its_size(text: str, size: int) -> None:
    """White space at the ends aside, only one grapheme may be longer than the size."""
    bodies = [
        text[slice(*stripped(text, *span))] for span in split_passages(text, size)
    ]

    assert all(bodies)
    assert all(
        len(body) <= size or len(regex.findall(r"\X", body)) == 1 for body in bodies
    )


@pytest.mark.parametrize("size", [60, 200, 600])
def test_FR_F6_no_word_is_cut_where_a_space_is_near(size: int) -> None:
    """No boundary inside a word when a space is within 20 percent of the size."""
    text = "antidisestablishmentarianism and other words " * 60
    cuts = [start for start, _ in split_passages(text, size)][1:]

    assert not [cut for cut in cuts if text[cut - 1].isalpha() and text[cut].isalpha()]


def test_FR_F6_a_japanese_full_stop_is_the_preferred_cut() -> None:
    """Passages of Japanese text end at `。`."""
    text = "これは猫についての短い文です。" * 50
    ends = [end for _, end in split_passages(text, 100)]

    assert all(text[end - 1] == "。" for end in ends)


@pytest.mark.parametrize(
    ("text", "size"),
    [("chunk chunk", 5), ("The same sentence again. " * 40, 60)],
)
def test_FR_G10_offsets_point_at_the_passages(text: str, size: int) -> None:
    """Repeated text gets the offsets of each repeat, one after the other."""
    spans = split_passages(text, size)

    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(before[1] == after[0] for before, after in pairwise(spans))


def test_passages_hold_whole_sentences() -> None:
    """As many sentences as fit, none cut."""
    assert split_passages("One. Two. Three. Four.", 10) == [(0, 10), (10, 17), (17, 22)]


def test_white_space_after_a_passage_does_not_count() -> None:
    """A thousand blank lines between two sentences belong to the first."""
    text = "One." + "\n" * 1_000 + "Two."

    assert split_passages(text, 4) == [(0, 1_004), (1_004, 1_008)]


# --- small parts -------------------------------------------------------------------


def test_snap_stays_where_no_sentence_ends_in_reach() -> None:
    """Without an end in reach the place itself comes back."""
    assert snap("x" * 1_000, 300) == 300


def test_snap_cuts_no_grapheme() -> None:
    """A place inside a flag moves to its beginning."""
    assert snap("🇯🇵" * 300, 301) == 300


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("  a b ", (2, 5)), (" \u0301a ", (0, 3)), ("a\u0600 ", (0, 3))],
)
def test_stripping_cuts_no_grapheme(text: str, wanted: tuple[int, int]) -> None:
    """White space that is one with a mark stays."""
    assert stripped(text, 0, len(text)) == wanted


def test_stops_that_end_nothing_still_give_short_units() -> None:
    """A text of abbreviations alone, whose first sentence never ends, is cut."""
    units = sentences("lorem ipsum dolor. " * 20_000)

    assert max(end - start for start, end in units) <= 500


@pytest.mark.parametrize(
    "text",
    [
        "1. Run it.\n2. Stop it.",
        "  10. Run it.\n  11. Stop it.",
        "> 3. Run it.\n> 4. Stop it.",
    ],
)
def test_the_number_of_an_item_belongs_to_it(text: str) -> None:
    """It is no sentence of its own."""
    assert [text[slice(*span)].strip() for span in sentences(text)] == [
        line.strip() for line in text.split("\n")
    ]


def test_a_number_within_a_line_ends_a_sentence() -> None:
    """Only at the beginning of a line it counts an item."""
    text = "It was in 19. Then it rained."

    assert len(sentences(text)) == 2


def test_a_month_before_a_day_is_an_abbreviation() -> None:
    """Before another word it ends a sentence."""
    assert len(sentences("Call on Jan. 5 please. Not in Feb. Never.")) == 3
