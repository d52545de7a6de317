"""ContentPolicyCompressor: whole documents where they fit, else the right parts."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import (
    RunnableConfig,
    RunnableLambda,
    RunnableSerializable,
)
from langchain_core.runnables.utils import AnyConfigurableField
from pydantic import ConfigDict, Field, model_validator
from typing_extensions import TypedDict, override

from langchain_ctxfetch._answers import Answers
from langchain_ctxfetch._bridge import WholeNumber, added_to, to_document, to_hit
from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.desk import Policy, Scale
from langchain_ctxfetch._core.excerpts import Marks, Strategy, Truncation
from langchain_ctxfetch._core.flow import adrive, drive
from langchain_ctxfetch._core.hits import Gap, Hit
from langchain_ctxfetch._core.policy import Compression, compress
from langchain_ctxfetch._core.text import GAP_MARK, clean
from langchain_ctxfetch._language import stemmer
from langchain_ctxfetch._provenance import added_by, item_of
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import SearchStore
from langchain_ctxfetch.rendering import ContextRenderer
from langchain_ctxfetch.tokens import token_counter_for

CUT_MARK = "\n[… {missing} characters left out …]\n"
"""Stands where truncation left something out."""

_FIXED = frozenset({"filter", "store"})

_logger = logging.getLogger("langchain_ctxfetch")


class CompressionInput(TypedDict):
    """What `ContentPolicyCompressor.invoke` takes."""

    documents: Sequence[Document]
    query: str


@dataclass(frozen=True, slots=True)
class Row:
    """Say what became of one document.

    Attributes:
        id: Its id, where it has one.
        place: Its place among the documents that came in, from 1.
        strategy: `full`, `highlight`, `truncate`, `missing`, or `dropped` where the
            budget had no room for it.
        before: The characters of its stored text, where known.
        after: The characters delivered.
        tokens: The tokens of the text delivered.
    """

    id: str | None
    place: int
    strategy: Strategy
    before: int | None
    after: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Compressed:
    """Be the result of `ContentPolicyCompressor.compress`.

    Attributes:
        documents: What is delivered, in the order that came.
        gaps: What was not delivered or not asked, and why.
        rows: What became of each document that came in.
    """

    documents: list[Document]
    gaps: tuple[Gap, ...]
    rows: tuple[Row, ...]


class ContentPolicyCompressor(
    BaseDocumentCompressor, RunnableSerializable[CompressionInput, list[Document]]
):
    """Deliver short documents whole, and of long ones what answers the question.

    Without a budget the size of each document decides. With `max_tokens` all documents
    share the budget fairly: who fits whole comes whole, nothing is cut while there is
    room, and what counts is the rendered whole. Ids and metadata come through; what
    was done stands under the metadata key `ctxfetch`.

    >>> compressor = ContentPolicyCompressor(threshold=40, limit=40)
    >>> long = Document("Cats sleep all day. Dogs bark at night. Fish are silent.")
    >>> [short] = compressor.compress_documents([long], "Which animals bark?")
    >>> short.page_content, short.metadata["ctxfetch"]["passages"]
    ('Dogs bark at night. Fish are silent.', [[20, 56]])

    Attributes:
        store: Where documents come from of which only passages are in hand.
        filter: Stands in every call to the store.
        threshold: Longer documents are quoted, not delivered whole; in characters.
        limit: The most characters of one document; None: never cut. Both count only
            without a budget.
        max_tokens: The budget of all documents together, rendered.
        token_counter: What counts tokens: anything that `token_counter_for` takes.
        renderer: What the budget measures.
        truncation: Which ends are kept of a document in which nothing answers.
        gap_mark: Stands between passages.
        cut_mark: Stands for what truncation left out; `{missing}` in it becomes the
            number of characters. Offsets, not marks, are authoritative.
        embedding: Finds passages by meaning where no word of the question stands.
        scorer: Scores passages in the place of our own scores.
        missing: Whether a document that could not be fetched keeps its place, with no
            text, or is dropped.
    """

    store: SearchStore | None = None
    filter: Mapping[str, Any] | None = None
    threshold: WholeNumber = 3000
    limit: WholeNumber | None = 3000
    max_tokens: WholeNumber | None = None
    token_counter: Any = None
    renderer: ContextRenderer = Field(default_factory=ContextRenderer)
    truncation: Truncation = "head_tail"
    gap_mark: str = GAP_MARK
    cut_mark: str = CUT_MARK
    embedding: Embeddings | None = None
    scorer: Callable[[str, Sequence[str]], Sequence[float]] | None = None
    missing: Literal["keep", "drop"] = "keep"

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        token_counter_for(self.token_counter)
        filters.parse(self.filter)
        if self.threshold < 0:
            raise ConfigurationError(
                f"`threshold` must be 0 or more, not {self.threshold!r}"
            )
        if self.limit is not None and self.limit < self.threshold:
            raise ConfigurationError(
                f"`limit` must be None or at least `threshold` ({self.threshold}), "
                f"not {self.limit!r}"
            )
        if self.max_tokens is not None and self.max_tokens < 0:
            raise ConfigurationError(
                f"`max_tokens` must be 0 or more, or None, not {self.max_tokens!r}"
            )
        return self

    @override
    def configurable_fields(
        self, **kwargs: AnyConfigurableField
    ) -> RunnableSerializable[CompressionInput, list[Document]]:
        refused = sorted(_FIXED & set(kwargs))
        if refused:
            raise ConfigurationError(
                f"`{refused[0]}` is fixed at construction, it cannot be configurable"
            )
        return super().configurable_fields(**kwargs)

    def compress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks = None,  # noqa: ARG002 - no model is called
    ) -> list[Document]:
        """Return what is delivered of *documents*, in their order.

        Args:
            documents: Whole, or only their passages as `HybridRetriever` brings them
                with `content="passages"`: the store is asked for those.
            query: The question; a blank one asks for whole documents.
            callbacks: Not needed, as no model is called.

        Returns:
            New documents. What could not be delivered is logged as a warning;
            `compress` returns it.
        """
        case = self._case(documents, query)
        return self._told(case, drive(case.flow(), self._answers().answer))[0]

    async def acompress_documents(
        self,
        documents: Sequence[Document],
        query: str,
        callbacks: Callbacks = None,  # noqa: ARG002
    ) -> list[Document]:
        """Same as `compress_documents`, but asynchronously."""
        case = self._case(documents, query)
        return self._told(case, await adrive(case.flow(), self._answers().aanswer))[0]

    def compress(
        self,
        documents: Sequence[Document],
        query: str,
        *,
        config: RunnableConfig | None = None,
    ) -> Compressed:
        """Return the documents delivered, what is missing, and a row for each."""

        def run(given: CompressionInput) -> Compressed:
            case = self._case(given["documents"], given["query"])
            made = drive(case.flow(), self._answers().answer)
            return self._reported(case, made)

        step = RunnableLambda(run, name="ContentPolicyCompressor")
        return step.invoke({"documents": documents, "query": query}, config)

    async def acompress(
        self,
        documents: Sequence[Document],
        query: str,
        *,
        config: RunnableConfig | None = None,
    ) -> Compressed:
        """Same as `compress`, but asynchronously."""

        async def run(given: CompressionInput) -> Compressed:
            case = self._case(given["documents"], given["query"])
            made = await adrive(case.flow(), self._answers().aanswer)
            return self._reported(case, made)

        step = RunnableLambda(run, name="ContentPolicyCompressor")
        return await step.ainvoke({"documents": documents, "query": query}, config)

    @override
    def invoke(
        self,
        input: CompressionInput,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `compress_documents`, as a step of a chain."""

        def run(given: CompressionInput) -> list[Document]:
            return self.compress_documents(*_read(given))

        return self._call_with_config(run, input, config)

    @override
    async def ainvoke(
        self,
        input: CompressionInput,
        config: RunnableConfig | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Same as `invoke`, but asynchronously."""

        async def run(given: CompressionInput) -> list[Document]:
            return await self.acompress_documents(*_read(given))

        return await self._acall_with_config(run, input, config)

    # --- From documents to a flow, and back ---

    def _case(self, documents: Sequence[Document], query: str) -> _Case:
        if not isinstance(query, str | None):
            raise ConfigurationError(f"`query` must be a text, not {query!r:.100}")
        count = token_counter_for(self.token_counter).count
        # The renderer's own budget would hide what is too long from ours.
        render = self.renderer.model_copy(update={"max_tokens": None}).render
        hits = [to_hit(document) for document in documents or ()]

        def weigh(texts: Sequence[str | None]) -> int:
            kept = [
                Document(page_content=text, id=hit.id, metadata=dict(hit.metadata))
                for hit, text in zip(hits, texts, strict=True)
                if text is not None
            ]
            return count(render(kept))

        added = [added_to(document) for document in documents or ()]
        return _Case(
            hits, added, clean(query or ""), self._policy(), Scale(count, weigh)
        )

    def _policy(self) -> Policy:
        language = getattr(self.store, "language", None)
        return Policy(
            stem=stemmer(language if isinstance(language, str) else "en"),
            threshold=self.threshold,
            limit=self.limit,
            max_tokens=self.max_tokens,
            marks=Marks(self.truncation, self.gap_mark, self.cut_mark),
            fetches=self.store is not None,
            embeds=self.embedding is not None,
            scores=self.scorer is not None,
            keeps_missing=self.missing == "keep",
        )

    def _answers(self) -> Answers:
        return Answers(
            store=self.store,
            where=self.filter,
            embedding=self.embedding,
            scorer=self.scorer,
            eager=self.max_tokens is not None,
        )

    def _told(
        self, case: _Case, made: Compression
    ) -> tuple[list[Document], tuple[Gap, ...]]:
        """Make documents of what is delivered, and log what is not."""
        for gap in made.gaps:
            _logger.warning("%s", gap)
        delivered = zip(case.hits, case.added, made.excerpts, made.lengths, strict=True)
        documents = [
            to_document(hit, text=each.text, added=added_by(earlier, each, length))
            for hit, earlier, each, length in delivered
            if each is not None
            and not (each.strategy == "missing" and self.missing == "drop")
        ]
        return documents, made.gaps

    def _reported(self, case: _Case, made: Compression) -> Compressed:
        documents, gaps = self._told(case, made)
        rows = [
            Row(
                id=hit.id,
                place=place,
                strategy="dropped" if each is None else each.strategy,
                before=length,
                after=0 if each is None else len(each.text),
                tokens=0 if each is None else case.scale.count(each.text),
            )
            for place, (hit, each, length) in enumerate(
                zip(case.hits, made.excerpts, made.lengths, strict=True), start=1
            )
        ]
        return Compressed(documents, gaps, tuple(rows))


@dataclass(frozen=True, slots=True)
class _Case:
    """Be one call: its documents, and what is to be done with them."""

    hits: list[Hit]
    added: list[dict[str, Any]]
    query: str
    policy: Policy
    scale: Scale

    def flow(self) -> Any:  # noqa: ANN401 - a generator, run once
        items = [item_of(*pair) for pair in zip(self.hits, self.added, strict=True)]
        return compress(items, self.query, self.policy, self.scale)


def _read(given: object) -> tuple[Sequence[Document], str]:
    """Read the input of a chain, whose query may be a retriever's `HybridQuery`."""
    held = given if isinstance(given, Mapping) else {}
    missing = {"documents", "query"} - set(held)
    if missing:
        raise ConfigurationError(
            '`input` must be {"documents": [...], "query": "..."}; '
            f"{', '.join(map(repr, sorted(missing)))} is missing"
        )
    query = held["query"]
    return held["documents"], query["query"] if _names_query(query) else query


def _names_query(query: object) -> bool:
    return isinstance(query, Mapping) and "query" in query
