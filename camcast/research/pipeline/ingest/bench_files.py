"""pytest-benchmark's files, as measures: each file is one repetition of the benchmarks in it.

A benchmark gives the seconds of its rounds (``seconds_min``, ``seconds_median``,
``seconds_mean``) and every number of its ``extra_info``. The measure's name begins with the
benchmark's, which is the test's id: ``benchmarks/test_live_multicast.py::test_paced(nodes=50)``, as
`benchmark_names` says. Backend, protocol, community, p_sel, seed and parameters are looked for in
``extra_info``, then in the parameters of the test; a backend may also be called a membership. The
version is the commit.

Rounds of one file share its machine, its minute and its process, so that they are not independent
of each other: what several files say is compared, not what several rounds say. A benchmark that is
in two files, with the same times, was measured once, and counts once.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from math import isclose, isfinite
from pathlib import Path
from typing import Any, Final

import msgspec
from attrs import field, frozen

from camcast.research.pipeline.ingest.benchmark_names import COLUMNS, identity
from camcast.research.pipeline.measured import Measured, Seed
from camcast.research.report.benchmark_measures import BENCHMARK_MEASURES, CONDITIONS
from camcast.vocabulary.errors import CamcastError

_NAMED_MAX: Final = 3  # chosen: of the benchmarks of a copy
_COMMIT_DIGITS: Final = 12  # chosen: as git abbreviates in large projects
_ROUNDED: Final = 0.01  # chosen: hooks may write times with few digits
_PREFIXES: Final = {"parameter_": "", "option_": "membership."}
"""Of parameters in ``extra_info``, and what runs call them (`pipeline.ingest.run_folder`)."""
_PREFIX: Final = re.compile(f"^(?:{'|'.join(_PREFIXES)})")


class _File(msgspec.Struct, frozen=True):
    """The rest only decorates the numbers, and hooks may have made anything of it."""

    benchmarks: list[Any]
    machine_info: Any = None
    commit_info: Any = None
    datetime: Any = None


class _Stats(msgspec.Struct, frozen=True):
    """Times of a benchmark's rounds, in seconds; only the first three are needed."""

    min: float
    median: float
    mean: float
    max: Any = None
    q1: Any = None
    q3: Any = None
    ops: Any = None

    def are_times(self) -> bool:
        """Return whether the times that are compared are finite, and none is below zero."""
        return all(_is_finite(time) and time >= 0 for time in (self.min, self.median, self.mean))

    def may_be(self) -> bool:
        """Return whether one sample can have all of these; the file has no checksum."""
        ordered = [
            list(filter(_is_finite, times))
            for times in (
                (self.min, self.q1, self.median, self.q3, self.max),
                (self.min, self.mean, self.max),
            )
        ]
        rounds = self.mean * self.ops if _is_finite(self.ops) and self.ops else 1.0
        return isclose(rounds, 1.0, rel_tol=_ROUNDED) and all(
            low <= high or isclose(low, high, rel_tol=_ROUNDED)
            for times in ordered
            for low, high in pairwise(times)
        )


class _Benchmark(msgspec.Struct, frozen=True):
    fullname: str
    stats: _Stats
    params: dict[str, Any] | None = None
    extra_info: dict[str, Any] | None = None


def _is_finite(value: Any) -> bool:
    try:
        return isinstance(value, int | float) and isfinite(value)
    except OverflowError:  # a whole number of many digits
        return False


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
    seen: dict[str, str] = field(factory=dict)
    """The benchmarks that were read, as JSON, and the files that they were in first."""


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
    commit = _word(file.commit_info, "id")[:_COMMIT_DIGITS]
    dirty = isinstance(file.commit_info, dict) and file.commit_info.get("dirty") is True
    version = commit + ("+changes" if commit and dirty else "")
    before = len(benches.measures)
    read: list[_Benchmark] = []
    again: defaultdict[str, list[str]] = defaultdict(list)  # by the file that they were in first
    for given in file.benchmarks:
        called = given.get("name", "?") if isinstance(given, dict) else "?"
        try:
            one = msgspec.convert(given, _Benchmark)
        except msgspec.ValidationError:
            why = f"benchmark {called} has no times as pytest-benchmark writes them"
            benches.problems.append((path, why))
            continue
        first = benches.seen.setdefault(json.dumps(given, sort_keys=True), path)
        if first != path:
            again[first].append(called)
        elif not one.stats.are_times():
            why = f"benchmark {called} has a time below zero, or one that is no finite number"
            benches.problems.append((path, why))
        elif not one.stats.may_be():
            benches.problems.append(
                (path, f"the times of benchmark {called} contradict each other")
            )
        else:
            read.append(one)
            benches.problems.extend(
                (path, f"{number} of benchmark {called} is {why}; left out")
                for number, why in _impossible(one).items()
            )
    for first, names in again.items():
        more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
        which = ", ".join(names[:_NAMED_MAX]) + more
        benches.problems.append((path, f"{which}: measured in {first} already, and counts once"))
    for benchmark, name in zip(read, _identities(read), strict=True):
        benches.measures.extend(_measures(path, version, benchmark, name))
    if len(benches.measures) > before:
        machine = file.machine_info
        cpu = machine.get("cpu") if isinstance(machine, dict) else None
        count = _word(cpu, "count")
        named = (
            *(_word(machine, "system"), _word(machine, "machine")),
            *(_word(cpu, "brand_raw"), count and f"{count} cores"),
        )
        benches.sources.append(
            {
                "path": path,
                "version": version,
                "machine": ", ".join(filter(None, named)),
                "python": _word(machine, "python_version"),
                "started": file.datetime if isinstance(file.datetime, str) else "",
            }
        )


def _word(said: Any, name: str) -> str:
    """Return what a file says of its machine or commit; an empty text if nothing."""
    value = said.get(name) if isinstance(said, dict) else None
    return str(value) if isinstance(value, str | int) else ""


def _identities(benchmarks: Sequence[_Benchmark]) -> list[str]:
    """Return the names of a file's benchmarks; tests of one name and place have their whole ids."""
    names = [identity(one.fullname, one.params or {}) for one in benchmarks]
    places = [
        (name, *_columns(_texts(one.params), _texts(one.extra_info)))
        for name, one in zip(names, benchmarks, strict=True)
    ]
    tests = defaultdict(set)
    for place, one in zip(places, benchmarks, strict=True):
        tests[place].add(one.fullname)
    return [
        one.fullname if len(tests[place]) > 1 else place[0]
        for place, one in zip(places, benchmarks, strict=True)
    ]


def _impossible(benchmark: _Benchmark) -> dict[str, str]:
    """Return the numbers of ``extra_info`` that cannot have been measured, and why.

    Of a number that is not ours nothing is known but that it is finite.
    """
    why = {}
    for name, value in (benchmark.extra_info or {}).items():
        if not isinstance(value, int | float) or isinstance(value, bool):
            continue
        if _number(json.dumps(value)) is None:
            why[name] = "no finite number"
        elif name in BENCHMARK_MEASURES and value < BENCHMARK_MEASURES[name].least:
            why[name] = f"{value:g}, below {BENCHMARK_MEASURES[name].least:g}"
    return why


def _columns(params: Mapping[str, str], info: Mapping[str, str]) -> tuple[str, str, str, str]:
    """Return backend, protocol, community and p_sel; an empty text where nothing is said."""

    def said(*names: str) -> str:
        found = (place[name] for place in (info, params) for name in names if name in place)
        return next(found, "")

    return said("backend", "membership"), said("protocol"), said("community"), said("p_sel")


def _measures(run: str, version: str, benchmark: _Benchmark, name: str) -> Iterator[Measured]:
    params, info = _texts(benchmark.params), _texts(benchmark.extra_info)
    backend, protocol, community, p_sel = _columns(params, info)
    stats = benchmark.stats
    seconds = {"seconds_min": stats.min, "seconds_median": stats.median, "seconds_mean": stats.mean}
    left_out = _impossible(benchmark)
    numbers = {
        key: _number(text) for key, text in info.items() if not _is_set(key) and key not in left_out
    }
    parameters = {
        _PREFIX.sub(lambda found: _PREFIXES[found[0]], key): text
        for key, text in info.items()
        if _is_set(key) and key not in COLUMNS
    }
    # a number of extra_info may be called like one of ours; theirs says the same, and is left out
    for key, value in (numbers | seconds).items():
        if value is not None:
            yield Measured(
                run=run,
                backend=backend,
                protocol=protocol,
                community=community,
                p_sel=_number(p_sel),
                parameters=parameters,
                version=version,
                seed=_number(info.get("seed", params.get("seed", "")), Seed),
                metric=f"{name}.{key}",
                value=value,
                benchmark=name,
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
    return name in (*COLUMNS, *CONDITIONS) or _PREFIX.match(name) is not None
