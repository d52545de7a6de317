"""What the words of the command line stand for: indexes, models, counters, filters."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import langchain_ctxfetch as ctxfetch
from langchain_ctxfetch import _terminal as terminal
from langchain_ctxfetch.errors import (
    ConfigurationError,
    CtxFetchError,
    MissingExtraError,
    StoreError,
)

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings

    from langchain_ctxfetch import SQLiteStore, TokenCounter
    from langchain_ctxfetch.stores._opening import Recorded

OPENAI = "openai:"
LOCAL = "LocalEmbeddings:"
BUSY_TIMEOUT_S = 30.0


def writable(path: str, embedding: str | None) -> SQLiteStore:
    """Open the index to write it, or make one."""
    _refuse_no_file(path)
    known = _recorded(path)
    made_with = (known.embedding_id if known else None) or "none"
    wanted = embedding or made_with
    if embedding is None and not _is_ours(made_with):
        raise ConfigurationError(
            f"the vectors of {path!r} come from {made_with!r}, which this command does"
            " not have; index it where it was made, or give another `--store`"
        )
    if wanted == "none" != made_with:
        raise ConfigurationError(
            f"{path!r} has vectors of {made_with!r}, so `--embedding none` would leave"
            " new documents without; give another `--store`"
        )
    return ctxfetch.SQLiteStore(
        path,
        embedding=_embedding(wanted),
        embedding_id=_recorded_as(wanted),
        language=known.language if known else "en",
    )


def readable(path: str) -> SQLiteStore:
    """Open the index to read it; by keyword alone where its model cannot be had."""
    _refuse_no_file(path)
    if not Path(path).exists():
        raise StoreError(
            f"there is no index {path!r}; make one with: ctxfetch index PATH"
        )
    known = _recorded(path)
    made_with = (known.embedding_id if known else None) or "none"
    embedding = None
    try:
        embedding = _embedding(made_with)
    except CtxFetchError as error:
        terminal.print_note(
            f"warning: searching by keyword alone, without {made_with!r}: {error}",
            style="yellow",
        )
    return ctxfetch.SQLiteStore(
        path,
        embedding=embedding,
        embedding_id=_recorded_as(made_with) if embedding else None,
        read_only=True,
        language=known.language if known else "en",
    )


def _recorded(path: str) -> Recorded | None:
    """Return what an index says of itself; None where there is none, or no index."""
    if not os.path.isfile(path):  # noqa: PTH113 - Path raises on a name too long
        return None
    # Here, not above: help and version need no store.
    from langchain_ctxfetch.stores._connections import Connections  # noqa: PLC0415
    from langchain_ctxfetch.stores._opening import read_record  # noqa: PLC0415

    connections = Connections(path, read_only=True, busy_timeout_s=BUSY_TIMEOUT_S)
    try:
        with closing(connections), connections.reading() as connection:
            return read_record(connection)
    except StoreError:
        # Opening it says what is wrong.
        return None


def _is_ours(embedding: str) -> bool:
    return embedding == "none" or embedding.startswith((OPENAI, LOCAL))


def _refuse_no_file(store: str) -> None:
    if Path(store).is_dir():
        raise ConfigurationError(
            f"`--store` must be the path of a file, but {store!r} is a folder"
        )
    if store.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"`--store` must be the path of a file, not {store!r}: Elasticsearch is not"
            " part of this version"
        )


def _recorded_as(name: str) -> str | None:
    """Return what a file records of a model; None where the store knows it itself."""
    return name if name.startswith(OPENAI) else None


def _embedding(name: str) -> Embeddings | None:
    """Return the embedding that a name stands for."""
    if name == "none":
        return None
    if name.startswith(OPENAI) and name != OPENAI:
        return _openai(name.removeprefix(OPENAI))
    # Here, not above: it needs numpy, and nobody else here does.
    from langchain_ctxfetch.embeddings import local_named  # noqa: PLC0415

    if local := local_named(name):
        return local
    raise ConfigurationError(
        f"`--embedding` must be 'none', 'local' or 'openai:NAME', not {name!r}"
    )


def _openai(model: str) -> Embeddings:
    try:
        provider = import_module("langchain_openai")
    except ImportError as error:
        raise MissingExtraError("openai", f"the embedding {model!r}") from error
    try:
        made: Embeddings = provider.OpenAIEmbeddings(model=model)
    except Exception as error:  # its own error where there is no key
        raise ConfigurationError(f"`--embedding {OPENAI}{model}`: {error}") from error
    return made


def counter_named(name: str | None) -> TokenCounter:
    """Return the counter of a model or encoding; by default one that estimates."""
    return ctxfetch.token_counter_for(name or None)


def object_written(option: str, written: str | None) -> Mapping[str, Any] | None:
    """Read an option that is written as a JSON object."""
    if written is None:
        return None
    try:
        held = json.loads(written)
        # Python reads NaN and 1e999, which JSON does not have.
        json.dumps(held, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"`{option}` must be JSON: {error}") from error
    if not isinstance(held, dict):
        raise ConfigurationError(f"`{option}` must be a JSON object, not {written!r}")
    return held
