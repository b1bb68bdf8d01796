"""Pipes: one input and many outputs, over ZeroMQ PULL and PUSH (paper 000, section 5.3.1.4).

Theory of operation
-------------------
An *output pipe* carries *records* (opaque, with their own length prefix) one way to one
address; all nodes of an event loop share it, so a destination costs one connection. `send`
only appends to lists. The first record of a loop turn schedules one flush, which joins what
each pipe got into *frames*, ``header + record + record + …``, and offers them to the socket.
A lone record thus leaves in the same turn, and a burst travels some 200 records a frame.

When a socket is full the records stay here, in a queue with a bound, and join bigger frames
later. The bound holds for what waits, per pipe: beyond it the newest record is dropped and
counted. Control records may go over it by a reserve, so a flood of events never silences
heartbeats.

*No wake-up is lost, and none is polled for.* ZeroMQ's descriptor becomes readable when the
I/O thread has left a note (a command) for the socket, and is cleared by any call that reads
the notes. Only after EAGAIN is it watched with `add_reader`, which is level-triggered: a
note from before the watch is still seen. Each wake-up reads all the notes (EVENTS) and then
offers frames until there are none or EAGAIN; when that call says "full", all notes have been
read, so the next change leaves a new one. `send` itself looks at the notes at most once a
millisecond, so a first EAGAIN proves nothing until EVENTS agrees. The input asks EVENTS after
every frame; when it stops early to let others run, it calls itself again.

*ZeroMQ's own queue is kept short*, for it is neither visible nor ours. At a high-water mark
of 1 or 2 the I/O thread reports every frame it takes; hence `drain`, which lowers the mark
to 1, learns from "writable" that the kernel was given everything (but a part of one frame).

*Connections are counted*, for ZeroMQ accepts all that come. Where descriptors run out it neither
aborts nor says anything, but spins until some are given back, and nothing else can be opened
meanwhile (measured, with a limit of 64). Each input has a ZeroMQ monitor, which tells of every
connection that was accepted or lost; those beyond `connections_max` are shut down at once and
counted, and their peers try again later. For a moment more may be open. Who connects and says
nothing is cut off after five seconds. What is left: a stranger who speaks ZMTP on that many
connections keeps *new* peers out for as long as he likes; those who are connected notice nothing.

*A known hole, in libzmq*: who fills an input, adds a ZMTP PING and resets the connection makes
libzmq abort this process (`_set_common_options` says why). No option closes it but an unbounded
input, so ports must be reachable by those only who may be trusted not to attack.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import resource
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable
from itertools import accumulate
from struct import Struct
from typing import Any, Final
from weakref import finalize

import zmq
from attrs import Attribute, define, field, frozen, validators

from camcast.live.connections import Connections
from camcast.vocabulary.addresses import AddressError, check_address
from camcast.vocabulary.wire import FRAME_BYTES_MAX

_log = logging.getLogger(__name__)

# measured: an output pipe holds 2 (connection, the socket's notes), and a peer that also
# sends to us 1 more.
_DESCRIPTORS_PER_PIPE: Final = 2
_DESCRIPTORS_PER_PEER: Final = 3
_DESCRIPTORS_SHARE: Final = 0.7  # [TRUST, traps of ZeroMQ] at the limit sockets spin at 100 % CPU

# chosen: files, an overlay's sockets, and connections that are being refused; measured: a process
# with one input needs 16 for itself.
_DESCRIPTORS_SPARED: Final = 1 / 8
_DESCRIPTORS_SPARED_MIN: Final = 32

# chosen: containers allow up to 2^30, for which ZeroMQ would set up its table of sockets.
_DESCRIPTORS_MAX: Final = 2**16

# Plain numbers, because pyzmq looks up an enum member a third more slowly (measured).
_NOBLOCK: Final = int(zmq.NOBLOCK)
_EVENTS: Final = int(zmq.EVENTS)
_RCVMORE: Final = int(zmq.RCVMORE)
_POLLIN: Final = int(zmq.POLLIN)
_POLLOUT: Final = int(zmq.POLLOUT)
_ACCEPTED: Final = int(zmq.EVENT_ACCEPTED)
_DISCONNECTED: Final = int(zmq.EVENT_DISCONNECTED)

_MONITOR_EVENT: Final = Struct("=Hi")  # [zmq_socket_monitor(3)] what happened, to which descriptor

# At 1 and 2 every frame that the I/O thread takes is reported; chosen: 2, one frame under way
# while the next is being made.
_SEND_HIGH_WATER: Final = 2

# chosen: a raising callback is logged in full at most so often; the counter has the rest.
_LOG_INTERVAL_SECONDS: Final = 60.0


def _positive(_instance: object, attribute: Attribute[Any], value: float) -> None:
    if value <= 0:
        raise ValueError(f"{attribute.name} must be above 0, not {value}")


def _not_negative(_instance: object, attribute: Attribute[Any], value: float) -> None:
    if value < 0:
        raise ValueError(f"{attribute.name} must not be negative, not even {value}")


class BindError(OSError):
    """An input pipe cannot listen at an address; `strerror` says which, why and what to do."""


class AddressInUse(BindError):
    """Another socket listens at that address already."""


@frozen
class PipeLimits:
    """The bounds and times of pipes; sizes in bytes, times in seconds unless named otherwise.

    Raises ValueError for a number that is not positive (a reserve and a linger may be 0).
    All processes of a community should agree on the two sizes, since an input refuses larger
    frames than its own.
    """

    # chosen: an event's payload of 1 MiB, and room for its header, topic and signature.
    record_bytes_max: int = field(default=2**20 + 4096, validator=_positive)
    """The largest record; a larger one is dropped and counted."""

    frame_bytes_max: int = field(default=FRAME_BYTES_MAX, validator=_positive)
    """Records are joined up to this size; a larger record is a frame of its own."""

    # chosen: a burst of 16,384 events in one turn; 8 bytes each besides the shared record.
    queue_records_max: int = field(default=2**14, validator=_positive)
    """The records that may wait in one output pipe."""

    # chosen: 16,384 events of 256 bytes. Records are shared by the pipes they wait in.
    queue_bytes_max: int = field(default=2**22, validator=_positive)
    """The bytes that may wait in one output pipe."""

    control_reserve: float = field(default=0.25, validator=_not_negative)  # chosen: 4,096 records
    """The share of both queue bounds that control records, and only they, may use on top."""

    pipes_max: int | None = field(default=None, validator=validators.optional(_positive))
    """The output pipes of one event loop; None for 70 % of what `descriptors_allow`."""

    connections_max: int | None = field(default=None, validator=validators.optional(_positive))
    """The connections that others may have to all inputs of one event loop; None for what
    `pipes_max` leaves of the limit of descriptors, but for an eighth."""

    spare_seconds: float = field(default=1.0, validator=_positive)  # chosen: several gossip rounds
    """At `pipes_max`, a pipe that moved nothing for so long makes room for a new one."""

    idle_seconds: float = field(default=60.0, validator=_positive)  # chosen: a heartbeat fits often
    """An output pipe that moved nothing for so long is closed, and what waits in it dropped."""

    # chosen: 64 frames or 64 KiB (about 200 events, 1 ms) keep timers and heartbeats alive, also
    # where 50 nodes share a loop; larger turns were no faster, and took more memory.
    turn_frames_max: int = field(default=64, validator=_positive)
    """The frames that an input reads before it lets the rest of the loop run."""
    turn_bytes_max: int = field(default=2**16, validator=_positive)
    """The bytes that an input reads before it lets the rest of the loop run."""

    linger_milliseconds: int = field(default=200, validator=_not_negative)  # chosen: a few RTTs
    """How long ZeroMQ goes on sending the frames that it has, after a pipe was closed."""


@define
class PipeCounters:
    """What went through pipes, and what did not, since they were opened."""

    frames_sent: int = 0
    records_sent: int = 0
    bytes_sent: int = 0
    records_dropped: int = 0  # queue full, too large, pipe refused or closed
    pipes_refused: int = 0  # attempts to open one: at `pipes_max`, bad address, no descriptor
    frames_received: int = 0
    bytes_received: int = 0
    frames_refused: int = 0  # multipart; ZeroMQ itself cuts off who sends too large a frame
    frames_failed: int = 0  # the callback raised
    connections_refused: int = 0  # at `connections_max`


def descriptors_allow() -> int:
    """Return the number of peers that this process's soft limit of descriptors has room for.

    The limit is left as it is, because a library must not change what belongs to the whole
    process (``select`` fails above 1,024); a program that wants many peers raises it first.
    """
    return _descriptors() // _DESCRIPTORS_PER_PEER


def _descriptors() -> int:
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else min(soft, _DESCRIPTORS_MAX)


def _connections_allowed(pipes_max: int) -> int:
    """Return how many connections leave room for so many output pipes, and to spare."""
    descriptors = _descriptors()
    spared = max(_DESCRIPTORS_SPARED_MIN, int(_DESCRIPTORS_SPARED * descriptors))
    return max(1, descriptors - _DESCRIPTORS_PER_PIPE * pipes_max - spared)


def library_versions() -> dict[str, str]:
    """Return the versions of pyzmq and of the libzmq below it, for reports."""
    return {"pyzmq": zmq.pyzmq_version(), "libzmq": zmq.zmq_version()}


@define(eq=False)
class _OutputPipe:
    address: str
    socket: zmq.SyncSocket
    descriptor: int
    moved: float  # when a frame last went into the socket, or when the pipe was opened
    records: list[bytes] = field(factory=list)
    waiting: int = 0  # bytes in `records`
    watched: bool = False
    closed: bool = False


class OutputPipes:
    """All the output pipes of one event loop, shared by the nodes that live in it.

    Binds to the running loop; every method is to be called from its thread. `frame_header`
    opens every frame. The ZeroMQ `context` is this object's own unless given; a given one
    must allow enough sockets (MAX_SOCKETS). Raises RuntimeError without a running loop.
    """

    def __init__(
        self,
        limits: PipeLimits | None = None,
        *,
        frame_header: bytes = b"",
        context: zmq.SyncContext | None = None,
    ) -> None:
        self.limits = limits = limits or PipeLimits()
        self.counters = PipeCounters()
        self.pipes_max = limits.pipes_max or max(1, int(_DESCRIPTORS_SHARE * descriptors_allow()))
        self.connections = Connections(
            limits.connections_max or _connections_allowed(self.pipes_max)
        )
        self._loop = asyncio.get_running_loop()
        self._header = frame_header
        self._record_room = max(1, limits.frame_bytes_max - len(frame_header))
        self._frame_limit = len(frame_header) + max(limits.record_bytes_max, self._record_room)
        self._event_bounds = limits.queue_records_max, limits.queue_bytes_max
        self._control_bounds = (
            int(limits.queue_records_max * (1 + limits.control_reserve)),
            int(limits.queue_bytes_max * (1 + limits.control_reserve)),
        )
        self._owns_context = context is None
        self._context = context or zmq.Context()
        if self._owns_context:
            # Twice, for sockets that linger still count; chosen: 1,024 inputs (its default), which
            # have three each.
            self._context.set(zmq.MAX_SOCKETS, 2 * self.pipes_max + 3 * 1024)
        self._sockets: set[zmq.SyncSocket] = set()  # open ones, of outputs, inputs and monitors
        self._forgotten = finalize(
            self, _shut_forgotten, self._sockets, self._context if self._owns_context else None
        )
        self._forgotten.atexit = False  # then nothing hangs, and pyzmq ends by itself
        self._pipes: dict[str, _OutputPipe] = {}
        self._fresh: list[_OutputPipe] = []  # pipes with records, that the next flush offers
        self._watched: set[_OutputPipe] = set()  # pipes that wait for their socket
        self._inputs: set[InputPipe] = set()
        self._flush_handle: asyncio.Handle | None = None
        self._sweep_handle: asyncio.TimerHandle | None = None
        self._drains = 0  # calls of drain() in progress
        self._settled = asyncio.Event()  # nothing fresh, nothing watched; kept while draining
        self._full_until = 0.0  # no pipe can be spared before
        self._warned: set[str] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._pipes)

    def send(self, addresses: Iterable[str], record: bytes, *, control: bool = False) -> None:
        """Send `record` to each of `addresses`, best effort; control records have a reserve.

        Never blocks, and never raises for a peer that is absent, slow or misspelt: what cannot
        be queued is dropped and counted. Sending after `close` drops too.
        """
        size = len(record)
        records_bound, bytes_bound = self._control_bounds if control else self._event_bounds
        bytes_bound -= size
        if size > self.limits.record_bytes_max:
            bytes_bound = -1  # no queue is that empty
            self._warn_once("size", "dropped a record of %d bytes, above record_bytes_max", size)
        pipes = self._pipes
        for address in addresses:
            pipe = pipes.get(address) or self._open(address)
            if pipe is None:
                self.counters.records_dropped += 1
                continue
            records = pipe.records
            if pipe.waiting > bytes_bound or len(records) >= records_bound:
                self.counters.records_dropped += 1
                continue
            if not records:
                self._fresh.append(pipe)
            records.append(record)
            pipe.waiting += size
        if self._flush_handle is None and self._fresh:
            self._flush_handle = self._loop.call_soon(self._flush)

    def open_input(self, bind: str, on_frame: Callable[[bytes], None]) -> InputPipe:
        """Listen at `bind` and call `on_frame` with every frame that arrives.

        Raises `AddressError`, `AddressInUse` or another `BindError`.
        """
        address = check_address(bind, bind=True)
        if self._closed:
            raise BindError(errno.ESHUTDOWN, f"cannot listen at {address}: the pipes are closed")
        try:
            socket = self._context.socket(zmq.PULL)
        except zmq.ZMQError as error:
            raise BindError(
                error.errno,
                f"cannot listen at {address}: {error.strerror}; raise the limit of open files",
            ) from error
        monitor = None
        try:
            _set_common_options(socket, self._frame_limit)
            # chosen: 2 frames a sender, TCP then slows it; with 8, bursts of 50 nodes left twice
            # the memory behind, and were no faster.
            socket.setsockopt(zmq.RCVHWM, 2)
            # chosen: a community that joins at once must not wait for TCP's second SYN (1 s).
            socket.setsockopt(zmq.BACKLOG, 1024)
            monitor = _monitor(self._context, socket)
            socket.bind(address)
        except zmq.ZMQError as error:
            socket.close(linger=0)
            if monitor is not None:
                monitor.close(linger=0)
            if error.errno == errno.EADDRINUSE:
                raise AddressInUse(
                    error.errno,
                    f"cannot listen at {address}: another program uses this port; choose another"
                    " one, or port 0 for any free port",
                ) from error
            raise BindError(
                error.errno,
                f"cannot listen at {address}: {zmq.strerror(error.errno or 0)}; choose an address"
                " of this machine and a port that you may use",
            ) from error
        self._sockets |= {socket, monitor}
        pipe = InputPipe(
            socket,
            monitor,
            on_frame,
            self.limits,
            self.connections,
            self._loop,
            self._input_closed,
        )
        self._inputs.add(pipe)
        return pipe

    def close_output(self, address: str) -> None:
        """Forget a peer: offer its socket what waits, drop the rest, and close the pipe.

        Without a pipe to `address` nothing happens.
        """
        pipe = self._pipes.get(address)
        if pipe is not None:
            self._push(pipe)
            self._shut(pipe, self.limits.linger_milliseconds)

    async def drain(self, timeout_seconds: float) -> bool:
        """Wait until all that was sent is on the wire, and say whether it got there in time.

        "On the wire" means: given to the kernel, but for a part of one frame a pipe, which
        lingers in `close`. An absent peer costs the whole timeout.
        """
        self._drains += 1
        for pipe in self._pipes.values():
            pipe.socket.setsockopt(zmq.SNDHWM, 1)  # see the theory of operation
        self._fresh = list(self._pipes.values())
        self._flush()
        # No asyncio.timeout: before Python 3.11.3 that ends in CancelledError where the task was
        # cancelled before, as by a signal, and the sockets would be left open.
        late = False

        def expire() -> None:
            nonlocal late
            late = True
            self._settled.set()

        timer = self._loop.call_later(timeout_seconds, expire)
        try:
            while (waiting := bool(self._watched or self._fresh)) and not late:
                self._settled.clear()
                await self._settled.wait()
            return not waiting
        finally:
            timer.cancel()
            self._drains -= 1
            if not self._drains:
                for pipe in self._pipes.values():
                    pipe.socket.setsockopt(zmq.SNDHWM, _SEND_HIGH_WATER)

    def close(self, linger_milliseconds: int | None = None) -> None:
        """Close all pipes, inputs included; further calls do nothing.

        Blocks for `linger_milliseconds` at most (None: as in the limits), and only while frames
        are under way. Afterwards all descriptors and ports are free. With a given context the
        sockets linger on in the background instead.
        """
        if self._closed:
            return
        linger = self.limits.linger_milliseconds
        if linger_milliseconds is not None:
            linger = max(0, linger_milliseconds)  # ZeroMQ's -1 is "for ever"
        if not self._loop.is_closed():
            self._flush()
        self._closed = True
        for handle in (self._flush_handle, self._sweep_handle):
            if handle is not None:
                handle.cancel()
        for input_pipe in list(self._inputs):
            input_pipe.close()
        for pipe in list(self._pipes.values()):
            self._shut(pipe, linger)
        self._forgotten.detach()
        if self._owns_context:
            self._context.term()

    def _input_closed(self, pipe: InputPipe, sockets: Iterable[zmq.SyncSocket]) -> None:
        self._inputs.discard(pipe)
        self._sockets.difference_update(sockets)

    def _flush(self) -> None:
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        fresh, self._fresh = self._fresh, []
        for pipe in fresh:
            if not pipe.watched:
                self._push(pipe)
        self._tell_settled()

    def _push(self, pipe: _OutputPipe) -> None:
        """Offer the socket what waits in `pipe`; watch the socket exactly while that is useful."""
        try:
            done = pipe.closed or (
                self._offer_all(pipe) and (not self._drains or _is_writable(pipe.socket))
            )
        except zmq.ZMQError as error:
            self._warn_once("socket", "closed the pipe to %s: %s", pipe.address, error)
            self._shut(pipe, 0)
            return
        if done is pipe.watched:
            pipe.watched = not done
            if done:
                self._loop.remove_reader(pipe.descriptor)
                self._watched.discard(pipe)
            else:
                self._loop.add_reader(pipe.descriptor, self._wake, pipe)
                self._watched.add(pipe)

    def _offer_all(self, pipe: _OutputPipe) -> bool:
        records = pipe.records
        if pipe.waiting <= self._record_room:  # nearly always
            if records:
                if not self._offer(pipe, records, pipe.waiting):
                    return False
                records.clear()
                pipe.waiting = 0
            return True
        # A frame takes about the mean number of records; twice that, for stretches of small ones.
        records_max = 2 * self._record_room * len(records) // pipe.waiting + 1
        start = 0
        while start < len(records):
            some = records[start : start + records_max]
            ends = list(accumulate(map(len, some)))
            count = bisect_right(ends, self._record_room) or 1  # one, however large
            if not self._offer(pipe, some[:count], ends[count - 1]):
                break
            pipe.waiting -= ends[count - 1]
            start += count
        del records[:start]
        return not records

    def _offer(self, pipe: _OutputPipe, records: list[bytes], size: int) -> bool:
        frame = self._header + b"".join(records)
        while True:
            try:
                pipe.socket.send(frame, _NOBLOCK)
                break
            except zmq.Again:
                if not _is_writable(pipe.socket):
                    return False
        counters = self.counters
        counters.frames_sent += 1
        counters.records_sent += len(records)
        counters.bytes_sent += len(self._header) + size
        pipe.moved = self._loop.time()
        return True

    def _wake(self, pipe: _OutputPipe) -> None:
        if _is_writable(pipe.socket):
            self._push(pipe)
            self._tell_settled()

    def _tell_settled(self) -> None:
        if self._drains and not self._watched and not self._fresh:
            self._settled.set()

    def _open(self, address: str) -> _OutputPipe | None:
        if self._closed:
            return None
        now = self._loop.time()
        if len(self._pipes) >= self.pipes_max and not self._spare_one(now):
            self.counters.pipes_refused += 1
            self._warn_once("full", "all %d output pipes are busy: no new peer", self.pipes_max)
            return None
        socket = None
        try:
            socket = self._context.socket(zmq.PUSH)
            _set_common_options(socket, self._frame_limit)
            socket.setsockopt(zmq.SNDHWM, 1 if self._drains else _SEND_HIGH_WATER)
            # A finite linger from the start: no way of closing may hang the process's end.
            socket.setsockopt(zmq.LINGER, self.limits.linger_milliseconds)
            # Back-off, for a dead peer must not cost ten connects a second for ever.
            socket.setsockopt(zmq.RECONNECT_IVL, 100)  # chosen: ms; ZeroMQ's default, a restart
            socket.setsockopt(zmq.RECONNECT_IVL_MAX, 5_000)  # chosen: ms; doubles up to this
            # chosen: ms; a black hole answers no SYN, and the kernel would try for 2 minutes.
            socket.setsockopt(zmq.CONNECT_TIMEOUT, 5_000)
            # Frames may wait in the socket until the peer appears (0 is the default).
            socket.setsockopt(zmq.IMMEDIATE, 0)
            socket.connect(check_address(address))
        except (zmq.ZMQError, AddressError) as error:
            if socket is not None:
                socket.close(linger=0)
            self.counters.pipes_refused += 1
            self._warn_once("open", "cannot open an output pipe: %s", error)
            return None
        self._sockets.add(socket)
        pipe = _OutputPipe(address, socket, int(socket.getsockopt(zmq.FD)), now)
        self._pipes[address] = pipe
        if self._sweep_handle is None:
            self._sweep_handle = self._loop.call_later(self.limits.idle_seconds, self._sweep)
        return pipe

    def _spare_one(self, now: float) -> bool:
        """Close the pipe that has been idle for longest, if it has been for long enough."""
        if now < self._full_until:  # saves a walk over all pipes for each refusal
            return False
        idlest = min(self._pipes.values(), key=lambda pipe: pipe.moved)
        self._full_until = idlest.moved + self.limits.spare_seconds
        if now < self._full_until or idlest in self._fresh:
            return False
        self._shut(idlest, self.limits.linger_milliseconds)
        self._full_until = 0.0
        return True

    def _sweep(self) -> None:
        """Close the idle pipes, and come back when the next one can be idle."""
        now, idle = self._loop.time(), self.limits.idle_seconds
        for pipe in [pipe for pipe in self._pipes.values() if pipe.moved + idle <= now]:
            if pipe not in self._fresh:
                self._shut(pipe, self.limits.linger_milliseconds)
        self._sweep_handle = None
        if self._pipes:
            oldest = min(pipe.moved for pipe in self._pipes.values())
            # chosen: an eighth, so that many pipes of different age share a sweep.
            delay = max(oldest + idle - now, idle / 8)
            self._sweep_handle = self._loop.call_later(delay, self._sweep)

    def _shut(self, pipe: _OutputPipe, linger_milliseconds: int) -> None:
        pipe.closed = True
        del self._pipes[pipe.address]
        self.counters.records_dropped += len(pipe.records)
        pipe.records.clear()
        pipe.waiting = 0
        if pipe.watched:
            pipe.watched = False
            self._loop.remove_reader(pipe.descriptor)
            self._watched.discard(pipe)
        self._sockets.discard(pipe.socket)
        pipe.socket.close(linger=linger_milliseconds)
        self._tell_settled()

    def _warn_once(self, kind: str, message: str, *values: object) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            _log.warning(message + " (further ones are only counted)", *values)


class InputPipe:
    """A bound endpoint whose frames go to one callback; made by `OutputPipes.open_input`.

    `address` is the bound endpoint in canonical form, with the real port. `counters` has only
    what was received. After a bind to ``0.0.0.0`` or ``[::]`` the address names no host, and the
    node has to announce another one (see `is_wildcard`).
    """

    def __init__(
        self,
        socket: zmq.SyncSocket,
        monitor: zmq.SyncSocket,
        on_frame: Callable[[bytes], None],
        limits: PipeLimits,
        connections: Connections,
        loop: asyncio.AbstractEventLoop,
        on_close: Callable[[InputPipe, Iterable[zmq.SyncSocket]], None],
    ) -> None:
        endpoint = socket.getsockopt(zmq.LAST_ENDPOINT)
        assert isinstance(endpoint, bytes)
        self.address = check_address(endpoint.rstrip(b"\0").decode())
        self.counters = PipeCounters()
        self._socket = socket
        self._monitor = monitor
        self._on_frame = on_frame
        self._limits = limits
        self._connections = connections
        self._loop = loop
        self._on_close = on_close
        self._closed = False
        self._in_multipart = False
        self._again: asyncio.Handle | None = None  # the rest of a burst, next turn
        self._log_after = 0.0
        self._descriptor = int(socket.getsockopt(zmq.FD))
        loop.add_reader(self._descriptor, self._read)
        self._monitor_descriptor = int(monitor.getsockopt(zmq.FD))
        loop.add_reader(self._monitor_descriptor, self._count_connections)
        self._count_connections()  # a pipe that was never read from wakes nobody

    def close(self) -> None:
        """Stop listening, and drop what was not read; further calls do nothing.

        The port becomes free a moment later, in ZeroMQ's thread.
        """
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._descriptor)
        self._loop.remove_reader(self._monitor_descriptor)
        if self._again is not None:
            self._again.cancel()
        self._socket.close(linger=0)
        self._monitor.close(linger=0)
        self._connections.closed(self.address)
        self._on_close(self, (self._socket, self._monitor))

    def _read(self) -> None:
        """Take frames until there are none, or until it is the others' turn."""
        if self._again is not None:  # both the descriptor and a call_soon may ask in one turn
            self._again.cancel()
            self._again = None
        socket, counters, on_frame = self._socket, self.counters, self._on_frame
        bytes_left = self._limits.turn_bytes_max
        try:
            for _ in range(self._limits.turn_frames_max):
                frame = socket.recv(_NOBLOCK)
                more = socket.getsockopt(_RCVMORE)
                if more or self._in_multipart:
                    self._in_multipart = bool(more)
                    counters.frames_refused += not more  # counted with its last part
                else:
                    counters.frames_received += 1
                    counters.bytes_received += len(frame)
                    try:
                        on_frame(frame)
                    except Exception:
                        self._failed()
                    if self._closed:
                        return
                # Asked, because to be told by EAGAIN costs twice as much: it is an exception.
                if not int(socket.getsockopt(_EVENTS)) & _POLLIN:
                    return
                bytes_left -= len(frame)
                if bytes_left <= 0:
                    break
        except zmq.Again:
            return
        self._again = self._loop.call_soon(self._read)

    def _count_connections(self) -> None:
        """Take all that the monitor has to tell: a few bytes for each that came or went."""
        while not self._closed and int(self._monitor.getsockopt(_EVENTS)) & _POLLIN:
            what, _where = self._monitor.recv_multipart(_NOBLOCK)
            event, descriptor = _MONITOR_EVENT.unpack(what)
            if event == _DISCONNECTED:
                self._connections.gone(descriptor)
            elif event == _ACCEPTED and not self._connections.accepted(descriptor, self.address):
                if not self.counters.connections_refused:
                    _log.warning(
                        "refused a connection to %s: all %d connections that others may have to"
                        " this process are taken (further ones are only counted)",
                        self.address,
                        self._connections.most,
                    )
                self.counters.connections_refused += 1

    def _failed(self) -> None:
        self.counters.frames_failed += 1
        now = self._loop.time()
        if now >= self._log_after:
            self._log_after = now + _LOG_INTERVAL_SECONDS
            _log.exception(
                "a frame's receiver at %s raised (%d times so far; logged once a minute)",
                self.address,
                self.counters.frames_failed,
            )


def _shut_forgotten(sockets: set[zmq.SyncSocket], context: zmq.SyncContext | None) -> None:
    """Close what was open when the pipes were garbage-collected; `context`: if it was their own.

    The garbage collector would end the context before its sockets, and wait for them for ever.
    """
    for socket in sockets:
        socket.close(linger=0)
    if context is not None:
        context.term()
    warnings.warn("pipes were never closed; close their manager", ResourceWarning, stacklevel=2)


def _is_writable(socket: zmq.SyncSocket) -> bool:
    return bool(int(socket.getsockopt(_EVENTS)) & _POLLOUT)


def _monitor(context: zmq.SyncContext, socket: zmq.SyncSocket) -> zmq.SyncSocket:
    """Return a socket that hears of the connections accepted by another, and of their ends."""
    address = f"inproc://connections-{int(socket.getsockopt(zmq.FD))}"
    # Not of accepts that failed: without a descriptor left there is no end of these.
    socket.monitor(address, zmq.EVENT_ACCEPTED | zmq.EVENT_DISCONNECTED)
    monitor = context.socket(zmq.PAIR)
    try:
        # Without a bound, for at it the I/O thread would wait until somebody reads.
        monitor.setsockopt(zmq.RCVHWM, 0)
        monitor.connect(address)
    except zmq.ZMQError:
        monitor.close(linger=0)
        raise
    return monitor


def _set_common_options(socket: zmq.SyncSocket, frame_limit: int) -> None:
    socket.setsockopt(zmq.LINGER, 0)
    # One kind of socket for both families; it speaks IPv4 through mapped addresses.
    socket.setsockopt(zmq.IPV6, 1)
    # Per part: with multiparts refused it bounds what a stranger makes us hold.
    socket.setsockopt(zmq.MAXMSGSIZE, frame_limit)
    # A peer whose machine vanished sends no FIN: the kernel asks after 10 s, then every 5 s, and
    # gives up after 30 s; what was sent and not acknowledged is given up after 30,000 ms too.
    # chosen: below membership's own verdicts nothing hurries. *Not* ZeroMQ's heartbeats: an
    # engine whose input is full and whose peer then resets the connection aborts the whole
    # process at its next PING (libzmq 4.3.5 and master, stream_engine_base_t::out_event), and
    # a receiver that is busy for 30 s cannot read the PINGs that would keep it connected.
    socket.setsockopt(zmq.TCP_KEEPALIVE, 1)
    socket.setsockopt(zmq.TCP_KEEPALIVE_IDLE, 10)
    socket.setsockopt(zmq.TCP_KEEPALIVE_INTVL, 5)
    socket.setsockopt(zmq.TCP_KEEPALIVE_CNT, 4)
    socket.setsockopt(zmq.TCP_MAXRT, 30_000)
    # chosen: ms; who connects and says nothing holds a descriptor no longer (default 30 s).
    socket.setsockopt(zmq.HANDSHAKE_IVL, 5_000)
