from __future__ import annotations

from typing import Any

import msgspec
import pytest

from camcast.security.certificates import (
    A_SECOND_MAX,
    CERTIFICATE,
    CERTIFICATE_BYTES_MAX,
    Certificate,
    Rate,
    RatedCertificate,
    Rights,
)
from camcast.security.refusals import Reason, RefusedError
from camcast.vocabulary.penalties import fault_in
from camcast.vocabulary.topics import Topic
from tests.authority import ADA, ALL, DAY, MEMBER, NOW, ROOT, grant, reason_against

FIELDS = [1, b"i" * 32, b"s" * 32, ".soccer", 3, NOW, NOW + DAY, b"12345678", 0]


def read(fields: list[Any] | bytes) -> Certificate:
    body = fields if isinstance(fields, bytes) else msgspec.msgpack.encode(fields)
    return CERTIFICATE.read(body + bytes(64))


def test_what_was_signed_is_read() -> None:
    data = grant(ROOT, ADA, ".soccer.italy", MEMBER, NOW, NOW + DAY, 7)
    certificate = CERTIFICATE.read(data)
    CERTIFICATE.check(data, ROOT.public.raw)
    assert reason_against(lambda: CERTIFICATE.check(data, ADA.public.raw)) is Reason.FORGED
    assert certificate.subject == ADA.public.raw
    assert certificate.topic == Topic.parse(".soccer.italy")
    assert certificate.rights == Rights.JOIN | Rights.PUBLISH
    assert certificate.serial == b"\0" * 7 + b"\7"


@pytest.mark.parametrize(
    ("place", "value"),
    [
        *((0, 2), (0, 0), (0, "1"), (1, b"i" * 31), (1, "i" * 32), (2, b"s" * 33)),
        (3, b".soccer"),
        *((4, 0), (4, 16), (4, -1), (4, 3.0), (4, True), (5, NOW + DAY), (5, -1), (5, float(NOW))),
        *((6, NOW), (6, 2**32), (6, None), (7, b"1234567"), (7, 1), (8, 1), (8, 4), (8, -1)),
    ],
)
def test_a_field_out_of_bounds_is_refused(place: int, value: object) -> None:
    fields: list[Any] = list(FIELDS)
    read(fields)
    fields[place] = value
    assert reason_against(lambda: read(fields)) is Reason.MALFORMED


@pytest.mark.parametrize("name", ["soccer", ".a..b", ".a.", ".a b", ".e\N{COMBINING ACUTE ACCENT}"])
def test_a_name_that_is_no_topic_is_refused_and_is_no_forgery(name: str) -> None:
    """An honest process of a larger grammar may have passed the certificate on."""
    refused = reason_against(lambda: read([*FIELDS[:3], name, *FIELDS[4:]]))
    assert refused is Reason.TOPIC
    assert fault_in(refused.value) is None


def test_the_right_to_issue_has_a_depth() -> None:
    for rights in range(1, 16):
        for depth in range(4):
            fields = [*FIELDS[:4], rights, *FIELDS[5:8], depth]
            if bool(rights & Rights.ISSUE) == (depth > 0):
                assert read(fields).depth == depth
            else:
                with pytest.raises(RefusedError):
                    read(fields)


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xc0", b"\x90", b"\x91\x01", b"\x91" * 300, b"\xff" * 100),
        msgspec.msgpack.encode(FIELDS[:-1]),
        msgspec.msgpack.encode([*FIELDS, 0]),
        msgspec.msgpack.encode(FIELDS) + b"\0",
        msgspec.msgpack.encode(FIELDS).replace(b"\x99", b"\xdc\0\x09", 1),  # array 16 for 8
        msgspec.msgpack.encode(FIELDS).replace(b"\xa7.soccer", b"\xd9\7.soccer"),  # str 8 for fix
        msgspec.msgpack.encode(FIELDS).replace(b".soccer", b".socc\xff\xff"),
        msgspec.msgpack.encode(dict(zip("abcdefghi", FIELDS, strict=True))),
    ],
)
def test_another_form_is_refused(body: bytes) -> None:
    assert reason_against(lambda: read(body)) is Reason.MALFORMED


def test_the_longest_certificate_is_the_bound() -> None:
    topic = "." + ".".join(["a" * 64] * 3) + "." + "a" * 59
    plain = CERTIFICATE.read(grant(ROOT, ADA, topic, ALL, 2**32 - 2, 2**32 - 1))
    most = Rate(A_SECOND_MAX, A_SECOND_MAX)
    longest = CERTIFICATE.sign(RatedCertificate.of(plain, most), ROOT)
    assert len(longest) == CERTIFICATE_BYTES_MAX
    assert CERTIFICATE.read(longest).rate == most
    with pytest.raises(RefusedError, match=r"has 424 bytes, and 423 at most"):
        CERTIFICATE.read(longest + b"\0")


@pytest.mark.parametrize(
    ("topic", "granted"),
    [
        (".a", False),
        (".a.b", True),
        (".a.b.c", True),
        (".a.bc", False),
        (".b", False),
        (".", False),
    ],
)
def test_rights_are_for_a_topic_and_below(topic: str, granted: bool) -> None:
    certificate = CERTIFICATE.read(grant(ROOT, ADA, ".a.b", Rights.PUBLISH))
    assert certificate.grants(Rights.PUBLISH, Topic.parse(topic)) == granted
    assert not certificate.grants(Rights.JOIN, Topic.parse(topic))
    assert not certificate.grants(MEMBER, Topic.parse(topic))


@pytest.mark.parametrize("rights", [Rights.JOIN, Rights.PUBLISH, Rights.SERVE, MEMBER])
def test_who_joins_or_publishes_may_link_to_every_ancestor(rights: Rights) -> None:
    certificate = CERTIFICATE.read(grant(ROOT, ADA, ".a.b", rights))
    reached = {
        name: certificate.grants_link(Topic.parse(name))
        for name in (".", ".a", ".a.b", ".a.b.c", ".a.c", ".a.bc", ".b", ".ab")
    }
    may = rights != Rights.SERVE
    assert reached == {name: may and name in (".", ".a", ".a.b", ".a.b.c") for name in reached}


def test_rights_are_named_as_in_a_command() -> None:
    assert Rights.parse(["publish", "join", "join"]) == MEMBER
    assert MEMBER.names == ("join", "publish")
    assert Rights.parse(ALL.names) == ALL
    with pytest.raises(ValueError, match="'read'; there are join, publish, serve, issue"):
        Rights.parse(["join", "read"])
