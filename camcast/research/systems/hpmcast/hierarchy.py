"""The hierarchy that live processes of hpmcast form, and what its protocol asks of a membership.

Readings
--------
* *Addresses* (002, 4.1.1: "Irrespective of how these addresses are determined"). A process's
  address is its identity, written in digits below the arity, except for the last digit, x(0), which
  takes the rest. Everybody knows everybody's address from its contact, no two processes have the
  same one, and identities, being random, spread over all subsystems alike. A group of level 1 then
  grows with the system, to n/a^(l-1) processes, instead of being limited to a_0. * *Interests* of
  lines are of topics and attributes. The tables of higher levels have weaker ones (6.1.1), as
  `camcast.research.systems.hpmcast.coverage` says; so has a line whose interest would be too large
  (`camcast.interests.bounded`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Final, Protocol, runtime_checkable

from attrs import field, frozen, validators

from camcast.doors.options import SHARED
from camcast.interests.interest import Interest
from camcast.interests.wanted import ProcessInterest
from camcast.research.systems.hpmcast.address import DIGITS_MAX, Address
from camcast.research.systems.hpmcast.coverage import accuracy_of, condensed
from camcast.research.systems.hpmcast.view import Line, Union
from camcast.vocabulary.identity import Contact, PeerId

ARITY_MAX: Final = 4096  # chosen: bounds the lines of a table that strangers send
REDUNDANCY_MAX: Final = 64  # chosen: likewise, the delegates of a line

_BRANCHES_MAX: Final = 2**64  # chosen: leaves x(0) half of an identity's 128 bits


@frozen(kw_only=True)
class Hierarchy:
    """How processes are arranged. Raises `ValueError` for a value out of range."""

    arity: int = field(
        default=10, validator=[validators.ge(2), validators.le(ARITY_MAX)], metadata=SHARED
    )
    """a: subsystems of a subsystem of level 2 or more. chosen: some hundred processes, which one
    machine runs, make groups of some tens, as many as are known from outside"""
    depth: int = field(
        default=2, validator=[validators.ge(1), validators.le(DIGITS_MAX)], metadata=SHARED
    )
    """l: levels. chosen: as `arity`"""
    redundancy: int = field(
        default=3, validator=[validators.ge(1), validators.le(REDUNDANCY_MAX)], metadata=SHARED
    )
    """R: delegates of a subsystem. [hpmcast 5.3, Figures 7, 8]"""

    def __attrs_post_init__(self) -> None:
        if self.arity ** (self.depth - 1) > _BRANCHES_MAX:
            raise ValueError(
                f"arity={self.arity} and depth={self.depth} make more than 2^64 groups of level 1;"
                " give less of either"
            )

    def address_of(self, peer: PeerId) -> Address:
        """Return the address of a process."""
        return _address(peer, self.arity, self.depth)

    def regroup(self, level: int) -> Union[Interest]:
        """Return how interests become that of a line of a level's table (4.2.2, 6.1.1)."""
        return partial(condensed, accuracy=accuracy_of(level, self.depth))


# chosen: 16,384 addresses, some 5 MB: as many as `camcast.vocabulary.identity` remembers contacts.
# A bound, because peers feed this table.
@lru_cache(maxsize=16_384)
def _address(peer: PeerId, arity: int, depth: int) -> Address:
    rest, digits = int.from_bytes(peer), []
    for _ in range(depth - 1):
        rest, digit = divmod(rest, arity)
        digits.append(digit)
    return (*digits, rest)


@runtime_checkable
class HierarchicalViews(Protocol):
    """The views of one process, as hpmcast needs them of its membership."""

    @property
    def hierarchy(self) -> Hierarchy:
        """How the processes are arranged."""

    @property
    def version(self) -> int:
        """Rises whenever what a table says changes."""

    def announce(self, interest: ProcessInterest) -> None:
        """Tell other members what this process wants of events, from now on.

        It changes as the process subscribes, without another call.
        """

    def table(self, level: int) -> Sequence[Line[Interest]]:
        """Return the table of a level from 1 to l, in the order of its branch addresses."""

    def contact(self, address: Address) -> Contact:
        """Return the contact of a process of the tables; `KeyError` if there is none."""

    def gossip_along(self, contacts: Sequence[Contact], now: float) -> None:
        """Send what the membership gossips with events that go to these processes (4.2.1)."""
