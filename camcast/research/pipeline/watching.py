"""Follows a running experiment: the measures of what its traces say so far, again and again.

Traces are read on from where the last look ended, and measured by the code that measures a run
which is over, so that the last table is that of the run's summary. An early one says what is known
by then: an event that is still under way counts as lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import monotonic
from typing import Any, Final

import attrs
import msgspec
from attrs import Factory, define, field, frozen

from camcast.observe.trace import TraceRecord
from camcast.observe.trace_reading import Reading, take
from camcast.research.pipeline.ingest.run_to_read import NoTraceError, RunFolder, read_run_folder
from camcast.research.pipeline.measures.metrics import unrecorded
from camcast.research.runs.run_folder import SUMMARY_FILE, Count, read_json
from camcast.research.runs.summary import measured
from camcast.research.scenarios.super_topics import SuperTopics
from camcast.vocabulary.messages import UNDECODABLE

LOOK_SECONDS: Final = 2.0  # chosen: between two looks; workers write ten times a second
_READ_SECONDS: Final = 2.0  # chosen: reading, until what is known by then is shown


@frozen
class Update:
    """The measures of a run so far."""

    run: str
    records: int
    quarantined: int
    """Lines that are no record, and at the end last lines that were not written to their end."""
    finished: bool
    """Whether the run is over, and this is the last word."""
    repair: bool
    """Whether missed events are asked for."""
    communities: dict[str, dict[str, float | None]]
    """Metrics by community."""

    def as_json(self) -> dict[str, Any]:
        """Return the update as JSON takes it."""
        communities = [{"community": name, **found} for name, found in self.communities.items()]
        return attrs.asdict(self) | {"communities": communities}


def watch(path: Path, pause: Callable[[float], object], *, once: bool = False) -> Iterator[Update]:
    """Yield what is known of a run whenever there is more, until the run is over.

    `pause` waits for so many seconds; `once` takes what is there, and ends. Raises `RunFolderError`
    for a folder that is none, or whose trace grows in no JSON lines.
    """
    run = read_run_folder(path)
    if not run.traces["jsonl"]:
        raise NoTraceError(
            f"the trace of {path} is Parquet, which can be read when it is complete, and not"
            " followed; use camcast compare"
        )
    growing = GrowingTraces(path, run.super_topics)
    finished = shown = False
    while not finished:
        began = monotonic()
        over = (path / SUMMARY_FILE).exists()  # before the traces are looked at
        more, whole = growing.read_on(over=over, until=began + _READ_SECONDS)
        finished = over and whole
        if more or finished or not shown:
            yield growing.update(run, finished=finished)
            shown = True
        if once and whole:
            return
        if whole and not finished:
            # a look at a long run takes seconds: as long a pause leaves the run half a core
            pause(max(LOOK_SECONDS, monotonic() - began))


class Joining(msgspec.Struct, frozen=True):
    """The part of a run's summary that says who became a member; traces know of nobody else."""

    joined: Count = 0
    never_joined: Count = 0


def joining_of(path: Path) -> Joining:
    """Return what the summary of a run says; nothing where it says nothing that can be read."""
    try:
        return read_json(path / SUMMARY_FILE, Joining)
    except (OSError, msgspec.MsgspecError):
        return Joining()


@define
class GrowingTraces:
    """The JSON-lines traces of a run's folder, as far as they are read.

    A line that is half written is read when it is whole, and at the end of the run as it is.
    """

    folder: Path
    super_topics: SuperTopics = field(factory=SuperTopics)
    reading: Reading = field(
        default=Factory(lambda self: Reading(includes=self.super_topics.includes), takes_self=True)
    )
    quarantined: int = 0
    _read: dict[str, int] = field(factory=dict)
    """How far each file is read, by its name."""

    def read_on(self, *, over: bool, until: float) -> tuple[bool, bool]:
        """Read what is new, for so long; return whether there was any, and whether that is all."""
        decoder = msgspec.json.Decoder(TraceRecord)
        more = False
        for path in sorted(self.folder.glob("trace-*.jsonl")):
            with path.open("rb") as file:
                file.seek(self._read.get(path.name, 0))
                for line in file:
                    if not (over or line.endswith(b"\n")):
                        break
                    more = True
                    self._read[path.name] = self._read.get(path.name, 0) + len(line)
                    try:
                        take(decoder.decode(line), self.reading)
                    except UNDECODABLE:
                        self.quarantined += 1
                    if monotonic() >= until:
                        return more, False
        return more, True

    def update(self, run: RunFolder, *, finished: bool) -> Update:
        """Measure what was read."""
        reading = self.reading
        reading.table_changes.sort(key=lambda change: change[0])
        levels = cache(self.super_topics.names_above)
        events = Counter(name for one in reading.published.values() for name in levels(one.topic))
        unknown = {*unrecorded(run)}
        found = {
            name: {"events": events[name], **metrics, **dict.fromkeys(unknown & metrics.keys())}
            for name, metrics in measured(reading, sorted(run.communities), levels).items()
        }
        return Update(
            *(run.run, reading.records, self.quarantined, finished, run.repair, found),
        )
