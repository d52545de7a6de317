"""The metadata that a user adds to the documents of a folder."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ingestion import SyncReport, async_folder, sync_folder
from langchain_ctxfetch.stores.sqlite import SQLiteStore


def test_every_document_is_given_the_metadata(store, folder) -> None:
    """Beside what the folder says of it."""
    sync_folder(store, folder, metadata={"tenant": "a"})

    assert [hit.metadata["tenant"] for hit in store.documents.values()] == ["a"] * 3
    assert store.documents["a.md"].metadata["title"] == "Apples"


def test_a_function_is_asked_with_the_path(store, folder) -> None:
    """Each file may be given its own."""
    sync_folder(store, folder, metadata=lambda path: {"kind": path.suffix})
    kinds = {name: hit.metadata["kind"] for name, hit in store.documents.items()}

    assert kinds == {"a.md": ".md", "b.txt": ".txt", "deep/c.py": ".py"}


@pytest.mark.parametrize(
    "key", ["source", "title", "format", "modified", "bytes", "digest", "base"]
)
def test_what_the_folder_says_comes_first(store, folder, key) -> None:
    """Nobody can change by metadata what a later run relies on."""
    sync_folder(store, folder, metadata={key: "mine", "tenant": "a"})

    assert store.documents["a.md"].metadata[key] != "mine"
    assert sync_folder(
        store, folder, metadata={key: "other", "tenant": "a"}
    ) == SyncReport(unchanged=3)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (None, {"tenant": "a"}),
        ({"tenant": "a"}, {"tenant": "b"}),
        ({"tenant": "a"}, {"tenant": "a", "more": 1}),
        ({"tenant": "a", "more": 1}, {"tenant": "a"}),
        ({"tenant": "a"}, None),
        ({"n": 1}, {"n": True}),
        ({"n": 1}, {"n": "1"}),
    ],
)
def test_other_metadata_is_written_anew(folder, first, second) -> None:
    """After the second run documents carry what that run was given."""
    with SQLiteStore() as store:
        sync_folder(store, folder, metadata=first)
        report = sync_folder(store, folder, metadata=second)
        carried = dict(store.records())["a.md"]

    assert report == SyncReport(updated=3)
    own = {"source", "title", "format", "modified", "bytes", "digest", "base"}
    added = {key: held for key, held in carried.items() if key not in own}
    assert added == (second or {})
    assert all(type(held) is type(second[key]) for key, held in added.items())


def test_only_documents_with_other_metadata_are_written(store, folder) -> None:
    """A function may say something new of one file alone."""
    sync_folder(store, folder, metadata=lambda path: {"n": 1})
    store.batches.clear()
    report = sync_folder(
        store, folder, metadata=lambda path: {"n": 1 + (path.name == "a.md")}
    )

    assert store.written == ["a.md"]
    assert report == SyncReport(updated=1, unchanged=2)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.datetimes()
    | st.uuids()
    | st.sets(st.text()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=5,
)


@given(st.dictionaries(st.text(), values, max_size=4))
def test_the_same_metadata_changes_nothing(tmp_path_factory, metadata) -> None:
    """Whatever it holds: a second run finds it as it was stored."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "a.txt").write_text("tea")
    with SQLiteStore() as store:
        sync_folder(store, folder, metadata=metadata)

        assert sync_folder(store, folder, metadata=metadata) == SyncReport(unchanged=1)


def test_the_order_of_keys_is_no_change(store, folder) -> None:
    """Mappings are equal whatever their order."""
    sync_folder(store, folder, metadata={"a": 1, "b": {"c": 2, "d": 3}})
    report = sync_folder(store, folder, metadata={"b": {"d": 3, "c": 2}, "a": 1})

    assert report == SyncReport(unchanged=3)


def test_values_become_what_a_store_keeps(store, folder) -> None:
    """Sets are sorted lists, times text, numbers plain."""
    sync_folder(
        store,
        folder / "a.md",
        metadata={
            "tags": {"b", "a"},
            "seen": datetime(2024, 5, 1, tzinfo=UTC),
            "n": np.int64(3),
            "nan": math.nan,
            "ctxfetch": "ours",
        },
    )
    held = store.documents["a.md"].metadata

    assert held["tags"] == ["a", "b"]
    assert held["seen"] == "2024-05-01T00:00:00.000000Z"
    assert (held["n"], type(held["n"])) == (3, int)
    assert "ctxfetch" not in held


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"raw": b"bytes"}, "'raw'"),
        (["tenant"], "must be a mapping"),
        ("tenant", "must be a mapping"),
        (lambda path: None, "must be a mapping"),
        (lambda path: {"raw": b"bytes"}, "'raw'"),
        (lambda path: {}[path.name], r"failed for the file .*a\.md"),
    ],
)
def test_wrong_metadata_is_named_before_any_write(
    store, folder, metadata, named
) -> None:
    """The message says what is wrong, and nothing is stored."""
    with pytest.raises(ConfigurationError, match=f"`metadata`.*{named}"):
        sync_folder(store, folder, metadata=metadata)
    assert store.batches == []


async def test_the_twin_gives_the_same_metadata(store, folder) -> None:
    """`async_folder` hands it on."""
    await async_folder(store, folder, metadata={"tenant": "a"})

    assert store.documents["a.md"].metadata["tenant"] == "a"


def test_store_and_folder_in_the_wrong_order_are_named(store, folder) -> None:
    """The commonest slip is told from other wrong arguments."""
    with pytest.raises(ConfigurationError, match="the store comes first"):
        sync_folder(folder, store)
    with pytest.raises(ConfigurationError, match="`WritableStore`, not dict"):
        sync_folder({}, folder)


@pytest.mark.parametrize("paths", [None, 7, b"docs", [None], [b"docs"]])
def test_what_is_no_path_is_named(store, paths) -> None:
    """Before any folder is read."""
    with pytest.raises(ConfigurationError, match="`paths` must name files"):
        sync_folder(store, paths)
