"""Processes in a DHT on virtual time, for tests and measurements."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, Self, TypeVar

from camcast.settings.climate import Climate, Latency, LogNormal
from camcast.simulation.network import VirtualNetwork, address_of
from camcast.simulation.virtual_asyncio.datagrams import DatagramNetwork, ip_of
from camcast.simulation.virtual_asyncio.loop import VirtualLoop
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic
from overlays.kademlia.overlay import Found, KademliaOverlay

T = TypeVar("T")

PORT = 4000
BOOTSTRAP = (ip_of(0), PORT)


def contact_of(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16)), address_of(number))


class World:
    """Host 0 is the bootstrap node; latencies are those of PlanetLab."""

    def __init__(self, seed: int = 1, loss: float = 0.0, latency: Latency | None = None) -> None:
        self.seed = seed
        network = VirtualNetwork(seed, Climate(latency=latency or LogNormal(), loss=loss))
        self.weather = network.weather
        self.datagrams = DatagramNetwork(network.queue, network.weather)
        self.loop = VirtualLoop(self.datagrams, run_seconds_max=20_000)
        self.overlays: dict[int, KademliaOverlay] = {}

    def __enter__(self) -> Self:
        self.loop.__enter__()
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is None:
            self.run(self.close())
        self.loop.__exit__(kind, error, traceback)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        result: T = self.loop.run_until_complete(coroutine)
        return result

    def pass_time(self, seconds: float) -> None:
        self.run(asyncio.sleep(seconds))

    def task(self, number: int, coroutine: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        with self.loop.host(number):
            return self.loop.create_task(coroutine)

    def on(self, number: int, coroutine: Coroutine[Any, Any, T]) -> T:
        result: T = self.loop.run_until_complete(self.task(number, coroutine))
        return result

    def make(self, number: int, **options: Any) -> KademliaOverlay:
        rng = stream(self.seed, "protocol", number)
        overlay = KademliaOverlay(rng=rng, host=ip_of(number), **options)
        self.overlays[number] = overlay
        return overlay

    async def start(
        self,
        number: int,
        topics: Sequence[Topic] = (),
        bootstrap: Sequence[tuple[str, int]] = (BOOTSTRAP,),
        delay: float = 0.0,
        **options: Any,
    ) -> None:
        await asyncio.sleep(delay)
        overlay = self.make(number, **options)
        await overlay.open(bootstrap)
        for topic in topics:
            await overlay.join(topic.group, contact_of(number), topic.name)

    def bootstrap(self) -> None:
        self.on(0, self.start(0, bootstrap=(), port=PORT))

    def populate(self, topics: Sequence[Topic], first: int = 1, settle: float = 10.0) -> None:
        """Start the bootstrap node, and a process for each topic, one every 20 ms."""
        if 0 not in self.overlays:
            self.bootstrap()
        self.run(self._populate(topics, first))
        self.pass_time(settle)

    async def _populate(self, topics: Sequence[Topic], first: int) -> None:
        await asyncio.gather(
            *(
                self.task(number, self.start(number, [topic], delay=0.02 * number))
                for number, topic in enumerate(topics, first)
            )
        )

    def find(self, number: int, topic: Topic, wanted: int = 5) -> Found:
        return self.on(number, self.overlays[number].find(topic.group, wanted))

    def find_all(self, seekers: Sequence[int], topic: Topic, wanted: int = 5) -> list[Found]:
        async def all_at_once() -> list[Found]:
            return await asyncio.gather(
                *(self.task(n, self.overlays[n].find(topic.group, wanted)) for n in seekers)
            )

        return self.run(all_at_once())

    def state(self, number: int) -> str:
        return self.overlays[number].state

    def crash(self, number: int) -> None:
        del self.overlays[number]
        self.loop.close_host(number)

    async def close(self) -> None:
        for number, overlay in list(self.overlays.items()):
            await self.task(number, overlay.close())
