"""The base of live and virtual scenarios: communities, workload and protocols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Self

import attrs
from attrs import field, frozen, validators

from camcast.doors.plugs import find_protocol, membership_for
from camcast.research.scenarios.toml_file import TomlFile
from camcast.research.scenarios.workload import Workload
from camcast.research.workloads import Publication
from camcast.vocabulary.errors import CamcastError
from camcast.vocabulary.parameters import CommunitySettings, settings_of
from camcast.vocabulary.printable import printable
from camcast.vocabulary.topics import Topic


class ScenarioError(CamcastError, ValueError):
    """A scenario cannot be run; the message names what is wrong and what to do."""


def _unchanging(sizes: Mapping[Topic, int]) -> Mapping[Topic, int]:
    return MappingProxyType(dict(sizes))


def _check_sizes(scenario: BaseScenario, _field: object, sizes: Mapping[Topic, int]) -> None:
    if not sizes:
        raise ScenarioError("there are no communities; give at least one, like .soccer=10")
    for topic, size in sizes.items():
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ScenarioError(f"community {topic} has {size} processes; give 1 or more")
    if (total := sum(sizes.values())) > scenario.NODES_MAX:
        raise ScenarioError(scenario.TOO_MANY.format(nodes=total, communities=len(sizes)))


@frozen(kw_only=True)
class BaseScenario:
    """One run: the communities, what is published in them, and the protocols that carry it.

    Each layer has a table of its own in a scenario file: the dissemination ``[parameters]``, the
    membership ``[options]``, another protocol than CAMCAST ``[protocol_options]``. Raises
    `ScenarioError` or `ValueError` for what cannot be run, and the errors of the protocol and the
    membership for their options.
    """

    UNNAMED: ClassVar[str]
    """The default of `name`."""
    NODES_MAX: ClassVar[int]
    TOO_MANY: ClassVar[str]
    """The message about more nodes than `NODES_MAX`, with {nodes} and {communities}."""

    name: str = field(
        default=attrs.Factory(lambda self: self.UNNAMED, takes_self=True),
        validator=validators.min_len(1),
    )
    communities: Mapping[Topic, int] = field(converter=_unchanging, validator=_check_sizes)
    """The number of nodes by topic; each node is in one community."""
    workload: Workload = field(factory=Workload)
    protocol: str = "camcast"
    protocol_options: Mapping[str, object] = field(factory=dict)
    """The parameters of the protocol (`camcast.protocols`)."""
    membership: str = "scamp"
    options: Mapping[str, object] = field(factory=dict)
    """The parameters of the membership, as `CommunityManager` takes them."""
    parameters: CommunitySettings = field(factory=CommunitySettings, converter=settings_of)
    repair: bool = False
    """Whether processes ask for events they missed (`camcast.engine.repair`); not in the papers."""
    seed: int = 1
    """The seed of all random streams."""

    def __attrs_post_init__(self) -> None:
        protocol = find_protocol(self.protocol, self.protocol_options)
        membership_for(protocol, self.membership, self.options)
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
        """How many nodes the communities have."""
        return sum(self.communities.values())

    def publications(self) -> list[Publication]:
        """Load the workload; raises `WorkloadError`, and `ScenarioError` as `check_topic`."""
        publications = self.workload.load()
        for publication in publications:
            for topic in publication.topics:
                self.check_topic(topic)
        return publications

    def check_topic(self, topic: Topic) -> None:
        """Raise `ScenarioError` if `topic`, on which the workload publishes, has no community."""
        if topic not in self.communities:
            raise ScenarioError(
                f"the workload publishes on {topic}, which has no community; add one, like"
                f" {topic}=5"
            )

    def levels(self, topic: Topic) -> Iterator[Topic]:
        """Yield the communities that want an event of `topic`, its own first, the root last."""
        return (t for t in (topic, *topic.ancestors()) if t in self.communities)

    def as_json(self) -> dict[str, Any]:
        """Return the scenario as a JSON object, with the keys of a scenario file."""

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
            filter=lambda attribute, _value: not attribute.name.startswith("_"),
        )
