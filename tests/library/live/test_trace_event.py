"""What became of an event: each way of not receiving it is named, with the process and why."""

import asyncio
import signal
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from camcast import CommunityManager, CommunitySettings, Missed, Overflow, Received
from camcast.app import blocking
from camcast.doors.transport import PipeLimits
from camcast.engine.guard.signing import Signing
from camcast.live.control_socket import ask
from camcast.live.transports import DEFAULT, find_transport
from camcast.observe.event_trace import (
    Account,
    CommunityAccount,
    Explanation,
    Moment,
    Verdict,
    explain,
)
from camcast.observe.trace import JsonLinesSink, ListSink, TraceRecord
from camcast.security.certificates import Rights
from camcast.vocabulary.happenings import TraceKind
from camcast.vocabulary.wire import FRAME_HEADER, RECORD_BYTES_MAX
from tests.authority import ADA, ALL, EVE, ROOT
from tests.camcast_command import Capture, answer, camcast, refusal
from tests.library.live.communities import CERTAIN, OPTIONS, Inbox, join_all
from tests.library.live.identities import enrol, known_as
from tests.library.live.running_command import Running
from tests.patience import PATIENCE_SECONDS, eventually, live, wait_until

NOBODY = "00" * 16


@asynccontextmanager
async def traced(
    tmp_path: Path, count: int, *, linked: bool = True, **settings: Any
) -> AsyncIterator[list[CommunityManager]]:
    """Some processes with control sockets, which find each other if they are to be linked."""
    settings = {"options": OPTIONS, "parameters": CERTAIN, **settings}
    started: list[CommunityManager] = []
    try:
        for number in range(count):
            gateways = [started[0].address] if started and linked else []
            control = tmp_path / str(number)
            manager = CommunityManager(gateways=gateways, control=control, **settings)
            await manager.start()
            started.append(manager)
        yield started
    finally:  # all at once: in turn each would wait for a second for those that are gone
        await asyncio.gather(*(manager.close() for manager in started))


def explained(event: object, asked: Sequence[CommunityManager]) -> Explanation:
    return explain(str(event), [one._trace_event({"event": str(event)}) for one in asked])


def verdict(explanation: Explanation, manager: CommunityManager, community: str) -> Verdict:
    (found,) = (
        one
        for one in explanation.verdicts
        if (one.process, one.community) == (manager.address, community)
    )
    return found


@live
async def test_the_way_of_an_event_is_told_and_who_has_it(tmp_path: Path) -> None:
    async with traced(tmp_path, 3) as (first, second, third):
        await join_all(".a.b", [first, second])
        above = await third.join(".a")
        inbox = Inbox()
        above.subscribe(inbox)
        second.community(".a.b").subscribe(Inbox())
        await first.community(".a.b").ready(1, min_links=1)
        await second.community(".a.b").ready(1, min_links=1)
        receipt = await first.community(".a.b").publish(b"x")
        await eventually(lambda: inbox.payloads == [b"x"])
        told = explained(receipt.id, [first, second, third])
        assert (told.topic, told.publisher) == (".a.b", first.contact.peer.hex())
        assert told.published is not None
        assert {step.receiver for step in told.way} == {
            second.contact.peer.hex(),
            third.contact.peer.hex(),
        }
        assert all(step.seconds is not None and step.seconds >= 0 for step in told.way)
        assert verdict(told, first, ".a.b").reason == "published"
        assert verdict(told, second, ".a.b").reason == "delivered"
        assert verdict(told, third, ".a").reason == "delivered"


@live
async def test_who_joined_later_left_before_or_is_elsewhere_is_named(tmp_path: Path) -> None:
    async with traced(tmp_path, 4, repair=False) as (first, late, gone, elsewhere):
        near, left = await join_all(".a", [first, gone])
        await left.leave()
        await elsewhere.join(".b")
        await eventually(lambda: near.peers == ())
        receipt = await near.publish(b"x")
        await late.join(".a")
        told = explained(receipt.id, [first, late, gone, elsewhere])
        joined = verdict(told, late, ".a")
        assert (joined.has, joined.reason) == (False, "not_joined")
        assert "after it was published" in joined.says
        was = verdict(told, gone, ".a")
        assert (was.has, was.reason) == (False, "left")
        assert "before it was published" in was.says
        assert verdict(told, elsewhere, "").reason == "not_interested"


@live
async def test_who_is_still_joining_has_not_joined(tmp_path: Path) -> None:
    async with (
        traced(tmp_path, 1) as (first,),
        CommunityManager(gateways=["tcp://127.0.0.1:1"], control=tmp_path / "joining") as joining,
    ):
        joining.community(".a").subscribe(Inbox())
        receipt = await (await first.join(".a")).publish(b"x")
        reason = verdict(explained(receipt.id, [first, joining]), joining, ".a").reason
        assert reason == "not_joined"


@live
async def test_filters_and_full_queues_are_told_apart(tmp_path: Path) -> None:
    async with traced(tmp_path, 4) as (first, picky, slow, deaf):
        near, *others = await join_all(".a", [first, picky, slow, deaf])
        others[0].subscribe(Inbox(), where="number >= 3")
        full = others[1].subscribe(queue_length=1, overflow=Overflow.DROP_NEWEST)
        receipts = [await near.publish(b'{"number": %d}' % number) for number in (1, 2)]
        last = receipts[-1].id
        await eventually(
            lambda: all(one.has for one in explained(last, [first, picky, slow, deaf]).verdicts)
        )
        told = explained(last, [first, picky, slow, deaf])
        assert verdict(told, picky, ".a").reason == "filtered"
        assert verdict(told, slow, ".a").reason == "queue_full"
        assert verdict(told, deaf, ".a").reason == "no_subscription"
        first_one = explained(receipts[0].id, [first, slow])
        assert verdict(first_one, slow, ".a").reason == "delivered"
        full.close()


@pytest.mark.parametrize("overflow", Overflow)
@live
async def test_every_event_that_a_full_queue_drops_is_remembered(
    overflow: Overflow, tmp_path: Path
) -> None:
    """Also parts of batches: of ten events that travel together three find room."""
    async with traced(tmp_path, 2) as (first, second):
        near, far = await join_all(".a", [first, second])
        subscription = far.subscribe(queue_length=3, overflow=overflow)
        ids = [(await near.publish(b"%d" % number)).id for number in range(10)]
        await eventually(lambda: subscription.missed == 7)
        subscription.close()
        got = [item.id async for item in subscription if isinstance(item, Received)]
        reasons = {one: verdict(explained(one, [second]), second, ".a").reason for one in ids}
        lagged = [one for one, reason in reasons.items() if reason == "queue_full"]
        assert sorted([*lagged, *got]) == sorted(ids)


@live
async def test_a_copy_that_is_dropped_at_a_pipe_is_told_of_its_sender(tmp_path: Path) -> None:
    narrow = find_transport(DEFAULT)(
        PipeLimits(record_bytes_max=RECORD_BYTES_MAX, queue_bytes_max=2000),
        frame_header=FRAME_HEADER,
    )
    async with (
        CommunityManager(
            pipes=narrow, control=tmp_path / "narrow", repair=False, options=OPTIONS
        ) as first,
        CommunityManager(
            gateways=[first.address], control=tmp_path / "far", repair=False, options=OPTIONS
        ) as second,
    ):
        near, _ = await join_all(".a", [first, second])
        receipt = await near.publish(bytes(5000))
        await eventually(lambda: first.counters.outputs.records_dropped > 0)
        told = verdict(explained(receipt.id, [first, second]), second, ".a")
        assert (told.has, told.reason) == (False, "dropped_at_pipe")
        assert first.address in told.says
    narrow.close()


@live
async def test_what_nobody_keeps_any_more_is_out_of_retention(tmp_path: Path) -> None:
    """The pipe has no room for the event, nor for it when it is asked for, until it is too late."""
    narrow = find_transport(DEFAULT)(
        PipeLimits(record_bytes_max=RECORD_BYTES_MAX, queue_bytes_max=2000),
        frame_header=FRAME_HEADER,
    )
    settings: dict[str, Any] = {
        "options": OPTIONS,
        "parameters": CommunitySettings(retention_seconds=1),
    }
    async with (
        CommunityManager(pipes=narrow, control=tmp_path / "narrow", **settings) as first,
        CommunityManager(gateways=[first.address], control=tmp_path / "far", **settings) as second,
    ):
        near, far = await join_all(".a", [first, second])
        joined = monotonic()
        events = far.subscribe()
        await near.publish(b"before")
        assert isinstance(before := await anext(events), Received)
        # What may be from just before a process joined is not missed.
        await eventually(lambda: monotonic() - joined > 1.5)
        lost = await near.publish(bytes(5000))
        await eventually(lambda: first.counters.outputs.records_dropped > 0)
        after = await near.publish(b"after")
        came = [await anext(events), await anext(events)]
        assert [one.id for one in came if isinstance(one, Received)] == [after.id]
        assert [one for one in came if isinstance(one, Missed)] == [
            Missed(before.stream, before.topic, lost.id.sequence, lost.id.sequence)
        ]
        explanation = explained(lost.id, [first, second])
        assert verdict(explanation, first, ".a").reason == "published"
        lacks = verdict(explanation, second, ".a")
        assert (lacks.has, lacks.reason) == (False, "out_of_retention")
    narrow.close()


@live
async def test_two_that_founded_the_same_community_are_partitioned(tmp_path: Path) -> None:
    async with traced(tmp_path, 2, linked=False) as (first, second):
        near, _ = await first.join(".a"), await second.join(".a")
        receipt = await near.publish(b"x")
        told = verdict(explained(receipt.id, [first, second]), second, ".a")
        assert (told.has, told.reason) == (False, "partitioned")


@live
async def test_a_community_without_a_link_upward_is_named(tmp_path: Path) -> None:
    async with traced(tmp_path, 2, linked=False) as (below, above):
        await above.join(".a")
        receipt = await (await below.join(".a.b")).publish(b"x")
        told = verdict(explained(receipt.id, [below, above]), above, ".a")
        assert (told.has, told.reason) == (False, "link_dead")
        assert below.address in told.says


@live
async def test_what_is_published_without_a_right_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eve may join and not publish, and has taken the check out of her own process."""
    monkeypatch.setattr(Signing, "check_may_publish", lambda *_: None)
    enrol(tmp_path, "root", ROOT)
    enrol(tmp_path, "ada", ADA, ".a", ALL)
    enrol(tmp_path, "eve", EVE, ".a", Rights.JOIN)

    def manager(name: str, **more: Any) -> CommunityManager:
        known = known_as(tmp_path, name)
        return CommunityManager(
            **known, control=tmp_path / name, options=OPTIONS, parameters=CERTAIN, **more
        )

    async with manager("ada") as ada, manager("eve", gateways=[ada.gateway]) as eve:
        _, theirs = await join_all(".a", [ada, eve])
        receipt = await theirs.publish(b"x")
        await eventually(lambda: ada.counters.unverified)
        told = verdict(explained(receipt.id, [ada, eve]), ada, ".a")
        assert (told.has, told.reason) == (False, "refused")
        assert "refused by rights" in told.says


# -- from moments alone: what takes minutes to happen -------------------------------------------

EVENT = f"{NOBODY}-7-3"


def account(*life: Moment, knows: bool = False, peer: str = "aa", **more: Any) -> Account:
    of = Moment(10.0, "join", ".a")
    community = {
        "topic": ".a",
        "joined": True,
        "knows": knows,
        "subscriptions": 1,
        "links": {".": 0},
    }
    return Account(
        name=peer,
        peer=peer,
        communities=(CommunityAccount(**community),),  # type: ignore[arg-type]  # as they are named
        life=(of, *life),
        **more,
    )


def reason_of(lacking: Account, *more: Account) -> str:
    publisher = account(
        knows=True,
        peer="bb",
        known=("aa",),
        moments=(Moment(100.0, "publish", ".a", EVENT, 1, topic=".a"),),
    )
    return next(
        one.reason
        for one in explain(EVENT, [publisher, lacking, *more]).verdicts
        if one.process == lacking.name
    )


@pytest.mark.parametrize(
    ("life", "reason"),
    [
        ((Moment(300.0, "missed", ".a", f"{NOBODY}-7-2", 2),), "out_of_retention"),
        ((Moment(300.0, "missed", ".a", f"{NOBODY}-7-4", 2),), "unknown"),
        ((Moment(110.0, "paused", seconds=20.0),), "paused"),
        ((Moment(95.0, "paused", seconds=20.0),), "unknown"),
        ((Moment(90.0, "isolated"), Moment(120.0, "healed")), "partitioned"),
        ((Moment(80.0, "isolated"), Moment(90.0, "healed")), "unknown"),
        ((Moment(105.0, "crash", ".a"),), "gone"),
    ],
)
def test_what_happened_to_the_process_then_explains_it(
    life: tuple[Moment, ...], reason: str
) -> None:
    assert reason_of(account(*life)) == reason


def test_copies_that_came_say_more_than_a_pause() -> None:
    paused = Moment(110.0, "paused", seconds=20.0)
    refused = Moment(112.0, "drop", ".a", EVENT, 1, peer="bb")
    assert reason_of(account(paused, moments=(refused,))) == "refused"


def test_copies_that_were_sent_and_did_not_arrive_are_counted() -> None:
    sent = tuple(Moment(100.1, "send", ".a", EVENT, 1, peer="aa") for _ in range(2))
    sender = account(knows=True, peer="cc", known=("aa",), moments=sent)
    assert reason_of(account(), sender) == "lost_on_the_way"


# -- the command --------------------------------------------------------------------------------


def test_the_command_asks_sockets_and_names_those_that_are_stopped_or_gone(
    tmp_path: Path, capfd: Capture
) -> None:
    path, other = tmp_path / "own", tmp_path / "other"
    with blocking.CommunityManager(control=path) as manager:
        community = manager.join(".a")
        options = ("--gateway", manager.address, "--control", other)
        with Running("subscribe", ".a", *options) as running:
            process = running.process
            community.ready(timeout=PATIENCE_SECONDS)
            wait_until(lambda: ask(other, "status")["communities"][0]["subscriptions"], process)
            event = str(community.publish(b"x").id)
            running.line()
            told = answer(capfd, "trace", event, path, other)
            assert [one["reason"] for one in told["verdicts"]] == ["published", "delivered"]
            assert told["way"][0]["sender"] == manager.contact.peer.hex()
            assert camcast("trace", event, path, other) == 0
            out = capfd.readouterr().out
            assert max(map(len, out.splitlines())) <= 80
            assert "it arrived" in " ".join(out.split())
            process.send_signal(signal.SIGSTOP)
            told = answer(capfd, "trace", event, path, other)
            stopped = told["verdicts"][1]
            assert (stopped["has"], stopped["reason"]) == (None, "paused")
        told = answer(capfd, "trace", event, path, other)
        assert told["verdicts"][1]["reason"] == "gone"
        code, said = refusal(capfd, "trace", f"{NOBODY}-7-3", path)
        assert code == 1
        assert "nobody who was asked remembers" in said
    code, said = refusal(capfd, "trace", event, tmp_path / "none")
    assert code == 1
    assert f"{tmp_path / 'none'}: no process listens there" in said
    code, said = refusal(capfd, "trace", "the-other-day", path)
    assert code == 2
    assert "PUBLISHER-STREAM-NUMBER" in said


def test_a_run_is_read_like_running_processes(tmp_path: Path, capfd: Capture) -> None:
    one, two, late, left, killed, lost = (digit * 32 for digit in "123456")
    event = f"{one}-7-1"

    def write(sink: JsonLinesSink, when: float, kind: TraceKind, node: str, **more: Any) -> None:
        sink.write(TraceRecord(when, 1, kind, node, community=".a", **more))

    about: dict[str, Any] = {"topic": ".a", "event": event}
    with JsonLinesSink(tmp_path / "trace-0.jsonl") as sink:
        for node in (one, two, left, killed, lost):
            write(sink, 1.0, "join", node)
        write(sink, 2.0, "leave", left)
        for node in (two, lost):
            write(sink, 1.5, "learn", one, peer=node)
        write(sink, 5.0, "publish", one, **about)
        for node in (two, lost):
            write(sink, 5.0, "send", one, peer=node, **about)
        write(sink, 5.1, "receive", two, peer=one, hops=1, **about)
        write(sink, 5.1, "deliver", two, hops=1, **about)
        write(sink, 9.0, "join", late)
    with JsonLinesSink(tmp_path / "trace-crashes.jsonl") as sink:
        write(sink, 4.0, "crash", killed)
    told = answer(capfd, "trace", event, tmp_path)
    assert {one["peer"]: one["reason"] for one in told["verdicts"]} == {
        one: "published",
        two: "delivered",
        late: "not_joined",
        left: "left",
        killed: "gone",
        lost: "lost_on_the_way",
    }
    assert [(step["sender"], step["receiver"]) for step in told["way"]] == [(one, two)]
    code, said = refusal(capfd, "trace", event, tmp_path.parent)
    assert code == 1
    assert "no traces" in said


@live
async def test_a_trace_and_a_control_socket_go_together(tmp_path: Path) -> None:
    sink = ListSink()
    async with CommunityManager(control=tmp_path / "both", trace=sink) as manager:
        community = await manager.join(".a")
        community.subscribe(Inbox())
        events = {str((await community.publish(b"%d" % number)).id) for number in range(3)}
        told = [explained(event, [manager]) for event in events]
        assert {one.verdicts[0].reason for one in told} == {"published"}
    assert {record.event for record in sink.records if record.kind == "deliver"} == events
    assert {"join", "leave"} <= {record.kind for record in sink.records}
