r"""What of a text is no prose, fenced code and tables, and which lines hang together.

A row says nothing without the names of its columns, and half a fence turns the rest of
a page into code. So the lines of such a block need others beside them: rows their
header, code the marks that open and close it.
"""

from __future__ import annotations

import csv
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from langchain_ctxfetch._core.outline import fences
from langchain_ctxfetch._core.sentences import LONGEST, sentences
from langchain_ctxfetch._core.text import Span

_RULE = re.compile(r"\n([ \t>|:-]{3,})(?=\n|\Z)")  # below the header of a table
_LONGEST_FENCE = 80  # characters; a longer line is no mark that anybody wrote
_DELIMITERS = "\t;|,"
_FEWEST_ROWS = 4  # lines of delimited text, header included
_SAMPLE_ROWS = 50  # lines that are looked at
_MOST_SAMPLE = 20_000  # characters of these
_ALIKE = 0.9  # of them have as many columns as the header


@dataclass(frozen=True, slots=True)
class Block:
    """Be a stretch of whole lines that is no prose.

    Attributes:
        kind: Code between fences, or rows of a table.
        start: Where it begins, in characters.
        end: Where it ends, its last line break included.
        head: The lines at its beginning without which the others say nothing.
        tail: Such lines at its end; empty where there are none.
    """

    kind: Literal["code", "table"]
    start: int
    end: int
    head: Span
    tail: Span


def blocks(text: str) -> list[Block]:
    r"""Return the fenced code and the tables of *text*, in order.

    Knows fences as Markdown has them, in lists and quotations too, tables with a rule
    below the header, and texts that are one table with tabs, semicolons, bars or
    commas between the columns.

    >>> [
    ...     (b.kind, text[slice(*b.head)])
    ...     for text in ["a,b\n1,2\n3,4\n5,6\n"]
    ...     for b in blocks(text)
    ... ]
    [('table', 'a,b\n')]

    Args:
        text: Any text.

    Returns:
        Blocks that do not overlap.
    """
    table = _delimited(text)
    if table:
        return [table]
    code = [
        Block("code", start, end, (start, _line_end(text, start)), tail)
        for start, end, tail in fences(text)
    ]
    return sorted([*code, *_ruled(text, code)], key=lambda block: block.start)


def divided(text: str, start: int, end: int, held: Sequence[Block]) -> list[Span]:
    """Divide `text[start:end]` into sentences of prose and lines of blocks.

    Args:
        text: The text.
        start: Where to begin, in characters.
        end: Where to stop.
        held: The blocks of the text.

    Returns:
        Stretches that touch one another and cover all of it; long ones are cut as
        `sentences` cuts them.
    """
    found: list[Span] = []
    at = start
    for block in held:
        first, last = max(at, block.start), min(end, block.end)
        if first >= last:
            continue
        if at < first:
            found += sentences(text, at, first)
        found += _lines(text, first, last)
        at = last
    return found + sentences(text, at, end) if at < end else found


def rows(stretches: Sequence[Span], held: Iterable[Block]) -> frozenset[int]:
    """Return the numbers of the stretches that are rows of a table."""
    tables = (block for block in held if block.kind == "table")
    return frozenset(i for block in tables for i in _of(stretches, block))


def needs(
    stretches: Sequence[Span], held: Iterable[Block]
) -> Mapping[int, tuple[int, ...]]:
    """Return for each stretch of a block the numbers of those that it needs.

    Args:
        stretches: Ascending stretches of the text.
        held: The blocks of the text.

    Returns:
        By the number of a stretch those of head and tail, itself left out.
    """
    needed: dict[int, tuple[int, ...]] = {}
    for block in held:
        ends = [
            i for span in (block.head, block.tail) for i in _within(stretches, *span)
        ]
        for i in _of(stretches, block):
            needed[i] = tuple(dict.fromkeys(end for end in ends if end != i))
    return needed


def cut_fences(spans: Sequence[Span], held: Iterable[Block]) -> list[Span]:
    """Return the lines that close and open the code in which stretches begin or end.

    Args:
        spans: What is kept of the text: its head, and its tail if any.
        held: The blocks of the text.

    Returns:
        Opening or closing lines that none of the stretches holds though one of them
        holds a part of the code, in order.
    """
    lines: list[Span] = []
    for block in held:
        touched = any(a < block.end and block.start < b for a, b in spans)
        if block.kind == "code" and touched:
            lines += [
                line
                for line in (block.head, block.tail)
                if line[0] < line[1]
                and line[1] - line[0] <= _LONGEST_FENCE
                and not any(a < line[1] and line[0] < b for a, b in spans)
            ]
    return lines


def with_ends(regions: Sequence[Span], held: Iterable[Block]) -> list[Span]:
    """Return the regions and head and tail of each block that one of them touches."""
    added = [
        span
        for block in held
        if any(start < block.end and block.start < end for start, end in regions)
        for span in (block.head, block.tail)
        if span[0] < span[1]
    ]
    joined: list[Span] = []
    for start, end in sorted([*regions, *added]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _of(stretches: Sequence[Span], block: Block) -> range:
    return _within(stretches, block.start, block.end)


def _within(stretches: Sequence[Span], start: int, end: int) -> range:
    """Return the numbers of the stretches that share a character with one."""
    first = bisect_right(stretches, start, key=lambda span: span[1])
    return range(first, bisect_left(stretches, end, key=lambda span: span[0]))


def _lines(text: str, start: int, end: int) -> Iterator[Span]:
    """Yield the lines of a block; a long one is cut like an overlong sentence."""
    at = start
    while at < end:
        stop = min(end, _line_end(text, at))
        if stop - at > LONGEST:
            yield from sentences(text, at, stop)
        else:
            yield at, stop
        at = stop


def _line_end(text: str, start: int) -> int:
    """Return where the line at *start* ends, its break included."""
    return text.find("\n", start) + 1 or len(text)


def _ruled(text: str, code: Sequence[Block]) -> Iterator[Block]:
    """Yield the tables with a rule below the header, outside of code."""
    if "|" not in text:
        return
    begins = [block.start for block in code]
    done = 0
    for rule in _RULE.finditer(text):
        if rule.start() < done or not {"|", "-"} <= set(rule[1]):
            continue
        start = text.rfind("\n", 0, rule.start()) + 1
        if "|" not in text[start : rule.start()]:
            continue
        inside = bisect_right(begins, start) - 1
        if inside >= 0 and start < code[inside].end:
            continue
        head = _line_end(text, rule.start(1))
        done = end = _last_row(text, head)
        yield Block("table", start, end, (start, head), (end, end))


def _last_row(text: str, start: int) -> int:
    """Return where the rows that begin at *start* end: at a line without a bar."""
    while start < len(text):
        end = _line_end(text, start)
        if text.find("|", start, end) < 0:
            break
        start = end
    return start


def _delimited(text: str) -> Block | None:
    """Return *text* as one table of delimited columns, where it is one."""
    start = len(text) - len(text.lstrip())
    sample = text[start : start + _MOST_SAMPLE].split("\n")
    lines = list(islice(filter(str.strip, sample), _SAMPLE_ROWS))
    if len(lines) < _FEWEST_ROWS:
        return None
    delimiter = next((sign for sign in _DELIMITERS if _is_table(lines, sign)), None)
    if delimiter is None:
        return None
    first = _line_end(text, start) if _is_header(lines[0], delimiter) else start
    return Block("table", start, len(text), (start, first), (len(text), len(text)))


def _is_table(lines: Sequence[str], delimiter: str) -> bool:
    """Tell whether nearly all lines have as many columns as the first."""
    if delimiter not in lines[0]:
        return False
    read = list(csv.reader(lines, delimiter=delimiter))
    columns = Counter(map(len, read))[len(read[0])]
    # Lines of code end in a semicolon, items of a list in a comma.
    return columns >= max(_FEWEST_ROWS, _ALIKE * len(read)) and bool(read[0][-1])


def _is_header(line: str, delimiter: str) -> bool:
    """Tell whether the cells of a line are names: none is blank or a number."""
    cells = [cell.strip() for cell in line.split(delimiter)]
    return all(cell and not cell.strip("\"'")[:1].isdigit() for cell in cells)
