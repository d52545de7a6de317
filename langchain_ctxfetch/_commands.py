"""The commands of `ctxfetch`."""

from __future__ import annotations

from contextlib import closing
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import langchain_ctxfetch as ctxfetch
from langchain_ctxfetch import (
    _compact_command as compact_command,
    _named as named,
    _options as options,
    _results as results,
    _terminal as terminal,
)
from langchain_ctxfetch._program import NOTHING_FOUND, STORE, Program
from langchain_ctxfetch.errors import BudgetError

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from langchain_ctxfetch import (
        ContextRenderer,
        HybridRetriever,
        SearchStore,
        TokenCounter,
    )
    from langchain_ctxfetch._core.ranked import FusionName
    from langchain_ctxfetch.ports import Where

ROOM, FEWEST, MOST = 150, 3, 10
"""Tokens that each document of a context should have, and how many come anyway."""

WINDOW = 100
"""How many places of a ranking pages go through."""

app = typer.Typer(
    name="ctxfetch",
    cls=Program,
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
    store: options.StoreOption = options.DEFAULT_STORE,
    embedding: options.EmbeddingOption = None,
    metadata: options.MetadataOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Bring the index in step with the text files below the paths.

    Only what changed is written; documents whose file is gone are removed, but only
    below the paths. Hidden files and what `.gitignore` names are passed over. A run
    that is stopped keeps what it has written, and the next one does the rest.
    """
    given = named.object_written("--metadata", metadata)
    with closing(named.writable(store, embedding)) as opened:
        with terminal.progress_bar() as show:
            # Ids are relative to where the index is: the same from any folder.
            base = Path(store).absolute().parent
            report = ctxfetch.sync_folder(
                opened, paths, base=base, metadata=given, progress=show
            )
        held = len(opened)
    if as_json:
        terminal.print_json(**terminal.fields_of(report), documents=held)
    else:
        counted = "1 document" if held == 1 else f"{held} documents"
        terminal.print_text(f"{report}; {counted} in {store}")
        terminal.print_skipped(report.skipped)
    if not report.added + report.updated + report.unchanged + len(report.failed):
        below = ", ".join(map(str, paths))
        terminal.print_note(f"no text file found under {below}")
    for name, reason in report.failed.items():
        terminal.print_note(f"failed: {name}: {reason}", style="red")
    if report.failed:
        raise typer.Exit(STORE)
    if not held:
        raise typer.Exit(NOTHING_FOUND)


@app.command()
def search(
    query: options.QueryArgument,
    *,
    store: options.StoreOption = options.DEFAULT_STORE,
    page: options.PageOption = 1,
    k: options.SizeOption = 10,
    max_window: options.WindowOption = WINDOW,
    fusion: options.FusionOption = "weighted",
    where: options.FilterOption = None,
    as_json: options.JsonOption = False,
) -> None:
    """Show one page of what is found, best first."""
    matching = named.object_written("--filter", where)
    with closing(named.readable(store)) as opened:
        retriever = _retriever(opened, fusion, matching, max_window)
        found = retriever.get_page(query, page=page, k=k)
        if as_json:
            documents = [terminal.document_dict(held) for held in found.documents]
            terminal.print_json(**terminal.fields_of(found) | {"documents": documents})
        else:
            results.print_page(opened, query, found, where=matching)
            results.print_end(found)
        terminal.print_gaps(found.gaps)
        if not found.documents:
            results.end_without_documents(retriever, query, found)


@app.command()
def context(
    query: options.QueryArgument,
    *,
    max_tokens: options.BudgetOption,
    store: options.StoreOption = options.DEFAULT_STORE,
    page: options.PageOption = 1,
    k: options.SizeOption = None,
    max_window: options.WindowOption = WINDOW,
    fusion: options.FusionOption = "weighted",
    where: options.FilterOption = None,
    counter: options.CounterOption = None,
    style: options.StyleOption = "numbered",
    as_json: options.JsonOption = False,
) -> None:
    """Print what answers the query, within a budget of tokens.

    Without `-k` it is made of 3 to 10 documents, one for each 150 tokens.
    """
    matching = named.object_written("--filter", where)
    if k is None:
        # Many documents in a small budget would bring a few words each.
        k = max(FEWEST, min(MOST, max_tokens // ROOM))
    with closing(named.readable(store)) as opened:
        tokens = named.counter_named(counter)
        renderer = ctxfetch.ContextRenderer(style=style)
        compressor = ctxfetch.ContentPolicyCompressor(
            store=opened,
            filter=matching,
            max_tokens=max_tokens,
            token_counter=tokens,
            renderer=renderer,
        )
        retriever = _retriever(opened, fusion, matching, max_window)
        found = retriever.get_page(query, page=page, k=k)
        terminal.print_gaps(found.gaps)
        made = compressor.compress(found.documents, query)
        if found.documents and not made.documents:
            raise _no_room(max_tokens, found.documents[0], renderer, tokens)
        text = renderer.render(made.documents) if made.documents else ""
        used = tokens.count(text)
        if as_json:
            documents = [terminal.document_dict(held) for held in made.documents]
            told = {"documents": documents, "gaps": found.gaps + made.gaps}
            terminal.print_json(
                **terminal.fields_of(made) | told,
                context=text,
                tokens=used,
                max_tokens=max_tokens,
            )
        elif text:
            terminal.print_text(text)
            results.print_rows(found, made.rows)
            terminal.print_note(f"{used} of {max_tokens} tokens")
        if not found.documents:
            results.end_without_documents(retriever, query, found)


def _retriever(
    store: SearchStore, fusion: FusionName, where: Where | None, max_window: int
) -> HybridRetriever:
    return ctxfetch.HybridRetriever.from_store(
        store, fusion=fusion, filter=where, max_window=max_window, content="passages"
    )


def _no_room(
    limit: int, first: Document, renderer: ContextRenderer, tokens: TokenCounter
) -> BudgetError:
    """Say that not even the source line of the best document has room."""
    bare = first.model_copy(update={"page_content": ""})
    needed = tokens.count(renderer.render([bare]))
    return BudgetError(
        f"`--max-tokens` {limit} has no room for any document: the source line of the"
        f" first takes {needed} without any text",
        limit=limit,
        needed=needed,
    )


app.command()(compact_command.compact)
