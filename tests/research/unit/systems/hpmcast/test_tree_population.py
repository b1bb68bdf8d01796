"""The simulators of 002 against twins, exact chains and models; `camcast simulate hpmcast`.

Distributions are compared by chi-square (tests/research/laws/test_simulators_agree.py), beyond 4
standard deviations a test fails: by chance once in 30,000 comparisons. There are 60 here.

These tests can fail. Twenty-one errors were made on purpose, one at a time, and each was noticed:

* the kernel: senders among their targets; the count of rounds begins anew with each copy; only the
  first delegate is sent to; no loss; D + 1 for D; the rounds of a view without D; the dead receive;
  targets twice; a process counts itself into a view it is not in; a period for going down; parasite
  copies counted once;
* flat gossip: targets twice; senders among them; those reached send in the same round; a dead
  publisher;
* `LevelGossip`: the count begins anew; itself among its targets; no filter; processes where it
  should count lines times R;
* the model: delegates still need the event; those of the own line that have it are counted twice.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from camcast.research.models.distributions import LOAD_QUANTILES, REACH
from camcast.research.population.outcome import joined
from camcast.research.systems.flat import population as pmcast
from camcast.research.systems.flat.setting import FlatSetting
from camcast.research.systems.hpmcast import tree_population as hpmcast
from camcast.research.systems.hpmcast.levels import predicted_reliability
from camcast.research.systems.hpmcast.pmcast_law import new_infected_law
from camcast.research.systems.hpmcast.tree_model import uninterested_delegates
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.research.systems.setting_base import SettingError
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.intervals import bounds
from tests.research.laws.test_simulators_agree import DEVIATIONS, apart, from_law
from tests.research.unit.systems.hpmcast.hpmcast_twin import Twin, figure6, gossip_network

TWIN_RUNS = 500
RUNS = 5000

SETTINGS = {
    "measured": HpmcastSetting(
        *(), arity=3, depth=3, redundancy=2, interested=0.3, loss=0.1, crash=0.15, threshold=3,
        estimate="measured",
    ),
    "expected": HpmcastSetting(arity=4, depth=2, redundancy=3, fan_out=3, interested=0.25),
    "expected, D": HpmcastSetting(
        arity=3, depth=3, redundancy=1, fan_out=2, interested=0.15, loss=0.2, threshold=2
    ),
    "one level": HpmcastSetting(
        *(), arity=6, depth=1, redundancy=2, fan_out=7, interested=0.3, loss=0.5, crash=0.2,
        threshold=4, estimate="measured",
    ),
}  # fmt: skip


@pytest.mark.parametrize("twin", [figure6, gossip_network], ids=lambda twin: twin.__name__)
@pytest.mark.parametrize(
    "name",
    [pytest.param(one, marks=[pytest.mark.slow] * (one != "one level")) for one in SETTINGS],
)
def test_the_kernel_is_figure_6(name: str, twin: Twin) -> None:
    """And so is `LevelGossip`, which live processes use."""
    setting = SETTINGS[name]
    counted = [twin(setting, seed) for seed in range(TWIN_RUNS)]
    spread = hpmcast.simulate(setting, RUNS, 1)
    for measure in counted[0]:
        values = np.array([run[measure] for run in counted])
        assert apart(values, getattr(spread, measure)) < DEVIATIONS, measure


def test_a_run_depends_on_the_setting_the_seed_and_its_number() -> None:
    setting = HpmcastSetting(arity=5, depth=3, redundancy=2, interested=0.2, loss=0.1)
    whole = hpmcast.simulate(setting, 12, 5)
    parts = [hpmcast.simulate(setting, 5, 5), hpmcast.simulate(setting, 7, 5, 5)]
    together = joined([part.counts() for part in parts])
    assert together.counts() == whole.counts()
    assert together.measures() == whole.measures()
    assert hpmcast.simulate(setting, 12, 6).counts() != whole.counts()


def test_everybody_gets_it_if_everybody_is_told() -> None:
    """A fan-out of all others: nobody is missed, at whatever level, and the R of all are told."""
    setting = HpmcastSetting(arity=4, depth=3, redundancy=2, fan_out=99, interested=0.4)
    spread = hpmcast.simulate(setting, 200, 1)
    assert (spread.delivered == spread.alive).all()
    _, low, high = bounds(spread.measures()["parasites"])
    assert low <= uninterested_delegates(4, 3, 2, 0.4) <= high


def test_nobody_interested_nobody_disturbed() -> None:
    """The threshold adds to an audience; it does not make one."""
    for threshold in (0, 10):
        for estimate in ("expected", "measured"):
            spread = hpmcast.simulate(
                HpmcastSetting(interested=0.0, threshold=threshold, estimate=estimate), *(3, 1)
            )
            assert not spread.messages.any()
            assert hpmcast.reception(spread).mean is None


def test_the_publisher_leaves_itself_out_where_it_is_in_the_view() -> None:
    """If all copies are lost it alone sends: to two others of its group, and above to all three
    delegates, or two if it is one, as a third of the processes are (to four standard errors)."""
    setting = HpmcastSetting(
        *(), arity=3, depth=2, redundancy=1, fan_out=99, interested=1.0, loss=1.0
    )  # fmt: skip
    rounds = setting.periods(2, 3, few=False)
    assert rounds == setting.periods(1, 3, few=False) > 0
    found = hpmcast.simulate(setting, 2000, 1)
    assert (found.rounds == 2 * rounds).all()
    assert sorted(np.unique(found.messages)) == [4 * rounds, 5 * rounds]
    delegates = (found.messages == 4 * rounds).mean()
    assert abs(delegates - 1 / 3) < 4 * np.sqrt(2 / 9 / 2000)


def test_all_dead_but_the_publisher() -> None:
    spread = hpmcast.simulate(HpmcastSetting(arity=5, crash=1.0), 5, 1)
    assert not spread.alive.any()
    assert not spread.parasites.any()
    assert spread.messages.any()


def test_if_all_deliver_the_interval_is_of_all_processes() -> None:
    spread = hpmcast.simulate(HpmcastSetting(arity=10, interested=1.0, fan_out=9), 10, 1)
    mean, low, _ = bounds(hpmcast.reception(spread))
    assert mean == 1.0
    assert 0.999 < low < 1


@pytest.mark.parametrize(
    "setting",
    [
        HpmcastSetting(interested=0.5),
        HpmcastSetting(interested=0.1),
        HpmcastSetting(interested=0.02),
        HpmcastSetting(interested=0.01),
        HpmcastSetting(interested=0.1, estimate="measured"),
        HpmcastSetting(interested=0.02, estimate="measured"),
        HpmcastSetting(interested=0.01, threshold=6),
        HpmcastSetting(interested=0.02, threshold=12, estimate="measured"),
        HpmcastSetting(interested=0.3, loss=0.2, crash=0.2),
        HpmcastSetting(arity=40, depth=2, redundancy=2, fan_out=3, interested=0.2),
    ],
    ids=str,
)
def test_the_model_s_reliability_is_within_the_interval(setting: HpmcastSetting) -> None:
    """99.99 % of true means are within twice a 95 % interval; ten comparisons."""
    mean, low, high = bounds(hpmcast.reception(hpmcast.simulate(setting, 150, 3)))
    half = max(high - mean, mean - low)
    assert abs(predicted_reliability(setting) - mean) < 2 * half


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"arity": 1}, "arity is 1"),
        ({"depth": 0}, "depth is 0"),
        ({"fan_out": 0}, "fan_out is 0"),
        ({"redundancy": 23}, "redundancy is 23"),
        ({"threshold": -1}, "threshold is -1"),
        ({"estimate": "guessed"}, "guessed"),
        ({"arity": 1000, "depth": 1000}, "too many"),
    ],
)
def test_a_setting_out_of_range(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        HpmcastSetting(**wrong)


# --- rfpbcast and pmcast ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("processes", "interested", "fan_out", "rounds", "filters", "loss"),
    [
        (30, 12, 3, 3, False, 0.2),
        (6, 3, 9, 1, True, 0.4),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in (
                (30, 30, 3, 4, False, 0.0),
                (30, 12, 3, 9, True, 0.1),
                (22, 5, 2, 6, True, 0.0),
            )
        ),
    ],
)
def test_flat_gossip_is_the_exact_chain(
    processes: int, interested: int, fan_out: int, rounds: int, filters: bool, loss: float
) -> None:
    """After every round."""
    setting = FlatSetting(
        processes=processes,
        interested=interested,
        fan_out=fan_out,
        rounds=rounds,
        sender_filters=filters,
        loss=loss,
    )
    spread = pmcast.simulate(setting, 10_000, 1)
    for at in range(rounds + 1):
        law = new_infected_law(processes - 1, setting.audience - 1, fan_out, at, 1 - loss)
        new = {count: float(p) for count, p in enumerate(law) if p > 1e-15}
        assert from_law(spread.infected_by_round[:, at] - 1, new) < DEVIATIONS


@pytest.mark.slow
def test_the_dead_are_choices_in_vain() -> None:
    """Of 15, so many are alive, and a copy to another one is wasted."""
    setting = FlatSetting(
        *(), processes=15, interested=15, fan_out=2, rounds=4, sender_filters=False, crash=0.3
    )  # fmt: skip
    spread = pmcast.simulate(setting, 20_000, 2)
    for alive in (8, 10, 12):
        chosen = spread.alive == alive
        law = dict(enumerate(map(float, new_infected_law(14, alive - 1, 2, 4))))
        assert from_law(spread.infected_by_round[chosen, -1] - 1, law) < DEVIATIONS


def test_several_may_begin() -> None:
    setting = FlatSetting(
        processes=12, interested=12, fan_out=2, rounds=2, sender_filters=True, infected=3
    )
    spread = pmcast.simulate(setting, 10_000, 3)
    law = dict(enumerate(map(float, new_infected_law(11, 9, 2, 2, 1.0, 3))))
    assert from_law(spread.infected_by_round[:, -1] - 3, law) < DEVIATIONS


def test_flat_messages() -> None:
    """Everybody that has the event sends F copies a round with rfpbcast."""
    setting = FlatSetting(
        processes=40, interested=1, fan_out=3, rounds=5, sender_filters=False, loss=0.3
    )
    spread = pmcast.simulate(setting, 100, 6)
    assert (spread.messages == 3 * spread.infected_by_round[:, :-1].sum(axis=1)).all()
    assert all((b >= a).all() for a, b in pairwise(spread.infected_by_round.T))


def test_every_copy_to_the_living_uninterested_is_a_parasite() -> None:
    """Everybody sends to everybody: of 9, 6 uninterested, all alive, in three rounds."""
    setting = FlatSetting(processes=9, interested=3, fan_out=8, rounds=3, sender_filters=False)
    spread = pmcast.simulate(setting, 10, 1)
    by_all = 3 * 6 + 6 * 5  # copies in a round, from the interested and from the others
    assert (spread.messages == 8 + 2 * 9 * 8).all()
    assert (spread.parasite_copies == 6 + 2 * by_all).all()


@pytest.mark.parametrize(
    "wrong", [{"interested": 0}, {"interested": 9}, {"fan_out": 0}, {"rounds": -1}, {"infected": 3}]
)
def test_a_flat_setting_out_of_range(wrong: dict[str, int]) -> None:
    given: dict[str, Any] = {"processes": 8, "interested": 2, "fan_out": 1, "rounds": 1} | wrong
    with pytest.raises(SettingError, match=next(iter(wrong))):
        FlatSetting(sender_filters=True, **given)


# --- the command --------------------------------------------------------------------------------


def test_the_command_prints_what_it_says(capfd: Capture) -> None:
    options = ["--arity", 22, "--depth", 3, "--redundancy", 3, "--fanout", 2, "--interested", 0.5]
    printed = answer(capfd, "simulate", "hpmcast", *options, "--runs", 30, "--seed", 1)
    loads = [
        f"load_{of}_{name}" for of in ("sent", "received") for name in (*LOAD_QUANTILES, "peak")
    ]
    loads += ["load_sent_publishers", "load_sent_delegates"]
    figures = ["reception", *REACH, "rounds", "messages", "parasites", *loads]
    assert printed.keys() == {"setting", "processes", *figures, "view", "model"}
    assert printed["processes"] == 22**3
    assert printed["view"] == 154
    for name in figures:
        assert printed[name]["low"] <= printed[name]["mean"] <= printed[name]["high"]
    assert printed["reception"]["low"] > 0.998
    assert printed["model"]["reception"] == pytest.approx(printed["reception"]["mean"], abs=2e-4)
    assert printed["model"]["rounds"] == printed["rounds"]["mean"]


def test_the_command_splits_runs_into_cells(capfd: Capture) -> None:
    """203 runs of 10,648 are three cells; they are those of one simulation."""
    printed = answer(capfd, "simulate", "hpmcast", "--interested", 0.01, "--runs", 203)
    whole = hpmcast.simulate(HpmcastSetting(interested=0.01), 203, 1).measures()
    for name in ("reception", "rounds", "messages", "parasites"):
        assert printed[name] == whole[name].as_json()


def test_the_command_shows_a_table(capfd: Capture) -> None:
    assert camcast("simulate", "hpmcast", "--arity", 5, "--interested", 0, "--runs", 2) == 0
    assert "125 processes, each knows 35" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [(["--redundancy", 23], "redundancy is 23"), (["--depth", 9], "too many")],
)
def test_the_command_says_what_is_wrong(
    options: list[object], message: str, capfd: Capture
) -> None:
    code, error = refusal(capfd, "simulate", "hpmcast", *options)
    assert (code, message in error, len(error.splitlines())) == (2, True, 1), error
