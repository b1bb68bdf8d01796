"""Offers: a large batch is announced in place of being pushed, and each process asks for it once.

Theory of operation
-------------------
A process that has a batch of `CommunitySettings.offer_bytes` or more, and would push it to some
others, sends these a `Have` that names the batch as *offered* (`Offering`). Who lacks the batch
asks the first offerer at once (`Fetching`), and offers it on as soon as it is there. A push sends
the body along every edge of the epidemic, an offer along those edges alone that bring it first.

*Long* batches are asked for in pieces (`camcast.engine.repair.pieces`); an offer tells their sizes.

*Budget.* An offer may be taken once by each process that it was made to, beyond the bytes a second
that repair answers with: offers send no more than a push would have sent.

*Patience.* An offerer that dies, lies or is slow is passed over for the next one after the time
that answers take, as measured (`ArrivalDelay`), since its last answer to anything. An offerer that
was passed over is asked at once for nothing else: others may offer the same. Once all offerers
are passed over, the batch is one that repair asks for (`camcast.engine.repair.asking`), to which
each offer is a `Have` like any other; until then, and for `OFFERED_SECONDS` at most, repair neither
asks for it nor gives it up.

*Hostile.* Invented offers take places of their teller's share, as invented streams do. Whoever
offers a batch again and again, and never sends it, delays repair by `OFFERED_SECONDS`. The size of
a long batch is what each offerer says of it: pieces of different sizes are never put together, and
a batch that several processes sent parts of, and that is false, is fetched from one alone. What
this process offered is remembered of the latest `OFFERED_MAX` batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final, NamedTuple

from attrs import define, field

from camcast.doors.repair import RepairWatcher
from camcast.engine.repair.messages import Have, Piece, Wanted
from camcast.engine.repair.pieces import SEVERAL, Assembling, Key, Refusals, check_piece
from camcast.engine.repair.told import Haves, RepairContext
from camcast.vocabulary.batches import EVENTS_MAX, Batch
from camcast.vocabulary.events import SEQUENCE_MAX, STREAM_ID_BYTES, StreamId
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, PeerId
from camcast.vocabulary.share import Places
from camcast.vocabulary.smoothed_time import ArrivalDelay
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import PAYLOAD_BYTES_MAX, MalformedError

OFFERED_MAX: Final = 1024  # chosen: 64 MiB of batches of 64 KiB, as many as a store keeps
OFFERS_MAX: Final = 64  # chosen: batches that one message offers; a publisher's instant has fewer
FETCHED_MAX: Final = 256  # chosen: batches awaited at a time, 16 MiB of 64 KiB each
OFFERERS_MAX: Final = 8  # chosen: as many as a fan-out has at 20 members; one of them is honest
SILENT_MAX: Final = 4  # chosen: by then the second is over in which it has sent others enough
UNSENT_SECONDS: Final = 30.0  # chosen: 16 MiB at 4 Mbit/s; whoever takes longer may lose some
# chosen: as `asking.GIVE_UP_SECONDS`; a push of 64 batches has come by then, and a liar that offers
# what is missing each tenth of a second costs others ten seconds
OFFERED_SECONDS: Final = 10.0
# chosen: a MiB at 4 Mbit/s, as below; whoever sends more slowly makes way for others that offer
WINDOW_SECONDS: Final = 2.0
ROOM_SECONDS: Final = 0.25  # chosen: a long batch comes within a second where links are fast
PASSED_OVER_MAX: Final = 64  # chosen: more than offer to one process at a time
# chosen: two hops of a wide area network: by then an honest process offers the same, or none has it
DISTRUST_SECONDS: Final = 0.2


class Offering:
    """The batches of one community that this process has offered."""

    def __init__(self, context: RepairContext, haves: Haves) -> None:
        self._context = context
        self._haves = haves
        self._offered: dict[tuple[StreamId, int], dict[PeerId, None]] = {}
        """By a batch's stream and first number, who may take it still; the oldest come first."""
        self.unsent: dict[Key, tuple[int, float]] = {}
        """The own long batches that nobody has had all pieces of, a store has room for few: their
        bytes, and when they were published."""

    def keeps(self, batch: Batch) -> bool:
        """Say whether a batch is kept for those who ask."""
        stop = batch.first + batch.count
        return any(self._context.store.batches(batch.stream, batch.first, stop))

    def offer(
        self, batch: Batch, contacts: Sequence[Contact], now: float, above: Topic | None
    ) -> None:
        """Offer a batch to members of this community, or of the super-community `above`."""
        context, offered = self._context, (batch.stream, batch.first, batch.count)
        after = -inf if above is None else now - context.retention
        held = list(self._haves.held([batch.stream], after, now, upward=above is not None))
        may_take = self._offered.setdefault((batch.stream, batch.first), {})
        if len(self._offered) > OFFERED_MAX:
            del self._offered[next(iter(self._offered))]
        sizes = (len(batch.body),) if batch.is_long else ()
        if sizes and contacts and batch.stream[:PEER_ID_BYTES] == context.community.me.peer:
            self.unsent[batch.stream, batch.first] = len(batch.body), now
        for contact in contacts:
            may_take[contact.peer] = None
            self._haves.send(
                contact, held, now, after=after, above=above, offers=(offered,), sizes=sizes
            )

    def has_room(self, size: int, now: float) -> bool:
        """Say whether one more own batch of so many bytes lets none go that nobody has had."""
        after = now - UNSENT_SECONDS
        self.unsent = {key: one for key, one in self.unsent.items() if one[1] > after}
        taken = sum(length for length, _ in self.unsent.values())
        return not taken or taken + size <= self._context.store.bytes_max // 2

    def has_offered(self, stream: bytes, first: int) -> bool:
        """Say whether a batch is among the latest that this process has offered."""
        return (StreamId(stream), first) in self._offered

    def take(self, batch: Batch, peer: PeerId) -> bool:
        """Say whether a batch was offered to a process that asks for it now, for the first time."""
        may_take = self._offered.get((batch.stream, batch.first), {})
        return peer in may_take and may_take.pop(peer, True) is None


class _Offerer(NamedTuple):
    """A process that has offered a batch; for one of a community below with the name of that."""

    contact: Contact
    nonce: bytes
    below: str
    size: int = 0
    """The bytes of a long batch's body, as this one says; 0 of another."""


@define(eq=False)
class _Awaited:
    """A batch that others have offered, and that has not come."""

    count: int
    since: float
    """When it was offered first."""
    teller: PeerId
    """The process, or all strangers, whose share of tables it takes (`RepairContext.teller`)."""
    size: int = 0
    """The bytes of a long batch's body, as the one says that was asked last; 0 of another."""
    offered: bool = True
    """Whether others have offered it; else its first piece has answered a question of repair."""
    asking: _Offerer | None = None
    """The one that was asked last."""
    silent: int = 0
    """How often that one was asked again in a row, since it had sent some pieces and no more."""
    offerers: list[_Offerer] = field(factory=list)
    """Those that may be asked still, in the order of their offers."""
    asked: dict[PeerId, float] = field(factory=dict)
    """When each process was asked; the one that was asked last comes last."""
    sizes: dict[PeerId, int] = field(factory=dict)
    """The size of a long batch that each of these has said."""
    window_began: float = -inf
    """When the pieces were asked for first that are on their way now."""
    tried: dict[PeerId, _Offerer] = field(factory=dict)
    """The offerers of a long batch that were asked so far."""
    false: dict[PeerId, None] = field(factory=dict)
    """The processes that sent a false one."""

    @property
    def last(self) -> PeerId | None:
        """The process that was asked last."""
        return next(reversed(self.asked), None)


class Fetching:
    """Asks for the batches of one community that others offer, one offerer after the other."""

    def __init__(self, context: RepairContext, refusals: Refusals) -> None:
        self.watcher: RepairWatcher = RepairWatcher()
        """The group's dissemination, once there is one."""
        self._context = context
        self._assembling = Assembling(context)
        self.refusals: Refusals = refusals
        self.awaited: dict[StreamId, dict[int, _Awaited]] = {}
        """The batches that were offered and have not come, by stream and first number."""
        self._places: Places[PeerId, tuple[StreamId, int]] = Places(FETCHED_MAX)
        self._delay = ArrivalDelay()
        self._passed_over: dict[PeerId, None] = {}
        """The processes that did not answer in time when they were asked last."""
        self._timer = 0  # the number of the timer that counts; those before are void
        self._timer_due = inf

    # -- what repair asks ------------------------------------------------------------------

    def without(
        self, stream: StreamId, ranges: list[tuple[int, int]], seconds: float
    ) -> list[tuple[int, int]]:
        """Return ranges of a stream, as (start, stop), without what is awaited of an offerer.

        What has been missing for more than `OFFERED_SECONDS` is not left to offerers.
        """
        left: list[tuple[int, int]] = []
        ranges = self.refusals.without(stream, ranges)
        if seconds > OFFERED_SECONDS:
            return ranges
        awaited = sorted(self.awaited.get(stream, {}).items())
        for start, stop in ranges:
            for first, batch in awaited:
                if start < first + batch.count and first < stop:
                    left.append((start, first))
                    start = first + batch.count
            left.append((start, stop))
        return [(start, stop) for start, stop in left if start < stop]

    # -- inputs ----------------------------------------------------------------------------

    def on_have(self, source: Contact, have: Have, now: float) -> None:
        """Ask for the batches that a `Have` offers and that are neither known nor awaited."""
        me = self._context.community.me.peer
        begun: list[tuple[StreamId, int]] = []
        sizes = have.sizes if len(have.sizes) == len(have.offers) else (0,) * len(have.offers)
        for (name, first, count), size in zip(have.offers[:OFFERS_MAX], sizes, strict=False):
            stream, last = StreamId(name), first + count - 1
            possible = 1 <= first <= last <= SEQUENCE_MAX and count <= EVENTS_MAX
            if len(stream) != STREAM_ID_BYTES or not possible:
                raise MalformedError("a Have offers a batch that cannot be")
            known = self._context.streams.known.get(stream)
            if stream[:PEER_ID_BYTES] == me:
                continue
            is_known = known is not None and known.knows(first, count)
            self.watcher.offered(stream, source, have.below, is_known, now)
            if is_known:
                continue
            if size and size <= PAYLOAD_BYTES_MAX:
                raise MalformedError("a Have offers a long batch that is short")
            if not self._assembling.takes(size):
                key, teller = (stream, first), self._context.teller(source.peer)
                self.refusals.refuse(key, count, source, have.below, now)
                self.refusals.add_teller(key, count, teller, known is not None)
                continue
            awaited = self.awaited.get(stream, {}).get(first)
            if awaited is None:
                teller = self._context.teller(source.peer)
                awaited = self._await((stream, first), _Awaited(count, now, teller, size))
                if awaited is None:
                    continue  # repair asks for it, as for all that others have
            if source.peer in awaited.false:
                continue
            offerer = _Offerer(source, have.nonce, have.below, size)
            if awaited.size and source.peer == awaited.last and awaited.silent < SILENT_MAX:
                awaited.silent += 1  # the nonce that it was given was too old
                if self._begin((stream, first), awaited, offerer):
                    began = awaited.window_began
                    self._ask_pieces((stream, first), awaited, offerer, now)
                    awaited.window_began = began
                    continue
            others = [one for one in awaited.offerers if one.contact.peer != source.peer]
            awaited.offerers = [*others[: OFFERERS_MAX - 1], offerer]
            begun.append((stream, first))
        self._look(begun, now)

    def take(self, batch: Batch, source: PeerId, now: float) -> bool:
        """Take note of an answer; say whether the batch was awaited."""
        awaited = self.awaited.get(batch.stream, {}).get(batch.first)
        if awaited is None:
            return False
        neighbour = self._context.neighbour(source)
        if source in awaited.asked and not awaited.size:
            # That of one that was passed over is as good a measure.
            self._delay.observe(now - max(awaited.asked[source], neighbour.brought))
        neighbour.brought = now
        self._passed_over.pop(source, None)
        self._forget(batch.stream, batch.first)
        return awaited.offered

    def on_piece(
        self, source: Contact, piece: Piece, now: float, *, expected: bool, asked: bool
    ) -> tuple[Batch, PeerId] | None:
        """Take a piece that was asked for; return the batch and its sender if that is whole.

        The first one may be the answer to a question of repair, which `expected` the stream, and
        has `asked` this process for it: one that sends takes the place of an offerer that does not.
        """
        check_piece(piece)
        stream, first = key = StreamId(piece.stream), piece.first
        known = self._context.streams.known.get(stream)
        if self.refusals.refuses(key) or (known is not None and known.knows(first, 1)):
            return None
        awaited = self.awaited.get(stream, {}).get(first)
        is_first = (awaited is None and expected) or (
            awaited is not None
            and asked
            and source.peer not in (*awaited.asked, *awaited.false)
            and not self._assembling.is_fresh(key)
            and not self._assembling.is_distrusted(key)
        )
        if is_first:
            if not self._assembling.takes(piece.size):
                self.refusals.refuse(key, 1, source, piece.below, now)
                return None
            teller = self._context.teller(source.peer)
            if awaited is None:
                awaited = self._await(key, _Awaited(1, now, teller, piece.size, offered=False))
            if awaited is not None:
                offerer = _Offerer(source, piece.nonce, piece.below, piece.size)
                if not self._begin(key, awaited, offerer):
                    self._give_back(key, awaited)
                    return None
                awaited.asked[source.peer], awaited.sizes[source.peer] = now, piece.size
                awaited.asking = offerer
        if awaited is None or source.peer not in awaited.asked:
            if asked:  # it has kept its promise, though another is at it
                self._context.neighbour(source.peer).brought = now
            return None
        is_of_one = self._assembling.is_distrusted(key)
        if source.peer in awaited.false or (is_of_one and source.peer != awaited.last):
            return None  # of one alone, and no other interferes
        if piece.size != awaited.sizes.get(source.peer, piece.size):
            raise MalformedError("a Piece is of a batch of another size")
        if piece.size != awaited.size:
            return None  # another was asked meanwhile, that says another size
        if not self._assembling.begin(key, piece.size, awaited.teller, source.peer):
            self._give_back(key, awaited)
            return None
        was_fresh = self._assembling.is_fresh(key)
        if not self._assembling.add(piece, source.peer, now):
            return None  # whoever sends the same again brings nothing
        if not was_fresh:
            self._delay.observe(now - awaited.asked[source.peer])
        self._context.neighbour(source.peer).brought = now
        awaited.silent = 0
        awaited.asking = offerer = _Offerer(source, piece.nonce, piece.below, piece.size)
        window_is_over = self._assembling.ends_window(piece)
        try:
            whole = self._assembling.whole(key, now, from_below=bool(piece.below))
        except MalformedError:
            self._add_false(awaited, source.peer)
            raise
        if whole is not None:
            self.refusals.add_origin(whole[0], source, piece.below)
        elif not self._assembling.is_under_way(key):  # its parts do not fit together
            self._ask_anew(key, awaited, now)
        elif window_is_over:
            self._ask_pieces(key, awaited, offerer, now)
            self._look([key], now)
        return whole

    def drop(self, batch: Batch) -> None:
        """Await a batch no longer: it has come without being asked for."""
        if batch.first in self.awaited.get(batch.stream, ()):
            self._forget(batch.stream, batch.first)

    def on_refused(self, batch: Batch, source: PeerId, now: float) -> None:
        """Ask the next offerer for a batch that `source` sent and this process does not believe."""
        key = batch.stream, batch.first
        awaited = self.awaited.get(batch.stream, {}).get(batch.first)
        if awaited is None:
            return
        if source == SEVERAL:
            self._assembling.distrust(key)
            self._ask_anew(key, awaited, now)
        elif awaited.last == source:
            self._add_false(awaited, source)
            self._ask_anew(key, awaited, now)

    def on_standstill(self, seconds: float, now: float) -> None:
        """Pass nobody over for the time in which this process could read no answer."""
        for batches in self.awaited.values():
            for awaited in batches.values():
                for peer, asked_at in awaited.asked.items():
                    awaited.asked[peer] = min(now, asked_at + seconds)

    def wake(self, number: int, now: float) -> None:
        """Ask the next offerers for what is due, if this timer is the latest."""
        if number == self._timer:
            self._timer_due = inf
            self._look([(one, first) for one, of in self.awaited.items() for first in of], now)

    def look_at_abandoned(self, now: float) -> None:
        """See whether what nobody offers any longer is to be told as missed."""
        self.refusals.look_at_abandoned(lambda key: key[1] in self.awaited.get(key[0], ()), now)

    # -- inside ----------------------------------------------------------------------------

    def _look(self, keys: Sequence[tuple[StreamId, int]], now: float) -> None:
        """Ask for those of the awaited batches that are due, and set the timer for the others."""
        asked: dict[_Offerer, list[Wanted]] = {}
        late: dict[PeerId, None] = {}
        due_next = inf
        for stream, first in keys:
            awaited = self.awaited[stream][first]
            if (due := self._due(stream, first, awaited, now)) <= now:
                again = self._again(stream, first, awaited, now)
                offerer = again or self._next_offerer(awaited)
                if offerer is not None and not self._begin((stream, first), awaited, offerer):
                    awaited.offerers[:0] = [] if again else [offerer]
                    due_next = min(due_next, now + ROOM_SECONDS)
                    continue
                if again is None and awaited.last is not None:
                    late[awaited.last] = None
                if offerer is None:
                    by_publisher = awaited.teller == stream[:PEER_ID_BYTES] and awaited.size
                    if by_publisher or self._assembling.has_begun((stream, first)):
                        self.refusals.abandon((stream, first), awaited.count, now)
                    self._forget(stream, first)
                    continue
                awaited.asked.pop(offerer.contact.peer, None)
                awaited.asked[offerer.contact.peer] = now
                if awaited.size:
                    self._ask_pieces((stream, first), awaited, offerer, now)
                else:
                    asked.setdefault(offerer, []).append((stream, (first, first + awaited.count)))
                due = now + self._delay.timeout
            due_next = min(due_next, due)
        for peer in late:
            self._delay.back_off()
            self._pass_over(peer)
        for offerer, wanted in asked.items():
            contact, nonce, below, _ = offerer
            self._context.send_want(contact, nonce, below, wanted, self._context.retention)
        if due_next < self._timer_due:
            self._timer, self._timer_due = self._timer + 1, due_next
            self._context.outlet.wake(due_next - now, "fetch", self._timer)

    def _due(self, stream: StreamId, first: int, awaited: _Awaited, now: float) -> float:
        """Return when an offerer is to be asked, or the next one if one was asked."""
        if (last := awaited.last) is not None:
            brought = self._context.neighbour(last).brought
            due_at = max(awaited.asked[last], brought) + self._delay.timeout
            in_time = awaited.window_began + WINDOW_SECONDS
            return min(due_at, in_time) if self._is_slow(awaited, inf) else due_at
        due, known = now, self._context.streams.known.get(stream)
        # Else it comes no more by itself, as a long one never does.
        if (known is None or first >= known.stop) and not awaited.size:
            due += max(0.0, self.watcher.patience(stream, awaited.since, now))
        if all(one.contact.peer in self._passed_over for one in awaited.offerers):
            due = max(due, awaited.since + DISTRUST_SECONDS)
        return due

    def _again(
        self, stream: StreamId, first: int, awaited: _Awaited, now: float
    ) -> _Offerer | None:
        """Return the offerer that was asked last if it has sent pieces, and may send more."""
        if awaited.asking is None or not self._assembling.has_begun((stream, first)):
            return None
        if self._is_slow(awaited, now):
            return None
        if not self._assembling.is_fresh((stream, first)):
            if awaited.offerers or awaited.silent >= SILENT_MAX:
                return None
            awaited.silent += 1
        return awaited.asking

    def _is_slow(self, awaited: _Awaited, now: float) -> bool:
        """Say whether others are to be asked for a long batch that comes slowly by then."""
        others = awaited.size and awaited.offerers
        return bool(others) and now - awaited.window_began >= WINDOW_SECONDS

    def _ask_pieces(self, key: Key, awaited: _Awaited, offerer: _Offerer, now: float) -> None:
        """Ask for the next pieces of a batch."""
        peer = offerer.contact.peer
        awaited.tried[peer], awaited.window_began = offerer, now
        awaited.asking = offerer
        awaited.asked.pop(peer, None)
        awaited.asked[peer], awaited.sizes[peer] = now, offerer.size
        contact, nonce, below, _ = offerer
        numbers = self._assembling.next_window(key)
        self._context.send_pieces_wanted(contact, nonce, below, key, numbers)

    def _add_false(self, awaited: _Awaited, source: PeerId) -> None:
        """Take nothing more of a batch from a process that has sent a false copy."""
        self._pass_over(source)
        awaited.false[source] = None
        awaited.offerers = [one for one in awaited.offerers if one.contact.peer != source]

    def _ask_anew(self, key: Key, awaited: _Awaited, now: float) -> None:
        """Ask offerers for a batch as if nobody had been asked before."""
        names = [*awaited.false, *(one.contact.peer for one in awaited.offerers)]
        awaited.offerers += [one for peer, one in awaited.tried.items() if peer not in names]
        awaited.tried.clear()
        awaited.asked.clear()
        awaited.sizes.clear()
        awaited.asking = None
        self._look([key], now)

    def _begin(self, key: Key, awaited: _Awaited, offerer: _Offerer) -> bool:
        """Make room for what an offerer is to send; False if there is none now."""
        awaited.size = offerer.size
        peer = offerer.contact.peer
        return not offerer.size or self._assembling.begin(key, offerer.size, awaited.teller, peer)

    def _give_back(self, key: Key, awaited: _Awaited) -> None:
        """Leave a batch without room to repair, which asks again, unless it was offered."""
        if not awaited.offered:
            self._forget(*key)

    def _await(self, key: Key, awaited: _Awaited) -> _Awaited | None:
        """Await a batch; None if there is no room for it."""
        lost = self._places.take(awaited.teller, key)
        if lost == key:
            return None
        if lost is not None:
            self._forget(*lost)
        self.awaited.setdefault(key[0], {})[key[1]] = awaited
        return awaited

    def _next_offerer(self, awaited: _Awaited) -> _Offerer | None:
        """Take the offerer that is to be asked: one that was not passed over, if there is one."""
        offerers = awaited.offerers
        if not offerers:
            return None
        trusted = (one for one in offerers if one.contact.peer not in self._passed_over)
        chosen = next(trusted, offerers[0])
        offerers.remove(chosen)
        return chosen

    def _pass_over(self, peer: PeerId) -> None:
        self._passed_over.pop(peer, None)
        self._passed_over[peer] = None
        if len(self._passed_over) > PASSED_OVER_MAX:
            del self._passed_over[next(iter(self._passed_over))]

    def _forget(self, stream: StreamId, first: int) -> None:
        """Await a batch no longer."""
        self._places.leave((stream, first))
        self._assembling.drop((stream, first))
        del self.awaited[stream][first]
        if not self.awaited[stream]:
            del self.awaited[stream]
