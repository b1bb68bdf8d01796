"""What a process knows is told as seldom as it serves, and in bounded bytes."""

from __future__ import annotations

from random import Random

import pytest

from camcast.engine.repair.agreement import FULL_SECONDS, TOLD_MAX
from camcast.engine.repair.messages import Have
from camcast.engine.repair.shared import OLDER_SECONDS
from camcast.virtual.climate import Climate
from camcast.virtual.weather import Weather
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.wire import Kind
from tests.library.unit.engine.repair.repair_world import (
    RETENTION,
    A,
    RepairWorld,
    members,
)


@pytest.mark.parametrize(
    "bounds",
    [(), (0,), (5, 4, 6), (5, 6), (1, 1, 2), (2**32 + 1,), tuple(range(1, 2**8, 2))],
    ids=str,
)
def test_a_have_of_ranges_that_cannot_be_is_malformed(
    world: RepairWorld, bounds: tuple[int, ...]
) -> None:
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    before = one.counters.malformed
    world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, ((stream, 1, 0, bounds),)))
    assert one.counters.malformed == before + 1


def test_nothing_is_kept_of_a_have_that_names_no_topic(world: RepairWorld) -> None:
    """Once it was kept, and the timer of asking raised when it read the name (a fuzz found it)."""
    (one,) = members(world, A)
    stream, before = stream_id(PeerId(b"p" * 16), 1), one.counters.malformed
    world.ask(one, Have(b"n", 1.0, 1.0, "no topic", 0, 1.0, ((stream, 1, 0, (9,)),)))
    world.run(RETENTION)
    assert one.counters.malformed == before + 1
    assert world.said == []


def test_a_have_that_was_late_makes_no_member_younger(world: RepairWorld) -> None:
    """It was then not offered what is from its first second, and took that for older than itself
    (hybrid 848); but who comes back as itself is a member anew."""
    (one,) = members(world, A)
    joined = world.now
    world.publish(one, A, seconds=10.0)

    def offered_to(member: float) -> list[int]:
        said = world.ask(one, Have(b"n", member, 1.0, "", 1, 0.0, ()))
        world.run(FULL_SECONDS)
        return [held[1] for have in said if isinstance(have, Have) for held in have.streams]

    assert offered_to(world.now - joined) == [1]
    assert offered_to(world.now - joined - 1.0) == [1]  # it was on its way for a second
    assert offered_to(0.1) == []


def test_many_new_streams_do_not_make_repair_talk_without_end(world: RepairWorld) -> None:
    """200 publishers of one event a second: at most 32 kB of `Have` a second and node (issue 14),
    once what may be said at once was said."""
    nodes = list(members(world, *[A] * 6))
    said: dict[str, int] = {}

    def count(source: str, _target: str, records: bytes) -> None:
        if records[4] == Kind.REPAIR:
            said[source] = said.get(source, 0) + len(records)

    world.virtual.on_send = count
    published = 0

    def publish(seconds: int) -> None:
        nonlocal published
        for _ in range(10 * seconds):
            for _ in range(20):
                published += 1
                stream = stream_id(PeerId(published.to_bytes(16)), 1)
                world.hand(nodes[published % 6], make_batch(stream, 1, [b"lone"], A))
            world.run(0.1)

    publish(seconds=60)
    said.clear()
    publish(seconds=20)
    assert max(said.values()) <= 20 * 32_000
    assert min(said.values()) >= 20 * 10_000  # and the news are told
    assert all(node.counters.events == published for node in nodes)


def fulls(world: RepairWorld) -> int:
    return sum(isinstance(message, Have) and message.reply for *_, message in world.said)


def test_under_a_steady_flux_of_new_streams_nobody_tells_all(world: RepairWorld) -> None:
    """Five lone events a second, by each member in turn: the hashes of what had been quiet for two
    seconds hardly ever agreed, and neighbours told each other all they knew without end."""
    nodes = list(members(world, *[A] * 10))
    for number in range(100):
        stream = stream_id(PeerId(number.to_bytes(16)), 1)
        lone = make_batch(stream, 1, [b"lone"], A, published=round(1000 * world.now))
        world.hand(nodes[number % 10], lone)
        world.run(0.2)
    assert all(node.counters.events == 100 for node in nodes)
    assert fulls(world) == 0
    world.run(OLDER_SECONDS)  # what is younger than that, a newcomer may still get
    newcomer = world.join(A)
    world.run(200.0)  # it knows less, and all neighbours find that out, some of them twice
    told = [said[:2] for said in world.said if isinstance(said[2], Have) and said[2].reply]
    assert 0 < max(map(told.count, told)) <= TOLD_MAX + 1
    assert newcomer.counters.events == 0


def test_where_events_are_seconds_late_neighbours_seldom_tell_all_they_know(
    world: RepairWorld,
) -> None:
    """431 full `Have`s when tallies went to three seconds ago, however late the events were."""
    nodes = list(members(world, *[A] * 10))
    late = Climate(reordering=1.0, hold_seconds_max=8.0)
    world.virtual.weather = Weather(late, Random(1))
    for number in range(200):
        world.publish(nodes[number % 3], A, b"%d" % number, seconds=0.2)
    assert fulls(world) < 100
    world.run(30.0)
    assert all(len(world.payloads(node)) == 200 for node in nodes)


@pytest.mark.parametrize(("late", "told"), [(0.0, 1), (3.0, 0)])
def test_who_is_late_itself_compares_nothing_with_those_who_are_not(
    world: RepairWorld, late: float, told: int
) -> None:
    one, other = members(world, A, A)
    world.publish(one, A, seconds=5.0)
    (participation,) = one.participations
    assert participation.repair is not None
    one._maker._lateness.came(late, world.now)
    second, tally = one._maker._lateness.second(one._since_1970, world.now), bytes(8)
    second += one._maker._lateness.lag(world.now)  # to which one goes that is not late
    stranger = Contact(PeerId(b"newcomer-newcome"), other.me.address)
    hear = participation.repair.hear_tally
    world.do(one, lambda _, now: hear(stranger, tally, second, now))
    assert fulls(world) == told


def test_who_gave_up_what_its_neighbours_had_is_left_in_peace(world: RepairWorld) -> None:
    one, *others = members(world, A, A, A, A, A)
    away = others[-1]
    world.publish(one, A, b"before")
    world.sever(*((away, node) for node in (one, *others[:-1])))
    world.publish(one, A, b"missed", seconds=RETENTION + 30.0)
    world.heal()
    world.publish(one, A, b"after", seconds=60.0)
    assert [(node, told.first, told.last) for node, told in world.told] == [(away, 2, 2)]
    world.said.clear()
    world.run(60.0)
    assert not world.said
