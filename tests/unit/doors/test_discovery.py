"""The door of discoveries: what an author need not write does nothing."""

from __future__ import annotations

from random import Random

from camcast.doors.discovery import DiscoveryContext
from camcast.simulation.census import Census
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import Kind


def test_a_message_for_a_discovery_without_messages_is_no_error() -> None:
    me, outbox = Contact(PeerId(bytes(16)), "tcp://10.0.0.1:1"), Outbox()
    outlet = ControlOutlet(outbox, me, Kind.DISCOVERY, ROOT.group)
    context = DiscoveryContext(me, Random(1), outlet, lambda _group, _wanted: [], {})
    discovery = Census(Random(1)).discovery(context)
    discovery.receive(me, ROOT.group, Message(), 0.0)
    assert not outbox.sends
