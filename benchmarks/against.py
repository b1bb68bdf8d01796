"""`python benchmarks/against.py COMMIT`: this checkout and another commit do the same jobs in turn.

The other commit is checked out and installed under build/, with nothing but its packages and entry
points. The harness is this checkout's for both, and each visit has a fleet of its own, so that
neither stands in the other's way. Trust the ratios: each is one of two visits in a row, by the same
transport where the other commit knows it.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from attrs import frozen
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
WIDTH = 150  # of a table that goes into a file

FLEET_NODES = 50  # chosen: the fleet of the other live benchmarks
RUN_NODES = 1000  # likewise, in two communities
RUN = "run --community .={half} --community .a={half} --processes 2 --events 50 --rate 5 --json"

Figures = dict[tuple[str, str], float]
"""By job and name, the median of a visit's rounds."""


@frozen
class Subject:
    """What is measured: a package on a path, with a transport (None: the one it has)."""

    name: str
    path: Path
    transport: str | None = None

    def ask(self, *command: str) -> Any:
        """Run Python with this package, and return what it prints, which is JSON."""
        done = subprocess.run(
            [sys.executable, *command],
            cwd=self.path,  # which `-m` puts before PYTHONPATH
            env={**os.environ, "PYTHONPATH": str(self.path)},
            stdout=subprocess.PIPE,
            check=True,
        )
        return json.loads(done.stdout)


def main(
    commit: Annotated[str, typer.Argument(help="Compare with this one.")],
    nodes: Annotated[
        int | None, typer.Option(min=10, help="Of each fleet (50), or of the run (1,000).")
    ] = None,
    visits: Annotated[int, typer.Option(min=1, help="Of every subject, in turn.")] = 3,
    transports: Annotated[str, typer.Option(help="Of this checkout.")] = "zmtp,tcp,zmq",
    run: Annotated[
        bool, typer.Option("--run", help="In place of a fleet, `camcast run`: two communities.")
    ] = False,
) -> None:
    """Measure this checkout and COMMIT by turns, and print both with their ratios.

    Example: python benchmarks/against.py f88a4fb --nodes 100 --transports zmtp
    """
    theirs, count = installed(commit), nodes or (RUN_NODES if run else FLEET_NODES)
    measure = partial(measure_run if run else measure_fleet, count)
    pairs: list[tuple[Subject, Subject]] = []
    for name in transports.split(","):
        same = name if (theirs / "camcast/live/transports.py").exists() else None
        pairs.append((Subject(commit, theirs, same), Subject(name, ROOT, name)))
    measured: list[tuple[list[Figures], list[Figures]]] = [([], []) for _ in pairs]
    for _ in range(visits):
        for pair, figures in zip(pairs, measured, strict=True):
            for subject, visited in zip(pair, figures, strict=True):
                visited.append(measure(subject))
    title = f"camcast run, {count} nodes" if run else f"{count} nodes, 256 B"
    console = Console(width=None if sys.stdout.isatty() else WIDTH)
    console.print(comparison(title, pairs, measured))


def installed(commit: str) -> Path:
    """Return where the packages of a commit are, installed if they were not yet."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", f"{commit}^{{commit}}"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    target = ROOT / "build" / "against" / found.stdout.strip()
    if not target.exists():
        with tempfile.TemporaryDirectory() as folder:
            source, made = Path(folder, "source"), Path(folder, "made")
            archive = Path(folder, "source.tar")
            _run("git", "archive", f"--output={archive}", commit)
            source.mkdir()
            _run("tar", "-xf", str(archive), "-C", str(source))
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps")
            _run(*pip, "--target", str(made), str(source))
            target.parent.mkdir(parents=True, exist_ok=True)
            _run("mv", str(made), str(target))  # only what is complete is used again
    return target


def _run(*command: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True)


def fleet_figures(jobs: Mapping[str, Sequence[Mapping[str, float]]]) -> Figures:
    """Return the medians of a visit's rounds; of what was missed, the sum."""
    return {
        (job, name): (sum if name == "missed" else statistics.median)(
            [figures[name] for figures in rounds]
        )
        for job, rounds in jobs.items()
        for name in rounds[0]
    }


def measure_fleet(nodes: int, subject: Subject) -> Figures:
    """Return the figures of a fleet that does all jobs."""
    chosen = [subject.transport] if subject.transport else []
    return fleet_figures(
        subject.ask(str(ROOT / "benchmarks/against_visit.py"), str(nodes), *chosen)
    )


def measure_run(nodes: int, subject: Subject) -> Figures:
    """Return the figures of the root's members in a run of live processes."""
    chosen = ["--transport", subject.transport] if subject.transport else []
    with tempfile.TemporaryDirectory() as folder:
        summary = subject.ask(
            *("-m", "camcast", *RUN.format(half=nodes // 2).split(), *chosen),
            *("--output", str(Path(folder, "run"))),
        )
    root = next(community for community in summary["communities"] if community["topic"] == ".")
    return {
        ("root", "p50 ms"): root["latency_ms_p50"],
        ("root", "p99 ms"): root["latency_ms_p99"],
        ("root", "missed"): root["lost"],
        ("all", "seconds"): sum(summary["seconds"].values()),
    }


def comparison(
    title: str,
    pairs: Sequence[tuple[Subject, Subject]],
    measured: Sequence[tuple[list[Figures], list[Figures]]],
) -> Table:
    """Return medians of the visits with their spread, and the ratios of visits in a row."""
    visits = len(measured[0][0])
    table = Table(title=f"{title}: median (lowest to highest of {visits} visits)")
    for column in ("", "", *(name for a, b in pairs for name in (a.name, b.name, "ratio"))):
        table.add_column(column)
    for job, figure in measured[0][0][0]:
        cells = [job, figure]
        for before, now in measured:
            theirs, ours = ([one[job, figure] for one in side] for side in (before, now))
            ratios = [a / b for a, b in zip(ours, theirs, strict=True) if b]
            cells += [_spread(theirs), _spread(ours), _spread(ratios) if ratios else ""]
        table.add_row(*cells)
    return table


def _spread(values: list[float]) -> str:
    middle = _shown(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({_shown(min(values))}-{_shown(max(values))})"


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.3g}"


if __name__ == "__main__":
    typer.run(main)
