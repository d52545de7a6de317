"""Several rankings into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from math import fsum, hypot, sqrt
from typing import TypeVar

from langchain_ctxfetch._core.hits import Ranking
from langchain_ctxfetch.errors import ConfigurationError

Key = TypeVar("Key", bound=Hashable)

RANK_CONSTANT = 60
CUT_AT = 3.0
LEAST_SPREAD = 0.05


def reciprocal_rank_fusion(
    rankings: Iterable[Iterable[Key]],
    *,
    rank_constant: int = RANK_CONSTANT,
    weights: Sequence[float] | None = None,
) -> list[tuple[Key, float]]:
    """Fuse rankings by the sum of weight / (rank_constant + rank).

    >>> reciprocal_rank_fusion([["a", "b"], ["b", "c"]], rank_constant=1)
    [('b', 0.833...), ('a', 0.5), ('c', 0.333...)]

    Args:
        rankings: Best first. A key that a ranking holds again counts once there.
        rank_constant: How slowly a rank loses weight, in ranks; at least 1.
        weights: One for each ranking; all 1 by default.

    Returns:
        Each key once with its score, highest first; equal scores keep the order of
        first appearance.

    Raises:
        ConfigurationError: If *rank_constant* is below 1, or the number of weights
            is not that of the rankings.

    Source: Cormack, Clarke and Buettcher, SIGIR 2009, section 2.
    """
    if rank_constant < 1:
        raise ConfigurationError(
            f"`rank_constant` must be at least 1, not {rank_constant!r}"
        )
    lists = [list(dict.fromkeys(ranking)) for ranking in rankings]
    weights = weights if weights is not None else [1.0] * len(lists)
    if len(weights) != len(lists):
        raise ConfigurationError(
            f"`weights` must have one weight for each of the {len(lists)} rankings, "
            f"not {len(weights)}"
        )
    shares: defaultdict[Key, list[float]] = defaultdict(list)
    for ranking, weight in zip(lists, weights, strict=True):
        for rank, key in enumerate(ranking, start=1):
            shares[key].append(weight / (rank_constant + rank))
    # fsum, not sum: the score may not depend on the order of the rankings.
    return _best_first({key: fsum(parts) for key, parts in shares.items()})


def fuse_in_two_stages(
    lists_by_query: Iterable[Iterable[Iterable[Key]]],
    *,
    rank_constant: int = RANK_CONSTANT,
) -> list[tuple[Key, float]]:
    """Fuse the rankings of each query, then the fused rankings of the queries.

    >>> [key for key, _ in fuse_in_two_stages([["ab", "c"], ["cd"]])]
    ['c', 'a', 'd', 'b']

    Args:
        lists_by_query: For each query its rankings, best first.
        rank_constant: As in `reciprocal_rank_fusion`, for both stages.

    Returns:
        Each key once with the score of the second stage, highest first.

    Raises:
        ConfigurationError: If *rank_constant* is below 1.
    """
    first = [
        [key for key, _ in reciprocal_rank_fusion(lists, rank_constant=rank_constant)]
        for lists in lists_by_query
    ]
    return reciprocal_rank_fusion(first, rank_constant=rank_constant)


def standardised_fusion(
    rankings: Sequence[Ranking], weights: Sequence[float]
) -> list[tuple[str, float]]:
    """Fuse rankings by the weighted sum of their standardised scores.

    >>> words = Ranking("keyword", "ab", (9.0, 3.0), extra={"c": 0.0})
    >>> sense = Ranking("vector", "cb", (0.9, 0.5), extra={"a": 0.1})
    >>> [key for key, _ in standardised_fusion([words, sense], [0.75, 0.25])]
    ['a', 'b', 'c']

    Each channel's scores lose the mean of its list and are divided by its standard
    deviation. The channel of the greatest weight, the first among equals, is the
    anchor; what another channel adds is cut at 3 deviations, so that no single
    similarity outvotes it. A ranking without scores counts (n + 1 - rank) / n.
    A document that a channel did not bring has the score in its `extra`, else its
    `absent`, else the lowest of its list. An empty ranking says nothing.

    Args:
        rankings: Best first, each key at most once in each.
        weights: One for each ranking, 0 or more.

    Returns:
        Each key once with its score, highest first; equal scores keep the order of
        first appearance.

    Raises:
        ConfigurationError: If the number of weights is not that of the rankings.

    Source: after the z-score normalisation of Montague and Aslam, CIKM 2001; the
    anchor, the cut and the scores of absent documents are ours, from measurements.
    """
    if len(weights) != len(rankings):
        raise ConfigurationError(
            f"`weights` must have one weight for each of the {len(rankings)} rankings, "
            f"not {len(weights)}"
        )
    told = [
        (ranking, weight)
        for ranking, weight in zip(rankings, weights, strict=True)
        if ranking.keys and weight > 0
    ]
    if not told:
        return []
    anchor = max(range(len(told)), key=lambda at: told[at][1])
    keys = dict.fromkeys(key for ranking, _ in told for key in ranking.keys)
    parts: dict[str, list[float]] = {key: [] for key in keys}
    for at, (ranking, weight) in enumerate(told):
        standard = _standardised(ranking, keys, is_anchor=at == anchor)
        for key, score in standard.items():
            parts[key].append(weight * score)
    return _best_first({key: fsum(shares) for key, shares in parts.items()})


def _standardised(
    ranking: Ranking, keys: Iterable[str], *, is_anchor: bool
) -> dict[str, float]:
    count = len(ranking.keys)
    scores = ranking.scores or [(count - at) / count for at in range(count)]
    held = dict(zip(ranking.keys, scores, strict=True))
    # Divided first: the sum of great scores would overflow.
    mean = fsum(score / count for score in scores)
    # hypot, not a sum of squares: great scores must not overflow.
    deviation = hypot(*(score - mean for score in scores)) / sqrt(count)
    # A list of one, or of equal scores, must not turn small differences into votes.
    least = LEAST_SPREAD * abs(max(scores)) if is_anchor else 0.0
    spread = max(deviation, least, 1e-6)
    other = min(scores) if ranking.absent is None else ranking.absent
    most = float("inf") if is_anchor else CUT_AT
    return {
        key: min(most, (held.get(key, ranking.extra.get(key, other)) - mean) / spread)
        for key in keys
    }


def _best_first(scores: Mapping[Key, float]) -> list[tuple[Key, float]]:
    return sorted(scores.items(), key=lambda pair: pair[1], reverse=True)
