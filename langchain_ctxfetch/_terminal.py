"""What the `ctxfetch` command writes, and where: results out, all else to the side."""

from __future__ import annotations

import json
import logging
import sys
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, fields, is_dataclass
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from langchain_core.documents import Document

    from langchain_ctxfetch._core.hits import Gap

JSON_VERSION = 1
"""Goes up when a key of the output of `--json` changes its meaning or goes away."""

WIDE = 400
"""The width of a table where there is no terminal, in columns."""

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


def results() -> Console:
    """Return where results go; nothing in them is taken for markup."""
    return Console(markup=False, highlight=False, emoji=False)


def notes() -> Console:
    """Return where everything else goes: tables, warnings, progress."""
    return Console(stderr=True, markup=False, highlight=False, emoji=False)


def print_text(text: str) -> None:
    """Print a result as it is, lines unbroken."""
    results().print(printable(text), soft_wrap=True)


def print_passage(text: str) -> None:
    """Print a passage below what it belongs to: in full, wrapped on a terminal."""
    console = results()
    shown = one_line(text)
    if console.is_terminal:
        width = max(20, console.width - 4)
        shown = textwrap.fill(shown, width, break_on_hyphens=False)
    console.print(textwrap.indent(shown, "    "), soft_wrap=True)


def print_json(**values: object) -> None:
    """Print a result as JSON, with its version."""
    # Plain ASCII: then no letter in it can be lost or do anything to a terminal.
    sys.stdout.write(json.dumps({"version": JSON_VERSION} | values, default=_plain))
    sys.stdout.write("\n")


def print_note(text: str, *, style: str = "") -> None:
    """Print a line to the side."""
    notes().print(Text(one_line(text), style=style), soft_wrap=True)


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
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console = notes()
    if not console.is_terminal:
        # A file has no edge to fold at.
        console.width = WIDE
    console.print(table)


def progress_bar() -> AbstractContextManager[Progress | None]:
    """Return a bar that vanishes when all is done; none where nobody would see it."""
    console = notes()
    if not console.is_terminal:
        return nullcontext()
    columns = (BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"))
    return Progress(*columns, console=console, transient=True)


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
