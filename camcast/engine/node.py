"""The node: one process, its groups, and which part of it takes each input.

Theory of operation
-------------------
A node is a synchronous state machine. A driver (the live runner, the virtual network) calls one of
the inputs below, with the time `now`, and then drains `outbox`. The node decides everything and
does nothing. What an input judges or sends is judged and vouched for at the time of that input.

====================  ==============================  ==============================================
input                 goes to                         leaves in the outbox
====================  ==============================  ==============================================
`join`                discovery, a new local group    sends, wakes; later ``joined`` happens
`leave`               repair, membership, discovery   goodbyes; ``left`` happens
`tune`                super-topic tables              questions to super-processes
`link`, `unlink`      super-topic tables              a search; ``linked``, ``unlinked`` happen
`publish`, `flush`    publisher, then intake          copies of the event; a delivery of its own
`history`             repair                          questions; later deliveries of history
`confirm`             repair                          questions to neighbours
`seek`                discovery                       sends; later findings, which `Node` takes
`receive`, an event   intake, repair, dissemination   copies; deliveries to this process
`receive`, a control  guard, then the part of its     answers, wakes; changes of tables happen
record                kind (`Node._handlers`)
`wake`                the part that set the timer     what is due; `Missed` for what is given up
`receive_datagram`    discovery                       findings, datagrams
`contacts_found`      membership, super-topic tables  a subscription to a member
`ask_back`            liveness                        a question, to addresses alone
`unattached`          attachments                     a call to an undialable process
`compare_clocks`      guard, repair, discovery        an introduction with the right time
`finished`            discovery                       findings, timers
`on_standstill`       liveness, repair, links         heartbeats; ``paused`` happens
`open`, `close`       discovery                       datagrams
====================  ==============================  ==============================================

A node has these parts: the *intake* (`camcast.engine.intake`) takes frames apart and accepts new
events, the *publisher* (`camcast.engine.publisher`) gathers this process's own events into batches,
*remote queries* (`camcast.engine.remote_queries`) answers the links and discoveries of other
processes, the *liveness service* (`camcast.engine.liveness`) finds out which peers live, the
*recorder* (`camcast.observe.recorder`) counts and traces. With identities, *signing*
(`camcast.engine.guard.signing`) and the *guard* (`camcast.engine.guard.access_control`) judge what
arrives, and *joining* (`camcast.engine.joining`) asks the discovery. This module has the commands,
and the way of every other input to its part.

For each community that the process takes part in, the node holds a `LocalGroup`: a membership
(who keeps the topic table is a plug), one `SuperTopicTable` for each super-topic, a dissemination,
and what is known of streams. One discovery serves the whole process. Protocols other than CAMCAST
have groups of their own instead of communities, some for several topics; an event that does not
interest this process is then counted as a parasite and spread, but not delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from random import Random
from types import MappingProxyType
from typing import Final

from camcast.doors.contained import PlugError
from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.options import shared_options
from camcast.engine import link_messages, liveness_messages, security_messages
from camcast.engine.attachments import Attachments
from camcast.engine.carrying import Carrying
from camcast.engine.discovery_datagrams import DiscoveryDatagrams
from camcast.engine.explicit_peers import PEERS, ExplicitPeers
from camcast.engine.group_tallies import GroupTallies
from camcast.engine.groups import Groups
from camcast.engine.guard.access_control import AccessControl
from camcast.engine.guard.held_batches import HeldBatch
from camcast.engine.guard.signing import Signing
from camcast.engine.intake import Intake
from camcast.engine.joining import Joining
from camcast.engine.link_messages import Carry, OtherChoice, Pong
from camcast.engine.liveness import LivenessService
from camcast.engine.liveness_messages import Attach, Attached
from camcast.engine.local_group import LocalGroup
from camcast.engine.local_group_maker import Surroundings
from camcast.engine.misfits import MisfitAnswers
from camcast.engine.open_guard import Guard
from camcast.engine.process_context import ProcessContext
from camcast.engine.publisher import Publisher
from camcast.engine.remote_queries import RemoteQueries
from camcast.engine.repair import messages as repair_messages
from camcast.engine.repair.confirming import Confirmation
from camcast.engine.repair.messages import NONCE_BYTES, Nonces
from camcast.engine.repair.told import Lateness
from camcast.engine.security_messages import Introductions, KeyInUse, WhoAre
from camcast.engine.settings import Parts, Settings
from camcast.interests.attributes import EventAttributes
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.observe.counters import NodeCounters
from camcast.observe.recorder import Recorder
from camcast.observe.trace import Trace
from camcast.vocabulary.batches import Batch, Keyed
from camcast.vocabulary.choices import Choice
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import EventId, Receipt
from camcast.vocabulary.happenings import NO_GROUP, Happening, HappeningKind, TakeBatch
from camcast.vocabulary.hierarchy import Hierarchy, Steps, by_name, check_by_name
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Arrival, Decoder, MessageT
from camcast.vocabulary.outbox import ControlOutlet, Finding, Outbox, Token, Wake
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.systems import Misfits
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind, UnknownRecordError

WAKE_AGAIN_SECONDS: Final = 1.0  # chosen: as often as an error of a plug is logged


class Node:
    """One process of CAMCAST; see the module's theory of operation.

    `me` is its identity and the address that it announces, `rng` the random stream of its
    protocols. `clock`, which the driver may share, says what the wall clock is at a time of inputs.
    `attributes` reads the attributes of events, for a driver that does so too; `parts` are live
    objects that it is given. `ring` remembers what happens to events. `hierarchy` has what is known
    of super-topics, for a driver that reads it, too.
    """

    def __init__(
        self,
        me: Contact,
        settings: Settings,
        rng: Random,
        clock: Clock,
        trace: Trace | None = None,
        attributes: EventAttributes | None = None,
        parts: Parts | None = None,
        ring: TakeBatch | None = None,
        hierarchy: Hierarchy | None = None,
    ) -> None:
        parts = parts or Parts()
        self.clock = clock
        self.outbox = outbox = Outbox(me)
        self._settings = settings
        self._groups = groups = Groups()
        self._subscribed: dict[GroupId, tuple[LocalGroup, ...]] = {}
        """The groups of each subscribed topic; the topic's events start in the first one."""
        self.recorder = recorder = Recorder(trace, outbox, groups.community, ring)
        self.hierarchy = hierarchy or Hierarchy()
        """The super-topics of topics, as this process knows them."""
        self.guard = guard = Guard()
        """Judges what other processes send."""
        if parts.admission is not None:
            self.guard = guard = AccessControl(
                parts.admission, outbox, recorder.counters, clock, self.hierarchy
            )
        guard.penalties, guard.audit = parts.penalties, parts.audit or guard.audit
        outbox.vouch = guard.vouch
        self._takes_all = parts.admission is None and parts.signatures is None
        """Whether there is nothing to judge by, so that what arrives passes no guard."""
        self._plug_failed = parts.plug_failed
        self._wake_failed = False  # whether a plug has raised in the timer that came last
        lateness = Lateness()
        store, secrets = parts.store, parts.discovery_rng or rng
        self.liveness = LivenessService(
            ControlOutlet(outbox, Kind.LIVENESS, NO_GROUP),
            rng,
            self._on_piggybacked,
            None if store is None else GroupTallies(groups, lateness, clock, guard),
            nonces=parts.discovery_rng,
            addresses_signed=parts.admission is not None,
        )
        self._process = process = ProcessContext(
            *(outbox, recorder, groups, rng, self.liveness, guard, clock, self.hierarchy),
            self._on_plug_error,
        )
        backend, protocol = settings.backend, settings.protocol
        options = [shared_options(settings.options or backend.options(), protocol)]
        options += [f"extension={one.name}" for one in settings.extensions if one.of_communities]
        shared = " ".join(filter(None, options))
        outbox.choice = choice = Choice(backend.name, protocol.name, shared)
        self._isolated = self._deaf = False  # as was told last
        outbox.speaks = parts.speaks
        self._attachments = attachments = Attachments(process.outlet(Kind.LIVENESS, NO_GROUP))
        outbox.introduce = attachments.introduce
        self._misfits = MisfitAnswers(process, choice, settings.system)
        self._queries = queries = RemoteQueries(process, settings.parameters)
        self.signing: Signing | None = None
        """Signs and verifies events; None where they are not signed."""
        if parts.signatures is not None:
            self.signing = Signing(parts.signatures, process, queries.neighbours, parts.archive)
        self._intake = intake = Intake(process, queries, self._on_control, self.signing)
        self._around = Surroundings(
            settings,
            parts,
            queries,
            self.signing,
            attributes or EventAttributes(),
            intake,
            lateness,
            None if store is None else Nonces(secrets.randbytes(NONCE_BYTES)),
        )
        self._publisher = Publisher(process, intake, self.signing, parts.reserve_numbers)
        factory = settings.discovery
        finding = process.containment(f"discovery {getattr(factory, '__name__', factory)!r}")
        found = finding.make(
            "__init__",
            factory,
            DiscoveryContext(
                rng=secrets,
                outlet=process.outlet(Kind.DISCOVERY, NO_GROUP),
                known=queries.known,
                gateways=settings.gateways,
                keys=settings.keys,
                remember=settings.remember,
                port_required=settings.port_required,
                every_interface=settings.every_interface,
                admission=guard.admission,
                clock=clock,
                options=settings.discovery_options,
                waiting=parts.waiting,
                choice=choice.text,
                other_choice=self._misfits.on_choice_by_datagram,
                system=settings.system,
                other_system=self._misfits.on_other_system,
            ),
        )
        self.discovery: Discovery = finding.contain(Discovery, found)
        self._joining = Joining(
            *(process, self._around, self.discovery, self._misfits),
            *(self._is_put_out, self._tell_neighbours),
        )
        self._carrying = Carrying(
            process, settings, self.discovery, self._joining, self._leave_group
        )
        self._explicit_peers = ExplicitPeers(
            process, self._joining, settings.peers, self._tell_neighbours
        )
        self._handlers: dict[Kind, Callable[[Arrival, bytes], bool]] = {
            Kind.MEMBERSHIP: self._on_membership,
            Kind.LINKS: self._on_links,
            Kind.DISCOVERY: self._on_discovery,
            Kind.PROTOCOL: self._on_protocol,
            Kind.SECURITY: self._on_security,
            Kind.REPAIR: self._on_repair,
            Kind.LIVENESS: self._on_liveness,
        }
        """The handler of each kind of control record; False: no part of this node takes it."""

    # -- what drivers and applications read ------------------------------------------------

    @property
    def me(self) -> Contact:
        """The process, under the address that it announces."""
        return self.outbox.me

    @property
    def counters(self) -> NodeCounters:
        """The counts of records received and sent so far."""
        return self.recorder.counters

    @property
    def misfits(self) -> Misfits:
        """The processes of other systems, memberships or protocols that this one met lately."""
        return self._misfits.met

    def local_group(self, topic: Topic) -> LocalGroup | None:
        """Return this process's part in the community of a topic that it has joined, or None."""
        groups = self._subscribed.get(topic.group)
        return None if groups is None else groups[0]

    def find(self, group: GroupId) -> LocalGroup | None:
        """Return this process's part in a group, also in one that it left lately, or None."""
        return self._groups.find(group)

    @property
    def local_groups(self) -> Iterable[LocalGroup]:
        """Every group that this process takes part in, in the order of joining."""
        return self._groups.current.values()

    # -- commands --------------------------------------------------------------------------

    def join(
        self,
        topic: Topic,
        now: float,
        parameters: CommunitySettings | None = None,
        super_topics: Sequence[Topic] | None = None,
        where: Interest | None = None,
        above: Steps = MappingProxyType({}),
    ) -> LocalGroup:
        """Begin to take part in the community of `topic`; the local group tells when it joined.

        `super_topics` defaults to super(t), and to none for the root; each is linked independently
        (3.6). `above` are super-topics of topics farther up, where they are not those that the
        names say. See `want` for `where`. Joining again returns the same local group. Raises
        `NotAllowedError`, and `HierarchyError` for a topic that would include itself, or for
        super-topics that the protocol cannot carry.
        """
        self.outbox.now = now
        home = self.local_group(topic)
        if home is not None:
            return home
        settings, groups = self._settings, self._groups
        if super_topics is None:
            super_topics = by_name(topic)
        protocol = self._process.containment(f"protocol {settings.protocol.name!r}", topic)
        wanted = protocol.make(
            "groups", settings.protocol.groups, topic, settings.topics, self.me.peer
        )
        self._carrying.end(topic, now)
        self._joining.check([group.topic for group in wanted], now)
        self._declare(topic, {**above, topic: super_topics}, now)
        if not settings.protocol.linked:
            super_topics = ()
        for group in wanted:
            local_group = groups.current.get(group.topic.group)
            if local_group is not None:
                subscribed = local_group.context.interest.topics
                if local_group.joined and topic not in subscribed:
                    self.recorder.tell(Happening("joined", group.topic.group, topic=topic))
                local_group.context.interest.want(topic, where)
                continue
            interest = ProcessInterest(topic, where)
            local_group = self._joining.enter(
                group, interest, super_topics, parameters or settings.parameters, now
            )
            self._carrying.watch(local_group)
            self._explicit_peers.watch(local_group)
        of_topic = tuple(groups.current[group.topic.group] for group in wanted)
        self._subscribed[topic.group] = of_topic
        self._joining.settle(now)
        return of_topic[0]

    def _on_plug_error(self, error: PlugError) -> None:
        """Count an error of a plug, and hand it to the driver; without any, raise it."""
        self.recorder.counters.plug_errors += 1
        self._wake_failed |= error.verb == "wake"
        if self._plug_failed is None:
            raise error
        self._plug_failed(error)

    @property
    def selective(self) -> bool:
        """Whether other processes are told what this one wants (`Protocol.selective`)."""
        return self._settings.protocol.selective

    def want(self, topic: Topic, where: Interest | None) -> None:
        """Want only those events of a joined topic that match `where`; with None, all of them.

        Protocols that select by attributes tell other processes (`Protocol.selective`); with any
        other protocol nothing changes.
        """
        for local_group in self._subscribed.get(topic.group, ()):
            local_group.context.interest.want(topic, where)

    def leave(self, topic: Topic, now: float) -> None:
        """Leave a community politely; events of it that still arrive are dropped."""
        self.outbox.now = now
        self.flush(now)
        subscribed = self._subscribed.pop(topic.group, None)
        if subscribed is None:
            return
        for local_group in subscribed:
            interest = local_group.context.interest
            if interest.topics == [topic]:
                self._leave_group(local_group, now)
            else:
                interest.drop(topic)
        self._groups.fit(self.hierarchy.withdraw(topic), now)
        self._carrying.end_unwanted(now)
        self._joining.settle(now)
        self.recorder.record_control(now)

    def tune(self, topic: Topic, settings: CommunitySettings, now: float) -> None:
        """Go by other settings in all groups of a topic, without a leave or a join.

        A group that the process is in for several topics goes by those that came last.
        """
        self.outbox.now = now
        for local_group in self._subscribed.get(topic.group, ()):
            local_group.tune(settings, now)
        self._joining.settle(now)

    def link(self, topic: Topic, super_topic: Topic, now: float) -> None:
        """Link a community that the process is in to one more super-topic (3.2.2, 3.6).

        Raises `KeyError` without a local group, and `HierarchyError` for a super-topic below the
        topic, and with a protocol that does not link communities.
        """
        self._link(
            topic, (*self._subscribed[topic.group][0].ways_up.super_topics, super_topic), now
        )

    def unlink(self, topic: Topic, super_topic: Topic, now: float) -> None:
        """Let events of a community no longer climb to a super-topic.

        Raises `KeyError` without a local group.
        """
        linked = self._subscribed[topic.group][0].ways_up.super_topics
        self._link(topic, [one for one in linked if one != super_topic], now)

    def _link(self, topic: Topic, super_topics: Sequence[Topic], now: float) -> None:
        """Link a community to these super-topics alone."""
        self.outbox.now = now
        self._declare(topic, {topic: super_topics}, now)
        ways_up = self._subscribed[topic.group][0].ways_up
        ways_up.link(super_topics, now)
        self._groups.tables.enter(ways_up)
        self._joining.settle(now)

    def _declare(self, joined: Topic, steps: Steps, now: float) -> None:
        """Note what the application says of topics with a community that it joins.

        Raises `HierarchyError`.
        """
        protocol = self._settings.protocol
        if not protocol.linked:
            check_by_name(steps, f"the protocol {protocol.name}")
        self._groups.fit(self.hierarchy.declare(steps, joined), now)

    def publish(
        self,
        topic: Topic,
        payload: bytes,
        now: float,
        *,
        upward_probability: float | None = None,
        typed: bool = False,
        keyed: Keyed | None = None,
    ) -> Receipt:
        """Publish an event in a community that this process takes part in.

        The event leaves at the next `flush` at the latest, in a batch with others of its stream;
        one that is `keyed` at once.

        Raises `wire.PayloadTooLargeError`, `NotAllowedError`, and `KeyError` without a
        local group.
        """
        self.outbox.now = now
        local_group, p_sel = self._subscribed[topic.group][0], upward_probability
        receipt = self._publisher.publish(
            local_group, topic, payload, now, p_sel, typed=typed, keyed=keyed
        )
        self._joining.settle_if_due(now)
        return receipt

    def flush(self, now: float) -> None:
        """Send the open batches: the driver says that an instant is over."""
        self.outbox.now = now
        self._publisher.flush(now)

    def history(self, local_group: LocalGroup, seconds: float, now: float) -> list[Batch]:
        """Return what is kept of a group's last `seconds`, and ask others for the rest.

        The rest arrives as deliveries of history. Without repair nothing is kept.
        """
        self.outbox.now = now
        return [] if local_group.repair is None else local_group.repair.history(seconds, now)

    def confirm(
        self, local_group: LocalGroup, event: EventId, members: int, now: float
    ) -> Confirmation:
        """Ask other members whether they hold an event of this process, until so many do."""
        self.outbox.now = now
        assert local_group.repair is not None, "the application has looked"
        return local_group.repair.confirming.begin(event, members)

    # -- inputs ----------------------------------------------------------------------------

    def receive(self, frame: bytes, now: float, link: PeerId | None = None) -> None:
        """Take one frame; every fault in it is counted, and nothing is raised.

        `link` is the process that has proved its key at the other end of the link, if any has;
        `Guard.is_barred` says afterwards whether it is to be cut off.
        """
        outbox = self.outbox
        outbox.now = self.liveness.frame_at = now
        if self.guard.admits is None:
            link = None  # without certificates no link proves whose it is
        self._intake.receive(frame, now, link)
        if outbox.seeks or outbox.findings or self._joining.moved:  # `settle_if_due`, inlined
            self._joining.settle(now)

    def wake(self, token: Token, now: float) -> None:
        """Take a timer that the outbox asked for.

        A plug that raises, and has set no timer by then, is woken again: it would never act again.
        """
        self.outbox.now = now
        self._wake_failed, timers = False, len(self.outbox.wakes)
        if token.kind is Kind.LIVENESS:
            self._joining.note_all_moved()  # what a watcher learns may let it join
            if self.liveness.wake(token.name, now):
                self._tell_all_neighbours(now)
            self._tell_hearing()
        elif token.kind is Kind.DISCOVERY:
            self.discovery.wake(token.name, now)
        elif token.kind is Kind.SECURITY:
            assert self.signing is not None
            self.signing.wake(now)
            self._expel(now)
        else:
            serial, *name = token.name
            local_group = self._groups.current.get(token.group)
            if local_group is not None and local_group.serial == serial:
                self._wake(local_group, token.kind, tuple(name), now)
        if self._wake_failed and not any(
            (one.token.kind, one.token.group) == (token.kind, token.group)
            for one in self.outbox.wakes[timers:]
        ):
            self.outbox.wakes.append(Wake(WAKE_AGAIN_SECONDS, token))
        self._joining.settle_if_due(now)
        self.recorder.record_control(now, due=True)

    def open(self, datagrams: DatagramPort, now: float) -> None:
        """Let the discovery listen, before any other input. Raises `OSError`."""
        self._misfits.datagrams = datagrams
        sent = self.outbox.control_bytes
        datagrams = DiscoveryDatagrams(datagrams, self._settings.system, sent)
        self.outbox.now = now
        self.discovery.open(datagrams, now)
        self._joining.settle(now)

    def close(self, now: float) -> None:
        """Let the discovery stop listening."""
        self.outbox.now = now
        self.discovery.close(now)

    def receive_datagram(
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes = b""
    ) -> None:
        """Take a datagram that has arrived at one of the discovery's endpoints.

        `sender` is the key of the sending process, where processes have keys. A datagram of
        another system is dropped.
        """
        self.outbox.now = now
        said = self._misfits.read_datagram(port, source, data, now, sender)
        if said is None:
            return
        self.discovery.receive_datagram(port, source, said, now, sender)
        if self.outbox.findings:
            self._joining.settle(now)

    def finished(self, name: tuple[Hashable, ...], outcome: object, now: float) -> None:
        """Take the outcome of a coroutine of the discovery."""
        self.outbox.now = now
        self.discovery.finished(name, outcome, now)
        self._joining.settle(now)

    def seek(self, topic: Topic, now: float) -> None:
        """Look for members of a community without joining it, to see who answers."""
        self.outbox.now = now
        self._joining.seek(topic, now)
        self._joining.settle(now)

    def contacts_found(self, finding: Finding, now: float) -> None:
        """Take contacts as if the discovery had found them, for drivers that fill the tables."""
        self.outbox.now = now
        self._joining.found(finding, now)
        self._joining.settle(now)

    def ask_back(self, addresses: Iterable[str], now: float) -> None:
        """Ask whoever is at these addresses to answer, and so to connect to this process.

        `Questions.called_back` says whether anybody has.
        """
        self.outbox.now = now
        self.liveness.questions.ask_back(addresses)

    def unattached(self, contact: Contact, now: float) -> None:
        """Let an undialable process be told to connect, since something waits here for it.

        The driver calls this when it has records for the process and no connection of it.
        """
        self.outbox.now = now
        self._attachments.call(contact)

    def move(self, address: str, now: float) -> None:
        """Announce another address from now on, at which this process listens already.

        Its peers learn it from what it sends: they ask at the address of before, where nobody
        answers, drop it there, and take it in as it is now. What they sent meanwhile is repaired.
        """
        self.outbox.now, self.outbox.me = now, Contact(self.me.peer, address)
        self.guard.on_moved(now)
        self.discovery.moved(now)
        self._joining.settle(now)
        self.recorder.tell(Happening("moved", contact=self.me))

    def compare_clocks(self, now: float, wall: float) -> bool:
        """Take readings of both clocks at one moment; return whether the wall clock was set.

        The driver calls this once a period. Only a wall clock that was set by more than
        `camcast.vocabulary.clock.STEP_SECONDS` since the last time counts as set.
        """
        self.outbox.now = now
        seconds = self.clock.step(now, wall)
        if not seconds:
            return False
        self.recorder.tell(Happening("clock_set", count=1, seconds=seconds))
        self.guard.on_clock_set(now)
        self._publisher.on_clock_set(seconds, now)
        for local_group in self.local_groups:
            local_group.on_clock_set(now)
        self._joining.on_clock_set(now)
        self._joining.settle(now)
        return True

    def on_standstill(self, seconds: float, now: float) -> None:
        """Take it that this process did not run for the last so many seconds, and read nothing.

        The driver calls this before any other input after the standstill, and lets timers wait for
        as long as they would have: whoever has asked something goes on to wait for the answer.
        """
        self.outbox.now = now
        if self.liveness.on_standstill(seconds, now):
            self.recorder.tell(Happening("paused", seconds=seconds))
        for local_group in self.local_groups:
            local_group.on_standstill(seconds, now)

    # -- where inputs go -------------------------------------------------------------------

    def _on_control(self, arrival: Arrival, body: bytes) -> None:
        """Give a control record to the part that it is for."""
        counters, liveness = self.recorder.counters, self.liveness
        source, now = arrival.source, arrival.now
        sender = source.peer
        counters.controls += 1
        if sender == self.outbox.me.peer:
            return  # a message of our own that came back
        if not self._takes_all:
            # Messages about certificates pass: the process may have a new one.
            if arrival.kind is not Kind.SECURITY and self._is_put_out(sender):
                counters.stray_controls += 1
                return
            if not self.guard.lets_in(arrival, body):
                return
        if liveness.is_elsewhere(source, now):
            counters.stray_controls += 1
            return
        # A message that was passed on is no sign of life of its sender. Where links prove nothing,
        # all are direct, which spares a call.
        if (arrival.link is None or arrival.is_direct) and liveness.heard(sender, now):
            self._tell_all_neighbours(now)
        if (
            arrival.choice  # 0: nothing is said
            and arrival.group in self._groups.current
            and not self._misfits.fits(arrival)
        ):
            # Not half a join: its messages mean something else here.
            self._misfits.say_choice(arrival)
            counters.stray_controls += 1
        elif not self._handlers[arrival.kind](arrival, body):
            counters.stray_controls += 1

    def _on_liveness(self, arrival: Arrival, body: bytes) -> bool:
        message = self._read(liveness_messages.DECODER, arrival, body)
        if isinstance(message, Attach | Attached):
            self._attachments.receive(arrival.source, message, arrival.now)
        elif message is not None and self.liveness.receive(arrival.source, message, arrival.now):
            self._tell_all_neighbours(arrival.now)
        return True

    def _on_membership(self, arrival: Arrival, body: bytes) -> bool:
        local_group = self._groups.find(arrival.group)
        if local_group is None:
            return False
        membership = local_group.context.membership
        message = self._read(membership.decoder, arrival, body, local_group.topic)
        if message is not None:
            membership.receive(arrival.source, message, arrival.now)
        if self._joining.under_way:
            self._joining.note_moved(local_group)
        if local_group.neighbour_changes:
            self._tell_neighbours(local_group, arrival.now)
        return True

    def _on_protocol(self, arrival: Arrival, body: bytes) -> bool:
        local_group = self._groups.current.get(arrival.group)
        if local_group is None:
            return False
        decoder = local_group.dissemination.decoder
        if decoder is not None:
            message = self._read(decoder, arrival, body, local_group.topic)
            if message is not None:
                local_group.dissemination.receive(arrival.source, message, arrival.now)
        return decoder is not None

    def _on_repair(self, arrival: Arrival, body: bytes) -> bool:
        local_group = self._groups.joined(arrival.group)
        if local_group is None or local_group.repair is None:
            return False
        message = self._read(repair_messages.DECODER, arrival, body, local_group.topic)
        if message is not None:
            repair, source, now = local_group.repair, arrival.source, arrival.now
            repair.receive(source, message, now)
            if repair.whole is not None:
                (batch, sender), repair.whole = repair.whole, None
                self._intake.take_held([HeldBatch(local_group, batch, sender, now)], now)
        return True

    def _on_security(self, arrival: Arrival, body: bytes) -> bool:
        if self.signing is None:
            return False
        message = self._read(security_messages.DECODER, arrival, body)
        if isinstance(message, Introductions):
            return self.guard.on_introductions(message)
        if isinstance(message, WhoAre):
            self.guard.on_who_are(arrival.source, message, arrival.now)
        elif isinstance(message, KeyInUse):
            self.guard.on_key_in_use(message, arrival.now)
        elif message is not None:
            now = arrival.now
            self._intake.take_held(self.signing.receive(arrival.source, message, now), now)
            self._expel(now)
        return True

    def _on_links(self, arrival: Arrival, body: bytes) -> bool:
        asking = self._groups.current.get(arrival.group)
        topic = None if asking is None else asking.topic
        message = self._read(link_messages.DECODER, arrival, body, topic)
        if isinstance(message, OtherChoice):
            self._misfits.on_choice(arrival, message)
        elif isinstance(message, Carry):
            self._carrying.receive(arrival.source, message, arrival.now)
        elif message is not None:
            if isinstance(message, Pong):
                self._explicit_peers.receive(arrival.source, message, arrival.now)
            self._queries.receive(arrival.source, arrival.group, message, arrival.now)
        return True

    def _on_discovery(self, arrival: Arrival, body: bytes) -> bool:
        if self.discovery.decoder is None:
            self._misfits.say_choice(arrival)
            return False
        message = self._read(self.discovery.decoder, arrival, body)
        if message is not None:
            self.discovery.receive(arrival.source, arrival.group, message, arrival.now)
        return True

    def _read(
        self, decoder: Decoder[MessageT], arrival: Arrival, body: bytes, topic: Topic | None = None
    ) -> MessageT | None:
        """Decode a message; return what the guard leaves of it, None if it leaves nothing."""
        decoded = decoder.decode(body)
        message = decoded if self._takes_all else self.guard.judge(decoded, arrival, topic)
        if message is not None:
            self._attachments.note(arrival, message, body)
        return message

    def _on_piggybacked(
        self, source: Contact, kind: int, group: GroupId, body: bytes, now: float
    ) -> bool:
        """Give a piggybacked message to its part; False if this process is not in the group."""
        local_group = self._groups.current.get(group)
        if local_group is None:
            return False
        if not self.guard.may_join(source.peer, local_group.topic, now):
            return False
        if body and kind in (Kind.MEMBERSHIP, Kind.PROTOCOL):
            # Heartbeats are not passed on: their sender is at the other end of the link.
            arrival = Arrival(source.peer, source, Kind(kind), group, b"", now)
            try:
                self._handlers[arrival.kind](arrival, body)
            except UnknownRecordError:  # the rest of the heartbeat is this release's
                self.recorder.counters.records_unknown += 1
        return True

    def _wake(
        self,
        local_group: LocalGroup,
        kind: Kind | None,
        name: tuple[Hashable, ...],
        now: float,
    ) -> None:
        """Give a timer to the part of a local group that set it."""
        if kind is Kind.MEMBERSHIP:
            local_group.membership.wake(name, now)
            self._joining.note_moved(local_group)
            self._tell_neighbours(local_group, now)
        elif kind is Kind.PROTOCOL:
            local_group.dissemination.wake(name, now)
        elif kind is Kind.REPAIR and name == ("order",):
            self._intake.deliver_held(local_group, now)
        elif kind is Kind.REPAIR:
            assert local_group.repair is not None
            local_group.repair.wake(name, now)
        elif kind is Kind.LINKS:
            number, *rest = name
            assert isinstance(number, int)
            local_group.ways_up.wake(number, tuple(rest), now)
        elif name == ("carry",):
            self._carrying.wake(local_group, now)
        elif name == (PEERS,):
            self._explicit_peers.wake(local_group)
        elif not local_group.joined and name == (local_group.retries,):
            # The node's own: nobody had answered.
            self._joining.seek(local_group.topic, now)

    # -- groups ----------------------------------------------------------------------------

    def _leave_group(self, local_group: LocalGroup, now: float) -> None:
        if local_group.repair is not None and local_group.joined:
            local_group.repair.leave(now)
        local_group.dissemination.leave(now)
        local_group.leaving = True
        self._publisher.leave(local_group)
        self._carrying.forget(local_group.topic.group)
        self._groups.leave(local_group)
        self._joining.end(local_group.topic, now)
        self.liveness.close(local_group.topic.group, now)
        local_group.membership.leave(now)
        self._tell_neighbours(local_group, now)
        self.recorder.tell(Happening("left", local_group.topic.group))

    def _is_put_out(self, peer: PeerId) -> bool:
        """Say whether a process is known to be revoked."""
        return self.signing is not None and peer in self.signing.put_out

    def _expel(self, now: float) -> None:
        """Let the tables drop revoked processes, as if these had fallen silent."""
        assert self.signing is not None
        dropped = False
        for peer in self.signing.put_out:
            dropped = self.liveness.give_up(peer, now) or dropped
        if dropped:
            self._tell_all_neighbours(now)

    def _tell_all_neighbours(self, now: float) -> None:
        """Tell the changes of all topic tables, after a step of the liveness service."""
        for group in list(self._groups.changed):
            local_group = self._groups.current.get(group)
            if local_group is not None:
                self._joining.note_moved(local_group)
                self._tell_neighbours(local_group, now)
        self._groups.changed.clear()
        self.liveness.given_up.clear()

    def _tell_hearing(self) -> None:
        """Tell whether this process is isolated or deaf, if that has changed."""
        isolated, deaf = self.liveness.isolated, self.liveness.deaf
        kinds: list[HappeningKind] = []
        if isolated is not self._isolated:
            kinds.append("isolated" if isolated else "healed")
        if deaf is not self._deaf:
            kinds.append("deafened" if deaf else "hears")
        self._isolated, self._deaf = isolated, deaf
        for kind in kinds:
            self.recorder.tell(Happening(kind, count=self.liveness.watched()))

    def _tell_neighbours(self, local_group: LocalGroup, now: float) -> None:
        """Tell the recorder and the dissemination the changes of a topic table in this step."""
        changes = local_group.neighbour_changes
        for there, contact in changes:
            kind: HappeningKind = "peer_seen" if there else "peer_gone"
            silent = not there and contact.peer in self.liveness.given_up
            group = local_group.topic.group
            self.recorder.tell(Happening(kind, group, contact=contact, silent=silent))
            local_group.note_peer(contact, now, there=there, silent=silent)
            if there:
                self._attachments.greet(contact)
            local_group.dissemination.neighbour_changed(contact, there, now)
        changes.clear()
        self._groups.passed_on(local_group)
