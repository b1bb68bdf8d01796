"""A live experiment: a scenario carried out phase by phase, with its nodes in worker processes.

start → join (in waves that double each community) → settle → publish (and kill, in the middle) →
quiet → leave politely → summary. SIGINT and SIGTERM end any phase early: the nodes that have
started leave politely, and the summary covers what happened until then.
"""

from __future__ import annotations

import asyncio
import gc
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

import attrs
from attrs import define, field, frozen

from camcast import JsonLinesSink
from camcast.live.signals import calling_at_signals
from camcast.live.transports import ZMQ
from camcast.observe.trace import Trace
from camcast.observe.trace_reading import read_traces
from camcast.research.experiment import worker_messages as messages
from camcast.research.experiment.node import manager_of
from camcast.research.experiment.progress import Progress
from camcast.research.experiment.worker import STATUS_SECONDS, raise_descriptor_limit
from camcast.research.experiment.workers import (
    ExperimentError,
    Interrupted,
    WorkerHandle,
    Workers,
    are_quiet,
    total,
)
from camcast.research.runs.run_folder import OutputFolder
from camcast.research.runs.summary import Summary, summarise, views_over_time
from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.schedule import Due, Plan, due, middle
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic

if TYPE_CHECKING:
    from camcast.research.experiment.brief_authority import BriefAuthority

START_SECONDS: Final = 30.0  # chosen: 64 interpreters on two busy cores
LEAD_SECONDS: Final = 0.3  # chosen: by then every worker has its commands
QUIET_SECONDS_MAX: Final = 20.0  # chosen: bounds the wait for the quiet
INTERRUPTED_QUIET_SECONDS: Final = 1.0  # chosen: a person who pressed Ctrl-C waits no longer
TABLES_SECONDS: Final = 8.0
"""After a kill, when the tables should have dropped the dead. chosen: SCAMP gives an arc up
after 5 heartbeats of 1 s and puts tables right in the following ones."""
VIEWS_AT_SECONDS: Final = (1.0, 5.0, 10.0)  # chosen: before, while and after the dead are dropped


@frozen
class Outcome:
    """The outcome of an experiment; `kill` and `newcomers` only when processes were killed."""

    summary: Summary
    repair: bool
    """Whether missed events were asked for (`BaseScenario.repaired`)."""
    joined: int
    """How many processes became members."""
    never_joined: int
    """Processes that did not become members of all of their communities: those of workers that were
    lost at start, and of a run that was interrupted before. They are in no other measure but
    `reception_of_all` and `lost_outside`."""
    unpublished: int
    """Events that were not published because their publisher's worker was lost at start."""
    workers_lost: list[str]
    """How each worker ended that was lost at start."""
    interrupted: bool
    timings: dict[str, float]
    """Seconds by phase."""
    subscribers_got: int
    """Events that reached a subscription's callback, publishers' own included."""
    counters: dict[str, int]
    """Sums of the `NodeCounters` of all nodes that left politely."""
    kill: dict[str, Any] | None

    @property
    def parasites(self) -> int:
        """Parasites: by the traces or by the nodes' own counters, whichever are more."""
        return max(self.summary.parasites, self.counters.get("parasites", 0))

    def as_json(self) -> dict[str, object]:
        """Return everything as one JSON object, with the list `communities`."""
        return attrs.asdict(self.summary) | {
            "parasites": self.parasites,
            "repair": self.repair,
            "joined": self.joined,
            "never_joined": self.never_joined,
            "reception_of_all": self.summary.reception_of_all,
            "unpublished": self.unpublished,
            "workers_lost": self.workers_lost,
            "interrupted": self.interrupted,
            "seconds": self.timings,
            "subscribers_got": self.subscribers_got,
            "counters": self.counters,
            "kill": self.kill,
        }


async def run_experiment(
    scenario: Scenario,
    folder: OutputFolder,
    show: Callable[[Progress], None],
    passphrase: str | None = None,
    health: tuple[str, int] | None = None,
    control: Path | None = None,
    *,
    signed: bool = False,
) -> Outcome:
    """Carry a scenario out; traces, scenario and summary go to the folder.

    With a passphrase all links are encrypted (the profile `shared-key`). `signed` gives each node
    a key, certified by an authority that ends with the run (the profile `signed`).
    `show` is called with the progress several times a second. `health` are a host and a port: the
    first worker serves health and metrics of its nodes there, each other worker at the next port.
    `control` is a folder, in which each node has a control socket of its number. Raises
    `ExperimentError` when a worker fails or nodes cannot join, and what loading the scenario's
    workload raises. Without the nodes of workers that end before they are ready the run goes on, as
    long as there are others. No worker outlives the call.
    """
    plan = Plan.of(scenario)
    events = due(plan)
    folder.write_scenario(scenario, "live")
    with ExitStack() as stack:
        authority = None
        if signed:
            from camcast.research.experiment.brief_authority import (
                BriefAuthority,  # and PyNaCl with it
            )

            kept = stack.enter_context(TemporaryDirectory(prefix="camcast-authority-"))
            authority = BriefAuthority.found(Path(kept))
        system = new_system(scenario.transport)
        run = _Run(plan, events, folder, show, system, passphrase, health, control, authority)
        stack.enter_context(calling_at_signals(run.workers.interrupt))
        return await run.carry_out()


def new_system(transport: str) -> str:
    """Return a name for the system of one run, or none if the transport says no names.

    Ports are used again within a second, and repair would bring the events of what is left of a run
    into the next.
    """
    return "" if transport == ZMQ else f"run {token_hex(8)}"


@define(eq=False)
class _Run:
    plan: Plan
    events: Sequence[Due]
    folder: OutputFolder
    show: Callable[[Progress], None]
    system: str
    passphrase: str | None
    health: tuple[str, int] | None = None
    control: Path | None = None
    authority: BriefAuthority | None = None
    workers: Workers = field(factory=Workers)
    phase: str = ""
    timings: dict[str, float] = field(factory=dict)
    peers: dict[int, str] = field(factory=dict)
    killed_at: float | None = None
    newcomers: dict[messages.Place, tuple[float, WorkerHandle]] = field(factory=dict)
    """By node and community: when it was sent the command to join, and the worker that hosts it."""

    async def carry_out(self) -> Outcome:
        interrupted = False
        scenario = self.plan.scenario
        raise_descriptor_limit()
        loop = asyncio.get_running_loop()
        progress = loop.create_task(self._show_progress())
        with JsonLinesSink(self.folder.trace("crashes")) as crashes:
            try:
                async with manager_of(
                    scenario.protocol,
                    scenario.protocol_options,
                    membership=scenario.membership,
                    options=scenario.options,
                    discovery=None if scenario.discovery == "own" else scenario.discovery,
                    discovery_options=scenario.discovery_options,
                    parameters=scenario.parameters,
                    passphrase=self.passphrase,
                    system=self.system,
                    **({} if self.authority is None else self.authority.identity("gateway")),
                    rng=stream(scenario.seed, "protocol", "gateway"),
                ) as gateway:
                    try:
                        await self._start(gateway.gateway)
                        await self._join()
                        await self._settle()
                        await self._publish(crashes)
                        await self._quiet(QUIET_SECONDS_MAX)
                    except Interrupted:
                        interrupted = True
                        self.workers.clear_interrupt()
                        await self._stop_publishing()
                    with self._phase("leaving"):
                        await self.workers.stop_all()
            finally:
                progress.cancel()
                await self.workers.stop_all()
        return self._outcome(interrupted)

    # -- phases ------------------------------------------------------------------------------

    async def _start(self, gateway: str) -> None:
        scenario = self.plan.scenario
        with self._phase("starting processes"):
            for number in range(scenario.workers):
                worker = await self.workers.start(number, self.folder.log(number))
                host, port = self.health or ("", 0)
                worker.send(
                    messages.SetUp(
                        worker=number,
                        scenario=scenario.as_json(),
                        gateway=gateway,
                        trace=str(self.folder.trace(number)),
                        system=self.system,
                        passphrase=self.passphrase,
                        authority=None if self.authority is None else str(self.authority.folder),
                        health=(host, port + number) if self.health else None,
                        control=None if self.control is None else str(self.control),
                    )
                )
            if not await self.workers.until(
                lambda: all(worker.ready or worker.lost for worker in self.workers.handles),
                START_SECONDS,
            ):
                raise ExperimentError(f"not all processes have started within {START_SECONDS} s")
            if all(worker.number in self.plan.victims for worker in self.workers.alive):
                raise ExperimentError("; ".join(worker.lost for worker in self.workers.lost))
        for worker in self.workers.handles:
            self.peers.update(worker.peers)

    async def _join(self) -> None:
        with self._phase("joining"):
            present = 0
            for wave in self.plan.waves():
                for worker in self.workers.alive:
                    mine = [
                        (node, topic.name)
                        for node, topic in wave
                        if self.plan.worker(node) == worker.number
                    ]
                    present += len(mine)
                    if mine:
                        worker.send(messages.Join(mine))
                if not await self.workers.until(
                    partial(self._have_joined, present), self.plan.scenario.join_seconds
                ):
                    raise ExperimentError(
                        f"only {self._joined()} of {present} have joined a community within"
                        f" {self.plan.scenario.join_seconds:g} s"
                    )

    def _have_joined(self, places: int) -> bool:
        return self._joined() >= places

    def _joined(self) -> int:
        return sum(len(worker.join_seconds) for worker in self.workers.handles)

    async def _settle(self) -> None:
        """Wait until the tables have the sizes that they should have, or the time is over."""
        with self._phase("settling tables"):
            await self.workers.until(
                lambda: total(self.workers.alive, lambda s: s.settled) >= len(self.peers),
                self.plan.scenario.settle_seconds,
            )
            await self.workers.pause(self.plan.scenario.rest_seconds)
            for worker in self.workers.handles:
                worker.send(messages.Freeze())
            gc.freeze()

    async def _publish(self, crashes: JsonLinesSink) -> None:
        loop = asyncio.get_running_loop()
        with self._phase("publishing"):
            start = loop.time() + LEAD_SECONDS
            for worker in self.workers.handles:
                worker.send(
                    messages.Publish(
                        [
                            messages.Publication(
                                start + event.at,
                                event.node,
                                event.topic.name,
                                event.payload,
                                event.upward_probability,
                            )
                            for event in self.events
                            if self.plan.worker(event.node) == worker.number
                        ]
                    )
                )
            self.phase = f"publishing for {self.events[-1].at if self.events else 0:.0f} s"
            if self.plan.victims:
                await self._kill(start + middle([event.at for event in self.events]), crashes)
            await self.workers.until(self._all_published, None)

    def _all_published(self) -> bool:
        wanted = sum(self._survives(event.node) for event in self.events)
        return total(self.workers.alive, lambda status: status.published) >= wanted

    def _survives(self, node: int) -> bool:
        """Return whether a node has been there from the start, and was not killed."""
        killed = self.killed_at is not None and self.plan.worker(node) in self.plan.victims
        return node in self.peers and not killed

    async def _kill(self, when: float, crashes: JsonLinesSink) -> None:
        """Kill the victims; start a newcomer at once and at each time the views are measured."""
        loop = asyncio.get_running_loop()
        await self.workers.pause(when - loop.time())
        self.phase = "publishing, after the kill"
        victims = [one for one in self.workers.alive if one.number in self.plan.victims]
        for worker in victims:
            self.workers.kill(worker)
        self.killed_at = loop.time()
        for node, peer in self.peers.items():
            if not self._survives(node):
                trace = Trace(bytes.fromhex(peer), crashes)
                for topic in self.plan.topics[node]:
                    trace.record(self.killed_at, "crash", community=topic.name)
        crashes.flush()  # for `camcast watch`
        largest = max(self.plan.scenario.sizes.items(), key=lambda item: item[1])[0]
        for after in (0.0, *VIEWS_AT_SECONDS):
            await self.workers.pause(self.killed_at + after - loop.time())
            self._add_newcomer(largest)
        await self.workers.until(
            lambda: all(place in host.join_seconds for place, (_, host) in self.newcomers.items()),
            self.plan.scenario.join_seconds,
        )

    def _add_newcomer(self, topic: Topic) -> None:
        node = len(self.plan.topics) + len(self.newcomers)
        host = self.workers.alive[len(self.newcomers) % len(self.workers.alive)]
        place = node, topic.name
        self.newcomers[place] = (asyncio.get_running_loop().time(), host)
        host.send(messages.Join([place]))

    async def _quiet(self, seconds_max: float) -> None:
        """Wait until nothing has been delivered anywhere for a while."""
        loop = asyncio.get_running_loop()
        with self._phase("waiting for the last deliveries"):
            start = loop.time()
            killed = self.killed_at is not None
            await self.workers.until(
                lambda: are_quiet(self.workers.alive, start, killed=killed), seconds_max
            )

    async def _stop_publishing(self) -> None:
        for worker in self.workers.alive:
            worker.send(messages.StopPublishing())
        if self.workers.alive:
            await self._quiet(INTERRUPTED_QUIET_SECONDS)

    # -- progress and outcome ----------------------------------------------------------------

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        loop = asyncio.get_running_loop()
        start, self.phase = loop.time(), name
        self._show()
        try:
            yield
        finally:
            self.timings[name] = round(loop.time() - start, 3)

    async def _show_progress(self) -> None:
        while True:
            self._show()
            await asyncio.sleep(STATUS_SECONDS)

    def _show(self) -> None:
        workers = self.workers.handles
        self.show(
            Progress(
                phase=self.phase,
                nodes=len(self.plan.topics) + len(self.newcomers),
                joined=total(self.workers.alive, lambda s: s.joined),
                events=len(self.events),
                published=total(workers, lambda s: s.published),
                delivered=total(workers, lambda s: s.delivered),
                parasites=total(workers, lambda s: s.parasites),
                processes=len(self.workers.alive),
            )
        )

    def _outcome(self, interrupted: bool) -> Outcome:
        with self._phase("reading the traces"):
            scenario = self.plan.scenario
            reading = read_traces(self.folder.traces(), scenario.super_topics.includes)
        counters = Counter[str]()
        outside = [(n, topic.name) for n, topics in enumerate(self.plan.topics) for topic in topics]
        outside += self.newcomers
        for worker in self.workers.handles:
            counters.update(worker.counters or {})
            outside = [place for place in outside if place not in worker.join_seconds]
        kill = None
        if (killed_at := self.killed_at) is not None:
            times = {"before": killed_at - 0.001}
            times |= {f"{after:g} s after": killed_at + after for after in VIEWS_AT_SECONDS}
            after = summarise(reading, scenario, killed_at)
            later = summarise(reading, scenario, killed_at + TABLES_SECONDS)
            kill = {
                "processes_killed": sum(worker.killed for worker in self.workers.handles),
                "nodes_killed": sum(not self._survives(node) for node in self.peers),
                "views": views_over_time(reading, scenario, times),
                "events_after": after.events,
                "reception_after": _receptions(after),
                "tables_seconds": TABLES_SECONDS,
                "events_after_tables": later.events,
                "reception_after_tables": _receptions(later),
                "dead_entries": later.dead_entries,
                "newcomers": [
                    {
                        "seconds_after": round(when - killed_at, 3),
                        "join_seconds": host.join_seconds.get(place),
                    }
                    for place, (when, host) in self.newcomers.items()
                ],
            }
        outcome = Outcome(
            summary=summarise(reading, scenario, outside=Counter(topic for _, topic in outside)),
            repair=scenario.repaired,
            joined=len({node for node, _ in reading.members}),
            never_joined=len({node for node, _ in outside}),
            unpublished=sum(event.node not in self.peers for event in self.events),
            workers_lost=[worker.lost for worker in self.workers.lost],
            interrupted=interrupted,
            timings=self.timings,
            subscribers_got=total(self.workers.handles, lambda s: s.delivered),
            counters=dict(counters),
            kill=kill,
        )
        self.folder.write_summary(outcome.as_json())
        return outcome


def _receptions(summary: Summary) -> dict[str, float | None]:
    return {community.topic: community.reception for community in summary.communities}
