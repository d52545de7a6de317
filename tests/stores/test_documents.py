"""Documents in and out: ids, metadata, text."""

from __future__ import annotations

import copy
import enum
import json
import math
import pathlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_ctxfetch import (
    ConfigurationError,
    SQLiteStore,
)
from langchain_ctxfetch._core.flow import Ok
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.ports import SearchRequest, SearchStore, WritableStore
from tests.stores.fakes import found_ids, ids


class Colour(str, enum.Enum):  # noqa: UP042 - both kinds are in use
    """A member that is a text."""

    RED = "red"


@dataclass
class Wrapped:
    """A value within another."""

    value: int


class Rank(enum.IntEnum):
    """A member that is a number."""

    FIRST = 1


def test_a_store_is_both_kinds_of_store(either) -> None:
    """It can be searched and written through the ports."""
    assert isinstance(either, SearchStore)
    assert isinstance(either, WritableStore)


def test_ids_are_those_given_else_the_documents_own_else_new(store) -> None:
    """In this order; a new one is a UUID."""
    documents = [Document("x", id="own 1"), Document("x", id="own 2"), Document("x")]
    given, own, new = store.add_documents(documents, ids=["given", None, None])

    assert (given, own) == ("given", "own 2")
    assert str(UUID(new)) == new
    assert {id_ for id_, _ in store.records()} == {given, own, new}


def test_the_same_id_replaces(store) -> None:
    """Text and metadata; the old words are not found any more."""
    store.add_texts(["old cats"], [{"v": 1}], ids=["a"])
    store.add_texts(["new dogs"], [{"v": 2}], ids=["a"])
    (document,) = store.get_by_ids(["a"])

    assert (document.page_content, document.metadata) == ("new dogs", {"v": 2})
    assert (len(store), found_ids(store, "cats"), found_ids(store, "dogs")) == (
        1,
        [],
        ["a"],
    )


def test_of_an_id_given_twice_the_last_counts(store) -> None:
    """Both are answered."""
    answered = store.add_texts(["first", "second"], ids=["a", "a"])

    assert answered == ["a", "a"]
    assert [each.page_content for each in store.get_by_ids(["a"])] == ["second"]


@pytest.mark.parametrize(
    "id_", ["a b", 'it\'s "q"', "'; drop table documents; --", "%_*?", "猫", "\n", "#"]
)
def test_an_id_may_be_any_text(store, id_) -> None:
    """Spaces, quotes, SQL, line breaks."""
    store.add_texts(["cats", "cats"], ids=[id_, "other"])
    found = set(ids(store.similarity_search("cats")))
    store.delete([id_])

    assert found == {id_, "other"}
    assert (len(store), store.get_by_ids([id_])) == (1, [])


@pytest.mark.parametrize("id_", ["", "\0", "a\ud83d", "a\0b"])
@pytest.mark.parametrize("given", ["ids", "document", "hit"])
def test_an_id_that_cannot_be_stored_is_refused(store, id_, given) -> None:
    """Cleaned as texts are, it could replace another document."""
    store.add_texts(["cats"], ids=["\ufffd"])
    add = {
        "ids": lambda: store.add_texts(["x", "y"], ids=["a", id_]),
        "document": lambda: store.add_documents(
            [Document("x", id="a"), Document("y", id=id_)]
        ),
        "hit": lambda: store.put([Hit("a", "x"), Hit(id_, "y")]),
    }
    with pytest.raises(ConfigurationError, match="an id must not"):
        add[given]()

    assert [name for name, _ in store.records()] == ["\ufffd"]


@pytest.mark.parametrize("id_", ["", "\0", "\ud83d"])
def test_an_id_that_cannot_be_stored_names_nothing(store, id_) -> None:
    """Not the document whose id looks alike."""
    store.add_texts(["cats"], ids=["\ufffd"])

    assert store.get_by_ids([id_, "\ufffd"]) == store.get_by_ids(["\ufffd"])
    assert store.remove([id_]) == 0
    assert store.highlight([id_], "cats") == [Ok(None)]


def test_documents_come_in_the_order_of_the_ids_asked(store) -> None:
    """Missing ones are passed over."""
    store.add_texts(["x", "y", "z"], ids=["a", "b", "c"])

    assert ids(store.get_by_ids(["c", "none", "a"])) == ["c", "a"]


@pytest.mark.parametrize("call", ["get_by_ids", "fetch", "remove", "delete"])
def test_many_ids_are_asked_at_once(store, call) -> None:
    """More than SQLite takes parameters, most of them unknown, some twice."""
    store.add_texts(["x", "y"], ids=["a", "b"])
    names = ["a", *map(str, range(40_000)), "a"]
    answer = getattr(store, call)(names)

    assert answer in (1, True) or set(ids(answer)) == {"a"}


@pytest.mark.parametrize("given", [["a"], ["a", "b", "c"], []])
def test_as_many_ids_as_documents(store, given) -> None:
    """Any other number is an error, and nothing is written."""
    with pytest.raises(ConfigurationError, match="`ids`"):
        store.add_documents([Document("x"), Document("y")], ids=given)

    assert len(store) == 0


def test_an_id_that_is_no_text_is_refused(store) -> None:
    """Before anything is written."""
    with pytest.raises(ConfigurationError, match="text, not 5"):
        store.add_documents([Document("x"), Document("y")], ids=["a", 5])

    assert len(store) == 0


def test_delete_answers_true_and_remove_how_many(store) -> None:
    """Unknown ids are no error."""
    store.add_texts(["x", "y", "z"], ids=["a", "b", "c"])

    assert store.delete(["a", "none"]) is True
    assert store.remove(["b", "none"]) == 1
    assert store.remove([]) == 0
    assert store.remove(filter={}) == 1


@pytest.mark.parametrize("call", ["delete", "remove"])
def test_deleting_needs_ids_or_a_filter(store, call) -> None:
    """To delete everything one must say so."""
    store.add_texts(["x"])

    with pytest.raises(ConfigurationError, match="`ids` or `filter`"):
        getattr(store, call)()
    assert len(store) == 1


def test_metadata_of_odd_types_comes_back_as_json_has_it(store) -> None:
    """Times as text in UTC, tuples and sets as lists, numpy as plain values."""
    given = {
        "time": datetime(2024, 5, 1, 12, tzinfo=UTC),
        "uuid": UUID(int=1),
        "set": {3, 1, 2},
        "tuple": (1, "x"),
        "numpy": [np.float32(1.1), np.int64(2), np.bool_(True), np.array([1, 2])],
        "path": pathlib.PurePosixPath("a/b"),
        "nested": {"deep": [{"er": None}]},
        "big": 2**80,
        "inf": math.inf,
        "text": "a\x00\ud83d",
        7: "number as key",
    }
    store.add_documents([Document("x", id="a", metadata=given)])
    (document,) = store.get_by_ids(["a"])

    assert document.metadata == {
        "time": "2024-05-01T12:00:00.000000Z",
        "uuid": "00000000-0000-0000-0000-000000000001",
        "set": [1, 2, 3],
        "tuple": [1, "x"],
        "numpy": [1.1, 2, True, [1, 2]],
        "path": "a/b",
        "nested": {"deep": [{"er": None}]},
        "big": 2**80,
        "inf": math.inf,
        "text": "a\ufffd\ufffd",
        "7": "number as key",
    }


def test_nan_stays_nan(store) -> None:
    """It is no number that filters know, but it is kept."""
    store.add_documents([Document("x", id="a", metadata={"n": math.nan})])
    (document,) = store.get_by_ids(["a"])

    assert math.isnan(document.metadata["n"])


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (np.datetime64("2024-05-01T12", "ns"), "2024-05-01T12:00:00.000000Z"),
        (np.datetime64("2024-05-01"), "2024-05-01T00:00:00.000000Z"),
        (np.array(np.datetime64("2024", "us")), "2024-01-01T00:00:00.000000Z"),
        (np.str_("x"), "x"),
        (np.array("x"), "x"),
        (np.array(5), 5),
        (np.bool_(False), False),
        (Colour.RED, "red"),
        (Rank.FIRST, 1),
    ],
)
def test_a_scalar_is_stored_as_filters_compare_it(store, given, stored) -> None:
    """A time of numpy as text, like any other time; a member as its value."""
    store.add_texts(["x"], [{"k": given}], ids=["a"])
    (document,) = store.get_by_ids(["a"])

    assert document.metadata == {"k": stored}
    assert ids(store.similarity_search("x", filter={"k": given})) == ["a"]
    assert ids(store.similarity_search("x", filter={"k": stored})) == ["a"]


@pytest.mark.parametrize("given", [np.datetime64("NaT"), np.datetime64("99999-01-01")])
def test_a_time_without_a_text_equals_nothing(store, given) -> None:
    """As NaN does."""
    store.add_texts(["x"], [{"k": given}], ids=["a"])

    assert math.isnan(store.get_by_ids(["a"])[0].metadata["k"])
    assert store.similarity_search("x", filter={"k": {"$exists": True}}) == []


@pytest.mark.parametrize(
    "value",
    [
        *(b"bytes", object(), 1j, {(1, 2): 3}, [10**5000]),
        *(timedelta(1), np.timedelta64(1, "D"), np.bytes_(b"x"), Decimal("1.5")),
        Wrapped(1),
    ],
)
def test_what_json_cannot_hold_is_refused_by_name(store, value) -> None:
    """The key is named, and nothing of the call is written."""
    documents = [Document("x"), Document("y", metadata={"good": 1, "bad key": value})]

    with pytest.raises(ConfigurationError, match="'bad key'"):
        store.add_documents(documents)
    assert len(store) == 0


@pytest.mark.parametrize("call", ["get_by_ids", "similarity_search"])
def test_our_own_key_is_dropped_on_the_way_in(store, call) -> None:
    """What earlier steps added does not come back."""
    store.add_documents(
        [Document("x", id="x", metadata={"ctxfetch": {"v": 1}, "n": 2})]
    )
    (document,) = getattr(store, call)(["x"] if call == "get_by_ids" else "x")

    assert document.metadata == {"n": 2}


def test_inputs_are_not_changed(either) -> None:
    """Documents, metadata and lists are as before the call."""
    documents = [
        Document("a\ud83d cat", metadata={"t": ("x",), "l": [{"ctxfetch": 1}]}),
        Document("b", id="b", metadata={"ctxfetch": {}, "title": "T"}),
    ]
    names = [None, "given"]
    before = copy.deepcopy((documents, names))
    either.add_documents(documents, ids=names)

    assert (documents, names) == before


def test_FR_K9_changing_a_result_does_not_change_the_store(either) -> None:
    """Nested metadata and text are the caller's own."""
    either.add_documents([Document("cat", id="a", metadata={"l": [1, {"x": 2}]})])
    calls = [
        lambda: either.similarity_search("cat")[0],
        lambda: either.get_by_ids(["a"])[0],
        lambda: either.channel("keyword").ask("cat", 1, None)[0],
    ]
    for call in calls:
        found = call()
        found.metadata["l"][1]["x"] = "changed"
        found.metadata["l"].append(3)

    assert [call().metadata for call in calls] == [{"l": [1, {"x": 2}]}] * 3


def test_FR_K3_scores_are_plain_numbers(either) -> None:
    """And whatever a search brings can be written as JSON."""
    either.add_texts(["cat"], [{"n": np.float32(0.1)}], ids=["a"])
    ((document, score),) = either.similarity_search_with_score("cat")
    rounds = either.search_round(
        [SearchRequest(name, "cat", 1) for name in either.channel_names()]
    )

    assert type(score) is float
    assert json.loads(document.model_dump_json())["metadata"] == {"n": 0.1}
    assert {type(each.value[0].score) for each in rounds} == {float}
    assert {type(each.value[0].passages[0].start) for each in rounds} == {int}


def test_FR_K3_an_embedding_may_give_arrays(tmp_path) -> None:
    """Of any number type, as lists of arrays or one matrix."""

    class Arrays(Embeddings):
        def embed_documents(self, texts):
            return np.ones((len(texts), 3), np.float16)

        def embed_query(self, text):
            return np.array([1, 1, 1])

    with SQLiteStore(tmp_path / "s.db", embedding=Arrays()) as store:
        store.add_texts(["cat"])
        ((_, score),) = store.similarity_search_with_score("cat")

    assert (type(score), score) == (float, pytest.approx(1))


def test_lone_surrogates_and_nul_become_replacement_characters(either) -> None:
    """One for one, so that offsets stay."""
    either.add_texts(["cat \ud83d\x00 dog"], ids=["a"])
    (document,) = either.similarity_search("\ud83d cat \x00")

    assert document.page_content == "cat \ufffd\ufffd dog"


@pytest.mark.parametrize("wrong", ["12", [1], ["1", None]])
@pytest.mark.parametrize("call", ["fetch", "remove", "get_by_ids", "delete"])
def test_ids_must_be_a_list_of_texts(call, wrong) -> None:
    """The text "12" does not mean the documents "1" and "2"."""
    with SQLiteStore() as store:
        store.add_texts(["a", "b"], ids=["1", "2"])
        with pytest.raises(ConfigurationError, match="`ids` must be a list of texts"):
            getattr(store, call)(wrong)

        assert len(store) == 2
