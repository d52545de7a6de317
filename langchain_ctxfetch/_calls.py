"""Read a call to a retriever: what is wanted, checked once and early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Required

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config

# Not from typing: pydantic reads this one on Python 3.11 as well.
from typing_extensions import TypedDict

from langchain_ctxfetch._bridge import to_document
from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.hits import Hit, told
from langchain_ctxfetch._core.identity import KeyFunction
from langchain_ctxfetch._core.numbers import whole
from langchain_ctxfetch._core.paging import last_page
from langchain_ctxfetch._core.plan import Source
from langchain_ctxfetch._core.ranked import Fusion, FusionName
from langchain_ctxfetch.errors import ConfigurationError, PageError
from langchain_ctxfetch.ports import Channel, StoreChannel, Where

MOST_K = 1000
WEIGHTS_OF_A_STORE = {"keyword": 0.75, "vector": 0.25}
INFINITE = float("inf")
PARAMETERS = frozenset({"page", "k", "where"})


class HybridQuery(TypedDict, total=False):
    """Be the input of a retriever where a text alone does not say enough.

    Attributes:
        query: The text asked.
        page: Which page, from 1.
        k: Its size, in documents.
        where: A filter that narrows the retriever's own.
    """

    query: Required[str]
    page: int
    k: int
    where: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one call wants, checked."""

    query: str
    page: int
    k: int
    where: Where | None


@dataclass(frozen=True, slots=True)
class Fields:
    """Hold what a retriever's fields say where a call says nothing."""

    page: int
    k: int
    max_window: int
    filter: Where | None


def read_call(
    given: str | HybridQuery,
    config: RunnableConfig | None,
    keywords: Mapping[str, Any],
    fields: Fields,
) -> Wanted:
    """Read a call: keyword, input, configuration, field, in this order.

    Args:
        given: The input.
        config: The configuration of the call.
        keywords: Its keywords; None counts as not given.
        fields: The retriever's own.

    Returns:
        What is wanted.

    Raises:
        ConfigurationError: If an argument is unknown or wrong.
        PageError: If the page is out of range.
    """
    _refuse_unknown("keyword", keywords, PARAMETERS)
    asked: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    _refuse_unknown("key of the input", asked, PARAMETERS | {"query"})
    query = asked.get("query") if isinstance(given, Mapping) else given
    if not isinstance(query, str):
        raise ConfigurationError(f"`query` must be a text, not {query!r:.100}")
    held = ensure_config(config).get("configurable", {})
    told = {name: held.get(f"ctxfetch_{name}") for name in PARAMETERS}
    k = check_k(_first(keywords.get("k"), asked.get("k"), told["k"], fields.k))
    page = _first(keywords.get("page"), asked.get("page"), told["page"], fields.page)
    page = check_page(page, k, fields.max_window)
    where = filters.join(
        fields.filter, told["where"], asked.get("where"), keywords.get("where")
    )
    filters.parse(where)
    return Wanted(query, page, k, where)


def _first(*values: Any) -> Any:  # noqa: ANN401 - whatever a caller gave
    return next(value for value in values if value is not None)


def _refuse_unknown(
    what: str, given: Mapping[str, Any], known: AbstractSet[str]
) -> None:
    unknown = sorted(set(given) - known)
    if unknown:
        raise ConfigurationError(
            f"unknown {what} {', '.join(map(repr, unknown))}; "
            f"known are {', '.join(sorted(known))}"
        )


def check_k(k: object) -> int:
    try:
        size = whole(k)
    except ConfigurationError:
        size = 0
    if not 1 <= size <= MOST_K:
        raise ConfigurationError(
            f"`k` must be a whole number from 1 to {MOST_K:,}, not {k!r}"
        )
    return size


def check_page(page: object, k: int, max_window: int) -> int:
    last = last_page(k, max_window)
    try:
        number = whole(page)
    except ConfigurationError:
        raise PageError(page, last) from None
    if not 1 <= number <= last:
        raise PageError(page, last)
    return number


def check_weights(
    weights: Mapping[str, float] | None,
    channels: Sequence[Channel],
    fusion: FusionName | Fusion,
) -> None:
    if weights is None:
        return
    _refuse_unknown("channel in `weights`", weights, {c.name for c in channels})
    allowed = "0 or 1" if fusion == "round_robin" else "0 or more, and finite"
    for name, weight in weights.items():
        right = weight in {0, 1} if fusion == "round_robin" else 0 <= weight < INFINITE
        if not right:
            raise ConfigurationError(
                f"`weights` of {name!r} must be {allowed}, not {weight!r}"
            )
    if not any(weights_of(weights, channels, fusion).values()):
        raise ConfigurationError("`weights` must leave at least one channel above 0")


def check_floors(
    floors: Mapping[str, float] | None, channels: Sequence[Channel]
) -> None:
    _refuse_unknown("channel in `floors`", floors or {}, {c.name for c in channels})
    for name, floor in (floors or {}).items():
        if not -INFINITE < floor < INFINITE:
            raise ConfigurationError(
                f"`floors` of {name!r} must be a finite number, not {floor!r}"
            )


def weights_of(
    weights: Mapping[str, float] | None,
    channels: Sequence[Channel],
    fusion: FusionName | Fusion,
) -> dict[str, float]:
    if weights is not None:
        return {channel.name: weights.get(channel.name, 1.0) for channel in channels}
    if fusion != "weighted":
        return {channel.name: 1.0 for channel in channels}
    return {
        channel.name: WEIGHTS_OF_A_STORE.get(channel.channel, 1.0)
        if isinstance(channel, StoreChannel)
        else 1.0
        for channel in channels
    }


def sources_of(
    channels: Sequence[Channel],
    weights: Mapping[str, float],
    floors: Mapping[str, float] | None,
    where: Where | None,
) -> Iterator[Source]:
    first_of: dict[int, int] = {}
    for at, channel in enumerate(channels):
        source = Source(
            channel.name,
            weights[channel.name],
            max_depth=channel.max_depth,
            floor=(floors or {}).get(channel.name),
        )
        if isinstance(channel, StoreChannel):
            store = first_of.setdefault(id(channel.store), at)
            yield replace(source, store=store)
        elif where and not channel.supports_filter:
            yield replace(
                source,
                refusal=ConfigurationError(
                    f"the channel {channel.name!r} cannot filter, so it is not asked "
                    "a filtered question"
                ),
            )
        else:
            yield source


def key_function(
    key: str | Callable[[Document], str] | None,
) -> KeyFunction | None:
    if key is None:
        return None
    if callable(key):
        return _guarded(key)

    def named(hit: Hit) -> str | None:
        value = hit.metadata.get(key)
        return None if value is None else str(value)

    return named


def _guarded(key: Callable[[Document], object]) -> KeyFunction:
    """Let an error of a caller's own function say whose it is."""

    def named(hit: Hit) -> str | None:
        try:
            name = key(to_document(hit))
        except Exception as error:
            raise ConfigurationError(
                f"`key` failed for the document {hit.id!r}: {told(error)}"
            ) from error
        return None if name is None else str(name)

    return named
