"""The asyncio loop on virtual time: what works unchanged, what is refused, what fails a run."""

from __future__ import annotations

import asyncio
import contextvars
import errno
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from math import inf
from pathlib import Path
from typing import Any

import pytest

from camcast.simulation import virtual_loop
from camcast.simulation.network import VirtualNetwork
from camcast.simulation.virtual_datagrams import (
    DATAGRAM_BYTES_MAX,
    DatagramNetwork,
    VirtualSocket,
    ip_of,
    number_of,
)
from camcast.simulation.virtual_fence import FencedLoop, LeavesSimulationError
from camcast.simulation.virtual_loop import VirtualLoop
from camcast.simulation.virtual_watch import (
    DeadlockError,
    LivelockError,
    StalledError,
    TimeLimitError,
    UnhandledError,
)
from camcast.simulation.weather import Climate, Constant, Cut, Uniform

PORT = 8468


def new_loop(climate: Climate | None = None, **options: Any) -> VirtualLoop:
    return beside(VirtualNetwork(seed=7, climate=climate), **options)


def beside(network: VirtualNetwork, **options: Any) -> VirtualLoop:
    return VirtualLoop(DatagramNetwork(network.queue, network.weather), **options)


@pytest.fixture
def loop() -> Iterator[VirtualLoop]:
    with new_loop() as loop:
        yield loop


async def fails(after: float = 0.0, error: type[BaseException] = ZeroDivisionError) -> None:
    await asyncio.sleep(after)
    raise error("lost")


class Ear(asyncio.DatagramProtocol):
    """Writes down all that it is told."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.log: list[str] = []

    def connection_made(self, transport: Any) -> None:
        self.transport: VirtualSocket = transport
        self.log.append("made")

    def datagram_received(self, data: bytes, addr: Any) -> None:
        now = asyncio.get_running_loop().time()
        self.heard.append((round(now, 6), data, addr))

    def error_received(self, exc: Exception) -> None:
        assert isinstance(exc, OSError)
        self.log.append(errno.errorcode[exc.errno or 0])

    def connection_lost(self, exc: Exception | None) -> None:
        self.log.append(f"lost {exc!r}")


class Rpc(asyncio.DatagramProtocol):
    """Requests, responses and timeouts, in the way of rpcudp."""

    wait_seconds = 5.0

    def __init__(self) -> None:
        self.asked: dict[int, tuple[asyncio.Future[Any], asyncio.TimerHandle]] = {}
        self.last = 0
        self.answered = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def datagram_received(self, data: bytes, addr: Any) -> None:
        _ = asyncio.ensure_future(self.solve(data, addr))  # noqa: RUF006 # as rpcudp does

    async def solve(self, data: bytes, addr: Any) -> None:
        kind, number, payload = data[:1], int.from_bytes(data[1:5]), data[5:]
        if kind == b"?":
            self.answered += 1
            self.transport.sendto(b"!" + data[1:5] + payload.upper(), addr)
        elif number in self.asked:
            future, timer = self.asked.pop(number)
            timer.cancel()
            if not future.done():  # as rpcudp forgets to ask
                future.set_result(payload)

    def ask(self, addr: Any, payload: bytes) -> asyncio.Future[Any]:
        loop = asyncio.get_event_loop()
        self.last += 1
        self.transport.sendto(b"?" + self.last.to_bytes(4) + payload, addr)
        timer = loop.call_later(self.wait_seconds, self.give_up, self.last)
        future = loop.create_future()
        self.asked[self.last] = (future, timer)
        return future

    def give_up(self, number: int) -> None:
        future, _ = self.asked.pop(number)
        if not future.done():
            future.set_result(None)


async def open_on(loop: VirtualLoop, number: int, kind: Callable[[], Any], port: int = PORT) -> Any:
    with loop.host(number):
        _, protocol = await loop.create_datagram_endpoint(kind, local_addr=("0.0.0.0", port))
    return protocol


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
            asyncio.create_task(waits(str(number)))  # noqa: RUF006
        await asyncio.sleep(5)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(main()) == 5
    assert ended == [str(number) for number in range(50)]  # though all_tasks is a set


# -- what stalls -------------------------------------------------------------------------------


async def waits_for_ever(event: asyncio.Event) -> None:
    await event.wait()


def test_a_deadlock_says_who_waits_and_where() -> None:
    async def main() -> None:
        event = asyncio.Event()
        asyncio.create_task(waits_for_ever(event), name="a waiter")  # noqa: RUF006
        await asyncio.sleep(1)
        asyncio.get_running_loop().call_later(3600, print).cancel()
        await asyncio.get_running_loop().create_future()

    with new_loop() as loop:
        with pytest.raises(DeadlockError) as caught:
            loop.run_until_complete(main())
        assert loop.time() == 1  # A cancelled timer is nothing that is to come.
    said = str(caught.value)
    here = main.__code__
    assert "t=1.000000 s: nothing is to come" in said
    assert "2 tasks wait:\n  task-1\n" in said
    assert f'File "{here.co_filename}", line {here.co_firstlineno + 5}, in main' in said
    assert "  a waiter\n" in said
    line = waits_for_ever.__code__.co_firstlineno + 1
    assert f"line {line}, in waits_for_ever" in said
    assert said.index("waits_for_ever") < said.index("locks.py")


def test_a_sleep_without_end_is_nothing_to_come() -> None:
    with new_loop() as loop, pytest.raises(DeadlockError):
        loop.run_until_complete(asyncio.sleep(inf))


def test_a_deadlock_names_the_failure_that_explains_it() -> None:
    async def main() -> None:
        asyncio.create_task(fails())  # noqa: RUF006
        await asyncio.Event().wait()

    with new_loop() as loop, pytest.raises(DeadlockError, match=r"task-2, fails\).*'lost'"):
        loop.run_until_complete(main())


def test_run_forever_ends_in_a_deadlock_if_nobody_can_stop_it(loop: VirtualLoop) -> None:
    loop.call_later(1, int)
    with pytest.raises(DeadlockError, match="stop"):
        loop.run_forever()


def test_virtual_time_can_be_limited() -> None:
    def again() -> None:
        asyncio.get_running_loop().call_later(1, again)

    with new_loop(run_seconds_max=100) as loop:
        loop.run_until_complete(asyncio.sleep(99))
        loop.run_until_complete(asyncio.sleep(99))  # The limit is one of each run.
        loop.call_soon(again)
        with pytest.raises(TimeLimitError, match=r"100 s have passed.*\n1 tasks wait"):
            loop.run_until_complete(asyncio.Event().wait())
        assert 297 <= loop.time() <= 298


def test_polling_in_no_time_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def poll() -> None:
        while True:
            await asyncio.sleep(0)

    monkeypatch.setattr(virtual_loop, "HAPPENINGS_AT_ONCE_MAX", 1000)
    with new_loop() as loop, pytest.raises(LivelockError, match="in poll"):
        loop.run_until_complete(poll())
    assert issubclass(LivelockError, StalledError)


# -- what leaves the simulation ----------------------------------------------------------------

REFUSED = [name for name, value in vars(FencedLoop).items() if callable(value)]


@pytest.mark.parametrize("name", REFUSED)
def test_what_leaves_the_simulation_is_refused_by_name(loop: VirtualLoop, name: str) -> None:
    with pytest.raises(LeavesSimulationError, match=rf"^{name} leaves the simulation"):
        getattr(loop, name)(None, None, key=1)


def test_every_call_of_an_event_loop_is_answered_or_refused() -> None:
    calls = [name for name in dir(asyncio.AbstractEventLoop) if not name.startswith("_")]
    undecided = [
        name
        for name in [*calls, "_timer_handle_cancelled"]
        if getattr(VirtualLoop, name) is getattr(asyncio.AbstractEventLoop, name)
    ]
    assert undecided == []
    assert len(REFUSED) >= 29


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: asyncio.open_connection("10.0.0.1", 80),
        lambda: asyncio.start_server(print, "10.0.0.1", 80),
        lambda: asyncio.to_thread(print),
        lambda: asyncio.create_subprocess_exec("true"),
        lambda: asyncio.get_running_loop().getaddrinfo("example.org", 80),
    ],
)
def test_what_parts_call_leaves_too(loop: VirtualLoop, attempt: Callable[[], Any]) -> None:
    async def main() -> None:
        await attempt()

    with pytest.raises(LeavesSimulationError):
        loop.run_until_complete(main())


def test_a_numeric_address_is_looked_up_without_leaving(loop: VirtualLoop) -> None:
    [answer] = loop.run_until_complete(loop.getaddrinfo("10.0.0.7", 80))
    assert answer[-1] == ("10.0.0.7", 80)


def test_another_thread_fails_the_run_and_this_one_may_call() -> None:
    raised: list[BaseException] = []

    def call(loop: VirtualLoop) -> None:
        try:
            loop.call_soon_threadsafe(print)
        except LeavesSimulationError as error:
            raised.append(error)

    with new_loop() as loop:
        seen: list[int] = []
        loop.call_soon_threadsafe(seen.append, 1)
        loop.run_until_complete(asyncio.sleep(0))
        assert seen == [1]
        thread = threading.Thread(target=call, args=(loop,))
        thread.start()
        thread.join()
        with pytest.raises(UnhandledError, match="from another thread"):
            loop.run_until_complete(asyncio.sleep(0))
    assert "threads run in any order" in str(raised[0])


# -- what fails --------------------------------------------------------------------------------


def test_an_exception_in_a_callback_is_raised_at_once() -> None:
    with new_loop() as loop:
        loop.call_later(1, lambda: 1 // 0)
        with pytest.raises(UnhandledError, match=r"(?s)t=1\.0.*Exception in callback") as caught:
            loop.run_until_complete(asyncio.sleep(2))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert loop.time() == 1


def test_an_exception_in_a_callback_is_raised_by_the_network_that_steps_it() -> None:
    network = VirtualNetwork()
    with beside(network) as loop:
        loop.call_later(1, lambda: 1 // 0)
        with pytest.raises(UnhandledError):
            network.run(2)
        network.run(2)  # It is told once.


def test_the_exception_of_the_awaited_is_raised_as_it_is(loop: VirtualLoop) -> None:
    with pytest.raises(ZeroDivisionError):
        loop.run_until_complete(fails(1))


def test_a_lost_task_fails_the_run_when_it_ends() -> None:
    async def main(lost: bool) -> None:
        task = asyncio.create_task(fails(1))
        await asyncio.sleep(2)
        if not lost:
            with pytest.raises(ZeroDivisionError):
                await task

    with new_loop() as loop:
        loop.run_until_complete(main(lost=False))
        with pytest.raises(UnhandledError, match=r"task-4, .*fails") as caught:
            loop.run_until_complete(main(lost=True))
        assert isinstance(caught.value.__cause__, ZeroDivisionError)
        loop.check()  # It is told once.


@pytest.mark.parametrize("collect", [False, True], ids=["not collected", "collected"])
def test_a_lost_task_is_not_lost_with_its_last_reference(collect: bool) -> None:
    network = VirtualNetwork()
    loop = beside(network)
    loop.create_task(fails(1))
    network.run(2)
    if collect:
        gc.collect()
    with pytest.raises(UnhandledError, match="never retrieved"):
        loop.close()
    assert loop.is_closed()


def test_a_lost_future_fails_the_run() -> None:
    with new_loop() as loop:
        future = loop.create_future()
        future.set_exception(ZeroDivisionError())
        with pytest.raises(UnhandledError, match="Future exception was never retrieved"):
            loop.run_until_complete(asyncio.sleep(0))


def test_a_lost_gather_fails_the_run() -> None:
    async def main() -> None:
        asyncio.gather(fails(), asyncio.sleep(0))
        await asyncio.sleep(0.5)
        await asyncio.sleep(0.5)

    with new_loop() as loop:
        with pytest.raises(UnhandledError, match="never retrieved"):
            loop.run_until_complete(main())
        assert loop.time() == 1  # at the end: when it was freed is no matter


def test_many_failed_and_finished_tasks_are_remembered_and_forgotten() -> None:
    async def main() -> None:
        lost = asyncio.create_task(fails())
        for _ in range(5000):
            await asyncio.create_task(asyncio.sleep(0.001))
        assert lost.done()
        del lost

    with new_loop() as loop:
        with pytest.raises(UnhandledError, match="task-2, "):
            loop.run_until_complete(main())
        assert len(loop._watch._futures) < 2000


def test_pending_tasks_fail_the_close() -> None:
    loop = new_loop()
    loop.create_task(waits_for_ever(asyncio.Event()), name="forgotten")
    loop.create_task(asyncio.sleep(0), name="not begun")
    with pytest.raises(UnhandledError) as caught:
        loop.close()
    assert "forgotten is pending at" in str(caught.value)
    assert str(caught.value).index("forgotten") < str(caught.value).index("not begun is pending")
    loop.close()  # It is told once.
    with pytest.raises(RuntimeError, match="closed"):
        loop.call_soon(print)


def test_what_a_closed_loop_left_in_the_queue_does_not_happen() -> None:
    network = VirtualNetwork()
    seen: list[str] = []
    with beside(network) as loop:
        loop.call_later(1, seen.append, "timer")
        loop.call_soon(seen.append, "soon")
    network.run(2)
    assert seen == ["soon"]  # It happened while the generators were closed.


def test_leaving_the_context_is_strict_after_success_and_silent_after_an_exception() -> None:
    with pytest.raises(UnhandledError, match="pending"), new_loop() as loop:
        loop.create_task(asyncio.sleep(1))
    loop = new_loop()
    loop.create_task(asyncio.sleep(1))
    with pytest.raises(LookupError), loop:
        raise LookupError
    assert loop.is_closed()


def test_tasks_are_cancelled_in_the_order_of_their_creation(loop: VirtualLoop) -> None:
    ended: list[int] = []

    async def waits(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(1)
            ended.append(number)

    for number in range(20):
        loop.create_task(waits(number))
    loop.run_until_complete(asyncio.sleep(1))
    loop.cancel_tasks()
    assert ended == list(range(20))
    assert loop.time() == 2


def test_an_exception_handler_is_told_instead() -> None:
    told: list[str] = []
    with new_loop() as loop:
        loop.set_exception_handler(lambda _, context: told.append(context["message"]))
        loop.call_soon(lambda: 1 // 0)
        loop.create_task(fails(1))
        loop.run_until_complete(asyncio.sleep(2))
        assert loop.get_exception_handler() is not None
        loop.set_exception_handler(lambda _, _context: 1 // 0)
        loop.call_soon(lambda: 1 // 0)
        with pytest.raises(UnhandledError, match="in the exception handler"):
            loop.run_until_complete(asyncio.sleep(1))
    assert told[0].startswith("Exception in callback")
    assert told[1:] == ["Task exception was never retrieved"]


@pytest.mark.parametrize("passing", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_passes_through(passing: type[BaseException]) -> None:
    def interrupt() -> None:
        raise passing

    with new_loop() as loop:
        loop.call_later(1, interrupt)
        with pytest.raises(passing):
            loop.run_until_complete(asyncio.sleep(2))
        loop.create_task(fails(1, passing))
        loop.cancel_tasks()
    network = VirtualNetwork()
    with beside(network) as loop:
        loop.create_task(fails(1, passing))
        with pytest.raises(passing):
            network.run(2)


def test_a_task_factory_is_used_and_its_tasks_watched() -> None:
    def factory(loop: Any, coro: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(coro, loop=loop, **options)

    with new_loop() as loop:
        loop.set_task_factory(factory)
        assert loop.get_task_factory() is factory
        task = loop.create_task(fails(), name="ours", context=contextvars.copy_context())
        assert type(task) is asyncio.Task
        with pytest.raises(UnhandledError, match="ours"):
            loop.run_until_complete(asyncio.sleep(1))


def test_coroutines_that_were_left_are_ended_in_order_when_the_loop_is_closed() -> None:
    ended: list[Any] = []

    async def waits(number: int) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await asyncio.sleep(0)  # which asks for no loop
            finally:
                ended.append(number)

    told: list[Any] = []
    loop = new_loop()
    tasks = [loop.create_task(waits(number)) for number in range(5)]
    loop.queue.run_until(1)
    with pytest.raises(UnhandledError):
        loop.close()
    assert ended == [0, 1, 2, 3, 4]
    loop.set_exception_handler(lambda *_: told.append(_))
    del tasks
    gc.collect()
    assert told == []  # and nothing is left to warn about


# -- asynchronous generators -------------------------------------------------------------------


def test_generators_are_closed_in_the_order_of_their_first_steps() -> None:
    ended: list[Any] = []

    async def numbers(name: int) -> AsyncGenerator[int, None]:
        try:
            for number in range(3):
                yield number
        finally:
            await asyncio.sleep(0.1)
            ended.append(name)

    async def main() -> None:
        generators = [numbers(name) for name in range(20)]
        for generator in reversed(generators):
            await anext(generator)
        async for _ in generators[5]:
            pass
        assert ended == [5]
        del generators[:], generator
        gc.collect()
        await asyncio.sleep(1)
        assert ended == [5]  # not by the garbage collector

    with new_loop() as loop:
        loop.run_until_complete(main())
    assert ended == [5, *(name for name in reversed(range(20)) if name != 5)]


def test_exhausted_generators_are_forgotten(loop: VirtualLoop) -> None:
    async def numbers() -> AsyncGenerator[int, None]:
        yield 1

    async def main() -> None:
        for _ in range(5000):
            async for _ in numbers():
                pass

    loop.run_until_complete(main())
    assert len(loop._watch._generators) < 2000


def test_a_generator_that_fails_to_close_fails_the_run() -> None:
    async def bad() -> AsyncGenerator[int, None]:
        try:
            yield 1
        finally:
            raise ZeroDivisionError

    async def main() -> None:
        async for _ in bad():
            break

    with new_loop() as loop:
        loop.run_until_complete(main())
        with pytest.raises(UnhandledError, match="closing the asynchronous generator"):
            loop.run_until_complete(loop.shutdown_asyncgens())


# -- datagrams ---------------------------------------------------------------------------------


def test_addresses_and_numbers_are_each_others_inverse() -> None:
    assert [ip_of(number) for number in (0, 1, 255)] == ["10.0.0.1", "10.0.0.2", "10.0.1.0"]
    assert all(number_of(ip_of(number)) == number for number in range(0, 1 << 20, 997))
    assert number_of("10.0.0.0") is number_of("10.255.255.255") is number_of("127.0.0.1") is None


def test_a_datagram_crosses_the_weather(loop: VirtualLoop) -> None:
    async def main() -> None:
        one, two = await open_on(loop, 1, Ear), await open_on(loop, 2, Ear, 99)
        data = bytearray(b"hello")
        one.transport.sendto(data, (ip_of(2), 99))
        data[:] = b"later"
        two.transport.sendto(b"back", (ip_of(1), PORT))
        await asyncio.sleep(1)
        assert two.heard == [(0.01, b"hello", (ip_of(1), PORT))]
        assert one.heard == [(0.01, b"back", (ip_of(2), 99))]
        assert one.transport.get_extra_info("sockname") == ("0.0.0.0", PORT)
        assert one.transport.get_extra_info("peername") is None
        assert one.transport.get_extra_info("socket", "none") == "none"
        assert "host 1" in repr(one.transport)

    loop.run_until_complete(main())
    assert (loop.datagrams.sent, loop.datagrams.received) == (2, 2)


def test_bad_weather_loses_delays_and_duplicates() -> None:
    climate = Climate(latency=Uniform(0.01, 0.5), loss=0.3, duplication=0.2)
    with new_loop(climate) as loop:
        ear = loop.run_until_complete(open_on(loop, 1, Ear))
        mouth = loop.run_until_complete(open_on(loop, 2, Ear))
        for number in range(1000):
            mouth.transport.sendto(number.to_bytes(2), (ip_of(1), PORT))
        loop.run_until_complete(asyncio.sleep(1))
        numbers = [int.from_bytes(data) for _, data, _ in ear.heard]
        times = [heard_at for heard_at, _, _ in ear.heard]
        assert 600 < len(dict.fromkeys(numbers)) < 800
        assert 60 < len(numbers) - len(dict.fromkeys(numbers)) < 220
        assert times == sorted(times)
        assert 0.01 <= times[0] < 0.02 < 0.49 < times[-1] <= 0.5
        assert numbers != sorted(numbers)


def test_ping_pong_through_bad_weather_with_timeouts() -> None:
    async def main(loop: VirtualLoop) -> list[Any]:
        one, two = await open_on(loop, 1, Rpc), await open_on(loop, 2, Rpc)
        answers = [await one.ask((ip_of(2), PORT), b"ping") for _ in range(200)]
        await asyncio.sleep(10)  # for the stragglers
        assert one.asked == {}
        return [answers.count(b"PING"), answers.count(None), two.answered]

    with new_loop(Climate(latency=Uniform(0.01, 0.1), loss=0.2, duplication=0.1)) as loop:
        answered, unanswered, solved = loop.run_until_complete(main(loop))
        assert answered + unanswered == 200
        assert 100 < answered < 155  # 0.64 of 200, within 4 standard deviations
        assert 130 < solved < 215
        assert loop.time() > unanswered * Rpc.wait_seconds


def test_a_cut_parts_hosts_until_it_heals() -> None:
    network = VirtualNetwork()
    with beside(network) as loop:

        async def main() -> None:
            one, two = await open_on(loop, 1, Rpc), await open_on(loop, 2, Rpc)
            there = (ip_of(2), PORT)
            assert await one.ask(there, b"a") == b"A"
            cut = Cut(one_side=[1], other_side=[2], one_way=True)
            network.weather.cuts.append(cut)
            assert await one.ask(there, b"b") is None
            assert (two.answered, network.weather.lost) == (1, 1)
            network.weather.cuts.remove(cut)
            assert await one.ask(there, b"c") == b"C"

        loop.run_until_complete(main())
        assert loop.time() == pytest.approx(5.04)


def test_ports_are_given_and_refused(loop: VirtualLoop) -> None:
    async def refused(address: Any, **options: Any) -> Any:
        with pytest.raises((OSError, OverflowError, TypeError, ValueError)) as caught:
            await loop.create_datagram_endpoint(Ear, local_addr=address, **options)
        return getattr(caught.value, "errno", type(caught.value))

    async def main() -> None:
        with loop.host(1):
            free = [
                (await loop.create_datagram_endpoint(Ear, local_addr=(ip, 0)))[0]
                for ip in ("0.0.0.0", "", ip_of(1))
            ]
            ports = [transport.get_extra_info("sockname")[1] for transport in free]
            assert ports == [49152, 49153, 49154]
            assert loop.datagrams.bound(1) == ports
            assert await refused(("0.0.0.0", 49153)) == errno.EADDRINUSE
            assert await refused((ip_of(1), 49153)) == errno.EADDRINUSE
            assert await refused((ip_of(2), 49153)) == errno.EADDRNOTAVAIL
            assert await refused(("192.168.0.1", 1)) == errno.EADDRNOTAVAIL
            assert await refused(("::", 1)) == errno.EAFNOSUPPORT
            assert await refused(("0.0.0.0", 65536)) is OverflowError
            assert await refused(("0.0.0.0", None)) is TypeError
            assert await refused("0.0.0.0") is TypeError
            assert await refused(None) is ValueError
        with loop.host(2):
            await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", 49153))
        free[1].close()
        free[2].close()
        assert free[1].is_closing()
        with loop.host(1):
            assert await refused(("0.0.0.0", 49153)) == errno.EADDRINUSE  # till it is told
            await asyncio.sleep(0)
            again, _ = await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", 49153))
            later, _ = await loop.create_datagram_endpoint(Ear, local_addr=("0.0.0.0", 0))
        assert again.get_extra_info("sockname") == ("0.0.0.0", 49153)
        assert later.get_extra_info("sockname") == ("0.0.0.0", 49155)

    loop.run_until_complete(main())


@pytest.mark.parametrize(
    ("address", "options", "said"),
    [
        (("0.0.0.0", 1), {}, "on behalf of which host"),
        ((ip_of(1), 1), {"remote_addr": ("localhost", 1)}, "looking up the name 'localhost'"),
        (("localhost", 1), {}, "looking up the name 'localhost'"),
        (("10.0.0.1", 1), {"sock": object()}, "sock="),
        (("10.0.0.1", 1), {"reuse_port": True}, "reuse_port="),
        (("10.0.0.1", 1), {"family": 99}, "family="),
    ],
)
def test_what_no_simulated_socket_can_do_leaves(
    loop: VirtualLoop, address: Any, options: Any, said: str
) -> None:
    with pytest.raises(LeavesSimulationError, match=said):
        loop.run_until_complete(
            loop.create_datagram_endpoint(Ear, local_addr=address, **options),
        )


def test_the_address_says_whose_a_socket_is(loop: VirtualLoop) -> None:
    async def main() -> None:
        transport, _ = await loop.create_datagram_endpoint(Ear, local_addr=(ip_of(9), 1))
        assert isinstance(transport, VirtualSocket)
        assert transport.host.number == 9

    loop.run_until_complete(main())


def test_a_datagram_too_long_is_an_error_received(loop: VirtualLoop) -> None:
    async def main() -> None:
        one, two = await open_on(loop, 1, Ear), await open_on(loop, 2, Ear)
        there = (ip_of(2), PORT)
        one.transport.sendto(bytes(DATAGRAM_BYTES_MAX), there)
        one.transport.sendto(memoryview(bytes(DATAGRAM_BYTES_MAX + 1)), there)
        one.transport.sendto(b"", (ip_of(2), 0))
        one.transport.sendto(b"", ("::1", 1))
        with pytest.raises(TypeError, match="bytes-like"):
            one.transport.sendto("text", there)
        await asyncio.sleep(1)
        assert one.log == ["made", "EMSGSIZE", "EINVAL", "EAFNOSUPPORT"]
        assert [len(data) for _, data, _ in two.heard] == [DATAGRAM_BYTES_MAX]
        with pytest.raises(LeavesSimulationError, match=r"the name 'example\.org'"):
            one.transport.sendto(b"", ("example.org", 1))

    loop.run_until_complete(main())


def test_what_is_sent_to_nobody_vanishes(loop: VirtualLoop) -> None:
    async def main() -> None:
        one = await open_on(loop, 1, Ear)
        for address in ((ip_of(1), 1), (ip_of(77), PORT), ("127.0.0.1", 1), ("8.8.8.8", 53)):
            one.transport.sendto(b"?", address)
        await asyncio.sleep(1)
        assert one.log == ["made"]
        assert (loop.datagrams.sent, loop.datagrams.undeliverable) == (4, 4)

    loop.run_until_complete(main())


@pytest.mark.parametrize("address", [(ip_of(2), 65536), (ip_of(2), None), (5, 5), None, [1, 2]])
def test_an_address_that_is_none_closes_the_socket_as_in_asyncio(address: Any) -> None:
    with new_loop() as loop:
        ear = loop.run_until_complete(open_on(loop, 1, Ear))
        loop.call_soon(ear.transport.sendto, b"?", address)
        with pytest.raises(UnhandledError, match="Fatal write error"):
            loop.run_until_complete(asyncio.sleep(1))
        assert ear.transport.is_closing()
        loop.run_until_complete(asyncio.sleep(1))
        assert ear.log[1].startswith(("lost TypeError", "lost OverflowError"))


def test_close_and_abort_tell_the_protocol_soon_and_end_all(loop: VirtualLoop) -> None:
    async def main() -> None:
        one, two = await open_on(loop, 1, Ear), await open_on(loop, 2, Ear)
        two.transport.sendto(b"too late", (ip_of(1), PORT))
        one.transport.close()
        one.transport.abort()
        one.transport.sendto(b"dropped", (ip_of(2), PORT))
        assert one.log == ["made"]
        await asyncio.sleep(1)
        assert one.log == ["made", "lost None"]
        assert (one.heard, two.heard) == ([], [])
        assert loop.datagrams.bound(1) == []

    loop.run_until_complete(main())


def test_a_closed_socket_hears_nothing_of_the_same_instant(loop: VirtualLoop) -> None:
    ear = loop.run_until_complete(open_on(loop, 1, Ear))
    ear.transport.close()
    loop.datagrams._arrive(1, PORT, b"x", (ip_of(2), PORT))
    loop.run_until_complete(asyncio.sleep(1))
    assert ear.heard == []
    assert loop.datagrams.undeliverable == 1


def test_who_is_cancelled_while_binding_holds_no_port(loop: VirtualLoop) -> None:
    async def main() -> None:
        task = loop.create_task(open_on(loop, 1, Ear))
        await asyncio.sleep(0)
        assert loop.datagrams.bound(1) == [PORT]
        task.cancel()
        await asyncio.sleep(1)
        assert loop.datagrams.bound(1) == []

    loop.run_until_complete(main())


def test_a_connected_socket_hears_and_reaches_its_peer_alone(loop: VirtualLoop) -> None:
    async def main() -> None:
        peer, other = await open_on(loop, 2, Ear), await open_on(loop, 3, Ear)
        there = (ip_of(2), PORT)
        with loop.host(1):
            transport, ear = await loop.create_datagram_endpoint(Ear, remote_addr=there)
        assert transport.get_extra_info("peername") == there
        transport.sendto(b"a")
        transport.sendto(b"b", there)
        with pytest.raises(ValueError, match="must be None or"):
            transport.sendto(b"c", (ip_of(3), PORT))
        mine = (ip_of(1), transport.get_extra_info("sockname")[1])
        peer.transport.sendto(b"heard", mine)
        other.transport.sendto(b"not heard", mine)
        await asyncio.sleep(1)
        assert [data for _, data, _ in peer.heard] == [b"a", b"b"]
        assert [data for _, data, _ in ear.heard] == [b"heard"]

    loop.run_until_complete(main())


def test_nothing_is_received_before_the_connection_is_made() -> None:
    """A datagram that arrives at the very moment of the binding waits in line."""
    network = VirtualNetwork(climate=Climate(latency=Constant(1.0)))
    with beside(network) as loop:
        log: list[str] = []

        class Orderly(asyncio.DatagramProtocol):
            def connection_made(self, transport: Any) -> None:
                log.append("made")

            def datagram_received(self, data: bytes, addr: Any) -> None:
                log.append("received")

        def bind() -> None:
            place = (ip_of(1), PORT)
            loop.create_task(loop.create_datagram_endpoint(Orderly, local_addr=place))
            # In line behind the task, which binds, and before what the task then calls soon.
            network.queue.at(1.0, loop.datagrams._arrive, 1, PORT, b"", (ip_of(2), PORT))

        network.queue.at(1.0, bind)
        network.run(3)
        assert log == ["made", "received"]


def test_an_exception_in_a_protocol_fails_the_run() -> None:
    class Bad(Ear):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            raise ZeroDivisionError

    with new_loop() as loop:
        bad = loop.run_until_complete(open_on(loop, 1, Bad))
        bad.transport.sendto(b"x", (ip_of(1), PORT))
        with pytest.raises(UnhandledError, match="datagram_received"):
            loop.run_until_complete(asyncio.sleep(1))


# -- hosts -------------------------------------------------------------------------------------


def test_a_crash_ends_sockets_tasks_and_timers_without_a_word(loop: VirtualLoop) -> None:
    did: list[Any] = []

    class Busy(Ear):
        def datagram_received(self, data: bytes, addr: Any) -> None:
            super().datagram_received(data, addr)
            asyncio.ensure_future(self.work(data))  # noqa: RUF006

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


# -- replay ------------------------------------------------------------------------------------


def test_tasks_and_futures_have_their_order_in_sets_too(loop: VirtualLoop) -> None:
    futures = [loop.create_future() for _ in range(100)]
    tasks = [loop.create_task(asyncio.sleep(0)) for _ in range(100)]
    assert list(set(futures)) == futures
    assert list(set(tasks)) == tasks
    assert [task.get_name() for task in tasks[:2]] == ["task-1", "task-2"]
    loop.run_until_complete(asyncio.sleep(1))


@pytest.mark.parametrize("change", ["nothing", "data", "port", "time"])
def test_the_checksum_is_over_what_is_sent_when_and_where(change: str) -> None:
    sums = []
    for changed in ("nothing", change):
        with new_loop() as loop:
            ear = loop.run_until_complete(open_on(loop, 1, Ear))
            loop.run_until_complete(asyncio.sleep(2 if changed == "time" else 1))
            data = b"b" if changed == "data" else b"a"
            ear.transport.sendto(data, (ip_of(2), 2 if changed == "port" else 1))
            loop.run_until_complete(asyncio.sleep(1))
            sums.append(loop.datagrams.checksum)
    assert (sums[0] == sums[1]) == (change == "nothing")


SCENARIO = """
import asyncio
from camcast.simulation.virtual_datagrams import ip_of
from camcast.simulation.weather import Climate, Uniform
from tests.simulation.test_virtual_loop import PORT, Rpc, new_loop, open_on

climate = Climate(latency=Uniform(0.0, 0.1), loss=0.1, duplication=0.1, reordering=0.1)
log = []

async def chat(loop, protocol, number):
    try:
        for step in range(20):
            other = (ip_of((number * 7 + step) % 10), PORT)
            log.append((loop.time(), number, await protocol.ask(other, b"%d" % step)))
    finally:
        log.append(asyncio.current_task().get_name())

async def main(loop):
    protocols = [await open_on(loop, number, Rpc) for number in range(10)]
    chats = [loop.create_task(chat(loop, p, number)) for number, p in enumerate(protocols)]
    done, pending = await asyncio.wait(chats, timeout=6)
    log.extend(task.get_name() for task in [*done, *pending])  # These are sets,
    for task in pending:
        task.cancel()
    await asyncio.sleep(1)
    for task in asyncio.all_tasks():  # and so is this,
        log.append(task.get_name())
    try:
        async with asyncio.TaskGroup() as group:  # and so is what a group cancels.
            for number in range(50):
                group.create_task(chat(loop, protocols[number % 10], number))
            await asyncio.sleep(1)
            raise KeyError
    except* KeyError:
        pass
    await asyncio.sleep(10)

with new_loop(climate) as loop:
    loop.run_until_complete(main(loop))
print(loop.datagrams.sent, loop.datagrams.checksum, loop.queue.happened, loop.time())
for entry in log:
    print(entry)
"""


def test_every_process_and_hash_seed_plays_the_same() -> None:
    root = Path(__file__).parents[2]
    played = [
        subprocess.run(
            [sys.executable, "-c", f"_ = [object() for _ in range({seed})]\n{SCENARIO}"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)},
            cwd=root,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4711")
    ]
    assert len(played[0].splitlines()) > 150
    assert played[0] == played[1] == played[2]
