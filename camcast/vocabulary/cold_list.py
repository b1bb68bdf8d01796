"""The cold list: peers that are not in a table (any more), to be asked again when it needs some.

A peer that fell silent is dead or cut off, and only a later answer tells which. So a part that
keeps a table remembers whom it gave up without a goodbye, asks some of them from time to time, and
lets whoever answers back in. That is what joins the halves of a healed partition without a gateway.

Entries go by address and forget the identity, for a process that was started anew has another: it
is to be asked, too, and `zmtp` sends nothing to a process of another identity than was meant.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.topics import Topic

COLD_MAX: Final = 64  # chosen: enough of both halves of a partition; 10 kB
COLD_SECONDS: Final = 7 * 86_400.0  # [PROTOCOLS 2] aged by days


class Cold(NamedTuple):
    """Whoever listens at an address, the community it was known in, and since when it is cold."""

    contact: Contact
    topic: Topic
    since: float


class ColdList:
    """At most `COLD_MAX` peers; only a later one, or `COLD_SECONDS`, makes it forget one."""

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[str, Cold] = {}  # by address, the one that was put first comes first

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Cold]:
        return iter(self._entries.values())

    def put(self, contact: Contact, topic: Topic, now: float) -> None:
        """Remember a peer, in place of whatever was known at its address."""
        self.pop(contact.address)
        if len(self._entries) >= COLD_MAX:
            del self._entries[next(iter(self._entries))]
        whoever = Contact(UNKNOWN_PEER, contact.address)
        self._entries[contact.address] = Cold(whoever, topic, now)

    def get(self, address: str) -> Cold | None:
        """Return the peer at an address, or None if it is not on the list."""
        return self._entries.get(address)

    def pop(self, address: str) -> Cold | None:
        """Take the peer at an address off the list: it has answered, or said goodbye."""
        return self._entries.pop(address, None)

    def sample(self, count: int, rng: Random, now: float, level: int = 0) -> list[Cold]:
        """Draw so many of the peers to ask them, fewer if there are not so many.

        Only those known in a community at this `level` of the topics or below count.
        """
        while self._entries and next(iter(self)).since < now - COLD_SECONDS:
            del self._entries[next(iter(self._entries))]
        peers = [cold for cold in self if cold.topic.level >= level]
        return rng.sample(peers, min(count, len(peers)))
