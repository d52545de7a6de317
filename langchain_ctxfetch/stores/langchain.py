"""Retrievers and vector stores of LangChain as channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import ConfigurationError, StoreError
from langchain_ctxfetch.ports import Channel, SearchStore, StoreChannel, Where
from langchain_ctxfetch.stores._foreign import (
    DEEPER,
    Arguments,
    attempts_at,
    checked_depth,
    deepest,
    documents_in,
    fetching,
    has_async,
    hit_of,
    is_async,
    least,
    only_async,
    refuse_filter,
    scored_in,
)
from langchain_ctxfetch.stores._translations import (
    document_filter,
    metadata_filter,
    operator_filter,
)

__all__ = [
    "RetrieverChannel",
    "VectorStoreChannel",
    "as_channels",
    "document_filter",
    "metadata_filter",
    "operator_filter",
]


class RetrieverChannel(Channel):
    """Let a retriever of LangChain be a channel, by the order of its documents.

    The depth is handed on as `k`: as a keyword where the retriever takes one, else
    on a copy of it with another `k` or `search_kwargs`. A retriever that knows
    neither, such as one that asks several others, is asked as it is. One that finds
    pieces and returns what they are pieces of is asked for more of them until the
    depth is reached. It cannot filter, so a filtered question is refused. Pages are
    stable if it answers a deeper question with a continuation of its shorter answer.

    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    >>> _ = vectors.add_texts(["green tea", "coffee", "milk"], ids=["t", "c", "m"])
    >>> channel = RetrieverChannel(vectors.as_retriever(), name="meaning")
    >>> [hit.id for hit in channel.ask("green tea", 1, None)]
    ['t']

    Args:
        retriever: What is asked.
        name: What weights, gaps and metadata call it; its class's name by default.
        trust_ids: Whether the ids of its documents name them. If not, because they
            are made up anew for every answer or every copy of a document, they are
            dropped, and documents are one by source, start index and text.
        depth: Always ask for so many documents, and never serve more: for a search
            whose order depends on how many it is asked for, as that of approximate
            indexes does. By default as many as are needed.
    """

    def __init__(
        self,
        retriever: BaseRetriever,
        *,
        name: str | None = None,
        trust_ids: bool = True,
        depth: int | None = None,
    ) -> None:
        self.retriever = retriever
        self.name = name or retriever.get_name()
        self.trust_ids = trust_ids
        self.depth = checked_depth(depth)
        self.max_depth = least(self.depth, deepest(retriever))

    def __repr__(self) -> str:
        return f"RetrieverChannel({self.retriever.get_name()}, name={self.name!r})"

    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Return the retriever's documents as hits, at most *depth*."""
        refuse_filter(self, where)
        hits: list[Hit] = []
        for retriever, keywords in attempts_at(self.retriever, self.depth or depth):
            hits = self._hits(self._invoke(retriever, query, keywords), depth)
            if len(hits) == depth:
                break
        return hits

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously."""
        refuse_filter(self, where)
        hits: list[Hit] = []
        for retriever, keywords in attempts_at(self.retriever, self.depth or depth):
            hits = self._hits(await self._ainvoke(retriever, query, keywords), depth)
            if len(hits) == depth:
                break
        return hits

    def _invoke(
        self, retriever: BaseRetriever, query: str, keywords: Arguments
    ) -> object:
        try:
            return retriever.invoke(query, **keywords)
        except NotImplementedError as error:
            raise only_async(self) from error

    async def _ainvoke(
        self, retriever: BaseRetriever, query: str, keywords: Arguments
    ) -> object:
        if is_async(retriever, keywords):
            try:
                return await retriever.ainvoke(query, **keywords)
            except NotImplementedError:
                pass  # a stub: its blocking twin is the one that answers
        return await run_blocking(self._invoke, retriever, query, keywords)

    def _hits(self, found: object, depth: int) -> list[Hit]:
        documents = documents_in(self, found)[:depth]
        return [hit_of(each, None, named=self.trust_ids) for each in documents]


class VectorStoreChannel(Channel):
    """Let a vector store of LangChain be a channel, by the order of its documents.

    >>> from langchain_core.vectorstores import InMemoryVectorStore
    >>> from langchain_core.embeddings import DeterministicFakeEmbedding
    >>> vectors = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
    >>> _ = vectors.add_texts(["tea", "milk"], [{"t": 1}, {"t": 2}], ids=["1", "2"])
    >>> channel = VectorStoreChannel(vectors, translate=document_filter, score=float)
    >>> [(hit.id, hit.score > 0.99) for hit in channel.ask("milk", 5, {"t": 2})]
    [('2', True)]

    Filters: every store has its own. These make them of ours:

    | store                          | `translate`                       |
    | ------------------------------ | --------------------------------- |
    | InMemoryVectorStore            | `document_filter`                 |
    | FAISS                          | `metadata_filter`                 |
    | Chroma, and others with `$and` | `operator_filter`                 |
    | any other                      | a function of your own of *where* |

    FAISS filters what it has fetched, 20 by default; it is told to fetch everything.
    The order of an approximate index depends on how many it is asked for: over 4,000
    random vectors 21 of 36 answers of Chroma were no beginning of its longer one, so
    round robin would repeat documents on later pages. Give *depth* there, at least the
    retriever's `max_window`. InMemoryVectorStore and FAISS (flat) need none.

    Scores: there are none by default. `similarity_search_with_score` gives a
    similarity in some stores (InMemoryVectorStore) and a distance in others (FAISS,
    Chroma), without saying which. `similarity_search_with_relevance_scores`, which
    should settle it, is missing in InMemoryVectorStore and gives FAISS numbers far
    below 0, with a warning, where vectors are not of length 1. So say yourself what
    the number means. Only with scores has `floors` a meaning, and only with them
    does `weighted` know by how much a document is better than the next.

    Args:
        vectorstore: What is asked.
        name: What weights, gaps and metadata call it; its class's name by default.
        translate: Makes the store's own filter of a filter of ours. Without it a
            filtered question is refused. What the store then returns is checked
            again, so a translation that lets too much through leaks nothing.
        score: Makes a score, the higher the better, of the number that
            `similarity_search_with_score` gives: `float` for a similarity,
            `lambda distance: -distance` for a distance.
        trust_ids: Whether the ids of its documents name them. If not, as where two
            stores have made up ids for the same texts, they are dropped, and
            documents are one by source, start index and text.
        depth: Always ask for so many documents, and never serve more, so that an
            approximate index has one order. By default as many as are needed.
    """

    def __init__(
        self,
        vectorstore: VectorStore,
        *,
        name: str | None = None,
        translate: Callable[[Where], Any] | None = None,
        score: Callable[[float], float] | None = None,
        trust_ids: bool = True,
        depth: int | None = None,
    ) -> None:
        self.vectorstore = vectorstore
        self.translate = translate
        self.score = score
        self.trust_ids = trust_ids
        self.name = name or type(vectorstore).__name__
        self.supports_filter = translate is not None
        self.depth = self.max_depth = checked_depth(depth)

    def __repr__(self) -> str:
        store = type(self.vectorstore).__name__
        return f"VectorStoreChannel({store}, name={self.name!r})"

    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Return the store's documents as hits, at most *depth*."""
        hits: list[Hit] = []
        for k, filtered in self._attempts(depth, where):
            found = self._search(query, k, filtered)
            hits, done = self._hits(found, depth, k, where)
            if done:
                break
        return hits

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously."""
        hits: list[Hit] = []
        for k, filtered in self._attempts(depth, where):
            found = await self._asearch(query, k, filtered)
            hits, done = self._hits(found, depth, k, where)
            if done:
                break
        return hits

    def _search(self, query: str, k: int, filtered: Arguments) -> object:
        store = self.vectorstore
        try:
            if self.score is None:
                return store.similarity_search(query, k=k, **filtered)
            return store.similarity_search_with_score(query, k=k, **filtered)
        except NotImplementedError as error:
            raise only_async(self) from error

    async def _asearch(self, query: str, k: int, filtered: Arguments) -> object:
        store = self.vectorstore
        name = "asimilarity_search" + ("_with_score" if self.score else "")
        # LangChain's own twin blocks a thread that the loop waits for at its end.
        if has_async(store, name):
            try:
                return await getattr(store, name)(query, k=k, **filtered)
            except NotImplementedError:
                pass  # a stub: its blocking twin is the one that answers
        return await run_blocking(self._search, query, k, filtered)

    def _attempts(
        self, depth: int, where: Where | None
    ) -> Sequence[tuple[int, Arguments]]:
        refuse_filter(self, where)
        if not where or self.translate is None:
            return [(self.depth or depth, {})]
        ks = [self.depth] if self.depth else [times * depth for times in DEEPER]
        store, filtered = self.vectorstore, self.translate(where)
        return [(k, {"filter": filtered, **fetching(store, k)}) for k in ks]

    def _hits(
        self, found: object, depth: int, asked: int, where: Where | None
    ) -> tuple[list[Hit], bool]:
        """Return the hits that match, and whether it is no use to ask for more."""
        scored: Sequence[tuple[Document, float | None]] = (
            scored_in(self, found, self.score)
            if self.score
            else [(document, None) for document in documents_in(self, found)]
        )
        passes = document_filter(where or {})
        matching = [pair for pair in scored if passes(pair[0])]
        done = len(matching) >= depth or len(scored) < asked
        if not done and not self.depth and asked >= DEEPER[-1] * depth:
            raise StoreError(
                f"`translate` of {self.name} lets too much through: of "
                f"{len(scored):,} documents {len(matching):,} match the filter",
                store=self.name,
            )
        named = self.trust_ids
        kept = matching[:depth]
        return [hit_of(each, score, named=named) for each, score in kept], done


def as_channels(sources: Sequence[object]) -> tuple[Channel, ...]:
    """Make channels of whatever a retriever may be given.

    Args:
        sources: Channels, stores of ours (each counts as all its channels), vector
            stores and retrievers of LangChain.

    Returns:
        The channels, in order.

    Raises:
        ConfigurationError: If there is none, two have one name, or one is none of
            these things.
    """
    channels = tuple(chain.from_iterable(_channels_of(source) for source in sources))
    if not channels:
        raise ConfigurationError("`channels` must have at least one channel")
    names = [_name_of(channel) for channel in channels]
    again = {name for name in names if names.count(name) > 1}
    if again:
        raise ConfigurationError(
            f"`channels` must have different names; there is more than one "
            f"{', '.join(sorted(map(repr, again)))}: name them, as in "
            "RetrieverChannel(retriever, name=...)"
        )
    return channels


def _name_of(channel: Channel) -> str:
    name = getattr(channel, "name", None)
    if not isinstance(name, str) or not name.strip():
        raise ConfigurationError(
            f"`name` of a channel must be a text that is not blank; that of "
            f"{type(channel).__name__} is {name!r}"
        )
    return name


def _channels_of(source: object) -> Sequence[Channel]:
    if isinstance(source, Channel):
        return [source]
    if isinstance(source, SearchStore):
        return [StoreChannel(source, name) for name in source.channel_names()]
    if isinstance(source, VectorStore):
        return [VectorStoreChannel(source)]
    if isinstance(source, BaseRetriever):
        return [RetrieverChannel(source)]
    raise ConfigurationError(
        "`channels` may hold a Channel, a store, a VectorStore or a BaseRetriever, "
        f"not {source!r}"
    )
