"""Synthetic texts that are natural in what costs time: how often which word occurs.

Words and their frequencies are those of the English books and specifications in
`$CTXFETCH_DATA/texts`; without that folder they are made up, stop words first, by
Zipf's law. A long tail of made-up words follows in both cases, as in any large
collection. All of it comes from one seed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice
from pathlib import Path

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.words import STOP_WORDS

SEED = 20_261_201
DIMENSIONS = 384

_HEAD = 20_000  # made-up words where no texts are at hand
_TAIL = 150_000  # made-up words that are rarer than any of the texts
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aiou"]
_TEMPLATES = (
    "What did the {} of the {} have to do with {} and {} in the end?",
    "Why was it that the {} could not be {} without the {} or the {}?",
    "How does a {} come from the {} when there is no {} about the {}?",
    "Which of the {} were as {} as those that {} had in the {}?",
)


def text_folder() -> Path | None:
    """Return the folder of long texts, where `CTXFETCH_DATA` names one."""
    data = os.environ.get("CTXFETCH_DATA")
    folder = Path(data, "texts") if data else None
    return folder if folder and folder.is_dir() else None


class Writer:
    """Write documents and questions of words as frequent as in real texts.

    Args:
        folder: Where texts lie that lend their words; None makes words up.
        seed: What the same writer writes the same from.
    """

    def __init__(self, folder: Path | None, seed: int = SEED) -> None:
        counts = _made_up_counts() if folder is None else _counts_in(folder)
        counts |= _tail(len(counts), min(counts.values()))
        self._words = list(counts)
        self._upto = np.fromiter(accumulate(counts.values()), np.float64)
        self._upto /= self._upto[-1]
        self._random = np.random.default_rng(seed)

    def texts(self, size: int = 1_000) -> Iterator[str]:
        """Write texts of about *size* characters, without end."""
        length = np.array([len(word) for word in self._words])
        share = np.diff(self._upto, prepend=0)
        words = round(size / (length @ share + 1.1))  # blanks and full stops
        while True:
            drawn = self._drawn(100 * words)
            for start in range(0, len(drawn), words):
                yield _sentences(drawn[start : start + words])

    def batches(self, count: int, size: int = 1_000) -> Iterator[list[Document]]:
        """Write numbered documents: fifty tenants, and a place from 0 to 9,999."""
        texts = self.texts()
        for start in range(0, count, size):
            batch = islice(texts, min(size, count - start))
            yield [_document(number, text) for number, text in enumerate(batch, start)]

    def long_text(self, characters: int) -> str:
        """Write one text of exactly so many characters, in paragraphs."""
        written = islice(self.texts(), characters // 900 + 1)
        return "\n\n".join(written)[:characters]

    def questions(self, count: int) -> list[str]:
        """Ask naturally: stop words, and words as frequent as those of the texts."""
        content = (word for word in self._endlessly() if _is_content(word))
        return [
            _TEMPLATES[number % len(_TEMPLATES)].format(*islice(content, 4))
            for number in range(count)
        ]

    def rare_questions(self, count: int, characters: int) -> list[str]:
        """Ask for three words, each about 5 to 100 times in so many characters."""
        expected = characters / 6 * np.diff(self._upto, prepend=0)
        rare = np.flatnonzero((expected >= 5) & (expected <= 100))
        drawn = self._random.choice(rare, (count, 3), replace=False)
        return [" ".join(self._words[at] for at in row) for row in drawn.tolist()]

    def _drawn(self, count: int) -> list[str]:
        places = np.searchsorted(self._upto, self._random.random(count), side="right")
        return [self._words[at] for at in places.tolist()]

    def _endlessly(self) -> Iterator[str]:
        while True:
            yield from self._drawn(1_000)


class RandomVectors(Embeddings):
    """Give each text the next random unit vector, and look those of questions up.

    Args:
        questions: What will be asked.
    """

    def __init__(self, questions: Sequence[str]) -> None:
        self._random = np.random.default_rng(SEED)
        self._known = dict(
            zip(questions, self._unit_vectors(len(questions)), strict=True)
        )

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text, whatever it says."""
        return self._unit_vectors(len(texts))

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a question that was announced."""
        return self._known[text]

    def _unit_vectors(self, count: int) -> list[list[float]]:
        vectors = self._random.standard_normal((count, DIMENSIONS))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors.tolist()


def _document(number: int, text: str) -> Document:
    # A prime, so that tenant and place have nothing to do with one another.
    metadata = {"tenant": number % 50, "place": number * 7_919 % 10_000}
    return Document(text, id=f"document {number}", metadata=metadata)


def _counts_in(folder: Path) -> dict[str, float]:
    """Count the words of the English texts, the most frequent first."""
    counts: Counter[str] = Counter()
    for path in sorted(folder.iterdir()):
        if ".ja." not in path.name and path.name != "README.md":
            counts.update(re.findall(r"[a-z]+", path.read_text("utf-8").lower()))
    return {word: float(count) for word, count in counts.most_common()}


def _made_up_counts() -> dict[str, float]:
    words = sorted(STOP_WORDS) + [_word(number) for number in range(_HEAD)]
    return {word: 1e6 / (rank + 2.7) for rank, word in enumerate(words)}


def _tail(known: int, least: float) -> dict[str, float]:
    """Go on by Zipf's law behind the *known* words, of which one has the *least*."""
    return {
        _word(_HEAD + number): least * known / (known + number)
        for number in range(1, _TAIL + 1)
    }


def _word(number: int) -> str:
    """Make a word up, another for each number below 175,616."""
    base = len(_SYLLABLES)
    # A prime apart, so that words of like frequency do not look alike.
    number = number * 7_919 % base**3
    parts = (number // base**2, number // base % base, number % base)
    return "".join(_SYLLABLES[part] for part in parts) + "x"


def _sentences(words: list[str]) -> str:
    """Set words as sentences of 8 to 20 words, with a comma in the longer ones."""
    sentences, start = [], 0
    while start < len(words):
        length = 8 + len(words[start]) * 7 % 13
        part = words[start : start + length]
        if len(part) > 12:
            part[6] += ","
        sentences.append(" ".join(part).capitalize() + ".")
        start += length
    return " ".join(sentences)


def _is_content(word: str) -> bool:
    return len(word) > 3 and word not in STOP_WORDS
