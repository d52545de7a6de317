"""Answering a round of probes from one state of the file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from langchain_ctxfetch._core.filters import parse
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome, unwrap
from langchain_ctxfetch._core.hits import Hit, Passage
from langchain_ctxfetch.errors import ConfigurationError, CtxFetchError
from langchain_ctxfetch.stores._adjacency import BEST_PASSAGES
from langchain_ctxfetch.stores._documents import (
    read_documents,
    read_ids,
)
from langchain_ctxfetch.stores._filtering import MaskCache
from langchain_ctxfetch.stores._index import EMPTY, Index, follow
from langchain_ctxfetch.stores._keyword import keyword_scores
from langchain_ctxfetch.stores._opening import read_record
from langchain_ctxfetch.stores._postings import Mask
from langchain_ctxfetch.stores._probes import Found, Probe
from langchain_ctxfetch.stores._ranking import (
    Floats,
    Scores,
    best_positions,
)
from langchain_ctxfetch.stores._vectors import (
    Matrix,
    VectorCache,
    best_of_documents,
    cosines,
    unit_vectors,
)
from langchain_ctxfetch.stores._writing import read_counter


class Searcher:
    """Keep the index of one store in memory and search it.

    Args:
        query_terms: Cuts a question into terms.
    """

    def __init__(self, query_terms: Callable[[str], list[str]]) -> None:
        self._query_terms = query_terms
        self._lock = threading.Lock()
        self._index = EMPTY
        self._vectors = VectorCache()
        self._masks = MaskCache()

    def passages(self, connection: sqlite3.Connection) -> int:
        """Return how many passages are indexed."""
        return self._state(connection, with_vectors=False)[0].totals.passages

    def answer(
        self, connection: sqlite3.Connection, probes: Sequence[Probe]
    ) -> list[Outcome[list[Found]]]:
        """Answer probes from one state of the file, each failing alone.

        Args:
            connection: Within a transaction.
            probes: What is asked.

        Returns:
            One outcome for each probe, in order.
        """
        index, matrix = self._state(connection, with_vectors=_needs_vectors(probes))
        view = _View(connection, index, matrix, self._masks)
        rankings = [self._attempt(view, probe) for probe in probes]
        return [
            _listed(view, probe, ranking, rankings)
            for probe, ranking in zip(probes, rankings, strict=True)
        ]

    def _state(
        self, connection: sqlite3.Connection, *, with_vectors: bool
    ) -> tuple[Index, Matrix | None]:
        version = read_counter(connection, "version")
        with self._lock:
            if version < self._index.version:
                # Another thread has read a later state: look at the file again.
                connection.execute("rollback")
                connection.execute("begin")
                version = read_counter(connection, "version")
            known = self._index if version >= self._index.version else EMPTY
            dimension = read_record(connection).dimension if with_vectors else None
            if version != known.version:
                self._index = follow(connection, known, version)
            if not dimension:
                return self._index, None
            return self._index, self._vectors.of(connection, self._index, dimension)

    def _attempt(self, view: _View, probe: Probe) -> Outcome[_Ranking]:
        try:
            return Ok(self._rank(view, probe))
        except CtxFetchError as error:
            return Failed(error)

    def _rank(self, view: _View, probe: Probe) -> _Ranking:
        passing = view.passing(probe)
        match probe.channel:
            case "keyword":
                terms = self._query_terms(probe.query)
                scores = keyword_scores(view.index, terms, passing, view.in_order)
                return view.ranking(probe, scores, passing, floor=0.0)
            case "vector":
                scores = view.similarities(probe, passing)
                return view.ranking(probe, scores, passing, floor=-np.inf)
            case other:
                raise ConfigurationError(
                    f"`channel` must be 'keyword' or 'vector', not {other!r}"
                )


def _needs_vectors(probes: Iterable[Probe]) -> bool:
    return any(isinstance(probe.vector, Ok) for probe in probes)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Hold what one probe found.

    Attributes:
        scores: Of every document and passage.
        passing: Which documents may be shown at all.
        floor: The score of what is not found at all.
        best: The results wanted, best first: documents or passages.
    """

    scores: Scores
    passing: Mask
    floor: float
    best: Sequence[int]


@dataclass(frozen=True)
class _View:
    """Be one state of the store in one transaction."""

    connection: sqlite3.Connection
    index: Index
    matrix: Matrix | None
    masks: MaskCache
    ids: dict[int, str] = field(default_factory=dict)

    def similarities(self, probe: Probe, passing: Mask) -> Scores:
        """Return the cosine of every passage, and the best of every document."""
        layout = self.index.layout
        nothing = Scores(
            np.full(len(layout.documents), -np.inf), np.full(len(layout.start), -np.inf)
        )
        if probe.vector is None:
            return nothing  # a blank question
        given = unwrap(probe.vector)
        if self.matrix is None or not len(self.matrix):
            return nothing
        vector = unit_vectors([given], self.matrix.shape[1])[0]
        if not vector.any():
            return nothing  # what an embedding cannot read
        eligible = passing[layout.passage_document]
        found = cosines(self.matrix, vector, eligible)
        return Scores(best_of_documents(layout, found), found.astype(np.float64))

    def passing(self, probe: Probe) -> Mask:
        """Return which documents exist and match the filter of a probe."""
        index = self.index
        if probe.where is None:
            return index.living
        parsed = parse(probe.where)
        documents = index.layout.documents
        mask = self.masks.passing(self.connection, parsed, documents, index.version)
        return mask & index.living

    def ranking(
        self, probe: Probe, scores: Scores, passing: Mask, *, floor: float
    ) -> _Ranking:
        """Cut the best results out of the scores."""
        if probe.unit == "documents":
            eligible = passing & (scores.documents > floor)
            at = best_positions(scores.documents, eligible, probe.depth)
            best = self.in_order(at.tolist(), scores.documents)
        else:
            eligible = passing[self.index.layout.passage_document]
            eligible &= scores.passages > floor
            at = best_positions(scores.passages, eligible, probe.depth)
            best = self._passages_in_order(at.tolist(), scores.passages)
        return _Ranking(scores, passing, floor, best[: max(0, probe.depth)])

    def in_order(self, documents: Sequence[int], scores: Floats) -> list[int]:
        """Return documents by falling scores, equal ones by id."""
        ids = self.ids_of(documents)
        return sorted(documents, key=lambda at: (-scores[at], ids[at]))

    def _passages_in_order(self, passages: Sequence[int], scores: Floats) -> list[int]:
        document = self.index.layout.passage_document
        ids = self.ids_of(sorted({int(document[at]) for at in passages}))
        return sorted(
            passages, key=lambda at: (-scores[at], ids[int(document[at])], at)
        )

    def ids_of(self, documents: Sequence[int]) -> dict[int, str]:
        """Return the ids of documents, each read once for the round."""
        unknown = [at for at in documents if at not in self.ids]
        ordinals = self.index.layout.documents[unknown].tolist()
        read = read_ids(self.connection, ordinals)
        self.ids.update(
            (at, read[ordinal]) for at, ordinal in zip(unknown, ordinals, strict=True)
        )
        return self.ids

    def extras(self, own: _Ranking, others: Iterable[_Ranking]) -> list[int]:
        """Return the documents that only the other rankings brought."""
        found = {at for other in others for at in other.best} - set(own.best)
        allowed = sorted(at for at in found if own.passing[at])
        known = [at for at in allowed if np.isfinite(own.scores.documents[at])]
        return self.in_order(known, own.scores.documents)

    def best_passages(self, ranking: _Ranking, document: int) -> list[int]:
        """Return the best passages of a document, best first."""
        span = self.index.layout.passages_of(document)
        # Most documents have a few passages, for which plain lists are faster.
        scores = ranking.scores.passages[span].tolist()
        best = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
        return [
            span.start + at for at in best[:BEST_PASSAGES] if scores[at] > ranking.floor
        ]

    def document_results(
        self, probe: Probe, ranking: _Ranking, documents: Sequence[int]
    ) -> list[Found]:
        """Return documents with their best passages."""
        stored = self._read(documents, bodies=probe.bodies)
        return [
            self._found(
                stored[at],
                float(ranking.scores.documents[at]),
                self.best_passages(ranking, at),
            )
            for at in documents
        ]

    def score_results(
        self, probe: Probe, ranking: _Ranking, documents: Sequence[int]
    ) -> list[Found]:
        """Return documents of which the score alone is wanted."""
        if probe.bodies:
            return self.document_results(probe, ranking, documents)
        ids, scores = self.ids_of(documents), ranking.scores.documents
        return [Found(Hit(ids[at], None, score=float(scores[at]))) for at in documents]

    def passage_results(self, probe: Probe, ranking: _Ranking) -> list[Found]:
        """Return single passages."""
        of = {at: int(self.index.layout.passage_document[at]) for at in ranking.best}
        stored = self._read(sorted(set(of.values())), bodies=probe.bodies)
        return [
            self._found(stored[of[at]], float(ranking.scores.passages[at]), [at])
            for at in ranking.best
        ]

    def _read(self, documents: Sequence[int], *, bodies: bool) -> dict[int, Hit]:
        ordinals = self.index.layout.documents[list(documents)].tolist()
        read = read_documents(self.connection, ordinals, bodies=bodies)
        return {
            at: read[ordinal] for at, ordinal in zip(documents, ordinals, strict=True)
        }

    def _found(self, stored: Hit, score: float, passages: Sequence[int]) -> Found:
        start, end = self.index.layout.start, self.index.layout.end
        spans = [(int(start[at]), int(end[at])) for at in passages]
        held = tuple(
            Passage(first, last, stored.text and stored.text[first:last])
            for first, last in spans
        )
        # Hundreds a question: made anew, as `replace` takes its time.
        hit = Hit(stored.id, stored.text, stored.metadata, score, stored.length, held)
        if self.matrix is None or not passages:
            return Found(hit)
        return Found(hit, self.matrix[passages[0]])


def _listed(
    view: _View,
    probe: Probe,
    outcome: Outcome[_Ranking],
    outcomes: Sequence[Outcome[_Ranking]],
) -> Outcome[list[Found]]:
    """Turn a ranking into results, with what the other rankings brought if wanted."""
    if isinstance(outcome, Failed):
        return outcome
    own = outcome.value
    if probe.unit == "passages":
        return Ok(view.passage_results(probe, own))
    found = view.document_results(probe, own, own.best)
    if probe.complete:
        others = [other.value for other in outcomes if isinstance(other, Ok)]
        found += view.score_results(probe, own, view.extras(own, others))
    return Ok(found)
