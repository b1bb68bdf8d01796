"""Who sends forged records is barred for a while, and what is known of forgers has a bound."""

from __future__ import annotations

from camcast.live.profiles.forgers import (
    BARRED_SECONDS,
    FORGERIES_MAX,
    FORGERIES_SECONDS,
    FORGERS_MAX,
    Forgers,
)
from camcast.vocabulary.identity import PeerId


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(16))


def test_a_process_is_barred_for_ten_minutes_by_eight_forged_records_in_one() -> None:
    forgers = Forgers()
    assert not forgers.has_forged(peer(1), FORGERIES_MAX - 1, 0.0)
    assert not forgers.barred(peer(1), 0.0)
    assert not forgers.has_forged(peer(1), FORGERIES_MAX - 1, FORGERIES_SECONDS)  # counted anew
    began = FORGERIES_SECONDS + 1
    assert forgers.has_forged(peer(1), 1, began)
    assert forgers.barred(peer(1), began + BARRED_SECONDS - 0.1)
    assert not forgers.barred(peer(1), began + BARRED_SECONDS)
    assert not forgers.barred(peer(2), began)


def test_forgers_are_told_apart_up_to_a_bound_beyond_which_the_oldest_is_forgotten() -> None:
    forgers = Forgers()
    for number in range(FORGERS_MAX + 1):
        assert forgers.has_forged(peer(number), FORGERIES_MAX, float(number) / FORGERS_MAX)
    assert not forgers.barred(peer(0), 1.0)
    assert all(forgers.barred(peer(number), 1.0) for number in range(1, FORGERS_MAX + 1))
    assert len(forgers._forgers) == FORGERS_MAX
