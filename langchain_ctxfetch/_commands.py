"""The commands of `ctxfetch`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer
from pydantic import ValidationError
from rich.markup import escape

import langchain_ctxfetch as ctxfetch
from langchain_ctxfetch import _named as named, _terminal as terminal
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch._core.text import cut
from langchain_ctxfetch.errors import (
    BudgetError,
    CtxFetchError,
    StoreError,
)

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from langchain_ctxfetch import Page, SearchStore
    from langchain_ctxfetch.compressors import Row

FOUND, NOTHING_FOUND, USAGE, STORE, BUDGET, INTERRUPTED = 0, 1, 2, 3, 4, 130

ROOM, FEWEST = 150, 3
"""Tokens that each document of a context should have, and how many come anyway."""

EXCERPT = 300
"""How much of a document `search` quotes, in characters."""


class FusionChoice(StrEnum):
    """How the rankings of the channels become one."""

    WEIGHTED = "weighted"
    RRF = "rrf"
    ROUND_ROBIN = "round_robin"


class StyleChoice(StrEnum):
    """How a context is written."""

    NUMBERED = "numbered"
    XML = "xml"
    PLAIN = "plain"


StoreOption = Annotated[
    str,
    typer.Option(
        "--store", envvar="CTXFETCH_STORE", metavar="FILE", help="Where the index is."
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print JSON, for other programs.")
]
QueryArgument = Annotated[str, typer.Argument(metavar="Q", help="What to look for.")]
DEFAULT_STORE = ".ctxfetch.db"

app = typer.Typer(
    name="ctxfetch",
    help="Index text files, search them page by page, build a context that fits.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _print_version(*, wanted: bool) -> None:
    if wanted:
        terminal.print_text(f"ctxfetch {version('langchain-ctxfetch')}")
        raise typer.Exit


@app.callback()
def _program(
    *,
    version_wanted: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=lambda value: _print_version(wanted=value),
            is_eager=True,
            help="Print the version.",
        ),
    ] = False,
) -> None:
    """Index text files, search them page by page, build a context that fits."""


@app.command()
def index(
    paths: Annotated[
        list[Path], typer.Argument(metavar="PATH…", help="Files and folders.")
    ],
    *,
    store: StoreOption = DEFAULT_STORE,
    embedding: Annotated[
        str | None,
        typer.Option(
            metavar="none|openai:NAME",
            help="Whether to search by meaning too; by default as the store was made.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Bring the index in step with the text files below the paths.

    Only what changed is written; documents whose file is gone are removed, but only
    below the paths. Hidden files and what `.gitignore` names are passed over.
    """
    with _exit_codes(), closing(named.writable(store, embedding)) as opened:
        with terminal.progress_bar() as bar:
            task = bar.add_task("") if bar else None

            def show(done: int, total: int, path: str) -> None:
                if bar is not None and task is not None:
                    shown = escape(terminal.one_line(path))
                    bar.update(task, completed=done, total=total, description=shown)

            # Ids are relative to where the index is: the same from any folder.
            base = Path(store).absolute().parent
            report = ctxfetch.sync_folder(opened, paths, base=base, progress=show)
        if as_json:
            terminal.print_json(**terminal.fields_of(report), documents=len(opened))
        else:
            terminal.print_text(f"{report}; {len(opened)} documents in {store}")
            terminal.print_skipped(report.skipped)
        for name, reason in report.failed.items():
            terminal.print_note(f"failed: {name}: {reason}", style="red")
        if report.failed:
            raise typer.Exit(STORE)
        if not len(opened):
            raise typer.Exit(NOTHING_FOUND)


@app.command()
def search(
    query: QueryArgument,
    *,
    store: StoreOption = DEFAULT_STORE,
    page: Annotated[int, typer.Option(help="Which page, from 1.")] = 1,
    k: Annotated[int, typer.Option("-k", "--k", help="Documents on a page.")] = 10,
    fusion: Annotated[
        FusionChoice, typer.Option(help="How keyword and vector become one ranking.")
    ] = FusionChoice.WEIGHTED,
    where: Annotated[
        str | None,
        typer.Option("--filter", metavar="JSON", help="What the metadata must match."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show one page of what is found, best first."""
    with _exit_codes(), closing(named.readable(store)) as opened:
        retriever = ctxfetch.HybridRetriever.from_store(
            opened, fusion=fusion.value, content="passages"
        )
        found = retriever.get_page(
            query, page=page, k=k, where=named.filter_written(where)
        )
        if as_json:
            documents = [terminal.document_dict(held) for held in found.documents]
            terminal.print_json(**terminal.fields_of(found) | {"documents": documents})
        else:
            _print_page(opened, query, found)
        terminal.print_gaps(found.gaps)
        if not found.documents:
            terminal.print_note("nothing found")
            raise typer.Exit(NOTHING_FOUND)


@app.command()
def context(
    query: QueryArgument,
    *,
    max_tokens: Annotated[
        int, typer.Option(min=1, help="The most tokens that the context may have.")
    ],
    store: StoreOption = DEFAULT_STORE,
    counter: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Model or encoding whose tokens count; by default an estimate.",
        ),
    ] = None,
    style: Annotated[
        StyleChoice, typer.Option(help="How the context is written.")
    ] = StyleChoice.NUMBERED,
    as_json: JsonOption = False,
) -> None:
    """Print what answers the query, within a budget of tokens."""
    with _exit_codes(), closing(named.readable(store)) as opened:
        tokens = named.counter_named(counter)
        renderer = ctxfetch.ContextRenderer(style=style.value)
        compressor = ctxfetch.ContentPolicyCompressor(
            store=opened, max_tokens=max_tokens, token_counter=tokens, renderer=renderer
        )
        retriever = ctxfetch.HybridRetriever.from_store(
            opened, fusion="weighted", content="passages"
        )
        # Many documents in a small budget would bring a few words each.
        most = max(FEWEST, min(retriever.k, max_tokens // ROOM))
        found = retriever.get_page(query, k=most)
        terminal.print_gaps(found.gaps)
        if not found.documents:
            terminal.print_note("nothing found")
            raise typer.Exit(NOTHING_FOUND)
        made = compressor.compress(found.documents, query)
        if not made.documents:
            _fail(f"{max_tokens} tokens have no room for any document", BUDGET)
        text = renderer.render(made.documents)
        used = tokens.count(text)
        if as_json:
            documents = [terminal.document_dict(held) for held in made.documents]
            terminal.print_json(
                **terminal.fields_of(made) | {"documents": documents},
                context=text,
                tokens=used,
                max_tokens=max_tokens,
            )
        else:
            terminal.print_text(text)
            _print_rows(found, made.rows)
            terminal.print_note(f"{used} of {max_tokens} tokens")


# --- Results ---


def _print_page(store: SearchStore, query: str, page: Page[Document]) -> None:
    """Print place, score, title, source, ranks and best passage of each document."""
    first = (page.page - 1) * page.k + 1
    excerpts = _excerpts(store, query, page.documents)
    for place, (document, excerpt) in enumerate(
        zip(page.documents, excerpts, strict=True), start=first
    ):
        added = document.metadata["ctxfetch"]
        source = document.metadata.get("source", document.id)
        title = document.metadata.get("title", source)
        terminal.print_text(
            f"{place}. {terminal.one_line(title)}  [{added['score']:.3f}]"
        )
        terminal.print_text(
            f"    {terminal.one_line(source)}  ({terminal.ranks(added['channels'])})"
        )
        terminal.print_passage(excerpt)
    if page.has_more:
        terminal.print_note(f"page {page.page}; more with --page {page.page + 1}")
    elif page.documents:
        terminal.print_note(f"page {page.page}; the last one ({page.end})")


def _print_rows(page: Page[Document], rows: Iterable[Row]) -> None:
    """Print what became of each document of the page."""
    added = {held.id: held.metadata["ctxfetch"] for held in page.documents}
    terminal.print_table(
        ("place", "document", "found by", "strategy", "tokens"),
        (
            (
                row.place,
                row.id,
                terminal.ranks(added[row.id]["channels"]),
                row.strategy,
                row.tokens,
            )
            for row in rows
        ),
    )


def _excerpts(
    store: SearchStore, query: str, documents: Sequence[Document]
) -> Iterator[str]:
    """Quote from each document what answers the query, else its beginning."""
    ids = [str(document.id) for document in documents]
    outcomes = store.highlight(ids, query, room=EXCERPT)
    for document, outcome in zip(documents, outcomes, strict=True):
        found = outcome.value if isinstance(outcome, Ok) else None
        passages = found.passages if found else ()
        quoted = " … ".join(passage.text or "" for passage in passages)
        yield quoted or cut(document.page_content, EXCERPT)


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Say what went wrong in one sentence, and end with the code for it."""
    log, handler = logging.getLogger("langchain_ctxfetch"), terminal.NoteHandler()
    log.addHandler(handler)
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    except ValidationError as error:
        _fail(str(error.errors()[0]["msg"]).removeprefix("Value error, "), USAGE)
    except BudgetError as error:
        _fail(str(error), BUDGET)
    except StoreError as error:
        _fail(str(error), STORE)
    except CtxFetchError as error:
        _fail(str(error), USAGE)
    finally:
        log.removeHandler(handler)


def _fail(message: str, code: int) -> NoReturn:
    terminal.print_note(f"ctxfetch: {message}", style="red")
    raise typer.Exit(code)
