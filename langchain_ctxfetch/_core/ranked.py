"""From the hits of several channels to one ranking of documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Literal, NamedTuple, TypeAlias

from langchain_ctxfetch._core.fusion import (
    reciprocal_rank_fusion,
    standardised_fusion,
)
from langchain_ctxfetch._core.hits import Hit, Ranking, told
from langchain_ctxfetch._core.identity import Identities, KeyFunction
from langchain_ctxfetch._core.paging import take_turns
from langchain_ctxfetch.errors import ConfigurationError

FusionName: TypeAlias = Literal["round_robin", "rrf", "weighted"]
Fusion: TypeAlias = Callable[[Sequence[Ranking]], Sequence[tuple[str, float]]]
"""Complete rankings in, one deterministic ranking out: keys with their scores."""


class Copy(NamedTuple):
    """Be a document as one channel brought it.

    Attributes:
        channel: The place of the channel.
        rank: Its rank there among distinct documents, from 1.
        hit: What the channel brought.
    """

    channel: int
    rank: int
    hit: Hit


@dataclass(frozen=True, slots=True)
class Found:
    """Be one ranking made of several.

    Attributes:
        places: Keys with their fused scores, best first.
        by_channel: For each channel its distinct documents, best first.
        capped: Whether the ranking goes on, out of reach.
    """

    places: list[tuple[str, float]]
    by_channel: list[dict[str, Copy]]
    capped: bool = False

    def copies(self, key: str) -> list[Copy]:
        """Return the document's copies, one of each channel that brought it."""
        return [held[key] for held in self.by_channel if key in held]


def by_turns(
    hits: Sequence[Sequence[Hit]],
    *,
    rows: int | None = None,
    key: KeyFunction | None = None,
) -> Found:
    """Rank by turns: the first hit of each channel, then the second of each.

    >>> a, b, c = (Hit(name, "text") for name in "abc")
    >>> by_turns([[a, b], [c, b]]).places
    [('a', 1.0), ('c', 0.5), ('b', 0.333...)]

    Args:
        hits: For each channel its hits, best first.
        rows: How many hits of each channel may take part; None for all.
        key: What makes hits one document.

    Returns:
        The ranking; a document's score is 1 / place.
    """
    keys = _keys(hits, Identities(key))
    turns = take_turns([names[:rows] for names in keys], key=str)
    places = [(name, 1 / place) for place, name in enumerate(turns, start=1)]
    return Found(places, _distinct(hits, keys))


def by_scores(
    sources: Sequence[tuple[str, float]],
    hits: Sequence[Sequence[Hit]],
    extra: Sequence[Sequence[Hit]],
    exhausted: Sequence[bool],
    *,
    fusion: FusionName | Fusion,
    widest: int,
    key: KeyFunction | None = None,
) -> Found:
    """Rank by a fusion over whole rankings.

    Args:
        sources: For each channel its name and weight.
        hits: For each channel its hits, best first.
        extra: For each channel hits that only bring scores.
        exhausted: For each channel whether it brought all that match, with scores
            of which 0 means none; documents that it did not bring then have 0.
        fusion: How rankings become one.
        widest: How many distinct documents of a channel take part.
        key: What makes hits one document.

    Returns:
        The ranking.

    Raises:
        ConfigurationError: If a *fusion* of the caller's own gives no ranking.
    """
    identities = Identities(key)
    keys = _keys(hits, identities)
    by_channel = _distinct(hits, keys)
    rankings = [
        _ranking(name, held, {identities.of(hit): hit for hit in more}, widest)
        for (name, _), held, more in zip(sources, by_channel, extra, strict=True)
    ]
    rankings = [
        replace(each, absent=min([0.0, *each.scores])) if complete else each
        for each, complete in zip(rankings, exhausted, strict=True)
    ]
    weights = [weight for _, weight in sources]
    return Found(_fused(fusion, rankings, weights), by_channel)


def distinct(
    hits: Sequence[Sequence[Hit]], *, key: KeyFunction | None = None
) -> list[dict[str, Copy]]:
    """Return the distinct documents of each channel, best first.

    >>> [list(held) for held in distinct([[Hit("a", "x"), Hit("a", "x")], []])]
    [['a'], []]
    """
    return _distinct(hits, _keys(hits, Identities(key)))


def _keys(hits: Sequence[Sequence[Hit]], identities: Identities) -> list[list[str]]:
    """Name hits in the order of their turns: a longer window renames none of them."""
    keys: list[list[str]] = [[] for _ in hits]
    for row in range(max(map(len, hits), default=0)):
        for names, held in zip(keys, hits, strict=True):
            if row < len(held):
                names.append(identities.of(held[row]))
    return keys


def _distinct(
    hits: Sequence[Sequence[Hit]], keys: Sequence[Sequence[str]]
) -> list[dict[str, Copy]]:
    by_channel: list[dict[str, Copy]] = []
    for at, (held, names) in enumerate(zip(hits, keys, strict=True)):
        copies: dict[str, Copy] = {}
        for hit, name in zip(held, names, strict=True):
            if name not in copies:
                copies[name] = Copy(at, len(copies) + 1, hit)
        by_channel.append(copies)
    return by_channel


def _ranking(
    name: str, held: Mapping[str, Copy], more: Mapping[str, Hit], widest: int
) -> Ranking:
    keys = list(held)[:widest]
    scores = {key: copy.hit.score for key, copy in held.items()}
    told = {key: score for key, score in scores.items() if score is not None}
    if len(told) < len(scores):
        return Ranking(name, keys)
    extra = {key: hit.score for key, hit in more.items() if hit.score is not None}
    beyond = {key: told[key] for key in list(held)[widest:]}
    return Ranking(name, keys, [told[key] for key in keys], extra | beyond)


def _fused(
    fusion: FusionName | Fusion, rankings: Sequence[Ranking], weights: Sequence[float]
) -> list[tuple[str, float]]:
    if callable(fusion):
        return _by_callers_own(fusion, rankings)
    if fusion == "rrf":
        lists = [ranking.keys for ranking in rankings]
        return reciprocal_rank_fusion(lists, weights=weights)
    return standardised_fusion(rankings, weights)


def _by_callers_own(
    fusion: Fusion, rankings: Sequence[Ranking]
) -> list[tuple[str, float]]:
    try:
        checked = [(key, float(score)) for key, score in fusion(rankings)]
    except Exception as error:
        raise ConfigurationError(f"`fusion` failed: {told(error)}") from error
    known = {key for ranking in rankings for key in ranking.keys}
    names = [key for key, _ in checked]
    if len(set(names)) < len(names) or not known.issuperset(names):
        raise ConfigurationError(
            "`fusion` must return keys of the rankings, each at most once"
        )
    if not all(isfinite(score) for _, score in checked):
        raise ConfigurationError("`fusion` must return finite scores")
    return checked
