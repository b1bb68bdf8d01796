"""The setting of one event of percolation gossip on an overlay of SCAMP."""

from __future__ import annotations

from math import log
from typing import Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.research.systems.group_setting import Group, GroupOptions
from camcast.research.systems.setting_base import SettingError
from camcast.vocabulary.arguments import PROBABILITY

C_MAX: Final = 50  # [membership.scamp]
_C: Final = [validators.ge(0), validators.le(C_MAX)]


@frozen(kw_only=True)
class ScampOptions(GroupOptions):
    """The options of percolation gossip."""

    gamma: float = field(validator=PROBABILITY)
    c: int = field(default=2, validator=_C)  # [membership.scamp]
    """SCAMP's c: a view, whose arcs are the overlay, has (c+1) ln n processes on average."""


@frozen(kw_only=True)
class ScampOverlay(Group):
    """A group on an overlay of SCAMP. Raises as `Group`, and `SettingError` for one process."""

    OPTIONS = ScampOptions

    gamma: float = field(validator=PROBABILITY)
    """The probability that a neighbour that is not interested is sent a copy (paper: gamma)."""
    c: int = field(validator=_C)
    """SCAMP's c: a view has (c+1) ln n processes on average."""

    @override
    def __attrs_post_init__(self) -> None:
        if self.processes < 2:
            raise SettingError(f"processes is {self.processes}; percolation takes 2 or more")
        super().__attrs_post_init__()

    @override
    def in_words(self) -> str:
        """Describe the group for people."""
        return f"{super().in_words()}, on the overlay of SCAMP with c = {self.c}"

    @property
    def holders(self) -> int:
        """w, how many processes should have a process in their views: (c+1) ln n, or all others."""
        wanted = (self.c + 1) * log(self.processes)
        return max(1, round(min(self.processes - 1, wanted)))
