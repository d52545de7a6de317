"""What `ctxfetch` shows of a page and of a context."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NoReturn

import typer

from langchain_ctxfetch import _terminal as terminal
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch._core.text import cut
from langchain_ctxfetch._program import NOTHING_FOUND

if TYPE_CHECKING:
    from langchain_core.documents import Document

    from langchain_ctxfetch import HybridRetriever, Page, SearchStore
    from langchain_ctxfetch.compressors import Row
    from langchain_ctxfetch.ports import Where

EXCERPT = 220
"""How much of a document `search` quotes, in characters: about three lines."""


def print_page(
    store: SearchStore, query: str, page: Page[Document], *, where: Where | None
) -> None:
    """Print place, title, source, ranks and best passages of each document."""
    first = (page.page - 1) * page.k + 1
    excerpts = _excerpts(store, query, page.documents, where)
    for place, (document, excerpt) in enumerate(
        zip(page.documents, excerpts, strict=True), start=first
    ):
        source = document.metadata.get("source", document.id)
        title = document.metadata.get("title", source)
        # Fused scores compare within one ranking alone, and the best may be below 0.
        ranks = terminal.ranks(document.metadata["ctxfetch"]["channels"])
        terminal.print_text(f"{place}. {terminal.one_line(title)}")
        terminal.print_text(f"    {terminal.one_line(source)}  ({ranks})")
        terminal.print_passage(excerpt)


def print_end(page: Page[Document]) -> None:
    """Say whether more follows, and how to come there."""
    if page.has_more:
        terminal.print_note(f"page {page.page}; more with --page {page.page + 1}")
    elif page.documents:
        further = "; further with a greater --max-window" * (page.end == "limit")
        terminal.print_note(f"page {page.page}; the last one ({page.end}){further}")


def end_without_documents(
    retriever: HybridRetriever, query: str, page: Page[Document]
) -> NoReturn:
    """Say why a page is empty, and end with the code for that."""
    pages = bisect_left(
        range(1, page.page),
        True,  # noqa: FBT003 - what is looked for
        key=lambda number: (
            not retriever.get_page(query, page=number, k=page.k).documents
        ),
    )
    if pages:
        counted = "is 1 page" if pages == 1 else f"are {pages} pages"
        note = f"nothing found: page {page.page} is past the last one, there {counted}"
    else:
        note = "nothing found"
    terminal.print_note(note)
    raise typer.Exit(NOTHING_FOUND)


def print_rows(page: Page[Document], rows: Iterable[Row]) -> None:
    """Print what became of each document of the page."""
    added = {held.id: held.metadata["ctxfetch"] for held in page.documents}
    terminal.print_table(
        ("place", "document", "found by", "strategy", "body tokens"),
        (
            (
                row.place,
                row.id,
                terminal.ranks(added[row.id]["channels"]),
                _strategy(row),
                row.tokens,
            )
            for row in rows
        ),
    )


def _strategy(row: Row) -> str:
    """Name what became of a document; one without any text is not quoted."""
    quoted = row.after or row.strategy in {"missing", "dropped"}
    return row.strategy if quoted else "source line only"


def _excerpts(
    store: SearchStore,
    query: str,
    documents: Sequence[Document],
    where: Where | None,
) -> Iterator[str]:
    """Quote from each document what answers the query, else its beginning."""
    ids = [str(document.id) for document in documents]
    outcomes = store.highlight(ids, query, filter=where, room=EXCERPT)
    for document, outcome in zip(documents, outcomes, strict=True):
        found = outcome.value if isinstance(outcome, Ok) else None
        passages = found.passages if found else ()
        quoted = " … ".join(passage.text or "" for passage in passages)
        yield quoted or cut(document.page_content, EXCERPT)
