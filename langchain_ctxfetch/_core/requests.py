"""What the policy asks for: texts, passages, vectors, scores, and its own work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class FetchWhole:
    """Ask the store for whole texts; answered by a list of hits."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FetchPassages:
    """Ask the store for the passages that answer a query, so many characters each.

    Answered by one outcome for each id: a hit with passages, or None.
    """

    ids: tuple[str, ...]
    query: str
    room: int


@dataclass(frozen=True, slots=True)
class Compare:
    """Ask how near each text is to a query in meaning; answered by cosines."""

    query: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ScoreTexts:
    """Ask how well each text answers a query; answered by one number for each."""

    query: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Work:
    """Ask for a computation, which may take long; answered by its result.

    Attributes:
        size: How much text it goes through, in characters, about.
        run: Does it.
    """

    size: int
    run: Callable[[], Any]


Request: TypeAlias = FetchWhole | FetchPassages | Compare | ScoreTexts | Work
