"""The interface for applications: `CommunityManager`, which makes each `Community` (000, 5.1).

asyncio first; `camcast.app.blocking` is the same for scripts and threads. docs/api.md maps the
paper's interface to this one.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import attrs
from typing_extensions import override

from camcast.app.community import JOIN_SECONDS, Community
from camcast.app.known_communities import KnownCommunities
from camcast.app.lifetime import Lifetime
from camcast.app.settings import (
    ProcessSettings,
    Reachable,
    check_closed,
    check_descriptors,
    is_closed,
)
from camcast.app.topic_arguments import SuperTopicsLike, TopicLike, steps_of, topic_of
from camcast.doors.plugs import discovery_for, discovery_options, find_protocol, membership_for
from camcast.doors.transport import OutputPipes
from camcast.engine.settings import Order, Parts, Settings
from camcast.engine.store import Store
from camcast.inbox.deliveries import Deliveries, Inbox
from camcast.inbox.step import step
from camcast.live import transports
from camcast.live.audit import open_audit
from camcast.live.gateway_file import check_keys, without_keys
from camcast.live.own_address import OwnAddress
from camcast.live.runner import Runner
from camcast.live.snapshot import take_announced, take_peer_stats, take_stats
from camcast.live.wall_clock import start_clock
from camcast.observe.condition_table import Sight
from camcast.observe.conditions import Watch
from camcast.observe.counters import Counters, NodeCounters
from camcast.observe.recent import Recent
from camcast.observe.stats import FirstContactStats, PeerStats, Stats
from camcast.observe.trace import Sink, check_sink, flush_sink
from camcast.security.passphrase import group_key
from camcast.vocabulary.addresses import host_of
from camcast.vocabulary.arguments import check_optional, check_timeout, check_type, refuse_copy
from camcast.vocabulary.errors import CommunityError
from camcast.vocabulary.events import parse_event_id
from camcast.vocabulary.happenings import Change, ConditionKind
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.logger import Logger
from camcast.vocabulary.parameters import Parameters, SpreadKind
from camcast.vocabulary.refused_threads import refused_threads_as
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from camcast.vocabulary.typed import E, check_travels

if TYPE_CHECKING:
    from camcast.live.archive.archive import FileArchive
    from camcast.live.control_socket import Answer, ControlServer
    from camcast.live.profiles.identity_watch import IdentityWatch
    from camcast.observe.event_trace import Account

_log = Logger(__name__)

ASK_SECONDS: Final = 5.0  # chosen: gateways have 2 s to answer; an overlay needs some round trips
CAMCAST: Final = "camcast"
"""The protocol of a manager's process."""
LEAVE_SECONDS: Final = 1.0  # chosen: how long a polite leave may take to get onto the wire


class CommunityManager:
    """One process of CAMCAST: an input pipe, its communities, and how it finds others.

    Use it as an async context manager, or call `start` and `close`.

    The keywords are the settings of the process (`camcast.app.settings`), and three live objects:
    `trace`, `pipes` and `rng`. Raises what is wrong with them, as docs/api.md lists it.

    Args:
        membership: The backend that keeps the tables of communities: ``"scamp"``, ``"hybrid"``,
            ``"dht"``, ``"cyclon"``, ``"hyparview"``, or a plug (docs/choosing.md, docs/plugs.md).
        system: The name of the system: a process that names another one is refused, at whatever
            address it is found. It is no secret, and keeps nobody out who wants to get in.
        discovery: How other processes are found, for a membership that leaves it open:
            ``"gateways"``, or ``"lan"``, which finds processes on the local network without any
            address, or a plug of yours (docs/plugs.md).
        discovery_options: The options of the discovery, if it has any.
        gateways: Whom to ask first: addresses, addresses by topic, or the path of a TOML file
            (`camcast.live.gateway_file`). More: one may be down. Without any, the process founds
            the communities that it joins. A host name stands for all its addresses, and is looked
            up again once a minute and when nobody answers there. In the profile ``signed`` gateways
            off the loopback are named with their key, ``tcp://host:port#KEY``.
        bind: The address to listen at. Port 0 is any free port; with an overlay, any other port has
            to be free for UDP, too.
        advertise: The address that other processes are told; needed when `bind` is a wildcard. Or
            ``"auto"``, a network interface or a host name, whose address is looked up every 15 s.
        reachable: ``"no"`` for a process that no other can connect to, as behind a firewall or a
            NAT: others send on the connections that it makes. Members of its communities that can
            be connected to carry what two such processes have for each other. Needs the transport
            ``zmtp`` or ``tcp``, and pipes of its own. ``"auto"``: `start` asks two of the gateways
            to connect to the address that this process announces, which takes a round trip, or five
            seconds where they cannot; where no gateway is there it counts as reachable.
        insecure: Allow addresses off the loopback although nothing is secured: whoever reaches an
            open process can read and publish.
        zmq_may_abort: Allow that also with the transport ``"zmq"``: whoever reaches such a port can
            end the process (docs/transports.md).
        passphrase: Closes the process to all that do not know it: links are encrypted, and a
            stranger finishes no handshake (docs/security.md).
        also_passphrase: Who knows this one instead gets in, too, while the group changes from one
            passphrase to the other.
        identity: The file of the process's secret key (``camcast keys``). The process then signs
            its events, and talks only to processes with a chain of certificates from a trusted
            root, that do what these allow: the profile ``signed``.
        certificates: Files that say what the identity may do (``camcast certify``). They are read
            again when they change.
        trust: Files of the public keys of trusted roots.
        revocations: Lists of certificates that count no more (``camcast revoke``). They are read
            again when they change.
        no_revocations: Do not warn that a trusted root has no list of revocations.
        audit: A file to which a JSON line is appended for each refusal, cut-off and revocation
            (docs/operating.md).
        parameters: The paper's parameters of communities that are joined without their own; or the
            path of a TOML file that has them by topic (`camcast.vocabulary.topic_parameters`).
        options: The options of the membership, such as ``{"heartbeat_seconds": 1}``.
        spread: ``"auto"``: the events of a busy publisher take a copy a process, along a tree, and
            all others spread as with ``"infect"``: every process sends an event to a few others,
            as in the paper. ``"tree"``: all events go along trees, which needs repair. None: as
            `parameters` say, or auto.
        protocol: How events spread and climb: ``"camcast"``, or another protocol, which all
            processes of a topic have to run.
        protocol_options: The options of the protocol.
        retention_seconds: For how long events are kept for processes that missed them. More: longer
            interruptions are made good. Less: less memory. None: as `parameters` say, or 120.
        event_bytes_max: The longest payload that the process publishes and takes, 16 MiB at most;
            all members should allow the same. Above 1 MiB an event travels in pieces. More: nobody
            has to split what is large. Less: less memory. None: as `parameters` say, or 1 MiB.
        repair: Ask again for events that were missed (docs/reliability.md). Without it, events
            spread as in the paper, and some are lost.
        order: ``"fifo"``: a subscriber gets what one process publishes on a topic in the order of
            its publication; an event waits for a missing one before it. Needs repair.
            ``"arrival"``: no event waits, and some overtake others.
        hold_seconds: With ``"fifo"``, for how long an event waits at most. More: fewer events come
            late. Less: a lost one holds those after it for a shorter time. None: 5.
        peers: Explicit peers: addresses of processes that this one keeps in its topic tables,
            whatever others tell, in each community that both are in, and asks again when they are
            lost. The remedy against whoever owns all else that this process hears
            (docs/security.md). In the profile ``signed`` they are named with their keys.
        remember: A file that keeps contacts from one run to the next, for when no gateway answers.
        archive: A file that keeps the events of all communities which the process joins, beyond
            its life (docs/reliability.md). Needs repair.
        archive_megabytes: How large the file may become. More: more of the past. The events that
            were published first make room.
        archive_days: For how many days events are kept in it, if there is room.
        trace: Takes a record of everything that happens, such as `JsonLinesSink`.
        transport: ``"zmtp"``, ``"tcp"`` or ``"zmq"``: how frames travel; all understand each other.
        pipes: Output pipes that several managers of one loop share (`open_pipes`), which have a
            transport and a passphrase already.
        control: The path of a unix socket at which the process answers questions about itself
            (docs/operating.md).
        relay: Take part in a community that does not interest this process when members that nobody
            can dial ask for it: their events pass through this process, which delivers none, and
            are counted as relayed. Communities below its own a process carries in any case, since
            it gets their events anyway.
        rng: The random stream of the protocols; None: seeded by the operating system.

    Example:
        ::

            async with CommunityManager(gateways=["tcp://127.0.0.1:7000"]) as manager:
                soccer = await manager.join(".soccer")
                await soccer.publish(b"Goal!")
    """

    def __init__(
        self,
        membership: str = "scamp",
        *,
        system: str = "",
        discovery: str | None = None,
        discovery_options: Mapping[str, object] | None = None,
        gateways: Iterable[str] | Mapping[str, Iterable[str]] | Path = (),
        bind: str = "tcp://127.0.0.1:0",
        advertise: str | None = None,
        reachable: Reachable = "yes",
        insecure: bool = False,
        zmq_may_abort: bool = False,
        passphrase: str | None = None,
        also_passphrase: str | None = None,
        identity: Path | None = None,
        certificates: Path | Iterable[Path] = (),
        trust: Path | Iterable[Path] = (),
        revocations: Path | Iterable[Path] = (),
        no_revocations: bool = False,
        audit: Path | None = None,
        parameters: Parameters | Path | None = None,
        options: Mapping[str, object] | None = None,
        spread: SpreadKind | None = None,
        protocol: str = CAMCAST,
        protocol_options: Mapping[str, object] | None = None,
        retention_seconds: float | None = None,
        event_bytes_max: int | None = None,
        repair: bool = True,
        order: Order = "fifo",
        hold_seconds: float | None = None,
        peers: Iterable[str] = (),
        remember: Path | None = None,
        archive: Path | None = None,
        archive_megabytes: float = 1000.0,
        archive_days: float = 7.0,
        trace: Sink | None = None,
        transport: str | None = None,
        pipes: OutputPipes | None = None,
        control: Path | None = None,
        relay: bool = False,
        rng: Random | None = None,
    ) -> None:
        settings = ProcessSettings.of(
            membership=membership,
            system=system,
            discovery=discovery,
            discovery_options=discovery_options,
            gateways=gateways,
            bind=bind,
            advertise=advertise,
            reachable=reachable,
            insecure=insecure,
            zmq_may_abort=zmq_may_abort,
            passphrase=passphrase,
            also_passphrase=also_passphrase,
            identity=identity,
            certificates=certificates,
            trust=trust,
            revocations=revocations,
            no_revocations=no_revocations,
            audit=audit,
            parameters=parameters,
            options=options,
            spread=spread,
            protocol=protocol,
            protocol_options=protocol_options,
            retention_seconds=retention_seconds,
            event_bytes_max=event_bytes_max,
            repair=repair,
            order=order,
            hold_seconds=hold_seconds,
            peers=peers,
            remember=remember,
            archive=archive,
            archive_megabytes=archive_megabytes,
            archive_days=archive_days,
            transport=transport,
            control=control,
            relay=relay,
        )
        self._set_up(settings, trace, pipes, rng, ())

    def _set_up(
        self,
        given: ProcessSettings,
        trace: Sink | None,
        pipes: OutputPipes | None,
        rng: Random | None,
        topics: tuple[Topic, ...],
    ) -> None:
        check_optional("pipes", pipes, OutputPipes, "what open_pipes returns")
        check_optional("rng", rng, Random, "a random.Random")
        if trace is not None:
            check_sink(trace)
        listening, security, contacts = given.listening, given.security, given.contacts
        closed = security.closed or is_closed(pipes)
        over_zmq = listening.transport == transports.ZMQ
        aborts = over_zmq if pipes is None else pipes.strangers_may_abort
        check_exposed = partial(listening.check_exposed, closed=closed, aborts=aborts)
        self._bind, advertise = listening.addresses(closed=closed, aborts=aborts)
        self._own_address = OwnAddress(advertise, self._bind, check_exposed)
        found = advertise is None or self._own_address.looked_up
        self._reachable = listening.reachable
        protocol = find_protocol(given.spread.protocol, given.spread.protocol_options)
        backend, options = membership_for(protocol, contacts.membership, contacts.options)
        found_by = contacts.discovery or backend.discovery
        discovery = discovery_for(backend, contacts.discovery)
        given.check_profile(discovery, found_by, pipes)
        self._transport = listening.transport or transports.DEFAULT
        listed = contacts.gateways_by_topic()
        pinned = self._transport != transports.ZMQ
        check_keys(listed, wanted=security.signed, pinned=pinned)
        gateways, keys = without_keys(listed)
        explicit = {ROOT: contacts.explicit_peers()}
        check_keys(explicit, wanted=security.signed, pinned=pinned, noun="peer")
        peers, peer_keys = without_keys(explicit)
        self._settings = Settings(
            backend=backend,
            discovery=discovery,
            options=options,
            discovery_options=discovery_options(
                discovery, found_by, contacts.discovery_options or {}
            ),
            gateways=gateways,
            keys={**peer_keys, **keys},
            peers=peers[ROOT],
            parameters=given.spread.community(),
            remember=contacts.remember,
            relay=given.relay,
            port_required=not found or not self._bind.endswith(":0"),
            every_interface=host_of(self._bind) == "tcp://[::]",
            protocol=protocol,
            order=given.spread.order,
            hold_seconds=given.spread.held_seconds(),
            topics=topics,
            system=contacts.system if pipes is None else pipes.system,
        )
        self._by_topic = given.spread.by_topic()
        self._passphrases = security.passphrases()
        self._parts = Parts(discovery_rng=None if rng is not None else SystemRandom())
        self._identity: IdentityWatch | None = None
        if security.signed:
            from camcast.live.profiles.identity_files import IdentityFiles
            from camcast.live.profiles.identity_watch import IdentityWatch

            files = IdentityFiles(
                security.identity,
                security.certificates,
                security.trust,
                security.revocations,
                lists_expected=not security.no_revocations,
            )
            self._identity = IdentityWatch(files, self.renew)
            numbers = files.stream_numbers()
            numbers.on_conflict = self._on_key_conflict
            self._parts = attrs.evolve(
                self._parts,
                signatures=self._identity.signatures,
                reserve_numbers=numbers.reserve,
            )
        self._entered = False  # inside an `async with`
        self._trace = trace
        self._given_pipes = pipes
        self._repair = given.spread.repair
        self._archiving = given.archiving
        self._archive: FileArchive | None = None
        self._audit = security.audit
        self._recent: Recent | None = None
        self._control: ControlServer | None = None
        if given.control is not None:
            from camcast.live.control_socket import ControlServer

            self._recent = Recent()
            self._control = ControlServer(Path(given.control), self._answers(self._recent))
        self._rng = rng
        self._pipes: OutputPipes | None = None
        self._lifetime = Lifetime()
        self._watch = Watch(self._condition_changed)
        """The conditions of the process; each start has a new watch."""
        self._inbox = Inbox(None if self._recent is None else self._recent.note)
        self._communities: KnownCommunities[Community] = KnownCommunities(self._inbox)

    __reduce_ex__ = refuse_copy

    @override
    def __repr__(self) -> str:
        runner = self._lifetime.runner
        if runner is None:
            return "<CommunityManager that is not running>"
        return f"<CommunityManager at {runner.node.me.address}>"

    # -- life --------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. Raises `BindError` if that is not possible, `AddressError` for no own address.

        `ArchiveError` if the archive cannot be opened, `AuditError` if the audit file cannot, and
        `CommunityError` if the process may open too few files (``ulimit -n``).

        With a passphrase or an identity, the process first connects to its own input as a stranger:
        `InsecureError` if the stranger gets in.
        """
        self._forget_closed_loop()
        async with self._lifetime.under_way:
            if self._lifetime.runner is None:
                self._lifetime.begin()
                await self._start()
            else:
                self._lifetime.running()
                self._lifetime.check_loop()

    async def _start(self) -> None:
        dialable = self._reachable != "no"
        with refused_threads_as(_no_thread):
            self._archive = await self._archiving.opened()
            try:
                if not await self._begin(dialable=dialable):
                    await self._begin(dialable=False)
            except BaseException:
                self._close_archive()
                raise
        self._watch = Watch(self._condition_changed)
        runner = self._lifetime.running()
        runner.look_regularly(self._look)
        if runner.node.me.is_dialable:
            self._own_address.watch(self.address, runner.clock, runner.move)
        if self._identity is not None:
            self._identity.start()

    async def _begin(self, *, dialable: bool) -> bool:
        """Listen, as a process that others can connect to, or as one that nobody can.

        False if it is to be found out which of them it is, and it is the other one.
        """
        settings = self._settings
        listed = [one for several in settings.gateways.values() for one in several]
        advertise = await self._own_address.find(listed)
        pipes, loop = self._given_pipes, asyncio.get_running_loop()
        admission = penalties = None
        clock = start_clock(loop.time)
        if self._identity is not None:
            from camcast.live.profiles.signed_links import SignedLinks

            profile = SignedLinks.of(
                self._identity.signatures,
                settings.keys,
                clock,
                loop.time,
                self._parts.reserve_numbers,
            )
            admission, penalties = profile.known, profile.penalties
            pipes = transports.open_with(self._transport, profile, settings.system)
        elif pipes is None:
            for passphrase in filter(None, self._passphrases):
                await asyncio.to_thread(group_key, passphrase)  # slow, but only once a process
            first, also = self._passphrases
            pipes = transports.open_pipes(
                self._transport, passphrase=first, also_passphrase=also, system=settings.system
            )
        store = _stores.setdefault(loop, Store()) if self._repair else None
        runner: Runner | None = None
        try:
            if self._given_pipes is None:
                check_descriptors(pipes)
            runner = Runner(
                settings,
                attrs.evolve(self._parts, store=store, admission=admission, penalties=penalties),
                pipes,
                clock=clock,
                bind=self._bind,
                advertise=advertise,
                dialable=dialable,
                # Seeded once: a system call for every draw would double the cost of a fan-out. And
                # seeded now: processes forked since the constructor would draw the same numbers.
                rng=self._rng or Random(SystemRandom().getrandbits(64)),
                sink=self._trace,
                recent=self._recent,
                inbox=self._inbox,
                on_change=self._changed,
                archive=self._archive,
                audit=open_audit(self._audit, clock.wall, admission),
            )
            await check_closed(runner.input, pipes)
            doubtful = dialable and self._reachable == "auto"
            if doubtful and not await runner.is_called_back(listed):
                _log.info(
                    "no gateway can connect to %s: others send to this process on the connections"
                    " that it makes",
                    runner.node.me.address,
                )
                runner.close()
                pipes.close()
                return False
            runner.open()
            if self._control is not None:
                await self._control.open()
        except BaseException:
            if self._control is not None:
                await self._control.close()
            if runner is not None:
                runner.close()
            if self._given_pipes is None:
                pipes.close()
            raise
        self._lifetime.runner, self._pipes = runner, pipes
        return True

    def _on_key_conflict(self) -> None:
        """Count that the file of stream numbers has shown another process with this key."""
        if (runner := self._lifetime.runner) is not None:
            runner.node.counters.key_conflicts += 1

    def renew(self) -> None:
        """Read certificates and lists of revocations again, and go on with these.

        A running process calls this itself, a few seconds after one of the files has changed.

        Raises `KeyFileError` and `CertificateFileError` for a file that is wrong or not valid, and
        goes on with what it had of that then; `CommunityError` for a process without an identity.
        """
        if self._identity is None:
            raise CommunityError("this process has no identity, and no certificate to renew")
        runner, wall = self._lifetime.runner, time.time()
        if runner is not None:
            self._lifetime.check_no_step()
            runner.flush()  # and sign by the certificates of then
            wall = runner.clock.wall(asyncio.get_running_loop().time())
        self._identity.read_again(wall)

    async def close(self) -> None:
        """Leave every community politely, and stop listening.

        The goodbyes have a second to leave, and so have callbacks for the events that they still
        have; then coroutines are cancelled, and threads left to themselves. From the call on,
        joining and publishing raise `CommunityError`. In a forked child the call does nothing: all
        there is to close is the parent's.
        """
        lifetime = self._lifetime
        if not lifetime.in_process():
            return
        self._forget_closed_loop()
        if lifetime.runner is None and not lifetime.under_way.locked():
            return
        lifetime.check_loop()
        if lifetime.closing and asyncio.current_task() in lifetime.callbacks:
            return  # for which the first call waits
        async with lifetime.under_way:
            if lifetime.runner is not None:
                try:
                    await self._close(lifetime.runner)
                finally:
                    lifetime.runner = None

    async def _close(self, runner: Runner) -> None:
        callbacks = self._lifetime.callbacks - {asyncio.current_task()}
        if self._identity is not None:
            self._identity.stop()
        try:
            for community in self._communities:
                community._close()
            if self._control is not None:
                await self._control.close()
            await self.pipes.drain(LEAVE_SECONDS)
            await runner.waiting.drain(LEAVE_SECONDS)
            await _end(callbacks)
        finally:
            pipes = self.pipes
            try:
                await _turns()  # in which the goodbye of a discovery with sockets of its own leaves
            finally:  # also when the call is cancelled a second time
                self._shut(runner, pipes)
            await _turns()  # in which the tasks end that it has cancelled

    async def __aenter__(self) -> CommunityManager:
        if self._entered:
            raise CommunityError("this manager is in an `async with` already, whose end closes it")
        self._entered = True
        try:
            await self.start()
        except BaseException:
            self._entered = False
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        self._entered = False
        await self.close()

    @property
    def discovery_state(self) -> str:
        """The state of the discovery: ``connected``, ``alone`` or ``degraded``.

        It is ``alone`` until a gateway, or a node of an overlay, has answered, and ``degraded``
        when none answers any longer, while the existing tables go on working. A process that names
        no gateway is ``connected``. Before `start` and after `close` it is ``closed``.
        """
        runner = self._lifetime.runner
        return "closed" if runner is None else runner.node.discovery.state

    # -- communities -------------------------------------------------------------------------

    def community(
        self,
        topic: type[E] | str | Topic,
        *,
        parameters: Parameters | None = None,
        super_topics: SuperTopicsLike | None = None,
    ) -> Community[E]:
        """Return the community of a topic, without joining it yet (getCommunity, 5.1).

        `topic` is a name, a `Topic` or an event class (`camcast.vocabulary.typed`). `super_topics`
        replaces the super-topic that the name implies, or the bases of the class; several are
        allowed (3.6). As a mapping, it also says those of topics farther up, which count where
        nobody is in the topics between. A second call returns the same object, unless the community
        was left and nobody holds it. Other settings count from the next `join` on; while the
        process takes part in the community, they raise `CommunityError` (`Community.tune` and
        `Community.link` change what can be changed then).
        """
        community = self._find_or_make(topic, parameters, super_topics)
        if parameters is not None or super_topics is not None or isinstance(topic, type):
            community._keep_settings()
        return community

    def _find_or_make(
        self,
        topic: type[E] | str | Topic,
        parameters: Parameters | None,
        super_topics: SuperTopicsLike | None,
    ) -> Community[E]:
        check_optional("parameters", parameters, Parameters, "Parameters(…)")
        resolved = topic_of(topic)
        above = steps_of(topic, super_topics)
        supers = above.pop(resolved, None)
        community = self._communities.find(resolved.group)
        settings = self._by_topic.over(resolved, self._settings.parameters)
        if parameters is not None:
            settings = settings.with_parameters(parameters)
        if community is not None:
            if parameters is not None:
                community._settle("parameters", settings)
            if supers is not None and super_topics is not None:
                community._settle("super_topics", supers)
                community._settle("_above", above)
        else:
            if supers is None:
                supers = self._inbox.hierarchy.declared(resolved)
            deliveries: Deliveries[E] = Deliveries(resolved, self._inbox)
            community = Community(
                self._lifetime, self._communities, deliveries, settings, supers, above
            )
            self._communities.add(community)
        if isinstance(topic, type):
            community._deliveries.learn_class(topic)
        return community

    async def join(
        self,
        topic: type[E] | str | Topic,
        *,
        parameters: Parameters | None = None,
        super_topics: SuperTopicsLike | None = None,
        timeout: float | None = JOIN_SECONDS,
        retry: bool = False,
    ) -> Community[E]:
        """Join a community and return it; the first member founds it. See `Community.join`.

        Raises `TypedEventError` for an event class with a field that cannot travel.
        """
        if isinstance(topic, type):
            check_travels(topic)
        community = self._find_or_make(topic, parameters, super_topics)
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
        return self._lifetime.running().node.me

    @property
    def address(self) -> str:
        """The address that others reach this process at, and may name as a gateway."""
        return self.contact.address

    @property
    def gateway(self) -> str:
        """How others name this process as a gateway: by its address, with its key if it has one."""
        if self._identity is None:
            return self.address
        return f"{self.address}#{self._identity.signatures.public}"

    @property
    def counters(self) -> Counters:
        """The counts of this process until now: a copy, which does not change."""
        runner = self._lifetime.running()
        counts = runner.node.counters
        return Counters(
            **{name: getattr(counts, name) for name in _COUNTS},
            published=runner.published,
            unpublished=runner.unpublished,
            failures=runner.failures,
            missed=self._inbox.missed,
            input=attrs.evolve(runner.input.counters),
            outputs=attrs.evolve(self.pipes.counters),
        )

    @step
    def stats(self) -> Stats:
        """Return a snapshot of this process: its pipes, peers, communities, queues and repair.

        A snapshot costs some microseconds for each peer and community. Called in the event loop of
        the manager, as `peers` is; `CommunityError` elsewhere.
        """
        self._lifetime.running()
        self._lifetime.check_loop()
        stats = self._snapshot()
        return attrs.evolve(stats, conditions=self._watch.look(stats))

    def _snapshot(self) -> Stats:
        """Return a snapshot without the conditions, which are seen in it."""
        communities = [community._stats() for community in self._communities]
        return take_stats(
            self._lifetime.running(),
            self.pipes,
            self.counters,
            [one for one in communities if one is not None],
            self._archive,
        )

    @step
    def _look(self) -> None:
        """Let the watch see the process as it is now."""
        self._watch.look(self._snapshot())

    async def ask_gateways(self, timeout: float = ASK_SECONDS) -> tuple[FirstContactStats, ...]:
        """Ask all gateways who is in the topics that they serve; return which of them answer.

        Nothing is joined. Gateways, and an overlay's first nodes, have `timeout` seconds to answer.
        """
        check_timeout(timeout)
        runner = self._lifetime.open()
        for topic in self._settings.gateways:
            runner.seek(topic)
        discovery = runner.node.discovery

        def answered() -> bool:
            asked = discovery.first_contacts()
            if asked:
                return all(one.answers is not None for one in asked)
            return discovery.state == "connected"

        await runner.conditions.wait_for(answered, timeout)
        return self.stats().discovery.first_contacts

    @step
    def peers(self) -> list[PeerStats]:
        """Return the processes in this one's tables, and those that have it in theirs."""
        runner = self._lifetime.running()
        self._lifetime.check_loop()
        return take_peer_stats(runner)

    @property
    def pipes(self) -> OutputPipes:
        """The output pipes, with their counters."""
        self._lifetime.running()
        assert self._pipes is not None
        return self._pipes

    # -- inside ------------------------------------------------------------------------------

    def _forget_closed_loop(self) -> None:
        """End what ran in a loop that was closed before the manager; only say no goodbyes."""
        runner, pipes = self._lifetime.runner, self._pipes
        if not self._lifetime.forget_closed_loop():
            return
        self._pipes = None
        for community in self._communities:
            community._close()
        if self._identity is not None:
            self._identity.stop()
        if self._control is not None:
            self._control.abandon()
        if runner is not None and pipes is not None:
            with suppress(RuntimeError):  # asyncio's transports, of zeroconf, cannot be closed now
                self._shut(runner, pipes)

    def _shut(self, runner: Runner, pipes: OutputPipes) -> None:
        """Close the sockets, and have the trace's sink write what it holds back."""
        try:
            self._own_address.stop()
            runner.close()
        finally:
            if self._given_pipes is None:
                pipes.close()
            self._close_archive()
            if self._trace is not None:
                flush_sink(self._trace)

    def _close_archive(self) -> None:
        """Let the archive write what it holds back."""
        archive, self._archive = self._archive, None
        if archive is not None:
            archive.close()

    def _condition_changed(self, kind: ConditionKind, name: str, sight: Sight) -> None:
        """Tell the communities of a condition that it is about: one, or all."""
        of_topic = sight.about.startswith(".")
        for community in self._communities:
            if not of_topic or community.topic.name == sight.about:
                community._condition_changed(
                    Change(kind, community.topic, condition=name, says=sight.says, do=sight.do)
                )

    def _changed(self, group: GroupId, change: Change) -> None:
        runner = self._lifetime.runner
        local_group = None if runner is None else runner.node.find(group)
        if local_group is not None:
            for topic in local_group.context.interest.topics:
                community = self._communities.find(topic.group)
                if community is not None:
                    community._changed(group, change)

    def _answers(self, recent: Recent) -> dict[str, Answer]:
        """Return what the control socket answers, by the name of the question."""
        return {
            "status": lambda _: self.stats().as_dict(),
            "peers": lambda _: self.peers(),
            "trace": self._trace_event,
            "tune": self._tune,
            "ready": lambda _: self.stats().unready(),
            "events": lambda given: recent.answer(given.get("after", 0)),
            "announced": lambda _: take_announced(self._lifetime.running()),
        }

    def _trace_event(self, question: Mapping[str, Any]) -> Account:
        """Answer a question of `camcast trace`: what this process knows of an event."""
        from camcast.live.event_account import account_of_event

        assert self._recent is not None, "there is a control socket"
        event, runner = parse_event_id(str(question.get("event"))), self._lifetime.running()
        runner.flush()  # it may have been published in this very turn of the loop
        return account_of_event(event, runner, self._recent, self._inbox.communities.values())

    def _tune(self, question: Mapping[str, Any]) -> Mapping[str, Any]:
        """Do what `camcast tune` asks for; return the parameters of the topic from then on."""
        topic = Topic.parse(str(question.get("topic")))
        community = self._communities.find(topic.group)
        if community is None or community.state in ("new", "left"):
            known = (one for one in self._communities if one.state not in ("new", "left"))
            names = ", ".join(one.topic.name for one in known) or "none"
            raise ValueError(f"the process is not in {topic}; its communities: {names}")
        changes = question.get("changes")
        try:
            check_type("changes", changes, Mapping, "a mapping of parameters")
            assert isinstance(changes, Mapping)
            community.tune(**changes)
        except (TypeError, CommunityError) as error:
            raise ValueError(str(error)) from error
        values = attrs.asdict(community.parameters)
        return {name: values[name] for name in attrs.fields_dict(Parameters)}


def make_manager(
    settings: ProcessSettings,
    *,
    trace: Sink | None = None,
    pipes: OutputPipes | None = None,
    rng: Random | None = None,
    topics: Iterable[Topic] = (),
) -> CommunityManager:
    """Make a manager from settings as one value. Raises as `CommunityManager`.

    `topics` are all topics that exist, for protocols that must know them.
    """
    manager = CommunityManager.__new__(CommunityManager)
    manager._set_up(settings, trace, pipes, rng, tuple(topics))
    return manager


_COUNTS: Final = tuple(attrs.fields_dict(NodeCounters))
"""The names of the counts of a node."""

_stores: WeakKeyDictionary[asyncio.AbstractEventLoop, Store] = WeakKeyDictionary()
"""The store that all managers of a loop share."""


def _no_thread(why: str) -> CommunityError:
    return CommunityError(f"the process cannot start: {why}; it may have too few (ulimit -u)")


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
