"""The document that a file becomes, and what a store knows of earlier ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from langchain_ctxfetch._bridge import METADATA_KEY
from langchain_ctxfetch._core.hits import Hit, told
from langchain_ctxfetch._core.text import clean, cut
from langchain_ctxfetch._folders import FoundFile
from langchain_ctxfetch._formats import Format
from langchain_ctxfetch._reading import ReadText
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import WritableStore
from langchain_ctxfetch.stores._preparing import prepared_document

GivenMetadata: TypeAlias = "Mapping[str, Any] | Callable[[Path], Mapping[str, Any]]"
"""What a user adds to the documents of a folder: to all the same, or by the path."""

_ALWAYS = ("source", "title", "format", "modified", "bytes", "digest", "base")
OWN_KEYS = (*_ALWAYS, "reader", "pages")
"""The metadata keys that say what is known of a file; a user's come after them."""

MAX_TITLE = 300
"""The longest title, in characters: it is indexed with every passage."""


class KnownFile(NamedTuple):
    """Be what a store has of a file, without its text.

    Attributes:
        given: What a user has added, as `MetadataReader.of` writes it.
        size: The length of the file in bytes.
        modified: When the file was changed last.
        digest: The SHA-256 of its bytes.
        base: The folder that the id is relative to.
        reader: Which version of the reader of its format has read it.
    """

    given: str
    size: object
    modified: object
    digest: object
    base: object
    reader: object

    def is_like(self, file: FoundFile) -> bool:
        """Say whether a file has the size and the time of the one that was read."""
        return (self.size, self.modified) == (file.size, file.modified)


class MetadataReader:
    """Say what a user adds to the document of each file.

    Args:
        given: A mapping, a function from the path of a file to one, or None.

    Raises:
        ConfigurationError: If *given* is something else, or cannot be stored.
    """

    def __init__(self, given: GivenMetadata | None) -> None:
        self._ask = given if callable(given) else None
        # A mapping is the same for all files, and refused before any is read.
        self._same = "" if self._ask else _written({} if given is None else given)

    def of(self, path: str) -> str:
        """Return what is added for a file, as JSON: equal where it is equal."""
        if self._ask is None:
            return self._same
        try:
            given = self._ask(Path(path))
        except Exception as error:
            raise ConfigurationError(
                f"`metadata` failed for the file {path!r}: {told(error)}"
            ) from error
        return _written(given)


def _written(given: object) -> str:
    """Write metadata as a store would keep it, without what others decide."""
    if not isinstance(given, Mapping):
        raise ConfigurationError(
            "`metadata` must be a mapping, or a function from a path to one, not"
            f" {given!r:.100}"
        )
    return _as_text(json.loads(prepared_document(Hit("", "", given)).metadata))


def _as_text(metadata: Mapping[str, Any]) -> str:
    """Write what is in a store's metadata besides what the folder says, in order."""
    kept = {
        key: held
        for key, held in metadata.items()
        if key not in OWN_KEYS and key != METADATA_KEY
    }
    return json.dumps(kept, sort_keys=True, default=str)


def file_document(
    name: str,
    file: FoundFile,
    read: ReadText,
    *,
    read_as: Format,
    base: str,
    given: str,
) -> Hit:
    """Make the document of a file.

    Args:
        name: Its id.
        file: The file.
        read: What it says.
        read_as: Its format.
        base: The folder that the id is relative to; blank for an absolute one.
        given: What a user adds, as `MetadataReader.of` writes it.

    Returns:
        The document with its text and metadata.
    """
    text, title, pages = read.said
    title = " ".join(clean(title).split()) if title else ""
    own = {
        "source": name,
        "title": cut(title or clean(Path(file.path).name), MAX_TITLE),
        "format": read_as.name,
        "modified": file.modified,
        "bytes": file.size,
        "digest": read.digest,
        "base": base,
        "reader": read_as.reader,
        "pages": pages,
    }
    own = {key: held for key, held in own.items() if held is not None}
    return Hit(name, text, json.loads(given) | own, length=len(text))


def known_files(
    store: WritableStore, wanted: Callable[[str], bool]
) -> Iterator[tuple[str, KnownFile]]:
    """Run through the documents that earlier runs wrote, without their text."""
    keys = ("bytes", "modified", "digest", "base", "reader")
    for name, metadata in store.records(filter={"digest": {"$exists": True}}):
        # Others may have written documents of their own into the same store.
        if metadata.get("source") == name and wanted(name):
            yield name, KnownFile(_as_text(metadata), *map(metadata.get, keys))
