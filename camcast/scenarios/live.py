"""A scenario: everything that determines an experiment, and the built-in one of the paper."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs
from attrs import field, frozen, validators

from camcast.doors.plugs import find_protocol, membership_for
from camcast.scenarios.communities import ScenarioError, check_sizes, check_topics, unchanging
from camcast.scenarios.workload import Workload
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from camcast.workloads import Publication

NODES_MAX: Final = 2000  # chosen: about 1 MB and 0.1 % of a core each; beyond, simulate
PROCESSES_MAX: Final = 64  # chosen: 40 MB each; more than the cores of one machine add nothing


def _check_nodes(_scenario: object, _field: object, sizes: Mapping[Topic, int]) -> None:
    if (nodes := sum(sizes.values())) > NODES_MAX:
        raise ScenarioError(
            f"{nodes} nodes in {len(sizes)} communities are too many for one machine, which"
            f" hosts {NODES_MAX}; give smaller communities or fewer events"
        )


@frozen(kw_only=True)
class Scenario:
    """One experiment: who is there, what is published, and what goes wrong.

    Raises `ScenarioError` or `ValueError` for what cannot be run, and what the membership
    says of its options.
    """

    name: str = field(default="run", validator=validators.min_len(1))
    communities: Mapping[Topic, int] = field(
        converter=unchanging, validator=[check_sizes, _check_nodes]
    )
    """The number of nodes by topic; each node is in one community."""
    workload: Workload = field(factory=Workload)
    protocol: str = "camcast"
    protocol_options: Mapping[str, object] = field(factory=dict)
    """The parameters of the protocol (`camcast.protocols`)."""
    membership: str = "scamp"
    options: Mapping[str, object] = field(factory=dict)
    """The parameters of the membership, as `CommunityManager` takes them."""
    parameters: Parameters = field(factory=Parameters)
    seed: int = 1
    """Of the choice of publishers and victims, and of the protocols' randomness."""
    processes: int = field(
        default=2, validator=[validators.ge(1), validators.le(PROCESSES_MAX)]
    )  # chosen: as many as the smallest machine has cores
    """Operating system processes that share the nodes."""
    kill: float = field(default=0.0, validator=[validators.ge(0), validators.lt(1)])
    """Share of those processes that is killed in the middle of the publishing."""
    join_seconds: float = field(default=30.0, validator=validators.gt(0))
    """How long a wave of joins may take before the run fails. chosen: a busy machine."""
    settle_seconds: float = field(default=15.0, validator=validators.gt(0))
    """How long tables may take to settle; then publishing starts anyhow. chosen: three
    periods of the super-topic tables' upkeep."""

    rest_seconds: float = field(default=0.0, validator=validators.ge(0))
    """How long the settled tables are left alone before publishing starts."""
    upward_probabilities: tuple[float, ...] = field(
        default=(),
        converter=tuple,
        validator=validators.deep_iterable([validators.ge(0), validators.le(1)]),
    )
    """The p_sel of the events, in turn, instead of the parameters' (`Community.publish`)."""

    def __attrs_post_init__(self) -> None:
        protocol = find_protocol(self.protocol, self.protocol_options)
        membership_for(protocol, self.membership, self.options)
        if self.kill and not 1 <= self.victims < self.processes:
            raise ScenarioError(
                f"kill={self.kill} of {self.processes} processes kills {self.victims} of them;"
                " at least one has to die and one to survive: give more processes"
            )

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return sum(self.communities.values())

    @property
    def victims(self) -> int:
        """How many operating system processes are killed."""
        return round(self.kill * self.processes)

    def publications(self) -> list[Publication]:
        """Load the workload; raises `WorkloadError`, and `ScenarioError` for a topic without."""
        publications = self.workload.load()
        check_topics(self.communities, publications)
        return publications

    def as_json(self) -> dict[str, Any]:
        """Return the scenario as JSON takes it, with the names of a scenario file."""
        plain = attrs.asdict(self, recurse=False)
        plain["communities"] = {topic.name: size for topic, size in self.communities.items()}
        plain["parameters"] = attrs.asdict(self.parameters)
        plain["workload"] = attrs.asdict(self.workload, recurse=False) | {
            "topic": self.workload.topic.name,
            "file": None if self.workload.file is None else str(self.workload.file),
        }
        options = {"options": dict(self.options), "protocol_options": dict(self.protocol_options)}
        return plain | options


def communities_for(
    publications: list[Publication], members: int, members_max: int
) -> dict[Topic, int]:
    """Choose communities for a workload: one for each topic that it uses, and its ancestors.

    Each has as many nodes as publishers are named, within [`members`, `members_max`].
    """
    names: dict[Topic, set[str]] = {}
    for publication in publications:
        for topic in publication.topics:
            for level in (topic, *topic.ancestors()):
                names.setdefault(level, set())
            if publication.publisher is not None:
                names[topic].add(publication.publisher)
    return {
        topic: min(max(len(publishers), members), members_max)
        for topic, publishers in sorted(names.items())
    }


def chain(sizes: list[int], levels: list[str] | None = None) -> dict[Topic, int]:
    """Make a chain of communities from sizes, the bottom first, the root last (as in 6.2.1)."""
    levels = levels or [f"t{number}" for number in range(1, len(sizes))]
    topics = [Topic(tuple(levels[:depth])) for depth in range(len(sizes))]
    return dict(zip(topics, reversed(sizes), strict=True))


def paper() -> Scenario:
    """Return the paper's experiment: a chain of 84, 27 and 7 processes (6.2.1).

    SCAMP's own c is 0 as well, since 6.2.1 fills the topic tables with ln N processes.
    """
    sizes = chain([84, 27, 7], ["d", "g"])  # [CAMCAST 6.2.1] with unstructured membership
    return Scenario(
        name="paper",
        communities=sizes,
        workload=Workload(topic=Topic(("d", "g"))),
        options={"c": 0},
        parameters=Parameters(c=0, a=2, z=4),  # [CAMCAST 6.2.1]
    )


BUILT_IN: Final = {"paper": paper}


def find_scenario(name: str) -> Scenario:
    """Return a built-in scenario or read a file; `ScenarioError` lists the built-in ones."""
    from camcast.scenarios.live_file import read_scenario

    if name in BUILT_IN:
        return BUILT_IN[name]()
    if not name.endswith(".toml"):
        raise ScenarioError(
            f"unknown scenario {name!r}; built in: {', '.join(BUILT_IN)}; a file ends in .toml"
        )
    return read_scenario(Path(name))
