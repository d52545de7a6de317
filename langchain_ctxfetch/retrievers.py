"""HybridRetriever: several channels, one ranking, page by page."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, Self, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.callbacks.manager import (
    adispatch_custom_event,
    dispatch_custom_event,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.runnables.utils import AnyConfigurableField
from langchain_core.vectorstores import VectorStore
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import override

from langchain_ctxfetch._bridge import WholeNumber, as_parent
from langchain_ctxfetch._calls import (
    MOST_K,
    Fields,
    HybridQuery,
    Wanted,
    check_floors,
    check_k,
    check_page,
    check_weights,
    key_function,
    read_call,
    sources_of,
    weights_of,
)
from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.flow import adrive, drive
from langchain_ctxfetch._core.hits import Gap
from langchain_ctxfetch._core.paging import Page, last_page
from langchain_ctxfetch._core.plan import Placed, Plan
from langchain_ctxfetch._core.ranked import Fusion, FusionName
from langchain_ctxfetch._core.retrievers import find_page
from langchain_ctxfetch._core.words import split_terms
from langchain_ctxfetch._provenance import document_at
from langchain_ctxfetch._searches import Searches
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import Channel, SearchStore, StoreChannel, Where
from langchain_ctxfetch.stores.langchain import as_channels

_log = logging.getLogger("langchain_ctxfetch")


class HybridRetriever(BaseRetriever):
    """Search several channels at once and page through one ranking of documents.

    Args:
        channels: One or more: channels, stores of ours (each counts as all its
            channels), vector stores or retrievers of LangChain. Names are unique.
        k: Size of a page, in documents, 1 to 1,000.
        page: Which page, from 1.
        fusion: `"round_robin"` needs no scores and pages cheaply; `"rrf"` and
            `"weighted"` (standardised scores) rank better where scores mean
            something; or a function from complete rankings to one ranking.
        weights: For each channel what its vote counts; 0 leaves it out. By default
            0.75 for a store's keyword and 0.25 for its vector channel in
            `"weighted"`, else 1 each. In round robin only 0 and 1.
        floors: For channels the least score, on their own scale, that a hit must
            have: their rankings end at the first hit below it. None by default; where
            nothing of what a channel found is left, the page has a gap.
        max_window: How many places of the ranking can be paged through.
        filter: What every document must match; fixed, nothing from outside
            replaces or widens it.
        content: Whether documents come whole or as their best passages.
        key: A metadata key or a function of a document that says which documents
            are one. By default equal ids are; where one of two has none, equal
            source, start index and text.
        on_error: Whether a failing channel leaves a gap or fails the call.
        timeout_s: The most seconds for each channel.

    Each document carries under the metadata key `ctxfetch` its fused `score`, for
    each channel its `rank` and `score`, and the offsets of its best `passages`.

    >>> from langchain_ctxfetch import SQLiteStore
    >>> store = SQLiteStore()
    >>> _ = store.add_texts(["green tea and black tea", "coffee", "tea for two"])
    >>> retriever = HybridRetriever.from_store(store, k=1)
    >>> [document.page_content for document in retriever.invoke("tea")]
    ['green tea and black tea']
    >>> [document.page_content for document in retriever.invoke("tea", page=2)]
    ['tea for two']

    A page comes from query and number alone: pages laid end to end are the ranking,
    without repeats or holes, as long as the stores do not change and the channels
    answer. A document that is added or removed between two pages may be repeated or
    skipped once. Since nothing is kept between calls, each page asks the channels anew.

    LangChain drops keywords after the first step of a sequence, and LangServe drops
    them always: give page, k and where in the input (`HybridQuery`) or with
    `with_config(configurable={"ctxfetch_page": 2})` there.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    max_k: ClassVar[int] = MOST_K
    """The largest page, in documents; as a channel it can be asked for no more."""

    channels: Sequence[Channel | VectorStore | BaseRetriever | Any]
    k: WholeNumber = 10
    page: WholeNumber = 1
    fusion: FusionName | Fusion = "round_robin"
    weights: Mapping[str, float] | None = None
    floors: Mapping[str, float] | None = None
    max_window: WholeNumber = Field(default=100, ge=1)
    filter: Mapping[str, Any] | None = Field(default=None, frozen=True)
    content: Literal["document", "passages"] = "document"
    key: str | Callable[[Document], str] | None = None
    on_error: Literal["degrade", "raise"] = "degrade"
    timeout_s: float | None = Field(default=None, gt=0)

    @classmethod
    def from_store(
        cls,
        store: SearchStore,
        channels: Sequence[str] | None = None,
        **fields: Any,  # noqa: ANN401 - any field
    ) -> Self:
        """Search one store of ours.

        Args:
            store: The store.
            channels: Which of its channels; all that it can serve by default.
            **fields: The other fields of the retriever.

        Returns:
            The retriever.

        Raises:
            ConfigurationError: If the store cannot serve a channel that is named.
        """
        names = store.channel_names() if channels is None else channels
        return cls(channels=[StoreChannel(store, name) for name in names], **fields)

    @model_validator(mode="before")
    @classmethod
    def _refuse_store(cls, fields: Any) -> Any:  # noqa: ANN401 - whatever is given
        if isinstance(fields, Mapping) and "store" in fields:
            raise ConfigurationError(
                "`store` is no field of HybridRetriever: make it with "
                "HybridRetriever.from_store(store, ...) or give channels=[store]"
            )
        return fields

    @model_validator(mode="after")
    def _check(self) -> Self:
        channels = as_channels(self.channels)
        check_k(self.k)
        check_page(self.page, self.k, self.max_window)
        check_weights(self.weights, channels, self.fusion)
        check_floors(self.floors, channels)
        filters.parse(self.filter)
        # Through the back door: assigning would validate again, without end.
        self.__dict__["channels"] = channels
        self.__dict__["filter"] = copy.deepcopy(self.filter)
        return self

    @property
    @override
    def InputType(self) -> Any:
        """The type that `invoke` takes: a text or a `HybridQuery`."""
        return str | HybridQuery

    @override
    def configurable_fields(self, **kwargs: AnyConfigurableField) -> Any:
        fixed = kwargs.keys() & {"filter", "channels", "key"}
        if fixed:
            raise ConfigurationError(
                f"{', '.join(sorted(f'`{name}`' for name in fixed))} cannot be made "
                "configurable: whoever sets the configuration could reach documents "
                "that are not theirs"
            )
        return super().configurable_fields(**kwargs)

    # --- Calls ---

    @override
    def invoke(
        self,
        input: str | HybridQuery,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Return the documents of one page, best first.

        Args:
            input: A text, or a `HybridQuery`.
            config: As everywhere in LangChain; its `configurable` may hold
                `ctxfetch_page`, `ctxfetch_k` and `ctxfetch_where`.
            **kwargs: `page`, `k` and `where`, which come before those of the input.

        Returns:
            The page's documents. Gaps are logged as warnings and sent as the custom
            event `ctxfetch_gap`; `get_page` returns them.
        """
        wanted = self._wanted(input, config, kwargs)
        return super().invoke(wanted.query, config, wanted=wanted)

    @override
    async def ainvoke(
        self,
        input: str | HybridQuery,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `invoke`, but asynchronously."""
        wanted = self._wanted(input, config, kwargs)
        return await super().ainvoke(wanted.query, config, wanted=wanted)

    def get_page(
        self,
        query: str | HybridQuery,
        *,
        page: int | None = None,
        k: int | None = None,
        where: Where | None = None,
        config: RunnableConfig | None = None,
    ) -> Page[Document]:
        """Return one page with what is known of it.

        Args:
            query: A text, or a `HybridQuery`.
            page: Which page, from 1.
            k: Its size, in documents.
            where: A filter that narrows the retriever's own.
            config: As in `invoke`.

        Returns:
            The documents, whether more follow and why not, and the gaps.

        Raises:
            PageError: If the page is out of range.
            ConfigurationError: If another argument is wrong.
            StoreError: If no channel answered.
        """
        asked = {"page": page, "k": k, "where": where}
        wanted = self._wanted(query, config, asked)

        def found(_: str, config: RunnableConfig) -> Page[Document]:
            with as_parent({"callbacks": config.get("callbacks")}):
                return self._find(wanted)

        find = RunnableLambda(found, name=self.get_name())
        made: Page[Document] = find.invoke(wanted.query, config)
        return made

    async def aget_page(
        self,
        query: str | HybridQuery,
        *,
        page: int | None = None,
        k: int | None = None,
        where: Where | None = None,
        config: RunnableConfig | None = None,
    ) -> Page[Document]:
        """Same as `get_page`, but asynchronously."""
        asked = {"page": page, "k": k, "where": where}
        wanted = self._wanted(query, config, asked)

        async def found(_: str, config: RunnableConfig) -> Page[Document]:
            with as_parent({"callbacks": config.get("callbacks")}):
                return await self._afind(wanted)

        find = RunnableLambda(found, name=self.get_name())
        made: Page[Document] = await find.ainvoke(wanted.query, config)
        return made

    @override
    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        wanted: Wanted | None = None,
    ) -> list[Document]:
        wanted = wanted or self._wanted(query, None, {})
        child: RunnableConfig = {"callbacks": run_manager.get_child()}
        with as_parent(child):
            found = self._find(wanted)
        for gap in found.gaps:
            dispatch_custom_event("ctxfetch_gap", _logged(gap), config=child)
        return list(found.documents)

    @override
    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        wanted: Wanted | None = None,
    ) -> list[Document]:
        wanted = wanted or self._wanted(query, None, {})
        child: RunnableConfig = {"callbacks": run_manager.get_child()}
        with as_parent(child):
            found = await self._afind(wanted)
        for gap in found.gaps:
            await adispatch_custom_event("ctxfetch_gap", _logged(gap), config=child)
        return list(found.documents)

    # --- From a call to a page ---

    def _wanted(
        self,
        given: str | HybridQuery,
        config: RunnableConfig | None,
        keywords: Mapping[str, Any],
    ) -> Wanted:
        fields = Fields(self.page, self.k, self.max_window, self.filter)
        return read_call(given, config, keywords, fields)

    def _find(self, wanted: Wanted) -> Page[Document]:
        if not wanted.query.strip():
            return self._blank(wanted)
        plan, searches = self._prepared(wanted)
        return _documents(drive(find_page(plan), searches.answer), wanted.query)

    async def _afind(self, wanted: Wanted) -> Page[Document]:
        if not wanted.query.strip():
            return self._blank(wanted)
        plan, searches = self._prepared(wanted)
        page = await adrive(find_page(plan), searches.aanswer)
        return _documents(page, wanted.query)

    def _blank(self, wanted: Wanted) -> Page[Document]:
        gap = Gap("query", "query_not_searchable", "the query is blank")
        last = last_page(wanted.k, self.max_window)
        return Page((), wanted.page, wanted.k, last, "exhausted", (gap,))

    def _prepared(self, wanted: Wanted) -> tuple[Plan, Searches]:
        weights = weights_of(self.weights, self._channels, self.fusion)
        channels = [channel for channel in self._channels if weights[channel.name]]
        matching = filters.parse(wanted.where)
        plan = Plan(
            tuple(sources_of(channels, weights, self.floors, wanted.where)),
            wanted.page,
            wanted.k,
            self.fusion,
            max_window=self.max_window,
            content=self.content,
            strict=self.on_error == "raise",
            key=key_function(self.key),
            accepts=lambda hit: filters.matches(matching, hit.metadata),
        )
        # Without ids hits are compared by text, and a key may read all of them.
        foreign = any(not isinstance(channel, StoreChannel) for channel in channels)
        searches = Searches(
            channels,
            wanted.query,
            wanted.where,
            bodies=foreign or self.key is not None,
            timeout_s=self.timeout_s,
            strict=plan.strict,
        )
        return plan, searches

    @property
    def _channels(self) -> Sequence[Channel]:
        return cast("Sequence[Channel]", self.channels)


def _logged(gap: Gap) -> dict[str, str]:
    _log.warning("%s", gap)
    return {"part": gap.part, "kind": gap.kind, "reason": gap.reason}


def _documents(page: Page[Placed], query: str) -> Page[Document]:
    documents = tuple(document_at(place) for place in page.documents)
    gaps = page.gaps
    if not documents and not any(split_terms(query, str)):
        gaps += (
            Gap(
                "query",
                "query_not_searchable",
                f"{query!r:.80} has no word to search for",
            ),
        )
    return Page(documents, page.page, page.k, page.last_page, page.end, gaps)
