"""The identifiers of nodes of the DHT: random, or derived from keys where processes have keys.

A member of a community has the identifier ``group 8 | name 12``, and a node of no community 20
bytes. `DrawnNames` draws the name or the 20 bytes at random, and believes a node's own identifier.

With `KeyNames` (the profile `signed`) no node chooses its identifier: it is ``group 8 | BLAKE2b-12
of the public key``, or BLAKE2b-20 of the key in no community. A node says which
topic it is a member of, and counts as one if its certificate allows it to join that topic; the port
has proved its key (`camcast.doors.datagrams`). Only the owner of a certified key that falls on a
point of the DHT can occupy the point. Answers name nodes with their keys, since datagrams to them
need the key: ``group 8 (zeros of no community) | key 32 | IPv4 4 | port 2``. A node that is named
so is asked, and believed only when it has answered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from hashlib import blake2b
from ipaddress import IPv4Address
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

_NODE: Final = Struct(f">{GROUP_ID_BYTES}s{PUBLIC_KEY_BYTES}s4sH")
NODE_BYTES: Final = _NODE.size
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
    named_bytes_max: ClassVar[int]
    """The most bytes that a named node takes in an answer."""
    nearest: ClassVar[msgspec.msgpack.Decoder[Any]]
    """Decodes the answer to ``find_node``: the answering node's claim, and the nodes it names."""

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
    def write(self, node: Neighbour) -> object:
        """Return a node in the form in which answers name it."""

    @abstractmethod
    def read(self, written: Any) -> Named:
        """Return the node that an answer names in the form of `write`."""

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
    # in msgpack: array 1, id 22, IPv4 text up to 16, port 3; rounded up
    named_bytes_max: ClassVar[int] = 44
    nearest: ClassVar[msgspec.msgpack.Decoder[Any]] = msgspec.msgpack.Decoder(
        tuple[
            Said,
            Annotated[
                list[tuple[NodeId, Annotated[str, msgspec.Meta(max_length=15)], int]],
                msgspec.Meta(max_length=NEIGHBOURS),
            ],
        ]
    )

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
    def write(self, node: Neighbour) -> object:
        return node.id, node.ip, node.port

    @override
    def read(self, written: Any) -> Named:
        node_id, ip, port = written
        return node_id, ip, port


class KeyNames(Naming):
    """Identifiers derived from keys; `admission` says what the owner of each key may do."""

    moves: ClassVar[bool] = True
    # chosen: 1,200 bytes with the 85 around it (`camcast.security.datagram_boxes`)
    datagram_bytes_max: ClassVar[int] = 1115
    named_bytes_max: ClassVar[int] = NODE_BYTES + 2  # in msgpack
    nearest: ClassVar[msgspec.msgpack.Decoder[Any]] = msgspec.msgpack.Decoder(
        tuple[
            Said,
            Annotated[
                list[Annotated[bytes, msgspec.Meta(min_length=NODE_BYTES, max_length=NODE_BYTES)]],
                msgspec.Meta(max_length=NEIGHBOURS),
            ],
        ]
    )

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
    def write(self, node: Neighbour) -> object:
        of_none = node.id == identifier(None, node.key)
        group = _NO_COMMUNITY if of_none else node.id[:GROUP_ID_BYTES]
        return _NODE.pack(group, node.key, IPv4Address(node.ip).packed, node.port)

    @override
    def read(self, written: Any) -> Named:
        group, key, ip, port = _NODE.unpack(written)
        node_id = identifier(None if group == _NO_COMMUNITY else GroupId(group), key)
        return node_id, str(IPv4Address(ip)), port, key

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


def identifier(group: GroupId | None, key: bytes) -> bytes:
    """Return the identifier that the owner of a key has in a community, or in none."""
    if group is None:
        return blake2b(key, digest_size=NODE_ID_BYTES).digest()
    return group + blake2b(key, digest_size=_NAME_BYTES).digest()
