"""One identifier in the DHT: its endpoint, its routing table, its remote calls.

Theory of operation
-------------------
A protocol is a synchronous state machine. Its inputs are `receive` (a datagram has arrived),
`wake` (a timer is due) and `request` (make a call), each with the time `now`; it sends datagrams
and sets timers through the two functions that it is given.

Identifiers, the XOR metric (`Node`) and the routing table (`overlays.kademlia.table`) are those of
the package kademlia 2.2.3; form 1 of a datagram, ``0|1 ‖ 20 bytes of call id ‖ msgpack``, is that
of rpcudp 5.0.1. Form 2 has ``2|3`` in place of ``0|1``, and other names of nodes
(`overlays.kademlia.naming`). Nothing of these packages reads bytes from the network.

*Calls.* There are four: ``ping``, ``find_node``, ``contact`` (which process is this, in which
topic?) and ``bye``, which is not answered. Each answer begins with the answering identifier. No
values are stored or found. A call is sent up to three times, each time with a longer timeout that
depends on earlier round trips (`overlays.kademlia.timeouts`). The caller is told when the call
becomes slow, and once when it ends.

*Proof.* An address is *proven* when it has answered a call of this process: only the process that
receives datagrams there can know the 19 random bytes of the call's number. A neighbour enters the
table only with that proof, under the identifier in its own answer; an unknown caller is pinged. An
endpoint has one identifier, and a foreign network a bounded number of places (`Limits`).

*Failures.* A neighbour that fails to answer is doubtful: answers to others do not name it, and
further failures evict it. An answer makes it good again.

*Amplification.* An address that is not proven gets at most three times the bytes that it sent. A
caller whose address may be unproven pads its call, so that the answer fits.

*Choices.* A caller of ``contact`` writes its choice (`camcast.vocabulary.choices`) over the
beginning of the padding, and a member with another choice answers with its own in place of a
contact: both note the other one, and neither joins the other. Nodes of earlier releases pad with
zeros, and answer without a choice: then nothing is compared.

*Clients.* A process that nobody can dial answers no call, and says so with a bit of its call ids
(`CLIENT`), so that nobody pings it to get it into the table: nodes that fail to answer would make
the DHT seem silent. Its address is never proven, and all its calls are padded.

*Bytes from strangers* are decoded into the expected types and nothing else; other datagrams are
counted and dropped. Sizes and types are checked before memory is allocated for them, and addresses
before a datagram is sent there. A node that is not on loopback may not name addresses on loopback.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from heapq import nsmallest
from itertools import islice
from random import Random
from typing import Annotated, Any, Final

import msgspec
from attrs import define, field, frozen

from camcast.doors.datagrams import Endpoint
from camcast.doors.discovery import OnOtherChoice
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.topics import GROUP_ID_BYTES, NAME_BYTES_MAX, GroupId, Topic
from overlays.kademlia.naming import FORMS, Naming, NodeId, Said, form_of
from overlays.kademlia.own_nodes import OwnNodes
from overlays.kademlia.table import (
    FAILURES_MAX,
    NEIGHBOURS,
    NODE_ID_BYTES,
    Counters,
    Limits,
    Neighbour,
    Table,
    usable,
)
from overlays.kademlia.timeouts import ATTEMPTS, Patience

LATE_MAX: Final = 1024  # chosen: calls given up whose answers may still come; some 700 kB
LATE_SECONDS: Final = 60.0  # chosen: over twice what the slowest call takes until it is given up
AMPLIFICATION_MAX: Final = 3  # [RFC 9000, 8.1] bytes to an unproven address for one from it
PADDING: Final = bytes(256)  # chosen: makes calls 320 bytes or more, a third of the longest answer
CLIENT: Final = 0x80
"""The bit of a call id's last byte that says that the caller answers no calls; earlier releases do
not look at it."""
PROVEN_SECONDS: Final = 600.0  # chosen: ten rounds of the overlay's upkeep
PROVEN_MAX: Final = 4096  # chosen: some 1 MB; a process talks to fewer in ten minutes
INTRODUCTIONS_MAX: Final = 64  # chosen: strangers pinged at a time; bounds the echo of a flood
RECHECK_SECONDS: Final = 5.0  # chosen: a dead neighbour is evicted after 16 s, not by a short pause
# chosen: calls, each of three attempts: at 20 % loss a living node fails twice in a row once in 441
DEAD_CALLS: Final = 2
DEAD_SECONDS: Final = 10.0  # chosen: a join, in which other nodes go on naming the dead one
FAILED_MAX: Final = 256  # chosen: more than two look-ups ask; 30 kB
HEARD_LATELY_SECONDS: Final = 60.0  # chosen: a neighbour that answered since needs no ping
_HEADER_BYTES: Final = 21  # [rpcudp 5.0.1] kind and call id

_Group = Annotated[bytes, msgspec.Meta(min_length=GROUP_ID_BYTES, max_length=GROUP_ID_BYTES)]
_Padding = Annotated[bytes, msgspec.Meta(max_length=len(PADDING))]
_Text = Annotated[str, msgspec.Meta(max_length=NAME_BYTES_MAX)]

_REQUEST: Final = msgspec.msgpack.Decoder(tuple[_Text, msgspec.Raw])
_ARGUMENTS: Final[Mapping[str, msgspec.msgpack.Decoder[Any]]] = {
    "ping": msgspec.msgpack.Decoder(tuple[Said]),
    "find_node": msgspec.msgpack.Decoder(tuple[Said, NodeId, _Padding]),
    "contact": msgspec.msgpack.Decoder(tuple[Said, _Group, _Padding]),
    "bye": msgspec.msgpack.Decoder(tuple[Said]),
}


class _ContactAnswer(msgspec.Struct, frozen=True, array_like=True):
    said: Said
    contact: Contact | None
    topic: _Text
    choice: _Text = ""
    """The choice of the node that answers, if it is another one than the caller's."""


_ANSWERS: Final[Mapping[str, msgspec.msgpack.Decoder[Any]]] = {
    "ping": msgspec.msgpack.Decoder(tuple[Said]),
    "contact": msgspec.msgpack.Decoder(_ContactAnswer),
}
_PADDED: Final = ("find_node", "contact")
_encode: Final = msgspec.msgpack.Encoder().encode
# Deep msgpack is a RecursionError, wrong UTF-8 a ValueError.
_MALFORMED: Final = (msgspec.MsgspecError, RecursionError, ValueError)


Done = Callable[[Any, float], None]
"""Takes the answer to a call, None if there is none, and the time."""


@define(eq=False)
class Call:
    """A call that is not yet answered; `cancel` ends it without a call of `done`."""

    protocol: Protocol
    target: Neighbour | Endpoint
    """An endpoint if the identifier there is not known yet."""
    method: str
    arguments: tuple[Any, ...]
    key: bytes
    """The key of the node that is asked, where nodes have keys; empty if it is not known yet."""
    done: Done
    """Called once, never within `Protocol.request`."""
    slow: Callable[[float], None] | None
    number: bytes
    """19 random bytes; the 20th byte of a call id is the number of the attempt, with `CLIENT`."""
    started: float
    sent: list[float] = field(factory=list)
    """The time of each attempt."""

    @property
    def address(self) -> Endpoint:
        """The endpoint that was asked."""
        return self.target if isinstance(self.target, tuple) else self.target.address

    def cancel(self) -> None:
        """Forget about the call."""
        self.protocol.forget(self)


@frozen(eq=False)
class OverlayContext:
    """The state that the identifiers of one process share."""

    rng: Random
    naming: Naming
    limits: Limits
    heard: Callable[[Endpoint, float, Neighbour | None, float], None]
    """Called with `(address, started, answered, now)` for each call that ends; `answered` is the
    node that has answered, if any.

    Not called when a doubtful neighbour does not answer while other neighbours are good: that
    failure says nothing about this process.
    """
    lost: Callable[[Neighbour], None]
    """Called with each neighbour that is evicted because it did not answer."""
    connected: Callable[[], bool]
    """Returns whether the DHT answers: if it does, a silent neighbour is dead, and this process is
    not cut off."""
    client: bool = False
    """Whether the process answers no call, since nobody can dial it."""
    reaches: Callable[[Endpoint], bool] = lambda _endpoint: True
    """Returns whether the process can send to an endpoint: whether it has an address of that
    version of IP."""
    choice: bytes = b""
    """The choice of the process, as calls for contacts say it; empty if they say none."""
    other_choice: OnOtherChoice = lambda _endpoint, _choice, _now: None
    """Is told of each node with another choice that asks or answers about contacts."""
    counters: Counters = field(factory=Counters)
    patience: Patience = field(factory=Patience)
    failed: dict[Endpoint, tuple[int, float]] = field(factory=dict)
    """How many calls in a row each endpoint has not answered, and when the last of them ended."""
    own: OwnNodes = field(factory=OwnNodes)
    acquainted: OwnNodes = field(factory=OwnNodes)
    """Of the process's own nodes those that have neighbours, and some that had: of thousands that
    it had while it was alone, a few."""

    def acquaint(self, node_id: bytes) -> None:
        """Note that one of the process's own nodes has a neighbour."""
        if node_id in self.own and node_id not in self.acquainted:
            self.acquainted.add(self.own[node_id])


class Protocol:
    """The state of one identifier; see the module's theory of operation.

    `send(target, data, key)` sends a datagram from the identifier's endpoint, `wake(delay, *name)`
    asks for a later `wake(name, now)`. `topic` is the name of its community's, empty in none.
    """

    def __init__(
        self,
        node_id: bytes,
        topic: str,
        context: OverlayContext,
        send: Callable[[Endpoint, bytes, bytes], None],
        wake: Callable[..., None],
    ) -> None:
        self.node_id = node_id
        self.router = Table(self, Neighbour(node_id), context.limits, moves=context.naming.moves)
        self.counters = context.counters
        self.contact: Contact | None = None
        """The answer of a member of a community to ``contact``."""
        self._topic = topic
        self._naming = context.naming
        self._answers = {
            form: {**_ANSWERS, "find_node": decoder}
            for form, decoder in self._naming.nearest.items()
        }
        self._said = context.naming.say(node_id, topic)
        self._context = context
        self._send_datagram = send
        self._set_timer = wake
        self._outstanding: dict[bytes, Call] = {}
        self._late: dict[bytes, Call] = {}
        """Calls that were given up, by number: a late answer still tells the round trip."""
        self._proven: dict[Endpoint, float] = {}
        self._introductions: dict[Endpoint, Call] = {}
        self._rechecks: dict[bytes, None] = {}

    @property
    def calls(self) -> int:
        """How many calls are not yet answered."""
        return len(self._outstanding)

    # -- inputs --------------------------------------------------------------------------------

    def receive(self, source: Endpoint, data: bytes, now: float, sender: bytes = b"") -> None:
        """Take a datagram; one that is malformed is counted and dropped.

        `sender` is the key of who has sent it, where nodes have keys.
        """
        bytes_max = self._naming.datagram_bytes_max
        if len(data) <= _HEADER_BYTES or len(data) > bytes_max or data[0] >= 2 * len(FORMS):
            self.counters.malformed += 1
            return
        self._context.failed.pop(source, None)
        form, is_answer = FORMS[data[0] // 2], data[0] % 2
        if self._context.client and not is_answer:
            return
        call_id, body = data[1:_HEADER_BYTES], data[_HEADER_BYTES:]
        accept = self._accept_response if is_answer else self._accept_request
        accept(form, call_id, body, source, sender, now)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer; one whose call or neighbour is gone does nothing."""
        match name:
            case ("call", bytes() as number):
                call = self._outstanding.get(number)
                if call is not None:
                    self._overdue(call, now)
            case ("recheck", bytes() as node_id) if node_id in self._rechecks:
                del self._rechecks[node_id]
                node = self.router.get(node_id)
                if node is not None:
                    self.check(node, now)

    def close(self) -> None:
        """Cancel all calls, and tell the nearest neighbours that this identifier goes."""
        for call in list(self._outstanding.values()):
            call.cancel()
        for node in self.router.find_neighbors(self.router.node):
            number = self._context.rng.randbytes(NODE_ID_BYTES)
            bye = _first_byte(form_of(node.address)) + number + _encode(("bye", (self._said,)))
            self._send(bye, node.address, node.key)

    def _send(self, datagram: bytes, address: Endpoint, key: bytes) -> None:
        if usable(address) and self._context.reaches(address):
            self._send_datagram(address, datagram, key)

    # -- calls that we make --------------------------------------------------------------------

    def request(
        self,
        target: Neighbour | Endpoint,
        method: str,
        *arguments: Any,
        done: Done,
        slow: Callable[[float], None] | None = None,
        key: bytes = b"",
        now: float,
    ) -> Call:
        """Make a call; see `Call`. `key` is that of who is at an endpoint, if it is known."""
        number = self._context.rng.randbytes(NODE_ID_BYTES - 1)
        key = key if isinstance(target, tuple) else target.key
        call = Call(self, target, method, arguments, key, done, slow, number, now)
        self._outstanding[number] = call
        self.counters.calls += 1
        self._attempt(call, now)
        return call

    def forget(self, call: Call) -> None:
        """Remove a call that is cancelled or over."""
        self._outstanding.pop(call.number, None)
        if self._introductions.get(call.address) is call:
            del self._introductions[call.address]

    def check(self, node: Neighbour, now: float) -> None:
        """Ping a neighbour, unless it has answered lately."""
        since = now - HEARD_LATELY_SECONDS
        if not (self.router.is_good(node.id) and self.router.heard_since(node, since)):
            self._ping(node, now)

    def _ping(self, node: Neighbour, now: float) -> None:
        if node.address in self._introductions:
            return
        if len(self._introductions) >= INTRODUCTIONS_MAX:
            self.counters.refused += 1
            return
        call = self.request(node, "ping", done=_ignore, now=now)
        self._introductions[node.address] = call

    def _attempt(self, call: Call, now: float) -> None:
        arguments = (self._said, *call.arguments)
        if call.method in _PADDED:
            target = call.target
            known = not isinstance(target, tuple) and self.router.get(target.id) is not None
            choice = self._context.choice if call.method == "contact" else b""
            # A neighbour has most likely proven this address; if not, its answer may be short.
            bare = known and not call.sent and not self._context.client
            padding = choice if bare else choice + PADDING[len(choice) :]
            arguments = (*arguments, padding)
        attempt = len(call.sent)
        last = attempt | CLIENT if self._context.client else attempt
        head = _first_byte(form_of(call.address)) + call.number + bytes((last,))
        self._send(head + _encode((call.method, arguments)), call.address, call.key)
        call.sent.append(now)
        self._set_timer(self._context.patience.seconds(attempt), "call", call.number)

    def _overdue(self, call: Call, now: float) -> None:
        """Send a call again, or give it up."""
        if len(call.sent) < len(ATTEMPTS):
            self._attempt(call, now)
            if len(call.sent) == 2:
                self.counters.slow += 1
                if call.slow is not None:
                    call.slow(now)
            return
        self.counters.timeouts += 1
        self._note_failure(call.address, now)
        self._note_late(call, now)
        self._fail(call, now)

    def _note_late(self, call: Call, now: float) -> None:
        """Keep a call that was given up for its late answer, and forget those too old for one."""
        late = self._late
        for number, one in list(islice(late.items(), 2)):  # two for each that comes: none piles up
            if len(late) >= LATE_MAX or now - one.sent[-1] > LATE_SECONDS:
                del late[number]
        late[call.number] = call

    def _note_failure(self, address: Endpoint, now: float) -> None:
        failed = self._context.failed
        calls, _ = failed.pop(address, (0, 0.0))
        if len(failed) >= FAILED_MAX:
            del failed[next(iter(failed))]
        failed[address] = calls + 1, now

    def is_dead(self, node: Neighbour, now: float) -> bool:
        """Say whether a node has lately failed to answer any identifier of this process, twice.

        Other nodes name it until they notice. Each look-up of a process that joins would wait for
        it once more.
        """
        calls, when = self._context.failed.get(node.address, (0, 0.0))
        return calls >= DEAD_CALLS and now - when < DEAD_SECONDS

    def _fail(self, call: Call, now: float) -> None:
        self.forget(call)
        node = call.target
        if isinstance(node, tuple) or self.router.is_good(node.id) or not self.router.has_good():
            self._context.heard(call.address, call.started, None, now)
        if not isinstance(node, tuple):
            others_answer = self._context.connected()
            before = self.router.get(node.id)
            self.router.doubt(node, evict=others_answer)
            if before is not None and self.router.get(node.id) is None:
                self._context.lost(before)
            if others_answer and not self.router.is_good(node.id) and node.id not in self._rechecks:
                self._rechecks[node.id] = None
                self._set_timer(RECHECK_SECONDS, "recheck", node.id)
        call.done(None, now)

    def _accept_response(
        self, form: int, call_id: bytes, body: bytes, address: Endpoint, sender: bytes, now: float
    ) -> None:
        number, attempt = call_id[:-1], call_id[-1] & ~CLIENT
        call = self._outstanding.get(number) or self._late.get(number)
        if (
            call is None
            or call.address != address
            or form != form_of(address)
            or call.key not in (b"", sender)
            or attempt >= len(call.sent)
        ):
            self.counters.stray += 1
            return
        self._context.patience.learn(now - call.sent[attempt])
        if self._late.pop(number, None) is not None:
            self.counters.stray += 1
            return
        try:
            said, *rest = _fields(self._answers[form][call.method].decode(body))
        except _MALFORMED:
            self.counters.malformed += 1
            self._fail(call, now)
            return
        node = self._naming.node(said, sender, address, now)
        if node is None:
            self.counters.refused += 1
            self._fail(call, now)
            return
        self.forget(call)
        self.counters.answered += 1
        self._prove(address, now)
        if not isinstance(call.target, tuple) and call.target.id != node.id:
            # Another node has lied about this node, or it has a new identifier.
            self.router.doubt(call.target, failures=FAILURES_MAX)
        if node.id in self._context.own or not self.router.admit(node, now):
            self.counters.refused += 1
        else:
            self._context.acquaint(self.node_id)
        self._context.heard(address, call.started, node, now)
        if call.method == "find_node":
            rest = [[self._naming.read(written, form) for written in rest[0]]]
        call.done((node.id, *rest), now)

    def _prove(self, address: Endpoint, now: float) -> None:
        proven = self._proven
        proven.pop(address, None)
        for one, until in list(islice(proven.items(), 2)):  # two for each that comes, as above
            if len(proven) >= PROVEN_MAX or until < now:
                del proven[one]
        proven[address] = now + PROVEN_SECONDS

    # -- calls that other nodes make -----------------------------------------------------------

    def _accept_request(
        self, form: int, call_id: bytes, body: bytes, address: Endpoint, sender: bytes, now: float
    ) -> None:
        try:
            method, raw = _REQUEST.decode(body)
            decoder = _ARGUMENTS.get(method)
            if decoder is None:
                self.counters.refused += 1  # `store` and `find_value` are among them
                return
            said, *arguments = decoder.decode(raw)
        except _MALFORMED:
            self.counters.malformed += 1
            return
        caller = self._naming.node(said, sender, address, now)
        if caller is None or caller.id in self._context.own or not usable(address):
            self.counters.refused += 1
            return
        room = self._naming.datagram_bytes_max
        if self._proven.get(address, -1.0) < now:
            room = min(room, AMPLIFICATION_MAX * (_HEADER_BYTES + len(body)))
        answer: tuple[Any, ...]
        match method:
            case "ping":
                answer = (self._said,)
            case "find_node":
                answer = (self._said, self._nearest(arguments[0], caller, room, form))
            case "contact":
                theirs = _read_choice(arguments[1])
                answer = (self._said, *self._contact(arguments[0], sender, address, theirs, now))
            case _:
                self._take_bye(caller, now)
                return
        datagram = _first_byte(form, is_answer=True) + call_id + _encode(answer)
        if len(datagram) <= room:
            self._send(datagram, address, sender)
        else:
            self.counters.refused += 1
        if not call_id[-1] & CLIENT:
            self._welcome(caller, now)

    def _nearest(self, key: bytes, caller: Neighbour, room: int, form: int) -> list[object]:
        """Return the nearest known to `key`, as many as an answer of `room` bytes holds."""
        overhead = _HEADER_BYTES + 1 + len(_encode(self._said)) + 3
        fitting = max(0, min(NEIGHBOURS, (room - overhead) // self._naming.named_bytes_max[form]))
        target = Neighbour(key)
        nearest = self.router.find_neighbors(target, fitting, caller) if fitting else []
        if form == 1 and not all(form_of(node.address) == 1 for node in nearest):
            known = self.router.find_neighbors(target, len(self.router), caller)
            nearest = [node for node in known if form_of(node.address) == 1][:fitting]
        # Perhaps no other process knows the other identifiers of this process.
        own = islice(self._context.own.nearest(target.long_id), fitting + 1)
        others = [
            n
            for n in own
            if n.id != self.node_id and usable(n.address) and form_of(n.address) <= form
        ]
        if others and fitting:
            nearest = nsmallest(fitting, nearest + others, key=target.distance_to)
        return [self._naming.write(node, form) for node in nearest]

    def _contact(
        self, group: GroupId, sender: bytes, address: Endpoint, theirs: str, now: float
    ) -> tuple[object, ...]:
        """Return this member's contact and topic; None and "" if it is not in that group.

        A caller that says another choice than this member's gets that one, and no contact.
        """
        if self.node_id[:GROUP_ID_BYTES] != group or self.contact is None:
            return None, ""
        if not self._naming.may_ask(sender, self._topic, now):
            self.counters.refused += 1
            return None, ""
        if theirs and theirs != (ours := self._context.choice.decode()):
            self._context.other_choice(address, theirs, now)
            return None, "", ours
        return self.contact, self._topic

    def on_other_choice(self, address: Endpoint, choice: str, now: float) -> None:
        """Note that a member has another choice than this process."""
        self._context.other_choice(address, choice, now)

    def reaches(self, address: Endpoint) -> bool:
        """Return whether this process can send to an endpoint."""
        return self._context.reaches(address)

    def is_of(self, contact: Contact, node: Neighbour, topic: Topic, now: float) -> bool:
        """Return whether a contact may belong to a node, and to a member of a topic."""
        return self._naming.is_of(contact, node, topic, now)

    def expel(self, now: float) -> None:
        """Drop the neighbours whose claim is no longer believed, as after a revocation."""
        self.router.expel(lambda node: self._naming.still(node, now))

    def _take_bye(self, caller: Neighbour, now: float) -> None:
        """Doubt a neighbour that says goodbye, and ping it, since the goodbye may be forged."""
        known = self.router.get(caller.id)
        if known is not None and known.address == caller.address and self.router.is_good(known.id):
            self.router.doubt(known, failures=FAILURES_MAX - 1)
            self.check(known, now)

    def _welcome(self, caller: Neighbour, now: float) -> None:
        """Ping a caller that is unknown at this address: it becomes a neighbour if it answers."""
        known = self.router.get(caller.id)
        if known is None:
            self._ping(caller, now)
        elif known.address != caller.address:
            if self._naming.moves:
                self._ping(caller, now)
            else:
                self.check(known, now)


def _ignore(_answer: Any, _now: float) -> None:
    """Do nothing with an answer: a ping is for the table."""


def _first_byte(form: int, *, is_answer: bool = False) -> bytes:
    return bytes((2 * FORMS.index(form) + is_answer,))


def _fields(answer: Any) -> Any:
    """Return the fields of an answer in their order."""
    return msgspec.structs.astuple(answer) if isinstance(answer, _ContactAnswer) else answer


def _read_choice(padding: bytes) -> str:
    """Return the choice that a call's padding begins with; empty if it says none."""
    return padding.rstrip(b"\0").decode("utf-8", "replace")
