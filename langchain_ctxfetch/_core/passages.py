"""Say what each sentence of a text is worth for a question; `picking` then chooses.

Sentences are scored, not windows: the hits of each term of the question flow to the
sentences around them, most of them onwards, before BM25 saturates them. Strings of
four letters bear misspellings and compounds. A transcript has wider flows, and the
words of its best turns count as well.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest

from langchain_ctxfetch._core.kernels import (
    EVEN,
    ONWARDS,
    Direction,
    KernelScorer,
    Width,
)
from langchain_ctxfetch._core.regions import best_regions
from langchain_ctxfetch._core.sentences import is_cjk, snap
from langchain_ctxfetch._core.structure import (
    blocks,
    divided,
    needs,
    rows,
    with_ends,
)
from langchain_ctxfetch._core.terms import (
    GRAM,
    Question,
    find_pairs,
    find_string,
    find_term,
    fold,
    letter_grams,
    rarity,
    read_question,
)
from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch._core.transcripts import (
    favour_named_speakers,
    is_transcript,
    terms_of_the_best,
)
from langchain_ctxfetch._core.words import Stem

_CELL = 150  # characters of a cell, in which a term counts once for its rarity
_CJK_NARROWER = 0.25  # width of a flow where a letter says as much as four
_PROSE = (Width(1, 0), Width(3, 300))
_TRANSCRIPT = (Width(0.5, 0), Width(1, 800), Width(2, 1600))

_PAIR_WEIGHT = 0.5
_GRAMS_WEIGHT = 0.5
_FEEDBACK_WEIGHT = 0.2
_FEEDBACK_CANDIDATES = 40
_FEEDBACK_TERMS = 10
_TIE = 1e-9  # what the lead of a text scores without any hit


@dataclass(frozen=True, slots=True)
class Scored:
    """Be the sentences of a text with what they are worth for a question.

    Attributes:
        units: The sentences, ascending; of a long text only those worth looking at.
        scores: One for each of them; higher is better.
        found: Whether the text holds a word that was asked for.
        text: The text.
        hits: Where each term begins, in characters, the weightiest term first.
        needs: By the number of a sentence those that must stand beside it: of a row
            the header of its table, of code the marks around it.
    """

    units: list[Span]
    scores: list[float]
    found: bool
    text: str
    hits: tuple[list[int], ...] = ()
    needs: Mapping[int, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Manner:
    """Be the way in which a text is read."""

    widths: tuple[Width, ...]
    flow: Direction
    cell: int
    transcript: bool
    grams: bool

    @property
    def width(self) -> float:
        """Return the width of the widest flow, in characters."""
        return max(width.reach for width in self.widths)


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
    >>> scored.scores[1] > scored.scores[0]
    True

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
    weighted += _pair_hits(folded, question, hits, manner.cell)
    held = blocks(text)
    regions = best_regions(text, weighted, width=manner.width, room=room)
    regions = with_ends(regions, held)
    units = [unit for span in regions for unit in divided(text, *span, held)]
    scorer = KernelScorer(
        units, len(text), manner.widths, manner.flow, apart=rows(units, held)
    )
    reading = _Reading(text, folded, stem, manner.cell, regions, units, scorer)
    near = {term: _inside(places, regions) for term, places in hits.items()}
    scores = scorer.score(
        [(weight, _inside(places, regions)) for weight, places in weighted]
    )
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
        needs=needs(units, held),
    )


def _pair_hits(
    folded: str,
    question: Question,
    hits: Mapping[str, Sequence[int]],
    cell: int,
) -> list[tuple[float, list[int]]]:
    """Return what words side by side add where they stand so in the text as well."""
    found: list[tuple[float, list[int]]] = []
    for first, second in question.pairs:
        places = find_pairs(folded, hits[first], hits[second])
        asked = min(question.weights[first], question.weights[second])
        rare = rarity(places, len(folded) / cell, cell)
        found.append((_PAIR_WEIGHT * asked * rare, places))
    return [(weight, places) for weight, places in found if places]


def score_around(text: str, spans: Sequence[Span], *, room: int) -> Scored:
    """Score sentences by how near they are to passages that a search has found.

    >>> scored = score_around("One. Two. Three.", [(5, 9)], room=9)
    >>> scored.scores
    [-1.0, 0.0, -2.0]

    Args:
        text: The text.
        spans: The passages, in characters.
        room: How many characters will be picked, about.

    Returns:
        The sentences around the passages, 0 for those that share a character with one,
        else less by each character that lies between.
    """
    held = blocks(text)
    near = [(max(0, start - room), min(len(text), end + room)) for start, end in spans]
    units = [
        unit
        for start, end in with_ends(near, held)
        for unit in divided(text, snap(text, start) if start else 0, end, held)
    ]
    scores = [
        0.0 - min(max(0, start - last + 1, first - end + 1) for start, end in spans)
        for first, last in units
    ]
    return Scored(units, scores, found=True, text=text, needs=needs(units, held))


def _manner_of(text: str) -> _Manner:
    """Return how *text* is to be read: prose or transcript, with spaces or without."""
    transcript = is_transcript(text)
    widths = _TRANSCRIPT if transcript else _PROSE
    if is_cjk(text):
        narrow = tuple(Width(weight, reach * _CJK_NARROWER) for weight, reach in widths)
        # On Japanese articles an even flow kept more answers at each size.
        return _Manner(narrow, EVEN, _CELL // 2, transcript, grams=False)
    return _Manner(widths, ONWARDS, _CELL, transcript, grams=not transcript)


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
