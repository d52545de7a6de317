"""Stores in files: opened again, by others, for reading only, copied."""

from __future__ import annotations

import copy
import gc
import pickle
import sqlite3
from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_ctxfetch import (
    ConfigurationError,
    SQLiteStore,
    StoreError,
    StoreMismatchError,
    StoreReadOnlyError,
)
from tests.stores.fakes import EMBEDDING, behind, found_ids, ids


@pytest.mark.parametrize("name", ["s.db", "a b", "50%25 ?x=1#y.db", "猫.db"])
def test_what_is_written_is_there_after_reopening(tmp_path, name) -> None:
    """Texts, metadata, both indexes; whatever the file is called."""
    with SQLiteStore(str(tmp_path / name), embedding=EMBEDDING) as store:
        store.add_texts(["cat", "dog"], [{"n": 1}, {}], ids=["a", "b"])
        before = store.similarity_search_with_score("cat")
    with SQLiteStore(tmp_path / name, embedding=EMBEDDING) as store:
        after = store.similarity_search_with_score("cat")

        assert found_ids(store, "cat", 10_000) == ["a"]
    assert after == before
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_relative_path_means_the_folder_it_was_opened_in(
    tmp_path, monkeypatch
) -> None:
    """Also for threads that come after the folder was changed."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    with SQLiteStore("s.db") as store, ThreadPoolExecutor(4) as pool:
        store.add_texts(["cat"], ids=["a"])
        monkeypatch.chdir(elsewhere)
        with store._connections.lent():
            found = list(pool.map(lambda _: found_ids(store, "cat", 10_000), range(8)))

    assert found == [["a"]] * 8
    assert list(elsewhere.iterdir()) == []


@pytest.mark.parametrize("content", [b"no database", b"SQLite for", b"\0" * 5_000])
def test_a_file_that_is_no_database_is_refused_and_left_alone(file, content) -> None:
    """The error says what to give instead."""
    file.write_bytes(content)

    with pytest.raises(StoreMismatchError, match="no store of langchain-ctxfetch"):
        SQLiteStore(file)
    assert file.read_bytes() == content


@pytest.mark.parametrize("mode", ["wal", "delete"])
def test_a_database_of_another_program_is_refused_and_left_alone(file, mode) -> None:
    """Its tables are not touched and ours not added."""
    with behind(file) as connection:
        connection.execute(f"pragma journal_mode = {mode}")
        connection.execute("create table documents (id)")
    before = file.read_bytes()

    for settings in ({}, {"read_only": True}, {"embedding": EMBEDDING}):
        with pytest.raises(StoreMismatchError, match="no store of langchain-ctxfetch"):
            SQLiteStore(file, **settings)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    "settings", [{}, {"read_only": True}, {"embedding": EMBEDDING}]
)
def test_a_newer_schema_is_refused(filled, settings) -> None:
    """Whatever its tables are; the advice is to upgrade."""
    with behind(filled) as connection:
        connection.execute("alter table documents rename to documents_of_tomorrow")
        connection.execute("alter table meta rename to settings")
        connection.execute("pragma user_version = 99")

    with pytest.raises(StoreMismatchError, match=r"schema 99.*upgrade"):
        SQLiteStore(filled, **settings)


def test_another_model_is_refused(filled) -> None:
    """The error names both, and what to do."""
    with pytest.raises(StoreMismatchError, match=r"Deterministic.*'other'.*anew"):
        SQLiteStore(filled, embedding=EMBEDDING, embedding_id="other")


def test_vectors_for_a_store_filled_without_are_refused(file) -> None:
    """Half of its documents would be found."""
    with SQLiteStore(file) as store:
        store.add_texts(["cat"])

    with pytest.raises(StoreMismatchError, match="filled without an `embedding`"):
        SQLiteStore(file, embedding=EMBEDDING)


def test_an_empty_store_takes_the_first_model(file) -> None:
    """The dimension comes with the first text."""
    SQLiteStore(file).close()
    with SQLiteStore(file, embedding=EMBEDDING, embedding_id="mine") as store:
        before = store.stats()
        store.add_texts(["cat"])
        after = store.stats()

    assert (before.embedding_id, before.dimension) == ("mine", None)
    assert (after.embedding_id, after.dimension) == ("mine", 8)


def test_without_its_model_a_store_is_searched_by_keyword_only(filled) -> None:
    """Writing would leave a document without vectors, so it is refused."""
    with SQLiteStore(filled) as store:
        assert store.channel_names() == ("keyword",)
        assert ids(store.similarity_search("cat")) == ["a", "b"]
        with pytest.raises(StoreMismatchError, match="`embedding`"):
            store.add_texts(["new"])
        assert store.remove(["a"]) == 1


def test_another_language_is_refused(filled) -> None:
    """The error says which it is."""
    with pytest.raises(StoreMismatchError, match="language='english'"):
        SQLiteStore(filled, language="german")


def test_a_folder_that_does_not_exist_is_an_error_that_asks_for_it(tmp_path) -> None:
    """Nothing is made."""
    with pytest.raises(StoreError, match="does the folder exist"):
        SQLiteStore(tmp_path / "none" / "s.db")
    with pytest.raises(StoreError):
        SQLiteStore(tmp_path)


@pytest.mark.parametrize("path", ["none.db", ":memory:"])
def test_a_store_that_is_read_only_must_exist(tmp_path, path) -> None:
    """It is not made."""
    where = path if path == ":memory:" else tmp_path / path

    with pytest.raises(StoreError, match="must exist"):
        SQLiteStore(where, read_only=True)
    assert list(tmp_path.iterdir()) == []


def test_a_store_that_is_read_only_is_searched_and_not_written(filled) -> None:
    """Each way of writing is a typed error, before a model is asked."""
    with SQLiteStore(filled, embedding=EMBEDDING, read_only=True) as store:
        assert ids(store.similarity_search("cat", k=1)) == ["a"]
        for write in (
            lambda: store.add_texts(["x"]),
            lambda: store.delete(["a"]),
            lambda: store.remove(filter={}),
            lambda: store.put([]),
        ):
            with pytest.raises(StoreReadOnlyError, match="`read_only`"):
                write()
        assert len(store) == 3


def test_a_store_that_is_read_only_follows_those_who_write(filled) -> None:
    """What another writes is found at the next search."""
    with (
        SQLiteStore(filled, embedding=EMBEDDING) as writer,
        SQLiteStore(filled, read_only=True) as reader,
    ):
        before = found_ids(reader, "cat", 10_000)
        writer.add_texts(["cat cat"], ids=["d"])
        after = found_ids(reader, "cat", 10_000)

    assert (set(before), set(after)) == ({"a", "b"}, {"a", "b", "d"})


@pytest.mark.parametrize(
    "twin", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy]
)
def test_a_store_in_a_file_can_be_pickled_and_copied(filled, twin) -> None:
    """As its path and settings; both then use the file."""
    with (
        SQLiteStore(
            filled, embedding=EMBEDDING, busy_timeout_s=7, title_key="name"
        ) as store,
        twin(store) as other,
    ):
        store.add_texts(["new"], [{"name": "zebra"}], ids=["n"])

        assert found_ids(other, "zebra", 10_000) == ["n"]
        assert other._settings == store._settings
        assert other.similarity_search("cat") == store.similarity_search("cat")


@pytest.mark.parametrize("twin", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_store_in_memory_cannot_be_pickled_or_copied(twin) -> None:
    """The error says what to do."""
    with SQLiteStore() as store, pytest.raises(ConfigurationError, match="`path`"):
        twin(store)


def test_a_store_that_is_let_go_closes_its_file(filled) -> None:
    """So that nothing is left open, and no warning comes."""
    store = SQLiteStore(filled)
    found_ids(store, "cat", 10_000)
    idle = list(store._connections._idle)
    del store
    gc.collect()

    assert len(idle) == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        idle[0].execute("select 1")


def test_closing_while_a_search_runs_lets_it_end(filled) -> None:
    """Its connection is closed when it comes back."""
    store = SQLiteStore(filled)
    with store._connections.reading() as connection:
        store.close()
        (count,) = connection.execute("select count(*) from documents").fetchone()

    assert count == 3
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("select 1")
