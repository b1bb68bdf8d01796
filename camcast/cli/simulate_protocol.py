"""``camcast simulate population --protocol``: a system beside its model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
from rich.table import Table

from camcast.cli.compared_protocol import MEASURES, find_compared
from camcast.cli.output import print_json, wide_console
from camcast.sweeps import ProgressBar, sweep

if TYPE_CHECKING:  # numpy is an extra
    from camcast.population.event_spread import EventSpread
    from camcast.settings.setting import Setting

_TABLE_WIDTH: Final = 100  # chosen: a pipe has no width


def simulate_protocol(
    protocol: str,
    chosen: Setting,
    given: Mapping[str, object],
    runs: int,
    seed: int,
    workers: int | None,
    results: Path | None,
    *,
    json: bool,
) -> None:
    """Simulate a system on a setting's processes and print it.

    Raises `SweepError`, and as `find_compared` and its system do; but if only the model does not
    take the setting, that is said in its place.
    """
    from camcast.population.event_simulators import SIMULATORS, cells, joined, simulate_cell
    from camcast.settings.setting import SettingError

    compared = find_compared(protocol)
    setting = compared.setting(protocol, chosen, given)
    SIMULATORS[protocol].simulate(setting, 0, seed, 0)  # what is wrong with it is said here
    parts = cells(protocol, setting, runs, seed)
    here = len(parts) == 1  # not worth a second process, which would compile first
    with ProgressBar(f"{runs:,} runs") as bar:
        done: Any = sweep(
            simulate_cell,
            parts,
            results=results,
            workers=1 if here else workers,
            on_progress=bar.update,
        )
    spread, model, why_none = joined(protocol, done), None, ""
    try:
        model = compared.predict(setting)
    except SettingError as error:
        why_none = f" No model: {error}."
    if json:
        figures: dict[str, Any] = {
            "simulator": "population",
            "protocol": protocol,
            "setting": attrs.asdict(setting),
            "runs": spread.runs,
        }
        print_json(figures | spread.as_json() | {"model": model})
    else:
        _print(protocol, spread, model or {}, compared.taking_part(setting) + "." + why_none)


def _print(protocol: str, spread: EventSpread, model: Mapping[str, Any], who: str) -> None:
    table = Table(box=None, pad_edge=False)
    table.add_column(protocol, no_wrap=True)
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("model", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    measured = spread.as_json()
    for name, (form, meaning) in MEASURES.items():
        if name not in measured:
            continue
        figures, told = measured[name], model.get(name)
        text = format(figures["mean"], form)
        if figures["low"] is not None:
            text += f" [{figures['low']:{form}}, {figures['high']:{form}}]"
        table.add_row(name, text, "" if told is None else format(told, form), meaning)
    console = wide_console(_TABLE_WIDTH)
    console.print(table)
    console.print(
        f"{who} {spread.runs:,} runs; mean [95 % interval].", highlight=False, soft_wrap=True
    )
