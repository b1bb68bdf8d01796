"""``camcast events``: what happened to running processes, in one stream."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from attrs import define, field

from camcast.cli import options
from camcast.cli.ask import no_sockets
from camcast.cli.failure import clear_failures
from camcast.cli.output import print_json, print_line
from camcast.cli.printed import HappeningRow
from camcast.live.control_socket import Connection, ControlError
from camcast.observe.condition_table import utc
from camcast.ops.dashboard.gathering import ANSWER_SECONDS, sockets_of

EVERY_SECONDS: Final = 1.0  # chosen: a line is no later than a person notices


def events(
    places: Annotated[
        list[Path],
        typer.Argument(metavar="PLACE...", help="Control sockets, or folders of them."),
    ],
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what happens next, until Ctrl-C.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Print what happened to processes: who joined, left, came or went, and what began and ended.

    A line has the time, the process, and what happened, in the words of the log; conditions are
    those of camcast doctor. Each process remembers its last thousand happenings. With --follow
    sockets that come later are read, too. With --json a line is an object. Exit code 1: a process
    does not answer, or there is none; with --follow both may change.
    """
    followed: dict[Path, Followed] = {}
    with clear_failures():
        while True:
            rows: list[HappeningRow] = []
            for path in dict.fromkeys((*sockets_of(places), *followed)):
                rows += followed.setdefault(path, Followed(path)).look()
            for row in sorted(rows, key=lambda row: row["at"]):
                if json:
                    print_json(row, "events/1")
                else:
                    about = "" if row["topic"] in row["says"] else f" {row['topic']}"
                    said = f"{row['kind']}{about}: {row['says']}"
                    print_line(f"{utc(row['at'])} {row['process']} {said}")
            if not follow:
                if not followed:
                    raise no_sockets(*places)
                raise typer.Exit(any(one.silent for one in followed.values()))
            time.sleep(EVERY_SECONDS)


@define
class Followed:
    """A process that is asked again and again what is new."""

    path: Path
    _process: int = 0
    """Its number: another one is another process, which has happenings of its own."""
    _count: int = 0
    """How many of its happenings are known."""
    _lasting: dict[tuple[str, str], float] = field(factory=dict)
    """Since when the conditions last that were told."""
    _over: float = 0.0
    """When the last condition was over that was told."""
    silent: bool = False
    """Whether it did not answer when it was asked last."""

    def look(self) -> Iterator[HappeningRow]:
        """Yield what is new."""
        try:
            with Connection(self.path, ANSWER_SECONDS) as connection:
                stats = connection.ask("status")
                if stats["process"] != self._process:
                    self._process, self._count, self._over = stats["process"], 0, 0.0
                    self._lasting.clear()
                answer = connection.ask("events", after=self._count)
        except ControlError as error:
            if not self.silent:
                yield self._row(time.time(), "no_answer", "", str(error))
            self.silent = True
            return
        if self.silent:
            self.silent = False
            yield self._row(stats["taken"], "answers", "", "it answers again")
        self._count = answer["count"]
        for one in answer["events"]:
            yield self._row(one["when"], one["kind"], one["topic"], one["says"])
        yield from self._conditions(stats["conditions"])

    def _conditions(self, conditions: list[dict[str, Any]]) -> Iterator[HappeningRow]:
        """Yield the conditions that are new, and those that are over."""
        before, self._lasting = self._lasting, {}
        for one in conditions:
            key, since = (one["name"], one["about"]), one["since"]
            if one["stage"] == "lasting":
                self._lasting[key] = since
                if key not in before:
                    yield self._row(since, *key, f"{one['says']}; {one['do']}")
        latest = self._over
        for one in conditions:
            if one["stage"] == "over" and one["seen"] > self._over:
                latest = max(latest, one["seen"])
                if (one["name"], one["about"]) not in before:  # it began before this look, too
                    yield self._row(one["since"], one["name"], one["about"], one["says"])
                yield self._row(one["seen"], one["name"], one["about"], "is over")
        self._over = latest

    def _row(self, at: float, kind: str, topic: str, says: str) -> HappeningRow:
        return HappeningRow(at=at, process=self.path.name, kind=kind, topic=topic, says=says)
