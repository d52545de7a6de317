"""What one transaction writes, given a connection within it."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import numpy as np

from langchain_ctxfetch.stores._documents import ordinals_of
from langchain_ctxfetch.stores._layout import Columns
from langchain_ctxfetch.stores._postings import (
    FAN_IN,
    Block,
    Integers,
    Mask,
    decode,
    encode,
    groups,
    merge,
    shift,
)
from langchain_ctxfetch.stores._preparing import Prepared, PreparedDocument
from langchain_ctxfetch.stores._vectors import Matrix

CLOSED = -1
"""The level of blocks that are as large as they may become: never merged again."""


def read_counter(connection: sqlite3.Connection, key: str) -> int:
    """Return a number that the file keeps: version, next document or next row."""
    (value,) = connection.execute(
        "select value from meta where key = ?", (key,)
    ).fetchone()
    return int(value)


def store(
    connection: sqlite3.Connection, prepared: Prepared, vectors: Matrix | None
) -> None:
    """Write documents in place of those of the same ids.

    Args:
        connection: Within a transaction that may write.
        prepared: What is written.
        vectors: One for each passage, where the store has an embedding.
    """
    version = next_version(connection)
    replaced = ordinals_of(connection, [each.id for each in prepared.documents])
    _bury(connection, list(replaced), version)
    first = take_ordinals(connection, len(prepared.documents))
    _insert_documents(connection, prepared.documents, first)
    last = first + len(prepared.documents) - 1
    if not prepared.columns:
        return
    written = None if vectors is None else vectors.astype("<f4").tobytes()
    first_row = insert_batch(connection, (first, last), prepared.columns, written)
    if len(prepared.block):
        span = (first_row, read_counter(connection, "next_row") - 1)
        insert_block(connection, shift(prepared.block, first_row), span, level=0)
        _merge_full_levels(connection)


def remove(connection: sqlite3.Connection, ordinals: Sequence[int]) -> None:
    """Remove documents.

    Args:
        connection: Within a transaction that may write.
        ordinals: Which; all of them exist.
    """
    if ordinals:
        _bury(connection, ordinals, next_version(connection))


def next_version(connection: sqlite3.Connection) -> int:
    """Begin another state of the file, which others will read."""
    version = read_counter(connection, "version") + 1
    _set_counter(connection, "version", version)
    return version


def _set_counter(connection: sqlite3.Connection, key: str, value: int) -> None:
    connection.execute("update meta set value = ? where key = ?", (value, key))


def _insert_documents(
    connection: sqlite3.Connection, documents: Sequence[PreparedDocument], first: int
) -> None:
    connection.executemany(
        "insert into documents values (?, ?, ?, ?, ?)",
        (
            (ordinal, each.id, len(each.text), each.metadata, each.text)
            for ordinal, each in enumerate(documents, first)
        ),
    )
    # A list may hold a value twice.
    connection.executemany(
        "insert or ignore into facts values (?, ?, ?, ?, ?)",
        (
            (fact.key, fact.kind, fact.value, fact.element, ordinal)
            for ordinal, each in enumerate(documents, first)
            for fact in each.facts
        ),
    )


def take_ordinals(connection: sqlite3.Connection, documents: int) -> int:
    """Set ordinals aside for that many documents; return the first of them."""
    first = read_counter(connection, "next_document")
    _set_counter(connection, "next_document", first + documents)
    return first


def _bury(
    connection: sqlite3.Connection, ordinals: Sequence[int], version: int
) -> None:
    """Remove documents, and remember them until their whole batch is gone."""
    each = [(ordinal,) for ordinal in ordinals]
    connection.executemany("delete from documents where ordinal = ?", each)
    connection.executemany("delete from facts where document = ?", each)
    batches: dict[tuple[int, int], None] = {}
    for ordinal in ordinals:
        batch = _batch_of(connection, ordinal)
        if batch is not None:
            batches[batch] = None
            connection.execute(
                "insert into tombstones values (?, ?)", (ordinal, version)
            )
    for first, last in batches:
        _drop_if_empty(connection, first, last)


def _batch_of(connection: sqlite3.Connection, ordinal: int) -> tuple[int, int] | None:
    """Return first and last document of the batch that has passages of a document."""
    found: tuple[int, int] | None = connection.execute(
        "select first_document, last_document from batches where first_document <= ?"
        " order by first_document desc limit 1",
        (ordinal,),
    ).fetchone()
    return None if found is None or found[1] < ordinal else found


def _drop_if_empty(connection: sqlite3.Connection, first: int, last: int) -> None:
    # Counted, not kept in the batch: SQLite would write all its vectors again.
    span = (first, last)
    (gone,) = connection.execute(
        "select count(*) from tombstones where document between ? and ?", span
    ).fetchone()
    if gone == last - first + 1:
        connection.execute("delete from batches where first_document = ?", (first,))
        connection.execute(
            "delete from tombstones where document between ? and ?", span
        )


def insert_batch(
    connection: sqlite3.Connection,
    documents: tuple[int, int],
    columns: bytes,
    vectors: bytes | None,
) -> int:
    """Write the passages of neighbouring documents; return the number of its first row.

    Args:
        connection: Within a transaction that may write.
        documents: The first ordinal and the last.
        columns: As `Columns.read` reads them.
        vectors: One for each passage, or none at all.

    Returns:
        The row that the first one got; the others follow.
    """
    first_row = read_counter(connection, "next_row")
    rows = len(columns) // (4 * 4)
    _set_counter(connection, "next_row", first_row + rows)
    connection.execute(
        "insert into batches values (?, ?, ?, ?, ?)",
        (*documents, first_row, columns, vectors),
    )
    return first_row


def insert_block(
    connection: sqlite3.Connection, block: Block, span: tuple[int, int], level: int
) -> None:
    """Write a block of the keyword index that covers the rows of *span*."""
    connection.execute(
        "insert into blocks (level, first_row, last_row, size, terms, offsets, rows,"
        " counts) values (?, ?, ?, ?, ?, ?, ?, ?)",
        (level, *span, len(block), *encode(block)),
    )


def _merge_full_levels(connection: sqlite3.Connection) -> None:
    level = 0
    while True:
        blocks = connection.execute(
            "select block, size, first_row, last_row from blocks where level = ?"
            " order by first_row limit ?",
            (level, FAN_IN),
        ).fetchall()
        if len(blocks) < FAN_IN:
            return
        spans = groups([size for _, size, _, _ in blocks])
        whole = len(spans) == 1
        if not whole:
            _close_older(connection, blocks[0][2])
        for first, past in spans:
            _lift(connection, blocks[first:past], level + 1 if whole else CLOSED)
        level += 1


def _close_older(connection: sqlite3.Connection, first_row: int) -> None:
    # Blocks that are merged must be neighbours, and what comes next is closed.
    connection.execute(
        "update blocks set level = ? where first_row < ?", (CLOSED, first_row)
    )


def _lift(
    connection: sqlite3.Connection,
    blocks: Sequence[tuple[int, int, int, int]],
    level: int,
) -> None:
    """Bring blocks to another level, several of them as one."""
    if len(blocks) == 1:
        connection.execute(
            "update blocks set level = ? where block = ?", (level, blocks[0][0])
        )
        return
    first_row, last_row = blocks[0][2], blocks[-1][3]
    merged = merge(
        [read_block(connection, block) for block, *_ in blocks],
        living_rows(connection, first_row, last_row),
        first_row,
    )
    if len(merged):
        insert_block(connection, merged, (first_row, last_row), level)
    connection.executemany(
        "delete from blocks where block = ?", [(block,) for block, *_ in blocks]
    )


def read_block(connection: sqlite3.Connection, block: int) -> Block:
    """Read one block of the keyword index."""
    return decode(
        *connection.execute(
            "select terms, offsets, rows, counts from blocks where block = ?", (block,)
        ).fetchone()
    )


def living_rows(connection: sqlite3.Connection, first: int, last: int) -> Mask:
    """Say of the rows from *first* to *last* whether their documents exist."""
    if not 0 <= first <= last < read_counter(connection, "next_row"):
        raise ValueError(f"there are no rows from {first} to {last}")
    living = np.zeros(last - first + 1, np.bool_)
    rows = connection.execute(
        "select first_document, last_document, first_row, passages from batches"
        " where first_row between ? and ?",
        (first, last),
    ).fetchall()
    for first_document, last_document, first_row, blob in rows:
        columns = Columns.read(blob, first_document)
        gone = gone_documents(connection, first_document, last_document)
        begin = first_row - first
        living[begin : begin + len(columns)] = ~np.isin(columns.document, gone)
    return living


def gone_documents(connection: sqlite3.Connection, first: int, last: int) -> Integers:
    """Return which of the documents from *first* to *last* are gone."""
    rows = connection.execute(
        "select document from tombstones where document between ? and ?", (first, last)
    )
    return np.array([document for (document,) in rows], np.int64)
