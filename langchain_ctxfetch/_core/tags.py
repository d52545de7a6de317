"""Tags in a text: where they stand, which belong together, and how to unmake them.

A text is no XML: tags are quoted, never closed, or cross. So what belongs together is
found for each name apart, and what makes no sense is text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from html import unescape
from typing import NamedTuple

import regex

CONTENT = "content"
"""The child of a block that holds its body."""

UNSEEN = r"\p{Cf}\p{DI}\u2800"
"""Characters that nobody sees, for a character class of `regex`."""

_LONGEST_PREFACE = 1_000  # characters between what names a block and its body

# Bounded, so that a quotation mark that is never closed costs little.
_ATTRIBUTES = r"""(?:[^<>"']|"[^"]{0,1000}+"|'[^']{0,1000}+'){0,2000}+"""
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_CHILD = re.compile(r"\s*<([A-Za-z_][\w.-]{0,63})(?:\s[^<>]{0,200})?>")
_LONGEST_VALUE = 2_000  # characters of a child that names something
_MOST_CHILDREN = 50
_FINAL = re.compile(r"[ \t]*+(?:[\r\n<]|\Z)")


class Tag(NamedTuple):
    """Be one tag, from *start* to *end*.

    Attributes:
        start: Where it begins, in characters.
        end: Where it ends.
        name: Its name.
        closing: Whether it closes.
        attributes: What stands behind the name.
    """

    start: int
    end: int
    name: str
    closing: bool
    attributes: str


class Pair(NamedTuple):
    """Be two tags that belong together, by their numbers."""

    first: int
    last: int


def find_tags(text: str, names: frozenset[str]) -> list[Tag]:
    """Return the tags with one of the *names*, but those that close themselves.

    >>> [tag.name for tag in find_tags("<a x='>'>1 < 2</a><b/>", frozenset("ab"))]
    ['a', 'a']
    """
    if not names:
        return []
    return [
        Tag(match.start(), match.end(), match[2], bool(match[1]), match[3])
        for match in _pattern(names).finditer(text)
        if not match[3].endswith("/")
    ]


@lru_cache(maxsize=64)
def _pattern(names: frozenset[str]) -> re.Pattern[str]:
    # The longest first: a name may begin with another one.
    any_of = "|".join(
        map(re.escape, sorted(names, key=lambda name: (-len(name), name)))
    )
    return re.compile(rf"<(/)?({any_of})(?=[\s/>])({_ATTRIBUTES})>")


def pairs(text: str, tags: Sequence[Tag]) -> list[Pair]:
    """Return which tags belong together, by where the first of them stands.

    Each name is balanced apart. What a `<content>` right at the beginning of a block
    holds is not looked at, where the block is closed behind it.
    """
    bodies = _balanced(
        (i, tag.closing) for i, tag in enumerate(tags) if tag.name == CONTENT
    )
    body_of = {pair.first: pair.last for pair in bodies}
    places: dict[str, list[int]] = {}
    for i, tag in enumerate(tags):
        places.setdefault(tag.name, []).append(i)
    found: list[Pair] = []
    opened: dict[str, list[int]] = {}
    i = 0
    while i < len(tags):
        tag = tags[i]
        if tag.name != CONTENT:
            if not tag.closing:
                opened.setdefault(tag.name, []).append(i)
                behind = body_of.get(i + 1)
                if (
                    behind is not None
                    and _begins_body(text, tag, tags[i + 1])
                    and _closes_behind(tags, places[tag.name], behind)
                ):
                    i = behind
            elif opened.get(tag.name):
                found.append(Pair(opened[tag.name].pop(), i))
        i += 1
    return sorted(found)


def _balanced(tags: Iterable[tuple[int, bool]]) -> list[Pair]:
    opened: list[int] = []
    found: list[Pair] = []
    for i, closing in tags:
        if not closing:
            opened.append(i)
        elif opened:
            found.append(Pair(opened.pop(), i))
    return found


def _closes_behind(tags: Sequence[Tag], places: Sequence[int], behind: int) -> bool:
    at = bisect_right(places, behind)
    return at < len(places) and tags[places[at]].closing


def _begins_body(text: str, tag: Tag, content: Tag) -> bool:
    """Tell whether nothing but what names a block stands before its `<content>`."""
    _, end = children(text, tag.end, content.start)
    return content.start - end <= _LONGEST_PREFACE


def body_between(
    text: str, tags: Sequence[Tag], pair: Pair
) -> tuple[tuple[int, int], bool]:
    """Return where the body of a block stands, and whether in a `<content>`.

    A `</content>` too many belongs to the body, unless another `<content>` has begun.
    """
    outer, at = tags[pair.first], pair.first + 1
    inner = (outer.end, tags[pair.last].start)
    begins = at < pair.last and tags[at].name == CONTENT and not tags[at].closing
    if not begins or not _begins_body(text, outer, tags[at]):
        return inner, False
    depth, end = 1, -1
    for tag in tags[at + 1 : pair.last]:
        if tag.name != CONTENT:
            continue
        if not tag.closing:
            if not depth:
                break
            depth += 1
        else:
            depth = max(0, depth - 1)
            if not depth or end < 0:
                end = tag.start
    if depth:
        # One that was quoted and never closed: the last one closes the body.
        end = max(
            (
                t.start
                for t in tags[at + 1 : pair.last]
                if t.name == CONTENT and t.closing
            ),
            default=inner[1],
        )
    return (tags[at].end, end), True


def looks_final(text: str, tag: Tag) -> bool:
    """Tell whether a tag stands where one is put that ends a block."""
    return _FINAL.match(text, tag.end) is not None


def children(text: str, start: int, end: int) -> tuple[dict[str, str], int]:
    """Read `<name>value</name>` one after the other.

    >>> children("<title>A < B</title> <path>a.md</path> text", 0, 43)
    ({'title': 'A < B', 'path': 'a.md'}, 38)

    Args:
        text: The text.
        start: Where they begin, in characters.
        end: Where to stop.

    Returns:
        The values by their names, the first one of a name, and where they end.
    """
    found: dict[str, str] = {}
    for _ in range(_MOST_CHILDREN):
        opening = _CHILD.match(text, start, end)
        if opening is None or opening[1] == CONTENT:
            break
        closing = f"</{opening[1]}>"
        most = min(end, opening.end() + _LONGEST_VALUE + len(closing))
        at = text.find(closing, opening.end(), most)
        if at < 0:
            break
        found.setdefault(opening[1], unescape(text[opening.end() : at].strip()))
        start = at + len(closing)
    return found, start


def attributes(tag: Tag) -> dict[str, str]:
    """Return the attributes of a tag.

    >>> attributes(find_tags('<a id="7">', frozenset("a"))[0])
    {'id': '7'}
    """
    return {
        name: unescape(double or single)
        for name, double, single in _ATTRIBUTE.findall(tag.attributes)
    }


def without_tags(text: str, names: frozenset[str]) -> str:
    """Return *text* in which nothing passes for a tag of these *names*.

    Whatever its case, and with white space or invisible characters within.

    >>> without_tags("a < b </A ><ab>", frozenset("a"))
    'a < b &lt;/A ><ab>'
    """
    if "<" not in text and "＜" not in text:
        return text
    return _lookalikes(names).sub("&lt;", text)


@lru_cache(maxsize=64)
def _lookalikes(names: frozenset[str]) -> regex.Pattern[str]:
    # Any case, wide forms, white space or invisible characters within. No class holds
    # what comes after it, so this is linear.
    any_of = "|".join(
        f"[{UNSEEN}]*+".join(map(regex.escape, name)) for name in sorted(names)
    )
    return regex.compile(rf"(?i)[<＜](?=[\s{UNSEEN}/\\]*+(?:{any_of})(?![\w.:-]))")
