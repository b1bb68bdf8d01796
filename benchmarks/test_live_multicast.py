"""Live multicast: nodes of one community, in 2 OS processes or one a process, beside a raw pair.

*Fast* is a burst, as fast as the publisher can, or as several publishers at once can. *Each turn*:
every node publishes one event in a turn of its event loop, so that no batch has more than one.
*Paced* is a steady stream. The figures that matter are ratios to the raw pair in the same round,
since machines are noisy; `against.py` compares with another commit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from attrs import evolve, frozen
from camcast_members import CamcastMembers
from extra_info import Value
from fleet import Fleet, Run
from fleet_worker import PythonWorker
from live_info import live_info
from pytest_benchmark.fixture import BenchmarkFixture
from raw_pipe import Raw, measure_raw

from camcast import CommunitySettings

SMALL, LARGE = 256, 16_384  # chosen: bytes; a hundredth of a frame, and half of one
PARAMETERS = CommunitySettings(c=2)  # chosen: a fan-out of ceil(ln 50 + 2) = 6
SEED = 1
DELIVERIES = 100_000  # chosen: about half a second
BURST = {SMALL: 10_000, LARGE: 200}  # chosen: 3 MB, which a pipe's queue of 4 MB holds
PACED_SECONDS = 4  # chosen: 800 events
RAW_MESSAGES = {SMALL: 300_000, LARGE: 20_000}  # chosen: a third of a second of the raw rate
RAW_SECONDS = 1  # chosen: 200 messages tell a median
ROUNDS = 3  # chosen: the median of three stands against a noisy neighbour


@frozen
class Nodes:
    """The nodes of a fleet: how many, and what carries and takes their events."""

    count: int
    transport: str = "zmtp"
    batches: bool = False
    tree: bool = False
    encrypted: bool = False
    signed: bool = False
    levels: int = 1
    """How many communities they are in, one below another, as many in each. Who publishes is in the
    lowest, so that all get all events."""
    own_links: bool = False
    """Each with links of its own, in two processes."""
    alone: bool = False
    """Each in a process of its own, as nodes mostly are; else they are in two, and share links,
    which costs less than a link each."""

    def __str__(self) -> str:
        kind = ("-batches" if self.batches else "") + ("-tree" if self.tree else "")
        kind += "-encrypted" if self.encrypted else ""
        kind += "-signed" if self.signed else ""
        kind += f"-{self.levels}levels" if self.levels > 1 else ""
        kind += ("-own-links" if self.own_links else "") + ("-alone" if self.alone else "")
        return f"{self.count}nodes-{self.transport}{kind}"

    @property
    def parameters(self) -> CommunitySettings:
        """The parameters of their community."""
        return evolve(PARAMETERS, spread="auto" if self.tree else "infect")

    def fleet(self, membership: str, protocol: str = "camcast") -> Fleet:
        """Return a fleet of them, which starts as a context manager."""
        members = partial(
            CamcastMembers,
            membership,
            self.parameters,
            protocol=protocol,
            transport=self.transport,
            batches=self.batches,
            passphrase="a passphrase of benchmarks" if self.encrypted else None,
            own_links=self.own_links,
            signed=self.signed,
            levels=self.levels,
        )
        processes = self.count if self.alone else 2
        return Fleet(self.count, partial(PythonWorker, members), processes, seed=SEED)


@frozen
class Job:
    """What is published; `kind` names it."""

    kind: str
    payload_bytes: int = SMALL
    rate: float | None = None
    publishers: int = 1
    by_turn: bool = False

    def __str__(self) -> str:
        return f"{self.kind}-{self.payload_bytes}B"

    def done_by(self, fleet: Fleet, paced_seconds: float) -> Run:
        """Let a fleet do it once: a burst, or a steady stream of so many seconds."""
        events = min(BURST[self.payload_bytes], DELIVERIES // fleet.nodes)
        if self.rate is not None:
            events = int(self.rate * paced_seconds)
        return fleet.publish(
            events,
            self.payload_bytes,
            self.rate,
            publishers=self.publishers,
            by_turn=self.by_turn,
        )


FAST, FAST_LARGE = Job("fast"), Job("fast", LARGE)
# chosen: 200 events/s, below saturation; 20 of the large, which are 250 MB/s in all
PACED, PACED_LARGE = Job("paced", rate=200.0), Job("paced", LARGE, rate=20.0)
PACED_ALONE = Job("paced", rate=50.0)  # chosen: 1,000 deliveries/s, half of what two cores carry
PACED_LEVELS = Job("paced", rate=50.0)  # chosen: 20 processes a level and 50/s, as in the laws
TEN_AT_ONCE = Job("ten-at-once", publishers=10)  # chosen: a fifth of the fleet
ALL_EACH_TURN = Job("all-each-turn", publishers=50, by_turn=True)

TEN, FIFTY, HUNDRED = Nodes(10), Nodes(50), Nodes(100)  # chosen: up to what one machine carries
JOBS: dict[Nodes, tuple[Job, ...]] = {
    TEN: (FAST, FAST_LARGE, PACED, PACED_LARGE),
    FIFTY: (FAST, FAST_LARGE, PACED, PACED_LARGE, TEN_AT_ONCE, ALL_EACH_TURN),
    HUNDRED: (FAST, FAST_LARGE, PACED, PACED_LARGE),
    Nodes(50, "zmq"): (FAST, PACED, TEN_AT_ONCE, ALL_EACH_TURN),
    Nodes(50, batches=True): (FAST, ALL_EACH_TURN),
    Nodes(50, tree=True): (FAST, PACED, TEN_AT_ONCE),
    Nodes(50, batches=True, tree=True): (FAST,),
    Nodes(100, tree=True): (PACED,),
    Nodes(60, levels=2): (PACED_LEVELS,),
    Nodes(60, tree=True, levels=2): (PACED_LEVELS,),
    Nodes(60, levels=3): (PACED_LEVELS,),
    Nodes(60, tree=True, levels=3): (PACED_LEVELS,),
    Nodes(50, encrypted=True): (FAST, PACED, ALL_EACH_TURN),
    Nodes(50, tree=True, encrypted=True): (FAST,),
    Nodes(50, signed=True): (FAST, ALL_EACH_TURN),
    Nodes(50, "tcp", own_links=True): (FAST, PACED),
    Nodes(50, "tcp", tree=True, own_links=True): (FAST, PACED),
    Nodes(20, "tcp", alone=True): (FAST, PACED_ALONE),
    Nodes(20, "tcp", tree=True, alone=True): (FAST, PACED_ALONE),
}

pytestmark = pytest.mark.benchmark(group="live multicast")


@pytest.fixture(scope="module")
def nodes(request: pytest.FixtureRequest) -> Nodes:
    chosen: Nodes = request.param
    return chosen


@pytest.fixture(scope="module")
def fleet(nodes: Nodes, membership: str, protocol: str) -> Iterator[Fleet]:
    with nodes.fleet(membership, protocol) as fleet:
        yield fleet


@pytest.mark.parametrize(
    ("nodes", "job"),
    [(nodes, job) for nodes, jobs in JOBS.items() for job in jobs],
    indirect=["nodes"],
    ids=str,
)
def test_live(
    benchmark: BenchmarkFixture,
    fleet: Fleet,
    nodes: Nodes,
    job: Job,
    membership: str,
    protocol: str,
) -> None:
    size, rate = job.payload_bytes, job.rate
    raws: list[Raw] = []
    runs: list[Run] = []
    raw_events = RAW_MESSAGES[size] if rate is None else int(rate * RAW_SECONDS)
    # Timed by the workers, from the first publication to the last delivery: the round itself
    # also waits until nothing more arrives. Each round has a raw rate of its own, from just before.
    benchmark.pedantic(
        lambda: runs.append(job.done_by(fleet, PACED_SECONDS)),
        setup=lambda: raws.append(measure_raw(raw_events, size, rate)),
        rounds=ROUNDS if rate is None else 1,
    )
    about: dict[str, Value] = {
        "membership": membership,
        "protocol": protocol,
        "transport": nodes.transport,
        "profile": "signed" if nodes.signed else "shared-key" if nodes.encrypted else "open",
        "subscriber": "batches" if nodes.batches else "callback",
        "publishers": job.publishers,
        "spread": nodes.parameters.spread,
        "levels": nodes.levels,
        "payload_bytes": size,
        "rate_per_second": rate,
    }
    benchmark.extra_info.update(live_info(fleet, about, nodes.parameters, runs, raws))
    assert all(run.delivered <= run.expected for run in runs), "an event was delivered twice"
