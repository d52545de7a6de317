"""Reads files ahead of the one who writes: several at a time, and in order."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Generic, TypeAlias, TypeVar, get_args

from langchain_ctxfetch._extracting import NotReadable, extract
from langchain_ctxfetch._folders import SkipReason, read_bytes
from langchain_ctxfetch._formats import Extract, Format
from langchain_ctxfetch._workers import Workers

T = TypeVar("T")

THREADS = min(4, os.cpu_count() or 1)
"""How many files are read at the same time."""

AHEAD_BYTES = 32_000_000
"""How much is read ahead, in bytes of the files, so that memory stays flat."""

AHEAD_FILES = 4 * THREADS
"""How many files are read ahead: a small one may hold much text."""


LARGE = 500_000
"""Larger files whose text is laid out anew are read in a process, in bytes."""


@dataclass(frozen=True, slots=True)
class ReadText:
    """Be what a file says.

    Attributes:
        said: Its text and title.
        digest: The SHA-256 of its bytes, in hexadecimal.
    """

    said: Extract
    digest: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """Be a file that is to be read.

    Attributes:
        path: Where it is.
        size: Its length in bytes, when it was found.
        format: How it is read.
        digest: The one with which it is stored already; None where it is not.
    """

    path: str
    size: int
    format: Format
    digest: object


Outcome: TypeAlias = ReadText | SkipReason | None
"""What a file says, why it is passed over, or None: the digest is the same still."""

_Waiting: TypeAlias = "tuple[T, int, Future[Outcome] | None]"


class Reading(Generic[T]):
    """Be threads that read files, and processes for the formats that need them.

    Args:
        max_bytes: The largest file that is read, in bytes, and the most characters
            that are taken out of one.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._workers = Workers()
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="ctxfetch-read")

    def run(
        self, wanted: Iterable[tuple[T, Wanted | None]]
    ) -> Iterator[tuple[T, Outcome]]:
        """Read files in order, some of them ahead.

        Args:
            wanted: Something, and the file that is to be read for it, if any. Taken
                in the thread of the caller.

        Yields:
            tuple[T, Outcome]: The same, and what came of it.
        """
        waiting: deque[_Waiting[T]] = deque()
        ahead = 0
        for key, file in wanted:
            if file is None:
                waiting.append((key, 0, None))
            else:
                waiting.append((key, file.size, self._threads.submit(self.read, file)))
                ahead += file.size
            # One file at least is always under way.
            while waiting and (
                waiting[0][2] is None
                or ahead > max(AHEAD_BYTES, waiting[0][1])
                or len(waiting) > AHEAD_FILES
            ):
                ahead -= waiting[0][1]
                yield _settled(waiting.popleft())
        while waiting:
            yield _settled(waiting.popleft())

    def read(self, file: Wanted) -> Outcome:
        """Read one file."""
        if is_missing(file.format):
            return _reason(f"needs the extra {file.format.extra}")
        data = read_bytes(file.path, self._max_bytes)
        if isinstance(data, str):
            return data
        digest = hashlib.sha256(data).hexdigest()
        if digest == file.digest:
            return None
        known, most = file.format, self._max_bytes
        # Long work in Python would hold up the one who writes.
        is_long = known.reader is not None and len(data) > LARGE
        take = self._workers.extract if known.take is None or is_long else extract
        try:
            return ReadText(take(known.name, data, most), digest)
        except NotReadable as reason:
            return _reason(str(reason))

    def close(self) -> None:
        """End everything that is under way."""
        self._workers.close()
        self._threads.shutdown(cancel_futures=True)


def is_missing(known: Format) -> bool:
    """Say whether the package that reads a format is not installed."""
    return known.package is not None and find_spec(known.package) is None


def _settled(waiting: _Waiting[T]) -> tuple[T, Outcome]:
    key, _, future = waiting
    return key, None if future is None else future.result()


def _reason(text: str) -> SkipReason:
    """Return one of the reasons that are known, whatever a process has answered."""
    known: dict[str, SkipReason] = {reason: reason for reason in get_args(SkipReason)}
    return known.get(text, "damaged")
