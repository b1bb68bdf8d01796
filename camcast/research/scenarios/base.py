"""The base of live and virtual scenarios: communities, workload and protocols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import attrs
from attrs import field, frozen, validators

from camcast.doors.plugs import (
    discovery_for,
    discovery_options,
    find_protocol,
    membership_for,
)
from camcast.doors.protocol import Protocol
from camcast.research.scenarios.super_topics import DeclaredTopic, SuperTopics
from camcast.research.scenarios.toml_file import TomlFile
from camcast.research.scenarios.workload import Workload
from camcast.research.workloads import Publication
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId
from camcast.vocabulary.parameters import CommunitySettings, settings_of
from camcast.vocabulary.printable import printable
from camcast.vocabulary.topic_parameters import TopicParameters
from camcast.vocabulary.topics import ROOT, Topic


class ScenarioError(CamcastError, ValueError):
    """A scenario cannot be run; the message names what is wrong and what to do."""


@frozen(kw_only=True)
class Processes:
    """A table ``[[processes]]``: processes that take part in all of several communities."""

    topics: tuple[Topic, ...]
    """The topics that each of them subscribes to."""
    count: int = field(default=1, validator=validators.ge(1))
    """How many processes there are of this kind."""

    def __attrs_post_init__(self) -> None:
        if not self.topics:
            raise ScenarioError("topics is empty; name the communities that the processes are in")
        if twice := next((one for one in self.topics if self.topics.count(one) > 1), None):
            raise ScenarioError(f"topics names {twice} twice; a process is in a community once")


def is_batched(protocol: Protocol) -> bool:
    """Return whether events of a protocol travel as batches, which can be asked for again."""
    anybody = PeerId(bytes(PEER_ID_BYTES))
    return any(group.batched for group in protocol.groups(ROOT, (ROOT,), anybody))


def _unchanging(of: Mapping[Topic, Any]) -> Mapping[Topic, Any]:
    return MappingProxyType(dict(of))


def _check_sizes(_scenario: BaseScenario, _field: object, sizes: Mapping[Topic, int]) -> None:
    for topic, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ScenarioError(f"community {topic} has {size} processes; give 1 or more")


@frozen(kw_only=True)
class BaseScenario:
    """One run: the communities, what is published in them, and the protocols that carry it.

    Each layer has a table of its own in a scenario file: the dissemination ``[parameters]``, the
    membership ``[options]``, another protocol than CAMCAST ``[protocol_options]``. Raises
    `ScenarioError` or `ValueError` for what cannot be run, and the errors of the protocol and the
    membership for their options.
    """

    DISCOVERIES: ClassVar[tuple[str, ...]] = ("own",)
    """The values of `discovery` that any membership goes with."""
    UNNAMED: ClassVar[str]
    """The default of `name`."""
    NODES_MAX: ClassVar[int]
    TOO_MANY: ClassVar[str]
    """The message about more nodes than `NODES_MAX`, with {nodes} and {communities}."""

    name: str = field(
        default=attrs.Factory(lambda self: self.UNNAMED, takes_self=True),
        validator=validators.min_len(1),
    )
    communities: Mapping[Topic, int] = field(
        factory=dict, converter=_unchanging, validator=_check_sizes
    )
    """The number of nodes by topic that are in this community alone."""
    processes: tuple[Processes, ...] = ()
    """The nodes that are in several communities."""
    topics: Mapping[Topic, DeclaredTopic] = field(factory=dict, converter=_unchanging)
    """What topics do not have by their names or from those above: super-topics, parameters."""
    workload: Workload = field(factory=Workload)
    protocol: str = "camcast"
    protocol_options: Mapping[str, object] = field(factory=dict)
    """The parameters of the protocol (`camcast.protocols`)."""
    membership: str = "scamp"
    options: Mapping[str, object] = field(factory=dict)
    """The parameters of the membership, as `CommunityManager` takes them."""
    discovery: str = "own"
    """The name of the discovery; ``own``: that of the membership."""
    discovery_options: Mapping[str, object] = field(factory=dict)
    """The parameters of the discovery."""
    parameters: CommunitySettings = field(factory=CommunitySettings, converter=settings_of)
    repair: bool = True
    """Whether processes ask for events they missed (`camcast.engine.repair`), as by default in
    `CommunityManager`. The papers have none: false reproduces them."""
    seed: int = 1
    """The seed of all random streams."""

    def __attrs_post_init__(self) -> None:
        if not self.nodes:
            raise ScenarioError("there are no communities; give at least one, like .soccer=10")
        if self.nodes > self.NODES_MAX:
            raise ScenarioError(self.TOO_MANY.format(nodes=self.nodes, communities=len(self.sizes)))
        protocol = find_protocol(self.protocol, self.protocol_options)
        declared = self.super_topics.declared  # raises for a circle
        if declared and not protocol.linked:
            raise ScenarioError(
                f"the protocol {self.protocol} goes by the names of topics, and takes no declared"
                f" super-topics, like those of {next(iter(declared))}"
            )
        backend, _ = membership_for(protocol, self.membership, self.options)
        if self.discovery not in self.DISCOVERIES:
            factory = discovery_for(backend, self.discovery)
            discovery_options(factory, self.discovery, self.discovery_options)
        for topic in self.topics:
            self.settings_of(topic)  # raises for what does not go together
        if self.parameters.spread == "tree" and not self.repair:
            raise ScenarioError(
                "spread 'tree' goes with repair, by which processes ask for what their tree has not"
                " brought; repair them, or let events infect and die"
            )

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a TOML file whose keys are the fields; without a name, it is named as the file.

        Raises `TomlError`, which names the file, the line, the key and what is wrong.
        """
        file = TomlFile(path)
        scenario = file.read(cls)
        return (
            scenario
            if "name" in file.content
            else attrs.evolve(scenario, name=printable(path.stem))
        )

    @property
    def nodes(self) -> int:
        """How many nodes there are; one in several communities counts once."""
        return sum(self.communities.values()) + sum(kind.count for kind in self.processes)

    @property
    def kinds(self) -> dict[tuple[Topic, ...], int]:
        """How many nodes there are by their communities, in the order of the scenario."""
        kinds: Counter[tuple[Topic, ...]] = Counter()
        for topic, size in self.communities.items():
            kinds[(topic,)] += size
        for of_a_kind in self.processes:
            kinds[of_a_kind.topics] += of_a_kind.count
        return dict(kinds)

    @property
    def sizes(self) -> dict[Topic, int]:
        """The number of members of each community; a node counts in each that it is in."""
        sizes: Counter[Topic] = Counter()
        for topics, count in self.kinds.items():
            for topic in topics:
                sizes[topic] += count
        return dict(sizes)

    @property
    def repaired(self) -> bool:
        """Whether missed events are asked for in a run: `repair`, where the protocol allows it.

        CAMCAST and multicast do, which have batches; nothing is kept with a retention of 0.
        """
        protocol = find_protocol(self.protocol, self.protocol_options)
        return self.repair and is_batched(protocol) and self.parameters.retention_seconds > 0

    @property
    def super_topics(self) -> SuperTopics:
        """The relation of the topics to those above."""
        return SuperTopics(
            {topic: given.below for topic, given in self.topics.items() if given.below is not None}
        )

    @property
    def topic_parameters(self) -> TopicParameters:
        """What the scenario says of single topics."""
        return TopicParameters({topic: given.parameters for topic, given in self.topics.items()})

    def settings_of(self, topic: Topic) -> CommunitySettings:
        """Return the settings of the community of a topic."""
        return self.topic_parameters.over(topic, self.parameters)

    def with_parameters(self, given: TopicParameters) -> Self:
        """Return the scenario with other parameters of topics, key by key."""
        topics = dict(self.topics)
        for topic, values in given.said.items():
            topics[topic] = attrs.evolve(topics.get(topic, DeclaredTopic()), **values)
        return attrs.evolve(self, topics=topics)

    @property
    def overlapping(self) -> bool:
        """Whether a node is in several communities."""
        return any(len(topics) > 1 for topics in self.kinds)

    def publications(self) -> list[Publication]:
        """Load the workload; raises `WorkloadError`, and `ScenarioError` as `check_topic`."""
        publications = self.workload.load()
        for topic in {topic: None for publication in publications for topic in publication.topics}:
            self.check_topic(topic)
        return publications

    def check_topic(self, topic: Topic) -> None:
        """Raise `ScenarioError` if `topic`, on which the workload publishes, has no community."""
        if topic not in self.sizes:
            raise ScenarioError(
                f"the workload publishes on {topic}, which has no community; add one, like"
                f" {topic}=5"
            )

    def as_json(self) -> dict[str, Any]:
        """Return the scenario as a JSON object, with the keys of a scenario file."""
        of_topics = attrs.fields(DeclaredTopic)

        def plain(_owner: object, _field: object, value: Any) -> Any:
            if isinstance(value, Topic | Path):
                return str(value)
            if isinstance(value, Mapping):
                return {str(key): inner for key, inner in value.items()}
            if isinstance(value, tuple):
                return [str(one) if isinstance(one, Topic) else one for one in value]
            return value

        return attrs.asdict(
            self,
            value_serializer=plain,
            filter=lambda attribute, value: (
                not attribute.name.startswith("_")
                and not (value is None and attribute in of_topics)  # which is as above the topic
            ),
        )
