"""Inputs on sockets of our own: connections are accepted, bounded, and read.

Theory of operation
-------------------
A connection beyond `Accepted.most` takes the place of an idle one, or is closed when it is accepted
(`Accepted.place_for`), and a process has `OF_A_PROCESS` connections to an input, the latest: nobody
keeps others out with connections that say nothing. A remote host that makes more than
`HANDSHAKES_A_SECOND` for long has the others closed unread. Each readable connection is read
once a turn of the loop, `turn_bytes_max` at most, so that all get their turn. Whole frames are
handed over at once, `turn_frames_max` at most; the other frames of the same read wait for the next
turn, and nothing more is read before. Of an unfinished frame only the bytes that came are kept, and
all that is kept together is bounded (`held_bytes_max`). Beyond it, connections wait: the rest of
their frames stays in the kernel until others have ended theirs (`Accepted.has_to_wait`), and the
oldest frame is always read on, so that one ends. While connections wait, a connection is cut off
whose frame has stood still for `QUIET_LOOKS` seconds, whether it is read or waits. So is at any
time a connection that has not ended a frame after `FRAME_SECONDS_MAX` of being read, or the
handshake after `HANDSHAKE_SECONDS_MAX`, that sends what the codec does not allow, lacks the keys
that are asked for, or sends forged records.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from attrs import Factory, define, field
from typing_extensions import override

from camcast.doors.transport import PipeLimits
from camcast.live.wire.counting_input import CountingInput
from camcast.live.wire.forks import close_in_forks
from camcast.live.wire.pipes import QueuedPipes
from camcast.live.wire.reading_time import Patience, reading_time
from camcast.live.wire.zmtp.codec import (
    Decoder,
    Mechanism,
    OtherSystemError,
    ProtocolError,
    StrangerError,
    WireVersionError,
    extensions_in,
    handshake,
    peer_in,
)
from camcast.live.wire.zmtp.readers import Readers
from camcast.live.wire.zmtp.unix_sockets import is_of_this_user
from camcast.vocabulary.addresses import check_address
from camcast.vocabulary.extensions import BOTH_WAYS
from camcast.vocabulary.host_rates import HostRates, network_of
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.logger import Logger

_log = Logger(__name__)

HANDSHAKE_SECONDS_MAX: Final = 5.0  # chosen: as `zmq_pipes`; a stranger who is silent is cut off
# chosen: as long as a handshake may take; members are asked for a sign of life far more often
IDLE_SECONDS: Final = 5.0
HOST_SHARE: Final = 8  # chosen: of all places, that a host keeps when others need one: NAT has many
OF_A_PROCESS: Final = 2  # chosen: one, and one that broke unnoticed
# chosen: 0.4 % of a core with a key exchange and two checks of signatures, some 200 µs, each; an
# honest process dials a peer once, and again when the connection broke
HANDSHAKES_A_SECOND: Final = 20
FRAME_SECONDS_MAX: Final = 30.0  # chosen: 1 MiB at 280 kbit/s; slower links lose their largest
_ACCEPT_PAUSE_SECONDS: Final = 1.0  # chosen: without a descriptor left accept() fails at once
_ACCEPTS_A_TURN: Final = 64  # chosen: a flood of connections must not keep all others waiting
_THIS_MACHINE: Final = "127.0.0.1"  # shown for a peer on a Unix socket, which has no host
_LOOK_SECONDS: Final = 1.0  # chosen: how exactly the two times above are kept
QUIET_LOOKS: Final = 3  # chosen: so many looks without progress; TCP sends lost bytes again sooner
# chosen: half of what the slowest link that `FRAME_SECONDS_MAX` allows brings between two looks, so
# that single bytes do not keep the room
PROGRESS_BYTES: Final = 2**14
LONG_FRAMES_SHARE: Final = 0.75  # chosen: of the room; batches of small events have the rest
_PIECE_BYTES: Final = 2**12  # chosen: a record of control whole; 1,000 waiting frames take 4 MiB

# chosen: the kernel asks a silent peer after 10 s, then every 5 s, and gives up after 30 s; it also
# gives up bytes that nobody acknowledged for so long (ms). There is no hurry: the membership finds
# out itself that a peer is gone.
_OPTIONS: Final = (
    (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4),
    (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 30_000),
)
# chosen: less than TCP's buffers grow to; measured: with the kernel's 208 KiB one frame of forty
# had to wait for its reader when fifty nodes published at once. Linux gives up to twice
# net.core.wmem_max, which is 208 KiB where nobody has raised it (4 MiB where this was measured).
_UNIX_SEND_BYTES: Final = 2**20


@define(eq=False)
class Connection:
    """A connection that another process made to one of our inputs."""

    socket: socket.socket
    host: str
    """Where the other process is."""
    owner: ZmtpInput = field(repr=False)
    since: float
    """When it was accepted, or when its unfinished frame began (seconds of the loop's clock)."""
    decoder: Decoder
    heard: float = 0.0
    """When something came on it last."""
    held: int = 0
    """The bytes that are kept of its unfinished frame."""
    came: int = 0
    """The bytes that came on it since the last look, but for messages that came alone."""
    quiet_looks: int = 0
    """How many times in a row its unfinished frame was looked at and had hardly grown."""
    rest: Iterator[tuple[bytes, bytes]] | None = None
    """Its received frames that are left for the next turn."""
    link: PeerId | None = None
    """The process whose key the other end has proved, where the profile tells processes apart."""
    both_ways: PeerId | None = None
    """The process that takes messages on the connection, if one does."""
    network: str = field(init=False, default=Factory(lambda it: network_of(it.host), True))
    """The network of `host`, which the host's share is counted by."""
    lost: Callable[[], None] | None = None
    """Called when the connection is lost, by the output that sends on it."""


class Accepted:
    """The connections that others have to all inputs of one event loop, and what they hold."""

    def __init__(self, most: int, limits: PipeLimits) -> None:
        self.most = most
        self.held = 0
        self.long_frames_room: Final = int(LONG_FRAMES_SHARE * limits.held_bytes_max)
        """How much may be held before frames above `frame_bytes_max` wait (bytes)."""
        self._limits = limits
        self.waiting: dict[Connection, float] = {}
        """The connections that are not read until there is room for their unfinished frames, and
        since when (seconds of the loop's clock); the one that has waited for longest is first."""
        self.unfinished: dict[Connection, None] = {}
        """The connections amid a handshake or a frame; the one that has been so for longest is
        first."""
        self._connections: dict[Connection, None] = {}
        self._remote: Counter[str] = Counter()
        """How many of them each network has that is not the loopback."""
        self.handshakes = HostRates(HANDSHAKES_A_SECOND)
        self._idle: list[Connection] = []
        """Those that were idle when that was looked at, the one idle for longest last: a flood of
        connections does not have all of them looked through for each."""
        self._none_idle_until = 0.0
        self._of_process: dict[tuple[ZmtpInput, PeerId], list[Connection]] = {}
        """Those to each input on which a process has proved its key."""
        self._both_ways: dict[PeerId, dict[Connection, None]] = {}
        """The connections of processes that take messages on them; the latest comes last."""
        self.on_both_ways: Callable[[Connection, PeerId], None] | None = None
        """Called when such a connection has been made, with the process at its other end."""

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: Connection) -> None:
        """Take a connection in, which begins with its handshake."""
        self._connections[connection] = self.unfinished[connection] = None
        if connection.network:
            self._remote[connection.network] += 1

    def place_for(self, host: str, now: float) -> Connection | None:
        """Return the connection that has to end so that a host gets another one, if any has to.

        That is the one which has been idle for longest: of the other remote host with most
        connections, if these are more than its share (`HOST_SHARE`), or else of all that have been
        idle for `IDLE_SECONDS`. The loopback has no share, for many honest processes are there.
        """
        network = network_of(host)
        others = ((count, each) for each, count in self._remote.items() if each != network)
        count, largest = max(others, default=(0, ""))
        if count > self.most // HOST_SHARE:
            its = (one for one in self._connections if one.network == largest)
            return min(its, key=lambda one: one.heard)
        while self._idle:
            longest = self._idle.pop()
            if longest in self._connections and now - longest.heard >= IDLE_SECONDS:
                return longest
        if now < self._none_idle_until:
            return None
        by_silence = sorted(self._connections, key=lambda one: one.heard, reverse=True)
        self._idle = [one for one in by_silence if now - one.heard >= IDLE_SECONDS]
        self._none_idle_until = by_silence[-1].heard + IDLE_SECONDS
        return self._idle.pop() if self._idle else None

    def has_proved(self, connection: Connection, link: PeerId) -> Connection | None:
        """Note the process that has proved its key; return its connection that has to end for this.

        None if it has no more than `OF_A_PROCESS`.
        """
        connection.link = link
        its = self._of_process.setdefault((connection.owner, link), [])
        its.append(connection)
        return None if len(its) <= OF_A_PROCESS else min(its[:-1], key=lambda one: one.heard)

    def discard(self, connection: Connection) -> None:
        """Forget a connection, and what it held."""
        if connection in self._connections:
            del self._connections[connection]
            if connection.network:
                self._remote[connection.network] -= 1
                if not self._remote[connection.network]:
                    del self._remote[connection.network]
            if connection.link is not None:
                its = self._of_process[connection.owner, connection.link]
                its.remove(connection)
                if not its:
                    del self._of_process[connection.owner, connection.link]
        self.unfinished.pop(connection, None)
        self.waiting.pop(connection, None)
        if connection.both_ways is not None:
            made = self._both_ways[connection.both_ways]
            made.pop(connection, None)
            if not made:
                del self._both_ways[connection.both_ways]
            connection.both_ways = None
        self.held -= connection.held
        connection.held = 0
        if self.waiting:
            self._read_on()

    def goes_both_ways(self, connection: Connection, peer: PeerId) -> None:
        """Note that a process takes messages on the connection that it has made."""
        connection.both_ways = peer
        self._both_ways.setdefault(peer, {})[connection] = None
        if self.on_both_ways is not None:
            self.on_both_ways(connection, peer)

    def to(self, peer: PeerId) -> Connection | None:
        """Return the latest connection on which a process takes messages, if there is any."""
        return next(reversed(self._both_ways.get(peer, {})), None)

    def of(self, owner: ZmtpInput) -> list[Connection]:
        """Return the connections to one input."""
        return [connection for connection in self._connections if connection.owner is owner]

    def has_read(self, connection: Connection, held: int, now: float, *, frame_ended: bool) -> None:
        """Take note of what a connection holds after something of it was read."""
        shrinks = held < connection.held
        self.held += held - connection.held
        begins = held and (frame_ended or not connection.held)
        connection.held = held
        if connection.decoder.metadata is None:
            return  # still amid its handshake
        if begins or not held:
            self.unfinished.pop(connection, None)
        if begins:
            connection.since = now
            connection.quiet_looks = 0
            self.unfinished[connection] = None
        if self.has_to_wait(connection):
            self.waiting[connection] = now
            connection.owner.pause(connection)
        if self.waiting and (shrinks or frame_ended):  # there is room, or another oldest frame
            self._read_on()

    def piece_of(self, connection: Connection) -> int:
        """Return how many bytes are read of a connection where long frames have no room left.

        These are the rest of a frame that need not wait, or as many as hold a small frame whole.
        """
        missing = 0 if self.has_to_wait(connection) else connection.decoder.missing
        return max(_PIECE_BYTES, missing)

    def has_to_wait(self, connection: Connection) -> bool:
        """Say whether there is no room for more of a connection's unfinished frame.

        The oldest unfinished frame never waits: some frame ends, whatever the room.
        """
        if not connection.held or connection.rest is not None:
            return False
        size = connection.held + connection.decoder.missing
        is_long = size > self._limits.frame_bytes_max
        room = self.long_frames_room if is_long else self._limits.held_bytes_max
        return self.held > room and connection is not self._oldest()

    def _oldest(self) -> Connection | None:
        begun = (one for one in self.unfinished if one.held and one.decoder.metadata is not None)
        return next(begun, None)

    def _read_on(self) -> None:
        """Read on of those that wait: the oldest frame, and what there is room for whole."""
        oldest, room = self._oldest(), self.long_frames_room - self.held
        for connection in list(self.waiting):
            missing = connection.decoder.missing
            if connection is oldest or missing <= room:
                room -= missing
                waited = connection.owner.now() - self.waiting.pop(connection)
                connection.since += waited  # the time in which it is not read is not its own
                connection.quiet_looks = 0
                connection.owner.read_on(connection)


class ZmtpInput(CountingInput):
    """Sockets that listen for one process, TCP's first, and the connections accepted from them."""

    def __init__(
        self,
        listening: Sequence[socket.socket],
        on_frame: Callable[..., None],
        peer: PeerId,
        pipes: QueuedPipes[Any],
        accepted: Accepted,
        readers: Readers,
        buffer: memoryview,
        mechanism: Callable[[str], Mechanism],
    ) -> None:
        super().__init__(on_frame, peer, pipes)
        self._mechanism = mechanism
        host, port = listening[0].getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        self.address = check_address(f"tcp://{shown}:{port}")
        self._listening = listening
        self._frame_limit = pipes.frame_bytes_max
        self._profile = pipes.profile
        self._system, self._misfits = pipes.system, pipes.misfits
        self._extensions = pipes.extensions
        self._accepted = accepted
        self._readers = readers
        self._buffer = buffer
        self._sockets = pipes.sockets
        self._sockets.update(listening)
        self._inputs = pipes.inputs
        self.closed = False
        self._timer: Patience | None = None
        self._again: asyncio.TimerHandle | None = None
        self._warned = False
        self._accept_from_now()

    @override
    def close(self) -> None:
        if self.closed:
            return
        self.closed = True
        for listening in self._listening:
            self._loop.remove_reader(listening)
            listening.close()
            self._sockets.discard(listening)
        for timer in (self._timer, self._again):
            if timer is not None:
                timer.cancel()
        for connection in self._accepted.of(self):
            self.lose(connection)
        self._inputs.pop(self.address, None)

    def _accept_from_now(self) -> None:
        for listening in self._listening:
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTS_A_TURN):
            try:
                made, source = listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            except OSError:
                # No descriptor is left, and the listening socket stays readable: do not watch it
                # for a while.
                for each in self._listening:
                    self._loop.remove_reader(each)
                self._again = self._loop.call_later(_ACCEPT_PAUSE_SECONDS, self._accept_from_now)
                return
            host = source[0] if source else _THIS_MACHINE
            if not self._accepted.handshakes.allow(host, self._loop.time()):
                made.close()
                self.counters.handshakes_refused += 1
                self._say("refused", host, "its host connects too often")
            elif not self._has_place(host):
                made.close()
                self._refused()
            elif source or is_of_this_user(made):
                self._let_in(made, host)
            else:
                made.close()

    def _has_place(self, host: str) -> bool:
        """Say whether another connection of a host may be let in; one may have to end for it."""
        if len(self._accepted) < self._accepted.most:
            return True
        idle = self._accepted.place_for(host, self._loop.time())
        if idle is None:
            return False
        idle.owner.replace(idle)
        return True

    def replace(self, connection: Connection) -> None:
        """End a connection whose place another one needs."""
        self.counters.connections_replaced += 1
        self.lose(connection)

    def _let_in(self, made: socket.socket, host: str) -> None:
        mechanism = self._mechanism(host)
        decoder = Decoder(b"PUSH", self._frame_limit, mechanism, self._system)
        now = self._loop.time()
        connection = Connection(made, host, self, now, decoder, now)
        self._accepted.add(connection)
        self._sockets.add(made)
        try:
            prepare(made)
            self.read_on(connection)
            # An empty kernel buffer takes some hundred bytes.
            says = self.peer, mechanism, self._shown(), self._system, self._extensions
            made.send(handshake(b"PULL", *says))
        except OSError:
            self.lose(connection)
        else:
            self._watch_time()

    def now(self) -> float:
        """Return the time by the clock of the event loop (seconds)."""
        return self._loop.time()

    def pause(self, connection: Connection) -> None:
        """Leave what comes on a connection in the kernel, which has its sender wait."""
        self._readers.remove(connection.socket)

    def read_on(self, connection: Connection) -> None:
        """Read a connection, each turn in which something has come."""
        self._readers.add(connection.socket, partial(self._read, connection))

    def lose(self, connection: Connection) -> None:
        """End a connection, by whichever side."""
        connection.rest = None
        self._readers.remove(connection.socket)
        connection.socket.close()
        self._sockets.discard(connection.socket)
        self._accepted.discard(connection)
        lost, connection.lost = connection.lost, None
        if lost is not None:
            lost()

    def _read(self, connection: Connection) -> None:
        accepted, most = self._accepted, len(self._buffer)
        if accepted.held > accepted.long_frames_room:
            most = min(most, accepted.piece_of(connection))
        try:
            size = connection.socket.recv_into(self._buffer, most)
        except BlockingIOError:
            return
        except OSError:
            size = 0
        if not size:
            if suspicion := connection.decoder.suspicion:
                self._say("lost", connection.host, suspicion)
            self.lose(connection)
            return
        connection.heard = self._loop.time()
        received = self._buffer[:size]
        message = connection.decoder.lone_message(received)
        if message is None:
            connection.came += size
            self._take(connection, connection.decoder.feed(received), size)
            return
        self._begin_turn()
        self.hand_over(message)  # on a plain link nobody has proved who he is

    def _go_on(self, connection: Connection) -> None:
        """Take what is left from the last turn, and read on when that is used up."""
        frames, connection.rest = connection.rest, None
        if frames is not None:  # not lost in the meantime
            self.read_on(connection)
            self._take(connection, frames, connection.held)

    def _take(
        self, connection: Connection, frames: Iterator[tuple[bytes, bytes]], size: int
    ) -> None:
        """Hand over the frames of one turn, which are among `size` bytes that were read."""
        count = 0
        self._begin_turn()
        try:
            for name, body in frames:
                count += 1
                if not name:
                    barred = self.hand_over(body, connection.link)
                    if self.closed:
                        return
                    if barred:
                        self._part_from(connection)
                        return
                elif name == b"PING" and connection.lost is None:  # else amid a frame, maybe
                    self._answer(connection, connection.decoder.mechanism.command(b"PONG", body))
                elif body and name in (b"HELLO", b"INITIATE", b"KEY"):
                    self._note_link(connection)
                    self._answer(connection, body)
                if name in (b"READY", b"INITIATE"):
                    self._note_both_ways(connection)
                if count == self._limits.turn_frames_max:
                    connection.rest = frames
                    self.pause(connection)
                    self._loop.call_soon(self._go_on, connection)
                    break
        except WireVersionError as error:
            self.counters.versions_refused += 1
            self._say("refused", connection.host, str(error))
            self.lose(connection)
            return
        except OtherSystemError as error:
            self._answer(connection, error.answer)
            self.counters.systems_refused += 1
            self._misfits.add(connection.host, str(error), self._loop.time())
            self._say("refused", connection.host, str(error))
            self.lose(connection)
            return
        except StrangerError as error:
            self._refused_stranger(connection.host, str(error))
            self.lose(connection)
            return
        except ProtocolError as error:
            self.counters.frames_refused += 1
            self._cut_off(connection, str(error))
            return
        accepted = self._accepted
        held = connection.decoder.held if connection.rest is None else size
        if held or connection.held or connection in accepted.unfinished:
            accepted.has_read(connection, held, self._loop.time(), frame_ended=count > 0)
            if accepted.unfinished:
                self._watch_time()

    def _part_from(self, connection: Connection) -> None:
        """Close all connections of the process at the other end of one, which is barred."""
        link = connection.link
        self._forger(connection.host)
        for one in self._accepted.of(self):
            if one.link == link:
                self.lose(one)

    def _note_both_ways(self, connection: Connection) -> None:
        """Note a connection on which a process takes messages, too, once it is known by name."""
        metadata = connection.decoder.metadata or {}
        peer = connection.link
        if peer is None and (self._profile is None or not self._profile.tells_processes_apart):
            peer = peer_in(metadata) or None
        if peer is not None and BOTH_WAYS.name in extensions_in(metadata):
            self._accepted.goes_both_ways(connection, peer)

    def _shown(self) -> bytes:
        return b"" if self._profile is None else self._profile.shown

    def _note_link(self, connection: Connection) -> None:
        """Note the process at the other end, once it has proved its key."""
        key = connection.decoder.mechanism.peer_key
        link = None if self._profile is None or key is None else self._profile.process_of(key)
        if link is not None and connection.link is None:
            other = self._accepted.has_proved(connection, link)
            if other is not None:
                self.replace(other)

    def _answer(self, connection: Connection, command: bytes) -> None:
        """Send a command; if the peer does not read, it is dropped, so that nothing waits here."""
        with suppress(OSError):
            connection.socket.send(command)

    def _watch_time(self) -> None:
        if self._timer is None:
            self._timer = reading_time().call_later(_LOOK_SECONDS, self._look_at_time)

    def _look_at_time(self) -> None:
        self._timer = None
        now, more, accepted = self._loop.time(), False, self._accepted
        for connection in [one for one in accepted.unfinished if one.owner is self]:
            begun = connection.decoder.metadata is not None
            most = FRAME_SECONDS_MAX if begun else HANDSHAKE_SECONDS_MAX
            connection.quiet_looks += 1
            if self._has_progress(connection):
                connection.quiet_looks = 0
            if now - connection.since >= most and connection not in accepted.waiting:
                self._cut_off(connection, "it did not end what it began")
            elif begun and accepted.waiting and connection.quiet_looks >= QUIET_LOOKS:
                self._cut_off(connection, "others need the room of its frame, which stands still")
            else:
                more = True
        if more:
            self._watch_time()

    def _has_progress(self, connection: Connection) -> bool:
        """Say whether enough came of a frame since the last look, or waits in the kernel."""
        came, connection.came = connection.came, 0
        if connection not in self._accepted.waiting:
            return came >= PROGRESS_BYTES
        try:
            return bool(connection.socket.recv(1, socket.MSG_PEEK))
        except OSError:  # nothing has come, or the connection is broken
            return False

    def _cut_off(self, connection: Connection, reason: str) -> None:
        if not self._warned:
            self._warned = True
            _log.warning("cut off a connection to %s: %s (said once)", self.address, reason)
        self.lose(connection)


def prepare(made: socket.socket) -> None:
    """Set the options that connections have on either side, and let no fork keep them."""
    close_in_forks(made)
    made.setblocking(False)
    if made.family == socket.AF_UNIX:  # whose other end cannot vanish without a word
        made.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _UNIX_SEND_BYTES)
        return
    for level, option, value in _OPTIONS:
        made.setsockopt(level, option, value)
