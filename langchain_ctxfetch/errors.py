"""Every error that this package raises.

CtxFetchError
    ConfigurationError      also ValueError: wrong before any work began
        FilterError         the metadata filter
        PageError           a page out of range
    MissingExtraError       also ImportError: an optional dependency is not installed
    StoreError              a search or a write failed
        StoreTimeoutError   also TimeoutError
        StoreMismatchError  another embedding model, dimension or schema version
        StoreCorruptError   the file is damaged
        StoreReadOnlyError  the store cannot be written
        StoreFullError      the disk is full; nothing was lost
        IngestionError      part of a write failed
    BudgetError             also ValueError: what may not be cut is over the budget
    ModelOutputError        the text of a model could not be used
"""

from __future__ import annotations

from collections.abc import Sequence


class CtxFetchError(Exception):
    """Be the base of every error of this package, for one `except` clause."""


class ConfigurationError(CtxFetchError, ValueError):
    """Say that an argument is wrong; raised before any work began."""


class FilterError(ConfigurationError):
    """Say which operator or key of a metadata filter is wrong, and why."""


class PageError(ConfigurationError):
    """Say that a page number lies outside the pages that can be asked for.

    Attributes:
        page: The page that was asked for.
        last_page: The last page that may be asked for, from 1.
    """

    def __init__(self, page: object, last_page: int) -> None:
        super().__init__(
            f"`page` must be a whole number from 1 to {last_page}, not {page!r}"
        )
        self.page = page
        self.last_page = last_page


class MissingExtraError(CtxFetchError, ImportError):
    """Name the optional dependency that is missing, and how to install it.

    Attributes:
        extra: The name between the brackets of the `pip install` command.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f'{purpose} needs an extra: pip install "langchain-ctxfetch[{extra}]"'
        )
        self.extra = extra


class StoreError(CtxFetchError):
    """Say that a search or a write failed.

    Attributes:
        store: The name of the store or channel, where one is known.
        errors: The causes, newest first.
    """

    def __init__(
        self,
        message: str,
        *,
        store: str | None = None,
        errors: Sequence[BaseException] = (),
    ) -> None:
        super().__init__(message)
        self.store = store
        self.errors = tuple(errors)


class StoreTimeoutError(StoreError, TimeoutError):
    """Say that a store or channel did not answer in time."""


class StoreMismatchError(StoreError):
    """Say that a store was made by another model, schema version or program."""


class StoreCorruptError(StoreError):
    """Say that the file of a store is damaged."""


class StoreReadOnlyError(StoreError):
    """Say that a store cannot be written."""


class StoreFullError(StoreError):
    """Say that the disk is full; what was stored before is still there."""


class IngestionError(StoreError):
    """Say which documents could not be written; the others are stored.

    Attributes:
        failed_ids: The ids of the documents that were not stored.
    """

    def __init__(
        self,
        message: str,
        *,
        failed_ids: Sequence[str],
        store: str | None = None,
        errors: Sequence[BaseException] = (),
    ) -> None:
        super().__init__(message, store=store, errors=errors)
        self.failed_ids = tuple(failed_ids)


class BudgetError(CtxFetchError, ValueError):
    """Say that what may not be cut is already over the budget.

    Attributes:
        limit: The budget, in tokens.
        needed: What the untouchable part takes, in tokens.
    """

    def __init__(self, message: str, *, limit: int, needed: int) -> None:
        super().__init__(message)
        self.limit = limit
        self.needed = needed


class ModelOutputError(CtxFetchError):
    """Say that the text of a model could not be used.

    Attributes:
        output: The text, as it came.
    """

    def __init__(self, message: str, *, output: str) -> None:
        super().__init__(message)
        self.output = output
