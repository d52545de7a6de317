"""Several threads and processes on one file, also such as die."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

from langchain_ctxfetch import SQLiteStore
from tests.stores.fakes import EMBEDDING, found_ids, ids

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
    """At the next search; threads here write at the same time, and nothing is lost."""
    with (
        SQLiteStore(filled, embedding=EMBEDDING) as store,
        start(filled, 0, 30) as process,
    ):
        before = found_ids(store, "cat", 10_000)
        go(process)
        with ThreadPoolExecutor(4) as pool:
            for number in range(30):
                pool.submit(store.add_texts, [f"cat t{number}"], ids=[f"t{number}"])
            acknowledged = process.communicate()[0].split()
        after = found_ids(store, "cat", 10_000)

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
            found = found_ids(store, "cat", 10_000)
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
            assert id_ in found_ids(store, "cat", 10_000)
            assert ids(store.get_by_ids([id_])) == [id_]
            if number % 5 == 0:
                store.delete([id_])
            store.similarity_search("cat", filter={"t": thread})

    with SQLiteStore(path, embedding=EMBEDDING) as store:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))

        assert len(store) == len(found_ids(store, "cat", 10_000)) == 8 * 20
        assert len(store.similarity_search("cat", k=999)) == 8 * 20
