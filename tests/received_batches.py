"""Batches as a community hands them to its subscriptions, made without a network."""

from collections.abc import Callable, Sequence

from camcast.inbox.received import Received, ReceivedBatch, received_of
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic

STREAM = stream_id(PeerId(bytes(range(16))), 7)
TOPIC = Topic.parse(".a.b")
HOPS = 3
PUBLISHED_MILLISECONDS = 1_700_000_000_250


def batch(first: int, payloads: Sequence[bytes], *, typed: bool = False) -> Batch:
    """Return consecutive events of `STREAM`, as they come out of a frame."""
    return make_batch(
        *(STREAM, first, payloads, TOPIC), typed=typed, published=PUBLISHED_MILLISECONDS, hops=HOPS
    )


def received(
    first: int, payloads: Sequence[bytes], decode: Callable[[bytes], object] | None = None
) -> Received | ReceivedBatch:
    """Return the same as subscribers get them."""
    return received_of(batch(first, payloads), decode)


def received_batch(
    first: int, payloads: Sequence[bytes], decode: Callable[[bytes], object] | None = None
) -> ReceivedBatch:
    """Return the same; there must be several events."""
    whole = received(first, payloads, decode)
    assert isinstance(whole, ReceivedBatch)
    return whole
