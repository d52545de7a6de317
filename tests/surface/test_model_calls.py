"""Calls to a model: how many at a time, how often again, and what is taken of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import AIMessage

from langchain_ctxfetch import _models
from langchain_ctxfetch._core.asks import Ask, Reply
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome
from langchain_ctxfetch._models import (
    ModelCalls,
    attempts_of,
    context_window_of,
    name_of,
)
from tests.surface.models import Peak, ScriptedModel


class ServerError(Exception):
    """Be what a server answers in the place of a reply."""

    def __init__(self, status: int, headers: dict[str, str] | None = None) -> None:
        super().__init__(f"status {status}")
        self.status_code = status
        self.response = type("Response", (), {"headers": headers or {}})()


def calls(model: ScriptedModel, **fields: Any) -> ModelCalls:
    settings: dict[str, Any] = {"max_concurrency": 3, "timeout_s": None, "config": {}}
    return ModelCalls(model, **(settings | fields))


def asks(count: int) -> list[Ask]:
    return [Ask(f"prompt {i}", 100) for i in range(count)]


async def answered(way: str, of: ModelCalls, asked: list[Ask]) -> list[Outcome[Reply]]:
    if way == "sync":
        return await asyncio.to_thread(of.answer, asked)
    return await of.aanswer(asked)


def failing(*errors: Exception) -> Callable[[str], str]:
    left = list(errors)

    def reply(_: str) -> str:
        if left:
            raise left.pop(0)
        return "fine"

    return reply


WAYS = pytest.mark.parametrize("way", ["sync", "async"])
NOW = {"retry-after": "0"}


@WAYS
async def test_replies_come_in_the_order_of_the_asks(way: str) -> None:
    model = ScriptedModel(reply=lambda prompt: prompt[-1])
    made = await answered(way, calls(model), asks(7))
    assert [each.value.text for each in made if isinstance(each, Ok)] == list("0123456")


@WAYS
async def test_no_asks_are_no_calls(way: str) -> None:
    assert await answered(way, calls(ScriptedModel()), []) == []


@WAYS
@pytest.mark.parametrize("status", [429, 503, 529])
async def test_FR_H5_a_server_that_is_busy_is_asked_again(
    way: str, status: int
) -> None:
    model = ScriptedModel(
        reply=failing(ServerError(status, NOW), ServerError(429, NOW))
    )
    (made,) = await answered(way, calls(model), asks(1))
    assert made == Ok(Reply("fine", calls=3))


@WAYS
async def test_it_is_asked_twice_again_at_most(way: str) -> None:
    model = ScriptedModel(reply=failing(*[ServerError(429, NOW)] * 9))
    (made,) = await answered(way, calls(model), asks(1))
    assert isinstance(made, Failed)
    assert len(model.prompts) == 3
    assert made.error.calls == 3  # type: ignore[attr-defined]


@WAYS
@pytest.mark.parametrize(
    "error", [ValueError("no"), ServerError(400), ServerError(401)]
)
async def test_what_will_not_pass_is_not_tried_again(
    way: str, error: Exception
) -> None:
    model = ScriptedModel(reply=failing(error))
    (made,) = await answered(way, calls(model), asks(1))
    assert made == Failed(error)
    assert len(model.prompts) == 1


@WAYS
async def test_who_asks_for_too_long_a_wait_is_not_asked_again(way: str) -> None:
    model = ScriptedModel(reply=failing(ServerError(429, {"retry-after": "3600"})))
    (made,) = await answered(way, calls(model), asks(1))
    assert isinstance(made, Failed)
    assert len(model.prompts) == 1


def test_retry_after_may_be_a_date() -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    wait = _models._wait_s(ServerError(429, {"Retry-After": date}), 1)
    assert wait is not None
    assert 20 < wait <= 30


@pytest.mark.parametrize("value", ["soon", "", "nan"])
def test_a_retry_after_that_makes_no_sense_is_no_error(value: str) -> None:
    wait = _models._wait_s(ServerError(429, {"retry-after": value}), 1)
    assert wait is not None
    assert 0 <= wait <= 1


@WAYS
async def test_one_that_fails_does_not_hide_the_others(way: str) -> None:
    def reply(prompt: str) -> str:
        if prompt.endswith("1"):
            raise ValueError("no")
        return "fine"

    made = await answered(way, calls(ScriptedModel(reply=reply)), asks(3))
    assert [isinstance(each, Ok) for each in made] == [True, False, True]


def test_the_next_call_begins_as_soon_as_one_ends() -> None:
    # The first call waits for the last one: with batches it would wait for ever.
    last = threading.Event()

    def reply(prompt: str) -> str:
        if prompt.endswith("0"):
            assert last.wait(30)
        if prompt.endswith("5"):
            last.set()
        return "fine"

    made = calls(ScriptedModel(reply=reply), max_concurrency=2).answer(asks(6))
    assert all(isinstance(each, Ok) for each in made)


@WAYS
async def test_the_concurrency_of_the_config_wins(way: str) -> None:
    peak = Peak()
    of = calls(ScriptedModel(reply=peak), config={"max_concurrency": 1})
    await answered(way, of, asks(5))
    assert peak.most == 1


@WAYS
async def test_a_call_that_hangs_ends_with_its_time(way: str) -> None:
    forever = threading.Event()

    def reply(_: str) -> str:
        forever.wait(30)
        return "late"

    model = ScriptedModel(reply=reply, max_retries=1)
    (made,) = await answered(way, calls(model, timeout_s=0.05), asks(1))
    forever.set()
    assert isinstance(made, Failed)
    assert "timeout_s" in str(made.error)


async def test_a_caller_that_is_cancelled_stops_new_calls() -> None:
    entered, leave = threading.Event(), threading.Event()

    def reply(_: str) -> str:
        entered.set()
        leave.wait(30)
        return "fine"

    model = ScriptedModel(reply=reply)
    task = asyncio.ensure_future(calls(model, max_concurrency=1).aanswer(asks(5)))
    await asyncio.to_thread(entered.wait, 30)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    leave.set()
    assert len(model.prompts) == 1


def test_a_caller_that_was_stopped_makes_no_new_call() -> None:
    window = _models._Window(calls(ScriptedModel()), asks(3))
    turns = window._turns()
    assert next(turns)[0] == 0
    window.stopped.set()
    assert list(turns) == []


def test_an_interrupt_stops_the_other_calls() -> None:
    entered, leave = threading.Event(), threading.Event()
    main = threading.current_thread()

    def reply(_: str) -> str:
        if threading.current_thread() is main:
            assert entered.wait(30)
            raise KeyboardInterrupt
        entered.set()
        leave.wait(30)
        return "fine"

    class Watched(ModelCalls):
        def ask(self, ask: Ask, stopped: threading.Event) -> Outcome[Reply]:
            self.stopped = stopped
            return super().ask(ask, stopped)

    of = Watched(
        ScriptedModel(reply=reply), max_concurrency=2, timeout_s=None, config={}
    )
    with pytest.raises(KeyboardInterrupt):
        of.answer(asks(5))
    assert of.stopped.is_set()
    leave.set()


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS"])
def test_a_reply_that_was_cut_off_is_not_finished(reason: str) -> None:
    model = ScriptedModel(finish_reason=reason)
    (made,) = calls(model).answer(asks(1))
    assert isinstance(made, Ok)
    assert not made.value.finished


def test_a_provider_that_always_gives_a_reason_and_did_not_was_cut_off() -> None:
    metadata = {"model_provider": "openai"}
    made = _models._reply(AIMessage("half", response_metadata=metadata))
    assert not made.finished


def test_a_model_that_never_gives_a_reason_is_believed() -> None:
    assert _models._reply(AIMessage("whole")).finished


def test_FR_S9_a_reply_of_content_blocks_is_read_without_its_reasoning() -> None:
    blocks = [
        {"type": "reasoning", "reasoning": "hm"},
        {"type": "text", "text": "S"},
    ]
    (made,) = calls(ScriptedModel(reply=lambda _: blocks)).answer(asks(1))
    assert made == Ok(Reply("S"))


def test_usage_callbacks_see_the_calls() -> None:
    usage = UsageMetadataCallbackHandler()
    model = ScriptedModel(usage=(7, 3))
    calls(model, config={"callbacks": [usage]}).answer(asks(2))
    (seen,) = usage.usage_metadata.values()
    assert (seen["input_tokens"], seen["output_tokens"]) == (14, 6)


def test_a_model_that_tries_again_by_itself_is_asked_once() -> None:
    assert attempts_of(ScriptedModel(max_retries=2)) == 1


def test_a_model_that_does_not_is_asked_three_times_at_most() -> None:
    assert attempts_of(ScriptedModel(max_retries=0)) == 3


def test_the_window_is_what_the_profile_says() -> None:
    assert context_window_of(ScriptedModel(profile={"max_input_tokens": 9})) == 9


def test_a_model_without_a_profile_tells_no_window() -> None:
    assert context_window_of(ScriptedModel()) is None


def test_FR_M5_two_models_with_other_settings_have_other_names() -> None:
    one, other = ScriptedModel(temperature=0.0), ScriptedModel(temperature=1.0)
    assert name_of(one) != name_of(other)


def test_the_name_of_a_model_holds_no_address() -> None:
    assert " at 0x" not in name_of(ScriptedModel())
