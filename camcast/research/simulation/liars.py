"""The forged records of lying members, made from what a member knows.

A liar does what every process does, and also sends forged records to the processes in its topic
table. Records in the names of other processes leave from the liar's own address; a record itself
does not show which process made it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Final

from msgspec import structs

from camcast.doors.membership import MembershipContext
from camcast.engine import link_messages
from camcast.engine.liveness import LivenessService
from camcast.engine.liveness_messages import Answer
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.engine.repair.messages import NONCE_BYTES, Have
from camcast.engine.settings import Settings
from camcast.research.scenarios.virtual import Lie
from camcast.virtual.datagram_network import HOSTS_MAX, ip_of
from camcast.vocabulary import wire
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import PEER_ID_BYTES, Contact, new_peer_id
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.outbox import ControlOutlet, Outbox, Send
from camcast.vocabulary.size_estimate import SAMPLE
from camcast.vocabulary.topics import GroupId
from camcast.vocabulary.wire import Kind

FORGED: Final = b"forged "
"""The first bytes of the payload of every forged event."""
CLAIMED: Final = 1000  # chosen: events that were never published, claimed of each stream
STRANGERS: Final = 5  # chosen: subscriptions in invented names at a time


def tell(lie: Lie, settings: Settings, rng: Random, liar: Node, now: float) -> None:
    """Let a process send the records of a lie in all its communities."""
    for part in liar.local_groups:
        peers = list(part.membership.peers())
        match lie:
            case "events":
                sends = _events(liar, part, peers, rng, now)
            case "goodbyes":
                sends = _goodbyes(part, peers)
            case "haves":
                sends = _haves(liar, part, peers, rng)
            case "sizes":
                sends = _sizes(liar, part, peers, rng, now)
            case "subscriptions":
                sends = _subscriptions(settings, part, peers, rng, now)
        liar.outbox.sends.extend(sends)


def _events(
    liar: Node, part: LocalGroup, peers: list[Contact], rng: Random, now: float
) -> Iterator[Send]:
    """Forge the next event of each stream that is known, and one of a new stream of a member."""
    streams = [
        (StreamId(stream), ranges.stop)
        for stream, ranges in part.streams.known.items()
        if stream[:PEER_ID_BYTES] != liar.me.peer
    ]
    streams += [(stream_id(peer.peer, round(1000 * now)), 1) for peer in peers[:1]]
    for stream, number in streams:
        payload = FORGED + rng.randbytes(4).hex().encode()
        batch = make_batch(stream, number, [payload], part.topic, published=round(1000 * now))
        if liar.signing is not None:  # a signature that the receiver has to verify
            batch = batch.signed(rng.randbytes(8), lambda _part: rng.randbytes(64))
        head = wire.event_head(len(batch.body), 1, 0.0, part.topic.group, liar.me.peer)
        yield Send(peers, head + batch.body, False)


def _goodbyes(part: LocalGroup, peers: list[Contact]) -> Iterator[Send]:
    """Tell each peer in the tables, in the name of every other one, that it has left."""
    kind, group = Kind.MEMBERSHIP, part.topic.group
    for peer in peers:
        others = [other for other in peers if other != peer]
        yield _control(others, Kind.LIVENESS, group, peer, Answer((), ((int(kind), group),)))
    for table in part.links:
        topic, supers = table.nearest()
        for one in supers:
            yield _control(peers, Kind.LINKS, group, one, link_messages.Gone(topic.name))


def _haves(liar: Node, part: LocalGroup, peers: list[Contact], rng: Random) -> Iterator[Send]:
    """Claim, in each peer's name to the others, to have events that were never published."""
    claimed = tuple(
        (stream, 1, 0, (ranges.stop + CLAIMED,)) for stream, ranges in part.streams.known.items()
    )
    if claimed:
        nonce = rng.randbytes(NONCE_BYTES)
        said = Have(nonce, 3600.0, 3600.0, "", 0, 0.0, claimed)
        for peer in (*peers, liar.me):
            others = [other for other in peers if other != peer]
            yield _control(others, Kind.REPAIR, part.topic.group, peer, said)


def _sizes(
    liar: Node, part: LocalGroup, peers: list[Contact], rng: Random, now: float
) -> Iterator[Send]:
    """Send samples of the size estimate whose numbers are as small as can be."""
    numbers = sorted(rng.sample(range(2**32), SAMPLE))
    sample = b"".join(number.to_bytes(8) + bytes(2) for number in numbers)
    for peer in peers:
        said = part.membership.heartbeat(peer, now)
        if said is not None and "sample" in said.__struct_fields__:
            forged = structs.replace(said, sample=sample)
            yield _control([peer], Kind.MEMBERSHIP, part.topic.group, liar.me, forged)


def _subscriptions(
    settings: Settings, part: LocalGroup, peers: list[Contact], rng: Random, now: float
) -> Iterator[Send]:
    """Send the membership's requests to join in the names of processes that do not exist."""
    backend = settings.backend
    for peer in peers[:STRANGERS]:
        address = f"tcp://{ip_of(rng.randrange(HOSTS_MAX))}:7000"
        stranger = Contact(new_peer_id(rng.randbytes), address)
        outbox = Outbox(stranger)
        outlet = partial(ControlOutlet, outbox)
        liveness = LivenessService(outlet(Kind.LIVENESS, GroupId(bytes(8))), rng, lambda *_: False)
        context = MembershipContext(
            topic=part.topic,
            rng=rng,
            outlet=outlet(Kind.MEMBERSHIP, part.topic.group),
            liveness=liveness.part(Kind.MEMBERSHIP, part.topic.group),
            watch=lambda _there, _contact: None,
            certified=None,
        )
        backend.keeper(context, settings.options or backend.options()).join([peer], now)
        yield from outbox.sends


def _control(
    to: list[Contact], kind: Kind, group: GroupId, name: Contact, message: Message
) -> Send:
    """Return a message in the name of another process."""
    head = wire.control_head(kind, group, name.peer, name.address)
    return Send(to, wire.encode_control(head, encode(message)), True)
