"""Token counters, with and without a vocabulary."""

from __future__ import annotations

import json
import logging
import threading

import pytest
import tiktoken
from hypothesis import given
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool

from langchain_ctxfetch import tokens
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import TokenCounter
from langchain_ctxfetch.tokens import (
    PER_IMAGE,
    PER_MESSAGE,
    PER_REPLY,
    EstimatingCounter,
    FunctionCounter,
    ModelCounter,
    TiktokenCounter,
    token_counter_for,
)
from tests.strategies import ODD_TEXTS

# Each with the greater of its cl100k and o200k counts.
SAMPLES = {
    "english": (
        (
            "The committee met again in the spring, and this time it heard "
            "the engineers first. They explained why the bridge had to be "
            "closed, what the repair would cost, and how long the traffic "
            "would have to take the road along the river."
        ),
        48,
    ),
    "german": (
        (
            "Die Verwaltung veröffentlichte gestern ihren Jahresbericht "
            "über die Wasserversorgung. Darin heißt es, dass die "
            "Niederschläge in den vergangenen Monaten deutlich unter dem "
            "langjährigen Durchschnitt lagen und mehrere Gemeinden ihre "
            "Verbrauchsvorschriften verschärfen mussten."
        ),
        76,
    ),
    "french": (
        (
            "Le conseil municipal a adopté hier soir le nouveau règlement "
            "sur les marchés. Désormais, les commerçants devront déposer "
            "leur demande avant le début de l'été, et les emplacements "
            "seront attribués à tour de rôle."
        ),
        57,
    ),
    "spanish": (
        (
            "La biblioteca de la universidad abrirá también los domingos a "
            "partir del mes que viene. Los estudiantes habían pedido "
            "durante años que se ampliara el horario, sobre todo en las "
            "semanas anteriores a los exámenes."
        ),
        52,
    ),
    "japanese": (
        (
            "昨日の会議では、来年度の予算について話し合われた。担当者は、橋の修理"
            "にかかる費用と期間を説明し、川沿いの道路を迂回路として使うことを提案"
            "した。"
        ),
        79,
    ),
    "chinese": (
        (
            "昨天的会议讨论了明年的预算。工程师说明了为什么必须关闭这座桥，修理需"
            "要多少费用，以及车辆要绕行河边的道路多长时间。"
        ),
        64,
    ),
    "python": (
        (
            "def water_level(wants, total):\n    left = max(0.0, total)\n"
            "    for i, want in enumerate(sorted(wants)):\n"
            "        share = left / (len(wants) - i)\n"
            "        if want > share:\n            return share\n"
            "        left -= want\n    return None\n"
        ),
        62,
    ),
    "json": (
        (
            '{"id": 4711, "name": "water_level", "tags": ["fair", '
            '"share"], "score": 0.8315, "created": "2024-03-01T12:30:00Z", '
            '"parent": null}'
        ),
        55,
    ),
    "csv": (
        (
            "id,name,price,sold\n1,apple,0.35,2024-01-07\n"
            "2,pear,0.42,2024-01-09\n3,cherry,7.90,2024-02-11\n"
            "4,plum,2.15,2024-02-12\n"
        ),
        68,
    ),
}


@pytest.fixture
def no_vocabulary(monkeypatch, tmp_path):
    """Give tiktoken an empty cache and no network, and forget earlier failures."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {})
    monkeypatch.setattr(tokens, "_warned", set())
    tokens._encoding.cache_clear()
    yield
    tokens._encoding.cache_clear()


@pytest.fixture
def small_vocabulary(monkeypatch):
    """Put a vocabulary of single bytes in the place of cl100k."""
    encoding = tiktoken.Encoding(
        "cl100k_base",
        pat_str=r"\s+|\S+",
        mergeable_ranks={bytes([number]): number for number in range(256)},
        special_tokens={"<|endoftext|>": 256},
    )
    monkeypatch.setattr(tiktoken.registry, "ENCODINGS", {"cl100k_base": encoding})
    tokens._encoding.cache_clear()
    yield encoding
    tokens._encoding.cache_clear()


# --- the estimate ---


@pytest.mark.parametrize(("text", "exact"), SAMPLES.values(), ids=SAMPLES)
def test_the_estimate_is_not_below_the_vocabularies(text: str, exact: int) -> None:
    """It lies between the real number and 1.6 times that."""
    assert exact <= EstimatingCounter().count(text) <= 1.6 * exact


def test_FR_G3_chinese_is_not_counted_as_english() -> None:
    """A thousand Chinese characters are at least 700 tokens."""
    assert EstimatingCounter().count("你好世界" * 250) >= 700


def test_FR_G3_english_is_about_four_characters_a_token() -> None:
    """A thousand characters of English prose are between 200 and 330 tokens."""
    text = (SAMPLES["english"][0] + " ") * 5

    assert 200 <= EstimatingCounter().count(text[:1_000]) <= 330


def test_FR_G3_mixed_text_is_additive_within_a_tenth() -> None:
    """The parts of a text sum up to about its whole."""
    parts = [text for text, _ in SAMPLES.values()]
    count = EstimatingCounter().count
    whole, total = count("\n".join(parts)), sum(map(count, parts))

    assert abs(whole - total) <= 0.1 * total


def test_FR_G1_special_tokens_are_plain_text() -> None:
    """Text that mentions special tokens is counted like any other."""
    assert EstimatingCounter().count("<|endoftext|> <|im_start|>") > 0


@given(ODD_TEXTS)
def test_any_text_has_an_estimate(text: str) -> None:
    """The empty text has none, every other at least one; what it is does not matter."""
    assert (EstimatingCounter().count(text) > 0) == bool(text)


@pytest.mark.parametrize("part", ["a", " ", "\n", "1", "aB", "é", "."])
def test_a_long_run_is_estimated(part: str) -> None:
    """Hundreds of thousands of one character are counted in one pass."""
    assert EstimatingCounter().count(part * 300_000) > 0


# --- which counter ---


def test_FR_G2_without_a_vocabulary_one_warning_in_total(
    no_vocabulary, caplog: pytest.LogCaptureFixture
) -> None:
    """Several counters without their vocabulary estimate, and one warning says so."""
    with caplog.at_level(logging.WARNING, "langchain_ctxfetch"):
        counts = [
            token_counter_for(name).count("abc")
            for name in ("gpt-4o", "cl100k_base", "gpt-4")
            for _ in range(2)
        ]

    assert counts == [EstimatingCounter().count("abc")] * 6
    assert len(caplog.records) == 1


def test_FR_G1_a_vocabulary_takes_special_tokens_as_text(small_vocabulary) -> None:
    """A byte is a token here, also in what looks like a special token."""
    assert token_counter_for("cl100k_base").count("<|endoftext|>") == 13


def test_a_long_unbroken_run_is_counted_in_pieces(small_vocabulary) -> None:
    """Pieces of a run add up to it where a byte is a token."""
    text = "a b " + " " * 45_000 + "x" * 25_001

    assert TiktokenCounter("cl100k_base").count(text) == len(text)


def test_FR_G5_half_an_emoji_is_counted(small_vocabulary) -> None:
    """A lone surrogate counts as U+FFFD, which has three bytes."""
    assert TiktokenCounter("cl100k_base").count("\ud83d") == 3


def test_a_counter_is_its_own() -> None:
    """What counts already is taken as it is."""
    counter = EstimatingCounter()

    assert token_counter_for(counter) is counter


def test_a_function_counts() -> None:
    """A function from str to int is a counter, and its answer becomes an int."""
    count = token_counter_for(lambda text: float(len(text))).count("four")

    assert count == 4
    assert type(count) is int


def test_a_model_without_a_counter_of_its_own_is_estimated() -> None:
    """LangChain's default would download the vocabulary of another model."""
    counter = token_counter_for(FakeListChatModel(responses=[""]))

    assert isinstance(counter, EstimatingCounter)


class CountingModel(FakeListChatModel):
    def get_num_tokens(self, text: str) -> int:
        if "<|" in text:
            raise ValueError("disallowed special token")
        return 2 * len(text.split())


def test_a_model_with_a_counter_of_its_own_counts() -> None:
    """What the model says is believed."""
    counter = token_counter_for(CountingModel(responses=[""]))

    assert isinstance(counter, ModelCounter)
    assert counter.count("one two") == 4


def test_what_a_model_cannot_count_is_estimated() -> None:
    """An error of the model's counter is no error of ours."""
    counter = ModelCounter(CountingModel(responses=[""]))

    assert counter.count("<|x|>") == EstimatingCounter().count("<|x|>")


class OpenAIModel(CountingModel):
    model_name: str = "cl100k_base"


OpenAIModel.__module__ = "langchain_openai.chat_models"


def test_FR_G1_an_openai_model_is_counted_by_its_vocabulary(small_vocabulary) -> None:
    """Its own method refuses special tokens; the vocabulary takes them as text."""
    counter = token_counter_for(OpenAIModel(responses=[""]))

    assert counter.count("<|endoftext|>") == 13


def test_a_model_with_a_tokeniser_of_its_own_counts() -> None:
    """What `custom_get_token_ids` returns is counted."""
    model = FakeListChatModel(
        responses=[""], custom_get_token_ids=lambda text: list(range(len(text)))
    )

    assert token_counter_for(model).count("four") == 4


def test_the_estimate_has_a_name() -> None:
    """A setting that is text can ask for it."""
    assert repr(token_counter_for("estimate")) == "EstimatingCounter()"


def test_a_newer_model_has_the_newest_vocabulary(monkeypatch, small_vocabulary) -> None:
    """A model that this tiktoken does not know is counted by o200k."""
    monkeypatch.setitem(tiktoken.registry.ENCODINGS, "o200k_base", small_vocabulary)

    assert token_counter_for("gpt-99-new").count("four") == 4


def test_a_vocabulary_that_does_not_arrive_is_not_waited_for(
    monkeypatch, no_vocabulary
) -> None:
    """After its time the text is estimated."""
    monkeypatch.setattr(tokens, "_LOAD_S", 0.01)
    release = threading.Event()
    monkeypatch.setattr(tokens, "_load", lambda _: release.wait(20))
    count = token_counter_for("gpt-4").count("abc")
    release.set()

    assert count == EstimatingCounter().count("abc")


@pytest.mark.parametrize("source", ["claude-4", "", "gpt4oo", 7, ["gpt-4o"]])
def test_other_sources_are_refused(source) -> None:
    """A name that no vocabulary has is an error that names the argument."""
    with pytest.raises(ConfigurationError, match="`token_counter`"):
        token_counter_for(source)


@pytest.mark.parametrize("source", [None, "gpt-4o", "o3-mini", "cl100k_base", len])
def test_every_counter_keeps_to_the_port(source) -> None:
    """Whatever it is made of, it counts texts and messages."""
    assert isinstance(token_counter_for(source), TokenCounter)


# --- messages ---


@tool
def look_up(word: str) -> str:
    """Look a word up."""
    return word


CALL = AIMessage(
    "",
    tool_calls=[{"name": "look_up", "args": {"word": "cat"}, "id": "1"}],
)


def test_a_message_costs_its_text_and_a_frame() -> None:
    """Two messages have two frames and one beginning of a reply."""
    counter = EstimatingCounter()
    made = counter.count_messages([SystemMessage("one"), HumanMessage("two")])

    assert (
        made
        == counter.count("one") + counter.count("two") + 2 * PER_MESSAGE + PER_REPLY
    )


def test_tool_calls_are_counted() -> None:
    """A message without a text has the tokens of the call that it makes."""
    counter = EstimatingCounter()
    called = counter.count("look_up " + json.dumps({"word": "cat"}))

    assert counter.count_messages([CALL]) == called + PER_MESSAGE + PER_REPLY


def test_tool_schemas_are_counted() -> None:
    """The tools of a request add what their schemas have."""
    counter = EstimatingCounter()

    assert counter.count_messages([], [look_up]) > counter.count("Look a word up.")


def test_images_are_counted() -> None:
    """An image has a price of its own, the texts around it theirs."""
    counter = EstimatingCounter()
    message = HumanMessage(
        [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "x"}},
        ]
    )

    assert counter.count_messages([message]) == (
        counter.count("see") + PER_IMAGE + PER_MESSAGE + PER_REPLY
    )


def test_a_function_prices_a_message_as_its_text_alone() -> None:
    """No frames, no calls: the texts, as the function counts them."""
    messages = [
        HumanMessage("four"),
        CALL,
        HumanMessage([{"type": "text", "text": "x"}]),
    ]

    assert FunctionCounter(len).count_messages(messages) == 5


@pytest.mark.parametrize("given", [None, float("nan"), float("inf"), "x"])
def test_a_function_that_gives_no_number_is_named(given) -> None:
    """A typed error that names the argument."""
    with pytest.raises(ConfigurationError, match="token_counter"):
        token_counter_for(lambda text: given).count("text")


def test_a_function_that_fails_is_named() -> None:
    """Its own error is the cause."""
    with pytest.raises(ConfigurationError, match="ZeroDivisionError"):
        token_counter_for(lambda text: 1 / 0).count("text")


def test_fractions_count_up() -> None:
    """27.75 tokens are not within a budget of 27."""
    assert token_counter_for(lambda text: len(text) / 4).count("x" * 111) == 28


def test_a_model_without_a_counter_of_its_own_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its numbers are estimated, and one warning tells."""
    monkeypatch.setattr(tokens, "_warned", set())
    with caplog.at_level(logging.WARNING, "langchain_ctxfetch"):
        for _ in range(2):
            token_counter_for(FakeListChatModel(responses=["a"]))

    (record,) = caplog.records
    assert "FakeListChatModel" in record.getMessage()
    assert "estimated" in record.getMessage()
