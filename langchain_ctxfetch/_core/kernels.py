"""Score sentences by terms whose hits flow to the sentences around them."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from langchain_ctxfetch._core.text import Span

_SATURATION = 1.5  # k1 of BM25
_LENGTH_SHARE = 0.75  # b of BM25
_DECLINE = 0.25  # how much of its score the last sentence loses
_FAINT = 1e-4  # hits; a flow below this is over


class Direction(NamedTuple):
    """Be how much of a hit flows to the sentences around it.

    Attributes:
        fore: Weight of what flows onwards in the text.
        back: Weight of what flows back.
    """

    fore: float
    back: float


ONWARDS = Direction(1.5, 0.5)
"""Three times as much onwards: what is named first is spoken of afterwards."""

EVEN = Direction(1.0, 1.0)
"""As much to either side."""


class Width(NamedTuple):
    """Be one width of the flow.

    Attributes:
        weight: What the score at this width counts.
        reach: After how many characters 1/e is left; 0 is no flow at all.
    """

    weight: float
    reach: float


def decays_between(middles: Sequence[float], reach: float) -> list[float]:
    """Return what is left of a flow from each sentence to the next.

    >>> [round(left, 3) for left in decays_between([0, 300, 900], reach=300)]
    [0.368, 0.135]
    """
    return [math.exp((here - there) / reach) for here, there in pairwise(middles)]


def spread(
    counts: Sequence[tuple[int, float]],
    decays: Sequence[float],
    flow: Direction = ONWARDS,
) -> list[float]:
    """Let counts flow: each sentence also gets what is left of the others' counts.

    F(i) = f(i) + fore * sum of f(j) left from each j before i
    + back * sum of f(j) left from each j after i; two passes.

    >>> spread([(1, 1.0)], [0.5, 0.5])
    [0.25, 1.0, 0.75]

    Args:
        counts: Numbers of sentences, ascending, each with what it holds.
        decays: What is left of a flow from each sentence to the next.
        flow: How much flows onwards and back.

    Returns:
        F of each sentence.
    """
    last = len(decays)
    flowed = [0.0] * (last + 1)
    for place, count in counts:
        flowed[place] += count
    carried = 0.0
    for (place, count), (stop, _) in pairwise([*counts, (last, 0.0)]):
        carried += flow.fore * count
        for i in range(place, stop):
            carried *= decays[i]
            if carried < _FAINT:
                carried = 0.0
                break
            flowed[i + 1] += carried
    carried = 0.0
    for (place, count), (stop, _) in pairwise([*reversed(counts), (0, 0.0)]):
        carried += flow.back * count
        for i in range(place - 1, stop - 1, -1):
            carried *= decays[i]
            if carried < _FAINT:
                carried = 0.0
                break
            flowed[i] += carried
    return flowed


class KernelScorer:
    """Score the sentences of one text for any number of terms.

    At each width a sentence has the BM25 of its flowed counts, its length flowing
    the same way; the sum is taken down by up to a quarter towards the end of the
    text, as texts answer early. A sentence with a hit never scores below the next
    one without any, however short that is. Nothing flows into or out of stretches that
    stand *apart*, as rows of a table do.
    """

    def __init__(
        self,
        units: Sequence[Span],
        length: int,
        widths: Iterable[Width],
        flow: Direction = ONWARDS,
        *,
        apart: Collection[int] = (),
    ) -> None:
        self._flow = flow
        middles = [(start + end) / 2 for start, end in units]
        self._starts = [start for start, _ in units]
        self._ends = [end for _, end in units]
        self._early = [1 - _DECLINE * middle / max(1, length) for middle in middles]
        sizes = [(i, float(end - start)) for i, (start, end) in enumerate(units)]
        self._widths: list[tuple[float, list[float], list[float]]] = []
        for weight, reach in widths:
            decays = decays_between(middles, reach) if reach else []
            for i in apart if decays else ():
                for side in {max(0, i - 1), min(i, len(decays) - 1)}:
                    decays[side] = 0.0
            flowed = (
                spread(sizes, decays, flow) if reach else [size for _, size in sizes]
            )
            self._widths.append((weight, decays, _norms(flowed)))

    def score(self, terms: Iterable[tuple[float, Sequence[int]]]) -> list[float]:
        """Return the score of each sentence for terms given as weight and places.

        The places of a term are ascending, in characters of the text.
        """
        totals = [0.0] * len(self._starts)
        holders: set[int] = set()
        for weight, places in terms:
            counts = self._counts(places)
            if not counts:
                continue
            holders.update(i for i, _ in counts)
            for share, decays, norms in self._widths:
                gain = weight * share * (_SATURATION + 1)
                if not decays:
                    for i, count in counts:
                        totals[i] += gain * count / (count + norms[i])
                    continue
                flowed = spread(counts, decays, self._flow)
                for i, amount in enumerate(flowed):
                    if amount:
                        totals[i] += gain * amount / (amount + norms[i])
        _raise_holders(totals, holders)
        return [total * early for total, early in zip(totals, self._early, strict=True)]

    def _counts(self, places: Sequence[int]) -> list[tuple[int, float]]:
        """Return how many places each sentence holds, those with none left out."""
        counts: dict[int, float] = {}
        for place in places:
            i = bisect_right(self._starts, place) - 1
            if i >= 0 and place < self._ends[i]:
                counts[i] = counts.get(i, 0.0) + 1.0
        return list(counts.items())


def _raise_holders(totals: list[float], holders: set[int]) -> None:
    """Give a sentence with a hit at least what it gives to the next one without."""
    for i in holders:
        if i + 1 not in holders and i + 1 < len(totals):
            totals[i] = max(totals[i], totals[i + 1])


def _norms(sizes: Sequence[float]) -> list[float]:
    """Return k1 * (1 - b + b * size / mean size) of each sentence."""
    total = math.fsum(sizes) or 1.0
    share = _LENGTH_SHARE * len(sizes) / total
    return [_SATURATION * (1 - _LENGTH_SHARE + share * size) for size in sizes]
