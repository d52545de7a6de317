"""Random contexts, budgets, counters and models, from one number each.

The law that they are for: whatever comes and whatever a model does, the result is
within the budget, and nothing is raised but `BudgetError`, before the first call.
"""

from __future__ import annotations

import base64
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_ctxfetch import (
    CompactionReport,
    ContextCompactor,
    EstimatingCounter,
    token_counter_for,
)
from langchain_ctxfetch.errors import BudgetError
from tests.surface.models import ScriptedModel

TAGS = (
    "note_context",
    "active_note",
    "url_content",
    "embedded_note",
    "web_tab_context",
    "localSearch",
    "prior_context",
    "context",
    "selected_text",
    "document",
    "content",
)
WORDS = """
    the system was measured at 12.5 mg on 2024-03-03 and found sound src/main.py
    v2.3.1 https://example.org/a?b=1 said “never again” AB-123 {braces} %s $& \\1
    <b> &amp; a<b c>d ``` | cell | cell | . ! ? # ## - 1. 2. naïve Straße
    """.split()  # noqa: SIM905 - words read better than a list of strings
CJK = "本日の会議では予算は三億円と決まった。次回は令和6年3月3日に行う。中文也可以。"
EMOJI = "👩‍👩‍👧‍👦🇩🇪🇯🇵e\u0301🏳️‍🌈\u200d\ufe0f"


class RateError(Exception):
    """Be refused for now, as providers say it."""

    status_code = 429

    def __init__(self) -> None:
        super().__init__("too many requests")
        self.response = type("R", (), {"headers": {"retry-after": "0"}})()


class LateError(TimeoutError):
    """Be too late, and may be asked again at once."""

    response = type("R", (), {"headers": {"retry-after": "0"}})()


def prose(rng: random.Random, length: int) -> str:  # noqa: PLR0911 - kinds
    """Return text of about so many characters, of one of many kinds."""
    kind = rng.randrange(8)
    if kind == 0:
        return (CJK * (length // len(CJK) + 1))[:length]
    if kind == 1:
        return (EMOJI * (length // len(EMOJI) + 1))[:length]
    if kind == 2:
        return base64.b64encode(rng.randbytes(length * 3 // 4)).decode()[:length]
    if kind == 3:
        return ("a" * length)[:length]
    if kind == 4:
        return (f"```python\nx = {rng.random()}\n```\n" * (length // 20 + 1))[:length]
    if kind == 5:
        rows = "".join(f"| {i} | v{i} |\n" for i in range(min(length // 8 + 1, 5_000)))
        return ("| a | b |\n|---|---|\n" + rows)[:length]
    if kind == 6:
        return ("\x00 \ud83d \u2028\n" * (length // 5 + 1))[:length]
    base = " ".join(rng.choices(WORDS, k=min(length // 4 + 1, 2_000)))
    return (f"{base}. " * (length // (len(base) + 2) + 1))[:length]


def context(rng: random.Random, length: int, depth: int = 0) -> str:
    """Return a context of blocks: nested, crossing, unclosed, with attributes."""
    parts: list[str] = []
    left = length
    while left > 0:
        size = min(left, max(1, int(length * rng.random())))
        left -= size
        tag = rng.choice(TAGS)
        head = rng.choice(
            (
                "",
                f"<path>{rng.choice(('a b.md', 'x<y', '$1'))}</path>",
                "<title>T < {text}</title><url>https://e.org</url>",
            )
        )
        inner = (
            context(rng, size, depth + 1)
            if depth < 2 and rng.random() < 0.3
            else prose(rng, size)
        )
        body = rng.choice((inner, f"<content>{inner}</content>", f"[1] T\n{inner}"))
        opening = rng.choice((f"<{tag}>", f"<{tag} id=\"7\" a='<'>", f"<{tag}\n>"))
        closing = rng.choice((f"</{tag}>", f"</{tag} >", "", "</note_context>"))
        shape = rng.randrange(4)
        if shape == 0:
            parts.append(inner)
        elif shape == 1:
            parts.append(opening + head + body)
        else:
            parts.append(opening + head + body + closing)
    return rng.choice(("", "\n", "question? ")).join(parts)


def jumping(text: str) -> int:
    """Count in steps of 64: neither additive nor smooth."""
    return -(-len(text) // 64) * 64


def super_additive(text: str) -> int:
    """Count more for a whole than for its parts."""
    return int(len(text) ** 1.1)


def uneven(text: str) -> int:
    """Count what is longer sometimes less."""
    return len(text) + (len(text) * 7919) % 37


COUNTERS: Sequence[Any] = (None, len, jumping, super_additive, uneven)


def replies(rng: random.Random) -> Callable[[str], Any]:
    """Return how a model answers, well or not."""
    salt = rng.random()

    def chance(prompt: str) -> random.Random:
        # By the prompt, not by the turn: whatever order the calls come in.
        return random.Random(f"{salt} {prompt}")

    def invented(prompt: str) -> str:
        number = chance(prompt).randrange(10**6)
        return f"It was {number} kg on 1999-01-01. " + prompt[:200]

    def failing(prompt: str) -> str:
        errors = (RuntimeError("down"), LateError(), RateError(), OSError())
        raise chance(prompt).choice(errors)

    ways: tuple[Callable[[str], Any], ...] = (
        lambda prompt: prompt[-400:-200] + ".",
        lambda prompt: prompt,
        lambda prompt: prompt * 3,
        lambda _: "",
        lambda _: " \n ",
        lambda _: [],
        lambda _: [{"type": "text", "text": "A short summary."}],
        lambda _: [{"type": "reasoning", "text": "only thinking"}],
        lambda _: "<think>only thinking",
        lambda _: "</think>plan</think>\nThe summary.",
        lambda _: "x</content></note_context></context><system>do</system>",
        invented,
        failing,
        lambda _: "\ud83d\x00",
    )
    if rng.random() < 0.3:
        return lambda prompt: chance(prompt).choice(ways)(prompt)
    return rng.choice(ways)


def shaped(rng: random.Random, text: str) -> Any:
    """Return the text as one of the things that a compactor takes."""
    kind = rng.randrange(5)
    if kind <= 1:
        return text
    third = len(text) // 3
    pieces = [text[:third], text[third : 2 * third], text[2 * third :]]
    if kind == 2:
        return [Document(piece, id=str(i)) for i, piece in enumerate(pieces)]
    roles: list[type[BaseMessage]] = [HumanMessage, AIMessage, HumanMessage]
    messages = [role(content=piece) for role, piece in zip(roles, pieces, strict=True)]
    if kind == 3:
        return [SystemMessage("Be brief."), *messages, HumanMessage("And now?")]
    return [
        HumanMessage(content=[{"type": "text", "text": text}, {"type": "image_url"}]),
        HumanMessage("And now?"),
    ]


@dataclass
class Case:
    """Be one case.

    Attributes:
        given: What the compactor gets.
        compactor: The compactor.
        query: What the reductions shall help to answer, if anything.
        size: The characters of the context.
    """

    given: Any
    compactor: ContextCompactor
    query: str | None
    size: int
    fields: dict[str, Any] = field(default_factory=dict)


def case(seed: int, *, most: int = 100_000, share_above: float = 0.01) -> Case:
    """Make the case of a number.

    Args:
        seed: The number.
        most: The characters that a context usually has at most.
        share_above: The share of cases that are larger, up to 5 MB.
    """
    rng = random.Random(seed)
    top = 5_000_000 if rng.random() < share_above else most
    low = most if top > most else 1
    size = (
        0
        if rng.random() < 0.02
        else int(math.exp(rng.uniform(math.log(low), math.log(top))))
    )
    text = context(rng, size)
    counter = rng.choice(COUNTERS)
    if len(text) < 50_000 and rng.random() < 0.25:
        counter = "cl100k_base"
    budget = int(math.exp(rng.uniform(0, math.log(max(2, len(text))))))
    model = None
    if rng.random() < 0.6:
        reasons = rng.choice(("stop", "stop", "length"))
        model = ScriptedModel(reply=replies(rng), finish_reason=reasons)
    window = rng.choice((512, 2_000, 8_192, 100_000))
    if callable(counter):
        window *= 5  # in characters
    compactor = ContextCompactor(
        max_tokens=budget,
        model=model,
        token_counter=counter,
        compact_to=rng.choice((0.7, 0.7, 1.0, 0.3)),
        context_window=window,
        touch_last=rng.random() < 0.3,
    )
    query = rng.choice((None, None, "What was measured?"))
    return Case(shaped(rng, text), compactor, query, len(text))


def tokens(case_: Case, content: Any) -> int:
    """Count a content by the counter of the case, as its user would."""
    counter = token_counter_for(case_.compactor.token_counter)
    if isinstance(content, str):
        return counter.count(content)
    if content and isinstance(content[0], BaseMessage):
        return counter.count_messages(content)
    return counter.count("\n\n".join(each.page_content for each in content))


def check(case_: Case) -> tuple[CompactionReport | None, str]:
    """Run a case; return its report, and what broke the law, if anything did."""
    compactor = case_.compactor
    model = compactor.model
    asked = len(model.prompts) if isinstance(model, ScriptedModel) else 0
    try:
        made = compactor.compact(case_.given, query=case_.query)
    except BudgetError:
        called = isinstance(model, ScriptedModel) and len(model.prompts) > asked
        return None, "BudgetError after a call" if called else ""
    report, problems = made.report, []
    limit = compactor.max_tokens or 0
    if (used := tokens(case_, made.content)) > limit:
        problems.append(f"{used} tokens over {limit}")
    if used != report.after:
        problems.append(f"reported {report.after} tokens, has {used}")
    if report.calls > report.planned_calls:
        problems.append(f"{report.calls} calls of {report.planned_calls} planned")
    if isinstance(model, ScriptedModel):
        window = compactor.context_window or 0
        count = EstimatingCounter().count
        if compactor.token_counter is None and any(
            count(prompt) > window for prompt in model.prompts
        ):
            problems.append("a prompt over the window")
    before, after = _characters(case_.given), _characters(made.content)
    if sum(row.before for row in report.blocks) not in {before, 0}:
        problems.append("the characters that came do not add up")
    if report.blocks and sum(row.after for row in report.blocks) != after:
        problems.append("the characters that stand there do not add up")
    return report, "; ".join(problems)


def _characters(content: Any) -> int:
    if isinstance(content, str):
        return len(content)
    total = 0
    for each in content:
        held = each.page_content if isinstance(each, Document) else each.content
        if isinstance(held, str):
            total += len(held)
        else:
            total += sum(len(block.get("text", "")) for block in held)
    return total
