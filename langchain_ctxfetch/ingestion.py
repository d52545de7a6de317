"""Keeps a store in step with the text files of a folder."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeAlias

from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.numbers import whole_from
from langchain_ctxfetch._filedocs import (
    GivenMetadata,
    MetadataReader,
    file_document,
    known_files,
)
from langchain_ctxfetch._folders import (
    FoundFile,
    PathLike,
    SkippedPath,
    SkipReason,
    has_text_name,
    id_of,
    is_within,
    path_of,
    walk,
)
from langchain_ctxfetch._formats import Format, format_of
from langchain_ctxfetch._places import (
    base_text,
    check_store,
    given_paths,
    is_below,
    own_files,
    root_of,
)
from langchain_ctxfetch._reading import Outcome, Reading, Wanted
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import ConfigurationError, IngestionError
from langchain_ctxfetch.ports import WritableStore

MAX_BYTES = 20_000_000
"""The largest file that is read by default, in bytes."""

BATCH_CHARACTERS = 4_000_000
"""A batch is written when it holds this much text, so that memory stays flat."""

_FOR_NOW = ("unreadable", "took too long", "needs the extra ")
"""How reasons begin that say nothing of the file: its document stays as it is."""

Progress: TypeAlias = Callable[[int, int, str], None]
"""Is told how many files are done, how many there are, and the id of the last."""


@dataclass(frozen=True, repr=False)
class SyncReport:
    """Say what a run of `sync_folder` did.

    Attributes:
        added: How many documents are new in the store.
        updated: How many documents were written again, since their file or what is
            added to it changed.
        unchanged: How many files were left as they are stored.
        removed: How many documents were removed, since their file is gone.
        skipped: The paths that were passed over, by reason; those of folders end
            with `/`.
        failed: The documents that the store could not take, with the reason.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        """Count everything in one line."""
        counts = ("added", "updated", "unchanged", "removed")
        parts = [f"{getattr(self, name)} {name}" for name in counts]
        if self.skipped:
            reasons = ", ".join(
                f"{len(held)} {why}" for why, held in self.skipped.items()
            )
            parts.append(f"{sum(map(len, self.skipped.values()))} skipped ({reasons})")
        parts += [f"{len(self.failed)} failed"] * bool(self.failed)
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"<SyncReport: {self}>"


def sync_folder(
    store: WritableStore,
    paths: PathLike | Sequence[PathLike],
    *,
    base: PathLike | None = None,
    metadata: GivenMetadata | None = None,
    max_bytes: int = MAX_BYTES,
    batch_size: int = 100,
    progress: Progress | None = None,
) -> SyncReport:
    """Bring the documents of a store in step with the text files below some paths.

    Each file is one document: UTF-8 text as it is, and what is taken out of HTML,
    JSON, notebooks, PDF and Word files. Only what changed since the last run is
    written, and documents whose file is gone are removed, but only below *paths* and
    only those that an earlier run has written.

    Files are read ahead, several at a time; what other packages read is read in
    processes that are ended when they hang. Documents are written in batches, so a
    run that is stopped keeps what it has written, and the next one does the rest.

    A document remembers its *base*, so runs with different ones may share a store:
    none removes what another wrote.

    Hidden files and folders, links, what `.gitignore` files name, blank files and
    those that are no text of a format that is known are passed over. What cannot be
    read now stays as it is.

    Args:
        store: Where the documents go.
        paths: One or more files and folders; a path that is given itself is taken
            whatever it is called.
        base: The id of a document is the path of its file relative to this folder,
            or the absolute path where it lies elsewhere. By default the one folder
            that *paths* names, or the folder of the one file.
        metadata: What every document is given besides what the folder says of it
            (`source`, `title`, `format`, `modified`, `bytes`, `digest`, `base`,
            `reader` and `pages`, which come first): a mapping, or a function from the
            path of a file to one. Where it differs from what is stored, the document
            is written anew.
        max_bytes: The largest file that is read, in bytes, and the most characters
            that are taken out of one.
        batch_size: The most documents that are written in one call.
        progress: Called after each file.

    Returns:
        What was done, and what was not done and why.

    Raises:
        ConfigurationError: If a path does not exist, an argument is wrong, the
            metadata of a file cannot be stored, or a run with another *base* wrote
            documents of the same ids.
        MissingExtraError: If the package `pathspec` is not installed.
        StoreError: If the store as a whole cannot be read or written.
    """
    check_store(store)
    given = given_paths(paths)
    root = root_of(given, base)
    max_bytes = whole_from(1, "max_bytes", max_bytes, "byte")
    batch_size = whole_from(1, "batch_size", batch_size, "document")
    run = _Run(
        store,
        root,
        given,
        metadata=MetadataReader(metadata),
        max_bytes=max_bytes,
        batch_size=batch_size,
    )
    found = run.find()
    with closing(Reading[_Plan](max_bytes)) as reading:
        plans = ((plan, plan.wanted) for plan in map(run.plan, found))
        for done, (plan, outcome) in enumerate(reading.run(plans), start=1):
            run.take(plan, outcome)
            if progress is not None:
                progress(done, len(found), plan.name)
        return run.finish()


async def async_folder(
    store: WritableStore,
    paths: PathLike | Sequence[PathLike],
    *,
    base: PathLike | None = None,
    metadata: GivenMetadata | None = None,
    max_bytes: int = MAX_BYTES,
    batch_size: int = 100,
    progress: Progress | None = None,
) -> SyncReport:
    """Same as `sync_folder`, on a thread of its own, *progress* too."""
    run = partial(
        sync_folder,
        base=base,
        metadata=metadata,
        max_bytes=max_bytes,
        batch_size=batch_size,
        progress=progress,
    )
    return await run_blocking(run, store, paths)


@dataclass(frozen=True, slots=True)
class _Plan:
    """Be what is to be done with a file.

    Attributes:
        file: The file.
        name: The id of its document.
        given: What a user adds, as `MetadataReader.of` writes it.
        read_as: Its format.
        wanted: The file again, if it must be read.
    """

    file: FoundFile
    name: str
    given: str
    read_as: Format
    wanted: Wanted | None = None


class _Run:
    """Be one run over some paths: what is known, what waits, what was done."""

    def __init__(
        self,
        store: WritableStore,
        root: str,
        given: Sequence[str],
        *,
        metadata: MetadataReader,
        max_bytes: int,
        batch_size: int,
    ) -> None:
        self._store = store
        self._root = root
        self._given = given
        self._metadata = metadata
        self._max_bytes = max_bytes
        self._batch_size = batch_size
        self._base = base_text(store, root)
        self._known = dict(known_files(store, partial(is_below, root, given)))
        self._done: Counter[str] = Counter()
        self._present: set[str] = set()
        self._unread: list[str] = []
        self._skipped: dict[str, list[str]] = {}
        self._failed: dict[str, str] = {}
        self._batch: dict[str, Hit] = {}
        self._waiting = 0

    def name(self, path: str) -> str:
        """Return the id of the document that a file becomes."""
        return id_of(self._root, path)

    def _base_of(self, name: str) -> str:
        """Return the folder that an id is relative to; none for an absolute one."""
        return "" if Path(name).is_absolute() else self._base

    def find(self) -> list[FoundFile]:
        """Look for the files to read, each once."""
        found: dict[str, FoundFile] = {}
        passed: dict[str, SkippedPath] = {}
        own = own_files(self._store)
        for path in self._given:
            for item in walk(path, max_bytes=self._max_bytes, own=own):
                if isinstance(item, FoundFile):
                    found[item.path] = item
                else:
                    passed[item.path] = item
        for path, item in passed.items():
            if path not in found:
                self._skip(path, item.reason)
        self._refuse_clashes(self.name(path) for path in found)
        return list(found.values())

    def plan(self, file: FoundFile) -> _Plan:
        """Say what is to be done with a file, and whether it must be read for that."""
        name, read_as = self.name(file.path), format_of(file.path)
        if not has_text_name(file.path):
            # Two such names could become the same id.
            return _Plan(file, name, "", read_as)
        given = self._metadata.of(file.path)
        known = self._known.get(name)
        if known is not None and (known.given, known.reader) != (given, read_as.reader):
            # As if it were not there: what is stored is wrong, whatever the file says.
            known = None
        wanted = None
        if known is None or not known.is_like(file):
            digest = None if known is None else known.digest
            wanted = Wanted(file.path, file.size, read_as, digest)
        return _Plan(file, name, given, read_as, wanted)

    def take(self, plan: _Plan, outcome: Outcome) -> None:
        """Write the document of a file, unless both are the same still."""
        if not has_text_name(plan.file.path):
            self._skip(plan.file.path, "unreadable")
        elif outcome is None:
            self._keep(plan.name)
        elif isinstance(outcome, str):
            self._skip(plan.file.path, outcome)
        else:
            self._write(
                file_document(
                    plan.name,
                    plan.file,
                    outcome,
                    read_as=plan.read_as,
                    base=self._base_of(plan.name),
                    given=plan.given,
                )
            )

    def finish(self) -> SyncReport:
        """Write what waits, remove what is gone, and say what was done."""
        self._flush()
        gone = [name for name in self._known if self._is_gone(name)]
        for start in range(0, len(gone), self._batch_size):
            self._done["removed"] += self._store.remove(
                gone[start : start + self._batch_size]
            )
        return SyncReport(
            **self._done,
            skipped={why: tuple(paths) for why, paths in self._skipped.items()},
            failed=self._failed,
        )

    def _refuse_clashes(self, names: Iterable[str]) -> None:
        """Stop before anything is written if it would replace what others wrote."""
        others = self._store.records(filter={"digest": {"$exists": False}})
        foreign = {name for name, held in others if "digest" not in held}
        for name in names:
            known = self._known.get(name)
            whose = known.base if known is not None else self._base_of(name)
            if name in foreign or whose != self._base_of(name):
                of = (
                    "of no file" if name in foreign else f"of another folder, {whose!r}"
                )
                raise ConfigurationError(
                    f"the store holds {name!r} {of}; give `base` another folder"
                )

    def _keep(self, name: str) -> None:
        self._present.add(name)
        self._done["unchanged"] += 1

    def _skip(self, path: str, reason: SkipReason) -> None:
        """Note a path that was passed over; what cannot be read now is not gone."""
        name = self.name(path) + "/" * path.endswith(os.sep)
        self._skipped.setdefault(reason, []).append(name)
        if reason.startswith(_FOR_NOW):
            self._unread.append(path)

    def _write(self, document: Hit) -> None:
        self._batch[str(document.id)] = document
        self._waiting += document.length or 0
        if len(self._batch) >= self._batch_size or self._waiting >= BATCH_CHARACTERS:
            self._flush()

    def _flush(self) -> None:
        """Write the batch; documents that the store refuses do not stop the others."""
        batch, self._batch, self._waiting = self._batch, {}, 0
        if not batch:
            return
        self._present.update(batch)
        try:
            self._store.put(list(batch.values()))
        except IngestionError as error:
            refused = [batch[name] for name in batch if name in error.failed_ids]
            self._put_each(refused, error)
        for name in batch.keys() - self._failed.keys():
            self._done["updated" if name in self._known else "added"] += 1

    def _put_each(self, refused: Sequence[Hit], error: IngestionError) -> None:
        """Write documents one by one, so that a bad one takes no other with it."""
        failed = {refused[0].id: error} if len(refused) == 1 else {}
        for document in refused if len(refused) > 1 else ():
            try:
                self._store.put([document])
            except IngestionError as again:
                failed[document.id] = again
        if len(failed) == len(refused) > 1:
            # Not one of several: it is no document's fault.
            raise error
        self._failed |= {str(name): _reason(why) for name, why in failed.items()}

    def _is_gone(self, name: str) -> bool:
        if name in self._present or self._known[name].base != self._base_of(name):
            return False
        path = path_of(self._root, name)
        return not any(is_within(path, unread) for unread in self._unread)


def _reason(error: IngestionError) -> str:
    return str(error.errors[0] if error.errors else error)
