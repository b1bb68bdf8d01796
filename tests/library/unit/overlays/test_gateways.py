"""What a gateway answers, what makes a founder, and what remembered contacts are good for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path

import pytest

from camcast.doors import named_contacts
from camcast.doors.contained import plug_of
from camcast.doors.plugs import find_backend, find_discovery
from camcast.engine.local_group import LocalGroup
from camcast.engine.node import Node
from camcast.engine.settings import Settings
from camcast.protocols.camcast import CamcastProtocol
from camcast.testing.world import World
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.network import VirtualNetwork, address_of
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import TOPICS_MAX, Message
from camcast.vocabulary.outbox import Finding
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from overlays import gateway_messages, gateways, register
from overlays.gateway_seeks import Questions

A, AX, B, NEW = (Topic.parse(name) for name in (".a", ".a.x", ".b", ".new"))
LONG = 700.0  # longer than every timer: leases, retries, searches, renewals


Gateways = Mapping[Topic, tuple[str, ...]]


def add(world: World, gateways: Gateways, remember: Path | None = None) -> Node:
    plug = find_backend("scamp")
    return world.start(
        Settings(
            backend=plug,
            discovery=find_discovery("gateways"),
            options=plug.parse_options({}),
            gateways=gateways,
            remember=remember,
            protocol=CamcastProtocol(),
        )
    )


def join(world: World, node: Node, topic: Topic, seconds: float = 3.0) -> LocalGroup:
    local_group = world.do(node, lambda n, now: n.join(topic, now))
    world.run(seconds)
    return local_group


def test_a_register_and_one_that_goes_by_another_make_no_founder() -> None:
    """However long it asks; the other register may know better."""
    world = World(1)
    register, other = world.add(), world.add()
    member = add(world, {ROOT: (other.me.address,)})
    join(world, member, B)
    newcomer = add(world, {ROOT: (register.me.address, member.me.address)})
    joining = join(world, newcomer, NEW, LONG)
    assert not joining.joined
    assert joining.unanswered is not None
    assert joining.unanswered.unreachable == ()
    assert joining.unanswered.ignorant == (member.me.address,)


def test_registers_that_all_say_nobody_make_a_founder() -> None:
    world = World(1)
    registers = tuple(world.add().me.address for _ in range(3))
    assert join(world, add(world, {ROOT: registers}), NEW).joined


def test_a_silent_register_and_one_that_says_nobody_make_no_founder() -> None:
    world = World(1)
    silent, register = world.add(), world.add()
    world.kill(silent)
    gateways = {ROOT: (silent.me.address, register.me.address)}
    joining = join(world, add(world, gateways), NEW, LONG)
    assert not joining.joined
    assert joining.unanswered is not None
    assert joining.unanswered.unreachable == (silent.me.address,)
    assert joining.unanswered.nobody == (register.me.address,)


def test_a_register_is_kept_for_a_topic_and_not_for_others() -> None:
    """The process serves .a as a gateway itself, and goes by a dead one for .b."""
    world = World(1)
    dead = world.add()
    world.kill(dead)
    address = "tcp://10.0.0.2:7000"
    serving = add(world, {A: (address,), B: (dead.me.address,)})
    assert serving.me.address == address
    assert join(world, add(world, {ROOT: (address,)}), AX).joined
    joining = join(world, add(world, {ROOT: (address,)}), B)
    assert not joining.joined
    assert joining.unanswered is not None
    assert joining.unanswered.ignorant == (address,)


@pytest.mark.parametrize("file", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_all_gateways_dead_a_restart_rejoins_through_the_file(file: bool, tmp_path: Path) -> None:
    """With the file the process is a member again; without it nobody can say who is there."""
    path = tmp_path / "contacts" if file else None
    world = World(2)
    gateway = world.add()
    gateways = {ROOT: (gateway.me.address,)}
    for _ in range(5):
        join(world, add(world, gateways), A, 0.5)
    returning = add(world, gateways, path)
    join(world, returning, A, 15.0)
    world.kill(gateway)
    world.kill(returning)
    world.run(LONG)
    back = add(world, gateways, path)
    joining = join(world, back, A, 2.5)  # the member asks the dead gateway again after a second
    assert joining.joined is file
    assert (joining.unanswered is None) is file
    world.run(LONG)
    assert joining.joined is file
    assert (len(joining.membership.peers()) >= 5) is file


def test_those_who_find_the_gateway_again_at_once_found_one_community() -> None:
    """It had lost their announcements, or was started anew: each founded a community, and found
    the others only when it announced itself ten seconds later (scamp 386, 655, 722)."""
    world = World(2)
    gateway = world.add()
    world.kill(gateway)
    nodes = [add(world, {ROOT: (gateway.me.address,)}) for _ in range(4)]
    joining = [join(world, node, A, 0.0) for node in nodes]
    world.run(4.0)
    world.restart(gateway)
    world.run(3.5)  # they ask 5 s after the start, and would announce themselves after 10 s
    assert all(local_group.joined for local_group in joining)
    assert all(len(local_group.membership.peers()) for local_group in joining)


def test_a_silent_gateway_is_asked_again_within_a_seek() -> None:
    """At 30 % loss two of thirty newcomers had heard nothing after fifteen seconds."""
    unheard = 0
    for seed in range(30):
        world = World(seed, loss=0.3)
        gateway = world.add()
        founding = join(world, add(world, {ROOT: (gateway.me.address,)}), A, 15.0)
        unheard += not founding.joined
    assert unheard == 0


def test_a_question_that_is_answered_at_once_sets_one_timer_and_a_silent_one_three() -> None:
    """Of a process in many topics, the timers of its questions were most of all timers."""
    world = World(1)
    gateway = world.add()
    node = add(world, {ROOT: (gateway.me.address,)})
    woken: list[Hashable] = []
    plug = plug_of(node.discovery)
    take = plug.wake

    def wake(name: tuple[Hashable, ...], now: float) -> None:
        woken.append(name[0])
        take(name, now)

    plug.wake = wake
    timers = []
    for silent in (False, True):
        if silent:
            world.kill(gateway)
        world.do(node, lambda n, now: n.discovery.seek(B, 1, now))
        world.run(gateways.TIMEOUT_SECONDS)
        timers.append(list(woken))
        woken.clear()
    assert timers == [["late"], ["late", "again", "seek"]]


def test_who_names_no_gateway_asks_whom_it_remembers_before_it_founds(tmp_path: Path) -> None:
    path = tmp_path / "contacts"
    world = World(3)
    founder = add(world, {}, path)
    join(world, founder, A)
    second = add(world, {ROOT: (founder.me.address,)})
    join(world, second, A, 25.0)
    world.kill(founder)
    world.run(LONG)
    again = add(world, {}, path)
    joining = join(world, again, A)
    assert [contact.peer for contact in joining.membership.peers()] == [second.me.peer]
    world.kill(second)
    world.kill(again)
    alone = add(world, {}, path)
    assert join(world, alone, A).joined  # whoever is remembered is silent, and keeps no register


def test_who_finds_no_gateway_joins_through_one_that_asks_it() -> None:
    """A member that is alone asks whom it knows, one that was never let in: each asked the other
    or the dead gateway without end (scamp 301)."""
    world = World(4)
    gateway = world.add()
    gateways = {ROOT: (gateway.me.address,)}
    founder, member, newcomer = (add(world, gateways) for _ in range(3))
    join(world, founder, A)
    world.cut(lambda _, target: target != newcomer.me.address)
    joining = join(world, newcomer, A)  # it is announced, and hears nothing
    join(world, member, A, 25.0)
    world.kill(gateway)
    world.kill(founder)
    world.heal()
    world.run(120.0)
    assert joining.joined
    assert [contact.peer for contact in joining.membership.peers()] == [member.me.peer]


def test_who_finds_no_gateway_joins_through_one_that_asks_it_for_another_community() -> None:
    """Started anew after the death of the gateway, a process knew nobody; it was known to those
    below, who asked it for a community between (scamp 109)."""
    world = World(5)
    gateway = world.add()
    gateways = {ROOT: (gateway.me.address,)}
    join(world, add(world, gateways), A)
    newcomer = add(world, gateways)
    below = add(world, gateways | {B: (newcomer.me.address,)})
    join(world, below, AX, 25.0)
    world.kill(gateway)
    joining = join(world, newcomer, A, 60.0)
    assert not joining.joined
    join(world, below, B, 60.0)
    assert joining.joined
    assert joining.membership.peers()


def test_nothing_is_kept_of_topics_that_were_left_answered_or_not() -> None:
    world = World(5)
    gateway = world.add()
    node = add(world, {ROOT: (gateway.me.address,)})
    join(world, node, A)
    world.kill(gateway)
    for topic in (B, NEW):
        assert not join(world, node, topic).joined
    for topic in (A, B, NEW):
        world.leave(node, topic)
    world.run(60.0)
    kept = {name: one for name, one in vars(plug_of(node.discovery)).items() if one}
    assert [name for name, one in kept.items() if isinstance(one, dict | Questions)] == [
        "_first_contacts",
        "_with_gateways",
        "_gateways",
    ]


def test_gateways_that_answer_make_remembered_contacts_unnecessary(tmp_path: Path) -> None:
    path = tmp_path / "contacts"
    world = World(4)
    gateway = world.add()
    gateways = {ROOT: (gateway.me.address,)}
    first = add(world, gateways, path)
    join(world, first, A)
    join(world, add(world, gateways), A, 25.0)
    world.kill(first)
    again = add(world, gateways, path)
    join(world, again, A)
    asked: list[str] = []
    world.virtual.on_send = lambda source, target, _: (
        asked.append(target) if source == again.me.address else None
    )
    again.discovery.seek(NEW, 5, world.now)
    world.do(again, lambda _node, _now: None)
    assert asked == [gateway.me.address]


def test_gateways_are_told_apart_by_whether_they_answered_last() -> None:
    """Also by answers that come after the seek has ended, with the members of another gateway."""
    world = World(1)
    one, two = world.add(), world.add()
    gateways = {ROOT: (one.me.address, two.me.address)}
    join(world, add(world, gateways), A)
    asking = add(world, gateways)
    assert asking.discovery.first_contacts() == ()
    join(world, asking, A)

    def answers() -> dict[str, bool | None]:
        return {known.address: known.answers for known in asking.discovery.first_contacts()}

    assert answers() == {one.me.address: True, two.me.address: True}
    died = world.now
    world.kill(two)
    world.run(LONG)
    assert answers() == {one.me.address: True, two.me.address: False}
    (silent,) = (known for known in asking.discovery.first_contacts() if not known.answers)
    assert died < silent.since < died + LONG


def test_a_full_register_leaves_out_the_oldest_community_and_says_so(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(register, "GROUPS_MAX", 2)
    kept, member = register.Register(), Contact(PeerId(bytes(16)), "tcp://10.0.0.1:7000")
    topics = [Topic.parse(name) for name in (".a", ".b", ".c", ".d")]
    for topic in topics:
        kept.remember(topic, member, 0.0)
    named = [bool(kept.members(topic.group, 1.0)) for topic in topics]
    assert named == [False, False, True, True]
    assert caplog.messages == ["the register is full with 2 communities: one is left out"]


def _announce(topic: Topic, node: Node, now: float) -> None:
    node.discovery.announce(topic, now)


def test_a_process_renews_all_its_communities_with_one_message() -> None:
    """And the register still names it long after the first lease."""
    world = World(1)
    gateway = world.add()
    member = add(world, {ROOT: (gateway.me.address,)})
    topics = [Topic.parse(f".t{number}") for number in range(3 * TOPICS_MAX // 2)]
    sent: list[int] = []
    plug = plug_of(gateway.discovery)
    take = plug.receive

    def receive(source: Contact, group: GroupId, message: Message, now: float) -> None:
        if isinstance(message, gateway_messages.AnnounceAgain):
            sent.append(len(message.topics))
        take(source, group, message, now)

    plug.receive = receive
    for topic in topics:
        world.do(member, partial(_announce, topic))
    world.run(3 * gateways.RENEW_SECONDS + register.LEASE_SECONDS / 2)
    assert sent == [TOPICS_MAX, TOPICS_MAX // 2] * 4
    for topic in topics:
        assert plug._register.members(topic.group, world.now) == [member.me]
    world.do(member, lambda node, now: [node.discovery.withdraw(topic, now) for topic in topics])
    world.run(gateways.RENEW_SECONDS + 1.0)
    assert len(sent) == 8


NAME = "tcp://gateway.example:7000"


def test_a_gateway_that_moves_under_its_name_splits_no_community() -> None:
    """Also where those who come in the meantime found their community a second time."""
    world = World(1)
    old = world.add()
    world.virtual.names[NAME] = (old.me.address,)
    before = [add(world, {ROOT: (NAME,)}) for _ in range(3)]
    for node in before:
        join(world, node, A)
    world.kill(old)
    world.virtual.names[NAME] = (world.add().me.address,)
    after = [add(world, {ROOT: (NAME,)}) for _ in range(2)]
    for node in after:
        join(world, node, A)
    world.run(named_contacts.LOOK_UP_SECONDS + 15.0)
    world.delivered.clear()
    for node in (before[0], after[0]):
        world.publish(node, A)
    assert sorted(receiver.me.address for receiver, _ in world.delivered) == sorted(
        node.me.address for node in 2 * (before + after)
    )


def test_a_silent_gateway_is_looked_up_at_once() -> None:
    """Who seeks when it has moved joins through the gateway at the new address."""
    world = World(1)
    old, new = world.add(), world.add()
    world.virtual.names[NAME] = (old.me.address,)
    member, seeker = (add(world, {ROOT: (NAME,)}) for _ in range(2))
    join(world, member, A)
    join(world, seeker, B)
    world.kill(old)
    world.virtual.names[NAME] = (new.me.address,)
    joining = join(world, seeker, NEW, 5.0)
    assert joining.joined
    assert [one.address for one in seeker.discovery.first_contacts()] == [new.me.address]


def test_a_name_without_an_address_is_waited_for() -> None:
    world = World(1)
    joining = join(world, add(world, {ROOT: (NAME,)}), A, 5.0)
    assert joining.unanswered is not None
    assert joining.unanswered.unreachable == (NAME,)
    world.virtual.names[NAME] = (world.add().me.address,)
    world.run(10.0)
    assert joining.joined


def test_of_one_name_all_addresses_count_but_those_of_a_family_that_nobody_listens_at() -> None:
    world = World(1)
    one, two = world.add(), world.add()
    world.virtual.names[NAME] = ("tcp://[2001:db8::1]:7000", one.me.address, two.me.address)
    node = add(world, {ROOT: (NAME,)})
    assert join(world, node, A).joined
    assert [(c.address, c.answers) for c in node.discovery.first_contacts()] == [
        (one.me.address, True),
        (two.me.address, True),
    ]
    world.kill(two)
    joining = join(world, add(world, {ROOT: (NAME,)}), NEW, LONG)
    assert not joining.joined
    assert joining.unanswered is not None
    assert joining.unanswered.unreachable == (two.me.address,)


def test_a_gateway_that_is_back_calls_those_whom_it_remembers(tmp_path: Path) -> None:
    """At a new address under its name, or at its old one: no newcomer founds anything."""
    path = tmp_path / "register"
    world = World(1)
    gateway = add(world, {}, path)
    world.virtual.names[NAME] = (gateway.me.address,)
    member = add(world, {ROOT: (NAME,)})
    join(world, member, A, 30.0)
    world.kill(gateway)
    gateway = add(world, {}, path)
    world.virtual.names[NAME] = (gateway.me.address,)
    newcomer = add(world, {ROOT: (NAME,)})
    heard: list[type[Message]] = []
    plug = plug_of(newcomer.discovery)
    take = plug.receive

    def receive(source: Contact, group: GroupId, message: Message, now: float) -> None:
        heard.append(type(message))
        take(source, group, message, now)

    plug.receive = receive
    joining = world.do(newcomer, lambda node, now: node.join(A, now))
    world.run(3.0)
    assert [one.address for one in joining.membership.peers()] == [member.me.address]
    assert heard[0] is gateway_messages.Members


def test_gateways_of_one_name_tell_each_other_who_announced_itself() -> None:
    """Who knows one of the two alone finds members that know the other alone."""
    world = World(1)
    addresses = tuple(address_of(number) for number in range(2))
    world.virtual.names[NAME] = addresses
    for _ in addresses:
        add(world, {ROOT: (NAME,)})
    member = add(world, {ROOT: addresses[:1]})
    join(world, member, A)
    world.run(register.TELL_SECONDS)
    newcomer = add(world, {ROOT: addresses[1:]})
    joining = join(world, newcomer, A)
    assert [one.address for one in joining.membership.peers()] == [member.me.address]
    world.kill(member)
    world.run(register.TOLD_SECONDS + register.TELL_SECONDS)
    told = [
        plug_of(node.discovery)._register.members(A.group, world.now) for node in world.nodes[:2]
    ]
    assert told == [[newcomer.me], [newcomer.me]]


def test_nobody_but_a_gateway_of_the_same_topic_is_believed_what_it_tells() -> None:
    world = World(1)
    gateway = add(world, {})
    liar = Contact(PeerId(bytes(16)), "tcp://10.9.9.9:7000")
    plug = plug_of(gateway.discovery)
    plug.receive(liar, A.group, gateway_messages.Told(A.name, (liar,)), world.now)
    assert plug._register.members(A.group, world.now) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_gateway_that_goes_by_the_other_one_founds_with_it(seed: int) -> None:
    world = World(seed)
    register = world.add()
    member = add(world, {ROOT: (register.me.address,)})
    join(world, member, B)
    both = {ROOT: (register.me.address, member.me.address)}
    assert join(world, add(world, both), NEW).joined
    world.kill(register)  # and the other one alone does not know
    assert not join(world, add(world, both), AX).joined
    assert not join(world, add(world, {ROOT: (member.me.address,)}), A).joined


def _questions(gateway: Node, *, earlier: bool = False) -> list[tuple[type[Message], int]]:
    """Note what the gateway is asked, and about how many topics; an `earlier` one skips the new."""
    asked: list[tuple[type[Message], int]] = []
    plug = plug_of(gateway.discovery)
    take = plug.receive

    def receive(source: Contact, group: GroupId, message: Message, now: float) -> None:
        if isinstance(message, gateway_messages.Ask | gateway_messages.AskOfMany):
            asked.append((type(message), len(getattr(message, "topics", (message,)))))
        if not (earlier and isinstance(message, gateway_messages.AskOfMany)):
            take(source, group, message, now)

    plug.receive = receive
    return asked


def _seek(topics: Sequence[Topic], node: Node, now: float) -> None:
    for topic in topics:
        node.discovery.seek(topic, 5, now)


ASKED_TWICE = [(gateway_messages.Ask, 1)] * 2
MANY = [Topic.parse(f".t{number}") for number in range(TOPICS_MAX + 2)]
OF_MANY = gateway_messages.AskOfMany


def _in_many(earlier: bool) -> tuple[World, Node, Node, list[tuple[type[Message], int]]]:
    """Let a process and one other announce themselves in many topics, the other in the last."""
    world = World(1)
    gateway = world.add()
    node, other = (add(world, {ROOT: (gateway.me.address,)}) for _ in range(2))
    for topic in MANY:
        world.do(node, partial(_announce, topic))
    world.do(other, partial(_announce, MANY[-1]))
    world.run(1.0)
    return world, node, other, _questions(gateway, earlier=earlier)


def _found(world: World, node: Node) -> dict[Topic, tuple[Contact, ...]]:
    """Note what a node finds."""
    found: dict[Topic, tuple[Contact, ...]] = {}
    take = node._joining.found

    def note(finding: Finding, now: float) -> None:
        assert not finding.unknown
        found[finding.topic] = finding.contacts
        take(finding, now)

    node._joining.found = note  # type: ignore[method-assign]  # to see what was found
    return found


def test_a_member_asks_about_all_its_communities_with_one_message() -> None:
    """The first question leaves at once, those of the next quarter of a second together."""
    world, node, other, asked = _in_many(earlier=False)
    found = _found(world, node)
    world.do(node, partial(_seek, MANY))
    world.run(gateways.GATHER_SECONDS + 0.5)
    assert asked == [(gateway_messages.Ask, 1), (OF_MANY, TOPICS_MAX), (OF_MANY, 1)]
    assert found == {**dict.fromkeys(MANY, ()), MANY[-1]: (other.me,)}


def test_an_earlier_gateway_is_asked_about_each_community() -> None:
    world, node, other, asked = _in_many(earlier=True)
    found = _found(world, node)
    world.do(node, partial(_seek, MANY))
    world.run(gateways.GATHER_SECONDS + gateways.AGAIN_SECONDS + 0.5)
    assert asked[3:] == [(gateway_messages.Ask, 1)] * (len(MANY) - 1)
    assert found == {**dict.fromkeys(MANY, ()), MANY[-1]: (other.me,)}


def test_a_silent_gateway_is_named_in_the_finding_about_each_of_many_communities() -> None:
    world, node, _other, _asked = _in_many(earlier=False)
    (gateway,) = plug_of(node.discovery).gateways(MANY[0])
    world.kill(world.virtual.processes[gateway].node)
    silent: dict[Topic, tuple[str, ...]] = {}

    def note(finding: Finding, now: float) -> None:
        silent[finding.topic] = finding.unreachable

    node._joining.found = note  # type: ignore[method-assign]  # to see what was found
    world.do(node, partial(_seek, MANY))
    world.run(gateways.GATHER_SECONDS + gateways.TIMEOUT_SECONDS + 0.5)
    assert silent == dict.fromkeys(MANY, (gateway,))


def test_a_question_is_gathered_only_where_it_can_wait() -> None:
    """Not that of a process that joins, or has found members of an answer silent."""
    world, node, other, asked = _in_many(earlier=False)
    world.do(node, partial(_seek, MANY[:1]))
    world.do(node, lambda one, now: one.discovery.contacts_silent(MANY[1], [other.me], now))
    world.do(node, partial(_seek, [MANY[1], NEW]))

    def enter(one: Node, now: float) -> None:
        one.discovery.announce(A, now)
        one.discovery.seek(A, 5, now)

    world.do(node, enter)
    world.run(0.1)
    assert asked == [(gateway_messages.Ask, 1), (gateway_messages.AskAgain, 1), *ASKED_TWICE]


def test_a_community_that_was_left_meanwhile_is_not_asked_about() -> None:
    world, node, _other, asked = _in_many(earlier=False)
    world.do(node, partial(_seek, MANY[:3]))
    world.do(node, lambda one, now: one.discovery.withdraw(MANY[1], now))
    world.run(gateways.GATHER_SECONDS + 0.5)
    assert asked == [(gateway_messages.Ask, 1), (OF_MANY, 1)]


@pytest.mark.parametrize("first", [0, 1])
def test_the_members_found_are_of_all_gateways_in_equal_parts(first: int) -> None:
    """One that lies has its part alone, however fast it answers: with the first answer that of two
    gateways which was asked first decided all."""
    world, members = World(1), list[dict[str, None]]()
    asked = [world.add().me.address for _ in range(2)]
    for address in asked:
        nodes = [add(world, {ROOT: (address,)}) for _ in range(6)]
        for node in nodes:
            world.do(node, lambda n, now: n.discovery.announce(A, now))
        members.append(dict.fromkeys(node.me.address for node in nodes))
    world.run(1.0)
    seeker = add(world, {ROOT: (asked[first], asked[not first])})
    found = _found(world, seeker)
    world.do(seeker, lambda n, now: n.discovery.seek(A, 8, now))
    world.run(gateways.AGAIN_SECONDS / 2)
    addresses = [contact.address for contact in found[A]]
    assert [sum(one in known for one in addresses) for known in members] == [4, 4]


def test_a_silent_gateway_delays_a_finding_once() -> None:
    """For as long as a gateway has before it is asked again."""
    world = World(1)
    alive, silent = world.add(), world.add()
    member, seeker = (add(world, {ROOT: (silent.me.address, alive.me.address)}) for _ in range(2))
    world.kill(silent)
    world.do(member, lambda n, now: n.discovery.announce(A, now))
    world.run(1.0)
    for waits in (True, False):
        found = _found(world, seeker)
        world.do(seeker, lambda n, now: n.discovery.seek(A, 8, now))
        world.run(gateways.AGAIN_SECONDS - 0.01)
        assert (A in found) is not waits
        world.run(0.02)
        assert A in found
        world.run(gateways.TIMEOUT_SECONDS)


def test_an_answer_that_comes_later_than_the_others_were_waited_for_is_not_waited_with() -> None:
    """Where messages take half a second and a gateway is silent, members are found in one."""
    virtual = VirtualNetwork(1, Climate(latency=Constant(0.5)))
    world = World(virtual=virtual)
    alive, silent = world.add(), world.add()
    member, seeker = (add(world, {ROOT: (silent.me.address, alive.me.address)}) for _ in range(2))
    world.kill(silent)
    world.do(member, lambda n, now: n.discovery.announce(A, now))
    world.run(1.0)
    found = _found(world, seeker)
    world.do(seeker, lambda n, now: n.discovery.seek(A, 8, now))
    world.run(1.1)
    assert A in found
