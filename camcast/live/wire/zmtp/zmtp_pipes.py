"""Pipes on non-blocking sockets of our own, which speak ZMTP 3.1 with each other and with libzmq.

Theory of operation
-------------------
`camcast.live.wire.pipes` has what is common to all transports, `camcast.live.wire.zmtp.codec` the
bytes.

*Outputs.* The first frame connects. Greeting and READY leave in one piece as soon as the kernel
says "connected", and the first frame when the peer's READY has been read. READY names the process:
records for another process, whose port this one took over, are dropped and counted. So are all
records while the process at the address speaks another version of the wire format, or lacks the
keys that it should have. A peer that does not name itself, such as libzmq, gets all records for its
address. With a profile, CURVE's handshake takes the place of all this
(`camcast.live.wire.zmtp.curve`): the process at the address has proved its key before the first
frame is sealed for it.

A frame that the kernel took in part is kept whole until its last byte has left, for on a new
connection it begins again, sealed with the new connection's key. A broken connection is made again
when there is something to send, after a pause that doubles up to `RETRY_SECONDS_MAX`. An attempt is
given up after `CONNECT_SECONDS_MAX`, since the kernel's own retries of a SYN would outlive a healed
partition. The accepting side may send nothing but PING, PONG and ERROR after the handshake.

*Both ways.* A process that nobody can dial takes messages on the connections that it makes, too
(`hear_on_outputs`), and says so in READY. What is for it, at its placeholder, goes over the latest
of its connections to an input here: the output writes to a duplicate of that socket, and seals with
the keys of that connection. Without one the output waits `CONNECT_SECONDS_MAX` for it, and whoever
wants to know is told (`unattached`). The undialable process makes a connection that broke again for
as long as it is in use, also when it has nothing to send.

Processes of one machine and user use Unix sockets between them, which cost the kernel a third
(`camcast.live.wire.zmtp.unix_sockets`); all else that is said here of connections holds for both
kinds.

*Within an event loop* no socket is needed: without a profile, an output whose address is that of an
input of the same pipes gives its frames to that input in the next turn of the loop. One turn
cannot lead into another, and `turn_bytes_max` bounds what an input is given in one, as if it was
read from a socket; what is beyond waits in the output's queue.

*PING is never sent*: a libzmq that is busy and whose connection is reset aborts its process when
it comes to answer one. TCP's keepalive and TCP_USER_TIMEOUT find the dead instead.
"""

from __future__ import annotations

import asyncio
import errno
import os
import select
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address
from typing import ClassVar, Final

from attrs import define, field
from typing_extensions import override

from camcast.doors.profile import Profile
from camcast.doors.transport import BindError, InputPipe, PipeLimits
from camcast.live.wire.counting_input import bind_error
from camcast.live.wire.forks import close_in_forks
from camcast.live.wire.handshake_texts import NO_RECORD
from camcast.live.wire.output_pipe import OutputPipe
from camcast.live.wire.pipes import QueuedPipes
from camcast.live.wire.reading_time import Patience, reading_time
from camcast.live.wire.zmtp import unix_sockets
from camcast.live.wire.zmtp.codec import (
    NULL,
    Decoder,
    Mechanism,
    OtherSystemError,
    ProtocolError,
    StrangerError,
    WireVersionError,
    extensions_in,
    handshake,
    peer_in,
    record_in,
)
from camcast.live.wire.zmtp.readers import Readers
from camcast.live.wire.zmtp.zmtp_input import Accepted, Connection, ZmtpInput, prepare
from camcast.vocabulary.addresses import check_address, is_dialable, is_loopback, is_numeric
from camcast.vocabulary.extensions import BOTH_WAYS, EXTENSIONS, Extension
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId, placeholder
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

CONNECT_SECONDS_MAX: Final = 2.0  # chosen: for connect and handshake, before a new attempt
RETRY_SECONDS: Final = 0.1  # chosen: ZeroMQ's default; a restarted peer is there again
RETRY_SECONDS_MAX: Final = 2.0  # chosen: as long as a connect is waited for
_BACKLOG: Final = 1024  # chosen: a community that joins at once must not wait for a second SYN


@define(eq=False, slots=False)
class _ZmtpOutput(OutputPipe):
    inner: ZmtpInput | None = None
    """The input at the address, if it is one of the same event loop; then there is no socket."""
    given: int = 0
    """The bytes that it gets in the next turn."""
    socket: socket.socket | None = None
    decoder: Decoder | None = None
    meant: list[PeerId] = field(factory=list)
    """The process that each of the last `records` is for, those that came while no process had
    named itself at the address."""
    meant_before: PeerId = UNKNOWN_PEER
    """The process that the frame under way and the earlier records are for: the one that had named
    itself on the connection that broke."""
    message: bytes | None = None
    """The frame under way, as it would begin again on another connection; None for a command."""
    frame: memoryview | None = None
    """The frame under way, whole, as it goes over the wire."""
    sent: int = 0
    """How many bytes of it the kernel took."""
    first: PeerId = UNKNOWN_PEER
    """The process that its first record was for."""
    dialled: Contact | None = None
    """The contact that the present connection was made to."""
    extensions: tuple[str, ...] = ()
    """The extensions that the process which named itself understands."""
    retry_seconds: float = RETRY_SECONDS
    retry_at: float = 0.0
    timer: Patience | asyncio.TimerHandle | None = None
    """The next attempt, or the end of this one."""
    through: Connection | None = None
    """The connection of the undialable process at the address that frames go over."""

    @property
    def contact(self) -> Contact:
        """The contact to dial: the named process that the newest waiting record is for."""
        named = next((peer for peer in reversed(self.meant) if peer != UNKNOWN_PEER), UNKNOWN_PEER)
        return Contact(named or self.meant_before or self.first, self.address)


class ZmtpPipes(QueuedPipes[_ZmtpOutput]):
    """Output pipes that are connections of our own."""

    within_machine: ClassVar[bool] = True
    """Whether TCP is for other machines and users alone: processes of this one use Unix sockets,
    and those of one event loop nothing."""

    def __init__(
        self,
        limits: PipeLimits | None = None,
        *,
        frame_header: bytes = b"",
        profile: Profile | None = None,
        system: str = "",
        extensions: Sequence[Extension] = EXTENSIONS,
    ) -> None:
        super().__init__(
            limits,
            frame_header=frame_header,
            profile=profile,
            system=system,
            extensions=extensions,
        )
        self._keys: CurveKeys | None = None
        self._also: CurveKeys | None = None
        if profile is not None:
            from camcast.live.wire.zmtp.curve import CurveKeys  # and PyNaCl with it

            self._keys = CurveKeys(profile.link_secret)
            self._also = CurveKeys(profile.also_secret) if profile.also_secret else None
        self._accepted = Accepted(self.connections_max, self.limits)
        self._accepted.on_both_ways = self._attached
        self._hearer: ZmtpInput | None = None
        """The input that takes messages on the connections of outputs, too."""
        self._readers = Readers(self._loop, self._read_ended)
        self._leaving: dict[_ZmtpOutput, None] = {}
        """Closed pipes that still have something to send."""
        self._given: list[tuple[_ZmtpOutput, ZmtpInput, bytes]] = []
        """The frames that inputs of this event loop get in the next turn."""
        # One for all connections, since only one is read at a time; chosen: a turn's bytes, and a
        # head more, so that a frame of that size comes whole.
        self._buffer = memoryview(bytearray(self.limits.turn_bytes_max + 9))

    @property
    @override
    def connections(self) -> Accepted:
        return self._accepted

    @override
    def open_input(
        self, bind: str, on_frame: Callable[..., None], peer: PeerId = UNKNOWN_PEER
    ) -> ZmtpInput:
        address = check_address(bind, bind=True)
        if self._closed:
            raise BindError(errno.ESHUTDOWN, f"cannot listen at {address}: the pipes are closed")
        if self._hearer is not None:
            reason = "a process that nobody can dial shares its output pipes with no other"
            raise BindError(errno.EADDRNOTAVAIL, f"cannot listen at {address}: {reason}")
        try:
            listening = [_listen(address)]
        except OSError as error:
            raise bind_error(address, error.errno or 0, error.strerror or str(error)) from error
        if self.within_machine:
            local = unix_sockets.listen(*listening[0].getsockname()[:2])
            listening += [] if local is None else [local]
        pipe = ZmtpInput(
            *(listening, on_frame, peer, self, self._accepted, self._readers, self._buffer),
            self._as_server,
        )
        self.inputs[pipe.address] = pipe
        return pipe

    @override
    def hear_on_outputs(self, hearer: InputPipe) -> None:
        if list(self.inputs.values()) != [hearer] or not isinstance(hearer, ZmtpInput):
            raise ValueError("a process that nobody can dial shares its output pipes with no other")
        self._hearer = hearer

    def _as_server(self, host: str) -> Mechanism:
        if self.profile is None or self._keys is None:
            return NULL
        from camcast.live.wire.zmtp.curve import CurveServer

        said = self.profile.said_key if _is_on_the_loopback(host) else b""
        return CurveServer(self._keys, self._admits, os.urandom, said, self._also)

    def _as_client(self, pipe: _ZmtpOutput) -> Mechanism:
        """Return our side of a connection; raises `StrangerError` where no key is known."""
        profile = self.profile
        if profile is None or self._keys is None:
            return NULL
        from camcast.live.wire.zmtp.curve import CurveClient

        contact = pipe.dialled = pipe.contact
        key = profile.key_of(contact)
        if key is None and not _may_be_pinned(contact):
            raise StrangerError(NO_RECORD)
        pin = partial(profile.pin, contact.address)
        return CurveClient(self._keys, key, os.urandom, partial(self._may_answer, contact), pin)

    def _may_answer(self, contact: Contact, key: bytes, metadata: bytes) -> bool:
        profile = self.profile
        return profile is not None and profile.may_answer(contact, key, record_in(metadata))

    def _admits(self, key: bytes, metadata: bytes) -> bool:
        return self.profile is not None and self.profile.admits(key, record_in(metadata))

    # -- outputs ---------------------------------------------------------------------------

    @override
    def dial_anew(self) -> None:
        """See `OutputPipes`; a connection that the peer has made stays, for only it can."""
        for pipe in list(self._pipes.values()):
            if pipe.socket is not None and pipe.through is None:
                self._broken(pipe)

    @override
    def _connect(self, contact: Contact, now: float) -> _ZmtpOutput:
        address = check_address(contact.address)
        pipe = _ZmtpOutput(address=address, moved=now, first=contact.peer)
        if not contact.is_dialable:
            self._attach(pipe)
            return pipe
        try:
            self._as_client(pipe)  # a process is dialled only if its key can be known
        except StrangerError as error:
            raise ConnectionRefusedError(f"{address}: {error}") from error
        self._dial(pipe)
        return pipe

    def _dial(self, pipe: _ZmtpOutput) -> None:
        """Begin to connect; a failure is followed by another attempt later."""
        inner = self.inputs.get(pipe.address) if self.within_machine else None
        if self.profile is None and isinstance(inner, ZmtpInput):
            pipe.inner = inner
            self._ready(pipe, inner.peer, tuple(one.name for one in self.extensions))
            return
        if pipe.timer is not None:
            pipe.timer.cancel()
        if not is_dialable(pipe.address):
            self._attach(pipe)
            return
        pipe.timer = reading_time().call_later(CONNECT_SECONDS_MAX, self._broken, pipe)
        host, port = _host_and_port(pipe.address)
        try:
            local = unix_sockets.connect(host, port) if self.within_machine else None
            made = local or socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        except OSError as error:
            self._warn_once("descriptor", "cannot open a socket: %s", error)
            self._broken(pipe)
            return
        pipe.socket = made
        self.sockets.add(made)
        prepare(made)
        if local or made.connect_ex((host, port)) in (0, errno.EINPROGRESS):
            self._loop.add_writer(made, self._connected, pipe)
        else:
            self._broken(pipe)

    def _attach(self, pipe: _ZmtpOutput) -> None:
        """Send by a connection that an undialable process has made, or wait for one."""
        peer = pipe.contact.peer
        connection = self._accepted.to(peer) if placeholder(peer).address == pipe.address else None
        if connection is not None:
            self._send_through(pipe, connection, peer)
            return
        pipe.timer = reading_time().call_later(CONNECT_SECONDS_MAX, self._shut, pipe, 0)
        for tell in self.unattached:
            tell(Contact(peer, pipe.address))

    def _attached(self, connection: Connection, peer: PeerId) -> None:
        """Send by the connection that an undialable process has just made, if there is a pipe."""
        pipe = self._pipes.get(placeholder(peer).address)
        if pipe is not None:
            self._hang_up(pipe)
            self._send_through(pipe, connection, peer)

    def _send_through(self, pipe: _ZmtpOutput, connection: Connection, peer: PeerId) -> None:
        try:
            made = connection.socket.dup()
        except OSError as error:
            self._warn_once("descriptor", "cannot open a socket: %s", error)
            self._broken(pipe)
            return
        close_in_forks(made)
        made.setblocking(False)
        self.sockets.add(made)
        pipe.socket, pipe.decoder, pipe.through = made, connection.decoder, connection
        connection.lost = partial(self._broken, pipe)
        self._ready(pipe, peer, extensions_in(connection.decoder.metadata or {}))

    def _detach(self, pipe: _ZmtpOutput) -> None:
        """Leave the connection of an undialable process to others, unless amid a frame."""
        connection, pipe.through = pipe.through, None
        if connection is not None:
            connection.lost = None
            if pipe.frame is not None and pipe.sent:
                connection.owner.lose(connection)

    def _connected(self, pipe: _ZmtpOutput) -> None:
        made = pipe.socket
        assert made is not None
        self._loop.remove_writer(made)
        if made.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._broken(pipe)
            return
        try:
            mechanism = self._as_client(pipe)
        except StrangerError as error:  # the key that was known when the pipe was made is forgotten
            self._refuse(pipe, error)
            return
        heard = 0 if self._hearer is None else self.frame_bytes_max
        pipe.decoder = Decoder(b"PULL", heard, mechanism, self.system)
        self._loop.add_reader(made, self._hear, pipe)
        shown = b"" if self.profile is None else self.profile.shown
        try:
            # An empty kernel buffer takes some hundred bytes.
            named = [one for one in self.extensions if heard or one != BOTH_WAYS]
            says = self._own_peer(), mechanism, shown, self.system, named
            made.send(handshake(b"PUSH", *says))
        except OSError:
            self._broken(pipe)

    def _own_peer(self) -> PeerId:
        """Return the process that these outputs belong to; `UNKNOWN_PEER` for several."""
        peers = {one.peer for one in self.inputs.values()}
        return peers.pop() if len(peers) == 1 else UNKNOWN_PEER

    @override
    def _may_take(self, pipe: _ZmtpOutput, peer: PeerId) -> bool:
        if pipe.named is None:
            pipe.meant.append(peer)
            return True
        return UNKNOWN_PEER in (peer, pipe.named)

    def _hear(self, pipe: _ZmtpOutput) -> None:
        """Read the handshake of the peer, and what comes after it, which for most is commands."""
        made, decoder = pipe.socket, pipe.decoder
        assert made is not None
        assert decoder is not None
        try:
            size = made.recv_into(self._buffer, 1024 if self._hearer is None else 0)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if not size:
            if suspicion := decoder.suspicion:
                self.counters.handshakes_broken += 1
                if self._log_due(pipe, "suspicion"):
                    _log.warning("lost %s: %s (said once a minute)", pipe.address, suspicion)
            self._broken(pipe)
            return
        try:
            for name, body in decoder.feed(self._buffer[:size]):
                if not name:
                    self._take(pipe, body)
                elif name == b"READY":
                    extensions = extensions_in(decoder.metadata or {})
                    self._note_one_way(pipe, extensions)
                    self._ready(pipe, self._named(pipe, decoder), extensions)
                elif body and name in (b"KEY", b"WELCOME"):
                    made.send(body)
                elif name == b"PING" and pipe.frame is None:
                    self._begin(pipe, None, decoder.mechanism.command(b"PONG", body))
                    self._push(pipe, self._loop.time())
                if pipe.socket is not made:
                    return
        except OSError:
            self._broken(pipe)
        except (WireVersionError, OtherSystemError, StrangerError) as error:
            self._refuse(pipe, error)
        except ProtocolError as error:
            self._warn_once("peer", "cut off %s: %s", pipe.address, error)
            self._broken(pipe)

    def _note_one_way(self, pipe: _ZmtpOutput, extensions: tuple[str, ...]) -> None:
        """Log a process that can send this one nothing, for it sends on no accepted connection."""
        one_way = BOTH_WAYS.name not in extensions
        if self._hearer is not None and one_way and self._log_due(pipe, "one way"):
            _log.warning(
                "%s cannot send to this process, which nobody can dial: it has the transport zmq,"
                " or an older release (said once a minute)",
                pipe.address,
            )

    def _take(self, pipe: _ZmtpOutput, frame: bytes) -> None:
        """Hand over a frame that came on a connection that this process made."""
        hearer, profile, link = self._hearer, self.profile, None
        assert hearer is not None, "the decoder takes no messages otherwise"
        if profile is not None and profile.tells_processes_apart:
            link = pipe.named
        pipe.moved = self._loop.time()
        self.begin_turn()
        if not hearer.closed and hearer.hand_over(frame, link):
            raise StrangerError("what it sends is forged")

    def _named(self, pipe: _ZmtpOutput, decoder: Decoder) -> PeerId:
        """Return the process that said READY, by its proved key where the profile has that."""
        proved = None
        if self.profile is not None and pipe.dialled is not None:
            proved = self.profile.process_at(pipe.dialled)
        return proved if proved is not None else peer_in(decoder.metadata or {})

    def _refuse(self, pipe: _ZmtpOutput, why: ProtocolError) -> None:
        """End the connection to a process that could not read what waits for it, and log why."""
        if isinstance(why, WireVersionError):
            self.counters.versions_refused += 1
        elif isinstance(why, OtherSystemError):
            self.counters.systems_refused += 1
            self.misfits.add(pipe.address, str(why), self._loop.time())
        else:
            self.counters.strangers_refused += 1
        if self._log_due(pipe, type(why)):
            _log.warning("cut off %s: %s (said once a minute)", pipe.address, why)
        self._drop_all(pipe)
        self._broken(pipe)
        self._push(pipe, self._loop.time())  # nothing is left that it is watched for
        self._tell_settled()

    def _log_due(self, pipe: _ZmtpOutput, kind: object) -> bool:
        return self._log.due((kind, pipe.address), self._loop.time())

    @override
    def speaks(self, contact: Contact, extension: str) -> bool:
        pipe = self._pipes.get(contact.address)
        return (
            pipe is not None
            and pipe.named is not None
            and contact.peer in (pipe.named, UNKNOWN_PEER)
            and extension in pipe.extensions
        )

    def _ready(self, pipe: _ZmtpOutput, peer: PeerId, extensions: tuple[str, ...]) -> None:
        """Begin to send, but only records for the process that said READY."""
        if pipe.timer is not None:
            pipe.timer.cancel()
            pipe.timer = None
        pipe.named, pipe.extensions = peer, extensions
        self._drop_misdirected(pipe, peer)
        pipe.retry_seconds = RETRY_SECONDS
        if pipe.message is not None and pipe.inner is not None:
            frame = pipe.message
            self._end_frame(pipe)
            self._give(pipe, pipe.inner, frame)
        elif pipe.message is not None:
            assert pipe.decoder is not None
            pipe.frame = memoryview(pipe.decoder.mechanism.message(pipe.message))
        self._writable(pipe)
        if pipe.watched:  # since before there was a connection to watch
            self._watch(pipe)

    def _drop_misdirected(self, pipe: _ZmtpOutput, peer: PeerId) -> None:
        """Drop records for another process than the one that listens at the address now."""
        meant, pipe.meant = pipe.meant, []
        if peer == UNKNOWN_PEER:
            return
        fits = peer, UNKNOWN_PEER
        if pipe.meant_before not in fits:
            self._end_frame(pipe)
        meant = [pipe.meant_before] * (len(pipe.records) - len(meant)) + meant
        named = list(zip(pipe.records, meant, strict=True))
        kept = [record for record, to in named if to in fits]
        dropped = [record for record, to in named if to not in fits]
        if dropped:
            self._drop(pipe.address, dropped)
            self.counters.records_misdirected += len(dropped)
            self._emptied(pipe)
            pipe.records.extend(kept)
            pipe.waiting = sum(map(len, kept))
            self._waiting += pipe.waiting

    def _drop_all(self, pipe: _ZmtpOutput) -> None:
        """Drop all that waits, since the process at the address could not read it."""
        self._drop(pipe.address, pipe.records)
        self._emptied(pipe)
        self._end_frame(pipe)
        pipe.meant.clear()

    def _end_frame(self, pipe: _ZmtpOutput) -> None:
        """Note that the frame under way has left, or was dropped."""
        if pipe.frame is not None:
            self._waiting -= len(pipe.frame)
            pipe.message, pipe.frame, pipe.sent = None, None, 0

    def _broken(self, pipe: _ZmtpOutput) -> None:
        """Give the connection up; make another one if there is something to send."""
        self._hang_up(pipe)
        if pipe.closed:
            return
        pipe.retry_at = self._loop.time() + pipe.retry_seconds
        pipe.retry_seconds = min(RETRY_SECONDS_MAX, 2 * pipe.retry_seconds)
        if pipe.records or pipe.frame is not None or self._hearer is not None:
            self._dial_later(pipe)

    def _dial_later(self, pipe: _ZmtpOutput) -> None:
        pipe.timer = self._loop.call_at(pipe.retry_at, self._dial, pipe)

    def _hang_up(self, pipe: _ZmtpOutput) -> None:
        self._detach(pipe)
        if pipe.timer is not None:
            pipe.timer.cancel()
            pipe.timer = None
        if pipe.socket is not None:
            self._loop.remove_writer(pipe.socket)
            self._loop.remove_reader(pipe.socket)
            pipe.socket.close()
            self.sockets.discard(pipe.socket)
            pipe.socket = None
        if pipe.named is not None:
            pipe.meant_before, pipe.named = pipe.named, None
        pipe.inner, pipe.decoder, pipe.sent = None, None, 0
        if pipe.message is None:  # a command is of its connection alone
            self._end_frame(pipe)

    @override
    def _offer(self, pipe: _ZmtpOutput, frame: bytes) -> bool:
        if pipe.frame is not None:
            return False
        if pipe.named is None:
            if pipe.socket is None and pipe.timer is None:  # broken, with nothing to send till now
                self._dial_later(pipe)
            return False
        if pipe.inner is not None:
            return self._give(pipe, pipe.inner, frame)
        assert pipe.decoder is not None
        self._begin(pipe, frame, pipe.decoder.mechanism.message(frame))
        return True

    @override
    def _gather(self) -> None:
        super()._gather()
        if len(self.inputs) == 1:
            self._turns_seen = self._input_turns  # nobody else in this loop sends in the next turn

    def _read_ended(self) -> None:
        """Flush at once what the frames of this turn made the loop's only node send.

        If the sockets have more, that is read first, within `GATHER_SECONDS`.
        """
        if self._flush_handle is not None and len(self.inputs) == 1 and not self._closed:
            if self._readers.has_more():
                self._turns_seen = -1
            else:
                self._flush()

    def _give(self, pipe: _ZmtpOutput, inner: ZmtpInput, frame: bytes) -> bool:
        """Give a frame to an input of this event loop, which gets it in the next turn.

        False if the input is closed, or gets enough in that turn.
        """
        if inner.closed:
            self._broken(pipe)
            return False
        if pipe.given >= self.limits.turn_bytes_max:
            return False
        if not self._given:
            self._loop.call_soon(self._hand_over)
        self._given.append((pipe, inner, frame))
        pipe.given += len(frame)
        return True

    def _hand_over(self) -> None:
        """Hand over what outputs gave to inputs, and let the outputs go on."""
        given, self._given = self._given, []
        self.begin_turn()
        for pipe, inner, frame in given:
            pipe.given = 0
            if not inner.closed:
                inner.hand_over(frame)
        for pipe, _, _ in given:
            if pipe.watched:
                self._writable(pipe)

    def _begin(self, pipe: _ZmtpOutput, message: bytes | None, whole: bytes) -> None:
        """Give the kernel as much of a frame as it takes, and keep the rest."""
        assert pipe.socket is not None
        try:
            sent = pipe.socket.send(whole)
            if sent == len(whole):  # nearly always
                return
            broken = False
        except BlockingIOError:
            sent, broken = 0, False
        except OSError:
            sent, broken = 0, True
        pipe.message, pipe.frame, pipe.sent = message, memoryview(whole), sent
        self._waiting += len(whole)
        if broken:
            self._broken(pipe)

    def _write(self, pipe: _ZmtpOutput) -> None:
        """Give the kernel as much of the frame under way as it takes."""
        assert pipe.socket is not None
        assert pipe.frame is not None
        try:
            pipe.sent += pipe.socket.send(pipe.frame[pipe.sent :])
        except BlockingIOError:
            return
        except OSError:
            self._broken(pipe)
            return
        pipe.moved = self._loop.time()
        if pipe.sent == len(pipe.frame):
            self._end_frame(pipe)

    @override
    def _is_settled(self, pipe: _ZmtpOutput) -> bool:
        return pipe.frame is None

    @override
    def _watch(self, pipe: _ZmtpOutput) -> None:
        if pipe.named is not None and pipe.socket is not None and not self._closed:
            self._loop.add_writer(pipe.socket, self._writable, pipe)

    @override
    def _unwatch(self, pipe: _ZmtpOutput) -> None:
        if pipe.socket is not None:
            self._loop.remove_writer(pipe.socket)

    def _writable(self, pipe: _ZmtpOutput) -> None:
        if pipe.frame is not None:
            self._write(pipe)
        if pipe.named is not None:
            self._push(pipe, self._loop.time())
            self._tell_settled()
        if pipe in self._leaving and not pipe.watched:
            self._end_leaving(pipe)

    @override
    def _lingers(self, pipe: _ZmtpOutput, linger_milliseconds: int) -> bool:
        # Without a connection there is nothing to wait for, but descriptors may be short.
        waiting = pipe.named is not None and (pipe.records or pipe.frame is not None)
        if not linger_milliseconds or not waiting:
            return False
        self._leaving[pipe] = None
        if not self._closed:
            self._loop.call_later(linger_milliseconds / 1000, self._end_leaving, pipe)
        return True

    def _end_leaving(self, pipe: _ZmtpOutput) -> None:
        if pipe in self._leaving:
            del self._leaving[pipe]
            self._end(pipe, 0)

    @override
    def _release(self, pipe: _ZmtpOutput, linger_milliseconds: int) -> None:
        self._detach(pipe)
        self._end_frame(pipe)
        self._hang_up(pipe)

    @override
    def _close_transport(self, linger_milliseconds: int) -> None:
        until = time.monotonic() + linger_milliseconds / 1000
        while (left := until - time.monotonic()) > 0:
            writing = {
                pipe.socket.fileno(): pipe
                for pipe in self._leaving
                if pipe.named is not None and pipe.socket is not None
            }
            if not writing:
                break
            poll = select.poll()
            for descriptor in writing:
                poll.register(descriptor, select.POLLOUT)
            for descriptor, _ in poll.poll(1000 * left):
                self._writable(writing[descriptor])
        for pipe in list(self._leaving):
            self._end_leaving(pipe)
        self._readers.close()


class TcpPipes(ZmtpPipes):
    """The same by TCP alone, also within a machine: for measuring and packet capture."""

    within_machine = False


def _is_on_the_loopback(host: str) -> bool:
    """Say whether an IP address, as a socket writes it, is of this machine's loopback."""
    return ip_address(host.partition("%")[0].removeprefix("::ffff:")).is_loopback


def _may_be_pinned(contact: Contact) -> bool:
    """Say whether a process may tell its key itself: a contact on the loopback without identity."""
    return contact.peer == UNKNOWN_PEER and is_loopback(contact.address)


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = check_address(address, bind=True).removeprefix("tcp://").rpartition(":")
    return host.strip("[]"), int(port)


def _listen(address: str) -> socket.socket:
    host, port = _host_and_port(address)
    if not is_numeric(address):
        host = str(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][4][0])
    listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    close_in_forks(listening)
    try:
        listening.setblocking(False)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listening.family == socket.AF_INET6:
            # ``[::]`` is every interface, of IPv4 too, as it is with libzmq.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise
    return listening
