"""The command `ctxfetch compact`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import langchain_ctxfetch as ctxfetch
from langchain_ctxfetch import (
    _named as named,
    _options as options,
    _terminal as terminal,
)
from langchain_ctxfetch.errors import (
    ConfigurationError,
    MissingExtraError,
    StoreError,
)

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableConfig

    from langchain_ctxfetch import CompactionPlan, CompactionReport

OPENAI = "openai:"


def compact(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="A text; - is standard input.")
    ],
    *,
    max_tokens: options.BudgetOption,
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="Q", help="What the rest shall answer."),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="openai:NAME",
            help="Writes summaries; without it the best sentences stay.",
        ),
    ] = None,
    counter: options.CounterOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Print a text reduced to a budget of tokens; it stays as it is if it fits.

    Known blocks such as <note_context> or <context> are reduced one by one, and
    nothing outside them changes; a text without any is reduced as a whole.
    """
    text = _read(file)
    tokens = named.counter_named(counter)
    compactor = ctxfetch.ContextCompactor(
        max_tokens=max_tokens,
        model=None if model is None else _model_named(model),
        token_counter=tokens,
        # Once is enough here: there is no next turn.
        compact_to=1.0,
    )
    if dry_run:
        _show_plan(compactor.plan(text, query=query), as_json=as_json)
        return
    with _progress(asked=model is not None) as config:
        made = compactor.compact(text, query=query, config=config)
    if as_json:
        report = terminal.fields_of(made.report)
        terminal.print_json(**report, content=made.content)
    else:
        # In a file or a pipe nothing may change that need not.
        shown = sys.stdout.isatty()
        terminal.write(terminal.printable(made.content) if shown else made.content)
        _show_report(made.report)


def _read(file: str) -> str:
    if file == "-":
        data = sys.stdin.buffer.read()
    else:
        try:
            data = Path(file).read_bytes()
        except OSError as error:
            raise StoreError(f"cannot read {file!r}: {error.strerror}") from error
    try:
        # No line ending changes on the way.
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{file!r} is no UTF-8 text: {error}") from error


def _model_named(name: str) -> BaseChatModel:
    if not name.startswith(OPENAI) or name == OPENAI:
        raise ConfigurationError(f"`--model` must be 'openai:NAME', not {name!r}")
    try:
        provider = import_module("langchain_openai")
    except ImportError as error:
        raise MissingExtraError("openai", f"the model {name!r}") from error
    try:
        made: BaseChatModel = provider.ChatOpenAI(model=name.removeprefix(OPENAI))
    except Exception as error:  # its own error where there is no key
        raise ConfigurationError(f"`--model {name}`: {error}") from error
    return made


@contextmanager
def _progress(*, asked: bool) -> Iterator[RunnableConfig]:
    """Show how many calls have been answered, where there are any."""
    if not asked:
        yield {}
        return
    # Here, not above: help and version do without.
    from langchain_core.callbacks import BaseCallbackHandler  # noqa: PLC0415
    from rich.progress import Progress  # noqa: PLC0415

    from langchain_ctxfetch.compaction import EVENT  # noqa: PLC0415 - lazy: most commands need none

    with Progress(console=terminal.notes(), transient=True) as bar:
        task = bar.add_task("summaries", total=None)

        class Told(BaseCallbackHandler):
            def on_custom_event(self, name: str, data: Any, **_: Any) -> None:  # noqa: ANN401 - LangChain's
                if name == EVENT:
                    bar.update(task, completed=data["answered"], total=data["asked"])

        yield {"callbacks": [Told()]}


def _show_plan(plan: CompactionPlan, *, as_json: bool) -> None:
    if as_json:
        terminal.print_json(**terminal.fields_of(plan))
    else:
        terminal.print_text(str(plan))


def _show_report(report: CompactionReport) -> None:
    for line in str(report).splitlines():
        terminal.print_note(terminal.printable(line))
