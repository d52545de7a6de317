"""Headings: what stands above a place in a Markdown text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.outline import headings, path_at, title_of

GUIDE = """\
---
title: "The guide"
tags: [a]
---
Introduction

# Install

## Linux
Text.

Windows
-------
More text.

# Use
The end.
"""

markdown = st.lists(
    st.sampled_from(
        [
            "# a",
            "## b",
            "#",
            "c",
            "===",
            "---",
            "```",
            "~~~~",
            "> ```py",
            "- d",
            "",
            "\r",
        ]
    ),
    max_size=30,
).map("\n".join)


def outline(text: str) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in headings(text)]


def test_a_text_gives_its_headings_in_order() -> None:
    """Front matter title, hash headings and underlined ones, with their levels."""
    assert outline(GUIDE) == [
        (0, "The guide"),
        (1, "Install"),
        (2, "Linux"),
        (2, "Windows"),
        (1, "Use"),
    ]


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("Introduction", ("The guide",)),
        ("# Install", ("The guide",)),
        ("Text.", ("The guide", "Install", "Linux")),
        ("More", ("The guide", "Install", "Windows")),
        ("The end", ("The guide", "Use")),
    ],
)
def test_the_path_names_the_headings_above(place: str, path: tuple[str, ...]) -> None:
    """Outermost first; a heading does not stand above itself."""
    assert path_at(headings(GUIDE), GUIDE.index(place)) == path


def test_nothing_stands_above_the_beginning() -> None:
    """The first character has no headings above it."""
    assert path_at(headings("# A"), 0) == ()


def test_a_title_that_repeats_the_one_above_counts_once() -> None:
    """Front matter and first heading often say the same."""
    text = "---\ntitle: A\n---\n# A\ntext"

    assert path_at(headings(text), len(text)) == ("A",)


@given(markdown, st.integers(0, 200))
def test_a_path_holds_ever_deeper_headings_before_the_place(
    text: str, position: int
) -> None:
    """Levels rise along the path, and each heading ends at or before the place."""
    found = headings(text)
    path = path_at(found, position)
    above = [heading for heading in found if heading.end <= position]

    assert bool(path) == bool(above)
    assert set(path) <= {heading.title for heading in above}


@given(markdown)
def test_a_heading_points_at_its_lines(text: str) -> None:
    """The title stands in `text[start:end]`, and headings do not overlap."""
    found = headings(text)

    assert all(heading.title in text[heading.start : heading.end] for heading in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    "text",
    [
        "```\n# no\n```",
        "~~~python\n# no\n~~~",
        "```\n~~~\n# no\n```",
        "````\n```\n# no\n````",
        "- item\n\n  ```sh\n# no\n  ```",
        "> ```\n# no\n> ```",
        "```\n# no, the fence stays open",
    ],
)
def test_a_line_in_a_code_fence_is_no_heading(text: str) -> None:
    """Fences of both kinds, longer ones, in lists and quotes, and unclosed ones."""
    assert headings(text) == []


def test_code_within_a_line_opens_no_fence() -> None:
    """Three backticks with others behind them are a code span."""
    assert outline("```a``` is code\n# yes") == [(1, "yes")]


def test_a_heading_follows_a_closed_fence() -> None:
    """A fence closes with at least as many of its marks and nothing else."""
    assert outline("```py\n``` x\n```\n# yes") == [(1, "yes")]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("# title ##", [(1, "title")]),
        ("#\ttitle", [(1, "title")]),
        ("# C#", [(1, "C#")]),
        ("   ### three", [(3, "three")]),
        ("####### seven", []),
        ("#hashtag", []),
        ("    # indented code", []),
        ("#", []),
        ("# windows\r\n", [(1, "windows")]),
    ],
)
def test_hash_headings(text: str, wanted: list[tuple[int, str]]) -> None:
    """One to six marks, white space, a title; closing marks are left out."""
    assert outline(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Title\n=====", [(1, "Title")]),
        ("=====\nTitle\n=====", [(1, "Title")]),
        ("Title\r\n---\r\n", [(2, "Title")]),
        ("# A\nB\n---", [(1, "A"), (2, "B")]),
        ("two lines\nof text\n---", []),
        ("- item\n---", []),
        ("| a |\n|---|", []),
        ("text\n\n---\n", []),
        ("x" * 300 + "\n---", []),
    ],
)
def test_underlined_headings(text: str, wanted: list[tuple[int, str]]) -> None:
    """A short line alone over a rule; lists, tables and paragraphs are none."""
    assert outline(text) == wanted


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: 'A: b'\n---\n# C", "A: b"),
        ('+++\ntitle = "A"\n+++\n', "A"),
        ("---\ntags: x\n---\n# C", "C"),
        ("---\r\ntitle: A\r\n---\r\n", "A"),
        ("## B\n# C", "C"),
        ("---\ntitle: never closed", None),
        ("plain text", None),
        ("", None),
    ],
)
def test_the_title_of_a_text(text: str, title: str | None) -> None:
    """Front matter first, then the first heading of level 1."""
    assert title_of(text) == title


def test_front_matter_holds_no_headings() -> None:
    """Comments and rules in it are not read."""
    assert outline("---\n# comment\nkey: v\n---\ntext") == []
