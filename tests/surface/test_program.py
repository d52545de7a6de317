"""The `ctxfetch` command as a program of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import langchain_ctxfetch


def program(*words, code="from langchain_ctxfetch.cli import main; main()", **options):
    """Run the command as a program of its own."""
    root = Path(langchain_ctxfetch.__file__).parents[1]
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"PYTHONPATH": str(root), "PYTHONIOENCODING": "ascii"},
        **options,
    )


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
