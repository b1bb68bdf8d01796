"""Tables and those who keep them: the table's own operations, and a community that joins.

The table holds 15 contacts, the mean of SCAMP at c = 2 and N = 150. The joins are real nodes on
virtual time, with first contacts for nothing: what is measured is the membership.
"""

from __future__ import annotations

import statistics
import time
from random import Random

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.testing.world import World
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

VIEW = 15
FAN_OUT = 7  # ceil(ln 150 + 2)
NODES = 100  # chosen: some seconds for the slowest backend
SEED = 1
TOPIC = Topic.parse(".bench")
JOIN_GAP_SECONDS = 0.1  # chosen: ten times a message's way
SETTLE_SECONDS = 30.0  # chosen: thirty heartbeats
ROUNDS = 3  # chosen: the median of three stands against a noisy neighbour

in_tables = pytest.mark.benchmark(group="table")
in_memberships = pytest.mark.benchmark(group="membership", timer=time.process_time)


@pytest.fixture
def dice() -> Random:
    return stream(SEED, "workload", "tables")


@pytest.fixture
def table(dice: Random) -> PeerTable:
    table = PeerTable()
    for number in range(VIEW):
        table.add(Contact(new_peer_id(dice.randbytes), f"tcp://127.0.0.1:{7001 + number}"))
    return table


def joined(membership: str) -> World:
    """Return a community whose members have joined one after the other."""
    world = World(SEED, membership=membership, topics=[TOPIC])
    for _ in range(NODES):
        world.join(TOPIC, gap=JOIN_GAP_SECONDS)
    return world


def view_mean(world: World) -> float:
    return statistics.mean(
        len(local_group.membership.peers())
        for node in world.nodes
        for local_group in node.local_groups
    )


def _note(benchmark: BenchmarkFixture) -> None:
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    nanoseconds = benchmark.stats.stats.median * 1e9
    benchmark.extra_info.update(nanoseconds=nanoseconds, view=VIEW, seed=SEED)


@in_tables
def test_sample(benchmark: BenchmarkFixture, table: PeerTable, dice: Random) -> None:
    sample = benchmark(table.sample, FAN_OUT, dice)
    assert len({contact.peer for contact in sample}) == FAN_OUT
    _note(benchmark)


@in_tables
def test_fan_out_with_a_pinned_peer(
    benchmark: BenchmarkFixture, table: PeerTable, dice: Random
) -> None:
    pinned = next(iter(table))
    table.pin(pinned.peer, pinned=True)
    chosen = benchmark(table.fan_out, FAN_OUT, dice)
    assert len(chosen) == FAN_OUT
    assert pinned in chosen
    _note(benchmark)


@in_tables
def test_add_and_discard(benchmark: BenchmarkFixture, table: PeerTable, dice: Random) -> None:
    newcomer = Contact(new_peer_id(dice.randbytes), "tcp://127.0.0.1:7000")

    def come_and_go() -> None:
        table.add(newcomer)
        table.discard(newcomer.peer)

    benchmark(come_and_go)
    assert len(table) == VIEW
    _note(benchmark)


@in_memberships
def test_a_hundred_join(benchmark: BenchmarkFixture, membership: str) -> None:
    """With everything that the members before do meanwhile, as heartbeats."""
    worlds: list[World] = []
    benchmark.pedantic(lambda: worlds.append(joined(membership)), rounds=ROUNDS)
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    seconds, world = benchmark.stats.stats.median, worlds[-1]
    benchmark.extra_info.update(
        membership=membership,
        seed=SEED,
        nodes=NODES,
        virtual_seconds=NODES * JOIN_GAP_SECONDS,
        messages=world.virtual.messages,
        bytes=world.virtual.bytes,
        milliseconds_per_join=seconds / NODES * 1e3,
        microseconds_per_message=seconds / world.virtual.messages * 1e6,
        view_mean=view_mean(world),
    )
    assert len({(each.virtual.messages, each.virtual.checksum) for each in worlds}) == 1


@in_memberships
def test_a_minute_of_upkeep(benchmark: BenchmarkFixture, membership: str) -> None:
    """Heartbeats, leases and refreshes of a settled community, while nothing happens."""
    world = joined(membership)
    world.run(SETTLE_SECONDS)
    messages, sent_bytes = world.virtual.messages, world.virtual.bytes
    benchmark.pedantic(lambda: world.run(60.0), rounds=1)
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    messages, sent_bytes = world.virtual.messages - messages, world.virtual.bytes - sent_bytes
    benchmark.extra_info.update(
        membership=membership,
        seed=SEED,
        nodes=NODES,
        virtual_seconds=60.0,
        messages=messages,
        bytes=sent_bytes,
        control_bytes_per_node_and_second=sent_bytes / NODES / 60,
        cpu_share_per_node=benchmark.stats.stats.min / NODES / 60,
        view_mean=view_mean(world),
    )
