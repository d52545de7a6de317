"""Connections to one SQLite database, lent to threads and never carried over a fork."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path

from langchain_ctxfetch.errors import StoreError, StoreReadOnlyError
from langchain_ctxfetch.stores._faults import translated

MEMORY = ":memory:"

FORK_PATIENCE_S = 5.0
"""How long a fork waits for other threads that are using a file, in seconds."""

_MOST_IDLE = 16
_PAGES = "pragma cache_size = -16000"  # KiB for each connection
_LIVING: weakref.WeakSet[Connections] = weakref.WeakSet()


class Connections:
    """Lend a connection to each piece of work, so that threads need not share one.

    A database in memory belongs to its one connection; there the work takes turns.

    Args:
        path: A file, or `":memory:"`.
        read_only: Whether SQLite itself shall refuse to write.
        busy_timeout_s: How long to wait for another process, in seconds.
    """

    _lock: threading.Lock
    _changed: threading.Condition
    _writing: threading.Lock
    _turn: AbstractContextManager[object]

    def __init__(self, path: str, *, read_only: bool, busy_timeout_s: float) -> None:
        # Resolved now: the process may change its folder before the next connection.
        self.path = path if path == MEMORY else str(Path(path).absolute())
        self.read_only = read_only
        self.busy_timeout_s = busy_timeout_s
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._carried = False
        self._make_locks()
        weakref.finalize(self, _close_all, self._idle)
        _LIVING.add(self)

    def refuse_if_read_only(self) -> None:
        """Raise an error before any work for a write that could not be done."""
        if self.read_only:
            raise StoreReadOnlyError(
                f"{self.path} was opened with `read_only`", store=self.path
            )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within a transaction that sees one state throughout."""
        with self.lent() as connection:
            connection.execute("begin")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within a transaction that writes all or nothing."""
        with self._writing, self.lent() as connection:
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")

    @contextmanager
    def alone(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection without a transaction while nobody here writes."""
        with self._writing, self.lent() as connection:
            yield connection

    @contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection without a transaction."""
        with translated(self.path), self._turn:
            connection = self._take()
            try:
                yield connection
            finally:
                self._give_back(connection)

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._closed = True
            _close_all(self._idle)

    def pause(self) -> None:
        """Lend nothing more, wait for what is lent, and close what can be opened again.

        SQLite must not be carried over a fork: a child would take the locks of its
        parent for its own.
        """
        with self._lock:
            self._paused = True
            self._changed.wait_for(lambda: not self._lent, FORK_PATIENCE_S)
            if self.path != MEMORY:
                _close_all(self._idle)

    def resume(self) -> None:
        """Go on lending."""
        with self._lock:
            self._paused = False
            self._changed.notify_all()

    def start_afresh(self) -> None:
        """Forget, in a child process, the threads that exist only in its parent."""
        self._carried = self._lent > 0
        self._make_locks()

    def _make_locks(self) -> None:
        self._lent = 0
        self._paused = False
        # Held by `with` on the lock itself: a key pressed within the Python code of a
        # condition's own `__enter__` would leave it locked for ever.
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._writing = threading.Lock()
        self._turn = threading.Lock() if self.path == MEMORY else nullcontext()

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            self._changed.wait_for(lambda: not self._paused)
            self._refuse_if_unusable()
            self._lent += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            self._count_back()
            raise

    def _refuse_if_unusable(self) -> None:
        if self._closed:
            raise StoreError(
                f"the store {self.path!r} is closed; open a new one", store=self.path
            )
        if self._carried:
            raise StoreError(
                f"{self.path}: another thread was using the store when this process"
                " was forked; fork earlier, or start processes with 'spawn'",
                store=self.path,
            )

    def _give_back(self, connection: sqlite3.Connection) -> None:
        try:
            _end_transaction(connection)
            self._keep(connection)
        finally:
            self._count_back()

    def _keep(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            room = len(self._idle) < _MOST_IDLE and not self._closed
            if room and (self.path == MEMORY or not self._paused):
                self._idle.append(connection)
                return
        connection.close()

    def _count_back(self) -> None:
        with self._lock:
            self._lent -= 1
            self._changed.notify_all()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            address(self.path, read_only=self.read_only),
            uri=True,
            timeout=self.busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,  # lent to one thread at a time
        )
        connection.execute(_PAGES)
        if not self.read_only:
            connection.execute("pragma synchronous = normal")
        return connection


def address(path: str, *, read_only: bool) -> str:
    """Return the URI under which SQLite opens a path.

    >>> address(":memory:", read_only=False)
    ':memory:'

    Args:
        path: A file, or `":memory:"`.
        read_only: Whether SQLite itself shall refuse to write.

    Returns:
        The URI, every special character of the path quoted.
    """
    if path == MEMORY:
        return path
    file = Path(path).absolute()
    if not read_only:
        return f"{file.as_uri()}?mode=rwc"
    # On a medium that cannot be written, nothing can be laid beside the file, and
    # nobody else can change it.
    fixed = not os.access(file.parent, os.W_OK) and not Path(f"{file}-wal").exists()
    return f"{file.as_uri()}?mode=ro{'&immutable=1' if fixed else ''}"


def _end_transaction(connection: sqlite3.Connection) -> None:
    """Take back what was not committed; closing does that too where this fails."""
    try:
        if connection.in_transaction:
            connection.rollback()
    except BaseException:
        connection.close()
        raise


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()


def _pause_all() -> None:
    for each in tuple(_LIVING):
        each.pause()


def _resume_all() -> None:
    for each in tuple(_LIVING):
        each.resume()


def _start_all_afresh() -> None:
    for each in tuple(_LIVING):
        each.start_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_pause_all,
        after_in_parent=_resume_all,
        after_in_child=_start_all_afresh,
    )
