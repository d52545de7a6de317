"""The comparable scalars of a document's metadata."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from uuid import UUID

from langchain_ctxfetch._core.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

MAX_TEXT = 8_000
"""The longest text, in characters, that can be filtered by."""

INTEGERS = range(-(2**63), 2**63)
"""The whole numbers that can be filtered by: those of 64 bits."""

Kind: TypeAlias = Literal["b", "n", "t"]
Scalar: TypeAlias = bool | int | float | str


@dataclass(frozen=True, slots=True)
class Fact:
    """Be one scalar that a filter can compare.

    Attributes:
        key: The metadata key that it stands under.
        kind: `"b"` for a bool, `"n"` for a number, `"t"` for text; facts of
            different kinds never match.
        value: The value, normalised.
        element: Whether it is an element of a list.
    """

    key: str
    kind: Kind
    value: Scalar
    element: bool = False


def facts(metadata: Mapping[str, object]) -> Iterator[Fact]:
    """Run through the comparable scalars of a document's metadata.

    >>> [(fact.key, fact.kind, fact.value) for fact in facts({"a": [1, "x"], "b": {}})]
    [('a', 'n', 1), ('a', 't', 'x')]

    Lists and tuples give each of their elements. Mappings, bytes, sets, NaN, None,
    integers of more than 64 bits and texts longer than `MAX_TEXT` give nothing, so
    they count as missing.

    Args:
        metadata: What is stored with the document.

    Yields:
        Fact: Each scalar, normalised: times as `moment_text` writes them, UUIDs as
        text, numpy scalars as plain numbers.
    """
    for key, value in metadata.items():
        # JSON, in which stores keep metadata, knows no other keys than strings.
        name = clean(str(key))
        if isinstance(value, list | tuple):
            for element in value:
                yield from fact_of(name, element, element=True)
        else:
            yield from fact_of(name, value)


def moment_text(moment: date) -> str:
    """Write a date or time as text that sorts by time.

    >>> moment_text(datetime(2024, 5, 1, 12, 30))
    '2024-05-01T12:30:00.000000Z'
    >>> moment_text(date(2024, 5, 1))
    '2024-05-01T00:00:00.000000Z'

    Args:
        moment: A time, naive ones in UTC; a date means its first moment.

    Returns:
        ISO 8601 in UTC with microseconds and `Z`.

    Raises:
        OverflowError: If the time in UTC lies outside the years 1 to 9999.
    """
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time.min)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return moment.isoformat(timespec="microseconds") + "Z"


def fact_of(key: str, value: object, *, element: bool = False) -> Iterator[Fact]:
    """Yield the fact that *value* is, or nothing where it is not comparable."""
    found = normalised(value)
    if found is not None and _comparable(found):
        yield Fact(key, _kind(found), found, element)


def normalised(value: object) -> Scalar | None:
    """Return the plain form of a scalar.

    >>> normalised(UUID(int=0))
    '00000000-0000-0000-0000-000000000000'

    Args:
        value: Anything.

    Returns:
        A bool, number or text; None for what is no scalar.
    """
    for scalar, plain in _PLAIN:
        if isinstance(value, scalar):
            return plain(value)
    return _numpy_scalar(value)


def _moment(value: date) -> Scalar:
    if value != value:  # noqa: PLR0124 - pandas' NaT is a datetime, and equals nothing
        return math.nan
    try:
        return moment_text(value)
    except OverflowError:
        # A time that has no text equals nothing, as NaN does.
        return math.nan


_PLAIN: tuple[tuple[type, Callable[..., Scalar]], ...] = (
    (bool, bool),
    # The bare text of a subclass, an enum's for instance, not its own `str()`.
    (str, lambda text: clean(str.__str__(text))),
    (int, operator.index),
    (float, float.__float__),
    (UUID, str),
    (date, _moment),
)
"""What is a scalar, and its plain form; bool before int, since a bool is no number."""


def _numpy_scalar(value: object) -> Scalar | None:
    """Return a numpy scalar as a plain one; numpy itself is not needed for that."""
    if getattr(value, "shape", None) != ():
        return None
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    read = _NUMPY.get(kind) if isinstance(kind, str) else None
    return None if read is None else read(value)


def _numpy_moment(value: Any) -> Scalar:  # noqa: ANN401 - numpy is not known here
    # In microseconds: of nanoseconds numpy itself would make a bare number.
    moment = value.astype("datetime64[us]").tolist()
    return moment_text(moment) if isinstance(moment, datetime) else math.nan


_NUMPY: dict[str, Callable[[object], Scalar]] = {
    "b": bool,
    "i": lambda value: int(str(value)),
    "u": lambda value: int(str(value)),
    # By its text, so that a single-precision 1.1 is the 1.1 that was written.
    "f": lambda value: float(str(value)),
    "M": _numpy_moment,
    "U": lambda value: clean(str(value)),
}
"""How a numpy scalar, or an array of one, becomes plain, by the kind of its type."""


def _comparable(value: Scalar) -> bool:
    if isinstance(value, str):
        return len(value) <= MAX_TEXT
    if isinstance(value, float):
        return not math.isnan(value)
    return value in INTEGERS


def _kind(value: Scalar) -> Kind:
    if isinstance(value, bool):
        return "b"
    return "t" if isinstance(value, str) else "n"
