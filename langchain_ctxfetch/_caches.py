"""BoundedStore: a LangChain store in memory that forgets what was not used longest."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any

from langchain_core.stores import BaseStore
from typing_extensions import override

from langchain_ctxfetch._core.numbers import whole_from

MOST_BYTES = 64_000_000


class BoundedStore(BaseStore[str, bytes]):
    """Keep values in memory up to a number of bytes; the longest unused go first.

    Safe under threads. A value that is larger than the bound is not kept.

    >>> store = BoundedStore(max_bytes=10)
    >>> store.mset([("a", b"123456"), ("b", b"123456")])
    >>> store.mget(["a", "b"])
    [None, b'123456']

    Args:
        max_bytes: The most bytes of all keys and values.
    """

    def __init__(self, max_bytes: int = MOST_BYTES) -> None:
        self.max_bytes = whole_from(0, "max_bytes", max_bytes, "bytes")
        self._lock = threading.Lock()
        self._values: OrderedDict[str, bytes] = OrderedDict()
        self._used = 0

    def __repr__(self) -> str:
        return f"BoundedStore(max_bytes={self.max_bytes}, used={self._used})"

    def __deepcopy__(self, memo: dict[int, Any]) -> BoundedStore:
        return self  # a copy of what uses it shares it

    def __reduce__(self) -> tuple[type[BoundedStore], tuple[int]]:
        return BoundedStore, (self.max_bytes,)  # a fresh one: nothing is kept

    @override
    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        with self._lock:
            for key in keys:
                if key in self._values:
                    self._values.move_to_end(key)
            return [self._values.get(key) for key in keys]

    @override
    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        with self._lock:
            for key, value in key_value_pairs:
                self._drop(key)
                self._values[key] = value
                self._used += len(key) + len(value)
            while self._used > self.max_bytes:
                self._drop(next(iter(self._values)))

    @override
    def mdelete(self, keys: Sequence[str]) -> None:
        with self._lock:
            for key in keys:
                self._drop(key)

    @override
    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        with self._lock:
            keys = list(self._values)
        return (key for key in keys if key.startswith(prefix or ""))

    def _drop(self, key: str) -> None:
        value = self._values.pop(key, None)
        if value is not None:
            self._used -= len(key) + len(value)
