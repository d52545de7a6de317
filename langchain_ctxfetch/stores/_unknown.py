"""Words of a question that nobody wrote: the nearest words stand for them.

A word is *unknown* where no document that may be shown holds it, and so are the words
that replace it chosen: among those of these documents, by how many of their passages
and titles hold them. A filter thus hides the words of all other documents: whether
one of them holds a word makes no difference to what is found, apart from the idf of
words that are found.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter

import numpy as np
import regex

from langchain_ctxfetch.stores._index import Index
from langchain_ctxfetch.stores._postings import Mask

SHORTEST = 4
"""Letters of a word that is replaced; of a shorter one too little is known."""

LONG = 7
"""Letters of a word that may be two edits away, others one."""

WEIGHTS = {1: 0.7, 2: 0.5}
"""What a replacement counts, by its distance in edits."""

MOST_NEAREST = 3
"""Words that stand for one; all at the smallest distance."""

MOST_REPLACED = 32
"""Words of a question that are replaced: its first."""

_LETTERS = regex.compile(r"[\p{L}\p{M}]+")


def with_nearest(
    index: Index, weights: Mapping[str, float], passing: Mask
) -> dict[str, float]:
    """Replace the unknown words of a question.

    Args:
        index: The state to search.
        weights: How much each term counts.
        passing: Which documents may be shown.

    Returns:
        The weights with those of the nearest words; unknown words are left out.
    """
    known: defaultdict[str, float] = defaultdict(float)
    replaced = 0
    for term, weight in weights.items():
        if replaced >= MOST_REPLACED or not _is_unknown(index, term, passing):
            known[term] += weight
            continue
        replaced += 1
        for word, distance in _nearest(index, term, passing):
            known[word] += weight * WEIGHTS[distance]
    return dict(known)


def _is_unknown(index: Index, term: str, passing: Mask) -> bool:
    if len(term) < SHORTEST or not _LETTERS.fullmatch(term):
        return False
    return not _held(index, term, passing)


def _nearest(index: Index, word: str, passing: Mask) -> list[tuple[str, int]]:
    """Return the commonest words at the smallest distance, and that distance."""
    limit = 2 if len(word) >= LONG else 1
    for distance, group in groupby(index.near(word, limit), key=itemgetter(0)):
        words = [term for _, term in group if _LETTERS.fullmatch(term)]
        counted = [(-_held(index, term, passing), term) for term in words]
        found = sorted(pair for pair in counted if pair[0])
        if found:
            return [(term, distance) for _, term in found[:MOST_NEAREST]]
    return []


def _held(index: Index, term: str, passing: Mask) -> int:
    """Count the postings of a term whose documents may be shown."""
    codes, _ = index.postings(term)
    if not len(codes):
        return 0
    documents = np.where(codes < 0, -1 - codes, index.layout.passage_document[codes])
    return int(passing[documents].sum())
