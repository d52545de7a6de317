"""Literals: what of a text can be right or wrong by a single character.

Numbers with their units, dates, versions, paths, addresses, identifiers, code and
quotations, as English, German, Chinese and Japanese write them. Two that say the same
have the same key, however they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

import regex

from langchain_ctxfetch._core.figures import (
    DATE,
    HAN_NUMERALS,
    NUMBER,
    WIDE,
    date_key,
    number_keys,
    spelled,
    unit_names,
)

_LONGEST = 200  # characters; what is longer is data, not a name
_BLOB = 130  # characters of a run that is data, not a name
_LONGEST_QUOTE = 200  # characters; what is longer is a passage
_EXTENSIONS = (
    "bat|bin|c|cc|cfg|conf|cpp|cs|css|csv|db|docx?|env|exe|gif|go|gz|h|hpp|html?|ini|"
    "ipynb|java|jpe?g|js|json|jsonl|jsx|kt|lock|log|lua|md|mdx|mp[34]|odt|parquet|pdf|"
    "php|png|pptx?|proto|ps1|py|pyi|r|rb|rs|rst|scala|sh|sql|sqlite|svg|swift|tar|tex|"
    "toml|tsx?|tsv|txt|vue|wav|xlsx?|xml|ya?ml|zip"
)
_SILENT = r" \t\r\"'“”‘’«»„(){}\[\]<>|*=^,;:!?…。、「」『』"  # begin none
_PART = r"[\w.@+~-]"

# Each begins where no word goes on, so that a long run is looked at once.
_LITERAL = regex.compile(
    rf"""
      (?P<mark>(?m:^)[ \t]*+(?:[-*][ \t]++)?\d{{1,2}}+[.)](?=\s|\Z))
    | (?P<skip>[{_SILENT}]++ | \n++ | `{{2,}}+ | (?<!:)/{{2,}}+
        | [\w+=-]{{{_BLOB},}}+
        | (?:(?![{HAN_NUMERALS}令平昭大明])[\p{{Han}}\p{{Hiragana}}\p{{Katakana}}ー])++
        | (?:[A-Za-zÀ-ɏ]{{1,64}}+[.,;:!?]?\s++(?!\d))++)
    | (?P<url>(?<!\w)(?:https?|ftp|file|s3|gs)://[^\s<>"'`|、。，；）」』\]]++
        | (?<![\w.])www\.[^\s<>"'`|、。，；）」』\]]++)
    | (?P<email>(?<![\w.+%-])[\w.+%-]{{1,64}}+(?<=\w)@\w[\w-]*+(?:\.\w[\w-]*+)++)
    | (?P<code>`[^`\n]{{0,120}}?[^\W][^`\n]{{0,120}}`)
    | (?P<path>(?<![\w/\\.:~<-])(?:
          [A-Za-z]:\\(?:[^\s<>"'|?*:;,]++)
        | (?:~|\.\.?)?/(?!/)(?=[^\s/A-Za-z]*+[A-Za-z])(?:{_PART}++/?+)++
        | (?![\d/.]++(?!\w))(?=[^\s/]{{1,100}}+/)
          (?:{_PART}{{1,100}}+/)++(?:{_PART}{{1,100}}+)?
        | [\w-][\w.-]{{0,100}}?\.(?:{_EXTENSIONS})(?![\w-])
      ))
    | (?P<date>(?<![\w.]){DATE})
    | (?P<version>(?<![\w.])(?!\d{{1,3}}(?:\.\d{{3}}){{2,}}+(?![\w.-]))
        (?:v\d++(?:\.\d++)*+|\d++(?:\.\d++){{2,}}+)
        (?:-(?:alpha|beta|rc|dev|pre|post)[\w.]*+|[abr]c?\d++)?+(?![\w]))
    | (?P<id>(?<![\w#@/&-])(?:
          [0-9a-fA-F]{{8}}-(?:[0-9a-fA-F]{{4}}-){{3}}[0-9a-fA-F]{{12}}
        | [A-Z][A-Z0-9]{{0,15}}+-\d++(?:-\w++)*+
        | [\w.-]{{0,64}}+\#\d++
      )(?!\w))
    | (?P<number>{NUMBER})
    | (?P<name>(?<![\w\\</])(?=[A-Za-z0-9]{{0,64}}?[_\d])
        (?=[0-9_]{{0,64}}+[A-Za-z])[A-Za-z0-9_]{{2,}}+(?!\w))
    """,
    regex.VERBOSE,
)
_QUOTATION = regex.compile(
    rf"“([^“”\n]{{1,{_LONGEST_QUOTE}}}+)”"
    rf"|„([^„“”\n]{{1,{_LONGEST_QUOTE}}}+)[“”]"
    rf"|«([^«»\n]{{1,{_LONGEST_QUOTE}}}+)»"
    rf"|「([^「」\n]{{1,{_LONGEST_QUOTE}}}+)」"
    rf"|『([^『』\n]{{1,{_LONGEST_QUOTE}}}+)』"
    rf'|(?<![\w"])"(?=[^\s"])([^"\n]{{1,{_LONGEST_QUOTE}}}+)"(?![\w"])'
)
_TRAILING = ".,;:!?)'*_"
_ONLY_WORDS = regex.compile(r"[^\W\d_]++/[^\W\d_]++/?+")


class Literal(NamedTuple):
    """Be one literal of a text.

    Attributes:
        kind: `number`, `date`, `version`, `path`, `url`, `email`, `id`, `code` or
            `quotation`.
        text: What stands there.
        key: The same for all literals that say the same.
        start: Where it begins, in characters.
    """

    kind: str
    text: str
    key: str
    start: int


@lru_cache(maxsize=32)
def literals(text: str) -> tuple[Literal, ...]:
    """Return the literals of *text*, in order.

    What a quotation holds stands there a second time, by itself.

    >>> [(each.text, each.key) for each in literals("12,5 mg am 3. März 2024")]
    [('12,5 mg', '12.5 mg'), ('3. März 2024', '2024-03-03')]

    Args:
        text: Any text.

    Returns:
        The literals.
    """
    found = [*_plain(text.translate(WIDE), text), *_quotations(text)]
    return tuple(sorted(found, key=lambda each: each.start))


def _plain(folded: str, text: str) -> Iterator[Literal]:
    for match in _LITERAL.finditer(folded):
        kind, start = match.lastgroup or "", match.start()
        if kind in {"mark", "skip"}:
            continue  # the number of an item of a list, or plain words
        said = match[0]
        if kind in {"url", "path", "email"}:
            said = said.rstrip(_TRAILING)
        if kind == "path" and not _is_path(said):
            yield from (
                each._replace(start=start + each.start) for each in _numbers(said)
            )
            continue
        if len(said) > _LONGEST:
            continue
        key = _key(kind, said)
        kind = "id" if kind == "name" else kind
        if key:
            yield Literal(kind, text[start : start + len(said)], key, start)


def _numbers(text: str) -> Iterator[Literal]:
    """Return the numbers in what only looked like a path, such as `3/4`."""
    for match in regex.finditer(NUMBER, text, regex.VERBOSE):
        yield Literal("number", match[0], number_keys(match[0])[0], match.start())


def _key(kind: str, said: str) -> str:
    match kind:
        case "number":
            return number_keys(said)[0]
        case "date":
            return date_key(said)
        case "version":
            return said.removeprefix("v")
        case "code":
            return said.strip("`").strip()
        case "url":
            return said.rstrip("/")
        case _:
            return said


def _is_path(said: str) -> bool:
    """Tell a path from words or numbers with a stroke between them."""
    if not any(map(str.isalpha, said)):
        return False
    return not _ONLY_WORDS.fullmatch(said)


def _quotations(text: str) -> Iterator[Literal]:
    for match in _QUOTATION.finditer(text):
        inner = next(filter(None, match.groups()), "")
        if key := quoted(inner):
            yield Literal("quotation", match[0], key, match.start())


def quoted(text: str) -> str:
    """Return what of a quotation is compared: its letters, not their dress.

    >>> quoted(" It  is,")
    'it is'
    """
    return _squeezed(text).strip(" .,;:!?…")


def _squeezed(text: str) -> str:
    return " ".join(text.replace("’", "'").split()).casefold()


class Grounds:
    """Be what a text says, on which what others say of it must be grounded.

    Args:
        text: The text.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._keys = set(spelled(text))
        self._words: str | None = None
        for each in literals(text):
            self._keys.add(each.key)
            self._keys.update(_implied(each))

    def hold(self, literal: Literal) -> bool:
        """Tell whether the text says the same."""
        if literal.key in self._keys:
            return True
        if literal.kind == "quotation":
            return literal.key in self._folded()
        if literal.kind == "number":
            return any(
                key in self._keys
                and (not key.endswith("?") or self._names_unit(literal.key))
                for key in number_keys(literal.text)[1:]
            )
        if literal.kind == "date":
            return False
        return _stands(literal.key, self._text)

    def _names_unit(self, key: str) -> bool:
        """Tell whether a unit that stands at no number stands anywhere."""
        unit = key.partition(" ")[2]
        return any(name in self._folded() for name in unit_names(unit))

    def _folded(self) -> str:
        if self._words is None:
            self._words = _squeezed(self._text)
        return self._words


@lru_cache(maxsize=16)
def grounds(text: str) -> Grounds:
    """Return what *text* says.

    >>> grounds("It was 12.5 mg.").hold(literals("12,5mg")[0])
    True
    """
    return Grounds(text)


def _implied(literal: Literal) -> Iterator[str]:
    """Return the keys of what else is said by a literal."""
    if literal.kind == "number":
        # Without its unit it is still true, and a lone one may have any.
        number, *others = number_keys(literal.text)
        yield from (other for other in others if not other.endswith("?"))
        yield number.partition(" ")[0]
        if " " not in number:
            yield f"{number} ?"
    elif literal.kind == "date":
        year, _, rest = literal.key.partition("-")
        if ":" in literal.key:
            yield from literal.key.split()
            return
        if year:
            yield year
            yield f"{year} ?"
        if rest:
            yield f"-{rest}"
            yield "-".join(literal.key.split("-")[:2])
            day = rest.partition("-")[2]
            if day:
                yield day.lstrip("0")


def _stands(key: str, text: str) -> bool:
    """Tell whether a text holds a key as a word of its own."""
    at = text.find(key)
    while at >= 0:
        end = at + len(key)
        if not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
            return True
        at = text.find(key, end)
    return False
