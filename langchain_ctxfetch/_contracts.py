"""What the contracts of stores and channels stand on."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.ports import Where

_FILLER = "The weather was mild and nothing else happened on that day. "

DOCUMENTS: tuple[Hit, ...] = (
    Hit("green", "Green tea is steeped at 80 degrees.", {"lang": "en", "n": 1}),
    Hit("black", "Black tea, strong tea, tea with milk.", {"lang": "en", "n": 2}),
    Hit("thé", "Du thé vert, in English: green tea.", {"lang": "fr", "n": 3}),
    Hit("coffee", "Coffee is brewed at 93 degrees.", {"lang": "en", "n": 4}),
    Hit("both", "Tea or coffee, that is the question.", {"lang": "fr", "n": 5}),
    Hit("bread", "Bread is baked at 230 degrees.", {"lang": "en", "tags": ["a", "b"]}),
    Hit(
        "long",
        f"{_FILLER * 20}The tea of the house is smoked. {_FILLER * 20}"
        f"More tea was ordered later. {_FILLER * 20}",
        {"lang": "en", "n": 7},
    ),
)
"""What the stores and channels of the contracts hold."""


def require(condition: object, message: str) -> None:
    """Fail with advice; not `assert`, which Python can be told to leave out."""
    if not condition:
        raise AssertionError(message)


def untouched(given: object, call: Callable[[], object], name: str) -> None:
    """Fail where a call changes what it was given."""
    before = copy.deepcopy(given)
    call()
    require(given == before, f"{name} must not change what it is given: copy it")


def ids_of(hits: Sequence[Hit]) -> list[str | None]:
    """Return the ids of hits, in order."""
    return [hit.id for hit in hits]


def matching(documents: Sequence[Hit], where: Where | None) -> set[str | None]:
    """Return the ids of the documents that match a filter."""
    parsed = filters.parse(where)
    return {hit.id for hit in documents if filters.matches(parsed, hit.metadata)}


class WithStore(ABC):
    """Make a store for each test, and close it afterwards."""

    documents: ClassVar[Sequence[Hit]] = DOCUMENTS
    store: Any

    @abstractmethod
    def make_store(self) -> Any:  # noqa: ANN401 - a store, of one port or both
        """Return a new store without documents."""

    def fill(self, store: Any, documents: Sequence[Hit]) -> None:  # noqa: ANN401 - a store, of one port or both
        """Put documents into a store; override it where the store cannot `put`."""
        store.put(documents)

    def close_store(self, store: Any) -> None:  # noqa: ANN401, B027 - most hold nothing
        """Release what a store holds; by default nothing."""

    def setup_method(self) -> None:
        """Make the store of one test; pytest calls it."""
        self.store = self.make_store()
        self.fill(self.store, copy.deepcopy(self.documents))

    def teardown_method(self) -> None:
        """Close the store of one test; pytest calls it."""
        self.close_store(self.store)
