"""Refused events are not asked for of their senders, nor of anybody after three."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from camcast.engine.repair.refused import REFUSED_BY, REFUSED_MAX, RefusedEvents
from camcast.vocabulary.events import STREAM_ID_BYTES, StreamId
from camcast.vocabulary.identity import PeerId

STREAM, OTHER = (StreamId(bytes([number]) * STREAM_ID_BYTES) for number in (1, 2))
PEERS = [PeerId(bytes([number]) * 16) for number in range(1, 6)]


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(1, 4), st.sampled_from(PEERS)), max_size=20),
    st.lists(st.tuples(st.integers(1, 30), st.integers(1, 5)), max_size=4),
    st.none() | st.sampled_from(PEERS),
)
def test_each_number_is_left_out_for_its_senders_and_after_three_of_them_for_all(
    refused: list[tuple[int, int, PeerId]],
    asked: list[tuple[int, int]],
    holder: PeerId | None,
) -> None:
    events = RefusedEvents()
    senders: dict[int, list[PeerId]] = {}
    for first, count, source in refused:
        events.add(STREAM, first, count, source)
        for number in range(first, first + count):
            known = senders.setdefault(number, [])
            if source not in known and len(known) < REFUSED_BY:
                known.append(source)
    ranges = [(first, first + count) for first, count in asked]
    left = events.without(STREAM, ranges, holder)
    assert [n for start, stop in left for n in range(start, stop)] == [
        number
        for start, stop in ranges
        for number in range(start, stop)
        if holder not in senders.get(number, []) and len(senders.get(number, [])) < REFUSED_BY
    ]
    assert events.without(OTHER, ranges, holder) == ranges
    events.clear()
    assert events.without(STREAM, ranges, holder) == ranges


def test_the_oldest_make_room() -> None:
    events = RefusedEvents()
    events.add(OTHER, 1, 1, PEERS[0])
    events.add(STREAM, 1, 2**63, PEERS[0])
    events.add(STREAM, REFUSED_MAX + 1, 1, PEERS[0])
    assert events.without(OTHER, [(1, 2)], PEERS[0]) == [(1, 2)]
    assert events.without(STREAM, [(1, REFUSED_MAX + 3)], PEERS[0]) == [
        (1, 2),
        (REFUSED_MAX + 2, REFUSED_MAX + 3),
    ]
