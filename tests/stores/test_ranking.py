"""Scores and order are exactly what a plain evaluation of the formulas gives."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings, strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_ctxfetch import SQLiteStore
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch.ports import SearchRequest
from langchain_ctxfetch.stores._postings import FAN_IN
from tests.stores.plain_ranking import Text, keyword, vector

SIZE = 60  # characters of a passage: small, so that short texts have several
EMBEDDING = DeterministicFakeEmbedding(size=16)
SENTENCES = (
    "Cats sleep all day. ",
    "The dogs bark at night. ",
    "A cat's e-mail to Bob. ",
    "Covid-19 is what it is. ",
    "猫は東京で寝る。",
    "京都の東寺。",
    "# Night\n",
    "## Dogs & cats\n\n",
    "To be or not to be. ",
    "!!! --- ",
    "\n\n",
    "Sleep sleep sleep cats bob. " * 20,
)
TEXTS = st.lists(st.sampled_from(SENTENCES), max_size=8).map("".join)
TITLES = st.sampled_from(["", "Cats", "Night dogs", "東京", "The", "!"])
IDS = st.sampled_from([*"abcdef", "notes.md", "z.MD"])
QUERIES = st.sampled_from(
    [
        "cats",
        "dogs at night",
        "sleep sleep cats",
        "email",
        "covid 19",
        "東京の猫",
        "what is it",
        "to be",
        "zebra",
        "",
        "cats sleep",
        "bark dogs bark at dogs",
        "the sleeping cats of Bob",
        "covid-19 catz slep nigth",
        "ctas, dosg & slee",
        "e-mail to Bobb",
    ]
)


@st.composite
def writes(draw):
    """Draw what happens to a store: batches of documents, and removals."""
    put = st.lists(st.tuples(IDS, TEXTS, TITLES), min_size=1, max_size=4)
    remove = st.lists(IDS, min_size=1, max_size=3)
    return draw(st.lists(st.one_of(put, put, put, remove), min_size=1, max_size=12))


def filled(happened, embedding=None, batch_size: int = 100):
    """Do it to a store, and keep what ought to be in it."""
    store = SQLiteStore(passage_size=SIZE, embedding=embedding)
    texts: dict[str, Text] = {}
    for step in happened:
        if isinstance(step[0], str):
            store.delete(step)
            for id_ in step:
                texts.pop(id_, None)
            continue
        documents = [
            Document(text, id=id_, metadata={"title": title})
            for id_, text, title in step
        ]
        store.add_documents(documents, batch_size=batch_size)
        for id_, text, title in step:
            markdown = id_.lower().endswith(".md")
            texts[id_] = Text(text, title, markdown=markdown, size=SIZE)
    return store, texts


def ask(store, channel: str, query: str, depth: int = 100, **more):
    (outcome,) = store.search_round([SearchRequest(channel, query, depth, **more)])
    assert isinstance(outcome, Ok)
    return outcome.value


def scored(hits) -> list[tuple[str, float]]:
    return [(hit.id, hit.score) for hit in hits]


@settings(max_examples=50)
@given(writes(), QUERIES, st.sampled_from([1, 2, 100]))
def test_the_keyword_ranking_is_the_formula_on_every_document(
    happened, query, batch_size
) -> None:
    """Score by score and place by place, after any writes, updates and removals."""
    store, texts = filled(happened, batch_size=batch_size)
    with store:
        found = scored(ask(store, "keyword", query))

    expected = keyword(texts, query)
    assert [id_ for id_, _ in found] == [id_ for id_, _ in expected]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected], abs=1e-9, rel=1e-9
    )


@settings(max_examples=30)
@given(writes(), QUERIES, st.data())
def test_searching_between_the_writes_changes_nothing(happened, query, data) -> None:
    """The index in memory follows the file as if it were read afresh."""
    store, texts = filled([])
    with store:
        for step in happened:
            if isinstance(step[0], str):
                store.delete(step)
                for id_ in step:
                    texts.pop(id_, None)
            else:
                for id_, text, title in step:
                    store.add_texts([text], [{"title": title}], ids=[id_])
                    markdown = id_.lower().endswith(".md")
                    texts[id_] = Text(text, title, markdown=markdown, size=SIZE)
            if data.draw(st.booleans()):
                ask(store, "keyword", query)
        found = scored(ask(store, "keyword", query))

    assert found == [
        (id_, pytest.approx(score)) for id_, score in keyword(texts, query)
    ]


@settings(max_examples=30)
@given(writes(), QUERIES, TITLES)
def test_a_filtered_ranking_is_the_formula_over_what_may_be_shown(
    happened, query, title
) -> None:
    """Neighbours and replaced words are those of the documents behind the filter."""
    store, texts = filled(happened)
    passing = {id_ for id_, text in texts.items() if text.title == title}
    with store:
        found = scored(ask(store, "keyword", query, where={"title": title}))

    assert found == [
        (id_, pytest.approx(score)) for id_, score in keyword(texts, query, passing)
    ]


@pytest.mark.parametrize("searching", [True, False])
def test_many_small_writes_and_merged_blocks_rank_alike(tmp_path, searching) -> None:
    """Blocks of two levels, documents replaced and removed all along."""
    dice = random.Random(7)
    texts: dict[str, Text] = {}
    with SQLiteStore(tmp_path / "s.db", passage_size=SIZE) as store:
        for number in range(FAN_IN * FAN_IN * 3 // 2):
            id_ = f"d{dice.randrange(60)}"
            text = "".join(dice.choices(SENTENCES, k=dice.randrange(6)))
            title = dice.choice(["", "Cats", "Night dogs"])
            store.add_texts([text], [{"title": title}], ids=[id_])
            texts[id_] = Text(text, title, markdown=False, size=SIZE)
            if number % 5 == 0:
                gone = f"d{dice.randrange(60)}"
                store.delete([gone])
                texts.pop(gone, None)
            if searching and number % 7 == 0:
                ask(store, "keyword", "cats")
        with store._connections.reading() as connection:
            blocks = connection.execute("select max(level), count(*) from blocks")
            level, number_of_blocks = blocks.fetchone()
        queries = ["cats", "dogs at night", "東京の猫", "to be", "email bob", "catz"]
        found = {query: scored(ask(store, "keyword", query)) for query in queries}

    assert (level, number_of_blocks < 2 * FAN_IN) == (2, True)
    for query, hits in found.items():
        assert hits == [
            (id_, pytest.approx(score)) for id_, score in keyword(texts, query)
        ]


@settings(max_examples=30)
@given(writes(), QUERIES, st.integers(0, 9), st.sampled_from(["keyword", "vector"]))
def test_a_shallow_answer_is_the_beginning_of_a_deep_one(
    happened, query, depth, channel
) -> None:
    """Depth n is the first n of any greater depth, ties and all."""
    store, _ = filled(happened, EMBEDDING)
    with store:
        deep = ask(store, channel, query, bodies=True)
        shallow = ask(store, channel, query, depth, bodies=True)

    assert shallow == deep[:depth]


@settings(max_examples=30)
@given(writes(), QUERIES)
def test_a_vector_score_is_the_cosine_of_the_best_passage(happened, query) -> None:
    """To the precision of single floats, best first, every document with text."""
    store, texts = filled(happened, EMBEDDING)
    with store:
        found = scored(ask(store, "vector", query))

    expected = vector(texts, query, EMBEDDING) if query else {}
    assert dict(found) == pytest.approx(expected, abs=2e-6)
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


@settings(max_examples=30)
@given(writes(), QUERIES, st.integers(1, 4))
def test_complete_brings_exact_scores_of_what_the_other_channel_found(
    happened, query, depth
) -> None:
    """First the own hits, then the documents that only the other brought."""
    store, texts = filled(happened, EMBEDDING)
    requests = [
        SearchRequest(channel, query, depth, complete=True)
        for channel in ("keyword", "vector")
    ]
    with store:
        by_keyword, by_vector = (each.value for each in store.search_round(requests))
        own = {
            name: {hit.id for hit in ask(store, name, query, depth)}
            for name in ("keyword", "vector")
        }

    words, meanings = (
        dict(keyword(texts, query)),
        vector(texts, query, EMBEDDING) if query else {},
    )
    union = own["keyword"] | own["vector"]
    assert {hit.id for hit in by_keyword} == union
    assert {hit.id for hit in by_vector} == (union if query else set())
    for hit in by_keyword:
        assert hit.score == pytest.approx(words.get(hit.id, 0.0))
    for hit in by_vector:
        assert hit.score == pytest.approx(meanings[hit.id], abs=2e-6)
    assert {hit.id for hit in by_keyword[: len(own["keyword"])]} == own["keyword"]


@pytest.mark.parametrize("channel", ["keyword", "vector"])
def test_equal_scores_are_ordered_by_id(channel) -> None:
    """Also among so many that a library would add in different orders."""
    ids = [f"d{number:04}" for number in range(1_003)]
    random.Random(3).shuffle(ids)
    with SQLiteStore(embedding=DeterministicFakeEmbedding(size=37)) as store:
        store.add_texts(["the same cat"] * len(ids), ids=ids, batch_size=1_003)
        found = [hit.id for hit in ask(store, channel, "cat", 2_000)]

    assert found == sorted(ids)


def test_a_filter_does_not_change_a_vector_score() -> None:
    """Whether few or many rows are compared, each score is the same to the bit."""
    with SQLiteStore(embedding=DeterministicFakeEmbedding(size=37)) as store:
        store.add_texts(
            [f"text {number}" for number in range(300)],
            [{"n": number} for number in range(300)],
            ids=[str(number) for number in range(300)],
        )
        everything = dict(scored(ask(store, "vector", "text", 300)))
        few = dict(scored(ask(store, "vector", "text", 300, where={"n": {"$lt": 40}})))

    assert few == {id_: everything[id_] for id_ in map(str, range(40))}


def test_a_filter_does_not_change_a_keyword_score() -> None:
    """Rarity and mean lengths are those of all documents."""
    with SQLiteStore() as store:
        store.add_texts(
            ["cats sleep", "cats and dogs", "dogs"],
            [{"n": number} for number in range(3)],
            ids=["a", "b", "c"],
        )
        everything = dict(scored(ask(store, "keyword", "cats")))
        some = dict(scored(ask(store, "keyword", "cats", where={"n": 1})))

    assert some == {"b": everything["b"]}


@settings(max_examples=30)
@given(writes(), QUERIES, st.sampled_from(["keyword", "vector"]))
def test_passages_of_a_hit_are_stretches_of_its_text(happened, query, channel) -> None:
    """At most three, best first, each `text[start:end]`, also without bodies."""
    store, texts = filled(happened, EMBEDDING)
    with store:
        hits = ask(store, channel, query, bodies=True)
        bare = ask(store, channel, query)

    for hit, other in zip(hits, bare, strict=True):
        assert 1 <= len(hit.passages) <= 3
        for start, end, text in hit.passages:
            assert text == hit.text[start:end]
            assert (start, end) in texts[hit.id].spans
        assert [span[:2] for span in other.passages] == [
            span[:2] for span in hit.passages
        ]
        assert (other.text, other.score, other.length) == (
            None,
            hit.score,
            len(hit.text),
        )


def test_the_formula_by_hand() -> None:
    """Two documents of one passage each: idf, length and the half of the passage."""
    with SQLiteStore() as store:
        store.add_texts(["cat", "dog dog dog"], ids=["a", "b"])
        found = scored(ask(store, "keyword", "cat dog"))

    # idf = ln(1 + 1.5 / 1.5); the mean length is 2, those of the two are 1 and 3.
    idf = 0.6931471805599453
    a = idf * 1 * 2.5 / (1 + 1.5 * (0.25 + 0.75 * 1 / 2))
    b = idf * 3 * 2.5 / (3 + 1.5 * (0.25 + 0.75 * 3 / 2))
    assert found == [("b", pytest.approx(1.5 * b)), ("a", pytest.approx(1.5 * a))]


@pytest.mark.parametrize("length", [1_999, 2_000, 2_001])
def test_a_section_has_at_most_2000_characters(length) -> None:
    """With one more the same text is two sections, and scores otherwise."""
    text = ("cat dog " * 500)[: length - 1] + "x"
    with SQLiteStore(passage_size=SIZE) as store:
        store.add_texts([text], ids=["a"])
        found = scored(ask(store, "keyword", "cat"))

    plain = Text(text, "", markdown=False, size=SIZE)
    assert len(plain.sections) == (1 if length <= 2_000 else 2)
    assert found == [("a", pytest.approx(keyword({"a": plain}, "cat")[0][1]))]


def test_title_words_count_three_times_in_the_section() -> None:
    """And once in the passage; by hand for one document beside an empty one."""
    with SQLiteStore() as store:
        store.add_texts(["dog"], [{"title": "cat"}], ids=["a"])
        ((id_, score),) = scored(ask(store, "keyword", "cat"))

    idf = 0.28768207245178085  # ln(1 + 0.5 / 1.5)
    section = idf * 3 * 2.5 / (3 + 1.5)
    passage = idf * 1 * 2.5 / (1 + 1.5)
    assert (id_, score) == ("a", pytest.approx(section + 0.5 * passage))
