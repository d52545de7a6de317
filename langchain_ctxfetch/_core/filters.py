"""The metadata filter: one closed language, read into values that can be compared.

A filter is a mapping. A key with a plain value must equal it, several keys must all
hold, and a key with a mapping is compared by operators:

    {"lang": "en", "year": {"$gte": 2020}, "$not": {"tags": {"$in": ["draft"]}}}

Every reader of a filter works on *facts*, the comparable scalars of a document's
metadata. So a store that saves the facts of a document when it is written, and
compares those, decides as `matches` does.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from reprlib import repr as shown
from typing import Literal, TypeAlias, assert_never

from langchain_ctxfetch._core.facts import (
    Fact,
    Kind,
    Scalar,
    fact_of,
    facts,
    normalised,
)
from langchain_ctxfetch._core.text import clean
from langchain_ctxfetch.errors import FilterError

__all__ = [
    "All",
    "Any",
    "Compare",
    "Fact",
    "Filter",
    "Not",
    "facts",
    "join",
    "matches",
    "parse",
]

MAX_DEPTH = 20
"""How many `$and`, `$or` and `$not` may stand inside one another."""

MAX_OPERANDS = 10_000
"""How many values one filter may compare with."""

LeafOperator: TypeAlias = Literal[
    "$in", "$gt", "$gte", "$lt", "$lte", "$between", "$contains", "$exists"
]


@dataclass(frozen=True)
class Compare:
    """Hold where any fact of *key* stands in the relation to the operands.

    `$eq` is read as `$in` with one operand, `$ne` and `$nin` as `Not` of `$in`.
    Operands that nothing can match, such as NaN, are left out: a leaf without
    operands (other than `$exists`, which has none) matches nothing.

    Attributes:
        key: The metadata key.
        operator: The relation; `$between` has two operands, `$exists` none.
        operands: What is compared with, normalised as the facts are.
    """

    key: str
    operator: LeafOperator
    operands: tuple[Fact, ...] = ()

    @cached_property
    def members(self) -> frozenset[tuple[Kind, Scalar]]:
        """Return kind and value of the operands, for quick look-up."""
        return frozenset((fact.kind, fact.value) for fact in self.operands)


@dataclass(frozen=True, slots=True)
class All:
    """Hold where every part holds; without parts, everywhere."""

    parts: tuple[Filter, ...] = ()


@dataclass(frozen=True, slots=True)
class Any:
    """Hold where at least one part holds."""

    parts: tuple[Filter, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """Hold where the part does not."""

    part: Filter


Filter: TypeAlias = Compare | All | Any | Not
"""A parsed filter: hashable, equal where the filters are written alike."""


def parse(where: Mapping[str, object] | None) -> Filter:
    """Read a filter; nothing but the language gets through.

    >>> parse({"year": {"$gte": 2020}})
    Compare(key='year', operator='$gte', operands=(Fact(key='year', ...),))
    >>> parse(None)
    All(parts=())

    Args:
        where: The filter as written; None and an empty mapping match everything.

    Returns:
        The filter as a tree, to be given to `matches` or to a store's own reader.

    Raises:
        FilterError: If *where* is not in the language; names operator and key.
    """
    if where is None:
        return All()
    parsed = _conjunction(where, operator="", depth=0)
    if _operand_count(parsed) > MAX_OPERANDS:
        raise FilterError(f"a filter may have at most {MAX_OPERANDS:,} operands")
    return parsed


def matches(parsed: Filter, metadata: Mapping[str, object]) -> bool:
    """Say whether a document with this metadata passes the filter.

    >>> matches(parse({"tags": "new"}), {"tags": ["new", "hot"]})
    True
    >>> matches(parse({"year": {"$ne": 2020}}), {})
    True

    Args:
        parsed: A filter, as `parse` reads it.
        metadata: What was stored with the document.

    Returns:
        Whether the document passes.
    """
    known: dict[str, list[Fact]] = {}
    for fact in facts(metadata):
        known.setdefault(fact.key, []).append(fact)
    return _holds(parsed, known)


def join(*wheres: Mapping[str, object] | None) -> dict[str, object] | None:
    """Join filters by *and*: the result passes what every one of them passes.

    >>> join({"lang": "en"}, None, {"year": 2020})
    {'$and': [{'lang': 'en'}, {'year': 2020}]}

    Args:
        *wheres: Filters as written; None and empty ones are no filter.

    Returns:
        One filter as written, or None where there is none.

    Raises:
        FilterError: If one of them is not a mapping.
    """
    conjuncts: list[Mapping[str, object]] = []
    for where in wheres:
        conjuncts.extend(_conjuncts(where))
    if len(conjuncts) > 1:
        return {"$and": conjuncts}
    return dict(conjuncts[0]) if conjuncts else None


def _conjuncts(where: Mapping[str, object] | None) -> list[Mapping[str, object]]:
    """Return the parts of a joined filter, so that joining never nests deeper."""
    if where is None:
        return []
    _mapping(where, "a filter")
    parts = where.get("$and")
    if len(where) > 1 or not isinstance(parts, list) or not parts:
        return [where] if where else []
    return parts if all(isinstance(part, Mapping) for part in parts) else [where]


_Reader: TypeAlias = Callable[[str, str, object], Filter]
"""Reads the operand of one operator: from key, operator as written, operand."""


def _conjunction(where: object, *, operator: str, depth: int) -> Filter:
    """Read a mapping, all of whose entries must hold."""
    entries = _mapping(where, f"`{operator}`" if operator else "a filter")
    if depth > MAX_DEPTH:
        raise FilterError(f"`{operator}` is nested deeper than {MAX_DEPTH} levels")
    # A lone `$and` at the top is how `join` writes: it counts as no level.
    inner = depth + (bool(operator) or tuple(entries) != ("$and",))
    return _all([_entry(key, value, inner) for key, value in entries.items()])


def _entry(key: object, value: object, depth: int) -> Filter:
    """Read one entry: a key with its condition, or an operator over filters."""
    if not isinstance(key, str):
        raise FilterError(f"a key of a filter must be a string, not {shown(key)}")
    if key in {"$and", "$or"}:
        parts = tuple(
            _conjunction(part, operator=key, depth=depth)
            for part in _listed(value, f"`{key}`")
        )
        return _all(parts) if key == "$and" else Any(parts)
    if key == "$not":
        return Not(_conjunction(value, operator=key, depth=depth))
    if key.startswith("$"):
        raise FilterError(
            f"`{key}` is no operator over filters; there are `$and`, `$or` and `$not`,"
            " the others stand under a metadata key"
        )
    return _condition(clean(key), value)


def _condition(key: str, value: object) -> Filter:
    """Read what is asked of one key."""
    if not isinstance(value, Mapping):
        return _equals(key, "$eq", value)
    if not value:
        raise FilterError(f"key `{key}`: a condition needs an operator, not {{}}")
    return _all([_leaf(key, name, operand) for name, operand in value.items()])


def _leaf(key: str, name: object, operand: object) -> Filter:
    """Read one operator of one key."""
    read = _LEAVES.get(name) if isinstance(name, str) else None
    if read is None:
        raise FilterError(
            f"key `{key}`: {shown(name)} is no operator; there are {', '.join(_LEAVES)}"
        )
    return read(key, str(name), operand)


def _single(relation: LeafOperator) -> _Reader:
    """Return a reader of an operator that takes one value."""
    return lambda key, name, operand: Compare(
        key, relation, _operands(key, name, [operand])
    )


def _is_one_of(key: str, name: str, operand: object) -> Filter:
    return Compare(
        key, "$in", _operands(key, name, _listed(operand, f"key `{key}`: `{name}`"))
    )


def _none(read: _Reader) -> _Reader:
    """Return a reader of the negation."""
    return lambda key, name, operand: Not(read(key, name, operand))


def _is_between(key: str, name: str, operand: object) -> Filter:
    bounds = _listed(operand, f"key `{key}`: `{name}`")
    if len(bounds) != 2:  # noqa: PLR2004 - a lower and an upper bound
        raise FilterError(
            f"key `{key}`: `$between` needs two values, not {shown(operand)}"
        )
    known = _operands(key, name, bounds)
    return Compare(key, "$between", known if len(known) == len(bounds) else ())


def _exists(key: str, _: str, operand: object) -> Filter:
    if not isinstance(operand, bool):
        raise FilterError(
            f"key `{key}`: `$exists` needs True or False, not {shown(operand)}"
        )
    return Compare(key, "$exists") if operand else Not(Compare(key, "$exists"))


_equals = _single("$in")

_LEAVES: Mapping[str, _Reader] = {
    "$eq": _equals,
    "$ne": _none(_equals),
    "$gt": _single("$gt"),
    "$gte": _single("$gte"),
    "$lt": _single("$lt"),
    "$lte": _single("$lte"),
    "$in": _is_one_of,
    "$nin": _none(_is_one_of),
    "$contains": _single("$contains"),
    "$between": _is_between,
    "$exists": _exists,
}


def _operands(key: str, name: str, values: Iterable[object]) -> tuple[Fact, ...]:
    """Return the values as facts, without those that nothing can match."""
    known: list[Fact] = []
    for value in values:
        plain = normalised(value)
        if plain is None:
            raise FilterError(
                f"key `{key}`: `{name}` compares with a string, number, bool, date or"
                f" UUID, not {shown(value)}{_advice(value)}"
            )
        known.extend(fact_of(key, plain))
    return tuple(known)


def _advice(value: object) -> str:
    if value is None:
        return "; for a missing key write {'$exists': False}"
    if isinstance(value, list | tuple | set | frozenset):
        return "; for one of several values write {'$in': [...]}"
    return ""


def _listed(value: object, what: str) -> Sequence[object]:
    if not isinstance(value, list | tuple) or not value:
        raise FilterError(f"{what} needs a list that is not empty, not {shown(value)}")
    if len(value) > MAX_OPERANDS:
        raise FilterError(
            f"{what} may have at most {MAX_OPERANDS:,} operands, not {len(value):,}"
        )
    return value


def _mapping(value: object, what: str) -> Mapping[object, object]:
    if not isinstance(value, Mapping):
        raise FilterError(f"{what} must be a mapping, not {shown(value)}")
    return value


def _all(parts: Sequence[Filter]) -> Filter:
    return parts[0] if len(parts) == 1 else All(tuple(parts))


def _operand_count(parsed: Filter) -> int:
    """Count the values that a filter compares with; a part without any is one."""
    match parsed:
        case Compare(operands=operands):
            return max(1, len(operands))
        case Not(part=part):
            return _operand_count(part)
        case All(parts=parts) | Any(parts=parts):
            return max(1, sum(map(_operand_count, parts)))
        case _:
            assert_never(parsed)


def _holds(parsed: Filter, known: Mapping[str, Sequence[Fact]]) -> bool:
    match parsed:
        case Compare(key=key):
            return any(_relates(parsed, fact) for fact in known.get(key, ()))
        case Not(part=part):
            return not _holds(part, known)
        case All(parts=parts):
            return all(_holds(part, known) for part in parts)
        case Any(parts=parts):
            return any(_holds(part, known) for part in parts)
        case _:
            assert_never(parsed)


def _relates(leaf: Compare, fact: Fact) -> bool:
    """Say whether one fact stands in the relation of the leaf."""
    match leaf.operator:
        case "$exists":
            return True
        case "$in":
            return (fact.kind, fact.value) in leaf.members
        case "$contains":
            return _contains(leaf, fact)
        case "$between":
            return _ordered("$gte", fact, leaf.operands[:1]) and _ordered(
                "$lte", fact, leaf.operands[1:]
            )
        case _:
            return _ordered(leaf.operator, fact, leaf.operands)


def _contains(leaf: Compare, fact: Fact) -> bool:
    """Look for an element of a list, or for a part of a text."""
    if fact.element:
        return (fact.kind, fact.value) in leaf.members
    return isinstance(fact.value, str) and any(
        isinstance(part.value, str) and part.value in fact.value
        for part in leaf.operands
    )


_ORDERS: Mapping[str, Callable[[Scalar, Scalar], bool]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _ordered(name: str, fact: Fact, operands: Sequence[Fact]) -> bool:
    return any(
        operand.kind == fact.kind and _ORDERS[name](fact.value, operand.value)
        for operand in operands
    )
