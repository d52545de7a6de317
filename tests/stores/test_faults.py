"""Damage, full disks and files that others hold: typed errors, nothing lost."""

from __future__ import annotations

import pytest

from langchain_ctxfetch import (
    SQLiteStore,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreTimeoutError,
)
from tests.stores.fakes import EMBEDDING, behind, found_ids, ids


@pytest.mark.parametrize("left", [60, 4_096, 0.5, 0.9])
def test_a_truncated_file_is_a_typed_error(filled, left) -> None:
    """At the latest when it is searched; with advice."""
    content = filled.read_bytes()
    size = left if left > 1 else int(len(content) * left) // 4_096 * 4_096
    filled.write_bytes(content[:size])

    with pytest.raises(StoreCorruptError, match="restore a copy"):
        _use(filled)


def _use(file) -> None:
    with SQLiteStore(file, embedding=EMBEDDING) as store:
        store.similarity_search("cat")
        store.get_by_ids(["a", "b", "c"])
        store.add_texts(["new"])
        store.delete(filter={"n": 1})


@pytest.mark.parametrize(
    "damage",
    [
        "update blocks set counts = x'00'",
        "update blocks set rows = x'000000'",
        "update blocks set terms = x'78'",
        "update batches set passages = x'00000000'",
        "update batches set vectors = null",
        "update batches set vectors = x'0000'",
    ],
)
def test_damage_inside_the_index_is_a_typed_error(filled, damage) -> None:
    """Documents can still be fetched."""
    with behind(filled) as connection:
        connection.execute(damage)
    with SQLiteStore(filled, embedding=EMBEDDING) as store:
        fetched = ids(store.get_by_ids(["a"]))
        with pytest.raises(StoreCorruptError, match=r"damaged.*restore a copy"):
            store.similarity_search("cat")

    assert fetched == ["a"]


def test_a_full_disk_is_a_typed_error_and_nothing_is_lost(path) -> None:
    """What was stored stays, and writing goes on when there is room."""
    with SQLiteStore(path) as store:
        store.add_texts(["cat"], ids=["a"])
        _limit(store, more=5)
        with pytest.raises(StoreFullError, match="nothing stored is lost"):
            store.add_texts(["dog " * 50_000], ids=["b"])
        full = (
            found_ids(store, "cat", 10_000),
            found_ids(store, "dog", 10_000),
            len(store),
        )
        _limit(store, more=10_000)
        store.add_texts(["dog " * 50_000], ids=["b"])

        assert full == (["a"], [], 1)
        assert found_ids(store, "dog", 10_000) == ["b"]


def _limit(store, more: int) -> None:
    with store._connections.lent() as connection:
        (pages,) = connection.execute("pragma page_count").fetchone()
        connection.execute(f"pragma max_page_count = {pages + more}")


def test_a_disk_that_fills_between_batches_says_what_is_stored(path) -> None:
    """The batches before it are there, and the error names the others."""
    texts = ["cat", "dog " * 50_000, "cow"]
    with SQLiteStore(path) as store:
        _limit(store, more=40)
        with pytest.raises(StoreError, match="2 of 3 documents") as caught:
            store.add_texts(texts, ids=["a", "b", "c"], batch_size=1)

        assert caught.value.failed_ids == ("b", "c")
        assert isinstance(caught.value.errors[0], StoreFullError)
        assert [id_ for id_, _ in store.records()] == ["a"]


def test_a_file_that_another_holds_is_waited_for_and_then_an_error(filled) -> None:
    """Reading goes on meanwhile."""
    with (
        SQLiteStore(filled, embedding=EMBEDDING, busy_timeout_s=0.05) as store,
        behind(filled) as other,
    ):
        other.execute("begin immediate")
        with pytest.raises(StoreTimeoutError, match="busy_timeout_s"):
            store.add_texts(["new"], ids=["n"])
        meanwhile = found_ids(store, "cat", 10_000)
        other.execute("rollback")
        store.add_texts(["new"], ids=["n"])

        assert (meanwhile, found_ids(store, "new", 10_000)) == (["a", "b"], ["n"])


@pytest.mark.parametrize("written", ["{", "[]", "null"])
def test_damaged_metadata_is_a_typed_error(filled, written) -> None:
    """It names the document."""
    with behind(filled) as connection:
        connection.execute("update documents set metadata = ?", (written,))
    with (
        SQLiteStore(filled, embedding=EMBEDDING) as store,
        pytest.raises(StoreCorruptError, match="document 'a' is damaged"),
    ):
        store.get_by_ids(["a"])
