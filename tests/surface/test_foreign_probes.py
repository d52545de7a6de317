"""The probes of the field over retrievers, vector stores and embeddings not ours."""

import asyncio
import json

import pytest
from langchain_core.documents import Document
from pydantic import ValidationError

from langchain_ctxfetch import (
    ConfigurationError,
    ContentPolicyCompressor,
    ContextRenderer,
    HybridRetriever,
    PageError,
    RetrieverChannel,
    SQLiteStore,
    StoreError,
    VectorStoreChannel,
)
from tests.surface.foreign import Fixed, Held, Letters, bm25, in_faiss, in_memory

FUSIONS = ["round_robin", "rrf", "weighted"]
FILLER = "The weather was fine that day and nothing happened at all. "
PLAIN = ContextRenderer(style="plain")


def get_in_a_loop(wanted, *arguments, **keywords):
    return asyncio.run(wanted.aget_page(*arguments, **keywords))


@pytest.fixture(params=[HybridRetriever.get_page, get_in_a_loop], ids=["sync", "async"])
def get(request):
    return request.param


@pytest.fixture(params=[in_memory, in_faiss], ids=["memory", "faiss"])
def vectors(request):
    return request.param


def answering(*lists, **fields):
    """Search retrievers that answer with these documents."""
    channels = [
        RetrieverChannel(Held(answer=answer), name=f"c{at}")
        for at, answer in enumerate(lists)
    ]
    return HybridRetriever(channels=channels, **fields)


def named(names):
    return [Document(f"text {name}", id=name) for name in names]


def ids(page):
    return [document.id for document in page.documents]


def end_to_end(get, wanted, query, **keywords):
    pages = [get(wanted, query, page=1, **keywords)]
    while pages[-1].has_more:
        pages.append(get(wanted, query, page=pages[-1].page + 1, **keywords))
    return pages


# --- A: fusion ---


def test_FR_A1_many_chunks_of_one_source_do_not_outvote_agreement(get) -> None:
    """d1 three times in one list, d2 in both: d2 comes first."""
    chunks = [
        Document(f"chunk {n}", metadata={"source": name})
        for n, name in enumerate(["d1", "d1", "d1", "d2"])
    ]
    wanted = answering(chunks, chunks[3:], fusion="rrf", key="source")
    found = get(wanted, "q").documents
    scores = [document.metadata["ctxfetch"]["score"] for document in found]

    assert [document.metadata["source"] for document in found] == ["d2", "d1"]
    assert scores == pytest.approx([1 / 62 + 1 / 61, 1 / 61])


@pytest.mark.parametrize("fusion", FUSIONS)
def test_FR_A3_the_text_does_not_depend_on_the_wiring(get, fusion) -> None:
    """The same id with a full text and with a stub, in both orders."""
    full, stub = [Document("full text", id="d1")], [Document("stub", id="d1")]
    found = {
        document.page_content
        for lists in ([full, stub], [stub, full])
        for document in get(answering(*lists, fusion=fusion), "q").documents
    }

    assert found == {"full text"}


def test_FR_A4_one_chunk_found_twice_is_one_document(get) -> None:
    """Metadata that only one way of searching adds does not part it."""
    by_vector = [Document("c", id="c1"), Document("x", id="x")]
    by_words = [Document("c", id="c1", metadata={"_score": 3.1, "_id": "c1"})]
    page = get(answering(by_vector, by_words, fusion="rrf"), "q")

    assert ids(page) == ["c1", "x"]
    assert page.documents[0].metadata["ctxfetch"]["score"] == pytest.approx(2 / 61)


def test_FR_A6_ranks_start_at_one_and_absence_is_nothing(get) -> None:
    """Y is third in both lists: 2/63, ahead of what is first in one, 1/61."""
    wanted = answering(named("XaY"), named("bcY"), fusion="rrf")
    scores = {
        document.id: document.metadata["ctxfetch"]["score"]
        for document in get(wanted, "q").documents
    }

    assert next(iter(scores)) == "Y"
    assert (scores["Y"], scores["X"]) == pytest.approx((2 / 63, 1 / 61))


def test_FR_A7_weights_choose_the_channel(get, vectors) -> None:
    """Weight 0 leaves a channel out, either way round; all 0 is refused."""
    documents = [Document("zebra", id="z"), Document("aaaa", id="a")]
    channels = [
        RetrieverChannel(bm25(documents, k=2), name="bm25"),
        VectorStoreChannel(vectors(documents), name="vec"),
    ]

    def found(words, sense):
        weights = {"bm25": words, "vec": sense}
        wanted = HybridRetriever(channels=channels, weights=weights, fusion="rrf")
        return get(wanted, "zebra aaaa a").documents

    only = [list(d.metadata["ctxfetch"]["channels"]) for d in found(0, 1)]
    assert only == [["vec"], ["vec"]]
    assert list(found(1, 0)[0].metadata["ctxfetch"]["channels"]) == ["bm25"]
    with pytest.raises(ValueError, match="at least one channel above 0"):
        found(0, 0)


@pytest.mark.parametrize("texts", [[], ["", "   "], ["!!!", "---"]])
def test_FR_A8_a_channel_without_words_spoils_nothing(get, vectors, texts) -> None:
    """Blank texts are left out, and the others are found."""
    words = bm25([*map(Document, texts), *named("ab")])
    with SQLiteStore() as store:
        store.add_texts(texts)
        wanted = HybridRetriever(channels=[words, store, vectors(named("ab"))])
        found = {document.page_content for document in get(wanted, "a").documents}

    assert {"text a", "text b"} <= found <= {"text a", "text b", "!!!", "---"}


@pytest.mark.parametrize("fusion", FUSIONS)
def test_FR_A10_every_document_says_its_scores(get, vectors, fusion) -> None:
    """Fused score, and rank and score of each channel, as plain numbers."""
    documents = named("ab")
    score = float if vectors is in_memory else lambda distance: -distance
    channels = [
        VectorStoreChannel(vectors(documents), name="vec", score=score),
        RetrieverChannel(bm25(documents), name="bm25"),
    ]
    page = get(HybridRetriever(channels=channels, fusion=fusion), "text b")
    added = {d.id: d.metadata["ctxfetch"] for d in page.documents}

    assert {type(each["score"]) for each in added.values()} == {float}
    assert {type(each["channels"]["vec"]["score"]) for each in added.values()} == {
        float
    }
    assert added["b"]["channels"]["bm25"] == {"rank": 1, "score": None}
    assert json.dumps(added)


def test_FR_A11_the_answer_has_k_documents(get) -> None:
    """Two disjoint lists of 50 and k 5 give five documents."""
    lists = [named(map(str, range(50))), named(map(str, range(50, 100)))]
    page = get(answering(*lists, k=5), "q")

    assert [type(document) for document in page.documents] == [Document] * 5


def test_FR_A12_a_failing_channel_leaves_a_gap(get, vectors) -> None:
    """Three documents and a gap; strictness raises, and so do all at once."""
    error = ConnectionError("refused")
    down = RetrieverChannel(Fixed(answer=error), name="down")
    also = RetrieverChannel(Fixed(answer=OSError("second")), name="also")
    page = get(HybridRetriever(channels=[down, vectors(named("abc"))]), "a")

    assert len(page.documents) == 3
    assert [(gap.part, gap.kind) for gap in page.gaps] == [("down", "not_searched")]
    for channels, fields in (
        ([down, vectors(named("a"))], {"on_error": "raise"}),
        ([down, also], {}),
    ):
        with pytest.raises(StoreError, match="refused") as caught:
            get(HybridRetriever(channels=channels, **fields), "a")
        assert caught.value.__cause__ is error


# --- D: the parts of long documents that foreign channels bring ---


@pytest.fixture(params=[None, Letters()], ids=["words", "embedding"])
def embedding(request):
    return request.param


def compressed(get, vectors, documents, query, **fields):
    """Search a keyword and a vector channel, then compress what they brought."""
    channels = [bm25(documents), vectors(documents)]
    page = get(HybridRetriever(channels=channels, k=20), query)
    compressor = ContentPolicyCompressor(**fields)
    if get is get_in_a_loop:
        return asyncio.run(compressor.acompress_documents(page.documents, query))
    return compressor.compress_documents(page.documents, query)


def test_FR_D1_a_giant_spoils_nothing(get, vectors, embedding) -> None:
    """A text of 1.2 million characters among nine small ones is quoted like any."""
    giant = (FILLER * 30_000)[: 1_200_001 - 20] + "The code was 4471..."
    small = [Document(f"Small {n}.", id=str(n)) for n in range(9)]
    documents = [*small, Document(giant, id="giant")]
    made = {
        document.id: document.page_content
        for document in compressed(get, vectors, documents, "code", embedding=embedding)
    }

    assert len(made) == 10
    assert made["0"] == "Small 0."
    assert "4471" in made["giant"]
    assert len(made["giant"]) <= 3_000


def test_FR_D3_an_answer_late_in_a_long_document_arrives(
    get, vectors, embedding
) -> None:
    """It stands at character 250,000 of 300,000, and the limit is 4,000."""
    text = (FILLER * 5_000)[:250_000] + "ZX-81 code is 4471. " + (FILLER * 900)
    fields = {"threshold": 4_000, "limit": 4_000, "embedding": embedding}
    documents = [Document(text)]
    (made,) = compressed(get, vectors, documents, "ZX-81 code", **fields)

    assert "4471" in made.page_content
    assert len(made.page_content) <= 4_000


def test_FR_D4_without_any_match_each_has_a_bounded_excerpt(
    get, vectors, embedding
) -> None:
    """Five texts of half a million characters share 8,000 characters."""
    documents = [Document(f"{n}. {FILLER * 8_500}", id=str(n)) for n in range(5)]
    fields = {"max_tokens": 8_000, "token_counter": len, "renderer": PLAIN}
    made = compressed(get, vectors, documents, "zebra", embedding=embedding, **fields)

    assert len(PLAIN.render(made)) <= 8_000
    assert [len(each.page_content) > 900 for each in made] == [True] * 5


def test_FR_D5_a_document_without_the_words_is_kept(get, vectors, embedding) -> None:
    """It was found by meaning alone: an excerpt, which is marked as such."""
    documents = [Document(FILLER * 100, id="far")]
    (made,) = compressed(get, vectors, documents, "zebra", embedding=embedding)

    assert made.page_content
    assert made.metadata["ctxfetch"]["strategy"] in {"truncate", "highlight"}


def test_FR_D6_markup_of_the_document_stays_and_none_is_added(
    get, vectors, embedding
) -> None:
    """An `<em>` of the text survives verbatim, the hit has none."""
    text = FILLER * 60 + "The <em>ZX-81</em> code. " + FILLER * 60
    documents = [Document(text, id="1")]
    (made,) = compressed(get, vectors, documents, "ZX-81", embedding=embedding)

    assert made.page_content.count("<em>") == 1
    assert "<em>ZX-81</em>" in made.page_content


def test_FR_D12_passages_are_more_than_the_word(get, vectors, embedding) -> None:
    """With room for 200 characters the word comes with text on both sides."""
    text = FILLER * 17 + "Then the kettle sang its song. " + FILLER * 17
    fields = {"threshold": 200, "limit": 200, "embedding": embedding}
    (made,) = compressed(get, vectors, [Document(text, id="1")], "kettle", **fields)
    before, _, after = made.page_content.partition("kettle")

    assert 100 <= len(made.page_content) <= 200
    assert (before.strip(), after.strip()) != ("", "")


# --- E: paging ---


def test_FR_E1_a_deep_page_names_the_last_one(get, vectors) -> None:
    """Page 1,200 of size 10 is refused before anything is asked."""
    wanted = HybridRetriever(channels=[vectors(named("ab"))])
    with pytest.raises(PageError, match="from 1 to 9"):
        get(wanted, "q", page=1200)


@pytest.mark.parametrize("fusion", FUSIONS)
def test_FR_E2_equal_scores_page_without_repeats(get, vectors, fusion) -> None:
    """30 documents of one score in both channels: 30 ids over three pages."""
    documents = [
        Document("text", id=str(n), metadata={"source": str(n)}) for n in range(30)
    ]
    channels = [bm25(documents), vectors(documents)]
    wanted = HybridRetriever(channels=channels, fusion=fusion)
    pages = end_to_end(get, wanted, "text")

    assert [len(page) for page in pages] == [10, 10, 10]
    assert len({name for page in pages for name in ids(page)}) == 30


@pytest.mark.parametrize("fusion", FUSIONS)
def test_FR_E4_two_pages_are_one_of_double_size(get, vectors, fusion) -> None:
    """Pages 1 and 2 of ten are page 1 of twenty; window 10 still serves page 1."""
    documents = [Document(f"{'abcdefgh'[n % 8]} {n}", id=str(n)) for n in range(60)]
    channels = [bm25(documents), vectors(documents)]
    wanted = HybridRetriever(channels=channels, fusion=fusion)
    narrow = HybridRetriever(channels=channels, fusion=fusion, max_window=10)
    two = ids(get(wanted, "a 7", page=1)) + ids(get(wanted, "a 7", page=2))

    assert two == ids(get(wanted, "a 7", k=20))
    assert len(get(narrow, "a 7").documents) == 10


@pytest.mark.parametrize(("count", "sizes"), [(23, [10, 10, 3]), (20, [10, 10])])
def test_FR_E7_the_last_page_says_that_it_is(get, vectors, count, sizes) -> None:
    """True, true, false; also where the last page is a full one."""
    wanted = HybridRetriever(channels=[vectors(named(map(str, range(count))))])
    pages = end_to_end(get, wanted, "1")

    assert [len(page) for page in pages] == sizes
    assert pages[-1].end == "exhausted"
    assert get(wanted, "1", page=len(sizes) + 1).documents == ()


@pytest.mark.parametrize("page", [0, -1, 10, "two", 1.5, True])
def test_FR_E8_a_page_that_is_none_is_refused(get, vectors, page) -> None:
    """Also a ValueError, naming the range."""
    with pytest.raises(ValueError, match="from 1 to 9"):
        get(HybridRetriever(channels=[vectors(named("a"))]), "q", page=page)


@pytest.mark.parametrize("k", [0, -1, 10**9, "3", True])
def test_FR_E8_a_size_that_is_none_is_refused(get, vectors, k) -> None:
    """The message names k and its range, in the call and in the constructor."""
    store = vectors(named("a"))
    with pytest.raises(ConfigurationError, match="`k` must be"):
        get(HybridRetriever(channels=[store]), "q", k=k)
    with pytest.raises(ValidationError):
        HybridRetriever(channels=[store], k=k)


# --- F: words, where the keyword channel is ours and the other is not ---


def beside(get, vectors, texts, query):
    documents = [Document(text, id=text) for text in texts]
    with SQLiteStore() as store:
        store.add_documents(documents)
        others = [vectors(documents), RetrieverChannel(bm25(documents), name="bm25")]
        wanted = HybridRetriever(
            channels=[store, *others],
            fusion="rrf",
            weights={"keyword": 3, "bm25": 0},
        )
        return get(wanted, query).documents


def test_FR_F1_japanese_is_found_by_its_words(get, vectors) -> None:
    """First is the document with the word; the other has no keyword rank."""
    first, second = beside(
        get, vectors, ["国際標準化に関する動向", "料理の作り方"], "標準化"
    )

    assert first.page_content == "国際標準化に関する動向"
    assert set(first.metadata["ctxfetch"]["channels"]) > {"keyword"}
    assert "keyword" not in second.metadata["ctxfetch"]["channels"]


@pytest.mark.parametrize(
    ("query", "wanted"),
    [("部署", "今天讨论了部署方案"), ("go", "go and ai"), ("ai", "go and ai")],
)
def test_FR_F2_terms_of_two_characters_are_found(get, vectors, query, wanted) -> None:
    """By the keyword channel, so they come first."""
    first, *_ = beside(get, vectors, ["今天讨论了部署方案", "go and ai"], query)

    assert first.page_content == wanted
    assert "keyword" in first.metadata["ctxfetch"]["channels"]


@pytest.mark.parametrize(
    "query",
    ["ubuntu 20.04", "example.com", "what's new?", "AND", "NEAR(", "a*", '"', "-x"],
)
def test_FR_F4_no_text_is_query_syntax(get, vectors, query) -> None:
    """No channel fails, and the words find their document."""
    texts = ["ubuntu 20.04 is out", "see example.com for it"]
    documents = [Document(text, id=text) for text in texts]
    with SQLiteStore() as store:
        store.add_documents(documents)
        channels = [store, bm25(documents), vectors(documents)]
        page = get(HybridRetriever(channels=channels), query)

    assert page.complete
    if query in {"ubuntu 20.04", "example.com"}:
        assert query in page.documents[0].page_content


def test_FR_F4_a_blank_query_is_a_gap(get, vectors) -> None:
    """A single space asks nobody."""
    page = get(HybridRetriever(channels=[vectors(named("a"))]), " ")

    assert [gap.kind for gap in page.gaps] == ["query_not_searchable"]
