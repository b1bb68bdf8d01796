"""One identifier in the DHT: its endpoint, its routing table, its remote calls.

Theory of operation
-------------------
Borrowed from the packages kademlia 2.2.3 and rpcudp 5.0.1: identifiers and the XOR metric
(`Node`), the routing table (`kademlia_table`), the shape of the protocol, and the frame of a
datagram, ``0|1 ‖ 20 bytes of call id ‖ msgpack``. What meets strangers' bytes is overridden here
[TRUST, traps of kademlia], and a test fails if what is overridden or built upon changes.
`Server`, which stores values, pickles and re-arms timers for ever, is not used; nor are the
crawlers, which go in lock step and so wait for the slowest (`kademlia_crawl` has another).
No clock and no dice of upstream are consulted, so nothing has to be patched in a simulation.

*Calls.* There are four: ``ping``, ``find_node``, ``contact`` (who are you, of which topic) and
``bye``, which is not answered. Each answer begins with the identifier of who answers. No values
are stored or found. A call is sent up to three times, each time for longer, depending on how long
answers take (`kademlia_patience`); whoever made it is told when it gets slow, and once when it has
ended. There are no tasks, so that none can be lost.

*Proof.* An address is proven when it has answered a call of ours, whose 20 random bytes only who
receives there can know. A neighbour comes into the table only with that proof and with the
identifier that it states itself; who calls without being known is pinged. An endpoint has one
identifier, and a /24 network a bounded number of places, unless it is one's own (`Limits`).

*Patience.* A neighbour that fails to answer is doubtful: not told to others any more, and
evicted when it fails again and again. An answer makes it good.

*Amplification.* An address that is not proven gets at most three times what it sent. A caller
that is perhaps not proven pads its call, so that the answer fits.

*Bytes from strangers* are decoded into what is expected and nothing else, synchronously; what
is not expected is counted. Nothing is sent to an address that has not been checked: a wrong one
would close asyncio's endpoint. Who does not speak from loopback may not name addresses there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from heapq import nsmallest
from random import Random
from typing import Annotated, Any, Final

import msgspec
from attrs import define, field
from kademlia.protocol import KademliaProtocol  # type: ignore[import-untyped] # untyped

from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GROUP_ID_BYTES, NAME_BYTES_MAX
from overlays.kademlia.table import (
    FAILURES_MAX,
    NEIGHBOURS,
    Address,
    Counters,
    Limits,
    Neighbour,
    Table,
    usable,
)
from overlays.kademlia.timeouts import ATTEMPTS, Patience

log = logging.getLogger(__name__)

NODE_ID_BYTES: Final = 20  # [kademlia 2.2.3] SHA-1
LATE_MAX: Final = 1024  # chosen: given up calls whose answers may still come; some 200 kB
LAG_SECONDS: Final = 0.1  # chosen: a timer this late says that it was this process that was slow
DATAGRAM_BYTES_MAX: Final = 1200  # [RFC 9000, 14] crosses every link whole; our longest is 930
AMPLIFICATION_MAX: Final = 3  # [RFC 9000, 8.1] bytes to an unproven address for one from it
PADDING: Final = bytes(256)  # chosen: makes calls 320 bytes or more, a third of the longest answer
PROVEN_SECONDS: Final = 600.0  # chosen: ten rounds of upkeep (`kademlia_overlay`)
PROVEN_MAX: Final = 4096  # chosen: some 1 MB; more than one talks to in ten minutes
INTRODUCTIONS_MAX: Final = 64  # chosen: strangers that are pinged at a time; bounds a flood's echo
RECHECK_SECONDS: Final = 5.0  # chosen: a dead neighbour is evicted after 16 s, not by a short pause
HEARD_LATELY_SECONDS: Final = 60.0  # chosen: who answered since needs no ping to prove it lives
_HEADER_BYTES: Final = 21  # [rpcudp 5.0.1] kind and call id
_NODE_BYTES_MAX: Final = 44  # in msgpack: array 1, id 22, IPv4 text up to 16, port 3; rounded up

NodeId = Annotated[bytes, msgspec.Meta(min_length=NODE_ID_BYTES, max_length=NODE_ID_BYTES)]
_Group = Annotated[bytes, msgspec.Meta(min_length=GROUP_ID_BYTES, max_length=GROUP_ID_BYTES)]
_Padding = Annotated[bytes, msgspec.Meta(max_length=len(PADDING))]
_Text = Annotated[str, msgspec.Meta(max_length=NAME_BYTES_MAX)]
_Nodes = Annotated[list[tuple[NodeId, _Text, int]], msgspec.Meta(max_length=NEIGHBOURS)]

_REQUEST: Final = msgspec.msgpack.Decoder(tuple[_Text, msgspec.Raw])
_ARGUMENTS: Final[Mapping[str, msgspec.msgpack.Decoder[Any]]] = {
    "ping": msgspec.msgpack.Decoder(tuple[NodeId]),
    "find_node": msgspec.msgpack.Decoder(tuple[NodeId, NodeId, _Padding]),
    "contact": msgspec.msgpack.Decoder(tuple[NodeId, _Group, _Padding]),
    "bye": msgspec.msgpack.Decoder(tuple[NodeId]),
}
_ANSWERS: Final[Mapping[str, msgspec.msgpack.Decoder[Any]]] = {
    "ping": msgspec.msgpack.Decoder(tuple[NodeId]),
    "find_node": msgspec.msgpack.Decoder(tuple[NodeId, _Nodes]),
    "contact": msgspec.msgpack.Decoder(tuple[NodeId, Contact | None, _Text]),
}
_PADDED: Final = ("find_node", "contact")
_encode: Final = msgspec.msgpack.Encoder().encode
# Deep msgpack is a RecursionError, wrong UTF-8 a ValueError.
_MALFORMED: Final = (msgspec.MsgspecError, RecursionError, ValueError)


@define(eq=False)
class Call:
    """A call under way; `cancel` ends it without a word."""

    protocol: Protocol
    target: Neighbour | Address
    """An address if the identifier there is not known yet."""
    method: str
    arguments: tuple[Any, ...]
    done: Callable[[Any], None]
    """Is given the answer, None if there is none; called once, later than the call is made."""
    slow: Callable[[], None] | None
    number: bytes
    """19 random bytes; the 20th of a call id is the number of the sending."""
    started: float
    sent: list[float] = field(factory=list)
    """When it was sent, and again."""
    timer: asyncio.TimerHandle | asyncio.Handle | None = None

    @property
    def address(self) -> Address:
        """Who was asked."""
        return self.target if isinstance(self.target, tuple) else self.target.address

    def cancel(self) -> None:
        """Forget about the call."""
        self.protocol.forget(self)


class Protocol(KademliaProtocol):  # type: ignore[misc] # KademliaProtocol is untyped
    """The endpoint of one identifier; see the module's theory of operation.

    `own` are the nodes of this process.
    """

    router: Table

    def __init__(
        self,
        node_id: bytes,
        rng: Random,
        counters: Counters,
        limits: Limits,
        own: dict[bytes, Neighbour],
        patience: Patience,
        heard: Callable[[Address, float, bool], None],
        connected: Callable[[], bool],
    ) -> None:
        """Of calls that ended, `heard(address, started, answered)` is told.

        Not of those that fail to reach who is doubtful already, while others are not: that is no
        news of us. `connected` says whether others do answer, so that who does not is gone,
        rather than we.
        """
        node = Neighbour(node_id)
        super().__init__(node, None, NEIGHBOURS)  # no storage
        self.counters = counters
        self.router = Table(self, node, limits)
        self.contact: Contact | None = None
        self.topic = ""
        self.loop = asyncio.get_running_loop()
        self.closed: asyncio.Future[None] = self.loop.create_future()
        self._rng = rng
        self._own = own
        self._patience = patience
        self._late: dict[bytes, Call] = {}
        self._tell = heard
        self._connected = connected
        self._outstanding: dict[bytes, Call] = {}
        self._proven: dict[Address, float] = {}
        self._introductions: dict[Address, Call] = {}
        self._rechecks: dict[bytes, asyncio.TimerHandle] = {}

    def __getattr__(self, name: str) -> Any:
        """Raise AttributeError. Upstream makes a remote call of every misspelt name."""
        raise AttributeError(name)

    @property
    def node_id(self) -> bytes:
        """The identifier."""
        return self.router.node.id  # type: ignore[no-any-return] # Node is untyped

    @property
    def calls(self) -> int:
        """How many calls are under way."""
        return len(self._outstanding)

    # -- the endpoint --------------------------------------------------------------------------

    def datagram_received(self, data: bytes, addr: Any) -> None:
        """Take a datagram; upstream would do it in a task that nobody watches."""
        if len(data) <= _HEADER_BYTES or len(data) > DATAGRAM_BYTES_MAX or data[0] > 1:
            self.counters.malformed += 1
            return
        number, body = data[1:_HEADER_BYTES], data[_HEADER_BYTES:]
        if data[0] == 0:
            self._accept_request(number, body, addr[:2])
        else:
            self._accept_response(number, body, addr[:2])

    def error_received(self, exc: Exception) -> None:
        """Count what the operating system says of something sent earlier."""
        self.counters.socket_errors += 1
        log.debug("socket error: %s", exc)

    def connection_lost(self, exc: Exception | None) -> None:
        """Give up what is under way."""
        if exc is not None:
            log.warning("the endpoint of %s was lost: %s", self.node_id.hex()[:8], exc)
        for call in list(self._outstanding.values()):
            if exc is None:
                call.cancel()
            else:
                self._fail(call)
        if not self.closed.done():
            self.closed.set_result(None)

    def close(self) -> None:
        """End all calls and the endpoint; `closed` is done when that has happened."""
        for call in list(self._outstanding.values()):
            call.cancel()
        self._introductions.clear()
        self._late.clear()
        for timer in self._rechecks.values():
            timer.cancel()
        self._rechecks.clear()
        if self.transport is None:
            self.connection_lost(None)
        else:
            self.transport.close()

    def _send(self, datagram: bytes, address: Address) -> None:
        # asyncio raises AttributeError after the close.
        if self.transport is not None and not self.transport.is_closing() and usable(address):
            self.transport.sendto(datagram, address)

    # -- calls that we make --------------------------------------------------------------------

    def request(
        self,
        target: Neighbour | Address,
        method: str,
        *arguments: Any,
        done: Callable[[Any], None],
        slow: Callable[[], None] | None = None,
    ) -> Call:
        """Make a call; see `Call`."""
        number = self._rng.randbytes(NODE_ID_BYTES - 1)
        now = self.loop.time()
        call = Call(self, target, method, arguments, done, slow, number, now)
        self._outstanding[number] = call
        self.counters.calls += 1
        if self.transport is None or self.transport.is_closing():
            call.timer = self.loop.call_soon(self._fail, call)
        else:
            self._attempt(call)
        return call

    def forget(self, call: Call) -> None:
        """Let a call be none; also the end of one that has ended."""
        self._outstanding.pop(call.number, None)
        if self._introductions.get(call.address) is call:
            del self._introductions[call.address]
        if call.timer is not None:
            call.timer.cancel()

    def send_bye(self, node: Neighbour) -> None:
        """Tell a neighbour that this identifier is about to go."""
        number = self._rng.randbytes(NODE_ID_BYTES)
        body = _encode(("bye", (self.node_id,)))
        self._send(b"\x00" + number + body, node.address)

    def check(self, node: Neighbour) -> None:
        """Ping a neighbour, unless it was heard of lately."""
        since = self.loop.time() - HEARD_LATELY_SECONDS
        if not (self.router.is_good(node.id) and self.router.heard_since(node, since)):
            self._ping(node)

    def _ping(self, node: Neighbour) -> None:
        if node.address in self._introductions:
            return
        if len(self._introductions) >= INTRODUCTIONS_MAX:
            self.counters.refused += 1
            return
        call = self.request(node, "ping", done=lambda _: None)
        self._introductions[node.address] = call

    def _attempt(self, call: Call) -> None:
        arguments = (self.node_id, *call.arguments)
        if call.method in _PADDED:
            target = call.target
            known = not isinstance(target, tuple) and self.router.get(target.id) is not None
            # Whom we know most likely knows us. If it does not, it may not answer at length.
            arguments = (*arguments, b"" if known and not call.sent else PADDING)
        attempt = len(call.sent)
        head = b"\x00" + call.number + bytes((attempt,))
        self._send(head + _encode((call.method, arguments)), call.address)
        now = self.loop.time()
        call.sent.append(now)
        self._await(call, now + self._patience.seconds(attempt))

    def _await(self, call: Call, until: float) -> None:
        call.timer = self.loop.call_at(until, self._overdue, call.number, until)

    def _overdue(self, number: bytes, until: float) -> None:
        """Wait as much longer as this process itself is late: the answer may be here unread."""
        lag = self.loop.time() - until
        if lag > LAG_SECONDS:
            self._await(self._outstanding[number], until + 2 * lag)
        else:
            self._timeout(number)

    def _timeout(self, msg_id: bytes) -> None:
        """Send a call again, or give it up."""
        call = self._outstanding[msg_id]
        if len(call.sent) < len(ATTEMPTS):
            self._attempt(call)
            if len(call.sent) == 2:
                self.counters.slow += 1
                if call.slow is not None:
                    call.slow()
            return
        self.counters.timeouts += 1
        if len(self._late) >= LATE_MAX:
            del self._late[next(iter(self._late))]
        self._late[call.number] = call
        self._fail(call)

    def _fail(self, call: Call) -> None:
        self.forget(call)
        node = call.target
        if isinstance(node, tuple) or self.router.is_good(node.id) or not self.router.has_good():
            self._tell(call.address, call.started, False)
        others_answer = self._connected()
        if not isinstance(node, tuple):
            self.router.doubt(node, evict=others_answer)
            if others_answer and not self.router.is_good(node.id):
                self._recheck_later(node)
        call.done(None)

    def _recheck_later(self, node: Neighbour) -> None:
        if node.id not in self._rechecks and not self.transport.is_closing():
            timer = self.loop.call_later(RECHECK_SECONDS, self._recheck, node)
            self._rechecks[node.id] = timer

    def _recheck(self, node: Neighbour) -> None:
        del self._rechecks[node.id]
        if self.router.get(node.id) is not None:
            self.check(node)

    def _accept_response(self, msg_id: bytes, data: bytes, address: Address) -> None:
        number, attempt = msg_id[:-1], msg_id[-1]
        call = self._outstanding.get(number) or self._late.get(number)
        if call is None or call.address != address or attempt >= len(call.sent):
            self.counters.stray += 1
            return
        self._patience.learn(self.loop.time() - call.sent[attempt])
        if self._late.pop(number, None) is not None:
            self.counters.stray += 1
            return
        try:
            answer = _ANSWERS[call.method].decode(data)
        except _MALFORMED:
            self.counters.malformed += 1
            self._fail(call)
            return
        self.forget(call)
        self.counters.answered += 1
        self._prove(address)
        node_id = answer[0]
        if not isinstance(call.target, tuple) and call.target.id != node_id:
            # Somebody told a lie about it, or it has a new identifier.
            self.router.doubt(call.target, failures=FAILURES_MAX)
        if node_id in self._own or not self.router.admit(
            Neighbour(node_id, *address), self.loop.time()
        ):
            self.counters.refused += 1
        self._tell(address, call.started, True)
        call.done(answer)

    def _prove(self, address: Address) -> None:
        self._proven.pop(address, None)
        if len(self._proven) >= PROVEN_MAX:
            del self._proven[next(iter(self._proven))]
        self._proven[address] = self.loop.time() + PROVEN_SECONDS

    # -- calls that others make ----------------------------------------------------------------

    def _accept_request(self, msg_id: bytes, data: bytes, address: Address) -> None:
        try:
            method, raw = _REQUEST.decode(data)
            decoder = _ARGUMENTS.get(method)
            if decoder is None:
                self.counters.refused += 1  # `store` and `find_value` are among them
                return
            arguments = decoder.decode(raw)
        except _MALFORMED:
            self.counters.malformed += 1
            return
        node_id = arguments[0]
        if node_id in self._own or not usable(address):
            self.counters.refused += 1
            return
        room = DATAGRAM_BYTES_MAX
        if self._proven.get(address, -1.0) < self.loop.time():
            room = min(room, AMPLIFICATION_MAX * (_HEADER_BYTES + len(data)))
        answer: tuple[Any, ...]
        match method:
            case "ping":
                answer = self.rpc_ping(address, node_id)
            case "find_node":
                answer = self.rpc_find_node(address, node_id, arguments[1], room)
            case "contact":
                answer = self.rpc_contact(address, node_id, arguments[1])
            case _:
                self.rpc_bye(address, node_id)
                return
        datagram = b"\x01" + msg_id + _encode(answer)
        if len(datagram) <= room:
            self._send(datagram, address)
        else:
            self.counters.refused += 1
        self.welcome_if_new(Neighbour(node_id, *address))

    def rpc_ping(self, sender: Address, nodeid: bytes) -> tuple[bytes]:
        """Say who is here."""
        return (self.node_id,)

    def rpc_find_node(
        self, sender: Address, nodeid: bytes, key: bytes, room: int = DATAGRAM_BYTES_MAX
    ) -> tuple[bytes, list[tuple[bytes, str, int]]]:
        """Say who is here, and the nearest known to `key`, as many as `room` bytes hold."""
        overhead = _HEADER_BYTES + 1 + (2 + NODE_ID_BYTES) + 3
        fitting = max(0, min(NEIGHBOURS, (room - overhead) // _NODE_BYTES_MAX))
        asker = Neighbour(nodeid, *sender)
        target = Neighbour(key)
        nearest = self.router.find_neighbors(target, fitting, asker) if fitting else []
        # What else this process is, nobody may know but itself.
        others = [n for n in self._own.values() if n.id != self.node_id and usable(n.address)]
        if others and fitting:
            nearest = nsmallest(fitting, nearest + others, key=target.distance_to)
        return self.node_id, [(node.id, node.ip, node.port) for node in nearest]

    def rpc_contact(
        self, sender: Address, nodeid: bytes, group: bytes
    ) -> tuple[bytes, Contact | None, str]:
        """Say who is here, its transport address and its topic, if that is the group's."""
        if self.node_id[:GROUP_ID_BYTES] != group or self.contact is None:
            return self.node_id, None, ""
        return self.node_id, self.contact, self.topic

    def rpc_bye(self, sender: Address, nodeid: bytes) -> None:
        """Doubt a neighbour that says it goes, and see: it might be somebody else who says so."""
        known = self.router.get(nodeid)
        if known is not None and known.address == sender and self.router.is_good(nodeid):
            self.router.doubt(known, failures=FAILURES_MAX - 1)
            self.check(known)

    def welcome_if_new(self, node: Neighbour) -> None:
        """Ping a stranger that has called: it becomes a neighbour if it answers."""
        known = self.router.get(node.id)
        if known is None:
            self._ping(node)
        elif known.address != node.address:
            self.check(known)
