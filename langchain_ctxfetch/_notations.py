"""Makes JSON and notebooks readable, and finds the titles of reStructuredText.

All of it runs once through the text, however deep or long its parts are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice, pairwise

LONGEST_LINE = 2_000
"""JSON with a longer line is laid out anew, in characters."""

_TITLE_WITHIN = 65_536  # characters at the beginning of JSON
_DEEPEST = 8  # levels are laid out, or nesting alone would make a small file large
_PORTION = 100_000  # signs
_TITLE_LINES = 200  # lines at the beginning of a reStructuredText

_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?'
_BARE = r'[^\s"{}\[\],:]++'  # numbers, true, false, null
_TOKEN = re.compile(rf"{_STRING}|[{{}}\[\],:]|{_BARE}(?:,{_BARE})*+", re.DOTALL)
_MARK = re.compile(rf"{_STRING}|[{{}}\[\]:]", re.DOTALL)
_ESCAPE = re.compile(
    r"\\(?:u(?P<high>[dD][89abAB][0-9a-fA-F]{2})\\u(?P<low>[dD][c-fC-F][0-9a-fA-F]{2})"
    r"|u(?P<one>[0-9a-fA-F]{4})|.)",
    re.DOTALL,
)
_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*\s*")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_TICKS = re.compile(r"`{3,}")


def json_text(text: str) -> tuple[str, str | None]:
    r"""Return JSON as a person would write it, and its title on the uppermost level.

    Lines of a sensible length stay as they are. Letters that are written as numbers
    become letters. No value, and no key that stands there twice, is lost.

    >>> json_text('{"title": "T\\u00e9", "n": [1, 2]}')
    ('{"title": "Té", "n": [1, 2]}', 'Té')
    """
    read = _ESCAPE.sub(_letter, text) if "\\u" in text else text
    if any(len(line) > LONGEST_LINE for line in read.split("\n")):
        # In portions: a string for each sign is many times the text.
        signs = _laid_out(read)
        read = "".join(iter(lambda: "".join(islice(signs, _PORTION)), ""))
    return read, _title(text[:_TITLE_WITHIN])


def notebook_text(text: str) -> str:
    r"""Return the cells of a Jupyter notebook as Markdown, without what they put out.

    >>> cells = [
    ...     {"cell_type": "markdown", "source": ["# A\n", "b"]},
    ...     {"cell_type": "code", "source": "c"},
    ... ]
    >>> notebook_text(json.dumps({"cells": cells}))
    '# A\nb\n\n```python\nc\n```\n'

    Args:
        text: The file.

    Returns:
        The cells in order; those of code between fences.

    Raises:
        ValueError: If it is no notebook of version 4.
    """
    try:
        book = json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        raise ValueError("no notebook")  # noqa: TRY004 - the text is wrong, not its type
    language = _language(book)
    shown = (_cell(cell, language) for cell in cells if isinstance(cell, dict))
    return "\n\n".join(filter(None, shown)) + "\n"


def rst_title(text: str) -> str | None:
    r"""Return the first title of a reStructuredText: a line with a rule below.

    >>> rst_title(".. _top:\n\n=====\n Tea\n=====\n\nGreen.")
    'Tea'
    """
    lines = islice(text.split("\n", _TITLE_LINES), _TITLE_LINES)
    for line, below in pairwise(lines):
        title = line.strip()
        if not title or _ADORNMENT.fullmatch(line) or line.startswith(".. "):
            continue
        if _ADORNMENT.fullmatch(below) and len(below.strip()) >= len(title):
            return title
    return None


def _letter(match: re.Match[str]) -> str:
    """Return the letter that an escape stands for, where it may stand for itself."""
    if match["high"]:
        pair = bytes.fromhex(match["high"] + match["low"])
        return pair.decode("utf-16-be")
    one = int(match["one"], 16) if match["one"] else 0
    if one < ord(" ") or chr(one) in '"\\\x7f' or 0xD800 <= one <= 0xDFFF:  # noqa: PLR2004 - surrogates
        return match[0]
    return chr(one)


def _laid_out(text: str) -> Iterator[str]:
    """Yield the signs of JSON and what stands between them."""
    opened: list[str] = []
    before = ""
    for match in _TOKEN.finditer(text):
        sign = match[0]
        if sign in "}]" and opened:
            opened.pop()
        depth = len(opened)
        if depth < _DEEPEST and _breaks(before, sign, opened[-1:] == ["["]):
            yield "\n" + "  " * depth
        elif before in {",", ":"}:
            yield " "
        yield sign if sign[0] == '"' or len(sign) == 1 else sign.replace(",", ", ")
        if sign in "{[":
            opened.append(sign)
        before = sign


def _breaks(before: str, sign: str, in_list: bool) -> bool:  # noqa: FBT001 - one caller
    """Say whether a new line begins between two tokens: not between bare values."""
    if sign in "}]":
        return before in "}]" if sign == "]" else before != "{"
    if before == "{":
        return True
    if before == "[":
        return sign in "{["
    return before == "," and (not in_list or sign in "{[")


def _title(text: str) -> str | None:
    """Return the text under the key `title` of the outermost object."""
    depth, last, key = 0, "", ""
    for match in _MARK.finditer(text):
        sign = match[0]
        if sign in "{[":
            depth += 1
        elif sign in "}]":
            depth -= 1
        elif sign == ":":
            key = last
        elif depth == 1 and key == '"title"' and last == ":":
            return _string(sign)
        last = sign
    return None


def _string(written: str) -> str | None:
    try:
        return str(json.loads(written, strict=False))
    except ValueError:
        return None


def _cell(cell: dict[str, object], language: str) -> str:
    source = cell.get("source")
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str)).strip("\n")
    if cell.get("cell_type") != "code" or not text.strip():
        return text if cell.get("cell_type") != "raw" else ""
    return fenced(text, language)


def fenced(text: str, language: str = "") -> str:
    """Put code between fences that are longer than any in it."""
    fence = "`" * max([3, *(len(ticks) + 1 for ticks in _TICKS.findall(text))])
    return f"{fence}{language}\n{text}\n{fence}"


def _language(book: dict[str, object]) -> str:
    """Return the language of the code; Python where the notebook does not say."""
    about = book.get("metadata")
    info = about.get("language_info") if isinstance(about, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and _LANGUAGE.fullmatch(name) else "python"
