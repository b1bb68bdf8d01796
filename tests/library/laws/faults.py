"""Cases: a scenario of the virtual network with repair, and faults drawn at random with its seed.

`tests.library.laws.fault_judge` runs a case and judges what came of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import inf
from random import Random
from typing import Any, Final, Literal, get_args

from attrs import evolve, frozen

from camcast.doors.plugs import find_backend
from camcast.research.scenarios.base import Processes
from camcast.research.scenarios.super_topics import DeclaredTopic
from camcast.research.scenarios.virtual import Crashes, Links, Partition, Pauses, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.workloads import Publication
from camcast.vocabulary.batches import Keyed
from camcast.vocabulary.topics import ROOT, Topic

TOPICS: Final = tuple(map(Topic.parse, (".", ".a", ".b", ".a.x", ".a.y", ".b.x")))
SOON: Final = 10.0  # [docs/reliability.md] seconds from the heal, or from the publication
LATE_AFTER_CRASH: Final = 40.0  # measured: 34.1 s with 80 % and the gateway dead (dht 903)
LATE_WHERE_SLOW: Final = 10.0  # measured: 6.3 s (harsh scamp 13), where messages take 0.5 to 4.5 s
TABLES_LATE_WHERE_SLOW: Final = 15.0  # measured: 11.2 s until a process had joined (harsh scamp 13)
# measured: 8.5 s with half and the gateway dead (hybrid 802), 2 s with a third (several hybrid 108)
TABLES_LATE_AFTER_MANY: Final = 10.0
MANY: Final = 0.3  # [docs/reliability.md] the share of all that crash at once
# [docs/reliability.md] who found nobody asks again each ten seconds; measured: 0.7 s (scamp 3009)
JOINING_SECONDS: Final = 2.0
LOSSY: Final = 0.3  # half of all questions have no answer: what comes at all, comes some time
RATE: Final = 5.0  # chosen: events a second on all topics; 500 seeds take some 15 minutes
CALM_SECONDS: Final = 40.0  # chosen: at the end without a new fault: a full `Have` comes in that


@frozen(kw_only=True)
class FaultyScenario(VirtualScenario):
    """A scenario that publishes on all its topics, from steady publishers and from anybody."""

    publishing_seconds: float = 30.0

    def publications(self) -> list[Publication]:
        """See `BaseScenario`; drawn with the seed."""
        rng = Random(f"publications {self.seed}")
        topics = list(self.sizes)
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


def _stutter(rng: Random) -> Fault:
    begin = rng.uniform(2, 8)
    pauses = tuple(Pauses(at_seconds=begin + n, seconds=0.9, share=0.15) for n in range(25))
    return Fault("stutter", "pauses", pauses, begin, begin + 25)


def _two_one_way(rng: Random) -> Fault:
    begin = rng.uniform(2, 8)
    cuts = tuple(
        Partition(from_seconds=begin + n, until_seconds=begin + 30 + n, share=0.3, one_way=True)
        for n in (0, 1)
    )
    return Fault("cut-one-way-twice", "cuts", cuts, begin, begin + 31)


def _flapping_cut(rng: Random) -> Fault:
    begin = rng.uniform(2, 8)
    cuts = tuple(
        Partition(from_seconds=begin + 6 * n, until_seconds=begin + 6 * n + 4, share=0.5)
        for n in range(8)
    )
    return Fault("cut-flapping", "cuts", cuts, begin, begin + 48)


def _rolling(rng: Random) -> Fault:
    begin = rng.uniform(2, 6)
    crashes = tuple(
        Crashes(
            at_seconds=begin + 2 * n,
            share=0.12,
            restart_seconds=rng.uniform(0.2, 3),
            identity="same",
            gateway=n == 6,
        )
        for n in range(12)
    )
    return Fault("rolling-same", "crashes", crashes, begin, begin + 28)


def _flapping_same(rng: Random) -> Fault:
    begin = rng.uniform(2, 6)
    crashes = tuple(
        Crashes(
            at_seconds=begin + n,
            share=0.15,
            restart_seconds=rng.uniform(0.05, 0.6),
            identity="same",
        )
        for n in range(15)
    )
    return Fault("flapping-same", "crashes", crashes, begin, begin + 16)


def _three_kills(rng: Random) -> Fault:
    begin = rng.uniform(3, 8)
    crashes = tuple(Crashes(at_seconds=begin + 6 * n, share=0.25) for n in range(3))
    return Fault("kill-25-thrice", "crashes", crashes, begin, begin + 12)


HARSH: Final[dict[str, Callable[[Random], Fault]]] = {
    "stutter": _stutter,
    "cut-one-way-60": _partition("cut-one-way-60", 60.0, share=0.3, one_way=True),
    "cut-non-transitive-60": _partition("cut-non-transitive-60", 60.0, share=0.2, other_share=0.2),
    "cut-loss-70": _partition("cut-loss-70", 40.0, loss=0.7),
    "cut-pairs": _partition("cut-pairs", 100.0, share=0.08, other_share=0.08),
    "cut-flapping": _flapping_cut,
    "rolling-same": _rolling,
    "flapping-same": _flapping_same,
    "kill-25-thrice": _three_kills,
    "cut-one-way-twice": _two_one_way,
    "satellite": _links(
        "satellite", latency="uniform", low_seconds=0.2, high_seconds=0.4, loss=0.02
    ),
    "slow": _links("slow", latency="uniform", low_seconds=0.5, high_seconds=1.5),
    "heavy-tailed": _links(
        "heavy-tailed", latency="lognormal", median_seconds=0.1, p95_seconds=2.0
    ),
    "doubled": _links("doubled", duplication=0.5, reordering=0.5, hold_seconds_max=3.0),
    "pause-5": FAULTS["pause-5"],
    "kill-50-gateway": FAULTS["kill-50-gateway"],
    "cut-level": FAULTS["cut-level"],
}
"""Faults that last longer, come again and again, or make links slower than a question is patient.

Their order is part of what a seed means, as that of `FAULTS` is."""


DeviationKind = Literal["loss", "duplicate", "delay", "crash", "pause"]


@frozen
class Deviation:
    """What happens once: to one message, or to the process that it is meant for."""

    from_seconds: float
    """By the scenario's clock; messages count from then on."""
    message: int
    """The number of the message that it happens to, from 0."""
    kind: DeviationKind


@frozen
class Change:
    """A moment at which one process, drawn at random, joins a community or leaves it."""

    at_seconds: float
    topic: Topic
    joins: bool


@frozen
class Case:
    """A scenario, its faults, and the changes of its processes' communities."""

    scenario: FaultyScenario
    faults: tuple[Fault, ...]
    changes: tuple[Change, ...] = ()
    kept_back: int = 0
    """Of so many events one stays in its community; 0: none does."""
    deviations: tuple[Deviation, ...] = ()
    """What happens besides at single steps; `faults` has a fault of the same time for each."""
    keys: int = 0
    """Half of the events have one of so many keys of their topic, and some delete it; 0: none."""

    def upward_probability(self, payload: bytes) -> float | None:
        """Return the upward probability of the event with this payload, if it has one."""
        return 0.0 if self.kept_back and int(payload) % self.kept_back == 0 else None

    def keyed(self, payload: bytes) -> Keyed | None:
        """Return the key of the event with this payload, if it has one."""
        number = int(payload)
        if not self.keys or number % 2:
            return None
        return Keyed(b"%d" % (number * 7919 % self.keys), number % 20 == 0)

    def joined_by(self, asked: float) -> float:
        """Return by when who asked to join is a member, by the scenario's clock."""
        soon = self._soon_after(max(0.0, asked), self.faults)
        return soon + JOINING_SECONDS + self.tables_late_max

    def deadline(self, published: float) -> float:
        """Return by when everybody should have an event, by the scenario's clock."""
        return self._soon_after(published, self.faults)

    def spread_by(self, published: float) -> float:
        """Return until when an event may die with those who have it, by the scenario's clock.

        Whoever has it and lives longer must have handed it on.
        """
        return self._soon_after(published, [one for one in self.faults if one.key != "crashes"])

    def forgotten_by(self, died: float) -> float:
        """Return by when no table names who died, by the scenario's clock (docs/reliability.md)."""
        return self._soon_after(died, self.faults) + self.tables_late_max

    def is_let_go(self, published: float) -> bool:
        """Whether an event may be let go before everybody could have it (docs/reliability.md)."""
        kept_until = published + self.scenario.parameters.retention_seconds
        return kept_until < self.deadline(published)

    def told_by(self, published: float) -> float:
        """Return by when who lacks an event is told that it cannot be had (docs/reliability.md)."""
        patience = max(SOON, self.scenario.parameters.retention_seconds)
        return self.deadline(published) + patience + self.late_max

    @property
    def calm_from(self) -> float:
        """From when on the members of a community are connected (docs/reliability.md)."""
        disturbed = [fault.end for fault in self.faults if fault.key != "links"]
        disturbed += [change.at_seconds for change in self.changes]
        return max(disturbed, default=0.0) + SOON + self.tables_late_max

    @property
    def values_agree_by(self) -> float | None:
        """By when members have the same last values, by the scenario's clock; None without keys.

        No later than the run ends, as where there is no bound.
        """
        if not self.keys:
            return None
        end = self.scenario.publishing_seconds
        return min(self.deadline(end) + self.late_max, self.scenario.duration_seconds - 0.1)

    @property
    def late_max(self) -> float:
        """By how many seconds a delivery may miss its deadline at most (docs/reliability.md)."""
        if self.scenario.links.loss >= LOSSY:
            return inf
        if self.scenario.crashes:
            return LATE_AFTER_CRASH
        return LATE_WHERE_SLOW if self._is_slow else 0.0

    @property
    def tables_late_max(self) -> float:
        """By how many seconds membership may miss a time at most (docs/reliability.md)."""
        if self.scenario.links.loss >= LOSSY:
            return inf
        many = any(crashes.share >= MANY for crashes in self.scenario.crashes)
        return TABLES_LATE_AFTER_MANY * many + TABLES_LATE_WHERE_SLOW * self._is_slow

    @property
    def _is_slow(self) -> bool:
        """Whether messages take seconds."""
        return any(fault.name in ("slow", "heavy-tailed") for fault in self.faults)

    def _soon_after(self, published: float, faults: Sequence[Fault]) -> float:
        """Return `SOON` after the publication, or after the end of faults until then."""
        deadline = published + SOON
        for fault in sorted(faults, key=lambda fault: fault.begin):
            if fault.begin < deadline and published <= fault.end:
                deadline = max(deadline, fault.end + SOON)
        return deadline


def make_harsh(membership: str, seed: int, names: tuple[str, ...] = ()) -> Case:
    """Make a case as `make_case` does, with the faults of `HARSH`."""
    return make_case(membership, seed, names, HARSH)


def make_case(
    membership: str,
    seed: int,
    names: tuple[str, ...] = (),
    known: Mapping[str, Callable[[Random], Fault]] = FAULTS,
) -> Case:
    """Make a case with the faults of these names, or with one to three `known` ones at random."""
    rng = Random(f"faults {seed}")
    drawn = names or tuple(rng.sample(list(known), rng.choice((1, 1, 2, 2, 3))))
    faults = tuple(known[name](rng) for name in drawn)
    publishing = _publishing_seconds(faults)
    communities = {topic: rng.randint(3, 9 if topic == ROOT else 6) for topic in TOPICS}
    return Case(_scenario(membership, seed, faults, publishing, communities=communities), faults)


KEYS: Final = 12  # chosen: of each topic; 150 events with keys replace most of them, some twice


def make_keyed(membership: str, seed: int, names: tuple[str, ...] = ()) -> Case:
    """Make the case of `make_case` whose events have keys."""
    return evolve(make_case(membership, seed, names), keys=KEYS)


SYSTEM_FAULTS: Final = (
    *("loss-1", "loss-10", "delay", "reorder", "duplicate", "kill-30", "restart-new"),
    *("cut-10", "cut-non-transitive", "pause-5"),
)
"""The faults of a system; a cut of one level would need the topics of `TOPICS`."""
KEPT_BACK: Final = 5  # chosen: a fifth of the events shows who hands on what should stay


def make_system(membership: str, seed: int) -> Case:
    """Make a case of 4 to 12 processes with 1 to 3 topics each, out of a drawn hierarchy.

    Topics have up to three super-topics, processes join and leave while events are on their way,
    and there are up to two faults.
    """
    rng = Random(f"systems {seed}")
    topics, declared = _draw_hierarchy(rng)
    kinds = [tuple(rng.sample(topics, rng.randint(1, 3))) for _ in range(rng.randint(4, 12))]
    inhabited = list(dict.fromkeys(topic for kind in kinds for topic in kind))
    drawn = rng.sample(SYSTEM_FAULTS, rng.choice((0, 1, 1, 2)))
    faults = tuple(FAULTS[name](rng) for name in drawn)
    publishing = _publishing_seconds(faults)
    changes = [
        Change(rng.uniform(0, publishing), rng.choice(inhabited), joins=rng.random() < 0.5)
        for _ in range(rng.randint(0, 6))
    ]
    scenario = _scenario(
        membership,
        seed,
        faults,
        publishing,
        processes=tuple(Processes(topics=kind) for kind in kinds),
        workload=Workload(topic=inhabited[0]),  # the scenario has publications of its own
        topics={topic: DeclaredTopic(below=above) for topic, above in declared.items()},
    )
    return Case(scenario, faults, tuple(changes), KEPT_BACK)


FORGETFUL_SECONDS: Final = 15.0  # chosen: less than a cut lasts, more than repair takes


def make_forgetful(membership: str, seed: int) -> Case:
    """Make a case of events that nobody keeps until the fault is over."""
    names = Random(f"forgetful {seed}").choice((("cut-60",), ("cut-level",), ("cut-60", "pause-5")))
    case = make_case(membership, seed, names)
    parameters = evolve(case.scenario.parameters, retention_seconds=FORGETFUL_SECONDS)
    return evolve(case, scenario=evolve(case.scenario, parameters=parameters))


OPERATIONS: Final = ("join", "leave", "repair", "restart-new", "restart-same")
STEPS: Final = 80  # chosen: messages of five processes in the two seconds that an operation takes
DEVIATION_SECONDS: Final = 3.0  # chosen: what is delayed or paused for longer counts as dead


def make_order(membership: str, seed: int) -> Case:
    """Make a case of 3 to 5 processes of which something happens to single steps of an operation.

    One or two messages after its beginning are lost, doubled or delayed, or who gets them crashes
    or is paused.
    """
    rng = Random(f"orders {seed}")
    operation = OPERATIONS[seed % len(OPERATIONS)]
    a = TOPICS[1]
    kinds = [(ROOT, a), *([(a,), (ROOT,)] * 2)[: rng.randint(2, 4)]]
    begin = rng.uniform(4, 6)
    faults: tuple[Fault, ...] = ()
    changes: tuple[Change, ...] = ()
    if operation in ("join", "leave"):
        changes = (Change(begin, a, joins=operation == "join"),)
    elif operation == "repair":
        faults = (_partition("cut", 5.0, share=0.4)(rng),)
        begin = faults[0].end
    else:
        faults = (_restart(operation.removeprefix("restart-"))(rng),)
        begin = faults[0].end
    deviations = tuple(
        Deviation(begin, rng.randrange(STEPS), rng.choice(get_args(DeviationKind)))
        for _ in range(rng.choice((1, 1, 2)))
    )
    end = begin + 2 * DEVIATION_SECONDS
    faults += tuple(
        Fault(one.kind, "crashes" if one.kind == "crash" else "pauses", (), begin, end)
        for one in deviations
    )
    scenario = _scenario(
        membership,
        seed,
        faults,
        _publishing_seconds(faults),
        processes=tuple(Processes(topics=kind) for kind in kinds),
        workload=Workload(topic=ROOT),  # the scenario has publications of its own
        topics={topic: DeclaredTopic() for topic in (ROOT, a)},
    )
    return Case(scenario, faults, changes, deviations=deviations)


def _draw_hierarchy(rng: Random) -> tuple[list[Topic], dict[Topic, tuple[Topic, ...]]]:
    """Draw topics below the root and below each other, and those that are below several."""
    topics = [ROOT, *(Topic.parse(f".t{number}") for number in range(rng.randint(2, 4)))]
    topics += [topic.child("s") for topic in rng.sample(topics[1:], rng.randint(0, 2))]
    declared: dict[Topic, tuple[Topic, ...]] = {}
    for number in range(rng.randint(1, 3)):
        topic = Topic.parse(f".x{number}")
        declared[topic] = tuple(rng.sample(topics[1:], min(rng.randint(1, 3), len(topics) - 1)))
        topics.append(topic)
    return topics, declared


def _publishing_seconds(faults: Sequence[Fault]) -> float:
    return max([25.0, *(fault.end + 12.0 for fault in faults)])


def _scenario(
    membership: str, seed: int, faults: Sequence[Fault], publishing: float, **who: Any
) -> FaultyScenario:
    """Return the scenario with these faults, of the communities and processes in `who`."""
    values: dict[str, Any] = {"crashes": (), "cuts": (), "pauses": (), "links": {}}
    for fault in faults:
        values[fault.key] = (
            values[fault.key] | fault.values
            if isinstance(fault.values, dict)
            else values[fault.key] + fault.values
        )
    return FaultyScenario(
        membership=membership,
        discovery="kademlia" if find_backend(membership).discovery == "kademlia" else "gateways",
        repair=True,
        seed=seed,
        publishing_seconds=publishing,
        duration_seconds=publishing + CALM_SECONDS,
        **(who | values | {"links": Links(**values["links"])}),
    )
