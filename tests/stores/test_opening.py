"""Opening, closing, copying: what a file must be, and who may use it."""

import asyncio
import copy
import multiprocessing
import pickle
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from langchain_ctxfetch import (
    ConfigurationError,
    SearchRequest,
    SQLiteStore,
    StoreCorruptError,
    StoreError,
    StoreMismatchError,
    StoreReadOnlyError,
    StoreTimeoutError,
)
from langchain_ctxfetch._core.flow import Failed
from langchain_ctxfetch.ports import SearchStore, WritableStore
from langchain_ctxfetch.stores._connections import address
from langchain_ctxfetch.stores._faults import translate
from tests.stores.fakes import Words, found_ids, hit


@pytest.fixture
def file(tmp_path):
    """Return the path of a store that holds one document."""
    path = tmp_path / "a.db"
    with SQLiteStore(path) as store:
        store.put([hit("a", "cats")])
    return path


def test_a_store_keeps_to_its_ports(store) -> None:
    """It can be searched and written as any store of ours."""
    assert isinstance(store, SearchStore)
    assert isinstance(store, WritableStore)


def test_what_was_written_is_there_when_opened_again(file) -> None:
    """A closed store loses nothing."""
    with SQLiteStore(file) as store:
        assert found_ids(store, "cat") == ["a"]


def test_a_path_may_hold_any_character(tmp_path) -> None:
    """Spaces, percent signs, question marks and hashes are parts of the name."""
    path = tmp_path / "a b%20?mode=ro#c.db"
    with SQLiteStore(path) as store:
        store.put([hit("a", "cats")])

    assert path.exists()


def test_a_missing_folder_is_a_store_error(tmp_path) -> None:
    """The error says what to look at."""
    with pytest.raises(StoreError, match="does the folder exist"):
        SQLiteStore(tmp_path / "none" / "a.db")


def test_read_only_needs_a_file(tmp_path) -> None:
    """A store that is read only is never made, and no file is left."""
    with pytest.raises(StoreError, match="there is no such file"):
        SQLiteStore(tmp_path / "a.db", read_only=True)

    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.put([hit("b", "dogs")]),
        lambda store: store.remove(["a"]),
        lambda store: store.delete(["a"]),
        lambda store: store.add_texts(["dogs"]),
    ],
)
def test_read_only_refuses_writes(file, write) -> None:
    """Every write is refused, and reading goes on."""
    with SQLiteStore(file, read_only=True) as store:
        with pytest.raises(StoreReadOnlyError, match="read_only"):
            write(store)

        assert found_ids(store, "cat") == ["a"]


def test_read_only_sees_what_another_writes(file) -> None:
    """It follows the file."""
    with SQLiteStore(file, read_only=True) as reader, SQLiteStore(file) as writer:
        found_ids(reader, "cat")
        writer.put([hit("b", "cats")])

        assert found_ids(reader, "cat") == ["a", "b"]


def test_a_medium_that_cannot_be_written_is_taken_as_fixed(monkeypatch) -> None:
    """Then SQLite lays no file beside it."""
    monkeypatch.setattr("os.access", lambda *_: False)

    assert address("/a/b.db", read_only=True).endswith("?mode=ro&immutable=1")


@pytest.mark.parametrize("content", [b"hello, world" * 100, b"%PDF-1.7", b"SQLite"])
def test_a_file_that_is_no_database_is_refused(tmp_path, content) -> None:
    """The error says so, and the file is as it was."""
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    with pytest.raises(StoreMismatchError, match="is no store"):
        SQLiteStore(path)

    assert path.read_bytes() == content


@pytest.mark.parametrize("read_only", [True, False])
def test_another_programs_database_is_refused(tmp_path, read_only) -> None:
    """A table of another program is never written to."""
    path = tmp_path / "a.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table documents (id)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreMismatchError, match="is no store"):
        SQLiteStore(path, read_only=read_only)

    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(tmp_path) -> None:
    """As `mktemp` leaves one."""
    path = tmp_path / "a.db"
    path.touch()
    with SQLiteStore(path) as store:
        assert len(store) == 0


def test_a_newer_schema_is_refused(file) -> None:
    """A file of a later version asks for an upgrade."""
    connection = sqlite3.connect(file)
    connection.execute("pragma user_version = 99")
    connection.close()
    with pytest.raises(StoreMismatchError, match="upgrade"):
        SQLiteStore(file)


def test_another_language_is_refused(file) -> None:
    """The error names both, and how to open the file."""
    with pytest.raises(StoreMismatchError, match="language='english'"):
        SQLiteStore(file, language="german")


def test_two_names_of_a_language_are_one(file) -> None:
    """`en` and `English` open the same file."""
    with SQLiteStore(file, language="English") as store:
        assert store.stats().language == "english"


def test_an_unknown_language_is_refused() -> None:
    """The error names those that are known."""
    with pytest.raises(ConfigurationError, match="german"):
        SQLiteStore(language="klingon")


def test_a_damaged_file_is_a_store_error(file) -> None:
    """Pages of rubbish are found out, with advice."""
    content = bytearray(file.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    file.write_bytes(content)
    with pytest.raises(StoreCorruptError, match="index the documents anew"):
        SQLiteStore(file).fetch(["a"])


def test_a_damaged_index_is_a_store_error(file) -> None:
    """Columns that do not fit together are found out by the search."""
    with SQLiteStore(file) as store:
        with store._connections.writing() as connection:
            connection.execute("update blocks set offsets = x'00'")
        (answer,) = store.search_round([SearchRequest("keyword", "cat", 1)])

        assert isinstance(answer.error, StoreCorruptError)


def test_another_model_is_refused(tmp_path) -> None:
    """Vectors of two models never meet."""
    path = tmp_path / "a.db"
    with SQLiteStore(path, embedding=Words(model="one")) as store:
        store.put([hit("a", "cats")])
    with pytest.raises(StoreMismatchError, match=r"Words:one.*Words:two"):
        SQLiteStore(path, embedding=Words(model="two"))


def test_the_name_of_a_model_may_be_given(tmp_path) -> None:
    """`embedding_id` decides, not the class."""
    path = tmp_path / "a.db"
    SQLiteStore(path, embedding=Words(model="one"), embedding_id="mine").close()
    with SQLiteStore(path, embedding=Words(model="two"), embedding_id="mine") as store:
        assert store.stats().embedding_id == "mine"


def test_an_embedding_comes_too_late_for_a_filled_store(file) -> None:
    """Its documents have no vectors."""
    with pytest.raises(StoreMismatchError, match="without an `embedding`"):
        SQLiteStore(file, embedding=Words())


def test_an_empty_store_takes_an_embedding(tmp_path) -> None:
    """Nothing has to be indexed anew."""
    SQLiteStore(tmp_path / "a.db").close()
    with SQLiteStore(tmp_path / "a.db", embedding=Words()) as store:
        assert store.stats().embedding_id == "Words:words"


def test_a_store_with_vectors_opens_without_a_model(tmp_path) -> None:
    """It is searched by keyword, says what its vectors are, and takes no more text."""
    with SQLiteStore(tmp_path / "a.db", embedding=Words()) as store:
        store.put([hit("a", "cats")])
    with SQLiteStore(tmp_path / "a.db") as store:
        with pytest.raises(StoreMismatchError, match="Words:words"):
            store.put([hit("b", "dogs")])

        assert found_ids(store, "cats") == ["a"]
        assert list(store.channel_names()) == ["keyword"]
        assert store.stats().embedding_id == "Words:words"


def test_another_dimension_is_refused(tmp_path) -> None:
    """The same name with vectors of another length is refused when it writes."""
    path = tmp_path / "a.db"
    with SQLiteStore(path, embedding=Words(8)) as store:
        store.put([hit("a", "cats")])
    with SQLiteStore(path, embedding=Words(9)) as store:
        with pytest.raises(StoreMismatchError, match="9 numbers where 8"):
            store.put([hit("b", "dogs")])
        (answer,) = store.search_round([SearchRequest("vector", "cats", 1)])

        assert isinstance(answer.error, StoreMismatchError)


@pytest.mark.parametrize(
    "wrong", [{"passage_size": 0}, {"passage_size": -600}, {"language": ""}]
)
def test_wrong_settings_are_refused(wrong) -> None:
    """The error names the argument."""
    with pytest.raises(ConfigurationError, match=f"`{next(iter(wrong))}`"):
        SQLiteStore(**wrong)


def test_a_file_store_is_pickled_as_its_path(file) -> None:
    """The copy opens the same file."""
    with SQLiteStore(file) as store, pickle.loads(pickle.dumps(store)) as other:
        other.put([hit("b", "cats")])

        assert found_ids(store, "cat") == ["a", "b"]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_store_in_memory_cannot_be_copied(duplicate) -> None:
    """The error says what to do instead."""
    with SQLiteStore() as store, pytest.raises(ConfigurationError, match="`path`"):
        duplicate(store)


def test_stores_in_memory_are_private() -> None:
    """Two of them share nothing."""
    with SQLiteStore() as one, SQLiteStore() as other:
        one.put([hit("a", "cats")])

        assert (len(one), len(other)) == (1, 0)


def test_use_after_close_is_an_error(store) -> None:
    """It says that the store is closed."""
    store.close()
    (answer,) = store.search_round([SearchRequest("keyword", "cats", 1)])

    assert isinstance(answer, Failed)
    with pytest.raises(StoreError, match="is closed"):
        store.fetch(["a"])
    with pytest.raises(StoreError, match="is closed"):
        store.put([hit("a", "cats")])


def test_closing_twice_is_harmless(store) -> None:
    """As with files."""
    store.close()
    store.close()


async def test_a_store_closes_asynchronously(tmp_path) -> None:
    """The async context manager closes it."""
    store = await asyncio.to_thread(SQLiteStore, tmp_path / "a.db")
    async with store:
        await store.aput([hit("a", "cats")])
    (answer,) = await store.asearch_round([SearchRequest("keyword", "cats", 1)])

    assert isinstance(answer.error, StoreError)


def test_an_empty_store_is_true(store) -> None:
    """`if store` asks whether there is one, not whether it holds anything."""
    assert len(store) == 0
    assert store


def test_a_store_shows_its_path(file) -> None:
    """The representation names the file and whether there are vectors."""
    with SQLiteStore(file) as store:
        assert repr(store) == f"SQLiteStore({str(file)!r})"
    with SQLiteStore(embedding=Words()) as store:
        assert repr(store) == "SQLiteStore(':memory:', with vectors)"


def test_stats_count_what_is_alive(path) -> None:
    """Documents, passages, model, dimension and size."""
    with SQLiteStore(path, embedding=Words(), passage_size=20) as store:
        store.put([hit("a", "One sentence here. Another one there."), hit("b", "")])
        store.put([hit("c", "gone")])
        store.remove(["c"])
        stats = store.stats()

        assert (stats.documents, stats.passages, stats.dimension) == (2, 2, 16)
        assert (stats.language, stats.embedding_id) == ("english", "Words:words")
        assert stats.bytes > 4096


def test_a_locked_file_is_a_timeout(file) -> None:
    """Another process that writes for too long is waited for no longer than told."""
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("begin immediate")
    with SQLiteStore(file, busy_timeout_s=0.05) as store:
        with pytest.raises(StoreTimeoutError, match="busy_timeout_s"):
            store.put([hit("b", "dogs")])

        assert found_ids(store, "cat") == ["a"]
    other.close()


def test_a_full_disk_loses_nothing(file) -> None:
    """The error is typed, and what was stored is still there."""
    with SQLiteStore(file) as store:
        with store._connections.lent() as connection:
            (pages,) = connection.execute("pragma page_count").fetchone()
            connection.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(StoreError, match="make room"):
            store.put([hit("b", "dogs " * 100_000)])

        assert found_ids(store, "cat") == ["a"]
        assert found_ids(store, "dogs") == []


def test_an_unknown_sqlite_error_is_a_store_error() -> None:
    """Nothing of sqlite3 leaves untranslated."""
    error = translate(sqlite3.OperationalError("odd"), "a.db")

    assert type(error) is StoreError
    assert "odd" in str(error)


def test_FR_L6_any_thread_may_search(path) -> None:
    """A store made in one thread answers alike in eight others."""
    with SQLiteStore(path) as store:
        store.put([hit(str(number), f"cats {number}") for number in range(50)])
        expected = found_ids(store, "cats")
        with ThreadPoolExecutor(8) as threads:
            found = list(threads.map(lambda _: found_ids(store, "cats"), range(100)))

        assert found == [expected] * 100


async def test_FR_L6_any_task_may_search(path) -> None:
    """Fifty tasks at once get what one gets."""
    store = await asyncio.to_thread(SQLiteStore, path)
    await store.aput([hit(str(number), f"cats {number}") for number in range(50)])
    request = SearchRequest("keyword", "cats", 10)
    answers = await asyncio.gather(*(store.asearch_round([request]) for _ in range(50)))
    await store.aclose()

    assert all(answer == answers[0] for answer in answers)


def test_FR_L7_parallel_writers_and_readers(path) -> None:
    """Thirty writers and two readers: no error, and the count is exact."""
    failures = []

    def attempt(work):
        try:
            work()
        except Exception as error:  # noqa: BLE001 - counted
            failures.append(error)

    with SQLiteStore(path) as store:

        def write(writer):
            for row in range(10):
                store.put([hit(f"{writer}-{row}", f"cats {writer} {row}")])

        def read():
            for _ in range(30):
                found_ids(store, "cats")

        threads = [
            threading.Thread(target=attempt, args=(lambda n=n: write(n),))
            for n in range(30)
        ]
        threads += [threading.Thread(target=attempt, args=(read,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert failures == []
        assert len(store) == 300
        assert len(found_ids(store, "cats", 1_000)) == 300


def _write_from_a_process(path: str, writer: int) -> None:
    with SQLiteStore(path) as store:
        for row in range(20):
            store.put([hit(f"p{writer}-{row}", "cats")])


def test_FR_L7_two_processes_write(tmp_path) -> None:
    """Two processes that begin with no file at all lose nothing."""
    path = str(tmp_path / "a.db")
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=_write_from_a_process, args=(path, number))
        for number in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)

    assert [process.exitcode for process in processes] == [0, 0]
    with SQLiteStore(path) as store:
        assert len(found_ids(store, "cats", 100)) == 40


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("x" * 5_000, "cannot be opened"),
        ("a\0b.db", "cannot hold NUL"),
        (".", "is no file"),
        ("", "is no file"),
        ("none/a.db", "does the folder exist"),
        ("a.db/b.db", "does the folder exist"),
    ],
)
@pytest.mark.parametrize("settings", [{}, {"embedding": Words()}])
def test_a_path_that_no_file_can_have_is_a_store_error(
    file, monkeypatch, path, told, settings
) -> None:
    """One sentence that says why, and nothing is made."""
    monkeypatch.chdir(file.parent)
    with pytest.raises(StoreError, match=told) as caught:
        SQLiteStore(path, **settings)

    assert len(str(caught.value)) < 300
    assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_a_path_in_a_folder_that_is_gone_is_a_store_error(
    tmp_path, monkeypatch
) -> None:
    """The folder that a relative path starts from may be removed."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    with pytest.raises(StoreError, match="cannot be opened"):
        SQLiteStore("a.db")


@pytest.mark.parametrize("path", [None, 5, b"a.db", ["a.db"]])
def test_a_path_is_a_text_or_a_path(path) -> None:
    """The argument is named."""
    with pytest.raises(ConfigurationError, match="`path`"):
        SQLiteStore(path)
