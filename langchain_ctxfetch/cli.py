"""The `ctxfetch` command: finds out whether it can run, and runs."""

from __future__ import annotations

import io
import sys
from importlib import import_module
from importlib.util import find_spec


def main() -> None:
    """Run the command line; the code that it ends with says how that went.

    0 found, 1 nothing found, 2 wrong usage, 3 the store, 4 the budget.
    """
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal does not know is no reason to stop.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    missing = [package for package in ("typer", "rich") if not find_spec(package)]
    if missing:
        sys.stderr.write(
            f"ctxfetch: the package {missing[0]!r} is missing; install the extra with:"
            ' pip install "langchain-ctxfetch[cli]"\n'
        )
        sys.exit(2)
    try:
        app = import_module("langchain_ctxfetch._commands").app
    except KeyboardInterrupt:
        sys.exit(130)
    app()


if __name__ == "__main__":
    main()
