"""One scenario has one digest, whichever version of Python runs it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[3]
VERSIONS = ((3, 11), (3, 12), (3, 13))
NEEDED = "import attrs, kademlia, msgspec, nacl, rich, typer, typing_extensions, zmq"
SCENARIO = """
seed = 1
duration_seconds = 8
membership = "{membership}"
[communities]
"." = 5
".a" = 12
[links]
loss = 0.02
[workload]
topic = ".a"
events = 8
rate = 2
"""


def _pythons() -> list[str]:
    """Return the Pythons on the PATH that are of other versions, and have what camcast needs."""
    names = (f"python{a}.{b}" for a, b in VERSIONS if (a, b) != sys.version_info[:2])
    found = [path for path in map(shutil.which, names) if path is not None]
    return [
        one
        for one in found
        if not subprocess.run([one, "-c", NEEDED], capture_output=True).returncode
    ]


def _digest(python: str, scenario: Path) -> str:
    command = [python, "-m", "camcast", "simulate", "virtual", str(scenario), "--json"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=PATIENCE_SECONDS
    )
    digest: str = json.loads(done.stdout)["digest"]
    return digest


@pytest.mark.slow  # a process of its own for each Python
@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht", "hyparview", "cyclon"])
def test_a_digest_is_the_same_in_each_python(membership: str, tmp_path: Path) -> None:
    """`sum` of floats is compensated from 3.12 on, and weights of arcs are sums that are sent."""
    pythons = _pythons()
    if not pythons:
        pytest.skip("no other Python on the PATH has what camcast needs")
    scenario = tmp_path / "s.toml"
    scenario.write_text(SCENARIO.format(membership=membership))
    own = _digest(sys.executable, scenario)
    assert {one: _digest(one, scenario) for one in pythons} == dict.fromkeys(pythons, own)
