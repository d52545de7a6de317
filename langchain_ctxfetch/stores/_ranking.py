"""Exact BM25 over passages and sections: the first part of the keyword ranking.

A document's score is that of its best section plus half that of its best passage,
each by BM25 with Lucene's idf (k1 = 1.5, b = 0.75) among its own kind: numbers of
passages or sections, how many hold a term, and mean lengths are those of all living
documents. Exact means equal to evaluating that for every document. Only postings of
the terms asked for are touched. What words next to each other add stands in
`_adjacency`, what is done about words that nobody wrote in `_unknown`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_ctxfetch.stores._index import Index
from langchain_ctxfetch.stores._layout import (
    TITLE_IN_PASSAGE,
    TITLE_IN_SECTION,
    Layout,
)
from langchain_ctxfetch.stores._postings import Integers, Mask, ranges

Floats: TypeAlias = npt.NDArray[np.float64]

_Counted: TypeAlias = tuple[Integers, Integers]
"""Places, and how often something stands there."""

K1 = 1.5
B = 0.75

PASSAGE_SHARE = 0.5
"""What the best passage adds to the score of the best section."""

MOST_TERMS = 1_024
"""Distinct terms of a question that count: its first."""

_DENSE = 32  # a term in more than one of so many passages is counted along them all


@dataclass(frozen=True, slots=True)
class Scores:
    """Hold the scores of all documents, in the order of the layout.

    Attributes:
        documents: The score of each document; 0 where no term is found.
        passages: The score of each passage.
        rarity: The idf of each term among passages; only terms that are found.
    """

    documents: Floats
    passages: Floats
    rarity: Mapping[str, float] = field(default_factory=dict)


def term_weights(terms: Sequence[str]) -> dict[str, int]:
    """Count the terms of a question; only the first `MOST_TERMS` are kept.

    >>> term_weights(["b", "a", "b"])
    {'b': 2, 'a': 1}
    """
    weights = Counter(terms)
    return dict(list(weights.items())[:MOST_TERMS])


def bm25_scores(index: Index, weights: Mapping[str, float]) -> Scores:
    """Score every document for weighted terms.

    Args:
        index: The state to search.
        weights: How much each term counts, at least 0.

    Returns:
        The scores of the formula above, summed over the terms in their order.
    """
    layout, totals = index.layout, index.totals
    passages = np.zeros(len(layout.passage_document))
    sections = np.zeros(len(layout.section_document))
    rarity: dict[str, float] = {}
    for term, weight in weights.items():
        found = _Occurrences.of(index, term)
        if not found:
            continue
        at, counts = found.in_passages(layout)
        norm = _norms(layout.passage_terms[at], totals.passage_terms)
        rarity[term] = _idf(totals.passages, len(at))
        gain = weight * rarity[term] * (K1 + 1)
        passages[at] += gain * counts / (counts + norm)
        at, counts = found.in_sections(layout)
        norm = _norms(layout.section_terms[at], totals.section_terms)
        gain = weight * _idf(totals.sections, len(at)) * (K1 + 1)
        sections[at] += gain * counts / (counts + norm)
    return Scores(_documents(layout, passages, sections), passages, rarity)


def best_positions(scores: Floats, eligible: Mask, depth: int) -> Integers:
    """Return where the best scores stand, and all that equal the last of them.

    >>> scores = np.array([3.0, 1.0, 2.0, 2.0])
    >>> best_positions(scores, scores > 1, depth=2).tolist()
    [0, 2, 3]

    Args:
        scores: A score for each position.
        eligible: Which positions count.
        depth: How many are wanted.

    Returns:
        Positions in rising order; the caller decides among equals.
    """
    at = np.flatnonzero(eligible)
    if len(at) <= depth:
        return at
    if depth < 1:
        return at[:0]
    found = scores[at]
    least = np.partition(found, len(found) - depth)[len(found) - depth]
    best: Integers = at[found >= least]
    return best


@dataclass(frozen=True, slots=True)
class _Occurrences:
    """Hold where one term stands in living documents.

    Attributes:
        passages: Passages that hold it, rising.
        counts: How often, apart from the title.
        titles: Documents whose title holds it.
        title_counts: How often.
    """

    passages: Integers
    counts: Integers
    titles: Integers
    title_counts: Integers

    def __bool__(self) -> bool:
        return bool(len(self.passages) or len(self.titles))

    @classmethod
    def of(cls, index: Index, term: str) -> _Occurrences:
        """Look a term up."""
        codes, counts = index.postings(term)
        title = codes < 0
        passages, titles = codes[~title], -1 - codes[title]
        own, in_title = counts[~title], counts[title]
        if not index.all_live:
            kept = index.living[index.layout.passage_document[passages]]
            passages, own = passages[kept], own[kept]
            kept = index.living[titles]
            titles, in_title = titles[kept], in_title[kept]
        wide = np.int64
        return cls(
            passages.astype(wide),
            own.astype(wide),
            titles.astype(wide),
            in_title.astype(wide),
        )

    def in_passages(self, layout: Layout) -> tuple[Integers, Integers]:
        """Return the passages that hold the term, and how often with the title."""
        if not len(self.titles):
            return self.passages, self.counts
        titled = self._of_titles(layout.first_passage, TITLE_IN_PASSAGE)
        return _summed(len(layout.start), (self.passages, self.counts), titled)

    def in_sections(self, layout: Layout) -> tuple[Integers, Integers]:
        """Return the sections that hold the term, and how often with the title."""
        if len(self.passages) * _DENSE < len(layout.start):
            own = self._in_few_sections(layout)
        else:
            running = np.zeros(len(layout.start) + 1, np.int64)
            running[self.passages + 1] = self.counts
            np.cumsum(running, out=running)
            total = running[layout.section_end] - running[layout.section_first]
            at = np.flatnonzero(total)
            own = at, total[at]
        if not len(self.titles):
            return own
        titled = self._of_titles(layout.first_section, TITLE_IN_SECTION)
        return _summed(len(layout.section_end), own, titled)

    def _in_few_sections(self, layout: Layout) -> tuple[Integers, Integers]:
        """Look only at the sections around the passages that hold the term."""
        # Sections rise by both ends, so those around a passage are neighbours.
        first = np.searchsorted(layout.section_end, self.passages, side="right")
        past = np.searchsorted(layout.section_first, self.passages, side="right")
        first = np.maximum(first, np.concatenate([[0], past[:-1]]))
        at = ranges(first, past)
        running = np.concatenate([[0], np.cumsum(self.counts)])
        upto = np.searchsorted(self.passages, layout.section_end[at])
        before = np.searchsorted(self.passages, layout.section_first[at])
        return at, running[upto] - running[before]

    def _of_titles(self, first: Integers, share: int) -> _Counted:
        """Return what the titles give to each stretch of their documents."""
        starts, ends = first[self.titles], first[self.titles + 1]
        return ranges(starts, ends), share * np.repeat(self.title_counts, ends - starts)


def _summed(length: int, one: _Counted, other: _Counted) -> _Counted:
    """Add up two lists of places with counts, out of so many places."""
    at = np.concatenate([one[0], other[0]])
    counts = np.concatenate([one[1], other[1]])
    if len(at) * _DENSE < length:
        where, which = np.unique(at, return_inverse=True)
        return where, np.bincount(which, counts, len(where)).astype(np.int64)
    total = np.bincount(at, counts, length).astype(np.int64)
    where = np.flatnonzero(total)
    return where, total[where]


def _idf(total: int, holding: int) -> float:
    return math.log(1 + (total - holding + 0.5) / (holding + 0.5))


def _norms(lengths: Integers, mean: float) -> Floats:
    relative: Floats = lengths / mean
    return K1 * (1 - B + B * relative)


def _documents(layout: Layout, passages: Floats, sections: Floats) -> Floats:
    best_section = _best(sections, layout.section_document, len(layout.documents))
    best_passage = _best(passages, layout.passage_document, len(layout.documents))
    return best_section + PASSAGE_SHARE * best_passage


def _best(scores: Floats, document: Integers, documents: int) -> Floats:
    """Return the best score of each document, 0 where it has none above."""
    best = np.zeros(documents)
    at = np.flatnonzero(scores)
    np.maximum.at(best, document[at], scores[at])
    return best
