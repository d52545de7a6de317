"""Measure the compactor: calls, waiting, parsing, quality without a model, stability.

    python -m tests.benchmarks.compaction [--only calls waiting parsing noop covidqa
        used japanese stability]

The data is looked for as the other benchmarks do. Peers run on the same inputs in the
same run: `load_summarize_chain` and `SummarizationMiddleware`, where they are there.
"""

from __future__ import annotations

import argparse
import asyncio
import math
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_ctxfetch import ContextCompactor, EstimatingCounter
from langchain_ctxfetch._core.blocks import parse, render
from tests.benchmarks.agents import middleware_run, our_run
from tests.benchmarks.collections import leave_without_data
from tests.benchmarks.survival import DATA, cases, compressor, rows
from tests.benchmarks.timing import (
    HEADER,
    Row,
    at_least,
    at_most,
    cpu_ms,
    progress,
    told,
)
from tests.surface.models import ScriptedModel

WORDS = """
    alpha beta gamma delta the of and report was sent after a long talk
    """.split()  # noqa: SIM905 - words read better than a list of strings
MARGIN = 0.01


def summary(prompt: str) -> str:
    """Answer with the first sentences of what is asked, about 100 words."""
    body = prompt.split(">\n", 1)[-1]
    return " ".join(body.split()[:100]) + "."


def documents(number: int, words: int) -> list[Document]:
    """Make documents of sentences."""
    return [
        Document(
            " ".join(
                f"Item {i} says {WORDS[(i * j) % len(WORDS)]} to {WORDS[j % 7]}."
                for j in range(words // 6)
            ),
            id=f"d{i}",
        )
        for i in range(number)
    ]


def calls() -> Iterator[Row]:
    """Compare the calls with those of the usual chain."""
    given = documents(40, 300)
    counter = EstimatingCounter()
    for budget in (3_000, 1_000):
        model = ScriptedModel(reply=summary)
        compactor = ContextCompactor(
            max_tokens=budget, model=model, context_window=8_192
        )
        made = compactor.compact(given)
        used = sum(counter.count(each.page_content) for each in made.content)
        theirs = _chain_calls(given, budget)
        peer = "not installed" if theirs is None else f"{theirs} calls"
        met = used <= budget and (theirs is None or made.report.calls <= theirs)
        yield Row(
            f"40 documents of 300 words to {budget:,} tokens",
            f"{made.report.calls} calls, {used:,} tokens",
            peer,
            "at most as many",
            met,
        )
    model = ScriptedModel(reply=summary)
    fits = ContextCompactor(max_tokens=100_000, model=model)
    yield at_most("calls where it fits", fits.compact(given).report.calls, 0, "calls")
    model = ScriptedModel(reply=summary)
    one = ContextCompactor(max_tokens=2_000, model=model, context_window=8_192)
    one.compact(documents(1, 20_000))
    largest = max(map(counter.count, model.prompts), default=0)
    yield at_most("largest prompt for 20,000 words", largest, 8_192, "tokens")


def _chain_calls(given: Sequence[Document], budget: int) -> int | None:
    try:
        from langchain_classic.chains.summarize import (  # noqa: PLC0415 - may be missing
            load_summarize_chain,
        )
    except ImportError:
        return None
    # Its own counter would be downloaded.
    model = ScriptedModel(
        reply=summary,
        custom_get_token_ids=lambda text: [0] * EstimatingCounter().count(text),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        chain = load_summarize_chain(model, chain_type="map_reduce", token_max=budget)
        chain.invoke({"input_documents": list(given)})
    return len(model.prompts)


def waiting() -> Iterator[Row]:
    """Compare the time of n slow calls with that of as few rounds as there can be."""
    number, each, at_once = 12, 1.0, 3
    least = math.ceil(number / at_once) * each

    class Slow(ScriptedModel):
        async def _agenerate(self, messages: Any, *_: Any, **__: Any) -> Any:
            await asyncio.sleep(each)
            return self._generate(messages)

    def slow(prompt: str) -> str:
        time.sleep(each)
        return summary(prompt)

    given = documents(number, 300)

    def made(model: ScriptedModel) -> ContextCompactor:
        return ContextCompactor(
            max_tokens=1_500, model=model, max_concurrency=at_once, compact_to=1.0
        )

    made(ScriptedModel(reply=summary)).invoke(given)  # warm
    model = ScriptedModel(reply=slow)
    start = time.perf_counter()
    made(model).invoke(given)
    took = time.perf_counter() - start
    yield at_most(f"{len(model.prompts)} calls, sync", took / least, 1.1, "x")
    amodel = Slow(reply=summary)
    start = time.perf_counter()
    asyncio.run(made(amodel).ainvoke(given))
    took = time.perf_counter() - start
    yield at_most(f"{len(amodel.prompts)} calls, async", took / least, 1.1, "x")


def context(characters: int) -> str:
    """Make a context of blocks with bodies of 5,000 characters on average."""
    blocks: list[str] = []
    size = 0
    for i in range(characters):
        body = ("Some text, a < b, and more of it.\n" * 300)[: 2_500 + i * 977 % 5_000]
        block = (
            f"<note_context>\n<title>T{i}</title>\n<path>n/{i}.md</path>\n"
            f"<content>{body}</content>\n</note_context>\n"
        )
        blocks.append(block)
        size += len(block)
        if size >= characters:
            break
    return "".join(blocks)


def parsing() -> Iterator[Row]:
    """Time the parser and the renderer."""

    def both(text: str) -> None:
        found = parse(text)
        bodies = [text[slice(*block.body)] for block in found]
        if render(text, found, bodies) != text:
            raise AssertionError("parse, then render is not the identity")

    ten, twenty = context(10_000_000), context(20_000_000)
    small = min(cpu_ms(lambda: both(ten)) for _ in range(3))
    large = min(cpu_ms(lambda: both(twenty)) for _ in range(3))
    yield at_most("parse and render 10 MB", small, 150, "ms")
    yield at_most("20 MB against 10 MB", large / small, 2.2, "x")
    unclosed = "<note_context>\n<path>a</path> text " * 20_000
    took = min(cpu_ms(lambda: both(unclosed)) for _ in range(3))
    yield at_most("20,000 unclosed tags", took, 100, "ms")


def noop() -> Iterator[Row]:
    """Time what is left as it is."""
    text = context(1_000_000)
    counter = EstimatingCounter()
    compactor = ContextCompactor(max_tokens=10_000_000)
    compactor.invoke(text)
    once = min(cpu_ms(lambda: counter.count(text)) for _ in range(5))
    ours = min(cpu_ms(lambda: compactor.invoke(text)) for _ in range(5))
    yield at_most("1 MB under its budget, against counting it", ours / once, 1.3, "x")


def covidqa() -> Iterator[Row]:
    """Compare what the compactor keeps of papers with what the compressor keeps."""
    found = cases("covidqa")
    texts = list(dict.fromkeys(case.text for case in found))
    before, after = (
        "<note_context>\n<path>p.txt</path>\n<content>",
        "</content>\n</note_context>\n",
    )
    for room in (1_000, 2_000, 4_000, 8_000):
        ours, theirs = [], []
        for i, case in enumerate(found):
            at = texts.index(case.text)
            four = [texts[(at + j * 7) % len(texts)] for j in range(4)]
            given = "".join(before + text + after for text in four)
            budget = 4 * (room + len(before) + len(after))
            compactor = ContextCompactor(
                max_tokens=budget, token_counter=len, compact_to=1.0
            )
            made = compactor.invoke(given, query=case.query)
            if len(made) > budget:
                raise AssertionError(f"{len(made)} characters in {budget}")
            answers = [case.text[start:end] for start, end in case.wanted]
            ours.append(any(answer in made for answer in answers))
            theirs.append(case.kept(compressor(case.text, case.query, room)))
            del i
        kept, other = statistics.fmean(ours), statistics.fmean(theirs)
        yield Row(
            f"covidqa, answers kept at {room:,} characters a paper",
            f"{kept:.3f}",
            f"{other:.3f} (compressor)",
            f">= peer - {MARGIN}",
            kept >= other - MARGIN,
        )


def used() -> Iterator[Row]:
    """Measure how much of the budget is used where there is more text than room."""
    shares: list[float] = []
    texts = [row["text"] for row in rows("covidqa/corpus")[:30]]
    texts += [row["text"] for row in rows("jsquad/articles")[:30]]
    texts += [row["text"] for row in rows("qmsum/corpus")[:10]]
    counter = EstimatingCounter()
    for text in texts:
        for share in (0.1, 0.3, 0.6):
            budget = int(counter.count(text) * share)
            compactor = ContextCompactor(max_tokens=budget)
            goal = compactor.compact_to * budget
            shares.append(counter.count(compactor.invoke(text)) / goal)
    yield at_least(
        "budget used without a model, mean", statistics.fmean(shares), 0.9, ""
    )
    yield told("budget used without a model, least", min(shares), "")
    yield told(
        "budget used, share of cases under 0.9",
        statistics.fmean(s < 0.9 for s in shares),
        "",
    )


def japanese() -> Iterator[Row]:
    """Look at where Japanese texts are cut."""
    texts = [row["text"] for row in rows("jsquad/articles")[:40]]
    texts += [
        path.read_text(encoding="utf-8")[:200_000]
        for path in sorted((DATA / "texts").glob("*.ja.*"))
    ]
    pieces = whole = over = 0
    for text in texts:
        for budget in (500, 2_000):
            made = ContextCompactor(
                max_tokens=budget, token_counter=len, compact_to=1.0
            ).invoke(text)
            over += len(made) > budget
            for piece in made.removeprefix("[excerpt]\n").split("\n…\n"):
                pieces += 1
                whole += piece.rstrip().endswith(
                    ("。", "」", "』", "！", "？", "）", "\n")
                ) or (
                    piece in text
                    and text[text.index(piece) + len(piece) :].startswith("\n")
                )
    yield at_most("Japanese texts over their budget", over, 0, "")
    yield told("Japanese passages that end at a sentence or line", whole / pieces, "")


def stability() -> Iterator[Row]:
    """Follow an agent over 120 turns."""
    for name, run in (
        ("with a model", our_run(model=True)),
        ("without", our_run(model=False)),
    ):
        yield at_least(f"prefix equal to the turn before, {name}", run.prefix, 0.88, "")
        yield at_most(
            f"turns between rewrites, {name}: rewrites a turn", run.rewrites, 1 / 8, ""
        )
        yield at_most(f"most calls for a block, {name}", run.calls_a_block, 2, "calls")
        yield told(f"calls in all, {name}", run.calls, "calls")
        yield at_most(f"turns over the budget, {name}", run.over, 0, "")
    theirs = middleware_run()
    if theirs is None:
        yield Row("SummarizationMiddleware", "not installed")
    else:
        yield told("SummarizationMiddleware: prefix equal", theirs.prefix, "")
        yield told("SummarizationMiddleware: rewrites a turn", theirs.rewrites, "")
        yield told("SummarizationMiddleware: calls in all", theirs.calls, "calls")
        yield told("SummarizationMiddleware: turns over the budget", theirs.over, "")


PARTS: dict[str, Callable[[], Iterator[Row]]] = {
    "calls": calls,
    "waiting": waiting,
    "parsing": parsing,
    "noop": noop,
    "covidqa": covidqa,
    "used": used,
    "japanese": japanese,
    "stability": stability,
}
NEED_DATA = {"covidqa", "used", "japanese"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; 1 where a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args(arguments)
    if NEED_DATA & set(options.only):
        leave_without_data()
    print(HEADER)
    met = True
    for name in options.only:
        progress(name)
        for row in PARTS[name]():
            print(row, flush=True)
            met = met and row.met is not False
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
