"""Texts divided into what may be reduced and what may not."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from langchain_core.prompts import BasePromptTemplate

from langchain_ctxfetch._core.blocks import Block, render, source_of
from langchain_ctxfetch._core.shrinking import Form, Part
from langchain_ctxfetch.ports import TokenCounter

Held = TypeVar("Held")


@dataclass(frozen=True, slots=True)
class BlockRule:
    """Say how blocks of one type are treated.

    Attributes:
        never_touch: Whether they stay as they are.
        prompt: What a model is asked about them; it names `{text}`, and may name
            title, source, type, words and query.
        floor_tokens: What each of them keeps, where there is room for that.
        priority: Those of a higher one are the last to be left out.
    """

    never_touch: bool = False
    prompt: BasePromptTemplate[Any] | None = None
    floor_tokens: int = 0
    priority: int = 0


@dataclass(frozen=True, slots=True)
class Treatment:
    """Say what in a content may be reduced, and how.

    Attributes:
        types: The names of the blocks that are known.
        never_touch: Those of them that stay as they are.
        touch_last: Whether the last human message may be reduced as well.
        rules: How blocks are treated, by type.
    """

    types: frozenset[str]
    never_touch: frozenset[str]
    touch_last: bool
    rules: Mapping[str, BlockRule]

    def part(self, kind: str, source: str, text: str, title: str) -> Part:
        """Return a stretch as a part, by the rule of its type."""
        rule = self.rules.get(kind, BlockRule())
        return Part(kind, source, text, title, rule.priority, rule.floor_tokens)


@dataclass(frozen=True, slots=True)
class Text:
    """Be one text with the stretches of it that may be reduced.

    Attributes:
        text: The text, cleaned.
        blocks: The stretches.
    """

    text: str
    blocks: tuple[Block, ...]

    def rendered(self, bodies: Sequence[str | None], note: str) -> str:
        """Put bodies in, and the note where the first part was left out."""
        blocks, bodies = list(self.blocks), list(bodies)
        if note and None in bodies:
            at = bodies.index(None)
            span = (blocks[at].start, blocks[at].end)
            blocks[at], bodies[at] = replace(blocks[at], body=span), note
        return render(self.text, blocks, bodies)


class Content(ABC, Generic[Held]):
    """Be what a compactor was given, divided.

    Attributes:
        given: What came.
        texts: Its texts.

    Args:
        given: What came.
        treated: What may be reduced, and how.
        texts: Its texts, divided.
    """

    def __init__(self, given: Held, treated: Treatment, texts: Sequence[Text]) -> None:
        self.given = given
        self.texts = texts
        self._treated = treated

    @abstractmethod
    def assembled(self, texts: Sequence[str], forms: Sequence[Form | None]) -> Held:
        """Return what came, with these texts."""

    @abstractmethod
    def weigh(self, made: Held, counter: TokenCounter) -> int:
        """Return the tokens of something assembled."""

    @abstractmethod
    def characters(self, made: Held) -> int:
        """Return the characters of something assembled."""

    def parts(self) -> list[Part]:
        """Return what may be reduced, in order, by the rules of its types."""
        return [
            self._treated.part(
                block.type,
                source_of(block),
                text.text[slice(*block.body)],
                block.header.get("title", ""),
            )
            for text in self.texts
            for block in text.blocks
        ]

    def rendered(self, bodies: Sequence[str | None], note: str) -> list[str]:
        """Return the texts with these bodies; the note stands in one of them."""
        texts: list[str] = []
        at = 0
        for text in self.texts:
            own = bodies[at : at + len(text.blocks)]
            at += len(text.blocks)
            texts.append(text.rendered(own, note))
            if None in own:
                note = ""
        return texts

    def count(
        self, bodies: Sequence[str | None], note: str, counter: TokenCounter
    ) -> int:
        """Return the tokens of the whole with these bodies."""
        forms = [None if body is None else Form(body, "kept") for body in bodies]
        return self.weigh(self.assembled(self.rendered(bodies, note), forms), counter)


def touched_in(known: Sequence[Block], treated: Treatment) -> tuple[Block, ...]:
    return tuple(block for block in known if block.type not in treated.never_touch)


def stretch(kind: str, start: int, end: int) -> Block:
    return Block(kind, start, end, (start, end), {}, None)
