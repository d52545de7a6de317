"""Connections to one SQLite database, and its errors in our words."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from langchain_ctxfetch.errors import (
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreTimeoutError,
)

MEMORY = ":memory:"
_MOST_IDLE = 16
_PAGES = "pragma cache_size = -16000"  # KiB for each connection


class Connections:
    """Lend a connection to each piece of work, so that threads need not share one.

    A database in memory belongs to its one connection; there the work takes turns.

    Args:
        path: A file, or `":memory:"`.
        read_only: Whether SQLite itself shall refuse to write.
        busy_timeout_s: How long to wait for another process, in seconds.
    """

    def __init__(self, path: str, *, read_only: bool, busy_timeout_s: float) -> None:
        # Resolved now: the process may change its folder before the next connection.
        self.path = path if path == MEMORY else str(Path(path).absolute())
        self.read_only = read_only
        self.busy_timeout_s = busy_timeout_s
        self._idle: list[sqlite3.Connection] = []
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._turn = threading.Lock() if path == MEMORY else None
        self._closed = False
        weakref.finalize(self, _close_all, self._idle)

    def refuse_if_read_only(self) -> None:
        """Raise an error before any work for a write that could not be done."""
        if self.read_only:
            raise StoreReadOnlyError(
                f"{self.path} was opened with `read_only`", store=self.path
            )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within a transaction that sees one state throughout."""
        with self._lent() as connection:
            connection.execute("begin")
            yield connection

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection within a transaction that writes all or nothing."""
        with self._writing, self._lent() as connection:
            connection.execute("begin immediate")
            yield connection
            connection.execute("commit")

    @contextmanager
    def lent(self) -> Iterator[sqlite3.Connection]:
        """Lend a connection without a transaction."""
        with self._lent() as connection:
            yield connection

    def close(self) -> None:
        """Close what is idle now, and what is lent when it comes back."""
        with self._lock:
            self._closed = True
            _close_all(self._idle)

    @contextmanager
    def _lent(self) -> Iterator[sqlite3.Connection]:
        with translated(self.path):
            if self._turn is None:
                with self._borrowed() as connection:
                    yield connection
            else:
                with self._turn, self._borrowed() as connection:
                    yield connection

    @contextmanager
    def _borrowed(self) -> Iterator[sqlite3.Connection]:
        connection = self._take()
        try:
            yield connection
        finally:
            if connection.in_transaction:
                connection.rollback()
            self._give_back(connection)

    def _take(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise StoreError(
                    f"the store {self.path!r} is closed; open a new one",
                    store=self.path,
                )
            if self._process != os.getpid():
                # SQLite connections must not be carried across a fork, nor closed.
                self._inherited = list(self._idle)
                self._idle.clear()
                self._process = os.getpid()
            if self._idle:
                return self._idle.pop()
        return self._connect()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _MOST_IDLE:
                self._idle.append(connection)
                return
        connection.close()

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


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise the errors of SQLite as errors of this package."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error


def translate(error: sqlite3.Error, path: str) -> StoreError:
    """Return our error for one of SQLite's, with what to do about it."""
    code = getattr(error, "sqlite_errorname", "") or ""
    kind, advice = next(
        (known for prefix, known in _KINDS.items() if code.startswith(prefix)),
        (StoreError, "see the cause"),
    )
    return kind(f"{path}: {error} ({advice})", store=path, errors=(error,))


_KINDS: dict[str, tuple[type[StoreError], str]] = {
    "SQLITE_BUSY": (
        StoreTimeoutError,
        "another process writes; raise `busy_timeout_s` or try again",
    ),
    "SQLITE_LOCKED": (StoreTimeoutError, "another connection writes; try again"),
    "SQLITE_READONLY": (
        StoreReadOnlyError,
        "the file or its folder is write-protected",
    ),
    "SQLITE_FULL": (StoreFullError, "make room and try again; nothing stored is lost"),
    "SQLITE_CORRUPT": (StoreCorruptError, "restore a copy or index the documents anew"),
    "SQLITE_NOTADB": (StoreCorruptError, "restore a copy or index the documents anew"),
    "SQLITE_CANTOPEN": (StoreError, "does the folder exist, may it be read?"),
}


def _close_all(connections: list[sqlite3.Connection]) -> None:
    while connections:
        connections.pop().close()
