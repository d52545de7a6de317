"""Looking after a file: its size, the model of its vectors, its schema."""

from __future__ import annotations

import asyncio
import pickle
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from langchain_ctxfetch import (
    ConfigurationError,
    SQLiteStore,
    StoreError,
    StoreFullError,
    StoreMismatchError,
    StoreReadOnlyError,
)
from langchain_ctxfetch.ports import SearchRequest
from tests.stores.fakes import EMBEDDING, Words, behind, found_ids, hit, ids

SCHEMA_1 = Path(__file__).parent / "fixtures" / "schema_1.db"


def filled(path, documents: int = 60, **settings) -> SQLiteStore:
    """Return a store of which three documents in four were removed."""
    store = SQLiteStore(path, **settings)
    store.add_texts(
        [f"cat{n % 5} number {n}. " * 20 if n % 9 else "" for n in range(documents)],
        [{"n": n, "title": f"Title {n % 3}"} for n in range(documents)],
        ids=[str(n) for n in range(documents)],
        batch_size=7,
    )
    store.delete([str(n) for n in range(documents) if n % 4])
    return store


def everything(store) -> list[object]:
    """Return what a store answers, by each of its channels, whole and filtered."""
    return [
        store.search_round(
            [
                SearchRequest(name, query, 100, where, bodies=True)
                for name in store.channel_names()
                for query in ("cat3 number", "title", "cat1")
                for where in (None, {"n": {"$gte": 20}})
            ]
        ),
        sorted(store.records(), key=lambda record: int(record[0])),
        len(store),
    ]


@pytest.mark.parametrize("embedding", [None, Words()])
def test_optimizing_changes_no_answer(path, embedding) -> None:
    """Not a score, not a passage, whatever was removed."""
    with filled(path, embedding=embedding) as store:
        before = everything(store)
        store.optimize()

        assert everything(store) == before


def test_optimizing_gives_back_what_removed_documents_took(tmp_path) -> None:
    """The file shrinks by as much as it says, and the index is one block."""
    path = tmp_path / "s.db"
    with filled(path, embedding=Words()) as store:
        before = store.stats()
        done = store.optimize()
        after = store.stats()

    assert (before.removed > 0, after.removed, after.free_bytes) == (True, 0, 0)
    assert (before.blocks > 1, after.blocks) == (True, 1)
    assert done.bytes_freed == before.bytes - after.bytes > 20_000
    assert (done.blocks_before, done.blocks_after) == (before.blocks, 1)
    assert path.stat().st_size == after.bytes


def test_a_store_goes_on_after_it_was_optimized(path) -> None:
    """Documents are replaced, removed and added; each is found once."""
    with filled(path, embedding=Words()) as store:
        store.optimize()
        store.add_texts(["new cat"], ids=["0"])
        store.delete(["4"])
        store.add_texts(["more cats"], ids=["new"])
        store.optimize()

        assert found_ids(store, "cat", 100) == ["new", "0"]
        assert len(store) == 15
        assert len(set(ids(store.similarity_search("x", k=99)))) == 14  # one is blank
        assert store.optimize().bytes_freed == 0


def test_others_follow_a_file_that_was_optimized(tmp_path) -> None:
    """A store that has the old state in memory answers as the file now is."""
    with (
        filled(tmp_path / "s.db", embedding=Words()) as store,
        SQLiteStore(tmp_path / "s.db", embedding=Words()) as other,
    ):
        before = everything(other)
        store.optimize()
        after = everything(other)
        store.add_texts(["zebra"], ids=["z"])

        assert after == before
        assert found_ids(other, "zebra", channel="keyword") == ["z"]


@settings(max_examples=25, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("add"), st.lists(st.integers(0, 12), min_size=1)),
            st.tuples(st.just("remove"), st.lists(st.integers(0, 12))),
            st.tuples(st.just("optimize"), st.none()),
        ),
        max_size=12,
    )
)
def test_a_store_may_be_optimized_at_any_time(changes) -> None:
    """Adding, removing and optimizing in any order ends as without optimizing."""
    with (
        SQLiteStore(embedding=Words()) as store,
        SQLiteStore(embedding=Words()) as plain,
    ):
        for kind, numbers in changes:
            for each in (store, plain):
                if kind == "add":
                    texts = [f"cat{n} dog. " * (n % 3) for n in numbers]
                    each.put(
                        [
                            hit(str(n), t, n=n)
                            for n, t in zip(numbers, texts, strict=True)
                        ]
                    )
                elif kind == "remove":
                    each.remove([str(n) for n in numbers])
                elif each is store:
                    each.optimize()

        assert everything(store) == everything(plain)


def test_optimizing_a_full_disk_is_an_error_and_loses_nothing(tmp_path) -> None:
    """The store is as it was."""
    with filled(tmp_path / "s.db") as store:
        before = everything(store)
        with store._connections.lent() as connection:
            (pages,) = connection.execute("pragma page_count").fetchone()
            connection.execute(f"pragma max_page_count = {pages}")
        with pytest.raises(StoreFullError, match="nothing stored is lost"):
            store.add_texts(["dog " * 100_000])
        with suppress(StoreFullError):
            store.optimize()

        assert everything(store) == before


def test_stats_are_told_in_one_sentence(path) -> None:
    """For a log."""
    with SQLiteStore(path, embedding=Words()) as store:
        empty = str(store.stats())
        store.add_texts(["cat"])
        one = str(store.stats())

    assert "0 documents in 0 passages" in empty
    assert "vectors of Words:words (none yet)" in empty
    assert "1 documents in 1 passages" in one
    assert "language english, vectors of Words:words (16)" in one


@pytest.mark.parametrize("old", [None, Words(model="old")])
def test_a_file_is_given_another_model(path, old) -> None:
    """Its answers are those of a file that was made with that model."""
    new = Words(9, model="new")
    with (
        filled(path, embedding=old) as store,
        filled(":memory:", embedding=new) as made,
    ):
        embedded = store.reembed(new, batch_size=3)
        stats = store.stats()

        assert everything(store) == everything(made)
        assert embedded == made.stats().passages
        assert (stats.embedding_id, stats.dimension) == ("Words:new", 9)
        store.add_texts(["zebra"], ids=["z"])
        assert ids(store.similarity_search("zebra", k=1)) == ["z"]


def test_the_error_about_another_model_names_the_way_out(tmp_path) -> None:
    """It is followed here word for word."""
    path = tmp_path / "s.db"
    SQLiteStore.from_texts(["cat"], Words(model="old"), path=path).close()
    with pytest.raises(StoreMismatchError, match="without an `embedding` and call `re"):
        SQLiteStore(path, embedding=Words(model="new"))
    with SQLiteStore(path) as store:
        store.reembed(Words(model="new"))
    with SQLiteStore(path, embedding=Words(model="new")) as store:
        assert len(store.similarity_search("cat")) == 1


def test_passages_are_embedded_as_they_were_cut(tmp_path) -> None:
    """With title and headings, though the store is opened with other settings."""
    path = tmp_path / "s.db"
    text = "# Top\n\nOne sentence here. Another one.\n\n## Below\n\nA third sentence."
    old, new = Words(model="old"), Words(model="new")
    with SQLiteStore(path, embedding=old, passage_size=20) as store:
        store.add_texts([text], [{"title": "T"}], ids=["a.md"])
    with SQLiteStore(path, passage_size=500) as store:
        store.reembed(new)

    assert len(new.seen) > 2
    assert new.seen == old.seen


def test_a_new_model_may_give_a_matrix(tmp_path) -> None:
    """As well as a list of lists."""

    class Matrix(Words):
        def embed_documents(self, texts):
            return np.ones((len(texts), 3), np.float16)

    with SQLiteStore.from_texts(["cat", "dog"], path=tmp_path / "s.db") as store:
        assert store.reembed(Matrix(), batch_size=1) == 2


class Breaking(Words):
    """A model that answers a few calls only."""

    def __init__(self, calls: int) -> None:
        super().__init__(5, model="new")
        self.left = calls

    def embed_documents(self, texts):
        self.left -= 1
        if self.left < 0:
            raise OSError("model down")
        return super().embed_documents(texts)


def test_embedding_anew_goes_on_where_it_was_interrupted(tmp_path) -> None:
    """Nothing is embedded twice, and the old vectors serve until the end."""
    path = tmp_path / "s.db"
    old, second = Words(model="old"), Words(5, model="new")
    with filled(path, embedding=old) as store:
        before = everything(store)
        first = Breaking(calls=3)
        with pytest.raises(StoreError, match="call `reembed` again") as caught:
            store.reembed(first, embedding_id="new")
        between = everything(store)
    reports: list[tuple[int, int]] = []
    with SQLiteStore(path) as store:
        store.reembed(
            second,
            embedding_id="new",
            progress=lambda *report: reports.append(report),
        )

    assert isinstance(caught.value.errors[0], OSError)
    assert between == before
    assert not set(first.seen) & set(second.seen)
    assert reports == sorted(reports)
    assert reports[-1][0] == reports[-1][1]


def test_what_is_written_while_a_file_is_embedded_anew_is_not_forgotten(
    tmp_path,
) -> None:
    """Another store adds with the old model and removes."""
    path = tmp_path / "s.db"
    with (
        filled(path, embedding=Words(model="old")) as other,
        SQLiteStore(path) as store,
    ):

        def change(*_: int) -> None:
            if not other.get_by_ids(["z"]):
                other.add_texts(["zebra"], ids=["z"])
                other.delete(["8", "56"])

        store.reembed(Words(5, model="new"), progress=change)

        assert ids(store.similarity_search("zebra", k=1)) == ["z"]
        assert len(store) == 14
        assert len(store.similarity_search("x", k=99)) == 12  # two are blank


def test_a_store_with_the_old_model_is_told_to_open_anew(tmp_path) -> None:
    """Questions of one model never meet vectors of another; words still serve."""
    path = tmp_path / "s.db"
    with (
        SQLiteStore.from_texts(["cat"], Words(model="old"), path=path) as old,
        SQLiteStore(path) as store,
    ):
        old.similarity_search("cat")
        store.reembed(Words(model="new"))
        words, meanings = old.search_round(
            [SearchRequest("keyword", "cat", 1), SearchRequest("vector", "cat", 1)]
        )

        assert len(words.value) == 1
        assert isinstance(meanings.error, StoreMismatchError)
        with pytest.raises(StoreMismatchError, match=r"Words:new.*open it anew"):
            old.add_texts(["dog"])


def test_a_store_that_was_given_a_model_is_pickled_with_it(tmp_path) -> None:
    """The copy searches by vector too."""
    with SQLiteStore.from_texts(["cat"], path=tmp_path / "s.db") as store:
        store.reembed(Words(model="new"))
        with pickle.loads(pickle.dumps(store)) as other:
            assert other.channel_names() == ("keyword", "vector")


@pytest.mark.parametrize("wrong", [[[float("nan")]], [[]], None, [[1.0], [2.0]]])
def test_vectors_that_are_none_leave_the_old_ones(tmp_path, wrong) -> None:
    """With a typed error."""

    class Wrong(Words):
        def embed_documents(self, texts):
            return wrong

    with SQLiteStore.from_texts(["cat"], Words(), path=tmp_path / "s.db") as store:
        before = store.similarity_search_with_score("cat")
        with pytest.raises(StoreError):
            store.reembed(Wrong(model="new"))

        assert store.similarity_search_with_score("cat") == before


@pytest.mark.parametrize("wrong", [0, True, 1.5, None])
def test_a_batch_of_texts_is_a_whole_number(wrong) -> None:
    """The argument is named."""
    with SQLiteStore() as store, pytest.raises(ConfigurationError, match="batch_size"):
        store.reembed(EMBEDDING, batch_size=wrong)


def test_what_is_read_only_is_not_looked_after(tmp_path) -> None:
    """Neither way of writing."""
    SQLiteStore.from_texts(["cat"], path=tmp_path / "s.db").close()
    with SQLiteStore(tmp_path / "s.db", read_only=True) as store:
        for work in (store.optimize, lambda: store.reembed(EMBEDDING)):
            with pytest.raises(StoreReadOnlyError):
                work()


def test_the_async_twins_do_the_same(path) -> None:
    """Beside the event loop."""

    async def work() -> list[object]:
        store = await asyncio.to_thread(filled, path)
        async with store:
            freed = (await store.aoptimize()).bytes_freed
            embedded = await store.areembed(Words(), batch_size=5)
            found = await store.asimilarity_search("cat3", k=2)
            return [freed > 0, embedded > 10, len(found)]

    assert asyncio.run(work()) == [True, True, 2]


def test_a_file_of_the_first_schema_is_opened(tmp_path) -> None:
    """By words and by meaning, filtered; it can be written and optimized."""
    path = tmp_path / "s.db"
    shutil.copy(SCHEMA_1, path)
    with SQLiteStore(path, embedding=Words(4)) as store:
        assert found_ids(store, "cats") == ["a", "b.md"]
        assert found_ids(store, "animals") == ["b.md"]
        assert found_ids(store, "cats", where={"year": {"$gt": 2020}}) == ["a"]
        assert found_ids(store, "猫") == ["c"]
        assert set(found_ids(store, "cats", channel="vector")) == {"a", "b.md", "c"}
        assert store.get_by_ids(["a"])[0].metadata == {"year": 2021, "tags": ["x"]}
        assert [hit.text for hit in store.fetch(["c"])] == ["猫が好きです。"]
        assert store.stats().dimension == 4
        store.add_texts(["more cats"], ids=["d"])
        store.optimize()
        assert len(found_ids(store, "cats")) == 3


def test_a_file_of_the_first_schema_is_read_where_it_stands() -> None:
    """For reading only, and left as it is."""
    before = SCHEMA_1.read_bytes()
    with SQLiteStore(SCHEMA_1, read_only=True) as store:
        found = found_ids(store, "cats")

    assert found == ["a", "b.md"]
    assert SCHEMA_1.read_bytes() == before


def make_schema_1() -> None:
    """Write the fixture; only ever of the schema that its name says."""
    SCHEMA_1.unlink(missing_ok=True)
    with SQLiteStore(SCHEMA_1, embedding=Words(4)) as store:
        store.add_texts(
            ["Cats sat here.", "# Animals\n\nTwo cats and a dog.", "gone"],
            [{"year": 2021, "tags": ["x"]}, {"title": "Zoo", "year": 2019}, {}],
            ids=["a", "b.md", "gone"],
        )
        store.add_texts(["猫が好きです。"], ids=["c"])
        store.delete(["gone"])
    with closing(sqlite3.connect(SCHEMA_1)) as connection:
        for statement in ("journal_mode = delete", "page_size = 512"):
            connection.execute(f"pragma {statement}")
        connection.execute("vacuum")


def test_the_fixture_is_of_the_schema_that_its_name_says(tmp_path) -> None:
    """A later schema is migrated from it, not written into it."""
    shutil.copy(SCHEMA_1, tmp_path / "s.db")
    with behind(tmp_path / "s.db") as connection:
        assert connection.execute("pragma user_version").fetchone() == (1,)
