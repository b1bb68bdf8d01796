"""The routing table: the nearest good nodes, no early eviction, and upstream as it was read."""

from __future__ import annotations

import inspect
from hashlib import sha256
from importlib.metadata import version
from random import Random
from typing import Any

import kademlia.node  # type: ignore[import-untyped] # untyped
import kademlia.routing  # type: ignore[import-untyped] # untyped
import kademlia.utils  # type: ignore[import-untyped] # untyped
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overlays.kademlia.table import Counters, Limits, Neighbour, Table
from tests.library.unit.overlays.kademlia.kademlia_world import PORT

ID = bytes(range(20))


class Owner:
    """Stands for the protocol of a table."""

    def __init__(self) -> None:
        self.counters = Counters()
        self.checked: list[Neighbour] = []

    def check(self, node: Neighbour, now: float) -> None:
        self.checked.append(node)


@given(st.lists(st.binary(min_size=20, max_size=20), unique=True, max_size=120), st.randoms())
@settings(max_examples=60, deadline=None)
def test_the_table_finds_exactly_the_nearest_good_ones(ids: list[bytes], rng: Any) -> None:
    me = Neighbour(bytes(19) + b"\x05")
    table = Table(Owner(), me, Limits())
    filling = [Random(n).randbytes(20) for n in range(40)]  # enough for buckets to split
    edges = [bytes(20), b"\x7f" + b"\xff" * 19, b"\x80" + bytes(19), b"\xff" * 20]
    for number, node_id in enumerate(dict.fromkeys([*edges, *filling, *ids])):
        node = Neighbour(node_id, f"10.0.{number // 250}.{number % 250 + 1}", PORT)
        if node_id != me.id:
            table.admit(node, 0.0)
    known = list(table.neighbours())
    assert len({node.id for node in known}) == len(known)
    for node in known:
        assert table.get(node.id) is node
    doubtful = rng.sample(known, len(known) // 4)
    for node in doubtful:
        table.doubt(node)
    target = Neighbour(rng.randbytes(20))
    good = sorted((n for n in known if n not in doubtful), key=target.distance_to)
    assert table.find_neighbors(target) == good[:20]
    for _ in range(2):
        for node in doubtful:
            table.doubt(node)
    assert all(node not in list(table.neighbours()) for node in doubtful)


def test_nobody_is_evicted_while_nobody_answers() -> None:
    table = Table(Owner(), Neighbour(bytes(20)), Limits())
    node = Neighbour(ID, "10.0.0.1", 1)
    table.admit(node, 0.0)
    for _ in range(10):
        table.doubt(node, evict=False)
    assert table.get(ID) is node
    assert table.find_neighbors(node) == [node]  # None is good, so doubtful ones must do.
    table.doubt(node)
    assert table.get(ID) is None


# -- upstream ----------------------------------------------------------------------------------

UPSTREAM = {
    # overridden
    kademlia.routing.RoutingTable: "81560e03ba9cb33a",
    # built upon
    kademlia.routing.KBucket: "d7745c6bd5540f94",
    kademlia.node.Node: "91582f4db0ab9767",
    kademlia.utils.shared_prefix: "26bf9963a1d54439",
    kademlia.utils.bytes_to_bit_string: "74c1dd0d9f0e565d",
}


@pytest.mark.parametrize("source", UPSTREAM, ids=lambda source: source.__name__)
def test_upstream_is_as_it_was_when_it_was_read(source: Any) -> None:
    digest = sha256(inspect.getsource(source).encode()).hexdigest()[:16]
    assert digest == UPSTREAM[source], f"{source} has changed: read it, then see what we override"


def test_upstream_has_the_version_that_was_read() -> None:
    assert version("kademlia") == "2.2.3"


def test_what_of_upstream_starts_tasks_or_reads_clocks_is_overridden_or_not_called() -> None:
    theirs = {name for name in vars(kademlia.routing.RoutingTable) if not name.startswith("__")}
    assert theirs - set(vars(Table)) == {"flush", "split_bucket", "lonely_buckets", "is_new_node"}
