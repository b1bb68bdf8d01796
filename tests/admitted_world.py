"""A virtual network of processes that know each other by signed records, and a gateway."""

from __future__ import annotations

from functools import partial
from itertools import count
from typing import Any, Final
from unittest.mock import patch

from attrs import evolve
from typing_extensions import override

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.node import Node
from camcast.engine.security_messages import Introductions
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.profiles.signed_port import SignedPort
from camcast.security.certificates import Rights
from camcast.security.keys import SecretKey
from camcast.security.known_peers import KnownPeers
from camcast.security.records import PeerRecord, sign_record
from camcast.security.sealed import seal_hash
from camcast.virtual.datagram_network import DatagramNetwork, HostPort
from camcast.vocabulary import wire
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.introductions import Introduction
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.penalties import Penalties
from camcast.vocabulary.topics import ROOT as TOP
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind
from tests.signed_world import NO_GROUP, SignedWorld, certificate, join, with_own

GATE = SecretKey(b"g" * 32)
NOBODY = SecretKey(b"n" * 32)
"""Whom no root has certified."""
THERE, ELSEWHERE = "tcp://10.9.9.9:7000", "tcp://10.8.8.8:7000"


class BoxedHost(HostPort):
    """The UDP of a process with an identity: datagrams in boxes, as they are live."""

    def __init__(self, links: SignedLinks, network: DatagramNetwork, number: int, *rest: Any):
        receive, version = rest
        self._boxes = SignedPort(receive, links, lambda _take: _Bare(self), _nonce)
        super().__init__(network, number, self._boxes._take, version)

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        self._boxes.send(port, target, data, to)


class _Bare(DatagramPort):
    """Sends the boxes of a host; the host itself opens and closes."""

    def __init__(self, host: BoxedHost) -> None:
        self._host = host

    @override
    def send(self, port: int, target: Endpoint, data: bytes, to: bytes = b"") -> None:
        HostPort.send(self._host, port, target, data)

    @override
    def open(self, host: str, port: int) -> Endpoint:
        return self._host.open(host, port)

    @override
    def close(self, port: int) -> None:
        self._host.close(port)


_NONCES: Final = count(1)


def _nonce(size: int) -> bytes:
    return next(_NONCES).to_bytes(size)


class AdmittedWorld(SignedWorld):
    """A gateway that may serve, and whoever it is asked for; in `open` all of it without keys."""

    def __init__(self, *, signed: bool = True, membership: str = "scamp") -> None:
        super().__init__(repair=True, membership=membership)
        self.signed = signed
        self.known: dict[Node, KnownPeers] = {}
        discovery = find_discovery(find_backend(membership).discovery)
        self.settings = evolve(self.settings, discovery=discovery)
        self.gate = self.member(GATE, own=certificate(GATE, ".", Rights.SERVE))
        self.settings = evolve(self.settings, gateways={TOP: (self.gate.me.address,)})

    def member(self, secret: SecretKey, *topics: Topic, own: bytes | None = None) -> Node:
        if self.signed:
            signatures = with_own(secret, own or certificate(secret))
            keys = dict.fromkeys(self.settings.gateways.get(TOP, ()), GATE.public)
            known = KnownPeers(signatures, 1)
            links = SignedLinks(signatures, known, keys, Clock(0.0, 0.0), lambda: self.now)
            parts = evolve(
                self.parts, signatures=signatures, admission=known, penalties=Penalties()
            )
            with patch("camcast.virtual.network.HostPort", partial(BoxedHost, links)):
                node = self.start(self.settings, peer=secret.public.peer_id, parts=parts)
            self.known[node] = known
        else:
            node = self.start(self.settings, peer=secret.public.peer_id)
        for topic in topics:
            self.do(node, partial(join, topic))
        self.run(0.5)
        return node

    def send(self, victim: Node, by: SecretKey, *records: bytes) -> None:
        """Let the owner of a key send records over his link, after his introduction."""
        own = () if by is NOBODY else (certificate(by, ".chess"),)
        said = introduction(by, THERE, *own)
        before = record(Kind.SECURITY, said, by.public.peer_id) if self.signed else b""
        frame = wire.FRAME_HEADER + before + b"".join(records)
        self.virtual.inject(victim.me.address, frame, by.public.peer_id)


def introduction(
    of: SecretKey, address: str, *certificates: bytes, by: SecretKey | None = None, number: int = 1
) -> Introductions:
    named = tuple(seal_hash(one) for one in certificates)
    said = PeerRecord(of.public.raw, (address,), number, 3000, (), named)
    chains = tuple((one,) for one in certificates)
    return Introductions((Introduction(sign_record(said, by or of), chains),))


def record(
    kind: Kind,
    message: Message,
    sender: PeerId,
    address: str = THERE,
    group: GroupId = NO_GROUP,
    mandate: bytes = b"",
) -> bytes:
    head = wire.control_head(kind, group, sender, address, mandate)
    return wire.encode_control(head, encode(message))


def introduced(by: SecretKey) -> bytes:
    own = () if by is NOBODY else (certificate(by, ".chess"),)
    return record(Kind.SECURITY, introduction(by, THERE, *own), by.public.peer_id)
