"""What `.gitignore` files leave out, at a cost that no pattern can drive up."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass
from importlib import import_module
from itertools import groupby
from os import sep
from pathlib import Path
from typing import TYPE_CHECKING, Any

from langchain_ctxfetch.errors import MissingExtraError

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

MOST_BYTES = 1_000_000
"""How much of a `.gitignore` file is read."""

MOST_LINES = 10_000
"""How many of its lines are: each is asked for each path."""

LONGEST = 1_000
"""The longest line that is obeyed, in characters."""

MOST_DEEP = 3
"""How often a line may say `**`: each is tried at each level of a path."""

# A star of `pathspec`, and what stands for one letter, in its regular expressions.
_STAR = r"\[\^/\]\*"
_SET = r"\[\^?\]?(?:[^\]\\]|\\.)*+\](?![*+?])"
_LETTER = rf"(?:\\.|{_SET}|[^\\\[\]()/|?*+{{}}^$])"
_STARS = re.compile(rf"(?:{_STAR}){{2,}}")
_STEP = re.compile(rf"{_STAR}(?P<letters>{_LETTER}++)(?={_STAR})|\\.|{_SET}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Rules:
    """Be what the `.gitignore` files of some folders say, the outermost first.

    Attributes:
        specs: Each folder, and its patterns.
        refused: The lines that are not obeyed, since to try them could take for ever:
            path and number.
    """

    specs: tuple[tuple[str, GitIgnoreSpec], ...] = ()
    refused: tuple[str, ...] = ()

    def leave_out(self, path: str, *, is_folder: bool) -> bool:
        """Ask the innermost file first: the first that knows decides."""
        for folder, spec in reversed(self.specs):
            inner = path.removeprefix(folder).lstrip(sep).replace(sep, "/")
            decision = spec.check_file(inner + "/" * is_folder).include
            if decision is not None:
                return bool(decision)
        return False

    def within(self, folder: str) -> Rules:
        """Add what the file of a folder further in says, where there is one."""
        path = Path(folder, ".gitignore")
        lines = _lines(path)
        if lines is None:
            return self
        good = [line for line in lines[:MOST_LINES] if _is_cheap(line)]
        bad = [n for n, line in enumerate(lines[:MOST_LINES], 1) if not _is_cheap(line)]
        bad += [MOST_LINES + 1] * (len(lines) > MOST_LINES)
        refused = tuple(f"{path}:{number}" for number in bad)
        return Rules((*self.specs, (folder, _spec(good))), self.refused + refused)


def rules_above(given: str) -> Rules:
    """Return the rules of the repository that a folder lies in, from its root down.

    A folder that these rules themselves leave out, but that was asked for by name,
    is read by its own rules alone.
    """
    line = [Path(given), *Path(given).parents]
    root = next((at for at, folder in enumerate(line) if _is_root(folder)), 0)
    rules = Rules()
    for folder in reversed(line[1 : root + 1]):
        rules = rules.within(str(folder))
    return Rules() if rules.leave_out(given, is_folder=True) else rules


def _is_root(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False


def _lines(path: Path) -> list[str] | None:
    try:
        # A pipe would block, and a device never end.
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with path.open("rb") as file:
            data = file.read(MOST_BYTES)
    except OSError:
        return None
    # As git does, byte for byte: one odd byte must not void the other lines.
    text = data.removeprefix(b"\xef\xbb\xbf").decode(errors="surrogateescape")
    return text.splitlines()


def _is_cheap(line: str) -> bool:
    """Say whether a line can be obeyed: comments of any length can."""
    if line.startswith("#"):
        return True
    # Several in a row say no more than one.
    levels = [part for part, _ in groupby(line.strip().lstrip("!").split("/"))]
    return len(line) <= LONGEST and levels.count("**") <= MOST_DEEP


def _spec(lines: list[str]) -> GitIgnoreSpec:
    """Compile patterns; a line that is none is passed over, as git does."""
    spec_class = _spec_class()
    patterns = []
    for line in lines:
        try:
            found = spec_class.from_lines([line]).patterns
        except (ValueError, re.error):
            continue
        patterns += [_without_returns(pattern) for pattern in found]
    return spec_class(patterns)


def _without_returns(pattern: Any) -> Any:  # noqa: ANN401 - as the package has it
    """Make a pattern of several stars in one name take one way through it.

    What stands between two stars is taken where it comes first: anything that matches
    at all then matches too, and nothing is tried again at each later place.
    """
    if pattern.include is None:
        return pattern
    plain = _STARS.sub("[^/]*", pattern.regex.pattern)
    quick = _STEP.sub(
        lambda step: f"(?>[^/]*?{step['letters']})" if step["letters"] else step[0],
        plain,
    )
    return type(pattern)(re.compile(quick), pattern.include)


def _spec_class() -> type[GitIgnoreSpec]:
    try:
        found: type[GitIgnoreSpec] = import_module("pathspec").GitIgnoreSpec
    except ImportError as error:
        raise MissingExtraError("cli", "reading `.gitignore` files") from error
    return found
