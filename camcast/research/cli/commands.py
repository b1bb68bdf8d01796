"""The commands of research, which ``camcast`` finds by name (`camcast.research.shipped`)."""

from __future__ import annotations

from typing import Final

import typer

from camcast.cli.command_group import add_command
from camcast.cli.extras import missing_extras
from camcast.cli.strict_command import Command
from camcast.research.cli.compare import CompareCommand, compare
from camcast.research.cli.compare_protocols import compare_protocols
from camcast.research.cli.demo import demo
from camcast.research.cli.model import model
from camcast.research.cli.plan import plan
from camcast.research.cli.reproduce import reproduce
from camcast.research.cli.run import run
from camcast.research.cli.simulate import simulate
from camcast.research.cli.sweep import sweep
from camcast.research.cli.watch import watch

commands: Final = typer.Typer(rich_markup_mode=None)
"""The commands, in the order of the help."""

# Each with the extras that it needs to do anything, and an example.
for _command, _extras, _example in (
    (demo, "", "demo --membership scamp --json"),
    (run, "", "run --scenario paper --p-sel 0.1 --events 200 --rate 50"),
    (simulate, "sim", ""),
    (model, "sim", "model --sizes 1000,100,10 --crash 0.1"),
    (plan, "sim", "plan --sizes 1000,100,10 --reliability 0.95 --check --output p.toml"),
    (compare_protocols, "sim", "compare-protocols --workload departures --events 30"),
    (
        sweep,
        "sim",
        "sweep town.toml --grid links.loss=0,0.05 --grid membership=scamp,dht --engine spark"
        " --output town-sweep",
    ),
    (reproduce, "sim,report", "reproduce camcast --runs 100 --output section6"),
    (
        compare,
        "sim,report,spark",
        "compare runs/scamp-* runs/dht-* bench.json --output report",
    ),
    (watch, "", "watch runs/paper-20260801-120000"),
):
    _missing = missing_extras(_extras)
    _panel = "Research" + (f", after: pip install 'camcast[{_missing}]'" if _missing else "")
    _kind = CompareCommand if _command is compare else Command
    add_command(commands, _command, _example, _panel, _kind)
