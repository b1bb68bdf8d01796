"""Workloads load what their files say, and refuse the rest with file, line and remedy."""

from __future__ import annotations

import csv
import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest

from camcast.research.workloads import (
    Publication,
    WorkloadError,
    load_departures,
    load_earthquakes,
    load_usenet,
    synthetic,
)
from camcast.research.workloads.churn import load_churn
from camcast.research.workloads.edge_list import load_edges
from camcast.research.workloads.latency_file import load_latencies
from camcast.vocabulary.topics import Topic
from tests.research.unit.workloads.given_file import assert_refused, written

Loader = Callable[[Path], Sequence[object]]

POSTS = """id,utc,author,groups,bytes,reply_to
7,1993-02-22T14:23:51Z,ann,comp.lang.c misc.misc comp.lang.c,10,
8,1993-02-22T14:22:51Z,bob,comp.lang.c,9000,7
9,1993-02-22T14:24:51.500Z,ann,comp.lang.c++,1,8
"""
QUAKES = """utc,topic,mag,depth_km,lat,lon,id,place
2015-04-25T06:11:27Z,.earthquake.nepal.kodari,,,1e1,0,,
2015-04-25T06:11:25.950Z,.earthquake.nepal.kodari,7.8,8.22,28,-84.5,us1,"36km E of Khudi, Nepal"
"""
FLIGHTS = """scheduled_minute,delay_minutes,carrier,flight,origin,dest
1435,20,B6,1,JFK,BQN
600,-5,UA,2,EWR,IAH
700,,AA,3,LGA,MIA
"""


def names(publication: Publication) -> list[str]:
    return [topic.name for topic in publication.topics]


# --- the shipped day -------------------------------------------------------------------


def shipped_rows() -> list[dict[str, str]]:
    shipped = files("camcast.research.workloads") / "departures_2013-01-01.csv"
    return list(csv.DictReader(shipped.read_text("utf-8").splitlines()))


def test_the_shipped_day_is_published_flight_by_flight_under_its_airport_and_carrier() -> None:
    day, rows = load_departures(), shipped_rows()
    assert len(day) == len(rows) == 842
    recount = Counter(f".departures.{row['origin']}.{row['carrier']}" for row in rows)
    assert Counter(name for flight in day for name in names(flight)) == recount
    by_origin = Counter(flight.topics[0].levels[1] for flight in day)
    assert by_origin == Counter(row["origin"] for row in rows)
    assert by_origin == {"EWR": 305, "JFK": 297, "LGA": 240}  # counted in the source, PROVENANCE.md
    payloads = [json.loads(flight.payload) for flight in day]
    assert [(p["flight"], p["dest"]) for p in payloads] == [
        (int(row["flight"]), row["dest"]) for row in rows
    ]
    assert sum(p["departed_minute"] is None for p in payloads) == 4  # cancelled, PROVENANCE.md


def test_a_day_starts_with_its_first_departure_and_is_in_order_of_departure() -> None:
    times = [flight.at_seconds for flight in load_departures()]
    left = [int(r["scheduled_minute"]) + int(r["delay_minutes"] or 0) for r in shipped_rows()]
    assert times == [60 * (minute - min(left)) for minute in sorted(left)]


def test_a_flight_that_leaves_after_midnight_is_the_last_of_its_day(tmp_path: Path) -> None:
    early, cancelled, late = load_departures(written(tmp_path, FLIGHTS))
    assert [early.at_seconds, cancelled.at_seconds, late.at_seconds] == [0, 105 * 60, 860 * 60]
    assert names(late) == [".departures.JFK.B6"]
    assert json.loads(late.payload) == {
        "carrier": "B6",
        "flight": 1,
        "origin": "JFK",
        "dest": "BQN",
        "scheduled_minute": 1435,
        "departed_minute": 1455,
        "delay_minutes": 20,
    }
    nothing = json.loads(cancelled.payload)
    assert nothing["departed_minute"] is nothing["delay_minutes"] is None


# --- Usenet ----------------------------------------------------------------------------


def test_posts_are_in_order_of_time_and_a_cross_post_has_each_topic_once(tmp_path: Path) -> None:
    posts = load_usenet(written(tmp_path, POSTS))
    assert [post.at_seconds for post in posts] == [0, 60, 120.5]
    assert [post.publisher for post in posts] == ["bob", "ann", "ann"]
    assert [names(post) for post in posts] == [
        [".comp.lang.c"],
        [".comp.lang.c", ".misc.misc"],
        [".comp.lang.c++"],
    ]


def test_a_payload_begins_with_the_id_and_is_as_long_as_the_post_up_to_the_limit(
    tmp_path: Path,
) -> None:
    payloads = [post.payload for post in load_usenet(written(tmp_path, POSTS))]
    assert [len(payload) for payload in payloads] == [4096, 10, 1]
    assert [payload[:1] for payload in payloads] == [b"8", b"7", b"9"]


def test_a_slash_in_a_group_is_read_as_a_dot_and_said_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = written(tmp_path, POSTS.replace("comp.lang.c,9000", "comp.lang.c comp/lang.c,9000"))
    with caplog.at_level(logging.WARNING):
        assert names(load_usenet(path)[0]) == [".comp.lang.c"]
    (message,) = caplog.messages
    assert message.startswith(f"{path}:3: ")
    assert "comp/lang.c" in message


# --- earthquakes -----------------------------------------------------------------------


def test_an_earthquake_has_numbers_as_numbers_and_null_for_what_is_missing(tmp_path: Path) -> None:
    first, second = load_earthquakes(written(tmp_path, QUAKES))
    assert (first.at_seconds, second.at_seconds) == (0, 1.05)
    assert names(first) == names(second) == [".earthquake.nepal.kodari"]
    assert json.loads(first.payload) == {
        "mag": 7.8,
        "depth_km": 8.22,
        "lat": 28,
        "lon": -84.5,
        "id": "us1",
        "place": "36km E of Khudi, Nepal",
    }
    assert json.loads(second.payload) == {
        "mag": None,
        "depth_km": None,
        "lat": 10,
        "lon": 0,
        "id": None,
        "place": None,
    }


# --- synthetic, and what every publication keeps ---------------------------------------


def test_a_synthetic_workload_is_steady_sized_and_always_the_same() -> None:
    topic = Topic.parse(".a")
    made = synthetic(topic, events=200, rate=4, payload_bytes=16)
    assert made == synthetic(topic, events=200, rate=4, payload_bytes=16)
    assert made[0].at_seconds == 0
    assert {b.at_seconds - a.at_seconds for a, b in pairwise(made)} == {0.25}
    assert {len(p.payload) for p in made} == {16}
    assert len({p.payload for p in made}) == 200
    assert {p.topics for p in made} == {(topic,)}


def test_without_a_rate_everything_happens_at_once() -> None:
    made = synthetic(Topic.parse(".a"), 3, None, 0)
    assert [(p.at_seconds, p.payload, p.publisher) for p in made] == [(0, b"", None)] * 3


@pytest.mark.parametrize(
    ("events", "rate", "size"),
    [(-1, 1, 1), (1, 0, 1), (1, -1, 1), (1, float("nan"), 1), (1, 1, -1)],
)
def test_a_senseless_synthetic_workload_is_refused(events: int, rate: float, size: int) -> None:
    with pytest.raises(ValueError, match="give 0 or more"):
        synthetic(Topic.parse(".a"), events, rate, size)


@pytest.mark.parametrize("at", [-0.001, float("inf"), float("nan")])
def test_a_publication_has_a_time_from_the_start_on(at: float) -> None:
    with pytest.raises(ValueError, match="at_seconds"):
        Publication(at, (Topic.parse(".a"),), b"")


def test_a_publication_has_a_topic() -> None:
    with pytest.raises(ValueError, match="topics"):
        Publication(0, (), b"")


# --- errors ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("load", "content", "old", "new", "line", "says"),
    [
        (load_usenet, POSTS, ",author,", ",", 1, ["author", "found id, utc, groups", "add author"]),
        (load_usenet, POSTS, "id,utc", "utc,id", 1, ["found utc, id", "in this order"]),
        (load_usenet, POSTS, ",reply_to", ",reply_to,x", 1, ["reply_to, x", "no others"]),
        (load_usenet, POSTS, ",9000,7", ",9000", 3, ["5 fields", "'reply_to' is missing"]),
        (load_usenet, POSTS, ",9000,7", ",9,000,7", 3, ["7 fields", "'7' is too much"]),
        (load_usenet, POSTS, "\n8,", "\n\n8,", 3, ["0 fields", "'id' is missing"]),
        (load_usenet, POSTS, "9000", "many", 3, ["'bytes'", "'many' is not a whole number"]),
        (load_usenet, POSTS, "9000", "-1", 3, ["'bytes'", "'-1' is negative"]),
        (load_usenet, POSTS, "bob", " ", 3, ["'author'", "is empty"]),
        (load_usenet, POSTS, "bob", '"bob', 3, ["unexpected end of data", "close every quotation"]),
        (load_usenet, POSTS, "02-22T14:22", "02-30T14:22", 3, ["'utc'", "1993-02-30", "like 1993"]),
        (load_usenet, POSTS, "22:51Z", "22:51", 3, ["'utc'", "is not a time", "like 1993"]),
        (load_usenet, POSTS, "c,9000", "c!,9000", 3, ["'groups'", "'!' in level 'c!'"]),
        (load_usenet, POSTS, "comp.lang.c,9000", ",9000", 3, ["'groups'", "is empty"]),
        (load_earthquakes, QUAKES, "7.8", "nan", 3, ["'mag'", "'nan' is not a number"]),
        (load_earthquakes, QUAKES, "1e1", "1_0", 2, ["'lat'", "'1_0' is not a number"]),
        (load_earthquakes, QUAKES, ".earthquake", "..q", 2, ["'topic'", "empty level"]),
        (load_departures, FLIGHTS, "600", "6:00", 3, ["'scheduled_minute'", "'6:00'"]),
        (load_departures, FLIGHTS, "-5", "5.5", 3, ["'delay_minutes'", "'5.5' is not a whole"]),
        (load_departures, FLIGHTS, "UA", "U.A", 3, ["'carrier'", "'U.A'"]),
        (load_departures, FLIGHTS, "IAH", "", 3, ["'dest'", "is empty"]),
    ],
)
def test_a_bad_file_is_refused_with_its_name_its_line_and_what_is_wrong(
    tmp_path: Path, load: Loader, content: str, old: str, new: str, line: int, says: list[str]
) -> None:
    load(written(tmp_path, content))  # the sample is good, so the change alone is at fault
    assert_refused(load, written(tmp_path, content.replace(old, new, 1)), line, says)


LOADERS = pytest.mark.parametrize(
    "load",
    [
        *(load_departures, load_earthquakes, load_usenet, load_churn),
        *(load_latencies, load_edges),
    ],
)


@LOADERS
@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"a\xff", "0xff is not UTF-8"),
        (b"\x1f\x8b\x08\0", "unpack it with gunzip"),
        (b"BZh91AY&SY", "unpack it with bunzip2"),
        (b"\xfd7zXZ\0\0", "unpack it with unxz"),
    ],
)
def test_a_file_without_text_is_refused(
    tmp_path: Path, load: Loader, content: bytes, says: str
) -> None:
    assert_refused(load, written(tmp_path, content), 1, [says])


@LOADERS
def test_a_file_that_is_absent_is_refused_without_a_line(tmp_path: Path, load: Loader) -> None:
    with pytest.raises(WorkloadError) as caught:
        load(tmp_path / "absent.csv")
    assert caught.value.line is None
    assert str(caught.value).startswith(f"{tmp_path / 'absent.csv'}: cannot be read (No such file")


@pytest.mark.parametrize(
    ("load", "content"),
    [
        (load_departures, FLIGHTS),
        (load_earthquakes, QUAKES),
        (load_usenet, POSTS),
    ],
)
def test_a_header_without_rows_is_refused(tmp_path: Path, load: Loader, content: str) -> None:
    with pytest.raises(WorkloadError, match="no rows"):
        load(written(tmp_path, content.partition("\n")[0]))


def test_the_line_is_the_physical_one_after_a_field_that_spans_lines(tmp_path: Path) -> None:
    content = QUAKES.replace("0,,\n", '0,,"two\nlines"\n').replace("-84.5", "west")
    assert_refused(load_earthquakes, written(tmp_path, content), 4, ["west"])


def test_bytes_that_are_not_utf8_are_refused_with_their_line(tmp_path: Path) -> None:
    path = written(tmp_path, POSTS.encode().replace(b"bob", b"b\xf6b"))
    assert_refused(load_usenet, path, 3, ["UTF-8"])


def test_a_byte_order_mark_and_carriage_returns_change_nothing(tmp_path: Path) -> None:
    plain = load_usenet(written(tmp_path, POSTS))
    marked = b"\xef\xbb\xbf" + POSTS.replace("\n", "\r\n").encode()
    assert load_usenet(written(tmp_path, marked)) == plain


# --- long files --------------------------------------------------------------------------


def test_long_files_load_completely(tmp_path: Path) -> None:
    """Ten thousand posts of 900 authors in 300 groups, each in two; two groups are two others with
    a slash. Five thousand earthquakes of 50 places. The files are not in the order of time."""
    names = [f"comp.group{n}" for n in range(298)] + ["comp/group0", "comp/group1"]
    posts = "".join(
        f"{n},{at(n)},author{n % 900},{names[n % 300]} comp.group{n % 7},{n},\n"
        for n in reversed(range(10_000))
    )
    quakes = "".join(
        f"{at(n)},.earthquake.place{n % 50},4.5,10,0,0,q{n},\n" for n in reversed(range(5_000))
    )
    head, _, _ = POSTS.partition("\n")
    read_posts = load_usenet(written(tmp_path, f"{head}\n{posts}"))
    head, _, _ = QUAKES.partition("\n")
    read_quakes = load_earthquakes(written(tmp_path, f"{head}\n{quakes}"))
    assert (len(read_posts), len(read_quakes)) == (10_000, 5_000)
    assert len({post.publisher for post in read_posts}) == 900
    assert len({topic for post in read_posts for topic in post.topics}) == 298
    assert len({topic for quake in read_quakes for topic in quake.topics}) == 50
    for workload in (read_posts, read_quakes):
        assert all(a.at_seconds <= b.at_seconds for a, b in pairwise(workload))


def at(number: int) -> str:
    """Return a time of 1993, a minute after that of the number before."""
    day, minute = divmod(number, 24 * 60)
    return f"1993-02-{day + 1:02}T{minute // 60:02}:{minute % 60:02}:00Z"
