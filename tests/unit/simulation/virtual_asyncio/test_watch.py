"""The watch over asyncio on virtual time: what stalls a run, and what fails it."""

from __future__ import annotations

import asyncio
import contextvars
import gc
from collections.abc import AsyncGenerator
from math import inf
from typing import Any

import pytest

from camcast.simulation.network import VirtualNetwork
from camcast.simulation.virtual_asyncio import loop as virtual_loop
from camcast.simulation.virtual_asyncio.loop import VirtualLoop
from camcast.simulation.virtual_asyncio.watch import (
    DeadlockError,
    LivelockError,
    StalledError,
    TimeLimitError,
    UnhandledError,
)
from tests.unit.simulation.virtual_asyncio.virtual_asyncio import (
    beside,
    fails,
    new_loop,
    waits_for_ever,
)

# -- what stalls -------------------------------------------------------------------------------


def test_a_deadlock_says_who_waits_and_where() -> None:
    async def main() -> None:
        event = asyncio.Event()
        asyncio.create_task(waits_for_ever(event), name="a waiter")  # noqa: RUF006 # the loop has it
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
        asyncio.create_task(fails())  # noqa: RUF006 # it is to be lost
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
