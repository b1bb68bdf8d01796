from __future__ import annotations

from typing import Any

import msgspec
import pytest

from camcast.security.certificates import SLACK_SECONDS
from camcast.security.records import (
    LIFETIME_SECONDS,
    RECORD_BYTES_MAX,
    PeerRecord,
    sign_record,
    verify_record,
)
from camcast.security.refusals import Reason
from tests.authority import ADA, EVE, NOW, assert_counts_between, reason_against

HERE, THERE = "tcp://192.0.2.1:7000", "tcp://[2001:db8::1]:7000"


def record(**changes: Any) -> PeerRecord:
    given: dict[str, Any] = {
        "key": ADA.public.raw,
        "addresses": (HERE, THERE),
        "incarnation": 3,
        "expiry": NOW + LIFETIME_SECONDS,
        "groups": (b"g" * 8,),
        "certificates": (b"c" * 8, b"d" * 8),
    }
    return PeerRecord(**given | changes)


def refused(data: bytes, now: float = NOW) -> Reason:
    return reason_against(lambda: verify_record(data, now))


def test_a_record_is_its_owner_s_word() -> None:
    assert verify_record(sign_record(record(), ADA), NOW) == record()
    assert record().peer_id == ADA.public.peer_id
    assert refused(sign_record(record(), EVE)) is Reason.FORGED


def test_a_record_lives_for_an_hour() -> None:
    data = sign_record(record(), ADA)
    first, last = NOW - SLACK_SECONDS, NOW + LIFETIME_SECONDS + SLACK_SECONDS
    assert_counts_between(first, last, lambda now: verify_record(data, now))


@pytest.mark.parametrize(
    "changes",
    [
        {"addresses": ()},
        {"addresses": (HERE,) * 5},
        {"addresses": ("tcp://host.example:7000",)},
        {"addresses": ("tcp://192.0.2.1:0",)},
        {"addresses": ("tcp://192.0.2.01:7000",)},
        {"addresses": ("tcp://[2001:DB8::1]:7000",)},
        {"addresses": ("ipc:///tmp/socket",)},
        {"key": b"k" * 31},
        {"incarnation": -1},
        {"incarnation": 2**62},
        {"expiry": 2**32},
        {"groups": (b"g" * 7,)},
        {"certificates": (b"c" * 9,)},
        {"groups": tuple(bytes([n]) * 8 for n in range(30))},
    ],
)
def test_a_record_out_of_bounds_is_refused(changes: dict[str, Any]) -> None:
    fields = {"version": 1, **msgspec.structs.asdict(record()), **changes}
    body = msgspec.msgpack.encode(list(fields.values()))
    assert refused(body + bytes(64)) is Reason.MALFORMED


def test_a_record_of_a_process_of_many_communities_fits_a_datagram() -> None:
    longest = record(
        addresses=("tcp://[2001:db8:1111:2222:3333:4444:5555:6666]:65535",) * 2,
        groups=tuple(bytes([n]) * 8 for n in range(11)),
        certificates=tuple(bytes([n]) * 8 for n in range(3)),
    )
    data = sign_record(longest, ADA)
    assert len(data) <= RECORD_BYTES_MAX
    verify_record(data, NOW)


@pytest.mark.parametrize(
    ("changes", "replaces"),
    [
        ({}, False),
        ({"expiry": NOW + LIFETIME_SECONDS + 1}, True),
        ({"expiry": NOW + LIFETIME_SECONDS - 1}, False),
        ({"expiry": NOW + LIFETIME_SECONDS + 1, "groups": ()}, True),
        ({"expiry": NOW + LIFETIME_SECONDS + 1, "addresses": (THERE,)}, False),
        ({"expiry": NOW + LIFETIME_SECONDS + 1, "addresses": (THERE, HERE)}, False),
        ({"incarnation": 4, "addresses": (THERE,), "expiry": NOW}, True),
        ({"incarnation": 2, "expiry": NOW + LIFETIME_SECONDS + 1}, False),
        ({"key": EVE.public.raw, "incarnation": 4}, False),
    ],
)
def test_an_address_changes_with_a_higher_incarnation(
    changes: dict[str, Any], replaces: bool
) -> None:
    assert record(**changes).replaces(record()) == replaces
