"""The past is here when what was offered of it has come, was given up, or stands still for long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.catching_up import STILL_SECONDS, CatchingUp
from camcast.vocabulary.events import StreamId

STREAM = StreamId(b"s" * 24)


@pytest.fixture
def known() -> KnownRanges:
    """What is known of the stream of which a neighbour offers 1 to 4: the first."""
    ranges = KnownRanges(0.0, b"p" * 16, repaired=True)
    ranges.add(1, 1)
    return ranges


@pytest.fixture
def catching_up(known: KnownRanges) -> CatchingUp:
    context = SimpleNamespace(member_since=0.0, streams=SimpleNamespace(known={STREAM: known}))
    holder = SimpleNamespace(held=(STREAM, 1, 0, (5,)))
    asking = SimpleNamespace(missing={STREAM: SimpleNamespace(holders=[holder])})
    parts: tuple[Any, ...] = context, SimpleNamespace(is_open=False), asking
    return CatchingUp(*parts)


def test_it_is_here_when_all_that_was_offered_has_come(
    catching_up: CatchingUp, known: KnownRanges
) -> None:
    assert not catching_up.is_over(0.0)
    known.add(2, 2)
    assert not catching_up.is_over(1.0)
    known.add(4, 1)
    assert catching_up.is_over(2.0)


def test_what_is_given_up_is_not_awaited(catching_up: CatchingUp, known: KnownRanges) -> None:
    assert not catching_up.is_over(0.0)
    known.floor = 5
    assert catching_up.is_over(1.0)


def test_events_that_never_come_are_awaited_while_others_do_and_then_no_longer(
    catching_up: CatchingUp, known: KnownRanges
) -> None:
    assert not catching_up.is_over(0.0)
    assert not catching_up.is_over(STILL_SECONDS)
    known.add(2, 1)
    assert not catching_up.is_over(STILL_SECONDS + 1)
    assert not catching_up.is_over(2 * STILL_SECONDS)
    assert catching_up.is_over(2 * STILL_SECONDS + 2)


def test_it_is_not_here_while_answers_are_awaited(catching_up: CatchingUp) -> None:
    cast("Any", catching_up._history).is_open = True
    assert not catching_up.is_over(100.0)
