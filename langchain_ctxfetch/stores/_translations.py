"""A filter of ours in the words of stores that are not ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_ctxfetch._core.filters import (
    All,
    Compare,
    Filter,
    Not,
    matches,
    parse,
)
from langchain_ctxfetch.errors import FilterError
from langchain_ctxfetch.ports import Where


def document_filter(where: Where) -> Callable[[Document], bool]:
    """Make a filter for stores that ask a function of the document.

    InMemoryVectorStore of langchain-core is one.

    >>> passes = document_filter({"year": {"$gte": 2020}})
    >>> passes(Document("new", metadata={"year": 2024})), passes(Document("odd"))
    (True, False)

    Args:
        where: A filter of ours.

    Returns:
        A function that says whether a document matches it.

    Raises:
        FilterError: If it is no filter of ours.
    """
    parsed = parse(where)
    return lambda document: matches(parsed, document.metadata)


def metadata_filter(where: Where) -> Callable[[Mapping[str, Any]], bool]:
    """Make a filter for stores that ask a function of the metadata.

    FAISS of langchain-community is one. The mapping that it takes too knows fewer
    operators, and no lists.

    >>> metadata_filter({"tags": "new"})({"tags": ["new", "hot"]})
    True

    Args:
        where: A filter of ours.

    Returns:
        A function that says whether metadata match it.

    Raises:
        FilterError: If it is no filter of ours.
    """
    parsed = parse(where)
    return lambda metadata: matches(parsed, metadata)


def operator_filter(where: Where) -> dict[str, Any]:
    """Make a filter for stores that read a mapping, one operator for each key.

    Chroma is one. Beside `$and` and `$or` it uses `$eq`, `$ne`, `$gt`, `$gte`,
    `$lt`, `$lte`, `$in` and `$nin`, which hold for plain values, not for lists.

    >>> operator_filter({"lang": "en", "year": {"$between": [2020, 2024]}})
    {'$and': [{'lang': {'$eq': 'en'}}, {'year': {'$gte': 2020}}, {'year': ...}]}
    >>> operator_filter({"$not": {"lang": {"$in": ["en", "fr"]}}})
    {'lang': {'$nin': ['en', 'fr']}}

    Args:
        where: A filter of ours.

    Returns:
        The same in those operators.

    Raises:
        FilterError: If it is no filter of ours, or those operators cannot say it:
            `$exists`, `$contains`, `$not` of a comparison by order.
    """
    return _written(parse(where), negated=False)


def _written(parsed: Filter, *, negated: bool) -> dict[str, Any]:
    if isinstance(parsed, Not):
        return _written(parsed.part, negated=not negated)
    if isinstance(parsed, Compare):
        return _negative(parsed) if negated else _positive(parsed)
    parts = [_written(part, negated=negated) for part in parsed.parts]
    # By De Morgan: not both is one of them not, none of them is each of them not.
    is_all = isinstance(parsed, All) is not negated
    if not parts:
        raise FilterError("a filter that says nothing cannot be translated")
    return _joined("$and" if is_all else "$or", parts)


def _positive(leaf: Compare) -> dict[str, Any]:
    values = [fact.value for fact in leaf.operands]
    match leaf.operator:
        case "$in" if len(values) == 1:
            return {leaf.key: {"$eq": values[0]}}
        case "$in" if values:
            return {leaf.key: {"$in": values}}
        case "$between" if values:
            low, high = values
            return {"$and": [{leaf.key: {"$gte": low}}, {leaf.key: {"$lte": high}}]}
        case "$gt" | "$gte" | "$lt" | "$lte" if values:
            return {leaf.key: {leaf.operator: values[0]}}
        case _:
            raise _unsayable(leaf)


def _negative(leaf: Compare) -> dict[str, Any]:
    values = [fact.value for fact in leaf.operands]
    if leaf.operator != "$in" or not values:
        raise _unsayable(leaf)
    many = len(values) > 1
    return {leaf.key: {"$nin": values} if many else {"$ne": values[0]}}


def _joined(operator: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    flat: list[dict[str, Any]] = []
    for part in parts:
        flat += part.get(operator, [part])
    return {operator: flat} if len(flat) > 1 else flat[0]


def _unsayable(leaf: Compare) -> FilterError:
    return FilterError(
        f"key `{leaf.key}`: `{leaf.operator}` cannot be said to this store, or not "
        "its negation, or not with this value"
    )
