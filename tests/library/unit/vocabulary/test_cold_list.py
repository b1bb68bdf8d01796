"""The cold list: bounded, aged by days, by address."""

from __future__ import annotations

from random import Random

from camcast.vocabulary.cold_list import COLD_MAX, COLD_SECONDS, Cold, ColdList
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.topics import ROOT, Topic

A = Topic.parse(".a")


def peer(number: int, address: int | None = None) -> Contact:
    address = number if address is None else address
    return Contact(PeerId(number.to_bytes(16, "big")), f"tcp://10.0.0.1:{1 + address}")


def at(number: int) -> Contact:
    return Contact(UNKNOWN_PEER, peer(number).address)


def test_the_newest_are_kept() -> None:
    cold = ColdList()
    for number in range(2 * COLD_MAX):
        cold.put(peer(number), A, float(number))
    assert [entry.contact for entry in cold] == [at(n) for n in range(COLD_MAX, 2 * COLD_MAX)]
    cold.put(peer(COLD_MAX), ROOT, 1000.0)  # anew, so that others are forgotten before it
    cold.put(peer(1000), A, 1001.0)
    assert at(COLD_MAX) in [entry.contact for entry in cold]
    assert at(COLD_MAX + 1) not in [entry.contact for entry in cold]


def test_one_address_has_one_entry_the_last() -> None:
    cold = ColdList()
    cold.put(peer(1), A, 1.0)
    cold.put(peer(2, address=1), ROOT, 2.0)
    assert list(cold) == [Cold(at(1), ROOT, 2.0)]
    assert cold.pop(peer(1).address) == Cold(at(1), ROOT, 2.0)
    assert cold.pop(peer(1).address) is None
    assert not len(cold)


def test_a_sample_has_no_peer_twice_and_forgets_only_what_is_days_old() -> None:
    cold, rng = ColdList(), Random(1)
    for number in range(10):
        cold.put(peer(number), A, float(number))
    assert {entry.contact for entry in cold.sample(10, rng, COLD_SECONDS)} == set(
        map(at, range(10))
    )
    assert len(cold.sample(3, rng, COLD_SECONDS)) == 3
    assert len(cold.sample(99, rng, COLD_SECONDS + 4.5)) == len(cold) == 5
    assert cold.sample(1, rng, 2 * COLD_SECONDS) == []
