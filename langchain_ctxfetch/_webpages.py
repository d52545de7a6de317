"""Turns HTML into Markdown: headings, lists, code and tables, no scripts or styles."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from langchain_ctxfetch._notations import fenced

_LEFT_OUT = frozenset(
    (
        *("script", "style", "template", "noscript", "nav", "svg", "math", "head"),
        *("iframe", "object", "embed", "canvas", "audio", "video", "datalist"),
        "select",
    )
)
_PARAGRAPHS = frozenset(
    (
        *("p", "dl", "blockquote", "hr", "figure", "section", "article", "header"),
        *("footer", "main", "aside", "form", "fieldset", "details", "address"),
    )
)
_LINES = frozenset(
    ("div", "dt", "dd", "summary", "legend", "caption", "figcaption", "br", "center")
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
# A table that holds such things lays out a page.
_NO_CELL = frozenset(("table", "ul", "ol", "pre", "blockquote", *_HEADINGS))
_LONGEST_CELL = 1_000  # characters; so does one with longer cells
_DEEPEST = 10  # lists are indented, or nesting alone would make a small page large

_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w-]{1,40})""", re.IGNORECASE)
_HEAD = 4_096  # bytes in which a page says how its letters are written
# Not whatever Python calls an encoding: some are slow, some no text at all.
_ENCODINGS = re.compile(
    r"iso-8859-\d+|windows-\d+|shift_jis|euc-jp|euc-kr|gb2312|gbk|gb18030|big5|koi8-[ru]"
)


def decoded(data: bytes) -> str:
    """Return a page as text: by its mark, as UTF-8, else as it says itself.

    Args:
        data: The bytes of the page.

    Returns:
        Its text.

    Raises:
        ValueError: If it is in no encoding that is known.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        said = _CHARSET.search(data, 0, _HEAD)
        name = said[1].decode().lower() if said else ""
        if not _ENCODINGS.fullmatch(name):
            raise
    # Pages that say Latin-1 mean this one, as browsers know.
    return data.decode("cp1252" if name == "iso-8859-1" else name, errors="replace")


def page_text(html: str) -> tuple[str, str | None]:
    r"""Return a page as Markdown, and its title.

    >>> page_text("<title>T</title><h1>A</h1><ul><li>b<li>c</ul><script>d</script>")
    ('# A\n\n- b\n- c\n', 'T')

    Args:
        html: A page or a part of one, however broken.

    Returns:
        Its text, and what stands in `title`, else in the first `h1`.
    """
    tree = import_module("selectolax.lexbor").LexborHTMLParser(html)
    page = _Page()
    if tree.root is not None:
        for node, opens in _steps(tree.root):
            page.take(node, opens=opens)
    named = tree.css_first("head > title") or tree.css_first("h1")
    title = " ".join(named.text().split()) if named is not None else ""
    return page.text(), title or None


def _steps(root: Any) -> Iterator[tuple[Any, bool]]:  # noqa: ANN401 - untyped package
    """Yield each node when it opens and when it closes, without recursion."""
    waiting: list[tuple[Any, bool]] = [(root, True)]
    while waiting:
        node, opens = waiting.pop()
        is_element = not node.tag.startswith("-")
        if is_element and (node.tag in _LEFT_OUT or "hidden" in node.attributes):
            continue
        yield node, opens
        if opens and is_element and node.tag != "pre":
            waiting.append((node, False))
            inside = list(node.iter(include_text=True))
            waiting += [(child, True) for child in reversed(inside)]


class _Flow:
    """Be a text that is written from its beginning to its end."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._breaks = 0
        self._gap = ""
        self._mark = ""
        self.is_heading = False

    def add(self, text: str) -> None:
        """Write running text, its white space collapsed."""
        words = text.split()
        if not words:
            self._gap = self._gap or (" " if text else "")
            return
        self._put(" ".join(words), text[0].isspace())
        self._gap = " " if text[-1].isspace() else ""

    def block(self, text: str) -> None:
        """Write something of whole lines as it is."""
        self.end(2)
        self._put(text, spaced=False)
        self.end(2)

    def end(self, breaks: int) -> None:
        """End a line, or with two breaks a paragraph; headings are of one line."""
        if self.is_heading:
            self._gap = " "
        elif not self._mark:
            self._breaks = max(self._breaks, breaks)

    def begin(self, mark: str, breaks: int) -> None:
        """Begin a line with a mark, which stands there only if text follows."""
        self._mark = ""
        self.end(breaks)
        self._mark = mark

    def drop_mark(self) -> None:
        """Forget a mark that no text has followed."""
        self._mark = ""

    def text(self) -> str:
        """Return all that was written."""
        return "".join(self._parts)

    def _put(self, text: str, spaced: bool) -> None:  # noqa: FBT001 - one of two
        if self._parts:
            gap = " " if spaced else self._gap
            self._parts.append("\n" * self._breaks or gap)
        self._parts += (self._mark, text)
        self._mark, self._breaks, self._gap = "", 0, ""


class _Table:
    """Be a table that is still open, and what its cells hold."""

    def __init__(self) -> None:
        self.rows: list[list[str]] = []
        self.lays_out = False

    def write(self, flow: _Flow) -> None:
        """Write it with bars between the columns, or what it lays out as it comes."""
        rows = [row for row in self.rows if any(map(str.strip, row))]
        columns = max(map(len, rows), default=0)
        longest = max((len(cell) for row in rows for cell in row), default=0)
        if self.lays_out or columns <= 1 or longest > _LONGEST_CELL:
            for cell in (cell for row in rows for cell in row if cell.strip()):
                flow.block(cell)
            return
        lines = [_row(row + [""] * (columns - len(row))) for row in rows]
        flow.block("\n".join([lines[0], "|" + " --- |" * columns, *lines[1:]]))


def _row(cells: list[str]) -> str:
    shown = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return "".join(f"| {cell} " for cell in shown) + "|"


class _Page:
    """Be a page of which one node after the other is taken."""

    def __init__(self) -> None:
        self._flows = [_Flow()]
        self._tables: list[_Table] = []
        self._lists: list[int | None] = []

    def text(self) -> str:
        """Return what was written, ended by a line break."""
        return self._flows[0].text().strip("\n") + "\n"

    def take(self, node: Any, *, opens: bool) -> None:  # noqa: ANN401 - see above
        """Take a node that opens or closes."""
        tag, flow = node.tag, self._flows[-1]
        if tag == "-text":
            flow.add(node.text_content or "")
        if tag in _NO_CELL and opens and self._tables:
            self._tables[-1].lays_out = True
        if tag == "pre":
            code = node.text().strip("\n")
            if code.strip():
                flow.block(fenced(code))
        elif tag == "img" and opens:
            flow.add(node.attributes.get("alt") or "")
        elif tag in {"table", "tr", "td", "th"}:
            self._take_table(tag, opens=opens)
        else:
            self._take_lines(tag, flow, opens=opens)

    def _take_lines(self, tag: str, flow: _Flow, *, opens: bool) -> None:
        if tag in _HEADINGS:
            self._take_heading(tag, flow, opens=opens)
        elif tag in _LINES:
            flow.end(1)
        elif tag == "li":
            self._take_item(flow, opens=opens)
        elif tag in {"ul", "ol"}:
            self._take_list(tag, flow, opens=opens)
        elif tag in _PARAGRAPHS:
            flow.end(2)

    def _take_table(self, tag: str, *, opens: bool) -> None:
        if tag == "table" and opens:
            self._tables.append(_Table())
        elif tag == "table":
            self._tables.pop().write(self._flows[-1])
        elif tag == "tr" and opens:
            self._tables[-1].rows.append([])
        elif tag != "tr" and opens:
            self._flows.append(_Flow())
        elif tag != "tr":
            self._tables[-1].rows[-1].append(self._flows.pop().text())

    def _take_heading(self, tag: str, flow: _Flow, *, opens: bool) -> None:
        if opens:
            flow.is_heading = False
            flow.begin(_HEADINGS[tag], 2)
            flow.is_heading = True
        else:
            flow.is_heading = False
            flow.drop_mark()
            flow.end(2)

    def _take_list(self, tag: str, flow: _Flow, *, opens: bool) -> None:
        if not opens:
            self._lists.pop()
        # A list in a list is no paragraph of its own.
        flow.end(1 if self._lists else 2)
        if opens:
            self._lists.append(1 if tag == "ol" else None)

    def _take_item(self, flow: _Flow, *, opens: bool) -> None:
        if not opens:
            flow.drop_mark()
            flow.end(1)
            return
        number = self._lists[-1] if self._lists else None
        if number is not None:
            self._lists[-1] = number + 1
        indent = "  " * min(max(0, len(self._lists) - 1), _DEEPEST)
        flow.begin(indent + ("- " if number is None else f"{number}. "), 1)
