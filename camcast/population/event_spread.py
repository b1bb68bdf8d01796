"""What came of single events, by the measures that all systems have in common.

Counts are kept run by run, so that runs done elsewhere, or earlier, can be joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import attrs
import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from camcast.population.spread import Counts, Interval, mean_interval, share_interval

ALIVE, DELIVERED, ROUNDS, MESSAGES, PARASITES, ENTRIES = range(6)
"""The columns in which a kernel counts for `KnownSpread`; the last is summed over processes."""
COLUMNS: Final = 6


@frozen(eq=False, kw_only=True)
class EventSpread:
    """Counts by run, of an event each."""

    alive: Counts
    """The living of the interested, the publisher included."""
    delivered: Counts
    """How many of these have the event in the end."""
    rounds: Counts
    """The last round in which somebody gossips, counted from the publisher's round 1."""
    messages: Counts
    """Copies sent, whatever becomes of them."""
    parasites: Counts
    """Copies that arrive at a living process that is not interested, the first and all later."""

    @property
    def runs(self) -> int:
        """How many runs were made."""
        return len(self.alive)

    @property
    def reception(self) -> Interval:
        """The share of the living interested that have the event."""
        return mean_interval(self.delivered / self.alive, 0.0, 1.0)

    @property
    def reliability(self) -> Interval:
        """The share of runs in which all living interested have it."""
        return share_interval(int(np.count_nonzero(self.delivered == self.alive)), self.runs)

    def counts(self) -> dict[str, list[float]]:
        """Return the counts as JSON takes them, for `joined`."""
        return {name: getattr(self, name).tolist() for name in attrs.fields_dict(type(self))}

    def as_json(self) -> dict[str, Any]:
        """Return the measures as JSON takes them: means with their 95 % intervals."""
        names = attrs.fields_dict(type(self))
        counted = {name: mean_interval(getattr(self, name), 0.0).as_json() for name in names}
        shares = {"reception": self.reception, "reliability": self.reliability}
        return counted | {name: share.as_json() for name, share in shares.items()}

    @classmethod
    def joined(cls, parts: Sequence[Mapping[str, Sequence[float]]]) -> Self:
        """Put the counts of several simulations of one setting together, in the order given."""
        return cls(
            **{
                name: np.array([count for part in parts for count in part[name]])
                for name in attrs.fields_dict(cls)
            }
        )


@frozen(eq=False, kw_only=True)
class KnownSpread(EventSpread):
    """The same, where whom a process knows is drawn for each run."""

    entries: NDArray[np.float64]
    """How many others a process knows, in the mean over all processes of the run."""

    @classmethod
    def of_columns(cls, counts: Counts, processes: int) -> Self:
        """Return what a kernel counted: a row a run, with the columns named above."""
        return cls(
            alive=counts[:, ALIVE],
            delivered=counts[:, DELIVERED],
            rounds=counts[:, ROUNDS],
            messages=counts[:, MESSAGES],
            parasites=counts[:, PARASITES],
            entries=counts[:, ENTRIES] / processes,
        )
