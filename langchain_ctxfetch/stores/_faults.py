"""Errors of SQLite, and of rows that make no sense, in our words."""

from __future__ import annotations

import sqlite3
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from langchain_ctxfetch._core.hits import told
from langchain_ctxfetch.errors import (
    CtxFetchError,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreReadOnlyError,
    StoreTimeoutError,
)

RESTORE = "restore a copy or index the documents anew"
"""What to do about damage."""

_NONSENSE = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""What reading a row ends with that holds something else than was written."""

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
    "SQLITE_CANTOPEN": (StoreError, "does the folder exist, may it be read?"),
    # What we ask is always the same, so it is the tables that are not as they were.
    "SQLITE_CONSTRAINT": (StoreCorruptError, RESTORE),
    "SQLITE_CORRUPT": (StoreCorruptError, RESTORE),
    "SQLITE_ERROR": (StoreCorruptError, RESTORE),
    "SQLITE_MISMATCH": (StoreCorruptError, RESTORE),
    "SQLITE_NOTADB": (StoreCorruptError, RESTORE),
}

_NO_TEXT = "Could not decode to UTF-8"  # Python's own error: it has no code


@contextmanager
def translated(path: str) -> Iterator[None]:
    """Raise what goes wrong with the rows of a file as errors of this package.

    Whatever stands in a file, what reads it says that the file is damaged. Only work
    on rows belongs inside: arguments are checked before.

    Args:
        path: What errors call the store.

    Yields:
        None: While rows are read or written.

    Raises:
        StoreError: For an error of SQLite or of a row.
    """
    try:
        yield
    except CtxFetchError:
        raise  # some are also `ValueError`
    except sqlite3.Error as error:
        raise translate(error, path) from error
    except _NONSENSE as error:
        raise StoreCorruptError(
            f"{path}: the file is damaged ({told(error)}); {RESTORE}",
            store=path,
            errors=(error,),
        ) from error


def translate(error: sqlite3.Error, path: str) -> StoreError:
    """Return our error for one of SQLite's, with what to do about it."""
    code = getattr(error, "sqlite_errorname", "") or ""
    if str(error).startswith(_NO_TEXT):
        code = "SQLITE_CORRUPT"
    kind, advice = next(
        (known for prefix, known in _KINDS.items() if code.startswith(prefix)),
        (StoreError, "see the cause"),
    )
    return kind(f"{path}: {error} ({advice})", store=path, errors=(error,))
