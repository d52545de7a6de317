"""The command `ctxfetch context`: its budget, and what goes where."""

import json

import pytest

import langchain_ctxfetch
from langchain_ctxfetch.errors import BudgetError


def test_context_goes_to_stdout_and_its_table_to_stderr(run, kitchen) -> None:
    """What a prompt needs stands alone; what a reader wants stands beside it."""
    result = run("context", "steep green tea", "--max-tokens", "300")

    assert result.exit_code == 0
    assert result.stdout.startswith("<context>")
    assert "Steep green tea at 80 degrees" in result.stdout
    assert "strategy" not in result.stdout
    for word in ("strategy", "docs/tea.md", "keyword 1", "full", "of 300 tokens"):
        assert word in result.stderr


@pytest.mark.parametrize("style", ["numbered", "xml", "plain"])
@pytest.mark.parametrize("limit", [60, 120, 1000])
def test_the_context_keeps_to_its_budget(run, kitchen, style, limit) -> None:
    """Whatever the style, the text on stdout has at most so many tokens."""
    words = ["degrees minutes", "--max-tokens", limit, "--style", style]
    text = run("context", *words).stdout

    assert 0 < langchain_ctxfetch.EstimatingCounter().count(text) <= limit


def test_a_small_budget_is_shared_by_few_documents(run, kitchen) -> None:
    """Rather some sentences of three than a few words of ten."""
    for number in range(12):
        (kitchen / f"docs/{number}.md").write_text(f"Green tea, kind {number}.")
    run("index", "docs")
    rows = [
        json.loads(run("context", "tea", "--max-tokens", limit, "--json").stdout)[
            "rows"
        ]
        for limit in (100, 900, 3000)
    ]

    assert [len(held) for held in rows] == [3, 6, 10]


def test_context_says_what_found_no_room(run, kitchen) -> None:
    """Documents that the budget leaves out are named on stderr, once."""
    result = run("context", "degrees minutes", "--max-tokens", "45")

    assert result.exit_code == 0
    assert "dropped" in result.stderr
    assert result.stderr.count("no room for it in a budget of 45 tokens") == 1


def test_context_as_json_has_text_documents_and_rows(run, kitchen) -> None:
    """The tokens that it counts are those of its text."""
    words = ["context", "green tea", "--max-tokens", "300", "--json"]
    made = json.loads(run(*words).stdout)

    assert made["version"] == 1
    assert made["context"].startswith("<context>")
    assert made["tokens"] <= made["max_tokens"] == 300
    assert made["rows"][0]["strategy"] == "full"
    assert made["documents"][0]["id"] == "docs/tea.md"


def test_a_budget_for_nothing_ends_with_4(run, kitchen) -> None:
    """One token holds no context at all."""
    result = run("context", "green tea", "--max-tokens", "1")

    assert (result.exit_code, result.stdout) == (4, "")
    assert "1 tokens have no room" in result.stderr


def test_a_budget_error_ends_with_4(run, kitchen, monkeypatch) -> None:
    """So does what the compressor itself refuses."""

    def refuses(*_, **__):
        raise BudgetError("over the budget", limit=5, needed=9)

    monkeypatch.setattr(langchain_ctxfetch.ContentPolicyCompressor, "compress", refuses)
    assert run("context", "green tea", "--max-tokens", "5").exit_code == 4


def test_context_without_hits_ends_with_1(run, kitchen) -> None:
    """Nothing is printed for the prompt."""
    result = run("context", "zebra", "--max-tokens", "300")

    assert (result.exit_code, result.stdout) == (1, "")
