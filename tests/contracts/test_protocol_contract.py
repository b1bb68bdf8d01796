"""What every installed protocol promises, driven by real nodes in the virtual network.

``--protocol=multicast,percolation`` runs these contracts only. A few tens of processes with an
effort at which every event reaches everybody (`tests.protocol_fleet.CERTAIN`); what each reaches
with less is for tests/laws.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sized
from random import Random
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from plug_options import chosen

from camcast.doors.options import OptionError
from camcast.doors.plugs import PROTOCOL_GROUP, UnknownPlugError, find_protocol, installed
from camcast.engine.node import Node
from camcast.protocols.hpmcast.spread import Herald
from camcast.protocols.percolation import Subscriptions
from camcast.scenarios.virtual import Crashes, Links, VirtualScenario
from camcast.scenarios.workload import Workload
from camcast.simulation.scenario_run import run_scenario
from camcast.vocabulary import messages, wire
from camcast.vocabulary.events import Event, EventId
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.protocol_fleet import AB, A, Fleet, X

INTERESTS = (ROOT,) * 2 + (A,) * 4 + (AB,) * 6 + (X,) * 4
PUBLISHERS = (0, 3, 8, 14)  # one for each topic
ENTRIES_MAX = 8192  # the largest bound of a protocol: hpmcast's memory of events
STRANGER = Contact(PeerId(b"s" * 16), "tcp://10.9.9.9:1")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "protocol" in metafunc.fixturenames:
        metafunc.parametrize(
            "protocol", chosen(metafunc.config, "--protocol") or installed(PROTOCOL_GROUP)
        )


def fleet(protocol: str, interests: tuple[Topic, ...] = INTERESTS, **given: Any) -> Fleet:
    return Fleet(protocol, interests, **given)


# -- who gets what ----------------------------------------------------------------------------


def test_whoever_is_interested_gets_every_event_once(protocol: str) -> None:
    group = fleet(protocol)
    published = [(INTERESTS[at], b"%d" % number) for number, at in enumerate(PUBLISHERS)]
    for number, at in enumerate(PUBLISHERS):
        group.publish(group.nodes[at], INTERESTS[at], b"%d" % number)
    for node, mine in zip(group.nodes, INTERESTS, strict=True):
        wanted = {(mine, payload) for topic, payload in published if mine.includes(topic)}
        assert group.delivered(node) == Counter(wanted)


def test_only_parasitic_protocols_have_parasites(protocol: str) -> None:
    """pmcast's are of an interest that has ended, which the others have not heard of yet."""
    group = fleet(protocol)
    for at in PUBLISHERS[:-1]:
        group.publish(group.nodes[at], INTERESTS[at])
    changing = group.join(A, X)
    group.net.run(10.0)
    group.leave(changing, X)
    group.publish(group.nodes[14], X)
    assert (group.parasites > 0) == find_protocol(protocol).parasitic
    assert not group.delivered(changing)[X, b"!"]


def test_a_publisher_is_given_its_own_event_at_once(protocol: str) -> None:
    group = fleet(protocol, (AB,) * 3)
    group.publish(group.nodes[1], AB, seconds=0.0)
    assert group.delivered(group.nodes[1]) == Counter([(AB, b"!")])


def test_a_publisher_sends_at_once_and_says_to_how_many(protocol: str) -> None:
    group = fleet(protocol, (A,) * 6)
    publisher = group.nodes[2]
    receipt = group.net.do(publisher, lambda node, now: node.publish(A, b"!", now))
    assert receipt.peers == publisher.counters.event_copies_sent > 0


def test_alone_one_publishes_to_oneself(protocol: str) -> None:
    group = fleet(protocol, (A,))
    [alone] = group.nodes
    receipt = group.net.do(alone, lambda node, now: node.publish(A, b"!", now))
    group.net.run(5.0)
    assert (receipt.peers, receipt.links) == (0, 0)
    assert group.delivered(alone) == Counter([(A, b"!")])


def test_who_has_left_is_given_nothing_more(protocol: str) -> None:
    group = fleet(protocol)
    leaver = group.nodes[7]
    group.publish(group.nodes[8], AB, b"before")
    group.leave(leaver, AB)
    group.publish(group.nodes[8], AB, b"after")
    group.net.run(10.0)
    group.publish(group.nodes[8], AB, b"later")
    assert group.delivered(leaver) == Counter([(AB, b"before")])
    remaining = [n for n, t in zip(group.nodes, INTERESTS, strict=True) if t.includes(AB)]
    remaining.remove(leaver)
    for node in remaining:
        assert {payload for _, payload in group.delivered(node)} == {b"before", b"after", b"later"}
    with pytest.raises(KeyError):
        leaver.publish(AB, b"", group.net.now)


def test_who_returns_to_a_topic_is_given_its_events_again(protocol: str) -> None:
    group = fleet(protocol, (AB,) * 6)
    returning = group.nodes[3]
    group.leave(returning, AB)
    group.publish(group.nodes[1], AB, b"missed")
    group.net.run(5.0)
    group.net.do(returning, lambda node, now: node.join(AB, now))
    group.net.run(15.0)
    group.publish(group.nodes[1], AB, b"seen")
    assert group.delivered(returning) == Counter([(AB, b"seen")])


@pytest.mark.parametrize("order", [(A, AB, X), (X, AB, A), (AB, ROOT)])
def test_several_topics_in_one_process_deliver_once_a_subscription(
    protocol: str, order: tuple[Topic, ...]
) -> None:
    group = fleet(protocol, (ROOT, A, A, AB, AB, X, X))
    several = group.join(*order)
    group.net.run(15.0)
    for at in (2, 4, 6):
        group.publish(group.nodes[at], INTERESTS_OF_SEVEN[at])
    expected = [t for published in (A, AB, X) for t in order if t.includes(published)]
    assert group.delivered(several) == Counter((topic, b"!") for topic in expected)


INTERESTS_OF_SEVEN = (ROOT, A, A, AB, AB, X, X)


def test_one_subscription_ends_and_the_other_goes_on(protocol: str) -> None:
    group = fleet(protocol, INTERESTS_OF_SEVEN)
    both = group.join(A, AB)
    group.net.run(15.0)
    group.leave(both, A)
    group.publish(group.nodes[4], AB, b"ab")
    group.publish(group.nodes[2], A, b"a")
    assert group.delivered(both) == Counter([(AB, b"ab")])


def test_a_late_joiner_gets_what_comes_then(protocol: str) -> None:
    group = fleet(protocol)
    group.publish(group.nodes[8], AB, b"before")
    late = group.join(A)
    group.net.run(15.0)
    group.publish(group.nodes[8], AB, b"after")
    assert group.delivered(late) == Counter([(A, b"after")])
    group.publish(late, A, b"its own")
    assert group.delivered(group.nodes[0])[ROOT, b"its own"] == 1


def test_nobody_gets_an_event_twice_whatever_the_links_do(protocol: str) -> None:
    """The invariants of a virtual run raise if anybody does; a tenth of the copies is doubled,
    and some arrive late."""
    scenario = attrs.evolve(rough(protocol), links=Links(duplication=0.1, reordering=0.1))
    assert run_scenario(scenario).summary.deliveries > 0


# -- replays -------------------------------------------------------------------------------------


def rough(protocol: str) -> VirtualScenario:
    return VirtualScenario(
        communities={ROOT: 2, A: 4, AB: 8},
        protocol=protocol,
        settle_seconds=3.0,
        duration_seconds=6.0,
        links=Links(latency="lognormal", loss=0.05),
        workload=Workload(topic=AB, events=8, rate=2.0),
        crashes=(Crashes(at_seconds=2.0, share=0.2, restart_seconds=2.0),),
    )


def test_a_run_is_repeated_to_the_last_copy(protocol: str) -> None:
    scenario = rough(protocol)
    one, two = run_scenario(scenario), run_scenario(scenario)
    assert one == two
    assert run_scenario(attrs.evolve(scenario, seed=2)).digest != one.digest


# -- bounds --------------------------------------------------------------------------------------


def containers(thing: object, depth: int = 3) -> Iterator[Sized]:
    """Yield the containers that an object keeps, itself or in objects of its own module."""
    for value in getattr(thing, "__dict__", {}).values():
        if isinstance(value, dict | list | set):
            yield value
            inner = value.values() if isinstance(value, dict) else value
            yield from (one for one in inner if isinstance(one, dict | list | set))
        elif depth and type(value).__module__.startswith("camcast.protocols."):
            yield from containers(value, depth - 1)


def lone(protocol: str) -> tuple[Node, Any]:
    """Return a process of one group, and what spreads its events."""
    group = fleet(protocol, (A,))
    [node] = group.nodes
    home = node.participation(A)
    assert home is not None
    return node, home


def event_frame(home: Any, number: int, topic: Topic, hops: int = 1) -> bytes:
    publisher = PeerId(number.to_bytes(16, "big"))
    event = Event(EventId(publisher, 1, 1), topic, b"")
    return FRAME_HEADER + wire.encode_event(event, hops, home.topic.group, STRANGER.peer)


def message_frame(home: Any, message: messages.Message, number: int = 0) -> bytes:
    sender = PeerId((number + 1).to_bytes(16, "big"))
    head = wire.control_head(Kind.PROTOCOL, home.topic.group, sender, STRANGER.address)
    return FRAME_HEADER + wire.encode_control(head, messages.encode(message))


def wake(node: Node) -> None:
    """Let the protocol's timers go off, and drop what is then sent."""
    wakes, node.outbox.wakes = node.outbox.wakes, []
    for _, token in wakes:
        if token.kind is Kind.PROTOCOL:
            node.wake(token, 31.0)
    node.outbox.sends.clear()


def test_what_strangers_send_fills_no_memory(protocol: str) -> None:
    """Events of ever other publishers and topics, and messages of ever other senders."""
    node, home = lone(protocol)
    for number in range(10_000):
        node.receive(event_frame(home, number, Topic((f"t{number}",))), 30.0)
        for message in (Subscriptions((".a",)), herald(sequence=number)):
            node.receive(message_frame(home, message, number), 30.0)
        if number % 2_500 == 2_499:
            wake(node)
        node.outbox.deliveries.clear()
    assert node.counters.events + node.counters.parasites == 10_000
    for thing in containers(home.dissemination):
        assert len(thing) <= ENTRIES_MAX


def test_after_an_event_only_upkeep_is_left(protocol: str) -> None:
    """Nothing goes on for an event that has been spread: with as many processes, as much is sent
    in a minute as before it."""
    group = fleet(protocol, (A,) * 6)
    group.net.run(60.0)
    copies = sum(node.counters.event_copies_sent for node in group.nodes)
    group.publish(group.nodes[0], A, seconds=10.0)
    spread = sum(node.counters.event_copies_sent for node in group.nodes)
    group.net.run(60.0)
    assert copies == 0 < spread
    assert sum(node.counters.event_copies_sent for node in group.nodes) == spread


# -- bad input -----------------------------------------------------------------------------------


def herald(**changed: Any) -> Herald:
    usual: dict[str, Any] = {"publisher": PeerId(bytes(16)), "epoch": 1, "sequence": 1}
    return Herald(**(usual | {"share": 0.5, "rounds": 1, "level": 1} | changed))


WRONG = [
    Subscriptions(("no topic",)),
    Subscriptions((".a..b",) * 2000),
    Subscriptions((".a" * 500,)),
    herald(share=float("nan")),
    herald(share=-1.0),
    herald(share=1e308),
    herald(rounds=-1),
    herald(rounds=2**62),
    herald(level=0),
    herald(level=2**40),
    herald(publisher=b""),
    herald(sequence=-1),
]


@pytest.mark.parametrize("message", WRONG, ids=repr)
def test_a_wrong_message_is_counted_and_does_no_harm(
    protocol: str, message: messages.Message
) -> None:
    group = fleet(protocol, (A,) * 3, settle_seconds=5.0)
    target = group.nodes[1]
    home = target.participation(A)
    counters = target.counters
    before = counters.controls
    group.net.inject(target.me.address, message_frame(home, message))
    assert counters.controls == before + 1
    group.net.run(3.0)
    group.publish(group.nodes[0], A)
    assert group.delivered(target) == Counter([(A, b"!")])


def test_a_message_that_is_none_of_its_own_is_counted(protocol: str) -> None:
    node, home = lone(protocol)
    body = messages.encode(Subscriptions(("no topic",)))
    for content in (body[:-3], b"", b"\xc1", b"\x93\x01\x02\x03", Random(1).randbytes(50)):
        before = node.counters.malformed + node.counters.stray_controls
        head = wire.control_head(Kind.PROTOCOL, home.topic.group, STRANGER.peer, STRANGER.address)
        node.receive(FRAME_HEADER + wire.encode_control(head, content), 30.0)
        assert node.counters.malformed + node.counters.stray_controls == before + 1


def test_records_of_unknown_groups_are_counted(protocol: str) -> None:
    node, _ = lone(protocol)
    unknown = Topic.parse(".unknown").group
    head = wire.control_head(Kind.PROTOCOL, unknown, STRANGER.peer, STRANGER.address)
    node.receive(FRAME_HEADER + wire.encode_control(head, b""), 30.0)
    event = Event(EventId(STRANGER.peer, 1, 1), A, b"")
    node.receive(FRAME_HEADER + wire.encode_event(event, 1, unknown, STRANGER.peer), 30.0)
    assert node.counters.stray_controls == 1
    assert node.counters.parasites == 1
    assert not node.outbox.deliveries


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_garbage_raises_nothing(protocol: str, data: st.DataObject) -> None:
    """Bytes at random, and good records that were changed in a few places."""
    node, home = LONE.setdefault(protocol, lone(protocol))
    frame = data.draw(
        st.one_of(
            st.binary(max_size=200).map(FRAME_HEADER.__add__),
            st.sampled_from(
                [
                    event_frame(home, 1, A),
                    event_frame(home, 2, AB, hops=wire.HOPS_MAX),
                    message_frame(home, Subscriptions((".a",))),
                    message_frame(home, herald()),
                ]
            ),
        )
    )
    changed = bytearray(frame)
    for _ in range(data.draw(st.integers(0, 4))):
        changed[data.draw(st.integers(4, max(4, len(frame) - 1))) % len(frame)] = data.draw(
            st.integers(0, 255)
        )
    counters = node.counters
    before = attrs.astuple(counters)
    node.receive(bytes(changed[: data.draw(st.integers(0, len(changed)))]), 30.0)
    if len(changed) > len(FRAME_HEADER):
        assert attrs.astuple(counters) >= before
    wake(node)


LONE: dict[str, tuple[Node, Any]] = {}


# -- names and options -------------------------------------------------------------------------


def fields(protocol: str) -> tuple[attrs.Attribute[Any], ...]:
    """Return the options of a protocol."""
    options: Any = type(find_protocol(protocol))  # an attrs class, each of them
    found: tuple[attrs.Attribute[Any], ...] = attrs.fields(options)
    return found


def test_an_unknown_protocol_lists_those_that_there_are() -> None:
    with pytest.raises(UnknownPlugError) as error:
        find_protocol("carrier-pigeon")
    assert str(error.value) == (
        "unknown protocol 'carrier-pigeon'; installed: broadcast, camcast, hierarchical, hpmcast,"
        " multicast, percolation, pmcast, rfpbcast"
    )


def test_an_unknown_option_lists_those_that_there_are(protocol: str) -> None:
    with pytest.raises(OptionError) as error:
        find_protocol(protocol, {"colour": 1})
    known = ", ".join(field.name for field in fields(protocol)) or "none"
    assert str(error.value) == f"protocol {protocol!r} has no option 'colour'; it has: {known}"


def test_a_wrong_value_names_the_option(protocol: str) -> None:
    for field in fields(protocol):
        for value in ("much", True, -1):
            with pytest.raises(OptionError, match=field.name) as error:
                find_protocol(protocol, {field.name: value})
            assert repr(protocol) in str(error.value)


def test_options_have_their_defaults_as_text_as_well(protocol: str) -> None:
    default = find_protocol(protocol)
    texts = {field.name: str(field.default) for field in fields(protocol)}
    assert find_protocol(protocol, texts) == default


def test_a_protocol_names_its_source(protocol: str) -> None:
    chosen_one = find_protocol(protocol)
    assert chosen_one.name == protocol
    assert chosen_one.source[:3] in ("000", "002", "003")


def test_the_home_is_the_first_group_and_its_size_what_the_interests_say(protocol: str) -> None:
    """Of all but hierarchical, whose clusters are drawn: who is in the home of `.a`."""
    sizes = {ROOT: 3, A: 6, AB: 8, X: 7}
    found = find_protocol(protocol)
    rng = Random(1)
    peers = {PeerId(rng.randbytes(16)): topic for topic, n in sizes.items() for _ in range(n * 50)}
    me = PeerId(bytes(16))
    home = found.groups(A, tuple(sizes), me)[0]
    members = sum(
        any(group.topic == home.topic for group in found.groups(topic, tuple(sizes), peer))
        for peer, topic in peers.items()
    )
    assert members == pytest.approx(50 * found.home_size(A, sizes), rel=0.15)
    assert not home.transit
