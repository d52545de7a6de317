"""Runs a command to its end: an exit code, and one sentence where it went wrong."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, cast

import typer
from typer.core import TyperGroup

from langchain_ctxfetch import _terminal as terminal
from langchain_ctxfetch.errors import (
    BudgetError,
    ConfigurationError,
    CtxFetchError,
    StoreError,
)

NOTHING_FOUND, USAGE, STORE, BUDGET = 1, 2, 3, 4

_CODES = (
    (BudgetError, BUDGET),
    (StoreError, STORE),
    (CtxFetchError, USAGE),
    (OSError, STORE),
)
"""What a command ends with after each error of ours, the narrower one first."""

# Typer has no name for it, and where it comes from differs from version to version.
_UsageError = cast("type[typer.BadParameter]", typer.BadParameter.__base__)


class Program(TyperGroup):
    """Be the commands; whatever one of them raises, all end in the same way."""

    def main(  # type: ignore[override]  # the rest goes through as it comes
        self,
        args: Sequence[str] | None = None,
        **settings: Any,  # noqa: ANN401 - Typer's own
    ) -> NoReturn:
        """Run the command that the words name, and end with its code."""
        words = sys.argv[1:] if args is None else list(args)
        settings["standalone_mode"] = False
        with _warnings_to_the_side():
            try:
                code = super().main(words, **settings)
            except Exception as error:  # noqa: BLE001 - what is not known is raised
                code = _told(_bare(error), as_json="--json" in words)
        sys.exit(code)


def _told(error: Exception, *, as_json: bool) -> int:
    """Say what went wrong, and return the code for it."""
    if isinstance(error, _UsageError):
        error.show()
        kind, message, code = "UsageError", error.format_message(), error.exit_code
    else:
        known = (code for kind, code in _CODES if isinstance(error, kind))
        code = next(known, 0)
        if not code:
            raise error
        kind, message = type(error).__name__, str(error)
        terminal.drop_unwritten()
        terminal.print_note(f"ctxfetch: {message}", style="red")
    if as_json:
        # Where stdout is what failed, the sentence has said so.
        with suppress(StoreError):
            terminal.print_json(error={"type": kind, "message": message})
    return code


def _bare(error: Exception) -> Exception:
    """Return the error of ours that pydantic has wrapped, if it has."""
    if isinstance(error, CtxFetchError) or not isinstance(error, ValueError):
        return error
    # Here, not above: it takes long, and help and version do without.
    from pydantic import ValidationError  # noqa: PLC0415

    if not isinstance(error, ValidationError):
        return error
    first = error.errors()[0]
    held = first.get("ctx", {}).get("error")
    if isinstance(held, CtxFetchError):
        return held
    name = ".".join(map(str, first["loc"]))
    return ConfigurationError(f"`{name}`: {first['msg']}")


@contextmanager
def _warnings_to_the_side() -> Iterator[None]:
    log, handler = logging.getLogger("langchain_ctxfetch"), terminal.NoteHandler()
    log.addHandler(handler)
    try:
        yield
    finally:
        log.removeHandler(handler)
