"""``camcast simulate hpmcast``: hierarchical probabilistic multicast (paper 002)."""

from __future__ import annotations

from typing import Annotated, Any, Final, cast

import attrs
import typer
from attrs import frozen

from camcast.cli import options
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.research.cli.simulated import compute, load_figure, print_measures
from camcast.research.cli.system_options import Figure, Workers, probability_option
from camcast.research.models.distributions import REACH
from camcast.research.sweeps import JSON, Cell
from camcast.research.systems.hpmcast.tree_setting import Estimate, HpmcastSetting
from camcast.research.systems.registry import outcome_of, runs_in_cells

RUNS: Final = 100  # chosen: of Figure 7's setting, a reception to ±0.0001 in a second
CELL_PROCESSES: Final = 5_000_000  # chosen: processes in a cell of the sweep, seconds of work
_SHOWN: Final = (
    *("reception", "reach_p5", "reaches_90", "rounds", "messages", "parasites"),
    *("load_sent_p50", "load_sent_peak", "load_sent_delegates"),
    *("load_received_p50", "load_received_peak"),
)
_DEFAULT: Final = HpmcastSetting()


@frozen
class TreeOptions:
    """A regular hierarchy and its weather; the options are the fields of `HpmcastSetting`."""

    arity: Annotated[int, typer.Option(help="a: subsystems of one, processes of a lowest one.")] = (
        _DEFAULT.arity
    )
    depth: Annotated[int, typer.Option(help="l: levels; there are a^l processes.")] = _DEFAULT.depth
    redundancy: Annotated[int, typer.Option(help="R: delegates of a subsystem.")] = (
        _DEFAULT.redundancy
    )
    fan_out: Annotated[int, typer.Option("--fanout", help="F: processes chosen in a round.")] = (
        _DEFAULT.fan_out
    )
    interested: Annotated[
        float, probability_option("p_1: probability that a process is interested.")
    ] = _DEFAULT.interested
    loss: Annotated[float, probability_option("Probability that a copy is lost.")] = (
        _DEFAULT.loss
    )  # [hpmcast 5.3] the captions name none
    crash: Annotated[
        float, probability_option("Probability that a process is dead from the beginning.")
    ] = _DEFAULT.crash  # [hpmcast 5.3] the captions name none
    threshold: Annotated[
        int, typer.Option(help="D: a smaller audience of a view is made so large.")
    ] = _DEFAULT.threshold
    estimate: Annotated[
        Estimate,
        typer.Option(
            help="Rounds from the expected share of interested processes, as in the paper's"
            " figures, or from the one measured in each view, as a live process does."
        ),
    ] = _DEFAULT.estimate


TREE: Final = TreeOptions()


@grouped
def hpmcast(
    tree: TreeOptions = TREE,
    runs: Annotated[int, typer.Option(min=1, help="Events.")] = RUNS,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 1,
    workers: Workers = None,
    figure: Figure = None,
    json: options.Json = False,
) -> None:
    """Simulate hpmcast: an event spreads through a hierarchy, level by level.

    Everybody is interested with the same probability; delegates receive what interests those
    they stand for. Beside the measured means, with 95 % intervals, stands the model of
    docs/research/models.md.
    """
    with clear_failures(ValueError, OSError), extras_named(), load_figure(figure) as draw:
        from camcast.research.systems.hpmcast.tree_model import predict
        from camcast.research.systems.hpmcast.tree_population import reception

        setting = HpmcastSetting(**attrs.asdict(tree))
        described = attrs.asdict(setting)
        most = CELL_PROCESSES // setting.processes
        cells = runs_in_cells({"setting": described}, runs, seed, most)
        outcome = outcome_of(compute(simulate_cell, cells, f"{runs:,} runs", workers))
        measured = outcome.measures() | {"reception": reception(outcome)}
        printed = (*_SHOWN, *REACH, *outcome.loads)
        draw({"": outcome.as_json()}, f"hpmcast, {setting.processes:,} processes, {runs:,} runs")
        model = attrs.asdict(predict(setting))
    if json:
        print_json(
            {
                "setting": described | {"runs": runs, "seed": seed},
                "processes": setting.processes,
                **{name: measured[name].as_json() for name in dict.fromkeys(printed)},
                "view": setting.view,
                "model": model,
            },
            "simulate-hpmcast/1",
        )
    else:
        about = (
            f"{setting.processes:,} processes, each knows {setting.view:,}; {runs:,} runs;"
            " mean [95 % interval]."
        )
        print_measures("", _SHOWN, model, measured, about)


def simulate_cell(cell: Cell) -> JSON:
    """Simulate some runs; the task of the sweep."""
    from camcast.research.systems.hpmcast.tree_population import simulate

    given = cast(Any, cell)
    setting = HpmcastSetting(**given["setting"])
    return simulate(setting, given["runs"], given["seed"], given["first_run"]).counts()
