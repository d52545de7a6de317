"""An embedding by words, and short ways to write and to ask."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing

import numpy as np
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings

from langchain_ctxfetch._core.hits import Hit

EMBEDDING = DeterministicFakeEmbedding(size=8)
"""A model for tests that do not look at what it finds alike."""


def hit(id_: str | None, text: str, **metadata: object) -> Hit:
    """Return a document to be stored."""
    return Hit(id_, text, metadata)


def found_ids(store, query: str, k: int = 10, channel: str = "keyword", **more):
    """Return the ids that one channel finds."""
    return [hit.id for hit in store.channel(channel).ask(query, k, more.get("where"))]


def ids(documents) -> list[str]:
    """Return the ids of documents or hits, in order."""
    return [document.id for document in documents]


def behind(file) -> closing:
    """Open a file behind the store's back."""
    return closing(sqlite3.connect(file, isolation_level=None))


class Words(Embeddings):
    """Counts words in a few buckets, in single precision, and keeps what it saw."""

    def __init__(self, size: int = 16, model: str = "words") -> None:
        self.size = size
        self.model = model
        self.seen: list[str] = []
        self.calls = 0

    def embed_documents(self, texts):
        self.calls += 1
        self.seen += texts
        return [self._vector(text) for text in texts]

    def embed_query(self, text):
        self.calls += 1
        return self._vector(text)

    def _vector(self, text):
        vector = np.zeros(self.size, np.float32)
        for word in text.lower().split():
            vector[zlib.crc32(word.strip(".,!?").encode()) % self.size] += 1
        return vector
