"""hpmcast on processes with random addresses, as a setting: who takes part, and the weather.

The tree is that of the live addresses (`camcast.protocols.hpmcast.hierarchy`), and not the regular
one of `camcast.settings.tree`: processes fall into a^(l-1) groups of level 1 as balls
into urns.
"""

from __future__ import annotations

from typing import Final

from attrs import field, frozen, validators

from camcast.protocols.hpmcast.hierarchy import Hierarchy
from camcast.settings.setting import SettingError

_PROBABILITY: Final = [validators.ge(0.0), validators.le(1.0)]


@frozen(kw_only=True)
class AddressedSetting:
    """Processes with addresses as they fall, and the weather.

    Raises `SettingError`, and `ValueError` for a number out of its range.
    """

    processes: int
    interested: int
    """The publisher is one of them."""
    hierarchy: Hierarchy
    fan_out: int = field(validator=validators.ge(1))
    loss: float = field(default=0.0, validator=_PROBABILITY)
    crash: float = field(default=0.0, validator=_PROBABILITY)
    """The probability that a process, but not the publisher, is dead from the beginning."""

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.interested <= self.processes:
            raise SettingError(
                f"{self.interested} of {self.processes} processes are interested; give 1 to all"
            )

    def share(self, level: int) -> float:
        """Return the share of all addresses in a subsystem of this level, a^(i-l)."""
        return float(self.hierarchy.arity) ** (level - self.hierarchy.depth)

    @property
    def others(self) -> int:
        """All but the publisher: n - 1."""
        return self.processes - 1

    @property
    def interested_share(self) -> float:
        """p_1 of them."""
        return (self.interested - 1) / max(1, self.others)
