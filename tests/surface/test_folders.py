"""What is passed over below a folder, and how the report names it."""

import os
import sys
from pathlib import Path

import pytest

from langchain_ctxfetch import _folders
from langchain_ctxfetch.errors import MissingExtraError
from langchain_ctxfetch.ingestion import SyncReport, sync_folder


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.bin", b"text\0text", "binary"),
        ("latin.txt", "é".encode("latin-1"), "not UTF-8"),
        ("mixed.txt", b"\xff\0", "binary"),
        ("utf16.txt", "text".encode("utf-16"), "binary"),
        ("empty.py", "", "blank"),
        ("blank.md", " \n\t\n", "blank"),
        (".hidden.md", "text", "hidden"),
        (".git/config", "text", "hidden"),
        ("large.txt", "x" * 101, "too large"),
    ],
)
def test_what_is_no_text_is_passed_over_and_named(
    store, tmp_path, name, content, reason
) -> None:
    """Nothing is written, and the report says which path and why."""
    write(tmp_path / name, content)
    report = sync_folder(store, tmp_path, max_bytes=100)
    top = name.split("/")[0] + "/" * ("/" in name)

    assert store.documents == {}
    assert report.skipped == {reason: (top,)}


def test_the_largest_allowed_file_is_taken(store, tmp_path) -> None:
    """A file of exactly the cap is read."""
    write(tmp_path / "a.txt", "x" * 100)

    assert sync_folder(store, tmp_path, max_bytes=100).added == 1


def test_gitignore_files_are_obeyed_the_inner_ones_first(store, tmp_path) -> None:
    """Patterns hold below their folder, and a deeper file overrules them."""
    write(tmp_path / ".gitignore", "*.log\nbuild/\n!\n[z-a]\n/top.txt\n")
    write(tmp_path / "inner/.gitignore", "!keep.log\nsecret*\n")
    for name in ("a.log", "build/x.txt", "top.txt", "secret.txt", "inner/top.txt"):
        write(tmp_path / name, "text")
    for name in ("inner/keep.log", "inner/b.log", "inner/secret.txt"):
        write(tmp_path / name, "text")
    report = sync_folder(store, tmp_path)

    assert sorted(store.documents) == ["inner/keep.log", "inner/top.txt", "secret.txt"]
    assert sorted(report.skipped["ignored"]) == [
        "a.log",
        "build/",
        "inner/b.log",
        "inner/secret.txt",
        "top.txt",
    ]


def test_the_rules_of_the_repository_hold_in_its_folders(store, tmp_path) -> None:
    """A `.gitignore` above the folder counts, up to the root of the repository."""
    write(tmp_path / ".gitignore", "*")
    (tmp_path / "repository/.git").mkdir(parents=True)
    write(tmp_path / "repository/.gitignore", "*.log")
    write(tmp_path / "repository/src/a.log", "text")
    write(tmp_path / "repository/src/a.txt", "text")
    sync_folder(store, tmp_path / "repository/src")

    assert list(store.documents) == ["a.txt"]


def test_what_is_asked_for_by_name_is_taken(store, tmp_path) -> None:
    """An ignored or hidden path that is given itself is indexed."""
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".gitignore", "build/\n")
    write(tmp_path / "build/a.txt", "text")
    write(tmp_path / ".notes", "text")
    sync_folder(store, [tmp_path / "build", tmp_path / ".notes"], base=tmp_path)

    assert sorted(store.documents) == [".notes", "build/a.txt"]


def test_what_was_taken_is_not_named_as_passed_over(store, tmp_path) -> None:
    """A hidden file that is given beside its folder is indexed, not skipped."""
    notes = write(tmp_path / ".notes", "text")

    assert sync_folder(store, [tmp_path, notes], base=tmp_path).skipped == {}


def test_links_are_not_followed(store, folder) -> None:
    """Neither a loop nor a way out of the folder is taken."""
    (folder / "loop").symlink_to(folder)
    (folder / "out.txt").symlink_to(write(folder.parent / "secret.txt", "secret"))
    report = sync_folder(store, folder)

    assert report.added == 3
    assert report.skipped == {"link": ("loop", "out.txt")}


def test_a_pipe_is_not_waited_for(store, tmp_path) -> None:
    """What is no regular file is passed over without opening it."""
    os.mkfifo(tmp_path / "pipe")

    assert sync_folder(store, tmp_path).skipped == {"no regular file": ("pipe",)}


def test_the_store_does_not_index_itself(store, tmp_path) -> None:
    """The file of the store and its companions are no content, so not mentioned."""
    store.path = str(tmp_path / "my.db")
    write(tmp_path / "my.db", "text")
    write(tmp_path / "my.db-wal", "text")

    assert sync_folder(store, tmp_path) == SyncReport()


def unreadable(monkeypatch, name: str, error: type[OSError]) -> None:
    """Let one file fail when it is opened."""
    opened = Path.open

    def fails(path, *args, **kwargs):
        if path.name == name:
            raise error(name)
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", fails)


def test_an_unreadable_file_keeps_its_document(store, folder, monkeypatch) -> None:
    """What cannot be read now is named, and is not taken for gone."""
    sync_folder(store, folder)
    os.utime(folder / "a.md", (1, 1))
    unreadable(monkeypatch, "a.md", PermissionError)
    report = sync_folder(store, folder)

    assert report == SyncReport(unchanged=2, skipped={"unreadable": ("a.md",)})
    assert "a.md" in store.documents


def test_an_unreadable_folder_keeps_its_documents(store, folder, monkeypatch) -> None:
    """Nothing below a folder that cannot be listed is taken for gone."""
    sync_folder(store, folder)
    listed = os.scandir

    def fails(path):
        if str(path).endswith("deep"):
            raise PermissionError(path)
        return listed(path)

    monkeypatch.setattr(_folders.os, "scandir", fails)
    report = sync_folder(store, folder)

    assert report == SyncReport(unchanged=2, skipped={"unreadable": ("deep/",)})
    assert "deep/c.py" in store.documents


def test_a_file_that_vanishes_in_between_is_named(store, folder, monkeypatch) -> None:
    """It is passed over, and its document goes with it."""
    sync_folder(store, folder)
    os.utime(folder / "a.md", (1, 1))
    unreadable(monkeypatch, "a.md", FileNotFoundError)
    report = sync_folder(store, folder)

    assert report == SyncReport(unchanged=2, removed=1, skipped={"vanished": ("a.md",)})


def test_a_file_that_has_grown_is_too_large(tmp_path) -> None:
    """What counts is what is read, not what was found."""
    path = write(tmp_path / "a.txt", "x" * 11)

    assert _folders.read_bytes(str(path), 10) == "too large"


def test_a_folder_that_vanishes_is_named(tmp_path) -> None:
    """A folder, or a file, that is gone when its turn comes is passed over."""
    gone = str(tmp_path / "gone")

    assert _folders._entries(gone) == _folders.SkippedPath(gone + os.sep, "vanished")
    assert list(_folders.walk(gone, max_bytes=1)) == [
        _folders.SkippedPath(gone, "vanished")
    ]


@pytest.mark.parametrize("nanoseconds", [10**30, -(10**30)])
def test_a_time_without_a_date_is_the_epoch(nanoseconds) -> None:
    """File systems hold times that no calendar has."""
    assert _folders._moment(nanoseconds) == "1970-01-01T00:00:00.000000Z"


def test_without_pathspec_the_extra_is_named(store, folder, monkeypatch) -> None:
    """Where a `.gitignore` cannot be read, the command that helps is named."""
    write(folder / ".gitignore", "*.log")
    monkeypatch.setitem(sys.modules, "pathspec", None)

    with pytest.raises(MissingExtraError, match=r"langchain-ctxfetch\[cli\]"):
        sync_folder(store, folder)
