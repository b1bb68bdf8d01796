"""The intake: records in, new events out; the hot loop of a node.

An event record is looked at in this order (TRUST, check order): length, fixed header, known
group, seen, then the rest. Only an event that is new to its group is decoded. *To accept* an
event in a group means: it counts as seen there, the group's dissemination spreads it, and the
subscribers of the group get it if it interests them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, cast

from camcast.doors.dissemination import Sent
from camcast.doors.membership import Membership
from camcast.engine.groups import Groups
from camcast.engine.liveness import Entry, LivenessService
from camcast.engine.participation import Participation
from camcast.engine.recorder import Recorder
from camcast.engine.strangers import Strangers
from camcast.vocabulary import wire
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver, Outbox
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind, MalformedError

TakeControl = Callable[[Kind, GroupId, PeerId, str, bytes, float], None]
"""Takes a control record: kind, group, sender, the sender's address, body, now."""

_FIRST_RECORD: Final = len(FRAME_HEADER)
# Not by `wire.sender`, whose call costs as much as a look into the table.
_SENDER_START: Final = wire.SENDER.start
_SENDER_STOP: Final = wire.SENDER.stop
_event_head: Final = wire.EVENT_HEAD.unpack_from


class Intake:
    """Takes frames apart and accepts new events; is the `OwnGroups` of every dissemination."""

    def __init__(
        self,
        outbox: Outbox,
        groups: Groups,
        recorder: Recorder,
        strangers: Strangers,
        take_control: TakeControl,
        liveness: LivenessService,
    ) -> None:
        self._outbox = outbox
        self._groups = groups
        self._recorder = recorder
        self._counters = recorder.counters
        self._strangers = strangers
        self._take_control = take_control
        self._liveness = liveness
        self._current = groups.current  # a step less each frame
        # By plain bytes: to make a `PeerId` of them is a call each frame, for the type alone.
        self._watched = cast("Mapping[bytes, Entry]", liveness.entries)

    def receive(self, frame: bytes, now: float) -> None:
        """Take the records of a frame. The hot loop: most copies of events are duplicates."""
        groups, counters, watched = self._current, self._counters, self._watched
        sender_heard = False  # of the first event alone: the rest mostly have the same sender
        try:
            if not frame.startswith(FRAME_HEADER):
                raise MalformedError("not a frame of this version")
            start, size = _FIRST_RECORD, len(frame)
            while start < size:
                if size - start < wire.EVENT_HEADER_BYTES or frame[start + 4]:  # Kind.EVENT is 0
                    end = wire.control_end(frame, start)
                    self._take_control(*wire.decode_control(frame, start, end), now)
                    start = end
                    continue
                length, group, publisher, epoch, sequence = _event_head(frame, start)
                end = start + 4 + length
                if end > size or length < wire.EVENT_HEADER_BYTES - 4:
                    raise MalformedError("a record's length does not fit its frame")
                if not sender_heard:
                    sender_heard = True
                    peer = watched.get(frame[start + _SENDER_START : start + _SENDER_STOP])
                    if peer is not None:
                        peer.heard = now
                        if peer.silent:
                            self._liveness.heard(peer.contact.peer, now)
                participation = groups.get(group)
                if participation is None:
                    self._refuse(frame, start, end, group, now)
                elif participation.seen.knows(publisher, epoch, sequence):
                    counters.duplicates += 1
                    if participation.reports_duplicates:
                        event_id = EventId(publisher, epoch, sequence)
                        self._report_duplicate(participation, event_id, frame, start, end, now)
                else:
                    # Decoded before it counts as seen: a forged copy must not poison the event.
                    event = wire.decode_event(frame, start, end)
                    source = wire.sender(frame, start)
                    receivers = participation.receivers(event)
                    if receivers:
                        counters.events += 1
                    else:
                        counters.parasites += 1
                    if self._recorder.trace is not None:
                        self._recorder.record_event(
                            "receive" if receivers else "parasite",
                            event,
                            participation.subscribed.name,
                            now,
                            source,
                        )
                    self._accept(participation, event, receivers, now, source)
                start = end
        except MalformedError:
            counters.malformed += 1

    def publish(self, participation: Participation, event: Event, now: float) -> Sent:
        """Accept an event that this process publishes; return to how many it was sent."""
        if participation.seen.knows(*event.id):  # somebody has forged it before
            return Sent()
        return self._accept(participation, event, participation.receivers(event), now)

    # -- what disseminations ask of this process's other groups: `OwnGroups` ---------------

    @property
    def alone(self) -> bool:
        """See `camcast.doors.dissemination.OwnGroups`."""
        return len(self._groups.current) == 1

    def membership(self, group: Topic) -> Membership | None:
        """See `camcast.doors.dissemination.OwnGroups`."""
        participation = self._groups.joined(group.group)
        return None if participation is None else participation.membership

    def accept(self, event: Event, group: Topic, now: float) -> bool:
        """See `camcast.doors.dissemination.OwnGroups`."""
        participation = self._groups.joined(group.group)
        if participation is None:
            return False
        if not participation.seen.knows(*event.id):
            self._accept(participation, event, participation.receivers(event), now)
        return True

    # -- inside ----------------------------------------------------------------------------

    def _accept(
        self,
        participation: Participation,
        event: Event,
        receivers: Sequence[Topic],
        now: float,
        source: PeerId | None = None,
    ) -> Sent:
        """Accept an event that is new to a group and has these receivers in it."""
        participation.seen.add(*event.id)
        sent = participation.dissemination.disseminate(event, now, source)
        if not participation.transit:
            for topic in receivers:
                self._outbox.deliveries.append(Deliver(topic.group, event))
                if self._recorder.trace is not None:
                    self._recorder.record_event("deliver", event, topic.name, now)
        return sent

    def _refuse(self, frame: bytes, start: int, end: int, group: GroupId, now: float) -> None:
        """Count an event of a group that this process is not in, and tell who links to it."""
        event, sender = wire.decode_event(frame, start, end), wire.sender(frame, start)
        left = self._groups.left.get(group)
        if left is None:
            self._counters.parasites += 1
            self._recorder.record_event("parasite", event, group.hex(), now, sender)
        else:
            self._counters.late += 1
            self._recorder.record_event("drop", event, left.topic.name, now, sender)
            address = wire.sender_address(frame, start)
            self._strangers.say_gone(sender, address, event.topic.group, left.topic)

    def _report_duplicate(
        self,
        participation: Participation,
        event_id: EventId,
        frame: bytes,
        start: int,
        end: int,
        now: float,
    ) -> None:
        source = wire.sender(frame, start)
        if self._recorder.trace is not None:
            # Without a trace nobody looks into a duplicate, so its content must not matter.
            with suppress(MalformedError):
                event, community = wire.decode_event(frame, start, end), participation.subscribed
                self._recorder.record_event("duplicate", event, community.name, now, source)
        if participation.dissemination.hears_duplicates:
            participation.dissemination.duplicate(event_id, source, now)
