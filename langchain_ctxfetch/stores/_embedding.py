"""Embedding texts so that one that a model rejects does not spoil the others."""

from __future__ import annotations

import warnings
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.flow import Failed, Flow, Ok, Outcome
from langchain_ctxfetch._core.numbers import whole_from
from langchain_ctxfetch._core.text import clean, floor_boundary
from langchain_ctxfetch.errors import ConfigurationError, StoreError
from langchain_ctxfetch.ports import SearchRequest

Vector: TypeAlias = list[float]

SHORTEST = 100
"""Characters; a model that rejects a text of so few is not rejecting its length."""

_NAMES = ("model", "model_name", "model_id", "deployment", "repo_id")


def checked_embedding(embedding: Embeddings | None) -> Embeddings | None:
    """Refuse what cannot turn texts and questions into vectors."""
    ways = ("embed_documents", "embed_query")
    if embedding is None or all(callable(getattr(embedding, way, 0)) for way in ways):
        return embedding
    raise ConfigurationError(
        f"`embedding` must be LangChain `Embeddings`, not {embedding!r:.100}"
    )


def embedding_name(embedding: Embeddings) -> str:
    """Return what identifies a model: class name, and model name where it has one."""
    name = type(embedding).__name__
    for attribute in _NAMES:
        model = getattr(embedding, attribute, None)
        if isinstance(model, str) and model:
            return f"{name}:{model}"
    return name


def embed_texts(
    texts: Sequence[str],
) -> Flow[Sequence[str], list[Vector], list[Vector]]:
    """Embed texts: all at once, else one by one, else the beginning of each.

    It asks in rounds of one request, each a list of texts for the model.

    Args:
        texts: None of them blank.

    Returns:
        A vector for each text.

    Raises:
        Exception: The model's own, where it rejects even a short text.
    """
    if not texts:
        return []
    (outcome,) = yield [texts]
    if isinstance(outcome, Ok):
        return outcome.value
    vectors: list[Vector] = []
    for text in texts:
        vector = yield from _embed_beginning(text)
        vectors.append(vector)
    return vectors


def _embed_beginning(text: str) -> Flow[Sequence[str], list[Vector], Vector]:
    """Embed a text, or as much of its beginning as the model takes."""
    length = len(text)
    while True:
        (outcome,) = yield [[text[:length]]]
        if isinstance(outcome, Ok):
            break
        if length <= SHORTEST:
            raise outcome.error
        length = floor_boundary(text, max(SHORTEST, length // 2))
    if length < len(text):
        warnings.warn(
            f"the embedding rejects a text of {len(text)} characters; its vector comes"
            f" from the first {length}. A smaller `passage_size` avoids that.",
            stacklevel=2,
        )
    return outcome.value[0]


def embed_with(
    embedding: Embeddings,
) -> Callable[[Sequence[Sequence[str]]], list[Outcome[list[Vector]]]]:
    """Return what answers the rounds of `embed_texts`."""

    def answer(asked: Sequence[Sequence[str]]) -> list[Outcome[list[Vector]]]:
        return [_attempt(embedding, list(texts)) for texts in asked]

    return answer


def aembed_with(
    embedding: Embeddings,
) -> Callable[[Sequence[Sequence[str]]], Awaitable[list[Outcome[list[Vector]]]]]:
    """Same as `embed_with`, but asynchronously."""

    async def answer(asked: Sequence[Sequence[str]]) -> list[Outcome[list[Vector]]]:
        return [await _aattempt(embedding, list(texts)) for texts in asked]

    return answer


def questions(requests: Iterable[SearchRequest]) -> list[str]:
    """Return the questions of a round that need a vector, each once.

    Args:
        requests: The round.

    Returns:
        The questions, without the blank ones.

    Raises:
        ConfigurationError: If a request has no text or no depth.
    """
    requests = list(requests)
    for each in requests:
        check_query(each.query)
        whole_from(0, "depth", each.depth)
    asked = (each.query for each in requests if each.channel == "vector")
    return list(dict.fromkeys(query for query in asked if query.strip()))


def check_query(query: object) -> None:
    """Refuse a question that is no text."""
    if not isinstance(query, str):
        raise ConfigurationError(f"`query` must be a text, not {query!r:.100}")


def read_vector(given: object) -> Vector | None:
    """Return a vector as plain numbers; None where it is none.

    >>> read_vector([1, 2]), read_vector(None), read_vector([[1]])
    ([1.0, 2.0], None, None)
    """
    try:
        row = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        return None
    if row.ndim != 1 or not row.size or not np.isfinite(row).all():
        return None
    plain: Vector = row.tolist()
    return plain


def embed_question(embedding: Embeddings | None, query: str) -> Outcome[Vector]:
    """Return the vector of a question, or what became of it."""
    if embedding is None:
        return Failed(no_embedding())
    try:
        return _read(embedding.embed_query(clean(query)))
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        return Failed(_not_embedded(error))


async def aembed_question(embedding: Embeddings | None, query: str) -> Outcome[Vector]:
    """Same as `embed_question`, but asynchronously."""
    if embedding is None:
        return Failed(no_embedding())
    try:
        return _read(await embedding.aembed_query(clean(query)))
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        return Failed(_not_embedded(error))


def _read(given: object) -> Outcome[Vector]:
    vector = read_vector(given)
    if vector is None:
        raise ValueError(f"a list of finite numbers is needed, not {given!r:.100}")
    return Ok(vector)


def no_embedding() -> ConfigurationError:
    return ConfigurationError(
        "a search by vector needs vectors: give the store an `embedding`"
    )


def _not_embedded(error: Exception) -> StoreError:
    return StoreError(
        f"the `embedding` failed on the question: {error}", errors=(error,)
    )


def _attempt(embedding: Embeddings, texts: list[str]) -> Outcome[list[Vector]]:
    try:
        return _whole(embedding.embed_documents(texts), texts)
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        return Failed(error)


async def _aattempt(embedding: Embeddings, texts: list[str]) -> Outcome[list[Vector]]:
    try:
        return _whole(await embedding.aembed_documents(texts), texts)
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        return Failed(error)


def _whole(vectors: list[Vector], texts: list[str]) -> Outcome[list[Vector]]:
    if len(vectors) != len(texts):
        return Failed(
            ValueError(
                f"the `embedding` gave {len(vectors)} vectors for {len(texts)} texts"
            )
        )
    return Ok(vectors)
