"""Percolation gossip on an overlay of SCAMP, as a setting: who takes part, and the weather."""

from __future__ import annotations

from math import log
from typing import Final

from attrs import field, frozen, validators

from camcast.settings.base import PROBABILITY, SettingError
from camcast.settings.group import Group, GroupOptions

C_MAX: Final = 50  # [membership.scamp]
_C: Final = [validators.ge(0), validators.le(C_MAX)]


@frozen(kw_only=True)
class ScampOptions(GroupOptions):
    """The options of percolation gossip."""

    gamma: float = field(validator=PROBABILITY)
    c: int = field(default=2, validator=_C)  # [membership.scamp]
    """Of SCAMP, whose tables are the overlay: a view has (c+1) ln n processes."""


@frozen(kw_only=True)
class ScampOverlay(Group):
    """A group on an overlay of SCAMP. See `Group` for what is raised."""

    OPTIONS = ScampOptions

    gamma: float = field(validator=PROBABILITY)
    """The probability that a neighbour who is not interested is sent a copy (paper: gamma)."""
    c: int = field(validator=_C)
    """Of SCAMP: a view has (c+1) ln n processes in the mean."""

    def __attrs_post_init__(self) -> None:
        if self.processes < 2:
            raise SettingError(f"processes is {self.processes}; percolation takes 2 or more")
        super().__attrs_post_init__()

    def in_words(self) -> str:
        """Say who takes part, for people."""
        return f"{super().in_words()}, on the overlay of SCAMP with c = {self.c}"

    @property
    def holders(self) -> int:
        """w: how many are to hold a process in their views."""
        return max(1, wanted_holders(self.processes, self.c))


def wanted_holders(processes: int, c: int) -> int:
    """Return the law of SCAMP's views, (c+1) ln n or all others, as a whole number."""
    return round(min(processes - 1, (c + 1) * log(processes)))
