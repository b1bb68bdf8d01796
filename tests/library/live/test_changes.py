"""Changes in a community, as the application and the log are told: processes killed and stopped."""

import asyncio
import json
import logging
import signal
from pathlib import Path

import pytest

from camcast import Change, Changes, CommunityError, CommunityManager, Lagged, Received
from camcast.app import blocking
from camcast.observe.condition_table import Sight
from tests.camcast_command import Capture, camcast
from tests.library.live.communities import free_address, free_port, managers
from tests.library.live.running_command import Running
from tests.patience import PATIENCE_SECONDS, eventually, live

QUICK = {"heartbeat_seconds": 0.2}  # suspect after 0.6 s, given up 3 s later


def subscriber(topic: str, gateway: str, *options: str) -> Running:
    quick = ("--set", "heartbeat_seconds=0.2", "--retry")
    return Running(*options, "subscribe", topic, "--gateway", gateway, *quick)


async def until(changes: Changes, kind: str) -> list[Change]:
    """Take changes up to the first of this kind."""
    taken: list[Change] = []
    while not taken or taken[-1].kind != kind:
        change = await anext(changes)
        assert isinstance(change, Change)
        taken.append(change)
    return taken


@live
async def test_a_process_that_is_stopped_and_killed_shows(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "camcast.observe.log")
    async with CommunityManager(options=QUICK) as manager:
        community = await manager.join(".a")
        called: list[Change] = []
        community.changes(called.append)
        changes = community.changes()
        assert [change.kind for change in await until(changes, "alone")] == ["alone"]
        with subscriber(".a", manager.address) as running:
            other = running.process
            seen, member = await until(changes, "member")
            assert (seen.kind, member.kind) == ("peer_seen", "member")
            assert seen.peer is not None
            assert manager._lifetime.runner is not None
            entries = manager._lifetime.runner.node.liveness.entries
            peer = seen.peer.peer
            await eventually(lambda: entries[peer].met)  # one never heard of says nothing
            other.send_signal(signal.SIGSTOP)
            assert [change.kind for change in await until(changes, "degraded")] == ["degraded"]
            other.send_signal(signal.SIGCONT)
            await until(changes, "member")
            other.kill()
            gone, alone = (await until(changes, "alone"))[-2:]
            assert gone == Change("peer_gone", community.topic, gone.peer, silent=True)
            assert alone.kind == "alone"
            assert gone.peer is not None
        said = [record.getMessage() for record in caplog.records]
        for line in (
            "joined .a",
            "alone in .a: no other member is known",
            "a member of .a, with 1 peer in its table",
            "cut off in .a: nothing is heard of its 1 peer",
        ):
            assert line in said
        changes.close()
        await community.leave()
    assert called[-1] == Change("left", community.topic)
    assert [change.kind for change in called][:3] == ["alone", "peer_seen", "member"]


@live
async def test_what_is_wrong_is_a_change_of_the_communities_that_it_is_about() -> None:
    def fails(_event: Received) -> None:
        raise RuntimeError("a defect of the application")

    async with CommunityManager() as manager:
        one, other = [await manager.join(topic) for topic in (".a", ".b")]
        changes, elsewhere = one.changes(), other.changes()
        await until(changes, "alone")
        await until(elsewhere, "alone")
        events = one.subscribe(fails)
        manager.stats()
        await one.publish(b"e")
        await eventually(lambda: manager.stats().communities[0].callback_errors == 1)
        for feed in (changes, elsewhere):  # no topic is named
            [wrong] = await until(feed, "wrong")
            assert wrong.condition == "callback_fails"
            assert (wrong.says, wrong.do) == (
                "callbacks have raised 1 time",
                "the log has the tracebacks",
            )
        events.close()
        silent = one.subscribe()
        manager._condition_changed("wrong", "slow_subscriber", Sight(".a", "says", "do"))
        manager._condition_changed("right", "slow_subscriber", Sight(".b", "says", "do"))
        assert [change.topic.name for change in await until(changes, "wrong")] == [".a"]
        assert [change.topic.name for change in await until(elsewhere, "right")] == [".b"]
        silent.close()


@live
async def test_who_can_dial_out_and_is_reached_by_nobody_is_deaf(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: Capture
) -> None:
    """Its address is one at which nothing listens: events leave it, answers of the DHT reach it."""
    quick, socket, port = {"check_seconds": 0.2}, tmp_path / "control", free_port()
    async with CommunityManager("dht", options=quick) as outer:
        events = (await outer.join(".a")).subscribe()
        inner = CommunityManager(
            "dht",
            options=quick,
            gateways=[outer.address],
            bind=f"tcp://127.0.0.1:{port}",
            advertise=f"tcp://127.0.0.2:{port}",
            transport="zmq",
            control=socket,
        )
        async with inner:
            community = await inner.join(".a")
            changes = community.changes()
            await until(changes, "deaf")
            assert (await community.publish(b"heard")).accepted
            received = await anext(events)
            assert isinstance(received, Received)
            assert received.payload == b"heard"
            assert inner.stats().liveness.deaf
            assert not outer.stats().liveness.deaf
            assert {one.state for one in inner.stats().communities} <= {"deaf", "alone"}
            assert await asyncio.to_thread(camcast, "doctor", socket) == 1
            assert f"no frame has ever reached {inner.address}" in " ".join(
                capfd.readouterr().out.split()
            )
            changes.close()
    (line,) = [one for one in caplog.records if one.levelname == "WARNING"]
    assert line.getMessage().startswith("deaf: ")


@live
async def test_who_leaves_politely_is_not_silent_and_who_was_late_is_told_of_all() -> None:
    async with managers(2, options=QUICK) as (first, second):
        near = await first.join(".a")
        far = await second.join(".a")
        await near.ready()
        changes = near.changes()
        assert await until(changes, "peer_seen") == [
            Change("member", near.topic),
            Change("peer_seen", near.topic, second.contact),
        ]
        await far.leave()
        assert await until(changes, "alone") == [
            Change("peer_gone", near.topic, second.contact),
            Change("alone", near.topic),
        ]
        await near.leave()
        await near.join()
        assert [change.kind for change in await until(changes, "alone")] == ["left", "alone"]


@live
async def test_changes_end_with_the_manager_and_need_a_running_one() -> None:
    async with managers(1) as (manager,):
        community = manager.community(".a")
        changes = community.changes()
        seen: list[object] = []

        async def on_change(change: Change) -> None:
            seen.append(change)

        community.changes(on_change)
        await community.join()
    assert [change async for change in changes] == [
        Change("alone", community.topic),
        Change("left", community.topic),
    ]
    assert seen == [Change("alone", community.topic), Change("left", community.topic)]
    with pytest.raises(CommunityError):
        community.changes()


@live
async def test_the_queue_of_changes_is_bounded() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        changes = community.changes(queue_length=2)
        for _ in range(3):
            await community.leave()
            await community.join()
        changes.close()
        assert [change async for change in changes] == [
            Lagged(5),
            Change("left", community.topic),
            Change("alone", community.topic),
        ]
        with pytest.raises(ValueError, match="at least 1"):
            community.changes(queue_length=0)


def test_scripts_iterate_changes_too() -> None:
    with blocking.CommunityManager() as manager:
        community = manager.join(".a")
        with community.changes() as changes:
            assert next(changes) == Change("alone", community.topic)
            community.leave()
            assert next(changes) == Change("left", community.topic)
        assert list(changes) == []
        assert changes.closed
        assert changes.errors == 0


@live
async def test_a_gateway_that_dies_and_comes_back_is_told_to_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "camcast.observe.log")
    address = free_address()
    async with CommunityManager(gateways=[address]) as manager:
        joining = asyncio.ensure_future(manager.join(".a", retry=True, timeout=PATIENCE_SECONDS))
        await eventually(lambda: f"the gateway {address} does not answer" in caplog.text)
        await eventually(lambda: ".a cannot be joined yet" in caplog.text)
        async with CommunityManager(bind=address):
            await joining
        assert f"the gateway {address} answers again" in caplog.text


def test_json_lines_say_what_text_says_and_name_their_fields() -> None:
    silent = free_address()
    with subscriber(".a", silent, "-v", "--log", "json") as running:
        assert running.process.stderr is not None
        lines = [json.loads(running.process.stderr.readline()) for _ in range(2)]
        lost, unanswered = lines
        for line in lines:
            assert line["level"] == "info"
            assert line["logger"] == "camcast.observe.log"
            assert line["time"] > 0
        assert (lost["event"], lost["gateways"]) == ("gateway_lost", [silent])
        assert lost["message"] == f"the gateway {silent} does not answer"
        assert (unanswered["event"], unanswered["topic"]) == ("unanswered", ".a")
        _, said = running.end(signal.SIGTERM)
        assert json.loads(said.splitlines()[0])["event"] == "left"


def test_without_v_a_process_that_is_well_says_where_it_joined_and_no_more() -> None:
    with blocking.CommunityManager() as manager, subscriber(".a", manager.address) as running:
        manager.join(".a").ready(timeout=PATIENCE_SECONDS)
        (peer,) = manager.community(".a").peers
        assert running.process.stderr is not None
        joined = running.process.stderr.readline()
        assert joined.decode() == f"camcast: joined .a at {peer.address}\n"
        assert running.end(signal.SIGTERM) == (0, "")
