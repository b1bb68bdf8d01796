"""The output folder of a run, live or virtual: the scenario, the traces, the summary.

* ``scenario.json``: all that determines the run, and the software and machine it ran on;
* ``trace-<worker>.jsonl``: `camcast.observe.trace.TraceRecord` by line; of a live run
  ``trace-crashes.jsonl`` has the crashes; a virtual run has one trace, and may have it as
  ``trace-0.parquet``;
* ``summary.json``: what was measured, what each trace has in it, and checksums of itself and of
  the scenario; it is written last, so that a run without one is not over;
* ``worker-<number>.log``: only if a worker said something.
"""

from __future__ import annotations

import codecs
import os
import platform
import time
import zlib
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from camcast import __version__
from camcast.live.wire.zmq_pipes import library_versions
from camcast.observe.trace import SCHEMA_VERSION
from camcast.ops.output_place import OutputError
from camcast.research.scenarios.base import BaseScenario
from camcast.research.scenarios.workload import digest
from camcast.vocabulary.lasting_file import write_lasting
from camcast.vocabulary.messages import UNDECODABLE

T = TypeVar("T")

SCENARIO_FILE: Final = "scenario.json"
SUMMARY_FILE: Final = "summary.json"

_PIECE_BYTES: Final = 2**20  # chosen: few calls, and little memory

World = Literal["live", "virtual"]


Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # as Spark and Parquet have it


class TraceFile(msgspec.Struct, frozen=True):
    """The content of one trace."""

    records: Count | None
    """The lines of JSON; None for Parquet, which counts its records itself."""
    crc32: str
    """CRC-32 of the content, in hexadecimal; of JSON lines with a line feed alone at their ends,
    since Windows writes two characters there."""


class OutputFolder:
    """A new folder for one run. Raises `OutputError` if it has content or cannot be made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.mkdir(0o700, parents=True, exist_ok=True)
            used = any(path.iterdir())
        except OSError as error:
            raise OutputError(f"cannot use {path} for the output: {error.strerror}") from None
        if used:
            raise OutputError(
                f"the output folder {path} is not empty; name a new one, or empty it first"
            )

    def trace(self, worker: int | str, form: str = "jsonl") -> Path:
        """Return the path of a worker's trace, in JSON lines or another form."""
        return self.path / f"trace-{worker}.{form}"

    def log(self, worker: int) -> Path:
        """Return the path of a worker's standard error."""
        return self.path / f"worker-{worker}.log"

    def logs(self) -> list[Path]:
        """Return what there is of what workers said on standard error."""
        return sorted(self.path.glob("worker-*.log"))

    def traces(self) -> list[Path]:
        """Return all traces in JSON lines that are there."""
        return sorted(self.path.glob("trace-*.jsonl"))

    def write_scenario(self, scenario: BaseScenario, world: World) -> None:
        """Write down what determines the run, before it begins."""
        publications = scenario.publications()
        self._write(
            SCENARIO_FILE,
            {
                "world": world,
                "scenario": scenario.as_json(),
                "workload": {
                    "events": sum(len(p.topics) for p in publications),
                    "seconds": publications[-1].at_seconds if publications else 0.0,
                    "sha256": digest(publications),
                },
                "versions": {
                    "camcast": __version__,
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
                "clock": {  # the wall clock and the traces' clock at the same moment, in seconds
                    "unix": time.time(),
                    "trace": time.monotonic() if world == "live" else 0.0,
                },
            },
        )

    def write_summary(self, summary: dict[str, object]) -> None:
        """Write down what was measured, and what the folder has in it; the run is over."""
        said = summary | {"traces": trace_files(self.path)}
        sums = {
            SCENARIO_FILE: json_checksum(read_json(self.path / SCENARIO_FILE, dict[str, Any])),
            SUMMARY_FILE: json_checksum(msgspec.json.decode(msgspec.json.encode(said))),
        }
        self._write(SUMMARY_FILE, said | {"checksums": sums})

    def _write(self, name: str, content: object) -> None:
        encoded = msgspec.json.format(msgspec.json.encode(content), indent=2)
        try:
            write_lasting(self.path / name, encoded + b"\n", 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {self.path / name}: {error.strerror}") from None


def read_json(path: Path, kind: type[T]) -> T:
    """Read a JSON file of a run, which Windows may begin with a mark, as a value of a type.

    Raises `OSError`, and `msgspec.MsgspecError` for whatever is wrong with its content.
    """
    content = path.read_bytes().removeprefix(codecs.BOM_UTF8)
    try:
        return msgspec.json.decode(content, type=kind)
    except UNDECODABLE as error:
        if isinstance(error, msgspec.MsgspecError):
            raise
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise msgspec.DecodeError(why) from None


def json_checksum(said: dict[str, Any]) -> str:
    """Return the CRC-32 of a JSON object less its ``checksums``, in hexadecimal.

    It is of the values, so that neither white space nor the order of names counts.
    """
    said = {key: value for key, value in said.items() if key != "checksums"}
    return f"{zlib.crc32(msgspec.json.encode(said, order='sorted')):08x}"


class _Summary(msgspec.Struct, frozen=True):
    traces: dict[str, TraceFile]


def traces_listed(folder: Path) -> dict[str, TraceFile] | None:
    """Return what the summary of a run says of its traces; None where the run is not over."""
    try:
        return read_json(folder / SUMMARY_FILE, _Summary).traces
    except (OSError, msgspec.MsgspecError):
        return None


def dated_folder(name: str) -> Path:
    """Make the default folder of an output: ``runs/<name>-<date and time>``.

    A number follows where another command has begun in the same second. Raises `OutputError`.
    """
    first = Path("runs") / f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    for number in count(1):
        path = first if number == 1 else first.with_name(f"{first.name}-{number}")
        try:
            path.mkdir(0o700, parents=True)
        except FileExistsError:
            continue
        except OSError as error:
            raise OutputError(f"cannot make {path} for the output: {error.strerror}") from None
        return path
    raise AssertionError("unreachable")


def trace_files(folder: Path) -> dict[str, TraceFile]:
    """Return the content of every trace in a run's folder, by the file's name.

    A summary lists them, so that a trace that is cut, doubled or changed later is found.
    """
    traces = (path for path in folder.glob("trace-*.*") if path.is_file())
    return {path.name: _content(path) for path in sorted(traces)}


def _content(path: Path) -> TraceFile:
    is_text = path.suffix == ".jsonl"
    checksum = lines = 0
    last = held = b""
    with path.open("rb", buffering=0) as file:
        while piece := file.read(_PIECE_BYTES):
            if is_text:
                piece = held + piece
                held = piece[-1:] if piece.endswith(b"\r") else b""
                piece = piece.removesuffix(held).replace(b"\r\n", b"\n")
                lines += piece.count(b"\n")
            checksum = zlib.crc32(piece, checksum)
            last = piece[-1:] or last
    checksum = zlib.crc32(held, checksum)
    unended = bool(held) or last not in (b"", b"\n")
    return TraceFile(lines + unended if is_text else None, f"{checksum:08x}")
