"""The models of the three baselines: one event with loss and crashes (000, 4.2).

The one group of (a) and (b) is a community in which the event is published, so that
`camcast.research.systems.camcast.model` predicts it. Of its n processes n_1 are interested, at
random. A process that is missed is interested with probability n_1/n, so that all interested
processes receive the event with the probability that all n do, to the power of n_1/n.

The two levels of (c) are a mean field: f is the share of the living processes that have the event,
p the probability that a copy takes effect, A = n (1 - crash). In a cluster that the event has
reached, a process is missed by all others with probability

    s = (1 - p k1/(m - 1))^(f (A/C - 1)) · (1 - p k2 b/(n - m))^(f A (C - 1)/C),

and a whole cluster, of A/C living processes, is missed with probability

    t = (1 - p b A/(n (C - 1)))^(f k2 A (C - 1)/C),      f = (1 - s)(1 - t),

where b is `Baseline.between`. No interested process is missed with probability e^(-C t - n s),
where f = 1 (all others did send) and n counts the interested processes only. Both f and this are
multiplied by the probability that gossip from one process does not die out. Without loss and for
large n, e^(-C t - n s) becomes

* b = 1/m: C t = e^-c2 and n s = C e^-c1, hence the e^(-C e^-c1 - e^-c2) that 4.5.2 prints;
* b = 1: t is 0, and s = e^-(k1 + k2), hence e^(-e^-(c1 + c2)): both tables work as one table of
  ln n + c1 + c2, which is `reliability.gossip_reliability` of c1 + c2. By 4.4.2 and Equation 5 a
  process stores and sends as much as that, so that the paper takes the messages of one system and
  the reliability of the other. At C = 30, c1 = c2 = 2 the two reliabilities are 0.982 and 0.015.

Where all processes use both tables, rounds are those of one group with the fan-out k1 + k2.

The simulation (tests/research/unit/systems/baselines/test_model.py, groups of 200 to 1,000 in
clusters of 20 to 50) differs by up to 0.006 in reception, 0.025 in reliability, 0.4 in rounds and
0.6 % in counts of copies, if four copies a process or more take effect. The model is not to be used
where fewer do, for clusters of a few processes of which many are dead, or where a cluster passes on
hardly more than one copy: there the number of clusters reached varies, which the mean field does
not.
"""

from __future__ import annotations

from math import exp, log
from typing import Final

from attrs import frozen

from camcast.research.models.event_prediction import EventPrediction
from camcast.research.systems.baselines.setting import Baseline
from camcast.research.systems.camcast.model import Prediction, predict
from camcast.research.systems.camcast.setting import Community, Setting
from camcast.vocabulary.parameters import Parameters

_STEPS: Final = 500  # chosen: the fixed point is within 1e-9 where a copy in two takes effect


@frozen(kw_only=True)
class BaselinePrediction(EventPrediction):
    """The expected values of what `camcast.research.systems.baselines.population` measures."""

    between: float
    """How many of the messages are sent to other clusters."""
    rounds: float | None
    """The last round in which a process sends; None for clusters unless `Baseline.between` is 1."""


def predict_baseline(setting: Baseline) -> BaselinePrediction:
    """Predict the measures of one publication. Deterministic; see the module's text."""
    n, n_1 = setting.processes, setting.interested
    k, k_between = _fan_out(setting), float(setting.fan_out_between) * setting.between
    group = _group(setting)
    assert group.reception is not None
    assert group.reliability is not None, "the publisher is alive"
    alive = 1 + (n - 1) * (1 - setting.stillborn)
    if setting.clusters == 1:  # others: the share of the living that receive, not the publisher
        others = 1.0 if alive <= 1 else max(0.0, (group.reception * alive - 1) / (alive - 1))
        reliability = group.reliability ** ((n_1 - 1) / max(1, n - 1))
    else:
        others, reliability = _two_levels(setting, k)
    wanting = 1 + (n_1 - 1) * (1 - setting.stillborn)
    senders = 1 + (alive - 1) * others
    # a sender that is not interested has one uninterested process fewer among its targets
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
    """Return the mean fan-out within a cluster; some clusters may have one process more."""
    m, larger = setting.cluster_size, setting.larger_clusters
    in_larger = larger * (m + 1) / setting.processes
    return (1 - in_larger) * setting.fan_out(m) + in_larger * setting.fan_out(m + 1)


def _group(setting: Baseline) -> Prediction:
    """Predict one group of all, with the fan-out of both tables."""
    n = setting.processes
    fan_out = setting.fan_out(setting.cluster_size) + setting.fan_out_between
    # half a process less, so that rounding up gives this fan-out and not one more
    c = min(
        100.0, max(-10.0, min(fan_out, n - 1) - log(n) - 0.5)
    )  # [camcast.Parameters.c] its range
    community = Community(size=n, parameters=Parameters(c=c))
    return predict(
        Setting(
            communities=(community,),
            success=setting.success,
            crash=setting.crash,
            weak=setting.weak,
        )
    )[0]


def _two_levels(setting: Baseline, k: float) -> tuple[float, float]:
    """Return the share that receives the event, and the probability that all interested do.

    Neither counts the publisher.
    """
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
    die_out = 0.0  # gossip from one process dies out: the least solution, as in `large_community`
    effect = p * (1 - setting.stillborn)
    for _ in range(_STEPS):
        die_out = (1 - effect + effect * die_out) ** (k + far_copies * sends)
    one, cluster = missed(1.0)
    wanting = (setting.interested - 1) * (1 - setting.stillborn)
    peopled = clusters - 1 if wanting >= 1 else 0.0
    with_interested = peopled * (1 - exp(-wanting / clusters))
    reliability = exp(-with_interested * cluster - wanting * one)
    return share * (1 - die_out), reliability * (1 - die_out)
