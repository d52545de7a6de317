"""Fair shares, and fitting by measuring."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.budget import (
    Size,
    fit,
    size_of,
    water_level,
)
from tests.strategies import noise, squares, steps, words

WANTS = st.lists(st.integers(0, 1_000), max_size=12)
TOTALS = st.integers(0, 5_000)


def fair_shares(wants, total):
    """Give each what it wants, or the level."""
    level = water_level(wants, total)
    return [min(want, level) for want in wants]


def joined(texts: list[str], count, header: str = "## "):
    """Measure texts cut to their rooms, each under a header."""

    def measure(rooms) -> int:
        return count(
            "\n".join(
                header + text[:room]
                for text, room in zip(texts, rooms, strict=True)
                if room is not None
            )
        )

    return measure


# --- fair shares ---


def test_shares_by_hand() -> None:
    """Of 12, one who wants 2 gets it, and the other two share 10."""
    assert fair_shares([2, 8, 10], 12) == [2, 5.0, 5.0]


def test_there_is_no_level_where_there_is_enough() -> None:
    """Where everybody gets all, no level holds anybody back."""
    assert math.isinf(water_level([1, 2], 3))


@given(WANTS, TOTALS)
def test_shares_never_exceed_wants_nor_the_total(wants, total: int) -> None:
    """Nobody gets more than it wants, and all together not more than there is."""
    shares = fair_shares(wants, total)

    assert all(share <= want for share, want in zip(shares, wants, strict=True))
    assert sum(shares) <= total * (1 + 1e-9)


@given(WANTS, TOTALS)
def test_nothing_is_left_while_somebody_wants_more(wants, total: int) -> None:
    """Either everybody is served or the total is used up."""
    shares = fair_shares(wants, total)

    assert shares == wants or math.isclose(sum(shares), total, abs_tol=1e-6)


@given(WANTS, TOTALS)
def test_who_is_cut_has_no_less_than_anybody(wants, total: int) -> None:
    """A share below its want is the greatest share: that is max-min fair."""
    shares = fair_shares(wants, total)
    cut = [share for share, want in zip(shares, wants, strict=True) if share < want]

    assert all(math.isclose(share, max(shares), abs_tol=1e-9) for share in cut)


@given(st.permutations(range(6)), st.integers(0, 20))
def test_shares_do_not_depend_on_the_order(wants, total: int) -> None:
    """Equal wants get equal shares wherever they stand."""
    level = water_level(wants, total)

    assert level == water_level(sorted(wants), total)


# --- fitting ---


@given(
    st.lists(st.text("ab \n", max_size=60), max_size=8),
    st.integers(0, 400),
    st.sampled_from([len, words, steps, noise, squares]),
)
def test_what_fits_has_been_measured(texts: list[str], limit: int, count) -> None:
    """Whatever the counter does, rooms that are returned measure within the limit."""
    measure = joined(texts, count)
    found = fit([size_of(text, count) for text in texts], measure, limit)

    if found is not None:
        assert measure(found.rooms) == found.tokens <= limit


@given(st.lists(st.text("ab ", max_size=60), max_size=8), st.integers(0, 400))
def test_nothing_is_cut_while_there_is_room(texts: list[str], limit: int) -> None:
    """Where the whole fits, every part has all of its characters."""
    measure = joined(texts, len)
    whole = tuple(map(len, texts))
    found = fit([size_of(text, len) for text in texts], measure, limit)

    if measure(whole) <= limit:
        assert found is not None
        assert found.rooms == whole


@given(st.lists(st.integers(0, 300), min_size=1, max_size=8), st.integers(0, 900))
def test_by_characters_parts_have_their_fair_shares(lengths, limit: int) -> None:
    """With an additive counter the rooms are the fair shares, to a character."""
    texts = ["x" * length for length in lengths]
    found = fit([size_of(text, len) for text in texts], joined(texts, len, ""), limit)
    separators = len(lengths) - 1
    if found is None or limit < separators:
        return
    shares = fair_shares(lengths, limit - separators)

    assert all(
        abs(room - share) <= 2 for room, share in zip(found.rooms, shares, strict=True)
    )


def test_parts_leave_from_the_last_place_up() -> None:
    """Where headers alone are too much, the last parts go, the first stay."""
    texts = ["aaaa"] * 5
    found = fit([size_of(text, len) for text in texts], joined(texts, len), 11)

    assert found is not None
    assert found.rooms[:3] == (0, 0, 0) or None not in found.rooms[:2]
    assert found.rooms[-1] is None


def test_nothing_at_all_is_the_end() -> None:
    """Where not even one header fits, there is no fit."""
    assert fit([Size(4, 4.0)], joined(["aaaa"], len), 2) is None


def test_few_measurements_suffice() -> None:
    """A fit of many long parts measures no more than some twenty times."""
    texts = [f"word{number} " * 500 * number for number in range(1, 30)]
    measure, calls = joined(texts, words), []

    def counted(rooms) -> int:
        calls.append(rooms)
        return measure(rooms)

    found = fit([size_of(text, words) for text in texts], counted, 10_000)

    assert found is not None
    assert found.tokens > 9_800
    assert len(calls) <= 20


@pytest.mark.parametrize("limit", range(1, 40))
def test_one_part_without_a_header_has_exactly_the_limit(limit: int) -> None:
    """Counted in characters, the room of a single part is the whole budget."""
    text = "x" * 1_009
    found = fit([size_of(text, len)], joined([text], len, ""), limit)

    assert found is not None
    assert found.rooms == (limit,)


def test_the_size_of_a_long_text_is_told_by_its_head() -> None:
    """Twenty thousand characters of two-letter words are ten thousand tokens."""
    assert size_of("a " * 10_000, lambda text: len(text) // 2) == Size(20_000, 10_000)
