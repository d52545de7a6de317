"""Reading documents back out of the file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch.errors import ConfigurationError, StoreCorruptError
from langchain_ctxfetch.stores._sql import chunked

_PAGE = 500


def names_of(ids: object) -> list[str]:
    """Return the ids that are asked for.

    >>> names_of(["a", "b"])
    ['a', 'b']

    Args:
        ids: A list of texts; a single text is none.

    Returns:
        The ids.

    Raises:
        ConfigurationError: If *ids* is something else.
    """
    wrong = ConfigurationError(f"`ids` must be a list of texts, not {ids!r:.100}")
    if isinstance(ids, str) or not isinstance(ids, Iterable):
        raise wrong
    names = list(ids)
    if not all(isinstance(name, str) for name in names):
        raise wrong
    return names


def check_id(name: object) -> None:
    """Refuse what cannot name a document.

    Args:
        name: What a document brings; None where one is to be made.

    Raises:
        ConfigurationError: If it is no text, empty, or holds what cannot be stored:
            cleaned as texts are, it could become the name of another document.
    """
    if name is None:
        return
    if not isinstance(name, str):
        raise ConfigurationError(f"an id must be text, not {name!r:.100}")
    if not name:
        raise ConfigurationError("an id must not be empty; None has one made")
    if not _storable([name]):
        raise ConfigurationError(
            f"an id must not hold NUL or lone surrogates, as {name!r:.100} does"
        )


def _storable(ids: Iterable[str]) -> list[str]:
    """Return the ids that a document can have; the others name nothing."""
    return [name for name in ids if clean(name) == name]


def _rows(
    connection: sqlite3.Connection, columns: str, key: str, values: Sequence[object]
) -> list[tuple[Any, ...]]:
    """Return these columns of the documents whose *key* is one of the values."""
    rows: list[tuple[Any, ...]] = []
    for marks, part in chunked(values):
        rows += connection.execute(
            f"select {columns} from documents where {key} in ({marks})",  # noqa: S608 - our own words and question marks
            part,
        )
    return rows


def read_ids(connection: sqlite3.Connection, ordinals: Sequence[int]) -> dict[int, str]:
    """Return the ids of documents by their ordinals."""
    return dict(_rows(connection, "ordinal, id", "ordinal", ordinals))


def read_documents(
    connection: sqlite3.Connection, ordinals: Sequence[int], *, bodies: bool
) -> dict[int, Hit]:
    """Return documents by their ordinals, with text and metadata if wanted."""
    columns = "ordinal, id, length" + (", text, metadata" if bodies else "")
    rows = _rows(connection, columns, "ordinal", ordinals)
    return {ordinal: _stored(*row) for ordinal, *row in rows}


def read_by_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Hit]:
    """Return the documents of these ids that exist, with text and metadata."""
    rows = _rows(connection, "id, length, text, metadata", "id", _storable(ids))
    return {row[0]: _stored(*row) for row in rows}


def read_page(
    connection: sqlite3.Connection, after: int
) -> list[tuple[int, str, dict[str, Any]]]:
    """Return ordinal, id and metadata of the documents that follow an ordinal."""
    rows = connection.execute(
        "select ordinal, id, metadata from documents where ordinal > ?"
        " order by ordinal limit ?",
        (after, _PAGE),
    )
    return [
        (int(ordinal), str(id_), _metadata(id_, metadata))
        for ordinal, id_, metadata in rows
    ]


def ordinals_of(connection: sqlite3.Connection, ids: Sequence[str]) -> Iterator[int]:
    """Yield the ordinals of the documents of these ids that exist."""
    for (ordinal,) in _rows(connection, "ordinal", "id", _storable(ids)):
        yield ordinal


def all_ordinals(connection: sqlite3.Connection) -> list[int]:
    """Return the ordinals of all documents, rising."""
    return sorted(
        ordinal for (ordinal,) in connection.execute("select ordinal from documents")
    )


def _stored(
    id_: object, length: object, text: object = None, metadata: object = None
) -> Hit:
    """Return a row as a hit; SQLite keeps values of any type in any column."""
    if not isinstance(id_, str) or not isinstance(length, int):
        raise _damaged("row", id_)
    if text is None:
        return Hit(id_, None, length=length)
    if not isinstance(text, str) or len(text) != length:
        raise _damaged("text", id_)
    return Hit(id_, text, _metadata(id_, metadata), length=length)


def _metadata(id_: str, written: object) -> dict[str, Any]:
    """Read metadata as it was written; anything else is damage."""
    try:
        held = json.loads(str(written))
    except (TypeError, ValueError, RecursionError):
        held = None
    if not isinstance(held, dict):
        raise _damaged("metadata", id_)
    return held


def _damaged(part: str, id_: object) -> StoreCorruptError:
    return StoreCorruptError(
        f"the {part} of the document {id_!r:.100} is damaged; restore a copy of the"
        " file or index the document anew"
    )
