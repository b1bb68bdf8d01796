"""Comparing: members of a community get the same last values, whatever they were members for.

Events with keys arrive and are repaired as all others are, and most maps (`LastValues`) agree by
that alone. The rest, such as a newcomer's, is found and fetched by comparisons. While a process
keeps any last value it announces the digest of its map to `TOLD_AT_ONCE` neighbours a second
(`ValuesKnown`). Where the digests differ, the two exchange those of their *buckets* (`Buckets`);
each asks for the buckets in which it differs, and names what it has of these (`ValuesWanted`); and
the other sends the rest (`Values`). A process that comes into the topic table is sent the buckets
at once, and again until it is heard.

What a process has from before its membership is compared like all else. Such a value is handed to
subscribers of last values alone (`Deliver.last_value`), and the event does not count as known: if
it is from the process's time, repair brings it as well.

*Upward.* Last values climb as well: some processes of a community, `TELLERS` on the whole, announce
the buckets of what climbs to a super-process every `UPWARD_SECONDS`, which asks for what it lacks.
A process that is in both communities hands over. Nothing comes down.

*Hostile.* A question is answered only with a nonce, and by a bounded number of bytes a peer and
second, as a `Want` is. What comes has to be of a topic that the community includes, and is verified
where events are signed. One neighbour at a time is asked for a topic; whoever was asked less often
than the last one need not wait, so that a liar whose buckets always differ keeps nobody from being
asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Final
from weakref import WeakKeyDictionary

from attrs import define, field, frozen
from msgspec.structs import replace

from camcast.engine.repair.answering import ANSWER_BYTES, STREAMS_A_MESSAGE_MAX
from camcast.engine.repair.last_values import BUCKETS_MAX, LastValue, LastValues, buckets_for
from camcast.engine.repair.messages import (
    Buckets,
    BucketsWanted,
    Nonces,
    TopicBuckets,
    Values,
    ValuesKnown,
    ValuesWanted,
)
from camcast.engine.repair.told import HASH_BYTES, NEIGHBOURS_MAX, PAGE_BYTES, Haves, RepairContext
from camcast.vocabulary.batches import NOT_UPWARD, Batch, decode_body
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import Message, read_topic
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import HOPS_MAX, PAYLOAD_BYTES_MAX, MalformedError

TELL_SECONDS: Final = 1.0  # chosen: as the news; 160 bytes a second, while there are keys
TOLD_AT_ONCE: Final = 2  # chosen: as the news; one may be cut off
ASK_SECONDS: Final = 1.0  # chosen: an answer is on its way for less; others offer the same
TURNS_SECONDS: Final = 60.0  # chosen: maps of honest members are the same long before
PAUSE_SECONDS_MAX: Final = 8.0  # chosen: maps that stay different cost a message in that time
GREETINGS: Final = 4  # chosen: at 30 % loss one in 120 is not met by then
UPWARD_SECONDS: Final = 5.0  # chosen: half of the time in which maps become the same
TELLERS: Final = 3  # chosen: of a community, on average; one in 20 times nobody tells


@frozen
class ValuesContext:
    """The parts of the process that last values of one community need."""

    includes: Callable[[Topic], bool]
    """Says whether the community's topic includes another."""
    believes: Callable[[Batch, PeerId, float], bool]
    """Verifies a last value that came from a process."""
    accompany: Callable[[Batch, Contact, float], None]
    """Sends the certificates that a last value needs."""
    deliver: Callable[[Batch], None]
    """Hands a last value to subscribers."""
    beside: Callable[[Topic], Comparing | None]
    """Returns what this process itself keeps in another community, or None."""


@define(eq=False)
class _Difference:
    """The difference to one neighbour's map, and when its buckets were last announced."""

    digest: int = 0
    told_at: float = -inf
    pause: float = TELL_SECONDS


@define(eq=False)
class _Turns:
    """The questions to neighbours for the last values of one topic, lately."""

    at: float = -inf
    """When the last one was sent."""
    last: PeerId = UNKNOWN_PEER
    """The neighbour that it was sent to."""
    times: dict[PeerId, int] = field(factory=dict)
    """How often each was asked; the one that was asked last comes last."""

    def is_due(self, peer: PeerId, now: float) -> bool:
        """Say whether a neighbour may be asked now."""
        is_over = now - self.at >= ASK_SECONDS
        return is_over or self.times.get(peer, 0) + 1 < self.times[self.last]

    def add(self, peer: PeerId, now: float) -> None:
        """Count a question."""
        self.times[peer] = self.times.pop(peer, 0) + 1
        if len(self.times) > NEIGHBOURS_MAX:
            del self.times[next(iter(self.times))]
        self.at, self.last = now, peer


class Comparing:
    """The last values of one community in one process; see the module's theory of operation."""

    def __init__(
        self, context: RepairContext, around: ValuesContext, haves: Haves, nonces: Nonces
    ) -> None:
        self.values = LastValues()
        self.agreed = False
        """Whether a neighbour has said that it has the same last values."""
        self._context = context
        self._around = around
        self._haves = haves
        self._nonces = nonces
        self._telling = False  # whether the timer is set
        self._told_upward = -inf
        # The digests of what was handed to own communities, which may be left and joined again.
        self._handed: WeakKeyDictionary[Comparing, int] | None = None  # made when it is needed
        self._new: dict[PeerId, tuple[Contact, int]] = {}  # how often each is still to be greeted
        self._differences: dict[PeerId, _Difference] = {}
        self._asked: dict[Topic, _Turns] = {}  # who was asked for a topic
        self._swept = -inf  # when those asked long ago were forgotten last
        self._heard = 0  # the digest of all that a neighbour has announced last
        self._turn = 0  # at which topic the buckets begin, if not all have room

    # -- what comes to this process --------------------------------------------------------

    def add(self, batch: Batch, now: float) -> bool:
        """Add an event with a key; say whether it is its key's last value."""
        added = self.values.add(batch, self._context.clock.wall(now))
        if added and not self._telling:
            self._tell_later()
        return added

    def greet(self, contact: Contact, now: float) -> None:
        """Announce what is kept to a process that came into the topic table."""
        if self.values:
            self._new[contact.peer] = contact, GREETINGS
            if len(self._new) > NEIGHBOURS_MAX:
                del self._new[next(iter(self._new))]
            self._greet(now)

    def receive(self, source: Contact, message: Message, now: float) -> None:
        """Take a message about last values."""
        match message:
            case ValuesKnown():
                self._on_known(source, message, now)
            case Buckets():
                self._on_buckets(source, message, now)
            case ValuesWanted():
                self._on_wanted(source, message, now)
            case Values():
                self._on_values(source, message, now)

    def _on_known(self, source: Contact, message: ValuesKnown, now: float) -> None:
        """Compare a neighbour's digest with the own one, and send the buckets if they differ."""
        self._new.pop(source.peer, None)
        lateness = self._context.lateness
        if lateness.lag(now) and message.second > lateness.second(self._context.clock, now):
            return  # what was published by then is still on its way
        digest = self.values.digest(message.second) ^ int.from_bytes(message.digest[:HASH_BYTES])
        if not digest:
            self.agreed = True
            self._differences.pop(source.peer, None)
            return
        before = self._differences.setdefault(source.peer, _Difference())
        if len(self._differences) > NEIGHBOURS_MAX:
            del self._differences[next(iter(self._differences))]
        if digest != before.digest:
            before.digest, before.pause = digest, TELL_SECONDS
        if now - before.told_at >= before.pause:
            before.told_at = now
            before.pause = min(2 * before.pause, PAUSE_SECONDS_MAX)
            self._tell_buckets(source, now, reply=True)

    def _on_buckets(self, source: Contact, message: Buckets, now: float) -> None:
        """Ask for what is in another's buckets and is not here."""
        self._new.pop(source.peer, None)
        below = read_topic(message.below) if message.below else None
        if below is None:
            self._heard = _digest_of(digests for _, digests in message.topics)
            self.agreed |= self._heard == self.values.digest()
        wanted: list[BucketsWanted] = []
        size = 0
        for name, digests in message.topics[:STREAMS_A_MESSAGE_MAX]:
            topic = read_topic(name)
            differing = self._differing(topic, digests, upward=below is not None)
            if (
                not differing
                or not self._around.includes(topic)
                or not self._asked.setdefault(topic, _Turns()).is_due(source.peer, now)
                or size >= PAGE_BYTES
            ):
                continue
            buckets = len(digests) // HASH_BYTES
            parts = [
                value.part.to_bytes(HASH_BYTES)
                for value in self.values.within(topic, buckets, differing)
            ]
            wanted.append((name, buckets, tuple(differing), b"".join(parts)))
            size += len(name) + 2 * len(differing) + HASH_BYTES * len(parts)
            self._asked[topic].add(source.peer, now)
        if len(self._asked) > STREAMS_A_MESSAGE_MAX or now - self._swept > TURNS_SECONDS:
            self._swept = now
            seconds = ASK_SECONDS if len(self._asked) > STREAMS_A_MESSAGE_MAX else TURNS_SECONDS
            self._asked = {t: one for t, one in self._asked.items() if now - one.at < seconds}
        if wanted:
            into, group = "", None
            if below is not None:
                into, group = self._context.community.group.name, below.group
            self._send(source, ValuesWanted(message.nonce, into, tuple(wanted)), group)
        if message.reply and below is None:
            self._tell_buckets(source, now, reply=False)

    def _on_wanted(self, source: Contact, message: ValuesWanted, now: float) -> None:
        """Send what another process lacks of some buckets."""
        self._new.pop(source.peer, None)
        above = self._topic_above(message.into) if message.into else None
        if (message.into and above is None) or not self._nonces.check(message.nonce, source, now):
            return
        values = [
            value
            for value in self._lacking(message.topics[:STREAMS_A_MESSAGE_MAX])
            if above is None or not value.batch.flags & NOT_UPWARD
        ]
        for batch in {value.batch.certificate: value.batch for value in values}.values():
            self._around.accompany(batch, source, now)
        below = "" if above is None else self._context.community.group.name
        group = None if above is None else above.group
        for page in _pages(self._affordable(source, values, now)):
            self._send(source, Values(below, page), group)

    def _on_values(self, source: Contact, message: Values, now: float) -> None:
        """Take last values that were asked for."""
        wall = self._context.clock.wall(now)
        for hops, body in message.bodies:
            hops = min(max(0, hops), HOPS_MAX)
            batch = decode_body(body, 0, len(body), hops, 0.0, now, 0, PAYLOAD_BYTES_MAX)
            age = max(0.0, wall - batch.published / 1000)
            self.take(replace(batch, age=age), source.peer, now)
        self.agreed |= self._heard == self.values.digest()

    def take(self, batch: Batch, source: PeerId, now: float) -> None:
        """Take a last value that `source` sent; hand it to subscribers if it is new.

        Raises `MalformedError` for an event without a key.
        """
        if batch.keyed is None:
            raise MalformedError("an event without a key is no last value")
        is_foreign = batch.flags & NOT_UPWARD and batch.topic != self._context.community.group
        if (
            not is_foreign
            and self._around.includes(batch.topic)
            and self.values.would_take(batch, self._context.clock.wall(now))
            and self._around.believes(batch, source, now)
            and self.add(batch, now)
        ):
            self._around.deliver(batch)

    # -- what this process tells -----------------------------------------------------------

    def wake(self, now: float) -> None:
        """Tell neighbours the digest of what is kept, and now and then super-processes."""
        self._telling = False
        context = self._context
        self.values.forget_deleted(context.clock.wall(now))
        if not self.values:
            return
        second = context.lateness.second(context.clock, now)
        known = ValuesKnown(second, self.values.digest(second).to_bytes(HASH_BYTES))
        self._greet(now)
        neighbours = context.community.membership.neighbours()
        if told := context.sample(neighbours, TOLD_AT_ONCE):
            context.outlet.send(told, known)
        if now - self._told_upward >= UPWARD_SECONDS:
            self._told_upward = now
            self._tell_upward(now)
        self._tell_later()

    def _greet(self, now: float) -> None:
        for peer, (contact, times) in list(self._new.items()):
            if times:
                self._new[peer] = contact, times - 1
                self._tell_buckets(contact, now, reply=True)
            else:
                del self._new[peer]

    def _tell_upward(self, now: float) -> None:
        community = self._context.community
        tells = community.rng.random() < TELLERS / max(1.0, community.membership.size())
        for table in community.super_tables:
            topic, above = table.nearest()
            own = self._around.beside(topic)
            if own is not None:
                self._hand_over(own, now)
            elif above and tells:
                self._tell_buckets(community.rng.choice(above), now, above=topic)

    def _hand_over(self, own: Comparing, now: float) -> None:
        digest = self.values.digest()
        if self._handed is None:
            self._handed = WeakKeyDictionary()
        if self._handed.get(own) != digest:
            self._handed[own] = digest
            for values in self.values.topics.values():
                for value in list(values.values()):
                    own.take(value.batch, self._context.community.me.peer, now)

    def _tell_buckets(
        self, contact: Contact, now: float, *, reply: bool = False, above: Topic | None = None
    ) -> None:
        """Send the digests of all buckets, or of what climbs to `above`, as far as there is room.

        Without any last value, an empty list is sent: the answer has all of the other's.
        """
        upward = above is not None
        told: list[TopicBuckets] = []
        size, room = 0, self._haves.room(now)
        topics = list(self.values.topics.items())
        if topics:  # those that had no room come first the next time
            turn = self._turn % len(topics)
            topics = topics[turn:] + topics[:turn]
        for topic, values in topics:
            digests = self.values.buckets(topic, buckets_for(len(values)), upward=upward)
            if size >= min(room, PAGE_BYTES):
                self._turn += len(told)
                break
            if any(digests):
                data = b"".join(digest.to_bytes(HASH_BYTES) for digest in digests)
                told.append((topic.name, data))
                size += len(topic.encoded) + len(data)
        if room > 0 and (told or not upward):
            self._haves.count_bytes(size)
            nonce = self._nonces.issue(contact, now)
            below = self._context.community.group.name if upward else ""
            group = None if above is None else above.group
            self._send(contact, Buckets(nonce, below, int(reply), tuple(told)), group)

    # -- inside ----------------------------------------------------------------------------

    def _tell_later(self) -> None:
        self._telling = True
        self._context.outlet.wake(TELL_SECONDS, "values")

    def _send(self, contact: Contact, message: Message, group: GroupId | None) -> None:
        self._context.outlet.send([contact], message, group=group)

    def _differing(self, topic: Topic, digests: bytes, *, upward: bool) -> dict[int, None]:
        """Return the numbers of the buckets of a topic in which another process differs."""
        size, odd = divmod(len(digests), HASH_BYTES)
        if odd or not 1 <= size <= BUCKETS_MAX or size & (size - 1):
            raise MalformedError(f"{len(digests)} bytes are the digests of no buckets")
        own = b"".join(
            digest.to_bytes(HASH_BYTES)
            for digest in self.values.buckets(topic, size, upward=upward)
        )
        return {
            start // HASH_BYTES: None
            for start in range(0, len(own), HASH_BYTES)
            if own[start : start + HASH_BYTES] != digests[start : start + HASH_BYTES]
        }

    def _lacking(self, wanted: Iterable[BucketsWanted]) -> Iterator[LastValue]:
        """Yield what is here of buckets that another process asks for, but for what it has."""
        for name, size, numbers, parts in wanted:
            if not 1 <= size <= BUCKETS_MAX or size & (size - 1):
                raise MalformedError(f"{size} buckets are asked for")
            starts = range(0, len(parts), HASH_BYTES)
            has = {int.from_bytes(parts[start : start + HASH_BYTES]): None for start in starts}
            for value in self.values.within(read_topic(name), size, dict.fromkeys(numbers)):
                if value.part not in has:
                    yield value

    def _affordable(
        self, contact: Contact, values: Iterable[LastValue], now: float
    ) -> Iterator[LastValue]:
        """Yield as many values as a peer may be sent in a second; it asks again for the others."""
        neighbour = self._context.neighbour(contact.peer)
        if now - neighbour.second >= 1.0:
            neighbour.second, neighbour.answered = now, 0
        for value in values:
            if neighbour.answered >= ANSWER_BYTES:
                return
            neighbour.answered += value.size
            yield value

    def _topic_above(self, name: str) -> Topic | None:
        """Return the super-topic of this name that the community is linked to, or None."""
        tables = self._context.community.super_tables
        return next((one for table in tables for one in table.topics if one.name == name), None)


def _digest_of(topics: Iterable[bytes]) -> int:
    """Return the digest of a map of which these are the digests of buckets."""
    digest = 0
    for digests in topics:
        for start in range(0, len(digests), HASH_BYTES):
            digest ^= int.from_bytes(digests[start : start + HASH_BYTES])
    return digest


def _pages(values: Iterable[LastValue]) -> Iterator[tuple[tuple[int, bytes], ...]]:
    """Cut values into messages of `PAGE_BYTES`, or of one value that is larger."""
    page: list[tuple[int, bytes]] = []
    size = 0
    for value in values:
        if page and size + len(value.batch.body) > PAGE_BYTES:
            yield tuple(page)
            page, size = [], 0
        page.append((value.batch.hops + 1, value.batch.body))
        size += len(value.batch.body)
    if page:
        yield tuple(page)
