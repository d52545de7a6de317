"""Reading documents back out of the file."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch.errors import ConfigurationError, StoreCorruptError
from langchain_ctxfetch.stores._sql import chunked

_PAGE = 500


def names_of(ids: Sequence[str]) -> list[str]:
    """Return ids as they are stored.

    >>> names_of(["a", "b"])
    ['a', 'b']

    Args:
        ids: A list of texts; a single text is none.

    Returns:
        The ids, clean.

    Raises:
        ConfigurationError: If *ids* is something else.
    """
    if isinstance(ids, str) or not all(isinstance(name, str) for name in ids):
        raise ConfigurationError(f"`ids` must be a list of texts, not {ids!r:.100}")
    return [clean(name) for name in ids]


def read_ids(connection: sqlite3.Connection, ordinals: Sequence[int]) -> dict[int, str]:
    """Return the ids of documents by their ordinals."""
    found: dict[int, str] = {}
    for marks, part in chunked(ordinals):
        found.update(
            connection.execute(
                f"select ordinal, id from documents where ordinal in ({marks})",  # noqa: S608 - question marks
                part,
            )
        )
    return found


def read_documents(
    connection: sqlite3.Connection, ordinals: Sequence[int], *, bodies: bool
) -> dict[int, Hit]:
    """Return documents by their ordinals, with text and metadata if wanted."""
    columns = "ordinal, id, length" + (", text, metadata" if bodies else "")
    found: dict[int, Hit] = {}
    for marks, part in chunked(ordinals):
        rows = connection.execute(
            f"select {columns} from documents where ordinal in ({marks})",  # noqa: S608 - question marks
            part,
        )
        found.update((ordinal, _stored(*row)) for ordinal, *row in rows)
    return found


def read_by_ids(connection: sqlite3.Connection, ids: Sequence[str]) -> dict[str, Hit]:
    """Return the documents of these ids that exist, with text and metadata."""
    found: dict[str, Hit] = {}
    for marks, part in chunked(ids):
        rows = connection.execute(
            f"select id, length, text, metadata from documents where id in ({marks})",  # noqa: S608 - question marks
            part,
        )
        found.update((row[0], _stored(*row)) for row in rows)
    return found


def read_page(
    connection: sqlite3.Connection, after: int
) -> list[tuple[int, str, dict[str, Any]]]:
    """Return ordinal, id and metadata of the documents that follow an ordinal."""
    rows = connection.execute(
        "select ordinal, id, metadata from documents where ordinal > ?"
        " order by ordinal limit ?",
        (after, _PAGE),
    )
    return [(ordinal, id_, _metadata(id_, metadata)) for ordinal, id_, metadata in rows]


def ordinals_of(connection: sqlite3.Connection, ids: Sequence[str]) -> Iterator[int]:
    """Yield the ordinals of the documents of these ids that exist."""
    for marks, part in chunked(ids):
        rows = connection.execute(
            f"select ordinal from documents where id in ({marks})",  # noqa: S608 - question marks
            part,
        )
        for (ordinal,) in rows:
            yield ordinal


def all_ordinals(connection: sqlite3.Connection) -> list[int]:
    """Return the ordinals of all documents, rising."""
    return sorted(
        ordinal for (ordinal,) in connection.execute("select ordinal from documents")
    )


def _stored(
    id_: str, length: int, text: str | None = None, metadata: str | None = None
) -> Hit:
    held = {} if metadata is None else _metadata(id_, metadata)
    return Hit(id_, text, held, length=length)


def _metadata(id_: str, written: str) -> dict[str, Any]:
    """Read metadata as it was written; anything else is damage."""
    try:
        held = json.loads(written)
    except (TypeError, ValueError):
        held = None
    if not isinstance(held, dict):
        raise StoreCorruptError(
            f"the metadata of the document {id_!r} is damaged; restore a copy of the "
            "file or index the document anew"
        )
    return held
