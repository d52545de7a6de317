"""Find the right documents, take the right parts of them, and make them fit.

The public names, resolved on first use: importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_ROOMS = {
    "langchain_ctxfetch._calls": ("HybridQuery",),
    "langchain_ctxfetch._core.fusion": (
        "fuse_in_two_stages",
        "reciprocal_rank_fusion",
        "standardised_fusion",
    ),
    "langchain_ctxfetch._core.hits": ("Gap", "Hit", "Passage", "Ranking"),
    "langchain_ctxfetch._core.paging": ("Page",),
    "langchain_ctxfetch._core.ranked": ("Fusion",),
    "langchain_ctxfetch.compressors": (
        "Compressed",
        "CompressionInput",
        "ContentPolicyCompressor",
    ),
    "langchain_ctxfetch.errors": (
        "BudgetError",
        "ConfigurationError",
        "CtxFetchError",
        "FilterError",
        "IngestionError",
        "MissingExtraError",
        "ModelOutputError",
        "PageError",
        "StoreCorruptError",
        "StoreError",
        "StoreFullError",
        "StoreMismatchError",
        "StoreReadOnlyError",
        "StoreTimeoutError",
    ),
    "langchain_ctxfetch.ingestion": ("SyncReport", "async_folder", "sync_folder"),
    "langchain_ctxfetch.ports": (
        "Channel",
        "SearchRequest",
        "SearchStore",
        "StoreChannel",
        "TokenCounter",
        "WritableStore",
    ),
    "langchain_ctxfetch.rendering": ("ContextRenderer", "render_context"),
    "langchain_ctxfetch.retrievers": ("HybridRetriever",),
    "langchain_ctxfetch.stores.langchain": ("RetrieverChannel", "VectorStoreChannel"),
    "langchain_ctxfetch.stores.sqlite": ("SQLiteStore", "StoreStats"),
    "langchain_ctxfetch.tokens": (
        "EstimatingCounter",
        "FunctionCounter",
        "token_counter_for",
    ),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = sorted(_ROOM_OF)  # noqa: PLE0605 - sorted gives a list


def __getattr__(name: str) -> Any:  # noqa: ANN401 - any public name
    room = _ROOM_OF.get(name)
    if room is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(room), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)
