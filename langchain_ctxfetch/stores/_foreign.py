"""How objects of LangChain are asked, and how their answers are taken in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore, VectorStoreRetriever

from langchain_ctxfetch._bridge import to_hit
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch._core.numbers import whole_from
from langchain_ctxfetch.errors import ConfigurationError, StoreError
from langchain_ctxfetch.ports import Channel, Where

DEEPER = (1, 8, 64)
"""How many times the depth is asked for where fewer documents than that came of it."""

_EVERYTHING = 10_000
"""What a store fetches before it filters, where it does not say how much it holds."""

Arguments: TypeAlias = dict[str, Any]
Attempt: TypeAlias = tuple[BaseRetriever, Arguments]

# --- Asking ---


def attempts_at(retriever: BaseRetriever, depth: int) -> Sequence[Attempt]:
    """Say how a retriever is asked for *depth* documents, and how for more pieces.

    Args:
        retriever: What is asked; it stays as it is.
        depth: The documents that are wanted.

    Returns:
        Whom to ask with what keywords, the next one where too few documents came.
    """
    fields = type(retriever).model_fields
    if "k" in parameters(retriever._get_relevant_documents):  # noqa: SLF001 - where LangChain itself looks
        return [(retriever, {"k": depth})]
    if "k" in fields:
        first = {"page": 1} if _is_ours(retriever) else {}
        return [(retriever.model_copy(update={"k": depth, **first}), {})]
    if "search_kwargs" not in fields:
        return [(retriever, {})]
    held = getattr(retriever, "search_kwargs", None) or {}
    # Where documents are found by pieces of them kept elsewhere, k counts the pieces.
    times = DEEPER if "docstore" in fields else DEEPER[:1]
    updates = [{"search_kwargs": {**held, "k": each * depth}} for each in times]
    return [(retriever.model_copy(update=update), {}) for update in updates]


def is_async(retriever: BaseRetriever, keywords: Arguments) -> bool:
    """Say whether a retriever has an asynchronous way of its own with these keywords.

    What it inherits from LangChain takes none, and blocks a thread that the loop waits
    for at its end, however long it hangs.
    """
    if type(retriever).ainvoke is not BaseRetriever.ainvoke:
        return True
    hook = type(retriever)._aget_relevant_documents  # noqa: SLF001 - where LangChain itself looks
    if hook.__module__ == BaseRetriever.__module__:
        return False
    if isinstance(retriever, VectorStoreRetriever) and (
        hook is VectorStoreRetriever._aget_relevant_documents  # noqa: SLF001 - as above
    ):
        return has_async(retriever.vectorstore, "asimilarity_search")
    known = parameters(hook)
    takes_any = any(each.kind is each.VAR_KEYWORD for each in known.values())
    return takes_any or keywords.keys() <= known.keys()


def has_async(vectorstore: VectorStore, name: str) -> bool:
    """Say whether a vector store has an asynchronous method of its own."""
    return getattr(type(vectorstore), name) is not getattr(VectorStore, name)


def fetching(vectorstore: VectorStore, k: int) -> Arguments:
    """Say how many documents a store must fetch that filters only what it fetched."""
    if "fetch_k" not in parameters(vectorstore.similarity_search):
        return {}
    index = getattr(vectorstore, "index", None)
    return {"fetch_k": max(k, getattr(index, "ntotal", _EVERYTHING))}


def parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a function by name."""
    return dict(inspect.signature(function).parameters)


def deepest(retriever: BaseRetriever) -> int | None:
    """Return the most documents to which a retriever of ours continues its answer.

    A fusion over scores ranks a window, and a greater one reorders it.
    """
    if not _is_ours(retriever):
        return None
    most: int = type(retriever).max_k  # type: ignore[attr-defined]  # ours has it
    if getattr(retriever, "fusion", "") == "round_robin":
        return most
    return max(1, min(most, getattr(retriever, "max_window", most) - 1))


def _is_ours(retriever: BaseRetriever) -> bool:
    return hasattr(type(retriever), "max_k")


# --- Refusing ---


def refuse_filter(channel: Channel, where: Where | None) -> None:
    """Never answer a filtered question as if it were not."""
    if where and not channel.supports_filter:
        raise ConfigurationError(
            f"the channel {channel.name!r} cannot filter; leave `where` out, or give "
            "a VectorStoreChannel its `translate`"
        )


def only_async(channel: Channel) -> ConfigurationError:
    """Say that there is no blocking way."""
    return ConfigurationError(
        f"{channel.name} answers asynchronously only; ask by `ainvoke` or `aget_page`"
    )


def checked_depth(depth: int | None) -> int | None:
    """Return *depth* if a channel can always ask for it."""
    return None if depth is None else whole_from(1, "depth", depth)


def least(*depths: int | None) -> int | None:
    """Return the smallest of the depths that are known."""
    return min((depth for depth in depths if depth is not None), default=None)


# --- Taking in ---


def documents_in(channel: Channel, found: object) -> list[Document]:
    """Return the documents of an answer, which must be nothing else."""
    answers = list(found) if isinstance(found, list | tuple) else [found]
    documents = [each for each in answers if isinstance(each, Document)]
    if len(documents) < len(answers):
        raise _garbage(channel, found)
    return documents


def scored_in(
    channel: Channel, found: object, score: Callable[[float], float]
) -> list[tuple[Document, float]]:
    """Return the documents of an answer of pairs, and what their numbers are worth."""
    if not isinstance(found, list | tuple):
        raise _garbage(channel, found)
    pairs = [pair for pair in found if isinstance(pair, tuple) and len(pair) == 2]  # noqa: PLR2004 - document and number
    if len(pairs) < len(found):
        raise _garbage(channel, found)
    documents = documents_in(channel, [document for document, _ in pairs])
    scores = [float(score(float(number))) for _, number in pairs]
    if any(map(_rises, scores, scores[1:])):
        raise ConfigurationError(
            f"`score` of {channel.name} must fall from the best document to the worst; "
            "where the store gives a distance, pass score=lambda distance: -distance"
        )
    return list(zip(documents, scores, strict=True))


def hit_of(document: Document, score: float | None, *, named: bool) -> Hit:
    """Take a document in, with its id or without."""
    hit = to_hit(document)
    return replace(hit, id=hit.id if named else None, score=score)


def _rises(score: float, following: float) -> bool:
    """Say whether the following score is higher, by more than single precision errs."""
    return following > score + 1e-6 * max(1.0, abs(score))


def _garbage(channel: Channel, found: object) -> StoreError:
    return StoreError(
        f"{channel.name} must answer with a list of documents, not {found!r:.100}",
        store=channel.name,
    )
