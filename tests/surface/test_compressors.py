"""ContentPolicyCompressor: what comes in, what goes out, and around it."""

from __future__ import annotations

import asyncio
import copy
import json
import threading
import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from langchain_classic.retrievers import ContextualCompressionRetriever
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import ConfigurableField
from pydantic import ValidationError

from langchain_ctxfetch.compressors import ContentPolicyCompressor
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.rendering import ContextRenderer
from tests.surface.stores import Meanings, RecordingStore, reference

FILLER = "The weather was fine that day and nothing happened at all. "
LONG = FILLER * 40 + "The ZX-81 code is 4471. " + FILLER * 40
PLAIN = ContextRenderer(style="plain")


# --- fields ---


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"limit": 10}, "`limit` must be None or at least `threshold`"),
        ({"threshold": -1}, "`threshold` must be 0 or more"),
        ({"max_tokens": -1}, "`max_tokens` must be 0 or more"),
        ({"token_counter": "claude"}, "`token_counter` must name"),
        ({"filter": {"a": {"$near": 1}}}, "near"),
        ({"treshold": 5}, "treshold"),
    ],
)
def test_wrong_fields_are_refused_once_at_construction(fields, message) -> None:
    """The message names the argument and says what would be right."""
    with pytest.raises(ValidationError, match=message.replace("`", ".")):
        ContentPolicyCompressor(**fields)


@pytest.mark.parametrize("name", ["filter", "store"])
def test_what_protects_is_not_configurable(name: str) -> None:
    """A caller of a chain cannot replace the filter or the store."""
    with pytest.raises(ConfigurationError, match=name):
        ContentPolicyCompressor().configurable_fields(
            **{name: ConfigurableField(id=name)}
        )


def test_other_fields_are_configurable() -> None:
    """The budget can be set by the call."""
    compressor = ContentPolicyCompressor(
        token_counter=len, renderer=PLAIN
    ).configurable_fields(max_tokens=ConfigurableField(id="budget"))
    made = compressor.invoke(
        {"documents": [Document(LONG)], "query": "ZX-81"},
        {"configurable": {"budget": 100}},
    )

    assert len(made[0].page_content) <= 100


def test_a_wrong_input_is_refused() -> None:
    """A step of a chain that gets no documents and query says what it needs."""
    with pytest.raises(ConfigurationError, match="documents"):
        ContentPolicyCompressor().invoke({"docs": []})


# --- what comes through ---


def test_FR_K2_id_metadata_and_scores_survive() -> None:
    """What stood in the metadata stands there still, what was added earlier too."""
    document = reference("e1", 20, "Dogs bark.", source="s", nested={"a": [1]})
    (made,) = ContentPolicyCompressor().compress_documents([document], "dogs")

    assert made.id == "e1"
    assert made.metadata["source"] == "s"
    assert made.metadata["nested"] == {"a": [1]}
    assert made.metadata["ctxfetch"]["score"] == 0.5


def test_FR_K3_what_is_added_is_plain_json() -> None:
    """Numpy scores of a retriever come out as Python numbers."""
    document = Document(LONG, metadata={"ctxfetch": {"score": np.float32(0.5)}})
    compressor = ContentPolicyCompressor(
        scorer=lambda _, passages: np.ones(len(passages), dtype=np.float32)
    )
    (made,) = compressor.compress_documents([document], "ZX-81")

    assert type(made.metadata["ctxfetch"]["score"]) is float
    assert json.loads(json.dumps(made.metadata)) == made.metadata


def test_FR_K9_inputs_are_not_changed_and_not_shared() -> None:
    """Changing what came out changes nothing of what came in."""
    document = Document(LONG, id="a", metadata={"list": [1]})
    before = copy.deepcopy(document)
    (made,) = ContentPolicyCompressor().compress_documents([document], "ZX-81")
    made.metadata["list"].append(2)

    assert document == before


def test_offsets_are_exact() -> None:
    """The passages, joined by the mark, are the content."""
    (made,) = ContentPolicyCompressor().compress_documents([Document(LONG)], "ZX-81")
    spans = made.metadata["ctxfetch"]["passages"]

    assert "\n…\n".join(LONG[start:end] for start, end in spans) == made.page_content
    assert made.metadata["ctxfetch"]["length"] == len(LONG)


def test_a_whole_document_says_so() -> None:
    """Its one stretch is all of it."""
    (made,) = ContentPolicyCompressor().compress_documents([Document("Dogs.")], "dogs")

    assert made.metadata["ctxfetch"] == {
        "v": 1,
        "content": "document",
        "length": 5,
        "passages": [[0, 5]],
        "strategy": "full",
        "truncated": False,
    }


def test_rows_tell_what_became_of_each() -> None:
    """Characters before and after, tokens by the caller's counter, places from 1."""
    made = ContentPolicyCompressor(
        max_tokens=200, token_counter=len, renderer=PLAIN
    ).compress([Document("Dogs.", id="a"), Document(LONG, id="b")], "ZX-81")

    assert [(row.id, row.place, row.strategy) for row in made.rows] == [
        ("a", 1, "full"),
        ("b", 2, "highlight"),
    ]
    assert [row.before for row in made.rows] == [5, len(LONG)]
    assert all(row.after == row.tokens for row in made.rows)


def test_passages_in_hand_are_delivered_without_a_store() -> None:
    """Within the limit they come as they are, with their places in the document."""
    document = reference("a", 9_000, "Dogs bark.\n…\nCats sleep.")
    document.metadata["ctxfetch"]["passages"] = [[100, 110], [500, 511]]
    (made,) = ContentPolicyCompressor().compress_documents([document], "dogs")

    assert made.page_content == "Dogs bark.\n…\nCats sleep."
    assert made.metadata["ctxfetch"]["passages"] == [[100, 110], [500, 511]]


def test_passages_in_hand_are_chosen_from_under_a_budget() -> None:
    """The one that answers stays, with its place in the document."""
    document = reference("a", 9_000, "Cats sleep.\n…\nDogs bark.")
    document.metadata["ctxfetch"]["passages"] = [[100, 111], [500, 510]]
    compressor = ContentPolicyCompressor(
        max_tokens=12, token_counter=len, renderer=PLAIN
    )
    (made,) = compressor.compress_documents([document], "dogs")

    assert made.page_content == "Dogs bark."
    assert made.metadata["ctxfetch"]["passages"] == [[500, 510]]


def test_passages_of_unknown_place_have_no_offsets() -> None:
    """Rather none than wrong ones."""
    document = reference("a", 9_000, "Dogs bark. " * 500)
    (made,) = ContentPolicyCompressor().compress_documents([document], "dogs")

    assert len(made.page_content) <= 3_000
    assert made.metadata["ctxfetch"]["passages"] == []


# --- as part of LangChain ---


class OneDocument(BaseRetriever):
    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return [Document(LONG, id="a")]


def test_it_serves_the_compression_retriever() -> None:
    """LangChain's own wrapper takes it, sync and async."""
    retriever = ContextualCompressionRetriever(
        base_compressor=ContentPolicyCompressor(), base_retriever=OneDocument()
    )
    one, other = retriever.invoke("ZX-81"), asyncio.run(retriever.ainvoke("ZX-81"))

    assert one == other
    assert "4471" in one[0].page_content
    assert one[0].id == "a"


def test_it_is_not_serialisable_and_says_so() -> None:
    """It may hold a store."""
    assert not ContentPolicyCompressor.is_lc_serializable()


async def test_FR_L4_all_ways_to_call_it_agree() -> None:
    """Invoke, batch and their twins deliver the same."""
    compressor = ContentPolicyCompressor(max_tokens=300)
    given = {"documents": [Document(LONG, id="a"), Document("x")], "query": "ZX-81"}
    one = await compressor.ainvoke(given)

    assert await compressor.abatch([given, given]) == [one, one]
    assert await asyncio.to_thread(compressor.invoke, given) == one
    assert await asyncio.to_thread(compressor.batch, [given]) == [one]
    assert (await compressor.acompress(**given)).documents == one


@pytest.mark.parametrize("part", ["scorer", "counter", "embedding"])
async def test_FR_L1_what_blocks_does_not_block_the_loop(part: str) -> None:
    """While the caller's function waits for the loop to go on, the loop goes on."""
    ticked = threading.Event()

    def wait(value):
        assert ticked.wait(20), "the event loop stood still"
        return value

    class Slow(Meanings):
        def embed_documents(self, texts):
            return wait(super().embed_documents(texts))

    fields = {
        "scorer": {"scorer": lambda _, passages: wait([1.0] * len(passages))},
        "counter": {"token_counter": lambda text: wait(len(text)), "max_tokens": 900},
        "embedding": {"embedding": Slow()},
    }[part]
    compressor = ContentPolicyCompressor(**fields)
    task = asyncio.create_task(
        compressor.acompress_documents([Document(LONG)], "zebra")
    )
    while not task.done():
        await asyncio.sleep(0.005)
        if not ticked.is_set():
            ticked.set()
    made = await task

    assert len(made) == 1


def test_a_slow_store_is_asked_for_both_kinds_at_once() -> None:
    """Passages are asked for while whole texts are still on their way."""
    store = RecordingStore({"small": "s", "big": LONG}, {"big": [(0, 20)]})
    both = threading.Barrier(2, timeout=20)
    fetch, highlight = store.fetch, store.highlight

    def waiting(call):
        def run(*args, **kwargs):
            both.wait()
            return call(*args, **kwargs)

        return run

    store.fetch, store.highlight = waiting(fetch), waiting(highlight)
    made = ContentPolicyCompressor(store=store).compress(
        [reference("small", 1), reference("big", 99_999)], "weather"
    )

    assert made.gaps == ()


@pytest.mark.parametrize(
    "part",
    ["\n", "a-", "x", "word ", "0123456789;", "QUJD", "é", "。", "} else {", "\t"],
)
def test_a_text_of_anything_is_compressed(part: str) -> None:
    """A few hundred thousand of any part is gone through in one pass."""
    start = time.process_time()
    (made,) = ContentPolicyCompressor(max_tokens=500).compress_documents(
        [Document(part * (600_000 // len(part)), id="a")], "word x 。"
    )

    assert made.id == "a"
    assert time.process_time() - start < 60


def test_the_query_may_be_what_the_retriever_was_asked() -> None:
    """A chain hands both the same input, page and all."""
    given = {
        "documents": [Document("Cats purr.")],
        "query": {"query": "cats", "page": 2},
    }

    assert ContentPolicyCompressor().invoke(given)[0].page_content == "Cats purr."


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"documents": [], "question": "x"}, "'query' is missing"),
        ({"query": "x"}, "'documents' is missing"),
        ({"documents": [], "query": 5}, "`query` must be a text"),
        ({"documents": [], "query": {"page": 2}}, "`query` must be a text"),
        ({"documents": ["x"], "query": "x"}, "`documents` must be documents"),
    ],
)
def test_a_wrong_input_says_what_is_wrong(given, named) -> None:
    """With the key or argument that is meant."""
    with pytest.raises(ConfigurationError, match=named):
        ContentPolicyCompressor().invoke(given)


@pytest.mark.parametrize("field", ["max_tokens", "threshold", "limit"])
@pytest.mark.parametrize("value", [True, "7", 7.0])
def test_a_size_is_a_whole_number(field: str, value) -> None:
    """Neither a bool nor a text passes for one; numpy's integers do."""
    with pytest.raises(ValidationError, match="whole number"):
        ContentPolicyCompressor(**{field: value})

    made = ContentPolicyCompressor(**{"limit": 9_000, field: np.int64(5_000)})
    assert getattr(made, field) == 5_000


# --- small budgets ---

VALVES = [
    Document(
        f"Document {n} tells of valves. The pressure of valve number {n} is {n * 7} "
        "bar in normal use. " + "More text follows about other things. " * 30,
        id=f"d{n}",
        metadata={"title": f"Doc {n}"},
    )
    for n in range(6)
]


@pytest.mark.parametrize("budget", [40, 60, 80, 100, 120, 150, 200, 400])
def test_a_small_budget_brings_whole_sentences_of_fewer_documents(budget: int) -> None:
    """Nobody gets a few letters; who has no room is named in a gap."""
    made = ContentPolicyCompressor(max_tokens=budget).compress(VALVES, "pressure valve")
    dropped = [row.id for row in made.rows if row.strategy == "dropped"]

    assert made.documents
    assert all("is" in held.page_content for held in made.documents)
    assert all(held.page_content.endswith((".", "…")) for held in made.documents)
    assert not any(held.metadata["ctxfetch"]["truncated"] for held in made.documents)
    assert [gap.part for gap in made.gaps] == dropped


def test_what_is_kept_of_a_small_budget_comes_first() -> None:
    """Documents leave from the last place up."""
    made = ContentPolicyCompressor(max_tokens=100).compress(VALVES, "pressure valve")
    kept = [held.id for held in made.documents]

    assert kept == [held.id for held in VALVES[: len(kept)]]
    assert 0 < len(kept) < len(VALVES)


def test_a_budget_for_a_few_letters_brings_no_document() -> None:
    """A header with a letter below it says nothing."""
    made = ContentPolicyCompressor(max_tokens=18).compress(VALVES, "pressure valve")

    assert made.documents == []
    assert len(made.gaps) == len(VALVES)


def test_a_sentence_that_is_cut_shows_it() -> None:
    """A mark at each end that is within a sentence, and the metadata says so."""
    text = "It is " + "very " * 60 + "wet in Bergen " + "and cold " * 60 + "too."
    compressor = ContentPolicyCompressor(
        max_tokens=200, token_counter=len, renderer=PLAIN
    )
    (made,) = compressor.compress_documents([Document(text)], "Bergen")
    ((start, end),) = made.metadata["ctxfetch"]["passages"]

    assert made.page_content == f"…{text[start:end]}…"
    assert made.metadata["ctxfetch"]["truncated"] is True


def test_FR_G15_a_cut_leaves_no_code_fence_open() -> None:
    """Neither in a list nor in a quotation, and the language stays."""
    code = "".join(f"    value_{n} = {n}\n" for n in range(400))
    for mark in ("```", "~~~~"):
        text = f"1. Run this:\n\n    {mark}python\n{code}    {mark}\n\nDone.\n"
        compressor = ContentPolicyCompressor(max_tokens=200)
        (made,) = compressor.compress_documents([Document(text)], "value_250")

        assert f"{mark}python" in made.page_content
        assert made.page_content.count(mark) == 2
        assert "value_250 = 250" in made.page_content


def test_FR_G17_rows_come_with_their_header() -> None:
    """Whichever rows of a long table are chosen."""
    made = "".join(f"| part {n} | {n * 3} mm |\n" for n in range(60))
    text = f"Parts:\n\n| name | length |\n|---|---|\n{made}"
    compressor = ContentPolicyCompressor(max_tokens=60)
    (kept,) = compressor.compress_documents([Document(text)], "length of part 41")

    assert "| name | length |\n|---|---|" in kept.page_content
    assert "| part 41 | 123 mm |" in kept.page_content


@pytest.mark.parametrize("limit", [200, 300, 900])
@pytest.mark.parametrize("before", ["", "Intro. " * 20])
def test_FR_G15_truncation_leaves_no_code_fence_open(before: str, limit: int) -> None:
    """Head and tail of a text full of code, in which nothing answers, are balanced."""
    code = "".join(f"value_{n} = {n}\n" for n in range(300))
    text = f"{before}\n~~~python\n{code}~~~\n\nThen:\n\n```sh\n{code}```\nEnd."
    compressor = ContentPolicyCompressor(threshold=limit, limit=limit)
    (made,) = compressor.compress_documents([Document(text)], "zebra")

    assert made.metadata["ctxfetch"]["strategy"] == "truncate"
    assert made.page_content.count("~~~") in {0, 2}
    assert made.page_content.count("```") in {0, 2}
    assert len(made.page_content) <= limit
    assert all(
        text[start:end].rstrip("\n") in made.page_content
        for start, end in made.metadata["ctxfetch"]["passages"]
    )


@given(st.integers(30, 400), st.integers(1, 5), st.integers(2, 14))
def test_truncated_code_has_exact_offsets(limit: int, blocks: int, lines: int) -> None:
    """No stretch is told twice, and each stands in what is delivered."""
    part = "Some prose about things. \n\n```python\n" + "print('hello')\n" * lines
    text = (part + "```\n\n") * blocks
    compressor = ContentPolicyCompressor(threshold=limit, limit=limit)
    (made,) = compressor.compress_documents([Document(text)], "zebra")
    spans = made.metadata["ctxfetch"]["passages"]

    assert all(text[start:end] in made.page_content for start, end in spans)
    assert all(one[1] <= other[0] for one, other in pairwise(spans))
