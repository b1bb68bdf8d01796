"""The census: a discovery that knows every live member, and answers at once at no cost.

It answers as an ideal directory would: with members of a community, drawn uniformly among those
that have announced themselves and are alive. It is for runs that do not measure the discovery, and
for sizes at which gateways would dominate what is measured. One census serves all processes of a
network.
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random

from typing_extensions import override

from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.topics import GroupId, Topic


class Census:
    """The live members of each community."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._members: dict[GroupId, PeerTable] = {}

    def discovery(self, context: DiscoveryContext) -> CensusDiscovery:
        """Return one process's access to the census; a `DiscoveryFactory`."""
        return CensusDiscovery(self, context)

    def enter(self, topic: Topic, contact: Contact) -> None:
        """Note that a process is in a community."""
        self._members.setdefault(topic.group, PeerTable()).add(contact)

    def move(self, contact: Contact) -> None:
        """Note that a process has another address."""
        for members in self._members.values():
            if contact.peer in members:
                members.add(contact)

    def strike(self, topic: Topic, contact: Contact) -> None:
        """Note that a process has left a community, or has died."""
        if (members := self._members.get(topic.group)) is not None:
            members.discard(contact.peer)

    def count(self, topic: Topic) -> int:
        """Return how many members a community has."""
        return len(self._members.get(topic.group, ()))

    def draw(self, topic: Topic, wanted: int, without: PeerId | None = None) -> list[Contact]:
        """Draw members of a community uniformly, never `without`."""
        members = self._members.get(topic.group)
        if members is None:
            return []
        if wanted * 4 < len(members):  # few of many: draw one by one
            drawn: dict[bytes, Contact] = {}
            while len(drawn) < wanted:
                contact = members.choose(self._rng, without)
                assert contact is not None
                drawn[contact.peer] = contact
            return list(drawn.values())
        return members.sample(wanted, self._rng, without)


class CensusDiscovery(Discovery):
    """One process's access to the census."""

    def __init__(self, census: Census, context: DiscoveryContext) -> None:
        self._census = census
        self._context = context

    @override
    def announce(self, topic: Topic, now: float) -> None:
        if self._context.me.is_dialable:  # others could not ask the process: it asks them
            self._census.enter(topic, self._context.me)

    @override
    def withdraw(self, topic: Topic, now: float) -> None:
        self._census.strike(topic, self._context.me)

    @override
    def moved(self, now: float) -> None:
        self._census.move(self._context.me)

    @override
    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        found = self._census.draw(topic, wanted, self._context.me.peer)
        size = float(max(1, self._census.count(topic)))
        self._context.outlet.found(topic, found, size=size)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """See `Discovery`; the census sets no timers."""
