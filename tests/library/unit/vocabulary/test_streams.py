"""Named streams: the same everywhere, and independent of each other."""

from __future__ import annotations

import hashlib
from itertools import combinations
from random import Random

from camcast.vocabulary.streams import StreamName, stream
from tests.python_process import output_of

NAMES: tuple[StreamName, ...] = ("network", "churn", "workload", "protocol")

DRAW = """
from camcast.vocabulary.streams import stream
print([stream(7, n, "p", 3).random() for n in ("network", "churn", "workload", "protocol")])
"""


def test_every_process_and_hash_seed_draws_the_same() -> None:
    here = str([stream(7, name, "p", 3).random() for name in NAMES])
    for seed in ("0", "1", "4711"):
        assert output_of("-c", DRAW, PYTHONHASHSEED=seed).strip() == here


def test_a_stream_is_seeded_by_the_hash_of_its_label() -> None:
    """Pinned: old results can only be replayed while this stays so."""
    label = hashlib.sha256(b"7:network:p:3").digest()
    assert stream(7, "network", "p", 3).random() == Random(int.from_bytes(label[:16])).random()


def test_streams_differ_by_seed_name_and_parts() -> None:
    draws = [
        stream(seed, name, *parts).getrandbits(128)
        for seed in (1, 2, 12)
        for name in NAMES
        for parts in ((), (1,), (2,), (1, 2), (12,), ("a",))
    ]
    assert all(one != other for one, other in combinations(draws, 2))


def test_drawing_from_one_stream_leaves_the_others_alone() -> None:
    protocol = stream(1, "protocol")
    expected = stream(1, "network").random()
    for _ in range(100):
        protocol.random()
    assert stream(1, "network").random() == expected
