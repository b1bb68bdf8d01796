"""A process in many communities: its nodes, its turns in the DHT, and what all that costs."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from random import Random

import pytest

from camcast.testing.town import Town
from camcast.vocabulary.topics import Topic
from overlays.kademlia.overlay import UPKEEP_SHARE_SECONDS
from overlays.kademlia.own_nodes import OwnNodes
from overlays.kademlia.table import NODE_ID_BYTES, Neighbour
from overlays.kademlia.turns import AT_ONCE, Turns
from tests.steps import counted_steps, exponent

EXPONENT_MAX = 1.2


def test_own_nodes_come_in_the_order_of_their_xor_distance() -> None:
    """As by a sort of all; some identifiers begin with the same bytes, and some are removed."""
    rng, own, twin = Random(1), OwnNodes(), dict[bytes, Neighbour]()
    for number in range(300):
        shared = rng.choice((b"", b"same", b"\xff" * 19))
        node = Neighbour(shared + rng.randbytes(NODE_ID_BYTES - len(shared)))
        if node.id not in twin:
            twin[node.id] = node
            own.add(node)
        if number % 3 == 0:
            gone = rng.choice(list(twin))
            del twin[gone]
            own.remove(gone)
            assert gone not in own
        point = int.from_bytes(shared + rng.randbytes(NODE_ID_BYTES - len(shared)))
        by_number = {one.long_id ^ point: one for one in twin.values()}
        by_distance = [by_number[distance] for distance in sorted(by_number)]
        assert list(own.nearest(point)) == by_distance


def test_all_have_their_turn_in_order_and_only_so_many_at_once() -> None:
    turns, begun = Turns(), list[int]()

    def begin(number: int, _now: float) -> None:
        begun.append(number)

    for number in range(3 * AT_ONCE):
        turns.add(partial(begin, number), 0.0)
    for over in range(3 * AT_ONCE):
        assert begun == list(range(min(3 * AT_ONCE, over + AT_ONCE)))
        turns.end(0.0)


def test_what_ends_as_it_begins_makes_room_for_thousands() -> None:
    """Whoever is alone has nobody to wait for: that must not nest one turn in another."""
    turns, ended = Turns(), list[float]()

    def begin(now: float) -> None:
        ended.append(now)
        turns.end(now)

    for _ in range(AT_ONCE):
        turns.add(lambda _now: None, 0.0)
    for number in range(5_000):
        turns.add(begin, float(number))
    turns.end(1.0)
    assert ended == [1.0] * 5_000


def test_a_withdrawal_before_its_turn_leaves_nothing_behind() -> None:
    topics = [Topic.parse(f".t{number}") for number in range(2 * AT_ONCE)]
    with Town("kademlia") as town:
        other, finder = town.add(), town.add()
        for topic in topics:
            town.announce(other, topic=topic, settle=0.0)
        last = topics[-1]
        town.withdraw(other, last)
        town.run(30.0)
        assert not town.seek(finder, last).contacts
        town.announce(other, topic=last)
        for topic in (topics[0], topics[-2], last):
            assert town.seek(finder, topic).contacts == (other.me,)


def test_no_turn_is_lost_to_those_that_withdraw_or_seek_meanwhile() -> None:
    """If it were, the process would find and enter nothing any more after `AT_ONCE` of them."""
    rng = Random(1)
    with Town("kademlia") as town:
        other, finder = town.add(), town.add()
        topics = [Topic.parse(f".t{number}") for number in range(4 * AT_ONCE)]
        for topic in topics:  # more than have their turn
            town.announce(other, topic=topic, settle=0.0)
            town.start_seek(rng.choice((other, finder)), topic)
        for topic in reversed(topics):  # first those that wait
            if topic in topics[:AT_ONCE]:
                town.run(rng.choice((0.0, 0.1)))
            town.withdraw(other, topic)
        town.run(60.0)
        last = Topic.parse(".last")
        town.announce(other, topic=last)
        assert town.seek(finder, last).contacts == (other.me,)


def _steps(communities: int) -> int:
    """Return the steps in which two processes enter the same communities and find each other."""
    town = Town("kademlia")
    topics = [Topic.parse(f".t{number}") for number in range(communities)]
    other = town.add()
    with counted_steps() as steps:
        for person in (town.gateway, other):
            for topic in topics:
                town.announce(person, topic=topic, settle=0.0)
                town.start_seek(person, topic)
            town.run(20.0)
    assert [finding.contacts for _, finding in other.findings] == [(town.gateway.me,)] * communities
    return steps.count


@pytest.mark.slow
def test_what_joins_cost_in_the_dht_grows_as_their_number() -> None:
    assert exponent([_steps(40), _steps(160)], 4) <= EXPONENT_MAX


def _steps_of_seeks_after_loneliness(communities: int) -> int:
    """Return the steps of ten seeks by a process that met another one after it had entered all."""
    town = Town("kademlia")
    topics = [Topic.parse(f".t{number}") for number in range(communities)]
    for topic in topics:
        town.announce(town.gateway, topic=topic, settle=0.0)
    town.run(1.0)
    town.announce(town.add(), topic=topics[0])
    with counted_steps() as steps:
        for topic in topics[:10]:
            town.start_seek(town.gateway, topic)
        town.run(2.0)
    return steps.count


def test_nodes_of_its_own_without_neighbours_cost_a_look_up_nothing() -> None:
    few, many = map(_steps_of_seeks_after_loneliness, (50, 800))
    assert many <= 1.3 * few  # 1.6 if all of them are looked through


def test_upkeep_of_all_identifiers_together_is_bounded() -> None:
    """Alone, each would be due every quarter of a minute."""
    town = Town("kademlia")
    for number in range(150):
        town.announce(town.gateway, topic=Topic.parse(f".t{number}"), settle=0.0)
    discovery, upkeeps = town.gateway.discovery, list[float]()
    wake = discovery.wake

    def note(name: tuple[Hashable, ...], now: float) -> None:
        if name[2:3] == ("upkeep",):
            upkeeps.append(now)
        wake(name, now)

    discovery.wake = note  # type: ignore[method-assign]  # to count
    town.run(3 * 150 * UPKEEP_SHARE_SECONDS)
    assert len(upkeeps) == pytest.approx(3 * 150, rel=0.25)
