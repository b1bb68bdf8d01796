"""``camcast compare``: backends and protocols, compared from runs and benchmarks."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.table import Table as Grid
from rich.text import Text
from typing_extensions import override

from camcast.cli import options
from camcast.cli.console import TERMINAL_WIDTH, wide_console
from camcast.cli.extras import extras_named
from camcast.cli.failure import EXIT_USAGE, clear_failures, complain, remark
from camcast.cli.output import print_json, say
from camcast.cli.strict_command import Command
from camcast.doors.options import OptionError
from camcast.research.cli.spark_options import Conf, Master, conf_of
from camcast.research.report.measures import Better
from camcast.research.runs.run_folder import dated_folder
from camcast.research.sweeps import ProgressBar
from camcast.research.sweeps.sigterm import sigterm_stops

if TYPE_CHECKING:
    from camcast.research.pipeline.compare.compare import Question
    from camcast.research.pipeline.compare.comparison import Row
    from camcast.research.pipeline.compare.engine import Choice, Engine
    from camcast.research.pipeline.compare.findings import Findings
    from camcast.research.pipeline.compare.verdict import Verdict

EXIT_REGRESSED: Final = 3
"""Something became worse; beside 1 (failed) and 2 (wrong input) of `camcast.cli.failure`."""
_LABEL: Final = 27  # chosen: characters; what a measure is called, mostly in one line
_COLUMN: Final = 17  # chosen: characters; an interval, so that three stand beside each other
_PROBLEMS_MAX: Final = 20  # chosen: a screen; the page has all
_REGRESSIONS_MAX: Final = 20  # chosen: likewise
_LIGHT_BYTES: Final = 200_000_000  # measured: from 250 MB on a heavier driver is faster
_DIRECTIONS: Final[dict[str, Better]] = {"lower": "less", "higher": "more"}
_STEPS: Final = 4  # reading, comparing, writing the tables, drawing


def compare(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="RUN|BENCH.json…",
            help="Output folders of runs, files of pytest --benchmark-json, folders of both.",
        ),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Where the report goes; default: runs/compare-<date>; with --json: nowhere.",
        ),
    ] = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            metavar="VERSION|PATH",
            help="The baseline: a version among what is given, or runs and files. Repeatable.",
        ),
    ] = None,
    threshold: Annotated[
        float, typer.Option(min=0, help="A regression is worse by more than this share.")
    ] = 0.05,
    better: Annotated[
        list[str] | None,
        typer.Option(
            metavar="lower|higher NAME",
            help="Which way is better of a number of benchmarks that are not ours. Repeatable.",
        ),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="spark|local",
            help="What reads the traces; default: this process up to 1 GB of traces, else Spark.",
        ),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    json: options.Json = False,
) -> None:
    """Compare backends and protocols over any number of runs and benchmark files.

    Says what to choose for what, and how sure that is; means with 95 % intervals, differences with
    their effect size and significance, and with --against what became worse since. The output
    folder gets index.html, which needs no network, and everything in it as CSV, Parquet, SVG and
    PNG. What cannot be read is named, and the rest is compared. Exit code 0: all is well; 1: it
    failed, e.g. no Spark there; 2: wrong input, of which part may have been compared; 3: something
    regressed. Needs the extras camcast[spark,report,sim]; Java is found, or comes with them.
    """
    with clear_failures(ValueError, RuntimeError, OSError):
        if not any(path.exists() for path in paths):  # said without waiting for Spark
            raise ValueError("; ".join(f"{path} does not exist" for path in paths))
        settings = conf_of(conf)
        with sigterm_stops(), ProgressBar("compare") as bar:
            with extras_named("spark,report,sim"):
                from camcast.research.pipeline.compare.compare import Question
                from camcast.research.pipeline.compare.engine import chosen_engine
                from camcast.research.pipeline.compare.inputs import trace_bytes
            given = [*paths, *(Path(text) for text in against or ())]
            size = trace_bytes(given)
            choice = chosen_engine(engine, size, cluster=bool(master or settings))
            bar.update(0, _STEPS, "starting Spark" if choice.name == "spark" else "starting")
            question = Question(
                engine=choice.in_words,
                paths=tuple(paths),
                against=tuple(against or ()),
                threshold=threshold,
                better=_directions(better or ()),
                command=shlex.join(["camcast", *sys.argv[1:]]),
            )
            engines = _engines(choice, master, settings, light=size <= _LIGHT_BYTES)
            kept = output is not None or not json
            findings, place = _carry_out(question, output, engines, bar, keep=kept)
        if json:
            print_json([row.as_json() for row in findings.rows], "compare/1")
        else:
            _print(findings)
            say(f"output: {place / 'index.html' if place else '-'}")
    for note in findings.notes:
        remark(note)
    for problem in findings.problems[:_PROBLEMS_MAX]:
        complain(problem)
    if (more := len(findings.problems) - _PROBLEMS_MAX) > 0:
        complain(f"and {more} more problems")
    if findings.regressions:
        complain(f"{len(findings.regressions)} regressed against {findings.baseline}")
        raise typer.Exit(EXIT_REGRESSED)
    if findings.problems:
        raise typer.Exit(EXIT_USAGE)


class CompareCommand(Command):
    """Takes ``--better lower NAME`` in two words, which typer has not for what may be repeated."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words."""
        joined: list[str] = []
        words = iter(args)
        for word in words:
            joined.append(word)
            if word == "--better":
                joined.append("=".join(islice(words, 2)))
        return super().parse_args(ctx, joined)


def _directions(given: Iterable[str]) -> dict[str, Better]:
    """Read --better; raises `OptionError`."""
    directions: dict[str, Better] = {}
    for text in given:
        word, _, name = text.partition("=")
        if word not in _DIRECTIONS or not name:
            raise OptionError(f"--better takes lower or higher, and a name; {text!r} is not that")
        if directions.setdefault(name, _DIRECTIONS[word]) != _DIRECTIONS[word]:
            raise OptionError(f"--better says that both are, lower and higher, of {name}")
    return directions


@contextmanager
def _engines(
    choice: Choice, master: str | None, conf: dict[str, str], *, light: bool
) -> Iterator[Engine]:
    if choice.name == "local":
        from camcast.research.pipeline.compare.local_engine import LocalEngine

        yield LocalEngine()
        return
    from camcast.research.pipeline.compare.spark_engine import SparkEngine
    from camcast.research.pipeline.spark.session import open_spark

    with open_spark("camcast compare", master=master, conf=conf, light=light) as spark:
        yield SparkEngine(spark)


def _carry_out(
    question: Question,
    output: Path | None,
    engines: AbstractContextManager[Engine],
    bar: ProgressBar,
    *,
    keep: bool,
) -> tuple[Findings, Path | None]:
    """Compare, and write the report to `output` or a new folder if it is to be kept."""
    from camcast.research.pipeline.compare.compare import compare as compare_runs
    from camcast.research.pipeline.compare.inputs import check_inputs

    baseline = [Path(text) for text in question.against]
    check_inputs(question.paths)
    if baseline and all(path.exists() for path in baseline):  # it is no version
        check_inputs(baseline)
    folder = place = None
    if keep:
        with extras_named("spark,report,sim"):
            from camcast.research.pipeline.compare.comparison_folder import ReportFolder
            from camcast.research.report.drawing import warm_up
        place = output or dated_folder("compare")
        folder = ReportFolder(
            place, made=output is None
        )  # a wrong folder is refused before anything is computed
        Thread(target=warm_up, daemon=True).start()  # while this process waits for Spark
    try:
        with engines as engine:
            bar.update(1, _STEPS, "reading and measuring")
            compared = compare_runs(engine, question)
            bar.update(2, _STEPS, "writing tables")
            if folder is not None:
                folder.write_quarantine(engine, compared.quarantine)
        bar.update(3, _STEPS, "drawing")
        if folder is not None:
            folder.write_measures(compared.measures, question.better)
            folder.write_tables(compared.findings)
            folder.write_report(compared.findings)
    finally:
        if folder is not None:
            folder.discard()
    bar.update(_STEPS, _STEPS, "compared")
    return compared.findings, place


def print_verdicts(verdicts: Sequence[Verdict], legend: Mapping[str, str], repair: str) -> None:
    """Print what to choose, and of each question a sentence; or a line, where these are many.

    `repair` is said of all runs (`Findings.repair_in_words`).
    """
    from camcast.research.pipeline.compare.verdict_words import table, told

    console = wide_console(TERMINAL_WIDTH)
    chosen, sentences = told(verdicts, repair)
    console.print(Text(chosen, "bold"), highlight=False)
    if sentences:
        listed = Grid(box=None, pad_edge=False, show_header=False)
        for text in sentences:
            listed.add_row("-", Text(text))
    else:
        heads, lines = table(verdicts)
        listed = Grid(*heads, box=None, pad_edge=False)
        for line in lines:
            listed.add_row(*map(Text, line))
    console.print(listed, "", highlight=False)
    if legend:
        meanings = Grid(box=None, pad_edge=False, show_header=False)
        for short, meaning in legend.items():
            meanings.add_row(Text(short, "bold"), Text(meaning))
        console.print(meanings, "", highlight=False)


def _print(findings: Findings) -> None:
    """Print the verdict, and the means in as many columns as there is room for."""
    from camcast.research.pipeline.compare.regressions import DIRECTION_UNKNOWN
    from camcast.research.pipeline.compare.words import (
        amount,
        at_a_glance,
        change_in_words,
        line_of_measure,
        pivot,
        reach_and_over,
    )

    def cell(row: Row | None) -> str:
        if row is None:
            return ""
        over = reach_and_over(row, findings.taken_over(row))
        return f"{amount(row.sample.mean, row.measure)}\n{over}"

    console = wide_console(TERMINAL_WIDTH)
    labels = findings.labels
    if unjudged := findings.unjudged_in_words:
        console.print(Text(unjudged, "bold"), "", highlight=False)
    if verdicts := findings.verdicts:
        print_verdicts(verdicts, labels.legend, findings.repair_in_words)
    elif repair := findings.repair_in_words:  # else the verdict says it, or the names
        console.print(f"all runs are {repair}", "", highlight=False)
    for rows in at_a_glance(findings.rows):
        columns, lines = pivot(rows, labels.names, line_of_measure)
        room = max(1, (console.width - _LABEL) // _COLUMN)
        for first in range(0, len(columns), room):
            grid = Grid(box=None, pad_edge=False)
            grid.add_column("", overflow="fold", max_width=_LABEL)
            for name in columns[first : first + room]:
                grid.add_column(Text(name), justify="right", overflow="fold")
            for words, cells in lines:
                shown = map(cell, cells[first : first + room])
                grid.add_row(*map(Text, ("\n".join(filter(None, words)), *shown)))
            console.print(grid, "", highlight=False)
    if findings.changes is not None:
        worse = findings.regressions
        nothing = "nothing" if findings.judged else "nothing that can be judged"
        lines_ = [f"against {findings.baseline}: {len(worse) or nothing} regressed"]
        lines_ += [f"  {change_in_words(change)}" for change in worse[:_REGRESSIONS_MAX]]
        if unknown := [c for c in findings.changes if c.verdict == DIRECTION_UNKNOWN]:
            numbers = ", ".join(dict.fromkeys(change.now.measure.number for change in unknown))
            lines_.append(f"  {len(unknown)} changed, direction unknown: {numbers}")
            lines_.append("  --better lower NAME, or higher, says which way is better")
        console.print(*lines_, "", sep="\n", highlight=False, markup=False)
