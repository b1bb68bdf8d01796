"""pytest-benchmark's files, as measures: each file is one repetition of the benchmarks in it.

A benchmark gives the seconds of its rounds (``seconds_min``, ``seconds_median``,
``seconds_mean``) and every number of its ``extra_info``. The measure's name says which benchmark it
is of, and with what: ``live_multicast.paced(nodes=50).latency_ms_p99``. Backend, protocol,
community, p_sel, seed and parameters are looked for in ``extra_info``, then in the parameters of
the test; a backend may also be called a membership. The version is the commit.

Rounds of one file share its machine, its minute and its process, so that they are not independent
of each other: what several files say is compared, not what several rounds say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec
from attrs import field, frozen

from camcast.research.pipeline.measured import Measured, Seed
from camcast.vocabulary.errors import CamcastError

_COMMIT_DIGITS: Final = 12  # chosen: as git abbreviates in large projects
_COLUMNS: Final = ("backend", "membership", "protocol", "community", "p_sel", "seed")
"""The keys with columns of their own, neither measures nor parts of a benchmark's name."""
_CONDITIONS: Final = (
    *("nodes", "processes", "events", "rounds", "payload_bytes", "rate_per_second"),
)
"""Numbers of ``extra_info`` that were set, and not measured."""
_PREFIXES: Final = {"parameter_": "", "option_": "membership."}
"""Of parameters in ``extra_info``, and what runs call them (`pipeline.ingest.run_folder`)."""
_PREFIX: Final = re.compile(f"^(?:{'|'.join(_PREFIXES)})")


class _Cpu(msgspec.Struct, frozen=True):
    brand_raw: str = ""
    count: int | None = None


class _Machine(msgspec.Struct, frozen=True):
    system: str = ""
    machine: str = ""
    python_version: str = ""
    cpu: _Cpu = _Cpu()


class _Commit(msgspec.Struct, frozen=True):
    id: str = ""
    dirty: bool = False


class _File(msgspec.Struct, frozen=True):
    benchmarks: list[Any]
    machine_info: _Machine = _Machine()
    commit_info: _Commit = _Commit()
    datetime: str = ""


class _Stats(msgspec.Struct, frozen=True):
    min: float
    median: float
    mean: float


class _Benchmark(msgspec.Struct, frozen=True):
    fullname: str
    stats: _Stats
    params: dict[str, Any] | None = None
    extra_info: dict[str, Any] | None = None


class BenchFileError(CamcastError, ValueError):
    """A file is none of pytest-benchmark's, or has nothing in it; the message says which."""


@frozen
class Benches:
    """The contents of benchmark files."""

    measures: list[Measured] = field(factory=list)
    """One for each file, benchmark and measure."""
    problems: list[tuple[str, str]] = field(factory=list)
    """Files of which something could not be read, and why."""
    sources: list[dict[str, str]] = field(factory=list)
    """Of each file that was read: path, version, machine, python, started."""


def read_bench_files(files: Sequence[Path]) -> Benches:
    """Read the files of ``pytest --benchmark-json``.

    Each file is read once. Other files are reported and skipped.
    """
    benches = Benches()
    for path in {path.resolve(): path for path in files}.values():
        try:
            _read(str(path), _decoded(path), benches)
        except BenchFileError as error:
            benches.problems.append((str(path), str(error)))
    return benches


def _decoded(path: Path) -> _File:
    try:
        content = path.read_bytes()
        # Python's own parser: pytest-benchmark writes Infinity and NaN, which JSON has not.
        file = msgspec.convert(json.loads(content), _File)
    except OSError as error:
        raise BenchFileError(f"it cannot be read: {error.strerror}") from None
    except msgspec.ValidationError:
        raise BenchFileError(
            "JSON of another tool: it has no benchmarks as pytest-benchmark writes them"
        ) from None
    except (ValueError, RecursionError):
        why = "not JSON, or cut short" if content else "an empty file"
        raise BenchFileError(why) from None
    if not file.benchmarks:
        raise BenchFileError("no benchmark in it")
    return file


def _read(path: str, file: _File, benches: Benches) -> None:
    """Add what a file says."""
    commit, machine = file.commit_info, file.machine_info
    version = commit.id[:_COMMIT_DIGITS] + ("+changes" if commit.id and commit.dirty else "")
    before = len(benches.measures)
    for given in file.benchmarks:
        try:
            benchmark = msgspec.convert(given, _Benchmark)
        except msgspec.ValidationError:
            name = given.get("name", "?") if isinstance(given, dict) else "?"
            why = f"benchmark {name} has no times as pytest-benchmark writes them"
            benches.problems.append((path, why))
        else:
            benches.measures.extend(_measures(path, version, benchmark))
    if len(benches.measures) > before:
        cores = "" if machine.cpu.count is None else f"{machine.cpu.count} cores"
        named = (machine.system, machine.machine, machine.cpu.brand_raw, cores)
        benches.sources.append(
            {
                "path": path,
                "version": version,
                "machine": ", ".join(filter(None, named)),
                "python": machine.python_version,
                "started": file.datetime,
            }
        )


def _measures(run: str, version: str, benchmark: _Benchmark) -> Iterator[Measured]:
    params, info = _texts(benchmark.params), _texts(benchmark.extra_info)

    def said(*names: str) -> str:
        """Return what the benchmark says of one of the names; an empty text if nothing."""
        found = (place[name] for place in (info, params) for name in names if name in place)
        return next(found, "")

    seconds = {
        f"seconds_{name}": value for name, value in msgspec.structs.asdict(benchmark.stats).items()
    }
    numbers = {name: _number(text) for name, text in info.items() if not _is_set(name)}
    parameters = {
        _PREFIX.sub(lambda found: _PREFIXES[found[0]], name): text
        for name, text in info.items()
        if _is_set(name) and name not in _COLUMNS
    }
    # a number of extra_info may be called like one of ours; theirs says the same, and is left out
    for name, value in (numbers | seconds).items():
        if value is not None:
            yield Measured(
                run=run,
                backend=said("backend", "membership"),
                protocol=said("protocol"),
                community=said("community"),
                p_sel=_number(said("p_sel")),
                parameters=parameters,
                version=version,
                seed=_number(said("seed"), Seed),
                metric=f"{_name(benchmark, params)}.{name}",
                value=value,
            )


def _texts(given: Mapping[str, Any] | None) -> dict[str, str]:
    """Return what was given as text, a number as JSON has it, without what is null."""
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in (given or {}).items()
        if value is not None
    }


def _number(text: str, kind: Any = float) -> Any:
    """Read a number of this kind; None for other text, and for what is infinite or no number."""
    with suppress(msgspec.DecodeError, UnicodeError):
        return msgspec.json.decode(text, type=kind)
    return None


def _is_set(name: str) -> bool:
    """Whether a number of ``extra_info`` was set, and not measured."""
    return name in (*_COLUMNS, *_CONDITIONS) or _PREFIX.match(name) is not None


def _name(benchmark: _Benchmark, params: Mapping[str, str]) -> str:
    """Return the benchmark's name: file and function without test_, and its other parameters."""
    file, _, function = benchmark.fullname.partition("[")[0].partition("::")
    file = file.rpartition("/")[2].removeprefix("test_").removesuffix(".py")
    function = re.sub(r"(^|::)(?:test_|Test)", r"\1", function).replace("::", ".")
    given = ", ".join(f"{name}={params[name]}" for name in sorted(params) if name not in _COLUMNS)
    return f"{file}.{function}" + (f"({given})" if given else "")
