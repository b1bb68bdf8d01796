"""The codec: records of events and of control messages, encoded and decoded by themselves."""

from __future__ import annotations

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.vocabulary.batches import decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.messages import encode
from camcast.vocabulary.size_estimate import SizeEstimate
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import (
    EVENT_HEAD_BYTES,
    Kind,
    control_head,
    decode_control,
    encode_control,
    event_head,
)
from membership.scamp.messages import DECODER, Arc, Replace

TOPIC = Topic.parse(".soccer.italy")
_RANDOM = stream(1, "workload", "codec").randbytes
ME = Contact(new_peer_id(_RANDOM), "tcp://127.0.0.1:7001")
OTHER = Contact(new_peer_id(_RANDOM), "tcp://127.0.0.1:7002")
STREAM = stream_id(ME.peer, 1_700_000_000_000)

pytestmark = pytest.mark.benchmark(group="codec")
sized = pytest.mark.parametrize("payload_bytes", [256, 16_384], ids=lambda size: f"{size}B")


def _note(benchmark: BenchmarkFixture, **info: float) -> None:
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    nanoseconds = benchmark.stats.stats.median * 1e9
    benchmark.extra_info.update(nanoseconds_per_record=nanoseconds, **info)


@sized
def test_encode_an_event(benchmark: BenchmarkFixture, payload_bytes: int) -> None:
    payloads = [bytes(payload_bytes)]
    body = benchmark(make_batch, STREAM, 7, payloads, TOPIC).body
    _note(benchmark, payload_bytes=payload_bytes, record_bytes=EVENT_HEAD_BYTES + len(body))


@sized
def test_decode_an_event(benchmark: BenchmarkFixture, payload_bytes: int) -> None:
    body = make_batch(STREAM, 7, [bytes(payload_bytes)], TOPIC).body
    batch = benchmark(decode_body, body, 0, len(body))
    assert batch.payloads() == [bytes(payload_bytes)]
    _note(benchmark, payload_bytes=payload_bytes, record_bytes=EVENT_HEAD_BYTES + len(body))


def test_write_a_new_head(benchmark: BenchmarkFixture) -> None:
    """What a hop costs beside the body, which nobody changes."""
    benchmark(event_head, 300, 3, 0.5, TOPIC.group, ME.peer)
    _note(benchmark, record_bytes=EVENT_HEAD_BYTES)


CONTROLS = {
    "arc": Arc(0.125, 0.1, 1, False, False, False, SizeEstimate(ME.peer, 1.0).encode(0.0), False),
    "replace": Replace(OTHER),  # names a process, whose contact is checked
}
control = pytest.mark.parametrize("name", CONTROLS)


@control
def test_encode_a_control_message(benchmark: BenchmarkFixture, name: str) -> None:
    message = CONTROLS[name]
    head = control_head(Kind.MEMBERSHIP, TOPIC.group, ME.peer, ME.address)
    record = benchmark(lambda: encode_control(head, encode(message)))
    _note(benchmark, record_bytes=len(record))


@control
def test_decode_a_control_message(benchmark: BenchmarkFixture, name: str) -> None:
    message = CONTROLS[name]
    head = control_head(Kind.MEMBERSHIP, TOPIC.group, ME.peer, ME.address)
    record = encode_control(head, encode(message))
    decoded = benchmark(lambda: DECODER.decode(decode_control(record, 0, len(record)).body))
    assert decoded == message
    _note(benchmark, record_bytes=len(record))
