"""What subscribers get is what was published, is made when asked for, and keeps no frame alive."""

import sys
import weakref

import pytest

from camcast import EventId, Received, ReceivedBatch
from camcast.received import batch_of, received_of
from tests.received_batches import HOPS, STREAM, TOPIC, batch, received, received_batch


def test_a_batch_has_what_its_events_have() -> None:
    payloads = [b"one", b"", b"three"]
    whole = received_batch(5, payloads, bytes.upper)
    events = list(whole)
    published = 1_700_000_000.25
    assert events == [
        Received(STREAM, 5 + place, TOPIC, payload, payload.upper(), HOPS, published)
        for place, payload in enumerate(payloads)
    ]
    assert [event.id for event in events] == whole.ids == [EventId(STREAM, n) for n in (5, 6, 7)]
    assert whole.payloads == tuple(payloads)
    assert whole.values == (b"ONE", b"", b"THREE")
    assert (len(whole), whole.size) == (3, 8)
    assert (whole.stream, whole.topic, whole.hops) == (STREAM, TOPIC, HOPS)
    assert whole.published == published


def test_an_event_that_came_alone_is_the_same_as_one_of_a_batch() -> None:
    alone, among = received(5, [b"one"]), received_batch(5, [b"one", b"two"]).part([0])
    assert [alone] == list(among)
    assert isinstance(alone, Received)
    batch = batch_of(alone)
    assert list(batch) == [alone]
    assert (batch.payloads, batch.values, batch.ids) == ((b"one",), (b"one",), [alone.id])
    assert (len(batch), batch.size, batch.stream, batch.topic) == (1, 3, STREAM, TOPIC)
    assert (batch.hops, batch.published) == (HOPS, 1_700_000_000.25)


def test_a_part_is_a_batch_of_the_events_that_were_asked_for() -> None:
    whole = received_batch(1, [b"%d" % number * number for number in range(6)], len)
    part = whole.part([1, 3, 4])
    assert list(part) == [list(whole)[place] for place in (1, 3, 4)]
    assert part.values == (1, 3, 4)
    assert part.ids == [EventId(STREAM, number) for number in (2, 4, 5)]
    assert (len(part), part.size) == (3, 8)
    assert list(part.part(range(1, 3))) == list(part)[1:]


class Number:
    def __init__(self, text: bytes) -> None:
        self.number = int(text)


@pytest.mark.parametrize("payloads", [[b"1"], [b"1", b"2"]])
def test_values_are_decoded_when_they_are_asked_for_and_nobody_keeps_them(
    payloads: list[bytes],
) -> None:
    """They may take many times the bytes that bound a queue, in which the batch still is."""
    decoded: list[weakref.ref[Number]] = []

    def decode(payload: bytes) -> Number:
        number = Number(payload)
        decoded.append(weakref.ref(number))
        return number

    whole = received(1, payloads, decode)
    assert isinstance(whole, ReceivedBatch)
    assert whole.payloads == tuple(payloads)
    assert not decoded
    values = [*whole.values, *(event.value for event in whole)]
    numbers = [value.number for value in values if isinstance(value, Number)]
    assert numbers == list(map(int, payloads)) * 2
    del values
    assert [number() for number in decoded] == [None] * len(numbers)


def test_an_event_or_a_batch_that_is_kept_does_not_keep_what_it_came_in() -> None:
    """One event of a full frame would otherwise hold 32 KiB for as long as it is kept."""
    came = batch(1, [bytes(100)] * 200)
    held = sys.getrefcount(came)
    whole = received_of(came)
    assert sys.getrefcount(came) > held
    assert isinstance(whole, ReceivedBatch)
    kept = next(iter(whole))
    assert sys.getrefcount(came) == held
    assert len(kept.payload) == 100
