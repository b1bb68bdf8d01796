"""The census: a discovery that knows who is alive and draws among them without favour."""

from __future__ import annotations

from math import sqrt
from random import Random
from statistics import NormalDist

import pytest

from camcast.doors.discovery import DiscoveryContext
from camcast.testing.lone_process import LoneProcess, contact
from camcast.virtual.census import Census, CensusDiscovery
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Finding, Outbox
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind

A, B = Topic.parse(".a"), Topic.parse(".b")


def member(census: Census, number: int) -> tuple[CensusDiscovery, Outbox]:
    process = LoneProcess(contact(number))
    outlet = process.outlet(Kind.DISCOVERY)
    context = DiscoveryContext(Random(0), outlet, lambda _group, _wanted: [], {})
    return census.discovery(context), process.outbox


def test_the_first_finds_nobody_the_next_the_first_and_nobody_finds_itself() -> None:
    census = Census(Random(1))
    for number in range(3):
        discovery, outbox = member(census, number)
        discovery.announce(A, 0.0)
        discovery.seek(A, 5, 0.0)
        (finding,) = outbox.findings
        found = sorted(finding.contacts, key=lambda one: one.peer)
        assert Finding(A, tuple(found)) == Finding(A, tuple(contact(n) for n in range(number)))
        assert not outbox.sends
        assert not outbox.wakes


def test_communities_are_apart_and_who_withdraws_is_gone() -> None:
    census = Census(Random(1))
    discovery, _ = member(census, 1)
    discovery.announce(A, 0.0)
    assert census.draw(A, 5) == [contact(1)]
    assert census.draw(B, 5) == []
    census.strike(B, contact(1))
    discovery.withdraw(A, 0.0)
    census.strike(A, contact(1))  # twice does no harm
    assert census.draw(A, 5) == []


def test_who_is_entered_again_is_there_once_at_its_new_address() -> None:
    census = Census(Random(1))
    census.enter(A, contact(1))
    moved = Contact(contact(1).peer, "tcp://10.9.9.9:7000")
    census.enter(A, moved)
    assert census.draw(A, 5) == [moved]


@pytest.mark.parametrize(("members", "wanted"), [(4, 9), (9, 5), (12, 3), (13, 3), (100, 5)])
def test_as_many_distinct_as_there_are(members: int, wanted: int) -> None:
    census = Census(Random(2))
    for number in range(members):
        census.enter(A, contact(number))
    for without in (None, contact(0).peer, PeerId(b"s" * 16)):
        others = [n for n in range(members) if contact(n).peer != without]
        for _ in range(50):
            drawn = census.draw(A, wanted, without)
            assert len({one.peer for one in drawn}) == len(drawn) == min(wanted, len(others))
            assert without not in {one.peer for one in drawn}


@pytest.mark.parametrize(("members", "wanted"), [(8, 3), (30, 2)])
def test_everybody_is_drawn_as_often_as_the_others(members: int, wanted: int) -> None:
    """Both ways of drawing; each of the counts is binomial, and right at 99.9 % in all (so each
    at 1 - 0.001/30). Half of the members are entered late, after others were struck."""
    census = Census(Random(3))
    for number in (*range(members), *range(100, 100 + members)):
        census.enter(A, contact(number % 250))
    for number in range(100, 100 + members):
        census.strike(A, contact(number))
    draws = 6000
    counts = dict.fromkeys((contact(number).peer for number in range(1, members)), 0)
    for _ in range(draws):
        for one in census.draw(A, wanted, contact(0).peer):
            counts[one.peer] += 1
    share = wanted / (members - 1)
    z = NormalDist().inv_cdf(1 - 0.001 / 60)
    error = z * sqrt(draws * share * (1 - share))
    assert all(abs(count - draws * share) <= error for count in counts.values())
