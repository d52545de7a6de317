"""One idea of a whole number."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch import ConfigurationError
from langchain_ctxfetch._core.numbers import whole, whole_from


@given(st.integers())
def test_a_whole_number_is_taken_as_it_is(number: int) -> None:
    """However large, and of whatever sign."""
    assert whole(number) == number


@pytest.mark.parametrize("wrong", [True, False, 1.0, "1", None, [1]])
def test_what_is_no_whole_number_is_refused(wrong) -> None:
    """Bools above all."""
    with pytest.raises(ConfigurationError, match="a whole number is needed"):
        whole(wrong)


@given(st.integers(), st.integers())
def test_only_numbers_from_the_smallest_on_are_taken(least: int, number: int) -> None:
    """The message names the argument, the bound and what is counted."""
    if number >= least:
        assert whole_from(least, "k", number) == number
        return
    with pytest.raises(ConfigurationError, match=rf"`k`.* from {least} text, not"):
        whole_from(least, "k", number, "text")
