"""The mutation score of a plug's tests: which mutants of the plug they find, and which survive.

::

    python -m camcast.testing.mutation_score newscast.py tests/test_newscast.py

prints the mutants that survive, and the score. The tests are the classes of the file, such as one
that inherits `MembershipContract`; their methods named ``test_…`` are called without pytest, so
that its fixtures are not there. The package with the plug's entry point is installed, while a
mutant stands before it in `sys.path`. Each mutant runs in a forked process: Unix only.
"""

from __future__ import annotations

import argparse
import ast
import importlib.util
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from time import process_time
from typing import Final

from attrs import frozen

from camcast.testing.mutants import Mutant, draw

COUNT: Final = 40  # chosen: with a score of 85 %, the standard deviation of a draw is 6 %
CPU_FACTOR: Final = 3  # chosen: a mutant that takes so many times what the plug takes never ends
MEMORY_BYTES: Final = 2 << 30  # chosen: ten times what a contract takes
ENDLESS: Final = "it does not end"

_Test = tuple[str, Callable[[], None]]


@frozen
class Judged:
    """A mutant, and what the tests make of it."""

    mutant: Mutant
    found_by: str
    """The name of the first test that fails; empty if the mutant survives."""


def judge(plug: Path, tests: Path, mutants: Iterable[Mutant]) -> Iterator[Judged]:
    """Yield mutants of a plug's module, each with the test of a file that finds it.

    Raises `ValueError` if the plug itself fails.
    """
    before = _cpu_seconds()
    failed, costs = _first_failure(plug, plug.read_text(), tests, [], None)
    if failed:
        raise ValueError(f"{plug.name} is not fit to be mutated: it fails in {failed}")
    limit = CPU_FACTOR * (_cpu_seconds() - before)
    finds = Counter(costs.keys())  # one each, since nothing is known of those that found none
    for mutant in mutants:
        best = sorted(costs, key=lambda name: costs[name] / finds[name])
        found_by, _ = _first_failure(plug, mutant.source, tests, best, limit)
        finds[found_by] += bool(found_by)
        yield Judged(mutant, found_by)


def mistakes(plug: Path, module: Path) -> Iterator[Mutant]:
    """Yield a mutant for each function of a module that takes nothing: the plug, once it is called.

    The function makes the mistake, as by replacing a method.
    """
    source, code = plug.read_text(), module.read_text()
    for node in ast.parse(code).body:
        if isinstance(node, ast.FunctionDef) and not node.args.args:
            call = f"exec({code!r}, made := {{}})\nmade[{node.name!r}]()"
            yield Mutant(0, node.name.replace("_", " "), f"{source}\n{call}\n")


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _first_failure(
    plug: Path, source: str, tests: Path, best: list[str], cpu_seconds: float | None
) -> tuple[str, dict[str, float]]:
    """Return the test that fails for a source in place of the plug, and the CPU of those that pass.

    The tests that are `best` are tried first.
    """
    processes = multiprocessing.get_context("fork")
    receiver, sender = processes.Pipe(duplex=False)
    with tempfile.TemporaryDirectory() as folder:
        arguments = Path(folder), plug.name, source, tests.resolve(), best, cpu_seconds, sender
        process = processes.Process(target=_run, args=arguments)
        process.start()
        sender.close()
        try:
            failed, passed = receiver.recv()
        except EOFError:  # killed by one of its limits
            failed, passed = ENDLESS, {}
        process.join()
    return failed, passed


def _run(
    folder: Path,
    module: str,
    source: str,
    tests: Path,
    best: list[str],
    cpu_seconds: float | None,
    sender: Connection,
) -> None:
    """Run the tests in a process of their own, and send the name of the first that fails."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if cpu_seconds is not None:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CPU, (int(cpu_seconds) + 1, resource.RLIM_INFINITY))
    warnings.simplefilter("error")
    (folder / module).write_text(source)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    try:
        found = list(_tests(tests))
    except Exception:
        sender.send(("the import", {}))
        return
    ranks = {name: rank for rank, name in enumerate(best)}
    passed = dict[str, float]()
    failed = ""
    for name, test in sorted(found, key=lambda one: ranks.get(one[0], len(ranks))):
        before = process_time()
        try:
            test()
        except (Exception, SystemExit):
            failed = name
            break
        # In tenths, for the rest is chance; one at least, so that each find counts.
        passed[name] = round(process_time() - before, 1) + 0.1
    sender.send((failed, passed))


def _tests(path: Path) -> Iterator[_Test]:
    """Yield the tests of a file's classes, each of which makes an instance of its own."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for kind in vars(module).values():
        if isinstance(kind, type) and kind.__module__ == path.stem:
            for name in dir(kind):
                if name.startswith("test_"):
                    yield name, partial(_call, kind, name)


def _call(kind: type, name: str) -> None:
    getattr(kind(), name)()


def main() -> None:
    """Print the mutants that survive, and the score."""
    parser = argparse.ArgumentParser(description="Which mutants of a plug do its tests find?")
    parser.add_argument("plug", type=Path, help="the module with the plug")
    parser.add_argument("tests", type=Path, help="the file with its tests")
    parser.add_argument("--count", type=int, default=COUNT, help="how many mutants are drawn")
    parser.add_argument("--seed", type=int, default=1, help="of the draw")
    parser.add_argument("--mistakes", type=Path, help="a module of mistakes to make instead")
    given = parser.parse_args()
    if given.mistakes is None:
        mutants = draw(given.plug.read_text(), given.count, given.seed)
    else:
        mutants = list(mistakes(given.plug, given.mistakes))
    found = drawn = 0
    for one in judge(given.plug, given.tests, mutants):
        drawn += 1
        found += bool(one.found_by)
        print(f"{one.mutant.line}: {one.mutant.mistake}: {one.found_by or 'SURVIVES'}", flush=True)
    print(f"found: {found} of {drawn}")


if __name__ == "__main__":
    main()
