"""Try the compactor on as many hostile contexts as you like.

    python -m tests.benchmarks.guarantee [NUMBER] [--first SEED]

Each number makes one context, budget, counter and model. It prints what broke the law
that the result is within the budget, and ends with 1 where anything did.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence

from tests.benchmarks.timing import progress
from tests.hostile_contexts import case, check

EVERY = 1_000


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the cases; 1 where one of them broke the law."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("number", type=int, nargs="?", default=50_000)
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args(arguments)
    ways: Counter[str] = Counter()
    broken = 0
    for seed in range(options.first, options.first + options.number):
        report, problem = check(case(seed))
        if problem:
            broken += 1
            print(f"{seed}: {problem}", flush=True)
        ways.update(["budget error"] if report is None else _hows(report.blocks))
        if (seed + 1) % EVERY == 0:
            progress(f"{seed + 1:,} cases, {broken} broken")
    print(f"{options.number:,} cases, {broken} broken; blocks: {dict(ways)}")
    return 1 if broken else 0


def _hows(blocks: Sequence[object]) -> list[str]:
    return [getattr(block, "how", "") for block in blocks]


if __name__ == "__main__":
    sys.exit(main())
