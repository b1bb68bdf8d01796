"""What a scenario of the chaos suite is, and how one is run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from math import inf
from pathlib import Path
from typing import Final

from attrs import evolve, frozen

from camcast.engine.settings import Order
from tests.library.chaos.checker import Fault, Findings, check
from tests.library.chaos.lab import Choice, Lab, WorkerError
from tests.library.chaos.network import Network, Weather, Wires

LEVELS: Final = {".": 8, ".a": 10, ".b": 10, ".a.x": 10, ".a.y": 6, ".b.x": 6}
"""Fifty nodes on topics of three levels."""
_LOOK_SECONDS: Final = 1.0  # chosen: how often the checker looks whether all has arrived


def over_levels(nodes: int) -> list[str]:
    """Return a topic for each of so many nodes, in the proportions of `LEVELS`."""
    topics = [topic for topic, count in LEVELS.items() for _ in range(count)]
    return [topics[number * len(topics) // nodes] for number in range(nodes)]


async def one_gateway(lab: Lab, scenario: Scenario) -> None:
    """Nodes of three levels, spread over all hosts, with one gateway on the first."""
    gateway = await lab.start_gateway()
    topics = lab.random.sample(over_levels(scenario.nodes), scenario.nodes)
    await lab.populate(topics, scenario.processes, [gateway])


@frozen(kw_only=True)
class Scenario:
    """A population, what happens to it, and what is asked of the events published meanwhile.

    A run starts the population (`prepare`), lets it publish for `before` seconds, then lets
    `happen` do its work, then lets it publish for `after` more. Then it waits until everything
    has arrived, `settle` seconds at most, and checks.
    """

    name: str
    title: str
    """What happens, in a few words."""
    happen: Callable[[Lab], Awaitable[None]]
    prepare: Callable[[Lab, Scenario], Awaitable[None]] = one_gateway
    nodes: int = 31
    processes: int = 6
    hosts: int = 4
    closed: tuple[int, ...] = ()
    """The hosts behind firewalls, which the packet filter of nftables makes."""
    hidden: tuple[int, ...] = ()
    """The hosts behind a NAT each, which nftables makes as well; they have the same addresses."""
    weather: bool = False
    """Whether hosts are joined by the lossy switch instead of wires."""
    share_pipes: bool = True
    """Whether the nodes of a process share their output pipes."""
    rate: float = 2.0
    """Events a second of each process. chosen: streams with gaps of seconds, where the loss of
    the last event shows in no later one"""
    before: float = 3.0
    after: float = 8.0
    settle: float = 15.0  # chosen: more than any limit on arrival
    excused: tuple[float, float] | None = None
    """Events may be lost that were published from so many seconds before the fault began to so
    many after it ended (if it has no end, after it began)."""
    arrival_seconds: float = inf
    """How long after its publication, and after the end of the fault, an event may arrive."""
    may_stay_out: bool = False
    """Whether nodes may fail to join."""
    forgotten_max: float = inf
    """How often topic tables may drop a peer in the ten seconds after the fault began."""
    growth_max: float = inf
    """By what factor the memory of a process may grow in the second half of the run."""
    settling_max: float = inf
    """By what share of its pace in the second quarter memory may grow in the last."""

    @property
    def shut(self) -> tuple[int, ...]:
        """The hosts that nobody can connect to."""
        return *self.closed, *self.hidden

    def network(self, seed: int) -> Network:
        """Make the network that the scenario is for."""
        return Weather(self.hosts, seed) if self.weather else Wires(self.hosts)

    def bound(self, fault: Fault) -> Fault:
        """Return the times of a fault together with what is asked of its events."""
        fault = evolve(fault, arrival_seconds=self.arrival_seconds)
        if self.excused is None:
            return fault
        before, after = self.excused
        end = fault.began if fault.healed == inf else fault.healed
        return evolve(fault, excused_from=fault.began - before, excused_to=end + after)


@frozen(kw_only=True)
class Outcome:
    """One run of a scenario."""

    scenario: str
    title: str
    membership: str
    seconds: float
    """How long the run took."""
    findings: Findings | None
    broken: list[str]
    """The limits that were not kept, and errors of the run itself; empty: passed."""


def verdict(scenario: Scenario, findings: Findings, order: Order = "fifo") -> list[str]:
    """Return the limits that a run of this order did not keep."""
    limits = {
        "lost": findings.lost,
        "late": findings.late,
        "missed": findings.missed,
        "told falsely": findings.told_falsely,
        "duplicated": findings.duplicated,
        "out of order": findings.out_of_order if order == "fifo" else 0,
        "parasites": findings.parasites,
        "refused": findings.refused,
        "failures": findings.failures,
        "not ready": 0 if scenario.may_stay_out else findings.not_ready,
    }
    broken = [f"{count} {name}" for name, count in limits.items() if count]
    if not findings.due:
        broken.append("nothing was due")
    if findings.growth is not None and findings.growth > scenario.growth_max:
        broken.append(f"memory grew by a factor of {findings.growth:.2f}")
    if findings.settling is not None and findings.settling > scenario.settling_max:
        broken.append(f"memory grows on, by {findings.settling:.2f} of its earlier pace")
    if findings.forgotten > scenario.forgotten_max:
        broken.append(f"{findings.forgotten} live peers given up")
    return broken


async def run(
    scenario: Scenario, choice: Choice, folder: Path, network: Network | None = None
) -> Outcome:
    """Run a scenario; its processes' records and messages stay in the folder.

    Without a `network`, the scenario's own is made, which needs root.
    """
    began = time.monotonic()
    findings, broken = None, []
    net = scenario.network(choice.seed) if network is None else network
    try:
        lab = Lab(choice, net, scenario.hosts, folder, share_pipes=scenario.share_pipes)
        async with lab:
            await scenario.prepare(lab, scenario)
            await lab.publish(scenario.rate)
            await asyncio.sleep(scenario.before)
            await scenario.happen(lab)
            await asyncio.sleep(scenario.after)
            await lab.stop_publishing()
            findings = await _settled(lab, scenario)
        broken = verdict(scenario, findings, choice.order)
    except (WorkerError, OSError) as error:
        broken = [f"{type(error).__name__}: {error}"]
    finally:
        await asyncio.to_thread(net.close)
    return Outcome(
        scenario=scenario.name,
        title=scenario.title,
        membership=choice.membership,
        seconds=time.monotonic() - began,
        findings=findings,
        broken=broken,
    )


async def _settled(lab: Lab, scenario: Scenario) -> Findings:
    """Wait until all has arrived, but no longer than the scenario allows."""
    end = time.monotonic() + scenario.settle
    fault = scenario.bound(lab.fault)
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        findings = await asyncio.to_thread(lambda: check(lab.history(), fault))
        if findings.lost + findings.excused_lost == 0 or time.monotonic() > end:
            return findings
