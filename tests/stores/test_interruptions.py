"""Work that is broken off: by a key, a cancelled task, a thread that ends, a kill."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import suppress

import pytest

from langchain_ctxfetch import SQLiteStore
from langchain_ctxfetch.ports import SearchRequest
from tests.stores.fakes import Words, found_ids, ids

needs_signals = pytest.mark.skipif(
    not hasattr(signal, "setitimer"), reason="this system has no timers"
)


@pytest.fixture
def interrupts():
    """Return what raises KeyboardInterrupt after some seconds of work."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGVTALRM, interrupt)
    yield lambda seconds: signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


@needs_signals
@pytest.mark.parametrize("kind", ["search", "write"])
def test_a_key_pressed_in_mid_work_leaves_the_store_usable(
    file, interrupts, kind
) -> None:
    """Twenty times at different moments: no hang, nothing half written."""
    with SQLiteStore(file, embedding=Words()) as store:
        store.add_texts([f"cat {n}" for n in range(50)])
        written = 0

        def work(seconds: float) -> None:
            nonlocal written
            interrupts(seconds)
            for _ in range(300):
                if kind == "search":
                    found_ids(store, "cat")
                else:
                    store.add_texts(["cat"], ids=[f"new {written}"])
                    written += 1
            raise KeyboardInterrupt  # Python itself may have swallowed the first one

        for round_ in range(20):
            with pytest.raises(KeyboardInterrupt):
                work(0.001 + round_ * 0.001)
            store.add_texts(["dog"], ids=[f"dog {round_}"])
            assert f"dog {round_}" in found_ids(store, "dog", 99)
        names = [id_ for id_, _ in store.records()]

        assert set(found_ids(store, "cat dog", 9_999)) == set(names)
        assert {f"new {n}" for n in range(written)} <= set(names)


async def test_a_cancelled_task_leaves_the_store_usable(tmp_path) -> None:
    """Its search ends beside it; others and the end are not held up."""
    store = await asyncio.to_thread(SQLiteStore, tmp_path / "s.db")
    await store.aadd_texts([f"cat {n}" for n in range(50)])
    request = SearchRequest("keyword", "cat", 10)
    tasks = [asyncio.create_task(store.asearch_round([request])) for _ in range(20)]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    (after,) = await store.asearch_round([request])
    await store.aclose()

    assert all(isinstance(each, asyncio.CancelledError) for each in outcomes[::2])
    assert all(outcome == [after] for outcome in outcomes[1::2])


async def test_a_cancelled_write_is_whole_or_not_there(tmp_path) -> None:
    """Whatever the moment, both indexes agree."""
    store = await asyncio.to_thread(SQLiteStore, tmp_path / "s.db", embedding=Words())
    for number in range(10):
        texts = [f"cat {n}" for n in range(30)]
        task = asyncio.create_task(store.aadd_texts(texts, batch_size=3))
        await asyncio.sleep(0.002 * number)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await store.aadd_texts(["cat"], ids=["last"])  # after what was begun
    found = await store.asimilarity_search("cat", k=999)
    words = await store.asearch_round([SearchRequest("keyword", "cat", 999)])
    count = await asyncio.to_thread(len, store)
    await store.aclose()

    assert len(found) == len(words[0].value) == count
    assert "last" in ids(found)


def test_a_thread_that_ended_leaves_its_connection_to_others(tmp_path) -> None:
    """A hundred threads, one after another, use one."""
    with SQLiteStore(tmp_path / "s.db") as store:
        store.add_texts(["cat"], ids=["a"])
        for _ in range(100):
            thread = threading.Thread(target=found_ids, args=(store, "cat"))
            thread.start()
            thread.join()

        assert len(store._connections._idle) == 1


def test_closing_in_mid_search_from_another_thread_ends_all(tmp_path) -> None:
    """Searches end well or say that the store is closed; nothing stays open."""
    store = SQLiteStore(tmp_path / "s.db")
    store.add_texts(["cat"], ids=["a"])
    told: list[str] = []

    def search() -> None:
        try:
            while True:
                found_ids(store, "cat")
        except Exception as error:  # noqa: BLE001 - what it is is tested
            told.append(str(error))

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    store.close()
    for thread in threads:
        thread.join(30)

    assert len(told) == 4
    assert all("is closed" in each for each in told)
    assert store._connections._idle == []


KILLED = textwrap.dedent(
    """
    import os, random, signal, sys
    from langchain_core.embeddings import DeterministicFakeEmbedding
    from langchain_ctxfetch import SQLiteStore

    path, embedding = sys.argv[1], DeterministicFakeEmbedding(size=8)
    random.seed(0)

    def write(number, pipe):
        with SQLiteStore(path, embedding=embedding) as store:
            for row in range(10_000):
                text = f"cat {row} " + "and so on. " * random.randrange(500)
                names = store.add_texts([text], ids=[f"{number}-{row}"])
                os.write(pipe, (names[0] + "\\n").encode())
                if row % 5 == 4:
                    store.delete([f"{number}-{row - 4}"])

    for number in range(20):
        mine, its = os.pipe()
        child = os.fork()
        if not child:
            write(number, its)
        os.close(its)
        with os.fdopen(mine) as lines:
            wanted = random.randrange(1, 15)
            told = [lines.readline().strip() for _ in range(wanted)]
            os.kill(child, signal.SIGKILL)
            told += lines.read().split()
        os.waitpid(child, 0)
        rows = len(told)
        removed = {f"{number}-{row}" for row in range(0, rows, 5) if row + 4 < rows}
        with SQLiteStore(path, embedding=embedding) as store:
            stored = {id_ for id_, _ in store.records()}
            hits = store.channel("keyword").ask("cat", 9_999, None)
            request = [hit.id for hit in hits]
            similar = [each.id for each in store.similarity_search("cat", k=9_999)]
            with store._connections.lent() as connection:
                sound = connection.execute("pragma integrity_check").fetchone()[0]
        assert sound == "ok", sound
        assert set(told) - removed <= stored, set(told) - removed - stored
        assert stored == set(request) == set(similar)
        assert len(request) == len(similar) == len(stored)
    print("sound", len(stored))
    """
)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_twenty_processes_killed_in_mid_write_lose_nothing_acknowledged(file) -> None:
    """Each at another moment: the file opens, is sound, and both indexes agree."""
    printed = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLED, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    ).stdout

    assert printed.startswith("sound ")


@pytest.mark.timeout(30)  # what stays held is waited for, for ever
def test_a_key_pressed_within_a_lock_leaves_it_free(file) -> None:
    """Wherever in Python's own code for threads it is pressed, nothing stays held."""
    with SQLiteStore(file) as store:
        connections = store._connections
        before = sys.gettrace()
        for moment in range(40):
            moments = iter(range(moment))

            def press(frame, event, given, moments=moments):
                within = frame.f_code.co_filename == threading.__file__
                if within and event != "call" and next(moments, None) is None:
                    raise KeyboardInterrupt
                return press

            sys.settrace(press)
            with suppress(KeyboardInterrupt), connections.reading():
                pass
            sys.settrace(before)

            assert not connections._lock.locked()
        assert found_ids(store, "cat") == []
