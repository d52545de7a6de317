"""Measure how well documents are ranked, beside the usual parts in the same run.

    python -m tests.benchmarks.retrieval [--sets cranfield scifact] [--no-mixed]

The data is looked for in `$CTXFETCH_DATA`, else in `../shared/data` beside the
checkout. `ours` is the keyword channel of SQLiteStore, passages and all; `usual` is
bm25s over whole documents (Lucene's form, k1 1.5, b 0.75, English stop words, Snowball
stemmer, title and text; character bigrams for Japanese). `mixed` lays the five English
sets into one index; `mistyped` asks each of them with one typing error a question.
Ends with 1 where a target is missed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

import bm25s
import ir_measures
import Stemmer
from ir_measures import R, nDCG
from langchain_core.documents import Document

from langchain_ctxfetch import SearchRequest, SQLiteStore
from tests.benchmarks.collections import (
    ENGLISH,
    JAPANESE,
    Collection,
    leave_without_data,
    load,
    mistyped,
    mixed,
)

DEPTH = 100
MEASURES = (nDCG @ 10, R @ 100)
SAMPLE = 1_000
"""Questions of jsquad that are judged: of every fourth one the first so many."""

TARGETS = {
    "cranfield": 0.390,
    "scifact": 0.700,
    "jsquad": 0.938,
    "covidqa": 0.84,
    "qmsum": 0.73,
    "mixed, mean": 0.585,
    "mistyped, mean": 0.60,
}

Run: TypeAlias = dict[str, dict[str, float]]
"""For each question the score of each document found."""


def ours(collection: Collection) -> tuple[Run, float]:
    """Rank by the keyword channel; return the run and CPU milliseconds a question."""
    with SQLiteStore() as store:
        store.add_documents(
            [
                Document(row["text"], id=row["id"], metadata={"title": row["title"]})
                for row in collection.documents
            ],
            batch_size=500,
        )
        run: Run = {}
        start = time.process_time()
        for question, text in collection.questions.items():
            (answer,) = store.search_round([SearchRequest("keyword", text, DEPTH)])
            run[question] = {hit.id: hit.score for hit in answer.value}
        spent = time.process_time() - start
    return run, 1000 * spent / len(collection.questions)


def usual(collection: Collection) -> tuple[Run, float]:
    """Rank by bm25s over whole documents; return the same as `ours`."""
    japanese = collection.name in JAPANESE
    texts = [f"{row['title']} {row['text']}" for row in collection.documents]
    split = _bigrams if japanese else _stems()
    index = bm25s.BM25(method="lucene", k1=1.5, b=0.75)
    index.index(split(texts), show_progress=False)
    ids = [row["id"] for row in collection.documents]
    run: Run = {}
    start = time.process_time()
    for question, text in collection.questions.items():
        found, scores = index.retrieve(
            split([text]), k=min(DEPTH, len(ids)), show_progress=False
        )
        run[question] = {
            ids[at]: float(score)
            for at, score in zip(found[0], scores[0], strict=True)
            if score > 0
        }
    spent = time.process_time() - start
    return run, 1000 * spent / len(collection.questions)


def _stems() -> Callable[[list[str]], object]:
    stemmer = Stemmer.Stemmer("english")

    def split(texts: list[str]) -> object:
        return bm25s.tokenize(
            texts, stopwords="en", stemmer=stemmer, show_progress=False
        )

    return split


def _bigrams(texts: list[str]) -> list[list[str]]:
    return [
        [text[at : at + 2] for at in range(len(text) - 1) if text[at : at + 2].strip()]
        for text in texts
    ]


WAYS: Mapping[str, Callable[[Collection], tuple[Run, float]]] = {
    "usual": usual,
    "ours": ours,
}


def measured(run: Run, collection: Collection) -> list[float]:
    """Return the measures of a run over the questions of a collection."""
    judged = {id_: collection.judgements[id_] for id_ in collection.questions}
    found = {id_: run.get(id_, {}) for id_ in judged}
    results = ir_measures.calc_aggregate(MEASURES, judged, found)
    return [results[measure] for measure in MEASURES]


def parts(whole: Collection) -> Iterator[Collection]:
    """Yield, of sets laid into one, the questions of each set."""
    for name in ENGLISH:
        own = {
            id_: text
            for id_, text in whole.questions.items()
            if id_.startswith(f"{name}/")
        }
        if own:
            yield Collection(f"mixed, {name}", [], own, whole.judgements)


def row(name: str, way: str, figures: list[float], spent: float | None = None) -> bool:
    """Print one row of the table; return whether a target of ours is missed."""
    target = TARGETS.get(name) if way == "ours" else None
    missed = target is not None and figures[0] < target
    cells = " | ".join(f"{figure:.4f}" for figure in figures)
    cost = "" if spent is None else f"{spent:.1f}"
    aim = "" if target is None else f"{'MISSED' if missed else 'reached'} {target:g}"
    print(f"| {name} | {way} | {cells} | {cost} | {aim} |", flush=True)
    return missed


def table(names: list[str], *, with_mixed: bool) -> bool:
    """Print the table; return whether a target is missed."""
    print("| set | way | nDCG@10 | R@100 | CPU ms a question | target |")
    print("|---|---|---|---|---|---|")
    missed = False
    loaded = [_sampled(load(name)) for name in names]
    for collection in loaded:
        for way, rank in WAYS.items():
            run, spent = rank(collection)
            missed |= row(collection.name, way, measured(run, collection), spent)
    english = [each for each in loaded if each.name in ENGLISH]
    if with_mixed:
        whole = mixed(english)
        for way, rank in WAYS.items():
            run, spent = rank(whole)
            figures = [(part.name, measured(run, part)) for part in parts(whole)]
            missed |= _with_mean("mixed, mean", way, figures, spent)
    for way, rank in WAYS.items():
        wrong = [mistyped(each) for each in english]
        figures = [(each.name, measured(rank(each)[0], each)) for each in wrong]
        missed |= _with_mean("mistyped, mean", way, figures)
    return missed


def _with_mean(
    name: str,
    way: str,
    figures: list[tuple[str, list[float]]],
    spent: float | None = None,
) -> bool:
    """Print the rows of several sets, and their mean under a name of its own."""
    if not figures:
        return False
    missed = False
    for each, part in figures:
        missed |= row(each, way, part)
    columns = zip(*(part for _, part in figures), strict=True)
    mean = [sum(column) / len(figures) for column in columns]
    return row(name, way, mean, spent) or missed


def _sampled(collection: Collection) -> Collection:
    if collection.name not in JAPANESE:
        return collection
    questions = dict(list(collection.questions.items())[::4][:SAMPLE])
    return Collection(
        collection.name, collection.documents, questions, collection.judgements
    )


def main() -> None:
    """Read the arguments and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*ENGLISH, *JAPANESE]
    parser.add_argument("--sets", nargs="+", choices=every, default=every)
    parser.add_argument("--no-mixed", action="store_true")
    given = parser.parse_args()
    leave_without_data()
    sys.exit(table(given.sets, with_mixed=not given.no_mixed))


if __name__ == "__main__":
    main()
