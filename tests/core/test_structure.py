"""Code and tables: which lines hang together."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given, strategies as st

from langchain_ctxfetch._core.outline import fences
from langchain_ctxfetch._core.passages import score_sentences
from langchain_ctxfetch._core.picking import pick, quote
from langchain_ctxfetch._core.structure import blocks, divided, needs, rows, with_ends

lines = st.lists(
    st.sampled_from(
        [
            "```",
            "```py",
            "~~~~",
            "- ```js",
            "> ```",
            "a = 1",
            "| a | b |",
            "|---|---|",
            "x | y",
            "Some prose. And more.",
            "a,b,c",
            "1,2,3",
            "",
            "z" * 600,
        ]
    ),
    max_size=30,
).map("\n".join)


def plain(word: str) -> str:
    return word


def quoted(text: str, query: str, room: int) -> str:
    return quote(text, pick(score_sentences(text, query, stem=plain, room=room), room))


def open_fences(text: str) -> int:
    """Count the fences that nothing closes."""
    return sum(tail[0] == tail[1] for _, _, tail in fences(text))


# --- finding blocks ---


def test_a_table_has_the_line_above_its_rule_as_header() -> None:
    """It ends at the first line without a bar."""
    text = "Prices:\n\n| a | b |\n|---|---|\n| 1 | 2 |\nEnd.\n"
    (table,) = blocks(text)

    assert text[slice(*table.head)] == "| a | b |\n|---|---|\n"
    assert text[table.start : table.end].endswith("| 1 | 2 |\n")
    assert text[table.end :] == "End.\n"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_a_text_of_equal_columns_is_one_table(delimiter: str) -> None:
    """Its first line is the header."""
    made = ["name,price", "tea,3", "milk,2", "salt,1"]
    text = "\n".join(made).replace(",", delimiter)
    (table,) = blocks(text)

    assert (table.kind, table.start, table.end) == ("table", 0, len(text))
    assert text[slice(*table.head)] == f"name{delimiter}price\n"


def test_quoted_commas_are_no_columns() -> None:
    """Cells are read as a spreadsheet reads them."""
    text = 'name,price\n"tea, green",3\n"a, b, c",2\nsalt,1\n'

    assert [block.kind for block in blocks(text)] == ["table"]


def test_records_without_names_have_no_header() -> None:
    """A first line with numbers is a record like the others."""
    text = "2024-01-01 12:00:01,123 up\n" * 6
    (table,) = blocks(text)

    assert table.head == (0, 0)


@pytest.mark.parametrize(
    "text",
    [
        "x = 1;\ny = 2;\nz = 3;\nw = 4;\n",
        "One, two.\nThree.\nFour, five, six.\nSeven.\n",
        "a,b\n1,2\n",
        "a | b\nno rule below\n",
        "",
    ],
)
def test_what_is_no_table_is_none(text: str) -> None:
    """Code, prose and two lines are not taken for records."""
    assert blocks(text) == []


def test_a_table_within_code_is_code() -> None:
    """What a fence encloses is not looked into."""
    text = "```\n| a | b |\n|---|---|\n| 1 | 2 |\n```\n"

    assert [block.kind for block in blocks(text)] == ["code"]


# --- laws ---


@given(lines)
def test_blocks_do_not_overlap(text: str) -> None:
    """They are stretches of whole lines in order, head and tail inside."""
    found = blocks(text)

    assert all(a.end <= b.start for a, b in pairwise(found))
    for block in found:
        assert block.start <= block.head[0] <= block.head[1] <= block.end
        assert block.start <= block.tail[0] <= block.tail[1] <= block.end


@given(lines)
def test_the_stretches_are_the_text(text: str) -> None:
    """They touch one another and cover all of it."""
    found = divided(text, 0, len(text), blocks(text))

    assert "".join(text[start:end] for start, end in found) == text
    assert all(start < end for start, end in found)


@given(lines, st.integers(0, 300), st.integers(0, 300))
def test_regions_bring_the_ends_of_their_blocks(text, a: int, b: int) -> None:
    """Whatever part of a block is read, its head and tail are read too."""
    region = (min(a, b, len(text)), min(max(a, b), len(text)))
    held = blocks(text)
    found = with_ends([region], held)

    assert all(x[1] < y[0] for x, y in pairwise(found))
    for block in held:
        if region[0] < block.end and block.start < region[1]:
            for start, end in (block.head, block.tail):
                assert start == end or any(s <= start <= end <= e for s, e in found)


@given(lines, st.integers(0, 400))
@example("```\n```", 3)
@example("```py\n```", 3)
def test_no_fence_is_left_open_by_a_choice(text: str, room: int) -> None:
    """What is picked of balanced fences is balanced, or no fence at all."""
    kept = quoted(text, "prose a 1", room)

    if not open_fences(text):
        assert open_fences(kept) == 0
    assert len(kept) <= room


# --- what is picked ---


def test_a_row_comes_with_the_header_of_its_table() -> None:
    """Rows in between are left out, the names of the columns never."""
    made = "".join(f"| valve-{n} | {n * 3} bar |\n" for n in range(90))
    text = f"The valves.\n\n| name | pressure |\n|---|---|\n{made}"
    kept = quoted(text, "pressure of valve-77", 80)

    assert "| name | pressure |\n|---|---|" in kept
    assert "| valve-77 | 231 bar |" in kept


def test_the_record_asked_for_by_its_number_comes_first() -> None:
    """Words side by side in the question are looked for side by side."""
    made = "".join(f"valve-{n},{n + 77}.00,{n % 50}\n" for n in range(200))
    kept = quoted(f"name,price,stock\n{made}", "price of valve-77", 45)

    assert kept.startswith("name,price,stock")
    assert "valve-77,154.00" in kept


def test_a_hit_says_nothing_of_the_next_record() -> None:
    """In a table nothing flows from row to row."""
    made = "".join(f"item {n},red\n" for n in range(50))
    text = f"name,colour\nthe wanted one,blue\n{made}"
    scored = score_sentences(text, "wanted", stem=plain, room=100)

    assert scored.scores[1] > 0.5
    assert max(scored.scores[2:]) < 1e-6


def test_code_keeps_the_marks_around_it() -> None:
    """A line out of the middle comes between the fences."""
    code = "".join(f"value_{n} = {n}\n" for n in range(300))
    text = f"1. Set it:\n\n   ```python\n{code}   ```\n\nDone.\n"
    kept = quoted(text, "value_123", 120)

    assert "```python" in kept
    assert "value_123 = 123" in kept
    assert kept.rstrip().endswith("```")


def test_where_its_header_has_no_room_the_best_row_comes_alone() -> None:
    """Rather a row without names than names without a row."""
    text = "a long name of a column,another\n" + "x,1\n" * 9 + "tea,2\n"

    assert quoted(text, "tea", 10) == "tea,2"


def test_needs_leave_out_the_stretch_itself() -> None:
    """A header needs nothing but what else is head or tail."""
    text = "```\nx\n```\n"
    held = blocks(text)
    found = divided(text, 0, len(text), held)

    assert needs(found, held) == {0: (2,), 1: (0, 2), 2: (0,)}
    assert rows(found, held) == frozenset()
