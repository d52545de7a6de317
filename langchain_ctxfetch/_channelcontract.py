"""What every channel must do, as tests that anyone can inherit."""

from __future__ import annotations

import asyncio
import copy
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from langchain_ctxfetch._contracts import DOCUMENTS, require, untouched
from langchain_ctxfetch._core import filters
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.ports import Channel, Where


class ChannelContract(ABC):
    """Test what a `Channel` promises: inherit, say how to make one, run pytest.

    >>> class TestScripted(ChannelContract):
    ...     def make_channel(self):
    ...         from langchain_ctxfetch.testing import ScriptedChannel
    ...
    ...         return ScriptedChannel("fake", self.documents)
    >>> contract = TestScripted()
    >>> contract.setup_method()
    >>> contract.test_a_long_answer_continues_the_short_one()

    Attributes:
        documents: What the channel may be made to search; any others will do.
        query: A question to which it finds at least three documents.
        where: For a channel that can filter: what some of those match, and some not.
        has_sync: Whether `ask` answers; False for a channel that cannot block.
    """

    documents: ClassVar[Sequence[Hit]] = DOCUMENTS
    query: ClassVar[str] = "tea"
    where: ClassVar[Where] = {"lang": "en"}
    has_sync: ClassVar[bool] = True
    channel: Channel

    @abstractmethod
    def make_channel(self) -> Channel:
        """Return a new channel over at least three documents."""

    def close_channel(self, channel: Channel) -> None:  # noqa: B027 - most hold nothing
        """Release what a channel holds; by default nothing."""

    def setup_method(self) -> None:
        """Make the channel of one test; pytest calls it."""
        self.channel = self.make_channel()

    def teardown_method(self) -> None:
        """Close the channel of one test; pytest calls it."""
        self.close_channel(self.channel)

    def test_it_has_a_name(self) -> None:
        """Weights, gaps and metadata call it so."""
        name: object = self.channel.name
        require(
            isinstance(name, str) and name.strip(),
            f"`name` must be a text that is not blank, not {name!r}",
        )

    def test_its_greatest_depth_is_one(self) -> None:
        """None, or a number of hits."""
        most: object = self.channel.max_depth
        require(
            most is None or (isinstance(most, int) and most > 0),
            f"`max_depth` must be None or a number above 0, not {most!r}",
        )

    def test_it_answers_with_hits(self) -> None:
        """In a list, each with what can be shown."""
        found: Any = self._ask()
        require(
            isinstance(found, list) and all(isinstance(hit, Hit) for hit in found),
            f"ask must return a list of Hit, not {found!r:.200}",
        )
        require(
            len(found) > 2,  # noqa: PLR2004 - enough for an order
            f"it must find three documents for {self.query!r}: make it search "
            "`documents`, or set another `query`",
        )
        require(
            all(isinstance(hit.text, str) for hit in found),
            "a hit must have its text: a channel alone has nobody who brings it",
        )
        require(
            all(hit.score is None or isinstance(hit.score, float) for hit in found),
            "a score must be a plain float, or None",
        )

    def test_it_answers_with_no_more_than_the_depth(self) -> None:
        """At most as many hits as asked for."""
        for depth in (1, 2):
            count = len(self._ask(depth=depth))
            require(
                count <= depth,
                f"ask must return {depth} hits at most, not {count}: cut to the depth",
            )

    def test_a_long_answer_continues_the_short_one(self) -> None:
        """Without that pages repeat documents and leave others out."""
        whole = _named(self._ask())
        for depth in range(1, len(whole) + 2):
            found = _named(self._ask(depth=depth))
            require(
                found == whole[:depth],
                f"the answer of depth {depth} must be the first {depth} of the longer "
                f"answer {whole}, not {found}: break ties in a fixed order",
            )

    def test_it_obeys_its_filter(self) -> None:
        """It brings what matches and nothing else, if it says that it can filter."""
        if self.channel.supports_filter:
            # Of a filter and its opposite, one leaves out the best document.
            self._check_filter(self.where)
            self._check_filter({"$not": self.where})

    def test_sync_and_async_agree(self) -> None:
        """Both ways bring the same hits."""
        if not self.has_sync:
            return
        most = self._deepest()
        for depth in (1, most):
            sync = self.channel.ask(self.query, depth, None)
            awaited = asyncio.run(self.channel.aask(self.query, depth, None))
            require(
                _named(sync) == _named(awaited),
                f"aask must answer as ask does: {_named(sync)}, not {_named(awaited)}",
            )

    def test_nothing_that_is_given_is_changed(self) -> None:
        """The filter is the caller's."""
        if not self.channel.supports_filter:
            return
        where = {"$and": [copy.deepcopy(dict(self.where))]}
        untouched(where, lambda: self._ask(where=where), "ask")

    def _check_filter(self, where: Where) -> None:
        found, everything = _named(self._ask(where=where)), self._ask()
        parsed = filters.parse(where)
        wanted = [hit for hit in everything if filters.matches(parsed, hit.metadata)]
        require(
            0 < len(wanted) < len(everything),
            f"`where` must match some of the hits and some not, not {len(wanted)} of "
            f"{len(everything)}: set another one",
        )
        require(
            sorted(map(str, found)) == sorted(map(str, _named(wanted))),
            f"with where={where} it must bring {_named(wanted)}, not {found}; a "
            "channel that cannot filter says supports_filter = False",
        )
        for depth in range(1, len(found)):
            short = _named(self._ask(depth=depth, where=where))
            require(
                short == found[:depth],
                f"with where={where} and depth {depth} it must bring "
                f"{found[:depth]}, not {short}: filter before you cut",
            )

    def _ask(
        self, *, depth: int | None = None, where: Where | None = None
    ) -> list[Hit]:
        asked = (self.query, depth or self._deepest(), where)
        if self.has_sync:
            return self.channel.ask(*asked)
        return asyncio.run(self.channel.aask(*asked))

    def _deepest(self) -> int:
        return min(50, self.channel.max_depth or 50)


def _named(hits: Sequence[Hit]) -> list[tuple[str | None, str | None]]:
    return [(hit.id, hit.text and hit.text[:40]) for hit in hits]
