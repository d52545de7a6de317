"""Measure what everything costs, peers in the same run, against our targets.

    python -m tests.benchmarks.speed [--quick] [--only search ranking indexing ...]

Figures are CPU time of one thread, where not said otherwise: wall time on a shared
machine shows its neighbours. Vectors are random and given, no model is run. Texts
are synthetic, with the word frequencies of real ones where `CTXFETCH_DATA` names the
folder of `tests.benchmarks.retrieval`; `CTXFETCH_REFERENCE` names the folder of the
script that passage selection is compared with. `--quick` takes a few minutes on a
tenth of everything and judges only what does not depend on size. Ends with 1 where a
target is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_ctxfetch import HybridRetriever, SearchRequest, SQLiteStore
from langchain_ctxfetch._core.flow import unwrap
from langchain_ctxfetch._language import stemmer
from langchain_ctxfetch.stores.langchain import RetrieverChannel
from tests.benchmarks.collections import data_folder, load
from tests.benchmarks.natural import Writer, text_folder
from tests.benchmarks.searching import search_rows
from tests.benchmarks.survival import cases, passages
from tests.benchmarks.timing import (
    HEADER,
    Row,
    at_least,
    at_most,
    cpu_ms,
    progress,
    told,
    wall_ms,
    yardstick,
)
from tests.stores import plain_ranking

CHECKOUT = Path(__file__).resolve().parents[2]
PLACES = 101
ROOM = 4_000  # characters that passages are selected for
QUESTION = "How did the prince and the general describe the battle in winter?"
QUESTION_JA = "主人の妻君は猫についてどう思っているか。"


@dataclass(frozen=True)
class Scale:
    """Say how much is measured.

    Attributes:
        documents: In the collection that is searched.
        indexed: Documents that are written for the speed of writing.
        streamed: Megabytes that stream through.
        every: One of so many judged questions of scifact is compared.
    """

    documents: int
    indexed: int
    streamed: int
    every: int


FULL = Scale(documents=50_000, indexed=10_000, streamed=1_000, every=1)
QUICK = Scale(documents=5_000, indexed=2_000, streamed=100, every=60)


def ranking_rows(scale: Scale) -> Iterator[Row]:
    """Compare rankings with the formula evaluated for every document."""
    if not (data_folder() / "scifact").is_dir():
        progress("no scifact: ranking not compared")
        return
    collection = load("scifact")
    questions = list(collection.questions.values())[:: scale.every]
    progress(f"the formula for every document, {len(questions)} questions")
    plain = plain_texts(collection.documents)
    with SQLiteStore() as store:
        store.add_documents([as_document(row) for row in collection.documents])
        same = 0
        for number, question in enumerate(questions, 1):
            request = SearchRequest("keyword", question, PLACES)
            ours = [hit.id for hit in unwrap(store.search_round([request])[0])]
            exact = [id_ for id_, _ in plain_ranking.keyword(plain, question)]
            same += ours == exact[:PLACES]
            # It remembers the beginnings of all words, a gigabyte in a few questions.
            plain_ranking.edits.cache_clear()
            if number % 50 == 0:
                progress(f"{same} of {number} the same")
    what = f"scifact: questions whose first {PLACES} are exactly the formula's"
    yield at_least(what, same, len(questions), f"of {len(questions)}")


class Counted(list[str]):
    """Be a list of terms that knows at once which it holds, and how often."""

    def __init__(self, terms: list[str]) -> None:
        super().__init__(terms)
        # A plain dict: a Counter is slow about terms that it does not hold.
        self._counts = dict(Counter(terms))

    def __contains__(self, term: object) -> bool:
        return term in self._counts

    def count(self, term: str) -> int:
        """Return how often a term is there."""
        return self._counts.get(term, 0)


def plain_texts(rows: list[dict[str, str]]) -> dict[str, plain_ranking.Text]:
    """Cut documents for the plain formula, with terms that are quick to count."""
    plain = {
        row["id"]: plain_ranking.Text(
            row["text"], row["title"], markdown=False, size=600
        )
        for row in rows
    }
    for text in plain.values():
        for bag in [*text.passages, *text.sections, *text.rows]:
            bag.terms, bag.stopped = Counted(bag.terms), Counted(bag.stopped)
    return plain


def as_document(row: dict[str, str]) -> Document:
    """Make a document of a row of a collection."""
    return Document(row["text"], id=row["id"], metadata={"title": row["title"]})


def indexing_rows(scale: Scale) -> Iterator[Row]:
    """Time writing, without vectors, into a file."""
    progress(f"indexing {scale.indexed:,} documents, three times")
    batches = list(Writer(text_folder()).batches(scale.indexed))
    spent = min(indexing_ms(batches) for _ in range(3))
    what = f"indexing {scale.indexed:,} documents of 1 KB"
    yield at_least(what, 1_000 * scale.indexed / spent, 1_500, "a second")


def indexing_ms(batches: list[list[Document]]) -> float:
    """Write documents into a new store; return milliseconds of CPU."""
    with TemporaryDirectory() as folder, SQLiteStore(Path(folder, "store.db")) as store:
        return cpu_ms(lambda: [store.add_documents(batch) for batch in batches])


def memory_rows(scale: Scale) -> Iterator[Row]:
    """Stream text through a store in another process; its peak should be flat."""
    progress(f"streaming {scale.streamed:,} MB through a store")
    command = ["-m", "tests.benchmarks.streaming", str(scale.streamed)]
    figures = json.loads(python(*command))
    yield told("peak memory before the first document", figures["0 %"], "MB")
    for mark in ("10 %", "50 %", "100 %"):
        what = f"peak memory at {mark} of {scale.streamed:,} MB"
        yield told(what, figures[mark], "MB")
    growth = figures["100 %"] / figures["10 %"]
    full = scale is FULL
    yield at_most("peak memory, 100 % to 10 %", growth, 1.1, "times", judged=full)
    speed = figures["documents a second"]
    yield told(f"documents of 1 KB indexed, {scale.streamed:,} MB", speed, "a second")


class Sleeping(BaseRetriever):
    """Find one document in a tenth of a second."""

    def _get_relevant_documents(self, query, *, run_manager):
        time.sleep(0.1)
        return [Document(query, id="found")]

    async def _aget_relevant_documents(self, query, *, run_manager):
        await asyncio.sleep(0.1)
        return [Document(query, id="found")]


def channel_rows(_: Scale) -> Iterator[Row]:
    """Time two slow channels that should be asked at once."""
    progress("two channels of 100 ms")
    channels = [RetrieverChannel(Sleeping(), name=name) for name in ("one", "two")]
    retriever = HybridRetriever(channels=channels)
    for what, call in (
        ("sync", lambda: retriever.invoke("tea")),
        ("async", lambda: asyncio.run(retriever.ainvoke("tea"))),
    ):
        call()
        wall = min(wall_ms(call) for _ in range(5))
        yield at_most(f"two channels of 100 ms, {what}, best wall", wall, 120, "ms")


def passage_rows(scale: Scale) -> Iterator[Row]:
    """Time the selection of passages, beside the reference where there is one."""
    del scale
    progress("selecting passages")
    reference = loaded_reference()
    for name, jobs in passage_jobs():
        spent, others = selection_times(jobs, reference)
        if not others:
            yield told(f"selecting passages of {name}", spent, "ms a question")
            continue
        ratio = spent / others
        row = at_most(
            f"selecting passages of {name}, to reference", ratio, 1.2, "times"
        )
        yield row.beside(f"{spent:.1f} ms", f"{others:.1f} ms")
    yield growth_row()


def growth_row() -> Row:
    """Compare twice as long a text: selection should be linear."""
    text = long_text()
    half, whole = [(text[:2_000_000], QUESTION)] * 5, [(text, QUESTION)] * 5
    ratio = selection_times(whole, None)[0] / selection_times(half, None)[0]
    return at_most("selecting passages of 4 MB, to 2 MB", ratio, 2.3, "times")


def passage_jobs() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield texts, each with its questions."""
    folder = text_folder()
    if folder is None:
        text = Writer(None).long_text(500_000)
        yield "a text of 500 KB", [(text, QUESTION)] * 5
        return
    for name in ("alice.en", "rfc2616-http11.en", "war-and-peace.en"):
        yield name, [((folder / f"{name}.txt").read_text("utf-8"), QUESTION)] * 5
    japanese = (folder / "neko.ja.aozora.txt").read_text("utf-8")
    yield "neko.ja.aozora", [(japanese, QUESTION_JA)] * 5
    for name, every in (("covidqa", 22), ("qmsum", 12)):
        yield name, [(case.text, case.query) for case in cases(name)[::every]]


def long_text() -> str:
    """Return 4 MB of text."""
    folder = text_folder()
    if folder is None:
        return Writer(None).long_text(4_000_000)
    novel = (folder / "war-and-peace.en.txt").read_text("utf-8")
    return (novel * 2)[:4_000_000]


def selection_times(
    jobs: list[tuple[str, str]], reference: ModuleType | None
) -> tuple[float, float]:
    """Return the median CPU milliseconds of ours and of the reference, 0 for none."""
    stem = stemmer("en")
    ours, others = [], []
    for text, question in jobs:
        # In turn, so that both meet the same moods of the machine.
        ours.append(least_ms(lambda: passages(text, question, ROOM)))  # noqa: B023 - called at once
        if reference is not None:
            others.append(
                least_ms(lambda: by_reference(reference, text, question, stem))  # noqa: B023 - called at once
            )
    return statistics.median(ours), statistics.median(others or [0])


def least_ms(call: Callable[[], object]) -> float:
    """Return the least CPU milliseconds of two calls."""
    return min(cpu_ms(call), cpu_ms(call))


def by_reference(
    reference: ModuleType, text: str, question: str, stem: Callable[[str], str]
) -> None:
    """Select passages by the script that the method was found with."""
    units, scores = reference.rank(text, question, ROOM, stem)
    reference.pick(units, scores, ROOM)


def loaded_reference() -> ModuleType | None:
    """Load the script from the folder that `CTXFETCH_REFERENCE` names."""
    folder = os.environ.get("CTXFETCH_REFERENCE")
    path = Path(folder or "", "passages_research.py")
    spec = importlib.util.spec_from_file_location("passages_research", path)
    if not folder or not path.exists() or spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def import_rows(_: Scale) -> Iterator[Row]:
    """Time the import of the package, less the start of Python."""
    progress("importing")
    bare = min(child_seconds("pass") for _ in range(7))
    whole = min(child_seconds("import langchain_ctxfetch") for _ in range(7))
    yield at_most("import langchain_ctxfetch", whole - bare, 0.1, "s")


def child_seconds(code: str) -> float:
    """Return the CPU seconds of a Python that runs *code*."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = spent()
    python("-c", code)
    return spent() - before


def python(*arguments: str) -> str:
    """Run Python in the checkout and return what it prints."""
    command = [sys.executable, *arguments]
    done = subprocess.run(
        command, cwd=CHECKOUT, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


GROUPS: dict[str, Callable[[Scale], Iterator[Row]]] = {
    "import": import_rows,
    "channels": channel_rows,
    "passages": passage_rows,
    "indexing": indexing_rows,
    "search": lambda scale: search_rows(scale.documents),
    "ranking": ranking_rows,
    "memory": memory_rows,
}


def with_one_thread() -> None:
    """Start anew where numpy may use several threads: it reads that at its import."""
    if os.environ.get("OMP_NUM_THREADS") != "1":
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        os.execve(sys.executable, sys.orig_argv, environment)


def main() -> None:
    """Read the arguments and print the table, row by row as it comes."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=GROUPS, default=list(GROUPS))
    given = parser.parse_args()
    with_one_thread()
    print(HEADER)
    print(yardstick(), flush=True)
    missed = False
    for name in given.only:
        for row in GROUPS[name](QUICK if given.quick else FULL):
            print(row, flush=True)
            missed |= row.met is False
    print(yardstick(), flush=True)
    sys.exit(missed)


if __name__ == "__main__":
    main()
