"""The configured first contacts of a process, whose host names are looked up again and again.

A name stands for all its addresses, of IPv4 and IPv6. It is looked up when the discovery opens,
once in `LOOK_UP_SECONDS`, and when a question to one of its addresses stays unanswered: a gateway
that comes back at another address under its name is found there. While a look-up fails, the last
addresses count; a name that has never had any is not known *yet*. Numeric addresses are their own,
and cost nothing.

The look-ups are coroutines of `Waiting.look_up`: live the operating system's resolver does them, in
virtual networks a table. The discovery hands its inputs `wake` and `finished` on to this object.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from math import inf
from typing import Final

from attrs import define

from camcast.doors.discovery import DiscoveryContext
from camcast.vocabulary.addresses import (
    AddressError,
    check_address,
    host_of,
    is_numeric,
    is_wildcard,
)

TIMER: Final = "names"
LOOK_UP_SECONDS: Final = 60.0  # chosen: also where nothing is asked, a moved gateway is found soon
# chosen: as long as a gateway has to answer. A name server gets a question for each name in that
# time at most, however many questions to gateways stay unanswered.
PAUSE_SECONDS: Final = 2.0
ADDRESSES_MAX: Final = 16  # chosen: of one name; a question goes to each


@define
class _Name:
    addresses: tuple[str, ...] = ()
    began: float = -inf
    """When the last look-up began."""
    pending: bool = False
    """Whether it is under way."""


class NamedContacts:
    """The addresses of the first contacts that `context` names.

    `changed(new, now)` is called when a look-up is over, with the addresses that it has found and
    that were not known before.
    """

    def __init__(
        self, context: DiscoveryContext, changed: Callable[[tuple[str, ...], float], None]
    ) -> None:
        self._context, self._changed = context, changed
        listed = [named for several in context.gateways.values() for named in several]
        self._names = {named: _Name() for named in listed if not is_numeric(named)}

    def open(self, now: float) -> None:
        """Look up every name for the first time."""
        if self._names:
            self.look_up_all(now)
            self._context.outlet.wake(LOOK_UP_SECONDS, TIMER)

    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        """Take a timer of the discovery; only the one of this object has an effect."""
        if name == (TIMER,):
            self.open(now)

    def addresses(self, named: str) -> tuple[str, ...]:
        """Return the addresses of a first contact, none while its name is not known."""
        name = self._names.get(named)
        return (named,) if name is None else name.addresses

    def names(self, address: str) -> tuple[str, ...]:
        """Return the first contacts that have this address now."""
        return tuple(named for named, one in self._names.items() if address in one.addresses)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names that have had no address so far."""
        return tuple(named for named, one in self._names.items() if not one.addresses)

    @property
    def pending(self) -> tuple[str, ...]:
        """The names that have had no address so far, and are being looked up."""
        return tuple(named for named in self.unknown if self._names[named].pending)

    def twins(self, address: str) -> tuple[str, ...]:
        """Return the addresses of the same names that are of the other family, IPv4 or IPv6."""
        of_names = dict.fromkeys(a for one in self.names(address) for a in self.addresses(one))
        is_v6 = host_of(address).endswith("]")
        return tuple(one for one in of_names if host_of(one).endswith("]") is not is_v6)

    def look_up_all(self, now: float) -> None:
        """Look every name up again."""
        self.look_up(self._names, now)

    def look_up(self, named: Iterable[str], now: float) -> None:
        """Look these first contacts up again; those that were in `PAUSE_SECONDS` are left out."""
        waiting = self._context.waiting
        for one in named:
            name = self._names.get(one)
            if name is not None and not name.pending and now >= name.began + PAUSE_SECONDS:
                assert waiting is not None, "the driver looks names up"
                name.began, name.pending = now, True
                waiting.start(waiting.look_up(one), TIMER, one)

    def finished(self, name: tuple[Hashable, ...], outcome: object, now: float) -> None:
        """Take the outcome of a coroutine of the discovery, if it is a look-up of this object."""
        match name:
            case (str(kind), str(named)) if kind == TIMER and named in self._names:
                self._looked_up(named, outcome, now)

    def _looked_up(self, named: str, outcome: object, now: float) -> None:
        name = self._names[named]
        name.pending = False
        found = outcome if isinstance(outcome, tuple) else ()
        addresses = tuple(dict.fromkeys(filter(_can_be_asked, found)))[:ADDRESSES_MAX]
        new = tuple(one for one in addresses if one not in name.addresses)
        if addresses:
            if name.addresses and sorted(addresses) != sorted(name.addresses):
                self._context.outlet.report("gateway_moved", addresses=(named, *addresses))
            name.addresses = addresses
        admission, key = self._context.admission, self._context.keys.get(named)
        if admission is not None and key is not None:
            for address in new:
                admission.pin(address, key)
        self._changed(new, now)
        if isinstance(outcome, Exception) and not isinstance(outcome, OSError):
            raise outcome


def _can_be_asked(address: object) -> bool:
    """Say whether a look-up has found an address, and not a wildcard or one of a zone."""
    try:
        checked = check_address(str(address))
    except AddressError:
        return False
    return is_numeric(checked) and not is_wildcard(checked)
