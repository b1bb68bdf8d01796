"""A lack: whom to ask for what is missing, when, and when to give it up."""

from __future__ import annotations

from random import Random

import pytest

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.lack import AGAIN_SECONDS, AGAIN_SECONDS_MAX, Holder, Lack
from camcast.engine.repair.messages import NONCE_SECONDS
from camcast.vocabulary.identity import Contact, PeerId

STREAM = bytes(24)


def holder(
    number: int, heard: float = 0.0, *, offered: int = 1, bounds: tuple[int, ...] = (9,)
) -> Holder:
    """Return a process that keeps the events from `offered` on, and knows those of `bounds`."""
    contact = Contact(PeerId(bytes([number] * 16)), f"tcp://10.0.0.{number}:7000")
    return Holder(contact, bytes(8), "", (STREAM, offered, 0, bounds), 120.0, heard)


def asked_of(lack: Lack, now: float) -> int:
    """Ask for what is missing; return whom."""
    one = lack.next_holder()
    one.asked = now
    lack.asked_at(now)
    return one.contact.peer[0]


@pytest.mark.parametrize(
    ("holders", "expected"),
    [(1, [AGAIN_SECONDS] + [AGAIN_SECONDS_MAX] * 8), (3, [AGAIN_SECONDS] * 9)],
)
def test_holders_are_asked_in_turn_and_a_lone_one_more_rarely(
    holders: int, expected: list[float]
) -> None:
    lack = Lack(0.0, 0.0)
    for number in range(holders):
        lack.hear(holder(number), offers=True)
    asked, pauses, now = [], [], 0.0
    for _ in range(9):
        asked.append(asked_of(lack, now))
        pauses.append(lack.due - now)
        now = lack.due
    assert asked == [number % holders for number in range(9)]
    assert pauses == expected


def test_news_of_one_who_was_asked_already_hasten_nothing() -> None:
    """With 30 % loss news that come each second had used up the quick questions at once."""
    lack = Lack(0.0, 0.0)
    lack.hear(holder(1), offers=True)
    asked_of(lack, 0.0)
    assert not lack.hear(holder(1, 1.0), offers=True)
    assert not lack.hear(holder(2, 1.0), offers=False)  # it has nothing that is missing
    assert [one.contact.peer[0] for one in lack.holders] == [1]
    assert lack.hear(holder(2, 1.0), offers=True)  # another one to ask
    assert asked_of(lack, 1.0) == 2


def test_who_could_not_answer_an_old_nonce_is_asked_again_at_once() -> None:
    lack = Lack(0.0, 0.0)
    lack.hear(holder(1), offers=True)
    asked_of(lack, NONCE_SECONDS)
    assert lack.hear(holder(1, NONCE_SECONDS), offers=True)


def test_what_one_neighbour_has_passed_is_missing_until_others_say_so() -> None:
    lack = Lack(0.0, 0.0)
    assert lack.missing_here(None) == []
    for number in (1, 2):
        lack.hear(holder(number, offered=0, bounds=(5,)), offers=False)
        assert lack.missing_here(None) == [(1, 5)]
        assert lack.out_of_reach(neighbours=7) == 0
    known = KnownRanges(0.0, b"")
    known.add(1, 2)
    assert lack.missing_here(known) == [(3, 5)]
    lack.hear(holder(3, offered=0, bounds=(4,)), offers=False)
    assert lack.out_of_reach(neighbours=7) == 4


def test_what_is_missing_below_what_came_goes_first() -> None:
    lack = Lack(0.0, 0.0)
    known = KnownRanges(0.0, b"")
    known.add(3, 1)
    lack.hear(holder(1, offered=0, bounds=(9,)), offers=False)
    assert lack.missing_here(known) == [(1, 3)]


def test_of_a_stream_that_flows_nothing_is_given_up_while_its_holes_are_mended() -> None:
    """Something is missing whenever that is looked at: the age of what is missing counts."""
    known = KnownRanges(0.0, b"")
    lack = Lack(0.0, 0.0)
    for second in range(1, 300):
        known.add(2 * second - 1, 1)  # and the one above is a hole until the next second
        known.add(2 * second + 1, 1)
        lack.note_lowest(known, float(second))
        known.add(2 * second, 1)
    assert lack.since == 299.0
    for second in range(300, 340):
        known.add(second * 2 + 1, 1)
        lack.note_lowest(known, float(second))
    assert lack.since == 300.0


def seconds_lacking(holders: int, rng: Random) -> float:
    """Return how long a lack lasts where 30 % of all messages are lost.

    A question with an old nonce is answered with a new one, which may be lost as well.
    """
    lack, now = Lack(0.0, 0.0), 0.0
    for number in range(holders):
        lack.hear(holder(number, -NONCE_SECONDS * rng.random()), offers=True)
    while True:
        one = lack.next_holder()
        one.asked = now
        lack.asked_at(now)
        if rng.random() < 0.7 * 0.7:
            if now - one.heard < NONCE_SECONDS:
                return now
            if lack.hear(holder(one.contact.peer[0], now), offers=True):
                lack.due = now
        now = lack.due


@pytest.mark.parametrize("holders", [1, 2, 3])
def test_at_thirty_percent_loss_nothing_is_lacking_for_forty_seconds(holders: int) -> None:
    """Four events of scamp 163 came in none of fourteen answers until its end."""
    rng = Random(holders)
    assert max(seconds_lacking(holders, rng) for _ in range(5000)) < 40
