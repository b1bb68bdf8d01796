"""How a local group is put together: the parts of one group, and what each is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from attrs import define, evolve, field

from camcast.doors.dissemination import Dissemination, DisseminationContext, OwnGroups
from camcast.doors.membership import Membership, MembershipContext
from camcast.doors.protocol import Group
from camcast.engine.asked_lately import AskedLately
from camcast.engine.event_outlet import GroupEventOutlet
from camcast.engine.guard.signing import Signing
from camcast.engine.known_streams import KnownStreams
from camcast.engine.local_group import LocalGroup
from camcast.engine.process_context import ProcessContext
from camcast.engine.remote_queries import RemoteQueries
from camcast.engine.repair.comparing import Comparing, ValuesContext
from camcast.engine.repair.hold_back import HoldBack
from camcast.engine.repair.messages import Nonces
from camcast.engine.repair.repair import Repair
from camcast.engine.repair.retained import Retained, no_chain
from camcast.engine.repair.told import Lateness, RepairContext
from camcast.engine.settings import Parts, Settings
from camcast.engine.super_topic_table import SuperTopicTable
from camcast.engine.ways_up import WaysUp
from camcast.interests.attributes import EventAttributes
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.events import EventId, Missed
from camcast.vocabulary.happenings import Happening
from camcast.vocabulary.hierarchy import Way
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Deliver, Tell
from camcast.vocabulary.parameters import CommunitySettings, Tuning
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind


@define(eq=False)
class Surroundings:
    """The parts that the groups of one process share beside its `ProcessContext`."""

    settings: Settings
    parts: Parts
    """The live objects of the process, such as the store; without one, nothing is repaired."""
    queries: RemoteQueries
    signing: Signing | None
    attributes: EventAttributes
    own_groups: OwnGroups
    lateness: Lateness
    nonces: Nonces | None
    """Nonces for the questions of repair; None without a store."""
    asked: AskedLately = field(factory=AskedLately)
    """The processes that the super-topic tables have asked recently."""
    serial: int = 0
    """How many local groups were made."""


def make_local_group(
    process: ProcessContext,
    around: Surroundings,
    group: Group,
    interest: ProcessInterest,
    super_topics: Sequence[Topic],
    parameters: CommunitySettings,
) -> LocalGroup:
    """Make what the process holds for a group."""
    around.serial += 1
    settings, topic, serial = around.settings, group.topic, around.serial
    rng, liveness = process.rng, process.liveness
    backend = settings.backend
    changes: list[tuple[bool, Contact]] = []

    def watch(there: bool, contact: Contact) -> None:
        changes.append((there, contact))
        process.groups.changed[topic.group] = None

    keeping = process.containment(f"membership {backend.name!r}", topic)
    membership = keeping.make(
        "keeper",
        backend.keeper,
        MembershipContext(
            topic=topic,
            rng=rng,
            outlet=process.outlet(Kind.MEMBERSHIP, topic.group, serial),
            liveness=liveness.part(Kind.MEMBERSHIP, topic.group, keeping),
            watch=watch,
            certified=process.guard.certified(topic),
        ),
        settings.options or backend.options(),
    )
    membership = keeping.contain(Membership, membership)
    spreading = process.containment(f"protocol {settings.protocol.name!r}", topic)
    tuning = Tuning(parameters)
    make_table = partial(_make_table, process, around, tuning, membership, topic, serial)
    ways_up = WaysUp(process.hierarchy, super_topics, make_table)
    events = GroupEventOutlet(process, topic, interest, around.signing)
    context = DisseminationContext(
        group=topic,
        interest=interest,
        attributes=around.attributes,
        membership=membership,
        super_tables=ways_up.active,
        tuning=tuning,
        events=events,
        outlet=process.outlet(Kind.PROTOCOL, topic.group, serial),
        groups=around.own_groups,
        rng=rng,
        liveness=liveness.part(Kind.PROTOCOL, topic.group, spreading),
    )
    store = around.parts.store if group.batched and parameters.retention_seconds else None
    signed = around.signing is not None
    streams, repair, hold_back = KnownStreams(repaired=store is not None, signed=signed), None, None
    keep: Callable[[Batch], None] | None = None
    if store is not None:
        assert around.nonces is not None, "they are drawn where there is a store"
        chain = no_chain if around.signing is None else around.signing.chain
        archive = around.parts.archive
        retained = Retained(store, archive, topic, process.clock, chain)
        if archive is not None:
            streams = KnownStreams(repaired=True, recall=retained.recall, signed=signed)
            keep = retained.keep
        repairing = RepairContext(
            context,
            streams,
            store,
            retained,
            process.outlet(Kind.REPAIR, topic.group, serial),
            process.clock,
            around.lateness,
            process.guard.admission is not None,
            process.guard.penalise,
        )
        if settings.order == "fifo" and not group.transit:
            room = partial(around.parts.room, interest.topics)
            hold_back = HoldBack(repairing, room, settings.hold_seconds)
        tell_missed = partial(_tell_missed, process, topic.group)
        keeps = not (group.transit or settings.protocol.parasitic)
        values = _values_context(process, around.signing, topic, interest) if keeps else None
        repair = Repair(
            repairing, around.nonces, events.send_again, tell_missed, spreading, hold_back, values
        )
        context = evolve(context, repair=repair)
    dissemination = spreading.contain(
        Dissemination, spreading.make("dissemination", group.dissemination, context)
    )
    traced = process.recorder.trace is not None
    return LocalGroup(
        context=context,
        dissemination=dissemination,
        ways_up=ways_up,
        batched=group.batched,
        batch_events_max=parameters.batch_events_max if group.batched else 1,
        transit=group.transit,
        parasitic=settings.protocol.parasitic,
        selective=settings.protocol.selective,
        reports_duplicates=traced or dissemination.hears_duplicates,
        serial=serial,
        neighbour_changes=changes,
        streams=streams,
        repair=repair,
        hold_back=hold_back,
        archive=keep,
    )


def _make_table(
    process: ProcessContext,
    around: Surroundings,
    tuning: Tuning,
    membership: Membership,
    topic: Topic,
    serial: int,
    way: Way,
    number: int,
    changed: Callable[[float], None],
) -> SuperTopicTable:
    """Make the table of one way up; it is to be started."""
    return SuperTopicTable(
        way,
        tuning,
        process.outlet(Kind.LINKS, topic.group, serial, number),
        process.liveness.part(Kind.LINKS, topic.group),
        process.rng,
        membership,
        around.queries,
        around.asked,
        number,
        changed,
    )


def _values_context(
    process: ProcessContext, signing: Signing | None, group: Topic, interest: ProcessInterest
) -> ValuesContext:
    """Make what last values of one community need of the process."""

    def deliver(batch: Batch) -> None:
        process.outbox.deliveries += [
            Deliver(topic.group, batch, last_value=True) for topic in interest.topics
        ]

    def believes(batch: Batch, source: PeerId, now: float) -> bool:
        return signing is None or signing.believes_value(batch, group, source, now)

    def accompany(batch: Batch, contact: Contact, now: float) -> None:
        if signing is not None:
            signing.accompany(batch, [contact], now, asked_for=True)

    def beside(topic: Topic) -> Comparing | None:
        other = process.groups.joined(topic.group)
        return None if other is None or other.repair is None else other.repair.comparing

    return ValuesContext(
        includes=partial(process.hierarchy.includes, group),
        believes=believes,
        accompany=accompany,
        deliver=deliver,
        beside=beside,
    )


def _tell_missed(process: ProcessContext, group: GroupId, missed: Missed) -> None:
    first, count = EventId(missed.stream, missed.first), missed.last - missed.first + 1
    process.outbox.tells.append(Tell(group, missed))
    process.recorder.tell(Happening("missed", group, count=count, event=str(first)))
