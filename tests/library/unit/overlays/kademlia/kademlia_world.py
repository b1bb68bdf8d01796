"""Processes in a DHT on virtual time, for tests and measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.testing.lone_process import contact
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Latency, LogNormal
from camcast.virtual.datagram_network import HostPort, ip_of
from camcast.virtual.network import VirtualNetwork
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic
from overlays.kademlia.overlay import Found, KademliaOverlay
from overlays.kademlia.table import usable
from overlays.remembered import Remembered

PORT = 4000
WAIT_SECONDS_MAX = 600.0  # chosen: far more than any join or look-up takes
BOOTSTRAP = (ip_of(0), PORT)


def remembered(*endpoints: Endpoint) -> Remembered:
    """Return what a process remembers that these endpoints answered."""
    memory = Remembered(None, usable)
    for endpoint in endpoints:
        memory.note(endpoint)
    return memory


class Overlays(World):
    """A world without nodes, of hosts with an overlay each; host 0 is the bootstrap node.

    Latencies are those of PlanetLab, `version` is that of IP.
    """

    def __init__(
        self, seed: int = 1, loss: float = 0.0, latency: Latency | None = None, version: int = 4
    ) -> None:
        climate = Climate(latency=latency or LogNormal(), loss=loss)
        super().__init__(virtual=VirtualNetwork(seed, climate))
        self.version = version
        self.seed = seed
        self.queue = self.virtual.queue
        self.weather = self.virtual.weather
        self.datagrams = self.virtual.datagrams
        self.overlays: dict[int, KademliaOverlay] = {}
        self.hosts: dict[int, HostPort] = {}
        self.ports: dict[int, DatagramPort] = {}
        """What the overlays speak through: the hosts, or what seals before."""

    def wait(self, holds: Callable[[], bool]) -> None:
        assert self.run(WAIT_SECONDS_MAX, until=holds)

    # -- who is there --------------------------------------------------------------------------

    def make(self, number: int, **options: Any) -> KademliaOverlay:
        """Return an overlay that is not open, with the timers and the datagrams of its host."""

        def receive(port: int, source: Endpoint, data: bytes, sender: bytes = b"") -> None:
            overlay.receive(port, source, data, self.now, sender)

        def wake(name: tuple[Any, ...]) -> None:
            if self.overlays.get(number) is overlay:
                overlay.wake(name, self.now)

        overlay = KademliaOverlay(
            rng=stream(self.seed, "protocol", number),
            wake=lambda delay, *name: self.queue.after(delay, wake, name),
            host=ip_of(number, self.version),
            **options,
        )
        self.overlays[number] = overlay
        self.ports[number] = self.port_of(number, receive)
        return overlay

    def port_of(self, number: int, receive: Callable[..., None]) -> DatagramPort:
        """Return what an overlay is to speak through, and note its host."""
        host = self.hosts[number] = HostPort(self.datagrams, number, receive, self.version)
        return host

    def contact(self, number: int) -> Contact:
        return contact(number)

    def launch(
        self,
        number: int,
        topics: Sequence[Topic] = (),
        bootstrap: Sequence[tuple[str, int]] | None = None,
        **options: Any,
    ) -> list[float]:
        """Open an overlay and let it join communities; return a list of when each was over."""
        overlay = self.make(number, **options)
        over: list[float] = []

        def opened(now: float) -> None:
            over.append(now)
            for topic in topics:
                overlay.join(topic, self.contact(number), now)
                overlay.when_joined(topic.group, over.append, now)

        if bootstrap is None:
            bootstrap = [(ip_of(0, self.version), PORT)]
        overlay.open(self.ports[number], bootstrap, opened, self.now)
        return over

    def enter(self, number: int, topics: Sequence[Topic] = (), **options: Any) -> None:
        """Launch an overlay, and wait until it has joined."""
        over = self.launch(number, topics, **options)
        self.wait(lambda: len(over) == 1 + len(topics))

    def bootstrap(self) -> None:
        self.enter(0, bootstrap=(), port=PORT)

    def populate(self, topics: Sequence[Topic], first: int = 1, settle: float = 10.0) -> None:
        """Start the bootstrap node, and a process for each topic, one every 20 ms."""
        if 0 not in self.overlays:
            self.bootstrap()
        joined: list[list[float]] = []
        for number, topic in enumerate(topics, first):
            self.queue.after(
                0.02 * number, lambda n, t: joined.append(self.launch(n, [t])), number, topic
            )
        self.wait(lambda: len(joined) == len(topics) and all(len(over) == 2 for over in joined))
        self.run(settle)

    def crash(self, number: int) -> None:
        del self.overlays[number]
        self.hosts[number].crash()

    def close(self, number: int) -> None:
        self.overlays[number].close(self.now)

    # -- what they find ------------------------------------------------------------------------

    def find(self, number: int, topic: Topic, wanted: int = 5) -> Found:
        return self.find_all([number], topic, wanted)[0]

    def find_all(self, seekers: Sequence[int], topic: Topic, wanted: int = 5) -> list[Found]:
        founds: dict[int, Found] = {}

        def seek(number: int) -> None:
            def done(found: Found, _now: float) -> None:
                founds[number] = found

            self.overlays[number].find(topic.group, wanted, done, self.now)

        for number in seekers:
            seek(number)
        self.wait(lambda: len(founds) == len(seekers))
        return [founds[number] for number in seekers]

    def state(self, number: int) -> str:
        return self.overlays[number].state
