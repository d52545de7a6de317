"""What a benchmark measures and how it says so: CPU time, rows of a table, progress."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True)
class Row:
    """Be one line of the table.

    Attributes:
        what: What was measured.
        ours: The figure, with its unit.
        peer: The figure of what it is compared with, where it is.
        target: What was to be reached, where something was.
        met: Whether it was; None where that is not to be judged.
    """

    what: str
    ours: str
    peer: str = ""
    target: str = ""
    met: bool | None = None

    def __str__(self) -> str:
        verdict = {True: "yes", False: "NO", None: ""}[self.met]
        return (
            f"| {self.what} | {self.ours} | {self.peer} | {self.target} | {verdict} |"
        )

    def beside(self, ours: str, peer: str) -> Row:
        """Return the row with the two figures that its own one compares."""
        return replace(self, ours=f"{ours}: {self.ours}", peer=peer)


HEADER = """\
| what | ours | peer | target | met |
|---|---|---|---|---|"""


def at_most(what: str, figure: float, limit: float, unit: str, *, judged=True) -> Row:
    """Report a figure that should not be above *limit*."""
    met = figure <= limit if judged else None
    return Row(what, _shown(figure, unit), "", f"<= {limit:g} {unit}", met)


def at_least(what: str, figure: float, limit: float, unit: str, *, judged=True) -> Row:
    """Report a figure that should not be below *limit*."""
    met = figure >= limit if judged else None
    return Row(what, _shown(figure, unit), "", f">= {limit:g} {unit}", met)


def told(what: str, figure: float, unit: str) -> Row:
    """Report a figure that has no target."""
    return Row(what, _shown(figure, unit))


def cpu_ms(call: Callable[[], Any]) -> float:
    """Return the milliseconds of CPU that a call takes in this process."""
    start = time.process_time()
    call()
    return 1_000 * (time.process_time() - start)


def wall_ms(call: Callable[[], Any]) -> float:
    """Return the milliseconds that pass until a call returns."""
    start = time.perf_counter()
    call()
    return 1_000 * (time.perf_counter() - start)


def median_cpu_ms(
    way: Callable[[Any], Any], inputs: Iterable[Any], *, rounds: int = 3
) -> float:
    """Return the CPU milliseconds of the median input, once it is warm.

    The inputs are gone through in rounds, and the least time of each counts: what
    neighbours on the machine add is no cost of ours.

    Args:
        way: What is timed.
        inputs: What it is given, one after another.
        rounds: How often each is timed.

    Returns:
        Milliseconds.
    """
    held = list(inputs)
    way(held[0])
    times = [[cpu_ms(lambda one=one: way(one)) for one in held] for _ in range(rounds)]
    return statistics.median(map(min, zip(*times, strict=True)))


def yardstick() -> Row:
    """Time a fixed loop: how fast the machine is at this moment."""

    def loop() -> int:
        return sum(number * number % 7 for number in range(1_000_000))

    milliseconds = min(cpu_ms(loop) for _ in range(3))
    return told("yardstick: a million turns of a loop", milliseconds, "ms")


def progress(what: str) -> None:
    """Say on stderr what is being done."""
    print(f"{time.strftime('%H:%M:%S')} {what}", file=sys.stderr, flush=True)


def _shown(figure: float, unit: str) -> str:
    if isinstance(figure, int):
        return f"{figure:,} {unit}".strip()
    digits = 0 if figure >= 100 else 1 if figure >= 10 else 2
    return f"{figure:,.{digits}f} {unit}"
