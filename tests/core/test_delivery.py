"""Passages of a page."""

from langchain_ctxfetch._core.delivery import with_text
from langchain_ctxfetch._core.flow import Failed, Ok, drive
from langchain_ctxfetch._core.hits import Hit, Passage
from langchain_ctxfetch._core.plan import Placed, Plan, Source

TEXT = "0123456789abcdefghij"


def delivered(*passages, text=TEXT, store=0):
    plan = Plan((Source("keyword", store=0),), 1, 10, content="passages")
    hit = Hit("d", None, passages=tuple(Passage(*passage) for passage in passages))
    places, gaps = drive(
        with_text(plan, [Placed(hit, 1.0, {}, store)]),
        lambda asked: [Ok([Hit("d", text, {"page": 1})]) for _ in asked],
    )
    return places, gaps


def test_passages_come_in_reading_order_with_a_mark_between() -> None:
    """However good each of them is."""
    ((place,), _) = delivered((10, 12), (2, 5))

    assert place.hit.text == "234\n…\nab"
    assert place.content == "passages"


def test_touching_passages_are_one() -> None:
    """No mark stands where nothing is left out."""
    ((place,), _) = delivered((2, 5), (5, 8))

    assert place.hit.text == "234567"
    assert [passage[:2] for passage in place.hit.passages] == [(2, 8)]


def test_overlapping_passages_are_quoted_once() -> None:
    """Also one that lies inside another."""
    ((place,), _) = delivered((2, 8), (3, 5), (6, 10))

    assert place.hit.text == "23456789"


def test_passages_that_come_with_their_text_need_no_fetch() -> None:
    """Nothing is asked."""
    plan = Plan((Source("keyword", store=0),), 1, 10, content="passages")
    hit = Hit("d", None, passages=(Passage(2, 5, "234"),))
    flow = with_text(plan, [Placed(hit, 1.0, {}, 0)])
    ((place,), gaps) = drive(flow, lambda asked: 1 / 0)

    assert (place.hit.text, gaps) == ("234", [])


def test_one_of_two_stores_without_texts_leaves_gaps() -> None:
    """The other store's documents come."""
    sources = (Source("a", store=0), Source("b", store=1))
    plan = Plan(sources, 1, 10)
    placed = [
        Placed(Hit("x", None), 1.0, {}, 0),
        Placed(Hit("y", None), 0.5, {}, 1),
    ]

    def answer(asked):
        return [
            Failed(OSError("down")) if fetch.store else Ok([Hit("x", "text")])
            for fetch in asked
        ]

    places, gaps = drive(with_text(plan, placed), answer)

    assert [place.hit.id for place in places] == ["x"]
    assert [(gap.part, gap.kind) for gap in gaps] == [("y", "missing")]
