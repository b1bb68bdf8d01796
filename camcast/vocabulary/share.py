"""Shares: many processes fill a table, and none of them takes the room of the others.

`Share` remembers what they state of keys that all of them may speak of. `Places` has keys of which
each belongs to whoever named it first. `Latest` has the keys of each teller, the latest of all.
`Used` says which key was used longest ago, where that is not one that others use.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

TellerT = TypeVar("TellerT", bound=Hashable)
KeyT = TypeVar("KeyT", bound=Hashable)
ValueT = TypeVar("ValueT")

# chosen: as of what is missing: fifteen others find room beside a liar that never stops
TELLERS_MIN: Final = 16


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


class Places(Generic[TellerT, KeyT]):
    """The places of a table, for keys that tellers name: any teller may take those that are free.

    When all are taken, who has most gives the place of its latest key to whoever has fewer; its
    earlier keys stay, so that what is begun for them is not begun in vain. Of n tellers each can
    have the n-th part of the places, and a liar with all of them keeps nobody out.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._tellers: dict[KeyT, TellerT] = {}
        self._keys: dict[TellerT, dict[KeyT, None]] = {}
        """The keys of each teller, the latest last."""
        self._with: dict[int, dict[TellerT, None]] = {}
        """The tellers by how many places they have: who has most is found at once."""

    def __len__(self) -> int:
        return len(self._tellers)

    def __contains__(self, key: KeyT) -> bool:
        return key in self._tellers

    def take(self, teller: TellerT, key: KeyT) -> KeyT | None:
        """Give a place to a key that has none; return the key that has to go, None if none has.

        That is `key` itself where no other teller has more places than this one.
        """
        lost: KeyT | None = None
        if len(self) >= self._most:
            largest = max(self._with)
            if len(self._keys.get(teller, ())) >= largest - 1:
                return key
            lost = next(reversed(self._keys[next(iter(self._with[largest]))]))
            self.leave(lost)
        self._tellers[key] = teller
        self._count(teller, key, True)
        return lost

    def leave(self, key: KeyT) -> None:
        """Free the place of a key; nothing happens if it has none."""
        if key in self._tellers:
            self._count(self._tellers.pop(key), key, False)

    def _count(self, teller: TellerT, key: KeyT, taken: bool) -> None:
        keys = self._keys.setdefault(teller, {})
        if before := len(keys):
            self._with[before].pop(teller)
            if not self._with[before]:
                del self._with[before]
        if taken:
            keys[key] = None
        else:
            del keys[key]
        if keys:
            self._with.setdefault(len(keys), {})[teller] = None
        else:
            del self._keys[teller]


class Latest(Generic[TellerT, KeyT, ValueT]):
    """The latest values of tellers, `most` in all: for what grows old, and needs no end of its own.

    The oldest gives its place; of a teller with a sixteenth of the places it is its own oldest.
    """

    def __init__(self, most: int) -> None:
        self._most, self._each = most, max(1, most // TELLERS_MIN)
        self._values: dict[tuple[TellerT, KeyT], ValueT] = {}
        """The oldest first."""
        self._keys: dict[TellerT, dict[KeyT, None]] = {}
        """The keys of each teller, the oldest first."""

    def __len__(self) -> int:
        return len(self._values)

    def get(self, teller: TellerT, key: KeyT) -> ValueT | None:
        """Return the value of a teller's key; None if there is none."""
        return self._values.get((teller, key))

    def set(self, teller: TellerT, key: KeyT, value: ValueT) -> None:
        """Change the value of a key, which keeps its age; one that is new is the youngest."""
        if (teller, key) not in self._values:
            own = self._keys.get(teller, {})
            if len(own) >= self._each:
                self.drop(teller, next(iter(own)))
            elif len(self) >= self._most:
                self.drop(*next(iter(self._values)))
            self._keys.setdefault(teller, {})[key] = None
        self._values[teller, key] = value

    def drop(self, teller: TellerT, key: KeyT) -> None:
        """Forget a key; nothing happens if it is not there."""
        if self._values.pop((teller, key), None) is not None:
            keys = self._keys[teller]
            del keys[key]
            if not keys:
                del self._keys[teller]


class Used(Generic[TellerT, KeyT]):
    """The order in which keys of tellers were used; which of them makes room for another.

    That is the one used longest ago: of the teller with most keys, if it has more than a sixteenth
    of `most`, or else of all. The keys of the teller None never count as too many.
    """

    def __init__(self, most: int) -> None:
        self._each = max(1, most // TELLERS_MIN)
        self._tellers: dict[KeyT, TellerT | None] = {}
        """The key used last is at the end."""
        self._keys: dict[TellerT, dict[KeyT, None]] = {}
        """Likewise, of each teller but None."""

    def use(self, teller: TellerT | None, key: KeyT) -> None:
        """Note that a key, which is now of this teller, was used."""
        self.drop(key)
        self._tellers[key] = teller
        if teller is not None:
            self._keys.setdefault(teller, {})[key] = None

    def drop(self, key: KeyT) -> None:
        """Forget a key; nothing happens if it is not there."""
        teller = self._tellers.pop(key, None)
        if teller is not None:
            del self._keys[teller][key]
            if not self._keys[teller]:
                del self._keys[teller]

    def to_go(self) -> KeyT:
        """Return the key that makes room."""
        most = max(self._keys.values(), key=len, default={})
        return next(iter(most if len(most) > self._each else self._tellers))
