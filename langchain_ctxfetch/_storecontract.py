"""What every store must do, as tests that anyone can inherit."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, ClassVar, cast

from langchain_ctxfetch._contracts import (
    WithStore,
    ids_of,
    matching,
    require,
    untouched,
)
from langchain_ctxfetch._core.flow import Failed, Ok, Outcome, unwrap
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.errors import CtxFetchError
from langchain_ctxfetch.ports import SearchRequest, SearchStore, Where

_HOSTILE = ('C++ "tea', "NEAR(", "AND OR NOT", "tea*", "a:b", "'; drop --", "[]{}\\")


class StoreContract(WithStore):
    """Test what a `SearchStore` promises: inherit, say how to make one, run pytest.

    >>> class TestMemoryStore(StoreContract):
    ...     def make_store(self):
    ...         from langchain_ctxfetch.testing import MemoryStore
    ...
    ...         return MemoryStore()
    >>> contract = TestMemoryStore()
    >>> contract.setup_method()
    >>> contract.test_a_long_answer_continues_the_short_one()

    A store that is written elsewhere overrides `fill`, one that holds something open
    `close_store`. Each test says what to mend when it fails.
    """

    query: ClassVar[str] = "tea"
    other_query: ClassVar[str] = "coffee degrees"
    where: ClassVar[Where] = {"lang": "en"}

    # --- Searching ---

    def test_channel_names_are_names(self) -> None:
        """There is one at least, and none is blank or there twice."""
        names = list(self.store.channel_names())
        require(isinstance(self.store, SearchStore), "a method of SearchStore is gone")
        require(names, "channel_names must name at least one channel")
        require(
            all(isinstance(name, str) and name.strip() for name in names)
            and len(set(names)) == len(names),
            f"channel_names must be different texts that are not blank, not {names}",
        )

    def test_every_channel_finds_something(self) -> None:
        """Without hits the other tests prove nothing."""
        for channel in self.store.channel_names():
            found = self._search(channel)
            require(
                len(found) > 2,  # noqa: PLR2004 - enough for an order
                f"{channel} must find three documents for {self.query!r}: fill the "
                "store with `documents`",
            )

    def test_a_long_answer_continues_the_short_one(self) -> None:
        """Without that pages repeat documents and leave others out."""
        for channel in self.store.channel_names():
            whole = ids_of(self._search(channel))
            for depth in range(len(whole) + 2):
                found = ids_of(self._search(channel, depth=depth))
                require(
                    found == whole[:depth],
                    f"{channel}: the answer of depth {depth} must be the first "
                    f"{depth} of the longer answer {whole}, not {found}: break ties "
                    "by id, and rank before you cut",
                )

    def test_no_document_stands_twice(self) -> None:
        """A store brings documents, not the pieces of them that it found."""
        for channel in self.store.channel_names():
            found = ids_of(self._search(channel))
            require(
                len(set(found)) == len(found),
                f"{channel} must bring a document once, not {found}",
            )

    def test_scores_fall(self) -> None:
        """The best document comes first, and its score is the highest."""
        for channel in self.store.channel_names():
            scores = [hit.score for hit in self._search(channel)]
            known = [score for score in scores if score is not None]
            require(
                len(known) in {0, len(scores)}
                and all(first >= second for first, second in pairwise(known)),
                f"{channel}: scores must fall from the best hit to the worst (a "
                f"distance needs a minus), or all be None, not {scores}",
            )

    def test_a_round_is_its_requests_one_by_one(self) -> None:
        """What is asked together is answered in order, and as if asked alone."""
        requests = [
            SearchRequest(channel, query, depth, where)
            for channel in self.store.channel_names()
            for query in (self.query, self.other_query)
            for depth, where in ((9, None), (1, None), (9, self.where))
        ]
        together = [ids_of(unwrap(one)) for one in self.store.search_round(requests)]
        alone = [ids_of(self._answer(request)) for request in requests]
        require(
            together == alone,
            f"search_round must answer each request of a round, in order, as it "
            f"would alone: {alone}, not {together}",
        )

    def test_bodies_are_text_and_metadata_as_they_were_stored(self) -> None:
        """Where they are asked for."""
        stored = {hit.id: hit for hit in self.documents}
        for channel in self.store.channel_names():
            for hit in self._search(channel, bodies=True):
                known = stored.get(hit.id)
                require(
                    known is not None
                    and hit.text == known.text
                    and dict(hit.metadata) == dict(known.metadata),
                    f"{channel}: with bodies=True a hit must have the text and the "
                    f"metadata that were stored, unchanged; {hit.id!r} has not",
                )

    def test_a_complete_answer_scores_what_others_brought(self) -> None:
        """Its first hits are its own; then come those of the round, each once."""
        for channel in self.store.channel_names():
            asked = SearchRequest(channel, self.query, 1, complete=True)
            other = SearchRequest(channel, self.other_query, 3)
            own, others = map(unwrap, self.store.search_round([asked, other]))
            first = self._search(channel, depth=1)
            require(
                ids_of(own[:1]) == ids_of(first),
                f"{channel}: complete=True must not change the first hits",
            )
            require(
                sorted(map(str, ids_of(own[1:])))
                == sorted(str(hit.id) for hit in others if hit.id not in ids_of(first)),
                f"{channel}: with complete=True the documents that only other "
                "requests of the round brought must follow, each once",
            )
            require(
                all(hit.score is not None for hit in own[1:])
                or all(hit.score is None for hit in first),
                f"{channel}: what follows must have this channel's score, 0 or below "
                "where it does not match",
            )

    def test_a_search_obeys_its_filter(self) -> None:
        """It brings what matches, all of it and nothing else, at any depth."""
        for channel in self.store.channel_names():
            # Of a filter and its opposite, one leaves out the best document.
            for where in (self.where, {"$not": self.where}):
                self._check_filter(channel, where)

    def test_an_unknown_channel_is_an_error(self) -> None:
        """An empty answer would look like a search that found nothing."""
        try:
            (outcome,) = self.store.search_round([SearchRequest("none", "tea", 3)])
        except CtxFetchError:
            return
        require(
            isinstance(outcome, Failed),
            "a channel that is not there must be Failed, or raise an error of "
            "langchain_ctxfetch.errors, not give an answer",
        )

    def test_no_question_is_query_syntax(self) -> None:
        """Text of a user is never an operator, nor an error."""
        for channel in self.store.channel_names():
            for query in (*_HOSTILE, "", "  "):
                (outcome,) = self.store.search_round([SearchRequest(channel, query, 3)])
                require(
                    isinstance(outcome, Ok),
                    f"{channel}: the question {query!r} must be taken as plain text, "
                    f"not fail: {outcome}",
                )

    # --- Bringing texts ---

    def test_fetch_brings_what_exists(self) -> None:
        """Whole texts; what is not there is left out."""
        asked = [*ids_of(self.documents), "not there"]
        found = {hit.id: hit for hit in self.store.fetch(asked)}
        require(
            set(found) == set(ids_of(self.documents)),
            f"fetch must bring every document that exists and no other, not "
            f"{sorted(map(str, found))}",
        )
        for hit in self.documents:
            require(
                found[hit.id].text == hit.text
                and dict(found[hit.id].metadata) == dict(hit.metadata),
                f"fetch must bring text and metadata as stored; {hit.id!r} differs",
            )

    def test_fetch_obeys_its_filter(self) -> None:
        """Knowing an id opens no door."""
        found = self.store.fetch(ids_of(self.documents), filter=self.where)
        require(
            set(ids_of(found)) == self._matching(),
            f"fetch with filter={self.where} must bring {self._matching()}, "
            f"not {ids_of(found)}",
        )

    def test_highlight_has_one_outcome_for_each_id_in_order(self) -> None:
        """None where there is no such document."""
        asked = ["long", "not there", "green", "bread"]
        found = self._highlight(asked)
        require(
            [hit and hit.id for hit in found] == ["long", None, "green", "bread"],
            f"highlight must give one outcome for each of {asked}, in order, None "
            f"for what is not there; not {found}",
        )

    def test_highlight_obeys_its_filter(self) -> None:
        """None where the document does not match."""
        asked = ids_of(self.documents)
        found = self._highlight(asked, filter=self.where)
        require(
            [hit is not None for hit in found]
            == [name in self._matching() for name in asked],
            f"highlight with filter={self.where} must give None for every document "
            "that does not match",
        )

    def test_passages_are_stretches_of_the_text(self) -> None:
        """In reading order, apart, exact to the character, within the room."""
        texts = {hit.id: hit.text or "" for hit in self.documents}
        for room in (40, 200, 3000):
            for hit in self._highlight(ids_of(self.documents), room=room):
                passages = hit.passages if hit else ()
                require(
                    hit is None
                    or all(
                        each.text == texts[hit.id][each.start : each.end]
                        for each in passages
                    ),
                    "text[start:end] of the stored text must be the passage, in "
                    "characters, not bytes, and with its text",
                )
                require(
                    all(a.end <= b.start for a, b in pairwise(passages)),
                    "passages must come in reading order and not overlap",
                )
                require(
                    sum(each.end - each.start for each in passages) <= room,
                    f"passages of a document must have {room} characters at most",
                )

    def test_highlight_finds_what_answers(self) -> None:
        """In the middle of a long text; and nothing where nothing answers."""
        long, bread = self._highlight(["long", "bread"], room=200)
        require(
            long and any(self.query in (each.text or "") for each in long.passages),
            f"a passage of the document 'long' must hold {self.query!r}",
        )
        require(
            bread and not bread.passages,
            "a document without an answer must have no passages: its beginning is "
            "not an answer",
        )

    # --- Always ---

    def test_sync_and_async_agree(self) -> None:
        """Searches, texts and passages."""
        asked = ids_of(self.documents)
        requests = [
            SearchRequest(channel, self.query, 9, self.where, bodies=True)
            for channel in self.store.channel_names()
        ]
        pairs = [
            (self.store.search_round, self.store.asearch_round, (requests,)),
            (self.store.fetch, self.store.afetch, (asked,)),
            (self.store.highlight, self.store.ahighlight, (asked, self.query)),
        ]
        for call, acall, arguments in pairs:
            answered, expected = asyncio.run(acall(*arguments)), call(*arguments)
            require(
                answered == expected,
                f"{acall.__name__} must answer as {call.__name__} does: {expected}, "
                f"not {answered}",
            )

    def test_nothing_that_is_given_is_changed(self) -> None:
        """Neither the requests nor the ids nor the filter."""
        where = {"$and": [{"lang": "en"}, {"n": {"$in": [1, 2]}}]}
        channel = next(iter(self.store.channel_names()))
        requests = [SearchRequest(channel, self.query, 9, where)]
        ids = ids_of(self.documents)
        untouched(requests, lambda: self.store.search_round(requests), "search_round")
        untouched((ids, where), lambda: self.store.fetch(ids, filter=where), "fetch")
        untouched(
            (ids, where),
            lambda: self.store.highlight(ids, self.query, filter=where),
            "highlight",
        )

    def test_changing_an_answer_does_not_change_the_store(self) -> None:
        """What it gives out is a copy, to the last nested list."""
        for hit in self.store.fetch(["bread"]):
            cast("dict[str, Any]", hit.metadata)["tags"].append("changed")
        (again,) = self.store.fetch(["bread"])
        require(
            again.metadata["tags"] == ["a", "b"],
            "metadata must be copied on the way out, nested values too",
        )

    # --- Shorter ways to ask ---

    def _check_filter(self, channel: str, where: Where) -> None:
        found = ids_of(self._search(channel, where=where))
        wanted = matching(self.documents, where)
        wanted &= set(ids_of(self._search(channel)))
        require(
            set(found) == wanted,
            f"{channel}: with where={where} it must bring {wanted}, not {found}",
        )
        for depth in range(len(found)):
            short = ids_of(self._search(channel, depth=depth, where=where))
            require(
                short == found[:depth],
                f"{channel}: with where={where} and depth {depth} it must bring "
                f"{found[:depth]}, not {short}: filter before you cut to the depth",
            )

    def _search(
        self,
        channel: str,
        *,
        depth: int = 50,
        where: Where | None = None,
        bodies: bool = False,
    ) -> list[Hit]:
        return self._answer(SearchRequest(channel, self.query, depth, where, bodies))

    def _answer(self, request: SearchRequest) -> list[Hit]:
        outcomes: Sequence[Outcome[list[Hit]]] = self.store.search_round([request])
        require(
            isinstance(outcomes, list | tuple) and len(outcomes) == 1,
            f"search_round must give one outcome for each request, not {outcomes}",
        )
        return unwrap(outcomes[0])

    def _highlight(self, ids: Sequence[str | None], **more: Any) -> list[Hit | None]:  # noqa: ANN401 - filter and room
        outcomes = self.store.highlight(ids, self.query, **more)
        return [unwrap(outcome) for outcome in outcomes]

    def _matching(self) -> set[str | None]:
        return matching(self.documents, self.where)
