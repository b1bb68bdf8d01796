"""The law of promised times, and what happens to single steps of a join, a leave or a repair.

``python -m tests.library.laws.fault_judge orders scamp 17`` runs an order of messages again,
``forgetful scamp 17`` a case whose events are let go before the fault is over. The judge is tried
with one fault of the product for each of the times that docs/reliability.md promises.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

import overlays.gateways as gateways
from camcast.engine import joining
from camcast.engine.repair import asking
from camcast.engine.repair.asking import GivingUp, MissingRanges
from camcast.vocabulary.cold_list import ColdList
from membership.scamp.scamp import Scamp
from tests.library.laws.fault_judge import Verdict, judge
from tests.library.laws.faults import make_case, make_forgetful, make_harsh, make_order

# chosen: each operation twice with one overlay, and once with the others; 300 were run by hand
ORDERS: Final = {"scamp": range(10), "hybrid": range(800, 805), "dht": range(900, 905)}


def wrong(verdict: Verdict) -> list[str]:
    words = [*verdict.lost, *verdict.told_wrongly, *verdict.twice, *verdict.foreign, *verdict.back]
    return [*words, *verdict.never_joined, *verdict.broken_promises]


def test_what_happens_to_two_messages_of_a_repair_breaks_nothing() -> None:
    """One is lost and one is doubled, after a cut of 5 s."""
    verdict = judge(make_order("scamp", 17))
    assert verdict.due > 100
    assert not wrong(verdict), verdict


@pytest.mark.slow
@pytest.mark.parametrize("membership", ORDERS)
def test_what_happens_to_single_steps_breaks_nothing(membership: str) -> None:
    for seed in ORDERS[membership]:
        verdict = judge(make_order(membership, seed))
        assert verdict.due > 100
        assert not wrong(verdict), verdict


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 7])
def test_what_is_let_go_before_a_cut_is_over_is_told_in_time(seed: int) -> None:
    """Also the last events of a stream, and streams of which a process never had anything: these
    were not told at all where fewer than three neighbours had them."""
    verdict = judge(make_forgetful("scamp", seed))
    assert verdict.told > 500
    assert not wrong(verdict), verdict


@pytest.mark.slow
def test_where_half_crash_and_messages_take_seconds_both_times_are_added() -> None:
    """Half and the gateway crash while links take seconds: one of the dead was named for 30.6 s."""
    verdict = judge(make_harsh("scamp", 0))
    assert verdict.due > 1_000
    assert not wrong(verdict), verdict


def test_the_judge_sees_the_dead_in_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scamp, "peer_silent", lambda *_: None)
    assert judge(make_case("scamp", 1, ("kill-30",))).named_late


@pytest.mark.slow
def test_the_judge_sees_who_joins_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who could not reach the gateway at first asks it again after a quarter of a minute."""
    for name in ("PAUSE_SECONDS", "AGAIN_SECONDS", "TIMEOUT_SECONDS"):
        monkeypatch.setattr(gateways, name, 15.0)
    monkeypatch.setattr(joining, "RETRY_SECONDS_MAX", 60.0)
    verdict = judge(make_case("scamp", 215, ("cut-at-start",)))
    assert verdict.joined_late
    assert not verdict.never_joined


@pytest.mark.slow
def test_the_judge_sees_halves_that_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ColdList, "sample", lambda *_: [])
    assert judge(make_case("scamp", 1, ("cut-60",))).split_late


@pytest.mark.slow
def test_the_judge_sees_what_is_told_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """Holes are told 30 s after they were noticed, where 15 s is right."""
    out_of_reach = GivingUp._out_of_reach

    def late(one: GivingUp, missing: MissingRanges, *rest: Any) -> int:
        now = rest[-1]
        return 0 if now - missing.since < 30 else out_of_reach(one, missing, *rest)

    monkeypatch.setattr(GivingUp, "_out_of_reach", late)
    monkeypatch.setattr(asking, "GIVE_UP_SECONDS", 40.0)
    verdict = judge(make_forgetful("scamp", 7))
    assert verdict.told_late
