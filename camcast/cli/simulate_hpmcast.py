"""``camcast simulate hpmcast``: hierarchical probabilistic multicast (paper 002)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
import typer
from rich.table import Table

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, wide_console
from camcast.cli.setting_options import Workers
from camcast.cli.simulate_setting import shown
from camcast.sweeps import JSON, Cell, ProgressBar, SweepError, sweep

if TYPE_CHECKING:  # numpy is an extra
    from camcast.population.hpmcast import HpmcastSpread
    from camcast.settings.tree import HpmcastSetting

RUNS: Final = 100  # chosen: of Figure 7's setting, a reliability to ±0.0001 in a second
CELL_PROCESSES: Final = 1_000_000  # chosen: processes in a cell of the sweep, about half a second
_HERE_MAX: Final = 5_000_000  # chosen: processes that take as long as a second process
_TABLE_WIDTH: Final = 120  # chosen: a pipe has no width
_SHOWN: Final = {
    "reliability": (".3%", "share of the interested that deliver"),
    "rounds": (",.2f", "until nobody gossips any more"),
    "messages": (",.0f", "copies sent"),
    "parasites": (",.1f", "uninterested processes that receive it"),
}


class Estimate(StrEnum):
    """Where the share of interested processes is from that rounds are computed from."""

    EXPECTED = "expected"
    MEASURED = "measured"


def hpmcast(
    arity: Annotated[
        int, typer.Option("--arity", help="a: subsystems of each, processes of a lowest one.")
    ] = 22,  # [hpmcast 5.3, Figures 7, 8]
    depth: Annotated[
        int, typer.Option("--depth", help="l: levels; there are a^l processes.")
    ] = 3,  # [hpmcast 5.3, Figures 7, 8]
    redundancy: Annotated[
        int, typer.Option("--redundancy", help="R: delegates of a subsystem.")
    ] = 3,  # [hpmcast 5.3, Figures 7, 8]
    fan_out: Annotated[
        int, typer.Option("--fanout", help="F: processes chosen in a round.")
    ] = 2,  # [hpmcast 5.3, Figures 7, 8]
    interested: Annotated[
        float, typer.Option("--interested", help="p_1: probability that a process is.")
    ] = 0.5,  # chosen: amid Figure 7
    loss: Annotated[
        float, typer.Option("--loss", help="Probability that a copy is lost.")
    ] = 0.0,  # [hpmcast 5.3] the captions name none
    crash: Annotated[
        float,
        typer.Option("--crash", help="Probability that a process is dead from the beginning."),
    ] = 0.0,  # [hpmcast 5.3] the captions name none
    threshold: Annotated[
        int, typer.Option("--threshold", help="D: a smaller audience of a view is made so large.")
    ] = 0,  # [hpmcast 5.4] "not considered here"
    estimate: Annotated[
        Estimate,
        typer.Option(
            "--estimate",
            help="Rounds from the expected share of interested processes, as in the paper's"
            " figures, or from the one measured in each view, as a live process does.",
        ),
    ] = Estimate.EXPECTED,
    runs: Annotated[int, typer.Option("--runs", min=1, help="Events.")] = RUNS,
    seed: Annotated[int, typer.Option("--seed", help="Of all choices by chance.")] = 1,
    workers: Workers = None,
    json: options.Json = False,
) -> None:
    """Simulate hpmcast: an event spreads through a hierarchy, level by level.

    Everybody is interested with the same probability; delegates receive what interests those
    they stand for. Beside the measured means, with 95 % intervals, stands the model of
    docs/hpmcast.md.
    """
    with clear_failures(ValueError, SweepError, OSError), extras_named():
        from camcast.population.hpmcast import join
        from camcast.settings.tree import HpmcastSetting

        # what is wrong with the options is said here, and not by a worker
        for name, given in (("interested", interested), ("loss", loss), ("crash", crash)):
            if not 0 <= given <= 1:
                raise ValueError(f"--{name} is a probability from 0 to 1, not {given:g}")
        setting = HpmcastSetting(
            arity=arity,
            depth=depth,
            redundancy=redundancy,
            fan_out=fan_out,
            interested=interested,
            loss=loss,
            crash=crash,
            threshold=threshold,
            estimate=estimate.value,
        )
        size = max(1, CELL_PROCESSES // setting.processes)
        given_setting: dict[str, JSON] = attrs.asdict(setting)
        cells: list[Cell] = [
            given_setting | {"first": first, "runs": min(size, runs - first), "seed": seed}
            for first in range(0, runs, size)
        ]
        # little is not worth a second process, which would compile first
        here = setting.processes * runs <= _HERE_MAX
        with ProgressBar(f"{runs:,} runs") as bar:
            found: Any = sweep(
                simulate_cell, cells, workers=1 if here else workers, on_progress=bar.update
            )
        spread, model = join(found), _model(setting)
    if json:
        figures = {name: interval.as_json() for name, interval in spread.figures().items()}
        print_json(
            {
                "setting": given_setting | {"runs": runs, "seed": seed},
                "processes": setting.processes,
                **{name: figures[name] for name in _SHOWN},
                "view": setting.view,
                "model": model,
            }
        )
    else:
        _print(setting, spread, model)


def simulate_cell(given: Cell) -> JSON:
    """Simulate some runs; the task of the sweep."""
    from camcast.population.hpmcast import simulate
    from camcast.settings.tree import HpmcastSetting

    cell: dict[str, Any] = dict(given)
    first, runs, seed = (cell.pop(name) for name in ("first", "runs", "seed"))
    return simulate(HpmcastSetting(**cell), runs, seed, first).as_json()


def _model(setting: HpmcastSetting) -> dict[str, float | None]:
    from camcast.models.hpmcast.prediction import predict

    return predict(setting).as_json()


def _print(
    setting: HpmcastSetting, spread: HpmcastSpread, model: Mapping[str, float | None]
) -> None:
    table = Table(box=None, pad_edge=False)
    for name, justify in (("", "left"), ("measured", "right"), ("model", "right"), ("", "left")):
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]  # literals
    figures = spread.figures()
    for name, (form, meaning) in _SHOWN.items():
        told = model.get(name)
        table.add_row(
            name, shown(figures[name], form), "" if told is None else f"{told:{form}}", meaning
        )
    console = wide_console(_TABLE_WIDTH)
    console.print(table)
    console.print(
        f"{setting.processes:,} processes, each knows {setting.view:,}; {spread.runs:,} runs;"
        " mean [95 % interval].",
        highlight=False,
        soft_wrap=True,
    )
