"""What each sentence is worth where nobody has asked for anything."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.excerpts import Marks, excerpt, whole_text
from langchain_ctxfetch._core.gist import score_gist, spoken
from langchain_ctxfetch._core.passages import Scored
from langchain_ctxfetch._core.picking import pick

TALK = "Ann: Hello to the team.\nBob: Hello, Ann.\n" * 10
SMALL_TALK = "So it is. " * 40  # not a term, and nothing new

pieces = st.sampled_from(
    [
        *"ab. !?\n\t-7`/{",
        "cats ",
        "Dogs bark. ",
        "In 2024 we met Ada Lovelace. ",
        "。",
        "猫の手",
        "カタカナ",
        "e\u0301",
        "👩‍👩‍👧",
        "İ",
        "Ann: um , I I see .\n",
        "{vocalsound} ",
        "```\n",
        "| a | b |\n|---|---|\n",
        "x" * 600,
    ]
)
texts = st.lists(pieces, max_size=40).map("".join)


def plain(word: str) -> str:
    return word


def scored(text: str) -> Scored:
    return score_gist(text, stem=plain)


def scores_of(text: str) -> dict[str, float]:
    """Return the score of each sentence by its words."""
    found = scored(text)
    return {
        text[start:end].strip(): score
        for (start, end), score in zip(found.units, found.scores, strict=True)
    }


def best(text: str) -> str:
    scores = scores_of(text)
    return max(scores, key=scores.__getitem__)


@given(texts)
def test_units_cover_the_text(text: str) -> None:
    """Laid end to end the sentences are the text, and each has a score."""
    found = scored(text)

    assert "".join(text[start:end] for start, end in found.units) == text
    assert all(before[1] == after[0] for before, after in pairwise(found.units))
    assert len(found.units) == len(found.scores)


@given(texts)
def test_scores_are_numbers(text: str) -> None:
    """Whatever the text, each is finite and not below 0."""
    assert all(math.isfinite(score) and score >= 0 for score in scored(text).scores)


@given(texts, st.integers(1, 400))
def test_an_excerpt_fits(text: str, room: int) -> None:
    """What is picked by these scores is never longer than the room."""
    material = replace(whole_text(text), scored=scored(text))

    assert len(excerpt(material, room, Marks()).text) <= room


def test_a_smaller_excerpt_is_a_part_of_a_larger_one() -> None:
    """Of sentences equally long the order alone decides, and no room changes it."""
    text = "".join(
        f"Fact {i:03d} about thing {i % 7} of kind {i % 5}. " for i in range(60)
    )
    found = scored(text)
    kept = [
        {
            unit
            for unit in found.units
            for start, end in pick(found, room, mark_length=0)
            if start <= unit[0] < end
        }
        for room in (200, 500, 1_000)
    ]

    assert set() < kept[0] < kept[1] < kept[2]


def test_an_excerpt_fills_the_room() -> None:
    """Nine tenths of it are used where the text has more sentences than fit."""
    text = "".join(f"Word{i} meets word{i * i} on day {i}. " for i in range(200))
    material = replace(whole_text(text), scored=scored(text))

    assert len(excerpt(material, 700, Marks()).text) >= 630


def test_an_empty_text_has_no_sentences() -> None:
    """There is nothing to score."""
    assert scored("") == Scored([], [], found=True, text="")


def test_one_sentence_has_a_score() -> None:
    """Its terms are of some worth, though no other text shows how rare they are."""
    assert scored("Cats purr.").scores[0] > 0


def test_a_text_without_terms_is_read_from_its_beginning() -> None:
    """All sentences are worth nothing, so the first are picked."""
    text = "So it is. And then? It is so. "

    assert scored(text).scores == [0.0, 0.0, 0.0]
    assert pick(scored(text), 10) == [(0, 9)]


def test_the_formula_by_hand() -> None:
    """Two sentences of prose: terms, length, place, and the lead of a paragraph."""
    once = math.log(1 + 1.5 / 1.5) * math.sqrt(math.log(2))
    twice = math.log(1 + 0.5 / 2.5) * math.sqrt(math.log(3))
    first = (once + twice) / (10 + 10) * (0.2 + 0.8 * math.exp(-5.5 / 29 / 0.3)) * 1.5
    second = (2 * once + twice / math.sqrt(2)) / (18 + 10)
    second *= 0.2 + 0.8 * math.exp(-20 / 29 / 0.3)

    assert scored("Cats purr. Dogs bark at cats.").scores == pytest.approx(
        [first, second]
    )


def test_the_literals_by_hand() -> None:
    """A new number counts twice for being new and once for its digits, in terms."""
    once = math.log(1 + 1.5 / 1.5) * math.sqrt(math.log(2))
    first, second = 2 * once, 2 * once
    second += (first + second) / 4 * (2 + 1)
    place = 0.2 + 0.8 * math.exp(-19 / 27 / 0.3)

    assert scored("Cats purr. Seventeen is 17.").scores[1] == pytest.approx(
        second / (16 + 10) * place
    )


def test_a_term_is_worth_less_when_it_was_told() -> None:
    """Of two sentences alike but for one word the first says more."""
    found = scores_of("Nothing here.\nRed cats.\nBig cats.\nNo more.\n")

    assert found["Red cats."] > found["Big cats."]


@pytest.mark.parametrize(
    "literal",
    [
        "3.14",
        "2024-05-01",
        "B2B",
        "WHO",
        "`code`",
        "https://example.org/a",
        "src/app/main.py",
    ],
)
def test_literals_are_worth_keeping(literal: str) -> None:
    """The sentence with a number, an acronym, code or an address is the best."""
    assert best(f"{SMALL_TALK}\n\nIt was {literal} then.") == f"It was {literal} then."


def test_a_name_is_known_by_its_capital_inside_a_sentence() -> None:
    """At the beginning of a sentence a capital says nothing."""
    found = scores_of("One rule.\nIt met Ada.\nAda met it.\nIt met ada.\nLast rule.")

    assert found["It met Ada."] > 1.2 * found["Ada met it."]


def test_a_repeated_sentence_is_worth_next_to_nothing() -> None:
    """It stands there already."""
    line = "The market opens at noon."
    text = f"{line} Rivers flow to distant seas. {line} Birds sing in the garden."
    found = scored(text)

    assert found.scores[2] < 0.05 * found.scores[0]


def test_short_answers_are_no_repetitions() -> None:
    """Up to 12 characters recur in any text."""
    found = scored("Rivers flow.\n" * 2 + "Other words.\n")

    assert found.scores[1] > 0.1 * found.scores[0]


def test_what_opens_a_paragraph_counts_more() -> None:
    """A line by itself, such as a heading, opens none."""
    lead = scores_of("Intro words.\n\nRed cats. Blue dogs.\n")
    alone = scores_of("Intro words.\n\nRed cats.\nBlue dogs.\n")

    assert lead["Red cats."] == pytest.approx(1.5 * alone["Red cats."])


def test_japanese_is_scored_by_pairs_of_letters() -> None:
    """Endings in hiragana are none; kanji and names in katakana are."""
    text = "それはそうです。東京の人口は多い。これはこれです。"

    assert best(text) == "東京の人口は多い。"


def test_a_single_ideograph_is_a_term() -> None:
    """A run of one letter has no pair."""
    assert scored("猫。犬。").scores[0] > 0


def test_fillers_are_no_terms_in_a_meeting() -> None:
    """What people say while they think is worth nothing there."""
    text = TALK + "Ann: Okay, yeah, right.\nBob: Budgets fell, sadly, sharply.\n"
    found = scores_of(text)

    assert found["Bob: Budgets fell, sadly, sharply."] > (
        2 * found["Ann: Okay, yeah, right."]
    )


def test_a_row_needs_its_header() -> None:
    """Rows of a table bring the names of their columns."""
    found = scored("Prose.\n\n| name | age |\n|---|---|\n| Ada | 36 |\n")

    assert list(found.needs)[-1] == len(found.units) - 1


def test_prose_is_not_touched() -> None:
    """It comes back as the same object, tags and all."""
    text = "Um, the the {vocalsound} cat ."

    assert spoken(text) is text


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("{vocalsound} Yes .", "Yes."),
        ("Yes {disfmarker} no .", "Yes no."),
        ("[Laughter.] Yes.", "Yes."),
        ("Um , yes .", "yes."),
        ("it is , uh , red .", "it is, red."),
        ("I uh think so", "I think so"),
        ("Uh .", ""),
        ("Yes. Uh. Um, no.", "Yes. no."),
        ("Yes . {gap} Uh . No .", "Yes. No."),
        ("wait... no ...", "wait... no ..."),
        ("the the cat", "the cat"),
        ("I I I see", "I see"),
        ("well, well", "well"),
        ("we we're here", "we're here"),
        ("Walla Walla", "Walla Walla"),
        ("2 2 5", "2 2 5"),
        ("Mm-hmm .", "Mm-hmm."),
        ("the umbrella hums", "the umbrella hums"),
        ("f( {name} )", "f( {name} )"),
        ("a   b", "a   b"),
        ("it is 5 mm wide", "it is 5 mm wide"),
        ("HM Treasury and UM say", "HM Treasury and UM say"),
        ("it costs .5 or so", "it costs .5 or so"),
    ],
)
def test_what_is_taken_out_of_a_transcript(said: str, left: str) -> None:
    """Noises, slips and the spaces that a typist left, and nothing else."""
    line = spoken(f"{TALK}Cy: {said}\n").splitlines()[-1]

    assert line.removeprefix("Cy:").strip() == left


@pytest.mark.parametrize(
    "said",
    ["Es geht um vier, um zu sehen .", "Vous vous trompez ?", "die, die da sind"],
)
def test_other_languages_are_not_touched(said: str) -> None:
    """Words of theirs look like English slips; only tags are taken out."""
    talk = "Ann: Guten Tag.\nBob: Hallo, Ann.\n" * 10

    assert spoken(f"{talk}Cy: {{pause}} {said}\n") == f"{talk}Cy: {said}\n"


@given(st.lists(pieces, max_size=20).map("".join))
def test_lines_stay_lines(text: str) -> None:
    """Nothing taken out holds a line break, and nothing is put in."""
    talk = TALK + text

    assert spoken(talk).count("\n") == talk.count("\n")
    assert len(spoken(talk)) <= len(talk)


@pytest.mark.parametrize(
    "piece",
    [
        *("7", "a", "A", "/", "`", ".", " ", "\n", "_", "の", "ア", "\u0301"),
        *("a-", "a/", "1.", "a'", "A ", ". ", " ,", "um ", "the ", "https://", "```\n"),
        "a lower case line\n",
    ],
)
def test_hostile_texts_are_read_in_linear_time(piece: str) -> None:
    """Twice as much takes nowhere near four times as long."""

    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        before = time.process_time()
        scored(text)
        spoken(TALK * 180 + text)
        return time.process_time() - before

    assert seconds(100_000) < 6 * seconds(33_000) + 0.5
