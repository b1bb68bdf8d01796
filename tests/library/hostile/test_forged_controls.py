"""Forged, altered, replayed, cross-topic and expired control records of every kind, in `signed`.

By a stranger, and by a member who is certified for another topic: none of them changes a table, is
delivered or passed on, and nobody is written to but the sender, and only if it is a member.
"""

from __future__ import annotations

from random import Random
from typing import Final

import pytest

from camcast.engine.node import Node
from camcast.security.certificates import SLACK_SECONDS
from camcast.security.keys import SecretKey
from camcast.security.records import LIFETIME_SECONDS
from camcast.vocabulary import wire
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind
from tests.admitted_world import NOBODY, THERE, AdmittedWorld, introduction, record
from tests.authority import ADA, EVE, MEMBER, ROOT, grant
from tests.library.hostile.mutator import records_of
from tests.mutations import mutated
from tests.signed_world import ITALY, SOCCER, certificate, key

CHESS: Final = Topic.parse(".chess")
START: Final = 1_000.0
TALKING_SECONDS: Final = 12.0  # chosen: some periods of every part
MEMBERSHIPS: Final = ("scamp", "cyclon", "hyparview", "dht", "hpmcast")
NEIGHBOURS: Final = (ADA, key(2), key(3))
OF_ALL: Final = frozenset((Kind.LIVENESS, Kind.SECURITY))
"""What any member may ask another: whether it lives, and for certificates."""


class Scene:
    """A member of .soccer, and all control records that its neighbours have sent it."""

    def __init__(self, membership: str, until: int = 2**32 - 1) -> None:
        """Let the certificates of the neighbours end at `until`, in seconds since 1970."""
        self.world = world = AdmittedWorld(membership=membership)
        world.run(START)
        self.victim = world.member(key(1), SOCCER)
        genuine: dict[bytes, None] = {}
        receive = self.victim.receive

        def capture(frame: bytes, now: float, link: object = None) -> None:
            genuine.update(dict.fromkeys(records_of(frame[len(wire.FRAME_HEADER) :])))
            receive(frame, now, link)  # type: ignore[arg-type]  # as it came

        self.victim.receive = capture  # type: ignore[method-assign]  # to see what arrives
        members = [
            world.member(one, SOCCER, own=grant(ROOT, one, ".soccer", MEMBER, 0, until, 1))
            for one in NEIGHBOURS
        ]
        world.member(key(4), ITALY)
        world.run(TALKING_SECONDS)
        world.do(members[1], lambda node, now: node.leave(SOCCER, now))
        world.run(2.0)
        self.victim.receive = receive  # type: ignore[method-assign]  # no more
        self.genuine = [one for one in genuine if one[4] != Kind.EVENT]


def tables(node: Node) -> tuple[object, ...]:
    (local_group,) = node.local_groups
    return (
        sorted(map(str, local_group.membership.neighbours())),
        sorted(str(entry.contact) for entry in node.liveness.entries.values()),
        [link.nearest() for link in local_group.links],
        node.counters.events,
    )


def attack(scene: Scene, rng: Random, by: SecretKey) -> bytes:
    """Make of a genuine record what somebody else can: say it again, change it, or call it his."""
    old = rng.choice(scene.genuine)
    kind, group, sender, address, mandate, body = wire.decode_control(old, 0, len(old))
    me = by.public.peer_id
    match rng.randrange(5):
        case 0:  # replayed
            return old
        case 1:  # altered
            changed = mutated(rng, old[4:])
            return len(changed).to_bytes(4) + changed
        case 2:  # in his own name, with the mandate of another
            sender, address = me, THERE
        case 3:  # in another's name, with a mandate of his own making
            mandate = rng.randbytes(wire.MANDATE_BYTES)
        case _:  # in another group
            group = GroupId(rng.choice((ITALY, CHESS, SOCCER)).group)
            sender, address = rng.choice(((me, THERE), (sender, address)))
    return wire.encode_control(wire.control_head(kind, group, sender, address, mandate), body)


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("by", [NOBODY, EVE], ids=["a stranger", "a member of another topic"])
@pytest.mark.parametrize(
    "count",
    [1_000, pytest.param(100_000, marks=pytest.mark.slow)],  # 10^4 and 10^6 in all
)
def test_nothing_of_it_is_taken(membership: str, by: SecretKey, count: int) -> None:
    scene, rng = Scene(membership), Random(count)
    victim, me, now = scene.victim, by.public.peer_id, scene.world.now
    assert {one[4] for one in scene.genuine} >= {Kind.MEMBERSHIP, Kind.LIVENESS, Kind.SECURITY}
    own = () if by is NOBODY else (certificate(EVE, ".chess"),)
    introduced = record(Kind.SECURITY, introduction(by, THERE, *own), me)
    victim.receive(wire.FRAME_HEADER + introduced, now, me)
    before = tables(victim)
    victim.outbox.sends.clear()
    for _ in range(count):
        victim.receive(wire.FRAME_HEADER + attack(scene, rng, by), now, me)
        for send in victim.outbox.sends:
            assert by is EVE
            assert {contact.address for contact in send.contacts} == {THERE}
            assert send.record[4] in OF_ALL
        victim.outbox.sends.clear()
        assert victim.outbox.deliveries == []
    assert tables(victim) == before
    assert victim.counters.unadmitted > count // 2


@pytest.mark.parametrize("membership", MEMBERSHIPS)
@pytest.mark.parametrize("expired", ["records", "certificates"])
@pytest.mark.parametrize("count", [1_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_nothing_of_an_expired_member_is_taken(membership: str, expired: str, count: int) -> None:
    """Not even what it said itself, over its own link, with its introduction before."""
    until = 2**32 - 1 if expired == "records" else round(START + 60)
    scene, rng = Scene(membership, until), Random(count)
    victim, before = scene.victim, tables(scene.victim)
    now = (scene.world.now + LIFETIME_SECONDS if expired == "records" else until) + SLACK_SECONDS
    introduced = [introduction_of(one, until) for one in NEIGHBOURS] if until < now else []
    of = {one.public.peer_id: None for one in NEIGHBOURS}
    senders = [wire.decode_control(one, 0, len(one))[2] for one in scene.genuine]
    said = [
        (sender, one) for sender, one in zip(senders, scene.genuine, strict=True) if sender in of
    ]
    assert {one[4] for _, one in said} >= {Kind.MEMBERSHIP, Kind.LIVENESS, Kind.SECURITY}
    victim.outbox.sends.clear()
    refused = victim.counters.unadmitted
    for _ in range(count):
        sender, old = rng.choice(said)
        records = rng.sample(introduced, min(1, len(introduced)))
        victim.receive(wire.FRAME_HEADER + b"".join([*records, old]), now + 1.0, sender)
        assert victim.outbox.sends == []
        assert victim.outbox.deliveries == []
    assert tables(victim) == before
    assert victim.counters.unadmitted - refused >= count


def introduction_of(of: SecretKey, until: int) -> bytes:
    """Return a record that is valid, with a certificate that ends at `until`."""
    own = grant(ROOT, of, ".soccer", MEMBER, 0, until, 1)
    return record(Kind.SECURITY, introduction(of, THERE, own, number=2), of.public.peer_id)
