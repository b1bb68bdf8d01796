"""What one process of SCAMP says to what it is told: duplicates, sponsors, and a polite leave."""

from __future__ import annotations

from math import inf

import pytest

from camcast.engine.liveness import ATTACHED_MAX
from camcast.testing.lone_process import contact, number_of
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import Topic
from membership.scamp.messages import (
    Arc,
    Copy,
    Drop,
    Kept,
    Probe,
    Renew,
    Replace,
    Subscribe,
    Welcome,
)
from membership.scamp.options import ScampOptions
from membership.scamp.scamp import Scamp
from membership.scamp.sponsorship import SPONSORED_MAX
from membership.scamp.walks import STEPS_REMEMBERED, WalkSteps
from tests.library.unit.membership.asked_process import AskedProcess

TOPIC = Topic.parse(".a")


class Bench(AskedProcess[Scamp]):
    """A process that some peers hold."""

    def __init__(self, holders: int = 0, c: int = 2, *, hidden: bool = False) -> None:
        super().__init__(Scamp, ScampOptions(c=c), hidden=hidden)
        self.found()
        for number in range(2, 2 + holders):
            self.receive(number, Kept())
        self.said()

    def hold(self, *numbers: int) -> None:
        for number in numbers:
            self.receive(number, Welcome(b""))
        self.said()

    def sponsors(self) -> list[int]:
        """Return which of its first peers this process asks to be its sponsor, or has as that."""
        arcs = ((n, self.membership.heartbeat(contact(n), 0.0)) for n in range(2, 5))
        return [number for number, arc in arcs if arc is not None and arc.sponsor]

    def tick(self, now: float) -> None:
        """Let a period of SCAMP end."""
        self.membership.wake(("tick",), now)

    def telling(self) -> list[int]:
        """Return which peers are to be told something along with the next heartbeats."""
        due = {peer: entry.due[self.part] for peer, entry in self.liveness.entries.items()}
        return [n for n in range(2, 5) if due.get(contact(n).peer) == -inf]

    def say(self, now: float) -> None:
        """Let heartbeats leave for all, and with them what is to be told."""
        for entry in self.liveness.entries.values():
            self.liveness._to_piggyback(entry, now)


# -- duplicates --------------------------------------------------------------------------------


@pytest.mark.parametrize("message", [Subscribe(4, 7), Subscribe(0, 7), Copy(20, 7), Renew(6, 7)])
def test_a_duplicate_starts_no_second_walk(message: Message) -> None:
    bench = Bench()
    bench.hold(2, 3, 4, 5, 6, 7, 8, 9)
    bench.receive(20, message, 1.0)
    assert bench.said()
    bench.receive(20, message, 1.1)
    assert bench.said() == []


@pytest.mark.parametrize(
    "others",
    [
        (Copy(19, 7), Copy(20, 8)),
        (Subscribe(3, 7), Subscribe(4, 8)),
        (Renew(6, 8),),
    ],
)
def test_another_walk_and_one_that_comes_by_again_are_no_duplicates(
    others: tuple[Message, ...],
) -> None:
    bench = Bench()
    bench.hold(2, 3, 4, 5, 6, 7, 8, 9)
    for message in (Copy(20, 7), Subscribe(4, 7), Renew(6, 7)):
        bench.receive(20, message, 1.0)
    bench.said()
    for other in others:
        bench.receive(20, other, 1.1)
        assert bench.said()
    bench.receive(21, Copy(20, 7), 1.2)  # a subscriber's names are its own
    assert bench.said()


def test_a_walk_keeps_its_name_and_every_copy_has_its_own() -> None:
    bench, walked = Bench(c=3), 0
    bench.hold(2, 3)
    bench.receive(20, Subscribe(4, 7), 1.0)
    ((_, onward),) = bench.said()
    assert onward == Subscribe(3, 7)
    for walk in range(20):  # some are kept here
        bench.receive(30 + walk, Copy(5, walk), 1.0)
        onwards = [message for _, message in bench.said() if message != Kept()]
        assert onwards in ([], [Copy(4, walk)])
        walked += len(onwards)
    assert 0 < walked < 20
    bench.receive(20, Renew(9, 8), 1.0)
    names = [said.walk for _, said in bench.said() if isinstance(said, Copy)]
    assert len(names) == len(set(names)) >= 8


def test_the_steps_remembered_are_bounded() -> None:
    steps, subscriber = WalkSteps(), PeerId(b"s" * 16)
    assert all(steps.first_time(subscriber, walk, 9) for walk in range(STEPS_REMEMBERED))
    assert not steps.first_time(subscriber, 0, 9)
    assert steps.first_time(subscriber, STEPS_REMEMBERED, 9)  # the oldest makes room
    assert steps.first_time(subscriber, 0, 9)
    assert not steps.first_time(subscriber, STEPS_REMEMBERED, 9)
    assert len(steps._taken) == STEPS_REMEMBERED


# -- sponsors ----------------------------------------------------------------------------------


def arc(
    weight: float = 0.0,
    share: float = 0.0,
    sponsored: int = 0,
    *,
    sponsor: bool = False,
    alone: bool = False,
) -> Arc:
    return Arc(weight, share, sponsored, False, sponsor, alone, sample=b"", answer=False)


@pytest.mark.parametrize(("holders", "asked"), [(1, True), (2, False)])
def test_a_holder_without_room_is_asked_only_by_whom_nobody_else_holds(
    holders: int, asked: bool
) -> None:
    bench = Bench(holders)
    bench.receive(2, arc(weight=0.5, sponsored=SPONSORED_MAX), 1.0)
    told = bench.membership.heartbeat(contact(2), 1.0)
    assert told is not None
    assert (told.sponsor, told.alone) == (asked, asked)


def test_whom_nobody_else_holds_takes_the_place_of_the_one_that_needs_its_sponsor_least() -> None:
    bench = Bench()
    bench.hold(2, 3, 4, 5, 6)
    for number, share in ((2, 0.2), (3, 0.1), (4, 0.3), (5, 0.9)):
        bench.receive(number, arc(share=share, sponsor=True), 1.0)
    view = bench.membership.peers()
    assert [n for n in range(2, 7) if view.is_pinned(contact(n).peer)] == [2, 3, 4]
    for _ in range(2):
        bench.receive(6, arc(share=1.0, sponsor=True, alone=True), 1.0)
        assert [n for n in range(2, 7) if view.is_pinned(contact(n).peer)] == [2, 4, 6]


def test_a_holder_that_is_gone_is_replaced_as_sponsor_by_another_with_room() -> None:
    """At the next tick: the others have nothing new to say, and are not waited for."""
    bench = Bench(holders=3)
    for number, sponsored in ((2, 0), (3, SPONSORED_MAX), (4, 0)):
        bench.receive(number, arc(weight=0.5, sponsored=sponsored), 0.5)
    assert bench.sponsors() == [2]
    bench.membership.peer_silent(contact(2), 1.0)
    bench.membership.wake(("tick",), 1.0)
    assert bench.sponsors() == [4]


# -- what goes along with heartbeats -----------------------------------------------------------


def test_only_what_has_changed_is_told_along_with_heartbeats() -> None:
    bench = Bench(holders=2)
    bench.hold(2, 3)
    for number in (2, 3):
        bench.receive(number, arc(weight=0.5, share=0.5), 0.5)
    bench.tick(1.0)
    bench.say(1.0)
    for second, share in ((2.0, 0.5), (3.0, 0.5), (4.0, 0.51)):
        bench.receive(3, arc(weight=0.5, share=share), second)
        bench.tick(second)
        sampled = [n for n in (2, 3) if contact(n).peer in bench.membership._sampled]
        assert bench.telling() == sampled
        bench.say(second)
    bench.receive(3, arc(weight=0.5, share=0.9), 5.0)
    bench.tick(5.0)
    assert bench.telling() == [2, 3]  # the weight of the other falls


def test_who_was_given_up_and_believes_to_be_held_is_held_again() -> None:
    bench = Bench(holders=1)
    bench.hold(2, 3)
    bench.membership.peer_silent(contact(2), 1.0)
    assert contact(2).peer not in bench.membership.peers()
    bench.receive(2, arc(share=0.5), 2.0)
    assert contact(2).peer in bench.membership.peers()
    assert bench.said() == [(2, Kept())]


# -- leaving -----------------------------------------------------------------------------------


def told_on_leaving(bench: Bench) -> dict[int, list[Message]]:
    bench.membership.leave(1.0)
    told: dict[int, list[Message]] = {}
    for number, message in bench.said():
        if isinstance(message, Replace | Drop):
            told.setdefault(number, []).append(message)
    return told


def test_a_leaver_is_replaced_by_all_but_the_last_c_plus_1_of_its_holders() -> None:
    bench = Bench(holders=6, c=1)
    bench.hold(10, 11, 12)
    told = told_on_leaving(bench)
    replaced = {
        n: [Replace(contact(m))] for n, m in zip((2, 3, 4, 5), (10, 11, 12, 10), strict=True)
    }
    dropping = (6, 7, 10, 11, 12)  # the last c + 1 holders, and the leaver's own view
    assert told == replaced | {n: [Drop(left=True)] for n in dropping}


def test_nobody_is_told_to_replace_a_leaver_by_itself() -> None:
    bench = Bench(holders=6, c=1)
    bench.hold(2, 3, 4, 5)
    told = told_on_leaving(bench)
    by = {n: number_of(said.by.peer) for n, (said,) in told.items() if isinstance(said, Replace)}
    assert len(by) == 4
    assert all(number != replacement for number, replacement in by.items())
    alone = Bench(holders=6, c=1)
    alone.hold(2)
    told = told_on_leaving(alone)
    assert told[2] == [Drop(left=True)]
    assert told[3] == [Replace(contact(2))]


GOODBYES = [Drop(left=True), Replace(contact(30))]


def doubted_by(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> list[Contact]:
    """Return a list that gets every contact which the liveness service is asked to question."""
    doubted: list[Contact] = []
    monkeypatch.setattr(bench.part, "doubt", lambda contact, now: doubted.append(contact))
    return doubted


@pytest.mark.parametrize("goodbye", GOODBYES, ids=["drop", "replace"])
def test_a_goodbye_takes_out_only_who_is_gone(
    goodbye: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else 2.2 kB of goodbyes in other names leave one of a view and ten holders: the attacker."""
    bench = Bench(holders=4)
    bench.hold(2, 3, 10, 11)
    doubted = doubted_by(bench, monkeypatch)
    held, holding = list(bench.membership.peers()), bench.membership.in_view()
    for number in (2, 3, 4, 5, 10, 11):
        bench.receive(number, goodbye, 1.0)
    replaced = [contact(30)] if isinstance(goodbye, Replace) else []
    assert [one for one in doubted if one in replaced] == replaced  # it may have left as well
    asked = [one for one in doubted if one not in replaced]
    assert asked == [contact(number) for number in (2, 3, 4, 5, 10, 11)]
    assert list(bench.membership.peers())[:4] == held
    assert bench.membership.in_view()[:4] == holding
    bench.membership.peer_gone(contact(2), 1.4)
    assert contact(2) not in list(bench.membership.peers())
    assert contact(2) not in bench.membership.in_view()


@pytest.mark.parametrize("message", [Kept(), Probe(b"", cold=True), arc(share=0.5, weight=0.5)])
def test_an_address_is_another_s_word_until_the_known_one_is_silent(
    message: Message, monkeypatch: pytest.MonkeyPatch
) -> None:
    """688 bytes let all twelve entries of a view point at a third party."""
    bench = Bench(holders=2)
    bench.hold(2, 10)
    doubted = doubted_by(bench, monkeypatch)
    elsewhere = Contact(contact(2).peer, "tcp://10.9.9.9:1")
    bench.membership.receive(elsewhere, message, 1.0)
    bench.receive(50, Replace(elsewhere), 1.0)
    assert (doubted, bench.said_to()) == ([contact(2)], [])
    assert bench.membership.peers().get(contact(2).peer) == contact(2)
    assert contact(2) in bench.membership.in_view()
    bench.membership.peer_gone(contact(2), 1.4)  # it has moved
    bench.membership.receive(elsewhere, Probe(b"", cold=True), 3.0)
    assert bench.membership.peers().get(contact(2).peer) == elsewhere


# -- joining -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "message",
    [Probe(b"", cold=True), Copy(0, 7), Arc(0.5, 0.5, 0, False, False, False, b"", False)],
)
def test_whoever_is_held_by_a_member_while_it_joins_is_a_member(message: Message) -> None:
    """Its arc to the member hid that member from it: with its gateway dead it never got in."""
    bench = Bench()
    joining = Scamp(bench.context, ScampOptions())
    joining.join((contact(9),), 0.0)
    assert not joining.joined
    joining.receive(contact(2), message, 1.0)
    assert list(joining.peers()) == [contact(2)]
    assert joining.joined


def test_who_has_heard_goodbyes_alone_counts_nobody_that_only_walks_have_named() -> None:
    """Those that walks name may have left together with all others, unheard."""
    bench = Bench(holders=0)
    bench.hold(2, 3)
    for number in range(4, 24):
        bench.membership._estimate.note(contact(number).peer, 0.5)
    bench.membership._estimate.refresh(0.5)
    bench.liveness.heard(contact(2).peer, 1.0)
    bench.hold(30)
    bench.membership.peer_gone(contact(3), 1.5)
    assert bench.membership.size() > 3  # 2 has spoken, and is there
    bench.membership.peer_gone(contact(2), 1.5)
    assert bench.table == [30]
    assert bench.membership.size() == 1.0
    bench.tick(2.0)
    assert bench.membership.size() == 1.0
    bench.liveness.heard(contact(30).peer, 2.5)
    bench.tick(3.0)
    assert bench.membership.size() > 1.0


def test_a_subscription_is_not_taken_where_neither_process_can_be_dialled() -> None:
    bench = Bench(hidden=True)
    bench.hold(2)
    bench.membership.receive(placeholder(PeerId(b"u" * 16)), Subscribe(0, 7), 0.0)
    assert bench.said() == [(2, Subscribe(0, 7))]


HIDDEN = [placeholder(PeerId(number.to_bytes(16))) for number in range(100, 101 + ATTACHED_MAX)]
"""Processes that nobody can dial."""


def test_those_that_nobody_can_dial_have_a_bound_of_their_own_and_no_copies_of_others() -> None:
    """Neither in a view that is full of others nor in one without any."""
    bench = Bench()
    bench.hold(*range(2, 2 + 2 * bench.membership._cap()))
    bench.membership.receive(HIDDEN[0], Welcome(b""), 0.0)
    assert bench.membership.peers().attached == 1
    bench = Bench()
    bench.hold(2)
    for hidden in HIDDEN:
        bench.membership.receive(hidden, Welcome(b""), 0.0)
    assert bench.membership.peers().attached == ATTACHED_MAX
    bench.hold(3)
    bench.membership.receive(placeholder(PeerId(b"u" * 16)), Renew(60, 7), 0.0)
    copies = [(to, message) for to, message in bench.said() if isinstance(message, Copy)]
    assert {to for to, _ in copies} == {2, 3}
    assert len(copies) == (2 + 1) * (2 + 1)


def test_a_copy_for_who_cannot_be_dialled_goes_on_to_those_that_can_or_ends() -> None:
    bench = Bench()
    for hidden in HIDDEN:
        bench.membership.receive(hidden, Welcome(b""), 0.0)
    bench.said()
    bench.membership.receive(HIDDEN[0], Copy(20, 7), 0.0)
    assert bench.said_to() == []
    bench.hold(2)
    bench.membership.receive(HIDDEN[0], Copy(20, 8), 0.0)
    assert bench.said() == [(2, Copy(19, 8))]
