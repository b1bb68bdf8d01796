"""A world: real nodes in the virtual network, and methods by which tests act on them.

`World.join` starts a node with the settings and plugs of the world, which finds other members
through a census. `World.add` starts a node that finds them through configured gateways, as live
nodes do, by the discovery of its backend.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from attrs import frozen

from camcast.doors.plugs import find_backend, find_discovery, find_protocol, membership_for
from camcast.engine.node import Node
from camcast.engine.settings import Parts, Settings
from camcast.engine.store import Store
from camcast.interests.interest import Interest
from camcast.observe.trace import Sink
from camcast.protocols.camcast import CamcastProtocol
from camcast.virtual.census import Census
from camcast.virtual.climate import Climate
from camcast.virtual.network import Process, VirtualNetwork, address_of
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, GroupId, Topic

T = TypeVar("T")

# chosen: twenty times what the busiest process of a contract takes (measured); a message or timer
# that doubles exceeds it within some rounds
ENDLESS_INPUTS: Final = 10_000


class InputBound:
    """Ends a run in which messages or timers breed others without end."""

    def __init__(self) -> None:
        self._second = 0
        self._inputs = Counter[str]()

    def count(self, address: str, now: float) -> None:
        """Count an input of the process at an address.

        Raises `AssertionError` at the first above `ENDLESS_INPUTS` in a second of virtual time.
        """
        if int(now) != self._second:
            self._second = int(now)
            self._inputs.clear()
        self._inputs[address] += 1
        assert self._inputs[address] <= ENDLESS_INPUTS, (
            f"{address} takes more than {ENDLESS_INPUTS} messages and timers within a second: "
            "does an answer draw an answer, or a timer set two?"
        )


@frozen(eq=False)
class Unreachable:
    """A cut between addresses: frames are lost where `reachable(source, target)` is false."""

    reachable: Callable[[str, str], bool]
    loss: float = 1.0
    version: int = 4
    """The version of IP of all hosts."""

    def severs(self, source: int, target: int) -> bool:
        """Say whether nothing passes from one host to another."""
        ends = (address_of(number, self.version) for number in (source, target))
        return not self.reachable(*ends)


class Delivered(NamedTuple):
    """An event that a node delivered to its application, in the community of this group."""

    group: GroupId
    event: Event


class World:
    """Real nodes in a `VirtualNetwork`, whose messages take 0.01 s and may be lost.

    `topics` are all topics that exist, for protocols that must know them. A `virtual` network is
    used as it is; `seed`, `sink` and `loss` are for the network that the world makes otherwise.
    With `repair` nodes ask again for events that they have missed. A run whose messages or timers
    multiply without end is an `AssertionError` (`InputBound`).
    """

    def __init__(
        self,
        seed: int = 1,
        sink: Sink | None = None,
        loss: float = 0.0,
        virtual: VirtualNetwork | None = None,
        *,
        membership: str = "scamp",
        options: Mapping[str, object] | None = None,
        protocol: str = "camcast",
        protocol_options: Mapping[str, object] | None = None,
        parameters: Parameters | None = None,
        topics: Iterable[Topic] = (),
        repair: bool = False,
    ) -> None:
        self.virtual = virtual or VirtualNetwork(seed, Climate(loss=loss), sink)
        self.virtual.on_delivery = self._on_delivery
        self._bound = InputBound()
        self.virtual.on_step = self._on_step
        self.census = Census(stream(seed, "churn", "census"))
        self.nodes: list[Node] = []
        """Every node that was started, in that order."""
        self.delivered: list[tuple[Node, Delivered]] = []
        self._joined: dict[Topic, None] = {}
        self._processes: dict[Node, Process] = {}
        self._made_of: dict[Node, tuple[Settings, Parts]] = {}
        chosen = find_protocol(protocol, protocol_options)
        backend, backend_options = membership_for(chosen, membership, options)
        self.settings = Settings(
            backend=backend,
            discovery=self.census.discovery,
            options=backend_options,
            parameters=parameters or CommunitySettings(),
            protocol=chosen,
            topics=tuple(topics),
        )
        self.parts = Parts(store=Store() if repair else None)

    # -- what there is -------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """The virtual time in seconds."""
        return self.virtual.now

    @property
    def alive(self) -> dict[str, Node]:
        """The live nodes, by address."""
        return {address: process.node for address, process in self.virtual.processes.items()}

    @property
    def records(self) -> int:
        """How many copies of records were sent."""
        return self.virtual.messages

    @property
    def parasites(self) -> int:
        """How many first copies of events came to nodes that were not interested."""
        return sum(node.counters.parasites for node in self.nodes)

    def delivered_to(self, node: Node) -> Counter[tuple[Topic, bytes]]:
        """Return how often each payload was delivered to a node, by topic.

        The topics are those that a node of the world has joined.
        """
        names = {topic.group: topic for topic in (*self.settings.topics, *self._joined)}
        return Counter(
            (names[delivery.group], delivery.event.payload)
            for receiver, delivery in self.delivered
            if receiver is node
        )

    # -- nodes that come and go ----------------------------------------------------------------

    def join(
        self,
        *topics: Topic,
        where: str = "",
        peer: PeerId | None = None,
        gap: float = 0.1,
        dialable: bool = True,
    ) -> Node:
        """Start a node that joins these topics, and let `gap` seconds pass.

        `where` is its interest in attributes of events, "" for all events; `peer` is its identity,
        None for a new one. Nobody can dial it unless it is `dialable`.
        """
        node = self.start(self.settings, peer=peer, dialable=dialable)
        wanted = Interest.parse(where) if where else None
        for topic in topics:
            self._joined[topic] = None
            self.do(node, partial(_join, topic, wanted))
        self.run(gap)
        return node

    def add(
        self,
        gateways: tuple[str, ...] = (),
        options: dict[str, Any] | None = None,
        parameters: Parameters | None = None,
        backend: str = "scamp",
        dialable: bool = True,
        peer: PeerId | None = None,
        parts: Parts | None = None,
        relay: bool = False,
    ) -> Node:
        """Start a node of CAMCAST that joins nothing yet and knows gateways for every topic.

        It is of the world's system. Without `parts` it has those of the world.
        """
        plug = find_backend(backend)
        settings = Settings(
            backend=plug,
            discovery=find_discovery(plug.discovery),
            options=plug.parse_options(options or {}),
            gateways={ROOT: gateways},
            parameters=parameters or CommunitySettings(),
            protocol=CamcastProtocol(),
            system=self.settings.system,
            relay=relay,
        )
        return self.start(settings, peer=peer, parts=parts, dialable=dialable)

    def start(
        self,
        settings: Settings,
        number: int | None = None,
        peer: PeerId | None = None,
        parts: Parts | None = None,
        dialable: bool = True,
    ) -> Node:
        """Start a node with these settings, at the next address or at the one of this number.

        Without `parts` it has those of the world.
        """
        parts = parts or self.parts
        process = self.virtual.start(
            settings, number=number, peer=peer, parts=parts, dialable=dialable
        )
        self._processes[process.node] = process
        self._made_of[process.node] = settings, parts
        self.nodes.append(process.node)
        return process.node

    def restart(self, killed: Node) -> Node:
        """Start a node without memory or identity at the address of one that was killed."""
        settings, parts = self._made_of[killed]
        number, dialable = self._processes[killed].number, killed.me.is_dialable
        return self.start(settings, number, parts=parts, dialable=dialable)

    def move(self, node: Node) -> None:
        """Let the machine of a node get an address that no other had, and the node announce it."""
        self.virtual.move(self._processes[node], self.virtual.next_host)

    def leave(self, node: Node, topic: Topic) -> None:
        """Let a node leave a topic politely; it stays alive."""
        self.do(node, lambda node, now: node.leave(topic, now))

    def kill(self, node: Node) -> None:
        """Crash a node: none of its later happenings come, and the census forgets it."""
        for local_group in node.local_groups:
            self.census.strike(local_group.topic, node.me)
        self.virtual.crash(self._processes[node])

    # -- what happens --------------------------------------------------------------------------

    def do(self, node: Node, act: Callable[[Node, float], T]) -> T:
        """Give a node a command, and carry out its wishes."""
        return self.virtual.do(self._processes[node], act)

    def publish(
        self, node: Node, topic: Topic, payload: bytes = b"!", seconds: float = 3.0
    ) -> EventId:
        """Publish an event, and let so much time pass."""
        receipt = self.do(node, lambda node, now: node.publish(topic, payload, now))
        self.run(seconds)
        return receipt.id

    def inject(self, target: str, frame: bytes, link: PeerId | None = None) -> None:
        """Let bytes arrive at an address at once."""
        self.virtual.inject(target, frame, link)

    def cut(self, reachable: Callable[[str, str], bool]) -> None:
        """From now on, lose frames between addresses unless `reachable(source, target)`."""
        self.virtual.weather.cuts[:] = [Unreachable(reachable, version=self.virtual.version)]

    def heal(self) -> None:
        """Let all nodes reach each other again."""
        self.virtual.weather.cuts.clear()

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Let virtual time pass, at most until `until` is true; return whether it is."""
        if until is None:
            self.virtual.run(seconds)
            return True
        queue = self.virtual.queue
        end = queue.now + seconds
        while not until():
            following = queue.next_time()
            if following is None or following > end:
                queue.run_until(end)
                return until()
            queue.step()
        return True

    def _on_step(self, process: Process) -> None:
        self._bound.count(process.me.address, self.virtual.now)

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        self.delivered.extend(
            (process.node, Delivered(delivery.group, event)) for event in delivery.batch.events()
        )


def _join(topic: Topic, where: Interest | None, node: Node, now: float) -> None:
    node.join(topic, now, where=where)


def name_of(address: str) -> str:
    """Return a short name of an address: n1, n2… for the first 254 processes of a network."""
    return "n" + address.rpartition(":")[0].rpartition(".")[2]
