"""No well-formed lie of an insider costs an event, brings one twice, or keeps a newcomer out.

Every field of every message takes its extremes (`tests.library.hostile.lying_fields`), told over
the liar's own link by a certified member of the victims' topic, by one that is certified for a
topic below alone, and in `open` by anybody. After the lies of each class an event is published
while one member is cut off, where repair has to bring it: its payload names the class.
"""

from __future__ import annotations

from collections import Counter
from itertools import count

import pytest

from camcast.engine.guard.granted_mandates import said_by
from camcast.security.certificates import Rights
from camcast.security.mandates import sign_mandate
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.topics import ROOT as TOP
from camcast.vocabulary.wire import FRAME_BYTES_MAX, FRAME_HEADER, Kind
from tests.admitted_world import ELSEWHERE, THERE, AdmittedWorld, introduction, record
from tests.library.hostile.lying_fields import Lies, shipped_classes
from tests.signed_world import SOCCER, certificate, key

LIAR = key(9)
BELOW = ".soccer.x"
WITHIN_SECONDS = 60.0  # until what was published has come, or was told as missed
JOIN_SECONDS = 10.0  # for an honest newcomer


Classes = dict[type[Message], Kind | None]


class Liar:
    """Lies to all processes of a world but the gateway, over its own link."""

    def __init__(self, world: AdmittedWorld, topic: str) -> None:
        self._world = world
        self._victims = list(world.nodes[1:])
        self._own = certificate(LIAR, topic, Rights.JOIN | Rights.PUBLISH)
        invented = Contact(PeerId(b"invented-process"), ELSEWHERE)
        known = [node.me for node in self._victims]
        moved = Contact(known[0].peer, ELSEWHERE)
        self.lies = Lies(
            (SOCCER.name, BELOW, "."), (Contact(self._me, THERE), *known, invented, moved)
        )
        self._numbers = count(1)

    _me = LIAR.public.peer_id

    def _record(self, kind: Kind, message: Message) -> bytes:
        mandate = b""
        if message.mandate and self._world.signed:
            said, now = said_by(kind, SOCCER.group, message), round(1000 * self._world.now)
            mandate = sign_mandate(said, now, next(self._numbers), LIAR)
        return record(kind, message, self._me, THERE, SOCCER.group, mandate)

    def tell(self, cls: type[Message], kind: Kind) -> int:
        """Tell everybody all lies of a class; return how many."""
        said = introduction(LIAR, THERE, self._own)
        frame = FRAME_HEADER
        if self._world.signed:
            frame += record(Kind.SECURITY, said, self._me)
        frames, told = [frame], 0
        for lie in self.lies.of(cls):
            one = self._record(kind, lie)
            told += 1
            if len(frames[-1]) + len(one) > FRAME_BYTES_MAX:
                frames.append(FRAME_HEADER)
            frames[-1] += one
        for victim in self._victims:
            for each in frames:
                self._world.virtual.inject(victim.me.address, each, self._me)
        return told


def lied_to(profile: str, topic: str, membership: str, classes: Classes) -> None:
    world = AdmittedWorld(signed=profile == "signed", membership=membership)
    above = world.member(key(3), TOP, own=certificate(key(3), "."))
    members = [world.member(key(number), SOCCER) for number in (20, 21, 22)]
    world.run(35.0)  # who has listened for half a minute is no newcomer to sizes
    liar, published, told = Liar(world, topic), list[bytes](), Counter[str]()
    for cls, kind in classes.items():
        name = f"{cls.__module__}.{cls.__name__}"
        assert kind is not None, name
        told[name] += liar.tell(cls, kind)
        world.run(0.5)
        one, other, away = (members[(len(told) + turn) % 3] for turn in range(3))
        off = away.me.address
        world.cut(lambda *ends, off=off: off not in ends)
        published.append(name.encode())
        world.publish(one, SOCCER, published[-1], seconds=0.5)
        world.heal()
        published.append(b"after " + published[-1])
        world.publish(other, SOCCER, published[-1], seconds=0.5)
    newcomer = world.member(key(30), SOCCER)
    assert world.run(JOIN_SECONDS, lambda: all(one.joined for one in newcomer.local_groups))
    world.publish(members[0], SOCCER, last := b"for the newcomer", seconds=WITHIN_SECONDS)
    for payload in published:
        assert Counter(world.got(payload)) == Counter([*members, above]), payload
    assert Counter(world.got(last)) == Counter([*members, above, newcomer])
    assert {delivery.event.payload for _, delivery in world.delivered} == {*published, last}
    assert min(told.values()) > 0


def every(step: int) -> Classes:
    """Return each `step`-th class."""
    return dict(list(shipped_classes().items())[::step])


def test_lies_in_some_fields_cost_nobody_an_event() -> None:
    lied_to("signed", BELOW, "scamp", every(16))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("profile", "topic", "membership", "step"),
    [
        ("signed", SOCCER.name, "scamp", 1),
        ("signed", BELOW, "hyparview", 4),
        ("open", SOCCER.name, "cyclon", 2),
    ],
)
def test_lies_in_all_fields_cost_nobody_an_event(
    profile: str, topic: str, membership: str, step: int
) -> None:
    """Those of `Have` took all places of what is repaired: what a cut kept back never came."""
    lied_to(profile, topic, membership, every(step))


class Toy(Message, tag=1, frozen=True):
    """A message that a later change adds."""

    since: float
    held: tuple[tuple[bytes, int], ...]


def test_a_field_that_a_later_change_adds_is_lied_about_without_being_named() -> None:
    lies = list(Lies((".a",), ()).of(Toy))
    assert {lie.since for lie in lies} > {0.0, 1e9}
    assert {len(lie.held) for lie in lies} > {0, 1, 600}
    assert {number for lie in lies for _, number in lie.held} > {0, 2**63 - 1}
