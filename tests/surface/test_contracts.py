"""The contracts of stores and channels: who keeps them, and that each can be broken."""

import subprocess
import sys
from dataclasses import replace

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding

from langchain_ctxfetch import (
    ConfigurationError,
    Hit,
    HybridRetriever,
    Passage,
    RetrieverChannel,
    SQLiteStore,
    VectorStoreChannel,
)
from langchain_ctxfetch._core.flow import Failed, Ok
from langchain_ctxfetch.stores.langchain import document_filter
from langchain_ctxfetch.testing import (
    DOCUMENTS,
    ChannelContract,
    MemoryStore,
    ScriptedChannel,
    StoreContract,
    WritableStoreContract,
)
from tests.surface.foreign import (
    FILTERED,
    AsyncOnly,
    Held,
    Keyword,
    SyncOnly,
    bm25,
    in_faiss,
    in_memory,
)

AS_DOCUMENTS = [
    Document(hit.text, id=hit.id, metadata=dict(hit.metadata)) for hit in DOCUMENTS
]

# --- Who keeps them ---


class TestMemoryStore(StoreContract, WritableStoreContract):
    """The store that shows how."""

    def make_store(self):
        return MemoryStore()


class WriteOnly:
    """A store that takes documents in, and is searched elsewhere."""

    def __init__(self) -> None:
        held = MemoryStore()
        self.put, self.aput = held.put, held.aput
        self.remove, self.aremove = held.remove, held.aremove
        self.records = held.records


class TestWriteOnly(WritableStoreContract):
    """It need not be a store that can be searched."""

    def make_store(self):
        return WriteOnly()


class Raising(MemoryStore):
    """Raises where it has no such channel."""

    def search_round(self, requests):
        for request in requests:
            if request.channel != "keyword":
                raise ConfigurationError("`channel` must be keyword")
        return super().search_round(requests)


class TestStoreThatRaises(StoreContract):
    """An error is as good as a Failed; `fill` is another way to put documents in."""

    def make_store(self):
        return []

    def fill(self, store, documents):
        self.store = Raising(documents)


class TestSQLiteStoreInMemory(StoreContract, WritableStoreContract):
    """By keyword."""

    def make_store(self):
        return SQLiteStore()

    def close_store(self, store):
        store.close()


class TestSQLiteStoreInAFile(TestSQLiteStoreInMemory):
    """By keyword and by vector."""

    @pytest.fixture(autouse=True)
    def _file(self, tmp_path):
        # Before setup_method: the store is made of it.
        self.path = tmp_path / "store.db"
        super().setup_method()
        yield
        super().teardown_method()

    def setup_method(self):
        """Leave it to the fixture, which knows the folder."""

    def teardown_method(self):
        """Leave it to the fixture."""

    def make_store(self):
        return SQLiteStore(self.path, embedding=DeterministicFakeEmbedding(size=8))


class TestScriptedChannel(ChannelContract):
    """The double."""

    def make_channel(self):
        return ScriptedChannel("fake", self.documents)


class TestStoreChannelByKeyword(ChannelContract):
    """One channel of a store of ours."""

    name = "keyword"

    def make_channel(self):
        self.store = SQLiteStore(embedding=DeterministicFakeEmbedding(size=8))
        self.store.add_documents(AS_DOCUMENTS)
        return self.store.channel(self.name)

    def close_channel(self, channel):
        self.store.close()


class TestStoreChannelByVector(TestStoreChannelByKeyword):
    """The other one."""

    name = "vector"


class TestStoreChannelInMemory(ChannelContract):
    """The channel of the plain store."""

    def make_channel(self):
        return MemoryStore(self.documents).channel()


class TestBM25Retriever(ChannelContract):
    """A retriever with a field k."""

    def make_channel(self):
        return RetrieverChannel(bm25(AS_DOCUMENTS))


class TestVectorStoreRetriever(ChannelContract):
    """A retriever with search_kwargs."""

    def make_channel(self):
        return RetrieverChannel(in_memory(AS_DOCUMENTS).as_retriever())


class TestKeywordRetriever(ChannelContract):
    """A retriever whose blocking method takes k."""

    def make_channel(self):
        return RetrieverChannel(Keyword(answer=AS_DOCUMENTS), trust_ids=False)


class TestStubbedRetriever(ChannelContract):
    """A retriever whose asynchronous method is a stub."""

    def make_channel(self):
        return RetrieverChannel(SyncOnly(answer=AS_DOCUMENTS))


class TestAsynchronousRetriever(ChannelContract):
    """A retriever whose blocking method is a stub."""

    has_sync = False

    def make_channel(self):
        return RetrieverChannel(AsyncOnly(answer=AS_DOCUMENTS))


class TestRetrieverOfAFixedDepth(ChannelContract):
    """A retriever that is always asked for five."""

    def make_channel(self):
        return RetrieverChannel(Held(answer=AS_DOCUMENTS), depth=5)


class TestRetrieverOfOurs(ChannelContract):
    """A HybridRetriever inside another."""

    def make_channel(self):
        inner = HybridRetriever(channels=[MemoryStore(self.documents)], fusion="rrf")
        return RetrieverChannel(inner)


class TestVectorStore(ChannelContract):
    """A vector store that asks a function of the document, with scores."""

    def make_channel(self):
        store = in_memory(AS_DOCUMENTS)
        return VectorStoreChannel(store, translate=document_filter, score=float)


class TestVectorStoreWithoutFilter(ChannelContract):
    """FAISS, asked for distances, without a translation."""

    def make_channel(self):
        return VectorStoreChannel(in_faiss(AS_DOCUMENTS), score=lambda far: -far)


class TestFAISS(ChannelContract):
    """FAISS with its filter."""

    def make_channel(self):
        return FILTERED["faiss"](AS_DOCUMENTS)


class TestCarelessVectorStore(ChannelContract):
    """A vector store whose translation lets everything through."""

    def make_channel(self):
        return FILTERED["careless"](AS_DOCUMENTS)


# --- That each of them can be broken ---


def breaking(**methods):
    """Return a MemoryStore with other methods, each given the right answer first."""

    def method(name, change):
        def changed(self, *arguments, **keywords):
            honest = getattr(MemoryStore, name)
            return change(lambda: honest(self, *arguments, **keywords), *arguments)

        return changed

    changed = {name: method(name, change) for name, change in methods.items()}
    return type("Broken", (MemoryStore,), changed)


def each(change):
    """Change the hits of each answer of a round."""

    def changed(honest, requests):
        return [
            Ok(change(outcome.value, request)) if isinstance(outcome, Ok) else outcome
            for outcome, request in zip(honest(), requests, strict=True)
        ]

    return breaking(search_round=changed)


def with_passages(*passages):
    """Quote these stretches of every document."""

    def quote(hit):
        text = next(known.text for known in DOCUMENTS if known.id == hit.id)
        found = tuple(Passage(a, b, text[c:d]) for a, b, c, d in passages)
        return replace(hit, passages=found)

    return breaking(
        highlight=lambda honest, *_: [
            Ok(outcome.value and quote(outcome.value)) for outcome in honest()
        ]
    )


class Leaky(MemoryStore):
    """Obeys no filter."""

    def search_round(self, requests):
        return super().search_round([replace(each, where=None) for each in requests])

    def fetch(self, ids, *, filter=None):  # noqa: A002 - LangChain's word
        return super().fetch(ids)

    def highlight(self, ids, query, *, filter=None, room=3000):  # noqa: A002 - LangChain's word
        return super().highlight(ids, query, room=room)

    def records(self, *, filter=None):  # noqa: A002 - LangChain's word
        return super().records()

    def remove(self, ids=None, *, filter=None):  # noqa: A002 - LangChain's word
        return super().remove(ids, filter=filter if ids is None and not filter else {})


class CutsFirst(MemoryStore):
    """Filters what is left of the depth."""

    def search_round(self, requests):
        found = super().search_round(
            [replace(each, where=None, bodies=True) for each in requests]
        )
        return [
            Ok([h for h in o.value if not r.where or h.metadata["lang"] == "en"])
            for o, r in zip(found, requests, strict=True)
        ]


class Shares(MemoryStore):
    """Copies nothing."""

    def fetch(self, ids, *, filter=None):  # noqa: A002 - LangChain's word
        return [self._kept[name].hit for name in ids if name in self._kept]

    def _keep(self, hit):
        made = super()._keep(hit)
        return replace(made, hit=replace(made.hit, metadata=hit.metadata))


class Forgets(MemoryStore):
    """Removes everything where nothing is named."""

    def remove(self, ids=None, *, filter=None):  # noqa: A002 - LangChain's word
        return super().remove(ids or None, filter=filter or {})


class RemovesAll(MemoryStore):
    """Obeys no filter when it removes."""

    def remove(self, ids=None, *, filter=None):  # noqa: A002 - LangChain's word
        return super().remove(ids, filter={})


class KeepsTheFirst(MemoryStore):
    """Takes no second document of an id."""

    def put(self, documents):
        known = {*self._kept}
        new = []
        for hit in documents:
            if hit.id is None or hit.id not in known:
                new.append(hit)
                known.add(hit.id)
        names = iter(super().put(new))
        return [hit.id or next(names) for hit in documents]


class OldWords(MemoryStore):
    """Leaves the words of what it replaced in the index."""

    def _keep(self, hit):
        made, old = super()._keep(hit), self._kept.get(hit.id)
        return replace(made, terms=made.terms + old.terms) if old else made


class ForgetsInAsync(MemoryStore):
    """Its asynchronous writing is not finished."""

    async def aput(self, documents):
        return [hit.id for hit in documents]


class KeepsInAsync(MemoryStore):
    """Its asynchronous removing is not finished."""

    async def aremove(self, ids=None, *, filter=None):  # noqa: A002 - LangChain's word
        return len(ids)


class AnotherInAsync(MemoryStore):
    """Its asynchronous texts are not finished."""

    async def afetch(self, ids, *, filter=None):  # noqa: A002 - LangChain's word
        return []


class OnlyPuts:
    """Is no store that can be written to."""

    def put(self, documents):
        return [hit.id for hit in documents]


def clearing(honest, requests):
    for request in requests:
        if request.where:
            request.where.clear()
    return honest()


STORES = [
    ("channel_names_are_names", breaking(channel_names=lambda honest: ("a", "a"))),
    ("channel_names_are_names", breaking(channel_names=lambda honest: ())),
    ("every_channel_finds_something", each(lambda hits, request: [])),
    (
        "a_long_answer_continues_the_short_one",
        each(lambda hits, request: hits[::-1]),
    ),
    (
        "a_long_answer_continues_the_short_one",
        each(lambda hits, request: hits[request.depth > 2 :]),
    ),
    ("no_document_stands_twice", each(lambda hits, request: hits[:1] + hits)),
    (
        "scores_fall",
        each(lambda hits, _: [replace(hit, score=-hit.score) for hit in hits]),
    ),
    (
        "a_round_is_its_requests_one_by_one",
        breaking(search_round=lambda honest, _: honest()[::-1]),
    ),
    (
        "bodies_are_text_and_metadata_as_they_were_stored",
        each(lambda hits, _: [replace(hit, metadata={}) for hit in hits]),
    ),
    (
        "a_complete_answer_scores_what_others_brought",
        each(lambda hits, request: hits[: request.depth]),
    ),
    ("a_search_obeys_its_filter", Leaky),
    ("a_search_obeys_its_filter", CutsFirst),
    (
        "an_unknown_channel_is_an_error",
        breaking(search_round=lambda honest, asked: [Ok([]) for _ in asked]),
    ),
    (
        "no_question_is_query_syntax",
        breaking(
            search_round=lambda honest, asked: [
                Failed(ValueError("syntax")) if '"' in asked[0].query else Ok([])
            ]
        ),
    ),
    (
        "fetch_brings_what_exists",
        breaking(fetch=lambda honest, ids: [Hit(name, "text") for name in ids]),
    ),
    (
        "fetch_brings_what_exists",
        breaking(fetch=lambda honest, ids: [replace(h, text="x") for h in honest()]),
    ),
    ("fetch_obeys_its_filter", Leaky),
    (
        "highlight_has_one_outcome_for_each_id_in_order",
        breaking(
            highlight=lambda honest, *_: [o for o in honest() if o.value is not None]
        ),
    ),
    ("highlight_obeys_its_filter", Leaky),
    ("passages_are_stretches_of_the_text", with_passages((0, 9, 1, 10))),
    ("passages_are_stretches_of_the_text", with_passages((0, 9, 0, 9), (5, 9, 5, 9))),
    ("passages_are_stretches_of_the_text", with_passages((5, 9, 5, 9), (0, 4, 0, 4))),
    ("passages_are_stretches_of_the_text", with_passages((0, 41, 0, 41))),
    ("highlight_finds_what_answers", with_passages((0, 20, 0, 20))),
    ("sync_and_async_agree", AnotherInAsync),
    ("nothing_that_is_given_is_changed", breaking(search_round=clearing)),
    ("changing_an_answer_does_not_change_the_store", Shares),
]
WRITABLE = [
    ("it_is_a_writable_store", OnlyPuts),
    ("put_returns_the_ids_in_order", breaking(put=lambda honest, _: honest()[::-1])),
    ("put_returns_the_ids_in_order", breaking(put=lambda honest, _: ["z", 1, "y", 1])),
    ("a_document_of_the_same_id_is_replaced", KeepsTheFirst),
    ("a_document_of_the_same_id_is_replaced", OldWords),
    ("the_last_of_one_id_counts", KeepsTheFirst),
    ("what_is_removed_is_gone", breaking(remove=lambda honest, ids: 1)),
    ("what_is_removed_is_gone", breaking(remove=lambda honest, ids: honest() and 2)),
    ("what_matches_is_removed", RemovesAll),
    ("what_matches_is_removed", breaking(remove=lambda honest: 2)),
    ("ids_and_filter_together_remove_what_is_both", Leaky),
    ("removing_nothing_in_particular_is_refused", Forgets),
    ("no_ids_remove_nothing", Forgets),
    (
        "records_are_ids_and_metadata",
        breaking(records=lambda honest: ((name, {}) for name, _ in honest())),
    ),
    ("records_obey_their_filter", Leaky),
    ("async_writing_is_writing", ForgetsInAsync),
    ("async_writing_is_writing", KeepsInAsync),
    ("nothing_that_is_written_is_changed_or_shared", Shares),
]


class Crooked(ScriptedChannel):
    """A channel that changes its own answer."""

    def __init__(self, change, amend=None, **fields) -> None:
        super().__init__("crooked", DOCUMENTS, **fields)
        self.change, self.amend = change, amend

    def ask(self, query, depth, where):
        return self.change(super().ask(query, depth, where), depth, where)

    async def aask(self, query, depth, where):
        found = self.ask(query, depth, where)
        return self.amend(found) if self.amend else found


def honest(hits, *_):
    return hits


def emptied(hits, depth, where):
    if where:
        where.clear()
    return hits


CHANNELS = [
    ("it_has_a_name", lambda: ScriptedChannel(" ", DOCUMENTS)),
    ("it_has_a_name", lambda: ScriptedChannel(None, DOCUMENTS)),
    ("its_greatest_depth_is_one", lambda: Crooked(honest, max_depth=0)),
    ("it_answers_with_hits", lambda: Crooked(lambda hits, *_: AS_DOCUMENTS)),
    ("it_answers_with_hits", lambda: Crooked(lambda hits, *_: hits[:2])),
    (
        "it_answers_with_hits",
        lambda: Crooked(lambda hits, *_: [replace(h, text=None) for h in hits]),
    ),
    (
        "it_answers_with_hits",
        lambda: Crooked(lambda hits, *_: [replace(h, score="1") for h in hits]),
    ),
    (
        "it_answers_with_no_more_than_the_depth",
        lambda: Crooked(lambda hits, *_: [*DOCUMENTS]),
    ),
    (
        "a_long_answer_continues_the_short_one",
        lambda: Crooked(lambda hits, *_: hits[::-1]),
    ),
    (
        "it_obeys_its_filter",
        lambda: Crooked(lambda hits, depth, where: [*DOCUMENTS][:depth]),
    ),
    (
        "it_obeys_its_filter",
        lambda: Crooked(lambda hits, depth, where: hits[1:] if where else hits),
    ),
    (
        "it_obeys_its_filter",
        lambda: Crooked(
            lambda hits, depth, where: [h for h in DOCUMENTS[:depth] if h in hits]
        ),
    ),
    ("sync_and_async_agree", lambda: Crooked(honest, amend=lambda hits: hits[:1])),
    ("nothing_that_is_given_is_changed", lambda: Crooked(emptied)),
]


def broken(contract, hook, table):
    return [
        pytest.param(contract, hook, name, make, id=f"{contract.__name__}-{name}-{at}")
        for at, (name, make) in enumerate(table)
    ]


@pytest.mark.parametrize(
    ("contract", "hook", "name", "make"),
    [
        *broken(StoreContract, "make_store", STORES),
        *broken(WritableStoreContract, "make_store", WRITABLE),
        *broken(ChannelContract, "make_channel", CHANNELS),
    ],
)
def test_a_contract_fails_where_it_is_broken(contract, hook, name, make) -> None:
    """With a sentence that says what to do."""
    checked = type("Checked", (contract,), {hook: lambda self: make()})()
    checked.setup_method()
    with pytest.raises(AssertionError, match=r"must|is gone"):
        getattr(checked, f"test_{name}")()
    checked.teardown_method()


@pytest.mark.parametrize(
    ("contract", "table"),
    [
        (StoreContract, STORES),
        (WritableStoreContract, WRITABLE),
        (ChannelContract, CHANNELS),
    ],
)
def test_every_test_of_a_contract_is_shown_to_fail(contract, table) -> None:
    """None is there that cannot."""
    tests = {name for name in dir(contract) if name.startswith("test_")}

    assert tests == {f"test_{name}" for name, _ in table}


def test_a_filter_that_tells_nothing_apart_proves_nothing() -> None:
    """The contract of a channel says so."""

    class Blind(TestScriptedChannel):
        where = {"lang": {"$exists": True}}  # noqa: RUF012 - as a user writes it

    checked = Blind()
    checked.setup_method()
    with pytest.raises(AssertionError, match="set another one"):
        checked.test_it_obeys_its_filter()


def test_testing_imports_no_pytest() -> None:
    """It can be used with any runner, or none."""
    code = "import sys, langchain_ctxfetch.testing; print('pytest' in sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "False"


# --- What MemoryStore does beyond them ---


def test_more_words_and_more_of_them_come_first() -> None:
    """Ties stand in the order in which they were put."""
    store = MemoryStore(
        [Hit("a", "teas"), Hit("b", "tea"), Hit("c", "tea and coffee"), Hit("d", "ink")]
    )
    found = store.channel().ask("coffee tea", 9, None)

    assert [(hit.id, hit.score) for hit in found] == [("c", 2), ("a", 1), ("b", 1)]


def test_a_memory_store_serves_a_retriever_and_a_compressor() -> None:
    """Pages over it are its ranking, the text comes in a fetch."""
    wanted = HybridRetriever(channels=[MemoryStore(DOCUMENTS)], k=2)
    pages = [wanted.invoke("tea", page=n) for n in (1, 2, 3)]
    found = [document.id for page in pages for document in page]

    assert found == ["black", "long", "green", "thé", "both"]
    assert all(document.page_content for page in pages for document in page)


@pytest.mark.parametrize("name", ["", "\0", "\ud83d", 7])
def test_an_id_that_is_none_is_refused(name) -> None:
    """Nothing of that call is stored."""
    store = MemoryStore()
    with pytest.raises(ConfigurationError, match=r"an id must (be|not)"):
        store.put([Hit("a", "text"), Hit(name, "text")])

    assert len(store) == 0


def test_a_memory_store_says_how_much_it_holds() -> None:
    """In a message or a debugger."""
    assert repr(MemoryStore(DOCUMENTS)) == "MemoryStore(7 documents)"


def test_a_document_without_text_is_refused() -> None:
    """A hit of a search is not yet a document."""
    with pytest.raises(ConfigurationError, match="needs its text"):
        MemoryStore([Hit("a", None)])


def test_a_memory_store_takes_text_in_as_every_store_does() -> None:
    """NUL becomes U+FFFD, and what we added to a document is left out."""
    store = MemoryStore([Hit("a", "x\0", {"ctxfetch": {"v": 1}, "t": "\0"})])
    (held,) = store.fetch(["a"])

    assert (held.text, held.metadata) == ("x\ufffd", {"t": "\ufffd"})
