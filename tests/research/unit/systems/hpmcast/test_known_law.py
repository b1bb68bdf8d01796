"""The law of the view: the mean over true views."""

from __future__ import annotations

from random import Random
from statistics import mean, stdev

from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.address import Address
from camcast.research.systems.hpmcast.hierarchy import Hierarchy
from camcast.research.systems.hpmcast.known_law import known_on_average
from camcast.research.systems.hpmcast.view import tables
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

TOPIC = Topic.parse(".a")
A, B = Interest.parse(".a"), Interest.parse(".b")


def test_the_law_of_the_view_is_the_mean_over_true_views() -> None:
    """200 processes with random identities, 40 times; within 3.29 standard errors (99.9 %)."""
    rng = Random(2)
    for hierarchy in (Hierarchy(), Hierarchy(arity=4, depth=3, redundancy=2)):
        means = []
        for _ in range(40):
            identities = [PeerId(rng.randbytes(16)) for _ in range(200)]
            members: dict[Address, Interest] = dict.fromkeys(
                map(hierarchy.address_of, identities), A
            )
            owner = next(iter(members))
            known = tables(owner, members, hierarchy.redundancy, hierarchy.regroup(1))
            means.append(
                len({one for table in known.values() for line in table for one in line.delegates})
                - 1
            )
        error = stdev(means) / len(means) ** 0.5
        assert abs(mean(means) - known_on_average(hierarchy, 200.0)) <= 3.29 * error
    assert known_on_average(Hierarchy(depth=1), 50.0) == 49.0
