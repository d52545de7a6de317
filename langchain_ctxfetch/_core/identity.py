"""Which hits of several channels are one document."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from langchain_ctxfetch._core.hits import Hit

KeyFunction: TypeAlias = Callable[[Hit], str | None]
"""Names the document that a hit is, or None where it cannot tell."""

_Print: TypeAlias = tuple[str, str, str]


class Identities:
    """Give every hit a key, the same for hits that are one document.

    >>> same = Identities()
    >>> a, b = Hit("7", "text"), Hit(None, "text")
    >>> same.of(a) == same.of(b), same.of(a) == same.of(Hit("8", "text"))
    (True, False)

    Two hits with ids are one document when the ids are equal, compared exactly.
    Where one of them has none they are one when source, start index and text are
    equal. Keys depend only on the hits seen before, in their order.

    Args:
        key: A name of the caller's own, which comes first; where it gives None or
            a blank name the rule above holds.
    """

    def __init__(self, key: KeyFunction | None = None) -> None:
        self._key = key
        self._by_id: dict[str, str] = {}
        self._by_print: dict[_Print, str] = {}
        self._nameless: dict[_Print, str] = {}
        self._made = 0

    def of(self, hit: Hit) -> str:
        """Return the key of the document that *hit* is."""
        named = self._key(hit) if self._key is not None else None
        if named is not None and named.strip():
            # Neither ids nor names of another kind begin so.
            return f"\0key {named}"
        return self._of_nameless(hit) if hit.id is None else self._of_id(hit, hit.id)

    def _of_id(self, hit: Hit, name: str) -> str:
        if name not in self._by_id:
            mark = _print(hit)
            # A hit without an id that was seen before may turn out to be this one.
            claimed = self._nameless.pop(mark, None) if mark else None
            # Blank keys are equal to nothing; a blank id is still an id.
            self._by_id[name] = claimed or (name if name.strip() else f"\0id {name}")
            if mark:
                self._by_print.setdefault(mark, self._by_id[name])
        return self._by_id[name]

    def _of_nameless(self, hit: Hit) -> str:
        mark = _print(hit) or ("", "", "")
        if mark in self._by_print:
            return self._by_print[mark]
        if mark not in self._nameless:
            self._made += 1
            # No id holds a NUL, so this name meets no id.
            self._nameless[mark] = f"\0{self._made}"
        return self._nameless[mark]


def _print(hit: Hit) -> _Print | None:
    if hit.text is None:
        return None
    source, start = hit.metadata.get("source"), hit.metadata.get("start_index")
    return repr(source), repr(start), hit.text
