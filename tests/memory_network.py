"""The virtual network as tests like to have it: nodes for handles, and what was delivered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from attrs import frozen

from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.node import Node, Settings
from camcast.settings.climate import Climate
from camcast.simulation.network import Process, VirtualNetwork, address_of
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.trace import Sink

T = TypeVar("T")


@frozen(eq=False)
class Unreachable:
    """A cut between addresses: lost is what may not pass from one to the other."""

    reachable: Callable[[str, str], bool]
    loss: float = 1.0

    def severs(self, source: int, target: int) -> bool:
        return not self.reachable(address_of(source), address_of(target))


class MemoryNetwork:
    """Real nodes in a `VirtualNetwork`, whose messages take 0.01 s and may be lost."""

    def __init__(
        self,
        seed: int = 1,
        sink: Sink | None = None,
        loss: float = 0.0,
        virtual: VirtualNetwork | None = None,
    ) -> None:
        self.virtual = virtual or VirtualNetwork(seed, Climate(loss=loss), sink)
        self.virtual.on_delivery = self._on_delivery
        self.delivered: list[tuple[Node, Deliver]] = []
        self._processes: dict[Node, Process] = {}
        self._settings: dict[Node, Settings] = {}

    @property
    def now(self) -> float:
        return self.virtual.now

    @property
    def nodes(self) -> dict[str, Node]:
        """Who is alive, by address."""
        return {address: process.node for address, process in self.virtual.processes.items()}

    @property
    def records(self) -> int:
        """How many copies of records were sent."""
        return self.virtual.messages

    def cut(self, reachable: Callable[[str, str], bool]) -> None:
        """From now on only what is `reachable(source, target)` is reached, by address."""
        self.virtual.weather.cuts[:] = [Unreachable(reachable)]

    def heal(self) -> None:
        """Let everybody reach everybody again."""
        self.virtual.weather.cuts.clear()

    def add(
        self,
        gateways: tuple[str, ...] = (),
        options: dict[str, Any] | None = None,
        parameters: Parameters | None = None,
        backend: str = "scamp",
    ) -> Node:
        """Start a node; it knows the gateways for every topic."""
        plug = find_backend(backend)
        settings = Settings(
            backend=plug,
            discovery=find_discovery(plug.discovery),
            options=plug.parse_options(options or {}),
            gateways={ROOT: gateways},
            parameters=parameters or Parameters(),
        )
        return self.start(settings)

    def start(self, settings: Settings, number: int | None = None) -> Node:
        """Start a node with settings of its own, at the next address or that of a number."""
        process = self.virtual.start(settings, number=number)
        self._processes[process.node], self._settings[process.node] = process, settings
        return process.node

    def restart(self, killed: Node) -> Node:
        """Start a node without memory or identity at the address of one that was killed."""
        return self.start(self._settings[killed], self._processes[killed].number)

    def do(self, node: Node, act: Callable[[Node, float], T]) -> T:
        """Give a node a command, and carry out what it then wishes."""
        return self.virtual.do(self._processes[node], act)

    def kill(self, node: Node) -> None:
        """Crash a node: nothing of it happens any more."""
        self.virtual.crash(self._processes[node])

    def inject(self, target: str, frame: bytes) -> None:
        """Let bytes arrive at an address."""
        self.virtual.inject(target, frame)

    def run(self, seconds: float, until: Callable[[], bool] | None = None) -> bool:
        """Let virtual time pass, or stop as soon as `until` holds; says whether it holds."""
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

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        self.delivered.append((process.node, delivery))


def name_of(address: str) -> str:
    """Name the first 254 processes of a network n1, n2… in the order of their start."""
    return "n" + address.rpartition(":")[0].rpartition(".")[2]
