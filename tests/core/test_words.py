"""Cutting texts into terms."""

import unicodedata

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.words import (
    LONGEST_TERM,
    STOP_WORDS,
    is_word,
    split_terms,
)
from tests.strategies import ODD_TEXTS

TEXTS = st.one_of(
    ODD_TEXTS,
    st.text(
        st.sampled_from("aB-_'’s1 .\n東京へカのไทย가é\u2010\u093f\u0915ﬁß"), max_size=40
    ),
)


def as_it_is(word: str) -> str:
    return word


def terms(text: str) -> list[str]:
    return split_terms(text, as_it_is)[0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("e-mail", ["email", "e", "mail"]),
        ("covid-19", ["covid19", "covid", "19"]),
        ("T-cell", ["tcell", "t", "cell"]),
        ("well-known", ["well", "known"]),
        ("state-of-the-art", ["stateoftheart", "state", "art"]),
        ("e\u2010mail", ["email", "e", "mail"]),
        ("e\u2011mail", ["email", "e", "mail"]),
        ("- a -- b -", ["b"]),
        ("-x", ["x"]),
    ],
)
def test_hyphenated_words_give_their_parts_and_short_ones_the_joined_form_too(
    text, expected
) -> None:
    """Parts always; joined where a part has at most two letters or a digit."""
    expected = [word for word in expected if word not in STOP_WORDS]

    assert terms(text) == expected


@pytest.mark.parametrize("text", ["the cat's", "the cat\u2019s", "CAT'S"])
def test_a_possessive_is_dropped(text: str) -> None:
    """`cat's` is `cat`, with either apostrophe."""
    assert terms(text) == ["cat"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("東京都", ["東京", "京都", "東", "京", "都"]),
        ("東", ["東"]),
        ("の", ["の"]),
        ("カメラ", ["カメ", "メラ"]),
        ("東京へ", ["東京", "京へ", "東", "京"]),
        ("Python入門", ["python", "入門", "入", "門"]),
        ("한국어", ["한국", "국어"]),
        ("ภาษา", ["ภา", "าษ", "ษา"]),
        ("東京。京都", ["東京", "東", "京", "京都", "京", "都"]),
    ],
)
def test_a_run_without_spaces_gives_pairs_and_single_ideographs(text, expected) -> None:
    """All bigrams of a run, then each kanji; kana alone are no terms."""
    assert terms(text) == expected


def test_stop_words_are_left_out_and_come_apart() -> None:
    """Question words too; they are kept by themselves in their order."""
    text = "What is the speed of light?"

    assert split_terms(text, as_it_is) == (
        ["speed", "light"],
        ["what", "is", "the", "of"],
    )


def test_question_words_and_letters_after_an_apostrophe_are_stop_words() -> None:
    """They say nothing about a subject; single letters otherwise do."""
    assert {"what", "who", "how", "the", "s", "t"} <= STOP_WORDS
    assert not {"c", "x", "go", "ai"} & STOP_WORDS


def test_another_language_brings_its_own_stop_words() -> None:
    """With an empty list every word is a term."""
    assert split_terms("the cat", as_it_is, stop=frozenset()) == (["the", "cat"], [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ＡＢＣ １２", ["abc", "12"]),
        ("ﬁne", ["fine"]),
        ("Straße", ["strasse"]),
        ("ｶﾒﾗ", ["カメ", "メラ"]),
        ("cafe\u0301 Café", ["café", "café"]),
        ("हिन्दी", ["हिन्दी"]),
    ],
)
def test_letters_are_folded(text, expected) -> None:
    """NFKC and case folding; the vowel signs of Hindi belong to their word."""
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("vitamin C", ["vitamin", "c"]),
        ("3.14 and 1,000", ["3", "14", "1", "000"]),
        ("snake_case", ["snake", "case"]),
        ("ubuntu 20.04", ["ubuntu", "20", "04"]),
        ("example.com", ["example", "com"]),
    ],
)
def test_single_letters_and_numbers_are_terms(text, expected) -> None:
    """Only punctuation separates."""
    assert terms(text) == expected


@pytest.mark.parametrize("text", ["", " ", "!!!", "---", "\x00\x01", "\U0001f600"])
def test_a_text_without_words_has_no_terms(text: str) -> None:
    """Blank, punctuation, controls, pictures."""
    assert split_terms(text, as_it_is) == ([], [])


def test_words_are_stemmed_by_what_is_given() -> None:
    """The stemmer sees folded words, never pairs of ideographs."""
    seen: list[str] = []

    def stem(word: str) -> str:
        seen.append(word)
        return word[:3]

    assert split_terms("Running 東京", stem)[0] == ["run", "東京", "東", "京"]
    assert seen == ["running"]


def test_a_word_asked_three_times_counts_three_times() -> None:
    """Repeats are kept."""
    assert terms("tea tea, tea") == ["tea"] * 3


def test_a_term_has_an_end() -> None:
    """Of a hash or a blob only the beginning is a term."""
    assert terms("x" * 10_000) == ["x" * LONGEST_TERM]


@given(TEXTS)
def test_law_stop_words_are_set_apart_not_lost(text: str) -> None:
    """Terms and stop words together are the terms without a list of stop words."""
    found, stopped = split_terms(text, as_it_is)
    everything, _ = split_terms(text, as_it_is, stop=frozenset())

    assert sorted(found + stopped) == sorted(everything)


@given(TEXTS)
def test_law_case_and_compatibility_forms_do_not_matter(text: str) -> None:
    """The folded text has the same terms as the text."""
    folded = unicodedata.normalize("NFKC", text)

    assert split_terms(folded, as_it_is) == split_terms(text, as_it_is)


@given(TEXTS, TEXTS)
def test_law_lines_are_independent(one: str, other: str) -> None:
    """Terms never reach over a line break."""
    both = split_terms(f"{one}\n{other}", as_it_is)
    first, second = split_terms(one, as_it_is), split_terms(other, as_it_is)

    assert both == (first[0] + second[0], first[1] + second[1])


@given(TEXTS)
def test_law_terms_are_short_and_hold_neither_spaces_nor_line_breaks(text) -> None:
    """So they can stand one to a line in a file."""
    found, stopped = split_terms(text, as_it_is)

    assert all(0 < len(term) <= LONGEST_TERM for term in found + stopped)
    assert not any(char.isspace() for term in found + stopped for char in term)
    assert set(stopped) <= STOP_WORDS


@given(TEXTS)
def test_law_only_terms_of_runs_without_spaces_are_no_words(text: str) -> None:
    """These are pairs and single ideographs."""
    assert all(is_word(term) or len(term) <= 2 for term in terms(text))


@pytest.mark.parametrize(
    ("term", "expected"),
    [("cat", True), ("77", True), ("हिन्दी", True), ("", True), ("東", False)],
)
def test_a_word_is_of_a_script_with_spaces(term, expected) -> None:
    """Numbers too; Thai and Hangul are cut into pairs."""
    assert is_word(term) is expected
    assert not any(is_word(pair) for pair in terms("한국어 ภาษา カメラ"))


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("JWT_SIGNING_KEY", ["jwt", "signing", "key"]),
        ("__init__", ["init"]),
        ("valve_77", ["valve77", "valve", "77"]),
        ("_", []),
        ("a--b", ["a", "b"]),
    ],
)
def test_the_parts_of_an_identifier_are_terms(text: str, terms) -> None:
    """Underscores join as hyphens do."""
    assert split_terms(text, lambda word: word, stop=frozenset())[0] == terms
