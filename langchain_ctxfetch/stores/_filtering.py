"""Filters evaluated over many documents at once."""

from __future__ import annotations

import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import assert_never

import numpy as np

from langchain_ctxfetch._core.filters import All, Any, Compare, Filter, Not
from langchain_ctxfetch.stores._documents import all_ordinals, ordinals_of
from langchain_ctxfetch.stores._postings import Integers, Mask
from langchain_ctxfetch.stores._sql import leaf_statements

_MOST_MASKS = 32


def passing(
    connection: sqlite3.Connection, parsed: Filter, documents: Integers
) -> Mask:
    """Say of each document whether it passes a filter.

    Args:
        connection: Within a transaction.
        parsed: The filter.
        documents: Ordinals, rising.

    Returns:
        What `_core.filters.matches` says of their metadata.
    """
    match parsed:
        case Compare():
            return _leaf(connection, parsed, documents)
        case Not(part=part):
            return ~passing(connection, part, documents)
        case All(parts=parts):
            mask = np.ones(len(documents), np.bool_)
            for part in parts:
                mask &= passing(connection, part, documents)
            return mask
        case Any(parts=parts):
            mask = np.zeros(len(documents), np.bool_)
            for part in parts:
                mask |= passing(connection, part, documents)
            return mask
        case _:
            assert_never(parsed)


def chosen(
    connection: sqlite3.Connection, ids: Sequence[str] | None, parsed: Filter
) -> list[int]:
    """Return the ordinals of documents that exist and pass a filter.

    Args:
        connection: Within a transaction.
        ids: Only these; None for all.
        parsed: The filter.

    Returns:
        The ordinals, rising, each once.
    """
    found = all_ordinals(connection) if ids is None else ordinals_of(connection, ids)
    ordinals = np.array(sorted(set(found)), np.int64)
    passed: list[int] = ordinals[passing(connection, parsed, ordinals)].tolist()
    return passed


class MaskCache:
    """Remember the last masks of one state of a store."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._masks: OrderedDict[tuple[int, Filter], Mask] = OrderedDict()

    def passing(
        self,
        connection: sqlite3.Connection,
        parsed: Filter,
        documents: Integers,
        version: int,
    ) -> Mask:
        """Same as `passing`, for the documents of one version of the file."""
        key = (version, parsed)
        with self._lock:
            if key in self._masks:
                self._masks.move_to_end(key)
                return self._masks[key]
        mask = passing(connection, parsed, documents)
        with self._lock:
            self._masks[key] = mask
            while len(self._masks) > _MOST_MASKS:
                self._masks.popitem(last=False)
        return mask


def _leaf(connection: sqlite3.Connection, leaf: Compare, documents: Integers) -> Mask:
    mask = np.zeros(len(documents), np.bool_)
    if not len(documents):
        return mask
    for sql, parameters in leaf_statements(leaf):
        rows = connection.execute(sql, parameters)
        found = np.fromiter((document for (document,) in rows), np.int64)
        at = np.searchsorted(documents, found)
        inside = at < len(documents)
        at, found = at[inside], found[inside]
        mask[at[documents[at] == found]] = True
    return mask
