"""Everything about a write that needs no database: passages, terms, facts, JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

import numpy as np

from langchain_ctxfetch._bridge import METADATA_KEY, clean_value
from langchain_ctxfetch._core.facts import Fact, facts, normalised
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.outline import MARKDOWN, Heading, headings
from langchain_ctxfetch._core.sentences import split_passages
from langchain_ctxfetch._core.text import Span, clean
from langchain_ctxfetch._core.words import Stem, split_terms
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.stores._postings import Block, build

if TYPE_CHECKING:
    from langchain_text_splitters import TextSplitter

STOPPED = "\x01"
"""Begins a term that is a stop word: found where a question has nothing else."""

LONGEST_TITLE = 1_000
"""Characters of a title that are indexed with every passage."""

_WITH_HEADINGS = frozenset({"markdown", "html", "docx", "ipynb"})
"""Formats whose text is Markdown, as it came or as it was made."""

_FARTHEST_GAP = 10_000  # characters between two chunks of a splitter


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """Hold one document as it will be stored.

    Attributes:
        id: What names it.
        text: The whole text.
        metadata: As JSON.
        facts: What filters compare.
    """

    id: str
    text: str
    metadata: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """Hold what one transaction writes.

    Attributes:
        documents: Each id once.
        columns: Document, start, end and number of terms of each row, as int32;
            documents are counted from 0.
        block: The postings of the rows, which are numbered from 0.
        texts: What is embedded, one for each passage.
    """

    documents: Sequence[PreparedDocument]
    columns: bytes
    block: Block
    texts: Sequence[str]


@dataclass(frozen=True, slots=True)
class Preparer:
    """Cut documents into passages and terms.

    Attributes:
        stem: The stemmer of the store's language.
        stop: The stop words of that language.
        passage_size: The most characters of a passage.
        splitter: A splitter of LangChain in place of ours.
        title_key: The metadata key of the title.
    """

    stem: Stem
    stop: frozenset[str]
    passage_size: int
    splitter: TextSplitter | None
    title_key: str

    def prepare(self, documents: Sequence[PreparedDocument]) -> Prepared:
        """Cut documents of distinct ids into what is written of them."""
        rows: list[tuple[int, int, int, int]] = []
        terms: list[list[str]] = []
        texts: list[str] = []
        for number, document in enumerate(documents):
            for row in self._rows(document):
                rows.append((number, row.start, row.end, len(row.terms)))
                terms.append([*row.terms, *row.stopped])
                if row.text is not None:
                    texts.append(row.text)
        columns = np.array(rows, "<i4").reshape(-1, 4).T
        return Prepared(documents, columns.tobytes(), build(terms), texts)

    def query_terms(self, query: str) -> list[str]:
        """Return the terms of a question; its stop words where it has nothing else."""
        terms, stopped = self._terms(clean(query))
        return terms or stopped

    def _rows(self, document: PreparedDocument) -> Iterator[_Row]:
        spans = self._passages(document.text)
        if not spans:
            return
        metadata = json.loads(document.metadata)
        title = _title(metadata.get(self.title_key))
        if title:
            yield _Row(0, 0, *self._terms(title), None)
        outline = headings(document.text) if _is_markdown(document.id, metadata) else []
        paths = heading_paths(outline, spans, document.text)
        for (start, end), path in zip(spans, paths, strict=True):
            text = document.text[start:end]
            above = "\n".join(path)
            bag = f"{above}\n{text}" if above else text
            shown = "\n".join(filter(None, (title, above, text)))
            yield _Row(start, end, *self._terms(bag), shown)

    def _passages(self, text: str) -> list[Span]:
        if self.splitter is None:
            return self._own_passages(text)
        return located(text, self.splitter.split_text(text), self._own_passages)

    def _own_passages(self, text: str) -> list[Span]:
        return split_passages(text, self.passage_size)

    def _terms(self, text: str) -> tuple[list[str], list[str]]:
        terms, stopped = split_terms(text, self.stem, stop=self.stop)
        return terms, [STOPPED + word for word in stopped]


@dataclass(frozen=True, slots=True)
class _Row:
    start: int
    end: int
    terms: Sequence[str]
    stopped: Sequence[str]
    text: str | None


def located(
    text: str, chunks: Sequence[str], fill: Callable[[str], Sequence[Span]]
) -> list[Span]:
    """Find the chunks of a splitter in their text.

    A chunk that the splitter has changed is not found; what is left uncovered
    between its neighbours is cut by *fill*, so nothing of the text is lost.

    >>> located("to be or not to be", ["to be or", "not to be"], lambda rest: [])
    [(0, 8), (9, 18)]

    Args:
        text: The whole text.
        chunks: Its parts in order; they may overlap.
        fill: Cuts a stretch that no chunk covers.

    Returns:
        Stretches in order, none of them blank.
    """
    spans: list[Span] = []
    first, reached, expected = 0, 0, 0
    for chunk in filter(str.strip, chunks):
        expected += len(chunk)
        # Chunks rise, though they overlap, and a lost one may not cost a search
        # through all the rest.
        limit = max(reached, expected) + len(chunk) + _FARTHEST_GAP
        start = _next_place(text, chunk, (first, reached, limit))
        if start < 0:
            continue
        spans += _moved(fill(text[reached:start]), reached)
        spans.append((start, start + len(chunk)))
        first, reached = start + 1, max(reached, start + len(chunk))
        expected = max(expected, reached)
    return spans + _moved(fill(text[reached:]), reached)


def _next_place(text: str, chunk: str, bounds: tuple[int, int, int]) -> int:
    """Return where a chunk stands: next to the last one, else overlapping it."""
    first, reached, limit = bounds
    start = text.find(chunk, reached, limit)
    if start >= 0 and not text[reached:start].strip():
        return start
    return text.find(chunk, first, limit)


def _moved(spans: Sequence[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]


def heading_paths(
    outline: Sequence[Heading], spans: Sequence[Span], text: str
) -> list[tuple[str, ...]]:
    """Return the titles of the headings above each passage that it does not hold.

    Args:
        outline: The headings of the text, in order.
        spans: The passages, in order.
        text: The whole text.

    Returns:
        For each passage the titles, outermost first.
    """
    paths: list[tuple[str, ...]] = []
    stack: list[Heading] = []
    coming = 0
    for start, end in spans:
        while coming < len(outline) and outline[coming].start < start:
            _push(stack, outline[coming])
            coming += 1
        above = stack
        if coming < len(outline) and not text[start : outline[coming].start].strip():
            # It begins with a heading: only what is above that is above it.
            level = outline[coming].level if outline[coming].start < end else 10
            above = [heading for heading in stack if heading.level < level]
        paths.append(tuple(heading.title for heading in above))
    return paths


def _push(stack: list[Heading], heading: Heading) -> None:
    while stack and stack[-1].level >= heading.level:
        stack.pop()
    stack.append(heading)


def prepared_document(hit: Hit) -> PreparedDocument:
    """Check a document and write its metadata; give it an id if it has none.

    Args:
        hit: The document with its text; its id is None or one that `check_id` takes.

    Returns:
        The document with text and metadata cleaned, facts as of the metadata that will
        come back.

    Raises:
        ConfigurationError: If its metadata holds what JSON cannot.
    """
    kept = {key: value for key, value in hit.metadata.items() if key != METADATA_KEY}
    # Cleaned as it comes back: only now have sets and subclasses become lists.
    plain = clean_value(json.loads(metadata_json(kept)))
    return PreparedDocument(
        hit.id if hit.id is not None else str(uuid4()),
        clean(hit.text or ""),
        json.dumps(plain, ensure_ascii=False),
        tuple(facts(plain)),
    )


def metadata_json(metadata: Mapping[str, Any]) -> str:
    """Write metadata as JSON.

    Times and UUIDs become the texts that filters compare, numpy values plain ones,
    paths text, tuples and sets lists (sets sorted where they can be). NaN stays.

    >>> metadata_json({"page": 2, "tags": ("a", "b")})
    '{"page": 2, "tags": ["a", "b"]}'

    Args:
        metadata: What a document brings.

    Returns:
        JSON, in Python's dialect that has NaN and Infinity.

    Raises:
        ConfigurationError: If it holds what JSON cannot; names the key.
    """
    try:
        return json.dumps(metadata, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError):
        for key, value in metadata.items():
            _check_storable(key, value)
        raise


def _check_storable(key: str, value: object) -> None:
    try:
        json.dumps({key: value}, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigurationError(
            f"`metadata` key {key!r} cannot be stored: {error}; use text, numbers,"
            " bools, None, dates, lists and dicts"
        ) from error


def _plain(value: object) -> object:
    """Return what stands for a value that JSON does not have."""
    scalar = normalised(value)
    if scalar is not None:
        return scalar
    if isinstance(value, set | frozenset):
        return _ordered(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    kind, shape = _kind_of(value)
    if kind == "m" and not shape:
        raise TypeError("a length of time has no place in JSON")
    if kind in {"m", "M"}:
        # As numbers they would not say what they count.
        return list(cast("Iterable[object]", value))
    as_list: Callable[[], object] | None = getattr(value, "tolist", None)
    if as_list is not None:
        return as_list()
    raise TypeError(f"a {type(value).__name__} has no place in JSON")


def _kind_of(value: object) -> tuple[str, object]:
    """Return of a numpy value the letter of its type, and its shape."""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    return str(kind), getattr(value, "shape", ())


def _ordered(values: set[Any] | frozenset[Any]) -> list[Any]:
    try:
        return sorted(values)
    except TypeError:
        return sorted(values, key=repr)


def _title(value: object) -> str:
    return value[:LONGEST_TITLE].strip() if isinstance(value, str) else ""


def _is_markdown(id_: str, metadata: Mapping[str, Any]) -> bool:
    names = (id_, metadata.get("source"))
    return metadata.get("format") in _WITH_HEADINGS or any(
        isinstance(name, str) and name.lower().endswith(MARKDOWN) for name in names
    )
