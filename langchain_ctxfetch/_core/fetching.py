"""Which documents are asked for whole, which by their passages, in two rounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any, TypeAlias

from langchain_ctxfetch._core.excerpts import (
    Marks,
    Material,
    held_passages,
    whole_text,
)
from langchain_ctxfetch._core.flow import Failed, Flow, Outcome
from langchain_ctxfetch._core.hits import Gap, Hit, Passage, told
from langchain_ctxfetch._core.requests import FetchPassages, FetchWhole, Request
from langchain_ctxfetch._core.text import clean

_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Wanted:
    """Say what is wanted of a store.

    Attributes:
        whole: Ids of the documents wanted whole.
        passages: Ids of those of which only the answering passages are wanted.
        query: The question.
        room: The most characters of a document's passages.
    """

    whole: tuple[str, ...]
    passages: tuple[str, ...]
    query: str
    room: int


@dataclass(slots=True)
class Fetched:
    """Be what came: material by id; who is not in it is missing, and a gap says why."""

    materials: dict[str, Material] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)

    def lose(self, name: str, reason: str) -> None:
        """Note that a document was not delivered."""
        self.gaps.append(Gap(name, "missing", reason))


Fetching: TypeAlias = Flow[Request, Any, Fetched]


def read_length(value: object) -> int | None:
    """Read a length out of metadata; None where it says none.

    >>> [read_length(value) for value in (5, "7", 3000.9, " 7 ", "12.5", "x", None)]
    [5, 7, 3000, None, None, None, None]
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        number = int(value) if _WHOLE_NUMBER.fullmatch(value) else None
    elif isinstance(value, Integral):
        number = int(value)
    elif isinstance(value, Real):
        number = _whole(float(value))
    else:
        return None
    return number if number is not None and number >= 0 else None


def _whole(value: float) -> int | None:
    return int(value) if abs(value) < float("inf") else None


def fetch(wanted: Wanted, marks: Marks) -> Fetching:
    """Fetch whole documents and passages at once, then whole what brought none.

    Args:
        wanted: What is wanted.
        marks: What will stand between passages.

    Rounds:
        At most two rounds: first a request for the whole documents and one for the
        passages, then one for the documents without an answering passage.

    Returns:
        What came.
    """
    fetched = Fetched()
    asks = _first_round(wanted)
    outcomes = (yield asks) if asks else ()
    again: list[str] = []
    for ask, outcome in zip(asks, outcomes, strict=True):
        if isinstance(ask, FetchWhole):
            _take_whole(fetched, ask.ids, outcome)
        else:
            again = _take_passages(fetched, ask.ids, outcome, marks)
    if again:
        (outcome,) = yield [FetchWhole(tuple(again))]
        _take_whole(fetched, again, outcome)
    return fetched


def _first_round(wanted: Wanted) -> list[FetchWhole | FetchPassages]:
    asks: list[FetchWhole | FetchPassages] = []
    if wanted.whole:
        asks.append(FetchWhole(wanted.whole))
    if wanted.passages:
        asks.append(FetchPassages(wanted.passages, wanted.query, wanted.room))
    return asks


def _take_whole(fetched: Fetched, ids: Sequence[str], outcome: Outcome[Any]) -> None:
    if isinstance(outcome, Failed):
        for name in ids:
            fetched.lose(name, f"its text could not be fetched: {told(outcome.error)}")
        return
    hits: dict[str | None, Hit] = {hit.id: hit for hit in outcome.value}
    for name in ids:
        hit = hits.get(name)
        if hit is None or hit.text is None:
            fetched.lose(name, "the store has no such document, or the filter hides it")
        else:
            fetched.materials[name] = whole_text(clean(hit.text))


def _take_passages(
    fetched: Fetched, ids: Sequence[str], outcome: Outcome[Any], marks: Marks
) -> list[str]:
    """Take the passages that came; return the ids that must be fetched whole."""
    if isinstance(outcome, Failed):
        reason = f"passages could not be fetched: {told(outcome.error)}"
        fetched.gaps.append(Gap("passages", "not_searched", reason))
        return list(ids)
    again: list[str] = []
    for name, each in zip(ids, outcome.value, strict=True):
        if isinstance(each, Failed):
            reason = f"its passages could not be fetched: {told(each.error)}"
            fetched.gaps.append(Gap(name, "not_searched", reason))
            again.append(name)
        elif each.value is None:
            fetched.lose(name, "the store has no such document, or the filter hides it")
        elif material := _of_hit(each.value, name, marks):
            fetched.materials[name] = material
        else:
            again.append(name)
    return again


def _of_hit(hit: Hit, name: str, marks: Marks) -> Material | None:
    """Make material of the passages of a hit; None where none can be trusted.

    A store that names another document, or a stretch that is not as long as its text,
    is not believed: then the document is asked whole.
    """
    passages = [
        passage._replace(text=clean(passage.text))
        for passage in hit.passages
        if passage.text and passage.text.strip() and _fits(passage, hit.length)
    ]
    usable = hit.id == name and len(passages) > 0
    return held_passages(passages, hit.length, marks) if usable else None


def _fits(passage: Passage, length: int | None) -> bool:
    """Tell whether the offsets of a passage can be those of its text."""
    within = passage.start >= 0 and (length is None or passage.end <= length)
    return within and passage.end - passage.start == len(passage.text or "")


def divide(
    lengths: dict[str, int | None], is_small: Callable[[int], bool]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Divide documents into those to be asked whole and the others, orders kept.

    A document of unknown length is asked whole: its length is measured on arrival.

    >>> divide({"a": 10, "b": 99, "c": None}, lambda length: length <= 10)
    (('a', 'c'), ('b',))
    """
    whole = tuple(
        name for name, length in lengths.items() if length is None or is_small(length)
    )
    kept = set(whole)
    return whole, tuple(name for name in lengths if name not in kept)
