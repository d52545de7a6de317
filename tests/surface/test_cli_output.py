"""What the `ctxfetch` command says: errors as JSON, empty pages, short passages."""

import json
import re

import pytest

from langchain_ctxfetch import _terminal, cli


@pytest.mark.parametrize(
    ("words", "code", "kind", "named"),
    [
        (["search", "tea", "-k", "0"], 2, "ConfigurationError", "`k`"),
        (["search", "tea", "--page", "100"], 2, "PageError", "`page`"),
        (["search", "tea", "--filter", '{"$x": 1}'], 2, "FilterError", "`$x`"),
        (["search", "tea", "--fusion", "best"], 2, "UsageError", "'best'"),
        (["search", "tea", "--store", "no.db"], 3, "StoreError", "'no.db'"),
        (["search", "tea", "--store", "docs"], 2, "ConfigurationError", "folder"),
        (["context", "tea"], 2, "UsageError", "--max-tokens"),
        (["context", "tea", "--max-tokens", "1"], 4, "BudgetError", "no room"),
        (["index", "no/such"], 2, "ConfigurationError", "no/such"),
        (["compress"], 2, "UsageError", "compress"),
    ],
)
def test_with_json_an_error_is_json(run, kitchen, words, code, kind, named) -> None:
    """Type and message stand on stdout, the sentence on stderr all the same."""
    result = run(*words, "--json")
    told = json.loads(result.stdout)

    assert result.exit_code == code
    assert told.keys() == {"version", "error"}
    assert told["error"]["type"] == kind
    assert named in told["error"]["message"]
    assert told["error"]["message"] in result.stderr


def test_an_error_that_is_not_ours_is_raised(run, kitchen, monkeypatch) -> None:
    """A fault of the program is not told as one of its user."""

    def fault(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("langchain_ctxfetch.retrievers.HybridRetriever.get_page", fault)
    result = run("search", "tea", "--json")

    assert isinstance(result.exception, ZeroDivisionError)
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("k", "page", "note"),
    [
        (1, 9, "page 9 is past the last one, there are 3 pages"),
        (2, 3, "page 3 is past the last one, there are 2 pages"),
        (3, 2, "page 2 is past the last one, there is 1 page"),
    ],
)
@pytest.mark.parametrize("words", [["search"], ["context", "--max-tokens", "900"]])
def test_a_page_past_the_last_one_says_so(run, kitchen, words, k, page, note) -> None:
    """And how many pages there are."""
    result = run(*words, "degrees minutes", "-k", k, "--page", page)

    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"nothing found: {note}\n"


def test_nothing_found_at_all_speaks_of_no_pages(run, kitchen) -> None:
    """A later page of an empty ranking is not past its last one."""
    assert run("search", "zebra", "--page", "2").stderr == "nothing found\n"


@pytest.mark.parametrize("query", ["???", "-- …", "\N{WHITE SMILING FACE}"])
def test_a_query_without_words_is_named(run, kitchen, query) -> None:
    """It has nothing that could be found."""
    result = run("search", "--", query)

    assert result.exit_code == 1
    assert "has no word to search for" in result.stderr


@pytest.mark.parametrize("query", ["the", "茶", "7", "zebra"])
def test_a_query_of_one_word_is_not_blamed(run, kitchen, query) -> None:
    """Stop words, single ideographs and numbers are words."""
    assert "no word" not in run("search", query).stderr


def test_passages_take_three_lines_at_most(run, tmp_path) -> None:
    """Newlines are collapsed, and a mark says that something is left out."""
    sentence = "Green tea is steeped\nat eighty degrees,\n\nnumber {}.\n\n"
    text = "".join(sentence.format(number) for number in range(50))
    (tmp_path / "tea.txt").write_text(text)
    run("index", ".")
    _, _, *passage = run("search", "green tea degrees").stdout.splitlines()

    assert 1 <= len(passage) <= 3
    assert all(re.fullmatch(r"    \S.{0,75}", line) for line in passage)


@pytest.mark.parametrize("letter", ["茶", "x"])
def test_a_word_without_end_takes_three_lines_too(capsys, letter) -> None:
    """A line holds 74 columns, of which an ideograph takes two."""
    _terminal.print_passage(letter * 500)
    lines = capsys.readouterr().out.splitlines()

    assert len(lines) == 3
    assert lines[0] == "    " + letter * (37 if letter == "茶" else 74)
    assert lines[-1].endswith(" …")


@pytest.mark.parametrize("letter", ["\x7f", "\x9b", "\u202e", "\U000e0041", "\x1b"])
def test_json_escapes_what_would_do_something(capsys, letter) -> None:
    """Control and format marks come back from the JSON, but are not in it."""
    _terminal.print_json(text=f"茶{letter}")
    written = capsys.readouterr().out

    assert letter not in written
    assert "茶" in written
    assert json.loads(written)["text"] == f"茶{letter}"


def test_json_may_hold_half_a_letter(capsys) -> None:
    """What no encoding knows is escaped, and does not stop the command."""
    _terminal.print_json(text="茶\ud800")

    assert json.loads(capsys.readouterr().out)["text"] == "茶\ud800"


def test_the_program_is_the_group_of_commands(monkeypatch, capsys) -> None:
    """`main` ends with the code of the command."""
    monkeypatch.setattr("sys.argv", ["ctxfetch", "search", "tea", "--store", "no.db"])

    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 3
    assert "there is no index" in capsys.readouterr().err


@pytest.mark.parametrize(
    "written", ['{"a": NaN}', '{"a": 1e999}', '{"a": [-Infinity]}']
)
def test_numbers_that_json_does_not_have_are_refused(run, kitchen, written) -> None:
    """What is printed as JSON could not be read by anybody else."""
    for words in (("index", "docs", "--metadata"), ("search", "tea", "--filter")):
        result = run(*words, written)

        assert result.exit_code == 2
        assert "must be JSON" in result.stderr
