"""What the commands of `ctxfetch` can be given; several share most of it."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

from langchain_ctxfetch._core.ranked import FusionName
from langchain_ctxfetch._core.rendering import Style

DEFAULT_STORE = ".ctxfetch.db"

StoreOption: TypeAlias = Annotated[
    str,
    typer.Option(
        "--store", envvar="CTXFETCH_STORE", metavar="FILE", help="Where the index is."
    ),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON, for other programs.")
]

# --- index ---

EmbeddingOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--embedding",
        metavar="none|local|openai:NAME",
        help="Whether to search by meaning too; by default as the store was made.",
    ),
]
MetadataOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--metadata",
        metavar="JSON",
        help="What every document is given to be filtered by; without it nothing.",
    ),
]

# --- search and context ---

QueryArgument: TypeAlias = Annotated[
    str, typer.Argument(metavar="Q", help="What to look for.")
]
PageOption: TypeAlias = Annotated[
    int, typer.Option("--page", help="Which page, from 1.")
]
SizeOption: TypeAlias = Annotated[
    int | None, typer.Option("-k", "--k", metavar="N", help="Documents on a page.")
]
WindowOption: TypeAlias = Annotated[
    int,
    typer.Option(
        "--max-window", min=2, help="How many places of the ranking pages go through."
    ),
]
FusionOption: TypeAlias = Annotated[
    FusionName,
    typer.Option("--fusion", help="How keyword and vector become one ranking."),
]
FilterOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--filter", metavar="JSON", help="What the metadata must match."),
]

# --- context ---

BudgetOption: TypeAlias = Annotated[
    int,
    typer.Option("--max-tokens", min=1, help="The most tokens that the context has."),
]
CounterOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--counter",
        metavar="NAME",
        help="Model or encoding whose tokens count; by default an estimate.",
    ),
]
StyleOption: TypeAlias = Annotated[
    Style, typer.Option("--style", help="How the context is written.")
]
