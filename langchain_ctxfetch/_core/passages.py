"""Choose the passages of one text that answer a question, within so much room.

Sentences are scored, not windows: the hits of each term of the question flow to the
sentences around them, most of them onwards, before BM25 saturates them. Strings of
four letters bear misspellings and compounds. A transcript has wider flows, and the
words of its best turns count as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import nlargest
from itertools import pairwise

from langchain_ctxfetch._core.kernels import EVEN, ONWARDS, Flow, KernelScorer, Scale
from langchain_ctxfetch._core.regions import best_regions
from langchain_ctxfetch._core.sentences import mostly_cjk, sentences, stripped
from langchain_ctxfetch._core.terms import (
    GRAM,
    Question,
    find_string,
    find_term,
    fold,
    letter_grams,
    rarity,
    read_question,
)
from langchain_ctxfetch._core.text import GAP_MARK, Span, ceil_boundary, floor_boundary
from langchain_ctxfetch._core.transcripts import (
    favour_named_speakers,
    is_transcript,
    terms_of_the_best,
)
from langchain_ctxfetch._core.words import Stem

_SAMPLE = 4_000  # characters that show the script of a text
_CELL = 150  # characters of a cell, in which a term counts once for its rarity
_CJK_NARROWER = 0.25  # width of a flow where a letter says as much as four
_PROSE = (Scale(1, 0), Scale(3, 300))
_TRANSCRIPT = (Scale(0.5, 0), Scale(1, 800), Scale(2, 1600))

_GRAMS_WEIGHT = 0.5
_FEEDBACK_WEIGHT = 0.2
_FEEDBACK_CANDIDATES = 40
_FEEDBACK_TERMS = 10
_TIE = 1e-9  # what the lead of a text scores without any hit

_NEARLY_FULL = 20  # characters of room that are not worth another sentence
_WORD_SHARE = 5  # an end of a cut moves by at most a fifth of it to spare a word


@dataclass(frozen=True, slots=True)
class Scored:
    """Be the sentences of a text with what they are worth for a question.

    Attributes:
        units: The sentences, ascending; of a long text only those worth looking at.
        scores: One for each of them; higher is better.
        found: Whether the text holds a word that was asked for.
        text: The text.
        hits: Where each term begins, in characters, the weightiest term first.
    """

    units: list[Span]
    scores: list[float]
    found: bool
    text: str
    hits: tuple[list[int], ...] = ()


@dataclass(frozen=True, slots=True)
class _Manner:
    """Be the way in which a text is read."""

    scales: tuple[Scale, ...]
    flow: Flow
    cell: int
    transcript: bool
    grams: bool

    @property
    def width(self) -> float:
        """Return the width of the widest flow, in characters."""
        return max(scale.reach for scale in self.scales)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Be a text with what each step of the scoring needs of it."""

    text: str
    folded: str
    stem: Stem
    cell: int
    regions: list[Span]
    units: list[Span]
    scorer: KernelScorer

    def rarity(self, places: Sequence[int]) -> float:
        """Return the rarity of a term within the regions."""
        length = sum(end - start for start, end in self.regions)
        return rarity(places, length / self.cell, self.cell)


def score_sentences(text: str, query: str, *, stem: Stem, room: int) -> Scored:
    """Score the sentences of *text* for *query*.

    A long text is first searched for its best regions, about four times the room.

    >>> text = "A cat sleeps. A dog barks."
    >>> scored = score_sentences(text, "dog", stem=lambda word: word, room=15)
    >>> quote(text, pick(scored, 15))
    'A dog barks.'

    Args:
        text: Any text.
        query: Any text; it is never read as a pattern.
        stem: Reduces a lower-case word to what its inflections share.
        room: How many characters will be picked, about.

    Returns:
        The sentences with their scores, for `pick`.
    """
    folded = fold(text)
    question = read_question(query, stem)
    manner = _manner_of(text)
    whole = [(0, len(text))]
    hits = {term: find_term(folded, term, stem, whole) for term in question.weights}
    weights = {
        term: weight * rarity(hits[term], len(text) / manner.cell, manner.cell)
        for term, weight in question.weights.items()
    }
    weighted = [(weights[term], places) for term, places in hits.items()]
    regions = best_regions(text, weighted, width=manner.width, room=room)
    units = [unit for start, end in regions for unit in sentences(text, start, end)]
    scorer = KernelScorer(units, len(text), manner.scales, manner.flow)
    reading = _Reading(text, folded, stem, manner.cell, regions, units, scorer)
    near = {term: _inside(places, regions) for term, places in hits.items()}
    scores = scorer.score([(weights[term], near[term]) for term in near])
    if manner.grams:
        scores = _sum_of_shares(scores, _gram_scores(reading, question, near))
    if manner.transcript:
        scores = _as_transcript(reading, question, scores)
    heaviest = sorted(near, key=lambda term: -weights[term])
    return Scored(
        units=units,
        scores=[a + b for a, b in zip(scores, _leads(units, len(text)), strict=True)],
        found=_is_found(folded, question, hits),
        text=text,
        hits=tuple(near[term] for term in heaviest if near[term]),
    )


def _manner_of(text: str) -> _Manner:
    """Return how *text* is to be read: prose or transcript, with spaces or without."""
    transcript = is_transcript(text)
    scales = _TRANSCRIPT if transcript else _PROSE
    if mostly_cjk(text[:_SAMPLE]):
        narrow = tuple(Scale(weight, reach * _CJK_NARROWER) for weight, reach in scales)
        # On Japanese articles an even flow kept more answers at each size.
        return _Manner(narrow, EVEN, _CELL // 2, transcript, grams=False)
    return _Manner(scales, ONWARDS, _CELL, transcript, grams=not transcript)


def _is_found(
    folded: str, question: Question, hits: Mapping[str, Sequence[int]]
) -> bool:
    """Tell whether a word that was asked for stands in the text, in whatever form."""
    strong = set(question.strong)
    if any(hits[term] for term in strong):
        return True
    # Within a longer word: a part of a compound.
    return any(
        len(word) >= GRAM and term in strong and word in folded
        for word, term in question.words.items()
    )


def _leads(units: Sequence[Span], length: int) -> list[float]:
    """Return next to nothing for each unit, most for the first: it parts equals."""
    return [_TIE * (1 - (start + end) / 2 / max(1, length)) for start, end in units]


def _inside(places: Sequence[int], regions: Sequence[Span]) -> list[int]:
    """Return the ascending *places* that lie in one of the regions."""
    inside: list[int] = []
    for start, end in regions:
        inside += places[bisect_left(places, start) : bisect_left(places, end)]
    return inside


def _sum_of_shares(scores: Sequence[float], grams: Sequence[float]) -> list[float]:
    """Add the letter grams to the words, each as a share of its greatest score."""
    top, top_gram = max(scores, default=0.0) or 1.0, max(grams, default=0.0) or 1.0
    return [
        score / top + _GRAMS_WEIGHT * gram / top_gram
        for score, gram in zip(scores, grams, strict=True)
    ]


def _gram_scores(
    reading: _Reading, question: Question, hits: Mapping[str, list[int]]
) -> list[float]:
    """Return the scores by the letter grams; a word too short for any counts whole."""
    found = [
        (weight, find_string(reading.folded, gram, reading.regions))
        for gram, weight in letter_grams(question).items()
    ]
    short = (term for word, term in question.words.items() if len(word) < GRAM)
    found += [(question.weights[term], hits[term]) for term in dict.fromkeys(short)]
    return reading.scorer.score(
        (weight * reading.rarity(places), places) for weight, places in found if places
    )


def _as_transcript(
    reading: _Reading, question: Question, scores: Sequence[float]
) -> list[float]:
    """Add the words of the best turns, and favour the speakers who are asked for."""
    if max(scores, default=0.0) <= 0:
        return list(scores)
    more = reading.scorer.score(_feedback(reading, question, scores))
    factors = favour_named_speakers(
        reading.text, reading.units, question.weights, reading.stem
    )
    return [(a + b) * c for a, b, c in zip(scores, more, factors, strict=True)]


def _feedback(
    reading: _Reading, question: Question, scores: Sequence[float]
) -> list[tuple[float, list[int]]]:
    """Return the terms that stand out in the best units, with weight and places."""
    counts = terms_of_the_best(reading.folded, reading.units, scores, reading.stem)
    fresh = [term for term in counts if term not in question.weights]
    fresh = nlargest(_FEEDBACK_CANDIDATES, fresh, key=counts.__getitem__)
    places = {
        term: find_term(reading.folded, term, reading.stem, reading.regions)
        for term in fresh
    }
    rare = {term: reading.rarity(places[term]) for term in fresh}
    chosen = nlargest(
        _FEEDBACK_TERMS, fresh, key=lambda term: counts[term] * rare[term]
    )
    top = max((counts[term] for term in chosen), default=1.0)
    return [
        (_FEEDBACK_WEIGHT * counts[term] / top * rare[term], places[term])
        for term in chosen
    ]


def pick(scored: Scored, room: int, *, mark_length: int = 3) -> list[Span]:
    """Choose the best sentences that fit, and return them as passages in text order.

    Sentences that touch make one passage. Of a sentence that is the best and does
    not fit, the part around its weightiest hit is cut out, between graphemes and
    where possible between words.

    >>> pick(Scored([(0, 4), (4, 7)], [1.0, 2.0], True, "Ab. cd."), 3)
    [(4, 7)]

    Args:
        scored: What `score_sentences` returned.
        room: The most characters of all passages and the marks between them.
        mark_length: The characters of a mark.

    Returns:
        Passages without white space at their ends; none where nothing fits.
    """
    inked = [stripped(scored.text, start, end) for start, end in scored.units]
    order = [i for i in _best_first(scored.scores) if inked[i][0] < inked[i][1]]
    if not order:
        return []
    best = inked[order[0]]
    if best[1] - best[0] > room:
        return _window(scored, order[0], room)
    whole = min(order), max(order)
    if _is_gapless(scored.units) and inked[whole[1]][1] - inked[whole[0]][0] <= room:
        return [(inked[whole[0]][0], inked[whole[1]][1])]
    chosen = _fill(scored.units, inked, order, room=room, mark_length=mark_length)
    return _merged(scored.units, inked, chosen)


def quote(text: str, spans: Sequence[Span], mark: str = GAP_MARK) -> str:
    """Return the passages of *text* in one string, a mark where text is left out.

    >>> quote("Ab. Cd. Ef.", [(0, 3), (8, 11)], " … ")
    'Ab. … Ef.'
    """
    return mark.join(text[start:end] for start, end in spans)


def _best_first(scores: Sequence[float]) -> list[int]:
    """Return the numbers of the sentences, best first, equals in text order."""
    # Reverse sorting keeps the order of equals.
    return sorted(range(len(scores)), key=scores.__getitem__, reverse=True)


def _is_gapless(units: Sequence[Span]) -> bool:
    """Tell whether the sentences cover one stretch of the text."""
    return all(before[1] == after[0] for before, after in pairwise(units))


def _fill(
    units: Sequence[Span],
    inked: Sequence[Span],
    order: Sequence[int],
    *,
    room: int,
    mark_length: int,
) -> list[int]:
    """Take sentences in *order*, passing over those that do not fit."""
    taken = bytearray(len(units) + 1)  # one more, for the neighbour before the first
    used = -mark_length
    nearly_full = min(_NEARLY_FULL, room // 10)
    for i in order:
        start, end = inked[i]
        marks = 1
        if taken[i - 1] and units[i - 1][1] == units[i][0]:
            start, marks = inked[i - 1][1], marks - 1
        if taken[i + 1] and units[i][1] == units[i + 1][0]:
            end, marks = inked[i + 1][0], marks - 1
        cost = end - start + marks * mark_length
        if used + cost <= room:
            taken[i] = 1
            used += cost
            if used > room - nearly_full:
                break
    return [i for i in range(len(units)) if taken[i]]


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
