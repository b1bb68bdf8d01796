"""History asked for again and again costs a bounded number of bytes; archives ask who may know.

Newcomers refer older members to each other, who compare what the newcomers are too young for.
"""

from __future__ import annotations

from collections import Counter
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import attrs
import pytest

from camcast.engine.node import Node
from camcast.engine.repair.history import ANSWERED_SECONDS, REFERRALS_A_SECOND, History
from camcast.engine.repair.messages import Compare, Have, Referral
from camcast.engine.repair.told import HAVE_BYTES_A_SECOND, HAVE_BYTES_MAX
from camcast.engine.settings import Order
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import encode
from tests.library.unit.engine.repair.repair_world import STRANGER, A, RepairWorld, members


def test_who_asks_for_history_again_and_again_gets_no_more_than_the_second_allows(
    world: RepairWorld,
) -> None:
    """One question of a hundred bytes draws what is kept, for whoever it names as its sender."""
    one, _ = members(world, A, A)
    for number in range(1, 2001):
        stream = stream_id(PeerId(number.to_bytes(16)), 1)
        world.hand(one, make_batch(stream, 1, [b"lone"], A))
    world.run(10.0)
    drawn = 0
    for _ in range(60):
        answers = world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 100.0, ()))
        drawn += sum(len(encode(answer)) for answer in answers)
    said = HAVE_BYTES_MAX + HAVE_BYTES_A_SECOND * 60 * 0.05
    assert 200_000 < drawn <= said + 72_000  # the last answer is told whole


def _history(seconds: float, node: Node, now: float) -> list[Batch]:
    (local_group,) = node.local_groups
    return node.history(local_group, seconds, now)


@pytest.mark.parametrize(
    ("age", "seconds", "told"),
    [(200.0, 300.0, [120]), (200.0, 100.0, []), (10.0, 300.0, [])],
    ids=["more than is kept", "less", "all since the community began"],
)
def test_who_asks_for_more_than_others_keep_is_told_how_much_they_do(
    world: RepairWorld, age: float, seconds: float, told: list[int]
) -> None:
    for _ in members(world, A, A):
        world.run(age)
    asking = world.join(A)
    asking.outbox.happenings = []
    world.do(asking, partial(_history, seconds))
    world.run(5.0)
    reported = [one.count for one in asking.outbox.happenings if one.kind == "history_short"]
    assert reported == told


@pytest.mark.parametrize(
    ("backend", "order", "times"),
    [
        ("scamp", "fifo", [600.0]),
        ("dht", "arrival", [600.0]),
        ("hybrid", "fifo", [20.0, 600.0]),
        ("scamp", "arrival", [20.0, 600.0]),
    ],
)
def test_a_question_for_more_history_brings_all_that_is_kept_whatever_was_seen_or_asked_before(
    backend: str, order: Order, times: list[float]
) -> None:
    """Each event comes once, of a publisher that goes on and of one that is quiet."""
    world = RepairWorld(membership=backend)
    world.settings = attrs.evolve(world.settings, order=order)
    busy, quiet, *_ = members(world, A, A, A, A)
    sent = {b"%s%d" % (name, n) for name in (b"busy", b"quiet") for n in range(10)}
    for payload in sorted(sent):
        world.publish(busy if payload.startswith(b"busy") else quiet, A, payload, seconds=1.0)
    newcomer = world.join(A, gap=2.0)
    for seconds in times:
        live = b"live%d" % seconds
        world.publish(busy, A, live, seconds=15.0)  # by then it is known what came before it
        kept = world.do(newcomer, partial(_history, seconds))
        assert live in [payload for batch in kept for payload in batch.payloads()]
        world.run(10.0)
    assert Counter(world.payloads(newcomer)) >= Counter(sent)
    assert max(Counter(world.payloads(newcomer)).values()) == 1
    assert not [missed for node, missed in world.told if node is newcomer]


def test_history_that_newcomers_lack_is_asked_for_from_older_neighbours(
    world: RepairWorld,
) -> None:
    old, *_ = members(world, A, A)
    world.publish(old, A, b"old", seconds=5.0)
    newcomers = list(members(world, *[A] * 8))
    asking = world.join(A, gap=2.0)
    world.sever(*((asking, newcomer) for newcomer in newcomers[:4]))  # these do not answer
    (local_group,) = asking.local_groups
    assert local_group.membership is not None
    assert len(local_group.membership.neighbours()) > 4
    world.do(asking, partial(_history, 600.0))
    world.run(10.0)
    assert world.payloads(asking) == [b"old"]


def test_history_is_not_given_up_for_what_neighbours_said_before_it_was_asked_for(
    world: RepairWorld,
) -> None:
    """A hole that nobody can fill lets a newcomer ask all, who offer nothing that is older."""
    publisher, *_ = members(world, *[A] * 8)
    for number in range(1, 6):
        event = world.publish(publisher, A, b"old%d" % number, seconds=1.0)
    newcomer = world.join(A, gap=2.0)
    world.publish(publisher, A, b"new", seconds=1.0)
    world.hand(newcomer, make_batch(event.stream, 8, [b"alone"], A))
    world.run(30.0)
    world.do(newcomer, partial(_history, 600.0))
    world.run(10.0)
    assert {b"old%d" % number for number in range(1, 6)} <= set(world.payloads(newcomer))


# -- whom a process with an archive asks -----------------------------------------------------------

DAY = 86_400.0
ONE, OTHER = (Contact(PeerId(bytes([n] * 16)), f"tcp://10.0.0.{n}:7000") for n in (1, 2))


class Asked:
    """A process that became a member at time 0, whose archive ended a minute before."""

    def __init__(self, *neighbours: Contact) -> None:
        self.neighbours = list(neighbours)
        self.times: list[tuple[Contact, float]] = []
        """Who was asked, and how far back from now."""
        self.timer = 0
        community = SimpleNamespace(membership=SimpleNamespace(neighbours=lambda: self.neighbours))
        context = SimpleNamespace(
            community=community,
            member_since=0.0,
            streams=SimpleNamespace(known={}),
            retained=SimpleNamespace(archived_seconds=DAY, quiet_seconds=lambda now: 60.0 + now),
            outlet=SimpleNamespace(wake=self._wake),
            sample=lambda contacts, wanted: list(contacts)[:wanted],
        )
        haves = SimpleNamespace(send=self._send)
        self.history = History(cast("Any", context), cast("Any", haves))

    def _wake(self, _seconds: float, _name: str, number: int) -> None:
        self.timer = number

    def _send(self, contact: Contact, _held: object, _now: float, *, history: float) -> None:
        self.times.append((contact, history))

    def answer(self, contact: Contact, now: float) -> None:
        """Let a member answer that has become one just now, as this process has."""
        (back,) = [seconds for asked, seconds in self.times[-1:] if asked is contact]
        have = Have(b"n", now, now, "", 0, 0.0, (), back)
        self.history.on_have(contact.peer, have, now)

    def asked(self) -> list[Contact]:
        return [contact for contact, _ in self.times]


def test_a_neighbour_that_is_met_after_the_answer_of_the_only_one_is_asked_too() -> None:
    process = Asked(ONE)
    process.history.start(0.0)
    process.answer(ONE, 0.1)
    process.neighbours.append(OTHER)
    process.history.wake(process.timer, ANSWERED_SECONDS)
    assert process.asked() == [ONE, OTHER]


def test_who_asks_is_asked_back_until_it_answers_and_once() -> None:
    """As nobody was there in the minute: what this process lacks the other may have alone."""
    process = Asked(ONE)
    process.history.start(0.0)
    process.answer(ONE, 0.1)
    process.history.wake(process.timer, ANSWERED_SECONDS)
    assert not process.history.is_open
    process.neighbours.append(OTHER)
    process.history.on_question(OTHER, 30.0)
    process.history.wake(process.timer, 30.0 + ANSWERED_SECONDS)  # the question was lost
    assert process.asked() == [ONE, OTHER, OTHER]
    process.answer(OTHER, 33.0)
    process.history.on_question(OTHER, 40.0)
    assert process.asked() == [ONE, OTHER, OTHER]


def test_whose_minute_somebody_knows_asks_nobody_back() -> None:
    process = Asked(ONE)
    process.history.start(0.0)
    have = Have(b"n", 200.0, 200.0, "", 0, 0.0, (), DAY)
    process.history.on_have(ONE.peer, have, 0.1)
    process.history.on_question(OTHER, 30.0)
    assert process.asked() == [ONE]


# -- newcomers refer older members to each other ---------------------------------------------------


def second(world: RepairWorld, node: Node) -> int:
    """Return the second since 1970 of a node's clock."""
    (local_group,) = node.local_groups
    assert local_group.repair is not None
    return int(local_group.repair._clock.wall(world.now))


def referrals(world: RepairWorld) -> set[tuple[str, str]]:
    return {
        (target, said.elder.address) for _, target, said in world.said if isinstance(said, Referral)
    }


def test_a_newcomer_refers_to_each_other_those_who_know_what_it_does_not(
    world: RepairWorld,
) -> None:
    one, other = members(world, A, A)
    world.publish(one, A, b"old", seconds=5.0)
    newcomer = world.join(A)
    world.run(10.0)
    addresses = one.me.address, other.me.address
    assert referrals(world) == {addresses, addresses[::-1]}
    # They are neighbours, so they compare with each heartbeat, and not for this.
    assert not [said for *_, said in world.said if isinstance(said, Compare)]
    assert not world.payloads(newcomer)


def test_where_nothing_was_said_nobody_is_referred(world: RepairWorld) -> None:
    list(members(world, A, A))
    world.join(A)
    world.run(10.0)
    assert not referrals(world)


def test_who_knows_something_else_of_a_second_tells_it_and_asks_for_the_same(
    world: RepairWorld,
) -> None:
    one, _ = members(world, A, A)
    since = second(world, one)
    event = world.publish(one, A, b"goal", seconds=5.0)
    (answer,) = world.ask(one, Compare(100.0, since, b""))
    assert isinstance(answer, Have)
    assert [held[0] for held in answer.streams] == [event.stream]
    assert answer.reply


def test_who_knows_the_same_says_nothing(world: RepairWorld) -> None:
    one, other = members(world, A, A)
    since = second(world, one)
    world.publish(one, A, b"goal", seconds=5.0)
    (local_group,) = other.local_groups
    assert local_group.repair is not None
    parts = local_group.repair._tally.parts(since, since + 5)
    assert parts.strip(b"\0")
    assert not world.ask(one, Compare(100.0, since, parts))


def test_to_whom_strangers_refer_it_a_member_sends_little(world: RepairWorld) -> None:
    """A referral of 60 bytes may name anybody: it draws one message of its size to there."""
    one, _ = members(world, A, A)
    named = [Contact(PeerId(bytes([n] * 16)), f"tcp://10.9.8.{n}:7000") for n in range(1, 20)]
    said: list[tuple[str, Compare]] = []
    begun = world.now
    for elder in named:
        world.ask(one, Referral(elder))
        said += [(target, one) for _, target, one in world.said if isinstance(one, Compare)]
    asked = {target: None for target, _ in said}
    assert [*asked][:REFERRALS_A_SECOND] == [one.address for one in named[:REFERRALS_A_SECOND]]
    assert len(said) <= REFERRALS_A_SECOND * (1 + world.now - begun) < len(named)
    assert not any(one.parts for _, one in said)
    assert not world.ask(one, Compare(100.0, -(10**18), b"\1" * 4096))  # nor does it take long
    assert STRANGER.address not in {target for target, _ in said}
