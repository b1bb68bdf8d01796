"""Subscription-aware percolation gossip on an overlay (003, Algorithms 1 and 2).

Neighbours tell each other what they subscribe to. A process that has an event sends it to every
neighbour whose subscriptions match the event, and to every other neighbour with probability gamma;
never back, once an event, and for at most `ttl` hops. An event percolates through the overlay,
and more easily where subscribers are.

Readings: the overlay is the membership's. The neighbours of a process are the peers in its table
and, if the membership knows them, the peers that have the process in theirs: links have two ends
then, as in the paper. A process sends all its subscriptions to each new neighbour, to every
neighbour when they change (Algorithm 1 sends each change by itself, which a lost message would
undo), and again every `ticks_of_a_refresh`.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial
from typing import ClassVar, Final

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.protocol import Group, Protocol
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Decoder, Message, read_topic
from camcast.vocabulary.topics import ROOT, Topic

CACHE_MAX: Final = 1024  # chosen: neighbours whose subscriptions are known; views are far smaller
TOPICS_MAX: Final = 256  # chosen: subscriptions of one neighbour that are believed


class Subscriptions(Message, tag=1, frozen=True):
    """These are all my subscriptions (Algorithm 1, lines 4 and 10)."""

    topics: tuple[str, ...]


class _Percolation(Dissemination):
    """Both algorithms, for one process."""

    decoder = Decoder(Subscriptions)

    def __init__(self, options: Percolation, context: DisseminationContext) -> None:
        self._options = options
        self._context = context
        self._cache: dict[PeerId, tuple[Topic, ...]] = {}
        self._told: dict[PeerId, None] = {}  # neighbours that have this process's subscriptions
        self._last_told: tuple[str, ...] = ()  # the subscriptions that they have
        self._ticks = 0

    # -- Algorithm 1 -----------------------------------------------------------------------

    @override
    def start(self, now: float) -> None:
        self._tell()

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Tell neighbours this process's subscriptions, if they do not have them."""
        self._tell()

    @override
    def receive(self, source: Contact, message: Subscriptions, now: float) -> None:
        """Note a neighbour's subscriptions (lines 15 to 20)."""
        if source.peer in self._cache or len(self._cache) < CACHE_MAX:
            topics = message.topics[:TOPICS_MAX]
            self._cache[source.peer] = tuple(read_topic(name) for name in topics)

    def _tell(self) -> None:
        options = self._options
        subscribed = tuple(topic.name for topic in self._context.interest.topics)
        self._ticks += 1
        if subscribed != self._last_told or self._ticks % options.ticks_of_a_refresh == 0:
            self._last_told = subscribed
            self._told.clear()
        neighbours = self._neighbours()
        new = [contact for peer, contact in neighbours.items() if peer not in self._told]
        self._told = dict.fromkeys(neighbours)
        self._cache = {peer: its for peer, its in self._cache.items() if peer in neighbours}
        self._context.outlet.send(new, Subscriptions(subscribed))
        self._context.outlet.wake(options.tick_seconds, "tell")

    def _neighbours(self) -> dict[PeerId, Contact]:
        membership = self._context.membership
        known = [*membership.peers(), *(membership.in_view() or ())]
        return {contact.peer: contact for contact in known}

    # -- Algorithm 2 -----------------------------------------------------------------------

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        if batch.hops >= self._options.ttl:
            return Sent()
        context, gamma = self._context, self._options.gamma
        chosen = [
            contact
            for peer, contact in self._neighbours().items()
            if peer != source
            and (
                any(topic.includes(batch.topic) for topic in self._cache.get(peer, ()))
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
    parasitic: ClassVar[bool] = True

    gamma: float = field(default=0.6, validator=[validators.ge(0), validators.le(1)])
    """[003, Figure 1]: with a tenth subscribed, close to all nodes of a power law are reached"""
    ttl: int = field(default=32, validator=validators.ge(1))
    """chosen: several times the diameter of a random graph of a million processes"""
    tick_seconds: float = field(default=0.5, validator=validators.gt(0))
    """How soon a new neighbour is told. chosen: half a heartbeat of SCAMP"""
    ticks_of_a_refresh: int = field(default=20, validator=validators.ge(1))
    """chosen: ten seconds bound how long a lost message is missed"""

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        """Return the group of everybody."""
        return (Group(ROOT, partial(_Percolation, self)),)
