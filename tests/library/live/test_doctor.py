"""What the doctor finds in a process and on a machine: nothing in what is well, and each fault."""

import copy
import resource
from pathlib import Path
from typing import Any

import pytest

from camcast import CommunityManager
from camcast.app import blocking
from camcast.ops import checkup
from camcast.ops.checkup import Finding, of_network, of_process, of_system
from tests.camcast_command import Capture, answer, camcast
from tests.library.live.communities import free_address, managers
from tests.patience import PATIENCE_SECONDS, live


@pytest.fixture(scope="module")
def healthy() -> dict[str, Any]:
    """A snapshot of one of two members, who also is in a community that is linked upward."""
    with (
        blocking.CommunityManager() as first,
        blocking.CommunityManager(gateways=[first.address]) as second,
    ):
        for topic in (".", ".a"):
            first.join(topic)
            second.join(topic)
            second.community(topic).ready(timeout=PATIENCE_SECONDS)
        second.community(".a").ready(min_links=1, timeout=PATIENCE_SECONDS)
        return second.stats().as_dict()


def wrong(findings: list[Finding]) -> list[str]:
    return [finding.check for finding in findings if finding.ok is False]


def test_nothing_is_wrong_with_what_is_well(healthy: dict[str, Any]) -> None:
    findings = of_process(healthy)
    assert [finding for finding in findings if not finding.ok] == []
    assert {"community .", "community .a", "gateway", "peers", "pipes", "subscribers"} == {
        finding.check for finding in findings
    }


@pytest.mark.parametrize(
    ("path", "value", "check", "word"),
    [
        ("communities.1.state", "joining", "community .a", "not joined yet"),
        ("communities.1.state", "alone", "community .a", "no other member"),
        ("communities.1.repair.missed", 3, "repair of .a", "3 events"),
        ("discovery.first_contacts.0.answers", False, "gateway", "has not answered"),
        ("counters.key_conflicts", 2, "key", "use one key"),
        ("liveness.isolated", True, "peers", "nothing is heard"),
        ("liveness.deaf", True, "peers", "no frame reaches"),
        ("liveness.health", 5, "peers", "did not run"),
        ("liveness.paused_seconds", 1e9, "peers", "did not run"),
        ("counters.outputs.pipes_refused", 1, "pipes", "refused"),
        ("counters.input.connections_refused", 1, "pipes", "refused"),
        ("counters.outputs.versions_refused", 1, "pipes", "another version"),
        ("pipes.crowded", 1, "pipes", "half full"),
        ("counters.missed", 7, "subscribers", "7 events"),
        ("communities.1.callback_errors", 2, "subscribers", "2 times"),
        ("counters.unpublished", 9, "subscribers", "9 events"),
        ("store.let_go_early", 4, "store", "4 batches"),
    ],
)
def test_each_fault_is_found_and_comes_with_advice(
    path: str, value: object, check: str, word: str, healthy: dict[str, Any]
) -> None:
    stats = copy.deepcopy(healthy)
    *way, last = path.split(".")
    part: Any = stats
    for step in way:
        part = part[int(step)] if step.isdecimal() else part[step]
    assert last in part
    part[last] = value
    findings = of_process(stats)
    assert wrong(findings) == [check]
    (finding,) = (finding for finding in findings if finding.ok is False)
    assert word in finding.says
    assert finding.do


def test_a_community_without_links_is_asked_about_and_not_blamed(healthy: dict[str, Any]) -> None:
    stats = copy.deepcopy(healthy)
    assert stats["communities"][1]["links"][0]["alone_seconds"] == 0
    stats["communities"][1]["links"][0] |= {"contacts": 0, "alone_seconds": 42.4}
    (finding,) = (finding for finding in of_process(stats) if not finding.ok)
    assert (finding.check, finding.ok) == ("link of .a", None)
    assert "has been known for 42 s" in finding.says


def test_who_waits_for_a_dht_is_told_of_udp_and_not_of_gateways(healthy: dict[str, Any]) -> None:
    stats = copy.deepcopy(healthy)
    stats["discovery"] |= {"by_udp": True, "state": "alone", "first_contacts": []}
    stats["communities"][1]["state"] = "joining"
    (finding,) = (finding for finding in of_process(stats) if finding.ok is False)
    assert "UDP" in finding.do
    assert "gateway" not in finding.says


def test_too_few_descriptors_and_a_clock_of_its_own_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
    try:
        few = of_system()[0]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (few.check, few.ok) == ("descriptors", False)
    assert "256" in few.says
    assert "ulimit -n" in few.do
    for state, ok, word in ((0, True, "sync"), (5, None, "not sync"), (None, None, "does not say")):
        monkeypatch.setattr(checkup, "_clock_state", lambda state=state: state)
        clock = of_system()[1]
        assert (clock.check, clock.ok) == ("clock", ok)
        assert word in clock.says


@live
async def test_gateways_that_answer_are_told_from_those_that_do_not() -> None:
    silent = free_address()
    async with (
        managers(1) as (gateway,),
        CommunityManager(gateways={".": [gateway.address], ".a": [silent]}) as manager,
    ):
        address, one, other = await of_network(manager, overlay=False)
        assert (address.check, address.ok) == ("address", True)
        assert (one.ok, other.ok) == (True, False)
        assert gateway.address in one.says
        assert f"{silent} cannot be connected to" in other.says
        assert "camcast gateway" in other.do
        assert manager.stats().communities == gateway.stats().communities == ()  # nothing joined


@live
async def test_without_gateways_that_is_what_is_said() -> None:
    async with managers(1) as (manager,):
        _, none = await of_network(manager, overlay=False)
        assert (none.check, none.ok) == ("gateway", None)


@live
async def test_a_dht_is_asked_for_a_node() -> None:
    async with (
        CommunityManager("dht") as node,
        CommunityManager("dht", gateways=[node.address]) as manager,
    ):
        findings = await of_network(manager, overlay=True)
        assert [(one.check, one.ok) for one in findings] == [("address", True), ("DHT", True)]


def test_the_command_looks_at_a_process_or_at_this_machine(tmp_path: Path, capfd: Capture) -> None:
    path = tmp_path / "control"
    with blocking.CommunityManager(control=path) as manager:
        assert {one["ok"] for one in answer(capfd, "doctor", path)} == {True}
        found = {one["check"]: one for one in answer(capfd, "doctor", "--gateway", manager.address)}
        assert found["gateway"]["ok"]
        assert manager.address in found["gateway"]["says"]
    assert camcast("doctor", path) == 1
    out = capfd.readouterr().out
    assert out.startswith("WRONG process: ")
    assert "no process listens there" in " ".join(out.split())
    assert camcast("doctor", "--bind", "tcp://0.0.0.0:0") == 1
    assert "WRONG address: " in capfd.readouterr().out
