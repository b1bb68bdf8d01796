"""``camcast ping``: a probe, which processes got it, and after how long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer

from camcast.app.manager import make_manager
from camcast.app.settings import ProcessSettings
from camcast.cli import options
from camcast.cli.ask import print_table
from camcast.cli.configured import configured
from camcast.cli.failure import EXIT_FAILED, CommandError, clear_failures
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.cli.printed import PingRow
from camcast.cli.publish import WAIT_SECONDS, not_alone
from camcast.cli.until_signalled import run_until_signalled
from camcast.live.control_socket import ControlError, SilentError, ask
from camcast.observe.event_trace import Account, Explanation, Moment, explain
from camcast.ops.dashboard.gathering import ANSWER_SECONDS, sockets_of
from camcast.vocabulary.topics import PROBE, Topic

WITHIN_SECONDS: Final = 10.0  # chosen: what is lost on the way comes by repair in some 2 s a level
_LOOK_SECONDS: Final = 0.2  # chosen: between two questions to all

_PROCESS: Final = ProcessSettings()


@configured
@grouped
def ping(
    topic: Annotated[str, typer.Argument(help="The topic, e.g. .soccer.italy.")],
    places: Annotated[
        list[Path],
        typer.Argument(
            metavar="PLACE...", help="The control sockets of those who are asked, or folders."
        ),
    ],
    within: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait until all have it.")
    ] = WITHIN_SECONDS,
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for somebody to publish to.")
    ] = WAIT_SECONDS,
    settings: ProcessSettings = _PROCESS,
    retry: options.Retry = False,
    json: options.Json = False,
) -> None:
    """Publish a probe, and show who got it, after how long, through all levels.

    The probe is an event of TOPIC.camcast-ping, which climbs as any event below TOPIC does; no
    subscription gets it. The processes at the control sockets are asked whether it came. Times are
    by the clock of each process. Exit code 1: a process of TOPIC, or of a topic above it, did not
    get the probe, or gave no answer.
    """
    with clear_failures(OSError):
        below = Topic.parse(topic).child(PROBE)
        sockets = sockets_of(places)
        if not sockets:
            raise CommandError("there are no control sockets; processes make them with --control")
        found = run_until_signalled(_ping(settings, below, sockets, wait, within, retry=retry))
        if found is None:
            return
        rows = _rows(found)
        if not rows:
            raise CommandError(f"none of the {len(sockets)} that were asked is in {topic} or above")
    if json:
        print_json(rows, "ping/1")
    else:
        print_table(
            ("process", "community", "got it", "after", "hops", "why"),
            (
                (
                    *(
                        row["process"],
                        row["community"],
                        {True: "yes", False: "NO", None: "?"}[row["has"]],
                    ),
                    "" if row["seconds"] is None else f"{row['seconds'] * 1000:.1f} ms",
                    "" if row["hops"] is None else row["hops"],
                    row["says"],
                )
                for row in rows
            ),
            texts=6,
        )
    if not all(row["has"] for row in rows):
        raise typer.Exit(EXIT_FAILED)


async def _ping(
    settings: ProcessSettings,
    topic: Topic,
    sockets: Sequence[Path],
    wait_seconds: float,
    within_seconds: float,
    *,
    retry: bool,
) -> Explanation:
    """Publish a probe; return what became of it once all have it, or the time is over."""
    manager = make_manager(settings)
    async with manager:
        community = manager.community(topic)
        await not_alone(community, wait_seconds, retry=retry)
        published = time.time()
        event = str((await community.publish(b"")).id)
        own = Moment(published, "publish", topic.name, event, 1, topic=topic.name)
        until = time.monotonic() + within_seconds
        while True:
            accounts = [await asyncio.to_thread(_account, one, event) for one in sockets]
            found = explain(event, [*accounts, Account("", moments=(own,))])
            if all(row["has"] for row in _rows(found)) or time.monotonic() >= until:
                return found
            await asyncio.sleep(_LOOK_SECONDS)


def _account(socket: Path, event: str) -> Account:
    try:
        answer = msgspec.convert(ask(socket, "trace", ANSWER_SECONDS, event=event), Account)
    except ControlError as error:
        return Account(socket.name, stopped=isinstance(error, SilentError), error=str(error))
    return msgspec.structs.replace(answer, name=socket.name)


def _rows(found: Explanation) -> list[PingRow]:
    """Return a row for each process and community that should have it, the topmost last."""
    came = {(step.receiver, step.community): step for step in reversed(found.way)}
    rows = []
    for one in found.verdicts:
        if not one.process or one.reason == "not_interested":
            continue
        step = came.get((one.peer, one.community))
        row = PingRow(
            process=one.process,
            peer=one.peer,
            community=one.community,
            has=one.has,
            seconds=None if step is None or step.seconds is None else max(0.0, step.seconds),
            hops=None if step is None else step.hops,
            says="" if one.has else one.says,
        )
        rows.append(row)
    levels = {row["community"]: len(row["community"].split(".")) for row in rows}
    return sorted(rows, key=lambda row: (-levels[row["community"]], row["process"]))
