"""What neighbouring terms add to a score, and what stands for unknown words."""

from __future__ import annotations

import pytest

from langchain_ctxfetch import SQLiteStore
from tests.stores.plain_ranking import Text, keyword
from tests.stores.test_ranking import SIZE, ask, scored


def test_neighbours_by_hand() -> None:
    """The smaller idf of the two; 2.5 n / (n + 1.5) for n times, three tenths of it."""
    with SQLiteStore() as store:
        store.add_texts(["red wine", "wine red", "red"], ids=["a", "b", "c"])
        found = dict(scored(ask(store, "keyword", "red wine")))

    idf = 0.13353139262452263  # of "red", in all three: ln(1 + 0.5 / 3.5)
    assert found["a"] == pytest.approx(found["b"] + 0.3 * idf * 2.5 * 1 / (1 + 1.5))


def test_stop_words_do_not_part_neighbours() -> None:
    """Neither in the question nor in the text."""
    with SQLiteStore() as store:
        store.add_texts(
            ["price of the valve", "price red valve"], ids=["near", "apart"]
        )
        near, apart = ask(store, "keyword", "the price of valve")

    assert (near.id, apart.id) == ("near", "apart")
    assert near.score > apart.score


def test_neighbours_count_in_the_best_hundred_documents_at_any_depth() -> None:
    """The hundred and first has no bonus; equal documents are taken by id."""
    ids = [f"d{number:03}" for number in range(130)]
    with SQLiteStore() as store:
        store.add_texts(["red wine"] * len(ids), ids=ids[::-1])
        deep = scored(ask(store, "keyword", "red wine", 130))
        shallow = scored(ask(store, "keyword", "red wine", 3))

    texts = {id_: Text("red wine", "", markdown=False, size=SIZE) for id_ in ids}
    assert deep == [
        (id_, pytest.approx(score)) for id_, score in keyword(texts, "red wine")
    ]
    assert deep[99][1] > deep[100][1] == deep[129][1]
    assert shallow == deep[:3]


def test_neighbours_of_documents_that_may_not_be_shown_do_not_count() -> None:
    """The best hundred are those behind the filter."""
    with SQLiteStore() as store:
        store.add_texts(
            ["red wine red wine"] * 120 + ["red wine, or beer or water or tea"],
            [{"n": 1}] * 120 + [{"n": 2}],
        )
        (hit,) = ask(store, "keyword", "red wine", where={"n": 2})
        (apart,) = ask(store, "keyword", "wine red", where={"n": 2})

    assert hit.score > apart.score


def test_the_passage_that_holds_the_neighbours_comes_first() -> None:
    """A row of a table is found by its name, though other rows share the words."""
    rows = [f"valve-{number},pump,price {number * 3}\n" for number in range(60, 99)]
    text = "name,kind,price\n" + "".join(rows) + "price list of 77 pumps: valve\n"
    with SQLiteStore(passage_size=200) as store:
        store.add_texts([text], ids=["list.csv"])
        (hit,) = ask(store, "keyword", "price of valve-77", bodies=True)

    assert "valve-77," in hit.passages[0].text


def test_a_passage_with_neighbours_is_before_one_without() -> None:
    """Of two passages with the same words, as documents of their own too."""
    text = "Red and dry wine. " + "x" * 40 + ". Dry red wine here. "
    with SQLiteStore(passage_size=SIZE) as store:
        store.add_texts([text], ids=["a"])
        (hit,) = ask(store, "keyword", "red wine", bodies=True)
        single = store.similarity_search("red wine", k=2, returns="passages")

    assert "Dry red wine" in hit.passages[0].text
    assert "Dry red wine" in single[0].page_content


def test_an_unknown_word_by_hand() -> None:
    """0.7 of the score of the nearest word; 0.5 at a distance of two."""
    with SQLiteStore() as store:
        store.add_texts(["aeroplane", "boat"], ids=["a", "b"])
        scores = {
            query: scored(ask(store, "keyword", query))
            for query in ("boat", "baot", "aeroplane", "aroplene")
        }

    ((_, boat),), ((_, air),) = scores["boat"], scores["aeroplane"]
    assert scores["baot"] == [("b", pytest.approx(0.7 * boat))]
    assert scores["aroplene"] == [("a", pytest.approx(0.5 * air))]


@pytest.mark.parametrize(
    "query",
    ["bot", "bo", "b0at", "boatxy", "ba", "東京都庁"],
)
def test_other_words_are_not_replaced(query) -> None:
    """Short ones, numbers, pairs of ideographs, and what is too far away."""
    with SQLiteStore() as store:
        store.add_texts(["boat", "東京部長"], ids=["a", "b"])
        found = ask(store, "keyword", query)

    assert "a" not in [hit.id for hit in found]


def test_a_word_that_is_known_is_not_replaced() -> None:
    """Though a commoner word is near."""
    with SQLiteStore() as store:
        store.add_texts(["boats", "goats", "goats"], ids=["a", "b", "c"])

        assert [hit.id for hit in ask(store, "keyword", "boat")] == ["a"]


def test_the_three_commonest_of_the_nearest_words_stand_for_one() -> None:
    """Titles count too; equal ones by the alphabet; farther words not at all."""
    with SQLiteStore() as store:
        store.add_texts(
            ["moat", "x", "goat", "bloat", "moat", "coat"],
            [{"title": title} for title in ("", "goat", "", "", "", "")],
            ids=list("abcdef"),
        )
        found = {hit.id for hit in ask(store, "keyword", "boat")}

    # "goat" and "moat" in two, then "bloat" before "coat".
    assert found == set("abcde")


def test_a_word_is_unknown_again_once_its_document_is_gone(tmp_path) -> None:
    """And a written word is near from then on."""
    with SQLiteStore(tmp_path / "s.db") as store:
        store.add_texts(["boat", "goat"], ids=["a", "b"])
        before = [hit.id for hit in ask(store, "keyword", "boat")]
        store.delete(["a"])
        between = [hit.id for hit in ask(store, "keyword", "boat")]
        store.add_texts(["coat"], ids=["c"])
        after = [hit.id for hit in ask(store, "keyword", "boat")]

    assert (before, between, after) == (["a"], ["b"], ["b", "c"])


@pytest.mark.parametrize("theirs", ["nothing", "boat", "coat coat", "moat"])
def test_words_behind_a_filter_do_not_depend_on_the_documents_before_it(
    theirs,
) -> None:
    """Whether another tenant holds a word, or a nearer one, cannot be told."""
    with SQLiteStore() as store:
        store.add_texts(
            ["goat", "bloat", theirs, theirs],
            [{"tenant": 1}, {"tenant": 1}, {"tenant": 2}, {"tenant": 2}],
            ids=["a", "b", "c", "d"],
        )
        found = ask(store, "keyword", "boat", where={"tenant": 1})

    assert {hit.id for hit in found} == {"a", "b"}


def test_only_the_first_unknown_words_are_replaced() -> None:
    """A page of another language costs no more than a few."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    strange = [f"qz{one}{other}qz" for one in letters[:8] for other in letters[:8]]
    with SQLiteStore() as store:
        store.add_texts(["boat"], ids=["a"])
        late = ask(store, "keyword", " ".join([*strange, "baot"]))
        early = ask(store, "keyword", " ".join(["baot", *strange]))

    assert ([hit.id for hit in late], [hit.id for hit in early]) == ([], ["a"])


def test_three_passages_of_a_document_are_read_for_neighbours() -> None:
    """The third best counts, the fourth does not."""
    texts = {
        name: "Wine and red red. " * before + "Tea, red wine. "
        for name, before in (("third", 2), ("fourth", 3))
    }
    with SQLiteStore(passage_size=26) as store:
        store.add_texts(list(texts.values()), ids=list(texts))
        along, turned = (
            dict(scored(ask(store, "keyword", query)))
            for query in ("red wine", "red, red wine wine red")
        )

    plain = {
        id_: Text(text, "", markdown=False, size=26) for id_, text in texts.items()
    }
    assert along == pytest.approx(dict(keyword(plain, "red wine")))
    assert turned == pytest.approx(dict(keyword(plain, "red, red wine wine red")))


def test_the_end_of_a_passage_is_no_neighbour_of_the_next() -> None:
    """Though the first is as long as any, and the next begins with the other word."""
    with SQLiteStore(passage_size=26) as store:
        store.add_texts(["Tea and ale and dry red. Wine and so on, here. "], ids=["a"])
        (along,) = ask(store, "keyword", "red wine", bodies=True)
        (turned,) = ask(store, "keyword", "wine red", bodies=True)

    assert len(along.passages) == 2
    assert along.score == pytest.approx(turned.score)


def test_both_orders_of_a_pair_are_one_pair() -> None:
    """Asked both ways, its times are added up before they are weighed."""
    texts = {"a": "red wine red", "b": "wine, ale, red"}
    with SQLiteStore() as store:
        store.add_texts(list(texts.values()), ids=list(texts))
        found = dict(scored(ask(store, "keyword", "red wine red")))

    plain = {
        id_: Text(text, "", markdown=False, size=600) for id_, text in texts.items()
    }
    assert found == pytest.approx(dict(keyword(plain, "red wine red")))
