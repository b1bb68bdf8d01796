"""Lasting entries: a part of a view that liars can fill no more than their numbers allow.

In a protocol whose views are mixed by messages, a process whose messages name only accomplices is
named ever more often: its receivers name the accomplices, too. With 6 of 42 processes under one
attacker, a third of all entries of Cyclon's views were these. The remedy is that of Brahms (E.
Bortnikov et al., "Brahms: Byzantine resilient random membership sampling", PODC 2008): a sample of
the *distinct* processes that were named. Each process ranks all others by a hash with a key of its
own, and the entries of the lowest ranks are *lasting*. An entry that ranks lower takes the place of
a lasting one, and nothing else does. How often a process is named does not matter then, nor can
anybody choose an identity that ranks low at others.

The ranks are uniform, so the lasting entries are a uniform sample of the processes that were named
at least once, the dead left out: the view drops these as it drops all others.

Lasting entries are named to others, too, or the other places of views would have liars alone before
long. That makes copies of them, and who has many holders would get ever more (measured: among 300,
in-degrees had 1.5 times the standard deviation of a random graph's). So a process names first those
of its lasting entries that it has not heard named since it holds them, and then those that it has
heard named longest ago: whom few hold is named by all who do, and liars, who are always named, by
nobody. In-degrees are then spread about as in a random graph (1.06 and 1.19 of it over two seeds).
Where newcomers were named last, or copies took places before entries that are given away, some
process had no holder.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from random import Random
from typing import Final

from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.peers import PeerTable

KEY_BYTES: Final = 16  # chosen: nobody finds it by trying
RANK_BYTES: Final = 8  # chosen: no two processes of a community have the same


class LastingEntries:
    """Which entries of a table of `size` are lasting: this share of the places, the lowest ranks.

    Processes that nobody can dial have places of their own, and are not among them. Explicit peers
    (`PeerTable.kept`) last whatever their rank.
    """

    def __init__(self, share: float, size: int, table: PeerTable, rng: Random) -> None:
        self._places, self._table, self._rng = round(share * size), table, rng
        self._key = rng.randbytes(KEY_BYTES) if self._places else b""
        self._ranks: dict[PeerId, bytes] = {}
        """The ranks of entries, some of which may have left the table."""
        self._named: dict[PeerId, int] = {}
        """The number of the last naming of each entry; some may have left the table."""
        self._namings = 0

    def others(self, contacts: Iterable[Contact]) -> list[Contact]:
        """Return those of these contacts that are in the table, and not lasting."""
        table, lasting = self._table, (*self._table.kept, *self._lasting())
        return [one for one in contacts if one.peer in table and one.peer not in lasting]

    def draw(self, count: int, without: PeerId) -> list[Contact]:
        """Draw entries to name to a process: of the lasting ones those named longest ago."""
        dialled = [one for one in self._table if one.is_dialable and one.peer != without]
        drawn = self._rng.sample(dialled, min(count, len(dialled)))
        lasting = [one for one in self._lasting() if one != without]
        lasting.sort(key=lambda peer: self._named.get(peer, 0))
        copied = lasting[: sum(one.peer in lasting for one in drawn)]
        for peer in copied:
            self.note_named(peer)
        # Copies come last: they get the places that the entries given away leave.
        by_peer = {one.peer: one for one in dialled}
        return self.others(drawn) + [by_peer[peer] for peer in copied]

    def note_named(self, peer: PeerId) -> None:
        """Note that an entry of the table was named, to this process or by it."""
        if self._places and peer in self._table:
            self._namings += 1
            self._named[peer] = self._namings

    def outranked_by(self, peer: PeerId) -> Contact | None:
        """Return the lasting entry that gives its place to a process, None if none does."""
        lasting = [one for one in self._lasting() if one not in self._table.kept]
        if not lasting:
            return None
        last = max(lasting, key=self._rank)
        return self._table.get(last) if self._rank(peer) < self._rank(last) else None

    def _lasting(self) -> list[PeerId]:
        if not self._places:
            return []
        entries = [one.peer for one in self._table if one.is_dialable]
        if len(self._ranks) > 2 * len(entries):  # many have left
            self._ranks = {peer: self._rank(peer) for peer in entries}
            self._named = {peer: self._named.get(peer, 0) for peer in entries}
        return sorted(entries, key=self._rank)[: self._places]

    def _rank(self, peer: PeerId) -> bytes:
        rank = self._ranks.get(peer)
        if rank is None:
            digest = hashlib.blake2b(peer, digest_size=RANK_BYTES, key=self._key)
            rank = self._ranks[peer] = digest.digest()
        return rank
