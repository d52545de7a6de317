r"""Sentences and passages as stretches of a text, in one pass over any input.

A sentence ends after `.!?` with closing quotes and white space, after `。！？` with
closing quotes, and at a line break that is no soft wrap. The white space after a
sentence belongs to it, so the stretches laid end to end are the text. What is too
long for a sentence (minified code, base64, a table) is cut where a reader would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

import regex

from langchain_ctxfetch._core.text import Span, ceil_boundary, floor_boundary

CJK_LETTERS = (
    "\u0e00-\u0eff\u3005\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\uff66-\uff9f\U00020000-\U0003ffff"
)
"""Letters of scripts that write no spaces between words, for a character class."""

LONGEST = 400
"""About how long a share of an overlong sentence is, in characters."""

_SAMPLE = 4_000  # characters that show the script of a text
_SLACK = 1.25  # a sentence is cut only when it is longer than this many shares

_END = re.compile(
    r"[.!?؟।\n\r\u2028\u2029]"  # one class first: the search skips fast
    r"(?:(?<=[.!?؟।])[\"'”’»)\]]*\s+|(?<=[\n\r\u2028\u2029])\s*)"
    r"|[。！？｡][。！？｡」』）”’\]]*\s*"
)
_LINE_BREAK = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_LEADING = re.compile(r"\s*")
_ONE_BREAK = re.compile(r"\r?\n[ \t]*")
_CJK = re.compile(f"[{CJK_LETTERS}]")
_ATTACHED = regex.compile(r"[\p{GCB=Extend}\p{GCB=ZWJ}\p{GCB=SpacingMark}]")

_FIRST_PREPENDED = "\u0600"
_JOINER = "\u200d"

_ABBREVIATED = """
    al approx ca cf col dept dr e.g ed eds eq eqs esp est etc fig figs gen i.e inc jr
    ltd mr mrs ms mt prof ref refs resp sp spp sr st vs
"""
_ABBREVIATIONS = frozenset(_ABBREVIATED.split())
_BEFORE_NUMBERS = frozenset(
    """
    art ch no nos p pp sec vol jan feb mar apr jun jul aug sep sept oct nov dec
    """.split()  # noqa: SIM905 - words read better than a list of strings
)
_ITEM = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?[0-9]{1,3}")  # the number of a list item
_ITEM_REACH = 40  # characters that it may be indented by
_ABBREVIATION_REACH = 10  # characters before a full stop that are looked at

_SHORTEST_WRAP = 40  # characters; shorter lines were broken on purpose
_LONGEST_WRAP = 200  # characters; nobody wraps lines this long
_UNEQUAL = 0.25  # of a line's length; where lines differ by more, nothing was wrapped
_SAME_BEGINNING = 8  # characters; lines that begin alike are records, not prose

# Where to cut, best first, and how far from the wanted place, in shares.
_CUTS = (
    (re.compile(r"[;:؛]\s+"), 0.3),
    (re.compile(r",\s+|[、，；]\s*"), 0.3),
    (re.compile(r"\s+"), 0.6),
    (re.compile(r"(?<=[^\w\s])(?<![0-9][.,])(?=.)|(?<=[.,])(?![0-9])"), 0.3),
)
_UNBROKEN = re.compile(r"[0-9A-Za-z.,]+\Z")
_UNBROKEN_REACH = 40  # characters before a cut in which a number may begin


def sentences(
    text: str, start: int = 0, end: int | None = None, *, longest: int = LONGEST
) -> list[Span]:
    """Divide `text[start:end]` into sentences, the white space after one being its own.

    >>> text = "It is 3.14. Is it? Yes"
    >>> [text[first:last] for first, last in sentences(text)]
    ['It is 3.14. ', 'Is it? ', 'Yes']

    Args:
        text: Any text.
        start: Where to begin, in characters; a boundary between graphemes.
        end: Where to stop, in characters; None is the end of the text.
        longest: Sentences over 1.25 times as many characters are cut into shares
            of about that many, half as many in Chinese, Japanese, Korean and Thai.

    Returns:
        Stretches that touch one another and cover all of it; no grapheme is cut.
    """
    stop = len(text) if end is None else end
    ends = [*_ends(text, start, stop), stop]
    spans: list[Span] = []
    for first, last in pairwise([start, *ends]):
        if last - first > longest * _SLACK / 2:
            spans.extend(
                _shares(text, first, last, _share_length(text, first, longest))
            )
        elif first < last:
            spans.append((first, last))
    return spans


def split_passages(text: str, size: int = 600) -> list[Span]:
    """Join whole sentences into passages of at most *size* characters.

    White space at the ends of a passage does not count, so that no passage is
    blank and the passages laid end to end are the text.

    >>> split_passages("One. Two. Three.", 10)
    [(0, 10), (10, 16)]

    Args:
        text: Any text; a blank one has no passages.
        size: The most characters of a passage; at least 1. Only a single grapheme
            that is longer goes over it.

    Returns:
        Stretches that touch one another; none for a blank text.
    """
    # Two shares of an overlong sentence fill a passage.
    longest = max(1, min(LONGEST, size // 2))
    spans: list[Span] = []
    begin, ink_begin = 0, -1  # of the passage that is being filled
    for first, last in sentences(text, longest=longest):
        ink_first, ink_last = stripped(text, first, last)
        if ink_first == ink_last:
            continue
        if ink_begin < 0:
            ink_begin = ink_first
        elif ink_last - ink_begin > size:
            spans.append((begin, first))
            begin, ink_begin = first, ink_first
    return spans if ink_begin < 0 else [*spans, (begin, len(text))]


def stripped(text: str, start: int, end: int) -> Span:
    """Return `text[start:end]` without the white space at its ends, as a stretch.

    >>> stripped("a  b  c", 1, 6)
    (3, 4)
    """
    body = text[start:end].rstrip()
    first, last = start + len(body) - len(body.lstrip()), start + len(body)
    if first < last:
        # A mark may stand on a space, and a sign of Arabic before one.
        if first > start and _is_attached(text[first]):
            first = floor_boundary(text, first, start)
        if last < end and text[last - 1] >= _FIRST_PREPENDED:
            last = ceil_boundary(text, last, first)
    return first, last


def is_cjk(text: str) -> bool:
    """Tell by its beginning whether a text is in a script without spaces.

    >>> is_cjk("猫はよく眠る。"), is_cjk("A cat sleeps.")
    (True, False)
    """
    return mostly_cjk(text[:_SAMPLE])


def mostly_cjk(text: str) -> bool:
    """Tell whether over 30 percent of the characters are of a script without spaces."""
    return len(_CJK.findall(text)) > 0.3 * len(text)


def snap(text: str, position: int) -> int:
    """Return the first end of a sentence from *position* on, if near, else it.

    >>> snap("One. Two. Three.", 6)
    10
    """
    found = _END.search(text, position, position + LONGEST)
    place = min(position, len(text)) if found is None else found.end()
    return floor_boundary(text, place)


def _ends(text: str, start: int, stop: int) -> Iterator[int]:
    """Yield where sentences end before *stop*, white space included."""
    ink = _LEADING.match(text, start, stop)
    blank_until = ink.end() if ink else start
    for match in _END.finditer(text, start, stop):
        mark, end = match.span()
        if end >= stop:
            return
        if end <= blank_until:
            continue
        if _ends_sentence(text, mark, end):
            yield end


def _ends_sentence(text: str, mark: int, end: int) -> bool:
    """Tell whether the candidate at `text[mark:end]` is the end of a sentence."""
    if _is_attached(text[end]):
        return False
    if text[mark] == ".":
        return not _goes_on_after_stop(text, mark, end)
    if text[mark] in "\n\r":
        return not (
            text[end].islower()
            and (not mark or text[mark - 1] not in ".!?:;")
            and _wraps(text, mark, end)
        )
    return True


def _is_attached(character: str) -> bool:
    """Tell whether *character* is one with what stands before it, white space too."""
    return character >= "\u0300" and _ATTACHED.match(character) is not None


def _goes_on_after_stop(text: str, mark: int, end: int) -> bool:
    """Tell whether the full stop at *mark* stands inside a sentence."""
    line_break = _LINE_BREAK.search(text, mark, end)
    if line_break and not _wraps(text, line_break.start(), end):
        return False
    if text[end].islower():
        return True
    if _is_item(text, mark):
        return True
    words = text[max(0, mark - _ABBREVIATION_REACH) : mark].split()
    word = words[-1].lstrip("([\"'“‘").lower() if words else ""
    if word in _BEFORE_NUMBERS:
        return text[end].isdecimal()
    return word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())


def _is_item(text: str, mark: int) -> bool:
    """Tell whether the full stop at *mark* belongs to the number of a list item."""
    begin = text.rfind("\n", max(0, mark - _ITEM_REACH), mark) + 1
    return (begin > 0 or mark < _ITEM_REACH) and bool(
        _ITEM.fullmatch(text, begin, mark)
    )


def _wraps(text: str, mark: int, end: int) -> bool:
    """Tell whether the line break in `text[mark:end]` only wraps a long line.

    It does where the lines are long and about equally long: the line before is no
    much longer or shorter one, and the line after shows no room for one more word.
    Lines that begin alike are records of a log.
    """
    if not _ONE_BREAK.fullmatch(text, mark, end):
        return False
    begin = text.rfind("\n", max(0, mark - _LONGEST_WRAP), mark) + 1
    length = mark - begin
    if not _SHORTEST_WRAP <= length < _LONGEST_WRAP:
        return False
    following = text.index("\n", mark) + 1
    if text.startswith(text[begin : begin + _SAME_BEGINNING], following):
        return False
    before = (
        begin - 1 - (text.rfind("\n", max(0, begin - 1 - length * 2), begin - 1) + 1)
    )
    if begin > 1 and before > 0 and abs(before - length) > _UNEQUAL * length:
        return False
    width = length + len(text[end : end + length].split(maxsplit=1)[0]) + 1
    return text.find("\n", following, following + width) >= 0 or (
        len(text) - following < width
    )


def _share_length(text: str, first: int, longest: int) -> int:
    """Return how long shares of the sentence at *first* may be, in characters."""
    if mostly_cjk(text[first : first + 100]):
        return max(1, longest // 2)
    return longest


def _shares(text: str, first: int, last: int, longest: int) -> Iterator[Span]:
    """Cut an overlong sentence into about equal shares, each cut looking near by."""
    while last - first > longest * _SLACK:
        place = _cut_near(text, first, last, longest)
        yield first, place
        first = place
    if first < last:
        yield first, last


def _cut_near(text: str, first: int, last: int, longest: int) -> int:
    """Return the best place for the first cut of an overlong sentence."""
    goal = first + (last - first) // -(-(last - first) // longest)
    most = min(last - 1, first + int(longest * _SLACK))
    for pattern, reach in _CUTS:
        far = int(reach * longest)
        low, high = max(first + 1, goal - far), min(most, goal + far)
        # One character more, for a pattern that looks at what follows.
        ends = {match.end() for match in pattern.finditer(text, low, high + 1)}
        for place in sorted(ends, key=lambda end: abs(end - goal)):
            if place <= high and _is_boundary(text, place, first):
                return place
    return _hard_cut(text, first, last, goal)


def _is_boundary(text: str, place: int, first: int) -> bool:
    """Tell whether no grapheme is cut at *place*; *first* is a boundary before it."""
    # The first tests answer for a letter with a million marks without reading them.
    if _is_attached(text[place]) or text[place - 1] == _JOINER:
        return False
    return floor_boundary(text, place, first) == place


def _hard_cut(text: str, first: int, last: int, goal: int) -> int:
    """Return a boundary between graphemes, before a word or number where possible."""
    low = max(first + 1, goal - _UNBROKEN_REACH)
    word = _UNBROKEN.search(text, low, goal)
    inside = word and word.start() > low and _UNBROKEN.match(text, goal, goal + 1)
    place = word.start() if word and inside else goal
    place = floor_boundary(text, place, first)
    return place if place > first else min(last, ceil_boundary(text, goal, first))
