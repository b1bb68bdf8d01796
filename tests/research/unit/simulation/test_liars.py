"""What a member that lies achieves in `open`, within which bounds, and what in `signed`.

Sixteen processes with repair, of whom 12 are in a community that one of them lies to, once a
second, while twelve events are published.
"""

from __future__ import annotations

from functools import cache
from math import log
from typing import Literal

import pytest

from camcast.research.scenarios.virtual import LIES, Liars, Lie, VirtualScenario
from camcast.research.scenarios.workload import Workload
from camcast.research.simulation.run_record import VirtualOutcome
from camcast.research.simulation.scenario_run import run_scenario
from camcast.vocabulary.topics import ROOT, Topic

A = Topic.parse(".a")
EVENTS = 12


@cache
def outcome(lie: Lie | None, profile: Literal["open", "signed"], at: float = 0.0) -> VirtualOutcome:
    liars = () if lie is None else (Liars(sends=lie, community=A, at_seconds=at, seconds=12),)
    return run_scenario(
        VirtualScenario(
            seed=3,
            communities={ROOT: 4, A: 12},
            repair=True,
            workload=Workload(topic=A, events=EVENTS, rate=EVENTS / (at + EVENTS)),
            duration_seconds=at + 18,
            discovery="census",
            liars=liars,
            profile=profile,
        )
    )


def receptions(found: VirtualOutcome) -> list[float]:
    return [community.reception or 0.0 for community in found.summary.communities]


@pytest.mark.parametrize("lie", [lie for lie in LIES if lie not in ("events", "sizes")])
def test_in_open_lies_about_others_cost_no_event_and_move_tables_little(lie: Lie) -> None:
    calm, found = outcome(None, "open"), outcome(lie, "open")
    assert receptions(found) == [1.0, 1.0]
    assert found.forged == 0
    for before, after in zip(calm.summary.communities, found.summary.communities, strict=True):
        assert after.view_mean == pytest.approx(before.view_mean, rel=0.2)
    # A lie to ten peers a second, and what it makes them say, beside the heartbeats.
    assert found.records_sent < 2 * calm.records_sent


@pytest.mark.slow
@pytest.mark.parametrize("at", [0.0, 33.0])
def test_a_lie_about_the_size_makes_views_longer_and_costs_no_event(at: float) -> None:
    """With views as for eight times as many, everybody holds everybody; nothing stops climbing.

    A process that had listened for less than half a minute believed what any other told it. Copies
    of subscriptions that nobody has room for walk on until their TTL: seeds 1 to 12 sent 1.9 to 2.3
    times as many records from the start, most of them such copies.
    """
    calm, found = outcome(None, "open", at), outcome("sizes", "open", at)
    assert receptions(found) == [1.0, 1.0]
    for community in found.summary.communities:
        assert (community.view_mean or 0.0) <= 3 * log(8 * 12) + 3
    assert found.records_sent < 2.5 * calm.records_sent


def test_in_open_forged_events_are_delivered_and_take_the_place_of_those_they_name() -> None:
    """Whoever forges each next number of a stream keeps it out as long as he goes on."""
    found = outcome("events", "open")
    assert found.forged > EVENTS
    assert min(receptions(found)) < 1.0
    assert found.unverified == 0


@pytest.mark.parametrize("lie", [None, *LIES])
def test_signed_no_forged_event_is_ever_delivered_and_none_is_lost(lie: Lie | None) -> None:
    calm, found = outcome(None, "signed"), outcome(lie, "signed")
    assert found.forged == 0
    assert receptions(found) == [1.0, 1.0]
    assert (found.unverified > 0) is (lie == "events")
    assert found.signature_seconds >= calm.signature_seconds > 0


def test_signatures_are_counted_and_travel() -> None:
    plain, signed = outcome(None, "open"), outcome(None, "signed")
    assert plain.signature_seconds == 0
    # Each event is signed once, and verified by 15 others in one community or two.
    assert signed.signature_seconds >= EVENTS * (20e-6 + 15 * 50e-6)
    assert signed.bytes - plain.bytes > 72 * signed.event_copies
