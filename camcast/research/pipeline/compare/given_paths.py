"""The inputs in the paths that were given: folders of runs, and files of benchmarks.

A path is one of either, or a folder in which they lie at any depth, as in ``results/`` or
pytest-benchmark's ``.benchmarks/``.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from attrs import field, frozen

from camcast.research.runs.run_folder import SCENARIO_FILE, SUMMARY_FILE

_AUTOSAVED: Final = ".benchmarks"  # of pytest --benchmark-autosave
_REPORT: Final = ("index.html", "comparison.json")  # of camcast compare


@frozen
class Given:
    """The inputs in some paths."""

    problems: list[str] = field(factory=list)
    """The paths that do not exist."""
    folders: list[Path] = field(factory=list)
    """Folders of runs; one in which nothing was found is among them, for the reader to name."""
    files: list[Path] = field(factory=list)
    """JSON files, which may be benchmarks'."""


def given_in(paths: Sequence[Path]) -> Given:
    """Find the runs and the files of benchmarks."""
    given = Given()
    for path in paths:
        if path.is_file():
            given.files.append(path)
        elif path.is_dir():
            found = list(_found_in(path, set()))
            given.folders.extend([one for one in found if one.is_dir()] if found else [path])
            given.files.extend(one for one in found if one.is_file())
        else:
            given.problems.append(f"{path} does not exist")
    return given


def _found_in(folder: Path, seen: set[Path]) -> Iterator[Path]:
    """Yield the folders of runs and the JSON files within a folder, which may be a run's itself.

    What is hidden is the system's, unless it is a run.
    """
    if (place := folder.resolve()) in seen:  # a link to a folder above
        return
    seen.add(place)
    of_run: tuple[str, ...] = ()
    if _is_run(folder):
        yield folder
        of_run = (SCENARIO_FILE, SUMMARY_FILE)
    elif all((folder / name).exists() for name in _REPORT):
        return
    for entry in sorted(folder.iterdir()):
        hidden = entry.name.startswith(".")
        if entry.is_dir():
            if not hidden or entry.name == _AUTOSAVED or _is_run(entry):
                yield from _found_in(entry, seen)
        elif entry.suffix.lower() == ".json" and not hidden and entry.name not in of_run:
            yield entry


def _is_run(folder: Path) -> bool:
    traces = (path for path in folder.glob("trace-*") if not path.is_dir())
    return (folder / SCENARIO_FILE).exists() or any(traces)
