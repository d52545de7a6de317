"""What a store, a channel and a token counter must be able to do."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, runtime_checkable

from langchain_ctxfetch._core.flow import Outcome, unwrap
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.errors import ConfigurationError

Where: TypeAlias = Mapping[str, Any]
"""A metadata filter in the language of the README."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Ask one channel of a store for its best documents.

    Attributes:
        channel: The channel's name, `"keyword"` or `"vector"` in our stores.
        query: The text asked.
        depth: The most documents wanted; an answer of depth n is the beginning
            of the answer of any greater depth.
        where: Only documents that match it are searched.
        bodies: Whether the hits need text and metadata already in this answer;
            else ids, scores, lengths and passages suffice.
        complete: Whether documents that only the other channels of the same round
            brought are wanted too: after the first *depth* hits, each with the
            score that this channel gives it, 0 or below where it does not match.
    """

    channel: str
    query: str
    depth: int
    where: Where | None = None
    bodies: bool = False
    complete: bool = False


@runtime_checkable
class SearchStore(Protocol):
    """Find whole documents by one or several channels, and bring their text."""

    def channel_names(self) -> Sequence[str]:
        """Return the channels that this store can serve, the preferred one first."""
        ...

    def search_round(
        self, requests: Sequence[SearchRequest]
    ) -> Sequence[Outcome[list[Hit]]]:
        """Answer several requests from one state of the store, in their order."""
        ...

    async def asearch_round(
        self, requests: Sequence[SearchRequest]
    ) -> Sequence[Outcome[list[Hit]]]:
        """Same as `search_round`, but asynchronously."""
        ...

    def fetch(self, ids: Sequence[str], *, filter: Where | None = None) -> list[Hit]:  # noqa: A002 - LangChain's word
        """Bring text and metadata of the documents that exist and match."""
        ...

    async def afetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Hit]:
        """Same as `fetch`, but asynchronously."""
        ...

    def highlight(
        self,
        ids: Sequence[str],
        query: str,
        *,
        filter: Where | None = None,  # noqa: A002
        room: int = 3000,
    ) -> Sequence[Outcome[Hit | None]]:
        """Bring the passages that answer *query*, at most *room* characters each.

        One outcome for each id, in order: a hit with its passages in reading order
        and their text (none where nothing matches), None for a document that does
        not exist or does not match, `Failed` where that document alone failed.
        """
        ...

    async def ahighlight(
        self,
        ids: Sequence[str],
        query: str,
        *,
        filter: Where | None = None,  # noqa: A002
        room: int = 3000,
    ) -> Sequence[Outcome[Hit | None]]:
        """Same as `highlight`, but asynchronously."""
        ...


@runtime_checkable
class WritableStore(Protocol):
    """Take documents in, and out again."""

    def put(self, documents: Sequence[Hit]) -> list[str]:
        """Store whole documents, replacing those of the same id; return the ids."""
        ...

    async def aput(self, documents: Sequence[Hit]) -> list[str]:
        """Same as `put`, but asynchronously."""
        ...

    def remove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> int:
        """Remove the documents named or matched; return how many there were."""
        ...

    async def aremove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> int:
        """Same as `remove`, but asynchronously."""
        ...

    def records(
        self,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run through ids and metadata of the documents that match, without text."""
        ...


class Channel(ABC):
    """Be one way of searching.

    Subclass it to plug in a search of your own: give it a *name*, say whether it
    can filter, and answer `ask`, and `aask` where there is a better way than a thread.

    Attributes:
        name: What gaps, weights and metadata call it; unique within a retriever.
        supports_filter: Whether `ask` obeys *where*. A channel that cannot filter
            is never asked a filtered question.
        max_depth: The most hits that it can be asked for; None where any number.
    """

    name: str
    supports_filter: bool = False
    max_depth: int | None = None

    @abstractmethod
    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Return the best hits, at most *depth*, best first, in a fixed order.

        An answer must be the beginning of the answer of any greater depth.
        """

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously; by default in a thread."""
        return await asyncio.to_thread(self.ask, query, depth, where)


class StoreChannel(Channel):
    """Be one channel of a store; what `store.channel(...)` returns.

    Several channels of one store are asked in one round, from one state of it.

    Args:
        store: The store that is searched.
        channel: The channel's name within the store.
        name: What a retriever calls it; the channel's name by default.
    """

    supports_filter = True

    def __init__(
        self, store: SearchStore, channel: str, *, name: str | None = None
    ) -> None:
        if channel not in store.channel_names():
            raise ConfigurationError(
                f"`channel` must be one of {', '.join(store.channel_names())}, "
                f"not {channel!r}" + _HINTS.get(channel, "")
            )
        self.store = store
        self.channel = channel
        self.name = name or channel

    def __repr__(self) -> str:
        return f"StoreChannel({self.store!r}, {self.channel!r}, name={self.name!r})"

    def __deepcopy__(self, memo: dict[int, Any]) -> StoreChannel:
        return self  # a copy of a retriever shares the store

    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Return the best hits with their text, at most *depth*, best first."""
        (outcome,) = self.store.search_round([self._request(query, depth, where)])
        return unwrap(outcome)

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously."""
        requests = [self._request(query, depth, where)]
        (outcome,) = await self.store.asearch_round(requests)
        return unwrap(outcome)

    def _request(self, query: str, depth: int, where: Where | None) -> SearchRequest:
        return SearchRequest(self.channel, query, depth, where, bodies=True)


_HINTS = {"vector": "; give the store an `embedding` to search by vector"}


@runtime_checkable
class TokenCounter(Protocol):
    """Say how many tokens a text has: a deterministic function of the text."""

    def count(self, text: str) -> int:
        """Return the number of tokens of *text*."""
        ...

    def count_messages(self, messages: Sequence[Any], tools: Sequence[Any] = ()) -> int:
        """Return the number of tokens of a request with these messages and tools."""
        ...
