"""What a page is made of: the plan, the requests, and documents at their places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.identity import KeyFunction
from langchain_ctxfetch._core.ranked import Fusion, FusionName
from langchain_ctxfetch.errors import ConfigurationError


@dataclass(frozen=True, slots=True)
class Search:
    """Ask a channel, named by its place in the plan, for its best hits."""

    channel: int
    depth: int
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Fetch:
    """Ask a store, named by the first of its channels, for texts of documents."""

    store: int
    ids: tuple[str, ...]


Ask: TypeAlias = Search | Fetch


@dataclass(frozen=True, slots=True)
class Source:
    """Describe a channel to the flow.

    Attributes:
        name: Its name.
        weight: What its vote counts; above 0.
        store: The place of the first channel of its store, which brings texts on
            request; None for a channel that brings texts with its hits.
        max_depth: The most hits that it can be asked for.
        refusal: Why it cannot be asked this question; None where it can.
        floor: The least score of a hit that counts; None where any does.
    """

    name: str
    weight: float = 1.0
    store: int | None = None
    max_depth: int | None = None
    refusal: ConfigurationError | None = None
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """Describe the page that is wanted.

    Attributes:
        sources: The channels, in their order.
        page: Its number, from 1.
        k: Its size, in documents.
        fusion: How rankings become one.
        max_window: The most places that can be paged through.
        content: Whether whole documents or only their best passages are wanted.
        strict: Whether one failing channel fails the page.
        key: What makes hits one document, before the rule of `Identities`.
        accepts: Whether a hit of a channel without a store matches the filter.
    """

    sources: tuple[Source, ...]
    page: int
    k: int
    fusion: FusionName | Fusion = "round_robin"
    max_window: int = 100
    content: Literal["document", "passages"] = "document"
    strict: bool = False
    key: KeyFunction | None = None
    accepts: Callable[[Hit], bool] = lambda _: True

    @property
    def widest(self) -> int:
        """Return how many distinct hits a fusion over scores wants of a channel."""
        return max(self.max_window, self.k + 1)


@dataclass(frozen=True, slots=True)
class Placed:
    """Be a document at its place.

    Attributes:
        hit: The copy of it that represents it.
        score: The fused score.
        channels: For each channel that found it: its rank there, from 1, and score.
        store: The place of the first channel of the store that has its text.
        content: Whether the hit's text is the document or passages of it.
    """

    hit: Hit
    score: float
    channels: Mapping[str, tuple[int, float | None]]
    store: int | None = None
    content: Literal["document", "passages"] = "document"
