"""The cold list: peers that left a table without a goodbye, or found no place, to be asked again.

A peer that fell silent is dead or cut off, and only a later answer tells which. A part that
keeps a table remembers the peers that fell silent, asks some of them from time to time, and lets
those that answer back in. This joins the halves of a healed partition without a gateway.

Entries are asked at their address without the identity. A process that was restarted at the address
has another identity and should be asked, too, and `zmtp` sends a message only to the identity
named. A peer that lived when it was put on the list keeps its identity beside, so that it can be
named to other processes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import itemgetter
from random import Random
from typing import Final, NamedTuple

from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.topics import GroupId, Topic

COLD_MAX: Final = 64  # chosen: enough of both halves of a partition; 10 kB
COLD_SECONDS: Final = 7 * 86_400.0  # chosen: what was off over a weekend is still known


class Cold(NamedTuple):
    """A contact of unknown identity, the community it was known in, and since when it is cold."""

    contact: Contact
    topic: Topic
    since: float
    living: Contact | None = None
    """The contact with its identity, if the peer lived at `since` as far as is known."""


class ColdList:
    """At most `COLD_MAX` peers, each for at most `COLD_SECONDS`.

    A new one replaces the oldest of the topic that has the most peers on the list.
    """

    __slots__ = ("_entries",)

    def __init__(self) -> None:
        self._entries: dict[str, Cold] = {}  # by address, the one that was put first comes first

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Cold]:
        return iter(self._entries.values())

    def put(
        self,
        contact: Contact,
        topic: Topic,
        now: float,
        *,
        living: bool = False,
        most: int = COLD_MAX,
    ) -> None:
        """Remember a peer, in place of an entry with the same address.

        `living`: as far as is known it lives, and may be named to others. No more than `most` peers
        of its topic stay on the list.
        """
        self.pop(contact.address)
        counts = Counter(cold.topic for cold in self) if most < COLD_MAX or self._full else {}
        if counts and counts[topic] >= most:
            self._forget_oldest(topic)
        elif self._full:
            self._forget_oldest(max(counts, key=counts.__getitem__))
        anonymous = Contact(UNKNOWN_PEER, contact.address)
        named = contact if living else None
        self._entries[contact.address] = Cold(anonymous, topic, now, named)

    @property
    def _full(self) -> bool:
        return len(self._entries) >= COLD_MAX

    def _forget_oldest(self, topic: Topic) -> None:
        del self._entries[next(at for at, cold in self._entries.items() if cold.topic == topic)]

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
        self._forget_old(now)
        peers = [cold for cold in self if cold.topic.level >= level]
        return rng.sample(peers, min(count, len(peers)))

    def sample_evenly(self, count: int, rng: Random, now: float) -> list[Cold]:
        """Draw up to `count` peers to ask, as many of each topic as far as there are."""
        self._forget_old(now)
        turns: Counter[Topic] = Counter()
        ranked: list[tuple[int, Cold]] = []
        for cold in rng.sample(list(self), len(self)):
            turns[cold.topic] += 1
            ranked.append((turns[cold.topic], cold))
        return [cold for _, cold in sorted(ranked, key=itemgetter(0))][:count]

    def living(self, group: GroupId, after: float) -> list[Contact]:
        """Return the peers of a community that lived at a time later than `after`."""
        return [
            cold.living
            for cold in self
            if cold.living is not None and cold.since > after and cold.topic.group == group
        ]

    def _forget_old(self, now: float) -> None:
        while self._entries and next(iter(self)).since < now - COLD_SECONDS:
            del self._entries[next(iter(self._entries))]
