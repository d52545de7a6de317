"""The headings of a Markdown text: what a passage stands under."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MARKDOWN = (".md", ".markdown", ".mdown", ".mkd")
"""How the names of Markdown files end."""

_LONGEST_TITLE = 200  # characters; a longer line over a rule is a paragraph

_CANDIDATE = re.compile(
    r"^(?:"
    r"[ \t>]*(?:[-*+] +|[0-9]{1,9}[.)] +)?(?P<fence>`{3,}|~{3,})(?P<info>[^\n]*)"
    r"| {0,3}(?P<hashes>\#{1,6})(?:[ \t]+(?P<title>[^\n]*))?[ \t\r]*$"
    r"| {0,3}(?P<rule>=+|-{2,})[ \t\r]*$"
    r")",
    re.MULTILINE,
)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+$")
_NO_TITLE = re.compile(r"[ ]{4}|\t|[ ]{0,3}(?:[#>|`~=]|[-*+][ \t]|--|[0-9]{1,9}[.)] )")

_FRONT_MATTER = re.compile(
    r"(?P<rule>---|\+\+\+)[ \t\r]*\n"
    r"(?P<body>.*?)^(?:(?P=rule)|\.\.\.)[ \t\r]*(?:\n|\Z)",
    re.DOTALL | re.MULTILINE,
)
_TITLE_LINE = re.compile(r"^title[ \t]*[:=][ \t]*(?P<title>[^\n]*)$", re.MULTILINE)


class Heading(NamedTuple):
    """Be one heading of a text.

    Attributes:
        start: Where its line or lines begin, in characters.
        end: Where they end, the line break not counted.
        level: 1 to 6; 0 for the title in the front matter.
        title: Its text, without marks.
        parent: The place in the list of the heading that it stands under; -1: none.
    """

    start: int
    end: int
    level: int
    title: str
    parent: int = -1


def headings(text: str) -> list[Heading]:
    r"""Return the headings of *text* in order, those in code fences left out.

    Reads `# title`, titles underlined with `=` or `-`, and the `title` of YAML or
    TOML front matter.

    >>> [(h.level, h.title) for h in headings("# A\n\nB\n---\n```\n# no\n```")]
    [(1, 'A'), (2, 'B')]
    """
    found: list[Heading] = []
    above: list[int] = []  # places of the headings that are still open
    for heading in _without_parents(text):
        while above and found[above[-1]].level >= heading.level:
            above.pop()
        found.append(heading._replace(parent=above[-1] if above else -1))
        above.append(len(found) - 1)
    return found


def path_at(outline: Sequence[Heading], position: int) -> tuple[str, ...]:
    r"""Return the titles of the headings above *position*, outermost first.

    A heading stands above what comes after it, not above itself.

    >>> path_at(headings("# A\n## B\ntext"), 9)
    ('A', 'B')
    """
    place = bisect_right(outline, position, key=lambda heading: heading.end) - 1
    titles: list[str] = []
    while place >= 0:
        title, parent = outline[place].title, outline[place].parent
        if not titles or titles[-1] != title:
            titles.append(title)
        place = parent
    return tuple(reversed(titles))


def title_of(text: str) -> str | None:
    r"""Return the title in the front matter, else the first heading of level 1.

    >>> title_of("## Contents\n\nThe title\n=========\n")
    'The title'
    """
    for heading in _without_parents(text):
        if heading.level <= 1:
            return heading.title
    return None


def fences(text: str) -> Iterator[tuple[int, int, tuple[int, int]]]:
    r"""Yield where each code fence begins and ends, and its closing line.

    >>> list(fences("```py\nx\n```\ny"))
    [(0, 12, (8, 12))]

    Args:
        text: Any text.

    Yields:
        Start and end of whole lines in characters, and start and end of the line that
        closes it; a fence that nothing closes goes to the end of the text.
    """
    fence, begin, length = "", 0, len(text)
    # One sign is found far faster than three.
    if not any(sign in text and sign * 3 in text for sign in "`~"):
        return
    for match in _CANDIDATE.finditer(text):
        if not match["fence"]:
            continue
        before, fence = fence, _fence_after(fence, match["fence"], match["info"])
        if fence and not before:
            begin = match.start()
        elif before and not fence:
            end = min(length, match.end() + 1)
            yield begin, end, (match.start(), end)
    if fence:
        yield begin, length, (length, length)


def _without_parents(text: str) -> Iterator[Heading]:
    """Yield the headings, not yet told what they stand under."""
    matter = _FRONT_MATTER.match(text)
    if matter:
        yield from _front_matter_title(matter)
    fence = ""
    for match in _CANDIDATE.finditer(text, matter.end() if matter else 0):
        if match["fence"]:
            fence = _fence_after(fence, match["fence"], match["info"])
        elif not fence:
            heading = _hash_heading(match) if match["hashes"] else _underlined(match)
            if heading and heading.title:
                yield heading


def _front_matter_title(matter: re.Match[str]) -> Iterator[Heading]:
    """Yield the title that the front matter gives, if it gives one."""
    line = _TITLE_LINE.search(matter["body"])
    title = line["title"].strip().strip("\"'").strip() if line else ""
    if title:
        yield Heading(0, matter.end(), 0, title)


def _fence_after(opened: str, marks: str, info: str) -> str:
    """Return the fence that is open after a line of fence marks; empty: none."""
    if not opened:
        # Backticks after backticks are code within a line, no fence.
        return "" if marks[0] == "`" and "`" in info else marks
    closes = marks[0] == opened[0] and len(marks) >= len(opened) and not info.strip()
    return "" if closes else opened


def _hash_heading(match: re.Match[str]) -> Heading:
    """Return the heading of a line like `## title ##`."""
    title = _CLOSING_HASHES.sub("", (match["title"] or "").strip()).strip()
    return Heading(match.start(), match.end(), len(match["hashes"]), title)


def _underlined(match: re.Match[str]) -> Heading | None:
    """Return the heading of a line with a rule below, if it is a title alone."""
    text, end = match.string, match.start() - 1
    start = text.rfind("\n", 0, max(0, end)) + 1
    title = text[start : max(start, end)].strip()
    if not title or len(title) > _LONGEST_TITLE or _NO_TITLE.match(text, start):
        return None
    before = text[text.rfind("\n", 0, max(0, start - 1)) + 1 : start]
    if before.strip() and not _CANDIDATE.match(before):
        return None  # the last line of a paragraph with a separator below
    return Heading(start, match.end(), 1 if match["rule"][0] == "=" else 2, title)
