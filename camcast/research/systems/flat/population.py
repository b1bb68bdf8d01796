"""The population simulator of rfpbcast and pmcast: gossip of everybody to everybody (002, 2).

Every process knows all others. In each of T rounds every process that has the event chooses F
distinct others. With rfpbcast (Figure 1) each of them is sent a copy, and filters on reception;
with pmcast (Figure 2) only the interested ones are. One kernel simulates both: copies go to the
*audience*, all processes or the interested ones, and nothing is sent to other choices.

The publisher is interested and alive. Another process is dead from the beginning with probability
`crash`, where Equation 1 draws again for each copy whether its receiver has crashed; a copy is lost
with probability `loss`.

*The load of a process* is counted with 4 bytes for what it sends, and 4 for the copies that come
when it has the event. How many of these are lost changes nothing in the spread, and is drawn at the
end.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from attrs import frozen
from numba import njit
from numpy.random import PCG64, Generator
from numpy.typing import NDArray

from camcast.research.population.floyd import choose_by
from camcast.research.population.load_counts import LoadColumns, enter_processes
from camcast.research.population.outcome import Counts, Outcome
from camcast.research.systems.flat.setting import FlatSetting
from camcast.vocabulary.streams import stream

_compiled: Final = njit(cache=True, nogil=True)


@frozen(eq=False, kw_only=True)
class FlatOutcome(Outcome):
    """The outcome of events in rfpbcast or pmcast, also round by round."""

    delivered_by_round: Counts
    """The living interested processes that have the event, by run and round 0 to T."""
    infected_by_round: Counts
    """All processes that have the event, by run and round 0 to T."""

    @property
    def completion(self) -> Counts:
        """The round after which all living interested have the event; -1 where they never do."""
        complete = self.delivered_by_round == self.alive[:, None]
        return np.where(complete.any(axis=1), complete.argmax(axis=1), -1)


def simulate(setting: FlatSetting, runs: int, seed: int, first_run: int = 0) -> FlatOutcome:
    """Simulate the runs `first_run` and following; each is the same however they are split."""
    living = np.zeros(runs, np.int64)
    delivered = np.zeros((runs, setting.rounds + 1), np.int64)
    infected = np.zeros((runs, setting.rounds + 1), np.int64)
    messages = np.zeros(runs, np.int64)
    parasite_copies = np.zeros(runs, np.int64)
    loads = LoadColumns(runs)
    beyond = setting.processes - setting.audience  # nobody sends them anything
    for run in range(runs):
        bits = stream(seed, "protocol", "pmcast", first_run + run).getrandbits(128)
        rng = Generator(PCG64(bits))
        alive = rng.random(setting.audience) >= setting.crash
        alive[: setting.infected] = True
        living[run] = np.count_nonzero(alive[: setting.interested])
        sent, again = (np.zeros(setting.audience, np.int32) for _ in range(2))
        has = _spread(
            rng, setting.processes, setting.interested, setting.fan_out, float(setting.loss), alive,
            *(setting.infected, delivered[run], infected[run], sent, again),
        )  # fmt: skip
        messages[run] = sent.sum()
        arrived = rng.binomial(again, 1 - setting.loss) + has
        arrived[: setting.infected] -= 1  # they had it without a copy
        parasite_copies[run] = arrived[setting.interested :].sum()
        living_beyond = int(rng.binomial(beyond, 1 - setting.crash))
        everybody = int(np.count_nonzero(alive)) + living_beyond
        enter_processes(loads.sent[run], loads.received[run], sent, arrived, everybody, 0)
    return FlatOutcome(
        sizes=(),
        alive=living,
        delivered=delivered[:, -1],
        rounds=np.full(runs, setting.rounds),
        messages=messages,
        parasites=infected[:, -1] - delivered[:, -1],
        parasite_copies=parasite_copies,
        loads=loads.by_name(),
        delivered_by_round=delivered,
        infected_by_round=infected,
    )


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
    sent: NDArray[np.int32],
    again: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Spread an event; the first processes are the interested ones, then the rest of the audience.

    Fills in `delivered` and `infected`, round by round, and of each process the copies that it
    sends, and those sent to it that had the event already: the caller draws how many of the latter
    are lost. Returns which processes have the event.
    """
    has = np.zeros(len(alive), np.bool_)
    order = np.empty(len(alive), np.int64)
    for first in range(begin):
        has[first], order[first] = True, first
    reached, reached_interested = begin, begin
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
                sent[sender] += 1
                again[target] += has[target]
                if has[target] or not alive[target] or (loss > 0 and rng.random() < loss):
                    continue
                has[target], order[reached] = True, target
                reached += 1
                if target < interested:
                    reached_interested += 1
        delivered[number], infected[number] = reached_interested, reached
    return has
