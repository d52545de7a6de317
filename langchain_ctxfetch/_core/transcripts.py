"""What is known of a text that is a conversation: its turns and who speaks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Sequence

from langchain_ctxfetch._core.terms import fold, runs
from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch._core.words import STOP_WORDS, Stem

_LABEL = re.compile(r"^([^\W\d_][^:\n]{0,39}):\s", re.MULTILINE)
_SAMPLE = 60_000  # characters that are looked at
_FEWEST_LINES = 20
_FEWEST_TURNS = 3  # of a speaker, for the label to count
_NAMED_BONUS = 0.2

_BEST_UNITS = 5
_SHORTEST_WORD = 3


def is_transcript(text: str) -> bool:
    r"""Tell whether at least half of the lines begin with the label of a speaker.

    >>> is_transcript("Ann: Hello.\nBob: Hello, Ann.\n" * 10)
    True
    """
    sample = text[:_SAMPLE]
    lines = sum(map(bool, map(str.strip, sample.split("\n"))))
    # Counting colons is quick, and tells for most texts.
    if lines < _FEWEST_LINES or 2 * sample.count(":") < lines:
        return False
    labels = Counter(_LABEL.findall(sample))
    turns = sum(count for count in labels.values() if count >= _FEWEST_TURNS)
    return 2 * turns >= lines


def terms_of_the_best(
    folded: str, units: Sequence[Span], scores: Sequence[float], stem: Stem
) -> dict[str, float]:
    """Return the terms of the five best units with what those units score together.

    A score is given as a share of the best one's.

    >>> terms_of_the_best("the red car", [(0, 11)], [2.0], lambda word: word)
    {'red': 1.0, 'car': 1.0}
    """
    best = sorted(range(len(units)), key=scores.__getitem__, reverse=True)[:_BEST_UNITS]
    weights: dict[str, float] = {}
    for i in best:
        for word in runs(folded[slice(*units[i])]):
            if len(word) >= _SHORTEST_WORD and word not in STOP_WORDS:
                term = stem(word)
                weights[term] = weights.get(term, 0.0) + scores[i] / scores[best[0]]
    return weights


def favour_named_speakers(
    text: str, units: Sequence[Span], terms: Collection[str], stem: Stem
) -> list[float]:
    """Return a factor for each unit, above 1 where a speaker asked for has the turn.

    Args:
        text: The transcript.
        units: Its sentences.
        terms: The terms of the question.
        stem: Reduces a word of a label to a term.

    Returns:
        1 + 0.2 * the share of the asked names that are in the label of the turn.
    """
    marks = [(match.start(), match[1]) for match in _LABEL.finditer(text)]
    often = Counter(label for _, label in marks)
    names = {
        label: frozenset(map(stem, runs(fold(label)))).intersection(terms)
        for label, count in often.items()
        if count > 1
    }
    asked = frozenset[str]().union(*names.values())
    if not asked:
        return [1.0] * len(units)
    starts = [start for start, _ in marks]
    factors: list[float] = []
    for start, _ in units:
        turn = bisect_right(starts, start) - 1
        named = names.get(marks[turn][1], frozenset()) if turn >= 0 else frozenset()
        factors.append(1 + _NAMED_BONUS * len(named) / len(asked))
    return factors
