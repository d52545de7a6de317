"""Pages that come from a query and a number alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import Generic, Literal, TypeVar

from langchain_ctxfetch._core.hits import Gap
from langchain_ctxfetch.errors import PageError

T = TypeVar("T")

MAX_WINDOW = 100
"""How many places of a ranking can be paged through by default."""

End = Literal["more", "exhausted", "limit"]
"""Why a page is followed by another one, or by none."""


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Be one page of a ranking, to be run through like its documents.

    Attributes:
        documents: What stands on the page, best first.
        page: Its number, from 1.
        k: The size of a full page, in documents.
        last_page: The greatest number that may be asked for.
        has_more: Whether the next page may be asked for and is not empty.
        end: `"more"`, or why not: `"exhausted"` where nothing follows,
            `"limit"` where something follows that cannot be reached by paging.
        complete: Whether every part that should have been searched was.
        gaps: What was not searched or not delivered.
    """

    documents: tuple[T, ...]
    page: int
    k: int
    last_page: int
    end: End
    gaps: tuple[Gap, ...] = ()
    has_more: bool = field(init=False)
    complete: bool = field(init=False)

    def __iter__(self) -> Iterator[T]:
        return iter(self.documents)

    def __len__(self) -> int:
        return len(self.documents)

    def __post_init__(self) -> None:
        # Fields, so that a page as a dict holds them; derived, so that they are true.
        object.__setattr__(self, "has_more", self.end == "more")
        object.__setattr__(self, "complete", not self.gaps)


def last_page(k: int, max_window: int = MAX_WINDOW) -> int:
    """Return the last page that may be asked for.

    One place of the window is kept back: it tells whether another page follows.

    >>> [last_page(k) for k in (1, 10, 33, 100)]
    [99, 9, 3, 1]

    Args:
        k: Page size, in items; below 1 there is one (empty) page.
        max_window: The most places that can be paged through.

    Returns:
        A page number, at least 1.
    """
    return 1 if k < 1 else max(1, (max_window - 1) // k)


def window(page: int, k: int) -> int:
    """Return how many places must be known to cut a page and know its successor.

    >>> window(3, 10)
    31
    """
    return page * max(0, k) + 1


def check_page(page: int, k: int, max_window: int = MAX_WINDOW) -> None:
    """Refuse a page that cannot be asked for.

    >>> check_page(9, 10)

    Args:
        page: Page number, from 1.
        k: Page size, in items.
        max_window: The most places that can be paged through.

    Raises:
        PageError: If *page* is below 1 or beyond the last page.
    """
    last = last_page(k, max_window)
    if not 1 <= page <= last:
        raise PageError(page, last)


def cut(
    places: Sequence[T],
    page: int,
    k: int,
    *,
    max_window: int = MAX_WINDOW,
    capped: bool = False,
) -> Page[T]:
    """Cut a page out of a ranking.

    >>> last = cut("abcde", 3, 2)
    >>> last.documents, last.has_more, last.end
    (('e',), False, 'exhausted')

    Args:
        places: The ranking, best first, at least one place beyond the page where
            there is one.
        page: Page number, from 1.
        k: Page size, in items.
        max_window: The most places that can be paged through.
        capped: Whether the ranking goes on beyond *places*, out of reach.

    Returns:
        The page.

    Raises:
        PageError: If *page* is out of range.
    """
    check_page(page, k, max_window)
    last = last_page(k, max_window)
    size = max(0, k)
    items = tuple(places[(page - 1) * size : page * size])
    end: End = "limit" if capped else "exhausted"
    if size and len(places) > page * size:
        end = "more" if page < last else "limit"
    return Page(items, page, k, last, end)


def take_turns(
    channels: Iterable[Iterable[T]],
    *,
    key: Callable[[T], str],
    places: int | None = None,
) -> list[T]:
    """Build one ranking by turns: the first of each, then the second of each.

    >>> take_turns(["abc", "bde"], key=str)
    ['a', 'b', 'd', 'c', 'e']

    A channel that ran out leaves its turns to the others. An item that stands
    already is passed over, and with it that turn.

    Args:
        channels: Best first.
        key: What makes two items one; items of a blank key are never the same.
        places: The most items to return; None returns all.

    Returns:
        Each item once, in the order of its first turn.
    """
    return list(islice(_unique(_by_turns(channels), key), places))


_NOBODY = object()


def _by_turns(channels: Iterable[Iterable[T]]) -> Iterator[T]:
    rows = zip_longest(*channels, fillvalue=_NOBODY)
    return (item for item in chain.from_iterable(rows) if item is not _NOBODY)  # type: ignore[misc]  # the fill value is taken out here


def _unique(items: Iterable[T], key: Callable[[T], str]) -> Iterator[T]:
    seen: set[str] = set()
    for item in items:
        name = key(item)
        if name.strip():
            if name in seen:
                continue
            seen.add(name)
        yield item
