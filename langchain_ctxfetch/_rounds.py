"""Answer the requests of a round: at the same time, in time, and isolated."""

from __future__ import annotations

import asyncio
import contextvars
import os
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future, TimeoutError as FutureTimeoutError
from dataclasses import dataclass
from typing import Any, Generic, ParamSpec, TypeAlias, TypeVar

from langchain_ctxfetch._core.flow import Failed, Ok, Outcome
from langchain_ctxfetch.errors import StoreTimeoutError

T = TypeVar("T")
P = ParamSpec("P")

MOST_ABANDONED = 64
GRACE_S = 0.1

_job_name: contextvars.ContextVar[str] = contextvars.ContextVar(
    "ctxfetch_job", default=""
)

_Work: TypeAlias = tuple["Future[Any]", Callable[[], Any]]


@dataclass(frozen=True, slots=True)
class Job(Generic[T]):
    """Be one request of a round, in both its forms.

    Attributes:
        name: What an error message calls it.
        call: Answers it and blocks.
        acall: Answers it asynchronously.
    """

    name: str
    call: Callable[[], T]
    acall: Callable[[], Awaitable[T]]


class Stopped(Exception):  # noqa: N818 - nothing went wrong with the job itself
    """Mark a job that was stopped because another one had failed."""


class DaemonPool:
    """Run blocking calls on daemon threads, which nothing ever waits for at exit.

    A call that is given up keeps its thread until it returns; another thread takes
    its place. After `MOST_ABANDONED` of one channel that channel is not asked. A call
    made from one of the pool's own threads gets a thread of its own, so that nested
    calls cannot wait for one another.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._work: queue.SimpleQueue[_Work] = queue.SimpleQueue()
        self._own = threading.local()
        self._threads = 0
        self._idle = 0
        self._queued = 0
        self._abandoned: dict[Future[Any], str] = {}

    def hangs(self, name: str) -> bool:
        """Say whether too many calls of that name run on past their time."""
        return list(self._abandoned.values()).count(name) >= MOST_ABANDONED

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Begin *call* with the caller's context variables."""
        future: Future[T] = Future()
        context = contextvars.copy_context()
        work: _Work = (future, lambda: context.run(call))
        if getattr(self._own, "inside", False):
            self._spawn(lambda: self._serve_one(work))
            return future
        with self._lock:
            self._queued += 1
            self._work.put(work)
            self._hire()
        return future

    def abandon(self, future: Future[Any], name: str = "") -> None:
        """Stop waiting for *future*; its thread is replaced while it runs on."""
        if future.cancel() or future.done():
            return
        with self._lock:
            self._abandoned[future] = name
            self._hire()
        future.add_done_callback(self._ended)

    def _ended(self, future: Future[Any]) -> None:
        with self._lock:
            self._abandoned.pop(future, None)

    def _hire(self) -> None:
        """Begin another thread where work would wait and there may be one more."""
        if self._queued > self._idle and self._threads < self._most():
            self._threads += 1
            self._spawn(self._serve)

    def _most(self) -> int:
        return self._size + len(self._abandoned)

    def _spawn(self, target: Callable[[], None]) -> None:
        threading.Thread(target=target, name="ctxfetch", daemon=True).start()

    def _serve_one(self, work: _Work) -> None:
        self._own.inside = True
        _run(work)

    def _serve(self) -> None:
        self._own.inside = True
        while True:
            with self._lock:
                if self._threads > self._most():
                    self._threads -= 1
                    return
                self._idle += 1
            work = self._work.get()
            with self._lock:
                self._idle -= 1
                self._queued -= 1
            _run(work)
            del work  # an idle thread holds nobody's values


def _run(work: _Work) -> None:
    future, call = work
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 - raised again where it is awaited
        future.set_exception(error)


_pool = DaemonPool(size=32)
if hasattr(os, "register_at_fork"):
    # Threads do not survive a fork.
    os.register_at_fork(after_in_child=_pool._start_afresh)  # noqa: SLF001 - ours


async def run_blocking(
    function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run a blocking call on a daemon thread while the event loop goes on.

    Within a job of a round, calls that were given up count as that job's.
    """
    name = _job_name.get()
    future = _begun(name, lambda: function(*args, **kwargs))
    try:
        return await asyncio.wrap_future(future)
    except asyncio.CancelledError:
        _pool.abandon(future, name)
        raise


def answer_each(
    jobs: Sequence[Job[T]], *, timeout_s: float | None = None
) -> list[Outcome[T]]:
    """Answer all jobs at the same time, each within *timeout_s* seconds.

    A thread cannot be stopped: a job past its time is given up and runs on alone.

    Args:
        jobs: What to answer.
        timeout_s: The most seconds for each; None waits for ever.

    Returns:
        One outcome for each job, in order.
    """
    # Without a limit the last job needs no thread of its own.
    aside = jobs if timeout_s is not None else jobs[:-1]
    futures = [_begun(job.name, job.call) for job in aside]
    ends = None if timeout_s is None else time.monotonic() + timeout_s
    try:
        here = [_attempt(job.call) for job in jobs[len(aside) :]]
        outcomes = [
            _outcome(job, future, ends, timeout_s)
            for job, future in zip(aside, futures, strict=True)
        ]
    except BaseException:
        for future in futures:
            _pool.abandon(future)
        raise
    return outcomes + here


def _begun(name: str, call: Callable[[], T]) -> Future[T]:
    if not name or not _pool.hangs(name):
        return _pool.submit(call)
    future: Future[T] = Future()
    future.set_exception(
        StoreTimeoutError(
            f"{MOST_ABANDONED} earlier calls of {name} are still running past "
            "their time; not asked again before one of them ends",
            store=name,
        )
    )
    return future


def _attempt(call: Callable[[], T]) -> Outcome[T]:
    try:
        return Ok(call())
    except Exception as error:  # noqa: BLE001 - an outcome holds any error
        return Failed(error)


def _outcome(
    job: Job[T], future: Future[T], ends: float | None, timeout_s: float | None
) -> Outcome[T]:
    left = None if ends is None else max(0.0, ends - time.monotonic())
    try:
        return Ok(future.result(left))
    except FutureTimeoutError as error:
        if future.done():
            return Failed(error)  # its own TimeoutError, not ours
        _pool.abandon(future, job.name)
        return Failed(_too_late(job.name, timeout_s))
    except Exception as error:  # noqa: BLE001 - an outcome holds any error
        return Failed(error)


async def aanswer_each(
    jobs: Sequence[Job[T]],
    *,
    timeout_s: float | None = None,
    fail_fast: bool = False,
) -> list[Outcome[T]]:
    """Same as `answer_each`, but asynchronously.

    Args:
        jobs: What to answer.
        timeout_s: The most seconds for each; None waits for ever.
        fail_fast: Whether the first failure cancels the jobs that still run.

    Returns:
        One outcome for each job, in order; a job that was stopped because another
        had failed ends with `Stopped`.
    """
    tasks = [asyncio.ensure_future(_aattempt(job)) for job in jobs]
    try:
        await _settle(tasks, timeout_s, fail_fast=fail_fast)
    finally:
        await _cancel([task for task in tasks if not task.done()])
    ended = [task.result() for task in tasks if not _unfinished(task)]
    stopped = fail_fast and any(isinstance(outcome, Failed) for outcome in ended)
    return [
        task.result()
        if not _unfinished(task)
        else Failed(Stopped() if stopped else _too_late(job.name, timeout_s))
        for job, task in zip(jobs, tasks, strict=True)
    ]


async def _settle(
    tasks: Sequence[asyncio.Future[Outcome[T]]],
    timeout_s: float | None,
    *,
    fail_fast: bool,
) -> None:
    ends = None if timeout_s is None else time.monotonic() + timeout_s
    pending = set(tasks)
    while pending:
        left = None if ends is None else max(0.0, ends - time.monotonic())
        done, pending = await asyncio.wait(
            pending, timeout=left, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            return
        if fail_fast and any(isinstance(task.result(), Failed) for task in done):
            return


async def _cancel(tasks: Sequence[asyncio.Future[Any]]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        # Bounded: a coroutine that swallows its cancellation is not waited for.
        await asyncio.wait(tasks, timeout=GRACE_S)


def _unfinished(task: asyncio.Future[Any]) -> bool:
    return not task.done() or task.cancelled()


async def _aattempt(job: Job[T]) -> Outcome[T]:
    # Each job is a task with a context of its own, so nobody else sees the name.
    _job_name.set(job.name)
    try:
        return Ok(await job.acall())
    except Exception as error:  # noqa: BLE001 - an outcome holds any error
        return Failed(error)


def _too_late(name: str, timeout_s: float | None) -> StoreTimeoutError:
    return StoreTimeoutError(
        f"{name} did not answer within {timeout_s:g} s; raise `timeout_s` or leave "
        "the channel out",
        store=name,
    )
