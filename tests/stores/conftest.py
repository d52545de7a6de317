"""Stores to be tested: in memory and in a file."""

import pytest

from langchain_ctxfetch import SQLiteStore


@pytest.fixture(params=["memory", "file"])
def path(request: pytest.FixtureRequest, tmp_path) -> str:
    """Return where a store is kept."""
    return ":memory:" if request.param == "memory" else str(tmp_path / "a b%.db")


@pytest.fixture
def store(path):
    """Return an empty store that searches by keyword."""
    with SQLiteStore(path) as store:
        yield store
