"""The settings of the three baselines: their groups, tables and fan-outs (000, 4.2).

All three gossip as CAMCAST does within a community, infect and die, and filter on delivery. They
differ in the members of the group, and in whether it is divided:

* (a) gossip broadcast: all n processes, each with a table of ln n + c;
* (b) gossip multicast: the publisher's group, which holds all processes interested in its topic:
  those of the topic's own community and of the communities of all its super-topics. Other processes
  get no copy. A process is in the group of its topic and in those of all subtopics, and keeps a
  table for each;
* (c) hierarchical gossip broadcast: all n in C clusters of m, whatever their interests. A process
  sends to ln m + c1 others of its cluster, and to ln C + c2 processes of other clusters.

Fan-outs are whole, ceil(ln N + c), and at most the number of others, as CAMCAST's.

The groups and fan-outs are those of the live protocols (`camcast.protocols`), where a digest draws
the clusters, whose sizes differ by more.

How the paper is read. For (b), Equation 4 adds up N_t (ln N_t + c) over the communities, as if the
event were gossiped in each community by itself, for which the publisher would need a table each;
but by 4.4.2 a process keeps the tables of its *subtopics*. So (b) is one group here, which sends
more: see `camcast.research.systems.camcast.message_equations`. For (c), Equation 5 and 4.4.2 give
every process both tables, and all processes use both, `between` = 1; the reliability e^(-C e^-c1 -
e^-c2) of 4.5.2 holds if a *cluster* sends ln C + c2 copies to other clusters, `between` = 1/m. With
1 the reliability is much higher; see `camcast.research.systems.baselines.model`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any, Final, Literal, cast, get_args

from attrs import field, frozen
from typing_extensions import override

from camcast.research.systems.camcast.setting import Community, Setting, interested_in
from camcast.research.systems.group_setting import GroupOptions, options_of
from camcast.research.systems.setting_base import Participants, SettingError, Weather
from camcast.vocabulary.arguments import PROBABILITY
from camcast.vocabulary.parameters import Parameters

if TYPE_CHECKING:
    from camcast.doors.protocol import Protocol as ShippedProtocol

Protocol = Literal["broadcast", "multicast", "hierarchical"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)


@frozen(kw_only=True)
class BaselineOptions(GroupOptions):
    """The options of a baseline; the defaults depend on the setting (`baseline`)."""

    published_in: int = 0
    clusters: int = 1
    c2: float = 0.0
    between: float = field(default=1.0, validator=PROBABILITY)


@frozen(kw_only=True)
class Baseline(Participants, Weather):
    """The setting of a baseline, made by `baseline`. Raises `SettingError` for wrong values."""

    protocol: Protocol
    clusters: int = 1
    """C. The processes are divided evenly, so that clusters differ by one process at most."""
    c: float = 5.0  # [CAMCAST 6.1.1]
    """Fan-out within the group or, for (c), within a cluster (c1), beyond the logarithm."""
    c2: float = 5.0  # [CAMCAST 6.1.1] as c
    """For (c): fan-out between clusters, beyond ln C."""
    between: float = field(default=1.0, validator=PROBABILITY)
    """For (c): probability that a process sends to an entry of its table of other clusters."""
    tables: tuple[int, ...]
    """How many table entries a process keeps, by community."""

    @override
    def __attrs_post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise SettingError(f"unknown protocol {self.protocol!r}; known: {', '.join(PROTOCOLS)}")
        super().__attrs_post_init__()
        if not 1 <= self.clusters <= self.processes:
            raise SettingError(
                f"{self.processes} processes do not fill {self.clusters} clusters; give 1 to"
                f" {self.processes}"
            )

    @property
    def cluster_size(self) -> int:
        """m, the processes of a cluster; `larger_clusters` of the clusters have one more."""
        return self.processes // self.clusters

    @property
    def larger_clusters(self) -> int:
        """How many clusters have one process more."""
        return self.processes % self.clusters

    def fan_out(self, size: int) -> int:
        """Return how many others a process sends to in its cluster, which has this size."""
        return whole_fan_out(size, self.c)

    @property
    def fan_out_between(self) -> int:
        """How many processes of other clusters a process has in its table."""
        return fan_out_between(self.processes, self.clusters, self.c2)

    @classmethod
    def of(cls, protocol: ShippedProtocol, chain: Setting, given: Mapping[str, object]) -> Baseline:
        """See `group_setting.Group.of`; `baseline` has the defaults of the options."""
        options = options_of(BaselineOptions, protocol, given)
        chosen = {name: getattr(options, name) for name in given}
        return baseline(cast(Protocol, protocol.name), chain, **chosen)

    @classmethod
    def of_json(cls, plain: Mapping[str, Any]) -> Baseline:
        """Return the setting from its `attrs.asdict`."""
        return cls(**{**plain, "tables": tuple(plain["tables"])})

    def in_words(self) -> str:
        """Describe the group for people."""
        tables = ", ".join(f"{entries:,}" for entries in self.tables)
        divided = f" in {self.clusters:,} clusters" if self.clusters > 1 else ""
        return (
            f"{self.processes:,} processes take part{divided}, {self.interested:,} interested;"
            f" table entries a process, by community: {tables}"
        )


def baseline(
    protocol: Protocol,
    setting: Setting,
    published_in: int = 0,
    clusters: int | None = None,
    c2: float | None = None,
    between: float = 1.0,
) -> Baseline:
    """Return a baseline for the processes of a setting and an event of one of its communities.

    c, or c1, is that community's, and c2 the same if not given. `clusters` of (c) are √n if not
    given. Raises `SettingError` if there is no such community, and as `Baseline`.
    """
    communities = setting.communities
    interested = setting.interested(published_in)
    c = communities[published_in].parameters.c
    everybody = setting.processes
    divided = protocol == "hierarchical"
    if not divided and (clusters, c2, between) != (None, None, 1.0):
        raise SettingError(f"clusters, c2 and between are for hierarchical, not for {protocol}")
    if clusters is None:
        clusters = max(1, round(sqrt(everybody)))  # chosen: as many as a cluster has processes
    clusters = clusters if divided else 1
    c2 = c if c2 is None else c2
    if protocol == "multicast":
        tables = multicast_tables(communities)
    else:
        largest = -(-everybody // max(1, clusters))
        far = fan_out_between(everybody, max(1, clusters), c2)
        tables = [whole_fan_out(largest, c) + far] * len(communities)
    return Baseline(
        protocol=protocol,
        processes=interested if protocol == "multicast" else everybody,
        interested=interested,
        clusters=clusters,
        c=c,
        c2=c2,
        between=between,
        tables=tuple(tables),
        success=setting.success,
        crash=setting.crash,
        weak=setting.weak,
    )


def whole_fan_out(size: int, c: float) -> int:
    """Return how many others of N a process sends to: ceil(ln N + c), from 1 to N - 1."""
    return min(Parameters(c=c).fan_out(size), size - 1)


def fan_out_between(processes: int, clusters: int, c2: float) -> int:
    """Return how many processes of other clusters each sends to: ceil(ln C + c2), or all others."""
    outside = processes - -(-processes // clusters)
    return min(Parameters(c=c2).fan_out(clusters), outside)


def multicast_tables(communities: Sequence[Community]) -> list[int]:
    """Return how many entries a process of each community keeps with (b), in whole numbers.

    It has a table for each of its groups: those of its own topic and of all subtopics (4.4.2).
    """
    entries = [0] * len(communities)
    for topic, community in enumerate(communities):
        members = interested_in(communities, topic)
        size = sum(communities[at].size for at in members)
        for at in members:
            entries[at] += whole_fan_out(size, community.parameters.c)
    return entries
