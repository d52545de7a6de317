"""What the `ctxfetch` command writes, and where: results out, all else to the side."""

from __future__ import annotations

import json
import logging
import os
import shutil
import sys
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_ctxfetch.errors import StoreError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from langchain_core.documents import Document
    from rich.console import Console

    from langchain_ctxfetch._core.hits import Gap

# Rich is imported where something is printed with it: help and version are not.

JSON_VERSION = 1
"""Goes up when a key of the output of `--json` changes its meaning or goes away."""

WIDE = 400
"""The width of a table where there is no terminal, in columns."""

NARROW = 80
"""The width of a passage where there is no terminal, in columns."""

SHOWN_LINES = 3
"""How many lines of a document's passages are shown."""

PIPE_CLOSED = 141
"""What a program ends with whose reader has gone: 128 and the number of SIGPIPE."""

SHOWN_PATHS = 5
"""How many paths are named for each reason; the report as JSON has all of them."""


class NoteHandler(logging.Handler):
    """Prints what the package logs to the side, as a warning."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one record."""
        print_note(f"warning: {record.getMessage()}", style="yellow")


def printable(text: str) -> str:
    r"""Return text that does nothing to a terminal but to show itself.

    >>> printable("a\x1b[31mred")
    'a[31mred'

    Files may hold control sequences, and marks that reverse the direction of writing.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        letter for letter in text if letter in "\n\t" or not _is_control(letter)
    )


def one_line(text: object) -> str:
    """Return the printable form of a value, with its white space collapsed."""
    return " ".join(printable(str(text)).split())


def write(text: str) -> None:
    """Write a result, and see at once whether it arrives."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads has seen enough.
        drop_unwritten()
        sys.exit(PIPE_CLOSED)
    except OSError as error:
        drop_unwritten()
        raise StoreError(f"cannot write the results: {error.strerror}") from error


def drop_unwritten() -> None:
    """Let nothing that could not be written fail a second time when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())


def notes() -> Console:
    """Return where everything else goes: tables, warnings, progress."""
    from rich.console import Console  # noqa: PLC0415 - see above

    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def print_text(text: str) -> None:
    """Print a result as it is, lines unbroken."""
    write(printable(text) + "\n")


def print_passage(text: str) -> None:
    """Print the beginning of a passage below what it belongs to, wrapped."""
    from rich.text import Text  # noqa: PLC0415 - see above

    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else NARROW
    wrapped = Text(one_line(text)).wrap(notes(), max(20, columns - 6))
    lines = [line.plain.rstrip() for line in wrapped]
    if len(lines) > SHOWN_LINES:
        lines[SHOWN_LINES - 1 :] = [f"{lines[SHOWN_LINES - 1]} …"]
    write("".join(f"    {line}\n" for line in lines))


def print_json(**values: object) -> None:
    """Print a result as JSON, with its version."""
    write(_as_json({"version": JSON_VERSION} | values) + "\n")


def _as_json(values: Mapping[str, object]) -> str:
    """Write JSON whose letters do nothing to a terminal, and none of them lost."""
    text = json.dumps(values, default=_plain, ensure_ascii=False)
    try:
        text.encode(sys.stdout.encoding)
    except UnicodeEncodeError:
        return json.dumps(values, default=_plain)
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        json.dumps(letter)[1:-1] if _is_control(letter) else letter for letter in text
    )


def print_note(text: str, *, style: str = "") -> None:
    """Print a line to the side."""
    notes().print(one_line(text), style=style, soft_wrap=True)


def print_gaps(gaps: Iterable[Gap]) -> None:
    """Say what was not searched or not delivered."""
    for gap in gaps:
        kind = gap.kind.replace("_", " ")
        print_note(f"warning: {gap.part}: {kind}: {gap.reason}", style="yellow")


def print_skipped(skipped: Mapping[str, Sequence[str]]) -> None:
    """Name what was passed over, some of each kind."""
    for reason, paths in skipped.items():
        shown = ", ".join(paths[:SHOWN_PATHS])
        more = ", …" if len(paths) > SHOWN_PATHS else ""
        print_note(f"passed over, {reason} ({len(paths)}): {shown}{more}", style="dim")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table to the side."""
    from rich.table import Table  # noqa: PLC0415 - see above

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(one_line(cell) for cell in row))
    console = notes()
    if not console.is_terminal:
        # A file has no edge to fold at.
        console.width = WIDE
    console.print(table)


@contextmanager
def progress_bar() -> Iterator[Callable[[int, int, str], None]]:
    """Show a bar that vanishes when all is done; none where nobody would see it.

    Where the user ends the program meanwhile, say how far it came.
    """
    reached = (0, 0)
    console = notes()

    def show(done: int, total: int, path: str) -> None:
        nonlocal reached
        reached = (done, total)
        draw(done, total, path)

    try:
        with _drawn(console) as draw:
            yield show
    except KeyboardInterrupt:
        if reached[0]:
            print_note(
                f"stopped after {reached[0]} of {reached[1]} files; what was written"
                " stays, and the next run does the rest"
            )
        raise


@contextmanager
def _drawn(console: Console) -> Iterator[Callable[[int, int, str], None]]:
    if not console.is_terminal:
        yield lambda done, total, path: None  # noqa: ARG005 - nobody would see it
        return
    from rich.progress import (  # noqa: PLC0415 - see above
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
    )

    told = TextColumn("{task.description}", markup=False)
    bar = Progress(
        BarColumn(), MofNCompleteColumn(), told, console=console, transient=True
    )
    with bar:
        task = bar.add_task("")

        def draw(done: int, total: int, path: str) -> None:
            bar.update(task, completed=done, total=total, description=one_line(path))

        yield draw


def ranks(channels: Mapping[str, Mapping[str, Any]]) -> str:
    """Write at which rank each channel has a document.

    >>> ranks({"keyword": {"rank": 1, "score": 7.5}, "vector": {"rank": 3}})
    'keyword 1, vector 3'
    """
    return ", ".join(f"{name} {held['rank']}" for name, held in channels.items())


def fields_of(value: DataclassInstance) -> dict[str, object]:
    """Return the fields of a dataclass by name, their values as they are."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def document_dict(document: Document) -> dict[str, object]:
    """Return a document as plain values."""
    return {
        "id": document.id,
        "page_content": document.page_content,
        "metadata": document.metadata,
    }


def _is_control(letter: str) -> bool:
    # Cc and Cf are control and format marks; joiners are part of words and emoji.
    return unicodedata.category(letter) in {"Cc", "Cf"} and letter not in "\u200c\u200d"


def _plain(value: object) -> object:
    """Return what JSON does not know as something that it knows."""
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value) if isinstance(value, set | frozenset) else str(value)
