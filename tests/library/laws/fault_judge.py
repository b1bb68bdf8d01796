"""Judges a case of `tests.library.laws.faults`: who was to get what, and what became of it.

``python -m tests.library.laws.fault_judge scamp 17 [18 ...]`` runs and judges seeds of a backend,
``python -m tests.library.laws.fault_judge several scamp 17 [18 ...]`` seeds of `make_system`,
and so do ``harsh`` (`make_harsh`), ``keyed`` (`make_keyed`), ``forgetful`` (`make_forgetful`) and
``orders`` (`make_order`). ``tree`` or ``infect`` before all
that lets events spread so (`CommunitySettings.spread`); by default few streams are busy.

A process is to get an event in each of its communities that includes the event's topic, by the
relation that the scenario declares, and its own events as well (docs/api.md, `subscribe`). An event
whose upward probability is 0 is for its own community alone. Processes have the order ``fifo``:
what one publishes on a topic comes in the order of its publication, but for what is flagged late.

What was neither delivered nor told as `Missed` is *lost*, unless nobody could have delivered it.
Two excuses are taken, each on evidence that repair itself has no hand in:

*gone*: no member of the community or of one below it had the event and lived for ten seconds with
it (`Case.spread_by`), so that it died before it was handed on. Events go upward only. So one that
died in its own community, and that somebody above has, is gone there. So is one that was let go
before the fault was over, if no two members of the community had it, who can say so.

*cut off*: the two were never connected by a chain of living processes, from the start of the run to
its end. One that ever knew the address of another, in whatever table and however long ago, counts
as connected to it. So this does not depend on what the product keeps, and the gateway, as long as
it lives, and a Kademlia, excuse nobody.
"""

from __future__ import annotations

import logging
import sys
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from math import inf
from typing import Any, Final, cast, get_args

from attrs import define, evolve, field

from camcast.observe.trace_reading import Member, Published, Reading
from camcast.research.simulation.run_context import collector_off
from camcast.research.simulation.run_record import key_of
from camcast.virtual.network import Process
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import SpreadKind
from camcast.vocabulary.topics import GroupId, Topic
from tests.library.laws.faults import (
    Case,
    make_case,
    make_forgetful,
    make_harsh,
    make_keyed,
    make_order,
    make_system,
)
from tests.library.laws.faulty_run import FaultyRun
from tests.library.laws.promised_times import PromisedTimes


@define
class Verdict:
    """What became of all that somebody was to get; lists hold words for a reader."""

    case: Case
    due: int = 0
    """Deliveries that were due."""
    told: int = 0
    """Not made, and told as `Missed`, and rightly so."""
    lost: list[str] = field(factory=list)
    """Not made, not told, and not excused."""
    told_wrongly: list[str] = field(factory=list)
    """`Missed` of what somebody connected had, or of what is not of the member or its time."""
    late: list[str] = field(factory=list)
    """Made after `Case.deadline`."""
    latest: float = 0.0
    """By how many seconds the latest delivery was late."""
    gone: list[str] = field(factory=list)
    cut_off: list[str] = field(factory=list)
    never_joined: list[str] = field(factory=list)
    """Processes that live at the end and never became members, though they could."""
    shut_out: list[str] = field(factory=list)
    """The others that never became members."""
    twice: list[str] = field(factory=list)
    """Made more than once in a community by one process in one life."""
    foreign: list[str] = field(factory=list)
    """Made in a community that does not include the topic, or of what nobody published."""
    undue: list[str] = field(factory=list)
    """Made outside the community of an event whose upward probability is 0."""
    back: list[str] = field(factory=list)
    """Made after a later event of the publisher and topic, and not flagged as late."""
    apart: list[str] = field(factory=list)
    """Members of a community that have other last values than those they are connected to."""
    joined_late: list[str] = field(factory=list)
    """Members that became so later than promised, though the gateway lives."""
    named_late: list[str] = field(factory=list)
    """The dead that were in a table of a community with other members for longer than promised."""
    split_late: list[str] = field(factory=list)
    """Communities of which not all were connected by their tables, though all faults were over."""
    told_late: list[str] = field(factory=list)
    """`Missed` that came later than promised."""
    forged: int = 0
    """Batches that processes counted as forged in their own names, though nobody forged any."""

    @property
    def broken_promises(self) -> list[str]:
        """What came later than docs/reliability.md promises, but for events."""
        return [*self.joined_late, *self.named_late, *self.split_late, *self.told_late]

    def __str__(self) -> str:
        case, scenario = self.case, self.case.scenario
        return (
            f"{scenario.membership} {scenario.seed}"
            f" {'+'.join(fault.name for fault in case.faults)}: {self.due} due,"
            f" {len(self.lost)} lost, {self.told} told, {len(self.told_wrongly)} wrongly,"
            f" {len(self.late)} late (by {self.latest:.1f} s), {len(self.gone)} gone,"
            f" {len(self.cut_off)} cut off, {len(self.never_joined)} never joined,"
            f" {len(self.shut_out)} shut out, {len(self.twice)} twice, {len(self.foreign)} foreign,"
            f" {len(self.undue)} undue, {len(self.back)} back, {len(self.apart)} apart,"
            f" {len(self.joined_late)} joined late, {len(self.named_late)} named late,"
            f" {len(self.split_late)} split late, {len(self.told_late)} told late,"
            f" {self.forged} forged"
        )


class _Acquaintances:
    """Who has known whom, looked at every second of a run.

    Whoever knows another, be it as one that fell silent, can find it again.
    """

    def __init__(self, run: FaultyRun) -> None:
        self._run = run
        self._overlay = run._scenario.discovery == "kademlia"
        self._known: dict[tuple[int, int], None] = {}
        """Pairs of lives; the first has known the address of the second."""
        for second in range(int(run._scenario.duration_seconds) + 60):
            run._network.queue.at(float(second), self._look)

    def _look(self) -> None:
        lives = {process.me.address: process.life for process in self._run._network}
        for process in self._run._network:
            for address in _addresses(process):
                if address in lives:
                    self._known[process.life, lives[address]] = None

    @property
    def gateway_lives(self) -> bool:
        """Whether the gateway lives."""
        return self._run._gateway is not None and self._run._gateway.alive

    @property
    def introduces(self) -> bool:
        """Whether somebody can introduce all strangers to each other until the end."""
        return self.gateway_lives or self._overlay

    def touched(self, node: str, islands: dict[str, int]) -> Iterator[int]:
        """Yield the islands of all that a process, which is dead by now, ever knew directly.

        Where there is a gateway or an overlay, it could have reached whoever is not alone.
        """
        if self.introduces:
            yield 0
        life = int(node)
        for one, other in self._known:
            if life in (one, other):
                there = islands.get(f"{other if life == one else one:08}")
                if there is not None:
                    yield there

    def islands(self, without: Container[int] = ()) -> dict[str, int]:
        """Return for each living process a number that those share who could be connected.

        A living gateway knows all, and so does the overlay of a Kademlia those who are in it. The
        lives `without` tables connect nobody.
        """
        run = self._run
        self._look()
        island = {
            process.life: (
                0
                if self.gateway_lives or (self._overlay and process.node.discovery.state != "alone")
                else process.life
            )
            for process in run._network
        }
        for one_life, other_life in self._known:
            if one_life in without or other_life in without:
                continue
            here, there = island.get(one_life), island.get(other_life)
            if here is not None and there is not None and here != there:
                island = {life: here if n == there else n for life, n in island.items()}
        return {key_of(process): island[process.life] for process in run._network}


def _addresses(process: Process) -> Iterator[str]:
    """Yield the addresses of all whom a process could ask for something."""
    for local_group in process.node.local_groups:
        yield from (contact.address for contact in local_group.membership.peers())
        passive: Iterable[Contact] = getattr(local_group.membership, "_passive", ())  # HyParView
        yield from (contact.address for contact in passive)
        for part in (local_group.membership, *local_group.links):
            yield from (cold.contact.address for cold in getattr(part, "_cold", ()))
        for link in local_group.links:
            yield from (entry.contact.address for entry in link._table.values())


class _Made:
    """All deliveries of a run, in their order, and all processes that ever lived."""

    def __init__(self, run: FaultyRun) -> None:
        network = run._network
        self.deliveries: list[tuple[str, GroupId, str]] = []
        """The life of the process, the community, and the event."""
        self.late: dict[tuple[str, GroupId, str], None] = {}
        """Those of them that were flagged as late."""
        self.processes: dict[int, Process] = {}
        note_delivery, note_step = network.on_delivery, network.on_step

        def on_delivery(process: Process, delivery: Deliver) -> None:
            if delivery.last_value:  # for subscribers of last values, who get no event by it twice
                return
            for event in delivery.batch.events():
                made = key_of(process), delivery.group, str(event.id)
                self.deliveries.append(made)
                if delivery.batch.late:
                    self.late[made] = None
            assert note_delivery is not None
            note_delivery(process, delivery)

        def on_step(process: Process) -> None:
            self.processes[process.life] = process
            assert note_step is not None
            note_step(process)

        network.on_delivery, network.on_step = on_delivery, on_step

    def judge(self, verdict: Verdict, reading: Reading, upward: Mapping[str, float | None]) -> None:
        """Add what was made though it should not have been."""
        above = verdict.case.scenario.super_topics
        names = {topic.group: topic.name for topic in verdict.case.scenario.sizes}
        for (node, group, event), times in Counter(self.deliveries).items():
            community, published = names[group], reading.published.get(event)
            words = f"{event} in {community}: {node}"
            if times > 1:
                verdict.twice.append(f"{words}, {times} times")
            if published is None:
                verdict.foreign.append(f"{words}, which nobody published")
                continue
            words = f"{event} of {published.topic} by {published.node} in {community}: {node}"
            if not above.includes(community, published.topic):
                verdict.foreign.append(words)
            if upward.get(event) == 0 and community != published.topic:
                verdict.undue.append(words)
        verdict.back += self._steps_back(reading, names)
        verdict.forged = sum(one.node.counters.forged for one in self.processes.values())

    def _steps_back(self, reading: Reading, names: Mapping[GroupId, str]) -> Iterator[str]:
        """Yield what came after a later event of its publisher and topic, but for what is late."""
        places = {event: place for place, event in enumerate(reading.published)}
        latest: dict[tuple[str, GroupId, str, str], int] = {}
        for made in self.deliveries:
            node, group, event = made
            if (published := reading.published.get(event)) is None:
                continue
            line = node, group, published.node, published.topic
            highest = latest.get(line, -1)
            if places[event] < highest and made not in self.late:
                yield f"{event} of {published.topic} in {names[group]}: {node}"
            latest[line] = max(highest, places[event])


def judge(case: Case) -> Verdict:
    """Run a case, and say what became of all that somebody was to get (a set-full checker)."""
    run = FaultyRun(case)
    acquaintances, made, times = _Acquaintances(run), _Made(run), PromisedTimes(case, run)
    verdict = Verdict(case)
    run.compare = lambda: verdict.apart.extend(_apart(run, acquaintances))
    with collector_off():
        run.run(None)
    reading, islands = run._record.reading, acquaintances.islands(without=run._joining)
    with_all = acquaintances.islands()
    start = run.start
    for event, published in reading.published.items():
        when = published.when - start
        deliveries = reading.deliveries[event]
        having_it = [
            reading.members.get((node, community))
            for community, delivered in deliveries.items()
            for node in delivered
        ]
        holders = [
            member
            for member in having_it
            if member is not None
            and min(member.crashed, member.left) - start > case.spread_by(when)
        ]
        for member in receivers(case, reading, published, run.upward.get(event)):
            verdict.due += 1
            words = f"{event} of {published.topic} at {when:.1f} s: {member.node} in"
            words += f" {member.topic} since {member.joined - start:.1f} s; of"
            words += f" {len(having_it)} who have it live on"
            words += "".join(f" {one.node} in {one.topic}" for one in holders[:3])
            delivered = deliveries.get(member.topic, {})
            if member.node in delivered:
                over = delivered[member.node].when - start - case.deadline(when)
                if over > 0:
                    verdict.late.append(f"by {over:.1f} s: {words}")
                    verdict.latest = max(verdict.latest, over)
                continue
            having = [one for one in holders if _hands_on(case, one, member, published, reading)]
            if case.is_let_go(when):  # before the fault was over
                having = []
            told = reading.told_missed(member.node, member.topic, event)
            island = islands[member.node]
            if any(
                islands.get(one.node) == island
                or island in acquaintances.touched(one.node, islands)
                for one in having
            ):
                (verdict.told_wrongly if told else verdict.lost).append(words)
            elif told:
                verdict.told += 1
            elif case.is_let_go(when) and _spoken_of(holders, member):
                verdict.lost.append(words)
            else:
                (verdict.cut_off if having else verdict.gone).append(words)
    verdict.told_wrongly += _not_theirs(case, reading)
    made.judge(verdict, reading, run.upward)
    verdict.named_late += times.named_late()
    verdict.told_late += times.told_late(reading)
    if acquaintances.introduces:
        verdict.joined_late += times.joined_late(reading)
        verdict.split_late += times.split_late()
    for process in run._network:
        for topic in run._joining.get(process.life, ()):
            island = with_all[key_of(process)]
            could = acquaintances.gateway_lives or any(
                member.topic == topic.name and with_all.get(member.node) == island
                for member in reading.members.values()
            )
            words = f"{key_of(process)} in {topic}"
            (verdict.never_joined if could else verdict.shut_out).append(words)
    return verdict


def _apart(run: FaultyRun, acquaintances: _Acquaintances) -> Iterator[str]:
    """Yield the members that have other last values than all who are connected have together.

    And those that have values of topics which their community does not include.
    """
    islands = acquaintances.islands(without=run._joining)
    above = run._scenario.super_topics
    of: dict[tuple[str, int], dict[str, dict[tuple[Topic, bytes], Any]]] = {}
    for process in run._network:
        node = key_of(process)
        for local_group in process.node.local_groups:
            values = local_group.last_values
            if not local_group.joined or values is None:
                continue
            community = local_group.topic.name
            of.setdefault((community, islands[node]), {})[node] = {
                (topic, key): value.rank
                for topic, kept in values.topics.items()
                for key, value in kept.items()
            }
            for topic in values.topics:
                if not above.includes(community, topic.name):
                    yield f"{node} in {community} keeps keys of {topic}"
    for (community, _), members in of.items():
        winners: dict[tuple[Topic, bytes], Any] = {}
        for kept in members.values():
            for place, rank in kept.items():
                winners[place] = max(rank, winners.get(place, rank))
        for node, kept in members.items():
            lacking = [place for place, rank in winners.items() if kept.get(place) != rank]
            if lacking:
                yield f"{node} in {community}: {len(lacking)} of {len(winners)} keys, {lacking[:2]}"


def receivers(
    case: Case, reading: Reading, published: Published, p_sel: float | None = None
) -> list[Member]:
    """Return who was a member when an event was published, stays and lives on, and is to get it."""
    includes = case.scenario.super_topics.includes
    return [
        member
        for member in reading.members.values()
        if member.joined <= published.when
        and member.crashed == member.left == inf
        and (member.topic == published.topic if p_sel == 0 else True)
        and includes(member.topic, published.topic)
    ]


def _hands_on(
    case: Case, holder: Member, member: Member, published: Published, reading: Reading
) -> bool:
    """Whether one is to get an event that another has: of its own community, or from below.

    On one of the ways up, of each community between that has members, one must have been there when
    it was published: a newcomer does not ask for what is older than its membership.
    """
    living = [one for one in reading.members.values() if one.crashed == one.left == inf]
    inhabited = {one.topic for one in living}
    open_ways = {one.topic for one in living if one.joined <= published.when}

    def leads_up(topic: Topic) -> bool:
        if topic.name == member.topic:
            return True
        if topic.name != holder.topic and topic.name in inhabited - open_ways:
            return False
        return any(map(leads_up, case.scenario.super_topics.of(topic)))

    return leads_up(Topic.parse(holder.topic))


def _spoken_of(holders: Iterable[Member], member: Member) -> bool:
    """Whether two others of a member's community had an event, who say so though it is let go."""
    return sum(one.topic == member.topic for one in holders) > 1


def _not_theirs(case: Case, reading: Reading) -> list[str]:
    """Return what members were told to have missed though it was none of their business."""
    wrong, includes = [], case.scenario.super_topics.includes
    for (node, community, stream), ranges in reading.missed.items():
        member = reading.members.get((node, community))
        for sequence in (number for told in ranges for number in told):
            published = reading.published.get(f"{stream}-{sequence}")
            if published is None or member is None:
                wrong.append(f"{stream}-{sequence}: told {node} of what nobody published")
            elif not includes(member.topic, published.topic):
                wrong.append(f"{stream}-{sequence} of {published.topic}: told {member}")
            elif published.when < member.joined:
                before = member.joined - published.when
                wrong.append(f"{stream}-{sequence}: told {node} that joined {before:.2f} s later")
    return wrong


def spreading(case: Case, spread: SpreadKind) -> Case:
    """Return a case whose events spread so."""
    parameters = evolve(case.scenario.parameters, spread=spread)
    return evolve(case, scenario=evolve(case.scenario, parameters=parameters))


MAKERS: Final = {
    "several": make_system,
    "harsh": make_harsh,
    "keyed": make_keyed,
    "forgetful": make_forgetful,
    "orders": make_order,
}
"""The cases of a mode of the command line; without a mode they are those of `make_case`."""

LISTS: Final = (
    *("lost", "told_wrongly", "late", "gone", "cut_off", "never_joined", "shut_out"),
    *("twice", "foreign", "undue", "back", "apart"),
    *("joined_late", "named_late", "split_late", "told_late"),
)

if __name__ == "__main__":
    logging.disable(logging.WARNING)  # of many processes that find nobody, as the faults mean it
    spread: SpreadKind = "auto"
    if sys.argv[1] in get_args(SpreadKind):
        spread = cast(SpreadKind, sys.argv.pop(1))
    make = MAKERS.get(sys.argv[1], make_case)
    membership, *numbers = sys.argv[1 + (sys.argv[1] in MAKERS) :]
    for number in numbers:
        verdict = judge(spreading(make(membership, int(number)), spread))
        print(verdict, flush=True)
        for name in LISTS:
            for words in getattr(verdict, name)[:5]:
                print(f"  {name} {words}", flush=True)
