"""Names of benchmarks: what is told apart by tests' ids is told apart, shortened or not."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from camcast.research.pipeline.ingest.benchmark_names import identity, shown_names

SHOWN_MAX = 130  # a long name's file and function, 80 characters of parameters and a digest


@pytest.mark.parametrize(
    ("fullname", "params", "name"),
    [
        ("b/test_x.py::test_a", {}, "b/test_x.py::test_a"),
        ("b/test_x.py::test_a[50]", {"nodes": 50}, "b/test_x.py::test_a(nodes=50)"),
        ("t.py::test_a[scamp-50]", {"membership": "scamp", "n": 50}, "t.py::test_a(n=50)"),
        ("t.py::test_a[scamp]", {"membership": "scamp"}, "t.py::test_a"),
        # of a file without params, or of which a hook has stripped them
        ("t.py::test_x[0]", {}, "t.py::test_x[0]"),
        ("t.py::C::test_x[a-b]", {}, "t.py::C::test_x[a-b]"),
        # what is no plain short value: the id is the same in each process
        ("t.py::test_p[lz4]", {"c": "UNSERIALIZABLE[<f at 0x7f01>]"}, "t.py::test_p[lz4]"),
        ("t.py::test_p[short]", {"data": list(range(2000))}, "t.py::test_p[short]"),
        ("t.py::test_p[dht-x]", {"membership": "dht", "d": {"a": 1}}, "t.py::test_p[x]"),
        ("t.py::test_p[1]", {"n": 1}, "t.py::test_p(n=1)"),
        ("t.py::test_p[1]", {"n": "1"}, 't.py::test_p(n="1")'),
    ],
)
def test_the_identity_of_a_test(fullname: str, params: dict[str, Any], name: str) -> None:
    assert identity(fullname, params) == name


def test_names_are_shortened_by_what_they_do_not_share() -> None:
    assert shown_names(
        [
            "tests/api/test_get.py::test_one",
            "tests/db/test_get.py::test_one",
            "tests/db/test_put.py::test_one(n=1)",
            "test_x.py::TestGet::test_it",
            "test_x.py::test_GetIt",
            "b/test_y.py::test_a",
            "b/y.py::a",
        ]
    ) == {
        "tests/api/test_get.py::test_one": "api/get.one",
        "tests/db/test_get.py::test_one": "db/get.one",
        "tests/db/test_put.py::test_one(n=1)": "put.one(n=1)",
        "test_x.py::TestGet::test_it": "x.Get.it",
        "test_x.py::test_GetIt": "x.GetIt",
        "b/test_y.py::test_a": "b/test_y.py::test_a",
        "b/y.py::a": "b/y.py::a",
    }


def test_no_two_identities_are_shown_alike_however_odd() -> None:
    draw = Random(1)
    words = ["a", "test_a", "Testa", "b.py", "test_b.py", "x" * 90, "x" * 91, "[0]", "(n=1)"]
    for _ in range(200):
        identities = {
            "/".join(draw.choices(words, k=draw.randint(1, 3)))
            + "::"
            + "".join(draw.choices(words, k=draw.randint(1, 2)))
            for _ in range(draw.randint(1, 12))
        }
        shown = shown_names(sorted(identities))
        assert set(shown) == identities
        assert len(set(shown.values())) == len(identities)


def test_a_long_id_is_shown_short_and_stays_itself() -> None:
    long = [f"t/test_api.py::test_data[{'x' * 3000}{end}]" for end in ("a", "b")]
    shown = shown_names(long)
    assert len(set(shown.values())) == 2
    assert all(len(name) <= SHOWN_MAX for name in shown.values())
    assert shown_names(long[:1])[long[0]] == shown[long[0]]  # in every process, beside any other
