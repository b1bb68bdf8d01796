"""Identities of one attacker get at most twice their fair share of tables; honest ones get that."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.library.hostile.eclipse import NEWCOMERS, Discovery, Eclipse, Share

MEMBERS, PUPPETS = 30, 6
FAIR = PUPPETS / (MEMBERS + NEWCOMERS)


def shares(*runs: Eclipse, push: bool, seconds: float = 30.0) -> dict[str, Share]:
    tables = [run.tables(seconds, push=push) for run in runs]
    return {
        kind: Share.of(chain(*(one[kind] for one in tables))) for kind in ("newcomer", "member")
    }


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht", "cyclon", "hyparview"])
def test_honest_puppets_have_their_fair_share(membership: str) -> None:
    """Within 3.29 standard errors (99.9 %), as if tables were independent."""
    share = shares(Eclipse(membership, MEMBERS, PUPPETS, seed=1, lies=False), push=False)["member"]
    assert abs(share.mean - FAIR) <= 3.29 / 1.96 * share.half


@pytest.mark.slow
@pytest.mark.parametrize("push", [False, True], ids=["lie", "push"])
@pytest.mark.parametrize(
    ("membership", "seeds"),
    [("scamp", 1), ("hybrid", 1), ("dht", 1), ("cyclon", 3), ("hyparview", 1)],
)
def test_liars_get_at_most_twice_their_fair_share(membership: str, seeds: int, push: bool) -> None:
    """Each has a remedy of its own. Over five seeds all are within the bound, scamp in each.

    Without the remedy of dht, 8 of 40 had 47 % of members' tables.
    """
    runs = (Eclipse(membership, MEMBERS, PUPPETS, seed + 1) for seed in range(seeds))
    found = shares(*runs, push=push)
    assert {kind: share.mean for kind, share in found.items() if share.mean > 2 * FAIR} == {}
    assert not any(share.owned for share in found.values())


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview"])
def test_liars_get_more_where_nobody_draws(membership: str) -> None:
    """The instrument sees an eclipse: the memberships as their papers print them have no remedy."""
    eclipse = Eclipse(membership, MEMBERS, PUPPETS, seed=1, options={"drawn_share": 0.0})
    assert max(share.mean for share in shares(eclipse, push=True).values()) > 2 * FAIR


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview"])
def test_one_lying_gateway_of_two_owns_no_view(membership: str) -> None:
    """It answers first. When the first answer decided, all of 12 newcomers' views were its own."""
    eclipse = Eclipse(membership, MEMBERS, PUPPETS, seed=1, discovery=Discovery.HALF)
    found = shares(eclipse, push=False)
    assert all(share.mean <= 1 / 2 and not share.owned for share in found.values())


@pytest.mark.slow
def test_who_has_explicit_peers_is_not_alone_with_liars_though_all_gateways_lie() -> None:
    eclipse = Eclipse("scamp", MEMBERS, PUPPETS, seed=1, discovery=Discovery.PEERS)
    assert not shares(eclipse, push=False)["newcomer"].owned


@pytest.mark.slow
def test_liars_around_a_node_of_the_dht_do_not_hide_it() -> None:
    """Over five seeds 0.97 as many members as any other hold it, 0.81 while the liars press."""
    eclipse = Eclipse("dht", MEMBERS, PUPPETS, seed=1, subtree=True)
    shares(eclipse, push=False)
    assert eclipse.victim_held >= 1 / 2


@pytest.mark.slow
@pytest.mark.parametrize("repair", [False, True])
def test_events_pass_liars_that_nobody_can_dial(repair: bool) -> None:
    """12 liars have seven tenths of the tables, and pass on nothing.

    A fifth of each table and of each fan-out is drawn anyway. When such liars could have all of a
    fan-out, 62 % of the events arrived without repair.
    """
    eclipse = Eclipse("dht", 40, 12, seed=1, undialable=True, repair=repair)
    assert shares(eclipse, push=True, seconds=60.0)["member"].mean > 1 / 2
    assert eclipse.reception(20, 60.0) >= (1.0 if repair else 0.8)
