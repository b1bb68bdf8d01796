"""The codec: records of events and of control messages, encoded and decoded by themselves."""

from __future__ import annotations

import msgspec
import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import Contact, new_peer_id
from camcast.vocabulary.messages import encode
from camcast.vocabulary.streams import stream
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import (
    Kind,
    control_head,
    decode_control,
    decode_event,
    encode_control,
    encode_event,
)
from membership.scamp.messages import DECODER, Arc, Replace
from membership.scamp.size_estimate import SizeEstimate

TOPIC = Topic.parse(".soccer.italy")
_RANDOM = stream(1, "workload", "codec").randbytes
ME = Contact(new_peer_id(_RANDOM), "tcp://127.0.0.1:7001")
OTHER = Contact(new_peer_id(_RANDOM), "tcp://127.0.0.1:7002")

pytestmark = pytest.mark.benchmark(group="codec")
sized = pytest.mark.parametrize("payload_bytes", [256, 16_384], ids=lambda size: f"{size}B")


def _event(payload_bytes: int) -> Event:
    return Event(EventId(ME.peer, 1_700_000_000_000, 7), TOPIC, bytes(payload_bytes), hops=2)


def _note(benchmark: BenchmarkFixture, **info: float) -> None:
    assert benchmark.stats is not None, "measured nothing: --benchmark-disable?"
    nanoseconds = benchmark.stats.stats.median * 1e9
    benchmark.extra_info.update(nanoseconds_per_record=nanoseconds, **info)


@sized
def test_encode_an_event(benchmark: BenchmarkFixture, payload_bytes: int) -> None:
    record = benchmark(encode_event, _event(payload_bytes), 3, TOPIC.group, ME.peer)
    _note(benchmark, payload_bytes=payload_bytes, record_bytes=len(record))


@sized
def test_decode_an_event(benchmark: BenchmarkFixture, payload_bytes: int) -> None:
    event = _event(payload_bytes)
    record = encode_event(event, 3, TOPIC.group, ME.peer)
    decoded = benchmark(decode_event, record, 0, len(record))
    assert decoded == msgspec.structs.replace(event, hops=3)
    _note(benchmark, payload_bytes=payload_bytes, record_bytes=len(record))


CONTROLS = {
    "arc": Arc(0.125, 0.1, 1, False, False, SizeEstimate(ME.peer, 1.0).encode(0.0), False),
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
