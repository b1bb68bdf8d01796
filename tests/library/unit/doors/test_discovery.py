"""The door of discoveries: what an author need not write does nothing."""

from __future__ import annotations

from random import Random

from camcast.doors.discovery import DiscoveryContext
from camcast.testing.lone_process import LoneProcess, contact
from camcast.virtual.census import Census
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import Kind


def test_a_message_for_a_discovery_without_messages_is_no_error() -> None:
    process = LoneProcess(contact(1))
    outlet = process.outlet(Kind.DISCOVERY)
    context = DiscoveryContext(Random(1), outlet, lambda _group, _wanted: [], {})
    discovery = Census(Random(1)).discovery(context)
    discovery.receive(process.me, ROOT.group, Message(), 0.0)
    assert not process.outbox.sends
