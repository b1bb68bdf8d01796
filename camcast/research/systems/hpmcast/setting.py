"""The setting of one event in hpmcast, on processes with random addresses.

The tree is that of the live addresses (`camcast.research.systems.hpmcast.hierarchy`), and not the
regular one of `camcast.research.systems.hpmcast.tree_setting`: processes fall into a^(l-1) groups
of level 1 like balls into urns.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.research.systems.group_setting import FAN_OUT_MAX, Group, GroupOptions
from camcast.research.systems.hpmcast.hierarchy import Hierarchy

if TYPE_CHECKING:
    from camcast.doors.protocol import Protocol


@frozen(kw_only=True)
class AddressedOptions(GroupOptions):
    """The options of hpmcast."""

    arity: int
    depth: int
    redundancy: int
    fan_out: int = field(validator=[validators.ge(1), validators.le(FAN_OUT_MAX)])


@frozen(kw_only=True)
class AddressedSetting(Group):
    """A group of processes with random addresses. Raises as `Group`."""

    OPTIONS = AddressedOptions

    hierarchy: Hierarchy
    fan_out: int = field(validator=validators.ge(1))

    @classmethod
    @override
    def fields(cls, protocol: Protocol, options: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """See `Group.fields`; raises `ValueError` for options that make no hierarchy."""
        hierarchy = Hierarchy(
            arity=options.arity, depth=options.depth, redundancy=options.redundancy
        )
        return {"hierarchy": hierarchy, "fan_out": options.fan_out}

    @classmethod
    @override
    def of_json(cls, plain: Mapping[str, Any]) -> Self:
        return cls(**{**plain, "hierarchy": Hierarchy(**plain["hierarchy"])})

    @override
    def in_words(self) -> str:
        """Describe the group for people."""
        tree = self.hierarchy
        return (
            f"{super().in_words()}; by their identities they fall into"
            f" {tree.arity ** (tree.depth - 1):,} groups, each with {tree.redundancy} delegates;"
            f" each process chooses {self.fan_out} in a round"
        )

    def share(self, level: int) -> float:
        """Return the share of all addresses in a subsystem of this level, a^(i-l)."""
        return float(self.hierarchy.arity) ** (level - self.hierarchy.depth)

    @property
    def others(self) -> int:
        """The number of processes without the publisher, n - 1."""
        return self.processes - 1

    @property
    def interested_share(self) -> float:
        """p_1, the share of the others that is interested."""
        return (self.interested - 1) / max(1, self.others)
