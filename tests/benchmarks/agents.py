"""An agent of many turns, whose context grows by a block a turn."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_ctxfetch import ContextCompactor, EstimatingCounter
from tests.surface.models import ScriptedModel

TURNS = 120
BUDGET = 20_000
SHARE = 20  # a block of a turn is so small a part of the budget
WORDS = """
    the server answered request build failed module parser value of in at with
    found error line test passed file config user data index search result page
    """.split()  # noqa: SIM905 - words read better than a list of strings


@dataclass(frozen=True)
class Run:
    """Be what was seen of an agent.

    Attributes:
        prefix: The share of all bytes sent that is a prefix equal to the turn before.
        rewrites: Turns at which something sent before was changed, a turn.
        calls: Calls of the model that writes summaries.
        calls_a_block: The most calls about one block.
        over: Turns that were over the budget.
    """

    prefix: float
    rewrites: float
    calls: int
    calls_a_block: int
    over: int


def block(turn: int) -> str:
    """Return what a tool said in a turn: about a twentieth of the budget."""
    rng = random.Random(turn)
    count = EstimatingCounter().count
    lines: list[str] = []
    while count("\n".join(lines)) < BUDGET / SHARE:
        words = " ".join(rng.choices(WORDS, k=12))
        lines.append(f"Turn {turn}, {words} {rng.randrange(10_000)} in src/m{turn}.py.")
    return "\n".join(lines)


def _summary(prompt: str) -> str:
    lines = [line for line in prompt.split("\n") if line.startswith("Turn ")]
    return "\n".join(lines[: max(1, len(lines) // 4)])


def _seen(sent: list[str], model: ScriptedModel | None, over: int) -> Run:
    common = rewrites = 0
    for before, after in pairwise(sent):
        equal = _shared(before, after)
        common += equal
        # The last message alone may go.
        rewrites += equal < len(before)
    prompts = [] if model is None else model.prompts
    about = Counter(
        turn
        for prompt in prompts
        for turn in {
            line.split(",")[0]
            for line in prompt.split("\n")
            if line.startswith("Turn ")
        }
    )
    return Run(
        common / sum(map(len, sent[1:])),
        rewrites / TURNS,
        len(prompts),
        max(about.values(), default=0),
        over,
    )


def _shared(first: str, second: str) -> int:
    if second.startswith(first):
        return len(first)
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _told(messages: list[BaseMessage]) -> str:
    return "\x1e".join(f"{each.type}: {each.content}" for each in messages)


def _turn(turn: int) -> list[BaseMessage]:
    return [
        HumanMessage(
            f"<note_context>\n<path>t{turn}.log</path>\n"
            f"<content>{block(turn)}</content>\n</note_context>\nGo on."
        ),
        AIMessage(f"Done with step {turn}."),
    ]


def our_run(*, model: bool) -> Run:
    """Let the agent run over a compactor."""
    writer = ScriptedModel(reply=_summary) if model else None
    compactor = ContextCompactor(max_tokens=BUDGET, model=writer)
    counter = EstimatingCounter()
    history: list[BaseMessage] = [SystemMessage("You are an agent. Be brief.")]
    sent: list[str] = []
    over = 0
    for turn in range(TURNS):
        history += _turn(turn)[:1]
        made: Any = compactor.invoke(history)
        over += counter.count_messages(made) > BUDGET
        sent.append(_told(made))
        history += _turn(turn)[1:]
    return _seen(sent, writer, over)


def middleware_run() -> Run | None:
    """Let the agent run over LangChain's own middleware, where it is installed."""
    try:
        from langchain.agents.middleware import (  # noqa: PLC0415 - may be missing
            SummarizationMiddleware,
        )
    except ImportError:
        return None
    writer = ScriptedModel(reply=_summary)
    counter = EstimatingCounter()
    middleware = SummarizationMiddleware(
        writer,
        trigger=("tokens", BUDGET),
        keep=("tokens", int(BUDGET * 0.7)),
        token_counter=counter.count_messages,
    )
    history: list[BaseMessage] = [SystemMessage("You are an agent. Be brief.")]
    sent: list[str] = []
    over = 0
    for turn in range(TURNS):
        history += _turn(turn)[:1]
        changed = middleware.before_model({"messages": history}, None)
        if changed:
            history = [each for each in changed["messages"] if each.type != "remove"]
        over += counter.count_messages(history) > BUDGET
        sent.append(_told(history))
        history += _turn(turn)[1:]
    return _seen(sent, writer, over)
