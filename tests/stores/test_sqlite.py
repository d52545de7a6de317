"""What SQLiteStore does with documents, ids, metadata and odd arguments."""

from __future__ import annotations

import asyncio
import copy
import json
import math
import pathlib
from datetime import UTC, datetime
from uuid import UUID

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_ctxfetch import (
    ConfigurationError,
    FilterError,
    IngestionError,
    SQLiteStore,
    StoreError,
    StoreMismatchError,
)
from langchain_ctxfetch._core.flow import Failed
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.ports import SearchRequest, SearchStore, WritableStore

EMBEDDING = DeterministicFakeEmbedding(size=8)


@pytest.fixture(params=["keyword", "vector"])
def either(request):
    """Return a store without an embedding, then one with."""
    embedding = EMBEDDING if request.param == "vector" else None
    with SQLiteStore(embedding=embedding) as store:
        yield store


@pytest.fixture
def by_vector():
    """Return a store with an embedding."""
    with SQLiteStore(embedding=EMBEDDING) as store:
        yield store


def ids(documents) -> list[str]:
    return [document.id for document in documents]


def keyword(store, query: str, **more) -> list[str]:
    (outcome,) = store.search_round([SearchRequest("keyword", query, 10, **more)])
    return ids(outcome.value)


# Ids.


def test_a_store_is_both_kinds_of_store(either) -> None:
    """It can be searched and written through the ports."""
    assert isinstance(either, SearchStore)
    assert isinstance(either, WritableStore)


def test_ids_are_those_given_else_the_documents_own_else_new(store) -> None:
    """In this order; a new one is a UUID."""
    documents = [Document("x", id="own 1"), Document("x", id="own 2"), Document("x")]
    given, own, new = store.add_documents(documents, ids=["given", None, None])

    assert (given, own) == ("given", "own 2")
    assert str(UUID(new)) == new
    assert {id_ for id_, _ in store.records()} == {given, own, new}


def test_the_same_id_replaces(store) -> None:
    """Text and metadata; the old words are not found any more."""
    store.add_texts(["old cats"], [{"v": 1}], ids=["a"])
    store.add_texts(["new dogs"], [{"v": 2}], ids=["a"])
    (document,) = store.get_by_ids(["a"])

    assert (document.page_content, document.metadata) == ("new dogs", {"v": 2})
    assert (len(store), keyword(store, "cats"), keyword(store, "dogs")) == (
        1,
        [],
        ["a"],
    )


def test_of_an_id_given_twice_the_last_counts(store) -> None:
    """Both are answered."""
    answered = store.add_texts(["first", "second"], ids=["a", "a"])

    assert answered == ["a", "a"]
    assert [each.page_content for each in store.get_by_ids(["a"])] == ["second"]


@pytest.mark.parametrize(
    "id_", ["a b", 'it\'s "q"', "'; drop table documents; --", "%_*?", "猫", "\n", "#"]
)
def test_an_id_may_be_any_text(store, id_) -> None:
    """Spaces, quotes, SQL, line breaks."""
    store.add_texts(["cats", "cats"], ids=[id_, "other"])
    found = set(ids(store.similarity_search("cats")))
    store.delete([id_])

    assert found == {id_, "other"}
    assert (len(store), store.get_by_ids([id_])) == (1, [])


def test_an_id_is_cleaned_as_texts_are(store) -> None:
    """A lone surrogate in an id names the same document when it is asked for."""
    store.add_texts(["cats"], ids=["a\ud83d\x00"])

    assert ids(store.get_by_ids(["a\ud83d\x00"])) == ["a\ufffd\ufffd"]
    assert store.remove(["a\ud83d\x00"]) == 1


def test_documents_come_in_the_order_of_the_ids_asked(store) -> None:
    """Missing ones are passed over."""
    store.add_texts(["x", "y", "z"], ids=["a", "b", "c"])

    assert ids(store.get_by_ids(["c", "none", "a"])) == ["c", "a"]


@pytest.mark.parametrize("call", ["get_by_ids", "fetch", "remove", "delete"])
def test_many_ids_are_asked_at_once(store, call) -> None:
    """More than SQLite takes parameters, most of them unknown, some twice."""
    store.add_texts(["x", "y"], ids=["a", "b"])
    names = ["a", *map(str, range(40_000)), "a"]
    answer = getattr(store, call)(names)

    assert answer in (1, True) or set(ids(answer)) == {"a"}


@pytest.mark.parametrize("given", [["a"], ["a", "b", "c"], []])
def test_as_many_ids_as_documents(store, given) -> None:
    """Any other number is an error, and nothing is written."""
    with pytest.raises(ConfigurationError, match="`ids`"):
        store.add_documents([Document("x"), Document("y")], ids=given)

    assert len(store) == 0


def test_an_id_that_is_no_text_is_refused(store) -> None:
    """Before anything is written."""
    with pytest.raises(ConfigurationError, match="text, not 5"):
        store.add_documents([Document("x"), Document("y")], ids=["a", 5])

    assert len(store) == 0


def test_delete_answers_true_and_remove_how_many(store) -> None:
    """Unknown ids are no error."""
    store.add_texts(["x", "y", "z"], ids=["a", "b", "c"])

    assert store.delete(["a", "none"]) is True
    assert store.remove(["b", "none"]) == 1
    assert store.remove([]) == 0
    assert store.remove(filter={}) == 1


@pytest.mark.parametrize("call", ["delete", "remove"])
def test_deleting_needs_ids_or_a_filter(store, call) -> None:
    """To delete everything one must say so."""
    store.add_texts(["x"])

    with pytest.raises(ConfigurationError, match="`ids` or `filter`"):
        getattr(store, call)()
    assert len(store) == 1


# Metadata and text.


def test_metadata_of_odd_types_comes_back_as_json_has_it(store) -> None:
    """Times as text in UTC, tuples and sets as lists, numpy as plain values."""
    given = {
        "time": datetime(2024, 5, 1, 12, tzinfo=UTC),
        "uuid": UUID(int=1),
        "set": {3, 1, 2},
        "tuple": (1, "x"),
        "numpy": [np.float32(1.1), np.int64(2), np.bool_(True), np.array([1, 2])],
        "path": pathlib.PurePosixPath("a/b"),
        "nested": {"deep": [{"er": None}]},
        "big": 2**80,
        "inf": math.inf,
        "text": "a\x00\ud83d",
        7: "number as key",
    }
    store.add_documents([Document("x", id="a", metadata=given)])
    (document,) = store.get_by_ids(["a"])

    assert document.metadata == {
        "time": "2024-05-01T12:00:00.000000Z",
        "uuid": "00000000-0000-0000-0000-000000000001",
        "set": [1, 2, 3],
        "tuple": [1, "x"],
        "numpy": [1.1, 2, True, [1, 2]],
        "path": "a/b",
        "nested": {"deep": [{"er": None}]},
        "big": 2**80,
        "inf": math.inf,
        "text": "a\ufffd\ufffd",
        "7": "number as key",
    }


def test_nan_stays_nan(store) -> None:
    """It is no number that filters know, but it is kept."""
    store.add_documents([Document("x", id="a", metadata={"n": math.nan})])
    (document,) = store.get_by_ids(["a"])

    assert math.isnan(document.metadata["n"])


@pytest.mark.parametrize("value", [b"bytes", object(), 1j, {(1, 2): 3}, [10**5000]])
def test_what_json_cannot_hold_is_refused_by_name(store, value) -> None:
    """The key is named, and nothing of the call is written."""
    documents = [Document("x"), Document("y", metadata={"good": 1, "bad key": value})]

    with pytest.raises(ConfigurationError, match="'bad key'"):
        store.add_documents(documents)
    assert len(store) == 0


@pytest.mark.parametrize("call", ["get_by_ids", "similarity_search"])
def test_our_own_key_is_dropped_on_the_way_in(store, call) -> None:
    """What earlier steps added does not come back."""
    store.add_documents(
        [Document("x", id="x", metadata={"ctxfetch": {"v": 1}, "n": 2})]
    )
    (document,) = getattr(store, call)(["x"] if call == "get_by_ids" else "x")

    assert document.metadata == {"n": 2}


def test_inputs_are_not_changed(either) -> None:
    """Documents, metadata and lists are as before the call."""
    documents = [
        Document("a\ud83d cat", metadata={"t": ("x",), "l": [{"ctxfetch": 1}]}),
        Document("b", id="b", metadata={"ctxfetch": {}, "title": "T"}),
    ]
    names = [None, "given"]
    before = copy.deepcopy((documents, names))
    either.add_documents(documents, ids=names)

    assert (documents, names) == before


def test_FR_K9_changing_a_result_does_not_change_the_store(either) -> None:
    """Nested metadata and text are the caller's own."""
    either.add_documents([Document("cat", id="a", metadata={"l": [1, {"x": 2}]})])
    calls = [
        lambda: either.similarity_search("cat")[0],
        lambda: either.get_by_ids(["a"])[0],
        lambda: either.channel("keyword").ask("cat", 1, None)[0],
    ]
    for call in calls:
        found = call()
        found.metadata["l"][1]["x"] = "changed"
        found.metadata["l"].append(3)

    assert [call().metadata for call in calls] == [{"l": [1, {"x": 2}]}] * 3


def test_FR_K3_scores_are_plain_numbers(either) -> None:
    """And whatever a search brings can be written as JSON."""
    either.add_texts(["cat"], [{"n": np.float32(0.1)}], ids=["a"])
    ((document, score),) = either.similarity_search_with_score("cat")
    rounds = either.search_round(
        [SearchRequest(name, "cat", 1) for name in either.channel_names()]
    )

    assert type(score) is float
    assert json.loads(document.model_dump_json())["metadata"] == {"n": 0.1}
    assert {type(each.value[0].score) for each in rounds} == {float}
    assert {type(each.value[0].passages[0].start) for each in rounds} == {int}


def test_FR_K3_an_embedding_may_give_arrays(tmp_path) -> None:
    """Of any number type, as lists of arrays or one matrix."""

    class Arrays(Embeddings):
        def embed_documents(self, texts):
            return np.ones((len(texts), 3), np.float16)

        def embed_query(self, text):
            return np.array([1, 1, 1])

    with SQLiteStore(tmp_path / "s.db", embedding=Arrays()) as store:
        store.add_texts(["cat"])
        ((_, score),) = store.similarity_search_with_score("cat")

    assert (type(score), score) == (float, pytest.approx(1))


def test_lone_surrogates_and_nul_become_replacement_characters(either) -> None:
    """One for one, so that offsets stay."""
    either.add_texts(["cat \ud83d\x00 dog"], ids=["a"])
    (document,) = either.similarity_search("\ud83d cat \x00")

    assert document.page_content == "cat \ufffd\ufffd dog"


# Searching.


def test_passages_are_documents_of_their_own(either) -> None:
    """Their id says where they stand, exactly."""
    text = "The cat sleeps. 猫は寝る。 " * 120
    either.add_texts([text], [{"n": 1}], ids=["a#1"])
    found = either.similarity_search("cat", k=99, returns="passages")

    assert len(found) >= len(text) // 600
    for passage in found:
        source, _, span = passage.id.rpartition("#")
        start, end = map(int, span.split("-"))
        assert passage.page_content == text[start:end]
        assert passage.metadata == {"n": 1, "source_id": "a#1", "start_index": start}
        assert source == "a#1"


def test_returns_is_one_of_two_words(store) -> None:
    """Anything else is named."""
    with pytest.raises(ConfigurationError, match=r"`returns`.*'chunks'"):
        store.similarity_search("x", returns="chunks")


def test_k_bounds_the_results(either) -> None:
    """0 is none, and a very large number is all."""
    either.add_texts(["cat"] * 7)

    assert [len(either.similarity_search("cat", k=k)) for k in (0, 1, 10**9)] == [
        0,
        1,
        7,
    ]


@pytest.mark.parametrize("k", [-1, 1.5, "3", None, True])
def test_k_is_a_whole_number_from_0(either, k) -> None:
    """Anything else is named."""
    with pytest.raises(ConfigurationError, match="`k`"):
        either.similarity_search("cat", k=k)


@pytest.mark.parametrize(
    "arguments",
    [{"k": -1}, {"fetch_k": -1}, {"lambda_mult": 2}, {"lambda_mult": math.nan}],
)
def test_diverse_search_refuses_wrong_numbers(by_vector, arguments) -> None:
    """Each is named."""
    by_vector.add_texts(["cat"])
    (name,) = arguments

    with pytest.raises(ConfigurationError, match=f"`{name}`"):
        by_vector.max_marginal_relevance_search("cat", **arguments)


def test_diverse_search_prefers_what_differs(by_vector) -> None:
    """Of two equal texts and a third, the third comes second."""
    by_vector.add_texts(["cat", "cat", "dog"], ids=["a", "b", "c"])
    found = by_vector.max_marginal_relevance_search("cat", k=2, lambda_mult=0.1)

    assert ids(found) == ["a", "c"]


def test_an_unknown_operator_is_an_error_that_names_it(either) -> None:
    """It is never ignored."""
    with pytest.raises(FilterError, match=r"\$like"):
        either.similarity_search("cat", filter={"a": {"$like": "x"}})


@pytest.mark.parametrize("call", ["similarity_search", "delete", "add_documents"])
def test_an_unknown_argument_is_refused(store, call) -> None:
    """A misspelt filter must not search, or delete, unfiltered."""
    given = {"query": "x"} if call == "similarity_search" else {}
    given = {"documents": []} if call == "add_documents" else given

    with pytest.raises(ConfigurationError, match="`fliter`"):
        getattr(store, call)(**given, fliter={"a": 1})


@pytest.mark.parametrize(
    "call",
    [
        lambda store: store.similarity_search_by_vector([1.0]),
        lambda store: store.max_marginal_relevance_search("x"),
        lambda store: store.max_marginal_relevance_search_by_vector([1.0]),
        lambda store: store.channel("vector"),
    ],
)
def test_vectors_need_an_embedding(store, call) -> None:
    """The error names the argument."""
    with pytest.raises(ConfigurationError, match="`embedding`"):
        call(store)


def test_a_round_without_an_embedding_fails_by_vector_alone(store) -> None:
    """The keyword channel answers."""
    store.add_texts(["cat"], ids=["a"])
    words, meanings = store.search_round(
        [SearchRequest("keyword", "cat", 1), SearchRequest("vector", "cat", 1)]
    )

    assert ids(words.value) == ["a"]
    assert isinstance(meanings, Failed)
    assert "`embedding`" in str(meanings.error)


@pytest.mark.parametrize("vector", [[1.0], [math.nan] * 8, ["x"] * 8, []])
def test_a_vector_of_another_kind_is_refused(by_vector, vector) -> None:
    """Another length, NaN, no numbers."""
    by_vector.add_texts(["cat"])

    with pytest.raises(StoreError):
        by_vector.similarity_search_by_vector(vector)


def test_an_embedding_that_changes_its_length_is_refused(tmp_path) -> None:
    """What is stored stays."""
    path = tmp_path / "s.db"
    with SQLiteStore(path, embedding=EMBEDDING) as store:
        store.add_texts(["cat"], ids=["a"])
    with SQLiteStore(path, embedding=DeterministicFakeEmbedding(size=9)) as other:
        with pytest.raises(StoreMismatchError, match="9 numbers where 8"):
            other.add_texts(["dog"], ids=["b"])
        with pytest.raises(StoreMismatchError, match="9 numbers where 8"):
            other.similarity_search("cat")

        assert keyword(other, "cat") == ["a"]


@pytest.mark.parametrize("query", ["", " ", "\n\t"])
def test_a_blank_question_finds_nothing(either, query) -> None:
    """In any channel."""
    either.add_texts(["cat", ""])

    assert either.similarity_search(query) == []


def test_a_question_of_stop_words_finds_the_documents_that_hold_them(store) -> None:
    """They count only where there is nothing else."""
    store.add_texts(["to be or not to be", "a cat"], ids=["hamlet", "cat"])

    assert keyword(store, "to be or not to be") == ["hamlet"]
    assert keyword(store, "the not cat") == ["cat"]


def test_a_very_long_question_is_answered(either) -> None:
    """100 KB of distinct words, and of one."""
    either.add_texts(["cat sleeps"], ids=["a"])
    words = " ".join(f"w{number}" for number in range(15_000))

    assert ids(either.similarity_search(f"cat {words}")) == ["a"]
    assert ids(either.similarity_search("cat " * 25_000)) == ["a"]


def test_relevance_lies_between_0_and_1(either) -> None:
    """So that LangChain's threshold can be used."""
    either.add_texts(["cat"] * 3 + ["dog"])
    found = either.similarity_search_with_relevance_scores("cat", k=9)
    retriever = either.as_retriever(
        search_type="similarity_score_threshold",
        search_kwargs={"k": 9, "score_threshold": 0.01},
    )

    assert found
    assert all(0 <= score <= 1 for _, score in found)
    assert 3 <= len(retriever.invoke("cat")) <= 4


@pytest.mark.parametrize("kind", ["similarity", "mmr"])
def test_a_store_is_a_retriever_of_langchain(by_vector, kind) -> None:
    """With our filter among its arguments."""
    by_vector.add_texts(["cat", "cat"], [{"n": 1}, {"n": 2}], ids=["a", "b"])
    retriever = by_vector.as_retriever(
        search_type=kind, search_kwargs={"filter": {"n": 2}}
    )

    assert ids(retriever.invoke("cat")) == ["b"]


def test_FR_M2_langchains_index_leaves_what_is_unchanged(by_vector) -> None:
    """200 documents of one source in batches of 100, twice."""
    records = InMemoryRecordManager(namespace="test")
    records.create_schema()
    documents = [
        Document(f"cat {number}", metadata={"source": "s"}) for number in range(200)
    ]
    first, second = (
        index(
            documents,
            records,
            by_vector,
            cleanup="full",
            source_id_key="source",
            key_encoder="sha256",
        )
        for _ in range(2)
    )

    assert (first["num_added"], len(by_vector)) == (200, 200)
    assert (second["num_added"], second["num_deleted"]) == (0, 0)


# Fields: empty, blank, large, other scripts.


@pytest.mark.parametrize("texts", [[], ["", "   "], ["!!!", "---"]])
def test_FR_A8_a_store_without_words_answers(texts) -> None:
    """Nothing by keyword; by vector what is not blank."""
    with SQLiteStore(embedding=EMBEDDING) as store:
        store.add_texts(texts)
        words, meanings = store.search_round(
            [
                SearchRequest(name, "cat !!!", 9, complete=True)
                for name in ("keyword", "vector")
            ]
        )
        searchable = [text for text in texts if text.strip()]

        assert sorted(hit.score for hit in words.value) == [0.0] * len(searchable)
        assert len(meanings.value) == len(searchable)
        assert keyword(store, "cat !!!") == []
        assert len(store) == len(texts)


def test_an_empty_store_answers_every_call(either) -> None:
    """With nothing."""
    assert either.similarity_search("cat") == []
    assert either.similarity_search("cat", returns="passages") == []
    assert either.get_by_ids(["a"]) == either.fetch(["a"]) == []
    assert list(either.records()) == []
    assert [each.value for each in either.highlight(["a"], "cat")] == [None]
    assert either.add_documents([]) == either.put([]) == []
    assert (either.remove(["a"]), len(either), bool(either)) == (0, 0, True)


def test_a_document_without_text_is_kept_but_never_found(either) -> None:
    """It comes back by its id and counts."""
    either.add_texts(["", "cat"], [{"title": "cat"}, {}], ids=["blank", "a"])

    assert ids(either.similarity_search("cat", k=9)) == ["a"]
    assert [each.page_content for each in either.get_by_ids(["blank"])] == [""]
    assert (len(either), either.stats().documents, either.stats().passages) == (2, 2, 1)


def test_a_document_of_five_million_characters_is_found_by_its_middle() -> None:
    """And comes back whole."""
    filler = "Nothing of interest stands in this sentence. " * 55_000
    text = f"{filler}The zebra crossed the street. {filler}"
    with SQLiteStore() as store:
        store.add_texts([text], ids=["big"])
        (hit,) = store.channel("keyword").ask("zebra", 1, None)
    start, end, passage = hit.passages[0]

    assert (hit.id, hit.length, hit.text == text) == ("big", len(text), True)
    assert passage == text[start:end]
    assert "zebra" in passage


@pytest.mark.parametrize(
    "text",
    ["x" * 300_000, "\n" * 100_000, "a" + "\u0301" * 50_000, "ab" * 9 + " \t" * 90_000],
)
def test_hostile_texts_are_stored(either, text) -> None:
    """Without spaces, of blank lines, of one grapheme, of white space."""
    either.add_texts([text], ids=["a"])

    assert [each.page_content for each in either.get_by_ids(["a"])] == [text]


@pytest.mark.parametrize(
    ("query", "expected"), [("標準化", ["1"]), ("料理", ["2"]), ("国際", ["1"])]
)
def test_FR_F1_japanese_is_found_by_its_words(store, query, expected) -> None:
    """And only where they stand."""
    store.add_texts(["国際標準化に関する動向", "料理の作り方"], ids=["1", "2"])

    assert keyword(store, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"), [("部署", ["1"]), ("go", ["2"]), ("ai", ["2"])]
)
def test_FR_F2_terms_of_two_characters_are_found(store, query, expected) -> None:
    """Letters as well as ideographs."""
    store.add_texts(["今天讨论了部署方案", "go and ai"], ids=["1", "2"])

    assert keyword(store, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ubuntu 20.04", ["1"]),
        ("example.com", ["2"]),
        ("what's new?", ["3"]),
        ("AND", []),
        ("NEAR(", []),
        ("a*", []),
        ('"', []),
        ("-x", []),
        (" ", []),
        ("* OR id:1", ["4"]),
        ("') --", []),
    ],
)
def test_FR_F4_no_text_is_query_syntax(store, query, expected) -> None:
    """Dots, quotes, operators and stars are nothing but text."""
    texts = [
        "Install ubuntu 20.04 now",
        "see example.com",
        "news: new things",
        "the id",
    ]
    store.add_texts(texts, ids=list("1234"))

    assert keyword(store, query) == expected


@pytest.mark.parametrize(
    ("language", "query", "expected"),
    [
        ("german", "Haus", ["1", "2"]),
        ("none", "haus", ["2"]),
        ("GERMAN", "häusern", ["1", "2"]),
        ("en", "house", []),
    ],
)
def test_the_language_decides_what_words_share(language, query, expected) -> None:
    """Case and umlauts by the stemmer; `none` compares words as they are."""
    with SQLiteStore(language=language) as store:
        store.add_texts(["Die Häuser", "ein Haus"], ids=["1", "2"])

        assert sorted(keyword(store, query)) == expected


@pytest.mark.parametrize("language", ["klingon", "", 7])
def test_an_unknown_language_is_refused(language) -> None:
    """The error names those that there are."""
    with pytest.raises(ConfigurationError, match=r"`language`.*'none'.*german"):
        SQLiteStore(language=language)


def test_a_stemmer_may_make_nothing_of_a_word() -> None:
    """One of Snowball's does; the store keeps working."""
    with SQLiteStore(language="porter") as store:
        store.add_texts(["s"], ids=["a"])
        store.add_texts(["cats"], ids=["b"])

        assert (keyword(store, "s"), keyword(store, "cat")) == (["a"], ["b"])


def test_a_splitter_of_langchain_makes_the_passages(either) -> None:
    """With its overlap, and every passage still a stretch of the text."""
    splitter = RecursiveCharacterTextSplitter(chunk_size=80, chunk_overlap=20)
    text = "\n\n".join(f"Number {n}: the cat sat on mat {n * n}." for n in range(40))
    with SQLiteStore(splitter=splitter, embedding=either.embeddings) as store:
        store.add_texts([text], ids=["a"])
        found = store.similarity_search("cat", k=999, returns="passages")

    chunks = splitter.split_text(text)
    assert {each.page_content for each in found} == set(chunks)
    for each in found:
        start = each.metadata["start_index"]
        assert text[start : start + len(each.page_content)] == each.page_content


def test_titles_are_found_with_every_passage() -> None:
    """Under the key that is named; other values than text are no title."""
    with SQLiteStore(title_key="name") as store:
        store.add_texts(
            ["sleeps", "barks", "title of another key"],
            [{"name": "Cat"}, {"name": ["dog"]}, {"title": "zebra"}],
            ids=["a", "b", "c"],
        )

        assert [keyword(store, word) for word in ("cat", "dog", "zebra")] == [
            ["a"],
            [],
            [],
        ]


def test_headings_above_a_passage_are_found_with_it() -> None:
    """In Markdown, known by the id, the source or the format."""
    text = "# Cats\n\n" + "They sleep all day. " * 60
    with SQLiteStore(passage_size=100) as store:
        store.add_texts([text], [{"source": "x.md"}], ids=["a"])
        (hit,) = store.channel("keyword").ask("cats", 1, None)

    assert [passage.start > 0 for passage in hit.passages].count(True) >= 2


# Embedding.


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


# Highlights.


def test_highlights_answer_in_the_order_of_the_ids(store) -> None:
    """None for what does not exist or match, no passages where nothing answers."""
    filler = "Nothing of interest stands here. " * 40
    store.add_texts(
        [f"{filler}The zebra ran. {filler}", "cats", "zebra"],
        [{"n": 1}, {"n": 1}, {"n": 2}],
        ids=["a", "b", "c"],
    )
    found = [
        each.value
        for each in store.highlight(
            ["c", "a", "none", "b"], "zebra", filter={"n": 1}, room=200
        )
    ]

    assert [hit and hit.id for hit in found] == [None, "a", None, "b"]
    assert any("zebra" in passage.text for passage in found[1].passages)
    assert sum(end - start for start, end, _ in found[1].passages) <= 200
    assert (found[3].passages, found[3].text) == ((), None)


# The object.


def test_a_closed_store_says_so(either) -> None:
    """Closing twice is fine; every use after it is a typed error."""
    either.add_texts(["cat"])
    either.close()
    either.close()
    (outcome,) = either.search_round([SearchRequest("keyword", "cat", 1)])

    assert isinstance(outcome.error, StoreError)
    for use in (
        lambda: either.similarity_search("cat"),
        lambda: either.add_texts(["dog"]),
        lambda: either.get_by_ids(["a"]),
        lambda: either.delete(["a"]),
        lambda: len(either),
        either.stats,
        lambda: list(either.records()),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()


async def test_a_store_closes_itself_at_the_end_of_a_block(either) -> None:
    """Asynchronously as in a plain block."""
    async with either as store:
        await store.aadd_texts(["cat"])
    await store.aclose()

    with pytest.raises(StoreError, match="closed"):
        await store.asimilarity_search("cat")


def test_stats_and_repr_say_what_a_store_is(tmp_path) -> None:
    """Counts, size, language, model."""
    with SQLiteStore(
        tmp_path / "s.db", embedding=EMBEDDING, language="german"
    ) as store:
        store.add_texts(["Katze. " * 200, "Hund", ""], ids=["a", "b", "c"])
        store.delete(["b"])
        stats = store.stats()

        assert repr(store) == f"SQLiteStore('{tmp_path / 's.db'}', with vectors)"
    assert (stats.documents, stats.passages, stats.dimension) == (2, 3, 8)
    assert (stats.language, stats.embedding_id) == (
        "german",
        "DeterministicFakeEmbedding",
    )
    assert stats.bytes > 10_000


@pytest.mark.parametrize("arguments", [{"passage_size": 0}, {"passage_size": -5}])
def test_a_passage_has_at_least_one_character(arguments) -> None:
    """The argument is named."""
    with pytest.raises(ConfigurationError, match="`passage_size`"):
        SQLiteStore(**arguments)


def test_a_batch_has_at_least_one_document(store) -> None:
    """The argument is named."""
    with pytest.raises(ConfigurationError, match="`batch_size`"):
        store.add_documents([Document("x")], batch_size=0)


def test_the_async_calls_do_as_the_sync_ones(by_vector) -> None:
    """Write, search, fetch, quote, remove."""
    asyncio.run(_compare_twins(by_vector))


async def _compare_twins(by_vector) -> None:
    documents = [Document(f"cat {n}", id=str(n), metadata={"n": n}) for n in range(5)]
    with SQLiteStore(embedding=EMBEDDING) as other:
        other.add_documents(documents)
        assert await by_vector.aadd_documents(documents) == list("01234")
        vector = EMBEDDING.embed_query("cat")
        where = {"n": {"$gt": 0}}
        requests = [
            SearchRequest(name, "cat", 3, where, complete=True)
            for name in ("keyword", "vector")
        ]

        assert await by_vector.asearch_round(requests) == other.search_round(requests)
        for name, arguments in {
            "similarity_search": ["cat"],
            "similarity_search_with_score": ["cat"],
            "similarity_search_with_relevance_scores": ["cat"],
            "similarity_search_by_vector": [vector],
            "max_marginal_relevance_search": ["cat"],
            "max_marginal_relevance_search_by_vector": [vector],
        }.items():
            answer = await getattr(by_vector, f"a{name}")(*arguments, filter=where)
            assert answer == getattr(other, name)(*arguments, filter=where)
        assert await by_vector.afetch(["1", "0"], filter=where) == other.fetch(["1"])
        assert await by_vector.aget_by_ids(["1"]) == other.get_by_ids(["1"])
        assert await by_vector.ahighlight(["1"], "cat") == other.highlight(["1"], "cat")
    assert await by_vector.adelete(["0"], filter=where) is True
    assert await by_vector.aremove(filter=where) == 4
    assert len(by_vector) == 1


def test_a_store_can_be_made_of_texts() -> None:
    """As any vector store."""
    with (
        SQLiteStore.from_texts(["cat"], EMBEDDING, [{"n": 1}], ids=["a"]) as one,
        SQLiteStore.from_documents([Document("cat", id="a")], EMBEDDING) as other,
    ):
        assert one.get_by_ids(["a"]) == [Document("cat", metadata={"n": 1}, id="a")]
        assert len(other) == 1


async def test_a_store_can_be_made_of_texts_without_blocking() -> None:
    """The file is opened beside the event loop too."""
    store = await SQLiteStore.afrom_texts(["cat"], EMBEDDING, [{"n": 1}], ids=["a"])
    async with store:
        assert ids(await store.aget_by_ids(["a"])) == ["a"]


def test_hits_can_be_put_as_they_are(store) -> None:
    """Without an id one is made; without a text the document is blank."""
    (made,) = store.put([Hit(None, None, {"n": 1})])

    assert [hit.text for hit in store.fetch([made])] == [""]
