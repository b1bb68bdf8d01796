"""``camcast sweep``: a grid of parameters over the simulators, here or on Spark's executors."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from camcast.cli import options
from camcast.cli.console import wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import CommandError, clear_failures, remark
from camcast.cli.output import print_json, say
from camcast.ops.output_place import make_output_folder
from camcast.research.cli.measures_table import measures_table
from camcast.research.cli.spark_options import Conf, Master, conf_of
from camcast.research.cli.system_options import Workers
from camcast.research.sweeps import JSON, ProgressBar
from camcast.research.sweeps import sweep as sweep_cells

if TYPE_CHECKING:
    from camcast.research.sweeps import Engine
    from camcast.research.sweeps.simulation_sweep import GridPoint

_CELLS: Final = "cells.jsonl"
_RESULTS: Final = "results"
_SHORT: Final = {True: "yes", False: "no", None: ""}
_METRICS: Final = ("reception", "reliability")  # of the table; the dataset has all


class EngineName(StrEnum):
    """Where the cells are computed."""

    LOCAL = "local"
    SPARK = "spark"


def sweep(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="SCENARIO.toml",
            help="A scenario of the virtual network, or a setting of sizes"
            " (docs/research/running.md).",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="Where the results go; a sweep that was killed continues from there.",
        ),
    ],
    grid: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY=VALUE,VALUE,...",
            help="A key of the file, and its values; with several, every combination.",
        ),
    ] = None,
    engine: Annotated[
        EngineName, typer.Option(help="Processes of this machine, or Spark's executors.")
    ] = EngineName.LOCAL,
    workers: Workers = None,
    master: Master = None,
    conf: Conf = None,
    repetitions: Annotated[
        int, typer.Option(min=1, help="Runs of every point of the grid.")
    ] = 10,  # chosen: as many as the comparisons of backends have
    seed: Annotated[
        int | None, typer.Option(help="Seed of the first run, in place of the file's.")
    ] = None,
    json: options.Json = False,
) -> None:
    """Simulate every combination of some parameters, and write one Parquet dataset.

    A cell depends on itself alone: both engines find the same, to the bit, and a sweep that is
    started again computes only what is missing. Needs the extra camcast[spark], for Parquet and
    for --engine spark, and camcast[sim] for settings of sizes. Spark brings its Java along.
    """
    with clear_failures(ValueError, LookupError, RuntimeError, OSError):
        with extras_named("spark"):
            from camcast.research.pipeline.spark.sweep_dataset import write_sweep
        with extras_named("sim"):
            from camcast.research.sweeps.grid import read_axis
            from camcast.research.sweeps.simulation_sweep import read_sweep

            axes = [read_axis(text) for text in grid or []]
            chosen = _engine(engine, workers, master, conf)
            points = read_sweep(scenario, axes, repetitions, seed)
        for folder in (output, output / _RESULTS):
            make_output_folder(folder)
        results = _computed(points, output / _CELLS, chosen, workers)
        rows = write_sweep(output / _RESULTS, points, results)
        if outside := _outside(points, results):
            remark(
                f"in {outside:,} runs processes never became members: never_joined says how many,"
                " and of the measures reception_of_all alone counts them"
            )
        if json:
            print_json(_as_json(points, output, rows), "sweep/1")
        else:
            _print(points, results)
            say(f"output: {output / _RESULTS} ({rows:,} rows)")


def _engine(
    name: EngineName, workers: int | None, master: str | None, conf: list[str] | None
) -> Engine | None:
    if name is EngineName.LOCAL:
        if master is not None or conf:
            raise CommandError("--master and --conf go with --engine spark")
        return None
    if workers is not None:
        raise CommandError("--workers goes with --engine local; for Spark, give --master local[N]")
    settings = conf_of(conf)
    from camcast.research.pipeline.spark.spark_sweep import spark_engine

    return spark_engine(master=master, conf=settings)


def _computed(
    points: list[GridPoint], kept: Path, engine: Engine | None, workers: int | None
) -> list[list[JSON]]:
    """Compute the cells, with a bar on the terminal, and return the results point by point."""
    from camcast.research.sweeps.simulation_sweep import simulate_sweep_cell

    cells = [cell for point in points for cell in point.cells]
    begun = False

    def show(done: int, total: int) -> None:
        nonlocal begun
        if not begun and done:
            remark(f"{done} of {total} cells are done already, in {kept}")
        begun = True
        bar.update(done, total)

    with ProgressBar("cells") as bar:
        found = iter(
            sweep_cells(
                simulate_sweep_cell,
                cells,
                results=kept,
                workers=workers,
                engine=engine,
                on_progress=show,
            )
        )
    return [[next(found) for _ in point.cells] for point in points]


def _as_json(points: list[GridPoint], output: Path, rows: int) -> dict[str, Any]:
    return {
        "output": str(output / _RESULTS),
        "rows": rows,
        "points": [
            {
                "grid": dict(point.values),
                "simulator": point.simulator,
                "protocol": point.protocol,
                "membership": point.membership,
                "repair": point.repair,
                "cells": len(point.cells),
            }
            for point in points
        ],
    }


def _outside(points: list[GridPoint], results: list[list[JSON]]) -> int:
    """Count the runs in which a process never joined."""
    found = zip(points, results, strict=True)
    rows = (row for point, of_cells in found for row in point.rows(of_cells))
    return sum(r.metric == "never_joined" and not r.community and r.value > 0 for r in rows)


def _print(points: list[GridPoint], results: list[list[JSON]]) -> None:
    keys = list(points[0].values)
    of_scenarios = any(point.repair is not None for point in points)
    lines = []
    for point, found in zip(points, results, strict=True):
        values: dict[str, dict[str, list[float]]] = {}
        for row in point.rows(found):
            if row.community:
                of_community = values.setdefault(row.community, {})
                of_community.setdefault(row.metric, []).append(row.value)
        given = [str(point.values[key]) for key in keys]
        repair = [_SHORT[point.repair]] if of_scenarios else []
        made = (point.simulator, point.protocol, point.membership, *repair)
        for community, measured in values.items():
            means = {name: fmean(measured[name]) if name in measured else None for name in _METRICS}
            lines.append(((*given, *made, community), means))
    head = ["repair"] if of_scenarios else []
    heads = (*keys, "simulator", "protocol", "membership", *head, "community")
    wide_console().print(measures_table(heads, _METRICS, lines))
