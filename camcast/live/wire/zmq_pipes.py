"""Pipes over ZeroMQ: a PULL socket for an input, a PUSH socket for each output, through libzmq.

Theory of operation
-------------------
`camcast.live.wire.pipes` has what is common to all transports.

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
counted, and their peers try again later. For a moment more may be open. A client that connects and
says nothing is cut off after five seconds. One danger remains: a stranger that speaks ZMTP on that
many connections keeps *new* peers out for as long as it likes; connected peers notice nothing.

*Keys.* With a profile both kinds of sockets speak CURVE, which libzmq has built in. It asks a ZAP
handler about each client's key (`camcast.live.wire.zap`). A frame is then longer by the 33 bytes of
CURVE, which MAXMSGSIZE counts. libzmq does not tell an output that it was refused; the input logs
whom it refused. Where the profile tells processes apart, a process is judged by its first message,
and each message names its sender (`camcast.live.wire.zmq_links`).

*A known hole, in libzmq*: a client that fills an input, adds a ZMTP PING and resets the connection
makes libzmq abort this process (`_set_common_options` says why). No option but an unbounded input
closes the hole, so only trusted processes may be able to reach the ports.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Iterable
from struct import Struct
from typing import ClassVar, Final

import zmq
from attrs import define, field
from typing_extensions import override

from camcast.doors.profile import Profile
from camcast.doors.transport import BindError, InputPipe, PipeLimits
from camcast.live.wire import zap, zmq_links
from camcast.live.wire.connections import Connections
from camcast.live.wire.counting_input import CountingInput, bind_error
from camcast.live.wire.handshake_texts import (
    ASKS_FOR_ENCRYPTION,
    NO_RECORD,
    NOT_ADMITTED,
    OTHER_KEY,
    SPEAKS_PLAIN,
)
from camcast.live.wire.output_pipe import OutputPipe
from camcast.live.wire.pipes import QueuedPipes
from camcast.vocabulary.addresses import check_address
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId

# Plain numbers, because pyzmq looks up an enum member a third more slowly (measured).
_NOBLOCK: Final = int(zmq.NOBLOCK)
_EVENTS: Final = int(zmq.EVENTS)
_RCVMORE: Final = int(zmq.RCVMORE)
_POLLIN: Final = int(zmq.POLLIN)
_POLLOUT: Final = int(zmq.POLLOUT)
_ACCEPTED: Final = int(zmq.EVENT_ACCEPTED)
_DISCONNECTED: Final = int(zmq.EVENT_DISCONNECTED)
_MALFORMED: Final = int(zmq.EVENT_HANDSHAKE_FAILED_PROTOCOL)
_NOT_ADMITTED: Final = int(zmq.EVENT_HANDSHAKE_FAILED_AUTH)
_MECHANISM: Final = int(zmq.PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
_CRYPTOGRAPHIC: Final = int(zmq.PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)

_MONITOR_EVENT: Final = Struct("=Hi")  # [zmq_socket_monitor(3)] what happened, to which descriptor

# At 1 and 2 every frame that the I/O thread takes is reported; chosen: 2, one frame under way
# while the next is being made.
_SEND_HIGH_WATER: Final = 2

# chosen: records last an hour and are signed again after 20 minutes (`known_peers`), so whatever is
# shown to a process that was restarted is valid for 10 minutes more.
_SHOWN_SECONDS: Final = 1800.0


def library_versions() -> dict[str, str]:
    """Return the versions of pyzmq and of the libzmq below it, for reports."""
    return {"pyzmq": zmq.pyzmq_version(), "libzmq": zmq.zmq_version()}


@define(eq=False, slots=False, kw_only=True)
class _ZmqOutput(OutputPipe):
    socket: zmq.SyncSocket = field()
    descriptor: int = field()
    key: bytes | None = field()
    """The key that the process there has to prove; None where links are plain."""
    opened: float = field()
    """When the pipe was opened; the record of this process that it shows is as old."""


class ZmqPipes(QueuedPipes[_ZmqOutput]):
    """Output pipes that are PUSH sockets of libzmq.

    The ZeroMQ `context` is this object's own unless given; a given one must allow enough sockets
    (MAX_SOCKETS), and after `close` its sockets linger on in the background.
    """

    strangers_may_abort: ClassVar[bool] = True

    def __init__(
        self,
        limits: PipeLimits | None = None,
        *,
        frame_header: bytes = b"",
        profile: Profile | None = None,
        context: zmq.SyncContext | None = None,
    ) -> None:
        super().__init__(limits, frame_header=frame_header, profile=profile)
        self.apart = profile is not None and profile.tells_processes_apart
        self._connections = Connections(self.connections_max, spares_silent=self.apart)
        self._owns_context = context is None
        self._context = context or zmq.Context()
        if self._owns_context:
            # Twice, for sockets that linger still count; chosen: 1,024 inputs (its default), which
            # have three each.
            self._context.set(zmq.MAX_SOCKETS, 2 * self.pipes_max + 3 * 1024)
        self._zap = None
        if profile is not None:
            # Before any socket is bound: without a handler libzmq lets everybody in.
            self._zap = zap.Handler(self._context, self._loop, profile.may_connect)
            self.sockets.add(self._zap.socket)

    @property
    @override
    def connections(self) -> Connections:
        """See `OutputPipes`; libzmq reports a connection a moment after it was made."""
        return self._connections

    @override
    def open_input(
        self, bind: str, on_frame: Callable[..., None], peer: PeerId = UNKNOWN_PEER
    ) -> ZmqInput:
        """See `OutputPipes`; libzmq has no means to tell others of `peer`."""
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
            self._set_common_options(socket)
            if self.profile is not None:
                zap.require_keys(socket, self.profile.link_secret)
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
            raise bind_error(address, error.errno or 0, zmq.strerror(error.errno or 0)) from error
        self.sockets |= {socket, monitor}
        pipe = ZmqInput(socket, monitor, on_frame, peer, self)
        self.inputs[pipe.address] = pipe
        return pipe

    @override
    def _drain_begins(self) -> None:
        for pipe in self._pipes.values():
            pipe.socket.setsockopt(zmq.SNDHWM, 1)  # see the theory of operation

    @override
    def _drain_ends(self) -> None:
        for pipe in self._pipes.values():
            pipe.socket.setsockopt(zmq.SNDHWM, _SEND_HIGH_WATER)

    @override
    def _push(self, pipe: _ZmqOutput, now: float) -> None:
        try:
            super()._push(pipe, now)
        except zmq.ZMQError as error:
            self._warn_once("socket", "closed the pipe to %s: %s", pipe.address, error)
            self._shut(pipe, 0)

    @override
    def _is_settled(self, pipe: _ZmqOutput) -> bool:
        return not self._drains or _is_writable(pipe.socket)

    @override
    def _watch(self, pipe: _ZmqOutput) -> None:
        self._loop.add_reader(pipe.descriptor, self._wake, pipe)

    @override
    def _unwatch(self, pipe: _ZmqOutput) -> None:
        self._loop.remove_reader(pipe.descriptor)

    def _wake(self, pipe: _ZmqOutput) -> None:
        if _is_writable(pipe.socket):
            self._push(pipe, self._loop.time())
            self._tell_settled()

    @override
    def _offer(self, pipe: _ZmqOutput, frame: bytes) -> bool:
        while True:
            try:
                pipe.socket.send(frame, _NOBLOCK)
            except zmq.Again:
                if not _is_writable(pipe.socket):
                    return False
            else:
                return True

    @override
    def _connect(self, contact: Contact, now: float) -> _ZmqOutput:
        address, socket = contact.address, None
        if not contact.is_dialable:
            raise ConnectionRefusedError(
                f"{address}: nobody can dial this process, and the transport zmq sends on no"
                " connection that another has made; take zmtp or tcp"
            )
        key = None if self.profile is None else self.profile.key_of(contact)
        if self.profile is not None and key is None:  # nobody is dialled whose key is not known
            raise ConnectionRefusedError(f"{address}: {NO_RECORD}")
        try:
            socket = self._context.socket(zmq.PUSH)
            self._set_common_options(socket)
            if self.profile is not None and key is not None:
                socket.setsockopt(zmq.CURVE_SERVERKEY, key)
                socket.setsockopt(zmq.CURVE_PUBLICKEY, self.profile.link_public)
                socket.setsockopt(zmq.CURVE_SECRETKEY, self.profile.link_secret)
                if shown := self.profile.shown:
                    zmq_links.show_record(socket, shown)
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
        except BaseException as error:
            if socket is not None:
                socket.close(linger=0)
            if isinstance(error, zmq.ZMQError):
                raise OSError(error.errno, str(error)) from error
            raise
        self.sockets.add(socket)
        descriptor = int(socket.getsockopt(zmq.FD))
        pipe = _ZmqOutput(
            address=address, moved=now, socket=socket, descriptor=descriptor, key=key, opened=now
        )
        pipe.named = None if self.profile is None else self.profile.process_at(contact)
        return pipe

    @override
    def _may_take(self, pipe: _ZmqOutput, peer: PeerId) -> bool:
        if not self.apart or self.profile is None:
            return True
        key = self.profile.key_of(Contact(peer, pipe.address))
        if key is not None and key != pipe.key:
            # Another process has said that it is there now; the next record dials that one.
            self._shut(pipe, self.limits.linger_milliseconds)
        return key == pipe.key

    @override
    def introduce_anew(self) -> None:
        """See `OutputPipes`: what an output shows was set when its socket was made."""
        for pipe in list(self._pipes.values()) if self.apart else ():
            self._shut(pipe, self.limits.linger_milliseconds)

    @override
    def _is_outdated(self, pipe: _ZmqOutput, now: float) -> bool:
        return self.apart and not pipe.records and now >= pipe.opened + _SHOWN_SECONDS

    @override
    def _release(self, pipe: _ZmqOutput, linger_milliseconds: int) -> None:
        self.sockets.discard(pipe.socket)
        pipe.socket.close(linger=linger_milliseconds)

    def _set_common_options(self, socket: zmq.SyncSocket) -> None:
        overhead = 0 if self.profile is None else zap.CURVE_OVERHEAD
        _set_common_options(socket, self.frame_bytes_max + overhead)

    @override
    def _close_transport(self, linger_milliseconds: int) -> None:
        if self._zap is not None:
            self._zap.close()
        if self._owns_context:
            self._context.term()

    def input_closed(self, pipe: InputPipe, sockets: Iterable[zmq.SyncSocket]) -> None:
        """Forget an input that was closed, and its sockets."""
        self.inputs.pop(pipe.address, None)
        self.sockets.difference_update(sockets)


class ZmqInput(CountingInput):
    """A PULL socket, and a monitor that tells of its connections."""

    def __init__(
        self,
        socket: zmq.SyncSocket,
        monitor: zmq.SyncSocket,
        on_frame: Callable[..., None],
        peer: PeerId,
        pipes: ZmqPipes,
    ) -> None:
        endpoint = socket.getsockopt(zmq.LAST_ENDPOINT)
        assert isinstance(endpoint, bytes)
        super().__init__(on_frame, peer, pipes)
        self.address = check_address(endpoint.rstrip(b"\0").decode())
        self._socket = socket
        self._monitor = monitor
        self._connections = pipes.connections
        self._links = pipes.profile if pipes.apart else None
        self.judges_first_frame = pipes.apart
        self._reasons = _ENCRYPTED if pipes.profile is not None else _PLAIN
        self._on_close = pipes.input_closed
        self._closed = False
        self._in_multipart = False
        self._again: asyncio.Handle | None = None  # the rest of a burst, next turn
        self._descriptor = int(socket.getsockopt(zmq.FD))
        self._loop.add_reader(self._descriptor, self._read)
        self._monitor_descriptor = int(monitor.getsockopt(zmq.FD))
        self._loop.add_reader(self._monitor_descriptor, self._count_connections)
        self._count_connections()  # a pipe that was never read from wakes nobody

    @override
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
        """Take frames until there are none, or until this input's turn is over."""
        if self._again is not None:  # both the descriptor and a call_soon may ask in one turn
            self._again.cancel()
            self._again = None
        self._begin_turn()
        socket, apart = self._socket, self._links is not None
        bytes_left = self._limits.turn_bytes_max
        try:
            for _ in range(self._limits.turn_frames_max):
                frame = socket.recv(_NOBLOCK, copy=not apart)
                more = socket.getsockopt(_RCVMORE)
                if more or self._in_multipart:
                    self._in_multipart = bool(more)
                    self.counters.frames_refused += not more  # counted with its last part
                else:
                    if isinstance(frame, bytes):
                        self.hand_over(frame)
                    else:
                        self._hand_over_of(frame)
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

    def _hand_over_of(self, message: zmq.Frame) -> None:
        """Hand a message over, if its sender may talk to this process."""
        profile = self._links
        assert profile is not None
        descriptor = zmq_links.descriptor(message)
        if descriptor not in self._connections:
            self._count_connections()  # which tells of it, unless it is gone
            if self._closed:
                return
        link = zmq_links.sender(message, profile)
        if link is None:
            self._refused_stranger(self.address, NOT_ADMITTED)
            self._connections.cut_off(descriptor)
            return
        self._connections.has_proved(descriptor)
        if self.hand_over(message.bytes, link) and not self._closed:
            self._forger(self.address)
            self._connections.cut_off(descriptor)

    def _count_connections(self) -> None:
        """Take the monitor's reports, a few bytes for each connection that came or went.

        They tell no address of a stranger.
        """
        while not self._closed and int(self._monitor.getsockopt(_EVENTS)) & _POLLIN:
            what, _where = self._monitor.recv_multipart(_NOBLOCK)
            event, descriptor = _MONITOR_EVENT.unpack(what)
            if event == _DISCONNECTED:
                self._connections.gone(descriptor)
            elif event == _ACCEPTED:
                if not self._connections.accepted(descriptor, self.address, self._loop.time()):
                    self._refused()
            elif event == _NOT_ADMITTED:
                self._refused_stranger(self.address, NOT_ADMITTED)
            elif event == _MALFORMED and (why := self._reasons.get(descriptor)):
                self._refused_stranger(self.address, why)


# What an error of a handshake says of who connected, where links are plain and where they are not.
_PLAIN: Final = {_MECHANISM: ASKS_FOR_ENCRYPTION}
_ENCRYPTED: Final = {_MECHANISM: SPEAKS_PLAIN, _CRYPTOGRAPHIC: OTHER_KEY}


def _is_writable(socket: zmq.SyncSocket) -> bool:
    return bool(int(socket.getsockopt(_EVENTS)) & _POLLOUT)


def _monitor(context: zmq.SyncContext, socket: zmq.SyncSocket) -> zmq.SyncSocket:
    """Return a socket that hears of the connections accepted by another, and of their ends."""
    address = f"inproc://connections-{int(socket.getsockopt(zmq.FD))}"
    # Failed accepts are left out: without a descriptor left there is no end of them.
    events = _ACCEPTED | _DISCONNECTED | _MALFORMED | _NOT_ADMITTED
    socket.monitor(address, events)
    monitor = context.socket(zmq.PAIR)
    try:
        # No bound: the I/O thread would wait at it until somebody reads.
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
    # chosen: ms; a silent client holds a descriptor no longer (default 30 s).
    socket.setsockopt(zmq.HANDSHAKE_IVL, 5_000)
