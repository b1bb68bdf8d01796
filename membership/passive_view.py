"""The passive view of HyParView: processes from which the active view is repaired (4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from random import Random

from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.peers import PeerTable


class PassiveView:
    """At most `size` processes that get no events; none of them is also a neighbour."""

    def __init__(
        self,
        me: PeerId,
        active: PeerTable,
        size: int,
        taken_max: int,
        rng: Random,
        can_hold: Callable[[Contact], bool],
    ) -> None:
        """`put` takes neither `me` nor any of `active`, and at most `taken_max` processes.

        Nor does it take one that this process cannot hold (`Liveness.can_hold`).
        """
        self._can_hold = can_hold
        self._active, self._size, self._taken_max, self._rng = active, size, taken_max, rng
        self._nobody = (me, UNKNOWN_PEER)
        self._table = PeerTable()
        self._sent: list[PeerId] = []
        """The processes of the last shuffle; those that its answer brings replace them."""
        self._asked: dict[PeerId, None] = {}
        """The processes that were asked to be neighbours since the last shuffle."""

    def __len__(self) -> int:
        return len(self._table)

    def __iter__(self) -> Iterator[Contact]:
        return iter(self._table)

    def put(self, contacts: Iterable[Contact]) -> None:
        """Add processes; a full view replaces those of the last shuffle, then random ones."""
        for contact in list(contacts)[: self._taken_max]:
            if contact.peer in self._nobody or contact.peer in self._active:
                continue
            if not self._can_hold(contact):
                continue
            if contact.peer not in self._table and len(self._table) >= self._size:
                sent = [peer for peer in self._sent if peer in self._table]
                replaced = sent[0] if sent else self._table.sample(1, self._rng)[0].peer
                self._table.discard(replaced)
            self._table.add(contact)

    def discard(self, peer: PeerId) -> None:
        """Forget a process: it is a neighbour now, has left, or does not answer."""
        self._table.discard(peer)

    def draw(self, count: int, excluded: PeerId | None = None) -> list[Contact]:
        """Draw up to `count` random processes for a shuffle, never `excluded`."""
        drawn = self._table.sample(count, self._rng, excluded)
        self._sent = [contact.peer for contact in drawn]
        return drawn

    def candidate(self) -> Contact | None:
        """Draw a process to ask to be a neighbour, each once between two shuffles; else None.

        A process that nobody can dial asks others itself, and is drawn where there are no others.
        """
        drawn = [contact for contact in self._table if contact.is_dialable] or list(self._table)
        others = [contact for contact in drawn if contact.peer not in self._asked]
        if not others:
            return None
        chosen = self._rng.choice(others)
        self.leave_out(chosen.peer)
        return chosen

    def leave_out(self, peer: PeerId) -> None:
        """Do not return a process by `candidate` until the next shuffle."""
        self._asked[peer] = None

    def forget_asked(self) -> None:
        """Let `candidate` return the processes that were asked before."""
        self._asked.clear()
