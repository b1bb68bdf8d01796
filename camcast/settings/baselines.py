"""The three baselines as settings: who takes part in an event, and whom each sends to (000, 4.2).

All three gossip as CAMCAST does within a community, infect and die, and filter on delivery. They
differ in who is in the group, and whether it is divided:

* (a) gossip broadcast: all n processes, each with a table of ln n + c;
* (b) gossip multicast: the publisher's group, which holds everybody interested in its topic, that
  is the topic's own community and those of all its super-topics. Nobody else gets a copy. A
  process is in the group of its topic and in those of all subtopics, and keeps a table for each;
* (c) hierarchical gossip broadcast: all n in C clusters of m, whatever their interests. A process
  sends to ln m + c1 others of its cluster, and to ln C + c2 processes of other clusters.

Fan-outs are whole, ceil(ln N + c), and at most the number of others, as CAMCAST's.

The groups and fan-outs are those of `camcast.protocols`, which runs live; there clusters are drawn
by a digest and not quite even.

Readings. Of (b), Equation 4 adds up N_t (ln N_t + c) over the communities, as if the event were
gossiped in each by itself, of which the publisher would need a table each; but 4.4.2 has the tables
of the *subtopics* at a process. It is one group here, which sends more: see
`camcast.models.camcast.crossover`. Of (c), Equation 5 and 4.4.2 give every process both tables, and
then all use both, `between` = 1; the reliability e^(-C e^-c1 - e^-c2) of 4.5.2 is that of ln C + c2
copies to other clusters from a *cluster*, which is `between` = 1/m. With 1 it is much better; see
`camcast.models.baselines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import Final, Literal, get_args

from attrs import field, frozen, validators

from camcast.settings.setting import Community, Setting, SettingError
from camcast.vocabulary.parameters import Parameters

Protocol = Literal["broadcast", "multicast", "hierarchical"]
PROTOCOLS: Final[tuple[Protocol, ...]] = get_args(Protocol)

_PROBABILITY: Final = [validators.ge(0.0), validators.le(1.0)]


@frozen(kw_only=True)
class Baseline:
    """A group that gossips; made by `baseline`. Raises `SettingError` for what does not fit."""

    protocol: Protocol
    processes: int
    """Of the group, the publisher among them."""
    interested: int
    """How many of them want the event, the publisher among them; any, with equal probability."""
    clusters: int = 1
    """C. The processes are divided evenly, so that clusters differ by one process at most."""
    c: float = 5.0  # [CAMCAST 6.1.1]
    """Fan-out within the group or, of (c), within a cluster (c1), beyond the logarithm."""
    c2: float = 5.0  # [CAMCAST 6.1.1] as c
    """Of (c): fan-out between clusters, beyond ln C."""
    between: float = field(default=1.0, validator=_PROBABILITY)
    """Of (c): probability that a process sends to an entry of its table of other clusters."""
    tables: tuple[int, ...]
    """How many table entries a process keeps, by community."""
    success: float = field(default=0.85, validator=_PROBABILITY)  # [CAMCAST 6.1.1]
    crash: float = field(default=0.0, validator=_PROBABILITY)
    weak: bool = False
    """These three as in `Setting`."""

    def __attrs_post_init__(self) -> None:
        if self.protocol not in PROTOCOLS:
            raise SettingError(f"unknown protocol {self.protocol!r}; known: {', '.join(PROTOCOLS)}")
        if not 1 <= self.interested <= self.processes:
            raise SettingError(
                f"{self.interested} of {self.processes} processes are interested; give 1 to all"
            )
        if not 1 <= self.clusters <= self.processes:
            raise SettingError(
                f"{self.processes} processes do not fill {self.clusters} clusters; give 1 to"
                f" {self.processes}"
            )

    @property
    def cluster_size(self) -> int:
        """m: the processes of a cluster, or one more (`larger_clusters` of them have that)."""
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

    @property
    def arrival(self) -> float:
        """The probability that a copy to a process that is not stillborn takes effect."""
        return self.success * (1 - self.crash) if self.weak else self.success

    @property
    def stillborn(self) -> float:
        """The probability that a process is dead from the beginning."""
        return 0.0 if self.weak else self.crash


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
    if not 0 <= published_in < len(communities):
        raise SettingError(
            f"published in community {published_in}; there are {len(communities)}, from 0 on"
        )
    c = communities[published_in].parameters.c
    everybody = setting.processes
    interested = sum(communities[at].size for at in interested_in(communities, published_in))
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
    """Return how many processes of other clusters one sends to: ceil(ln C + c2), or all of them."""
    outside = processes - -(-processes // clusters)
    return min(Parameters(c=c2).fan_out(clusters), outside)


def interested_in(communities: Sequence[Community], topic: int) -> list[int]:
    """Return the communities whose processes want the events of one: itself and those above."""
    found = [topic]
    for at in found:
        found += [above for above in communities[at].supers if above not in found]
    return sorted(found)


def multicast_tables(communities: Sequence[Community]) -> list[int]:
    """Return how many entries a process of each community keeps with (b), as whole tables.

    One table for each group that it is in: those of its own topic and of all subtopics (4.4.2).
    """
    entries = [0] * len(communities)
    for topic, community in enumerate(communities):
        members = interested_in(communities, topic)
        size = sum(communities[at].size for at in members)
        for at in members:
            entries[at] += whole_fan_out(size, community.parameters.c)
    return entries
