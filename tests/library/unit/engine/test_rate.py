"""How often something is allowed in a second."""

from __future__ import annotations

from camcast.engine.rate import Rate


def test_a_second_begins_with_what_happens_first() -> None:
    rate = Rate(2)
    times = [5.5, 5.6, 5.7, 6.4, 6.5, 7.0, 7.4, 7.5]
    assert [rate.allows(now) for now in times] == [
        *(True, True, False, False),
        *(True, True, False, True),
    ]
