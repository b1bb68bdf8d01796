"""Distinct random numbers in compiled kernels: R. Floyd ("Programming Pearls", CACM 30(9), 1987).

The algorithm takes one draw for each number, and each set of numbers has the same probability: the
bound grows by one each time, and a draw of a number that was drawn before gives the bound itself.
The order of the numbers is not uniform.
"""

from __future__ import annotations

from typing import Any

from numba import njit
from numpy.random import Generator
from numpy.typing import NDArray

from camcast.research.population.xoshiro import State, below, inlined

Numbers = NDArray[Any]
"""An array of integers, whose type differs from kernel to kernel."""


@inlined
def unless_there(numbers: Numbers, drawn: Any, bound: Any) -> Any:
    """Return the number `drawn` from 0 to `bound`; the bound if `drawn` is among the numbers.

    The bound is not among them, since all earlier bounds were smaller.
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
