"""The bytes of ZMTP 3.1 that PUSH and PULL need, without any I/O [ZeroMQ RFC 37].

Theory of operation
-------------------
A connection begins with a greeting of 64 bytes from either side: a signature, the version 3.1,
the *mechanism*, which is ``NULL``, or ``CURVE`` where links are encrypted
(`camcast.live.wire.zmtp.curve`). The handshake of the mechanism follows, in which either side tells
its metadata; that of NULL is one command READY from either side. From then on a PUSH sends
messages, and both may send PING, which is answered by PONG.

The metadata are::

    Socket-Type      PUSH or PULL [RFC 37]
    X-Camcast-Wire   the version of the frames that are sent or taken, in decimal digits
    X-Camcast-Peer   the 16 bytes of the peer id of the process; missing where there is no single
                     one: an output that several nodes of a loop share
    X-Camcast-System the name of the process's system; missing for the system without a name
    X-Camcast-Extensions  what the process understands beyond that version, separated by commas;
                     missing where that is nothing (`camcast.vocabulary.extensions`)
    X-Camcast-Record in the profile `signed`: who the process is, where it is and what it may do,
                     signed (`camcast.security.known_peers`), in Base64, since libzmq hands an
                     application the text before the first zero byte

libzmq sends the last property alone, and from its outputs only (`camcast.live.wire.zmq_links`). A
peer that names another version of the wire format is refused (`WireVersionError`), since none of
its frames could be read, and so is a peer of another system (`OtherSystemError`). Under CURVE the
process that dials says its system in its last command; the other one answers that before it closes
the connection, so that both learn both names.

`Decoder` takes the bytes of one peer as they come and yields what they say. A message here is one
frame, never empty: the flag MORE, an empty frame, a frame above the limit, a command that is not
named here, or anything before the handshake is done, is a `ProtocolError`; the connection must be
closed then. A peer with another mechanism, or with other keys, is a `StrangerError`. The decoder
keeps the bytes of one unfinished frame, never more than it was sent, and looks at each byte once,
however small the pieces in which they come.
"""

from __future__ import annotations

from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Mapping
from struct import Struct
from typing import Final, Protocol

from typing_extensions import override

from camcast.live.wire.handshake_texts import ASKS_FOR_ENCRYPTION, BROKEN_OFF, SPEAKS_PLAIN
from camcast.vocabulary.extensions import Extension, read_extensions, write_extensions
from camcast.vocabulary.identity import PEER_ID_BYTES, UNKNOWN_PEER, PeerId
from camcast.vocabulary.systems import other_system
from camcast.vocabulary.wire import VERSION

GREETING_BYTES: Final = 64  # [RFC 37, 2.1]
_SIGNATURE: Final = b"\xff" + bytes(8) + b"\x7f"
_MECHANISM_BYTES: Final = 20
CURVE_NAME: Final = b"CURVE"  # [RFC 26, 3.1]

_MORE: Final = 1  # [RFC 37, 2.3] the flags of a frame
_LONG: Final = 2
_COMMAND: Final = 4

_LENGTH: Final = Struct(">Q")
_NUMBER: Final = Struct(">I")
SHORT_MAX: Final = 255  # [RFC 37, 2.3] what fits the one byte of a short frame's length

# chosen: READY of libzmq has some 30 bytes; ERROR a reason of 255.
COMMAND_BYTES_MAX: Final = 512
CONTEXT_BYTES_MAX: Final = 16  # [RFC 37, 2.5] the context of a PING

# [RFC 37, 2.4] names of properties that are an application's own begin with X-.
_WIRE: Final = "X-Camcast-Wire"
_PEER: Final = "X-Camcast-Peer"
_SYSTEM: Final = "X-Camcast-System"
_EXTENSIONS: Final = "X-Camcast-Extensions"
RECORD: Final = "X-Camcast-Record"
_WIRE_VERSION: Final = str(VERSION).encode()
_WIRE_DIGITS_MAX: Final = 8  # chosen: digits that are logged of a version that a stranger names


class ProtocolError(Exception):
    """The peer sent what ZMTP, or this use of it, does not allow; the message says what."""


class WireVersionError(ProtocolError):
    """The peer's frames are of another version of the wire format than ours."""


class StrangerError(ProtocolError):
    """The peer lacks the keys that are asked for here, or asks for keys that this process lacks."""


class OtherSystemError(ProtocolError):
    """The peer is of another system (`camcast.vocabulary.systems`).

    `answer` is what is still to be sent to it, so that it learns the name of this system, too.
    """

    def __init__(self, message: str, answer: bytes = b"") -> None:
        super().__init__(message)
        self.answer = answer


def greeting(mechanism: bytes, *, as_server: bool = False) -> bytes:
    """Return a greeting, which is sent at once and whole.

    libzmq sends the second half of its own only when it has seen enough of the peer's.
    """
    return (
        _SIGNATURE
        + b"\x03\x01"
        + mechanism.ljust(_MECHANISM_BYTES, b"\0")
        + bytes((as_server,))
        + bytes(31)
    )


def frame_head(size: int) -> bytes:
    """Return what stands before a message of `size` bytes."""
    if size <= SHORT_MAX:
        return bytes((0, size))
    return b"\x02" + _LENGTH.pack(size)


def command(name: bytes, body: bytes) -> bytes:
    """Return a command as a frame."""
    whole = bytes((len(name),)) + name + body
    if len(whole) <= SHORT_MAX:
        return bytes((_COMMAND, len(whole))) + whole
    return bytes((_COMMAND | _LONG,)) + _LENGTH.pack(len(whole)) + whole


def write_metadata(metadata: Mapping[str, bytes]) -> bytes:
    """Return properties as they stand in READY."""
    return b"".join(
        bytes((len(name),)) + name.encode() + _NUMBER.pack(len(value)) + value
        for name, value in metadata.items()
    )


def ready(metadata: Mapping[str, bytes]) -> bytes:
    """Return the command READY with these properties."""
    return command(b"READY", write_metadata(metadata))


class Mechanism(Protocol):
    """One side of the security of one connection."""

    name: bytes
    """The name, as it stands in the greeting."""
    overhead: int
    """By how many bytes a frame is longer than the message in it."""
    command_bytes_max: int
    """How long a command of the peer may be."""
    peer_key: bytes | None
    """The public key that the peer has proved, or nothing."""

    def begin(self, metadata: bytes) -> bytes:
        """Return what is sent first, greeting included; `metadata` is what the peer is told."""

    def take(self, name: bytes, body: bytes) -> tuple[bytes, bytes | None]:
        """Take a command of the handshake; return what to answer, and the peer's metadata.

        The metadata come with the last command that is expected of the peer, until then they are
        None. Raises `ProtocolError`.
        """

    def message(self, data: bytes) -> bytes:
        """Return a message as it is sent, after the handshake."""

    def command(self, name: bytes, body: bytes) -> bytes:
        """Return a command as it is sent, after the handshake."""

    def open(self, frame: bytes) -> tuple[bool, bytes]:
        """Return whether what a frame carries is a command, and it; raises `ProtocolError`."""

    @property
    def suspicion(self) -> str:
        """The likely reason if the peer silently ends the handshake at this point, or nothing."""


class Null(Mechanism):
    """The mechanism of links that are neither encrypted nor authenticated [RFC 37, 2.4]."""

    name = b"NULL"
    overhead = 0
    command_bytes_max = COMMAND_BYTES_MAX
    peer_key: bytes | None = None
    suspicion = ""

    @override
    def begin(self, metadata: bytes) -> bytes:
        return greeting(self.name) + command(b"READY", metadata)

    @override
    def take(self, name: bytes, body: bytes) -> tuple[bytes, bytes | None]:
        if name != b"READY":
            raise ProtocolError("its first command is not READY")
        return b"", body

    @override
    def message(self, data: bytes) -> bytes:
        return frame_head(len(data)) + data

    @override
    def command(self, name: bytes, body: bytes) -> bytes:
        return command(name, body)

    @override
    def open(self, frame: bytes) -> tuple[bool, bytes]:
        return False, frame


NULL: Final[Mechanism] = Null()
GREETING: Final = greeting(NULL.name)


def read_metadata(body: bytes) -> dict[str, bytes]:
    """Return the properties of a READY; names in lower case, as they do not depend on case."""
    properties: dict[str, bytes] = {}
    at = 0
    while at < len(body):
        name_end = at + 1 + body[at]
        value_start = name_end + _NUMBER.size
        if value_start > len(body):
            raise ProtocolError("its READY ends within a property")
        (size,) = _NUMBER.unpack_from(body, name_end)
        if value_start + size > len(body):
            raise ProtocolError("its READY ends within a property")
        name = body[at + 1 : name_end].decode("ascii", "replace").lower()
        properties[name] = body[value_start : value_start + size]
        at = value_start + size
    return properties


def handshake(
    socket_type: bytes,
    peer: PeerId,
    mechanism: Mechanism = NULL,
    record: bytes = b"",
    system: str = "",
    extensions: Iterable[Extension] = (),
) -> bytes:
    """Return what a process sends first; `UNKNOWN_PEER` for no process in particular."""
    metadata = {"Socket-Type": socket_type, _WIRE: _WIRE_VERSION}
    if peer != UNKNOWN_PEER:
        metadata[_PEER] = peer
    if system:
        metadata[_SYSTEM] = system.encode()
    if named := write_extensions(extensions):
        metadata[_EXTENSIONS] = named
    if record:
        metadata[RECORD] = record_text(record)
    return mechanism.begin(write_metadata(metadata))


def peer_in(metadata: Mapping[str, bytes]) -> PeerId:
    """Return the peer id that a READY names, `UNKNOWN_PEER` if it names none."""
    return PeerId(metadata.get(_PEER.lower(), UNKNOWN_PEER))


def extensions_in(metadata: Mapping[str, bytes]) -> tuple[str, ...]:
    """Return the extensions that a READY names."""
    return read_extensions(metadata.get(_EXTENSIONS.lower(), b""))


def record_text(record: bytes) -> bytes:
    """Return a record as its property has it."""
    return b2a_base64(record, newline=False)


def read_record_text(text: bytes) -> bytes:
    """Return what `record_text` wrote; empty if that is none."""
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError:
        return b""


def record_in(metadata: bytes) -> bytes:
    """Return the record that encoded metadata show, empty if there is none."""
    return read_record_text(read_metadata(metadata).get(RECORD.lower(), b""))


class Decoder:
    """Reads what one peer of a system sends; `peer_type` is the type of socket that it has to be.

    `metadata` is what its READY said, None before it came. `held` counts the bytes that were
    kept for a frame that is not whole yet.
    """

    __slots__ = (
        "_command_limit",
        "_greeted",
        "_limit",
        "_message_limit",
        "_need",
        "_peer_type",
        "_plain",
        "_rest",
        "_system",
        "mechanism",
        "metadata",
    )

    def __init__(
        self,
        peer_type: bytes,
        message_bytes_max: int,
        mechanism: Mechanism = NULL,
        system: str = "",
    ) -> None:
        self.mechanism = mechanism
        self._system = system
        self._plain = mechanism is NULL  # whose `open` is not called, for messages are many
        self._peer_type = peer_type
        self._message_limit = message_bytes_max
        # Commands that are encrypted look like messages, and are short.
        at_least = 0 if self._plain else SHORT_MAX
        self._limit = max(message_bytes_max, at_least) + mechanism.overhead
        self._command_limit = mechanism.command_bytes_max
        self._greeted = False
        self._rest = bytearray()
        self._need = GREETING_BYTES  # how many bytes there must be before they are looked at again
        self.metadata: dict[str, bytes] | None = None

    @property
    def held(self) -> int:
        """The bytes that wait for the rest of their frame."""
        return len(self._rest)

    @property
    def missing(self) -> int:
        """The bytes that have yet to come of a frame of which some are held, or of its head."""
        return self._need - len(self._rest) if self._rest else 0

    @property
    def suspicion(self) -> str:
        """The likely reason if the peer silently ends the connection now, or nothing."""
        if not self._greeted:
            # libzmq sends no more of its greeting to a peer whose mechanism is another one.
            return BROKEN_OFF if len(self._rest) >= len(_SIGNATURE) else ""
        return self.mechanism.suspicion if self.metadata is None else ""

    def lone_message(self, received: memoryview) -> bytes | None:
        """Return the message that was received, if that is one plain one and all of it.

        This is nearly always so. Else None: then `feed` has to take what was received.
        """
        if not self._plain or self.metadata is None or self._rest:
            return None
        size, flags = len(received), received[0]
        if flags == _LONG and size > 9:
            body = 9
            (told,) = _LENGTH.unpack_from(received, 1)
        elif not flags and size > 2:
            body, told = 2, received[1]
        else:
            return None
        return bytes(received[body:]) if told == size - body <= self._limit else None

    def feed(self, received: memoryview) -> Iterator[tuple[bytes, bytes]]:
        """Yield (name of the command, body) for what is whole now; a message has the name ``b""``.

        Of a command of the handshake the body is what to answer. Raises `ProtocolError`, after what
        came before the error. The iterator must be used up before the next call.
        """
        rest = self._rest
        if rest:
            rest += received
            if len(rest) < self._need:
                return
            data = bytes(rest)
            rest.clear()
        else:
            data = bytes(received)
        at, end = 0, len(data)
        if not self._greeted:
            if end < GREETING_BYTES:
                self._check_greeting(data)
                rest += data
                return
            self._check_greeting(data[:GREETING_BYTES])
            self._greeted = True
            at = GREETING_BYTES
        while at < end:
            flags = data[at]
            if flags & _LONG:
                body = at + 9
                if body > end:
                    self._need = 9
                    break
                (size,) = _LENGTH.unpack_from(data, at + 1)
            else:
                body = at + 2
                if body > end:
                    self._need = 2
                    break
                size = data[at + 1]
            # Checked before the body has come: nothing that is too large is ever waited for.
            if flags & ~_LONG and flags & ~_LONG != _COMMAND:
                raise ProtocolError(
                    "it sent a message of several frames" if flags & _MORE else "its flags are odd"
                )
            if size > (self._command_limit if flags & _COMMAND else self._limit):
                raise ProtocolError(f"it sent a frame of {size} bytes")
            stop = body + size
            if stop > end:
                self._need = stop - at
                break
            if flags & _COMMAND:
                yield self._command(data[body:stop])
            elif self.metadata is None:
                raise ProtocolError("it sent a message before READY")
            elif not size:
                raise ProtocolError("it sent an empty frame")
            elif self._plain:
                yield b"", data[body:stop]
            else:
                yield self._open(data[body:stop])
            at = stop
        if at < end:
            rest += memoryview(data)[at:]

    def _check_greeting(self, greeting: bytes) -> None:
        """Refuse at the first wrong byte, so that a stranger is not waited for."""
        if greeting[:1] not in (b"", b"\xff") or greeting[9:10] not in (b"", b"\x7f"):
            raise ProtocolError("it does not speak ZMTP")
        if len(greeting) > 10 and greeting[10] < 3:
            raise ProtocolError(f"it speaks version {greeting[10]} of ZMTP; 3 is asked for")
        mechanism, ours = greeting[12:32].rstrip(b"\0"), self.mechanism.name
        if len(greeting) < GREETING_BYTES or mechanism == ours:
            return
        shown = mechanism.decode("ascii", "replace")
        if mechanism == NULL.name:
            raise StrangerError(SPEAKS_PLAIN)
        if ours == NULL.name and mechanism == CURVE_NAME:
            raise StrangerError(ASKS_FOR_ENCRYPTION)
        raise ProtocolError(f"it asks for the mechanism {shown!r}; {ours.decode()} is spoken here")

    def _command(self, frame: bytes) -> tuple[bytes, bytes]:
        if not frame:
            raise ProtocolError("it sent an empty command")
        name, body = frame[1 : 1 + frame[0]], frame[1 + frame[0] :]
        if self.metadata is not None:
            if not self._plain:
                raise ProtocolError("it sent a command that is not encrypted")
            return self._later_command(name, body)
        if name == b"ERROR":
            reason = body[1:].decode("utf-8", "replace")
            why = f"it ended the handshake: {reason!r}"
            raise ProtocolError(why) if self._plain else StrangerError(why)
        answer, metadata = self.mechanism.take(name, body)
        if metadata is not None:
            self.metadata = self._check_metadata(metadata, answer)
        return name, answer

    def _check_metadata(self, body: bytes, answer: bytes) -> dict[str, bytes]:
        metadata = read_metadata(body)
        if metadata.get("socket-type") != self._peer_type:
            shown = metadata.get("socket-type", b"").decode("ascii", "replace")
            raise ProtocolError(
                f"it is a {shown!r} socket; only a {self._peer_type.decode()} is taken here"
            )
        if len(peer_in(metadata)) not in (0, PEER_ID_BYTES):
            raise ProtocolError("its READY names a peer id of a wrong length")
        version = metadata.get(_WIRE.lower(), _WIRE_VERSION)
        if version != _WIRE_VERSION:
            shown = version[:_WIRE_DIGITS_MAX].decode("ascii", "replace")
            shown = shown if shown.isdigit() else repr(shown)
            raise WireVersionError(f"it speaks version {shown}, not {VERSION}")
        system = metadata.get(_SYSTEM.lower(), b"")
        if system != self._system.encode():
            raise OtherSystemError(other_system(system, self._system), answer)
        return metadata

    def _later_command(self, name: bytes, body: bytes) -> tuple[bytes, bytes]:
        """Return a command that came after the handshake."""
        if name == b"PING":
            if not 2 <= len(body) <= 2 + CONTEXT_BYTES_MAX:
                raise ProtocolError("its PING has a wrong size")
            body = body[2:]  # the first two bytes say how long to wait for the next
        elif name not in (b"PONG", b"ERROR"):
            raise ProtocolError("it sent a command that is none of PING, PONG and ERROR")
        return name, body

    def _open(self, frame: bytes) -> tuple[bytes, bytes]:
        is_command, data = self.mechanism.open(frame)
        if not data:
            raise ProtocolError("it sent an empty frame")
        if is_command:
            return self._later_command(data[1 : 1 + data[0]], data[1 + data[0] :])
        if len(data) > self._message_limit:
            raise ProtocolError(f"it sent a frame of {len(data)} bytes")
        return b"", data
