"""What terms that stand together as in the question add to a score.

Among the best hundred documents, whatever the depth asked for, up to three best
passages each are read: for two neighbouring terms of the question, stop words left
out, n is how often they stand next to each other in a passage in that order, stop
words left out there too. The pair gives the smaller idf of the two x 2.5 n / (n + 1.5);
a passage's bonus is the sum over the pairs, and a document gains `ADJACENCY_SHARE` of
the best bonus of its passages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise

import numpy as np
import numpy.typing as npt

from langchain_ctxfetch._core.words import is_word
from langchain_ctxfetch.stores._index import Index
from langchain_ctxfetch.stores._layout import Layout
from langchain_ctxfetch.stores._postings import Integers, ranges
from langchain_ctxfetch.stores._ranking import (
    K1,
    MOST_TERMS,
    PASSAGE_SHARE,
    Floats,
    Scores,
)

ADJACENCY_SHARE = 0.3
"""What the best bonus of its passages adds to the score of a document."""

BEST_PASSAGES = 3
"""How many passages of a document are read, and how many a hit remembers."""


def with_adjacency(
    index: Index, scores: Scores, terms: Sequence[str], documents: Integers
) -> Scores:
    """Add what neighbouring terms bring to some documents and their best passages.

    Args:
        index: The state that was searched.
        scores: What BM25 gave; not changed.
        terms: The terms of the question, in order.
        documents: Which documents to look at, rising.

    Returns:
        The scores; a passage gains so much that the documents, of which a passage is
        worth `PASSAGE_SHARE`, and their passages are ranked alike.
    """
    pairs = _pairs(terms, scores.rarity)
    passages = _best_passages(index.layout, scores.passages, documents)
    if not pairs or not len(passages):
        return scores
    bonus = _bonuses(index, pairs, scores.rarity, passages)
    by_document, by_passage = scores.documents.copy(), scores.passages.copy()
    by_passage[passages] += ADJACENCY_SHARE / PASSAGE_SHARE * bonus
    best = np.zeros(len(by_document))
    np.maximum.at(best, index.layout.passage_document[passages], bonus)
    by_document += ADJACENCY_SHARE * best
    return Scores(by_document, by_passage, scores.rarity)


def _pairs(
    terms: Sequence[str], rarity: Mapping[str, float]
) -> dict[tuple[str, str], int]:
    """Number the pairs of neighbours that may be found; both orders are one pair."""
    numbers: dict[frozenset[str], int] = {}
    neighbours = {
        (one, other): None
        for one, other in pairwise(terms)
        if one != other and {one, other} <= rarity.keys()
        # Pairs of ideographs overlap: their order says nothing new.
        if is_word(one) and is_word(other)
    }
    return {
        pair: numbers.setdefault(frozenset(pair), len(numbers))
        for pair in islice(neighbours, MOST_TERMS)
    }


def _best_passages(layout: Layout, scores: Floats, documents: Integers) -> Integers:
    """Return the best passages of documents, rising; of equal ones the first."""
    first = layout.first_passage
    passages = ranges(first[documents], first[documents + 1])
    passages = passages[scores[passages] > 0]
    document = layout.passage_document[passages]
    order = np.lexsort((-scores[passages], document))
    # Sorted by document, so the place among its own is counted from where it begins.
    place = np.arange(len(order)) - np.searchsorted(document, document)
    return np.sort(passages[order[place < BEST_PASSAGES]])


def _bonuses(
    index: Index,
    pairs: Mapping[tuple[str, str], int],
    rarity: Mapping[str, float],
    passages: Integers,
) -> Floats:
    """Return the bonus of each passage."""
    # A title has a code below 0, which counts from the end: there nothing is wanted.
    layout = index.layout
    wanted = np.zeros(len(layout.start) + len(layout.documents), np.bool_)
    wanted[passages] = True
    terms = {term: None for pair in pairs for term in pair}
    found = [index.places(term, wanted) for term in terms]
    passage = np.searchsorted(passages, np.concatenate([each for each, _ in found]))
    place = np.concatenate([each for _, each in found])
    term = np.repeat(np.arange(len(terms)), [len(each) for each, _ in found])
    # On one line, with a gap after each passage: a place holds one term at most.
    line = passage * (int(place.max(initial=0)) + 2) + place
    order = np.argsort(line)
    line, passage, term = line[order], passage[order], term[order]
    follows = np.flatnonzero(line[1:] == line[:-1] + 1)
    number = _table(terms, pairs)[term[follows], term[follows + 1]]
    known = number >= 0
    width = len(set(pairs.values()))
    times = np.bincount(
        passage[follows[known]] * width + number[known],
        minlength=len(passages) * width,
    ).reshape(-1, width)
    worth = np.zeros(width)
    for (one, other), at in pairs.items():
        worth[at] = min(rarity[one], rarity[other])
    gained: Floats = (worth * (K1 + 1) * times / (times + K1)).sum(axis=1)
    return gained


def _table(
    terms: Iterable[str], pairs: Mapping[tuple[str, str], int]
) -> npt.NDArray[np.int16]:
    """Return the number of each pair by the numbers of its terms; -1 for no pair."""
    at = {term: i for i, term in enumerate(terms)}
    table = np.full((len(at), len(at)), -1, np.int16)
    for (one, other), number in pairs.items():
        table[at[one], at[other]] = number
    return table
