"""The law of signed history: a certificate is judged at the time of publication."""

from __future__ import annotations

from functools import partial

from attrs import evolve

from camcast.engine.node import Node
from camcast.engine.store import Store
from camcast.security.keys import SecretKey
from camcast.testing.memory_archive import MemoryArchive
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from tests.authority import ROOT, grant, revocations
from tests.signed_world import SOCCER, SignedWorld, certificate, join, key, with_own

ENDS = 400
LONG_AFTER = 1500.0  # more than the five minutes of slack between clocks
SERIAL = 77


class SignedArchives(SignedWorld):
    """Members whose archives outlive them, and a publisher whose certificate ends soon."""

    def __init__(self) -> None:
        super().__init__(repair=True)
        self.archives: dict[SecretKey, MemoryArchive] = {}
        self.short = grant(ROOT, key(1), ".soccer", since=0, until=ENDS, serial=SERIAL)

    def begin(self, secret: SecretKey, own: bytes | None = None, *lists: bytes) -> Node:
        archive = self.archives.setdefault(secret, MemoryArchive(lambda: self.now))
        signatures = with_own(secret, own or certificate(secret))
        for one in lists:
            assert not signatures.take_revocations(one, self.now)
        parts = evolve(self.parts, store=Store(), signatures=signatures, archive=archive)
        node = self.start(self.settings, peer=signatures.peer_id, parts=parts)
        self.do(node, partial(join, SOCCER))
        self.run(0.1)
        return node

    def archived(self, secret: SecretKey) -> int:
        return len(list(self.archives[secret].history(SOCCER, 0)))


def aged_world() -> SignedArchives:
    """Return a world in which a dead publisher's certificate has ended, and all have restarted."""
    world = SignedArchives()
    publisher = world.begin(key(1), world.short)
    keepers = [world.begin(key(2)), world.begin(key(3))]
    world.run(5.0)
    for number in range(10):
        world.publish(publisher, SOCCER, b"%d" % number, seconds=0.5)
    world.run(5.0)
    for node in (publisher, *keepers):
        world.kill(node)
    world.run(LONG_AFTER - world.now)
    for number in (2, 3):
        world.begin(key(number))
    world.run(3.0)
    return world


def test_what_was_published_while_a_certificate_was_valid_is_believed_when_it_is_not() -> None:
    world = aged_world()
    world.begin(key(4))
    world.run(10.0)
    assert world.archived(key(4)) == 10


def test_what_says_that_it_was_published_after_a_certificate_ended_is_refused() -> None:
    world = aged_world()
    signatures = with_own(key(1), world.short)
    stream = stream_id(key(1).public.peer_id, 5)
    late = make_batch(stream, 1, [b"late"], SOCCER, published=1000 * (ENDS + 400))
    for number in (2, 3):
        world.archives[key(number)].keep(SOCCER, signatures.sign(late), (world.short,))
    newcomer = world.begin(key(4))
    world.run(10.0)
    assert world.archived(key(4)) == 10
    assert newcomer.signing is not None
    assert newcomer.signing.refused["expired"]


def test_nothing_counts_of_a_certificate_that_was_revoked() -> None:
    world = aged_world()
    list_of = revocations(SERIAL, since=1200, until=5000)
    world.begin(key(4), None, list_of)
    world.run(10.0)
    assert world.archived(key(4)) == 0, "whoever has the key can write any time into an event"
