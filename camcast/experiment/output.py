"""The output folder of a run: the scenario, the traces, the summary.

* ``scenario.json``: all that determines the run, and the software and machine it ran on;
* ``trace-<worker>.jsonl``: `camcast.trace.TraceRecord` by line; ``trace-conductor.jsonl`` has
  the crashes;
* ``summary.json``: what was measured; ``worker-<number>.log``: only if a worker said something.
"""

from __future__ import annotations

import os
import platform
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

import msgspec

from camcast.experiment.scenario import Scenario
from camcast.experiment.workload import digest
from camcast.live.pipes import library_versions
from camcast.trace import SCHEMA_VERSION


class OutputError(OSError):
    """The output folder cannot be used; `strerror` says why."""

    def __init__(self, message: str) -> None:
        super().__init__(None, message)


class OutputFolder:
    """A new folder for one run. Raises `OutputError` if it has content or cannot be made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
            used = any(path.iterdir())
        except OSError as error:
            raise OutputError(f"cannot use {path} for the output: {error.strerror}") from None
        if used:
            raise OutputError(
                f"the output folder {path} is not empty; name a new one, or empty it first"
            )

    def trace(self, worker: int | str) -> Path:
        """Return the path of a worker's trace."""
        return self.path / f"trace-{worker}.jsonl"

    def log(self, worker: int) -> Path:
        """Return the path of what a worker says on standard error."""
        return self.path / f"worker-{worker}.log"

    def traces(self) -> list[Path]:
        """Return all traces that are there."""
        return sorted(self.path.glob("trace-*.jsonl"))

    def write_scenario(self, scenario: Scenario) -> None:
        """Write down what determines the run, before it begins."""
        publications = scenario.publications()
        self._write(
            "scenario.json",
            {
                "scenario": scenario.as_json(),
                "workload": {
                    "events": sum(len(p.topics) for p in publications),
                    "seconds": publications[-1].at_seconds if publications else 0.0,
                    "sha256": digest(publications),
                },
                "versions": {
                    "camcast": version("camcast"),
                    "python": platform.python_version(),
                    **library_versions(),
                    "trace": SCHEMA_VERSION,
                },
                "machine": {
                    "system": platform.platform(),
                    "processor": platform.machine(),
                    "cores": os.cpu_count(),
                },
                "started": datetime.now().astimezone().isoformat(timespec="seconds"),
            },
        )

    def write_summary(self, summary: dict[str, object]) -> None:
        """Write down what was measured."""
        self._write("summary.json", summary)

    def _write(self, name: str, content: object) -> None:
        encoded = msgspec.json.format(msgspec.json.encode(content), indent=2)
        (self.path / name).write_bytes(encoded + b"\n")


def dated_folder(name: str) -> Path:
    """Return where a run's output goes unless told otherwise: ``runs/<name>-<date and time>``."""
    return Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
