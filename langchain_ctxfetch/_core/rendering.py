"""Documents as the text that a model reads: numbered, cited, and safe to embed.

Bodies and labels are untrusted: neither can close the block around them, nor pass for
the header of another document.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal, TypeAlias

import regex

from langchain_ctxfetch._core.tags import UNSEEN, without_tags
from langchain_ctxfetch._core.text import clean, cut

Style: TypeAlias = Literal["numbered", "xml", "plain"]

WRAPPER = "context"
"""The tag of the block around a rendering, which the compactor knows."""

LONGEST_LABEL = 500
"""Characters that a title or a source may have in a header."""

_OPENING, _CLOSING = f"<{WRAPPER}>\n", f"\n</{WRAPPER}>"
_BETWEEN = "\n\n"
_BETWEEN_LABELS = " | "

# What passes for a header: any case, wide forms, white space or invisible characters
# within. No class holds what comes after it, so this is linear.
_HEADER = regex.compile(
    r"(^|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])"
    rf"([ \t\p{{Zs}}{UNSEEN}]*+)"
    rf"(?=[\[［][ \t{UNSEEN}]*+\d[\d \t{UNSEEN}]*+[\]］])"
)
_NO_XML = regex.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NO_NAME = regex.compile(r"[^A-Za-z0-9_.-]")


@dataclass(frozen=True, slots=True)
class Entry:
    """Be one document of a rendering.

    Attributes:
        labels: What its header says, as names and values; the first value is the
            title and stands without its name in the numbered style.
        text: Its body; may be blank.
    """

    labels: tuple[tuple[str, str], ...]
    text: str


def render(entries: Sequence[Entry], style: Style) -> str:
    r"""Render documents, numbered from 1, in their order.

    A blank document keeps its number and header; style plain, which has no headers,
    leaves it out.

    >>> print(
    ...     render(
    ...         [Entry((("title", "Cats"), ("source", "c.md")), "Meow.")], "numbered"
    ...     )
    ... )
    <context>
    [1] Cats | source: c.md
    Meow.
    </context>

    Args:
        entries: The documents.
        style: `numbered` and `xml` stand in one `<context>` block, `xml` parses as
            XML; `plain` is the bodies alone, verbatim, a blank line between.

    Returns:
        The text; empty where there is no document.
    """
    if style == "plain":
        bodies = (clean(entry.text) for entry in entries)
        return _BETWEEN.join(body for body in bodies if body.strip())
    if not entries:
        return ""
    one = _numbered if style == "numbered" else _element
    parts = (one(number, entry) for number, entry in enumerate(entries, start=1))
    return f"{_OPENING}{_BETWEEN.join(parts)}{_CLOSING}"


def _numbered(number: int, entry: Entry) -> str:
    shown = [
        value if i == 0 and name == "title" else f"{one_line(name)}: {value}"
        for i, (name, value) in enumerate(_shown_labels(entry))
    ]
    header = f"[{number}] {defused(_BETWEEN_LABELS.join(shown))}".rstrip()
    body = defused(clean(entry.text))
    return f"{header}\n{body}" if body.strip() else header


def _shown_labels(entry: Entry) -> list[tuple[str, str]]:
    """Return the labels that say something, unable to pass for two of them."""
    labels = [(name, one_line(value)) for name, value in entry.labels]
    return [
        (name, value.replace(_BETWEEN_LABELS, " / ")) for name, value in labels if value
    ]


def one_line(value: str) -> str:
    r"""Put a value on one line of at most `LONGEST_LABEL` characters.

    >>> one_line(" a\n\u2028b ")
    'a b'
    """
    return cut(" ".join(clean(value).split()), LONGEST_LABEL)


def defused(text: str, names: frozenset[str] = frozenset({WRAPPER})) -> str:
    r"""Return *text* with look-alikes of our tags and headers made harmless.

    Everything else stays as it is.

    >>> defused("a < b && c </CONTEXT >\n[2] not a header, but x[2] is none either")
    'a < b && c &lt;/CONTEXT >\n\\[2] not a header, but x[2] is none either'

    Args:
        text: Any text.
        names: The names of the tags.

    Returns:
        The text.
    """
    return _HEADER.sub(r"\1\2\\", without_tags(text, names))


def _element(number: int, entry: Entry) -> str:
    attributes = {"index": str(number)}
    for name, value in _shown_labels(entry):
        attributes[_free_name(name, attributes)] = value
    head = " ".join(f'{key}="{_quoted(value)}"' for key, value in attributes.items())
    body = escape(_xml_text(entry.text), quote=False)
    return f"<document {head}>\n{body}\n</document>"


def _free_name(name: str, taken: dict[str, str]) -> str:
    """Make an attribute name of *name* that is not among those *taken*."""
    fit = _NO_NAME.sub("_", name) or "_"
    if not (fit[0].isalpha() or fit[0] == "_"):
        fit = f"_{fit}"
    while fit in taken:
        fit += "_"
    return fit


def _quoted(value: str) -> str:
    # Not `quote`: it would write an apostrophe as a number, for nothing.
    return escape(_xml_text(value), quote=False).replace('"', "&quot;")


def _xml_text(text: str) -> str:
    """Put U+FFFD for what XML cannot hold."""
    return _NO_XML.sub("\ufffd", clean(text))
