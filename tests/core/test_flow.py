"""Flows and the drivers that run them."""

import asyncio

import pytest

from langchain_ctxfetch._core.flow import Failed, Ok, adrive, drive


def drive_in_a_loop(flow, answer):
    async def answered(asked):
        return answer(asked)

    return asyncio.run(adrive(flow, answered))


@pytest.fixture(params=[drive, drive_in_a_loop], ids=["sync", "async"])
def run(request):
    return request.param


def total():
    """Ask for one number, then for as many more as it says."""
    (first,) = yield ["how many"]
    more = yield ["and"] * first.value
    return sum(outcome.value for outcome in more if isinstance(outcome, Ok))


def test_rounds_depend_on_earlier_answers(run) -> None:
    """The second round asks as often as the first answer says."""
    assert run(total(), lambda asked: [Ok(3) for _ in asked]) == 9


def test_one_failure_hides_no_other_answer(run) -> None:
    """A failed request leaves the outcomes beside it in place."""

    def answer(asked):
        outcomes = [Ok(3) for _ in asked]
        return [*outcomes[1:], Failed(OSError())] if len(asked) > 1 else outcomes

    assert run(total(), answer) == 6


def test_an_error_of_the_driver_reaches_the_flow(run) -> None:
    """A flow may recover from what answering itself raised."""

    def careful():
        try:
            yield ["first"]
        except OSError:
            return "recovered"

    def broken(asked):
        raise OSError

    assert run(careful(), broken) == "recovered"


def test_an_error_that_the_flow_does_not_catch_leaves(run) -> None:
    """It is raised unchanged."""

    def broken(asked):
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        run(total(), broken)


def test_interruption_closes_the_flow(run) -> None:
    """KeyboardInterrupt is not thrown in; the flow's clean-up still runs."""
    closed = []

    def flow():
        try:
            yield ["first"]
        finally:
            closed.append(True)

    def interrupted(asked):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(flow(), interrupted)

    assert closed == [True]
