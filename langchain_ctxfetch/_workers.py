"""Has files read by processes that may crash, hang or be short of memory."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import IO, Any

from langchain_ctxfetch._extracting import NotReadable, extract, receive, send
from langchain_ctxfetch._formats import Extract

SECONDS = 20.0
"""How long any file may be read."""

SECONDS_A_BYTE = 5e-6
"""How much longer a large one may be; the slowest pages need a fifth of it."""

_BOOT = (
    "import sys; sys.path[:] = sys.argv[1:];"
    " from langchain_ctxfetch._extracting import main; main()"
)


class Workers:
    """Be processes that read files, as many as there are callers at the same time.

    A process lives on for the next file, and begins when the first is asked for.

    Args:
        seconds: How long a process may take for one file, be it ever so small.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._idle: SimpleQueue[_Worker] = SimpleQueue()
        self._lock = threading.Lock()
        self._all: set[_Worker] = set()
        self._closed = False

    def extract(self, name: str, data: bytes, most: int) -> Extract:
        """Same as `_extracting.extract`, but what goes wrong there ends nothing here.

        Args:
            name: The name of the format.
            data: The bytes of the file.
            most: The most characters of its text.

        Returns:
            What the file says.

        Raises:
            NotReadable: If there is nothing to be had, with the reason.
        """
        if not _can_start():
            return extract(name, data, most)
        worker = self._hired()
        try:
            found = worker.ask(name, data, most)
        except NotReadable:
            self._let_go(worker)
            raise
        self._let_go(worker)
        return found

    def close(self) -> None:
        """End all processes, also those at work."""
        with self._lock:
            self._closed = True
            ended, self._all = self._all, set()
        for worker in ended:
            worker.end()

    def _hired(self) -> _Worker:
        with suppress(Empty):
            return self._idle.get_nowait()
        with self._lock:
            if self._closed:
                raise NotReadable("unreadable")
            try:
                worker = _Worker(self._seconds)
            except OSError as error:
                raise NotReadable("unreadable") from error
            self._all.add(worker)
        return worker

    def _let_go(self, worker: _Worker) -> None:
        """Keep a process for the next file, if it has survived this one."""
        if worker.is_alive:
            self._idle.put(worker)
            return
        worker.end()
        with self._lock:
            self._all.discard(worker)


class _Worker:
    """Be one process, which reads one file at a time."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # Not `multiprocessing`: it would run the program of the user once more.
        self._process = subprocess.Popen(  # noqa: S603 - this program itself
            [sys.executable, "-P", "-c", _BOOT, *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            # An interrupt is for the program that has asked, which then ends it.
            start_new_session=True,
        )
        self.is_alive = True

    def ask(self, name: str, data: bytes, most: int) -> Extract:
        """Have a file read, in time or not at all."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._process.kill()

        seconds = self._seconds + SECONDS_A_BYTE * len(data)
        clock = threading.Timer(seconds, give_up)
        clock.daemon = True
        clock.start()
        try:
            send(_there(self._process.stdin), {"format": name, "most": most}, data)
            # Four bytes are the longest letter.
            about, body = receive(_there(self._process.stdout), 4 * most)
            found = Extract(body.decode(), about.get("title"), about.get("pages"))
        except (EOFError, OSError, ValueError) as error:
            self.is_alive = False
            # That no answer came says nothing for sure of the file.
            reason = "took too long" if late.is_set() else "unreadable"
            raise NotReadable(reason) from error
        finally:
            clock.cancel()
        if "skip" in about:
            raise NotReadable(str(about["skip"]))
        return found

    def end(self) -> None:
        """End the process, whatever it is doing."""
        self.is_alive = False
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with suppress(OSError):
                _there(pipe).close()


def _there(pipe: IO[bytes] | None) -> Any:  # noqa: ANN401 - a pipe of bytes
    if pipe is None:
        raise EOFError
    return pipe


def _can_start() -> bool:
    """Say whether this program is run by an interpreter that can be started again."""
    return bool(sys.executable) and not getattr(sys, "frozen", False)
