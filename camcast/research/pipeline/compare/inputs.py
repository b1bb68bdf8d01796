"""The inputs of a comparison: run folders, folders of them, and benchmark files, as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
from attrs import frozen

from camcast.research.pipeline.compare.engine import Engine, EngineRuns, UnreadFile
from camcast.research.pipeline.compare.findings import Source
from camcast.research.pipeline.compare.given_paths import given_in
from camcast.research.pipeline.ingest.bench_files import read_bench_files
from camcast.research.pipeline.ingest.run_to_read import RunFolderError, read_run_folder
from camcast.research.pipeline.ingest.whole_runs import whole_runs
from camcast.research.pipeline.measured import Measured
from camcast.research.report.measures import MEASURES
from camcast.research.runs.run_folder import SCENARIO_FILE, read_json
from camcast.vocabulary.errors import CamcastError

_PARQUET_SMALLER: Final = 20  # measured: 3 MB have what 60 MB of JSON lines say


class NothingReadError(CamcastError, ValueError):
    """Not one run or benchmark could be read; the message says why, of each."""


@frozen
class Inputs:
    """The runs and benchmarks that were read."""

    measures: tuple[Measured, ...]
    quarantine: Any
    """In the engine's own form; None: there is nothing in it."""
    problems: tuple[str, ...]
    notes: tuple[str, ...]
    judged: bool
    """Whether all runs can be judged (`WholeRuns.judged`)."""
    sources: tuple[Source, ...]
    seen: Mapping[str, str]
    """The runs by their place, and the files by each benchmark in them."""


def read_inputs(engine: Engine, paths: Sequence[Path], *, baseline: bool = False) -> Inputs:
    """Read whatever can be read; raises `NothingReadError` if that is nothing at all.

    A folder is a run's, or has runs and files in it; a file is one of pytest-benchmark.
    """
    given = given_in(paths)
    problems, files = [*given.problems], given.files
    measured: list[Measured] = []
    wrong: list[Any] = []
    sources: list[Source] = []
    whole = whole_runs(given.folders)
    seen = {str(folder.resolve()): str(folder) for folder in whole.folders}
    problems += whole.problems
    if whole.folders:
        try:
            runs = engine.read(whole.folders)
        except RunFolderError as error:
            problems.append(str(error))
        else:
            measured += _with_surroundings(runs)
            # Its lines are numbered when it is read, through all traces.
            if any(run.quarantined for run in runs.runs):
                wrong.append(runs.quarantine)
            problems += [*runs.problems, *_times_below_zero(runs.measures)]
            sources += _run_sources(runs, baseline)
    if files:
        benches = read_bench_files(files)
        unread: list[UnreadFile] = [(file, file, None, why, None) for file, why in benches.problems]
        measured += benches.measures
        seen |= benches.seen
        if unread:
            wrong.append(engine.unread(unread))
        problems += [f"{file}: {why}" for file, why in benches.problems]
        sources += (
            Source(kind="benchmarks", baseline=baseline, repair=None, **said)
            for said in benches.sources
        )
    if not sources:
        raise NothingReadError("; ".join(problems))
    return Inputs(
        measures=tuple(measured),
        quarantine=engine.united(wrong) if wrong else None,
        problems=tuple(problems),
        notes=tuple(whole.notes),
        judged=whole.judged,
        sources=tuple(sources),
        seen=seen,
    )


def _times_below_zero(measures: Iterable[Measured]) -> Iterator[str]:
    """Name runs of which a time is below zero, as if events came before their publication."""
    named: dict[str, None] = {}
    for one in measures:
        measure = MEASURES.get(one.metric)
        if measure is None or measure.unit not in ("ms", "s") or one.run in named:
            continue
        if one.value is not None and one.value < 0:
            named[one.run] = None
            yield (
                f"{one.run}: {measure.title} is {measure.text(one.value)} {measure.unit}, below"
                " zero: the clocks of its processes differ, or its trace was changed"
            )


def check_inputs(paths: Sequence[Path]) -> None:
    """Raise `NothingReadError` where `read_inputs` would, without Spark, which starts slowly."""
    given = given_in(paths)
    problems = [*given.problems]
    for folder in given.folders:
        whole = whole_runs([folder])
        problems += whole.problems
        try:
            for path in whole.folders:
                read_run_folder(path)
                return
        except RunFolderError as error:
            problems.append(str(error))
    benches = read_bench_files(given.files)
    if not benches.sources:
        problems += [f"{file}: {why}" for file, why in benches.problems]
        raise NothingReadError("; ".join(problems))


def trace_bytes(paths: Sequence[Path]) -> int:
    """Return how large the traces are, as JSON lines."""
    sizes = (
        file.stat().st_size * (_PARQUET_SMALLER if file.suffix == ".parquet" else 1)
        for folder in given_in(paths).folders
        for file in folder.glob("trace-*")
    )
    return sum(sizes)


def _with_surroundings(runs: EngineRuns) -> Iterator[Measured]:
    """Add to the parameters what else runs may differ in: the world, and the communities' sizes.

    A live run and a virtual one are not repetitions of each other.
    """
    around = {}
    for run in (read.folder for read in runs.runs if read.records):
        sizes = " ".join(f"{name}:{size}" for name, size in sorted(run.communities.items()))
        around[run.run] = run.parameters | {"world": run.world, "communities": sizes}
    for one in runs.measures:
        if one.run in around:  # a run without a record has no measures
            yield one._replace(parameters=around[one.run])


def _run_sources(runs: EngineRuns, baseline: bool) -> Iterator[Source]:
    for run in (read.folder for read in runs.runs if read.records):
        machine, python = _made_on(run.path)
        yield Source(
            path=run.run,
            kind="run",
            baseline=baseline,
            backend=run.backend,
            protocol=run.protocol,
            version=run.version,
            seed=str(run.seed),
            world=run.world,
            repair=run.repair,
            machine=machine,
            python=python,
            started=run.started,
        )


class _Made(msgspec.Struct, frozen=True):
    machine: dict[str, Any] = {}
    versions: dict[str, Any] = {}


def _made_on(folder: Path) -> tuple[str, str]:
    """Return what a run's scenario says of its machine, and its Python; empty if it is unknown."""
    try:
        made = read_json(folder / SCENARIO_FILE, _Made)
    except msgspec.MsgspecError:
        return "", ""
    named = {"cores": "{} cores"}
    machine = (named.get(name, "{}").format(value) for name, value in made.machine.items())
    return ", ".join(machine), str(made.versions.get("python", ""))
