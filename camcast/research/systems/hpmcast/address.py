"""Addresses of hpmcast: sequences of digits, whose common beginnings are subsystems (002, 4.1).

An address x(l-1). … .x(0), such as 128.178.73.3, is a tuple of integers, x(l-1) first. A *branch
address* of level i, x(l-1). … .x(i), is the common beginning of several addresses: their first
l - i digits. The branch address of level l is empty and stands for the whole system, one of level 0
for a process.
"""

from __future__ import annotations

from typing import Final, TypeAlias

Address: TypeAlias = tuple[int, ...]
"""x(l-1) … x(0), or the beginning of it: a branch address."""

DIGITS_MAX: Final = 64  # chosen: 2^64 processes of arity 2; bounds what a stranger may send


def branch(address: Address, level: int) -> Address:
    """Return the branch address of a level: the whole address for 0, nothing for l (4.1.2).

    Raises `ValueError` for a level that there is not.
    """
    if not 0 <= level <= len(address):
        raise ValueError(f"level {level} of an address of {len(address)} digits")
    return address[: len(address) - level]


def distance(one: Address, other: Address) -> int:
    """Return the level of the longest branch address that two addresses share (4.1.2).

    0 for equal addresses, l for those that differ in the first digit. Raises `ValueError` for
    addresses of different depths.
    """
    pairs = zip(one, other, strict=True)
    common = next((at for at, (x, y) in enumerate(pairs) if x != y), len(one))
    return len(one) - common
