"""Calls to a chat model: so many at a time, tried again where that may help.

A call that fails is an outcome like any other. What the model says here is no part of
the answer that the user streams, though callbacks that count or trace see it.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig

from langchain_ctxfetch._core.asks import Ask, Reply
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._rounds import Job, aanswer_each, answer_each
from langchain_ctxfetch.errors import StoreTimeoutError

NOT_STREAMED = "langsmith:nostream"
"""The tag by which LangGraph leaves a call out of what it streams."""

ATTEMPTS = 3
"""How often a model is called for one ask at most."""

LONGEST_WAIT_S = 60.0
"""Who asks for a longer wait before the next call gets none."""

_FIRST_WAIT_S = 0.5
_PASSING = frozenset({408, 429, 502, 503, 504, 529})  # HTTP: worth another call
_PASSING_NAMES = ("RateLimit", "Timeout", "Connection")
_CUT_OFF = frozenset({"length", "max_tokens", "model_length", "incomplete"})
_REASONS = ("finish_reason", "stop_reason", "done_reason", "stopReason", "status")
# A stream that breaks off raises nothing: there only the reason is missing.
_ALWAYS_GIVE_REASONS = frozenset(
    {"openai", "azure", "deepseek", "groq", "mistralai", "openrouter", "xai"}
)
_OUTPUT_LIMITS = ("max_tokens", "max_output_tokens")


class ModelCalls:
    """Ask a chat model, as many questions at the same time as are allowed.

    Args:
        model: The model.
        max_concurrency: The most calls at the same time; that of *config* wins.
        timeout_s: The most seconds of a call; None waits for ever.
        config: That of the step which asks.
        on_reply: Called after each reply, in the thread or loop that got it.
    """

    def __init__(
        self,
        model: BaseChatModel,
        *,
        max_concurrency: int,
        timeout_s: float | None,
        config: RunnableConfig,
        on_reply: Callable[[], None] | None = None,
    ) -> None:
        self._model = model
        self._most = config.get("max_concurrency") or max_concurrency
        self._timeout_s = timeout_s
        self._config = _quiet(config)
        self._on_reply = on_reply or (lambda: None)
        self._attempts = attempts_of(model)

    def answer(self, asks: Sequence[Ask]) -> list[Outcome[Reply]]:
        """Return how each ask ended, in order; a stopped caller stops new calls."""
        window = _Window(self, asks)
        try:
            answer_each(window.jobs(self._most))
        finally:
            window.stopped.set()
        return window.outcomes

    async def aanswer(self, asks: Sequence[Ask]) -> list[Outcome[Reply]]:
        """Same as `answer`, while the event loop goes on."""
        window = _Window(self, asks)
        await aanswer_each(window.jobs(self._most))
        return window.outcomes

    def tell(self) -> None:
        """Say that a reply has come."""
        # Whoever only watches cannot break what is done.
        with contextlib.suppress(Exception):
            self._on_reply()

    def ask(self, ask: Ask, stopped: threading.Event) -> Outcome[Reply]:
        """Call the model, and again where that may help, until *stopped*."""
        job, tries = self._job(ask), _Tries(self._attempts)
        while True:
            (outcome,) = answer_each([job], timeout_s=self._timeout_s)
            if tries.ended(outcome):
                break
            if stopped.wait(tries.wait_s):
                break
        return _counted(outcome, tries.calls)

    async def aask(self, ask: Ask) -> Outcome[Reply]:
        """Same as `ask`, until cancelled."""
        job, tries = self._job(ask), _Tries(self._attempts)
        while True:
            (outcome,) = await aanswer_each([job], timeout_s=self._timeout_s)
            if tries.ended(outcome):
                break
            await asyncio.sleep(tries.wait_s)
        return _counted(outcome, tries.calls)

    def _job(self, ask: Ask) -> Job[Reply]:
        return Job("the model", partial(self._call, ask), partial(self._acall, ask))

    def _call(self, ask: Ask) -> Reply:
        limits = _limits(self._model, ask)
        return _reply(self._model.invoke(ask.prompt, self._config, **limits))

    async def _acall(self, ask: Ask) -> Reply:
        limits = _limits(self._model, ask)
        try:
            made = await self._model.ainvoke(ask.prompt, self._config, **limits)
        except asyncio.CancelledError as error:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            # The model gave up by itself; nobody has cancelled us.
            raise ConnectionError("the call to the model was cancelled") from error
        return _reply(made)


class _Window:
    """Be the asks of a round, of which so many run at a time and the next one follows.

    Args:
        calls: Asks the model.
        asks: What to ask.
    """

    def __init__(self, calls: ModelCalls, asks: Sequence[Ask]) -> None:
        self.outcomes: list[Outcome[Reply]] = [_NEVER_ASKED] * len(asks)
        self.stopped = threading.Event()
        self._calls = calls
        self._left: SimpleQueue[tuple[int, Ask]] = SimpleQueue()
        for numbered in enumerate(asks):
            self._left.put(numbered)

    def jobs(self, most: int) -> list[Job[None]]:
        """Return what asks one after the other, as often as may be at a time."""
        job = Job("a round of calls", self._work, self._awork)
        return [job] * min(most, len(self.outcomes))

    def _work(self) -> None:
        for i, ask in self._turns():
            self.outcomes[i] = self._calls.ask(ask, self.stopped)
            self._calls.tell()

    async def _awork(self) -> None:
        for i, ask in self._turns():
            self.outcomes[i] = await self._calls.aask(ask)
            self._calls.tell()

    def _turns(self) -> Iterator[tuple[int, Ask]]:
        with contextlib.suppress(Empty):
            while not self.stopped.is_set():
                yield self._left.get_nowait()


_NEVER_ASKED: Outcome[Reply] = Failed(RuntimeError("the model was not asked"))


class _Tries:
    """Say after each call whether, and when, there is another one."""

    def __init__(self, most: int) -> None:
        self.calls = 0
        self.wait_s = 0.0
        self._most = most

    def ended(self, outcome: Outcome[Reply]) -> bool:
        """Take how a call ended; say whether that is the end of it."""
        self.calls += 1
        if isinstance(outcome, Failed) and self.calls < self._most:
            wait = _wait_s(outcome.error, self.calls)
            if wait is not None:
                self.wait_s = wait
                return False
        return True


def attempts_of(model: BaseChatModel) -> int:
    """Return how often *model* is called for one ask at most.

    Where it tries again by itself, it is called once.
    """
    for owner in (model, getattr(model, "root_client", None)):
        retries = getattr(owner, "max_retries", None)
        if isinstance(retries, int):
            return 1 if retries > 0 else ATTEMPTS
    return ATTEMPTS


def context_window_of(model: BaseChatModel) -> int | None:
    """Return the tokens that *model* takes, where its profile tells."""
    profile = getattr(model, "profile", None) or {}
    window = profile.get("max_input_tokens")
    return window if isinstance(window, int) and window > 0 else None


def name_of(model: BaseChatModel) -> str:
    """Return what tells *model* from others that write other summaries.

    Its class and its plain settings; never a secret or an address.
    """
    kind = type(model)
    values = {
        name: value
        for name in kind.model_fields
        if isinstance(value := getattr(model, name, None), str | int | float)
    }
    return f"{kind.__module__}.{kind.__qualname__} {sorted(values.items())}"


def _quiet(config: RunnableConfig) -> RunnableConfig:
    """Keep what the model says out of the streams of the caller."""
    quiet: RunnableConfig = {**config}
    quiet["tags"] = [*(config.get("tags") or []), NOT_STREAMED]
    callbacks = config.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        for handler in [*manager.handlers]:
            if _streams(handler):
                manager.remove_handler(handler)
        quiet["callbacks"] = manager
    return quiet


def _streams(handler: object) -> bool:
    """Tell whether *handler* gives tokens to the user, by what LangChain knows it."""
    return hasattr(handler, "tap_output_aiter") or any(
        kind.__name__ == "_V2StreamingCallbackHandler" for kind in type(handler).__mro__
    )


def _limits(model: BaseChatModel, ask: Ask) -> dict[str, Any]:
    """Return the argument that bounds a reply, where the model has one."""
    profile = getattr(model, "profile", None) or {}
    if profile.get("reasoning_output"):
        return {}  # its reasoning would count, and leave nothing for the text
    for name in _OUTPUT_LIMITS:
        if name in type(model).model_fields:
            own = getattr(model, name)
            limit = ask.max_output
            return {
                name: min(own, limit) if isinstance(own, int) and own > 0 else limit
            }
    return {}


def _reply(message: BaseMessage) -> Reply:
    usage = getattr(message, "usage_metadata", None) or {}
    return Reply(
        clean(str(message.text)),
        _is_finished(message.response_metadata),
        usage.get("input_tokens"),
        usage.get("output_tokens"),
    )


def _is_finished(metadata: dict[str, Any]) -> bool:
    reason = next((metadata[name] for name in _REASONS if metadata.get(name)), None)
    if reason is None:
        return metadata.get("model_provider") not in _ALWAYS_GIVE_REASONS
    return str(reason).lower() not in _CUT_OFF


def _counted(outcome: Outcome[Reply], calls: int) -> Outcome[Reply]:
    """Note how many calls an ask took."""
    if isinstance(outcome, Failed):
        error = outcome.error
        if isinstance(error, StoreTimeoutError):
            error = TimeoutError("no reply from the model within `timeout_s`")
        # An outcome has no other place for it; some errors take no attribute.
        with contextlib.suppress(Exception):
            error.calls = calls  # type: ignore[attr-defined]
        return Failed(error)
    return Ok(replace(outcome.value, calls=calls))


def _wait_s(error: Exception, calls: int) -> float | None:
    """Return how long to wait before the next call; None if it would not help."""
    if not _passes(error):
        return None
    asked = _retry_after_s(error)
    if asked is None:
        # So that those who were refused together do not come back together.
        most = _FIRST_WAIT_S * (1 << (calls - 1))
        return most * random.uniform(0.5, 1.0)  # noqa: S311 - no secret
    return asked if asked <= LONGEST_WAIT_S else None


def _passes(error: Exception) -> bool:
    """Tell whether what went wrong may be over soon."""
    if isinstance(error, TimeoutError | ConnectionError):
        return True
    response = getattr(error, "response", None)
    status = getattr(error, "status_code", None) or getattr(
        response, "status_code", None
    )
    if isinstance(status, int):
        return status in _PASSING
    # Each provider has its own classes, but all give them these names.
    return any(
        name in kind.__name__ for kind in type(error).__mro__ for name in _PASSING_NAMES
    )


def _retry_after_s(error: Exception) -> float | None:
    """Return the seconds that the server asks to wait, by number or by date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    value = next(
        (headers[k] for k in ("retry-after", "Retry-After") if k in headers), None
    )
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
