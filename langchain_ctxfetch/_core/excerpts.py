"""The most useful part of one document for so many characters, with its offsets."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import isnan
from typing import Literal, NamedTuple, TypeAlias

from langchain_ctxfetch._core.hits import Passage
from langchain_ctxfetch._core.passages import Scored
from langchain_ctxfetch._core.picking import cuts_within, pick, quote
from langchain_ctxfetch._core.sentences import split_passages
from langchain_ctxfetch._core.structure import blocks, cut_fences, divided, needs
from langchain_ctxfetch._core.text import (
    GAP_MARK,
    MISSING as MISSING_SIGN,
    Span,
    cut,
    head,
    head_tail,
)

Strategy: TypeAlias = Literal["full", "highlight", "truncate", "missing", "dropped"]
Truncation: TypeAlias = Literal["head_tail", "head"]

_COARSE = 600
"""Characters of a passage that is judged as one, where no word was found."""

_FENCE_ROUNDS = 3
"""How often a cut is moved to make room for the fences that it leaves open."""

_FINE = 200
"""Characters that such a passage has at least."""

_MOST_PASSAGES = 200
"""Passages of one document that are judged at most; those of a long one are longer."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Say how a document is cut, and what shows it.

    Attributes:
        truncation: Which ends are kept where nothing answers the question.
        gap: Stands between passages.
        cut: Stands for what truncation left out.
    """

    truncation: Truncation = "head_tail"
    gap: str = GAP_MARK
    cut: str = GAP_MARK

    @property
    def edge(self) -> str:
        """Return what shows that a sentence is cut."""
        return self.gap.strip()


class Excerpt(NamedTuple):
    """Be what is delivered of a document.

    Attributes:
        text: The text.
        spans: The stretches of the stored text that it holds; empty if unknown.
        strategy: How it was chosen.
        complete: Whether it is the whole of what there was to choose from.
        cut: Whether it begins or ends within a sentence.
    """

    text: str
    spans: tuple[Span, ...]
    strategy: Strategy
    complete: bool
    cut: bool = False


MISSING = Excerpt("", (), "missing", complete=False)


@dataclass(frozen=True, slots=True)
class Material:
    """Be what is at hand of a document.

    Attributes:
        text: The whole text, or its passages with blank characters between.
        length: The characters of the stored text, where known.
        pieces: For passages: where each begins in *text*, and where in the document;
            the second is None where that is unknown. Empty for a whole text.
        ends: For passages: where each ends in *text*.
        scored: What its sentences are worth; None where nothing answers.
    """

    text: str
    length: int | None
    pieces: tuple[tuple[int, int | None], ...] = ()
    ends: tuple[int, ...] = ()
    scored: Scored | None = None

    @property
    def whole(self) -> bool:
        """Tell whether this is the whole text of the document."""
        return not self.pieces


def whole_text(text: str) -> Material:
    """Make material of a whole text."""
    return Material(text, len(text))


def held_passages(
    passages: Sequence[Passage], length: int | None, marks: Marks
) -> Material:
    """Make material of passages: in reading order, overlaps told once.

    >>> passages = [Passage(9, 12, "two"), Passage(0, 3, "one")]
    >>> held_passages(passages, 20, Marks()).pieces
    ((0, 0), (6, 9))

    Args:
        passages: Passages with their text, in any order.
        length: The characters of the whole document, where known.
        marks: What will stand between the passages.

    Returns:
        The material, without blank passages.
    """
    # Blank characters, so that no sentence runs on; never shorter than the mark
    # that will take their place, so that what fits still fits then.
    between = "\n" * max(2, len(marks.gap))
    pieces: list[tuple[int, int | None]] = []
    ends: list[int] = []
    texts: list[str] = []
    told, at = 0, 0
    for passage in sorted(passages, key=lambda passage: passage[:2]):
        start = max(passage.start, told)
        text = (passage.text or "")[start - passage.start :]
        if not text.strip():
            continue
        told = passage.end
        pieces.append((at, start))
        ends.append(at + len(text))
        texts.append(text)
        at += len(text) + len(between)
    return Material(between.join(texts), length, tuple(pieces), tuple(ends))


def loose_text(text: str, length: int | None) -> Material:
    """Make material of passages whose places in the document are unknown."""
    return Material(text, length, ((0, None),), (len(text),))


def excerpt(material: Material, room: int, marks: Marks) -> Excerpt:
    """Return the most useful part of *material* of at most *room* characters."""
    if len(material.text) <= room or not material.text:
        strategy: Strategy = "full" if material.whole else "highlight"
        return _quoted(material, [(0, len(material.text))], strategy, marks)
    if material.scored is not None:
        lengths = {"mark_length": len(marks.gap), "edge_length": len(marks.edge)}
        spans = pick(material.scored, room, **lengths)
        if spans:
            made = _quoted(material, spans, "highlight", marks)
            return _with_edges(made, material.scored, spans, marks)
    return _truncated(material, room, marks)


def _truncated(material: Material, room: int, marks: Marks) -> Excerpt:
    edge = marks.edge if marks.cut and len(marks.edge) < room else ""
    if material.pieces and material.pieces[0][1] is not None:
        spans, _ = head(material.text, room - len(edge), "")
        made = _quoted(material, spans, "truncate", marks)
        return made._replace(text=made.text + edge, cut=True)
    spans, text = _shortened(material.text, room, marks)
    if len(text) == sum(end - start for start, end in spans):
        # There was no room for the mark that counts what is missing.
        text = cut(material.text, room, edge)
        spans = [(0, len(text) - len(edge))]
    told = _no_empty(spans) if material.whole else ()
    return Excerpt(text, told, "truncate", complete=False, cut=True)


def _shortened(text: str, room: int, marks: Marks) -> tuple[list[Span], str]:
    """Keep head and tail; the fences of code that is cut stay beside the mark."""
    held = blocks(text)
    fences: list[Span] = []
    spans, made = _with_fences(text, room, marks, fences)
    for _ in range(_FENCE_ROUNDS):
        found = cut_fences(spans, held)
        if found == fences:
            break
        fences = found
        spans, made = _with_fences(text, room, marks, fences)
    told = sorted([*spans, *fences])
    unmarked = len(made) == sum(end - start for start, end in spans)
    if fences and (unmarked or any(a[1] > b[0] for a, b in pairwise(told))):
        return _with_fences(text, room, marks, [])
    return told, made


def _with_fences(
    text: str, room: int, marks: Marks, fences: Sequence[Span]
) -> tuple[list[Span], str]:
    """Keep head and tail around the mark and the fences below it."""
    shorten = head_tail if marks.truncation == "head_tail" else head
    beside = "".join(text[start:end].rstrip("\n") + "\n" for start, end in fences)
    if not beside or MISSING_SIGN in beside:
        return shorten(text, room, marks.cut)
    return shorten(text, room, f"{marks.cut.rstrip()}\n{beside}")


def _with_edges(
    made: Excerpt, scored: Scored, spans: Sequence[Span], marks: Marks
) -> Excerpt:
    """Show where a passage begins or ends within a sentence."""
    if len(spans) > 1:
        return made
    before, after = cuts_within(scored, spans[0])
    text = f"{marks.edge * before}{made.text}{marks.edge * after}"
    return made._replace(text=text, cut=before or after)


def _quoted(
    material: Material, spans: Sequence[Span], strategy: Strategy, marks: Marks
) -> Excerpt:
    """Quote stretches of *material* with the offsets that they have in the document."""
    complete = list(spans) == [(0, len(material.text))]
    if material.whole:
        text = quote(material.text, spans, marks.gap)
        return Excerpt(text, _no_empty(spans), strategy, complete)
    cuts = [cut for span in spans for cut in _within_pieces(material, span)]
    text = marks.gap.join(material.text[start:end] for start, end, _ in cuts)
    stored = [(at, at + end - start) for start, end, at in cuts if at is not None]
    return Excerpt(text, tuple(stored), strategy, complete)


def _no_empty(spans: Sequence[Span]) -> tuple[Span, ...]:
    return tuple((start, end) for start, end in spans if start < end)


def _within_pieces(material: Material, span: Span) -> list[tuple[int, int, int | None]]:
    """Cut a stretch at the ends of the passages; tell each part's place, too."""
    begins = [begin for begin, _ in material.pieces]
    first = max(0, bisect_right(begins, span[0]) - 1)
    parts: list[tuple[int, int, int | None]] = []
    for i in range(first, len(begins)):
        begin, stored = material.pieces[i]
        start, end = max(begin, span[0]), min(material.ends[i], span[1])
        if begin >= span[1]:
            break
        if start < end:
            at = None if stored is None else stored + start - begin
            parts.append((start, end, at))
    return parts


def coarse_units(text: str, room: int) -> list[Span]:
    """Divide *text* into passages that a model can judge, not too many of them."""
    size = max(_FINE, min(_COARSE, room // 4), len(text) // _MOST_PASSAGES)
    return split_passages(text, size)


def scored_by(
    material: Material, units: Sequence[Span], scores: Sequence[float]
) -> Material:
    """Return *material* with other scores; what is no number counts least."""
    known = [score for score in scores if not isnan(score)]
    least = min(known, default=0.0)
    usable = [least if isnan(score) else score for score in scores]
    hits = () if material.scored is None else material.scored.hits
    held = blocks(material.text)
    # In sentences, so that no room is left where half a passage would still fit.
    fine = [
        (sentence, score)
        for unit, score in zip(units, usable, strict=True)
        for sentence in divided(material.text, *unit, held)
    ]
    sentences = [sentence for sentence, _ in fine]
    scored = Scored(
        sentences,
        [score for _, score in fine],
        found=True,
        text=material.text,
        hits=hits,
        needs=needs(sentences, held),
    )
    return replace(material, scored=scored)
