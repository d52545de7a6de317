"""The embedded store: one SQLite file, exact keyword and vector search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._bridge import unwrap
from langchain_ctxfetch._core.filters import matches, parse
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome, adrive, drive
from langchain_ctxfetch._core.hits import Hit, Passage
from langchain_ctxfetch._core.passages import pick, score_sentences
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._language import language_name, stemmer, stop_words
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import (
    ConfigurationError,
    CtxFetchError,
    StoreError,
    StoreMismatchError,
    StoreReadOnlyError,
)
from langchain_ctxfetch.ports import SearchRequest, Where
from langchain_ctxfetch.stores._connections import MEMORY, Connections
from langchain_ctxfetch.stores._documents import (
    all_ordinals,
    ordinals_of,
    read_by_ids,
    read_page,
)
from langchain_ctxfetch.stores._embedding import (
    Vector,
    aembed_with,
    embed_texts,
    embed_with,
    embedding_name,
)
from langchain_ctxfetch.stores._filtering import passing
from langchain_ctxfetch.stores._opening import open_store, read_record, record
from langchain_ctxfetch.stores._preparing import Prepared, Preparer, prepared_document
from langchain_ctxfetch.stores._probes import Found, Probe
from langchain_ctxfetch.stores._progress import Progress
from langchain_ctxfetch.stores._searching import Searcher
from langchain_ctxfetch.stores._vectors import unit_vectors
from langchain_ctxfetch.stores._vectorstore import DocumentStore
from langchain_ctxfetch.stores._writing import remove, store

if TYPE_CHECKING:
    from langchain_text_splitters import TextSplitter


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Say what is in a store.

    Attributes:
        documents: How many documents it holds.
        passages: How many passages of them are indexed.
        bytes: The size of the file; of the database for one in memory.
        language: The language of its stemmer.
        embedding_id: The model of its vectors; None where it has no vectors.
        dimension: How many numbers a vector has; None before the first.
    """

    documents: int
    passages: int
    bytes: int
    language: str
    embedding_id: str | None
    dimension: int | None


class SQLiteStore(DocumentStore):
    """Keep documents in one SQLite file, or in memory, and find them exactly.

    Documents are indexed by passages and returned whole. Keyword search needs
    nothing; with an *embedding* there is search by vector too. Several threads and
    processes may use one file; each search sees all that was written before it.

    >>> with SQLiteStore() as store:
    ...     _ = store.add_texts(["The cat sat.", "Dogs bark."], ids=["cat", "dog"])
    ...     [document.id for document in store.similarity_search("cats")]
    ['cat']

    Args:
        path: The file, made if it does not exist; `":memory:"` for none.
        embedding: Makes vectors; without it searches are by keyword only.
        embedding_id: Names the model in the file, which refuses any other; by
            default its class and model name.
        passage_size: The most characters of a passage.
        splitter: A splitter of LangChain in place of our own.
        title_key: The metadata key of the title, which is indexed with each passage.
        language: A language that Snowball knows, or `"none"`; recorded in the file.
        read_only: Whether nothing may be written.
        busy_timeout_s: How long to wait for another process that writes, in seconds.

    Raises:
        ConfigurationError: If an argument is wrong.
        StoreMismatchError: If the file is no store, or one of another language,
            model or version.
        StoreError: If the file cannot be opened.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = ":memory:",
        *,
        embedding: Embeddings | None = None,
        embedding_id: str | None = None,
        passage_size: int = 600,
        splitter: TextSplitter | None = None,
        title_key: str = "title",
        language: str = "en",
        read_only: bool = False,
        busy_timeout_s: float = 30.0,
    ) -> None:
        if passage_size < 1:
            raise ConfigurationError(
                f"`passage_size` must be at least 1 character, not {passage_size!r}"
            )
        self.path = os.fspath(path)
        self._settings: dict[str, Any] = {
            "embedding": embedding,
            "embedding_id": embedding_id,
            "passage_size": passage_size,
            "splitter": splitter,
            "title_key": title_key,
            "language": language,
            "read_only": read_only,
            "busy_timeout_s": busy_timeout_s,
        }
        self._embedding = embedding
        self._read_only = read_only
        name = language_name(language)
        self._stem = stemmer(name)
        self._preparer = Preparer(
            self._stem, stop_words(name), passage_size, splitter, title_key
        )
        self._searcher = Searcher(self.path, self._preparer.query_terms)
        self._connections = Connections(
            self.path, read_only=read_only, busy_timeout_s=busy_timeout_s
        )
        if embedding is not None:
            embedding_id = embedding_id or embedding_name(embedding)
        open_store(
            self._connections,
            language=name,
            embedding_id=None if embedding is None else embedding_id,
        )

    def __repr__(self) -> str:
        vectors = "" if self._embedding is None else ", with vectors"
        return f"SQLiteStore({self.path!r}{vectors})"

    def __reduce__(self) -> tuple[Callable[..., SQLiteStore], tuple[Any, ...]]:
        if self.path == MEMORY:
            raise ConfigurationError(
                "a store in memory cannot be copied or pickled; give it a `path`"
            )
        return _reopened, (type(self), self.path, self._settings)

    def __len__(self) -> int:
        with self._connections.reading() as connection:
            (count,) = connection.execute("select count(*) from documents").fetchone()
        return int(count)

    def __bool__(self) -> bool:
        return True  # an empty store is a store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def close(self) -> None:
        """Close the file; a store in memory is gone."""
        self._connections.close()

    async def aclose(self) -> None:
        """Same as `close`, but asynchronously."""
        await run_blocking(self.close)

    @property
    def embeddings(self) -> Embeddings | None:
        """Return what makes the vectors, if anything does."""
        return self._embedding

    def channel_names(self) -> Sequence[str]:
        """Return the channels that this store can serve, the preferred one first."""
        return ("keyword",) if self._embedding is None else ("keyword", "vector")

    def stats(self) -> StoreStats:
        """Say what is in the store."""
        with self._connections.reading() as connection:
            recorded = read_record(connection)
            documents, pages, size = (
                connection.execute(sql).fetchone()[0]
                for sql in (
                    "select count(*) from documents",
                    "pragma page_count",
                    "pragma page_size",
                )
            )
            passages = self._searcher.passages(connection)
        return StoreStats(
            documents,
            passages,
            pages * size,
            recorded.language,
            recorded.embedding_id,
            recorded.dimension,
        )

    def search_round(
        self, requests: Sequence[SearchRequest]
    ) -> list[Outcome[list[Hit]]]:
        """Answer several requests from one state of the store, in their order."""
        vectors = {query: self._vector(query) for query in _to_embed(requests)}
        return self._answer_requests(requests, vectors)

    async def asearch_round(
        self, requests: Sequence[SearchRequest]
    ) -> list[Outcome[list[Hit]]]:
        """Same as `search_round`, but asynchronously."""
        vectors = {query: await self._avector(query) for query in _to_embed(requests)}
        return await run_blocking(self._answer_requests, requests, vectors)

    def fetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> list[Hit]:
        """Bring the documents that exist and match, in the order of *ids*."""
        parsed = parse(filter)
        names = [clean(name) for name in ids]
        with self._connections.reading() as connection:
            stored = read_by_ids(connection, names)
        return [
            stored[name].as_hit()
            for name in names
            if name in stored and matches(parsed, stored[name].metadata)
        ]

    async def afetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Hit]:
        """Same as `fetch`, but asynchronously."""
        return await run_blocking(self.fetch, ids, filter=filter)

    def highlight(
        self,
        ids: Sequence[str],
        query: str,
        *,
        filter: Where | None = None,  # noqa: A002
        room: int = 3000,
    ) -> list[Outcome[Hit | None]]:
        """Bring the passages that answer *query*, at most *room* characters each."""
        found = {hit.id: hit for hit in self.fetch(ids, filter=filter)}
        return [self._quoted(found.get(clean(name)), query, room) for name in ids]

    async def ahighlight(
        self,
        ids: Sequence[str],
        query: str,
        *,
        filter: Where | None = None,  # noqa: A002
        room: int = 3000,
    ) -> list[Outcome[Hit | None]]:
        """Same as `highlight`, but asynchronously."""
        return await run_blocking(self.highlight, ids, query, filter=filter, room=room)

    def put(self, documents: Sequence[Hit], *, batch_size: int = 100) -> list[str]:
        """Store whole documents, replacing those of the same id; return the ids.

        Each batch is one transaction. Embedding is done before it begins, so that
        no reader and no other writer waits for a model.

        Args:
            documents: Each with its text; one without an id is given one.
            batch_size: The most documents of a transaction.

        Returns:
            The ids, in the order of the documents.

        Raises:
            ConfigurationError: If metadata cannot be stored; nothing was written.
            IngestionError: If some were stored and some were not.
            StoreError: If nothing could be stored.
        """
        progress = self._begin(documents, batch_size)
        for part in progress.parts():
            with progress.storing(part):
                prepared = self._preparer.prepare(part)
                vectors = None
                if self._embedding is not None:
                    answer = embed_with(self._embedding)
                    vectors = drive(embed_texts(prepared.texts), answer)
                self._commit(prepared, vectors)
        return progress.ids

    async def aput(
        self, documents: Sequence[Hit], *, batch_size: int = 100
    ) -> list[str]:
        """Same as `put`, but asynchronously."""
        progress = await run_blocking(self._begin, documents, batch_size)
        for part in progress.parts():
            with progress.storing(part):
                prepared = await run_blocking(self._preparer.prepare, part)
                vectors = None
                if self._embedding is not None:
                    answer = aembed_with(self._embedding)
                    vectors = await adrive(embed_texts(prepared.texts), answer)
                await run_blocking(self._commit, prepared, vectors)
        return progress.ids

    def remove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> int:
        """Remove the documents named, matched, or both; return how many there were.

        Raises:
            ConfigurationError: If neither is given: that would remove everything.
        """
        if ids is None and filter is None:
            raise ConfigurationError(
                "`ids` or `filter` must say what to remove; `filter={}` is everything"
            )
        self._refuse_if_read_only()
        parsed = parse(filter)
        with self._connections.writing() as connection:
            if ids is None:
                ordinals = all_ordinals(connection)
            else:
                names = [clean(name) for name in ids]
                ordinals = list(ordinals_of(connection, names))
            of = np.array(ordinals, np.int64)
            gone: list[int] = of[passing(connection, parsed, of)].tolist()
            remove(connection, gone)
        return len(gone)

    async def aremove(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> int:
        """Same as `remove`, but asynchronously."""
        return await run_blocking(self.remove, ids, filter=filter)

    def records(
        self,
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        """Run through ids and metadata of the documents that match, oldest first.

        They are read in pages: what is written meanwhile may be among them.
        """
        parsed = parse(filter)
        last = 0
        while True:
            with self._connections.reading() as connection:
                page = read_page(connection, last)
            if not page:
                return
            last = page[-1][0]
            for _, name, metadata in page:
                if matches(parsed, metadata):
                    yield name, metadata

    def _begin(self, documents: Sequence[Hit], batch_size: int) -> Progress:
        self._refuse_if_read_only()
        prepared = [prepared_document(hit) for hit in documents]
        return Progress(prepared, batch_size, self.path)

    def _refuse_if_read_only(self) -> None:
        if self._read_only:
            raise StoreReadOnlyError(
                f"{self.path} was opened with `read_only`", store=self.path
            )

    def _commit(self, prepared: Prepared, vectors: Sequence[Vector] | None) -> None:
        """Write one batch, and the dimension with the first vectors."""
        with self._connections.writing() as connection:
            recorded = read_record(connection)
            matrix = None
            if vectors is not None:
                matrix = unit_vectors(vectors, recorded.dimension)
            elif recorded.embedding_id is not None:
                raise StoreMismatchError(
                    f"{self.path}: holds vectors of {recorded.embedding_id!r}; open it"
                    " with that `embedding` to add documents",
                    store=self.path,
                )
            if matrix is not None and len(matrix) and recorded.dimension is None:
                record(connection, "dimension", matrix.shape[1])
            store(connection, prepared, matrix)

    def _find(self, probe: Probe) -> list[Found]:
        if probe.channel == "vector" and probe.vector is None and probe.query.strip():
            probe = replace(probe, vector=self._vector(probe.query))
        return unwrap(self._answer([probe])[0])

    async def _afind(self, probe: Probe) -> list[Found]:
        if probe.channel == "vector" and probe.vector is None and probe.query.strip():
            probe = replace(probe, vector=await self._avector(probe.query))
        return unwrap((await run_blocking(self._answer, [probe]))[0])

    def _answer_requests(
        self,
        requests: Sequence[SearchRequest],
        vectors: Mapping[str, Outcome[Sequence[float]]],
    ) -> list[Outcome[list[Hit]]]:
        """Answer a round whose questions are embedded."""
        probes = [Probe.of(request, vectors.get(request.query)) for request in requests]
        return [_hits(outcome) for outcome in self._answer(probes)]

    def _answer(self, probes: Sequence[Probe]) -> list[Outcome[list[Found]]]:
        try:
            with self._connections.reading() as connection:
                return self._searcher.answer(connection, probes)
        except StoreError as error:
            return [Failed(error) for _ in probes]

    def _vector(self, query: str) -> Outcome[Sequence[float]]:
        try:
            return Ok(self._embedding_for("the vector channel").embed_query(query))
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            return Failed(self._not_embedded(error))

    async def _avector(self, query: str) -> Outcome[Sequence[float]]:
        try:
            embedding = self._embedding_for("the vector channel")
            return Ok(await embedding.aembed_query(query))
        except Exception as error:  # noqa: BLE001 - a model may raise anything
            return Failed(self._not_embedded(error))

    def _not_embedded(self, error: Exception) -> CtxFetchError:
        if isinstance(error, CtxFetchError):
            return error
        return StoreError(
            f"the question could not be embedded: {error}",
            store=self.path,
            errors=(error,),
        )

    def _quoted(self, hit: Hit | None, query: str, room: int) -> Outcome[Hit | None]:
        """Return a document with the passages that answer, in place of its text."""
        if hit is None:
            return Ok(None)
        try:
            text = hit.text or ""
            scored = score_sentences(text, clean(query), stem=self._stem, room=room)
            spans = pick(scored, room) if scored.found else []
        except Exception as error:  # noqa: BLE001 - one document never spoils others
            return Failed(error)
        passages = tuple(Passage(*span, text[slice(*span)]) for span in spans)
        return Ok(replace(hit, text=None, passages=passages))


def _to_embed(requests: Sequence[SearchRequest]) -> list[str]:
    """Return the questions of a round that need a vector, each once."""
    asked = [each.query for each in requests if each.channel == "vector"]
    return list(dict.fromkeys(query for query in asked if query.strip()))


def _hits(outcome: Outcome[list[Found]]) -> Outcome[list[Hit]]:
    if isinstance(outcome, Failed):
        return outcome
    return Ok([found.hit for found in outcome.value])


def _reopened(
    kind: type[SQLiteStore], path: str, settings: Mapping[str, Any]
) -> SQLiteStore:
    return kind(path, **settings)
