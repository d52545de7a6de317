"""Every error that this package raises.

CtxFetchError
    ConfigurationError      also ValueError: an argument or a given function is wrong
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
    """Say that an argument, or a function that was given, is wrong."""


class FilterError(ConfigurationError):
    """Say which operator or key of a metadata filter is wrong, and why."""


class PageError(ConfigurationError):
    """Say that a page number lies outside the pages that can be asked for.

    Args:
        page: The page that was asked for, kept as `page`.
        last_page: The last one that may be asked for, from 1, kept as `last_page`.
    """

    def __init__(self, page: object, last_page: int) -> None:
        super().__init__(
            f"`page` must be a whole number from 1 to {last_page}, not {page!r}; "
            "`max_window` and `k` say how far pages go"
        )
        self.page = page
        self.last_page = last_page


class MissingExtraError(CtxFetchError, ImportError):
    """Name the optional dependency that is missing, and how to install it.

    Args:
        extra: The name between the brackets of `pip install`, kept as `extra`.
        purpose: What needs it.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        super().__init__(
            f'{purpose} needs an extra: pip install "langchain-ctxfetch[{extra}]"'
        )
        self.extra = extra


class StoreError(CtxFetchError):
    """Say that a search or a write failed.

    Args:
        message: What happened and what to do.
        store: The name of the store or channel where one is known, kept as `store`.
        errors: The causes, newest first, kept as `errors`.
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

    Args:
        message: What happened and what to do.
        failed_ids: The ids of the documents not stored, kept as `failed_ids`.
        store: As in `StoreError`.
        errors: As in `StoreError`.
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

    Args:
        message: What happened and what to do.
        limit: The budget, in tokens, kept as `limit`.
        needed: What the untouchable part takes, in tokens, kept as `needed`.
    """

    def __init__(self, message: str, *, limit: int, needed: int) -> None:
        super().__init__(message)
        self.limit = limit
        self.needed = needed


class ModelOutputError(CtxFetchError):
    """Say that the text of a model could not be used.

    Args:
        message: What happened and what to do.
        output: The text, as it came, kept as `output`.
    """

    def __init__(self, message: str, *, output: str) -> None:
        super().__init__(message)
        self.output = output
