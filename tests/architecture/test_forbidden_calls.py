"""What makes a run unrepeatable is forbidden to everything but the edges: one engine, two worlds.

Time, random streams and outlets are arguments there: no clock, no randomness of its own, no
asyncio, no container whose order depends on a hash. The sources are read by `ast`, so that an
import inside a function counts too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# The rooms where clocks, files, sockets and users are.
EDGES = (
    "camcast/__main__.py", "camcast/app", "camcast/cli", "camcast/inbox", "camcast/live",
    "camcast/observe/trace_reading.py", "camcast/ops", "camcast/testing",
    "camcast/research/testing", "camcast/vocabulary/given_file.py",
    "camcast/vocabulary/lasting_file.py", *(
        f"camcast/research/{room}"
        for room in (
            "cli", "experiment", "papers", "pipeline", "report", "runs", "scenarios", "sweeps",
            "workloads",
        )
    ),
)  # fmt: skip
ENGINE = sorted(
    path
    for package in ("camcast", "membership", "overlays")
    for path in (ROOT / package).rglob("*.py")
    if not any(path.is_relative_to(ROOT / edge) for edge in EDGES)
)
MODULES = (
    "_thread", "asyncio", "concurrent", "multiprocessing", "sched", "secrets", "select",
    "selectors", "signal", "socket", "subprocess", "threading", "time", "uuid",
)  # fmt: skip
NAMES = ("hash", "id", "print", "set", "frozenset", "input", "__import__")
# Of `os`, of `time` and of the classes of `datetime`.
ATTRIBUTES = ("now", "utcnow", "today", "urandom", "getrandom")


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield (line, dotted name) for everything imported from outside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def forbidden(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for line, name in imports(tree):
        module, _, attribute = name.partition(".")
        wrong = module in MODULES or (module == "os" and attribute in ATTRIBUTES)
        wrong |= module == "random" and attribute != "Random"
        if wrong:
            yield line, f"imports {name}"
    for node in ast.walk(tree):
        match node:
            case ast.Set() | ast.SetComp():
                yield node.lineno, "makes a set, whose order depends on the hash seed"
            case ast.Name(id=name, ctx=ast.Load()) if name in NAMES:
                yield node.lineno, f"uses {name}"
            case (
                ast.Attribute(value=ast.Name(id=owner), attr=name)
                | ast.Attribute(value=ast.Attribute(attr=owner), attr=name)
            ) if owner in ("datetime", "date", "os") and name in ATTRIBUTES:
                yield node.lineno, f"uses {owner}.{name}"
            case ast.Call(func=ast.Name(id="Random"), args=[], keywords=[]):
                yield node.lineno, "makes a Random without a seed"
            case ast.BinOp(left=left, right=right) if makes_set(left) or makes_set(right):
                yield node.lineno, "makes a set of a dictionary's keys"


def makes_set(operand: ast.expr) -> bool:
    match operand:
        case ast.Call(func=ast.Attribute(attr="keys" | "items"), args=[]):
            return True
    return False


def test_only_the_edges_use_what_no_run_repeats() -> None:
    found = {
        str(path.relative_to(ROOT)): list(forbidden(ast.parse(path.read_text("utf-8"))))
        for path in ENGINE
    }
    assert {"camcast/engine/node.py", "membership/scamp/scamp.py", "overlays/gateways.py"} <= set(
        found
    )
    assert {name: lines for name, lines in found.items() if lines} == {}


def test_only_what_finds_plugs_imports_modules_by_name() -> None:
    """No tool sees such an import, so that it fails where a program was frozen."""
    packages = [ROOT / package for package in ("camcast", "membership", "overlays")]
    sources = [path for package in packages for path in package.rglob("*.py")]
    found = [path for path in sources if "import_module" in path.read_text("utf-8")]
    assert found == [ROOT / "camcast/doors/plugs.py"]


@pytest.mark.parametrize(
    "source",
    [
        "from time import monotonic",
        "import datetime\ndatetime.datetime.now()",
        "from datetime import datetime\ndatetime.now()",
        "import random",
        "from random import choice",
        "from random import SystemRandom",
        "from random import Random\nr = Random()",
        "from uuid import uuid4",
        "import os\nos.urandom(8)",
        "from os import urandom",
        "import secrets",
        "async def f():\n    import asyncio",
        "import concurrent.futures",
        "key = hash('a')",
        "sorted([], key=id)",
        "print('here')",
        "for x in {1, 2}:\n    pass",
        "list(set([1]))",
        "x: frozenset[int] = frozenset()",
        "[*{x for x in ()}]",
        "for x in {}.keys() - [1]:\n    pass",
    ],
)
def test_a_violation_is_found(source: str) -> None:
    assert list(forbidden(ast.parse(source)))


@pytest.mark.parametrize(
    "source",
    [
        "from random import Random\ndef f(r: Random) -> float: return r.random()",
        "from random import Random\nRandom(7)",
        "class E:\n    id: int\nE.id",
        "for x in {'a': 1}:\n    pass",
        "from . import time\nimport os\nos.path",
    ],
)
def test_what_repeats_is_left_alone(source: str) -> None:
    assert not list(forbidden(ast.parse(source)))
