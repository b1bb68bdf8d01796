"""A town: processes that have a discovery and nothing else, on virtual time.

Every process is a host of its own. The town replaces the driver and the node: it carries messages
and datagrams through the virtual network's weather, and wakes discoveries when timers are due.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import partial
from random import Random
from typing import Any, Self

from camcast.app.community import JOIN_SECONDS
from camcast.doors.discovery import Discovery, DiscoveryContext, DiscoveryFactory
from camcast.doors.plugs import discovery_options, find_discovery
from camcast.testing.lone_process import LoneProcess
from camcast.testing.world import InputBound
from camcast.virtual.census import Census
from camcast.virtual.climate import Climate
from camcast.virtual.datagram_network import DatagramNetwork, HostPort, ip_of
from camcast.virtual.event_queue import EventQueue
from camcast.virtual.network import address_of
from camcast.virtual.virtual_waiting import VirtualWaiting
from camcast.virtual.weather import Weather
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import Kind, decode_control

CENSUS = "census"  # a discovery without an entry point, since it is for simulations only
TOPIC = Topic.parse(".contract")
GATEWAY = address_of(0)
DEAD = (address_of(65_000), address_of(65_001))
OPEN_SECONDS = 3.0  # the time within which a discovery has looked for its first contacts
# The time within which every seek is answered: `Community.join` fails soon after it.
SEEK_SECONDS = JOIN_SECONDS - 1.0


class Person(LoneProcess):
    """One process of the town; its one part is a discovery."""

    discovery: Discovery
    datagrams: HostPort

    def __init__(self, number: int, me: Contact) -> None:
        super().__init__(me)
        self.number = number
        self.findings: list[tuple[float, Finding]] = []
        """The answers of the discovery, each with its time in seconds."""


class Town:
    """The processes; the first is the gateway, or bootstrap node, of all others.

    A context manager, at whose end all processes close; no endpoint may be left open.
    """

    def __init__(
        self,
        name: str,
        seed: int = 1,
        climate: Climate | None = None,
        options: Mapping[str, object] | None = None,
    ) -> None:
        self.queue = EventQueue()
        weather = Weather(climate or Climate(), stream(seed, "network"))
        self.datagrams = DatagramNetwork(self.queue, weather)
        self.people: dict[str, Person] = {}
        self._rng = Random(seed)
        self._census = Census(Random(seed)) if name == CENSUS else None
        self._plug: DiscoveryFactory = (
            find_discovery(name) if self._census is None else self._census.discovery
        )
        self.options = discovery_options(self._plug, name, options or {})
        """The options of the discovery."""
        self._clock = Clock()
        self.names: dict[str, tuple[str, ...]] = {}
        """The name server of all processes: the addresses of each ``tcp://NAME:PORT``."""
        self._announced: list[tuple[Topic, Person]] = []
        self._added = 0
        self._bound = InputBound()
        self.gateway = self.add()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if error is None:
            for person in list(self.people.values()):
                self.close(person)
            assert not self.datagrams.endpoints

    @property
    def now(self) -> float:
        """The virtual time in seconds."""
        return self.queue.now

    # -- processes -----------------------------------------------------------------------------

    def add(
        self,
        gateways: tuple[str, ...] = (GATEWAY,),
        number: int | None = None,
        opened: bool = True,
    ) -> Person:
        """Start a process, on the next host or on the one with this number."""
        if number is None:
            number = self._added
            self._added += 1
        me = Contact(new_peer_id(self._rng.randbytes), address_of(number))
        assert me.address not in self.people
        person = Person(number, me)
        context = DiscoveryContext(
            rng=self._rng,
            outlet=person.outlet(Kind.DISCOVERY),
            known=lambda _group, _wanted: [],
            gateways={ROOT: gateways},
            clock=self._clock,
            options=self.options,
            waiting=VirtualWaiting(
                self.queue,
                self._clock,
                lambda: self.people.get(person.me.address) is person,
                partial(self._finish, person),
                self.names,
            ),
        )
        person.discovery = self._plug(context)
        person.decoder = person.discovery.decoder
        person.datagrams = HostPort(
            self.datagrams,
            number,
            lambda port, source, data: self._do(
                person,
                lambda discovery, now: discovery.receive_datagram(port, source, data, now),
            ),
        )
        self.people[me.address] = person
        if opened:
            self._do(person, lambda discovery, now: discovery.open(person.datagrams, now))
            self.run(OPEN_SECONDS)
        return person

    def close(self, person: Person) -> None:
        """End a process politely."""
        self._do(person, lambda discovery, now: discovery.close(now))
        del self.people[person.me.address]

    def crash(self, person: Person) -> None:
        """Let a process die without leaving; the census strikes it out, as in simulations."""
        del self.people[person.me.address]
        person.datagrams.crash()
        if self._census is not None:
            for topic, announced in self._announced:
                if announced is person:
                    self._census.strike(topic, person.me)

    def move(self, person: Person) -> None:
        """Let the next host be where a process is, and announce it there, as its machine moves."""
        del self.people[person.me.address]
        person.number, self._added = self._added, self._added + 1
        person.outbox.me = Contact(person.me.peer, address_of(person.number))
        person.datagrams.move(ip_of(person.number))
        self.people[person.me.address] = person
        self._do(person, lambda discovery, now: discovery.moved(now))

    # -- what they do --------------------------------------------------------------------------

    def announce(self, *people: Person, topic: Topic = TOPIC, settle: float = 5.0) -> None:
        """Let processes announce themselves, and let `settle` seconds pass."""
        for person in people:
            self._announced.append((topic, person))
            self._do(person, lambda discovery, now: discovery.announce(topic, now))
        self.run(settle)

    def withdraw(self, person: Person, topic: Topic = TOPIC) -> None:
        """Let a process withdraw, so that it is no longer found as a member."""
        self._do(person, lambda discovery, now: discovery.withdraw(topic, now))

    def start_seek(self, person: Person, topic: Topic = TOPIC, wanted: int = 5) -> None:
        """Let a process seek, without waiting for the answer."""
        self._do(person, lambda discovery, now: discovery.seek(topic, wanted, now))

    def seek(self, person: Person, topic: Topic = TOPIC, wanted: int = 5) -> Finding:
        """Let a process seek, and return its answer, of which there must be exactly one."""
        ((_, finding),) = self.seek_all([person], topic, wanted)
        return finding

    def answer(self, person: Person) -> Finding:
        """Return the latest answer."""
        return person.findings[-1][1]

    def seek_all(
        self, people: Iterable[Person], topic: Topic = TOPIC, wanted: int = 5
    ) -> list[tuple[float, Finding]]:
        """Let processes seek at the same time; return their answers and how long each took."""
        seekers = [(person, len(person.findings)) for person in people]
        began = self.now
        for person, _ in seekers:
            self.start_seek(person, topic, wanted)
        self.run(SEEK_SECONDS)
        answers = []
        for person, before in seekers:
            ((when, finding),) = person.findings[before:]
            assert finding.topic == topic
            answers.append((when - began, finding))
        return answers

    def wake(self, person: Person, *name: Any) -> None:
        """Let a timer of a process go off, whether it was set or not."""
        self._do(person, lambda discovery, now: discovery.wake(name, now))

    def _finish(self, person: Person, name: tuple[Hashable, ...], outcome: object) -> None:
        self._do(person, lambda discovery, now: discovery.finished(name, outcome, now))

    def run(self, seconds: float) -> None:
        """Let virtual time pass."""
        self.queue.run_until(self.now + seconds)

    # -- what a driver does --------------------------------------------------------------------

    def _do(self, person: Person, act: Callable[[Discovery, float], None]) -> None:
        """Give a live process an input; then send its messages and set its timers."""
        if self.people.get(person.me.address) is not person:
            return
        self._bound.count(person.me.address, self.now)
        act(person.discovery, self.now)
        outbox = person.outbox
        for contacts, record, _, _ in outbox.sends:
            for contact in contacts:
                self._send(person, contact.address, record)
        for delay_seconds, token in outbox.wakes:
            self.queue.after(delay_seconds, self.wake, person, *token.name)
        person.findings.extend((self.now, finding) for finding in outbox.findings)
        outbox.sends.clear()
        outbox.wakes.clear()
        outbox.findings.clear()

    def _send(self, source: Person, address: str, record: bytes) -> None:
        target = self.people.get(address)
        if target is not None:
            for delay in self.datagrams.weather.delays(source.number, target.number):
                self.queue.after(delay, self._arrive, target, record)

    def _arrive(self, target: Person, record: bytes) -> None:
        _, group, sender, address, _, body = decode_control(record, 0, len(record))
        assert target.decoder is not None
        message = target.decoder.decode(body)
        source = Contact(sender, address)
        self._do(target, lambda discovery, now: discovery.receive(source, group, message, now))
