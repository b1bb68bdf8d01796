"""The peers that may help to find out whether a suspect lives, ranked once for all suspects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from typing import Generic, Protocol, TypeVar

from camcast.vocabulary.addresses import host_of
from camcast.vocabulary.identity import Contact


class _HasContact(Protocol):
    @property
    def contact(self) -> Contact:
        """The peer, at the address where it is known."""


PeerT = TypeVar("PeerT", bound=_HasContact)


class HelperCandidates(Generic[PeerT]):
    """Peers that are heard of, the one heard last first; those at hosts of neither side are best.

    Processes of one loop share a connection, and fall silent as one.
    """

    def __init__(self, ranked: Iterable[PeerT], own_address: str) -> None:
        self._own_host = host_of(own_address)
        self._elsewhere: list[PeerT] = []
        self._at: dict[str, list[tuple[int, PeerT]]] = {}
        """The peers at each host, with their ranks."""
        for rank, peer in enumerate(ranked):
            host = host_of(peer.contact.address)
            self._at.setdefault(host, []).append((rank, peer))
            if host != self._own_host:
                self._elsewhere.append(peer)

    def best_for(self, suspect: Contact) -> Iterator[PeerT]:
        """Yield all of them, the best for this suspect first."""
        host = host_of(suspect.address)
        if len(self._elsewhere) > len(self._at.get(host, ())) or host == self._own_host:
            for peer in self._elsewhere:
                if host_of(peer.contact.address) != host:
                    yield peer
        near = [self._at.get(one, []) for one in dict.fromkeys((self._own_host, host))]
        for _, peer in merge(*near, key=lambda one: one[0]):
            yield peer
