"""The intake: records in, new events out; the hot loop of a node.

An event record carries a batch, and is checked in this order (docs/security.md): length, fixed
head, known group, what is known of its stream, then the rest. Only a batch with an event that is
new to its group is decoded, checked as a whole, and verified where events are signed, before any of
its events counts as known. *To accept* a batch in a group means: its events count as known there,
the group's dissemination spreads it, and the subscribers of the group get the events if these
interest them.

In a *batched* group, the new batches that follow each other in one frame are spread together,
whoever sent them: they share one draw of peers, and leave as one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, cast

from camcast.doors.dissemination import Sent
from camcast.doors.membership import Membership
from camcast.engine.guard.held_batches import HeldBatch
from camcast.engine.guard.signing import Signing
from camcast.engine.known_streams import KnownRanges
from camcast.engine.liveness import Entry
from camcast.engine.local_group import LocalGroup
from camcast.engine.own_events import OwnEvents, Verdict
from camcast.engine.process_context import ProcessContext
from camcast.engine.remote_queries import RemoteQueries
from camcast.engine.repair.retained import (
    AGE_ABOVE_SIGNED_SECONDS,
    aged,
    not_older_than_signed,
)
from camcast.vocabulary import wire
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.batches import TREE, Batch, decode_body
from camcast.vocabulary.events import EventId, StreamId
from camcast.vocabulary.happenings import BatchKind
from camcast.vocabulary.identity import PEER_ID_BYTES, PeerId, known_contact
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import Arrival
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.penalties import MALFORMED
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import (
    AGE_SECONDS_MAX,
    FRAME_HEADER,
    REPAIRED,
    MalformedError,
    OtherGrammarError,
    UnknownRecordError,
    WrongLengthError,
)

_log = Logger(__name__)

OnControl = Callable[[Arrival, bytes], None]
"""Takes a control record and its body."""

_FIRST_RECORD: Final = len(FRAME_HEADER)
_EVENT_BYTES_MIN: Final = wire.EVENT_HEAD_BYTES + wire.BODY_FIXED_BYTES
_EVENT_LENGTH_MIN: Final = _EVENT_BYTES_MIN - 4  # as a record's length counts
_event_start: Final = wire.EVENT_START.unpack_from
_stream_start: Final = wire.STREAM_START.unpack_from


class Intake:
    """Takes frames apart and accepts new events; is the `OwnGroups` of every dissemination."""

    def __init__(
        self,
        process: ProcessContext,
        queries: RemoteQueries,
        on_control: OnControl,
        signing: Signing | None = None,
    ) -> None:
        self._me = process.me.peer
        self._outbox = process.outbox
        self._groups = groups = process.groups
        self._recorder = process.recorder
        self._counters = process.recorder.counters
        self._queries = queries
        self._on_control = on_control
        self._liveness = liveness = process.liveness
        self._signing = signing
        self._guard = process.guard
        self._admits = process.guard.admits
        self._own_events = OwnEvents()
        self.on_own_name: Callable[[Batch, float], None] = lambda _batch, _now: None
        """Takes a batch in this process's name that it has not published; see `Publisher`."""
        self._hierarchy = process.hierarchy
        self._clock = process.clock
        self._current = groups.current  # saves a step in each frame
        # Plain bytes as keys: a `PeerId` would cost a call in each frame, for the type alone.
        self._watched = cast("Mapping[bytes, Entry]", liveness.entries)
        self._together: list[Batch] = []
        """New batches of the frame that are to be spread together."""
        self._sources: list[PeerId] = []
        """The sender of each of these: there are several, where senders share an event loop."""
        self._together_in: LocalGroup | None = None
        self._log = MinuteLog()

    def receive(self, frame: bytes, now: float, link: PeerId | None = None) -> None:
        """Take the records of a frame; of those that are malformed or unknown the others arrive.

        With a `link`, only events of the process at its other end count.
        """
        if not frame.startswith(FRAME_HEADER):
            self._refuse_frame(frame, link, now)
            return
        start = _FIRST_RECORD
        while start:
            start = self._receive_from(frame, start, now, link)

    def _receive_from(self, frame: bytes, start: int, now: float, link: PeerId | None) -> int:
        """Take records until one is dropped, and return where to go on; 0 if none is.

        The hot loop: most copies of events are duplicates.
        """
        groups, watched, size = self._current, self._watched, len(frame)
        last = size - _EVENT_BYTES_MIN  # where an event may begin at most
        heard = b""  # the sender of the event before: mostly of this one as well
        here = b""  # the group of the record before: mostly of this one as well
        local_group: LocalGroup | None = None
        known_streams: dict[bytes, KnownRanges] = {}
        reports = False
        duplicates = 0
        try:
            while start < size:
                if start > last or frame[start + 4]:  # Kind.EVENT is 0
                    end = wire.record_end(frame, start)
                    if self._together_in is not None:
                        self._spread_together(now)
                    here = b""  # the record may make this process leave groups
                    self._on_control(*_read_control(frame, start, end, link, now))
                    start = end
                    continue
                length, address_bytes, group, sender, stream, first, count = _event_start(
                    frame, start
                )
                end = start + 4 + length
                if address_bytes or end > size or length < _EVENT_LENGTH_MIN:
                    if end > size or length < _EVENT_LENGTH_MIN + address_bytes:
                        wire.record_end(frame, start)
                        raise MalformedError("an event record is shorter than its fixed part")
                    stream, first, count = _stream_start(
                        frame, start + wire.EVENT_HEAD_BYTES + address_bytes
                    )
                if sender != heard:
                    if not heard:  # the first event
                        if self._admits is not None and not self._admits(link, now):
                            self._guard.refuse("from_a_stranger", now, link)
                            return 0
                        if link is not None and sender != link:
                            self._guard.refuse("in_anothers_name", now, link)
                            return 0
                    heard = sender
                    peer = watched.get(sender) if link is None or link == sender else None
                    if peer is not None:
                        peer.heard = peer.event_heard = now
                        if peer.silent:
                            self._liveness.heard(peer.contact.peer, now)
                if group != here:
                    here, local_group = group, groups.get(group)
                    known_streams = {} if local_group is None else local_group.streams.known
                    reports = local_group is not None and local_group.reports_duplicates
                known = known_streams.get(stream)
                if known is not None and (
                    first + count <= known.low
                    # Without bounds the stream came in order so far: spares a call.
                    or (known.bounds and known.knows(first, count))
                ):
                    duplicates += count
                    if reports and local_group is not None:
                        if link is not None and sender != link:
                            self._guard.refuse("in_anothers_name", now, link)
                        else:
                            self._report_duplicate(local_group, frame, start, end, sender, now)
                elif local_group is None:
                    self._refuse(frame, start, end, group, now)
                elif link is not None and sender != link:
                    self._guard.refuse("in_anothers_name", now, link)
                else:
                    batch = _decode(frame, start, end, now)
                    address = wire.event_address(frame, start) if address_bytes else ""
                    self._take_new(local_group, known, batch, sender, address, now)
                start = end
            return 0
        except WrongLengthError:
            self._count_malformed(link, now)
            return 0
        except UnknownRecordError:
            self._counters.records_unknown += 1
        except OtherGrammarError:
            self._counters.malformed += 1
        except MalformedError:
            self._count_malformed(link, now)
        finally:
            self._counters.duplicates += duplicates
            if self._together_in is not None:
                self._spread_together(now)
        return wire.record_end(frame, start)

    def publish(self, local_group: LocalGroup, batch: Batch, now: float) -> Sent:
        """Accept a batch that this process publishes; return to how many processes it went."""
        self._own_events.add(batch, local_group.context.parameters.retention_seconds)
        return self._accept_here(local_group, batch, now)

    def _accept_here(self, local_group: LocalGroup, batch: Batch, now: float) -> Sent:
        """Accept a batch that did not arrive in a message; return to how many processes it went.

        This process publishes the batch, or another of its groups has received it.
        """
        known = local_group.streams.known.get(batch.stream)
        if known is None:
            known = self._introduce(local_group, batch, PeerId(b""), now)
            if known is None:
                return Sent()
        new = self._mark(known, batch, now)
        if not new:
            return Sent()
        if local_group.repair is not None:
            local_group.repair.add_batch(batch, known, PeerId(b""), now)
        receivers = _receivers_of(local_group, batch)
        sent = local_group.dissemination.disseminate(batch, now)
        self._deliver_in_order(local_group, new, known, receivers, now)
        return sent

    def take_held(self, held: Iterable[HeldBatch], now: float) -> None:
        """Take batches whose certificate has come; other copies may have come in the meantime."""
        for local_group, batch, source, _ in held:
            known = local_group.streams.known.get(batch.stream)
            if local_group.leaving:
                self._counters.late += batch.count
            elif known is not None and known.knows(batch.first, batch.count):
                self._counters.duplicates += batch.count
            else:
                self._take_new(local_group, known, batch, source, "", now)

    def deliver_held(self, local_group: LocalGroup, now: float) -> None:
        """Deliver what was held back in a group and need not wait any longer."""
        assert local_group.hold_back is not None, "it has set the timer"
        for batch in local_group.hold_back.look(now):
            self._deliver(local_group, (batch,), _receivers_of(local_group, batch), now)

    # -- what disseminations ask of this process's other groups: `OwnGroups` ---------------

    @property
    def alone(self) -> bool:
        """Whether the process is in no other group."""
        return len(self._groups.current) == 1

    def membership(self, group: Topic) -> Membership | None:
        """Return this process's membership of a group; None if it has not joined it."""
        local_group = self._groups.joined(group.group)
        return None if local_group is None else local_group.membership

    def joined_above(self, group: Topic) -> list[Topic]:
        """Return the nearest communities above a group that the process is in, on every way up."""
        joined: list[Topic] = []
        queue = list(self._groups.current[group.group].ways_up.super_topics)
        for topic in queue:  # which grows
            if self._groups.joined(topic.group) is not None:
                joined.append(topic)
            else:
                above = self._hierarchy.super_topics(topic)
                queue += [one for one in above if one not in queue]
        return joined

    def accept(self, batch: Batch, group: Topic, now: float) -> bool:
        """Spread and deliver a batch in another group of this process."""
        local_group = self._groups.joined(group.group)
        if local_group is None:
            return False
        self._accept_here(local_group, batch, now)
        return True

    # -- inside ----------------------------------------------------------------------------

    def _take_new(
        self,
        local_group: LocalGroup,
        known: KnownRanges | None,
        batch: Batch,
        source: PeerId,
        address: str,
        now: float,
    ) -> None:
        """Accept a batch that came from `source`, and has events that are not known.

        `address` is the sender's, empty if the record did not name it.
        """
        counters = self._counters
        if batch.age >= AGE_SECONDS_MAX:
            batch = aged(batch, self._clock, now)
        if batch.count > 1 and not local_group.batched:
            raise MalformedError("several events in a batch of a group where each is by itself")
        own_name = batch.stream[:PEER_ID_BYTES] == self._me
        repair = local_group.repair
        if own_name and self._is_false(batch, now):
            if repair is not None:
                repair.add_refused(batch, source, now)
            return
        answered = repair if batch.head_flags & REPAIRED else None
        is_answer = answered is not None and answered.expects(batch.stream)
        if self._signing is not None and not self._signing.believes(
            local_group, batch, source, address, now, asked_for=is_answer
        ):
            return
        if self._signing is not None and batch.age > AGE_ABOVE_SIGNED_SECONDS:
            batch = not_older_than_signed(batch, self._clock, now)
        if own_name and self._own_events.judge(batch) is Verdict.FORGED:
            self.on_own_name(batch, now)
        offered = answered is not None and answered.take_offered(batch, source, now)
        asked_for = (
            is_answer
            and not offered
            and answered is not None
            # A batch from a community below is as fresh as if it had climbed.
            and (batch.head_flags == REPAIRED or answered.is_history(batch))
        )
        if known is None:
            known = self._introduce(local_group, batch, source, now)
            if known is None:
                return
        new = self._mark(known, batch, now)
        if not new:
            return
        if repair is not None:
            repair.add_batch(batch, known, source, now)
            if asked_for:
                repair.add_repaired(batch, source, now)
                counters.repaired += batch.count
                if repair.is_history(batch):
                    if local_group.archive is not None:
                        local_group.archive(batch)
                    if repair.wants_history(batch, now):
                        if (hold_back := local_group.hold_back) is not None:
                            new = [hold_back.flagged(part, known) for part in new]
                        receivers = _receivers_of(local_group, batch)
                        self._deliver(local_group, new, receivers, now, history=True)
                    return
        receivers = _receivers_of(local_group, batch)
        for part in new:
            if local_group.relayed:
                counters.relayed += part.count
            elif receivers:
                counters.events += part.count
            else:
                counters.parasites += part.count
            if self._recorder.on_batch is not None:
                kind: BatchKind = "receive" if receivers else "parasite"
                self._recorder.on_batch(now, kind, part, local_group.subscribed.name, (source,))
        if asked_for:
            local_group.dissemination.repaired(batch, now, source)
        elif local_group.batch_events_max > 1 and not offered:
            if self._together_in is not local_group:
                if self._together_in is not None:
                    self._spread_together(now)
                self._together_in = local_group
            self._together.append(batch)
            self._sources.append(source)
        else:
            local_group.dissemination.disseminate(batch, now, source)
        self._deliver_in_order(local_group, new, known, receivers, now)

    def _is_false(self, batch: Batch, now: float) -> bool:
        """Count a batch in this process's name that it has not published; say whether it is one.

        Where events are signed, an earlier run of this process may have published what this one has
        not, and its signature decides.
        """
        match self._own_events.judge(batch):
            case Verdict.GENUINE:
                return False
            case Verdict.FORGED if self._signing is None:
                self._counters.forged += batch.count
                self.on_own_name(batch, now)
                return True
            case Verdict.FORGOTTEN if self._signing is None:
                self._counters.late += batch.count
                return True
        return False

    def _spread_together(self, now: float) -> None:
        assert self._together_in is not None
        local_group, self._together_in = self._together_in, None
        batches, self._together = self._together, []
        sources, self._sources = self._sources, []
        local_group.dissemination.disseminate_together(batches, now, sources)

    def _introduce(
        self, local_group: LocalGroup, batch: Batch, source: PeerId, now: float
    ) -> KnownRanges | None:
        """Begin to keep what is known of a stream; without room, count the batch, return None."""
        if self._signing is not None and source:
            source = PeerId(batch.stream[:PEER_ID_BYTES])  # whoever passes its streams on
        known = local_group.streams.introduce(batch.stream, source, now)
        if known is None:
            self._counters.unplaced += batch.count
        return known

    def _mark(self, known: KnownRanges, batch: Batch, now: float) -> Sequence[Batch]:
        """Mark the batch's events as known, and return the new ones, as batches."""
        first, count = batch.first, batch.count
        if first == known.low and not known.bounds:  # in order: spares the calls below
            known.low += count
            known.heard = now
            return (batch,)
        if count > 1:
            missing = known.missing(first, count)
        else:  # without parts
            missing = [] if known.knows(first, 1) else [(first, first + 1)]
        if not missing:
            return ()
        given_up = known.add(first, count)
        if given_up is None:
            self._counters.unplaced += count
            return ()
        self._counters.given_up += given_up
        known.heard = now
        if missing == [(first, first + count)]:
            return (batch,)
        new = [batch.part(start, stop) for start, stop in missing]
        self._counters.duplicates += count - sum(part.count for part in new)
        return new

    def _deliver_in_order(
        self,
        local_group: LocalGroup,
        new: Sequence[Batch],
        known: KnownRanges,
        receivers: Sequence[Topic],
        now: float,
    ) -> None:
        """Deliver new parts of a batch, or hold them back; with them what waited for them alone."""
        hold_back = local_group.hold_back
        if hold_back is not None and receivers:
            new = hold_back.in_order(new, known, now)
            if local_group.parasitic:  # what was held back may have other receivers
                for batch in new:
                    self._deliver(local_group, (batch,), _receivers_of(local_group, batch), now)
                return
        self._deliver(local_group, new, receivers, now)

    def _deliver(
        self,
        local_group: LocalGroup,
        new: Sequence[Batch],
        receivers: Sequence[Topic],
        now: float,
        *,
        history: bool = False,
    ) -> None:
        """Hand new events to the subscribers of these topics."""
        if local_group.transit:
            return
        if local_group.archive is not None and receivers and not history:
            for part in new:
                local_group.archive(part)
        for topic in receivers:
            for part in new:
                self._outbox.deliveries.append(Deliver(topic.group, part, history))
                if self._recorder.on_batch is not None:
                    self._recorder.on_batch(now, "deliver", part, topic.name, ())

    def _count_malformed(self, link: PeerId | None, now: float) -> None:
        self._counters.malformed += 1
        self._guard.audit("refused", "malformed", now, link)
        self._guard.penalise(link, MALFORMED, now)

    def _refuse_frame(self, frame: bytes, link: PeerId | None, now: float) -> None:
        """Count a frame of another version of the wire format, and log the peer that sent it."""
        version = wire.version_of(frame)
        if version is None:
            self._count_malformed(link, now)
            return
        self._counters.other_versions += 1
        sender = wire.version_1_sender(frame) if version == 1 else None
        peer = "a peer" if sender is None else f"the peer {sender.hex()[:8]}"
        if self._log.due(peer, now):
            _log.warning(
                "%s speaks version %d of the wire format and this process %d: its frames are"
                " dropped (%d of all such peers so far; logged once a minute); let all of a"
                " community run the same release of camcast",
                peer,
                version,
                wire.VERSION,
                self._counters.other_versions,
            )

    def _refuse(self, frame: bytes, start: int, end: int, group: GroupId, now: float) -> None:
        """Count events of a group that this process is not in, and tell the sender so."""
        batch, sender = _decode(frame, start, end, now), wire.event_sender(frame, start)
        left = self._groups.left.get(group)
        if left is None:
            self._counters.parasites += batch.count
            if self._recorder.on_batch is not None:
                self._recorder.on_batch(now, "parasite", batch, group.hex(), (sender,))
        else:
            self._counters.late += batch.count
            if self._recorder.on_batch is not None:
                self._recorder.on_batch(now, "drop", batch, left.topic.name, (sender,))
        address = wire.event_address(frame, start)
        self._queries.say_gone(sender, address, batch.topic, group, now)

    def _report_duplicate(
        self,
        local_group: LocalGroup,
        frame: bytes,
        start: int,
        end: int,
        source: PeerId,
        now: float,
    ) -> None:
        body_start = start + wire.EVENT_HEAD_BYTES + frame[start + wire.ADDRESS_LENGTH]
        if (trace := self._recorder.trace) is not None:
            # Without a trace a duplicate is not decoded, so a malformed one must not matter here.
            try:  # `suppress` takes as long as a fifth of all this
                _, hops, _ = wire.read_event_head(frame, start)
                community = local_group.subscribed.name
                trace.record_duplicate(now, frame[body_start:end], hops, community, source)
            except MalformedError:
                pass
        asked_for = frame[start + wire.FLAGS] & REPAIRED
        dissemination = local_group.dissemination
        lone = dissemination.flags_busy and not frame[body_start + wire.BODY_FLAGS] & TREE
        if dissemination.hears_duplicates and not asked_for and not lone:
            stream, first, _ = _stream_start(frame, body_start)
            dissemination.duplicate(EventId(StreamId(stream), first), source, now)


def _decode(frame: bytes, start: int, end: int, now: float) -> Batch:
    """Decode the batch of the event record between `start` and `end`."""
    flags, hops, age = wire.read_event_head(frame, start)
    body_start = start + wire.EVENT_HEAD_BYTES + frame[start + wire.ADDRESS_LENGTH]
    return decode_body(frame, body_start, end, hops, age, now, flags, wire.PAYLOAD_BYTES_MAX)


def _read_control(
    frame: bytes, start: int, end: int, link: PeerId | None, now: float
) -> tuple[Arrival, bytes]:
    """Decode the control record between `start` and `end`."""
    kind, group, sender, address, mandate, body = wire.decode_control(frame, start, end)
    try:
        source = known_contact(sender, address)
    except AddressError as error:
        raise OtherGrammarError(str(error)) from error
    return Arrival(link, source, kind, group, mandate, now, frame[start + wire.CHOICE]), body


def _receivers_of(local_group: LocalGroup, batch: Batch) -> Sequence[Topic]:
    """Return the topics whose subscribers get the events; none if they are parasites.

    A subscription's own filter decides afterwards, on the value that the subscriber gets.
    """
    context = local_group.context
    topics = context.interest.topics
    if not local_group.parasitic:
        return topics
    if local_group.selective:  # whose groups have batches of one
        (event,) = batch.events()
        if not context.attributes.match(context.interest.whole, event):
            return ()
    return [topic for topic in topics if topic.includes(batch.topic)]
