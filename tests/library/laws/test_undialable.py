"""Processes that nobody can dial: they hear and are heard, and members alone carry for them."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean

import pytest

from camcast.doors.plugs import find_backend
from camcast.engine.carrying import LEASE_SECONDS, RENEW_SECONDS
from camcast.engine.node import Node
from camcast.testing.pressed_membership_contract import membership_of
from camcast.testing.world import World
from camcast.virtual.network import address_of
from camcast.vocabulary.identity import PeerId, placeholder
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.example_packages import install

TOPIC = Topic.parse(".c")
GATEWAY_NAME = "tcp://gateway.test:7000"
BACKENDS = ("scamp", "hybrid", "dht", "cyclon", "hyparview")
BACK_SECONDS = (
    10.0  # docs/reliability.md: repaired events come so long after a pause or a partition
)
CRASHED_SECONDS = 10.0 + 14.0  # likewise, after a crash
SETTLED = 10.0  # seconds; heartbeats and repairs have corrected tables by then


class Firewalled(World):
    """Members of one community, some undialable, that find each other through a gateway.

    The gateway is no member. They know it by its address, or by its name if it is `named`.
    """

    def __init__(
        self,
        backend: str,
        dialable: list[bool],
        seed: int = 1,
        loss: float = 0.0,
        relay: bool = False,
        named: bool = False,
    ):
        super().__init__(seed, loss=loss, repair=True)
        self.gateway = self.add(backend=backend, relay=relay)
        self.known_as = self.gateway.me.address
        if named:
            self.virtual.names[GATEWAY_NAME] = (self.known_as,)
            self.known_as = GATEWAY_NAME
        self.members = [self.enter(backend, one) for one in dialable]
        self.run(SETTLED)

    def enter(self, backend: str, dialable: bool, topic: Topic = TOPIC) -> Node:
        node = self.add((self.known_as,), backend=backend, dialable=dialable)
        self._joined[topic] = None
        self.do(node, lambda one, now: one.join(topic, now))
        self.run(0.2)
        return node

    def all_publish(self, seconds: float = 5.0) -> None:
        for node in self.members:
            self.do(node, lambda one, now: one.publish(TOPIC, one.me.peer, now))
        self.run(seconds)

    def assert_all_hear_all_once(self) -> None:
        """And a process that is no member carries none of it."""
        everything = {(TOPIC, node.me.peer): 1 for node in self.members}
        for node in self.members:
            assert self.delivered_to(node) == everything
        assert self.gateway.counters.events == 0
        assert self.parasites == 0


@pytest.mark.parametrize(
    ("backend", "loss"), [("scamp", 0.0), ("dht", 0.0), *((one, 0.1) for one in BACKENDS)]
)
def test_half_of_the_processes_behind_firewalls(backend: str, loss: float) -> None:
    world = Firewalled(backend, [True, *[False, True] * 5, False], loss=loss)
    world.all_publish(5.0 if not loss else 15.0)
    world.assert_all_hear_all_once()
    for node in world.members:
        if not node.me.is_dialable:
            assert all(peer.is_dialable for peer in membership_of(node).peers())


@pytest.mark.parametrize("backend", BACKENDS)
def test_two_undialable_processes_hear_each_other_through_the_only_other_member(
    backend: str,
) -> None:
    world = Firewalled(backend, [True, False, False])
    world.all_publish()
    world.assert_all_hear_all_once()


def test_processes_that_nobody_can_dial_find_no_view_of_hyparview_full() -> None:
    """Five that can be dialled have 25 places by the law, and the others want 55 of them.

    A place in five stays for one that can be dialled.
    """
    world = Firewalled("hyparview", [*[True] * 5, *[False] * 11])
    for node in world.members[5:]:
        assert len(membership_of(node).peers()) == 5
    tables = [membership_of(node).peers() for node in world.members[:5]]
    assert sum(any(peer.is_dialable for peer in table) for table in tables) >= 4  # pairs, at least
    world.all_publish()
    world.assert_all_hear_all_once()


@pytest.mark.parametrize("backend", ["scamp", "dht"])
def test_the_only_one_that_can_be_dialled_sends_to_all_others(backend: str) -> None:
    """Its fan-out is 8, and nobody else can send to them; repair would take seconds."""
    world = Firewalled(backend, [True, *[False] * 16])
    world.all_publish(0.2)
    world.assert_all_hear_all_once()


@pytest.mark.parametrize("backend", ["scamp", "dht"])
def test_the_only_one_that_can_be_dialled_sends_a_busy_stream_to_all_others(backend: str) -> None:
    """It sent the first second of it to three, and the others asked for it."""
    world = Firewalled(backend, [True, *[False] * 7])
    for number in range(30):
        world.do(world.members[1], lambda one, now: one.publish(TOPIC, b"!", now))
        world.run(0.05)
        got = [sum(world.delivered_to(node).values()) for node in world.members]
        assert got == [number + 1] * 8


def test_who_crashes_among_those_that_carry_is_replaced() -> None:
    world = Firewalled("scamp", [True, True, False, False, False])
    dead = world.members.pop(0)
    world.kill(dead)
    world.run(60.0)
    world.all_publish()
    world.assert_all_hear_all_once()


@pytest.mark.parametrize(("backend", "fault"), [("scamp", "cut off"), ("dht", "stopped")])
def test_nothing_is_lost_while_one_that_carries_is_away(backend: str, fault: str) -> None:
    """The others have everything while it is, and it has, soon after it is back."""
    world = Firewalled(backend, [True, True, False, False, False])
    carrier, *others = world.members
    process = world.virtual.processes[carrier.me.address]
    if fault == "stopped":
        world.virtual.pause(process)
    else:
        world.cut(lambda *ends: carrier.me.address not in ends)
    published = dict[tuple[Topic, bytes], int]()
    for second in range(20):
        world.publish(others[second % 4], TOPIC, b"%d" % second, 1.0)
        published[TOPIC, b"%d" % second] = 1
    world.run(CRASHED_SECONDS)
    for node in others:
        assert world.delivered_to(node) == published
    if fault == "stopped":
        world.virtual.resume(process)
    else:
        world.heal()
    world.run(BACK_SECONDS)
    assert world.delivered_to(carrier) == published


def test_an_undialable_process_that_starts_again_is_another_one() -> None:
    world = Firewalled("scamp", [True, True, False])
    old = world.members.pop()
    world.kill(old)
    world.run(60.0)
    world.members.append(world.enter("scamp", dialable=False))
    world.run(SETTLED)
    world.all_publish()
    world.assert_all_hear_all_once()


def test_who_could_ask_undialable_members_alone_founds_no_second_community() -> None:
    world = Firewalled("scamp", [False])
    newcomer = world.enter("scamp", dialable=False)
    world.run(30.0)
    assert not membership_of(newcomer).joined
    world.members += [newcomer, world.enter("scamp", dialable=True)]
    world.run(60.0)
    world.all_publish()
    world.assert_all_hear_all_once()


def test_a_newcomer_has_the_only_member_called_by_the_gateway_that_named_it() -> None:
    world = Firewalled("scamp", [False])
    newcomer = world.enter("scamp", dialable=True)
    world.run(2.0)
    assert [one.peer for one in membership_of(newcomer).peers()] == [world.members[0].me.peer]


def test_a_gateway_names_those_that_the_asker_can_call_if_there_are_any() -> None:
    world = Firewalled("scamp", [True])
    for _ in range(14):  # of which five are named
        assert membership_of(world.enter("scamp", dialable=False)).joined


def test_who_can_call_none_of_those_found_asks_none_of_them_and_says_so() -> None:
    world = Firewalled("scamp", [])
    node = world.add((address_of(99),), dialable=False)
    world.do(node, lambda one, now: one.join(TOPIC, now))
    other = placeholder(PeerId(b"u" * 16))
    before = world.records
    world.do(node, lambda one, now: one.contacts_found(Finding(TOPIC, (other,)), now))
    local_group = node.local_group(TOPIC)
    assert local_group is not None
    assert local_group.unanswered is not None
    assert local_group.unanswered.unreachable == (other.address,)
    assert (membership_of(node).joined, world.records) == (False, before)


@pytest.mark.parametrize("backend", ["hybrid", "dht"])
def test_two_that_nobody_finds_in_the_dht_meet_as_soon_as_another_one_can_be_found(
    backend: str,
) -> None:
    world = Firewalled(backend, [False, False])
    for node in world.members:
        assert membership_of(node).joined
        assert membership_of(node).peers().sample(1, Random(1)) == []
    world.members.append(world.enter(backend, dialable=True))
    world.run(SETTLED)
    world.all_publish()
    world.assert_all_hear_all_once()


def carried(backend: str, above: int) -> tuple[Firewalled, list[Node]]:
    """Return three undialable members, and members of the topic above, as they have settled."""
    world = Firewalled(backend, [])
    carriers = [world.enter(backend, dialable=True, topic=ROOT) for _ in range(above)]
    world.members = [world.enter(backend, dialable=False) for _ in range(3)]
    world.run(30.0)
    return world, carriers


def carries(node: Node) -> bool:
    return TOPIC.group in {local_group.topic.group for local_group in node.local_groups}


@pytest.mark.parametrize("backend", ["scamp", "dht"])
def test_members_above_carry_for_a_community_of_which_nobody_can_be_dialled(backend: str) -> None:
    """They get its events anyway, and each once; nobody else takes part."""
    world, above = carried(backend, 2)
    sibling = world.enter(backend, dialable=True, topic=Topic.parse(".d"))
    assert [*map(carries, above)] == [True, True]
    world.all_publish()
    world.assert_all_hear_all_once()
    for node in above:
        assert world.delivered_to(node) == {(ROOT, one.me.peer): 1 for one in world.members}
        assert node.counters.relayed == 0
    assert not carries(sibling)


def test_who_carries_is_replaced_when_it_crashes_and_ends_when_nobody_asks() -> None:
    world, above = carried("scamp", 3)
    first = next(node for node in above if carries(node))
    above.remove(first)
    world.kill(first)
    world.run(60.0)
    assert all(carries(node) for node in above)
    world.all_publish()
    world.assert_all_hear_all_once()
    for node in world.members:
        world.leave(node, TOPIC)
    world.run(LEASE_SECONDS + RENEW_SECONDS)
    assert not any(carries(node) for node in above)


def test_who_carries_ends_once_a_member_can_be_dialled_or_it_leaves_the_topic_above() -> None:
    world, (carrier,) = carried("scamp", 1)
    assert carries(carrier)
    world.members.append(world.enter("scamp", dialable=True))
    world.run(LEASE_SECONDS + 2 * RENEW_SECONDS)
    assert not carries(carrier)
    world.all_publish()
    world.assert_all_hear_all_once()
    world.kill(world.members.pop())
    world.run(60.0)
    assert carries(carrier)
    world.leave(carrier, ROOT)
    assert not carries(carrier)


def test_who_carries_a_topic_that_it_joins_gets_its_events_once() -> None:
    world, (carrier,) = carried("scamp", 1)
    world.do(carrier, lambda one, now: one.join(TOPIC, now))
    world.run(SETTLED)
    world.all_publish()
    got = world.delivered_to(carrier)
    assert got == {(where, one.me.peer): 1 for where in (TOPIC, ROOT) for one in world.members}


@pytest.mark.parametrize(
    ("backend", "named"), [("scamp", True), ("dht", False), ("dht", True), ("hybrid", True)]
)
def test_a_gateway_relays_where_nobody_above_carries_and_counts_it(
    backend: str, named: bool
) -> None:
    world = Firewalled(backend, [False, False], relay=True, named=named)
    world.run(30.0)
    world.all_publish()
    counters = world.gateway.counters
    assert (counters.relayed, counters.parasites, counters.events) == (2, 0, 0)
    for node in world.members:
        assert world.delivered_to(node) == {(TOPIC, one.me.peer): 1 for one in world.members}


def test_a_gateway_relays_nothing_where_members_above_carry() -> None:
    world = Firewalled("scamp", [], relay=True)
    world.enter("scamp", dialable=True, topic=ROOT)
    world.members = [world.enter("scamp", dialable=False) for _ in range(2)]
    world.run(30.0)
    world.all_publish()
    world.assert_all_hear_all_once()
    assert world.gateway.counters.relayed == 0


def test_events_climb_from_and_to_undialable_processes() -> None:
    world = Firewalled("scamp", [True, False, False])
    above = [world.enter("scamp", dialable, ROOT) for dialable in (True, False)]
    world.run(60.0)
    world.all_publish()
    for node in above:
        assert world.delivered_to(node) == {(ROOT, one.me.peer): 1 for one in world.members}


def test_an_event_costs_no_byte_more_where_a_process_cannot_be_dialled() -> None:
    """The bytes of records with events, to each of two processes that differ in this alone."""
    assert _bytes_of_events(dialable=False) == _bytes_of_events(dialable=True)


def _bytes_of_events(*, dialable: bool) -> list[int]:
    world = Firewalled("scamp", [True, dialable])
    sizes = list[int]()
    world.virtual.on_send = lambda _source, _target, record: sizes.append(len(record))
    world.do(world.members[0], lambda one, now: one.publish(TOPIC, b"!" * 1000, now))
    world.run(0.5)
    return [size for size in sizes if size > 1000]


@pytest.mark.slow
@pytest.mark.parametrize("backend", [*BACKENDS, "full-view"])
def test_views_keep_to_the_law_with_half_of_the_processes_undialable(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, "full_view")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert_views_keep_to_the_law(backend, 60)


def test_as_many_hold_an_undialable_process_of_a_small_community_as_another_one() -> None:
    assert_views_keep_to_the_law("hyparview", 24)


def assert_views_keep_to_the_law(backend: str, size: int) -> None:
    """Where every process holds all that it can, nearly all others hold the undialable."""
    world = Firewalled(backend, [number % 2 == 0 for number in range(size)])
    world.run(20.0)
    held = dict.fromkeys((node.me.peer for node in world.members), 0)
    for node in world.members:
        for peer in membership_of(node).peers():
            held[peer.peer] += 1
    plug = find_backend(backend)
    possible = mean(size - 1 if node.me.is_dialable else size // 2 for node in world.members)
    law = min(plug.expected_view(plug.parse_options({}), size), possible)
    assert mean(held.values()) == pytest.approx(law, rel=0.2)
    dialable = mean(held[node.me.peer] for node in world.members if node.me.is_dialable)
    hidden = mean(held[node.me.peer] for node in world.members if not node.me.is_dialable)
    assert hidden >= min(0.7 * dialable, 0.95 * (size // 2))
    world.all_publish()
    world.assert_all_hear_all_once()
