"""What subscribers get is what was published, is made when asked for, and keeps no frame alive."""

import sys

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
    alone, among = received(5, [b"one"], len), received_batch(5, [b"one", b"two"], len).part([0])
    assert [alone] == list(among)
    assert isinstance(alone, Received)
    batch = batch_of(alone)
    assert list(batch) == [alone]
    assert (batch.payloads, batch.values, batch.ids) == ((b"one",), (3,), [alone.id])
    assert (len(batch), batch.size, batch.stream, batch.topic) == (1, 3, STREAM, TOPIC)
    assert (batch.hops, batch.published) == (HOPS, 1_700_000_000.25)


def test_a_part_is_a_batch_of_the_events_that_were_asked_for() -> None:
    whole = received_batch(1, [b"%d" % number * number for number in range(6)], len)
    for values_first in (False, True):
        if values_first:
            assert whole.values == (0, 1, 2, 3, 4, 5)
        part = whole.part([1, 3, 4])
        assert list(part) == [list(whole)[place] for place in (1, 3, 4)]
        assert part.ids == [EventId(STREAM, number) for number in (2, 4, 5)]
        assert (len(part), part.size) == (3, 8)
    assert list(part.part(range(1, 3))) == list(part)[1:]


def test_a_value_is_decoded_once_and_only_when_asked_for() -> None:
    decoded: list[bytes] = []

    def decode(payload: bytes) -> object:
        decoded.append(payload)
        return len(decoded)

    whole = received_batch(1, [b"a", b"b"], decode)
    assert whole.payloads == (b"a", b"b")
    assert not decoded
    assert [event.value for event in whole] == [1, 2]
    assert whole.values == whole.part([0, 1]).values == (1, 2)
    assert decoded == [b"a", b"b"]


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
