"""The keyword index in memory: one immutable state that follows the file."""

from __future__ import annotations

import sqlite3
from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from langchain_ctxfetch.stores._layout import Columns, Layout, Totals, lay_out
from langchain_ctxfetch.stores._nearest import WordTable, near
from langchain_ctxfetch.stores._postings import (
    Counts,
    Integers,
    Mask,
    Rows,
    decode,
    ranges,
)

_MOST_WORDS = 4_096  # unknown words of questions whose nearest ones are remembered
_WASTE = 10_000  # dead rows in memory that are put up with, however few live


@dataclass(frozen=True, slots=True)
class Batch:
    """Say where the rows of one batch stand in memory.

    Attributes:
        first_document: The ordinal that names the batch.
        first_row: The number of its first row in the file.
        position: Where that row stands in memory.
        size: How many rows it has.
    """

    first_document: int
    first_row: int
    position: int
    size: int


@dataclass(frozen=True)
class Segment:
    """Hold one block of postings, its rows resolved to passages and titles.

    Attributes:
        block: The number of the block in the file.
        terms: Sorted by code point.
        offsets: Where the run of each term begins, and the end of the last.
        codes: A passage each, or -1 - document for a title.
        counts: How often the term stands there.
        places: At which places, as many as the counts say.
        place_offsets: Where the places of each term begin, and the end of the last.
    """

    block: int
    terms: list[str]
    offsets: Integers
    codes: Rows
    counts: Counts
    places: Counts
    place_offsets: Integers

    @cached_property
    def words(self) -> WordTable:
        """Return what finds terms that are nearly a word; made when first asked."""
        return WordTable.of(self.terms)

    def run(self, term: str) -> slice:
        """Return where the postings of a term stand; an empty slice for none."""
        i = self._number(term)
        return slice(int(self.offsets[i]), int(self.offsets[i + 1])) if i >= 0 else _NO

    def places_in(self, term: str, wanted: Mask) -> tuple[Rows | Integers, Counts]:
        """Return the wanted passages that hold a term, and each place of it there."""
        number = self._number(term)
        if number < 0:
            return _NOTHING
        run = slice(int(self.offsets[number]), int(self.offsets[number + 1]))
        codes = self.codes[run]
        at = np.flatnonzero(wanted[codes])
        if not len(at):
            return _NOTHING
        counts = self.counts[run]
        ends = np.cumsum(counts, dtype=np.int64)[at] + self.place_offsets[number]
        held = counts[at].astype(np.int64)
        return np.repeat(codes[at], held), self.places[ranges(ends - held, ends)]

    def _number(self, term: str) -> int:
        i = bisect_left(self.terms, term)
        return i if i < len(self.terms) and self.terms[i] == term else -1


_NO = slice(0, 0)
_NOTHING = np.empty(0, np.int64), np.empty(0, np.uint8)


@dataclass(frozen=True)
class Index:
    """Be one state of the keyword index; never changed, only followed by another.

    Attributes:
        version: The state of the file that it shows.
        batches: What was loaded, in order; a later state begins with the same.
        columns: The rows as they are stored.
        layout: What they form.
        living: Whether each document still exists.
        segments: The postings, in the order of their rows.
    """

    version: int
    batches: tuple[Batch, ...]
    columns: Columns
    layout: Layout
    living: Mask
    segments: tuple[Segment, ...]

    @cached_property
    def totals(self) -> Totals:
        """Return what the formula needs to know of all living documents."""
        return Totals.of(self.layout, self.living)

    @cached_property
    def near(self) -> Callable[[str, int], list[tuple[int, str]]]:
        """Return what finds the terms near a word, and remembers what was asked."""

        @lru_cache(_MOST_WORDS)
        def found(word: str, limit: int) -> list[tuple[int, str]]:
            return near((segment.words for segment in self.segments), word, limit)

        return found

    @cached_property
    def all_live(self) -> bool:
        """Say whether no document in memory is gone."""
        return bool(self.living.all())

    def postings(self, term: str) -> tuple[Rows, Integers]:
        """Return codes and counts of a term, of gone documents too."""
        runs = [(segment, segment.run(term)) for segment in self.segments]
        found = [(segment, run) for segment, run in runs if run.stop]
        if not found:
            return np.empty(0, np.int32), np.empty(0, np.int64)
        return (
            np.concatenate([segment.codes[run] for segment, run in found]),
            np.concatenate([segment.counts[run] for segment, run in found]),
        )

    def places(self, term: str, wanted: Mask) -> tuple[Integers, Integers]:
        """Return passages and places of a term.

        Args:
            term: The term.
            wanted: Which passages to look at, then false for each document.

        Returns:
            For each time that the term stands in one of them, the passage and the
            place in it, counted in terms; both rise.
        """
        found = [segment.places_in(term, wanted) for segment in self.segments]
        passages, places = zip(_NOTHING, *found, strict=True)
        return (
            np.concatenate(passages).astype(np.int64),
            np.concatenate(places).astype(np.int64),
        )


EMPTY = Index(
    version=-1,
    batches=(),
    columns=Columns.joined([]),
    layout=lay_out(Columns.joined([])),
    living=np.empty(0, np.bool_),
    segments=(),
)


def follow(connection: sqlite3.Connection, known: Index, version: int) -> Index:
    """Return the state of the file, reading only what *known* does not have.

    Args:
        connection: Within a transaction, so that all is read from one state.
        known: An earlier state, or `EMPTY`.
        version: The version of the file in this transaction.

    Returns:
        The state of that version.
    """
    stored = _stored_batches(connection)
    lost = [batch for batch in known.batches if batch.first_document not in stored]
    if _wasteful(known, lost):
        known, lost = EMPTY, []
    new = [first for first in stored if first > _last(known)]
    batches, columns = _grown(connection, known, new)
    layout = lay_out(columns) if new else known.layout
    living = _living(connection, known, layout, lost)
    return Index(
        version,
        batches,
        columns,
        layout,
        living,
        _segments(connection, known, batches, layout),
    )


def _stored_batches(connection: sqlite3.Connection) -> Mapping[int, None]:
    rows = connection.execute("select first_document from batches order by 1")
    return dict.fromkeys(first for (first,) in rows)


def _wasteful(known: Index, lost: list[Batch]) -> bool:
    """Say whether more than half of what is in memory is gone."""
    gone = sum(batch.size for batch in lost)
    dead = known.layout.documents[~known.living]
    gone += int(np.isin(known.columns.document, dead).sum()) if len(dead) else 0
    return gone > max(_WASTE, len(known.columns) // 2)


def _last(known: Index) -> int:
    return known.batches[-1].first_document if known.batches else -1


def _grown(
    connection: sqlite3.Connection, known: Index, new: list[int]
) -> tuple[tuple[Batch, ...], Columns]:
    """Read the batches that are new and append them."""
    batches = list(known.batches)
    parts = [known.columns]
    position = len(known.columns)
    for first in new:
        first_row, blob = connection.execute(
            "select first_row, passages from batches where first_document = ?", (first,)
        ).fetchone()
        columns = Columns.read(blob, first)
        batches.append(Batch(first, first_row, position, len(columns)))
        parts.append(columns)
        position += len(columns)
    return tuple(batches), Columns.joined(parts) if new else known.columns


def _living(
    connection: sqlite3.Connection, known: Index, layout: Layout, lost: list[Batch]
) -> Mask:
    """Return which documents exist: as before, less those that went since."""
    living = np.ones(len(layout.documents), np.bool_)
    living[: len(known.living)] = known.living
    rows = connection.execute(
        "select document from tombstones where version > ?", (known.version,)
    )
    living[np.isin(layout.documents, [document for (document,) in rows])] = False
    for batch in lost:
        span = slice(batch.position, batch.position + batch.size)
        living[np.isin(layout.documents, known.columns.document[span])] = False
    return living


def _segments(
    connection: sqlite3.Connection,
    known: Index,
    batches: tuple[Batch, ...],
    layout: Layout,
) -> tuple[Segment, ...]:
    """Keep the blocks that are known, and read the others."""
    held = {segment.block: segment for segment in known.segments}
    stored = connection.execute("select block from blocks order by first_row")
    place = _Placement(batches, layout)
    return tuple(
        held[block] if block in held else _load(connection, block, place)
        for (block,) in stored.fetchall()
    )


def _load(connection: sqlite3.Connection, number: int, place: _Placement) -> Segment:
    blobs = connection.execute(
        "select terms, offsets, rows, counts from blocks where block = ?", (number,)
    ).fetchone()
    block = decode(*blobs)
    position, known = place.positions(block.rows)
    # All of its documents may be gone: then there is no row to point at.
    codes = place.layout.code[position] if len(place.layout.code) else position
    segment = Segment(
        number,
        block.terms,
        block.offsets,
        codes.astype(np.int32),
        block.counts,
        block.places,
        _running(block.counts)[block.offsets],
    )
    return segment if known is None else _without(segment, ~known)


def _without(segment: Segment, gone: Mask) -> Segment:
    """Drop the postings of rows whose batch does not exist any more."""
    offsets = _running(~gone)[segment.offsets]
    counts = segment.counts[~gone]
    return replace(
        segment,
        offsets=offsets,
        codes=segment.codes[~gone],
        counts=counts,
        places=segment.places[np.repeat(~gone, segment.counts)],
        place_offsets=_running(counts)[offsets],
    )


def _running(numbers: Counts | Mask) -> Integers:
    """Return the sums of the first 0, 1, ... numbers."""
    return np.concatenate([[0], np.cumsum(numbers, dtype=np.int64)])


class _Placement:
    """Find where rows of the file stand in memory."""

    def __init__(self, batches: tuple[Batch, ...], layout: Layout) -> None:
        self.layout = layout
        self._first = np.array([batch.first_row for batch in batches], np.int64)
        self._size = np.array([batch.size for batch in batches], np.int64)
        self._position = np.array([batch.position for batch in batches], np.int64)

    def positions(self, rows: Rows) -> tuple[Integers, Mask | None]:
        """Return positions, and which rows have one unless all have."""
        if not len(self._first):
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.bool_)
        batch = np.searchsorted(self._first, rows, side="right") - 1
        within = rows - self._first[batch]
        known = (batch >= 0) & (within < self._size[batch])
        position = self._position[batch] + within
        return (position, None) if known.all() else (position * known, known)
