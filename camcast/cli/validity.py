"""How long a certificate or a list counts, as a person gives it."""

from __future__ import annotations

from typing import Final

from camcast.security.sealed import SECONDS_MAX

_YEAR_OF_THE_LAST_SECOND: Final = 2106  # [POSIX time] of SECONDS_MAX


def end_of(now: int, given: float, unit_seconds: int, option: str) -> int:
    """Return the second in which something ends that begins `now` and lasts `given` units.

    Raises `ValueError`, with the name of the `option`, for an end that no certificate or list can
    state, and for what is no number.
    """
    end = now + given * unit_seconds
    if not 0 <= end <= SECONDS_MAX:
        raise ValueError(
            f"{option} {given:g} is no time that ends before the year {_YEAR_OF_THE_LAST_SECOND}"
        )
    return int(end)
