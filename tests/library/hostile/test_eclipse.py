"""Honest puppets of `make eclipse` get their fair share of tables, and liars get more."""

from __future__ import annotations

from typing import cast

import pytest

from tests.library.hostile.eclipse import NEWCOMERS, Eclipse, Share

MEMBERS, PUPPETS = 30, 6
FAIR = PUPPETS / (MEMBERS + NEWCOMERS)


def of_members(membership: str, *, lies: bool) -> Share:
    eclipse = Eclipse(membership, MEMBERS, PUPPETS, seed=1, lies=lies)
    return cast("Share", eclipse.shares(30.0, push=lies)["member"])


@pytest.mark.slow
@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview"])
def test_honest_puppets_have_their_fair_share(membership: str) -> None:
    """Within 3.29 standard errors (99.9 %), as if tables were independent."""
    share = of_members(membership, lies=False)
    assert abs(share.mean - FAIR) <= 3.29 / 1.96 * share.half


@pytest.mark.slow
def test_liars_that_push_get_more() -> None:
    share = of_members("scamp", lies=True)
    assert share.mean - share.half > 2 * FAIR
