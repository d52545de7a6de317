"""The check of summaries: nothing invented, little lost, never over the room."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.checking import as_it_is, check, said
from langchain_ctxfetch._core.literals import Grounds, literals

SOURCE = (
    "On 3 March 2024 the pump was run at 12.5 mg by src/main.py (v2.3.1). "
    "See AB-123. The rest of the day was spent on nothing that anybody recalls. "
) * 3

PIECES = st.sampled_from(
    [
        "It ran at 12.5 mg. ",
        "It ran at 13 mg. ",
        "On 4 March it broke. ",
        "AB-123 and AB-124. ",
        "Nothing else. ",
        "<think>",
        "</think>",
        "“never again” ",
        "1. ",
        "\n",
        "。",
        "`x` ",
    ]
)
REPLIES = st.lists(PIECES, max_size=15).map("".join)


@given(REPLIES, st.integers(0, 400), st.booleans())
def test_a_checked_summary_is_within_its_room(
    reply: str, room: int, finished: bool
) -> None:
    made = check(reply, SOURCE, room, finished=finished)
    assert made.text is None or len(made.text) <= room


@given(REPLIES, st.integers(0, 400))
def test_a_checked_summary_says_nothing_that_its_source_does_not(
    reply: str, room: int
) -> None:
    known = Grounds(SOURCE)
    text = check(reply, SOURCE, room).text or ""
    assert all(known.hold(each) for each in literals(text))


@given(REPLIES, st.integers(0, 400))
def test_what_was_lost_is_what_does_not_stand_there(reply: str, room: int) -> None:
    made = check(reply, SOURCE, room)
    if made.text is not None:
        known = Grounds(made.text)
        lost = {each.text for each in literals(SOURCE) if not known.hold(each)}
        assert set(made.lost) <= lost


@pytest.mark.parametrize("reply", ["", " \n\t", "...", "<think>only thinking"])
def test_a_blank_summary_is_refused(reply: str) -> None:
    made = check(reply, SOURCE, 200)
    assert (made.text, made.why) == (None, "the summary is blank")


def test_FR_H7_a_summary_that_is_no_shorter_is_refused() -> None:
    made = check(SOURCE * 2, SOURCE, 10_000)
    assert (made.text, made.why) == (None, "the summary is no shorter than the text")


def test_a_summary_that_was_cut_off_loses_its_last_sentence() -> None:
    made = check("The pump ran. It was th", SOURCE, 20, finished=False)
    assert made.text == "The pump ran."


def test_a_summary_that_was_cut_off_in_its_only_sentence_is_refused() -> None:
    made = check("The pump was th", SOURCE, 200, finished=False)
    assert (made.text, made.why) == (None, "the model stopped in the middle")


def test_a_sentence_with_an_invented_figure_goes_and_is_named() -> None:
    made = check("It ran. It used 99 kg.", SOURCE, 20)
    assert (made.text, made.refused) == ("It ran.", ("99 kg",))


def test_a_summary_of_nothing_but_invention_is_refused() -> None:
    made = check("It used 99 kg.", SOURCE, 200)
    assert (made.text, made.refused) == (None, ("99 kg",))


def test_literals_that_were_lost_are_named_behind_it() -> None:
    made = check("The pump ran.", SOURCE, 200)
    assert made.text == (
        "The pump ran.\n[also: 3 March 2024; 12.5 mg; src/main.py; v2.3.1; AB-123]"
    )


def test_literals_get_half_of_the_room_at_most() -> None:
    source = " ".join(f"AB-{i}" for i in range(100, 400))
    made = check("Many tickets.", source, 200)
    assert made.text is not None
    assert len(made.text) <= len("Many tickets.") + 100


def test_sentences_at_the_end_give_way_to_literals() -> None:
    made = check("One is first. Two is second. Three is third.", SOURCE, 75)
    assert made.text is not None
    assert made.text.startswith("One is first. Two is second.\n[also: ")


def test_what_a_line_of_literals_says_is_taken_up_again() -> None:
    first = check("The pump ran.", SOURCE, 200).text or ""
    again = check("It ran.", first, 80).text
    assert again == "It ran.\n[also: 3 March 2024; v2.3.1; AB-123]"


@pytest.mark.parametrize(
    "reply",
    [
        "</think>plan</think>\nS.",
        "<thought>plan</thought>S.",
        "<THINK>a<think>b</think>c</THINK>S.",
        "Here is a dense summary of the text:\nS.",
        "**Summary:** S.",
        "```\nS.\n```",
        "<text-0a1b2c3d>\nS.\n</text-0a1b2c3d>",
    ],
)
def test_FR_H10_reasoning_and_wrapping_are_no_part_of_what_is_said(reply: str) -> None:
    assert said(reply) == "S."


@pytest.mark.parametrize("reply", ["", "It took 99 kg.", "x" * 1_000])
def test_by_size_a_summary_is_refused_not_mended(reply: str) -> None:
    assert as_it_is(reply, SOURCE, finished=True)[1]


def test_by_size_a_good_summary_stays_as_it_is() -> None:
    assert as_it_is(" It ran at 12.5 mg. ", SOURCE, finished=True) == (
        "It ran at 12.5 mg.",
        "",
    )


def test_by_size_a_summary_that_was_cut_off_is_refused() -> None:
    assert as_it_is("It ran.", SOURCE, finished=False)[1]
