"""What a process remembers of events and of itself: bounded, and the latter for longer."""

from typing import Final

from camcast.observe.recent import EVENTS_MAX, LIFE_MAX, Recent
from camcast.vocabulary.events import EventId, StreamId, stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.trace import ListSink, Trace, TraceKind, TraceRecord
from tests.event_frames import batch_of

A = Topic.parse(".a")
PUBLISHER = PeerId(b"p" * 16)
STREAM = stream_id(PUBLISHER, 1)
_KINDS: Final[list[TraceKind]] = ["control", "learn", "leave"]


def event(sequence: int) -> EventId:
    return EventId(STREAM, sequence)


def test_both_rings_are_bounded_and_events_push_out_no_life() -> None:
    recent = Recent()
    recent.write(TraceRecord(0.0, 1, "join", "aa", ".a"))
    for sequence in range(1, EVENTS_MAX + 2):
        recent.note_batch(1.0, "receive", batch_of(PUBLISHER, sequence, A), ".a", ())
    assert recent.of_event(event(1)) == []
    assert [one.kind for one in recent.of_event(event(2))] == ["receive"]
    assert [one.kind for one in recent.life] == ["join"]
    for _ in range(LIFE_MAX):
        recent.note_life(2.0, "paused", seconds=1.0)
    assert len(recent.life) == LIFE_MAX
    assert recent.life[0].kind == "paused"


def test_what_happens_to_a_batch_happens_to_each_of_its_events_and_at_each_peer() -> None:
    recent = Recent()
    batch = batch_of(PUBLISHER, 5, A, b"x", b"y", hops=2)
    recent.note_batch(1.0, "send", batch, ".a", (b"\1", b"\2"))
    for sequence in (5, 6):
        moments = recent.of_event(event(sequence))
        assert [one.peer for one in moments] == ["01", "02"]
        assert {(one.kind, one.topic, one.hops) for one in moments} == {("send", ".a", 2)}
    assert recent.of_event(event(4)) == recent.of_event(event(7)) == []


def test_what_is_noted_of_several_events_counts_for_each_of_them() -> None:
    recent = Recent()
    recent.note(1.0, "lagged", ".a", event(5), 3)
    missed = TraceRecord(1.0, 1, "missed", "aa", ".a", event=str(event(9)), size=2)
    recent.write(missed)
    assert [bool(recent.of_event(event(n))) for n in range(4, 9)] == [False, *3 * [True], False]
    covered = [recent.life[0].covers(str(event(n))) for n in (8, 9, 10, 11)]
    assert covered == [False, True, True, False]
    assert not recent.life[0].covers(str(EventId(StreamId(bytes(24)), 9)))


def test_a_sink_of_its_own_gets_all_beside_the_ring() -> None:
    recent, sink = Recent(), ListSink()
    trace = Trace(PUBLISHER, sink, life=recent, whole=recent.note_batch)
    for kind in _KINDS:
        trace.record(1.0, kind, ".a")
    failures: list[Exception] = []
    trace.record_copies(1.0, "send", ".a", [b"\1", b"\2"], ".a", "e", 1, 2, failures.append)
    trace.record(2.0, "control", ".a")
    assert failures == []
    assert [one.kind for one in sink.records] == [*_KINDS, "send", "send", "control"]
    assert [one.sequence for one in sink.records] == [1, 2, 3, 4, 5, 6]
    assert [one.kind for one in recent.life] == ["leave"]
