"""LangChain's values to ours and back, in one place."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import var_child_runnable_config
from pydantic import BeforeValidator

from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.numbers import whole
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch.errors import ConfigurationError

METADATA_KEY = "ctxfetch"
"""Where everything stands that this package adds to a document."""

WholeNumber = Annotated[int, BeforeValidator(whole)]
"""A field that takes whole numbers, numpy's too, but no bool and no text."""


def to_hit(document: Document) -> Hit:
    """Take a document in: text cleaned, metadata copied, our own key dropped.

    >>> hit = to_hit(Document("text", id="d1", metadata={"ctxfetch": {}, "page": 2}))
    >>> hit.id, hit.text, hit.length, hit.metadata
    ('d1', 'text', 4, {'page': 2})

    Args:
        document: What comes in; it stays as it is.

    Returns:
        A hit that shares nothing that can change with it.

    Raises:
        ConfigurationError: If it is no document, or its metadata holds itself or is
            nested too deep to be copied.
    """
    if not isinstance(document, Document):
        raise ConfigurationError(
            f"`documents` must be documents, not {document!r:.100}"
        )
    text = clean(document.page_content)
    try:
        metadata = {
            key: clean_value(value)
            for key, value in copy.deepcopy(document.metadata).items()
            if key != METADATA_KEY
        }
    except RecursionError:
        raise ConfigurationError(
            f"the metadata of the document {document.id!r} is nested too deep"
        ) from None
    return Hit(document.id, text, metadata, length=len(text))


def to_document(
    hit: Hit, *, text: str | None = None, added: Mapping[str, Any] | None = None
) -> Document:
    """Give a document out, which shares nothing that can change with *hit*.

    Args:
        hit: What a channel brought.
        text: The text in place of the hit's own.
        added: What stands under the metadata key `ctxfetch`; nothing by default.

    Returns:
        The document, with the hit's id and metadata.
    """
    metadata = copy.deepcopy(dict(hit.metadata))
    if added is not None:
        metadata[METADATA_KEY] = dict(added)
    content = text if text is not None else hit.text or ""
    return Document(page_content=content, id=hit.id, metadata=metadata)


def added_to(document: Document) -> dict[str, Any]:
    """Return what this package added to *document* earlier; empty where nothing."""
    found = document.metadata.get(METADATA_KEY)
    return copy.deepcopy(found) if isinstance(found, dict) else {}


def clean_value(value: Any) -> Any:  # noqa: ANN401 - metadata holds anything
    """Clean the texts inside a value of a document's metadata."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean_value(key): clean_value(held) for key, held in value.items()}
    if isinstance(value, list | tuple) and type(value) in {list, tuple}:
        return type(value)(clean_value(held) for held in value)
    return value


@contextmanager
def as_parent(config: RunnableConfig) -> Iterator[None]:
    """Let runs that begin inside be children of this one.

    Callbacks alone are handed down: the page that this retriever was asked for is no
    business of a retriever inside it.
    """
    token = var_child_runnable_config.set(config)
    try:
        yield
    finally:
        var_child_runnable_config.reset(token)
