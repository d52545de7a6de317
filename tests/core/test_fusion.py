"""Fusing rankings."""

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.fusion import (
    fuse_in_two_stages,
    reciprocal_rank_fusion,
    standardised_fusion,
)
from langchain_ctxfetch._core.hits import Ranking
from langchain_ctxfetch.errors import ConfigurationError


def order(*rankings: str) -> str:
    return "".join(key for key, _ in reciprocal_rank_fusion(rankings))


CASES = [
    ("A1", ["", ""], ""),
    ("A2_first_empty", ["", "A"], "A"),
    ("A2_second_empty", ["A", ""], "A"),
    ("A3", ["A", "B"], "AB"),
    ("A4", ["A", "BA"], "AB"),
    ("A5", ["AB", "B"], "BA"),
    ("A6_tie_keeps_first_seen", ["AB", "BA"], "AB"),
    ("A7", ["AB", "AC"], "ABC"),
    ("A8", ["AB", "BC"], "BAC"),
    ("A9", ["AB", "CD"], "ACBD"),
    ("A14_one_list_of_one_item", ["ccc"], "c"),
    ("A17_a_repeated_item_counts_once", ["BB", "A"], "BA"),
]


@pytest.mark.parametrize(
    ("rankings", "expected"), [c[1:] for c in CASES], ids=[c[0] for c in CASES]
)
def test_A1_to_A17_fusion_of_rankings(rankings, expected) -> None:
    """Order by the sum of reciprocal ranks, ties as first seen."""
    assert order(*rankings) == expected


def test_A8_scores_by_hand() -> None:
    """B stands second and first, A first, C second."""
    scores = dict(reciprocal_rank_fusion(["AB", "BC"]))

    assert scores == pytest.approx(
        {"B": 0.0325225, "A": 0.0163934, "C": 0.0161290}, 1e-5
    )


def test_A10_two_stages_by_query() -> None:
    """Each query's lists are fused first, then the queries."""
    first = [["cat", "dog", "hamster"], ["cat", "parrot"]]
    second = [["dog", "horse"], ["cat"]]
    fused = [key for key, _ in fuse_in_two_stages([first, second])]

    assert fused == ["cat", "dog", "parrot", "horse", "hamster"]


def test_A11_two_stages_of_distinct_lists() -> None:
    """Lists and queries take turns."""
    fused = fuse_in_two_stages([["12", "34"], ["56", "78"]])

    assert "".join(key for key, _ in fused) == "15372648"


def test_A12_two_stages_with_a_shared_item() -> None:
    """An item of both queries comes first."""
    fused = fuse_in_two_stages([["X2", "34"], ["56", "X8"]])

    assert "".join(key for key, _ in fused) == "X532648"


def test_A13_empty_lists_between() -> None:
    """Empty lists neither count nor fail."""
    assert order("", "1", "", "2", "") == "12"


@pytest.mark.parametrize("queries", [[], [[]], [[[], []]]])
def test_A15_nothing_to_fuse(queries) -> None:
    """No query, no list and empty lists all give nothing."""
    assert fuse_in_two_stages(queries) == []


def test_A16_none_is_refused() -> None:
    """None is no collection of rankings."""
    with pytest.raises(TypeError):
        reciprocal_rank_fusion(None)


def test_FR_A1_many_chunks_of_one_source_do_not_outvote_agreement() -> None:
    """d1 three times in one list counts once; d2 in both lists comes first."""
    fused = reciprocal_rank_fusion([["d1", "d1", "d1", "d2"], ["d2"]])

    assert fused[0] == ("d2", pytest.approx(1 / 61 + 1 / 62))
    assert fused[1] == ("d1", 1 / 61)


def test_FR_A6_ranks_start_at_one_and_absence_is_nothing() -> None:
    """Y third in both lists has 2/63, X first in one exactly 1/61."""
    fused = reciprocal_rank_fusion(["XaY", "bcY"])

    assert fused[0] == ("Y", pytest.approx(2 / 63))
    assert dict(fused)["X"] == 1 / 61


@given(
    st.lists(st.lists(st.sampled_from("abcdefg"), unique=True), max_size=4),
    st.randoms(),
)
def test_scores_ignore_the_order_of_rankings(rankings, random) -> None:
    """Shuffling the rankings changes no score, not even in the last bit."""
    shuffled = random.sample(rankings, k=len(rankings))

    assert dict(reciprocal_rank_fusion(shuffled)) == dict(
        reciprocal_rank_fusion(rankings)
    )


@pytest.mark.parametrize("constant", [0, -1])
def test_a_rank_constant_below_one_is_refused(constant) -> None:
    """The message names the argument."""
    with pytest.raises(ConfigurationError, match="rank_constant"):
        reciprocal_rank_fusion(["a"], rank_constant=constant)


def test_weights_scale_votes() -> None:
    """A list of weight 2 counts twice."""
    fused = reciprocal_rank_fusion(["a", "b"], weights=[1, 2])

    assert fused == [("b", 2 / 61), ("a", 1 / 61)]


def test_the_number_of_weights_must_fit() -> None:
    """One weight for each ranking, in both fusions."""
    with pytest.raises(ConfigurationError, match="weights"):
        reciprocal_rank_fusion(["a", "b"], weights=[1])
    with pytest.raises(ConfigurationError, match="weights"):
        standardised_fusion([Ranking("x", "a")], [1, 1])


def test_standardised_scores_by_hand() -> None:
    """(9, 3) has mean 6 and deviation 3: +1 and -1; the vector says -1 and +1."""
    words = Ranking("keyword", "ab", (9.0, 3.0))
    sense = Ranking("vector", "ba", (0.8, 0.4))
    fused = standardised_fusion([words, sense], [0.75, 0.25])

    assert dict(fused) == pytest.approx({"a": 0.5, "b": -0.5})


def test_an_absent_document_is_scored_where_the_channel_can() -> None:
    """`extra` holds the score of c in the first channel: (0 - 6) / 3 = -2."""
    words = Ranking("keyword", "ab", (9.0, 3.0), {"c": 0.0})
    sense = Ranking("vector", "cb", (0.8, 0.4), {"a": 0.4})
    fused = dict(standardised_fusion([words, sense], [0.75, 0.25]))

    assert fused["c"] == pytest.approx(0.75 * -2 + 0.25 * 1)


def test_an_absent_document_else_has_the_lowest_score() -> None:
    """Without `extra` c counts as the last of the first channel."""
    words = Ranking("keyword", "ab", (9.0, 3.0))
    sense = Ranking("vector", "cb", (0.8, 0.4))
    fused = dict(standardised_fusion([words, sense], [0.75, 0.25]))

    assert fused["c"] == pytest.approx(0.75 * -1 + 0.25 * 1)


def test_what_another_channel_adds_is_cut_at_three_deviations() -> None:
    """One similarity far above 99 others cannot outvote the anchor."""
    keys = [str(number) for number in range(100)]
    words = Ranking("keyword", keys, [100.0 - n for n in range(100)])
    sense = Ranking("vector", keys[::-1], [1.0] + [0.1] * 99)
    fused = dict(standardised_fusion([words, sense], [0.75, 0.25]))
    alone = dict(standardised_fusion([words], [0.75]))

    assert fused["99"] == pytest.approx(alone["99"] + 0.25 * 3)


def test_without_scores_places_count() -> None:
    """A ranking of three without scores counts 1, 2/3 and 1/3."""
    plain = standardised_fusion([Ranking("x", "abc")], [1])
    scored = standardised_fusion([Ranking("x", "abc", (1, 2 / 3, 1 / 3))], [1])

    assert plain == scored


def test_an_empty_channel_says_nothing() -> None:
    """The other channel's order stands alone."""
    sense = Ranking("vector", "ba", (0.8, 0.4))
    fused = standardised_fusion([Ranking("keyword", ""), sense], [0.75, 0.25])

    assert "".join(key for key, _ in fused) == "ba"


def test_a_list_of_one_does_not_turn_noise_into_votes() -> None:
    """It has no deviation, so its spread is 5 % of its score: 9.9 is 0.2 behind 10."""
    words = Ranking("keyword", "a", (10.0,), {"b": 9.9})
    sense = Ranking("vector", "ba", (0.8, 0.4))
    fused = dict(standardised_fusion([words, sense], [0.75, 0.25]))

    assert fused == pytest.approx({"a": -0.25, "b": 0.75 * -0.2 + 0.25})


def test_the_channel_of_the_greatest_weight_is_never_cut() -> None:
    """Where the second channel weighs more, the first is cut at 3 deviations."""
    keys = [str(number) for number in range(100)]
    light = Ranking("light", keys, [1.0] + [0.1] * 99)
    heavy = Ranking("heavy", keys, [1.0] + [0.1] * 99)
    fused = dict(standardised_fusion([light, heavy], [0.25, 0.75]))

    assert fused["0"] == pytest.approx(0.25 * 3 + 0.75 * 99**0.5)


finite = st.floats(-1e6, 1e6)


@given(
    st.dictionaries(st.sampled_from("abcdefgh"), finite, min_size=1),
    st.dictionaries(st.sampled_from("abcdefgh"), finite),
    st.floats(0.5, 3),
    st.floats(-100, 100),
)
def test_a_channels_scale_does_not_matter(first, second, factor, shift) -> None:
    """Multiplying and shifting the scores of the other channel changes no order."""

    def fused(scores):
        ordered = sorted(second, key=second.get, reverse=True)
        anchor = sorted(first, key=first.get, reverse=True)
        return dict(
            standardised_fusion(
                [
                    Ranking("keyword", anchor, [first[key] for key in anchor]),
                    Ranking("vector", ordered, [scores(second[k]) for k in ordered]),
                ],
                [0.75, 0.25],
            )
        )

    moved = fused(lambda score: score * factor + shift)
    spread = max(second.values(), default=0) - min(second.values(), default=0)
    if spread > 1e-3:
        assert moved == pytest.approx(fused(lambda score: score), abs=1e-4)


def test_what_an_exhausted_list_does_not_hold_has_its_absent_score() -> None:
    """Words found a alone: b and c count 0 there, not the score of a."""
    words = Ranking("keyword", ["a"], [4.0], absent=0.0)
    other = Ranking("other", ["b", "c", "a"])
    found = standardised_fusion([words, other], [0.5, 0.5])

    # (0 - 4) / (5 % of 4) = -20 for b and c; a is the lowest of the other list.
    assert [key for key, _ in found] == ["a", "b", "c"]
    assert found[1][1] == pytest.approx(
        0.5 * -20 + 0.5 * (1 - 2 / 3) / 0.2722, abs=1e-3
    )


def test_the_greatest_scores_there_are_can_be_fused() -> None:
    """Neither their sum nor their differences leave the range of numbers."""
    great = Ranking("a", ["x", "y"], [1.7e308, 1.6e308])

    assert [key for key, _ in standardised_fusion([great], [1.0])] == ["x", "y"]
