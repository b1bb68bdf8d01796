"""The stub refuses what real signatures refuse, is as long as they are, and counts their cost."""

from random import Random

import pytest

from camcast.research.simulation.stub_signatures import (
    SIGN_SECONDS,
    VERIFY_SECONDS,
    StubAuthority,
    StubSignatures,
)
from camcast.vocabulary.batches import SIGNED_BYTES, Batch, decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from tests.mutations import mutated

A = Topic.parse(".a")
ADA, EVE = PeerId(b"a" * 16), PeerId(b"e" * 16)


def batch(publisher: PeerId = ADA) -> Batch:
    return make_batch(stream_id(publisher, 7), 1, [b"Roma 3", b"Lazio 2"], A, published=5_000)


def test_what_its_publisher_signed_is_believed_and_costs_what_is_stated() -> None:
    authority = StubAuthority(b"k" * 32)
    ada, eve = StubSignatures(ADA, authority), StubSignatures(EVE, authority)
    signed = ada.sign(batch())
    assert len(signed.body) == len(batch().body) + SIGNED_BYTES
    assert [eve.refusal(signed, A, 5.0, 120.0) for _ in range(3)] == [""] * 3
    assert authority.cpu_seconds == pytest.approx(SIGN_SECONDS + VERIFY_SECONDS)  # verified once


def test_nothing_else_is_believed() -> None:
    authority, rng = StubAuthority(b"k" * 32), Random(1)
    ada, eve = StubSignatures(ADA, authority), StubSignatures(EVE, authority)
    genuine = ada.sign(batch())
    assert ada.refusal(batch(), A, 5.0, 120.0) == "unsigned"
    assert ada.refusal(eve.sign(batch()), A, 5.0, 120.0) == "forged"  # by Eve, as Ada
    for _ in range(2_000):
        try:
            altered = mutated(rng, genuine.body)
            read = decode_body(altered, 0, len(altered))
        except ValueError:
            continue
        if altered != genuine.body:
            assert ada.refusal(read, A, 5.0, 120.0) in ("forged", "unsigned")
