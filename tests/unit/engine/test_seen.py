"""What was seen: against a dumb twin that remembers everything."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from camcast.engine.seen import PUBLISHERS_MAX, WINDOW, Seen


def first_time(seen: Seen, publisher: bytes, epoch: int, sequence: int) -> bool:
    """Let an event arrive as the intake does; say whether it was new."""
    new = not seen.knows(publisher, epoch, sequence)
    if new:
        seen.add(publisher, epoch, sequence)
    return new


class RemembersEverything:
    """The semantic in one sentence each, without windows, bits or bounds."""

    def __init__(self) -> None:
        self.events: set[tuple[bytes, int, int]] = set()

    def first_time(self, publisher: bytes, epoch: int, sequence: int) -> bool:
        of_publisher = [(e, s) for p, e, s in self.events if p == publisher]
        current = max((e for e, _ in of_publisher), default=epoch)
        top = max((s for e, s in of_publisher if e == epoch), default=sequence)
        replayed = epoch < current or sequence <= top - WINDOW
        new = not replayed and (publisher, epoch, sequence) not in self.events
        if new:
            self.events.add((publisher, epoch, sequence))
        return new


NEAR = st.integers(0, 40)
EDGE = st.integers(WINDOW - 4, WINDOW + 44)  # within and just beyond the window of the near ones
FAR = st.sampled_from([3 * WINDOW, 3 * WINDOW + 1, 2**32 - 1])
ARRIVALS = st.tuples(st.sampled_from([b"p", b"q"]), st.integers(1, 3), NEAR | EDGE | FAR)


@given(st.lists(ARRIVALS, max_size=60))
@settings(max_examples=500)
def test_it_says_what_a_twin_with_perfect_memory_says(
    arrivals: list[tuple[bytes, int, int]],
) -> None:
    seen, twin = Seen(), RemembersEverything()
    for arrival in arrivals:
        assert first_time(seen, *arrival) == twin.first_time(*arrival), arrival


def test_a_burst_in_any_order_is_new_once_each() -> None:
    seen = Seen()
    backwards = range(WINDOW - 1, -1, -1)
    assert all(first_time(seen, b"p", 1, sequence) for sequence in backwards)
    assert not any(first_time(seen, b"p", 1, sequence) for sequence in backwards)


def test_what_is_older_than_the_window_is_taken_for_a_replay() -> None:
    seen = Seen()
    assert first_time(seen, b"p", 1, WINDOW)
    assert not first_time(seen, b"p", 1, 0)
    assert first_time(seen, b"p", 1, 1)


def test_a_former_life_of_a_publisher_is_a_replay() -> None:
    seen = Seen()
    assert first_time(seen, b"p", 5, 100)
    assert first_time(seen, b"p", 6, 1)
    assert not first_time(seen, b"p", 5, 101)
    assert not first_time(seen, b"p", 6, 1)
    assert first_time(seen, b"q", 5, 101)


def test_the_publisher_first_heard_of_is_forgotten_when_there_are_too_many() -> None:
    seen = Seen()
    for number in range(PUBLISHERS_MAX + 1):
        assert first_time(seen, number.to_bytes(16, "big"), 1, 1)
    assert not first_time(seen, (1).to_bytes(16, "big"), 1, 1)
    assert first_time(seen, (0).to_bytes(16, "big"), 1, 1)


def test_windows_are_bounded_in_number_and_in_bits() -> None:
    seen = Seen()
    for number in range(PUBLISHERS_MAX + 100):
        first_time(seen, number.to_bytes(16, "big"), 1, 0)
    for sequence in (1, WINDOW - 1, 2 * WINDOW - 2, 3 * WINDOW - 3, 2**32 - 1):
        first_time(seen, (PUBLISHERS_MAX + 99).to_bytes(16, "big"), 1, sequence)
        windows = seen._windows
        assert len(windows) <= PUBLISHERS_MAX
        assert all(8 * len(window.ring) == WINDOW for window in windows.values())
