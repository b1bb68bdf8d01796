"""Section 6.2.1 of the CAMCAST paper (000): the setting of the memberships, and their runs.

Live, as the paper did: nodes are restarted for each run, and publish `events` events for each
p_sel. In the virtual network, beyond the paper: every membership with its real discovery (gateways
for V1, Kademlia for V2 and V3), all through one first contact, on latencies between hosts of the
Internet. Everybody joins at once, and tables settle; events are published; newcomers join;
processes crash, then the first contact; in the end more crash while copies are lost.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import fsum, inf, nextafter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final, Literal

import attrs
from attrs import field, frozen
from typing_extensions import override

from camcast.doors.plugs import (
    MEMBERSHIP_GROUP,
    PROTOCOL_GROUP,
    find_backend,
    find_discovery,
    find_protocol,
    installed,
)
from camcast.engine.node import Node
from camcast.engine.settings import Parts, Settings
from camcast.engine.store import Store
from camcast.observe.trace_reading import Reading
from camcast.protocols.camcast import CamcastProtocol
from camcast.research.experiment.by_p_sel import read_apart
from camcast.research.experiment.run import run_experiment
from camcast.research.papers.paper import Given, Plan
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.runs.summary import CommunitySummary, Summary, summarise
from camcast.research.scenarios.live import Scenario, chain
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.run_context import collector_off, warnings_unheard
from camcast.research.sweeps import JSON
from camcast.virtual.climate import Climate, LogNormal
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.events import EventId
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.outbox import Deliver
from camcast.vocabulary.parameters import SETTINGS_PRESETS, CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER

World = Literal["live", "virtual"]

VARIANTS: Final = {"scamp": "V1", "hybrid": "V2", "dht": "V3"}
"""The paper's names: unstructured, semi-structured, structured. [CAMCAST 5.2, 6.2.2]"""

COMMUNITIES: Final = ("g", "d", "a")  # [CAMCAST 6.2.1] published in g; the root is a
SIZES: Final = (79, 28, 7)  # [CAMCAST 6.2.1: of V2 and V3] the same for all, to compare them
SIZES_AS_PRINTED: Final[Mapping[str, tuple[int, ...]]] = {"scamp": (84, 27, 7)}  # [CAMCAST 6.2.1]
P_SEL: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)  # [CAMCAST 6.2.1, 6.2.2: 0.01 is in Fig. 24]
REPAIR: Final = False
"""No paper has it: reception is that of the first try. Virtual nodes are given no store for it."""
PARAMETERS: Final = CommunitySettings(c=0, a=2, z=4, spread="infect")  # [CAMCAST 6.2.1]

EVENTS: Final = 60
"""For each p_sel in a run, live. chosen: a mean over a run's events is known to ±0.1 or less."""
REST_SECONDS: Final = 8.0
"""Until publishing starts, live. chosen: SCAMP settles in some heartbeats of 1 s, and the dht draws
tables again 5 s after something has changed."""
VIRTUAL_P_SEL: Final = (0.01, 0.1, 1.0)  # chosen: the ends and the middle of the axis
# chosen: with six runs (of five live) reception is known to one point, for 18 CPU seconds a run
VIRTUAL_EVENTS: Final = 6
"""How many times as many events as live each p_sel has in the virtual network."""


def _check_sizes(_plan: object, _field: object, sizes: tuple[int, ...]) -> None:
    if len(sizes) != len(COMMUNITIES):
        raise ValueError(f"{len(sizes)} sizes; give one for each of {', '.join(COMMUNITIES)}")


def memberships_of_all() -> tuple[str, ...]:
    """Return every installed membership that CAMCAST runs on, those of the paper first."""
    others = [name for name in installed(MEMBERSHIP_GROUP) if name not in VARIANTS]
    return (*VARIANTS, *(name for name in others if _is_plain(name)))


def _is_plain(name: str) -> bool:
    """Whether no protocol brings the membership as its own; raises `UnknownPlugError`."""
    own = {find_protocol(one).membership: one for one in installed(PROTOCOL_GROUP)}
    return find_backend(name).name not in own


@frozen
class Contender:
    """One of those who are compared: a membership, or what its paper prints of it."""

    backend: str
    printed: bool = False
    """Whether it is without what this project has added to its paper (`Backend.as_printed`)."""

    @property
    def name(self) -> str:
        """Its name on the page, which begins with the paper's if there is one."""
        left_out = find_backend(self.backend).as_printed if self.printed else ()
        without = f"without {' and '.join(left_out)}" if left_out else ""
        return " ".join(filter(None, (VARIANTS.get(self.backend, ""), self.backend, without)))


@frozen(kw_only=True)
class MembershipsPlan(Plan):
    """All that determines a reproduction.

    Raises `ValueError` for a value out of range, `UnknownPlugError` for an unknown membership.
    """

    PAPER = "memberships"
    RUNS = 3  # chosen: live, half a minute each; the paper has 10 of V1, 5 of V2 and V3
    LEAST: ClassVar = {"runs": 1, "virtual_runs": 1, "events": 1}

    memberships: tuple[str, ...] = field(factory=memberships_of_all, converter=tuple[str, ...])
    """The memberships compared in the virtual network. Live they are those of the paper among them
    if all are compared, and all of them if they are chosen."""
    virtual_runs: int = field(default=attrs.Factory(lambda self: self.runs + 1, takes_self=True))
    """In the virtual network, of each. chosen: one more than live, so that all take 17 minutes; of
    four runs an interval is half as long as of three."""
    events: int = EVENTS
    preset: str | None = None
    """``paper``: parameters and memberships as the paper prints them; None: the same number of
    copies a process, and a row without what SCAMP has been given."""
    sizes: tuple[int, ...] | None = field(
        default=None, validator=attrs.validators.optional(_check_sizes)
    )
    """Numbers of processes in g, d and a; None: the paper's."""
    p_sel: tuple[float, ...] = P_SEL
    rest_seconds: float = REST_SECONDS
    virtual_p_sel: tuple[float, ...] = VIRTUAL_P_SEL

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        if self.preset is not None and self.preset not in SETTINGS_PRESETS:
            raise ValueError(
                f"unknown preset {self.preset!r}; there is: {', '.join(SETTINGS_PRESETS)}"
            )
        if not self.memberships or len(set(self.memberships)) < len(self.memberships):
            raise ValueError("give each membership that is to be compared once, and one at least")
        for name in self.memberships:
            if not _is_plain(name):
                raise ValueError(
                    f"the membership {name!r} is of a protocol of its own, not CAMCAST"
                )

    def contenders(self, world: World) -> Iterator[Contender]:
        """Yield who is compared in a world, in the order of the page.

        In the virtual network the first of those that keep
        their tables alike has a second row without what it has besides its paper, unless the preset
        leaves that out everywhere: the discovery, in which alike ones differ, is not touched by it.
        """
        shown = []
        chosen = self.memberships != memberships_of_all()
        for name in self.memberships:
            if world == "virtual" or chosen or name in VARIANTS:
                yield Contender(name)
            backend = find_backend(name)
            if world == "virtual" and self.preset is None and backend.as_printed:
                if backend.keeper not in shown:
                    yield Contender(name, printed=True)
                shown.append(backend.keeper)

    def cells(self, world: World) -> list[Given]:
        """Return the runs in a world, by repetition: one that is stopped has some of each."""
        events = VIRTUAL_EVENTS * self.events
        runs, p_sel = self.virtual_runs, self.virtual_p_sel
        more: dict[str, Any] = {} if self.preset is None else {"preset": self.preset}
        if world == "live":
            runs, events, p_sel = self.runs, self.events, self.p_sel
            more["rest_seconds"] = self.rest_seconds
        return [
            {
                "kind": world,
                **attrs.asdict(contender),
                "sizes": list(self.sizes_of(contender.backend)),
                "p_sel": list(p_sel),
                "events": events,
                "seed": self.seed,
                "run": run,
                **more,
            }
            for run in range(runs)
            for contender in self.contenders(world)
        ]

    def sizes_of(self, backend: str) -> tuple[int, ...]:
        """Return how many processes g, d and a have."""
        if self.sizes is not None:
            return self.sizes
        return SIZES if self.preset is None else SIZES_AS_PRINTED.get(backend, SIZES)


def options_of(given: Given) -> dict[str, object]:
    """Return the options of a cell's membership.

    By default tables are as large as the membership makes them, so that each holds the ln N that
    an event is sent to. With tables of ln N on average, as the paper's, SCAMP sends fewer copies
    than the dht, whose tables are all of one size, and that alone decides their order.
    """
    backend = find_backend(given["backend"])
    if "preset" not in given:
        return dict(backend.as_printed) if given["printed"] else {}
    small = {"c": 0} if "c" in attrs.fields_dict(backend.options) else {}
    return {**backend.as_printed, **small}  # [CAMCAST 6.2.1] topic tables of ln N


def parameters_of(given: Given) -> CommunitySettings:
    """Return the parameters of a cell (6.2.1), but for p_sel."""
    return attrs.evolve(PARAMETERS, **SETTINGS_PRESETS.get(given.get("preset", ""), {}))


def seed_of(given: Given) -> int:
    """Return the seed of a cell's run: every run of the plan's seed has its own."""
    return int(given["seed"]) * 10_000 + int(given["run"])


# -- live -----------------------------------------------------------------------------------------


RATE: Final = 50.0  # chosen: a third of the copies a second that one machine can carry
JOIN_SECONDS_MAX: Final = 120.0  # chosen: a wave; look-ups of a busy machine time out, and repeat
SETTLE_SECONDS_MAX: Final = 15.0  # chosen: as `Scenario`
PROCESSES: Final = 2  # chosen: as many as the smallest machine has cores
_BOTTOM: Final = Topic(("d", "g"))
_NAMES: Final = dict(zip((".d.g", ".d", "."), COMMUNITIES, strict=True))


def run_live(given: Given) -> JSON:
    """Carry out the run of a live cell; all p_sel are measured among the same nodes."""
    values = tuple(given["p_sel"])
    scenario = Scenario(
        name="memberships",
        communities=chain(given["sizes"], ["d", "g"]),
        membership=given["backend"],
        options=options_of(given),
        seed=seed_of(given),
        parameters=parameters_of(given),
        workload=Workload(topic=_BOTTOM, events=given["events"] * len(values), rate=RATE),
        workers=PROCESSES,
        repair=REPAIR,
        join_seconds=JOIN_SECONDS_MAX,
        settle_seconds=SETTLE_SECONDS_MAX,
        rest_seconds=given["rest_seconds"],
        upward_probabilities=values,
    )
    with TemporaryDirectory(prefix="camcast-") as place:
        folder = OutputFolder(Path(place))
        outcome = asyncio.run(run_experiment(scenario, folder, lambda _progress: None))
        if outcome.interrupted:
            raise KeyboardInterrupt
        readings = read_apart(scenario, folder)
    rows: list[JSON] = []
    for p_sel, reading in readings.items():
        parameters = attrs.evolve(scenario.parameters, p_sel=p_sel)
        described = attrs.evolve(scenario, parameters=parameters)
        summary, receptions = summarise(reading, described), _receptions(reading)
        rows += [
            {
                "p_sel": p_sel,
                "community": _NAMES[community.topic],
                "reception": community.reception,
                "reliability": community.reliability,
                "efficiency": community.efficiency,
                "hops_mean": community.hops_mean,
                "upward": community.upward_messages / summary.events,
                "predicted": community.predicted,
                "by_event": receptions[community.topic],
            }
            for community in summary.communities
        ]
    seconds = outcome.timings
    lived = fsum(seconds.values()) - seconds["reading the traces"]
    return {
        "rows": rows,
        "table_to_law": _table_to_law(outcome.summary),
        "unlisted": _unlisted(next(iter(readings.values()))),
        "start_seconds": seconds["joining"],
        "settle_seconds": seconds["settling tables"],
        "controls": outcome.counters["controls"] / scenario.nodes / lived,
        "parasites": outcome.parasites,
    }


def _receptions(reading: Reading) -> Mapping[str, list[float]]:
    """Return by community which share of it got each event; nobody leaves before or crashes."""
    found: dict[str, list[float]] = {}
    for topic in {member.topic: None for member in reading.members.values()}:
        members = [member.node for member in reading.members.values() if member.topic == topic]
        for event, publish in reading.published.items():
            expected = [node for node in members if node != publish.node]
            got = sum(node in reading.deliveries[event][topic] for node in expected)
            found.setdefault(topic, []).append(got / max(1, len(expected)))
    return found


def _table_to_law(summary: Summary) -> float:
    """Return the entries of all topic tables, as a share of what the membership's law says."""

    def entries(value: Callable[[CommunitySummary], float | None]) -> float:
        return fsum((value(c) or 0.0) * c.processes for c in summary.communities)

    return entries(lambda c: c.view_mean) / max(1.0, entries(lambda c: c.view_law or 0.0))


def _unlisted(reading: Reading) -> float:
    """Return the share of members that nobody has in the topic table, before anybody leaves."""
    members = reading.members.values()
    views = reading.views(nextafter(min(member.left for member in members), -inf))
    listed = set().union(*views.values())
    return sum(member.node not in listed for member in members) / len(members)


# -- in the virtual network -----------------------------------------------------------------------


VIRTUAL_REST_SECONDS: Final = 70.0  # chosen: a lease of SCAMP and more
COUNTED_SECONDS: Final = 60.0  # chosen: a lease, and an upkeep of the overlay's
NOTICE_SECONDS_MAX: Final = 60.0  # chosen: ten times what a crash takes to be noticed
NEWCOMERS: Final = 8  # chosen: one in ten of g; a mean over them is known to a third
VICTIMS: Final = 8  # chosen: likewise
REPAIR_SECONDS: Final = 30.0  # chosen: tables that have lost half their entries are full again
RECEPTION_EVENTS: Final = 20  # chosen: 1,600 expected receptions in g
EVENT_SECONDS: Final = 0.1  # chosen: between two events; nothing queues here
SPREAD_SECONDS: Final = 5.0  # chosen: five times what an event takes
ORDER_EVENTS: Final = 50  # chosen: a second of one publisher, 3,900 receptions in g
ORDER_SECONDS: Final = 0.02  # chosen: 50 events/s, whose order latencies of a WAN disturb
LOSS: Final = 0.15  # [CAMCAST 6.1.1: a copy arrives with probability 0.85]
UPKEEP_NOTES: Final = (
    "In the virtual network, with latencies between hosts of the Internet (median 68 ms one"
    " way), and the discovery that each has live: gateways, or the real Kademlia. All join"
    " in the same instant, through one first contact.",
    "Copies: of an event, sent by a process that has it to others of its community, over"
    " all three communities.",
    f"The in-degree is looked at {VIRTUAL_REST_SECONDS:g} s later: its chi-square against a"
    " binomial is about its degrees of freedom if tables are uniform, less if everybody"
    " is in as many tables as everybody else, more if some are neglected.",
    f"Control: everything that is sent in {COUNTED_SECONDS:g} s without events, the"
    " DHT's datagrams included, headers of TCP, UDP and IP not.",
    f"{NEWCOMERS} newcomers join g one after the other; then {VICTIMS} of g crash"
    f" at once. What took longer than {NOTICE_SECONDS_MAX:g} s counts as that.",
    f"Then the first contact is killed, {REPAIR_SECONDS:g} s later {RECEPTION_EVENTS} events"
    f" are published in g, and {NEWCOMERS} newcomers join through an arbitrary member. In"
    f" the end {VICTIMS} more crash, a copy is lost with probability {LOSS:g} from"
    f" then on, and {RECEPTION_EVENTS} events are published at once.",
    f"Order and late joiners: in a network of its own, with repair, g joins alone. One process"
    f" publishes {ORDER_EVENTS} events, {1 / ORDER_SECONDS:g} a second, which are delivered as they"
    " arrive; with order=fifo those that overtook another would have waited. Then"
    f" {NEWCOMERS} newcomers join one after the other, and ask for all of them.",
)
"""The course of a run in the virtual network, in words."""


def run_virtual(given: Given) -> JSON:
    """Carry out one run."""
    with collector_off(), warnings_unheard():
        repairs = parameters_of(given).retention_seconds > 0
        more = _RepairedRun(given).order_and_past() if repairs else {}
        return {**_Run(given).carry_out(), **more}


def _counted(seconds: float | None) -> float:
    """Return after how many seconds something came to be; None: it never did."""
    return NOTICE_SECONDS_MAX if seconds is None else seconds


class _Run:
    def __init__(self, given: Given, store: Store | None = None) -> None:
        self._given = given
        self._communities = chain(given["sizes"], ["d", "g"])
        self._bottom = max(self._communities, key=lambda topic: topic.level)
        self._network = VirtualNetwork(seed_of(given), Climate(latency=LogNormal()))
        backend = find_backend(given["backend"])
        self._settings = Settings(
            backend=backend,
            discovery=find_discovery(backend.discovery),
            options=backend.parse_options(options_of(given)),
            parameters=parameters_of(given),
            protocol=CamcastProtocol(),
        )
        self._parts = Parts(store=store)
        self._first = self._start(())
        self._topics: dict[int, Topic] = {}
        """By number of a process: which topic it joined."""
        self._dead: dict[PeerId, None] = {}
        self._hops: dict[tuple[EventId, Topic], list[int]] = {}
        """The hops of each delivery, by event and community."""
        self._delivered = 0
        self._network.on_delivery = self._on_delivery

    def carry_out(self) -> dict[str, JSON]:
        bootstrap = self._all_join()
        self._network.run(VIRTUAL_REST_SECONDS)
        tables = self._of_tables()
        kilobytes = self._control_kilobytes()
        sent, delivered = self._copies_sent(), self._delivered
        rows = [row for p_sel in self._given["p_sel"] for row in self._spread(p_sel)]
        copies = (self._copies_sent() - sent) / max(1, self._delivered - delivered)
        newcomers = [self._newcomer(self._first.me.address) for _ in range(NEWCOMERS)]
        self._crash_some()
        dropped = self._until(self._dead_are_forgotten, NOTICE_SECONDS_MAX)
        self._crash(self._first)
        self._network.run(REPAIR_SECONDS)
        reception = self._reception()
        member = self._members()[0]
        alone = [self._newcomer(member.me.address)[0] for _ in range(NEWCOMERS)]
        self._crash_some()
        weather = self._network.weather
        weather.climate = attrs.evolve(weather.climate, loss=LOSS)
        return {
            "rows": rows,
            **tables,
            "copies_each": copies,
            "bootstrap_seconds": bootstrap,
            "control_kilobytes": kilobytes,
            "newcomer_seconds": fsum(_counted(joined) for joined, _ in newcomers) / NEWCOMERS,
            "listed_seconds": fsum(listed for _, listed in newcomers) / NEWCOMERS,
            "dropped_seconds": _counted(dropped),
            "reception_alone": reception,
            "joined_alone": sum(joined is not None for joined in alone) / NEWCOMERS,
            "reception_storm": self._reception(),
            "parasites": sum(p.node.counters.parasites for p in self._network),
        }

    def _start(self, gateways: tuple[str, ...]) -> Process:
        settings = attrs.evolve(self._settings, gateways={ROOT: gateways})
        return self._network.start(settings, parts=self._parts)

    def _join(self, topic: Topic, gateway: str) -> Process:
        process = self._start((gateway,))
        self._topics[process.number] = topic
        self._network.do(process, lambda node, now: node.join(topic, now))
        return process

    def _members(self) -> list[Process]:
        """Return who is in g."""
        return [p for p in self._network if self._topics.get(p.number) == self._bottom]

    def _tables(self) -> dict[Process, list[PeerId]]:
        """Return whom the members of g have in their topic tables."""
        return {
            process: [contact.peer for contact in group.membership.peers()]
            for process in self._members()
            if (group := process.node.local_group(self._bottom)) is not None
        }

    def _until(self, holds: Callable[[], bool], seconds_max: float) -> float | None:
        """Return the seconds after which something holds; None if it took too long."""
        before = self._network.now
        came = self._network.run_until(holds, seconds_max)
        return self._network.now - before if came else None

    def _all_join(self) -> float | None:
        for topic, size in self._communities.items():
            for _ in range(size):
                self._join(topic, self._first.me.address)

        def joined() -> bool:
            return all(
                (part := process.node.local_group(self._topics[process.number])) is not None
                and part.joined
                for process in self._network
                if process.number in self._topics
            )

        return self._until(joined, JOIN_SECONDS_MAX)

    def _of_tables(self) -> dict[str, float]:
        """Return what is to be seen of the topic tables, before anything happens to them.

        In-degrees of g are compared with those of uniform tables of the same mean by their
        chi-square over its degrees of freedom: about 1 if they are alike.
        """
        tables = self._tables()
        size = len(tables)
        listed = Counter(peer for table in tables.values() for peer in table)
        degrees = [listed[process.me.peer] for process in tables]
        mean = sum(degrees) / size
        variance = mean * (1 - mean / (size - 1))  # binomial: each table has one with mean/(N-1)
        backend, options = self._settings.backend, self._settings.options
        return {
            # where everybody holds everybody there is nothing that could vary
            "chi_square": fsum((degree - mean) ** 2 for degree in degrees)
            / (variance or 1.0)
            / (size - 1),
            "table_to_law": mean / backend.expected_view(options, size),
            "unlisted": sum(degree == 0 for degree in degrees) / size,
        }

    def _sent_bytes(self) -> int:
        network = self._network
        frames = network.bytes + network.messages * len(FRAME_HEADER)
        return frames + network.datagrams.sent_bytes

    def _control_kilobytes(self) -> float:
        before = self._sent_bytes()
        self._network.run(COUNTED_SECONDS)
        sent = self._sent_bytes() - before
        return sent / 1000 / len(self._topics) * 3600 / COUNTED_SECONDS

    def _newcomer(self, gateway: str) -> tuple[float | None, float]:
        """Let one join g; return when it had joined, and when it was in somebody's table."""
        process = self._join(self._bottom, gateway)
        part = process.node.local_group(self._bottom)
        assert part is not None
        joined = self._until(lambda: part.joined, NOTICE_SECONDS_MAX)
        listed = self._until(
            lambda: any(process.me.peer in table for table in self._tables().values()),
            NOTICE_SECONDS_MAX,
        )
        return joined, _counted(joined) + _counted(listed)

    def _crash(self, process: Process) -> None:
        self._topics.pop(process.number, None)
        self._network.crash(process)

    def _crash_some(self) -> None:
        """Crash some of g."""
        for victim in self._network.protocol.sample(self._members(), VICTIMS):
            self._dead[victim.me.peer] = None
            self._crash(victim)

    def _dead_are_forgotten(self) -> bool:
        """Say whether nobody of g has one of the crashed in the table."""
        return not any(peer in self._dead for table in self._tables().values() for peer in table)

    # -- events --------------------------------------------------------------------------------

    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        topic = self._topics[process.number]
        for event in delivery.batch.events():
            self._delivered += 1
            self._hops.setdefault((event.id, topic), []).append(event.hops)

    def _copies_sent(self) -> int:
        """Return how many copies the living have sent within their communities."""
        return sum(process.node.counters.event_copies_sent for process in self._network)

    def _publish(self, events: int, p_sel: float | None) -> list[EventId]:
        """Let members of g publish in turn, and wait until everything has spread."""
        members, published = self._members(), []

        def publish(node: Node, now: float) -> EventId:
            return node.publish(self._bottom, b"", now, upward_probability=p_sel).id

        for number in range(events):
            published.append(self._network.do(members[number % len(members)], publish))
            self._network.run(EVENT_SECONDS)
        self._network.run(SPREAD_SECONDS)
        return published

    def _reception(self) -> float:
        """Publish in g; return the share of its members' receptions that came."""
        published = self._publish(RECEPTION_EVENTS, None)
        received = sum(len(self._hops.get((event, self._bottom), ())) for event in published)
        return received / (RECEPTION_EVENTS * len(self._members()))

    def _counts(self, topic: Topic) -> Counter[str]:
        """Return what the members of a community have counted of events."""
        counted: Counter[str] = Counter()
        for process in self._network:
            if self._topics.get(process.number) == topic:
                counters = process.node.counters
                counted["useful"] += counters.events
                counted["arrived"] += counters.events + counters.duplicates
                counted["upward"] += counters.upward_sent
        return counted

    def _spread(self, p_sel: float) -> Iterator[JSON]:
        """Publish events of one p_sel; yield the measures of each community, for the figures."""
        topics = sorted(self._communities, key=lambda topic: -topic.level)
        before = {topic: self._counts(topic) for topic in topics}
        published = self._publish(self._given["events"], p_sel)
        for name, topic in zip(COMMUNITIES, topics, strict=True):
            # a publisher has its own event, with 0 hops, which is no reception
            expected = self._communities[topic] - (topic == self._bottom)
            hops = [
                [hop for hop in self._hops.get((event, topic), ()) if hop] for event in published
            ]
            received = [len(of_event) / max(1, expected) for of_event in hops]
            flat = [hop for of_event in hops for hop in of_event]
            counted = self._counts(topic)
            counted.subtract(before[topic])
            arrived = counted["arrived"]
            yield {
                "p_sel": p_sel,
                "community": name,
                "reception": fsum(received) / len(received),
                "reliability": sum(share == 1 for share in received) / len(received),
                "efficiency": counted["useful"] / arrived if arrived else None,
                "hops_mean": fsum(flat) / len(flat) if flat else None,
                "upward": counted["upward"] / len(published),
                "predicted": None,
                "by_event": received,
            }


class _RepairedRun(_Run):
    """A run of g alone, in which events that were missed are asked for."""

    def __init__(self, given: Given) -> None:
        super().__init__(given, Store())
        self._communities = {self._bottom: self._communities[self._bottom]}
        self._got: dict[int, list[int]] = {}
        """By number of a process: the numbers of the publisher's events, as they came."""

    def order_and_past(self) -> dict[str, float]:
        """Return which share of the events was overtaken, and after how long newcomers had all."""
        self._all_join()
        self._network.run(SPREAD_SECONDS)
        publisher = self._members()[0]
        for _ in range(ORDER_EVENTS):
            self._network.do(publisher, lambda node, now: node.publish(self._bottom, b"", now))
            self._network.run(ORDER_SECONDS)
        self._network.run(SPREAD_SECONDS)
        receivers = [self._got.get(process.number, []) for process in self._members()[1:]]
        came = sum(map(len, receivers))
        past = [self._past_seconds() for _ in range(NEWCOMERS)]
        return {
            "overtaken": sum(map(_steps_back, receivers)) / max(1, came),
            "past_seconds": fsum(past) / NEWCOMERS,
        }

    @override
    def _on_delivery(self, process: Process, delivery: Deliver) -> None:
        numbers = self._got.setdefault(process.number, [])
        numbers += [event.id.sequence for event in delivery.batch.events()]

    def _past_seconds(self) -> float:
        """Let one join g; return when, from its joining on, it has all that was published."""
        process = self._join(self._bottom, self._first.me.address)
        part = process.node.local_group(self._bottom)
        assert part is not None
        if self._until(lambda: part.joined, NOTICE_SECONDS_MAX) is None:
            return NOTICE_SECONDS_MAX
        seconds = parameters_of(self._given).retention_seconds
        self._network.do(process, lambda node, now: node.history(part, seconds, now))
        got = self._got.setdefault(process.number, [])
        return _counted(self._until(lambda: len({*got}) == ORDER_EVENTS, NOTICE_SECONDS_MAX))


def _steps_back(numbers: Sequence[int]) -> int:
    """Return how many of the numbers come after a higher one."""
    highest = accumulate(numbers, max)
    return sum(number < before for number, before in zip(numbers, highest, strict=True))
