"""The contract of memberships, on all that are installed."""

from __future__ import annotations

import pytest

from camcast.doors.plugs import UnknownPlugError, find_backend
from camcast.testing import MembershipContract


class TestMembership(MembershipContract):
    @pytest.fixture(autouse=True)
    def _plug(self, membership: str) -> None:
        self.membership = membership
        # A look-up brings members, not contacts to be asked.
        self.trusts_contacts = membership == "dht"  # type: ignore[misc]  # a class variable

    @pytest.mark.slow  # 420 seconds of a community's heartbeats
    def test_a_restart_at_the_same_address_costs_nothing_afterwards(self) -> None:
        super().test_a_restart_at_the_same_address_costs_nothing_afterwards()

    def test_what_is_missed_while_cut_off_is_repaired(self) -> None:
        if self.membership == "hpmcast":
            pytest.skip("is for its own protocol, which has no repair")
        super().test_what_is_missed_while_cut_off_is_repaired()

    def test_processes_that_nobody_can_dial_hear_each_other_through_one_that_can_be(self) -> None:
        if self.membership == "hpmcast":
            pytest.skip("is for its own protocol, which has no repair")
        super().test_processes_that_nobody_can_dial_hear_each_other_through_one_that_can_be()

    def test_who_writes_to_a_process_that_has_left_is_told_and_does_not_answer_that(self) -> None:
        if self.membership == "hpmcast":
            pytest.skip("answers its own subgroup only, which is empty among three processes")
        super().test_who_writes_to_a_process_that_has_left_is_told_and_does_not_answer_that()


def test_an_unknown_backend_lists_the_known_ones() -> None:
    with pytest.raises(UnknownPlugError, match="scamp"):
        find_backend("nonesuch")
