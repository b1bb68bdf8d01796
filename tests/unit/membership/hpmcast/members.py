"""Contacts, lines and a member, for the tests of hpmcast's membership."""

from __future__ import annotations

from random import Random

from camcast.doors.selective import SelectiveContext
from camcast.interests.wanted import ProcessInterest
from camcast.protocols.hpmcast.hierarchy import Hierarchy
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import Kind, decode_control
from membership.hpmcast.hpmcast import HpmcastMembership, HpmcastOptions
from membership.hpmcast.messages import DECODER, LineNews, Update
from membership.hpmcast.tables import Tables
from tests.answered_liveness import AnsweredLiveness


def contact(number: int) -> Contact:
    address = f"tcp://10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}:7000"
    return Contact(PeerId(number.to_bytes(16)), address)


def context(number: int, outbox: Outbox | None = None) -> SelectiveContext:
    me = contact(number)
    outlet = ControlOutlet(outbox or Outbox(), me, Kind.MEMBERSHIP, ROOT.group)
    service = AnsweredLiveness(outlet, Random(1), lambda *_: True)
    liveness = service.part(Kind.MEMBERSHIP, ROOT.group)
    return SelectiveContext(me, ROOT, Random(1), outlet, liveness, interest=ProcessInterest(ROOT))


def line(number: int, stamp: int = 1, level: int = 1, interest: str = ".a") -> LineNews:
    return LineNews(level, contact(number).peer, stamp, (contact(number),), 1, interest)


def group_tables() -> Tables:
    return Tables(contact(1), Hierarchy(arity=2, depth=2, redundancy=2))


class Member:
    """The membership of process 1 in a group of 1, 3, 5, 7 and 9, and what it sends."""

    def __init__(self, depth: int = 2) -> None:
        self._outbox = Outbox()
        options = HpmcastOptions(arity=2, depth=depth, redundancy=2)
        self.membership = HpmcastMembership(context(1, self._outbox), options)
        self.membership.join((), 0.0)
        lines = tuple(line(number) for number in (3, 5, 7, 9))
        self.membership.receive(contact(3), Update(lines), 0.0)
        self.said()

    def said(self) -> list[tuple[int, str]]:
        """Return to whom what kind of message went since the last time."""
        sends = [
            (to, DECODER.decode(decode_control(record, 0, len(record)).body))
            for contacts, record, _, _ in self._outbox.sends
            for to in contacts
        ]
        self._outbox.sends.clear()
        return [(int.from_bytes(to.peer), type(message).__name__) for to, message in sends]

    def tick(self, now: float) -> list[tuple[int, str]]:
        self.membership.wake(("tick",), now)
        return self.said()
