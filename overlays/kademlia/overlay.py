"""A process in the DHT: joining communities, finding members of others, staying connected.

Theory of operation
-------------------
A process has one identifier, with an endpoint and a routing table of its own, for each community
that it is in: ``group ‖ 12 bytes``, random or of its key (`overlays.kademlia.naming`). A community
is thus a subtree of the DHT, and its members are found by crawls to points in the subtree.
No records are stored, so none go stale. A process in no community has one identifier
of 20 such bytes, as a bootstrap node has. It gives that identifier up when it joins its first
community, unless its port was asked for: other processes may be configured with that port.

A process that nobody can dial is a *client*: it has no other identifier than this one, answers no
call, and so stands in nobody's table. It finds members as others do, and is found by none: members
hold it because it asks them to. An N_t is of those that can be found, and of this process.

*Finding* a group takes one crawl to a random point of the subtree and, if that finds k members or
more, further crawls at the same time (`points_for`). Members are drawn from the nodes that the
crawls found (`overlays.kademlia.crawl`) and asked for their contacts
(`overlays.kademlia.contacts`).

*Upkeep.* Each identifier regularly crawls to itself and to a random point, and pings the neighbours
that are doubtful or have been silent for longest. The interval is two seconds at first and doubles
to a minute. While no node answers it is at most a quarter of a minute, and the bootstrap nodes and
some remembered endpoints are pinged, too. It is never below a quarter of a second for each
identifier of the process: what upkeep costs is bounded.

*Islands*, which were apart from the start or after a partition, find each other through *probes*.
Every `PROBE_SECONDS` a process asks one endpoint that is *out of sight* for the nodes nearest to
one of the process's identifiers: a bootstrap node that is no good neighbour, or a neighbour that
was evicted. When the answer names an unknown node that would be one of its own nearest, the process
has met an island: it crawls to each of its identifiers in turn, by which the nodes nearest to them
learn of the process, and calls `reunited`. It does the same when the DHT answers again after a
silence. If no endpoint is out of sight, the process asks a bootstrap node. Most unknown nodes that
this one names are newcomers, and the process crawls to the one identifier only.

*State*: ``alone`` until a node has answered for the first time; ``connected``; ``degraded`` when
several calls in a row, all made after the last answer, have failed.

The overlay is a synchronous state machine: commands, datagrams and timers are inputs that come
with the time `now`, and results go to callbacks. Live, `rng` must be a `SystemRandom`: an attacker
must not be able to predict the ids of calls.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import partial
from random import Random
from typing import Any, Final, Literal

from attrs import define, field, frozen

from camcast.doors.datagrams import DatagramPort, Endpoint, address_of
from camcast.doors.discovery import OnOtherChoice
from camcast.vocabulary.identity import PUBLIC_KEY_BYTES, Contact
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.minute_log import MinuteLog
from camcast.vocabulary.topics import GroupId, Topic
from overlays.kademlia.contacts import ContactRound
from overlays.kademlia.crawl import Crawl, Survey, is_member, points, points_for, survey
from overlays.kademlia.naming import DrawnNames, Naming, form_of
from overlays.kademlia.protocol import PADDING, Call, Done, OverlayContext, Protocol
from overlays.kademlia.table import NEIGHBOURS, NODE_ID_BYTES, Limits, Neighbour, usable
from overlays.kademlia.turns import Then, Turns
from overlays.remembered import Remembered

log = Logger(__name__)

FIND_SECONDS_MAX: Final = 12.0  # chosen: five calls after each other without answer (2.1 s each)
CRAWL_SECONDS_MAX: Final = 8.0  # chosen: leaves two calls after each other to ask the members found
UPKEEP_SECONDS_MIN: Final = 2.0  # chosen: just over what a call takes to fail
UPKEEP_SECONDS_MAX: Final = (
    60.0  # chosen: 73 datagrams a minute, 211 bytes/s (measured, 60 members)
)
# chosen: four upkeeps a second, some 300 datagrams, for all identifiers of a process; from 240 on
# the interval of each is above a minute
UPKEEP_SHARE_SECONDS: Final = 0.25
UPKEEP_PINGS: Final = 20  # chosen: 100 neighbours are seen in 5 minutes; 33 bytes/s
PROBE_SECONDS: Final = 10.0  # chosen: islands merge after two probes
LOST_MAX: Final = 64  # chosen: holds nodes of both halves of a partition; 10 kB
SILENCE_CALLS: Final = 3  # chosen: calls that fail together by bad luck at 20 % loss: 1 in 9,600
CRAWL_STARTS: Final = NEIGHBOURS
CRAWL_TABLES: Final = 8  # chosen: as many as a process in some topics has; each knows its own part
GLANCES_MAX: Final = 3  # chosen: neighbours asked in turn for a contact; each is silent for 0.35 s

State = Literal["alone", "connected", "degraded"]


@frozen
class Found:
    """The answer to `KademliaOverlay.find`."""

    contacts: tuple[Contact, ...]
    """Members that have just answered, a near-uniform choice without this process."""
    size: float | None
    """N_t, this process included if it is a member; None if nobody answered."""
    unreachable: tuple[str, ...] = ()
    """The addresses that were asked, if nobody answered."""
    doubtful: bool = False
    """Whether there may be members although none was found: calls failed, or the time was up."""
    others: tuple[Endpoint, ...] = ()
    """The members that were asked and have another choice than this process."""
    seconds: float = 0.0


@define(eq=False)
class _Identity:
    """One identifier of this process, with its endpoint, its protocol and its crawls."""

    group: GroupId | None
    address: Endpoint
    protocol: Protocol
    crawls: dict[Crawl, None] = field(factory=dict)
    upkeep: int | None = None
    """The number of the timer of the next upkeep; None until the nearest nodes know this node."""
    waiting: list[Then] = field(factory=list)
    """Called when the nearest nodes know the identifier, or when it is given up."""


@define(eq=False)
class _Search:
    """A `find` under way."""

    number: int
    group: GroupId
    wanted: int
    identity: _Identity
    """The identifier that asks."""
    targets: list[bytes]
    done: Callable[[Found, float], None]
    began: float
    started: bool = False
    """Whether the crawl had a node to begin with."""
    again: bool = False
    """Whether this is the second attempt, after asking the bootstrap nodes."""
    crawls: list[Crawl] = field(factory=list)
    addresses: dict[Endpoint, None] = field(factory=dict)
    """The endpoints that the search began with."""
    survey: Survey | None = None
    round: ContactRound | None = None
    over: bool = False

    @property
    def reached(self) -> bool:
        """Whether any node has answered."""
        return any(crawl.answers for crawl in self.crawls)

    @property
    def has_members(self) -> bool:
        """Whether a member was found that can be asked for its contact."""
        return any(is_member(node.id, self.group) for crawl in self.crawls for node in crawl.seen())


class KademliaOverlay:
    """One process in the DHT; see the module's theory of operation.

    `wake(delay, *name)` asks the driver for a later `KademliaOverlay.wake(name, now)`.
    `host` is numeric, or ``::`` for both versions of IP; `port` 0 takes any free port. If the port
    is in use, a free one takes its place unless `port_required`. `remembered` keeps endpoints that
    answered, also in earlier runs. `limits` bounds the neighbours of one subnet. `reunited` is
    called when the process has met an island, and `silent` with the endpoint of a bootstrap node
    that did not answer. `naming` makes the identifiers, which are random without it. A `client`
    only asks. `choice` is that of the process, and `other_choice` is told of members that have
    another one.
    """

    def __init__(
        self,
        *,
        rng: Random,
        wake: Callable[..., None],
        host: str = "127.0.0.1",
        port: int = 0,
        port_required: bool = False,
        remembered: Remembered | None = None,
        limits: Limits | None = None,
        reunited: Then | None = None,
        silent: Callable[[Endpoint, float], None] | None = None,
        naming: Naming | None = None,
        client: bool = False,
        choice: str = "",
        other_choice: OnOtherChoice = lambda _endpoint, _choice, _now: None,
    ) -> None:
        self._naming = naming or DrawnNames(rng)
        self._context = OverlayContext(
            rng=rng,
            naming=self._naming,
            limits=limits or Limits(),
            heard=self._on_heard,
            lost=self._on_lost,
            connected=lambda: self.state == "connected",
            client=client,
            reaches=lambda to: host == "::" or form_of(to) == form_of((host, 0)),
            choice=said if len(said := choice.encode()) <= len(PADDING) else b"",
            other_choice=other_choice,
        )
        self.counters = self._context.counters
        self._rng = rng
        self._set_timer = wake
        self._host = host
        self._port = port
        self._port_required = port_required
        self.remembered = remembered or Remembered(None, usable)
        """The endpoints that have answered."""
        self._lost: dict[Endpoint, bytes] = {}
        """The keys of neighbours that were evicted as silent, by endpoint, the oldest first."""
        self._tell_reunited = reunited
        self._tell_silent = silent
        self._reunited_at = -PROBE_SECONDS
        self._reunion = Turns()
        self._reuniting = 0
        """How many identifiers are still to be crawled to after a partition."""
        self._datagrams: DatagramPort | None = None
        """The process's UDP; None until the overlay is opened."""
        self._bootstrap: tuple[Endpoint, ...] = ()
        self._identities: dict[GroupId | None, _Identity] = {}
        self._by_port: dict[int, _Identity] = {}
        self._hidden: dict[GroupId, None] = {}
        """The communities that this process is a member of, and cannot be found in: a client's."""
        self._searches: dict[int, _Search] = {}
        self._timers = 0
        """How many upkeeps and searches have been numbered."""
        self._heard_at: float | None = None
        self._silence = 0
        self._interval = UPKEEP_SECONDS_MIN
        self._log = MinuteLog()

    # -- what it knows -------------------------------------------------------------------------

    @property
    def addresses(self) -> tuple[Endpoint, ...]:
        """The endpoints of this process, the oldest first."""
        return tuple(identity.address for identity in self._identities.values())

    @property
    def state(self) -> State:
        """Whether the rest of the DHT answers."""
        if self._heard_at is None:
            return "alone"
        return "degraded" if self._silence >= SILENCE_CALLS else "connected"

    @property
    def neighbours(self) -> dict[GroupId | None, tuple[Neighbour, ...]]:
        """The neighbours in the routing tables, by the community of the identifier."""
        return {
            group: tuple(identity.protocol.router.neighbours())
            for group, identity in self._identities.items()
        }

    # -- inputs --------------------------------------------------------------------------------

    def receive(
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes = b""
    ) -> None:
        """Take a datagram that has arrived at one of the ports of this process.

        `sender` is the key of who has sent it, where nodes have keys.
        """
        identity = self._by_port.get(port)
        if identity is not None:
            identity.protocol.receive(source, data, now, sender)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer; an obsolete one does nothing."""
        match name:
            case ("find", int() as number):
                search = self._searches.get(number)
                if search is not None:
                    log.debug("the search for %s took too long", search.group.hex())
                    self._end(search, now, cut_short=True)
            case ("crawl", int() as number):
                search = self._searches.get(number)
                if search is not None and search.round is None and search.has_members:
                    log.debug("the crawls for %s took too long", search.group.hex())
                    for crawl in search.crawls:
                        crawl.cancel(now)
            case ("upkeep", int() as port, number):
                identity = self._by_port.get(port)
                if identity is not None and identity.upkeep == number:
                    self._upkeep(identity, now)
            case ("probe",) if self._identities:
                self._probe(now)
            case (int() as port, *rest):
                identity = self._by_port.get(port)
                if identity is not None:
                    identity.protocol.wake(tuple(rest), now)

    # -- being in the DHT ----------------------------------------------------------------------

    def open(
        self, datagrams: DatagramPort, bootstrap: Sequence[Endpoint], then: Then, now: float
    ) -> None:
        """Listen at the first endpoint and look for the DHT; `then` is called after one attempt.

        To be called once; `bootstrap` are usable endpoints. A process that cannot find the DHT goes
        on trying. Raises `OSError` if no endpoint can be had.
        """
        assert self._datagrams is None, "an overlay is opened once"
        self._datagrams = datagrams
        identity = self._bind(None, self._port)
        self._bootstrap = tuple(filter(self._context.reaches, bootstrap))
        self.remembered.recall()
        self._enter(identity, then, now)
        self._schedule_probe()

    def bootstrap_from(self, bootstrap: Sequence[Endpoint], now: float) -> None:
        """Take other bootstrap nodes; new ones may be of an island, and are asked at once."""
        reached = tuple(filter(self._context.reaches, bootstrap))
        new = [address for address in reached if address not in self._bootstrap]
        self._bootstrap = reached
        for address in new if self._identities else ():
            self._probe_at(address, True, now)

    def join(self, topic: Topic, contact: Contact, now: float) -> None:
        """Become findable as a member of a community, under the contact given; not as a client.

        Joining again changes the contact. Raises `OSError` if no endpoint can be had.
        """
        group = topic.group
        if self._context.client:
            self._hidden[group] = None
            return
        identity = self._identities.get(group)
        if identity is None:
            identity = self._bind(topic, 0)
            self._enter(identity, self._retire_spare, now)
        identity.protocol.contact = contact

    def when_joined(self, group: GroupId, then: Then, now: float) -> None:
        """Call `then` when the nearest nodes know this process as a member of a community.

        At once if they do, or if the process is no member; also if it leaves before they do.
        """
        identity = self._identities.get(group)
        if identity is None or identity.upkeep is not None:
            then(now)
        else:
            identity.waiting.append(then)

    def leave(self, group: GroupId, now: float) -> None:
        """Stop being findable as a member, and tell the neighbours.

        Raises `OSError` if no endpoint can be had for the process as a member of no community.
        """
        self._hidden.pop(group, None)
        if group not in self._identities:
            return
        if len(self._identities) == 1:  # One endpoint must go on listening.
            spare = self._bind(None, self._port)
            self._enter(spare, self._retire_spare, now)
        self._retire(group, now)

    def close(self, now: float) -> None:
        """Leave everything; searches under way end without an answer."""
        if not self._identities:  # closed already, or never opened
            return
        for search in self._searches.values():
            search.over = True
        self._searches.clear()
        self._reunion, self._tell_reunited = Turns(), None
        for identity in self._identities.values():
            identity.waiting.clear()
        for group in list(self._identities):
            self._retire(group, now)
        self.remembered.write(now, final=True)

    def _bind(self, topic: Topic | None, port: int) -> _Identity:
        assert self._datagrams is not None
        node_id = self._naming.own(topic)
        try:
            address = self._datagrams.open(self._host, port)
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
            address = self._datagrams.open(self._host, 0)
        send = partial(self._datagrams.send, address[1])
        wake = partial(self._wake_protocol, address[1])
        group, name = (None, "") if topic is None else (topic.group, topic.name)
        identity = _Identity(group, address, Protocol(node_id, name, self._context, send, wake))
        self._identities[group] = self._by_port[address[1]] = identity
        own = Neighbour(node_id, *address, key=self._naming.key, topic=topic)
        self._context.own.add(own)
        return identity

    def _wake_protocol(self, port: int, delay_seconds: float, *name: Hashable) -> None:
        self._set_timer(delay_seconds, port, *name)

    def _retire(self, group: GroupId | None, now: float) -> None:
        """Give an identifier up, and end its searches, its crawls and what waits for it."""
        assert self._datagrams is not None
        identity = self._identities.pop(group)
        port = identity.address[1]
        del self._by_port[port]
        self._context.own.remove(identity.protocol.node_id)
        if identity.protocol.node_id in self._context.acquainted:
            self._context.acquainted.remove(identity.protocol.node_id)
        for search in [s for s in self._searches.values() if s.identity is identity]:
            self._end(search, now, cut_short=True)
        for crawl in list(identity.crawls):
            crawl.cancel(now)
        identity.protocol.close()
        self._datagrams.close(port)
        self._tell_waiting(identity, now)

    def _retire_spare(self, now: float) -> None:
        """Give up the identifier of no community, if nothing needs it."""
        spare = self._identities.get(None)
        needed = self._port != 0 or len(self._identities) == 1 or bool(self._searches)
        if spare is not None and not needed and not spare.waiting:
            self._retire(None, now)

    def _enter(self, identity: _Identity, then: Then, now: float) -> None:
        """Make an identifier known to the nodes nearest to it."""
        identity.waiting.append(then)
        if self._starts(identity.protocol.node_id):
            self._introduce(identity, now)
        else:
            self._rebootstrap(identity.protocol, partial(self._introduce, identity), now)

    def _introduce(self, identity: _Identity, now: float) -> None:
        node_id = identity.protocol.node_id

        def introduced(now: float) -> None:
            if not self._has(identity):
                return
            # Nodes that the crawl found but did not ask do not know this one yet.
            for node in crawl.nearest():
                identity.protocol.check(node, now)
            self._interval = UPKEEP_SECONDS_MIN
            self._schedule(identity)
            self._tell_waiting(identity, now)

        crawl = self._crawl(identity, node_id, self._starts(node_id), introduced)
        crawl.start(now)

    def _has(self, identity: _Identity) -> bool:
        return self._identities.get(identity.group) is identity

    def _tell_waiting(self, identity: _Identity, now: float) -> None:
        waiting, identity.waiting = identity.waiting, []
        for then in waiting:
            then(now)

    # -- finding -------------------------------------------------------------------------------

    def find(
        self, group: GroupId, wanted: int, done: Callable[[Found, float], None], now: float
    ) -> None:
        """Look for up to `wanted` members of a community; `done(found, now)` gets the answer.

        It takes `FIND_SECONDS_MAX` at most, and comes at once if no other node is known. Where most
        nodes have died, crawls are long: after `CRAWL_SECONDS_MAX` the members found are asked.
        """
        identity = self._identities.get(group) or next(iter(self._identities.values()))
        targets = points(group, points_for(wanted), self._rng)
        self._timers += 1
        search = _Search(self._timers, group, wanted, identity, targets, done, now)
        self._searches[search.number] = search
        self._set_timer(FIND_SECONDS_MAX, "find", search.number)
        self._set_timer(CRAWL_SECONDS_MAX, "crawl", search.number)
        if self._starts(targets[0]):
            self._begin(search, now)
        else:
            self._ask_bootstrap(search, now)

    def find_neighbour(
        self, group: GroupId, done: Callable[[tuple[Contact, ...], float], None], now: float
    ) -> None:
        """Ask random members among the neighbours for a contact; `done` gets the first, or none.

        That is usually one call, where `find` takes a dozen. But only neighbours can be found, and
        these are no uniform choice: near identifiers are more likely neighbours.
        """
        identity = self._identities.get(None if self._context.client else group)
        members = (
            []
            if identity is None
            else [
                node
                for node in identity.protocol.router.neighbours()
                if is_member(node.id, group) and identity.protocol.router.is_good(node.id)
            ]
        )
        if identity is None or not members:
            done((), now)
            return
        chosen = self._rng.sample(members, min(len(members), GLANCES_MAX))

        def over(now: float) -> None:
            done(tuple(glance.contacts)[:1], now)

        glance = ContactRound(identity.protocol, group, 1, chosen, over)
        glance.start(now)

    def _ask_bootstrap(self, search: _Search, now: float) -> None:
        asked = self._rebootstrap(search.identity.protocol, partial(self._begin, search), now)
        search.addresses.update(dict.fromkeys(asked))

    def _begin(self, search: _Search, now: float) -> None:
        """Crawl to the first point; once it has found many members, to the other points, too."""
        if search.over:
            return
        identity, target = search.identity, search.targets[0]

        def more(crawl: Crawl, now: float) -> None:
            if len(search.crawls) > 1:
                return
            members = [node for node in crawl.seen() if is_member(node.id, search.group)]
            if len(members) + (search.group in self._identities) >= NEIGHBOURS:
                search.crawls += [
                    self._crawl(identity, point, [*self._starts(point), *members], crawled)
                    for point in search.targets[1:]
                ]
                for further in search.crawls[1:]:
                    further.start(now)

        def crawled(now: float) -> None:
            if not search.over and all(crawl.over for crawl in search.crawls):
                self._crawled(search, now)

        starts = self._starts(target)
        search.started = bool(starts)
        search.addresses.update((node.address, None) for node in starts)
        search.crawls = [self._crawl(identity, target, starts, crawled, more)]
        search.crawls[0].start(now)

    def _crawled(self, search: _Search, now: float) -> None:
        """Ask the members found; if no node answered, crawl again after the bootstrap nodes."""
        if search.started and not search.reached and not search.again:
            search.again = True
            self._ask_bootstrap(search, now)
            return
        members = self._survey(search).members
        protocol, end = search.identity.protocol, partial(self._end, search)
        search.round = ContactRound(protocol, search.group, search.wanted, members, end)
        search.round.start(now)

    def _survey(self, search: _Search) -> Survey:
        own = self._identities.get(search.group)
        me = None if own is None else own.protocol.node_id
        found = [
            (target, crawl.nearest())
            for target, crawl in zip(search.targets, search.crawls, strict=False)
        ]
        search.survey = survey(search.group, found, me, self._rng)
        return search.survey

    def _end(self, search: _Search, now: float, *, cut_short: bool = False) -> None:
        if search.over:
            return
        search.over = True
        del self._searches[search.number]
        for crawl in search.crawls:
            crawl.cancel(now)
        if search.round is not None:
            search.round.cancel(now)
        result = search.survey or self._survey(search)
        silent = bool(search.addresses) and not search.reached
        contacts = () if search.round is None else tuple(search.round.contacts)[: search.wanted]
        failed = cut_short or bool(result.members) or any(c.failures for c in search.crawls)
        found = Found(
            contacts=contacts,
            doubtful=failed and not contacts,
            size=None if silent else result.size + (search.group in self._hidden),
            others=() if search.round is None else tuple(search.round.others),
            unreachable=tuple(map(address_of, search.addresses)) if silent else (),
            seconds=now - search.began,
        )
        if self._has(search.identity):  # not if `_retire` ends the search
            self._retire_spare(now)
        search.done(found, now)

    def _starts(self, target: bytes) -> list[Neighbour]:
        """Return the nodes nearest to a point in the routing tables of this process.

        Of many tables, those of the nearest identifiers are asked, which know most nodes near it.
        """
        if self._heard_at is None:
            return []  # nobody has answered, so that all tables are empty
        point = Neighbour(target)
        known: dict[bytes, Neighbour] = {}
        asked, emptied = 0, list[bytes]()
        for own in self._context.acquainted.nearest(point.long_id):
            router = self._by_port[own.port].protocol.router
            if not router.neighbours():
                emptied.append(own.id)
                continue
            nearest = router.find_neighbors(point, CRAWL_STARTS)
            known.update((node.id, node) for node in nearest)
            asked += 1
            if asked == CRAWL_TABLES:
                break
        for node_id in emptied:
            self._context.acquainted.remove(node_id)
        return sorted(known.values(), key=lambda n: n.long_id ^ point.long_id)[:CRAWL_STARTS]

    def _crawl(
        self,
        identity: _Identity,
        target: bytes,
        starts: Iterable[Neighbour],
        done: Then,
        on_answer: Callable[[Crawl, float], None] | None = None,
    ) -> Crawl:
        """Return a crawl, which ends at the latest when its identifier is given up."""

        def over(now: float) -> None:
            del identity.crawls[crawl]
            done(now)

        crawl = Crawl(identity.protocol, target, starts, self._context.own, over, on_answer)
        identity.crawls[crawl] = None
        return crawl

    # -- staying connected ---------------------------------------------------------------------

    def _schedule(self, identity: _Identity) -> None:
        """Set the timer of the next upkeep; earlier timers lose their effect."""
        self._timers += 1
        identity.upkeep = self._timers
        # Spread, so that processes that start together do not send at the same moments.
        interval = max(self._interval, UPKEEP_SHARE_SECONDS * len(self._identities))
        delay = interval * self._rng.uniform(0.8, 1.2)
        self._set_timer(delay, "upkeep", identity.address[1], identity.upkeep)

    def _upkeep(self, identity: _Identity, now: float) -> None:
        protocol = identity.protocol
        protocol.router.tidy()
        slowest = UPKEEP_SECONDS_MAX / (1 if self.state == "connected" else 4)
        self._interval = min(self._interval * 2, slowest)
        if self.state != "connected":
            self._ask_again(protocol, lambda _answer, _now: None, now)
        for target in (protocol.node_id, self._rng.randbytes(NODE_ID_BYTES)):
            self._crawl(identity, target, self._starts(target), lambda _now: None).start(now)
        for node in protocol.router.stalest(UPKEEP_PINGS):
            protocol.check(node, now)
        self.remembered.write(now)
        self._schedule(identity)

    def _schedule_probe(self) -> None:
        # Spread, as upkeeps are.
        self._set_timer(PROBE_SECONDS * self._rng.uniform(0.8, 1.2), "probe")

    def _probe(self, now: float) -> None:
        """Ask one endpoint that is out of sight for the nodes nearest to one identifier."""
        self._schedule_probe()
        for identity in self._identities.values():
            identity.protocol.expel(now)
        in_sight = {
            node.address: None
            for identity in self._identities.values()
            for node in identity.protocol.router.neighbours()
            if identity.protocol.router.is_good(node.id)
        }
        own = self.addresses
        bootstrap = [address for address in self._bootstrap if address not in own]
        out_of_sight = [a for a in (*bootstrap, *self._lost) if a not in in_sight]
        if asked := out_of_sight or bootstrap:
            self._probe_at(self._rng.choice(asked), bool(out_of_sight), now)

    def _probe_at(self, address: Endpoint, island: bool, now: float) -> None:
        """Ask one endpoint, which may be of an `island`, for the nodes nearest to an identifier."""
        identity = self._rng.choice(list(self._identities.values()))
        if identity.upkeep is not None:
            identity.protocol.request(
                address,
                "find_node",
                identity.protocol.node_id,
                key=self._lost.get(address, b""),
                done=partial(self._on_probe, identity, island),
                now=now,
            )

    def _on_probe(self, identity: _Identity, island: bool, answer: Any, now: float) -> None:
        """Check whether the nodes named are of an island."""
        if answer is None or not self._has(identity):
            return
        protocol = identity.protocol
        router, me = protocol.router, protocol.router.node
        nearest = router.find_neighbors(me, NEIGHBOURS)
        bound = (
            nearest[-1].long_id ^ me.long_id
            if len(nearest) == NEIGHBOURS
            else 1 << 8 * NODE_ID_BYTES
        )
        news = [
            node
            for node in (Neighbour(*named) for named in answer[1])
            if node.id not in self._context.own
            and router.get(node.id) is None
            and node.long_id ^ me.long_id < bound
            and usable(node.address)
            and protocol.reaches(node.address)
        ]
        if news and island:
            self._reunite(news, now)
        elif news:
            self._crawl(identity, me.id, [*self._starts(me.id), *news], lambda _now: None).start(
                now
            )

    def _reunite(self, news: Sequence[Neighbour], now: float) -> None:
        """Crawl to each identifier in turn, from known and new nodes; then call `reunited`.

        Not while that goes on already: with thousands of identifiers it takes longer than a probe.
        """
        if self._reuniting or now - self._reunited_at < PROBE_SECONDS / 2:
            return
        self._reunited_at, self._reuniting = now, len(self._identities)

        def over(now: float) -> None:
            self._reuniting -= 1
            self._reunion.end(now)
            if not self._reuniting and self._tell_reunited is not None:
                self._tell_reunited(now)

        def begin(identity: _Identity, now: float) -> None:
            if not self._has(identity):
                over(now)
                return
            node_id = identity.protocol.node_id
            self._crawl(identity, node_id, [*self._starts(node_id), *news], over).start(now)

        for identity in list(self._identities.values()):
            self._reunion.add(partial(begin, identity), now)

    def _on_lost(self, node: Neighbour) -> None:
        self._lost.pop(node.address, None)
        if len(self._lost) >= LOST_MAX:
            del self._lost[next(iter(self._lost))]
        self._lost[node.address] = node.key

    def _ask_again(self, protocol: Protocol, done: Done, now: float) -> list[Call]:
        """Ping the bootstrap nodes and some remembered endpoints, these under their keys."""
        own = self.addresses
        latest = self.remembered.some(self._rng, without=(*self._bootstrap, *own))
        asked = {address: b"" for address in self._bootstrap if address not in own}
        asked |= {address: self._remembered_key(address) for address in latest}
        return [
            protocol.request(address, "ping", key=key, done=done, now=now)
            for address, key in asked.items()
        ]

    def _remembered_key(self, address: Endpoint) -> bytes:
        """Return the key of who was at an endpoint; empty if the file has none of this form."""
        try:
            key = bytes.fromhex(self.remembered.key_of(address))
        except ValueError:
            return b""
        return key if len(key) == PUBLIC_KEY_BYTES else b""

    def _rebootstrap(self, protocol: Protocol, then: Then, now: float) -> list[Endpoint]:
        """Ping as `_ask_again` does; call `then` at the first answer, or when all have failed."""
        left = 0
        going_on = False

        def done(answer: Any, now: float) -> None:
            nonlocal left, going_on
            left -= 1
            if (answer is not None or not left) and not going_on:
                going_on = True
                then(now)

        calls = self._ask_again(protocol, done, now)
        left = len(calls)
        if not calls:
            then(now)
        return [call.address for call in calls]

    def _on_heard(
        self, address: Endpoint, started: float, answered: Neighbour | None, now: float
    ) -> None:
        if answered is not None:
            was_degraded = self.state == "degraded"
            self._heard_at = now
            self._silence = 0
            self.remembered.note(address, answered.key.hex())
            self._lost.pop(address, None)
            if was_degraded:
                self._context.failed.clear()
                if self._log.due("again", now):
                    log.info("the DHT answers again (said once a minute)")
                self._hurry()
                self._reunite((), now)
            return
        if address in self._bootstrap and self._tell_silent is not None:
            self._tell_silent(address, now)
        if self._heard_at is not None and started >= self._heard_at:
            self._silence += 1
            if self._silence == SILENCE_CALLS:
                if self._log.due("silent", now):
                    log.warning("nobody in the DHT answers (said once a minute)")
                self._hurry()

    def _hurry(self) -> None:
        """Do the next upkeep of each identifier soon."""
        self._interval = UPKEEP_SECONDS_MIN
        for identity in self._identities.values():
            if identity.upkeep is not None:
                self._schedule(identity)
