"""What every membership promises, whoever wrote it: found by entry point, driven by hand.

A village of memberships exchanges its messages in memory; seeks are answered with members.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from functools import partial
from importlib.metadata import entry_points
from itertools import count
from random import Random
from typing import Any

import pytest

from camcast.doors.membership import Membership
from camcast.doors.plugs import MEMBERSHIP_GROUP, UnknownPlugError, find_backend
from camcast.doors.selective import SelectiveContext
from camcast.interests.wanted import ProcessInterest
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind, MalformedError, decode_control

BACKENDS = sorted(entry.name for entry in entry_points(group=MEMBERSHIP_GROUP))
TOPIC = Topic.parse(".contract")
SECONDS = 20.0  # in which a backend puts right what happened to a village of ten


class Village:
    """Memberships of one community, their messages and timers on virtual time."""

    def __init__(self, backend: str) -> None:
        self.now = 0.0
        self.rng = Random(1)
        self.members: dict[str, tuple[Contact, Membership, Outbox]] = {}
        self._backend = find_backend(backend)
        self._queue: list[tuple[float, int, str, object]] = []
        self._order = count()

    def add(self, contacts: Iterable[Contact] = ()) -> tuple[Contact, Membership]:
        me = Contact(new_peer_id(self.rng.randbytes), f"tcp://127.0.0.1:{len(self.members) + 1}")
        outbox = Outbox()
        outlet = ControlOutlet(outbox, me, Kind.MEMBERSHIP, TOPIC.group)
        kind = self._backend.context
        asked: dict[str, Any] = (
            {"interest": ProcessInterest(TOPIC)} if kind is SelectiveContext else {}
        )
        context = kind(me, TOPIC, self.rng, outlet, **asked)
        membership = self._backend.keeper(context, self._backend.options())
        self.members[me.address] = me, membership, outbox
        membership.join(contacts, self.now)
        self.drain(me)
        return me, membership

    def drain(self, me: Contact) -> None:
        _, membership, outbox = self.members[me.address]
        for addresses, record, _ in outbox.sends:
            for address in addresses:
                self._later(0.01, address, record)
        for wake in outbox.wakes:
            self._later(wake.delay_seconds, me.address, wake.token.name)
        seeks, outbox.seeks = outbox.seeks, []
        outbox.sends.clear()
        outbox.wakes.clear()
        for seek in seeks:  # as a discovery does that draws uniformly, and can count
            others = [c for c, m, _ in self.members.values() if m.joined and c != me]
            found = self.rng.sample(others, min(seek.wanted, len(others)))
            membership.contacts_found(found, self.now, float(len(others) + 1))
            self.drain(me)

    def _later(self, seconds: float, address: str, what: object) -> None:
        heapq.heappush(self._queue, (self.now + seconds, next(self._order), address, what))

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, address, what = heapq.heappop(self._queue)
            if address not in self.members:
                continue
            me, membership, _ = self.members[address]
            if isinstance(what, bytes):
                _, _, sender, source, body = decode_control(what, 0, len(what))
                if sender != me.peer:
                    message = membership.decoder.decode(body)
                    membership.receive(Contact(sender, source), message, self.now)
            else:
                assert isinstance(what, tuple)
                membership.wake(what, self.now)
            self.drain(me)
        self.now = end


@pytest.fixture(params=BACKENDS)
def village(request: pytest.FixtureRequest) -> Village:
    return Village(request.param)


def grown(village: Village, size: int = 10) -> list[tuple[Contact, Membership]]:
    members = [village.add()]
    while len(members) < size:
        members.append(village.add([members[0][0]]))
        village.run(0.2)
    village.run(5.0)
    return members


def test_some_backend_is_installed() -> None:
    assert "scamp" in BACKENDS


def test_an_unknown_backend_lists_the_known_ones() -> None:
    with pytest.raises(UnknownPlugError, match="scamp"):
        find_backend("nonesuch")


def test_the_first_one_founds_the_community(village: Village) -> None:
    _, founder = village.add()
    village.run(1.0)
    assert founder.joined
    assert len(founder.peers()) == 0
    assert founder.size() == 1.0


def test_through_contacts_one_joins(village: Village) -> None:
    members = grown(village)
    assert all(membership.joined for _, membership in members)
    assert all(len(membership.peers()) >= 1 for _, membership in members)
    known = {contact for _, membership in members for contact in membership.peers()}
    assert known == {me for me, _ in members}


def test_a_dead_contact_does_not_prevent_it(village: Village) -> None:
    members = grown(village, 3)
    nobody = Contact(new_peer_id(village.rng.randbytes), "tcp://127.0.0.1:65000")
    _, newcomer = village.add([nobody, members[0][0]])
    village.run(10.0)
    assert newcomer.joined


def test_the_table_is_one_object_without_the_process_itself(village: Village) -> None:
    me, founder = village.add()
    table = founder.peers()
    for _ in range(5):
        village.add([me])
        village.run(1.0)
    assert founder.peers() is table
    assert len(table) >= 1
    for contact, membership, _ in village.members.values():
        assert contact.peer not in membership.peers()


def test_size_is_at_least_one_and_counts_a_small_village(village: Village) -> None:
    _, alone = village.add()
    assert alone.size() >= 1.0
    members = grown(Village(village._backend.name))
    assert all(membership.size() == pytest.approx(10, rel=0.5) for _, membership in members)


def test_the_expected_view_is_sane(village: Village) -> None:
    backend = village._backend
    law = partial(backend.expected_view, backend.options())
    views = [law(float(size)) for size in (1, 2, 10, 100, 1000, 10**6)]
    assert views[0] == 0.0
    assert views == sorted(views)
    assert all(v <= size - 1 for v, size in zip(views, (1, 2, 10, 100, 1000, 10**6), strict=True))


def test_who_leaves_is_dropped_by_the_others(village: Village) -> None:
    members = grown(village)
    gone, leaver = members[4]
    leaver.leave(village.now)
    village.drain(gone)
    del village.members[gone.address]
    village.run(SECONDS)
    assert not any(gone.peer in m.peers() for me, m in members if me != gone)


def test_who_crashes_is_dropped_by_the_others(village: Village) -> None:
    members = grown(village)
    gone, _ = members[4]
    del village.members[gone.address]
    village.run(SECONDS)
    assert not any(gone.peer in m.peers() for me, m in members if me != gone)
    assert all(len(m.peers()) for me, m in members if me != gone)


def test_an_unknown_timer_is_harmless(village: Village) -> None:
    me, membership = grown(village)[0]
    before = list(membership.peers())
    membership.wake(("nonesuch", 1), village.now)
    membership.wake((), village.now)
    village.drain(me)
    assert list(membership.peers()) == before


@pytest.mark.parametrize("garbage", [b"", b"\xff", b"\x91\x63", b"\x90", b"\x91" * 5000, bytes(99)])
def test_garbage_is_malformed(village: Village, garbage: bytes) -> None:
    _, membership = village.add()
    with pytest.raises(MalformedError):
        membership.decoder.decode(garbage)


def test_truncated_and_flipped_messages_never_raise(village: Village) -> None:
    """Every message that a join exchanges, cut at every place and with every byte flipped."""
    founder, _ = village.add()
    me, membership = village.add([founder])
    village.run(3.0)
    bodies = {bytes(record) for _, _, _, record in village._queue if isinstance(record, bytes)}
    _, target = village.add([me])
    village.run(1.0)
    bodies |= {r for _, _, _, r in village._queue if isinstance(r, bytes)}
    for record in bodies:
        body = decode_control(record, 0, len(record)).body
        variants = [body[:cut] for cut in range(len(body))]
        variants += [body[:i] + bytes([body[i] ^ 0xFF]) + body[i + 1 :] for i in range(len(body))]
        for variant in variants:
            try:
                message = membership.decoder.decode(variant)
            except MalformedError:
                continue
            target.receive(founder, message, village.now)
    assert len(target.peers()) <= 100


def test_an_early_or_repeated_leave_is_harmless(village: Village) -> None:
    founder, _ = village.add()
    _, membership = village.add([founder])
    membership.leave(village.now)
    membership.leave(village.now)
