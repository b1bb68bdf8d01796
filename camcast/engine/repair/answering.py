"""Answering: the batches that another process has asked for are sent again, as they were published.

A `Want` is answered with batches only if it has a nonce that was sent to the same contact recently,
and else with the `Have` that brings one, which tells of no more streams and ranges than were asked
for: it may go to somebody else, in whose name they were asked for. Bytes a peer and second are
bounded, beyond what the peer was offered (`camcast.engine.repair.offers`).

A `Want` says how far back it asks, in seconds before it was sent. A question that was delayed asks
for less. One that seems younger than a neighbour's membership asks for all of that.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from camcast.doors.repair import RepairWatcher
from camcast.engine.repair.messages import Held, Nonces, Piece, PiecesWanted, Want
from camcast.engine.repair.offers import Offering
from camcast.engine.repair.pieces import PIECE_BYTES, WINDOW, part_of_body, pieces_of
from camcast.engine.repair.told import FULL_SECONDS, HELD_BYTES, Haves, RepairContext
from camcast.engine.store import published_at
from camcast.vocabulary.batches import NOT_UPWARD, Batch
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import MalformedError

STREAMS_A_MESSAGE_MAX: Final = 4096  # chosen: more than a page holds
# chosen: a twelfth of a line of 100 Mbit/s for all who ask, beside which live events go on; a day
# of 100 events/s of 256 bytes takes 40 minutes
OLD_BYTES_A_SECOND: Final = 1 << 20
GRANTED_MAX: Final = 256  # chosen: long batches times those that fetch them; half a MB of numbers
ANSWER_BYTES: Final = 1 << 22  # chosen: 4 MiB a peer and second: a minute of 60 kB/s, at once

SendAgain = Callable[[Batch, Contact, float, Topic | None, bool], None]
"""Sends a batch to a process that asked for it, in its own super-community if that is given. The
last argument says whether the batch was offered, and so is no repair."""


class Answering:
    """Answers the `Want`s of others."""

    def __init__(
        self,
        context: RepairContext,
        haves: Haves,
        nonces: Nonces,
        send_again: SendAgain,
        offering: Offering,
    ) -> None:
        self.watcher: RepairWatcher = RepairWatcher()
        """The group's dissemination, once there is one."""
        self._context = context
        self._offering = offering
        self._haves = haves
        self._nonces = nonces
        self._send_again = send_again
        self._granted: dict[tuple[StreamId, int, PeerId], dict[int, None]] = {}
        """The pieces that processes were offered and have not had."""
        self._old_second = -inf  # when the second began in which `_old_bytes` left
        self._old_bytes: dict[PeerId, int] = {}
        """By asker, or for all strangers (`RepairContext.teller`)."""
        self._old_askers = 1  # how many there were in the second before

    def on_want(self, source: Contact, want: Want, now: float) -> None:
        """Send what is asked for, or what is known of it."""
        if not want.seconds >= 0:
            raise MalformedError("a Want asks for a negative time")
        above = self._topic_above(want.into) if want.into else None
        if want.into and above is None:
            return  # events go to no community that this one is not linked to
        wanted = want.streams[:STREAMS_A_MESSAGE_MAX]
        after = now - want.seconds
        if above is None:
            neighbour = self._context.neighbour(source.peer)
            if after <= neighbour.heard:  # else it is a member again
                after = min(after, neighbour.member_since)
        if self._nonces.check(want.nonce, source, now):
            unanswered = [
                StreamId(stream)
                for stream, bounds in wanted
                if not self._answer(source, StreamId(stream), bounds, after, above, now)
            ]
            held = self._haves.held(unanswered, after, now, upward=above is not None)
        else:
            asked = {StreamId(stream): bounds for stream, bounds in wanted}
            known = self._haves.held(asked, after, now, upward=above is not None)
            held = (_as_far_as(asked[StreamId(one[0])], one) for one in known)
        self._haves.send(source, held, now, after=after, above=above)

    def _answer(
        self,
        contact: Contact,
        stream: StreamId,
        bounds: Sequence[int],
        after: float,
        above: Topic | None,
        now: float,
    ) -> bool:
        """Send the batches that are asked for, as many as the peer may have in a second."""
        context = self._context
        known = context.known(stream)
        if known is None:
            return True  # and there is nothing to tell of it, either
        neighbour = self._context.neighbour(contact.peer)
        if now - neighbour.second >= 1.0:
            neighbour.second, neighbour.answered = now, 0
        answered = False
        sent = 0
        for start, stop in zip(bounds[::2], bounds[1::2], strict=False):
            start = max(start, sent)
            batches = (
                context.retained.batches(stream, start, stop, after, now)
                if above is None
                else context.store.batches(stream, start, stop, after)
            )
            for batch in batches:
                if not known.knows(batch.first, batch.count):
                    continue
                if above is not None and batch.flags & NOT_UPWARD:
                    continue
                answered = True
                offered = self._offering.take(batch, contact.peer)
                if batch.is_long:  # this draws questions for the others
                    self._grant(batch, contact.peer, offered=offered)
                    self._send_pieces(batch, contact, (0,), above, now)
                    sent = batch.first + batch.count
                    continue
                if not offered:
                    if neighbour.answered >= ANSWER_BYTES:
                        return True  # it asks again for what it does not get
                    size, is_old = len(batch.body), now - published_at(batch) > context.retention
                    # Whoever asks gets something each second, or would take this one for a liar.
                    if (
                        is_old
                        and not self._may_send_old(contact.peer, size, now)
                        and neighbour.answered
                    ):
                        return True
                    neighbour.answered += size
                    neighbour.agreement.pause = FULL_SECONDS  # it had something to hear
                self._send_again(batch, contact, now, above, offered)
                sent = batch.first + batch.count
        if sent and above is not None:
            self.watcher.answered(stream, contact, above)
        return answered

    def on_pieces_wanted(self, source: Contact, wanted: PiecesWanted, now: float) -> None:
        """Send pieces of a long batch, as many as the peer may have."""
        context, stream = self._context, StreamId(wanted.stream)
        above = self._topic_above(wanted.into) if wanted.into else None
        known = context.known(stream)
        if known is None or (wanted.into and above is None):
            return
        first, is_good = wanted.first, self._nonces.check(wanted.nonce, source, now)
        batches = (
            context.retained.batches(stream, first, first + 1, -inf, now)
            if above is None
            else context.store.batches(stream, first, first + 1)
        )
        for batch in batches:
            if not (batch.is_long and batch.first == first and known.knows(first, 1)):
                continue
            if not is_good:
                self._offer_again(batch, source, above, now)
            elif above is None or not batch.flags & NOT_UPWARD:
                offered = self._offering.take(batch, source.peer)
                self._grant(batch, source.peer, offered=offered)
                self._send_pieces(batch, source, wanted.numbers[:WINDOW], above, now)
                if above is not None:
                    self.watcher.answered(stream, source, above)

    def _offer_again(self, batch: Batch, source: Contact, above: Topic | None, now: float) -> None:
        """Tell a process that asks with a nonce which is too old of the batch, with another."""
        if self._haves.room(now) > 0:
            self._haves.count_bytes(HELD_BYTES)
            held = self._haves.held([batch.stream], -inf, now, upward=above is not None)
            offers = ((batch.stream, batch.first, batch.count),)
            sizes = (len(batch.body),)
            self._haves.send(source, held, now, above=above, offers=offers, sizes=sizes)

    def _grant(self, batch: Batch, peer: PeerId, *, offered: bool) -> None:
        """Let a process have each piece of a batch that it was offered once beyond the budget."""
        if offered:
            numbers = dict.fromkeys(range(pieces_of(len(batch.body))))
            self._granted[batch.stream, batch.first, peer] = numbers
            if len(self._granted) > GRANTED_MAX:
                del self._granted[next(iter(self._granted))]

    def _send_pieces(
        self,
        batch: Batch,
        contact: Contact,
        numbers: Sequence[int],
        above: Topic | None,
        now: float,
    ) -> None:
        """Send pieces of a batch, as far as they were offered, or there is room in this second."""
        context, neighbour = self._context, self._context.neighbour(contact.peer)
        if now - neighbour.second >= 1.0:
            neighbour.second, neighbour.answered = now, 0
        granted = self._granted.get((batch.stream, batch.first, contact.peer), {})
        is_old = now - published_at(batch) > context.retention
        below = "" if above is None else context.community.group.name
        group = None if above is None else above.group
        nonce, size = self._nonces.issue(contact, now), len(batch.body)
        age = max(0.0, now - published_at(batch))
        for number in numbers:
            if not 0 <= number < pieces_of(size):
                raise MalformedError("a PiecesWanted asks for pieces that cannot be")
            offered = granted.pop(number, True) is None
            if not offered:
                if neighbour.answered >= ANSWER_BYTES:
                    return
                if (
                    is_old
                    and not self._may_send_old(contact.peer, PIECE_BYTES, now)
                    and neighbour.answered
                ):
                    return
                neighbour.answered += PIECE_BYTES
                neighbour.agreement.pause = FULL_SECONDS
            if number == 0:
                self._send_again(batch, contact, now, above, offered)
            if offered and not granted:  # it is away, and others may offer it
                self._offering.unsent.pop((batch.stream, batch.first), None)
            part = part_of_body(batch.body, number)
            copy = nonce, below, batch.stream, batch.first, size
            piece = Piece(*copy, number, batch.hops + 1, age, part)
            context.outlet.send([contact], piece, group=group)

    def _may_send_old(self, peer: PeerId, size: int, now: float) -> bool:
        """Count the bytes of an old batch; False if who asks for it has had enough in this second.

        All who ask have equal parts, or one that always asks would leave others nothing.
        """
        if now - self._old_second >= 1.0:
            self._old_second, self._old_askers = now, max(1, len(self._old_bytes))
            self._old_bytes = {}
        peer, sent = self._context.teller(peer), self._old_bytes
        before = sent.setdefault(peer, 0)
        part = OLD_BYTES_A_SECOND // max(self._old_askers, len(sent))
        if before >= part or sum(sent.values()) >= OLD_BYTES_A_SECOND:
            return False
        sent[peer] = before + size
        return True

    def _topic_above(self, name: str) -> Topic | None:
        """Return the super-topic of this name that the community is linked to, or None."""
        for table in self._context.community.super_tables:
            for topic in table.topics:
                if topic.name == name:
                    return topic
        return None


def _as_far_as(asked: Sequence[int], held: Held) -> Held:
    """Return what is held with a single range, the lowest, in each that is asked for."""
    stream, offered, begun, (low, *bounds) = held
    told: dict[int, int] = {}
    for start, stop in zip(asked[::2], asked[1::2], strict=False):
        place = bisect_right(bounds, start) // 2 * 2  # of the range that holds `start`, or the next
        if place < len(bounds) and bounds[place] < stop:
            told[bounds[place]] = bounds[place + 1]
    return (
        stream,
        offered,
        begun,
        (low, *(number for one in sorted(told.items()) for number in one)),
    )
