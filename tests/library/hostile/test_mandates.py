"""What is passed on for a process counts by its mandate: nobody subscribes another in its name."""

from __future__ import annotations

import pytest

from camcast.engine.guard import granted_mandates as mandates
from camcast.engine.guard.granted_mandates import said_by
from camcast.engine.link_messages import ReqContact
from camcast.engine.node import Node
from camcast.security.certificates import SLACK_SECONDS
from camcast.security.keys import SecretKey
from camcast.security.mandates import sign_mandate
from camcast.vocabulary import wire
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind
from membership.scamp.messages import Copy, Subscribe
from tests.admitted_world import THERE, AdmittedWorld, introduction, record
from tests.authority import ADA, EVE
from tests.signed_world import ITALY, SOCCER, certificate, key

CAROL = SecretKey(b"C" * 32)
"""A process that may join, and has not."""
CAROLS = introduction(CAROL, THERE, certificate(CAROL))
START = 1_000.0
COPY = Copy(0, 5)


class Scene:
    """Ada and Eve in .soccer, who both may be there, and what Eve sends in Carol's name."""

    def __init__(self) -> None:
        self.world = AdmittedWorld()
        self.world.run(START)
        self.ada, self.eve = (self.world.member(one, SOCCER) for one in (ADA, EVE))
        self.world.run(3)

    def say(self, mandate: bytes, message: Message = COPY, kind: Kind = Kind.MEMBERSHIP) -> None:
        """Let Eve pass on a message that Carol is said to have sent."""
        carol = CAROL.public.peer_id
        frame = wire.FRAME_HEADER + b"".join((
            record(Kind.SECURITY, CAROLS, self.eve.me.peer, self.eve.me.address),
            record(kind, message, carol, THERE, SOCCER.group, mandate),
        ))  # fmt: skip
        self.ada.receive(frame, self.world.now, self.eve.me.peer)

    def mandate(
        self,
        *,
        by: SecretKey = CAROL,
        message: Message = COPY,
        group: Topic = SOCCER,
        after: float = 0.0,
        kind: Kind = Kind.MEMBERSHIP,
    ) -> bytes:
        said = said_by(kind, group.group, message)
        return sign_mandate(said, round(1000 * (self.world.now + after)), 1, by)

    @property
    def holds_carol(self) -> bool:
        (local_group,) = self.ada.local_groups
        return CAROL.public.peer_id in local_group.membership.peers()

    @property
    def refused(self) -> dict[str, int]:
        return dict(self.ada.guard.refused)


def altered(mandate: bytes) -> bytes:
    return mandate[:15] + bytes([mandate[15] ^ 1]) + mandate[16:]


def test_what_is_not_mandated_is_not_done() -> None:
    scene = Scene()
    for mandate, why in (
        (b"", "unsigned"),
        (scene.mandate(by=EVE), "forged"),
        (altered(scene.mandate()), "forged"),
        (scene.mandate(group=ITALY), "forged"),
        (scene.mandate(message=ReqContact(b"s", (".",), 3)), "forged"),
        (scene.mandate(kind=Kind.LINKS), "forged"),
        (scene.mandate(after=-SLACK_SECONDS - 1), "expired"),
        (scene.mandate(after=SLACK_SECONDS + 1), "early"),
    ):
        for message in (COPY, Subscribe(0, 6)):
            before = scene.refused.get(f"mandate_{why}", 0)
            scene.say(mandate, message)
            assert scene.refused[f"mandate_{why}"] == before + 1
            assert not scene.holds_carol
            assert not scene.ada.outbox.sends
        assert scene.ada.guard.penalties is not None
        scene.ada.guard.penalties._scores.clear()  # of so many forgeries eight bar their sender
    scene.say(scene.mandate())
    assert scene.holds_carol


def test_a_search_is_answered_to_whom_it_is_of() -> None:
    """58 bytes in another's name draw an answer to it, and copies to three neighbours."""
    scene = Scene()
    asked = ReqContact(b"searched", (".soccer",), 3)
    scene.say(b"", asked, Kind.LINKS)
    other = ReqContact(b"another!", (".soccer",), 3)
    scene.say(scene.mandate(message=other, kind=Kind.LINKS), asked, Kind.LINKS)
    assert not scene.ada.outbox.sends
    scene.say(scene.mandate(message=asked, kind=Kind.LINKS), asked, Kind.LINKS)
    assert scene.ada.outbox.sends


def test_a_mandate_is_used_so_often_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mandates, "USES_MAX", 3)
    scene = Scene()
    mandate = scene.mandate()
    for walk in range(5):
        scene.say(mandate, Copy(0, walk))
    assert scene.refused == {"mandate_spent": 2}


def test_whoever_gives_mandates_without_end_drives_out_its_own_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """4,096 of a liar's own made nobody pass on what newcomers ask, and spent mandates count again.

    Eve asks with a new search each time; Carol's mandate is used up, and still goes along.
    """
    monkeypatch.setattr(mandates, "USES_MAX", 1)
    monkeypatch.setattr(mandates, "MANDATES_MAX", 32)
    monkeypatch.setattr(mandates, "KEPT_MAX", 32)
    scene = Scene()
    carols = scene.mandate()
    scene.say(carols)
    for number in range(100):
        asked = ReqContact(b"%08d" % number, (".soccer",), 1)
        mandate = scene.mandate(by=EVE, message=asked, kind=Kind.LINKS)
        me = scene.eve.me
        one = record(Kind.LINKS, asked, me.peer, me.address, SOCCER.group, mandate)
        scene.ada.receive(wire.FRAME_HEADER + one, scene.world.now, me.peer)
    assert scene.refused == {}
    found = scene.ada.guard._mandates  # type: ignore[attr-defined]  # of `AccessControl`
    assert found.find(CAROL.public.peer_id, Kind.MEMBERSHIP, SOCCER.group, COPY) == carols
    scene.say(carols, Copy(0, 6))
    assert scene.refused == {"mandate_spent": 1}


@pytest.mark.parametrize("membership", ["scamp", "cyclon", "hyparview"])
def test_what_honest_processes_pass_on_is_taken(membership: str) -> None:
    world = AdmittedWorld(membership=membership)
    world.run(START)
    nodes = [world.member(key(number), SOCCER) for number in range(2, 8)]
    below = world.member(key(12), ITALY)
    world.run(8)
    for one in nodes:
        whys = refused(one)
        assert not [why for why in whys if "mandate" in why or why == "in_anothers_name"]
    world.publish(below, ITALY, b"climbs")
    assert set(world.got(b"climbs")) == {*nodes, below}


def refused(node: Node) -> dict[str, int]:
    return dict(node.guard.refused)


def test_a_mandate_of_another_time_is_logged_once_a_minute_with_what_to_look_at(
    caplog: pytest.LogCaptureFixture,
) -> None:
    scene = Scene()
    for after, says in ((-400.0, "400 s ago"), (400.0, "400 s ahead")):
        caplog.clear()
        for _ in range(2):
            scene.say(scene.mandate(after=after))
        (line,) = (one.message for one in caplog.records if "mandate" in one.message)
        assert CAROL.public.peer_id.hex()[:8] in line
        assert says in line
        assert "look at the clock of this machine" in line
        scene.world.run(61.0)
        scene.say(scene.mandate(after=after))
        lines = [one.message for one in caplog.records if "mandate" in one.message]
        assert len(lines) == 2
        assert "3 so far" in lines[1]
