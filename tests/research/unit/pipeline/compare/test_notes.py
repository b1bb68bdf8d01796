"""A measure of one side only, repair on one side only, another machine: said, else nothing is."""

from __future__ import annotations

import attrs

from camcast.research.pipeline.compare.findings import Source
from camcast.research.pipeline.compare.notes import (
    machine_notes,
    repair_notes,
    shared_notes,
    unpaired_notes,
)
from tests.research.unit.pipeline.compare.rows import row

ENCODE, DECODE = (row(f"codec.{name}.seconds_min", [1.0, 2.0]) for name in ("encode", "decode"))
HOPS = row("hops_mean", [3.0], backend="dht")


def test_what_only_one_side_has_is_named() -> None:
    assert list(unpaired_notes([ENCODE], [ENCODE])) == []
    assert list(unpaired_notes([ENCODE, HOPS], [ENCODE, DECODE])) == [
        "1 measure is missing that the baseline has: codec.decode of scamp camcast",
        "1 measure is new since the baseline: mean latency in hops of dht camcast",
    ]


def test_what_is_on_both_sides_is_named() -> None:
    assert list(shared_notes({"x": "runs/1", "y": "b.json"}, {"z": "runs/2"})) == []
    assert list(
        shared_notes(
            {"x": "runs/1", "y": "b.json", "z": "b.json"},
            {"x": "runs/1", "y": "c.json", "z": "c.json"},
        )
    ) == [
        "runs/1 is in the baseline too: it is compared with itself",
        "b.json is that of the baseline's c.json: it is compared with itself",
    ]
    assert list(shared_notes({"x": "b.json", "y": "b.json"}, {"x": "c.json"})) == [
        "1 of the 2 benchmarks of b.json are in the baseline's c.json too: they are compared with"
        " themselves"
    ]
    many = {str(number): f"runs/{number}" for number in range(12)}
    assert list(shared_notes(many, many))[10:] == ["and 2 more are on both sides"]


def test_other_machines_and_pythons_are_named_where_time_is_real() -> None:
    here = Source(
        path="a",
        kind="benchmarks",
        baseline=False,
        version="1",
        machine="m",
        python="3.12",
        started="",
    )
    base = attrs.evolve(here, baseline=True)
    assert list(machine_notes([here, base, base])) == []
    (note,) = machine_notes([here, attrs.evolve(base, machine="other")])
    assert note == "what is compared was measured on different machines: m; other"
    (note,) = machine_notes([here, attrs.evolve(base, python="")])
    assert "different Pythons: 3.12; unknown" in note
    virtual = attrs.evolve(base, kind="run", world="virtual", machine="other")
    assert list(machine_notes([attrs.evolve(here, world="virtual"), virtual])) == []


def test_sides_of_which_one_has_repair_and_the_other_has_not_are_named() -> None:
    scamp = Source(
        path="a",
        kind="run",
        baseline=False,
        version="1",
        machine="m",
        python="3.12",
        started="",
        backend="scamp",
        protocol="camcast",
        repair=True,
    )
    dht = attrs.evolve(scamp, backend="dht", repair=False)
    bench = attrs.evolve(scamp, kind="benchmarks", repair=None)
    assert list(repair_notes([scamp, scamp, bench])) == []
    (note,) = repair_notes([dht, scamp, bench])
    assert note == (
        "some of what is compared has repair and some has not: with repair scamp camcast;"
        " without repair dht camcast"
    )
    (note,) = repair_notes([scamp, attrs.evolve(scamp, baseline=True, repair=False)])
    assert note.endswith("without repair scamp camcast (baseline)")
