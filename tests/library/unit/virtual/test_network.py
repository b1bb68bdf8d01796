"""The virtual network: real nodes, whose frames cross the weather; lives, deaths and returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.datagram_network import HOSTS_MAX
from camcast.virtual.network import Process, VirtualNetwork, address_of
from camcast.virtual.weather import Cut
from camcast.vocabulary import wire
from camcast.vocabulary.batches import decode_body
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.topics import Topic
from tests.transcript import DECODERS

TOPIC = Topic.parse(".news")


class Bench(World):
    """A world in which it is noted when which life of a process delivered what."""

    def __init__(self, climate: Climate | None = None) -> None:
        super().__init__(virtual=VirtualNetwork(1, climate))
        self.network = self.virtual
        self.came: list[tuple[float, Process, EventId, bytes]] = []

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        for event in delivery.batch.events():
            self.came.append((self.now, process, event.id, event.payload))

    def enter(self, **again: Any) -> Process:
        process = self.network.start(self.settings, **again)
        self.network.do(process, lambda node, now: node.join(TOPIC, now))
        self.run(0.2)
        return process

    def community(self, size: int) -> list[Process]:
        processes = [self.enter() for _ in range(size)]
        self.run(5.0)
        return processes

    def say(self, process: Process, payload: bytes = b"!") -> EventId:
        def act(node: Node, now: float) -> EventId:
            return node.publish(TOPIC, payload, now).id

        return self.network.do(process, act)

    def crash(self, process: Process) -> None:
        self.census.strike(TOPIC, process.me)
        self.network.crash(process)

    def receivers(self, event: EventId) -> list[Process]:
        return [process for _, process, delivered, _ in self.came if delivered == event]


def lives(processes: list[Process]) -> list[int]:
    return sorted(process.life for process in processes)


# -- who is there ------------------------------------------------------------------------------


def test_every_process_is_a_host_of_its_own() -> None:
    addresses = [address_of(number) for number in (0, 1, 254, 255, 65_535, HOSTS_MAX - 1)]
    assert addresses[:3] == ["tcp://10.0.0.1:7000", "tcp://10.0.0.2:7000", "tcp://10.0.0.255:7000"]
    assert addresses[3:] == [
        "tcp://10.0.1.0:7000",
        "tcp://10.1.0.0:7000",
        "tcp://10.255.255.254:7000",
    ]
    bench = Bench()
    started = [bench.network.start(bench.settings) for _ in range(3)]
    assert [process.me.address for process in started] == [address_of(n) for n in range(3)]
    assert list(bench.network) == started
    assert len({process.me.peer for process in started}) == 3


def test_nobody_starts_where_somebody_lives_and_the_dead_obey_nobody() -> None:
    bench = Bench()
    process = bench.enter()
    with pytest.raises(AssertionError, match="process 0 is alive already"):
        bench.network.start(bench.settings, number=0)
    bench.crash(process)
    with pytest.raises(AssertionError, match="process 0 is dead"):
        bench.say(process)
    bench.enter(number=0)
    with pytest.raises(AssertionError, match="process 0 is dead"):
        bench.network.crash(process)  # not the one who lives there now
    assert len(bench.network.processes) == 1


# -- what crosses ------------------------------------------------------------------------------


def test_an_event_crosses_in_the_time_of_the_link() -> None:
    bench = Bench(Climate(latency=Constant(0.25)))
    one, other = bench.community(2)
    start = bench.network.now
    event = bench.say(one, b"goal")
    assert bench.receivers(event) == [one]  # its own, at once
    bench.run(0.2)
    assert bench.receivers(event) == [one]
    bench.run(0.1)
    assert bench.came[-1][1:] == (other, event, b"goal")
    assert bench.came[-1][0] == pytest.approx(start + 0.25)


def test_frames_are_those_of_the_wire() -> None:
    """What crosses is decoded here by hand, and it is what the sender said."""
    bench = Bench()
    one, other = bench.community(2)
    frames: list[tuple[str, bytes]] = []
    arrive = bench.network._arrive

    def watch(address: str, frame: bytes, lives: int, link: PeerId | None) -> None:
        frames.append((address, frame))
        arrive(address, frame, lives, link)

    bench.network._arrive = watch  # type: ignore[method-assign] # watched in its place
    event = bench.say(one, b"goal")
    bench.run(1.5)
    crossed, controls = list[tuple[str, PeerId, int]](), 0
    for address, frame in frames:
        assert address in (one.me.address, other.me.address)
        assert type(frame) is bytes
        assert frame.startswith(wire.FRAME_HEADER)
        start = len(wire.FRAME_HEADER)
        if frame[start + 4] == wire.Kind.EVENT:
            _, hops, _ = wire.read_event_head(frame, start)
            batch = decode_body(frame, start + wire.EVENT_HEAD_BYTES, len(frame))
            assert (batch.id, batch.payloads()) == (event, [b"goal"])
            crossed.append((address, wire.event_sender(frame, start), hops))
        else:
            assert wire.record_end(frame, start) == len(frame)
            record = wire.decode_control(frame, start, len(frame))
            assert record.address in (one.me.address, other.me.address)
            assert DECODERS[record.kind].decode(record.body) is not None
            controls += 1
    assert crossed == [(other.me.address, one.me.peer, 1), (one.me.address, other.me.peer, 2)]
    assert controls >= 2  # a heartbeat of each
    assert one.node.counters.malformed == other.node.counters.malformed == 0


def test_who_watches_the_sends_sees_every_copy_also_the_lost_ones() -> None:
    bench = Bench()
    processes = bench.community(4)
    sent: list[tuple[str, str, bytes]] = []
    bench.network.on_send = lambda source, target, record: sent.append((source, target, record))
    bench.network.weather.cuts.append(Cut(range(4), range(4)))
    before, sent_before = bench.network.messages, bench.network.bytes
    bench.say(processes[0])
    assert bench.network.messages - before == len(sent) == 3
    assert bench.network.bytes - sent_before == sum(len(record) for _, _, record in sent)
    assert {source for source, _, _ in sent} == {processes[0].me.address}
    assert {target for _, target, _ in sent} == {process.me.address for process in processes[1:]}
    assert all(record[4] == wire.Kind.EVENT for _, _, record in sent)
    assert bench.network.weather.lost == 3


def test_what_is_injected_arrives_at_once_or_nowhere() -> None:
    bench = Bench()
    (one,) = bench.community(1)
    bench.network.inject(one.me.address, b"?")
    assert (one.node.counters.malformed, bench.network.undeliverable) == (1, 0)
    bench.network.inject(address_of(7), b"?")
    assert bench.network.undeliverable == 1


def test_a_copy_to_an_address_that_never_was_is_undeliverable() -> None:
    bench = Bench()
    one, _ = bench.community(2)
    nobody = Contact(PeerId(b"n" * 16), "tcp://192.0.2.1:9")
    (local_group,) = one.node.local_groups
    local_group.membership.peers().add(nobody)
    bench.say(one)
    bench.run(0.1)  # until it would arrive, before the next heartbeat
    assert bench.network.undeliverable == 1
    assert bench.network.weather.lost == 0


# -- dying and returning -----------------------------------------------------------------------


def test_what_is_under_way_to_the_dead_is_lost() -> None:
    bench = Bench(Climate(latency=Constant(0.25)))
    one, other = bench.community(2)
    bench.run(0.5)
    event = bench.say(one)
    bench.run(0.1)
    bench.crash(other)
    before = bench.network.undeliverable
    bench.run(0.2)
    assert bench.receivers(event) == [one]
    assert bench.network.undeliverable > before


@pytest.mark.parametrize("identity", ["same", "new"])
def test_what_was_under_way_does_not_reach_the_next_life(identity: str) -> None:
    """It starts again within the latency, and joins again: what was sent before is lost."""
    bench = Bench(Climate(latency=Constant(0.25)))
    one, other = bench.community(2)
    event = bench.say(one)
    bench.run(0.1)
    bench.crash(other)
    peer = other.me.peer if identity == "same" else None
    again = bench.network.start(bench.settings, number=other.number, peer=peer)
    bench.network.do(again, lambda node, now: node.join(TOPIC, now))
    bench.run(10.0)
    assert bench.receivers(event) == [one]
    assert (again.node.counters.events, again.node.counters.parasites) == (0, 0)
    later = bench.say(one)
    bench.run(1.0)
    assert lives(bench.receivers(later)) == [one.life, again.life]


def test_what_is_meant_for_the_dead_does_not_reach_an_heir_of_the_address() -> None:
    """Another identity, in another community; the live twin is in `test_port_taken_over`."""
    bench = Bench()
    one, other = bench.community(2)
    bench.crash(other)
    heir = bench.network.start(bench.settings, number=other.number)
    bench.network.do(heir, lambda node, now: node.join(Topic.parse(".sports"), now))
    before = bench.network.undeliverable
    event = bench.say(one)
    bench.run(1.0)
    assert bench.receivers(event) == [one]
    assert (heir.node.counters.events, heir.node.counters.parasites) == (0, 0)
    assert bench.network.undeliverable > before


def test_what_the_dead_had_sent_arrives() -> None:
    bench = Bench(Climate(latency=Constant(0.25)))
    one, other = bench.community(2)
    event = bench.say(one)
    bench.crash(one)
    bench.run(0.3)
    assert lives(bench.receivers(event)) == [one.life, other.life]


def test_timers_of_a_former_life_do_nothing() -> None:
    """Neither for the dead nor for the next life at the address."""
    bench = Bench()
    one, other = bench.community(2)
    woken: list[Process] = []
    for process in (one, other):
        wake = process.node.wake

        def watched(
            token: Any, now: float, process: Process = process, wake: Callable[..., None] = wake
        ) -> None:
            woken.append(process)
            wake(token, now)

        process.node.wake = watched  # type: ignore[method-assign] # watched in its place
    bench.run(3.0)
    assert {process.life for process in woken} == {one.life, other.life}
    bench.crash(other)
    again = bench.enter(number=other.number, peer=other.me.peer)
    woken.clear()
    ticks = again.node.counters
    bench.run(5.0)
    assert {process.life for process in woken} == {one.life}
    assert ticks.controls > 0


@pytest.mark.parametrize("identity", ["same", "new"])
def test_who_starts_again_is_a_member_that_receives_and_is_heard_once(identity: str) -> None:
    """At its old address; epochs rise, so that its events are not taken for old ones."""
    bench = Bench()
    processes = bench.community(5)
    events = [bench.say(processes[2]) for _ in range(3)]
    bench.run(1.0)
    for _ in range(3):
        last = processes[2]
        bench.crash(last)
        bench.run(3.0)
        peer = last.me.peer if identity == "same" else None
        processes[2] = again = bench.enter(number=last.number, peer=peer)
        assert again.me.address == last.me.address
        assert (again.me.peer == last.me.peer) is (identity == "same")
        assert again.life > last.life
        bench.run(8.0)
        events.append(bench.say(again))
        events.append(bench.say(processes[0]))
        bench.run(1.0)
        for event in events[-2:]:
            assert lives(bench.receivers(event)) == lives(list(bench.network))
    assert len(set(events)) == len(events)
    if identity == "same":
        numbers = [event.number for event in events if event.publisher == processes[2].me.peer]
        assert len(set(numbers)) == 4
        assert numbers == sorted(numbers)
    pairs = [(process.life, event) for _, process, event, _ in bench.came]
    assert len(pairs) == len(set(pairs))


# -- time --------------------------------------------------------------------------------------


def test_run_until_looks_now_and_then_and_says_whether_it_holds() -> None:
    network = VirtualNetwork()
    assert network.run_until(lambda: network.now >= 0.95, 5.0)
    assert network.now == pytest.approx(1.0)
    assert not network.run_until(lambda: False, 0.25)
    assert network.now == pytest.approx(1.25)
    assert network.run_until(lambda: True, 0.0)


def test_every_input_is_a_step() -> None:
    bench = Bench()
    steps: list[int] = []
    bench.network.on_step = lambda process: steps.append(process.number)
    one = bench.enter()
    # The start and the command; nothing else has happened within 0.2 s.
    assert steps == [one.number] * 2
    bench.network.inject(one.me.address, b"?")
    assert steps == [0] * 3
    bench.run(2.0)
    assert steps == [0] * (3 + bench.network.queue.happened)  # and its timers


@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview", "dht", "hybrid"])
def test_communities_of_ipv6_alone_are_communities(membership: str) -> None:
    """Each finds the others as live processes do: by gateways, or by the DHT's datagrams."""
    world = World(virtual=VirtualNetwork(version=6))
    topic, known = Topic.parse(".a"), tuple[str, ...]()
    nodes = []
    for _ in range(12):
        nodes.append(world.add(known, backend=membership))
        known = known or (nodes[0].me.address,)
        world.do(nodes[-1], lambda node, now: node.join(topic, now))
        world.run(2.0)
    assert known == ("tcp://[fd00::1]:7000",)
    world.publish(nodes[5], topic, b"six", seconds=10.0)
    receivers = [node for node, delivery in world.delivered if delivery.event.payload == b"six"]
    assert sorted(map(nodes.index, receivers)) == [*range(12)]


def test_the_checksum_is_of_what_is_said() -> None:
    def checksum(payload: bytes) -> int:
        bench = Bench()
        one, _ = bench.community(2)
        bench.say(one, payload)
        return bench.network.checksum

    assert checksum(b"a") == checksum(b"a")
    assert checksum(b"a") != checksum(b"b")
