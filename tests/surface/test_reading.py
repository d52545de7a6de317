"""Reading ahead: in order, bounded, and whatever a process that reads does."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from langchain_ctxfetch import SQLiteStore, _reading, _workers
from langchain_ctxfetch._extracting import NotReadable
from langchain_ctxfetch._formats import format_of
from langchain_ctxfetch._reading import Reading, Wanted
from langchain_ctxfetch.ingestion import SyncReport, sync_folder


@pytest.fixture
def workers():
    held = _workers.Workers(seconds=30)
    yield held
    held.close()


# --- processes ------------------------------------------------------------------


def test_a_process_reads_many_files(workers) -> None:
    """It is started once, and an unreadable file does not end it."""
    first = workers.extract("html", b"<p>a", 100)
    with pytest.raises(NotReadable, match="damaged"):
        workers.extract("pdf", b"x", 100)
    with pytest.raises(NotReadable, match="too large"):
        workers.extract("html", b"<p>" + b"a" * 101, 100)

    assert first == ("a\n", None, None)
    assert workers.extract("html", b"<title>T</title><p>\xe8\x8c\xb6", 100)[0] == "茶\n"
    assert len(workers._all) == 1


OUT = "import sys; sys.stdout.buffer"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import time; time.sleep(1e6)", "took too long"),
        ("import sys; sys.stdin.buffer.read(9); import time; time.sleep(1e6)", "took"),
        ("import os; os._exit(1)", "unreadable"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", "unreadable"),
        ("print('x' * 1000)", "unreadable"),
        (f"{OUT}.write(bytes(16))", "unreadable"),
        (f"{OUT}.write(bytes(7) + bytes([2]) + bytes(8) + b'[]')", "unreadable"),
        (f"{OUT}.write(bytes(7) + bytes([2]) + bytes(7) + b'\\1{{}}\\xff')", "unread"),
        ("import no_such_module", "unreadable"),
    ],
)
def test_a_process_that_fails_fails_alone(monkeypatch, program, reason) -> None:
    """Whether it hangs, crashes or talks nonsense; the next file gets another one."""
    workers = _workers.Workers(seconds=0.5 if "took" in reason else 30)
    with monkeypatch.context() as patched:
        patched.setattr(_workers, "_BOOT", program)
        with pytest.raises(NotReadable, match=reason):
            workers.extract("html", b"<p>a" + b" " * 100_000, 100)

    assert workers._all == set()
    workers._seconds = 30
    assert workers.extract("html", b"<p>a", 100).text == "a\n"
    workers.close()


def test_a_process_that_never_answers_loses_no_document(
    store, tmp_path, monkeypatch
) -> None:
    """The file is named, the others are written, and what was stored stays."""
    (tmp_path / "a.html").write_text("<p>a")
    (tmp_path / "b.txt").write_text("b")
    sync_folder(store, tmp_path)
    os.utime(tmp_path / "a.html", (1, 1))
    (tmp_path / "a.html").write_text("<p>changed")
    monkeypatch.setattr(_workers, "_BOOT", "import os; os._exit(1)")
    (tmp_path / "c.txt").write_text("c")
    report = sync_folder(store, tmp_path)

    assert report == SyncReport(
        added=1, unchanged=1, skipped={"unreadable": ("a.html",)}
    )
    assert sorted(store.documents) == ["a.html", "b.txt", "c.txt"]


def test_without_an_interpreter_files_are_read_here(workers, monkeypatch) -> None:
    """As in a program that was frozen into one file."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)

    assert workers.extract("html", b"<p>a", 100).text == "a\n"
    assert workers._all == set()


def test_no_process_begins_for_plain_text(store, folder, monkeypatch) -> None:
    """Only formats that other packages read need one."""
    monkeypatch.setattr(_workers, "_Worker", None)

    assert sync_folder(store, folder).added == 3


def test_long_work_is_done_in_a_process(store, tmp_path, monkeypatch) -> None:
    """Laying out much JSON would hold up the one who writes; reading text does not."""
    monkeypatch.setattr(_reading, "LARGE", 10)
    monkeypatch.setattr(_workers, "_BOOT", "import os; os._exit(1)")
    for name in ("a.json", "b.txt", "c.md"):
        (tmp_path / name).write_text('{"title": "x"}')
    (tmp_path / "d.json").write_text("[1, 2, 3]")
    report = sync_folder(store, tmp_path)

    assert report == SyncReport(added=3, skipped={"unreadable": ("a.json",)})


def test_a_process_reads_every_format(workers) -> None:
    """As it is read here."""
    assert workers.extract("json", b'{"title": "x"}', 100).title == "x"
    assert workers.extract("py", b"x = 1", 100).text == "x = 1"
    with pytest.raises(NotReadable, match="binary"):
        workers.extract("py", b"\0", 100)


def test_all_processes_end_with_the_run(store, tmp_path, monkeypatch) -> None:
    """None is left that waits for more."""
    begun = []

    class Noted(_workers._Worker):
        def __init__(self, seconds) -> None:
            super().__init__(seconds)
            begun.append(self._process)

    monkeypatch.setattr(_workers, "_Worker", Noted)
    for number in range(6):
        (tmp_path / f"{number}.html").write_text("<p>a")
    sync_folder(store, tmp_path)

    assert 1 <= len(begun) <= _reading.THREADS
    assert all(process.returncode is not None for process in begun)


# --- order and bounds -----------------------------------------------------------


def wanted(path: Path, size: int | None = None) -> Wanted:
    held = path.stat().st_size if size is None else size
    return Wanted(str(path), held, format_of(str(path)), None)


@pytest.fixture
def reading():
    held = Reading(max_bytes=1_000)
    yield held
    held.close()


def test_what_is_read_comes_in_order(reading, tmp_path) -> None:
    """A slow file before quick ones is waited for."""
    files = []
    for number in range(20):
        path = tmp_path / f"{number}.{'html' if number % 5 == 0 else 'txt'}"
        path.write_text(f"<p>{number}")
        files.append((number, wanted(path) if number % 3 else None))
    found = list(reading.run(files))

    assert [number for number, _ in found] == list(range(20))
    assert all((outcome is None) == (number % 3 == 0) for number, outcome in found)
    assert found[10][1].said.text == "10\n"
    assert found[11][1].said.text == "<p>11"


@pytest.mark.parametrize(
    ("size", "most"),
    [(0, _reading.AHEAD_FILES), (_reading.AHEAD_BYTES // 3, 3), (10**9, 1)],
)
def test_only_so_much_is_read_ahead(reading, tmp_path, size, most) -> None:
    """As many files as there is room for, but one at least."""
    path = tmp_path / "a.txt"
    path.write_text("tea")
    taken = 0

    def files():
        nonlocal taken
        for taken in range(1, 201):
            yield taken, wanted(path, size)

    ahead = [taken - done for done, _ in enumerate(reading.run(files()))]

    assert max(ahead) <= most + 1


# --- runs that are stopped ------------------------------------------------------

PROGRAM = """
import sys
from langchain_ctxfetch import SQLiteStore, sync_folder

def progress(done, total, name):
    print(done, total, flush=True)
    if done == 35:
        sys.stdin.read()  # for ever

with SQLiteStore("my.db") as store:
    sync_folder(store, "docs", batch_size=10, progress=progress)
"""


@pytest.mark.parametrize("suffix", ["txt", "html"])
def test_a_killed_run_keeps_what_it_has_written(tmp_path, suffix) -> None:
    """The next one does the rest, and only that."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(60):
        (docs / f"{number}.{suffix}").write_text(f"<p>text {number}")
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(_reading.__file__).parents[1])},
    ) as process:
        for line in process.stdout:
            if line.split()[0] == b"35":
                break
        process.send_signal(signal.SIGKILL)

    assert process.returncode == -signal.SIGKILL
    with SQLiteStore(tmp_path / "my.db") as store:
        assert len(store) == 30
        assert sync_folder(store, docs) == SyncReport(added=30, unchanged=30)
        assert sync_folder(store, docs) == SyncReport(unchanged=60)


def test_an_interrupted_index_says_how_far_it_came(run, tmp_path, monkeypatch) -> None:
    """What was written stays, the command ends with 130, and the next does the rest."""
    (tmp_path / "docs").mkdir()
    for number in range(250):
        (tmp_path / f"docs/{number}.txt").write_text("tea")
    put, calls = SQLiteStore.put, []

    def once(self, documents):
        calls.append(len(documents))
        if len(calls) > 1:
            raise KeyboardInterrupt
        return put(self, documents)

    monkeypatch.setattr(SQLiteStore, "put", once)
    stopped = run("index", "docs")
    monkeypatch.setattr(SQLiteStore, "put", put)

    assert stopped.exit_code == 130
    assert re.fullmatch(
        r"stopped after 199 of 250 files; what was written\s+stays,"
        r" and the next run does the rest\s+",
        stopped.output,
    )
    assert "150 added, 0 updated, 100 unchanged" in run("index", "docs").stdout


def test_an_error_ends_what_is_under_way(store, folder) -> None:
    """Nothing goes on reading when the run is over."""

    def stop(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sync_folder(store, folder, progress=stop)
    assert store.batches == []
