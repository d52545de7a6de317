"""The `ctxfetch` command: finds out whether it can run, and runs."""

from __future__ import annotations

import io
import sys
from importlib import import_module


def main() -> None:
    """Run the command line; the code that it ends with says how that went.

    0 found, 1 nothing found, 2 wrong usage, 3 the store, 4 the budget.
    """
    for stream in (sys.stdout, sys.stderr):
        # A letter that the terminal does not know is no reason to stop.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app = import_module("langchain_ctxfetch._commands").app
    except ImportError as error:
        package = str(error.name).partition(".")[0]
        if package not in {"typer", "rich"}:
            raise
        sys.stderr.write(
            f"ctxfetch: the package {package!r} is missing; install the extra with:"
            ' pip install "langchain-ctxfetch[cli]"\n'
        )
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app()


if __name__ == "__main__":
    main()
