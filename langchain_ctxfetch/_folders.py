"""Finds the files below a folder that are worth reading, and says what it left out."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, TypeAlias

from langchain_ctxfetch._core.facts import moment_text
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._ignoring import Rules, rules_above

PathLike: TypeAlias = "str | os.PathLike[str]"

SkipReason: TypeAlias = Literal[
    "hidden",
    "ignored",
    "link",
    "no regular file",
    "too large",
    "binary",
    "not UTF-8",
    "blank",
    "unreadable",
    "vanished",
    "damaged",
    "encrypted",
    "took too long",
    "needs the extra cli",
    "needs the extra docx",
    "needs the extra pdf",
    "pattern refused",
]
"""Why a path was not indexed."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """Be a file that may be read.

    Attributes:
        path: Its absolute path.
        size: Its length in bytes.
        modified: When it was changed last, as text in UTC.
    """

    path: str
    size: int
    modified: str


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """Be a path that was passed over; that of a folder ends with a separator.

    Attributes:
        path: Its absolute path.
        reason: Why it was passed over.
    """

    path: str
    reason: SkipReason


def walk(
    given: str, *, max_bytes: int, own: frozenset[str] = frozenset()
) -> Iterator[FoundFile | SkippedPath]:
    """Run through the files at or below a path, in a fixed order.

    Hidden names, links, what is no regular file, and what `.gitignore` files name
    are passed over, but *given* itself is taken whatever it is called.

    Args:
        given: The absolute path of a file or a folder.
        max_bytes: The largest file that is read.
        own: Files that the store itself writes: no content, and not mentioned.

    Yields:
        FoundFile | SkippedPath: A file that may be read, or one that may not.
    """
    if not Path(given).is_dir():
        yield _examined(given, max_bytes)
        return
    above = rules_above(given)
    yield from _refused(above)
    waiting = [(given, above)]
    while waiting:
        folder, rules = waiting.pop()
        entries = _entries(folder)
        if isinstance(entries, SkippedPath):
            yield entries
            continue
        rules = replace(rules, refused=()).within(folder)
        yield from _refused(rules)
        for entry in (found for found in entries if found.path not in own):
            reason = _passed_over(entry, rules)
            is_folder = entry.is_dir(follow_symlinks=False)
            if reason:
                yield SkippedPath(entry.path + os.sep * is_folder, reason)
            elif is_folder:
                waiting.append((entry.path, rules))
            else:
                yield _examined(entry.path, max_bytes)


def _refused(rules: Rules) -> Iterator[SkippedPath]:
    for line in rules.refused:
        yield SkippedPath(line, "pattern refused")


def read_bytes(path: str, max_bytes: int) -> bytes | SkipReason:
    """Return what is in a file, or why it cannot be had."""
    try:
        with Path(path).open("rb") as file:
            # The file may have grown since it was found.
            data = file.read(max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        return "vanished"
    except OSError:
        return "unreadable"
    return data if len(data) <= max_bytes else "too large"


def absolute(path: PathLike) -> str:
    """Return the absolute path without dots; links stay as they are written."""
    return os.path.abspath(path)  # noqa: PTH100 - resolving would follow links


def is_within(path: str, folder: str) -> bool:
    """Say whether an absolute path is a folder's own, or lies below it.

    >>> is_within("/a/b/c", "/a/b"), is_within("/a/bc", "/a/b")
    (True, False)
    """
    folder = folder.rstrip(os.sep)
    return path == folder or path.startswith(folder + os.sep)


def id_of(root: str, path: str) -> str:
    """Return the path relative to a folder, or as it is where it lies elsewhere.

    >>> id_of("/a", "/a/b/c.md"), id_of("/a", "/x.md")
    ('b/c.md', '/x.md')
    """
    inside = os.path.relpath(path, root) if is_within(path, root) else path
    return clean(Path(inside).as_posix())


def has_text_name(path: str) -> bool:
    r"""Say whether the name of a file is text; on some systems it may be any bytes.

    >>> has_text_name("/a/b.md"), has_text_name("/a/\udcff.md")
    (True, False)
    """
    return path.isascii() or not any("\ud800" <= sign <= "\udfff" for sign in path)


def path_of(root: str, name: str) -> str:
    """Return the path that `id_of` has made a name of.

    >>> path_of("/a", "b/c.md"), path_of("/a", "/x.md")
    ('/a/b/c.md', '/x.md')
    """
    return str(Path(root) / name)  # an absolute path stays as it is


def _entries(folder: str) -> list[os.DirEntry[str]] | SkippedPath:
    try:
        # An entry knows what it is without another call, and without a permission.
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return SkippedPath(folder + os.sep, "vanished")
    except OSError:
        return SkippedPath(folder + os.sep, "unreadable")


def _passed_over(entry: os.DirEntry[str], rules: Rules) -> SkipReason | None:
    """Say why an entry is passed over without a look inside, if it is."""
    if entry.name.startswith("."):
        return "hidden"
    # Links may lead in circles, or out of the folder that was given.
    if entry.is_symlink():
        return "link"
    if rules.leave_out(entry.path, is_folder=entry.is_dir(follow_symlinks=False)):
        return "ignored"
    return None


def _examined(path: str, max_bytes: int) -> FoundFile | SkippedPath:
    try:
        found = Path(path).stat()
    except (FileNotFoundError, NotADirectoryError):
        return SkippedPath(path, "vanished")
    except OSError:
        return SkippedPath(path, "unreadable")
    # A pipe would be waited for, for ever.
    if not stat.S_ISREG(found.st_mode):
        return SkippedPath(path, "no regular file")
    if found.st_size > max_bytes:
        return SkippedPath(path, "too large")
    return FoundFile(path, found.st_size, _moment(found.st_mtime_ns))


def _moment(nanoseconds: int) -> str:
    """Write the time of a change as text; the epoch where no date can say it."""
    epoch = datetime.fromtimestamp(0, UTC)
    try:
        return moment_text(epoch + timedelta(microseconds=nanoseconds // 1000))
    except OverflowError:
        return moment_text(epoch)
