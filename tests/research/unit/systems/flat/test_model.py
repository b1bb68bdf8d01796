"""The model of rfpbcast and pmcast against a twin in plain Python and the population simulator."""

from __future__ import annotations

from random import Random
from statistics import NormalDist, mean, stdev

import numpy as np
import pytest

from camcast.research.systems.flat.model import predict_flat
from camcast.research.systems.flat.population import simulate
from camcast.research.systems.flat.setting import FlatSetting, gossip_rounds
from camcast.research.systems.setting_base import SettingError

# 99.99 % each; seeds are fixed
_DEVIATIONS = NormalDist().inv_cdf(0.99995)


def play(setting: FlatSetting, rng: Random) -> tuple[float, bool, int, int]:
    """Play Figures 1 and 2 once: reception, whether all have it, copies, parasites."""
    has, messages, parasites = {0}, 0, 0  # the interested are the first
    for _ in range(setting.rounds):
        for sender in sorted(has):
            others = [one for one in range(setting.processes) if one != sender]
            for target in rng.sample(others, min(setting.fan_out, len(others))):
                if target >= setting.audience:
                    continue
                messages += 1
                if rng.random() >= setting.loss:
                    has.add(target)
                    parasites += target >= setting.interested
    wanting = range(setting.interested)
    share = sum(one in has for one in wanting) / setting.interested
    return share, share == 1, messages, parasites


@pytest.mark.parametrize("sender_filters", [True, False])
def test_a_small_group_is_as_its_twin(sender_filters: bool) -> None:
    setting = FlatSetting(
        processes=16, interested=6, fan_out=3, rounds=5, sender_filters=sender_filters, loss=0.2
    )
    rng = Random(5)
    played = [play(setting, rng) for _ in range(4000)]
    expected = predict_flat(setting)
    told = (expected.reception, expected.reliability, expected.messages, expected.parasite_copies)
    for found, model in zip(zip(*played, strict=True), told, strict=True):
        error = stdev(map(float, found)) / len(found) ** 0.5
        assert abs(mean(found) - model) <= _DEVIATIONS * error


@pytest.mark.parametrize("sender_filters", [True, False])
@pytest.mark.parametrize("loss", [0.0, 0.25])
def test_without_crashes_the_simulation_is_as_the_exact_chain(
    sender_filters: bool, loss: float
) -> None:
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


@pytest.mark.parametrize(
    ("processes", "interested", "sender_filters", "reception", "copies"),
    [
        (110, 10, True, 0.006, 0.02),
        (110, 10, False, 0.006, 0.02),
        (500, 100, True, 0.006, 0.02),  # 99 others: exact
        (300, 60, False, 0.03, 0.06),  # 299 others: Equation 2
        (1110, 1000, True, 0.03, 0.06),
    ],
)
def test_how_far_it_is_from_the_simulation(
    processes: int, interested: int, sender_filters: bool, reception: float, copies: float
) -> None:
    """The differences that the module states, on top of the simulation's own 99.99 %."""
    rounds = gossip_rounds(processes, interested, 2, 0, sender_filters=sender_filters)
    setting = FlatSetting(
        processes=processes,
        interested=interested,
        fan_out=2,
        rounds=rounds,
        sender_filters=sender_filters,
        loss=0.15,
        crash=0.2,
    )
    spread, model = simulate(setting, 2000, 1), predict_flat(setting)
    shares = spread.delivered / spread.alive
    for found, told, allowed in (
        (shares, model.reception, reception),
        (spread.messages / model.messages, 1.0, copies),
    ):
        error = found.std() / len(found) ** 0.5
        assert abs(found.mean() - told) <= allowed + _DEVIATIONS * error
    all_have = float(np.mean(spread.delivered == spread.alive))
    assert abs(all_have - model.reliability) <= 0.02 + _DEVIATIONS * 0.5 / 2000**0.5


def test_alone_and_with_everybody_chosen() -> None:
    alone = predict_flat(
        FlatSetting(processes=1, interested=1, fan_out=2, rounds=0, sender_filters=False)
    )
    of_all = [alone.reception, alone.reliability, alone.messages, alone.parasite_copies]
    assert of_all == [1, 1, 0, 0]
    everybody = predict_flat(
        FlatSetting(processes=5, interested=2, fan_out=9, rounds=1, sender_filters=False)
    )
    assert everybody.reception == pytest.approx(1)
    assert everybody.messages == pytest.approx(4)
    assert everybody.parasite_copies == pytest.approx(3)


def test_too_many_are_refused() -> None:
    setting = FlatSetting(processes=6000, interested=1, fan_out=2, rounds=9, sender_filters=False)
    with pytest.raises(SettingError, match="5,000 at most"):
        predict_flat(setting)
