"""The same interface for scripts and threads: every call waits for its result.

::

    from camcast import blocking

    with blocking.CommunityManager(gateways=["tcp://127.0.0.1:7000"]) as manager:
        soccer = manager.join(".soccer")
        for event in soccer.subscribe():
            print(event)

An event loop in one background thread runs `camcast.CommunityManager`; the classes here only
carry calls over to it. Names, arguments and errors are the same, and all of it may be used
from several threads at once, also from plain callbacks. A coroutine callback runs inside that
loop, where waiting would stop everything: there a call raises `CommunityError`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from random import Random
from typing import Any, TypeVar

from camcast import community as asynchronous
from camcast import subscription as queues
from camcast.community import JOIN_SECONDS, CommunityError, State, TopicLike
from camcast.engine.recorder import NodeCounters
from camcast.interests.interest import Interest
from camcast.subscription import (
    QUEUE_LENGTH,
    EventCallback,
    Lagged,
    LaggedCallback,
    Overflow,
    Received,
)
from camcast.vocabulary.events import Receipt
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.trace import Sink

_T = TypeVar("_T")


class CommunityManager:
    """See `camcast.CommunityManager`. Use it in a ``with``, which also leaves politely.

    `pipes` is missing here, because output pipes belong to one event loop.
    """

    def __init__(
        self,
        membership: str = "scamp",
        *,
        gateways: Iterable[str] | Mapping[str, Iterable[str]] | Path = (),
        bind: str = "tcp://127.0.0.1:0",
        advertise: str | None = None,
        insecure: bool = False,
        remember: Path | None = None,
        parameters: Parameters | None = None,
        options: Mapping[str, object] | None = None,
        trace: Sink | None = None,
        rng: Random | None = None,
    ) -> None:
        self._manager = asynchronous.CommunityManager(
            membership,
            gateways=gateways,
            bind=bind,
            advertise=advertise,
            insecure=insecure,
            remember=remember,
            parameters=parameters,
            options=options,
            trace=trace,
            rng=rng,
        )
        self._lock = threading.Lock()  # no call may slip in behind the one that stops the loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None

    # -- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, in a thread of its own. Raises as `camcast.CommunityManager.start`."""
        if self._thread is not None:
            return
        started: SimpleQueue[BaseException | None] = SimpleQueue()
        self._stop = asyncio.Event()
        # A daemon, because a script that forgets to close must end all the same.
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._serve(started)), name="camcast", daemon=True
        )
        self._thread.start()
        if (error := started.get()) is not None:
            self._thread.join()
            self._thread = None
            raise error

    def close(self) -> None:
        """Leave every community politely, and stop; see `camcast.CommunityManager.close`."""
        with self._lock:
            loop, self._loop = self._loop, None
            if loop is not None:
                loop.call_soon_threadsafe(self._stop.set)
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> CommunityManager:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- communities -------------------------------------------------------------------------

    def community(
        self,
        topic: TopicLike,
        *,
        parameters: Parameters | None = None,
        super_topics: Iterable[TopicLike] | None = None,
    ) -> Community:
        """See `camcast.CommunityManager.community`."""
        community = self._call(
            lambda: self._manager.community(topic, parameters=parameters, super_topics=super_topics)
        )
        return Community(self, community)

    def join(
        self,
        topic: TopicLike,
        *,
        parameters: Parameters | None = None,
        super_topics: Iterable[TopicLike] | None = None,
        timeout: float | None = JOIN_SECONDS,
        retry: bool = False,
    ) -> Community:
        """See `camcast.CommunityManager.join`."""
        community = self.community(topic, parameters=parameters, super_topics=super_topics)
        community.join(timeout=timeout, retry=retry)
        return community

    def super_communities(self, topic: TopicLike) -> list[Community]:
        """See `camcast.CommunityManager.super_communities`."""
        found = self._call(lambda: self._manager.super_communities(topic))
        return [Community(self, community) for community in found]

    # -- facts -------------------------------------------------------------------------------

    @property
    def contact(self) -> Contact:
        """See `camcast.CommunityManager.contact`."""
        return self._call(lambda: self._manager.contact)

    @property
    def discovery_state(self) -> str:
        """See `camcast.CommunityManager.discovery_state`."""
        return self._manager.discovery_state

    @property
    def address(self) -> str:
        """See `camcast.CommunityManager.address`."""
        return self.contact.address

    @property
    def counters(self) -> NodeCounters:
        """See `camcast.CommunityManager.counters`."""
        return self._call(lambda: self._manager.counters)

    # -- inside ------------------------------------------------------------------------------

    async def _serve(self, started: SimpleQueue[BaseException | None]) -> None:
        try:
            await self._manager.start()
        except BaseException as error:
            started.put(error)
            return
        self._loop = asyncio.get_running_loop()
        started.put(None)
        await self._stop.wait()
        await self._manager.close()

    def _run(self, work: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run a coroutine in the loop and wait for what it returns or raises."""
        # No concurrent.futures.Future: Ctrl-C inside its condition would leave that locked, and
        # the loop stuck at it. A SimpleQueue is one step for Python's signals.
        outcome: SimpleQueue[asyncio.Task[_T]] = SimpleQueue()
        tasks: list[asyncio.Task[_T]] = []

        def begin() -> None:
            task = asyncio.get_running_loop().create_task(work())
            tasks.append(task)
            task.add_done_callback(outcome.put)

        with self._lock:
            loop = self._loop
            if loop is None:
                raise CommunityError("the manager is not running: use `with`, or call start()")
            if self._thread is threading.current_thread():
                raise CommunityError(
                    "a coroutine callback cannot wait: use camcast.CommunityManager there"
                )
            loop.call_soon_threadsafe(begin)
        try:
            return outcome.get().result()
        except asyncio.CancelledError:
            raise CommunityError("the manager was closed in the meantime") from None
        except KeyboardInterrupt:  # the work is wanted no more
            with suppress(RuntimeError):  # the loop has ended by now
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
            raise

    def _call(self, work: Callable[[], _T]) -> _T:
        async def call() -> _T:
            return work()

        return self._run(call)


class Community:
    """See `camcast.Community`; made by a manager."""

    def __init__(self, manager: CommunityManager, community: asynchronous.Community) -> None:
        self._manager = manager
        self._community = community

    def __repr__(self) -> str:
        return repr(self._community)

    def join(self, *, timeout: float | None = JOIN_SECONDS, retry: bool = False) -> None:
        """See `camcast.Community.join`."""
        self._manager._run(lambda: self._community.join(timeout=timeout, retry=retry))

    def ready(
        self, min_peers: int = 1, *, min_links: int = 0, timeout: float | None = JOIN_SECONDS
    ) -> None:
        """See `camcast.Community.ready`."""
        self._manager._run(
            lambda: self._community.ready(min_peers, min_links=min_links, timeout=timeout)
        )

    def leave(self) -> None:
        """See `camcast.Community.leave`."""
        self._manager._run(self._community.leave)

    def subscribe(
        self,
        callback: EventCallback | None = None,
        *,
        on_lagged: LaggedCallback | None = None,
        queue_length: int = QUEUE_LENGTH,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: str | Interest | None = None,
    ) -> Subscription:
        """See `camcast.Community.subscribe`; without a callback, iterate with ``for``."""
        subscription = self._manager._call(
            lambda: self._community.subscribe(
                callback,
                on_lagged=on_lagged,
                queue_length=queue_length,
                overflow=overflow,
                where=where,
            )
        )
        return Subscription(self._manager, subscription)

    def unsubscribe(self, subscription: Subscription) -> None:
        """See `camcast.Community.unsubscribe`."""
        self._manager._call(lambda: self._community.unsubscribe(subscription._subscription))

    def publish(self, event: object, *, upward_probability: float | None = None) -> Receipt:
        """See `camcast.Community.publish`."""
        return self._manager._run(
            lambda: self._community.publish(event, upward_probability=upward_probability)
        )

    def stop_publishing(self) -> None:
        """See `camcast.Community.stop_publishing`."""
        self._manager._call(self._community.stop_publishing)

    @property
    def topic(self) -> Topic:
        """The topic of the community."""
        return self._community.topic

    @property
    def super_topics(self) -> tuple[Topic, ...]:
        """See `camcast.Community.super_topics`."""
        return self._community.super_topics

    @property
    def state(self) -> State:
        """See `camcast.Community.state`."""
        return self._manager._call(lambda: self._community.state)

    @property
    def peers(self) -> tuple[Contact, ...]:
        """See `camcast.Community.peers`."""
        return self._manager._call(lambda: self._community.peers)

    @property
    def links(self) -> tuple[tuple[Topic, tuple[Contact, ...]], ...]:
        """See `camcast.Community.links`."""
        return self._manager._call(lambda: self._community.links)

    @property
    def size(self) -> float:
        """See `camcast.Community.size`."""
        return self._manager._call(lambda: self._community.size)


class Subscription:
    """See `camcast.Subscription`; iterate it with ``for``, or in several threads at once.

    Iteration ends when the subscription is closed, by `close`, `Community.unsubscribe`,
    `Community.leave` or the manager's `close`, from whichever thread.
    """

    def __init__(self, manager: CommunityManager, subscription: queues.Subscription) -> None:
        self._manager = manager
        self._subscription = subscription
        self._turn = threading.Lock()  # the queue knows one reader at a time

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self._subscription.missed

    @property
    def errors(self) -> int:
        """How often the callback has raised."""
        return self._subscription.errors

    @property
    def closed(self) -> bool:
        """See `camcast.Subscription.closed`."""
        return self._subscription.closed

    def close(self) -> None:
        """See `camcast.Subscription.close`."""
        self._manager._call(self._subscription.close)

    def __iter__(self) -> Iterator[Received | Lagged]:
        return self

    def __next__(self) -> Received | Lagged:
        with self._turn:
            try:
                item = self._manager._run(self._next)
            except CommunityError:
                if self._subscription.closed:  # with its manager
                    raise StopIteration from None
                raise
        if item is None:
            raise StopIteration
        return item

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def _next(self) -> Received | Lagged | None:
        return await anext(self._subscription, None)
