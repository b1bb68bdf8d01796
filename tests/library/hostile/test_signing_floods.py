"""What a stranger sends to a process that verifies: nothing of it is kept, passed on or answered.

In process, a frame of 32 KiB of each. `tests/library/hostile/test_forgeries.py` has what is never
believed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from camcast.engine.guard.revocation_spread import ANSWERS_MAX
from camcast.engine.node import Node
from camcast.engine.security_messages import Certificates, RevocationNews, RevocationsKnown
from camcast.security.known_chains import KnownChains
from camcast.vocabulary import wire
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from tests.authority import ADA, EVE, MEMBER, ROOT, grant, revocations
from tests.signed_world import SOCCER, STRANGER, SignedWorld, certificate, control, key, with_own

FRAME_BYTES = 32_000


def forged_event(number: int) -> bytes:
    """An event in Ada's name, in a stream of its own, with a signature that has one wrong bit."""
    stream = stream_id(ADA.public.peer_id, 1_000_000 + number)
    signed = with_own(ADA, certificate(ADA)).sign(
        make_batch(stream, 1, [b"forged"], SOCCER, published=5_000)
    )
    body = signed.body[:-64] + bytes([signed.body[-64] ^ 1]) + signed.body[-63:]
    return wire.event_head(len(body), 1, 0.0, SOCCER.group, STRANGER) + body


def forged_chain(number: int) -> bytes:
    signed = grant(ROOT, EVE, ".soccer", MEMBER, 0, 2**32 - 1, number + 2)
    return control(Certificates((signed[:-64] + bytes(64),)))


def full_list(number: int) -> bytes:
    signed = revocations(*range(1_500), number=9, since=0, until=9)
    return control(RevocationNews(signed[:-64] + bytes(64)))


FLOODS: dict[str, Callable[[int], bytes]] = {
    "forged events": forged_event,
    "forged chains": forged_chain,
    "a forged list": full_list,
    "a stranger's lists": lambda number: control(
        RevocationNews(revocations(by=EVE, number=number, since=0, until=9))
    ),
    "hashes": lambda number: control(RevocationsKnown(number.to_bytes(8))),
    "garbage": lambda number: control(Certificates((b"", number.to_bytes(8) * 9))),
}


def state(node: Node) -> tuple[object, ...]:
    local_group, signing = node.local_group(SOCCER), node.signing
    assert local_group is not None
    assert signing is not None
    known = signing._signatures.known  # type: ignore[attr-defined] # the real one
    return list(local_group.streams.known), list(known._chains), known.revocations.hash()


def test_lists_and_chains_that_are_known_make_nobody_look_through_all_certificates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    victim = SignedWorld().member(key(1), SOCCER)
    looked: list[float] = []

    def look(_: KnownChains, now: float) -> list[PeerId]:
        looked.append(now)
        return []

    monkeypatch.setattr(KnownChains, "put_out", look)
    known = control(RevocationNews(revocations(number=9, since=0, until=9))) + control(
        Certificates((certificate(ADA),))
    )
    victim.receive(wire.FRAME_HEADER + known * 40, 5.0)
    assert looked == [5.0]


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_changes_nothing_and_draws_next_to_nothing(name: str) -> None:
    world = SignedWorld(repair=True)
    victim = world.member(key(1), SOCCER)
    ada = world.member(ADA, SOCCER)
    world.run(3)
    world.publish(ada, SOCCER, b"before")
    before = state(victim)
    frame, number = wire.FRAME_HEADER, 0
    while len(frame) < FRAME_BYTES and number < 10_000:
        record = FLOODS[name](number)
        if len(frame) + len(record) > FRAME_BYTES and number:
            break
        frame, number = frame + record, number + 1
    assert victim.outbox.sends == []
    victim.receive(frame, world.now)
    assert victim.counters.malformed == 0
    assert state(victim) == before
    assert len(victim.outbox.sends) <= ANSWERS_MAX
    assert sum(len(send.record) * len(send.contacts) for send in victim.outbox.sends) < 1_000
    world.publish(ada, SOCCER, b"after")
    assert victim in world.got(b"after")
    assert world.got(b"forged") == []
