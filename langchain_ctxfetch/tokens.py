"""Token counters: tiktoken's, a chat model's own, a function, an offline estimate."""

from __future__ import annotations

import json
import logging
import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import regex
from langchain_core.language_models import BaseLanguageModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from langchain_ctxfetch._core.estimate import estimate
from langchain_ctxfetch._core.hits import told
from langchain_ctxfetch._core.text import clean, cut
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import TokenCounter

if TYPE_CHECKING:
    import tiktoken

PER_MESSAGE = 4
"""Tokens that the frame of a message takes: its marks and its role."""

PER_REPLY = 3
"""Tokens that begin the reply."""

PER_IMAGE = 85
"""Tokens of an image in a message: the least that providers count for one."""

_LONGEST_REASON = 200  # characters of an error in a warning

_LOAD_S = 10.0
"""How long a vocabulary may take to arrive over the network, in seconds."""

# Some vocabularies overflow the stack on a run of white space of a million
# characters; words of that length do not exist.
_UNBROKEN = 10_000
_LONG_RUN = regex.compile(rf"\s{{{_UNBROKEN},}}+|\S{{{_UNBROKEN},}}+")

_OPENAI_NAME = regex.compile(
    r"(?:ft:)?(?:gpt|chatgpt|codex|davinci|babbage|curie|ada|text|code|o\d)(?:[-.:].*)?"
    r"|gpt2|(?:[rp]50k|cl100k|o200k)_.*"
)

_logger = logging.getLogger("langchain_ctxfetch")
_lock = threading.Lock()
_warned: set[str] = set()

CounterSource: TypeAlias = (
    "TokenCounter | BaseLanguageModel[Any] | str | Callable[[str], int] | None"
)
"""What `token_counter_for` makes a counter of."""


class _MessageCounter(ABC):
    """Count messages by counting their texts."""

    @abstractmethod
    def count(self, text: str) -> int:
        """Return the number of tokens of *text*."""

    def count_messages(
        self, messages: Sequence[BaseMessage], tools: Sequence[Any] = ()
    ) -> int:
        """Return the tokens of a request: texts, frames, tool calls and tools."""
        frames = PER_MESSAGE * len(messages) + (PER_REPLY if messages else 0)
        images = PER_IMAGE * sum(map(_images, messages))
        texts = sum(self.count(_whole_text(message)) for message in messages)
        schemas = sum(self.count(_schema(tool)) for tool in tools)
        return frames + images + texts + schemas


class EstimatingCounter(_MessageCounter):
    """Estimate token numbers offline, rather too high than too low.

    At or above the cl100k and o200k vocabularies on prose of six languages (English,
    German, French, Spanish, Japanese, Chinese), Python, JSON and CSV, and at most 1.6
    times as high. Nothing is promised for random strings.

    >>> EstimatingCounter().count("How long is this?")
    6
    """

    def count(self, text: str) -> int:
        """Return the estimate for *text*."""
        return estimate(clean(text))

    def __repr__(self) -> str:
        return "EstimatingCounter()"


class FunctionCounter:
    """Count with a plain function from a text to a number.

    A message is priced as its text alone.

    >>> FunctionCounter(len).count("four")
    4
    """

    def __init__(self, function: Callable[[str], int]) -> None:
        self._function = function

    def count(self, text: str) -> int:
        """Return what the function says of a text, rounded up.

        Args:
            text: What to count.

        Returns:
            A whole number of tokens.

        Raises:
            ConfigurationError: If the function fails or gives no finite number.
        """
        try:
            return math.ceil(float(self._function(text)))
        except Exception as error:
            raise ConfigurationError(
                "`token_counter` must give a number for any text, but failed: "
                f"{told(error)}"
            ) from error

    def count_messages(
        self,
        messages: Sequence[BaseMessage],
        tools: Sequence[Any] = (),
    ) -> int:
        """Return the sum over the texts of the messages and the schemas of tools."""
        texts = sum(self.count(message_words(message)) for message in messages)
        return texts + sum(self.count(_schema(tool)) for tool in tools)

    def __repr__(self) -> str:
        return f"FunctionCounter({self._function!r})"


class TiktokenCounter(_MessageCounter):
    """Count with a vocabulary of tiktoken, loaded at the first count.

    Where it cannot be loaded (package missing, no network and no cached file),
    `EstimatingCounter` takes its place for the life of the process, and one warning
    is logged.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def count(self, text: str) -> int:
        """Return the number of tokens of *text*; special tokens are plain text."""
        encoding = _encoding(self._name)
        text = clean(text)
        if encoding is None:
            return estimate(text)
        return sum(len(encoding.encode_ordinary(part)) for part in _parts(text))

    def __repr__(self) -> str:
        return f"TiktokenCounter({self._name!r})"


class ModelCounter(_MessageCounter):
    """Count with a chat model's own `get_num_tokens`.

    A text that the model cannot count (a special token, a missing package) is
    estimated.
    """

    def __init__(self, model: BaseLanguageModel[Any]) -> None:
        self._model = model

    def count(self, text: str) -> int:
        """Return the number of tokens of *text*."""
        text = clean(text)
        try:
            return self._model.get_num_tokens(text)
        except Exception as error:  # noqa: BLE001 - models fail here in many ways
            name = type(self._model).__name__
            _warn_once("model", f"{name} cannot count tokens", error)
            return estimate(text)

    def __repr__(self) -> str:
        return f"ModelCounter({type(self._model).__name__})"


def token_counter_for(source: CounterSource = None) -> TokenCounter:
    """Make a token counter of what names or is one.

    >>> token_counter_for(len).count("four")
    4
    >>> token_counter_for()
    EstimatingCounter()

    Args:
        source: The name of a model or of a tiktoken vocabulary, a chat model, a
            function from a text to a number, a counter, or None for the estimate.

    Returns:
        The counter. A vocabulary is loaded when it first counts, not here.

    Raises:
        ConfigurationError: If *source* is none of these.
    """
    if source is None:
        return EstimatingCounter()
    if isinstance(source, str):
        return _named(source)
    if isinstance(source, TokenCounter):
        return source
    if isinstance(source, BaseLanguageModel):
        return _of_model(source)
    if callable(source):
        return FunctionCounter(source)
    raise ConfigurationError(
        "`token_counter` must be a model name, a vocabulary, a chat model, a function "
        f"from str to int, a TokenCounter or None, not {source!r}"
    )


def _named(name: str) -> TokenCounter:
    if name == "estimate":
        return EstimatingCounter()
    if _OPENAI_NAME.fullmatch(name) or name in _plugged_in():
        return TiktokenCounter(name)
    raise ConfigurationError(
        "`token_counter` must name an OpenAI model, a tiktoken vocabulary or "
        f'"estimate", not {name!r}; for other models pass the model or a function'
    )


def _plugged_in() -> Sequence[str]:
    """Return the vocabularies that tiktoken and its plugins know."""
    try:
        import tiktoken  # noqa: PLC0415 - an optional extra, loaded where it is used
    except ImportError:
        return ()
    return tiktoken.list_encoding_names()


def _of_model(model: BaseLanguageModel[Any]) -> TokenCounter:
    """Prefer the vocabulary of an OpenAI model, which takes special tokens as text."""
    if type(model).__module__.startswith("langchain_openai."):
        name = getattr(model, "model_name", None)
        if isinstance(name, str) and name:
            return TiktokenCounter(name)
    if type(model).get_num_tokens is not BaseLanguageModel.get_num_tokens:
        return ModelCounter(model)
    if type(model).get_token_ids is not BaseLanguageModel.get_token_ids:
        return ModelCounter(model)
    if model.custom_get_token_ids is not None:
        return ModelCounter(model)
    # What is left would download the vocabulary of GPT-2, which is not the model's.
    _warn_once("no counter", f"{type(model).__name__} brings no token counter")
    return EstimatingCounter()


@lru_cache(maxsize=16)
def _encoding(name: str) -> tiktoken.Encoding | None:
    """Load a vocabulary once; None where that fails, which is remembered too."""
    loaded: list[tiktoken.Encoding] = []
    errors: list[BaseException] = []

    def load() -> None:
        try:
            loaded.append(_load(name))
        except BaseException as error:  # noqa: BLE001 - reported by the caller
            errors.append(error)

    # The download has no time limit of its own.
    thread = threading.Thread(target=load, name="ctxfetch-vocabulary", daemon=True)
    with _lock:
        thread.start()
        thread.join(_LOAD_S)
    if loaded:
        return loaded[0]
    cause = errors[0] if errors else TimeoutError(f"no answer within {_LOAD_S:g} s")
    _warn_once("vocabulary", f"no vocabulary for {name!r}", cause)
    return None


def _load(name: str) -> tiktoken.Encoding:
    import tiktoken  # noqa: PLC0415 - an optional extra, loaded where it is used

    if name in tiktoken.list_encoding_names():
        return tiktoken.get_encoding(name)
    try:
        return tiktoken.encoding_for_model(name)
    except KeyError:
        # Newer models than this tiktoken knows use its newest vocabulary.
        return tiktoken.get_encoding("o200k_base")


def _parts(text: str) -> list[str]:
    """Cut runs without a break that are too long for a vocabulary; rarely any."""
    parts, done = [], 0
    for run in _LONG_RUN.finditer(text):
        parts.append(text[done : run.start()])
        cuts = range(run.start(), run.end(), _UNBROKEN)
        parts += [text[cut : min(cut + _UNBROKEN, run.end())] for cut in cuts]
        done = run.end()
    return [*parts, text[done:]]


def _warn_once(kind: str, what: str, error: BaseException | None = None) -> None:
    """Log that numbers are estimated, once for each kind of cause."""
    reason = "" if error is None else f"{type(error).__name__}: {error}"
    because = f" ({cut(reason, _LONGEST_REASON)})" if reason else ""
    with _lock:
        first = kind not in _warned
        _warned.add(kind)
    if first:
        _logger.warning("%s: token numbers are estimated", f"{what}{because}")


def message_words(message: BaseMessage) -> str:
    """Return the text of a message: its text blocks, joined."""
    content = message.content
    if isinstance(content, str):
        return content
    parts = [_block_text(block) for block in content]
    return "\n".join(part for part in parts if part)


def _block_text(block: str | dict[Any, Any]) -> str:
    if isinstance(block, str):
        return block
    found = block.get("text")
    return found if isinstance(found, str) else ""


def _whole_text(message: BaseMessage) -> str:
    """Return the text of a message with the tools that it calls."""
    parts = [message_words(message)]
    if isinstance(message, AIMessage):
        parts += [
            f"{call['name']} {json.dumps(call['args'], default=str)}"
            for call in message.tool_calls
        ]
    return "\n".join(part for part in parts if part)


def _images(message: BaseMessage) -> int:
    if isinstance(message.content, str):
        return 0
    return sum(
        isinstance(block, dict) and str(block.get("type", "")).startswith("image")
        for block in message.content
    )


def _schema(tool: Any) -> str:  # noqa: ANN401 - LangChain takes tools of many kinds
    return json.dumps(convert_to_openai_tool(tool), default=str)
