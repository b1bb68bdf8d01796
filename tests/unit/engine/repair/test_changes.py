"""What has changed of late in a community's streams, and the hash of what has not."""

from __future__ import annotations

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.changes import NEWS_SECONDS, Changes
from camcast.vocabulary.events import StreamId

STREAM = StreamId(bytes(24))


def settled(known: KnownRanges) -> bytes:
    """Return the hash of a stream that has been quiet for long."""
    changes = Changes({STREAM: known}.get)
    changes.note(STREAM, known)
    changes.take_news(100.0)
    return changes.hash


def test_who_gave_events_up_settles_with_those_who_have_them() -> None:
    """Else two neighbours would tell each other all they know, for half an hour."""
    having, lacking = KnownRanges(0.0, b""), KnownRanges(0.0, b"")
    having.add(1, 9)
    lacking.add(1, 5)
    assert settled(having) != settled(lacking)
    lacking.floor = 10
    assert settled(having) == settled(lacking)


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
