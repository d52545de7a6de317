"""The `ctxfetch` command as a program of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_ctxfetch

RUN = "from langchain_ctxfetch.cli import main; main()"


def program(*words, code=RUN, stdout=subprocess.PIPE, encoding="ascii", **options):
    """Run the command as a program of its own."""
    environment = {
        "PYTHONPATH": str(Path(langchain_ctxfetch.__file__).parents[1]),
        "PYTHONIOENCODING": encoding,
        "PYTHONUNBUFFERED": "",  # as users have it
    }
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        check=False,
        timeout=120,
        env=os.environ | environment,
        **options,
    )


@pytest.fixture
def tea(tmp_path) -> Path:
    """Be a folder with an index of one document."""
    (tmp_path / "tea.md").write_text("# 緑茶\n\n緑茶は八十度で二分。", encoding="utf-8")
    with langchain_ctxfetch.SQLiteStore(tmp_path / ".ctxfetch.db") as store:
        langchain_ctxfetch.sync_folder(store, tmp_path)
    return tmp_path


def test_the_program_keeps_results_apart(tmp_path) -> None:
    """A pipe gets the results alone, even where it knows ASCII only."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/tea.md").write_text("# Tee\n\nGrüner Tee zieht zwei Minuten.")
    indexed = program("index", "docs", cwd=tmp_path)
    found = program("search", "Grüner", "--page", "1", cwd=tmp_path)

    assert (indexed.returncode, found.returncode) == (0, 0)
    assert "1 added" in indexed.stdout
    assert "docs/tea.md" in found.stdout
    assert found.stderr.strip() == "page 1; the last one (exhausted)"


@pytest.mark.parametrize("package", ["typer", "rich"])
def test_without_its_packages_the_program_names_the_extra(package, tmp_path) -> None:
    """One sentence and no traceback."""
    code = f"import sys; sys.modules[{package!r}] = None\n"
    code += "from langchain_ctxfetch.cli import main; main()"
    ended = program("search", "tea", code=code, cwd=tmp_path)

    assert ended.returncode == 2
    assert 'pip install "langchain-ctxfetch[cli]"' in ended.stderr
    assert "Traceback" not in ended.stderr


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["search", "--help"]])
def test_help_and_version_need_no_framework(words) -> None:
    """Neither LangChain nor numpy nor rich is imported for them."""
    code = (
        "import atexit, sys\n"
        "heavy = {'langchain_core', 'numpy', 'rich'}\n"
        "atexit.register(lambda: print(sorted(heavy & sys.modules.keys())))\n"
    )
    ended = program(*words, code=code + RUN)

    assert ended.returncode == 0
    assert ended.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("encoding", "shown"), [("utf-8", "緑茶"), ("ascii", r"\u7dd1\u8336")]
)
def test_json_keeps_every_letter(tea, encoding, shown) -> None:
    """As it is where the stream knows it, else escaped, never lost."""
    found = program("search", "緑茶", "--json", cwd=tea, encoding=encoding)

    assert f'"title": "{shown}"' in found.stdout
    assert json.loads(found.stdout)["documents"][0]["metadata"]["title"] == "緑茶"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("words", "code", "named"),
    [
        (["search", "緑茶"], 3, "No space left on device"),
        (["search", "緑茶", "--json"], 3, "No space left on device"),
        (["search", "緑茶", "--json", "-k", "0"], 2, "`k`"),
        (["context", "緑茶", "--max-tokens", "200"], 3, "No space left on device"),
        (["index", "."], 3, "No space left on device"),
        (["--version"], 3, "No space left on device"),
        (["--help"], 3, "No space left on device"),
    ],
)
def test_a_full_disk_ends_with_a_sentence(tea, words, code, named) -> None:
    """There is no traceback, and the code is 3, or that of what went wrong before."""
    with Path("/dev/full").open("w") as full:
        ended = program(*words, cwd=tea, stdout=full)

    assert ended.returncode == code
    assert named in ended.stderr
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def test_a_reader_that_has_gone_ends_it_quietly(tea) -> None:
    """As SIGPIPE would: with 141, and without a word."""
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as gone:
        ended = program("search", "緑茶", cwd=tea, stdout=gone)

    assert (ended.returncode, ended.stderr) == (141, "")
