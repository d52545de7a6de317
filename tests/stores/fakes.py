"""An embedding by words, and short ways to write and to ask."""

from __future__ import annotations

import zlib

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.hits import Hit


def hit(id_: str | None, text: str, **metadata: object) -> Hit:
    """Return a document to be stored."""
    return Hit(id_, text, metadata)


def found_ids(store, query: str, k: int = 10, channel: str = "keyword", **more):
    """Return the ids that one channel finds."""
    return [hit.id for hit in store.channel(channel).ask(query, k, more.get("where"))]


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
