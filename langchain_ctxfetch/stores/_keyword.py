"""The keyword ranking, put together: unknown words, BM25, neighbouring terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from langchain_ctxfetch.stores._adjacency import with_adjacency
from langchain_ctxfetch.stores._index import Index
from langchain_ctxfetch.stores._postings import Mask
from langchain_ctxfetch.stores._ranking import (
    Floats,
    Scores,
    best_positions,
    bm25_scores,
    term_weights,
)
from langchain_ctxfetch.stores._unknown import with_nearest

WINDOW = 100
"""Documents whose passages are read for neighbouring terms, whatever the depth."""


def keyword_scores(
    index: Index,
    terms: Sequence[str],
    passing: Mask,
    in_order: Callable[[Sequence[int], Floats], list[int]],
) -> Scores:
    """Score every document and passage for the terms of a question.

    One ranking at any depth: neighbouring terms are looked for in the best `WINDOW`
    documents that may be shown, and a document outside them has no such bonus, also
    where its score is asked for because another channel found it. A filter leaves
    everything else of a score as it is, but words that no document behind it holds
    are replaced (`_unknown`).

    Args:
        index: The state to search.
        terms: The terms of the question, in order.
        passing: Which documents may be shown.
        in_order: Sorts documents by their scores, and equal ones for good.

    Returns:
        The scores, those of documents that may not be shown among them.
    """
    weights = with_nearest(index, term_weights(terms), passing)
    scores = bm25_scores(index, weights)
    best = best_positions(scores.documents, passing & (scores.documents > 0), WINDOW)
    if len(best) > WINDOW:
        first = in_order(best.tolist(), scores.documents)[:WINDOW]
        best = np.sort(np.array(first, np.int64))
    return with_adjacency(index, scores, terms, best)
