"""All that the models say of one hpmcast setting (002, 5.2)."""

from __future__ import annotations

from math import fsum
from typing import Final

from attrs import frozen

from camcast.research.systems.hpmcast import equations as hpmcast
from camcast.research.systems.hpmcast.levels import predicted_reliability
from camcast.research.systems.hpmcast.pmcast_law import SUSCEPTIBLE_MAX
from camcast.research.systems.hpmcast.tree_setting import HpmcastSetting
from camcast.research.systems.hpmcast.view_equations import average_informed, interest_share

VIEW_MAX: Final = SUSCEPTIBLE_MAX  # processes in a view; the chains take seconds


@frozen(kw_only=True)
class HpmcastPrediction:
    """The predictions of the closed forms and chains; None where they give none."""

    reception: float | None
    """Level by level (`systems.hpmcast.levels`); None if a view is too large, or p_1 0."""
    reception_printed: float | None
    """r_1 r_2 … r_l of Equation 23, each level begun by one; likewise None."""
    rounds: float | None
    """Figure 6's: the periods of all levels; None if they are measured, and so vary."""
    rounds_printed: float
    """T_tot of Equation 20, with (1 - ε)(1 - τ)."""
    rounds_shortened: float
    """T'_tot of Equation 21."""
    parasites: float | None
    """Uninterested delegates, if nobody is missed; None with a threshold, loss or crashes."""
    view: float
    """m of Equation 18."""
    updated: float
    """u_upd of Equation 35: how many know a process, on average."""


def predict(setting: HpmcastSetting) -> HpmcastPrediction:
    """Return the prediction; takes seconds for views of 100 to `VIEW_MAX` processes."""
    a, depth, R, F = setting.arity, setting.depth, setting.redundancy, setting.fan_out
    arrival = (1 - setting.loss) * (1 - setting.crash)
    small = max(map(setting.view_of, range(1, depth + 1))) <= VIEW_MAX
    calm = setting.loss == setting.crash == setting.threshold == 0
    levels = range(1, depth + 1)
    rounds = printed = None
    if setting.estimate == "expected":
        # the threshold applies with one hit as it does wherever somebody is interested
        periods = [setting.periods(i, 0, few=setting.is_few(i, 1)) for i in levels]
        rounds = fsum(periods)
        if small and setting.threshold == 0:
            printed = hpmcast.reliability(
                [
                    hpmcast.entity_infected(a, R, F, setting.interested, level, period, arrival)
                    for level, period in zip(levels, periods, strict=True)
                ]
            )
    given = (a, depth, R, F, setting.interested, arrival)
    return HpmcastPrediction(
        reception=predicted_reliability(setting) if small and setting.interested else None,
        reception_printed=printed,
        rounds=rounds,
        rounds_printed=hpmcast.total_rounds(*given),
        rounds_shortened=hpmcast.shortened_rounds(*given),
        parasites=uninterested_delegates(a, depth, R, setting.interested) if calm else None,
        view=float(setting.view),
        updated=float(average_informed(a, depth, R)),
    )


def uninterested_delegates(arity: int, depth: int, redundancy: int, interested: float) -> float:
    """Return how many uninterested processes receive an event, if nobody is missed; D = 0.

    "hpmcast is a feigned multicast" (002, 5.1.1): a delegate receives what interests somebody it
    stands for. Of a subsystem of level i with somebody interested the R delegates get the event,
    whose own subsystem of level i - 1 need not be interested. By levels i = 1 to l - 1,

        a^(l-i) R (1-p_1) ((1-p_1)^(a^(i-1) - 1) - (1-p_1)^(a^i - 1))

    on average: those whose interested company begins at level i. Raises `ValueError` for p_1
    outside [0, 1].
    """
    interest_share(interested, 1)  # checks it
    left = 1.0 - interested
    total = 0.0
    for level in range(1, depth):
        alone = left ** (arity ** (level - 1) - 1) - left ** (arity**level - 1)
        total += arity ** (depth - level) * redundancy * left * alone
    return total
