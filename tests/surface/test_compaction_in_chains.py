"""The compactor among messages and in chains."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.callbacks import UsageMetadataCallbackHandler
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField

from langchain_ctxfetch.errors import BudgetError
from tests.surface.compacting import SENTENCES, compactor, note, short
from tests.surface.models import Peak, ScriptedModel

# --- Messages ---


def test_request_and_result_pairs_and_signed_blocks_stay_whole() -> None:
    signed = AIMessage(
        [
            {"type": "thinking", "thinking": "t" * 50, "signature": "s"},
            {"type": "text", "text": "answer " * 20},
        ]
    )
    calling = AIMessage("", tool_calls=[{"name": "f", "args": {}, "id": "1"}])
    image = HumanMessage(
        [
            {"type": "text", "text": SENTENCES},
            {"type": "image_url", "image_url": {"url": "data:,x"}},
        ]
    )
    given: list[BaseMessage] = [
        signed,
        calling,
        ToolMessage(SENTENCES, tool_call_id="1"),
        image,
        HumanMessage("Why?"),
    ]
    made = compactor(1_500).invoke(given)
    assert made[0] is signed
    assert made[1] is calling
    assert made[2].tool_call_id == "1"
    assert made[3].content[-1] == given[3].content[-1]  # type: ignore[index]
    assert made[-1] is given[-1]


@pytest.mark.parametrize("kind", ["thinking", "reasoning", "compaction"])
def test_a_signed_message_stays_whole_however_long_it_is(kind: str) -> None:
    signed = AIMessage([{"type": kind}, {"type": "text", "text": SENTENCES[:900]}])
    given = [signed, AIMessage(SENTENCES), HumanMessage("Why?")]
    made = compactor(1_500).invoke(given)
    assert made[0] is signed


def test_the_last_human_message_may_be_reduced_where_that_is_asked() -> None:
    given = [HumanMessage(SENTENCES)]
    with pytest.raises(BudgetError):
        compactor().invoke(given)
    (made,) = compactor(touch_last=True).invoke(given)
    assert len(made.content) <= 1_000


# --- In chains ---


def chain(step: Any) -> Any:
    prompt = ChatPromptTemplate.from_messages(
        [("system", "<context>{context}</context>"), ("human", "{q}")]
    )
    return prompt | step | ScriptedModel(reply=lambda text: f"saw {len(text)} signs")


INPUT = {"context": SENTENCES, "q": "Why?"}


def test_it_stands_between_a_prompt_and_a_model() -> None:
    made = chain(compactor()).invoke(INPUT)
    assert int(made.content.split()[1]) < 1_000


def test_batch_answers_each_input() -> None:
    made = chain(compactor()).batch([INPUT, {"context": "a", "q": "b"}])
    assert len(made) == 2


async def test_events_hold_the_progress_and_no_token_of_the_summaries() -> None:
    step = compactor(
        model=ScriptedModel(reply=lambda _: "INTERNAL words"), context_window=100_000
    )
    events = [event async for event in chain(step).astream_events(INPUT, version="v2")]
    told = [each for each in events if each["event"] == "on_custom_event"]
    assert [each["name"] for each in told] == ["ctxfetch_compaction"]
    streamed = [each for each in events if each["event"] == "on_chat_model_stream"]
    assert streamed
    assert not any("INTERNAL" in str(each["data"]) for each in streamed)


async def test_the_stream_of_a_chain_holds_the_answer_alone() -> None:
    step = compactor(model=ScriptedModel(reply=lambda _: "INTERNAL words"))
    parts = [part.content async for part in chain(step).astream(INPUT)]
    assert "".join(parts).startswith("saw")


def test_the_budget_can_be_set_by_the_config() -> None:
    step = compactor().configurable_fields(max_tokens=ConfigurableField(id="budget"))
    made = step.invoke(SENTENCES, {"configurable": {"budget": 300}})
    assert len(made) <= 300


def test_fallbacks_take_over_where_nothing_may_be_reduced() -> None:
    given = [HumanMessage(SENTENCES)]
    step = compactor().with_fallbacks([compactor(touch_last=True)])
    assert len(step.invoke(given)[0].content) <= 1_000


def test_it_can_be_tried_again() -> None:
    assert len(compactor().with_retry().invoke(SENTENCES)) <= 1_000


def test_usage_callbacks_see_the_calls_of_the_summaries() -> None:
    usage = UsageMetadataCallbackHandler()
    model = ScriptedModel(reply=short, usage=(7, 3))
    step = compactor(model=model, context_window=100_000)
    step.invoke(SENTENCES, {"callbacks": [usage]})
    (seen,) = usage.usage_metadata.values()
    assert seen["input_tokens"] == 7


def test_the_concurrency_of_the_config_reaches_the_calls() -> None:
    peak = Peak()
    text = "\n".join(note(f"{i}", SENTENCES) for i in range(6))
    step = compactor(2_000, model=ScriptedModel(reply=peak), context_window=100_000)
    step.invoke(text, {"max_concurrency": 1})
    assert peak.most == 1
