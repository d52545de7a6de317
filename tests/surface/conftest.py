"""A store that counts, a folder to bring it in step with, and the command line."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from langchain_ctxfetch._commands import app
from langchain_ctxfetch.errors import IngestionError


class FakeStore:
    """Keeps documents in a dict, counts calls, refuses the ids that it is told to."""

    def __init__(self) -> None:
        self.documents = {}
        self.batches = []
        self.removed = []
        self.refused = set()

    def put(self, documents):
        self.batches.append([hit.id for hit in documents])
        taken = [hit for hit in documents if hit.id not in self.refused]
        self.documents |= {hit.id: hit for hit in taken}
        if len(taken) < len(documents):
            failed = [hit.id for hit in documents if hit.id in self.refused]
            raise IngestionError("no vector came back", failed_ids=failed)
        return [hit.id for hit in taken]

    async def aput(self, documents):
        return self.put(documents)

    def remove(self, ids=None, **_):
        self.removed.extend(ids)
        return sum(self.documents.pop(name, None) is not None for name in ids)

    async def aremove(self, ids=None, **_):
        return self.remove(ids)

    def records(self, **_):
        for name, hit in self.documents.items():
            yield name, dict(hit.metadata)

    @property
    def written(self):
        return [name for batch in self.batches for name in batch]


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Hold three files, one of them in a folder of its own."""
    write(tmp_path / "docs/a.md", "# Apples\n\nRed.")
    write(tmp_path / "docs/b.txt", "Pears are green.")
    write(tmp_path / "docs/deep/c.py", "# not a title\nx = 1\n")
    return tmp_path / "docs"


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


TEA = "# Green tea\n\nSteep green tea at 80 degrees for two minutes."
COFFEE = "# Coffee\n\nBrew coffee at 93 degrees for four minutes."
BREAD = "# Bread\n\nBake bread at 230 degrees for forty minutes."


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Run the command in an empty folder; return what it printed and its code."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CTXFETCH_STORE", raising=False)
    return lambda *words: CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def kitchen(run, tmp_path) -> Path:
    """Be a folder with three files and their index."""
    docs = tmp_path / "docs"
    docs.mkdir()
    for name, text in (("tea", TEA), ("coffee", COFFEE), ("bread", BREAD)):
        (docs / f"{name}.md").write_text(text)
    run("index", "docs")
    return tmp_path
