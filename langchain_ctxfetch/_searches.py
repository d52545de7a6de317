"""Put the questions of one page to the channels, a store's in one round."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import TypeAlias

from langchain_ctxfetch._bridge import clean_value
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.plan import Ask, Fetch, Search
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._rounds import (
    Job,
    Stopped,
    aanswer_each,
    answer_each,
    run_blocking,
)
from langchain_ctxfetch.errors import StoreError
from langchain_ctxfetch.ports import (
    Channel,
    SearchRequest,
    SearchStore,
    StoreChannel,
    Where,
)

Answers: TypeAlias = Sequence[Outcome[list[Hit]]]


@dataclass(frozen=True, slots=True)
class Searches:
    """Answer the rounds of one page.

    Attributes:
        channels: What is asked, in the order of the plan.
        query: The text asked.
        where: What every document must match.
        bodies: Whether stores must bring texts and metadata with their hits.
        timeout_s: The most seconds for each channel; None waits for ever.
        strict: Whether the first failure stops the round.
    """

    channels: Sequence[Channel]
    query: str
    where: Where | None
    bodies: bool
    timeout_s: float | None
    strict: bool

    def answer(self, asked: Sequence[Ask]) -> list[Outcome[list[Hit]]]:
        """Answer a round of `find_page`."""
        places, jobs = self._jobs(asked)
        answers = answer_each(jobs, timeout_s=self.timeout_s)
        return _in_order(len(asked), places, answers)

    async def aanswer(self, asked: Sequence[Ask]) -> list[Outcome[list[Hit]]]:
        """Same as `answer`, but asynchronously."""
        places, jobs = self._jobs(asked)
        answers = await aanswer_each(
            jobs, timeout_s=self.timeout_s, fail_fast=self.strict
        )
        return _in_order(len(asked), places, answers)

    def _jobs(self, asked: Sequence[Ask]) -> tuple[list[list[int]], list[Job[Answers]]]:
        """Group what one store is asked; return places in the round and jobs."""
        groups: dict[int, list[int]] = {}
        for at, ask in enumerate(asked):
            groups.setdefault(self._group(at, ask), []).append(at)
        places = list(groups.values())
        return places, [self._job([asked[at] for at in group]) for group in places]

    def _group(self, at: int, ask: Ask) -> int:
        if isinstance(ask, Search):
            channel = self.channels[ask.channel]
            if isinstance(channel, StoreChannel):
                return id(channel.store)
        return -1 - at

    def _job(self, asks: Sequence[Ask]) -> Job[Answers]:
        first = asks[0]
        if isinstance(first, Fetch):
            return self._fetch_job(first)
        searches = [ask for ask in asks if isinstance(ask, Search)]
        channel = self.channels[first.channel]
        if isinstance(channel, StoreChannel):
            return self._store_job(channel.store, searches)
        return self._channel_job(channel, first.depth)

    def _store_job(
        self, store: SearchStore, searches: Sequence[Search]
    ) -> Job[Answers]:
        channels = [self.channels[search.channel] for search in searches]
        requests = [
            SearchRequest(
                channel.channel,
                self.query,
                search.depth,
                self.where,
                bodies=self.bodies,
                complete=search.complete,
            )
            for channel, search in zip(channels, searches, strict=True)
            if isinstance(channel, StoreChannel)
        ]
        name = ", ".join(channel.name for channel in channels)

        def call() -> Answers:
            return _whole_round(name, store.search_round(requests), len(requests))

        async def acall() -> Answers:
            answers = await store.asearch_round(requests)
            return _whole_round(name, answers, len(requests))

        return Job(name, call, acall)

    def _channel_job(self, channel: Channel, depth: int) -> Job[Answers]:
        # A copy: what a channel does to it changes no other question, nor the filter.
        arguments = (self.query, depth, copy.deepcopy(self.where))

        def call() -> Answers:
            return [_checked(channel, channel.ask(*arguments), depth)]

        async def acall() -> Answers:
            if type(channel).aask is Channel.aask:
                # A thread of ours, of which there is a bounded number.
                return await run_blocking(call)
            return [_checked(channel, await channel.aask(*arguments), depth)]

        return Job(channel.name, call, acall)

    def _fetch_job(self, fetch: Fetch) -> Job[Answers]:
        channel = self.channels[fetch.store]
        if not isinstance(channel, StoreChannel):
            raise TypeError(f"{channel!r} has no store to fetch from")
        store = channel.store

        async def acall() -> Answers:
            return [Ok(await store.afetch(fetch.ids, filter=self.where))]

        return Job(
            channel.name,
            lambda: [Ok(store.fetch(fetch.ids, filter=self.where))],
            acall,
        )


def _in_order(
    count: int, places: Sequence[Sequence[int]], answers: Sequence[Outcome[Answers]]
) -> list[Outcome[list[Hit]]]:
    outcomes: list[Outcome[list[Hit]]] = [Ok([])] * count
    for group, answer in zip(places, answers, strict=True):
        if isinstance(answer, Failed) and isinstance(answer.error, Stopped):
            continue  # the failure that stopped it is told, and it alone
        each = (
            [answer] * len(group) if isinstance(answer, Failed) else list(answer.value)
        )
        for at, outcome in zip(group, each, strict=True):
            outcomes[at] = outcome
    return outcomes


def _checked(channel: Channel, answer: object, depth: int) -> Outcome[list[Hit]]:
    """Take a foreign answer in: only hits, at most as many as asked, plain scores."""
    answers = list(answer) if isinstance(answer, list | tuple) else [answer]
    hits = [hit for hit in answers if isinstance(hit, Hit)]
    if len(hits) < len(answers):
        return Failed(
            StoreError(
                f"{channel.name} must answer with a list of hits, not {answer!r:.100}",
                store=channel.name,
            )
        )
    return Ok([_clean(hit) for hit in hits[:depth]])


def _clean(hit: Hit) -> Hit:
    text = None if hit.text is None else clean(hit.text)
    metadata = copy.deepcopy(dict(hit.metadata))
    return replace(
        hit,
        text=text,
        metadata={key: clean_value(value) for key, value in metadata.items()},
        score=_plain(hit.score),
        passages=tuple(hit.passages),
    )


def _whole_round(name: str, answers: object, asked: int) -> list[Outcome[list[Hit]]]:
    """Take the answer of a store in: one outcome for each request."""
    outcomes = list(answers) if isinstance(answers, list | tuple) else []
    told = [
        outcome
        for outcome in outcomes
        if isinstance(outcome, Failed)
        or (isinstance(outcome, Ok) and isinstance(outcome.value, list))
    ]
    if len(told) != asked or len(outcomes) != asked:
        raise StoreError(
            f"the store of {name} must answer {asked} requests with as many outcomes, "
            f"not {answers!r:.100}",
            store=name,
        )
    return told


def _plain(score: object) -> float | None:
    if score is None:
        return None
    number = float(score)  # type: ignore[arg-type]  # numpy scalars know __float__
    return number if isfinite(number) else None
