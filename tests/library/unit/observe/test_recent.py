"""What a process remembers of events and of itself: bounded, and the latter for longer."""

from camcast.observe.recent import EVENTS_MAX, LIFE_MAX, Recent
from camcast.vocabulary.events import EventId, StreamId, stream_id
from camcast.vocabulary.happenings import PROCESS_KINDS, Happening
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.event_frames import batch_of

A = Topic.parse(".a")
PUBLISHER = PeerId(b"p" * 16)
STREAM = stream_id(PUBLISHER, 1)


def event(sequence: int) -> EventId:
    return EventId(STREAM, sequence)


def test_both_rings_are_bounded_and_events_push_out_no_life() -> None:
    recent = Recent()
    recent.take(Happening("joined"), ".a", 0.0)
    for sequence in range(1, EVENTS_MAX + 2):
        recent.note_batch(1.0, "receive", batch_of(PUBLISHER, sequence, A), ".a", ())
    assert recent.of_event(event(1)) == []
    assert [one.kind for one in recent.of_event(event(2))] == ["receive"]
    assert [one.kind for one in recent.life] == ["join"]
    for _ in range(LIFE_MAX):
        recent.take(Happening("paused", seconds=1.0), "", 2.0)
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
    recent.take(Happening("missed", count=2, event=str(event(9))), ".a", 1.0)
    assert [bool(recent.of_event(event(n))) for n in range(4, 9)] == [False, *3 * [True], False]
    covered = [recent.life[0].covers(str(event(n))) for n in (8, 9, 10, 11)]
    assert covered == [False, True, True, False]
    assert not recent.life[0].covers(str(EventId(StreamId(bytes(24)), 9)))


def test_only_what_may_explain_something_is_remembered() -> None:
    recent = Recent()
    for kind in PROCESS_KINDS:
        recent.take(Happening(kind), ".a", 1.0)
    remembered = ["join", "leave", "isolated", "healed", "deafened", "hears", "paused"]
    remembered += [
        "moved",
        "carries",
        "linked",
        "unlinked",
        "missed",
        "repair_full",
        "too_long",
        "refused_as_too_long",
        "history_short",
        "crash",
    ]
    assert [one.kind for one in recent.life] == remembered
