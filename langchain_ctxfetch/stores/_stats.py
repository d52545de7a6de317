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
    """

    documents: int
    passages: int
    bytes: int
    language: str
    embedding_id: str | None
    dimension: int | None


def read_stats(connection: sqlite3.Connection, passages: int) -> StoreStats:
    """Read what a file holds; its living *passages* are counted by the index."""
    recorded = read_record(connection)
    documents, pages, size = (
        int(connection.execute(sql).fetchone()[0])
        for sql in (
            "select count(*) from documents",
            "pragma page_count",
            "pragma page_size",
        )
    )
    return StoreStats(
        documents,
        passages,
        pages * size,
        recorded.language,
        recorded.embedding_id,
        recorded.dimension,
    )
