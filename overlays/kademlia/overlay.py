"""A process in the DHT: joining communities, finding members of others, staying connected.

Theory of operation
-------------------
A process has one identifier, with an endpoint and a routing table, for each community it is in:
``group ‖ 12 random bytes``, so that a community is a subtree, and its members are found by
looking for points in it [PROTOCOLS 3]. No records are stored, so none go stale. A process in
no community has one random identifier (a bootstrap node has no other). It is given up when the
first community is joined, unless its port was asked for: others may have been told of that port.

*Finding* a group: one crawl towards a random point of its subtree; if that sees k members or
more, some more at once (`points_for`). Members are drawn from what they found (`kademlia_crawl`)
and asked for their contact, as many at a time as are still wanted; for each that is slow, another.
Who answers with a contact, and a topic whose hash is the group, is alive and is a contact.

*Upkeep.* Every identifier looks for itself and for a random point, pings those whom it doubts
or has not heard of for longest, and asks the bootstrap nodes and remembered contacts now and
then: at first every two seconds, later every minute; again every few while nobody answers.
Two halves of a partition find each other through the bootstrap nodes.

*State*: ``alone`` until somebody has answered for the first time; ``connected``; ``degraded``
when several calls in a row that were made after the last answer have failed.

No task is ever started: everything happens in the caller's coroutine, or in callbacks of the
loop that `close` cancels. Randomness comes from `rng`, time from the running loop; so on the
virtual loop a run is reproducible. Live, give a `SystemRandom`: call ids are not to be guessed.
"""

from __future__ import annotations

import asyncio
import errno
import logging
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from pathlib import Path
from random import Random
from typing import Any, Final, Literal

from attrs import define, field, frozen

from camcast.vocabulary.identity import UNKNOWN_PEER, Contact
from camcast.vocabulary.topics import GROUP_ID_BYTES, GroupId, Topic
from overlays.kademlia.contacts import ContactRound
from overlays.kademlia.crawl import Crawl, Survey, is_member, points, points_for, survey
from overlays.kademlia.protocol import NODE_ID_BYTES, Call, Protocol
from overlays.kademlia.remembered import REMEMBERED_MAX, recall, remember
from overlays.kademlia.table import NEIGHBOURS, Address, Counters, Limits, Neighbour, usable
from overlays.kademlia.timeouts import Patience

log = logging.getLogger(__name__)

FIND_SECONDS_MAX: Final = 12.0  # chosen: no answer from anybody, five times over (2.1 s a call)
UPKEEP_SECONDS_MIN: Final = 2.0  # chosen: just over what a call takes to fail
UPKEEP_SECONDS_MAX: Final = (
    60.0  # chosen: 73 datagrams a minute, 211 bytes/s (measured, 60 members)
)
UPKEEP_PINGS: Final = 20  # chosen: 100 neighbours are seen in 5 minutes; 33 bytes/s
REBOOTSTRAP_ROUNDS: Final = 5  # chosen: 5 minutes until two halves of a partition meet
SILENCE_CALLS: Final = 3  # chosen: calls that fail together by bad luck at 20 % loss: 1 in 9,600
REMEMBERED_ASKED: Final = 16  # chosen: remembered contacts that are asked at a time
CRAWL_STARTS: Final = NEIGHBOURS

State = Literal["alone", "connected", "degraded"]


class OverlayError(RuntimeError):
    """The overlay is used before `open`, after `close`, or twice; the message says which."""


@frozen
class Found:
    """The answer to `KademliaOverlay.find`."""

    contacts: tuple[Contact, ...]
    """Members that have just answered, this process not among them; near-uniformly chosen."""
    size: float | None
    """N_t, this process included if it is a member; None if nobody answered."""
    unreachable: tuple[str, ...] = ()
    """The addresses that were asked, if nobody answered."""
    doubtful: bool = False
    """No contacts, though there may be members: calls on the way to them, or to them, failed."""
    crawls: int = 0
    asked: int = 0
    """Calls that were made for it."""
    seconds: float = 0.0


@frozen
class _Identity:
    """One identifier, and what keeps it in the DHT."""

    protocol: Protocol
    group: GroupId | None
    timer: list[asyncio.TimerHandle] = field(factory=list)
    crawls: dict[Crawl, None] = field(factory=dict)


class KademliaOverlay:
    """One process in the DHT; see the module's theory of operation.

    `host` is numeric IPv4; `port` 0 takes any free one. Of a port in use a free one takes the
    place, unless `port_required`. `remembered` are contacts of earlier runs, and `memory` is
    the file that keeps them. `limits` bound what strangers of one network may have.
    """

    def __init__(
        self,
        *,
        rng: Random,
        host: str = "127.0.0.1",
        port: int = 0,
        port_required: bool = False,
        remembered: Sequence[Address] = (),
        memory: Path | None = None,
        limits: Limits | None = None,
        upkeep_seconds: tuple[float, float] = (UPKEEP_SECONDS_MIN, UPKEEP_SECONDS_MAX),
        find_seconds_max: float = FIND_SECONDS_MAX,
    ) -> None:
        self.counters = Counters()
        self._rng = rng
        self._host = host
        self._port = port
        self._port_required = port_required
        self._memory = memory
        self._limits = limits or Limits()
        self._patience = Patience()
        self._upkeep_seconds = upkeep_seconds
        self._find_seconds_max = find_seconds_max
        self._remembered = dict.fromkeys(filter(usable, remembered))
        self._bootstrap: tuple[Address, ...] = ()
        self._identities: dict[GroupId | None, _Identity] = {}
        self._own: dict[bytes, Neighbour] = {}
        self._finds = 0
        self._written_at: float | None = None
        self._searches: dict[asyncio.Future[None], None] = {}
        self._status: Literal["new", "open", "closed"] = "new"
        self._heard_at: float | None = None
        self._silence = 0
        self._interval = upkeep_seconds[0]

    # -- being there ---------------------------------------------------------------------------

    async def open(self, bootstrap: Sequence[Address]) -> None:
        """Bind the first endpoint, and look for the DHT; who cannot find it goes on trying.

        Raises `OSError` if no endpoint can be bound, `OverlayError` for a second time.
        """
        if self._status != "new":
            raise OverlayError(f"an overlay is opened once; this one is {self._status}")
        for address in bootstrap:
            if not usable(address):
                raise ValueError(f"bootstrap address {address} is not an IPv4 address and a port")
        self._status = "open"
        self._bootstrap = tuple(bootstrap)
        if self._memory is not None:
            self._remembered.update(dict.fromkeys(recall(self._memory)))
        identity = await self._bind(None, self._rng.randbytes(NODE_ID_BYTES), self._port)
        if identity is not None:
            await self._enter(identity)

    @property
    def addresses(self) -> tuple[Address, ...]:
        """Where this process's endpoints are, the first one first."""
        found = []
        for identity in self._identities.values():
            ip, port = identity.protocol.transport.get_extra_info("sockname")[:2]
            found.append((ip, port))
        return tuple(found)

    @property
    def groups(self) -> tuple[GroupId, ...]:
        """The communities joined."""
        return tuple(group for group in self._identities if group is not None)

    @property
    def state(self) -> State:
        """Whether the rest of the DHT answers."""
        if self._heard_at is None:
            return "alone"
        return "degraded" if self._silence >= SILENCE_CALLS else "connected"

    @property
    def remembered(self) -> tuple[Address, ...]:
        """Who has answered, latest first; for the next run."""
        return tuple(reversed(self._remembered))

    @property
    def neighbours(self) -> dict[GroupId | None, tuple[Neighbour, ...]]:
        """Who is in the routing tables, by the community of the identifier; for measurements."""
        return {
            group: tuple(identity.protocol.router.neighbours())
            for group, identity in self._identities.items()
        }

    async def join(self, topic_group: GroupId, contact: Contact, topic_name: str) -> None:
        """Become findable as a member of a community, under the contact given."""
        self._check_open()
        if Topic.parse(topic_name).group != topic_group:
            raise ValueError(f"the group {topic_group.hex()} is not that of topic {topic_name!r}")
        if contact.peer == UNKNOWN_PEER:
            raise ValueError("a contact without a peer id cannot be announced")
        present = self._identities.get(topic_group)
        if present is not None:
            present.protocol.contact = contact
            return
        suffix = self._rng.randbytes(NODE_ID_BYTES - GROUP_ID_BYTES)
        identity = await self._bind(topic_group, topic_group + suffix, 0)
        if identity is None:  # Joined twice at the same time.
            return
        identity.protocol.contact = contact
        identity.protocol.topic = topic_name
        await self._enter(identity)
        await self._retire_spare()

    async def leave(self, group: GroupId) -> None:
        """Stop being findable as a member, and tell the neighbours."""
        self._check_open()
        if group not in self._identities:
            return
        if len(self._identities) == 1:  # Somebody must go on listening.
            spare = await self._bind(None, self._rng.randbytes(NODE_ID_BYTES), self._port)
            if spare is not None:
                await self._enter(spare)
        await self._retire(group)

    async def close(self) -> None:
        """Leave everything; no task, future or timer of this overlay is left."""
        if self._status != "open":
            self._status = "closed"
            return
        self._status = "closed"
        for search in list(self._searches):
            if not search.done():
                search.set_result(None)
        for group in list(self._identities):
            await self._retire(group)
        self._write(final=True)

    def _check_open(self) -> None:
        if self._status != "open":
            raise OverlayError(f"the overlay is {self._status}, not open")

    async def _bind(self, group: GroupId | None, node_id: bytes, port: int) -> _Identity | None:
        """Open an endpoint; return None if another one for this group came first."""
        loop = asyncio.get_running_loop()

        def protocol() -> Protocol:
            return Protocol(
                node_id,
                self._rng,
                self.counters,
                self._limits,
                self._own,
                self._patience,
                self._on_heard,
                lambda: self.state == "connected",
            )

        try:
            _, made = await loop.create_datagram_endpoint(protocol, local_addr=(self._host, port))
        except OSError as error:
            if port and self._port_required and error.errno == errno.EADDRINUSE:
                raise OSError(
                    error.errno,
                    f"another program uses UDP port {port} of {self._host}; choose another port,"
                    " or port 0 for any free port",
                ) from error
            if not port or self._port_required:
                raise
            log.warning("UDP port %d of %s: %s; taking a free one", port, self._host, error)
            _, made = await loop.create_datagram_endpoint(protocol, local_addr=(self._host, 0))
        identity = _Identity(made, group)
        if self._status != "open" or group in self._identities:
            made.close()
            await asyncio.shield(made.closed)
            self._check_open()
            return None
        self._identities[group] = identity
        self._own[node_id] = Neighbour(node_id, *made.transport.get_extra_info("sockname")[:2])
        return identity

    async def _retire(self, group: GroupId | None) -> None:
        identity = self._identities.pop(group, None)
        if identity is None:
            return
        del self._own[identity.protocol.node_id]
        for timer in identity.timer:
            timer.cancel()
        for crawl in list(identity.crawls):
            crawl.cancel()
        for node in identity.protocol.router.find_neighbors(identity.protocol.router.node):
            identity.protocol.send_bye(node)
        identity.protocol.close()
        # Shielded: a caller who is cancelled here must not undo what the endpoint has to tell.
        await asyncio.shield(identity.protocol.closed)

    async def _retire_spare(self) -> None:
        """Give up the identifier of no community, if nobody needs it."""
        if len(self._identities) > 1 and self._port == 0 and not self._finds:
            await self._retire(None)

    async def _enter(self, identity: _Identity) -> None:
        """Make an identifier known to those who are nearest to it."""
        try:
            await self._introduce(identity)
        except BaseException:  # Also CancelledError: nobody would know that it is half joined.
            if self._identities.get(identity.group) is identity:
                await self._retire(identity.group)
            raise

    async def _introduce(self, identity: _Identity) -> None:
        protocol = identity.protocol
        starts = self._starts(protocol.node_id)
        if not starts:
            await self._rebootstrap(protocol)
            starts = self._starts(protocol.node_id)
        crawl = self._crawl(identity, protocol.node_id, starts)
        await self._wait(crawl.done)
        # The nearest that had no cause to be asked do not know us yet.
        for node in crawl.nearest():
            protocol.check(node)
        self._interval = self._upkeep_seconds[0]
        self._schedule(identity)

    # -- finding -------------------------------------------------------------------------------

    async def find(self, group: GroupId, wanted: int) -> Found:
        """Look for members of a community, as many as `wanted`; never takes long."""
        self._check_open()
        loop = asyncio.get_running_loop()
        began, calls = loop.time(), self.counters.calls
        search = _Search(group, wanted)
        self._finds += 1
        late = False
        try:
            async with asyncio.timeout(self._find_seconds_max):
                await self._search(search)
        except TimeoutError:
            late = True
            log.debug("the search for %s took too long", group.hex())
        finally:
            self._finds -= 1
            for crawl in search.crawls:
                crawl.cancel()
            if search.round is not None:
                search.round.cancel()
        if search.survey is None:  # cut short
            self._conclude(search)
        assert search.survey is not None
        silent = bool(search.addresses) and not search.reached
        contacts = () if search.round is None else tuple(search.round.contacts)[:wanted]
        failed = late or bool(search.survey.members) or any(c.failures for c in search.crawls)
        await self._retire_spare()
        return Found(
            contacts=contacts,
            doubtful=failed and not contacts,
            size=None if silent else search.survey.size,
            unreachable=tuple(f"{ip}:{port}" for ip, port in search.addresses) if silent else (),
            crawls=len(search.crawls),
            asked=self.counters.calls - calls,
            seconds=loop.time() - began,
        )

    def _conclude(self, search: _Search) -> None:
        own = self._identities.get(search.group)
        me = None if own is None else own.protocol.node_id
        nearest = [
            (target, crawl.nearest())
            for target, crawl in zip(search.targets, search.crawls, strict=False)
        ]
        search.survey = survey(search.group, nearest, me, self._rng)

    async def _search(self, search: _Search) -> None:
        group = search.group
        identity = self._identities.get(group) or next(iter(self._identities.values()))
        own = self._identities.get(group)
        me = None if own is None else own.protocol.node_id
        targets = search.targets = points(group, points_for(search.wanted), self._rng)

        def more(crawl: Crawl) -> None:
            if len(search.crawls) == 1:
                members = [node for node in crawl.seen() if is_member(node.id, group)]
                if len(members) + (me is not None) >= NEIGHBOURS:
                    search.crawls += [
                        self._crawl(identity, target, [*self._starts(target), *members])
                        for target in targets[1:]
                    ]

        for again in (False, True):
            starts = self._starts(targets[0])
            if again or not starts:
                search.addresses.update(dict.fromkeys(await self._rebootstrap(identity.protocol)))
                starts = self._starts(targets[0])
            search.addresses.update((node.address, None) for node in starts)
            search.crawls = [self._crawl(identity, targets[0], starts, more)]
            # By index, because the first adds to the list.
            position = 0
            while position < len(search.crawls):
                await self._wait(search.crawls[position].done)
                position += 1
            if search.reached or not starts:
                break
        self._conclude(search)
        assert search.survey is not None
        search.round = ContactRound(identity.protocol, group, search.wanted, search.survey.members)
        await self._wait(search.round.done)

    async def _wait(self, future: asyncio.Future[None]) -> None:
        self._check_open()
        self._searches[future] = None
        try:
            await future
        finally:
            del self._searches[future]
        self._check_open()

    def _starts(self, target: bytes) -> list[Neighbour]:
        """Return the nearest to a point that any table of this process has."""
        point = Neighbour(target)
        known: dict[bytes, Neighbour] = {}
        for identity in self._identities.values():
            nearest = identity.protocol.router.find_neighbors(point, CRAWL_STARTS)
            known.update((node.id, node) for node in nearest)
        return nsmallest(CRAWL_STARTS, known.values(), key=lambda n: n.long_id ^ point.long_id)

    def _crawl(
        self,
        identity: _Identity,
        target: bytes,
        starts: Iterable[Neighbour],
        on_answer: Callable[[Crawl], None] = lambda _: None,
    ) -> Crawl:
        crawl = Crawl(identity.protocol, target, starts, self._own, on_answer)
        if not crawl.done.done():
            identity.crawls[crawl] = None
            crawl.done.add_done_callback(lambda _: identity.crawls.pop(crawl, None))
        return crawl

    # -- staying connected ---------------------------------------------------------------------

    def _schedule(self, identity: _Identity) -> None:
        if self._identities.get(identity.group) is not identity or identity.timer:
            return
        # Spread, so that those who start together do not beat in time.
        delay = self._interval * self._rng.uniform(0.8, 1.2)
        loop = asyncio.get_running_loop()
        identity.timer.append(loop.call_later(delay, self._upkeep, identity))

    def _upkeep(self, identity: _Identity) -> None:
        identity.timer.clear()
        protocol = identity.protocol
        protocol.router.tidy()
        if self.state != "connected":
            self._interval = min(self._interval * 2, self._upkeep_seconds[1] / 4)
        else:
            self._interval = min(self._interval * 2, self._upkeep_seconds[1])
        if self.state != "connected" or self._rng.random() * REBOOTSTRAP_ROUNDS < 1:
            self._ask_again(protocol)
        for target in (protocol.node_id, self._rng.randbytes(NODE_ID_BYTES)):
            self._crawl(identity, target, self._starts(target))
        for node in protocol.router.stalest(UPKEEP_PINGS):
            protocol.check(node)
        self._write()
        self._schedule(identity)

    def _ask_again(
        self, protocol: Protocol, done: Callable[[Any], None] = lambda _: None
    ) -> list[Call]:
        own = self.addresses
        latest = [a for a in self.remembered if a not in self._bootstrap]
        latest = self._rng.sample(latest, min(len(latest), REMEMBERED_ASKED))
        asked = [a for a in (*self._bootstrap, *latest) if a not in own]
        return [protocol.request(address, "ping", done=done) for address in asked]

    async def _rebootstrap(self, protocol: Protocol) -> list[Address]:
        """Ask the bootstrap nodes and remembered contacts; go on with the first that answers."""
        answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        left = 0

        def done(answer: Any) -> None:
            nonlocal left
            left -= 1
            if (answer is not None or not left) and not answered.done():
                answered.set_result(None)

        calls = self._ask_again(protocol, done)
        left = len(calls)
        if calls:
            await self._wait(answered)
        return [call.address for call in calls]

    def _on_heard(self, address: Address, started: float, answered: bool) -> None:
        if answered:
            was_degraded = self.state == "degraded"
            self._heard_at = asyncio.get_running_loop().time()
            self._silence = 0
            self._remembered.pop(address, None)
            self._remembered[address] = None
            if len(self._remembered) > REMEMBERED_MAX:
                del self._remembered[next(iter(self._remembered))]
            if was_degraded:
                log.info("the DHT answers again")
                self._hurry()
        elif self._heard_at is not None and started >= self._heard_at:
            self._silence += 1
            if self._silence == SILENCE_CALLS:
                log.warning("nobody in the DHT answers")
                self._hurry()

    def _hurry(self) -> None:
        """Do the next upkeep soon."""
        self._interval = self._upkeep_seconds[0]
        for identity in self._identities.values():
            if identity.timer:
                identity.timer.pop().cancel()
                self._schedule(identity)

    def _write(self, *, final: bool = False) -> None:
        if self._memory is None or self._heard_at is None:
            return
        now = asyncio.get_running_loop().time()
        if final or self._written_at is None or now - self._written_at >= UPKEEP_SECONDS_MAX:
            self._written_at = now
            remember(self._memory, self.remembered)


@define
class _Search:
    """What a `find` has gathered, so that it can be cut short."""

    group: GroupId
    wanted: int
    crawls: list[Crawl] = field(factory=list)
    targets: list[bytes] = field(factory=list)
    addresses: dict[Address, None] = field(factory=dict)
    """Who was asked to begin with."""
    survey: Survey | None = None
    round: ContactRound | None = None

    @property
    def reached(self) -> bool:
        """Whether anybody has answered."""
        return any(crawl.answers for crawl in self.crawls)


__all__ = ["Found", "KademliaOverlay", "Limits", "OverlayError", "State"]
