"""The `VectorStore` face of LangChain over a store of whole documents, written once."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, TypeAlias
from uuid import uuid4

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import VectorStore
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_ctxfetch._bridge import to_document, to_hit
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import StoreChannel, Where
from langchain_ctxfetch.stores._probes import Found, Probe, Unit

Scored: TypeAlias = list[tuple[Document, float]]

_HALF_RELEVANT = 10.0  # the keyword score that is shown as a relevance of one half


class DocumentStore(VectorStore):
    """Keep whole documents, and find them by their passages.

    Searches use vectors where the store has an embedding, and keywords otherwise.
    Results are documents as they were stored; with `returns="passages"` they are the
    passages themselves, with the id `id#start-end` and, in their metadata,
    `source_id` and `start_index`.
    """

    # What a store has to provide.

    @abstractmethod
    def channel_names(self) -> Sequence[str]:
        """Return the channels that this store can serve, the preferred one first."""

    @abstractmethod
    def put(self, documents: Sequence[Hit], *, batch_size: int = 100) -> list[str]:
        """Store whole documents, replacing those of the same id; return the ids."""

    @abstractmethod
    async def aput(
        self, documents: Sequence[Hit], *, batch_size: int = 100
    ) -> list[str]:
        """Same as `put`, but asynchronously."""

    @abstractmethod
    def remove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> int:
        """Remove the documents named or matched; return how many there were."""

    @abstractmethod
    async def aremove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> int:
        """Same as `remove`, but asynchronously."""

    @abstractmethod
    def fetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Hit]:
        """Bring text and metadata of the documents that exist and match."""

    @abstractmethod
    async def afetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Hit]:
        """Same as `fetch`, but asynchronously."""

    @abstractmethod
    def _find(self, probe: Probe) -> list[Found]:
        """Answer one probe, or raise its error."""

    @abstractmethod
    async def _afind(self, probe: Probe) -> list[Found]:
        """Same as `_find`, but asynchronously."""

    # What it gets for that.

    def channel(self, name: str) -> StoreChannel:
        """Return one way of searching this store, for a retriever.

        Raises:
            ConfigurationError: If the store cannot serve it.
        """
        return StoreChannel(self, name)  # type: ignore[arg-type]  # every subclass is a SearchStore

    def add_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int = 100,
        **kwargs: Any,
    ) -> list[str]:
        """Store documents; one of the same id is replaced.

        Args:
            documents: Whole documents: the store cuts them into passages itself.
            ids: What names them; by default their own ids, or new ones.
            batch_size: The most documents that are written at once.
            **kwargs: There are none; LangChain's signature asks for them.

        Returns:
            The ids, in the order of the documents.

        Raises:
            ConfigurationError: If an argument is wrong or metadata cannot be stored.
            IngestionError: If some were stored and some were not.
            StoreError: If nothing could be stored.
        """
        _refuse(kwargs)
        return self.put(_named(documents, ids), batch_size=batch_size)

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int = 100,
        **kwargs: Any,
    ) -> list[str]:
        """Same as `add_documents`, but asynchronously."""
        _refuse(kwargs)
        return await self.aput(_named(documents, ids), batch_size=batch_size)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Store texts with their metadata; see `add_documents`."""
        return self.add_documents(_documents(texts, metadatas), ids=ids, **kwargs)

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Same as `add_texts`, but asynchronously."""
        documents = _documents(texts, metadatas)
        return await self.aadd_documents(documents, ids=ids, **kwargs)

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> bool | None:
        """Remove documents by their ids, by a filter, or those that fit both.

        Raises:
            ConfigurationError: If neither is given.
        """
        _refuse(kwargs)
        self.remove(ids, filter=filter)
        return True

    async def adelete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> bool | None:
        """Same as `delete`, but asynchronously."""
        _refuse(kwargs)
        await self.aremove(ids, filter=filter)
        return True

    def get_by_ids(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Document]:
        """Return the documents of these ids that exist and match."""
        return [to_document(hit) for hit in self.fetch(ids, filter=filter)]

    async def aget_by_ids(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Document]:
        """Same as `get_by_ids`, but asynchronously."""
        return [to_document(hit) for hit in await self.afetch(ids, filter=filter)]

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents most similar to a text.

        Args:
            query: The text asked; a blank one finds nothing.
            k: The most documents wanted.
            filter: Only documents that match it are searched.
            returns: `"documents"`, or `"passages"` for the best passages themselves.
            **kwargs: There are none; LangChain's signature asks for them.

        Returns:
            Documents, best first.

        Raises:
            ConfigurationError: If an argument is wrong.
            StoreError: If the search failed.
        """
        _refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return [document for document, _ in _scored(self._find(probe), returns)]

    async def asimilarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `similarity_search`, but asynchronously."""
        _refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return [document for document, _ in _scored(await self._afind(probe), returns)]

    def similarity_search_with_score(  # type: ignore[override]  # LangChain leaves the arguments open
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: Any,
    ) -> Scored:
        """Same as `similarity_search`, with scores: higher is better."""
        _refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return _scored(self._find(probe), returns)

    async def asimilarity_search_with_score(  # type: ignore[override]  # see above
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: Any,
    ) -> Scored:
        """Same as `similarity_search_with_score`, but asynchronously."""
        _refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return _scored(await self._afind(probe), returns)

    def similarity_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents most similar to a vector.

        Raises:
            ConfigurationError: If the store has no embedding.
        """
        _refuse(kwargs)
        probe = self._vector_probe(embedding, k, filter, returns)
        return [document for document, _ in _scored(self._find(probe), returns)]

    async def asimilarity_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `similarity_search_by_vector`, but asynchronously."""
        _refuse(kwargs)
        probe = self._vector_probe(embedding, k, filter, returns)
        return [document for document, _ in _scored(await self._afind(probe), returns)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[Document]:
        """Return documents that are similar to a text and differ from one another.

        Args:
            query: The text asked.
            k: The most documents wanted.
            fetch_k: How many similar ones they are chosen from.
            lambda_mult: From 0, differing most, to 1, most similar.
            filter: Only documents that match it are searched.
            **kwargs: There are none; LangChain's signature asks for them.

        Returns:
            Documents in the order of choice.

        Raises:
            ConfigurationError: If the store has no embedding.
        """
        vector = self._embedding_for("max_marginal_relevance_search").embed_query(query)
        return self.max_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter, **kwargs
        )

    async def amax_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `max_marginal_relevance_search`, but asynchronously."""
        embedding = self._embedding_for("max_marginal_relevance_search")
        vector = await embedding.aembed_query(query)
        return await self.amax_marginal_relevance_search_by_vector(
            vector, k, fetch_k, lambda_mult, filter=filter, **kwargs
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `max_marginal_relevance_search`, from a vector."""
        _refuse(kwargs)
        probe = self._vector_probe(embedding, max(k, fetch_k), filter)
        return _diverse(embedding, self._find(probe), k, lambda_mult)

    async def amax_marginal_relevance_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `max_marginal_relevance_search_by_vector`, but asynchronously."""
        _refuse(kwargs)
        probe = self._vector_probe(embedding, max(k, fetch_k), filter)
        return _diverse(embedding, await self._afind(probe), k, lambda_mult)

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> Scored:
        found = self.similarity_search_with_score(query, k, **kwargs)
        return [(document, self._relevance(score)) for document, score in found]

    async def _asimilarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> Scored:
        found = await self.asimilarity_search_with_score(query, k, **kwargs)
        return [(document, self._relevance(score)) for document, score in found]

    def _relevance(self, score: float) -> float:
        """Bring a score between 0 and 1: LangChain compares it with a threshold."""
        if self.embeddings is None:
            return score / (score + _HALF_RELEVANT)
        return min(1.0, max(0.0, score))

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Make a store of texts.

        Args:
            texts: What is stored.
            embedding: See the constructor.
            metadatas: One for each text.
            ids: What names them.
            **kwargs: Are given to the constructor.

        Returns:
            The store.
        """
        store = cls(embedding=embedding, **kwargs)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    @classmethod
    async def afrom_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Same as `from_texts`, but asynchronously."""
        store = cls(embedding=embedding, **kwargs)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    def _probe(self, query: str, k: int, where: Where | None, unit: Unit) -> Probe:
        _check_k(k)
        _check_unit(unit)
        channel = "keyword" if self.embeddings is None else "vector"
        return Probe(channel, query, k, where, unit=unit)

    def _vector_probe(
        self,
        vector: Sequence[float],
        k: int,
        where: Where | None,
        unit: Unit = "documents",
    ) -> Probe:
        _check_k(k)
        _check_unit(unit)
        self._embedding_for("a search by vector")
        return Probe("vector", "", k, where, unit=unit, vector=Ok(vector))

    def _embedding_for(self, what: str) -> Embeddings:
        if self.embeddings is None:
            raise ConfigurationError(
                f"{what} needs vectors: give the store an `embedding`"
            )
        return self.embeddings


def _named(
    documents: Sequence[Document], ids: Sequence[str | None] | None
) -> list[Hit]:
    """Return documents as hits, each with an id."""
    documents = list(documents)
    names = [document.id for document in documents] if ids is None else list(ids)
    if len(names) != len(documents):
        raise ConfigurationError(
            f"`ids` must be one for each of {len(documents)} documents, not"
            f" {len(names)}"
        )
    return [
        _with_id(to_hit(document), name or document.id or str(uuid4()))
        for document, name in zip(documents, names, strict=True)
    ]


def _with_id(hit: Hit, name: str) -> Hit:
    return Hit(name, hit.text, hit.metadata, length=hit.length)


def _documents(
    texts: Iterable[str], metadatas: Sequence[dict[str, Any]] | None
) -> list[Document]:
    texts = list(texts)
    given = [{} for _ in texts] if metadatas is None else list(metadatas)
    if len(given) != len(texts):
        raise ConfigurationError(
            f"`metadatas` must be one for each of {len(texts)} texts, not {len(given)}"
        )
    return [
        Document(page_content=text, metadata=metadata)
        for text, metadata in zip(texts, given, strict=True)
    ]


def _scored(found: Sequence[Found], unit: Unit) -> Scored:
    convert = to_document if unit == "documents" else _passage_document
    return [(convert(each.hit), each.hit.score or 0.0) for each in found]


def _passage_document(hit: Hit) -> Document:
    """Return the one passage of a hit as a document of its own."""
    (passage,) = hit.passages
    document = to_document(hit, text=passage.text)
    document.id = f"{hit.id}#{passage.start}-{passage.end}"
    document.metadata |= {"source_id": hit.id, "start_index": passage.start}
    return document


def _diverse(
    vector: Sequence[float], found: Sequence[Found], k: int, lambda_mult: float
) -> list[Document]:
    if not found:
        return []
    chosen = maximal_marginal_relevance(
        np.asarray(vector, np.float32),
        [list(each.vector or ()) for each in found],
        lambda_mult=lambda_mult,
        k=k,
    )
    return [to_document(found[at].hit) for at in chosen]


def _check_k(k: int) -> None:
    if not isinstance(k, int) or isinstance(k, bool) or k < 0:
        raise ConfigurationError(f"`k` must be a whole number from 0, not {k!r}")


def _check_unit(unit: Literal["documents", "passages"]) -> None:
    if unit not in {"documents", "passages"}:
        raise ConfigurationError(
            f"`returns` must be 'documents' or 'passages', not {unit!r}"
        )


def _refuse(kwargs: dict[str, Any]) -> None:
    # A misspelt `filter` must never search unfiltered.
    if kwargs:
        raise ConfigurationError(
            f"there is no argument {', '.join(f'`{name}`' for name in kwargs)}"
        )
