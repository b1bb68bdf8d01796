"""Models and simulators of hpmcast and percolation against the nodes that ship, on virtual time.

These are `camcast model` and `camcast simulate population` with `--protocol hpmcast|percolation`.

Addresses and overlays are drawn once in a fleet, so that fleets, and not their events, are what is
independent: intervals are Student's of the fleets' means, at 99 % each, and allow besides for the
approximations that the models name. Copies are lost, or processes dead, only while events spread.
The simulators draw addresses and overlays for every event.

The fleets are slow, and each is a model's and a simulator's. Without them, simulators are compared
with these models (tests of camcast.research.population).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial
from math import sqrt
from random import Random
from statistics import fmean, stdev

import pytest

from camcast.engine.node import Node
from camcast.research.models.student import quantile
from camcast.research.population.outcome import Outcome
from camcast.research.systems.hpmcast import population as hpmcast_addressed
from camcast.research.systems.hpmcast.address import Address
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.known_law import known_on_average
from camcast.research.systems.hpmcast.model import predict_addressed
from camcast.research.systems.hpmcast.setting import AddressedSetting
from camcast.research.systems.percolation import population as percolation_scamp
from camcast.research.systems.percolation.model import predict_on_scamp
from camcast.research.systems.percolation.setting import ScampOverlay
from camcast.research.systems.setting_base import SettingError
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.weather import Weather
from camcast.vocabulary.identity import new_peer_id
from camcast.vocabulary.streams import stream
from membership.scamp.options import ScampOptions
from tests.protocol_fleet import A, X, fleet
from tests.research.laws.test_protocol_laws import InStep
from tests.research.unit.systems.hpmcast.hpmcast_twin import level_gossip

RUNS = 4000  # of a simulator: an error of the means that is small beside the fleets'


def means(spread: Outcome) -> dict[str, float]:
    """Return the means of the measures."""
    return {name: interval["mean"] for name, interval in spread.as_json().items()}


def shuffled_fleet(protocol: str, n: int, n_1: int, seed: int, options: dict[str, object]) -> World:
    """Return processes of which so many, chosen by chance, are interested in `.a`.

    Where they are on SCAMP, it is the paper's, which the models know.
    """
    topics = [A] * n_1 + [X] * (n - n_1)
    Random(seed).shuffle(topics)
    of_scamp: dict[str, object] = {"drawn_share": 0.0} if protocol == "percolation" else {}
    return fleet(protocol, topics, options=options, membership_options=of_scamp, seed=seed)


def publish_all(
    group: World, events: int, seconds: float, *, loss: float = 0.0, crash: float = 0.0, seed: int
) -> dict[str, float]:
    """Let events spread in bad weather, one after the other; return the means of what came of them.

    A dead process is one that nobody reaches while the event spreads.
    """
    wanting = [node for node in group.nodes if wants(node)]
    others = [node for node in group.nodes if not wants(node)]
    calm, rng = group.virtual.weather, Random(seed)
    climate = Climate(latency=Constant(0.01), loss=loss)
    found = []
    for event in range(events):
        publisher = rng.choice(wanting)
        dead = {
            node.me.address
            for node in group.nodes
            if node is not publisher and rng.random() < crash
        }
        asked = [node for node in wanting if node.me.address not in dead]
        rng_of_event = stream(seed * 1000 + event, "network", "spread")
        group.virtual.weather = Weather(climate, rng_of_event)
        if dead:
            group.cut(partial(neither, dead))
        before, delivered = counted(group, others), len(group.delivered)
        group.publish(publisher, A, seconds=seconds)
        have = {who.me.peer for who, _ in group.delivered[delivered:]}
        received = sum(node.me.peer in have for node in asked)
        sent, parasites = (
            now - then for now, then in zip(counted(group, others), before, strict=True)
        )
        found.append((received / len(asked), received == len(asked), sent, parasites))
        group.virtual.weather = calm
        group.run(0.1)
    names = ("reception", "reliability", "messages", "parasite_copies")
    return {
        name: fmean(values) for name, values in zip(names, zip(*found, strict=True), strict=True)
    }


def neither(dead: set[str], one: str, other: str) -> bool:
    return one not in dead and other not in dead


def wants(node: Node) -> bool:
    return node.local_group(A) is not None


def counted(group: World, others: Sequence[Node]) -> tuple[int, int]:
    """Return copies sent, and copies that came to those who are not interested."""
    return (
        sum(node.counters.event_copies_sent for node in group.nodes),
        sum(node.counters.parasites + node.counters.duplicates for node in others),
    )


def entries(group: World) -> float:
    """Return how many others a process knows, holders included if it knows them."""
    known_by = []
    for node in group.nodes:
        membership = next(iter(node.local_groups)).membership
        contacts = [*membership.peers(), *(membership.in_view() or ())]
        known_by.append(len({contact.peer for contact in contacts}))
    return fmean(known_by)


@cache
def fleet_means(
    protocol: str,
    setting: AddressedSetting | ScampOverlay,
    fleets: int,
    events: int,
    *,
    in_step: bool = False,
) -> dict[str, list[float]]:
    """Return the means of fleets of the shipped nodes, of which each has a seed."""
    found: dict[str, list[float]] = {}
    options: dict[str, object]
    if isinstance(setting, AddressedSetting):
        options, seconds = {"fan_out": setting.fan_out}, 2.0
    else:
        options, seconds = {"gamma": setting.gamma}, 0.3
    for seed in range(1, fleets + 1):
        group = shuffled_fleet(protocol, setting.processes, setting.interested, seed, options)
        if in_step:
            for node in group.nodes:
                node.outbox.wakes = InStep(0.1)
        told = {"entries": entries(group)}
        told |= publish_all(
            group, events, seconds, loss=setting.loss, crash=setting.crash, seed=seed
        )
        for name, value in told.items():
            found.setdefault(name, []).append(value)
    return found


def near(values: Sequence[float], expected: float, allowed: float) -> bool:
    """Say whether the fleets' mean is the expected one, at 99 % and by what is allowed besides."""
    error = quantile(0.99, len(values) - 1) * stdev(values) / sqrt(len(values))
    return abs(fmean(values) - expected) <= error + allowed


# -- hpmcast -------------------------------------------------------------------------------------

TREE = Hierarchy()


def addressed(n: int, n_1: int, loss: float, crash: float, fan_out: int) -> AddressedSetting:
    return AddressedSetting(
        processes=n, interested=n_1, hierarchy=TREE, fan_out=fan_out, loss=loss, crash=crash
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_1", "loss", "crash", "fan_out", "fleets", "events"),
    [
        (40, 40, 0.3, 0.0, 2, 8, 3),
        (60, 20, 0.15, 0.0, 3, 5, 3),
        (118, 34, 0.3, 0.0, 2, 6, 10),
    ],
)
def test_hpmcast_in_step_is_its_model(
    n: int, n_1: int, loss: float, crash: float, fan_out: int, fleets: int, events: int
) -> None:
    """All measures: by 0.005 (reception), 0.03 (reliability), 2 % (copies) and 4 % (parasites)."""
    setting = addressed(n, n_1, loss, crash, fan_out)
    model = predict_addressed(setting)
    found = fleet_means("hpmcast", setting, fleets, events, in_step=True)
    assert near(found["reception"], model.reception, 0.005)
    assert near(found["reliability"], model.reliability, 0.03)
    assert near(found["messages"], model.messages, 0.02 * model.messages)
    assert near(found["parasite_copies"], model.parasite_copies, 0.04 * model.parasite_copies)
    assert near(found["entries"], model.entries, 0.0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_1", "loss", "crash", "fan_out", "fleets", "events"),
    [
        (40, 20, 0.3, 0.0, 2, 6, 3),
        (118, 34, 0.3, 0.0, 2, 6, 10),
        # the dead leave the views in time, so that these fleets have one event each
        (40, 20, 0.0, 0.3, 2, 25, 1),
    ],
)
def test_hpmcast_is_that_of_nodes_in_step(
    n: int, n_1: int, loss: float, crash: float, fan_out: int, fleets: int, events: int
) -> None:
    """All measures, and nothing is allowed besides the intervals."""
    setting = addressed(n, n_1, loss, crash, fan_out)
    simulated = means(hpmcast_addressed.simulate(setting, RUNS, 1))
    found = fleet_means("hpmcast", setting, fleets, events, in_step=True)
    for name, values in found.items():
        assert near(values, simulated[name], 0.0), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_1", "loss", "fan_out", "fleets", "events"),
    [(40, 40, 0.3, 2, 8, 3), (118, 34, 0.15, 3, 6, 10)],
)
def test_hpmcast_as_it_is_shipped_is_close_to_its_model(
    n: int, n_1: int, loss: float, fan_out: int, fleets: int, events: int
) -> None:
    """Periods out of step leave a little out: reception by 0.015 at most, copies by 10 %."""
    setting = addressed(n, n_1, loss, 0.0, fan_out)
    model = predict_addressed(setting)
    found = fleet_means("hpmcast", setting, fleets, events)
    assert near(found["reception"], model.reception, 0.015)
    assert near(found["messages"], 0.95 * model.messages, 0.05 * model.messages)


def gossip_once(setting: AddressedSetting, rng: Random) -> tuple[float, ...]:
    """Return the measures of one event among `LevelGossip`s in step, with addresses by chance."""
    tree, members = setting.hierarchy, dict[Address, bool]()
    while len(members) < setting.processes:
        address = tree.address_of(new_peer_id(rng.randbytes))
        members[address] = len(members) < setting.interested
    dead = {address for address in list(members)[1:] if rng.random() < setting.crash}
    have, rounds, messages, parasites = level_gossip(
        *(members, next(iter(members)), dead, tree.redundancy, setting.fan_out, setting.loss, rng)
    )
    asked = [address for address, wants in members.items() if wants and address not in dead]
    received = sum(address in have for address in asked)
    return received / len(asked), received == len(asked), rounds, messages, parasites


@pytest.mark.parametrize(
    ("n", "n_1", "tree", "loss", "crash", "fan_out", "runs"),
    [
        pytest.param(40, 40, Hierarchy(), 0.4, 0.0, 2, 500, marks=pytest.mark.slow),
        pytest.param(40, 20, Hierarchy(), 0.0, 0.2, 2, 200, marks=pytest.mark.slow),
        pytest.param(70, 70, Hierarchy(arity=4, depth=3), 0.2, 0.1, 2, 150, marks=pytest.mark.slow),
        (30, 12, Hierarchy(depth=1), 0.2, 0.1, 3, 500),
        pytest.param(118, 34, Hierarchy(), 0.15, 0.0, 3, 2500, marks=pytest.mark.slow),
        pytest.param(118, 118, Hierarchy(), 0.15, 0.1, 3, 1500, marks=pytest.mark.slow),
        pytest.param(400, 400, Hierarchy(), 0.3, 0.0, 2, 500, marks=pytest.mark.slow),
    ],
)
def test_the_gossip_of_figure_6_among_addresses_by_chance_is_the_model(
    n: int, n_1: int, tree: Hierarchy, loss: float, crash: float, fan_out: int, runs: int
) -> None:
    """The engine that live processes use: what the model names, and 99.9 % each."""
    setting = AddressedSetting(
        processes=n, interested=n_1, hierarchy=tree, fan_out=fan_out, loss=loss, crash=crash
    )
    model, rng = predict_addressed(setting), Random(3)
    found = zip(*(gossip_once(setting, rng) for _ in range(runs)), strict=True)
    allowed = {
        "reception": 0.003,
        "reliability": 0.03,
        "rounds": 0.1,
        "messages": 0.004 * model.messages,
        "parasite_copies": 0.03 * model.parasite_copies,
    }
    for (name, most), values in zip(allowed.items(), found, strict=True):
        error = 3.29 * stdev(map(float, values)) / sqrt(runs)
        assert abs(fmean(values) - getattr(model, name)) <= error + most, name


@pytest.mark.slow
def test_hpmcast_with_dead_delegates_is_its_model() -> None:
    """A fifth of 40 is dead for an event, the only one of its fleet: 40 of them, at 99 %."""
    setting = addressed(40, 40, 0.0, 0.2, 2)
    model = predict_addressed(setting)
    found = fleet_means("hpmcast", setting, 40, 1, in_step=True)
    for name, allowed in (("reception", 0.005), ("reliability", 0.03), ("messages", 6.0)):
        assert near(found[name], getattr(model, name), allowed), name


@pytest.mark.parametrize("n", [5, 40, 118])
def test_what_a_process_knows_is_that_of_addresses_by_chance(n: int) -> None:
    """Equation 12 over 2,000 draws of identities, at 99 %."""
    rng, found = Random(1), []
    for _ in range(2000):
        groups = Counter(TREE.address_of(new_peer_id(rng.randbytes))[0] for _ in range(n))
        delegates = sum(min(TREE.redundancy, size) for size in groups.values())
        found.append(
            sum(
                size * (size - 1 + delegates - min(TREE.redundancy, size))
                for size in groups.values()
            )
            / n
        )
    error = stdev(found) / sqrt(len(found))
    assert abs(fmean(found) - known_on_average(TREE, n)) <= 2.58 * error


# -- percolation ---------------------------------------------------------------------------------


def percolate_once(setting: ScampOverlay, rng: Random) -> tuple[float, ...]:
    """Return the measures of one event, by Algorithm 2, where holders are drawn by chance."""
    n, nodes = setting.processes, range(setting.processes)
    neighbours: list[set[int]] = [set() for _ in nodes]
    for node in nodes:
        for holder in rng.sample([other for other in nodes if other != node], setting.holders):
            neighbours[node].add(holder)
            neighbours[holder].add(node)
    alive = [node == 0 or rng.random() >= setting.crash for node in nodes]
    have, waiting, messages, parasites = {0}, [(0, -1)], 0, 0
    while waiting:
        node, source = waiting.pop(0)
        for other in sorted(neighbours[node] - {source}):
            wants = other < setting.interested
            if wants or rng.random() < setting.gamma:
                messages += 1
                if alive[other] and rng.random() >= setting.loss:
                    parasites += not wants
                    if other not in have:
                        have.add(other)
                        waiting.append((other, node))
    asked = [node for node in range(setting.interested) if alive[node]]
    received = sum(node in have for node in asked)
    return received / len(asked), messages, parasites, sum(map(len, neighbours)) / n


@pytest.mark.parametrize(
    ("n", "n_1", "gamma", "loss", "crash", "reception", "copies"),
    [
        (118, 34, 0.6, 0.15, 0.1, 0.003, 0.01),
        pytest.param(118, 24, 0.05, 0.3, 0.2, 0.02, 0.03, marks=pytest.mark.slow),
        pytest.param(60, 12, 0.05, 0.3, 0.0, 0.02, 0.03, marks=pytest.mark.slow),
        pytest.param(300, 60, 0.0, 0.2, 0.0, 0.02, 0.03, marks=pytest.mark.slow),
        (118, 12, 0.0, 0.85, 0.0, 0.02, 0.05),  # Equation 17
    ],
)
def test_percolation_among_holders_by_chance_is_the_model(
    n: int, n_1: int, gamma: float, loss: float, crash: float, reception: float, copies: float
) -> None:
    """400 overlays with an event each: what is allowed, and 99.9 % each."""
    setting = ScampOverlay(processes=n, interested=n_1, gamma=gamma, c=2, loss=loss, crash=crash)
    model, rng = predict_on_scamp(setting), Random(4)
    found = zip(*(percolate_once(setting, rng) for _ in range(400)), strict=True)
    allowed = {
        "reception": reception,
        "messages": copies * model.messages,
        "parasite_copies": copies * model.parasite_copies,
        "entries": 0.0,
    }
    for (name, most), values in zip(allowed.items(), found, strict=True):
        error = 3.29 * stdev(map(float, values)) / 20
        assert abs(fmean(values) - getattr(model, name)) <= error + most, name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_1", "gamma", "loss", "crash", "fleets", "events"),
    [
        (30, 10, 0.1, 0.3, 0.0, 6, 10),
        (60, 12, 0.05, 0.3, 0.0, 5, 10),
        (40, 40, 0.6, 0.15, 0.0, 5, 4),
        (118, 34, 0.6, 0.15, 0.1, 6, 10),
        (118, 24, 0.05, 0.3, 0.2, 6, 20),
    ],
)
def test_percolation_on_scamp_is_its_model(
    n: int, n_1: int, gamma: float, loss: float, crash: float, fleets: int, events: int
) -> None:
    """By 0.03 (reception), 10 % (copies, parasites) and 8 % (neighbours, of whom SCAMP has fewer).

    It is the giant component's: Γ is above the threshold in all of them.
    """
    c = ScampOptions().c
    setting = ScampOverlay(processes=n, interested=n_1, gamma=gamma, c=c, loss=loss, crash=crash)
    model = predict_on_scamp(setting)
    assert model.coverage.gamma_total > model.coverage.threshold
    found = fleet_means("percolation", setting, fleets, events)
    assert near(found["reception"], model.reception, 0.03)
    assert near(found["messages"], model.messages, 0.1 * model.messages)
    assert near(found["parasite_copies"], model.parasite_copies, 0.1 * model.parasite_copies)
    assert near(found["entries"], model.entries, 0.08 * model.entries)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "n_1", "gamma", "loss", "crash", "fleets", "events"),
    [
        (40, 14, 0.1, 0.3, 0.0, 6, 10),
        (118, 34, 0.6, 0.15, 0.1, 6, 10),
        (118, 24, 0.05, 0.3, 0.2, 6, 20),
    ],
)
def test_percolation_is_that_of_nodes_on_scamp(
    n: int, n_1: int, gamma: float, loss: float, crash: float, fleets: int, events: int
) -> None:
    """All measures, by 2 % besides: small overlays have so many neighbours more than the shipped.

    Theirs know some by probes, which the simulator leaves out
    (`camcast.research.systems.percolation.scamp_overlay`).
    """
    c = ScampOptions().c
    setting = ScampOverlay(processes=n, interested=n_1, gamma=gamma, c=c, loss=loss, crash=crash)
    simulated = means(percolation_scamp.simulate(setting, RUNS, 1))
    found = fleet_means("percolation", setting, fleets, events)
    for name, values in found.items():
        assert near(values, simulated[name], 0.02 * simulated[name]), name


@pytest.mark.parametrize(("n", "n_1"), [(10, 20), (10, 0), (0, 0)])
def test_more_or_fewer_interested_than_there_can_be_are_named(n: int, n_1: int) -> None:
    told = f"{n_1} of {n} processes are interested; give 1 to all"
    with pytest.raises(SettingError, match=told):
        AddressedSetting(processes=n, interested=n_1, hierarchy=Hierarchy(), fan_out=3)
    with pytest.raises(SettingError, match=told if n else "takes 2 or more"):
        ScampOverlay(processes=n, interested=n_1, gamma=0.1, c=2)


def test_a_fan_out_of_nobody_is_named() -> None:
    with pytest.raises(ValueError, match="'fan_out' must be >= 1: 0"):
        AddressedSetting(processes=10, interested=5, hierarchy=Hierarchy(), fan_out=0)
