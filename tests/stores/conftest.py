"""Stores to be tested: in memory and in a file."""

import pytest

from langchain_ctxfetch import SQLiteStore
from tests.stores.fakes import EMBEDDING


@pytest.fixture(params=["memory", "file"])
def path(request: pytest.FixtureRequest, tmp_path) -> str:
    """Return where a store is kept."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "a b%.db")


@pytest.fixture
def store(path):
    """Return an empty store that searches by keyword."""
    with SQLiteStore(path) as store:
        yield store


@pytest.fixture(params=["keyword", "vector"])
def either(request: pytest.FixtureRequest):
    """Return a store without an embedding, then one with."""
    embedding = EMBEDDING if request.param == "vector" else None
    with SQLiteStore(embedding=embedding) as store:
        yield store


@pytest.fixture
def by_vector():
    """Return a store with an embedding."""
    with SQLiteStore(embedding=EMBEDDING) as store:
        yield store


@pytest.fixture
def file(tmp_path):
    """Return where a file may be made."""
    return tmp_path / "store.db"


@pytest.fixture
def filled(file):
    """Return a file that holds a store of three documents, closed."""
    with SQLiteStore(file, embedding=EMBEDDING) as store:
        store.add_texts(["cat", "cat dog", ""], [{"n": 1}, {}, {}], ids=["a", "b", "c"])
    return file
