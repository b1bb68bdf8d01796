"""A live run with the parameters that `camcast plan` has written."""

from pathlib import Path

import pytest

from camcast.research.models.binomial import binomial
from tests.camcast_command import Capture, answer

EVENTS = 300
CHAIN = ("--sizes", "40,15,6")


@pytest.mark.slow
def test_the_reliability_of_each_community_is_what_was_planned(
    tmp_path: Path, capfd: Capture
) -> None:
    """The hosts lose nothing. SCAMP's sponsors, which no plan counts on, are left out."""
    file = tmp_path / "p.toml"
    plan = ("plan", *CHAIN, "--success", 1, "--reliability", 0.95, "--output", file)
    planned = answer(capfd, *plan)["communities"]
    given = (*CHAIN, "--parameters", file, "--no-repair", "--set", "sponsors=false")
    amount = ("--events", EVENTS, "--rate", 20, "--output", tmp_path / "out")
    measured = {
        one["processes"]: one for one in answer(capfd, "run", *given, *amount)["communities"]
    }
    for community in planned:
        received = round(EVENTS * measured[community["size"]]["reliability"])
        # So few would be had with less than one in a thousand at the planned reliability.
        law = binomial(EVENTS, community["target"], EVENTS)
        assert law[: received + 1].sum() > 1e-3, community["size"]
