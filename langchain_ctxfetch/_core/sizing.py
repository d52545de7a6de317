"""Reducing by size alone: what is long is summarised, without a budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_ctxfetch._core.asks import Reply
from langchain_ctxfetch._core.budget import size_of
from langchain_ctxfetch._core.checking import as_it_is
from langchain_ctxfetch._core.compaction import Compaction
from langchain_ctxfetch._core.flow import Failed, Flow, Outcome
from langchain_ctxfetch._core.hits import Gap, told
from langchain_ctxfetch._core.planning import Measure, Planned, Settings
from langchain_ctxfetch._core.shrinking import Form, Part, Reader, Shrinking
from langchain_ctxfetch._core.summaries import Job, Summarise
from langchain_ctxfetch._core.text import floor_boundary
from langchain_ctxfetch.errors import ConfigurationError

SUMMARIZED = "[SUMMARIZED]\n"
TRUNCATED = "\n[TRUNCATED]"

_SHARE = 0.1  # of the text, that a summary is asked to have


@dataclass(frozen=True, slots=True)
class SizeRule:
    """Say which blocks are summarised by their size.

    Attributes:
        min_chars: Those whose body is as long or longer.
        max_chars: The most characters of a body that the model reads.
        failure_gate: Where a smaller share of the summaries succeeds, nothing is
            changed.
    """

    min_chars: int = 50_000
    max_chars: int = 500_000
    failure_gate: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what makes no sense."""
        if not 0 <= self.min_chars <= self.max_chars:
            raise ConfigurationError("`max_chars` must be at least `min_chars`")
        if not 0 <= self.failure_gate <= 1:
            raise ConfigurationError("`failure_gate` must be from 0 to 1")


def plan_by_size(
    parts: Sequence[Part], before: int, rule: SizeRule, settings: Settings
) -> Planned:
    """Say which parts are long, and what the model will be asked about them.

    Args:
        parts: What may be reduced.
        before: The tokens of the whole as it is.
        rule: Which parts are summarised.
        settings: How parts are read.

    Returns:
        The plan; it is done where no part is long.
    """
    held = [Shrinking(part, settings.reader) for part in parts]
    sizes = [size_of(part.text, settings.count) for part in parts]
    jobs = {
        i: Job(part, ask.tokens, [ask], planned=1)
        for i, part in enumerate(parts)
        # A summary is not summarised again.
        if len(part.text) >= rule.min_chars and not part.text.startswith(SUMMARIZED)
        for ask in [_ask(part, sizes[i].tokens, rule)]
    }
    return Planned(before, before, parts=held, jobs=jobs, sizes=sizes, done=not jobs)


def by_size(
    planned: Planned, measure: Measure, rule: SizeRule, settings: Settings
) -> Flow[Any, Any, Compaction]:
    """Summarise what is long, unless too many of the summaries fail.

    Args:
        planned: What `plan_by_size` returned.
        measure: Counts the tokens of the whole.
        rule: How many may fail.
        settings: How parts are read.

    Rounds:
        The calls, if any.

    Returns:
        What stands for each part.
    """
    forms: list[Form | None] = [
        Form(shrinking.part.text, "kept") for shrinking in planned.parts
    ]
    if planned.done:
        return Compaction(tuple(forms), "", planned.before, planned)
    asks = [ask for job in planned.jobs.values() for ask in job.asks]
    replies: Sequence[Outcome[Reply]] = yield asks
    made = {
        i: form
        for i, outcome in zip(planned.jobs, replies, strict=True)
        if (form := _summary(planned.parts[i], outcome, settings.reader)) is not None
    }
    if len(made) < rule.failure_gate * len(planned.jobs):
        reason = f"{len(made)} of {len(planned.jobs)} summaries could be used"
        planned.gaps.append(Gap("summaries", "missing", reason))
        made = {}
    for i, form in made.items():
        forms[i] = form
    after = planned.before
    if made:
        after = measure([form.text for form in forms if form], "")
    return Compaction(tuple(forms), "", after, planned, tuple(replies))


def _ask(part: Part, tokens: float, rule: SizeRule) -> Summarise:
    text = part.text
    if len(text) > rule.max_chars:
        text = text[: floor_boundary(text, rule.max_chars)] + TRUNCATED
    return Summarise(part, text, max(1, int(tokens * _SHARE)))


def _summary(
    shrinking: Shrinking, outcome: Outcome[Reply], reader: Reader
) -> Form | None:
    """Return the summary where it can be used as it is; else None, noting why."""
    if isinstance(outcome, Failed):
        shrinking.why = told(outcome.error)
        return None
    source = shrinking.part.text
    text, why = as_it_is(outcome.value.text, source, finished=outcome.value.finished)
    made = SUMMARIZED + reader.tame(text)
    if not why and len(made) >= len(source):
        why = "the summary is no shorter than the text"
    shrinking.why = why
    return None if why else Form(made, "summary")


def followed(first: Compaction, second: Compaction) -> Compaction:
    """Return what stands after two compactions, the second of what the first left."""
    forms = tuple(
        before if after is not None and before and after.text == before.text else after
        for before, after in zip(first.forms, second.forms, strict=True)
    )
    planned = replace(first.planned, goal=second.planned.goal)
    planned.gaps.extend(second.planned.gaps)
    return Compaction(forms, second.note, second.after, planned, first.replies)
