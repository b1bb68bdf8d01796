"""An asyncio event loop on virtual time, for parts that are asyncio inside.

Theory of operation
-------------------
The loop has no queue of its own. A callback, a timer and a datagram each are a happening of the
`EventQueue`, in its one order of (time, sequence), together with everything else on that queue:
the processes of a `VirtualNetwork` and the parts under asyncio live in one world. Whoever steps
the queue drives the loop: `run_until_complete`, or `VirtualNetwork.run`. So each callback, and
nothing between, sees the loop as the running one. No time passes while nothing happens: an
hour's sleep takes microseconds. Hosts, their sockets and crashes: see `virtual_datagrams`.

*What cannot be simulated* raises `LeavesSimulationError`: streams, pipes, threads, subprocesses,
signals, names. Not to be caught here: `time.sleep`, which wastes real time only; wall clocks,
module-level `random` and `os.urandom`, which make runs differ (rebind those names in the part);
a thread that does not talk to the loop.

*A failure fails the run* (see `virtual_watch`). An exception in a callback is raised, as
`UnhandledError`, by whoever steps the queue, when that callback has ended. An exception of a
task or future that nobody has retrieved is raised when a `run_until_complete` ends well, by
`check`, or by `close`, which also names the tasks that are still pending (`cancel_tasks` ends
them politely, `close_host` as a crash does). An exception handler, if one is set, is told
instead. Once the run has failed, `close` does not complain about pending tasks. A crashed
host's tasks are as if they had never been. KeyboardInterrupt and SystemExit pass through.

*What stalls raises* a `StalledError` that says which tasks wait, and where: `DeadlockError` if
nothing is to come, `TimeLimitError` if `run_seconds_max` have passed (heartbeats and refresh
timers are always to come, so with them a deadlock shows only there), `LivelockError` if time
stands still.

*The order depends on the calls made, and on nothing else*, down to asyncio's sets of tasks.
Two things escape: `asyncio.as_completed` puts bare coroutines into a set (give it tasks), and a
`gather` that fails while nobody awaits it is noticed only when it is freed.

Use the loop as a context manager, which closes it: strictly after success, silently after an
exception. `asyncio.Runner(loop_factory=...)` works, too.
"""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import Context
from ipaddress import AddressValueError, IPv4Address
from math import inf
from threading import get_ident
from types import TracebackType
from typing import Any, Final, Self, TypeVarTuple

from camcast.simulation.virtual_asyncio.datagrams import HOST, DatagramNetwork, Host, VirtualSocket
from camcast.simulation.virtual_asyncio.fence import FencedLoop, LeavesSimulationError
from camcast.simulation.virtual_asyncio.watch import (
    DeadlockError,
    LivelockError,
    StalledError,
    TimeLimitError,
    UnhandledError,
    VirtualFuture,
    VirtualTask,
    Watch,
    raise_unhandled,
    where,
)

Ts = TypeVarTuple("Ts")

HAPPENINGS_AT_ONCE_MAX: Final = 1_000_000
# chosen: 1,000 hosts doing 1,000 things each at the very same instant; seconds of real time
_IGNORED: Final = ("proto", "flags")  # of a socket: there is only one kind


class _Timer(asyncio.TimerHandle):
    """A timer that knows whether it is in the queue."""

    __slots__ = ("queued",)

    queued: bool


def _wake(waiter: asyncio.Future[Any]) -> None:
    if not waiter.done():  # It may have been cancelled.
        waiter.set_result(None)


class VirtualLoop(FencedLoop):
    """The event loop; see the module's theory of operation.

    `run_seconds_max` is how much virtual time one run may take.
    """

    def __init__(self, datagrams: DatagramNetwork, *, run_seconds_max: float | None = None) -> None:
        self.datagrams = datagrams
        self.queue = datagrams.queue
        self.run_seconds_max = run_seconds_max
        self._thread = get_ident()
        self._closed = self._running = self._stopping = self._debug = False
        self._failed = False  # Then it is no news that tasks are pending.
        self._cancelled_timers = 0  # of the happenings in the queue, which will be none
        self._futures_made = self._tasks_made = 0
        self._watch = Watch()
        self._task_factory: Any = None
        self._exception_handler: Any = None

    # -- time and callbacks --------------------------------------------------------------------

    def time(self) -> float:
        """Return the virtual time."""
        return self.queue.now

    def call_soon(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Let a callback happen now, after what was to happen now already."""
        self._check_open()
        handle = asyncio.Handle(callback, args, self, context)
        host = HOST.get() if context is None else context.get(HOST)
        queue = self.queue
        queue.at(queue.now, self.happen, handle, host)
        return handle

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Let a callback happen after a delay."""
        return self.call_at(self.queue.now + delay, callback, *args, context=context)

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Let a callback happen at a time."""
        self._check_open()
        timer = _Timer(when, callback, args, self, context)
        timer.queued = when != inf  # which people sleep for, and which never comes
        if timer.queued:
            host = HOST.get() if context is None else context.get(HOST)
            self.queue.at(when, self._expire, timer, host)
        return timer

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        """Do as `call_soon`; from another thread it fails the run, since nothing orders it."""
        if get_ident() != self._thread:
            call = "call_soon_threadsafe from another thread"
            error = LeavesSimulationError(call, "threads run in any order")
            self._watch.urgent.append((call, error))
            raise error
        return self.call_soon(callback, *args, context=context)

    def _timer_handle_cancelled(self, timer: asyncio.TimerHandle) -> None:
        """Count a cancelled timer; asyncio's handles call this."""
        assert isinstance(timer, _Timer)
        if timer.queued:
            self._cancelled_timers += 1

    def _expire(self, timer: _Timer, host: Host | None) -> None:
        timer.queued = False
        if timer.cancelled():
            self._cancelled_timers -= 1
        else:
            self.happen(timer, host)

    def happen(self, handle: asyncio.Handle, host: Host | None) -> None:
        """Run a callback on behalf of a host, if that lives; raise what fails."""
        if handle.cancelled() or self._closed or (host is not None and not host.alive):
            return
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("another event loop is running, or this one is already")
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(self._watch.add_generator, self._watch.drop_generator)
        asyncio._set_running_loop(self)
        try:
            handle._run()
        finally:
            asyncio._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)
        if self._watch.urgent:
            self._failed = True
            raise_unhandled(self.queue.now, self._watch.take(late=False))

    # -- tasks, futures and their failures -----------------------------------------------------

    def create_future(self) -> asyncio.Future[Any]:
        """Return a future of this loop."""
        self._futures_made += 1
        return VirtualFuture(self._futures_made, self._watch.add_failed, self)

    def create_task(
        self, coro: Any, *, name: str | None = None, context: Context | None = None, **options: Any
    ) -> asyncio.Task[Any]:
        """Start a task; without a name it is numbered, by this loop."""
        self._check_open()
        self._tasks_made += 1
        number = self._tasks_made
        name = name or f"task-{number}"
        task: asyncio.Task[Any]
        if self._task_factory is None:
            task = VirtualTask(coro, number, loop=self, name=name, context=context, **options)
        else:
            if context is not None:  # older factories do not know it
                options["context"] = context
            task = self._task_factory(self, coro, **options)
            task.set_name(name)
        self._watch.add(task, HOST.get() if context is None else context.get(HOST))
        return task

    def set_task_factory(self, factory: Any) -> None:
        """Let tasks be made in another way; their order in sets is then not ours."""
        if factory is not None and not callable(factory):
            raise TypeError("task factory must be a callable or None")
        self._task_factory = factory

    def get_task_factory(self) -> Any:
        """Return how tasks are made, None for as usual."""
        return self._task_factory

    def set_exception_handler(self, handler: Any) -> None:
        """Let a handler be told of failures, instead of the run fail."""
        if handler is not None and not callable(handler):
            raise TypeError(f"A callable object or None is expected, got {handler!r}")
        self._exception_handler = handler

    def get_exception_handler(self) -> Any:
        """Return who is told of failures, None if they fail the run."""
        return self._exception_handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Report a failure."""
        if self._closed:
            return  # What the garbage collector finds now has been told, or was of the dead.
        if self._exception_handler is None:
            self.default_exception_handler(context)
            return
        try:
            self._exception_handler(self, context)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:
            self._watch.urgent.append(("Exception in the exception handler", error))

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Let a failure fail the run."""
        self._watch.note(context)

    def check(self) -> None:
        """Raise what has failed so far without anybody's notice."""
        for context in self._watch.unretrieved():
            self.call_exception_handler(context)
        raise_unhandled(self.queue.now, self._watch.take(late=True))

    # -- running -------------------------------------------------------------------------------

    def run_until_complete(self, future: Any) -> Any:
        """Let time pass until a future is done; return its result, or raise its exception."""
        self._check_open()
        self._check_at_rest()
        future = asyncio.ensure_future(future, loop=self)
        # Not future.done: as in asyncio, those who have asked to be told before are told.
        finished: list[Any] = []
        told = finished.append
        future.add_done_callback(told)
        try:
            self._run(lambda: bool(finished) or self._stopping, repr(future))
        finally:
            future.remove_done_callback(told)
            self._stopping = False
        if not future.done():
            raise RuntimeError("Event loop stopped before Future completed.")
        result = future.result()
        self.check()
        return result

    def run_forever(self) -> None:
        """Let time pass until `stop` is called."""
        try:
            self._run(lambda: self._stopping, "stop()")
        finally:
            self._stopping = False
        self.check()

    def stop(self) -> None:
        """Stop the run after this callback."""
        self._stopping = True

    def cancel_tasks(self) -> None:
        """Cancel the pending tasks in order of creation, and let time pass until they are over."""
        tasks = self._watch.pending()
        for task in tasks:
            task.cancel()
        for task in tasks:
            self._run(task.done, repr(task))
        self.check()

    def _run(self, done: Callable[[], bool], what: str) -> None:
        self._check_open()
        self._check_at_rest()
        queue = self.queue
        end = inf if self.run_seconds_max is None else queue.now + self.run_seconds_max
        moment, at_once = queue.now, 0
        self._running = True
        try:
            while not done():
                time = queue.next_time()
                if time is None or len(queue) == self._cancelled_timers:
                    raise self._stalled(DeadlockError, "nothing is to come", what)
                if time > end:
                    why = f"{self.run_seconds_max} s have passed"
                    raise self._stalled(TimeLimitError, why, what)
                if time > moment:
                    moment, at_once = time, 0
                at_once += 1
                if at_once > HAPPENINGS_AT_ONCE_MAX:
                    why = f"{HAPPENINGS_AT_ONCE_MAX:,} things happened at once"
                    raise self._stalled(LivelockError, why, what)
                queue.step()
        finally:
            self._running = False

    def _stalled(self, kind: type[StalledError], why: str, what: str) -> StalledError:
        self._failed = True
        text = f"t={self.queue.now:.6f} s: {why}, but the run waits for {what}"
        error = kind("\n".join([text, *self._watch.who_waits()]))
        try:
            self.check()
        except UnhandledError as failures:  # which may be why
            error = kind(f"{error}\n{failures}")
            error.__cause__ = failures
        return error

    def is_running(self) -> bool:
        """Say whether a run is going on, or a callback."""
        return self._running or asyncio._get_running_loop() is self

    def _check_at_rest(self) -> None:
        if self.is_running():
            raise RuntimeError("This event loop is already running")
        if asyncio._get_running_loop() is not None:
            raise RuntimeError("Cannot run the event loop while another loop is running")

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")

    # -- the end -------------------------------------------------------------------------------

    def is_closed(self) -> bool:
        """Say whether `close` has been called."""
        return self._closed

    def close(self) -> None:
        """End the loop; raise what has failed, or is pending, and was not told before."""
        if self.is_running():
            raise RuntimeError("Cannot close a running event loop")
        if self._closed:
            return
        try:
            for task in [] if self._failed else self._watch.pending():
                place = " / ".join(where(task)) or "its beginning"
                self._watch.late.append((f"{task.get_name()} is pending at {place}", None))
            self.check()
        finally:
            self._closed = True
            self._watch.bury()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            with suppress(UnhandledError):  # The error that is under way says more.
                self.close()
            return
        try:
            if not self._closed and not self._watch.pending():
                self.run_until_complete(self.shutdown_asyncgens())
        finally:
            self.close()

    async def shutdown_asyncgens(self) -> None:
        """Close the asynchronous generators that are not exhausted, in order."""
        while (generator := self._watch.pop_generator()) is not None:
            try:
                await generator.aclose()
            except Exception as error:
                message = f"error in closing the asynchronous generator {generator.__qualname__}"
                self.call_exception_handler(
                    {"message": message, "exception": error, "asyncgen": generator}
                )

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Do nothing: there is no executor."""

    def get_debug(self) -> bool:
        """Say whether handles note where they come from."""
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        """Let handles note where they come from, or not."""
        self._debug = enabled

    # -- hosts and datagrams -------------------------------------------------------------------

    @contextmanager
    def host(self, number: int) -> Iterator[Host]:
        """Do what follows, and what comes of it, on behalf of a host."""
        host = self.datagrams.host(number)
        token = HOST.set(host)
        try:
            yield host
        finally:
            HOST.reset(token)

    def close_host(self, number: int) -> None:
        """Let a host crash: it does nothing any more, and its sockets are gone."""
        self.datagrams.close_host(number)

    async def getaddrinfo(
        self,
        host: Any,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[Any]:
        """Answer for a numeric IPv4 address; a name cannot be looked up."""
        try:
            ip = str(IPv4Address(host))
        except AddressValueError:
            raise LeavesSimulationError(f"getaddrinfo({host!r})") from None
        kind = type or socket.SOCK_DGRAM
        return [(socket.AF_INET, kind, proto or socket.IPPROTO_UDP, "", (ip, int(port or 0)))]

    async def create_datagram_endpoint(
        self,
        protocol_factory: Callable[[], Any],
        local_addr: Any = None,
        remote_addr: Any = None,
        *,
        family: int = 0,
        **options: Any,
    ) -> Any:
        """Bind a simulated UDP socket; see `virtual_datagrams`."""
        if family not in (0, socket.AF_INET):
            raise LeavesSimulationError(f"create_datagram_endpoint(family={family!r})")
        for name, value in options.items():
            if value and name not in _IGNORED:
                raise LeavesSimulationError(f"create_datagram_endpoint({name}=...)")
        if not (local_addr or remote_addr or family):
            raise ValueError("unexpected address family")
        place = self.datagrams.bind(local_addr, remote_addr)
        protocol = protocol_factory()
        transport = VirtualSocket(self, protocol, place, remote_addr)
        made = self.create_future()
        self.call_soon(_wake, made)
        try:
            await made
        except BaseException:
            transport.close()
            raise
        return transport, protocol
