"""Bring the texts of a page: whole documents or their best passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_ctxfetch._core.flow import Flow, Ok, Outcome
from langchain_ctxfetch._core.hits import Gap, Hit, Passage, told
from langchain_ctxfetch._core.plan import Ask, Fetch, Placed, Plan
from langchain_ctxfetch._core.text import GAP_MARK
from langchain_ctxfetch.errors import StoreError


def with_text(
    plan: Plan, placed: Sequence[Placed]
) -> Flow[Ask, list[Hit], tuple[tuple[Placed, ...], list[Gap]]]:
    """Ask the stores once for the texts that are missing.

    Args:
        plan: What is wanted.
        placed: The documents of the page.

    Rounds:
        One round with a fetch for each store, where anything is missing.

    Returns:
        The documents with their texts, and a gap for each that has gone.

    Raises:
        StoreError: If the only store brought nothing, or the plan is strict.
    """
    fetches = _fetches(plan, placed)
    outcomes = (yield fetches) if fetches else ()
    brought: dict[tuple[int, str], Hit] = {}
    gaps: list[Gap] = []
    for fetch, outcome in zip(fetches, outcomes, strict=True):
        hits, missing = _brought(plan, fetch, outcome)
        missing += _changed(fetch, placed, hits)
        brought.update(((fetch.store, hit.id), hit) for hit in hits if hit.id)
        gaps += missing
    gaps += [
        Gap(place.hit.id or "document", "missing", "its channel brought no text")
        for place in placed
        if place.store is None and place.hit.text is None
    ]
    delivered = [_delivered(plan, place, brought) for place in placed]
    return tuple(place for place in delivered if place is not None), gaps


def _fetches(plan: Plan, placed: Sequence[Placed]) -> list[Fetch]:
    wanted: dict[int, list[str]] = {}
    for place in placed:
        if place.store is not None and place.hit.id and not _istold(plan, place.hit):
            wanted.setdefault(place.store, []).append(place.hit.id)
    return [Fetch(store, tuple(ids)) for store, ids in wanted.items()]


def _istold(plan: Plan, hit: Hit) -> bool:
    if plan.content == "passages" and hit.passages:
        return all(passage.text is not None for passage in hit.passages)
    return hit.text is not None


def _brought(
    plan: Plan, fetch: Fetch, outcome: Outcome[list[Hit]]
) -> tuple[list[Hit], list[Gap]]:
    if isinstance(outcome, Ok):
        there = {hit.id for hit in outcome.value}
        gone = "it was removed while the page was being made"
        lost = [name for name in fetch.ids if name not in there]
        return outcome.value, [Gap(name, "missing", gone) for name in lost]
    name, error = plan.sources[fetch.store].name, outcome.error
    if plan.strict or all(source.store == fetch.store for source in plan.sources):
        raise StoreError(
            f"the store of {name} brought no text: {told(error)}",
            store=name,
            errors=[error],
        ) from error
    return [], [Gap(lost, "missing", told(error)) for lost in fetch.ids]


def _changed(fetch: Fetch, placed: Sequence[Placed], hits: Sequence[Hit]) -> list[Gap]:
    """Name the documents whose text is another one than that which was searched."""
    lengths = {
        place.hit.id: place.hit.length for place in placed if place.store == fetch.store
    }
    changed = "it was changed while the page was being made: its passages are unknown"
    return [
        Gap(hit.id or "document", "missing", changed)
        for hit in hits
        if _is_other(hit, lengths.get(hit.id))
    ]


def _is_other(stored: Hit, length: int | None) -> bool:
    return length is not None and len(stored.text or "") != length


def _delivered(
    plan: Plan, place: Placed, brought: Mapping[tuple[int, str], Hit]
) -> Placed | None:
    hit = place.hit
    if place.store is None and hit.text is None:
        return None
    if place.store is not None and not _istold(plan, hit):
        whole = brought.get((place.store, hit.id or ""))
        if whole is None:
            return None
        passages = () if _is_other(whole, hit.length) else hit.passages
        hit = replace(
            whole, score=hit.score, passages=passages, length=len(whole.text or "")
        )
    if plan.content == "document" or place.store is None or not hit.passages:
        return replace(place, hit=hit)
    joined = _joined(hit)
    text = GAP_MARK.join(passage.text or "" for passage in joined)
    return replace(
        place, hit=replace(hit, text=text, passages=joined), content="passages"
    )


def _joined(hit: Hit) -> tuple[Passage, ...]:
    """Put the passages in reading order, each with its text, neighbours as one."""
    joined: list[Passage] = []
    for passage in sorted(hit.passages):
        text = passage.text
        if text is None:
            text = (hit.text or "")[passage.start : passage.end]
        if joined and passage.start <= joined[-1].end:
            before = joined.pop()
            more = text[max(0, before.end - passage.start) :]
            end = max(before.end, passage.end)
            joined.append(Passage(before.start, end, f"{before.text}{more}"))
        else:
            joined.append(Passage(passage.start, passage.end, text))
    return tuple(joined)
