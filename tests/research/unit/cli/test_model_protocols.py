"""`camcast model --protocol`: what it takes and prints."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from camcast.research.systems.hpmcast.model import predict_addressed
from camcast.research.systems.hpmcast.protocol import Hpmcast
from camcast.research.systems.hpmcast.setting import AddressedSetting
from camcast.research.systems.percolation.model import predict_on_scamp
from camcast.research.systems.percolation.protocol import Percolation
from camcast.research.systems.percolation.setting import ScampOverlay
from membership.scamp.options import ScampOptions
from tests.camcast_command import Capture, answer, camcast


def modelled(capfd: Capture, protocol: str, *settings: str) -> Any:
    given = [part for setting in settings for part in ("--protocol-set", setting)]
    options = ["--sizes", "84,27,7", "--success", 0.9, "--crash", 0.1, "--protocol", protocol]
    return answer(capfd, "model", *options, *given)


def test_hpmcast_has_the_defaults_of_the_shipped_protocol(capfd: Capture) -> None:
    shipped = Hpmcast()
    setting = AddressedSetting(
        processes=118,
        interested=118,
        hierarchy=shipped.hierarchy,
        fan_out=shipped.fan_out,
        loss=1 - 0.9,
        crash=0.1,
    )
    printed = modelled(capfd, "hpmcast")
    assert printed["setting"] == attrs.asdict(setting)
    assert printed["model"] == attrs.asdict(predict_addressed(setting))


def test_percolation_has_the_defaults_of_what_is_shipped(capfd: Capture) -> None:
    setting = ScampOverlay(
        processes=118,
        interested=118,
        gamma=Percolation().gamma,
        c=ScampOptions().c,
        loss=1 - 0.9,
        crash=0.1,
    )
    printed = modelled(capfd, "percolation")
    assert printed["setting"] == attrs.asdict(setting)
    model = predict_on_scamp(setting)
    assert printed["model"]["messages"] == model.messages
    assert printed["model"]["coverage"]["receivers_infinite"] is None


@pytest.mark.parametrize(
    ("protocol", "given", "setting"),
    [
        (
            "hpmcast",
            "published_in=1 arity=4 depth=3 redundancy=2 fan_out=4",
            {
                "hierarchy": {"arity": 4, "depth": 3, "redundancy": 2},
                "interested": 34,
                "fan_out": 4,
            },
        ),
        ("percolation", "published_in=2 gamma=0.2 c=1", {"interested": 7, "gamma": 0.2, "c": 1}),
        ("hierarchical", "clusters=6 c2=1 between=0.5", {"clusters": 6, "c2": 1.0, "between": 0.5}),
    ],
)
def test_a_protocol_takes_its_options(
    protocol: str, given: str, setting: dict[str, object], capfd: Capture
) -> None:
    printed = modelled(capfd, protocol, *given.split())
    assert printed["setting"] == printed["setting"] | setting
    assert (printed["model"].get("rounds") is None) == (protocol != "hpmcast")


def test_flat_gossip_has_the_rounds_of_the_paper(capfd: Capture) -> None:
    """Equations 5 and 9, by hand: ln 120 (1/2 + 1/ln 3) + 2, and ln 20 (1/0.5 + 1/ln 1.5) + 1."""

    def of(protocol: str, *given: object) -> Any:
        options = ["--sizes", "100,20", "--crash", 0.1, "--protocol-set", "published_in=1"]
        return answer(capfd, "model", *options, "--protocol", protocol, *given)

    rfpbcast = of("rfpbcast")
    assert (rfpbcast["setting"]["interested"], rfpbcast["setting"]["fan_out"]) == (20, 2)
    assert rfpbcast["model"]["rounds"] == 9
    assert rfpbcast["model"]["parasite_copies"] > 0
    pmcast = of("pmcast", "--protocol-set", "constant=1")
    assert (pmcast["setting"]["loss"], pmcast["setting"]["crash"]) == (pytest.approx(0.15), 0.1)
    assert pmcast["model"]["rounds"] == 15
    assert pmcast["model"]["parasite_copies"] == 0
    assert of("pmcast", "--protocol-set", "fan_out=1")["model"]["rounds"] == 40


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["hpmcast"], "10 groups, each with 3 delegates"),
        (["percolation"], "Equation 17 diverges"),
        (["percolation", "--protocol-set", "gamma=0", "--success", "0.01"], "Equation 17 holds"),
        (["hierarchical"], "118 processes take part in 11 clusters"),
        (["rfpbcast"], "118 processes take part"),
    ],
)
def test_they_are_printed_for_people(arguments: list[str], told: str, capfd: Capture) -> None:
    assert camcast("model", "--sizes", "84,27,7", "--protocol", *arguments) == 0
    printed = capfd.readouterr().out
    for word in ("reception", "reliability", "messages", "parasite_copies", "118 processes"):
        assert word in printed
    assert ("rounds" in printed) == (arguments[0] != "percolation")
    assert ("entries" in printed) == (arguments[0] != "rfpbcast")
    assert told in printed


@pytest.mark.parametrize("weather", [["--success", "0"], ["--crash", "1"]])
@pytest.mark.parametrize("protocol", ["hpmcast", "percolation"])
def test_in_the_worst_weather_only_the_publisher_has_it(
    protocol: str, weather: list[str], capfd: Capture
) -> None:
    options = ["--sizes", "30,10", "--protocol", protocol, *weather]
    reception = answer(capfd, "model", *options)["model"]["reception"]
    # hpmcast's model leaves a thousandth of the views out, the improbable ones
    assert reception == pytest.approx(1.0 if "--crash" in weather else 1 / 40, rel=1e-3)
