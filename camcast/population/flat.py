"""The population simulator of rfpbcast and pmcast: gossip of everybody to everybody (002, 2).

Every process knows all n others. In each of T rounds whoever has the event chooses F distinct
others. With rfpbcast (Figure 1) each of them gets a copy, and filters on reception; with pmcast
(Figure 2) those that are interested do. So both are one process: copies go to the *audience*,
which is everybody or the interested, and a choice of anybody else is wasted.

The publisher is one of the interested and alive. Another process is dead from the beginning with
probability `crash`, where Equation 1 lets each copy meet its receiver crashed anew; a copy is
lost with probability `loss`.
"""

from __future__ import annotations

from math import inf
from typing import Final

import numpy as np
from attrs import field, frozen, validators
from numba import njit
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.population.event_spread import EventSpread
from camcast.population.floyd import choose_by
from camcast.population.spread import Counts, Interval, mean_interval
from camcast.settings.setting import SettingError
from camcast.vocabulary.streams import stream

PROCESSES_MAX: Final = 10**7  # chosen: some seconds a run
ROUNDS_MAX: Final = 10_000  # chosen: bounds what a run returns

_compiled: Final = njit(cache=True, nogil=True)
_PROBABILITY: Final = [validators.ge(0.0), validators.le(1.0)]


@frozen(kw_only=True)
class FlatSetting:
    """What is simulated. Raises `SettingError` or `ValueError` for what is out of range."""

    processes: int
    """n, the publisher among them."""
    interested: int
    """n_1 = n p_1, the publisher among them."""
    fan_out: int
    """F: distinct others that are chosen in a round."""
    rounds: int
    """T: for how many rounds the event is in the system."""
    sender_filters: bool
    """pmcast if true, else rfpbcast."""
    loss: float = field(default=0.0, validator=_PROBABILITY)
    crash: float = field(default=0.0, validator=_PROBABILITY)
    infected: int = field(default=1)
    """How many of the interested have the event in the beginning, and are alive."""

    def __attrs_post_init__(self) -> None:
        limits = {
            "processes": (1, PROCESSES_MAX),
            "interested": (1, self.processes),
            "infected": (1, self.interested),
            "fan_out": (1, inf),
            "rounds": (0, ROUNDS_MAX),
        }
        for name, (least, most) in limits.items():
            if not least <= getattr(self, name) <= most:
                raise SettingError(f"{name} is {getattr(self, name)}; give {least} to {most:,}")

    @property
    def audience(self) -> int:
        """How many processes copies are sent to."""
        return self.interested if self.sender_filters else self.processes


@frozen(eq=False)
class FlatSpread:
    """Counts by run."""

    alive: Counts
    """The living of the interested, those included that have the event in the beginning."""
    delivered: Counts
    """The living interested that have the event, by run and round 0 to T."""
    infected: Counts
    """All that have the event, by run and round 0 to T."""
    messages: Counts
    """Copies sent, whatever becomes of them."""
    parasite_copies: Counts
    """Copies that arrive at living uninterested processes, each counted."""

    @property
    def reliability(self) -> Interval:
        """The share of the living interested that deliver, in the mean over runs."""
        return mean_interval(self.delivered[:, -1] / self.alive, 0.0, 1.0)

    @property
    def parasites(self) -> Counts:
        """Uninterested processes that receive the event in the end; 0 with pmcast."""
        return self.infected[:, -1] - self.delivered[:, -1]

    @property
    def completion(self) -> Counts:
        """The round after which all living interested have the event; -1 where they never do."""
        complete = self.delivered == self.alive[:, None]
        return np.where(complete.any(axis=1), complete.argmax(axis=1), -1)

    @property
    def events(self) -> EventSpread:
        """What came of the events, by the measures that all systems have in common."""
        return EventSpread(
            alive=self.alive,
            delivered=self.delivered[:, -1],
            rounds=np.full(len(self.alive), self.infected.shape[1] - 1),
            messages=self.messages,
            parasites=self.parasite_copies,
        )


def simulate(setting: FlatSetting, runs: int, seed: int, first_run: int = 0) -> FlatSpread:
    """Simulate the runs `first_run` and following; each is the same however they are split."""
    living = np.zeros(runs, np.int64)
    delivered = np.zeros((runs, setting.rounds + 1), np.int64)
    infected = np.zeros((runs, setting.rounds + 1), np.int64)
    messages = np.zeros(runs, np.int64)
    parasite_copies = np.zeros(runs, np.int64)
    for run in range(runs):
        bits = stream(seed, "protocol", "pmcast", first_run + run).getrandbits(128)
        rng = Generator(PCG64(bits))
        alive = rng.random(setting.audience) >= setting.crash
        alive[: setting.infected] = True
        living[run] = np.count_nonzero(alive[: setting.interested])
        messages[run], again = _spread(
            rng, setting.processes, setting.interested, setting.fan_out, float(setting.loss), alive,
            *(setting.infected, delivered[run], infected[run]),
        )  # fmt: skip
        new = infected[run, -1] - delivered[run, -1]
        parasite_copies[run] = new + rng.binomial(again, 1 - setting.loss)
    return FlatSpread(living, delivered, infected, messages, parasite_copies)


@_compiled
def _spread(
    rng: Generator,
    processes: int,
    interested: int,
    fan_out: int,
    loss: float,
    alive: NDArray[np.bool_],
    begin: int,
    delivered: NDArray[np.int64],
    infected: NDArray[np.int64],
) -> tuple[int, int]:
    """Spread an event; the audience are the first of the processes, the interested first of all.

    Fills in who has it round by round. Returns how many copies were sent, and how many of them to
    the uninterested that had it already: of those it is not drawn here which ones get lost.
    """
    has = np.zeros(len(alive), np.bool_)
    order = np.empty(len(alive), np.int64)
    for first in range(begin):
        has[first], order[first] = True, first
    reached, reached_interested, messages, again = begin, begin, 0, 0
    delivered[0], infected[0] = begin, begin
    count = min(fan_out, processes - 1)
    targets = np.empty(count, np.int64)
    for number in range(1, len(infected)):
        for index in range(infected[number - 1]):
            sender = order[index]
            choose_by(rng, targets, processes - 1)
            for chosen in range(count):
                target = targets[chosen]
                if target >= sender:
                    target += 1
                if target >= len(alive):
                    continue
                messages += 1
                again += has[target] and target >= interested
                if has[target] or not alive[target] or (loss > 0 and rng.random() < loss):
                    continue
                has[target], order[reached] = True, target
                reached += 1
                if target < interested:
                    reached_interested += 1
        delivered[number], infected[number] = reached_interested, reached
    return messages, again
