"""From when and how long certificates and lists count, as a person gives it."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import typer

from camcast.doors.options import OptionError
from camcast.security.certificates import A_SECOND_MAX
from camcast.security.sealed import SECONDS_MAX

EventsASecond = Annotated[
    int,
    typer.Option(
        min=0,
        max=A_SECOND_MAX,
        help="Events a second that a publisher may send in the long run, ten times as many at once;"
        " 0: no bound.",
    ),
]
BytesASecond = Annotated[
    int,
    typer.Option(
        min=0,
        max=A_SECOND_MAX,
        help="Bytes a second, as signed, with some 150 an event beside its payload; 0: no bound.",
    ),
]
IssuedBefore = Annotated[
    str | None,
    typer.Option(
        metavar="TIME",
        help="Revoke what was issued before: a time such as 2026-11-27T08:00Z, or 8h ago, or 0"
        " for now.",
    ),
]
EveryKey = Annotated[
    bool, typer.Option("--all", help="With --issued-before: what any key got before that time.")
]

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


def check_by_time(issued_before: str | None, *, every_key: bool, named: bool, names: str) -> None:
    """Raise `OptionError` unless what is revoked by time is named: by `names`, or all of it."""
    if issued_before is None:
        if every_key:
            raise OptionError("--all goes with --issued-before")
    elif every_key and named:
        raise OptionError(f"--issued-before takes {names}, or --all, not both")
    elif not (every_key or named):
        raise OptionError(f"--issued-before takes {names}, or --all")


def moment_of(text: str, now: int) -> int:
    """Read the value of ``--issued-before``, in seconds since 1970; raises `OptionError`."""
    from camcast.cli.event_lines import time_of

    given = time_of(text, "--issued-before")
    when = given.timestamp() if isinstance(given, datetime) else now - given
    if when > now:
        raise OptionError(f"--issued-before {text} is not yet: nothing was issued after now")
    return int(max(when, 0.0))
