"""Literals: what is found, and which say the same."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from langchain_ctxfetch._core.figures import number_keys
from langchain_ctxfetch._core.literals import Grounds, literals


def keys(text: str) -> list[str]:
    return [each.key for each in literals(text)]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("1,234.50", "1234.5"),
        ("1.234,50 €", "1234.5 €"),
        ("1’234", "1234"),
        ("１２", "12"),
        ("12.5mg", "12.5 mg"),
        ("20 Prozent", "20 %"),
        ("$5", "5 $"),
        ("3 million", "3000000"),
        ("3 Mrd. €", "3000000000 €"),
        ("三億円", "300000000 円"),
        ("3億2000万円", "320000000 円"),
        ("3.5万人", "35000 人"),
        ("-5 °C", "-5 °c"),
        ("4th", "4"),
        ("2024-03-03", "2024-03-03"),
        ("3. März 2024", "2024-03-03"),
        ("March 3rd, 2024", "2024-03-03"),
        ("03.03.2024", "2024-03-03"),
        ("2024年3月3日", "2024-03-03"),
        ("令和6年3月3日", "2024-03-03"),
        ("令和六年三月三日", "2024-03-03"),
        ("二〇二四年三月三日", "2024-03-03"),
        ("2024/03/03", "2024-03-03"),
        ("2024-03", "2024-03"),
        ("2:30 pm", "14:30"),
        ("12:05 a.m.", "00:05"),
        ("14:30:00", "14:30"),
        ("14時30分", "14:30"),
        ("2024-03-03T14:30:00Z", "2024-03-03 14:30"),
        ("3億2,000万円", "320000000 円"),
        ("1.000.000 €", "1000000 €"),
        ("Mar 2024", "2024-03"),
        ("14:30", "14:30"),
        ("v2.3.1", "2.3.1"),
        ("2.3.1-rc1", "2.3.1-rc1"),
        ("src/main.py", "src/main.py"),
        ("/usr/bin/env", "/usr/bin/env"),
        (r"C:\x\y.txt", r"C:\x\y.txt"),
        ("README.md", "README.md"),
        ("https://e.org/a?b=1.", "https://e.org/a?b=1"),
        ("a.b@example.org", "a.b@example.org"),
        ("AB-123", "AB-123"),
        ("owner-name#543", "owner-name#543"),
        ("3fa9c2b", "3fa9c2b"),
        ("user_id", "user_id"),
        ("`run()`", "run()"),
        ("„nie wieder“", "nie wieder"),
        ('"Never again."', "never again"),
        ("「二度と」", "二度と"),
    ],
)
def test_a_literal_has_the_key_of_what_it_says(text: str, key: str) -> None:
    assert keys(f"Es war {text} und so") == [key]


@pytest.mark.parametrize(
    "text",
    [
        "1. first\n2) second",
        "and/or",
        "km/h",
        r"\1 \g<0> $& $`",
        "it's a don't",
        "十分な時間",
        "e.g. this",
        "```",
    ],
)
def test_what_only_looks_like_a_literal_is_none(text: str) -> None:
    assert keys(text) == []


@given(st.text())
def test_literals_stand_where_they_say(text: str) -> None:
    for each in literals(text):
        assert text[each.start : each.start + len(each.text)] == each.text


@given(st.text(alphabet='0123456789.,-/: ab`"“”一億年月日$€%#_\\\n'))
def test_a_text_holds_its_own_literals(text: str) -> None:
    known = Grounds(text)
    assert all(known.hold(each) for each in literals(text))


@given(st.integers(0, 10**12))
def test_a_number_means_the_same_with_marks_between(number: int) -> None:
    assert number_keys(f"{number:,}")[0] == str(number)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("It was 12.5 mg.", "12.5"),
        ("Dose in mg: 12.5", "12.5 mg"),
        ("On 3 March 2024", "March 2024"),
        ("On 3 March 2024", "2024"),
        ("There were three", "3"),
        ("1.234 Stück", "1,234"),
        ("He said that it  was late.", '"it was late"'),
        ("call run() now", "`run()`"),
        ("100 %", "100 percent"),
    ],
)
def test_what_follows_from_a_source_is_not_invented(source: str, said: str) -> None:
    known = Grounds(source)
    assert all(known.hold(each) for each in literals(said))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("It was 12.5 mg.", "12.5 kg"),
        ("It was 12.5 mg.", "12.6 mg"),
        ("It was 12.5 mg, in a box of 3 kg.", "12.5 kg"),
        ("It stood at 12.5 and fell.", "12.5 kg"),
        ("In 2012", "12"),
        ("AB-123", "AB-12"),
        ("On 3 March 2024", "4 March 2024"),
        ("see src/main.py", "src/man.py"),
        ("He came.", '"he went"'),
        ("v2.3.1", "v2.3.2"),
    ],
)
def test_what_a_source_does_not_say_is_invented(source: str, said: str) -> None:
    known = Grounds(source)
    assert not any(known.hold(each) for each in literals(said))


@pytest.mark.parametrize(
    "text", ["9" + ",999" * 200 + "億5万", "1億" + "9" * 100 + "万", "٣/٣/٢٠٢٤"]
)
def test_numbers_of_any_length_are_read(text: str) -> None:
    literals(text)


@pytest.mark.parametrize("text", ["三" * 5_000, "9" * 5_000, "a@" * 5_000])
def test_endless_runs_are_read(text: str) -> None:
    literals(text)
