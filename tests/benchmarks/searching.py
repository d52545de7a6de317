"""How much CPU searches take: by channel, by filter, and beside LangChain's parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_ctxfetch import HybridRetriever, SearchRequest, SQLiteStore
from langchain_ctxfetch._core.flow import unwrap
from tests.benchmarks.natural import SEED, RandomVectors, Writer, text_folder
from tests.benchmarks.timing import (
    Row,
    at_least,
    at_most,
    cpu_ms,
    median_cpu_ms,
    progress,
    told,
)

K = 10
QUESTIONS = 20
PEER_QUESTIONS = 3
FULL = 50_000
"""Documents of 1,000 characters, of two passages each: what the targets are for."""

SMALL, HALF = {"tenant": 7}, {"place": {"$lt": 5_000}}
FILTERS: Sequence[tuple[str, Mapping[str, Any], float]] = (
    ("2 %", SMALL, 8),
    ("50 %", HALF, 40),
)
"""What a filter leaves, the filter, and the milliseconds a query should take."""

FUSIONS = ("weighted", "round_robin")


@dataclass(frozen=True)
class Bench:
    """Hold what is searched and what is asked.

    Attributes:
        path: The file of the store.
        documents: How many it has.
        natural: Questions with stop words.
        rare: Questions of three rare words.
        vectors: Gives random vectors.
    """

    path: Path
    documents: int
    natural: Sequence[str]
    rare: Sequence[str]
    vectors: RandomVectors

    @property
    def full(self) -> bool:
        """Say whether targets can be judged at this size."""
        return self.documents >= FULL

    def opened(self) -> SQLiteStore:
        """Open the store anew, with nothing in memory."""
        return SQLiteStore(self.path, embedding=self.vectors)


def search_rows(documents: int) -> Iterator[Row]:
    """Measure every kind of query on one collection."""
    with TemporaryDirectory() as folder:
        bench = build(Path(folder, "store.db"), documents)
        with bench.opened() as store:
            passages = store.stats().passages
            yield told(f"collection of {documents:,} documents", passages, "passages")
        yield from opening_rows(bench)
        with bench.opened() as store:
            yield from channel_rows(store, bench)
            yield from filter_rows(store, bench)
            yield from new_filter_rows(store, bench)
            ours = hybrid_times(store, bench)
        yield from peer_rows(bench, ours)


def build(path: Path, documents: int) -> Bench:
    """Write a collection into a store, with random vectors."""
    progress(f"writing {documents:,} documents with vectors")
    asker = Writer(text_folder(), SEED + 1)  # draws other words than the documents
    natural = asker.questions(QUESTIONS)
    rare = asker.rare_questions(QUESTIONS, 1_000 * documents)
    bench = Bench(path, documents, natural, rare, RandomVectors([*natural, *rare]))
    with bench.opened() as store:
        for batch in Writer(text_folder()).batches(documents):
            store.add_documents(batch)
    return bench


def opening_rows(bench: Bench) -> Iterator[Row]:
    """Time the first query after opening, opening included."""
    progress("the first query after opening")
    for channel in ("keyword", "vector"):
        first = min(first_query_ms(bench, channel) for _ in range(3))
        what = f"opening and first query, {channel}"
        yield at_most(what, first, 500, "ms", judged=bench.full)


def first_query_ms(bench: Bench, channel: str) -> float:
    """Time opening the store, asking one question and closing it."""

    def open_and_ask() -> None:
        with bench.opened() as store:
            ask(store, channel, bench.natural[0])

    return cpu_ms(open_and_ask)


def channel_rows(store: SQLiteStore, bench: Bench) -> Iterator[Row]:
    """Time unfiltered queries of one channel."""
    progress("queries without a filter")
    for what, channel, questions, limit in (
        ("keyword query of 3 rare words", "keyword", bench.rare, 5),
        ("keyword query, natural question", "keyword", bench.natural, 25),
        (f"vector query, top {K}", "vector", bench.natural, 30),
    ):
        spent = median_cpu_ms(asking(store, channel), questions)
        yield at_most(what, spent, limit, "ms", judged=bench.full)


def filter_rows(store: SQLiteStore, bench: Bench) -> Iterator[Row]:
    """Time filtered queries of every kind; the filter was used before."""
    progress("filtered queries")
    for share, where, limit in FILTERS:
        for what, way, questions in (
            ("3 rare words", asking(store, "keyword", where), bench.rare),
            ("natural question", asking(store, "keyword", where), bench.natural),
            ("vector", asking(store, "vector", where), bench.natural),
            ("hybrid, weighted", hybrid(store, "weighted", where), bench.natural),
        ):
            spent = median_cpu_ms(way, questions)
            label = f"filtered to {share}, {what}"
            yield at_most(label, spent, limit, "ms", judged=bench.full)


def new_filter_rows(store: SQLiteStore, bench: Bench) -> Iterator[Row]:
    """Time queries that each bring a filter that was not used before."""
    small = [{"tenant": 10 + number} for number in range(QUESTIONS)]
    half = [{"place": {"$lt": 5_001 + number}} for number in range(QUESTIONS)]
    for share, filters in (("2 %", small), ("50 %", half)):
        asked = list(zip(bench.rare, filters, strict=True))
        spent = median_cpu_ms(
            lambda pair: ask(store, "keyword", *pair), asked, rounds=1
        )
        yield told(f"the same, each filter new, {share}, 3 rare words", spent, "ms")


def hybrid_times(store: SQLiteStore, bench: Bench) -> dict[str, float]:
    """Time our hybrid queries, by fusion."""
    progress("hybrid queries")
    return {
        fusion: median_cpu_ms(hybrid(store, fusion), bench.natural, rounds=1)
        for fusion in FUSIONS
    }


def peer_rows(bench: Bench, ours: Mapping[str, float]) -> Iterator[Row]:
    """Compare our hybrid queries with those of LangChain's usual parts."""
    progress("the same documents into EnsembleRetriever's parts")
    try:
        peer = ensemble(bench)
    except ImportError as error:
        for fusion, spent in ours.items():
            yield told(f"hybrid query, {fusion}; no peer: {error}", spent, "ms")
        return
    progress("hybrid queries of EnsembleRetriever")
    theirs = median_cpu_ms(peer.invoke, bench.natural[:PEER_QUESTIONS], rounds=1)
    for fusion, spent in ours.items():
        what = f"hybrid query, {fusion}; times less than EnsembleRetriever"
        row = at_least(what, theirs / spent, 30, "times", judged=bench.full)
        yield row.beside(f"{spent:.1f} ms", f"{theirs:,.0f} ms")


def ensemble(bench: Bench) -> BaseRetriever:
    """Put the same documents into LangChain's usual hybrid retriever."""
    # Only here: these are peers to compare with, which not everybody has.
    from langchain_classic.retrievers import EnsembleRetriever  # noqa: PLC0415
    from langchain_community.retrievers import BM25Retriever  # noqa: PLC0415

    batches = Writer(text_folder()).batches(bench.documents)
    documents = list(chain.from_iterable(batches))
    by_vector = InMemoryVectorStore(bench.vectors)
    by_vector.add_documents(documents)
    by_word = BM25Retriever.from_documents(documents, k=K)
    return EnsembleRetriever(
        retrievers=[by_word, by_vector.as_retriever(search_kwargs={"k": K})],
        weights=[0.5, 0.5],
    )


def hybrid(
    store: SQLiteStore, fusion: str, where: Mapping[str, Any] | None = None
) -> Callable[[str], Any]:
    """Return what answers a question by both channels."""
    return HybridRetriever.from_store(store, k=K, fusion=fusion, filter=where).invoke


def asking(
    store: SQLiteStore, channel: str, where: Mapping[str, Any] | None = None
) -> Callable[[str], Any]:
    """Return what answers a question by one channel."""
    return lambda question: ask(store, channel, question, where)


def ask(
    store: SQLiteStore,
    channel: str,
    question: str,
    where: Mapping[str, Any] | None = None,
) -> Any:
    """Bring the best documents of one channel, with their texts."""
    request = SearchRequest(channel, question, K, where, bodies=True)
    return unwrap(store.search_round([request])[0])
