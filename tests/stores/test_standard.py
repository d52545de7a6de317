"""LangChain's own suite for vector stores."""

import pytest
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from langchain_ctxfetch import SQLiteStore


class TestSQLiteStore(VectorStoreIntegrationTests):
    """SQLiteStore with an embedding, in memory and in a file."""

    @pytest.fixture
    def vectorstore(self, path):
        with SQLiteStore(path, embedding=self.get_embeddings()) as store:
            yield store
