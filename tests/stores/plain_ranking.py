"""The ranking formulas once more, slowly and plainly, to compare the stores with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from langchain_ctxfetch._core.outline import headings
from langchain_ctxfetch._core.sentences import split_passages
from langchain_ctxfetch._core.words import STOP_WORDS, split_terms
from langchain_ctxfetch._language import stemmer

K1, B = 1.5, 0.75
SECTION = 2_000


@dataclass
class Bag:
    """Terms of a passage or section; stop words are found, but have no length."""

    terms: list[str]
    stopped: list[str]

    def __add__(self, other: Bag) -> Bag:
        return Bag(self.terms + other.terms, self.stopped + other.stopped)

    def __mul__(self, times: int) -> Bag:
        return Bag(self.terms * times, self.stopped * times)

    def count(self, term: str) -> int:
        return self.terms.count(term) + self.stopped.count("stop " + term)


class Text:
    """One document: its passages, and the bags of passages and sections."""

    def __init__(self, text: str, title: str, *, markdown: bool, size: int) -> None:
        self.spans = split_passages(text, size)
        outline = headings(text) if markdown else []
        above = ["\n".join(_above(text, span, outline)) for span in self.spans]
        parts = [text[start:end] for start, end in self.spans]
        self.shown = [
            "\n".join(filter(None, (title, over, part)))
            for over, part in zip(above, parts, strict=True)
        ]
        own = [_bag(f"{over}\n{part}") for over, part in zip(above, parts, strict=True)]
        titled = _bag(title)
        self.passages = [bag + titled for bag in own]
        self.sections = [
            sum(own[first:past], Bag([], [])) + titled * 3
            for first, past in _sections(self.spans)
        ]


def keyword(texts: dict[str, Text], query: str) -> list[tuple[str, float]]:
    """Score every document: best section plus half the best passage, BM25 each."""
    asked = _bag(query)
    terms = asked.terms or ["stop " + word for word in _words(asked.stopped)]
    passages = _scores({id_: text.passages for id_, text in texts.items()}, terms)
    sections = _scores({id_: text.sections for id_, text in texts.items()}, terms)
    scored = [
        (id_, max(sections[id_]) + 0.5 * max(passages[id_]))
        for id_, text in texts.items()
        if text.spans
    ]
    return sorted(
        ((id_, score) for id_, score in scored if score > 0),
        key=lambda pair: (-pair[1], pair[0]),
    )


def vector(texts: dict[str, Text], query: str, embedding) -> dict[str, float]:
    """Return the cosine of each document's best passage."""
    asked = np.array(embedding.embed_query(query))
    found = {}
    for id_, text in texts.items():
        vectors = [np.array(each) for each in embedding.embed_documents(text.shown)]
        if vectors:
            found[id_] = max(_cosine(asked, each) for each in vectors)
    return found


def _cosine(one, other) -> float:
    return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))


def _scores(bags: dict[str, list[Bag]], terms: list[str]) -> dict[str, list[float]]:
    every = [bag for held in bags.values() for bag in held]
    lengths = [len(bag.terms) for bag in every]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1
    idf = {}
    for term in terms:
        holding = sum(_count(bag, term) > 0 for bag in every)
        idf[term] = math.log(1 + (len(every) - holding + 0.5) / (holding + 0.5))
    return {
        id_: [_bm25(bag, terms, idf, mean) for bag in held]
        for id_, held in bags.items()
    }


def _bm25(bag: Bag, terms: list[str], idf: dict[str, float], mean: float) -> float:
    norm = K1 * (1 - B + B * len(bag.terms) / mean)
    counts = [(term, _count(bag, term)) for term in terms]
    return sum(idf[term] * count * (K1 + 1) / (count + norm) for term, count in counts)


def _count(bag: Bag, term: str) -> int:
    return bag.terms.count(term) + bag.stopped.count(term)


def _bag(text: str) -> Bag:
    terms, stopped = split_terms(text, stemmer("en"), stop=STOP_WORDS)
    return Bag(terms, ["stop " + word for word in stopped])


def _words(stopped: list[str]) -> list[str]:
    return [word.removeprefix("stop ") for word in stopped]


def _sections(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return runs of neighbours of at most 2,000 characters, none within another."""
    runs: list[tuple[int, int]] = []
    for first in range(len(spans)):
        past = first + 1
        while past < len(spans) and spans[past][1] - spans[first][0] <= SECTION:
            past += 1
        if not runs or past > runs[-1][1]:
            runs.append((first, past))
    return runs


def _above(text: str, span: tuple[int, int], outline) -> list[str]:
    """Return the titles of the headings above a passage, which it does not hold."""
    start, end = span
    stack: list = []
    for heading in outline:
        if heading.start < start:
            stack = [one for one in stack if one.level < heading.level] + [heading]
    first = next((one for one in outline if start <= one.start < end), None)
    if first is not None and not text[start : first.start].strip():
        stack = [one for one in stack if one.level < first.level]
    return [heading.title for heading in stack]
