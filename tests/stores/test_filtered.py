"""No call brings anything outside its filter, and each brings all inside it."""

import asyncio

import numpy as np
import pytest

from langchain_ctxfetch import (
    ConfigurationError,
    FilterError,
    SearchRequest,
    SQLiteStore,
)
from langchain_ctxfetch._core.flow import Failed
from tests.stores.fakes import Words, found_ids, hit

SECRET = {"team": "secret"}
OPEN = {"team": "open"}


@pytest.fixture
def divided(path):
    """Return a store with documents of two teams."""
    with SQLiteStore(path, embedding=Words()) as store:
        for number in range(6):
            store.put(
                [
                    hit(f"open {number}", "cats sleep all day", **OPEN),
                    hit(f"secret {number}", "cats sleep", **SECRET),
                ]
            )
        yield store


def everything(store):
    """Return what every call that takes a filter brings out under it."""
    ids = [name for name, _ in store.records()]
    requests = [
        SearchRequest("keyword", "cats", 99, OPEN, bodies=True, complete=True),
        SearchRequest("vector", "cats", 99, OPEN, bodies=True, complete=True),
        SearchRequest("keyword", "cats", 99),
    ]
    first, second, _ = store.search_round(requests)
    vector = Words().embed_query("cats")
    return {
        "round": [hit.id for hit in (*first.value, *second.value)],
        "fetch": [hit.id for hit in store.fetch(ids, filter=OPEN)],
        "highlight": [
            outcome.value.id
            for outcome in store.highlight(ids, "cats", filter=OPEN)
            if outcome.value is not None
        ],
        "records": [name for name, _ in store.records(filter=OPEN)],
        "get_by_ids": [each.id for each in store.get_by_ids(ids, filter=OPEN)],
        "search": [
            each.id for each in store.similarity_search("cats", 99, filter=OPEN)
        ],
        "passages": [
            each.metadata["source_id"]
            for each in store.similarity_search(
                "cats", 99, filter=OPEN, returns="passages"
            )
        ],
        "by vector": [
            each.id
            for each in store.similarity_search_by_vector(vector, 99, filter=OPEN)
        ],
        "mmr": [
            each.id
            for each in store.max_marginal_relevance_search("cats", 99, filter=OPEN)
        ],
        "retriever": [
            each.id
            for each in store.as_retriever(
                search_kwargs={"k": 99, "filter": OPEN}
            ).invoke("cats")
        ],
    }


def test_nothing_outside_the_filter_leaves(divided) -> None:
    """No call brings a document that its filter does not let pass."""
    leaked = {
        call: [name for name in ids if not name.startswith("open")]
        for call, ids in everything(divided).items()
    }

    assert not any(leaked.values()), leaked


def test_everything_inside_the_filter_is_found(divided) -> None:
    """Every call finds all documents that pass."""
    expected = {f"open {number}" for number in range(6)}
    lost = {call: expected - set(ids) for call, ids in everything(divided).items()}

    assert not any(lost.values()), lost


async def test_nothing_outside_the_filter_leaves_asynchronously(divided) -> None:
    """The async twins obey the filter too."""
    ids = [f"{team} {number}" for team in ("open", "secret") for number in range(6)]
    request = SearchRequest("vector", "cats", 99, OPEN, complete=True)
    other = SearchRequest("keyword", "cats", 99)
    answers, fetched, quoted, searched, diverse = await asyncio.gather(
        divided.asearch_round([request, other]),
        divided.afetch(ids, filter=OPEN),
        divided.ahighlight(ids, "cats", filter=OPEN),
        divided.asimilarity_search("cats", 99, filter=OPEN),
        divided.amax_marginal_relevance_search("cats", 99, filter=OPEN),
    )
    found = [*answers[0].value, *fetched, *searched, *diverse]
    found += [outcome.value for outcome in quoted if outcome.value is not None]

    assert {each.id for each in found} == {f"open {number}" for number in range(6)}


def test_removal_obeys_ids_and_filter(divided) -> None:
    """Only documents that are named and match are removed."""
    gone = divided.remove(["open 1", "secret 1", "none"], filter=OPEN)

    assert (gone, len(divided)) == (1, 11)
    assert divided.fetch(["open 1"]) == []


def test_removal_by_filter_alone(divided) -> None:
    """Everything that matches is removed, blank texts too."""
    divided.put([hit("blank", "", **SECRET)])
    gone = divided.remove(filter=SECRET)

    assert gone == 7
    assert {name[:4] for name, _ in divided.records()} == {"open"}


@pytest.mark.parametrize("call", ["remove", "delete"])
def test_removal_needs_to_be_told_what(divided, call) -> None:
    """Neither ids nor a filter is an error: it would empty the store."""
    with pytest.raises(ConfigurationError, match="`ids` or `filter`"):
        getattr(divided, call)()


def test_an_unknown_operator_fails_that_request_alone(divided) -> None:
    """A wrong filter is an error that names the operator; the others answer."""
    bad, good = divided.search_round(
        [
            SearchRequest("keyword", "cats", 9, {"team": {"$like": "x"}}),
            SearchRequest("keyword", "cats", 1),
        ]
    )

    assert isinstance(bad, Failed)
    assert isinstance(bad.error, FilterError)
    assert "$like" in str(bad.error)
    assert len(good.value) == 1


@pytest.mark.parametrize("call", ["fetch", "get_by_ids", "remove"])
def test_an_unknown_operator_is_refused_everywhere(divided, call) -> None:
    """Calls outside a round raise the error."""
    with pytest.raises(FilterError, match="like"):
        getattr(divided, call)(["open 1"], filter={"team": {"$like": "x"}})


def test_a_misspelt_filter_is_refused(divided) -> None:
    """An unknown keyword never searches unfiltered."""
    with pytest.raises(ConfigurationError, match="`where`"):
        divided.similarity_search("cats", where=OPEN)


def test_filters_follow_writes(divided) -> None:
    """A remembered mask is not used for a later state."""
    before = found_ids(divided, "cats", 99, where=OPEN)
    divided.put([hit("open 9", "cats", **OPEN)])
    after = found_ids(divided, "cats", 99, where=OPEN)

    assert set(after) - set(before) == {"open 9"}


def test_numpy_values_are_filtered_as_written() -> None:
    """A single-precision 1.1 is the 1.1 that was written."""
    with SQLiteStore() as store:
        store.put([hit("a", "cat", x=np.float32(1.1), n=np.int64(3), b=np.bool_(True))])
        where = {"x": 1.1, "n": 3, "b": True}

        assert found_ids(store, "cat", where=where) == ["a"]
