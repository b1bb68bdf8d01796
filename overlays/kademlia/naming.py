"""The identifiers of nodes of the DHT: random, or derived from keys where processes have keys.

A member of a community has the identifier ``group 8 | name 12``, and a node of no community 20
bytes. `DrawnNames` draws the name or the 20 bytes at random, and believes a node's own identifier.

With `KeyNames` (the profile `signed`) no node chooses its identifier: it is ``group 8 | BLAKE2b-12
of the public key``, or BLAKE2b-20 of the key in no community. A node says which
topic it is a member of, and counts as one if its certificate allows it to join that topic; the port
has proved its key (`camcast.doors.datagrams`). Only the owner of a certified key that falls on a
point of the DHT can occupy the point. Answers name nodes with their keys, since datagrams to them
need the key: ``group 8 (zeros of no community) | key 32 | address 4 or 16 | port 2``. A node that
is named so is asked, and believed only when it has answered.

Answers have two *forms*, that of their calls. Form 1 names nodes with IPv4 addresses alone, and is
spoken at these: every release understands it. Form 2 names nodes with addresses of 16 bytes, in
which IPv4 is mapped (RFC 4291, 2.5.5.2), and is spoken at IPv6 addresses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from hashlib import blake2b
from ipaddress import IPv4Address, IPv6Address
from random import Random
from struct import Struct
from typing import Annotated, Any, ClassVar, Final

import msgspec
from typing_extensions import override

from camcast.doors.admission import Admission
from camcast.doors.datagrams import Endpoint
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import PUBLIC_KEY_BYTES, UNKNOWN_PEER, Contact, peer_of_key
from camcast.vocabulary.topics import (
    GROUP_ID_BYTES,
    NAME_BYTES_MAX,
    GroupId,
    Topic,
    TopicError,
)
from overlays.kademlia.table import NEIGHBOURS, NODE_ID_BYTES, Neighbour

NodeId = Annotated[bytes, msgspec.Meta(min_length=NODE_ID_BYTES, max_length=NODE_ID_BYTES)]
Said = Annotated[bytes, msgspec.Meta(max_length=NAME_BYTES_MAX)]
"""A node's own claim: its identifier, or with keys the name of its topic, empty in no community."""
Named = tuple[bytes, str, int] | tuple[bytes, str, int, bytes]
"""A node that an answer names: identifier, IP address, port, and its key if there are keys."""

FORMS: Final = (1, 2)
_IP_BYTES: Final = {1: 4, 2: 16}
_NODES: Final = {
    form: Struct(f">{GROUP_ID_BYTES}s{PUBLIC_KEY_BYTES}s{size}sH")
    for form, size in _IP_BYTES.items()
}
_MAPPED: Final = bytes(10) + b"\xff\xff"
_NAME_BYTES: Final = NODE_ID_BYTES - GROUP_ID_BYTES
_NO_COMMUNITY: Final = bytes(GROUP_ID_BYTES)


class Naming(ABC):
    """Makes the identifiers of one process's nodes, and checks those of other nodes."""

    key: bytes = b""
    """The public key of this process; empty without keys."""
    moves: ClassVar[bool] = False
    """Whether a node that proves another address has moved there; else it may be a thief."""
    datagram_bytes_max: ClassVar[int]
    """The longest datagram."""
    named_bytes_max: ClassVar[Mapping[int, int]]
    """The most bytes that a named node takes in an answer, by the answer's form."""
    nearest: ClassVar[Mapping[int, msgspec.msgpack.Decoder[Any]]]
    """Decodes the answer to ``find_node``, by its form: the answering node's claim, and the nodes
    that it names."""

    @abstractmethod
    def own(self, topic: Topic | None) -> bytes:
        """Return an identifier for this process in a topic's community, or in none."""

    @abstractmethod
    def say(self, node_id: bytes, topic: str) -> bytes:
        """Return the claim of a node of this process."""

    @abstractmethod
    def node(self, said: bytes, sender: bytes, address: Endpoint, now: float) -> Neighbour | None:
        """Return the node of this claim, key and address; None if the claim is not believed."""

    @abstractmethod
    def write(self, node: Neighbour, form: int) -> object:
        """Return a node as answers of a form name it; form 1 has room for IPv4 alone."""

    @abstractmethod
    def read(self, written: Any, form: int) -> Named:
        """Return the node that an answer of a form names as `write` returns it."""

    def still(self, node: Neighbour, now: float) -> bool:
        """Return whether the claim of a node that `node` has returned is still believed."""
        return True

    def is_of(self, contact: Contact, node: Neighbour, topic: Topic, now: float) -> bool:
        """Return whether a contact may belong to a node, and to a member of a topic."""
        return contact.peer != UNKNOWN_PEER

    def may_ask(self, sender: bytes, topic: str, now: float) -> bool:
        """Return whether the owner of a key may learn members of a topic's community."""
        return True


class DrawnNames(Naming):
    """Identifiers at random."""

    # [RFC 9000, 14] crosses every link whole; our longest is 930
    datagram_bytes_max: ClassVar[int] = 1200
    # in msgpack: array 1, id 22, IPv4 text up to 16 or 16 bytes 18, port 3; rounded up
    named_bytes_max: ClassVar[Mapping[int, int]] = dict.fromkeys(FORMS, 44)
    nearest: ClassVar[Mapping[int, msgspec.msgpack.Decoder[Any]]] = {
        form: msgspec.msgpack.Decoder(
            tuple[
                Said,
                Annotated[list[tuple[NodeId, ip, int]], msgspec.Meta(max_length=NEIGHBOURS)],  # type: ignore[valid-type]  # `ip` is a type
            ]
        )
        for form, ip in (
            (1, Annotated[str, msgspec.Meta(max_length=15)]),
            (2, Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]),
        )
    }

    def __init__(self, rng: Random) -> None:
        self._rng = rng

    @override
    def own(self, topic: Topic | None) -> bytes:
        if topic is None:
            return self._rng.randbytes(NODE_ID_BYTES)
        return topic.group + self._rng.randbytes(_NAME_BYTES)

    @override
    def say(self, node_id: bytes, topic: str) -> bytes:
        """See `Naming`; its identifier."""
        return node_id

    @override
    def node(self, said: bytes, sender: bytes, address: Endpoint, now: float) -> Neighbour | None:
        return Neighbour(said, *address) if len(said) == NODE_ID_BYTES else None

    @override
    def write(self, node: Neighbour, form: int) -> object:
        return node.id, node.ip if form == 1 else _pack(node.ip, form), node.port

    @override
    def read(self, written: Any, form: int) -> Named:
        node_id, ip, port = written
        return node_id, ip if form == 1 else _unpack(ip), port


class KeyNames(Naming):
    """Identifiers derived from keys; `admission` says what the owner of each key may do."""

    moves: ClassVar[bool] = True
    # chosen: 1,200 bytes with the 85 around it (`camcast.security.datagram_boxes`)
    datagram_bytes_max: ClassVar[int] = 1115
    named_bytes_max: ClassVar[Mapping[int, int]] = {
        form: node.size + 2  # in msgpack
        for form, node in _NODES.items()
    }
    nearest: ClassVar[Mapping[int, msgspec.msgpack.Decoder[Any]]] = {
        form: msgspec.msgpack.Decoder(
            tuple[
                Said,
                Annotated[
                    list[
                        Annotated[bytes, msgspec.Meta(min_length=node.size, max_length=node.size)]
                    ],
                    msgspec.Meta(max_length=NEIGHBOURS),
                ],
            ]
        )
        for form, node in _NODES.items()
    }

    def __init__(self, admission: Admission, clock: Clock) -> None:
        self.key = admission.key
        self._admission = admission
        self._clock = clock

    @override
    def own(self, topic: Topic | None) -> bytes:
        return identifier(None if topic is None else topic.group, self.key)

    @override
    def say(self, node_id: bytes, topic: str) -> bytes:
        """See `Naming`; the name of its topic, empty in no community."""
        return topic.encode()

    @override
    def node(self, said: bytes, sender: bytes, address: Endpoint, now: float) -> Neighbour | None:
        try:
            topic = Topic.parse(said.decode("ascii")) if said else None
        except (TopicError, UnicodeDecodeError):
            return None
        group = None if topic is None else topic.group
        node = Neighbour(identifier(group, sender), *address, key=sender, topic=topic)
        return node if self.still(node, now) else None

    @override
    def write(self, node: Neighbour, form: int) -> object:
        of_none = node.id == identifier(None, node.key)
        group = _NO_COMMUNITY if of_none else node.id[:GROUP_ID_BYTES]
        return _NODES[form].pack(group, node.key, _pack(node.ip, form), node.port)

    @override
    def read(self, written: Any, form: int) -> Named:
        group, key, ip, port = _NODES[form].unpack(written)
        node_id = identifier(None if group == _NO_COMMUNITY else GroupId(group), key)
        return node_id, _unpack(ip), port, key

    @override
    def still(self, node: Neighbour, now: float) -> bool:
        peer, wall = peer_of_key(node.key), self._clock.wall(now)
        if node.topic is None:
            return self._admission.admits(peer, wall)
        return self._admission.may_join(peer, node.topic, wall)

    @override
    def is_of(self, contact: Contact, node: Neighbour, topic: Topic, now: float) -> bool:
        """See `Naming`; its address is one that it has signed."""
        wall = self._clock.wall(now)
        return (
            contact.peer == peer_of_key(node.key)
            and self._admission.knows(contact, wall)
            and self._admission.may_join(contact.peer, topic, wall)
        )

    @override
    def may_ask(self, sender: bytes, topic: str, now: float) -> bool:
        wall = self._clock.wall(now)
        return self._admission.may_link(peer_of_key(sender), Topic.parse(topic), wall)


def form_of(endpoint: Endpoint) -> int:
    """Return the form of the calls to an endpoint."""
    return 2 if ":" in endpoint[0] else 1


@lru_cache(maxsize=16_384)  # chosen: as addresses (`overlays.kademlia.table`)
def _pack(ip: str, form: int) -> bytes:
    """Return the bytes of an address in a form."""
    if ":" in ip:
        return IPv6Address(ip).packed
    return IPv4Address(ip).packed if form == 1 else _MAPPED + IPv4Address(ip).packed


@lru_cache(maxsize=16_384)  # chosen: as above
def _unpack(packed: bytes) -> str:
    """Return the digits of an address of 4 or 16 bytes."""
    if len(packed) == _IP_BYTES[1]:
        return str(IPv4Address(packed))
    six = IPv6Address(packed)
    return str(six.ipv4_mapped or six)


def identifier(group: GroupId | None, key: bytes) -> bytes:
    """Return the identifier that the owner of a key has in a community, or in none."""
    if group is None:
        return blake2b(key, digest_size=NODE_ID_BYTES).digest()
    return group + blake2b(key, digest_size=_NAME_BYTES).digest()
