"""Which formats are known by the names of files, and how the text of each is had."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from langchain_ctxfetch._core.outline import MARKDOWN, title_of
from langchain_ctxfetch._notations import json_text, notebook_text, rst_title


class Extract(NamedTuple):
    """Be what was taken out of a file.

    Attributes:
        text: What is stored; offsets count in it.
        title: Its title, where it has one.
        pages: How many pages it has, where it has pages.
    """

    text: str
    title: str | None = None
    pages: int | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """Say how the files of a format are read.

    Attributes:
        name: What the metadata calls it.
        reader: Which version of the reader; documents of another one are written
            anew. None where the text is that of the file, letter for letter.
        take: Makes an extract of the decoded text, and raises `ValueError` where it
            cannot; None where a package reads the bytes, in a process of its own.
        package: The package that reads it, where it needs one.
        extra: The extra that brings that package.
    """

    name: str
    reader: int | None = None
    take: Callable[[str], Extract] | None = Extract
    package: str | None = None
    extra: str | None = None


def _markdown(text: str) -> Extract:
    return Extract(text, title_of(text))


def _rst(text: str) -> Extract:
    return Extract(text, rst_title(text))


def _json(text: str) -> Extract:
    return Extract(*json_text(text))


def _notebook(text: str) -> Extract:
    shown = notebook_text(text)
    return Extract(shown, title_of(shown))


# Whoever changes what one of these makes of a file gives it the next number.
_KNOWN: Mapping[tuple[str, ...], Format] = {
    MARKDOWN: Format("markdown", take=_markdown),
    (".rst", ".rest"): Format("rst", 1, _rst),
    (".json",): Format("json", 1, _json),
    (".jsonl", ".ndjson"): Format("jsonl", 1, lambda text: Extract(_json(text).text)),
    (".ipynb",): Format("ipynb", 1, _notebook),
    (".html", ".htm", ".xhtml"): Format("html", 1, None, "selectolax", "cli"),
    (".pdf",): Format("pdf", 1, None, "pypdf", "pdf"),
    (".docx",): Format("docx", 1, None, "mammoth", "docx"),
}

_BY_SUFFIX = {suffix: known for names, known in _KNOWN.items() for suffix in names}
_BY_NAME = {known.name: known for known in _KNOWN.values()}


def format_of(path: str) -> Format:
    """Return the format that the name of a file says; by default text as it is.

    >>> format_of("/a/b.HTM").name, format_of("/a/b.py").name, format_of("/a/b").name
    ('html', 'py', 'text')
    """
    suffix = Path(path).suffix.lower()
    return _BY_SUFFIX.get(suffix) or Format(suffix.removeprefix(".") or "text")


def format_named(name: str) -> Format:
    """Return the format of a name; by default text as it is.

    >>> format_named("pdf").extra, format_named("py").reader
    ('pdf', None)
    """
    return _BY_NAME.get(name) or Format(name)
