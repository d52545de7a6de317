"""Rounds of requests: at the same time, in time, isolated."""

import asyncio
import contextvars
import os
import subprocess
import sys
import threading

import pytest

from langchain_ctxfetch._core.flow import Failed, Ok
from langchain_ctxfetch._rounds import (
    MOST_ABANDONED,
    Job,
    aanswer_each,
    answer_each,
    run_blocking,
)
from langchain_ctxfetch.errors import StoreTimeoutError

asked_by = contextvars.ContextVar("asked_by", default="nobody")


def job(name, call):
    async def acall():
        return await run_blocking(call)

    return Job(name, call, acall)


def in_a_loop(jobs, **limits):
    return asyncio.run(aanswer_each(jobs, **limits))


@pytest.fixture(params=[answer_each, in_a_loop], ids=["sync", "async"])
def answer(request):
    return request.param


def test_jobs_run_at_the_same_time(answer) -> None:
    """Two jobs that wait for each other both end."""
    barrier = threading.Barrier(2, timeout=10)

    def meet():
        barrier.wait()
        return "met"

    assert answer([job("a", meet), job("b", meet)]) == [Ok("met"), Ok("met")]


def test_outcomes_keep_the_order_of_the_jobs(answer) -> None:
    """The second job ends first; its outcome stays second."""
    second_is_done = threading.Event()

    def first():
        assert second_is_done.wait(10)
        return 1

    def second():
        second_is_done.set()
        return 2

    assert answer([job("a", first), job("b", second)]) == [Ok(1), Ok(2)]


def test_a_failure_stands_alone(answer) -> None:
    """One job raises, the other's answer is there."""
    error = OSError("down")

    def fail():
        raise error

    assert answer([job("a", fail), job("b", lambda: 2)]) == [Failed(error), Ok(2)]


def test_a_job_past_its_time_is_given_up(answer) -> None:
    """The late job's outcome is a timeout that names it; the other's is there."""
    release = threading.Event()
    late, there = answer(
        [job("late", lambda: release.wait(30)), job("b", lambda: 2)], timeout_s=0.05
    )
    release.set()

    assert isinstance(late.error, StoreTimeoutError)
    assert "late" in str(late.error)
    assert there == Ok(2)


def test_a_timeout_of_the_job_itself_is_its_own(answer) -> None:
    """TimeoutError raised inside is not taken for ours."""
    error = TimeoutError("inside")

    def fail():
        raise error

    (outcome,) = answer([job("a", fail)], timeout_s=10)

    assert (type(outcome.error), str(outcome.error)) == (TimeoutError, "inside")


def test_threads_see_the_callers_context(answer) -> None:
    """A context variable set by the caller is read inside a job."""
    token = asked_by.set("caller")
    outcomes = answer([job("a", asked_by.get), job("b", asked_by.get)])
    asked_by.reset(token)

    assert outcomes == [Ok("caller"), Ok("caller")]


def test_nested_rounds_do_not_wait_for_one_another() -> None:
    """Hundred rounds three deep end though the pool has fewer threads."""

    def innermost():
        inner = answer_each([job("x", lambda: 1), job("y", lambda: 2)], timeout_s=30)
        return sum(outcome.value for outcome in inner)

    def nested():
        return answer_each([job("in", innermost)], timeout_s=30)[0].value

    outcomes = answer_each([job(str(n), nested) for n in range(100)], timeout_s=60)

    assert outcomes == [Ok(3)] * 100


def test_an_abandoned_call_does_not_hold_the_exit() -> None:
    """A process with a call that never returns ends all the same."""
    code = (
        "import threading\n"
        "from langchain_ctxfetch._rounds import Job, answer_each\n"
        "never = threading.Event()\n"
        "job = Job('hangs', never.wait, None)\n"
        "print(answer_each([job], timeout_s=0.05))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
        env=os.environ,
    )

    assert "StoreTimeoutError" in ended.stdout


def test_after_too_many_abandoned_calls_answers_come_at_once() -> None:
    """The 65th call of a hanging channel is refused; others are not affected."""
    release = threading.Event()
    started = threading.Semaphore(0)

    def hang():
        started.release()
        return release.wait(60)

    for _ in range(4):
        answer_each([job("hangs", hang)] * 16, timeout_s=0.5)
    jobs = [job("hangs", lambda: 1), job("other", lambda: 2)]
    refused, other = answer_each(jobs, timeout_s=30)
    release.set()

    assert "still running" in str(refused.error)
    assert other == Ok(2)
    assert all(started.acquire(blocking=False) for _ in range(64))


async def test_the_loop_goes_on_while_a_call_blocks() -> None:
    """A coroutine of the same loop sets the event that the blocking call waits for."""
    ticked = threading.Event()
    waiting = asyncio.ensure_future(run_blocking(ticked.wait, 10))
    await asyncio.sleep(0)
    ticked.set()

    assert await waiting is True


async def test_FR_L2_the_first_failure_cancels_the_others() -> None:
    """With `fail_fast` the sleeping job sees its cancellation and no task is left."""
    seen = []

    async def fail():
        await asyncio.sleep(0)
        raise OSError

    async def sleep():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    jobs = [Job("a", None, fail), Job("b", None, sleep)]
    await aanswer_each(jobs, fail_fast=True)

    assert seen == ["cancelled"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_cancelling_the_round_cancels_its_jobs() -> None:
    """A cancelled caller leaves no task behind."""
    started = asyncio.Event()

    async def sleep():
        started.set()
        await asyncio.sleep(60)

    round_ = asyncio.ensure_future(aanswer_each([Job("a", None, sleep)]))
    await started.wait()
    round_.cancel()
    with pytest.raises(asyncio.CancelledError):
        await round_

    assert asyncio.all_tasks() == {asyncio.current_task()}


def test_a_forked_child_can_answer_rounds() -> None:
    """Threads do not survive a fork; the child makes its own."""
    code = (
        "import os\n"
        "from langchain_ctxfetch._rounds import Job, answer_each\n"
        "jobs = [Job('a', lambda: 1, None), Job('b', lambda: 2, None)]\n"
        "answer_each(jobs, timeout_s=30)\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    os._exit(len(answer_each(jobs, timeout_s=30)))\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        timeout=60,
    )

    assert ended.stdout.strip() == "2"


async def test_abandoned_calls_of_async_jobs_count_as_theirs() -> None:
    """After too many of one name that name alone answers at once."""
    free = threading.Event()
    job = Job("slow", free.wait, lambda: run_blocking(free.wait, 60))
    other = Job("other", lambda: 1, lambda: run_blocking(lambda: 1))
    try:
        for _ in range(4):
            await aanswer_each([job] * (MOST_ABANDONED // 4), timeout_s=0.5)
        (refused,) = await aanswer_each([job], timeout_s=60)
        (answered,) = await aanswer_each([other], timeout_s=60)
    finally:
        free.set()

    assert isinstance(refused.error, StoreTimeoutError)
    assert "still running" in str(refused.error)
    assert answered == Ok(1)
