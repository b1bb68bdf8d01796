"""``camcast trace``: what became of one event."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final

import attrs
import msgspec
import typer

from camcast.cli import options
from camcast.cli.ask import print_lines, print_table
from camcast.cli.failure import CommandError, clear_failures, complain
from camcast.cli.output import print_json
from camcast.live.control_socket import ControlError, SilentError, ask
from camcast.observe.event_accounts import accounts_of_run
from camcast.observe.event_trace import Account, Explanation, explain
from camcast.observe.trace_reading import check_entries
from camcast.vocabulary.events import parse_event_id

_SECONDS_A_YEAR: Final = 3.2e7  # a larger time is since 1970, a smaller one by a run's own clock


def trace(
    event: Annotated[
        str, typer.Argument(metavar="EVENT", help='Its id, as subscribe prints it as "id".')
    ],
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="PLACE...", help="Control sockets of running processes, or folders of runs."
        ),
    ],
    json: options.Json = False,
) -> None:
    """Find out what became of an event: its way, who has it, and why somebody lacks it.

    Each PLACE is the control socket of a running process, which remembers its last 16,384 dealings
    with batches of events, or the folder of a run with its traces. The more processes are asked
    the more is known: a process that did not get the event seldom knows why. Exit code 1: nobody
    who was asked remembers the event.
    """
    with clear_failures(ValueError, OSError):
        event = str(parse_event_id(event))
        accounts = [account for place in places for account in _accounts(place, event)]
        explanation = explain(event, accounts)
        remembered = explanation.topic or any(one.has for one in explanation.verdicts)
        if not remembered and not json:
            for account in accounts:
                if account.error:
                    complain(account.error)
            if all(account.error for account in accounts):
                raise typer.Exit(1)
            raise CommandError(
                f"nobody who was asked remembers {event}: it is too old, or went elsewhere"
            )
    if json:
        print_json(attrs.asdict(explanation), "trace/1")
    else:
        _show(explanation)
    if not remembered:
        raise typer.Exit(1)


def _accounts(place: Path, event: str) -> Iterator[Account]:
    """Ask a running process, or read a run."""
    if not place.is_dir():
        try:
            answer = msgspec.convert(ask(place, "trace", event=event), Account)
            yield msgspec.structs.replace(answer, name=str(place))
        except ControlError as error:
            stopped = isinstance(error, SilentError)
            yield Account(str(place), stopped=stopped, error=str(error))
        return
    check_entries(place)
    traces = list(place.glob("trace-*.jsonl"))
    if not traces:
        raise CommandError(f"{place} has no traces in JSON lines: name the folder of a run")
    yield from accounts_of_run(traces, event)


def _show(explanation: Explanation) -> None:
    when = explanation.published
    published_at = "" if when is None else f" at {_time(when)}"
    print_lines(
        f"event {explanation.event}",
        f"in {explanation.topic or '?'}, published by {explanation.publisher[:8]}{published_at}",
    )
    if explanation.way:
        print_table(
            ("after", "from", "to", "community", "hops"),
            (
                (
                    "?" if step.seconds is None else f"{step.seconds:.3f} s",
                    step.sender[:8],
                    step.receiver[:8],
                    step.community,
                    step.hops,
                )
                for step in explanation.way
            ),
            texts=4,
        )
    print_table(
        ("process", "peer", "community", "has it", "why"),
        (
            (one.process, one.peer[:8], one.community, _HAS[one.has], one.says)
            for one in explanation.verdicts
        ),
        texts=5,
    )


_HAS: Final = {True: "yes", False: "NO", None: "?"}


def _time(when: float) -> str:
    if when < _SECONDS_A_YEAR:
        return f"{when:.3f} s of the run's clock"
    return datetime.fromtimestamp(when).isoformat(" ", "milliseconds")
