"""Sharing a budget among parts, and making a whole fit by measuring it.

A counter of tokens is a deterministic function of a text and nothing more: it need be
neither additive nor monotone. So sums only say where to look, and what is returned
has been measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Rooms: TypeAlias = tuple[int | None, ...]
"""The most characters that each part may have; None for a part that is left out."""

Measure: TypeAlias = Callable[[Rooms], int]
"""Says how many tokens the whole has when its parts have so much room."""

Count: TypeAlias = Callable[[str], int]
"""Says how many tokens a text has."""

_SAMPLE = 8_000
"""Characters of a text that show how many tokens it has for each of them."""

_HOPELESS = 50
"""So many times the budget and more is not measured where that would take long."""

_LONG = 1_000_000
"""Characters that take long to measure."""

_MEASUREMENTS = 12
"""How often a level is tried at most, after the first guess."""

_NEAR = 0.5
"""Levels that differ by less are the same, in tokens."""


@dataclass(frozen=True, slots=True)
class Size:
    """Say how large a part is.

    Attributes:
        length: Its characters.
        tokens: Its tokens, about.
        patience: It is cut only where it is over so many times the level.
        floor: The tokens that it keeps at any level, where it may be cut at all.
    """

    length: int
    tokens: float
    patience: float = 1.0
    floor: float = 0.0

    def room(self, level: float) -> int:
        """Return the characters that *level* tokens allow, all where it fits whole."""
        level = max(level, self.floor)
        if self.tokens <= level * self.patience:
            return self.length
        return min(self.length, math.floor(self.length * max(0.0, level) / self.tokens))


def size_of(text: str, count: Count) -> Size:
    """Say how large a text is; the tokens of a long one are estimated by its head.

    >>> size_of("four", len).tokens
    4.0
    """
    head = text[:_SAMPLE]
    tokens = count(head) * len(text) / len(head) if head else 0.0
    return Size(len(text), max(0.0, tokens))


@dataclass(frozen=True, slots=True)
class Fit:
    """Say how a whole fits.

    Attributes:
        rooms: The characters that each part may have.
        tokens: What the whole measures with these rooms.
    """

    rooms: Rooms
    tokens: int


def water_level(wants: Sequence[float], total: float) -> float:
    """Return the greatest share at which all shares together stay within *total*.

    Who wants less than the level gets what it wants, everybody else the level.

    >>> water_level([2, 8, 10], 12)
    5.0

    Args:
        wants: What each part wants, at least 0.
        total: What there is, at least 0.

    Returns:
        The level; infinite where there is enough for everybody.

    Source: max-min fairness by progressive filling; Bertsekas and Gallager, Data
    Networks, section 6.5.2.
    """
    left = max(0.0, total)
    ascending = sorted(wants)
    for i, want in enumerate(ascending):
        share = left / (len(ascending) - i)
        if want > share:
            return share
        left -= want
    return math.inf


def fit(sizes: Sequence[Size], measure: Measure, limit: int) -> Fit | None:
    """Find the highest common level at which the whole measures at most *limit*.

    Nothing is cut where everything fits. Where not even nothing of every part fits
    (their headers take room as well), parts are left out from the last place up.

    >>> texts = ["aaaa", "bbbbbbbb"]
    >>> def measure(rooms):
    ...     return sum(len(text[:room]) for text, room in zip(texts, rooms))
    >>> fit([Size(4, 4), Size(8, 8)], measure, 10)
    Fit(rooms=(4, 6), tokens=10)

    Args:
        sizes: How large the parts are; only estimates, which guide the search.
        measure: Counts the tokens of the whole for given rooms.
        limit: The most tokens of the whole.

    Returns:
        Rooms that have been measured to fit, or None where nothing fits at all.
    """
    if not is_hopeless(sizes, limit):
        whole: Rooms = tuple(size.length for size in sizes)
        tokens = measure(whole)
        if tokens <= limit:
            return Fit(whole, tokens)
    bare = _most_kept(len(sizes), measure, limit)
    if bare is None:
        return None
    kept = [
        size if room is not None else None
        for size, room in zip(sizes, bare.rooms, strict=True)
    ]
    return _highest(kept, measure, limit, bare)


def is_hopeless(sizes: Sequence[Size], limit: int) -> bool:
    """Tell whether a whole is so far above *limit* that measuring it is a waste.

    >>> is_hopeless([Size(50_000_000, 12_000_000.0)], 4_000)
    True
    >>> is_hopeless([Size(50_000, 12_000.0)], 4)
    False
    """
    length = sum(size.length for size in sizes)
    tokens = sum(size.tokens for size in sizes)
    return length > _LONG and tokens > _HOPELESS * max(1, limit)


def _most_kept(number: int, measure: Measure, limit: int) -> Fit | None:
    """Leave out the fewest parts at the end, so that the rest fits with no text."""

    def bare(kept: int) -> Fit:
        rooms = (0,) * kept + (None,) * (number - kept)
        return Fit(rooms, measure(rooms))

    best = bare(number)
    if best.tokens <= limit:
        return best
    found: Fit | None = None
    low, high = 0, number
    while high - low > 1:
        middle = (low + high) // 2
        tried = bare(middle)
        if tried.tokens <= limit:
            found, low = tried, middle
        else:
            high = middle
    return found


def _highest(
    sizes: Sequence[Size | None], measure: Measure, limit: int, bare: Fit
) -> Fit:
    """Raise the level from *bare* as far as it fits."""
    ceiling = float(limit - bare.tokens)
    wants = [size.tokens for size in sizes if size is not None]
    # The level that would do if the counter were additive.
    level = min(ceiling, water_level(wants, ceiling))
    low, high, best = 0.0, ceiling, bare
    tokens_of = {bare.rooms: bare.tokens}
    for attempt in range(_MEASUREMENTS + 1):
        rooms = _rooms(sizes, level)
        if rooms not in tokens_of:
            tokens_of[rooms] = measure(rooms)
        over = tokens_of[rooms] - limit
        if over <= 0:
            low, best = level, Fit(rooms, tokens_of[rooms])
        else:
            high = level
        cut = sum(want > level for want in wants)
        step = over / max(1, cut)
        if high - low < _NEAR or -_NEAR < step <= 0:
            break
        level = _between(low, high, level - step, halve=attempt % 2 == 1)
    return best


def _between(low: float, high: float, guess: float, *, halve: bool) -> float:
    """Return *guess* where it lies well within, else (or to *halve*) the middle."""
    margin = (high - low) / 64
    if halve or not low + margin < guess < high - margin:
        return (low + high) / 2
    return guess


def _rooms(sizes: Sequence[Size | None], level: float) -> Rooms:
    return tuple(None if size is None else size.room(level) for size in sizes)
