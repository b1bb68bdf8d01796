"""CURVE as state machines: against what libzmq said, and against what strangers may say.

`curve_vectors.json` has two handshakes with libzmq 4.3.5, which the other side of each is ours. All
that we drew was `counted`, so that we say the same again, and what libzmq said fits it again.
"""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Callable, Iterable
from hashlib import blake2b
from pathlib import Path

import pytest
from nacl import bindings

from camcast.live.wire.zmtp.codec import (
    GREETING_BYTES,
    Decoder,
    Mechanism,
    ProtocolError,
    StrangerError,
    command,
    frame_head,
    greeting,
    write_metadata,
)
from camcast.live.wire.zmtp.curve import OVERHEAD, CurveClient, CurveKeys, CurveServer, shared_key
from tests.mutations import mutated

VECTORS = json.loads((Path(__file__).parent / "curve_vectors.json").read_text())
CLIENT, SERVER = CurveKeys(b"client".ljust(32)), CurveKeys(b"server".ljust(32))
STRANGER = CurveKeys(b"stranger".ljust(32))
PUSH, PULL = (write_metadata({"Socket-Type": name}) for name in (b"PUSH", b"PULL"))
LIMIT = 1_000


def counted(label: bytes) -> Callable[[int], bytes]:
    """Return what looks random and is the same each time."""
    numbers = iter(range(1, 100))
    return lambda size: blake2b(b"%d" % next(numbers), digest_size=size, person=label).digest()


def knows_client(key: bytes, _shown: bytes) -> bool:
    return key == CLIENT.public


def new_server() -> CurveServer:
    return CurveServer(SERVER, knows_client, counted(b"server"))


def new_client(keys: CurveKeys = CLIENT, server: bytes = SERVER.public) -> CurveClient:
    return CurveClient(keys, server, counted(b"client"))


class End:
    """One end of a connection: what it says, what it hears, and the messages in that."""

    def __init__(self, mechanism: Mechanism, own: bytes, peer_type: bytes, limit: int) -> None:
        self.mechanism = mechanism
        self.decoder = Decoder(peer_type, limit, mechanism)
        self.says = mechanism.begin(own)
        self.heard: list[tuple[bytes, bytes]] = []

    def hear(self, said: bytes) -> None:
        for name, body in self.decoder.feed(memoryview(said)):
            if name in (b"HELLO", b"WELCOME", b"INITIATE", b"KEY"):
                self.says += body
            elif name != b"READY":
                self.heard.append((name, body))

    def take(self) -> bytes:
        """Return what it said since the last time."""
        said, self.says = self.says, b""
        return said


def server_end(mechanism: CurveServer | None = None) -> End:
    return End(mechanism or new_server(), PULL, b"PUSH", LIMIT)


def client_end(mechanism: CurveClient | None = None) -> End:
    return End(mechanism or new_client(), PUSH, b"PULL", 0)


def connected() -> tuple[End, End]:
    client, server = client_end(), server_end()
    for _ in range(2):
        server.hear(client.take())
        client.hear(server.take())
    assert server.decoder.metadata is not None
    assert client.decoder.metadata is not None
    return client, server


def test_a_server_says_its_key_once_to_who_asks_and_only_if_it_has_one_to_say() -> None:
    said: list[bytes] = []

    def pin(key: bytes) -> bytes:
        said.append(key)
        return SERVER.public

    def asking() -> End:
        mechanism = CurveClient(CLIENT, None, counted(b"client"), pin=pin)
        return client_end(mechanism)

    server = server_end(CurveServer(SERVER, knows_client, counted(b"server"), b"its key"))
    client = asking()
    for _ in range(3):
        server.hear(client.take())
        client.hear(server.take())
    assert said == [b"its key"]
    assert server.decoder.metadata is not None
    again = server_end(CurveServer(SERVER, knows_client, counted(b"server"), b"its key"))
    with pytest.raises(ProtocolError, match="another command than HELLO"):
        again.hear(asking().take() + command(b"KEY", b""))
    with pytest.raises(ProtocolError, match="another command than HELLO"):
        server_end().hear(asking().take())


# -- with libzmq


def test_a_client_of_libzmq_is_heard_and_answered_to_the_byte() -> None:
    recorded = VECTORS["libzmq_client"]
    server = server_end()
    server.hear(bytes.fromhex(recorded["said"]))
    assert server.says.hex() == "".join(recorded["answers"])
    assert [body.hex() for name, body in server.heard if not name] == recorded["messages"]
    assert [len(message) for _, message in server.heard] == [3, 300]
    assert isinstance(server.mechanism, CurveServer)
    assert server.mechanism.peer_key == CLIENT.public


def test_a_server_of_libzmq_is_understood_and_answered_to_the_byte() -> None:
    recorded = VECTORS["libzmq_server"]
    said = bytes.fromhex(recorded["said"])
    pong = OVERHEAD + len(b"\x04PONGctx") + 2
    client = client_end()
    client.hear(said[:-pong])
    assert client.decoder.metadata is not None
    client.says += client.mechanism.message(b"one")
    client.says += client.mechanism.command(b"PING", b"\0\x0actx")
    assert client.says.hex() == "".join(recorded["answers"])
    client.hear(said[-pong:])
    assert client.heard == [(b"PONG", b"ctx")]


def test_what_libzmq_said_is_heard_to_where_a_byte_of_it_was_altered_and_no_further() -> None:
    """Each byte in turn; but those of the padding of HELLO, which nobody looks at."""
    recorded = VECTORS["libzmq_client"]
    said = bytes.fromhex(recorded["said"])
    hello = GREETING_BYTES + 2 + len(b"\x05HELLO")
    padding = range(hello + 2, hello + 2 + 72)
    unread = [*range(1, 9), 11, *range(32, GREETING_BYTES), *padding]  # [RFC 37, 2.1] of a greeting
    lengths = [len(bytes.fromhex(message)) + OVERHEAD for message in recorded["messages"]]
    second = len(said) - lengths[1]
    first = second - len(frame_head(lengths[1])) - lengths[0] - len(frame_head(lengths[0]))
    for at in range(len(said)):
        server = server_end()
        with contextlib.suppress(ProtocolError):
            server.hear(said[:at] + bytes((said[at] ^ 1,)) + said[at + 1 :])
        heard = [body.hex() for _, body in server.heard]
        if at in unread:
            assert heard == recorded["messages"], at
        else:
            whole = (at >= first) + (at >= second - len(frame_head(lengths[1])))
            assert heard == recorded["messages"][: max(0, whole - 1)], at


@pytest.mark.parametrize("mutations", [5_000, pytest.param(50_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("role", ["libzmq_client", "libzmq_server"])
def test_mutated_handshakes_raise_nothing_but_a_protocol_error(role: str, mutations: int) -> None:
    """Cut, doubled, altered, lengthened, and fed in pieces: a prefix of the truth is heard."""
    rng = random.Random(1)
    said, messages = bytes.fromhex(VECTORS[role]["said"]), VECTORS["libzmq_client"]["messages"]
    for _ in range(mutations):
        end = server_end() if role == "libzmq_client" else client_end()
        data, at = mutated(rng, said), 0
        with contextlib.suppress(ProtocolError):
            while at < len(data):
                step = rng.randrange(1, 600)
                end.hear(data[at : at + step])
                assert end.decoder.held <= LIMIT + OVERHEAD + 9
                at += step
        heard = [body.hex() for name, body in end.heard if not name]
        assert heard == messages[: len(heard)]


# -- with each other


def test_both_ends_talk_and_the_server_knows_the_clients_key() -> None:
    client, server = connected()
    for size in (1, 222, 223, LIMIT):
        server.hear(client.mechanism.message(bytes(size)))
        assert server.heard.pop() == (b"", bytes(size))
    server.hear(client.mechanism.command(b"PING", b"\0\x0actx"))
    assert server.heard.pop() == (b"PING", b"ctx")
    client.hear(server.mechanism.command(b"PONG", b"ctx"))
    assert client.heard.pop() == (b"PONG", b"ctx")


def test_who_has_another_key_than_the_server_expects_gets_no_ready() -> None:
    client, server = client_end(new_client(STRANGER)), server_end()
    server.hear(client.take())
    client.hear(server.take())
    with pytest.raises(StrangerError, match="its key is not known here"):
        server.hear(client.take())
    assert server.take() == b""
    assert "does it not know the key" in client.decoder.suspicion


def test_who_dials_with_another_servers_key_gets_no_welcome() -> None:
    client, server = client_end(new_client(server=STRANGER.public)), server_end()
    with pytest.raises(StrangerError, match="another passphrase"):
        server.hear(client.take())
    assert server.take() == greeting(b"CURVE", as_server=True)
    client.hear(greeting(b"CURVE", as_server=True))
    assert "passphrase" in client.decoder.suspicion


def test_a_server_without_the_key_that_is_expected_gets_no_initiate() -> None:
    client, server = client_end(), server_end()
    server.hear(client.take())
    imposter = CurveServer(STRANGER, lambda _key, _shown: True, counted(b"imposter"))
    genuine = server.take()[GREETING_BYTES:]
    client.hear(imposter.begin(PULL))
    with pytest.raises(StrangerError, match="has not the key"):
        client.hear(genuine[:-1] + bytes((genuine[-1] ^ 1,)))
    assert client.take() == b""


def initiate(client: CurveClient, welcome: bytes, *, secret: bytes, vouched_for: bytes) -> bytes:
    """Return an INITIATE in the name of `CLIENT`, whose vouch was made with any secret."""
    key = shared_key(SERVER.public, client._short.secret)
    opened = bindings.crypto_box_open_easy_afternm(welcome[16:], b"WELCOME-" + welcome[:16], key)
    short_server, cookie = opened[:32], opened[32:]
    vouch = bindings.crypto_box_easy_afternm(
        client._short.public + vouched_for,
        b"VOUCH---" + bytes(16),
        shared_key(short_server, secret),
    )
    box = bindings.crypto_box_easy_afternm(
        CLIENT.public + bytes(16) + vouch + PUSH,
        b"CurveZMQINITIATE" + bytes(7) + b"\x02",
        shared_key(short_server, client._short.secret),
    )
    return command(b"INITIATE", cookie + bytes(7) + b"\x02" + box)


@pytest.mark.parametrize(
    ("secret", "vouched_for", "admitted"),
    [
        (CLIENT.secret, SERVER.public, True),
        # Who knows a member's public key but not its secret.
        (STRANGER.secret, SERVER.public, False),
        # A process that the member dialled, which tells this one what it was told.
        (CLIENT.secret, STRANGER.public, False),
    ],
)
def test_the_vouch_proves_the_clients_key_to_this_server(
    secret: bytes, vouched_for: bytes, *, admitted: bool
) -> None:
    client, server = new_client(), server_end()
    server.hear(client.begin(PUSH))
    welcome = server.take()[GREETING_BYTES + 2 + len(b"\x07WELCOME") :]
    said = initiate(client, welcome, secret=secret, vouched_for=vouched_for)
    if admitted:
        server.hear(said)
    else:
        with pytest.raises(StrangerError, match="has not the key that it says"):
            server.hear(said)
    assert (server.decoder.metadata is not None) is admitted


# -- what was said before, or in part


def test_a_message_is_heard_once_and_in_order() -> None:
    client, server = connected()
    first, second = client.mechanism.message(b"1"), client.mechanism.message(b"2")
    server.hear(second)
    for old in (second, first):
        with pytest.raises(ProtocolError, match="nonce"):
            server.hear(old)
    assert server.heard == [(b"", b"2")]


def test_a_recorded_connection_opens_no_second_one() -> None:
    """Not even its handshake does: the cookie is of the one connection."""
    client, server = client_end(), server_end()
    hello = client.take()
    server.hear(hello)
    client.hear(server.take())
    initiate = client.take()
    server.hear(initiate)
    server.hear(client.mechanism.message(b"once"))
    assert server.heard == [(b"", b"once")]
    again = server_end(CurveServer(SERVER, knows_client, counted(b"later")))
    again.hear(hello)
    with pytest.raises(ProtocolError, match="cookie"):
        again.hear(initiate)


def test_what_one_end_says_is_not_heard_as_the_others() -> None:
    _client, server = connected()
    mirrored = [server.mechanism.message(b"mirrored") for _ in range(3)][-1]
    with pytest.raises(ProtocolError, match="does not open"):
        server.hear(mirrored)


def test_who_was_connected_to_may_not_talk_back() -> None:
    client, server = connected()
    with pytest.raises(ProtocolError, match="a frame of 1 bytes"):
        client.hear(server.mechanism.message(b"1"))


def boxed(flags: int, data: bytes) -> Callable[[CurveClient], bytes]:
    return lambda client: client._sealed(flags, data)


def plain(frame: bytes) -> Callable[[CurveClient], bytes]:
    return lambda _client: frame


REFUSED: Iterable[tuple[str, Callable[[CurveClient], bytes]]] = [
    ("message of several frames", boxed(1, b"part")),
    ("flags are odd", boxed(4, b"odd")),
    ("empty frame", boxed(0, b"")),
    ("empty frame", boxed(2, b"")),
    ("none of PING, PONG and ERROR", boxed(2, b"\x09SUBSCRIBE")),
    ("a frame of 1034 bytes", boxed(0, bytes(LIMIT + 1))),
    ("something else than a MESSAGE", plain(b"\x00\x03abc")),
    ("something else than a MESSAGE", plain(frame_head(40) + bytes(40))),
    ("not encrypted", plain(command(b"PING", b"\0\x0a"))),
    ("message of several frames", plain(b"\x01\x04abcd")),
]


@pytest.mark.parametrize(("why", "made"), REFUSED)
def test_what_a_member_may_not_say_is_refused(
    why: str, made: Callable[[CurveClient], bytes]
) -> None:
    client, server = connected()
    assert isinstance(client.mechanism, CurveClient)
    with pytest.raises(ProtocolError, match=why):
        server.hear(made(client.mechanism))
    assert server.heard == []


# [RFC 7748, 6.1; libsodium] with these as one party's key the shared key is known to everybody.
LOW_ORDER = (bytes(32), b"\x01" + bytes(31), b"\xec" + b"\xff" * 30 + b"\x7f")


@pytest.mark.parametrize("point", LOW_ORDER)
def test_a_key_that_nobody_has_is_refused(point: bytes) -> None:
    said = client_end().take()
    at = GREETING_BYTES + 2 + len(b"\x05HELLO") + 2 + 72
    with pytest.raises(ProtocolError):
        server_end().hear(said[:at] + point + said[at + 32 :])


@pytest.mark.parametrize("role", [server_end, client_end])
def test_the_handshake_has_its_order(role: Callable[[], End]) -> None:
    end = role()
    end.hear(greeting(b"CURVE"))
    for name in (b"INITIATE", b"READY", b"MESSAGE", b"SOMETHING"):
        other = role()
        with pytest.raises(ProtocolError, match="another command than"):
            other.hear(greeting(b"CURVE") + command(name, bytes(300)))
    with pytest.raises(ProtocolError, match="before READY"):
        end.hear(b"\x00\x03abc")


def test_no_secret_is_shown() -> None:
    assert SERVER.secret.hex() not in repr(SERVER)
    assert repr(SERVER.secret) not in repr(SERVER)
