"""What subscribers get is what was published, is made when asked for, and keeps no frame alive.

The queue of a subscription is compared, policy by policy, with a twin that knows single events.
"""

import sys
import weakref
from collections.abc import Sequence
from typing import Final, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast import EventId, Lagged, Overflow, Received, ReceivedBatch
from camcast.inbox.received import TELLS_MAX, DeliveryQueue, Gap, batch_of, received_of, with_value
from camcast.vocabulary.events import Missed, StreamId
from camcast.vocabulary.topics import ROOT
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


# -- the queue ------------------------------------------------------------------------------------

MANY: Final = 1_000_000
EVENT, BATCH = "event", "batch"
EVENT_BACK, BATCH_BACK = "event and back", "batch and back"
"""Take it, and put it back."""
Step = str | list[int]
"""What to take, or the sizes of the events of a batch to put in."""
Taken = list[int] | Gap | None
"""The numbers of events, a gap, or nothing."""


class Item(NamedTuple):
    number: int
    size: int
    batch: int


class Twin:
    """A list of events and gaps."""

    def __init__(self, events_max: int, bytes_max: int, overflow: Overflow) -> None:
        self.events_max, self.bytes_max, self.overflow = events_max, bytes_max, overflow
        self.items: list[Item | Lagged] = []

    def fits(self) -> bool:
        events = [item for item in self.items if isinstance(item, Item)]
        return len(events) <= self.events_max and sum(e.size for e in events) <= self.bytes_max

    def put(self, arrived: list[Item]) -> None:
        if self.overflow is Overflow.DROP_OLDEST:
            before = self.gap(0)
            self.items += arrived
            missed = 0
            while not self.fits():
                del self.items[0]
                missed += 1
            if before + missed:
                self.items.insert(0, Lagged(before + missed))
            return
        for place, event in enumerate(arrived):
            self.items.append(event)
            if not self.fits():  # nothing that comes after it in its batch is taken either
                self.items.pop()
                missed = len(arrived) - place + self.gap(-1)
                self.items.append(Lagged(missed))
                return

    def gap(self, place: int) -> int:
        """Remove the gap at this end, if there is one; return how many are missing there."""
        if self.items and isinstance(gap := self.items[place], Lagged):
            del self.items[place]
            return gap.missed
        return 0

    def take(self, what: str) -> Taken:
        if not self.items:
            return None
        first = self.items.pop(0)
        if isinstance(first, Lagged):
            return first
        numbers = [first.number]
        while what == BATCH and self.items:
            item = self.items[0]
            if isinstance(item, Lagged) or item.batch != first.batch:
                break
            numbers.append(item.number)
            del self.items[0]
        return numbers

    def put_back(self, what: str) -> Taken:
        """Take, and put back; an event that was taken out of its batch is then alone."""
        before = list(self.items)
        taken = self.take(what)
        self.items = before
        if what == EVENT and before and isinstance(first := before[0], Item):
            self.items[0] = first._replace(batch=-first.number)
        return taken


def numbers(taken: Received | ReceivedBatch | Gap | None) -> Taken:
    if isinstance(taken, Received):
        return [taken.sequence]
    return list(taken.sequences) if isinstance(taken, ReceivedBatch) else taken


def queue_and_twin(
    steps: Sequence[Step], events_max: int, bytes_max: int, overflow: Overflow
) -> tuple[list[Taken], list[Taken], int]:
    """Do the same to a queue and to its twin, then take all that is left.

    Return what each gave, and how many events the queue says that it dropped.
    """
    queue = DeliveryQueue(events_max, bytes_max, overflow)
    twin = Twin(events_max, bytes_max, overflow)
    gave: list[Taken] = []
    twin_gave: list[Taken] = []

    def take(what: str) -> None:
        taken = queue.take_event() if what == EVENT else queue.take_batch()
        gave.append(numbers(taken))
        twin_gave.append(twin.take(what))

    put = 0
    for step in steps:
        if step in (EVENT_BACK, BATCH_BACK):
            what = EVENT if step == EVENT_BACK else BATCH
            taken = queue.take_event() if what == EVENT else queue.take_batch()
            assert numbers(taken) == twin.put_back(what)
            if taken is not None:
                queue.put_back(taken)
        elif isinstance(step, str):
            take(step)
        else:
            queue.put(received(put + 1, [bytes(size) for size in step]))
            twin.put([Item(put + 1 + place, size, put) for place, size in enumerate(step)])
            put += len(step)
        left = [item for item in twin.items if isinstance(item, Item)]
        assert (queue.events, queue.bytes) == (len(left), sum(item.size for item in left))
        events, size = queue.room
        assert events == events_max - queue.events
        assert (
            size == bytes_max - queue.bytes if not queue.opened else size <= bytes_max - queue.bytes
        )
    while queue or twin.items:
        take(EVENT)
    return gave, twin_gave, queue.missed


@given(
    steps=st.lists(
        st.sampled_from([EVENT, BATCH, EVENT_BACK, BATCH_BACK])
        | st.lists(st.integers(0, 4), min_size=1, max_size=6),
        max_size=30,
    ),
    events_max=st.integers(1, 8),
    bytes_max=st.integers(1, 12),
    overflow=st.sampled_from(Overflow),
)
def test_the_bounds_hold_to_the_event_and_every_gap_stands_in_its_place(
    steps: list[Step], events_max: int, bytes_max: int, overflow: Overflow
) -> None:
    gave, expected, missed = queue_and_twin(steps, events_max, bytes_max, overflow)
    assert gave == expected
    events = [number for one in gave if isinstance(one, list) for number in one]
    gaps = sum(one.missed for one in gave if isinstance(one, Lagged))
    assert events == sorted(set(events))
    assert gaps == missed
    assert len(events) + gaps == sum(len(step) for step in steps if isinstance(step, list))


@pytest.mark.parametrize(
    ("overflow", "expected"),
    [
        (Overflow.DROP_OLDEST, [Lagged(5), [6], [7], [8]]),
        (Overflow.DROP_NEWEST, [[1], [2], [3], Lagged(5)]),
    ],
)
@pytest.mark.parametrize("sizes", [[[1, 1], [1, 1, 1, 1], [1, 1]], [[1] * 8], [[1]] * 8])
@pytest.mark.parametrize("bounds", [(3, MANY), (MANY, 3)], ids=["events", "bytes"])
def test_how_events_are_batched_does_not_change_what_is_dropped(
    overflow: Overflow, expected: list[Taken], sizes: list[Step], bounds: tuple[int, int]
) -> None:
    """The publisher's batches are of no concern to who counts events."""
    gave, _, missed = queue_and_twin(sizes, *bounds, overflow)
    assert gave == expected
    assert missed == 5


@pytest.mark.parametrize("made", [False, True])
@pytest.mark.parametrize("read", ["take_event", "take_batch"])
def test_an_event_that_was_put_back_has_its_value_alone_or_in_a_batch(
    read: str, *, made: bool
) -> None:
    queue: DeliveryQueue = DeliveryQueue(MANY, MANY, Overflow.DROP_OLDEST)
    queue.put(received(1, [b"1", b"2"], int))
    event = queue.take_event()
    assert isinstance(event, Received)
    queue.put_back(with_value(event) if made else event)
    again = getattr(queue, read)()
    values = again.values if isinstance(again, ReceivedBatch) else (with_value(again).value,)
    assert values == (1,)


def test_what_is_put_back_comes_before_what_was_dropped_meanwhile() -> None:
    queue: DeliveryQueue = DeliveryQueue(2, MANY, Overflow.DROP_OLDEST)
    queue.put(received(1, [b"x", b"x"]))
    first = queue.take_event()
    assert first is not None
    queue.put(received(3, [b"x", b"x"]))
    queue.put_back(first)
    assert [numbers(queue.take_event()) for _ in range(4)] == [[1], Lagged(1), [3], [4]]


def test_what_can_no_longer_be_had_and_gaps_can_be_put_back() -> None:
    queue: DeliveryQueue = DeliveryQueue(1, MANY, Overflow.DROP_OLDEST)
    queue.put(received(1, [b"1", b"2"]))
    missed = Missed(STREAM, ROOT, 3, 6)
    queue.tell(missed)
    for expected in (Lagged(1), [2], missed):
        for _ in range(2):
            item = queue.take_event()
            assert item is not None
            assert numbers(item) == expected
            queue.put_back(item)
        assert numbers(queue.take_event()) == expected
    assert not queue


def test_events_that_were_taken_count_no_more() -> None:
    queue = DeliveryQueue(MANY, 10, Overflow.DROP_OLDEST)
    queue.put(received(1, [bytes(5), bytes(5)]))
    assert numbers(queue.take_event()) == [1]
    queue.put(received(3, [bytes(5)]))
    assert (queue.missed, numbers(queue.take_batch())) == (0, [2])


def test_an_empty_queue_keeps_no_payload_in_memory() -> None:
    queue = DeliveryQueue(MANY, MANY, Overflow.DROP_OLDEST)
    queue.put(received(1, [bytes(5), bytes(6)]))
    events = [queue.take_event() for _ in range(2)]
    payloads = [event.payload for event in events if isinstance(event, Received)]
    held = [sys.getrefcount(payload) for payload in payloads]
    assert queue.take_event() is None
    assert [sys.getrefcount(payload) for payload in payloads] == [count - 1 for count in held]


def test_an_event_larger_than_the_queue_is_missed() -> None:
    queue = DeliveryQueue(MANY, 10, Overflow.DROP_NEWEST)
    queue.put(received(1, [bytes(5)]))
    queue.put(received(2, [bytes(11)]))
    assert [numbers(queue.take_event()) for _ in range(3)] == [[1], Lagged(1), None]


@pytest.mark.parametrize(("bounds", "unit"), [((0, 1), "event"), ((1, 0), "byte")])
def test_a_queue_without_room_is_refused(bounds: tuple[int, int], unit: str) -> None:
    with pytest.raises(ValueError, match=f"at least 1 {unit}, not 0"):
        DeliveryQueue(*bounds, Overflow.DROP_OLDEST)


def missed(first: int, last: int) -> Missed:
    return Missed(StreamId(bytes(24)), ROOT, first, last)


@pytest.mark.parametrize("overflow", Overflow)
def test_what_can_no_longer_be_had_is_told_in_its_place_and_never_dropped(
    overflow: Overflow,
) -> None:
    queue = DeliveryQueue(2, MANY, overflow)
    queue.put(received(1, [b"x"]))
    queue.tell(missed(2, 5))
    for number in (6, 7):
        queue.put(received(number, [b"x"]))
    taken = [numbers(queue.take_event()) for _ in range(5)]
    if overflow is Overflow.DROP_OLDEST:
        assert taken == [Lagged(1), missed(2, 5), [6], [7], None]
    else:
        assert taken == [[1], missed(2, 5), [6], Lagged(1), None]
    assert queue.missed == 1


def test_a_full_queue_moves_what_it_tells_once_and_not_with_each_event() -> None:
    """With a thousand `Missed` in it, each further event took 232 µs once."""
    queue, moved = DeliveryQueue(2, MANY, Overflow.DROP_OLDEST), 0
    take = queue._take_queued

    def counted() -> Received | ReceivedBatch | Gap | None:
        nonlocal moved
        moved += 1
        return take()

    queue._take_queued = counted  # type: ignore[method-assign]  # to count calls
    for number in range(100):
        queue.tell(missed(number + 1, number + 1))
    for number in range(101, 203):
        queue.put(received(number, [b"x"]))
    assert moved == 100 + 100  # each gap, and each event that was dropped
    told = [queue.take_event() for _ in range(101)]
    assert told == [Lagged(100), *(missed(n, n) for n in range(1, 101))]


def test_whoever_does_not_listen_is_told_in_the_end_as_a_number() -> None:
    queue = DeliveryQueue(MANY, MANY, Overflow.DROP_OLDEST)
    for number in range(TELLS_MAX + 2):
        queue.tell(missed(3 * number + 1, 3 * number + 2))
    assert queue.take_event() == Lagged(4)
    assert queue.missed == 4
    told = [queue.take_batch() for _ in range(TELLS_MAX + 1)]
    assert told == [*(missed(3 * n + 1, 3 * n + 2) for n in range(TELLS_MAX)), None]
