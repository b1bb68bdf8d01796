"""The times that options take, as a person writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from math import inf

import pytest

from camcast.cli.event_lines import time_of
from camcast.doors.options import OptionError


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("30", 30.0),
        ("0", 0.0),
        ("inf", inf),
        ("8h", 8 * 3600.0),
        ("500ms", 0.5),
        ("2026-11-27T08:00Z", datetime(2026, 11, 27, 8, tzinfo=UTC)),
        ("2026-11-27T09:00+01:00", datetime(2026, 11, 27, 8, tzinfo=UTC)),
    ],
)
def test_a_time_is_seconds_ago_a_duration_or_a_moment(text: str, time: object) -> None:
    assert time_of(text) == time


@pytest.mark.parametrize("text", ["", "nan", "-1", "8 h", "yesterday", "2026-13-01", "0h"])
def test_anything_else_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(OptionError, match="--since takes"):
        time_of(text)
