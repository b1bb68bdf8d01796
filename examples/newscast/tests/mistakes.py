r"""Mistakes that a membership may make, made in Newscast: a contract has to find each of them.

Each function makes one: it replaces methods of the plug or of its base class. Beside the mutants
that are drawn (`camcast.testing.mutants`), these break rules that take more than one expression::

    python -m camcast.testing.mutation_score newscast.py tests/test_newscast.py \
        --mistakes tests/mistakes.py
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

from newscast import (  # type: ignore[import-not-found]  # the package beside this folder
    VIEW_MAX,
    Answer,
    Exchange,
    Items,
    Newscast,
)

from camcast.doors import table_membership
from camcast.doors.first_contacts import FirstContacts
from camcast.doors.table_membership import TableMembership
from camcast.vocabulary.identity import Contact, PeerId


def instead_in(kind: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Put a function in the place of the method of its name; it returns the former one."""

    def replace(made: Callable[..., Any]) -> Callable[..., Any]:
        former: Callable[..., Any] = getattr(kind, made.__name__)
        setattr(kind, made.__name__, made)
        return former

    return replace


# -- runs that cannot be repeated ------------------------------------------------------------------


def random_numbers_of_its_own() -> None:
    """Take `random` for `context.rng`."""

    @instead_in(Newscast)
    def tick(self: Any, now: float) -> None:
        if known := list(self._table):
            self._outlet.send([random.choice(known)], self.greeting(now))


def the_wall_clock() -> None:
    """Reckon ages by a clock of its own."""

    @instead_in(Newscast)
    def _items(self: Any, now: float) -> Items:
        return former(self, now + time.time() % 1.0)

    former = _items


def the_order_of_a_set() -> None:
    """Send descriptors in the order of a set."""

    @instead_in(Newscast)
    def _items(self: Any, now: float) -> Items:
        return tuple(set(former(self, now)))

    former = _items


# -- tables ----------------------------------------------------------------------------------------


def a_view_without_bound() -> None:
    """Keep whatever is named."""
    _table_of(10**9)


def a_view_of_three() -> None:
    """Keep three peers, whatever the options say."""
    _table_of(3)


def _table_of(most: int) -> None:
    @instead_in(Newscast)
    def __init__(self: Any, context: Any, options: Any) -> None:
        former(self, context, options)
        self._table_max = most

    former = __init__


def a_table_of_the_gone_without_bound() -> None:
    """Remember for ever who is gone."""
    table_membership.GONE_MAX = 10**9  # type: ignore[misc]  # the mistake


def the_dead_come_back() -> None:
    """Believe others that name a peer that was found dead."""

    @instead_in(TableMembership)
    def is_gone(self: Any, peer: PeerId, since: float) -> bool:
        return False


def the_dead_stay() -> None:
    """Keep a peer that is silent."""

    @instead_in(TableMembership)
    def peer_silent(self: Any, contact: Contact, now: float) -> None: ...


def the_process_itself_in_its_table() -> None:
    """Hold the process itself."""

    @instead_in(Newscast)
    def on_message(self: Any, source: Contact, message: Any, now: float) -> None:
        former(self, source, message, now)
        self._table.add(self._me)

    former = on_message


# -- what others say -------------------------------------------------------------------------------


def ages_that_cannot_be() -> None:
    """Believe any age."""

    @instead_in(Newscast)
    def on_message(self: Any, source: Contact, message: Any, now: float) -> None:
        if isinstance(message, Exchange):
            self._outlet.send([source], Answer(self._items(now), self._estimate.encode(now)))
        self.learn_size(source, message.sample, now)
        self._merge([*message.items[:VIEW_MAX], (source, 0.0)], now)


def a_size_from_anybody() -> None:
    """Take the community for as large as the last answer of the discovery makes believe."""

    @instead_in(TableMembership)
    def contacts_found(self: Any, contacts: Any, now: float, size: float | None = None) -> None:
        self.found = 1e12
        former(self, contacts, now, size)

    former = contacts_found

    @instead_in(TableMembership)
    def size(self: Any) -> float:
        return getattr(self, "found", 1.0)


def a_size_of_one() -> None:
    """Estimate nothing."""

    @instead_in(TableMembership)
    def size(self: Any) -> float:
        return 1.0


def ten_answers_to_one_message() -> None:
    """Send an answer ten times, to whatever address the sender gave."""

    @instead_in(Newscast)
    def on_message(self: Any, source: Contact, message: Any, now: float) -> None:
        former(self, source, message, now)
        if isinstance(message, Exchange):
            answer = Answer(self._items(now), self._estimate.encode(now))
            for _ in range(9):
                self._outlet.send([source], answer)

    former = on_message


def always_the_same_partner() -> None:
    """Exchange views with the first of the table, not with a random peer."""

    @instead_in(Newscast)
    def tick(self: Any, now: float) -> None:
        self._outlet.send(list(self._table)[:1], self.greeting(now))


# -- joining, watching and leaving -----------------------------------------------------------------


def a_member_that_nobody_has_answered() -> None:
    """Take itself for a member at once."""

    @instead_in(TableMembership)
    def join(self: Any, contacts: Any, now: float) -> None:
        self.become_member(now)
        former(self, contacts, now)

    former = join


def one_search_and_no_more() -> None:
    """Ask the discovery once."""

    @instead_in(FirstContacts)
    def seek_in_time(self: Any, now: float, *, lonely: bool) -> None: ...


def a_search_while_alone_only() -> None:
    """Ask the discovery no more once somebody is known: two foundings stay two."""

    @instead_in(FirstContacts)
    def seek_in_time(self: Any, now: float, *, lonely: bool) -> None:
        if lonely:
            former(self, now, lonely=lonely)

    former = seek_in_time


def nobody_is_watched() -> None:
    """Ask for no heartbeats."""

    @instead_in(TableMembership)
    def _watch_some(self: Any, most: int, now: float) -> None: ...


def watched_for_ever() -> None:
    """Go on watching peers that left the table."""

    @instead_in(TableMembership)
    def drop(self: Any, peer: PeerId) -> None:
        self._table.discard(peer)


def a_silent_leave() -> None:
    """Leave without a word."""

    @instead_in(TableMembership)
    def leave(self: Any, now: float) -> None:
        self._leaving = True


def two_goodbyes() -> None:
    """Say goodbye again at a second leave."""

    @instead_in(TableMembership)
    def leave(self: Any, now: float) -> None:
        self._leaving = True
        self._outlet.send(list(self._table), self.goodbye)


def no_answer_after_leaving() -> None:
    """Let members that have missed the goodbye believe that the process is there."""

    @instead_in(TableMembership)
    def receive(self: Any, source: Contact, message: Any, now: float) -> None:
        if not self._leaving:
            former(self, source, message, now)

    former = receive


# -- timers ----------------------------------------------------------------------------------------


def any_timer_ticks() -> None:
    """Take an unknown timer for the period's."""

    @instead_in(TableMembership)
    def wake(self: Any, name: Any, now: float) -> None:
        self._begin_period(now)


def two_clocks_while_alone() -> None:
    """Set another timer with each period in which nobody is known."""

    @instead_in(TableMembership)
    def _begin_period(self: Any, now: float) -> None:
        former(self, now)
        if not len(self._table):
            self._wake_next_period()

    former = _begin_period
