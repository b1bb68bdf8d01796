"""Engines: what reads the traces of runs and measures them, Spark or this process alone.

Both give the same numbers, to the last digit. Which one computes is chosen here, and said on the
page of a comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal, Protocol

from attrs import frozen

from camcast.research.pipeline.compare.findings import Quarantined
from camcast.research.pipeline.ingest.described_runs import ReadRun
from camcast.research.pipeline.measured import Measured
from camcast.vocabulary.errors import CamcastError

EngineName = Literal["spark", "local"]
# measured: of 1.1 million records (250 MB) this process takes 5 s of CPU and 0.35 GB, Spark 70 s
# and 2.3 GB; of 4.4 million 18 s and 0.75 GB. chosen: beyond, memory and other cores count more
LOCAL_BYTES_MAX: Final = 1_000_000_000
UnreadFile = tuple[str, str, None, str, None]
"""A row of the quarantine: a file that is wrong as a whole, twice, and why."""


class EngineError(CamcastError, ValueError):
    """An engine cannot do what was asked for; the message says which can."""


@frozen
class EngineRuns:
    """The runs that an engine read and measured."""

    runs: tuple[ReadRun, ...]
    measures: list[Measured]
    quarantine: Any
    """In the engine's own form; see `Engine`."""
    problems: tuple[str, ...]


class Engine(Protocol):
    """Reads and measures; its quarantines are its own, since Spark's may be larger than memory."""

    def read(self, folders: Sequence[Path]) -> EngineRuns:
        """Read run folders; raises `RunFolderError` when there is not one that can be read."""

    def unread(self, files: Sequence[UnreadFile]) -> Any:
        """Return a quarantine of files."""

    def united(self, quarantines: Sequence[Any]) -> Any:
        """Return one quarantine of several, at least one."""

    def summed(self, quarantine: Any, most: int) -> tuple[Quarantined, ...]:
        """Return how many records of which files are in it, and why; the most first."""

    def write(self, quarantine: Any, path: Path) -> None:
        """Write it as a folder of Parquet files."""


@frozen
class Choice:
    """The engine of a comparison, and the reason."""

    name: EngineName
    why: str

    @property
    def in_words(self) -> str:
        """The choice, as the page says it."""
        engine = "Spark" if self.name == "spark" else "the local engine"
        return f"by {engine} ({self.why})"


def chosen_engine(asked: str | None, trace_bytes: int, *, cluster: bool) -> Choice:
    """Choose for traces of a size (as JSON lines); `cluster`: --master or --conf was given.

    Raises `EngineError`.
    """
    if asked not in (None, "spark", "local"):
        raise EngineError(f"--engine is spark or local, not {asked!r}")
    if asked == "local" and cluster:
        raise EngineError("--master and --conf are Spark's; leave out --engine local")
    if asked:
        return Choice("spark" if asked == "spark" else "local", f"--engine {asked}")
    if cluster:
        return Choice("spark", "--master or --conf was given")
    size = f"{trace_bytes / 1e6:,.0f} MB of traces"
    if trace_bytes > LOCAL_BYTES_MAX:
        return Choice("spark", f"{size}, more than {LOCAL_BYTES_MAX / 1e6:,.0f}")
    return Choice("local", f"{size}, no more than {LOCAL_BYTES_MAX / 1e6:,.0f}")
