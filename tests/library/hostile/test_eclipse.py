"""How much of others' tables the identities of one attacker get; `eclipse` measures it."""

from __future__ import annotations

import pytest

from tests.library.hostile.eclipse import Eclipse, Share

MEMBERS, PUPPETS = 30, 6
FAIR = PUPPETS / MEMBERS


def shares(membership: str, *, lies: bool, push: bool = False) -> Share:
    found = Eclipse(membership, MEMBERS, PUPPETS, seed=1, lies=lies).shares(20.0, push=push)
    members = found["member"]
    assert isinstance(members, Share)
    return members


@pytest.mark.slow  # 10 s
@pytest.mark.parametrize("membership", ["cyclon", "dht", "hyparview"])
def test_processes_that_neither_lie_nor_push_have_their_share(membership: str) -> None:
    """The instrument itself: twice the interval of 95 %, since tables are not independent."""
    found = shares(membership, lies=False)
    assert abs(found.mean - FAIR) <= max(2 * found.half, 0.05)
    assert not found.owned
