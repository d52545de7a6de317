"""A store in step with a folder: what is written, left alone, removed, passed over."""

import os
from hashlib import sha256
from pathlib import Path

import pytest

from langchain_ctxfetch.errors import (
    ConfigurationError,
    IngestionError,
    StoreFullError,
)
from langchain_ctxfetch.ingestion import SyncReport, async_folder, sync_folder
from langchain_ctxfetch.stores.sqlite import SQLiteStore


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# --- what a file becomes --------------------------------------------------------


def test_each_text_file_is_one_document(store, folder) -> None:
    """The id is the path relative to the folder, whatever the depth."""
    report = sync_folder(store, folder)

    assert sorted(store.documents) == ["a.md", "b.txt", "deep/c.py"]
    assert report == SyncReport(added=3)


def test_a_document_says_where_it_comes_from(store, folder) -> None:
    """Source, title, format, time, size and digest stand in the metadata."""
    os.utime(folder / "a.md", ns=(0, 1_700_000_000_123_456_789))
    sync_folder(store, folder)
    document = store.documents["a.md"]

    assert document.text == "# Apples\n\nRed."
    assert document.length == 14
    assert document.metadata == {
        "source": "a.md",
        "title": "Apples",
        "format": "markdown",
        "modified": "2023-11-14T22:13:20.123456Z",
        "bytes": 14,
        "digest": sha256(b"# Apples\n\nRed.").hexdigest(),
        "base": folder.as_posix(),
    }


def test_only_markdown_is_searched_for_a_title(store, folder) -> None:
    """A comment of a program is no heading: its title is the file's name."""
    sync_folder(store, folder)

    assert store.documents["deep/c.py"].metadata["title"] == "c.py"
    assert store.documents["deep/c.py"].metadata["format"] == "py"


def test_a_byte_order_mark_is_no_text(store, tmp_path) -> None:
    """The mark at the beginning of a UTF-8 file is left out."""
    write(tmp_path / "a.txt", b"\xef\xbb\xbfhello")
    sync_folder(store, tmp_path)

    assert store.documents["a.txt"].text == "hello"


def test_P9_letter_case_tells_files_apart(store, tmp_path) -> None:
    """README.md and readme.md are two documents."""
    write(tmp_path / "README.md", "one")
    write(tmp_path / "readme.md", "two")
    sync_folder(store, tmp_path)

    assert sorted(store.documents) == ["README.md", "readme.md"]


def test_ids_are_relative_to_the_base(store, folder) -> None:
    """A base above the folder stands before the id."""
    sync_folder(store, folder, base=folder.parent)

    assert sorted(store.documents) == ["docs/a.md", "docs/b.txt", "docs/deep/c.py"]


def test_outside_the_base_ids_are_absolute(store, folder) -> None:
    """A file that does not lie in the base has its whole path as id."""
    sync_folder(store, folder / "a.md", base=folder / "deep")

    assert list(store.documents) == [(folder / "a.md").as_posix()]


def test_one_file_may_be_given(store, folder) -> None:
    """Its id is its name."""
    sync_folder(store, folder / "a.md")

    assert list(store.documents) == ["a.md"]


# --- the second run -------------------------------------------------------------


def test_unchanged_files_are_not_written_again(store, folder) -> None:
    """A second run writes nothing and removes nothing."""
    sync_folder(store, folder)
    store.batches.clear()
    report = sync_folder(store, folder)

    assert store.batches == []
    assert report == SyncReport(unchanged=3)


def test_FR_M2_many_files_are_written_once(store, tmp_path) -> None:
    """250 files in batches of 100, twice: the second run writes and removes none."""
    for number in range(250):
        write(tmp_path / f"{number}.txt", f"text {number}")
    sync_folder(store, tmp_path, batch_size=100)
    first = [len(batch) for batch in store.batches]
    store.batches.clear()
    report = sync_folder(store, tmp_path, batch_size=100)

    assert first == [100, 100, 50]
    assert (store.batches, store.removed) == ([], [])
    assert report.unchanged == 250


def test_files_of_the_same_size_and_time_are_not_read(
    store, folder, monkeypatch
) -> None:
    """A second run over files that were left alone opens none of them."""
    sync_folder(store, folder)
    monkeypatch.setattr("langchain_ctxfetch._reading.read_bytes", None)

    assert sync_folder(store, folder) == SyncReport(unchanged=3)


def test_a_touched_file_is_not_written_again(store, folder) -> None:
    """A new time alone is no change: the digest decides."""
    sync_folder(store, folder)
    store.batches.clear()
    os.utime(folder / "a.md", (1, 1))
    sync_folder(store, folder)

    assert store.batches == []


def test_only_the_changed_file_is_written(store, folder) -> None:
    """One new text, of the same length even, is one document written."""
    sync_folder(store, folder)
    store.batches.clear()
    write(folder / "b.txt", "Pears are yelow.")
    os.utime(folder / "b.txt", (1, 1))
    report = sync_folder(store, folder)

    assert store.batches == [["b.txt"]]
    assert report == SyncReport(updated=1, unchanged=2)


def test_a_file_that_is_gone_is_removed(store, folder) -> None:
    """So is the document of a file that may not be indexed any more."""
    sync_folder(store, folder)
    (folder / "b.txt").unlink()
    write(folder / "a.md", b"\0")
    report = sync_folder(store, folder)

    assert list(store.documents) == ["deep/c.py"]
    assert report.removed == 2


def test_removing_stays_below_the_given_paths(store, folder) -> None:
    """A run over one folder does not touch documents of its neighbours."""
    sync_folder(store, folder, base=folder)
    for name in ("a.md", "deep/c.py"):
        (folder / name).unlink()
    report = sync_folder(store, folder / "deep", base=folder)

    assert sorted(store.documents) == ["a.md", "b.txt"]
    assert report.removed == 1


def test_a_name_that_begins_alike_is_no_folder_above(store, tmp_path) -> None:
    """`doc` is not above `docs/a.txt`."""
    write(tmp_path / "docs/a.txt", "a")
    (tmp_path / "doc").mkdir()
    sync_folder(store, tmp_path)
    (tmp_path / "docs/a.txt").unlink()
    sync_folder(store, tmp_path / "doc", base=tmp_path)

    assert list(store.documents) == ["docs/a.txt"]


def test_documents_of_others_are_left_alone(store, folder) -> None:
    """Only what a run has written is ever removed."""
    sync_folder(store, folder)
    for name, lost in (("note", "digest"), ("memo", "source")):
        hit = store.documents["a.md"]
        metadata = {key: held for key, held in hit.metadata.items() if key != lost}
        store.documents[name] = type(hit)(name, "mine", metadata)
    sync_folder(store, folder)

    assert {"note", "memo"} <= store.documents.keys()


def test_two_folders_may_share_a_store(store, tmp_path) -> None:
    """A run over one folder removes nothing of another that has its own base."""
    write(tmp_path / "one/a.txt", "a")
    write(tmp_path / "two/b.txt", "b")
    sync_folder(store, tmp_path / "one")
    report = sync_folder(store, tmp_path / "two")

    assert sorted(store.documents) == ["a.txt", "b.txt"]
    assert report == SyncReport(added=1)


def test_equal_ids_of_two_folders_are_refused_before_any_write(store, tmp_path) -> None:
    """One document never silently takes the place of another file's."""
    write(tmp_path / "one/a.txt", "a")
    write(tmp_path / "two/a.txt", "b")
    sync_folder(store, tmp_path / "one")

    with pytest.raises(ConfigurationError, match=r"'a\.txt' of another folder"):
        sync_folder(store, tmp_path / "two")
    assert store.documents["a.txt"].text == "a"


def test_store_and_folder_can_be_moved_together(store, folder) -> None:
    """The base is remembered from the store's own file, not from the root."""
    store.path = folder / "my.db"
    sync_folder(store, folder)
    moved = folder.rename(folder.parent / "moved")
    store.path = moved / "my.db"
    (moved / "b.txt").unlink()
    report = sync_folder(store, moved)

    assert report == SyncReport(unchanged=2, removed=1)


# --- failures and progress ------------------------------------------------------


def test_one_refused_document_does_not_stop_the_others(store, folder) -> None:
    """The others are stored, and the report names the one and why."""
    store.refused = {"b.txt"}
    report = sync_folder(store, folder, batch_size=2)

    assert sorted(store.documents) == ["a.md", "deep/c.py"]
    assert report == SyncReport(added=2, failed={"b.txt": "no vector came back"})


def test_a_bad_document_takes_no_other_with_it(store, folder) -> None:
    """Where a store gives up a whole batch, its documents are written one by one."""
    store.refused = {"b.txt"}
    put = store.put

    def all_or_none(documents):
        if len(documents) > 1:
            names = [hit.id for hit in documents]
            raise IngestionError("one is bad", failed_ids=names)
        return put(documents)

    store.put = all_or_none
    report = sync_folder(store, folder)

    assert sorted(store.documents) == ["a.md", "deep/c.py"]
    assert report == SyncReport(added=2, failed={"b.txt": "no vector came back"})


def test_where_every_document_fails_the_run_ends(store, folder) -> None:
    """It is the store or the model that fails then, and the error says so."""
    store.refused = {"a.md", "b.txt", "deep/c.py"}

    with pytest.raises(IngestionError, match="no vector came back"):
        sync_folder(store, folder)


def test_a_refused_document_is_tried_again(store, folder) -> None:
    """The next run writes what the last one could not."""
    store.refused = {"b.txt"}
    sync_folder(store, folder)
    store.refused.clear()

    assert sync_folder(store, folder) == SyncReport(added=1, unchanged=2)


def test_a_failure_of_the_store_is_raised(store, folder) -> None:
    """A full disk ends the run."""

    def full(_):
        raise StoreFullError("the disk is full")

    store.put = full
    with pytest.raises(StoreFullError):
        sync_folder(store, folder)


def test_a_batch_ends_when_it_holds_much_text(store, tmp_path, monkeypatch) -> None:
    """Large files are not all held in memory until the batch is full."""
    monkeypatch.setattr("langchain_ctxfetch.ingestion.BATCH_CHARACTERS", 15)
    for name in ("a", "b", "c"):
        write(tmp_path / name, "x" * 10)
    sync_folder(store, tmp_path)

    assert [len(batch) for batch in store.batches] == [2, 1]


def test_progress_counts_every_file(store, folder) -> None:
    """Each file is reported once, with the number of all."""
    seen = []
    sync_folder(store, folder, progress=lambda *step: seen.append(step))

    assert seen == [(1, 3, "a.md"), (2, 3, "b.txt"), (3, 3, "deep/c.py")]


def test_paths_that_overlap_are_read_once(store, folder) -> None:
    """A file below two of the paths is one document, written once."""
    sync_folder(store, [folder, folder / "deep", folder / "a.md"], base=folder)

    assert sorted(store.written) == ["a.md", "b.txt", "deep/c.py"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"paths": []}, "`paths`"),
        ({"paths": "no/such/folder"}, "there is no file or folder"),
        ({"paths": [".", ".."]}, "`base`"),
        ({"paths": ".", "max_bytes": 0}, "`max_bytes`"),
        ({"paths": ".", "batch_size": 0}, "`batch_size`"),
    ],
)
def test_wrong_arguments_are_named(store, arguments, named) -> None:
    """The message says which argument is wrong."""
    with pytest.raises(ConfigurationError, match=named):
        sync_folder(store, **arguments)


def test_a_report_reads_as_one_line() -> None:
    """Counts stand in the text, not thousands of paths."""
    report = SyncReport(
        added=2,
        unchanged=1,
        skipped={"binary": ("a", "b"), "blank": ("d",)},
        failed={"c": "why"},
    )

    assert str(report) == (
        "2 added, 0 updated, 1 unchanged, 0 removed,"
        " 3 skipped (2 binary, 1 blank), 1 failed"
    )
    assert repr(report) == f"<SyncReport: {report}>"


async def test_the_twin_does_the_same(store, folder) -> None:
    """`async_folder` reports what `sync_folder` reports, off the event loop."""
    assert await async_folder(store, folder) == SyncReport(added=3)
    assert await async_folder(store, folder) == SyncReport(unchanged=3)


def test_a_users_own_document_is_never_replaced(tmp_path) -> None:
    """A file of the same id is refused before any write."""
    (tmp_path / "a.txt").write_text("of the file")
    with SQLiteStore() as store:
        store.add_texts(["mine"], ids=["a.txt"])
        with pytest.raises(ConfigurationError, match="of no file"):
            sync_folder(store, tmp_path)

        assert store.get_by_ids(["a.txt"])[0].page_content == "mine"


def test_a_gitignore_that_is_no_file_is_passed_over(tmp_path) -> None:
    """A pipe would block for ever."""
    os.mkfifo(tmp_path / ".gitignore")
    (tmp_path / "a.txt").write_text("tea")
    with SQLiteStore() as store:
        assert sync_folder(store, tmp_path).added == 1


def test_one_odd_byte_does_not_void_a_gitignore(tmp_path) -> None:
    """The lines beside it still hold."""
    (tmp_path / ".gitignore").write_bytes(b"*.key\n# caf\xe9\n")
    (tmp_path / "my.key").write_text("secret")
    (tmp_path / "a.txt").write_text("tea")
    with SQLiteStore() as store:
        assert sync_folder(store, tmp_path).added == 1
        assert store.get_by_ids(["my.key"]) == []


def test_file_names_that_are_no_text_are_named_and_skipped(tmp_path) -> None:
    """Two of them could become one id, and one of the texts be lost."""
    for name in (b"\xff.txt", b"\xfe.txt"):
        Path(os.fsdecode(bytes(tmp_path) + b"/" + name)).write_text("tea")
    with SQLiteStore() as store:
        report = sync_folder(store, tmp_path)

        assert (report.added, len(report.skipped["unreadable"])) == (0, 2)
        assert len(store) == 0
