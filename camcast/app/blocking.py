"""The same interface for scripts and threads: every call waits for its result.

::

    from camcast.app import blocking

    with blocking.CommunityManager(gateways=["tcp://127.0.0.1:7000"]) as manager:
        soccer = manager.join(".soccer")
        for event in soccer.subscribe():
            print(event)

An event loop in one background thread runs `camcast.CommunityManager`. The methods here are made
from those of the same names in `camcast`, with the same arguments, docstrings and errors: each
carries its call over to the loop, and waits (`camcast.app.loop_thread`). All of them may be used
from several threads at once, also from plain callbacks and signal handlers. docs/blocking.md says
what each does in a signal handler, a callback, a `__del__`, at the interpreter's end and after a
fork.

A coroutine callback runs inside that loop, where waiting would stop everything: calls that wait
raise `CommunityError` there. So does every call but `close` in a forked child, which has neither
the thread nor the sockets, and when the interpreter ends.

`timeout` limits every wait in a ``with``; whatever interrupts a wait takes the call back, so that
no event is lost.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from functools import partial, wraps
from sys import is_finalizing
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, cast

from typing_extensions import override

from camcast.app import community as communities
from camcast.app import manager as managers
from camcast.app.community import State
from camcast.app.durable import DurableSubscription
from camcast.app.loop_thread import (
    LoopThread,
    TimeLimit,
    check_may_wait,
    run_here,
    seconds_left,
    timeout,
)
from camcast.inbox import changes
from camcast.inbox import subscription as queues
from camcast.inbox.feed import Reader
from camcast.inbox.latest import Latest
from camcast.inbox.received import Gap, Lagged, Received, ReceivedBatch, batch_of
from camcast.observe.counters import Counters
from camcast.observe.stats import SubscriptionStats
from camcast.vocabulary.arguments import check_timeout, check_type, refuse_copy
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.happenings import Change
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import E

__all__ = ["Changes", "Community", "CommunityManager", "Subscription", "timeout"]

_P = ParamSpec("_P")
_F = TypeVar("_F", bound=Reader[Any, Any])
_I = TypeVar("_I")
_R = TypeVar("_R")
_S = TypeVar("_S")
_T = TypeVar("_T")


class _Face(Generic[_T]):
    """The base of the classes here: an object of the loop, and the manager that runs the loop."""

    _inner: _T
    _manager: CommunityManager
    __reduce_ex__ = refuse_copy


def _waits(
    method: Callable[Concatenate[_T, _P], Coroutine[Any, Any, _R]],
) -> Callable[Concatenate[_Face[_T], _P], _R]:
    """Make a method that runs a coroutine method in the loop, and waits for its result."""
    return cast("Callable[Concatenate[_Face[_T], _P], _R]", _calls(method))


def _calls(method: Callable[Concatenate[_T, _P], _R]) -> Callable[Concatenate[_Face[_T], _P], _R]:
    """Make a method that calls a plain method in the loop."""

    @wraps(method)
    def call(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        work = partial(method, self._inner, *args, **kwargs)
        result: _R = self._manager._run.call(method.__name__, work)
        return result

    return call


def _ends(
    method: Callable[Concatenate[_T, _P], Coroutine[Any, Any, None] | None],
) -> Callable[Concatenate[_Face[_T], _P], None]:
    """Make a method that ends something: in the thread of a loop it is begun, and not waited for.

    The garbage collector may run a `__del__` that ends something in that thread, too.
    """

    @wraps(method)
    def end(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> None:
        run, work = self._manager._run, partial(method, self._inner, *args, **kwargs)
        if run_here() is not None:
            run.check_not_forked()
            run.post_work(work)
        else:
            run.call(method.__name__, work)

    return end


def _makes(
    made: Callable[[CommunityManager, _R], _S],
    method: Callable[Concatenate[_T, _P], _R],
    undo: Callable[[_S], object] | None = None,
) -> Callable[Concatenate[_Face[_T], _P], _S]:
    """Make a method that calls a plain method, and wraps its result in its counterpart here.

    `undo` is called with the counterpart if the caller was interrupted and does not get it.
    """

    @wraps(method)
    def make(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _S:
        def work() -> _S:
            return made(self._manager, method(self._inner, *args, **kwargs))

        counterpart: _S = self._manager._run.call(method.__name__, work, undo=undo)
        return counterpart

    return make


def _into(
    made: Callable[[CommunityManager, _R], _S], wait: Callable[Concatenate[_Face[_T], _P], _R]
) -> Callable[Concatenate[_Face[_T], _P], _S]:
    """Make a method that waits as another one, and wraps its result in its counterpart here."""

    @wraps(wait)
    def make(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _S:
        return made(self._manager, wait(self, *args, **kwargs))

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
        name = self._property.fget.__name__
        value: _R = manager._look(name, read, afterwards=self._afterwards)
        return value


def _looks(method: Callable[Concatenate[_T, _P], _R]) -> Callable[Concatenate[_Face[_T], _P], _R]:
    """Make a method that reads facts in the loop."""

    @wraps(method)
    def look(self: _Face[_T], /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return self._manager._look(method.__name__, partial(method, self._inner, *args, **kwargs))

    return look


def _takes_arguments_of(
    cls: Callable[_P, object],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, _P], None]]:
    """Give an initializer the arguments of another class, for readers and for type checkers."""
    return wraps(cls.__init__)


class _Reader(_Face[_F], Generic[_F, _I]):
    """The base of subscriptions and changes; see `camcast.inbox.feed`.

    It belongs to the run of the manager in whose loop it was made. When that ends, all that was not
    read is kept here, so that it can be read without the loop.
    """

    def __init__(self, manager: CommunityManager, reader: _F) -> None:
        run = run_here()
        assert run is not None
        self._manager = manager
        self._inner = reader  # as long as it is held, the feed is open
        self._feed = reader._feed
        self._run = run
        run.readers.add(self)
        self._rest: deque[Any] = deque()
        self._told_to_close = False

    @property
    def errors(self) -> int:
        """How often the callback has raised."""
        return self._inner.errors

    @property
    def closed(self) -> bool:
        """Whether it has ended; what is queued can still be read."""
        return self._told_to_close or self._inner.closed

    def close(self) -> None:
        """End it: what is queued is still handed out, then iteration ends.

        The call waits for nothing, and may be made anywhere: in a signal handler, a callback, a
        `__del__`. In a forked child it does nothing.
        """
        if os.getpid() == self._run.process:
            self._told_to_close = True
            self._run.post(self._inner.close)

    def next(self, timeout: float | None = None) -> _I | None:
        """Wait for the next item; None when it is closed and all is read.

        Raises `TimeoutError` when nothing has come in `timeout` seconds; with 0, what is there is
        returned. Nothing is lost by that, nor by an exception of a signal handler.

        Args:
            timeout: Seconds to wait. More: rarer events are waited for. None: for ever.

        Example:
            ::

                while (event := subscription.next(timeout=5.0)) is not None:
                    print(event)
        """
        check_timeout(timeout)
        item: _I | None = self._wait_for(self._feed.take, self._feed.made, timeout)
        return item

    def until_quiet(self, seconds: float) -> Iterator[_I]:
        """Iterate until nothing has come for so many seconds; it is not closed then.

        Example:
            ::

                for event in subscription.until_quiet(5.0):
                    print(event)
        """
        check_timeout(seconds)
        return _Items(self, self._feed.take, self._feed.made, seconds)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _I:
        item: _I | None = self._wait_for(self._feed.take, self._feed.made, None)
        if item is None:
            raise StopIteration
        return item

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def keep_rest(self) -> None:
        """Keep what was not read; called when the loop has ended."""
        if self._feed.running is None:  # else a callback gets it
            while (item := self._feed.take()) is not None:
                self._rest.append(item)

    def _wait_for(
        self, take: Callable[[], Any], made: Callable[[Any], Any], seconds: float | None
    ) -> Any:
        """Wait for what `take` takes, or take what the ended loop left; None at the end.

        `made` makes what a reader gets of it, in this thread. Whoever is interrupted puts back what
        it has taken.
        """
        self._feed.check_iterable()
        run = self._run
        if not run.ended.happened:
            try:
                return run.call(
                    "next",
                    partial(self._begin_to_wait, take),
                    undo=self._put_back,
                    finish=made,
                    seconds=seconds,
                )
            except CommunityError:
                if not run.ended.happened:
                    raise
        taken: list[Any] = []
        try:
            # One step for Python's signals: what is popped is in the list.
            taken.extend(map(deque.popleft, [self._rest]))
            return made(taken[0])
        except BaseException as error:
            self._rest.extendleft(taken)
            if taken or not isinstance(error, IndexError):
                raise
        return None

    def _begin_to_wait(self, take: Callable[[], Any]) -> Any:
        item = self._feed.take_now(take)
        return item if item is not None or self._inner.closed else self._feed.next(take)

    def _put_back(self, item: Any) -> None:
        if item is not None and self._run.ended.happened:
            self._rest.appendleft(item)
        elif item is not None:
            self._feed.put_back(item)


class _Items(Generic[_I]):
    """Iterates a feed by what `take` takes, until nothing has come for `quiet` seconds."""

    def __init__(
        self,
        feed: _Reader[Any, Any],
        take: Callable[[], Any],
        made: Callable[[Any], Any],
        quiet: float | None,
    ) -> None:
        self._feed = feed
        self._take = take
        self._made = made
        self._quiet = quiet

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> _I:
        try:
            item: _I | None = self._feed._wait_for(self._take, self._made, self._quiet)
        except TimeLimit:
            if self._quiet is None or seconds_left() == 0:  # that of `timeout`
                raise
            item = None
        if item is None:
            raise StopIteration
        return item


class Subscription(_Reader[queues.Subscription[E], Received[E] | Gap], Generic[E]):
    """See `camcast.Subscription`; iterate it with ``for``, or in several threads at once.

    Iteration ends when the subscription is closed, by `close`, `Community.unsubscribe`,
    `Community.leave` or the manager's `close`, from whichever thread.
    """

    @property
    def missed(self) -> int:
        """How many events this subscription has dropped so far."""
        return self._inner.missed

    @property
    def position(self) -> bytes:
        """See `camcast.Subscription.position`."""
        return self._manager._look("position", lambda: self._inner.position, afterwards=True)

    def stats(self) -> SubscriptionStats:
        """Return how full the queue is, and what did not get through it."""
        return self._manager._look("stats", self._inner.stats, afterwards=True)

    def ack(self) -> None:
        """See `camcast.app.durable.DurableSubscription.ack`; raises `CommunityError` for others."""
        inner = self._inner
        if not isinstance(inner, DurableSubscription):
            raise CommunityError("only a durable subscription has a cursor (durable=)")
        self._manager._look("ack", inner.ack, afterwards=True)

    def batches(self) -> Iterator[ReceivedBatch[E] | Gap]:
        """See `camcast.Subscription.batches`; a thread of several calls it for itself."""
        self._feed.check_iterable()
        return _Items(self, self._feed.take_batch, _as_batch, None)


def _undo(reader: _Reader[Any, Any]) -> None:
    """Close a feed whose maker was interrupted; called in the loop."""
    reader._inner.close()


def _as_batch(item: Any) -> Any:
    """Return an event that an ended loop left as a batch."""
    return batch_of(item) if isinstance(item, Received) else item


class Changes(_Reader[changes.Changes, Change | Lagged]):
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
        self._unsubscribe(subscription._inner)

    @property
    def latest(self) -> Latest[E]:
        """The last value of each key at this moment; see `camcast.Community.latest`."""
        return self._manager._look("latest", lambda: self._inner.latest.snapshot())

    join = _waits(communities.Community[E].join)
    ready = _waits(communities.Community[E].ready)
    leave = _ends(communities.Community[E].leave)
    tune = _calls(communities.Community[E].tune)
    link = _calls(communities.Community[E].link)
    unlink = _calls(communities.Community[E].unlink)
    publish = _waits(communities.Community[E].publish)
    subscribe = _makes(Subscription[E], communities.Community[E].subscribe, _undo)
    changes = _makes(Changes, communities.Community[E].changes, _undo)
    stop_publishing = _ends(communities.Community[E].stop_publishing)
    _unsubscribe = _ends(communities.Community[E].unsubscribe)
    state = _Reads[State](communities.Community.state, afterwards=True)
    peers = _Reads[tuple[Contact, ...]](communities.Community.peers, afterwards=True)
    links = _Reads[tuple[tuple[Topic, tuple[Contact, ...]], ...]](
        communities.Community.links, afterwards=True
    )
    unsent = _Reads[int](communities.Community.unsent, afterwards=True)
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
        self._latest = LoopThread(self._inner)

    @override
    def __repr__(self) -> str:
        return repr(self._inner)

    # -- life --------------------------------------------------------------------------------

    def start(self) -> None:
        """Listen, in a thread of its own. Raises as `camcast.CommunityManager.start`."""
        run = self._run
        run.check_not_forked()
        check_may_wait("start")
        while run.stopping or run.ended.happened:
            if not run.ended.happened:
                run.stop()
            if not run.ended.wait(seconds_left()):
                raise TimeLimit("start() took longer than it was given")
            run = run.successor()
        is_begun = run.process is not None  # by another thread
        try:
            run.start()
        except BaseException:
            if not is_begun and not run.ended.happened:
                run.stop()
            raise

    def close(self) -> None:
        """Leave every community politely, and stop; see `camcast.CommunityManager.close`.

        In the thread of a manager's event loop it does not wait for that.
        """
        run = self._run
        if run.process != os.getpid() or run.ended.happened or is_finalizing():
            return  # not started, or a forked child: what there is to close is the parent's
        run.stop()
        if run_here() is None and not run.ended.wait(seconds_left()):
            raise TimeLimit("close() took longer than it was given; it goes on")

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

    community = _makes(Community, managers.CommunityManager.community)
    join = _into(Community, _waits(managers.CommunityManager.join))
    super_communities = _makes(
        lambda manager, found: [Community(manager, one) for one in found],
        managers.CommunityManager.super_communities,
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
    stats = _looks(managers.CommunityManager.stats)
    peers = _looks(managers.CommunityManager.peers)
    ask_gateways = _waits(managers.CommunityManager.ask_gateways)

    # -- inside ------------------------------------------------------------------------------

    @property
    def _run(self) -> LoopThread:
        """The run that is, or was, the last."""
        self._latest = run = self._latest.last()
        return run

    def _look(self, name: str, work: Callable[[], _T], *, afterwards: bool = False) -> _T:
        """Read facts in the loop, or here if this is its thread, or if no loop runs."""
        run = self._run
        if run.is_here() or (afterwards and not run.is_running()):
            return work()
        try:
            value: _T = run.call(name, work)
        except CommunityError:
            if not afterwards or run.is_running():
                raise
            return work()
        return value
