"""The common part of commands that simulate: cells with a progress bar, measured beside model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from camcast.cli.console import wide_console
from camcast.cli.extras import extras_named
from camcast.research.report.measures import MEASURES
from camcast.research.sweeps import JSON, Cell, ProgressBar, sweep
from camcast.research.systems.registry import System, outcome_of, simulate_cell

if TYPE_CHECKING:  # numpy is an extra
    from camcast.research.population.outcome import Interval, Outcome


def compute(
    task: Callable[[Cell], JSON],
    cells: Sequence[Cell],
    what: str,
    workers: int | None,
    results: Path | None = None,
) -> list[JSON]:
    """Compute cells on several cores, with a bar on the terminal; raises `SweepError`.

    A single cell is not worth a second process, which would compile the simulator first.
    """
    with ProgressBar(what) as bar:
        return sweep(
            task,
            cells,
            results=results,
            workers=1 if len(cells) == 1 else workers,
            on_progress=bar.update,
        )


def simulated(
    system: System,
    simulator: str,
    setting: Any,
    runs: int,
    seed: int,
    workers: int | None,
    results: Path | None = None,
) -> Outcome:
    """Simulate a system on several cores; raises `SettingError` and `SweepError`."""
    cells = system.cells(simulator, setting, runs, seed)
    return outcome_of(compute(simulate_cell, cells, f"{runs:,} runs", workers, results))


@contextmanager
def load_figure(path: Path | None) -> Iterator[Callable[[Mapping[str, Any], str], None]]:
    """Enter a block that draws ``--figure``: communities' measures as JSON, by name; None: none.

    Raises what `camcast.research.report.load_picture.picture_file` does, and `CommandError` if
    what draws is not installed.
    """
    if path is None:
        yield lambda _communities, _about: None
        return
    with extras_named("report"):
        from camcast.research.report.load_picture import picture_file
    with picture_file(path) as draw:
        yield draw


def shown(name: str, interval: Interval) -> str:
    """Write a measure with its interval for people."""
    return MEASURES[name].text(interval.mean, interval.low, interval.high)


def print_measures(
    heading: str,
    names: Sequence[str],
    model: Mapping[str, Any],
    measured: Mapping[str, Interval] | None,
    *below: str,
) -> None:
    """Print a table of what is measured beside what the model says, and the lines `below` it.

    Of the names, those that neither has are left out; without `measured` it is the model alone.
    """
    table = Table(box=None, pad_edge=False)
    table.add_column(heading, no_wrap=True)
    for column in ("model",) if measured is None else ("measured", "model"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for name in names:
        if name not in (model if measured is None else measured):
            continue
        predicted = MEASURES[name].text(model[name]) if name in model else ""
        found = [] if measured is None else [shown(name, measured[name])]
        if measured is not None and model.get(name) is None:
            predicted = ""
        table.add_row(name, *found, predicted, MEASURES[name].meaning)
    console = wide_console()
    console.print(table)
    console.print(*below, sep="\n", highlight=False, soft_wrap=True)
