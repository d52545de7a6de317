"""The searches of LangChain's `VectorStore`, written once for every store of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self, TypeAlias, get_args

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores.utils import maximal_marginal_relevance

from langchain_ctxfetch._bridge import to_document
from langchain_ctxfetch._core.filters import parse
from langchain_ctxfetch._core.flow import Ok, unwrap
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.numbers import whole_from
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import ConfigurationError, StoreError
from langchain_ctxfetch.ports import Where
from langchain_ctxfetch.stores._documentstore import DocumentStore, refuse
from langchain_ctxfetch.stores._embedding import (
    aembed_question,
    check_query,
    embed_question,
    no_embedding,
    read_vector,
)
from langchain_ctxfetch.stores._probes import Found, Probe, Unit
from langchain_ctxfetch.stores._vectors import unit_vectors

Scored: TypeAlias = list[tuple[Document, float]]

_HALF_RELEVANT = 10.0  # the keyword score that is shown as a relevance of one half


class SearchableStore(DocumentStore):
    """Search whole documents as LangChain does: by text, by vector, diversely.

    Searches use vectors where the store has an embedding, and keywords otherwise.
    Results are documents as they were stored; with `returns="passages"` they are the
    passages themselves, with the id `id#start-end` and, in their metadata,
    `source_id` and `start_index`.
    """

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: object,
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
        refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return [document for document, _ in _scored(self._find(probe), returns)]

    async def asimilarity_search(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: object,
    ) -> list[Document]:
        """Same as `similarity_search`, but asynchronously."""
        refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return [document for document, _ in _scored(await self._afind(probe), returns)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: object,
    ) -> Scored:
        """Same as `similarity_search`, with scores: higher is better."""
        refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return _scored(self._find(probe), returns)

    async def asimilarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: object,
    ) -> Scored:
        """Same as `similarity_search_with_score`, but asynchronously."""
        refuse(kwargs)
        probe = self._probe(query, k, filter, returns)
        return _scored(await self._afind(probe), returns)

    def similarity_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: object,
    ) -> list[Document]:
        """Same as `similarity_search`, from a vector; that needs an embedding."""
        refuse(kwargs)
        probe = self._vector_probe(embedding, k, filter, returns)
        return [document for document, _ in _scored(self._find(probe), returns)]

    async def asimilarity_search_by_vector(
        self,
        embedding: Sequence[float],
        k: int = 4,
        *,
        filter: Where | None = None,  # noqa: A002
        returns: Unit = "documents",
        **kwargs: object,
    ) -> list[Document]:
        """Same as `similarity_search_by_vector`, but asynchronously."""
        refuse(kwargs)
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
        **kwargs: object,
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
        check_query(query)
        _check_choice(k, fetch_k, lambda_mult)
        vector = unwrap(embed_question(self.embeddings, query))
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
        **kwargs: object,
    ) -> list[Document]:
        """Same as `max_marginal_relevance_search`, but asynchronously."""
        check_query(query)
        _check_choice(k, fetch_k, lambda_mult)
        vector = unwrap(await aembed_question(self.embeddings, query))
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
        **kwargs: object,
    ) -> list[Document]:
        """Same as `max_marginal_relevance_search`, from a vector."""
        refuse(kwargs)
        _check_choice(k, fetch_k, lambda_mult)
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
        **kwargs: object,
    ) -> list[Document]:
        """Same as `max_marginal_relevance_search_by_vector`, but asynchronously."""
        refuse(kwargs)
        _check_choice(k, fetch_k, lambda_mult)
        probe = self._vector_probe(embedding, max(k, fetch_k), filter)
        return _diverse(embedding, await self._afind(probe), k, lambda_mult)

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return self._relevance

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
        **kwargs: Any,  # noqa: ANN401 - whatever the constructor takes
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
        store = cls(embedding=embedding, **kwargs)  # type: ignore[call-arg]  # every store takes one
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
        **kwargs: Any,  # noqa: ANN401 - whatever the constructor takes
    ) -> Self:
        """Same as `from_texts`, but asynchronously."""
        make: Callable[..., Self] = cls
        store = await run_blocking(make, embedding=embedding, **kwargs)
        await store.aadd_texts(texts, metadatas, ids=ids)
        return store

    def _probe(self, query: str, k: int, where: Where | None, unit: Unit) -> Probe:
        check_query(query)
        k = whole_from(0, "k", k)
        _check_unit(unit)
        parse(where)  # a wrong filter is refused before a model is asked
        channel = "keyword" if self.embeddings is None else "vector"
        return Probe(channel, query, k, where, unit=unit)

    def _vector_probe(
        self,
        vector: Sequence[float],
        k: int,
        where: Where | None,
        unit: Unit = "documents",
    ) -> Probe:
        k = whole_from(0, "k", k)
        _check_unit(unit)
        parse(where)  # a wrong filter is refused before a model is asked
        if self.embeddings is None:
            raise no_embedding()
        return Probe("vector", "", k, where, unit=unit, vector=Ok(_given(vector)))


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


def _given(vector: object) -> list[float]:
    read = read_vector(vector)
    if read is None:
        raise StoreError(
            f"`embedding` must be a list of finite numbers, not {vector!r:.100}"
        )
    return read


def _diverse(
    vector: Sequence[float], found: Sequence[Found], k: int, lambda_mult: float
) -> list[Document]:
    rows = [each.vector for each in found if each.vector is not None]
    if not rows:
        return []
    # LangChain's function stumbles over vectors of zeros: each gets a direction of
    # its own, so that they are similar to nothing else.
    asked = unit_vectors([vector], None)
    question = np.hstack([asked, [[0, not asked.any()]]])
    nothing = ~np.any(rows, axis=1, keepdims=True)
    choices = np.hstack([rows, nothing, np.zeros_like(nothing)])
    chosen = maximal_marginal_relevance(
        question[0], list(choices), lambda_mult=lambda_mult, k=k
    )
    return [to_document(found[at].hit) for at in chosen]


def _check_choice(k: int, fetch_k: int, lambda_mult: float) -> None:
    whole_from(0, "k", k)
    whole_from(0, "fetch_k", fetch_k)
    if not _is_share(lambda_mult):
        raise ConfigurationError(
            f"`lambda_mult` must be a number from 0 to 1, not {lambda_mult!r}"
        )


def _is_share(value: object) -> bool:
    return (
        isinstance(value, int | float | np.floating)
        and not isinstance(value, bool)
        and bool(0 <= value <= 1)
    )


def _check_unit(unit: str) -> None:
    if unit not in get_args(Unit):
        raise ConfigurationError(
            f"`returns` must be 'documents' or 'passages', not {unit!r}"
        )
