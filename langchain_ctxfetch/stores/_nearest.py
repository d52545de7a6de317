"""Finding the terms that are nearly a word.

How far two words are apart is counted in edits: a letter put in, left out or replaced,
or two neighbours exchanged, no stretch edited twice (Damerau; "optimal string
alignment"). Only terms that share enough pairs of neighbouring letters are compared;
that passes over none that is near enough.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_ctxfetch.stores._postings import Integers, ranges

_Letters: TypeAlias = npt.NDArray[np.uint32]
_Distances: TypeAlias = npt.NDArray[np.int16]

_LOST_PAIRS = 3  # pairs of letters that one edit touches at most: an exchange
_EDGE = "\n"  # what stands before and after each term; no term holds it


@dataclass(frozen=True, slots=True)
class WordTable:
    """Hold which terms have which pairs of letters, their edges included.

    Attributes:
        terms: All terms.
        lengths: The length of each, in characters.
        pairs: Numbers of pairs, rising. Two pairs may share one, which only lets more
            terms through to the comparison.
        owners: The term that has each of them.
    """

    terms: Sequence[str]
    lengths: Integers
    pairs: npt.NDArray[np.uint16]
    owners: npt.NDArray[np.int32]

    @classmethod
    def of(cls, terms: Sequence[str]) -> WordTable:
        """Tabulate terms."""
        letters = _letters(_EDGE.join(["", *terms, ""]))
        lengths = np.diff(np.flatnonzero(letters == ord(_EDGE))) - 1
        pairs = _numbers(letters)
        owners = np.repeat(np.arange(len(terms), dtype=np.int32), lengths + 1)
        order = np.argsort(pairs, kind="stable")
        return cls(terms, lengths, pairs[order], owners[order])

    def candidates(self, word: str, limit: int) -> list[str]:
        """Return every term at most so many edits from a word, and some others.

        >>> WordTable.of(["cat", "cats", "dog"]).candidates("cast", 1)
        ['cat', 'cats']

        Args:
            word: The word; not empty.
            limit: The most edits.

        Returns:
            Terms in order.
        """
        wanted = np.unique(_numbers(_letters(f"{_EDGE}{word}{_EDGE}")))
        begin = np.searchsorted(self.pairs, wanted, side="left")
        end = np.searchsorted(self.pairs, wanted, side="right")
        owners = self.owners[ranges(begin, end)]
        shared = np.bincount(owners, minlength=len(self.terms))
        lost = _LOST_PAIRS * limit
        # Of the pairs of a word, repeats counted apart, edits leave so many.
        least = max(len(wanted) - lost, min(1, len(word) + 1 - lost))
        at = np.flatnonzero(shared >= least)
        at = at[np.abs(self.lengths[at] - len(word)) <= limit]
        return [self.terms[i] for i in at.tolist()]


def near(tables: Iterable[WordTable], word: str, limit: int) -> list[tuple[int, str]]:
    """Return the terms at most so many edits from a word.

    >>> near([WordTable.of(["cat", "dog"]), WordTable.of(["cats"])], "cast", 1)
    [(1, 'cat'), (1, 'cats')]

    Args:
        tables: Where to look.
        word: The word; not empty.
        limit: The most edits.

    Returns:
        Distances and terms, each once, sorted.
    """
    found = {term for table in tables for term in table.candidates(word, limit)}
    terms = list(found)
    distances = edits(word, terms).tolist()
    return sorted(
        (distance, term)
        for distance, term in zip(distances, terms, strict=True)
        if distance <= limit
    )


def edits(word: str, terms: Sequence[str]) -> _Distances:
    """Return how many edits each term is from a word.

    >>> edits("form", ["from", "form", "farms", ""]).tolist()
    [1, 0, 2, 4]

    Args:
        word: The word.
        terms: What it is compared with, all at once.

    Returns:
        The distance of each term.
    """
    sizes = [len(term) for term in terms]
    longest = max(sizes, default=0)
    padded = "".join(term.ljust(longest, _EDGE) for term in terms)
    columns = _letters(padded).reshape(len(terms), longest).T
    steps = np.arange(longest + 1, dtype=np.int16)[:, np.newaxis]
    row = np.repeat(steps, len(terms), axis=1)
    before = row
    for i, letter in enumerate(_letters(word).tolist()):
        after = row + 1
        np.minimum(after[1:], row[:-1] + (columns != letter), out=after[1:])
        if i:
            swapped = (columns[:-1] == letter) & (columns[1:] == ord(word[i - 1]))
            exchanged = np.where(swapped, before[:-2] + 1, after[2:])
            np.minimum(after[2:], exchanged, out=after[2:])
        # Letters put in: each cell may come from any above it, one edit a step.
        before, row = row, np.minimum.accumulate(after - steps, axis=0) + steps
    return row[sizes, np.arange(len(terms))]


def _letters(text: str) -> _Letters:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _numbers(letters: _Letters) -> npt.NDArray[np.uint16]:
    """Return a number for each pair of neighbouring letters, edges included."""
    mixed = letters[:-1] * np.uint32(31) + letters[1:]
    return mixed.astype(np.uint16)
