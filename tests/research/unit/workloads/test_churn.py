"""Churn traces load as their files say, and a window shows who is up, comes and goes in it."""

from __future__ import annotations

from collections import Counter
from math import inf
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.research.workloads import WorkloadError
from camcast.research.workloads.churn import (
    Change,
    ChurnTrace,
    ChurnWindow,
    Session,
    load_churn,
)
from tests.research.unit.workloads.given_file import assert_refused, written

TOR = """node,up_minute,down_minute
7,3,5
7,,2
8,0,
9,2,3.5
9,3.5,6
"""


# --- the format -----------------------------------------------------------------------


def test_tor_sessions_are_in_seconds_and_open_where_a_field_is_empty(tmp_path: Path) -> None:
    trace = load_churn(written(tmp_path, TOR))
    assert trace.sessions == (
        Session(-inf, 120, "7"),
        Session(0, inf, "8"),
        Session(120, 210, "9"),
        Session(180, 300, "7"),
        Session(210, 360, "9"),
    )
    assert (trace.start_seconds, trace.end_seconds) == (0, 360)


def test_the_order_of_the_file_does_not_matter(tmp_path: Path) -> None:
    header, *rows = TOR.splitlines(keepends=True)
    forth = load_churn(written(tmp_path, TOR))
    assert load_churn(written(tmp_path, "".join([header, *reversed(rows)]))) == forth


def test_a_byte_order_mark_and_carriage_returns_change_nothing(tmp_path: Path) -> None:
    marked = b"\xef\xbb\xbf" + TOR.replace("\n", "\r\n").encode()
    assert load_churn(written(tmp_path, marked)) == load_churn(written(tmp_path, TOR))


# --- windows ---------------------------------------------------------------------------


def test_a_window_has_who_is_up_and_the_changes_since_its_start(tmp_path: Path) -> None:
    trace = load_churn(written(tmp_path, TOR))
    assert trace.window(60, 200) == ChurnWindow(
        duration_seconds=200,
        up=("7", "8"),
        changes=(
            Change(60, False, "7"),
            Change(60, True, "9"),
            Change(120, True, "7"),
            Change(150, False, "9"),  # at one time, first down and then up
            Change(150, True, "9"),
        ),
    )
    assert trace.window(60, 200).nodes == ("7", "8", "9")


def test_what_happens_at_the_edges_is_the_state_at_the_start_and_not_at_the_end(
    tmp_path: Path,
) -> None:
    trace = load_churn(written(tmp_path, TOR))
    assert trace.window(120, 60) == ChurnWindow(60, ("8", "9"), ())
    assert trace.window(120, 60).nodes == ("8", "9")


@pytest.mark.parametrize(
    ("start", "duration"), [(-1, 10), (0, 361), (300, 61), (10, 0), (10, -5), (float("nan"), 5)]
)
def test_a_window_outside_the_trace_is_refused(
    tmp_path: Path, start: float, duration: float
) -> None:
    trace = load_churn(written(tmp_path, TOR))
    with pytest.raises(ValueError, match=r"give one between 0\.0 s and 360\.0 s"):
        trace.window(start, duration)


def test_sessions_that_are_not_sorted_are_refused() -> None:
    with pytest.raises(ValueError, match="sort them"):
        ChurnTrace((Session(1, 2, "a"), Session(0, 1, "a")), 0, 2)


MOMENTS = st.lists(st.integers(0, 12), max_size=8, unique=True).map(sorted)


@st.composite
def traces(draw: st.DrawFn) -> ChurnTrace:
    """Some nodes that go up and down in alternation between 0 and 12."""
    sessions = []
    for node in "abcde":
        moments = list[float](draw(MOMENTS))
        if len(moments) % 2:
            moments.append(inf)
        sessions += [
            Session(up, down, node) for up, down in zip(moments[::2], moments[1::2], strict=True)
        ]
    return ChurnTrace(tuple(sorted(sessions)), 0, 12)


@given(traces(), st.integers(0, 11), st.data())
def test_replaying_a_window_gives_at_any_time_who_is_up_in_the_trace(
    trace: ChurnTrace, start: int, data: st.DataObject
) -> None:
    duration = data.draw(st.integers(1, 12 - start))
    window = trace.window(start, duration)
    assert list(window.changes) == sorted(window.changes)
    for step in range(2 * duration):
        now, up = step / 2, set(window.up)
        for change in window.changes:
            if change.at_seconds <= now:
                assert (change.node in up) != change.joins
                (up.add if change.joins else up.remove)(change.node)
        assert up == {
            s.node for s in trace.sessions if s.up_seconds <= start + now < s.down_seconds
        }


@given(traces(), st.integers(0, 6), st.integers(0))
def test_a_sample_has_some_nodes_with_all_that_they_do(
    trace: ChurnTrace, nodes_max: int, seed: int
) -> None:
    whole = trace.window(2, 9)
    part = trace.window(2, 9, nodes_max=nodes_max, random=Random(seed))
    assert part == trace.window(2, 9, nodes_max=nodes_max, random=Random(seed))
    assert len(part.nodes) == min(nodes_max, len(whole.nodes))
    assert part.up == tuple(node for node in whole.up if node in part.nodes)
    assert part.changes == tuple(c for c in whole.changes if c.node in part.nodes)


def test_each_node_is_as_likely_in_a_sample(tmp_path: Path) -> None:
    trace, random = load_churn(written(tmp_path, TOR)), Random(4)
    runs = 3000
    drawn = Counter(trace.window(0, 360, nodes_max=1, random=random).nodes for _ in range(runs))
    assert sorted(drawn) == [("7",), ("8",), ("9",)]
    # binomial: 5 standard deviations are 5 * sqrt(3000 * 1/3 * 2/3) = 129
    assert all(abs(times - runs / 3) < 129 for times in drawn.values())


def test_a_senseless_sample_is_refused(tmp_path: Path) -> None:
    trace = load_churn(written(tmp_path, TOR))
    with pytest.raises(ValueError, match="nodes_max is -1"):
        trace.window(0, 60, nodes_max=-1, random=Random(1))
    with pytest.raises(ValueError, match="nodes_max without random"):
        trace.window(0, 60, nodes_max=1)


# --- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("8,0,", " ,0,", 4, ["'node'", "is empty"]),
        ("8,0,", "8,zero,", 4, ["'up_minute'", "'zero' is not a number"]),
        ("8,0,", "8,0,inf", 4, ["'down_minute'", "'inf' is not a number"]),
        ("7,3,5", "7,3,-5", 2, ["'down_minute'", "'-5' is negative"]),
        ("7,3,5", "7,5,3", 2, ["'down_minute'", "'3', not after", "'5'"]),
        ("7,3,5", "7,3,3", 2, ["'down_minute'", "later time"]),
        ("7,3,5", "7,1,5", 2, ["'up_minute'", "'7'", "session of line 3"]),
        ("8,0,", "7,,", 4, ["'up_minute'", "session of line 3 lasts"]),
    ],
)
def test_a_bad_file_is_refused_with_its_name_its_line_and_what_is_wrong(
    tmp_path: Path, old: str, new: str, line: int, says: list[str]
) -> None:
    load_churn(written(tmp_path, TOR))  # the sample is good, so the change alone is at fault
    assert_refused(load_churn, written(tmp_path, TOR.replace(old, new, 1)), line, says)


def test_a_trace_in_which_nothing_happens_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="no session has a time"):
        load_churn(written(tmp_path, "node,up_minute,down_minute\na,,\n"))


# --- a long trace ------------------------------------------------------------------------


def test_a_trace_of_many_days_loads_completely(tmp_path: Path) -> None:
    """A thousand nodes, each up for a day and down for a day, in turn; the last go on up."""
    day, nodes = 24 * 60, 1_000
    rows = [
        f"{node},{start},{start + day if start + day < 41 * day else ''}"
        for node in range(nodes)
        for start in range(node % 2 * day, 41 * day, 2 * day)
    ]
    trace = load_churn(written(tmp_path, "\n".join(["node,up_minute,down_minute", *rows, ""])))
    assert len(trace.sessions) == len(rows) == 20_500
    assert len({session.node for session in trace.sessions}) == nodes
    up = [len(trace.window((n * day + day // 2) * 60, 60).up) for n in range(40)]
    assert up == [nodes // 2] * 40
    assert trace.end_seconds == 40 * day * 60
