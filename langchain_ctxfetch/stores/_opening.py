"""Making a file a store, and refusing one that is no store or another's."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_ctxfetch.errors import (
    ConfigurationError,
    StoreError,
    StoreMismatchError,
)
from langchain_ctxfetch.stores._connections import MEMORY, Connections
from langchain_ctxfetch.stores._sql import APPLICATION_ID, SCHEMA, SCHEMA_VERSION
from langchain_ctxfetch.stores._vectors import Matrix, refuse_dimension


@dataclass(frozen=True, slots=True)
class Recorded:
    """Hold what a file says of itself.

    Attributes:
        language: The language of its stemmer.
        embedding_id: The model of its vectors; None where it has no vectors.
        dimension: How many numbers a vector has; None before the first.
    """

    language: str
    embedding_id: str | None
    dimension: int | None


def path_of(path: object) -> str:
    """Return a path as text, once it may be that of a store.

    >>> path_of(":memory:")
    ':memory:'

    Args:
        path: What a caller gave.

    Returns:
        The path as it was given.

    Raises:
        ConfigurationError: If it is no path.
        StoreError: If no file can be there.
    """
    if not isinstance(path, str | os.PathLike):
        raise ConfigurationError(f"`path` must be a text or a path, not {path!r:.100}")
    text = os.fspath(path)
    if not isinstance(text, str):
        raise ConfigurationError(f"`path` must be a path of text, not {path!r:.100}")
    if text == MEMORY:
        return text
    if "\0" in text:
        raise StoreError(f"{text!r:.100}: the name of a file cannot hold NUL")
    try:
        file = Path(text).absolute()
        is_other = file.exists() and not file.is_file()
    except OSError as error:
        raise StoreError(
            f"{text:.100}: cannot be opened: {error.strerror}", errors=(error,)
        ) from error
    if is_other:
        raise StoreError(
            f"{text:.100}: is no file but a folder or a device", store=text
        )
    return text


def open_store(
    connections: Connections, *, language: str, embedding_id: str | None
) -> None:
    """Open a store, or make one where there is none.

    Args:
        connections: To the file.
        language: The language that is asked for, under its recorded name.
        embedding_id: The model that is given; None for none.

    Raises:
        StoreMismatchError: If it is no store, or one of another language, model or
            version.
        StoreError: If it is to be read only and does not exist.
    """
    path = connections.path
    if connections.read_only and (path == MEMORY or not Path(path).is_file()):
        raise StoreError(
            f"{path}: there is no such file; a store that is read only must exist",
            store=path,
        )
    if not connections.read_only:
        _refuse_foreign_file(path)
        _create(connections, language, embedding_id)
    with connections.reading() as connection:
        _check_kind(connection, path)
        recorded = read_record(connection)
    _check_settings(recorded, path, language=language, embedding_id=embedding_id)


def read_record(connection: sqlite3.Connection) -> Recorded:
    """Read what the file says of itself."""
    meta: dict[str, object] = read_meta(connection)
    language, model = meta["language"], meta.get("embedding_id")
    dimension = meta.get("dimension")
    if (
        not isinstance(language, str)
        or not isinstance(model, str | None)
        or not isinstance(dimension, int | None)
    ):
        raise TypeError(f"{meta} is no record of a store")
    return Recorded(language, model, dimension)


def read_meta(connection: sqlite3.Connection) -> dict[str, Any]:
    """Read everything that the file says of itself, unchecked."""
    return dict(connection.execute("select key, value from meta"))


def record(connection: sqlite3.Connection, key: str, value: str | int) -> None:
    """Write down what the file says of itself from now on."""
    connection.execute("insert or replace into meta values (?, ?)", (key, value))


def refuse_other_model(recorded: Recorded, embedding_id: str | None, path: str) -> None:
    """Raise an error where a file was given another model after it was opened."""
    if recorded.embedding_id != embedding_id:
        raise StoreMismatchError(
            f"{path}: has vectors of {recorded.embedding_id!r} by now, not of"
            f" {embedding_id!r}; open it anew with that `embedding`",
            store=path,
        )


def check_vectors(
    connection: sqlite3.Connection,
    vectors: Matrix | None,
    embedding_id: str | None,
    path: str,
) -> None:
    """Refuse vectors that do not fit those of the file; note the first dimension.

    Args:
        connection: Within a transaction that may write.
        vectors: One for each passage; None where the store was given no embedding.
        embedding_id: The model that they come from.
        path: What errors call the store.

    Raises:
        StoreMismatchError: If there are vectors in the file, and these are others or
            none.
    """
    recorded = read_record(connection)
    if vectors is None:
        if recorded.embedding_id is not None:
            raise StoreMismatchError(
                f"{path}: holds vectors of {recorded.embedding_id!r}; open it with that"
                " `embedding` to add documents",
                store=path,
            )
        return
    refuse_other_model(recorded, embedding_id, path)
    if len(vectors) and recorded.dimension is None:
        record(connection, "dimension", vectors.shape[1])
    elif len(vectors):
        refuse_dimension(vectors.shape[1], recorded.dimension)


def _refuse_foreign_file(path: str) -> None:
    """Look at the first bytes: SQLite itself would only say that it is no database."""
    if path == MEMORY or not Path(path).is_file():
        return
    try:
        with Path(path).open("rb") as file:
            beginning = file.read(16)
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be read: {error}", store=path, errors=(error,)
        ) from error
    if beginning and beginning != b"SQLite format 3\0":
        raise _foreign(path)


def _create(connections: Connections, language: str, embedding_id: str | None) -> None:
    """Write the schema into an empty file; note the model of a store without text."""
    with connections.lent() as connection:
        if _is_empty(connection) and connections.path != MEMORY:
            connection.execute("pragma journal_mode = wal")
    with connections.reading() as connection:
        if _user_version(connection):
            _check_kind(connection, connections.path)
            if not _lacks_model(connection, embedding_id):
                return
    with connections.writing() as connection:
        # Again: another process may have come first.
        if _is_empty(connection):
            for statement in SCHEMA.split(";\n"):
                connection.execute(statement)
            record(connection, "language", language)
        _check_kind(connection, connections.path)
        if _lacks_model(connection, embedding_id):
            record(connection, "embedding_id", str(embedding_id))


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("select count(*) from sqlite_master").fetchone()
    return not tables and not _user_version(connection)


def _lacks_model(connection: sqlite3.Connection, embedding_id: str | None) -> bool:
    """Say whether a model is given for a store that has no text yet and no model."""
    if embedding_id is None or _application(connection) != APPLICATION_ID:
        return False
    recorded = read_record(connection)
    documents = connection.execute("select 1 from documents limit 1").fetchone()
    return recorded.embedding_id is None and documents is None


def _application(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma application_id").fetchone()[0])


def _user_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("pragma user_version").fetchone()[0])


def _check_kind(connection: sqlite3.Connection, path: str) -> None:
    if _application(connection) != APPLICATION_ID:
        raise _foreign(path)
    version = _user_version(connection)
    if version > SCHEMA_VERSION:
        raise StoreMismatchError(
            f"{path}: made by a newer version of langchain-ctxfetch (schema {version},"
            f" this one knows {SCHEMA_VERSION}); upgrade the package",
            store=path,
        )


def _foreign(path: str) -> StoreMismatchError:
    return StoreMismatchError(
        f"{path}: is no store of langchain-ctxfetch; give the `path` of one, or of a"
        " file that does not exist yet",
        store=path,
    )


def _check_settings(
    recorded: Recorded, path: str, *, language: str, embedding_id: str | None
) -> None:
    if recorded.language != language:
        raise StoreMismatchError(
            f"{path}: was made with `language` {recorded.language!r}, not"
            f" {language!r}; open it with language={recorded.language!r} or index the"
            " documents anew",
            store=path,
        )
    if embedding_id is None or recorded.embedding_id == embedding_id:
        return
    made = (
        f"its vectors come from {recorded.embedding_id!r}"
        if recorded.embedding_id
        else "it was filled without an `embedding`"
    )
    raise StoreMismatchError(
        f"{path}: {made}, not from {embedding_id!r}; open it with the same model (or"
        " the same `embedding_id`), index the documents anew, or open it without an"
        " `embedding` and call `reembed` with this one",
        store=path,
    )
