"""What is asked of a model and what it says, as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Ask:
    """Be one question to a model.

    Attributes:
        prompt: A text, or messages.
        max_output: The most tokens that its reply may have.
    """

    prompt: Any
    max_output: int


@dataclass(frozen=True, slots=True)
class Reply:
    """Be what a model said.

    Attributes:
        text: Its text, without its reasoning.
        finished: Whether it had come to its end.
        input_tokens: What the provider counted for the prompt, if it did.
        output_tokens: What the provider counted for the reply, if it did.
        calls: How many calls it took.
    """

    text: str
    finished: bool = True
    input_tokens: int | None = None
    output_tokens: int | None = None
    calls: int = 1
