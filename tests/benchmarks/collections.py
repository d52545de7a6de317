"""The collections that we measure on, as they lie in a folder beside the checkout."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import string
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from langchain_ctxfetch._core.words import STOP_WORDS

ENGLISH = ("cranfield", "cisi", "scifact", "covidqa", "qmsum")
JAPANESE = ("jsquad",)


@dataclass(frozen=True)
class Collection:
    """Hold documents, questions, and which documents answer which question.

    Attributes:
        name: What tables call it.
        documents: Each with id, title and text.
        questions: The text of each judged question by its id.
        judgements: For each question, the grade of each document that was judged.
    """

    name: str
    documents: list[dict[str, str]]
    questions: dict[str, str]
    judgements: dict[str, dict[str, int]]


def data_folder() -> Path:
    """Return where the collections lie: `CTXFETCH_DATA`, or beside the checkout."""
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return Path(os.environ.get("CTXFETCH_DATA", beside))


def leave_without_data() -> None:
    """End the program, with success, where there is nothing to measure on."""
    if not data_folder().is_dir():
        print(f"nothing measured: no data in {data_folder()}; set CTXFETCH_DATA")
        sys.exit(0)


def load(name: str) -> Collection:
    """Read one collection; questions that nothing answers are left out."""
    folder = data_folder() / name
    judgements: dict[str, dict[str, int]] = {}
    for question, document, grade in _judgements(folder):
        if grade > 0:
            judgements.setdefault(question, {})[document] = grade
    questions = {row["id"]: row["text"] for row in rows(folder / "queries.jsonl.gz")}
    return Collection(
        name,
        list(rows(folder / "corpus.jsonl.gz")),
        {id_: text for id_, text in questions.items() if id_ in judgements},
        judgements,
    )


def mixed(collections: list[Collection]) -> Collection:
    """Lay collections into one: the ids are prefixed by the name of each."""
    documents: list[dict[str, str]] = []
    questions: dict[str, str] = {}
    judgements: dict[str, dict[str, int]] = {}
    for each in collections:
        documents += [
            row | {"id": _prefixed(each, row["id"])} for row in each.documents
        ]
        for id_, text in each.questions.items():
            questions[_prefixed(each, id_)] = text
            judgements[_prefixed(each, id_)] = {
                _prefixed(each, document): grade
                for document, grade in each.judgements[id_].items()
            }
    return Collection("mixed", documents, questions, judgements)


def mistyped(collection: Collection, seed: int = 0) -> Collection:
    """Put one typing error into each question: the same ones for the same seed.

    It is in a word of at least five letters that is no stop word; a letter is left
    out, doubled, replaced, or exchanged with the next.
    """
    dice = random.Random(seed)
    questions = {
        id_: _with_error(text, dice) for id_, text in collection.questions.items()
    }
    return replace(collection, name=f"mistyped, {collection.name}", questions=questions)


def _with_error(text: str, dice: random.Random) -> str:
    words = [
        match
        for match in re.finditer(r"[A-Za-z]{5,}", text)
        if match.group().lower() not in STOP_WORDS
    ]
    if not words:
        return text
    word = dice.choice(words)
    at = dice.randrange(word.start(), word.end() - 1)
    one, other = text[at : at + 2]
    wrong = dice.choice([other, one * 2 + other, _letter(dice) + other, other + one])
    return text[:at] + wrong + text[at + 2 :]


def _letter(dice: random.Random) -> str:
    return dice.choice(string.ascii_lowercase)


def rows(path: Path) -> list[dict[str, Any]]:
    """Read gzipped JSON lines."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def _prefixed(collection: Collection, id_: str) -> str:
    return f"{collection.name}/{id_}"


def _judgements(folder: Path) -> list[tuple[str, str, int]]:
    lines = (folder / "qrels.tsv").read_text("utf-8").splitlines()
    found = []
    for line in lines:
        cells = line.split("\t")
        if cells[-1].lstrip("-").isdigit():
            found.append((cells[0], cells[-2], int(cells[-1])))
    return found
