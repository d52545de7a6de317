"""Take the best sentences of a text that fit a room, and make passages of them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

from langchain_ctxfetch._core.passages import Scored
from langchain_ctxfetch._core.sentences import stripped
from langchain_ctxfetch._core.text import GAP_MARK, Span, ceil_boundary, floor_boundary

_NEARLY_FULL = 20  # characters of room that are not worth another sentence
_WORD_SHARE = 5  # an end of a cut moves by at most a fifth of it to spare a word


def pick(
    scored: Scored, room: int, *, mark_length: int = 3, edge_length: int = 0
) -> list[Span]:
    """Choose the best sentences that fit, and return them as passages in text order.

    Sentences that touch make one passage. Of a sentence that is the best and does
    not fit, the part around its weightiest hit is cut out, between graphemes and
    where possible between words; `cuts_within` tells so.

    >>> pick(Scored([(0, 4), (4, 7)], [1.0, 2.0], True, "Ab. cd."), 3)
    [(4, 7)]

    Args:
        scored: What `score_sentences` returned.
        room: The most characters of all passages and the marks between them.
        mark_length: The characters of a mark.
        edge_length: The characters of what shows that a sentence is cut, at each
            side; they are part of the room as well.

    Returns:
        Passages without white space at their ends; none where nothing fits.
    """
    inked = [stripped(scored.text, start, end) for start, end in scored.units]
    order = [i for i in _best_first(scored.scores) if inked[i][0] < inked[i][1]]
    if not order:
        return []
    best = inked[order[0]]
    if best[1] - best[0] > room:
        if _is_half(scored, order[0]):
            return []
        return _window(scored, order[0], room - 2 * edge_length)
    start, end = inked[min(order)][0], inked[max(order)][1]
    if _is_gapless(scored.units) and end - start <= room:
        return [(start, end)]
    chosen = _fill(scored, inked, order, room=room, mark_length=mark_length)
    return _merged(scored.units, inked, chosen)


def quote(text: str, spans: Sequence[Span], mark: str = GAP_MARK) -> str:
    """Return the passages of *text* in one string, a mark where text is left out.

    >>> quote("Ab. Cd. Ef.", [(0, 3), (8, 11)], " … ")
    'Ab. … Ef.'
    """
    return mark.join(text[start:end] for start, end in spans)


def cuts_within(scored: Scored, span: Span) -> tuple[bool, bool]:
    """Tell whether a passage begins, and whether it ends, within a sentence.

    >>> cuts_within(Scored([(0, 4), (4, 7)], [1.0, 2.0], True, "Ab. cd."), (1, 7))
    (True, False)
    """
    starts = [start for start, _ in scored.units]
    first, last = (
        stripped(scored.text, *scored.units[bisect_left(starts, at + 1) - 1])
        for at in (span[0], span[1] - 1)
    )
    return first[0] < span[0], span[1] < last[1]


def _best_first(scores: Sequence[float]) -> list[int]:
    """Return the numbers of the sentences, best first, equals in text order."""
    # Reverse sorting keeps the order of equals.
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)


def _is_gapless(units: Sequence[Span]) -> bool:
    """Tell whether the sentences cover one stretch of the text."""
    return all(before[1] == after[0] for before, after in pairwise(units))


def _fill(
    scored: Scored,
    inked: Sequence[Span],
    order: Sequence[int],
    *,
    room: int,
    mark_length: int,
) -> list[int]:
    """Take sentences in *order* with what they need, passing over what does not fit."""
    filling = _Filling(scored.units, inked, mark_length)
    nearly_full = min(_NEARLY_FULL, room // 10)
    for i in order:
        fits = filling.take([*scored.needs.get(i, ()), i], room)
        if i == order[0] and not fits and not _is_half(scored, i):
            return [i]  # with what it needs there is no room even for the best
        if filling.used > room - nearly_full:
            break
    return [i for i in range(len(inked)) if filling.taken[i]]


def _is_half(scored: Scored, i: int) -> bool:
    """Tell whether a sentence is half of a pair, like a fence: worse than nothing."""
    needs = scored.needs
    return any(i in needs.get(other, ()) for other in needs.get(i, ()))


class _Filling:
    """Be a room that fills with sentences."""

    def __init__(
        self, units: Sequence[Span], inked: Sequence[Span], mark_length: int
    ) -> None:
        self._units = units
        self._inked = inked
        self._mark_length = mark_length
        # One more, for the neighbour before the first.
        self.taken = bytearray(len(units) + 1)
        self.used = -mark_length

    def take(self, numbers: Sequence[int], room: int) -> bool:
        """Take these sentences, all or none, and tell whether they fit."""
        used, fresh = self.used, []
        for i in numbers:
            if not self.taken[i]:
                self.used += self._cost(i)
                self.taken[i] = 1
                fresh.append(i)
        if self.used <= room:
            return True
        self.used = used
        for i in fresh:
            self.taken[i] = 0
        return False

    def _cost(self, i: int) -> int:
        """Return the characters that one more sentence takes, with its mark."""
        start, end = self._inked[i]
        marks = 1
        if self.taken[i - 1] and self._units[i - 1][1] == self._units[i][0]:
            start, marks = self._inked[i - 1][1], marks - 1
        if self.taken[i + 1] and self._units[i][1] == self._units[i + 1][0]:
            end, marks = self._inked[i + 1][0], marks - 1
        return end - start + marks * self._mark_length


def _merged(
    units: Sequence[Span], inked: Sequence[Span], chosen: Sequence[int]
) -> list[Span]:
    """Join chosen sentences that touch; *chosen* is ascending."""
    spans: list[Span] = []
    for before, i in pairwise([-2, *chosen]):
        if before == i - 1 and units[before][1] == units[i][0]:
            spans[-1] = (spans[-1][0], inked[i][1])
        else:
            spans.append(inked[i])
    return spans


def _window(scored: Scored, best: int, room: int) -> list[Span]:
    """Cut *room* characters out of a sentence, around its weightiest hit."""
    if room <= 0:
        return []
    text = scored.text
    anchor = _first_hit(scored.hits, scored.units[best])
    quarter = room // 4
    first, last = _bounds(
        text, scored.units, best, (anchor - quarter, anchor + quarter)
    )
    start = max(first, min(anchor - room // 2, last - room))
    end = start + room
    spare = room // _WORD_SHARE
    if start > first:
        gap = max(text.find(sign, start, min(anchor, start + spare)) for sign in " \n")
        start = ceil_boundary(text, gap + 1 if gap >= 0 else start, first)
    if end < last:
        gap = max(text.rfind(sign, max(anchor, end - spare), end) for sign in " \n")
        end = floor_boundary(text, gap if gap >= 0 else end, first)
    start, end = stripped(text, start, end)
    return [(start, end)] if start < end else []


def _bounds(text: str, units: Sequence[Span], i: int, reach: Span) -> Span:
    """Return sentence *i*, with those beside it as far as *reach*.

    A share of an overlong sentence may begin or end with the hit.
    """
    start, end = units[i]
    least, most = reach
    if i and units[i - 1][1] == start:
        start = floor_boundary(text, max(units[i - 1][0], min(start, least)))
    if i + 1 < len(units) and units[i + 1][0] == end:
        end = floor_boundary(text, min(units[i + 1][1], max(end, most)))
    return start, end


def _first_hit(hits: Sequence[Sequence[int]], unit: Span) -> int:
    """Return where the weightiest term that *unit* holds begins, else its start."""
    for places in hits:
        i = bisect_left(places, unit[0])
        if i < len(places) and places[i] < unit[1]:
            return places[i]
    return unit[0]
