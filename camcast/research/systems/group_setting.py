"""The base of settings in which an event spreads in one group of all processes.

`Group.of` makes the setting of a protocol from the processes of a chain of communities and from
options, which the command line takes as ``--protocol-set``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

import attrs
from attrs import field, frozen, validators

from camcast.doors.options import build_options
from camcast.research.systems.camcast.setting import Setting
from camcast.research.systems.setting_base import Faults, Participants

if TYPE_CHECKING:
    from camcast.doors.protocol import Protocol

FAN_OUT_MAX: Final = 10**7  # chosen: as many processes as are simulated one by one


@frozen(kw_only=True)
class GroupOptions:
    """The options of a system in which an event spreads in one group.

    An option without a default here has the default of the live protocol.
    """

    published_in: int = field(default=0, validator=validators.ge(0))
    """The event's community; its processes and those of the communities above are interested."""


@frozen(kw_only=True, slots=False)
class Group(Participants, Faults):
    """One group of all processes. Raises `SettingError`, or `ValueError` for a value out of range.

    A subclass names the class of its options (`OPTIONS`), and `fields` returns the fields of the
    setting that follow from them.
    """

    OPTIONS: ClassVar[type[GroupOptions]] = GroupOptions

    @classmethod
    def of(cls, protocol: Protocol, chain: Setting, given: Mapping[str, object]) -> Self:
        """Return the setting of a protocol on the processes of a chain of communities.

        `given` are options of `OPTIONS`, as text or as values. Raises `SettingError`, and
        `OptionError` for an unknown option or a value out of range.
        """
        options = options_of(cls.OPTIONS, protocol, given)
        group = {
            "processes": chain.processes,
            "interested": chain.interested(options.published_in),
            "loss": 1 - chain.arrival,
            "crash": chain.stillborn,
        }
        return cls(**group | cls.fields(protocol, options, group))

    @classmethod
    def fields(cls, protocol: Protocol, options: Any, group: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of this setting that a `Group` does not have."""
        del protocol, group
        return attrs.asdict(options, filter=lambda option, _: option.name != "published_in")

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> Self:
        """Return the setting from its `attrs.asdict`."""
        return cls(**plain)

    def in_words(self) -> str:
        """Describe the group for people."""
        return f"{self.processes:,} processes take part, {self.interested:,} interested"


def options_of(kind: type[Any], protocol: Protocol, given: Mapping[str, object]) -> Any:
    """Build a class of options; one without a default has the default of the live protocol."""
    shipped = {
        option.name: getattr(protocol, option.name)
        for option in attrs.fields(kind)
        if option.default is attrs.NOTHING
    }
    return build_options(kind, shipped | dict(given), f"protocol {protocol.name!r}")
