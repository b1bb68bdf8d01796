"""What a trace says of control traffic: every byte that crosses the network, datagrams too."""

from __future__ import annotations

import pytest
from attrs import evolve

from camcast.observe.trace import ListSink
from camcast.testing.world import World
from camcast.vocabulary.topics import ROOT


@pytest.mark.parametrize(
    ("membership", "system"), [("scamp", ""), ("hybrid", ""), ("dht", ""), ("dht", "staging")]
)
def test_the_trace_has_every_byte_of_control_traffic(membership: str, system: str) -> None:
    """The name of a system, which is in each datagram, included."""
    sink = ListSink()
    world = World(sink=sink)
    world.settings = evolve(world.settings, system=system)
    first = world.add(backend=membership)
    for _ in range(4):
        node = world.add((first.me.address,), backend=membership)
        world.do(node, lambda node, now: node.join(ROOT, now))
    world.run(12.0)
    for node in world.nodes:
        node.recorder.record_control(world.now)
    traced = sum(record.size for record in sink.records if record.kind == "control")
    datagrams = world.virtual.datagrams.sent_bytes
    assert traced == world.virtual.bytes + datagrams
    assert (datagrams > 4_000) is (membership != "scamp")
