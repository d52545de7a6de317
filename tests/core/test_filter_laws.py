"""The laws of the filter language."""

import math

from hypothesis import given, strategies as st

from langchain_ctxfetch._core.filters import join, matches, parse
from langchain_ctxfetch.errors import FilterError


def passes(where, metadata) -> bool:
    return matches(parse(where), metadata)


# Few keys and few values, so that filters and documents meet.
KEYS = st.sampled_from(["a", "b", "a.b"])
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0.0, -0.0, 1.0, 1.5, math.inf, -math.inf, math.nan, 2.0**63]),
    st.sampled_from([2**53 + 1, float(2**53), 2**63 - 1, 2**63, -(2**63), -(2**70)]),
    st.sampled_from(["", "x", "xy", "é", "1"]),
)
VALUES = st.one_of(
    SCALARS,
    st.none(),
    st.lists(st.one_of(SCALARS, st.none()), max_size=3),
    st.dictionaries(st.text(max_size=1), SCALARS, max_size=1),
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
    st.builds(lambda pair: {"$between": pair}, st.tuples(SCALARS, SCALARS)),
    st.builds(lambda wanted: {"$exists": wanted}, st.booleans()),
)
WHERES = st.recursive(
    st.dictionaries(KEYS, CONDITIONS, max_size=2),
    lambda inner: st.one_of(
        st.builds(lambda parts: {"$and": parts}, st.lists(inner, min_size=1)),
        st.builds(lambda parts: {"$or": parts}, st.lists(inner, min_size=1)),
        st.builds(lambda part: {"$not": part}, inner),
    ),
    max_leaves=6,
)


@given(WHERES, METADATA)
def test_law_not_twice_is_nothing(where, metadata) -> None:
    """Negating twice decides as not negating."""
    assert passes({"$not": {"$not": where}}, metadata) == passes(where, metadata)


@given(st.lists(WHERES, min_size=1, max_size=3), METADATA)
def test_law_de_morgan(wheres, metadata) -> None:
    """Not any is all not, and not all is any not."""
    negated = [{"$not": where} for where in wheres]

    assert passes({"$not": {"$or": wheres}}, metadata) == passes(
        {"$and": negated}, metadata
    )
    assert passes({"$not": {"$and": wheres}}, metadata) == passes(
        {"$or": negated}, metadata
    )


@given(SCALARS, METADATA)
def test_law_different_is_not_equal(operand, metadata) -> None:
    """`$ne` is the negation of `$eq`, where the key is missing too."""
    assert passes({"a": {"$ne": operand}}, metadata) != passes({"a": operand}, metadata)


@given(st.lists(SCALARS, min_size=1, max_size=4), METADATA)
def test_law_one_of_is_any_equal(operands, metadata) -> None:
    """`$in` is `$or` of `$eq`, and `$nin` is its negation."""
    one_of = passes({"a": {"$in": operands}}, metadata)

    assert one_of == any(passes({"a": operand}, metadata) for operand in operands)
    assert one_of != passes({"a": {"$nin": operands}}, metadata)


@given(st.lists(st.one_of(st.none(), WHERES), max_size=4), METADATA)
def test_law_joining_narrows(wheres, metadata) -> None:
    """A joined filter passes exactly what each of them passes."""
    joined = passes(join(*wheres), metadata)

    assert joined == all(passes(where, metadata) for where in wheres)


@given(WHERES)
def test_law_parsed_filters_are_cache_keys(where) -> None:
    """What is written alike is equal and hashes alike."""
    assert len({parse(where), parse(where)}) == 1


JUNK = st.recursive(
    st.one_of(st.none(), SCALARS, st.binary(max_size=2), st.just(object())),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.one_of(
                KEYS,
                st.sampled_from(["$and", "$or", "$not", "$in", "$regex", "$between"]),
                st.integers(0, 1),
            ),
            inner,
            max_size=3,
        ),
    ),
    max_leaves=8,
)


@given(JUNK, METADATA)
def test_law_parsing_is_total(where, metadata) -> None:
    """Anything at all is either read or refused with our own error."""
    try:
        parsed = parse(where)
    except FilterError:
        return

    assert matches(parsed, metadata) in {True, False}
