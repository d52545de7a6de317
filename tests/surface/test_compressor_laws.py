"""What must always hold of compressor and renderer."""

from __future__ import annotations

import asyncio
import copy

import pytest
from hypothesis import given, settings, strategies as st
from langchain_core.documents import Document

from langchain_ctxfetch._core.passages import score_sentences
from langchain_ctxfetch._core.picking import pick, quote
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch._language import stemmer
from langchain_ctxfetch.compressors import ContentPolicyCompressor
from langchain_ctxfetch.rendering import ContextRenderer, render_context
from langchain_ctxfetch.tokens import token_counter_for
from tests.strategies import COUNTERS, QUERIES, documents
from tests.surface.stores import RecordingStore, reference

STYLES = st.sampled_from(["numbered", "xml", "plain"])
BUDGETS = st.one_of(st.integers(0, 120), st.integers(0, 4_000))
POLICIES = st.fixed_dictionaries(
    {
        "truncation": st.sampled_from(["head", "head_tail"]),
        "missing": st.sampled_from(["keep", "drop"]),
        "scorer": st.sampled_from([None, lambda _, texts: [len(t) for t in texts]]),
    }
)
TRUNCATIONS = st.sampled_from(["head", "head_tail"])


@pytest.fixture(params=["sync", "async"], scope="module")
def compress(request):
    """Compress by either twin."""

    def run(compressor, given, query):
        if request.param == "sync":
            return compressor.compress(given, query)
        return asyncio.run(compressor.acompress(given, query))

    return run


def made_partial(documents, store: RecordingStore):
    """Leave only passages in hand of every second document that has an id."""
    for number, document in enumerate(documents):
        if document.id and number % 2:
            text = document.page_content
            store.texts.setdefault(document.id, text)
            store.passages.setdefault(document.id, [(0, min(9, len(text)))])
            document.metadata["ctxfetch"] = {
                "content": "passages",
                "length": len(text),
                "passages": [[0, 9]],
            }
            document.page_content = text[:9]


@settings(max_examples=60)
@given(documents(), BUDGETS, COUNTERS, STYLES, QUERIES, POLICIES)
def test_the_rendered_whole_is_within_the_budget(
    compress, given_, limit, counter, style, query, policies
) -> None:
    """By the caller's own counter, whatever it counts, and whatever comes in."""
    store = RecordingStore()
    made_partial(given_, store)
    renderer = ContextRenderer(style=style)
    compressor = ContentPolicyCompressor(
        store=store,
        max_tokens=limit,
        token_counter=counter,
        renderer=renderer,
        **policies,
    )
    store.texts.pop("b", None)
    made = compress(compressor, given_, query)
    text = renderer.render(made.documents)
    left_out = {"dropped"} | ({"missing"} if policies["missing"] == "drop" else set())

    assert not text or token_counter_for(counter).count(text) <= limit
    assert len(made.rows) == len(given_)
    assert len(made.documents) == sum(row.strategy not in left_out for row in made.rows)


@settings(max_examples=100)
@given(documents(), BUDGETS, COUNTERS, STYLES)
def test_a_renderer_with_a_budget_keeps_it(given_, limit, counter, style) -> None:
    """Render, invoke and the short form all stay within it, sync and async."""
    renderer = ContextRenderer(style=style, max_tokens=limit, token_counter=counter)
    text = renderer.render(given_)

    assert not text or token_counter_for(counter).count(text) <= limit
    assert renderer.invoke(given_) == text
    assert asyncio.run(renderer.ainvoke(given_)) == text
    assert text == render_context(
        given_, style=style, max_tokens=limit, token_counter=counter
    )


@settings(max_examples=60)
@given(documents(), st.integers(0, 300), st.integers(0, 300), QUERIES, TRUNCATIONS)
def test_without_a_budget_each_document_is_within_the_limit(
    given_, threshold, more, query, truncation
) -> None:
    """Whole, quoted or cut, with its marks."""
    compressor = ContentPolicyCompressor(
        threshold=threshold, limit=threshold + more, truncation=truncation
    )
    made = compressor.compress_documents(given_, query)

    assert all(len(each.page_content) <= threshold + more for each in made)


@settings(max_examples=60)
@given(documents(), st.one_of(st.none(), BUDGETS), QUERIES)
def test_sync_and_async_are_one(given_, limit, query) -> None:
    """The same documents, gaps, rows and calls, and inputs as they were."""
    stores = RecordingStore(), RecordingStore()
    made_partial(given_, stores[0])
    stores[1].texts, stores[1].passages = stores[0].texts, stores[0].passages
    before = copy.deepcopy(given_)
    one, other = (
        ContentPolicyCompressor(store=store, threshold=20, limit=40, max_tokens=limit)
        for store in stores
    )
    made = one.compress(given_, query)

    assert asyncio.run(other.acompress(given_, query)) == made
    assert sorted(map(str, stores[0].calls)) == sorted(map(str, stores[1].calls))
    assert one.invoke({"documents": given_, "query": query}) == made.documents
    assert given_ == before


@settings(max_examples=60)
@given(documents(), st.one_of(st.none(), BUDGETS), QUERIES)
def test_offsets_point_at_what_was_delivered(given_, limit, query) -> None:
    """Every stretch of the stored text that is named stands in the content."""
    compressor = ContentPolicyCompressor(threshold=20, limit=60, max_tokens=limit)
    made = compressor.compress(given_, query)
    delivered = iter(made.documents)
    for document, row in zip(given_, made.rows, strict=True):
        if row.strategy == "dropped":
            continue
        each, stored = next(delivered), clean(document.page_content)
        spans = each.metadata["ctxfetch"]["passages"]
        at = 0
        for start, end in spans:
            at = each.page_content.index(stored[start:end], at) + end - start
        assert each.metadata["ctxfetch"]["length"] == len(stored)


@settings(max_examples=60)
@given(documents(), st.one_of(st.none(), BUDGETS), QUERIES)
def test_nothing_disappears_silently(given_, limit, query) -> None:
    """What is dropped or missing has a gap that names it."""
    store = RecordingStore()
    made_partial(given_, store)
    store.failing.add("fetch")
    made = ContentPolicyCompressor(store=store, max_tokens=limit).compress(
        given_, query
    )
    named = {gap.part for gap in made.gaps}
    lost = [row for row in made.rows if row.strategy in {"dropped", "missing"}]

    assert {row.id or f"document {row.place}" for row in lost} <= named


@given(st.integers(20, 3_000), st.sampled_from(["cats 200", "number", "zebra 77"]))
def test_one_document_has_the_whole_budget(budget: int, query: str) -> None:
    """Plain, and counted in characters, its passages have exactly that much room."""
    text = "".join(f"Sentence number {n} is about cats. " for n in range(400))
    compressor = ContentPolicyCompressor(
        max_tokens=budget, token_counter=len, renderer=ContextRenderer(style="plain")
    )
    (made,) = compressor.compress_documents([Document(text)], query)
    scored = score_sentences(text, query, stem=stemmer("en"), room=budget)

    picked = pick(scored, budget, edge_length=1)
    assert made.page_content.strip("…") == quote(text, picked)


@given(st.integers(1, 2_000))
def test_one_reference_has_the_whole_budget(budget: int) -> None:
    """So has one whose passages come from a store."""
    store = RecordingStore({"a": "x" * 100_000})
    compressor = ContentPolicyCompressor(
        store=store,
        max_tokens=budget,
        token_counter=len,
        renderer=ContextRenderer(style="plain"),
    )
    compressor.compress_documents([reference("a", 100_000)], "cats")

    rooms = [call[4] for call in store.calls if call[0] == "highlight"]

    assert rooms == [max(1_000, budget)]
