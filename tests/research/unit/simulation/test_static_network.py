"""The paper's static setting on the shipped code: what is dealt, and what comes of it.

That it agrees in distribution with the other simulators is held in `tests/research/laws`.
"""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist, mean
from typing import Any

import attrs
import pytest

from camcast.research.simulation import static_network
from camcast.research.simulation.static_network import PROCESSES_MAX, simulate
from camcast.research.systems.camcast.setting import Community, Overlap, Setting, chain
from camcast.research.systems.setting_base import SettingError
from camcast.virtual.network import Process, VirtualNetwork
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.wire import Kind
from tests.library.laws.test_dissemination_law import reached_distribution

Z_999 = NormalDist().inv_cdf(0.9995)


class Spied(VirtualNetwork):
    """Remembers its processes, and the kinds of all that is sent."""

    made: list[Spied]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kinds: dict[int, int] = {}
        self.on_send = self._note
        self.made.append(self)

    def _note(self, _source: str, _target: str, record: bytes) -> None:
        self.kinds[record[4]] = self.kinds.get(record[4], 0) + 1


@pytest.fixture
def networks(monkeypatch: pytest.MonkeyPatch) -> list[Spied]:
    monkeypatch.setattr(Spied, "made", [], raising=False)
    monkeypatch.setattr(static_network, "VirtualNetwork", Spied)
    return Spied.made


def table(process: Process) -> list[PeerId]:
    (local_group,) = process.node.local_groups
    return [contact.peer for contact in local_group.membership.peers()]


# -- what is sent ------------------------------------------------------------------------------


def test_nothing_is_said_but_the_event(networks: list[Spied]) -> None:
    spread = simulate(Setting(communities=chain((30, 12, 5)), success=1.0), 5, 1)
    assert len(networks) == 5
    for run, network in enumerate(networks):
        assert list(network.kinds) == [Kind.EVENT]
        assert sum(process.node.counters.controls for process in network) == 0
        copies = spread.messages[run].sum() + spread.upward_messages[run].sum()
        assert network.kinds[Kind.EVENT] == network.messages == copies


@pytest.mark.parametrize(("success", "crash"), [(1.0, 0.0), (0.7, 0.0), (0.85, 0.3)])
def test_whoever_has_the_event_sends_it_to_as_many_as_the_paper_says(
    success: float, crash: float
) -> None:
    """Exactly; also to the dead, for nobody knows who they are. Upward, only who is a link."""
    parameters = Parameters(c=1, p_sel=1.0, a=3, z=3)
    communities = chain((40, 20), parameters)
    spread = simulate(Setting(communities=communities, success=success, crash=crash), 20, 2)
    for index, community in enumerate(communities):
        sent = spread.delivered[:, index] * community.fan_out
        assert (spread.messages[:, index] == sent).all()
    assert (spread.upward_messages[:, 0] == 3 * spread.delivered[:, 0]).all()
    assert not spread.upward_messages[:, 1].any()
    assert (spread.delivered <= spread.alive).all()
    assert (spread.delivered[:, 0] >= 1).all()  # the publisher


def test_without_links_nothing_climbs() -> None:
    setting = Setting(communities=chain((20, 10), Parameters(p_sel=0.0)), success=1.0)
    spread = simulate(setting, 5, 3)
    assert not spread.delivered[:, 1].any()
    assert not spread.rounds[:, 1].any()
    assert not spread.upward_messages.any()


def test_rounds_are_counted_from_the_publisher_s() -> None:
    """Three that know each other: the publisher sends in round 1, the others in round 2."""
    setting = Setting(communities=(Community(size=3, parameters=Parameters(c=5)),), success=1.0)
    assert (simulate(setting, 3, 1).rounds == 2).all()


# -- what is dealt -----------------------------------------------------------------------------


def test_tables_name_others_of_the_community_and_are_uniform(networks: list[Spied]) -> None:
    """Every other is dealt as often as another: each count is binomial, at 99.9 % in all."""
    size, runs = 12, 200
    community = Community(size=size, parameters=Parameters(c=0.5))
    simulate(Setting(communities=(community,), success=1.0), runs, 4)
    assert community.fan_out == 3
    counts = [[0] * size for _ in range(size)]
    for network in networks:
        numbers = {process.me.peer: process.number for process in network}
        for process in network:
            dealt = table(process)
            assert len(set(dealt)) == len(dealt) == 3
            for peer in dealt:
                counts[process.number][numbers[peer]] += 1
    assert not any(row[number] for number, row in enumerate(counts))
    share = 3 / (size - 1)
    z = NormalDist().inv_cdf(1 - 0.001 / (2 * size * (size - 1)))
    error = z * sqrt(runs * share * (1 - share))
    for number, row in enumerate(counts):
        others = row[:number] + row[number + 1 :]
        assert max(abs(count - runs * share) for count in others) <= error


def test_super_tables_name_the_super_communities(networks: list[Spied]) -> None:
    parameters = Parameters(z=3)
    bottom = Community(size=8, supers=(1, 2), parameters=parameters)
    left, right = (Community(size=n, parameters=parameters) for n in (6, 2))
    simulate(Setting(communities=(bottom, left, right), success=1.0), 2, 5)
    for network in networks:
        processes = list(network)
        sixth, eighth = ({p.me.peer for p in processes[a:b]} for a, b in ((8, 14), (14, 16)))
        for process in processes[:8]:
            (local_group,) = process.node.local_groups
            one, other = (link.nearest()[1] for link in local_group.links)
            assert len({contact.peer for contact in one} & sixth) == len(one) == 3
            assert {contact.peer for contact in other} == eighth


def test_the_stillborn_are_in_the_tables_and_do_nothing(networks: list[Spied]) -> None:
    """As many as the probability says, at 99.9 %; the publisher is never one of them."""
    runs, size = 40, 30
    setting = Setting(communities=(Community(size=size),), success=1.0, crash=0.4)
    spread = simulate(setting, runs, 6)
    error = Z_999 * sqrt(runs * (size - 1) * 0.4 * 0.6)
    assert abs(spread.alive.sum() - runs - 0.6 * runs * (size - 1)) <= error
    for run, network in enumerate(networks):
        living = {process.me.peer for process in network}
        assert len(living) == spread.alive[run, 0]
        assert 0 in {process.number for process in network}
        assert any(peer not in living for process in network for peer in table(process))
        dead_copies = network.undeliverable
        assert spread.messages[run, 0] - dead_copies > 0
        assert dead_copies > 0


def test_weak_crashes_lose_copies_and_nobody() -> None:
    """With one level of fan-out 1 the publisher's copy arrives with success (1 - crash)."""
    pair = Community(size=2, parameters=Parameters(c=0))
    setting = Setting(communities=(pair,), success=0.8, crash=0.5, weak=True)
    spread = simulate(setting, 1000, 7)
    assert (spread.alive == 2).all()
    arrived = int((spread.delivered == 2).sum())
    assert abs(arrived - 400) <= Z_999 * sqrt(1000 * 0.4 * 0.6)


# -- what comes of it --------------------------------------------------------------------------


@pytest.mark.slow
def test_reception_is_the_chain_s() -> None:
    """N = 40, fan-out 4, nothing lost: the mean reached is the exact chain's, at 99.9 %."""
    community = Community(size=40, parameters=Parameters(c=0))
    assert community.fan_out == 4
    runs = 150
    spread = simulate(Setting(communities=(community,), success=1.0), runs, 8)
    law = reached_distribution(40, 4)
    expected = sum(m * p for m, p in enumerate(law))
    deviation = sqrt(sum((m - expected) ** 2 * p for m, p in enumerate(law)))
    assert abs(mean(spread.delivered[:, 0].tolist()) - expected) <= Z_999 * deviation / sqrt(runs)


def test_too_many_processes_are_refused() -> None:
    sizes = (PROCESSES_MAX, 1)
    with pytest.raises(SettingError, match=r"20,001 processes are too many .*20,000; use the"):
        simulate(Setting(communities=chain(sizes)), 1, 1)


def test_a_process_in_both_communities_hands_every_event_over() -> None:
    """No copy climbs (p_sel = 0). Everybody knows all others of each community of theirs."""
    still = Parameters(c=9.0, p_sel=0.0)
    below, above = Community(size=6, supers=(1,), parameters=still), Community(size=5)
    apart = Setting(communities=(below, above), success=1.0)
    (bottom, top) = simulate(apart, runs=2, seed=1).communities
    assert [one.measures()["reception"].mean for one in (bottom, top)] == [1.0, 0.0]
    both = attrs.evolve(apart, overlaps=(Overlap(communities=(0, 1), count=2),))
    assert (apart.processes, both.processes) == (11, 9)
    (bottom, top) = simulate(both, runs=2, seed=1).communities
    for community, size, fan_out in ((bottom, 6, below.fan_out), (top, 5, above.fan_out)):
        found = community.measures()
        assert found["reception"].mean == 1.0
        assert found["messages"].mean == size * fan_out  # each sends once in each community
        assert found["upward_messages"].mean == 0
    weak = attrs.evolve(both, communities=(attrs.evolve(below, success=0.5), above))
    with pytest.raises(SettingError, match="give it to no community where processes are in"):
        simulate(weak, runs=1, seed=1)
