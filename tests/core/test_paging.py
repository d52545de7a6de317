"""Pages and turns."""

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.paging import Page, cut, last_page, take_turns, window
from langchain_ctxfetch.errors import PageError


def page_of(first, second, number, k=2, key=str):
    """Cut a page the way a caller with two channels does."""
    depth = window(number, k)
    places = take_turns([first[:depth], second[:depth]], key=key, places=depth)
    return cut(places, number, k)


def told(page: Page[str]) -> tuple[str, bool]:
    return "".join(page.documents), page.has_more


SIZES = [-1, 0, 1, 2, 3, 7, 10, 33, 49, 50, 99, 100, 500]
LAST = [1, 1, 99, 49, 33, 14, 9, 3, 2, 1, 1, 1, 1]
WINDOW = [1, 1, 100, 99, 100, 99, 91, 100, 99, 51, 100, 101, 501]


@pytest.mark.parametrize(
    ("k", "last", "width"), list(zip(SIZES, LAST, WINDOW, strict=True))
)
def test_the_last_page_and_its_window(k, last, width) -> None:
    """The window of the last page stays within 100 places and one."""
    assert (last_page(k), window(last_page(k), k)) == (last, width)


@pytest.mark.parametrize(
    ("number", "expected"), [(1, ("ab", True)), (2, ("dc", True)), (3, ("e", False))]
)
def test_P1_two_channels_take_turns(number, expected) -> None:
    """What both bring stands once; the turn of a repeated item is lost."""
    assert told(page_of("abc", "bde", number)) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1, ("ac", True)),
        (2, ("bh", True)),
        (3, ("di", True)),
        (4, ("ef", True)),
        (5, ("jg", True)),
        (6, ("k", False)),
        (7, ("", False)),
    ],
)
def test_P2_seven_pages_of_long_channels(number, expected) -> None:
    """Every page continues the one before it, to an empty one."""
    assert told(page_of("abcdefg", "chaiejk", number)) == expected


def test_P3_one_channel_alone_has_more() -> None:
    """A third item after a page of two promises a second page."""
    assert told(page_of("abc", "", 1)) == ("ab", True)


def test_P4_a_page_of_exactly_k_promises_nothing() -> None:
    """Two items fill a page of two and no more follow."""
    assert told(page_of("ab", "", 1)) == ("ab", False)


def test_P5_two_channels_of_two() -> None:
    """Four items make two pages of two, by turns."""
    assert told(page_of("ab", "cd", 1)) == ("ac", True)


def test_P6_one_item_each() -> None:
    """Two channels of one item fill one page."""
    assert told(page_of("a", "b", 1)) == ("ab", False)


def test_P7_an_empty_first_channel_leaves_its_turns() -> None:
    """The second channel takes all turns."""
    assert told(page_of("", "xyz", 1)) == ("xy", True)


@pytest.mark.parametrize(
    ("k", "expected"), [(2, (["", ""], True)), (4, (["", "", "a", "b"], False))]
)
def test_P8_blank_keys_are_never_equal(k, expected) -> None:
    """Items without a key all stand."""
    page = page_of(["", "a"], ["", "b"], 1, k)

    assert (list(page.documents), page.has_more) == expected


def test_P9_a_key_may_ignore_letter_case() -> None:
    """With such a key CHUNK-1 and chunk-1 are one."""
    page = page_of(["CHUNK-1"], ["chunk-1", "chunk-2"], 1, key=str.lower)

    assert (page.documents, page.has_more) == (("CHUNK-1", "chunk-2"), False)


@pytest.mark.parametrize(
    ("number", "expected"), [(1, ("ab", True)), (2, ("cd", False))]
)
def test_P10_equal_channels(number, expected) -> None:
    """Two equal channels give their one ranking."""
    assert told(page_of("abcd", "abcd", number)) == expected


@pytest.mark.parametrize(
    ("number", "expected"), [(1, ("ad", True)), (2, ("bc", False))]
)
def test_P11_opposite_channels(number, expected) -> None:
    """A channel and its reverse meet in the middle."""
    assert told(page_of("abcd", "dcba", number)) == expected


@pytest.mark.parametrize(
    ("number", "items", "end"), [(48, (94, 95), "more"), (49, (96, 97), "limit")]
)
def test_P12_the_last_page_says_that_it_is_a_limit(number, items, end) -> None:
    """Two more items exist behind page 49 and cannot be reached."""
    page = page_of(list(range(100)), [], number)

    assert (page.documents, page.end, page.has_more) == (items, end, end == "more")


@pytest.mark.parametrize(
    ("number", "expected"),
    [(1, ("ab", True)), (2, ("cd", True)), (3, ("e", False)), (4, ("", False))],
)
def test_P13_cutting_one_ranking(number, expected) -> None:
    """Pages of one list, to an empty one."""
    assert told(cut("abcde", number, 2)) == expected


@pytest.mark.parametrize("number", [0, -1, 50])
def test_P14_a_page_out_of_range_is_refused(number) -> None:
    """The error names the page and the last one."""
    with pytest.raises(PageError) as caught:
        cut("abc", number, 2)

    assert (caught.value.page, caught.value.last_page) == (number, 49)


def test_P15_a_page_greater_than_the_window() -> None:
    """A page of 500 is the only one, and looks one place further."""
    assert (last_page(500), window(1, 500)) == (1, 501)


def test_P16_a_page_of_nothing() -> None:
    """With k 0 page 1 is empty and page 2 is refused."""
    assert told(cut("abc", 1, 0)) == ("", False)
    with pytest.raises(PageError):
        cut("abc", 2, 0)


@pytest.mark.parametrize(("number", "expected"), [(1, ("ac", True)), (2, ("b", False))])
def test_P17_duplicates_inside_a_channel(number, expected) -> None:
    """A channel's own repetitions stand once."""
    assert told(page_of("aab", "cc", number)) == expected


@given(
    st.lists(st.lists(st.integers(0, 40), max_size=40), max_size=4), st.integers(1, 7)
)
def test_P18_pages_laid_end_to_end_are_the_ranking(channels, k) -> None:
    """No page repeats, skips or reorders an item of the whole ranking."""
    ranking = take_turns(channels, key=str)
    collected: list[int] = []
    for number in range(1, last_page(k) + 1):
        page = cut(ranking, number, k)
        collected += page.documents
        if not page.has_more:
            break

    assert collected == ranking[: last_page(k) * k]


@given(st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=4))
def test_turns_hold_every_item_once(channels) -> None:
    """The ranking by turns is a permutation of all that the channels brought."""
    turns = take_turns(channels, key=str)

    assert sorted(turns) == sorted({item for channel in channels for item in channel})


@given(
    st.lists(st.lists(st.integers(0, 9), max_size=9), max_size=4), st.integers(0, 12)
)
def test_fewer_places_are_the_beginning_of_more(channels, places) -> None:
    """Stopping early changes no place before the stop."""
    whole = take_turns(channels, key=str)

    assert take_turns(channels, key=str, places=places) == whole[:places]


def test_a_capped_ranking_ends_at_a_limit() -> None:
    """Where the ranking goes on out of reach, the page does not say exhausted."""
    assert cut("ab", 1, 2, capped=True).end == "limit"


def test_a_page_with_a_gap_is_not_complete() -> None:
    """`complete` is true exactly where there are no gaps."""
    page = cut("ab", 1, 2)

    assert page.complete
    assert not Page(page.documents, 1, 2, 49, "exhausted", ("gap",)).complete
