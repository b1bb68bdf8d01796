"""``camcast subscribe``: the events of a topic and its subtopics, as JSON lines on stdout."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Final, TypeVar

import typer

from camcast.app.community import JOIN_SECONDS
from camcast.app.durable import DurableSubscription, check_name
from camcast.app.manager import make_manager
from camcast.app.settings import ProcessSettings
from camcast.cli import options
from camcast.cli.configured import configured
from camcast.cli.event_lines import Format, json_of, seconds_of, time_of
from camcast.cli.failure import EXIT_TOO_FEW, clear_failures, remark
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json, print_line
from camcast.cli.position_file import PositionFile
from camcast.cli.printed import (
    GoneEvents,
    Joined,
    MissedEvents,
    PastReach,
    Range,
)
from camcast.cli.served_health import served_health
from camcast.cli.until_signalled import run_until_signalled
from camcast.doors.options import OptionError
from camcast.inbox.received import Lagged, Reach, Received
from camcast.inbox.subscription import Subscription
from camcast.interests.interest import Interest
from camcast.observe.condition_table import utc
from camcast.vocabulary.events import EventId, Missed
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.topics import Topic

# chosen: a file of 65,536 lines published at once waits for a slow terminal; 30 MB at 500 bytes.
_QUEUE_LENGTH: Final = 2**16

_log: Final = Logger(__name__)
_Item = TypeVar("_Item")
_PROCESS: Final = ProcessSettings()


@configured
@grouped
def subscribe(
    topic: Annotated[str, typer.Argument(help="The topic, e.g. .soccer; '.' is the root.")],
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=1, help="Stop after so many events.")
    ] = None,
    where: Annotated[
        str | None,
        typer.Option(
            metavar="INTEREST",
            help="Only events that match, e.g. 'mag >= 5', by their fields or their JSON object.",
        ),
    ] = None,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="First what was published since then and is still kept: so many seconds ago, a"
            " duration such as 8h, or a time such as 2026-11-27T08:00Z.",
        ),
    ] = None,
    durable: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Go on where the subscriber of this name was, also after a restart; needs"
            " --archive. --since is where a new name begins.",
        ),
    ] = None,
    position: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Go on where the last run with this file has ended, as far as members keep what"
            " was published since; --since is where a new file begins.",
        ),
    ] = None,
    latest: Annotated[
        bool, typer.Option("--latest", help="First the last value of each key.")
    ] = False,
    seconds: Annotated[
        str | None,
        typer.Option(
            "--for", metavar="DURATION", help="Stop so long after joining, e.g. 30s, 5min or 2h."
        ),
    ] = None,
    line_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="TEXT",
            help="Print each event as this text, e.g. '{published} {topic} {payload}'.",
        ),
    ] = None,
    settings: ProcessSettings = _PROCESS,
    retry: options.Retry = False,
    health: options.Health = None,
    json: Annotated[
        bool,
        typer.Option("--json", help="Say on stdout, too, when joined and how many were missed."),
    ] = False,
) -> None:
    """Print the events of a topic and its subtopics, one JSON object a line.

    A line has the event's topic, id, hops (messages that brought it here), and its payload,
    or payload_base64 where that is not UTF-8; a typed event has its class, as a topic, and its
    value, an object of its fields. An event that comes after later ones of its publisher is late;
    one with a key has its key, and is deleted if that is.
    Without a gateway the process founds the community,
    and is a gateway for other processes at the address that it prints. With --format a line is
    text of {published}, {topic}, {id}, {hops} and {payload}. Exit code 3: --for has ended, and
    nothing came, or less than --count.
    """
    with clear_failures():
        chosen = None if line_format is None else Format.parse(line_format)
        if durable is not None:
            check_durable(durable, settings)
        if json and chosen is not None:
            raise OptionError("--json and --format are two forms of the same lines: give one")
        if durable is not None and position is not None:
            raise OptionError("--durable and --position each say where to go on: give one")
        if latest and any(one is not None for one in (since, durable, position)):
            raise OptionError(
                "--latest begins with other events than --since, --durable and --position do"
            )
        parsed = Topic.parse(topic)
        work = _subscribe(
            settings,
            health,
            parsed,
            count,
            None if where is None else Interest.parse(where),
            retry=retry,
            json=json,
            since=None if since is None else time_of(since),
            durable=durable,
            position=None if position is None else PositionFile(position, parsed),
            latest=latest,
            seconds=None if seconds is None else seconds_of(seconds, "--for"),
            chosen=chosen,
        )
        if run_until_signalled(work) is False:
            raise typer.Exit(EXIT_TOO_FEW)


async def _subscribe(
    settings: ProcessSettings,
    health: str | None,
    topic: Topic,
    count: int | None,
    where: Interest | None,
    *,
    retry: bool,
    json: bool,
    since: float | datetime | None,
    durable: str | None,
    position: PositionFile | None,
    latest: bool,
    seconds: float | None,
    chosen: Format | None,
) -> bool:
    """Print events until there were enough, or the time is over; say whether enough came."""
    loop = asyncio.get_running_loop()
    done = asyncio.Event()
    left = count
    came = 0
    unwritable: OSError | None = None

    # Plain callbacks run in a thread of their own: whoever reads stdout slowly holds up
    # neither the forwarding of events nor Ctrl-C, and is told what was missed.
    def show(line: Mapping[str, object] | str) -> bool:
        nonlocal unwritable
        try:
            if isinstance(line, str):
                print_line(line)
            else:
                print_json(line, "subscribe/1")
        except BrokenPipeError:  # e.g. `| head`
            _finish()
        except OSError as error:  # e.g. a full disk
            unwritable = error
            _finish()
        else:
            return True
        return False

    def on_event(received: Received) -> None:
        nonlocal left, came
        if left != 0:
            came += show(json_of(received) if chosen is None else chosen.line(received))
        if left is not None and left > 0:
            left -= 1
            if not left:
                _finish()

    def on_lagged(lagged: Lagged) -> None:
        if json:
            show(MissedEvents(missed=lagged.missed))
        _log.warning("slow_subscriber: %d events were missed", lagged.missed)

    def on_missed(missed: Missed) -> None:
        first, last = EventId(missed.stream, missed.first), EventId(missed.stream, missed.last)
        if json:
            gone = Range(topic=missed.topic.name, first=str(first), last=str(last))
            show(GoneEvents(gone=gone))
        _log.warning("events %s to %s in %s can no longer be had", first, last, missed.topic)

    def on_reach(reach: Reach) -> None:
        if json:
            show(PastReach(reach=utc(reach.since)))

    def _finish() -> None:
        with suppress(RuntimeError):  # the loop has ended by now
            loop.call_soon_threadsafe(done.set)

    manager = make_manager(settings)
    async with manager, served_health(manager, health):
        community = manager.community(topic)
        await community.join(timeout=None if retry else JOIN_SECONDS, retry=retry)
        if json:
            show(Joined(joined=topic.name, address=manager.address))
        remark(f"joined {topic} at {manager.address}")
        reading: asyncio.Task[None] | None = None
        if durable is None and position is None:
            community.subscribe(
                on_event,
                on_lagged=on_lagged,
                on_missed=on_missed,
                on_reach=None if since is None else on_reach,
                since=since,
                latest=latest,
                queue_length=_QUEUE_LENGTH,
                where=where,
            )
        else:
            begins = since if position is None else position.begins_at or since
            subscription = community.subscribe(
                durable=durable, ack=durable is not None, since=begins, where=where
            )
            reading = asyncio.create_task(
                _print_each(
                    subscription,
                    position,
                    lambda: came,
                    on_event,
                    on_lagged,
                    on_missed,
                    on_reach,
                    done,
                )
            )
            reading.add_done_callback(lambda task: None if task.cancelled() else done.set())
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), seconds)
        finally:
            if reading is not None:
                reading.cancel()
                with suppress(asyncio.CancelledError):
                    await reading
    if unwritable is not None:
        raise unwritable
    return done.is_set() or came >= (count or 1)


async def _print_each(
    subscription: Subscription[bytes],
    position: PositionFile | None,
    printed: Callable[[], int],
    on_event: Callable[[Received], None],
    on_lagged: Callable[[Lagged], None],
    on_missed: Callable[[Missed], None],
    on_reach: Callable[[Reach], None],
    done: asyncio.Event,
) -> None:
    """Print events until nobody wants more; what was printed does not come again."""
    behind = subscription.position
    try:
        async for item in subscription:
            if isinstance(item, Received):
                before = printed()
                try:
                    await _whole(on_event, item)
                finally:
                    if printed() > before:
                        behind = subscription.position
                        if isinstance(subscription, DurableSubscription):
                            subscription.ack()
            elif isinstance(item, Missed):
                await _whole(on_missed, item)
            elif isinstance(item, Reach):
                await _whole(on_reach, item)
            else:
                await _whole(on_lagged, item)
            if done.is_set():
                return
            if position is not None and position.is_due:
                await _whole(position.move, behind)
    finally:
        if position is not None:
            position.move(behind)


async def _whole(work: Callable[[_Item], None], item: _Item) -> None:
    """Let a thread do something to its end, also if this is cancelled meanwhile."""
    running = asyncio.ensure_future(asyncio.to_thread(work, item))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        await running
        raise


def check_durable(name: str, settings: ProcessSettings) -> None:
    """Raise `OptionError` for a name that is none, and without an archive."""
    if settings.archiving.archive is None:
        raise OptionError("--durable reads an archive: give --archive FILE, too")
    try:
        check_name(name)
    except ValueError as error:
        raise OptionError(f"--durable: {error}") from None
