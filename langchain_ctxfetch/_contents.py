"""What a compactor takes, as parts that may be reduced, and back in the same type.

A text, documents, a prompt, messages or a dict that holds one of them: each is a
number of texts, in which some stretches may be reduced and the others may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.prompt_values import (
    ChatPromptValue,
    PromptValue,
    StringPromptValue,
)
from typing_extensions import override

from langchain_ctxfetch._bridge import METADATA_KEY, added_to
from langchain_ctxfetch._core.blocks import Block, parse
from langchain_ctxfetch._core.shrinking import Form
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._divided import Content, Text, Treatment, stretch, touched_in
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import TokenCounter

Compactable: TypeAlias = (
    str | list[Document] | list[BaseMessage] | PromptValue | dict[str, Any]
)
"""What `ContextCompactor` takes and gives back."""

AText: TypeAlias = str | StringPromptValue
Talk: TypeAlias = Sequence[BaseMessage] | ChatPromptValue

NOTHING = "…"
"""Stands where a message may not be empty."""

_SIGNED = ("thinking", "redacted_thinking", "reasoning", "compaction")


class OneText(Content[AText]):
    """Be a text, or a prompt that is one."""

    def __init__(self, given: AText, treated: Treatment) -> None:
        text = clean(given if isinstance(given, str) else given.text)
        known = parse(text, treated.types)
        touched = touched_in(known, treated)
        if not known and text:
            touched = (stretch("text", 0, len(text)),)
        super().__init__(given, treated, [Text(text, touched)])

    @override
    def assembled(self, texts: Sequence[str], forms: Sequence[Form | None]) -> AText:
        if isinstance(self.given, str):
            return texts[0]
        return self.given.model_copy(update={"text": texts[0]})

    @override
    def weigh(self, made: AText, counter: TokenCounter) -> int:
        return counter.count(made if isinstance(made, str) else made.text)

    @override
    def characters(self, made: AText) -> int:
        return len(made if isinstance(made, str) else made.text)


class Documents(Content[Sequence[Document]]):
    """Be documents; what is left out of them is no longer there."""

    def __init__(self, given: Sequence[Document], treated: Treatment) -> None:
        texts: list[Text] = []
        for place, document in enumerate(given, start=1):
            text = clean(document.page_content)
            held = document.metadata
            known = (held.get("source"), document.id, held.get("title"), place)
            name = next(str(value) for value in known if value not in {None, ""})
            header = {"source": name, "title": str(held.get("title") or "")}
            block = Block("document", 0, len(text), (0, len(text)), header, None)
            texts.append(Text(text, (block,)))
        super().__init__(given, treated, texts)

    @override
    def rendered(self, bodies: Sequence[str | None], note: str) -> list[str]:
        return super().rendered(bodies, "")

    @override
    def assembled(
        self, texts: Sequence[str], forms: Sequence[Form | None]
    ) -> list[Document]:
        return [
            document if form.text == text.text else _with_text(document, made, form)
            for document, text, made, form in zip(
                self.given, self.texts, texts, forms, strict=True
            )
            if form is not None
        ]

    @override
    def weigh(self, made: Sequence[Document], counter: TokenCounter) -> int:
        return counter.count("\n\n".join(document.page_content for document in made))

    @override
    def characters(self, made: Sequence[Document]) -> int:
        return sum(len(document.page_content) for document in made)


class Messages(Content[Talk]):
    """Be messages, or a prompt of them."""

    def __init__(self, given: Talk, treated: Treatment) -> None:
        self._messages = _messages_of(given)
        human = [i for i, each in enumerate(self._messages) if each.type == "human"]
        self._last = human[-1] if human else -1
        self._places: list[tuple[int, int | None]] = []
        texts: list[Text] = []
        for i, message in enumerate(self._messages):
            guarded = message.type == "system" or (
                i == self._last and not treated.touch_last
            )
            if _is_signed(message):
                continue
            for at, text in _texts_of(message):
                made = _message_text(text, message.type, treated, guarded=guarded)
                if made.blocks:
                    self._places.append((i, at))
                    texts.append(made)
        super().__init__(given, treated, texts)

    @override
    def assembled(self, texts: Sequence[str], forms: Sequence[Form | None]) -> Talk:
        changed: dict[int, dict[int | None, str]] = {}
        for (i, at), before, text in zip(self._places, self.texts, texts, strict=True):
            if before.text != text:
                changed.setdefault(i, {})[at] = text
        made = [
            each
            for i, message in enumerate(self._messages)
            if (each := self._changed(i, message, changed.get(i))) is not None
        ]
        if isinstance(self.given, ChatPromptValue):
            return self.given.model_copy(update={"messages": made})
        return made

    @override
    def weigh(self, made: Talk, counter: TokenCounter) -> int:
        return counter.count_messages(_messages_of(made))

    @override
    def characters(self, made: Talk) -> int:
        return sum(
            len(text)
            for message in _messages_of(made)
            for _, text in _texts_of(message)
        )

    def _changed(
        self, i: int, message: BaseMessage, texts: dict[int | None, str] | None
    ) -> BaseMessage | None:
        if texts is None:
            return message
        if isinstance(message.content, str):
            content: str | list[Any] = texts[None]
        else:
            content = [
                _with_block_text(block, texts.get(at))
                for at, block in enumerate(message.content)
                if texts.get(at) != ""
            ]
        if not content:
            if not self._must_stay(i, message):
                return None
            content = NOTHING
        return message.model_copy(update={"content": content})

    def _must_stay(self, i: int, message: BaseMessage) -> bool:
        """Tell whether other messages, or the provider, need this one."""
        called = isinstance(message, AIMessage) and (
            message.tool_calls or message.invalid_tool_calls
        )
        return i == self._last or isinstance(message, ToolMessage) or bool(called)


def content_of(given: object, treated: Treatment) -> Content[Any]:
    """Divide what a compactor was given.

    Args:
        given: A text, documents, messages, or a prompt.
        treated: What may be reduced.

    Returns:
        The content.

    Raises:
        ConfigurationError: If it is nothing of these.
    """
    if isinstance(given, str | StringPromptValue):
        return OneText(given, treated)
    if isinstance(given, ChatPromptValue):
        return Messages(given, treated)
    if isinstance(given, Sequence) and not isinstance(given, bytes):
        if all(isinstance(each, BaseMessage) for each in given) and given:
            return Messages(given, treated)
        if all(isinstance(each, Document) for each in given):
            return Documents(given, treated)
    raise ConfigurationError(
        "a compactor takes a text, a list of documents, a list of messages or a "
        f"prompt, not {type(given).__name__}; of a dict name the key: `input_key`"
    )


def _message_text(text: str, role: str, treated: Treatment, *, guarded: bool) -> Text:
    """Find what may be reduced in the text of a message: blocks, or all of it."""
    text = clean(text)
    known = parse(text, treated.types)
    touched = list(touched_in(known, treated))
    if not guarded:
        at = 0
        for block in [*known, None]:
            start, end = (len(text),) * 2 if block is None else _whole(block)
            if at < start:
                touched.append(stretch(role, at, start))
            at = max(at, end)
    return Text(text, tuple(sorted(touched, key=lambda block: block.start)))


def _whole(block: Block) -> tuple[int, int]:
    """Return the stretch of a block with the container around it."""
    return block.group or (block.start, block.end)


def _texts_of(message: BaseMessage) -> list[tuple[int | None, str]]:
    """Return the texts of a message, and which block of its content each is."""
    content = message.content
    if isinstance(content, str):
        return [(None, content)]
    found: list[tuple[int | None, str]] = []
    for at, block in enumerate(content):
        text = block if isinstance(block, str) else block.get("text")
        if isinstance(text, str) and (
            isinstance(block, str) or block.get("type") == "text"
        ):
            found.append((at, text))
    return found


def _with_block_text(
    block: str | dict[Any, Any], text: str | None
) -> str | dict[Any, Any]:
    if text is None:
        return block
    return text if isinstance(block, str) else {**block, "text": text}


def _messages_of(made: Talk) -> list[BaseMessage]:
    return list(made.messages if isinstance(made, ChatPromptValue) else made)


def _is_signed(message: BaseMessage) -> bool:
    """Tell whether a message holds what its provider takes back whole or not at all."""
    return not isinstance(message.content, str) and any(
        isinstance(block, Mapping) and block.get("type") in _SIGNED
        for block in message.content
    )


def _with_text(document: Document, text: str, form: Form) -> Document:
    added = {
        **{k: v for k, v in added_to(document).items() if k != "passages"},
        "v": 1,
        "length": len(document.page_content),
        "strategy": form.how,
        "summarized": form.how == "summary",
        "truncated": form.how != "summary",
    }
    metadata = {**document.metadata, METADATA_KEY: added}
    return Document(page_content=text, id=document.id, metadata=metadata)
