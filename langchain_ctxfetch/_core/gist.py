"""Say what each sentence of a text is worth where nobody has asked for anything.

A sentence is worth the terms that it brings, and the numbers and names that no
sentence before it has, for each character that it takes. What stands early counts
more, and so does what opens a paragraph. The scores are the same for every room.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import regex

from langchain_ctxfetch._core.passages import Scored
from langchain_ctxfetch._core.sentences import CJK_LETTERS, is_cjk
from langchain_ctxfetch._core.structure import blocks, divided, needs
from langchain_ctxfetch._core.terms import fold, runs
from langchain_ctxfetch._core.text import Span
from langchain_ctxfetch._core.transcripts import is_transcript
from langchain_ctxfetch._core.words import LONGEST_TERM, STOP_WORDS, Stem

FILLERS = frozenset(
    """
    actually ah alright basically bit didn doesn don eh er erm get go going gonna got
    guess hello hey hi hmm huh isn kind kinda know let like ll look lot m maybe mean
    mhm mm nah nice oh ok okay please pretty probably quite re really right say see
    sort stuff sure thank thanks thing things think uh um ve wanna well whatever won
    wow yeah yep yes yup
    """.split()  # noqa: SIM905 - words read better than a list of strings
)
"""English words that people say while they think, ends of short forms among them."""

_OVERHEAD = 10  # characters that count for each sentence beside its own
_EARLY = 0.3  # of a text; by then what counts for being early has fallen to 1/e
_REPEATED = 0.05  # of its worth is left to a sentence that was there before
_LONGEST_ANSWER = 12  # characters; what is no longer recurs without repeating

_SIGNS = "A-Za-z0-9_\uff10-\uff19"
_CJK = regex.compile(f"[{CJK_LETTERS}]")
# Pairs of hiragana are endings.
_PAIR = regex.compile(f"(?![\u3040-\u309f]{{2}})[{CJK_LETTERS}]{{2}}")
# Coarser than the literals that summaries are checked for, and many times as fast.
# Each begins where no other of its kind can, so that a long word is read only once.
_LITERAL = regex.compile(
    r"https?+://[^\s<>\"'、。，）」]++"
    r"|`[^`\n]{1,80}+`"
    # Any word with a digit in it, and what is joined to that: 3.14, 2024-05-01, B2B.
    rf"|(?<![{_SIGNS}])(?=[A-Za-z_]*+[0-9\uff10-\uff19])[{_SIGNS}]++"
    rf"(?:[.,:/\-][{_SIGNS}]++)*+%?+"
    r"|(?<![\w./~\-])[\w.~\-]*+(?:/[\w.\-]++){2,}+"  # a path
    r"|\b\p{Lu}[\p{Lu}\d]++\b"
    # Capitals show a name where no sentence begins.
    r"|(?<=[\w,;(] )\p{Lu}\p{Ll}++(?:[ \-]\p{Lu}\p{Ll}++)*+"
    r"|[\u30a1-\u30fa\u30fc・]{3,}+"  # katakana write names and foreign words
)
_DIGIT = regex.compile(r"\d")

_SOUNDS = "vocalsound|nonvocalsound|disfmarker|pause|gap|comment|laughter"
_TAG = rf"[\[{{(](?i:{_SOUNDS})\.?[\]}})]"
_TAGS = regex.compile(rf"(?:(?<![ \t])[ \t]++)?+{_TAG}")
# In capitals they are names, and after a number units.
_FILLER = (
    r"(?<![\w'’\-])(?<!\d[ \t])(?:[Uu]u*+(?:h++m*+|m++)|[Hh]m++|[Mm]m++|[Ee]rm)"
    r"(?![\w'’\-])"
)
_NOISE = regex.compile(
    # What is a sentence of its own goes with its full stop.
    rf"(?<=[,.?!:;])[ \t]++{_FILLER}[ \t]?+[.,](?!\w)"
    rf"|(?:(?<![ \t])[ \t]++)?+(?:{_TAG}|{_FILLER}(?:[ \t]?+,)?+)"
)
# The second one has a small letter, for in a name neither is a slip.
_DOUBLED = regex.compile(
    r"(?<![\w'’])(?i:(\p{L}[\p{L}'’]*+)),?+[ \t](?=(?i:\1)(?!\p{L}))(?=\p{Ll}|I\b)"
)
_LEFT_OVER = regex.compile(r"(?<=[,.?!:;])[ \t]++[,.](?=\s)")
_SPACE_BEFORE_SIGN = regex.compile(r"(?<![ \t\n])[ \t]++(?=[,.?!;](?:\s|\Z))")


@dataclass(frozen=True, slots=True)
class _Manner:
    """Be the way in which a text is weighed.

    Attributes:
        literals: What a number or name is worth where it is new, in terms.
        lead: How many times as much the first sentence of a paragraph is worth.
        late: The share of its worth that a sentence keeps at the end of a text.
        stop: Words that say nothing.
    """

    literals: float
    lead: float
    late: float
    stop: frozenset[str] = STOP_WORDS

    def place(self, share: float) -> float:
        """Return what the worth is multiplied by after this share of the text."""
        return self.late + (1 - self.late) * math.exp(-share / _EARLY)


# Papers say early what they found, and meetings what they are about. Of Japanese
# articles each paragraph has a matter of its own.
_PROSE = _Manner(literals=2, lead=1.5, late=0.2)
_TALK = _Manner(literals=4, lead=1, late=0.4, stop=STOP_WORDS | FILLERS)
_CJK_PROSE = _Manner(literals=8, lead=2, late=1)


def score_gist(text: str, *, stem: Stem) -> Scored:
    """Score the sentences of *text* by how much each says for its length.

    With n sentences, of which df hold a term that occurs tf times, a term weighs
    w = ln(1 + (n - df + .5) / (df + .5)) * sqrt(ln(1 + tf)), and a sentence holds
    S, the sum of w / sqrt(1 + occurrences before it) over its terms. With m the mean
    of that for one term in one sentence, the score is (S + m * (a * new literals +
    literals with a digit)) / (characters + 10), times `late` + (1 - `late`) *
    exp(-place / .3), times `lead` for what opens a paragraph of two sentences or
    more, times .05 for a repetition.

    >>> scored = score_gist("So it is. Paris has 2 airports.", stem=str)
    >>> scored.scores[1] > scored.scores[0]
    True

    Args:
        text: Any text.
        stem: Reduces a lower-case word to what its inflections share.

    Returns:
        All sentences, with scores of 0 or more that depend on no room.

    Source: own measurements; the weight is the idf of BM25, dampened by what was told.
    """
    manner = _manner_of(text)
    held = blocks(text)
    units = divided(text, 0, len(text), held)
    sums, mean = _novelty(_terms_of(text, units, manner, stem))
    bodies = [text[start:end].strip() for start, end in units]
    literals = _literals(bodies, manner.literals)
    places = [(start + end) / 2 / len(text) for start, end in units]
    scores = [
        (worth + mean * more) / (len(body) + _OVERHEAD) * manner.place(place) * factor
        for worth, more, body, place, factor in zip(
            sums, literals, bodies, places, _repetitions(bodies), strict=True
        )
    ]
    for i in _leads(text, units):
        scores[i] *= manner.lead
    return Scored(units, scores, found=True, text=text, needs=needs(units, held))


def spoken(text: str) -> str:
    r"""Take out of a transcript what was said without a meaning.

    That is tags such as `{vocalsound}`, and where English is spoken "um" and "hmm",
    words said twice, and spaces before signs. Lines stay lines. A text that is no
    transcript comes back as the same object.

    >>> spoken("Ann: Um , the the dog .\nBob: {vocalsound} Yes .\n" * 10)[:27]
    'Ann: the dog.\nBob: Yes.\nAnn'

    Args:
        text: Any text.

    Returns:
        The text, or a shorter one.
    """
    if not is_transcript(text):
        return text
    if not _is_english(text):
        return _TAGS.sub("", text)
    text = _LEFT_OVER.sub("", _NOISE.sub("", text))
    return _DOUBLED.sub("", _SPACE_BEFORE_SIGN.sub("", text))


def _is_english(text: str) -> bool:
    """Tell whether *text* is in English, where "um" is no word as in German."""
    return text.count(" the ") > text.count(" um ")


def _manner_of(text: str) -> _Manner:
    """Return how *text* is to be weighed: prose or transcript, CJK or not."""
    if is_cjk(text):
        return _CJK_PROSE
    return _TALK if is_transcript(text) else _PROSE


def _terms_of(
    text: str, units: Sequence[Span], manner: _Manner, stem: Stem
) -> Iterator[Counter[str]]:
    """Yield the terms of each unit with how often it has them."""
    folded = fold(text)
    known: dict[str, str] = dict.fromkeys(manner.stop, "")
    nothing: Counter[str] = Counter()
    for start, end in units:
        terms: list[str] = []
        for run in runs(folded[start:end]):
            term = known.get(run)
            if term is None:
                if _CJK.match(run):
                    terms += _pairs(run)
                    continue
                term = known[run] = stem(run[:LONGEST_TERM])
            if term:
                terms.append(term)
        # Of a text of signs alone each has none, which a million need not say.
        yield Counter(terms) if terms else nothing


def _pairs(run: str) -> list[str]:
    """Return the neighbouring letters of *run* but for endings; a single one whole."""
    pairs: list[str] = _PAIR.findall(run, overlapped=True)
    return pairs if len(run) > 1 else [run]


def _novelty(units: Iterator[Counter[str]]) -> tuple[list[float], float]:
    """Return what the terms of each unit are worth, and one term in the mean."""
    counted = list(units)
    occurrences: Counter[str] = Counter()
    holding: Counter[str] = Counter()
    for terms in filter(None, counted):
        occurrences.update(terms)
        holding.update(terms.keys())
    weights = {
        term: math.log(1 + (len(counted) - held + 0.5) / (held + 0.5))
        * math.sqrt(math.log(1 + occurrences[term]))
        for term, held in holding.items()
    }
    before = dict.fromkeys(weights, 1)
    sums: list[float] = []
    for terms in counted:
        total = 0.0
        for term, count in terms.items():
            total += weights[term] / math.sqrt(before[term])
            before[term] += count
        sums.append(total)
    pairs = sum(map(len, counted))
    return sums, sum(sums) / pairs if pairs else 1.0


def _literals(bodies: Sequence[str], new: float) -> list[float]:
    """Return what the literals of each sentence are worth, in terms."""
    told: set[str] = set()
    worth: list[float] = []
    for body in bodies:
        found = set(_LITERAL.findall(body))
        digits = sum(1 for literal in found if _DIGIT.search(literal))
        worth.append(new * len(found - told) + digits)
        told |= found
    return worth


def _repetitions(bodies: Sequence[str]) -> Iterator[float]:
    """Yield a factor for each sentence, small where it stood there before."""
    told: set[str] = set()
    for body in bodies:
        yield _REPEATED if body in told else 1.0
        if len(body) > _LONGEST_ANSWER:
            told.add(body)


def _leads(text: str, units: Sequence[Span]) -> Iterator[int]:
    """Yield the numbers of what opens a paragraph of two sentences or more."""
    opens = True
    for i, (start, end) in enumerate(units):
        ink = start + len(text[start:end].rstrip())
        closes = text.find("\n", ink, end) >= 0
        if opens and not closes and i + 1 < len(units):
            yield i
        opens = closes
