"""The map of last values: who wins, what is let go, and that all orders give the same map."""

from __future__ import annotations

from random import Random

from msgspec.structs import replace

from camcast.engine.repair.last_values import (
    AHEAD_SECONDS,
    BUCKETS_MAX,
    DELETED_SECONDS,
    LastValues,
    bucket_of,
    buckets_for,
)
from camcast.engine.store import BATCH_BYTES
from camcast.vocabulary.batches import NOT_UPWARD, Batch, Keyed, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

TOPIC, OTHER = Topic.parse(".plant"), Topic.parse(".plant.roof")
NOW = 1_000_000.0  # seconds since 1970


def event(
    key: bytes,
    published: int = 0,
    number: int = 1,
    first: int = 1,
    topic: Topic = TOPIC,
    payload: bytes = b"x",
    *,
    deleted: bool = False,
) -> Batch:
    """Return an event with a key, published so many milliseconds after `NOW`."""
    return make_batch(
        stream_id(PeerId(bytes(16)), number),
        first,
        [b"" if deleted else payload],
        topic,
        published=round(1000 * NOW) + published,
        keyed=Keyed(key, deleted),
    )


def kept(values: LastValues) -> dict[tuple[Topic, bytes], Batch]:
    return {
        (topic, key): value.batch
        for topic, of in values.topics.items()
        for key, value in of.items()
    }


def test_the_later_time_then_the_stream_then_the_number_wins() -> None:
    ascending = [
        event(b"k", -5, 9, 9),
        event(b"k", -4, 1, 7),
        event(b"k", -4, 2, 1),
        event(b"k", -4, 2, 3),
    ]
    for last, batch in enumerate(ascending):
        values = LastValues()
        for other in [*ascending[: last + 1], *ascending[:last]]:
            values.add(other, NOW)
        assert kept(values) == {(TOPIC, b"k"): batch}


def test_every_order_of_arrival_gives_the_same_map_digest_and_room() -> None:
    rng = Random(7)
    events = [
        event(
            b"%d" % rng.randrange(20),
            -rng.randrange(30),
            rng.randrange(3),
            number + 1,
            rng.choice((TOPIC, OTHER)),
            deleted=rng.random() < 0.2,
        )
        for number in range(200)
    ]
    maps = []
    for _ in range(5):
        rng.shuffle(events)
        values = LastValues()
        for batch in events:
            values.add(batch, NOW)
        maps.append(values)
    for values in maps:
        assert kept(values) == kept(maps[0])
        assert values.digest() == maps[0].digest() != 0
        assert values.bytes == sum(len(one.body) + BATCH_BYTES for one in kept(values).values())
        assert values.keys == len(kept(values))
        for topic in values.topics:
            assert values.buckets(topic, 8) == maps[0].buckets(topic, 8)


def test_beyond_the_room_the_oldest_go_and_what_is_as_old_does_not_come_back() -> None:
    size = len(event(b"00").body) + BATCH_BYTES
    values = LastValues(bytes_max=3 * size)
    events = [event(b"%02d" % number, number - 10, 1, number + 1) for number in range(6)]
    for batch in events:
        assert values.add(batch, NOW)
    assert kept(values) == {(TOPIC, b"%02d" % n): events[n] for n in (3, 4, 5)}
    assert values.let_go == 3
    assert not values.add(events[2], NOW)
    assert not values.add(event(b"older", -60_000), NOW)
    assert values.let_go == 3, "what is as old is not taken, and so costs nothing"
    assert values.add(event(b"99", 0, 1, 7), NOW)
    assert (TOPIC, b"03") not in kept(values)


def test_the_room_holds_where_one_key_changes_for_ever() -> None:
    values = LastValues()
    for number in range(1000):
        values.add(event(b"hot", number - 2000, 1, number + 1), NOW)
        values.add(event(b"cold", -3000), NOW)
    assert values.keys == 2
    assert len(values._oldest) < 50


def test_the_order_of_a_publisher_with_many_values_is_bounded_too() -> None:
    size = len(event(b"cold").body) + BATCH_BYTES
    values = LastValues(bytes_max=20 * size)
    for number in range(1000):
        values.add(event(b"hot%d" % (number % 3), number - 2000, 1, number + 1), NOW)
        values.add(event(b"cold", -3000), NOW)
    assert values.keys == 4
    (publisher,) = values._publishers.values()
    assert publisher.bytes == values.bytes
    assert publisher.oldest is not None
    assert len(publisher.oldest) < 50


def test_what_was_deleted_is_forgotten_after_a_day_and_not_taken_again() -> None:
    values = LastValues()
    value, deletion = event(b"k", -1), event(b"k", 0, first=2, deleted=True)
    values.add(value, NOW)
    values.add(deletion, NOW)
    assert not values.add(value, NOW)  # the deletion wins, for as long as it is kept
    values.forget_deleted(NOW + DELETED_SECONDS - 1)
    assert kept(values) == {(TOPIC, b"k"): deletion}
    values.forget_deleted(NOW + DELETED_SECONDS)
    assert not values
    assert values.digest() == 0
    assert not values.add(deletion, NOW + DELETED_SECONDS)


def test_who_replaces_a_value_of_a_clock_ahead_wins_and_a_clock_far_ahead_waits() -> None:
    values = LastValues()
    ahead = event(b"k", 5000)
    assert values.add(ahead, NOW)
    now = round(1000 * NOW)
    assert values.date(TOPIC, b"k", now, 0) == ahead.published + 1
    assert values.date(TOPIC, b"another", now, 0) == now
    assert values.date(TOPIC, b"another", now, now + 7) == now + 7  # as the event before it
    assert values.date(TOPIC, b"another", now, 2 * now) == now  # of before a clock was set
    far = event(b"k", round(1000 * AHEAD_SECONDS) + 1)
    assert not values.add(far, NOW)
    assert values.add(far, NOW + 1)


def test_what_is_kept_is_not_taken_again() -> None:
    values = LastValues()
    assert values.add(event(b"k"), NOW)
    assert not values.add(event(b"k"), NOW)


def test_upward_the_buckets_leave_out_what_does_not_climb() -> None:
    values, climbing = LastValues(), LastValues()
    stays = event(b"stays", first=2)
    values.add(replace(stays, flags=stays.flags | NOT_UPWARD), NOW)
    for one in (values, climbing):
        one.add(event(b"climbs"), NOW)
    assert values.buckets(TOPIC, 1) != climbing.buckets(TOPIC, 1)
    assert values.buckets(TOPIC, 1, upward=True) == climbing.buckets(TOPIC, 1)


def test_a_digest_of_a_second_has_what_was_published_before_it() -> None:
    one, other = LastValues(), LastValues()
    second = int(NOW)
    for values in (one, other):
        values.add(event(b"a", -9000), NOW)
        values.add(event(b"b", -8000, first=2), NOW)
    one.add(event(b"a", -1000, first=3), NOW)  # which is on its way to the other
    assert one.digest() != other.digest()
    assert one.digest(second - 3) == other.digest(second - 3) == other.digest()
    assert one.digest(second + 1) == one.digest()
    assert one.digest(second - 1) == other.digest(), "its own second is not before it"


def test_buckets_divide_the_keys_and_are_so_many_as_pay() -> None:
    assert [buckets_for(keys) for keys in (1, 8, 9, 100, 10**6)] == [1, 1, 2, 16, BUCKETS_MAX]
    values = LastValues()
    for number in range(100):
        values.add(event(b"%d" % number, first=number + 1), NOW)
    whole = dict(values.topics[TOPIC])
    for number in range(16):
        within = list(values.within(TOPIC, 16, {number: None}))
        keys = [key for key in whole if bucket_of(key, 16) == number]
        assert within == [whole[key] for key in keys]
        digest = 0
        for value in within:
            digest ^= value.part
        assert values.buckets(TOPIC, 16)[number] == digest
