"""What a trace says of control traffic: every byte that crosses the network, datagrams too."""

from __future__ import annotations

import attrs
import pytest

from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.settings import Settings
from camcast.protocols.camcast import CamcastProtocol
from camcast.simulation.network import VirtualNetwork
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.trace import ListSink


@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht"])
def test_the_trace_has_every_byte_of_control_traffic(membership: str) -> None:
    sink = ListSink()
    network = VirtualNetwork(sink=sink)
    backend = find_backend(membership)
    settings = Settings(
        backend=backend,
        discovery=find_discovery(backend.discovery),
        options=backend.parse_options({}),
        protocol=CamcastProtocol(),
    )
    first = network.start(settings)
    settings = attrs.evolve(settings, gateways={ROOT: (first.me.address,)})
    for _ in range(4):
        network.do(network.start(settings), lambda node, now: node.join(ROOT, now))
    network.run(12.0)
    for process in network:
        process.node.recorder.record_control(network.now)
    traced = sum(record.size for record in sink.records if record.kind == "control")
    assert traced == network.bytes + network.datagrams.sent_bytes
    assert (network.datagrams.sent_bytes > 4_000) is (membership != "scamp")
