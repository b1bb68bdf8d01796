"""The law of last values: members have the same map soon after any fault, newcomers at once.

``python -m tests.library.laws.fault_judge keyed scamp 17`` runs a seed again.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import pytest

from camcast.engine.node import Node
from camcast.engine.repair.comparing import Comparing
from camcast.testing import World
from camcast.vocabulary.batches import Batch, Keyed, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.library.laws.fault_judge import Verdict, judge
from tests.library.laws.faults import make_keyed

A: Final = Topic.parse(".a")
KEYS: Final = 1000
SLOW_SEEDS: Final = {"scamp": range(3), "hybrid": range(800, 801), "dht": range(900, 901)}


def comparing(node: Node) -> Comparing:
    local_group = node.local_group(A)
    assert local_group is not None
    assert local_group.repair is not None
    assert local_group.repair.comparing is not None
    return local_group.repair.comparing


def take_all(values: list[Batch], node: Node, now: float) -> None:
    for one in values:
        comparing(node).take(one, PeerId(b"gone for decades"), now)


def wrong(verdict: Verdict) -> list[str]:
    return verdict.apart + verdict.lost + verdict.twice + verdict.foreign


def value(number: int) -> Batch:
    """Return an event of 1970, of a publisher that is gone."""
    stream, keyed = stream_id(PeerId(b"gone for decades"), 1), Keyed(b"%d" % number)
    return make_batch(stream, number + 1, [bytes(100)], A, published=1, keyed=keyed)


@pytest.mark.slow
def test_a_newcomer_has_a_thousand_last_values_in_two_seconds() -> None:
    """Of a publisher that nobody remembers, with each of ten fixed seeds: at 95 % at least three
    newcomers of four (0.74^10 is 5 %)."""
    values = [value(number) for number in range(KEYS)]
    for seed in range(10):
        world = World(seed, repair=True)
        for node in [world.join(A) for _ in range(8)]:
            world.do(node, partial(take_all, values))
        world.run(10.0)
        newcomer = world.join(A, gap=2.0)
        assert comparing(newcomer).values.keys == KEYS, seed
        assert comparing(newcomer).agreed


@pytest.mark.slow
def test_members_have_the_same_after_a_cut() -> None:
    verdict = judge(make_keyed("scamp", 1, ("cut-10",)))
    assert verdict.due > 100
    assert not wrong(verdict), verdict


@pytest.mark.slow
def test_the_judge_sees_maps_that_differ(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody compares, and newcomers know nothing of before their time."""
    monkeypatch.setattr(Comparing, "wake", lambda *_: None)
    monkeypatch.setattr(Comparing, "greet", lambda *_: None)
    assert judge(make_keyed("scamp", 1, ("restart-new",))).apart


@pytest.mark.slow
@pytest.mark.parametrize("membership", SLOW_SEEDS)
def test_members_have_the_same_after_faults_at_random(membership: str) -> None:
    for seed in SLOW_SEEDS[membership]:
        verdict = judge(make_keyed(membership, seed))
        assert not wrong(verdict), verdict
