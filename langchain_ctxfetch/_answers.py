"""Answers what the policy asks: by the store, the embedding, the scorer, or itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias, assert_never

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.flow import Outcome
from langchain_ctxfetch._core.requests import (
    Compare,
    FetchPassages,
    FetchWhole,
    Request,
    ScoreTexts,
    Work,
)
from langchain_ctxfetch._rounds import Job, aanswer_each, answer_each, run_blocking
from langchain_ctxfetch.errors import ConfigurationError, StoreError
from langchain_ctxfetch.ports import SearchStore, Where

Scorer: TypeAlias = Callable[[str, Sequence[str]], Sequence[float]]

_SMALL = 20_000
"""Characters that the event loop may wait for."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Hold what requests are answered with.

    Attributes:
        store: Brings texts and passages.
        where: The filter that stands in every call to the store.
        embedding: Turns texts into vectors.
        scorer: Says how well texts answer a query.
        eager: Whether all work may take long, whatever its size.
    """

    store: SearchStore | None
    where: Where | None
    embedding: Embeddings | None
    scorer: Scorer | None
    eager: bool

    def answer(self, asked: Sequence[Request]) -> list[Outcome[Any]]:
        """Answer the requests of a round at the same time."""
        return answer_each([self._job(request) for request in asked])

    async def aanswer(self, asked: Sequence[Request]) -> list[Outcome[Any]]:
        """Same as `answer`, while the event loop goes on."""
        return await aanswer_each([self._job(request) for request in asked])

    def _job(self, request: Request) -> Job[Any]:
        match request:
            case FetchWhole() | FetchPassages():
                return self._store_job(request)
            case Compare():
                return self._compare_job(request)
            case ScoreTexts():
                score = partial(self._score, request)
                return Job("the scorer", score, partial(run_blocking, score))
            case Work():
                return Job("the work", request.run, partial(self._awork, request))
            case _:
                assert_never(request)

    def _store_job(self, request: FetchWhole | FetchPassages) -> Job[Any]:
        store = _given(self.store, "store")
        ids = list(request.ids)
        if isinstance(request, FetchWhole):
            return Job(
                "the store",
                partial(store.fetch, ids, filter=self.where),
                partial(store.afetch, ids, filter=self.where),
            )
        query, room = request.query, request.room

        def highlight() -> Sequence[Outcome[Any]]:
            brought = store.highlight(ids, query, filter=self.where, room=room)
            return _one_each(ids, brought)

        async def ahighlight() -> Sequence[Outcome[Any]]:
            brought = await store.ahighlight(ids, query, filter=self.where, room=room)
            return _one_each(ids, brought)

        return Job("the store", highlight, ahighlight)

    def _compare_job(self, request: Compare) -> Job[list[float]]:
        embedding, texts = _given(self.embedding, "embedding"), list(request.texts)

        def compare() -> list[float]:
            asked = embedding.embed_query(request.query)
            return cosines(texts, asked, embedding.embed_documents(texts))

        async def acompare() -> list[float]:
            asked = await embedding.aembed_query(request.query)
            vectors = await embedding.aembed_documents(texts)
            return await run_blocking(partial(cosines, texts, asked, vectors))

        return Job("the embedding", compare, acompare)

    def _score(self, request: ScoreTexts) -> list[float]:
        scorer = _given(self.scorer, "scorer")
        scores = [float(score) for score in scorer(request.query, request.texts)]
        _check_number(len(request.texts), len(scores), "`scorer`", "scores")
        return scores

    def _awork(self, request: Work) -> Awaitable[Any]:
        if self.eager or request.size > _SMALL:
            return run_blocking(request.run)
        return _now(request.run)


async def _now(run: Callable[[], Any]) -> Any:  # noqa: ANN401 - any result
    return run()


def _given(value: Any, name: str) -> Any:  # noqa: ANN401 - one of several ports
    """Return what a request needs, which the settings said is there."""
    if value is None:
        raise ConfigurationError(f"`{name}` is needed for this, but was not given")
    return value


def _one_each(
    ids: Sequence[str], brought: Sequence[Outcome[Any]]
) -> Sequence[Outcome[Any]]:
    _check_number(len(ids), len(brought), "the store", "outcomes")
    return brought


def cosines(
    texts: Sequence[str], asked: Sequence[float], vectors: Sequence[Sequence[float]]
) -> list[float]:
    """Return the cosine of the angle between each vector and *asked*.

    >>> cosines(["a", "b"], [1, 0], [[2, 0], [0, 0]])
    [1.0, 0.0]

    Args:
        texts: What the vectors are of.
        asked: The vector of the query.
        vectors: One for each text, of the same dimension.

    Returns:
        Numbers from -1 to 1; 0 for a null vector.

    Raises:
        StoreError: If there is not a vector for each text, or of another dimension.
    """
    _check_number(len(texts), len(vectors), "`embedding`", "vectors")
    for vector in vectors:
        _check_number(len(asked), len(vector), "`embedding`", "numbers in a vector")
    wide = np.asarray([asked, *vectors], np.float64)
    lengths = np.linalg.norm(wide, axis=1)
    unit = wide / np.where(lengths > 0, lengths, 1)[:, None]
    return [float(value) for value in unit[1:] @ unit[0]]


def _check_number(wanted: int, came: int, who: str, what: str) -> None:
    if wanted != came:
        raise StoreError(f"{who} brought {came} {what} where {wanted} were asked for")
