"""The routing table of one identifier in the DHT, and who may be in it.

Buckets, their splits and their replacement lists are those of the package kademlia 2.2.3.
Overridden is who comes in (proven neighbours; one identifier an endpoint; a bounded number of a
foreign /24), who goes (who fails again and again; until it answers it is *doubtful*, and not told
to others), and what upstream does not quite do: finding exactly the k nearest, and the right
bucket for an identifier at a bucket's upper end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from functools import lru_cache
from heapq import nsmallest
from ipaddress import AddressValueError, IPv4Address, IPv4Network
from typing import Any, Final, Protocol

from attrs import define, frozen
from kademlia.node import Node  # type: ignore[import-untyped] # has no annotations
from kademlia.routing import RoutingTable  # type: ignore[import-untyped] # likewise

Address = tuple[str, int]

NEIGHBOURS: Final = 20  # [kademlia 2.2.3] k: places in a bucket, and nodes in an answer
FAILURES_MAX: Final = 3  # chosen: failed calls in a row, so 9 lost exchanges, evict a neighbour


@define
class Counters:
    """What happened so far; all but the first two should be rare."""

    calls: int = 0
    """Calls made."""
    answered: int = 0
    """Calls that were answered."""
    timeouts: int = 0
    """Calls given up."""
    slow: int = 0
    """Calls that had to be sent a second time."""
    malformed: int = 0
    """Datagrams that were not of the expected form."""
    stray: int = 0
    """Answers to no call, or from another address than was asked; late ones are among them."""
    refused: int = 0
    """Well-formed wishes not granted: unknown calls, lies, too many contacts of one place."""
    inserted: int = 0
    """Neighbours that came into a table."""
    evicted: int = 0
    """Neighbours that left one."""
    socket_errors: int = 0
    """Errors that the operating system reported."""


@frozen
class Limits:
    """How many places of a routing table strangers may have."""

    subnet_max: int = 16  # chosen: four fifths of a bucket, so no /24 fills one alone
    exempt: tuple[IPv4Network, ...] = tuple(
        map(IPv4Network, ("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"))
    )
    """Networks without that bound: by default those that are not reached from outside."""


class Neighbour(Node):  # type: ignore[misc] # Node is untyped
    """A node of the DHT: its identifier and where it answers."""

    id: bytes
    long_id: int
    ip: str
    port: int

    @property
    def address(self) -> Address:
        """Where it answers."""
        return self.ip, self.port


@lru_cache(maxsize=16_384)  # chosen: as for contacts (`camcast.vocabulary.identity`); liars feed it
def _reachable(ip: str) -> IPv4Address | None:
    try:
        parsed = IPv4Address(ip)
    except AddressValueError:
        return None
    wrong = parsed.is_multicast or parsed.is_unspecified or parsed.is_reserved
    return None if wrong else parsed  # 255.255.255.255 is reserved, too


def usable(address: Address, told_by: str | None = None) -> bool:
    """Say whether one may send to `address`, which somebody at `told_by` has named."""
    ip, port = address
    if not (0 < port < 65_536) or (parsed := _reachable(ip)) is None:
        return False
    if told_by is None or not parsed.is_loopback:
        return True
    teller = _reachable(told_by)
    return teller is not None and teller.is_loopback


class Owner(Protocol):
    """Whose table it is: the protocol."""

    counters: Counters

    def check(self, node: Neighbour, /) -> None:
        """Ping a neighbour, unless it was heard of lately."""


class Table(RoutingTable):  # type: ignore[misc] # RoutingTable is untyped
    """The routing table of one identifier, fed with proven neighbours only."""

    buckets: list[Any]

    def __init__(self, protocol: Owner, node: Neighbour, limits: Limits) -> None:
        super().__init__(protocol, NEIGHBOURS, node)
        self._limits = limits
        self._failures: dict[bytes, int] = {}
        self._heard: dict[bytes, float] = {}
        self._homes: dict[Address, Neighbour] = {}

    def __len__(self) -> int:
        return sum(map(len, self.buckets))

    def neighbours(self) -> Iterator[Neighbour]:
        """Yield who is in the buckets, without the replacements."""
        for bucket in self.buckets:
            yield from bucket.nodes.values()

    def get(self, node_id: bytes) -> Neighbour | None:
        """Return the neighbour of this identifier."""
        node = Neighbour(node_id)
        bucket = self.buckets[self.get_bucket_for(node)]
        known: Neighbour | None = bucket[node_id] or bucket.replacement_nodes.get(node_id)
        return known

    def is_good(self, node_id: bytes) -> bool:
        """Say whether the neighbour has answered last time."""
        return node_id not in self._failures

    def has_good(self) -> bool:
        """Say whether any neighbour has answered last time."""
        return any(node.id not in self._failures for node in self.neighbours())

    def get_bucket_for(self, node: Neighbour) -> int:
        """Return the index of a node's bucket. Upstream misses by one at a bucket's upper end."""
        return bisect_left(self.buckets, node.long_id, key=lambda bucket: bucket.range[1])

    def find_neighbors(
        self, node: Node, k: int | None = None, exclude: Node | None = None
    ) -> list[Neighbour]:
        """Return exactly the k nearest good ones, nearest first; doubtful ones if none is good."""
        target = node.long_id
        known = list(self.neighbours())
        if self._failures:
            known = [n for n in known if n.id not in self._failures] or known
        if exclude is not None:
            known = [n for n in known if n.id != exclude.id]
        return nsmallest(k or self.ksize, known, key=lambda n: n.long_id ^ target)

    def admit(self, node: Neighbour, now: float) -> bool:
        """Take a neighbour that has just proved to be there; say whether it is in the table."""
        if self.get(node.id) is None or node.address not in self._homes:
            if not self._has_room_for(node):
                return False
            self.protocol.counters.inserted += 1
        self._failures.pop(node.id, None)
        self._heard[node.id] = now
        self._homes[node.address] = node
        self.add_contact(node)
        return True

    def _has_room_for(self, node: Neighbour) -> bool:
        known = self.get(node.id)
        if known is not None and known.address != node.address:
            if self.is_good(node.id):
                return False  # A second process with this identifier, or a thief.
            self.remove_contact(known)
        previous = self._homes.get(node.address)
        if previous is not None:
            self.remove_contact(previous)  # The endpoint has another identifier now.
        ip = IPv4Address(node.ip)
        if any(ip in network for network in self._limits.exempt):
            return True
        subnet = int(ip) >> 8
        others = sum(int(IPv4Address(home[0])) >> 8 == subnet for home in self._homes)
        return others < self._limits.subnet_max

    def add_contact(self, node: Neighbour) -> None:
        """Do as upstream; only who was not heard of lately is pinged, and without a lost task."""
        index = self.get_bucket_for(node)
        bucket = self.buckets[index]
        if bucket.add_node(node):
            return
        if bucket.has_in_range(self.node) or bucket.depth() % 5 != 0:
            self.split_bucket(index)
            self.add_contact(node)
        else:
            self.protocol.check(bucket.head())

    def remove_contact(self, node: Neighbour) -> None:
        """Forget a neighbour; a replacement takes its place."""
        super().remove_contact(node)
        self._failures.pop(node.id, None)
        self._heard.pop(node.id, None)
        if (home := self._homes.get(node.address)) is not None and home.id == node.id:
            del self._homes[node.address]
        self.protocol.counters.evicted += 1

    def doubt(self, node: Neighbour, *, failures: int = 1, evict: bool = True) -> None:
        """Take note that a neighbour has failed to answer; evict it after many times."""
        known = self.get(node.id)
        if known is None or known.address != node.address:
            return
        total = self._failures.get(node.id, 0) + failures
        if evict and total >= FAILURES_MAX:
            self.remove_contact(known)
        else:
            self._failures[node.id] = min(total, FAILURES_MAX - 1)

    def heard_since(self, node: Neighbour, when: float) -> bool:
        """Say whether a neighbour has answered since then."""
        return self._heard.get(node.id, -1.0) >= when

    def stalest(self, wanted: int) -> list[Neighbour]:
        """Return the doubtful ones, then those not heard of for longest."""
        known = list(self.neighbours())
        return nsmallest(
            wanted, known, key=lambda n: (self.is_good(n.id), self._heard.get(n.id, -1.0))
        )

    def tidy(self) -> None:
        """Drop notes about replacements that upstream has dropped silently."""
        held: dict[bytes, Neighbour] = {}
        for bucket in self.buckets:
            held.update(bucket.nodes)
            held.update(bucket.replacement_nodes)
        self._homes = {node.address: node for node in held.values()}
        self._failures = {key: n for key, n in self._failures.items() if key in held}
        self._heard = {key: when for key, when in self._heard.items() if key in held}
