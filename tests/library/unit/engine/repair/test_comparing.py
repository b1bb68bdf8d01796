"""Members of a community get the same last values, and nobody else gets any."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace

from camcast.engine.node import Node
from camcast.engine.repair.comparing import TELL_SECONDS, UPWARD_SECONDS, Comparing
from camcast.engine.repair.messages import Buckets, Values, ValuesKnown, ValuesWanted
from camcast.testing import World
from camcast.vocabulary.batches import Batch, Keyed, make_batch
from camcast.vocabulary.events import EventId, stream_id
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.unit.engine.repair.repair_world import (
    AX,
    RETENTION,
    STRANGER,
    A,
    RepairWorld,
    members,
)
from tests.signed_world import SOCCER, SignedWorld, key

B = Topic.parse(".b")
KEY_MESSAGES = (ValuesKnown, Buckets, ValuesWanted, Values)


def put(
    world: World,
    node: Node,
    key: bytes,
    value: bytes | None,
    topic: Topic = A,
    p_sel: float | None = None,
) -> EventId:
    keyed = Keyed(key, value is None)

    def publish(node: Node, now: float) -> EventId:
        return node.publish(topic, value or b"", now, keyed=keyed, upward_probability=p_sel).id

    return world.do(node, publish)


def values(node: Node, topic: Topic = A) -> dict[tuple[str, bytes], bytes | None]:
    """Return what a node keeps; None for a key that is deleted."""
    local_group = node.local_group(topic)
    assert local_group is not None
    assert local_group.last_values is not None
    return {
        (of.name, key): None if value.deleted else value.batch.payloads()[0]
        for of, kept in local_group.last_values.topics.items()
        for key, value in kept.items()
    }


def of_a(**kept: bytes | None) -> dict[tuple[str, bytes], bytes | None]:
    return {(".a", key.encode()): value for key, value in kept.items()}


def said_of_keys(world: RepairWorld) -> list[tuple[str, str, object]]:
    return [one for one in world.said if isinstance(one[2], KEY_MESSAGES)]


def test_a_newcomer_gets_the_last_values_of_a_publisher_that_died_long_ago(
    world: RepairWorld,
) -> None:
    publisher, *others = members(world, *[A] * 5)
    for number in range(100):
        put(world, publisher, b"%d" % number, b"old")
    for number in range(50):
        put(world, publisher, b"%d" % number, b"new")
    put(world, publisher, b"99", None)
    world.run(1.0)
    world.kill(publisher)
    world.run(RETENTION + 60.0)
    newcomer = world.join(A)
    world.run(2.0)
    kept = values(newcomer)
    assert len(kept) == 100
    assert kept[".a", b"0"] == b"new"
    assert kept[".a", b"98"] == b"old"
    assert kept[".a", b"99"] is None
    assert all(values(node) == kept for node in others)
    # As last values alone: what was published before its time does not come as events.
    assert newcomer.counters.events == newcomer.counters.repaired == 0
    assert world.told == []


def test_two_halves_of_a_partition_are_one_beyond_the_retention(world: RepairWorld) -> None:
    nodes = list(members(world, *[A] * 6))
    one, other = nodes[:3], nodes[3:]
    world.sever(*((here, there) for here in one for there in other))
    world.run(30.0)
    put(world, one[0], b"here", b"1")
    put(world, one[0], b"both", b"1")
    world.run(1.0)
    put(world, other[0], b"there", b"2")
    put(world, other[0], b"both", b"2")
    world.run(RETENTION + 30.0)
    assert values(one[1]) == of_a(here=b"1", both=b"1")
    assert values(other[1]) == of_a(there=b"2", both=b"2")
    world.heal()
    world.run(60.0)
    assert [values(node) for node in nodes] == [of_a(here=b"1", both=b"2", there=b"2")] * 6


def test_without_keys_nobody_says_a_word_of_last_values(world: RepairWorld) -> None:
    one, *_ = members(world, A, A, A)
    world.publish(one, A, seconds=20.0)
    assert not said_of_keys(world)


def test_a_super_process_keeps_the_keys_of_its_subtopics_and_others_none(
    world: RepairWorld,
) -> None:
    above, beside, publisher, below = members(world, A, B, AX, AX)
    put(world, publisher, b"roof", b"1", AX)
    put(world, publisher, b"own", b"2", AX, 0.0)  # stays in its community
    put(world, above, b"roof", b"3", A)
    world.run(10.0)
    assert values(above) == {(".a.x", b"roof"): b"1", (".a", b"roof"): b"3"}
    assert values(below, AX) == {(".a.x", b"roof"): b"1", (".a.x", b"own"): b"2"}
    assert values(beside, B) == {}
    assert world.parasites == 0


def test_the_first_super_process_gets_what_climbs_of_long_ago(world: RepairWorld) -> None:
    publisher, _ = members(world, AX, AX)
    put(world, publisher, b"roof", b"1", AX)
    put(world, publisher, b"own", b"2", AX, 0.0)
    world.run(RETENTION + 60.0)
    above = world.join(A)
    both = world.join(AX, ROOT)
    world.run(60.0)
    assert values(above) == values(both, ROOT) == {(".a.x", b"roof"): b"1"}
    assert values(both, AX) == values(publisher, AX)


def test_who_leaves_above_and_joins_again_hands_over_again(world: RepairWorld) -> None:
    both = world.join(AX, A)
    put(world, both, b"roof", b"1", AX)
    world.run(RETENTION + 60.0)
    world.leave(both, A)
    world.do(both, lambda node, now: node.join(A, now))
    world.run(UPWARD_SECONDS + TELL_SECONDS)
    assert values(both, A) == {(".a.x", b"roof"): b"1"}


def test_last_values_come_to_their_subscribers_alone_and_once(world: RepairWorld) -> None:
    publisher, _ = members(world, A, A)
    put(world, publisher, b"k", b"1")
    world.run(RETENTION + 60.0)
    delivered: list[tuple[Node, bool]] = []
    world.virtual.on_delivery = lambda process, delivery: delivered.append(
        (process.node, delivery.last_value)
    )
    newcomer = world.join(A)
    world.run(5.0)
    assert delivered == [(newcomer, True)]
    put(world, publisher, b"k", b"2")
    world.run(5.0)
    assert delivered[1:].count((newcomer, False)) == 1
    assert (newcomer, True) not in delivered[1:]


def test_who_has_heard_a_value_of_a_clock_ahead_replaces_it(world: RepairWorld) -> None:
    one, other = members(world, A, A)
    put(world, one, b"k", b"1")
    world.run(1.0)
    local_group = one.local_group(A)
    assert local_group is not None
    assert local_group.last_values is not None
    ahead = make_batch(
        stream_id(one.me.peer, 1 << 40),
        1,
        [b"ahead"],
        A,
        published=round(1000 * (one.clock.wall(world.now) + 30)),
        keyed=Keyed(b"k"),
    )
    world.hand(other, ahead)
    world.hand(one, make_batch(stream_id(STRANGER.peer, 1), 1, [b"!"], A))
    world.run(5.0)
    assert values(other) == of_a(k=b"ahead")
    put(world, other, b"k", b"2")
    world.run(5.0)
    assert values(one) == values(other) == of_a(k=b"2")


def test_no_stranger_without_a_nonce_gets_values_and_no_answer_is_unbounded(
    world: RepairWorld,
) -> None:
    one, _ = members(world, A, A)
    for number in range(12):
        put(world, one, b"%d" % number, bytes(500_000))
    world.run(2.0)
    everything = ((".a", 1, (0,), b""),)
    assert world.ask(one, ValuesWanted(b"guessed!", "", everything)) == []
    (buckets,) = world.ask(one, Buckets(b"", "", 1, ()))
    assert isinstance(buckets, Buckets)
    answers = world.ask(one, ValuesWanted(buckets.nonce, "", everything))
    bodies = [body for answer in answers if isinstance(answer, Values) for _, body in answer.bodies]
    assert 4 <= len(bodies) < 12
    assert world.ask(one, ValuesWanted(buckets.nonce, "", everything)) == []


@pytest.mark.parametrize(
    "message",
    [
        Buckets(b"", "", 0, ((".a", b"12345678" * 3),)),
        Buckets(b"", "", 0, ((".a", b"1234567"),)),
        Buckets(b"", "", 0, (("no topic", b"12345678"),)),
        Values("", ((1, make_batch(stream_id(STRANGER.peer, 1), 1, [b"x"], A).body),)),
        Values("", ((1, b"short"),)),
    ],
)
def test_lies_about_last_values_are_malformed_and_leave_nothing(
    world: RepairWorld, message: Buckets | Values
) -> None:
    one, _ = members(world, A, A)
    put(world, one, b"k", b"1")
    world.run(1.0)
    malformed = one.counters.malformed
    world.ask(one, message)
    assert one.counters.malformed == malformed + 1
    assert values(one) == of_a(k=b"1")


def test_a_value_of_a_topic_that_is_no_business_of_the_community_is_not_taken(
    world: RepairWorld,
) -> None:
    one, _ = members(world, A, A)

    def foreign(topic: Topic, p_sel: float | None = None) -> Batch:
        return make_batch(
            stream_id(STRANGER.peer, 1),
            1,
            [b"x"],
            topic,
            upward_probability=p_sel,
            keyed=Keyed(b"k"),
        )

    for batch in (foreign(B), foreign(ROOT), foreign(AX, 0.0)):
        world.ask(one, Values("", ((1, batch.body),)))
    assert values(one) == {}
    world.ask(one, Values("", ((1, foreign(AX).body),)))
    assert values(one) == {(".a.x", b"k"): b"x"}


def test_signed_last_values_are_verified_however_old_they_are() -> None:
    """Beyond the retention and the five minutes by which clocks may differ no event is believed."""
    world = SignedWorld(repair=True)
    publisher, other = (world.member(key(number), SOCCER) for number in (1, 2))
    put(world, publisher, b"goal", b"1", SOCCER)
    world.run(RETENTION + 400.0)
    world.kill(publisher)
    newcomer = world.member(key(3), SOCCER)
    world.run(10.0)
    assert values(newcomer, SOCCER) == values(other, SOCCER) == {(".soccer", b"goal"): b"1"}
    local_group = other.local_group(SOCCER)
    assert local_group is not None
    assert local_group.last_values is not None
    genuine = local_group.last_values.topics[SOCCER][b"goal"].batch
    forged = replace(genuine, first=2, body=genuine.body.replace(b"goal", b"foul"))
    for one in (other, newcomer):
        group = one.local_group(SOCCER)
        assert group is not None
        assert group.repair is not None
        assert group.repair.comparing is not None
        world.do(one, partial(take, group.repair.comparing, forged))
    assert values(newcomer, SOCCER) == values(other, SOCCER) == {(".soccer", b"goal"): b"1"}


def take(comparing: Comparing, batch: Batch, _node: Node, now: float) -> None:
    comparing.take(batch, STRANGER.peer, now)
