"""Faults drawn at random in the virtual network with repair, and who was to get what.

``python -m tests.laws.faults scamp 17 [18 ...]`` runs and judges seeds of a backend.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator
from math import inf
from random import Random
from typing import Any, Final

from attrs import field, frozen

from camcast.runs.trace_reading import Member, Reading
from camcast.scenarios.virtual import Crashes, Links, Partition, Pauses, VirtualScenario
from camcast.simulation.gc_paused import collector_off
from camcast.simulation.network import Process
from camcast.simulation.scenario_run import VirtualOutcome, _key, _Run
from camcast.vocabulary.topics import ROOT, Topic
from camcast.workloads import Publication

TOPICS: Final = tuple(map(Topic.parse, (".", ".a", ".b", ".a.x", ".a.y", ".b.x")))
DISCOVERIES: Final[dict[str, Any]] = {"scamp": "gateways", "hybrid": "kademlia", "dht": "kademlia"}
SOON: Final = 10.0  # [issue 14] seconds from the heal, or from the publication
UNSPREAD: Final = 1.0  # [issue 14] an event of a publisher that dies so soon may die with it
AFTER_KILL: Final = 10.0  # [issue 14] events so soon after a kill are told apart
RATE: Final = 5.0  # chosen: events a second on all topics; 1,000 seeds take some 15 minutes
CALM_SECONDS: Final = 40.0  # chosen: at the end without a new fault: a full `Have` comes in that


@frozen(kw_only=True)
class FaultyScenario(VirtualScenario):
    """A scenario that publishes on all its topics, from steady publishers and from anybody."""

    publishing_seconds: float = 30.0

    def publications(self) -> list[Publication]:
        """See `BaseScenario`; drawn with the seed."""
        rng = Random(f"publications {self.seed}")
        topics = list(self.communities)
        count = int(self.publishing_seconds * RATE)
        times = sorted(rng.random() * self.publishing_seconds for _ in range(count))
        return [
            Publication(when, (rng.choice(topics),), b"%04d" % n, rng.choice((None, "one", "two")))
            for n, when in enumerate(times)
        ]


@frozen
class Fault:
    """A fault: what of the scenario it is, and from when until when it is there."""

    name: str
    key: str
    values: tuple[Any, ...] | dict[str, Any]
    begin: float = 0.0
    end: float = 0.0


def _crash(share: float, *, gateway: bool) -> Callable[[Random], Fault]:
    def draw(rng: Random) -> Fault:
        at = rng.uniform(3, 12)
        crashes = Crashes(at_seconds=at, share=share, gateway=gateway)
        name = f"kill-{share:.0%}" + ("-gateway" if gateway else "")
        return Fault(name, "crashes", (crashes,), at, at)

    return draw


def _restart(identity: Any) -> Callable[[Random], Fault]:
    def draw(rng: Random) -> Fault:
        at, away = rng.uniform(3, 12), rng.uniform(0.2, 15)
        crashes = Crashes(at_seconds=at, share=0.3, restart_seconds=away, identity=identity)
        return Fault(f"restart-{identity}", "crashes", (crashes,), at, at + away)

    return draw


def _partition(name: str, seconds: float, **cut: Any) -> Callable[[Random], Fault]:
    def draw(rng: Random) -> Fault:
        begin = rng.uniform(2, 8)
        end = begin + seconds
        made = Partition(from_seconds=begin, until_seconds=end, **({"share": 0.5} | cut))
        return Fault(name, "cuts", (made,), begin, end)

    return draw


def _level(rng: Random) -> Fault:
    begin = rng.uniform(2, 8)
    end = begin + 25
    cut = Partition(from_seconds=begin, until_seconds=end, communities=(rng.choice(TOPICS),))
    return Fault("cut-level", "cuts", (cut,), begin, end)


def _at_start(rng: Random) -> Fault:
    end = rng.uniform(5, 15)
    cut = Partition(from_seconds=-inf, until_seconds=end, share=0.5)
    return Fault("cut-at-start", "cuts", (cut,), 0.0, end)


def _pause(seconds: float) -> Callable[[Random], Fault]:
    def draw(rng: Random) -> Fault:
        at = rng.uniform(2, 8)
        pauses = Pauses(at_seconds=at, seconds=seconds, share=1 / 3)
        return Fault(f"pause-{seconds:g}", "pauses", (pauses,), at, at + seconds)

    return draw


def _flapping(rng: Random) -> Fault:
    begin = rng.uniform(2, 8)
    crashes = tuple(
        Crashes(at_seconds=begin + second, share=0.1, restart_seconds=rng.uniform(0.1, 2))
        for second in range(15)
    )
    return Fault("flapping", "crashes", crashes, begin, begin + 17)


def _links(name: str, **values: Any) -> Callable[[Random], Fault]:
    return lambda _rng: Fault(name, "links", values)


FAULTS: Final[dict[str, Callable[[Random], Fault]]] = {
    "loss-1": _links("loss-1", loss=0.01),
    "loss-10": _links("loss-10", loss=0.1),
    "loss-30": _links("loss-30", loss=0.3),
    "delay": _links("delay", latency="uniform", low_seconds=0.03, high_seconds=0.3),
    "reorder": _links("reorder", reordering=0.3, hold_seconds_max=1.0),
    "duplicate": _links("duplicate", duplication=0.1),
    "kill-30": _crash(0.3, gateway=False),
    "kill-50": _crash(0.5, gateway=False),
    "kill-80": _crash(0.8, gateway=False),
    "kill-30-gateway": _crash(0.3, gateway=True),
    "kill-50-gateway": _crash(0.5, gateway=True),
    "kill-80-gateway": _crash(0.8, gateway=True),
    "restart-new": _restart("new"),
    "restart-same": _restart("same"),
    "cut-10": _partition("cut-10", 10.0),
    "cut-60": _partition("cut-60", 60.0),
    "cut-at-start": _at_start,
    "cut-level": _level,
    "cut-one-way": _partition("cut-one-way", 20.0, one_way=True),
    "cut-non-transitive": _partition("cut-non-transitive", 20.0, share=0.3, other_share=0.3),
    "pause-5": _pause(5.0),
    "pause-20": _pause(20.0),
    "flapping": _flapping,
}


@frozen
class Case:
    """A scenario, and its faults."""

    scenario: FaultyScenario
    faults: tuple[Fault, ...]

    def deadline(self, published: float) -> float:
        """Return by when everybody should have an event, by the scenario's clock."""
        deadline = published + SOON
        for fault in sorted(self.faults, key=lambda fault: fault.begin):
            if fault.begin < deadline and published <= fault.end:
                deadline = max(deadline, fault.end + SOON)
        return deadline

    def after_kill(self, published: float) -> bool:
        """Whether an event was published soon after processes died."""
        return any(
            crash.at_seconds <= published < crash.at_seconds + AFTER_KILL
            for crash in self.scenario.crashes
        )


def make_case(membership: str, seed: int, names: tuple[str, ...] = ()) -> Case:
    """Make a case with the faults of these names, or with one to three at random."""
    rng = Random(f"faults {seed}")
    drawn = names or tuple(rng.sample(list(FAULTS), rng.choice((1, 1, 2, 2, 3))))
    faults = tuple(FAULTS[name](rng) for name in drawn)
    values: dict[str, Any] = {"crashes": (), "cuts": (), "pauses": (), "links": {}}
    for fault in faults:
        values[fault.key] = (
            values[fault.key] | fault.values
            if isinstance(fault.values, dict)
            else values[fault.key] + fault.values
        )
    publishing = max([25.0, *(fault.end + 12.0 for fault in faults)])
    scenario = FaultyScenario(
        communities={topic: rng.randint(3, 9 if topic == ROOT else 6) for topic in TOPICS},
        membership=membership,
        discovery=DISCOVERIES[membership],
        repair=True,
        seed=seed,
        publishing_seconds=publishing,
        duration_seconds=publishing + CALM_SECONDS,
        **(values | {"links": Links(**values["links"])}),
    )
    return Case(scenario, faults)


@frozen
class Verdict:
    """What became of all that somebody was to get."""

    case: Case
    outcome: VirtualOutcome
    due: int = 0
    """Deliveries that were due."""
    told: int = 0
    """Not made, and told as `Missed`."""
    lost: list[str] = field(factory=list)
    """Not made, and not told, in words; without those next."""
    lost_after_kill: list[str] = field(factory=list)
    """Of events that were published soon after a kill."""
    late: int = 0
    """Made later than `SOON` after the publication or the heal."""
    latest: float = -inf
    """By how much the latest was late."""
    gone: int = 0
    """Not made, since nobody lives in the community or below who has the event and hands it on."""
    cut_off: int = 0
    """Not made, since who lacks the event and who has it are not connected any more."""

    def __str__(self) -> str:
        case = self.case
        return (
            f"{case.scenario.membership} {case.scenario.seed}"
            f" {'+'.join(fault.name for fault in case.faults)}: {self.due} due,"
            f" {len(self.lost)} lost, {len(self.lost_after_kill)} after a kill,"
            f" {self.told} told, {self.late} late (by {max(0.0, self.latest):.1f} s),"
            f" {self.gone} gone, {self.cut_off} cut off"
        )


def judge(case: Case) -> Verdict:
    """Run a case, and say what became of all that somebody was to get (a set-full checker)."""
    with collector_off():
        run = _Run(case.scenario, None)
        outcome, reading = run.run(None), run._reading
    islands = _islands(run)
    start = outcome.virtual_seconds - case.scenario.duration_seconds
    counts: Counter[str] = Counter()
    lost: list[str] = []
    lost_after_kill: list[str] = []
    latest = -inf
    for event, published in reading.published.items():
        delivered = reading.deliveries[event]
        holders = [reading.members[node] for node in delivered if node in islands]
        when = published.when - start
        for member in receivers(reading, event):
            counts["due"] += 1
            delivery = delivered.get(member.node)
            if delivery is not None:
                over = delivery.when - start - case.deadline(when)
                counts["late"] += over > 0
                latest = max(latest, over)
            elif reading.told_missed(member.node, event):
                counts["told"] += 1
            elif not (
                having := [
                    one for one in holders if _hands_on(one, member, published.when, reading)
                ]
            ):
                counts["gone"] += 1
            elif all(islands[one.node] != islands[member.node] for one in having):
                counts["cut off"] += 1
            else:
                words = f"{event} of {published.topic} at {when:.1f} s: {member.node} in"
                words += f" {member.topic}, {len(delivered)} have it"
                (lost_after_kill if case.after_kill(when) else lost).append(words)
    return Verdict(
        case,
        outcome,
        due=counts["due"],
        told=counts["told"],
        lost=lost,
        lost_after_kill=lost_after_kill,
        late=counts["late"],
        latest=latest,
        gone=counts["gone"],
        cut_off=counts["cut off"],
    )


def _hands_on(holder: Member, member: Member, published: float, reading: Reading) -> bool:
    """Whether one is to get an event that another has: of its own community, or from below.

    Each community between must have somebody who was there when it was published: a newcomer does
    not ask for what is older than its membership.
    """
    above, topic = Topic.parse(member.topic), Topic.parse(holder.topic)
    there = {
        one.topic
        for one in reading.members.values()
        if one.joined <= published and one.crashed == inf
    }
    return above.includes(topic) and all(
        between.name in there
        for between in topic.ancestors()
        if between.level > above.level and between in TOPICS
    )


def _islands(run: _Run) -> dict[str, int]:
    """Return for each living process a number that those share who are connected.

    Who knows another, be it as one that fell silent, can find it again. A living gateway knows
    all, and so does the overlay of a Kademlia.
    """
    processes = list(run._network)
    one = run._scenario.membership != "scamp" or (run._gateway is not None and run._gateway.alive)
    island = {process.me.address: 0 if one else process.number for process in processes}
    for process in processes:
        for address in _known(process):
            here, there = island[process.me.address], island.get(address)
            if there is not None and there != here:
                island = {each: here if n == there else n for each, n in island.items()}
    return {_key(process): island[process.me.address] for process in processes}


def _known(process: Process) -> Iterator[str]:
    """Yield the addresses of all whom a process could ask for something."""
    for participation in process.node.participations:
        yield from (contact.address for contact in participation.membership.peers())
        for part in (participation.membership, *participation.links):
            yield from (cold.contact.address for cold in getattr(part, "_cold", ()))
        for link in participation.links:
            yield from (entry.contact.address for entry in link._table.values())


def receivers(reading: Reading, event: str) -> list[Member]:
    """Return who was a member when an event was published, lives on, and is to get it."""
    published = reading.published[event]
    topic = Topic.parse(published.topic)
    return [
        member
        for member in reading.members.values()
        if member.joined <= published.when
        and member.crashed == inf
        and member.node != published.node
        and Topic.parse(member.topic).includes(topic)
    ]


if __name__ == "__main__":
    for number in sys.argv[2:]:
        verdict = judge(make_case(sys.argv[1], int(number)))
        print(verdict, *verdict.lost[:5], *verdict.lost_after_kill[:5], sep="\n  ", flush=True)
