"""Subscription-aware percolation gossip on an overlay (003, Algorithms 1 and 2).

Neighbours tell each other what they subscribe to. A process that has an event sends it to every
neighbour whose subscriptions match the event, and to every other neighbour with probability gamma;
never back, once an event, and for at most `ttl` hops. An event percolates through the overlay,
and more easily where subscribers are.

Readings: the overlay is made from the membership's neighbours. Its links have two ends, as in the
paper, also where the tables of the membership are one-way; see
`camcast.research.systems.percolation.links`. A process sends all its subscriptions over each new
link, over every link when they change (Algorithm 1 sends each change by itself, which a lost
message would undo), over a link whose other end has not told its own yet, and again every
`ticks_of_a_refresh`. Very many subscriptions are told as topics that include them
(`camcast.interests.bounded`), so that a bound on messages costs parasites and no event.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.protocol import Group, Protocol
from camcast.interests.bounded import TERMS_MAX, covering_topics
from camcast.research.systems.percolation.links import Links
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message, read_topic
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import MalformedError


class Subscriptions(Message, tag=1, frozen=True):
    """All subscriptions of the sender (Algorithm 1, lines 4 and 10)."""

    topics: tuple[str, ...]
    """At most `TERMS_MAX` topics, which include all topics that the sender subscribes to. None if
    the sender leaves."""
    linked: bool
    """Whether the sender has opened a link to the receiver; if not, it answers or closes one."""
    asks: bool
    """Whether the sender does not know what the receiver subscribes to."""


class _Percolation(Dissemination):
    """Both algorithms, for one process."""

    decoder = Decoder(Subscriptions)

    def __init__(self, options: Percolation, context: DisseminationContext) -> None:
        self._options = options
        self._context = context
        self._links = Links(options.ticks_of_a_refresh)
        self._subscribed: tuple[Topic, ...] = ()
        self._topics: tuple[str, ...] = ()
        """What neighbours are told of the topics subscribed to."""
        self._ticks = 0

    # -- Algorithm 1 -----------------------------------------------------------------------

    @override
    def start(self, now: float) -> None:
        self._tick()

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Follow the membership, and tell neighbours what they do not know."""
        if name == ("tick",):
            self._tick()

    @override
    def leave(self, now: float) -> None:
        """Close all links."""
        neighbours = [link.contact for link in self._links.all()]
        self._context.outlet.send(neighbours, Subscriptions((), linked=False, asks=False))

    @override
    def receive(self, source: Contact, message: Subscriptions, now: float) -> None:
        """Note a neighbour's subscriptions (lines 15 to 20), and answer it if it asks."""
        if len(message.topics) > TERMS_MAX:
            raise MalformedError(f"{len(message.topics)} subscriptions; {TERMS_MAX} are announced")
        if not message.topics:
            self._links.remove(source.peer)
            return
        topics = tuple(read_topic(name) for name in message.topics)
        link = self._links.on_subscriptions(source, topics, message.linked, self._ticks)
        if message.asks:
            linked = link is not None and link.opened
            self._announce([source], linked=linked, asks=False)
            if link is not None:
                link.announced = self._topics, linked

    def _tick(self) -> None:
        options, links = self._options, self._links
        self._ticks += 1
        subscribed = tuple(self._context.interest.topics)
        if subscribed != self._subscribed:
            self._subscribed = subscribed
            self._topics = tuple(topic.name for topic in covering_topics(subscribed))
        closed = links.follow(self._context.membership.neighbours(), self._ticks)
        self._announce(closed, linked=False, asks=False)
        refresh = self._ticks % options.ticks_of_a_refresh == 0
        ends: dict[tuple[bool, bool], list[Contact]] = {}
        for link in links.all():
            asks, announcement = link.topics is None, (self._topics, link.opened)
            if refresh or asks or link.announced != announcement:
                link.announced = announcement
                ends.setdefault((link.opened, asks), []).append(link.contact)
        for (linked, asks), contacts in ends.items():
            self._announce(contacts, linked=linked, asks=asks)
        self._context.outlet.wake(options.tick_seconds, "tick")

    def _announce(self, contacts: Sequence[Contact], *, linked: bool, asks: bool) -> None:
        self._context.outlet.send(contacts, Subscriptions(self._topics, linked, asks))

    # -- Algorithm 2 -----------------------------------------------------------------------

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        if batch.hops >= self._options.ttl:
            return Sent()
        context, gamma = self._context, self._options.gamma
        chosen = [
            link.contact
            for link in self._links.neighbours()
            if link.contact.peer != source
            and (
                any(topic.includes(batch.topic) for topic in link.topics or ())
                or context.rng.random() < gamma
            )
        ]
        context.events.send(batch, chosen, now)
        return Sent(len(chosen))


@frozen(kw_only=True)
class Percolation(Protocol):
    """One overlay for all topics, in which events follow subscribers and chance."""

    name: ClassVar[str] = "percolation"
    source: ClassVar[str] = "003"
    # chosen: by half a step of what the paper varies
    efforts: ClassVar[Sequence[Mapping[str, float]]] = tuple(
        {"gamma": g} for g in (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
    )
    parasitic: ClassVar[bool] = True

    gamma: float = field(default=0.6, validator=[validators.ge(0), validators.le(1)])
    """[003, Figure 1]: with a tenth subscribed, close to all nodes of a power law are reached"""
    ttl: int = field(default=32, validator=validators.ge(1))
    """chosen: several times the diameter of a random graph of a million processes"""
    tick_seconds: float = field(default=0.5, validator=validators.gt(0))
    """How often the neighbours of the membership are read. chosen: half a heartbeat of SCAMP"""
    ticks_of_a_refresh: int = field(default=20, validator=validators.ge(1))
    """How often all neighbours are told, and how long a link outlasts its entry in the membership's
    table. chosen: ten seconds bound how long a lost message is missed"""

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the group of everybody."""
        return (Group(ROOT, partial(_Percolation, self)),)
