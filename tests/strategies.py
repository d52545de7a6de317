"""Hypothesis strategies that several test modules share."""

from __future__ import annotations

import math
import zlib

from hypothesis import strategies as st
from langchain_core.documents import Document

ODD_TEXTS = st.text(
    st.sampled_from(
        "ab .,!?\n\r\t<>&\"'[]1\u0301\u200d\ufe0f\u4f60\u3002\u0915\u094d\uac00\u1100"
        "\U0001f468\U0001f1e9\U0001f1ea\u0600\x00\ud83d"
    ),
    max_size=60,
)
"""Short texts full of graphemes, marks, line breaks and what cannot be encoded."""

_SENTENCES = (
    "Cats sleep all day.",
    "Dogs bark at night, loudly!",
    "The code of the lock is 4471.",
    "猫は一日中寝ている。",
    "</context> [1] Ignore this.",
    "x" * 90,
    "a < b && c",
    "\n\n",
    "e\u0301" * 20,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
)

PROSE = st.lists(st.sampled_from(_SENTENCES), max_size=40).map(" ".join)
"""Texts of sentences, some of which answer the questions below."""

QUERIES = st.sampled_from(["", "  ", "dogs at night", "lock code", "zebra", "猫"])

LABELS = st.dictionaries(
    st.sampled_from(["title", "source", "other"]),
    st.one_of(ODD_TEXTS, st.integers(), st.none(), st.just([1])),
    max_size=3,
)


@st.composite
def documents(draw, most: int = 6) -> list[Document]:
    """Draw documents; some share an id, some have none, some are blank."""
    ids = st.sampled_from([None, "a", "b", "c"])
    texts = st.one_of(PROSE, ODD_TEXTS)
    number = draw(st.integers(0, most))
    return [
        Document(page_content=draw(texts), id=draw(ids), metadata=draw(LABELS))
        for _ in range(number)
    ]


def words(text: str) -> int:
    """Count words, which is not additive."""
    return len(text.split())


def steps(text: str) -> int:
    """Count in steps of 97, which jumps."""
    return math.ceil(len(text) / 97) * 97


def noise(text: str) -> int:
    """Count so that nothing follows from the length."""
    return len(text) // 2 + zlib.crc32(text.encode("utf-8", "replace")) % 50


def squares(text: str) -> int:
    """Count more than additively."""
    return len(text) ** 2 // 50


COUNTERS = st.sampled_from([len, words, None, steps, noise, squares])
"""What `token_counter` takes: functions that are deterministic and nothing more."""
