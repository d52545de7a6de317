"""A store for compressors, which records its calls, and an embedding."""

from __future__ import annotations

import time

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.flow import Failed, Ok
from langchain_ctxfetch._core.hits import Hit, Passage


class Meanings(Embeddings):
    """Says that everything about dogs is alike."""

    def embed_query(self, text):
        return np.array([1.0, 0.0], dtype=np.float32)

    def embed_documents(self, texts):
        return [
            np.array([1.0, 0.0] if "hound" in text else [0.0, 1.0], dtype=np.float32)
            for text in texts
        ]


class RecordingStore:
    """Keeps texts by id; *passages* are what `highlight` brings, by id."""

    def __init__(self, texts=None, passages=None, *, wait_s: float = 0.0) -> None:
        self.texts = dict(texts or {})
        self.passages = dict(passages or {})
        self.failing: set[str] = set()
        self.calls: list[tuple] = []
        self.wait_s = wait_s

    def channel_names(self):
        return ["keyword"]

    def search_round(self, requests):
        raise NotImplementedError

    async def asearch_round(self, requests):
        raise NotImplementedError

    def fetch(self, ids, *, filter=None):  # noqa: A002 - LangChain's word
        self.calls.append(("fetch", list(ids), filter))
        time.sleep(self.wait_s)
        if "fetch" in self.failing:
            raise ConnectionError("store is down")
        return [self._hit(name) for name in ids if name in self.texts]

    async def afetch(self, ids, *, filter=None):  # noqa: A002 - LangChain's word
        return self.fetch(ids, filter=filter)

    def highlight(self, ids, query, *, filter=None, room=3000):  # noqa: A002 - LangChain's word
        self.calls.append(("highlight", list(ids), filter, query, room))
        if "highlight" in self.failing:
            raise ConnectionError("store is down")
        return [self._outcome(name) for name in ids]

    async def ahighlight(self, ids, query, *, filter=None, room=3000):  # noqa: A002 - LangChain's word
        return self.highlight(ids, query, filter=filter, room=room)

    def _hit(self, name: str) -> Hit:
        text = self.texts[name]
        return Hit(name, text, {"other": "field"}, length=len(text))

    def _outcome(self, name: str):
        if name in self.failing:
            return Failed(ValueError("bad document"))
        if name not in self.texts:
            return Ok(None)
        text = self.texts[name]
        found = tuple(
            Passage(*span, text[slice(*span)]) for span in self.passages.get(name, ())
        )
        return Ok(Hit(name, None, {}, length=len(text), passages=found))

    def asked(self, kind: str) -> list[list[str]]:
        """Return the ids of each call of a kind."""
        return [call[1] for call in self.calls if call[0] == kind]


def reference(name: str, length=None, text: str = "…", **metadata) -> Document:
    """Make a document of which only passages are in hand, as a retriever brings it."""
    added = {"v": 1, "content": "passages", "length": length, "score": 0.5}
    return Document(text, id=name, metadata={"ctxfetch": added, **metadata})
