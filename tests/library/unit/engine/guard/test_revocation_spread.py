from __future__ import annotations

from random import Random

import pytest

from camcast.engine.guard.revocation_spread import (
    ANSWERS_MAX,
    PERIOD_SECONDS,
    RevocationSpread,
)
from camcast.engine.node import Node
from camcast.engine.security_messages import RevocationNews, RevocationsKnown
from camcast.security.event_signatures import EventSignatures
from camcast.security.keys import SecretKey
from camcast.testing.lone_process import LoneProcess, contact
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.wire import Kind
from tests.authority import ADA, CLUB, EVE, ROOT, revocations
from tests.signed_world import (
    ITALY,
    SOCCER,
    SignedWorld,
    certificate,
    key,
    with_own,
)

FAR = 2**32 - 1
SERIAL = 66  # of Eve's certificate


def lists(number: int, *serials: int, by: SecretKey = ROOT) -> bytes:
    return revocations(*serials, by=by, number=number, since=0, until=FAR)


def signatures_of(node: Node) -> EventSignatures:
    signing = node.signing
    assert signing is not None
    signatures = signing._signatures
    assert isinstance(signatures, EventSignatures)
    return signatures


def test_a_revoked_member_is_refused_everywhere_within_half_a_minute() -> None:
    world = SignedWorld(repair=True, loss=0.1)
    for number in range(1, 13):
        world.member(key(number), SOCCER)
    eve = world.member(EVE, SOCCER, own=certificate(EVE, serial=SERIAL))
    world.run(20)
    world.publish(eve, SOCCER, b"before", 10.0)
    assert len({id(node) for node in world.got(b"before")}) == 13
    signatures_of(world.nodes[5]).take_revocations(lists(1, SERIAL), 0.0)
    world.run(30)  # [docs/security.md] from when one member has it
    late = world.member(ADA, SOCCER)
    world.run(30)
    for node in world.nodes:
        assert signatures_of(node).revocations() == [lists(1, SERIAL)]
    # What Eve would publish if she had not heard of it herself.
    forged = with_own(EVE, certificate(EVE, serial=SERIAL))
    signing = eve.signing
    assert signing is not None
    signing._signatures = forged
    world.publish(eve, SOCCER, b"after", 10.0)
    world.publish(late, SOCCER, b"goal", 10.0)
    assert {id(node) for node in world.got(b"after")} == {id(eve)}
    members = {id(node) for node in world.nodes if node is not eve}  # she may hear it, or not
    assert {id(node) for node in world.got(b"goal")} >= members


@pytest.mark.parametrize("membership", ["scamp", "hybrid", "dht"])
def test_a_revoked_member_is_out_of_all_tables_within_half_a_minute(membership: str) -> None:
    """Though it goes on as before: it sends heartbeats, answers, and subscribes again.

    It has published to all, who know its certificate so.
    """
    world = SignedWorld(membership=membership, repair=True)
    for number in range(1, 13):
        world.member(key(number), *((SOCCER,) if number < 9 else (ITALY,)))
    eve = world.member(EVE, SOCCER, ITALY, own=certificate(EVE, serial=SERIAL))
    world.run(20)
    world.publish(eve, ITALY, b"before", 20.0)
    assert {id(node) for node in world.got(b"before")} == {id(node) for node in world.nodes}
    others = [node for node in world.nodes if node is not eve]
    assert any(knows(node, eve) for node in others)
    signatures_of(others[5]).take_revocations(lists(1, SERIAL), 0.0)
    world.run(30)  # [docs/security.md]
    for _ in range(20):
        assert [node for node in others if knows(node, eve)] == []
        world.run(3)
    # She is certified again, and comes back.
    signatures_of(eve).renew([[certificate(EVE, serial=SERIAL + 1)]], 1.0)
    assert eve.signing is not None
    world.publish(eve, SOCCER, b"again", 1.0)
    world.run(30)
    world.publish(eve, SOCCER, b"certified", 10.0)
    assert {id(node) for node in world.got(b"certified")} >= {id(n) for n in world.nodes[:8]}


def knows(node: Node, other: Node) -> bool:
    """Say whether a process has another one in a table."""
    known = [c.peer for p in node.local_groups for c in p.membership.peers()]
    above = [c.peer for p in node.local_groups for link in p.links for c in link.nearest()[1]]
    return other.me.peer in (*known, *above)


class Process(LoneProcess):
    """One process with three neighbours, and what it sends."""

    def __init__(self, *lists: bytes) -> None:
        super().__init__(Contact(ADA.public.peer_id, "tcp://127.0.0.1:7000"))
        self.signatures = with_own(ADA, certificate(ADA))
        for data in lists:
            assert self.signatures.take_revocations(data, 0.0) == ""
        self.neighbours = [contact(number) for number in (1, 2, 3)]
        self.spread = RevocationSpread(
            self.signatures,
            self.outlet(Kind.SECURITY),
            lambda wanted: self.neighbours[:wanted],
            Random(1),
        )

    def bodies(self) -> list[tuple[int, bytes]]:
        """Return to how many each message went that was sent until now, and its bytes."""
        return [(len(to), record.body) for to, record in self.records()]

    def take(self, data: bytes, source: Contact, now: float = 1.0) -> str:
        return self.spread.take(source, RevocationNews(data), 0.0, now)


def test_news_goes_on_to_all_neighbours_but_the_one_who_told() -> None:
    process = Process(lists(1))
    assert process.take(lists(2, SERIAL), process.neighbours[0]) == ""
    ((count, record),) = process.bodies()
    assert (count, lists(2, SERIAL) in record) == (2, True)
    assert process.take(lists(2, SERIAL), process.neighbours[1]) == ""
    assert process.bodies() == []
    process.spread.wake()
    ((count, record),) = process.bodies()  # the hash, to one
    assert count == 1
    assert process.signatures.revocations_hash() in record


def test_what_a_file_told_goes_to_all_neighbours() -> None:
    process = Process()
    process.signatures.take_revocations(lists(1, SERIAL), 0.0)
    process.spread.wake()
    assert [count for count, _ in process.bodies()] == [3]


def test_an_older_list_is_answered_with_the_newer_one() -> None:
    process = Process(lists(2, SERIAL))
    assert process.take(lists(1), contact(9)) == ""
    ((count, record),) = process.bodies()
    assert (count, lists(2, SERIAL) in record) == (1, True)


def test_what_no_issuer_signed_goes_nowhere() -> None:
    process = Process(lists(1, by=ROOT))
    assert process.take(lists(9, SERIAL, by=EVE), contact(9)) == "untrusted"
    assert process.take(lists(9, SERIAL, by=CLUB), contact(9)) == "untrusted"
    assert process.take(lists(2, SERIAL)[:-1] + b"\0", contact(9)) == "forged"
    assert process.take(b"garbage", contact(9)) == "malformed"
    assert process.bodies() == []


def test_who_asks_in_the_names_of_many_draws_little() -> None:
    process = Process(lists(1, *range(1000)))
    for number in range(1000):
        process.spread.compare(contact(number), RevocationsKnown(b"another!"), 1.0)
    assert len(process.bodies()) == ANSWERS_MAX
    process.spread.wake()
    process.bodies()
    process.spread.compare(contact(0), RevocationsKnown(b"another!"), 1.0 + PERIOD_SECONDS)
    assert len(process.bodies()) == 1
    process.spread.compare(contact(0), RevocationsKnown(b"another!"), 2.0 + PERIOD_SECONDS)
    assert process.bodies() == []


def test_who_knows_no_list_asks_for_them() -> None:
    process = Process()
    process.spread.compare(contact(9), RevocationsKnown(b"another!"), 1.0)
    ((count, record),) = process.bodies()
    assert count == 1
    assert process.signatures.revocations_hash() in record
