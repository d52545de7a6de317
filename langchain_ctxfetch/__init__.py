"""Find the right documents, take the right parts of them, and make them fit.

The public names, resolved on first use: importing this package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_ctxfetch._caches import (
        BoundedStore as BoundedStore,
    )
    from langchain_ctxfetch._calls import (
        HybridQuery as HybridQuery,
    )
    from langchain_ctxfetch._compactions import (
        Compacted as Compacted,
    )
    from langchain_ctxfetch._core.fusion import (
        fuse_in_two_stages as fuse_in_two_stages,
        reciprocal_rank_fusion as reciprocal_rank_fusion,
        standardised_fusion as standardised_fusion,
    )
    from langchain_ctxfetch._core.hits import (
        Gap as Gap,
        Hit as Hit,
        Passage as Passage,
        Ranking as Ranking,
    )
    from langchain_ctxfetch._core.paging import (
        Page as Page,
    )
    from langchain_ctxfetch._core.ranked import (
        Fusion as Fusion,
    )
    from langchain_ctxfetch._core.sizing import (
        SizeRule as SizeRule,
    )
    from langchain_ctxfetch._divided import (
        BlockRule as BlockRule,
    )
    from langchain_ctxfetch._reports import (
        BlockReport as BlockReport,
        CompactionPlan as CompactionPlan,
        CompactionReport as CompactionReport,
        PlannedBlock as PlannedBlock,
    )
    from langchain_ctxfetch.compaction import (
        ContextCompactor as ContextCompactor,
    )
    from langchain_ctxfetch.compressors import (
        Compressed as Compressed,
        CompressionInput as CompressionInput,
        ContentPolicyCompressor as ContentPolicyCompressor,
    )
    from langchain_ctxfetch.embeddings import (
        LocalEmbeddings as LocalEmbeddings,
    )
    from langchain_ctxfetch.errors import (
        BudgetError as BudgetError,
        ConfigurationError as ConfigurationError,
        CtxFetchError as CtxFetchError,
        FilterError as FilterError,
        IngestionError as IngestionError,
        MissingExtraError as MissingExtraError,
        ModelOutputError as ModelOutputError,
        PageError as PageError,
        StoreCorruptError as StoreCorruptError,
        StoreError as StoreError,
        StoreFullError as StoreFullError,
        StoreMismatchError as StoreMismatchError,
        StoreReadOnlyError as StoreReadOnlyError,
        StoreTimeoutError as StoreTimeoutError,
    )
    from langchain_ctxfetch.ingestion import (
        SyncReport as SyncReport,
        async_folder as async_folder,
        sync_folder as sync_folder,
    )
    from langchain_ctxfetch.ports import (
        Channel as Channel,
        SearchRequest as SearchRequest,
        SearchStore as SearchStore,
        StoreChannel as StoreChannel,
        TokenCounter as TokenCounter,
        WritableStore as WritableStore,
    )
    from langchain_ctxfetch.rendering import (
        ContextRenderer as ContextRenderer,
        render_context as render_context,
    )
    from langchain_ctxfetch.retrievers import (
        HybridRetriever as HybridRetriever,
    )
    from langchain_ctxfetch.stores._optimizing import (
        Optimized as Optimized,
    )
    from langchain_ctxfetch.stores.langchain import (
        RetrieverChannel as RetrieverChannel,
        VectorStoreChannel as VectorStoreChannel,
        document_filter as document_filter,
        metadata_filter as metadata_filter,
        operator_filter as operator_filter,
    )
    from langchain_ctxfetch.stores.sqlite import (
        SQLiteStore as SQLiteStore,
        StoreStats as StoreStats,
    )
    from langchain_ctxfetch.tokens import (
        EstimatingCounter as EstimatingCounter,
        FunctionCounter as FunctionCounter,
        token_counter_for as token_counter_for,
    )

_ROOMS = {
    "langchain_ctxfetch._caches": ("BoundedStore",),
    "langchain_ctxfetch._calls": ("HybridQuery",),
    "langchain_ctxfetch._core.fusion": (
        "fuse_in_two_stages",
        "reciprocal_rank_fusion",
        "standardised_fusion",
    ),
    "langchain_ctxfetch._core.hits": ("Gap", "Hit", "Passage", "Ranking"),
    "langchain_ctxfetch._core.paging": ("Page",),
    "langchain_ctxfetch._core.ranked": ("Fusion",),
    "langchain_ctxfetch._core.sizing": ("SizeRule",),
    "langchain_ctxfetch._divided": ("BlockRule",),
    "langchain_ctxfetch._reports": (
        "BlockReport",
        "CompactionPlan",
        "CompactionReport",
        "PlannedBlock",
    ),
    "langchain_ctxfetch._compactions": ("Compacted",),
    "langchain_ctxfetch.compaction": ("ContextCompactor",),
    "langchain_ctxfetch.compressors": (
        "Compressed",
        "CompressionInput",
        "ContentPolicyCompressor",
    ),
    "langchain_ctxfetch.embeddings": ("LocalEmbeddings",),
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
    "langchain_ctxfetch.stores._optimizing": ("Optimized",),
    "langchain_ctxfetch.stores.langchain": (
        "RetrieverChannel",
        "VectorStoreChannel",
        "document_filter",
        "metadata_filter",
        "operator_filter",
    ),
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
