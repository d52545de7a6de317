"""The compactor: what it takes and gives back, and its budgets."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    HumanMessage,
    SystemMessage,
)
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate
from langchain_core.runnables import RunnableLambda

from langchain_ctxfetch import (
    BlockRule,
    ContextCompactor,
    render_context,
)
from langchain_ctxfetch.errors import BudgetError, ConfigurationError
from tests.surface.compacting import SENTENCES, compactor, note, short
from tests.surface.models import ScriptedModel

# --- What comes back ---


@pytest.mark.parametrize(
    "given",
    [
        "",
        "short",
        [Document("short", id="1")],
        [],
        [HumanMessage("short")],
        ChatPromptTemplate.from_messages([("human", "{q}")]).invoke({"q": "short"}),
        PromptTemplate.from_template("{q}").invoke({"q": "short"}),
    ],
)
def test_what_fits_comes_back_as_it_is(given: Any) -> None:
    model = ScriptedModel()
    made = compactor(model=model).compact(given)
    assert made.content is given
    assert (made.report.calls, made.report.changed, model.prompts) == (0, 0, [])


@pytest.mark.parametrize(
    "given",
    [
        SENTENCES,
        [Document(SENTENCES, id="1"), Document(SENTENCES, id="2")],
        [HumanMessage(SENTENCES), HumanMessage("Why?")],
        ChatPromptTemplate.from_messages([("ai", "{q}"), ("human", "Why?")]).invoke(
            {"q": SENTENCES}
        ),
        PromptTemplate.from_template("{q}").invoke({"q": SENTENCES}),
    ],
)
def test_what_does_not_fit_comes_back_smaller_and_of_its_type(given: Any) -> None:
    made = compactor().compact(given)
    assert type(made.content) is type(given)
    assert 0 < made.report.after <= 1_000 < made.report.before


def test_a_dict_keeps_its_other_keys() -> None:
    made = compactor(input_key="context").invoke({"context": SENTENCES, "n": 1})
    assert made["n"] == 1
    assert len(made["context"]) <= 1_000


def test_a_dict_whose_context_fits_comes_back_as_it_is() -> None:
    given = {"context": "short", "n": 1}
    assert compactor(input_key="context").invoke(given) is given


def test_a_dict_without_the_key_is_refused_with_its_keys() -> None:
    with pytest.raises(ConfigurationError, match="'text'"):
        compactor(input_key="context").invoke({"text": SENTENCES})


def test_without_a_budget_nothing_happens() -> None:
    assert compactor(None).invoke(SENTENCES) == SENTENCES


@pytest.mark.parametrize("other", [1, None, {1, 2}, [1, 2], b"text"])
def test_another_type_is_refused(other: Any) -> None:
    with pytest.raises(ConfigurationError, match="a compactor takes"):
        compactor().invoke(other)


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": -1},
        {"compact_to": 0},
        {"compact_to": 1.1},
        {"max_concurrency": 0},
        {"timeout_s": 0},
        {"context_window": 0},
        {"cache": {}},
        {"prompt": PromptTemplate.from_template("no text")},
        {"prompt": "a text {text}"},
        {"rules": {"a": BlockRule(prompt=PromptTemplate.from_template("{x} {text}"))}},
        {"unknown": 1},
    ],
)
def test_a_wrong_setting_is_refused_at_once(fields: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - pydantic's and ours
        ContextCompactor(**({"max_tokens": 10} | fields))


def test_at_least_nine_tenths_of_the_goal_are_used() -> None:
    made = compactor(2_000).compact(SENTENCES)
    assert made.report.after >= 0.9 * 0.7 * 2_000


def test_the_report_adds_up_and_prints_as_a_table() -> None:
    text = f"{note('a.md', SENTENCES)}\nWhy?"
    made = compactor().compact(text)
    assert sum(row.before for row in made.report.blocks) == len(text)
    assert sum(row.after for row in made.report.blocks) == len(made.content)
    assert "a.md" in str(made.report)
    assert "<table>" in made.report._repr_html_()


def test_the_plan_says_the_calls_and_makes_none() -> None:
    model = ScriptedModel(reply=short)
    plan = compactor(model=model, context_window=100_000).plan(note("a.md", SENTENCES))
    assert (plan.calls, model.prompts) == (3, [])
    assert plan.blocks[0].source == "a.md"


# --- Budgets ---


def test_FR_G8_what_may_not_be_reduced_is_refused_before_any_call() -> None:
    model = ScriptedModel(reply=short)
    given = [SystemMessage("s" * 2_000), HumanMessage(SENTENCES), HumanMessage("Why?")]
    with pytest.raises(BudgetError, match="raise `max_tokens`"):
        compactor(model=model).invoke(given)
    assert model.prompts == []


@pytest.mark.parametrize("budget", [1, 2, 10, 40, 100])
def test_FR_G8_a_tiny_budget_is_kept(budget: int) -> None:
    assert len(compactor(budget).invoke(SENTENCES)) <= budget


def test_FR_G11_what_is_free_is_used_and_the_question_stays() -> None:
    given = [
        SystemMessage("s" * 100),
        HumanMessage(SENTENCES[:6_000]),
        HumanMessage("Why?"),
    ]
    made = compactor(8_192).compact(given)
    assert made.content is given


def test_FR_G12_the_question_beside_the_context_stays() -> None:
    rendered = render_context(
        [Document(SENTENCES, metadata={"source": f"{i}.md"}) for i in range(5)]
    )
    text = f"Use this.\n{rendered}\nQuestion: why?"
    made = compactor(4_000).invoke(text)
    assert made.startswith("Use this.\n<context>\n[1] source: 0.md\n")
    assert made.endswith("\n</context>\nQuestion: why?")


@pytest.mark.parametrize("role", [SystemMessage, HumanMessage])
def test_a_rendered_context_in_a_message_is_reduced_where_it_stands(role: Any) -> None:
    rendered = render_context([Document(SENTENCES, metadata={"source": "a.md"})])
    given = [role(f"Be brief.\n{rendered}\nQuestion: why?")]
    (made,) = compactor().invoke(given)
    assert made.content.startswith("Be brief.\n<context>\n[1] source: a.md\n")
    assert made.content.endswith("\n</context>\nQuestion: why?")


@pytest.mark.parametrize("reserve", [200_000, 400_000])
def test_FR_G14_a_reserve_takes_half_of_the_budget_at_most(reserve: int) -> None:
    made = compactor(200_000, output_reserve=reserve).compact(SENTENCES)
    assert made.content is SENTENCES


def test_FR_H1_one_long_block_is_read_in_pieces_within_the_window() -> None:
    model = ScriptedModel(reply=short)
    made = compactor(4_000, model=model, context_window=8_000).compact(
        note("a.md", SENTENCES * 5)
    )
    assert made.report.after <= 4_000
    assert len(model.prompts) > 10
    assert max(map(len, model.prompts)) <= 8_000


def test_FR_H1_pieces_are_within_the_window_where_the_text_gets_denser() -> None:
    def dense(text: str) -> int:
        return len(text) + 9 * text.count("x")

    model = ScriptedModel(reply=short)
    step = ContextCompactor(
        max_tokens=2_000, model=model, token_counter=dense, context_window=8_000
    )
    step.invoke(note("a.md", SENTENCES * 2 + "xxxx xxxx xxxx xxxx. " * 2_000))
    assert max(map(dense, model.prompts)) <= 8_000


def test_FR_H2_a_model_that_echoes_ends_within_the_plan() -> None:
    model = ScriptedModel(reply=lambda prompt: prompt)
    text = "\n".join(note(f"{i}", SENTENCES[:500]) for i in range(3))
    made = ContextCompactor(max_tokens=300, model=model, token_counter=len).compact(
        text
    )
    assert made.report.after <= 300
    assert len(model.prompts) <= 2 * 3 + 2


async def test_FR_H3_sync_async_and_batch_are_equal() -> None:
    text = note("a.md", SENTENCES)
    made, counts = [], []
    for way in ("invoke", "ainvoke", "batch"):
        model = ScriptedModel(reply=short)
        step = compactor(model=model, context_window=5_000)
        if way == "ainvoke":
            made.append(await step.ainvoke(text))
        elif way == "batch":
            made += await RunnableLambda(lambda x, s=step: s.batch([x])).ainvoke(text)
        else:
            made.append(await RunnableLambda(step.invoke).ainvoke(text))
        counts.append(len(model.prompts))
    assert made[0] == made[1] == made[2]
    assert counts[0] == counts[1] == counts[2]


def test_FR_H6_a_prompt_over_the_window_is_refused_with_both_numbers() -> None:
    prompt = PromptTemplate.from_template("x" * 9_000 + "{text}")
    model = ScriptedModel(reply=short)
    step = compactor(model=model, prompt=prompt, context_window=8_000)
    with pytest.raises(ConfigurationError, match=r"9,000 tokens.*8,000"):
        step.invoke(SENTENCES)
    assert model.prompts == []


def test_FR_H7_a_reply_that_grows_never_makes_it_larger() -> None:
    model = ScriptedModel(reply=lambda prompt: prompt * 2)
    made = compactor(model=model, context_window=100_000).compact(SENTENCES)
    assert made.report.after <= 1_000
    assert "no shorter" in made.report.blocks[-1].why


def test_FR_H11_what_was_chosen_by_hand_stays_byte_for_byte() -> None:
    chosen = f"<selected_text>{SENTENCES[:600]}</selected_text>"
    made = compactor(900).invoke(f"{chosen}\n{note('a.md', SENTENCES)}")
    assert made.startswith(chosen)


def test_FR_H13_no_call_is_over_the_window_for_a_huge_context() -> None:
    model = ScriptedModel(reply=short)
    text = "\n".join(note(f"{i}.md", SENTENCES * 10) for i in range(5))
    step = compactor(5_000, model=model, context_window=32_000)
    assert step.compact(text).report.after <= 5_000
    assert max(map(len, model.prompts)) <= 32_000


def test_FR_H14_a_model_that_always_fails_loses_nothing_silently() -> None:
    def fail(_: str) -> str:
        raise RuntimeError("context length exceeded")

    made = compactor(model=ScriptedModel(reply=fail)).compact(note("a.md", SENTENCES))
    assert "[excerpt]" in made.content
    assert "context length exceeded" in made.report.blocks[-1].why


def test_FR_H16_the_wrappers_of_the_sources_stay_byte_for_byte() -> None:
    head = "\n<id>{i}</id>\n<url>https://e.org/{i}</url>\n<title>T {i}</title>"
    text = "\n".join(
        note(f"{i}.md", SENTENCES, head.replace("{i}", str(i))) for i in range(3)
    )
    made = compactor(2_000, model=ScriptedModel(reply=short)).invoke(text)
    for i in range(3):
        assert f"<path>{i}.md</path>{head.replace('{i}', str(i))}" in made
    assert made.count("[summary]\n") == 3


def test_FR_H17_every_source_is_named_in_the_report() -> None:
    text = "\n".join(note(f"{i}.md", SENTENCES) for i in range(30))
    made = compactor(600).compact(text)
    assert [row.source for row in made.report.blocks if row.id] == [
        f"{i}.md" for i in range(30)
    ]
    assert any(row.how == "removed" for row in made.report.blocks)


def test_what_is_left_out_is_named_in_one_line_where_there_is_room() -> None:
    text = "\n".join(note(f"{i}.md", "word " * 20) for i in range(20))
    made = compactor(800).invoke(text)
    assert "[left out: " in made


def test_FR_H19_the_wrappers_count() -> None:
    text = "\n".join(note(f"{i}.md", "ten tokens") for i in range(100))
    assert len(compactor(3_000).invoke(text)) <= 3_000


def test_FR_S3_many_medium_blocks_are_reduced() -> None:
    text = "\n".join(note(f"{i}.md", SENTENCES) for i in range(40))
    assert len(compactor(20_000).invoke(text)) <= 20_000


def test_FR_S4_all_of_a_long_block_is_read() -> None:
    model = ScriptedModel(reply=short)
    text = note("a.md", SENTENCES * 3 + " THE-END.")
    compactor(model=model, context_window=8_000).invoke(text)
    assert any("THE-END" in prompt for prompt in model.prompts)


def test_FR_S7_compacting_twice_is_compacting_once() -> None:
    step = compactor(model=ScriptedModel(reply=short), context_window=100_000)
    once = step.invoke(note("a.md", SENTENCES))
    assert step.invoke(once) == once
    assert once.count("[summary]") == 1
