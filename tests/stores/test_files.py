"""Stores in files: others that use them, damage, full disks, sudden death."""

from __future__ import annotations

import copy
import gc
import pickle
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_ctxfetch import (
    ConfigurationError,
    SQLiteStore,
    StoreCorruptError,
    StoreError,
    StoreFullError,
    StoreMismatchError,
    StoreReadOnlyError,
    StoreTimeoutError,
)
from langchain_ctxfetch.ports import SearchRequest

EMBEDDING = DeterministicFakeEmbedding(size=8)


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


def ids(documents) -> list[str]:
    return [document.id for document in documents]


def keyword(store, query: str, depth: int = 10_000) -> list[str]:
    (outcome,) = store.search_round([SearchRequest("keyword", query, depth)])
    return ids(outcome.value)


def raw(file) -> closing:
    """Open a file behind the store's back."""
    return closing(sqlite3.connect(file, isolation_level=None))


# Opening.


@pytest.mark.parametrize("name", ["s.db", "a b", "50%25 ?x=1#y.db", "猫.db"])
def test_what_is_written_is_there_after_reopening(tmp_path, name) -> None:
    """Texts, metadata, both indexes; whatever the file is called."""
    with SQLiteStore(str(tmp_path / name), embedding=EMBEDDING) as store:
        store.add_texts(["cat", "dog"], [{"n": 1}, {}], ids=["a", "b"])
        before = store.similarity_search_with_score("cat")
    with SQLiteStore(tmp_path / name, embedding=EMBEDDING) as store:
        after = store.similarity_search_with_score("cat")

        assert keyword(store, "cat") == ["a"]
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
            found = list(pool.map(lambda _: keyword(store, "cat"), range(8)))

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
    with raw(file) as connection:
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
    with raw(filled) as connection:
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


# Read only.


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
        before = keyword(reader, "cat")
        writer.add_texts(["cat cat"], ids=["d"])
        after = keyword(reader, "cat")

    assert (set(before), set(after)) == ({"a", "b"}, {"a", "b", "d"})


# Damage.


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
    with raw(filled) as connection:
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
        full = (keyword(store, "cat"), keyword(store, "dog"), len(store))
        _limit(store, more=10_000)
        store.add_texts(["dog " * 50_000], ids=["b"])

        assert full == (["a"], [], 1)
        assert keyword(store, "dog") == ["b"]


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
        raw(filled) as other,
    ):
        other.execute("begin immediate")
        with pytest.raises(StoreTimeoutError, match="busy_timeout_s"):
            store.add_texts(["new"], ids=["n"])
        meanwhile = keyword(store, "cat")
        other.execute("rollback")
        store.add_texts(["new"], ids=["n"])

        assert (meanwhile, keyword(store, "new")) == (["a", "b"], ["n"])


# Other processes.

WRITER = textwrap.dedent(
    """
    import sys
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_ctxfetch import SQLiteStore

    path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with SQLiteStore(path, embedding=DeterministicFakeEmbedding(size=8)) as store:
        print("ready", flush=True)
        sys.stdin.readline()
        for number in range(first, last):
            text = f"cat number{number} " + "and so on. " * 2000
            store.add_texts([text], ids=[f"p{number}"])
            print(f"p{number}", flush=True)
    """
)


def start(file, first: int, last: int) -> subprocess.Popen:
    """Start a process that writes documents when it is given a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file), str(first), str(last)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def go(process: subprocess.Popen) -> None:
    process.stdin.write("go\n")
    process.stdin.flush()


def test_another_process_sees_writes_and_is_seen(filled) -> None:
    """At the next search; ten threads write at the same time, none is lost."""
    with (
        SQLiteStore(filled, embedding=EMBEDDING) as store,
        start(filled, 0, 30) as process,
    ):
        before = keyword(store, "cat")
        go(process)
        with ThreadPoolExecutor(4) as pool:
            for number in range(30):
                pool.submit(store.add_texts, [f"cat t{number}"], ids=[f"t{number}"])
            acknowledged = process.communicate()[0].split()
        after = keyword(store, "cat")

    assert before == ["a", "b"]
    assert acknowledged == [f"p{number}" for number in range(30)]
    assert set(after) == {"a", "b", *acknowledged, *(f"t{n}" for n in range(30))}
    assert process.returncode == 0


def test_a_process_killed_while_it_writes_loses_nothing_acknowledged(file) -> None:
    """Three times at different moments: opens, sound, every document there."""
    acknowledged: list[str] = []
    for number in range(3):
        with start(file, number * 1_000, number * 1_000 + 1_000) as process:
            go(process)
            some = range(random.randrange(1, 12))
            acknowledged += [process.stdout.readline().strip() for _ in some]
            process.send_signal(signal.SIGKILL)
            acknowledged += process.stdout.read().split()
        with SQLiteStore(file, embedding=EMBEDDING) as store:
            stored = [id_ for id_, _ in store.records()]
            found = keyword(store, "cat")
            similar = ids(store.similarity_search("cat", k=10_000))
            with store._connections.lent() as connection:
                sound = connection.execute("pragma integrity_check").fetchone()

        assert sound == ("ok",)
        assert set(acknowledged) <= set(stored)
        assert sorted(found) == sorted(similar) == sorted(stored)


def test_threads_read_and_write_at_once(path) -> None:
    """Eight of them, mixed; the final count is exact and no search fails."""

    def work(thread: int) -> None:
        for number in range(25):
            id_ = f"{thread}-{number}"
            store.add_texts([f"cat {number}"], [{"t": thread}], ids=[id_])
            assert id_ in keyword(store, "cat")
            assert ids(store.get_by_ids([id_])) == [id_]
            if number % 5 == 0:
                store.delete([id_])
            store.similarity_search("cat", filter={"t": thread})

    with SQLiteStore(path, embedding=EMBEDDING) as store:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

        assert len(store) == len(keyword(store, "cat")) == 8 * 20
        assert len(store.similarity_search("cat", k=999)) == 8 * 20


# The object.


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

        assert keyword(other, "zebra") == ["n"]
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
    keyword(store, "cat")
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
