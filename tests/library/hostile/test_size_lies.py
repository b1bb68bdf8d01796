"""How many members a process counts in `signed`, whatever is said: those that are certified."""

from __future__ import annotations

from typing import Final

import pytest

from camcast.doors.contained import plug_of
from camcast.engine.node import Node
from camcast.security.keys import SecretKey
from camcast.vocabulary.wire import Kind
from membership.scamp.messages import Welcome
from tests.admitted_world import NOBODY, THERE, AdmittedWorld, record
from tests.authority import EVE
from tests.signed_world import SOCCER, certificate, key

MEMBERS: Final = 9
PERIODS: Final = 20
FORGED: Final = b"".join(number.to_bytes(8) + bytes(2) for number in range(64))


def world_of(membership: str) -> tuple[AdmittedWorld, list[Node]]:
    world = AdmittedWorld(membership=membership)
    members = [world.member(key(number), SOCCER) for number in range(1, MEMBERS + 1)]
    world.run(PERIODS)
    return world, members


def sizes(members: list[Node]) -> list[float]:
    found = [node.local_group(SOCCER) for node in members]
    return [part.membership.size() for part in found if part is not None]


@pytest.mark.parametrize("membership", ["scamp", "hyparview", "cyclon"])
def test_no_lie_of_a_member_moves_the_estimate_of_the_others(
    membership: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nine became 72, which eight times as many are, and doubled in an hour."""
    world, members = world_of(membership)
    assert sizes(members) == [MEMBERS] * MEMBERS
    lies(members[0], monkeypatch)
    seen: list[float] = []
    for _ in range(PERIODS):
        world.run(1.0)
        seen += sizes(members[1:])
    assert set(seen) == {MEMBERS}
    newcomer = world.member(key(50), SOCCER)
    world.run(PERIODS)
    assert sizes([*members[1:], newcomer]) == [MEMBERS + 1] * MEMBERS


def lies(liar: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every sample that a member says from now on be forged, with what it goes along with."""
    (part,) = liar.local_groups
    monkeypatch.setattr(vars(plug_of(part.membership))["_estimate"], "encode", lambda now: FORGED)


@pytest.mark.parametrize("by", [NOBODY, EVE], ids=["a stranger", "a member of another topic"])
def test_whoever_is_no_member_moves_nothing(by: SecretKey) -> None:
    world, members = world_of("scamp")
    for _ in range(3):
        said = record(Kind.MEMBERSHIP, Welcome(FORGED), by.public.peer_id, THERE, SOCCER.group)
        world.send(members[0], by, *[said] * 100)
        world.run(2.0)
    assert sizes(members) == [MEMBERS] * MEMBERS


def test_a_member_adds_what_its_certificates_allow() -> None:
    """Its own process, and no member of another topic whom it introduces."""
    world, members = world_of("scamp")
    world.member(EVE, own=certificate(EVE, ".chess"))
    world.member(key(60), SOCCER)
    world.run(PERIODS)
    assert sizes(members) == [MEMBERS + 1] * MEMBERS
