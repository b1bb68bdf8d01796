"""The outlet of events: how a dissemination's copies get into the node's outbox."""

from __future__ import annotations

from collections.abc import Sequence

from camcast.engine.recorder import Recorder
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary import wire
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import Outbox, Send
from camcast.vocabulary.topics import Topic


class GroupEventOutlet:
    """Encodes, counts and traces one group's copies of events; see `EventOutlet`."""

    def __init__(
        self,
        outbox: Outbox,
        recorder: Recorder,
        me: Contact,
        group: Topic,
        interest: ProcessInterest,
    ) -> None:
        self._outbox = outbox
        self._recorder = recorder
        self._counters = recorder.counters
        self._me = me
        self._group = group.group
        self._interest = interest

    def send(
        self, event: Event, peers: Sequence[Contact], now: float, group: Topic | None = None
    ) -> None:
        """See `camcast.doors.dissemination.EventOutlet`."""
        if not peers:
            return
        within = self._group if group is None else group.group
        record = wire.encode_event(event, event.hops + 1, within, self._me.peer)
        self._outbox.sends.append(Send(peers, record, False))
        self._counters.event_copies_sent += len(peers)
        if self._recorder.trace is not None:
            for peer in peers:
                self._recorder.record_event("send", event, self._community, now, peer.peer)

    def send_upward(self, event: Event, topic: Topic, peers: Sequence[Contact], now: float) -> None:
        """See `camcast.doors.dissemination.EventOutlet`."""
        me = self._me
        record = wire.encode_event(event, event.hops + 1, topic.group, me.peer, me.address)
        self._outbox.sends.append(Send(peers, record, False))
        self._counters.upward_sent += len(peers)
        if self._recorder.trace is not None:
            for peer in peers:
                self._recorder.record_event("upward", event, self._community, now, peer.peer)

    @property
    def _community(self) -> str:
        return self._interest.topics[0].name
