"""What the doctor finds in a process and on a machine: nothing in what is well, and each fault."""

import resource
from pathlib import Path
from typing import Any

import attrs
import pytest

from camcast import CommunityManager
from camcast.app import blocking
from camcast.ops import checkup
from camcast.ops.checkup import of_network, of_process, of_processes, of_system
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
        return attrs.evolve(second.stats(), conditions=()).as_dict()


def condition(name: str, **changes: object) -> dict[str, object]:
    """A condition as a snapshot has it: `isolated`, say, that lasts."""
    given = {"name": name, "about": "", "stage": "lasting", "ok": False, "says": f"{name}!"}
    return {**given, "do": "act", "because": None, "since": 10.0, "seen": 20.0, **changes}


def test_nothing_is_wrong_with_what_is_well(healthy: dict[str, Any]) -> None:
    findings = of_process(healthy)
    assert [finding for finding in findings if not finding.ok] == []
    assert {"community", "gateway", "peers", "pipes"} == {finding.check for finding in findings}
    says = {one.about: one.says for one in findings if one.check == "community"}
    assert says[".a"] == "member, 1 peer in the table of about 2, linked to 1 of ."


def test_causes_come_first_each_with_its_consequences_and_history_last(
    healthy: dict[str, Any],
) -> None:
    conditions = [
        condition("not_admitted"),
        condition("isolated"),
        condition("no_gateway", because="not_admitted"),
        condition("no_link", because="isolated", about=".a"),
        condition("unjoined", because="no_gateway", about=".a"),
        condition("slow_peer", stage="over"),
        condition("slow_subscriber", stage="beginning"),
    ]
    findings = of_process({**healthy, "conditions": conditions})
    order = [one.check for one in findings if one.since is not None]
    assert order == [
        *("not_admitted", "no_gateway", "unjoined", "isolated", "no_link", "slow_subscriber"),
        "slow_peer",
    ]
    by_check = {one.check: one for one in findings}
    assert (by_check["slow_peer"].ok, by_check["slow_peer"].over) == (True, 20.0)
    assert by_check["slow_subscriber"].ok is None  # it may end by itself
    assert "peers" not in by_check
    assert [one.about for one in findings if one.check == "community"] == ["."]


def test_a_system_has_one_verdict_and_who_is_cut_off_explains_what_others_say(
    healthy: dict[str, Any],
) -> None:
    def process(address: str, *conditions: dict[str, object]) -> dict[str, Any]:
        liveness = {"watched": 3}
        return {**healthy, "address": address, "conditions": conditions, "liveness": liveness}

    lost = condition("peer_lost", ok=None, about="tcp://c")
    answers = {
        "a": process("tcp://a", lost),
        "b": process("tcp://b", {**lost, "since": 5.0}),
        "c": process("tcp://c", condition("isolated")),
    }
    isolated, dead = of_processes(answers)
    assert (isolated.check, isolated.because, isolated.ok) == ("isolated", None, False)
    assert isolated.says == "isolated! (at 1 of 3: c)"
    assert (dead.check, dead.because, dead.since) == ("peer_lost", "isolated", 5.0)
    assert dead.says == "peer_lost! (at 2 of 3: a, b)"
    silent, dead = of_processes({**answers, "c": "it is stopped"})
    assert (silent.check, silent.about, silent.says) == ("no_answer", "c", "it is stopped")
    assert (silent.ok, dead.because) == (False, "no_answer")
    only = {**process("tcp://a", condition("isolated")), "liveness": {"watched": 1}}
    silent, isolated = of_processes({"a": only, "c": "it is stopped"})
    assert (silent.check, isolated.because) == ("no_answer", "no_answer")
    full = condition("slow_peer", about="tcp://c")
    lacks = [condition("no_gateway"), condition("events_gone")]
    slow, *consequences = of_processes(
        {"a": process("tcp://a", full), "c": process("tcp://c", *lacks)}
    )
    assert slow.check == "slow_peer"
    assert {one.because for one in consequences} == {"slow_peer"}
    apart = of_processes({"a": process("tcp://a", full, *lacks), "c": process("tcp://c", *lacks)})
    assert [one.because for one in apart if one.check == "no_gateway"] == [None]
    (well,) = of_processes({"a": process("tcp://a"), "b": process("tcp://b")})
    assert (well.ok, well.says) == (True, "2 processes, and nothing is wrong with any")


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
        (system,) = answer(capfd, "doctor", tmp_path)
        assert (system["ok"], system["says"]) == (True, "1 process, and nothing is wrong with any")
        found = {one["check"]: one for one in answer(capfd, "doctor", "--gateway", manager.address)}
        assert found["gateway"]["ok"]
        assert manager.address in found["gateway"]["says"]
    assert camcast("doctor", path) == 1
    out = capfd.readouterr().out
    assert out.startswith("WRONG process: ")
    assert "no process listens there" in " ".join(out.split())
    (nobody := tmp_path / "nobody").mkdir()
    assert camcast("doctor", nobody) == 1
    assert "has no control sockets" in capfd.readouterr().err
    assert camcast("doctor", "--bind", "tcp://0.0.0.0:0") == 1
    assert "WRONG address: " in capfd.readouterr().out
