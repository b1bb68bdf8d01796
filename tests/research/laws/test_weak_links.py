"""Weakly linked communities (000, 4.3.1): the simulators agree with each other and with the model.

Each community has a probability of its own that a copy within it arrives, and one that an upward
copy does. Settings are drawn by seed.
"""

from __future__ import annotations

from random import Random

import pytest

from camcast.research.simulation import static_network
from camcast.research.systems.camcast import count_chain, population
from camcast.research.systems.camcast.model import predict
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.vocabulary.parameters import Parameters
from tests.intervals import bounds
from tests.research.laws.test_simulators_agree import DEVIATIONS, weakly_linked, worst

MODEL_ERROR = 0.02  # docs/research/models.md: .005 in the paper's setting, more where k·r is small


def drawn(seed: int) -> Setting:
    """Draw two to four communities; gossip survives in all of them, as the model asks."""
    rng = Random(seed)
    sizes = sorted((rng.randint(5, 60) for _ in range(rng.randint(2, 4))), reverse=True)
    parameters = Parameters(
        c=rng.uniform(2, 5), g=rng.randint(1, 6), a=rng.randint(1, 2), z=rng.randint(2, 4)
    )
    within = [rng.choice([None, rng.uniform(0.6, 1)]) for _ in sizes]
    upward = [rng.choice([None, rng.uniform(0.1, 1)]) for _ in sizes]
    crash = rng.choice([0.0, rng.uniform(0, 0.3)])
    communities = weakly_linked(chain(sizes, parameters), within, upward)
    return Setting(communities=communities, success=0.85, crash=crash, weak=rng.random() < 0.5)


QUICK = (2,)  # the smallest with weak upward links


@pytest.mark.parametrize(
    "seed",
    [pytest.param(n, marks=[] if n in QUICK else [pytest.mark.slow]) for n in range(1, 14)],
)
def test_three_simulators_and_the_model_agree(seed: int) -> None:
    setting = drawn(seed)
    whole = population.simulate(setting, 4000, seed, 0)
    for other in (
        count_chain.simulate(setting, 1000, seed + 1, 0),
        static_network.simulate(setting, 40, seed + 2, 0),
    ):
        deviation, where = worst(whole, other)
        assert deviation < DEVIATIONS, where
    for outcome, prediction in zip(whole.communities, predict(setting), strict=True):
        for measure in ("reception", "reliability"):
            mean, low, high = bounds(getattr(outcome, measure))
            spread = (high - low) / 2 * DEVIATIONS / 1.96
            assert abs(mean - getattr(prediction, measure)) <= spread + MODEL_ERROR, measure
