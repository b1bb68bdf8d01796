"""A membership whose topic tables are filled from outside, by a caller, and never change.

This is the setting of the paper's simulation (000, 6.1.1: "determined statically [...] and do not
change"), and the assumption of its analysis (4): uniform tables, and an exact N_t.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, ClassVar

from attrs import frozen
from typing_extensions import override

from camcast.doors.membership import Backend, Membership, MembershipContext
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.peers import PeerTable
from camcast.vocabulary.topics import Topic


@frozen
class _NoOptions:
    """Dealt tables have nothing to choose."""


class _DealtTable(Membership):
    """A topic table that the caller fills once, through `peers`; the community's size is known."""

    decoder: ClassVar[Decoder[Any]] = Decoder(Message)

    def __init__(self, sizes: Mapping[Topic, int], context: MembershipContext) -> None:
        self._size = float(sizes[context.topic])
        self._table = PeerTable()
        self._joined = False

    @override
    def join(self, contacts: Iterable[Contact], now: float) -> None:
        self._joined = True

    @override
    def leave(self, now: float) -> None: ...
    @override
    def receive(self, source: Contact, message: Any, now: float) -> None: ...
    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None: ...
    @override
    def contacts_found(
        self, contacts: Iterable[Contact], now: float, size: float | None = None
    ) -> None: ...

    @property
    @override
    def joined(self) -> bool:
        return self._joined

    @override
    def peers(self) -> PeerTable:
        return self._table

    @override
    def size(self) -> float:
        return self._size


def dealt_tables(sizes: Mapping[Topic, int]) -> Backend:
    """Return a backend whose tables the caller fills, by adding to `Membership.peers`.

    `sizes` has the size of each community that is joined.
    """
    return Backend(
        name="static",
        keeper=lambda context, _options: _DealtTable(sizes, context),
        options=_NoOptions,
        discovery="",
        expected_view=lambda _options, size: size - 1,  # an upper bound; the caller knows the mean
    )
