"""The command `ctxfetch context`: its budget, and what goes where."""

import json

import pytest

import langchain_ctxfetch
from langchain_ctxfetch import _results
from langchain_ctxfetch.compressors import Row
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
    words = ["context", "degrees minutes", "--max-tokens", "45"]
    rows = json.loads(run(*words, "--json").stdout)["rows"]
    dropped = [row["id"] for row in rows if row["strategy"] == "dropped"]
    result = run(*words)

    assert result.exit_code == 0
    assert dropped
    assert "dropped" in result.stderr
    for name in dropped:
        said = [line for line in result.stderr.splitlines() if name in line]
        assert sum("no room for it in a budget of 45" in line for line in said) == 1


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
    assert "`--max-tokens` 1 has no room for any document" in result.stderr
    assert "takes 22 without any text" in result.stderr


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


def test_context_without_hits_is_json_too(run, kitchen) -> None:
    """Programs get a context of nothing, and the code 1."""
    result = run("context", "zebra", "--max-tokens", "300", "--json")
    made = json.loads(result.stdout)

    assert result.exit_code == 1
    assert (made["context"], made["documents"], made["tokens"]) == ("", [], 0)


def test_a_context_has_as_many_documents_as_are_asked_for(run, kitchen) -> None:
    """`-k` comes before what the budget would suggest."""
    words = ["context", "degrees minutes", "--max-tokens", "900", "--json", "-k"]
    rows = [json.loads(run(*words, k).stdout)["rows"] for k in (1, 2)]

    assert [len(held) for held in rows] == [1, 2]


def test_contexts_of_two_pages_share_no_document(run, kitchen) -> None:
    """The second page goes on where the first one ends."""
    words = ["context", "degrees minutes", "--max-tokens", "900", "--json", "-k", 2]
    pages = [json.loads(run(*words, "--page", page).stdout) for page in (1, 2)]
    ids = [document["id"] for page in pages for document in page["documents"]]

    assert sorted(ids) == ["docs/bread.md", "docs/coffee.md", "docs/tea.md"]


@pytest.mark.parametrize("fusion", ["weighted", "rrf", "round_robin"])
def test_a_context_is_made_with_every_fusion(run, kitchen, fusion) -> None:
    """Each name of a fusion is accepted."""
    words = ["context", "green tea", "--max-tokens", "300", "--fusion", fusion]

    assert "80 degrees" in run(*words).stdout


def test_a_context_keeps_to_its_filter(run, kitchen) -> None:
    """What does not match is neither found nor fetched."""
    run("index", "docs/coffee.md", "--metadata", '{"tenant": "bar"}')
    where = '{"tenant": "bar"}'
    words = ["context", "degrees", "--max-tokens", "900", "--json", "--filter", where]
    made = json.loads(run(*words).stdout)

    assert [row["id"] for row in made["rows"]] == ["docs/coffee.md"]


@pytest.mark.parametrize("words", [["search"], ["context", "--max-tokens", "60"]])
def test_the_filter_stands_in_every_request(run, kitchen, monkeypatch, words) -> None:
    """No fetch goes to the store without it, for quoting and compressing neither."""
    seen = []
    fetch = langchain_ctxfetch.SQLiteStore.fetch

    def watched(store, ids, **options):
        seen.append(options["filter"])
        return fetch(store, ids, **options)

    monkeypatch.setattr(langchain_ctxfetch.SQLiteStore, "fetch", watched)
    (kitchen / "docs/coffee.md").write_text("Coffee at 93 degrees.\n\n" * 200)
    run("index", "docs")
    seen.clear()
    where = {"source": {"$contains": "coffee"}}

    assert run(*words, "degrees", "--filter", json.dumps(where)).exit_code == 0
    assert seen
    assert all(each == where for each in seen)


def test_a_greater_window_reaches_further(run, tmp_path) -> None:
    """Where paging ends at a limit, the note says how to go on."""
    for number in range(8):
        (tmp_path / f"{number}.txt").write_text("green tea " * (number + 1))
    run("index", ".")
    words = ["search", "tea", "-k", 2, "--page"]
    last = run(*words, 2, "--max-window", 5)
    beyond = run(*words, 3, "--max-window", 5)
    further = run(*words, 3, "--max-window", 7)

    assert "the last one (limit); further with a greater --max-window" in last.stderr
    assert (beyond.exit_code, further.exit_code) == (2, 0)


def test_the_table_tells_what_it_counts(run, kitchen) -> None:
    """Its tokens are those of the bodies, without number and source line."""
    result = run("context", "green tea", "--max-tokens", "300")

    assert "body tokens" in result.stderr


def test_a_document_without_text_is_not_shown_as_quoted() -> None:
    """Of one that the budget left no text, the source line is all that came."""
    rows = [
        Row("a", place, strategy, before=9, after=after, tokens=after)
        for place, (strategy, after) in enumerate(
            [("truncate", 0), ("highlight", 0), ("truncate", 5), ("dropped", 0)]
        )
    ]

    assert [_results._strategy(row) for row in rows] == [
        "source line only",
        "source line only",
        "truncate",
        "dropped",
    ]
