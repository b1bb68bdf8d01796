"""The contract of every protocol; a test class inherits `ProtocolContract`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from camcast.doors.contained import plug_of
from camcast.doors.options import OptionError
from camcast.doors.plugs import find_protocol
from camcast.doors.protocol import Protocol
from camcast.engine.node import Node
from camcast.testing.garbage import GARBAGE
from camcast.testing.membership_contract import variants
from camcast.testing.pressed_membership_contract import STRANGER
from camcast.testing.replay import digests
from camcast.testing.world import World
from camcast.vocabulary import wire
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind

A, AB, X = (Topic.parse(name) for name in (".a", ".a.b", ".x"))
TOPICS: Final = (ROOT, A, AB, X)
INTERESTS: Final = (ROOT,) * 2 + (A,) * 4 + (AB,) * 6 + (X,) * 4
PUBLISHERS: Final = (0, 3, 8, 14)  # the number of a process for each topic
SEVEN: Final = (ROOT, A, A, AB, AB, X, X)

# With these an event reaches all of a few tens of processes: each sends to all in its table, and
# each is a link that sends to all in its super-topic table.
CERTAIN: Final = CommunitySettings(
    c=8, p_sel=1.0, a=3.0, z=3, search_seconds=0.2, check_seconds=1.0
)
ENTRIES_MAX: Final = 8192  # chosen: the largest bound among our protocols, hpmcast's for events


class ProtocolContract:
    """The contract of every protocol.

    A test class inherits it and names its plug: ``protocol = "lighthouse"``. The worlds have a
    few tens of processes and an effort at which every event reaches everybody.
    """

    protocol: str
    """The name of the entry point in ``camcast.protocols``."""
    options: Mapping[str, object] = {}  # a subclass replaces it, nobody writes
    """Options with which every event reaches everybody of a few tens of processes."""
    membership: str = "scamp"

    def world(self, interests: Iterable[Topic] = INTERESTS, settle_seconds: float = 12.0) -> World:
        """Return a settled world of processes with these interests, one each."""
        world = World(
            membership=self.membership,
            protocol=self.protocol,
            protocol_options=self.options,
            parameters=CERTAIN,
            topics=TOPICS,
        )
        for topic in interests:
            world.join(topic)
        world.run(settle_seconds)
        return world

    @property
    def found(self) -> Protocol:
        """The protocol with its default options."""
        return find_protocol(self.protocol)

    @property
    def fields(self) -> Mapping[str, Any]:
        """The options, by name: the fields of an attrs class."""
        kind: Any = type(self.found)
        return attrs.fields_dict(kind)

    # -- deliveries ----------------------------------------------------------------------------

    def test_whoever_is_interested_gets_every_event_once(self) -> None:
        world = self.world()
        published = [(INTERESTS[at], b"%d" % number) for number, at in enumerate(PUBLISHERS)]
        for number, at in enumerate(PUBLISHERS):
            world.publish(world.nodes[at], INTERESTS[at], b"%d" % number)
        for node, mine in zip(world.nodes, INTERESTS, strict=True):
            wanted = {(mine, payload) for topic, payload in published if mine.includes(topic)}
            assert world.delivered_to(node) == Counter(wanted)

    def test_only_parasitic_protocols_have_parasites(self) -> None:
        """Parasites also come of an interest that has ended, before other processes know it."""
        world = self.world()
        for at in PUBLISHERS[:-1]:
            world.publish(world.nodes[at], INTERESTS[at])
        changing = world.join(A, X)
        world.run(10.0)
        world.leave(changing, X)
        world.publish(world.nodes[14], X)
        assert (world.parasites > 0) == self.found.parasitic
        assert not world.delivered_to(changing)[X, b"!"]

    def test_a_publisher_is_given_its_own_event_at_once(self) -> None:
        world = self.world((AB,) * 3)
        world.publish(world.nodes[1], AB, seconds=0.0)
        assert world.delivered_to(world.nodes[1]) == Counter([(AB, b"!")])

    def test_a_publisher_says_to_how_many_it_sends_at_once_or_that_it_sends_later(self) -> None:
        world = self.world((A,) * 6)
        publisher = world.nodes[2]
        receipt = world.do(publisher, lambda node, now: node.publish(A, b"!", now))
        sent = publisher.counters.event_copies_sent
        assert receipt.peers == sent
        assert sent > 0 or receipt.later
        world.run(10.0)
        assert publisher.counters.event_copies_sent > 0

    def test_alone_one_publishes_to_oneself(self) -> None:
        world = self.world((A,))
        [alone] = world.nodes
        receipt = world.do(alone, lambda node, now: node.publish(A, b"!", now))
        world.run(5.0)
        assert (receipt.peers, receipt.links) == (0, 0)
        assert world.delivered_to(alone) == Counter([(A, b"!")])

    def test_who_has_left_is_given_nothing_more(self) -> None:
        world = self.world()
        leaver = world.nodes[7]
        world.publish(world.nodes[8], AB, b"before")
        world.leave(leaver, AB)
        world.publish(world.nodes[8], AB, b"after")
        world.run(10.0)
        world.publish(world.nodes[8], AB, b"later")
        assert world.delivered_to(leaver) == Counter([(AB, b"before")])
        remaining = [n for n, t in zip(world.nodes, INTERESTS, strict=True) if t.includes(AB)]
        remaining.remove(leaver)
        for node in remaining:
            payloads = [payload for _, payload in world.delivered_to(node)]
            assert sorted(payloads) == [b"after", b"before", b"later"]

    def test_what_is_published_just_before_leaving_is_not_lost(self) -> None:
        world = self.world((AB,) * 6)
        leaver = world.nodes[3]
        world.publish(leaver, AB, b"last", seconds=0.0)
        world.leave(leaver, AB)
        world.run(10.0)
        for node in world.nodes:
            assert world.delivered_to(node) == Counter([(AB, b"last")])

    def test_leaving_hands_on_at_most_one_copy_of_an_event(self) -> None:
        """All have it already."""
        world = self.world((AB,) * 6)
        world.publish(world.nodes[1], AB, seconds=5.0)
        counters = world.nodes[3].counters
        before = counters.event_copies_sent
        world.do(world.nodes[3], lambda node, now: node.leave(AB, now))
        assert counters.event_copies_sent <= before + 1

    def test_who_returns_to_a_topic_is_given_its_events_again(self) -> None:
        world = self.world((AB,) * 6)
        returning = world.nodes[3]
        world.leave(returning, AB)
        world.publish(world.nodes[1], AB, b"missed")
        world.run(5.0)
        world.do(returning, lambda node, now: node.join(AB, now))
        world.run(15.0)
        world.publish(world.nodes[1], AB, b"seen")
        assert world.delivered_to(returning) == Counter([(AB, b"seen")])

    def test_several_topics_in_one_process_deliver_once_a_subscription(self) -> None:
        for order in ((A, AB, X), (X, AB, A), (AB, ROOT)):
            world = self.world(SEVEN)
            several = world.join(*order)
            world.run(15.0)
            for at in (2, 4, 6):
                world.publish(world.nodes[at], SEVEN[at])
            expected = [t for published in (A, AB, X) for t in order if t.includes(published)]
            assert world.delivered_to(several) == Counter((topic, b"!") for topic in expected)

    def test_one_subscription_ends_and_the_other_goes_on(self) -> None:
        world = self.world(SEVEN)
        both = world.join(A, AB)
        world.run(15.0)
        world.leave(both, A)
        world.publish(world.nodes[4], AB, b"ab")
        world.publish(world.nodes[2], A, b"a")
        assert world.delivered_to(both) == Counter([(AB, b"ab")])

    def test_a_late_joiner_gets_what_comes_then(self) -> None:
        world = self.world()
        world.publish(world.nodes[8], AB, b"before")
        late = world.join(A)
        world.run(15.0)
        world.publish(world.nodes[8], AB, b"after")
        assert world.delivered_to(late) == Counter([(A, b"after")])
        world.publish(late, A, b"its own")
        assert world.delivered_to(world.nodes[0])[ROOT, b"its own"] == 1

    def test_after_an_event_only_upkeep_is_left(self) -> None:
        """Nothing more is sent for an event that has been spread."""
        world = self.world((A,) * 6)
        world.run(60.0)
        copies = sum(node.counters.event_copies_sent for node in world.nodes)
        world.publish(world.nodes[0], A, seconds=10.0)
        spread = sum(node.counters.event_copies_sent for node in world.nodes)
        world.run(60.0)
        assert copies == 0 < spread
        assert sum(node.counters.event_copies_sent for node in world.nodes) == spread

    def test_it_replays_to_the_byte_under_any_hash_seed(self) -> None:
        """Two processes run the same world, each with a hash seed of its own, and later."""
        first, second = digests("protocol", self.protocol, self.options)
        assert first == second

    # -- names and options ---------------------------------------------------------------------

    def test_it_is_named_as_its_entry_point_and_names_its_source(self) -> None:
        assert self.found.name == self.protocol
        assert self.found.source

    def test_options_are_refused_by_name(self) -> None:
        known = ", ".join(self.fields) or "none"
        wanted = f"protocol {self.protocol!r} has no option 'colour'; it has: {known}"
        assert refusal(self.protocol, {"colour": 1}) == wanted
        for name in self.fields:
            for value in ("much", True, -1):
                message = refusal(self.protocol, {name: value})
                assert name in message
                assert repr(self.protocol) in message

    def test_options_have_their_defaults_as_text_as_well(self) -> None:
        texts = {name: str(f.default) for name, f in self.fields.items()}
        assert find_protocol(self.protocol, texts) == self.found

    def test_the_home_is_no_group_of_transit(self) -> None:
        home = self.found.groups(A, (ROOT, A, AB, X), PeerId(bytes(16)))[0]
        assert not home.transit

    # -- inputs of any kind --------------------------------------------------------------------

    def test_what_strangers_send_fills_no_memory(self) -> None:
        """Each event has a new publisher and topic, and each message a new sender.

        The messages come first: an answer to one would hold all events.
        """
        bodies = self._recorded()
        [node] = self.world((A,)).nodes
        home = node.local_group(A)
        assert home is not None
        parasites, copies = node.counters.parasites + node.counters.events, 10_000
        for number in range(copies):
            for body in bodies:
                node.receive(message_frame(home.topic, body, number), 30.0)
            node.outbox.sends.clear()
        for number in range(copies):
            node.receive(event_frame(home.topic, number, Topic((f"t{number}",))), 30.0)
            if number % 2_500 == 2_499:
                wake(node)
            node.outbox.deliveries.clear()
        assert node.counters.events + node.counters.parasites - parasites == copies
        assert all(size <= ENTRIES_MAX for size in sizes_within(plug_of(home.dissemination)))

    def test_garbage_and_changed_messages_never_raise(self) -> None:
        """A message that cannot be decoded is counted: as malformed, as unknown or as stray."""
        bodies = self._recorded()
        [node] = self.world((A,)).nodes
        home = node.local_group(A)
        assert home is not None
        counters = node.counters
        for told, garbage in enumerate(GARBAGE, start=1):
            node.receive(message_frame(home.topic, garbage), 30.0)
            assert counters.malformed + counters.records_unknown + counters.stray_controls == told
        for body in bodies:
            for variant in variants(body):
                node.receive(message_frame(home.topic, variant), 30.0)
        event = event_frame(home.topic, 1, A)
        for variant in variants(event[len(FRAME_HEADER) :]):
            node.receive(FRAME_HEADER + variant, 30.0)
        wake(node)

    def test_an_unknown_timer_does_nothing_at_all(self) -> None:
        world = self.world((A,) * 4)
        world.publish(world.nodes[0], A)
        node = world.nodes[1]
        home = node.local_group(A)
        assert home is not None
        for name in (("nonesuch", 1), (), ("",)):
            home.dissemination.wake(name, world.now)
            assert (node.outbox.wakes, node.outbox.sends) == ([], [])

    def _recorded(self) -> list[bytes]:
        """Return one body of each type of messages of the protocol; many protocols have none."""
        bodies = dict[int, bytes]()

        def note(_source: str, _target: str, record: bytes) -> None:
            if record[4] == Kind.PROTOCOL:
                body = wire.decode_control(record, 0, len(record)).body
                bodies.setdefault(body[1], body)  # the tag of a message

        world = self.world(SEVEN, settle_seconds=0.0)
        world.virtual.on_send = note
        world.run(12.0)
        world.publish(world.nodes[3], AB)
        return list(bodies.values())


def refusal(protocol: str, options: Mapping[str, object]) -> str:
    """Return the error message for wrong options; raises `AssertionError` if they are accepted."""
    try:
        find_protocol(protocol, options)
    except OptionError as error:
        return str(error)
    raise AssertionError(f"{protocol} takes {options}")


def event_frame(group: Topic, number: int, topic: Topic) -> bytes:
    """Return a frame with an event, whose publisher has an identity made of `number`."""
    body = make_batch(stream_id(PeerId(number.to_bytes(16)), 1), 1, [b""], topic).body
    head = wire.event_head(len(body), 1, 0.0, group.group, STRANGER.peer)
    return FRAME_HEADER + head + body


def message_frame(group: Topic, body: bytes, number: int = 0) -> bytes:
    """Return a frame with a protocol's message, whose sender has an identity made of `number`."""
    sender = PeerId((number + 1).to_bytes(16, "big"))
    head = wire.control_head(Kind.PROTOCOL, group.group, sender, STRANGER.address)
    return FRAME_HEADER + wire.encode_control(head, body)


def wake(node: Node) -> None:
    """Let the timers of the node's protocol go off, and drop what it then sends."""
    wakes, node.outbox.wakes = node.outbox.wakes, []
    for _, token in wakes:
        if token.kind is Kind.PROTOCOL:
            node.wake(token, 31.0)
    node.outbox.sends.clear()


def sizes_within(thing: Any, depth: int = 3) -> Iterator[int]:
    """Yield the sizes of the containers of an object, and of its package's objects within it."""
    package = type(thing).__module__.rpartition(".")[0]
    for value in getattr(thing, "__dict__", {}).values():
        if isinstance(value, dict | list | set):
            yield len(value)
            inner = value.values() if isinstance(value, dict) else value
            yield from (len(one) for one in inner if isinstance(one, dict | list | set))
        elif depth and package and type(value).__module__.startswith(package):
            yield from sizes_within(value, depth - 1)
