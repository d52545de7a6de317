"""One idea of a whole number, for every argument that counts something."""

from __future__ import annotations

import operator

from langchain_ctxfetch.errors import ConfigurationError


def whole(value: object) -> int:
    """Take any whole number, numpy's too, but no bool.

    >>> whole(3)
    3

    Args:
        value: What a caller gave.

    Returns:
        The number.

    Raises:
        ConfigurationError: If it is something else.
    """
    number = _whole(value)
    if number is None:
        raise ConfigurationError(f"a whole number is needed, not {value!r:.100}")
    return number


def whole_from(least: int, name: str, value: object, unit: str = "") -> int:
    """Take a whole number that is not below *least*.

    >>> whole_from(1, "k", 3)
    3

    Args:
        least: The smallest one allowed.
        name: What the argument is called.
        value: What a caller gave.
        unit: What is counted, for the message.

    Returns:
        The number.

    Raises:
        ConfigurationError: If it is smaller, a bool or no whole number.
    """
    number = _whole(value)
    if number is None or number < least:
        counted = f" {unit}" if unit else ""
        raise ConfigurationError(
            f"`{name}` must be a whole number from {least}{counted}, not {value!r:.100}"
        )
    return number


def _whole(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]  # it says so itself
    except TypeError:
        return None
