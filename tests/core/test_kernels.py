"""The flow of hits to the sentences around them, and the score it makes."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.kernels import (
    EVEN,
    KernelScorer,
    Width,
    decays_between,
    spread,
)

counted = st.lists(st.integers(0, 3), min_size=1, max_size=12).flatmap(
    lambda counts: st.tuples(
        st.just(counts),
        st.lists(st.floats(0.1, 1), min_size=len(counts) - 1, max_size=len(counts) - 1),
    )
)


def by_definition(counts: list[int], decays: list[float]) -> list[float]:
    """Return the flow as the double sum that it stands for."""
    return [
        counts[i]
        + sum(
            1.5 * counts[j] * math.prod(decays[j:i])
            if j < i
            else 0.5 * counts[j] * math.prod(decays[i:j])
            for j in range(len(counts))
            if j != i
        )
        for i in range(len(counts))
    ]


def test_the_flow_by_hand() -> None:
    """Halving at each step, two hits in the second of four sentences.

    Before it 0.5 * 2 * 0.5; after it 1.5 * 2 * 0.5 and 1.5 * 2 * 0.25.
    """
    assert spread([(1, 2.0)], [0.5, 0.5, 0.5]) == [0.5, 2.0, 1.5, 0.75]


def test_an_even_flow_by_hand() -> None:
    """As much before the hit as after it."""
    assert spread([(1, 2.0)], [0.5, 0.5], EVEN) == [1.0, 2.0, 1.0]


@given(counted)
def test_two_passes_equal_the_double_sum(counted) -> None:
    """The running sums leave out nothing that matters."""
    counts, decays = counted
    held = [(i, float(count)) for i, count in enumerate(counts) if count]

    assert spread(held, decays) == pytest.approx(
        by_definition(counts, decays), abs=0.01
    )


def test_a_flow_ends_where_nothing_is_left() -> None:
    """What is below 1e-4 of a hit is nothing."""
    assert spread([(0, 1.0)], [1e-6, 1.0]) == [1.0, 0.0, 0.0]


def test_a_third_is_left_after_the_reach() -> None:
    """From a middle to one a reach away, 1/e."""
    assert decays_between([50, 350], 300) == [pytest.approx(math.exp(-1))]


def test_the_score_by_hand() -> None:
    """Two sentences of 100 characters, one hit in the first, reach 100 / ln 2.

    Own: 2.5 * 1 / (1 + 1.5) = 1. Flow: F = 1 and 1.5 * 0.5 = 0.75, lengths flow to
    125 and 175, mean 150, so the norms are 1.5 * (0.25 + 0.75 * 125 / 150) = 1.3125
    and 1.6875. Middles at 50 and 150 of 200 take off 0.25 / 4 and 0.75 / 4.
    """
    scales = (Width(1, 0), Width(3, 100 / math.log(2)))
    scorer = KernelScorer([(0, 100), (100, 200)], 200, scales)

    assert scorer.score([(2.0, [10])]) == [
        pytest.approx(2 * (1 + 3 * 2.5 * 1 / (1 + 1.3125)) * (1 - 0.0625)),
        pytest.approx(2 * (0 + 3 * 2.5 * 0.75 / (0.75 + 1.6875)) * (1 - 0.1875)),
    ]


def test_a_hit_outside_of_all_sentences_counts_nothing() -> None:
    """Places before, between and after the sentences are passed over."""
    scorer = KernelScorer([(10, 20), (30, 40)], 50, (Width(1, 0),))

    assert scorer.score([(1.0, [5, 25, 45])]) == [0.0, 0.0]


def test_a_hit_never_scores_below_the_short_sentence_after_it() -> None:
    """More flows onwards than the long sentence itself has, which is made up for."""
    scorer = KernelScorer([(0, 200), (200, 204), (204, 208)], 9_999, (Width(3, 300),))
    hit, after, _ = scorer.score([(1.0, [190])])

    assert hit == pytest.approx(after, rel=0.01)


def test_no_sentences_have_no_scores() -> None:
    """A text without sentences has nothing to score."""
    assert KernelScorer([], 0, (Width(1, 0), Width(3, 300))).score([(1.0, [0])]) == []


@given(st.lists(st.integers(0, 99), max_size=20).map(sorted), st.floats(0.1, 5))
def test_scores_grow_with_the_weight(places: list[int], weight: float) -> None:
    """A term of twice the weight gives twice the score."""
    scorer = KernelScorer([(0, 40), (40, 100)], 100, (Width(1, 0), Width(3, 30)))
    once, twice = scorer.score([(weight, places)]), scorer.score([(2 * weight, places)])

    assert twice == pytest.approx([2 * score for score in once])
