"""Whatever stands in metadata, SQL decides about it as `matches` does."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime, timedelta, timezone
from uuid import UUID

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_ctxfetch import FilterError, SQLiteStore
from langchain_ctxfetch._core.filters import matches, parse
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch.ports import SearchRequest

KEYS = st.sampled_from(["a", "b.c", "é", "", "n\x00l", "\ud83d", "$x y", "'; --"])
TEXTS = st.one_of(
    st.sampled_from(
        ["", "a", "A", "ab", "\x00", "\ud83d", "\ufffd", "\uffff", "\U0001f600"]
    ),
    st.sampled_from(["é", "e\u0301", "1", "1.0", "true", "x%", "x_"]),
    st.text(max_size=3),
    st.sampled_from([8_000, 8_001]).map("x".__mul__),
)
NUMBERS = st.one_of(
    st.integers(-2, 2),
    st.sampled_from(
        [
            2**53,
            2**53 + 1,
            2**63 - 1,
            2**63,
            -(2**63),
            -(2**63) - 1,
            10**30,
        ]
    ),
    st.sampled_from([0.0, -0.0, 0.5, 1.0, 1e16, 5e-324, 1.7976931348623157e308]),
    st.sampled_from([2.0**53, 2.0**63, -(2.0**63), math.inf, -math.inf, math.nan]),
    st.floats(width=32),
)
ODD = st.sampled_from(
    [
        np.float32(1.1),
        np.float64(0.5),
        np.int64(2),
        np.uint64(2**64 - 1),
        np.bool_(True),
        np.float16(0.1),
        np.str_("a"),
        datetime(2024, 5, 1, 12, 30),  # noqa: DTZ001 - naive times are a case
        datetime(2024, 5, 1, 12, 30, tzinfo=UTC),
        datetime(2024, 5, 1, 14, 30, tzinfo=timezone(timedelta(hours=2))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=2))),
        date(2024, 5, 1),
        UUID(int=7),
    ]
)
SCALARS = st.one_of(st.booleans(), NUMBERS, TEXTS, ODD)
VALUES = st.one_of(
    SCALARS,
    st.none(),
    st.lists(st.one_of(SCALARS, st.none(), st.just([1]))),
    st.just([]),
    st.tuples(SCALARS, SCALARS),
    st.frozensets(st.integers(0, 2)),
    st.dictionaries(st.sampled_from(["x", "y"]), SCALARS, max_size=1),
)
METADATA = st.dictionaries(KEYS, VALUES, max_size=3)
CONDITIONS = st.one_of(
    SCALARS,
    st.builds(
        lambda name, value: {name: value},
        st.sampled_from(["$eq", "$ne", "$gt", "$gte", "$lt", "$lte", "$contains"]),
        SCALARS,
    ),
    st.builds(
        lambda name, values: {name: values},
        st.sampled_from(["$in", "$nin"]),
        st.lists(SCALARS, min_size=1, max_size=3),
    ),
    st.builds(lambda low, high: {"$between": [low, high]}, SCALARS, SCALARS),
    st.builds(lambda wanted: {"$exists": wanted}, st.booleans()),
)
WHERES = st.recursive(
    st.dictionaries(KEYS.filter(lambda key: key[:1] != "$"), CONDITIONS, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=5,
)
EMBEDDING = DeterministicFakeEmbedding(size=4)


def filled(metadatas) -> SQLiteStore:
    store = SQLiteStore(embedding=EMBEDDING)
    store.add_documents(
        [
            Document("the cat sleeps", id=f"d{number}", metadata=metadata)
            for number, metadata in enumerate(metadatas)
        ]
    )
    return store


def as_stored_matches(store, where) -> set[str]:
    """Return the ids whose metadata, as it comes back, passes."""
    parsed = parse(where)
    return {id_ for id_, held in store.records() if matches(parsed, held)}


@settings(max_examples=100)
@given(st.lists(METADATA, min_size=1, max_size=5), WHERES)
@example([{"a": 2**53 + 1}], {"a": 2.0**53})
@example([{"a": [1, 1.0, True]}], {"a": {"$contains": True}})
@example([{"\ud83d": "\ud83d"}], {"\ud83d": "\ufffd"})
@example([{"a": {"x"}}, {"a": {"\ud83d"}}], {"a": "\ufffd"})
@example([{"a": ["ab"]}, {"a": "ab"}, {"a": ["b"]}], {"a": {"$contains": "b"}})
@example([{"a": 1}, {"a": [1]}, {"a": "1"}], {"a": {"$contains": 1}})
@example([{"a": "xab"}, {"a": "ab"}], {"a": {"$contains": "AB"}})
def test_the_sql_reader_finds_what_matches(metadatas, where) -> None:
    """By keyword, by vector and in removal, for every kind of value."""
    with filled(metadatas) as store:
        expected = as_stored_matches(store, where)
        requests = [
            SearchRequest(channel, "cat", 10, where, complete=True)
            for channel in ("keyword", "vector")
        ]
        found = [
            {hit.id for hit in each.value} for each in store.search_round(requests)
        ]
        removed = store.remove(filter=where)
        left = {id_ for id_, _ in store.records()}

    assert found == [expected, expected]
    assert (removed, left & expected) == (len(expected), set())
    assert len(left) == len(metadatas) - removed


@settings(max_examples=50)
@given(st.lists(METADATA, min_size=1, max_size=5), WHERES)
def test_nothing_outside_a_filter_leaves_by_any_call(metadatas, where) -> None:
    """Search, fetch, quotations, records, diverse search: all keep to it."""
    with filled(metadatas) as store:
        expected = as_stored_matches(store, where)
        ids = [f"d{number}" for number in range(len(metadatas))]
        vector = EMBEDDING.embed_query("cat")
        brought = {
            "fetch": {hit.id for hit in store.fetch(ids, filter=where)},
            "records": {id_ for id_, _ in store.records(filter=where)},
            "by id": {each.id for each in store.get_by_ids(ids, filter=where)},
            "quoted": {
                each.value.id
                for each in store.highlight(ids, "cat", filter=where)
                if isinstance(each, Ok) and each.value is not None
            },
            "search": _ids(store.similarity_search("cat", 9, filter=where)),
            "scored": _ids(
                each
                for each, _ in store.similarity_search_with_score(
                    "cat", 9, filter=where
                )
            ),
            "by vector": _ids(
                store.similarity_search_by_vector(vector, 9, filter=where)
            ),
            "diverse": _ids(
                store.max_marginal_relevance_search("cat", 9, filter=where)
            ),
            "passages": {
                each.metadata["source_id"]
                for each in store.similarity_search(
                    "cat", 9, filter=where, returns="passages"
                )
            },
        }

    assert brought == dict.fromkeys(brought, expected)


def _ids(documents) -> set[str]:
    return {document.id for document in documents}


def test_ids_and_a_filter_together_remove_what_fits_both() -> None:
    """Whatever the order of ids and of writing, and with ids named often."""
    with SQLiteStore() as store:
        store.add_texts(
            ["x"] * 5, [{"n": number} for number in range(5)], ids=list("edcba")
        )
        removed = store.remove(list("abcde") * 300, filter={"n": {"$gte": 3}})
        left = [id_ for id_, _ in store.records()]

    assert (removed, left) == (2, ["e", "d", "c"])


def test_the_other_channel_s_documents_are_filtered_by_each_request() -> None:
    """Two requests of one round with different filters do not mix."""
    with filled([{"a": 1}, {"a": 2}]) as store:
        one, other = store.search_round(
            [
                SearchRequest("keyword", "cat", 9, {"a": 1}, complete=True),
                SearchRequest("vector", "cat", 9, {"a": 2}, complete=True),
            ]
        )

    assert ([hit.id for hit in one.value], [hit.id for hit in other.value]) == (
        ["d0"],
        ["d1"],
    )


@pytest.mark.parametrize("where", [[], "", 0, "a", [("a", 1)]])
def test_what_is_no_mapping_is_refused_and_never_read_as_no_filter(where) -> None:
    """Not even where it is empty."""
    with filled([{}]) as store:
        (outcome,) = store.search_round([SearchRequest("keyword", "cat", 9, where)])

        with pytest.raises(FilterError):
            store.similarity_search("cat", filter=where)
        with pytest.raises(FilterError):
            store.remove(filter=where)

    assert isinstance(outcome.error, FilterError)


def test_ten_thousand_operands_are_asked_at_once() -> None:
    """The most that the language allows."""
    with filled([{"a": 9_999}, {"a": -1}]) as store:
        where = {"a": {"$in": list(range(10_000))}}

        assert _ids(store.similarity_search("cat", filter=where)) == {"d0"}


def test_metadata_is_compared_as_it_was_stored_not_as_it_was_given() -> None:
    """A set comes back as a list, so its elements can be filtered by."""
    with filled([{"a": {3, 4}}, {"a": 3.5}]) as store:
        assert _ids(store.similarity_search("cat", filter={"a": 3})) == {"d0"}
