"""A small community of real nodes on virtual time, for benchmarks of single steps.

First contacts come from the census, whatever discovery a backend has: how strangers are found is
measured by itself (`test_lookups`), and the backends differ in how they keep their tables.
"""

from __future__ import annotations

from camcast.doors.plugs import find_backend, find_protocol
from camcast.engine.node import Node, Settings
from camcast.settings.climate import Climate
from camcast.simulation.census import Census
from camcast.simulation.network import Process, VirtualNetwork
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

TOPIC = Topic.parse(".bench")
JOIN_GAP_SECONDS = 0.1
SETTLE_SECONDS = 30.0  # chosen: thirty heartbeats


class SmallWorld:
    """`nodes` members of one community, joined one after the other."""

    def __init__(
        self,
        membership: str,
        nodes: int,
        parameters: Parameters,
        seed: int = 1,
        protocol: str = "camcast",
    ) -> None:
        backend = find_backend(membership)
        self.network = VirtualNetwork(seed, Climate())
        self._settings = Settings(
            backend=backend,
            discovery=Census(stream(seed, "network", "census")).discovery,
            parameters=parameters,
            protocol=find_protocol(protocol),
            topics=(TOPIC,),
        )
        for _ in range(nodes):
            self.join()

    def join(self) -> Process:
        """Let one more join, and give it the time of a gap."""
        process = self.network.start(self._settings)
        self.network.do(process, _join)
        self.network.run(JOIN_GAP_SECONDS)
        return process

    def settle(self) -> None:
        """Let the tables and the estimates of the size settle."""
        self.network.run(SETTLE_SECONDS)

    def views(self) -> list[int]:
        """Return the sizes of the topic tables."""
        sizes = []
        for process in self.network:
            participation = process.node.participation(TOPIC)
            assert participation is not None
            sizes.append(len(participation.membership.peers()))
        return sizes


def _join(node: Node, now: float) -> None:
    node.join(TOPIC, now)
