"""``camcast reproduce``: the tables and figures of a paper, computed again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table as Grid

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures, complain
from camcast.cli.output import print_json, wide_console
from camcast.sweeps import ProgressBar, SweepError

if TYPE_CHECKING:
    from camcast.reproduction.camcast_paper import Reproduction

PAPERS: Final = ("camcast",)
EXTRAS: Final = ("numpy", "numba", "llvmlite", "altair", "vl_convert")
_WIDTH: Final = 125  # chosen: a row of Table 2; a pipe has no width itself
EXIT_INTERRUPTED: Final = 130  # [shell convention: 128 + SIGINT]


def reproduce(
    what: Annotated[str, typer.Argument(metavar="PAPER", help="camcast (its section 6.1).")],
    output: Annotated[
        Path | None,
        typer.Option("--output", metavar="DIR", help="Default: runs/reproduce-<paper>."),
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option("--runs", help="Experiments a point; default: 4,000 (the paper: 100)."),
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Of all choices by chance.")] = 1,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="Processes; default: all cores.")
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="population, chain, or virtual (the shipped node; 1,000 times slower).",
        ),
    ] = "population",
    json: options.Json = False,
) -> None:
    """Compute the tables and figures of a paper again, beside the published and the model's.

    The output folder gets index.html, which needs no network, and everything in it as CSV, JSON,
    SVG and PNG. A run that was stopped continues with the same command. Needs the extras
    camcast[sim,report].

    Example: camcast reproduce camcast --runs 100 --output section6
    """
    with clear_failures(ValueError, SweepError, OSError):
        if what not in PAPERS:
            raise ValueError(f"unknown paper {what!r}; known: {', '.join(PAPERS)}")
        with extras_named("sim,report"):
            from camcast.reproduction.camcast_paper import RUNS, Plan
            from camcast.reproduction.folder import ReproductionFolder
        path = output or Path("runs") / f"reproduce-{what}"
        given: dict[str, Any] = {"runs": RUNS if runs is None else runs, "seed": seed}
        plan = Plan(**given, engine=engine)  # type: ignore[arg-type]  # the plan says which exist
        folder = ReproductionFolder(path, what, plan)
        done, total = 0, 0

        def show(now_done: int, now_total: int) -> None:
            nonlocal done, total
            done, total = now_done, now_total
            bar.update(done, total)

        try:
            with ProgressBar(f"reproduce {what}") as bar:
                reproduction = folder.reproduce(workers, show)
        except KeyboardInterrupt:
            complain(
                f"interrupted; {done} of {total} cells are kept in {path}, and the same command"
                " continues there"
            )
            raise typer.Exit(EXIT_INTERRUPTED) from None
    if json:
        print_json(folder.as_json(reproduction) | {"output": str(path)})
    else:
        _print_tables(reproduction)
        typer.echo(f"output: {path / 'index.html'}")


def _print_tables(reproduction: Reproduction) -> None:
    console = wide_console(_WIDTH)
    for table in reproduction.tables:
        rows: dict[tuple[str, str], list[str]] = {}
        for entry in table.entries:
            published = rows.setdefault((entry.approach, "published"), [])
            shown = "-" if entry.mean is None else f"{entry.mean:,.2f}"
            if entry.low is not None and entry.high is not None:
                shown += f" ±{(entry.high - entry.low) / 2:.2f}"
            computed = rows.setdefault((entry.approach, entry.how), [])
            computed.append(shown)
            if len(published) < len(computed):
                published.append(f"{entry.published:,g}")
        grid = Grid(title=f"Table {table.number}. {table.title}", title_justify="left", box=None)
        grid.add_column("")
        grid.add_column("")
        for topology in dict.fromkeys(entry.topology for entry in table.entries):
            grid.add_column(topology, justify="right", no_wrap=True)
        before = ""
        for (approach, how), cells in rows.items():
            grid.add_row(approach if approach != before else "", how, *cells)
            before = approach
        console.print(grid, highlight=False)
        console.print()
