"""What a search brings: hits, their passages, and what it could not bring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

GapKind = Literal["not_searched", "partly_searched", "query_not_searchable", "missing"]


class Passage(NamedTuple):
    """Point at a stretch of a document.

    Attributes:
        start: Where it begins in the stored text, in characters.
        end: Where it ends, in characters; the stretch is `text[start:end]`.
        text: That stretch, or None where the search did not bring it.
    """

    start: int
    end: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """Be one result of a channel.

    Attributes:
        id: What names the document; None where a channel knows no ids.
        text: The whole stored text, or None where the search did not bring it.
        metadata: What was stored with the document.
        score: The channel's own score, higher is better; None where it has none.
        length: The length of the whole text in characters, where it is known.
        passages: The passages that made it a hit, best first.
    """

    id: str | None
    text: str | None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    score: float | None = None
    length: int | None = None
    passages: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """Be what one channel found, as a fusion sees it.

    Attributes:
        channel: The name of the channel.
        keys: What identifies each place, best first, each once.
        scores: The channel's score of each place; empty where it has none.
        extra: Scores of documents that only other channels brought.
        absent: The score of all other documents; None where nobody knows it.
    """

    channel: str
    keys: Sequence[str]
    scores: Sequence[float] = ()
    extra: Mapping[str, float] = field(default_factory=dict)
    absent: float | None = None


@dataclass(frozen=True, slots=True)
class Gap:
    """Name something that was not searched or not delivered, and why.

    Attributes:
        part: The channel, document or other part that it is about.
        kind: What happened to that part.
        reason: A sentence for the reader.
    """

    part: str
    kind: GapKind
    reason: str

    def __str__(self) -> str:
        return f"{self.part}: {self.kind.replace('_', ' ')}: {self.reason}"


def told(error: Exception) -> str:
    """Say what an error was, as the reason of a gap.

    >>> told(OSError("refused"))
    'OSError: refused'
    """
    return f"{type(error).__name__}: {error}"
