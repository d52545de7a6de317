"""Documents as one text for the prompt, each with its number and source."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.documents import Document
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from pydantic import ConfigDict, model_validator

from langchain_ctxfetch._bridge import WholeNumber
from langchain_ctxfetch._core.budget import Rooms, fit, size_of
from langchain_ctxfetch._core.rendering import Entry, Style, render
from langchain_ctxfetch._core.text import clean, cut
from langchain_ctxfetch._rounds import run_blocking
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.tokens import token_counter_for

if TYPE_CHECKING:
    from typing import Self

    from langchain_ctxfetch.tokens import CounterSource

CUT_MARK = "\n…"
"""Ends a document that the renderer had to cut."""

_logger = logging.getLogger("langchain_ctxfetch")


class ContextRenderer(RunnableSerializable[list[Document], str]):
    """Render documents as the text that the model reads.

    Styles `numbered` and `xml` stand in one `<context>` block that no document can
    close or imitate. With a budget, documents share it fairly: who fits whole comes
    whole, the others are cut at a common level, and what cannot even hold its header
    is left out from the last place up.

    >>> cats = Document("Cats purr.", metadata={"title": "Cats", "source": "c.md"})
    >>> print(ContextRenderer().invoke([cats]))
    <context>
    [1] Cats | source: c.md
    Cats purr.
    </context>

    Attributes:
        style: `numbered`, `xml`, or `plain`: the bodies alone.
        metadata_keys: Which metadata the headers show, in this order.
        max_tokens: The most tokens of the text; None for no budget.
        token_counter: What counts them: anything that `token_counter_for` takes.
    """

    style: Style = "numbered"
    metadata_keys: tuple[str, ...] = ("title", "source")
    max_tokens: WholeNumber | None = None
    token_counter: Any = None

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    @model_validator(mode="after")
    def _check(self) -> Self:
        token_counter_for(self.token_counter)
        if self.max_tokens is not None and self.max_tokens < 0:
            raise ConfigurationError(
                f"`max_tokens` must be 0 or more, or None, not {self.max_tokens!r}"
            )
        return self

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Tell LangChain that `dumps` can write it down."""
        return True

    def render(self, documents: Sequence[Document]) -> str:
        """Return the text of *documents*, within the budget where there is one."""
        entries = [self.entry(document) for document in documents]
        if self.max_tokens is None:
            return render(entries, self.style)
        count = token_counter_for(self.token_counter).count
        return _within(entries, self.style, count, self.max_tokens)

    def entry(self, document: Document) -> Entry:
        """Return what is rendered of a document."""
        labels = tuple(
            (key, shown)
            for key in self.metadata_keys
            if (shown := _shown(document.metadata.get(key)))
        )
        return Entry(labels, clean(document.page_content))

    def invoke(
        self,
        input: list[Document],  # noqa: A002 - LangChain's word
        config: RunnableConfig | None = None,
        **_: Any,  # noqa: ANN401 - LangChain's signature
    ) -> str:
        """Same as `render`, as a step of a chain."""
        return self._call_with_config(self.render, input, config)

    async def ainvoke(
        self,
        input: list[Document],  # noqa: A002
        config: RunnableConfig | None = None,
        **_: Any,  # noqa: ANN401
    ) -> str:
        """Same as `invoke`; the event loop goes on meanwhile."""

        async def arender(documents: list[Document]) -> str:
            return await run_blocking(self.render, documents)

        return await self._acall_with_config(arender, input, config)


def render_context(
    documents: Sequence[Document],
    *,
    style: Style = "numbered",
    metadata_keys: Sequence[str] = ("title", "source"),
    max_tokens: int | None = None,
    token_counter: CounterSource = None,
) -> str:
    """Render documents in one call; see `ContextRenderer`.

    >>> render_context([Document("Cats purr.")], style="plain")
    'Cats purr.'

    Args:
        documents: What to render, in this order.
        style: `numbered`, `xml` or `plain`.
        metadata_keys: Which metadata the headers show.
        max_tokens: The most tokens of the text; None for no budget.
        token_counter: What counts them.

    Returns:
        The text.
    """
    renderer = ContextRenderer(
        style=style,
        metadata_keys=tuple(metadata_keys),
        max_tokens=max_tokens,
        token_counter=token_counter,
    )
    return renderer.render(documents)


def _shown(value: Any) -> str:  # noqa: ANN401 - metadata holds anything
    """Say a metadata value in a header; containers and None are not said."""
    if value is None or isinstance(value, dict | list | tuple | set | bytes):
        return ""
    return str(value).strip()


def _within(
    entries: Sequence[Entry], style: Style, count: Callable[[str], int], limit: int
) -> str:
    """Render as much of the documents as *limit* tokens allow."""

    def at(rooms: Rooms) -> str:
        kept = [
            Entry(entry.labels, cut(entry.text, room, CUT_MARK))
            for entry, room in zip(entries, rooms, strict=True)
            if room is not None
        ]
        return render(kept, style)

    sizes = [size_of(entry.text, count) for entry in entries]
    fitted = fit(sizes, lambda rooms: count(at(rooms)), limit)
    rooms: Rooms = (None,) * len(entries) if fitted is None else fitted.rooms
    left_out = rooms.count(None)
    if left_out:
        _logger.warning(
            "%d of %d documents did not fit into %d tokens and were left out",
            left_out,
            len(entries),
            limit,
        )
    return at(rooms)
