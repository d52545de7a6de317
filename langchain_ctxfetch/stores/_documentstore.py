"""What a store of whole documents has to do, and taking documents in and out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_ctxfetch._bridge import to_document, to_hit
from langchain_ctxfetch._core.hits import Hit
from langchain_ctxfetch.errors import ConfigurationError
from langchain_ctxfetch.ports import SearchStore, StoreChannel, Where, WritableStore
from langchain_ctxfetch.stores._probes import Found, Probe


class DocumentStore(VectorStore, SearchStore, WritableStore):
    """Keep whole documents, and find them by their passages.

    A store of ours provides both ports and what follows here.
    """

    @abstractmethod
    def put(self, documents: Sequence[Hit], *, batch_size: int = 100) -> list[str]:
        """Store whole documents, replacing those of the same id; return the ids."""

    @abstractmethod
    async def aput(
        self, documents: Sequence[Hit], *, batch_size: int = 100
    ) -> list[str]:
        """Same as `put`, but asynchronously."""

    @abstractmethod
    def _find(self, probe: Probe) -> list[Found]:
        """Answer one probe, or raise its error."""

    @abstractmethod
    async def _afind(self, probe: Probe) -> list[Found]:
        """Same as `_find`, but asynchronously."""

    # What it gets for that.

    def channel(self, name: str) -> StoreChannel:
        """Return one way of searching this store, for a retriever.

        Args:
            name: One of `channel_names`.

        Returns:
            The channel.

        Raises:
            ConfigurationError: If the store cannot serve it.
        """
        return StoreChannel(self, name)

    def add_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int = 100,
        **kwargs: object,
    ) -> list[str]:
        """Store documents; one of the same id is replaced.

        Args:
            documents: Whole documents: the store cuts them into passages itself. Of
                several with one id the last is stored.
            ids: What names them; by default their own ids, or new ones. An id is any
                text that is not empty and holds no NUL and no lone surrogate.
            batch_size: The most documents that are written at once.
            **kwargs: There are none; LangChain's signature asks for them.

        Returns:
            The ids, in the order of the documents.

        Raises:
            ConfigurationError: If an argument is wrong or metadata cannot be stored.
            IngestionError: If some were stored and some were not.
            StoreError: If nothing could be stored.
        """
        refuse(kwargs)
        return self.put(named(documents, ids), batch_size=batch_size)

    async def aadd_documents(
        self,
        documents: Sequence[Document],
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int = 100,
        **kwargs: object,
    ) -> list[str]:
        """Same as `add_documents`, but asynchronously."""
        refuse(kwargs)
        return await self.aput(named(documents, ids), batch_size=batch_size)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int = 100,
        **kwargs: object,
    ) -> list[str]:
        """Store texts with their metadata; see `add_documents`."""
        refuse(kwargs)
        return self.add_documents(
            as_documents(texts, metadatas), ids=ids, batch_size=batch_size
        )

    async def aadd_texts(
        self,
        texts: Iterable[str],
        metadatas: Sequence[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        batch_size: int = 100,
        **kwargs: object,
    ) -> list[str]:
        """Same as `add_texts`, but asynchronously."""
        refuse(kwargs)
        return await self.aadd_documents(
            as_documents(texts, metadatas), ids=ids, batch_size=batch_size
        )

    def delete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: object,
    ) -> bool | None:
        """Remove documents by their ids, by a filter, or those that fit both.

        Args:
            ids: Which; unknown ones are passed over.
            filter: Only documents that match it.
            **kwargs: There are none; LangChain's signature asks for them.

        Returns:
            True.

        Raises:
            ConfigurationError: If neither is given.
        """
        refuse(kwargs)
        self.remove(ids, filter=filter)
        return True

    async def adelete(
        self,
        ids: Sequence[str] | None = None,
        *,
        filter: Where | None = None,  # noqa: A002
        **kwargs: object,
    ) -> bool | None:
        """Same as `delete`, but asynchronously."""
        refuse(kwargs)
        await self.aremove(ids, filter=filter)
        return True

    def get_by_ids(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Document]:
        """Return the documents of these ids that exist and match."""
        return [to_document(hit) for hit in self.fetch(ids, filter=filter)]

    async def aget_by_ids(
        self,
        ids: Sequence[str],
        *,
        filter: Where | None = None,  # noqa: A002
    ) -> list[Document]:
        """Same as `get_by_ids`, but asynchronously."""
        return [to_document(hit) for hit in await self.afetch(ids, filter=filter)]


def named(documents: Sequence[Document], ids: Sequence[str | None] | None) -> list[Hit]:
    """Return documents as hits, with the ids given or else their own."""
    if not isinstance(documents, Iterable):
        raise ConfigurationError(
            f"`documents` must be documents, not {documents!r:.100}"
        )
    hits = [to_hit(document) for document in documents]
    if ids is None:
        return hits
    names = list(ids)
    if len(names) != len(hits):
        raise ConfigurationError(
            f"`ids` must be one for each of {len(hits)} documents, not {len(names)}"
        )
    return [
        hit if name is None else replace(hit, id=name)
        for hit, name in zip(hits, names, strict=True)
    ]


def as_documents(
    texts: Iterable[str], metadatas: Sequence[dict[str, Any]] | None
) -> list[Document]:
    """Return texts with their metadata as documents."""
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise ConfigurationError(f"`texts` must be a list of texts, not {texts!r:.100}")
    texts = list(texts)
    given = [{} for _ in texts] if metadatas is None else list(metadatas)
    if len(given) != len(texts):
        raise ConfigurationError(
            f"`metadatas` must be one for each of {len(texts)} texts, not {len(given)}"
        )
    return [
        Document(page_content=text, metadata=metadata)
        for text, metadata in zip(texts, given, strict=True)
    ]


def refuse(kwargs: Mapping[str, object]) -> None:
    """Raise an error for keyword arguments that do not exist."""
    # A misspelt `filter` must never search unfiltered.
    if kwargs:
        raise ConfigurationError(
            f"there is no argument {', '.join(f'`{name}`' for name in kwargs)}"
        )
