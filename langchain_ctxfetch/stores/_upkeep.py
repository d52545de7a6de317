"""Looking after a file: what is in it, its size, the model of its vectors."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.flow import Failed, Ok, drive
from langchain_ctxfetch._core.numbers import whole_from
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import StoreError, StoreMismatchError
from langchain_ctxfetch.stores import _optimizing, _reembedding
from langchain_ctxfetch.stores._connections import Connections
from langchain_ctxfetch.stores._embedding import (
    Vector,
    checked_embedding,
    embed_texts,
    embed_with,
    embedding_name,
)
from langchain_ctxfetch.stores._opening import read_record, refuse_other_model
from langchain_ctxfetch.stores._optimizing import Optimized
from langchain_ctxfetch.stores._preparing import Preparer
from langchain_ctxfetch.stores._probes import Probe
from langchain_ctxfetch.stores._reembedding import Report, Unembedded
from langchain_ctxfetch.stores._searching import Searcher
from langchain_ctxfetch.stores._stats import StoreStats, read_stats
from langchain_ctxfetch.stores._vectors import unit_vectors
from langchain_ctxfetch.stores._vectorstore import SearchableStore


class UpkeptStore(SearchableStore):
    """Look after the file of a store."""

    path: str
    _connections: Connections
    _embedding: Embeddings | None
    _embedding_id: str | None
    _preparer: Preparer
    _searcher: Searcher
    _settings: dict[str, Any]

    def stats(self) -> StoreStats:
        """Say what is in the store."""
        with self._connections.reading() as connection:
            return read_stats(connection, self._searcher.passages(connection))

    def optimize(self) -> Optimized:
        """Give back the room of removed documents, and make searches faster.

        Batches that hold many removed documents are written anew, the keyword index
        becomes as few blocks as may be, and the file is shrunk. That takes about as
        much free room as the file is large, and other writers wait meanwhile. What a
        search finds does not change.

        Returns:
            What has changed.

        Raises:
            StoreError: If the file cannot be written; it is as it was.
        """
        self._connections.refuse_if_read_only()
        with self._connections.writing() as connection:
            size, blocks = _optimizing.measure(connection)
            _optimizing.rewrite(connection)
        with self._connections.alone() as connection:
            _optimizing.give_back(connection)
            now, merged = _optimizing.measure(connection)
        return Optimized(size, now, blocks, merged)

    async def aoptimize(self) -> Optimized:
        """Same as `optimize`, but asynchronously."""
        return await run_blocking(self.optimize)

    def reembed(
        self,
        embedding: Embeddings,
        *,
        embedding_id: str | None = None,
        batch_size: int = 100,
        progress: Report | None = None,
    ) -> int:
        """Give every passage a vector of another model, or its first one.

        Open the file without an `embedding`, or with its old one, and call this with
        the new one. Until all vectors are there, searches use the old ones; then this
        store goes on with the new model, and stores open elsewhere are told to open
        the file anew. Interrupted, it goes on where it was when it is called again
        with the same model.

        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_ctxfetch import SQLiteStore
        >>> with SQLiteStore() as store:
        ...     _ = store.add_texts(["The cat sat.", "Dogs bark."])
        ...     store.reembed(DeterministicFakeEmbedding(size=8))
        ...     store.channel_names()
        2
        ('keyword', 'vector')

        Args:
            embedding: The new model, asked through its `embed_documents`.
            embedding_id: Names it in the file; by default as in the constructor.
            batch_size: The most texts that it is given at once.
            progress: Is called with the number of passages that have their vector,
                and with the number of all, each time that some are stored.

        Returns:
            How many passages were embedded by this call.

        Raises:
            ConfigurationError: If *embedding* is none, or *batch_size* no number of
                texts.
            StoreError: If vectors cannot be used or written; those that were written
                before stay for the next call.
        """
        self._connections.refuse_if_read_only()
        most = whole_from(1, "batch_size", batch_size, "text")
        checked_embedding(embedding)
        model = embedding_id or embedding_name(embedding)
        with self._connections.writing() as connection:
            done, passages = _reembedding.begin(connection, model)
        embedded = 0
        while (batch := self._lacking(model)) is not None:
            matrix = unit_vectors(self._embedded(embedding, batch, most), None)
            with self._connections.writing() as connection:
                _reembedding.refuse_rival(connection, model, self.path)
                _reembedding.keep(connection, batch, matrix)
            done, embedded = done + batch.passages, embedded + len(batch.texts)
            if progress is not None:
                progress(done, max(done, passages))
        self._take_over(embedding, embedding_id, model)
        return embedded

    async def areembed(
        self,
        embedding: Embeddings,
        *,
        embedding_id: str | None = None,
        batch_size: int = 100,
        progress: Report | None = None,
    ) -> int:
        """Same as `reembed`, in a thread beside the event loop."""
        return await run_blocking(
            self.reembed,
            embedding,
            embedding_id=embedding_id,
            batch_size=batch_size,
            progress=progress,
        )

    def _lacking(self, model: str) -> Unembedded | None:
        """Return a batch that lacks new vectors; None once they are in use."""
        with self._connections.writing() as connection:
            _reembedding.refuse_rival(connection, model, self.path)
            batch = _reembedding.next_batch(connection, self._preparer)
            if batch is None:
                _reembedding.switch(connection, model)
        return batch

    def _embedded(
        self, embedding: Embeddings, batch: Unembedded, most: int
    ) -> list[Vector]:
        vectors: list[Vector] = []
        answer = embed_with(embedding)
        try:
            for first in range(0, len(batch.texts), most):
                part = batch.texts[first : first + most]
                vectors.extend(drive(embed_texts(part), answer))
        except Exception as error:
            raise StoreError(
                f"{self.path}: the `embedding` failed: {error}; call `reembed` again to"
                " go on from here",
                store=self.path,
                errors=(error,),
            ) from error
        return vectors

    def _take_over(
        self, embedding: Embeddings, embedding_id: str | None, model: str
    ) -> None:
        self._embedding, self._embedding_id = embedding, model
        self._settings |= {"embedding": embedding, "embedding_id": embedding_id}
        # What is in memory belongs to the old vectors.
        self._searcher = self._new_searcher()

    def _checked(
        self, connection: sqlite3.Connection, probes: Sequence[Probe]
    ) -> Sequence[Probe]:
        """Let no question be compared with the vectors of another model."""
        asked = [probe for probe in probes if isinstance(probe.vector, Ok)]
        try:
            if asked:
                recorded = read_record(connection)
                refuse_other_model(recorded, self._embedding_id, self.path)
        except StoreMismatchError as error:
            return [
                replace(probe, vector=Failed(error)) if probe in asked else probe
                for probe in probes
            ]
        return probes

    def _new_searcher(self) -> Searcher:
        return Searcher(self._preparer.query_terms)
