"""The peer table: against a dumb twin, and its samples by chi-square."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.peers import PeerTable
from tests.python_process import output_of


def contact(number: int, port: int = 1) -> Contact:
    """Return a contact; nobody can dial it at port 3."""
    peer = PeerId(number.to_bytes(16, "big"))
    return placeholder(peer) if port == 3 else Contact(peer, f"tcp://127.0.0.1:{port}")


CHANGE = st.sampled_from(["add", "add", "discard", "pin", "release"])
CHANGES = st.lists(st.tuples(CHANGE, st.integers(0, 6), st.integers(1, 3)), max_size=60)


@given(CHANGES)
def test_it_holds_what_two_plain_dictionaries_would_hold(
    changes: list[tuple[str, int, int]],
) -> None:
    watched: list[tuple[bool, Contact]] = []
    table = PeerTable(lambda learned, who: watched.append((learned, who)))
    twin: dict[PeerId, Contact] = {}
    pinned: dict[PeerId, None] = {}
    told: list[tuple[bool, Contact]] = []
    for change, number, port in changes:
        who = contact(number, port)
        is_known = who.peer in twin
        if change == "add":
            assert table.add(who) == (not is_known)
            told += [] if is_known else [(True, who)]
            twin[who.peer] = who
        elif change == "discard":
            assert table.discard(who.peer) == is_known
            told += [(False, twin.pop(who.peer))] if is_known else []
            pinned.pop(who.peer, None)
        elif change == "pin":
            table.pin(who.peer, pinned=True)
            pinned |= {who.peer: None} if is_known else {}
        else:
            table.pin(who.peer, pinned=False)
            pinned.pop(who.peer, None)
        assert len(table) == len(twin)
        assert {c.peer: c for c in table} == twin
        assert table.pinned == len(pinned)
        assert table.attached == sum(not one.is_dialable for one in twin.values())
        for other in (contact(n).peer for n in range(7)):
            assert (other in table) == (other in twin)
            assert table.get(other) == twin.get(other)
        for k in (len(pinned), len(twin)):
            chosen = table.fan_out(k, Random(1))
            assert {*pinned} <= {c.peer for c in chosen} <= {*twin}
            assert len(set(chosen)) == len(chosen) == k
    assert watched == told


@given(st.integers(0, 8), st.integers(0, 10), st.integers(0, 10), st.integers())
def test_a_sample_is_distinct_of_the_right_size_and_never_without(
    size: int, k: int, without: int, seed: int
) -> None:
    table = PeerTable()
    for number in range(size):
        table.add(contact(number))
    chosen = table.sample(k, Random(seed), without=contact(without).peer)
    available = [who for who in table if who != contact(without)]
    assert len(chosen) == min(k, len(available))
    assert len(set(chosen)) == len(chosen)
    assert set(chosen) <= set(available)
    assert list(table) == [contact(number) for number in range(size)]  # left as it was


def table_of(size: int, pinned: int = 0) -> PeerTable:
    table = PeerTable()
    for number in range(size):
        table.add(contact(number))
    for number in range(pinned):
        table.pin(contact(number).peer, pinned=True)
    return table


# The quantile 0.999 of chi-square for so many degrees of freedom.
CHI_SQUARE = {9: 27.88, 14: 36.12, 19: 43.82}


@pytest.mark.parametrize(
    ("k", "without", "pinned", "fan_out"),
    [
        *((2, None, 0, False), (3, None, 0, False), (4, None, 0, False), (2, 4, 2, False)),
        *((3, 2, 1, False), (2, None, 0, True), (3, None, 1, True), (4, None, 1, True)),
        (2, None, 5, True),
    ],
)
def test_every_subset_is_equally_likely(
    k: int, without: int | None, pinned: int, fan_out: bool
) -> None:
    """Chi-square over all subsets that may come; a right sampler fails 1 of 1,000 seeds, fixed."""
    table, rng = table_of(6, pinned), Random(20)
    skip = None if without is None else contact(without).peer
    draws = 15_000
    drawn = Counter(
        frozenset(table.fan_out(k, rng) if fan_out else table.sample(k, rng, skip))
        for _ in range(draws)
    )
    always = [contact(number) for number in range(pinned)] if fan_out else []
    subsets = [
        frozenset(subset)
        for subset in combinations([c for c in table if c.peer != skip], k)
        if set(always) <= set(subset) or set(subset) <= set(always)
    ]
    expected = draws / len(subsets)
    chi_square = sum((drawn[subset] - expected) ** 2 / expected for subset in subsets)
    assert sum(drawn[subset] for subset in subsets) == draws
    assert chi_square < CHI_SQUARE[len(subsets) - 1]


HISTORY = """
from random import Random
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.peers import PeerTable
table, rng = PeerTable(), Random(3)
for i in range(300):
    peer = bytes([rng.randrange(40)]) * 16
    table.discard(peer) if rng.random() < 0.4 else table.add(Contact(peer, "tcp://127.0.0.1:1"))
print([c.peer[0] for c in table], [c.peer[0] for c in table.sample(7, rng)])
"""


def test_the_order_does_not_depend_on_the_hash_seed() -> None:
    outputs = [output_of("-c", HISTORY, PYTHONHASHSEED=seed) for seed in ("0", "1", "4711")]
    assert len(outputs[0]) > 100
    assert outputs == [outputs[0]] * 3
