"""Terms are compared only where they may overlap: the same terms remain, and many cost as many."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

import pytest

from camcast.interests import interest
from camcast.interests.grammar import TERMS_MAX, InterestError, parse_terms
from camcast.interests.interest import Interest
from camcast.interests.term import Term
from tests.steps import counted_steps, exponent

FEW = 25
TIMES = 4
EXPONENT_MAX = 1.2

ALTERNATIVES: Final[dict[str, Callable[[int], str]]] = {
    "numbers": lambda one: f"x == {one}",
    "lists": lambda one: f"x in ({one}, {one + 1000})",
    "texts": lambda one: f'x == "{one}"',
    "halves": lambda one: f"x > {one}",
    "bins": lambda one: f"x >= {one} and x < {one + 1} and y == {one}",
    "chains": lambda one: f"x >= {one} and x <= {one + 1} and y == {one}",
    "topics": lambda one: f".t{one} and x > 1",
    "attributes": lambda one: f"x{one} > 1",
}


QUICK = ("numbers", "chains")


@pytest.mark.parametrize("kind", QUICK)
def test_n_alternatives_cost_n(kind: str) -> None:
    _check_growth(kind, FEW)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALTERNATIVES)
def test_as_many_alternatives_as_there_may_be_cost_as_much(kind: str) -> None:
    _check_growth(kind, TERMS_MAX // TIMES)


def _check_growth(kind: str, few: int) -> None:
    counts = []
    for count in (few, TIMES * few):
        text = " or ".join(map(ALTERNATIVES[kind], range(count)))
        with counted_steps() as steps:
            Interest.parse(text)
        counts.append(steps.count)
    assert exponent(counts, TIMES) <= EXPONENT_MAX


def _compared_in_pairs(terms: list[Term]) -> tuple[Term, ...]:
    """Condense terms by looking at each with all others."""
    kept = sorted(dict.fromkeys(terms), key=str)
    kept = [one for one in kept if not any(one.within(other) for other in kept if other != one)]
    while True:
        for term in reversed(kept):
            if term.covered_by([other for other in kept if other != term], 10**9):
                kept.remove(term)
                break
        else:
            return tuple(kept)


def _comparison(rng: Random) -> str:
    name = rng.choice("xyz")
    return rng.choice(
        [
            f"{name} {rng.choice(('==', '!=', '<', '<=', '>', '>='))} {rng.randint(0, 4)}",
            f"{name} in ({rng.randint(0, 3)}, {rng.randint(0, 4)})",
            f'{name} {rng.choice(("==", "!="))} "{rng.choice("ab")}"',
            rng.choice((".", ".a", ".a.b", ".c")),
        ]
    )


def test_the_same_terms_remain_as_if_all_pairs_were_compared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interest, "TOGETHER_MAX", 10**9)
    rng, compared = Random(1), 0
    while compared < 100:
        clauses = [[_comparison(rng) for _ in range(rng.randint(1, 3))] for _ in range(6)]
        try:
            terms = parse_terms(" or ".join(map(" and ".join, clauses)))
        except InterestError:
            continue  # some contradict themselves
        compared += 1
        assert Interest(terms).terms == _compared_in_pairs(list(terms))
