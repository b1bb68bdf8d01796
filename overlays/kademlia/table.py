"""The routing table of one identifier in the DHT.

Buckets, their splits and their replacement lists are those of the package kademlia 2.2.3. This
module overrides how a node enters (it must have proved its address; an endpoint has one identifier;
a foreign /24, or /48 of IPv6, has a bounded number of places), how a node leaves (it fails several
times in a row; after the first failure it is *doubtful* and not named in answers), and two things
that upstream gets wrong: it does not find exactly the k nearest, and it misses the bucket of an
identifier at a bucket's upper end.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import Any, Final, Protocol

from attrs import define, frozen
from kademlia.node import Node  # type: ignore[import-untyped] # has no annotations
from kademlia.routing import RoutingTable  # type: ignore[import-untyped] # likewise

from camcast.doors.datagrams import Endpoint
from camcast.vocabulary.topics import Topic

NODE_ID_BYTES: Final = 20  # [kademlia 2.2.3] SHA-1
NEIGHBOURS: Final = 20  # [kademlia 2.2.3] k: places in a bucket, and nodes in an answer
FAILURES_MAX: Final = 3  # chosen: failed calls in a row, so 9 lost exchanges, evict a neighbour


@define
class Counters:
    """The events of one process's DHT nodes; all but the first two counts should stay small."""

    calls: int = 0
    """Calls made."""
    answered: int = 0
    """Calls that were answered."""
    timeouts: int = 0
    """Calls given up."""
    slow: int = 0
    """Calls that had to be sent a second time."""
    malformed: int = 0
    """Datagrams of a form that the protocol does not have."""
    stray: int = 0
    """Answers to no call, from another address than the one asked, or after the call's end."""
    refused: int = 0
    """Well-formed requests not granted: unknown calls, lies, too many nodes of one subnet."""
    inserted: int = 0
    """Neighbours that entered a table."""
    evicted: int = 0
    """Neighbours that left one."""


@frozen
class Limits:
    """How many places of a routing table the nodes of one subnet may have."""

    # chosen: four fifths of a bucket, so no /24, or /48 of IPv6, fills one alone
    subnet_max: int = 16
    exempt: tuple[IPv4Network | IPv6Network, ...] = tuple(
        map(
            ip_network,
            (
                *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"),
                *("::1/128", "fc00::/7"),
            ),
        )
    )
    """Networks without that bound: by default the private ones, closed to the outside."""


class Neighbour(Node):  # type: ignore[misc] # Node is untyped
    """A node of the DHT: its identifier, its endpoint and, where nodes have keys, its key.

    `topic` is the topic of its community if its key has proved the membership, else None.
    """

    def __init__(
        self,
        node_id: bytes,
        ip: str = "",
        port: int = 0,
        key: bytes = b"",
        topic: Topic | None = None,
    ) -> None:
        # As upstream, but without a conversion to text: simulations make millions of nodes.
        self.id = node_id
        self.long_id = int.from_bytes(node_id)
        self.ip = ip
        self.port = port
        self.key = key
        self.topic = topic
        self.address: Endpoint = (ip, port)


_DISCARDED: Final = IPv6Network("100::/64")  # [RFC 6666] nobody is there
_SITE_BITS: Final = 48  # [RFC 6177, 2] as many as a site is usually given at most
_SUBNET_BITS: Final = {4: 32 - 24, 6: 128 - _SITE_BITS}


@lru_cache(maxsize=16_384)  # chosen: as for contacts (`camcast.vocabulary.identity`); liars feed it
def _reachable(ip: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(ip)
    except ValueError:
        return None
    if isinstance(parsed, IPv6Address):
        # A link-local address means something on one link only, and a mapped one is IPv4's.
        wrong = parsed.is_link_local or parsed.ipv4_mapped is not None or parsed in _DISCARDED
    else:
        wrong = parsed.is_reserved  # 255.255.255.255 is, too
    return None if wrong or parsed.is_multicast or parsed.is_unspecified else parsed


@lru_cache(maxsize=16_384)  # chosen: as above
def _subnet(ip: str) -> tuple[int, int]:
    """Return the version and number of the subnet whose nodes count together."""
    parsed = ip_address(ip)
    return parsed.version, int(parsed) >> _SUBNET_BITS[parsed.version]


def usable(address: Endpoint, told_by: str | None = None) -> bool:
    """Return whether datagrams may go to `address`: whether it is a host's, with a port.

    `told_by` is the IP of the node that has named the address; only a node on loopback may name an
    address on loopback. With None nobody has named it: it is the user's, or the address that a
    datagram came from, and may be on loopback.
    """
    ip, port = address
    if not (0 < port < 65_536) or (parsed := _reachable(ip)) is None:
        return False
    if told_by is None or not parsed.is_loopback:
        return True
    teller = _reachable(told_by)
    return teller is not None and teller.is_loopback


class Owner(Protocol):
    """The protocol that has the table."""

    counters: Counters

    def check(self, node: Neighbour, now: float, /) -> None:
        """Ping a neighbour, unless it has answered lately."""


class Table(RoutingTable):  # type: ignore[misc] # RoutingTable is untyped
    """The routing table of one identifier; every neighbour in it has proved its address.

    With `moves`, a neighbour that proves its identifier at a new address has moved there.
    """

    buckets: list[Any]

    def __init__(
        self, protocol: Owner, node: Neighbour, limits: Limits, *, moves: bool = False
    ) -> None:
        super().__init__(protocol, NEIGHBOURS, node)
        self._moves = moves
        self._limits = limits
        self._failures: dict[bytes, int] = {}
        self._heard: dict[bytes, float] = {}
        self._homes: dict[Endpoint, Neighbour] = {}
        self._neighbours: dict[int, Neighbour] | None = None
        """The result of `neighbours`, by identifier as a number, until it changes."""

    def __len__(self) -> int:
        return sum(map(len, self.buckets))

    def neighbours(self) -> Collection[Neighbour]:
        """Return the neighbours in the buckets, without the replacements."""
        return self._by_number().values()

    def _by_number(self) -> dict[int, Neighbour]:
        if self._neighbours is None:
            nodes = [node for b in self.buckets for node in b.nodes.values()]
            self._neighbours = {node.long_id: node for node in nodes}
        return self._neighbours

    def get(self, node_id: bytes) -> Neighbour | None:
        """Return the neighbour of this identifier."""
        bucket = self.buckets[self._index(int.from_bytes(node_id))]
        known: Neighbour | None = bucket.nodes.get(node_id)
        return known or bucket.replacement_nodes.get(node_id)

    def is_good(self, node_id: bytes) -> bool:
        """Return whether the neighbour has answered the last call."""
        return node_id not in self._failures

    def has_good(self) -> bool:
        """Return whether any neighbour has answered its last call."""
        return any(node.id not in self._failures for node in self.neighbours())

    def get_bucket_for(self, node: Neighbour) -> int:
        """Return the index of a node's bucket. Upstream misses by one at a bucket's upper end."""
        return self._index(node.long_id)

    def _index(self, long_id: int) -> int:
        return bisect_left(self.buckets, long_id, key=lambda bucket: bucket.range[1])

    def find_neighbors(
        self, node: Node, k: int | None = None, exclude: Node | None = None
    ) -> list[Neighbour]:
        """Return exactly the k nearest good ones, nearest first; doubtful ones if none is good."""
        target, known, wanted = node.long_id, self._by_number(), k or self.ksize
        doubtful: Mapping[bytes, int] = self._failures if self._failures and self.has_good() else {}
        excluded = None if exclude is None else exclude.id
        nearest: list[Neighbour] = []
        # Numbers sort faster than nodes by a key, and an overlay spends most of its time here.
        for distance in sorted([number ^ target for number in known]):
            one = known[distance ^ target]
            if one.id != excluded and one.id not in doubtful:
                nearest.append(one)
                if len(nearest) == wanted:
                    break
        return nearest

    def admit(self, node: Neighbour, now: float) -> bool:
        """Insert a neighbour that has just answered; return whether it is in the table then."""
        if self.get(node.id) is None or node.address not in self._homes:
            if not self._has_room_for(node):
                return False
            self.protocol.counters.inserted += 1
        self._failures.pop(node.id, None)
        self._heard[node.id] = now
        self._homes[node.address] = node
        self.add_contact(node, now)
        return True

    def _has_room_for(self, node: Neighbour) -> bool:
        known = self.get(node.id)
        if known is not None and known.address != node.address:
            if self.is_good(node.id) and not self._moves:
                return False  # A second process with this identifier, or a thief.
            self.remove_contact(known)
        previous = self._homes.get(node.address)
        if previous is not None:
            self.remove_contact(previous)  # The endpoint has another identifier now.
        ip = ip_address(node.ip)
        if any(ip in network for network in self._limits.exempt):
            return True
        subnet = _subnet(node.ip)
        others = sum(_subnet(home[0]) == subnet for home in self._homes)
        return others < self._limits.subnet_max

    def add_contact(self, node: Neighbour, now: float) -> None:
        """Put a neighbour into its bucket, which is split if it is full.

        As upstream, but the oldest neighbour of a full bucket is pinged through `check`; upstream
        starts a task that nobody waits for.
        """
        index = self.get_bucket_for(node)
        bucket = self.buckets[index]
        if node.id not in bucket.nodes:
            self._neighbours = None
        if bucket.add_node(node):
            return
        # The bits that the identifiers begin with in common, as upstream's `bucket.depth()`.
        numbers = [known.long_id for known in bucket.nodes.values()]
        depth = 8 * len(node.id) - (min(numbers) ^ max(numbers)).bit_length()
        if bucket.has_in_range(self.node) or depth % 5 != 0:
            self.split_bucket(index)
            self.add_contact(node, now)
        else:
            self.protocol.check(bucket.head(), now)

    def remove_contact(self, node: Neighbour) -> None:
        """Forget a neighbour; a replacement takes its place."""
        self._neighbours = None
        super().remove_contact(node)
        self._failures.pop(node.id, None)
        self._heard.pop(node.id, None)
        if (home := self._homes.get(node.address)) is not None and home.id == node.id:
            del self._homes[node.address]
        self.protocol.counters.evicted += 1

    def doubt(self, node: Neighbour, *, failures: int = 1, evict: bool = True) -> None:
        """Note that a neighbour has not answered, and evict it after `FAILURES_MAX` failures.

        A neighbour that is not to be evicted stays doubtful.
        """
        known = self.get(node.id)
        if known is None or known.address != node.address:
            return
        total = self._failures.get(node.id, 0) + failures
        if evict and total >= FAILURES_MAX:
            self.remove_contact(known)
        else:
            self._failures[node.id] = min(total, FAILURES_MAX - 1)

    def expel(self, stays: Callable[[Neighbour], bool]) -> None:
        """Remove the neighbours and the replacements for which `stays` is False."""
        for bucket in self.buckets:
            for node in [*bucket.replacement_nodes.values(), *bucket.nodes.values()]:
                if not stays(node):
                    self.remove_contact(node)

    def heard_since(self, node: Neighbour, when: float) -> bool:
        """Return whether a neighbour has answered since then."""
        return self._heard.get(node.id, -1.0) >= when

    def stalest(self, wanted: int) -> list[Neighbour]:
        """Return the doubtful neighbours first, then those that have been silent for longest."""
        heard = self._heard
        return sorted(self.neighbours(), key=lambda n: (self.is_good(n.id), heard.get(n.id, -1.0)))[
            :wanted
        ]

    def tidy(self) -> None:
        """Drop the notes about replacements that upstream's buckets have dropped."""
        held: dict[bytes, Neighbour] = {}
        for bucket in self.buckets:
            held.update(bucket.nodes)
            held.update(bucket.replacement_nodes)
        self._homes = {node.address: node for node in held.values()}
        self._failures = {key: n for key, n in self._failures.items() if key in held}
        self._heard = {key: when for key, when in self._heard.items() if key in held}
