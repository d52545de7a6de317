"""What a question asks for, and where a text mentions it.

The text is not cut into words: each term is looked for as a string, and only the
words that begin like it are read. A question never becomes a pattern.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise

from langchain_ctxfetch._core.sentences import CJK_LETTERS
from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch._core.words import STOP_WORDS, Stem

WEAK = 0.3
"""Weight of a term that says how to answer rather than what about."""

GRAM = 4
"""Letters of a gram."""

_ABOUT_THE_TASK = """
    according author authors conclude concluded conclusion committee decide decided
    decision describe discuss discussed discussing discussion document example examples
    explain article give group kind list main meeting mention mentioned name opinion
    opinions paper participants reason reasons report said say saying section study
    summarise summarize summarized summary talk talked talking team text think thinks
    thought type types view views
"""
_TASK_WORDS = tuple(_ABOUT_THE_TASK.split())

_SAMPLE = 4_000  # characters that show the script of a text
_MOST_RUNS = 128  # words of a question; more than that is no question any more
_LONGEST_ENDING = 24  # letters that a stemmer may take off a word

# `re` takes accents and the vowel signs of Hindi or Arabic for punctuation.
_MARKS = "\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0900-\u0963\u0966-\u0dff"
_WORD = f"[^\\W_{CJK_LETTERS}]+(?:[{_MARKS}]+[^\\W_{CJK_LETTERS}]*)*"
_RUN = re.compile(f"[{CJK_LETTERS}]+|{_WORD}")
_ONE_WORD = re.compile(_WORD)
_NEXT_WORD = re.compile(f"(?:{_WORD})(?:[^\\w]|_){{1,3}}(?=[^\\W_])")
_CJK = re.compile(f"[{CJK_LETTERS}]")
_CHANGED_ENDING = re.compile(r"(?<=..)[iye]\Z")
_HIRAGANA = re.compile("[\u3040-\u309f]+")
_WIDE = re.compile("[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]")
_WIDE_OFFSET = 0xFEE0  # from a full-width letter or digit to the ASCII one


@dataclass(frozen=True, slots=True)
class Question:
    """Be what is asked for.

    Attributes:
        weights: Each term, a stem or a pair of CJK letters, with its weight.
        words: The words of those terms as they were asked, with their stems.
        pairs: Words, as terms, that stand side by side in the question but for stop
            words.
    """

    weights: dict[str, float]
    words: dict[str, str]
    pairs: tuple[tuple[str, str], ...] = ()

    @property
    def strong(self) -> list[str]:
        """Return the terms that say what about; all of them where none does."""
        strong = [term for term, weight in self.weights.items() if weight > WEAK]
        return strong or list(self.weights)


def fold(text: str) -> str:
    """Lower the case, one character for one.

    Where a text begins in Chinese, Japanese or Korean, full-width letters and digits
    become ASCII ones.

    >>> fold("İX ＡＢ猫")
    'ix ab猫'
    """
    if not text.isascii():
        # The only letter whose small form is two characters.
        text = text.replace("İ", "i")
        if _CJK.search(text, 0, _SAMPLE):
            text = _WIDE.sub(_narrow, text)
    return text.lower()


def _narrow(match: re.Match[str]) -> str:
    return chr(ord(match.group()) - _WIDE_OFFSET)


def runs(folded: str) -> Iterator[str]:
    """Yield the words and the runs of CJK letters of a folded text."""
    return (match.group() for match in _RUN.finditer(folded))


def read_question(query: str, stem: Stem) -> Question:
    """Return the terms of a question; stop words only where there is nothing else.

    >>> read_question("Describe the cats", lambda word: word.rstrip("s")).weights
    {'describe': 0.3, 'cat': 1.0}

    Args:
        query: Any text; its first 128 words or CJK runs count.
        stem: Reduces a word, in the question and in the text.

    Returns:
        The terms with their weights, and the words that they come from.
    """
    task = {stem(word) for word in _TASK_WORDS}
    kept: dict[str, float] = {}
    words: dict[str, str] = {}
    stopped: dict[str, str] = {}
    order: list[str] = []
    for run in islice(runs(fold(query)), _MOST_RUNS):
        if _CJK.match(run):
            kept.update(_bigrams(run[:_MOST_RUNS]))
        elif run in STOP_WORDS:
            stopped[run] = stem(run)
        else:
            words[run] = stem(run)
            kept[words[run]] = WEAK if words[run] in task else 1.0
            order.append(words[run])
    if not kept:
        return Question(dict.fromkeys(stopped.values(), 1.0), stopped)
    return Question(kept, words, tuple(dict.fromkeys(pairwise(order))))


def _bigrams(run: str) -> Iterator[tuple[str, float]]:
    """Yield the neighbouring pairs of a CJK run; pairs of endings weigh less."""
    for i in range(max(1, len(run) - 1)):
        pair = run[i : i + 2]
        yield pair, WEAK if _HIRAGANA.fullmatch(pair) else 1.0


def find_term(folded: str, term: str, stem: Stem, spans: Iterable[Span]) -> list[int]:
    """Return where *term* begins in the *spans* of a folded text, in characters.

    >>> find_term("cats, concat", "cat", lambda word: word.rstrip("s"), [(0, 12)])
    [0]
    """
    if _CJK.match(term):
        return find_string(folded, term, spans)
    places: list[int] = []
    for span in spans:
        places.extend(_words_of_term(folded, term, stem, span))
    return places


def find_string(folded: str, wanted: str, spans: Iterable[Span]) -> list[int]:
    """Return where *wanted* begins in the *spans* of a text, overlaps included."""
    places: list[int] = []
    for start, end in spans:
        place = folded.find(wanted, start, end)
        while place >= 0:
            places.append(place)
            place = folded.find(wanted, place + 1, end)
    return places


def _words_of_term(folded: str, term: str, stem: Stem, span: Span) -> Iterator[int]:
    """Yield where words begin whose stem is *term*."""
    # A stemmer may have changed the last letter: happy, happi.
    beginning = term[:-1] if _CHANGED_ENDING.search(term) else term
    longest = len(term) + _LONGEST_ENDING
    is_term: dict[str, bool] = {}
    after = span[0]
    for place in find_string(folded, beginning, [span]):
        before = folded[place - 1] if place else " "
        if place < after or (before.isalnum() and not _CJK.match(before)):
            continue
        match = _ONE_WORD.match(folded, place, place + longest)
        after = match.end() if match else place + 1
        word = folded[place:after]
        if word not in is_term:
            is_term[word] = stem(word) == term
        if is_term[word]:
            yield place


def find_pairs(folded: str, first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Return the places of *first* whose next word begins at one of *second*.

    >>> find_pairs("valve-77, valve 78", [0, 10], [6])
    [0]
    """
    if not second:
        return []
    wanted = set(second)
    return [
        place
        for place in first
        if (match := _NEXT_WORD.match(folded, place)) and match.end() in wanted
    ]


def rarity(places: Sequence[int], cells: float, cell: int) -> float:
    """Return the idf of a term inside one text: ln(1 + (N - df + .5) / (df + .5)).

    >>> round(rarity([0, 10, 320], cells=4, cell=150), 4)  # ln(1 + 2.5 / 2.5)
    0.6931

    Args:
        places: Where the term begins, in characters.
        cells: N, how many cells the text has; need not be whole.
        cell: How long a cell is, in characters; df counts the cells with the term.

    Returns:
        The rarity, above 0.

    Source: Robertson and Sparck Jones's weight in Lucene's form, with stretches of
    one text in the place of documents.
    """
    count = len({place // cell for place in places})
    return math.log(1 + (max(cells, count) - count + 0.5) / (count + 0.5))


def letter_grams(question: Question) -> dict[str, float]:
    """Return the 4-letter strings of the words of a question with their weights.

    Each word shares its weight over the square root of their number; shorter words
    have none.

    >>> letter_grams(read_question("cats", str))
    {'cats': 1.0}
    """
    grams: dict[str, float] = {}
    for word, term in question.words.items():
        count = len(word) - GRAM + 1
        for i in range(count):
            gram = word[i : i + GRAM]
            share = question.weights[term] / math.sqrt(count)
            grams[gram] = grams.get(gram, 0.0) + share
    return grams
