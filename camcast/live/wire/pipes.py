"""Pipes: one input and many outputs of an event loop, whatever carries them (paper 000, 5.3.1.4).

Theory of operation
-------------------
An *output pipe* carries *records* (opaque, with their own length prefix) one way to one
address; all nodes of an event loop share it, so a destination costs one connection. `send`
only appends to lists. The first record schedules one flush, which joins what each pipe got into
*frames*, ``header + record + record + …``, and offers them to the pipe's connection. It comes as
soon as the loop has nothing more to read: the copies that one event makes the nodes of a loop send
come in several turns, and share frames. A lone record thus leaves a turn later, which takes
microseconds where nothing comes, and a burst travels some 200 records a frame.

When a connection takes no more, the records stay here, in a queue with a bound, and join bigger
frames later. Each pipe's queue has this bound: beyond it the newest record is dropped and counted.
Control records may exceed it by a reserve, so that a flood of events never silences heartbeats. The
bytes that wait in all pipes together have a bound too (`waiting_bytes_max`). Input is bounded by
the turn: an input hands over a bounded number of frames and bytes of a connection, then the rest of
the loop has its turn.

A *transport* says how frames cross the network: `camcast.live.wire.zmq_pipes` through libzmq,
`camcast.live.wire.zmtp` on sockets of our own. Both speak ZMTP 3.1, PUSH to PULL, one frame a
message, so that processes with different transports understand each other.
"""

from __future__ import annotations

import asyncio
import resource
import warnings
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import Any, Final, Generic, TypeVar
from weakref import finalize

from typing_extensions import override

from camcast.doors.profile import Profile
from camcast.doors.transport import InputPipe, OutputPipes, PipeLimits
from camcast.live.wire.crowd import Crowd
from camcast.live.wire.output_pipe import OutputPipe
from camcast.observe.counters import PipeCounters
from camcast.vocabulary.extensions import EXTENSIONS, Extension
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.systems import Misfits

_log = Logger(__name__)

# measured with libzmq: an output pipe holds 2 descriptors (connection, the socket's notes), and a
# peer that also sends to us 1 more.
_DESCRIPTORS_PER_PIPE: Final = 2
_DESCRIPTORS_PER_PEER: Final = 3
_DESCRIPTORS_SHARE: Final = 0.7  # chosen: at the limit sockets spin at 100 % CPU

# measured: with 100 nodes in two loops and 200 events a second, 3 % less CPU than with a turn, and
# three quarters of the latency; with 5 or 20 ms no more
GATHER_SECONDS: Final = 0.002
GATHER_BYTES: Final = 128 * 2**10  # chosen: four frames, so that a burst keeps all processes busy

# chosen: files, an overlay's sockets, and connections that are being refused; measured: a process
# with one input needs 16 for itself.
_DESCRIPTORS_SPARED: Final = 1 / 8
_DESCRIPTORS_SPARED_MIN: Final = 32

# chosen: containers allow up to 2^30, for which ZeroMQ would set up its table of sockets.
_DESCRIPTORS_MAX: Final = 2**16


def descriptors_allow() -> int:
    """Return the number of peers that this process's soft limit of descriptors has room for.

    The limit is left as it is, because a library must not change what belongs to the whole
    process (``select`` fails above 1,024); a program that wants many peers raises it first.
    """
    return descriptors() // _DESCRIPTORS_PER_PEER


def descriptors() -> int:
    """Return the soft limit of descriptors of this process (``ulimit -n``), at most 65,536."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _DESCRIPTORS_MAX if soft == resource.RLIM_INFINITY else min(soft, _DESCRIPTORS_MAX)


def peers_allowed(pipes: OutputPipes) -> str:
    """Return in words how many connections the limit of open files has room for."""
    return (
        f"{descriptors()} open files, so {pipes.connections_max} connections of other processes and"
        f" {pipes.pipes_max} to others"
    )


def _connections_allowed(pipes_max: int) -> int:
    """Return how many connections leave room for so many output pipes, and to spare."""
    allowed = descriptors()
    spared = max(_DESCRIPTORS_SPARED_MIN, int(_DESCRIPTORS_SPARED * allowed))
    return max(1, allowed - _DESCRIPTORS_PER_PIPE * pipes_max - spared)


P = TypeVar("P", bound=OutputPipe)


class QueuedPipes(OutputPipes, Generic[P]):
    """Output pipes with a queue each; what carries the frames is for a subclass to say.

    Binds to the running loop, and raises RuntimeError without one. `frame_header` opens every
    frame.
    """

    def __init__(
        self,
        limits: PipeLimits | None = None,
        *,
        frame_header: bytes = b"",
        profile: Profile | None = None,
        system: str = "",
        extensions: Sequence[Extension] = EXTENSIONS,
    ) -> None:
        self.limits = limits = limits or PipeLimits()
        self.profile = profile
        self.system = system
        self.extensions = extensions
        self.misfits = Misfits()
        self.counters = PipeCounters()
        self.lost: list[Callable[[str, Sequence[bytes]], None]] = []
        self.unattached: list[Callable[[Contact], None]] = []
        self.refused: list[Callable[[str, str, str], None]] = []
        self.pipes_max = limits.pipes_max or max(1, int(_DESCRIPTORS_SHARE * descriptors_allow()))
        self.connections_max = limits.connections_max or _connections_allowed(self.pipes_max)
        self._loop = asyncio.get_running_loop()
        self.frame_header = frame_header
        self._record_room = max(1, limits.frame_bytes_max - len(frame_header))
        self.frame_bytes_max = len(frame_header) + max(limits.record_bytes_max, self._record_room)
        bounds = limits.queue_records_max, limits.queue_bytes_max, limits.waiting_bytes_max
        self._event_bounds = bounds
        records, queued, waiting = (int(n * (1 + limits.control_reserve)) for n in bounds)
        self._control_bounds = records, queued, waiting
        self._waiting = 0  # bytes that wait in all pipes, and in frames under way
        self.sockets: set[Any] = set()  # open ones, of outputs and inputs
        self._forgotten = finalize(self, _shut_forgotten, self.sockets)
        self._forgotten.atexit = False  # then nothing hangs, and the sockets end by themselves
        self._crowd = Crowd(limits, self._loop)
        self.crowded = self._crowd.pipes
        self._pipes: dict[str, P] = {}
        self._fresh: list[P] = []  # pipes with records, that the next flush offers
        self._watched: set[P] = set()  # pipes whose connection takes no more at the moment
        self.inputs: dict[str, InputPipe] = {}  # open ones, by their addresses
        self._flush_handle: asyncio.Handle | None = None
        self._sweep_handle: asyncio.TimerHandle | None = None
        self._input_turns = 0  # how often inputs have handed something over
        self._turns_seen = -1  # by the last turn of the loop that gathered
        self._gather_until = 0.0
        self._drains = 0  # calls of drain() in progress
        self._settled = asyncio.Event()  # nothing fresh, nothing watched; kept while draining
        self._spares_left = 0  # how many pipes may be closed in this turn to make room
        self._spares_a_turn = max(1, self.pipes_max // 8)
        self._full_until = 0.0  # no pipe can be spared before
        self._warned: set[str] = set()
        self._log = MinuteLog()
        self._closed = False

    @override
    def __len__(self) -> int:
        return len(self._pipes)

    @property
    @override
    def waiting_bytes(self) -> int:
        return self._waiting

    @override
    def send(self, contacts: Iterable[Contact], record: bytes, *, control: bool = False) -> None:
        size = len(record)
        records_bound, bytes_bound, total_bound = (
            self._control_bounds if control else self._event_bounds
        )
        bytes_bound -= size
        total_bound -= size
        if size > self.limits.record_bytes_max:
            bytes_bound = -1  # no queue is that empty
            self._warn_once("size", "dropped a record of %d bytes, above record_bytes_max", size)
        pipes, crowd = self._pipes, self._crowd
        # Up to here a pipe is neither full nor crowded, which spares the other comparisons.
        half_records, half_bytes = crowd.records_max, min(crowd.bytes_max, bytes_bound)
        total = self._waiting
        for contact in contacts:
            pipe = pipes.get(contact.address)
            if pipe is None:
                self._waiting = total
                pipe = self._open(contact)
                total = self._waiting  # less, if a pipe was closed to make room
                if pipe is None:
                    self._drop(contact.address, [record])
                    continue
            records, waiting = pipe.records, pipe.waiting
            count = len(records)
            if waiting > half_bytes or count > half_records or total > total_bound:
                if waiting > bytes_bound or count >= records_bound or total > total_bound:
                    self._overflows(pipe, record)
                    continue
                crowd.pipes[pipe.address] = pipe
            if contact.peer != pipe.named and not self._may_take(pipe, contact.peer):
                self._drop(contact.address, [record])
                self.counters.records_misdirected += 1
                continue
            if not count:
                self._fresh.append(pipe)
            if not control:
                pipe.carries_events = True
            records.append(record)
            pipe.waiting = waiting + size
            total += size
        self._waiting = total
        if self._flush_handle is None and self._fresh:
            self._gather()

    @override
    def has_room(self, contacts: Iterable[Contact], size: int) -> bool:
        room = self.limits.waiting_bytes_max - self._waiting
        return size <= room and self._crowd.has_room(contacts, size)

    @override
    async def wait_for_room(
        self, contacts: Callable[[], Sequence[Contact]], timeout_seconds: float
    ) -> None:
        await self._crowd.wait(contacts, timeout_seconds)

    @override
    async def drain(self, timeout_seconds: float) -> bool:
        self._drains += 1
        self._drain_begins()
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
                self._drain_ends()

    @override
    def close(self, linger_milliseconds: int | None = None) -> None:
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
        for input_pipe in list(self.inputs.values()):
            input_pipe.close()
        for pipe in list(self._pipes.values()):
            self._shut(pipe, linger)
        self._forgotten.detach()
        self._close_transport(linger)

    # -- what a transport does -------------------------------------------------------------

    @abstractmethod
    def _connect(self, contact: Contact, now: float) -> P:
        """Make the pipe to a process; raises OSError or `AddressError` where it cannot."""

    def _may_take(self, pipe: P, peer: PeerId) -> bool:
        """Say whether a pipe takes a record for another process than the one that it names.

        After True, the caller gives the record to the pipe at once.
        """
        return True

    def _is_outdated(self, pipe: P, now: float) -> bool:
        """Say whether a pipe in which nothing waits has to be replaced by a new one."""
        return False

    @abstractmethod
    def _offer(self, pipe: P, frame: bytes) -> bool:
        """Give a frame to the pipe's connection; False if it takes no more at the moment."""

    @abstractmethod
    def _is_settled(self, pipe: P) -> bool:
        """Say whether the connection, which took all that there was, needs no watching."""

    @abstractmethod
    def _watch(self, pipe: P) -> None:
        """Call `_push` and `_tell_settled` when the connection takes more."""

    @abstractmethod
    def _unwatch(self, pipe: P) -> None:
        """Stop what `_watch` began."""

    def _lingers(self, pipe: P, linger_milliseconds: int) -> bool:
        """Say whether the transport will call `_end` itself, within that time."""
        return False

    @abstractmethod
    def _release(self, pipe: P, linger_milliseconds: int) -> None:
        """Close the connection of a pipe; what it was given may linger on."""

    def _drain_begins(self) -> None:  # only libzmq has something to do
        """Prepare for a drain: from now on `_is_settled` says when all is with the kernel."""

    def _drain_ends(self) -> None:  # likewise
        """Undo `_drain_begins`."""

    @abstractmethod
    def _close_transport(self, linger_milliseconds: int) -> None:
        """Wait, that long at most, until all that lingers has left, and release everything."""

    # -- queues ----------------------------------------------------------------------------

    def begin_turn(self) -> None:
        """Let an input hand over what one connection, or this event loop, sent in a turn."""
        self._spares_left = self._spares_a_turn
        self._input_turns += 1

    def _gather(self) -> None:
        """Begin to collect records for the next flush."""
        self._gather_until = self._loop.time() + GATHER_SECONDS
        self._turns_seen = -1
        self._flush_handle = self._loop.call_soon(self._flush_unless_read)

    def _flush_unless_read(self) -> None:
        """Flush, unless the inputs have handed something over since the last turn of the loop."""
        turns = self._input_turns
        if (
            turns == self._turns_seen
            or self._waiting > GATHER_BYTES
            or self._loop.time() >= self._gather_until
        ):
            self._flush()
        else:
            self._turns_seen = turns
            self._flush_handle = self._loop.call_soon(self._flush_unless_read)

    def _flush(self) -> None:
        self.begin_turn()
        if self._flush_handle is not None:
            self._flush_handle.cancel()
            self._flush_handle = None
        now = self._loop.time()
        fresh, self._fresh = self._fresh, []
        for pipe in fresh:
            if not pipe.watched:
                self._push(pipe, now)
        self._tell_settled()

    def _push(self, pipe: P, now: float) -> None:
        """Offer the connection what waits in `pipe`, and watch it exactly while that is useful."""
        done = pipe.closed or (self._offer_all(pipe, now) and self._is_settled(pipe))
        if done is pipe.watched:
            pipe.watched = not done
            if done:
                self._unwatch(pipe)
                self._watched.discard(pipe)
            else:
                self._watched.add(pipe)
                self._watch(pipe)

    def _offer_all(self, pipe: P, now: float) -> bool:
        records = pipe.records
        if pipe.waiting <= self._record_room:  # nearly always
            if records:
                if not self._offer_joined(pipe, records, pipe.waiting, now):
                    return False
                self._emptied(pipe)
            return True
        # A frame takes about the mean number of records; twice that, for stretches of small ones.
        records_max = 2 * self._record_room * len(records) // pipe.waiting + 1
        start = 0
        while start < len(records):
            some = records[start : start + records_max]
            ends = list(accumulate(map(len, some)))
            count = bisect_right(ends, self._record_room) or 1  # one, however large
            if not self._offer_joined(pipe, some[:count], ends[count - 1], now):
                break
            pipe.waiting -= ends[count - 1]
            self._waiting -= ends[count - 1]
            start += count
        del records[:start]
        if pipe.address in self.crowded:
            self._crowd.renew(pipe)
        return not records

    def _emptied(self, pipe: P) -> None:
        """Take note that a pipe is empty."""
        self._waiting -= pipe.waiting
        pipe.waiting = 0
        pipe.records.clear()
        if pipe.address in self.crowded:
            self._crowd.renew(pipe)

    def _drop(self, address: str, records: Sequence[bytes]) -> None:
        """Count records that do not leave, and tell whoever wants to know."""
        self.counters.records_dropped += len(records)
        for tell in self.lost:
            tell(address, records)

    def _overflows(self, pipe: P, record: bytes) -> None:
        """Drop a record for which there is no room."""
        self._drop(pipe.address, [record])
        if self._log.due("full", self._loop.time()):
            _log.warning(
                "dropped a record for %s, since its queue or all room for what waits is full"
                " (%d records dropped so far; said once a minute)",
                pipe.address,
                self.counters.records_dropped,
            )

    def _offer_joined(self, pipe: P, records: list[bytes], size: int, now: float) -> bool:
        if not self._offer(pipe, self.frame_header + b"".join(records)):
            return False
        counters = self.counters
        counters.frames_sent += 1
        counters.records_sent += len(records)
        counters.bytes_sent += len(self.frame_header) + size
        pipe.moved = now
        return True

    def _tell_settled(self) -> None:
        if self._drains and not self._watched and not self._fresh:
            self._settled.set()

    def _open(self, contact: Contact) -> P | None:
        if self._closed:
            return None
        now = self._loop.time()
        if len(self._pipes) >= self.pipes_max and not self._spare_one(now):
            self.counters.pipes_refused += 1
            self._warn_once("full", "all %d output pipes are busy: no new peer", self.pipes_max)
            return None
        try:
            pipe = self._connect(contact, now)
        except (OSError, ValueError) as error:  # AddressError is one
            self.counters.pipes_refused += 1
            self._warn_once("open", "cannot open an output pipe: %s", error)
            return None
        self._pipes[contact.address] = pipe
        if self._sweep_handle is None:
            self._sweep_handle = self._loop.call_later(self.limits.idle_seconds, self._sweep)
        return pipe

    def _spare_one(self, now: float) -> bool:
        """Close a pipe to make room: one that carried control records only, or else an idle one.

        Events go to peers of this process's own tables; control records also go to strangers, which
        can name any address. The pipe to close is the one opened first of those that never had
        an event, or else the one idle for longest, if for `spare_seconds`. The frames of one
        connection in a turn close an eighth of the pipes at most, so that other strangers get their
        answers.
        """
        fresh = self._fresh
        for pipe in self._pipes.values():
            if not pipe.carries_events and pipe not in fresh:
                if not self._spares_left:
                    return False
                self._spares_left -= 1
                self._shut(pipe, self.limits.linger_milliseconds)
                return True
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
        """Close the spent pipes, and come back when the next one can be idle."""
        now, idle = self._loop.time(), self.limits.idle_seconds
        self._close_spent(now)
        self._sweep_handle = None
        if self._pipes:
            oldest = min(pipe.moved for pipe in self._pipes.values())
            # chosen: an eighth, so that many pipes of different age share a sweep.
            delay = max(oldest + idle - now, idle / 8)
            self._sweep_handle = self._loop.call_later(delay, self._sweep)

    def _close_spent(self, now: float) -> None:
        """Close the pipes that are idle, or have to be replaced."""
        for pipe in list(self._pipes.values()):
            spent = pipe.moved + self.limits.idle_seconds <= now or self._is_outdated(pipe, now)
            if spent and pipe not in self._fresh:
                self._shut(pipe, self.limits.linger_milliseconds)

    def _shut(self, pipe: P, linger_milliseconds: int) -> None:
        """Take no more records for an address; those that wait may linger, if the transport can."""
        del self._pipes[pipe.address]
        if not self._lingers(pipe, linger_milliseconds):
            self._end(pipe, linger_milliseconds)

    def _end(self, pipe: P, linger_milliseconds: int) -> None:
        pipe.closed = True
        self._drop(pipe.address, pipe.records)
        self._emptied(pipe)
        if pipe.watched:
            pipe.watched = False
            self._unwatch(pipe)
            self._watched.discard(pipe)
        self._release(pipe, linger_milliseconds)
        self._tell_settled()

    def _warn_once(self, kind: str, message: str, *values: object) -> None:
        if kind not in self._warned:
            self._warned.add(kind)
            _log.warning(message + " (further ones are only counted)", *values)


def _shut_forgotten(sockets: set[Any]) -> None:
    """Close what was open when the pipes were garbage-collected.

    A ZeroMQ context would be collected before its sockets, and wait for them for ever.
    """
    for socket in list(sockets):
        socket.close()
    warnings.warn("pipes were never closed; close their manager", ResourceWarning, stacklevel=2)
