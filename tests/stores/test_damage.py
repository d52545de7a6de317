"""Whatever stands in a file, what reads it raises errors of this package alone."""

from __future__ import annotations

import random
import sqlite3

import pytest

from langchain_ctxfetch import CtxFetchError, SQLiteStore, StoreCorruptError
from tests.stores.fakes import EMBEDDING, behind

PAGE = 4_096
COLUMNS = {
    "meta": ["value", "key"],
    "documents": ["ordinal", "id", "length", "metadata", "text"],
    "facts": ["key", "kind", "value", "element", "document"],
    "batches": ["first_document", "last_document", "first_row", "passages", "vectors"],
    "tombstones": ["document", "version"],
    "blocks": ["level", "first_row", "last_row", "size", "terms", "offsets", "rows"],
}
NONSENSE = [
    *(None, -1, 0, 7, 2**31, 2**40, 2**63 - 1, 1.5),
    *("", "x", "[]", "null", "{", "[" * 5_000),
    *(b"", b"\0", b"\xff" * 7, b"\xff" * 64, b"\1\0\0\0" * 8),
]


@pytest.fixture(scope="module")
def sound(tmp_path_factory) -> bytes:
    """Return a file with several blocks and batches, some of their documents gone."""
    file = tmp_path_factory.mktemp("sound") / "store.db"
    with SQLiteStore(file, embedding=EMBEDDING, passage_size=40) as store:
        for number in range(9):
            store.add_texts(
                [f"cat number {number}. And a dog went home.", "猫が好き " * 3],
                [{"n": number, "title": f"T {number}"}, {"tags": ["a", number]}],
                ids=[f"a{number}", f"b{number}"],
            )
        store.delete(["a1", "b2"])
    return file.read_bytes()


USES = {
    "meaning": lambda store: store.similarity_search("cat", filter={"n": {"$gt": 1}}),
    "words": lambda store: store.channel("keyword").ask("cat doh", 5, None),
    "passages": lambda store: store.similarity_search("dog", returns="passages"),
    "diverse": lambda store: store.max_marginal_relevance_search("cat"),
    "fetch": lambda store: store.fetch(["a0", "b1", "none"]),
    "get": lambda store: store.get_by_ids(["a3"]),
    "highlight": lambda store: store.highlight(["a3"], "cat"),
    "stats": SQLiteStore.stats,
    "len": len,
    "records": lambda store: list(store.records(filter={"n": {"$in": [1, 2]}})),
    "add": lambda store: store.add_texts(["new cat"], ids=["a0"]),
    "delete": lambda store: store.delete(filter={"n": 4}),
    "optimize": SQLiteStore.optimize,
    "reembed": lambda store: store.reembed(EMBEDDING, embedding_id="other"),
}


def use(file) -> list[CtxFetchError]:
    """Use a store in every way; return its errors, which are all of ours."""
    errors = []
    try:
        with SQLiteStore(file, embedding=EMBEDDING) as store:
            for call in USES.values():
                try:
                    call(store)
                except CtxFetchError as error:
                    errors.append(error)
    except CtxFetchError as error:
        errors.append(error)
    return errors


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(25))
def test_flipped_bytes_are_harmless_or_an_error_of_ours(file, sound, seed) -> None:
    """A few bytes anywhere, the pages of SQLite itself included."""
    chance = random.Random(seed)
    content = bytearray(sound)
    for _ in range(chance.choice([1, 3, 20])):
        content[chance.randrange(100, len(content))] = chance.randrange(256)
    file.write_bytes(content)

    use(file)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(25))
def test_overwritten_pages_are_harmless_or_an_error_of_ours(file, sound, seed) -> None:
    """By zeros, by noise, or by another page of the same file."""
    chance = random.Random(seed)
    content = bytearray(sound)
    first, other = (chance.randrange(1, len(sound) // PAGE) * PAGE for _ in range(2))
    content[first : first + PAGE] = chance.choice(
        [bytes(PAGE), chance.randbytes(PAGE), sound[other : other + PAGE]]
    )
    file.write_bytes(content)

    use(file)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(40))
def test_replaced_values_are_harmless_or_an_error_of_ours(file, sound, seed) -> None:
    """Any column of any table, with a value of any type."""
    chance = random.Random(seed)
    file.write_bytes(sound)
    table = chance.choice(list(COLUMNS))
    column = chance.choice(COLUMNS[table])
    value = chance.choice([*NONSENSE, chance.randbytes(20)])
    with behind(file) as connection:
        try:
            connection.execute(f"update or ignore {table} set {column} = ?", (value,))
        except sqlite3.Error:
            pytest.skip("the table itself refuses that value")

    use(file)


@pytest.mark.parametrize(
    "damage",
    [
        "delete from meta where key = 'version'",
        "delete from meta where key = 'language'",
        "update meta set value = x'00' where key = 'version'",
        "update documents set text = x'ff'",
        "update documents set text = cast(x'ff' as text)",
        "update documents set text = text || 'more'",
        "update documents set length = 'x'",
        "update documents set metadata = '" + "[" * 100_000 + "'",
        "update documents set ordinal = ordinal + 1000",
        "update batches set vectors = zeroblob(length(vectors) - 4) || x'0000c07f'",
        "drop table blocks",
        "drop table facts",
    ],
)
@pytest.mark.parametrize("name", ["meaning", "words", "get", "stats"])
def test_what_reads_damage_says_what_to_do(file, sound, damage, name) -> None:
    """A copy is to be restored, or the documents indexed anew."""
    file.write_bytes(sound)
    with behind(file) as connection:
        connection.execute(damage)
    try:
        with SQLiteStore(file, embedding=EMBEDDING) as store:
            USES[name](store)
    except StoreCorruptError as error:
        advice = str(error)
    else:
        pytest.skip("nothing of that is read here")

    assert "restore a copy" in advice
    assert "index the document" in advice


@pytest.mark.parametrize("call", ["get_by_ids", "delete", "similarity_search"])
def test_a_wrong_argument_is_never_called_damage(either, call) -> None:
    """The file is not to blame for what a caller gave."""
    either.add_texts(["cat"], ids=["a"])

    with pytest.raises(ValueError, match="must be") as caught:
        getattr(either, call)(5)
    assert not isinstance(caught.value, StoreCorruptError)
