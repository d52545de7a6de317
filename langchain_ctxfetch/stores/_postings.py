"""The keyword index on disk: which rows hold a term, how often, and at which places.

Rows are numbered once and for all in the order of writing; a row is a passage or the
title of a document. Postings stand in *blocks*. Each write adds a small one, and eight
of a level are merged into one of the next, so that neither a write nor a search ever
meets many. Nothing in a block changes: rows of removed documents are passed over when
a search reads them, and dropped by the next merge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]
Rows: TypeAlias = npt.NDArray[np.int32]
Counts: TypeAlias = npt.NDArray[np.unsignedinteger]
Mask: TypeAlias = npt.NDArray[np.bool_]

FAN_IN = 8
"""Blocks of one level that are merged into one of the next."""

MOST_POSTINGS = 2_000_000
"""Postings of one block, so that a merge needs little memory however large the file."""

_WIDTHS = (1, 2, 4, 8)  # bytes of a number
_UNFIT = "a block of the keyword index does not fit together"


@dataclass(frozen=True, slots=True)
class Block:
    """Hold postings in compressed sparse rows: one run for each term.

    Attributes:
        terms: Distinct and sorted by code point.
        offsets: Where the run of each term begins, and the end of the last.
        rows: The rows that hold the term, rising within a run.
        counts: How often each of them holds it.
        places: Where, counted in terms of the row from 0: of the first row as many
            as it has counts, rising, then of the next.
    """

    terms: list[str]
    offsets: Integers
    rows: Rows
    counts: Counts
    places: Counts

    def __len__(self) -> int:
        return len(self.rows)


def build(rows: Sequence[Sequence[str]]) -> Block:
    """Count and place the terms of each row.

    >>> block = build([["b", "a", "b"], ["b"]])
    >>> block.terms, block.offsets.tolist(), block.rows.tolist(), block.counts.tolist()
    (['a', 'b'], [0, 1, 3], [0, 0, 1], [1, 2, 1])
    >>> block.places.tolist()
    [1, 0, 2, 0]

    Args:
        rows: The terms of each row in their order, with repeats.

    Returns:
        Their postings; rows are numbered from 0.
    """
    seen = list(chain.from_iterable(rows))
    terms = sorted(set(seen))
    number = {term: i for i, term in enumerate(terms)}
    of_seen = np.fromiter(map(number.__getitem__, seen), np.int64, len(seen))
    sizes = np.array([len(row) for row in rows], np.int64)
    at_row = np.repeat(np.arange(len(rows)), sizes)
    place = ranges(np.zeros(len(rows), np.int64), sizes)
    pairs = of_seen * len(rows) + at_row
    place = place[np.argsort(pairs, kind="stable")]
    pairs, counts = np.unique(pairs, return_counts=True)
    of_term, rows_of_terms = np.divmod(pairs, max(1, len(rows)))
    return Block(
        terms,
        _offsets(of_term, len(terms)),
        rows_of_terms.astype(np.int32),
        _narrow(counts),
        _narrow(place),
    )


def shift(block: Block, by: int) -> Block:
    """Return the block with every row number raised by *by*."""
    return replace(block, rows=(block.rows + by).astype(np.int32))


def merge(blocks: Sequence[Block], living: Mask, first_row: int) -> Block:
    """Make one block of several, without the rows that are gone.

    Args:
        blocks: In the order of their rows, which do not overlap.
        living: Whether each row still exists, from *first_row* on.
        first_row: The row that *living* begins with.

    Returns:
        The postings of all living rows.
    """
    union = sorted(set().union(*(block.terms for block in blocks)))
    number = {term: i for i, term in enumerate(union)}
    of_term = np.concatenate([_numbered(block, number) for block in blocks])
    rows = np.concatenate([block.rows for block in blocks])
    counts = np.concatenate([block.counts for block in blocks]).astype(np.int64)
    places = np.concatenate([block.places for block in blocks])
    kept = np.flatnonzero(living[rows - first_row])
    # Stable: blocks come in the order of their rows, and so stay the runs.
    order = kept[np.argsort(of_term[kept], kind="stable")]
    of_term = of_term[order]
    used = np.unique(of_term)
    offsets = _offsets(np.searchsorted(used, of_term), len(used))
    terms = [union[i] for i in used.tolist()]
    begin = (np.cumsum(counts) - counts)[order]
    counts = counts[order]
    places = places[ranges(begin, begin + counts)]
    return Block(terms, offsets, rows[order], _narrow(counts), _narrow(places))


def groups(sizes: Sequence[int], most: int = MOST_POSTINGS) -> list[tuple[int, int]]:
    """Return which neighbouring blocks to merge so that none grows past *most*.

    >>> groups([3, 4, 9, 2, 2], most=8)
    [(0, 2), (2, 3), (3, 5)]

    Args:
        sizes: The postings of each block.
        most: The most postings of a merged block; one that is larger stays alone.

    Returns:
        First and past-the-last index of each group.
    """
    found: list[tuple[int, int]] = []
    first, total = 0, 0
    for i, size in enumerate(sizes):
        if i > first and total + size > most:
            found.append((first, i))
            first, total = i, 0
        total += size
    return [*found, (first, len(sizes))]


def ranges(starts: Integers, ends: Integers) -> Integers:
    """Return the whole numbers of several ranges, one after another.

    >>> ranges(np.array([5, 2]), np.array([7, 3])).tolist()
    [5, 6, 2]
    """
    sizes = ends - starts
    before = np.cumsum(sizes) - sizes
    return np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))


def encode(block: Block) -> tuple[bytes, bytes, bytes, bytes]:
    """Write a block as bytes, little-endian: terms, offsets, rows, and the numbers.

    The numbers are counts and after them places, all of one width, which stands in
    the last byte.
    """
    numbers = _narrow(np.concatenate([block.counts, block.places]))
    width = numbers.dtype.itemsize
    return (
        "\n".join(block.terms).encode(),
        block.offsets.astype("<i4").tobytes(),
        block.rows.astype("<i4").tobytes(),
        numbers.astype(f"<u{width}").tobytes() + bytes([width]),
    )


def decode(terms: bytes, offsets: bytes, rows: bytes, numbers: bytes) -> Block:
    """Read what `encode` has written.

    Args:
        terms: One to a line.
        offsets: Of the run of each term, and the end of the last.
        rows: Of all runs.
        numbers: A count for each row, then the places.

    Returns:
        The block.

    Raises:
        ValueError: If the bytes do not belong together.
    """
    ends = np.frombuffer(offsets, "<i4").astype(np.int64)
    # Some stemmers make nothing of a word, so no text may still be one term.
    words = terms.decode().split("\n") if len(ends) > 1 else []
    of_runs = np.frombuffer(rows, "<i4").astype(np.int32, copy=False)
    width = numbers[-1] if numbers else 0
    if width not in _WIDTHS:
        raise ValueError(_UNFIT)
    read = np.frombuffer(numbers, f"<u{width}", (len(numbers) - 1) // width)
    counts, places = read[: len(of_runs)], read[len(of_runs) :]
    held = [len(words), len(of_runs), len(of_runs), len(places)]
    # A count of 0 is none: numbers cut short must not pass for others.
    told = [len(ends) - 1, ends[-1], np.count_nonzero(counts), counts.sum()]
    if held != told:
        raise ValueError(_UNFIT)
    return Block(words, ends, of_runs, counts, places)


def _numbered(block: Block, number: dict[str, int]) -> Integers:
    """Return the number of the term of each posting."""
    numbers = np.fromiter((number[term] for term in block.terms), np.int64)
    return np.repeat(numbers, np.diff(block.offsets))


def _offsets(of_term: Integers, terms: int) -> Integers:
    return np.searchsorted(of_term, np.arange(terms + 1))


def _narrow(counts: npt.NDArray[np.integer]) -> Counts:
    """Return counts or places in the smallest type: nearly always one byte."""
    largest = int(counts.max(initial=0))
    return counts.astype(np.min_scalar_type(largest))
