"""Full text, passages or a cut: what is delivered of each document, and the flow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from langchain_ctxfetch._core.budget import (
    Fit,
    Rooms,
    Size,
    fit,
    is_hopeless,
    size_of,
    water_level,
)
from langchain_ctxfetch._core.desk import Desk, Item, Materials, Policy, Scale
from langchain_ctxfetch._core.excerpts import (
    MISSING,
    Excerpt,
    Material,
    held_passages,
    loose_text,
    whole_text,
)
from langchain_ctxfetch._core.fetching import Fetched, Wanted, divide, fetch
from langchain_ctxfetch._core.flow import Flow
from langchain_ctxfetch._core.hits import Gap, Passage
from langchain_ctxfetch._core.judging import judge, work
from langchain_ctxfetch._core.requests import Request
from langchain_ctxfetch._core.sentences import mostly_cjk

WORTH_WHOLE = 4
"""A document of at most so many times its share is asked whole, not in passages."""

SMALL = 20_000
"""Characters of a document that is asked whole whatever its share."""

LEAST_ROOM = 1_000
"""Characters of passages that are asked for at least, to choose sentences from."""

USEFUL = 120
"""Characters that a cut sentence must have left to be of use, half as many in CJK."""

LEAST = 12
"""Characters that the cut sentence of a document must have that stands alone."""

_SAMPLE = 2_000  # characters that show the tokens of a character

_Excerpts: TypeAlias = Flow[Request, Any, Sequence[Excerpt | None]]


@dataclass(frozen=True, slots=True)
class Compression:
    """Be the result of a compression.

    Attributes:
        excerpts: What is delivered of each document; None for one left out because
            nothing of it fits the budget.
        lengths: The characters of each stored text, where known.
        gaps: What was not delivered or not asked, and why.
    """

    excerpts: tuple[Excerpt | None, ...]
    lengths: tuple[int | None, ...]
    gaps: tuple[Gap, ...]


def compress(
    items: Sequence[Item], query: str, policy: Policy, scale: Scale
) -> Flow[Request, Any, Compression]:
    """Deliver of each document what the policy allows, in the order that came.

    Args:
        items: The documents.
        query: The question; a blank one asks for whole documents.
        policy: How much is delivered.
        scale: What measures a budget.

    Rounds:
        At most two rounds of requests to the store, then work and, where a document
        has no word of the question, vectors or scores of its passages.

    Returns:
        What is delivered.
    """
    share = math.inf
    if policy.max_tokens is not None and any(item.partial for item in items):
        share = yield from work(_SAMPLE, lambda: _share(items, policy, scale))
    fetched = yield from _fetch(items, query, policy, share)
    materials: Materials = [_material(item, fetched, policy) for item in items]
    gaps = list(fetched.gaps)
    desk = Desk(items, materials, query, policy, scale)
    if policy.max_tokens is None:
        excerpts = yield from _by_size(desk, gaps)
    else:
        excerpts = yield from _by_budget(desk, policy.max_tokens, gaps)
    lengths = tuple(
        item.length if material is None else material.length
        for item, material in zip(items, materials, strict=True)
    )
    return Compression(tuple(excerpts), lengths, tuple(gaps))


def name_of(item: Item, place: int) -> str:
    """Return what a gap calls a document: its id, else its place from 1."""
    return item.id or f"document {place}"


def _share(items: Sequence[Item], policy: Policy, scale: Scale) -> float:
    """Return the share of the budget of one document, in characters, about."""
    sample = max((item.text[:_SAMPLE] for item in items), key=len)
    tokens = scale.count(sample) / len(sample) if sample else 1.0
    lengths = [(item.length or 0) if item.partial else len(item.text) for item in items]
    return water_level(lengths, (policy.max_tokens or 0) / max(tokens, 1e-3))


def _fetch(
    items: Sequence[Item], query: str, policy: Policy, share: float
) -> Flow[Request, Any, Fetched]:
    lengths = {
        item.id: item.length
        for item in items
        if item.partial and item.id is not None and policy.fetches
    }
    if not query.strip():
        wanted = Wanted(tuple(lengths), (), query, 0)
    elif policy.max_tokens is None:
        parts = divide(lengths, lambda length: length <= policy.threshold)
        wanted = Wanted(*parts, query, policy.quoted)
    else:
        most = max(SMALL, WORTH_WHOLE * share)
        room = 0 if math.isinf(share) else max(LEAST_ROOM, round(share))
        wanted = Wanted(*divide(lengths, lambda length: length <= most), query, room)
    return (yield from fetch(wanted, policy.marks))


def _material(item: Item, fetched: Fetched, policy: Policy) -> Material | None:
    """Return what is at hand of a document; None where it is missing."""
    if not item.partial:
        return whole_text(item.text)
    if policy.fetches and item.id is not None:
        return fetched.materials.get(item.id)
    passages = _parted(item)
    if passages is None:
        return loose_text(item.text, item.length)
    return held_passages(passages, item.length, policy.marks)


def _parted(item: Item) -> list[Passage] | None:
    """Find the passages in a text that joins them; None where it does not."""
    between = len(item.text) - sum(end - start for start, end in item.spans)
    gaps = len(item.spans) - 1
    if gaps < 0 or between < 0 or (between % gaps if gaps else between):
        return None
    mark = between // gaps if gaps else 0
    passages, at = [], 0
    for start, end in item.spans:
        passages.append(Passage(start, end, item.text[at : at + end - start]))
        at += end - start + mark
    return passages


def _by_size(desk: Desk, gaps: list[Gap]) -> _Excerpts:
    rooms = {i: _room(desk, i) for i in range(len(desk.items))}
    tight = {i: room for i, room in rooms.items() if desk.length(i) > room}
    if tight:
        gaps += yield from judge(desk, tight)

    def deliver() -> list[Excerpt]:
        return [_sized(desk, i, room) for i, room in rooms.items()]

    return (yield from work(desk.size, deliver)) if tight else deliver()


def _room(desk: Desk, i: int) -> int:
    """Return the most characters of a document where there is no budget."""
    policy = desk.policy
    if _is_quoted(desk, i):
        return policy.quoted
    return desk.length(i) if policy.limit is None else policy.limit


def _is_quoted(desk: Desk, i: int) -> bool:
    """Tell whether a document that is in hand is to be quoted by its size."""
    item, policy = desk.items[i], desk.policy
    long = len(item.text) > policy.threshold
    return long and not item.partial and bool(desk.query.strip())


def _sized(desk: Desk, i: int, room: int) -> Excerpt:
    material = desk.materials[i]
    if material is None:
        return MISSING
    if desk.policy.limit is None and material.scored is None:
        # Nothing answers, and nothing may be cut.
        room = len(material.text)
    made = desk.excerpt(i, room)
    if (
        _is_quoted(desk, i)
        and made.strategy == "full"
        and desk.policy.limit is not None
    ):
        return made._replace(strategy="highlight")
    return made


def _by_budget(desk: Desk, limit: int, gaps: list[Gap]) -> _Excerpts:
    lengths = [desk.length(i) for i in range(len(desk.items))]

    def look() -> list[Size]:
        sizes = [_size(desk, i) for i in range(len(lengths))]
        fits = not is_hopeless(sizes, limit) and desk.weight(tuple(lengths)) <= limit
        return [] if fits else sizes

    sizes = yield from work(desk.size, look)
    if not sizes:
        return [desk.excerpt(i, length) for i, length in enumerate(lengths)]
    level = water_level([size.tokens for size in sizes], limit)
    rooms = {i: size.room(level) for i, size in enumerate(sizes)}
    tight = {i: room for i, room in rooms.items() if room < lengths[i]}
    gaps += yield from judge(desk, tight)

    def deliver() -> list[Excerpt | None]:
        better = [_measured(desk, i, size, rooms[i]) for i, size in enumerate(sizes)]
        found = _most_useful(desk, better, limit)
        if found is None:
            return [None] * len(lengths)
        return [
            None if room is None else desk.excerpt(i, room)
            for i, room in enumerate(found.rooms)
        ]

    excerpts: list[Excerpt | None] = yield from work(desk.size, deliver)
    for place, (item, made) in enumerate(zip(desk.items, excerpts, strict=True), 1):
        if made is None:
            reason = f"no room for it in a budget of {limit} tokens"
            gaps.append(Gap(name_of(item, place), "missing", reason))
    return excerpts


def _most_useful(desk: Desk, sizes: Sequence[Size], limit: int) -> Fit | None:
    """Fit as many documents as bring something of use, the first ones.

    A budget shared among too many would bring of each a few words that say nothing.
    Of the first document alone comes what fits.
    """
    found, low, high = None, 0, len(sizes) + 1
    kept = len(sizes)
    while high - low > 1:
        tried = _fit_first(desk, sizes[:kept], limit)
        if tried is not None and all(
            _is_useful(desk, i, room) for i, room in enumerate(tried.rooms)
        ):
            found, low = tried, kept
        else:
            high = kept
        kept = (low + high) // 2
    if found is None and sizes:
        alone = _fit_first(desk, sizes[:1], limit)
        if alone is not None and _is_useful(desk, 0, alone.rooms[0], least=LEAST):
            return alone
    return found


def _fit_first(desk: Desk, sizes: Sequence[Size], limit: int) -> Fit | None:
    """Fit the first documents into the budget, the others left out."""
    others: Rooms = (None,) * (len(desk.items) - len(sizes))
    made = fit(sizes, lambda rooms: desk.weight(rooms + others), limit)
    return None if made is None else Fit(made.rooms + others, made.tokens)


def _is_useful(desk: Desk, i: int, room: int | None, *, least: int = USEFUL) -> bool:
    """Tell whether a document brings whole sentences, or enough of one, if anything."""
    if room is None:
        return True
    made = desk.excerpt(i, room)
    if not made.cut:
        return bool(made.text.strip()) or not desk.length(i)
    return len(made.text) >= (least // 2 if mostly_cjk(made.text) else least)


def _size(desk: Desk, i: int) -> Size:
    material = desk.materials[i]
    return size_of("" if material is None else material.text, desk.scale.count)


def _measured(desk: Desk, i: int, size: Size, room: int) -> Size:
    """Estimate a size anew by the part that will be quoted, which is what counts."""
    if room >= size.length:
        return size
    quoted = desk.excerpt(i, room).text
    if not quoted:
        return size
    tokens = desk.scale.count(quoted) * size.length / len(quoted)
    return Size(size.length, tokens) if tokens > 0 else size
