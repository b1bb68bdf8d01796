"""The base of all settings: the processes that take part in an event, loss and crashes.

A *setting* describes one event to a population simulator and to a model: the number of processes,
how many of them are interested, and the probabilities that a copy is lost and that a process is
dead. The other modules of this package extend it, each for one shape of systems.
"""

from __future__ import annotations

from attrs import field, frozen

from camcast.vocabulary.arguments import PROBABILITY
from camcast.vocabulary.errors import CamcastError


class SettingError(CamcastError, ValueError):
    """A setting makes no sense; the message names what is wrong."""


def too_many(processes: str, most: int, remedy: str = "") -> SettingError:
    """Return the error for more processes than a simulator of single processes can take."""
    return SettingError(
        f"{processes} are too many to simulate one by one (at most {most:,}){remedy}"
    )


@frozen(kw_only=True, slots=False)
class Participants:
    """The processes that an event may reach."""

    processes: int
    """n, the number of processes, the publisher included."""
    interested: int
    """How many processes want the event, the publisher included; the others are drawn uniformly."""

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.interested <= self.processes:
            raise SettingError(
                f"{self.interested} of {self.processes} processes are interested; give 1 to all"
            )


@frozen(kw_only=True, slots=False)
class Faults:
    """The probabilities of losses and crashes, as the papers 002 and 003 define them."""

    loss: float = field(default=0.0, validator=PROBABILITY)
    """ε: the probability that a copy is lost."""
    crash: float = field(default=0.0, validator=PROBABILITY)
    """τ: the probability that a process, but not the publisher, is dead from the beginning."""


@frozen(kw_only=True, slots=False)
class Weather:
    """The probabilities of losses and crashes, as the CAMCAST paper defines them (000, 6.1.1)."""

    success: float = field(default=0.85, validator=PROBABILITY)  # [CAMCAST 6.1.1]
    """Probability that a copy arrives."""
    crash: float = field(default=0.0, validator=PROBABILITY)
    """Probability that a process is dead from the beginning or, if `weak`, for one copy."""
    weak: bool = False
    """Whether each copy meets its receiver crashed again, and no process is dead for good."""

    @property
    def arrival(self) -> float:
        """The probability that a copy to a process that is not stillborn takes effect."""
        return self.effect(self.success)

    def effect(self, success: float) -> float:
        """Return the probability of `arrival` for copies that arrive with another `success`."""
        return success * (1 - self.crash) if self.weak else success

    @property
    def stillborn(self) -> float:
        """The probability that a process is dead from the beginning."""
        return 0.0 if self.weak else self.crash
