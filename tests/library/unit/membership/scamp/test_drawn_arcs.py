"""Arcs that a process draws itself: half of its view, whoever lets subscriptions spread."""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

import pytest

from camcast.testing.lone_process import contact, number_of
from camcast.vocabulary.peers import PeerTable
from membership.scamp.drawn_arcs import DrawnArcs
from membership.scamp.messages import Arc, Copy, Drawn, Drop, Kept
from membership.scamp.options import ScampOptions
from membership.scamp.scamp import SLACK, Scamp
from tests.library.unit.membership.asked_process import AskedProcess

LAW = 8.0


def arcs_of(*held: int, share: float = 0.5) -> tuple[DrawnArcs, PeerTable]:
    view = PeerTable()
    for number in held:
        view.add(contact(number))
    return DrawnArcs(share, view, Random(1)), view


def draw(arcs: DrawnArcs, view: PeerTable, *named: int) -> list[int]:
    """Let the discovery name processes, hold those that are to be held, and return these."""
    chosen = arcs.draw([contact(number) for number in named], LAW)
    for one in chosen:
        view.add(one)
    return [number_of(one.peer) for one in chosen]


def test_half_of_the_law_is_drawn_and_then_one_an_answer() -> None:
    arcs, view = arcs_of(2, 3)
    assert draw(arcs, view, 3, 10, 11, 12, 13) == [10, 11, 12]  # 3 is held, and drawn from now on
    assert draw(arcs, view, 3, 20, 21) == [20]  # 3 was drawn first, and gives its place
    assert {number_of(one.peer) for one in arcs.surplus(4)} == {2, 3}


def test_who_was_drawn_and_is_lost_is_drawn_for_again() -> None:
    arcs, view = arcs_of()
    draw(arcs, view, 10, 11, 12, 13)
    view.discard(contact(11).peer)
    view.discard(contact(12).peer)
    assert draw(arcs, view, 20, 21, 22) == [20, 21]


@pytest.mark.parametrize("most", [4, 6, 9])
def test_what_was_drawn_or_is_sponsored_gives_no_way(most: int) -> None:
    arcs, view = arcs_of(*range(30, 36))
    draw(arcs, view, 10, 11, 12, 13)
    view.pin(contact(30).peer, pinned=True)
    surplus = {number_of(one.peer) for one in arcs.surplus(most)}
    assert surplus <= {31, 32, 33, 34, 35}
    assert len(surplus) == min(5, 10 - most)


def test_without_a_share_nothing_is_drawn_and_nothing_gives_way() -> None:
    arcs, view = arcs_of(*range(30, 60), share=0.0)
    assert draw(arcs, view, 10, 11) == []
    assert arcs.surplus(4) == []


# -- in SCAMP ------------------------------------------------------------------------------------


class Member(AskedProcess[Scamp]):
    """A member that some peers hold, of a community of as many processes as it has heard of."""

    def __init__(self, holders: int, held: Iterable[int] = ()) -> None:
        super().__init__(Scamp, ScampOptions())
        self.found()
        for number in range(2, 2 + holders):
            self.receive(number, Kept())
        for number in held:
            self.receive(number, Copy(0, number))
        self.said()


def test_who_is_drawn_is_held_once_it_has_answered() -> None:
    member = Member(holders=1, held=range(3, 9))
    named = [contact(number) for number in range(10, 15)]
    member.membership.contacts_found(named, 1.0)
    asked = [number for number, message in member.said() if message == Drawn()]
    assert asked
    assert not set(asked) & set(member.table)
    member.receive(asked[0], Arc(0.0, 0.5, 0, False, False, False, b"", False))
    assert asked[0] in member.table
    assert (asked[0], Kept()) in member.said()


def test_a_draw_takes_the_place_of_another_holder() -> None:
    """With eight holders of nine processes the law holds; else draws would add arcs without end."""
    member = Member(holders=8)
    member.receive(40, Drawn())
    said = member.said()
    dropped = [number for number, message in said if isinstance(message, Drop)]
    assert len(dropped) == 1
    (answer,) = [message for number, message in said if number == 40]
    assert isinstance(answer, Arc)
    assert answer.share > 0
    holders = {number_of(one.peer) for one in member.membership.in_view()}
    assert holders == {*range(2, 10), 40} - {*dropped}
    member.receive(40, Drawn())
    assert not any(isinstance(message, Drop) for _, message in member.said())


def test_subscriptions_in_any_number_do_not_displace_what_was_drawn() -> None:
    member = Member(holders=1, held=range(3, 9))
    member.membership.contacts_found([contact(number) for number in range(10, 15)], 1.0)
    drawn = [number for number, message in member.said() if message == Drawn()]
    assert drawn
    for number in drawn:
        member.receive(number, Arc(0.0, 0.5, 0, False, False, False, b"", False))
    member.said()
    for number in range(100, 300):
        member.receive(number, Copy(0, number))
    given_up = {number for number, message in member.said() if isinstance(message, Arc)}
    assert set(drawn) <= set(member.table)
    assert given_up
    assert not given_up & set(drawn)
    assert len(member.table) <= round(member.membership._law * (1 + SLACK))
