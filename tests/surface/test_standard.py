"""LangChain's own suite for retrievers."""

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_ctxfetch import HybridRetriever, SQLiteStore
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.testing import ScriptedChannel

TEXTS = [f"example number {number}" for number in range(12)]


class OfChannels(RetrieversIntegrationTests):
    """HybridRetriever over channels."""

    @property
    def retriever_constructor(self):
        return HybridRetriever

    @property
    def retriever_constructor_params(self):
        hits = [Hit(text, text) for text in TEXTS]
        return {"channels": [ScriptedChannel("a", hits), ScriptedChannel("b", hits)]}

    @property
    def retriever_query_example(self):
        return "example"


class TestOverChannels(OfChannels):
    """Two scripted channels."""


class TestOverAStoreByKeyword(OfChannels):
    """An embedded store without an embedding."""

    @pytest.fixture(autouse=True)
    def _store(self):
        with SQLiteStore(embedding=self.embedding) as self.store:
            self.store.add_texts(TEXTS)
            yield

    embedding = None

    @property
    def retriever_constructor_params(self):
        return {"channels": [self.store]}


class TestOverAStoreByBoth(TestOverAStoreByKeyword):
    """An embedded store with an embedding."""

    embedding = DeterministicFakeEmbedding(size=8)
