"""The public names."""

import subprocess
import sys
from pathlib import Path

import pytest

import langchain_ctxfetch


@pytest.mark.parametrize("name", langchain_ctxfetch.__all__)
def test_every_public_name_resolves(name) -> None:
    """Each name of `__all__` is there; classes and functions are documented."""
    found = getattr(langchain_ctxfetch, name)

    assert found.__doc__ or name == "Fusion"  # an alias of a type has no docstring


def test_the_public_names_are_sorted_and_listed() -> None:
    """`dir` shows exactly them."""
    assert dir(langchain_ctxfetch) == sorted(langchain_ctxfetch.__all__)


def test_a_name_that_is_none_raises() -> None:
    """As any module does."""
    with pytest.raises(AttributeError, match="Retreiver"):
        _ = langchain_ctxfetch.Retreiver


def test_importing_the_package_imports_nothing_heavy() -> None:
    """Neither LangChain nor numpy nor pydantic before a name is used."""
    code = (
        "import sys, langchain_ctxfetch\n"
        "heavy = {'numpy', 'pydantic', 'langchain_core', 'tiktoken', 'sqlite3'}\n"
        "print(sorted(heavy & sys.modules.keys()))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )

    assert ended.stdout.strip() == "[]"


def test_type_checkers_see_the_names_that_users_get() -> None:
    """The imports for type checkers are the lazily resolved ones."""
    source = Path(langchain_ctxfetch.__file__).read_text(encoding="utf-8")
    for room, names in langchain_ctxfetch._ROOMS.items():
        assert f"from {room} import" in source
        assert all(f"{name} as {name}" in source for name in names)
