"""Live scenarios: experiments with real processes, and the built-in one of the paper.

A scenario file has the fields of `Scenario` as keys; its tables have those of `Workload` and
`CommunitySettings`, the membership's options, and topics with their sizes::

    seed = 1
    workers = 2
    [communities]
    "." = 7
    ".soccer" = 30
    [[processes]]
    topics = [".soccer", ".chess"]
    count = 3
    [workload]
    topic = ".soccer"
    events = 200
    rate = 50
    [parameters]
    p_sel = 0.5
    [options]
    c = 2
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.live import transports
from camcast.research.scenarios.base import BaseScenario, ScenarioError
from camcast.research.scenarios.workload import Workload
from camcast.research.workloads import Publication
from camcast.vocabulary.arguments import NOT_NEGATIVE, PROBABILITY
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

EVENTS_MAX: Final = 1_000_000  # chosen: 1 GB, as all are made before the first is published
WORKERS_MAX: Final = 64  # chosen: 40 MB each; more than the cores of one machine add nothing


@frozen(kw_only=True)
class Scenario(BaseScenario):
    """One experiment with live nodes, in several operating system processes."""

    UNNAMED: ClassVar[str] = "run"
    NODES_MAX: ClassVar[int] = 2000  # chosen: about 1 MB and 0.1 % of a core each; else simulate
    TOO_MANY: ClassVar[str] = (
        "{nodes} nodes in {communities} communities are too many for one machine, which hosts"
        f" {NODES_MAX}; give smaller communities or fewer events"
    )

    workers: int = field(
        default=2, validator=[validators.ge(1), validators.le(WORKERS_MAX)]
    )  # chosen: as many as the smallest machine has cores
    """Operating system processes that share the nodes."""
    transport: str = field(
        default=transports.DEFAULT, validator=lambda _one, _field, name: transports.check(name)
    )
    """How frames travel between the nodes (`camcast.open_pipes`)."""
    kill: float = field(default=0.0, validator=[validators.ge(0), validators.lt(1)])
    """Share of the operating system processes that is killed in the middle of the publishing."""
    join_seconds: float = field(default=30.0, validator=validators.gt(0))
    """How long a wave of joins may take before the run fails. chosen: a busy machine."""
    settle_seconds: float = field(default=15.0, validator=validators.gt(0))
    """How long publishing waits for the tables to settle, at most. chosen: three periods of the
    super-topic tables' upkeep."""
    rest_seconds: float = field(default=0.0, validator=NOT_NEGATIVE)
    """How long publishing waits after the tables have settled."""
    upward_probabilities: tuple[float, ...] = field(
        default=(), converter=tuple, validator=validators.deep_iterable(PROBABILITY)
    )
    """The p_sel of successive events, repeated in turn (`Community.publish`); empty: that of the
    parameters."""

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if (self.workload.events or 0) > EVENTS_MAX:
            raise ScenarioError(
                f"the workload has {self.workload.events:,} events; give {EVENTS_MAX:,} or fewer"
            )
        if self.kill and not 1 <= self.victims < self.workers:
            raise ScenarioError(
                f"kill={self.kill} of {self.workers} processes kills {self.victims} of them;"
                " at least one has to die and one to survive: give more processes"
            )

    @property
    def victims(self) -> int:
        """How many operating system processes are killed."""
        return round(self.kill * self.workers)


def communities_for(
    publications: list[Publication], members: int, members_max: int
) -> dict[Topic, int]:
    """Choose communities for a workload: one for each of its topics and of their ancestors.

    Each has as many nodes as the workload names publishers in its topic, within [`members`,
    `members_max`].
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
    """Return a chain of communities of these sizes, the bottom first, the root last (6.2.1)."""
    return dict(zip(topics_of_chain(len(sizes), levels), reversed(sizes), strict=True))


def topics_of_chain(number: int, levels: Sequence[str] | None = None) -> list[Topic]:
    """Return so many topics, each below the one before, the root first."""
    levels = levels or [f"t{level}" for level in range(1, number)]
    return [Topic(tuple(levels[:depth])) for depth in range(number)]


def paper() -> Scenario:
    """Return the paper's experiment: a chain of 84, 27 and 7 processes (6.2.1).

    SCAMP's c is 0, too, since 6.2.1 fills the topic tables with ln N processes.
    """
    sizes = chain([84, 27, 7], ["d", "g"])  # [CAMCAST 6.2.1] with unstructured membership
    return Scenario(
        name="paper",
        communities=sizes,
        workload=Workload(topic=Topic(("d", "g"))),
        options={"c": 0},
        repair=False,  # the paper has none
        parameters=CommunitySettings(c=0, a=2, z=4, spread="infect"),  # [CAMCAST 6.2.1]
    )


BUILT_IN: Final = {"paper": paper}


def find_scenario(name: str) -> Scenario:
    """Return a built-in scenario, or read a file. Raises `ScenarioError`, or `TomlError`."""
    if name in BUILT_IN:
        return BUILT_IN[name]()
    if not name.endswith(".toml"):
        raise ScenarioError(
            f"unknown scenario {name!r}; built in: {', '.join(BUILT_IN)}; a file ends in .toml"
        )
    return Scenario.read(Path(name))
