"""What the passages of a document are worth: by words, by meaning, by the caller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, TypeVar

from langchain_ctxfetch._core.desk import Desk
from langchain_ctxfetch._core.excerpts import Material, coarse_units, scored_by
from langchain_ctxfetch._core.flow import Failed, Flow, Outcome, unwrap
from langchain_ctxfetch._core.hits import Gap, told
from langchain_ctxfetch._core.requests import Compare, Request, ScoreTexts, Work
from langchain_ctxfetch._core.text import Span

T = TypeVar("T")


def judge(desk: Desk, rooms: dict[int, int]) -> Flow[Request, Any, list[Gap]]:
    """Score the documents that have to be cut.

    Args:
        desk: The documents; their scores are noted there.
        rooms: By document the characters that it will have, about.

    Rounds:
        Work, then a round of scores, or of vectors for those without any word of the
        question, where the settings offer them.

    Returns:
        A gap for what could not be asked.
    """

    def by_words() -> dict[int, list[Span]]:
        for i, room in rooms.items():
            desk.score(i, room)
        if not desk.query.strip():
            return {}
        units = {i: _units(desk, i, room) for i, room in rooms.items()}
        return {i: found for i, found in units.items() if found}

    units = yield from work(desk.size, by_words)
    gaps: list[Gap] = []
    if desk.policy.scores and units:
        gaps += yield from _by_scorer(desk, units)
    elif desk.policy.embeds and units:
        gaps += yield from _by_meaning(desk, units)
    return gaps


def work(size: int, run: Callable[[], T]) -> Flow[Request, Any, T]:
    """Have a computation done where it does not hold anybody up."""
    outcomes: Sequence[Outcome[T]] = yield [Work(size, run)]
    return unwrap(outcomes[0])


def _units(desk: Desk, i: int, room: int) -> list[Span]:
    """Return the stretches that a model shall judge; none where words suffice."""
    material = desk.materials[i]
    if material is None:
        return []
    if material.scored is None:
        return coarse_units(material.text, room)
    if not desk.policy.scores:
        return []
    text = material.text
    return [unit for unit in material.scored.units if text[slice(*unit)].strip()]


def _by_scorer(
    desk: Desk, units: dict[int, list[Span]]
) -> Flow[Request, Any, list[Gap]]:
    outcomes: Sequence[Outcome[Any]] = yield [
        ScoreTexts(desk.query, _texts(desk, i, found)) for i, found in units.items()
    ]
    gaps: list[Gap] = []
    for (i, found), outcome in zip(units.items(), outcomes, strict=True):
        if isinstance(outcome, Failed):
            gaps.append(Gap("scorer", "not_searched", told(outcome.error)))
        else:
            _note(desk, i, found, outcome.value)
    return gaps


def _by_meaning(
    desk: Desk, units: dict[int, list[Span]]
) -> Flow[Request, Any, list[Gap]]:
    texts = [text for i, found in units.items() for text in _texts(desk, i, found)]
    (outcome,) = yield [Compare(desk.query, tuple(texts))]
    if isinstance(outcome, Failed):
        return [Gap("embedding", "not_searched", told(outcome.error))]
    scores = iter(outcome.value)
    for i, found in units.items():
        _note(desk, i, found, list(islice(scores, len(found))))
    return []


def _note(desk: Desk, i: int, units: list[Span], scores: Sequence[float]) -> None:
    material: Material | None = desk.materials[i]
    if material is not None:
        desk.materials[i] = scored_by(material, units, scores)


def _texts(desk: Desk, i: int, units: Sequence[Span]) -> tuple[str, ...]:
    material = desk.materials[i]
    text = "" if material is None else material.text
    return tuple(text[start:end].strip() for start, end in units)
