"""Cut a text into the terms that a keyword index counts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import TypeAlias

import regex

Stem: TypeAlias = Callable[[str], str]
"""Reduces a lower-case word to what its inflections share."""

STOP_WORDS = frozenset(
    """
    a an the and or but if then else of at by for with about against between into
    through during before after above below to from up down in out on off over under
    again further once here there when where why how all any both each few more most
    other some such no nor not only own same so than too very s t can will just don
    should now i me my we our you your he him his she her it its they them their what
    which who whom whose this that these those am is are was were be been being have
    has had having do does did doing would could ought cannot may might must shall as
    because until while also however upon within without via per et al eg ie etc
    """.split()  # noqa: SIM905 - words read better than a list of strings
)
"""English words that say nothing about a subject, question words among them."""

_SHORT_PART = 2

LONGEST_TERM = 64
"""Characters that count of one word: nobody asks for more of a hash or a blob."""

# Scripts written without spaces between words, and Hangul, whose words agglutinate.
_SPACELESS = (
    "\u0e00-\u0eff\u3005\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_IDEOGRAPH = re.compile(
    "[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]"
)
_BEGINS_SPACELESS = re.compile(f"[{_SPACELESS}]")
_RUN = re.compile(f"([{_SPACELESS}]+)|[^{_SPACELESS}]+")
_HYPHEN = re.compile("[-_\u2010\u2011]+")
_POSSESSIVE = re.compile(r"['\u2019]s\b")
_ASCII_WORD = re.compile(r"\w+(?:-\w+)*", re.ASCII)
# `re` takes the vowel signs of Hindi or Tamil for punctuation, `regex` does not.
_ANY_WORD = regex.compile(r"\w+(?:[-\u2010\u2011]\w+)*")


def split_terms(
    text: str, stem: Stem, *, stop: frozenset[str] = STOP_WORDS
) -> tuple[list[str], list[str]]:
    """Return the terms of a text, and apart from them its stop words.

    Words are compatibility-normalised (NFKC) and case-folded. Of a hyphenated word
    the parts count, and the joined form too where a part is short or has a digit, so
    that `email` finds `e-mail`. Runs of Chinese, Japanese, Korean, Thai or Lao give
    every pair of neighbouring characters and every single ideograph.

    >>> split_terms("What is covid-19?", lambda word: word)
    (['covid19', 'covid', '19'], ['what', 'is'])

    Args:
        text: A document, a stretch of one, or a question.
        stem: Is given each word, folded to lower case.
        stop: Words that do not count as terms.

    Returns:
        Stemmed terms, and the stop words as they stand, each in order with repeats.
    """
    terms: list[str] = []
    stopped: list[str] = []
    for run, spaceless in _runs(text):
        if spaceless:
            terms += _bigrams(run)
            continue
        for word in (_ASCII_WORD if run.isascii() else _ANY_WORD).findall(run):
            if word in stop:
                stopped.append(word)
            elif len(word) <= LONGEST_TERM and word.isalnum():
                terms.append(stem(word))
            else:
                parts, dropped = _compound(word, stem, stop)
                terms += parts
                stopped += dropped
    return terms, stopped


def is_word(term: str) -> bool:
    """Say whether a term is a word, not a piece of a run without spaces.

    >>> is_word("cat"), is_word("東京")
    (True, False)
    """
    return not _BEGINS_SPACELESS.match(term)


def _runs(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the folded text in pieces of one kind, and whether that has no spaces."""
    if text.isascii():
        yield _without_possessive(text.lower()), False
        return
    folded = _without_possessive(unicodedata.normalize("NFKC", text).casefold())
    for match in _RUN.finditer(folded):
        yield match.group(), match.group(1) is not None


def _without_possessive(text: str) -> str:
    return _POSSESSIVE.sub("", text)


def _bigrams(run: str) -> list[str]:
    """Return the neighbouring pairs of *run*, then its ideographs."""
    singles = _IDEOGRAPH.findall(run)
    if len(run) == 1:
        return singles or [run]
    return [run[i : i + 2] for i in range(len(run) - 1)] + singles


def _compound(
    word: str, stem: Stem, stop: frozenset[str]
) -> tuple[list[str], list[str]]:
    """Cut what is no plain word: one with hyphens, underscores or hardly an end."""
    parts = [part for part in _HYPHEN.split(word) if part]
    terms: list[str] = []
    if len(parts) > 1 and any(_joins(part) for part in parts):
        terms.append("".join(parts)[:LONGEST_TERM])
    for part in parts:
        if len(part) > LONGEST_TERM:
            terms.append(part[:LONGEST_TERM])
        elif part not in stop:
            terms.append(stem(part))
    return terms, [part for part in parts if part in stop]


def _joins(part: str) -> bool:
    """Say whether a part of a hyphenated word is hardly a word of its own."""
    return len(part) <= _SHORT_PART or part.isdigit()
