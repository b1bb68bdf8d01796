"""The two forms of datagrams: IPv4 speaks the first, as every release does, and IPv6 the second."""

from __future__ import annotations

from random import Random
from typing import Any

import msgspec
import pytest

from camcast.virtual.datagram_network import HostPort, ip_of
from camcast.vocabulary.topics import Topic
from overlays.kademlia.naming import FORMS, DrawnNames, KeyNames, form_of
from overlays.kademlia.table import Neighbour
from tests.library.unit.overlays.kademlia.kademlia_world import PORT, Overlays
from tests.signed_overlay import CLOCK, SignedOverlays
from tests.signed_world import SOCCER

A = Topic.parse(".a")
SIX, FOUR, STRANGER = "fd00::77", "10.0.0.77", 100


def test_a_dht_of_ipv6_is_what_a_dht_of_ipv4_is() -> None:
    """Datagrams of either form have room for as many nodes: every step is the same."""
    outcomes = []
    for version in (4, 6):
        world = Overlays(version=version)
        world.populate([A] * 16)
        found = world.find(7, A)
        assert len(found.contacts) == 5
        tables = [
            [node.id for nodes in overlay.neighbours.values() for node in nodes]
            for overlay in world.overlays.values()
        ]
        outcomes.append((found, tables, world.datagrams.sent))
        heads = {at[0] for at in world.datagrams.endpoints}
        assert {form_of((ip, PORT)) for ip in heads} == {1 if version == 4 else 2}
    assert outcomes[0] == outcomes[1]


class Caller:
    """A host that makes calls of either form."""

    def __init__(self, world: Overlays) -> None:
        self.world = world
        self.heard: list[bytes] = []
        self.host = HostPort(
            world.datagrams, STRANGER, lambda _port, _source, data: self.heard.append(data), 6
        )
        self.port = self.host.open(ip_of(STRANGER, 6), PORT)[1]

    def nearest(self, form: int) -> tuple[int, list[Any]]:
        """Return the first byte of an answer, and the nodes that it names."""
        self.heard.clear()
        say = msgspec.msgpack.encode(["find_node", [bytes(20), A.group + bytes(12), bytes(256)]])
        first = bytes((2 * (form - 1),))
        at = self.world.overlays[0].addresses[0]
        self.host.send(self.port, at, first + bytes(20) + say)
        self.world.run(1.0)
        answer = next(data for data in self.heard if data[0] == 2 * (form - 1) + 1)
        return answer[0], msgspec.msgpack.decode(answer[21:])[1]


def test_who_calls_in_the_first_form_is_told_of_ipv4_alone_and_in_its_words() -> None:
    """An earlier release asks so, and could not read anything else."""
    world = Overlays(version=6)
    world.bootstrap()
    overlay = world.overlays[0]
    router = next(iter(overlay._identities.values())).protocol.router
    nodes = [Neighbour(A.group + bytes((n,)) * 12, (FOUR, SIX)[n % 2], PORT + n) for n in range(30)]
    for node in nodes:
        router.admit(node, world.now)
    caller = Caller(world)
    first, named = caller.nearest(1)
    assert first == 1
    assert named == [[node.id, FOUR, node.port] for node in nodes if node.ip == FOUR][: len(named)]
    assert len(named) == 15
    first, named = caller.nearest(2)
    assert first == 3
    read = [DrawnNames(Random(1)).read(one, 2) for one in named]
    assert read == [(node.id, node.ip, node.port) for node in nodes[: len(named)]]
    assert len({ip for _, ip, _ in named}) == 2


@pytest.mark.parametrize("form", FORMS)
def test_a_node_is_read_as_it_was_written(form: int) -> None:
    with_keys = KeyNames(SignedOverlays().identity(1).known, CLOCK)
    for names in (DrawnNames(Random(1)), with_keys):
        for ip in (FOUR, SIX)[:form]:
            node = Neighbour(names.own(A), ip, PORT, names.key)
            written = msgspec.msgpack.encode(names.write(node, form))
            assert len(written) <= names.named_bytes_max[form]
            key = (names.key,) if names.key else ()
            read = names.read(msgspec.msgpack.decode(written), form)
            assert read == (node.id, ip, PORT, *key)


def test_nodes_of_ipv6_with_keys_find_each_other() -> None:
    world = SignedOverlays(version=6)
    world.populate([SOCCER] * 8)
    found = world.find(3, SOCCER)
    assert len(found.contacts) == 5
    assert all(contact.address.startswith("tcp://[fd00::") for contact in found.contacts)
