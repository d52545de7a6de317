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


class Odd(Recorded):
    """An embedding that answers a question with something else than a vector."""

    def __init__(self, answer: object) -> None:
        super().__init__()
        self.answer = answer

    def embed_query(self, text):
        return self.answer


NO_VECTORS = [None, [], [[1.0, 1.0]], [float("nan"), 1.0], ["x", "y"], 5, {"a": 1}]


@pytest.mark.parametrize("asynchronously", [False, True])
@pytest.mark.parametrize("answer", NO_VECTORS)
def test_a_question_without_a_vector_is_a_typed_error(answer, asynchronously) -> None:
    """In a search, in a diverse one, and beside the keyword channel."""
    with SQLiteStore(embedding=Odd(answer)) as store:
        store.add_texts(["cat"], ids=["a"])
        words, meanings = store.search_round(
            [SearchRequest("keyword", "cat", 1), SearchRequest("vector", "cat", 1)]
        )
        for name in ("similarity_search", "max_marginal_relevance_search"):
            with pytest.raises(StoreError, match="a list of finite numbers"):
                _ask(store, name, asynchronously=asynchronously)

    assert ids(words.value) == ["a"]
    assert isinstance(meanings.error, StoreError)


def _ask(store, name: str, *, asynchronously: bool) -> None:
    if asynchronously:
        asyncio.run(getattr(store, f"a{name}")("cat"))
    else:
        getattr(store, name)("cat")


@pytest.mark.parametrize("answer", [[1.0], [1.0, 2.0, 3.0]])
def test_a_question_of_another_dimension_is_a_typed_error(answer) -> None:
    """It tells both."""
    with SQLiteStore(embedding=Odd(answer)) as store:
        store.add_texts(["cat"])
        for search in (store.similarity_search, store.max_marginal_relevance_search):
            with pytest.raises(StoreError, match=r"numbers where 2 were expected"):
                search("cat")


@pytest.mark.parametrize("vector", NO_VECTORS)
def test_a_search_by_what_is_no_vector_is_a_typed_error(vector) -> None:
    """Also a diverse one."""
    with SQLiteStore(embedding=Recorded()) as store:
        store.add_texts(["cat"])
        for search in (
            store.similarity_search_by_vector,
            store.max_marginal_relevance_search_by_vector,
        ):
            with pytest.raises(StoreError, match="`embedding` must be a list"):
                search(vector)


@pytest.mark.parametrize("vector", [[1e300, 1e300], [1e-300, 0.0]])
def test_vectors_of_any_length_are_chosen_diversely(vector) -> None:
    """Very large and very small numbers."""
    with SQLiteStore(embedding=Recorded()) as store:
        store.add_texts(["cat", "a dog"], ids=["a", "b"])
        found = store.max_marginal_relevance_search_by_vector(vector, k=2)

    assert sorted(ids(found)) == ["a", "b"]


def test_nothing_is_similar_to_a_vector_of_zeros() -> None:
    """What an embedding cannot read finds nothing by meaning, whichever way."""
    with SQLiteStore(embedding=Recorded()) as store:
        store.add_texts(["cat", "a dog"], ids=["a", "b"])

        assert store.similarity_search_by_vector([0.0, 0.0]) == []
        assert store.max_marginal_relevance_search_by_vector([0.0, 0.0], k=2) == []


def test_texts_with_vectors_of_zeros_are_chosen_diversely() -> None:
    """They are alike, and similar to nothing else."""

    class Zeros(Recorded):
        def embed_documents(self, texts):
            return [[0.0, 0.0] if "zero" in text else [1.0, 0.0] for text in texts]

    with SQLiteStore(embedding=Zeros()) as store:
        store.add_texts(["zero 1", "zero 2", "cat"], ids=["a", "b", "c"])
        found = store.max_marginal_relevance_search("cat", k=3, lambda_mult=0.5)

    assert ids(found)[0] == "c"
    assert sorted(ids(found)) == ["a", "b", "c"]


@pytest.mark.parametrize("given", [None, [[]] * 2, [[1.0], [1.0, 2.0]], "ab"])
def test_documents_without_vectors_are_not_stored(given) -> None:
    """The error is typed; nothing was written."""

    class Wrong(Recorded):
        def embed_documents(self, texts):
            return given

    with SQLiteStore(embedding=Wrong()) as store:
        with pytest.raises(StoreError, match=r"embedding|not stored"):
            store.add_texts(["cat", "dog"])

        assert len(store) == 0
