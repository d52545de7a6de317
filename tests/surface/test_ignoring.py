"""`.gitignore` files: what they say is obeyed, and costs no more than it should."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st
from pathspec import GitIgnoreSpec

from langchain_ctxfetch._ignoring import LONGEST, MOST_LINES, Rules
from langchain_ctxfetch.ingestion import SyncReport, sync_folder


def rules_of(folder: Path, text: str) -> Rules:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".gitignore").write_text(text)
    return Rules().within(str(folder))


SLOW = "*a" * 30 + "b"


def test_stars_in_a_name_are_tried_once(tmp_path) -> None:
    """One star alone may still return, so the cost is that of name times pattern."""
    ((_, spec),) = rules_of(tmp_path, SLOW).specs
    (pattern,) = spec.patterns

    assert (
        GitIgnoreSpec.from_lines([SLOW]).patterns[0].regex.pattern.count("[^/]*") == 30
    )
    assert re.findall(r"(?<!\(\?>)\[\^/\]\*", pattern.regex.pattern) == ["[^/]*"]


def test_many_stars_end(store, tmp_path) -> None:
    """With returns this name alone would take longer than anybody waits."""
    (tmp_path / ".gitignore").write_text(SLOW)
    (tmp_path / ("a" * 200)).write_text("tea")
    (tmp_path / ("a" * 200 + "b")).write_text("tea")

    assert sync_folder(store, tmp_path) == SyncReport(
        added=1, skipped={"hidden": (".gitignore",), "ignored": ("a" * 200 + "b",)}
    )


pieces = st.sampled_from(
    [
        "*",
        "**",
        "/",
        "?",
        "a",
        "b",
        ".",
        "[ab]",
        "[!a]",
        "\\*",
        "\\[",
        "!",
        "[a-b]",
        "(",
        "+",
        "\\\\",
    ]
)
patterns = st.lists(pieces, max_size=9).map("".join)
names = st.text(st.sampled_from("ab*.[(+/\\"), min_size=1, max_size=12)


@settings(deadline=None)
@given(patterns, st.lists(names, min_size=1, max_size=8), st.booleans())
def test_what_a_pattern_means_is_not_changed(
    tmp_path_factory, pattern, asked, is_folder
) -> None:
    """Each line that is obeyed says what it says in the package."""
    folder = tmp_path_factory.mktemp("rules")
    try:
        plain = GitIgnoreSpec.from_lines([pattern])
    except ValueError:
        return
    rules = rules_of(folder, pattern)
    if rules.refused:
        return
    for name in asked:
        path = re.sub("/+", "/", name).strip("/") or "a"
        said = plain.check_file(path + "/" * is_folder).include

        assert rules.leave_out(f"{folder}/{path}", is_folder=is_folder) == bool(said)


@pytest.mark.parametrize(
    "line",
    [
        "**/a/**/b/**/c/**/d",
        "!**/a/**/b/**/c/**/d",
        "x" * (LONGEST + 1),
        " **/a/**/b/**/c/** ",
    ],
)
def test_a_line_that_could_take_for_ever_is_refused(store, tmp_path, line) -> None:
    """The report says where it stands, and the lines beside it hold."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/.gitignore").write_text(f"*.log\n\n{line}\n*.tmp\n")
    for name in ("a.txt", "a.log", "a.tmp"):
        (tmp_path / "deep" / name).write_text("tea")
    report = sync_folder(store, tmp_path)

    assert list(store.documents) == ["deep/a.txt"]
    assert report.skipped["pattern refused"] == ("deep/.gitignore:3",)


@pytest.mark.parametrize(
    "line",
    ["**/a/**/b/**", "**/**/**/**/**/a", "#" * 2_000, "*.*.*.*.*.*", "a" * LONGEST],
)
def test_what_is_cheap_is_obeyed(tmp_path, line) -> None:
    """Several `**` in a row are one, and remarks may be long."""
    assert rules_of(tmp_path, line).refused == ()


def test_a_file_of_too_many_lines_is_read_in_part(tmp_path) -> None:
    """The first line that is not obeyed is named."""
    lines = [f"a{number}" for number in range(MOST_LINES + 5)]
    rules = rules_of(tmp_path, "\n".join(lines))

    assert rules.refused == (f"{tmp_path / '.gitignore'}:{MOST_LINES + 1}",)
    assert rules.leave_out(str(tmp_path / lines[MOST_LINES - 1]), is_folder=False)
    assert not rules.leave_out(str(tmp_path / lines[MOST_LINES]), is_folder=False)


def test_a_refused_line_above_the_folder_is_named_once(store, tmp_path) -> None:
    """With the path that it has from there."""
    (tmp_path / ".git").mkdir()
    line = tmp_path / ".gitignore"
    line.write_text("**/a/**/b/**/c/**/d")
    (tmp_path / "src/inner").mkdir(parents=True)
    report = sync_folder(store, tmp_path / "src")

    assert report.skipped == {"pattern refused": (f"{line.as_posix()}:1",)}
