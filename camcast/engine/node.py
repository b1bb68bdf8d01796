"""The node: one process, its groups, and which part of it takes each input.

Theory of operation
-------------------
A node is a synchronous state machine. A driver (the live runner, the virtual network) calls
`receive`, `wake`, `contacts_found` and the commands `join`, `publish`, `flush`, `leave`, each with
the time `now`, and then drains `outbox`. The node decides everything and does nothing.

A node has these parts: the *intake* (`camcast.engine.intake`) takes frames apart and accepts new
events, the *publisher* (`camcast.engine.publisher`) gathers this process's own events into batches,
*strangers* (`camcast.engine.strangers`) answers the links and discoveries of other processes, the
*liveness service* (`camcast.engine.liveness`) finds out which peers live, the *recorder*
(`camcast.engine.recorder`) counts and traces. With identities, *signing*
(`camcast.engine.guard.signing`) and the *doorkeeper* (`camcast.engine.guard.doorkeeper`) judge what
arrives. This module has the commands, joining, and the way of every other input to its part.

For each community that the process takes part in, the node holds a `Participation`: a membership
(who keeps the topic table is a plug), one `SuperLinks` for each super-topic, a dissemination, and
what is known of streams. One discovery serves the whole process. Protocols other than CAMCAST have
groups of their own instead of communities, some for several topics; an event that does not interest
this process is then counted as a parasite and spread, but not delivered.

Joining: the node announces itself to the discovery and seeks members. An empty answer makes it the
founder; without any answer, the node reports whom it asked, and asks again later for as long as the
community is wanted.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from random import Random
from typing import Final

from camcast.doors.datagrams import DatagramPort, Endpoint
from camcast.doors.discovery import Discovery, DiscoveryContext
from camcast.doors.signatures import NotAllowedError
from camcast.engine import link_messages, liveness_messages
from camcast.engine.counted_datagrams import CountedDatagrams
from camcast.engine.group_tallies import GroupTallies
from camcast.engine.groups import Groups
from camcast.engine.guard import signing as signing_module
from camcast.engine.guard.doorkeeper import Doorkeeper, Introductions, WhoAre
from camcast.engine.guard.signing import Signing
from camcast.engine.intake import Intake
from camcast.engine.liveness import LivenessService
from camcast.engine.participation import RETRY_SECONDS, Participation
from camcast.engine.participation_maker import ParticipationMaker
from camcast.engine.publisher import Publisher
from camcast.engine.recorder import NodeCounters, Recorder
from camcast.engine.repair import messages as repair_messages
from camcast.engine.repair.told import Lateness
from camcast.engine.settings import Settings
from camcast.engine.strangers import Strangers
from camcast.interests.attributes import EventAttributes
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import Receipt
from camcast.vocabulary.identity import Contact, PeerId, known_contact
from camcast.vocabulary.messages import Decoder, MessageT
from camcast.vocabulary.notices import NO_GROUP, Notice, NoticeKind
from camcast.vocabulary.outbox import ControlOutlet, Finding, Outbox, Token, Wake
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.trace import Trace
from camcast.vocabulary.wire import Kind, MalformedError

SECURITY_DECODER: Final[Decoder[signing_module.SecurityMessage | Introductions | WhoAre]] = Decoder(
    signing_module.SecurityMessage | Introductions | WhoAre
)

CONTACTS_WANTED: Final = 5  # chosen: enough to survive 30 % dead contacts at 99.8 %
# chosen: as often as a process announces itself to a gateway, be that silent or not. With 30, a
# newcomer that lost three searches in a row (30 % loss: one in 500) was kept out for a minute.
RETRY_SECONDS_MAX: Final = 10.0


class Node:
    """One process of CAMCAST; see the module's theory of operation.

    `me` is its identity and the address that it announces, `rng` the random stream of its
    protocols. `clock`, which the driver may share, says what the wall clock is at a time of inputs.
    `attributes` reads the attributes of events, for a driver that does so too.
    """

    def __init__(
        self,
        me: Contact,
        settings: Settings,
        rng: Random,
        clock: Clock,
        trace: Trace | None = None,
        attributes: EventAttributes | None = None,
    ) -> None:
        self.me = me
        self.outbox = outbox = Outbox()
        self._settings = settings
        self._rng = rng
        self.clock = clock
        self._groups = groups = Groups()
        self._joining: list[Participation] = []
        self._homes: dict[GroupId, Participation] = {}
        """The group in which the events of each subscribed topic start."""
        self.recorder = recorder = Recorder(trace, outbox, groups)
        lateness = Lateness()
        tallies = GroupTallies(groups, lateness, clock, self._is_member)
        self.liveness = LivenessService(
            ControlOutlet(outbox, me, Kind.LIVENESS, NO_GROUP),
            rng,
            self._take_piece,
            tallies if settings.store is not None else None,
            nonces=settings.discovery_rng,
            addresses_signed=settings.admission is not None,
        )
        self._strangers = Strangers(
            me, outbox, groups, recorder.counters, rng, settings.parameters, self.liveness.questions
        )
        self.signing: Signing | None = None
        """Signs and verifies events; None where they are not signed."""
        if settings.signatures is not None:
            outlet = ControlOutlet(outbox, me, Kind.SECURITY, NO_GROUP)
            self.signing = Signing(
                settings.signatures,
                outlet,
                recorder,
                self._strangers.neighbours,
                self.liveness.contact,
                rng,
                clock,
            )
        self.doorkeeper: Doorkeeper | None = None
        """Judges what other processes send; None where everybody may send anything."""
        self._link: PeerId | None = None
        """The process at the other end of the link that brought the present frame."""
        if settings.admission is not None:
            self.doorkeeper = Doorkeeper(
                settings.admission,
                ControlOutlet(outbox, me, Kind.SECURITY, NO_GROUP),
                recorder.counters,
                clock,
            )
            outbox.vouch = self.doorkeeper.vouch
        self._intake = Intake(
            me.peer,
            outbox,
            groups,
            recorder,
            self._strangers,
            self._take_control,
            self.liveness,
            self.signing,
            self.doorkeeper,
        )
        self._maker = ParticipationMaker(
            me,
            settings,
            rng,
            outbox,
            recorder,
            self.liveness,
            self._strangers,
            self.signing,
            attributes or EventAttributes(),
            self._intake,
            lateness,
            clock,
            self.doorkeeper,
        )
        self._publisher = Publisher(
            me.peer,
            self._intake,
            recorder,
            clock,
            self.signing,
            settings.reserve_numbers,
        )
        self.discovery: Discovery = settings.discovery(
            DiscoveryContext(
                me=me,
                rng=settings.discovery_rng or rng,
                outlet=ControlOutlet(outbox, me, Kind.DISCOVERY, NO_GROUP),
                known=self._strangers.known,
                gateways=settings.gateways,
                remember=settings.remember,
                port_required=settings.port_required,
                identities=self.doorkeeper,
            )
        )

    # -- what drivers and applications read ------------------------------------------------

    @property
    def counters(self) -> NodeCounters:
        """What arrived and what was sent so far."""
        return self.recorder.counters

    def participation(self, topic: Topic) -> Participation | None:
        """Return this process's part in the community of a topic that it has joined, or None."""
        return self._homes.get(topic.group)

    def find(self, group: GroupId) -> Participation | None:
        """Return this process's part in a group, also in one that it left lately, or None."""
        return self._groups.find(group)

    @property
    def participations(self) -> Iterable[Participation]:
        """Every group that this process takes part in, in the order of joining."""
        return self._groups.current.values()

    # -- commands --------------------------------------------------------------------------

    def join(
        self,
        topic: Topic,
        now: float,
        parameters: Parameters | None = None,
        super_topics: Sequence[Topic] | None = None,
        where: Interest | None = None,
    ) -> Participation:
        """Begin to take part in the community of `topic`; the participation tells when it joined.

        `super_topics` defaults to super(t), and to none for the root; each is linked independently
        (3.6). See `want` for `where`. Joining again returns the same participation. Raises
        `NotAllowedError`.
        """
        home = self._homes.get(topic.group)
        if home is not None:
            return home
        settings, groups = self._settings, self._groups
        if not settings.protocol.linked:
            super_topics = ()
        elif super_topics is None:
            super_topics = () if topic.super_topic is None else (topic.super_topic,)
        wanted = settings.protocol.groups(topic, settings.topics, self.me.peer)
        self._check_may_join([group.topic for group in wanted], now)
        for group in wanted:
            participation = groups.current.get(group.topic.group)
            if participation is not None:
                participation.context.interest.want(topic, where)
                continue
            interest = ProcessInterest(topic, where)
            participation = self._maker.make(
                group, interest, super_topics, parameters or settings.parameters
            )
            groups.enter(participation)
            self._joining.append(participation)
            self.discovery.announce(group.topic, now)
            self.discovery.seek(group.topic, CONTACTS_WANTED, now)
        home = self._homes[topic.group] = groups.current[wanted[0].topic.group]
        self._settle(now)
        return home

    def _check_may_join(self, topics: Sequence[Topic], now: float) -> None:
        """Raise `NotAllowedError` if the members of a topic would not take this process in."""
        if self.doorkeeper is None:
            return
        self.doorkeeper.begin(now)
        for topic in topics:
            if not self.doorkeeper.may_join(self.me.peer, topic):
                raise NotAllowedError(
                    f"this process has no certificate to join {topic} now; certify its key for it,"
                    " or renew the certificate"
                )

    def want(self, topic: Topic, where: Interest | None) -> None:
        """Want only those events of a joined topic that match `where`; with None, all of them.

        Protocols that select by attributes tell other processes (`Protocol.selective`); with any
        other protocol nothing changes.
        """
        for participation in self.participations:
            interest = participation.context.interest
            if topic in interest.topics:
                interest.want(topic, where)

    def leave(self, topic: Topic, now: float) -> None:
        """Leave a community politely; events of it that still arrive are dropped."""
        self.flush(now)
        if self._homes.pop(topic.group, None) is None:
            return
        for participation in list(self.participations):
            interest = participation.context.interest
            if interest.topics == [topic]:
                self._leave_group(participation, now)
            elif topic in interest.topics:
                interest.drop(topic)
        self._settle(now)
        self.recorder.record_control(now)

    def publish(
        self,
        topic: Topic,
        payload: bytes,
        now: float,
        *,
        upward_probability: float | None = None,
        typed: bool = False,
    ) -> Receipt:
        """Publish an event in a community that this process takes part in.

        The event leaves at the next `flush` at the latest, in a batch with others of its stream.

        Raises `wire.PayloadTooLargeError`, `NotAllowedError`, and `KeyError` without a
        participation.
        """
        receipt = self._publisher.publish(
            self._homes[topic.group], topic, payload, now, upward_probability, typed=typed
        )
        self._settle(now)
        return receipt

    def flush(self, now: float) -> None:
        """Send the open batches: the driver says that an instant is over."""
        self._publisher.flush(now)

    # -- inputs ----------------------------------------------------------------------------

    def receive(self, frame: bytes, now: float, link: PeerId | None = None) -> int:
        """Take one frame; every fault in it is counted, and nothing is raised.

        `link` is the process that has proved its key at the other end of the link, if any has.
        Returns the number of records that no process which verifies what it passes on can have
        sent.
        """
        if self.doorkeeper is not None:
            self.doorkeeper.begin(now)
            self._link = link
        signing = self.signing
        forgeries = 0 if signing is None else signing.forgeries
        self._intake.receive(frame, now, self._link)
        outbox = self.outbox
        if outbox.seeks or outbox.findings or self._joining:
            self._settle(now)
        return 0 if signing is None else signing.forgeries - forgeries

    def wake(self, token: Token, now: float) -> None:
        """Take a timer that the outbox asked for."""
        if self.doorkeeper is not None:
            self.doorkeeper.begin(now)
        if token.kind is Kind.LIVENESS:
            was_isolated, paused = self.liveness.isolated, self.liveness.paused_seconds
            if self.liveness.wake(token.name, now):
                self._tell_all_neighbours(now)
            if self.liveness.paused_seconds > paused:
                self._note(Notice("paused", seconds=self.liveness.paused_seconds - paused))
            if self.liveness.isolated is not was_isolated:
                count = self.liveness.watched()
                self._note(Notice("healed" if was_isolated else "isolated", count=count))
        elif token.kind is Kind.DISCOVERY:
            self.discovery.wake(token.name, now)
        elif token.kind is Kind.SECURITY:
            assert self.signing is not None
            self.signing.wake(now)
            self._expel(now)
        else:
            serial, *name = token.name
            participation = self._groups.current.get(token.group)
            if participation is not None and participation.serial == serial:
                self._wake(participation, token.kind, tuple(name), now)
        self._settle(now)
        self.recorder.record_control(now, due=True)

    def open(self, datagrams: DatagramPort, now: float) -> None:
        """Let the discovery listen, before any other input. Raises `OSError`."""
        if (sent := self.outbox.control_bytes) is not None:
            datagrams = CountedDatagrams(datagrams, sent)
        if self.doorkeeper is not None:
            self.doorkeeper.begin(now)
        self.discovery.open(datagrams, now)
        self._settle(now)

    def receive_datagram(
        self, port: int, source: Endpoint, data: bytes, now: float, sender: bytes = b""
    ) -> None:
        """Take a datagram that has arrived at one of the discovery's endpoints.

        `sender` is the key of the sending process, where processes have keys.
        """
        if self.doorkeeper is not None:
            self.doorkeeper.begin(now)
        self.discovery.receive_datagram(port, source, data, now, sender)
        if self.outbox.findings:
            self._settle(now)

    def seek(self, topic: Topic, now: float) -> None:
        """Look for members of a community without joining it, to see who answers."""
        self.discovery.seek(topic, CONTACTS_WANTED, now)
        self._settle(now)

    def contacts_found(self, finding: Finding, now: float) -> None:
        """Take contacts as if the discovery had found them, for drivers that fill the tables."""
        self._found(finding, now)
        self._settle(now)

    def compare_clocks(self, now: float, wall: float) -> bool:
        """Take readings of both clocks at one moment; return whether the wall clock was set.

        The driver calls this once a period. Only a wall clock that was set by more than
        `camcast.vocabulary.clock.STEP_SECONDS` since the last time counts as set.
        """
        seconds = self.clock.step(now, wall)
        if not seconds:
            return False
        self._note(Notice("clock_set", seconds=seconds))
        if self.doorkeeper is not None:
            self.doorkeeper.begin(now)
            self.doorkeeper.clock_set()
        for participation in self.participations:
            if participation.repair is not None:
                participation.repair.clock_set(now)
        for participation in self._joining:  # which nobody may have answered for the wrong time
            participation.retry_seconds = RETRY_SECONDS
            self.discovery.seek(participation.topic, CONTACTS_WANTED, now)
        self._settle(now)
        return True

    # -- where inputs go -------------------------------------------------------------------

    def _take_control(
        self,
        kind: Kind,
        group: GroupId,
        sender: PeerId,
        address: str,
        mandate: bytes,
        body: bytes,
        now: float,
    ) -> None:
        """Give a control record to the part that it is for."""
        counters = self.recorder.counters
        try:
            source = known_contact(sender, address)
        except AddressError as error:
            raise MalformedError(str(error)) from error
        counters.controls += 1
        if sender == self.me.peer:
            return  # a message of our own that came back
        # Messages about certificates pass: the process may have a new one.
        if self.signing is not None and kind is not Kind.SECURITY and self._is_put_out(sender):
            counters.stray_controls += 1
            return
        if self.doorkeeper is not None:
            if not self._lets_in(self.doorkeeper, source, kind, body):
                return
            self.doorkeeper.open(kind, group, mandate)
        if self.liveness.is_elsewhere(source, now):
            counters.stray_controls += 1
            return
        # A message that was passed on is no sign of life of its sender.
        if self._link in (None, sender) and self.liveness.heard(sender, now):
            self._tell_all_neighbours(now)
        if kind is Kind.LIVENESS:  # the most frequent by far
            heard = self._read(liveness_messages.DECODER, source, body)
            if heard is not None and self.liveness.receive(source, heard, now):
                self._tell_all_neighbours(now)
        elif kind is Kind.MEMBERSHIP:
            participation = self._groups.find(group)
            if participation is None:
                counters.stray_controls += 1
            else:
                self._give_membership(participation, source, body, now)
        elif kind is Kind.PROTOCOL:
            participation = self._groups.current.get(group)
            if participation is None or not self._give_protocol(participation, source, body, now):
                counters.stray_controls += 1
        elif kind is Kind.REPAIR:
            participation = self._groups.joined(group)
            if participation is None or participation.repair is None:
                counters.stray_controls += 1
            else:
                asked = self._read(repair_messages.DECODER, source, body, participation.topic)
                if asked is not None:
                    participation.repair.receive(source, asked, now)
        elif kind is Kind.SECURITY:
            if self.signing is None:
                counters.stray_controls += 1
            else:
                news = self._read(SECURITY_DECODER, source, body)
                if isinstance(news, Introductions):
                    counters.stray_controls += self.doorkeeper is None
                elif isinstance(news, WhoAre):
                    if self.doorkeeper is not None:
                        self.doorkeeper.answer_who(source, news)
                elif news is not None:
                    self._intake.take_held(self.signing.receive(source, news, now), now)
                    self._expel(now)
        elif kind is Kind.LINKS:
            asking = self._groups.current.get(group)
            topic = None if asking is None else asking.topic
            about = self._read(link_messages.DECODER, source, body, topic)
            if about is not None:
                self._strangers.receive(source, group, about, now)
        elif self.discovery.decoder is None:
            counters.stray_controls += 1
        else:
            message = self._read(self.discovery.decoder, source, body)
            if message is not None:
                self.discovery.receive(source, group, message, now)

    def _lets_in(self, doorkeeper: Doorkeeper, source: Contact, kind: Kind, body: bytes) -> bool:
        """Say whether a control record may be looked at; introductions are taken already here."""
        if kind is Kind.SECURITY and self._link == source.peer:
            message = SECURITY_DECODER.decode(body)
            if isinstance(message, Introductions):
                doorkeeper.take(self._link, message)
                return True
        if not doorkeeper.admits(self._link):
            doorkeeper.refuse("from_a_stranger")
        elif not doorkeeper.knows(source):
            doorkeeper.refuse("of_a_stranger")
        else:
            return True
        return False

    def _read(
        self, decoder: Decoder[MessageT], source: Contact, body: bytes, topic: Topic | None = None
    ) -> MessageT | None:
        """Decode a message; return what the doorkeeper leaves of it, None if it leaves nothing."""
        message = decoder.decode(body)
        if self.doorkeeper is None:
            return message
        return self.doorkeeper.judge(message, source, self._link, topic)

    def _is_member(self, source: Contact, participation: Participation) -> bool:
        """Say whether a process may be a member of a group at all."""
        keeper = self.doorkeeper
        return keeper is None or keeper.may_join(source.peer, participation.topic)

    def _take_piece(
        self, source: Contact, kind: int, group: GroupId, body: bytes, now: float
    ) -> bool:
        """Give a piece of a heartbeat to its part; False if this process is not in the group."""
        participation = self._groups.current.get(group)
        if participation is None or not self._is_member(source, participation):
            return False
        if body and kind == Kind.MEMBERSHIP:
            self._give_membership(participation, source, body, now)
        elif body and kind == Kind.PROTOCOL:
            self._give_protocol(participation, source, body, now)
        return True

    def _give_membership(
        self, participation: Participation, source: Contact, body: bytes, now: float
    ) -> None:
        membership = participation.context.membership
        message = self._read(membership.decoder, source, body, participation.topic)
        if message is not None:
            membership.receive(source, message, now)
        if participation.neighbour_changes:
            self._tell_neighbours(participation, now)

    def _give_protocol(
        self, participation: Participation, source: Contact, body: bytes, now: float
    ) -> bool:
        """Give a message to a dissemination; False if it takes none."""
        decoder = participation.dissemination.decoder
        if decoder is not None:
            message = self._read(decoder, source, body, participation.topic)
            if message is not None:
                participation.dissemination.receive(source, message, now)
        return decoder is not None

    def _wake(
        self,
        participation: Participation,
        kind: Kind | None,
        name: tuple[Hashable, ...],
        now: float,
    ) -> None:
        """Give a timer to the part of a participation that set it."""
        if kind is Kind.MEMBERSHIP:
            participation.membership.wake(name, now)
            self._tell_neighbours(participation, now)
        elif kind is Kind.PROTOCOL:
            participation.dissemination.wake(name, now)
        elif kind is Kind.REPAIR:
            assert participation.repair is not None
            participation.repair.wake(name, now)
        elif kind is Kind.LINKS:
            number, *rest = name
            assert isinstance(number, int)
            participation.links[number].wake(tuple(rest), now)
        elif not participation.joined and name == (participation.retries,):
            # The node's own: nobody had answered.
            self.discovery.seek(participation.topic, CONTACTS_WANTED, now)

    def _found(self, finding: Finding, now: float) -> None:
        """Give an answer of the discovery to each part that may have asked for it."""
        topic = finding.topic
        me = self.me  # the discovery may still name a process that listened here before
        contacts = tuple(
            c
            for c in finding.contacts
            if c.peer != me.peer and c.address != me.address and not self._is_put_out(c.peer)
        )
        if self.doorkeeper is not None:
            contacts = self.doorkeeper.only_members(contacts, topic)
        participation = self._groups.current.get(topic.group)
        if participation is not None:
            participation.unanswered = finding if finding.unknown else None
            if finding.unknown and not participation.joined:
                asked = (*finding.unreachable, *finding.ignorant)
                self._note(Notice("unanswered", topic.group, addresses=asked))
            membership = participation.membership
            if finding.unknown:
                self._retry(participation)
            elif participation.started or membership.joined:  # or others found this process first
                membership.contacts_found(contacts, now, finding.size)
            else:
                participation.started = True
                membership.join(contacts, now)
                if finding.size is not None:
                    membership.contacts_found((), now, finding.size)
            self._tell_neighbours(participation, now)
        self._note(Notice("found", NO_GROUP, topic, count=len(contacts)))
        if contacts:
            self.recorder.record("found", now, topic)
            for table in self._groups.tables():
                table.contacts_found(topic, contacts, now)

    def _settle(self, now: float) -> None:
        """Handle seeks and findings in the outbox, and start participations that have joined."""
        outbox = self.outbox
        while outbox.seeks or outbox.findings:
            seeks, outbox.seeks = outbox.seeks, []
            for seek in seeks:
                self.recorder.record("seek", now, seek.topic)
                self._note(Notice("seek", NO_GROUP, seek.topic, count=seek.wanted))
                self.discovery.seek(seek.topic, seek.wanted, now)
            findings, outbox.findings = outbox.findings, []
            for finding in findings:
                self._found(finding, now)
        joined = [participation for participation in self._joining if participation.joined]
        if joined:
            self._joining = [p for p in self._joining if not p.joined]
            for participation in joined:
                self.recorder.record("join", now, participation.subscribed)
                self._note(Notice("joined", participation.topic.group))
                for link in participation.links:
                    link.start(now)
                participation.dissemination.start(now)
                if participation.repair is not None:
                    participation.repair.start(now)
            self._settle(now)

    # -- groups ----------------------------------------------------------------------------

    def _leave_group(self, participation: Participation, now: float) -> None:
        if participation.repair is not None and participation.joined:
            participation.repair.leave(now)
        participation.dissemination.leave(now)
        participation.leaving = True
        self._groups.leave(participation)
        if participation in self._joining:
            self._joining.remove(participation)
        self.discovery.withdraw(participation.topic, now)
        self.liveness.close(participation.topic.group, now)
        participation.membership.leave(now)
        self._tell_neighbours(participation, now)
        self.recorder.record("leave", now, participation.subscribed)
        self._note(Notice("left", participation.topic.group))

    def _note(self, notice: Notice) -> None:
        """Leave a notice, if the driver wants any."""
        if self.outbox.notices is not None:
            self.outbox.notices.append(notice)

    def _retry(self, participation: Participation) -> None:
        """Ask the discovery again after a while, by a timer of the node's own."""
        if not participation.joined:
            participation.retries += 1
            name = participation.serial, participation.retries
            token = Token(None, participation.topic.group, name)
            self.outbox.wakes.append(Wake(participation.retry_seconds, token))
            participation.retry_seconds = min(2 * participation.retry_seconds, RETRY_SECONDS_MAX)

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
        for participation in self._groups.current.values():
            if participation.neighbour_changes:
                self._tell_neighbours(participation, now)
        self.liveness.given_up.clear()

    def _tell_neighbours(self, participation: Participation, now: float) -> None:
        """Tell the trace and the dissemination the changes of a topic table in this step."""
        changes = participation.neighbour_changes
        for there, contact in changes:
            topic = participation.subscribed
            self.recorder.record("learn" if there else "forget", now, topic, contact.peer)
            silent = not there and contact.peer in self.liveness.given_up
            kind: NoticeKind = "peer_seen" if there else "peer_gone"
            self._note(Notice(kind, participation.topic.group, contact=contact, silent=silent))
            participation.dissemination.neighbour_changed(contact, there, now)
        changes.clear()
