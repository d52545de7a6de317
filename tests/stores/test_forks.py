"""A process that forks while its threads use a store."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="this system has no fork"
)

BEGIN = textwrap.dedent(
    """
    import os, sys, threading
    from langchain_ctxfetch import SQLiteStore, StoreError
    from langchain_ctxfetch.stores import _connections

    def child(work):
        number = os.fork()
        if number:
            return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        status = 1
        try:
            status = work()
        finally:
            os._exit(status)
    """
)


def run(script: str, *arguments: object) -> str:
    """Run a script in a process of its own, which may not hang."""
    command = [
        *(sys.executable, "-W", "ignore", "-c"),
        BEGIN + textwrap.dedent(script),
        *map(str, arguments),
    ]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        printed, _ = process.communicate(timeout=60)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a child that hangs, too
        process.wait()
    assert process.returncode == 0
    return printed


def test_a_child_forked_while_a_thread_writes_reads_and_writes(file) -> None:
    """Five of them; nothing that either of them wrote is lost."""
    printed = run(
        """
        store = SQLiteStore(sys.argv[1], language="none")
        stop = threading.Event()

        def write():
            number = 0
            while not stop.is_set():
                store.add_texts(["cat"], ids=[f"parent {number}"])
                number += 1

        def work():
            store.add_texts(["cat"], ids=[f"child {os.getpid()}"])
            return 0 if store.similarity_search("cat") and len(store) else 2

        thread = threading.Thread(target=write)
        thread.start()
        codes = [child(work) for _ in range(5)]
        stop.set()
        thread.join()
        names = [id_ for id_, _ in store.records()]
        parents = sum(name.startswith("parent") for name in names)
        with store._connections.lent() as connection:
            sound = connection.execute("pragma integrity_check").fetchone()[0]
        last = f"parent {parents - 1}" in names and f"parent {parents}" not in names
        print(codes, len(names) - parents, last, sound)
        """,
        file,
    )

    assert printed == "[0, 0, 0, 0, 0] 5 True ok\n"


def test_no_connection_is_carried_into_a_child(file) -> None:
    """SQLite's own locks would follow it there."""
    printed = run(
        """
        store = SQLiteStore(sys.argv[1])
        store.add_texts(["cat"], ids=["a"])
        before = len(store._connections._idle)
        print(before, child(lambda: len(store._connections._idle)), len(store))
        """,
        file,
    )

    assert printed == "1 0 1\n"


def test_a_store_in_memory_is_copied_into_a_child() -> None:
    """What a child writes is its own."""
    printed = run(
        """
        store = SQLiteStore()
        store.add_texts(["cat"], ids=["a"])

        def work():
            store.add_texts(["cat"], ids=["b"])
            return len(store.similarity_search("cat"))

        print(child(work), len(store))
        """
    )

    assert printed == "2 1\n"


@pytest.mark.parametrize("path", ["file", ":memory:"])
def test_a_child_that_came_in_mid_use_is_told_so(file, path) -> None:
    """It does not hang, and its parent goes on."""
    printed = run(
        """
        _connections.FORK_PATIENCE_S = 0.05
        store = SQLiteStore(sys.argv[1])
        store.add_texts(["cat"], ids=["a"])
        held, let_go = threading.Event(), threading.Event()

        def hold():
            with store._connections.writing():
                held.set()
                let_go.wait()

        def work():
            try:
                return len(store)
            except StoreError as error:
                return 7 if "forked" in str(error) else 8

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()
        code = child(work)
        let_go.set()
        thread.join()
        store.add_texts(["dog"], ids=["b"])
        print(code, len(store))
        """,
        file if path == "file" else path,
    )

    assert printed == "7 2\n"
