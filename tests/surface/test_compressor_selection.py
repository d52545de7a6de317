"""What ContentPolicyCompressor takes of a document: by words, meaning, scores."""

from __future__ import annotations

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch._core.hits import Hit, Passage
from langchain_ctxfetch.compressors import ContentPolicyCompressor
from langchain_ctxfetch.rendering import ContextRenderer
from langchain_ctxfetch.retrievers import HybridRetriever
from langchain_ctxfetch.stores.sqlite import SQLiteStore
from tests.surface.stores import Meanings, RecordingStore, reference

FILLER = "The weather was fine that day and nothing happened at all. "
LONG = FILLER * 40 + "The ZX-81 code is 4471. " + FILLER * 40
PLAIN = ContextRenderer(style="plain")


class Broken(Embeddings):
    def embed_query(self, text):
        raise ConnectionError("no such service")

    def embed_documents(self, texts):
        raise ConnectionError("no such service")


def test_FR_D1_a_giant_spoils_nothing() -> None:
    """A text of 1.2 million characters among nine small ones is quoted like any."""
    giant = (FILLER * 30_000)[: 1_200_001 - 20] + "The code was 4471..."
    documents = [Document("Small.", id=str(i)) for i in range(9)] + [Document(giant)]
    made = ContentPolicyCompressor().compress_documents(documents, "code")

    assert [each.page_content for each in made[:9]] == ["Small."] * 9
    assert "4471" in made[9].page_content
    assert len(made[9].page_content) <= 3_000


def test_FR_D3_an_answer_late_in_a_long_document_arrives() -> None:
    """It stands at character 250,000 of 300,000, and the limit is 4,000."""
    text = (FILLER * 5_000)[:250_000] + "ZX-81 code is 4471. " + (FILLER * 900)
    compressor = ContentPolicyCompressor(threshold=4_000, limit=4_000)
    (made,) = compressor.compress_documents([Document(text)], "ZX-81 code")

    assert "4471" in made.page_content
    assert len(made.page_content) <= 4_000


def test_FR_D4_without_any_match_each_has_a_bounded_excerpt() -> None:
    """Five texts of half a million characters share 8,000 characters."""
    documents = [Document(FILLER * 8_500, id=str(i)) for i in range(5)]
    compressor = ContentPolicyCompressor(
        max_tokens=8_000, token_counter=len, renderer=PLAIN
    )
    made = compressor.compress_documents(documents, "zebra")

    assert len(PLAIN.render(made)) <= 8_000
    assert [len(each.page_content) > 1_000 for each in made] == [True] * 5


def test_FR_D5_a_document_without_the_words_is_kept() -> None:
    """It has a fallback, which is marked as such."""
    (made,) = ContentPolicyCompressor().compress_documents([Document(LONG)], "zebra")

    assert made.page_content
    assert made.metadata["ctxfetch"]["strategy"] == "truncate"


def test_FR_D6_markup_of_the_document_stays_and_none_is_added() -> None:
    """An `<em>` of the text survives verbatim, the hit has none."""
    text = FILLER * 60 + "The <em>ZX-81</em> code. " + FILLER * 60
    (made,) = ContentPolicyCompressor().compress_documents([Document(text)], "ZX-81")

    assert made.page_content.count("<em>") == 1
    assert "<em>ZX-81</em>" in made.page_content


def test_FR_D12_passages_are_more_than_the_word() -> None:
    """With room for 200 characters the word comes with text on both sides."""
    text = "lorem ipsum dolor sit amet " * 40 + "zebra " + "sed do eiusmod " * 60
    compressor = ContentPolicyCompressor(threshold=200, limit=200)
    (made,) = compressor.compress_documents([Document(text)], "zebra")
    before, _, after = made.page_content.partition("zebra")

    assert 100 <= len(made.page_content) <= 200
    assert len(before) > 10
    assert len(after) > 10


def test_meaning_finds_what_words_do_not() -> None:
    """Where no word of the question stands, vectors choose the passage."""
    text = FILLER * 40 + "A hound howled. " * 20 + FILLER * 40
    compressor = ContentPolicyCompressor(embedding=Meanings(), threshold=800, limit=800)
    (made,) = compressor.compress_documents([Document(text)], "zebra")

    assert "hound" in made.page_content
    assert made.metadata["ctxfetch"]["strategy"] == "highlight"


def test_meaning_finds_a_place_in_each_document() -> None:
    """Vectors of one document are not taken for those of another."""
    first = FILLER * 40 + "A hound howled. " * 20
    second = "Two hounds slept. " * 20 + FILLER * 60
    compressor = ContentPolicyCompressor(embedding=Meanings(), threshold=300, limit=300)
    made = compressor.compress_documents([Document(first), Document(second)], "zebra")

    assert "A hound" in made[0].page_content
    assert "Two hounds" in made[1].page_content


def test_a_broken_embedding_is_a_gap() -> None:
    """The document is truncated, and the gap says why."""
    made = ContentPolicyCompressor(embedding=Broken()).compress(
        [Document(LONG)], "zebra"
    )

    assert made.rows[0].strategy == "truncate"
    assert made.gaps[0].part == "embedding"
    assert "no such service" in made.gaps[0].reason


def test_a_scorer_takes_the_place_of_our_scores() -> None:
    """What it scores highest is quoted, within the same limit."""
    text = FILLER * 40 + "Moonlight it was. " + FILLER * 20 + "The ZX-81 code. " * 2
    compressor = ContentPolicyCompressor(
        scorer=lambda _, passages: ["Moonlight" in passage for passage in passages],
        threshold=100,
        limit=100,
    )
    (made,) = compressor.compress_documents([Document(text)], "ZX-81")

    assert "Moonlight" in made.page_content
    assert len(made.page_content) <= 100


def test_FR_K6_a_scorer_sees_no_blank_passage() -> None:
    """Nothing is asked about white space."""
    seen: list[str] = []

    def scorer(_, passages):
        seen.extend(passages)
        return [float("nan")] * len(passages)

    text = ("One. \n\n\n   \n\n" * 300) + "ZX-81."
    ContentPolicyCompressor(scorer=scorer).compress_documents([Document(text)], "ZX-81")

    assert seen
    assert all(passage.strip() for passage in seen)


def test_a_scorer_that_answers_too_little_is_a_gap() -> None:
    """Our own scores are used, and the gap names the scorer."""
    made = ContentPolicyCompressor(scorer=lambda *_: [1.0]).compress(
        [Document(LONG)], "ZX-81"
    )

    assert "4471" in made.documents[0].page_content
    assert made.gaps[0].part == "scorer"


def test_FR_G5_a_lone_surrogate_becomes_a_replacement() -> None:
    """Half an emoji and a NUL come out as U+FFFD, one for one."""
    (made,) = ContentPolicyCompressor().compress_documents(
        [Document("a\ud83d\x00b")], ""
    )

    assert made.page_content == "a\ufffd\ufffdb"


def test_FR_G1_special_tokens_come_through() -> None:
    """They are text, also under a budget."""
    text = "<|endoftext|> <|im_start|>"
    (made,) = ContentPolicyCompressor(max_tokens=100).compress_documents(
        [Document(text)], "im_start"
    )

    assert made.page_content == text


def test_the_compressor_stems_as_its_store_does() -> None:
    """A German store, asked for the plural, quotes the singular."""
    filler = "Das Wetter war an diesem Tag schön und nichts geschah. " * 20
    text = filler + "Die Katze schläft auf dem roten Stein. " + filler
    with SQLiteStore(language="german") as store:
        compressor = ContentPolicyCompressor(store=store, threshold=200, limit=200)
        (made,) = compressor.compress_documents([Document(text)], "Katzen")

    assert "Katze" in made.page_content


@pytest.mark.parametrize(
    "told",
    [
        Hit("other", None, {}, length=9_000, passages=(Passage(0, 4, "Lies"),)),
        Hit("a", None, {}, length=9_000, passages=(Passage(0, 40, "Lies"),)),
        Hit("a", None, {}, length=9_000, passages=(Passage(-4, 0, "Lies"),)),
        Hit("a", None, {}, length=9_000, passages=(Passage(8_998, 9_002, "Lies"),)),
    ],
    ids=["another id", "other length", "before the text", "after the text"],
)
def test_a_store_that_lies_about_passages_is_not_believed(told: Hit) -> None:
    """The document is asked whole, and quoted from that."""
    store = RecordingStore({"a": "Cats sleep. " * 800 + "Dogs bark."})
    store._outcome = lambda name: Ok(told)
    compressor = ContentPolicyCompressor(store=store)
    (made,) = compressor.compress_documents([reference("a", 9_000)], "dogs")

    assert "Dogs bark." in made.page_content
    assert "Lies" not in made.page_content


def test_passages_judged_by_meaning_use_the_room() -> None:
    """Of a giant the passages are coarse, but what is delivered is sentences."""
    giant = (FILLER * 9_000)[:500_000] + "The hound sleeps."
    compressor = ContentPolicyCompressor(
        max_tokens=1_600, token_counter=len, renderer=PLAIN, embedding=Meanings()
    )
    (made,) = compressor.compress_documents([Document(giant)], "zebra")

    assert made.metadata["ctxfetch"]["passages"][0][0] > 490_000
    assert len(made.page_content) > 1_500


@pytest.mark.parametrize("content", ["document", "passages"])
@pytest.mark.parametrize("query", ["tresure kestrl", "sunken gold"])
def test_what_a_search_found_without_the_words_is_delivered(content, query) -> None:
    """The passages of the hit, for nothing in the text tells where the answer is."""
    text = FILLER * 300 + "The treasure lies under the Kestrel. " + FILLER * 300
    start = text.index("The treasure")
    document = Document(
        text if content == "document" else text[start : start + 36],
        id="a",
        metadata={
            "ctxfetch": {
                "v": 1,
                "content": content,
                "length": len(text),
                "passages": [[start, start + 36]],
            }
        },
    )
    for limits in ({"max_tokens": 60}, {"threshold": 200, "limit": 200}):
        compressor = ContentPolicyCompressor(
            store=RecordingStore({"a": text}), renderer=PLAIN, **limits
        )
        (made,) = compressor.compress_documents([document], query)

        assert "The treasure lies under the Kestrel." in made.page_content


@pytest.mark.parametrize("budget", [30, 60, 100])
def test_passages_from_a_store_are_not_cut_without_a_mark(budget: int) -> None:
    """A part of a sentence shows where it is cut, wherever it comes from."""
    text = FILLER * 9 + "The lamp of the house burned oil until it was changed to gas. "
    store = SQLiteStore()
    store.add_documents([Document(text * 9, id="a"), Document(text * 40, id="b")])
    found = HybridRetriever.from_store(store, content="passages").invoke("lamp oil")
    made = ContentPolicyCompressor(store=store, max_tokens=budget).compress(
        found, "lamp oil"
    )

    for held in made.documents:
        for part in held.page_content.split("\n…\n"):
            assert part.startswith(("The ", "…"))
            assert part.endswith((".", "…"))


def test_offsets_of_another_text_are_not_believed() -> None:
    """A text that somebody changed after the search is truncated as any other."""
    text = FILLER * 100
    added = {"v": 1, "content": "document", "length": 9, "passages": [[900, 1_000]]}
    document = Document(text, metadata={"ctxfetch": added})
    compressor = ContentPolicyCompressor(threshold=200, limit=200)
    (made,) = compressor.compress_documents([document], "zebra")

    assert made.metadata["ctxfetch"]["strategy"] == "truncate"
