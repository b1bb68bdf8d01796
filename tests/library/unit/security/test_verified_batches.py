"""What a process verified of late: the same bytes, so many at most."""

from __future__ import annotations

import pytest

from camcast.security.verified_batches import BATCHES_MAX, BYTES_MAX, VerifiedBatches
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.events import stream_id
from tests.authority import ADA
from tests.signed_world import SOCCER


def signed(number: int, size: int = 4, signature: bytes = b"") -> Batch:
    batch = make_batch(stream_id(ADA.public.peer_id, 7), number, [bytes(size)], SOCCER)
    return batch.signed(b"the hash", lambda _: signature or number.to_bytes(64))


def test_only_the_very_bytes_count() -> None:
    verified = VerifiedBatches()
    verified.add(signed(1))
    assert signed(1) in verified
    assert signed(2) not in verified
    assert signed(2, signature=signed(1).signature) not in verified


@pytest.mark.parametrize("size", [4, BYTES_MAX // 10])
def test_the_oldest_goes_first(size: int) -> None:
    verified, most = VerifiedBatches(), BATCHES_MAX if size == 4 else 9
    for number in range(1, most + 2):
        verified.add(signed(number, size))
    assert [number for number in range(1, most + 2) if signed(number, size) not in verified] == [1]
