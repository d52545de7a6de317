"""Cleaning and cutting text: lengths are code points, cuts fall between graphemes."""

from __future__ import annotations

import re
from typing import TypeAlias

import regex

Span: TypeAlias = tuple[int, int]
"""Start and end of a stretch of a text, in code points."""

GAP_MARK = "\n…\n"
"""Stands between passages where text is left out."""

MISSING = "{missing}"
"""Where the mark of `head_tail` says how many characters are missing."""

_UNSTORABLE = re.compile(r"[\x00\ud800-\udfff]")

# Between two plain characters there is always a boundary (UAX 29, GB999), and so
# there is on both sides of a control; everything else needs its surroundings.
_PLAIN = r"[\p{GCB=XX}\p{GCB=LV}\p{GCB=LVT}]"
_SURE_BOUNDARY = regex.compile(
    rf"(?rs){_PLAIN}{{2}}|[\n\p{{GCB=CN}}].|\r[^\n]|.[\r\p{{GCB=CN}}]|[^\r]\n"
)

# `\X` counts back through a run of flags at each step, which makes a long run
# quadratic; counted from its beginning, two regional indicators are a flag.
_GRAPHEME = regex.compile(r"\p{GCB=RI}{2}(?=\p{GCB=RI})|\X")


def clean(text: str) -> str:
    r"""Put U+FFFD for each lone surrogate and each NUL; the length stays.

    Such characters cannot be encoded or stored. A text without any comes back as
    the same object.

    >>> clean("a\x00b\ud83d") == "a\ufffdb\ufffd"
    True
    """
    if text.isascii() and "\0" not in text:
        return text
    if _UNSTORABLE.search(text) is None:
        return text
    return _UNSTORABLE.sub("\ufffd", text)


def floor_boundary(text: str, index: int, start: int = 0) -> int:
    r"""Return the last boundary between graphemes at or before *index*.

    Looks only at the surroundings of *index*.

    >>> floor_boundary("cafe\u0301", 4)
    3

    Args:
        text: The text to be cut.
        index: The place wanted, in code points; places outside are brought inside.
        start: A place known to be a boundary, where looking back may stop.

    Returns:
        The boundary, in code points.
    """
    if index >= len(text):
        return len(text)
    return max(start, _grapheme_at(text, index, start)[0])


def ceil_boundary(text: str, index: int, start: int = 0) -> int:
    r"""Return the first boundary between graphemes at or after *index*.

    >>> ceil_boundary("cafe\u0301s", 4)
    5

    Args:
        text: The text to be cut.
        index: The place wanted, in code points; places outside are brought inside.
        start: A place known to be a boundary, where looking back may stop.

    Returns:
        The boundary, in code points.
    """
    if index >= len(text):
        return len(text)
    first, last = _grapheme_at(text, index, start)
    return first if first >= index else last


def _grapheme_at(text: str, index: int, start: int) -> Span:
    """Return the grapheme that holds the character at *index*."""
    if index <= start:
        return start, start
    sure = _SURE_BOUNDARY.search(text, start, index + 1)
    begin = start if sure is None else sure.start() + 1
    for grapheme in _GRAPHEME.finditer(text, begin):
        if grapheme.end() > index:
            return grapheme.span()
    return len(text), len(text)


def cut(text: str, limit: int, mark: str = "…") -> str:
    """Return the head of *text*, with *mark* where something is missing.

    Cutting twice is the same as cutting once. A mark longer than *limit* is left
    out; a limit of 0 or below gives the empty text.

    >>> cut("0123456789", 4, mark="")
    '0123'
    >>> cut("0123456789", 4)
    '012…'

    Args:
        text: The text to cut.
        limit: The most characters of the result, the mark counted.
        mark: Stands for what is missing.

    Returns:
        The text itself where it is short enough, else its head and the mark.
    """
    if len(text) <= limit:
        return text
    if limit <= 0:
        return ""
    shown = mark if len(mark) <= limit else ""
    return text[: floor_boundary(text, limit - len(shown))] + shown


def head(text: str, limit: int, mark: str) -> tuple[list[Span], str]:
    """Keep the beginning of *text*, and say how much is missing.

    A mark that would take more than half of *limit* is left out.

    >>> head("abcdefghijklmnopqrstuvwxyz", 14, "[{missing}]")
    ([(0, 10)], 'abcdefghij[16]')

    Args:
        text: The text to cut.
        limit: The most characters of the result, the mark counted.
        mark: Stands for what is missing; `{missing}` in it becomes their number.

    Returns:
        The stretch kept, if any, and the text.
    """
    if len(text) <= limit:
        return _spans((0, len(text))), text
    room = _room(text, limit, mark)
    if room is None:
        end = floor_boundary(text, max(0, limit))
        return _spans((0, end)), text[:end]
    end = floor_boundary(text, room)
    return _spans((0, end)), text[:end] + _filled(mark, len(text) - end)


def head_tail(text: str, limit: int, mark: str) -> tuple[list[Span], str]:
    """Keep two thirds of the room for the head and one third for the tail.

    A mark that would take more than half of *limit* is left out, and the tail with
    it: two stretches are never joined without a mark.

    >>> head_tail("abcdefghijklmnopqrstuvwxyz", 14, "[{missing}]")
    ([(0, 7), (23, 26)], 'abcdefg[16]xyz')

    Args:
        text: The text to cut.
        limit: The most characters of the result, the mark counted.
        mark: Stands for what is missing; `{missing}` in it becomes their number.

    Returns:
        The stretches kept, in order, and the text they make.
    """
    room = _room(text, limit, mark)
    if len(text) <= limit or room is None:
        return head(text, limit, mark)
    end = floor_boundary(text, room - room // 3)
    start = ceil_boundary(text, len(text) - room // 3, end)
    spans = _spans((0, end), (start, len(text)))
    return spans, text[:end] + _filled(mark, start - end) + text[start:]


def _room(text: str, limit: int, mark: str) -> int | None:
    """Return what is left of *limit* beside the mark; None where that is too little."""
    room = limit - len(_filled(mark, len(text)))
    return room if room > 0 and 2 * room >= limit else None


def _spans(*spans: Span) -> list[Span]:
    """Leave out what is empty."""
    return [(start, end) for start, end in spans if start < end]


def _filled(mark: str, missing: int) -> str:
    """Say in *mark* how many characters are missing."""
    return mark.replace(MISSING, f"{missing:,}")
