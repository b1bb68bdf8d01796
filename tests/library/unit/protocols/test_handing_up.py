"""What processes above and below tell of streams fills no more memory than its bounds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from camcast.protocols.handing_up import REMEMBERED_MAX, TAKERS_MAX, Above, Below, HandingUp
from camcast.testing.lone_process import contact
from camcast.vocabulary.events import StreamId
from camcast.vocabulary.topics import Topic

A = Topic.parse(".a")
STREAM = StreamId(b"s" * 24)


@pytest.fixture
def handing_up() -> HandingUp:
    parts: tuple[Any, ...] = (
        SimpleNamespace(liveness=SimpleNamespace(listen=lambda *_: None)),
        None,
    )
    return HandingUp(*parts)


def test_a_stream_is_pushed_to_so_many_above_and_only_to_those_who_were_answered(
    handing_up: HandingUp,
) -> None:
    assert not handing_up.take(STREAM, contact(1), 0.0)
    for number in range(1, 2 * TAKERS_MAX):
        handing_up.add_asker(STREAM, Above(contact(number), A))
        assert handing_up.take(STREAM, contact(number), 0.0)
    taken = [one.contact for one in handing_up.takers(STREAM)]
    assert taken == [contact(number) for number in range(1, TAKERS_MAX + 1)]


def test_of_those_who_ask_and_tell_the_latest_are_remembered(handing_up: HandingUp) -> None:
    last = 2 * REMEMBERED_MAX
    for number in range(1, last + 1):
        handing_up.add_teller(STREAM, Below(contact(number), A.group))
        handing_up.add_asker(STREAM, Above(contact(number), A))
    told = [n for n in range(1, last + 1) if handing_up.teller(STREAM, contact(n).peer)]
    asked = [n for n in range(1, last + 1) if handing_up.take(STREAM, contact(n), 0.0)]
    assert told == asked == list(range(last - REMEMBERED_MAX + 1, last + 1))
