"""The part of the contract of memberships that presses them: floods, lies, crowds and replays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import inf, nan
from typing import Any, ClassVar, Final

from camcast.doors.contained import plug_of
from camcast.doors.membership import Membership
from camcast.doors.plugs import find_backend
from camcast.engine import liveness_messages
from camcast.engine.node import Node
from camcast.observe.trace import ListSink
from camcast.testing.replay import CROWD, digests
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import FRAME_HEADER, Kind, control_head, decode_control, encode_control

FLOOD: Final = 2_500  # chosen: messages of each type, each with new contacts
ENTRIES: Final = 2048  # chosen: twice what the base of memberships keeps of peers that are gone
EXTREMES: Final = (nan, inf, -inf, -1.0, 1e300)
EXTREME_INTS: Final = (-1, 0, 2**62)
STRANGER: Final = Contact(PeerId(b"s" * 16), "tcp://10.9.9.9:1")


def membership_of(node: Node) -> Membership:
    """Return a node's membership of the only group that it is in."""
    (local_group,) = node.local_groups
    return local_group.membership


class PressedMembership:
    """The contract of a membership in a crowd, and among strangers that send anything."""

    membership: str
    """The name of the entry point in ``camcast.membership``."""
    options: ClassVar[Mapping[str, object]] = {}
    seconds: ClassVar[float] = 20.0
    """The time within which the backend repairs the tables of ten members."""
    trusts_contacts: ClassVar[bool] = False
    """Whether the process takes itself for a member as soon as the discovery names one."""

    def world(self, sink: ListSink | None = None) -> World:
        """Return a new world of nodes with this membership."""
        return World(sink=sink, membership=self.membership, options=self.options)

    def crowd(self, seconds: float = 20.0) -> World:
        """Return a settled world of more members than a view has."""
        world = self.world()
        while len(world.nodes) < CROWD:
            world.join(ROOT, gap=0.1)
        world.run(seconds)
        return world

    def view(self, size: float) -> float:
        """Return the mean size of tables that the backend expects."""
        backend = find_backend(self.membership)
        expected: float = backend.expected_view(backend.parse_options(self.options), size)
        return expected

    # -- a crowd -------------------------------------------------------------------------------

    def test_in_a_crowd_tables_have_the_expected_size_and_the_size_is_known(self) -> None:
        world, expected = self.crowd(), self.view(CROWD)
        memberships = [membership_of(node) for node in world.nodes]
        tables = [len(membership.peers()) for membership in memberships]
        mean = sum(tables) / len(tables)
        assert 0.5 * expected <= mean <= 2.0 * expected
        assert min(tables) >= 1
        held = {contact for membership in memberships for contact in membership.peers()}
        assert held == {node.me for node in world.nodes}
        sizes = sorted(membership.size() for membership in memberships)
        assert 0.7 * CROWD <= sizes[len(sizes) // 2] <= 1.4 * CROWD

    def test_what_members_send_goes_to_many(self) -> None:
        """A member that sends much sends less than half of it to the same peer."""
        world, receivers = self.crowd(), dict[str, Counter[str]]()

        def note(source: str, target: str, record: bytes) -> None:
            if record[4] == Kind.MEMBERSHIP:
                receivers.setdefault(source, Counter())[target] += 1

        world.virtual.on_send = note
        world.run(30.0)
        for counted in receivers.values():
            most = max(counted.values())
            assert counted.total() < 20 or most < 0.5 * counted.total(), counted

    def test_it_replays_to_the_byte_under_any_hash_seed(self) -> None:
        """Two processes run the same world, each with a hash seed of its own, and later."""
        first, second = digests("membership", self.membership, self.options)
        assert first == second

    # -- timers --------------------------------------------------------------------------------

    def test_an_unknown_timer_does_nothing_at_all(self) -> None:
        world = self.world()
        for _ in range(4):
            world.join(ROOT, gap=1.0)
        node = world.nodes[0]
        for name in (("nonesuch", 1), (), ("",)):
            membership_of(node).wake(name, world.now)
            assert (node.outbox.wakes, node.outbox.sends, node.outbox.seeks) == ([], [], [])

    def test_the_timers_of_a_lone_founder_do_not_multiply(self) -> None:
        world = self.world()
        founder = world.join(ROOT)
        counts, wake = Counter[bool](), founder.wake

        def count(token: Any, now: float) -> None:
            counts[now > 60.0] += 1
            wake(token, now)

        founder.wake = count  # type: ignore[method-assign]  # to count
        world.run(120.0)
        assert counts[True] <= 1.5 * counts[False] + 5

    # -- joining and leaving -------------------------------------------------------------------

    def test_who_was_answered_by_nobody_is_no_member(self) -> None:
        if self.trusts_contacts:
            return
        world = self.world()
        world.census.enter(ROOT, STRANGER)
        assert not membership_of(world.join(ROOT, gap=0.1)).joined

    def test_a_second_leave_says_nothing_and_the_first_one_does(self) -> None:
        world = self.world()
        for _ in range(4):
            world.join(ROOT, gap=1.0)
        world.run(5.0)
        node = world.nodes[1]
        membership = membership_of(node)
        for said in (True, False):
            membership.leave(world.now)
            assert bool(node.outbox.sends) is said
            node.outbox.sends.clear()

    def test_who_is_gone_is_no_longer_watched(self) -> None:
        world = self.world()
        for _ in range(8):
            world.join(ROOT, gap=0.5)
        world.run(5.0)
        world.kill(world.nodes[2])
        world.leave(world.nodes[3], ROOT)
        world.run(3 * self.seconds)
        gone = {world.nodes[2].me.peer, world.nodes[3].me.peer}
        for node in world.alive.values():
            assert node is world.nodes[3] or not gone & node.liveness.entries.keys()

    def test_only_neighbours_are_watched(self) -> None:
        """A peer that has left the table costs no heartbeats, also if it is alive."""
        for node in self.crowd(30.0).nodes:
            neighbours = {contact.peer for contact in membership_of(node).neighbours()}
            assert node.liveness.entries.keys() <= neighbours

    # -- strangers -----------------------------------------------------------------------------

    def test_an_answer_is_not_larger_than_it_must_be(self) -> None:
        """One message of a stranger draws no more than two to its address."""
        world, bodies = self._recorded()
        node = world.nodes[0]
        for body in bodies:
            drawn = len(drawn_by(body, STRANGER, node, world.now))
            assert drawn <= 2, f"{drawn} messages in answer to {body!r}"

    def test_an_entry_with_a_number_that_is_none_is_not_believed(self) -> None:
        """Neither nan nor an infinity is an age or a distance, and neither can be compared."""
        world, bodies = self._recorded()
        node = world.nodes[0]
        for body in bodies:
            message = membership_of(node).decoder.decode(body)
            for number in (nan, inf, -inf):
                told: list[Contact] = []
                lie = _with_entries(message, number, _invented(), told)
                node.receive(_frame(encode(lie), STRANGER), world.now)
                believed = set(membership_of(node).peers()).intersection(told)
                assert not believed, f"{believed} came with {number} in a {type(message).__name__}"

    def test_a_flood_of_invented_members_fills_no_memory(self) -> None:
        """Each message has another sender, invented contacts, and extremes for numbers."""
        world, bodies = self._recorded()
        node = world.nodes[0]
        membership = membership_of(node)
        types: dict[type, list[Message]] = {}
        for body in bodies:
            message = membership.decoder.decode(body)
            types.setdefault(type(message), []).append(message)
        invented = _invented()
        for number, messages in product(range(FLOOD), types.values()):
            lie = _lie(messages[number % len(messages)], number, invented)
            node.receive(_frame(encode(lie), next(invented)), world.now)
            node.outbox.sends.clear()
            node.outbox.wakes.clear()
        assert len(membership.peers()) <= 3 * max(20.0, self.view(1e6))
        assert all(size <= ENTRIES for size in sizes_within(plug_of(membership)))
        assert membership.size() < 1e6

    def test_invented_members_are_forgotten(self) -> None:
        """Nobody answers for them: the tables hold live members only, after a while."""
        world, bodies = self._recorded()
        node = world.nodes[0]
        membership = membership_of(node)
        messages, invented = [membership.decoder.decode(body) for body in bodies], _invented()
        for number in range(10 * len(messages)):
            lie = _lie(messages[number % len(messages)], number, invented)
            frame = _frame(encode(lie), next(invented))
            world.inject(node.me.address, frame)
        world.run(6 * self.seconds)
        live = {one.me for one in world.alive.values()}
        assert set(membership.peers()) <= live
        assert 1.0 <= membership.size() <= 10.0

    def _recorded(self) -> tuple[World, list[bytes]]:
        """Return a world of three, and the messages of their joins and of a fourth's, who left."""
        world, bodies = self.world(), dict[bytes, None]()

        def note(_source: str, _target: str, record: bytes) -> None:
            body = decode_control(record, 0, len(record)).body if record[4] else b""
            if record[4] == Kind.MEMBERSHIP:
                bodies[body] = None
            elif record[4] == Kind.LIVENESS:  # a heartbeat may carry messages of memberships
                said = liveness_messages.DECODER.decode(body)
                if isinstance(said, liveness_messages.Heartbeat | liveness_messages.Answer):
                    bodies.update({body: None for *_, body in said.piggybacked if body})

        world.virtual.on_send = note
        for _ in range(4):
            world.join(ROOT, gap=1.5)
        world.leave(world.nodes[3], ROOT)
        world.run(1.5)
        world.kill(world.nodes[3])
        world.virtual.on_send = None
        return world, list(bodies)


def _frame(body: bytes, sender: Contact) -> bytes:
    head = control_head(Kind.MEMBERSHIP, ROOT.group, sender.peer, sender.address)
    return FRAME_HEADER + encode_control(head, body)


def drawn_by(body: bytes, sender: Contact, node: Node, now: float) -> list[bytes]:
    """Return the messages that a message draws to its sender, and drop all other wishes."""
    node.receive(_frame(body, sender), now)
    drawn = [
        decode_control(send.record, 0, len(send.record)).body
        for send in node.outbox.sends
        for contact in send.contacts
        if contact.address == sender.address and send.record[4] == Kind.MEMBERSHIP
    ]
    node.outbox.sends.clear()
    node.outbox.wakes.clear()
    return drawn


def _invented() -> Iterator[Contact]:
    number = 0
    while True:
        number += 1
        address = f"tcp://10.{100 + number // 65536 % 100}.{number // 256 % 256}.{number % 256}:1"
        yield Contact(PeerId(b"inv" + number.to_bytes(13)), address)


def _lie(message: Message, number: int, invented: Iterator[Contact]) -> Message:
    """Return the message with invented contacts, four in place of one, and extremes for numbers."""

    def lied(value: Any, many: int = 1) -> Any:
        match value:
            case Contact():
                return next(invented)
            case bool() | bytes() | str():
                return value
            case float():
                return EXTREMES[number % len(EXTREMES)]
            case int():
                return EXTREME_INTS[number % len(EXTREME_INTS)]
            case tuple() if hasattr(value, "_fields"):
                return type(value)(*map(lied, value))
            case tuple() if value and many and isinstance(value[0], tuple | Contact):
                return tuple(lied(value[at % len(value)], 0) for at in range(4 * len(value)))
            case tuple():
                return tuple(lied(one, 0) for one in value)
        return value

    fields = {name: lied(getattr(message, name)) for name in message.__struct_fields__}
    return type(message)(**fields)


def _with_entries(
    message: Message, number: float, invented: Iterator[Contact], told: list[Contact]
) -> Message:
    """Return the message with invented contacts for those that come with a float, and `number`.

    The contacts are added to `told`.
    """

    def lied(value: Any) -> Any:
        if not isinstance(value, tuple):
            return value
        kinds = [type(one) for one in value]
        changed: Iterator[Any] = map(lied, value)
        if Contact in kinds and float in kinds:
            told.append(next(invented))
            swapped = {Contact: told[-1], float: number}
            changed = (swapped.get(kind, one) for kind, one in zip(kinds, value, strict=True))
        return type(value)(*changed) if hasattr(value, "_fields") else tuple(changed)

    fields = {name: lied(getattr(message, name)) for name in message.__struct_fields__}
    return type(message)(**fields)


def sizes_within(thing: Any, depth: int = 3) -> Iterator[int]:
    """Yield the sizes of the containers of an object, and of the objects within it."""
    values = dict(getattr(thing, "__dict__", {}))
    for kind in type(thing).__mro__:
        for slot in getattr(kind, "__slots__", ()):
            if hasattr(thing, slot):
                values[slot] = getattr(thing, slot)
    for value in values.values():
        if isinstance(value, dict | list | set):
            yield len(value)
        elif depth and type(value).__module__.startswith(("camcast.doors", "camcast.vocabulary")):
            yield from sizes_within(value, depth - 1)
