"""Who sends what is forged is barred for a while, and nobody is for what honest processes do."""

from __future__ import annotations

import pytest

from camcast.security.refusals import Reason
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.penalties import (
    BARRED_ABOVE,
    BARRED_SECONDS,
    BROKEN_PROMISE,
    FORGED,
    HALF_LIFE_SECONDS,
    MALFORMED,
    SCORES_MAX,
    Fault,
    Penalties,
    fault_in,
)


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(16))


PEER = peer(1)


def forged(penalties: Penalties, count: float, now: float, of: PeerId = PEER) -> bool:
    for _ in range(int(count)):
        penalties.add(of, FORGED, now)
    return penalties.barred(of, now)


def test_a_process_is_barred_for_ten_minutes_by_eight_forged_records() -> None:
    penalties = Penalties()
    assert not forged(penalties, BARRED_ABOVE, 0.0)
    assert forged(penalties, 1, 0.0)
    assert forged(penalties, 8, 1.0, peer(3))
    assert penalties.barred(peer(1), BARRED_SECONDS - 0.1)
    assert not penalties.barred(peer(1), BARRED_SECONDS)
    assert not penalties.barred(peer(2), 0.0)


def test_a_score_decays_by_half_a_minute_whatever_came_between() -> None:
    penalties = Penalties()
    forged(penalties, 6, 0.0)
    for second in range(1, int(HALF_LIFE_SECONDS) + 1):  # a fault of nothing: the decay alone
        penalties.add(peer(1), Fault(0.0), float(second))
    assert not forged(penalties, 3, HALF_LIFE_SECONDS)  # 3 + 3
    assert forged(penalties, 2, HALF_LIFE_SECONDS)


def test_eight_forgeries_within_seconds_bar_and_four_a_minute_never_do() -> None:
    penalties = Penalties()
    assert [forged(penalties, 1, float(second)) for second in range(8)] == [False] * 7 + [True]
    assert not any(forged(penalties, 1, 15.0 * count, peer(2)) for count in range(1000))


@pytest.mark.parametrize("fault", [MALFORMED, BROKEN_PROMISE])
def test_faults_that_honest_processes_commit_bar_nobody_and_leave_half_for_forgeries(
    fault: Fault,
) -> None:
    penalties = Penalties()
    for _ in range(100_000):
        penalties.add(peer(1), fault, 0.0)
    assert not penalties.barred(peer(1), 0.0)
    assert not forged(penalties, BARRED_ABOVE // 2, 0.0)
    for _ in range(100):  # and they lower no score
        penalties.add(peer(1), fault, 0.0)
    assert forged(penalties, 1, 0.0)


def test_of_the_reasons_for_refusals_those_count_that_the_bytes_alone_show() -> None:
    counted = {reason for reason in Reason if fault_in(reason.value)}
    assert counted == {
        Reason.FORGED,
        Reason.WIDER,
        Reason.NO_RIGHT,
        Reason.UNSIGNED,
        Reason.MALFORMED,
    }


def test_scores_have_a_bound_beyond_which_the_one_without_faults_for_longest_is_forgotten() -> None:
    penalties = Penalties()
    for number in range(SCORES_MAX + 1):
        assert forged(penalties, BARRED_ABOVE + 1, float(number) / SCORES_MAX, peer(number))
    assert not penalties.barred(peer(0), 1.0)
    assert all(penalties.barred(peer(number), 1.0) for number in range(1, SCORES_MAX + 1))
    assert len(penalties._scores) == SCORES_MAX
