"""The scenarios of the chaos suite. To add one, write what happens, and enter it in `SCENARIOS`."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from math import inf
from typing import Any, Final

from tests.library.chaos.lab import Lab, cut_between
from tests.library.chaos.scenario import Scenario, over_levels

Happening = Callable[[Lab], Awaitable[None]]

# -- populations -----------------------------------------------------------------------------


async def split_from_the_start(lab: Lab, scenario: Scenario) -> None:
    """Two halves that cannot reach each other when they start, with a gateway each.

    All nodes are told of both gateways. Each half has members of every topic.
    """
    lab.network.cut(cut_between((0, 1), (2, 3)))
    lab.fault_begins()
    gateways = [await lab.start_gateway(0), await lab.start_gateway(2)]
    topics, processes = over_levels(scenario.nodes), scenario.processes // 2
    await asyncio.gather(
        lab.populate(topics[::2], processes, gateways, (0, 1)),
        lab.populate(topics[1::2], processes, gateways, (2, 3)),
    )


async def root_apart(lab: Lab, scenario: Scenario) -> None:
    """The members of the root on two hosts, all others on two others, and then no gateway."""
    gateway = await lab.start_gateway()
    topics = over_levels(scenario.nodes)
    await lab.populate([t for t in topics if t == "."], 2, [gateway], (0, 1))
    others = scenario.processes - 2
    await lab.populate([t for t in topics if t != "."], others, [gateway], (2, 3))
    for worker in lab.gateways:
        lab.kill(worker)


async def three_communities(lab: Lab, scenario: Scenario) -> None:
    """As many nodes in `.`, `.a` and `.a.x`: every event of `.a.x` is due at every node.

    Every process has one of each, that of `.a.x` first.
    """
    gateway = await lab.start_gateway()
    topics = [topic for topic in (".a.x", ".a", ".") for _ in range(scenario.processes)]
    await lab.populate(topics, scenario.processes, [gateway])


async def each_level_apart(lab: Lab, scenario: Scenario) -> None:
    """As many processes for `.`, `.a` and `.a.x`, each with nodes of this topic alone."""
    gateway = await lab.start_gateway()
    for topic in (".", ".a", ".a.x"):
        await lab.populate([topic] * (scenario.nodes // 3), scenario.processes // 3, [gateway])


async def with_slow_subscribers(lab: Lab, scenario: Scenario) -> None:
    """Every process has a node whose further subscriptions are slow, hang and raise."""
    gateway = await lab.start_gateway()
    await lab.populate(over_levels(scenario.nodes), scenario.processes, [gateway])
    for worker in lab.living():
        node = lab.specify(worker, ".a", [gateway], paces=["slow", "hanging", "raising"])
        await lab.start(worker, [node])


async def with_full_disks(lab: Lab, scenario: Scenario) -> None:
    """Every process has two nodes whose traces soon fill a disk of 64 KiB."""
    gateway = await lab.start_gateway()
    await lab.populate(over_levels(scenario.nodes), scenario.processes, [gateway])
    for worker in lab.living():
        topics = (".a", ".a.x")
        nodes = [lab.specify(worker, topic, [gateway], trace_bytes=1 << 16) for topic in topics]
        await lab.start(worker, nodes)


async def a_hub_of_few_descriptors(lab: Lab, scenario: Scenario) -> None:
    """A gateway and founder with few descriptors, and many nodes that do not share pipes."""
    hub = await lab.spawn(0, descriptors=128)
    founder = lab.specify(hub, ".", [])
    await asyncio.gather(
        lab.start(hub, [founder]),
        lab.populate(["."] * scenario.nodes, scenario.processes, [founder.bind]),
    )


async def both_topics_everywhere(lab: Lab, scenario: Scenario) -> None:
    """A process on each host, with a node in `.` and one in `.a`; some hosts let nobody in."""
    lab.close_in(*scenario.closed)
    lab.hide(*scenario.hidden)
    gateway = await lab.start_gateway()
    topics = [topic for topic in (".", ".a") for _ in range(scenario.processes)]
    await lab.populate(topics, scenario.processes, [gateway])


async def open_above_alone(lab: Lab, scenario: Scenario) -> None:
    """Members of `.` on the first two hosts, and all those of `.a` on those that let nobody in."""
    lab.close_in(*scenario.closed)
    lab.hide(*scenario.hidden)
    gateway = await lab.start_gateway()
    await lab.populate([".", "."], 2, [gateway], (0, 1))
    await lab.populate([".a"] * len(scenario.shut), len(scenario.shut), [gateway], scenario.shut)


async def one_community(lab: Lab, scenario: Scenario) -> None:
    """Nodes in each process, all of one topic."""
    gateway = await lab.start_gateway()
    await lab.populate(["."] * scenario.nodes, scenario.processes, [gateway])


# -- what happens ----------------------------------------------------------------------------


def nothing(seconds: float) -> Happening:
    """Return a quiet time."""

    async def happen(_lab: Lab) -> None:
        await asyncio.sleep(seconds)

    return happen


def weather(seconds: float, **what: float) -> Happening:
    """Return bad weather, in which a newcomer joins; it does not end before the run does."""

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        lab.network.set_weather(**what)
        await asyncio.sleep(seconds / 2)
        await lab.welcome(0, [".a.x"], [node.as_gateway for node in lab.gateways[0].nodes])
        await asyncio.sleep(seconds / 2)

    return happen


def one_publisher(rate: float, seconds: float, **what: float) -> Happening:
    """Return weather in which one process alone publishes at this rate a second."""

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        lab.network.set_weather(**what)
        await lab.publish_alone(rate)
        await asyncio.sleep(seconds)

    return happen


def kill(share: float, *, gateway: bool) -> Happening:
    """Return the kill -9 of a share of the processes, and of the gateway if asked for."""

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        for worker in [*lab.draw(share), *(lab.gateways if gateway else ())]:
            lab.kill(worker)

    return happen


async def kill_first(lab: Lab) -> None:
    """Kill -9 of the first process, through which others hear each other."""
    lab.fault_begins()
    lab.kill(lab.living()[0])


def stop_first(seconds: float) -> Happening:
    """Return the stop of the first process, for a time."""

    async def happen(lab: Lab) -> None:
        first = lab.living()[0]
        lab.fault_begins()
        lab.stop(first)
        await asyncio.sleep(seconds)
        lab.resume(first)
        lab.fault_ends()

    return happen


async def kill_the_middle(lab: Lab) -> None:
    """Kill -9 of all members of `.a`, and of the gateway: nobody between `.` and `.a.x` is left."""
    lab.fault_begins()
    middle = [w for w in lab.living() if {node.topic for node in w.nodes} == {".a"}]
    for worker in [*middle, *lab.gateways]:
        lab.kill(worker)


def cut(seconds: float, *ways: tuple[int, int]) -> Happening:
    """Return cuts of the ways between hosts, for a time."""

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        lab.network.cut(ways)
        await asyncio.sleep(seconds)
        lab.network.heal()
        lab.fault_ends()

    return happen


async def heal(lab: Lab) -> None:
    """End the cuts that there are."""
    lab.network.heal()
    lab.fault_ends()


def pause(seconds: float) -> Happening:
    """Return the stop of a third of the processes, for a time."""

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        paused = lab.draw(1 / 3)
        for worker in paused:
            lab.stop(worker)
        await asyncio.sleep(seconds)
        for worker in paused:
            lab.resume(worker)
        lab.fault_ends()

    return happen


def restart_in_turn(pause: float) -> Happening:
    """Return the restart of every process at its addresses, in turn politely and by kill -9.

    The next one ends so many seconds after the nodes of the one before are ready again.
    """

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        for number, worker in enumerate(lab.living()):
            if number % 2:
                lab.kill(worker)
            else:
                await lab.close(worker)
            await lab.replace(worker)
            await asyncio.sleep(pause)
        lab.fault_ends()

    return happen


def flap(seconds: float, *, politely: bool | None = None, pause: float = 1.0) -> Happening:
    """Return a time in which four nodes join after each pause, and leave again after three seconds.

    They leave politely, or are killed; unless `politely` says which, in turn.
    """

    async def visit(lab: Lab, number: int) -> None:
        gateways = [node.as_gateway for node in lab.gateways[0].nodes]
        host = lab.random.randrange(lab.hosts)
        worker = await lab.welcome(host, lab.random.sample(over_levels(50), 4), gateways)
        await asyncio.sleep(3.0)
        if number % 2 if politely is None else politely:
            await lab.close(worker)
        else:
            lab.kill(worker)

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        visits = []
        for number in range(int(seconds / pause)):
            visits.append(asyncio.create_task(visit(lab, number)))
            await asyncio.sleep(pause)
        await asyncio.gather(*visits)
        lab.fault_ends()

    return happen


async def take_over_ports(lab: Lab) -> None:
    """Two processes are killed; others, on other topics, start at their addresses at once."""
    other = {".a.x": ".b.x", ".a.y": ".b.x", ".b.x": ".a.x", ".a": ".b", ".b": ".a"}
    lab.fault_begins()
    for worker in lab.draw(1 / 3):
        lab.kill(worker)
        await lab.replace(worker, other)
    lab.fault_ends()


def burst(publishers: int, events: int = 20_000, size: int = 256) -> Happening:
    """Return a burst of events from some publishers at once, which share their number."""

    async def happen(lab: Lab) -> None:
        lab.fault_begins()
        chosen = lab.living()[:publishers]
        await asyncio.gather(*(lab.burst(w, events // publishers, size) for w in chosen))
        lab.fault_ends()

    return happen


# -- the list --------------------------------------------------------------------------------

_WHEN_HEALED: Final = 10.0
"""What was published during a fault is there within 10 s of its end."""
_SOAK_PAUSE: Final = 10.0
"""Seconds between the joins of a soak. chosen: starting a process costs 0.6 s of CPU"""


def _weather(name: str, title: str, settle: float = 15.0, **what: float) -> Scenario:
    return Scenario(
        name=name,
        title=title,
        happen=weather(20, **what),
        weather=True,
        settle=settle,
        forgotten_max=0,  # all are alive
    )


def _order(name: str, title: str, **what: float) -> Scenario:
    return Scenario(
        name=name,
        title=f"a publisher of 50 events/s, {title}",
        prepare=one_community,
        happen=one_publisher(50.0, 40.0, **what),
        nodes=24,  # chosen: not all copies go to all, or no event would overtake another
        processes=8,
        hosts=8,
        weather=True,
        rate=0.0,
        after=0.0,
        forgotten_max=0,
    )


def _kill(percent: int, *, gateway: bool) -> Scenario:
    return Scenario(
        name=f"kill-{percent}" + ("-and-gateway" if gateway else ""),
        title=f"kill -9 of {percent} % of the processes" + (" and the gateway" if gateway else ""),
        happen=kill(percent / 100, gateway=gateway),
        nodes=50,
        processes=10,
        hosts=5,
        after=20,
        excused=(1.0, 10.0),  # events published from 10 s after a fault on arrive
    )


def _cut(name: str, title: str, seconds: float, *ways: tuple[int, int]) -> Scenario:
    return Scenario(
        name=name,
        title=title,
        happen=cut(seconds, *ways),
        nodes=35,
        processes=8,
        arrival_seconds=_WHEN_HEALED,
    )


def _pause(seconds: int) -> Scenario:
    return Scenario(
        name=f"pause-{seconds}",
        title=f"a third of the processes stopped for {seconds} s",
        happen=pause(seconds),
        arrival_seconds=_WHEN_HEALED,
    )


def _burst(publishers: int, title: str) -> Scenario:
    return Scenario(
        name=f"burst-{publishers}",
        title=title,
        prepare=three_communities,
        happen=burst(publishers),
        nodes=15,
        processes=5,
        hosts=3,
        rate=0.0,
        after=0.0,
        settle=40,
    )


def _closed(
    name: str, title: str, happen: Happening, closed: Iterable[int], **more: Any
) -> Scenario:
    """Return a scenario of eight hosts, or as many as `more` says, some of which let nobody in."""
    hosts = more.get("hosts", 8)
    usual: dict[str, Any] = {"prepare": both_topics_everywhere, "share_pipes": False}
    usual |= {"nodes": 2 * hosts, "processes": hosts, "hosts": hosts}
    return Scenario(name=name, title=title, happen=happen, closed=tuple(closed), **(usual | more))


_HALVES: Final = cut_between((0, 1), (2, 3))

SCENARIOS: Final = [
    Scenario(
        name="baseline", title="no fault", happen=nothing(25), nodes=50, processes=10, hosts=5
    ),
    _weather("loss-1", "1 % of the packets lost", loss=0.01),
    _weather("loss-10", "10 % of the packets lost", loss=0.1),
    # measured: TCP repeats what is lost after up to 13 s
    _weather("loss-30", "30 % of the packets lost", settle=40, loss=0.3),
    _weather("delay", "200 ms of delay, 10 % lost", delay=0.2, loss=0.1),
    _weather("reorder", "50 ± 20 ms of delay: packets overtake", delay=0.05, jitter=0.02),
    _weather(
        "duplicates",
        "10 % of the packets twice, 1 % lost, 50 ± 20 ms",
        delay=0.05,
        jitter=0.02,
        duplicate=0.1,
        loss=0.01,
    ),
    _order("order-loss", "1 % of the packets lost", loss=0.01),
    _order("order-far", "hosts 5 to 140 ms apart", delay=0.005, distance=0.135),
    _order("order-jitter", "5 to 140 ms for each packet", delay=0.0725, jitter=0.0675),
    *(_kill(percent, gateway=gateway) for percent in (30, 50, 80) for gateway in (False, True)),
    Scenario(
        name="middle-and-gateway",
        title="kill -9 of the whole community in the middle, and the gateway",
        prepare=each_level_apart,
        happen=kill_the_middle,
        nodes=18,
        before=10,
        after=30,
        excused=(1.0, 0.0),  # the dead took along what they had just said
    ),
    _cut("partition-10", "two halves cannot reach each other for 10 s", 10, *_HALVES),
    _cut("partition-60", "two halves cannot reach each other for 60 s", 60, *_HALVES),
    Scenario(
        name="partition-at-start",
        title="two halves start apart, and meet after 10 s",
        prepare=split_from_the_start,
        happen=heal,
        nodes=35,
        processes=8,
        before=10,
        after=30,
        excused=(inf, 20.0),  # chosen: a system that starts in two parts is one after 20 s
    ),
    Scenario(
        name="partition-of-levels",
        title="the root's members cut off for 25 s, no gateway",
        prepare=root_apart,
        happen=cut(25, *_HALVES),
        nodes=35,
        processes=8,
        arrival_seconds=_WHEN_HEALED,
    ),
    _cut("one-way", "one host reaches another in one direction only, 22 s", 22, (0, 1)),
    _cut(
        "non-transitive", "one host cannot reach two others, 22 s", 22, *cut_between((0,), (1, 2))
    ),
    _pause(5),
    _pause(20),
    Scenario(
        name="rolling-restart",
        title="each process restarts at its addresses, politely or by kill -9",
        happen=restart_in_turn(1.0),
    ),
    Scenario(
        name="flapping-politely",
        title="4 nodes join every second, and leave after 3 s",
        happen=flap(15, politely=True),
    ),
    Scenario(
        name="flapping-killed",
        title="4 nodes join every second, killed after 3 s",
        happen=flap(15, politely=False),
    ),
    Scenario(
        name="port-reuse",
        title="a third killed; processes on other topics take their addresses",
        happen=take_over_ports,
        after=15,
    ),
    _burst(1, "20,000 events of 256 B as fast as one publisher can"),
    _burst(5, "the same from five publishers at once"),
    Scenario(
        name="slow-subscribers",
        title="slow, raising and hanging subscribers beside the usual ones",
        prepare=with_slow_subscribers,
        happen=nothing(15),
        nodes=18,
        rate=10.0,
    ),
    Scenario(
        name="full-disk",
        title="a third of the nodes trace to a disk that is full",
        prepare=with_full_disks,
        happen=nothing(15),
        nodes=24,
        rate=10.0,
    ),
    _closed("firewall-1-of-8", "one of eight hosts lets nobody in", nothing(15), [7]),
    _closed("firewall-7-of-8", "seven of eight hosts let nobody in", nothing(15), range(1, 8)),
    _closed(
        "firewall-carry",
        "no host of a topic lets anybody in, members of the one above carry",
        nothing(15),
        range(2, 8),
        prepare=open_above_alone,
    ),
    _closed(
        "firewall-kill",
        "six of eight hosts let nobody in; kill -9 of one of the others",
        kill_first,
        range(2, 8),
        after=20,
        excused=(1.0, 10.0),
    ),
    _closed(
        "firewall-stop",
        "six of eight hosts let nobody in; one of the others stopped for 20 s",
        stop_first(20),
        range(2, 8),
        arrival_seconds=_WHEN_HEALED,
    ),
    _closed(
        "firewall-cut",
        "six of eight hosts let nobody in; one of the others cut off for 30 s",
        cut(30, *cut_between((1,), (0, *range(2, 8)))),
        range(2, 8),
        arrival_seconds=_WHEN_HEALED,
    ),
    _closed(
        "nats",
        "two hosts behind NATs have the same address",
        nothing(15),
        (),
        hidden=(1, 2),
        hosts=3,
    ),
    _closed(
        "nats-carry",
        "the same, and only members of the topic above can be reached",
        nothing(15),
        (),
        hidden=(2, 3),
        hosts=4,
        prepare=open_above_alone,
    ),
    Scenario(
        name="few-descriptors",
        title="40 nodes join at a process that may hold 128 descriptors",
        prepare=a_hub_of_few_descriptors,
        happen=nothing(10),
        nodes=40,
        processes=4,
        share_pipes=False,
        may_stay_out=True,
    ),
]


def soak(minutes: float, churn_minutes: float = 0.0) -> Scenario:
    """Return the long run: quiet, or with churn for its first minutes and then without.

    With churn the processes have fewer nodes and publish less, so that three memberships can be
    tried at once, beside other work.
    """
    if not churn_minutes:
        return Scenario(
            name="soak",
            title=f"{minutes:g} minutes at 50 events/s",
            happen=nothing(60 * minutes),
            nodes=20,
            processes=4,
            rate=12.5,
            growth_max=1.1,  # chosen: a leak of one record an event would be 20 %
        )
    return Scenario(
        name="soak",
        title=f"{churn_minutes:g} minutes in which 24 nodes a minute join and leave, then"
        f" {minutes - churn_minutes:g} without",
        happen=flap(60 * churn_minutes, pause=_SOAK_PAUSE),
        nodes=18,  # chosen: the least of which none is alone in its topic
        processes=8,
        rate=1.0,
        after=60 * (minutes - churn_minutes),
        settling_max=0.2,  # chosen: what goes on growing is a leak, and no warming up
    )
