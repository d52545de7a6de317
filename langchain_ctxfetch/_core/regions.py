"""The first look at a long text: the regions that are worth reading closely."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from langchain_ctxfetch._core.sentences import snap
from langchain_ctxfetch._core.text import Span

_LEAST_KEPT = 40_000  # characters that are kept of a long text
_KEPT_ROOMS = 4  # and at least so many times the room
_LEAST_ROOMS = 2  # where few blocks hold a hit, so many times the room
_LONG = 1.5  # a text of up to so many times what would be kept is kept whole
_BLOCK_WIDTHS = 1.5  # the length of a block, in widths of the flow
_DECLINE = 0.25  # how much of its score the last block loses


def best_regions(
    text: str,
    terms: Sequence[tuple[float, Sequence[int]]],
    *,
    width: float,
    room: int,
) -> list[Span]:
    """Return the parts of a long text with the most hits; a short one is kept whole.

    What is kept does not grow with the text, and neither does the work that follows.

    >>> best_regions("short", [(1.0, [0])], width=300, room=4000)
    [(0, 5)]

    Args:
        text: The text.
        terms: The weight of each term, and where it begins, in characters.
        width: How far hits flow, in characters.
        room: How many characters will be picked.

    Returns:
        Stretches in text order that do not touch, their edges at ends of sentences
        where there are any.
    """
    kept = max(_LEAST_KEPT, _KEPT_ROOMS * room)
    if len(text) <= _LONG * kept:
        return [(0, len(text))]
    block = int(_BLOCK_WIDTHS * width)
    best = _best_blocks(terms, block, len(text))
    taken = _with_neighbours(
        best or [0],
        range(_LEAST_ROOMS * room // block, kept // block),
        last=len(text) // block,
    )
    return _snapped(text, _joined(taken, block))


def _best_blocks(
    terms: Iterable[tuple[float, Sequence[int]]], block: int, length: int
) -> list[int]:
    """Return the numbers of the blocks that hold a hit, best first."""
    scores: dict[int, float] = {}
    for weight, places in terms:
        for number, count in Counter(place // block for place in places).items():
            gain = weight * count / (count + 1)
            scores[number] = scores.get(number, 0.0) + gain
    for number in scores:
        scores[number] *= 1 - _DECLINE * number * block / length
    return sorted(scores, key=lambda number: (-scores[number], number))


def _with_neighbours(best: Sequence[int], wanted: range, *, last: int) -> set[int]:
    """Return the best blocks with those next to them, as many as *wanted*.

    Where few blocks hold a hit they bring more neighbours, so that the room is used.
    """
    taken: set[int] = set()
    radius = 1
    while len(taken) <= min(wanted.start, last):
        for number in best:
            around = range(max(0, number - radius), min(last, number + radius) + 1)
            taken.update(around)
            if len(taken) >= wanted.stop:
                return taken
        radius *= 2
    return taken


def _joined(numbers: Iterable[int], block: int) -> list[Span]:
    """Return blocks as stretches, those that touch as one."""
    regions: list[Span] = []
    for number in sorted(numbers):
        start = number * block
        if regions and regions[-1][1] == start:
            start = regions.pop()[0]
        regions.append((start, (number + 1) * block))
    return regions


def _snapped(text: str, regions: Iterable[Span]) -> list[Span]:
    """Move the edges of regions onwards to ends of sentences."""
    snapped: list[Span] = []
    for start, end in regions:
        before = snapped[-1][1] if snapped else 0
        first = max(before, snap(text, start) if start else 0)
        last = snap(text, end)
        if first < last:
            snapped.append((first, last))
    return snapped
