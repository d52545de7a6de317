"""ContextCompactor: whatever stands before the model, made to fit its budget."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from typing import Any, Self

from langchain_core.callbacks.manager import (
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import (
    RunnableConfig,
    RunnableLambda,
    RunnableSerializable,
)
from langchain_core.stores import BaseStore
from pydantic import (
    ConfigDict,
    Field,
    SkipValidation,
    field_validator,
    model_validator,
)
from typing_extensions import override

from langchain_ctxfetch._bridge import WholeNumber
from langchain_ctxfetch._caches import BoundedStore
from langchain_ctxfetch._compactions import (
    Case,
    Compacted,
    CompactionAnswers,
    held_in,
)
from langchain_ctxfetch._contents import Compactable, content_of
from langchain_ctxfetch._core.asks import Ask
from langchain_ctxfetch._core.blocks import KNOWN_TYPES, tamed
from langchain_ctxfetch._core.flow import adrive, drive
from langchain_ctxfetch._core.planning import Settings
from langchain_ctxfetch._core.records import Shape
from langchain_ctxfetch._core.shrinking import Reader
from langchain_ctxfetch._core.sizing import SizeRule
from langchain_ctxfetch._core.summaries import Caller
from langchain_ctxfetch._divided import BlockRule, Treatment
from langchain_ctxfetch._language import stemmer
from langchain_ctxfetch._models import (
    ModelCalls,
    attempts_of,
    context_window_of,
    name_of,
)
from langchain_ctxfetch._prompts import Prompts, check_prompt
from langchain_ctxfetch._reports import CompactionPlan
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import TokenCounter
from langchain_ctxfetch.tokens import token_counter_for

NEVER_TOUCH = frozenset({"selected_text", "web_selected_text"})
"""What its reader has chosen by hand, and cannot be fetched again."""

WINDOW = 8_192
"""The window of a model that does not tell its own, in tokens."""

EVENT = "ctxfetch_compaction"
"""The custom event that is sent as each answer of the model comes."""


class ContextCompactor(RunnableSerializable[Any, Any]):
    r"""Make any context fit its token budget, whatever the model does.

    Takes a text, documents, a prompt, messages, or a dict that holds one of them, and
    returns the same type. Within the budget it comes back as it is. Over it, the
    bodies of its largest blocks are reduced: by summaries of the model where there is
    one, else by their own best sentences. Nothing outside a body changes by a byte;
    a body without any room goes with its tags, and one line names what is left out.

    >>> compactor = ContextCompactor(max_tokens=40, token_counter=len, compact_to=1)
    >>> compactor.invoke("It rains. The sun shines. It snows. The wind is cold.")
    '[excerpt]\nIt rains. The sun shines.'

    Attributes:
        max_tokens: The most tokens of the result; None: off.
        model: Writes summaries; None: the best sentences of each block stay.
        token_counter: What counts tokens: anything that `token_counter_for` takes.
        compact_to: What a context over its budget is brought down to, as a share of
            it, so that the next turn need not do it again.
        context_window: The most tokens of a call to the model; None: what its profile
            says, else 8,192.
        output_reserve: Tokens of the budget that the model's answer needs; at most
            half of it.
        max_concurrency: The most calls at the same time; that of the config wins.
        never_touch: Types of blocks that stay as they are.
        rules: How blocks are treated, by type; types that are not known yet are then.
        touch_last: Whether the last human message may be reduced outside its blocks.
        size_rule: Reduces by the size of blocks alone, in the place of a budget.
        cache: Keeps reductions for the next time; a bounded one in memory by default.
        prompt: What the model is asked; ours by default.
        timeout_s: The most seconds of a call to the model.
        input_key: The key of a dict under which the context stands.
        query_key: The key of a dict under which the question stands that the
            reductions shall help to answer; they then change with it.

    Raises:
        BudgetError: When called, before any call to the model, if what may not be
            reduced is over the budget alone. Nothing else is raised for a content.
    """

    max_tokens: WholeNumber | None
    model: BaseChatModel | None = None
    token_counter: Any = None
    compact_to: float = 0.7
    context_window: WholeNumber | None = None
    output_reserve: WholeNumber = 0
    max_concurrency: WholeNumber = 3
    never_touch: frozenset[str] = NEVER_TOUCH
    rules: Mapping[str, BlockRule] = Field(default_factory=dict)
    touch_last: bool = False
    size_rule: SizeRule | None = None
    cache: Any = Field(default=None, repr=False)
    prompt: SkipValidation[BasePromptTemplate[Any]] | None = None
    timeout_s: float | None = None
    input_key: str | None = None
    query_key: str | None = None

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @field_validator("cache")
    @classmethod
    def _is_store(cls, cache: object) -> object:
        if cache is not None and not isinstance(cache, BaseStore):
            raise ConfigurationError(
                f"`cache` must be a LangChain BaseStore of bytes, not {cache!r:.100}"
            )
        return cache

    @model_validator(mode="after")
    def _check(self) -> Self:
        token_counter_for(self.token_counter)
        check_prompt("prompt", self.prompt)
        for name, rule in self.rules.items():
            check_prompt(f"rules[{name!r}].prompt", rule.prompt)
        for name, least in _LEAST.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise ConfigurationError(
                    f"`{name}` must be {least} or more, not {value!r}"
                )
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise ConfigurationError(
                f"`timeout_s` must be above 0, or None, not {self.timeout_s!r}"
            )
        if not 0 < self.compact_to <= 1:
            raise ConfigurationError(
                f"`compact_to` must be above 0 and at most 1, not {self.compact_to!r}"
            )
        if self.size_rule is not None and self.model is None:
            raise ConfigurationError("`size_rule` needs a `model`")
        if self.cache is None:
            # In a public field, so that configured copies of this object share it.
            self.cache = BoundedStore()
        return self

    @classmethod
    def by_size(
        cls,
        model: BaseChatModel,
        *,
        min_chars: int = 50_000,
        max_chars: int = 500_000,
        failure_gate: float = 0.5,
        max_concurrency: int = 3,
        **fields: Any,  # noqa: ANN401 - the fields of the compactor
    ) -> ContextCompactor:
        """Make a compactor that goes by the size of blocks, without a budget.

        Args:
            model: Writes the summaries.
            min_chars: Blocks whose body is as long or longer are summarised.
            max_chars: The most characters of a body that the model reads.
            failure_gate: Where a smaller share of the summaries succeeds, nothing is
                changed.
            max_concurrency: The most calls at the same time.
            **fields: Other fields of the compactor.

        Returns:
            The compactor.
        """
        return cls(
            max_tokens=fields.pop("max_tokens", None),
            model=model,
            size_rule=SizeRule(min_chars, max_chars, failure_gate),
            max_concurrency=max_concurrency,
            **fields,
        )

    def compact(
        self,
        x: Compactable,
        *,
        query: str | None = None,
        config: RunnableConfig | None = None,
    ) -> Compacted:
        """Make *x* fit, and say what was done.

        Args:
            x: A text, documents, a prompt, messages, or a dict with `input_key`.
            query: What the reductions shall help to answer.
            config: As everywhere in LangChain.

        Returns:
            The content, of the type that came, and the report.

        Raises:
            BudgetError: If what may not be reduced is over the budget alone.
            ConfigurationError: If *x* is of another type.
        """

        def run(given: Compactable, config: RunnableConfig) -> Compacted:
            return self._compacted(given, query, config)

        step = RunnableLambda(run, name="ContextCompactor")
        made: Compacted = step.invoke(x, config)
        return made

    async def acompact(
        self,
        x: Compactable,
        *,
        query: str | None = None,
        config: RunnableConfig | None = None,
    ) -> Compacted:
        """Same as `compact`, but asynchronously."""

        async def run(given: Compactable, config: RunnableConfig) -> Compacted:
            return await self._acompacted(given, query, config)

        step = RunnableLambda(run, name="ContextCompactor")
        made: Compacted = await step.ainvoke(x, config)
        return made

    def plan(self, x: Compactable, *, query: str | None = None) -> CompactionPlan:
        """Say what would be done with *x*, and how many calls that takes at most."""
        case = self._case(x, query)
        answers = self._answers(case, {}, None)
        return case.told(drive(case.plan(), answers.answer))

    @override
    def invoke(
        self, input: Compactable, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Return *input* within its budget, as a step of a chain."""

        def run(given: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
            return self._compacted(given, kwargs.get("query"), config).content

        # The config is passed by its name.
        return self._call_with_config(run, input, config)  # type: ignore[arg-type]

    @override
    async def ainvoke(
        self, input: Compactable, config: RunnableConfig | None = None, **kwargs: Any
    ) -> Any:
        """Same as `invoke`, but asynchronously."""

        async def run(given: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
            made = await self._acompacted(given, kwargs.get("query"), config)
            return made.content

        return await self._acall_with_config(run, input, config)  # type: ignore[arg-type]

    # --- One call ---

    def _compacted(
        self, given: Compactable, query: str | None, config: RunnableConfig
    ) -> Compacted:
        case = self._case(given, query)
        told = 0

        def tell() -> None:
            nonlocal told
            told += 1
            data = {"answered": told, "asked": answers.asked}
            dispatch_custom_event(EVENT, data, config=config)

        answers = self._answers(case, config, tell)
        return case.finished(drive(case.flow(), answers.answer))

    async def _acompacted(
        self, given: Compactable, query: str | None, config: RunnableConfig
    ) -> Compacted:
        case = await run_blocking(self._case, given, query)
        telling: list[asyncio.Future[None]] = []

        def tell() -> None:
            data = {"answered": len(telling) + 1, "asked": answers.asked}
            event = adispatch_custom_event(EVENT, data, config=config)
            telling.append(asyncio.ensure_future(event))

        answers = self._answers(case, config, tell)
        try:
            made = await adrive(case.flow(), answers.aanswer)
        finally:
            await asyncio.gather(*telling, return_exceptions=True)
        return await run_blocking(case.finished, made)

    def _case(self, given: Any, query: str | None) -> Case:  # noqa: ANN401
        """Divide what came, and say what is wanted of it."""
        held = held_in(given, self.input_key)
        if query is None and isinstance(given, Mapping) and self.query_key:
            query = given.get(self.query_key)
        if not isinstance(query, str | None):
            raise ConfigurationError(f"`query` must be a text, not {query!r:.100}")
        never = self.never_touch | {n for n, r in self.rules.items() if r.never_touch}
        types = KNOWN_TYPES | never | frozenset(self.rules)
        counter = token_counter_for(self.token_counter)
        prompts = Prompts(
            query or "",
            self.prompt,
            {n: rule.prompt for n, rule in self.rules.items() if rule.prompt},
        )
        return Case(
            given,
            self.input_key,
            self.max_tokens,
            content_of(held, Treatment(types, never, self.touch_last, self.rules)),
            counter,
            self._settings(types, counter, prompts),
            prompts,
            self.size_rule,
        )

    def _settings(
        self, types: frozenset[str], counter: TokenCounter, prompts: Prompts
    ) -> Settings:
        limit = sys.maxsize if self.max_tokens is None else self.max_tokens
        if self.max_tokens is not None:
            limit -= min(self.output_reserve, limit // 2)
        caller = None
        if self.model is not None:
            window = self.context_window or context_window_of(self.model) or WINDOW
            caller = Caller(
                window,
                prompts.counted_by(counter),
                counter.count,
                attempts_of(self.model),
            )
        shape = Shape(
            (
                limit,
                self.compact_to,
                prompts.query,
                repr(counter),
                "" if self.model is None else name_of(self.model),
                "" if self.prompt is None else repr(self.prompt),
                sorted((name, repr(rule)) for name, rule in self.rules.items()),
            )
        )
        reader = Reader(stemmer("en"), prompts.query, lambda text: tamed(text, types))
        return Settings(limit, self.compact_to, counter.count, reader, shape, caller)

    def _answers(
        self, case: Case, config: RunnableConfig, tell: Callable[[], None] | None
    ) -> CompactionAnswers:
        """Return what answers the requests of a call."""
        caller = case.settings.caller
        if self.model is None or caller is None:
            return CompactionAnswers(self.cache)
        calls = ModelCalls(
            self.model,
            max_concurrency=self.max_concurrency,
            timeout_s=self.timeout_s,
            config=config,
            on_reply=tell,
        )
        return CompactionAnswers(
            self.cache,
            calls,
            lambda ask: Ask(case.prompts(ask), caller.output(ask.tokens)),
        )


_LEAST = {
    "max_tokens": 0,
    "context_window": 1,
    "output_reserve": 0,
    "max_concurrency": 1,
}
