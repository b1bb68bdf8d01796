"""An ordered table of peers with O(1) changes and uniform samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final

from camcast.vocabulary.identity import Contact, PeerId

# chosen: four times the explicit peers that anybody lists; each restart at their addresses may be
# of another identity
KEPT_MAX: Final = 64
# chosen: with half of the processes undialable they have five sixths of the holders that others
# have, with a third of a table three quarters at best; they connect the others, too
DIALLED_SHARE: Final = 1 / 5
"""The least share of a table, and of a fan-out, for peers that can be dialled, if there are any."""


class PeerTable:
    """Contacts by identity, in an order that depends on nothing but the calls made.

    Some contacts may be *pinned*: a fan-out includes them first (a membership pins the peers that
    depend on this process). Some may be *kept*: a membership removes these only when they are
    silent or have left. `watch(learned, contact)` is called at every change, for the trace and the
    dissemination. The same calls give the same order, whatever the hash seed.
    """

    __slots__ = ("_contacts", "_index", "_pinned", "_watch", "attached", "kept")

    def __init__(self, watch: Callable[[bool, Contact], None] | None = None) -> None:
        self._contacts: list[Contact] = []
        self._index: dict[PeerId, int] = {}
        self._pinned = 0  # the pinned ones come first in _contacts
        self.attached = 0
        """How many of the peers nobody can dial."""
        self._watch = watch
        self.kept: tuple[PeerId, ...] = ()
        """The explicit peers, which are few, in the table or not."""

    def __len__(self) -> int:
        return len(self._contacts)

    def __contains__(self, peer: PeerId) -> bool:
        return peer in self._index

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._contacts)

    def get(self, peer: PeerId) -> Contact | None:
        """Return the contact of `peer`, or None if it is not in the table."""
        index = self._index.get(peer)
        return None if index is None else self._contacts[index]

    def burden(self, size: float) -> float:
        """Return how many times as many peers this process sends to in a group of this size.

        Only processes that can be dialled send to the peers that nobody can dial.
        """
        return max(1.0, self.attached / max(1.0, size - self.attached))

    @property
    def pinned(self) -> int:
        """How many peers are pinned."""
        return self._pinned

    def is_pinned(self, peer: PeerId) -> bool:
        """Say whether a peer is in the table and pinned."""
        return self._index.get(peer, self._pinned) < self._pinned

    def add(self, contact: Contact) -> bool:
        """Add a contact; if the table has its peer already, renew the address and return False."""
        index = self._index.get(contact.peer)
        self.attached += not contact.is_dialable
        if index is not None:
            self.attached -= not self._contacts[index].is_dialable
            self._contacts[index] = contact
            return False
        self._index[contact.peer] = len(self._contacts)
        self._contacts.append(contact)
        if self._watch:
            self._watch(True, contact)
        return True

    def discard(self, peer: PeerId) -> bool:
        """Remove a peer, and return whether it was in the table; the last one takes its place."""
        if peer not in self._index:
            return False
        self.pin(peer, pinned=False)
        self._swap(self._index[peer], len(self._contacts) - 1)
        contact = self._contacts.pop()
        self.attached -= not contact.is_dialable
        del self._index[peer]
        if self._watch:
            self._watch(False, contact)
        return True

    def pin(self, peer: PeerId, *, pinned: bool) -> None:
        """Pin a peer, or release it; nothing happens if it is not in the table."""
        index = self._index.get(peer)
        if index is None or pinned is (index < self._pinned):
            return
        if pinned:
            self._swap(index, self._pinned)
            self._pinned += 1
        else:
            self._pinned -= 1
            self._swap(index, self._pinned)

    def keep(self, peer: PeerId) -> None:
        """Keep a peer, in the table or not, until its process ends."""
        if peer not in self.kept:
            self.kept = (*self.kept, peer)[-KEPT_MAX:]

    def sample(self, k: int, rng: Random, without: PeerId | None = None) -> list[Contact]:
        """Draw min(k, available) distinct contacts uniformly, never `without`."""
        pool = self._contacts.copy()
        if without is not None and (skip := self._index.get(without)) is not None:
            pool[skip] = pool[-1]
            pool.pop()
        return _shorten(pool, 0, k, rng)

    def choose(self, rng: Random, without: PeerId | None = None) -> Contact | None:
        """Draw one contact uniformly, never `without`; None if there is no other."""
        contacts = self._contacts
        skip = None if without is None else self._index.get(without)
        others = len(contacts) - (skip is not None)
        if not others:
            return None
        index = int(rng.random() * others)
        return contacts[-1 if index == skip else index]

    def fan_out(self, k: int, rng: Random) -> list[Contact]:
        """Draw min(k, available) distinct contacts: the pinned ones, and others uniformly."""
        pinned = self._pinned
        if k < pinned:
            return _shorten(self._contacts[:pinned], 0, k, rng)
        return _shorten(self._contacts.copy(), pinned, k, rng)

    def _swap(self, i: int, j: int) -> None:
        contacts = self._contacts
        contacts[i], contacts[j] = contacts[j], contacts[i]
        self._index[contacts[i].peer] = i
        self._index[contacts[j].peer] = j


def _shorten(pool: list[Contact], kept: int, k: int, rng: Random) -> list[Contact]:
    """Shorten `pool` to k contacts: its first `kept`, and a uniform choice among the others.

    A partial shuffle, because `Random.sample` takes five times as long on tables of some tens.
    """
    size = len(pool)
    if k >= size:
        return pool
    random = rng.random
    if 2 * (k - kept) > size - kept:  # fewer draws to choose those left out
        for last in range(size - 1, k - 1, -1):
            pool[kept + int(random() * (last + 1 - kept))] = pool[last]
    else:
        for i in range(kept, k):
            j = i + int(random() * (size - i))
            pool[i], pool[j] = pool[j], pool[i]
    del pool[k:]
    return pool
