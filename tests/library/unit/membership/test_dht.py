"""One process of the structured membership: its timers, and whom it holds."""

from __future__ import annotations

from camcast.engine.liveness import ATTACHED_MAX
from camcast.testing.lone_process import contact
from camcast.vocabulary.identity import PeerId, placeholder
from membership.dht import (
    ASKED_SECONDS,
    DhtOptions,
    DhtTable,
    Greeting,
    Holding,
    Place,
    Release,
)
from tests.library.unit.membership.asked_process import AskedProcess


def test_a_member_that_writes_before_the_search_ends_starts_no_second_round_of_checks() -> None:
    """`join` comes by that message, and again with the answer of the discovery."""
    lone = AskedProcess(DhtTable, DhtOptions())
    lone.membership.receive(contact(2), Holding(), 1.0)
    lone.membership.join((contact(3),), 2.0)
    assert lone.membership.joined
    assert [wake.token.name for wake in lone.outbox.wakes].count(("check",)) == 1


HIDDEN = [placeholder(PeerId(bytes([number]) * 16)) for number in range(100, 104)]
"""Processes that nobody can dial."""
FOUND = [contact(number) for number in range(2, 12)]


def _held(lone: AskedProcess[DhtTable]) -> set[PeerId]:
    return {one.peer for one in lone.membership.peers() if not one.is_dialable}


def test_who_cannot_be_drawn_again_is_held_until_it_lets_go() -> None:
    """Neither a newcomer nor a refresh takes the place of a process that nobody can dial."""
    lone = AskedProcess(DhtTable, DhtOptions(c=1))
    lone.membership.join(FOUND[:2], 0.0)
    lone.membership.contacts_found(FOUND[:4], 1.0, 10.0)  # tables of ln 10 + 1
    for hidden in HIDDEN:
        lone.membership.receive(hidden, Place(), 2.0)
    for newcomer in FOUND[4:]:
        lone.membership.receive(newcomer, Greeting(), 3.0)
    lone.membership.all_silent(4.0)
    lone.membership.contacts_found(FOUND[6:], 5.0, 10.0)
    assert _held(lone) == {one.peer for one in HIDDEN}
    assert lone.membership.peers().pinned == len(HIDDEN)
    assert len(lone.membership.peers()) == len(HIDDEN) + 1  # a fifth of four, rounded up
    lone.membership.receive(HIDDEN[0], Release(), 6.0)
    assert _held(lone) == {one.peer for one in HIDDEN[1:]}


def test_who_cannot_be_drawn_asks_all_that_it_holds_for_a_place() -> None:
    """Also those of a new table, before it lets the others go."""
    hidden = AskedProcess(DhtTable, DhtOptions(c=1), hidden=True)
    hidden.membership.join(FOUND[:4], 0.0)
    assert hidden.said_to() == [(one, Greeting()) for one in FOUND[:4]]
    hidden.membership.receive(HIDDEN[0], Place(), 1.0)  # they could have no connection
    assert _held(hidden) == set()
    hidden.membership.all_silent(4.0)
    hidden.membership.contacts_found(FOUND[4:], 5.0, 10.0)
    table = list(hidden.membership.peers())
    said = hidden.said_to()
    assert [to for to, message in said if message == Place()] == table
    assert {to for to, message in said if message == Release()} == {*FOUND[:4]}


def test_only_so_many_that_nobody_can_dial_are_held_and_told_so() -> None:
    lone = AskedProcess(DhtTable, DhtOptions())
    lone.found()
    asking = [placeholder(PeerId(number.to_bytes(16))) for number in range(2, ATTACHED_MAX + 4)]
    lone.said_to()
    for hidden in asking:
        lone.membership.receive(hidden, Place(), 1.0)
    assert _held(lone) == {one.peer for one in asking[:ATTACHED_MAX]}
    assert lone.said_to() == [(one, Holding()) for one in asking[:ATTACHED_MAX]]


def test_of_a_full_table_who_asks_without_end_has_an_eighth_and_a_stranger_comes_in() -> None:
    """Eight that ask once a second had half of the tables, when each took a random place."""
    lone = AskedProcess(DhtTable, DhtOptions())
    drawn, pressing, stranger = FOUND, [contact(n) for n in range(20, 28)], contact(50)
    lone.membership.join(drawn, 0.0)
    lone.membership.contacts_found(drawn, 0.5, 90.0)  # tables of ln 90 + 5: as many
    for second in range(30):
        for asking in pressing:
            lone.membership.receive(asking, Place(), float(second))
    held = [one for one in pressing if one.peer in lone.membership.peers()]
    assert len(held) == 1
    assert len(lone.membership.peers()) == len(drawn)
    lone.membership.receive(stranger, Greeting(), 31.0)
    assert stranger.peer in lone.membership.peers()
    assert held[0].peer not in lone.membership.peers()
    lone.membership.receive(held[0], Place(), 31.0 + ASKED_SECONDS - 0.1)
    assert stranger.peer in lone.membership.peers()
    lone.membership.receive(held[0], Place(), 31.0 + ASKED_SECONDS)
    assert held[0].peer in lone.membership.peers()
    assert stranger.peer not in lone.membership.peers()


def test_whoever_nobody_holds_asks_all_at_once_and_whoever_one_holds_asks_one() -> None:
    lone = AskedProcess(DhtTable, DhtOptions())
    lone.membership.join(FOUND, 0.0)
    lone.membership.contacts_found(FOUND, 0.5, 90.0)
    for holder in FOUND[:2]:
        lone.membership.receive(holder, Holding(), 1.0)
    lone.said_to()
    lone.membership.receive(FOUND[0], Release(), 2.0)
    assert [message for _, message in lone.said_to()] == [Place()]
    lone.membership.receive(FOUND[1], Release(), 2.1)
    assert {to for to, message in lone.said_to() if message == Place()} == {*FOUND}


def test_what_a_look_up_names_has_not_asked_and_comes_before_what_has() -> None:
    lone = AskedProcess(DhtTable, DhtOptions())
    lone.membership.join(FOUND, 0.0)
    lone.membership.contacts_found(FOUND, 0.5, 90.0)
    asking = [contact(20), contact(21)]
    lone.membership.receive(asking[0], Place(), 1.0)
    lone.membership.all_silent(2.0)
    lone.membership.contacts_found([asking[0], *FOUND[1:]], 3.0, 90.0)
    lone.membership.receive(asking[1], Place(), 4.0)  # now nobody there has asked
    assert all(one.peer in lone.membership.peers() for one in asking)
    lone.membership.all_silent(5.0)
    lone.membership.contacts_found([contact(30)], 6.0, 90.0)  # one of ten has to go
    assert asking[1].peer not in lone.membership.peers()
