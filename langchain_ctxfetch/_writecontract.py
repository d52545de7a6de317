"""What every store that takes documents in must do."""

from __future__ import annotations

import asyncio

from langchain_ctxfetch._contracts import WithStore, matching, require, untouched
from langchain_ctxfetch._core.flow import unwrap
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import SearchRequest, SearchStore, WritableStore


class WritableStoreContract(WithStore):
    """Test what a `WritableStore` promises: inherit, say how to make one, run pytest.

    A store that is searched too inherits from `StoreContract` as well; then what is
    written must be found, and what is removed must not.

    >>> class TestMemoryStore(WritableStoreContract):
    ...     def make_store(self):
    ...         from langchain_ctxfetch.testing import MemoryStore
    ...
    ...         return MemoryStore()
    >>> contract = TestMemoryStore()
    >>> contract.setup_method()
    >>> contract.test_a_document_of_the_same_id_is_replaced()
    """

    def test_it_is_a_writable_store(self) -> None:
        """It has the methods of the port."""
        require(
            isinstance(self.store, WritableStore), "a method of WritableStore is gone"
        )

    def test_put_returns_the_ids_in_order(self) -> None:
        """Given ones as they are, and a new one where there is none."""
        given = [Hit("z", "last"), Hit(None, "one"), Hit("y", "y"), Hit(None, "two")]
        first, one, third, two = self.store.put(given)
        require(
            (first, third) == ("z", "y"),
            "put must return the ids in the order of the documents",
        )
        require(
            all(isinstance(name, str) and name for name in (one, two)) and one != two,
            f"put must give a document without an id a new one, not {one!r}, {two!r}",
        )
        require(
            {"z", "y", one, two} <= self._names(),
            "records must hold every document that put returned the id of",
        )

    def test_a_document_of_the_same_id_is_replaced(self) -> None:
        """Its text, its metadata and its words; there is still one of it."""
        count = len(list(self.store.records()))
        self.store.put([Hit("bread", "Now of zebras.", {"lang": "de"})])
        held = [metadata for name, metadata in self.store.records() if name == "bread"]
        require(
            held == [{"lang": "de"}] and len(list(self.store.records())) == count,
            f"put must replace the document of the same id, metadata too, not {held}",
        )
        if isinstance(self.store, SearchStore):
            (now,) = self.store.fetch(["bread"])
            require(now.text == "Now of zebras.", "put must replace the text")
            require("bread" in self._found("zebras"), "put must index the text anew")
            require(
                not self._by_words("baked"),
                "put must take the words of the text that is replaced out of the index",
            )

    def test_the_last_of_one_id_counts(self) -> None:
        """Also where both came at once."""
        names = self.store.put([Hit("w", "one", {"n": 1}), Hit("w", "two", {"n": 2})])
        held = [metadata for name, metadata in self.store.records() if name == "w"]
        require(
            (names, held) == (["w", "w"], [{"n": 2}]),
            "of two documents of one id the last must be stored, and both ids returned",
        )

    def test_what_is_removed_is_gone(self) -> None:
        """From the records, the texts and the searches."""
        count = self.store.remove(["green", "not there"])
        require(count == 1, f"remove must count what was there, 1, not {count!r}")
        require("green" not in self._names(), "a removed document must leave records")
        if isinstance(self.store, SearchStore):
            require(
                not self.store.fetch(["green"]) and "green" not in self._found("green"),
                "a removed document must not be fetched nor found",
            )

    def test_what_matches_is_removed(self) -> None:
        """All of it, and nothing else."""
        gone = matching(self.documents, {"lang": "fr"})
        count = self.store.remove(filter={"lang": "fr"})
        require(
            count == len(gone)
            and self._names() == {str(hit.id) for hit in self.documents} - gone,
            f"remove with a filter must remove what matches, {len(gone)} documents, "
            f"not {count!r}",
        )

    def test_ids_and_filter_together_remove_what_is_both(self) -> None:
        """Who may remove a tenant's documents removes no others by their ids."""
        count = self.store.remove(["thé", "green"], filter={"lang": "fr"})
        require(
            count == 1 and "green" in self._names() and "thé" not in self._names(),
            "remove with ids and a filter must remove only what is named and matches",
        )

    def test_removing_nothing_in_particular_is_refused(self) -> None:
        """A filter that was forgotten must not empty the store."""
        try:
            self.store.remove()
        except ConfigurationError:
            return
        require(False, "remove without ids and filter must raise ConfigurationError")  # noqa: FBT003 - reached only where it did not

    def test_no_ids_remove_nothing(self) -> None:
        """An empty list is not the same as none."""
        require(
            self.store.remove([]) == 0 and len(self._names()) == len(self.documents),
            "remove of an empty list must remove nothing",
        )

    def test_records_are_ids_and_metadata(self) -> None:
        """As they were stored."""
        held = dict(self.store.records())
        require(
            held == {hit.id: dict(hit.metadata) for hit in self.documents},
            f"records must give id and metadata of each document as stored, not {held}",
        )

    def test_records_obey_their_filter(self) -> None:
        """Only what matches is told of."""
        held = {name for name, _ in self.store.records(filter={"lang": "en"})}
        wanted = matching(self.documents, {"lang": "en"})
        require(
            held == wanted,
            f"records with a filter must give {sorted(map(str, wanted))}, not {held}",
        )

    def test_async_writing_is_writing(self) -> None:
        """What one twin wrote or removed the other one sees."""
        names = asyncio.run(self.store.aput([Hit("new", "Tea anew.", {"lang": "en"})]))
        require(
            names == ["new"] and "new" in self._names(), "aput must do what put does"
        )
        count = asyncio.run(self.store.aremove(["new"]))
        require(
            count == 1 and "new" not in self._names(),
            "aremove must do what remove does",
        )

    def test_nothing_that_is_written_is_changed_or_shared(self) -> None:
        """Neither by the store, nor in the store when the caller changes it later."""
        tags = ["a"]
        given = [Hit("mine", "text", {"tags": tags}), Hit(None, "text")]
        untouched(given, lambda: self.store.put(given), "put")
        tags.append("later")
        held = dict(self.store.records())["mine"]
        require(held == {"tags": ["a"]}, "put must copy metadata, nested values too")
        ids, where = ["mine"], {"tags": {"$in": ["a"]}}
        untouched((ids, where), lambda: self.store.remove(ids, filter=where), "remove")

    def _names(self) -> set[str]:
        return {name for name, _ in self.store.records()}

    def _found(self, query: str) -> set[str | None]:
        return {hit.id for hits in self._answers(query) for hit in hits}

    def _by_words(self, query: str) -> bool:
        """Say whether a channel that needs words finds any document by this one."""
        held = len(self._names())
        # A channel that brings everything, as one by vectors does, needs no words.
        return any(0 < len(hits) < held for hits in self._answers(query))

    def _answers(self, query: str) -> list[list[Hit]]:
        requests = [
            SearchRequest(name, query, 50) for name in self.store.channel_names()
        ]
        return [unwrap(outcome) for outcome in self.store.search_round(requests)]
