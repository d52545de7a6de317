"""The `ctxfetch` command: exit codes, what goes where, and hostile files."""

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
from langchain_core.embeddings import DeterministicFakeEmbedding

import langchain_ctxfetch

# --- index ----------------------------------------------------------------------


def test_index_counts_on_stdout_and_names_on_stderr(run, tmp_path) -> None:
    """The counts are the result; which paths were passed over goes to the side."""
    (tmp_path / "a.txt").write_text("text")
    (tmp_path / "b.bin").write_bytes(b"\0")
    result = run("index", ".")

    assert result.exit_code == 0
    assert result.stdout.startswith("1 added, 0 updated, 0 unchanged, 0 removed")
    assert "binary (1): b.bin" in result.stderr
    assert "b.bin" not in result.stdout


def test_a_second_index_changes_nothing(run, kitchen) -> None:
    """The same files are left as they are stored."""
    assert "0 added, 0 updated, 3 unchanged" in run("index", "docs").stdout


def test_index_writes_its_report_as_json(run, kitchen) -> None:
    """The report is the dataclass as a dict, with a version."""
    report = json.loads(run("index", "docs", "--json").stdout)

    assert report["version"] == 1
    assert report["unchanged"] == report["documents"] == 3
    assert report.keys() >= {"added", "updated", "removed", "skipped", "failed"}


def test_ids_do_not_depend_on_the_current_folder(run, kitchen, monkeypatch) -> None:
    """They are relative to where the index is."""
    monkeypatch.chdir(kitchen / "docs")
    result = run("index", ".", "--store", kitchen / ".ctxfetch.db")

    assert "0 added, 0 updated, 3 unchanged" in result.stdout


def test_nothing_to_index_is_nothing_found(run, tmp_path) -> None:
    """An empty folder ends with 1, and stderr says why."""
    (tmp_path / "empty").mkdir()
    result = run("index", "empty")

    assert result.exit_code == 1
    assert "no text file found under empty" in result.stderr


def test_an_empty_folder_beside_an_index_is_no_failure(run, kitchen) -> None:
    """What is stored from elsewhere stays; the note says where nothing was found."""
    (kitchen / "empty").mkdir()
    result = run("index", "empty")

    assert result.exit_code == 0
    assert "no text file found under empty" in result.stderr
    assert "3 documents" in result.stdout


def test_what_is_passed_over_says_which_extra_helps(run, kitchen, monkeypatch) -> None:
    """The others are indexed, and the command ends as if it were not there."""
    (kitchen / "docs/a.pdf").write_bytes(b"%PDF-1.4")
    monkeypatch.setitem(sys.modules, "pypdf", None)
    result = run("index", "docs")

    assert result.exit_code == 0
    assert "passed over, needs the extra pdf (1): docs/a.pdf" in result.stderr


def test_a_terminal_is_shown_how_far_it_is(run, kitchen, monkeypatch) -> None:
    """In one line, which vanishes."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    (kitchen / "docs/new.txt").write_text("tea")

    assert "4/4" in run("index", "docs").stderr


@pytest.mark.parametrize(
    ("number", "counted"), [(1, "1 document "), (2, "2 documents ")]
)
def test_one_document_is_no_documents(run, tmp_path, number, counted) -> None:
    """The count and its noun agree."""
    for each in range(number):
        (tmp_path / f"{each}.txt").write_text("tea")

    assert f"; {counted}in " in run("index", ".").stdout


def test_index_gives_its_documents_metadata(run, kitchen) -> None:
    """They can be filtered by it, and a run without takes it away."""
    tenant = json.dumps({"tenant": "kitchen"})
    words = ["search", "degrees", "--filter", tenant]
    changed = run("index", "docs", "--metadata", tenant)
    found = run(*words)
    run("index", "docs")

    assert "3 updated" in changed.stdout
    assert len(re.findall(r"docs/\w+\.md", found.stdout)) == 3
    assert run(*words).exit_code == 1


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["index"], "PATH"),
        (["index", "no/such/folder"], "no file or folder"),
        (["index", ".", "--store", "https://localhost/index"], "Elasticsearch"),
        (["index", ".", "--embedding", "word2vec"], "must be 'none', 'local' or"),
        (["index", ".", "--embedding", "word2vec"], "openai:NAME"),
        (["search", "tea", "--page", "0"], "`page`"),
        (["search", "tea", "--page", "100"], "`page`"),
        (["search", "tea", "-k", "0"], "`k`"),
        (["search", "tea", "--fusion", "best"], "round_robin"),
        (["search", "tea", "--filter", "{"], "`--filter` must be JSON"),
        (["search", "tea", "--filter", "[]"], "JSON object"),
        (["search", "tea", "--filter", "[" * 10_000], "`--filter` must be JSON"),
        (["search", "tea", "--max-window", "1"], "--max-window"),
        (["search", "tea", "--store", "docs"], "'docs' is a folder"),
        (["index", "docs", "--store", "docs"], "'docs' is a folder"),
        (["index", "docs", "--metadata", "{"], "`--metadata` must be JSON"),
        (["index", "docs", "--metadata", "[]"], "JSON object"),
        (["search", "tea", "--filter", '{"a": {"$regex": "x"}}'], "'$regex'"),
        (["context", "tea"], "--max-tokens"),
        (["context", "tea", "--max-tokens", "many"], "--max-tokens"),
        (["context", "tea", "--max-tokens", "0"], "--max-tokens"),
        (["context", "tea", "--max-tokens", "9", "-k", "0"], "`k`"),
        (["context", "tea", "--max-tokens", "9", "--page", "0"], "`page`"),
        (["context", "tea", "--max-tokens", "9", "--filter", "{"], "`--filter`"),
        (["context", "tea", "--max-tokens", "9", "--fusion", "best"], "round_robin"),
        (["context", "tea", "--max-tokens", "9", "--style", "loud"], "numbered"),
        (["compact", "file"], "compact"),
    ],
)
def test_wrong_usage_ends_with_2_and_names_what_is_wrong(
    run, kitchen, words, named
) -> None:
    """One message on stderr, nothing on stdout, no traceback."""
    result = run(*words)

    assert result.exit_code == 2
    assert named in " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def test_a_missing_extra_is_wrong_usage(run, monkeypatch) -> None:
    """The command to install it is named."""
    monkeypatch.setitem(sys.modules, "langchain_openai", None)
    result = run("index", ".", "--embedding", "openai:small")

    assert result.exit_code == 2
    assert "langchain-ctxfetch[openai]" in result.stderr


def test_what_is_no_index_ends_with_3(run, tmp_path) -> None:
    """Another program's file is refused, and not overwritten."""
    (tmp_path / "notes.txt").write_text("not an index")

    assert run("index", ".", "--store", "notes.txt").exit_code == 3
    assert run("search", "tea", "--store", "notes.txt").exit_code == 3
    assert (tmp_path / "notes.txt").read_text() == "not an index"


def test_a_missing_index_ends_with_3_and_is_not_made(run, tmp_path) -> None:
    """The message says how to make one."""
    result = run("search", "tea")

    assert result.exit_code == 3
    assert "ctxfetch index" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_refused_documents_end_with_3(run, kitchen, monkeypatch) -> None:
    """They are named with the reason, the counts are printed all the same."""
    report = langchain_ctxfetch.SyncReport(added=1, failed={"a.md": "no vector"})
    monkeypatch.setattr(langchain_ctxfetch, "sync_folder", lambda *_, **__: report)
    result = run("index", "docs")

    assert result.exit_code == 3
    assert "a.md: no vector" in result.stderr
    assert "1 failed" in result.stdout


def test_ctrl_c_ends_with_130(run, kitchen, monkeypatch) -> None:
    """Without a traceback."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(langchain_ctxfetch, "sync_folder", interrupted)
    result = run("index", "docs")

    assert result.exit_code == 130
    assert result.output == ""


def test_the_program_tells_its_version(run) -> None:
    """The installed version, on stdout."""
    assert re.fullmatch(r"ctxfetch \d+\.\d+\.\d+\S*\n", run("--version").stdout)


# --- search ---------------------------------------------------------------------


def test_search_shows_place_title_source_ranks_and_passage(run, kitchen) -> None:
    """The best document comes first, with what made it so; no score misleads."""
    result = run("search", "steep green tea")
    first, second, third, *_ = result.stdout.splitlines()

    assert result.exit_code == 0
    assert first == "1. Green tea"
    assert second == "    docs/tea.md  (keyword 1)"
    assert "Steep green tea at 80 degrees" in third


def test_page_two_goes_on_where_page_one_ends(run, kitchen) -> None:
    """Places are counted through, and stderr says whether more follows."""
    one = run("search", "degrees minutes", "-k", "2")
    two = run("search", "degrees minutes", "-k", "2", "--page", "2")

    assert "more with --page 2" in one.stderr
    assert two.stdout.startswith("3. ")
    assert "the last one" in two.stderr
    sources = re.findall(r"docs/\w+\.md", one.stdout + two.stdout)
    assert sorted(sources) == ["docs/bread.md", "docs/coffee.md", "docs/tea.md"]


@pytest.mark.parametrize("fusion", ["weighted", "rrf", "round_robin"])
def test_every_fusion_finds(run, kitchen, fusion) -> None:
    """Each name of a fusion is accepted."""
    assert "docs/tea.md" in run("search", "green tea", "--fusion", fusion).stdout


def test_a_filter_narrows(run, kitchen) -> None:
    """Only documents that match are shown."""
    where = json.dumps({"source": {"$contains": "coffee"}})
    result = run("search", "degrees", "--filter", where)

    assert re.findall(r"docs/\w+\.md", result.stdout) == ["docs/coffee.md"]


@pytest.mark.parametrize("words", [["search", "zebra"], ["search", "  "]])
def test_nothing_found_ends_with_1(run, kitchen, words) -> None:
    """Nothing stands on stdout, and stderr says so."""
    result = run(*words)

    assert (result.exit_code, result.stdout) == (1, "")
    assert "nothing found" in result.stderr


def test_search_as_json_is_the_page(run, kitchen) -> None:
    """The keys are those of the dataclass, the documents those of LangChain."""
    page = json.loads(run("search", "green tea", "-k", "1", "--json").stdout)

    assert page["version"] == 1
    assert page.keys() == {
        *("version", "documents", "page", "k", "last_page"),
        *("has_more", "end", "complete", "gaps"),
    }
    assert page["documents"][0].keys() == {"id", "page_content", "metadata"}
    assert page["documents"][0]["metadata"]["ctxfetch"]["channels"]["keyword"]


def test_nothing_found_is_json_too(run, kitchen) -> None:
    """Programs get a page without documents, and the code 1."""
    result = run("search", "zebra", "--json")

    assert result.exit_code == 1
    assert json.loads(result.stdout)["documents"] == []


def test_the_environment_names_the_index(run, kitchen, monkeypatch) -> None:
    """`CTXFETCH_STORE` takes the place of the default."""
    monkeypatch.setenv("CTXFETCH_STORE", str(kitchen / ".ctxfetch.db"))
    (kitchen / "elsewhere").mkdir()
    monkeypatch.chdir(kitchen / "elsewhere")

    assert run("search", "green tea").exit_code == 0


def test_an_index_of_another_language_is_read_in_it(run, tmp_path) -> None:
    """The language that the index records is the one that is searched in."""
    with langchain_ctxfetch.SQLiteStore("de.db", language="german") as store:
        store.add_texts(["Die Häuser sind alt."], ids=["a"])

    assert run("search", "Haus", "--store", "de.db").exit_code == 0
    assert run("index", ".", "--store", "de.db").exit_code == 0


# --- models -----------------------------------------------------------------


class FakeOpenAI(DeterministicFakeEmbedding):
    """Stands in for the embeddings of the extra `openai`."""

    model: str
    size: int = 8


@pytest.fixture
def openai(monkeypatch) -> ModuleType:
    """Be the package of the extra, with a model that needs no network."""
    package = ModuleType("langchain_openai")
    package.OpenAIEmbeddings = FakeOpenAI
    monkeypatch.setitem(sys.modules, "langchain_openai", package)
    return package


def test_an_index_remembers_its_model(run, kitchen, openai) -> None:
    """What `--embedding` says once holds for later runs and for searches."""
    first = run("index", "docs", "--store", "v.db", "--embedding", "openai:small")
    again = run("index", "docs", "--store", "v.db")
    found = run("search", "green tea", "--store", "v.db")

    assert (first.exit_code, again.exit_code) == (0, 0)
    assert re.search(r"\(keyword 1, vector \d\)", found.stdout)


def test_a_model_that_cannot_be_had_leaves_the_keywords(run, kitchen, openai) -> None:
    """A search goes on without vectors, and says so."""
    run("index", "docs", "--store", "v.db", "--embedding", "openai:small")

    def no_key(**_):
        raise ValueError("no key")

    openai.OpenAIEmbeddings = no_key
    found = run("search", "green tea", "--store", "v.db")
    written = run("index", "docs", "--store", "v.db")

    assert (found.exit_code, written.exit_code) == (0, 2)
    assert "searching by keyword alone" in found.stderr
    assert "(keyword 1)" in found.stdout
    assert "no key" in written.stderr


@pytest.mark.parametrize("words", [[], ["--embedding", "none"]])
def test_vectors_of_another_program_are_not_mixed(run, kitchen, words) -> None:
    """The command does not write into an index whose model it does not have."""
    foreign = DeterministicFakeEmbedding(size=8)
    with langchain_ctxfetch.SQLiteStore("v.db", embedding=foreign) as store:
        store.add_texts(["Green tea."], ids=["a"])

    written = run("index", "docs", "--store", "v.db", *words)
    assert written.exit_code == 2
    assert "DeterministicFakeEmbedding" in written.stderr
    assert run("search", "green tea", "--store", "v.db").exit_code == 0


# --- hostile files --------------------------------------------------------------

HOSTILE = (
    "# [bold red]Tea[/bold red] [/] \x1b]0;owned\x07 \x1b[31m\u202egnp\n\n"
    "Steep tea [link=file:///etc]here[/link] \x1b[2J\x9b31m :smile: {query} </context>"
)


@pytest.fixture
def hostile(run, tmp_path) -> Path:
    """Be a folder with a file that tries to do things to a terminal."""
    (tmp_path / "[red]a\x1b[31m\n.md").write_text(HOSTILE, encoding="utf-8")
    run("index", ".")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["search", "tea"],
        ["search", "tea", "--json"],
        ["context", "tea", "--max-tokens", "200"],
        ["context", "tea", "--max-tokens", "200", "--json"],
        ["index", "."],
    ],
)
def test_nothing_in_a_file_reaches_the_terminal(run, hostile, words) -> None:
    """No escape sequence, and nothing that changes the direction of writing."""
    result = run(*words)

    assert result.exit_code == 0
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", result.output)


def test_markup_in_a_file_is_text(run, hostile) -> None:
    """Square brackets and names between colons are shown as they are written."""
    shown = run("search", "tea").stdout

    assert "[bold red]Tea[/bold red] [/]" in shown
    assert ":smile: {query}" in shown


def test_the_bundled_embedding_serves_command_and_python(run, tmp_path) -> None:
    """The file records its own name, under which both open it again."""
    (tmp_path / "tea.md").write_text("Green tea.")
    assert run("index", ".", "--embedding", "local").exit_code == 0
    assert run("index", ".", "--embedding", "local").exit_code == 0
    assert run("index", ".").exit_code == 0
    found = run("search", "tea", "--json")

    assert found.exit_code == 0
    assert "vector" in found.stdout
    path = tmp_path / ".ctxfetch.db"
    with langchain_ctxfetch.SQLiteStore(
        path, embedding=langchain_ctxfetch.LocalEmbeddings()
    ) as store:
        assert "vector" in store.channel_names()
