"""Only what a process has published itself counts as its own."""

from __future__ import annotations

import msgspec

from camcast.engine.own_events import OwnEvents, Verdict
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

OWN = stream_id(PeerId(bytes(range(20))), 7)


def published(first: int, at: int = 1000, payload: bytes = b"one") -> Batch:
    return make_batch(OWN, first, [payload], Topic.parse(".a"), published=at)


def test_a_batch_is_genuine_as_it_was_published_whatever_its_head_says() -> None:
    own = OwnEvents()
    own.add(published(1))
    came = msgspec.structs.replace(published(1), hops=3, age=2.5, head_flags=1)
    assert own.judge(came) is Verdict.GENUINE


def test_another_payload_number_or_time_of_publication_is_forged() -> None:
    own = OwnEvents()
    own.add(published(1))
    assert own.judge(published(1, payload=b"two")) is Verdict.FORGED
    assert own.judge(published(2)) is Verdict.FORGED
    assert own.judge(published(1, at=999)) is Verdict.FORGED


def test_only_batches_as_old_as_a_forgotten_one_are_excused() -> None:
    own = OwnEvents(batches_max=2)
    for first in (1, 2, 3):
        own.add(published(first, at=1000 * first))
    assert own.judge(published(1, at=1000)) is Verdict.FORGOTTEN
    assert own.judge(published(2, at=2000)) is Verdict.GENUINE
    assert own.judge(published(4, at=4000)) is Verdict.FORGED
