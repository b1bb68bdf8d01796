"""The demo's scenario: a day of departures of New York, faster than life."""

from __future__ import annotations

from collections import Counter
from math import floor
from typing import Final

from camcast.research.scenarios.live import Scenario
from camcast.research.scenarios.workload import Workload
from camcast.research.workloads.flights import DEPARTURES, SECONDS_PER_MINUTE
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

ROOT_NODES: Final = 8  # chosen: as an airport; with the others 118 nodes
AIRPORT_NODES: Final = 8  # chosen: a display, a taxi stand, ... in each terminal
CARRIER_NODES: Final = 86  # chosen: fill up to 118 nodes
CARRIER_NODES_MIN: Final = 2  # chosen: one publishes, somebody else receives
REPLAY_SECONDS: Final = 12.0  # chosen: the whole demo stays well below a minute
GAP_MINUTES_MAX: Final = 10  # chosen: cuts the night, after which a single late flight leaves


def departures() -> Scenario:
    """Return the day of 842 departures, for 118 nodes in 33 communities.

    g = 10 is more than most communities have members, so that p_sel is near 1, and a = z
    makes p_a 1: an event climbs for certain (4.5.1). c = 5 and SCAMP's c = 2 are the
    defaults; the model then predicts 99.9 % and more everywhere.
    """
    whole = Workload(kind="departures", gap_seconds_max=GAP_MINUTES_MAX * SECONDS_PER_MINUTE)
    publications = whole.load()
    events = Counter(topic for publication in publications for topic in publication.topics)
    airports = sorted({airport for topic in events if (airport := topic.super_topic)})
    return Scenario(
        name="departures",
        communities={
            DEPARTURES: ROOT_NODES,
            **dict.fromkeys(airports, AIRPORT_NODES),
            **_shares(events, CARRIER_NODES),
        },
        workload=Workload(
            kind="departures",
            gap_seconds_max=GAP_MINUTES_MAX * SECONDS_PER_MINUTE,
            speed=publications[-1].at_seconds / REPLAY_SECONDS,
        ),
        parameters=CommunitySettings(c=5, g=10, a=3, z=3),
    )


def _shares(events: Counter[Topic], nodes: int) -> dict[Topic, int]:
    """Give each topic the least number of nodes, and the rest by its events (largest remainder)."""
    rest = nodes - CARRIER_NODES_MIN * len(events)
    exact = {topic: rest * count / events.total() for topic, count in sorted(events.items())}
    shares = {topic: floor(share) for topic, share in exact.items()}
    short = rest - sum(shares.values())
    for topic in sorted(exact, key=lambda t: shares[t] - exact[t])[:short]:
        shares[topic] += 1
    return {topic: CARRIER_NODES_MIN + share for topic, share in shares.items()}
