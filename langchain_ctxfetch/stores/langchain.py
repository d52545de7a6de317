"""Retrievers and vector stores of LangChain as channels."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore

from langchain_ctxfetch._bridge import to_hit
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import Channel, SearchStore, StoreChannel, Where


class RetrieverChannel(Channel):
    """Let a retriever of LangChain be a channel, by the order of its documents.

    The depth is handed on as `k`: as a keyword where the retriever takes one, else
    on a copy of it with another `k` or `search_kwargs`. A retriever that knows
    neither is asked as it is. It cannot filter, so it is never asked a filtered
    question. Pages are stable if it answers a deeper question with a continuation
    of its shorter answer.

    Args:
        retriever: What is asked.
        name: What weights, gaps and metadata call it; its class's name by default.
    """

    def __init__(self, retriever: BaseRetriever, *, name: str | None = None) -> None:
        self.retriever = retriever
        self.name = name or retriever.get_name()
        self.max_depth = getattr(type(retriever), "max_k", None)

    def __repr__(self) -> str:
        return f"RetrieverChannel({self.retriever.get_name()}, name={self.name!r})"

    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Return the retriever's documents as hits, at most *depth*."""
        del where  # a channel that cannot filter is never asked to
        retriever, keywords = self._reaching(depth)
        return _hits(retriever.invoke(query, **keywords), depth)

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously."""
        del where
        retriever, keywords = self._reaching(depth)
        return _hits(await retriever.ainvoke(query, **keywords), depth)

    def _reaching(self, depth: int) -> tuple[BaseRetriever, dict[str, Any]]:
        retriever = self.retriever
        fields = type(retriever).model_fields
        if "k" in inspect.signature(retriever._get_relevant_documents).parameters:  # noqa: SLF001 - where LangChain itself looks
            return retriever, {"k": depth}
        if "k" in fields:
            return retriever.model_copy(update={"k": depth}), {}
        if "search_kwargs" in fields:
            held = {**getattr(retriever, "search_kwargs", {}), "k": depth}
            return retriever.model_copy(update={"search_kwargs": held}), {}
        return retriever, {}


class VectorStoreChannel(Channel):
    """Let a vector store of LangChain be a channel, by the order of its documents.

    Args:
        vectorstore: What is asked.
        name: What weights, gaps and metadata call it; its class's name by default.
        translate: Makes the store's own filter of a filter of ours. Without it a
            filtered question is refused. What the store then returns is checked
            again, so a translation that lets too much through leaks nothing.
    """

    def __init__(
        self,
        vectorstore: VectorStore,
        *,
        name: str | None = None,
        translate: Callable[[Where], Any] | None = None,
    ) -> None:
        self.vectorstore = vectorstore
        self.translate = translate
        self.name = name or type(vectorstore).__name__
        self.supports_filter = translate is not None

    def __repr__(self) -> str:
        store = type(self.vectorstore).__name__
        return f"VectorStoreChannel({store}, name={self.name!r})"

    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Return the store's documents as hits, at most *depth*."""
        found = self.vectorstore.similarity_search(
            query, k=depth, **self._filter(where)
        )
        return _hits(found, depth)

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously."""
        found = await self.vectorstore.asimilarity_search(
            query, k=depth, **self._filter(where)
        )
        return _hits(found, depth)

    def _filter(self, where: Where | None) -> dict[str, Any]:
        if where is None or self.translate is None:
            return {}
        return {"filter": self.translate(where)}


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


def _hits(documents: Sequence[Document], depth: int) -> list[Hit]:
    return [to_hit(document) for document in documents[:depth]]
