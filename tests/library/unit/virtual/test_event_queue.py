"""The event queue: what happens when, in which order, and that nothing else decides it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.virtual.event_queue import EventQueue

Log = list[tuple[float, object]]


def logged(queue: EventQueue, log: Log, name: object) -> None:
    log.append((queue.now, name))


@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0, 1.5, 7.0]), st.booleans())))
def test_the_order_is_that_of_a_stable_sort(wishes: list[tuple[float, bool]]) -> None:
    """Also of what is asked for with a delay; the twin is a list that is sorted by time alone.

    What happens has no order of its own: where times are equal, the sequence decides.
    """
    queue, log = EventQueue(), Log()
    for number, (time, delayed) in enumerate(wishes):
        (queue.after if delayed else queue.at)(time, logged, queue, log, number)
    twin = sorted(
        ((time, number) for number, (time, _) in enumerate(wishes)), key=lambda wish: wish[0]
    )
    for happened, (time, _) in enumerate(twin):
        assert (queue.next_time(), queue.happened) == (time, happened)
        queue.step()
    assert log == twin
    assert queue.next_time() is None


@given(
    st.lists(
        st.tuples(st.floats(0, 5), st.lists(st.floats(0, 3), max_size=3)), min_size=1, max_size=12
    ),
    st.lists(st.floats(0, 10), max_size=6),
)
def test_what_happens_may_ask_for_more(
    wishes: list[tuple[float, list[float]]], stops: list[float]
) -> None:
    """Stopping on the way changes nothing; the twin is one list, sorted again for every step."""
    queue, log = EventQueue(), Log()

    def act(name: object, delays: list[float]) -> None:
        logged(queue, log, name)
        for delay in delays:
            queue.after(delay, act, (name, delay), [])

    twin: list[tuple[float, int, object, list[float]]] = []
    for number, (time, delays) in enumerate(wishes):
        queue.at(time, act, number, delays)
        twin.append((time, number, number, delays))
    for stop in [*sorted(stops), 20.0]:
        queue.run_until(stop)
        assert queue.now == stop
    expected, sequence = Log(), len(twin)
    while twin:
        twin.sort(key=lambda wish: wish[:2])
        time, _, name, delays = twin.pop(0)
        expected.append((time, name))
        for delay in delays:
            twin.append((time + delay, sequence, (name, delay), []))
            sequence += 1
    assert log == expected


def test_run_until_goes_as_far_as_the_time_and_no_farther() -> None:
    queue, log = EventQueue(), Log()
    for time in (1.0, 2.0, 2.5):
        queue.at(time, logged, queue, log, time)
    queue.run_until(2.0)
    assert [name for _, name in log] == [1.0, 2.0]  # what is due at the time itself, too
    assert (queue.now, queue.next_time()) == (2.0, 2.5)
    queue.run_until(2.25)
    assert (queue.now, len(log)) == (2.25, 2)


def test_time_never_goes_back() -> None:
    queue, log = EventQueue(), Log()
    queue.run_until(5.0)
    queue.at(3.0, logged, queue, log, "late")
    assert queue.next_time() == 5.0
    queue.run_until(1.0)  # in the past: nothing happens
    assert (queue.now, log) == (5.0, [])
    queue.run_until(5.0)
    assert log == [(5.0, "late")]


def test_what_is_due_at_once_waits_for_what_was_asked_for_before() -> None:
    queue, log = EventQueue(), Log()
    queue.at(1.0, queue.after, 0.0, logged, queue, log, "asked for at 1")
    queue.at(1.0, logged, queue, log, "asked for before")
    queue.run_until(1.0)
    assert [name for _, name in log] == ["asked for before", "asked for at 1"]


def test_an_error_leaves_the_queue_where_it_was_raised() -> None:
    queue, log = EventQueue(), Log()
    queue.at(1.0, int, "no number")
    queue.at(2.0, logged, queue, log, "later")
    with pytest.raises(ValueError, match="no number"):
        queue.run_until(3.0)
    assert (queue.now, queue.happened, len(queue)) == (1.0, 1, 1)
    queue.run_until(3.0)
    assert log == [(2.0, "later")]
