"""The engine step: what one node spends on an event, without clock, socket and framing.

A round is 1,000 steps of one node in a settled community of 50; `microseconds_per_step` is what
to read. What the node wishes to send is encoded, and then dropped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, event_head

TOPIC = Topic.parse(".bench")
NODES = 50
SETTLE_SECONDS = 30.0  # chosen: thirty heartbeats
PARAMETERS = CommunitySettings(c=2, spread="infect")  # as in test_live_multicast
SEED = 1
PAYLOAD_BYTES = 256
STEPS = 1000  # chosen: some milliseconds
ROUNDS = 30  # chosen: a tenth of a second in all
PUBLISHER = PeerId(bytes(range(16)))

pytestmark = pytest.mark.benchmark(group="engine step", timer=time.process_time)


@pytest.fixture(scope="module")
def world(membership: str, protocol: str) -> World:
    world = World(
        SEED, membership=membership, protocol=protocol, parameters=PARAMETERS, topics=[TOPIC]
    )
    for _ in range(NODES):
        world.join(TOPIC)
    world.run(SETTLE_SECONDS)
    return world


@pytest.fixture
def node(world: World) -> Node:
    return world.nodes[0]


def frames(node: Node) -> Iterator[list[bytes]]:
    """Yield frames of one copy each, round after round, of events that never were before."""
    local_group = node.local_group(TOPIC)
    assert local_group is not None
    group = local_group.topic.group  # a protocol's own, which need not be named as the topic
    stream, sequence = stream_id(PUBLISHER, 1), 0
    while True:
        batch = []
        for _ in range(STEPS):
            sequence += 1
            body = make_batch(stream, sequence, [bytes(PAYLOAD_BYTES)], TOPIC).body
            batch.append(FRAME_HEADER + event_head(len(body), 3, 0.0, group, PUBLISHER) + body)
        yield batch


def measure(
    benchmark: BenchmarkFixture,
    node: Node,
    membership: str,
    protocol: str,
    act: Callable[[list[bytes]], None],
    batches: Iterator[list[bytes]],
) -> None:
    outbox = node.outbox

    def next_round() -> tuple[tuple[list[bytes]], dict[str, object]]:
        outbox.sends.clear()
        outbox.deliveries.clear()
        return (next(batches),), {}

    copies = node.counters.event_copies_sent
    benchmark.pedantic(act, setup=next_round, rounds=ROUNDS)
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    local_group = node.local_group(TOPIC)
    assert local_group is not None
    benchmark.extra_info.update(
        membership=membership,
        protocol=protocol,
        seed=SEED,
        nodes=NODES,
        payload_bytes=PAYLOAD_BYTES,
        microseconds_per_step=benchmark.stats.stats.median / STEPS * 1e6,
        copies_per_step=(node.counters.event_copies_sent - copies) / STEPS / ROUNDS,
        view=len(local_group.membership.peers()),
        parameter_c=PARAMETERS.c,
    )
    outbox.sends.clear()
    outbox.deliveries.clear()


def test_receive_a_new_event(
    benchmark: BenchmarkFixture, node: Node, world: World, membership: str, protocol: str
) -> None:
    now, counted = world.now, node.counters.events

    def receive(batch: list[bytes]) -> None:
        for frame in batch:
            node.receive(frame, now)

    measure(benchmark, node, membership, protocol, receive, frames(node))
    assert node.counters.events - counted == STEPS * ROUNDS
    assert benchmark.extra_info["copies_per_step"] > 1


def test_receive_a_duplicate(
    benchmark: BenchmarkFixture, node: Node, world: World, membership: str, protocol: str
) -> None:
    now = world.now
    known = next(frames(node))
    for frame in known:
        node.receive(frame, now)
    counted = node.counters.duplicates

    def receive(batch: list[bytes]) -> None:
        for frame in batch:
            node.receive(frame, now)

    measure(benchmark, node, membership, protocol, receive, iter([known] * ROUNDS))
    assert node.counters.duplicates - counted == STEPS * ROUNDS


def test_publish(
    benchmark: BenchmarkFixture, node: Node, world: World, membership: str, protocol: str
) -> None:
    now = world.now
    payloads = [bytes(PAYLOAD_BYTES)] * STEPS

    def publish(batch: list[bytes]) -> None:
        for payload in batch:
            node.publish(TOPIC, payload, now)

    measure(benchmark, node, membership, protocol, publish, iter([payloads] * ROUNDS))
    assert benchmark.extra_info["copies_per_step"] > 1
