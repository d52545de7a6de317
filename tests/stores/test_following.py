"""A store sees what others write, and keeps in memory only what it must."""

import numpy as np
import pytest

from langchain_ctxfetch import SearchRequest, SQLiteStore
from langchain_ctxfetch.stores import _index
from tests.stores.fakes import Words, found_ids, hit


@pytest.fixture
def pair(tmp_path):
    """Return two stores on one file, as two processes would have them."""
    path = tmp_path / "store.db"
    with (
        SQLiteStore(path, embedding=Words()) as one,
        SQLiteStore(path, embedding=Words()) as other,
    ):
        yield one, other


@pytest.mark.parametrize("channel", ["keyword", "vector"])
def test_what_another_writes_is_found(pair, channel) -> None:
    """A document is found at the next search through another store."""
    one, other = pair
    one.put([hit("a", "cats")])
    before = found_ids(other, "cats", channel=channel)
    one.put([hit("b", "more cats")])
    after = found_ids(other, "cats", channel=channel)

    assert (before, sorted(after)) == (["a"], ["a", "b"])


@pytest.mark.parametrize("channel", ["keyword", "vector"])
def test_what_another_removes_is_gone(pair, channel) -> None:
    """Of one batch one document goes, then the other, then new ones come."""
    one, other = pair
    one.put([hit("a", "cats"), hit("b", "more cats")])
    found = [sorted(found_ids(other, "cats", channel=channel))]
    for change in (
        lambda: one.remove(["a"]),
        lambda: one.remove(["b"]),
        lambda: one.put([hit("c", "cats again")]),
    ):
        change()
        found.append(found_ids(other, "cats", channel=channel))

    assert found == [["a", "b"], ["b"], [], ["c"]]


def test_an_update_replaces_the_old_text(pair) -> None:
    """The old words are not found any more, and the id comes once."""
    one, other = pair
    one.put([hit("a", "cats"), hit("b", "pigs")])
    found_ids(other, "cats")
    one.put([hit("a", "dogs")])

    assert (found_ids(other, "cats"), found_ids(other, "dogs")) == ([], ["a"])


def test_unfollowed_changes_are_made_up_for(pair) -> None:
    """Many writes and removals between two searches are seen at once."""
    one, other = pair
    one.put([hit(str(number), "cats") for number in range(5)])
    found_ids(other, "cats", channel="vector")
    for number in range(40):
        one.put([hit(str(number % 7), f"cats {number}")])
    one.remove(["0", "3"])
    expected = {"1", "2", "4", "5", "6"}

    assert set(found_ids(other, "cats")) == expected
    assert set(found_ids(other, "cats", channel="vector")) == expected


def test_memory_is_given_back(pair, monkeypatch) -> None:
    """Texts that were replaced over and over do not stay in memory."""
    monkeypatch.setattr(_index, "_WASTE", 10)
    one, _ = pair
    for number in range(50):
        one.put([hit("a", f"cats {number}")])
        found_ids(one, "cats")

    assert len(one._searcher._index.columns) <= 12


def test_vectors_survive_a_fresh_start(pair, monkeypatch) -> None:
    """After the memory is given back, vectors still belong to their passages."""
    monkeypatch.setattr(_index, "_WASTE", 3)
    one, _ = pair
    one.put([hit("k", "dogs")])
    for number in range(20):
        one.put([hit("a", f"cats {number}")])
        found_ids(one, "cats", channel="vector")

    assert found_ids(one, "dogs", 1, channel="vector") == ["k"]


def test_a_page_is_a_snapshot(pair, monkeypatch) -> None:
    """A write between two channels of one round is seen by neither."""
    one, other = pair
    one.put([hit("a", "cats")])
    searcher = other._searcher
    rank = searcher._rank

    def rank_after_a_write(view, probe):
        one.put([hit(f"new {probe.channel}", "cats")])
        return rank(view, probe)

    monkeypatch.setattr(searcher, "_rank", rank_after_a_write)
    requests = [SearchRequest(name, "cats", 9) for name in ("keyword", "vector")]
    answers = other.search_round(requests)

    assert [[hit.id for hit in each.value] for each in answers] == [["a"], ["a"]]


def test_an_older_state_never_replaces_a_newer_one(pair) -> None:
    """A search whose transaction is older than the index looks at the file again."""
    one, other = pair
    one.put([hit("a", "cats")])
    with other._connections.reading() as connection:
        connection.execute("select * from meta").fetchall()
        one.put([hit("b", "cats")])
        found_ids(other, "cats")
        index, _ = other._searcher._state(connection, with_vectors=False)

    assert index.version == other._searcher._index.version


def test_a_restored_copy_is_read_anew(tmp_path) -> None:
    """A file that went back in time is read from its beginning."""
    with SQLiteStore(tmp_path / "a.db") as store:
        store.put([hit("a", "cats")])
        store.put([hit("b", "cats")])
        found_ids(store, "cats")
        with store._connections.writing() as connection:
            connection.execute("update meta set value = 1 where key = 'version'")

        assert found_ids(store, "cats") == ["a", "b"]


def test_removed_batches_leave_no_trace(store) -> None:
    """When every document of a batch is gone, so are its passages."""
    store.put([hit("a", "cats"), hit("b", "dogs"), hit("c", "")])
    store.remove(["a", "c"])
    store.remove(["b"])
    with store._connections.reading() as connection:
        left = [
            connection.execute(f"select count(*) from {table}").fetchone()[0]
            for table in ("documents", "facts", "batches", "tombstones")
        ]

    assert left == [0, 0, 0, 0]


def test_earlier_vectors_stay_valid_while_the_matrix_grows() -> None:
    """A search that holds an earlier state is not disturbed by a later one."""
    with SQLiteStore(embedding=Words()) as store:
        store.put([hit("a", "cats")])
        found_ids(store, "cats", channel="vector")
        with store._connections.reading() as connection:
            index, matrix = store._searcher._state(connection, with_vectors=True)
        before = matrix.copy()
        for number in range(30):
            store.put([hit(str(number), f"dogs {number}")])
            found_ids(store, "cats", channel="vector")

        assert np.array_equal(matrix, before)
        assert len(matrix) == len(index.layout.start)
