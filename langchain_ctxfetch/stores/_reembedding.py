"""Giving every passage of a file a vector of another model.

New vectors are laid beside the old ones, batch by batch, and take their place in one
transaction; until then searches use the old ones. What is laid there stays when the
work is interrupted, and is used by the next attempt with the same model.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np

from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch.errors import StoreMismatchError
from langchain_ctxfetch.stores._documents import read_documents
from langchain_ctxfetch.stores._layout import Columns
from langchain_ctxfetch.stores._opening import read_meta, record
from langchain_ctxfetch.stores._preparing import Preparer, prepared_document
from langchain_ctxfetch.stores._vectors import Matrix, refuse_dimension
from langchain_ctxfetch.stores._writing import next_version

Report: TypeAlias = Callable[[int, int], object]
"""Is told how many passages have their new vector, and how many there are."""

_MODEL, _DIMENSION = "next_embedding_id", "next_dimension"


@dataclass(frozen=True, slots=True)
class Unembedded:
    """Hold the texts of a batch that has no new vectors yet.

    Attributes:
        first_document: What names the batch.
        texts: What is embedded, one for each passage of a document that exists.
        at: The place of each text among all passages of the batch.
        passages: How many those are.
    """

    first_document: int
    texts: Sequence[str]
    at: Sequence[int]
    passages: int


@dataclass(frozen=True, slots=True)
class _AsStored(Preparer):
    """Cut a document where it was cut when it was written."""

    spans: Sequence[Span] = ()

    def _passages(self, text: str) -> list[Span]:  # noqa: ARG002 - cut already
        return list(self.spans)


def begin(connection: sqlite3.Connection, model: str) -> tuple[int, int]:
    """Make room for the vectors of a model; keep what there is of an earlier attempt.

    Args:
        connection: Within a transaction that may write.
        model: Names the model in the file.

    Returns:
        How many passages have a new vector already, and how many there are.
    """
    meta = read_meta(connection)
    if meta.get(_MODEL) != model:
        _clear(connection)
        record(connection, _MODEL, model)
    connection.execute(
        "create table if not exists reembedded"
        " (first_document integer primary key, passages integer, vectors blob)"
    )
    done, passages = 0, 0
    rows = connection.execute(
        "select first_document, passages, first_document in"
        " (select first_document from reembedded) from batches"
    )
    for first, blob, has_new in rows.fetchall():
        size = int((Columns.read(blob, first).end > 0).sum())
        passages += size
        done += size if has_new else 0
    return done, passages


def next_batch(connection: sqlite3.Connection, preparer: Preparer) -> Unembedded | None:
    """Return a batch without new vectors, or None where all have theirs.

    Args:
        connection: Within a transaction that may write, so that nobody adds a batch.
        preparer: Says what is embedded of a passage: title, headings, text.

    Returns:
        The oldest such batch.
    """
    found = connection.execute(
        "select first_document, passages from batches where first_document not in"
        " (select first_document from reembedded) order by first_document limit 1"
    ).fetchone()
    if found is None:
        return None
    first, blob = found
    columns = Columns.read(blob, first)
    is_passage = columns.end > 0
    owner = columns.document[is_passage]
    start, end = columns.start[is_passage], columns.end[is_passage]
    texts: list[str] = []
    at: list[int] = []
    documents = np.unique(owner).tolist()
    stored = read_documents(connection, documents, bodies=True)
    for document in filter(stored.__contains__, documents):
        of_document = np.flatnonzero(owner == document)
        spans = list(
            zip(start[of_document].tolist(), end[of_document].tolist(), strict=True)
        )
        own = {each.name: getattr(preparer, each.name) for each in fields(preparer)}
        cutter = _AsStored(**own, spans=spans)
        texts += cutter.prepare([prepared_document(stored[document])]).texts
        at += of_document.tolist()
    if len(texts) != len(at):
        raise ValueError(f"the passages of the batch {first} are not those of its text")
    return Unembedded(first, texts, at, len(owner))


def keep(connection: sqlite3.Connection, batch: Unembedded, vectors: Matrix) -> None:
    """Lay the new vectors of a batch beside the old ones.

    Args:
        connection: Within a transaction that may write.
        batch: The batch.
        vectors: One for each of its texts.

    Raises:
        StoreMismatchError: If they have another dimension than those before.
    """
    meta = read_meta(connection)
    dimension = meta.get(_DIMENSION)
    if len(vectors) and dimension is None:
        dimension = vectors.shape[1]
        record(connection, _DIMENSION, dimension)
    elif len(vectors):
        refuse_dimension(vectors.shape[1], dimension)
    # Passages of documents that are gone keep their places, with nothing in them.
    whole = np.zeros((batch.passages, dimension or 0), "<f4")
    whole[list(batch.at)] = vectors
    connection.execute(
        "insert or replace into reembedded values (?, ?, ?)",
        (batch.first_document, batch.passages, whole.tobytes()),
    )


def refuse_rival(connection: sqlite3.Connection, model: str, path: str) -> None:
    """Raise an error where another attempt has begun, or ended, in the meantime."""
    meta = read_meta(connection)
    if meta.get(_MODEL) != model:
        raise StoreMismatchError(
            f"{path}: another `reembed` was begun while this one ran; open the file"
            " anew and see what `stats` says",
            store=path,
        )


def switch(connection: sqlite3.Connection, model: str) -> None:
    """Put the new vectors in the place of the old ones; every batch has them.

    Args:
        connection: Within a transaction that may write.
        model: Names the model in the file from now on.
    """
    meta = read_meta(connection)
    # A batch of passages that are gone may have come before the dimension was known.
    connection.execute(
        "update batches set vectors = (select case when length(laid.vectors)"
        " then laid.vectors else zeroblob(? * laid.passages) end from reembedded"
        " as laid where laid.first_document = batches.first_document)",
        (4 * (meta.get(_DIMENSION) or 0),),
    )
    connection.execute("delete from meta where key = 'dimension'")
    if meta.get(_DIMENSION) is not None:
        record(connection, "dimension", meta[_DIMENSION])
    record(connection, "embedding_id", model)
    _clear(connection)
    next_version(connection)


def _clear(connection: sqlite3.Connection) -> None:
    connection.execute("drop table if exists reembedded")
    connection.execute(
        "delete from meta where key in (?, ?)",
        (_MODEL, _DIMENSION),
    )
