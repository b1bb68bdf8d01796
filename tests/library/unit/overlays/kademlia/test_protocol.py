"""The DHT and strangers: forged, malformed and lying datagrams are counted, and change nothing."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from camcast.doors.datagrams import Endpoint
from camcast.testing.lone_process import contact
from camcast.virtual.datagram_network import HostPort, ip_of
from camcast.vocabulary.topics import Topic
from overlays.kademlia.naming import DrawnNames
from overlays.kademlia.overlay import KademliaOverlay
from overlays.kademlia.protocol import PADDING, Protocol
from overlays.kademlia.table import Limits, usable
from tests.library.unit.overlays.kademlia.kademlia_world import (
    BOOTSTRAP,
    PORT,
    Overlays,
    remembered,
)

A, B = map(Topic.parse, (".a", ".b"))
ATTACKER = 100
pack = msgspec.msgpack.encode


@pytest.fixture
def world() -> Overlays:
    return Overlays()


class Attacker:
    """A host that says what it is told to."""

    def __init__(
        self,
        world: Overlays,
        answer: Callable[[str, list[Any]], Any] | None = None,
        number: int = ATTACKER,
        port: int = PORT,
    ) -> None:
        self.answer = answer
        self.heard: list[bytes] = []
        self.host = HostPort(world.datagrams, number, self.receive)
        self.port = self.host.open(ip_of(number), port)[1]

    def receive(self, _port: int, source: Endpoint, data: bytes) -> None:
        self.heard.append(data)
        if data[0] == 0 and self.answer is not None:
            method, arguments = msgspec.msgpack.decode(data[21:])
            answer = self.answer(method, arguments)
            if answer is not None:
                raw = answer if isinstance(answer, bytes) else pack(answer)
                self.say(b"\x01" + data[1:21] + raw, source)

    def say(self, datagram: bytes, target: Endpoint) -> None:
        self.host.send(self.port, target, datagram)

    def ask(self, target: Endpoint, method: str, *arguments: Any) -> None:
        number = len(self.heard).to_bytes(20)
        self.say(b"\x00" + number + pack([method, arguments]), target)


def protocol_of(overlay: KademliaOverlay) -> Protocol:
    return next(iter(overlay._identities.values())).protocol


def neighbours(overlay: KademliaOverlay) -> list[tuple[str, int]]:
    return [node.address for nodes in overlay.neighbours.values() for node in nodes]


# -- malformed datagrams -----------------------------------------------------------------------


def deep(levels: int) -> bytes:
    return b"\x91" * levels + b"\xc0"


def body_of(rng: Random) -> bytes:
    """Return the body of a datagram that is nearly right, or not at all."""
    names = ["ping", "find_node", "contact", "bye", "store", "find_value", "stun", "__class__", 7]
    values: list[Any] = [
        *(rng.randbytes(n) for n in (0, 8, 19, 20, 20, 20, 21, 300)),
        *("", "x" * 20, None, True, -1, 2**63, 1.5, [], {}, [[]], {"a": 1}),
    ]
    kind = rng.randrange(6)
    if kind == 0:
        return rng.randbytes(rng.randrange(1, 1500))
    if kind == 1:
        return deep(rng.choice([10, 500, 1100, 5000]))
    name = pack(rng.choice(names))
    if kind == 2:
        return b"\x92" + name + deep(rng.choice([5, 900, 1100]))
    arguments = [rng.choice(values) for _ in range(rng.randrange(5))]
    whole = b"\x92" + name + pack(arguments)
    if kind == 3:
        return whole[: rng.randrange(1, len(whole) + 1)]
    if kind == 4:
        spot = rng.randrange(len(whole))
        return whole[:spot] + rng.randbytes(1) + whole[spot + 1 :]
    return whole


def test_thousands_of_malformed_datagrams_are_counted_and_change_nothing(world: Overlays) -> None:
    world.populate([A] * 5)
    overlay = world.overlays[1]
    before = neighbours(overlay)
    attacker = Attacker(world)
    rng = Random(1)
    target = overlay.addresses[0]
    sent = 6000
    counters = overlay.counters
    counted = counters.malformed + counters.refused + counters.stray
    for _ in range(sent):
        head = rng.choice([b"\x00", b"\x00", b"\x01", b"\x02", b""])
        said = head + rng.randbytes(20) + body_of(rng)
        attacker.say(said[: rng.randrange(22)] if rng.random() < 0.05 else said, target)
        world.run(0.001)
    world.run(3)
    counted = counters.malformed + counters.refused + counters.stray - counted
    answered = sum(data[0] == 1 for data in attacker.heard)
    # Byes are not answered; a few are well-formed, as are a few pings.
    assert counted + answered >= 0.95 * sent
    assert answered < 0.05 * sent
    assert sorted(neighbours(overlay)) == sorted(before)
    world.run(60)
    assert len(world.find(1, A).contacts) == 4


ID = bytes(range(20))
BAD_ANSWERS: dict[str, Any] = {
    "nil": pack(None),
    "empty": b"",
    "deep": deep(1100),
    "a bare id, as stock nodes": pack(ID),
    "21 bytes": pack([ID + b"x", []]),
    "text for an id": pack(["x" * 20, []]),
    "a map": pack({"value": 1}),
    "a node of two": pack([ID, [[ID, "10.0.0.1"]]]),
    "21 nodes": pack([ID, [[ID, "10.0.0.1", 1]] * 21]),
    "a text port": pack([ID, [[ID, "10.0.0.1", "1"]]]),
    "a bool port": pack([ID, [[ID, "10.0.0.1", True]]]),
    "port 65536": pack([ID, [[ID, "10.0.0.1", 65_536]]]),
    "port 0": pack([ID, [[ID, "10.0.0.1", 0]]]),
    "port -1": pack([ID, [[ID, "10.0.0.1", -1]]]),
    "a great port": pack([ID, [[ID, "10.0.0.1", 2**63]]]),
    "a name": pack([ID, [[ID, "example.org", 1]]]),
    "a short form": pack([ID, [[ID, "127.1", 1]]]),
    "IPv6": pack([ID, [[ID, "::1", 1]]]),
    "multicast": pack([ID, [[ID, "224.0.0.1", 1]]]),
    "broadcast": pack([ID, [[ID, "255.255.255.255", 1]]]),
    "loopback": pack([ID, [[ID, "127.0.0.1", 1]]]),
    "nowhere": pack([ID, [[ID, "0.0.0.0", 1]]]),
    "null in the host": pack([ID, [[ID, "10.0.0.1\0", 1]]]),
}


@pytest.mark.parametrize("bad", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_bad_answer_does_not_end_a_look_up(world: Overlays, bad: bytes) -> None:
    # It is the bootstrap node, and so everybody's first choice.
    Attacker(world, lambda method, _: [ID] if method == "ping" else bad, number=0)
    world.enter(1, [A])
    world.enter(2, [A], remembered=remembered(*world.overlays[1].addresses))
    world.run(5)
    overlay = world.overlays[2]
    assert world.find(2, A).contacts == (contact(1),)
    assert overlay.counters.malformed + overlay.counters.refused > 0
    # The simulated host raises if it is to send to what is no address.


# -- lies --------------------------------------------------------------------------------------


def test_invented_identifiers_do_not_get_in(world: Overlays) -> None:
    world.populate([A] * 5)
    overlay = world.overlays[0]
    before = neighbours(overlay)

    def invent(attacker: Attacker, count: int) -> None:
        rng = Random(2)
        for _ in range(count):
            attacker.ask(BOOTSTRAP, "ping", rng.randbytes(20))
            world.run(0.05)

    invent(Attacker(world), 400)
    world.run(5)
    assert sorted(neighbours(overlay)) == sorted(before)
    # One that answers, as whom it said last, and as anybody, has one place at most.
    rng = Random(3)
    invent(Attacker(world, lambda *_: [rng.randbytes(20)], port=PORT + 1), 400)
    world.run(5)
    assert set(neighbours(overlay)) <= {*before, (ip_of(ATTACKER), PORT + 1)}
    assert len(neighbours(overlay)) <= len(before) + 1
    assert len(world.find(0, A).contacts) == 5


def test_a_foreign_subnet_has_a_bounded_number_of_places(world: Overlays) -> None:
    limits = Limits(subnet_max=16, exempt=())
    world.enter(0, bootstrap=(), port=PORT, limits=limits)
    world.populate([A] * 40, settle=60)
    assert len(neighbours(world.overlays[0])) == 16  # hosts 0 to 255 are one /24
    assert world.overlays[0].counters.refused > 0
    assert len(world.find(7, A).contacts) == 5


def test_a_foreign_site_of_ipv6_has_a_bounded_number_of_places() -> None:
    """Hosts 0 to 40 are one /48."""
    world = Overlays(version=6)
    world.enter(0, bootstrap=(), port=PORT, limits=Limits(subnet_max=16, exempt=()))
    world.populate([A] * 40, settle=60)
    assert len(neighbours(world.overlays[0])) == 16


@pytest.mark.parametrize(
    "near", [pytest.param(False, id="far", marks=pytest.mark.slow), pytest.param(True, id="near")]
)
def test_lies_about_nodes_do_not_hide_the_members(world: Overlays, near: bool) -> None:
    world.populate([A] * 30, settle=70)
    rng = Random(4)
    liar_id = A.group + rng.randbytes(12)

    def lie(method: str, arguments: list[Any]) -> Any:
        if method == "find_node":
            key = arguments[1]
            prefix = key[:10] if near else A.group
            fakes = [prefix + rng.randbytes(20 - len(prefix)) for _ in range(20)]
            return [liar_id, [[f, ip_of(rng.randrange(1, 200)), PORT] for f in fakes]]
        if method == "contact":
            return [liar_id, contact(66), B.name]  # of another topic
        return [liar_id]

    liar = Attacker(world, lie)
    for overlay in world.overlays.values():
        liar.ask(overlay.addresses[0], "ping", liar_id)
    world.run(2)
    founds = world.find_all(range(1, 31), A, wanted=5)
    assert all(len(found.contacts) == 5 for found in founds)
    members = {contact(n) for n in range(1, 31)}
    assert all(set(found.contacts) <= members for found in founds)
    assert all(20 <= (found.size or 0) <= 45 for found in founds)
    fakes = [a for o in world.overlays.values() for a in neighbours(o) if a[1] == PORT]
    assert {ip for ip, _ in fakes} <= {ip_of(0), ip_of(ATTACKER)}


def test_an_answer_counts_only_from_the_address_that_was_asked(world: Overlays) -> None:
    world.bootstrap()
    world.enter(1)
    overlay = world.overlays[1]
    thief = Attacker(world)
    answers: list[Any] = []
    call = protocol_of(overlay).request(
        (ip_of(50), PORT), "ping", done=lambda answer, _: answers.append(answer), now=world.now
    )
    for number in (call.number + b"\0", bytes(20)):
        thief.say(b"\x01" + number + pack([ID]), overlay.addresses[0])
    world.run(60)
    assert answers == [None]
    assert overlay.counters.stray == 2
    assert (ip_of(ATTACKER), PORT) not in neighbours(overlay)


def test_a_false_farewell_does_no_harm(world: Overlays) -> None:
    world.populate([A] * 3)
    overlay = world.overlays[1]
    before = neighbours(overlay)
    attacker = Attacker(world)
    victim = next(nodes[0] for nodes in overlay.neighbours.values())
    attacker.ask(overlay.addresses[0], "bye", victim.id)  # from another address: ignored
    forged = b"\x00" + bytes(20) + pack(["bye", [victim.id]])
    protocol_of(overlay).receive(victim.address, forged, world.now)  # with a forged one: asked
    assert not protocol_of(overlay).router.is_good(victim.id)
    world.run(10)
    assert sorted(neighbours(overlay)) == sorted(before)
    assert protocol_of(overlay).router.is_good(victim.id)


def test_values_are_neither_stored_nor_found(world: Overlays) -> None:
    world.bootstrap()
    attacker = Attacker(world)
    attacker.ask(BOOTSTRAP, "store", ID, ID, b"value")
    attacker.ask(BOOTSTRAP, "find_value", ID, ID)
    attacker.ask(BOOTSTRAP, "stun")
    world.run(1)
    assert attacker.heard == []
    assert world.overlays[0].counters.refused == 3


def test_a_stranger_gets_little_for_its_bytes(world: Overlays) -> None:
    world.populate([A] * 40, settle=60)
    victim = Attacker(world)
    sizes: dict[bytes, int] = {}
    rng = Random(5)
    for turn in range(300):
        arguments: list[Any] = [rng.randbytes(20), A.group + rng.randbytes(12), b""]
        method = "find_node"
        if turn % 3 == 0:
            method, arguments = "contact", [rng.randbytes(20), A.group, b""]
        if turn % 3 == 1:
            arguments[2] = PADDING
        datagram = b"\x00" + rng.randbytes(20) + pack([method, arguments])
        sizes[datagram[1:21]] = len(datagram)
        victim.say(datagram, world.overlays[1 + turn % 5].addresses[0])
        world.run(0.05)
    world.run(5)
    answers = [data for data in victim.heard if data[0] == 1]
    assert len(answers) == 300
    assert all(len(data) <= 3 * sizes[data[1:21]] for data in answers)
    # And the pings of those who wonder who that is.
    assert sum(map(len, victim.heard)) - sum(map(len, answers)) < 0.2 * sum(sizes.values())
    assert max(map(len, victim.heard)) <= DrawnNames.datagram_bytes_max


def test_an_honest_stranger_gets_all_the_nearest_at_once(world: Overlays) -> None:
    world.populate([A] * 40, settle=60)
    stranger = Attacker(world)
    stranger.ask(world.overlays[1].addresses[0], "find_node", ID, ID, PADDING)
    world.run(1)
    answer = next(data for data in stranger.heard if data[0] == 1)
    assert len(msgspec.msgpack.decode(answer[21:])[1]) == 20


@pytest.mark.parametrize("address", [("10.0.0.1", 70_000), ("example.org", 1), ("::1", 1)])
def test_what_is_no_address_is_not_sent_to(world: Overlays, address: tuple[str, int]) -> None:
    world.bootstrap()
    answers: list[Any] = []
    sent = world.datagrams.sent
    protocol_of(world.overlays[0]).request(
        address, "ping", done=lambda answer, _: answers.append(answer), now=world.now
    )
    world.run(3)
    assert answers == [None]
    assert world.datagrams.sent == sent


def test_who_may_be_sent_to() -> None:
    assert usable(("10.0.0.1", 1))
    assert usable(("127.0.0.1", 65_535))
    assert usable(("127.0.0.1", 1), "127.0.0.5")
    assert not usable(("127.0.0.1", 1), "10.0.0.1")
    assert not usable(("127.0.0.1", 1), "nonsense")
    for address in (("10.0.0.1", 0), ("10.0.0.1", 65_536), ("localhost", 1), ("", 1)):
        assert not usable(address)
    for ip in ("::1", "fd00::1", "2001:db8::1", "64:ff9b::c000:201"):
        assert usable((ip, 1))
    assert usable(("::1", 1), "127.0.0.5")
    assert not usable(("::1", 1), "2001:db8::1")
    # unspecified, multicast, of one link, IPv4 in disguise, discarded, with a zone, in brackets
    for ip in ("::", "ff02::1", "fe80::1", "::ffff:10.0.0.1", "100::1", "fe80::1%1", "[::1]"):
        assert not usable((ip, 1))


def test_what_is_remembered_of_nodes_that_are_gone_is_forgotten_in_time(world: Overlays) -> None:
    """Where nodes come and go, memory is that of those of the last minutes."""
    world.populate([A] * 2)
    protocol = protocol_of(world.overlays[1])
    gone = ip_of(ATTACKER)
    for port in range(1, 101):
        protocol._prove((gone, port), world.now)  # as if it had answered, before it went
        protocol.request((gone, port), "ping", done=lambda *_: None, now=world.now)
        world.run(10.0)
    assert len(protocol._late) < 10  # in the last minute
    assert len(protocol._proven) < 70  # in the last ten
