"""Lines and members, for the tests of hpmcast's membership."""

from __future__ import annotations

from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.membership import HpmcastMembership, HpmcastOptions
from camcast.research.systems.hpmcast.view_messages import LineNews, Update
from camcast.research.systems.hpmcast.view_tables import Tables
from camcast.testing.lone_process import contact
from camcast.vocabulary.topics import ROOT
from tests.library.unit.membership.asked_process import ME, AskedProcess


def line(number: int, stamp: int = 1, level: int = 1, interest: str = ".a") -> LineNews:
    return LineNews(level, contact(number).peer, stamp, (contact(number),), 1, interest)


def group_tables() -> Tables:
    return Tables(contact(1), Hierarchy(arity=2, depth=2, redundancy=2))


class Member(AskedProcess[HpmcastMembership]):
    """A process that has joined nobody yet, in a hierarchy of two in each subgroup."""

    def __init__(self, number: int = ME, depth: int = 2) -> None:
        options = HpmcastOptions(arity=2, depth=depth, redundancy=2)
        super().__init__(HpmcastMembership, options, topic=ROOT, number=number)
        self.tables = self.membership._tables

    def kinds(self) -> list[tuple[int, str]]:
        """Return to whom what kind of message went since the last time."""
        return [(to, type(message).__name__) for to, message in self.said()]

    def tick(self, now: float) -> list[tuple[int, str]]:
        self.membership.wake(("tick",), now)
        return self.kinds()


def member_of_five(depth: int = 2) -> Member:
    """Return process 1 of a group of 1, 3, 5, 7 and 9."""
    member = Member(depth=depth)
    member.found()
    member.receive(3, Update(tuple(line(number) for number in (3, 5, 7, 9))))
    member.said()
    return member
