"""The filter language: its table of operators, and what it refuses."""

import math
import uuid
from datetime import UTC, date, datetime, timedelta, timezone
from enum import Enum

import numpy as np
import pytest

from langchain_ctxfetch._core.facts import INTEGERS, MAX_TEXT, moment_text
from langchain_ctxfetch._core.filters import (
    MAX_DEPTH,
    MAX_OPERANDS,
    All,
    Compare,
    facts,
    join,
    matches,
    parse,
)
from langchain_ctxfetch.errors import FilterError


def passes(where, metadata) -> bool:
    return matches(parse(where), metadata)


# --- the cases of the reference -------------------------------------------------


def test_M1_numbers_compare_by_value() -> None:
    """An int equals a float of the same value."""
    assert passes({"key": 1}, {"key": 1.0})


def test_M2_single_precision_enters_as_written() -> None:
    """A numpy float32 of 1.1 equals 1.1, alone and in a list of operands."""
    metadata = {"key": np.float32(1.1)}

    assert passes({"key": 1.1}, metadata)
    assert passes({"key": {"$in": [1.1]}}, metadata)
    assert not passes({"key": {"$nin": [1.1]}}, metadata)


def test_M3_letter_case_counts() -> None:
    """Text compares by code point, so case matters."""
    assert not passes({"key": "Value"}, {"key": "value"})


def test_M4_a_uuid_operand_equals_its_text() -> None:
    """A UUID matches the text that was stored for it."""
    key = uuid.UUID(int=7)

    assert passes({"key": key}, {"key": str(key)})
    assert passes({"key": {"$in": [key]}}, {"key": str(key)})


def test_M5_a_missing_key_differs_from_everything() -> None:
    """`$ne` and `$nin` match where the key is missing."""
    assert passes({"key": {"$ne": "v"}}, {})
    assert passes({"key": {"$nin": ["v"]}}, {})


@pytest.mark.parametrize(
    ("value", "expected"), [(0, False), (4, False), (5, False), (6, True)]
)
def test_M6_greater_is_strict(value, expected) -> None:
    """`$gt` 5 holds for 6 and not for 5."""
    assert passes({"key": {"$gt": 5}}, {"key": value}) is expected


def test_M7_a_number_contains_no_text_and_that_is_no_error() -> None:
    """`$contains` on a number matches nothing and raises nothing."""
    assert not passes({"key": {"$contains": "value"}}, {"key": 42})


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ({"$eq": 0.5}, False),
        ({"$gt": 0.5}, False),
        ({"$lt": 0.5}, False),
        ({"$in": [0.5]}, False),
        ({"$ne": 0.5}, True),
        ({"$nin": [0.5]}, True),
    ],
)
def test_M8_nan_counts_as_missing(condition, expected) -> None:
    """A stored NaN stands in no relation to anything."""
    assert passes({"score": condition}, {"score": math.nan}) is expected


@pytest.mark.parametrize(
    ("condition", "expected"),
    [({"$gt": 0.5}, True), ({"$lt": 0.5}, False), ({"$ne": 0.5}, True)],
)
def test_M9_infinity_is_ordered_as_numbers_are(condition, expected) -> None:
    """Infinity is above every number."""
    assert passes({"score": condition}, {"score": math.inf}) is expected


@pytest.mark.parametrize(
    ("value", "expected"), [(1, False), (2, True), (3, True), (4, True), (5, False)]
)
def test_M10_between_includes_both_ends(value, expected) -> None:
    """`$between` 2 and 4 holds for 2 and for 4."""
    assert passes({"key": {"$between": [2, 4]}}, {"key": value}) is expected


@pytest.mark.parametrize("condition", [None, {"$eq": None}, {"$in": [1, None]}])
def test_M11_none_is_no_operand(condition) -> None:
    """Comparing with None is refused, and the key is named."""
    with pytest.raises(FilterError, match=r"key `year`.*None"):
        parse({"year": condition})


def test_M12_dots_in_keys_are_plain() -> None:
    """A dotted key is one key, no path."""
    assert passes({"key.with.dots": 1}, {"key.with.dots": 1})
    assert not passes({"key.with": 1}, {"key": {"with": 1}})


# --- more of the language -------------------------------------------------------


@pytest.mark.parametrize("where", [None, {}])
def test_no_filter_passes_everything(where) -> None:
    """None and an empty mapping are no filter."""
    assert parse(where) == All()
    assert passes(where, {})


def test_several_keys_are_joined_by_and() -> None:
    """Every entry of a mapping must hold."""
    where = {"lang": "en", "year": {"$gte": 2000, "$lt": 2010}}

    assert passes(where, {"lang": "en", "year": 2005})
    assert not passes(where, {"lang": "en", "year": 2010})
    assert not passes(where, {"lang": "de", "year": 2005})


@pytest.mark.parametrize(
    ("value", "operand"), [(True, 1), (1, True), ("1", 1), (0.0, False), (1, "1")]
)
def test_different_types_do_not_match(value, operand) -> None:
    """A bool is no number and a number no text."""
    assert not passes({"key": operand}, {"key": value})
    assert not passes({"key": {"$lte": operand}}, {"key": value})


def test_large_numbers_compare_exactly() -> None:
    """2^53 + 1 is above the float 2^53, though as floats they are the same."""
    assert passes({"key": {"$gt": 2.0**53}}, {"key": 2**53 + 1})
    assert not passes({"key": 2.0**53}, {"key": 2**53 + 1})


@pytest.mark.parametrize("number", [2**63, -(2**63) - 1])
def test_integers_of_more_than_64_bits_match_nothing(number) -> None:
    """Neither stored nor asked do such integers stand in any relation."""
    assert number not in INTEGERS
    assert not passes({"key": number}, {"key": number})
    assert not passes({"key": {"$lt": 2**70}}, {"key": 1})
    assert not passes({"key": {"$between": [0, 2**70]}}, {"key": 1})
    assert passes({"key": {"$ne": number}}, {"key": number})


def test_a_list_matches_when_any_element_does() -> None:
    """The relation may hold for one element alone."""
    assert passes({"tags": "b"}, {"tags": ["a", "b"]})
    assert passes({"sizes": {"$gt": 5}}, {"sizes": (1, 9)})
    assert not passes({"sizes": {"$between": [4, 6]}}, {"sizes": [1, 9]})


def test_a_list_differs_when_no_element_equals() -> None:
    """`$ne` and `$nin` hold where none of the elements equals."""
    assert not passes({"tags": {"$ne": "b"}}, {"tags": ["a", "b"]})
    assert not passes({"tags": {"$nin": ["b", "c"]}}, {"tags": ["a", "b"]})
    assert passes({"tags": {"$nin": ["c"]}}, {"tags": ["a", "b"]})


def test_contains_finds_a_part_of_a_text() -> None:
    """`$contains` on a text looks for a substring; the empty one is everywhere."""
    assert passes({"title": {"$contains": "pha"}}, {"title": "alpha"})
    assert passes({"title": {"$contains": ""}}, {"title": "alpha"})
    assert not passes({"title": {"$contains": "PHA"}}, {"title": "alpha"})


def test_contains_finds_an_element_of_a_list() -> None:
    """`$contains` on a list looks for a whole element of any type."""
    assert passes({"tags": {"$contains": "alpha"}}, {"tags": ["alpha"]})
    assert passes({"tags": {"$contains": 3}}, {"tags": [1, 3]})
    assert not passes({"tags": {"$contains": "pha"}}, {"tags": ["alpha"]})


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"key": None},
        {"key": []},
        {"key": {"a": 1}},
        {"key": b"x"},
        {"key": {1}},
        {"key": math.nan},
        {"key": "x" * (MAX_TEXT + 1)},
        {"key": [[1]]},
        {"key": 1j},
        {"key": np.array([1, 2])},
        {"key": datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))},
    ],
)
def test_what_cannot_be_filtered_counts_as_missing(metadata) -> None:
    """Only `$exists: false`, `$ne` and `$nin` match such a value."""
    assert passes({"key": {"$exists": False}}, metadata)
    assert passes({"key": {"$ne": 1}}, metadata)
    assert not passes({"key": {"$exists": True}}, metadata)


def test_a_text_of_the_greatest_length_can_be_filtered() -> None:
    """8,000 characters are kept, one more is not."""
    text = "x" * MAX_TEXT

    assert passes({"key": text}, {"key": text})


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2024, 5, 1, 12, 30), "2024-05-01T12:30:00.000000Z"),  # noqa: DTZ001 - naive on purpose
        (datetime(2024, 5, 1, 12, 30, tzinfo=UTC), "2024-05-01T12:30:00.000000Z"),
        (
            datetime(2024, 5, 1, 1, 0, 0, 7, tzinfo=timezone(timedelta(hours=2))),
            "2024-04-30T23:00:00.000007Z",
        ),
        (date(2024, 5, 1), "2024-05-01T00:00:00.000000Z"),
    ],
)
def test_times_are_text_in_utc(moment, text) -> None:
    """Naive times are in UTC, others are brought there, a date is its midnight."""
    assert moment_text(moment) == text
    assert passes({"when": moment}, {"when": text})
    assert passes({"when": text}, {"when": moment})


class Colour(str, Enum):  # noqa: UP042 - its `str()` is not its value
    RED = "red"


def test_a_text_enum_is_its_value() -> None:
    """A subclass of `str` counts as the text that it is."""
    assert passes({"colour": Colour.RED}, {"colour": "red"})


@pytest.mark.parametrize(
    ("value", "kind", "plain"),
    [
        (np.bool_(True), "b", True),
        (np.int64(7), "n", 7),
        (np.uint64(2**63 - 1), "n", 2**63 - 1),
        (np.float32(1.1), "n", 1.1),
        (np.float64(0.1), "n", 0.1),
        (np.str_("x"), "t", "x"),
        (np.array(3), "n", 3),
    ],
)
def test_numpy_scalars_become_plain_values(value, kind, plain) -> None:
    """Nothing of numpy is left in a fact."""
    (fact,) = facts({"key": value})

    assert (fact.kind, fact.value) == (kind, plain)
    assert type(fact.value) is type(plain)


def test_text_is_cleaned_on_both_sides() -> None:
    """NUL and lone surrogates enter as U+FFFD, in keys too."""
    assert passes({"k\x00": "a\ud800"}, {"k\ufffd": "a\ufffd"})
    assert passes({"k\ufffd": "a\ufffd"}, {"k\x00": "a\ud800"})


def test_facts_say_which_are_elements() -> None:
    """A store must tell a text from an element of a list."""
    known = list(facts({"a": "x", "b": ["x", None, True]}))

    assert [(fact.key, fact.kind, fact.element) for fact in known] == [
        ("a", "t", False),
        ("b", "t", True),
        ("b", "b", True),
    ]


# --- refusals -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("where", "named"),
    [
        ("lang = 'en'", "a filter must be a mapping"),
        ([{"a": 1}], "a filter must be a mapping"),
        ({1: 2}, "key of a filter must be a string"),
        ({"$regex": "x"}, r"`\$regex` is no operator over filters"),
        ({"a": {"$regex": "x"}}, r"key `a`: '\$regex' is no operator"),
        ({"a": {"b": 1}}, "key `a`: 'b' is no operator"),
        ({"a": {1: 1}}, "key `a`: 1 is no operator"),
        ({"a": {}}, "key `a`: a condition needs an operator"),
        ({"a": [1, 2]}, r"key `a`: `\$eq`.*\$in"),
        ({"a": {"$gt": b"x"}}, r"key `a`: `\$gt`"),
        ({"a": {"$in": []}}, r"key `a`: `\$in` needs a list"),
        ({"a": {"$in": "abc"}}, r"key `a`: `\$in` needs a list"),
        ({"a": {"$nin": [{}]}}, r"key `a`: `\$nin`"),
        ({"a": {"$between": [1]}}, r"key `a`: `\$between` needs two"),
        ({"a": {"$exists": 1}}, r"key `a`: `\$exists` needs True or False"),
        ({"$and": []}, r"`\$and` needs a list"),
        ({"$or": {"a": 1}}, r"`\$or` needs a list"),
        ({"$or": [1]}, r"`\$or` must be a mapping"),
        ({"$not": [{"a": 1}]}, r"`\$not` must be a mapping"),
        ({"a": np.array([1, 2])}, r"key `a`: `\$eq`"),
    ],
)
def test_what_is_not_the_language_is_refused_by_name(where, named) -> None:
    """The message names the operator, and the key where there is one."""
    with pytest.raises(FilterError, match=named):
        parse(where)


def nested(depth: int):
    where = {"a": 1}
    for _ in range(depth):
        where = {"$not": where}
    return where


def test_nesting_has_a_limit() -> None:
    """Twenty levels are read, one more is refused."""
    assert passes(nested(MAX_DEPTH), {"a": 1})

    with pytest.raises(FilterError, match="deeper than 20"):
        parse(nested(MAX_DEPTH + 1))


@pytest.mark.parametrize("name", ["$and", "$or"])
def test_a_filter_that_holds_itself_is_refused(name) -> None:
    """An endless filter is a filter nested too deeply."""
    where: dict = {}
    where[name] = [where]

    with pytest.raises(FilterError, match="deeper than 20"):
        parse(where)


def test_joining_costs_no_level() -> None:
    """Filters of the greatest depth can still be joined, also one after another."""
    deep = nested(MAX_DEPTH)

    assert passes(join(join(deep, deep), deep), {"a": 1})


def test_operands_have_a_limit() -> None:
    """Ten thousand operands are read, one more is refused, however spread."""
    assert isinstance(parse({"a": {"$in": list(range(MAX_OPERANDS))}}), Compare)

    with pytest.raises(FilterError, match="10,000 operands"):
        parse({"a": {"$in": list(range(MAX_OPERANDS + 1))}})
    with pytest.raises(FilterError, match="10,000 operands"):
        parse({"a": {"$in": list(range(MAX_OPERANDS))}, "b": 1})


def test_filters_without_operands_count_too() -> None:
    """Ten thousand empty parts are no way round the limit."""
    empty = {"$or": [{}] * (MAX_OPERANDS // 2 + 1)}

    with pytest.raises(FilterError, match="10,000 operands"):
        parse({"$and": [empty, empty]})


@pytest.mark.parametrize("bounds", [[0, 2**70], [-(2**70), 0], [math.nan, 1]])
def test_a_range_with_an_unmatchable_bound_has_no_operands(bounds) -> None:
    """No reader can take the one bound that is left for the other."""
    assert parse({"a": {"$between": bounds}}) == Compare("a", "$between")


def test_only_mappings_are_joined() -> None:
    """A filter that is no mapping is refused before anything is searched."""
    with pytest.raises(FilterError, match="must be a mapping"):
        join({"a": 1}, "b")


def test_joining_leaves_its_arguments_alone() -> None:
    """The joined filter is a value of its own."""
    first = {"$and": [{"a": 1}]}
    join(first, {"b": 2})

    assert first == {"$and": [{"a": 1}]}
