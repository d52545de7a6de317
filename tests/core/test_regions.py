"""The first look at a long text."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.regions import best_regions

TEXT = "A short sentence. " * 20_000  # 360,000 characters
LENGTH = len(TEXT)

places = st.lists(st.integers(0, LENGTH - 1), max_size=30).map(sorted)


def regions(*hits: int, room: int = 4_000) -> list[tuple[int, int]]:
    return best_regions(TEXT, [(1.0, hits)], width=300, room=room)


def test_a_text_a_little_longer_than_what_would_be_kept_is_kept_whole() -> None:
    """Up to one and a half times 40,000 characters there is nothing to leave out."""
    assert best_regions("x" * 60_000, [], width=300, room=100) == [(0, 60_000)]
    assert best_regions("x" * 60_001, [], width=300, room=100) != [(0, 60_001)]


def test_a_large_room_keeps_more() -> None:
    """At least four times the room."""
    assert regions(room=60_000) == [(0, LENGTH)]


@given(places)
def test_regions_ascend_within_the_text(hits: list[int]) -> None:
    """They do not overlap, and none is empty."""
    found = regions(*hits)

    assert all(0 <= start < end <= LENGTH for start, end in found)
    assert all(before[1] <= after[0] for before, after in pairwise(found))


@given(places)
def test_regions_begin_and_end_with_sentences(hits: list[int]) -> None:
    """No sentence is cut by an edge."""
    edges = {edge for region in regions(*hits) for edge in region}

    assert all(edge % len("A short sentence. ") == 0 for edge in edges)


@given(places)
def test_what_is_kept_is_bounded(hits: list[int]) -> None:
    """About 40,000 characters, however many hits there are."""
    assert sum(end - start for start, end in regions(*hits)) < 45_000


@pytest.mark.parametrize("hit", [0, LENGTH // 2, LENGTH - 20])
def test_a_single_hit_brings_twice_the_room(hit: int) -> None:
    """Its neighbours on both sides, as far as there are any."""
    found = regions(hit)

    assert any(start <= hit < end for start, end in found)
    assert sum(end - start for start, end in found) > 4_000


def test_without_hits_the_beginning_is_kept() -> None:
    """Nothing is known to be better than the lead."""
    ((start, end),) = regions()

    assert start == 0
    assert end > 8_000
