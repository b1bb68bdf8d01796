"""The baselines' closed forms against each other, and the prediction against the simulator."""

from __future__ import annotations

from math import log, sqrt
from typing import Any

import numpy as np
import pytest

from camcast.research.systems.baselines.model import predict_baseline
from camcast.research.systems.baselines.population import simulate
from camcast.research.systems.baselines.setting import PROTOCOLS, Baseline, baseline
from camcast.research.systems.camcast import message_equations as parasites
from camcast.research.systems.camcast import reliability
from camcast.research.systems.camcast.setting import Setting, chain
from camcast.vocabulary.parameters import Parameters

# -- parasites ---------------------------------------------------------------------------------


def test_parasites_are_copies_to_the_uninterested() -> None:
    assert parasites.flooded_parasites(12, 1110, 10, 0.85) == pytest.approx(12 * 0.85 * 1100)
    assert parasites.flooded_parasites([1.0, 2.0], [[10], [20]], 5).shape == (2, 2)


def test_parasites_refuse_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match="uninterested"):
        parasites.flooded_parasites(5, 10, 11)
    with pytest.raises(ValueError, match="p_succ"):
        parasites.flooded_parasites(5, 10, 5, 1.1)
    with pytest.raises(ValueError, match="fan_out"):
        parasites.flooded_parasites(-1, 10, 5)


# -- the two reliabilities of (c) ---------------------------------------------------------------


def divided(clusters: int, m: int, k1: int, k2: int, between: float, **settings: Any) -> Baseline:
    """A hierarchical broadcast with these fan-outs, everybody interested, and no loss."""
    return Baseline(
        protocol="hierarchical",
        processes=clusters * m,
        interested=clusters * m,
        clusters=clusters,
        c=k1 - log(m) - 0.5,
        c2=k2 - log(clusters) - 0.5,
        between=between,
        tables=(),
        **{"success": 1.0} | settings,
    )


@pytest.mark.parametrize(("k1", "k2"), [(17, 9), (16, 8), (18, 7)])
def test_of_many_clusters_that_send_few_copies_the_printed_form_holds(k1: int, k2: int) -> None:
    """4.5.2 (c), with 1,000 clusters of 3,000, of which k2 copies go to others."""
    predicted = predict_baseline(divided(1000, 3000, k1, k2, 1 / 3000)).reliability
    printed = float(reliability.hierarchical_reliability(1000, k1 - log(3000), k2 - log(1000)))
    assert predicted == pytest.approx(printed, rel=0.02)
    assert 0.3 < printed < 0.9


@pytest.mark.parametrize(("k1", "k2"), [(8, 7), (6, 10), (12, 4)])
def test_of_many_processes_that_use_both_tables_the_other_form_holds(k1: int, k2: int) -> None:
    predicted = predict_baseline(divided(1000, 3000, k1, k2, 1.0)).reliability
    both = float(reliability.gossip_reliability(k1 - log(3000) + k2 - log(1000)))
    assert predicted == pytest.approx(both, rel=0.02)
    assert 0.3 < both < 0.9


def test_with_equal_constants_the_printed_form_is_far_below_both_tables() -> None:
    """(c) with both tables is (a) with c = c1 + c2; docs/research/models.md has the figures."""
    printed = reliability.hierarchical_reliability(30, 2, 2)
    assert printed < 0.016 < 0.98 < reliability.gossip_reliability(4)


# -- the prediction against the simulator ----------------------------------------------------------

# What the module says that a prediction may miss by, besides the simulation's own error.
MISS = {"reception": 0.006, "reliability": 0.025, "rounds": 0.4}
RELATIVE_MISS = 0.006

SETTINGS = {
    f"{protocol}, {weather}": baseline(protocol, setting, published_in=1)
    for weather, setting in (
        ("loss", Setting(communities=chain((400, 150, 50)))),
        ("crashes", Setting(communities=chain((400, 150, 50)), crash=0.3)),
        ("weak", Setting(communities=chain((400, 150, 50)), crash=0.3, weak=True)),
        ("few copies", Setting(communities=chain((400, 150, 50), Parameters(c=-1)), success=1)),
    )
    for protocol in PROTOCOLS
} | {
    "few between": divided(20, 50, 10, 5, 1 / 20),
    "few between, loss": divided(25, 40, 9, 8, 0.1, success=0.85),
    "uneven clusters": baseline(
        "hierarchical", Setting(communities=chain((300, 11))), published_in=1, clusters=14
    ),
}


@pytest.mark.parametrize("name", SETTINGS)
def test_the_prediction_agrees_with_the_simulator(name: str) -> None:
    """Within 4 standard errors (99.99 %) and what the prediction may miss."""
    setting = SETTINGS[name]
    spread, predicted = simulate(setting, 800, 2), predict_baseline(setting)
    share = spread.delivered / spread.alive
    measured = {
        "reception": share,
        "reliability": spread.delivered == spread.alive,
        "messages": spread.messages,
        "between": spread.between,
        "parasite_copies": spread.parasite_copies,
        "rounds": spread.rounds,
    }
    for measure, values in measured.items():
        wanted = getattr(predicted, measure)
        if wanted is not None:
            error = 4 * float(np.std(values)) / sqrt(len(values))
            allowed = MISS.get(measure, RELATIVE_MISS * wanted)
            assert abs(float(np.mean(values)) - wanted) <= error + allowed, measure
    assert (predicted.rounds is None) == (setting.between < 1)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("success", "crash"), [(1.0, 1.0), (0.0, 0.0)])
def test_nothing_arrives_if_all_are_dead_or_everything_is_lost(
    protocol: Any, success: float, crash: float
) -> None:
    given = Setting(communities=chain((80, 20)), success=success, crash=crash)
    setting = baseline(protocol, given, published_in=1)
    predicted, spread = predict_baseline(setting), simulate(setting, 5, 1)
    assert predicted.messages == pytest.approx(spread.messages[0])
    assert predicted.reception == pytest.approx(spread.reception.mean)
    assert predicted.parasite_copies == pytest.approx(0)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_smallest_groups_are_predicted(protocol: Any) -> None:
    alone = predict_baseline(baseline(protocol, Setting(communities=chain((1,)))))
    of_all = [alone.reception, alone.reliability, alone.messages, alone.parasite_copies]
    assert of_all == [1, 1, 0, 0]
    clusters = 2 if protocol == "hierarchical" else None
    setting = Setting(communities=chain((1, 1)), success=1.0)
    two = predict_baseline(baseline(protocol, setting, clusters=clusters))
    assert two.reception == pytest.approx(1)
    assert two.messages == pytest.approx(2)
