"""The runs that are read: what their folders say, how much could be read, and the problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from attrs import define, field

from camcast.research.pipeline.ingest.run_to_read import (
    NoTraceError,
    RunFolder,
    RunFolderError,
    read_run_folder,
)

_REASONS_NAMED: Final = 3  # chosen: of a run, the most frequent; the table has all


@define
class ReadRun:
    """A run, and how much of its trace could be read."""

    folder: RunFolder
    records: int = 0
    reasons: Counter[str] = field(factory=Counter)
    """Why records are in quarantine, and how many."""

    @property
    def quarantined(self) -> int:
        """How many records are in quarantine."""
        return self.reasons.total()


def described(folders: Sequence[Path]) -> tuple[list[RunFolder], list[str]]:
    """Read what the folders say of their runs, each folder once."""
    runs: list[RunFolder] = []
    problems: list[str] = []
    seen: set[Path] = set()
    for folder in folders:
        path = folder.resolve()
        if path in seen:
            problems.append(f"{folder} was given twice, and is read once")
            continue
        seen.add(path)
        try:
            runs.append(read_run_folder(folder))
        except RunFolderError as error:
            problems.append(str(error))
    versions = sorted({run.trace_version for run in runs})
    if len(versions) > 1:
        old = [run.run for run in runs if run.trace_version == versions[0]]
        problems.append(
            f"the traces are of schema versions {' and '.join(map(str, versions))}; all were read,"
            f" but what came after version {versions[0]} is unknown of {', '.join(old)}"
        )
    return runs, problems


def problems_of(counts: Mapping[str, ReadRun]) -> Iterator[str]:
    """Say of which runs part could not be read, or nothing."""
    for run, count in counts.items():
        if count.quarantined:
            reasons = sorted(count.reasons.items(), key=lambda item: (-item[1], item[0]))
            frequent = ", ".join(f"{reason} ({n})" for reason, n in reasons[:_REASONS_NAMED])
            more = ", ..." if len(reasons) > _REASONS_NAMED else ""
            yield f"{count.quarantined} records of {run} are in quarantine: {frequent}{more}"
        if not count.records:
            yield str(NoTraceError(f"the trace of {run} has no record that can be read"))
