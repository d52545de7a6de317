"""Summaries of parts by a model: in pieces that its window holds, then merged.

No call is ever over the window, and there are never more calls than were planned:
what a model's replies leave undone, the deterministic forms do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from langchain_ctxfetch._core.asks import Reply
from langchain_ctxfetch._core.budget import Count, size_of
from langchain_ctxfetch._core.checking import check
from langchain_ctxfetch._core.flow import Failed, Flow, Outcome
from langchain_ctxfetch._core.hits import told
from langchain_ctxfetch._core.sentences import sentences
from langchain_ctxfetch._core.shrinking import Part
from langchain_ctxfetch._core.text import floor_boundary

_LEAST_PIECE = 150  # tokens that the summary of a piece may have at least
_ROUNDS = 3  # how often summaries of pieces are merged at most
_SHORTEST = 200  # characters of a piece that is not halved again
_FILLED = 0.9  # of the window, as tokens are only estimated
_OUTPUT_SHARE = 4  # the reply gets at most so small a share of the window
_BETWEEN = "\n\n"


@dataclass(frozen=True, slots=True)
class Summarise:
    """Ask a model for a summary; answered by a `Reply`.

    Attributes:
        part: What the text is of.
        text: The text, or summaries of its pieces.
        tokens: How long the summary may be.
        merging: Whether the text is summaries of pieces.
    """

    part: Part
    text: str
    tokens: int
    merging: bool = False


@dataclass(frozen=True, slots=True)
class Caller:
    """Say what a call may be.

    Attributes:
        window: The tokens that the model takes, prompt and reply together.
        prompt: Counts the tokens of the prompt of an ask.
        count: Counts the tokens of a text.
        attempts: How many calls one ask may take, retries counted.
    """

    window: int
    prompt: Callable[[Summarise], int]
    count: Count
    attempts: int = 1

    def output(self, tokens: int) -> int:
        """Return the tokens that a reply of so many may take in the window."""
        return max(1, min(2 * tokens + 64, self.window // _OUTPUT_SHARE))

    def fits(self, ask: Summarise) -> bool:
        """Tell whether prompt and reply are within the window."""
        return self.prompt(ask) + self.output(ask.tokens) <= self.window


@dataclass(slots=True)
class Job:
    """Be the summary of one part, on its way.

    Attributes:
        part: The part.
        tokens: How long the summary may be.
        asks: What is asked next.
        planned: How many asks there may be.
        reply: What came out at last; None while there is nothing.
        finished: Whether the model had finished it.
        why: What went wrong last.
    """

    part: Part
    tokens: int
    asks: list[Summarise] = field(default_factory=list)
    planned: int = 0
    reply: str | None = None
    finished: bool = True
    why: str = ""
    rounds: int = 0
    _left: int = 0

    def take(self, replies: Sequence[Outcome[Reply]], caller: Caller) -> None:
        """Take the replies to what was asked, and say what is asked next."""
        asked, self.asks = self.asks, []
        self._left -= len(asked)
        if len(asked) == 1:
            self._take_one(replies[0])
            return
        texts = [
            text
            for ask, outcome in zip(asked, replies, strict=True)
            if (text := self._usable(ask, outcome, caller))
        ]
        if not texts:
            return
        self.reply, self.finished = _BETWEEN.join(texts), True
        if caller.count(self.reply) > self.tokens and self.rounds < _ROUNDS:
            self.rounds += 1
            merges = _asks(self.part, self.reply, self.tokens, caller, merging=True)
            if 0 < len(merges) <= self._left and len(merges) < len(asked):
                self.asks = merges

    def _take_one(self, outcome: Outcome[Reply]) -> None:
        if isinstance(outcome, Failed):
            self.why = told(outcome.error)
        else:
            self.reply, self.finished = outcome.value.text, outcome.value.finished

    def _usable(
        self, ask: Summarise, outcome: Outcome[Reply], caller: Caller
    ) -> str | None:
        """Return the summary of a piece as it may stand beside the others'."""
        if isinstance(outcome, Failed):
            self.why = told(outcome.error)
            return None
        room = _characters(ask.text, ask.tokens, caller.count)
        checked = check(
            outcome.value.text, ask.text, room, finished=outcome.value.finished
        )
        self.why = checked.why or self.why
        return checked.text

    def begin(self, caller: Caller) -> None:
        """Divide the text into what the window holds, and plan the calls."""
        self.asks = _asks(self.part, self.part.text, self.tokens, caller)
        self.planned = self._left = _planned(self.asks, self.tokens, caller)


def summarise(
    jobs: Sequence[Job], caller: Caller
) -> Flow[Summarise, Reply, list[Outcome[Reply]]]:
    """Have the summaries of all jobs written.

    Args:
        jobs: What to summarise, begun; the results are noted there.
        caller: What a call may be.

    Rounds:
        The pieces of all jobs at once, then their merging, at most three times.

    Returns:
        How each ask ended.
    """
    ended: list[Outcome[Reply]] = []
    while active := [job for job in jobs if job.asks]:
        asked = [ask for job in active for ask in job.asks]
        replies: Sequence[Outcome[Reply]] = yield asked
        ended += replies
        at = 0
        for job in active:
            until = at + len(job.asks)
            job.take(replies[at:until], caller)
            at = until
    return ended


def _asks(
    part: Part, text: str, tokens: int, caller: Caller, *, merging: bool = False
) -> list[Summarise]:
    """Divide a text so that each call is within the window; empty where none can be."""
    bare = Summarise(part, "", tokens, merging)
    room = caller.window - caller.prompt(bare) - caller.output(tokens)
    size = size_of(text, caller.count)
    if room <= 0 or not size.tokens:
        return []
    wanted = max(1, -(-int(size.tokens) // max(1, int(room * _FILLED))))
    found: list[Summarise] = []
    pieces = _pieces(text, -(-len(text) // wanted))
    each = tokens if len(pieces) == 1 else _tokens_each(tokens, len(pieces))
    waiting = [Summarise(part, piece, each, merging) for piece in reversed(pieces)]
    while waiting:
        ask = waiting.pop()
        if caller.fits(ask):
            found.append(ask)
            continue
        halves = _pieces(ask.text, -(-len(ask.text) // 2))
        if len(ask.text) <= _SHORTEST or len(halves) <= 1:
            return []
        waiting += [Summarise(part, half, each, merging) for half in reversed(halves)]
    return found


def _tokens_each(tokens: int, number: int) -> int:
    return min(tokens, max(tokens // number, _LEAST_PIECE))


def _planned(asks: Sequence[Summarise], tokens: int, caller: Caller) -> int:
    """Return how many asks a job may take, were all replies as long as allowed."""
    number = total = len(asks)
    for _ in range(_ROUNDS):
        each = asks[0].tokens if asks else 0
        if number <= 1 or number * each <= tokens:
            break
        room = max(1, int(caller.window * _FILLED) // 2)
        number = min(number - 1, max(1, -(-number * each // room) + 1))
        total += number
    return total


def _pieces(text: str, length: int) -> list[str]:
    """Divide a text at sentences into pieces of about *length* characters."""
    if len(text) <= length:
        return [text]
    pieces: list[str] = []
    start = end = 0
    for first, last in sentences(text):
        if last - start > length and first > start:
            pieces.append(text[start:first])
            start = first
        end = last
    if not pieces:
        # One long sentence.
        start = floor_boundary(text, length)
        pieces = [text[:start]] if start else []
    return [*pieces, text[start:end]]


def _characters(text: str, tokens: int, count: Count) -> int:
    """Return the characters that so many tokens of such a text have."""
    size = size_of(text, count)
    return int(tokens * size.length / size.tokens) if size.tokens else size.length
