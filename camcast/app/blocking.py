"""The same interface for scripts and threads: every call waits for its result.

::

    from camcast.app import blocking

    with blocking.CommunityManager(gateways=["tcp://127.0.0.1:7000"]) as manager:
        soccer = manager.join(".soccer")
        for event in soccer.subscribe():
            print(event)

An event loop in one background thread runs `camcast.CommunityManager`. The methods here are made
from those of the same names in `camcast`, with the same arguments, docstrings and errors: each
carries its call over to the loop, and waits. All of them may be used from several threads at once,
also from plain callbacks. A coroutine callback runs inside that loop, where waiting would stop
everything: a call there raises `CommunityError`. So does a call in a forked child, which has
neither the thread nor the sockets.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import suppress
from functools import partial, wraps
from queue import SimpleQueue
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from typing_extensions import override

from camcast.app import community as communities
from camcast.app import manager as managers
from camcast.app.community import State
from camcast.app.lifetime import check_not_forked
from camcast.inbox import changes
from camcast.inbox import subscription as queues
from camcast.inbox.received import Gap, Lagged, Received, ReceivedBatch
from camcast.inbox.subscription import Feed
from camcast.observe.counters import Counters
from camcast.observe.stats import SubscriptionStats
from camcast.vocabulary.arguments import check_type
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.happenings import Change
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import E

_P = ParamSpec("_P")
_F = TypeVar("_F", bound=Feed[Any, Any])
_I = TypeVar("_I")
_R = TypeVar("_R")
_S = TypeVar("_S")
_T = TypeVar("_T")


class _Face(Generic[_T]):
    """The base of the classes here: an object of the loop, and the manager that runs the loop."""

    _inner: _T
    _manager: CommunityManager


def _waits(
    method: Callable[Concatenate[_T, _P], Coroutine[Any, Any, _R]],
) -> Callable[Concatenate[_Face[_T], _P], _R]:
    """Make a method that runs a coroutine method in the loop, and waits for its result."""

    @wraps(method)
    def wait(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self._manager._run(lambda: method(self._inner, *args, **kwargs))

    return wait


def _calls(method: Callable[Concatenate[_T, _P], _R]) -> Callable[Concatenate[_Face[_T], _P], _R]:
    """Make a method that calls a plain method in the loop."""

    @wraps(method)
    def call(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self._manager._call(lambda: method(self._inner, *args, **kwargs))

    return call


def _into(
    made: Callable[[CommunityManager, _R], _S], call: Callable[Concatenate[_Face[_T], _P], _R]
) -> Callable[Concatenate[_Face[_T], _P], _S]:
    """Make a method that wraps another one's result in its counterpart here."""

    @wraps(call)
    def make(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _S:
        return made(self._manager, call(self, *args, **kwargs))

    return make


class _Reads(Generic[_R]):
    """A property that is read in the loop; `afterwards` also when the loop has ended."""

    def __init__(self, of: Callable[[Any], _R], *, afterwards: bool = False) -> None:
        self._afterwards = afterwards
        assert isinstance(of, property)  # which a type checker takes for its getter
        self._property: Any = of
        self.__doc__ = of.__doc__

    def __get__(self, face: _Face[Any] | None, _class: type) -> _R:
        if face is None:
            return cast("_R", self)  # as a property does when read from the class
        manager, read = face._manager, partial(self._property.__get__, face._inner)
        value: _R = manager._look(read) if self._afterwards else manager._call(read)
        return value


def _takes_arguments_of(
    cls: Callable[_P, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Give an initializer the arguments of another class, for readers and for type checkers."""
    return wraps(cls.__init__)


class _Feed(_Face[_F], Generic[_F, _I]):
    """The base of subscriptions and changes; see `camcast.inbox.subscription`."""

    def __init__(self, manager: CommunityManager, feed: _F) -> None:
        self._manager = manager
        self._inner = feed

    @property
    def errors(self) -> int:
        """How often the callback has raised."""
        return self._inner.errors

    @property
    def closed(self) -> bool:
        """Whether it has ended; what is queued can still be read."""
        return self._inner.closed

    def close(self) -> None:
        """End it: what is queued is still handed out, then iteration ends."""
        self._manager._look(self._inner.close)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _I:
        item: _I | None = self._next(self._inner)
        if item is None:
            raise StopIteration
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self, items: AsyncIterator[_T]) -> _T | None:
        """Wait for what comes next, or take what was left when the manager closed; None at the end.

        The loop waits for nobody who reads, so that it may have ended before all is read.
        """

        async def take() -> _T | None:
            return await anext(items, None)

        try:
            return self._manager._run(take)
        except CommunityError:
            if not self._manager._has_ended():
                raise
        with self._inner._lock:  # several threads may be here
            try:
                take().send(None)  # no longer waits for anything
            except StopIteration as taken:
                item: _T | None = taken.value
                return item
        raise AssertionError("a feed that is closed waits for nothing")


class Subscription(_Feed[queues.Subscription[E], Received[E] | Gap], Generic[E]):
    """See `camcast.Subscription`; iterate it with ``for``, or in several threads at once.

    Iteration ends when the subscription is closed, by `close`, `Community.unsubscribe`,
    `Community.leave` or the manager's `close`, from whichever thread.
    """

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self._inner.missed

    def stats(self) -> SubscriptionStats:
        """Return how full the queue is, and what did not get through it."""
        return self._manager._look(self._inner.stats)

    def batches(self) -> Iterator[ReceivedBatch[E] | Gap]:
        """See `camcast.Subscription.batches`; a thread of several calls it for itself."""
        batches = self._inner.batches()
        while (item := self._next(batches)) is not None:
            yield item


class Changes(_Feed[changes.Changes, Change | Lagged]):
    """See `camcast.Changes`; iterate it with ``for``, or in several threads at once."""


class Community(_Face[communities.Community[E]], Generic[E]):
    """See `camcast.Community`; made by a manager."""

    def __init__(self, manager: CommunityManager, community: communities.Community[E]) -> None:
        self._manager = manager
        self._inner = community

    @override
    def __repr__(self) -> str:
        return repr(self._inner)

    @property
    def topic(self) -> Topic:
        """The topic of the community."""
        return self._inner.topic

    @property
    def super_topics(self) -> tuple[Topic, ...]:
        """The super-topics that this community is linked to; none for the root."""
        return self._inner.super_topics

    @property
    def parameters(self) -> CommunitySettings:
        """The settings of the community in this process; `tune` changes them."""
        return self._inner.parameters

    def unsubscribe(self, subscription: Subscription[E]) -> None:
        """End one subscription; after the last one, a process that does not publish leaves."""
        check_type("subscription", subscription, Subscription, "what `subscribe` has returned")
        self._manager._look(partial(self._inner.unsubscribe, subscription._inner))

    join = _waits(communities.Community[E].join)
    ready = _waits(communities.Community[E].ready)
    leave = _waits(communities.Community[E].leave)
    tune = _calls(communities.Community[E].tune)
    link = _calls(communities.Community[E].link)
    unlink = _calls(communities.Community[E].unlink)
    publish = _waits(communities.Community[E].publish)
    subscribe = _into(Subscription[E], _calls(communities.Community[E].subscribe))
    changes = _into(Changes, _calls(communities.Community[E].changes))
    stop_publishing = _calls(communities.Community[E].stop_publishing)
    state = _Reads[State](communities.Community.state, afterwards=True)
    peers = _Reads[tuple[Contact, ...]](communities.Community.peers, afterwards=True)
    links = _Reads[tuple[tuple[Topic, tuple[Contact, ...]], ...]](
        communities.Community.links, afterwards=True
    )
    size = _Reads[float](communities.Community.size, afterwards=True)


class CommunityManager(_Face[managers.CommunityManager]):
    """See `camcast.CommunityManager`. Use it in a ``with``, which also leaves politely.

    It takes the same arguments but for `pipes`, because output pipes belong to one event loop.
    """

    @_takes_arguments_of(managers.CommunityManager)
    def __init__(self, *args: Any, **given: Any) -> None:
        if "pipes" in given:
            raise TypeError("output pipes belong to one event loop; leave pipes out")
        self._manager = self
        self._inner = managers.CommunityManager(*args, **given)
        self._entered = False  # inside a `with`
        self._process = os.getpid()
        self._starting = threading.Lock()
        self._lock = threading.Lock()  # no call may slip in behind the one that stops the loop
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._thread: threading.Thread | None = None
        self._ending: threading.Thread | None = None
        """The thread that `close` has told to end, and that may still be at it."""

    @override
    def __repr__(self) -> str:
        return repr(self._inner)

    # -- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, in a thread of its own. Raises as `camcast.CommunityManager.start`."""
        if self._thread is not None:
            check_not_forked(self._process)
        with self._starting:
            if self._thread is not None:
                return
            self._wait_for_end()
            started: SimpleQueue[BaseException | None] = SimpleQueue()
            self._process = os.getpid()
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
        if os.getpid() != self._process:
            return  # a forked child: what there is to close is the parent's
        with self._starting, self._lock:
            thread, self._thread = self._thread, None
            loop, self._loop = self._loop, None
            if loop is None:  # not started, or not to the end: Ctrl-C came in between
                return
            self._ending = thread
            loop.call_soon_threadsafe(self._stop.set)
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def __enter__(self) -> CommunityManager:
        if self._entered:
            raise CommunityError("this manager is in a `with` already, whose end closes it")
        self._entered = True
        try:
            self.start()
        except BaseException:
            self._entered = False
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._entered = False
        self.close()

    renew = _calls(managers.CommunityManager.renew)

    # -- communities -------------------------------------------------------------------------

    community = _into(Community, _calls(managers.CommunityManager.community))
    join = _into(Community, _waits(managers.CommunityManager.join))
    super_communities = _into(
        lambda manager, found: [Community(manager, one) for one in found],
        _calls(managers.CommunityManager.super_communities),
    )

    # -- facts -------------------------------------------------------------------------------

    @property
    def discovery_state(self) -> str:
        """The state of the discovery: ``connected``, ``alone`` or ``degraded``."""
        return self._inner.discovery_state

    contact = _Reads[Contact](managers.CommunityManager.contact)
    address = _Reads[str](managers.CommunityManager.address)
    gateway = _Reads[str](managers.CommunityManager.gateway)
    counters = _Reads[Counters](managers.CommunityManager.counters)
    stats = _calls(managers.CommunityManager.stats)
    peers = _calls(managers.CommunityManager.peers)
    ask_gateways = _waits(managers.CommunityManager.ask_gateways)

    # -- inside ------------------------------------------------------------------------------

    async def _serve(self, started: SimpleQueue[BaseException | None]) -> None:
        try:
            await self._inner.start()
        except BaseException as error:
            started.put(error)
            return
        self._loop = asyncio.get_running_loop()
        started.put(None)
        await self._stop.wait()
        await self._inner.close()

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

        check_not_forked(self._process)  # before the lock, which a thread of the parent may hold
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

    def _wait_for_end(self) -> None:
        """Wait until the loop that was told to end has ended."""
        if self._ending is threading.current_thread():
            raise CommunityError("a coroutine callback cannot wait for the manager to close")
        if self._ending is not None:
            self._ending.join()

    def _has_ended(self) -> bool:
        """Wait until the loop has ended, if it was told to; False if it runs, or never ran."""
        if self._loop is not None or self._ending is None or os.getpid() != self._process:
            return False
        self._wait_for_end()
        return True

    def _look(self, work: Callable[[], _T]) -> _T:
        """Call in the loop, or here if it does not (or no longer does) run."""
        try:
            return self._call(work)
        except CommunityError:
            if self._loop is not None:
                raise
            return work()

    def _call(self, work: Callable[[], _T]) -> _T:
        async def call() -> _T:
            return work()

        return self._run(call)
