"""The courier of a group: how a protocol's copies of events get into the node's outbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from camcast.doors.membership import Membership
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary import wire
from camcast.vocabulary.events import Event
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import Send
from camcast.vocabulary.topics import Topic

if TYPE_CHECKING:  # which makes couriers
    from camcast.engine.node import Node


class NodeCourier:
    """Carries one group's copies into the node's outbox, and traces them."""

    def __init__(self, node: Node, group: Topic, interest: ProcessInterest) -> None:
        self._node = node
        self._group = group.group
        self._interest = interest

    def send(self, event: Event, peers: Sequence[Contact], group: Topic | None = None) -> None:
        """See `camcast.doors.dissemination.Courier`."""
        if not peers:
            return
        node = self._node
        within = self._group if group is None else group.group
        record = wire.encode_event(event, event.hops + 1, within, node.me.peer)
        node.outbox.sends.append(Send([peer.address for peer in peers], record, False))
        node.counters.event_copies_sent += len(peers)
        if node.trace is not None:
            for peer in peers:
                node.trace_event("send", event, self._interest.topics[0], peer.peer)

    def send_upward(self, event: Event, topic: Topic, peers: Sequence[Contact]) -> None:
        """See `camcast.doors.dissemination.Courier`."""
        node = self._node
        record = wire.encode_event(
            event, event.hops + 1, topic.group, node.me.peer, node.me.address
        )
        node.outbox.sends.append(Send([peer.address for peer in peers], record, False))
        node.counters.upward_sent += len(peers)
        if node.trace is not None:
            for peer in peers:
                node.trace_event("upward", event, self._interest.topics[0], peer.peer)

    def hand_over(self, event: Event, super_topic: Topic, nearest: Topic) -> bool:
        """See `camcast.doors.dissemination.Courier`."""
        return self._node.hand_over(event, super_topic, nearest)

    def membership(self, group: Topic) -> Membership | None:
        """See `camcast.doors.dissemination.Courier`."""
        return self._node.membership(group)

    def pass_into(self, event: Event, group: Topic) -> None:
        """See `camcast.doors.dissemination.Courier`."""
        self._node.pass_into(event, group)
