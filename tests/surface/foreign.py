"""Retrievers and vector stores that are not ours, good and bad."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore
from pydantic import Field

from langchain_ctxfetch.stores.langchain import (
    RetrieverChannel,
    VectorStoreChannel,
    document_filter,
    metadata_filter,
)

with warnings.catch_warnings():
    # It says at import that it is not maintained, faiss that its names are odd.
    warnings.simplefilter("ignore")
    import faiss  # noqa: F401 - imported here, so that it warns here
    from langchain_community.retrievers import BM25Retriever
    from langchain_community.vectorstores import FAISS


class Letters(Embeddings):
    """Counts letters: texts of the same letters are alike, and ties are many."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        return [1.0 + text.lower().count(letter) for letter in "abcdefgh"]


def in_memory(documents, embedding=None) -> InMemoryVectorStore:
    made = InMemoryVectorStore(embedding or Letters())
    made.add_documents(documents)
    return made


def in_faiss(documents, embedding=None) -> FAISS:
    return FAISS.from_documents(documents, embedding or Letters())


def bm25(documents, **fields) -> BM25Retriever:
    return BM25Retriever.from_documents(documents, **fields)


class Fixed(BaseRetriever):
    """Answers with its documents, knows no k and no async way."""

    answer: Any = ()

    def _get_relevant_documents(self, query, *, run_manager):
        answer = self.answer
        if isinstance(answer, Exception):
            raise answer
        return answer(query) if callable(answer) else answer


class Keyword(Fixed):
    """Takes k as a keyword, blocking only."""

    asked: list = Field(default_factory=list)

    def _get_relevant_documents(self, query, *, run_manager, k=3):
        self.asked.append(k)
        return list(self.answer)[:k]


class HalfKeyword(Keyword):
    """Takes k as a keyword, but not in its asynchronous method."""

    async def _aget_relevant_documents(self, query, *, run_manager):
        return list(self.answer)[:1]


class WholeKeyword(Keyword):
    """Takes k as a keyword, both ways."""

    async def _aget_relevant_documents(self, query, *, run_manager, k=3):
        self.asked.append(k)
        return list(self.answer)[:k]


class Held(Fixed):
    """Has k as a field."""

    k: int = 3

    def _get_relevant_documents(self, query, *, run_manager):
        return list(self.answer)[: self.k]


class AsyncOnly(Fixed):
    """Its blocking method is a stub."""

    def _get_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError

    async def _aget_relevant_documents(self, query, *, run_manager):
        return self.answer


class SyncOnly(Fixed):
    """Its asynchronous method is a stub."""

    async def _aget_relevant_documents(self, query, *, run_manager):
        raise NotImplementedError


class FreshIds(Held):
    """Names its documents anew in every answer."""

    def _get_relevant_documents(self, query, *, run_manager):
        return [
            each.model_copy(update={"id": str(uuid.uuid4())})
            for each in list(self.answer)[: self.k]
        ]


class SeveralQueries(BaseRetriever):
    """Asks another retriever with several questions, as MultiQueryRetriever does."""

    retriever: BaseRetriever

    def _get_relevant_documents(self, query, *, run_manager):
        found = [
            each
            for question in (query, query[::-1])
            for each in self.retriever.invoke(question)
        ]
        return list({each.page_content: each for each in found}.values())


class Asynchronous(VectorStore):
    """Answers asynchronously only."""

    def __init__(self, inner: VectorStore) -> None:
        self.inner = inner

    @classmethod
    def from_texts(cls, texts, embedding, metadatas=None, **kwargs):
        raise NotImplementedError

    def similarity_search(self, query, k=4, **kwargs):
        raise NotImplementedError

    async def asimilarity_search(self, query, k=4, **kwargs):
        return self.inner.similarity_search(query, k, **kwargs)


class Stubbed(Asynchronous):
    """Its asynchronous method is a stub."""

    def similarity_search(self, query, k=4, **kwargs):
        return self.inner.similarity_search(query, k, **kwargs)

    async def asimilarity_search(self, query, k=4, **kwargs):
        raise NotImplementedError


class Blocking(Asynchronous):
    """Answers in its own time, blocking only."""

    def similarity_search(self, query, k=4, **kwargs):
        return self.inner.similarity_search(query, k, **kwargs)

    asimilarity_search = VectorStore.asimilarity_search


KINDS: dict[str, Callable] = {
    "bm25": bm25,
    "memory": in_memory,
    "faiss": in_faiss,
    "as_retriever": lambda documents: in_memory(documents).as_retriever(),
    "mmr": lambda documents: in_memory(documents).as_retriever(
        search_type="mmr", search_kwargs={"fetch_k": 1_000}
    ),
    "keyword": lambda documents: Keyword(answer=documents),
    "field": lambda documents: Held(answer=documents),
    "neither": lambda documents: Fixed(answer=documents),
    "several": lambda documents: SeveralQueries(retriever=Fixed(answer=documents)),
    "fresh": lambda documents: RetrieverChannel(
        FreshIds(answer=documents), trust_ids=False
    ),
    "blocking": lambda documents: Blocking(in_memory(documents)),
    "sync_stub": lambda documents: SyncOnly(answer=documents),
    "store_stub": lambda documents: Stubbed(in_memory(documents)),
}
"""Ways to make something that a retriever takes as a channel, of documents."""

FILTERED: dict[str, Callable] = {
    "memory": lambda documents: VectorStoreChannel(
        in_memory(documents), name="memory", translate=document_filter
    ),
    "faiss": lambda documents: VectorStoreChannel(
        in_faiss(documents), name="faiss", translate=metadata_filter
    ),
    "careless": lambda documents: VectorStoreChannel(
        in_memory(documents), name="careless", translate=lambda _: lambda __: True
    ),
}
"""Channels that obey a filter; the last one's store does not."""


class Singles(Embeddings):
    """Gives numpy vectors of single precision, of length 1."""

    def embed_documents(self, texts):
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text):
        vector = np.array(Letters().embed_query(text), dtype=np.float32)
        return vector / np.linalg.norm(vector)
