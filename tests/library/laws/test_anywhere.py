"""Cases of running anywhere, in the virtual network: names that move, releases that differ, IPv6.

What `test_undialable` has for firewalls. In each case every member gets every event once, and
nobody else any.
"""

from __future__ import annotations

from functools import partial

import pytest
from attrs import evolve
from typing_extensions import override

from camcast.engine.node import Node
from camcast.testing.pressed_membership_contract import membership_of
from camcast.testing.world import World
from camcast.virtual.network import VirtualNetwork
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, control_head, encode_control

TOPIC = Topic.parse(".c")
NAME = "tcp://gateway.test:7000"
MEMBERSHIPS = ("scamp", "hybrid", "dht", "cyclon", "hyparview")
MOVING = ("scamp", "hybrid", "dht")
SETTLED = 10.0
# seconds; names are looked up once a minute, and members announce themselves at the new address
FOUND = 75.0
# seconds; a process is asked at the address that it had, and tables and look-ups come round
MOVED = 30.0


class Later(Message, tag=200, frozen=True):
    """A message of a later release."""


class Fleet(World):
    """Members of one community that know their gateways by a name."""

    def __init__(self, backend: str, version: int = 4) -> None:
        super().__init__(virtual=VirtualNetwork(1, version=version), repair=True)
        self.backend = backend
        self.gateways = [self.add(backend=backend)]
        self.members: list[Node] = []
        self.point_to(self.gateways)

    def point_to(self, gateways: list[Node]) -> None:
        self.gateways = gateways
        self.virtual.names[NAME] = tuple(node.me.address for node in gateways)

    def enter(self, topic: Topic = TOPIC, *, dialable: bool = True) -> Node:
        node = self.add((NAME,), backend=self.backend, dialable=dialable)
        self._joined[topic] = None
        self.do(node, lambda one, now: one.join(topic, now))
        self.run(1.0)
        return node

    @override
    def kill(self, node: Node) -> None:
        super().kill(node)
        if node in self.members:
            self.members.remove(node)

    def assert_all_hear_all_once(self) -> None:
        self.delivered.clear()
        for node in self.members:
            self.do(node, lambda one, now: one.publish(TOPIC, one.me.peer, now))
        self.run(5.0)
        everything = {(TOPIC, node.me.peer): 1 for node in self.members}
        for node in self.members:
            assert self.delivered_to(node) == everything
        assert self.parasites == 0


@pytest.mark.parametrize("backend", MEMBERSHIPS)
def test_where_all_is_ipv6_everybody_hears_everybody_behind_firewalls_too(backend: str) -> None:
    world = Fleet(backend, version=6)
    world.members = [world.enter(dialable=dialable) for dialable in (True, True, False, False)]
    world.run(SETTLED)
    world.assert_all_hear_all_once()


@pytest.mark.parametrize("backend", MOVING)
def test_a_gateway_moves_under_its_name_and_a_newcomer_finds_the_members(backend: str) -> None:
    world = Fleet(backend)
    world.members = [world.enter() for _ in range(3)]
    world.run(SETTLED)
    world.kill(world.gateways[0])
    world.point_to([world.add(backend=backend)])
    world.run(FOUND)
    world.members.append(world.enter())
    world.run(SETTLED)
    world.assert_all_hear_all_once()


@pytest.mark.parametrize("backend", MOVING)
def test_both_gateways_and_then_each_member_come_back_elsewhere(backend: str) -> None:
    world = Fleet(backend)
    world.point_to([*world.gateways, world.add(backend=backend)])
    world.members = [world.enter() for _ in range(3)]
    world.run(SETTLED)
    for gateway in world.gateways:
        world.kill(gateway)
    world.point_to([world.add(backend=backend) for _ in range(2)])
    world.run(FOUND)
    for member in list(world.members):
        world.kill(member)
        world.members.append(world.enter())
        world.run(2 * SETTLED)
        world.assert_all_hear_all_once()


@pytest.mark.parametrize("backend", MEMBERSHIPS)
def test_a_process_whose_address_changes_while_it_runs_goes_on_as_itself(backend: str) -> None:
    """No event of the time in between is lost, and soon the others have its new address alone."""
    world = Fleet(backend)
    world.members = [world.enter() for _ in range(6)]
    world.run(SETTLED)
    world.delivered.clear()
    moving, before = world.members[2], world.members[2].me
    world.move(moving)
    assert moving.me.peer == before.peer
    published = dict[tuple[Topic, bytes], int]()
    for second in range(int(MOVED)):
        for number, node in enumerate(world.members):
            payload = b"%d %d" % (number, second)
            world.publish(node, TOPIC, payload, 0.0)
            published[TOPIC, payload] = 1
        world.run(1.0)
    world.run(SETTLED)
    for node in world.members:
        assert world.delivered_to(node) == published
        addresses = [one.address for one in membership_of(node).peers() if one.peer == before.peer]
        assert addresses in ([], [moving.me.address])
    holders = [node for node in world.members if before.peer in membership_of(node).peers()]
    assert holders
    newcomer = world.enter()
    world.run(SETTLED)
    world.members.append(newcomer)
    world.assert_all_hear_all_once()


@pytest.mark.parametrize("backend", ["scamp", "dht"])
def test_who_carries_for_undialable_processes_goes_on_from_its_new_address(backend: str) -> None:
    world = Fleet(backend)
    world.members = [world.enter(dialable=dialable) for dialable in (True, False, False)]
    world.run(SETTLED)
    world.move(world.members[0])
    world.run(MOVED)
    world.assert_all_hear_all_once()


def test_half_of_a_fleet_says_each_second_what_the_others_do_not_know() -> None:
    """An unknown kind and an unknown tag before a frame's other records cost these nothing."""
    world = Fleet("scamp")
    world.members = [world.enter() for _ in range(6)]
    world.run(SETTLED)
    newer, older = world.members[:3], world.members[3:]
    unknown = [max(Kind) + 1, Kind.MEMBERSHIP, Kind.LIVENESS, Kind.REPAIR]
    for second in range(60):
        for one in newer:
            for other in older:
                head = control_head(Kind.LINKS, TOPIC.group, one.me.peer, one.me.address)
                record = bytearray(encode_control(head, encode(Later())))
                record[4] = unknown[second % len(unknown)]
                world.do(other, partial(received, FRAME_HEADER + record))
        world.run(1.0)
    assert all(node.counters.records_unknown == 180 for node in older)
    world.assert_all_hear_all_once()


def received(frame: bytes, node: Node, now: float) -> None:
    node.receive(bytes(frame), now)


@pytest.mark.parametrize("backend", MOVING)
def test_of_two_systems_at_one_gateway_address_neither_gets_the_others_events(backend: str) -> None:
    world = Fleet(backend)
    world.members = [world.enter() for _ in range(2)]
    world.run(SETTLED)
    old = world.gateways[0]
    world.kill(old)
    settings, _ = world._made_of[old]
    at_same_address = world._processes[old].number
    world.start(evolve(settings, system="other"), at_same_address)
    world.settings = evolve(world.settings, system="other")
    others = [world.enter() for _ in range(2)]
    world.run(FOUND)
    for node in (*world.members, *others):
        world.do(node, lambda one, now: one.publish(TOPIC, one.me.peer, now))
    world.run(5.0)
    for system in (world.members, others):
        for node in system:
            assert world.delivered_to(node) == {(TOPIC, one.me.peer): 1 for one in system}
    assert all("other" in " ".join(node.misfits.lately(world.now)) for node in world.members)
