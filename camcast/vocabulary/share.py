"""Shares: what many processes say is remembered, and none of them takes the room of the others."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

TellerT = TypeVar("TellerT", bound=Hashable)
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")


class Share(Generic[TellerT, KeyT, ValueT]):
    """Statements of tellers on keys: on `each` keys by one teller, by `tellers` tellers at most.

    A teller that speaks of more loses what it said of the key that it named longest ago, and nobody
    else loses anything: a liar drives out only its own lies. Of more tellers, the one that has been
    silent for longest is forgotten with all that it said.
    """

    def __init__(self, each: int, tellers: int) -> None:
        self._each = each
        self._most = tellers
        self._said: dict[TellerT, dict[KeyT, ValueT]] = {}
        """The statements of each teller; the teller, and its key, that came last comes last."""
        self._tellers: dict[KeyT, dict[TellerT, None]] = {}

    def add(self, teller: TellerT, key: KeyT, value: ValueT) -> None:
        """Note what a teller says of a key, in place of what it said before."""
        said = self._said.pop(teller, {})
        if len(self._said) >= self._most:
            silent = next(iter(self._said))
            for lost in self._said.pop(silent):
                self._lose(silent, lost)
        self._said[teller] = said
        said.pop(key, None)
        if len(said) >= self._each:
            lost = next(iter(said))
            del said[lost]
            self._lose(teller, lost)
        said[key] = value
        tellers = self._tellers.setdefault(key, {})
        tellers.pop(teller, None)
        tellers[teller] = None

    def of(self, key: KeyT, most: int) -> list[ValueT]:
        """Return what at most so many tellers said of a key, those that spoke last."""
        return [self._said[teller][key] for teller in list(self._tellers.get(key, ()))[-most:]]

    def _lose(self, teller: TellerT, key: KeyT) -> None:
        tellers = self._tellers[key]
        del tellers[teller]
        if not tellers:
            del self._tellers[key]
