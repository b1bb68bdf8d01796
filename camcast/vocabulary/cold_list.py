"""The cold list: peers that left a table without a goodbye, or found no place, to be asked again.

A peer that fell silent is dead or cut off, and only a later answer tells which. A part that
keeps a table remembers the peers that fell silent, asks some of them from time to time, and lets
those that answer back in. This joins the halves of a healed partition without a gateway.

Entries have the address without the identity. A process that was restarted at the address has
another identity and should be asked, too, and `zmtp` sends a message only to the identity named.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.topics import Topic

COLD_MAX: Final = 64  # chosen: enough of both halves of a partition; 10 kB
COLD_SECONDS: Final = 7 * 86_400.0  # chosen: what was off over a weekend is still known


class Cold(NamedTuple):
    """A contact of unknown identity, the community it was known in, and since when it is cold."""

    contact: Contact
    topic: Topic
    since: float


class ColdList:
    """At most `COLD_MAX` peers, each for at most `COLD_SECONDS`; a new one replaces the oldest."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[str, Cold] = {}  # by address, the one that was put first comes first

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Cold]:
        return iter(self._entries.values())

    def put(self, contact: Contact, topic: Topic, now: float) -> None:
        """Remember a peer, in place of an entry with the same address."""
        self.pop(contact.address)
        if len(self._entries) >= COLD_MAX:
            del self._entries[next(iter(self._entries))]
        anonymous = Contact(UNKNOWN_PEER, contact.address)
        self._entries[contact.address] = Cold(anonymous, topic, now)

    def get(self, address: str) -> Cold | None:
        """Return the peer at an address, or None if it is not on the list."""
        return self._entries.get(address)

    def pop(self, address: str) -> Cold | None:
        """Take the peer at an address off the list: it has answered, or said goodbye."""
        return self._entries.pop(address, None)

    def sample(self, count: int, rng: Random, now: float, level: int = 0) -> list[Cold]:
        """Draw up to `count` peers to ask.

        Only peers known in a community whose topic has at least `level` levels are drawn.
        """
        while self._entries and next(iter(self)).since < now - COLD_SECONDS:
            del self._entries[next(iter(self._entries))]
        peers = [cold for cold in self if cold.topic.level >= level]
        return rng.sample(peers, min(count, len(peers)))
