"""One part of a context in less room: its summary, its best sentences, or a cut.

However little room there is, some form of a part fits it, for the smallest one is
nothing. What came from a part never opens or closes a block around it, and says that
it is not the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias

import regex

from langchain_ctxfetch._core.checking import Mended, mend
from langchain_ctxfetch._core.excerpts import Marks, Material, excerpt, whole_text
from langchain_ctxfetch._core.gist import score_gist, spoken
from langchain_ctxfetch._core.passages import score_sentences
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._core.words import Stem

How: TypeAlias = Literal["kept", "summary", "cached", "passages", "cut", "removed"]
"""How a part came to be what it is now."""

LEAST = 24
"""Characters below which a piece of a sentence says nothing, half as many in CJK."""

SUMMARY, EXCERPT = "[summary]\n", "[excerpt]\n"
"""Stand before what is not the whole, where there is room for them."""

_MOST_NAMED = 2_000  # characters of the line that names what was left out
_LABEL_SHARE = 4  # a label takes at most so small a share of the room
_LOOKALIKE = regex.compile(
    r"(?im)^([\s\p{Cf}]*+)(?=\[[\s\p{Cf}]*+(?:summary\]|excerpt\]|left out\b))"
)


@dataclass(frozen=True, slots=True)
class Part:
    """Be a part of a context that may be reduced.

    Attributes:
        type: The name of the block, or what else it is.
        source: What names it, for a reader.
        text: Its body.
        title: What it is called, if anything.
        priority: Parts of a higher one are the last to be left out.
        floor: The tokens that it keeps where there is room for that.
    """

    type: str
    source: str
    text: str
    title: str = ""
    priority: int = 0
    floor: int = 0


class Form(NamedTuple):
    """Be what a part looks like in some room.

    Attributes:
        text: The text.
        how: How it was made.
        why: What went wrong on the way, if anything.
        refused: What a summary said that its source does not.
        lost: What the source says that this does not; only told of summaries.
    """

    text: str
    how: How
    why: str = ""
    refused: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reader:
    """Hold how parts are read.

    Attributes:
        stem: Reduces words to their stems.
        query: What the sentences shall answer; blank: what stands for the text.
        tame: Makes tags in a text harmless.
        marks: What shows that something is left out.
    """

    stem: Stem
    query: str
    tame: Callable[[str], str]
    marks: Marks = field(default_factory=Marks)


class Shrinking:
    """Be a part that gets smaller.

    Args:
        part: The part.
        reader: How it is read.
    """

    def __init__(self, part: Part, reader: Reader) -> None:
        self.part = part
        self.held: Form | None = Form(part.text, "kept")
        self.recorded: Form | None = None
        self.reply: str | None = None
        self.finished = True
        self.target = 0
        self.room = 0
        self.why = ""
        self._reader = reader
        self._body = part.text.removeprefix(SUMMARY).removeprefix(EXCERPT)
        self._material: Material | None = None
        self._mended: Mended | None = None
        self._forms: dict[int, Form | None] = {}

    def recall(self, form: Form | None, room: int) -> None:
        """Look as it was recorded, in the room of then."""
        self.held = self.recorded = form
        self.room = room

    def stand(self) -> None:
        """Be whole again."""
        self.held, self.room = Form(self.part.text, "kept"), 0

    def settle(self, room: int) -> None:
        """Be no larger than so many characters from here on."""
        self.held, self.room = self._smaller(room), room

    def replied(self, reply: str | None, *, finished: bool, target: int) -> None:
        """Take the summary that a model wrote, as it came."""
        self.reply, self.finished, self.target = reply, finished, target
        self._mended = None
        self._forms.clear()

    def summarise(self, room: int) -> None:
        """Let the summary stand in the place of the text, if it can be used."""
        form = self._summary(room)
        if form.text:
            self.held, self.room = form, room
        else:
            self.why = form.why

    def at(self, room: int) -> Form | None:
        """Return the form for so many characters; None where only nothing fits."""
        if self.held is None or room >= len(self.held.text):
            return self.held
        if room not in self._forms:
            self._forms[room] = self._smaller(room)
        return self._forms[room]

    def _smaller(self, room: int) -> Form:
        made = Form("", "cut", self.why)
        if self.reply is not None:
            made = self._summary(room)
        if made.text or room < LEAST:
            return made
        label = _label(EXCERPT, room)
        found = excerpt(self._read(room), room - len(label), self._reader.marks)
        text = found.text.strip()
        if found.cut and len(text) < LEAST:
            return made._replace(text="", how="cut")
        how: How = "passages" if found.strategy == "highlight" else "cut"
        return made._replace(text=label + text, how=how)

    def _summary(self, room: int) -> Form:
        label = _label(SUMMARY, room)
        if self._mended is None:
            self._mended = mend(self.reply or "", self._body, finished=self.finished)
        checked = self._mended.within(room - len(label))
        if not checked.text:
            return Form("", "cut", checked.why, checked.refused)
        text = label + self._tamed(checked.text)
        if len(text) > room:
            text = text[len(label) :]
        if len(text) > room:
            return Form("", "cut", "harmless tags made the summary too long")
        return Form(text, "summary", checked.why, checked.refused, checked.lost)

    def _read(self, room: int) -> Material:
        """Score the sentences once."""
        if self._material is None:
            reader = self._reader
            if reader.query.strip():
                text = self._tamed(self._body)
                scored = score_sentences(
                    text, reader.query, stem=reader.stem, room=max(room, 1)
                )
                if scored.found:
                    self._material = replace(whole_text(text), scored=scored)
                    return self._material
            text = self._tamed(spoken(self._body))
            scored = score_gist(text, stem=reader.stem)
            self._material = replace(whole_text(text), scored=scored)
        return self._material

    def _tamed(self, text: str) -> str:
        return _LOOKALIKE.sub(r"\1\\", self._reader.tame(clean(text)))


def _label(label: str, room: int) -> str:
    return label if len(label) * _LABEL_SHARE <= room else ""


def left_out(names: Sequence[str]) -> str:
    """Say in one line what is not there.

    >>> left_out(["a.md", "b.md"])
    '[left out: a.md, b.md]'
    """
    shown: list[str] = []
    used = 0
    for name in dict.fromkeys(names):
        used += len(name) + 2
        if used > _MOST_NAMED:
            shown.append(f"{len(names) - len(shown):,} more")
            break
        shown.append(name)
    return f"[left out: {', '.join(shown)}]"
