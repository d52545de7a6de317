"""Where the files of a run lie: the paths asked for, and the folder of their ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._folders import PathLike, absolute, is_within, path_of
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import WritableStore


def check_store(store: object) -> None:
    """Refuse what cannot be written to, a path given in its place above all."""
    if isinstance(store, WritableStore):
        return
    if isinstance(store, str | os.PathLike):
        raise ConfigurationError(
            f"`store` must be a store, not the path {os.fspath(store)!r}: the store"
            " comes first, then the paths"
        )
    raise ConfigurationError(
        f"`store` must be a `WritableStore`, not {type(store).__name__}"
    )


def given_paths(paths: PathLike | Sequence[PathLike]) -> list[str]:
    """Return the absolute paths that were asked for, each of which must exist."""
    listed: Iterable[Any] = paths if isinstance(paths, Iterable) else [paths]
    if isinstance(paths, str | bytes | os.PathLike):
        listed = [paths]
    given = []
    for path in listed:
        if not isinstance(path, str | os.PathLike):
            raise ConfigurationError(
                f"`paths` must name files and folders, not {path!r:.100}"
            )
        given.append(absolute(path))
    if not given:
        raise ConfigurationError("`paths` must name at least one file or folder")
    for path in given:
        if not Path(path).exists():
            raise ConfigurationError(f"`paths`: there is no file or folder {path!r}")
    return given


def root_of(given: Sequence[str], base: PathLike | None) -> str:
    """Return the folder that ids are relative to."""
    if base is not None:
        return absolute(base)
    if len(given) > 1:
        raise ConfigurationError(
            "`base` must name the folder that ids are relative to, since `paths`"
            " names several"
        )
    only = Path(given[0])
    return str(only if only.is_dir() else only.parent)


def is_below(root: str, given: Sequence[str], name: str) -> bool:
    """Say whether the file of a document lies below one of the paths."""
    path = path_of(root, name)
    return any(is_within(path, folder) for folder in given)


def own_files(store: WritableStore) -> frozenset[str]:
    """Return the files that the store itself writes, where it has any."""
    own = _store_file(store)
    suffixes = ("", "-wal", "-shm", "-journal") if own else ()
    return frozenset(f"{own}{suffix}" for suffix in suffixes)


def base_text(store: WritableStore, root: str) -> str:
    """Name the folder of the ids, from the store's own where that is a file.

    So both can be moved together, and the store says nothing of what lies above.
    """
    own = _store_file(store)
    return clean(Path(os.path.relpath(root, own.parent) if own else root).as_posix())


def _store_file(store: WritableStore) -> Path | None:
    path = getattr(store, "path", None)
    if not isinstance(path, str | os.PathLike) or str(path) == ":memory:":
        return None
    return Path(absolute(path))
