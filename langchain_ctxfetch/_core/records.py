"""What parts were reduced to, kept for the next time under what shaped it.

A part stands under its own text and under everything else that shapes its reduction.
That it was left out holds only behind the same parts before it, where a conversation
goes on; in another context it may be the best there is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any

from langchain_ctxfetch._core.flow import Failed, Flow
from langchain_ctxfetch._core.hits import Gap, told
from langchain_ctxfetch._core.shrinking import Form, How, Part

_VERSION = 1
_TYPES = {
    "text": str | None,
    "how": str,
    "room": int,
    "reply": str | None,
    "finished": bool,
    "target": int,
}


@dataclass(frozen=True, slots=True)
class Record:
    """Be what a part was reduced to.

    Attributes:
        text: What stood in its place; None where it was left out.
        how: How that was made.
        room: The characters that it was made for.
        reply: The summary that a model wrote, as it came.
        finished: Whether the model had finished it.
        target: The tokens that the summary was asked to have.
    """

    text: str | None
    how: How
    room: int
    reply: str | None = None
    finished: bool = True
    target: int = 0

    def dumped(self) -> bytes:
        """Return the record as bytes.

        >>> Record.loaded(Record("short", "cut", 9).dumped()).text
        'short'
        """
        return json.dumps({"v": _VERSION, **asdict(self)}).encode()

    @classmethod
    def loaded(cls, data: object) -> Record | None:
        """Read a record; None where it is none, or of another version."""
        if not isinstance(data, bytes | str):
            return None
        try:
            held: dict[str, Any] = json.loads(data)
            version = held.pop("v")
            sound = all(isinstance(held.get(name), of) for name, of in _TYPES.items())
            return cls(**held) if version == _VERSION and sound else None
        except (TypeError, ValueError, KeyError, AttributeError):
            return None

    def form(self) -> Form | None:
        """Return what stands in the place of the part."""
        return None if self.text is None else Form(self.text, self.how)


@dataclass(frozen=True, slots=True)
class Shape:
    """Be what shapes a reduction beside the part.

    Attributes:
        values: Plain values: budget, model, prompts, question, counter.
    """

    values: tuple[Any, ...]

    def names(self, parts: Sequence[Part]) -> list[tuple[str, str]]:
        """Return for each part the name of its record, and of its being left out."""
        names: list[tuple[str, str]] = []
        earlier = ""
        for part in parts:
            own = _digest(
                (self.values, part.type, part.source, part.title, part.floor, part.text)
            )
            earlier = _digest([earlier, own])
            names.append((own, earlier))
        return names


@dataclass(frozen=True, slots=True)
class Recall:
    """Ask for what is recorded; answered by bytes or None for each name."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Remember:
    """Ask to keep records; answered by anything."""

    records: Mapping[str, bytes]


def recalled(
    parts: Sequence[Part], shape: Shape, gaps: list[Gap]
) -> Flow[Recall, Sequence[bytes | None], list[Record | None]]:
    """Return what each part was reduced to, None where that is not known."""
    names = shape.names(parts)
    asked = tuple(name for pair in names for name in pair)
    (outcome,) = yield [Recall(asked)]
    if isinstance(outcome, Failed):
        gaps.append(Gap("cache", "not_searched", told(outcome.error)))
        return [None] * len(parts)
    found = [Record.loaded(data) if data else None for data in outcome.value]
    if len(found) != len(asked):
        reason = f"{len(found)} values for {len(asked)} keys"
        gaps.append(Gap("cache", "not_searched", reason))
        return [None] * len(parts)
    # That it was left out counts before how it once was reduced elsewhere.
    return [left or own for own, left in zip(found[::2], found[1::2], strict=True)]


def remembered(
    parts: Sequence[Part],
    records: Sequence[Record | None],
    shape: Shape,
    gaps: list[Gap],
) -> Flow[Remember, None, int]:
    """Keep what the parts were reduced to; those that were not have None.

    Args:
        parts: The parts.
        records: What each was reduced to.
        shape: What shaped it.
        gaps: Takes what could not be done.

    Rounds:
        The records, if there are any.

    Returns:
        How many there were to keep.
    """
    kept: dict[str, bytes] = {}
    for (own, left), record in zip(shape.names(parts), records, strict=True):
        if record is not None:
            kept[left if record.text is None else own] = record.dumped()
    if kept:
        (outcome,) = yield [Remember(kept)]
        if isinstance(outcome, Failed):
            gaps.append(Gap("cache", "missing", told(outcome.error)))
    return len(kept)


def _digest(values: Sequence[Any]) -> str:
    text = json.dumps(values, ensure_ascii=True)
    return f"ctxfetch-{sha256(text.encode()).hexdigest()}"
