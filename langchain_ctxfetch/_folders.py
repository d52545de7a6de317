"""Finds the files below a folder that are worth reading, and says what it left out."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from langchain_ctxfetch._core.facts import moment_text
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch.errors import MissingExtraError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

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
class ReadText:
    """Be what a file says.

    Attributes:
        text: Its text, without a byte order mark.
        digest: The SHA-256 of its bytes, in hexadecimal.
    """

    text: str
    digest: str


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """Be a path that was passed over; that of a folder ends with a separator.

    Attributes:
        path: Its absolute path.
        reason: Why it was passed over.
    """

    path: str
    reason: SkipReason


MOST_RULES = 1_000_000
"""How much of a `.gitignore` file is read, in bytes."""

_Rules: TypeAlias = "tuple[tuple[str, GitIgnoreSpec], ...]"
"""What `.gitignore` files say: folder and patterns, the outermost first."""


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
    waiting = [(given, _rules_above(given))]
    while waiting:
        folder, rules = waiting.pop()
        entries = _entries(folder)
        if isinstance(entries, SkippedPath):
            yield entries
            continue
        rules = _with_rules_of(folder, rules)
        for entry in (found for found in entries if found.path not in own):
            reason = _passed_over(entry, rules)
            is_folder = entry.is_dir(follow_symlinks=False)
            if reason:
                yield SkippedPath(entry.path + os.sep * is_folder, reason)
            elif is_folder:
                waiting.append((entry.path, rules))
            else:
                yield _examined(entry.path, max_bytes)


def read_text(path: str, max_bytes: int) -> ReadText | SkipReason:
    """Return what a file says in UTF-8, or why it says nothing that can be had."""
    try:
        with Path(path).open("rb") as file:
            # The file may have grown since it was found.
            data = file.read(max_bytes + 1)
    except (FileNotFoundError, NotADirectoryError):
        return "vanished"
    except OSError:
        return "unreadable"
    if len(data) > max_bytes:
        return "too large"
    if b"\0" in data:
        return "binary"
    try:
        # Without a byte order mark.
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "not UTF-8"
    return ReadText(text, hashlib.sha256(data).hexdigest()) if text.strip() else "blank"


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


def _passed_over(entry: os.DirEntry[str], rules: _Rules) -> SkipReason | None:
    """Say why an entry is passed over without a look inside, if it is."""
    if entry.name.startswith("."):
        return "hidden"
    # Links may lead in circles, or out of the folder that was given.
    if entry.is_symlink():
        return "link"
    if _is_ignored(entry.path, rules, is_folder=entry.is_dir(follow_symlinks=False)):
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


def _is_ignored(path: str, rules: _Rules, *, is_folder: bool) -> bool:
    """Ask the `.gitignore` files, the innermost first: the first that knows decides."""
    for folder, spec in reversed(rules):
        inner = path.removeprefix(folder).lstrip(os.sep).replace(os.sep, "/")
        decision = spec.check_file(inner + "/" * is_folder).include
        if decision is not None:
            return bool(decision)
    return False


def _rules_above(given: str) -> _Rules:
    """Return the rules of the repository that a folder lies in, from its root down.

    A folder that these rules themselves leave out, but that was asked for by name,
    is read by its own rules alone.
    """
    line = [Path(given), *Path(given).parents]
    root = next((at for at, folder in enumerate(line) if _is_root(folder)), 0)
    rules: _Rules = ()
    for folder in reversed(line[1 : root + 1]):
        rules = _with_rules_of(str(folder), rules)
    return () if _is_ignored(given, rules, is_folder=True) else rules


def _is_root(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _with_rules_of(folder: str, rules: _Rules) -> _Rules:
    """Add what the `.gitignore` file of a folder says, where there is one."""
    path = Path(folder, ".gitignore")
    try:
        # A pipe would block, and a device never end.
        if not stat.S_ISREG(path.lstat().st_mode):
            return rules
        with path.open("rb") as file:
            data = file.read(MOST_RULES)
    except OSError:
        return rules
    # As git does, byte for byte: one odd byte must not void the other lines.
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    return (*rules, (folder, _spec(text.splitlines())))


def _spec(lines: list[str]) -> GitIgnoreSpec:
    """Compile patterns; a line that is none is passed over, as git does."""
    spec_class = _spec_class()
    specs = []
    for line in lines:
        try:
            specs.append(spec_class.from_lines([line]))
        except (ValueError, re.error):
            continue
    return spec_class([pattern for spec in specs for pattern in spec.patterns])


def _spec_class() -> type[GitIgnoreSpec]:
    try:
        found: type[GitIgnoreSpec] = import_module("pathspec").GitIgnoreSpec
    except ImportError as error:
        raise MissingExtraError("cli", "reading `.gitignore` files") from error
    return found
