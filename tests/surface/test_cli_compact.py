"""The command `ctxfetch compact`: a text in, a text within its budget out."""

import json
import sys

import pytest

LONG = " ".join(f"Sentence {i} tells something of item {i}." for i in range(300))
NOTE = f"<note_context><path>a.md</path><content>{LONG}</content></note_context>\nWhy?"


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "prompt.txt"
    file.write_text(NOTE, encoding="utf-8")
    return str(file)


def test_the_text_goes_to_stdout_and_the_table_to_stderr(run, text) -> None:
    result = run("compact", text, "--max-tokens", "300")
    assert result.exit_code == 0
    assert result.stdout.startswith("<note_context><path>a.md</path><content>[excerpt]")
    assert result.stdout.rstrip("\n").endswith("</note_context>\nWhy?")
    assert "a.md" in result.stderr


def test_what_fits_is_printed_as_it_is(run, tmp_path) -> None:
    file = tmp_path / "short.txt"
    file.write_bytes("\ufeffshort\r\n".encode())
    result = run("compact", str(file), "--max-tokens", "300")
    assert result.stdout_bytes == "\ufeffshort\r\n".encode()


def test_a_dry_run_says_what_would_be_done(run, text) -> None:
    result = run("compact", text, "--max-tokens", "300", "--dry-run")
    assert "limit 300" in result.stdout
    assert "[excerpt]" not in result.stdout


def test_json_holds_the_report_and_the_text(run, text) -> None:
    made = json.loads(run("compact", text, "--max-tokens", "300", "--json").stdout)
    assert made["after"] <= 300 < made["before"]
    assert made["content"].startswith("<note_context>")


def test_the_question_shapes_what_stays(run, text) -> None:
    words = ["compact", text, "--max-tokens", "300", "--query", "item 257"]
    assert "item 257" in run(*words).stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["no-such-file", "--max-tokens", "9"], "no-such-file"),
        (["TEXT", "--max-tokens", "9", "--model", "other:x"], "openai:NAME"),
        (["TEXT", "--max-tokens", "3"], "budget"),
    ],
)
def test_what_is_wrong_is_one_sentence(run, text, words, says) -> None:
    result = run("compact", *[text if word == "TEXT" else word for word in words])
    assert result.exit_code != 0
    assert says in result.stderr
    assert "Traceback" not in result.stderr


def test_a_file_that_is_no_text_is_refused(run, tmp_path) -> None:
    file = tmp_path / "latin.txt"
    file.write_bytes("Grüße".encode("latin-1"))
    result = run("compact", str(file), "--max-tokens", "9")
    assert result.exit_code != 0
    assert "UTF-8" in result.stderr


def test_a_missing_provider_names_its_extra(run, text, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    words = ["compact", text, "--max-tokens", "300", "--model", "openai:any"]
    assert "langchain-ctxfetch[openai]" in run(*words).stderr
