"""The ranking formulas once more, slowly and plainly, to compare the stores with."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
import regex

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
        return self.terms.count(term) + self.stopped.count(term)

    def follow(self, one: str, other: str) -> int:
        """Count how often one term stands right before another."""
        pairs = [*pairwise(self.terms), *pairwise(self.stopped)]
        return pairs.count((one, other))


class Text:
    """One document: its passages, and the bags of passages and sections."""

    def __init__(self, text: str, title: str, *, markdown: bool, size: int) -> None:
        self.title = title
        self.spans = split_passages(text, size)
        outline = headings(text) if markdown else []
        above = ["\n".join(_above(text, span, outline)) for span in self.spans]
        parts = [text[start:end] for start, end in self.spans]
        self.shown = [
            "\n".join(filter(None, (title, over, part)))
            for over, part in zip(above, parts, strict=True)
        ]
        own = [_bag(f"{over}\n{part}") for over, part in zip(above, parts, strict=True)]
        titled = _bag(title if self.spans else "")
        self.rows = [*own, titled]
        self.passages = [bag + titled for bag in own]
        self.sections = [
            sum(own[first:past], Bag([], [])) + titled * 3
            for first, past in _sections(self.spans)
        ]


def keyword(
    texts: dict[str, Text], query: str, passing: Collection[str] | None = None
) -> list[tuple[str, float]]:
    """Score every document that may be shown by the formula, best first."""
    asked = _bag(query)
    terms = asked.terms or asked.stopped
    shown = [id_ for id_, text in texts.items() if passing is None or id_ in passing]
    weights = _replaced([texts[id_] for id_ in shown], terms)
    passages, idf = _scores(
        {id_: text.passages for id_, text in texts.items()}, weights
    )
    sections, _ = _scores({id_: text.sections for id_, text in texts.items()}, weights)
    scores = {
        id_: max(sections[id_]) + 0.5 * max(passages[id_])
        for id_ in shown
        if texts[id_].spans
    }
    for id_, _ in _ranked(scores)[:100]:
        best = sorted(range(len(passages[id_])), key=lambda at: -passages[id_][at])[:3]
        gains = [_bonus(texts[id_], at, terms, idf) for at in best]
        scores[id_] += 0.3 * max(gains)
    return _ranked(scores)


def _ranked(scores: dict[str, float]) -> list[tuple[str, float]]:
    return sorted(
        ((id_, score) for id_, score in scores.items() if score > 0),
        key=lambda pair: (-pair[1], pair[0]),
    )


def _bonus(text: Text, at: int, terms: list[str], idf: dict[str, float]) -> float:
    """Return what the neighbours in a question bring to a passage."""
    bonus = 0.0
    asked = set(pairwise(terms))
    for one, other in {tuple(sorted(pair)) for pair in asked}:
        if one == other or not {one, other} <= idf.keys() or _CJK.search(one + other):
            continue
        times = sum(
            text.rows[at].follow(*pair)
            for pair in ((one, other), (other, one))
            if pair in asked
        )
        bonus += min(idf[one], idf[other]) * 2.5 * times / (times + 1.5)
    return bonus


def _replaced(texts: list[Text], terms: list[str]) -> dict[str, float]:
    """Weigh terms; the nearest words stand for those that no text holds."""
    rows = [row for text in texts for row in text.rows]
    vocabulary = {
        term for row in rows for term in row.terms if _LETTERS.fullmatch(term)
    }
    weights: dict[str, float] = {}
    for term in terms:
        known = any(row.count(term) for row in rows)
        if known or len(term) < 4 or not _LETTERS.fullmatch(term):
            weights[term] = weights.get(term, 0) + 1
            continue
        limit = 2 if len(term) >= 7 else 1
        found = [(edits(term, word), word) for word in vocabulary]
        least = min((distance for distance, _ in found), default=limit + 1)
        nearest = [word for distance, word in found if distance == least <= limit]
        nearest.sort(key=lambda word: (-sum(word in row.terms for row in rows), word))
        for word in nearest[:3]:
            weights[word] = weights.get(word, 0) + {1: 0.7, 2: 0.5}[least]
    return weights


@cache
def edits(one: str, other: str) -> int:
    """Count the edits between two words, from their ends."""
    if not one or not other:
        return len(one) + len(other)
    ways = [
        edits(one[:-1], other) + 1,
        edits(one, other[:-1]) + 1,
        edits(one[:-1], other[:-1]) + (one[-1] != other[-1]),
    ]
    if len(one) > 1 and one[-2:] == other[-1] + other[-2:-1]:
        ways.append(edits(one[:-2], other[:-2]) + 1)
    return min(ways)


_LETTERS = regex.compile(r"[\p{L}\p{M}]+")
_CJK = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}]")


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


def _scores(
    bags: dict[str, list[Bag]], weights: dict[str, float]
) -> tuple[dict[str, list[float]], dict[str, float]]:
    """Return BM25 of every bag, and the idf of the terms that are found."""
    every = [bag for held in bags.values() for bag in held]
    lengths = [len(bag.terms) for bag in every]
    mean = sum(lengths) / len(lengths) if any(lengths) else 1
    idf = {}
    for term in weights:
        holding = sum(bag.count(term) > 0 for bag in every)
        if holding:
            idf[term] = math.log(1 + (len(every) - holding + 0.5) / (holding + 0.5))
    scores = {
        id_: [_bm25(bag, weights, idf, mean) for bag in held]
        for id_, held in bags.items()
    }
    return scores, idf


def _bm25(
    bag: Bag, weights: dict[str, float], idf: dict[str, float], mean: float
) -> float:
    norm = K1 * (1 - B + B * len(bag.terms) / mean)
    counts = [(term, bag.count(term)) for term in idf]
    return sum(
        weights[term] * idf[term] * count * (K1 + 1) / (count + norm)
        for term, count in counts
    )


def _bag(text: str) -> Bag:
    terms, stopped = split_terms(text, stemmer("en"), stop=STOP_WORDS)
    return Bag(terms, ["stop " + word for word in stopped])


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
