"""``camcast reproduce``: the tables and figures of a paper, computed again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
import typer
from rich.table import Table as Grid
from rich.text import Text

from camcast.cli import options
from camcast.cli.console import TERMINAL_WIDTH, wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import clear_failures, complain
from camcast.cli.output import print_json, say
from camcast.doors.plugs import find_protocol
from camcast.research.cli.compare import print_verdicts
from camcast.research.cli.wide_table import WideTable
from camcast.research.report.measures import measure_of, repair_in_words
from camcast.research.sweeps import ProgressBar
from camcast.research.systems.registry import find_system

if TYPE_CHECKING:
    from camcast.research.papers.camcast_paper import CamcastReproduction
    from camcast.research.papers.camcast_tables import Entry
    from camcast.research.papers.memberships_paper import Memberships
    from camcast.research.papers.paper import Reproduction
    from camcast.research.papers.plan_folder import PlanFolder
    from camcast.research.population.outcome import Interval

_ITEM: Final = 22  # chosen: characters; room for "cannot be judged", and most items in two lines
ALL: Final = "all"
EXIT_INTERRUPTED: Final = 130  # [shell convention: 128 + SIGINT]


def reproduce(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="PAPER",
            help="camcast (section 6.1), memberships (its section 6.2), damulticast, percolation,"
            " hpmcast; all, one after the other. With --protocol, the one that describes the first"
            " protocol if not given.",
            show_default=False,
        ),
    ] = None,
    protocols: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            metavar="NAME[,NAME...]",
            help="Only what is about these: camcast, broadcast, multicast, hierarchical (of"
            " camcast); rfpbcast, pmcast, hpmcast (of hpmcast); percolation. camcast has rows of"
            " pmcast and hpmcast, too.",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Default: runs/reproduce-<paper>.")
    ] = None,
    runs: Annotated[
        int | None,
        typer.Option(
            help="Experiments a point; default: camcast 4,000 (the paper: 100); memberships 3 live,"
            " and one more of each in the virtual network (the paper: 10, with 5 events);"
            " percolation 20 networks, as the paper; hpmcast 100."
        ),
    ] = None,
    events: Annotated[
        int | None,
        typer.Option(
            help="memberships: events for each run and p_sel; default: 60. percolation: events on"
            " a network; default: 400, as the paper."
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 1,
    workers: Annotated[
        int | None,
        typer.Option("--workers", "-w", min=1, help="Processes that simulate; default: all cores."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="camcast: population (default), chain, or virtual (the shipped node;"
            " 1,000 times slower)."
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="paper",
            help="memberships: p_a, fan-out and SCAMP as printed, without sponsors and"
            " indirection; no batches.",
        ),
    ] = None,
    memberships: Annotated[
        list[str] | None,
        typer.Option(
            "--membership",
            metavar="NAME[,NAME...]",
            help="memberships: those to compare, in both worlds; may be repeated. Default: all that"
            " are installed and that CAMCAST runs on, live those of the paper.",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Compute the tables and figures of a paper again, beside the published and the model's.

    `camcast` simulates section 6.1. `memberships` measures section 6.2, the memberships side by
    side: live those of the paper, and in the virtual network all; 17 minutes on two cores, some
    five for each of --runs. `damulticast` is section 6 of
    the paper before, `percolation` section V of its paper, percolation gossip, and `hpmcast`
    section 5, multicast in a hierarchy. The output folder gets index.html, which needs no network,
    everything in it as CSV, JSON, SVG and PNG, and evidence.csv and .json: all that the paper says,
    with ours and a verdict. `all` makes a folder a paper, and one file of evidence of all. A run
    that was stopped continues with the same command, and one with
    another --protocol in the same folder uses what is there. Needs the extras
    camcast[sim,report].
    """
    names = None if protocols is None else [name.strip() for name in protocols.split(",")]
    with clear_failures(ValueError, OSError):
        if what is None:
            if names is None:
                context.fail("Missing argument 'PAPER', or option '--protocol'.")
            find_protocol(names[0])
            what = _paper_of(names[0])
        compared = memberships and [name.strip() for one in memberships for name in one.split(",")]
        given = options.given(
            runs=runs, events=events, engine=engine, preset=preset, memberships=compared
        )
        if what == ALL:
            for name in options.given(**given, protocol=names):
                raise ValueError(f"{_option(name)} is for one paper, not for all")
            _reproduce_all(output or Path("runs") / "reproduce-all", seed, workers, json=json)
            return
        if what not in PRINTERS:
            raise ValueError(f"unknown paper {what!r}; known: {', '.join(PRINTERS)}, {ALL}")
        with extras_named("sim,report"):
            from camcast.research.papers.all_papers import PAPERS
            from camcast.research.papers.paper import choose
            from camcast.research.papers.plan_folder import PlanFolder
        chosen = None if names is None else choose(what, names)
        paper = PAPERS[what]
        for name in given:
            takers = [one.name for one in PAPERS.values() if name in attrs.fields_dict(one.plan)]
            if what not in takers:
                raise ValueError(f"{_option(name)} is for {' and '.join(takers)}, not for {what}")
        selected = {} if chosen is None else {"protocols": chosen}
        path = output or Path("runs") / f"reproduce-{what}"
        folder = PlanFolder(path, paper, paper.plan(seed=seed, **given, **selected))
        found = _with_bar(folder, workers)
        if json:
            print_json(folder.as_json(found) | {"output": str(path)}, "reproduce/1")
        else:
            PRINTERS[what](found)
            say(f"output: {path / 'index.html'}")


def _option(field: str) -> str:
    """Return the option that gives a field of a plan."""
    return "--membership" if field == "memberships" else f"--{field}"


def _reproduce_all(path: Path, seed: int, workers: int | None, *, json: bool) -> None:
    """Reproduce every paper into a folder of its name, and write the evidence of all."""
    with extras_named("sim,report"):
        from camcast.research.papers.all_papers import PAPERS
        from camcast.research.papers.plan_folder import EVIDENCE, PlanFolder
        from camcast.research.report.evidence import Evidence, in_words
        from camcast.research.report.results_folder import ResultsFolder
    evidence: list[Evidence] = []
    rows: list[dict[str, Any]] = []
    whole = ResultsFolder(path)
    folders = [
        PlanFolder(path / name, paper, paper.plan(seed=seed)) for name, paper in PAPERS.items()
    ]
    for folder in folders:
        found = _with_bar(folder, workers)
        evidence += found.evidence
        rows += folder.evidence(found)
        whole.write_rows(EVIDENCE, None, rows)  # of the papers that are done
    if json:
        print_json({"evidence": rows, "output": str(path)}, "reproduce/1")
    else:
        say(in_words(evidence))
        say(f"output: {path / EVIDENCE}.csv")


def _with_bar(folder: PlanFolder[Any, Any], workers: int | None) -> Any:
    """Show how far a reproduction is; an interrupt says how to continue, and exits."""
    done, total = 0, 0

    def show(now_done: int, now_total: int) -> None:
        nonlocal done, total
        done, total = now_done, now_total
        bar.update(done, total)

    try:
        with ProgressBar(f"reproduce {folder.paper.name}") as bar:
            return folder.reproduce(workers, show)
    except KeyboardInterrupt:
        complain(
            f"interrupted; {done} of {total} cells are kept in {folder.path}, and the same command"
            " continues there"
        )
        raise typer.Exit(EXIT_INTERRUPTED) from None


def _print_memberships(found: Memberships) -> None:
    from camcast.research.papers.memberships_measured import COLUMNS, UPKEEP
    from camcast.research.papers.memberships_runs import REPAIR

    print_verdicts(found.verdicts, {}, repair_in_words(REPAIR))
    _print_measures(
        "The memberships side by side",
        (*COLUMNS, "parasites"),
        {f"{row['world']}: {row['name']}": row.__getitem__ for row in found.comparison},
    )
    _print_measures(
        "What they cost", UPKEEP, {cost.name: cost.measures.__getitem__ for cost in found.upkeep}
    )
    _print_evidence(found)


def _print_measures(
    title: str, names: Sequence[str], columns: Mapping[str, Callable[[str], Interval | int]]
) -> None:
    """Print a line for each measure; a column has a heading, and returns its value of a measure."""
    lines = [
        (measure_of(name).column, *(_text(name, value_of(name)) for value_of in columns.values()))
        for name in names
    ]
    _print_titled(title, WideTable([""], list(columns), lines))


def _print_titled(title: str, table: WideTable | Grid) -> None:
    wide_console(TERMINAL_WIDTH).print(Text(title, "italic"), table, "", highlight=False)


def _text(name: str, value: Interval | int) -> str:
    measure = measure_of(name)
    if isinstance(value, int):
        return measure.text(value)
    return measure.text(value.mean, value.low, value.high)


def _print_evidence(found: Reproduction[Any]) -> None:
    """Print what the paper says and what was found; drawings, which have no data, are left out."""
    from camcast.research.report.evidence import NO_DATA, in_words

    grid = Grid(box=None, pad_edge=False, show_header=False)
    grid.add_column(overflow="fold", max_width=_ITEM)
    grid.add_column()
    grid.add_column(overflow="fold")
    for row in found.evidence:
        if not row.found.startswith(NO_DATA):
            grid.add_row(Text(row.item), "paper:", Text(row.quote))
            grid.add_row(Text(row.verdict, "bold"), "found:", Text(row.found))
            if row.whose is not None:
                grid.add_row("", "whose:", Text(f"{row.whose}. {row.shown}"))
    _print_titled("What the paper says, and what was found", grid)
    wide_console(TERMINAL_WIDTH).print(in_words(found.evidence), highlight=False)


def _print_tables(reproduction: CamcastReproduction) -> None:
    for table in reproduction.tables:
        topologies = list(dict.fromkeys(entry.topology for entry in table.entries))
        lines = [
            (approach, how, *map(_published if approach else _mean_and_half, entries))
            for approach, how, entries in table.lines
        ]
        _print_titled(
            f"Table {table.number}. {table.title}", WideTable(["", ""], topologies, lines)
        )


def _published(entry: Entry) -> str:
    return "-" if entry.published is None else f"{entry.published:,g}"


def _mean_and_half(entry: Entry) -> str:
    """Return an entry's mean with half of its interval."""
    shown = "-" if entry.mean is None else f"{entry.mean:,.2f}"
    if entry.low is not None and entry.high is not None:
        shown += f" ±{(entry.high - entry.low) / 2:.2f}"
    return shown


PRINTERS: Final[Mapping[str, Callable[[Any], None]]] = {
    "camcast": _print_tables,
    "damulticast": _print_tables,
    "memberships": _print_memberships,
    "percolation": _print_evidence,
    "hpmcast": _print_evidence,
}
"""By paper, what prints for a person what was found of it."""


def _paper_of(protocol: str) -> str:
    """Return the paper that describes a protocol."""
    papers = find_system(protocol).papers
    if not papers:
        raise ValueError(f"no paper is about {protocol}; known papers: {', '.join(PRINTERS)}")
    return papers[0]
