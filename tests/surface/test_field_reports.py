"""What users of other systems reported, asked of ours as a whole."""

from __future__ import annotations

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_ctxfetch import (
    ContentPolicyCompressor,
    ContextRenderer,
    HybridRetriever,
    SQLiteStore,
)
from tests.surface.subclasses import Later, MyCompressor, MyRenderer, MyRetriever

WORDS = ("tea", "coffee", "bread", "milk", "salt", "green", "black", "white")


@pytest.fixture
def filled(tmp_path):
    """Hold sixty documents in a file, by keyword and by vector."""
    embedding = DeterministicFakeEmbedding(size=8)
    with SQLiteStore(tmp_path / "index.db", embedding=embedding) as store:
        store.add_documents(
            [
                Document(f"{WORDS[n % 8]} and {WORDS[n // 8]} {n}", id=str(n))
                for n in range(60)
            ]
        )
        yield store


def asked(n: int) -> str:
    return f"{WORDS[n % 8]} {WORDS[n * 7 // 8 % 8]}"


async def test_FR_L9_a_thousand_concurrent_calls_equal_the_sequential_ones(
    filled,
) -> None:
    """Each question has its own answer, however many are asked at once."""
    retriever = HybridRetriever.from_store(filled, k=5, fusion="weighted")
    questions = [asked(n) for n in range(64)]
    answers = [await retriever.ainvoke(question) for question in questions]
    alone = dict(zip(questions, answers, strict=True))
    together = await asyncio.gather(
        *(retriever.ainvoke(asked(n)) for n in range(1_000))
    )

    assert together == [alone[asked(n)] for n in range(1_000)]


def test_FR_L9_eight_threads_of_a_hundred_calls_equal_the_sequential_ones(
    filled,
) -> None:
    """So do threads, whose connections are lent in turn."""
    retriever = HybridRetriever.from_store(filled, k=5)
    alone = {asked(n): retriever.invoke(asked(n)) for n in range(64)}
    with ThreadPoolExecutor(8) as threads:
        together = list(threads.map(retriever.invoke, map(asked, range(800))))

    assert together == [alone[asked(n)] for n in range(800)]


def subclassed():
    """Make one of each, as its subclass in another module."""
    return [
        MyRetriever(channels=[SQLiteStore()]),
        MyCompressor(max_tokens=100),
        MyRenderer(style="xml"),
    ]


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_FR_L10_a_subclass_with_postponed_annotations_is_whole(kind: int) -> None:
    """A field typed by a class further down is understood, also after a rebuild."""
    made = subclassed()[kind]
    made.model_rebuild(force=True, _types_namespace={"Later": Later})
    changed = made.model_copy(update={"later": Later()})

    assert made.later is None
    assert isinstance(changed.later, Later)
    assert type(copy.deepcopy(made)) is type(made)
    assert made.with_config(tags=["a"]).bound is made


@pytest.mark.parametrize("kind", [1, 2])
def test_FR_L10_a_subclass_can_be_pickled(kind: int) -> None:
    """It comes back as it was."""
    made = subclassed()[kind]

    assert pickle.loads(pickle.dumps(made)) == made


def test_FR_S10_the_same_boilerplate_of_two_files_is_two_documents() -> None:
    """Identity is not the text: both sources stay within reach."""
    text = "All rights reserved."
    store = SQLiteStore()
    store.add_documents(
        [Document(text, id=name, metadata={"source": name}) for name in ("a", "b")]
    )
    retriever = HybridRetriever.from_store(store)
    compressor = ContentPolicyCompressor(store=store, max_tokens=200)
    found = retriever.invoke("rights reserved")
    shown = ContextRenderer().render(compressor.compress_documents(found, "rights"))

    assert sorted(document.metadata["source"] for document in found) == ["a", "b"]
    assert "source: a" in shown
    assert "source: b" in shown


def test_FR_S10_a_document_without_the_key_is_handled() -> None:
    """It stands for itself, beside those that have one."""
    store = SQLiteStore()
    store.add_documents(
        [
            Document("tea one", id="a", metadata={"doc": "x"}),
            Document("tea two", id="b", metadata={"doc": "x"}),
            Document("tea three", id="c"),
        ]
    )
    found = HybridRetriever.from_store(store, key="doc").invoke("tea")

    assert len(found) == 2
    assert "c" in {document.id for document in found}
