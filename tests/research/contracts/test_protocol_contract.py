"""The contract of protocols, on all that are installed; and what only ours can be asked."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from camcast.doors.contained import plug_of
from camcast.doors.plugs import PROTOCOL_GROUP, UnknownPlugError, find_protocol, installed
from camcast.research.scenarios.virtual import Crashes, Links, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.scenario_run import run_scenario
from camcast.research.systems.hpmcast.protocol import Herald
from camcast.research.systems.percolation.protocol import Subscriptions
from camcast.research.testing.protocol_contract import (
    ENTRIES_MAX,
    ProtocolContract,
    message_frame,
    sizes_within,
    wake,
)
from camcast.vocabulary import messages
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import ROOT
from tests.protocol_fleet import AB, CERTAIN_OPTIONS, A, fleet


class TestProtocol(ProtocolContract):
    @pytest.fixture(autouse=True)
    def _plug(self, protocol: str) -> None:
        self.protocol = protocol
        self.options = CERTAIN_OPTIONS.get(protocol, {})

    def test_its_source_is_a_paper_of_ours(self) -> None:
        assert self.found.source[:3] in ("000", "002", "003")


def test_an_unknown_protocol_lists_those_that_there_are() -> None:
    with pytest.raises(UnknownPlugError) as error:
        find_protocol("carrier-pigeon")
    names = ", ".join(installed(PROTOCOL_GROUP))
    assert str(error.value) == f"unknown protocol 'carrier-pigeon'; installed: {names}"


# -- replays -------------------------------------------------------------------------------------


def rough(protocol: str) -> VirtualScenario:
    return VirtualScenario(
        communities={ROOT: 2, A: 4, AB: 8},
        protocol=protocol,
        settle_seconds=3.0,
        duration_seconds=6.0,
        links=Links(latency="lognormal", loss=0.05),
        workload=Workload(topic=AB, events=8, rate=2.0),
        crashes=(Crashes(at_seconds=2.0, share=0.2, restart_seconds=2.0),),
    )


def test_nobody_gets_an_event_twice_whatever_the_links_do(protocol: str) -> None:
    """The invariants of a virtual run raise if anybody does; a tenth of the copies is doubled,
    and some arrive late."""
    scenario = attrs.evolve(rough(protocol), links=Links(duplication=0.1, reordering=0.1))
    assert run_scenario(scenario).summary.deliveries > 0


def test_a_run_is_repeated_to_the_last_copy(protocol: str) -> None:
    scenario = rough(protocol)
    one, two = run_scenario(scenario), run_scenario(scenario)
    assert one == two
    assert run_scenario(attrs.evolve(scenario, seed=2)).digest != one.digest


# -- wrong messages ------------------------------------------------------------------------------


def herald(**changed: Any) -> Herald:
    usual: dict[str, Any] = {"stream": StreamId(bytes(24)), "sequence": 1}
    return Herald(**(usual | {"share": 0.5, "rounds": 1, "level": 1} | changed))


WRONG = [
    ("percolation", Subscriptions(("no topic",), linked=True, asks=True)),
    ("percolation", Subscriptions((".a..b",) * 2000, linked=True, asks=True)),
    ("percolation", Subscriptions((".a" * 500,), linked=False, asks=True)),
    ("hpmcast", herald(share=float("nan"))),
    ("hpmcast", herald(share=-1.0)),
    ("hpmcast", herald(share=1e308)),
    ("hpmcast", herald(rounds=-1)),
    ("hpmcast", herald(rounds=2**62)),
    ("hpmcast", herald(level=0)),
    ("hpmcast", herald(level=2**40)),
    ("hpmcast", herald(stream=b"")),
    ("hpmcast", herald(sequence=-1)),
]


@pytest.mark.parametrize(("of", "message"), WRONG, ids=repr)
def test_a_wrong_message_is_counted_and_does_no_harm(of: str, message: messages.Message) -> None:
    world = fleet(of, (A,) * 3, settle_seconds=5.0)
    target = world.nodes[1]
    home = target.local_group(A)
    assert home is not None
    before = target.counters.controls
    world.inject(target.me.address, message_frame(home.topic, messages.encode(message)))
    assert target.counters.controls == before + 1
    world.run(3.0)
    world.publish(world.nodes[0], A)
    assert world.delivered_to(target)[A, b"!"] == 1


@pytest.mark.parametrize("of", ["hpmcast", "pmcast"])
def test_heralds_of_events_that_never_come_fill_no_memory(of: str) -> None:
    [node] = fleet(of, (A,)).nodes
    home = node.local_group(A)
    assert home is not None
    for number in range(10_000):
        body = messages.encode(herald(sequence=number))
        node.receive(message_frame(home.topic, body, number), 30.0)
    wake(node)
    assert max(sizes_within(plug_of(home.dissemination))) <= ENTRIES_MAX
