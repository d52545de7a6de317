"""Embeddings that are slow to please, fail, or are asked too much."""

from __future__ import annotations

import asyncio

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch import (
    IngestionError,
    SQLiteStore,
    StoreError,
)
from langchain_ctxfetch.ports import SearchRequest
from tests.stores.fakes import ids


class Recorded(Embeddings):
    """An embedding that remembers what it was asked, and refuses long texts."""

    def __init__(self, most: int = 10**9) -> None:
        self.most = most
        self.texts: list[str] = []

    def embed_documents(self, texts):
        if any(len(text) > self.most for text in texts):
            raise ValueError("too long")
        self.texts += texts
        return [[1.0, float(len(text))] for text in texts]

    def embed_query(self, text):
        return [1.0, 1.0]


@pytest.mark.parametrize(
    "text", ["# One\n\n\n# Two\n\ntext", "before" + " " * 5_000 + "after", "\n\n \n"]
)
def test_FR_M1_no_blank_text_reaches_the_embedding(text) -> None:
    """And everything else is stored."""
    embedding = Recorded()
    with SQLiteStore(embedding=embedding) as store:
        store.add_texts([text, "", "   ", "cat"], ids=["a.md", "b", "c", "d"])

        assert len(store) == 4
        assert store.stats().passages == len(embedding.texts)
    assert embedding.texts
    assert all(text.strip() for text in embedding.texts)


def test_FR_M9_a_text_too_long_for_the_model_is_embedded_by_its_beginning() -> None:
    """With a warning; the others are embedded whole."""
    embedding = Recorded(most=1_000)
    with SQLiteStore(embedding=embedding, passage_size=5_000) as store:
        with pytest.warns(UserWarning, match="passage_size"):
            store.add_texts(["x" * 4_000, "cat"], ids=["long", "short"])

        assert len(store) == 2
        assert len(store.similarity_search("x")) == 2
    assert sorted(map(len, embedding.texts)) == [3, 1_000]


class Failing(Recorded):
    """An embedding that cannot be reached for one of the texts."""

    def embed_documents(self, texts):
        if "bad" in texts:
            raise OSError("model down")
        return super().embed_documents(texts)


@pytest.mark.parametrize("asynchronously", [False, True])
def test_a_model_that_fails_in_the_middle_says_what_is_stored(asynchronously) -> None:
    """The first batch is there; the error names the rest, and the cause."""
    with SQLiteStore(embedding=Failing()) as store:
        documents = [Document(text) for text in ("a", "b", "bad", "c")]
        with pytest.raises(IngestionError, match="model down") as caught:
            _add(store, documents, list("1234"), asynchronously=asynchronously)

        assert caught.value.failed_ids == ("3", "4")
        assert isinstance(caught.value.errors[0], OSError)
        assert [id_ for id_, _ in store.records()] == ["1", "2"]


def _add(store, documents, names, *, asynchronously: bool) -> None:
    if asynchronously:
        asyncio.run(store.aadd_documents(documents, ids=names, batch_size=2))
    else:
        store.add_documents(documents, ids=names, batch_size=2)


def test_a_model_that_fails_on_the_question_leaves_the_keyword_channel() -> None:
    """The error is typed and carries its cause."""

    class Deaf(Recorded):
        def embed_query(self, text):
            raise OSError("model down")

    with SQLiteStore(embedding=Deaf()) as store:
        store.add_texts(["cat"], ids=["a"])
        words, meanings = store.search_round(
            [
                SearchRequest(name, "cat", 9, complete=True)
                for name in ("keyword", "vector")
            ]
        )
        with pytest.raises(StoreError, match="model down"):
            store.similarity_search("cat")

    assert ids(words.value) == ["a"]
    assert isinstance(meanings.error.errors[0], OSError)


def test_FR_M10_what_is_written_is_found_at_once(either) -> None:
    """There is nothing to refresh."""
    for number in range(5):
        either.add_texts([f"cat {number}"], ids=[str(number)])

        assert len(either.similarity_search("cat", k=99)) == number + 1
