"""Only what a process has published itself counts as its own."""

from __future__ import annotations

import msgspec
import pytest

from camcast.engine.own_events import OwnEvents, Verdict
from camcast.engine.store import BATCH_BYTES
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

OWN = stream_id(PeerId(bytes(range(20))), 7)
NOW, RETENTION = 20.0, 10.0


def published(first: int, at: int = 1000, payload: bytes = b"one", since: float = NOW) -> Batch:
    topic = Topic.parse(".a")
    return make_batch(OWN, first, [payload], topic, published=at, since=since)


def test_a_batch_is_genuine_as_it_was_published_whatever_its_head_says() -> None:
    own = OwnEvents()
    own.add(published(1), RETENTION)
    came = msgspec.structs.replace(published(1), hops=3, age=2.5, head_flags=1)
    assert own.judge(came) is Verdict.GENUINE


def test_another_payload_number_or_time_of_publication_is_forged() -> None:
    own = OwnEvents()
    own.add(published(1), RETENTION)
    assert own.judge(published(1, payload=b"two")) is Verdict.FORGED
    assert own.judge(published(2)) is Verdict.FORGED
    assert own.judge(published(1, at=999)) is Verdict.FORGED


@pytest.mark.parametrize("bytes_max", [2 * BATCH_BYTES + 300, 1 << 20])
def test_what_is_no_longer_kept_is_neither_genuine_nor_forged(bytes_max: int) -> None:
    """It makes room, or is older than what anybody keeps."""
    own = OwnEvents(bytes_max)
    times = {1: NOW, 2: NOW + 1.0, 3: NOW + 2.0 if bytes_max < 1 << 20 else NOW + RETENTION + 0.5}
    for number, since in times.items():
        own.add(published(number, since=since), RETENTION)
    assert own.judge(published(1, since=NOW)) is Verdict.FORGOTTEN
    assert own.judge(published(2, since=NOW + 1.0)) is Verdict.GENUINE
    assert own.judge(published(2, payload=b"two")) is Verdict.FORGED
    assert own.judge(published(4, since=NOW + 3.0)) is Verdict.FORGED
