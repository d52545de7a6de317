"""Doubles and contracts for those who test an application, or write a store.

`ScriptedChannel` and `MemoryStore` take the place of a channel or store in tests.
`StoreContract`, `WritableStoreContract` and `ChannelContract` are tests to inherit:
they say whether a store or channel of your own does what a retriever relies on.
Nothing here imports pytest.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from langchain_ctxfetch._channelcontract import ChannelContract
from langchain_ctxfetch._contracts import DOCUMENTS
from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._memory import MemoryStore
from langchain_ctxfetch._storecontract import StoreContract
from langchain_ctxfetch._writecontract import WritableStoreContract
from langchain_ctxfetch.ports import Channel, Where

__all__ = [
    "DOCUMENTS",
    "Asked",
    "ChannelContract",
    "MemoryStore",
    "Script",
    "ScriptedChannel",
    "StoreContract",
    "WritableStoreContract",
]

Script: TypeAlias = Sequence[Hit] | Exception | Callable[[str], Sequence[Hit]]


@dataclass(frozen=True, slots=True)
class Asked:
    """Record one question that a channel was asked."""

    query: str
    depth: int
    where: Where | None


class ScriptedChannel(Channel):
    """Answer from a script, and record what was asked.

    Args:
        name: The channel's name.
        script: What every question is answered with: hits, best first; an error,
            which is raised; or a function of the query that gives hits.
        then: Scripts for the second question, the third and so on; the last one
            serves for all that follow.
        supports_filter: Whether the channel obeys filters.
        max_depth: The most hits that it can be asked for.

    >>> channel = ScriptedChannel("fake", [Hit("1", "tea"), Hit("2", "coffee")])
    >>> [hit.text for hit in channel.ask("hot drinks", 1, None)]
    ['tea']
    >>> channel.asked
    [Asked(query='hot drinks', depth=1, where=None)]
    """

    def __init__(
        self,
        name: str,
        script: Script,
        *,
        then: Sequence[Script] = (),
        supports_filter: bool = True,
        max_depth: int | None = None,
    ) -> None:
        self.name = name
        self.supports_filter = supports_filter
        self.max_depth = max_depth
        self.asked: list[Asked] = []
        self._scripts = [script, *then]
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"ScriptedChannel({self.name!r}, asked={len(self.asked)})"

    def ask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Answer from the script: at most *depth* hits that match *where*."""
        with self._lock:
            script = self._scripts[min(len(self.asked), len(self._scripts) - 1)]
            self.asked.append(Asked(query, depth, where))
        if isinstance(script, Exception):
            raise script
        hits = script(query) if callable(script) else script
        wanted = filters.parse(where)
        matching = (hit for hit in hits if filters.matches(wanted, hit.metadata))
        return list(matching)[:depth]

    async def aask(self, query: str, depth: int, where: Where | None) -> list[Hit]:
        """Same as `ask`, but asynchronously."""
        return self.ask(query, depth, where)
