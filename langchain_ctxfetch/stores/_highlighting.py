"""Quoting from documents in hand."""

from __future__ import annotations

from dataclasses import replace

from langchain_ctxfetch._core.flow import Failed, Ok, Outcome
from langchain_ctxfetch._core.hits import Hit, Passage
from langchain_ctxfetch._core.passages import score_sentences
from langchain_ctxfetch._core.picking import pick
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._core.words import Stem


def quoted(
    hit: Hit | None, query: str, *, stem: Stem, room: int
) -> Outcome[Hit | None]:
    """Put the passages of a document that answer a question in place of its text.

    Args:
        hit: The document with its text; None stays None.
        query: The question.
        stem: The stemmer of the document's language.
        room: The most characters of all passages together.

    Returns:
        The document without text, its passages in reading order, none where nothing
        answers; what went wrong if anything did.
    """
    if hit is None:
        return Ok(None)
    try:
        text = hit.text or ""
        scored = score_sentences(text, clean(query), stem=stem, room=room)
        spans = pick(scored, room) if scored.found else []
    except Exception as error:  # noqa: BLE001 - one document never spoils others
        return Failed(error)
    passages = tuple(Passage(start, end, text[start:end]) for start, end in spans)
    return Ok(replace(hit, text=None, passages=passages))
