"""`--protocol` of `camcast simulate population` and `camcast model`: figures, model, errors."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.camcast_command import camcast

MEASURES = ("reception", "reliability", "rounds", "messages", "between", "parasite_copies")


def simulated(capfd: pytest.CaptureFixture[str], protocol: str, *settings: object) -> Any:
    options = ["--sizes", "100,20", "--runs", 30, "--seed", 1, "--json", "--protocol", protocol]
    given = [part for setting in settings for part in ("--protocol-set", setting)]
    assert camcast("simulate", "population", *options, *given) == 0
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("protocol", ["broadcast", "multicast", "hierarchical"])
def test_figures_stand_beside_their_model(protocol: str, capfd: pytest.CaptureFixture[str]) -> None:
    printed = simulated(capfd, protocol, "published_in=1")
    assert printed["setting"]["protocol"] == protocol
    assert printed["setting"]["interested"] == 20
    assert printed["runs"] == 30
    for measure in MEASURES:
        assert printed[measure]["low"] <= printed[measure]["mean"] <= printed[measure]["high"]
    assert printed["model"]["messages"] == pytest.approx(printed["messages"]["mean"], rel=0.02)
    assert (printed["parasite_copies"]["mean"] > 0) == (protocol != "multicast")


def test_the_protocol_takes_its_parameters(capfd: pytest.CaptureFixture[str]) -> None:
    printed = simulated(capfd, "hierarchical", "clusters=6", "c2=1", "between=0.5")
    given = {name: printed["setting"][name] for name in ("clusters", "c2", "between")}
    assert given == {"clusters": 6, "c2": 1.0, "between": 0.5}
    assert printed["model"]["rounds"] is None


def test_a_table_is_printed_for_people(capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--sizes", "100,20", "--runs", 20, "--protocol", "hierarchical"]
    assert camcast("simulate", "population", *options) == 0
    printed = capfd.readouterr().out
    for word in (*MEASURES, "model", "120 processes take part in 11 clusters", "20 runs"):
        assert word in printed


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--protocol", "broadcast", "--protocol-set", "clusters=2"], 2, "are for hierarchical"),
        (["--protocol", "hierarchical", "--protocol-set", "clusters=x"], 2, "a whole number"),
        (["--protocol", "hierarchical", "--protocol-set", "clusters=500"], 2, "do not fill 500"),
        (["--protocol", "hierarchical", "--protocol-set", "gamma=1"], 2, "no option 'gamma'"),
        (["--protocol", "multicast", "--protocol-set", "published_in=2"], 2, "community 2; there"),
        (["--protocol-set", "clusters=2"], 1, "--protocol broadcast, multicast, hierarchical"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(
    arguments: list[str], code: int, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert camcast("simulate", "population", "--sizes", "100,20", *arguments) == code
    printed, error = capfd.readouterr()
    assert printed == ""
    assert error.startswith("camcast: ")
    assert told in error
    assert len(error.splitlines()) == 1


# -- camcast model --------------------------------------------------------------------------------


def modelled(capfd: pytest.CaptureFixture[str], protocol: str, *settings: object) -> Any:
    given = [part for setting in settings for part in ("--protocol-set", setting)]
    options = ["--sizes", "100,20", "--crash", 0.1, "--json", "--protocol", protocol]
    assert camcast("model", *options, *given) == 0
    return json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("protocol", ["broadcast", "multicast", "hierarchical"])
def test_the_model_is_that_beside_the_simulation(
    protocol: str, capfd: pytest.CaptureFixture[str]
) -> None:
    printed = modelled(capfd, protocol, "published_in=1")
    options = ["--sizes", "100,20", "--crash", 0.1, "--runs", 1, "--json", "--protocol", protocol]
    assert camcast("simulate", "population", *options, "--protocol-set", "published_in=1") == 0
    beside = json.loads(capfd.readouterr().out)
    assert printed == {"protocol": protocol} | {name: beside[name] for name in ("setting", "model")}


def test_flat_gossip_has_the_rounds_of_the_paper(capfd: pytest.CaptureFixture[str]) -> None:
    """Equations 5 and 9, by hand: ln 120 (1/2 + 1/ln 3) + 2, and ln 20 (1/0.5 + 1/ln 1.5) + 1."""
    rfpbcast = modelled(capfd, "rfpbcast", "published_in=1")
    assert (rfpbcast["setting"]["interested"], rfpbcast["setting"]["fan_out"]) == (20, 2)
    assert rfpbcast["model"]["rounds"] == 9
    assert rfpbcast["model"]["parasite_copies"] > 0
    pmcast = modelled(capfd, "pmcast", "published_in=1", "constant=1")
    assert (pmcast["setting"]["loss"], pmcast["setting"]["crash"]) == (pytest.approx(0.15), 0.1)
    assert pmcast["model"]["rounds"] == 15
    assert pmcast["model"]["parasite_copies"] == 0
    assert modelled(capfd, "pmcast", "published_in=1", "fan_out=1")["model"]["rounds"] == 40


@pytest.mark.parametrize("protocol", ["hierarchical", "rfpbcast"])
def test_a_model_is_printed_for_people(protocol: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert camcast("model", "--sizes", "100,20", "--protocol", protocol) == 0
    printed = capfd.readouterr().out
    for word in (protocol, "reception", "reliability", "rounds", "messages", "parasite_copies"):
        assert word in printed
    assert "120 processes take part" in printed


def test_camcast_is_a_protocol_too(capfd: pytest.CaptureFixture[str]) -> None:
    assert camcast("model", "--sizes", "100,20") == 0
    by_default = capfd.readouterr().out
    assert camcast("model", "--sizes", "100,20", "--protocol", "camcast") == 0
    assert capfd.readouterr().out == by_default


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--protocol", "nope"], 2, "installed: broadcast, camcast"),
        (["--protocol-set", "clusters=2"], 1, "--protocol broadcast, multicast, hierarchical"),
        (["--protocol", "hierarchical", "--clusters", "2"], 1, "--protocol-set clusters=N"),
        (["--protocol", "hierarchical", "--protocol-set", "clusters=500"], 2, "do not fill 500"),
        (["--protocol", "rfpbcast", "--protocol-set", "gamma=1"], 2, "no option 'gamma'"),
        (["--protocol", "pmcast", "--protocol-set", "published_in=2"], 2, "community 2; there"),
        (["--protocol", "rfpbcast", "--sizes", "9000"], 2, "at most"),
    ],
)
def test_what_is_wrong_with_a_model_is_said_in_one_sentence(
    arguments: list[str], code: int, told: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert camcast("model", "--sizes", "100,20", *arguments) == code
    printed, error = capfd.readouterr()
    assert printed == ""
    assert error.startswith("camcast: ")
    assert told in error
    assert len(error.splitlines()) == 1
