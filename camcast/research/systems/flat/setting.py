"""The setting of one event in flat gossip in rounds (rfpbcast, pmcast)."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil, inf
from typing import TYPE_CHECKING, Any, Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.research.systems.group_setting import FAN_OUT_MAX, Group, GroupOptions
from camcast.research.systems.hpmcast.rounds import rounds
from camcast.research.systems.setting_base import SettingError

if TYPE_CHECKING:
    from camcast.doors.protocol import Protocol

PROCESSES_MAX: Final = 10**7  # chosen: some seconds a run
ROUNDS_MAX: Final = 10_000  # chosen: bounds what a run returns


@frozen(kw_only=True)
class FlatOptions(GroupOptions):
    """The options of flat gossip."""

    fan_out: int = field(validator=[validators.ge(1), validators.le(FAN_OUT_MAX)])
    constant: float = field(validator=[validators.ge(0.0), validators.lt(inf)])
    """c + O(1) of Equations 5 and 9, in rounds."""


@frozen(kw_only=True)
class FlatSetting(Group):
    """All processes know each other, and each that has the event chooses others in each round."""

    OPTIONS = FlatOptions

    fan_out: int
    """F: distinct others that a process chooses in a round."""
    rounds: int
    """T: the number of rounds for which the event is gossiped."""
    sender_filters: bool
    """Whether copies go to the interested among those chosen (pmcast), not to all (rfpbcast)."""
    infected: int = 1
    """How many of the interested are alive and have the event in the beginning."""

    @override
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

    @classmethod
    @override
    def fields(cls, protocol: Protocol, options: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """See `Group.fields`; the rounds are those of Equation 5 (rfpbcast) or 9 (pmcast)."""
        filters = protocol.selective
        return {
            "fan_out": options.fan_out,
            "rounds": gossip_rounds(
                *(group["processes"], group["interested"], options.fan_out, options.constant),
                sender_filters=filters,
            ),
            "sender_filters": filters,
        }

    @property
    def audience(self) -> int:
        """The number of processes that copies may be sent to."""
        return self.interested if self.sender_filters else self.processes

    @override
    def in_words(self) -> str:
        """Describe the group for people."""
        return f"{super().in_words()}; each chooses {self.fan_out} in each of {self.rounds} rounds"


def gossip_rounds(
    processes: int, interested: int, fan_out: int, constant: float, *, sender_filters: bool
) -> int:
    """Return T(n, F) of rfpbcast (Equation 5) or T(n p_1, F p_1) of pmcast (Equation 9), whole.

    `constant` is the equations' c + O(1). Like the live protocols, this assumes that all copies
    arrive.
    """
    expected = rounds(processes, interested / processes if sender_filters else 1.0, fan_out)
    return ceil(expected + constant) if expected else 0
