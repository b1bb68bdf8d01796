"""Earthquakes: reports of the US Geological Survey, each on the topic of its place.

The file is made from the USGS earthquake catalogue (public domain) of April and May 2015,
with the burst that followed the earthquake of Gorkha, Nepal, on 25 April.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import msgspec

from camcast.research.workloads.csv_rows import Row, moment, number, or_none, read_rows, text
from camcast.research.workloads.publication import Publication
from camcast.vocabulary.topics import Topic

COLUMNS: Final = ("utc", "topic", "mag", "depth_km", "lat", "lon", "id", "place")


def load_earthquakes(path: Path) -> list[Publication]:
    """Read earthquakes; each is published on its topic at its time, the first at 0 s.

    The payload is a JSON object of the attributes: `mag` (magnitude), `depth_km`
    (kilometres), `lat` and `lon` (degrees), `id` and `place`; null where the file is empty.

    Raises `WorkloadError` for a file, a row or a field that does not fit COLUMNS.
    """
    rows = sorted(read_rows(path, COLUMNS), key=lambda row: row.read("utc", moment))
    start = rows[0].read("utc", moment)
    return [
        Publication(
            at_seconds=(row.read("utc", moment) - start).total_seconds(),
            topics=(row.read("topic", Topic.parse),),
            payload=_attributes(row),
        )
        for row in rows
    ]


def _attributes(row: Row) -> bytes:
    numbers = {key: row.read(key, or_none(number)) for key in ("mag", "depth_km", "lat", "lon")}
    texts = {key: row.read(key, or_none(text)) for key in ("id", "place")}
    return msgspec.json.encode({**numbers, **texts})
