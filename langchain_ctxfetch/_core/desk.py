"""The documents of one compression, the settings, and what has been found out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from langchain_ctxfetch._core.budget import Count, Rooms
from langchain_ctxfetch._core.excerpts import MISSING, Excerpt, Marks, Material, excerpt
from langchain_ctxfetch._core.passages import Scored, score_around, score_sentences
from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch._core.words import Stem

Weigh: TypeAlias = Callable[[Sequence[str | None]], int]
"""Renders the documents with these texts (None: left out) and counts the tokens."""


@dataclass(frozen=True, slots=True)
class Item:
    """Be a document as it comes in.

    Attributes:
        id: What names it in the store, where it has a name.
        text: The text in hand, clean.
        spans: Where in the stored text the passages stand that are in hand, or that
            a search has found.
        partial: Whether only passages are in hand.
        length: The characters of the stored text, where known.
    """

    id: str | None
    text: str
    spans: tuple[Span, ...] = ()
    partial: bool = False
    length: int | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """Say how much of a document is delivered.

    Attributes:
        stem: Reduces a word to what its inflections share.
        threshold: Longer documents are quoted, where there is no budget.
        limit: The most characters of one document, where there is no budget.
        max_tokens: The budget of all documents together.
        marks: How documents are cut.
        fetches: Whether there is a store to ask.
        embeds: Whether texts can be embedded.
        scores: Whether a scorer of the caller takes the place of ours.
        keeps_missing: Whether a missing document keeps its place, with no text.
    """

    stem: Stem
    threshold: int = 3000
    limit: int | None = 3000
    max_tokens: int | None = None
    marks: Marks = field(default_factory=Marks)
    fetches: bool = False
    embeds: bool = False
    scores: bool = False
    keeps_missing: bool = True

    @property
    def quoted(self) -> int:
        """Return the most characters of a quoted document, without a budget."""
        return self.threshold if self.limit is None else self.limit


@dataclass(frozen=True, slots=True)
class Scale:
    """Weigh what is delivered.

    Attributes:
        count: Counts the tokens of a text.
        weigh: Counts the tokens of the whole, rendered.
    """

    count: Count
    weigh: Weigh


Materials: TypeAlias = list[Material | None]


@dataclass(slots=True)
class Desk:
    """Be the documents of one compression, and what has been found out of them."""

    items: Sequence[Item]
    materials: Materials
    query: str
    policy: Policy
    scale: Scale
    looked: set[int] = field(default_factory=set)
    done: dict[tuple[int, int], Excerpt] = field(default_factory=dict)
    weights: dict[Rooms, int] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Return the characters at hand."""
        return sum(len(material.text) for material in self.materials if material)

    def score(self, i: int, room: int) -> None:
        """Score the sentences of a document once."""
        material = self.materials[i]
        if material is None or i in self.looked or not self.query.strip():
            return
        self.looked.add(i)
        scored = score_sentences(
            material.text, self.query, stem=self.policy.stem, room=room
        )
        if scored.found:
            self.materials[i] = replace(material, scored=scored)
        elif material.whole:
            # No word of the query, but a search has found it: by meaning, or by the
            # words that were meant.
            self.materials[i] = replace(material, scored=self._found(i, material, room))

    def _found(self, i: int, material: Material, room: int) -> Scored | None:
        length = len(material.text)
        spans = [span for span in self.items[i].spans if span[1] <= length]
        if not spans or spans == [(0, length)]:
            return None
        return score_around(material.text, spans, room=room)

    def excerpt(self, i: int, room: int) -> Excerpt:
        """Return the most useful part of a document for so much room."""
        material = self.materials[i]
        if material is None:
            return MISSING
        if (i, room) not in self.done:
            if room < len(material.text):
                self.score(i, room)
            self.done[i, room] = excerpt(
                self.materials[i] or material, room, self.policy.marks
            )
        return self.done[i, room]

    def weight(self, rooms: Rooms) -> int:
        """Return the tokens of the whole, rendered, when its parts have these rooms."""
        if rooms not in self.weights:
            texts = [self._shown(i, room) for i, room in enumerate(rooms)]
            self.weights[rooms] = self.scale.weigh(texts)
        return self.weights[rooms]

    def _shown(self, i: int, room: int | None) -> str | None:
        if room is None or (
            self.materials[i] is None and not self.policy.keeps_missing
        ):
            return None
        return self.excerpt(i, room).text

    def length(self, i: int) -> int:
        """Return the characters at hand of a document."""
        material = self.materials[i]
        return 0 if material is None else len(material.text)
