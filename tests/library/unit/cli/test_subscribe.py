"""What `camcast subscribe` refuses before a process starts."""

from __future__ import annotations

import pytest

from tests.camcast_command import Capture, camcast


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--since", value) for value in ("-1", "nan")),
        *(("--retention", value) for value in ("-1", "nan", "600.5", "inf")),
    ],
)
def test_seconds_out_of_range_are_refused_by_the_name_of_their_option(
    option: str, value: str, capfd: Capture
) -> None:
    assert camcast("subscribe", ".a", option, value) == 2
    printed, error = capfd.readouterr()
    assert printed == ""
    assert f"Invalid value for '{option}'" in error
