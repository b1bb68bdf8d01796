"""Who sends what is forged is cut off, and nobody else: not who knows less, or other clocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from camcast import CommunityManager
from camcast.doors.transport import OutputPipes
from camcast.engine.link_messages import Ping
from camcast.engine.node import Node
from camcast.engine.security_messages import Certificates
from camcast.live.profiles.certificate_file import certificate_text
from camcast.live.profiles.key_file import write_key_pair
from camcast.live.profiles.signed_links import SignedLinks
from camcast.live.transports import TRANSPORTS, find_transport
from camcast.security.certificates import Rights
from camcast.security.keys import SIGNATURE_BYTES, Domain, SecretKey
from camcast.vocabulary import wire
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import UNKNOWN_PEER, Contact, PeerId
from camcast.vocabulary.penalties import BARRED_ABOVE, MALFORMED
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.admitted_world import AdmittedWorld, record
from tests.authority import ADA, CLUB, EVE, MEMBER, ROOT, grant, revocations
from tests.patience import eventually, live
from tests.signed_world import (
    ITALY,
    SOCCER,
    STRANGER,
    SignedWorld,
    certificate,
    control,
    frame,
    key,
    with_own,
)

CHESS = Topic.parse(".chess")
FAR = 2**32 - 1
FORGER = key(9)
FORGED_MAX = int(BARRED_ABOVE) + 1


def event(by: SecretKey, own: bytes, topic: Topic = SOCCER, at: float = 5.0) -> Batch:
    """Return what the owner of `by` signs with the certificate `own` at a time since 1970."""
    stream = stream_id(by.public.peer_id, 7)
    batch = make_batch(stream, 1, [b"goal"], topic, published=round(1000 * at))
    return with_own(by, own).sign(batch)


def altered(batch: Batch) -> bytes:
    body = batch.body[:-1] + bytes([batch.body[-1] ^ 1])
    return frame(batch).removesuffix(batch.body) + body


OWN = certificate(ADA)
FORGED: dict[str, bytes] = {
    "a signature that does not verify": altered(event(ADA, OWN)),
    "not signed": frame(make_batch(stream_id(ADA.public.peer_id, 7), 1, [b"goal"], SOCCER)),
    "another's certificate": frame(
        make_batch(stream_id(EVE.public.peer_id, 7), 1, [b""], SOCCER, published=5000).signed(
            event(ADA, OWN).certificate, lambda _: bytes(64)
        )
    ),
    "no right in its topic": frame(event(ADA, OWN, CHESS), group=SOCCER),
    "a chain with a wrong signature": FRAME_HEADER
    + control(Certificates((OWN[:-1] + bytes([OWN[-1] ^ 1]),))),
    "a chain that grants more than it may": FRAME_HEADER
    + control(
        Certificates((
            *(certificate(CLUB, ".soccer", MEMBER | Rights.ISSUE),),
            grant(CLUB, EVE, ".chess", MEMBER, 0, FAR),
        ))
    ),
}  # fmt: skip


def score(node: Node, peer: PeerId) -> float:
    """Return what the faults of a process add up to, without the decay since the latest one."""
    assert node.guard.penalties is not None
    known = node.guard.penalties._scores.get(peer)
    return 0.0 if known is None else known.points


def knowing(node: Node, *certificates: bytes) -> Node:
    for each in certificates:
        node.receive(FRAME_HEADER + control(Certificates((each,))), 5.0)
    return node


@pytest.mark.parametrize("name", FORGED)
def test_what_is_forged_counts_against_who_sent_it(name: str) -> None:
    node = knowing(SignedWorld().member(key(1), SOCCER), OWN)
    node.receive(FORGED[name], 5.0)
    assert score(node, STRANGER) == 1
    assert node.outbox.deliveries == []


def revoked(node: Node) -> bytes:
    """Let a process learn that Ada's certificate is revoked; who forwards does not know yet."""
    assert node.signing is not None
    assert node.signing._signatures.take_revocations(revocations(1, since=0, until=FAR), 5.0) == ""
    return frame(event(ADA, OWN))


STRANGE = ".soc\N{ANGSTROM SIGN}".encode()  # not in NFC, which a later grammar may allow
STRANGE_BODY = OWN[:-SIGNATURE_BYTES].replace(SOCCER.encoded, STRANGE)

HONEST: dict[str, Callable[[Node], bytes]] = {
    "revoked": revoked,
    "a slow clock": lambda _: frame(event(ADA, OWN, at=5.0 + 301)),
    "a fast clock": lambda node: frame(event(ADA, OWN, at=0.0)),
    "expired": lambda node: frame(
        event(ADA, grant(ROOT, ADA, ".soccer", MEMBER, 0, 1, 9), at=302.0),
        grant(ROOT, ADA, ".soccer", MEMBER, 0, 1, 9),
    ),
    "an unknown certificate": lambda _: frame(event(ADA, certificate(ADA, serial=8))),
    "another root": lambda _: FRAME_HEADER + control(
        Certificates((grant(EVE, ADA, ".soccer", MEMBER, 0, FAR),))
    ),
    "a certificate for a topic of other letters": lambda _: FRAME_HEADER + control(
        Certificates((STRANGE_BODY + ROOT.sign(Domain.CERTIFICATE, STRANGE_BODY),))
    ),
    "an event of a topic of other letters": lambda _: frame(event(ADA, OWN)).replace(
        SOCCER.encoded, STRANGE
    ),
    "a record of a later release": lambda _: FRAME_HEADER
    + wire.encode_control(b"\x2a" + bytes(3) + SOCCER.group + ADA.public.peer_id, b"new"),
    "of a community that has several super-topics": lambda _: frame(
        event(ADA, certificate(ADA, ".soccer.italy"), ITALY),
        certificate(ADA, ".soccer.italy"),
        group=CHESS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_what_an_honest_process_may_have_believed_does_not(name: str) -> None:
    node = knowing(SignedWorld().member(key(1), SOCCER, CHESS, own=certificate(key(1), ".")), OWN)
    now = 800.0 if name == "a fast clock" else 5.0
    node.receive(HONEST[name](node), now)
    assert score(node, STRANGER) == 0
    assert node.outbox.deliveries == []
    if "other letters" in name:
        assert node.signing is not None
        refused = node.signing.refused["chain_topic"]
        assert (refused, node.counters.malformed) in [(1, 0), (0, 1)]


def test_malformed_records_raise_the_score_of_who_sent_them_and_other_grammars_do_not() -> None:
    world = AdmittedWorld()
    victim, member = world.member(key(1), SOCCER), world.member(key(2), SOCCER).me
    good = record(Kind.LINKS, Ping(SOCCER.name), member.peer, member.address)
    other = good.replace(member.address.encode(), b"x" * len(member.address))
    body = record(Kind.LINKS, Ping(""), member.peer, member.address)[:-1] + b"\xc1"
    for said, points in ((good, 0), (other, 0), (body, MALFORMED.points)):
        before = victim.counters.malformed
        victim.receive(FRAME_HEADER + said, world.now, member.peer)
        assert score(victim, member.peer) == points
        assert victim.counters.malformed == before + (said is not good)


def test_what_waited_for_a_certificate_counts_against_who_sent_it_and_not_who_brought_that() -> (
    None
):
    """An insider had an honest member barred: that one answered the question for the chain."""
    world = AdmittedWorld()
    victim, honest = world.member(key(1), SOCCER), world.member(key(2), SOCCER)
    liar = key(3).public.peer_id
    bodies = [altered(event(ADA, OWN, at=world.now + count)) for count in range(8)]
    for body in bodies:
        said = body[len(FRAME_HEADER) :].replace(STRANGER, liar)
        world.send(victim, key(3), said)
    world.run(0.1)
    assert victim.counters.held == len(bodies)
    me = honest.me
    chain = record(Kind.SECURITY, Certificates((OWN,)), me.peer, me.address)
    victim.receive(FRAME_HEADER + chain, world.now, me.peer)
    assert victim.counters.unverified == len(bodies)
    assert (score(victim, me.peer), round(score(victim, liar))) == (0, 8)
    assert victim.guard.is_barred(liar, world.now)
    assert not victim.guard.is_barred(me.peer, world.now)


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_who_brings_forged_events_is_cut_off_and_barred_and_nobody_else(
    transport: str, tmp_path: Path
) -> None:
    """A forged event costs 50 µs to refuse, and there was no end of them: the forger dialled anew.

    Forged events count against the owner of a key, whatever connections they come by.
    """
    for name, secret in (("root", ROOT), ("ada", ADA)):
        write_key_pair(tmp_path / f"{name}.key", secret)
    (tmp_path / "ada.cert").write_text(certificate_text([certificate(ADA)]))

    def forged(number: int, sender: SecretKey = FORGER) -> bytes:
        stream = stream_id(CLUB.public.peer_id, 7)
        batch = make_batch(stream, number, [b""], SOCCER, published=time.time_ns() // 1_000_000)
        body = with_own(CLUB, certificate(CLUB)).sign(batch).body
        wrong = body[:-1] + bytes([body[-1] ^ 1])
        head = wire.event_head(len(wrong), 1, 0.0, SOCCER.group, sender.public.peer_id)
        return head + wrong

    def pipes_of(owner: SecretKey, count: int) -> list[OutputPipes]:
        links = SignedLinks.of(with_own(owner, certificate(owner)), {}, Clock(), time.time)
        links.known.reached_at("tcp://127.0.0.1:9")
        links.pin(address, ADA.public.raw)
        make = find_transport(transport)
        return [make(frame_header=FRAME_HEADER, profile=links) for _ in range(count)]

    address = ""

    async def test() -> None:
        nonlocal address
        async with CommunityManager(
            identity=tmp_path / "ada.key",
            certificates=tmp_path / "ada.cert",
            trust=tmp_path / "root.pub",
            transport=transport,
        ) as ada:
            await ada.join(".soccer")
            address = ada.address
            there = [Contact(UNKNOWN_PEER, address)]
            (honest,), forger = pipes_of(CLUB, 1), pipes_of(FORGER, 3)
            honest.send(there, forged(1, CLUB))
            # Whose link shows the certificate without which nothing can be said of the events.
            await eventually(lambda: ada.counters.unverified == 1)
            for number in range(1, FORGED_MAX):
                forger[number % 2].send(there, forged(number))
            await eventually(lambda: ada.counters.unverified == FORGED_MAX)
            assert ada.counters.input.forgers_refused == 0
            assert len(ada.pipes.connections) == 3
            forger[0].send(there, forged(FORGED_MAX))
            await eventually(lambda: ada.counters.input.forgers_refused == 1)
            forger[2].send(there, forged(FORGED_MAX + 1))
            await eventually(lambda: ada.counters.input.strangers_refused > 0)
            honest.send(there, forged(2, CLUB))
            await eventually(lambda: ada.counters.unverified == FORGED_MAX + 2)
            for one in (honest, *forger):
                one.close(0)

    live(test)()
