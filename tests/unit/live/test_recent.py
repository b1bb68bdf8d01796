"""What a process remembers of events and of itself: bounded, and the latter for longer."""

from camcast.live.recent import EVENTS_MAX, LIFE_MAX, Both, Recent
from camcast.vocabulary.events import EventId, StreamId
from camcast.vocabulary.trace import ListSink, TraceRecord

STREAM = StreamId(bytes(16) + (7).to_bytes(8))


def event(sequence: int) -> str:
    return str(EventId(STREAM, sequence))


def test_both_rings_are_bounded_and_events_push_out_no_life() -> None:
    recent = Recent()
    recent.write(TraceRecord(0.0, 1, "join", "aa", ".a"))
    for sequence in range(1, EVENTS_MAX + 2):
        recent.write(TraceRecord(1.0, 1, "receive", "aa", ".a", event=event(sequence)))
    assert recent.of_event(event(1)) == []
    assert [one.kind for one in recent.of_event(event(2))] == ["receive"]
    assert [one.kind for one in recent.life] == ["join"]
    for _ in range(LIFE_MAX):
        recent.note_life(2.0, "paused", seconds=1.0)
    assert len(recent.life) == LIFE_MAX
    assert recent.life[0].kind == "paused"


def test_what_is_noted_of_several_events_counts_for_each_of_them() -> None:
    recent = Recent()
    recent.note(1.0, "lagged", ".a", EventId(STREAM, 5), 3)
    recent.write(TraceRecord(1.0, 1, "missed", "aa", ".a", event=event(9), size=2))
    assert [bool(recent.of_event(event(n))) for n in range(4, 9)] == [False, *3 * [True], False]
    assert [recent.life[0].covers(event(n)) for n in (8, 9, 10, 11)] == [False, True, True, False]
    assert not recent.life[0].covers(str(EventId(StreamId(bytes(24)), 9)))


def test_what_is_of_no_use_is_not_kept_and_another_sink_gets_all() -> None:
    recent, sink = Recent(), ListSink()
    both = Both(recent, sink)
    records = [
        TraceRecord(1.0, 1, kind, "aa", ".a", event=event(1))
        for kind in ("duplicate", "control", "learn", "receive")
    ]
    for record in records:
        both.write(record)
    assert sink.records == records
    assert [one.kind for one in recent.of_event(event(1))] == ["receive"]
