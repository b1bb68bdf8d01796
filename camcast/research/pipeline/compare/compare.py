"""A comparison from beginning to end: what is read, what is compared, and against what."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import frozen

from camcast.research.pipeline.compare.comparison import pairs_of, rows_of, varying
from camcast.research.pipeline.compare.engine import Engine
from camcast.research.pipeline.compare.findings import Findings
from camcast.research.pipeline.compare.inputs import Inputs, read_inputs
from camcast.research.pipeline.compare.notes import (
    machine_notes,
    repair_notes,
    shared_notes,
    unpaired_notes,
)
from camcast.research.pipeline.compare.regressions import THRESHOLD, changes_of
from camcast.research.pipeline.ingest.benchmark_names import shown_names
from camcast.research.pipeline.measured import Measured
from camcast.research.report.measures import Better
from camcast.vocabulary.errors import CamcastError

_QUARANTINE_GROUPS_MAX: Final = 1000  # chosen: files and reasons; the table has every record


class BaselineError(CamcastError, ValueError):
    """There is nothing to compare against; the message says what there is."""


class DirectionError(CamcastError, ValueError):
    """A direction is said of something else than a benchmark's number; the message names it."""


@frozen(kw_only=True)
class Question:
    """The question that a comparison answers."""

    paths: tuple[Path, ...]
    """Run folders, folders of them, and benchmark files."""
    against: tuple[str, ...] = ()
    """The baseline: a version of what is in `paths`, or paths of its own; empty: none."""
    threshold: float = attrs.field(default=THRESHOLD, validator=attrs.validators.ge(0))
    """How much worse is a regression, as a share of the baseline."""
    better: Mapping[str, Better] = attrs.field(factory=dict)
    """Which way is better of benchmarks' numbers that are not ours, by their names."""
    engine: str = ""
    """The engine and the reason for it, in words, for the report."""
    command: str = ""
    """The command that asked it, for the report."""


@frozen
class Compared:
    """The answer, and what it is computed from."""

    findings: Findings
    measures: list[tuple[Measured, bool]]
    """The measures of each run, and whether it is of the baseline."""
    quarantine: Any
    """The lines that could not be read, as the engine has them; None: there are none."""


def compare(engine: Engine, question: Question) -> Compared:
    """Read and compare; raises `NothingReadError` and `BaselineError`."""
    inputs = read_inputs(engine, question.paths)
    now, before = inputs.measures, tuple[Measured, ...]()
    quarantine, problems, sources = inputs.quarantine, inputs.problems, inputs.sources
    notes, judged = [*inputs.notes], inputs.judged
    baseline = ", ".join(question.against)
    if question.against and all(Path(text).exists() for text in question.against):
        base = read_inputs(engine, [Path(text) for text in question.against], baseline=True)
        before = base.measures
        if quarantine is None or base.quarantine is None:
            quarantine = quarantine or base.quarantine
        else:
            quarantine = engine.united([quarantine, base.quarantine])
        problems, sources = problems + base.problems, sources + base.sources
        notes += [*base.notes, *shared_notes(inputs.seen, base.seen)]
        judged = judged and base.judged
    elif question.against:
        version = _version(question.against, inputs)
        now = tuple(one for one in inputs.measures if one.version != version)
        before = tuple(one for one in inputs.measures if one.version == version)
        sources = tuple(
            attrs.evolve(source, baseline=source.version == version) for source in sources
        )
        baseline = f"version {version}"
    names = shown_names(one.benchmark for one in (*now, *before) if one.benchmark)
    now, before = (tuple(_shown(one, names) for one in side) for side in (now, before))
    _check_better(question.better, (*now, *before))
    setting = varying(now, before, versions=not question.against)
    rows = rows_of(now, setting, question.better)
    changes = None
    unlike = [*repair_notes(sources)]
    notes += [*unlike, *machine_notes(sources)]
    if question.against:
        rows_before = rows_of(before, setting, question.better)
        changes = tuple(changes_of(rows, rows_before, question.threshold, judged=judged))
        if not changes:
            raise BaselineError(
                f"nothing that was measured was measured in {baseline} too, with the same backend,"
                f" protocol, community, p_sel and parameters{''.join(f'; {one}' for one in unlike)}"
            )
        notes += unpaired_notes(rows, rows_before)
    measures = [(one, False) for one in now] + [(one, True) for one in before]
    findings = Findings(
        command=question.command,
        sources=sources,
        rows=tuple(rows),
        pairs=tuple(pairs_of(rows)),
        changes=changes,
        baseline=baseline,
        threshold=question.threshold,
        problems=problems,
        notes=tuple(notes),
        quarantine=(
            () if quarantine is None else engine.summed(quarantine, _QUARANTINE_GROUPS_MAX)
        ),
        engine=question.engine,
        judged=judged,
    )
    return Compared(findings, measures, quarantine)


def _shown(one: Measured, names: Mapping[str, str]) -> Measured:
    """Return a benchmark's measure under the name that is shown."""
    if not one.benchmark:
        return one
    number = one.metric.removeprefix(one.benchmark)
    name = names[one.benchmark]
    return one._replace(benchmark=name, metric=f"{name}{number}")


def _check_better(better: Mapping[str, Better], measures: Iterable[Measured]) -> None:
    """Raise `DirectionError` where a direction is said of something that was not measured."""
    known: set[str] = set()
    for one in measures:
        if one.benchmark:
            known |= {one.metric, one.metric.removeprefix(f"{one.benchmark}.")}
    for name in better:
        if name not in known:
            raise DirectionError(
                f"--better says which way is better of {name!r}, and no benchmark has such a number"
            )


def _version(against: Sequence[str], inputs: Inputs) -> str:
    """Return the version that is the baseline; raises `BaselineError`."""
    if len(against) > 1:
        missing = next(text for text in against if not Path(text).exists())
        raise BaselineError(f"--against {missing} does not exist")
    known = sorted({source.version for source in inputs.sources})
    if against[0] not in known:
        raise BaselineError(
            f"--against {against[0]} is neither a path nor a version of what was given:"
            f" {', '.join(known)}"
        )
    if len(known) == 1:
        raise BaselineError(f"everything that was given is of version {known[0]}: nothing is new")
    return against[0]
