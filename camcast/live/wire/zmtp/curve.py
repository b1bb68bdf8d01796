"""CURVE: links that are encrypted, and whose two ends know each other's keys [ZeroMQ RFC 26].

Theory of operation
-------------------
Either end has a long-term X25519 key pair. The client, which connects, knows the server's public
key S from elsewhere; the server is told the client's key C, and asks `admits` about it. For each
connection both make a short-term pair, C' and S', which encrypts all that follows: the long-term
keys, learnt later, open nothing that was recorded.

::

    client                                             server
    HELLO     C', nonce, Box[64 zeros](C' to S)     →          only who knows S can say this
              ←  WELCOME   nonce, Box[S', cookie](S to C')     only who has s can answer it
    INITIATE  cookie, nonce, Box[C, vouch, metadata](C' to S') →
                          the vouch, Box[C', S](C to S'), can be made only by who has c
              ←  READY     nonce, Box[metadata](S' to C')
    MESSAGE   nonce, Box[flags, data](C' to S')    ⇄  (S' to C')

Until the vouch is verified the server keeps 32 bytes, the key of the cookie. The cookie, which only
that key opens, brings the rest of what the server needs back: C' and s'. The key is of this
connection alone. With one for all connections, as [RFC 26, 3.3] proposes for datagrams, an INITIATE
that somebody has recorded would open a second connection, and its messages would be heard twice.

A client that was not told the server's key may ask for it before anything else, by an empty `KEY`,
which a server may answer with its key, once; libzmq knows no such command, and ends the handshake.
In their metadata both may show who they are; `admits` gets these metadata beside the key.

Each command has a number, which is part of its nonce and only ever grows: what is repeated, or
taken out of order, is refused. A MESSAGE carries its ZMTP flags (MORE, COMMAND) inside the box;
outside it has none, not even COMMAND, as libzmq has it.

These are state machines without I/O. `random_bytes` is the operating system's in all but tests.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from attrs import field, frozen
from nacl import bindings
from nacl.exceptions import CryptoError
from typing_extensions import override

from camcast.live.wire.handshake_texts import (
    NOT_ADMITTED,
    OTHER_KEY,
    SAYS_NO_KEY,
    SILENT_AT_HELLO,
    SILENT_AT_INITIATE,
)
from camcast.live.wire.zmtp.codec import (
    CURVE_NAME,
    Mechanism,
    ProtocolError,
    StrangerError,
    command,
    frame_head,
    greeting,
)

KEY_BYTES: Final = 32  # [RFC 26, 3.1] of X25519
_MAC_BYTES: Final = 16
_NUMBER: Final = Struct(">Q")

# [RFC 26, 3] the sizes of bodies, without the name of the command
_HELLO_BYTES: Final = 194
_WELCOME_BYTES: Final = 160
_INITIATE_BYTES_MIN: Final = 248
_READY_BYTES_MIN: Final = 24
_COOKIE_BYTES: Final = 96
_VERSION: Final = b"\x01\x00"
_PADDING: Final = bytes(72)
_MESSAGE: Final = b"\x07MESSAGE"
_MESSAGE_HEAD_BYTES: Final = len(_MESSAGE) + _NUMBER.size
OVERHEAD: Final = _MESSAGE_HEAD_BYTES + _MAC_BYTES + 1
"""33 bytes: by so much a MESSAGE is longer than what it carries."""
_COMMAND: Final = 2  # [RFC 37, 2.3; libzmq] the flags of a message, in the box
_TO_SERVER: Final = b"CurveZMQMESSAGEC"
_TO_CLIENT: Final = b"CurveZMQMESSAGES"

# chosen: INITIATE has 257 bytes besides the metadata, which in the profile `signed` are a peer
# record of 400 bytes and four chains of four certificates of 413 (camcast.security.known_peers), in
# Base64: 10.0 kB in all.
CURVE_COMMAND_BYTES_MAX: Final = 10_240

Random = Callable[[int], bytes]
Admits = Callable[[bytes, bytes], bool]
"""Says whether the owner of a public key may talk, given the key and the metadata it shows."""


def _anybody(_key: bytes, _metadata: bytes) -> bool:
    return True


@frozen
class CurveKeys:
    """A long-term key pair; `secret` is any 32 bytes."""

    secret: bytes = field(repr=False)
    public: bytes = field(init=False)

    @public.default
    def _public(self) -> bytes:
        return bindings.crypto_scalarmult_base(self.secret)


def shared_key(public: bytes, secret: bytes) -> bytes:
    """Return the key of boxes between two parties; `ProtocolError` for a key that nobody has."""
    try:
        return bindings.crypto_box_beforenm(public, secret)
    except CryptoError as error:  # a point of low order: everybody would know the key
        raise ProtocolError("it sent a public key that is none") from error


def _open_box(key: bytes, nonce: bytes, box: bytes, failure: ProtocolError) -> bytes:
    try:
        return bindings.crypto_box_open_easy_afternm(box, nonce, key)
    except CryptoError:
        raise failure from None


class _Curve(Mechanism):
    """The common part of both ends: numbers that grow, and messages after the handshake."""

    name = CURVE_NAME
    overhead = OVERHEAD
    command_bytes_max = CURVE_COMMAND_BYTES_MAX

    def __init__(self, sends: bytes, receives: bytes, random_bytes: Random) -> None:
        self._random = random_bytes
        self._sends, self._receives = sends, receives
        self._number = 0
        self._heard = 0
        self._key = b""
        self._metadata = b""
        self.peer_key: bytes | None = None

    def _next_number(self) -> bytes:
        self._number += 1
        return _NUMBER.pack(self._number)

    def _hear(self, number: bytes) -> None:
        """Take note of the number of a command; raises `ProtocolError` unless it has grown."""
        (heard,) = _NUMBER.unpack(number)
        if heard <= self._heard:
            raise ProtocolError("it sent a nonce that is not above the last")
        self._heard = heard

    def _sealed(self, flags: int, data: bytes) -> bytes:
        number = self._next_number()
        box = bindings.crypto_box_easy_afternm(
            bytes((flags,)) + data, self._sends + number, self._key
        )
        return b"".join((frame_head(_MESSAGE_HEAD_BYTES + len(box)), _MESSAGE, number, box))

    @override
    def message(self, data: bytes) -> bytes:
        return self._sealed(0, data)

    @override
    def command(self, name: bytes, body: bytes) -> bytes:
        return self._sealed(_COMMAND, bytes((len(name),)) + name + body)

    @override
    def open(self, frame: bytes) -> tuple[bool, bytes]:
        if len(frame) < OVERHEAD or not frame.startswith(_MESSAGE):
            raise ProtocolError("it sent something else than a MESSAGE of CURVE")
        number = frame[len(_MESSAGE) : _MESSAGE_HEAD_BYTES]
        self._hear(number)
        data = _open_box(
            self._key,
            self._receives + number,
            frame[_MESSAGE_HEAD_BYTES:],
            ProtocolError("it sent a MESSAGE that its key does not open"),
        )
        if data[0] not in (0, _COMMAND):
            raise ProtocolError(
                "it sent a message of several frames" if data[0] & 1 else "its flags are odd"
            )
        return data[0] == _COMMAND, data[1:]


class CurveClient(_Curve):
    """The end that connects, to the process whose public key is `server_key`.

    Without a key the client asks the server for one, and uses the key that `pin` returns for the
    answer, if any. `admits` decides about the server once it has proved its key.
    """

    def __init__(
        self,
        keys: CurveKeys,
        server_key: bytes | None,
        random_bytes: Random,
        admits: Admits = _anybody,
        pin: Callable[[bytes], bytes | None] | None = None,
    ) -> None:
        super().__init__(_TO_SERVER, _TO_CLIENT, random_bytes)
        self._keys = keys
        self._server_key = server_key or b""
        self._admits = admits
        self._pin = pin
        self._short = CurveKeys(random_bytes(KEY_BYTES))
        self._expects = b"WELCOME" if self._server_key else b"KEY"

    @property
    @override
    def suspicion(self) -> str:
        suspicions = {b"READY": SILENT_AT_INITIATE, b"KEY": SAYS_NO_KEY}
        return suspicions.get(self._expects, SILENT_AT_HELLO)

    @override
    def begin(self, metadata: bytes) -> bytes:
        self._metadata = metadata
        return greeting(CURVE_NAME) + (self._hello() if self._server_key else command(b"KEY", b""))

    def _hello(self) -> bytes:
        number = self._next_number()
        key = shared_key(self._server_key, self._short.secret)
        box = bindings.crypto_box_easy_afternm(bytes(64), b"CurveZMQHELLO---" + number, key)
        hello = _VERSION + _PADDING + self._short.public + number + box
        return command(b"HELLO", hello)

    @override
    def take(self, name: bytes, body: bytes) -> tuple[bytes, bytes | None]:
        if name == b"KEY" and self._expects == b"KEY":
            pinned = self._pin(body) if self._pin is not None else None
            if pinned is None:
                raise StrangerError("it says a key that is none, or not the one of before")
            self._server_key, self._expects = pinned, b"WELCOME"
            return self._hello(), None
        if name != self._expects:
            raise ProtocolError(f"it sent another command than {self._expects.decode()}")
        if name == b"WELCOME":
            self._expects = b"READY"
            return command(b"INITIATE", self._initiate(body)), None
        if len(body) < _READY_BYTES_MIN:
            raise ProtocolError("its READY is too short")
        self._expects = b""
        number, box = body[:8], body[8:]
        self._hear(number)
        refusal = ProtocolError("it sent a READY that its key does not open")
        metadata = _open_box(self._key, b"CurveZMQREADY---" + number, box, refusal)
        if not self._admits(self._server_key, metadata):
            raise StrangerError(NOT_ADMITTED)
        self.peer_key = self._server_key
        return b"", metadata

    def _initiate(self, welcome: bytes) -> bytes:
        if len(welcome) != _WELCOME_BYTES:
            raise ProtocolError("its WELCOME has a wrong size")
        opened = _open_box(
            shared_key(self._server_key, self._short.secret),
            b"WELCOME-" + welcome[:16],
            welcome[16:],
            StrangerError("it has not the key that was expected at this address"),
        )
        short_server, cookie = opened[:KEY_BYTES], opened[KEY_BYTES:]
        self._key = shared_key(short_server, self._short.secret)
        vouch_nonce = self._random(16)
        vouch = bindings.crypto_box_easy_afternm(
            self._short.public + self._server_key,
            b"VOUCH---" + vouch_nonce,
            shared_key(short_server, self._keys.secret),
        )
        number = self._next_number()
        box = bindings.crypto_box_easy_afternm(
            self._keys.public + vouch_nonce + vouch + self._metadata,
            b"CurveZMQINITIATE" + number,
            self._key,
        )
        return cookie + number + box


class CurveServer(_Curve):
    """The end that accepts a connection; `admits` says whether a client may talk.

    A client that asks for a key is told `said_key`, once, if there is one. A client whose HELLO is
    for the key `also` is answered with that one.
    """

    suspicion = ""

    def __init__(
        self,
        keys: CurveKeys,
        admits: Admits,
        random_bytes: Random,
        said_key: bytes = b"",
        also: CurveKeys | None = None,
    ) -> None:
        super().__init__(_TO_CLIENT, _TO_SERVER, random_bytes)
        self._said_key = said_key
        self._keys, self._also = keys, also
        self._admits = admits
        self._cookie_key = b""

    @override
    def begin(self, metadata: bytes) -> bytes:
        self._metadata = metadata
        return greeting(CURVE_NAME, as_server=True)

    @override
    def take(self, name: bytes, body: bytes) -> tuple[bytes, bytes | None]:
        if name == b"KEY" and self._said_key:
            said, self._said_key = self._said_key, b""
            return command(b"KEY", said), None
        expected = b"INITIATE" if self._cookie_key else b"HELLO"
        if name != expected:
            raise ProtocolError(f"it sent another command than {expected.decode()}")
        if name == b"HELLO":
            return command(b"WELCOME", self._welcome(body)), None
        metadata = self._verified(body)
        number = self._next_number()
        box = bindings.crypto_box_easy_afternm(
            self._metadata, b"CurveZMQREADY---" + number, self._key
        )
        return command(b"READY", number + box), metadata

    def _welcome(self, hello: bytes) -> bytes:
        if len(hello) != _HELLO_BYTES or hello[:2] != _VERSION:
            raise ProtocolError("its HELLO has a wrong size or version")
        short_client, number, box = hello[74:106], hello[106:114], hello[114:]
        self._hear(number)
        refusal = StrangerError(OTHER_KEY)
        try:
            key = shared_key(short_client, self._keys.secret)
            _open_box(key, b"CurveZMQHELLO---" + number, box, refusal)
        except StrangerError:
            if self._also is None:
                raise
            self._keys = self._also
            key = shared_key(short_client, self._keys.secret)
            _open_box(key, b"CurveZMQHELLO---" + number, box, refusal)
        short = CurveKeys(self._random(KEY_BYTES))
        self._cookie_key = self._random(KEY_BYTES)
        cookie_nonce = self._random(16)
        cookie = bindings.crypto_secretbox_easy(
            short_client + short.secret, b"COOKIE--" + cookie_nonce, self._cookie_key
        )
        nonce = self._random(16)
        return nonce + bindings.crypto_box_easy_afternm(
            short.public + cookie_nonce + cookie, b"WELCOME-" + nonce, key
        )

    def _verified(self, initiate: bytes) -> bytes:
        """Return the metadata of an INITIATE, after the client has proved its key."""
        if len(initiate) < _INITIATE_BYTES_MIN:
            raise ProtocolError("its INITIATE is too short")
        cookie, rest = initiate[:_COOKIE_BYTES], initiate[_COOKIE_BYTES:]
        number, box = rest[:8], rest[8:]
        try:
            opened = bindings.crypto_secretbox_open_easy(
                cookie[16:], b"COOKIE--" + cookie[:16], self._cookie_key
            )
        except CryptoError:
            raise ProtocolError("its cookie is not the one that it was given") from None
        short_client, short_secret = opened[:KEY_BYTES], opened[KEY_BYTES:]
        self._hear(number)
        refusal = ProtocolError("it sent an INITIATE that its key does not open")
        self._key = shared_key(short_client, short_secret)
        content = _open_box(self._key, b"CurveZMQINITIATE" + number, box, refusal)
        client_key, vouch_nonce, vouch = content[:32], content[32:48], content[48:128]
        vouched = _open_box(
            shared_key(client_key, short_secret),
            b"VOUCH---" + vouch_nonce,
            vouch,
            StrangerError("it has not the key that it says it has"),
        )
        # The second half keeps a server from using a client's vouch to pose as that client
        # elsewhere.
        if vouched != short_client + self._keys.public:
            raise StrangerError("it has not the key that it says it has")
        if not self._admits(client_key, content[128:]):
            raise StrangerError(NOT_ADMITTED)
        self.peer_key = client_key
        return content[128:]
