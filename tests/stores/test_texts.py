"""Texts of every kind are stored and found: none, long, in any script."""

from __future__ import annotations

import pytest
from langchain_text_splitters import RecursiveCharacterTextSplitter

from langchain_ctxfetch import (
    ConfigurationError,
    SQLiteStore,
)
from langchain_ctxfetch.ports import SearchRequest
from tests.stores.fakes import EMBEDDING, found_ids, ids


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
        assert found_ids(store, "cat !!!") == []
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

    assert found_ids(store, query) == expected


@pytest.mark.parametrize(
    ("query", "expected"), [("部署", ["1"]), ("go", ["2"]), ("ai", ["2"])]
)
def test_FR_F2_terms_of_two_characters_are_found(store, query, expected) -> None:
    """Letters as well as ideographs."""
    store.add_texts(["今天讨论了部署方案", "go and ai"], ids=["1", "2"])

    assert found_ids(store, query) == expected


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

    assert found_ids(store, query) == expected


@pytest.mark.parametrize(
    ("language", "query", "expected"),
    [
        ("german", "Haus", ["1", "2"]),
        ("none", "haus", ["2"]),
        ("GERMAN", "häusern", ["1", "2"]),
        ("en", "cottages", []),
    ],
)
def test_the_language_decides_what_words_share(language, query, expected) -> None:
    """Case and umlauts by the stemmer; `none` compares words as they are."""
    with SQLiteStore(language=language) as store:
        store.add_texts(["Die Häuser", "ein Haus"], ids=["1", "2"])

        assert sorted(found_ids(store, query)) == expected


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

        assert (found_ids(store, "s"), found_ids(store, "cat")) == (["a"], ["b"])


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

        assert [found_ids(store, word) for word in ("cat", "dog", "zebra")] == [
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
