"""A DHT of identities on virtual time: real keys, records, certificates and boxes."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.doors.datagrams import address_of as of_endpoint
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.profiles.signed_port import SignedPort
from camcast.security.certificates import Rights
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import PublicKey, SecretKey
from camcast.virtual.datagram_network import HostPort, ip_of
from camcast.virtual.network import address_of
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import Contact
from overlays.kademlia.naming import KeyNames
from overlays.kademlia.overlay import KademliaOverlay
from tests.library.unit.overlays.kademlia.kademlia_world import PORT, Overlays
from tests.signed_world import certificate, key, with_own

CLOCK = Clock(0.0, 1_000.0)


class SignedOverlays(Overlays):
    """Host 0, the first node of all, may serve; the others are members of .soccer, unless `own`."""

    def __init__(self, seed: int = 1, loss: float = 0.0, version: int = 4) -> None:
        super().__init__(seed, loss, version=version)
        self.signing: dict[int, EventSignatures] = {}
        self.links: dict[int, SignedLinks] = {}
        self.own: dict[int, tuple[SecretKey, bytes]] = {}
        """Whose key and certificate a host has, where it is not a member of .soccer's."""
        self._nonces = count(1)

    def clock(self) -> float:
        return CLOCK.wall(self.now)

    def identity(self, number: int) -> SignedLinks:
        """Make the identity of a host's next process."""
        secret, own = self.own.get(number, (key(1_000 + number), b""))
        if not own:
            topic, rights = (".", Rights.SERVE) if number == 0 else (".soccer", Rights.JOIN)
            own = certificate(secret, topic, rights, serial=1 + number)
        self.signing[number] = with_own(secret, own)
        links = SignedLinks.of(
            self.signing[number],
            {of_endpoint((ip_of(0, self.version), PORT)): self.public(0).text},
            CLOCK,
            lambda: self.now,
        )
        links.known.reached_at(address_of(number, self.version))
        self.links[number] = links
        return links

    def public(self, number: int) -> PublicKey:
        secret, _ = self.own.get(number, (key(1_000 + number), b""))
        return secret.public

    def contact(self, number: int) -> Contact:
        return Contact(self.public(number).peer_id, address_of(number, self.version))

    def make(self, number: int, **options: Any) -> KademliaOverlay:
        names = KeyNames(self.identity(number).known, CLOCK)
        return super().make(number, naming=names, **options)

    def port_of(self, number: int, receive: Callable[..., None]) -> DatagramPort:
        def beneath(take: Callable[[int, Endpoint, bytes], None]) -> DatagramPort:
            host = self.hosts[number] = HostPort(self.datagrams, number, take, self.version)
            return host

        return SignedPort(
            receive, self.links[number], beneath, lambda size: next(self._nonces).to_bytes(size)
        )
