"""One process of the structured membership: its timers."""

from __future__ import annotations

from camcast.testing.lone_process import contact
from membership.dht import DhtOptions, DhtTable, Holding
from tests.library.unit.membership.asked_process import AskedProcess


def test_a_member_that_writes_before_the_search_ends_starts_no_second_round_of_checks() -> None:
    """`join` comes by that message, and again with the answer of the discovery."""
    lone = AskedProcess(DhtTable, DhtOptions())
    lone.membership.receive(contact(2), Holding(), 1.0)
    lone.membership.join((contact(3),), 2.0)
    assert lone.membership.joined
    assert [wake.token.name for wake in lone.outbox.wakes].count(("check",)) == 1
