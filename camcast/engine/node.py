"""The node: one process, its communities, and where each input goes.

Theory of operation
-------------------
A node is a synchronous state machine. A driver (the live runner, the virtual network) calls
`receive`, `wake`, `contacts_found` and the commands `join`, `publish`, `leave`, each with the
time `now`, and then drains `outbox`. The node decides everything and does nothing.

For each community it takes part in, it holds a `Participation`: a membership (who keeps the
topic table is a plug), one `SuperLinks` for each super-topic, a dissemination protocol, and
the window of events seen. One discovery serves the whole process. Protocols other than CAMCAST's
have groups of their own instead of communities, some for several topics; events that may not
interest this process are then counted as parasites and spread, but not delivered. An interest is
one in topics; to protocols that go by attributes, it matters what of these is wanted (`Node.want`).

An event record is looked at in this order (TRUST, check order): length, fixed header, known
community, seen, then the rest. Only an event that is new to its community is decoded.

Joining: the node announces itself to the discovery and seeks members. An empty answer makes
it the founder; if nobody answers at all, it reports whom it asked, and asks again later for
as long as it is wanted.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from attrs import define, field, frozen

from camcast.doors.discovery import Discovery, DiscoveryContext, DiscoveryFactory
from camcast.doors.dissemination import Neighbourhood
from camcast.doors.membership import Backend, Membership
from camcast.doors.protocol import Group, Protocol
from camcast.doors.selective import SelectiveContext
from camcast.engine import links as links_module
from camcast.engine.courier import NodeCourier
from camcast.engine.links import (
    Gone,
    NewProcess,
    Ping,
    Pong,
    ReqContact,
    SearchRelay,
    SuperLinks,
    SuperProcesses,
    read_topic,
)
from camcast.engine.participation import Participation
from camcast.interests.attributes import EventAttributes
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.protocols.camcast import CamcastProtocol
from camcast.vocabulary import wire
from camcast.vocabulary.addresses import AddressError
from camcast.vocabulary.events import Event, EventId, Receipt
from camcast.vocabulary.identity import Contact, PeerId, known_contact
from camcast.vocabulary.messages import Message
from camcast.vocabulary.outbox import Deliver, Finding, Outbox, Outlet, Token
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.trace import Trace, TraceKind
from camcast.vocabulary.wire import FRAME_HEADER, Kind, MalformedError

CONTACTS_WANTED: Final = 5  # chosen: enough to survive 30 % dead contacts at 99.8 %
LEFT_MAX: Final = 64  # chosen: communities left of late, to say goodbye to late messages
CONTROL_SECONDS: Final = 10.0  # chosen: a killed process loses so much of its `control` records
RETRY_SECONDS_MAX: Final = 30.0  # chosen: back-off, for gateways may be down for hours

_MEMBERSHIP: Final = Kind.MEMBERSHIP  # a look-up less for every control record
_event_head: Final = wire.EVENT_HEAD.unpack_from

_NO_GROUP: Final = GroupId(bytes(8))  # of the discovery's own timers


@frozen
class Settings:
    """What a node is made of; the same for every community of the process."""

    backend: Backend
    discovery: DiscoveryFactory
    options: Any = None
    """The backend's options; None for its defaults."""
    gateways: Mapping[Topic, tuple[str, ...]] = field(factory=dict)
    remember: Path | None = None
    """Where the discovery keeps contacts from one run to the next, if it can."""
    port_required: bool = False
    """See `DiscoveryContext`."""
    discovery_rng: Random | None = None
    """The discovery's random stream; None for the protocols'. Live it is the system's: from the
    names of an overlay's calls, strangers could reckon what comes next of any other."""
    parameters: Parameters = field(factory=Parameters)
    """The defaults of a community that is joined without parameters of its own."""
    protocol: Protocol = field(factory=CamcastProtocol)
    topics: tuple[Topic, ...] = ()
    """All topics that exist, for protocols that must know them beforehand."""


@define
class NodeCounters:
    """What arrived, and what became of it."""

    events: int = 0
    """First copies of events to arrive in a community."""
    duplicates: int = 0
    """Later copies."""
    parasites: int = 0
    """Event copies of communities that this process never was part of: must stay 0 (G2)."""
    late: int = 0
    """Event copies of communities that this process has left."""
    controls: int = 0
    stray_controls: int = 0
    malformed: int = 0
    upward_sent: int = 0
    event_copies_sent: int = 0


class Node:
    """One process of CAMCAST; see the module's theory of operation.

    `me` is its identity and the address it announces, `epoch` its start time in
    milliseconds, `rng` the random stream of its protocols.
    """

    def __init__(
        self,
        me: Contact,
        settings: Settings,
        rng: Random,
        epoch: int,
        trace: Trace | None = None,
    ) -> None:
        self.me = me
        self.outbox = Outbox()
        self.counters = NodeCounters()
        self.trace = trace
        if trace is not None:
            self.outbox.control_bytes = {}
        self._control_due = CONTROL_SECONDS
        self._settings = settings
        self._rng = rng
        self._epoch = epoch
        self._sequence = 0
        self._serial = 0
        self._now = 0.0
        self._joining: list[Participation] = []
        self._participations: dict[GroupId, Participation] = {}
        self._homes: dict[GroupId, Participation] = {}
        """By the topic subscribed to, the group in which its events start."""
        self._left: dict[GroupId, Participation] = {}
        self._attributes = EventAttributes()
        self.on_finding: Callable[[Finding], None] | None = None
        """The driver's: takes the answers of a discovery with a transport of its own, which come
        at any time, and gives them to `finding` like every other input."""
        self.discovery: Discovery = settings.discovery(
            DiscoveryContext(
                me=me,
                rng=settings.discovery_rng or rng,
                outlet=Outlet(self.outbox, me, Kind.DISCOVERY, _NO_GROUP),
                known=self._known,
                gateways=settings.gateways,
                remember=settings.remember,
                port_required=settings.port_required,
                answer=self._answer,
            )
        )
        self._relay = SearchRelay(
            self._known, self._neighbours, self._links_outlet, settings.parameters
        )

    # -- what drivers and applications read ------------------------------------------------

    def participation(self, topic: Topic) -> Participation | None:
        """Return this process's part in the community of a topic that it has joined, or None."""
        return self._homes.get(topic.group)

    @property
    def participations(self) -> Iterable[Participation]:
        """Every group that this process takes part in, in the order of joining."""
        return self._participations.values()

    # -- commands --------------------------------------------------------------------------

    def join(
        self,
        topic: Topic,
        now: float,
        parameters: Parameters | None = None,
        super_topics: Sequence[Topic] | None = None,
        where: Interest | None = None,
    ) -> Participation:
        """Take part in the community of `topic`; joined when the participation says so.

        `super_topics` defaults to super(t), none for the root; several are linked
        independently (3.6). `where`: see `want`. Joining again returns the participation that is
        there.
        """
        self._now = now
        home = self._homes.get(topic.group)
        if home is not None:
            return home
        settings = self._settings
        if not settings.protocol.linked:
            super_topics = ()
        elif super_topics is None:
            super_topics = () if topic.super_topic is None else (topic.super_topic,)
        groups = settings.protocol.groups(topic, settings.topics, self.me.peer)
        for group in groups:
            participation = self._participations.get(group.topic.group)
            if participation is None:
                interest = ProcessInterest(topic, where)
                given = parameters or settings.parameters
                self._enter(self._participate(group, interest, tuple(super_topics), given))
            else:
                participation.interest.want(topic, where)
        home = self._homes[topic.group] = self._participations[groups[0].topic.group]
        self._settle()
        return home

    def want(self, topic: Topic, where: Interest | None) -> None:
        """Want only what matches `where` of a topic that was joined; None: all of it.

        Protocols that go by attributes tell others (`Protocol.selective`); no other does
        anything else for it.
        """
        for participation in self._participations.values():
            if topic in participation.interest.topics:
                participation.interest.want(topic, where)

    def _enter(self, participation: Participation) -> None:
        topic = participation.topic
        self._participations[topic.group] = participation
        self._joining.append(participation)
        self._left.pop(topic.group, None)
        self.discovery.announce(topic, self._now)
        self.discovery.seek(topic, CONTACTS_WANTED, self._now)

    def leave(self, topic: Topic, now: float) -> None:
        """Leave a community politely; events of it that still arrive are dropped."""
        self._now = now
        if self._homes.pop(topic.group, None) is None:
            return
        for participation in list(self._participations.values()):
            if participation.interest.topics == [topic]:
                self._quit(participation)
            elif topic in participation.interest.topics:
                participation.interest.drop(topic)
        self._settle()
        self.trace_control(now)

    def _quit(self, participation: Participation) -> None:
        topic = participation.topic
        del self._participations[topic.group]
        participation.leaving = True
        if participation in self._joining:
            self._joining.remove(participation)
        if len(self._left) >= LEFT_MAX:
            del self._left[next(iter(self._left))]
        self._left[topic.group] = participation
        self.discovery.withdraw(topic, self._now)
        participation.membership.leave(self._now)
        self._record("leave", participation.subscribed)

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

        Raises `wire.PayloadTooLargeError`, and `KeyError` without a participation.
        """
        self._now = now
        wire.check_payload(payload)
        participation = self._homes[topic.group]
        if self._sequence == wire.SEQUENCE_MAX:  # a new epoch, as after a restart
            self._epoch, self._sequence = self._epoch + 1, 0
        self._sequence += 1
        event = Event(
            id=EventId(self.me.peer, self._epoch, self._sequence),
            topic=topic,
            payload=payload,
            upward_probability=upward_probability,
            typed=typed,
        )
        self.trace_event("publish", event, topic)
        peers, links = self._take(participation, event)
        self._settle()
        return Receipt(event.id, peers, links)

    # -- inputs ----------------------------------------------------------------------------

    def receive(self, frame: bytes, now: float) -> None:
        """Take one frame; whatever is wrong with it is counted, and nothing is raised."""
        self._now = now
        try:
            if not frame.startswith(FRAME_HEADER):
                raise MalformedError("not a frame of this version")
            self._receive_records(frame)
        except MalformedError:
            self.counters.malformed += 1
        outbox = self.outbox
        if outbox.seeks or outbox.findings or self._joining:
            self._settle()

    def wake(self, token: Token, now: float) -> None:
        """Take a timer that was wished for through the outbox."""
        self._now = now
        if token.kind is Kind.DISCOVERY:
            self.discovery.wake(token.name, now)
        else:
            serial, *name = token.name
            participation = self._participations.get(token.group)
            if participation is not None and participation.serial == serial:
                self._wake_participation(participation, token.kind, name)
        self._settle()
        if self.trace is not None and now >= self._control_due:
            self.trace_control(now)

    def contacts_found(self, finding: Finding, now: float) -> None:
        """Take an answer that the discovery gave outside of a step; see `on_finding`."""
        self._now = now
        self._found(finding)
        self._settle()

    # -- events ----------------------------------------------------------------------------

    def _receive_records(self, frame: bytes) -> None:
        """Take the records of a frame. The hot path: most copies of events are duplicates."""
        start, size = len(FRAME_HEADER), len(frame)
        participations, counters = self._participations, self.counters
        while start < size:
            if size - start < wire.EVENT_HEADER_BYTES or frame[start + 4]:  # Kind.EVENT is 0
                end = wire.control_end(frame, start)
                self._take_control(*wire.decode_control(frame, start, end))
                start = end
                continue
            length, group, publisher, epoch, sequence = _event_head(frame, start)
            end = start + 4 + length
            if end > size or length < wire.EVENT_HEADER_BYTES - 4:
                raise MalformedError("a record's length does not fit its frame")
            participation = participations.get(group)
            if participation is None:
                self._refuse_event(frame, start, end, group)
            elif participation.seen.knows(publisher, epoch, sequence):
                counters.duplicates += 1
                if self.trace is not None:
                    self._trace_duplicate(frame, start, end, participation.subscribed)
            else:
                # Decoded before it counts as seen: a forged copy must not poison the event.
                event, sender = wire.decode_event(frame, start, end), wire.sender(frame, start)
                wanted = participation.receivers(event)
                if wanted:
                    counters.events += 1
                else:
                    counters.parasites += 1
                if self.trace is not None:
                    kind: TraceKind = "receive" if wanted else "parasite"
                    self.trace_event(kind, event, participation.subscribed, sender)
                self._take(participation, event, sender)
            start = end

    def _refuse_event(self, frame: bytes, start: int, end: int, group: GroupId) -> None:
        """Count an event that is not for this process, and tell a stranger who links to it."""
        event, sender = wire.decode_event(frame, start, end), wire.sender(frame, start)
        left = self._left.get(group)
        if left is None:
            self.counters.parasites += 1
        else:
            self.counters.late += 1
        if self.trace is not None:
            kind: TraceKind = "parasite" if left is None else "drop"
            topic = None if left is None else left.topic
            self._record(kind, topic, sender, event, community=group.hex())
        if left is not None and (address := wire.sender_address(frame, start)):
            try:
                stranger = Contact(sender, address)
            except AddressError:
                return
            self._links_outlet(event.topic.group).send([stranger], Gone(left.topic.name))

    def _take(
        self, participation: Participation, event: Event, source: PeerId | None = None
    ) -> tuple[int, int]:
        """Let an event into one of this process's groups, if it is new there."""
        if not participation.seen.first_time(*event.id):
            return 0, 0
        left_for = participation.dissemination.disseminate(event, self._now, source)
        if not participation.transit:
            for topic in participation.receivers(event):
                self.outbox.deliveries.append(Deliver(topic.group, event))
                if self.trace is not None:
                    self.trace_event("deliver", event, topic)
        return left_for

    def membership(self, group: Topic) -> Membership | None:
        """See `camcast.doors.dissemination.Courier`."""
        participation = self._participations.get(group.group)
        if participation is None or not participation.joined:
            return None
        return participation.membership

    def pass_into(self, event: Event, group: Topic) -> None:
        """See `camcast.doors.dissemination.Courier`."""
        participation = self._participations.get(group.group)
        if participation is not None and participation.joined:
            self._take(participation, event)

    def hand_over(self, event: Event, super_topic: Topic, nearest: Topic) -> bool:
        """See `camcast.doors.dissemination.Courier`."""
        if len(self._participations) == 1:
            return False
        for topic in (super_topic, *super_topic.ancestors()):
            if topic.level < nearest.level:
                return False
            participation = self._participations.get(topic.group)
            if participation is not None and participation.joined:
                self._take(participation, event)
                return True
        return False

    # -- control ---------------------------------------------------------------------------

    def _take_control(
        self, kind: Kind, group: GroupId, sender: PeerId, address: str, body: bytes
    ) -> None:
        try:
            source = known_contact(sender, address)
        except AddressError as error:
            raise MalformedError(str(error)) from error
        self.counters.controls += 1
        if sender == self.me.peer:
            return  # a message of our own that came back
        if kind is _MEMBERSHIP:  # the most frequent by far
            participation = self._participations.get(group) or self._left.get(group)
            if participation is None:
                self.counters.stray_controls += 1
                return
            membership = participation.membership
            membership.receive(source, membership.decoder.decode(body), self._now)
        elif kind is Kind.PROTOCOL:
            self._receive_protocol(source, group, body)
        elif kind is Kind.LINKS:
            self._receive_links(source, group, links_module.DECODER.decode(body))
        elif self.discovery.decoder is None:
            self.counters.stray_controls += 1
        else:
            message = self.discovery.decoder.decode(body)
            self.discovery.receive(source, group, message, self._now)

    def _receive_protocol(self, source: Contact, group: GroupId, body: bytes) -> None:
        participation = self._participations.get(group)
        decoder = None if participation is None else participation.dissemination.decoder
        if participation is None or decoder is None:
            self.counters.stray_controls += 1
        else:
            participation.dissemination.receive(source, decoder.decode(body), self._now)

    def _receive_links(self, source: Contact, group: GroupId, message: Message) -> None:
        """Answer for a super-community, or pass an answer to the links of community `group`."""
        outlet = self._links_outlet(group)
        match message:
            case ReqContact():
                self._relay.receive(source, group, message)
            case NewProcess(topic=name, wanted=wanted):
                topic = read_topic(name)
                wanted = max(1, min(wanted, links_module.CONTACTS_MAX))
                if known := self._members(topic.group, wanted):
                    contacts = tuple(c for c in known if c.peer != source.peer)
                    outlet.send([source], SuperProcesses(name, contacts, pushed=False))
                else:
                    outlet.send([source], Gone(name))
            case Ping(topic=name):
                here = read_topic(name).group in self._participations
                outlet.send([source], Pong(name) if here else Gone(name))
            case Gone():
                # It may answer an event of any subtopic, so the group does not say whose it is.
                for anyone in self._participations.values():
                    for link in anyone.links:
                        link.receive(source, message, self._now)
            case _ if (participation := self._participations.get(group)) is not None:
                for link in participation.links:
                    link.receive(source, message, self._now)
            case _:
                self.counters.stray_controls += 1

    # -- inside ----------------------------------------------------------------------------

    def _participate(
        self,
        group: Group,
        interest: ProcessInterest,
        super_topics: tuple[Topic, ...],
        parameters: Parameters,
    ) -> Participation:
        self._serial += 1
        backend, topic, serial = self._settings.backend, group.topic, self._serial
        asked = {"interest": interest} if issubclass(backend.context, SelectiveContext) else {}
        membership = backend.keeper(
            backend.context(
                me=self.me,
                topic=topic,
                rng=self._rng,
                outlet=Outlet(self.outbox, self.me, Kind.MEMBERSHIP, topic.group, serial),
                watch=None if self.trace is None else partial(self._watch, interest),
                **asked,
            ),
            self._settings.options or backend.options(),
        )
        links = [
            SuperLinks(
                me=self.me,
                super_topic=super_topic,
                parameters=parameters,
                outlet=Outlet(self.outbox, self.me, Kind.LINKS, topic.group, serial, number),
                rng=self._rng,
                peers=partial(membership.peers().sample, rng=self._rng),
                size=membership.size,
                neighbours=self._neighbours,
            )
            for number, super_topic in enumerate(super_topics)
        ]
        dissemination = group.dissemination(
            Neighbourhood(
                me=self.me,
                group=topic,
                interest=interest,
                attributes=self._attributes,
                membership=membership,
                links=links,
                parameters=parameters,
                courier=NodeCourier(self, topic, interest),
                outlet=Outlet(self.outbox, self.me, Kind.PROTOCOL, topic.group, serial),
                rng=self._rng,
            )
        )
        return Participation(
            topic=topic,
            interest=interest,
            attributes=self._attributes,
            super_topics=super_topics,
            parameters=parameters,
            membership=membership,
            links=links,
            dissemination=dissemination,
            transit=group.transit,
            parasitic=self._settings.protocol.parasitic,
            selective=self._settings.protocol.selective,
            serial=serial,
        )

    def _wake_participation(
        self, participation: Participation, kind: Kind, name: list[Hashable]
    ) -> None:
        if kind is Kind.MEMBERSHIP:
            participation.membership.wake(tuple(name), self._now)
        elif kind is Kind.PROTOCOL:
            participation.dissemination.wake(tuple(name), self._now)
        elif name == ["retry"]:
            if not participation.joined:
                self.discovery.seek(participation.topic, CONTACTS_WANTED, self._now)
        else:
            number, *rest = name
            assert isinstance(number, int)
            participation.links[number].wake(tuple(rest), self._now)

    def _found(self, finding: Finding) -> None:
        """Give an answer of the discovery to everyone here who may have asked for it."""
        topic = finding.topic
        contacts = tuple(c for c in finding.contacts if c.peer != self.me.peer)
        participation = self._participations.get(topic.group)
        if participation is not None:
            participation.unreachable = finding.unreachable
            if finding.unreachable:
                self._retry(participation)
            elif participation.started:
                participation.membership.contacts_found(contacts, self._now, finding.size)
            else:
                participation.started = True
                participation.membership.join(contacts, self._now)
                if finding.size is not None:
                    participation.membership.contacts_found((), self._now, finding.size)
        if contacts:
            self._record("found", topic)
            for other in self._participations.values():
                for link in other.links:
                    link.contacts_found(topic, contacts, self._now)

    def _answer(self, finding: Finding) -> None:
        if self.on_finding is not None:
            self.on_finding(finding)

    def _retry(self, participation: Participation) -> None:
        if not participation.joined:
            outlet = Outlet(
                self.outbox, self.me, Kind.LINKS, participation.topic.group, participation.serial
            )
            outlet.wake(participation.retry_seconds, "retry")
            participation.retry_seconds = min(2 * participation.retry_seconds, RETRY_SECONDS_MAX)

    def _settle(self) -> None:
        """Carry the wishes that are for the node itself: seeks, findings, who has joined."""
        outbox = self.outbox
        while outbox.seeks or outbox.findings:
            seeks, outbox.seeks = outbox.seeks, []
            for seek in seeks:
                self._record("seek", seek.topic)
                self.discovery.seek(seek.topic, seek.wanted, self._now)
            findings, outbox.findings = outbox.findings, []
            for finding in findings:
                self._found(finding)
        joined = [participation for participation in self._joining if participation.joined]
        if joined:
            self._joining = [p for p in self._joining if not p.joined]
            for participation in joined:
                self._record("join", participation.subscribed)
                for link in participation.links:
                    link.start(self._now)
                participation.dissemination.start(self._now)
            self._settle()

    def _members(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return members of a community that this process is in, itself first."""
        participation = self._participations.get(group)
        if participation is None or not participation.joined:
            return []
        return [self.me, *participation.membership.peers().sample(wanted - 1, self._rng)]

    def _known(self, group: GroupId, wanted: int) -> list[Contact]:
        """Return members of any community, from the topic and super-topic tables here."""
        if members := self._members(group, wanted):
            return members
        known = {
            contact.peer: contact
            for participation in self._participations.values()
            for link in participation.links
            for topic, contacts in [link.nearest()]
            if topic.group == group
            for contact in contacts
        }
        return list(known.values())[:wanted]

    def _neighbours(self, wanted: int) -> list[Contact]:
        """neighborhood(p_i): a sample of every process in any table here (3.3)."""
        known: dict[PeerId, Contact] = {}
        for participation in self._participations.values():
            for contact in participation.membership.peers().sample(wanted, self._rng):
                known[contact.peer] = contact
            for link in participation.links:
                for contact in link.nearest()[1]:
                    known[contact.peer] = contact
        contacts = list(known.values())
        return self._rng.sample(contacts, min(wanted, len(contacts)))

    def _links_outlet(self, group: GroupId) -> Outlet:
        return Outlet(self.outbox, self.me, Kind.LINKS, group)

    # -- trace -----------------------------------------------------------------------------

    def trace_event(
        self, kind: TraceKind, event: Event, community: Topic, peer: bytes = b""
    ) -> None:
        """Trace what happened to an event in one of this process's communities."""
        if self.trace is not None:
            self._record(kind, community, peer, event)

    def trace_control(self, now: float) -> None:
        """Trace the control traffic since the last time; drivers call this at a run's end."""
        sent = self.outbox.control_bytes
        if self.trace is None or sent is None:
            return
        self._control_due = now + CONTROL_SECONDS
        for group, size in sent.items():
            part = self._participations.get(group) or self._left.get(group)
            community = "" if part is None else part.subscribed.name
            self.trace.record(now, "control", community=community, size=size)
        sent.clear()

    def _trace_duplicate(self, frame: bytes, start: int, end: int, community: Topic) -> None:
        # Without a trace nobody looks into a duplicate, so what is in it must not matter here.
        with suppress(MalformedError):
            event = wire.decode_event(frame, start, end)
            self.trace_event("duplicate", event, community, wire.sender(frame, start))

    def _watch(self, interest: ProcessInterest, learned: bool, contact: Contact) -> None:
        self._record("learn" if learned else "forget", interest.topics[0], contact.peer)

    def _record(
        self,
        kind: TraceKind,
        topic: Topic | None,
        peer: bytes = b"",
        event: Event | None = None,
        community: str = "",
    ) -> None:
        if self.trace is None:
            return
        if topic is not None:
            community = topic.name
        if event is None:
            self.trace.record(self._now, kind, community=community, peer=peer)
        else:
            self.trace.record(
                self._now,
                kind,
                community=community,
                peer=peer,
                topic=event.topic.name,
                event=str(event.id),
                hops=event.hops,
                size=len(event.payload),
            )
