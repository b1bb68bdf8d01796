"""Distinct numbers in compiled kernels: R. Floyd ("Programming Pearls", CACM 30(9), 1987).

It takes as many draws as numbers, and each set of numbers has the same probability: the bound
grows by one each time, and a draw of a number that is taken already gives the bound itself. The
order is not uniform.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.random import Generator
from numpy.typing import NDArray

from camcast.population.xoshiro import State, below, inlined

Numbers = NDArray[Any]
"""Of integers; the kernels differ in their type."""


@inlined
def unless_there(numbers: Numbers, drawn: Any, bound: Any) -> Any:
    """Return what was drawn from 0 to `bound`, or the bound if that is among the numbers.

    The bound is new, since no number was as large.
    """
    for number in numbers:
        if number == drawn:
            return bound
    return drawn


@inlined
def choose(state: State, targets: NDArray[Any], count: int, among: int) -> State:
    """Fill in `count` distinct uniform numbers below `among`."""
    for chosen in range(count):
        bound = among - count + chosen
        drawn, state = below(state, bound + 1)
        targets[chosen] = unless_there(targets[:chosen], drawn, bound)
    return state


@njit(cache=True, nogil=True)
def choose_by(rng: Generator, targets: NDArray[Any], among: int) -> None:
    """Fill `targets` with distinct uniform numbers below `among`, drawn by a generator of numpy."""
    for chosen in range(len(targets)):
        bound = among - len(targets) + chosen
        drawn = rng.integers(0, bound + 1)
        targets[chosen] = unless_there(targets[:chosen], drawn, bound)
