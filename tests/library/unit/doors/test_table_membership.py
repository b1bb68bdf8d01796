"""The base of memberships with one table: what it does for each of them, by itself."""

from __future__ import annotations

from camcast.doors.first_contacts import ANSWER_SECONDS
from camcast.doors.membership import MembershipContext
from camcast.doors.table_membership import GONE_MAX, PROBE_SECONDS, TableMembership
from camcast.testing.lone_process import contact
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message
from tests.library.unit.membership.asked_process import ME, AskedProcess

ROOM = 3


class Hello(Message, tag=1, frozen=True):
    """A greeting."""


class Bye(Message, tag=2, frozen=True):
    """A goodbye."""


class Held(TableMembership):
    """Holds whoever sends a message."""

    decoder = Decoder(Hello | Bye)
    goodbye = Bye()

    def __init__(self, context: MembershipContext, watched: int | None) -> None:
        super().__init__(context, ROOM, 1.0, watched=watched)
        self.ticks = 0

    def greeting(self, now: float) -> Hello:
        return Hello()

    def on_message(self, source: Contact, message: Hello, now: float) -> None:
        self.hold(source, now)

    def tick(self, now: float) -> None:
        self.ticks += 1


def process(*held: int, watched: int | None = None) -> AskedProcess[Held]:
    """Return a founder that holds these processes."""
    founder = AskedProcess(Held, watched)
    founder.found()
    for number in held:
        founder.receive(number, Hello())
    founder.said()
    founder.wakes()
    return founder


def test_contacts_are_asked_in_turn_and_then_the_discovery() -> None:
    newcomer = AskedProcess(Held, None)
    newcomer.membership.join([contact(2), contact(3)], 0.0)
    assert newcomer.said() == [(2, Hello())]
    for now, expected in ((ANSWER_SECONDS, [(3, Hello())]), (2 * ANSWER_SECONDS, [])):
        ((delay, name),) = newcomer.wakes()
        assert delay == ANSWER_SECONDS
        newcomer.membership.wake(name, now)
        assert newcomer.said() == expected
    assert len(newcomer.outbox.seeks) == 1
    assert not newcomer.membership.joined
    newcomer.receive(3, Hello(), 1.0)  # it comes late, and counts
    assert newcomer.membership.joined
    assert newcomer.table == [3]


def test_an_empty_answer_founds_only_while_nobody_is_asked() -> None:
    newcomer = AskedProcess(Held, None)
    newcomer.membership.join([contact(2)], 0.0)
    newcomer.membership.contacts_found((), 0.1)
    assert not newcomer.membership.joined
    newcomer.membership.wake(newcomer.wakes()[0][1], ANSWER_SECONDS)
    newcomer.membership.contacts_found((), 1.0)
    assert newcomer.membership.joined


def test_who_is_held_is_watched_and_who_is_dropped_is_not() -> None:
    founder = process(2, 3)
    assert founder.table == founder.watched == [2, 3]
    founder.membership.drop(contact(2).peer)
    assert founder.table == founder.watched == [3]


def test_the_table_has_room_for_so_many_and_never_for_itself() -> None:
    founder = process(2, 3, 4, 5, ME)
    assert founder.table == [2, 3, 4]
    assert founder.membership.hold(Contact(contact(2).peer, "tcp://10.0.0.9:1"), 1.0)
    assert len(founder.membership.peers()) == ROOM


def test_some_are_watched_each_for_a_while() -> None:
    founder, seen = process(2, 3, 4, watched=1), dict[int, None]()
    for now in range(30):
        founder.membership.wake(("tick",), float(now))
        assert len(founder.watched) == 1
        seen[founder.watched[0]] = None
    assert sorted(seen) == [2, 3, 4]
    assert founder.membership.ticks == 30


def test_a_goodbye_counts_once_its_sender_does_not_answer() -> None:
    founder = process(2, 3)
    founder.receive(2, Bye(), 5.0)  # `Answered`: who is doubted is gone
    assert founder.table == founder.watched == [3]
    assert founder.membership.is_gone(contact(2).peer, 5.0)
    assert not founder.membership.is_gone(contact(2).peer, 5.1)
    founder.receive(2, Hello(), 6.0)
    assert not founder.membership.is_gone(contact(2).peer, 0.0)


def test_goodbyes_of_strangers_fill_no_memory() -> None:
    founder = process(2)
    for number in range(10, 10 + 2 * GONE_MAX):
        founder.receive(number, Bye(), 1.0)
    assert len(founder.membership._gone) == GONE_MAX  # no other way to see a bound
    assert founder.table == [2]


def test_who_falls_silent_is_greeted_again() -> None:
    founder = process(2, 3)
    founder.membership.peer_silent(contact(2), 10.0)
    assert founder.table == [3]
    founder.membership.wake(("tick",), 10.0 + PROBE_SECONDS / 2)
    assert founder.said_to() == []
    founder.membership.wake(("tick",), 10.0 + PROBE_SECONDS)
    ((asked, message),) = founder.said_to()
    assert (asked.address, message) == (contact(2).address, Hello())


def test_after_leaving_every_message_is_answered_by_a_goodbye_except_a_goodbye() -> None:
    leaver = process(2, 3)
    leaver.membership.leave(1.0)
    assert leaver.said() == [(2, Bye()), (3, Bye())]
    leaver.receive(4, Hello(), 2.0)
    assert leaver.said() == [(4, Bye())]
    leaver.receive(4, Bye(), 2.0)
    assert leaver.said() == []


def test_unknown_members_that_the_discovery_names_are_met() -> None:
    founder = process(2)
    founder.membership.contacts_found([contact(2), contact(7)], 1.0)
    assert founder.said() == [(7, Hello())]
