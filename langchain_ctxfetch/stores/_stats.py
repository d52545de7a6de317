"""What a store says of itself."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from langchain_ctxfetch.stores._opening import read_record


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Say what is in a store.

    Attributes:
        documents: How many documents it holds.
        passages: How many passages of them are indexed.
        bytes: The size of the file; of the database for one in memory.
        language: The language of its stemmer.
        embedding_id: The model of its vectors; None where it has no vectors.
        dimension: How many numbers a vector has; None before the first.
        removed: How many removed documents still take room beside others; `optimize`
            gives it back.
        free_bytes: How much of the size is unused; `optimize` gives it back too.
        blocks: How many blocks the keyword index has; a search looks into each.
    """

    documents: int
    passages: int
    bytes: int
    language: str
    embedding_id: str | None
    dimension: int | None
    removed: int
    free_bytes: int
    blocks: int

    def __str__(self) -> str:
        vectors = "no vectors"
        if self.embedding_id is not None:
            vectors = f"vectors of {self.embedding_id} ({self.dimension or 'none yet'})"
        return (
            f"{self.documents:,} documents in {self.passages:,} passages,"
            f" {self.bytes / 1e6:,.1f} MB, language {self.language}, {vectors}"
        )


def read_stats(connection: sqlite3.Connection, passages: int) -> StoreStats:
    """Read what a file holds; its living *passages* are counted by the index."""
    recorded = read_record(connection)
    documents, pages, size, removed, free, blocks = (
        int(connection.execute(sql).fetchone()[0])
        for sql in (
            "select count(*) from documents",
            "pragma page_count",
            "pragma page_size",
            "select count(*) from tombstones",
            "pragma freelist_count",
            "select count(*) from blocks",
        )
    )
    return StoreStats(
        documents,
        passages,
        pages * size,
        recorded.language,
        recorded.embedding_id,
        recorded.dimension,
        removed,
        free * size,
        blocks,
    )
