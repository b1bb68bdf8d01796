"""The store beside a plain list that is searched from end to end."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from camcast.engine.store import BATCH_BYTES, Store, published_at
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

TOPIC = Topic.parse(".a")
STREAMS = [stream_id(PeerId(bytes(15) + bytes([number])), 1) for number in range(3)]


def batch(stream: StreamId, first: int, count: int, published: float, size: int = 1) -> Batch:
    return make_batch(stream, first, [bytes(size)] * count, TOPIC, since=published)


class ListStore:
    """The twin: a list of what was put, and until when each is kept."""

    def __init__(self, bytes_max: int) -> None:
        self.kept: list[tuple[float, Batch]] = []
        self.bytes_max = bytes_max
        self.early = 0

    def put(self, new: Batch, retention: float, now: float) -> None:
        until = published_at(new) + retention
        if until <= now or any(
            (b.stream, b.first) == (new.stream, new.first) for _, b in self.kept
        ):
            return
        self.kept.append((until, new))
        while self.kept and (self.bytes > self.bytes_max or self.kept[0][0] <= now):
            self.early += self.kept.pop(0)[0] > now

    @property
    def bytes(self) -> int:
        return sum(len(b.body) + BATCH_BYTES for _, b in self.kept)

    def batches(self, stream: StreamId, start: int, stop: int, after: float) -> Sequence[Batch]:
        return sorted(
            (
                b
                for _, b in self.kept
                if b.stream == stream
                and b.first < stop
                and b.first + b.count > start
                and published_at(b) >= after
            ),
            key=lambda b: b.first,
        )


STEPS = st.lists(
    st.tuples(
        st.sampled_from(STREAMS),
        st.integers(1, 40).map(lambda place: 1 + 4 * place),
        st.integers(1, 4),
        st.floats(0, 3),  # since the step before
        st.floats(0, 20),  # its age
    ),
    max_size=40,
)


@given(STEPS, st.integers(600, 4000), st.integers(1, 170), st.integers(1, 170))
def test_a_store_keeps_and_finds_what_its_twin_does(
    steps: list[tuple[StreamId, int, int, float, float]], bytes_max: int, start: int, stop: int
) -> None:
    store, twin, now = Store(bytes_max), ListStore(bytes_max), 0.0
    for stream, first, count, pause, age in steps:
        now += pause
        new = batch(stream, first, count, now - age)
        store.put(new, 15.0, now)
        twin.put(new, 15.0, now)
        assert store.bytes == twin.bytes <= bytes_max
        assert store.let_go_early == twin.early
        for one in STREAMS:
            for after in (-1e9, now - 5):
                found = list(store.batches(one, start, stop, after))
                assert found == twin.batches(one, start, stop, after)


def test_the_lowest_batch_that_is_young_enough_is_found() -> None:
    store = Store()
    for place in range(5):
        store.put(batch(STREAMS[0], 1 + 10 * place, 10, published=float(place)), 60.0, 5.0)
    assert [getattr(store.lowest(STREAMS[0], after), "first", None) for after in (-1, 1.5, 9)] == [
        1,
        21,
        None,
    ]
    assert store.lowest(STREAMS[1]) is None


def test_what_is_let_go_early_says_how_far_back_the_store_goes() -> None:
    body = len(batch(STREAMS[0], 1, 1, 0.0).body) + BATCH_BYTES
    store = Store(2 * body)
    for number in range(4):
        store.put(batch(STREAMS[0], 1 + number, 1, published=float(number)), 60.0, float(number))
    assert store.let_go_early == 2
    assert store.retention_reached(10.0) == 9.0  # the last that went was published at 1


def test_expiry_leaves_nothing_behind() -> None:
    store = Store()
    for number in range(9):
        store.put(batch(STREAMS[number % 3], 1 + number, 1, published=0.0), 60.0, 0.0)
    store.expire(60.0)
    assert store.bytes == store.let_go_early == 0
    assert not store._streams
    assert not store._queue
