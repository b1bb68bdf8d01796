"""Joining, leaving, closing and starting again, over real sockets; nothing is left behind."""

import asyncio
import gc
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from camcast import (
    AddressInUse,
    Community,
    CommunityError,
    CommunityManager,
    GatewayTimeout,
    JsonLinesSink,
    NotReady,
    Parameters,
    Received,
    Subscription,
    Topic,
    open_pipes,
)
from camcast.app.presence import Presence
from camcast.app.requests import Requests
from camcast.research.experiment.node import manager_of
from camcast.research.simulation.run_context import collector_off
from camcast.vocabulary.topics import GroupId
from tests.library.live.communities import (
    CERTAIN,
    OPTIONS,
    Inbox,
    free_address,
    join_all,
    managers,
    mutual,
    state_of,
)
from tests.patience import PATIENCE_SECONDS, eventually, live
from tests.python_process import python


@live
async def test_the_first_member_founds_the_community() -> None:
    async with managers(2) as (_, manager):
        community = await manager.join(".empty")
        assert community.state == "alone"
        assert community.size == 1.0
        assert repr(community) == "<Community .empty alone>"
        with pytest.raises(NotReady, match=r"\.empty has 0 peers and 0 links after 0.05 s"):
            await community.ready(timeout=0.05)


@live
async def test_joining_and_waiting_for_peers_share_one_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    join = Community.join
    waits: list[float | None] = []

    async def join_slowly(self: Community, *, timeout: float | None) -> None:
        await join(self, timeout=timeout)
        await asyncio.sleep(0.2)

    async with managers(1) as (manager,):
        wait_for = manager._lifetime.running().conditions.wait_for

        async def note(holds: Callable[[], bool], timeout: float | None, group: GroupId) -> bool:
            waits.append(timeout)
            return await wait_for(holds, timeout, group)

        monkeypatch.setattr(Community, "join", join_slowly)
        monkeypatch.setattr(manager._lifetime.running().conditions, "wait_for", note)
        with pytest.raises(NotReady, match=r"has 0 peers and 0 links after 0\.3 s"):
            await manager.community(".empty").ready(timeout=0.3)
        first, second = waits
        assert first == 0.3
        assert second is not None
        assert second < 0.15  # of 0.3 s, 0.2 had gone by


@live
async def test_the_last_unsubscription_of_one_who_publishes_not_leaves() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        one, two = community.subscribe(), community.subscribe()
        community.unsubscribe(one)
        assert state_of(community) == "alone"
        await community.publish(b"x")
        community.unsubscribe(two)
        assert state_of(community) == "alone"
        community.stop_publishing()
        assert state_of(community) == "left"
        again = community.subscribe()
        await community.ready(0)
        assert state_of(community) == "alone"
        community.unsubscribe(again)
        assert state_of(community) == "left"


@live
async def test_who_leaves_is_dropped_from_the_tables_at_once() -> None:
    async with managers(3) as (first, second, third):
        one, two, three = await join_all(".a", [first, second, third])
        await eventually(lambda: mutual([one, two, three]))
        gone = third.contact.peer
        subscription = three.subscribe()
        await three.leave()
        assert (three.state, three.peers, three.links, three.size) == ("left", (), (), 0.0)
        assert [item async for item in subscription] == []
        for community in (one, two):
            await eventually(lambda c: gone not in [p.peer for p in c.peers], community)
        await second.close()
        await eventually(lambda: one.state == "alone")


@live
async def test_leaving_ends_the_waiting_for_peers_and_for_gateways() -> None:
    async with managers(1) as (manager,):
        community = manager.community(".a")
        waiting = asyncio.create_task(community.ready(timeout=None))
        await eventually(lambda: community.state == "alone")
        await community.leave()
        with pytest.raises(CommunityError, match=r"\.a was left in the meantime"):
            await waiting
    async with CommunityManager(gateways=[free_address()]) as manager:
        joining = asyncio.create_task(manager.join(".a", timeout=None, retry=True))
        await eventually(lambda: manager.community(".a").state == "joining")
        await manager.close()
        with pytest.raises(CommunityError, match="left in the meantime"):
            await joining
    async with manager_of("broadcast", topics=[Topic.parse(".a"), Topic.parse(".b")]) as manager:
        await manager.join(".b")  # which is in the same group, and stays there
        community = manager.community(".a")
        waiting = asyncio.create_task(community.ready(timeout=PATIENCE_SECONDS))
        await eventually(lambda: community.state == "alone")
        await community.leave()
        with pytest.raises(CommunityError, match=r"\.a was left in the meantime"):
            await waiting


@live
async def test_silent_gateways_are_named() -> None:
    addresses = (free_address(), free_address())
    async with CommunityManager(gateways=addresses) as manager:
        with pytest.raises(GatewayTimeout) as caught:
            await manager.join(".a")
        assert caught.value.addresses == addresses
        assert all(address in str(caught.value) for address in addresses)
        assert ".a" in str(caught.value)
        assert manager.community(".a").state == "left"
        with pytest.raises(GatewayTimeout):
            await manager.community(".a").publish(b"x")
        with pytest.raises(NotReady, match=r"not joined within 0\.05 s"):
            await manager.join(".b", timeout=0.05)


@live
async def test_half_an_answer_founds_no_second_community() -> None:
    """The gateway that keeps the register is dead, the other one knows its own topic alone."""
    async with managers(3) as (gateway, member, other):
        await member.join(".a")
        await other.join(".b")
        asked = (gateway.address, other.address)
        await gateway.close()
        async with CommunityManager(gateways=asked) as newcomer:
            with pytest.raises(GatewayTimeout, match="not every gateway answered") as caught:
                await newcomer.join(".a")
            assert (caught.value.addresses, caught.value.ignorant) == (asked[:1], asked[1:])
            assert newcomer.community(".a").state == "left"


@live
async def test_what_each_gateway_said_is_named() -> None:
    """One is silent, one keeps the register, one only knows its own topic."""
    silent = free_address()
    async with managers(2) as (_, member), CommunityManager() as gateway:
        await member.join(".b")
        asked = (silent, gateway.address, member.address)
        async with CommunityManager(gateways=asked) as newcomer:
            with pytest.raises(GatewayTimeout, match="not every gateway answered") as caught:
                await newcomer.join(".a")
            assert f"{silent} cannot be connected to" in str(caught.value)
            assert f"{gateway.address} knows of nobody there" in str(caught.value)
            assert f"{member.address} does not know who is in .a" in str(caught.value)


@live
async def test_what_is_known_of_a_silent_gateway_is_said() -> None:
    def at_once(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    wrong = free_address()
    full = await asyncio.start_server(at_once, "127.0.0.1", 0)
    absent, gateway = free_address(), CommunityManager()
    async with full, gateway:
        full_address = "tcp://127.0.0.1:{1}".format(*full.sockets[0].getsockname())
        addresses = [absent, full_address, gateway.address]
        async with CommunityManager(gateways=addresses, advertise=wrong) as manager:
            with pytest.raises(GatewayTimeout) as caught:
                await manager.join(".a")
    said = str(caught.value)
    assert f"{absent} cannot be connected to." in said
    assert f"{full_address} takes no more connections." in said
    assert f"{addresses[2]} takes connections, but no answer arrived at {wrong}: " in said


@live
async def test_a_join_that_is_cancelled_gives_up() -> None:
    async with CommunityManager(gateways=[free_address()]) as manager:
        community = manager.community(".a")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await community.join(timeout=None, retry=True)
        assert state_of(community) == "left"
        both = [asyncio.create_task(community.join(timeout=None, retry=True)) for _ in range(2)]
        for joining in both:  # only the second one is the last to want it
            await eventually(lambda: state_of(community) == "joining")
            await asyncio.sleep(0)
            joining.cancel()
            await asyncio.wait([joining])
        assert state_of(community) == "left"


@live
async def test_nobody_publishes_in_a_community_that_was_left() -> None:
    async with managers(1) as (manager,):
        community = await manager.join(".a")
        await community.publish(b"x")
        await community.leave()
        with pytest.raises(CommunityError, match=r"\.a was left; join it again to publish"):
            await community.publish(b"y")
        assert state_of(community) == "left"
        await community.join()
        await community.publish(b"z")


@live
async def test_publishing_while_the_manager_closes_ends_at_once() -> None:
    async with managers(2) as (first, second):
        communities = await join_all(".a", [first, second])
        published = [0, 0, 0]

        async def publish(number: int) -> None:
            while True:
                await communities[1].publish(b"x")
                published[number] += 1

        publishers = [asyncio.create_task(publish(number)) for number in range(3)]
        await eventually(lambda: all(published))
        await asyncio.gather(second.close(), second.close())
        for publisher in publishers:
            assert publisher.done()  # with the close, not after the ten seconds of a join
            with pytest.raises(CommunityError, match=r"closing|not running"):
                await publisher
        assert state_of(communities[1]) == "left"


def test_a_manager_that_was_forgotten_hangs_nobody() -> None:
    script = """
        import asyncio, gc
        from camcast import CommunityManager

        async def main():
            first = CommunityManager()
            await first.start()
            second = CommunityManager(gateways=[first.address])
            await second.start()
            await (await second.join(".a")).publish(b"x")

        asyncio.run(main())
        gc.collect()
        print("collected")
    """
    done = python("-W", "always", "-c", dedent(script))
    assert (done.returncode, done.stdout) == (0, "collected\n")
    assert done.stderr.count("ResourceWarning: pipes were never closed") == 2
    assert done.stderr.count("ResourceWarning") == 2  # all that was open is closed


@live
async def test_with_retry_a_process_joins_once_the_gateway_runs() -> None:
    address = free_address()
    async with CommunityManager(gateways=[address]) as manager:
        joining = asyncio.create_task(manager.join(".a", retry=True, timeout=None))
        # Until it has learned that nobody answers.
        await eventually(lambda: (c := manager.community(".a"))._local_group is not None
                         and c._local_group.unanswered)  # fmt: skip
        async with CommunityManager(bind=address):
            assert (await joining).state == "alone"


@live
async def test_a_port_in_use_is_said_and_leaves_nothing_behind() -> None:
    async with managers(1) as (manager,):
        other = CommunityManager(bind=manager.address)
        with pytest.raises(AddressInUse) as caught:
            await other.start()
        assert manager.address in str(caught.value.strerror)
        with pytest.raises(CommunityError, match="not running"):
            await other.join(".a")


@live
async def test_a_restarted_process_comes_back_at_the_same_port() -> None:
    async with managers(2) as (first, second):
        inbox = Inbox()
        (await first.join(".a")).subscribe(inbox)
        address, peer = second.address, second.contact.peer
        await (await second.join(".a")).publish(b"before")
        await eventually(lambda: inbox.payloads == [b"before"])
        await second.close()
        async with CommunityManager(
            gateways=[first.address], bind=address, options=OPTIONS, parameters=CERTAIN
        ) as again:
            assert again.address == address
            assert again.contact.peer != peer
            community = await again.join(".a")
            await community.ready()
            returning = community.subscribe()
            await community.publish(b"after")
            await eventually(lambda: inbox.payloads == [b"before", b"after"])
            assert isinstance(await anext(returning), Received)
            await first.community(".a").ready()
            await first.community(".a").publish(b"back")
            item = await anext(returning)
            assert isinstance(item, Received)
            assert item.payload == b"back"


@live
async def test_a_manager_can_be_closed_twice_and_started_again() -> None:
    manager = CommunityManager()
    await manager.close()
    for _ in range(2):
        async with manager:
            await manager.start()
            community = await manager.join(".a")
            events = community.subscribe()
            await community.publish(b"x")
            assert isinstance(await anext(events), Received)
        await manager.close()
        with pytest.raises(CommunityError, match="not running"):
            _ = manager.address
        with pytest.raises(CommunityError, match="not running"):
            community.subscribe()


@live
async def test_starting_and_closing_wait_for_one_another() -> None:
    manager = CommunityManager(gateways=["tcp://localhost:1"])  # a name: to look it up takes turns
    await manager.start()
    await manager.close()  # what is made once a process is made now
    descriptors = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(manager.start(), manager.start())
    with pytest.raises(CommunityError, match="closing"):
        await asyncio.gather(manager.close(), manager.join(".a"))
    await eventually(lambda: len(os.listdir("/proc/self/fd")) == descriptors)
    await asyncio.gather(manager.start(), manager.close())
    with pytest.raises(CommunityError, match="not running"):
        _ = manager.address
    async with CommunityManager() as other:
        community = await other.join(".a")
        for turns in range(6):  # in each of which `close` may be
            closing = asyncio.create_task(other.close())
            for _ in range(turns):
                await asyncio.sleep(0)
            await other.start()
            await closing
            await other.start()
            await community.join()
            assert (await community.publish(b"x")).accepted


@live
async def test_a_process_that_could_not_join_may_try_again_in_the_same_words_or_others() -> None:
    same: dict[str, Any] = {"parameters": Parameters(c=3.0), "super_topics": [".b"]}
    async with CommunityManager(gateways=[free_address()]) as manager:
        for _ in range(2):
            with pytest.raises(NotReady):
                await manager.join(".a", timeout=0.01, retry=True, **same)
        other: dict[str, Any] = {"parameters": Parameters(), "super_topics": [".c"]}
        joining = asyncio.create_task(manager.join(".a", retry=True, **other))
        await asyncio.sleep(0)
        for name, value in same.items():
            with pytest.raises(CommunityError, match=r"\.a exists already, with other "):
                manager.community(".a", **{name: value})
        joining.cancel()
        await asyncio.wait([joining])


@live
async def test_a_manager_serves_the_loop_that_started_it() -> None:
    async def elsewhere() -> None:
        for call in (manager.close, community.leave, manager.start):
            with pytest.raises(CommunityError, match="started in another event loop"):
                await call()
        with pytest.raises(CommunityError, match="started in another event loop"):
            await community.publish(b"x")
        with pytest.raises(CommunityError, match="items come in the event loop of the manager"):
            await anext(events)

    async with CommunityManager() as manager:
        community = await manager.join(".a")
        events = community.subscribe()
        await asyncio.to_thread(asyncio.run, elsewhere())
        calls = (community.subscribe, community.stop_publishing, manager.stats, manager.peers)
        for call in calls:
            with pytest.raises(CommunityError, match="started in another event loop"):
                await asyncio.to_thread(call)  # in a thread without a loop
        assert state_of(community) == "alone"


def descriptors() -> set[str]:
    """Return what this process has open: the number and what it is."""
    found = set()
    for one in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # that of the folder itself
            found.add(f"{one} {os.readlink(f'/proc/self/fd/{one}')}")
    return found


@pytest.mark.parametrize("ending", ["close", "start"])
@pytest.mark.parametrize("transport", ["zmtp", "zmq"])
@pytest.mark.parametrize(
    "more",
    [{}, {"membership": "hybrid"}, {"control": Path("control")}],
    ids=str,
)
def test_the_sockets_of_a_closed_loop_are_closed_at_the_next_chance(
    ending: str,
    transport: str,
    more: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    manager = CommunityManager(transport=transport, **more)
    before = descriptors()

    async def forget() -> None:
        await manager.start()
        await manager.join(".a")

    async def end() -> None:
        if ending == "start":
            await manager.start()
        await manager.close()

    asyncio.run(forget())
    assert descriptors() != before
    asyncio.run(end())
    gc.collect()
    assert descriptors() == before


@live
async def test_the_trace_is_whole_when_the_manager_has_closed(tmp_path: Path) -> None:
    sink = JsonLinesSink(tmp_path / "trace.jsonl")  # outside of `with`
    async with CommunityManager(trace=sink) as manager:
        await manager.join(".a")
    assert b'"leave"' in (tmp_path / "trace.jsonl").read_bytes()


@live
async def test_a_close_that_is_cancelled_again_and_again_leaves_nothing_open() -> None:
    before = descriptors()
    for turns in range(1, 8):  # from when it has begun
        manager = CommunityManager()
        await manager.start()
        await manager.join(".a")
        closing = asyncio.create_task(manager.close())
        for _ in range(turns):
            await asyncio.sleep(0)
        while not closing.done():
            closing.cancel()
            await asyncio.sleep(0)
        await asyncio.wait([closing])
        assert descriptors() == before
        await manager.close()  # which has nothing to do


def test_a_manager_whose_loop_was_closed_can_be_closed_and_started_again() -> None:
    manager = CommunityManager()
    old: list[Subscription] = []

    async def use() -> bytes:
        await manager.start()
        community = await manager.join(".a")
        events = community.subscribe()
        old.append(events)
        community.subscribe(print)
        await community.publish(b"x")
        event = await anext(events)
        assert isinstance(event, Received)
        return event.payload

    async def close_and_look() -> None:
        with pytest.raises(CommunityError, match="loop of the manager was closed before"):
            await manager.community(".a").join()
        await manager.close()
        assert manager.community(".a").state == "new"  # nobody held it: it was forgotten
        assert all(events.closed for events in old)

    async def use_and_close() -> None:
        await use()
        await manager.close()  # which waits for no callback of a closed loop

    for _ in range(2):
        for _ in range(2):
            assert asyncio.run(use()) == b"x"
        asyncio.run(close_and_look())
        asyncio.run(use_and_close())
    gc.collect()


@live
async def test_closing_in_a_forked_child_does_nothing() -> None:
    async with CommunityManager() as manager:
        child = os.fork()
        if not child:
            code = 1
            try:
                manager.close().send(None)
            except StopIteration:  # it has returned
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_processes_that_are_forked_from_one_draw_numbers_of_their_own() -> None:
    """A manager that is made as a module is imported is started in each worker of a pool."""
    manager = CommunityManager()
    reading, writing = os.pipe()

    async def draw() -> None:
        async with manager as started:
            runner = started._lifetime.runner
            assert runner is not None
            os.write(writing, runner.node.liveness._rng.randbytes(8))

    for _ in range(3):
        child = os.fork()
        if not child:
            code = 1
            try:
                asyncio.run(draw())
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    os.close(writing)
    with os.fdopen(reading, "rb") as drawn:
        assert len({drawn.read(8) for _ in range(3)} - {b""}) == 3


@live
async def test_what_is_entered_already_says_so_and_goes_on() -> None:
    """The end of an inner `async with` would end the outer one."""
    async with CommunityManager() as manager, Requests(manager, ".a") as requests:
        with pytest.raises(CommunityError, match="in an `async with` already"):
            await manager.__aenter__()
        with pytest.raises(CommunityError, match="open already"):
            await requests.__aenter__()
        async with Presence(manager, ".a", "ada") as presence:
            with pytest.raises(CommunityError, match="open already"):
                await presence.__aenter__()
        await manager.join(".b")
    async with manager:  # and once more, one after the other
        await manager.join(".b")


@live
async def test_a_community_ends_its_own_subscriptions_alone() -> None:
    async with CommunityManager() as manager:
        other = manager.community(".b").subscribe()
        with pytest.raises(CommunityError, match=r"of another community than \.a"):
            manager.community(".a").unsubscribe(other)
        assert not other.closed
        other.close()
        manager.community(".a").unsubscribe(other)  # is closed: nothing is left to do


@live
async def test_managers_of_a_loop_may_share_output_pipes() -> None:
    pipes = open_pipes()
    try:
        async with managers(3, pipes=pipes) as three:
            communities = await join_all(".a", three)
            inbox = Inbox()
            communities[2].subscribe(inbox)
            await communities[0].publish(b"x")
            await eventually(lambda: inbox.payloads == [b"x"])
            assert all(manager.pipes is pipes for manager in three)
    finally:
        pipes.close()


def test_close_leaves_no_task_thread_or_descriptor_behind() -> None:
    @live
    async def use() -> None:
        async with managers(4) as four:
            communities = await join_all(".a", four)
            inbox = Inbox()
            communities[0].subscribe(inbox)
            await communities[1].publish(b"x")
            await eventually(lambda: inbox.payloads == [b"x"])

    use()  # whatever is loaded once is loaded now
    threads, descriptors = threading.enumerate(), len(os.listdir("/proc/self/fd"))
    use()
    assert threading.enumerate() == threads
    assert len(os.listdir("/proc/self/fd")) == descriptors


@live
async def test_members_leave_the_collector_of_cycles_nothing_to_do() -> None:
    """So a worker of `camcast run` runs it rarely: it stopped 500 nodes for 0.3 s each time."""
    async with managers(3) as three:
        communities = await join_all(".a", three)
        inbox = Inbox()
        communities[2].subscribe(inbox)
        await communities[0].publish(b"x")
        await eventually(lambda: inbox.payloads == [b"x"])
        gc.collect()
        with collector_off():
            for number in range(40):
                await communities[number % 2].publish(b"x")
            await eventually(lambda: len(inbox.payloads) == 41)
            assert gc.collect() == 0
