"""The estimate of token numbers: worked examples and laws."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.estimate import CHUNK, estimate

WORDS = st.lists(
    st.sampled_from(
        ["cat", "Haus", "été", "猫", "42", "\n", "==", "straße", "한국", "🎉"]
    ),
    max_size=30,
).map(" ".join)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 1),
        ("cat", 1),
        ("cats", 1),
        ("cats sleep", 3),  # 1 + 1.1
        ("Cat", 2),  # 1 + 0.9 for the capital
        ("123", 2),  # 1.2 for each three digits
        ("1234567", 4),
        ("猫", 2),  # 1.52
        ("ねこ", 3),  # 2 x 1.02
        ("🎉", 3),
        ("é", 3),  # 1 + 1.5
        ("...", 3),  # 3 x 0.7
    ],
)
def test_estimates_by_hand(text: str, tokens: int) -> None:
    """Each class has its weight, and the sum is rounded up."""
    assert estimate(text) == tokens


@given(WORDS, WORDS)
def test_a_text_has_no_fewer_tokens_than_its_beginning(text: str, more: str) -> None:
    """What is added between spaces adds tokens."""
    assert estimate(f"{text} {more}") >= estimate(text)


@given(WORDS, WORDS)
def test_parts_sum_up(text: str, more: str) -> None:
    """A text divided at a space has as many tokens as its parts, but for rounding."""
    assert abs(estimate(f"{text} {more}") - estimate(text) - estimate(more)) <= 4


def test_chunks_make_no_difference_worth_speaking_of() -> None:
    """A text of several chunks has the tokens of its parts."""
    text = "cats sleep all day long " * (CHUNK // 8)

    assert estimate(text) == pytest.approx(
        estimate(text[:2_400]) * len(text) / 2_400, rel=0.01
    )
