"""Batches and frames as a peer would send them."""

from __future__ import annotations

from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import GroupId, Topic


def batch_of(
    publisher: PeerId, sequence: int, topic: Topic, *payloads: bytes, number: int = 1, hops: int = 1
) -> Batch:
    """Return a batch of a publisher's stream of this number; of one event without payloads."""
    return make_batch(stream_id(publisher, number), sequence, payloads or (b"!",), topic, hops=hops)


def frame_of(batch: Batch, group: GroupId, sender: PeerId, address: str = "") -> bytes:
    """Return a frame with a copy of a batch that arrives in a group after its hops."""
    head = wire.event_head(len(batch.body), batch.hops, 0.0, group, sender, address)
    return wire.FRAME_HEADER + head + batch.body
