"""A network in memory for tests: real nodes, virtual time, links that can be cut."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from itertools import count
from random import Random
from typing import Any

from camcast.doors import find_backend, find_discovery
from camcast.identity import Contact, new_peer_id
from camcast.node import Node, Settings
from camcast.outbox import Deliver
from camcast.parameters import Parameters
from camcast.streams import stream
from camcast.topics import Topic
from camcast.trace import Sink, Trace

DELAY = 0.01


class MemoryNetwork:
    """Delivers what nodes wish for, in the order of (time, sequence)."""

    def __init__(self, seed: int = 1, sink: Sink | None = None, loss: float = 0.0) -> None:
        self.now = 0.0
        self.nodes: dict[str, Node] = {}
        self.delivered: list[tuple[Node, Deliver]] = []
        self.records = 0
        self.on_record: Callable[[str, str, bytes], None] | None = None
        self.reachable: Callable[[str, str], bool] = lambda _source, _target: True
        self._network: Random = stream(seed, "network")
        self._protocol: Random = stream(seed, "protocol")
        self._loss = loss
        self._sink = sink
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._sequence = count()
        self._numbers = count(1)

    def add(
        self,
        gateways: tuple[str, ...] = (),
        options: dict[str, Any] | None = None,
        parameters: Parameters | None = None,
        backend: str = "scamp",
    ) -> Node:
        """Start a node; it knows the gateways for every topic."""
        number = next(self._numbers)
        me = Contact(new_peer_id(self._protocol.randbytes), f"tcp://127.0.0.1:{number}")
        plug = find_backend(backend)
        settings = Settings(
            backend=plug,
            discovery=find_discovery(plug.discovery),
            options=plug.parse_options(options or {}),
            gateways={Topic.parse("."): gateways},
            parameters=parameters or Parameters(),
        )
        trace = None if self._sink is None else Trace(me.peer, self._sink)
        node = Node(me, settings, self._protocol, epoch=1, trace=trace)
        self.nodes[me.address] = node
        return node

    def do(self, node: Node, act: Callable[[Node, float], Any]) -> Any:
        """Give a node a command, and carry out what it then wishes."""
        result = act(node, self.now)
        self._drain(node)
        return result

    def kill(self, node: Node) -> None:
        """Crash a node: nothing of it happens any more."""
        del self.nodes[node.me.address]

    def inject(self, target: str, frame: bytes) -> None:
        """Let bytes arrive at an address."""
        self._deliver(target, frame)

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Let virtual time pass, or stop as soon as `until` holds; says whether it holds."""
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            if until is not None and until():
                return True
            self.now, _, action = heapq.heappop(self._queue)
            action()
        if until is not None and until():
            return True
        self.now = end
        return until is None

    def _at(self, delay: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._queue, (self.now + delay, next(self._sequence), action))

    def _drain(self, node: Node) -> None:
        from camcast.wire import FRAME_HEADER

        outbox = node.outbox
        source = node.me.address
        for addresses, record, _control in outbox.sends:
            for address in addresses:
                self.records += 1
                if self.on_record is not None:
                    self.on_record(source, address, record)
                if self._loss and self._network.random() < self._loss:
                    continue
                if self.reachable(source, address):
                    frame = FRAME_HEADER + record
                    self._at(DELAY, partial(self._deliver, address, frame))
        for wake in outbox.wakes:
            self._at(wake.delay_seconds, partial(self._wake, node, wake.token))
        self.delivered.extend((node, delivery) for delivery in outbox.deliveries)
        outbox.sends.clear()
        outbox.wakes.clear()
        outbox.deliveries.clear()

    def _deliver(self, address: str, frame: bytes) -> None:
        node = self.nodes.get(address)
        if node is not None:
            node.receive(frame, self.now)
            self._drain(node)

    def _wake(self, node: Node, token: Any) -> None:
        if self.nodes.get(node.me.address) is node:
            node.wake(token, self.now)
            self._drain(node)
