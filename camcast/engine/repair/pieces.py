"""Pieces: a batch that is too long for a record is asked for piece by piece.

Theory of operation
-------------------
A batch with a payload above `PAYLOAD_BYTES_MAX` (1 MiB) is *long*. It is published, kept, signed
and delivered like any other, but no record has room for it. It is never pushed: it is offered, with
its size (`camcast.engine.repair.offers`), whatever spreads other events. Who lacks it asks one
offerer for a window of `WINDOW` pieces after the other (`PiecesWanted`, `Piece`), so that a MiB of
it is on its way at a time. What an offerer that dies has sent is kept, and the next one is asked
for the rest. A `Want` for a long batch, of repair or for history, draws its first piece, and who
gets this goes on as if the batch had been offered. The whole batch is then judged like one that
came in a record: the signature stands over all of it.

*Refusing.* A process whose `event_bytes_max` is lower does not ask, and says so to the offerer
(`TooLong`). That is passed on to the publisher, along the way that the batch came: its receipts
then say how many members refuse, and the log says it, too. Subscribers of the process that refuses
get a `Missed`: at once for what two members offer, and else in time, as for all that is missing.

*Abandoned.* A batch of which pieces have come, or that its publisher itself has offered, and that
nobody offers any longer, most likely has no living holder: whoever has all of it offers it on at
once. Subscribers are told that it is missed after `ABANDONED_SECONDS`, if neighbours were heard of
meanwhile; a process that is cut off waits for as long as events are kept. A liar pays a piece for
such a `Missed`, or tells of events of its own, and silences nobody.

*Hostile.* Pieces that were not asked for are dropped. Those of batches under way take at most
`UNDER_WAY_MAX` times `event_bytes_max`, and one teller of them a quarter; a lying size takes
nothing before its bytes come. An offered batch may be taken once by each process that it was
offered to; what is asked for beyond that counts to the bytes a second of
`camcast.engine.repair.answering`. What is passed on of refusals is bounded for each batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Final, TypeVar

from attrs import define, field

from camcast.engine.repair.messages import Piece, TooLong
from camcast.engine.repair.told import RepairContext
from camcast.vocabulary.batches import Batch, decode_body
from camcast.vocabulary.events import Missed, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.messages import read_topic
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.token_buckets import each_second
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import (
    EVENT_BYTES_MAX,
    HOPS_MAX,
    OTHER_LEVEL,
    PAYLOAD_BYTES_MAX,
    RECORD_BYTES_MAX,
    REPAIRED,
    MalformedError,
)

# [docs/wire-format.md] chosen: as from which size on bodies are offered
PIECE_BYTES: Final = 1 << 16
WINDOW: Final = 16  # chosen: pieces asked for at a time; a MiB, a quarter of an output pipe
UNDER_WAY_MAX: Final = 4  # chosen: long batches under way, so that three liars leave room for one
SHARE: Final = 1  # chosen: of these, one for what comes in a single teller's name
ORIGINS_MAX: Final = 64  # chosen: long batches whose way is remembered; a GiB of them at most
REFUSALS_MAX: Final = 8  # chosen: members that are named to the publisher for one batch
REFUSALS_A_SECOND: Final = 8  # chosen: batches of 16 MiB that come so fast are more than links take
ABANDONED_SECONDS: Final = 30.0  # chosen: thrice the time after which holes may be given up
WITNESSES: Final = 3  # chosen: as `camcast.engine.repair.asking.PASSED_BY`
TELLERS_MIN: Final = 2  # chosen: as `camcast.engine.repair.asking.SPEAKERS_MIN`
REFUSING_MAX: Final = 256  # chosen: members that a publisher remembers; as `NEIGHBOURS_MAX`
REFUSING_SECONDS: Final = 600.0  # chosen: a member that was restarted with more is believed then
SEVERAL: Final = PeerId(bytes(PEER_ID_BYTES))
"""The sender of a batch with parts of several processes: nobody is to blame if it is false."""
HEADS_BYTES: Final = RECORD_BYTES_MAX - PAYLOAD_BYTES_MAX
"""The bytes of a body beside its payload are fewer."""

V = TypeVar("V")

Key = tuple[StreamId, int]
"""A batch, by its stream and first number."""


def pieces_of(size: int) -> int:
    """Return how many pieces a body of so many bytes has."""
    return -(-size // PIECE_BYTES)


def part_of_body(body: bytes, number: int) -> bytes:
    """Return the bytes of a piece."""
    return body[number * PIECE_BYTES : (number + 1) * PIECE_BYTES]


@define(eq=False)
class _Assembly:
    """A long batch of which pieces come."""

    size: int
    teller: PeerId
    parts: list[bytes | None]
    sources: dict[PeerId, None] = field(factory=dict)
    """The processes that have sent pieces."""
    came: int = 0
    """How many of its pieces have come."""
    wanted: int = -1
    """The highest number that was asked for last."""
    is_fresh: bool = False
    """Whether a piece has come since some were asked for last."""
    hops: int = 0
    published: float = inf


class Assembling:
    """Puts the long batches together that one community of this process has asked for."""

    def __init__(self, context: RepairContext) -> None:
        self._context = context
        self._under_way: dict[Key, _Assembly] = {}
        self._distrusted: dict[Key, None] = {}
        """The batches of which parts that several processes sent made a false one."""

    def takes(self, size: int) -> bool:
        """Say whether this process takes a batch whose body has so many bytes."""
        return size <= self._context.community.parameters.event_bytes_max + HEADS_BYTES

    def begin(self, key: Key, size: int, teller: PeerId, source: PeerId) -> bool:
        """Make room for a batch, unless it is there; False if there is none now.

        What has come is forgotten if `source` says another size, or others have spoilt it before.
        """
        if (assembly := self._under_way.get(key)) is not None:
            is_other = key in self._distrusted and any(one != source for one in assembly.sources)
            if assembly.size == size and not is_other:
                return True
            del self._under_way[key]
        of_all = sum(one.size for one in self._under_way.values())
        of_teller = sum(one.size for one in self._under_way.values() if one.teller == teller)
        unit = self._context.community.parameters.event_bytes_max + HEADS_BYTES
        if of_all + size > UNDER_WAY_MAX * unit or of_teller + size > SHARE * unit:
            return False
        self._under_way[key] = _Assembly(size, teller, [None] * pieces_of(size))
        return True

    def next_window(self, key: Key) -> Sequence[int]:
        """Return the pieces to be asked for now: the lowest that are missing."""
        assembly = self._under_way[key]
        missing = (number for number, part in enumerate(assembly.parts) if part is None)
        window = [number for number, _ in zip(missing, range(WINDOW), strict=False)]
        assembly.wanted, assembly.is_fresh = window[-1], False
        return window

    def is_fresh(self, key: Key) -> bool:
        """Say whether something has come of a batch since pieces were asked for last."""
        assembly = self._under_way.get(key)
        return assembly is not None and assembly.is_fresh

    def has_begun(self, key: Key) -> bool:
        """Say whether a piece of a batch has come."""
        assembly = self._under_way.get(key)
        return assembly is not None and assembly.came > 0

    def is_under_way(self, key: Key) -> bool:
        """Say whether pieces of a batch are awaited."""
        return key in self._under_way

    def add(self, piece: Piece, source: PeerId, now: float) -> bool:
        """Add a piece of a batch that has begun; say whether it had not come before."""
        assembly = self._under_way[StreamId(piece.stream), piece.first]
        if assembly.parts[piece.number] is not None:
            return False
        assembly.parts[piece.number] = piece.part
        assembly.sources[source] = None
        assembly.is_fresh = True
        assembly.came += 1
        assembly.hops = max(assembly.hops, min(piece.hops, HOPS_MAX))
        assembly.published = min(assembly.published, now - piece.age)
        return True

    def ends_window(self, piece: Piece) -> bool:
        """Say whether a piece is the last one that was asked for."""
        assembly = self._under_way[StreamId(piece.stream), piece.first]
        return piece.number >= assembly.wanted

    def is_distrusted(self, key: Key) -> bool:
        """Say whether a batch is put together from the pieces of a single process."""
        return key in self._distrusted

    def distrust(self, key: Key) -> None:
        """Put a batch together from the pieces of a single process from now on."""
        self._under_way.pop(key, None)
        _put(self._distrusted, key, None)

    def whole(self, key: Key, now: float, *, from_below: bool) -> tuple[Batch, PeerId] | None:
        """Return a batch of which all has come, and who sent it; forget it.

        None if something is missing. The sender is `SEVERAL` where parts came from several. If
        their parts make no batch, nobody knows who lied: then all is forgotten. Raises
        `MalformedError` if one process did.
        """
        assembly = self._under_way[key]
        if assembly.came < len(assembly.parts):
            return None
        del self._under_way[key]
        sender, *others = assembly.sources
        body = b"".join(part for part in assembly.parts if part is not None)
        flags = REPAIRED | OTHER_LEVEL if from_below else REPAIRED
        bytes_max = self._context.community.parameters.event_bytes_max
        age = max(0.0, now - assembly.published)
        try:
            batch = decode_body(body, 0, len(body), assembly.hops, age, now, flags, bytes_max)
            if (batch.stream, batch.first) != key:
                raise MalformedError("the pieces of a batch make another one")
        except MalformedError:
            if not others:
                raise
            self.distrust(key)
            return None
        return batch, SEVERAL if others else sender

    def drop(self, key: Key) -> None:
        """Forget what has come of a batch."""
        self._under_way.pop(key, None)


def check_piece(piece: Piece) -> None:
    """Raise `MalformedError` for a piece that cannot be."""
    size, number = piece.size, piece.number
    if not PAYLOAD_BYTES_MAX < size <= EVENT_BYTES_MAX + HEADS_BYTES or not piece.age >= 0:
        raise MalformedError("a Piece is of a batch that cannot be")
    length = min(PIECE_BYTES, size - number * PIECE_BYTES)
    if not 0 <= number < pieces_of(size) or len(piece.part) != length or piece.hops < 0:
        raise MalformedError("a Piece has not the bytes that it says")


class Refusals:
    """Tells of long batches that this process does not get: those that it refuses, or others.

    The publisher hears of members that refuse, the subscribers of what they miss.
    """

    def __init__(self, context: RepairContext, tell_missed: Callable[[Missed], None]) -> None:
        self.told_missed = 0
        """The events that this process has refused, and of which subscribers were told."""
        self._context = context
        self._tell_missed = tell_missed
        self._log = MinuteLog()
        self._rate = each_second(REFUSALS_A_SECOND)
        self._origins: dict[Key, tuple[Contact, GroupId | None]] = {}
        """The processes that long batches came from, and the groups of those below."""
        self._passed_on: dict[Key, dict[bytes, None]] = {}
        self._refused: dict[Key, int] = {}
        """The batches that this process does not take, with the counts of their events."""
        self._tellers: dict[Key, dict[PeerId, None]] = {}
        self._told: dict[Key, int] = {}
        """Those that subscribers were told of as missed, the abandoned ones included."""
        self._abandoned: dict[Key, tuple[int, float]] = {}
        """The batches of which pieces have come, and that nobody offers any longer: the counts of
        their events, and since when."""
        self._refusing: dict[bytes, tuple[int, float]] = {}
        """The members that have refused a batch of this process: what they take, and when."""

    def add_origin(self, batch: Batch, source: Contact, below: str) -> None:
        """Add whom a long batch came from."""
        group = read_topic(below).group if below else None
        _put(self._origins, (batch.stream, batch.first), (source, group))

    def refuses(self, key: Key) -> bool:
        """Say whether this process has refused a batch."""
        return key in self._refused

    def refuse(self, key: Key, count: int, source: Contact, below: str, now: float) -> None:
        """Say to an offerer, once, that this process does not take so long a batch."""
        if key in self._refused:
            return
        _put(self._refused, key, count)
        context = self._context
        bytes_max = context.community.parameters.event_bytes_max
        if self._log.due("refused", now):
            context.outlet.report("too_long", count=bytes_max)
        if not self._rate.take(now):
            return  # the publisher hears it of others, or of another batch
        message = TooLong(*key, context.community.me.peer, bytes_max)
        group = read_topic(below).group if below else None
        context.outlet.send([source], message, group=group)

    def add_teller(self, key: Key, count: int, teller: PeerId, is_known: bool) -> None:
        """Add who offers a batch that was refused, and tell subscribers that it is missed here.

        They are told if something of its stream `is_known`, or two members offer it: a liar could
        offer any number of batches that never were. Else they are told as of all that is missing.
        """
        tellers = self._tellers.get(key)
        if tellers is None:
            tellers = _put(self._tellers, key, dict[PeerId, None]())
        if teller != UNKNOWN_PEER and len(tellers) < TELLERS_MIN:
            tellers[teller] = None
        if is_known or len(tellers) >= TELLERS_MIN:
            self._tell(key, count)

    def abandon(self, key: Key, count: int, now: float) -> None:
        """Add a batch that nobody offers any longer, though it is known to have been."""
        if not self._abandoned:
            self._context.outlet.wake(ABANDONED_SECONDS, "abandoned")
        self._abandoned.setdefault(key, (count, now))
        if len(self._abandoned) > ORIGINS_MAX:
            oldest = next(iter(self._abandoned))
            self._tell(oldest, self._abandoned.pop(oldest)[0])

    def look_at_abandoned(self, is_awaited: Callable[[Key], bool], now: float) -> None:
        """Tell subscribers of abandoned batches that have not come, and are not awaited again."""
        for key, (count, since) in list(self._abandoned.items()):
            known = self._context.streams.known.get(key[0])
            has_come = known is not None and known.knows(key[1], count)
            if has_come or (not is_awaited(key) and self._is_lost(since, now)):
                del self._abandoned[key]
                if not has_come:
                    self._tell(key, count)
        if self._abandoned:
            self._context.outlet.wake(1.0, "abandoned")

    def _is_lost(self, since: float, now: float) -> bool:
        """Say whether neighbours would have offered by now what was abandoned then."""
        waited, community = now - since, self._context.community
        if waited >= self._context.retention:
            return True
        neighbours = community.membership.neighbours()
        after = now - ABANDONED_SECONDS / 2
        heard = sum(community.liveness.heard(one.peer) >= after for one in neighbours)
        return waited >= ABANDONED_SECONDS and heard >= min(WITNESSES, max(1, len(neighbours)))

    def _tell(self, key: Key, count: int) -> None:
        """Tell subscribers, once, that they miss the events of a batch."""
        if key not in self._told:
            _put(self._told, key, count)
            self.told_missed += count
            stream, first = key
            topic = self._context.community.group
            self._tell_missed(Missed(stream, topic, first, first + count - 1))

    def without(self, stream: StreamId, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return ranges of a stream, as (start, stop), without what this process refuses."""
        return _without(self._refused, stream, ranges)

    def untold(self, stream: StreamId, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return ranges of a stream without what subscribers were told of here."""
        return _without(self._told, stream, ranges)

    def on_too_long(self, message: TooLong, *, offered: bool, now: float) -> None:
        """Pass a refusal on to whom the batch came from; its publisher remembers it.

        It counts only for a batch that was `offered`, and for few members a batch.
        """
        key = StreamId(message.stream), message.first
        told = self._passed_on.get(key)
        if not offered or (told and (message.member in told or len(told) >= REFUSALS_MAX)):
            return
        if told is None:
            told = _put(self._passed_on, key, dict[bytes, None]())
        told[message.member] = None
        if key[0][:PEER_ID_BYTES] == self._context.community.me.peer:
            self._refusing.pop(message.member, None)
            self._refusing[message.member] = message.bytes_max, now
            if len(self._refusing) > REFUSING_MAX:
                del self._refusing[next(iter(self._refusing))]
            if self._log.due("refusing", now):
                self._context.outlet.report("refused_as_too_long", count=message.bytes_max)
        elif (origin := self._origins.get(key)) is not None:
            contact, group = origin
            self._context.outlet.send([contact], message, group=group)

    def refusing(self, size: int, now: float) -> int:
        """Count the members that have said lately that they take no payload of so many bytes."""
        return sum(
            bytes_max < size and now - when <= REFUSING_SECONDS
            for bytes_max, when in self._refusing.values()
        )


def _without(
    batches: Mapping[Key, int], stream: StreamId, ranges: list[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return ranges, as (start, stop), without the events of these batches of a stream."""
    for (of_stream, first), count in batches.items():
        if of_stream == stream:
            ranges = [
                part
                for start, stop in ranges
                for part in ((start, min(stop, first)), (max(start, first + count), stop))
                if part[0] < part[1]
            ]
    return ranges


def _put(entries: dict[Key, V], key: Key, value: V) -> V:
    """Put an entry into a table of long batches, of which the oldest goes if there are too many."""
    entries[key] = value
    if len(entries) > ORIGINS_MAX:
        del entries[next(iter(entries))]
    return value
