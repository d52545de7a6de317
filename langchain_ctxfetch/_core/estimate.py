"""How many tokens a text has, estimated from the shapes of its words.

The weights were fitted on windows of 2,000 characters of prose (English, German,
French, Spanish, Japanese, Chinese), Markdown, Python, JSON and CSV, so that each
window comes out at or above the greater of its cl100k and o200k counts, and the
greatest excess is smallest.
"""

from __future__ import annotations

import math
from collections import Counter

import regex

CHUNK = 1 << 16
"""Characters looked at in one go, which bounds the memory that is needed."""

# The shape of a text has one character for each character of it.
_LOWER, _UPPER, _MARKED_LOWER, _MARKED_UPPER = "a", "A", "e", "E"
_DIGIT, _SPACE, _BREAK = "0", " ", "\n"

_WORD = 1.0
_BEYOND_4, _BEYOND_7 = 0.10, 0.215
_MARKED, _CAPITAL = 1.5, 0.9
_DIGITS_3, _DIGIT_AFTER_SPACE = 1.2, 1.5
_LINE_BREAKS = 1.45
_ALONE = {".": 0.7, "h": 1.52, "k": 1.02, "p": 1.15, "o": 1.0, "x": 3.0}

_CLASSES = (
    (_BREAK, r"[\r\n]"),
    (_SPACE, r"\s"),
    (_DIGIT, r"[0-9]"),
    (_LOWER, r"[a-z]"),
    (_UPPER, r"[A-Z]"),
    (".", r"[\x00-\x7f]"),
    (_MARKED_UPPER, r"[\u00c0-\u024f&&\p{Lu}]"),
    (_MARKED_LOWER, r"[\u00c0-\u024f]"),
    ("p", r"[\u3000-\u303f\uff00-\uffef]"),
    ("k", r"[\u3040-\u30ff]"),
    ("h", r"[\u3400-\u9fff]"),
    ("x", r"[\U00010000-\U0010ffff]"),
)
_CLASS = tuple(
    (name, regex.compile(pattern, regex.VERSION1)) for name, pattern in _CLASSES
)
_PIECE = regex.compile(r"[aAeE]++|0++|\n++")


class _Shapes(dict[int, str]):
    """Map a code point to the character that stands for its class."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        name = next((name for name, like in _CLASS if like.match(letter)), "o")
        self[code] = name
        return name


_shapes = _Shapes()


def estimate(text: str) -> int:
    """Estimate the number of tokens of *text*, rather too high than too low.

    >>> estimate("")
    0
    >>> estimate("The cat sat on the mat.")
    8

    Args:
        text: Any text; what looks like a special token is text too.

    Returns:
        The estimate, at least 1 for a text that is not empty.
    """
    if not text:
        return 0
    chunks = (text[start : start + CHUNK] for start in range(0, len(text), CHUNK))
    return max(1, math.ceil(math.fsum(_weight(chunk) for chunk in chunks)))


def _weight(chunk: str) -> float:
    shape = chunk.translate(_shapes)
    pieces = Counter(_PIECE.findall(shape))
    weight = math.fsum(_piece(piece) * times for piece, times in pieces.items())
    weight += math.fsum(shape.count(name) * each for name, each in _ALONE.items())
    apart = shape.count(_SPACE + _DIGIT) + shape.count(_BREAK + _DIGIT)
    # A long run of spaces is a token for each 80 of them or so.
    return weight + apart * _DIGIT_AFTER_SPACE + shape.count(_SPACE * 32)


def _piece(piece: str) -> float:
    """Weigh the shape of a word, a number or a run of line breaks."""
    length = len(piece)
    if piece[0] == _DIGIT:
        return _DIGITS_3 * math.ceil(length / 3)
    if piece[0] == _BREAK:
        return _LINE_BREAKS + length // 32
    marked = piece.count(_MARKED_LOWER) + piece.count(_MARKED_UPPER)
    beyond = _BEYOND_4 * max(0, length - 4) + _BEYOND_7 * max(0, length - 7)
    capital = _CAPITAL if piece[0] in {_UPPER, _MARKED_UPPER} else 0.0
    return _WORD + beyond + _MARKED * marked + capital
