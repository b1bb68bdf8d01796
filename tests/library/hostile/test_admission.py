"""What strangers, and members of another topic, say to members: nothing of it changes anything.

Real nodes in the virtual network, that know each other by signed records, beside the same nodes in
the profile `open`, where each of these messages does its harm: so the attacks are ones.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from attrs import evolve, frozen

from camcast.doors.signatures import NotAllowedError
from camcast.engine import link_messages as links
from camcast.engine import liveness_messages as liveness
from camcast.engine.node import Node
from camcast.security.keys import SecretKey
from camcast.security.known_peers import KnownPeers
from camcast.virtual.network import address_of
from camcast.vocabulary import wire
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.penalties import Penalties
from camcast.vocabulary.topics import ROOT as TOP
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind
from membership.scamp import messages as scamp
from overlays import gateway_messages
from tests.admitted_world import (
    ELSEWHERE,
    NOBODY,
    THERE,
    AdmittedWorld,
    introduced,
    introduction,
    record,
)
from tests.authority import ADA, CLUB, EVE, grant, revocations
from tests.event_frames import frame_of
from tests.signed_world import (
    ITALY,
    SOCCER,
    certificate,
    join,
    key,
    signed_event,
    with_own,
)

CHESS = Topic.parse(".chess")
FAR = 2**32 - 1


@frozen
class Scene:
    """A member who is attacked, and another member in whose name things are said."""

    victim: Node
    ada: Node


Attack = Callable[[Scene, PeerId], bytes]


def said(kind: Kind, message: Callable[[Scene, PeerId], Message], group: Topic = SOCCER) -> Attack:
    """Say something in one's own name."""
    return lambda scene, me: record(kind, message(scene, me), me, THERE, group.group)


def in_adas_name(kind: Kind, message: Message, group: Topic = SOCCER) -> Attack:
    return lambda scene, me: record(
        kind, message, scene.ada.me.peer, scene.ada.me.address, group.group
    )


def myself(_scene: Scene, me: PeerId) -> tuple[Contact, ...]:
    return (Contact(me, THERE),)


def event_in_adas_name(scene: Scene, _me: PeerId) -> bytes:
    batch = signed_event(ADA, stream_id(scene.ada.me.peer, 77), 1, b"?", certificate(ADA))
    return frame_of(batch, SOCCER.group, scene.ada.me.peer)[len(wire.FRAME_HEADER) :]


IN = Kind.MEMBERSHIP
ATTACKS: dict[str, Attack] = {
    "join": said(IN, lambda _s, _m: scamp.Subscribe(0, 1)),
    "copy": said(IN, lambda _s, _m: scamp.Copy(9, 2)),
    "renew": said(IN, lambda _s, _m: scamp.Renew(3, 3)),
    "holds it": said(IN, lambda _s, _m: scamp.Kept()),
    "probe": said(IN, lambda _s, _m: scamp.Probe(b"", True)),
    "replace Ada by me": lambda scene, me: record(
        IN, scamp.Replace(Contact(me, THERE)), scene.ada.me.peer, scene.ada.me.address, SOCCER.group
    ),
    "Ada leaves": in_adas_name(IN, scamp.Drop(True)),
    "Ada moves": lambda scene, _me: record(
        IN, scamp.Probe(b"", True), scene.ada.me.peer, ELSEWHERE, SOCCER.group
    ),
    "Ada is gone": in_adas_name(Kind.LIVENESS, liveness.Answer((), ((1, SOCCER.group),)), SOCCER),
    "is a super-process": said(
        Kind.LINKS, lambda s, m: links.SuperProcesses(".", myself(s, m), pushed=True)
    ),
    "announces me for .soccer": said(
        Kind.DISCOVERY, lambda _s, _m: gateway_messages.Announce(SOCCER.name)
    ),
    "renews my membership of .soccer": said(
        Kind.DISCOVERY, lambda _s, _m: gateway_messages.AnnounceAgain((SOCCER.name,))
    ),
    "renews it, and asks who is there": said(
        Kind.DISCOVERY, lambda _s, _m: gateway_messages.AskOfMany(1, 9, (SOCCER.name,))
    ),
    "find me": said(
        Kind.LIVENESS, lambda s, m: liveness.Probe(Contact(key(99).public.peer_id, ELSEWHERE), 1.0)
    ),
    "search for members": said(
        Kind.LINKS, lambda _s, _m: links.ReqContact(b"s" * 8, (SOCCER.name,), 3), CHESS
    ),
    "asks for members": said(Kind.LINKS, lambda _s, _m: links.NewProcess(SOCCER.name, 9), CHESS),
    "asks who is there": said(
        Kind.DISCOVERY, lambda _s, _m: gateway_messages.Ask(1, 9, SOCCER.name), SOCCER
    ),
    "an event in Ada's name": event_in_adas_name,
}


def state(node: Node) -> tuple[object, ...]:
    (local_group,) = node.local_groups
    register = node.discovery._register  # type: ignore[attr-defined] # the gateways'
    membership: Any = local_group.membership
    return (
        sorted(map(str, local_group.membership.peers())),
        sorted(map(str, membership.neighbours())),
        sorted(str(entry.contact) for entry in node.liveness.entries.values()),
        [link.nearest() for link in local_group.links],
        {group: sorted(members) for group, members in register._groups.items()},
        len(membership._cold),
        list(local_group.streams.known),
    )


def scene(*, signed: bool) -> tuple[AdmittedWorld, Scene]:
    world = AdmittedWorld(signed=signed)
    victim, ada = world.member(key(1), SOCCER), world.member(ADA, SOCCER)
    world.run(3)
    assert [peer.peer for peer in victim.local_group(SOCCER).membership.peers()] == [ada.me.peer]  # type: ignore[union-attr] # it has joined
    return world, Scene(victim, ada)


def answers(node: Node) -> list[str]:
    return [contact.address for send in node.outbox.sends for contact in send.contacts]


@pytest.mark.parametrize("name", ATTACKS)
def test_in_open_each_of_them_does_something(name: str) -> None:
    world, played = scene(signed=False)
    before, me = state(played.victim), EVE.public.peer_id
    played.victim.receive(wire.FRAME_HEADER + ATTACKS[name](played, me), world.now)
    assert state(played.victim) != before or played.victim.outbox.sends


@pytest.mark.parametrize("by", [NOBODY, EVE], ids=["a stranger", "a member of another topic"])
def test_nothing_of_it_changes_a_table_or_is_answered(by: SecretKey) -> None:
    world, played = scene(signed=True)
    victim, me = played.victim, by.public.peer_id
    before = state(victim)
    for name, attack in ATTACKS.items():
        unadmitted = victim.counters.unadmitted
        frame = wire.FRAME_HEADER + introduced(by) + attack(played, me)
        victim.receive(frame, world.now, me)
        assert state(victim) == before, name
        assert answers(victim) == [], name
        assert victim.counters.unadmitted > unadmitted, name
    world.run(1)
    assert (victim.counters.malformed, victim.counters.forged) == (0, 0)
    world.publish(played.ada, SOCCER, b"after")
    assert victim in world.got(b"after")


def test_of_several_topics_those_remain_in_which_the_sender_has_a_right() -> None:
    """Eve, who is certified for .chess alone, renews herself in two topics."""
    world, played = scene(signed=True)
    renewed = said(
        Kind.DISCOVERY, lambda _s, _m: gateway_messages.AnnounceAgain((SOCCER.name, CHESS.name))
    )
    me = EVE.public.peer_id
    frame = wire.FRAME_HEADER + introduced(EVE) + renewed(played, me)
    played.victim.receive(frame, world.now, me)
    register = played.victim.discovery._register  # type: ignore[attr-defined] # the gateways'
    assert {group: list(members) for group, members in register._groups.items()} == {
        CHESS.group: [me]
    }


def test_who_says_of_others_what_they_did_not_sign_is_not_believed() -> None:
    """Eve, who is certified for .chess, brings introductions that she made up."""
    world, played = scene(signed=True)
    victim, me, ada = played.victim, EVE.public.peer_id, certificate(ADA)
    known = world.known[victim]
    invented = {
        "moved, signed by Eve": introduction(ADA, ELSEWHERE, ada, by=EVE, number=9),
        "without a certificate": introduction(NOBODY, ELSEWHERE),
        "with another's certificate": introduction(NOBODY, ELSEWHERE, ada),
        "certified by Eve": introduction(NOBODY, ELSEWHERE, grant(EVE, NOBODY, since=0, until=FAR)),
    }
    for name, message in invented.items():
        victim.receive(
            wire.FRAME_HEADER + introduced(EVE) + record(Kind.SECURITY, message, me), world.now, me
        )
        for peer in (ADA, NOBODY):
            assert not known.knows(Contact(peer.public.peer_id, ELSEWHERE), world.now), name
    assert known.knows(played.ada.me, world.now)
    moved = introduction(ADA, ELSEWHERE, ada, number=9)
    victim.receive(wire.FRAME_HEADER + record(Kind.SECURITY, moved, me), world.now, me)
    assert known.knows(Contact(played.ada.me.peer, ELSEWHERE), world.now)  # Ada says so herself
    assert not known.knows(played.ada.me, world.now)


def test_a_member_below_links_upward_and_does_not_get_in() -> None:
    """Issue 15, item 5: certified for .soccer.italy, it is answered in .soccer and not let in."""
    world = AdmittedWorld()
    ada = world.member(ADA, SOCCER)
    below = world.member(CLUB, ITALY, own=certificate(CLUB, ITALY.name))
    world.run(8)
    (italy,) = below.local_groups
    assert [link.nearest()[0] for link in italy.links if link.nearest()[1]] == [SOCCER]
    world.publish(below, ITALY, b"climbs")
    assert ada in world.got(b"climbs")
    with pytest.raises(NotAllowedError, match=r"to join \.soccer now"):
        world.do(below, partial(join, SOCCER))
    asked = record(IN, scamp.Subscribe(0, 1), below.me.peer, below.me.address, SOCCER.group)
    refused = ada.counters.unadmitted
    world.inject(ada.me.address, wire.FRAME_HEADER + asked, below.me.peer)
    assert ada.counters.unadmitted == refused + 1
    assert below.me.peer not in ada.local_group(SOCCER).membership.peers()  # type: ignore[union-attr] # it has joined
    assert {type(c) for c in world.got(b"climbs")} == {Node}
    world.publish(ada, SOCCER, b"stays above")
    assert below not in world.got(b"stays above")


def test_a_revoked_member_is_out_of_all_tables_within_half_a_minute() -> None:
    world = AdmittedWorld()
    members = [
        world.member(key(number), SOCCER, own=certificate(key(number), serial=number))
        for number in range(2, 8)
    ]
    world.run(5)
    out, *others = members
    news = revocations(2, since=1, until=FAR)
    others[0].signing._signatures.take_revocations(news, 5.0)  # type: ignore[union-attr] # it signs
    world.run(30)
    for one in others:
        (local_group,) = one.local_groups
        assert out.me.peer not in [peer.peer for peer in local_group.membership.neighbours()]
        assert out.me.peer not in one.liveness.entries
    with pytest.raises(NotAllowedError):  # it has heard of it, too
        world.publish(out, SOCCER, b"revoked")
    world.publish(others[1], SOCCER, b"goes on")
    assert set(world.got(b"goes on")) >= set(others)


def test_a_gateway_that_may_not_serve_is_not_believed_that_nobody_is_there() -> None:
    """Else it could make each newcomer found a community of its own."""
    world = AdmittedWorld()
    world.settings = evolve(world.settings, gateways={})
    imposter = world.member(key(5))
    world.settings = evolve(world.settings, gateways={TOP: (imposter.me.address,)})
    newcomer = world.member(key(6), SOCCER)
    world.run(5)
    (local_group,) = newcomer.local_groups
    assert not local_group.joined
    world.settings = evolve(world.settings, gateways={TOP: (world.gate.me.address,)})
    other = world.member(key(7), SOCCER)
    assert other.local_group(SOCCER).joined  # type: ignore[union-attr] # it is one by then


@pytest.mark.parametrize("seconds", [1.0, 20.0])
def test_who_starts_again_is_introduced_again_to_those_that_are_named(seconds: float) -> None:
    """A gateway that has named the members a moment ago named them to a process that has gone."""
    world = AdmittedWorld()
    others = [world.member(key(number), SOCCER) for number in range(2, 5)]
    ada = world.member(ADA, SOCCER)
    world.run(3.0)
    world.kill(ada)
    world.run(seconds)
    signatures = with_own(ADA, certificate(ADA))
    known = KnownPeers(signatures, 2)
    parts = evolve(world.parts, signatures=signatures, admission=known, penalties=Penalties())
    place = next(number for number in range(9) if address_of(number) == ada.me.address)
    again = world.start(world.settings, place, peer=ada.me.peer, parts=parts)
    world.do(again, partial(join, SOCCER))
    world.run(10.0)
    assert again.local_group(SOCCER).joined  # type: ignore[union-attr] # it has asked to join
    world.publish(again, SOCCER, b"here again")
    assert {*others} <= {*world.got(b"here again")}
