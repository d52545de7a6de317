"""The embedded store: one SQLite file, exact keyword and vector search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.filters import matches, parse
from langchain_ctxfetch._core.flow import (
    Failed,
    Ok,
    Outcome,
    adrive,
    drive,
    unwrap,
)
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.numbers import whole_from
from langchain_ctxfetch._language import language_name, stemmer, stop_words
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import (
    ConfigurationError,
    StoreError,
)
from langchain_ctxfetch.ports import SearchRequest, Where
from langchain_ctxfetch.stores._connections import MEMORY, Connections
from langchain_ctxfetch.stores._documents import (
    check_id,
    names_of,
    read_by_ids,
    read_page,
)
from langchain_ctxfetch.stores._embedding import (
    Vector,
    aembed_question,
    aembed_with,
    check_query,
    checked_embedding,
    embed_question,
    embed_texts,
    embed_with,
    embedding_name,
    questions,
)
from langchain_ctxfetch.stores._filtering import chosen
from langchain_ctxfetch.stores._highlighting import quoted
from langchain_ctxfetch.stores._opening import check_vectors, open_store, path_of
from langchain_ctxfetch.stores._preparing import Prepared, Preparer, prepared_document
from langchain_ctxfetch.stores._probes import Found, Probe
from langchain_ctxfetch.stores._progress import Progress
from langchain_ctxfetch.stores._stats import StoreStats
from langchain_ctxfetch.stores._upkeep import UpkeptStore
from langchain_ctxfetch.stores._vectors import unit_vectors
from langchain_ctxfetch.stores._writing import remove, store

__all__ = ["SQLiteStore", "StoreStats"]

if TYPE_CHECKING:
    from langchain_text_splitters import TextSplitter


class SQLiteStore(UpkeptStore):
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
        passage_size = whole_from(1, "passage_size", passage_size, "character")
        self.path = path_of(path)
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
        self._embedding = checked_embedding(embedding)
        self.language = name = language_name(language)
        self._stem = stemmer(name)
        self._preparer = Preparer(
            self._stem, stop_words(name), passage_size, splitter, title_key
        )
        self._searcher = self._new_searcher()
        self._connections = Connections(
            self.path, read_only=read_only, busy_timeout_s=busy_timeout_s
        )
        self._embedding_id = (
            None if embedding is None else embedding_id or embedding_name(embedding)
        )
        open_store(self._connections, language=name, embedding_id=self._embedding_id)

    def __repr__(self) -> str:
        vectors = "" if self._embedding is None else ", with vectors"
        return f"SQLiteStore({self.path!r}{vectors})"

    def __reduce__(self) -> tuple[Callable[..., SQLiteStore], tuple[Any, ...]]:
        if self.path == MEMORY:
            raise ConfigurationError(
                "a store in memory cannot be copied or pickled; give it a `path`"
            )
        return partial(type(self), self.path, **self._settings), ()

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

    def search_round(
        self, requests: Sequence[SearchRequest]
    ) -> list[Outcome[list[Hit]]]:
        """Answer several requests from one state of the store, in their order."""
        vectors = {
            query: embed_question(self._embedding, query)
            for query in questions(requests)
        }
        return self._answer_requests(requests, vectors)

    async def asearch_round(
        self, requests: Sequence[SearchRequest]
    ) -> list[Outcome[list[Hit]]]:
        """Same as `search_round`, but asynchronously."""
        vectors = {
            query: await aembed_question(self._embedding, query)
            for query in questions(requests)
        }
        return await run_blocking(self._answer_requests, requests, vectors)

    def fetch(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002 - LangChain's word
    ) -> list[Hit]:
        """Bring the documents that exist and match, in the order of *ids*."""
        parsed = parse(filter)
        names = names_of(ids)
        with self._connections.reading() as connection:
            stored = read_by_ids(connection, names)
        return [
            stored[name]
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
        check_query(query)
        room = whole_from(0, "room", room)
        names = names_of(ids)
        found = {hit.id: hit for hit in self.fetch(names, filter=filter)}
        return [
            quoted(found.get(name), query, stem=self._stem, room=room) for name in names
        ]

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
        """Remove the documents named or matched or both; return how many there were."""
        if ids is None and filter is None:
            raise ConfigurationError(
                "`ids` or `filter` must say what to remove; `filter={}` is everything"
            )
        self._connections.refuse_if_read_only()
        parsed = parse(filter)
        names = None if ids is None else names_of(ids)
        with self._connections.writing() as connection:
            gone = chosen(connection, names, parsed)
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
        self._connections.refuse_if_read_only()
        batch_size = whole_from(1, "batch_size", batch_size, "document")
        for hit in documents:
            check_id(hit.id)
        prepared = [prepared_document(hit) for hit in documents]
        return Progress(prepared, batch_size, self.path)

    def _commit(self, prepared: Prepared, vectors: Sequence[Vector] | None) -> None:
        matrix = None if vectors is None else unit_vectors(vectors, None)
        with self._connections.writing() as connection:
            check_vectors(connection, matrix, self._embedding_id, self.path)
            store(connection, prepared, matrix)

    def _find(self, probe: Probe) -> list[Found]:
        if probe.lacks_vector:
            vector = embed_question(self._embedding, probe.query)
            probe = replace(probe, vector=vector)
        return unwrap(self._answer([probe])[0])

    async def _afind(self, probe: Probe) -> list[Found]:
        if probe.lacks_vector:
            vector = await aembed_question(self._embedding, probe.query)
            probe = replace(probe, vector=vector)
        return unwrap((await run_blocking(self._answer, [probe]))[0])

    def _answer_requests(
        self,
        requests: Sequence[SearchRequest],
        vectors: Mapping[str, Outcome[Vector]],
    ) -> list[Outcome[list[Hit]]]:
        """Answer a round whose questions are embedded."""
        probes = [Probe.of(request, vectors.get(request.query)) for request in requests]
        return [
            outcome
            if isinstance(outcome, Failed)
            else Ok([found.hit for found in outcome.value])
            for outcome in self._answer(probes)
        ]

    def _answer(self, probes: Sequence[Probe]) -> list[Outcome[list[Found]]]:
        try:
            with self._connections.reading() as connection:
                checked = self._checked(connection, probes)
                return self._searcher.answer(connection, checked)
        except StoreError as error:
            return [Failed(error) for _ in probes]
