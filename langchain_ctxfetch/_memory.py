"""A store of whole documents in plain Python, for tests and for reading."""

from __future__ import annotations

import copy
import threading
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from langchain_ctxfetch._bridge import METADATA_KEY, clean_value
from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._core.words import split_terms
from langchain_ctxfetch._language import stemmer
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import (
    SearchRequest,
    SearchStore,
    StoreChannel,
    Where,
    WritableStore,
)
from langchain_ctxfetch.stores._documents import check_id
from langchain_ctxfetch.stores._highlighting import quoted


@dataclass(frozen=True, slots=True)
class _Kept:
    """Hold a document and how often it has each term."""

    hit: Hit
    terms: Counter[str]


class MemoryStore(SearchStore, WritableStore):
    """Keep whole documents in a dict, and find them by counting words.

    It keeps every promise of the ports in as few lines as it can: take it in tests in
    the place of a real store, or read it before you write a store of your own. It
    reads every document for every question, so it is no store for many of them.

    >>> store = MemoryStore([Hit("1", "green tea"), Hit("2", "tea, tea and coffee")])
    >>> [hit.id for hit in store.channel("keyword").ask("tea", 10, None)]
    ['2', '1']
    >>> store.remove(["2"]), len(store)
    (1, 1)

    Args:
        documents: What it holds from the beginning; they are copied.
        language: Whose words are reduced to their stems, as in `SQLiteStore`.
    """

    def __init__(self, documents: Iterable[Hit] = (), *, language: str = "en") -> None:
        self._stem = stemmer(language)
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()
        self.put(list(documents))

    def __repr__(self) -> str:
        return f"MemoryStore({len(self)} documents)"

    def __len__(self) -> int:
        return len(self._kept)

    def channel(self, name: str = "keyword") -> StoreChannel:
        """Return one way of searching this store, for a retriever.

        Args:
            name: One of `channel_names`.

        Returns:
            The channel.

        Raises:
            ConfigurationError: If the store has no such channel.
        """
        return StoreChannel(self, name)

    # --- Searching ---

    def channel_names(self) -> Sequence[str]:
        """Return the one channel that there is."""
        return ("keyword",)

    def search_round(
        self, requests: Sequence[SearchRequest]
    ) -> list[Outcome[list[Hit]]]:
        """Answer several requests from one state of the store, in their order."""
        state = self._state()
        rankings = [self._ranking(state, request) for request in requests]
        brought = {
            name
            for request, ranking in zip(requests, rankings, strict=True)
            for name in list(ranking)[: request.depth]
        }
        return [
            self._answer(state, request, ranking, brought)
            for request, ranking in zip(requests, rankings, strict=True)
        ]

    async def asearch_round(
        self, requests: Sequence[SearchRequest]
    ) -> list[Outcome[list[Hit]]]:
        """Same as `search_round`, but asynchronously."""
        return self.search_round(requests)

    def _state(self) -> dict[str, _Kept]:
        with self._lock:
            return dict(self._kept)

    def _ranking(
        self, state: Mapping[str, _Kept], request: SearchRequest
    ) -> dict[str, int]:
        """Return the scores of the documents that have a word of the question."""
        if request.channel not in self.channel_names():
            return {}
        words = set(split_terms(clean(request.query), self._stem)[0])
        scores = {
            name: score
            for name, kept in _passing(state, request.where).items()
            if (score := sum(kept.terms[word] for word in words)) > 0
        }
        # Sorting is stable: of equal scores the older document comes first, at any
        # depth, so a short answer is the beginning of a longer one.
        best_first = sorted(scores.items(), key=lambda pair: -pair[1])
        return dict(best_first)

    def _answer(
        self,
        state: Mapping[str, _Kept],
        request: SearchRequest,
        ranking: Mapping[str, int],
        brought: Iterable[str],
    ) -> Outcome[list[Hit]]:
        if request.channel not in self.channel_names():
            return Failed(
                ConfigurationError(f"`channel` must be keyword, not {request.channel}")
            )
        names = list(ranking)[: request.depth]
        if request.complete:
            passing = _passing(state, request.where)
            others = set(brought) - set(names)
            names += sorted(name for name in others if name in passing)
        return Ok(
            [
                _found(state[name].hit, ranking.get(name, 0), bodies=request.bodies)
                for name in names
            ]
        )

    # --- Bringing texts ---

    def fetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> list[Hit]:
        """Bring the documents that exist and match, in the order of *ids*."""
        passing = _passing(self._state(), filter)
        return [copy.deepcopy(passing[name].hit) for name in ids if name in passing]

    async def afetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> list[Hit]:
        """Same as `fetch`, but asynchronously."""
        return self.fetch(ids, filter=filter)

    def highlight(
        self,
        ids: Sequence[str],
        query: str,
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
        room: int = 3000,
    ) -> list[Outcome[Hit | None]]:
        """Bring the passages that answer *query*, at most *room* characters each."""
        found = {hit.id: hit for hit in self.fetch(ids, filter=filter)}
        return [
            quoted(found.get(name), query, stem=self._stem, room=room) for name in ids
        ]

    async def ahighlight(
        self,
        ids: Sequence[str],
        query: str,
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
        room: int = 3000,
    ) -> list[Outcome[Hit | None]]:
        """Same as `highlight`, but asynchronously."""
        return self.highlight(ids, query, filter=filter, room=room)

    # --- Writing ---

    def put(self, documents: Sequence[Hit]) -> list[str]:
        """Store whole documents, replacing those of the same id; return the ids.

        Args:
            documents: Each with its text; one without an id is given one.

        Returns:
            The ids, in the order of the documents.

        Raises:
            ConfigurationError: If one has no text or an id that is none; then nothing
                was stored.
        """
        kept = [self._keep(hit) for hit in documents]
        names = [each.hit.id or "" for each in kept]
        with self._lock:
            self._kept.update(zip(names, kept, strict=True))
        return names

    async def aput(self, documents: Sequence[Hit]) -> list[str]:
        """Same as `put`, but asynchronously."""
        return self.put(documents)

    def _keep(self, hit: Hit) -> _Kept:
        if hit.text is None:
            raise ConfigurationError(f"a document needs its text; {hit.id!r} has none")
        check_id(hit.id)
        text = clean(hit.text)
        metadata = {
            key: clean_value(value)
            for key, value in copy.deepcopy(dict(hit.metadata)).items()
            if key != METADATA_KEY
        }
        stored = Hit(hit.id or str(uuid.uuid4()), text, metadata, length=len(text))
        return _Kept(stored, Counter(split_terms(text, self._stem)[0]))

    def remove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> int:
        """Remove the documents named or matched or both; return how many there were."""
        if ids is None and filter is None:
            raise ConfigurationError(
                "`ids` or `filter` must say what to remove; `filter={}` is everything"
            )
        with self._lock:
            passing = _passing(self._kept, filter)
            gone = set(passing) if ids is None else set(passing).intersection(ids)
            for name in gone:
                del self._kept[name]
        return len(gone)

    async def aremove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> int:
        """Same as `remove`, but asynchronously."""
        return self.remove(ids, filter=filter)

    def records(
        self,
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run through ids and metadata of the documents that match, oldest first."""
        for name, kept in _passing(self._state(), filter).items():
            yield name, copy.deepcopy(dict(kept.hit.metadata))


def _passing(state: Mapping[str, _Kept], where: Where | None) -> dict[str, _Kept]:
    parsed = filters.parse(where)
    return {
        name: kept
        for name, kept in state.items()
        if filters.matches(parsed, kept.hit.metadata)
    }


def _found(hit: Hit, score: float, *, bodies: bool) -> Hit:
    if bodies:
        return replace(copy.deepcopy(hit), score=float(score))
    return Hit(hit.id, None, score=float(score), length=hit.length)
