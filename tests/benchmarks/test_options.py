"""The options `--membership` and `--protocol`, as pytest itself takes them, in processes of it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from camcast.doors.plugs import MEMBERSHIP_GROUP, PROTOCOL_GROUP, installed
from tests.python_process import python

ROOT = Path(__file__).parents[2]
CONTRACTS = "tests/library/contracts"


def collect(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "pytest", "--collect-only", "-q", *arguments, cwd=ROOT)


def collected(*arguments: str) -> list[str]:
    done = collect(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.rpartition("/")[2] for line in done.stdout.splitlines() if "::" in line]


def parameters(test: str) -> list[str]:
    return test.partition("[")[2].rstrip("]").split("-")


def test_every_suite_is_there_for_every_backend() -> None:
    tests = collected("benchmarks", "--membership=scamp,hybrid,dht")
    for name in ("scamp", "hybrid", "dht"):
        files = {test.partition("::")[0] for test in tests if name in parameters(test)}
        assert files == {
            "test_engine.py",
            "test_live_multicast.py",
            "test_tables.py",
            "test_virtual_network.py",
        }
    for name in ("gateways", "kademlia"):
        assert any(
            test.startswith("test_lookups.py") and name in parameters(test) for test in tests
        )
    files = {test.partition("::")[0] for test in tests}
    assert {"test_codec.py", "test_population.py"} <= files


@pytest.mark.slow  # 2 s; every suite is collected in every run
def test_without_a_choice_scamp_is_measured_and_both_discoveries_are() -> None:
    tests = collected("benchmarks")
    named = {name for test in tests for name in parameters(test)}
    assert {"scamp", "camcast", "gateways", "kademlia"} <= named
    assert not {"hybrid", "dht"} & named


@pytest.mark.slow  # 4 s; every suite is collected in every run
def test_the_contracts_run_for_the_chosen_backends_and_their_discoveries() -> None:
    every, some = collected(CONTRACTS), collected(CONTRACTS, "--membership=hybrid,dht")
    gone = set(every) - set(some)
    assert set(some) < set(every)
    others = {*installed(MEMBERSHIP_GROUP), "gateways", "census"} - {"hybrid", "dht"}
    assert all(others & set(parameters(test)) for test in gone)
    left = {name for test in some for name in parameters(test)}
    # hpmcast is the name of a protocol as well, which has a contract of its own.
    assert not (others - set(installed(PROTOCOL_GROUP))) & left
    assert {"hybrid", "dht", "kademlia"} <= left
    assert any("[" not in test for test in some)


@pytest.mark.parametrize(
    ("folder", "option", "known"),
    [
        (CONTRACTS, "membership", ", ".join(installed(MEMBERSHIP_GROUP))),
        pytest.param(
            *("benchmarks", "protocol", ", ".join(installed(PROTOCOL_GROUP))),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_an_unknown_name_is_a_usage_error(folder: str, option: str, known: str) -> None:
    done = collect(folder, f"--{option}=nonesuch")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert f"unknown {option} 'nonesuch'; there is: {known}" in done.stderr
    assert "Traceback" not in done.stderr
