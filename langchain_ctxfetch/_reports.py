"""What a compaction did, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from langchain_ctxfetch._core.hits import Gap
from langchain_ctxfetch._core.shrinking import How

_WIDEST = 40  # characters of a name in the table


@dataclass(frozen=True, slots=True)
class BlockReport:
    """Say what became of one block, in characters; those of all blocks add up.

    Attributes:
        id: Its number, from 1; 0 for all text that is no block.
        type: The name of its tag, or what else it is.
        source: What names it.
        before: The characters that came, tags counted.
        after: The characters that stand there now.
        how: `kept`, `summary`, `cached` (reduced at an earlier time), `passages`,
            `cut` or `removed`.
        why: Why so.
        literals_lost: What a summary no longer says of numbers, names and quotations.
        literals_refused: What a summary said that its source does not.
    """

    id: int
    type: str
    source: str
    before: int
    after: int
    how: How
    why: str = ""
    literals_lost: tuple[str, ...] = ()
    literals_refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CompactionReport:
    """Say what a compaction did, in tokens; it prints as a table.

    Attributes:
        before: The tokens that came.
        after: The tokens of the result, by the caller's own counter.
        limit: The budget; None where there is none.
        calls: The calls that were made to the model, retries counted.
        planned_calls: The most calls that there could have been.
        prompt_tokens: What the model says that it read.
        output_tokens: What the model says that it wrote.
        cache_hits: How many blocks stand as they were reduced at an earlier time.
        blocks: What became of each block, and of the text around them.
        gaps: What could not be done.
    """

    before: int
    after: int
    limit: int | None
    calls: int = 0
    planned_calls: int = 0
    prompt_tokens: int = 0
    output_tokens: int = 0
    cache_hits: int = 0
    blocks: tuple[BlockReport, ...] = ()
    gaps: tuple[Gap, ...] = ()

    @property
    def changed(self) -> int:
        """Return how many blocks are not as they came."""
        return sum(block.how != "kept" for block in self.blocks)

    def __str__(self) -> str:
        rows = [_HEADINGS, *self._rows()]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [self._summary()]
        lines += [
            "  ".join(
                cell.rjust(width) if at in _NUMBERS else cell.ljust(width)
                for at, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        lines += [f"! {gap}" for gap in self.gaps]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show the table in a notebook."""
        head = "".join(f"<th>{name}</th>" for name in _HEADINGS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self._rows()
        )
        gaps = "".join(f"<li>{escape(str(gap))}</li>" for gap in self.gaps)
        told = f"<ul>{gaps}</ul>" if gaps else ""
        return (
            f"<p>{escape(self._summary())}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>{told}"
        )

    def _summary(self) -> str:
        return (
            f"{self.before:,} tokens -> {self.after:,} ({_limit(self.limit)}), "
            f"{self.calls} of at most {self.planned_calls} calls, "
            f"{self.changed} of {len(self.blocks)} blocks changed"
        )

    def _rows(self) -> Iterator[tuple[str, ...]]:
        for block in self.blocks:
            yield (
                str(block.id or ""),
                block.type,
                _short(block.source),
                f"{block.before:,}",
                f"{block.after:,}",
                block.how,
                _short(block.why),
            )


@dataclass(frozen=True, slots=True)
class PlannedBlock:
    """Say what will be done with one block.

    Attributes:
        id: Its number, from 1.
        type: The name of its tag, or what else it is.
        source: What names it.
        tokens: What it has now, about.
        target: What it may have; None where it stays as it is.
        calls: The most calls that this takes, retries not counted.
    """

    id: int
    type: str
    source: str
    tokens: int
    target: int | None
    calls: int


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Say what a compaction would do, before any call.

    Attributes:
        before: The tokens that came.
        limit: The budget; None where there is none.
        goal: What the whole is brought down to; None where nothing need be done.
        calls: The most calls that it takes, retries counted.
        blocks: What will be done with each block.
    """

    before: int
    limit: int | None
    goal: int | None
    calls: int
    blocks: tuple[PlannedBlock, ...] = ()

    def __str__(self) -> str:
        if self.goal is None:
            return f"{self.before:,} tokens fit: nothing to do"
        limit = _limit(self.limit)
        down = f"down to {self.goal:,}, " if self.goal < self.before else ""
        lines = [f"{self.before:,} tokens, {limit}: {down}at most {self.calls} calls"]
        lines += [
            f"{block.id:>4}  {block.type}  {_short(block.source)}  {block.tokens:,}"
            + ("" if block.target is None else f" -> {block.target:,}")
            + (f"  ({block.calls} calls)" if block.calls else "")
            for block in self.blocks
        ]
        return "\n".join(lines)


_HEADINGS = ("", "type", "source", "before", "after", "how", "why")
_NUMBERS = frozenset({0, 3, 4})


def _limit(limit: int | None) -> str:
    return "no limit" if limit is None else f"limit {limit:,}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _WIDEST else f"{line[: _WIDEST - 1]}…"
