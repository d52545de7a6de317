"""The blocks of the keyword index: few, none too large, without what is gone."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from langchain_ctxfetch import SQLiteStore
from langchain_ctxfetch.stores import _writing
from langchain_ctxfetch.stores._postings import (
    build,
    decode,
    encode,
    groups,
    merge,
    shift,
)
from tests.stores.fakes import found_ids, hit

ROWS = st.lists(
    st.lists(st.sampled_from(["a", "b", "", "東", "c"]), max_size=6), max_size=6
)


def as_rows(block):
    """Return term, row and count of each posting."""
    terms = np.repeat(block.terms, np.diff(block.offsets)).tolist()
    return list(zip(terms, block.rows.tolist(), block.counts.tolist(), strict=True))


def placed(block):
    """Return term, row and place of each time that a term stands in a row."""
    posted = [(term, row) for term, row, count in as_rows(block) for _ in range(count)]
    places = block.places.tolist()
    return [(*one, place) for one, place in zip(posted, places, strict=True)]


def blocks(store):
    """Return level and size of each block of a store."""
    with store._connections.reading() as connection:
        return connection.execute(
            "select level, size from blocks order by 1"
        ).fetchall()


@given(ROWS)
def test_postings_count_the_terms_of_each_row(rows) -> None:
    """Term by term, rows rising."""
    expected = {
        (term, number, row.count(term))
        for number, row in enumerate(rows)
        for term in row
    }

    assert as_rows(build(rows)) == sorted(expected)


@given(ROWS)
def test_postings_hold_the_places_of_terms(rows) -> None:
    """Each term of each row once, places rising."""
    expected = [
        (term, number, place)
        for number, row in enumerate(rows)
        for place, term in enumerate(row)
    ]

    assert placed(build(rows)) == sorted(expected)


@given(ROWS)
def test_a_block_written_and_read_is_the_same(rows) -> None:
    """Bytes and back."""
    block = build(rows)

    assert as_rows(decode(*encode(block))) == as_rows(block)
    assert placed(decode(*encode(block))) == placed(block)


def test_counts_beyond_one_byte_are_kept() -> None:
    """A word three hundred times in one passage."""
    block = build([["a"] * 300, ["a"] * 70_000])

    read = decode(*encode(block))
    assert read.counts.tolist() == [300, 70_000]
    assert read.places.tolist() == [*range(300), *range(70_000)]


@given(ROWS, ROWS, st.data())
def test_merging_is_building_at_once_without_the_dead(first, second, data) -> None:
    """Blocks of neighbouring rows, merged, are the block of all living rows."""
    size = len(first) + len(second)
    living = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    merged = merge(
        [shift(build(first), 7), shift(build(second), 7 + len(first))],
        np.array(living, np.bool_),
        first_row=7,
    )
    alive = [
        row if lives else [] for row, lives in zip(first + second, living, strict=True)
    ]

    assert as_rows(merged) == as_rows(shift(build(alive), 7))
    assert placed(merged) == placed(shift(build(alive), 7))


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(1, 30))
def test_groups_are_neighbours_and_fit(sizes, most) -> None:
    """Laid end to end they are all blocks; one alone may be larger than allowed."""
    found = groups(sizes, most)

    assert [at for first, past in found for at in range(first, past)] == list(
        range(len(sizes))
    )
    assert all(
        past - first == 1 or sum(sizes[first:past]) <= most for first, past in found
    )


def test_a_block_cut_short_is_found_out() -> None:
    """Bytes that do not belong together raise an error."""
    terms, offsets, rows, numbers = encode(build([["a"], ["b"]]))
    for damaged in (
        (terms, offsets, rows[:4], numbers),
        (terms, offsets, rows, numbers[1:]),
        (terms, offsets, rows, b""),
        (terms, offsets, rows, b"\x01\x01"),  # counts alone
        (terms, offsets, rows, numbers[:-1] + b"\x07"),
        (terms[:1], offsets, rows, numbers),
    ):
        with pytest.raises(ValueError, match="does not fit together"):
            decode(*damaged)


def test_many_writes_leave_few_blocks(store) -> None:
    """Eight of a level become one of the next."""
    for number in range(100):
        store.put([hit(str(number), "cats and dogs")])

    assert [level for level, _ in blocks(store)] == [0, 0, 0, 0, 1, 1, 1, 1, 2]


def test_blocks_stop_growing(store, monkeypatch) -> None:
    """Beyond a size they are closed: never merged again, and still searched."""
    monkeypatch.setattr(_writing, "groups", partial(groups, most=20))
    for number in range(100):
        store.put([hit(str(number), "cats purr")])

    assert max(size for _, size in blocks(store)) <= 20
    assert _writing.CLOSED in dict(blocks(store))
    assert len(found_ids(store, "purr", 1_000)) == 100


def test_blocks_too_large_to_merge_do_not_hold_up_a_write(store, monkeypatch) -> None:
    """Each alone is as large as a block may become."""
    monkeypatch.setattr(_writing, "groups", partial(groups, most=1))
    for number in range(30):
        store.put([hit(str(number), "cats purr")])

    assert len(found_ids(store, "purr", 1_000)) == 30


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40), st.integers(4, 40))
@example([1] * 3 + [9] * 3 + [1] * 6, 20)
def test_blocks_never_overlap(sizes, most) -> None:
    """Whatever the sizes of the writes, each block has its own range of rows."""
    with pytest.MonkeyPatch.context() as patch, SQLiteStore() as store:
        patch.setattr(_writing, "groups", partial(groups, most=most))
        patch.setattr(_writing, "FAN_IN", 3)
        for number, size in enumerate(sizes):
            store.put([hit(f"{number}-{at}", "cats purr") for at in range(size)])
        with store._connections.reading() as connection:
            rows = "select first_row, last_row from blocks order by first_row"
            spans = connection.execute(rows).fetchall()

        assert all(one[1] < other[0] for one, other in pairwise(spans))


def test_a_merge_drops_what_is_gone(store) -> None:
    """A text written again and again takes the room of one."""
    for number in range(64):
        store.put([hit("a", f"cats purr {number}")])

    assert sum(size for _, size in blocks(store)) <= 8 * 3
    assert found_ids(store, "purr") == ["a"]


def test_a_merge_of_nothing_leaves_nothing() -> None:
    """When every document of eight blocks is gone, so are the blocks."""
    with SQLiteStore() as store:
        for number in range(7):
            store.put([hit(str(number), "cats purr")])
        store.remove(filter={})
        store.put([hit("a", "dogs bark")])
        store.remove(["a"])

        assert found_ids(store, "cats") == []
        assert len(blocks(store)) <= 1
