"""The models of rfpbcast and pmcast: one event with loss and crashes, by a chain (002, 2).

The chain counts the processes that have the event. Its population are the processes that get
copies: all of rfpbcast, the interested of pmcast. For up to `pmcast_law.SUSCEPTIBLE_MAX` others it
is the exact chain. For more it is the chain of Equation 2, which takes the F targets of one sender
for independent; for pmcast the probability that a sender chooses a given other is F/(n - 1), where
Equation 6 prints more (`camcast.research.systems.pmcast.pmcast_equations`). The population is
reduced by the expected number of the dead. After T rounds all forget the event.

Against the simulation (tests/research/unit/systems/flat/test_model.py) the exact chain errs only as
the number of the dead varies; Equation 2 has reception up to 0.03 and copies up to 6 % too low.
"""

from __future__ import annotations

import numpy as np
from attrs import frozen

from camcast.research.models.event_prediction import EventPrediction
from camcast.research.systems.flat.setting import FlatSetting
from camcast.research.systems.hpmcast.counts import gossiped
from camcast.research.systems.rfpbcast.rfpbcast_equations import SIZE_MAX
from camcast.research.systems.setting_base import SettingError


@frozen(kw_only=True)
class FlatPrediction(EventPrediction):
    """The measures of one event in rfpbcast or pmcast."""

    rounds: int
    """T, for how many rounds the event is gossiped."""


def predict_flat(setting: FlatSetting) -> FlatPrediction:
    """Predict the measures of one publication. Deterministic; see the module's text.

    One process has the event in the beginning. Raises `SettingError` if more than
    `rfpbcast.SIZE_MAX` living processes get copies.
    """
    n, n_1, audience = setting.processes, setting.interested, setting.audience
    alive = 1 + round((audience - 1) * (1 - setting.crash))
    if alive > SIZE_MAX:
        raise SettingError(f"{alive:,} processes get copies; the chain takes {SIZE_MAX:,} at most")
    wanting = 1 + round((n_1 - 1) * (1 - setting.crash))
    given = (max(1, n - 1), alive - 1, setting.fan_out, setting.rounds, 1 - setting.loss)
    law, gossips = gossiped(*given, senders=1)
    sending = setting.rounds + gossips  # summed over the rounds
    others = float(law @ np.arange(alive)) / max(1, alive - 1)
    # P(no missed process is interested): the missed are drawn without replacement
    missed = np.arange(alive - 1)
    spared = np.cumprod([1.0, *((alive - wanting - missed).clip(0) / (alive - 1 - missed))])
    fan_out = min(setting.fan_out, n - 1)
    uninterested = (n - n_1) / max(1, n - 1)  # among the targets of an interested process
    # an uninterested process has one of them fewer among its targets, as it is one itself
    itself = (sending - setting.rounds) * uninterested / max(1, n - 1)
    effect = (1 - setting.loss) * (1 - setting.crash)
    parasites = fan_out * (sending * uninterested - itself) * effect
    return FlatPrediction(
        reception=(1 + (wanting - 1) * others) / wanting,
        reliability=float(law @ spared[::-1]),
        messages=fan_out * sending * ((1 - uninterested) if setting.sender_filters else 1.0),
        parasite_copies=0.0 if setting.sender_filters else parasites,
        rounds=setting.rounds,
    )
