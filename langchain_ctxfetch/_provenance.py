"""Our metadata key: read of what comes in, written on what goes out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.documents import Document

from langchain_ctxfetch._bridge import to_document
from langchain_ctxfetch._core.desk import Item
from langchain_ctxfetch._core.excerpts import Excerpt
from langchain_ctxfetch._core.fetching import read_length
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.plan import Placed
from langchain_ctxfetch._core.text import Span


def item_of(hit: Hit, added: Mapping[str, Any]) -> Item:
    """Say of a document what the policy needs to know."""
    text = hit.text or ""
    length, spans = read_length(added.get("length")), _spans(added.get("passages"))
    if added.get("content") != "passages":
        # Offsets of a text that was changed since point anywhere.
        spans = spans if length == len(text) else ()
        return Item(hit.id, text, spans, length=len(text))
    if length == len(text) and spans == ((0, length),):
        return Item(hit.id, text, length=length)
    return Item(hit.id, text, spans, partial=True, length=length)


def _spans(value: object) -> tuple[Span, ...]:
    """Read offsets out of metadata; none where they are not what we write."""
    if not isinstance(value, list | tuple):
        return ()
    spans = tuple(
        (each[0], each[1])
        for each in value
        if isinstance(each, list | tuple)
        and len(each) == 2  # noqa: PLR2004 - start and end
        and all(type(end) is int for end in each)
        and 0 <= each[0] <= each[1]
    )
    return spans if len(spans) == len(value) else ()


def added_by(
    earlier: Mapping[str, Any], made: Excerpt, length: int | None
) -> dict[str, Any]:
    """Say under our metadata key what was done; what stood there is kept."""
    whole = made.spans == ((0, length),) or (made.strategy == "full" and not made.text)
    return {
        **{str(key): _plain(value) for key, value in earlier.items()},
        "v": 1,
        "content": "document" if whole else "passages",
        "length": length,
        "passages": [list(span) for span in made.spans],
        "strategy": made.strategy,
        "truncated": made.cut,
    }


def _plain(value: Any) -> Any:  # noqa: ANN401 - metadata holds anything
    """Turn a value into one that JSON knows."""
    if isinstance(value, Mapping):
        return {str(key): _plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(held) for held in value]
    if hasattr(value, "item") and hasattr(value, "dtype"):
        return _plain(value.tolist())
    return value if isinstance(value, str | int | float | None) else str(value)


def document_at(place: Placed) -> Document:
    """Make a document of a place of a ranking, with what is known of it there."""
    hit = place.hit
    added = {
        "v": 1,
        "score": place.score,
        "channels": {
            name: {"rank": rank, "score": score}
            for name, (rank, score) in place.channels.items()
        },
        "content": place.content,
        "length": hit.length if hit.length is not None else len(hit.text or ""),
        "passages": [[passage.start, passage.end] for passage in hit.passages],
    }
    return to_document(hit, added=added)
