"""One compaction: what came is planned, reduced, put together, and told.

What it asks on the way is answered by a model, a cache, or its own work.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, assert_never

from langchain_core.stores import BaseStore

from langchain_ctxfetch._core.asks import Ask, Reply
from langchain_ctxfetch._core.blocks import Block
from langchain_ctxfetch._core.compaction import Compaction, compact
from langchain_ctxfetch._core.flow import Failed, Flow, Outcome
from langchain_ctxfetch._core.hits import Gap
from langchain_ctxfetch._core.planning import (
    Planned,
    Settings,
    bare_tokens,
    held_size,
    plan,
    texts_of,
)
from langchain_ctxfetch._core.records import Recall, Remember
from langchain_ctxfetch._core.requests import Work
from langchain_ctxfetch._core.shrinking import Part
from langchain_ctxfetch._core.sizing import SizeRule, by_size, followed, plan_by_size
from langchain_ctxfetch._core.summaries import Summarise
from langchain_ctxfetch._divided import Content
from langchain_ctxfetch._models import ModelCalls
from langchain_ctxfetch._prompts import Prompts
from langchain_ctxfetch._reports import (
    BlockReport,
    CompactionPlan,
    CompactionReport,
    PlannedBlock,
)
from langchain_ctxfetch._rounds import Job, aanswer_each, answer_each, run_blocking
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import TokenCounter

_logger = logging.getLogger("langchain_ctxfetch")


class Compacted(NamedTuple):
    """Be the result of `ContextCompactor.compact`.

    Attributes:
        content: What came, of the same type, within its budget.
        report: What was done.
    """

    content: Any
    report: CompactionReport


def held_in(given: object, input_key: str | None) -> object:
    """Return the context itself, out of the dict where it stands in one.

    Args:
        given: What a compactor was called with.
        input_key: The key of a dict under which the context stands.

    Returns:
        What is to fit.

    Raises:
        ConfigurationError: If there is a dict and no such key.
    """
    if not isinstance(given, Mapping):
        return given
    if input_key is None:
        raise ConfigurationError("`input_key` must name where in the dict the text is")
    if input_key not in given:
        raise ConfigurationError(
            f"the input has no key {input_key!r}, which `input_key` names; it has "
            f"{', '.join(map(repr, given)) or 'none'}"
        )
    return given[input_key]


@dataclass(frozen=True, slots=True)
class Case:
    """Be one call of a compactor.

    Attributes:
        given: What it was called with.
        input_key: The key of a dict under which the context stands.
        limit: The budget, as the caller set it.
        content: The context, divided.
        counter: Counts its tokens.
        settings: What is wanted.
        prompts: Writes what the model is asked.
        size_rule: Says what is reduced in the place of a budget, if anything does.
    """

    given: Any
    input_key: str | None
    limit: int | None
    content: Content[Any]
    counter: TokenCounter
    settings: Settings
    prompts: Prompts
    size_rule: SizeRule | None = None

    def measure(self, bodies: Sequence[str | None], note: str) -> int:
        """Return the tokens of the whole with these bodies."""
        return self.content.count(bodies, note, self.counter)

    def plan(self) -> Flow[Any, Any, Planned]:
        """Plan this call."""
        before = self.content.weigh(self.content.given, self.counter)
        parts = self.content.parts()
        self._check_window(parts)
        if self.size_rule is not None:
            if before > self.settings.limit:
                yield from bare_tokens(parts, self.measure, self.settings.limit)
            return plan_by_size(parts, before, self.size_rule, self.settings)
        planned = yield from plan(parts, before, self.measure, self.settings)
        return planned

    def flow(self) -> Flow[Any, Any, Compaction]:
        """Do this call."""
        planned = yield from self.plan()
        if self.size_rule is None:
            made = yield from compact(planned, self.measure, self.settings)
            return made
        made = yield from by_size(planned, self.measure, self.size_rule, self.settings)
        if made.after <= self.settings.limit:
            return made
        # No more calls than were planned: from here on without the model.
        settings = replace(self.settings, caller=None)
        left = [
            replace(shrinking.part, text=form.text if form else "")
            for shrinking, form in zip(planned.parts, made.forms, strict=True)
        ]
        again = yield from plan(left, made.after, self.measure, settings)
        then = yield from compact(again, self.measure, settings)
        return followed(made, then)

    def _check_window(self, parts: Sequence[Part]) -> None:
        caller = self.settings.caller
        if caller is None or not parts:
            return
        needed = caller.prompt(Summarise(replace(parts[0], title="", source=""), "", 1))
        if needed >= caller.window:
            raise ConfigurationError(
                f"the prompt alone has {needed:,} tokens, the window of the model "
                f"{caller.window:,}; shorten `prompt` or set `context_window`"
            )

    def told(self, planned: Planned) -> CompactionPlan:
        """Say what is planned."""
        if planned.done:
            return CompactionPlan(planned.before, self.limit, None, 0)
        blocks = []
        for i, (shrinking, size) in enumerate(
            zip(planned.parts, planned.sizes, strict=True)
        ):
            job = planned.jobs.get(i)
            over = size.tokens > max(planned.level * size.patience, size.floor)
            blocks.append(
                PlannedBlock(
                    i + 1,
                    shrinking.part.type,
                    shrinking.part.source,
                    int(held_size(shrinking, self.settings.count).tokens),
                    job.tokens if job else int(planned.level) if over else None,
                    job.planned if job else 0,
                )
            )
        calls = planned.asks * self._attempts()
        goal = planned.goal
        return CompactionPlan(planned.before, self.limit, goal, calls, tuple(blocks))

    def _attempts(self) -> int:
        return 1 if self.settings.caller is None else self.settings.caller.attempts

    def finished(self, made: Compaction) -> Compacted:
        """Put the result together."""
        for gap in made.planned.gaps:
            _logger.warning("%s", gap)
        unchanged = all(
            form is not None and form.text == shrinking.part.text
            for form, shrinking in zip(made.forms, made.planned.parts, strict=True)
        )
        if unchanged:
            return Compacted(self.given, self._report(made, self.content.given))
        texts = self.content.rendered(texts_of(made.forms), made.note)
        content = self.content.assembled(texts, made.forms)
        report = self._report(made, content)
        if isinstance(self.given, Mapping):
            content = {**self.given, self.input_key: content}
        return Compacted(content, report)

    def _report(self, made: Compaction, content: object) -> CompactionReport:
        blocks = [block for text in self.content.texts for block in text.blocks]
        rows = [_row(i, block, made) for i, block in enumerate(blocks)]
        whole = self.content.characters
        around = _around(
            whole(self.content.given) - sum(row.before for row in rows),
            whole(content) - sum(row.after for row in rows),
        )
        removed = [
            Gap(row.source, "missing", f"left out: {row.why}")
            for row in rows
            if row.how == "removed"
        ]
        replies = [each.value for each in made.replies if not isinstance(each, Failed)]
        return CompactionReport(
            before=made.planned.before,
            after=made.after,
            limit=self.limit,
            calls=sum(map(_calls, made.replies)),
            planned_calls=made.planned.asks * self._attempts(),
            prompt_tokens=sum(reply.input_tokens or 0 for reply in replies),
            output_tokens=sum(reply.output_tokens or 0 for reply in replies),
            cache_hits=sum(row.how == "cached" for row in rows),
            blocks=(*around, *rows),
            gaps=(*made.planned.gaps, *removed),
        )


def _row(i: int, block: Block, made: Compaction) -> BlockReport:
    """Say what became of a block."""
    shrinking, form = made.planned.parts[i], made.forms[i]
    before, part = block.end - block.start, shrinking.part
    row = BlockReport(i + 1, part.type, part.source, before, before, "kept")
    if form is None:
        return replace(row, after=0, how="removed", why="no room for it")
    if form.text == part.text:
        return row if shrinking.why == "" else replace(row, why=shrinking.why)
    return replace(
        row,
        after=before - len(part.text) + len(form.text),
        how="cached" if form is shrinking.recorded else form.how,
        why=form.why or shrinking.why or "over the budget",
        literals_lost=form.lost,
        literals_refused=form.refused,
    )


def _around(before: int, after: int) -> list[BlockReport]:
    """Say what became of the text around the blocks."""
    if not before and not after:
        return []
    why = "" if before == after else "tags of what was left out went, its names came"
    return [BlockReport(0, "text", "around the blocks", before, after, "kept", why)]


def _calls(outcome: Outcome[Reply]) -> int:
    if isinstance(outcome, Failed):
        return int(getattr(outcome.error, "calls", 1))
    return outcome.value.calls


@dataclass(slots=True)
class CompactionAnswers:
    """Hold what requests are answered with.

    Attributes:
        cache: Keeps records.
        calls: Asks the model; None where there is none.
        prompt: Writes what it is asked.
        asked: How much the model has been asked so far.
    """

    cache: BaseStore[str, bytes]
    calls: ModelCalls | None = None
    prompt: Callable[[Summarise], Ask] | None = None
    asked: int = 0

    def answer(self, asked: Sequence[Any]) -> list[Outcome[Any]]:
        """Answer the requests of a round; they are all of one kind."""
        if self.calls is not None and (asks := self._asks(asked)):
            return list(self.calls.answer(asks))
        return answer_each([self._job(request) for request in asked])

    async def aanswer(self, asked: Sequence[Any]) -> list[Outcome[Any]]:
        """Same as `answer`, while the event loop goes on."""
        if self.calls is not None and (asks := self._asks(asked)):
            return list(await self.calls.aanswer(asks))
        return await aanswer_each([self._job(request) for request in asked])

    def _asks(self, asked: Sequence[Any]) -> list[Ask]:
        if self.prompt is None:
            return []
        asks = [self.prompt(each) for each in asked if isinstance(each, Summarise)]
        self.asked += len(asks)
        return asks

    def _job(self, request: Work | Recall | Remember) -> Job[Any]:
        match request:
            case Work():
                return Job("the work", request.run, partial(run_blocking, request.run))
            case Recall():
                names = list(request.names)
                return Job(
                    "the cache",
                    partial(self.cache.mget, names),
                    partial(self.cache.amget, names),
                )
            case Remember():
                pairs = list(request.records.items())
                return Job(
                    "the cache",
                    partial(self.cache.mset, pairs),
                    partial(self.cache.amset, pairs),
                )
            case _:
                assert_never(request)
