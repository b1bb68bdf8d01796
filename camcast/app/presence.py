"""Presence: the processes that follow a topic announce their names to each other.

::

    async with Presence(manager, ".chat.music", "Ada", on_change=print) as presence:
        print(sorted(presence.names.values()))

Each process publishes its name every few seconds in a community below the topic, of which the ones
above hear nothing: ``.chat.music.presence``. A newcomer first gets the names that its neighbours
keep. Who leaves says so; who is not heard of for three beats is `silent`. A name proves nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, Literal, NamedTuple

import msgspec
from attrs import frozen

from camcast.app.community import Community
from camcast.app.manager import CommunityManager
from camcast.app.topic_arguments import TopicLike, topic_of
from camcast.inbox.received import Received
from camcast.inbox.subscription import Subscription
from camcast.live.wire.reading_time import reading_time
from camcast.observe.failure_log import FailureLog
from camcast.vocabulary.arguments import check_finite, check_plain, check_type
from camcast.vocabulary.errors import CamcastError, CommunityError
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.messages import UNDECODABLE

BEAT_SECONDS: Final = 5.0  # chosen: soon enough for a person; 100 processes make 20 events/s
_SILENT_BEATS: Final = 3  # chosen: two lost in a row are no death
NAME_LENGTH_MAX: Final = 64  # chosen: characters of what a person calls himself
MEMBERS_MAX: Final = 4096  # chosen: 1 MB of names; who has more members wants no list of them

Kind = Literal["came", "left", "silent"]
_log = Logger(__name__)


@frozen
class PresenceChange:
    """A process that came, left, or has fallen silent."""

    kind: Kind
    peer: PeerId
    name: str


class _Beat(msgspec.Struct, array_like=True):
    name: str
    here: bool


class _Member(NamedTuple):
    name: str
    here: bool
    order: tuple[int, int]  # of the last beat, since history may come after what followed it
    heard: float  # by reading time: who keeps the loop itself hears nobody


class Presence:
    """The names of all who are there, this process included; use it as an async context manager.

    `on_change` is called in the event loop with each `PresenceChange` of another process. Beyond
    `MEMBERS_MAX` members others are not listed until there is room, which is logged once. Raises
    `TopicError`, `ValueError` for what is no name, and what `join` raises.
    """

    def __init__(
        self,
        manager: CommunityManager,
        topic: TopicLike,
        name: str,
        *,
        on_change: Callable[[PresenceChange], None] = lambda _: None,
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        check_type("manager", manager, CommunityManager, "a CommunityManager of asyncio")
        check_type("name", name, str, "a text")
        check_plain("on_change", on_change)
        check_finite("beat_seconds", beat_seconds)
        if not beat_seconds > 0:
            raise ValueError(f"beat_seconds is more than 0, and not {beat_seconds}")
        if not _is_name(name):
            raise ValueError(
                f"a name has 1 to {NAME_LENGTH_MAX} printable characters, not {name!r}"
            )
        self.name = str(name)  # messages carry no class of texts of the application's
        self._manager = manager
        below = topic_of(topic).child("presence")
        self._community: Community = manager.community(below, super_topics=())
        self._on_change = on_change
        self._beat_seconds = beat_seconds
        self._kept_seconds = beat_seconds * _SILENT_BEATS
        self._members: dict[PeerId, _Member] = {}
        self._failures = FailureLog()
        self._full = False  # whether it was logged that others are not listed
        self._tasks: list[asyncio.Task[None]] = []
        self._events: Subscription | None = None

    @property
    def names(self) -> Mapping[PeerId, str]:
        """The names of those who are there, by the identity of their process."""
        others = {peer: one.name for peer, one in self._members.items() if one.here}
        return others | {self._manager.contact.peer: self.name}

    async def __aenter__(self) -> Presence:
        if self._events is not None and not self._events.closed:
            raise CommunityError("this is open already: make another `Presence`, or use this one")
        events = self._events = self._community.subscribe(since=self._kept_seconds, own=False)
        try:
            await self._community.join()
        except BaseException:
            events.close()  # and leave, unless somebody else is here
            raise
        work = (self._listen(events), self._beat_on())
        self._tasks = [asyncio.create_task(one) for one in work]
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        try:
            await asyncio.gather(*self._tasks, return_exceptions=True)
            with suppress(CamcastError):  # the manager has gone before, say
                await self._publish(here=False)
        finally:
            if self._events is not None:
                self._events.close()
            self._community.stop_publishing()  # and leave, unless somebody else is here

    async def _publish(self, *, here: bool) -> None:
        await self._community.publish(msgspec.msgpack.encode(_Beat(self.name, here)))

    async def _beat_on(self) -> None:
        while True:
            try:
                await self._publish(here=True)
            except CommunityError:
                pass  # alone for now, perhaps; the next beat tries again
            except CamcastError as error:  # no certificate to publish here, say
                _log.warning("%s cannot be told who is here: %s", self._community.topic, error)
            await asyncio.sleep(self._beat_seconds)
            heard_since = reading_time().seconds() - self._kept_seconds
            for peer, one in list(self._members.items()):
                if one.heard < heard_since:
                    del self._members[peer]
                    if one.here:
                        self._tell("silent", peer, one.name)

    async def _listen(self, events: Subscription) -> None:
        async for event in events:
            if isinstance(event, Received):
                with suppress(*UNDECODABLE):
                    self._hear(event, msgspec.msgpack.decode(event.payload, type=_Beat))

    def _hear(self, event: Received, beat: _Beat) -> None:
        peer, order = event.id.publisher, (event.id.number, event.sequence)
        before = self._members.get(peer)
        if not _is_name(beat.name) or (before and before.order >= order):
            return
        if before is None and len(self._members) >= MEMBERS_MAX:
            if not self._full:
                _log.warning("more than %d members: others are not listed", MEMBERS_MAX)
            self._full = True
            return
        self._members[peer] = _Member(beat.name, beat.here, order, reading_time().seconds())
        if beat.here != (before is not None and before.here):
            self._tell("came" if beat.here else "left", peer, beat.name)

    def _tell(self, kind: Kind, peer: PeerId, name: str) -> None:
        try:
            self._on_change(PresenceChange(kind, peer, name))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            said = f"on_change of the presence in {self._community.topic} raised"
            self._failures.take(said, error, asyncio.get_running_loop().time())


def _is_name(text: str) -> bool:
    return 0 < len(text) <= NAME_LENGTH_MAX and text.isprintable()
