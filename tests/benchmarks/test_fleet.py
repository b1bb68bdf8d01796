"""The fleet counts right, and a live benchmark says all that docs/benchmarks.md promises."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

import pytest
from camcast_members import CamcastMembers
from fleet import Fleet
from fleet_worker import FleetError, PythonWorker
from live_info import live_info
from members import Members, Share
from raw_pipe import measure_raw

from camcast import CommunitySettings

DOCUMENT = Path(__file__).parents[2] / "docs" / "benchmarks.md"
DOCUMENTED = set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.read_text(), re.MULTILINE))


class Postmen(Members):
    """Deliver at once what is published, in the same process; lose one copy of the tenth event."""

    async def start(self, share: Share, known: list[str]) -> list[str]:
        self._nodes, self._published = share.nodes, 0
        return ["here"]

    async def settle(self, everybody: list[str]) -> None:
        assert everybody == ["here"]

    async def publish(self, payload: bytes, node: int) -> None:
        self._published += 1
        assert len(payload) == 100
        for _ in range(self._nodes - (self._published == 10)):
            self.on_event(payload)

    def counts(self) -> dict[str, int]:
        return {"messages": self._published * self._nodes}

    async def close(self) -> None:
        pass


class Refusers(Postmen):
    async def publish(self, payload: bytes, node: int) -> None:
        raise OSError("refused, for this test")


class Deaf(Postmen):
    async def publish(self, payload: bytes, node: int) -> None:
        pass


def test_a_fleet_counts_deliveries_and_losses() -> None:
    with Fleet(3, partial(PythonWorker, Postmen), processes=1) as fleet:
        for delivered in (59, 60):  # the second run does not count the first
            run = fleet.publish(20, 100)
            assert (run.published, run.expected, run.delivered) == (20, 60, delivered)
            assert run.counts == {"messages": 60}
            assert len(run.latencies) == delivered
            assert 0 <= run.latencies[0] <= run.latencies[-1] <= run.seconds


@pytest.mark.parametrize(
    ("members", "says"), [(Refusers, "a worker failed"), (Deaf, "nothing was delivered")]
)
def test_a_fleet_that_cannot_do_its_work_says_so(members: type[Members], says: str) -> None:
    with (
        Fleet(2, partial(PythonWorker, members), processes=1) as fleet,
        pytest.raises(FleetError, match=says),
    ):
        fleet.publish(3, 100)


def test_three_live_nodes_give_every_figure_that_is_documented() -> None:
    parameters = CommunitySettings(c=2, spread="infect")
    hire = partial(PythonWorker, partial(CamcastMembers, "scamp", parameters))
    with Fleet(3, hire, seed=7) as fleet:
        raws = [measure_raw(100, 256), measure_raw(20, 256, 200.0)]
        runs = [fleet.publish(20, 256), fleet.publish(20, 256, 200.0)]
        fast, paced = [
            live_info(fleet, {"rate_per_second": rate}, parameters, [run], [raw])
            for rate, run, raw in zip((None, 200.0), runs, raws, strict=True)
        ]
    # Everybody sends to both others: a copy for each of two, and as many again for each of those.
    for info in (fast, paced):
        assert info["deliveries"] == 60
        assert info["missed"] == 0
        assert info["messages"] == 20 * 3 * 2
        assert info["redundancy"] == 3.0
        assert info["view_mean"] == 2.0
        assert float(info["control_messages"] or 0) >= 0, "a record holds many copies"
        assert info["records_dropped"] == info["malformed"] == 0
        assert info["bytes"] is not None
        assert float(info["bytes"]) > 20 * 3 * 2 * 256
        assert (info["seed"], info["nodes"], info["parameter_c"]) == (7, 3, 2)
        for name in ("cpu_seconds_per_1000_deliveries", "memory_mb_per_node", "cpu_ratio_to_raw"):
            assert float(info[name] or 0) > 0
    assert float(fast["ratio_to_raw"] or 0) > 0
    assert fast["latency_ratio_to_raw"] is None
    assert paced["ratio_to_raw"] is None
    assert float(paced["latency_ratio_to_raw"] or 0) > 0

    inputs = {name for name in fast if name.startswith("parameter_")}
    assert set(fast) - inputs <= DOCUMENTED


@pytest.mark.parametrize("transport", ["zmtp", "zmq"])
def test_all_nodes_publish_at_once_and_take_batches(transport: str) -> None:
    parameters = CommunitySettings(c=2, spread="infect")
    members = partial(CamcastMembers, parameters=parameters, transport=transport, batches=True)
    with Fleet(3, partial(PythonWorker, members)) as fleet:
        for by_turn in (False, True):
            run = fleet.publish(30, 256, publishers=3, by_turn=by_turn)
            assert (run.published, run.expected, run.delivered) == (30, 90, 90)
            assert run.counts["messages"] == 30 * 3 * 2


def test_every_name_of_the_document_is_one_of_a_benchmark() -> None:
    source = "".join(path.read_text() for path in (DOCUMENT.parents[1] / "benchmarks").glob("*.py"))
    assert {n for n in DOCUMENTED if f"{n}=" not in source and f'"{n}"' not in source} == set()
