"""The distribution of reach: against Equation 3's chain, and the simulators against each other.

An event of a gossip dies out, or reaches nearly everybody (002, 1.1.3); a mean reception is of
neither. The classes are those between the measures `reaches_10` to `reaches_99`, counted from the
measures themselves, and compared by chi-square (`tests.research.laws.test_simulators_agree`): a
test fails beyond four standard deviations, which chance exceeds once in 30,000 comparisons.
"""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction

import numpy as np
import pytest

from camcast.research.models.distributions import REACHES
from camcast.research.population.outcome import Outcome
from camcast.research.simulation import static_network
from camcast.research.systems.camcast import count_chain, population
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.vocabulary.parameters import Parameters
from tests.intervals import bounds
from tests.research.laws.test_simulators_agree import (
    DEVIATIONS,
    Measure,
    Simulate,
    apart,
    from_law,
    paper,
    received_law,
)

LEAST = sorted(REACHES.values())


def classes_of(outcome: Outcome) -> Measure:
    """Return for each event how many of `LEAST` it reaches, from the shares that reach each."""
    found = outcome.reach
    shares = [1.0, *(bounds(found[name])[0] for name in REACHES), 0.0]
    counts = [round(share * outcome.runs) for share in shares]
    events = -np.diff(counts)
    return np.repeat(np.arange(len(events)), events)


@pytest.mark.parametrize("fan_out", [2, 3])
@pytest.mark.parametrize("simulate", [population.simulate, count_chain.simulate])
def test_reach_is_distributed_as_the_exact_chain_has_it(simulate: Simulate, fan_out: int) -> None:
    """A fan-out of 2, of which 15 % get lost, dies out in a twentieth of the events."""
    setting = Setting(communities=chain([60], Parameters(c=fan_out - 4.1)), success=0.85)
    assert setting.communities[0].fan_out == fan_out
    law = dict.fromkeys(range(len(LEAST) + 1), 0.0)
    for count, p in received_law(60, fan_out, Fraction(17, 20), Fraction(0)).items():
        law[bisect_right(LEAST, count / 60)] += p
    assert len([p for p in law.values() if p > 0.01]) >= 3, "too few classes to tell"
    (community,) = simulate(setting, 4000, 3, 0).communities
    assert from_law(classes_of(community), law) < DEVIATIONS


@pytest.mark.slow
def test_an_event_reaches_nobody_at_the_root_or_nearly_all() -> None:
    """000, 6.1.1: the root of 1000, 100, 10 where half of the upward copies get lost."""
    setting = Setting(communities=paper(0.5, False).communities, success=0.5)
    outcomes = [
        simulate(setting, 2000, seed, 0).communities[2]
        for simulate, seed in ((population.simulate, 4), (count_chain.simulate, 5))
    ]
    assert apart(*map(classes_of, outcomes)) < DEVIATIONS
    for outcome in outcomes:
        reach = {name: bounds(interval)[0] for name, interval in outcome.reach.items()}
        some, most = reach["reaches_25"], reach["reaches_75"]
        assert reach["reach_p5"] == 0
        assert some - most < 0.1 < 1 - some, "no two humps"


@pytest.mark.slow
def test_the_code_that_ships_reaches_what_the_population_does() -> None:
    """The virtual network, 100 events: a class that is a fifth of them too large shows."""
    setting = paper(0.3, False)
    shipped = static_network.simulate(setting, 100, 6, 0).communities
    known = population.simulate(setting, 4000, 7, 0).communities
    for one, other in zip(shipped, known, strict=True):
        assert apart(classes_of(one), classes_of(other)) < DEVIATIONS
