"""Chat models that answer as a test wants."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.messages.ai import UsageMetadata
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import PrivateAttr


class Peak:
    """Reply, and note the most replies that were on their way at the same time."""

    def __init__(self) -> None:
        self.most = self._running = 0
        self._lock = threading.Lock()

    def __call__(self, _: str) -> str:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        threading.Event().wait(0.002)
        with self._lock:
            self._running -= 1
        return "It tells."


class ScriptedModel(BaseChatModel):
    """Answer each prompt by a function; what it raises is what the model raises."""

    reply: Callable[[str], Any] = lambda _: "SUM"
    finish_reason: str = "stop"
    max_retries: int | None = None
    temperature: float = 0.0
    usage: tuple[int, int] | None = None

    _prompts: list[str] = PrivateAttr(default_factory=list)
    _lock: threading.Lock = PrivateAttr(default_factory=threading.Lock)

    @property
    def prompts(self) -> list[str]:
        """What it was asked, in order."""
        return self._prompts

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        text = "\n".join(str(message.content) for message in messages)
        with self._lock:
            self._prompts.append(text)
        content = self.reply(text)
        message = AIMessage(
            content=content,
            response_metadata={
                "finish_reason": self.finish_reason,
                "model_name": "scripted",
            },
        )
        if self.usage is not None:
            read, wrote = self.usage
            message.usage_metadata = UsageMetadata(
                input_tokens=read, output_tokens=wrote, total_tokens=read + wrote
            )
        return ChatResult(generations=[ChatGeneration(message=message)])

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        text = str(self._generate(messages).generations[0].message.text)
        for piece in text.split(" "):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=piece))
            if run_manager is not None:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await asyncio.to_thread(self._generate, messages, stop)
