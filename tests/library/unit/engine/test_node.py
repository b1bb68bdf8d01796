"""The node: where inputs go, what is counted, and what no input may do to it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from functools import partial
from itertools import pairwise, permutations
from types import FunctionType, ModuleType
from typing import Any

import msgspec
import pytest
from attrs import evolve

from camcast.doors.plugs import find_discovery
from camcast.engine import link_messages as links
from camcast.engine import liveness_messages as liveness
from camcast.engine.misfits import CHOICES_A_SECOND, DIFFERS_SECONDS
from camcast.engine.node import Node
from camcast.engine.repair import messages as repair
from camcast.testing.world import World
from camcast.vocabulary import messages, wire
from camcast.vocabulary.choices import Choice
from camcast.vocabulary.events import SEQUENCE_MAX, Event, EventId, stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.parameters import Parameters
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from membership.dht import Greeting
from membership.scamp import messages as said
from overlays import gateway_messages
from overlays.gateways import RENEW_SECONDS, TIMEOUT_SECONDS
from tests.event_frames import batch_of, frame_of
from tests.library.unit.engine import linked_network
from tests.library.unit.engine.linked_network import join
from tests.transcript import Transcript

A, AB, B, X = (Topic.parse(name) for name in (".a", ".a.b", ".b", ".x.y"))
ALWAYS = Parameters(p_sel=1.0, a=3.0, z=3)  # every process sends every event upward


def publish(network: World, node: Node, topic: Topic, payload: bytes = b"!") -> Any:
    return network.do(node, lambda n, now: n.publish(topic, payload, now))


network_of = partial(linked_network.network_of, parameters=ALWAYS, settle_seconds=20.0)


def deliveries(network: World, node: Node) -> list[tuple[GroupId, bytes]]:
    return [(d.group, d.event.payload) for who, d in network.delivered if who is node]


def stranger(number: int) -> Contact:
    return Contact(PeerId(number.to_bytes(16, "big")), f"tcp://10.9.9.9:{number % 60_000 + 1}")


def control(kind: Kind, topic: Topic, source: Contact, message: messages.Message) -> bytes:
    body = messages.encode(message)
    record = wire.encode_control(
        wire.control_head(kind, topic.group, source.peer, source.address), body
    )
    return FRAME_HEADER + record


# -- dissemination over several communities ------------------------------------------------


def test_an_event_climbs_to_the_root_and_reaches_nobody_else() -> None:
    network, nodes = network_of(ROOT, ROOT, A, A, AB, AB, B, B, Topic.parse(".a.c"))
    publish(network, nodes[4], AB)
    network.run(2.0)
    received = [len(deliveries(network, node)) for node in nodes]
    assert received == [1, 1, 1, 1, 1, 1, 0, 0, 0]
    assert sum(node.counters.parasites for node in network.alive.values()) == 0


def test_a_process_of_both_communities_passes_an_event_up_itself() -> None:
    network, [low, both] = network_of(A, A)
    join(network, both, ROOT)
    network.run(10.0)
    publish(network, both, A)
    network.run(1.0)
    assert deliveries(network, both) == [(ROOT.group, b"!"), (A.group, b"!")]
    assert deliveries(network, low) == [(A.group, b"!")]
    assert both.counters.upward_sent == 0


def test_a_process_of_a_farther_ancestor_gets_its_own_event_there_too() -> None:
    """With nobody in between, the nearest level known is a community it is in itself."""
    network, [one] = network_of(AB)
    join(network, one, ROOT)
    network.run(20.0)
    publish(network, one, AB)
    assert sorted(deliveries(network, one)) == sorted([(AB.group, b"!"), (ROOT.group, b"!")])


def test_a_diamond_delivers_once_at_the_common_ancestor() -> None:
    left, right, bottom = (Topic.parse(name) for name in (".left", ".right", ".bottom"))
    network, [top, one, two] = network_of(ROOT, left, right)
    low = network.add((next(iter(network.alive)),), parameters=ALWAYS)
    join(network, low, bottom, super_topics=(left, right))
    network.run(20.0)
    publish(network, low, bottom)
    network.run(2.0)
    assert deliveries(network, one) == [(left.group, b"!")]
    assert deliveries(network, two) == [(right.group, b"!")]
    assert deliveries(network, top) == [(ROOT.group, b"!")]
    assert (top.counters.events, top.counters.duplicates) == (1, 1)  # it came on both paths
    assert top.counters.duplicates == 1


def test_leaving_one_super_community_leaves_the_link_to_the_other() -> None:
    left, right, bottom = (Topic.parse(name) for name in (".left", ".right", ".bottom"))
    network, [both] = network_of(left)
    join(network, both, right)
    low = network.add((next(iter(network.alive)),), parameters=ALWAYS)
    join(network, low, bottom, super_topics=(left, right))
    network.run(20.0)
    (local_group,) = low.local_groups
    assert [link.nearest()[1] for link in local_group.links] == [[both.me], [both.me]]
    network.leave(both, left)
    publish(network, low, bottom)
    network.run(0.5)
    assert [link.nearest()[1] for link in local_group.links] == [[], [both.me]]


def test_unrelated_topics_in_one_process_do_not_mix() -> None:
    network, [one, of_a, of_x] = network_of(A, A, X)
    join(network, one, X)
    network.run(10.0)
    publish(network, of_a, A, b"a")
    publish(network, of_x, X, b"x")
    network.run(2.0)
    assert sorted(deliveries(network, one)) == sorted([(A.group, b"a"), (X.group, b"x")])
    assert deliveries(network, of_a) == [(A.group, b"a")]
    assert deliveries(network, of_x) == [(X.group, b"x")]


def test_a_founder_alone_publishes_to_nobody_and_delivers_to_itself() -> None:
    network, [alone] = network_of(A)
    receipt = publish(network, alone, A)
    assert (receipt.peers, receipt.links) == (0, 0)
    assert deliveries(network, alone) == [(A.group, b"!")]


def test_the_receipt_counts_the_copies_that_left() -> None:
    network, [_, one, *_] = network_of(ROOT, A, A, A)
    transcript = Transcript(network)
    receipt = publish(network, one, A)
    groups = [e.group for e in transcript.of(Event)]
    assert receipt.peers == groups.count(A.group) == 2
    assert receipt.links == groups.count(ROOT.group) == 1
    # It started at the time 0, and this is its first event.
    assert receipt.id == EventId(stream_id(one.me.peer, 0), 1)


def test_publishing_needs_a_local_group_and_a_payload_that_fits() -> None:
    network, [one] = network_of(A)
    with pytest.raises(KeyError):
        publish(network, one, B)
    with pytest.raises(wire.PayloadTooLargeError):
        publish(network, one, A, bytes(wire.PAYLOAD_BYTES_MAX + 1))
    assert publish(network, one, A).id.sequence == 1


# -- what arrives where it should not ------------------------------------------------------


def event_frame(topic: Topic, group: GroupId, sequence: int = 1, address: str = "") -> bytes:
    batch = batch_of(PeerId(b"p" * 16), sequence, topic)
    return frame_of(batch, group, stranger(5).peer, address)


def test_an_event_of_a_community_never_joined_is_a_parasite() -> None:
    network, [one] = network_of(A)
    network.inject(one.me.address, event_frame(B, B.group))
    assert one.counters.parasites == 1
    assert (one.counters.late, one.counters.events, one.counters.malformed) == (0, 0, 0)
    assert deliveries(network, one) == []


def test_an_event_after_leaving_is_late_and_dropped() -> None:
    network, [one, _] = network_of(A, A)
    network.leave(one, A)
    transcript = Transcript(network)
    network.inject(one.me.address, event_frame(A, A.group))
    assert (one.counters.late, one.counters.parasites) == (1, 0)
    assert deliveries(network, one) == []
    assert transcript.exchanges == []  # a fellow's copy carries no address to answer to
    join(network, one, A)
    network.run(5.0)
    network.inject(one.me.address, event_frame(A, A.group, sequence=2))
    assert deliveries(network, one) == [(A.group, b"!")]


def test_who_links_to_a_process_that_left_is_told_and_stops() -> None:
    network, [top, low] = network_of(ROOT, A)
    network.leave(top, ROOT)
    publish(network, low, A)
    network.run(0.6)
    (local_group,) = low.local_groups
    assert local_group.live_links() == 0
    publish(network, low, A)
    network.run(0.1)
    assert (top.counters.late, top.counters.parasites) == (1, 0)


def test_who_links_is_told_also_about_an_event_from_further_down() -> None:
    """The goodbye must name the linking community, not the one the event was published in."""
    network, [top, middle, low] = network_of(ROOT, A, AB)
    network.leave(top, ROOT)
    publish(network, low, AB)
    network.run(0.6)
    assert deliveries(network, middle) == [(A.group, b"!")]
    (local_group,) = middle.local_groups
    assert local_group.live_links() == 0


@pytest.mark.parametrize("address", ["tcp://*:1", "ipc:///etc/passwd", "\x00", "tcp://h:1;x"])
def test_a_late_event_with_a_wrong_address_gets_no_answer(address: str) -> None:
    network, [one] = network_of(A)
    network.leave(one, A)
    transcript = Transcript(network)
    network.inject(one.me.address, event_frame(A, A.group, address=address))
    assert one.counters.late == 1
    assert transcript.exchanges == []


def test_a_malformed_copy_does_not_poison_the_event() -> None:
    """An id is added to the seen only after the copy has proved good."""
    network, [one] = network_of(A)
    good = event_frame(A, A.group)
    bad = bytearray(good)
    bad[-5] = 2  # the length of its payload
    network.inject(one.me.address, bytes(bad))
    assert one.counters.malformed == 1
    network.inject(one.me.address, good)
    assert deliveries(network, one) == [(A.group, b"!")]


# -- malformed input -----------------------------------------------------------------------


def test_a_frame_cut_at_any_byte_is_counted_and_nothing_of_the_cut_record_happens() -> None:
    network, [one] = network_of(A)
    frame = event_frame(A, A.group)
    for length in range(len(frame)):
        before = one.counters.malformed
        one.receive(frame[:length], network.now)
        bare_header = length == len(FRAME_HEADER)  # a frame of no records is well formed
        assert one.counters.malformed == before + (not bare_header), length
    assert deliveries(network, one) == []


@pytest.mark.parametrize(
    "frame",
    [
        *(b"", b"C", b"CM\x02", b"CM\x02\x01", b"\x00" * 50, b"GET / HTTP/1.1\r\n\r\n"),
        FRAME_HEADER[:3] + b"\x01" + bytes(60),
        FRAME_HEADER + b"\xff" * 100,
        FRAME_HEADER + b"\0" * 100,
        FRAME_HEADER + b"\0\0\0\x10" + b"\x07" * 16,
    ],
)
def test_what_is_no_frame_of_this_version_is_counted_once(frame: bytes) -> None:
    network, [one] = network_of(A)
    network.inject(one.me.address, frame)
    assert one.counters.malformed == 1


def test_a_peer_of_another_version_is_counted_and_told_of_once_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    network, [one] = network_of(A)
    old_event = b"CM\x01\x00" + bytes(20) + b"E" * 16 + bytes(40)
    old_control = b"CM\x01\x00" + bytes(4) + b"\1" + bytes(11) + b"K" * 16
    for frame in (old_event, old_event, old_control, b"CM\x09\x00"):
        network.inject(one.me.address, frame)
    said = [record.message.partition(" of the wire format")[0] for record in caplog.records]
    assert said == [
        *("the peer 45454545 speaks version 1", "the peer 4b4b4b4b speaks version 1"),
        "a peer speaks version 9",
    ]
    network.run(61.0)
    network.inject(one.me.address, old_event)
    assert len(caplog.records) == 4
    assert (one.counters.other_versions, one.counters.malformed) == (5, 0)


class _Unknown(messages.Message, tag=99, frozen=True):
    field: int


def with_body(kind: Kind, body: bytes) -> bytes:
    sender = stranger(1)
    head = wire.control_head(kind, A.group, sender.peer, sender.address)
    return FRAME_HEADER + wire.encode_control(head, body)


@pytest.mark.parametrize("kind", [Kind.MEMBERSHIP, Kind.LINKS, Kind.DISCOVERY])
@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"\xc1", b"\x00", b"\x90", b"\x92\x01", b"\x80", b"\xa1.", b"\x92\x63\x91"),
        b"\x91" * 5_000,
        pytest.param(b"\xdd\xff\xff\xff\xff", id="an array of 2^32"),
    ],
)
def test_a_control_message_of_a_wrong_shape_is_malformed(kind: Kind, body: bytes) -> None:
    network, [one] = network_of(A)
    network.inject(one.me.address, with_body(kind, body))
    assert (one.counters.malformed, one.counters.records_unknown) == (1, 0)


@pytest.mark.parametrize("kind", [Kind.MEMBERSHIP, Kind.LINKS, Kind.DISCOVERY])
@pytest.mark.parametrize("body", [b"\x91\x63", b"\x92\xa3new\x80", messages.encode(_Unknown(1))])
def test_a_control_message_of_another_tag_is_unknown(kind: Kind, body: bytes) -> None:
    network, [one] = network_of(A)
    network.inject(one.me.address, with_body(kind, body))
    assert (one.counters.malformed, one.counters.records_unknown) == (0, 1)


def test_of_a_heartbeat_only_the_piece_of_an_unknown_tag_is_skipped() -> None:
    """The heartbeat is answered, and so is the other piece that it brings."""
    network, [one, other] = network_of(A, A)
    pieces = tuple((Kind.MEMBERSHIP, A.group, body) for body in (messages.encode(_Unknown(1)), b""))
    sent = liveness.Heartbeat(pieces)
    one.outbox.sends.clear()
    one.receive(control(Kind.LIVENESS, A, other.me, sent), network.now)
    assert (one.counters.malformed, one.counters.records_unknown) == (0, 1)
    (answer,) = (send for send in one.outbox.sends if other.me in send.contacts)
    body = wire.decode_control(answer.record, 0, len(answer.record)).body
    assert isinstance(liveness.DECODER.decode(body), liveness.Answer)


@pytest.mark.parametrize(
    "name", ["", "a", ".a..b", "." + "x" * 65, ".a" * 33, ".\n", "x" * 100_000]
)
def test_a_wrong_topic_in_a_message_is_malformed(name: str) -> None:
    network, [one] = network_of(A)
    for message in (
        *(links.Ping(name), links.NewProcess(name, 1), links.ReqContact(b"1" * 8, (name,), 3)),
        *(links.AnsContact(name, ()), links.SuperProcesses(name, (), pushed=True)),
    ):
        before = one.counters.malformed
        network.inject(one.me.address, control(Kind.LINKS, A, stranger(1), message))
        assert one.counters.malformed == before + 1


def test_two_cold_peers_of_one_address_come_back_as_one() -> None:
    """A process that crashed and restarted twice on its port left two identities behind."""
    network, [one, *_] = network_of(A, A, A, A)
    (local_group,) = one.local_groups
    for ghost in (stranger(1), stranger(2)):
        same_port = Contact(ghost.peer, "tcp://10.9.9.9:1")
        network.inject(
            one.me.address, control(Kind.MEMBERSHIP, A, same_port, said.Probe(b"", True))
        )
        network.run(9.0)  # held, silent, given up: cold
    back = Contact(stranger(2).peer, "tcp://10.9.9.9:1")
    network.inject(one.me.address, control(Kind.MEMBERSHIP, A, back, said.Kept()))
    assert local_group.membership.peers().get(back.peer) == back
    assert stranger(1).peer not in local_group.membership.peers()


# -- hostile numbers and floods ------------------------------------------------------------

HUGE, NEGATIVE = 2**63 - 1, -(2**63)
NAN, INFINITE = float("nan"), float("inf")
NOBODY = Contact(PeerId(b""), "tcp://10.0.0.1:1")
PLAIN: dict[Any, Any] = {int: 0, float: 1.0, bytes: b"", bool: False}


# A renewal is clamped to the view's cap, 3 (c+1) ln 64 = 38 copies, and a walk to 64 steps;
# the rest is what four processes say anyway.
WALKS_MAX = 38 * (64 + 2) + 200


def some(kind: type[messages.Message], **given: Any) -> messages.Message:
    """Make a message with these fields, and plain values for the others."""
    plain = {each.name: PLAIN[each.type] for each in msgspec.structs.fields(kind)}
    return kind(**{**plain, **given})


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        *((Kind.MEMBERSHIP, some(said.Subscribe, steps=n)) for n in (HUGE, NEGATIVE, -1, 0)),
        *((Kind.MEMBERSHIP, some(said.Copy, ttl=n)) for n in (HUGE, NEGATIVE, -1, 0)),
        *((Kind.MEMBERSHIP, some(said.Renew, copies=n)) for n in (HUGE, NEGATIVE, -1, 0)),
        *((Kind.MEMBERSHIP, some(said.Arc, weight=w)) for w in (NAN, INFINITE, -1.0, 0.0)),
        *((Kind.MEMBERSHIP, some(said.Arc, sponsored=n)) for n in (HUGE, NEGATIVE)),
        *((Kind.MEMBERSHIP, some(said.Arc, share=w)) for w in (NAN, INFINITE, -1.0, 0.0)),
        *((Kind.MEMBERSHIP, said.Replace(by)) for by in (stranger(3), NOBODY)),
        *((Kind.MEMBERSHIP, message) for message in (said.Kept(), said.Drop(left=True))),
        (Kind.MEMBERSHIP, said.Welcome(b"\xff" * 640)),
        *((Kind.LINKS, links.NewProcess(".a", n)) for n in (HUGE, NEGATIVE, -1, 0)),
        *((Kind.LINKS, links.ReqContact(b"1" * 8, (".q",) * 40, n)) for n in (HUGE, NEGATIVE)),
        *((Kind.DISCOVERY, gateway_messages.Ask(n, n, A.name)) for n in (HUGE, NEGATIVE, 0)),
        (Kind.DISCOVERY, gateway_messages.Members(HUGE, ())),
    ],
)  # fmt: skip
def test_hostile_numbers_from_a_member_are_clamped(kind: Kind, message: messages.Message) -> None:
    """A member may lie: nothing raises, in it or in the others, and few messages come of it."""
    network, [one, other, *_] = network_of(A, A, A, A)
    for walk in (HUGE, NEGATIVE, 0):
        if isinstance(message, said.Subscribe | said.Copy | said.Renew):
            message = msgspec.structs.replace(message, walk=walk)  # else it is a duplicate
        record = control(kind, A, other.me, message)
        sent_before = network.records
        one.receive(record, network.now)
        assert sum(len(send.contacts) for send in one.outbox.sends) <= 50
        network.do(one, lambda _node, _now: None)  # what it wishes for is carried out
        network.run(1.5)
        assert network.records - sent_before <= WALKS_MAX
    network.run(90.0)  # through renewals, which walk along the arcs' weights
    network.delivered.clear()
    publish(network, one, A)
    network.run(1.0)
    assert len(network.delivered) == 4


@pytest.mark.parametrize("wanted", [NEGATIVE, -3, -1, 0, 1, 3, 64, 65, HUGE])
def test_no_more_contacts_are_given_than_were_asked_for(wanted: int) -> None:
    network, [one, *_] = network_of(*[A] * 12)
    transcript = Transcript(network)
    network.inject(
        one.me.address, control(Kind.LINKS, A, stranger(1), links.NewProcess(".a", wanted))
    )
    ask = gateway_messages.Ask(1, wanted, A.name)
    network.inject(one.me.address, control(Kind.DISCOVERY, A, stranger(1), ask))
    answers = transcript.of(links.SuperProcesses, gateway_messages.Members)
    for exchange in answers:
        assert len(exchange.content.contacts) <= max(1, wanted)


def largest_containers(node: Node) -> dict[str, int]:
    """Walk all that a node owns; the size of its largest list, dictionary and byte string."""
    largest = {"list": 0, "dict": 0, "bytes": 0}
    todo: list[Any] = [node]
    known: set[int] = set()
    while todo:
        thing = todo.pop()
        if id(thing) in known or isinstance(thing, type | ModuleType | FunctionType):
            continue
        known.add(id(thing))
        for name, kind in (("list", list), ("dict", dict), ("bytes", bytes)):
            if isinstance(thing, kind):
                largest[name] = max(largest[name], len(thing))
        todo += gc.get_referents(thing)
    return largest


def of_a_stranger(kind: Kind, message: messages.Message, number: int) -> bytes:
    return control(kind, A, stranger(number), message)


Flood = Callable[[int], bytes]
SIXTY_FOUR = tuple(map(stranger, range(1, 65)))
FLOODS: dict[str, Flood] = {
    name: partial(of_a_stranger, kind, message)
    for name, kind, message in (
        *(("subscribe", Kind.MEMBERSHIP, some(said.Subscribe)),),
        *(("copy", Kind.MEMBERSHIP, some(said.Copy)),),
        *(("welcome", Kind.MEMBERSHIP, said.Welcome(b"")),),
        *(("kept", Kind.MEMBERSHIP, said.Kept()),),
        *(("arc", Kind.MEMBERSHIP, some(said.Arc)),),
        *(("heartbeat", Kind.LIVENESS, liveness.Heartbeat(((1, A.group, b""),) * 64)),),
        *(("answer", Kind.LIVENESS, liveness.Answer((), ((1, A.group),) * 64)),),
        *(("probe", Kind.MEMBERSHIP, said.Probe(b"", True)),),
        *(("renew", Kind.MEMBERSHIP, some(said.Renew, copies=3)),),
        *(("announce", Kind.DISCOVERY, gateway_messages.Announce(A.name)),),
        *(("renewal", Kind.DISCOVERY, gateway_messages.AnnounceAgain((A.name,))),),
        *(("ask", Kind.DISCOVERY, gateway_messages.Ask(1, 64, A.name)),),
        *(("push", Kind.LINKS, links.SuperProcesses(".", SIXTY_FOUR, pushed=True)),),
        *(("pong", Kind.LINKS, links.Pong(".")),),
    )
}
FLOODS["replace"] = lambda n: control(
    Kind.MEMBERSHIP, A, stranger(n), said.Replace(stranger(n + 1))
)
FLOODS["search"] = lambda n: control(
    Kind.LINKS, A, stranger(n), links.ReqContact(n.to_bytes(8, "big"), (".q",), 3)
)
FLOODS["new groups"] = lambda n: control(
    Kind.DISCOVERY, Topic((f"t{n}",)), stranger(n), gateway_messages.Announce(f".t{n}")
)

# Each process takes up to 16,384 groups as a gateway; otherwise no table needs more than 1,024.
ROOM = {"new groups": 16_384}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_invented_peers_leaves_every_table_bounded(name: str) -> None:
    """G5: memory is bounded whatever peers send."""
    network, [one, *_] = network_of(A, A, ROOT)
    room = ROOM.get(name, 1_024)
    for number in range(1, room + 1_000):
        one.receive(FLOODS[name](number), network.now)
        one.outbox.sends.clear()
    sizes = largest_containers(one)
    assert sizes["list"] <= room
    assert sizes["dict"] <= room
    network.run(20.0)  # the inventions never answer
    (local_group,) = one.local_groups
    assert len(local_group.membership.peers()) <= 2


def test_after_the_last_sequence_number_comes_a_new_stream() -> None:
    network, [one, two] = network_of(A, A)
    stream = publish(network, one, A, b"a").id.number
    (own,) = one._publisher._streams.values()
    own.next = SEQUENCE_MAX
    receipts = [publish(network, one, A, payload) for payload in (b"last", b"first")]
    network.run(1.0)
    assert [(receipt.id.number, receipt.id.sequence) for receipt in receipts] == [
        (stream, SEQUENCE_MAX),
        (stream + 1, 1),
    ]
    assert sorted(deliveries(network, two)) == [
        (A.group, b"a"),
        (A.group, b"first"),
        (A.group, b"last"),
    ]


def noted(node: Node) -> list[str]:
    """Return what a node has noted since the last time, of itself and of its table."""
    assert node.outbox.happenings is not None
    kinds: list[str] = [
        one.kind + ("!" if one.silent else "")
        for one in node.outbox.happenings
        if one.kind not in ("seek", "found", "searching", "gateway_answers")
    ]
    node.outbox.happenings.clear()
    return kinds


def test_a_node_notes_what_happens_to_it() -> None:
    """Joined by another, cut off, healed, left by the other, and leaving."""
    network = World(1)
    one, other = network.add(), None
    assert one.outbox.happenings is None  # until a driver wants them
    one.outbox.happenings = []
    join(network, one, A)
    network.run(1.0)
    assert noted(one) == ["joined"]
    other = network.add((one.me.address,))
    join(network, other, A)
    network.run(10.0)
    assert noted(one) == ["peer_seen"]
    network.cut(lambda source, target: False)
    network.run(6.0)
    assert noted(one) == ["isolated"]
    network.heal()
    network.run(6.0)
    assert noted(one) == ["healed"]
    network.cut(lambda source, target: False)
    network.run(120.0)
    assert noted(one) == ["isolated", "deafened", "peer_gone!"]  # found silent
    network.heal()
    network.run(60.0)
    assert noted(one) == ["peer_seen", "healed", "hears"]
    network.leave(other, A)
    network.run(5.0)
    assert noted(one) == ["peer_gone"]  # said goodbye
    network.leave(one, A)
    assert noted(one) == ["left"]


def test_a_node_notes_when_its_links_come_and_go() -> None:
    network = World(1)
    above = network.add()
    join(network, above, A)
    below = network.add((above.me.address,))
    below.outbox.happenings = []
    join(network, below, AB)
    network.run(20.0)
    assert noted(below) == ["joined", "linked"]
    network.leave(above, A)
    network.run(120.0)
    assert noted(below)[0] == "unlinked"


def test_a_node_notes_that_a_gateway_is_lost_and_back() -> None:
    network = World(1)
    gateway = network.add()
    node = network.add((gateway.me.address,))
    node.outbox.happenings = []
    network.kill(gateway)
    join(network, node, A)
    network.run(10.0)
    happenings = [one for one in node.outbox.happenings if one.kind not in ("seek", "found")]
    assert [one.kind for one in happenings][:2] == ["gateway_lost", "unanswered"]
    assert {one.addresses for one in happenings} == {(gateway.me.address,)}
    noted(node)
    network.restart(gateway)
    network.run(60.0)
    assert noted(node) == ["gateway_back", "joined"]


def test_a_newcomer_whose_gateway_is_silent_asks_as_often_as_it_announces_itself() -> None:
    """So one that loses a few answers is not kept out for long."""
    network = World(1)
    gateway = network.add()
    network.kill(gateway)
    node = network.add((gateway.me.address,))
    node.outbox.happenings = []
    join(network, node, A)
    searches = []
    for second in range(300):
        network.run(1.0)
        searches += [second for one in noted(node) if one == "unanswered"]
    pauses = [after - before for before, after in pairwise(searches)]
    longest = RENEW_SECONDS + TIMEOUT_SECONDS
    assert max(pauses) == longest
    assert len(searches) > 300 / longest


def test_who_was_taken_in_before_its_search_was_answered_joins_once() -> None:
    """A second joining would run a second chain of timers beside the first."""
    network = World(1, membership="dht")
    member = network.join(A)
    gateways = {ROOT: (stranger(1).address,)}
    searching = evolve(network.settings, discovery=find_discovery("gateways"), gateways=gateways)
    node = network.start(searching)
    join(network, node, A)
    network.inject(node.me.address, control(Kind.MEMBERSHIP, A, member.me, Greeting()))
    (local_group,) = node.local_groups
    assert local_group.joined
    node.contacts_found(Finding(A, (member.me,), size=2.0), network.now)
    assert [one for one in node.outbox.wakes if one.token.kind is Kind.MEMBERSHIP] == []


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (Kind.MEMBERSHIP, said.Kept()),
        (Kind.PROTOCOL, said.Kept()),  # of whatever protocol: nobody decodes it
        (Kind.REPAIR, repair.Want(b"", 1.0, "", ())),
        (Kind.LINKS, links.Pong(B.name)),
    ],
)
def test_a_control_for_a_part_that_is_not_there_is_counted_and_draws_nothing(
    kind: Kind, message: messages.Message
) -> None:
    network = World(1)
    node = network.join(A)
    node.outbox.sends.clear()
    node.receive(control(kind, B, stranger(1), message), network.now)
    assert (node.counters.stray_controls, node.outbox.sends) == (1, [])


# -- other memberships and protocols -------------------------------------------------------


MEMBERSHIPS = ["scamp", "cyclon", "hyparview", "dht", "hybrid"]


@pytest.mark.parametrize(("ours", "theirs"), [*permutations(MEMBERSHIPS, 2)])
def test_of_two_memberships_in_one_community_both_name_both_and_none_is_half_in(
    ours: str, theirs: str
) -> None:
    """Tags are small numbers, which mean other things in each membership."""
    world = World()
    first = world.add(backend=ours)
    join(world, first, A)
    world.run(5.0)
    other = world.add((first.me.address,), backend=theirs)
    join(world, other, A)
    world.run(10.0)
    for node, mine, another in ((first, ours, theirs), (other, theirs, ours)):
        says = f"protocol {another!r} and 'camcast', and this process {mine!r}"
        found = [*node.misfits.lately(world.now)]
        assert found
        assert all(says in one for one in found)
        (local_group,) = node.local_groups
        assert not [*local_group.membership.peers()]
        assert node.counters.malformed == node.counters.records_unknown == 0
    publish(world, first, A)
    world.run(2.0)
    assert deliveries(world, other) == []


def test_frames_do_not_pass_between_two_systems_and_both_name_both() -> None:
    world = World()
    first = world.add()
    join(world, first, A)
    other = world.start(evolve(world.settings, system="two"))
    join(world, other, A)
    knows = Finding(A, (first.me,))
    world.do(other, lambda node, now: node.contacts_found(knows, now))
    world.run(5.0)
    for node, ours, theirs in ((first, "", "two"), (other, "two", "")):
        (says,) = node.misfits.lately(world.now)
        assert f"it is of the system {theirs!r}, and this process of the system {ours!r}" in says
        assert node.counters.controls == 0


@pytest.mark.parametrize("seed", range(4))
def test_choices_of_one_byte_at_a_sender_are_two_at_another(seed: int) -> None:
    """A byte alone would let two plugs meet by half at every process that has them."""
    ours, sender = Choice("scamp", "camcast"), stranger(seed).peer
    alike = next(
        choice
        for number in range(10_000)
        if (choice := Choice(f"plug{number}", "camcast")).byte(sender) == ours.byte(sender)
    )
    others = [stranger(100 + number).peer for number in range(64)]
    # 64 pairs of bytes: with probability 1 - 1e-3, three are equal at most (binomial, 1/255)
    assert sum(alike.byte(one) == ours.byte(one) for one in others) <= 3


def test_who_has_said_another_choice_is_no_member_though_its_byte_is_ours() -> None:
    """For so long as it would take to say it again; one choice in 255 has our byte at a sender."""
    network, [one] = network_of(A)
    sender, now = stranger(1), network.now
    assert one.outbox.choice is not None
    byte = one.outbox.choice.byte(sender.peer)

    def strays(kind: Kind, body: bytes, when: float, choice: int = 0) -> int:
        before = one.counters.stray_controls
        head = wire.control_head(kind, A.group, sender.peer, sender.address, choice=choice)
        one.receive(FRAME_HEADER + wire.encode_control(head, body), when)
        return one.counters.stray_controls - before

    other = messages.encode(links.OtherChoice("plug", "camcast", ""))
    left = messages.encode(said.Drop(left=True))
    assert strays(Kind.MEMBERSHIP, left, now, byte) == 0
    assert strays(Kind.LINKS, other, now) == 0
    assert strays(Kind.MEMBERSHIP, left, now + 0.99 * DIFFERS_SECONDS, byte) == 1
    assert strays(Kind.MEMBERSHIP, left, now + DIFFERS_SECONDS, byte) == 0


def test_a_process_of_the_same_choice_or_of_a_release_that_says_none_is_no_misfit() -> None:
    network, [one, other] = network_of(A, A)
    assert not [*one.misfits.lately(network.now), *other.misfits.lately(network.now)]
    stray = one.counters.stray_controls
    one.receive(with_body(Kind.MEMBERSHIP, messages.encode(_Unknown(1))), network.now)
    assert (one.counters.stray_controls, one.counters.records_unknown) == (stray, 1)


def test_a_flood_of_other_choices_has_few_answers() -> None:
    """An answer may go to whom a stranger names."""
    network, [one] = network_of(A)
    one.outbox.sends.clear()
    for number in range(1_000):
        sender = stranger(number)
        assert one.outbox.choice is not None
        choice = one.outbox.choice.byte(sender.peer) % 255 + 1
        head = wire.control_head(
            Kind.MEMBERSHIP, A.group, sender.peer, sender.address, choice=choice
        )
        one.receive(FRAME_HEADER + wire.encode_control(head, b""), network.now)
    assert len(one.outbox.sends) == CHOICES_A_SECOND
    assert one.counters.malformed == 0


@pytest.mark.slow
def test_a_fleet_half_of_which_sends_unknown_records_for_a_minute_is_as_without_them() -> None:
    """Each of that half sends its peers a record of an unknown kind once a second."""
    outcomes = []
    for later in (False, True):
        network, nodes = network_of(*[A] * 40)
        unknown = wire.encode_control(b"\x2a" + bytes(3) + A.group + nodes[0].me.peer, b"new")
        for second in range(60):
            for node in nodes[::2] if later else ():
                (local_group,) = node.local_groups
                for peer in local_group.membership.peers():
                    network.inject(peer.address, FRAME_HEADER + unknown)
            publish(network, nodes[second % 40], A)
            network.run(1.0)
        skipped = sum(node.counters.records_unknown for node in nodes)
        assert (skipped > 60 * 20) is later
        assert not any(node.counters.malformed for node in nodes)
        peers = [[*group.membership.peers()] for node in nodes for group in node.local_groups]
        outcomes.append((network.delivered, peers, [repr(node.counters) for node in nodes]))
    without, with_them = outcomes
    got = [[(d.group, d.event) for _, d in delivered] for delivered in (without[0], with_them[0])]
    assert got[0] == got[1]
    assert without[1:] == with_them[1:]
