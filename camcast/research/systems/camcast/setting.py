"""The setting of a dissemination experiment, that of the paper's simulations (000, 6.1.1).

One event is published in the first community, by a process that is alive. Tables are static,
uniform and independent: a topic table of min(N-1, ceil(ln N + c)) processes, a super-topic table of
min(z, N_super). Crashed processes in them are not replaced. Every copy arrives with probability
`success`, which a community may have for itself, and for its upward copies apart ("weakly
interconnected communities", 4.3.1).

Crashes are *stillborn* (each process is dead from the beginning with probability `crash`,
Figures 13 to 16) or *weak* (each copy meets its receiver crashed with that probability, while
other copies find it alive: "a weakly consistent membership algorithm", Figures 17 and 18).

Communities may have processes in common (`Overlap`). The closed forms, the population simulator and
the count chain take each process to be in one community, and refuse such settings.

Rounds are synchronous: a process that receives the event in one round sends it in the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from attrs import field, frozen, validators

from camcast.doors.options import build_options
from camcast.research.systems.setting_base import SettingError, Weather
from camcast.vocabulary.arguments import PROBABILITY
from camcast.vocabulary.parameters import Parameters

if TYPE_CHECKING:
    from camcast.doors.protocol import Protocol

SIZE_MAX: Final = 10**15  # chosen: counts of messages stay exact in 64 bits


@frozen(kw_only=True)
class Community:
    """A community of `size` processes; `supers` are the indices of its super-communities.

    Raises `SettingError` for a size out of range, and `ValueError` for no probability.
    """

    size: int
    supers: tuple[int, ...] = ()
    parameters: Parameters = field(factory=Parameters)
    topic: str = ""
    """The name of the topic; empty where the community has no name."""
    success: float | None = field(default=None, validator=validators.optional(PROBABILITY))
    """Probability that a copy within the community arrives; None: that of the setting."""
    success_up: float | None = field(default=None, validator=validators.optional(PROBABILITY))
    """Probability that a copy to a super-community arrives, p_succ of 4.3.1; None: `success`."""

    def __attrs_post_init__(self) -> None:
        if not 1 <= self.size <= SIZE_MAX:
            raise SettingError(f"a community of {self.size} processes; give 1 to {SIZE_MAX:,}")

    @property
    def fan_out(self) -> int:
        """How many distinct others a process sends the event to (3.5)."""
        return min(self.parameters.fan_out(self.size), self.size - 1)

    @property
    def p_sel(self) -> float:
        """The probability that a process with the event acts as a link (3.5)."""
        return self.parameters.selection_probability(self.size)

    def links(self, super_size: int) -> int:
        """Return how many entries a super-topic table has: z, or the whole super-community."""
        return min(self.parameters.z, super_size)

    def p_a(self, super_size: int) -> float:
        """Return the probability that a link sends to one entry of its super-topic table."""
        return self.parameters.link_probability(self.size, self.links(super_size))


@frozen(kw_only=True)
class Overlap:
    """Processes that are in several communities, and count in the size of each of these."""

    communities: tuple[int, ...]
    """The indices of the communities."""
    count: int = field(validator=validators.ge(1))


@frozen
class _NoOptions:
    pass


@frozen(kw_only=True)
class Setting(Weather):
    """Communities, in the first of which the event is published, with losses and crashes.

    Raises `SettingError` without a community, for a super-community that does not exist or is not
    listed after its sub-community, and `ValueError` for a probability outside [0, 1].
    """

    communities: tuple[Community, ...]
    overlaps: tuple[Overlap, ...] = ()
    """The processes in several communities; all others are in one."""

    def __attrs_post_init__(self) -> None:
        if not self.communities:
            raise SettingError("there are no communities; give at least one size")
        for index, community in enumerate(self.communities):
            for above in community.supers:
                if not index < above < len(self.communities):
                    raise SettingError(
                        f"community {index} has the super-community {above}; it must be listed"
                        f" after it and exist (there are {len(self.communities)})"
                    )
        for index, community in enumerate(self.communities):
            several = sum(one.count for one in self.overlaps if index in one.communities)
            if several > community.size:
                raise SettingError(
                    f"community {index} has {community.size} processes, of which {several} are"
                    " also in others"
                )

    @property
    def processes(self) -> int:
        """How many processes there are in all communities; one in several counts once."""
        twice = sum((len(one.communities) - 1) * one.count for one in self.overlaps)
        return sum(community.size for community in self.communities) - twice

    def refuse_overlaps(self, what: str) -> None:
        """Raise `SettingError` if processes are in several communities, for which `what` is not."""
        if self.overlaps:
            number = sum(one.count for one in self.overlaps)
            raise SettingError(
                f"{what} takes each process to be in one community, and {number} are in several;"
                " simulate them with `camcast simulate virtual`"
            )

    @property
    def weakly_linked(self) -> bool:
        """Whether a community has a `success` of its own."""
        said = [(one.success, one.success_up) for one in self.communities]
        return any(one != (None, None) for one in said)

    def arrival_within(self, index: int) -> float:
        """Return `arrival` of the copies that a community's processes send to each other."""
        own = self.communities[index].success
        return self.arrival if own is None else self.effect(own)

    def arrival_up(self, index: int) -> float:
        """Return `arrival` of the copies that a community sends to its super-communities."""
        own = self.communities[index].success_up
        return self.arrival_within(index) if own is None else self.effect(own)

    @classmethod
    def of(cls, protocol: Protocol, chain: Setting, given: Mapping[str, object]) -> Setting:
        """Return the chain itself, which describes CAMCAST; it has no options (`Group.of`)."""
        build_options(_NoOptions, given, f"protocol {protocol.name!r}")
        return chain

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> Setting:
        """Return the setting from its `attrs.asdict`."""
        communities = tuple(
            Community(
                size=community["size"],
                supers=tuple(community["supers"]),
                parameters=Parameters(**community["parameters"]),
                success=community.get("success"),
                success_up=community.get("success_up"),
                topic=community.get("topic", ""),
            )
            for community in plain["communities"]
        )
        shared = tuple(
            Overlap(communities=tuple(one["communities"]), count=one["count"])
            for one in plain.get("overlaps", ())
        )
        return cls(**{**plain, "communities": communities, "overlaps": shared})

    def interested(self, published_in: int) -> int:
        """Return how many processes want an event of a community: its own and those above.

        Raises `SettingError` if there is no such community.
        """
        if not 0 <= published_in < len(self.communities):
            raise SettingError(
                f"published in community {published_in}; there are {len(self.communities)}, from 0"
                " on"
            )
        wanting = interested_in(self.communities, published_in)
        return sum(self.communities[at].size for at in wanting)


def interested_in(communities: Sequence[Community], topic: int) -> list[int]:
    """Return the communities whose processes want the events of one: itself and those above."""
    found = [topic]
    for at in found:
        found += [above for above in communities[at].supers if above not in found]
    return sorted(found)


def chain(sizes: Sequence[int], parameters: Parameters | None = None) -> tuple[Community, ...]:
    """Return a chain of communities, the bottom first, the root last (6.1.1)."""
    parameters = parameters or Parameters()
    last = len(sizes) - 1
    return tuple(
        Community(size=size, supers=() if index == last else (index + 1,), parameters=parameters)
        for index, size in enumerate(sizes)
    )
