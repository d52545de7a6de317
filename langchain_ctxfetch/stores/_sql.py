"""The schema of the embedded store, and filters as SQL: values in, values out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import TypeAlias

from langchain_ctxfetch._core.filters import Compare, Fact

APPLICATION_ID = 0x43545846  # "CTXF": what makes a SQLite file one of ours
SCHEMA_VERSION = 1

MOST_PARAMETERS = 500
"""Values of one `in (...)`: few enough for every build of SQLite."""

SCHEMA = f"""
create table meta (
    key text primary key,
    value
) without rowid;
create table documents (
    ordinal integer primary key,  -- never used twice: a new text is a new ordinal
    id text not null unique,
    length integer not null,      -- characters of the text
    metadata text not null,       -- JSON
    text text not null
);
create table facts (              -- what a filter can compare; see `_core.facts`
    key text not null,
    kind text not null,           -- b(ool), n(umber), t(ext)
    value not null,               -- without a type: stored as it is bound
    element integer not null,     -- 1 for an element of a list
    document integer not null,
    primary key (key, kind, value, element, document)
) without rowid;
create index facts_by_document on facts (document);
create table batches (            -- the passages of documents written together
    first_document integer primary key,
    last_document integer not null,
    first_row integer not null,
    passages blob not null,       -- int32 columns: document, start, end, terms
    vectors blob                  -- float32, one of length 1 for each passage
);
create index batches_by_row on batches (first_row);
create table tombstones (         -- documents gone from a batch that still stands
    document integer primary key,
    version integer not null
);
create table blocks (             -- the keyword index; see `_postings`
    block integer primary key autoincrement,
    level integer not null,
    first_row integer not null,
    last_row integer not null,
    size integer not null,        -- postings
    terms blob not null,
    offsets blob not null,
    rows blob not null,
    counts blob not null          -- how often, then at which places
);
insert into meta values ('version', 0), ('next_document', 1), ('next_row', 0);
pragma application_id = {APPLICATION_ID};
pragma user_version = {SCHEMA_VERSION};
"""  # noqa: S608 - two constants

Statement: TypeAlias = tuple[str, list[object]]
"""SQL with its parameters."""

_FACTS = "select document from facts where key = ? and "
_ORDERS = {"$gt": ">", "$gte": ">=", "$lt": "<", "$lte": "<="}


def leaf_statements(leaf: Compare) -> Iterator[Statement]:
    """Yield statements whose answers together are the documents that pass a leaf.

    Types never mix: each statement compares one kind of value, so that neither
    `true = 1` nor the order of SQLite's storage classes has a say.

    >>> from langchain_ctxfetch._core.filters import parse
    >>> list(leaf_statements(parse({"year": {"$gte": 2020}})))
    [('select document from facts where key = ? and kind = ? and value >= ?',
      ['year', 'n', 2020])]

    Args:
        leaf: One comparison of a filter.

    Yields:
        SQL and parameters; nothing where no document can pass.
    """
    if leaf.operator == "$exists":
        yield _FACTS.removesuffix(" and "), [leaf.key]
        return
    for condition, parameters in _READERS.get(leaf.operator, _ordered)(leaf):
        yield _FACTS + condition, [leaf.key, *parameters]


def _is_in(leaf: Compare) -> Iterator[Statement]:
    for kind, operands in _by_kind(leaf.operands):
        marks = ", ".join("?" * len(operands))
        yield f"kind = ? and value in ({marks})", [kind, *operands]


def _is_between(leaf: Compare) -> Iterator[Statement]:
    kinds = {fact.kind for fact in leaf.operands}
    if len(kinds) == 1:
        bounds = [fact.value for fact in leaf.operands]
        yield "kind = ? and value between ? and ?", [*kinds, *bounds]


def _contains(leaf: Compare) -> Iterator[Statement]:
    for condition, parameters in _is_in(leaf):
        yield f"{condition} and element", parameters
    for fact in leaf.operands:
        if fact.kind == "t":
            yield "kind = 't' and instr(value, ?) and not element", [fact.value]


def _ordered(leaf: Compare) -> Iterator[Statement]:
    for fact in leaf.operands:
        condition = f"kind = ? and value {_ORDERS[leaf.operator]} ?"
        yield condition, [fact.kind, fact.value]


_READERS: Mapping[str, Callable[[Compare], Iterator[Statement]]] = {
    "$in": _is_in,
    "$between": _is_between,
    "$contains": _contains,
}


def _by_kind(facts: Sequence[Fact]) -> Iterator[tuple[str, list[object]]]:
    for kind, group in groupby(sorted(facts, key=_kind), key=_kind):
        yield kind, [fact.value for fact in group]


def _kind(fact: Fact) -> str:
    return fact.kind


def chunked(values: Sequence[object]) -> Iterator[tuple[str, Sequence[object]]]:
    """Yield values in parts, each with the marks that stand for them in SQL."""
    for i in range(0, len(values), MOST_PARAMETERS):
        part = values[i : i + MOST_PARAMETERS]
        yield ", ".join("?" * len(part)), part
