"""The flow that finds one page: ask the channels, fuse, cut, bring the text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from langchain_ctxfetch._core.delivery import with_text
from langchain_ctxfetch._core.flow import Failed, Flow, Outcome
from langchain_ctxfetch._core.hits import Gap, Hit, told
from langchain_ctxfetch._core.paging import Page, check_page, cut, take_turns, window
from langchain_ctxfetch._core.plan import Ask, Placed, Plan, Search, Source
from langchain_ctxfetch._core.ranked import Copy, Found, by_scores, by_turns, distinct
from langchain_ctxfetch.errors import ConfigurationError, StoreError

DEEPEST = 8
"""How many windows a channel is asked for before its ranking counts as cut off."""
MOST_PASSAGES = 3


@dataclass(slots=True)
class _Heard:
    """What one channel has answered so far; open while it may hold more."""

    error: Exception | None = None
    open: bool = True
    emptied: bool = False
    depth: int = 0
    hits: list[Hit] = field(default_factory=list)
    extra: list[Hit] = field(default_factory=list)


def find_page(plan: Plan) -> Flow[Ask, list[Hit], Page[Placed]]:
    """Find the page that *plan* describes.

    Args:
        plan: What is wanted.

    Rounds:
        Rounds of searches, then one of fetches where text is still missing.

    Returns:
        The page, best first.

    Raises:
        PageError: If the page is out of range.
        StoreError: If no channel answered, or one failed and the plan is strict.
    """
    check_page(plan.page, plan.k, plan.max_window)
    heard = [
        _Heard(source.refusal, open=source.refusal is None) for source in plan.sources
    ]
    if plan.fusion == "round_robin":
        found = yield from _by_growing_window(plan, heard)
    else:
        found = yield from _by_full_window(plan, heard)
    page = cut(
        found.places,
        plan.page,
        plan.k,
        max_window=plan.max_window,
        capped=found.capped,
    )
    placed = [_placed(plan, found, key, score) for key, score in page.documents]
    delivered, missing = yield from with_text(plan, placed)
    gaps = (*_unheard(plan, heard), *missing)
    return Page(delivered, page.page, page.k, page.last_page, page.end, gaps)


# --- Asking the channels ---


def _by_growing_window(plan: Plan, heard: list[_Heard]) -> Flow[Ask, list[Hit], Found]:
    """Ask just deep enough for the page; deeper where duplicates make it short."""
    wanted = window(plan.page, plan.k)
    deepest = DEEPEST * plan.widest
    depth = wanted
    while True:
        yield from _ask(plan, heard, [depth] * len(heard))
        hits = [_usable(plan, at, channel) for at, channel in enumerate(heard)]
        # Beyond the shortest open channel nobody knows whose turn it would be.
        rows = min(
            (
                len(held)
                for held, channel in zip(hits, heard, strict=True)
                if channel.open
            ),
            default=None,
        )
        found = by_turns(hits, rows=rows, key=plan.key)
        if len(found.places) >= wanted or not any(channel.open for channel in heard):
            return found
        if depth >= deepest or not _can_go_deeper(plan, heard):
            return replace(found, capped=True)
        depth = min(deepest, 2 * depth)


def _by_full_window(plan: Plan, heard: list[_Heard]) -> Flow[Ask, list[Hit], Found]:
    """Ask every channel for the whole window whatever the page, then fuse once.

    A window that grew with the page would reorder what earlier pages showed.
    """
    depths = [plan.widest] * len(heard)
    hits: list[list[Hit]] = []
    while (yield from _ask(plan, heard, depths)):
        hits = [_usable(plan, at, channel) for at, channel in enumerate(heard)]
        depths = [
            _deeper(plan, channel, len(held))
            for channel, held in zip(heard, distinct(hits, key=plan.key), strict=True)
        ]
    found = by_scores(
        [(source.name, source.weight) for source in plan.sources],
        hits,
        [channel.extra for channel in heard],
        [
            source.store is not None and not channel.open and channel.error is None
            for source, channel in zip(plan.sources, heard, strict=True)
        ],
        fusion=plan.fusion,
        widest=plan.widest,
        key=plan.key,
    )
    return replace(found, capped=any(channel.open for channel in heard))


def _deeper(plan: Plan, channel: _Heard, held: int) -> int:
    """Return how deep to ask next where duplicates left fewer than the window."""
    if not channel.open or held >= plan.widest:
        return channel.depth
    return min(DEEPEST * plan.widest, 2 * channel.depth)


def _ask(
    plan: Plan, heard: list[_Heard], depths: Sequence[int]
) -> Flow[Ask, list[Hit], bool]:
    """Ask the open channels that may be asked deeper; tell whether there are any."""
    searches = [
        Search(at, depth, complete=plan.fusion == "weighted")
        for at, (source, channel) in enumerate(zip(plan.sources, heard, strict=True))
        if channel.open and (depth := _within(source, depths[at])) > channel.depth
    ]
    if searches:
        outcomes = yield searches
        for search, outcome in zip(searches, outcomes, strict=True):
            _hear(heard[search.channel], plan.sources[search.channel], search, outcome)
    _raise_if_unanswered(plan, heard)
    return bool(searches)


def _hear(
    channel: _Heard, source: Source, search: Search, outcome: Outcome[list[Hit]]
) -> None:
    if isinstance(outcome, Failed):
        # What it answered before stands: the gap says that it is a part.
        channel.error, channel.open = outcome.error, False
        return
    channel.depth = search.depth
    channel.hits = outcome.value[: search.depth]
    channel.extra = outcome.value[search.depth :] if search.complete else []
    channel.open = len(channel.hits) == search.depth
    if source.floor is not None:
        _cut_at_floor(channel, source.floor)


def _cut_at_floor(channel: _Heard, floor: float) -> None:
    """End a ranking at its first hit below the floor, so that it stays a beginning."""
    found = len(channel.hits)
    channel.hits = list(
        takewhile(
            lambda hit: hit.score is not None and hit.score >= floor, channel.hits
        )
    )
    channel.emptied = found > 0 and not channel.hits
    channel.open = channel.open and len(channel.hits) == found


def _within(source: Source, depth: int) -> int:
    return depth if source.max_depth is None else min(depth, source.max_depth)


def _can_go_deeper(plan: Plan, heard: list[_Heard]) -> bool:
    return any(
        channel.open and source.max_depth != channel.depth
        for source, channel in zip(plan.sources, heard, strict=True)
    )


def _usable(plan: Plan, at: int, channel: _Heard) -> list[Hit]:
    """Leave out hits of blank text, and foreign ones outside the filter."""
    return [
        hit
        for hit in channel.hits
        if (hit.text is None or hit.text.strip())
        and (plan.sources[at].store is not None or plan.accepts(hit))
    ]


def _raise_if_unanswered(plan: Plan, heard: list[_Heard]) -> None:
    errors = [channel.error for channel in heard if channel.error is not None]
    if not errors:
        return
    silent = all(channel.error and not channel.depth for channel in heard)
    if not silent and not plan.strict:
        return
    first = errors[0]
    if isinstance(first, ConfigurationError):
        raise first
    names = ", ".join(
        source.name
        for source, channel in zip(plan.sources, heard, strict=True)
        if channel.error is not None
    )
    raise StoreError(
        f"no answer from {names}: {told(first)}", store=names, errors=errors[::-1]
    ) from first


def _unheard(plan: Plan, heard: list[_Heard]) -> list[Gap]:
    return [
        Gap(
            source.name,
            "partly_searched" if channel.depth else "not_searched",
            told(channel.error),
        )
        for source, channel in zip(plan.sources, heard, strict=True)
        if channel.error is not None
    ] + [
        Gap(source.name, "partly_searched", f"no hit reaches its floor {source.floor}")
        for source, channel in zip(plan.sources, heard, strict=True)
        if channel.emptied
    ]


# --- Placing a document ---


def _is_textless(plan: Plan, copy: Copy) -> bool:
    """Say whether nobody can bring the text of a copy."""
    return copy.hit.text is None and plan.sources[copy.channel].store is None


def _placed(plan: Plan, found: Found, key: str, score: float) -> Placed:
    copies = found.copies(key)
    best = min(
        copies,
        key=lambda copy: (
            _is_textless(plan, copy),
            copy.rank,
            -len(copy.hit.text or ""),
            copy.hit.text or "",
        ),
    )
    channels = {
        plan.sources[copy.channel].name: (copy.rank, copy.hit.score) for copy in copies
    }
    passages = take_turns(
        [copy.hit.passages for copy in sorted(copies, key=lambda copy: copy.rank)],
        key=lambda passage: f"{passage.start}-{passage.end}",
        places=MOST_PASSAGES,
    )
    hit = replace(best.hit, passages=tuple(sorted(passages)))
    return Placed(hit, score, channels, plan.sources[best.channel].store)
