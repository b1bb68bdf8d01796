"""``camcast publish``: one event, or one a line of stdin."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec
import typer
from attrs import frozen

from camcast.app.community import CONFIRM_SECONDS, Community
from camcast.app.manager import make_manager
from camcast.app.settings import ProcessSettings
from camcast.cli import options
from camcast.cli.configured import configured
from camcast.cli.failure import EXIT_FAILED, CommandError, clear_failures, complain
from camcast.cli.input_lines import input_lines
from camcast.cli.option_group import grouped
from camcast.cli.output import print_json
from camcast.cli.printed import PublishReceipt
from camcast.cli.served_health import served_health
from camcast.cli.until_signalled import run_until_signalled
from camcast.doors.transport import OutputPipes
from camcast.engine.repair.offers import UNSENT_SECONDS
from camcast.live.runner import GATHERING_TURNS_MAX
from camcast.vocabulary.batches import KEY_BYTES_MAX
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.events import Receipt
from camcast.vocabulary.messages import UNDECODABLE
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import Sent
from camcast.vocabulary.wire import EVENT_BYTES_MAX, PAYLOAD_BYTES_MAX

WAIT_SECONDS: Final = 10.0  # chosen: as long as a join may take; a search upward takes 1 or 2

_LOOK_SECONDS: Final = 0.05  # chosen: a twentieth of a second longer than it takes, at most
_DRAIN_SECONDS: Final = 1.0  # chosen: peers that take nothing for so long are not waited for

_PROCESS: Final = ProcessSettings()


@configured
@grouped
def publish(
    topic: Annotated[str, typer.Argument(help="The topic, e.g. .soccer.italy.")],
    message: Annotated[
        str | None, typer.Argument(help="The event; without it, every line of stdin is one.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(dir_okay=False, exists=True, help="The event is the content of this file."),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(help="Members keep the last event of each key for those who come later."),
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete the key of --key; there is no event.")
    ] = False,
    rate: Annotated[
        float | None,
        typer.Option(min=0.001, help="Publish so many events a second at most, e.g. 0.5."),
    ] = None,
    wait: Annotated[
        float, typer.Option(min=0.0, help="Seconds to wait for somebody to publish to.")
    ] = WAIT_SECONDS,
    confirmed_by: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="K",
            help=f"Wait, {CONFIRM_SECONDS:g} s at most, until so many other members hold each"
            " event.",
        ),
    ] = 0,
    settings: ProcessSettings = _PROCESS,
    retry: options.Retry = False,
    health: options.Health = None,
    typed: Annotated[
        bool,
        typer.Option(
            "--class",
            help="Each event is a JSON object: the fields of the class that has this topic.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a receipt for each event, as a JSON line.")
    ] = False,
) -> None:
    """Publish a message, a file or every line of stdin to all who subscribe here or above.

    Waits until it knows a peer of the topic or a link to a super-topic, since an event
    published alone reaches nobody, and leaves again when all is on its way. The receipts of
    --json count the peers and the links that each event left for, and say whether it was accepted.
    Exit code 1: something was not published, was dropped, left for nobody, or was not confirmed.
    """
    with clear_failures(OSError):
        parsed = Topic.parse(topic)
        if typed and not parsed.level:
            raise CommandError("--class needs a topic below the root, which is that of no class")
        if delete and (key is None or message is not None or file is not None or typed):
            raise CommandError("--delete goes with --key, and with no event")
        limit = _Limit.of(settings, is_keyed=key is not None)
        work = _publish(
            settings,
            health,
            parsed,
            _paced(_one(b"") if delete else _events(message, file, limit), rate),
            limit,
            wait,
            key=None if key is None else _key(key),
            delete=delete,
            confirmed_by=confirmed_by,
            retry=retry,
            typed=typed,
            json=json,
        )
        if run_until_signalled(work) is False:
            raise typer.Exit(EXIT_FAILED)


@frozen
class _Limit:
    """The longest event that the command publishes."""

    bytes_max: int
    can_be_raised: bool

    @classmethod
    def of(cls, settings: ProcessSettings, *, is_keyed: bool) -> _Limit:
        """Return the limit of events with a key, or without one."""
        if is_keyed or not settings.spread.repair:  # neither leaves in pieces
            return cls(PAYLOAD_BYTES_MAX, can_be_raised=False)
        bytes_max = settings.spread.community().event_bytes_max
        return cls(bytes_max, can_be_raised=bytes_max < EVENT_BYTES_MAX)

    def excess(self, what: str, consequence: str = "") -> str:
        """Return the sentence for an event above the limit, and what allows it if anything does."""
        said = f"{what} is over {self.bytes_max:,} bytes, the most of an event{consequence}"
        if self.can_be_raised:
            said += (
                f"; --event-bytes-max, here and at all subscribers, allows {EVENT_BYTES_MAX:,}"
                " at most"
            )
        return said


def _key(text: str) -> bytes:
    key = text.encode(errors="surrogateescape")
    if not 1 <= len(key) <= KEY_BYTES_MAX:
        raise CommandError(f"--key has 1 to {KEY_BYTES_MAX} bytes, not {len(key)}")
    return key


def _events(message: str | None, file: Path | None, limit: _Limit) -> AsyncIterator[bytes | None]:
    """Return the events: the message, the content of the file, or the lines of stdin."""
    if file is not None:
        if message is not None:
            raise CommandError("give a message or --file, not both")
        with file.open("rb") as opened:
            content = opened.read(limit.bytes_max + 1)
        if len(content) > limit.bytes_max:
            raise CommandError(limit.excess(str(file)))
        return _one(content)
    if message is not None:
        return _one(message.encode(errors="surrogateescape"))
    return input_lines(sys.stdin.fileno(), limit.bytes_max)


async def _one(event: bytes) -> AsyncIterator[bytes | None]:
    yield event


async def _paced(
    events: AsyncIterator[bytes | None], rate: float | None
) -> AsyncIterator[bytes | None]:
    """Yield events, of which each is due the time of one after the one before."""
    loop, due = asyncio.get_running_loop(), 0.0
    async for event in events:
        if rate is not None:
            await asyncio.sleep(max(0.0, due - loop.time()))
            due = max(due, loop.time()) + 1 / rate
        yield event


async def _publish(
    settings: ProcessSettings,
    health: str | None,
    topic: Topic,
    events: AsyncIterator[bytes | None],
    limit: _Limit,
    wait_seconds: float,
    *,
    key: bytes | None,
    delete: bool,
    confirmed_by: int,
    retry: bool,
    typed: bool,
    json: bool,
) -> bool:
    """Publish the events; say whether every one of them left for somebody."""
    published, refused, unheard, dropped, unconfirmed, unsent = 0, 0, 0, 0, 0, 0
    manager = make_manager(settings)
    async with manager, served_health(manager, health):
        community = manager.community(topic)
        await not_alone(community, wait_seconds, retry=retry)
        number = 0
        async for event in events:
            number += 1
            if event is None:
                complain(limit.excess(f"line {number}", ", and was not published"))
                refused += 1
                continue
            if typed and (sent := _sent(event, topic)) is None:
                complain(f"line {number} is no JSON object and was not published")
                refused += 1
                continue
            given = None if delete else sent if typed else event
            receipt = await community.publish(given, key=key, confirmed_by=confirmed_by)
            published += 1
            dropped += not receipt.accepted
            leaves = receipt.peers or receipt.links or receipt.later
            unheard += receipt.accepted and not leaves
            unconfirmed += receipt.accepted and receipt.confirmed < confirmed_by
            if json and not _show(receipt, topic):
                return True
        await all_left(community, manager.pipes)
        unsent = community.unsent
    if unheard:
        complain(f"{unheard} of {published} events left for nobody; publish them again")
    if unsent:
        complain(
            f"nobody has taken {unsent} of {published} events, of more than {PAYLOAD_BYTES_MAX:,}"
            f" bytes, within {UNSENT_SECONDS:g} s; publish them again, to subscribers with as high"
            " an --event-bytes-max"
        )
    if dropped:
        complain(
            f"{dropped} of {published} events were dropped, since the peers take them too slowly;"
            " publish them again"
        )
    if unconfirmed:
        complain(
            f"{unconfirmed} of {published} events are not known to be held by {confirmed_by} other"
            f" members of {topic} after {CONFIRM_SECONDS:g} s; they may be all the same"
        )
    return not (refused or unheard or dropped or unconfirmed or unsent)


def _sent(event: bytes, topic: Topic) -> Sent | None:
    """Return a JSON object as an event of the class that has a topic; None if it is none."""
    try:
        fields = msgspec.json.decode(event, type=dict[str, Any])
    except UNDECODABLE:
        return None
    return Sent(tuple(above.name for above in (topic, *topic.ancestors()) if above.level), fields)


async def all_left(community: Community, pipes: OutputPipes) -> None:
    """Wait until everything is on the wire, for as long as something moves.

    An event that leaves in pieces is asked for: it is waited for until somebody has it.
    """
    for _ in range(GATHERING_TURNS_MAX):  # then what was published has left the node
        await asyncio.sleep(0)
    with suppress(TimeoutError):
        async with asyncio.timeout(UNSENT_SECONDS):
            while community.unsent:
                await asyncio.sleep(_LOOK_SECONDS)
    sent = -1
    while sent < pipes.counters.bytes_sent and not await pipes.drain(_DRAIN_SECONDS):
        sent = pipes.counters.bytes_sent


async def not_alone(community: Community, wait_seconds: float, *, retry: bool) -> None:
    """Join, and wait until there is a peer or a link to a super-topic."""
    try:
        async with asyncio.timeout(wait_seconds):
            await community.join(timeout=None, retry=retry)
            ways = [
                asyncio.ensure_future(community.ready(1, timeout=None)),
                asyncio.ensure_future(community.ready(0, min_links=1, timeout=None)),
            ]
            try:
                done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
                upward_seconds = (
                    CommunitySettings().search_seconds * community.topic.level
                )  # to the root
                done |= (await asyncio.wait(ways[1:], timeout=upward_seconds))[0]
                for way in done:
                    way.result()
            finally:
                for way in ways:
                    way.cancel()
    except CommunityError:  # some of which are TimeoutErrors, too
        raise
    except TimeoutError:
        raise CommandError(
            f"nobody else was found in {community.topic} or above it within {wait_seconds:g} s,"
            " and nothing was published; start a subscriber, check --gateway, or --wait longer"
        ) from None


def _show(receipt: Receipt, topic: Topic) -> bool:
    """Print a receipt; False if nobody reads any longer."""
    try:
        line = PublishReceipt(
            topic=topic.name,
            id=str(receipt.id) if receipt.accepted else None,
            peers=receipt.peers,
            links=receipt.links,
            accepted=receipt.accepted,
            later=receipt.later,
            confirmed=receipt.confirmed,
        )
        print_json(line, "publish/1")
    except BrokenPipeError:
        return False
    return True
