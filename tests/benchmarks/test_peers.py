"""The comparison with peers: absent ones are skipped, failing ones do not stop the others."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from fleet_worker import FleetError
from peers import systems as peers_systems
from peers.job import Job, Measured, Outcome, run_job
from peers.systems import System, camcast

from tests.python_process import python

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def measured(speed: float, missed: int = 0) -> Measured:
    return Measured(
        deliveries_per_second=speed,
        cpu_seconds_per_1000_deliveries=2.0,
        missed=missed,
        paced_cpu_seconds_per_1000_deliveries=0.0,
        paced_latency_ms_p50=1.0,
        paced_latency_ms_p99=4.0,
        paced_missed=0,
        memory_mb_per_node=0.5,
    )


def peers(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "peers", *arguments, cwd=BENCHMARKS, NO_COLOR="1", COLUMNS="200")


def test_ratios_are_multiples_of_ours() -> None:
    ours = Outcome(system="camcast", nodes=10, note="", measured=measured(100.0))
    theirs = Outcome(system="fast", nodes=10, note="", measured=measured(250.0, missed=3))
    ratios = theirs.ratios(ours)
    assert ratios["deliveries_per_second"] == 2.5
    assert ratios["paced_cpu_seconds_per_1000_deliveries"] is None  # ours is 0
    assert "missed" not in ratios
    assert set(ours.ratios(ours).values()) == {1.0, None}
    absent = Outcome(system="absent", nodes=10, note="", skipped="not installed")
    assert absent.ratios(ours) == theirs.ratios(absent) == {}
    assert json.loads(json.dumps(theirs.as_json(ours)))["measured"]["missed"] == 3


def test_what_is_absent_is_skipped_with_a_way_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def steps(_text: str) -> None:
        pytest.fail("something absent was started")

    monkeypatch.setattr(peers_systems, "find_spec", lambda _module: None)
    monkeypatch.setattr(peers_systems, "GOSSIPSUB", tmp_path)
    assert {system.missing() for system in camcast("scamp")} == {None}
    for system in peers_systems.peers():
        outcome = run_job(system, 4, Job(), steps)
        assert outcome.measured is None
        assert outcome.failed is None
        assert "not installed" in (outcome.skipped or "")
    monkeypatch.setattr(peers_systems, "find_spec", lambda _module: object())
    monkeypatch.setattr(peers_systems, "PATHS", str(tmp_path))
    servers = [
        system for system in peers_systems.peers() if "apt install" in (system.missing() or "")
    ]
    assert [system.name for system in servers] == ["nats", "mosquitto"]


def test_a_peer_that_fails_is_an_outcome() -> None:
    def hire() -> None:
        raise FleetError("it does not start")

    system = System("broken", "", lambda: None, hire)  # type: ignore[arg-type]  # never returns
    outcome = run_job(system, 4, Job(), lambda _text: None)
    assert outcome.failed == "it does not start"
    assert outcome.measured is None
    assert outcome.skipped is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--only", "nonesuch"), "unknown peer 'nonesuch'; there is: zenoh"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                (("--nodes", "10,x"), "'x' is not a number of nodes from 2 to 200"),
                (("--nodes", "1"), "'1' is not a number of nodes"),
                (("--membership", "nonesuch"), "unknown membership 'nonesuch'"),
            )
        ),
    ],
)
def test_a_wrong_argument_is_a_clear_error(arguments: tuple[str, str], says: str) -> None:
    done = peers(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "system", [*camcast("scamp"), *peers_systems.peers()], ids=lambda system: system.name
)
def test_every_peer_that_is_installed_does_the_job(system: System) -> None:
    if missing := system.missing():
        pytest.skip(missing)
    outcome = run_job(system, 4, Job(events=20, paced_seconds=0.2, rounds=1), lambda _text: None)
    assert outcome.failed is None
    assert outcome.measured is not None
    assert outcome.measured.paced_missed == 0


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_the_worker_in_javascript_parses() -> None:
    script = BENCHMARKS / "peers" / "gossipsub" / "worker.mjs"
    done = subprocess.run(["node", "--check", str(script)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
