"""The asyncio loop on virtual time: what works unchanged, and hosts that crash."""

from __future__ import annotations

import asyncio
import contextvars
import errno
import time
from collections.abc import AsyncGenerator, Callable
from math import inf
from typing import Any

import pytest

from camcast.simulation.network import VirtualNetwork
from camcast.simulation.virtual_asyncio.datagrams import ip_of
from camcast.simulation.virtual_asyncio.loop import VirtualLoop
from camcast.simulation.virtual_asyncio.watch import DeadlockError
from tests.unit.simulation.virtual_asyncio.virtual_asyncio import (
    PORT,
    Ear,
    Rpc,
    beside,
    fails,
    new_loop,
    open_on,
)

# -- time and callbacks ------------------------------------------------------------------------


def test_a_year_of_sleep_takes_no_real_time(loop: VirtualLoop) -> None:
    started = time.perf_counter()
    loop.run_until_complete(asyncio.sleep(365 * 86_400.0))
    assert loop.time() == loop.queue.now == 365 * 86_400.0
    assert time.perf_counter() - started < 10


def test_the_tools_of_asyncio_work_unchanged(loop: VirtualLoop) -> None:
    done: list[Any] = []

    async def worker(queue: asyncio.Queue[int], lock: asyncio.Lock) -> None:
        while (item := await queue.get()) >= 0:
            async with lock:
                await asyncio.sleep(1)
                done.append((loop.time(), item))

    async def main() -> Any:
        queue: asyncio.Queue[int] = asyncio.Queue(2)
        lock = asyncio.Lock()
        async with asyncio.TaskGroup() as group:
            group.create_task(worker(queue, lock))
            group.create_task(worker(queue, lock))
            for item in (1, 2, 3, -1, -1):
                await queue.put(item)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 10)
        assert loop.time() == 13
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(5):
                await asyncio.shield(loop.create_future())
        results = await asyncio.gather(asyncio.sleep(2, "a"), asyncio.sleep(1, "b"))
        assert list(results) == ["a", "b"]
        ready, _ = await asyncio.wait([loop.create_task(asyncio.sleep(1, "c"))])
        return ready.pop().result() + str(loop.time())

    assert loop.run_until_complete(main()) == "c21.0"
    assert done == [(1, 1), (2, 2), (3, 3)]


def test_callbacks_come_in_the_order_of_time_and_call(loop: VirtualLoop) -> None:
    seen: list[Any] = []
    loop.call_later(2, seen.append, "later")
    loop.call_at(1, seen.append, "at 1")
    loop.call_at(1, lambda: loop.call_soon(seen.append, "soon at 1"))
    loop.call_at(1, seen.append, "at 1, too")
    loop.call_at(-5, seen.append, "past")
    loop.call_soon(seen.append, "soon")
    loop.run_until_complete(asyncio.sleep(3))
    assert seen == ["past", "soon", "at 1", "at 1, too", "soon at 1", "later"]


def test_cancelled_handles_are_skipped(loop: VirtualLoop) -> None:
    seen: list[str] = []
    loop.call_soon(seen.append, "soon").cancel()
    timer = loop.call_later(1, seen.append, "timer")
    loop.call_later(0.5, timer.cancel)
    loop.run_until_complete(asyncio.sleep(2))
    timer.cancel()
    assert seen == []
    assert timer.cancelled()


def test_each_callback_and_task_has_its_context(loop: VirtualLoop) -> None:
    who = contextvars.ContextVar("who", default="nobody")
    seen: list[str] = []

    async def child() -> None:
        await asyncio.sleep(1)
        seen.append(who.get())
        who.set("changed")

    async def main() -> None:
        who.set("parent")
        await loop.create_task(child())
        loop.call_soon(lambda: seen.append(who.get()))
        other = contextvars.copy_context()
        other.run(who.set, "given")
        loop.call_soon(lambda: seen.append(who.get()), context=other)
        await loop.create_task(child(), context=other)
        assert other[who] == "changed"
        assert who.get() == "parent"

    loop.run_until_complete(main())
    assert seen == ["parent", "parent", "given", "given"]
    assert who.get() == "nobody"


def test_the_network_may_step_the_loop_which_then_runs() -> None:
    network = VirtualNetwork()
    with beside(network) as loop:
        seen: list[Any] = []

        async def part() -> None:
            for _ in range(3):
                await asyncio.sleep(1)
                assert loop.is_running()
                seen.append(asyncio.get_running_loop() is loop)

        loop.create_task(part())
        between: list[Any] = []
        network.queue.at(1.5, lambda: between.append(asyncio._get_running_loop()))
        network.run(2.5)
        assert (seen, between) == ([True, True], [None])
        assert not loop.is_running()
        with pytest.raises(RuntimeError, match="no running event loop"):
            asyncio.get_running_loop()
        network.run(1)
        assert len(seen) == 3


def test_the_loop_and_others_on_the_queue_have_one_order() -> None:
    network = VirtualNetwork()
    with beside(network) as loop:
        seen: list[str] = []
        queue = network.queue

        def early() -> None:
            loop.call_soon(seen.append, "loop 0.5")

        queue.at(1, seen.append, "queue 1")
        loop.call_at(1, seen.append, "loop 2")
        queue.at(1, seen.append, "queue 3")
        loop.call_at(1, seen.append, "loop 4")
        queue.at(0.5, early)
        loop.run_until_complete(asyncio.sleep(2))
        assert seen == ["loop 0.5", "queue 1", "loop 2", "queue 3", "loop 4"]


def test_two_loops_on_one_queue_take_turns() -> None:
    network = VirtualNetwork()
    seen: list[Any] = []

    async def part(name: str, loop: VirtualLoop) -> None:
        for _ in range(2):
            await asyncio.sleep(1)
            seen.append((name, asyncio.get_running_loop() is loop))

    with beside(network) as one, beside(network) as two:
        one.create_task(part("one", one))
        two.run_until_complete(part("two", two))
        network.run(1)
    assert seen == [("one", True), ("two", True)] * 2


def test_a_loop_is_not_run_inside_a_loop(loop: VirtualLoop) -> None:
    async def nested() -> None:
        with pytest.raises(RuntimeError, match="already running"):
            loop.run_until_complete(loop.create_future())
        loop.call_soon(int)
        with pytest.raises(RuntimeError, match="is already"):
            loop.queue.step()

    loop.run_until_complete(nested())
    with pytest.raises(RuntimeError, match="another loop"):
        asyncio.run(async_call(lambda: loop.run_until_complete(loop.create_future())))


async def async_call(act: Callable[[], Any]) -> Any:
    return act()


def test_stop_and_run_forever(loop: VirtualLoop) -> None:
    loop.call_later(3, loop.stop)
    loop.run_forever()
    assert loop.time() == 3
    loop.call_later(1, loop.stop)
    waits = loop.create_future()
    with pytest.raises(RuntimeError, match="stopped before"):
        loop.run_until_complete(waits)
    loop.run_until_complete(asyncio.sleep(1))  # The wish to stop does not last.


def test_a_runner_of_asyncio_can_drive_it() -> None:
    ended: list[str] = []

    async def waits(name: str) -> None:
        try:
            await asyncio.sleep(inf)
        finally:
            ended.append(name)

    async def main() -> float:
        for number in range(50):
            asyncio.create_task(waits(str(number)))  # noqa: RUF006 # the loop has it
        await asyncio.sleep(5)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(main()) == 5
    assert ended == [str(number) for number in range(50)]  # though all_tasks is a set


def test_tasks_and_futures_have_their_order_in_sets_too(loop: VirtualLoop) -> None:
    futures = [loop.create_future() for _ in range(100)]
    tasks = [loop.create_task(asyncio.sleep(0)) for _ in range(100)]
    assert list(set(futures)) == futures
    assert list(set(tasks)) == tasks
    assert [task.get_name() for task in tasks[:2]] == ["task-1", "task-2"]
    loop.run_until_complete(asyncio.sleep(1))


# -- hosts -------------------------------------------------------------------------------------


def test_a_crash_ends_sockets_tasks_and_timers_without_a_word(loop: VirtualLoop) -> None:
    did: list[Any] = []

    class Busy(Ear):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            super().datagram_received(data, addr)
            asyncio.ensure_future(self.work(data))  # noqa: RUF006 # as rpcudp does

        async def work(self, data: bytes) -> None:
            asyncio.get_running_loop().call_later(3, did.append, "timer")
            try:
                while True:
                    await asyncio.sleep(1)
                    did.append(data)
            finally:
                did.append("finally")

    async def main() -> None:
        victim, other = await open_on(loop, 1, Busy), await open_on(loop, 2, Ear)
        there = (ip_of(1), PORT)
        other.transport.sendto(b"go", there)
        await asyncio.sleep(2.5)
        victim.transport.sendto(b"last words", (ip_of(2), PORT))
        other.transport.sendto(b"too late", there)
        loop.close_host(1)
        victim.transport.sendto(b"dead", (ip_of(2), PORT))
        await asyncio.sleep(10)
        assert did == [b"go", b"go"]
        assert victim.log == ["made"]
        assert [data for _, data, _ in other.heard] == [b"last words"]
        again = await open_on(loop, 1, Ear)  # The port is free, and a new life begins.
        other.transport.sendto(b"hello", there)
        await asyncio.sleep(1)
        assert [data for _, data, _ in again.heard] == [b"hello"]
        assert [data for _, data, _ in victim.heard] == [b"go"]

    loop.run_until_complete(main())
    loop.close()
    assert did == [b"go", b"go", "finally"]  # when the loop is closed, and not before


def test_the_last_step_of_a_host_that_ends_itself_reaches_nothing(loop: VirtualLoop) -> None:
    codes: list[int | None] = []

    async def suicide() -> None:
        loop.close_host(1)
        try:
            await open_here()
        except OSError as error:
            codes.append(error.errno)
        await asyncio.sleep(0)
        codes.append(0)

    async def open_here() -> None:
        await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", PORT))

    with loop.host(1):
        loop.create_task(suicide())
    loop.run_until_complete(asyncio.sleep(1))
    assert codes == [errno.ENETDOWN]
    assert loop.datagrams.bound(1) == []


def test_the_failures_of_the_dead_are_not_told() -> None:
    with new_loop() as loop:

        async def main() -> None:
            with loop.host(1):
                loop.create_task(fails())
                loop.create_task(asyncio.sleep(5))
            await asyncio.sleep(1)
            loop.close_host(1)

        loop.run_until_complete(main())


def test_what_was_to_happen_soon_does_not_after_a_crash(loop: VirtualLoop) -> None:
    seen: list[str] = []
    with loop.host(1):
        loop.call_soon(seen.append, "dead")
    with loop.host(2):
        loop.call_soon(seen.append, "alive")
    loop.close_host(1)
    loop.run_until_complete(asyncio.sleep(1))
    assert seen == ["alive"]


def test_what_a_socket_starts_is_its_hosts_whoever_opened_it(loop: VirtualLoop) -> None:
    async def main() -> None:
        transport, protocol = await loop.create_datagram_endpoint(Rpc, local_addr=(ip_of(1), PORT))
        protocol.solve = lambda *_: fails(5)
        transport.sendto(b"x", (ip_of(1), PORT))
        await asyncio.sleep(1)
        loop.close_host(1)
        await asyncio.sleep(10)

    loop.run_until_complete(main())  # and nothing has failed


def test_the_generators_of_the_dead_are_not_closed() -> None:
    ended: list[str] = []

    async def numbers(name: str) -> AsyncGenerator[int, None]:
        try:
            yield 1
        finally:
            ended.append(name)

    async def first(name: str) -> None:
        async for _ in numbers(name):
            break

    with new_loop() as loop:
        for number in (1, 2):
            with loop.host(number):
                loop.run_until_complete(first(f"of {number}"))
        loop.close_host(1)
    assert ended == ["of 2"]


def test_a_deadlock_tells_of_the_crash_behind_it() -> None:
    with new_loop() as loop:

        async def main() -> None:
            with loop.host(1):
                task = loop.create_task(asyncio.sleep(5))
            await asyncio.sleep(1)
            loop.close_host(1)
            await task

        with pytest.raises(DeadlockError, match="1 tasks stand still"):
            loop.run_until_complete(main())
