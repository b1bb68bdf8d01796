"""The models of the three baselines: one event with loss and crashes (000, 4.2).

One group ((a), (b)) is a community that the event is published in, so
`camcast.models.camcast.prediction` has it. Of its n processes n_1 are interested, at random:
whoever is missed is one of them with probability n_1/n, so that all of them receive with the
probability of all, to the power of n_1/n.

Two levels ((c)) are a mean field: f is the share of the living that have the event, p the
probability that a copy takes effect, A = n (1 - crash). A process of a cluster that has it is
missed by all others with probability

    s = (1 - p k1/(m - 1))^(f (A/C - 1)) · (1 - p k2 b/(n - m))^(f A (C - 1)/C),

and a whole cluster, of A/C living processes, with probability

    t = (1 - p b A/(n (C - 1)))^(f k2 A (C - 1)/C),      f = (1 - s)(1 - t),

where b is `Baseline.between`; or nobody gets it, as gossip from one process dies out. Nobody is
missed with probability e^(-C t - n s), with f = 1 (all others did send) and the interested for n.
From this come, without loss, for large n,

* b = 1/m: C t = e^-c2 and n s = C e^-c1, hence the e^(-C e^-c1 - e^-c2) that 4.5.2 prints;
* b = 1: t is nothing, and s = e^-(k1 + k2), hence e^(-e^-(c1 + c2)): both tables work as one of
  ln n + c1 + c2. That is what a process stores and sends by 4.4.2 and Equation 5, so that the paper
  takes the messages of one system and the reliability of the other. At C = 30, c1 = c2 = 2 these
  are 0.982 and 0.015.

Where all use both tables, rounds are those of one group with the fan-out k1 + k2.

How far from the simulation (tests/unit/models/test_baselines.py, groups of 200 to 1,000 in clusters
of 20 to 50): reception within 0.006, reliability 0.025, rounds 0.4, counts of copies 0.6 %, if four
copies a process or more take effect. Not to be used where fewer do, for clusters of a few processes
of which many are dead, or where a cluster passes on hardly more than one copy: there the number of
clusters that are reached varies, and the mean field's does not.
"""

from __future__ import annotations

from math import exp, log
from typing import Final

import numpy as np
from attrs import frozen
from numpy.typing import ArrayLike

from camcast.models.camcast.messages import Values
from camcast.models.camcast.prediction import Prediction, predict
from camcast.models.camcast.reliability import gossip_reliability
from camcast.models.event_prediction import EventPrediction
from camcast.settings.baselines import Baseline
from camcast.settings.chain import Community, Setting
from camcast.vocabulary.parameters import Parameters

_STEPS: Final = 500  # chosen: the fixed point is within 1e-9 where a copy in two takes effect


def both_tables_reliability(c1: ArrayLike, c2: ArrayLike) -> Values:
    """Return e^(-e^-(c1 + c2)): (c), if every process sends to both of its tables.

    4.5.2 prints e^(-C e^-c1 - e^-c2), `reliability.hierarchical_reliability`, which is for a
    cluster that sends ln C + c2 copies in all; see the module's text.
    """
    c1 = np.asarray(c1, dtype=np.float64)
    return gossip_reliability(c1 + np.asarray(c2, dtype=np.float64))


@frozen(kw_only=True)
class BaselinePrediction(EventPrediction):
    """The measures of `camcast.population.baselines`, in the mean."""

    between: float
    """Those of the messages that are sent to other clusters."""
    rounds: float | None
    """None where not every process sends to other clusters."""


def predict_baseline(setting: Baseline) -> BaselinePrediction:
    """Predict the measures of one publication. Deterministic; see the module's text."""
    n, n_1 = setting.processes, setting.interested
    k, k_between = _fan_out(setting), float(setting.fan_out_between) * setting.between
    group = _group(setting)
    alive = 1 + (n - 1) * (1 - setting.stillborn)
    if setting.clusters == 1:
        others = _of_others(group.reception, alive)
        reliability = group.reliability ** ((n_1 - 1) / max(1, n - 1))
    else:
        others, reliability = _two_levels(setting, k)
    wanting = 1 + (n_1 - 1) * (1 - setting.stillborn)
    senders = 1 + (alive - 1) * others
    # A copy meets any other process; of a sender that is not interested there is one fewer.
    wanting_senders = 1 + (wanting - 1) * others
    meets = wanting_senders * (n - n_1) + (senders - wanting_senders) * (n - n_1 - 1)
    effect = setting.arrival * (1 - setting.stillborn)
    return BaselinePrediction(
        reception=(1 + (wanting - 1) * others) / wanting,
        reliability=reliability,
        messages=senders * (k + k_between),
        between=senders * k_between,
        parasite_copies=(k + k_between) * effect * meets / max(1, n - 1),
        rounds=group.rounds if setting.clusters == 1 or setting.between == 1 else None,
    )


def _fan_out(setting: Baseline) -> float:
    """Return the mean fan-out within a cluster, of which some may have one process more."""
    m, larger = setting.cluster_size, setting.larger_clusters
    in_larger = larger * (m + 1) / setting.processes
    return (1 - in_larger) * setting.fan_out(m) + in_larger * setting.fan_out(m + 1)


def _group(setting: Baseline) -> Prediction:
    """Predict one group of all, with the fan-out of both tables."""
    n = setting.processes
    fan_out = setting.fan_out(setting.cluster_size) + setting.fan_out_between
    # a half below, so that rounding up cannot take it for one more
    c = min(100.0, max(-10.0, min(fan_out, n - 1) - log(n) - 0.5))  # [Parameters.c] its range
    community = Community(size=n, parameters=Parameters(c=c))
    return predict(
        Setting(
            communities=(community,),
            success=setting.success,
            crash=setting.crash,
            weak=setting.weak,
        )
    )[0]


def _of_others(reception: float, alive: float) -> float:
    """Return the share of the living but the publisher that have the event."""
    return 1.0 if alive <= 1 else max(0.0, (reception * alive - 1) / (alive - 1))


def _two_levels(setting: Baseline, k: float) -> tuple[float, float]:
    """Return the share of the others that have the event, and the probability that all do."""
    n, clusters, p = setting.processes, setting.clusters, setting.arrival
    far_copies, sends = setting.fan_out_between, setting.between
    alive = n * (1 - setting.stillborn)
    m, living = n / clusters, alive / clusters
    to_one = min(1.0, p * k / (m - 1)) if m > 1 else 0.0
    from_afar = min(1.0, p * far_copies * sends / (n - m))
    to_cluster = p * sends * (1 - setting.stillborn) / (clusters - 1)

    def missed(share: float) -> tuple[float, float]:
        far = share * living * (clusters - 1)
        near = (1 - to_one) ** (share * max(0.0, living - 1))
        cluster = (1 - to_cluster) ** (far_copies * far)
        return float(near * (1 - from_afar) ** far), float(cluster)

    share = 1.0
    for _ in range(_STEPS):
        one, cluster = missed(share)
        share = (1 - one) * (1 - cluster)
    die_out = 0.0  # from one process, as in `prediction`: the least solution
    effect = p * (1 - setting.stillborn)
    for _ in range(_STEPS):
        die_out = (1 - effect + effect * die_out) ** (k + far_copies * sends)
    one, cluster = missed(1.0)
    wanting = (setting.interested - 1) * (1 - setting.stillborn)
    peopled = clusters - 1 if wanting >= 1 else 0.0
    with_interested = peopled * (1 - exp(-wanting / clusters))
    reliability = exp(-with_interested * cluster - wanting * one)
    return share * (1 - die_out), reliability * (1 - die_out)
