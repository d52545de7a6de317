"""An embedding that needs no key and no network: the vectors come with a package."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import regex
from langchain_core.embeddings import Embeddings
from typing_extensions import override

from langchain_ctxfetch.errors import ConfigurationError, MissingExtraError
from langchain_ctxfetch.stores._embedding import embedding_name

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Floats: TypeAlias = npt.NDArray[np.float32]
Dimensions: TypeAlias = Literal[128, 256]

_PACKAGE = "wordllama"
_WEIGHTS = ("weights/l2_supercat_256.safetensors",)
# The package looks for its tokens in the second of these and ships the first, so
# that without a network it cannot load itself.
_TOKENS = (
    "tokenizers/l2_supercat_tokenizer_config.json",
    "tokenizer/l2_supercat_tokenizer_config.json",
)
_TOGETHER = 1_000
"""Words that are looked at together; this bounds what a text needs of memory."""

# The pieces of a word depend on what stands before it: after a line break or a
# bracket it would have another vector than after a space. Marks say little anyway.
_WORD = regex.compile(r"\w{1,64}")
_LATIN = regex.compile(r"\p{Latin}+")
_OTHER = regex.compile(r"[\p{L}--\p{Latin}]+", regex.VERSION1)
_DIGIT = regex.compile(r"\p{Nd}")

_loading = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class LocalEmbeddings(Embeddings):
    """Embed English texts with WordLlama, a table of word vectors that pip installs.

    Needs the extra `local`; no key, no graphics card, and never a network. A text
    is the mean of the vectors of its words, in length 1: fast, and far weaker than
    a transformer. Use it beside the keyword channel, in
    `fusion="weighted"`, where it finds what other words say; alone it ranks worse
    than keywords do.

    A text that the model cannot read has a vector of zeros, similar to nothing, so
    that it is found by its words alone: a blank one, and one whose letters are
    mostly not Latin ones.

    Args:
        dimensions: How many numbers a vector has, 256 or 128. The shorter are the
            beginnings of the longer: half the room for a little less quality.

    >>> embedding = LocalEmbeddings()
    >>> tea, coffee, law = embedding.embed_documents(["tea", "coffee", "statute"])
    >>> cosine = lambda one, other: sum(map(float.__mul__, one, other))
    >>> cosine(tea, coffee) > cosine(tea, law)
    True

    The async twins work in a thread. The table, 33 MB, is read at the first text and
    shared by all embeddings of the process.
    """

    dimensions: Dimensions = 256

    def __post_init__(self) -> None:
        if self.dimensions not in get_args(Dimensions):
            raise ConfigurationError(
                f"`dimensions` must be 128 or 256, not {self.dimensions!r}"
            )
        _files()

    @property
    def model(self) -> str:
        """Name the table and the length, for stores to record."""
        return f"wordllama-l2-supercat-{self.dimensions}"

    @override
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self.embed_query(text) for text in texts]

    @override
    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a text; a question is embedded as a document is."""
        if not _is_readable(text):
            return [0.0] * self.dimensions
        table, tokens = _loaded()
        total = np.zeros(self.dimensions)
        # One by one, and not as a batch: a batch starts threads, which a process
        # that forks later is warned of, and gains nothing on short texts.
        for words in _words(text):
            ids = tokens.encode(words, add_special_tokens=False).ids
            total += table[ids, : self.dimensions].sum(axis=0, dtype=np.float64)
        vector: list[float] = (total / np.linalg.norm(total)).tolist()
        return vector


def local_named(name: str) -> LocalEmbeddings | None:
    """Return what `local`, or a name that a store has recorded, stands for.

    >>> local_named("LocalEmbeddings:wordllama-l2-supercat-128")
    LocalEmbeddings(dimensions=128)

    Args:
        name: What the command line was given, or what the file of a store says.

    Returns:
        The embedding; None where the name is that of another one.

    Raises:
        MissingExtraError: If the name is ours and the extra is not installed.
    """
    if name == "local":
        return LocalEmbeddings()
    if name.startswith(f"{LocalEmbeddings.__name__}:"):
        for dimensions in get_args(Dimensions):
            made = LocalEmbeddings(dimensions=dimensions)
            if name == embedding_name(made):
                return made
    return None


def _is_readable(text: str) -> bool:
    """Return whether a model of English can read a text.

    >>> [_is_readable(text) for text in ["naïve", "1984", "東京の GDP", "! 😀", " "]]
    [True, True, True, False, False]
    """
    latin = _count(_LATIN, text)
    other = 0 if text.isascii() else _count(_OTHER, text)
    if latin or other:
        return latin >= other
    return _DIGIT.search(text) is not None


def _count(pattern: Any, text: str) -> int:  # noqa: ANN401 - a compiled pattern
    return sum(match.end() - match.start() for match in pattern.finditer(text))


def _words(text: str) -> Iterator[str]:
    r"""Yield the words of a text, so many at a time, with single spaces between them.

    >>> list(_words("(A thin-walled\nwing.)"))
    ['A thin walled wing']
    """
    words = (match.group() for match in _WORD.finditer(text))
    while part := " ".join(islice(words, _TOGETHER)):
        yield part


def _files() -> tuple[Path, Path]:
    """Return where weights and tokens lie in the package, which is not imported.

    Importing it would set up logging for the whole program, and its own loading
    would look for a network where it does not find a file.
    """
    found = find_spec(_PACKAGE)
    if found and found.origin and find_spec("tokenizers") and find_spec("safetensors"):
        folder = Path(found.origin).parent
        weights, tokens = (
            next(filter(Path.is_file, (folder / name for name in names)), None)
            for names in (_WEIGHTS, _TOKENS)
        )
        if weights and tokens:
            return weights, tokens
    raise MissingExtraError("local", "`LocalEmbeddings`")


def _loaded() -> tuple[Floats, Tokenizer]:
    """Return the table of vectors and the tokenizer, read once in the process."""
    with _loading:
        return _read()


@cache
def _read() -> tuple[Floats, Tokenizer]:
    from safetensors.numpy import load_file  # noqa: PLC0415 - optional
    from tokenizers import Tokenizer  # noqa: PLC0415 - optional

    weights, tokens = _files()
    table = load_file(weights)["embedding.weight"].astype(np.float32)
    tokenizer = Tokenizer.from_file(str(tokens))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return table, tokenizer
