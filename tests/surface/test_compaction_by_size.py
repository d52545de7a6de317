"""The compactor by the size of blocks, case by case."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from langchain_ctxfetch import ContextCompactor
from tests.surface.models import ScriptedModel

BODY = "x" * 50_000
MANY = 50_000
SUMMED = "[SUMMARIZED]\nSUM"


def by_size(
    reply: Callable[[str], Any] = lambda _: "SUM", **fields: Any
) -> ContextCompactor:
    return ContextCompactor.by_size(ScriptedModel(reply=reply), **fields)


def note(
    body: str = BODY, head: str = "<title>T</title>\n<path>a/b.md</path>\n"
) -> str:
    return f"<note_context>\n{head}<content>{body}</content>\n</note_context>"


def failing_first(number: int) -> Callable[[str], str]:
    lock, left = threading.Lock(), [number]

    def reply(_: str) -> str:
        with lock:
            left[0] -= 1
            failing = left[0] >= 0
        if failing:
            raise RuntimeError("down")
        return "SUM"

    return reply


def summarized(text: str) -> int:
    return text.count("[SUMMARIZED]\nSUM")


def test_O1_the_body_is_replaced_and_nothing_else() -> None:
    head = "<title>T</title>\n<path>a/b.md</path>\n<ctime>1</ctime>\n<mtime>2</mtime>\n"
    made = by_size().compact(f"pre{note(head=head)}post")
    assert made.content == f"pre{note(SUMMED, head)}post"
    assert made.report.changed == 1


def test_O2_one_character_less_stays_and_is_still_reported() -> None:
    text = note("x" * 49_999)
    made = by_size().compact(text)
    assert made.content == text
    assert [row.type for row in made.report.blocks if row.id] == ["note_context"]


def test_O3_exactly_the_least_size_is_summarised() -> None:
    assert summarized(by_size().invoke(note())) == 1


@pytest.mark.parametrize(
    "text", ["", "no tag at all", "<unknown>" + BODY + "</unknown>"]
)
def test_O4_without_a_known_block_nothing_happens(text: str) -> None:
    assert by_size(min_chars=60_000).invoke(text) == text


def test_O5_one_block_that_fails_stays() -> None:
    assert by_size(failing_first(1)).invoke(note()) == note()


def test_O6_exactly_half_of_the_summaries_is_enough() -> None:
    made = by_size(failing_first(1)).invoke(note("a" * MANY) + note("b" * MANY))
    assert summarized(made) == 1


@pytest.mark.parametrize(
    ("blocks", "failing", "changed"), [(3, 1, 2), (3, 2, 0), (4, 2, 2), (4, 3, 0)]
)
def test_O7_fewer_than_half_leave_everything_as_it_is(
    blocks: int, failing: int, changed: int
) -> None:
    text = "".join(note(chr(97 + i) * MANY) for i in range(blocks))
    made = by_size(failing_first(failing)).invoke(text)
    assert summarized(made) == changed
    assert changed or made == text


@pytest.mark.parametrize("blank", ["", " \n\t", []])
def test_O8_a_blank_reply_is_a_failure(blank: Any) -> None:
    assert by_size(lambda _: blank).invoke(note()) == note()


def test_O8_content_blocks_are_read() -> None:
    parts = [{"type": "text", "text": "SU"}, {"type": "text", "text": "M"}]
    assert summarized(by_size(lambda _: parts).invoke(note())) == 1


def test_O9_never_more_than_three_calls_are_in_flight() -> None:
    lock, running, peak = threading.Lock(), [0], [0]
    three = threading.Barrier(3)

    def reply(_: str) -> str:
        with lock:
            running[0] += 1
            peak[0] = max(peak[0], running[0])
        # The first six calls meet in threes, so that three at once is shown too.
        with lock:
            turn = calls[0] = calls[0] + 1
        if turn <= 6:
            three.wait(30)
        with lock:
            running[0] -= 1
        return "SUM"

    calls = [0]
    text = "".join(note(chr(97 + i) * MANY) for i in range(7))
    assert summarized(by_size(reply).invoke(text)) == 7
    assert peak[0] == 3


def test_O10_a_longer_body_is_cut_for_the_model_between_graphemes() -> None:
    model = ScriptedModel()
    body = "y" * 499_999 + "e\u0301" + "z" * 10
    ContextCompactor.by_size(model).invoke(note(body))
    (prompt,) = model.prompts
    assert "y\n[TRUNCATED]" in prompt
    assert "z" * 10 not in prompt


def test_O11_only_the_outer_of_two_nested_blocks_is_summarised() -> None:
    inner = (
        f"<embedded_note><path>in.md</path><content>{BODY}</content></embedded_note>"
    )
    made = by_size().compact(note(f"a {inner} b"))
    assert summarized(made.content) == 1
    assert "embedded_note" not in made.content


def test_O12_a_name_is_kept_and_no_title_is_invented() -> None:
    text = f"<embedded_pdf><name>x.pdf</name><content>{BODY}</content></embedded_pdf>"
    made = by_size().invoke(text)
    assert made.startswith("<embedded_pdf><name>x.pdf</name><content>[SUMMARIZED]")
    assert "title" not in made


def test_O13_line_numbers_of_a_selection_are_kept_and_it_is_not_touched() -> None:
    text = (
        "<selected_text><start_line>3</start_line><end_line>9</end_line>"
        f"<content>{BODY}</content></selected_text>"
    )
    assert by_size().invoke(text) == text
    free = by_size(never_touch=frozenset()).invoke(text)
    assert free.startswith(
        "<selected_text><start_line>3</start_line><end_line>9</end_line><content>[SUM"
    )


def test_O14_the_header_of_a_video_is_kept() -> None:
    head = "<title>V</title><video_id>q1</video_id><channel>C</channel>"
    text = (
        f"<youtube_video_context>{head}<content>{BODY}</content>"
        "</youtube_video_context>"
    )
    assert by_size().invoke(text).startswith(f"<youtube_video_context>{head}<content>[")


def test_O15_what_stands_behind_the_body_stays() -> None:
    tail = " TAIL <content>second</content>"
    text = f"<note_context><content>{BODY}</content>{tail}</note_context>"
    made = by_size().invoke(text)
    assert made == (
        f"<note_context><content>[SUMMARIZED]\nSUM</content>{tail}</note_context>"
    )


def test_O16_a_closing_tag_within_the_content_does_not_end_the_block() -> None:
    made = by_size().invoke(f"{note(BODY + '</note_context>' + BODY)} after")
    assert made == f"{note(SUMMED)} after"


def test_O17_replacement_patterns_are_plain_text() -> None:
    model = ScriptedModel(reply=lambda _: r"$& $` $' \1 \g<0>")
    made = ContextCompactor.by_size(model).invoke(note(f"$& $` $' {BODY}"))
    assert r"[SUMMARIZED]" in made
    assert r"$& $` $' \1 \g<0>" in made
    assert f"$& $` $' {BODY}" in model.prompts[0]


def test_O18_placeholders_in_a_title_stay_as_they_are() -> None:
    model = ScriptedModel()
    head = "<title>{content} {text}</title>\n"
    made = ContextCompactor.by_size(model).invoke(note(head=head))
    assert made == note(SUMMED, head)
    assert "{content} {text}" in model.prompts[0]
    assert model.prompts[0].count(BODY) == 1


def test_O19_no_header_is_read_from_the_body() -> None:
    model = ScriptedModel()
    body = f"<title>inner</title><url>evil</url>{BODY}"
    text = f"<active_web_tab><content>{body}</content></active_web_tab>"
    made = ContextCompactor.by_size(model).compact(text)
    assert made.report.blocks[-1].source == "active_web_tab"


def test_O20_crossing_blocks_never_come_out_corrupt() -> None:
    a, b = "<note_context>", "<url_content>"
    text = f"{a}{BODY}{b}{BODY}</note_context>{BODY}</url_content>"
    made = by_size().invoke(text)
    for tag in (a, b, "</note_context>", "</url_content>"):
        assert made.count(tag) <= 1
    assert made.count("<n") == made.count("</n")
    assert made.count("<u") == made.count("</u")


def test_O21_a_summary_longer_than_its_source_is_refused() -> None:
    assert by_size(lambda _: "w " * 45_000).invoke(note()) == note()


def test_O22_a_summary_cannot_close_the_block() -> None:
    made = by_size(lambda _: "a </content></note_context> b").compact(note())
    assert made.content.count("</note_context>") == 1
    assert made.content.count("</content>") == 1
    assert made.report.changed == 1


def test_O23_an_opening_tag_with_attributes_is_recognised() -> None:
    text = f"<note_context id=\"7\" x='1'><content>{BODY}</content></note_context>"
    assert by_size().invoke(text).startswith("<note_context id=\"7\" x='1'><content>[S")


def test_O24_a_title_may_hold_a_less_than_sign() -> None:
    head = "<title>A < B</title>\n<path>q/w.md</path>\n"
    assert by_size().invoke(note(head=head)) == note(SUMMED, head)


def test_O25_entities_stay_as_they_are() -> None:
    head = "<title>a &amp; b</title>\n"
    assert by_size().invoke(note(head=head)) == note(SUMMED, head)


def test_O26_nested_content_is_one_body() -> None:
    body = f"a<content>{BODY}</content>c"
    assert by_size().invoke(note(body)) == note(SUMMED)
