"""A table for people that keeps all its columns, however narrow the terminal is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import Final

from attrs import frozen
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions
from rich.table import Table

_BETWEEN: Final = 2  # rich's blanks between two columns
_HEAD: Final = 30  # chosen: characters of a column's head in a line; an interval has 27


@frozen
class WideTable:
    """Lines of texts: what each is about, then its numbers.

    Lines that are too wide are cut into several tables below each other, each with what its lines
    are about, so that no column is lost. A column's long head is folded.
    """

    heads: Sequence[str]
    columns: Sequence[str]
    lines: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Table]:
        about = len(self.heads)
        widths = [
            max(cell_len(line) for text in texts for line in text.split("\n"))
            for texts in zip((*self.heads, *self._columns), *self.lines, strict=True)
        ]
        room = options.max_width - sum(width + _BETWEEN for width in widths[:about])
        begin = about
        while begin < len(widths):
            end, used = begin + 1, widths[begin]
            while end < len(widths) and used + _BETWEEN + widths[end] <= room:
                used += _BETWEEN + widths[end]
                end += 1
            yield self._part(begin, end)
            begin = end

    @property
    def _columns(self) -> list[str]:
        return [fill(column, _HEAD) for column in self.columns]

    def _part(self, begin: int, end: int) -> Table:
        about = len(self.heads)
        table = Table(box=None, pad_edge=False, padding=(0, _BETWEEN, 0, 0))
        for head in self.heads:
            table.add_column(head, overflow="fold", min_width=len(head))
        for column in self._columns[begin - about : end - about]:
            table.add_column(column, justify="right", no_wrap=True)
        for line in self.lines:
            table.add_row(*line[:about], *line[begin:end])
        return table
