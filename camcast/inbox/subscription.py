"""Subscriptions: how events reach the application without ever holding up the forwarding.

A subscription is a feed with a bounded queue (`camcast.inbox.received.DeliveryQueue`). The
community puts batches in and goes on. The subscriber takes them out at its own speed, whole or
event by event. An event that the subscription's interest does not match never enters the queue.
When the queue is full, the chosen policy drops events, and the subscriber is told how many it
missed.

A *feed* is a bounded queue that is filled in the event loop and never holds it up. Its readers take
items at their own speed: tasks that iterate it, a coroutine callback (a task of its own) or a plain
callback (a thread of its own, so that it may block). What a callback raises is logged and does not
end the feed. Subscriptions and `camcast.inbox.changes` are feeds; their queues decide what is
dropped when they are full, and how the reader learns of it.

Several tasks may iterate one feed, and then each item goes to one of them. A task that finds the
queue empty waits in line. As long as a task waits, a task that asks for the next item joins the
line at its end, even if there are items. The tasks take turns, however short their work on an
item is.

A task that takes items which are there already, one after the other, gives the event loop a turn
every `TURN_SECONDS`: timeouts strike, and the process goes on forwarding. What is made for an item,
an instance of an event class, is made when the item was taken, outside of every lock.

The thread of a plain callback shares the queue with the event loop. The loop never waits for that
thread: what is to be queued while the thread has the queue's lock is put aside, and the thread asks
the loop to queue it. The thread waits for the loop only as long as the loop puts an item in. No
other call takes the lock, so that a signal handler, or a `__del__` that the garbage collector runs
in one of the two, never waits for itself.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from queue import SimpleQueue
from time import monotonic
from typing import Any, Final, Generic, Protocol, Self, TypeVar

from typing_extensions import override

from camcast.inbox.received import (
    DeliveryQueue,
    Gap,
    Lagged,
    Overflow,
    Received,
    ReceivedBatch,
    with_value,
)
from camcast.interests.interest import Interest
from camcast.observe.failure_log import INTERVAL_SECONDS, FailureLog
from camcast.observe.stats import SubscriptionStats
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.events import Missed
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import E

_log = logging.getLogger(__name__)

# chosen: as long as a frame waits for others at most; a twentieth of what a heartbeat may be late
TURN_SECONDS: Final = 0.005

QUEUE_LENGTH: Final = 4096  # chosen: a second of 4,000 events/s; 2 MB at 500 bytes an event
QUEUE_BYTES: Final = 1 << 26  # chosen: 64 MiB, 4,096 events of 16 KiB

EventCallback = Callable[[Received[E]], Awaitable[None] | None]
BatchCallback = Callable[[ReceivedBatch[E]], Awaitable[None] | None]
LaggedCallback = Callable[[Lagged], None]
MissedCallback = Callable[[Missed], None]

running_loop: Final = asyncio._get_running_loop
"""Returns the event loop that runs in this thread; None if there is none."""

_Added = TypeVar("_Added")
_Item = TypeVar("_Item")
_Queue = TypeVar("_Queue", bound="_HasItems")


class _HasItems(Protocol):
    def __bool__(self) -> bool: ...

    def put_back(self, taken: Any, /) -> None: ...


class Feed(Generic[_Queue, _Item]):
    """A queue with its readers; iterate it with ``async for``, unless it has a callback.

    Readers and the callback get what `take` returns, None where the queue is empty. `on_close` is
    called when the feed is closed; what it adds is still handed out. `topic` is the community's,
    for logs. Raises `TypeError` for a callback that is no function, or a generator function.
    """

    def __init__(
        self,
        on_close: Callable[[Any], None],
        queue: _Queue,
        callback: Callable[[Any], Awaitable[None] | None] | None,
        take: Callable[[], Any],
        topic: Topic,
    ) -> None:
        if callback is not None:
            _check_callback(callback)
        self.running: asyncio.Future[None] | None = None
        """With a callback: done when the callback's task or thread has ended."""
        self._on_close = on_close
        self._queue = queue
        self._callback = callback
        self._take = take
        self._closed = False
        self._topic = topic
        self._failures = FailureLog()
        self._gaps_after = 0.0
        self._lagged = self._gone = 0  # since the last warning
        self._turn_after = monotonic() + TURN_SECONDS
        self._loop = asyncio.get_running_loop()
        self._line: deque[asyncio.Future[None]] = deque()
        """A future for each task that waits, in the order in which they came."""
        self._lock = threading.Lock()
        """Held by a callback's thread while it takes, by the loop while it puts in."""
        self._aside: deque[tuple[Callable[[Any], None], Any]] = deque()
        """With a thread: what is not yet in the queue, each with the method that puts it there."""
        self._filled: SimpleQueue[None] = SimpleQueue()
        self._idle = False
        """Whether the callback's thread waits at `_filled`, or will after one more look."""
        self._threaded = callback is not None and not is_coroutine_function(callback)
        if self._threaded:
            self.running = self._loop.create_future()
            # A daemon, because a callback that hangs must not keep the process from ending.
            threading.Thread(
                target=self._run_thread, name="camcast-subscriber", daemon=True
            ).start()
        elif callback is not None:
            self.running = self._loop.create_task(self._run_task())

    @property
    def errors(self) -> int:
        """How often the callback has raised."""
        return self._failures.count

    @property
    def closed(self) -> bool:
        """Whether it has ended; what is queued can still be read."""
        return self._closed

    def close(self) -> None:
        """End it: what is queued is still handed out, then iteration ends.

        Called in another thread, such as a callback's, it ends a turn of the event loop later.
        """
        if self._closed:
            return
        if self._loop.is_running() and running_loop() is not self._loop:
            self._loop.call_soon_threadsafe(self.close)
            return
        self._on_close(self)
        self._closed = True
        self._wake_thread()
        self._wake()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> _Item:
        self._check_iterable()
        item: _Item | None = await self._next(self._take)
        if item is None:
            raise StopAsyncIteration
        made: _Item = self._made(item)
        return made

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def _add(self, put: Callable[[_Added], None], item: _Added) -> None:
        if self._closed:
            return
        if self._threaded:
            self._aside.append((put, item))
            self._put_aside()
        else:
            put(item)
            self._wake()

    def put_back(self, taken: Any) -> None:
        """Put an item that was taken back to the head of the queue: nobody got it after all.

        Called in the event loop, for a feed without a callback.
        """
        self._queue.put_back(taken)
        self._wake()

    def take_now(self, take: Callable[[], _Added | None]) -> _Added | None:
        """Take the next item, if there is one and no task waits for it; else return None."""
        return None if self._line else take()

    def _made(self, item: Any) -> Any:
        """Make of what was taken what a reader gets; called outside of the lock."""
        return item

    def _check_iterable(self) -> None:
        """Raise `CommunityError` if there is a callback, which gets all items."""
        if self._callback is not None:
            raise CommunityError("a subscription with a callback has nothing to iterate")

    def _check_loop(self) -> None:
        """Raise `CommunityError` in another event loop; any may read the rest of a closed feed."""
        if not self._closed and running_loop() is not self._loop:
            raise CommunityError(
                "items come in the event loop of the manager: iterate there, or in"
                " camcast.app.blocking"
            )

    # -- waiting -----------------------------------------------------------------------------

    async def _next(self, take: Callable[[], _Added | None]) -> _Added | None:
        """Take the next item when it is this task's turn; None at the end of the subscription."""
        self._check_loop()
        await self._give_turn()
        item = None
        if not self._line and ((item := take()) is not None or self._closed):
            return item
        while item is None:
            turn = self._loop.create_future()
            self._line.append(turn)
            try:
                await turn
                self._turn_after = monotonic() + TURN_SECONDS
                item = take()
            finally:
                self._line.remove(turn)
                self._wake()
            if self._closed:
                break
        return item

    async def _give_turn(self) -> None:
        """Give the event loop a turn, if none was given for a while."""
        if monotonic() >= self._turn_after:
            await asyncio.sleep(0)
            self._turn_after = monotonic() + TURN_SECONDS

    def _wake(self) -> None:
        """Tell the task that has waited for longest, if there is something for it."""
        line = self._line
        if line and not line[0].done() and (self._queue or self._closed):
            line[0].set_result(None)

    # -- callbacks ---------------------------------------------------------------------------

    async def _run_task(self) -> None:
        assert self._callback is not None
        callback, take = self._callback, self._take
        task = asyncio.current_task()
        assert task is not None
        while True:
            await self._give_turn()
            item = take()
            if item is None and (item := await self._next(take)) is None:
                self._log_gaps()
                return
            try:
                if isinstance(item, Gap):
                    self._report(item)
                else:
                    result = callback(self._made(item))
                    if result is not None:
                        await result
            except asyncio.CancelledError as error:
                if task.cancelling():
                    raise
                self._failed(error)  # something that the callback awaited was cancelled
            except (Exception, BaseExceptionGroup) as error:
                self._failed(error)
            except (SystemExit, KeyboardInterrupt) as error:
                if threading.current_thread() is threading.main_thread():
                    raise
                self._failed(error)  # it would end nothing but the event loop

    def _run_thread(self) -> None:
        self._hand_out()
        with suppress(RuntimeError):  # the loop has ended by now
            self._loop.call_soon_threadsafe(self._thread_ended)

    def _thread_ended(self) -> None:
        assert self.running is not None
        if not self.running.done():
            self.running.set_result(None)

    def _hand_out(self) -> None:
        assert self._callback is not None
        callback = self._callback
        while True:
            item = self._wait_in_thread()
            if item is None:
                self._log_gaps()
                return
            try:
                if isinstance(item, Gap):
                    self._report(item)
                elif _is_awaited(result := callback(self._made(item))):
                    if inspect.iscoroutine(result):
                        result.close()
                    raise TypeError(
                        f"{callback!r} returned {result!r}, which nobody awaits or iterates: make"
                        " it an `async def` itself"
                    )
            except BaseException as error:  # a SystemExit would end the thread in silence
                self._failed(error)

    def _wait_in_thread(self) -> Any:
        """Wait for the next item of a plain callback; None at the end."""
        while True:
            with self._lock:
                ended = self._closed and not self._aside  # looked at later, it would miss items
                item = self._take()
            if self._aside:  # it came meanwhile
                with suppress(RuntimeError):  # the loop has ended by now
                    self._loop.call_soon_threadsafe(self._put_aside)
            if item is not None or ended:
                return item
            if self._idle:
                self._filled.get()
            else:
                self._idle = True  # and look once more: what comes from now on wakes this thread

    def _put_aside(self) -> None:
        """Queue what was put aside; if the thread takes an item just now, it calls this again."""
        while self._aside and self._lock.acquire(blocking=False):
            try:
                while self._aside:
                    put, item = self._aside.popleft()
                    put(item)
            finally:
                self._lock.release()
        self._wake_thread()

    def _wake_thread(self) -> None:
        if self._idle:
            self._idle = False
            self._filled.put(None)

    def _report(self, gap: Gap) -> None:
        """Log items that the callback does not get: once a second at most, added up."""
        if isinstance(gap, Lagged):
            self._lagged += gap.missed
        else:
            self._gone += gap.last - gap.first + 1
        if monotonic() >= self._gaps_after:
            self._log_gaps()

    def _log_gaps(self) -> None:
        """Log how many items the callback did not get since this was logged last."""
        self._gaps_after = monotonic() + INTERVAL_SECONDS
        lagged, self._lagged = self._lagged, 0
        gone, self._gone = self._gone, 0
        name = self._name()
        if lagged:
            _log.warning(
                "the callback %s in %s was too slow and missed %d of what came",
                *(name, self._topic, lagged),
            )
        if gone:
            _log.warning(
                "the callback %s in %s misses %d events that can no longer be had",
                *(name, self._topic, gone),
            )

    def _failed(self, error: BaseException) -> None:
        said = f"the callback {self._name()} in {self._topic} raised"
        self._failures.take(said, error, monotonic())

    def _name(self) -> str:
        return getattr(self._callback, "__qualname__", None) or repr(self._callback)


class Subscription(Feed[DeliveryQueue[E], Received[E] | Gap], Generic[E]):
    """A queue of received events; made by `Community.subscribe`, closed by `unsubscribe`.

    Iterate it with ``async for``, which yields `Received`, or iterate `batches`, which yields
    `ReceivedBatch`. Both yield `Lagged` where events were dropped because the queue was full, and
    `Missed` for events that can no longer be had, and end when the subscription is closed and
    empty. Several tasks may do so, and share the events. With a callback there is nothing to
    iterate; `on_lagged` and `on_missed` then tell (without them, a warning). To `close` it is the
    same as `Community.unsubscribe`.

    Example:
        ::

            async with community.subscribe() as subscription:
                async for item in subscription:
                    print(item)
    """

    def __init__(
        self,
        on_close: Callable[[Subscription[E]], None],
        topic: Topic,
        callback: EventCallback[E] | None = None,
        *,
        on_batch: BatchCallback[E] | None = None,
        on_lagged: LaggedCallback | None = None,
        on_missed: MissedCallback | None = None,
        queue_length: int = QUEUE_LENGTH,
        queue_bytes: int = QUEUE_BYTES,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: Interest | None = None,
        own: bool = True,
        on_dropped: Callable[[Received[E] | ReceivedBatch[E]], None] = lambda _: None,
    ) -> None:
        if callback is not None and on_batch is not None:
            raise ValueError("give a callback that takes events or one that takes batches")
        for name, call in (("on_lagged", on_lagged), ("on_missed", on_missed)):
            if call is not None:
                check_plain(name, call)
                if callback is None and on_batch is None:
                    raise ValueError(
                        f"{name} goes with a callback: who iterates gets gaps as items"
                    )
        self.wants_history = False
        """Whether it gets what was published before this process became a member."""
        self.where = where
        """The interest that events have to match; None: all match."""
        self.own = own
        """Whether it gets what this process publishes."""
        self._on_lagged = on_lagged
        self._on_missed = on_missed
        queue: DeliveryQueue[E] = DeliveryQueue(queue_length, queue_bytes, overflow, on_dropped)
        take: Callable[[], Received[E] | ReceivedBatch[E] | Gap | None] = (
            queue.take_event if on_batch is None else queue.take_batch
        )
        super().__init__(on_close, queue, callback or on_batch, take, topic)

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self._queue.missed

    def stats(self) -> SubscriptionStats:
        """Return how full the queue is, and what did not get through it."""
        queue = self._queue
        return SubscriptionStats(
            where=None if self.where is None else str(self.where),
            queued_events=queue.events,
            queued_events_max=queue.events_max,
            queued_bytes=queue.bytes,
            queued_bytes_max=queue.bytes_max,
            missed=queue.missed,
            errors=self.errors,
        )

    def put(self, delivery: Received[E] | ReceivedBatch[E]) -> None:
        """Queue an event that came alone, or a batch, dropping by the policy; never waits.

        Called by the community, with the events that match `where`.
        """
        self._add(self._queue.put, delivery)

    def tell(self, missed: Missed) -> None:
        """Queue what can no longer be had; called by the community."""
        self._add(self._queue.tell, missed)

    def batches(self) -> AsyncIterator[ReceivedBatch[E] | Gap]:
        """Iterate by the batch, as events travel: where there are many, cheaper than one by one."""
        self._check_iterable()
        return _Batches(self)

    @override
    async def __anext__(self) -> Received[E] | Gap:
        queue = self._queue
        if (  # spares the calls of `Feed`
            queue.opened
            and not queue.gap
            and not self._line
            and self._callback is None
            and monotonic() < self._turn_after
            and running_loop() is self._loop
        ):
            event = queue.opened.popleft()
            return with_value(event) if queue.undecoded else event
        return await super().__anext__()

    @override
    def _made(self, item: Any) -> Any:
        return with_value(item) if isinstance(item, Received) else item

    @override
    def _report(self, gap: Gap) -> None:
        if isinstance(gap, Missed) and self._on_missed is not None:
            self._on_missed(gap)
        elif isinstance(gap, Lagged) and self._on_lagged is not None:
            self._on_lagged(gap)
        else:
            super()._report(gap)


class _Batches(Generic[E]):
    """Iterates a subscription by the batch."""

    def __init__(self, subscription: Subscription[E]) -> None:
        self._next = subscription._next
        self._take = subscription._queue.take_batch

    def __aiter__(self) -> _Batches[E]:
        return self

    async def __anext__(self) -> ReceivedBatch[E] | Gap:
        item: ReceivedBatch[E] | Gap | None = await self._next(self._take)
        if item is None:
            raise StopAsyncIteration
        return item


def _check_callback(callback: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no function, or one that would never run."""
    if not callable(callback):
        raise TypeError(f"a callback is a function, and not {callback!r}")
    if _is_generator_function(callback):
        raise TypeError(
            f"{callback!r} has a `yield`: nobody would iterate it, and it would never run"
        )


def _is_awaited(result: object) -> bool:
    """Say whether work is left to do by whoever gets a plain callback's result."""
    return inspect.isawaitable(result) or inspect.isgenerator(result) or inspect.isasyncgen(result)


def check_plain(name: str, call: Callable[..., object]) -> None:
    """Raise `TypeError` for what is no plain function: nobody would await or iterate its result."""
    if not callable(call) or is_coroutine_function(call) or _is_generator_function(call):
        raise TypeError(f"{name} is a plain function, which is not awaited, and not {call!r}")


def _is_generator_function(callback: Callable[..., object]) -> bool:
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object whose `__call__` is one
    return any(
        inspect.isgeneratorfunction(one) or inspect.isasyncgenfunction(one)
        for one in (callback, call)
    )


def is_coroutine_function(callback: Callable[..., object]) -> bool:
    """Say whether a function, or an object that is called like one, is to be awaited."""
    call = getattr(callback, "__call__", None)  # noqa: B004  # an object with `async def __call__`
    return inspect.iscoroutinefunction(callback) or inspect.iscoroutinefunction(call)
