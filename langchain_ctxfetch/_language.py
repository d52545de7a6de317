"""The stemmers of Snowball by language, shared by every store of the process."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

from langchain_ctxfetch._core.words import STOP_WORDS
from langchain_ctxfetch.errors import ConfigurationError

NO_LANGUAGE = "none"
_ENGLISH = "english"
_ALIASES = {"en": _ENGLISH}
_MOST_WORDS = 200_000


def language_name(language: str) -> str:
    """Return the one name under which a language is recorded.

    >>> language_name("en")
    'english'

    Args:
        language: `"en"`, a name that Snowball knows in any letter case, or `"none"`.

    Returns:
        The name in lower case.

    Raises:
        ConfigurationError: If there is no stemmer for *language*.
    """
    name = _ALIASES.get(str(language).lower(), str(language).lower())
    known = _algorithms()
    if name != NO_LANGUAGE and name not in known:
        raise ConfigurationError(
            f"`language` must be 'none', 'en' or one of {', '.join(known)},"
            f" not {language!r}"
        )
    return name


def stemmer(language: str) -> Callable[[str], str]:
    """Return the function that reduces words of *language* to their stems.

    The same function is returned each time; it remembers the words it has seen, up
    to a bound, and may be called from several threads.

    >>> stemmer("en")("searching")
    'search'

    Args:
        language: `"en"`, a name that Snowball knows, or `"none"`.

    Returns:
        A function from a lower-case word to its stem.

    Raises:
        ConfigurationError: If there is no stemmer for *language*.
    """
    return _stemmer(language_name(language))


def stop_words(language: str) -> frozenset[str]:
    """Return the words that do not count as terms: a list for English alone.

    Elsewhere the rarity of the other words has to do, as it does for any word.

    Args:
        language: As in `language_name`.

    Returns:
        Words in lower case.

    Raises:
        ConfigurationError: If *language* is unknown.
    """
    return STOP_WORDS if language_name(language) == _ENGLISH else frozenset()


@functools.cache
def _algorithms() -> tuple[str, ...]:
    import snowballstemmer  # noqa: PLC0415 - lazy: nobody stems at import

    return tuple(sorted(snowballstemmer.algorithms()))


@functools.cache
def _stemmer(name: str) -> Callable[[str], str]:
    if name == NO_LANGUAGE:
        return _as_it_is
    import snowballstemmer  # noqa: PLC0415 - see `_algorithms`

    # A Snowball stemmer works on a buffer of its own: one for each thread, since a
    # lock could be held by another thread while the process forks.
    of_thread = threading.local()

    @functools.lru_cache(_MOST_WORDS)
    def stem(word: str) -> str:
        if not hasattr(of_thread, "snowball"):
            of_thread.snowball = snowballstemmer.stemmer(name)
        stemmed: str = of_thread.snowball.stemWord(word)
        return stemmed

    return stem


def _as_it_is(word: str) -> str:
    return word
