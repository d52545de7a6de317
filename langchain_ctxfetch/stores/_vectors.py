"""Exact search by vector: one matrix in memory that follows the file."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_ctxfetch.errors import StoreError, StoreMismatchError
from langchain_ctxfetch.stores._index import Batch, Index
from langchain_ctxfetch.stores._layout import Layout
from langchain_ctxfetch.stores._postings import Mask

Matrix: TypeAlias = npt.NDArray[np.float32]

_GATHERED = 0.25  # a filter that leaves fewer passages than this is applied first


def unit_vectors(vectors: Sequence[Sequence[float]], dimension: int | None) -> Matrix:
    """Return vectors of length 1, so that their product is the cosine.

    A vector of zeros stays as it is: it is similar to nothing.

    >>> unit_vectors([[3, 4]], dimension=2).tolist()
    [[0.6000000238418579, 0.800000011920929]]

    Args:
        vectors: What an embedding gave.
        dimension: How many numbers each must have; None takes that of the first.

    Returns:
        A row for each vector.

    Raises:
        StoreError: If a vector holds NaN or infinity, or is no list of numbers.
        StoreMismatchError: If a vector has another number of numbers.
    """
    try:
        sizes = [len(vector) for vector in vectors]
        for size in sizes:
            refuse_dimension(size, dimension or sizes[0])
        wide = np.asarray(vectors, np.float64).reshape(len(sizes), -1 if sizes else 0)
    except (TypeError, ValueError) as error:
        raise StoreError("the `embedding` gave no lists of numbers") from error
    if sizes and wide.shape[1] != (dimension or sizes[0]):
        raise StoreError("the `embedding` gave no lists of numbers")
    if not np.isfinite(wide).all():
        raise StoreError("the `embedding` gave a vector with NaN or infinity")
    # Scaled first: squares of very large or small numbers would leave the range.
    largest = np.abs(wide).max(axis=1, initial=0.0, keepdims=True)
    wide = wide / np.where(largest > 0, largest, 1)
    length = np.linalg.norm(wide, axis=1, keepdims=True)
    return (wide / np.where(length > 0, length, 1)).astype(np.float32)


def refuse_dimension(found: int, expected: int | None) -> None:
    """Raise an error for a vector of another length than those of the file."""
    if not found:
        raise StoreError("the `embedding` gave a vector without numbers")
    if found != expected:
        raise StoreMismatchError(
            f"the `embedding` gave a vector of {found} numbers where {expected} were"
            " expected; a store keeps to one model"
        )


class VectorCache:
    """Keep the vectors of an index: row i is the vector of passage i.

    States of an index that follow one another share one matrix, which only grows
    at its end; so a search that still uses an earlier state is not disturbed. Only
    one thread may ask at a time.
    """

    def __init__(self) -> None:
        self._batches: tuple[Batch, ...] = ()
        self._matrix: Matrix = np.empty((0, 0), np.float32)
        self._used = 0

    def of(
        self, connection: sqlite3.Connection, index: Index, dimension: int
    ) -> Matrix:
        """Return the vectors of all passages of *index*.

        Args:
            connection: Within the transaction that *index* was read in.
            index: The state whose vectors are wanted.
            dimension: How many numbers a vector has.

        Returns:
            A row for each passage.
        """
        known = len(self._batches)
        if not known or index.batches[:known] != self._batches:
            self._batches, known = (), 0
            self._matrix, self._used = np.empty((0, dimension), np.float32), 0
        passages = len(index.layout.start)
        self._reserve(passages, dimension)
        used = self._used
        for batch in index.batches[known:]:
            vectors = _read(connection, batch, index.layout, dimension)
            self._matrix[used : used + len(vectors)] = vectors
            used += len(vectors)
        # At once and last: whatever breaks off before, the state stays the earlier.
        self._batches, self._used = index.batches, used
        return self._matrix[:passages]

    def _reserve(self, rows: int, dimension: int) -> None:
        if rows > len(self._matrix):
            # Half as much again: appending stays linear, earlier views stay valid.
            room = rows if not self._used else rows + rows // 2
            grown = np.zeros((room, dimension), np.float32)
            grown[: self._used] = self._matrix[: self._used]
            self._matrix = grown


def cosines(matrix: Matrix, vector: Matrix, eligible: Mask) -> npt.NDArray[np.float32]:
    """Return the cosine of every eligible row with *vector*, -infinity elsewhere.

    Args:
        matrix: Rows of length 1.
        vector: One row of length 1.
        eligible: Which rows count.

    Returns:
        One number for each row; that of a row depends on nothing else.
    """
    if eligible.mean() < _GATHERED:
        found = np.full(len(matrix), -math.inf, np.float32)
        at = np.flatnonzero(eligible)
        found[at] = _products(matrix[at], vector)
        return found
    return np.where(eligible, _products(matrix, vector), np.float32(-math.inf))


def _products(matrix: Matrix, vector: Matrix) -> npt.NDArray[np.float32]:
    # Not `@`: a BLAS adds up a row in an order that depends on where it stands, so
    # equal rows would differ, and one row with and without a filter.
    products: npt.NDArray[np.float32] = np.einsum("ij,j->i", matrix, vector)
    return products


def best_of_documents(
    layout: Layout, passages: npt.NDArray[np.float32]
) -> npt.NDArray[np.float64]:
    """Return the best score among the passages of each document."""
    if not len(layout.documents):
        return np.empty(0)
    best = np.maximum.reduceat(passages, layout.first_passage[:-1])
    return best.astype(np.float64)


def _read(
    connection: sqlite3.Connection, batch: Batch, layout: Layout, dimension: int
) -> Matrix:
    rows = layout.code[batch.position : batch.position + batch.size]
    passages = int((rows >= 0).sum())
    found = connection.execute(
        "select vectors from batches where first_document = ?", (batch.first_document,)
    ).fetchone()
    if found is None:
        # Every document of the batch is gone since it was loaded.
        return np.zeros((passages, dimension), np.float32)
    vectors: Matrix = np.frombuffer(found[0] or b"", "<f4").reshape(-1, dimension)
    if len(vectors) != passages or not np.isfinite(vectors).all():
        raise ValueError("passages and vectors of a batch do not fit together")
    return vectors
