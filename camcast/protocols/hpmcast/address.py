"""Addresses of hpmcast: sequences of digits, whose common beginnings are subsystems (002, 4.1).

An address x(l-1). … .x(0) is a tuple of integers, x(l-1) first, and in text ``128.178.73.3``. A
*branch address* of level i, x(l-1). … .x(i), is the common beginning of several addresses: their
first l - i digits. The branch address of level l is empty and stands for the whole system, one of
level 0 for a process.
"""

from __future__ import annotations

from math import prod
from typing import Final, TypeAlias

from attrs import field, frozen

from camcast.vocabulary.errors import CamcastError

Address: TypeAlias = tuple[int, ...]
"""x(l-1) … x(0), or the beginning of it: a branch address."""

DIGITS_MAX: Final = 64  # chosen: 2^64 processes of arity 2; bounds what a stranger may send


class HierarchyAddressError(CamcastError, ValueError):
    """An address that does not fit its hierarchy; the message names the place in it."""


def _arities(_space: AddressSpace, _name: object, arities: tuple[int, ...]) -> None:
    if not 1 <= len(arities) <= DIGITS_MAX:
        raise ValueError(f"a hierarchy of depth {len(arities)}; give 1 to {DIGITS_MAX} levels")
    for at, arity in enumerate(arities):
        if arity < 1:
            raise ValueError(f"a({len(arities) - 1 - at}) is {arity}; an arity is 1 or more")


@frozen
class AddressSpace:
    """Which addresses there are (Equation 10): 0 <= x(i) < a_i.

    `arities` are a_(l-1) … a_0, in the order of an address's digits. Raises `ValueError` for a
    depth outside 1 to `DIGITS_MAX` and for an arity below 1.
    """

    arities: tuple[int, ...] = field(validator=_arities)

    @classmethod
    def regular(cls, arity: int, depth: int) -> AddressSpace:
        """Return the space of `depth` digits below `arity` each; raises `ValueError`."""
        return cls((arity,) * depth)

    @property
    def depth(self) -> int:
        """l: how many levels there are, and digits in an address."""
        return len(self.arities)

    @property
    def capacity(self) -> int:
        """The number of different addresses (Equation 11, whose product sign is lost in print)."""
        return prod(self.arities)

    def check(self, address: Address) -> Address:
        """Return the address if it is one of this space; raises `HierarchyAddressError`."""
        self._count(len(address), write(address))
        for at, digit in enumerate(address):
            if not 0 <= digit < self.arities[at]:
                raise self._out_of_range(write(address), at, str(digit), write(address[:at]))
        return address

    def parse(self, text: str) -> Address:
        """Read an address such as ``128.178.73.3``; raises `HierarchyAddressError`."""
        parts = text.split(".")
        self._count(len(parts), text)
        for at, part in enumerate(parts):
            before = ".".join(parts[:at])
            if not (part.isascii() and part.isdigit()):
                raise HierarchyAddressError(
                    f"address {text!r}: x({self.depth - 1 - at}), at column"
                    f" {_column(before)}, is {part!r}; write a number without a sign"
                )
            # compared by length first: a stranger's digits may be too many to convert
            if len(part.lstrip("0")) > len(str(self.arities[at])) or int(part) >= self.arities[at]:
                raise self._out_of_range(text, at, part, before)
        return tuple(map(int, parts))

    def _count(self, digits: int, text: str) -> None:
        if digits != self.depth:
            raise HierarchyAddressError(
                f"address {text!r} has {digits} digits; this hierarchy has {self.depth} levels,"
                " so write as many, with dots between them"
            )

    def _out_of_range(self, text: str, at: int, digit: str, before: str) -> HierarchyAddressError:
        return HierarchyAddressError(
            f"address {text!r}: x({self.depth - 1 - at}), at column {_column(before)}, is {digit};"
            f" it goes from 0 to {self.arities[at] - 1}"
        )


def write(address: Address) -> str:
    """Return an address, or a branch address, as text."""
    return ".".join(map(str, address))


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


def _column(before: str) -> int:
    """Return the column of what follows `before` and its dot; the first is 1."""
    return len(before) + 2 if before else 1
