"""A member that announces itself in topics without end keeps no community out of a gateway."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from camcast.security.certificates import Rights
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from overlays import register
from overlays.gateway_messages import AnnounceAgain
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.signed_world import certificate, key

CHESS = Topic.parse(".chess")
LIAR = key(9)


@pytest.mark.parametrize("signed", [True, False])
def test_a_newcomer_finds_its_community_while_a_member_of_another_announces_itself_everywhere(
    signed: bool,
) -> None:
    """2 kB once a second drove the community out of a register of 64, as 160 kB do of 4,096: the
    newcomer founded one of its own, for 33 s in `signed` and for good in `open`."""
    with patch.object(register, "GROUPS_MAX", 64):
        world = AdmittedWorld(signed=signed)
        members = [
            world.member(key(20 + number), CHESS, own=certificate(key(20 + number), ".chess"))
            for number in range(3)
        ]
        world.run(40.0)
        own, sender = certificate(LIAR, ".soccer", Rights.JOIN), LIAR.public.peer_id
        said = record(Kind.SECURITY, introduction(LIAR, THERE, own), sender) if signed else b""
        names = tuple(f".soccer.x{number}" for number in range(70))
        frame = FRAME_HEADER + said + record(Kind.DISCOVERY, AnnounceAgain(names), sender)
        payload = b"for newcomers"
        for number in range(8):  # at least one of them starts between two renewals
            world.virtual.inject(world.gate.me.address, frame, sender)
            world.run(0.5)
            secret = key(50 + number)
            world.member(secret, CHESS, own=certificate(secret, ".chess"))
        world.publish(members[0], CHESS, payload, seconds=2.0)
        assert len(world.got(payload)) == len(members) + 8
