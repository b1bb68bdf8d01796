"""An ordered table of peers with O(1) changes and uniform samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from camcast.identity import Contact, PeerId


class PeerTable:
    """Contacts by identity, in an order that depends on nothing but the calls made.

    `watch(learned, contact)` is told of every change, for the trace. Iteration, `sample`
    and `contacts` give the same sequence for the same history, whatever the hash seed.
    """

    __slots__ = ("_contacts", "_index", "_watch")

    def __init__(self, watch: Callable[[bool, Contact], None] | None = None) -> None:
        self._contacts: list[Contact] = []
        self._index: dict[PeerId, int] = {}
        self._watch = watch

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

    def add(self, contact: Contact) -> bool:
        """Add a contact; False if its peer is here already, whose address is then renewed."""
        index = self._index.get(contact.peer)
        if index is not None:
            self._contacts[index] = contact
            return False
        self._index[contact.peer] = len(self._contacts)
        self._contacts.append(contact)
        if self._watch:
            self._watch(True, contact)
        return True

    def discard(self, peer: PeerId) -> bool:
        """Remove a peer, if it is here; the last contact takes its place in the order."""
        index = self._index.pop(peer, None)
        if index is None:
            return False
        contact = self._contacts[index]
        last = self._contacts.pop()
        if last is not contact:
            self._contacts[index] = last
            self._index[last.peer] = index
        if self._watch:
            self._watch(False, contact)
        return True

    def sample(self, k: int, rng: Random, without: PeerId | None = None) -> list[Contact]:
        """Draw min(k, available) distinct contacts uniformly, never `without`.

        A partial shuffle of a copy: tables hold some tens of contacts, and `Random.sample`
        takes five times as long on them.
        """
        pool = self._contacts.copy()
        if without is not None and (skip := self._index.get(without)) is not None:
            pool[skip] = pool[-1]
            pool.pop()
        size = len(pool)
        if k >= size:
            return pool
        random = rng.random
        for i in range(k):
            j = i + int(random() * (size - i))
            pool[i], pool[j] = pool[j], pool[i]
        del pool[k:]
        return pool
