"""Percolation gossip on an overlay of SCAMP, as a setting: who takes part, and the weather."""

from __future__ import annotations

from math import log
from typing import Final

from attrs import field, frozen, validators

from camcast.settings.setting import SettingError

C_MAX: Final = 50  # [membership.scamp]

_PROBABILITY: Final = [validators.ge(0.0), validators.le(1.0)]


@frozen(kw_only=True)
class ScampOverlay:
    """Processes on an overlay of SCAMP, and the weather. Raises `SettingError`, `ValueError`."""

    processes: int
    interested: int
    """The publisher is one of them."""
    gamma: float = field(validator=_PROBABILITY)
    c: int = field(validator=[validators.ge(0), validators.le(C_MAX)])
    """Of SCAMP: a view has (c+1) ln n processes in the mean."""
    loss: float = field(default=0.0, validator=_PROBABILITY)
    crash: float = field(default=0.0, validator=_PROBABILITY)
    """The probability that a process, but not the publisher, is dead from the beginning."""

    def __attrs_post_init__(self) -> None:
        if self.processes < 2:
            raise SettingError(f"processes is {self.processes}; percolation takes 2 or more")
        if not 1 <= self.interested <= self.processes:
            raise SettingError(
                f"{self.interested} of {self.processes} processes are interested; give 1 to all"
            )

    @property
    def holders(self) -> int:
        """w: how many are to hold a process in their views."""
        return max(1, wanted_holders(self.processes, self.c))


def wanted_holders(processes: int, c: int) -> int:
    """Return the law of SCAMP's views, (c+1) ln n or all others, as a whole number."""
    return round(min(processes - 1, (c + 1) * log(processes)))
