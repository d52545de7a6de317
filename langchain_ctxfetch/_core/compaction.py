"""Making a context fit its budget: map, reduce, check, fit, after the plan.

Whatever a model does, the whole ends within its budget, for the last word has a fit
that measures, over forms that get as small as nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_ctxfetch._core.asks import Reply
from langchain_ctxfetch._core.budget import Count, Size, fit, size_of
from langchain_ctxfetch._core.flow import Flow, Outcome
from langchain_ctxfetch._core.judging import work
from langchain_ctxfetch._core.planning import (
    Measure,
    Planned,
    Settings,
    texts_of,
    too_large,
)
from langchain_ctxfetch._core.records import Record, remembered
from langchain_ctxfetch._core.shrinking import Form, Shrinking, left_out
from langchain_ctxfetch._core.summaries import Summarise, summarise


@dataclass(frozen=True, slots=True)
class Compaction:
    """Be the result.

    Attributes:
        forms: What stands for each part; None for one that is left out.
        note: Names what was left out, where there is room for that.
        after: The tokens of the whole.
        planned: What was planned.
        replies: What the model answered, and how asks failed.
    """

    forms: tuple[Form | None, ...]
    note: str
    after: int
    planned: Planned
    replies: tuple[Outcome[Reply], ...] = ()


def compact(
    planned: Planned, measure: Measure, settings: Settings
) -> Flow[Any, Any, Compaction]:
    """Reduce what was planned, so that the whole is within its budget.

    Args:
        planned: What `plan` returned.
        measure: Counts the tokens of the whole.
        settings: What is wanted.

    Rounds:
        The calls, work, and the records.

    Returns:
        What stands for each part.
    """
    size = sum(len(shrinking.part.text) for shrinking in planned.parts)
    if planned.done:
        if not planned.reused:
            forms = tuple(shrinking.held for shrinking in planned.parts)
            made = Compaction(forms, "", planned.before, planned)
            return made
        standing = [shrinking.held for shrinking in planned.parts]
        made = yield from work(
            size, lambda: _noted(planned, standing, measure, settings.limit)
        )
        return made
    replies = yield from _ask(planned, settings)
    made, rooms = yield from work(size, lambda: _fitted(planned, measure, settings))
    records = [
        _record(form, shrinking, room)
        for form, shrinking, room in zip(made.forms, planned.parts, rooms, strict=True)
    ]
    parts = [shrinking.part for shrinking in planned.parts]
    _ = yield from remembered(parts, records, settings.shape, planned.gaps)
    made = Compaction(made.forms, made.note, made.after, planned, tuple(replies))
    return made


def _ask(
    planned: Planned, settings: Settings
) -> Flow[Summarise, Reply, list[Outcome[Reply]]]:
    """Have the summaries written."""
    if settings.caller is None or not planned.jobs:
        return []
    replies = yield from summarise(list(planned.jobs.values()), settings.caller)
    for i, job in planned.jobs.items():
        shrinking = planned.parts[i]
        shrinking.why = job.why
        if job.reply is not None:
            shrinking.replied(job.reply, finished=job.finished, target=job.tokens)
    return replies


def _summarise(planned: Planned, count: Count) -> None:
    """Let summaries stand in the place of what is too large."""
    for i in too_large(planned):
        shrinking, size = planned.parts[i], planned.sizes[i]
        if shrinking.reply is not None:
            shrinking.summarise(size.room(max(planned.level, size.floor)))
            if shrinking.held is not None and shrinking.held.how == "summary":
                made = size_of(shrinking.held.text, count)
                planned.sizes[i] = Size(made.length, made.tokens, 1.0, size.floor)


def _fitted(
    planned: Planned, measure: Measure, settings: Settings
) -> tuple[Compaction, list[int]]:
    """Find the largest forms that fit, the parts of the least priority going first."""
    _summarise(planned, settings.count)
    order = sorted(
        range(len(planned.parts)),
        key=lambda i: (-planned.parts[i].part.priority, i),
    )

    def forms_at(rooms: Sequence[int | None]) -> list[Form | None]:
        forms: list[Form | None] = [None] * len(order)
        for i, room in zip(order, rooms, strict=True):
            forms[i] = None if room is None else planned.parts[i].at(room)
        return forms

    def weigh(rooms: Sequence[int | None]) -> int:
        return measure(texts_of(forms_at(rooms)), "")

    def weigh_noted(rooms: Sequence[int | None]) -> int:
        forms = forms_at(rooms)
        return measure(texts_of(forms), _note(planned, forms))

    sizes = [planned.sizes[i] for i in order]
    found = (
        fit(sizes, weigh_noted, planned.goal)
        or fit(sizes, weigh, planned.goal)
        or fit(sizes, weigh, settings.limit)
    )
    # Nothing at all was measured to fit, before any call.
    rooms = [None] * len(order) if found is None else list(found.rooms)
    made = _noted(planned, forms_at(rooms), measure, settings.limit)
    given = [0] * len(order)
    for i, room in zip(order, rooms, strict=True):
        given[i] = room or 0
    return made, given


def _note(planned: Planned, forms: Sequence[Form | None]) -> str:
    names = [
        shrinking.part.source
        for shrinking, form in zip(planned.parts, forms, strict=True)
        if form is None
    ]
    return left_out(names) if names else ""


def _noted(
    planned: Planned, forms: Sequence[Form | None], measure: Measure, limit: int
) -> Compaction:
    """Name what is left out in one line, where there is room for that."""
    bodies = texts_of(forms)
    if note := _note(planned, forms):
        after = measure(bodies, note)
        if after <= max(planned.goal, 0) or (planned.done and after <= limit):
            return Compaction(tuple(forms), note, after, planned)
    return Compaction(tuple(forms), "", measure(bodies, ""), planned)


def _record(form: Form | None, shrinking: Shrinking, room: int) -> Record | None:
    """Return what is kept for the next time; None where the part stands as it came."""
    if form is not None and form.text == shrinking.part.text:
        return None
    return Record(
        None if form is None else form.text,
        "removed" if form is None else form.how,
        shrinking.room if form is shrinking.held else room,
        shrinking.reply,
        shrinking.finished,
        shrinking.target,
    )
