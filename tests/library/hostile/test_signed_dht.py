"""Attacks on the DHT, in `open`, where each of them succeeds, and in `signed`, where none does.

The attacker has a key: one that no root has certified, or one that is certified for .chess. He
knows the protocol, boxes whatever he likes for his victims, and listens. The victims are members of
.soccer; the overlay, the boxes, the records and the certificates are the real ones.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from camcast.doors.datagrams import Endpoint
from camcast.security.certificates import Rights
from camcast.security.datagram_boxes import DatagramBoxes
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.security.known_peers import KnownPeers
from camcast.security.taken_once import DatagramError
from camcast.virtual.datagram_network import HostPort, ip_of
from camcast.virtual.network import address_of
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic
from overlays.kademlia.overlay import PROBE_SECONDS
from overlays.kademlia.protocol import PADDING
from overlays.kademlia.table import usable
from overlays.remembered import Remembered, recall
from tests.authority import EVE, MEMBER, ROOT, grant, revocations
from tests.library.unit.overlays.kademlia.kademlia_world import BOOTSTRAP, PORT, Overlays
from tests.mutations import mutated
from tests.signed_overlay import SignedOverlays

SOCCER = Topic.parse(".soccer")
FAR = 2**32 - 1
HOST, ACCOMPLICE, VICTIM, MEMBER_HOST = 100, 101, 1, 2
FORGED = Contact(PeerId(b"F" * 16), "tcp://10.9.9.9:7000")
WHO: dict[str, tuple[SecretKey, bytes]] = {
    "a stranger": (SecretKey(b"n" * 32), b""),
    "a member of .chess": (EVE, grant(ROOT, EVE, ".chess", MEMBER, 0, FAR)),
}
pack = msgspec.msgpack.encode


class Mallory:
    """A host that says what it likes; in `signed` in boxes, with what it has of certificates."""

    def __init__(self, world: Overlays, who: str, number: int = HOST) -> None:
        self.world = world
        self.heard: list[bytes] = []
        self.rng = Random(number)
        self.host = HostPort(world.datagrams, number, self._take)
        self.at = self.host.open(ip_of(number), PORT)
        self.boxes: DatagramBoxes | None = None
        self.key = b""
        self.answers: Callable[[str, list[Any]], Any] | None = None
        if isinstance(world, SignedOverlays):
            secret, certified = WHO[who]
            certified = certified or grant(secret, secret, ".", MEMBER, 0, FAR)
            signatures = EventSignatures(secret, [ROOT.public, secret.public])
            signatures.renew([[certified]], 1.0)
            known = KnownPeers(signatures, 1)
            known.reached_at(address_of(number))
            self.boxes, self.key = DatagramBoxes(signatures, known), secret.public.raw

    def says_that_it_is(self, topic: Topic = SOCCER) -> bytes:
        """Return what a member of this topic would say, in its world."""
        if self.boxes is None:
            return topic.group + bytes([self.at[1] % 251]) * 12
        return topic.name.encode()

    def names(self, number: int) -> Any:
        """Return how a node of .soccer at a host is named, in its world, with Mallory's own key."""
        if self.boxes is None:
            return SOCCER.group + number.to_bytes(12), ip_of(number), PORT
        return SOCCER.group + self.key + IPv4Address(ip_of(number)).packed + PORT.to_bytes(2)

    def ask(self, target: int, method: str, *arguments: Any) -> int:
        """Send a call to a host, and return how many bytes that took."""
        said = b"\x00" + self.rng.randbytes(19) + b"\x00" + pack([method, arguments])
        return self.say(said, target)

    def say(self, data: bytes, target: int) -> int:
        endpoint = next(at for at in self.world.datagrams.endpoints if at[0] == ip_of(target))
        return sum(self._send(one, endpoint) for one in self._boxed(data, target))

    def _boxed(self, data: bytes, target: int) -> list[bytes]:
        if self.boxes is None or not isinstance(self.world, SignedOverlays):
            return [data]
        nonces = self.rng.randbytes(24), self.rng.randbytes(24)
        return self.boxes.seal(data, self.world.public(target).raw, nonces, self.world.clock())

    def _send(self, datagram: bytes, target: Endpoint) -> int:
        self.host.send(PORT, target, datagram)
        return len(datagram)

    def _take(self, _port: int, source: Endpoint, datagram: bytes) -> None:
        self.heard.append(datagram)
        data = datagram
        if self.boxes is not None and isinstance(self.world, SignedOverlays):
            try:
                _, data = self.boxes.open(datagram, self.world.clock())
            except DatagramError:
                return
        if data[:1] == b"\0" and self.answers is not None:
            method, arguments = msgspec.msgpack.decode(data[21:])
            answer = self.answers(method, arguments)
            if answer is not None:
                number = next(n for n in range(200) if ip_of(n) == source[0])
                for one in self._boxed(b"\x01" + data[1:21] + pack(answer), number):
                    self._send(one, source)


def neighbours(world: Overlays, number: int) -> list[Endpoint]:
    tables = world.overlays[number].neighbours.values()
    return [node.address for nodes in tables for node in nodes]


def town(profile: str) -> Overlays:
    world: Overlays = SignedOverlays() if profile == "signed" else Overlays()
    world.populate([SOCCER] * 4, settle=3.0)
    return world


def near_a_key(world: Overlays, mallory: Mallory) -> bool:
    """He takes a place among the members: his identifier is in their subtree, as he says."""
    said = mallory.says_that_it_is()
    mallory.answers = lambda _method, _arguments: [said]
    mallory.ask(VICTIM, "ping", said)
    world.run(3.0)
    return mallory.at in neighbours(world, VICTIM)


def a_forged_contact(world: Overlays, mallory: Mallory) -> bool:
    """He is asked for a member's contact, and names a process that does not exist."""
    near_a_key(world, mallory)
    said = mallory.says_that_it_is()

    def answers(method: str, _arguments: list[Any]) -> Any:
        return [said, FORGED, SOCCER.name] if method == "contact" else [said, []]

    mallory.answers = answers
    return any(FORGED in world.find(number, SOCCER, 8).contacts for number in (VICTIM, 3))


def a_poisoned_answer(world: Overlays, mallory: Mallory) -> bool:
    """He is a node that everybody may ask, and names accomplices that are no members."""
    outside = b"" if mallory.boxes is not None else b"\xfe" * 20
    accomplice = Mallory(world, "a member of .chess", ACCOMPLICE)
    if mallory.boxes is not None:
        accomplice.boxes, accomplice.key = mallory.boxes, mallory.key
    theirs = accomplice.says_that_it_is()
    if mallory.boxes is None:
        theirs = SOCCER.group + ACCOMPLICE.to_bytes(12)

    def named(method: str, _arguments: list[Any]) -> Any:
        return [outside, [mallory.names(ACCOMPLICE)]] if method == "find_node" else [outside]

    def accomplices(method: str, _arguments: list[Any]) -> Any:
        return [theirs, FORGED, SOCCER.name] if method == "contact" else [theirs, []]

    mallory.answers, accomplice.answers = named, accomplices
    mallory.ask(VICTIM, "ping", outside)
    world.run(2 * PROBE_SECONDS)
    found = world.find(VICTIM, SOCCER, 8)
    accomplice.host.crash()
    return FORGED in found.contacts


def a_question(world: Overlays, mallory: Mallory) -> bool:
    """He asks who is in the community, where he may not even send events to."""
    mallory.ask(
        VICTIM, "contact", mallory.says_that_it_is(Topic.parse(".chess")), SOCCER.group, PADDING
    )
    heard: list[Any] = []
    if mallory.boxes is None:
        mallory.host.receive = lambda _port, _source, data: heard.append(data)
    else:
        boxes, clock = mallory.boxes, world.clock  # type: ignore[attr-defined]  # signed
        mallory.host.receive = lambda _port, _source, data: heard.append(
            boxes.open(data, clock())[1]
        )
    world.run(1.0)
    return any(world.contact(VICTIM).address.encode() in data for data in heard)


def a_replay(world: Overlays, mallory: Mallory) -> bool:
    """He sends again what a member has asked of another, from his own address."""
    seen: list[bytes] = []
    carry = world.datagrams.send

    def overheard(source: Endpoint, target: Endpoint, data: bytes) -> None:
        if source[0] == ip_of(MEMBER_HOST) and target[0] == ip_of(VICTIM):
            seen.append(data)
        carry(source, target, data)

    world.datagrams.send = overheard  # type: ignore[method-assign]  # to listen
    world.run(30.0)
    world.datagrams.send = carry  # type: ignore[method-assign]  # as it was
    assert seen
    for datagram in seen:
        mallory._send(datagram, next(a for a in world.datagrams.endpoints if a[0] == ip_of(VICTIM)))
    world.run(1.0)
    return bool(mallory.heard)


Attack = Callable[[Overlays, Mallory], bool]
ATTACKS: list[Attack] = [near_a_key, a_forged_contact, a_poisoned_answer, a_question, a_replay]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.__name__)
def test_in_open_an_attack_succeeds(attack: Attack) -> None:
    world = town("open")
    assert attack(world, Mallory(world, "a stranger"))


@pytest.mark.parametrize("who", WHO)
def test_in_signed_none_does(who: str) -> None:
    world = town("signed")
    for attack in ATTACKS:
        mallory = Mallory(world, who)
        assert not attack(world, mallory), attack.__name__
        if who == "a stranger":
            assert not mallory.heard, attack.__name__
        mallory.host.crash()
    found = world.find(VICTIM, SOCCER, 8)
    assert set(found.contacts) == {world.contact(number) for number in (2, 3, 4)}


def test_who_is_revoked_or_expires_leaves_the_tables() -> None:
    world = SignedOverlays()
    world.own[2] = EVE, grant(ROOT, EVE, ".soccer", Rights.JOIN, 0, FAR, serial=77)
    world.populate([SOCCER] * 4, settle=5.0)
    gone = {at for at in world.datagrams.endpoints if at[0] == ip_of(2)}
    assert gone & set(neighbours(world, VICTIM))
    news = revocations(77, since=0, until=FAR)
    for signatures in world.signing.values():
        signatures.take_revocations(news, world.clock())
    world.run(1.5 * PROBE_SECONDS)
    for number in (0, 1, 3, 4):
        assert not gone & set(neighbours(world, number))
    assert world.contact(2) not in world.find(VICTIM, SOCCER, 8).contacts


def test_who_starts_again_elsewhere_is_found_there() -> None:
    world = SignedOverlays()
    world.populate([SOCCER] * 4, settle=3.0)
    world.crash(2)
    world.own[9] = world.own.get(2) or (SecretKey((1_002).to_bytes(32)), b"")
    world.enter(9, [SOCCER])
    world.run(2.0)
    assert world.contact(9) in world.find(VICTIM, SOCCER, 8).contacts


@pytest.mark.parametrize("count", [5_000, pytest.param(200_000, marks=pytest.mark.slow)])
def test_no_mutation_of_a_boxed_datagram_is_opened_or_kept(count: int) -> None:
    """Nor is anything raised that a certified member says in place of the protocol."""
    world, rng = SignedOverlays(), Random(count)
    said: list[bytes] = []
    carry = world.datagrams.send

    def overheard(source: Endpoint, target: Endpoint, data: bytes) -> None:
        if target[0] == ip_of(VICTIM) and len(said) < 200:
            said.append(data)
        carry(source, target, data)

    world.datagrams.send = overheard  # type: ignore[method-assign]  # to listen
    world.populate([SOCCER] * 3, settle=5.0)
    boxes, protocol = world.links[VICTIM].boxes, world.overlays[VICTIM]
    for _ in range(count):
        datagram = mutated(rng, rng.choice(said))
        with pytest.raises(DatagramError):
            boxes.open(datagram if datagram not in said else b"", world.clock())
    insider, plain = (
        world.public(2).raw,
        [
            b"\0" + bytes(20) + pack([name, [SOCCER.name.encode(), *more]])
            for name, more in (
                ("ping", []),
                ("bye", []),
                ("contact", [SOCCER.group, b""]),
                ("find_node", [bytes(20), PADDING]),
            )
        ],
    )
    for number in range(count):
        port = protocol.addresses[-1][1]
        protocol.receive(
            port, (ip_of(2), PORT), mutated(rng, rng.choice(plain)), world.now, insider
        )
        if number % 500 == 0:
            world.run(0.1)
    assert len(world.find(VICTIM, SOCCER, 8).contacts) == 2


def test_who_is_remembered_is_asked_by_its_key_and_by_no_other(tmp_path: Path) -> None:
    """The first node is gone, and Mallory listens where a member did."""
    path = tmp_path / "contacts"
    world = SignedOverlays()
    world.populate([SOCCER] * 4)
    world.enter(9, [SOCCER], remembered=Remembered(path, usable))
    world.close(9)
    assert recall(path)[BOOTSTRAP] == world.public(0).raw.hex()
    at_one = [port for ip, port in recall(path) if ip == ip_of(1)]
    for gone in (0, 1, 2, 3):
        world.crash(gone)
    mallory = Mallory(world, "a member of .chess", number=1)
    for port in at_one:
        mallory.host.open(ip_of(1), port)
    world.enter(9, [SOCCER], remembered=Remembered(path, usable))
    assert [one.peer for one in world.find(9, SOCCER).contacts] == [world.contact(4).peer]
    assert mallory.heard
    assert mallory.boxes is not None
    for datagram in mallory.heard:
        with pytest.raises(DatagramError):
            mallory.boxes.open(datagram, world.clock())
