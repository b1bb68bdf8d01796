"""What a dissemination keeps for members that lack it."""

from __future__ import annotations

from camcast.doors.kept_batches import BATCHES_MAX, IDS_MAX, LACKING_MAX, KeptBatches
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

KEPT = 10.0
TOPIC = Topic.parse(".a")


def batch(number: int, since: float = 0.0) -> Batch:
    stream = stream_id(PeerId(bytes(16)), 1)
    return make_batch(stream, number, [b"!"], TOPIC, since=since)


def test_what_another_lacks_is_what_it_does_not_name() -> None:
    held, three = KeptBatches(KEPT), [batch(number) for number in (1, 2, 3)]
    for one in three:
        held.add(one, 0.0)
    assert held.lacking([three[1].id], 1.0) == [three[0], three[2]]
    assert held.ids(1.0) == tuple(one.id for one in three)


def test_what_is_older_than_a_member_is_not_for_it() -> None:
    held, old, new = KeptBatches(KEPT), batch(1, since=0.0), batch(2, since=4.0)
    assert held.member_seconds(3.0) == 0.0
    held.begin(3.0)
    held.add(old, 0.0)
    held.add(new, 4.0)
    assert held.member_seconds(5.0) == 2.0
    assert held.lacking((), 5.0, held.member_seconds(5.0)) == [new]


def test_what_is_nearly_forgotten_is_not_sent_and_then_forgotten() -> None:
    held = KeptBatches(KEPT)
    held.add(batch(1), 0.0)
    assert len(held.lacking((), 0.79 * KEPT)) == 1
    assert held.lacking((), 0.81 * KEPT) == []
    assert len(held.ids(0.81 * KEPT)) == 1
    assert held.ids(KEPT) == ()


def test_it_is_bounded() -> None:
    held = KeptBatches(KEPT)
    for number in range(1, BATCHES_MAX + 100):
        held.add(batch(number), 0.0)
    assert len(held.ids(0.0)) == IDS_MAX
    assert held.ids(0.0)[-1] == batch(BATCHES_MAX + 99).id
    assert held.lacking((), 0.0)[0] == batch(100)
    assert len(held.lacking((), 0.0)) == LACKING_MAX
