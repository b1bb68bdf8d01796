"""What every discovery promises: found by entry point, driven by hand on virtual time."""

from __future__ import annotations

import heapq
from importlib.metadata import entry_points
from itertools import count
from random import Random

import pytest

from camcast.doors import (
    OVERLAY_GROUP,
    Discovery,
    DiscoveryContext,
    UnknownPlugError,
    find_discovery,
)
from camcast.identity import Contact, new_peer_id
from camcast.outbox import Finding, Outbox, Outlet
from camcast.topics import ROOT, GroupId, Topic
from camcast.wire import Kind, MalformedError, decode_control

DISCOVERIES = sorted(entry.name for entry in entry_points(group=OVERLAY_GROUP))
TOPIC = Topic.parse(".contract")
OTHER = Topic.parse(".other")
SECONDS = 5.0  # in which a seek is answered, whatever the answer
LEASE = 60.0  # in which a crashed process is forgotten
GATEWAY = "tcp://127.0.0.1:1"


class Town:
    """Processes with nothing but a discovery; the first is the gateway of all."""

    def __init__(self, name: str) -> None:
        self.now = 0.0
        self.rng = Random(1)
        self.people: dict[str, tuple[Contact, Discovery, Outbox]] = {}
        self._plug = find_discovery(name)
        self._queue: list[tuple[float, int, str, object]] = []
        self._order = count()
        self.findings: dict[str, list[Finding]] = {}
        self.gateway = self.add()

    def add(self, gateways: tuple[str, ...] = (GATEWAY,)) -> Contact:
        number = len(self.findings) + 1
        me = Contact(new_peer_id(self.rng.randbytes), f"tcp://127.0.0.1:{number}")
        outbox = Outbox()
        context = DiscoveryContext(
            me=me,
            rng=self.rng,
            outlet=Outlet(outbox, me, Kind.DISCOVERY, GroupId(bytes(8))),
            known=lambda _group, _wanted: [],
            gateways={ROOT: gateways},
        )
        self.people[me.address] = me, self._plug(context), outbox
        self.findings[me.address] = []
        return me

    def do(self, who: Contact, verb: str, topic: Topic = TOPIC, *wanted: int) -> None:
        getattr(self.people[who.address][1], verb)(topic, *wanted, self.now)
        self._drain(who)

    def seek(self, who: Contact, topic: Topic = TOPIC, wanted: int = 5) -> Finding:
        """Seek, and return the one answer there must be."""
        before = len(self.findings[who.address])
        self.do(who, "seek", topic, wanted)
        self.run(SECONDS)
        found = self.findings[who.address][before:]
        assert len(found) == 1
        assert found[0].topic == topic
        return found[0]

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while self._queue and self._queue[0][0] <= end:
            self.now, _, address, what = heapq.heappop(self._queue)
            if address not in self.people:
                continue
            me, discovery, _ = self.people[address]
            if isinstance(what, bytes):
                _, group, sender, source, body = decode_control(what, 0, len(what))
                assert discovery.decoder is not None
                message = discovery.decoder.decode(body)
                discovery.receive(Contact(sender, source), group, message, self.now)
            else:
                assert isinstance(what, tuple)
                discovery.wake(what, self.now)
            self._drain(me)
        self.now = end

    def _drain(self, me: Contact) -> None:
        _, _, outbox = self.people[me.address]
        for addresses, record, _ in outbox.sends:
            for address in addresses:
                self._later(0.01, address, record)
        for wake in outbox.wakes:
            self._later(wake.delay_seconds, me.address, wake.token.name)
        self.findings[me.address] += outbox.findings
        outbox.sends.clear()
        outbox.wakes.clear()
        outbox.findings.clear()

    def _later(self, seconds: float, address: str, what: object) -> None:
        heapq.heappush(self._queue, (self.now + seconds, next(self._order), address, what))


@pytest.fixture(params=DISCOVERIES)
def town(request: pytest.FixtureRequest) -> Town:
    return Town(request.param)


def test_some_discovery_is_installed() -> None:
    assert "gateways" in DISCOVERIES


def test_an_unknown_discovery_lists_the_known_ones() -> None:
    with pytest.raises(UnknownPlugError, match="gateways"):
        find_discovery("nonesuch")


def test_an_empty_community_has_nobody_and_that_is_an_answer(town: Town) -> None:
    finding = town.seek(town.add())
    assert finding.contacts == ()
    assert finding.unreachable == ()


def test_who_announces_is_found(town: Town) -> None:
    member, seeker = town.add(), town.add()
    town.do(member, "announce")
    town.run(1.0)
    assert town.seek(seeker).contacts == (member,)


def test_nobody_is_told_of_himself_or_of_another_community(town: Town) -> None:
    member = town.add()
    town.do(member, "announce")
    town.run(1.0)
    assert town.seek(member).contacts == ()
    assert town.seek(town.add(), OTHER).contacts == ()


def test_at_most_as_many_as_wanted_and_all_different(town: Town) -> None:
    members = [town.add() for _ in range(10)]
    for member in members:
        town.do(member, "announce")
    town.run(1.0)
    seeker = town.add()
    seen: set[Contact] = set()
    for _ in range(30):
        contacts = town.seek(seeker, wanted=3).contacts
        assert len(contacts) == len(set(contacts)) == 3
        seen |= set(contacts)
    assert seen == set(members)  # missed with 10 (7/10)^30 = 2e-4, the seed is fixed


def test_who_withdraws_is_not_found(town: Town) -> None:
    member = town.add()
    town.do(member, "announce")
    town.run(1.0)
    town.do(member, "withdraw")
    town.run(LEASE)
    assert town.seek(town.add()).contacts == ()


def test_an_announcement_lasts_while_its_process_lives(town: Town) -> None:
    member = town.add()
    town.do(member, "announce")
    town.run(5 * LEASE)
    assert town.seek(town.add()).contacts == (member,)


def test_a_crashed_process_is_forgotten(town: Town) -> None:
    member = town.add()
    town.do(member, "announce")
    town.run(1.0)
    del town.people[member.address]
    town.run(LEASE)
    assert town.seek(town.add()).contacts == ()


def test_nobody_there_names_the_addresses_asked(town: Town) -> None:
    dead = ("tcp://127.0.0.1:64000", "tcp://127.0.0.1:64001")
    finding = town.seek(town.add(dead))
    assert finding.contacts == ()
    assert set(finding.unreachable) == set(dead)


def test_one_of_several_is_enough(town: Town) -> None:
    member = town.add()
    town.do(member, "announce")
    town.run(1.0)
    finding = town.seek(town.add(("tcp://127.0.0.1:64000", GATEWAY)))
    assert finding.contacts == (member,)
    assert finding.unreachable == ()


def test_without_any_first_contact_one_is_alone(town: Town) -> None:
    finding = town.seek(town.add(()))
    assert finding.contacts == ()
    assert finding.unreachable == ()


def test_an_unknown_timer_is_harmless(town: Town) -> None:
    _, discovery, outbox = town.people[town.add().address]
    discovery.wake(("nonesuch", 1), town.now)
    discovery.wake((), town.now)
    assert not outbox.findings


@pytest.mark.parametrize("garbage", [b"", b"\xff", b"\x91\x63", b"\x90", b"\x91" * 5000])
def test_garbage_is_malformed(town: Town, garbage: bytes) -> None:
    decoder = town.people[town.gateway.address][1].decoder
    if decoder is None:
        pytest.skip("this discovery has a transport of its own")
    with pytest.raises(MalformedError):
        decoder.decode(garbage)
