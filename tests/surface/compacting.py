"""A compactor and texts for it."""

from __future__ import annotations

from typing import Any

from langchain_ctxfetch import (
    ContextCompactor,
)

SENTENCES = " ".join(
    f"Sentence number {i} tells something of item {i}." for i in range(400)
)


def note(path: str, body: str, head: str = "") -> str:
    return (
        f"<note_context>\n<path>{path}</path>{head}\n<content>{body}</content>\n"
        "</note_context>"
    )


def short(_: str) -> str:
    return "It tells something."


def compactor(max_tokens: int | None = 1_000, **fields: Any) -> ContextCompactor:
    return ContextCompactor(max_tokens=max_tokens, token_counter=len, **fields)
