"""The virtual network: the node that ships, driven on virtual time.

Theory of operation
-------------------
A `Process` is a host with one node. The network gives it commands, frames and timers, each
with the virtual time, and then drains the node's outbox, as the live runner does. The records that
one step leaves for an address cross the weather as one frame (`camcast.virtual.frames`), which
is lost, held back or duplicated as a whole. Timers come back when they are due. Deliveries go to
`VirtualNetwork.on_delivery`.

A process that *crashes* takes no further input, and frames under way to it are lost, even if it
starts again before they arrive. It may start again at the same address, with its old identity (its
disk survived) or a new one; its memory is lost in both cases. Timers of a former life have no
effect. What is meant for a former identity at an address is dropped, as an output pipe drops it
once another process has named itself, unless the network sends `by_address` alone, as ZeroMQ's own
sockets do. Frames and datagrams for a *paused* process wait, as in the buffers of the kernel, which
here are never full; its timers come as much later as it stood still (`Node.on_standstill`). No
frame passes between processes of two systems: both note each other, as the two ends of a connection
do.

A process that nobody can dial (`start`) announces a placeholder. Frames for it go to it from those
alone to which it has a connection: it has sent them something, and neither side has been silent for
`CONNECTION_SECONDS` or begun another life since. Others wait for a connection, as in an output
pipe, for `WAIT_SECONDS`, and their process is told (`Node.unattached`).

All random numbers come from named streams of one seed: ``protocol`` for the nodes, ``network`` for
the weather. The same calls give the same run, byte for byte; `checksum` runs over every
record that is sent, in order, and costs a hundredth of a run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from functools import partial
from typing import Final, TypeVar
from zlib import crc32

from attrs import evolve

from camcast.doors.datagrams import Endpoint
from camcast.engine.node import Node
from camcast.engine.settings import Parts, Settings
from camcast.observe.trace import Sink, Trace
from camcast.virtual.climate import Climate
from camcast.virtual.datagram_network import DatagramNetwork, HostPort, ip_of
from camcast.virtual.event_queue import EventQueue
from camcast.virtual.frames import copies_in, frames_of
from camcast.virtual.virtual_waiting import VirtualWaiting
from camcast.virtual.weather import Weather
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.happenings import Happening
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId, new_peer_id, placeholder
from camcast.vocabulary.outbox import Deliver, Send, Tell, Token
from camcast.vocabulary.streams import stream
from camcast.vocabulary.systems import other_system

T = TypeVar("T")

_PORT: Final = 7000
CONNECTION_SECONDS: Final = 60.0  # chosen: as `PipeLimits.idle_seconds`
WAIT_SECONDS: Final = 2.0  # chosen: as CONNECT_SECONDS_MAX of `zmtp`


def address_of(number: int, version: int = 4) -> str:
    """Return the address of the process of this number: every process is a host of its own.

    `version` is that of IP.
    """
    ip = ip_of(number, version)
    return f"tcp://[{ip}]:{_PORT}" if version == 6 else f"tcp://{ip}:{_PORT}"


class Process:
    """One simulated process, in one of its lives."""

    __slots__ = (
        *("alive", "datagrams", "held", "life", "me", "node", "number", "paused", "stood"),
        "settings",
    )

    datagrams: HostPort

    def __init__(self, number: int, life: int, me: Contact, node: Node, settings: Settings) -> None:
        self.number = number
        """The number of the host; a process that starts again keeps it."""
        self.life = life
        """The number of the start; every start of a run has another one."""
        self.me = me
        self.node = node
        self.settings = settings
        """The settings of its node."""
        self.alive = True
        self.held: list[Callable[[], None]] | None = None
        """The inputs that wait for a paused process, in order."""
        self.paused = 0.0
        """When it was paused last."""
        self.stood = 0.0
        """For how many seconds it has been paused, until it was resumed last."""


class VirtualNetwork:
    """Processes, the weather between them, and time; see the module's theory of operation.

    `on_send(source, target, records)` is called for every piece that is sent, of one record or
    several, even if it gets lost; `on_delivery(process, delivery)` for every batch that a node
    hands to its application, `on_missed(process, tell)` for every gap that it is told of, and
    `on_step(process)` after a process has taken an input. All hosts have addresses of the same
    `version` of IP.
    """

    def __init__(
        self,
        seed: int = 1,
        climate: Climate | None = None,
        sink: Sink | None = None,
        version: int = 4,
    ):
        self.queue = EventQueue()
        self.weather = Weather(climate or Climate(), stream(seed, "network"))
        self.datagrams = DatagramNetwork(self.queue, self.weather)
        """The datagrams, which discoveries send over UDP."""
        self.protocol = stream(seed, "protocol")
        """The random stream of all nodes."""
        self.processes: dict[str, Process] = {}
        """The live processes, by address."""
        self.messages = 0
        """Copies of records sent so far."""
        self.bytes = 0
        """The bytes of all these copies."""
        self.names: dict[str, tuple[str, ...]] = {}
        """The name server of all processes: the addresses of each ``tcp://NAME:PORT``."""
        self.undeliverable = 0
        """Copies whose receiver has died, or was restarted, before they arrived."""
        self.checksum = 0
        """CRC-32 over all records sent, in their order."""
        self.by_address = False
        """Whether what is meant for a former identity at an address reaches the present one."""
        self.on_send: Callable[[str, str, bytes], None] | None = None
        self.on_delivery: Callable[[Process, Deliver], None] | None = None
        self.on_missed: Callable[[Process, Tell], None] | None = None
        self.on_step: Callable[[Process], None] | None = None
        self._undialable: dict[str, Contact] = {}
        """The processes that nobody can dial, by their placeholders."""
        self._connections: dict[tuple[str, str], tuple[int, int, float]] = {}
        """The connections of each of them to others, by both addresses: the lives of the two, and
        when a frame last went over it."""
        self._waiting: dict[tuple[str, str], list[tuple[str, bytes, int]]] = {}
        """The frames that wait for a connection."""
        self._sink = sink
        self.version = version
        self._traces: dict[PeerId, Trace] = {}
        self._numbers: dict[str, int] = {}
        self._named: dict[str, PeerId] = {}
        """The identity of the last process at each address."""
        self._taken_over: dict[str, None] = {}
        """The addresses at which another identity had been before."""
        self.next_host = 0
        """The number of the host of the next process."""
        self._lives = 0
        self._systems: dict[str, None] = {}
        """The names of the systems of all processes so far."""

    @property
    def now(self) -> float:
        """Virtual time, in seconds since the run began."""
        return self.queue.now

    # -- who is there --------------------------------------------------------------------------

    def start(
        self,
        settings: Settings,
        *,
        number: int | None = None,
        peer: PeerId | None = None,
        parts: Parts | None = None,
        dialable: bool = True,
    ) -> Process:
        """Start a process at the next host, or at host `number`, with the identity `peer`.

        Nobody can dial the process unless it is `dialable`: others reach it over the connections
        that it makes.
        """
        if number is None:
            number = self.next_host
        self.next_host = max(self.next_host, number + 1)
        address = address_of(number, self.version)
        assert address not in self.processes, f"process {number} is alive already"
        self._lives += 1
        peer = peer or new_peer_id(self.protocol.randbytes)
        me = Contact(peer, address) if dialable else placeholder(peer)
        if not dialable:
            self._undialable[me.address] = me
        self._note_place(me, number)
        trace = None
        if self._sink is not None:  # who comes back as itself goes on numbering its records
            trace = self._traces.setdefault(me.peer, Trace(me.peer, self._sink))
        now = self.queue.now
        # An event names its time in whole milliseconds, and so does the clock of a process begin.
        clock = Clock(now, round(1000 * now) / 1000)
        lives: list[Process] = []  # the process, once it is made of its node
        waiting = VirtualWaiting(
            self.queue,
            clock,
            lambda: lives[0].alive,
            lambda name, outcome: self._finish(lives[0], name, outcome),
            self.names,
        )
        parts = evolve(parts or Parts(), waiting=waiting, speaks=self._speaks)
        node = Node(me, settings, self.protocol, clock, trace, parts=parts)
        process = Process(number, self._lives, me, node, settings)
        self._systems[settings.system] = None
        lives.append(process)
        process.datagrams = HostPort(
            self.datagrams,
            number,
            partial(self._receive_datagram, process),
            self.version,
        )
        self.processes[me.address] = process
        self.do(process, lambda node, now: node.open(process.datagrams, now))
        return process

    def _note_place(self, me: Contact, number: int) -> None:
        """Note which host has an address, and whether another process had it before."""
        self._numbers.setdefault(me.address, number)
        if self._named.get(me.address, me.peer) != me.peer:
            self._taken_over[me.address] = None
        self._named[me.address] = me.peer

    def crash(self, process: Process) -> None:
        """Let a process die without a goodbye."""
        assert process.alive, f"process {process.number} is dead"
        process.alive = False
        process.held = None
        del self.processes[process.me.address]
        process.datagrams.crash()
        process.node.recorder.record_control(self.now)
        process.node.outbox.now = self.now
        process.node.recorder.tell(Happening("crashed"))

    def move(self, process: Process, number: int) -> None:
        """Let a process's host have the address of the host `number`, and the process announce it.

        Nothing is at the address of before.
        """
        address = address_of(number, self.version)
        assert address not in self.processes, f"process {number} is alive already"
        self.next_host = max(self.next_host, number + 1)
        del self.processes[process.me.address]
        process.number, process.me = number, Contact(process.me.peer, address)
        self._note_place(process.me, number)
        self.processes[address] = process
        process.datagrams.move(ip_of(number, self.version))
        self.do(process, lambda node, now: node.move(address, now))

    def pause(self, process: Process) -> None:
        """Pause a process, as SIGSTOP does: frames, datagrams and timers wait for it."""
        assert process.alive, f"process {process.number} is dead"
        assert process.held is None, f"process {process.number} stands still already"
        process.held, process.paused = [], self.now

    def resume(self, process: Process) -> None:
        """Let a paused process, unless it has died, take all inputs that have waited, in order."""
        held, process.held = process.held or [], None
        if process.alive:
            seconds = self.now - process.paused
            process.stood += seconds
            self.do(process, lambda node, now: node.on_standstill(seconds, now))
        for act in held:
            if process.alive:
                act()

    def __iter__(self) -> Iterator[Process]:
        return iter(self.processes.values())

    # -- what happens --------------------------------------------------------------------------

    def do(self, process: Process, act: Callable[[Node, float], T]) -> T:
        """Give a live process a command, and carry out its wishes."""
        assert process.alive, f"process {process.number} is dead"
        assert process.held is None, f"process {process.number} stands still"
        result = act(process.node, self.queue.now)
        process.node.flush(self.queue.now)
        self._drain(process)
        return result

    def inject(self, address: str, frame: bytes, link: PeerId | None = None) -> None:
        """Let bytes arrive at an address at once.

        They come over the link of the process `link`, which has proved its key; None: over a link
        of an unknown process.
        """
        self._arrive(address, frame, self._lives, link)

    def run(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.queue.run_until(self.queue.now + seconds)

    def run_until(
        self, holds: Callable[[], bool], seconds_max: float, every_seconds: float = 0.1
    ) -> bool:
        """Let time pass until `holds()`, asked every `every_seconds`; return whether it holds."""
        end = self.queue.now + seconds_max
        while not holds():
            if self.queue.now >= end:
                return False
            self.queue.run_until(min(end, self.queue.now + every_seconds))
        return True

    def _arrive(self, address: str, frame: bytes, lives: int, link: PeerId | None) -> None:
        """Let a frame arrive that was sent when `lives` processes had been started."""
        process = self.processes.get(address)
        if process is None or process.life > lives:
            self.undeliverable += copies_in(frame)
        elif process.held is not None:
            process.held.append(partial(self._arrive, address, frame, lives, link))
        else:
            if self._undialable and link is not None:
                self._connect(placeholder(link).address, process)
            process.node.receive(frame, self.queue.now, link)
            self._drain(process)

    def _arrive_each(self, frames: list[tuple[str, bytes, int]], lives: int, link: PeerId) -> None:
        """Let frames that left together arrive by one entry of the queue."""
        for address, frame, _ in frames:
            self._arrive(address, frame, lives, link)

    def _receive_datagram(
        self, process: Process, port: int, source: Endpoint, data: bytes, sender: bytes = b""
    ) -> None:
        if process.held is not None:
            take = partial(self._receive_datagram, process, port, source, data, sender)
            process.held.append(take)
            return
        process.node.receive_datagram(port, source, data, self.queue.now, sender)
        self._drain(process)

    def _wake(self, process: Process, token: Token, stood: float) -> None:
        """Give a timer back that was set when the process had stood still for so long."""
        if process.held is not None:
            process.held.append(partial(self._wake_after, process, token, stood, self.queue.now))
        elif process.stood > stood:
            self.queue.after(process.stood - stood, self._wake, process, token, process.stood)
        elif process.alive:
            process.node.wake(token, self.queue.now)
            self._drain(process)

    def _finish(self, process: Process, name: tuple[Hashable, ...], outcome: object) -> None:
        if process.held is not None:
            process.held.append(partial(self._finish, process, name, outcome))
        elif process.alive:
            process.node.finished(name, outcome, self.queue.now)
            self._drain(process)

    def _wake_after(self, process: Process, token: Token, stood: float, due: float) -> None:
        """Give a timer back that was due while the process was paused."""
        later = due + process.stood - stood
        self.queue.at(later, self._wake, process, token, process.stood)

    def _carry(self, process: Process, frames: Iterator[tuple[str, bytes, int]]) -> None:
        """Let the frames of one step of a process cross the weather."""
        if len(self._systems) > 1:
            frames = self._within_system(process, frames)
        number, lives, at, now = process.number, self._lives, self.queue.at, self.queue.now
        if self._undialable:
            frames = self._connected(process, frames)
        steady = self.weather.steady
        if steady is not None:
            at(now + steady, self._arrive_each, list(frames), lives, process.me.peer)
            return
        numbers, delays = self._numbers, self.weather.delays
        for address, frame, copies in frames:
            target = numbers.get(address)
            if target is None:
                self.undeliverable += copies
                continue
            for delay in delays(number, target, copies):
                at(now + delay, self._arrive, address, frame, lives, process.me.peer)

    def _meant(self, sends: Iterable[Send]) -> Iterator[Send]:
        """Yield the sends without the contacts at whose address another identity is now."""
        for send in sends:
            contacts = [contact for contact in send.contacts if self._is_there(contact)]
            self.undeliverable += (len(send.contacts) - len(contacts)) * send.records
            yield send._replace(contacts=contacts)

    def _is_there(self, contact: Contact) -> bool:
        """Say whether no other process than the one meant is at its address."""
        if contact.address not in self._taken_over or contact.peer == UNKNOWN_PEER:
            return True
        process = self.processes.get(contact.address)
        return process is None or process.me.peer == contact.peer

    def _speaks(self, contact: Contact, extension: str) -> bool:
        """Return whether a process has named an extension, as all do at the first frame."""
        target = self.processes.get(contact.address)
        return target is not None and any(
            contact.peer in (target.me.peer, UNKNOWN_PEER) and extension == one.name
            for one in target.settings.extensions
        )

    def _within_system(
        self, process: Process, frames: Iterator[tuple[str, bytes, int]]
    ) -> Iterator[tuple[str, bytes, int]]:
        """Yield the frames that are not for a process of another system."""
        for address, frame, copies in frames:
            target = self.processes.get(address)
            if target is None or target.settings.system == process.settings.system:
                yield address, frame, copies
                continue
            self.undeliverable += copies
            for one, another in ((process, target), (target, process)):
                why = other_system(another.settings.system.encode(), one.settings.system)
                one.node.misfits.add(another.me.address, why, self.now)

    def _connected(
        self, process: Process, frames: Iterable[tuple[str, bytes, int]]
    ) -> Iterator[tuple[str, bytes, int]]:
        """Yield the frames that a process has a connection for, and let the others wait."""
        for address, frame, copies in frames:
            if address not in self._undialable or self._is_connected(address, process):
                yield address, frame, copies
            elif not process.me.is_dialable:
                self.undeliverable += copies
            else:
                ends = address, process.me.address
                if ends not in self._waiting:
                    self._waiting[ends] = []
                    contact = self._undialable[address]
                    self.queue.after(0.0, self._call, process, contact)
                    self.queue.after(WAIT_SECONDS, self._give_up, ends)
                self._waiting[ends].append((address, frame, copies))

    def _is_connected(self, address: str, process: Process) -> bool:
        ends, other = (address, process.me.address), self.processes.get(address)
        lives = None if other is None else (other.life, process.life)
        *of, used = self._connections.get(ends, (0, 0, 0.0))
        if lives != tuple(of) or self.now - used > CONNECTION_SECONDS:
            return False
        self._connections[ends] = *lives, self.now
        return True

    def _connect(self, address: str, process: Process) -> None:
        """Take note that a frame has come to a process from an address; let go what waited."""
        if (other := self.processes.get(address)) is not None:
            ends = address, process.me.address
            self._connections[ends] = other.life, process.life, self.now
            if waiting := self._waiting.pop(ends, None):
                self._carry(process, iter(waiting))

    def _call(self, process: Process, contact: Contact) -> None:
        if process.alive and process.held is None:
            process.node.unattached(contact, self.now)
            self._drain(process)

    def _give_up(self, ends: tuple[str, str]) -> None:
        """Drop what has waited for a connection."""
        self.undeliverable += sum(copies for _, _, copies in self._waiting.pop(ends, ()))

    def _drain(self, process: Process) -> None:
        outbox, queue = process.node.outbox, self.queue
        if outbox.sends:
            on_send = self.on_send
            for contacts, record, _, records in outbox.sends:
                self.checksum = crc32(record, self.checksum)
                self.messages += len(contacts) * records
                self.bytes += len(contacts) * len(record)
                if on_send is not None:
                    for contact in contacts:
                        on_send(process.me.address, contact.address, record)
            sends = outbox.sends
            if self._taken_over and not self.by_address:
                sends = list(self._meant(sends))
            self._carry(process, frames_of(sends))
            outbox.sends.clear()
        if outbox.wakes:
            for delay_seconds, token in outbox.wakes:
                queue.after(delay_seconds, self._wake, process, token, process.stood)
            outbox.wakes.clear()
        if outbox.deliveries:
            if self.on_delivery is not None:
                for delivery in outbox.deliveries:
                    self.on_delivery(process, delivery)
            outbox.deliveries.clear()
        if outbox.tells:
            if self.on_missed is not None:
                for tell in outbox.tells:
                    self.on_missed(process, tell)
            outbox.tells.clear()
        if self.on_step is not None:
            self.on_step(process)
