"""The batches of a write, and what to say when one of them fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from langchain_ctxfetch.errors import IngestionError, StoreError
from langchain_ctxfetch.stores._preparing import PreparedDocument

MOST_CHARACTERS = 2_000_000
"""Characters of a batch of several documents, so that memory stays flat."""


class Progress:
    """Cut documents into batches and remember which of them are stored.

    Args:
        documents: What is to be written; of equal ids the last counts.
        batch_size: The most documents of a batch.
        store: What errors call the store.
    """

    def __init__(
        self, documents: Sequence[PreparedDocument], batch_size: int, store: str
    ) -> None:
        self.ids = [document.id for document in documents]
        self._documents = list({each.id: each for each in documents}.values())
        self._batch_size = batch_size
        self._store = store
        self._stored = 0

    def parts(self) -> Iterator[list[PreparedDocument]]:
        """Yield the batches."""
        part: list[PreparedDocument] = []
        characters = 0
        for document in self._documents:
            characters += len(document.text)
            if part and (len(part) >= self._batch_size or characters > MOST_CHARACTERS):
                yield part
                part, characters = [], len(document.text)
            part.append(document)
        if part:
            yield part

    @contextmanager
    def storing(self, part: Sequence[PreparedDocument]) -> Iterator[None]:
        """Count a batch as stored, or raise what tells which documents are not."""
        try:
            yield
        except StoreError as error:
            if not self._stored:
                raise
            raise self._failure(error) from error
        except Exception as error:
            raise self._failure(error) from error
        self._stored += len(part)

    def _failure(self, error: Exception) -> IngestionError:
        failed = [document.id for document in self._documents[self._stored :]]
        others = ", the others were" if self._stored else ""
        return IngestionError(
            f"{self._store}: {len(failed)} of {len(self._documents)} documents were not"
            f" stored{others}: {error}",
            failed_ids=failed,
            store=self._store,
            errors=(error,),
        )
