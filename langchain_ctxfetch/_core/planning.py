"""The plan of a compaction: which parts, to what size, with how many calls at most.

What has been reduced once is recorded: while the whole stays within its budget, the
same text stands there again. Over it, the beginning stands as long as it can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from langchain_ctxfetch._core.budget import Count, Size, size_of, water_level
from langchain_ctxfetch._core.flow import Flow
from langchain_ctxfetch._core.hits import Gap
from langchain_ctxfetch._core.judging import work
from langchain_ctxfetch._core.records import Record, Shape, recalled
from langchain_ctxfetch._core.shrinking import Form, Part, Reader, Shrinking
from langchain_ctxfetch._core.summaries import Caller, Job
from langchain_ctxfetch.errors import BudgetError

LADDER = 0.9
"""Each target of a summary is so many times the next greater one."""

PATIENCE = 2.0
"""What was made for so much less room than there is says too little there."""

STEP = 0.5
"""What was reduced before is reduced again in steps, each so many times the last."""

STEADY = 0.5
"""What is new keeps so much of a step, where what was reduced before stands."""

SPARE = 0.9
"""So much of the goal is filled again where there are reductions to keep."""

_MOST_SETTLED = 3  # tries
_LEAST_SUMMARY = 24  # tokens; what may be no longer is not asked of a model

Bodies: TypeAlias = Sequence[str | None]
"""The text of each part; None for one that is left out."""

Measure: TypeAlias = Callable[[Bodies, str], int]
"""Counts the whole with these bodies and a note of what was left out."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Say what is wanted.

    Attributes:
        limit: The most tokens of the whole.
        compact_to: What a whole over the limit is brought down to, as a share of it.
        count: Counts the tokens of a text.
        reader: How parts are read.
        shape: What shapes a reduction beside the part.
        caller: What a call to the model may be; None where there is no model.
    """

    limit: int
    compact_to: float
    count: Count
    reader: Reader
    shape: Shape
    caller: Caller | None = None


@dataclass(slots=True)
class Planned:
    """Be a compaction that is about to begin.

    Attributes:
        before: The tokens of the whole as it came.
        goal: What it is brought down to, in tokens.
        bare: The tokens of what may not be reduced.
        level: The tokens of the largest part after it, about.
        parts: The parts, as they shrink.
        jobs: What a model is asked, by the number of the part.
        sizes: How large each part is now.
        reused: Which parts were reduced before.
        done: Whether nothing more has to be reduced.
        gaps: What could not be done.
    """

    before: int
    goal: int
    bare: int = 0
    level: float = math.inf
    parts: list[Shrinking] = field(default_factory=list)
    jobs: dict[int, Job] = field(default_factory=dict)
    sizes: list[Size] = field(default_factory=list)
    reused: frozenset[int] = frozenset()
    done: bool = True
    gaps: list[Gap] = field(default_factory=list)

    @property
    def asks(self) -> int:
        """Return how many asks there may be, retries not counted."""
        return sum(job.planned for job in self.jobs.values())


def plan(
    parts: Sequence[Part], before: int, measure: Measure, settings: Settings
) -> Flow[Any, Any, Planned]:
    """Say what will be reduced to what size, and how many calls that takes at most.

    Args:
        parts: What may be reduced.
        before: The tokens of the whole as it is.
        measure: Counts the tokens of the whole.
        settings: What is wanted.

    Rounds:
        The records, and work.

    Returns:
        The plan; it is done where nothing need be reduced.

    Raises:
        BudgetError: If what may not be reduced is over the budget alone.
    """
    held = [Shrinking(part, settings.reader) for part in parts]
    if before <= settings.limit:
        planned = Planned(before, settings.limit, parts=held)
        return planned
    size = sum(len(part.text) for part in parts)
    bare = yield from bare_tokens(parts, measure, settings.limit)
    planned = Planned(before, _goal(bare, settings), bare, parts=held, done=False)
    records = yield from recalled(parts, settings.shape, planned.gaps)
    planned = yield from work(size, lambda: _plan(planned, records, measure, settings))
    return planned


def bare_tokens(
    parts: Sequence[Part], measure: Measure, limit: int
) -> Flow[Any, Any, int]:
    """Count what may not be reduced.

    Args:
        parts: What may be reduced.
        measure: Counts the tokens of the whole.
        limit: The most tokens of the whole.

    Rounds:
        Work.

    Returns:
        The tokens.

    Raises:
        BudgetError: If they are over the budget alone.
    """
    size = sum(len(part.text) for part in parts)
    bare = yield from work(size, lambda: measure([None] * len(parts), ""))
    if bare > limit:
        raise BudgetError(
            f"what may not be reduced has {bare:,} tokens, the budget is "
            f"{limit:,}; raise `max_tokens`, or put what may be reduced into "
            "a block such as <context>…</context>",
            limit=limit,
            needed=bare,
        )
    return bare


def _goal(bare: int, settings: Settings) -> int:
    """Return what to bring the whole down to.

    Where what may not be reduced takes most of the budget, half of what is free may
    stay.
    """
    limit = settings.limit
    return int(max(settings.compact_to * limit, min(limit, (bare + limit) / 2)))


def _plan(
    planned: Planned,
    records: Sequence[Record | None],
    measure: Measure,
    settings: Settings,
) -> Planned:
    """Reuse what is recorded where that is enough, else plan what is reduced."""
    room = planned.goal - planned.bare
    sizes = [
        size_of(shrinking.part.text, settings.count) for shrinking in planned.parts
    ]
    reused = _recorded(planned, records)
    if reused:
        after = measure(texts_of([held.held for held in planned.parts]), "")
        if after * PATIENCE < planned.goal:
            # What was made for a much smaller room says too little here.
            fair = water_level([size.tokens for size in sizes], room)
            reused = _forget(planned, reused, [size.room(fair) for size in sizes])
            after = measure(texts_of([held.held for held in planned.parts]), "")
        if reused and after <= settings.limit:
            planned.reused, planned.done = frozenset(reused), True
            return planned
    if reused:
        planned.goal = max(planned.bare, int(planned.goal * SPARE))
    planned.reused = frozenset(reused)
    empty = [None if held.held is None else "" for held in planned.parts]
    room = max(0, planned.goal - measure(empty, ""))
    planned.sizes = [
        Size(0, 0.0)
        if shrinking.held is None
        else replace(size, floor=float(shrinking.part.floor))
        for shrinking, size in zip(planned.parts, sizes, strict=True)
    ]
    top = _settle(planned, room, settings) if reused else float(max(room, 1))
    planned.level = _level(planned.sizes, room, top)
    if settings.caller is not None:
        planned.jobs = _jobs(planned, settings.caller)
    return planned


def _settle(planned: Planned, room: float, settings: Settings) -> float:
    """Let what was reduced stand, up to what is new and large; return the top level.

    What a provider has cached of a prompt ends at the first change. So what stands
    at the beginning is reduced again in great steps, all of it at once, and what is
    behind has the room that this leaves, up to the step before.
    """
    sizes = planned.sizes
    held = {
        i: held_size(planned.parts[i], settings.count)
        for i in planned.reused
        if planned.parts[i].held is not None
    }
    wants = [held.get(i, size).tokens for i, size in enumerate(sizes)]
    step = float(settings.limit)
    while step > 1 and room < sum(
        min(want, step if i in held else step * STEADY) for i, want in enumerate(wants)
    ):
        step *= STEP
    most = step / STEP
    settled = True
    for i, size in enumerate(sizes):
        settled = settled and (i in planned.reused or wants[i] <= step * STEADY)
        if i in held and settled:
            sizes[i] = _stands(planned.parts[i], size, step, settings.count)
            continue
        if i in held:
            planned.parts[i].stand()
        if size.tokens > most:
            sizes[i] = replace(size, length=size.room(most), tokens=most)
    return min(most * LADDER, max(room, 1))


def _stands(shrinking: Shrinking, size: Size, step: float, count: Count) -> Size:
    """Let a reduction stand that is within a step, and make one that is."""
    made = held_size(shrinking, count)
    step, room = max(step, size.floor), size.room(step)
    for _ in range(_MOST_SETTLED):
        # What is reduced may be denser than its text.
        if made.tokens <= step:
            break
        shrinking.settle(room)
        made = held_size(shrinking, count)
        room = int(room * step / max(made.tokens, step))
    patience = max(1.0, made.tokens / (step * STEADY * LADDER))
    return replace(made, patience=patience, floor=size.floor)


def held_size(shrinking: Shrinking, count: Count) -> Size:
    """Say how large a part is as it stands now."""
    return size_of("" if shrinking.held is None else shrinking.held.text, count)


def _recorded(planned: Planned, records: Sequence[Record | None]) -> dict[int, Record]:
    """Let each part that was reduced before stand as it then did."""
    for shrinking, record in zip(planned.parts, records, strict=True):
        if record is not None:
            shrinking.replied(
                record.reply, finished=record.finished, target=record.target
            )
            shrinking.recall(record.form(), record.room)
    return {i: record for i, record in enumerate(records) if record is not None}


def _forget(
    planned: Planned, reused: dict[int, Record], rooms: Sequence[int]
) -> dict[int, Record]:
    """Let the parts stand whole again that had much less room than they may have."""
    kept = {
        i: record
        for i, record in reused.items()
        if record.text is None or PATIENCE * record.room >= rooms[i]
    }
    for i in reused.keys() - kept.keys():
        planned.parts[i].stand()
    return kept


def _level(sizes: Sequence[Size], room: float, top: float) -> float:
    """Return the greatest step of the ladder at which all parts are within *room*."""
    level = top
    while level > 1 and room < sum(
        size.tokens * size.room(level) / size.length for size in sizes if size.length
    ):
        level *= LADDER
    return level


def _jobs(planned: Planned, caller: Caller) -> dict[int, Job]:
    """Plan a summary of each part that is too large and has none for such a room."""
    jobs: dict[int, Job] = {}
    for i in too_large(planned):
        shrinking = planned.parts[i]
        target = int(max(planned.level, planned.sizes[i].floor))
        known = shrinking.reply is not None and PATIENCE * shrinking.target >= target
        if not known and target >= _LEAST_SUMMARY:
            job = Job(shrinking.part, target)
            job.begin(caller)
            if job.asks:
                jobs[i] = job
    return jobs


def too_large(planned: Planned) -> list[int]:
    """Return which parts are over the level, and were not reduced before."""
    return [
        i
        for i, size in enumerate(planned.sizes)
        if i not in planned.reused and size.tokens > max(planned.level, size.floor)
    ]


def texts_of(forms: Sequence[Form | None]) -> list[str | None]:
    """Return the text of each form; None where a part is left out."""
    return [None if form is None else form.text for form in forms]
