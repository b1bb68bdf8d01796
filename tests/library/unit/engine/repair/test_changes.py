"""What has changed of late in a community's streams."""

from __future__ import annotations

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.changes import NEWS_SECONDS, Changes
from camcast.vocabulary.events import StreamId

STREAM = StreamId(bytes(24))


def test_a_stream_is_told_upward_four_times_and_how_often_it_was_is_told() -> None:
    known = KnownRanges(0.0, b"")
    known.add(1, 1)
    changes = Changes({STREAM: known}.get)
    changes.note(STREAM, known)
    told = [
        (now, often)
        for now in range(12)
        for often, streams in enumerate(changes.take_news(now * NEWS_SECONDS)[1])
        if streams
    ]
    assert told == [(0, 0), (1, 1), (3, 2), (7, 3)]


def test_after_a_pause_the_last_time_of_telling_upward_is_made_up_for() -> None:
    """A round that came nine seconds late told nothing of what was brought in before the pause."""
    known = KnownRanges(0.0, b"")
    known.add(1, 1)
    changes = Changes({STREAM: known}.get)
    changes.note(STREAM, known)
    assert changes.take_news(1.0)[1] == [[], [STREAM], [], []]
    assert changes.take_news(20.0)[1] == [[], [], [], [STREAM]]
    assert changes.take_news(21.0)[1] == [[], [], [], []]
