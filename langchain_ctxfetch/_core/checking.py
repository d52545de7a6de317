"""What a model wrote as a summary, checked against its source.

A summary may not say a number, a date or a name that its source does not: sentences
that do so go. What it lost of such literals is named behind it, as far as there is
room. What cannot be mended is refused, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import regex

from langchain_ctxfetch._core.literals import Literal, grounds, literals
from langchain_ctxfetch._core.sentences import sentences
from langchain_ctxfetch._core.text import clean

ALSO, ALSO_ENDS = "[also: ", "]"
"""Stand around the literals that a summary has lost."""

_UNFINISHED = "the model stopped in the middle"
_BETWEEN = "; "
_SHARE = 2  # the literals get at most so small a share of the room
_LONG = 60  # characters of a literal that takes the room of many
_MOST_MISSED = 200  # literals without room in a row, after which no more is tried
_MOST_ROUNDS = 4  # how often what is left is checked again
_RANKS = ("id", "version", "email", "date", "path", "number", "code", "url")

_THOUGHT = "think|thinking|thought|reasoning|reflection|scratchpad"
_THOUGHTS = regex.compile(rf"(?i)<(/?)(?:{_THOUGHT})(?:\s[^<>]{{0,200}})?>")
_LABEL = regex.compile(
    r"(?i)\A\s*+(?:(?:sure[,.!]\s*+)?here(?:['’]s| is| are)[^\n:]{0,80}:[ \t]*+\n?"
    r"|[*#\s]*+(?:dense\s)?summary[*\s]*+:[*\s]*+)"
)
_FENCE = regex.compile(r"(?s)\A\s*+```\w*+\n(.*)\n```\s*+\Z")
_WRAPPER = regex.compile(r"</?text-[0-9a-f]{8}>")
_SAYS = regex.compile(r"\w")
_ENDS = regex.compile(r"[.!?。！？…][\"'”’»)\]」』*`]*+\s*+\Z")


class Checked(NamedTuple):
    """Be a summary after the check.

    Attributes:
        text: What can be used of it; None where nothing can.
        why: What was wrong, if anything.
        refused: What it said that its source does not.
        lost: What the source says that the text still does not.
    """

    text: str | None
    why: str = ""
    refused: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()


def check(reply: str, source: str, room: int, *, finished: bool = True) -> Checked:
    r"""Mend or refuse a summary.

    >>> check("It fell. It cost 9 €.", "It fell by 3 % in the year of the flood.", 40)[
    ...     :3
    ... ]
    ('It fell.\n[also: 3 %]', "said what its source does not: '9 €'", ('9 €',))

    Args:
        reply: What a model wrote.
        source: What it was to summarise.
        room: The most characters of the result.
        finished: Whether the model had come to its end.

    Returns:
        The text, shorter than its source and at most *room* long, in which there is
        no literal that the source has not; or None, and why.
    """
    return mend(reply, source, finished=finished).within(room)


@dataclass(frozen=True, slots=True)
class Mended:
    """Be a summary that says nothing wrong, before it is fitted into some room.

    Attributes:
        text: What can be used of it; blank where nothing can.
        why: What was wrong, if anything.
        refused: What it said that its source does not.
        source: What it is of.
        wanted: The different literals of the source.
    """

    text: str
    why: str
    refused: tuple[str, ...]
    source: str
    wanted: Sequence[Literal]

    def within(self, room: int) -> Checked:
        """Return what of it has so much room, as `check` does."""
        if not self.text:
            return Checked(None, self.why, self.refused)
        made, lost = _with_literals(self, room)
        if not made:
            return Checked(None, "the summary is longer than its room", self.refused)
        return Checked(made, self.why, self.refused, lost)


def mend(reply: str, source: str, *, finished: bool = True) -> Mended:
    """Take out of a summary what is wrong, whatever its room will be.

    >>> mend("It fell. It cost 9 €.", "It fell by 3 % in the year of the flood.").text
    'It fell.'

    Args:
        reply: What a model wrote.
        source: What it was to summarise.
        finished: Whether the model had come to its end.

    Returns:
        The summary, and what was wrong with it.
    """
    text, why = said(reply), ""
    refused: tuple[str, ...] = ()
    if not finished:
        text = _whole_sentences(text)
        why = "" if text else _UNFINISHED
    why = why or _useless(text, source)
    if why:
        return Mended("", why, refused, source, ())
    text, refused = _true(text, source)
    if refused:
        why = f"said what its source does not: {refused[0]!r:.80}"
    if not _SAYS.search(text):
        text = ""
    return Mended(text, why, refused, source, _distinct(source))


def as_it_is(reply: str, source: str, *, finished: bool) -> tuple[str, str]:
    """Say whether a summary can be used without any change.

    >>> as_it_is("It was 9 kg.", "Nobody has weighed it.", finished=True)[1]
    "the summary says '9 kg', its source does not"

    Args:
        reply: What a model wrote.
        source: What it was to summarise.
        finished: Whether the model had come to its end.

    Returns:
        The summary without its reasoning, and why it is refused; blank if it is not.
    """
    text = said(reply)
    why = _useless(text, source)
    if not why and not finished:
        why = _UNFINISHED
    if not why and (invented := _invented(text, source)):
        why = f"the summary says {invented[0].text!r:.80}, its source does not"
    return text, why


def _useless(text: str, source: str) -> str:
    """Say why nothing of a summary can be used, whatever stands in it."""
    if not _SAYS.search(text):
        return "the summary is blank"
    if len(text) >= len(source):
        return "the summary is no shorter than the text"
    return ""


def said(reply: str) -> str:
    r"""Return what a model says, without its reasoning and what it says of itself.

    >>> said("</think>plan</think>\nSummary: It rains.")
    'It rains.'

    Args:
        reply: What it wrote.

    Returns:
        The text; of a thought that is never ended nothing is left.
    """
    text = _WRAPPER.sub("", _without_thoughts(clean(reply))).strip()
    text = _LABEL.sub("", text, count=1)
    if fenced := _FENCE.match(text):
        text = fenced[1]
    return text.strip()


def _without_thoughts(text: str) -> str:
    kept: list[str] = []
    at = depth = 0
    for tag in _THOUGHTS.finditer(text):
        if not depth:
            kept.append(text[at : tag.start()])
        if not tag[1]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            kept.clear()  # all before it was the thought that it ends
        at = tag.end()
    if not depth:
        kept.append(text[at:])
    return "".join(kept)


def _whole_sentences(text: str) -> str:
    """Leave out the sentence in which a model stopped."""
    if _ENDS.search(text):
        return text
    spans = sentences(text)
    return text[: spans[-1][0]].rstrip() if spans else ""


def _invented(text: str, source: str) -> list[Literal]:
    known = grounds(source)
    return [each for each in literals(text) if not known.hold(each)]


def _true(text: str, source: str) -> tuple[str, tuple[str, ...]]:
    """Leave out the sentences that say what the source does not."""
    refused: list[str] = []
    for _ in range(_MOST_ROUNDS):
        invented = _invented(text, source)
        if not invented:
            return text.strip(), tuple(dict.fromkeys(refused))
        refused += [each.text for each in invented]
        places = [(each.start, each.start + len(each.text)) for each in invented]
        text = "".join(
            text[start:end]
            for start, end in sentences(text)
            if not any(first < end and start < last for first, last in places)
        )
    return "", tuple(dict.fromkeys(refused))


def _with_literals(mended: Mended, room: int) -> tuple[str, tuple[str, ...]]:
    """Name behind a summary what it lost, as far as there is room.

    At most half of the room; where there is too little, whole sentences at the end of
    the summary give way to it.
    """
    text, source, wanted = mended.text, mended.source, mended.wanted
    most = min(room, len(source) - 1)
    # One sentence stays in any case.
    share = min(room // _SHARE, most - len(_shortened(text, len(text), 1)))
    for _ in range(_MOST_ROUNDS):
        line = _line(_missing(text, wanted), source, share)
        if len(text) + len(line) <= most:
            break
        # What goes here may have to be named there.
        text = _shortened(text, most - len(line))
    else:
        line = ""
    if not text:
        return "", ()
    text += line
    return text, tuple(each.text for each in _missing(text, wanted))


def _distinct(source: str) -> list[Literal]:
    return list({each.key: each for each in reversed(literals(source))}.values())[::-1]


def _missing(text: str, wanted: Sequence[Literal]) -> list[Literal]:
    known = grounds(text)
    return [each for each in wanted if not known.hold(each)]


def _shortened(text: str, room: int, number: int | None = None) -> str:
    """Return as many whole sentences from the beginning as there is room for."""
    end = 0
    for first, last in sentences(text)[:number]:
        if len(text[first:last].rstrip()) + first > room:
            break
        end = last
    return text[:end].rstrip()


def _line(missing: Sequence[Literal], source: str, room: int) -> str:
    """Return the line that names literals, the most telling ones first in."""
    left = room - len(ALSO) - len(ALSO_ENDS) - 1 + len(_BETWEEN)
    chosen: list[Literal] = []
    missed = 0
    for each in sorted(missing, key=_rank):
        if left <= len(_BETWEEN) or missed > _MOST_MISSED:
            break
        cost = len(each.text) + len(_BETWEEN)
        if cost > left or not _can_stand_alone(each):
            missed += 1
            continue
        chosen.append(each)
        left -= cost
        missed = 0
    if not chosen:
        return ""
    chosen.sort(key=lambda each: each.start)
    line = ALSO + _BETWEEN.join(each.text for each in chosen) + ALSO_ENDS
    # What stands side by side there must not say something new.
    return "" if _invented(line, source) else f"\n{line}"


@lru_cache(maxsize=4096)
def _can_stand_alone(literal: Literal) -> bool:
    """Tell whether a literal says the same outside of its text."""
    text = literal.text
    if "\n" in text or "]" in text:
        return False
    return any(each.key == literal.key for each in literals(text))


def _rank(literal: Literal) -> tuple[int, int, int]:
    """Order literals by how much it hurts to lose them."""
    text, kind = literal.text, literal.kind
    rank = _RANKS.index(kind) if kind in _RANKS else len(_RANKS)
    bare = kind == "number" and text.isdecimal()
    # A lone digit says little.
    late = (len(text) > _LONG) + 2 * (bare and len(text) == 1)
    return late, rank + bare, literal.start
