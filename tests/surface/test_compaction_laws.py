"""What holds for every context, every budget, every counter and every model."""

from __future__ import annotations

import copy

import pytest

from tests.hostile_contexts import case, check

CASES = 2_000
CHUNK = 50


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_the_result_is_within_the_budget_whatever_comes(first: int) -> None:
    broken = {
        seed: problem
        for seed in range(first, first + CHUNK)
        if (problem := check(case(seed))[1])
    }
    assert not broken


@pytest.mark.parametrize("seed", range(0, 200, 10))
async def test_sync_async_and_batch_are_equal(seed: int) -> None:
    made = []
    for way in ("sync", "async", "batch"):
        given = case(seed, most=5_000, share_above=0)
        try:
            if way == "sync":
                made.append(given.compactor.invoke(given.given))
            elif way == "async":
                made.append(await given.compactor.ainvoke(given.given))
            else:
                made += given.compactor.batch([given.given])
        except ValueError as error:
            made.append(str(error))
    assert made[0] == made[1] == made[2]


@pytest.mark.parametrize("seed", range(300, 500, 10))
def test_the_input_is_equal_before_and_after(seed: int) -> None:
    given = case(seed, most=5_000, share_above=0)
    before = copy.deepcopy(given.given)
    check(given)
    assert given.given == before
