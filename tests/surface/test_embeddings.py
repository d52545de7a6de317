"""Vectors without key and network: what they are, and what happens on the way."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from math import hypot

import pytest
from hypothesis import given, strategies as st
from langchain_core.documents import Document
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_ctxfetch import (
    ConfigurationError,
    HybridRetriever,
    MissingExtraError,
    SQLiteStore,
    StoreMismatchError,
    embeddings,
)
from langchain_ctxfetch.embeddings import LocalEmbeddings, local_named
from langchain_ctxfetch.stores._embedding import embedding_name
from tests.stores.fakes import found_ids, ids
from tests.strategies import ODD_TEXTS

LOCAL = LocalEmbeddings()
NOTHING = [0.0] * 256


def cosine(one, other):
    return sum(map(float.__mul__, one, other))


class TestUnits(EmbeddingsUnitTests):
    @property
    def embeddings_class(self):
        return LocalEmbeddings

    @property
    def embedding_model_params(self):
        return {"dimensions": 128}


class TestIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self):
        return LocalEmbeddings

    @property
    def embedding_model_params(self):
        return {}


class TestVectors:
    def test_other_words_for_the_same_thing_are_found(self):
        answers = [
            "The physician prescribed a drug.",
            "Stocks fell on Wall Street.",
            "The goalkeeper saved a penalty.",
        ]
        for question, answer in zip(
            ["which medicine did the doctor order", "share prices", "football match"],
            answers,
            strict=True,
        ):
            asked = LOCAL.embed_query(question)

            best = max(answers, key=lambda each: cosine(asked, LOCAL.embed_query(each)))

            assert answer == best

    @given(st.lists(ODD_TEXTS, max_size=4))
    def test_any_text_has_a_vector_of_length_one_or_none(self, texts):
        vectors = LOCAL.embed_documents(texts)

        assert [256] * len(texts) == [len(vector) for vector in vectors]
        for vector in vectors:
            assert vector == NOTHING or hypot(*vector) == pytest.approx(1)

    @given(st.lists(ODD_TEXTS, min_size=1, max_size=4))
    def test_a_vector_depends_on_its_text_alone(self, texts):
        alone = [LocalEmbeddings().embed_query(text) for text in texts]

        assert alone == LOCAL.embed_documents(texts)
        assert alone[::-1] == LOCAL.embed_documents(texts[::-1])

    def test_the_shorter_vector_is_the_beginning_of_the_longer(self):
        long = LOCAL.embed_query("a thin wing")[:128]

        short = LocalEmbeddings(dimensions=128).embed_query("a thin wing")

        assert short == pytest.approx([each / hypot(*long) for each in long])

    def test_a_dimension_that_the_table_lacks_is_refused(self):
        with pytest.raises(ConfigurationError, match="128 or 256, not 512"):
            LocalEmbeddings(dimensions=512)


class TestTexts:
    @pytest.mark.parametrize("text", ["", " ", "\n\t", "\u3000", "...", "😀"])
    def test_a_text_without_letters_and_digits_has_the_vector_of_nothing(self, text):
        assert LOCAL.embed_query(text) == NOTHING

    @pytest.mark.parametrize(
        "text",
        ["日本の首都は東京です。", "Столица Японии", "수도", "東京都の GDP", "العاصمة"],
    )
    def test_letters_that_are_mostly_not_latin_are_not_read(self, text):
        assert LOCAL.embed_query(text) == NOTHING

    @pytest.mark.parametrize("text", ["naïve", "1984", "４２", "GDP of 東京", "I", "Å"])
    def test_mostly_latin_letters_are_read_and_so_are_digits_alone(self, text):
        assert LOCAL.embed_query(text) != NOTHING

    @pytest.mark.parametrize("odd", ["\0", "\ud83d", "\n", " (", "😀", "-"])
    def test_what_is_no_word_only_parts_words(self, odd):
        expected = LOCAL.embed_query("wing flow")

        assert LOCAL.embed_query(f"wing{odd}flow") == expected

    @pytest.mark.parametrize("mark", ["<s>", "</s>", "<unk>", "<0x0A>"])
    def test_the_marks_of_the_model_are_words_in_a_text(self, mark):
        expected = LOCAL.embed_query(f"wing {mark.strip('</>')} flow")

        assert LOCAL.embed_query(f"wing {mark} flow") == expected

    def test_a_long_text_has_the_mean_of_all_its_words(self):
        words = ["wing", "flow", "court"]
        short = LOCAL.embed_query(" ".join(words))

        assert LOCAL.embed_query("\n".join(words * 7_000)) == pytest.approx(short)

    def test_a_long_text_is_looked_at_in_parts(self):
        parts = list(embeddings._words("wing flow " * 10_000 + "x" * 100_000))

        assert max(map(len, parts)) <= 65 * embeddings._TOGETHER
        assert " ".join(parts).count("wing flow") == 10_000
        assert "".join(parts).count("x") == 100_000


class TestLoading:
    def test_many_threads_read_the_table_once(self):
        embeddings._read.cache_clear()
        together = threading.Barrier(8)

        def first(number):
            together.wait()
            return LocalEmbeddings().embed_query(f"wing {number % 2}")

        with ThreadPoolExecutor(8) as threads:
            vectors = list(threads.map(first, range(8)))

        assert embeddings._read.cache_info().misses == 1
        assert [vectors[0], vectors[1]] * 4 == vectors

    async def test_reading_it_does_not_block_the_event_loop(self):
        embeddings._read.cache_clear()

        vector = await LOCAL.aembed_query("a thin wing")

        assert [vector] == await LOCAL.aembed_documents(["a thin wing"])
        assert vector == LOCAL.embed_query("a thin wing")

    def test_no_network_is_tried_and_no_logging_is_set_up(self):
        program = """
            import logging, socket, sys
            def refuse(*_, **__): raise OSError("a network was tried")
            socket.socket.connect = socket.getaddrinfo = refuse
            from langchain_ctxfetch.embeddings import LocalEmbeddings
            print(len(LocalEmbeddings().embed_query("a thin wing")))
            print(logging.getLogger().handlers, "wordllama" in sys.modules)
            """
        lines = [line.strip() for line in program.strip().splitlines()]

        done = subprocess.run(
            [sys.executable, "-c", "\n".join(lines)],
            capture_output=True,
            text=True,
            check=True,
        )

        assert done.stdout == "256\n[] False\n"

    @pytest.mark.parametrize("missing", ["wordllama", "tokenizers", "safetensors"])
    def test_a_missing_package_is_told_with_the_extra(self, missing, monkeypatch):
        monkeypatch.setitem(sys.modules, missing, None)

        with pytest.raises(MissingExtraError, match=r"langchain-ctxfetch\[local\]"):
            LocalEmbeddings()

    def test_a_package_without_the_files_counts_as_missing(self, monkeypatch, tmp_path):
        (tmp_path / "wordllama").mkdir()
        (tmp_path / "wordllama" / "__init__.py").touch()
        monkeypatch.syspath_prepend(tmp_path)

        with pytest.raises(MissingExtraError, match=r"langchain-ctxfetch\[local\]"):
            LocalEmbeddings()


class TestIdentity:
    @pytest.mark.parametrize("dimensions", [128, 256])
    def test_it_can_be_pickled(self, dimensions):
        embedding = LocalEmbeddings(dimensions=dimensions)

        assert embedding == pickle.loads(pickle.dumps(embedding))

    def test_repr_says_how_to_make_another(self):
        assert repr(LOCAL) == "LocalEmbeddings(dimensions=256)"

    def test_the_name_says_table_and_dimension(self):
        assert LOCAL.model == "wordllama-l2-supercat-256"

    def test_the_name_that_a_store_records_leads_back_to_the_embedding(self):
        short = LocalEmbeddings(dimensions=128)

        assert local_named("local") == LOCAL
        assert local_named(embedding_name(LOCAL)) == LOCAL
        assert local_named(embedding_name(short)) == short

    @pytest.mark.parametrize(
        "name", ["none", "openai:x", "LocalEmbeddings", "LocalEmbeddings:older-256"]
    )
    def test_another_name_leads_to_none(self, name):
        assert local_named(name) is None

    def test_a_store_refuses_the_other_dimension(self, tmp_path):
        file = tmp_path / "store.db"
        with SQLiteStore(file, embedding=LOCAL) as store:
            store.add_texts(["a thin wing"])

        with pytest.raises(StoreMismatchError, match="wordllama-l2-supercat-256"):
            SQLiteStore(file, embedding=LocalEmbeddings(dimensions=128))


class TestInAStore:
    TEXTS = (
        "The physician prescribed a drug.",
        "東京は日本の首都です。",
        "大阪は日本の都市です。",
        "Stocks fell on Wall Street.",
    )

    @pytest.fixture
    def store(self):
        with SQLiteStore(embedding=LOCAL) as store:
            store.add_documents(
                [Document(text, id=str(at)) for at, text in enumerate(self.TEXTS)]
            )
            yield store

    def test_other_words_are_found_where_no_word_is(self, store):
        retriever = HybridRetriever.from_store(store, fusion="weighted")

        assert found_ids(store, "medicine of a doctor") == []
        assert ids(retriever.invoke("medicine of a doctor"))[0] == "0"

    def test_what_cannot_be_read_is_ranked_by_its_words(self, store):
        retriever = HybridRetriever.from_store(store, fusion="weighted")
        by_keyword = found_ids(store, "日本の首都")

        assert by_keyword == ["1", "2"]
        assert by_keyword == ids(retriever.invoke("日本の首都"))[:2]
