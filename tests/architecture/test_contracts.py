"""Rooms, and which way imports point: the contracts of pyproject.toml, and that they cover all."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[2]
LINTER = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]
PACKAGES = tuple(LINTER["root_packages"])
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def test_the_contracts_are_kept() -> None:
    # A process of its own: the linter reconfigures logging, which other tests listen to.
    command = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([command, "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_third_party_package_has_a_home() -> None:
    graph = grimp.build_graph(*PACKAGES, include_external_packages=True, cache_dir=None)
    imported = {module.split(".")[0] for module in graph.modules}
    third_party = imported.difference(PACKAGES, sys.stdlib_module_names)
    (homes,) = (c for c in LINTER["contracts"] if "zmq" in c.get("forbidden_modules", ()))
    assert third_party == {*homes["forbidden_modules"], "attrs", "msgspec", "typing_extensions"}


def test_the_pages_list_the_rooms_in_the_contract_s_order() -> None:
    for container, page in (
        ("camcast", "docs/architecture.md"),
        ("camcast.research", "camcast/research/README.md"),
    ):
        layers = next(
            c["layers"] for c in LINTER["contracts"] if c.get("containers") == [container]
        )
        rooms = [room for layer in layers for room in layer.split(" | ")]
        text = (ROOT / page).read_text("utf-8")
        assert re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) == rooms


def test_every_folder_is_a_package_and_thus_installed() -> None:
    assert [path for path in SOURCES if not (path.parent / "__init__.py").exists()] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    empty = ("utils", "util", "helpers", "helper", "misc", "common")
    assert [path for path in SOURCES if path.stem in empty or path.parent.name in empty] == []
