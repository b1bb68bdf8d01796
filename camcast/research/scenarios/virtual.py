"""Virtual scenarios: everything that determines a run in the virtual network.

The processes (by communities, or a churn trace), the workload, the climate of the links, and the
faults: crashes and restarts, pauses, cuts and their healing, members that lie. A scenario
file has the fields of `VirtualScenario` as keys; its tables have those of the classes here, and the
options of the membership::

    seed = 7
    duration_seconds = 120
    [communities]
    "." = 10
    ".d" = 100
    [[processes]]
    topics = [".d", ".e"]
    count = 20
    [links]
    latency = "matrix"
    file = "planetlab.csv"
    loss = 0.01
    [workload]
    topic = ".d"
    events = 100
    rate = 2
    [[crashes]]
    at_seconds = 30
    share = 0.3
    restart_seconds = 20
    [[cuts]]
    from_seconds = 60
    until_seconds = 80
    share = 0.5
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from math import ceil, inf
from pathlib import Path
from typing import ClassVar, Final, Literal, get_args

from attrs import field, frozen, validators
from typing_extensions import override

from camcast.interests.interest import Interest
from camcast.research.scenarios.base import BaseScenario, ScenarioError
from camcast.research.workloads import Publication
from camcast.research.workloads.churn import ChurnTrace, load_churn
from camcast.research.workloads.latency_file import load_latencies
from camcast.virtual.climate import Climate, Constant, Latency, LogNormal, Uniform
from camcast.vocabulary.arguments import NOT_NEGATIVE, PROBABILITY
from camcast.vocabulary.topics import Topic

EVENTS_MAX: Final = 10_000_000  # chosen: a wrong rate is found before it fills the memory


@frozen(kw_only=True)
class Links:
    """The table ``[links]``: what every link is like (`camcast.virtual.climate`)."""

    latency: Literal["constant", "uniform", "lognormal", "matrix"] = "constant"
    seconds: float = field(default=0.05, validator=NOT_NEGATIVE)
    """The constant latency. chosen: across a continent."""
    low_seconds: float = field(default=0.005, validator=NOT_NEGATIVE)
    high_seconds: float = field(default=0.15, validator=NOT_NEGATIVE)
    """The bounds of a uniform latency. chosen: within a city, around the world."""
    median_seconds: float = field(default=LogNormal().median_seconds, validator=validators.gt(0))
    p95_seconds: float = field(default=LogNormal().p95_seconds, validator=validators.gt(0))
    """The median and the 95th percentile of a lognormal latency."""
    file: Path | None = None
    """A matrix of round-trip times in ms (`camcast.research.workloads.latency_file`)."""
    loss: float = field(default=0.0, validator=PROBABILITY)
    duplication: float = field(default=0.0, validator=PROBABILITY)
    reordering: float = field(default=0.0, validator=PROBABILITY)
    hold_seconds_max: float = field(default=Climate().hold_seconds_max, validator=NOT_NEGATIVE)

    def __attrs_post_init__(self) -> None:
        if (self.latency == "matrix") is (self.file is None):
            raise ScenarioError(
                "latency 'matrix' needs a file, and only that takes one; give links.file with"
                ' links.latency = "matrix"'
            )
        self._distribution()  # raises for bounds in the wrong order

    def climate(self) -> Climate:
        """Return the climate; raises `WorkloadError` for a wrong matrix."""
        return Climate(
            latency=self._distribution() if self.file is None else load_latencies(self.file),
            loss=self.loss,
            duplication=self.duplication,
            reordering=self.reordering,
            hold_seconds_max=self.hold_seconds_max,
        )

    def _distribution(self) -> Latency:
        match self.latency:
            case "uniform":
                return Uniform(self.low_seconds, self.high_seconds)
            case "lognormal":
                return LogNormal(self.median_seconds, self.p95_seconds)
        return Constant(self.seconds)


@frozen(kw_only=True)
class Crashes:
    """A table ``[[crashes]]``: processes die without leaving, and may start again."""

    at_seconds: float = field(validator=NOT_NEGATIVE)
    share: float = field(validator=PROBABILITY)
    """The share of the living processes that crashes, drawn at random."""
    community: Topic | None = None
    """Only processes of this community crash; None: of any."""
    restart_seconds: float | None = field(default=None, validator=validators.optional(NOT_NEGATIVE))
    """Seconds from the crash until they start again; None: never."""
    gateway: bool = False
    """Whether the gateway, or bootstrap node, dies as well; it never starts again."""
    identity: Literal["same", "new"] = "new"
    """The identity with which they start again; their address stays the same."""


@frozen(kw_only=True)
class Pauses:
    """A table ``[[pauses]]``: processes stop for a while, as with SIGSTOP.

    Messages that arrive meanwhile, their timers and their publications wait until they go on.
    """

    at_seconds: float = field(validator=NOT_NEGATIVE)
    seconds: float = field(validator=validators.gt(0))
    share: float = field(validator=PROBABILITY)
    """The share of the living processes that stops, drawn at random."""
    community: Topic | None = None
    """Only processes of this community stop; None: of any."""


@frozen(kw_only=True)
class Partition:
    """A table ``[[cuts]]``: for a while copies between two sides are lost."""

    from_seconds: float
    """When the cut begins; before 0 while the processes join, at their start at the earliest."""
    until_seconds: float = field(validator=NOT_NEGATIVE)
    share: float | None = field(default=None, validator=validators.optional(PROBABILITY))
    """One side is this share of the processes, drawn at random."""
    communities: tuple[Topic, ...] = ()
    """One side is the members of these communities; give either them or a share."""
    other_share: float | None = field(default=None, validator=validators.optional(PROBABILITY))
    """The other side is this share of the processes, drawn from the rest; None: it is all others.
    A process on neither side reaches both."""
    one_way: bool = False
    """Whether only copies from the one side to the other are lost, and none back."""
    loss: float = field(default=1.0, validator=PROBABILITY)
    """The probability that a copy between the sides is lost."""

    def __attrs_post_init__(self) -> None:
        if self.until_seconds <= self.from_seconds:
            raise ScenarioError(
                f"until_seconds={self.until_seconds} is not after from_seconds={self.from_seconds}"
            )
        if (self.share is None) is (not self.communities):
            raise ScenarioError("a cut takes either a share or communities, for its one side")


Lie = Literal["events", "goodbyes", "haves", "sizes", "subscriptions"]
LIES: Final[tuple[Lie, ...]] = get_args(Lie)


@frozen(kw_only=True)
class Liars:
    """A table ``[[liars]]``: members that follow the protocol, and send forged messages besides.

    ``events``: events under the names of other members; ``goodbyes``: messages to all in the tables
    that other members, and super-processes, have left; ``haves``: messages that other members have
    events which were never published; ``sizes``: samples for a community of a thousand million
    members; ``subscriptions``: joins of processes that do not exist.
    """

    sends: Lie
    members: int = field(default=1, validator=validators.ge(1))
    """The number of liars, drawn at random from the living."""
    community: Topic | None = None
    """Only members of this community lie; None: of any."""
    at_seconds: float = field(default=0.0, validator=NOT_NEGATIVE)
    seconds: float = field(default=inf, validator=validators.gt(0))
    """For how long they lie."""
    every_seconds: float = field(default=1.0, validator=validators.gt(0))
    """The time between two forged messages. chosen: a heartbeat."""


@frozen(kw_only=True)
class Churn:
    """The table ``[churn]``: joins and crashes of the nodes, from a trace of a real network."""

    file: Path
    from_seconds: float = field(default=0.0, validator=NOT_NEGATIVE)
    """When in the trace the run begins."""
    identity: Literal["same", "new"] = "new"
    """The identity with which a node comes back."""
    jitter_seconds: float = field(default=0.0, validator=NOT_NEGATIVE)
    """The longest uniform delay that is added to each change of a coarse trace."""

    def load(self) -> ChurnTrace:
        """Load the trace; raises `WorkloadError`."""
        return load_churn(self.file)


@frozen(kw_only=True)
class VirtualScenario(BaseScenario):
    """One run in the virtual network. With churn, nodes choose their kinds in their proportion."""

    UNNAMED: ClassVar[str] = "virtual"
    NODES_MAX: ClassVar[int] = 100_000  # chosen: some 6 GB; beyond that the population simulator
    TOO_MANY: ClassVar[str] = (
        "{nodes:,} processes in the communities are too many for the virtual network, which takes"
        f" {NODES_MAX:,}; use `camcast simulate population`"
    )
    DISCOVERIES: ClassVar[tuple[str, ...]] = ("own", "census", "gateways", "kademlia")
    discovery: str = "own"
    """``own``: the discovery of the membership, as live. ``gateways``, ``kademlia`` or a plug: this
    discovery, with one gateway or bootstrap node, which belongs to no community. ``census``: an
    ideal directory, which costs nothing, and with which hybrid is scamp, byte for byte."""
    constraints: tuple[str, ...] = ()
    """The constraints of the processes on attributes of events, in turn, as "mag >= 5", or "" for
    everything (`camcast.interests.interest`). Protocols that use attributes get them. Events that
    do not match may be received, but are not delivered."""
    join_gap_seconds: float = field(default=0.02, validator=NOT_NEGATIVE)
    """The time between two joins, the root community first. chosen: 50 a second."""
    settle_seconds: float = field(default=10.0, validator=NOT_NEGATIVE)
    """The time from the last join until 0 s of the scenario. chosen: ten heartbeats, and two checks
    of the super-topic tables."""
    duration_seconds: float = field(default=60.0, validator=validators.gt(0))
    """How long after 0 s events are published, and processes return and fail."""
    drain_seconds: float = field(default=10.0, validator=NOT_NEGATIVE)
    """The least time from the last event, fault or return until the end of the run, so that what
    happens late is judged alike. chosen: ten heartbeats, and the dead are known in 8 s."""
    symmetry_seconds: float = field(default=15.0, validator=validators.gt(0))
    """How long an arc may be known at one end only, while nothing is lost and nobody dies.
    chosen: some heartbeats; give more if heartbeats are longer."""
    stillborn: float = field(default=0.0, validator=PROBABILITY)
    """Share of the processes that die as soon as they have announced themselves, so that other
    processes still find them."""
    links: Links = field(factory=Links)
    crashes: tuple[Crashes, ...] = ()
    pauses: tuple[Pauses, ...] = ()
    cuts: tuple[Partition, ...] = ()
    liars: tuple[Liars, ...] = ()
    profile: Literal["open", "signed"] = "open"
    """Whether events are signed, with a stub of the real signatures' length and a stated cost
    (`camcast.research.simulation.stub_signatures`)."""
    churn: Churn | None = None

    @override
    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        for constraint in filter(None, self.constraints):
            Interest.parse(constraint)
        if (self.workload.events or 0) > EVENTS_MAX:
            raise ScenarioError(
                f"the workload has {self.workload.events:,} events; give {EVENTS_MAX:,} or fewer"
            )
        if self.workload.kind == "synthetic":  # topics of a file are checked when it is loaded
            self.check_topic(self.workload.topic)
        sizes = self.sizes
        for what, faults in (
            ("crashes", self.crashes),
            ("pauses", self.pauses),
            ("liars", self.liars),
        ):
            for fault in faults:
                if fault.community is not None and fault.community not in sizes:
                    raise ScenarioError(
                        f"{what} are to hit {fault.community}, which is no community here"
                    )
        for what, beginnings in (
            ("crashes.at_seconds", [crashes.at_seconds for crashes in self.crashes]),
            ("pauses.at_seconds", [pauses.at_seconds for pauses in self.pauses]),
            ("liars.at_seconds", [liars.at_seconds for liars in self.liars]),
            ("cuts.from_seconds", [cut.from_seconds for cut in self.cuts]),
        ):
            if (latest := max(beginnings, default=0.0)) > self.duration_seconds:
                raise ScenarioError(
                    f"{what} = {latest:g} is after the end of the run; give duration_seconds ="
                    f" {ceil(latest)} or more"
                )
        if self.churn is not None and any(cut.from_seconds < 0 for cut in self.cuts):
            raise ScenarioError("cuts cannot begin before 0 s where nodes join by a churn trace")
        for topic in chain.from_iterable(cut.communities for cut in self.cuts):
            if topic not in sizes:
                raise ScenarioError(f"cuts are to set {topic} apart, which is no community here")
        if self.topic_parameters.of_copies and self.overlapping:
            raise ScenarioError(
                "success by topic needs processes in one community each: of one in several, a frame"
                " does not say which community it is for"
            )

    @override
    def publications(self) -> list[Publication]:
        publications = super().publications()
        late = [one for one in publications if one.at_seconds > self.duration_seconds]
        if late:
            last = max(one.at_seconds for one in late)
            raise ScenarioError(
                f"the workload goes on for {last:g} s, and the run for {self.duration_seconds:g} s:"
                f" {len(late):,} of {len(publications):,} events would not be published; give"
                f" duration_seconds = {ceil(last)} or more, fewer events, or a higher rate or speed"
            )
        return publications

    def end_seconds(self, publications: Sequence[Publication]) -> float:
        """Return when the run ends: what happens last is settled by then.

        A pause or cut that begins within the duration may end later: what it kept from arriving
        would else be lost to the end of the run. Nobody returns after the duration.
        """
        returns = (crash.at_seconds + (crash.restart_seconds or 0.0) for crash in self.crashes)
        happening = [
            *(one.at_seconds for one in publications),
            *(crash.at_seconds for crash in self.crashes),
            *(when for when in returns if when <= self.duration_seconds),
            *(pause.at_seconds + pause.seconds for pause in self.pauses),
            *(cut.until_seconds for cut in self.cuts),
            *(() if self.churn is None else (self.duration_seconds,)),
        ]
        last = max(happening, default=-inf)
        return max(self.duration_seconds, last + self.drain_seconds)

    @property
    def calm(self) -> bool:
        """Whether nothing is lost and nobody dies, so that the models of reception apply."""
        faults = self.crashes or self.pauses or self.cuts or self.liars
        losses = self.links.loss or self.topic_parameters.of_copies
        return not (losses or self.stillborn or faults) and self.churn is None
