"""Flows: logic that waits for answers, written once for sync and async."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")
Result = TypeVar("Result")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Ok(Generic[T_co]):
    """Hold the answer to one request of a round."""

    value: T_co


@dataclass(frozen=True, slots=True)
class Failed:
    """Hold the error that one request of a round ended with."""

    error: Exception


Outcome: TypeAlias = Ok[T_co] | Failed
"""How one request ended: one failure never hides the others' answers."""

Flow: TypeAlias = Generator[Sequence[Ask], Sequence[Outcome[Answer]], Result]
"""Yields a round of requests, is sent one outcome for each, in order."""


def unwrap(outcome: Outcome[Answer]) -> Answer:
    """Return the value of an outcome, or raise its error.

    >>> unwrap(Ok(4))
    4
    """
    if isinstance(outcome, Failed):
        raise outcome.error
    return outcome.value


def drive(
    flow: Flow[Ask, Answer, Result],
    answer: Callable[[Sequence[Ask]], Sequence[Outcome[Answer]]],
) -> Result:
    """Run *flow* to its end, answering each of its rounds.

    >>> def double(number):
    ...     (outcome,) = yield [number]
    ...     return outcome.value * 2
    >>> drive(double(4), lambda asked: [Ok(number) for number in asked])
    8

    An exception from *answer* itself is thrown into the flow, which may recover.

    Args:
        flow: Yields rounds of requests.
        answer: Gives one outcome for each request of a round, in order.

    Returns:
        What the flow returns.
    """
    with closing(flow):
        try:
            asked = next(flow)
            while True:
                try:
                    outcomes = answer(asked)
                except Exception as error:  # noqa: BLE001 - the flow decides
                    asked = flow.throw(error)
                else:
                    asked = flow.send(outcomes)
        except StopIteration as stop:
            result: Result = stop.value
            return result


async def adrive(
    flow: Flow[Ask, Answer, Result],
    answer: Callable[[Sequence[Ask]], Awaitable[Sequence[Outcome[Answer]]]],
) -> Result:
    """Same as `drive`, awaiting the outcomes of each round."""
    with closing(flow):
        try:
            asked = next(flow)
            while True:
                try:
                    outcomes = await answer(asked)
                except Exception as error:  # noqa: BLE001 - the flow decides
                    asked = flow.throw(error)
                else:
                    asked = flow.send(outcomes)
        except StopIteration as stop:
            result: Result = stop.value
            return result
