"""First contact through a Kademlia DHT: no gateway of a community, a few addresses for all.

A process announces itself by joining the DHT once for each of its communities, and finds others
by looking into their subtrees (`overlays.kademlia.overlay` has the theory). This file puts that
behind the core's door: the engine's wishes become coroutines on the running loop, and their
results findings that the driver gives to the node.

The gateways of the configuration are bootstrap addresses of the whole network, whatever topic
they are listed under. A process listens on the UDP port of the number that its input pipe has as
a TCP port, so that one address serves both. If that is in use, a process whose port somebody chose
does not start, since others may be configured with it; any other takes a free one.

What is sought in a community that was announced waits for the announcement, and a look-up that
began before it and found nobody is repeated: two founders that start together find each other,
since both can be found before they look.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from functools import partial
from typing import Any, Final

from attrs import define

from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.topics import GroupId, Topic
from overlays.kademlia.overlay import Found, KademliaOverlay, OverlayError
from overlays.kademlia.table import Address, usable

log = logging.getLogger(__name__)

LOOKS_MAX: Final = 3
# chosen: how often nobody may be found, while calls fail, before it is believed: who believes it
# founds the community once more. The dead are no longer asked the second time.


def endpoint(address: str) -> Address:
    """Return (host, port) of an address like ``tcp://127.0.0.1:7000``."""
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return host, int(port)


@define
class _Search:
    """A look-up under way; who asks for the same meanwhile gets its answer, for the most wanted."""

    wanted: int


class KademliaDiscovery(Discovery):
    """Discovery through a Kademlia DHT; see the module's text."""

    def __init__(self, context: DiscoveryContext) -> None:
        self._context = context
        host, port = endpoint(context.me.address)
        self._overlay = self._overlay_at(host, port)
        self._announced: dict[GroupId, asyncio.Task[None]] = {}
        self._changes: dict[GroupId, asyncio.Task[None]] = {}
        """The latest announcement or withdrawal, until it is over."""
        self._searches: dict[GroupId, _Search] = {}
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._early: list[Callable[[], None]] = []
        """What was wished for before this was open."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._owner = copy_context()
        """In which the tasks run, also when a driver that is not the loop makes a step: a virtual
        loop knows by it whose they are."""

    def _overlay_at(self, host: str, port: int) -> KademliaOverlay:
        return KademliaOverlay(
            rng=self._context.rng,
            host=host,
            port=port,
            port_required=self._context.port_required,
            memory=self._context.remember,
        )

    # -- life ----------------------------------------------------------------------------------

    async def open(self) -> None:
        """See `Discovery`; raises `OSError` if no UDP port can be had, or not the one required."""
        listed = [a for addresses in self._context.gateways.values() for a in addresses]
        bootstrap = [endpoint(address) for address in dict.fromkeys(listed)]
        own = endpoint(self._context.me.address)
        others = [a for a in bootstrap if usable(a) and a != own]
        if not usable(own):
            raise OSError(
                errno.EAFNOSUPPORT,
                f"the overlay speaks IPv4 only; listen at an IPv4 address, not {own[0]}",
            )
        try:
            await self._overlay.open(others)
        except OSError as error:
            if error.errno != errno.EADDRNOTAVAIL:
                raise
            # What is advertised is not an address of this machine (NAT, a container).
            self._overlay = self._overlay_at("0.0.0.0", own[1])
            await self._overlay.open(others)
        self._loop, self._owner = asyncio.get_running_loop(), copy_context()
        for wish in self._early:
            wish()
        self._early.clear()

    async def close(self) -> None:
        """See `Discovery`."""
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._overlay.close()

    @property
    def state(self) -> str:
        """See `Discovery`."""
        return self._overlay.state

    # -- wishes --------------------------------------------------------------------------------

    def announce(self, topic: Topic, now: float) -> None:
        """See `Discovery`."""
        if self._loop is None:
            self._early.append(partial(self.announce, topic, now))
        elif topic.group not in self._announced:
            before = self._changes.get(topic.group)
            self._announced[topic.group] = self._change(topic, self._announce(topic, before))

    def withdraw(self, topic: Topic, now: float) -> None:
        """See `Discovery`."""
        if self._loop is None:
            self._early.append(partial(self.withdraw, topic, now))
        elif self._announced.pop(topic.group, None) is not None:
            before = self._changes.get(topic.group)
            self._change(topic, self._withdraw(topic, before))

    def seek(self, topic: Topic, wanted: int, now: float) -> None:
        """See `Discovery`; one look-up at a time for a community."""
        if self._loop is None:
            self._early.append(partial(self.seek, topic, wanted, now))
            return
        search = self._searches.get(topic.group)
        if search is not None:
            search.wanted = max(search.wanted, wanted)
            return
        search = self._searches[topic.group] = _Search(wanted)
        self._start(self._seek(topic, search))

    def wake(self, name: tuple[Any, ...], now: float) -> None:
        """See `Discovery`; its timers are the loop's."""

    # -- work ----------------------------------------------------------------------------------

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        assert self._loop is not None, "a discovery is opened before it is used"
        task = self._loop.create_task(work, context=self._owner.copy())
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    def _change(self, topic: Topic, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start an announcement or withdrawal, which goes on after the one before."""
        task = self._changes[topic.group] = self._start(work)

        def forget(_: asyncio.Task[None]) -> None:
            if self._changes.get(topic.group) is task:
                del self._changes[topic.group]

        task.add_done_callback(forget)
        return task

    async def _announce(self, topic: Topic, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        if topic.group in self._announced:  # else it was withdrawn meanwhile
            try:
                await self._overlay.join(topic.group, self._context.me, topic.name)
            except (OSError, OverlayError) as error:
                log.warning("this process cannot be found as a member of %s: %s", topic, error)

    async def _withdraw(self, topic: Topic, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        if topic.group not in self._announced:  # else it was announced again meanwhile
            try:
                await self._overlay.leave(topic.group)
            except (OSError, OverlayError) as error:
                log.warning("this process may still be found as a member of %s: %s", topic, error)

    async def _seek(self, topic: Topic, search: _Search) -> None:
        try:
            found = await self._find(topic, search)
        except OverlayError as error:
            log.debug("nothing sought in %s: %s", topic, error)
            return
        finally:
            self._searches.pop(topic.group, None)
        unreachable = tuple(f"tcp://{address}" for address in found.unreachable)
        self._context.answer(Finding(topic, found.contacts, unreachable, found.size))

    async def _find(self, topic: Topic, search: _Search) -> Found:
        """Look until the answer is one for everybody who has asked by then."""
        looks = 0
        while True:
            announced, wanted = self._announced.get(topic.group), search.wanted
            if announced is not None:
                await asyncio.wait([announced])
            found = await self._overlay.find(topic.group, wanted)
            looks += 1
            if found.unreachable:
                return found
            if found.doubtful and looks < LOOKS_MAX:
                continue
            changed = self._announced.get(topic.group) not in (None, announced)
            more = search.wanted > wanted and len(found.contacts) == wanted
            if not (changed and not found.contacts) and not more:
                return found
