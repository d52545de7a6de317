"""Documents come out as they went in, whatever they hold and however many."""

import uuid
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from langchain_core.documents import Document

from langchain_ctxfetch import SQLiteStore
from langchain_ctxfetch._core.text import clean
from tests.stores.fakes import found_ids, hit
from tests.strategies import ODD_TEXTS

JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("ab\u732b'\""),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)


@given(ODD_TEXTS, st.dictionaries(st.text("ab.", max_size=2), JSON_VALUES, max_size=3))
def test_text_and_metadata_come_back(text, metadata) -> None:
    """Every text but for what cannot be encoded, and everything that JSON has."""
    with SQLiteStore() as store:
        store.add_documents([Document(text, id="a", metadata=metadata)])
        (document,) = store.get_by_ids(["a"])

        assert document == Document(clean(text), id="a", metadata=metadata)


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        ((1, 2), [1, 2]),
        ({"b", "a"}, ["a", "b"]),
        (frozenset([2, 1]), [1, 2]),
        ({1, "a"}, ["a", 1]),
        (date(2024, 5, 1), "2024-05-01T00:00:00.000000Z"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (np.float32(1.1), 1.1),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([1, 2]), [1, 2]),
        (Path("a/b"), "a/b"),
        (2**70, 2**70),
        ({"deep": {"er": (1,)}}, {"deep": {"er": [1]}}),
    ],
)
def test_values_that_json_lacks_are_stored_as(value, stored) -> None:
    """Times and UUIDs as text, numpy plainly, sets and tuples as lists."""
    with SQLiteStore() as store:
        store.put([hit("a", "cat", key=value)])
        (found,) = store.fetch(["a"])

        assert found.metadata == {"key": stored}


def test_ten_thousand_blank_lines_and_headings() -> None:
    """Markdown with nothing but marks is as quick as any text."""
    text = "# a\n\n" * 10_000 + "\n" * 100_000 + "needle"
    with SQLiteStore() as store:
        store.put([hit("a.md", text)])

        assert found_ids(store, "needle") == ["a.md"]


def test_a_very_long_document() -> None:
    """Ten million characters without a space, and a word at the end."""
    text = "x" * 10_000_000 + " needle"
    with SQLiteStore() as store:
        store.put([hit("a", text)])
        (found,) = store.channel("keyword").ask("needle", 1, None)

        assert (found.id, found.length) == ("a", len(text))
        assert "needle" in found.passages[0].text


def test_records_bring_everything_in_the_order_of_writing() -> None:
    """Page by page, more than one of them."""
    with SQLiteStore() as store:
        store.put([hit(str(n), "cat", n=n) for n in range(1_100)], batch_size=500)

        assert list(store.records()) == [(str(n), {"n": n}) for n in range(1_100)]
