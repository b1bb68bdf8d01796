"""The interface that applications embed: `CommunityManager` and `Community` (paper 000, 5.1).

asyncio first; `camcast.blocking` is the same for scripts and threads. docs/api.md maps the
paper's interface to this one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Final, Generic, Literal
from weakref import WeakKeyDictionary

import attrs

from camcast import typed
from camcast.arguments import (
    check_list,
    check_number,
    check_optional,
    check_timeout,
    check_type,
    check_whole,
)
from camcast.changes import QUEUE_LENGTH as CHANGES_LENGTH
from camcast.changes import Change, ChangeCallback, Changes
from camcast.community_errors import CommunityError, GatewayTimeout, NotReady
from camcast.delivery_queue import Overflow
from camcast.doors.options import OptionError
from camcast.doors.plugs import discovery_for, find_protocol, membership_for
from camcast.doors.transport import OutputPipes
from camcast.engine.participation import Participation
from camcast.engine.settings import Settings
from camcast.engine.store import Store
from camcast.event_trace import Account
from camcast.exposure import check_addresses, check_closed, check_profile
from camcast.feed import Feed, running_loop
from camcast.interests.interest import Interest
from camcast.live import transports
from camcast.live.conditions import Conditions
from camcast.live.control_socket import Answer, ControlServer
from camcast.live.counters import Counters
from camcast.live.deliveries import Deliveries
from camcast.live.event_account import account_of_event
from camcast.live.gateway_file import check_keys, parse_gateways, read_gateways, resolve_gateways
from camcast.live.reach import reaches
from camcast.live.recent import Recent
from camcast.live.runner import Runner
from camcast.live.stats import (
    CommunityStats,
    FirstContactStats,
    PeerStats,
    Stats,
    take_community_stats,
    take_peer_stats,
    take_stats,
)
from camcast.security.passphrase import check_passphrase, group_key
from camcast.subscription import (
    QUEUE_BYTES,
    QUEUE_LENGTH,
    BatchCallback,
    EventCallback,
    LaggedCallback,
    MissedCallback,
    Subscription,
)
from camcast.typed import E, Sent
from camcast.vocabulary.events import Receipt, parse_event_id
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import Deliver, Tell
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.trace import Sink

if TYPE_CHECKING:
    from camcast.live.identity_files import IdentityFiles
    from camcast.live.identity_watch import IdentityWatch
    from camcast.security.event_signatures import EventSignatures

JOIN_SECONDS: Final = 10.0  # chosen: several rounds of asking gateways and contacts
ASK_SECONDS: Final = 5.0  # chosen: gateways have 2 s to answer; an overlay needs some round trips
LEAVE_SECONDS: Final = 1.0  # chosen: how long a polite leave may take to get onto the wire
_BURST: Final = 256  # chosen: publishes in one loop turn, a whole batch, before others get theirs

TopicLike = str | Topic | type
State = Literal["new", "joining", "alone", "member", "left"]


class CommunityManager:
    """One process of CAMCAST: an input pipe, its communities, and how it finds others.

    Use it as an async context manager, or call `start` and `close`::

        async with CommunityManager(gateways=["tcp://127.0.0.1:7000"]) as manager:
            soccer = await manager.join(".soccer")

    Each layer has its own options: `membership` names the backend that keeps the tables, `options`
    are that backend's; `protocol` is ``"camcast"`` or one of the systems that CAMCAST is compared
    with (`camcast.protocols`), `protocol_options` are that system's, and `topics` lists all topics
    that exist, for the systems that must know them; `parameters` are those of the paper.

    `discovery` is how other processes are found, for a membership that leaves it open:
    ``"gateways"``, or ``"lan"``, which finds processes on the local network without any address.

    `gateways` are addresses, addresses by topic, or the path of a TOML file
    (`camcast.live.gateway_file`); a process without gateways founds the communities that it joins.
    `bind` is the address to listen at (port 0: any free port; with an overlay, any other port has
    to be free for UDP, too). `advertise` is the address told to other processes, needed when `bind`
    is a wildcard. `passphrase` closes the process to all that do not know it (docs/security.md):
    links are then encrypted, and a stranger finishes no handshake. Without a passphrase or an
    identity, addresses off the loopback need `insecure=True`, since whoever reaches an open node
    can read and publish. `remember` is a file that keeps contacts from one run to the next, for
    when no gateway answers. `trace` takes a record of everything that happens. `identity`,
    `certificates` and `trust` are files that ``camcast keys`` and ``camcast certify`` have made:
    the process then signs its events, and talks only to processes that have a chain of certificates
    from a trusted root, and that do what these allow (the profile ``signed``, docs/security.md).
    Gateways off the loopback are then named with their key, ``tcp://host:port#KEY``. `revocations`
    are lists of ``camcast revoke``. Certificates and lists are read again when their files change.
    `transport` is ``"zmtp"`` or ``"zmq"`` (`open_pipes`), instead of which `pipes` are output pipes
    that several managers of one loop share; they have the transport and the passphrase that
    `open_pipes` gave them. With `repair`, missed events are asked for again (docs/reliability.md),
    for as long as `Parameters.retention_seconds`; without it, events spread as in the paper, and
    some are lost. `control` is the path of a unix socket at which the process answers questions
    about itself (docs/operating.md). `rng` is the random stream of the protocols; without it they
    are seeded by the operating system.
    """

    def __init__(
        self,
        membership: str = "scamp",
        *,
        discovery: str | None = None,
        gateways: Iterable[str] | Mapping[str, Iterable[str]] | Path = (),
        bind: str = "tcp://127.0.0.1:0",
        advertise: str | None = None,
        insecure: bool = False,
        passphrase: str | None = None,
        identity: Path | None = None,
        certificates: Path | Iterable[Path] = (),
        trust: Path | Iterable[Path] = (),
        revocations: Path | Iterable[Path] = (),
        parameters: Parameters | None = None,
        options: Mapping[str, object] | None = None,
        protocol: str = "camcast",
        protocol_options: Mapping[str, object] | None = None,
        topics: Iterable[TopicLike] = (),
        remember: Path | None = None,
        trace: Sink | None = None,
        transport: str | None = None,
        pipes: OutputPipes | None = None,
        repair: bool = True,
        control: Path | None = None,
        rng: Random | None = None,
    ) -> None:
        for name, path in (("identity", identity), ("remember", remember)):
            check_optional(name, path, Path, "a pathlib.Path")
        for name, paths in (
            ("certificates", certificates),
            ("trust", trust),
            ("revocations", revocations),
        ):
            if not isinstance(paths, Path):
                check_list(name, paths, "pathlib.Path")
        check_optional("parameters", parameters, Parameters, "Parameters(…)")
        check_optional("options", options, Mapping, "a mapping")
        check_optional("protocol_options", protocol_options, Mapping, "a mapping")
        check_list("topics", topics, "topics")
        check_optional("pipes", pipes, OutputPipes, "what open_pipes returns")
        check_optional("rng", rng, Random, "a random.Random")
        if trace is not None and not callable(getattr(trace, "write", None)):
            raise TypeError(f"trace is a sink, such as JsonLinesSink(path), and not {trace!r}")
        signed = bool(identity or certificates or trust or revocations)
        closed = (
            signed or passphrase is not None or (pipes is not None and pipes.profile is not None)
        )
        self._bind, self._advertise = check_addresses(bind, advertise, reachable=insecure or closed)
        chosen = find_protocol(protocol, protocol_options)
        backend, backend_options = membership_for(chosen, membership, options)
        self._settings = Settings(
            backend=backend,
            discovery=discovery_for(backend, discovery),
            options=backend_options,
            gateways=(
                read_gateways(gateways) if isinstance(gateways, Path) else parse_gateways(gateways)
            ),
            parameters=parameters or Parameters(),
            remember=remember,
            discovery_rng=None if rng is not None else SystemRandom(),
            port_required=advertise is not None or not self._bind.endswith(":0"),
            protocol=chosen,
            topics=tuple(_topic(topic) for topic in topics),
        )
        if self._settings.parameters.spread == "tree" and not repair:
            raise OptionError("the spread 'tree' goes with repair, which asks for what it misses")
        check_profile(
            self._settings.discovery,
            discovery or backend.discovery,
            closed=closed,
            signed=signed,
            passphrase=passphrase,
            transport=transport,
            pipes=pipes,
        )
        self._transport = transports.check(transport or transports.DEFAULT)
        pinned = self._transport == transports.ZMTP
        check_keys(self._settings.gateways, wanted=signed, pinned=pinned)
        self._passphrase = None if passphrase is None else check_passphrase(passphrase)
        self._identity: IdentityFiles | None = None
        self._identity_watch: IdentityWatch | None = None
        self._signatures: EventSignatures | None = None
        if signed:
            from camcast.live.identity_files import IdentityFiles
            from camcast.live.identity_watch import IdentityWatch

            self._identity = IdentityFiles(identity, certificates, trust, revocations)
            self._identity_watch = IdentityWatch(self._identity, self.renew)
            self._signatures = self._identity.read(time.time())
            self._settings = attrs.evolve(
                self._settings, reserve_numbers=self._identity.stream_numbers().reserve
            )
        self._trace = trace
        self._given_pipes = pipes
        self._repair = repair
        answers: dict[str, Answer] = {
            "status": lambda _: self.stats().as_dict(),
            "peers": lambda _: self.peers(),
            "trace": self._trace_event,
        }
        self._recent = None if control is None else Recent()
        self._control = None if control is None else ControlServer(Path(control), answers)
        # Seeded once: a system call for every draw would double the cost of a fan-out.
        self._rng = rng or Random(SystemRandom().getrandbits(64))
        self._pipes: OutputPipes | None = None
        self._runner: Runner | None = None
        self._process = 0
        """The operating system's process in which the manager was started."""
        self._loop: asyncio.AbstractEventLoop | None = None
        """The event loop in which the manager was started."""
        self._starting: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._communities: dict[GroupId, Community] = {}
        self._conditions = Conditions()

    def __repr__(self) -> str:
        if self._runner is None:
            return "<CommunityManager that is not running>"
        return f"<CommunityManager at {self._runner.node.me.address}>"

    # -- life --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. Raises `BindError` if that is not possible, `GatewayError` for unknown names.

        With a passphrase or an identity, the process first connects to its own input as a stranger:
        `InsecureError` if the stranger gets in.
        """
        self._forget_closed_loop()
        while (under_way := self._closing or self._starting) is not None:
            await asyncio.shield(under_way)  # of another task
        if self._runner is not None:
            check_not_forked(self._process)
            self._check_loop()
            return
        self._process = os.getpid()
        self._loop = asyncio.get_running_loop()
        self._starting = self._loop.create_future()
        try:
            await self._start()
        finally:
            self._starting.set_result(None)
            self._starting = None

    async def _start(self) -> None:
        settings = self._settings
        gateways, keys = await resolve_gateways(settings.gateways)
        pipes, admission = self._given_pipes, None
        if self._signatures is not None:
            from camcast.live.signed_links import SignedLinks

            profile = SignedLinks.of(self._signatures, keys, time.time)
            admission = profile.known
            pipes = transports.open_with(self._transport, profile)
        elif pipes is None:
            if self._passphrase is not None:  # which takes a while, but only once a process
                await asyncio.to_thread(group_key, self._passphrase)
            pipes = transports.open_pipes(self._transport, passphrase=self._passphrase)
        store = _stores.setdefault(asyncio.get_running_loop(), Store()) if self._repair else None
        runner: Runner | None = None
        try:
            runner = Runner(
                attrs.evolve(
                    settings,
                    gateways=gateways,
                    store=store,
                    signatures=self._signatures,
                    admission=admission,
                ),
                pipes,
                bind=self._bind,
                advertise=self._advertise,
                rng=self._rng,
                sink=self._trace,
                recent=self._recent,
                on_deliver=self._deliver,
                on_missed=self._tell_missed,
                on_step=self._conditions.stepped,
                on_change=self._changed,
            )
            await check_closed(runner.input, pipes.profile)
            runner.open()
            self._runner, self._pipes = runner, pipes
            if self._control is not None:
                await self._control.open()
        except BaseException:
            self._runner = None
            if self._control is not None:
                await self._control.close()
            if runner is not None:
                runner.close()
            if self._given_pipes is None:
                pipes.close()
            raise
        if self._identity_watch is not None:
            self._identity_watch.start()

    def renew(self) -> None:
        """Read certificates and lists of revocations again, and go on with these.

        A running process calls this itself, a few seconds after one of the files has changed.

        Raises `KeyFileError` and `CertificateFileError` for a file that is wrong or not valid, and
        goes on as before then; `CommunityError` for a process without an identity.
        """
        if self._identity is None or self._signatures is None:
            raise CommunityError("this process has no identity, and no certificate to renew")
        if self._runner is not None:
            self._runner.flush()  # what was published before is signed by the certificates of then
        self._identity.read_again(self._signatures, time.time())

    async def close(self) -> None:
        """Leave every community politely, and stop listening.

        The goodbyes have a second to leave, and so have callbacks for the events that they still
        have; then coroutines are cancelled, and threads left to themselves. From the call on,
        joining and publishing raise `CommunityError`. In a forked child the call does nothing: all
        there is to close is the parent's.
        """
        if self._runner is not None:
            if os.getpid() != self._process:
                return
            self._forget_closed_loop()
        if self._runner is not None:
            self._check_loop()
        while self._starting is not None:
            await asyncio.shield(self._starting)  # of another task
        if self._runner is None or self._pipes is None:
            return
        callbacks = {c for community in self._communities.values() for c in community._callbacks}
        if self._closing is not None:
            if asyncio.current_task() not in callbacks:  # which the first call waits for
                await asyncio.shield(self._closing)
            return
        self._closing = asyncio.get_running_loop().create_future()
        if self._identity_watch is not None:
            self._identity_watch.stop()
        try:
            for community in self._communities.values():
                community._leave()
                for changes in list(community._changes):
                    changes.close()
            if self._control is not None:
                await self._control.close()
            await self._pipes.drain(LEAVE_SECONDS)
            await _end(callbacks - {asyncio.current_task()})
        finally:
            runner, self._runner = self._runner, None
            try:
                await _turns()  # in which the goodbye of a discovery with sockets of its own leaves
                runner.close()
                await _turns()  # in which the tasks end that it has cancelled
            finally:
                if self._given_pipes is None:
                    self._pipes.close()
                self._closing.set_result(None)
                self._closing = None

    async def __aenter__(self) -> CommunityManager:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def discovery_state(self) -> str:
        """The state of the discovery: ``connected``, ``alone`` or ``degraded``.

        An overlay is ``alone`` until a process has answered, and ``degraded`` when none answers any
        more, while the existing tables go on working. Before `start` and after `close` it is
        ``closed``.
        """
        return "closed" if self._runner is None else self._runner.node.discovery.state

    # -- communities -------------------------------------------------------------------------

    def community(
        self,
        topic: type[E] | str | Topic,
        *,
        parameters: Parameters | None = None,
        super_topics: Iterable[TopicLike] | None = None,
    ) -> Community[E]:
        """Return the community of a topic, without joining it yet (getCommunity, 5.1).

        `topic` is a name, a `Topic` or an event class (`camcast.typed`). `super_topics` replaces
        the super-topic that the name implies, or the bases of the class; several are allowed (3.6).
        A second call returns the same object, and raises `CommunityError` for other settings.
        """
        check_optional("parameters", parameters, Parameters, "Parameters(…)")
        if super_topics is not None:
            check_list("super_topics", super_topics, "topics")
        cls = topic if isinstance(topic, type) else None
        resolved = _topic(topic)
        supers = None if super_topics is None else tuple(_topic(t) for t in super_topics)
        existing = self._communities.get(resolved.group)
        if existing is not None:
            theirs = existing._parameters or self._settings.parameters
            if parameters is not None and parameters != theirs:
                raise CommunityError(f"{resolved} exists already, with other parameters")
            if supers is not None and supers != existing.super_topics:
                raise CommunityError(f"{resolved} exists already, with other super-topics")
            if cls is not None:
                existing._deliveries.learn_class(cls)
            return existing
        if supers is None and cls is not None:
            supers = typed.super_topics_of(cls)
        if supers is not None and resolved in supers:
            raise CommunityError(f"{resolved} cannot be its own super-topic")
        community = Community(self, resolved, parameters, supers)
        if cls is not None:
            community._deliveries.learn_class(cls)
        self._communities[resolved.group] = community
        return community

    async def join(
        self,
        topic: type[E] | str | Topic,
        *,
        parameters: Parameters | None = None,
        super_topics: Iterable[TopicLike] | None = None,
        timeout: float | None = JOIN_SECONDS,
        retry: bool = False,
    ) -> Community[E]:
        """Join a community and return it; the first member founds it. See `Community.join`."""
        community = self.community(topic, parameters=parameters, super_topics=super_topics)
        await community.join(timeout=timeout, retry=retry)
        return community

    def super_communities(self, topic: TopicLike) -> list[Community]:
        """Return the communities of a topic's super-topics (getSuperCommunity, 5.3.2.3)."""
        community = self.community(topic)
        return [self.community(super_topic) for super_topic in community.super_topics]

    # -- facts -------------------------------------------------------------------------------

    @property
    def contact(self) -> Contact:
        """The identity and announced address of this process; `CommunityError` before `start`."""
        return self._running().node.me

    @property
    def address(self) -> str:
        """The address that others reach this process at, and may name as a gateway."""
        return self.contact.address

    @property
    def gateway(self) -> str:
        """How others name this process as a gateway: by its address, with its key if it has one."""
        if self._signatures is None:
            return self.address
        return f"{self.address}#{self._signatures.public}"

    @property
    def counters(self) -> Counters:
        """What this process received, sent and dropped until now: a copy, which does not change."""
        runner = self._running()
        return Counters(
            **attrs.asdict(runner.node.counters, recurse=False),
            published=runner.published,
            unpublished=runner.unpublished,
            missed=sum(community._deliveries.missed for community in self._communities.values()),
            input=attrs.evolve(runner.input.counters),
            outputs=attrs.evolve(self.pipes.counters),
        )

    def stats(self) -> Stats:
        """Return a snapshot of this process: its pipes, peers, communities, queues and repair.

        A snapshot costs some microseconds for each peer and community.
        """
        runner = self._running()
        communities = [community._stats() for community in self._communities.values()]
        return take_stats(
            runner, self.pipes, self.counters, [one for one in communities if one is not None]
        )

    async def ask_gateways(self, timeout: float = ASK_SECONDS) -> tuple[FirstContactStats, ...]:
        """Ask all gateways who is in the topics that they serve; return which of them answer.

        Nothing is joined. Gateways, and an overlay's first nodes, have `timeout` seconds to answer.
        """
        check_timeout(timeout)
        runner = self._open()
        for topic in self._settings.gateways:
            runner.seek(topic)
        discovery = runner.node.discovery

        def answered() -> bool:
            asked = discovery.first_contacts()
            return discovery.state == "connected" and all(one.answers is not None for one in asked)

        await self._conditions.wait_for(answered, timeout)
        return self.stats().discovery.first_contacts

    def peers(self) -> list[PeerStats]:
        """Return the processes in this one's tables, and those that have it in theirs."""
        return take_peer_stats(self._running())

    @property
    def pipes(self) -> OutputPipes:
        """The output pipes, with their counters."""
        self._running()
        assert self._pipes is not None
        return self._pipes

    # -- inside ------------------------------------------------------------------------------

    def _running(self) -> Runner:
        if self._runner is None:
            raise CommunityError("the manager is not running: use `async with`, or call start()")
        check_not_forked(self._process)
        return self._runner

    def _open(self) -> Runner:
        """Return the runner for a command; raises `CommunityError` once the manager is closing."""
        if self._closing is not None:
            raise CommunityError("the manager is closing")
        if self._starting is not None:
            raise CommunityError("the manager is starting: await that first")
        runner = self._running()
        self._check_loop()
        return runner

    def _forget_closed_loop(self) -> None:
        """End what ran in a loop that was closed before the manager; only say no goodbyes."""
        if self._loop is None or not self._loop.is_closed():
            return
        self._loop = self._runner = self._pipes = self._starting = self._closing = None
        self._conditions = Conditions()
        for community in self._communities.values():
            community._participation = None
            community._left = True
            community._leave()  # which is local now
            for changes in list(community._changes):
                changes.close()

    def _check_loop(self) -> None:
        """Raise `CommunityError` in any event loop but the one in which the manager was started."""
        if running_loop() is not self._loop and self._loop is not None:
            if self._loop.is_closed():
                raise CommunityError(
                    "the event loop of the manager was closed before the manager; start it again"
                )
            raise CommunityError(
                "the manager was started in another event loop: call it there (with"
                " asyncio.run_coroutine_threadsafe, from a thread), or use camcast.blocking"
            )

    def _deliver(self, delivery: Deliver) -> None:
        community = self._communities.get(delivery.group)
        if community is not None:
            community._deliveries.deliver(delivery.batch, self._running(), history=delivery.history)

    def _tell_missed(self, tell: Tell) -> None:
        community = self._communities.get(tell.group)
        if community is not None:
            community._deliveries.tell(tell.missed)

    def _trace_event(self, question: Mapping[str, Any]) -> Account:
        """Answer a question of `camcast trace`: what this process knows of an event."""
        assert self._recent is not None, "there is a control socket"
        parts = [
            (
                community.topic.name,
                community._participation,
                len(community._deliveries.subscriptions),
            )
            for community in self._communities.values()
            if community._participation is not None
        ]
        event = parse_event_id(str(question.get("event")))
        self._running().flush()  # it may have been published in this very turn of the loop
        return account_of_event(event, self._running(), self._recent, parts)

    def _changed(self, group: GroupId, change: Change) -> None:
        node = self._running().node
        for community in self._communities.values():
            if (home := node.participation(community.topic)) is not None:
                community._group = home.topic.group
            if community._group == group:
                for changes in community._changes:
                    changes.put(attrs.evolve(change, topic=community.topic))


class Community(Generic[E]):
    """The processes interested in one topic, as seen by this one; made by a manager.

    In the community of a class, `Community[Reading]` to a type checker, instances of the class are
    published and received; an event that does not fit the class comes as a `Sent`, or as bytes. The
    process takes part from the first `join`, `subscribe` or `publish` on, until `leave`, or until
    its last subscription has ended and it has stopped publishing.
    """

    def __init__(
        self,
        manager: CommunityManager,
        topic: Topic,
        parameters: Parameters | None,
        super_topics: tuple[Topic, ...] | None,
    ) -> None:
        self.topic = topic
        self._manager = manager
        self._parameters = parameters
        self._super_topics = super_topics
        self._participation: Participation | None = None
        self._deliveries: Deliveries[E] = Deliveries(topic, manager._recent)
        self._callbacks: set[asyncio.Future[None]] = set()
        self._changes: list[Changes] = []
        self._group: GroupId | None = None
        """The group in which the process takes, or took, part for the topic."""
        self._publishing = False
        self._burst = 0
        self._published = 0  # events
        self._left = False
        self._told_to_leave = False  # by `leave`, and has not taken part again since
        self._joiners = 0  # calls of `join` that wait

    def __repr__(self) -> str:
        return f"<Community {self.topic} {self.state}>"

    # -- joining and leaving -----------------------------------------------------------------

    async def join(self, *, timeout: float | None = JOIN_SECONDS, retry: bool = False) -> None:
        """Become a member; the first one founds the community.

        Raises `GatewayTimeout` when the configured gateways cannot tell who is in it: only if all
        of them keep its register and answer that nobody is there, the process is the first member.
        With `retry` it keeps asking instead, until `timeout`. Raises `NotReady` when that runs out
        (None: never). After an error, or when the call is cancelled, the process no longer tries to
        join, unless another call or a subscription wants it to.
        """
        check_timeout(timeout)
        participation = self._take_part()

        def settled() -> bool:
            unanswered = participation.unanswered is not None and not retry
            return participation.joined or participation.leaving or unanswered

        self._joiners += 1
        try:
            in_time = await self._manager._conditions.wait_for(settled, timeout)
        except asyncio.CancelledError:
            waits = participation is self._participation and not participation.joined
            if waits and self._joiners == 1 and not self._deliveries.subscriptions:
                self._leave()  # nobody else here wants to be a member
            raise
        finally:
            self._joiners -= 1
        if participation.joined:
            return
        self._check_not_left(participation)
        unanswered = participation.unanswered
        self._leave()
        if unanswered is not None:
            me = self._manager.address
            reached = await reaches(unanswered.unreachable)
            silent, ignorant, nobody = (
                unanswered.unreachable,
                unanswered.ignorant,
                unanswered.nobody,
            )
            raise GatewayTimeout(self.topic, silent, ignorant, reached, me, nobody)
        assert not in_time
        raise NotReady(f"{self.topic} was not joined within {timeout} s: no contact answered")

    async def ready(
        self, min_peers: int = 1, *, min_links: int = 0, timeout: float | None = JOIN_SECONDS
    ) -> None:
        """Wait until the topic table holds `min_peers` and the super-topic tables `min_links`.

        Joins first if need be, within the same `timeout`. Raises `NotReady`, saying what there was,
        or as `join` does.
        """
        check_whole("min_peers", min_peers)
        check_whole("min_links", min_links)
        began = time.monotonic()
        await self.join(timeout=timeout)
        left = None if timeout is None else timeout - (time.monotonic() - began)
        participation = self._take_part()

        def enough() -> bool:
            peers = len(participation.membership.peers())
            found = peers >= min_peers and participation.live_links() >= min_links
            return found or participation.leaving

        if not await self._manager._conditions.wait_for(enough, left):
            raise NotReady(
                f"{self.topic} has {len(self.peers)} peers and {participation.live_links()} links"
                f" after {timeout} s; {min_peers} and {min_links} were asked for"
            )
        self._check_not_left(participation)

    async def leave(self) -> None:
        """End all subscriptions, and leave so that the others can repair their tables.

        `publish` raises `CommunityError` from then on, until `join`, `ready` or `subscribe`.
        """
        if self._participation is not None:
            self._manager._check_loop()
        self._leave()
        self._told_to_leave = True

    # -- subscribing -------------------------------------------------------------------------

    def subscribe(
        self,
        callback: EventCallback[E] | None = None,
        *,
        on_batch: BatchCallback[E] | None = None,
        on_lagged: LaggedCallback | None = None,
        on_missed: MissedCallback | None = None,
        since: float | None = None,
        queue_length: int = QUEUE_LENGTH,
        queue_bytes: int = QUEUE_BYTES,
        overflow: Overflow = Overflow.DROP_OLDEST,
        where: str | Interest | None = None,
        own: bool = True,
    ) -> Subscription[E]:
        """Receive the events of this topic and its subtopics, without `own` those of others only.

        `callback` takes each event, a `Received`. Instead of it, `on_batch` takes the events that
        travelled together, a `ReceivedBatch`, which costs less where there are many. Either runs as
        a task if it is a coroutine function, else in a thread of its own, so that it may block.
        Without a callback, iterate the subscription. The process starts to join if it is no member
        yet; await `join` or `ready` to know when it is.

        The subscription holds at most `queue_length` events and `queue_bytes` bytes of their
        payloads; beyond that, `overflow` says whether the oldest or the newest is dropped.

        `where`, such as "mag >= 5", is a filter on the fields of a typed event as they were sent,
        whatever this community was joined by, or on a payload that is a JSON object. hpmcast and
        pmcast also tell it to other processes, which then send less; with all other protocols the
        filter is local. Raises `InterestError` for a text that is no interest.

        With `since`, this subscription first gets the events of the last so many seconds, as far as
        this process or its neighbours still keep them; they may come in another order than they
        were published. Raises `ValueError` for a negative time, and `TypeError` and `ValueError`
        for other arguments that are wrong; then nothing was joined.
        """
        if since is not None:
            check_number("since", since)
            if not since >= 0:
                raise ValueError(f"since is a number of seconds, 0 or more, not {since}")
        interest = Interest.parse(where) if isinstance(where, str) else where
        check_optional("where", interest, Interest, 'a text such as "mag >= 5"')
        self._manager._open()
        subscription = Subscription(
            self._ended,
            callback,
            on_batch=on_batch,
            on_lagged=on_lagged,
            on_missed=on_missed,
            queue_length=queue_length,
            queue_bytes=queue_bytes,
            overflow=overflow,
            where=interest,
            own=own,
            dropped=None if self._manager._recent is None else self._deliveries.note_lagged,
        )
        try:
            participation = self._take_part(interest)
        except BaseException:
            subscription.close()
            raise
        self._note_callback(subscription)
        if since:
            subscription.wants_history = True
            runner = self._manager._open()
            for batch in runner.history(participation, since):
                self._deliveries.hand_to([subscription], batch, runner)
        self._deliveries.subscriptions.append(subscription)
        self._tell_interest()
        return subscription

    def changes(
        self, on_change: ChangeCallback | None = None, *, queue_length: int = CHANGES_LENGTH
    ) -> Changes:
        """Learn how this process stands in the community, and who comes into its topic table.

        Iterate the result with ``async for``, or give a callback: a plain function runs in a thread
        of its own and may block, a coroutine function runs in a task. A member first gets its
        present standing, and each peer in its table. The call joins nothing; the changes go on when
        the community is left and joined again, until they or the manager are closed.
        """
        runner = self._manager._open()
        changes = Changes(self._changes.remove, on_change, queue_length)
        self._note_callback(changes)
        self._changes.append(changes)
        standing = None if self._group is None else runner.standing(self._group)
        if standing is not None:
            changes.put(Change(standing, self.topic))
            for peer in self.peers:
                changes.put(Change("peer_seen", self.topic, peer))
        return changes

    def unsubscribe(self, subscription: Subscription[E]) -> None:
        """End one subscription; after the last one, a process that does not publish leaves."""
        check_type("subscription", subscription, Subscription, "what `subscribe` has returned")
        subscription.close()

    # -- publishing --------------------------------------------------------------------------

    async def publish(
        self,
        event: E | Sent | bytes | bytearray | memoryview,
        *,
        upward_probability: float | None = None,
        wait: bool = True,
    ) -> Receipt:
        """Publish bytes, an instance of this community's event class, or a `Sent`.

        The first call joins, which takes its time. While output pipes to the peers of this process
        are more than half full and move, the call waits, for a second at most; with `wait=False` it
        never waits. Then the event is accepted or dropped, which the receipt says. An accepted
        event is not lost on the way to those peers that take events; its further way is best
        effort, without confirmation (TRUST, G7). `upward_probability` overrides p_sel for this
        event, at every process that forwards it (setUpwardProb, 5.3.2.1).

        Raises `PayloadTooLargeError`, `TypedEventError`, `NotAllowedError` for an identity without
        a certificate to publish here, `ValueError` for a probability outside [0, 1],
        `CommunityError` after `leave` or while the manager closes, and what `join` raises.
        """
        if upward_probability is not None:
            check_number("upward_probability", upward_probability)
            if not 0 <= upward_probability <= 1:
                raise ValueError(f"upward_probability is in [0, 1], not {upward_probability}")
        is_typed = not isinstance(event, bytes | bytearray | memoryview)
        payload = (
            bytes(event)
            if isinstance(event, bytes | bytearray | memoryview)
            else typed.encode_for(self.topic, event)
        )
        if self._participation is None or not self._participation.joined:
            if self._told_to_leave:
                raise CommunityError(f"{self.topic} was left; join it again to publish")
            await self.join()
        participation = self._participation
        assert participation is not None
        self._publishing = True
        if wait:
            self._burst += 1
            if self._burst >= _BURST:
                self._burst = 0
                await asyncio.sleep(0)  # a publisher in a tight loop lets the rest of the loop run
            await self._manager._open().wait_for_room(participation)
            if participation is not self._participation:
                raise CommunityError(f"{self.topic} was left in the meantime")
        receipt = self._manager._open().publish(
            participation, self.topic, payload, upward_probability, typed=is_typed
        )
        self._published += receipt.accepted
        return receipt

    def stop_publishing(self) -> None:
        """Stop publishing; a process without a subscription then leaves the community (5.1)."""
        self._publishing = False
        if not self._deliveries.subscriptions:
            self._leave()

    # -- facts -------------------------------------------------------------------------------

    @property
    def super_topics(self) -> tuple[Topic, ...]:
        """The super-topics that this community is linked to; none for the root."""
        if self._super_topics is not None:
            return self._super_topics
        return () if self.topic.super_topic is None else (self.topic.super_topic,)

    @property
    def state(self) -> State:
        """Whether the process is a member; "alone" is a member that knows no other one."""
        if self._participation is None:
            return "left" if self._left else "new"
        if not self._participation.joined:
            return "joining"
        return "member" if len(self._participation.membership.peers()) else "alone"

    @property
    def peers(self) -> tuple[Contact, ...]:
        """The topic table, as it is now."""
        if self._participation is None:
            return ()
        return tuple(self._participation.membership.peers())

    @property
    def links(self) -> tuple[tuple[Topic, tuple[Contact, ...]], ...]:
        """For each super-topic, the nearest ancestor with known members, and these members."""
        if self._participation is None:
            return ()
        nearest = (link.nearest() for link in self._participation.links)
        return tuple((topic, tuple(contacts)) for topic, contacts in nearest)

    @property
    def size(self) -> float:
        """The membership's estimate of how many processes the community has."""
        return 0.0 if self._participation is None else self._participation.membership.size()

    # -- inside ------------------------------------------------------------------------------

    def _take_part(self, where: Interest | None = None) -> Participation:
        runner = self._manager._open()
        if self._participation is None:
            self._participation = runner.join(
                self.topic, self._parameters, self._super_topics, where
            )
            self._left = self._told_to_leave = False
        return self._participation

    def _tell_interest(self) -> None:
        """Tell the node what the subscriptions want."""
        self._manager._running().node.want(self.topic, self._deliveries.interest())

    def _leave(self) -> None:
        self._flush()
        self._deliveries.close()
        self._publishing = False
        if self._participation is not None:
            self._participation = None
            self._left = True
            self._manager._running().leave(self.topic)

    def _note_callback(self, feed: Feed[Any, Any]) -> None:
        """Remember a feed's callback until it has ended: `close` of the manager waits for it."""
        if feed.running is not None:
            self._callbacks.add(feed.running)
            feed.running.add_done_callback(self._callbacks.discard)

    def _stats(self) -> CommunityStats | None:
        """Return a snapshot of this community; None if the process takes no part in it."""
        if self._participation is None:
            return None
        return take_community_stats(
            self.topic, self.state, self._participation, self._deliveries, published=self._published
        )

    def _ended(self, subscription: Subscription[E]) -> None:
        if subscription in self._deliveries.subscriptions:
            self._flush()
        if self._deliveries.end(subscription):
            if self._deliveries.subscriptions or self._publishing:
                self._tell_interest()
            else:
                self._leave()

    def _flush(self) -> None:
        """Let what was published leave, so that a subscription gets it before it is closed."""
        if self._participation is not None:
            self._manager._running().flush()

    def _check_not_left(self, participation: Participation) -> None:
        if participation.leaving:
            raise CommunityError(f"{self.topic} was left in the meantime")


_stores: WeakKeyDictionary[asyncio.AbstractEventLoop, Store] = WeakKeyDictionary()
"""The store that all managers of a loop share."""


def check_not_forked(process: int) -> None:
    """Raise `CommunityError` unless this is still the process that a manager was started in."""
    if os.getpid() != process:
        raise CommunityError(
            f"the manager belongs to process {process}, of which this one is a fork: sockets and"
            " threads are not inherited; start a manager of its own here"
        )


async def _turns() -> None:
    """Let the loop turn often enough for a cancelled task, and one that it awaits, to end."""
    for _ in range(3):
        await asyncio.sleep(0)


async def _end(callbacks: set[asyncio.Future[None]]) -> None:
    """Wait for callbacks to end of their own accord, then cancel them."""
    for _ in range(2):
        if callbacks:
            _, callbacks = await asyncio.wait(callbacks, timeout=LEAVE_SECONDS)
        for callback in callbacks:
            callback.cancel()


def _topic(given: TopicLike) -> Topic:
    if isinstance(given, Topic):
        return given
    return Topic.parse(given) if isinstance(given, str) else typed.topic_of(given)
