"""rfpbcast and pmcast by the measures that all systems have in common."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest

from camcast.models.flat import predict_flat
from camcast.population.flat import simulate
from camcast.settings.flat import FlatSetting

# 99.99 % each; seeds are fixed
_DEVIATIONS = NormalDist().inv_cdf(0.99995)


@pytest.mark.parametrize("sender_filters", [True, False])
@pytest.mark.parametrize("loss", [0.0, 0.25])
def test_copies_and_parasites_are_the_exact_chains(sender_filters: bool, loss: float) -> None:
    setting = FlatSetting(
        processes=40, interested=15, fan_out=2, rounds=7, sender_filters=sender_filters, loss=loss
    )
    model, spread = predict_flat(setting), simulate(setting, 4000, 3)
    found = {
        "reception": spread.delivered / spread.alive,
        "reliability": (spread.delivered == spread.alive).astype(float),
        "messages": spread.messages,
        "parasite_copies": spread.parasite_copies,
    }
    for name, values in found.items():
        error = float(np.std(values)) / 4000**0.5
        assert abs(float(np.mean(values)) - getattr(model, name)) <= _DEVIATIONS * error + 1e-9
    assert (spread.rounds == model.rounds).all()


def test_every_copy_to_the_living_uninterested_is_a_parasite() -> None:
    """Everybody sends to everybody: of 9, 6 uninterested, all alive, in three rounds."""
    setting = FlatSetting(processes=9, interested=3, fan_out=8, rounds=3, sender_filters=False)
    spread = simulate(setting, 10, 1)
    by_all = 3 * 6 + 6 * 5  # copies in a round, from the interested and from the others
    assert (spread.messages == 8 + 2 * 9 * 8).all()
    assert (spread.parasite_copies == 6 + 2 * by_all).all()
