"""``camcast simulate population --protocol``: the three baselines beside their model (000, 4.2)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from rich.table import Table

from camcast.cli.baseline_options import MEASURES, baseline_of, taking_part
from camcast.cli.output import print_json, wide_console
from camcast.sweeps import Cell, ProgressBar, sweep

if TYPE_CHECKING:  # numpy is an extra
    from camcast.simulation.baselines import BaselineSpread
    from camcast.simulation.baselines_setting import Baseline, Protocol
    from camcast.simulation.setting import Setting

CELL_PROCESSES: Final = 5_000_000  # chosen: processes in a cell of the sweep, some seconds
_TABLE_WIDTH: Final = 100  # chosen: a pipe has no width


def simulate_baseline(
    protocol: Protocol,
    chosen: Setting,
    given: Mapping[str, object],
    runs: int,
    seed: int,
    workers: int | None,
    results: Path | None,
    *,
    json: bool,
) -> None:
    """Simulate a baseline on a setting's processes and print it.

    Raises `SweepError`, `SettingError`, and `OptionError` for what --protocol-set gives.
    """
    from camcast.models.baselines import predict_baseline
    from camcast.simulation.baselines import join, simulate, simulate_cell

    setting = baseline_of(protocol, chosen, given)
    simulate(setting, 0, seed)  # what is wrong with the setting is said here
    size = max(1, CELL_PROCESSES // setting.processes)
    cells: list[Cell] = [
        {
            "setting": attrs.asdict(setting),
            "runs": min(size, runs - first),
            "seed": seed,
            "first_run": first,
        }
        for first in range(0, runs, size)
    ]
    here = len(cells) == 1  # not worth a second process, which would compile first
    with ProgressBar(f"{runs:,} runs") as bar:
        done: Any = sweep(
            simulate_cell,
            cells,
            results=results,
            workers=1 if here else workers,
            on_progress=bar.update,
        )
    spread, model = join(done), attrs.asdict(predict_baseline(setting))
    if json:
        figures: dict[str, Any] = {
            "simulator": "population",
            "setting": attrs.asdict(setting),
            "runs": spread.runs,
        }
        print_json(figures | spread.as_json() | {"model": model})
    else:
        _print(setting, spread, model)


def _print(setting: Baseline, spread: BaselineSpread, model: Mapping[str, float | None]) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(setting.protocol, no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("model", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    measured = spread.as_json()
    for name, (form, meaning) in MEASURES.items():
        figures, told = measured[name], model[name]
        text = format(figures["mean"], form)
        if figures["low"] is not None:
            text += f" [{figures['low']:{form}}, {figures['high']:{form}}]"
        table.add_row(name, text, "" if told is None else format(told, form), meaning)
    console = wide_console(_TABLE_WIDTH)
    console.print(table)
    console.print(
        f"{taking_part(setting)}; {spread.runs:,} runs; mean [95 % interval].",
        highlight=False,
        soft_wrap=True,
    )
