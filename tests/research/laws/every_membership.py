"""Fleets of one protocol on one membership, in several weathers, beside the protocol's model.

The membership `full-view` is the example of a third party's plug; it is loaded from its folder.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping, Sequence
from functools import cache, partial
from math import sqrt
from pathlib import Path
from random import Random
from statistics import fmean, stdev
from typing import Final

from attrs import evolve, frozen

from camcast.doors.contained import plug_of
from camcast.doors.membership import Backend
from camcast.engine.node import Node
from camcast.research.models.student import quantile
from camcast.research.systems.camcast.model import predict
from camcast.research.systems.camcast.setting import Community, Setting
from camcast.research.systems.percolation.links import Link
from camcast.research.systems.registry import CAMCAST, find_system
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.weather import Weather
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, Topic

FULL_VIEW: Final = "full-view"
MEMBERSHIPS: Final = ("scamp", "hybrid", "dht", "cyclon", "hyparview", FULL_VIEW)
A, AB = Topic.parse(".a"), Topic.parse(".a.b")
MODEST: Final = Parameters(c=0.0)
CHAIN: Final = (AB, A, ROOT)
"""The communities, the lowest first."""


@frozen
class Effort:
    """How much a protocol does for an event, and who takes part."""

    sizes: tuple[int, ...] = (60, 40, 20)
    """Processes of each community of `CHAIN`."""
    published_in: int = 1
    """The community of the event; processes of those below are not interested."""
    options: Mapping[str, object] = {}
    parameters: Parameters = MODEST
    seconds: float = 0.15
    """How long an event takes to spread."""
    events: int = 10
    """Events of a fleet in each weather."""
    settle_seconds: float = 8.0
    """How long the processes have been there when the first event is published."""
    allowed: float = 0.02
    """How far the model may be from the nodes, by what its text says."""

    @property
    def interested(self) -> tuple[Topic, ...]:
        """The communities whose processes want the event."""
        return CHAIN[self.published_in : len(self.sizes)]


EFFORTS: Final[Mapping[str, Effort]] = {
    CAMCAST: Effort(
        published_in=0,
        parameters=CommunitySettings(c=0.0, g=8.0, search_seconds=0.2, check_seconds=1.0),
    ),
    "broadcast": Effort(),
    "multicast": Effort(),
    "hierarchical": Effort(options={"clusters": 3}),
    "rfpbcast": Effort(
        options={"fan_out": 2, "period_seconds": 0.03},
        seconds=0.6,
        allowed=0.03,  # targets are drawn from a table, which may have as few as 5 entries
    ),
    # an event in some twenty dies out near its publisher, which 60 events may not show
    # links to who has left a view since are closed within fourteen seconds of the last join
    "percolation": Effort(
        (102, 18), options={"gamma": 0.03}, events=30, settle_seconds=20.0, allowed=0.05
    ),
    "pmcast": Effort(options={"fan_out": 4, "period_seconds": 0.03}, seconds=0.6),
    "hpmcast": Effort(options={"fan_out": 3, "period_seconds": 0.03}, seconds=0.6),
}
WEATHERS: Final = ((0.0, 0.0), (0.2, 0.0), (0.1, 0.1))
"""The shares of copies that are lost, and of processes that are dead while an event spreads: four
copies of five take effect, as the models of the baselines ask."""
BETTER: Final[Mapping[str, str]] = {
    "scamp": "a process is missed only if its sponsor is missed, too",
    "hybrid": "a process is missed only if its sponsor is missed, too",
    "hyparview": "nearly all processes are in as many views as the others",
}
"""Memberships whose tables reach more than tables drawn at random, as the models have them."""


@cache
def full_view() -> Backend:
    """Return the backend of the example in examples/full_view."""
    path = Path(__file__).parents[3] / "examples/full_view/full_view.py"
    spec = importlib.util.spec_from_file_location("full_view", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its messages look up their annotations
    spec.loader.exec_module(module)
    found: Backend = module.BACKEND
    return found


def settled(protocol: str, membership: str, effort: Effort, seed: int, seconds: float) -> World:
    """Return a world of processes that have joined in a random order, after so much time."""
    world = World(
        seed,
        protocol=protocol,
        protocol_options=effort.options,
        parameters=effort.parameters,
        topics=CHAIN,
        membership="scamp" if membership == FULL_VIEW else membership,
    )
    if membership == FULL_VIEW:
        backend = full_view()
        world.settings = evolve(world.settings, backend=backend, options=backend.options())
    topics = [topic for topic, size in zip(CHAIN, effort.sizes, strict=False) for _ in range(size)]
    Random(seed).shuffle(topics)
    for topic in topics:
        world.join(topic, gap=0.02)
    world.run(seconds)
    return world


def wanting(world: World, topic: Topic) -> list[Node]:
    """Return the live nodes that are interested in exactly this topic."""
    return [
        node
        for node in world.alive.values()
        if any(subscribed == topic for subscribed in interests_of(node))
    ]


def interests_of(node: Node) -> Sequence[Topic]:
    """Return the topics that a node has subscribed to."""
    return [topic for topic in CHAIN if node.local_group(topic) is not None]


def neither(dead: frozenset[str], one: str, other: str) -> bool:
    """Say whether neither of two addresses is dead."""
    return one not in dead and other not in dead


def receptions(
    world: World, effort: Effort, loss: float, crash: float, seed: int
) -> dict[Topic, list[float]]:
    """Publish events one after the other in a weather; return each one's reception by community.

    A dead process is one that nobody reaches while the event spreads; the publisher lives.
    """
    communities = {topic: wanting(world, topic) for topic in effort.interested}
    topic, calm, rng = effort.interested[0], world.virtual.weather, Random(seed)
    climate = Climate(latency=Constant(0.01), loss=loss)
    found: dict[Topic, list[float]] = {topic: [] for topic in communities}
    for event in range(effort.events):
        publisher = rng.choice(communities[topic])
        nodes = [node for node in world.alive.values() if node is not publisher]
        dead = frozenset(node.me.address for node in nodes if rng.random() < crash)
        world.virtual.weather = Weather(climate, stream(seed * 1000 + event, "network", "spread"))
        world.cut(partial(neither, dead))
        delivered = len(world.delivered)
        world.publish(publisher, topic, seconds=effort.seconds)
        have = {node.me.peer for node, _ in world.delivered[delivered:]}
        for community, members in communities.items():
            alive = [node for node in members if node.me.address not in dead]
            found[community].append(fmean(node.me.peer in have for node in alive))
        world.virtual.weather = calm
        world.run(0.05)
    return found


def links(world: World) -> dict[PeerId, list[Link]]:
    """Return the links that each live process has, with percolation."""
    found = {}
    for node in world.alive.values():
        [local_group] = node.local_groups
        found[node.me.peer] = list(plug_of(local_group.dissemination)._links.all())
    return found


def expected(
    protocol: str, world: World, effort: Effort, loss: float, crash: float
) -> dict[Topic, float]:
    """Return the reception by community that the protocol's model says."""
    communities = tuple(
        Community(
            size=size,
            supers=(at + 1,) if at + 1 < len(effort.sizes) else (),
            parameters=effort.parameters,
        )
        for at, size in enumerate(effort.sizes)
    )
    chain = Setting(communities=communities, success=1 - loss, crash=crash)
    if protocol == CAMCAST:
        predicted = predict(chain)
        return {topic: one.reception or 0.0 for topic, one in zip(CHAIN, predicted, strict=False)}
    if protocol == "percolation":
        reception = fmean(percolated(world, effort, loss, crash))
    else:
        system = find_system(protocol)
        options = {"published_in": effort.published_in, **effort.options}
        options.pop("period_seconds", None)  # the models count rounds
        reception = system.predict(system.setting_of(chain, options)).reception
    return dict.fromkeys(effort.interested, reception)


def percolated(
    world: World, effort: Effort, loss: float, crash: float, events: int = 200
) -> list[float]:
    """Return receptions by Algorithm 2 on the links of a world, if all know what they need.

    Reception includes the publisher. A process that is dead does nothing (003, III-B).
    """
    found_links = links(world)
    overlay = {
        peer: [link.contact.peer for link in of_peer if link.contact.peer in found_links]
        for peer, of_peer in found_links.items()
    }
    wants = {node.me.peer for node in wanting(world, effort.interested[0])}
    asking, gamma, rng = sorted(wants), effort.options["gamma"], Random(1)
    assert isinstance(gamma, float)
    found = []
    for _ in range(events):
        publisher = rng.choice(asking)
        dead = {peer for peer in overlay if peer != publisher and rng.random() < crash}
        have, waiting = {publisher}, [(publisher, publisher)]
        for node, source in waiting:  # which grows
            for other in overlay[node]:
                if (
                    other != source
                    and (other in wants or rng.random() < gamma)
                    and rng.random() >= loss
                    and other not in have
                    and other not in dead
                ):
                    have.add(other)
                    waiting.append((other, node))
        alive = [peer for peer in asking if peer not in dead]
        found.append(fmean(peer in have for peer in alive))
    return found


@frozen
class Cell:
    """What a community of one protocol on one membership received in one weather."""

    protocol: str
    membership: str
    loss: float
    crash: float
    community: Topic
    measured: tuple[float, ...]
    """The reception of each event, of all fleets."""
    model: float
    """The mean of what the model says of each fleet."""

    @property
    def difference(self) -> float:
        """How much the mean reception is above the model's."""
        return fmean(self.measured) - self.model

    @property
    def error(self) -> float:
        """Half of Student's interval at 99.9 %: one in a thousand is outside by chance."""
        size = len(self.measured)
        return float(quantile(0.999, size - 1)) * stdev(self.measured) / sqrt(size)

    @property
    def holds(self) -> bool:
        """Whether the reception is the model's, or better for a reason that is known."""
        allowed = self.error + EFFORTS[self.protocol].allowed
        better = self.membership in BETTER and self.protocol != "percolation"
        return -allowed <= self.difference and (better or self.difference <= allowed)

    def __str__(self) -> str:
        """Return the cell as a line of a table."""
        return (
            f"{self.protocol:12} {self.membership:10} loss {self.loss:3} dead {self.crash:3}"
            f" {self.community.name:5} {fmean(self.measured):.3f} ±{self.error:.3f}, model"
            f" {self.model:.3f}"
        )


def cells(protocol: str, membership: str, seeds: Sequence[int]) -> list[Cell]:
    """Measure fleets of a protocol on a membership in every weather."""
    effort = EFFORTS[protocol]
    measured: dict[tuple[float, float, Topic], list[float]] = {}
    models: dict[tuple[float, float, Topic], list[float]] = {}
    for seed in seeds:
        world = settled(protocol, membership, effort, seed, effort.settle_seconds)
        for loss, crash in WEATHERS:
            model = expected(protocol, world, effort, loss, crash)
            for topic, values in receptions(world, effort, loss, crash, seed).items():
                measured.setdefault((loss, crash, topic), []).extend(values)
                models.setdefault((loss, crash, topic), []).append(model[topic])
    return [
        Cell(protocol, membership, *key, tuple(values), fmean(models[key]))
        for key, values in measured.items()
    ]
