"""Blocks: stretches of a prompt between tags that hold attached text.

Only the outermost blocks count. Whatever stands in a block, a quoted tag, another
block, half of one, is its text; what two crossing blocks hold is one block. Parsing
changes nothing: rendered with its own bodies, a text is what it was.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from langchain_ctxfetch._core.rendering import defused, one_line
from langchain_ctxfetch._core.tags import (
    CONTENT,
    Pair,
    Tag,
    attributes,
    body_between,
    children,
    find_tags,
    looks_final,
    pairs,
)
from langchain_ctxfetch._core.text import Span

CONTAINERS = frozenset({"context", "localSearch"})
"""Blocks that hold several documents, each of which is reduced apart."""

KNOWN_TYPES = CONTAINERS | {
    "active_note",
    "active_web_tab",
    "embedded_note",
    "embedded_pdf",
    "note_context",
    "prior_context",
    "retrieved_document",
    "selected_text",
    "twitter_content",
    "url_content",
    "vault_note",
    "web_selected_text",
    "web_tab_context",
    "youtube_video_context",
}
"""The names of the blocks that are known without being told."""

_DOCUMENT = "document"
_NAMING = ("path", "source", "url", "name", "id", "title")  # the best one first
_HEADER_NAMES = frozenset(
    """
    author channel ctime date end_line filename id mtime name page path source
    start_line tags title type url video_id
    """.split()  # noqa: SIM905 - words read better than a list of strings
)
_NUMBERED = re.compile(r"^\[(\d{1,9})\](?: (.*))?$", re.MULTILINE)
_LABEL = re.compile(r"([\w.-]{1,64}): (.*)")
_MOST_BESIDE = 500  # characters beside the documents of a container


@dataclass(frozen=True, slots=True)
class Block:
    """Be one block of a text.

    Attributes:
        type: Its name.
        start: Where it begins, in characters, its tag included.
        end: Where it ends, its closing tag included.
        body: The stretch of it that may be reduced.
        header: What it says of itself before its body.
        group: The container around it, if it stands in one.
    """

    type: str
    start: int
    end: int
    body: Span
    header: Mapping[str, str]
    group: Span | None


def parse(text: str, types: frozenset[str] = KNOWN_TYPES) -> list[Block]:
    """Find the outermost blocks of *text*.

    >>> text = (
    ...     "Hi <note_context><path>a.md</path><content>Long.</content></note_context>"
    ... )
    >>> [(b.type, b.header["path"], text[slice(*b.body)]) for b in parse(text)]
    [('note_context', 'a.md', 'Long.')]

    Args:
        text: Any text; what makes no sense in it is text.
        types: The names of the blocks.

    Returns:
        The blocks in order; they share no character. The documents of a container
        stand in its place.
    """
    tags = find_tags(text, types | {CONTENT})
    found: list[Block] = []
    for pair, crossed in _outermost(text, tags, types):
        first, last = tags[pair.first], tags[pair.last]
        if crossed:
            span = (first.start, last.end)
            found.append(Block(first.name, *span, span, {}, None))
            continue
        if first.name in CONTAINERS:
            held = _held(text, first, last, types)
            if held:
                found += held
                continue
        found.append(_block(text, tags, pair))
    return found


def render(text: str, blocks: Sequence[Block], bodies: Sequence[str | None]) -> str:
    """Put *bodies* in the place of those that the blocks have.

    >>> text = "a <context>long</context> b"
    >>> render(text, parse(text), ["short"]), render(text, parse(text), [None])
    ('a <context>short</context> b', 'a  b')

    Args:
        text: What was parsed.
        blocks: Blocks of it, in order.
        bodies: The text for each; None leaves the block out, and a container with it
            whose blocks are all left out.

    Returns:
        The text; nothing but the bodies has changed.
    """
    standing = {
        block.group
        for block, body in zip(blocks, bodies, strict=True)
        if body is not None
    }
    parts: list[str] = []
    at = 0
    for block, body in zip(blocks, bodies, strict=True):
        start, end = block.start, block.end
        if body is None:
            if block.group is not None and block.group not in standing:
                start, end = block.group
            if start >= at:
                parts.append(text[at:start])
            at = max(at, end)
        else:
            parts += [text[at : block.body[0]], body]
            at = block.body[1]
    parts.append(text[at:])
    return "".join(parts)


def source_of(block: Block) -> str:
    """Return what names a block for a reader, on one line.

    >>> source_of(
    ...     Block("note_context", 0, 0, (0, 0), {"title": "A", "path": "a"}, None)
    ... )
    'a'
    """
    for name in _NAMING:
        if value := one_line(block.header.get(name, "")):
            return tamed(value, KNOWN_TYPES)
    return block.type


def tamed(text: str, types: frozenset[str] = KNOWN_TYPES) -> str:
    r"""Return *text* in which nothing opens or closes a block or a document of one.

    >>> tamed("a < b </content >\n[2] x")
    'a < b &lt;/content >\n\\[2] x'
    """
    return defused(text, types | {CONTENT, _DOCUMENT})


def _outermost(
    text: str, tags: Sequence[Tag], types: frozenset[str]
) -> Iterator[tuple[Pair, bool]]:
    """Return the outermost pairs, and for each whether others cross its border."""
    known = [pair for pair in pairs(text, tags) if tags[pair.first].name in types]
    paired = {number for pair in known for number in pair}
    at = 0
    while at < len(known):
        pair, crossed = known[at], False
        at += 1
        if tags[pair.first].name not in CONTAINERS:
            pair = _extended(text, tags, pair, paired)
        while at < len(known) and known[at].first < pair.last:
            if known[at].last > pair.last:
                pair, crossed = Pair(pair.first, known[at].last), True
            at += 1
        yield pair, crossed


def _extended(text: str, tags: Sequence[Tag], pair: Pair, paired: set[int]) -> Pair:
    """Let a block that quotes its own closing tag end where it is really closed."""
    name = tags[pair.first].name
    if looks_final(text, tags[pair.last]):
        return pair
    for i in range(pair.last + 1, len(tags)):
        tag = tags[i]
        if tag.name == CONTENT:
            continue
        if tag.name != name or not tag.closing or i in paired:
            break
        if looks_final(text, tag):
            return Pair(pair.first, i)
    return pair


def _block(text: str, tags: Sequence[Tag], pair: Pair) -> Block:
    first, last = tags[pair.first], tags[pair.last]
    (start, end), inside = body_between(text, tags, pair)
    header, until = children(text, first.end, start if inside else end)
    if not inside:
        if header.keys() - _HEADER_NAMES:
            # Tags of the text itself.
            header, until = {}, first.end
        start, end = _trimmed(text, until, end)
    header = {**attributes(first), **header}
    return Block(first.name, first.start, last.end, (start, end), header, None)


def _trimmed(text: str, start: int, end: int) -> Span:
    """Leave line breaks at both ends out of a body."""
    body = text[start:end]
    start += len(body) - len(body.lstrip("\r\n"))
    return start, max(start, end - (len(body) - len(body.rstrip("\r\n"))))


def _held(text: str, first: Tag, last: Tag, types: frozenset[str]) -> list[Block]:
    """Return the documents of a container; none where it does not hold such."""
    inner, group = text[first.end : last.start], (first.start, last.end)
    if _NUMBERED.match(inner.lstrip("\r\n")):
        held = list(_numbered(inner))
    else:
        held = _documents(inner, types)
    return [
        Block(
            first.name,
            first.end + start,
            first.end + end,
            (first.end + body[0], first.end + body[1]),
            header,
            group,
        )
        for start, end, body, header in held
    ]


def _numbered(inner: str) -> Iterator[tuple[int, int, Span, dict[str, str]]]:
    """Return documents that a line with a number heads, as renderings have them."""
    heads: list[re.Match[str]] = []
    for match in _NUMBERED.finditer(inner):
        if not heads or int(match[1]) > int(heads[-1][1]):
            heads.append(match)
    ends = [match.start() for match in heads[1:]] + [len(inner)]
    for match, end in zip(heads, ends, strict=True):
        yield match.start(), end, _trimmed(inner, match.end(), end), _labels(match[2])


def _labels(line: str | None) -> dict[str, str]:
    parts = (line or "").split(" | ")
    header = {"title": parts[0]} if parts[0] else {}
    for part in parts:
        if named := _LABEL.fullmatch(part):
            header[named[1]] = named[2]
    return header


def _documents(
    inner: str, types: frozenset[str]
) -> list[tuple[int, int, Span, dict[str, str]]]:
    """Return the documents, or known blocks, that a container holds one by one."""
    names = (types - CONTAINERS) | {_DOCUMENT}
    tags = find_tags(inner, names | {CONTENT})
    held = [
        _block(inner, tags, pair)
        for pair, crossed in _outermost(inner, tags, names)
        if not crossed
    ]
    beside = len(inner) - sum(block.end - block.start for block in held)
    if not held or beside > _MOST_BESIDE + len(inner) // 10:
        return []
    return [(block.start, block.end, block.body, dict(block.header)) for block in held]
