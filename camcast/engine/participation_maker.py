"""How a participation is put together: the parts of one group, and what each is given."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from random import Random

from attrs import define, evolve, field

from camcast.doors.dissemination import DisseminationContext, OwnGroups
from camcast.doors.protocol import Group
from camcast.doors.selective import SelectiveContext
from camcast.engine.asked_lately import AskedLately
from camcast.engine.event_outlet import GroupEventOutlet
from camcast.engine.guard.certified_members import CertifiedMembers
from camcast.engine.guard.doorkeeper import Doorkeeper
from camcast.engine.guard.signing import Signing
from camcast.engine.known_streams import KnownStreams
from camcast.engine.links import SuperLinks
from camcast.engine.liveness import LivenessService
from camcast.engine.participation import Participation
from camcast.engine.recorder import Recorder
from camcast.engine.repair.messages import NONCE_BYTES, Nonces
from camcast.engine.repair.repair import Repair
from camcast.engine.repair.told import Lateness
from camcast.engine.settings import Settings
from camcast.engine.strangers import Strangers
from camcast.interests.attributes import EventAttributes
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import Missed
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import ControlOutlet, Outbox, Tell
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind


@define(eq=False)
class ParticipationMaker:
    """Makes the participations of one process, out of what all its groups share."""

    _me: Contact
    _settings: Settings
    _rng: Random
    _outbox: Outbox
    _recorder: Recorder
    _liveness: LivenessService
    _strangers: Strangers
    _signing: Signing | None
    _attributes: EventAttributes
    _groups: OwnGroups
    _lateness: Lateness
    _clock: Clock
    _doorkeeper: Doorkeeper | None
    _asked: AskedLately = field(init=False, factory=AskedLately)
    _serial: int = field(init=False, default=0)
    _nonces: Nonces | None = field(init=False, default=None)
    """Nonces for the questions of repair; None without a store."""

    def __attrs_post_init__(self) -> None:
        if self._settings.store is not None:
            secret = (self._settings.discovery_rng or self._rng).randbytes(NONCE_BYTES)
            self._nonces = Nonces(secret)

    def make(
        self,
        group: Group,
        interest: ProcessInterest,
        super_topics: Sequence[Topic],
        parameters: Parameters,
    ) -> Participation:
        """Make what the process holds for a group."""
        self._serial += 1
        settings, topic, serial = self._settings, group.topic, self._serial
        keeper = self._doorkeeper
        backend = settings.backend
        changes: list[tuple[bool, Contact]] = []
        selective = {"interest": interest} if issubclass(backend.context, SelectiveContext) else {}
        membership = backend.keeper(
            backend.context(
                me=self._me,
                topic=topic,
                rng=self._rng,
                outlet=ControlOutlet(self._outbox, self._me, Kind.MEMBERSHIP, topic.group, serial),
                liveness=self._liveness.part(Kind.MEMBERSHIP, topic.group),
                watch=lambda there, contact: changes.append((there, contact)),
                certified=None if keeper is None else CertifiedMembers(keeper, topic),
                **selective,
            ),
            settings.options or backend.options(),
        )
        links = [
            SuperLinks(
                me=self._me,
                super_topic=super_topic,
                parameters=parameters,
                outlet=ControlOutlet(
                    self._outbox, self._me, Kind.LINKS, topic.group, serial, number
                ),
                liveness=self._liveness.part(Kind.LINKS, topic.group),
                rng=self._rng,
                peers=partial(membership.peers().sample, rng=self._rng),
                size=membership.size,
                neighbours=self._strangers.neighbours,
                known=self._strangers.known,
                asked=self._asked,
            )
            for number, super_topic in enumerate(super_topics)
        ]
        events = GroupEventOutlet(
            self._outbox,
            self._recorder,
            self._me,
            topic,
            interest,
            self._liveness.entries,
            self._signing,
        )
        context = DisseminationContext(
            me=self._me,
            group=topic,
            interest=interest,
            attributes=self._attributes,
            membership=membership,
            super_tables=links,
            parameters=parameters,
            events=events,
            outlet=ControlOutlet(self._outbox, self._me, Kind.PROTOCOL, topic.group, serial),
            groups=self._groups,
            rng=self._rng,
            liveness=self._liveness.part(Kind.PROTOCOL, topic.group),
        )
        store = settings.store if group.batched and parameters.retention_seconds else None
        streams, repair = KnownStreams(repaired=store is not None), None
        if store is not None:
            assert self._nonces is not None, "they are drawn where there is a store"
            outlet = ControlOutlet(self._outbox, self._me, Kind.REPAIR, topic.group, serial)
            repair = Repair(
                context,
                streams,
                store,
                self._nonces,
                events.send_again,
                outlet,
                partial(self._tell_missed, topic.group),
                self._clock,
                self._lateness,
            )
            context = evolve(context, repair=repair)
        dissemination, trace = group.dissemination(context), self._recorder.trace
        return Participation(
            context=context,
            dissemination=dissemination,
            links=links,
            batched=group.batched,
            batch_events_max=parameters.batch_events_max if group.batched else 1,
            transit=group.transit,
            parasitic=settings.protocol.parasitic,
            selective=settings.protocol.selective,
            reports_duplicates=(trace is not None and trace.each) or dissemination.hears_duplicates,
            serial=serial,
            neighbour_changes=changes,
            streams=streams,
            repair=repair,
        )

    def _tell_missed(self, group: GroupId, missed: Missed, now: float) -> None:
        self._recorder.counters.told_missed += missed.last - missed.first + 1
        self._outbox.tells.append(Tell(group, missed))
        self._recorder.record_missed(missed, now)
