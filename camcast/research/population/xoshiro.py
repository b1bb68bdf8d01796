"""Random bits in compiled kernels: xoshiro256++ (Blackman and Vigna 2021).

The state is four words, which the kernel keeps in registers; every function takes a state and
returns the next one. `seeded` makes a state from a stream of `camcast.vocabulary.streams`. Bounded
integers come from Lemire's multiplication (2019) with rejection, which is unbiased; uniform numbers
have steps of 2^-53.
"""

from __future__ import annotations

from random import Random
from typing import Final

import numpy as np
from numba import njit

State = tuple[np.uint64, np.uint64, np.uint64, np.uint64]

# Inlined by force, as the compiler leaves calls in the innermost loop, which double the time.
inlined: Final = njit(cache=True, nogil=True, forceinline=True)

# Numba takes an expression of a signed and an unsigned integer for a float: all are unsigned.
_1, _11, _17, _19 = np.uint64(1), np.uint64(11), np.uint64(17), np.uint64(19)
_23, _32, _41, _45 = np.uint64(23), np.uint64(32), np.uint64(41), np.uint64(45)
_LOW: Final = np.uint64(2**32 - 1)
_STEP: Final = 2.0**-53


def seeded(stream: Random) -> State:
    """Return a state drawn from a stream."""
    s0, s1, s2, s3 = (np.uint64(stream.getrandbits(64)) for _ in range(4))
    return s0, s1, s2, s3


@inlined
def next_bits(state: State) -> tuple[np.uint64, State]:
    """Return 64 random bits, and the next state."""
    s0, s1, s2, s3 = state
    total = s0 + s3
    bits = ((total << _23) | (total >> _41)) + s0
    shifted = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= shifted
    s3 = (s3 << _45) | (s3 >> _19)
    return bits, (s0, s1, s2, s3)


@inlined
def uniform(state: State) -> tuple[float, State]:
    """Return a uniform number from [0, 1), in steps of 2^-53, and the next state."""
    bits, state = next_bits(state)
    return (bits >> _11) * _STEP, state


@inlined
def bounded(bits: np.uint64, bound: np.uint64, state: State) -> tuple[np.uint64, State]:
    """Return a uniform number from 0 to `bound` - 1, and the next state; `bound` is at most 2^32.

    It is made of the lower 32 of `bits`, and of further ones only where these would bias it.
    """
    product = (bits & _LOW) * bound
    if (product & _LOW) < bound:
        biased = (_LOW - bound + _1) % bound  # 2^32 mod bound
        while (product & _LOW) < biased:
            bits, state = next_bits(state)
            product = (bits & _LOW) * bound
    return product >> _32, state


@inlined
def below(state: State, bound: int) -> tuple[np.int64, State]:
    """Return a uniform number from 0 to `bound` - 1 from newly drawn bits, and the next state."""
    bits, state = next_bits(state)
    number, state = bounded(bits, np.uint64(bound), state)
    return np.int64(number), state
