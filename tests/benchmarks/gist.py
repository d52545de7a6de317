"""Measure what is left of a document that is cut where nobody has asked for anything.

    python -m tests.benchmarks.gist [--sets covidqa qmsum jsquad]

The data is looked for as in `survival`. 10, 25 and 50 percent of the characters may
stay. covidqa and jsquad count the questions of which an answer is wholly kept, qmsum
the share of the characters and of the content words of the evidence, the labels of
speakers left aside; literals are the share of the distinct numbers, names and addresses
of a document, as a mean of the sets. Content words are found by the list that the
score uses as well, which favours it. What was taken out of a transcript counts as lost.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from langchain_ctxfetch._core.excerpts import Marks, excerpt, whole_text
from langchain_ctxfetch._core.gist import FILLERS, score_gist, spoken
from langchain_ctxfetch._core.shrinking import EXCERPT, Part, Reader, Shrinking
from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch._core.words import STOP_WORDS
from langchain_ctxfetch._language import stemmer
from tests.benchmarks.survival import DATA, Case, cases

SHARES = (0.1, 0.25, 0.5)
SETS = ("covidqa", "qmsum", "jsquad")

TARGETS = {
    ("jsquad", "spans"): (0.16, 0.38, 0.65),
    ("qmsum", "content words"): (0.17, 0.41, 0.74),
    ("all", "literals"): (0.38, 0.62, 0.82),
}

_WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(r"^[^\W\d_][^:\n]{0,39}:\s", re.MULTILINE)
_TAG = re.compile(r"\{\w+\}")
# Not the pattern of the score: that would measure itself.
_LITERAL = re.compile(
    r"https?://[^\s<>\"]+|`[^`\n]+`|\d[\d.,:/%-]*\d%?|\d%?|\b[A-Z]{2,}\w*"
    r"|(?<=[a-z,;] )[A-Z][a-z]+(?: [A-Z][a-z]+)*|[\u30a1-\u30fa\u30fc]{3,}"
)


class Kept(NamedTuple):
    """Be what a way keeps of a text: stretches of its source, and what they make."""

    source: str
    spans: Sequence[Span]
    text: str


Way = Callable[[str], Callable[[int], Kept]]
"""A text, and then the room, to what is kept."""


def head(text: str) -> Callable[[int], Kept]:
    """Keep the beginning."""
    return lambda room: Kept(text, [(0, room)], text[:room])


def ours(text: str) -> Callable[[int], Kept]:
    """Keep what the core picks."""
    source = spoken(text)
    scored = score_gist(source, stem=stemmer("en"))
    material = replace(whole_text(source), scored=scored)

    def keep(room: int) -> Kept:
        made = excerpt(material, room, Marks())
        return Kept(source, made.spans, made.text)

    return keep


def product(text: str) -> Callable[[int], Kept]:
    """Keep what a part of a context is reduced to, its label counted."""
    part = Shrinking(Part("", "", text), Reader(stemmer("en"), "", lambda body: body))
    source = spoken(text)

    def keep(room: int) -> Kept:
        form = part.at(room)
        made = "" if form is None else form.text
        return Kept(source, _found(source, made.removeprefix(EXCERPT)), made)

    return keep


def _found(source: str, made: str) -> list[Span]:
    """Return where the passages of an excerpt stand in its source."""
    spans: list[Span] = []
    at = 0
    for passage in made.split(Marks().gap):
        start = source.find(passage, at)
        if start >= 0 and passage:
            at = start + len(passage)
            spans.append((start, at))
    return spans


WAYS: dict[str, Way] = {"head": head, "ours, core": ours, "ours, Shrinking": product}


@dataclass(frozen=True)
class Document:
    """Be a document with the questions on it."""

    text: str
    cases: Sequence[Case]


def documents(name: str) -> list[Document]:
    """Return the documents of a set."""
    found: defaultdict[str, list[Case]] = defaultdict(list)
    for case in cases(name):
        found[case.text].append(case)
    return [Document(text, group) for text, group in found.items()]


def content(text: str) -> int:
    """Count the content words of a text."""
    words = _WORD.findall(_TAG.sub("", _LABEL.sub("", text)).lower())
    return sum(word not in STOP_WORDS and word not in FILLERS for word in words)


def moved(text: str, source: str, spans: Iterable[Span]) -> list[Span]:
    """Return stretches of whole lines of *text* in *source*, which has as many."""
    if text is source:
        return list(spans)
    lengths = [len(line) for line in source.splitlines(keepends=True)]
    starts = [0, *accumulate(lengths)]
    return [
        (starts[text.count("\n", 0, start)], starts[text.count("\n", 0, end - 1) + 1])
        for start, end in spans
    ]


def evidence(case: Case, kept: Kept) -> tuple[float, float]:
    """Return the shares of the characters and of the content words that are kept."""
    shared = [
        kept.source[max(a, c) : min(b, d)]
        for a, b in kept.spans
        for c, d in moved(case.text, kept.source, case.wanted)
        if max(a, c) < min(b, d)
    ]
    wanted = [case.text[start:end] for start, end in case.wanted]
    return (
        sum(map(len, shared)) / sum(map(len, wanted)),
        sum(map(content, shared)) / max(1, sum(map(content, wanted))),
    )


def measured(name: str, document: Document, kept: Kept) -> dict[str, list[float]]:
    """Return each measure of a document once for each of its questions."""
    found: dict[str, list[float]] = {}
    if name == "qmsum":
        shares = [evidence(case, kept) for case in document.cases]
        found["characters"] = [characters for characters, _ in shares]
        found["content words"] = [words for _, words in shares]
    else:
        found["spans"] = [case.kept(kept.spans) for case in document.cases]
    literals = set(_LITERAL.findall(document.text))
    if literals:
        told = literals.intersection(_LITERAL.findall(kept.text))
        found["literals"] = [len(told) / len(literals)]
    return found


def means(
    way: Way, sets: dict[str, list[Document]], share: float
) -> tuple[dict[tuple[str, str], float], list[float]]:
    """Return the means of a way by set and measure, and how full each room is."""
    values: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    filled: list[float] = []
    for name, texts in sets.items():
        for document in texts:
            room = int(share * len(document.text))
            kept = way(document.text)(room)
            if len(kept.text) > room:
                raise AssertionError(f"{len(kept.text)} characters in {room}")
            filled.append(len(kept.text) / room)
            for measure, found in measured(name, document, kept).items():
                values[name, measure] += found
    found_means = {key: statistics.fmean(found) for key, found in values.items()}
    found_means["all", "literals"] = statistics.fmean(
        found_means.pop((name, "literals")) for name in sets
    )
    return found_means, filled


def measure(sets: dict[str, list[Document]]) -> bool:
    """Print the table; return whether the last way meets the targets."""
    met = True
    for label, way in WAYS.items():
        met = True
        rows = [means(way, sets, share) for share in SHARES]
        print(f"\n{label}")
        for key in rows[0][0]:
            figures = [found[key] for found, _ in rows]
            targets = TARGETS.get(key, (0.0,) * len(SHARES))
            low = any(a < b for a, b in zip(figures, targets, strict=True))
            met = met and not low
            line = " / ".join(f"{figure:.3f}" for figure in figures)
            print(f"  {' '.join(key):24s}{line}{'  below target' * low}")
        full = " / ".join(f"{statistics.fmean(filled):.3f}" for _, filled in rows)
        print(f"  {'room used':24s}{full}", flush=True)
    return met


def measure_cpu() -> None:
    """Print the seconds of CPU that a million characters take."""
    for name in ("war-and-peace.en", "neko.ja.aozora", "rfc2616-http11.en"):
        path = DATA / "texts" / f"{name}.txt"
        text = path.read_text(encoding="utf-8")[:1_000_000]
        before = time.process_time()
        score_gist(spoken(text), stem=stemmer("en"))
        seconds = (time.process_time() - before) / len(text) * 1e6
        print(f"{name:26s}{seconds:.2f} s of CPU per million characters")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    options = parser.parse_args(arguments)
    met = measure({name: documents(name) for name in options.sets})
    print()
    measure_cpu()
    # The literals have a target for all sets together.
    return 0 if met or set(options.sets) != set(SETS) else 1


if __name__ == "__main__":
    sys.exit(main())
