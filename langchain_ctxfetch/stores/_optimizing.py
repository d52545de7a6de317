"""Giving back what removed documents still take: postings, rows, pages."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from langchain_ctxfetch.stores._layout import Columns
from langchain_ctxfetch.stores._postings import Block, Integers, groups, merge
from langchain_ctxfetch.stores._writing import (
    CLOSED,
    gone_documents,
    insert_batch,
    insert_block,
    living_rows,
    next_version,
    read_block,
    take_ordinals,
)

WASTEFUL = 0.25
"""The share of removed documents from which on a batch is written anew."""


@dataclass(frozen=True, slots=True)
class Optimized:
    """Say what optimizing a store has changed.

    Attributes:
        bytes_before: The size of the file, in bytes.
        bytes_after: The size that is left.
        blocks_before: How many blocks the keyword index had.
        blocks_after: How many it has.
    """

    bytes_before: int
    bytes_after: int
    blocks_before: int
    blocks_after: int

    @property
    def bytes_freed(self) -> int:
        """Return how many bytes were given back; below 0 where the file grew."""
        return self.bytes_before - self.bytes_after


@dataclass(slots=True)
class _Moves:
    """Hold where rows go: the old numbers, rising, and the new ones."""

    old: list[Integers] = field(default_factory=list)
    new: list[Integers] = field(default_factory=list)

    def add(self, old: Integers, first: int) -> None:
        self.old.append(old)
        self.new.append(np.arange(first, first + len(old)))

    def joined(self) -> tuple[Integers, Integers]:
        nothing = np.empty(0, np.int64)
        return np.concatenate([nothing, *self.old]), np.concatenate(
            [nothing, *self.new]
        )


def rewrite(connection: sqlite3.Connection) -> None:
    """Write anew what holds removed documents, and merge the keyword index.

    Documents of batches that are written anew come last from then on.

    Args:
        connection: Within a transaction that may write.
    """
    next_version(connection)
    moves = _Moves()
    for first, last in _wasteful_batches(connection):
        _move_batch(connection, first, last, moves)
    old, new = moves.joined()
    _merge_blocks(connection, old, new)


def give_back(connection: sqlite3.Connection) -> None:
    """Shrink the file and refresh what SQLite knows of its tables.

    Args:
        connection: Without a transaction.
    """
    connection.execute("vacuum")
    connection.execute("analyze")
    connection.execute("pragma wal_checkpoint(truncate)").fetchall()


def measure(connection: sqlite3.Connection) -> tuple[int, int]:
    """Return the bytes of a file and the blocks of its keyword index."""
    pages, size, blocks = (
        int(connection.execute(sql).fetchone()[0])
        for sql in (
            "pragma page_count",
            "pragma page_size",
            "select count(*) from blocks",
        )
    )
    return pages * size, blocks


def _wasteful_batches(connection: sqlite3.Connection) -> list[tuple[int, int]]:
    return connection.execute(
        "select first_document, last_document from batches where"
        " (select count(*) from tombstones"
        "  where document between first_document and last_document)"
        " >= ? * (last_document - first_document + 1) order by first_document",
        (WASTEFUL,),
    ).fetchall()


def _move_batch(
    connection: sqlite3.Connection, first: int, last: int, moves: _Moves
) -> None:
    """Write what is left of a batch as a new one, its documents under new ordinals."""
    first_row, passages, vectors = connection.execute(
        "select first_row, passages, vectors from batches where first_document = ?",
        (first,),
    ).fetchone()
    columns = Columns.read(passages, first)
    kept = ~np.isin(columns.document, gone_documents(connection, first, last))
    documents, place = np.unique(columns.document[kept], return_inverse=True)
    if vectors is not None:
        of_passages = kept[columns.end > 0]
        wide = np.frombuffer(vectors, "<f4").reshape(len(of_passages), -1)
        vectors = wide[of_passages].tobytes()
    connection.execute("delete from batches where first_document = ?", (first,))
    connection.execute(
        "delete from tombstones where document between ? and ?", (first, last)
    )
    if len(documents):
        span = _renumber(connection, documents.tolist())
        parts = [place, *(x[kept] for x in (columns.start, columns.end, columns.terms))]
        rows = np.array(parts, "<i4").tobytes()
        moved_to = insert_batch(connection, span, rows, vectors)
        moves.add(first_row + np.flatnonzero(kept), moved_to)


def _renumber(
    connection: sqlite3.Connection, documents: Sequence[int]
) -> tuple[int, int]:
    """Give documents new ordinals, and return the first and the last of those."""
    following = take_ordinals(connection, len(documents))
    pairs = [(following + i, old) for i, old in enumerate(documents)]
    connection.executemany("update documents set ordinal = ? where ordinal = ?", pairs)
    connection.executemany("update facts set document = ? where document = ?", pairs)
    return following, pairs[-1][0]


def _merge_blocks(connection: sqlite3.Connection, old: Integers, new: Integers) -> None:
    """Merge all blocks; postings of rows that move go into a block of their own."""
    blocks = connection.execute(
        "select block, size, first_row, last_row from blocks order by first_row"
    ).fetchall()
    moved: list[Block] = []
    for first, past in groups([size for _, size, _, _ in blocks]):
        group = blocks[first:past]
        if not group:
            continue
        first_row, last_row = group[0][2], group[-1][3]
        read = [read_block(connection, block) for block, *_ in group]
        living = living_rows(connection, first_row, last_row)
        inside = (old >= first_row) & (old <= last_row)
        going = np.zeros(len(living), np.bool_)
        going[old[inside] - first_row] = True
        moved.append(_renumbered(merge(read, going, first_row), old, new))
        connection.executemany(
            "delete from blocks where block = ?", [(block,) for block, *_ in group]
        )
        staying = merge(read, living & ~going, first_row)
        if len(staying):
            insert_block(connection, staying, (first_row, last_row), CLOSED)
    if any(map(len, moved)):
        span = (int(new[0]), int(new[-1]))
        together = merge(moved, np.ones(span[1] - span[0] + 1, np.bool_), span[0])
        insert_block(connection, together, span, CLOSED)


def _renumbered(block: Block, old: Integers, new: Integers) -> Block:
    rows = new[np.searchsorted(old, block.rows)] if len(block) else block.rows
    return replace(block, rows=rows.astype(np.int32))
