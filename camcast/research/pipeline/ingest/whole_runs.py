"""Whole runs: those that are over, with all of their records, and each of them once.

A run that was killed, or whose trace was cut, would count its own end as loss of the system; a
folder that was copied would count one run as several repetitions. Both are named and left out.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from attrs import define, field

from camcast.research.pipeline.ingest.run_to_read import SummaryOfAll
from camcast.research.runs.run_folder import (
    SCENARIO_FILE,
    SUMMARY_FILE,
    Count,
    TraceFile,
    json_checksum,
    read_json,
    trace_files,
)

OUTSIDE_MAX: Final = 0.02  # chosen: of the processes; differences of reception are of this order


class _Counters(msgspec.Struct, frozen=True):
    trace_failures: Count = 0


class _Summary(SummaryOfAll, frozen=True, kw_only=True):
    """The part of a summary that is about the run as a whole, and its traces."""

    traces: dict[str, TraceFile]
    checksums: dict[str, str] = msgspec.field(
        default_factory=dict
    )  # folders of older versions have none
    interrupted: bool = False
    trace_failures: Count = 0
    counters: _Counters = _Counters()
    digest: str = ""
    joined: Count = 0


class _Determined(msgspec.Struct, frozen=True):
    scenario: dict[str, Any]
    versions: dict[str, Any]
    workload: dict[str, Any] = {}
    world: str = "live"


@define
class WholeRuns:
    """Those of some run folders that count."""

    folders: list[Path] = field(factory=list)
    problems: list[str] = field(factory=list)
    """The folders that do not count, or not as they are, and why."""
    notes: list[str] = field(factory=list)
    """The runs in which not all have joined."""
    judged: bool = True
    """Whether so few did not join that what is measured at the others says which is better."""


def whole_runs(folders: Sequence[Path]) -> WholeRuns:
    """Look at run folders; one that cannot be read as a run is left to the reader to name."""
    runs = WholeRuns()
    seen: dict[str, tuple[Path, str]] = {}
    places = {folder.resolve() for folder in folders}
    for folder in folders:
        if not (folder / SCENARIO_FILE).is_file() or folder.resolve() not in places:
            runs.folders.append(folder)
            continue
        places.remove(folder.resolve())  # given again, the reader says so
        try:
            summary = read_json(folder / SUMMARY_FILE, _Summary)
        except FileNotFoundError:
            runs.problems.append(f"{folder} is not over: it has no {SUMMARY_FILE}; left out")
            continue
        except (OSError, msgspec.MsgspecError) as error:
            runs.problems.append(
                f"{folder} is left out: {SUMMARY_FILE} does not say that the run is over: {error}"
            )
            continue
        found = trace_files(folder)
        if why := _unfinished(folder, summary, found):
            runs.problems.append(f"{folder} is not whole: {why}; left out")
            continue
        identities = _identities(folder, found)
        if same := next(filter(seen.__contains__, identities), ""):
            first, digest = seen[same]
            other = " (its digest differs: other code under one version)"
            runs.problems.append(
                f"{folder} is the run of {first} again, and counts once"
                f"{other if digest != summary.digest else ''}"
            )
            continue
        seen |= dict.fromkeys(identities, (folder, summary.digest))
        runs.folders.append(folder)
        runs.problems += _changed(folder, summary, found)
        if out := summary.never_joined or 0:
            share = out / (out + summary.joined)
            runs.judged &= share <= OUTSIDE_MAX
            runs.notes.append(
                f"in {folder} {share:.1%} of the processes never became members: its measures are"
                " of the others"
                + ("" if share <= OUTSIDE_MAX else ", and which is better cannot be judged")
            )
    return runs


def _unfinished(folder: Path, summary: _Summary, found: Mapping[str, TraceFile]) -> str:
    """Say why a run has not all of its records; empty if it has."""
    if summary.interrupted:
        return "it was interrupted"
    if lost := summary.trace_failures + summary.counters.trace_failures:
        return f"{lost} records of its trace could not be written"
    for name, said in summary.traces.items():
        if name not in found:
            return f"its {name} is missing"
        records = found[name].records
        if said.records is None or records is None:
            continue
        if records < said.records:
            return f"its {name} has {records:,} of {said.records:,} records"
        if records > said.records and (twice := _doubled(folder / name)):
            return f"its {name} has {twice:,} records twice"
    return ""


def _doubled(trace: Path) -> int:
    """Count the lines of a trace that are there again; each has a number of its own."""
    with trace.open("rb") as file:
        times = Counter(hashlib.blake2b(line.strip(), digest_size=16).digest() for line in file)
    return times.total() - len(times)


def _identities(folder: Path, found: Mapping[str, TraceFile]) -> list[str]:
    """Return what two folders of one run have in common, and no two runs.

    A virtual run is its scenario, so that running it again is no repetition; its name says
    nothing. A live run is told by the clock at its start. And no two runs of one setting have the
    same records, whatever seed or clock they say.
    """
    try:
        determined: object = read_json(folder / SCENARIO_FILE, dict[str, Any])
        said = msgspec.convert(determined, _Determined)
    except msgspec.MsgspecError:
        return []  # the reader says what is wrong
    scenario = {key: value for key, value in said.scenario.items() if key != "name"}
    version = said.versions.get("camcast")
    if said.world == "virtual":
        determined = (scenario, version, said.workload)
    setting = {key: value for key, value in scenario.items() if key != "seed"}
    traces = sorted(trace.crc32 for trace in found.values() if trace.records != 0)
    return [_digest(determined), *([_digest((setting, version, traces))] if traces else [])]


def _digest(of: object) -> str:
    return hashlib.sha256(msgspec.json.encode(of, order="sorted")).hexdigest()


def _changed(folder: Path, summary: _Summary, found: Mapping[str, TraceFile]) -> Iterator[str]:
    """Say which files are not as they were when the run was over."""
    changed = "is not as it was when the run was over; it is read as it is"
    for name, checksum in summary.checksums.items():
        with suppress(OSError, msgspec.MsgspecError):  # the reader names it
            if json_checksum(read_json(folder / name, dict[str, Any])) != checksum:
                yield f"{folder / name} {changed}"
    for name, content in found.items():
        if name not in summary.traces:
            yield f"{folder / name} is no trace of the run, by {SUMMARY_FILE}; passed over"
        elif content.crc32 != summary.traces[name].crc32:
            yield f"{folder / name} {changed}"
