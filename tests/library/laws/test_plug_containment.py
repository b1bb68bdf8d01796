"""Whatever one plug raises in any verb, the other communities of its process go on.

A process is in twelve communities with another one, whose plugs are whole. The plug of one
community, or the discovery of the process, raises in its verbs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from itertools import cycle
from typing import Any, Final

import pytest
from attrs import evolve, frozen
from typing_extensions import override

from camcast.doors.contained import PlugError, verbs_of
from camcast.doors.discovery import Discovery
from camcast.doors.dissemination import Dissemination, DisseminationContext, Sent
from camcast.doors.liveness import Watcher
from camcast.doors.membership import Membership, MembershipContext
from camcast.doors.protocol import Group
from camcast.doors.repair import RepairWatcher
from camcast.engine.node import Node
from camcast.engine.settings import Settings
from camcast.protocols.camcast import CamcastProtocol
from camcast.testing.world import World
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.outbox import Token
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from camcast.vocabulary.wire import Kind, MalformedError
from membership.scamp.options import ScampOptions
from membership.scamp.scamp import Scamp
from overlays.gateways import GatewayDiscovery

TOPICS: Final = [Topic.parse(f".t{number}") for number in range(12)]
BROKEN, WHOLE = TOPICS[0], TOPICS[1:]
RAISED: Final = (RuntimeError, AssertionError, MalformedError, SystemExit, RecursionError)
# Of the door `Membership`: without a table there is no membership, and `join` raises.
MAKING: Final = "peers"
DOORS: Final = {
    "membership": (Membership, Watcher),
    "protocol": (Dissemination, Watcher, RepairWatcher),
    "discovery": (Discovery,),
}
PLUGS: Final = {
    "membership": "membership 'scamp'",
    "protocol": "protocol 'camcast'",
    "discovery": "discovery 'BrokenGatewayDiscovery'",
}
UNCALLED: Final = {
    "membership": ("all_silent", "peer_back", "peer_gone", MAKING),
    "protocol": (
        *("all_silent", "answered", "offered", "patience", "peer_back", "peer_gone", "receive"),
        *("repaired", "told"),
    ),
    "discovery": ("finished", "open", "receive_datagram"),
}
"""Verbs that nothing calls in this life; the discovery is whole until the process has joined."""
DEAD: Final = Topic.parse(".dead")  # whose only member was killed
VERBS: Final = [
    (door, verb)
    for door, classes in DOORS.items()
    for verb in sorted({verb for one in classes for verb in verbs_of(one)})
]


def broken(plug: type[Any], verbs: Iterable[str], armed: Callable[[], bool]) -> type[Any]:
    """Return a class of plugs that raise in these verbs, once it is armed."""
    errors = cycle(RAISED)

    def fault(verb: str) -> Any:
        whole: Any = getattr(plug, verb, Watcher.__dict__.get(verb))

        def fail(self: Any, *arguments: Any, **named: Any) -> Any:
            if armed():
                raise next(errors)(verb)
            if isinstance(whole, property):
                return whole.__get__(self)
            return whole(self, *arguments, **named)

        return property(fail) if isinstance(whole, property) else fail

    return type(f"Broken{plug.__name__}", (plug,), {verb: fault(verb) for verb in verbs})


class Flood(Dissemination, Watcher, RepairWatcher):
    """Sends to all peers; watches these, and hears of duplicates and of what repair is told."""

    hears_duplicates = True

    def __init__(self, context: DisseminationContext) -> None:
        self._context = context
        context.liveness.report_to(self, 1.0, 3.0)
        assert context.repair is not None
        context.repair.report_to(self)
        context.outlet.wake(1.0, "beat")

    @override
    def disseminate(self, batch: Batch, now: float, source: PeerId | None = None) -> Sent:
        peers = list(self._context.membership.peers())
        self._context.events.send(batch, peers, now)
        return Sent(len(peers))

    @override
    def neighbour_changed(self, contact: Contact, there: bool, now: float) -> None:
        if there:
            self._context.liveness.watch(contact, now)
        else:
            self._context.liveness.unwatch(contact.peer)

    @override
    def wake(self, name: tuple[Hashable, ...], now: float) -> None:
        self._context.outlet.wake(1.0, *name)


@frozen
class OneFlooded(CamcastProtocol):
    """CAMCAST, with another dissemination in the first community."""

    flood: type[Flood]

    @override
    def groups(self, interest: Topic, topics: Sequence[Topic], me: PeerId) -> tuple[Group, ...]:
        [group] = super().groups(interest, topics, me)
        return (group if interest != BROKEN else evolve(group, dissemination=self.flood),)


def count_ticks(monkeypatch: pytest.MonkeyPatch) -> Counter[tuple[Node, GroupId]]:
    """Return what counts the timers of memberships, by process and group."""
    ticks: Counter[tuple[Node, GroupId]] = Counter()
    wake = Node.wake

    def counted(node: Node, token: Token, now: float) -> None:
        ticks[node, token.group] += token.kind is Kind.MEMBERSHIP
        wake(node, token, now)

    monkeypatch.setattr(Node, "wake", counted)
    return ticks


def with_broken_plug(
    whole: Settings, door: str, verbs: Iterable[str], armed: Callable[[], bool]
) -> Settings:
    """Return settings with a broken plug at a door."""
    if door == "protocol":
        return evolve(whole, protocol=OneFlooded(broken(Flood, verbs, armed)))
    if door == "discovery":
        return evolve(whole, discovery=broken(GatewayDiscovery, verbs, armed))
    other = broken(Scamp, verbs, armed)

    def keep(context: MembershipContext, options: ScampOptions) -> Membership:
        return (other if context.topic == BROKEN else Scamp)(context, options)

    return evolve(whole, backend=evolve(whole.backend, keeper=keep))


def join_all(world: World, node: Node) -> None:
    for topic in TOPICS:
        with suppress(PlugError):  # of a membership that cannot be made
            world.do(node, joining(topic))


def joining(topic: Topic) -> Callable[[Node, float], object]:
    return lambda node, now: node.join(topic, now)


def live_through(door: str, verbs: list[str], monkeypatch: pytest.MonkeyPatch) -> list[PlugError]:
    """Let a process with a plug that raises in these verbs live; return its errors."""
    errors: list[PlugError] = []
    broken_now = door != "discovery"  # without one nobody joins: it breaks afterwards
    world, ticks = World(repair=True), count_ticks(monkeypatch)
    parts = evolve(world.parts, plug_failed=errors.append)
    settings = evolve(world.settings, discovery=GatewayDiscovery)
    gateway = world.start(settings)
    settings = evolve(settings, gateways={ROOT: (gateway.me.address,)})
    for other in (gateway, mortal := world.start(settings)):
        join_all(world, other)
    world.do(mortal, joining(DEAD))
    world.run(3)
    settings = evolve(settings, peers=(gateway.me.address,))
    victim = world.start(with_broken_plug(settings, door, verbs, lambda: broken_now), parts=parts)
    join_all(world, victim)
    assert world.run(20, until=lambda: all(joined(victim, topic) for topic in WHOLE))
    broken_now = True
    for topic in TOPICS:
        for node in (gateway, victim, gateway):
            with suppress(KeyError):  # the membership could not be made
                world.publish(node, topic, b"before", seconds=0.1)
    look_at(victim)
    world.kill(mortal)
    world.do(victim, joining(DEAD))
    world.run(15)
    before = ticks.copy()
    for topic in TOPICS:
        world.publish(gateway, topic, b"after", seconds=0.0)
    world.run(10)
    got = [
        one.group
        for node, one in world.delivered
        if node is victim and one.event.payload == b"after"
    ]
    assert Counter(got) >= Counter(topic.group for topic in WHOLE)
    keys = [(victim, topic.group) for topic in WHOLE]
    assert [key for key in keys if ticks[key] == before[key]] == []
    look_at(victim)
    world.move(victim)
    for topic in (*TOPICS, DEAD):
        world.leave(victim, topic)
    world.run(1)
    world.do(victim, lambda node, now: node.close(now))
    assert not list(victim.local_groups)
    assert victim.counters.plug_errors == len(errors)
    return errors


def joined(node: Node, topic: Topic) -> bool:
    local_group = node.local_group(topic)
    return local_group is not None and local_group.joined


def look_at(node: Node) -> None:
    """Ask all that snapshots, publishers and others of the process ask of plugs."""
    assert isinstance(node.discovery.state, str)
    list(node.discovery.first_contacts())
    list(node.discovery.announced(0.0))
    list(node.discovery.contact_addresses())
    for local_group in node.local_groups:
        membership = local_group.membership
        assert membership.size() >= 1
        assert membership.joined in (True, False)
        list(membership.in_view() or ())
        list(membership.neighbours())
        list(local_group.first_hop())
        local_group.copies_now()


@pytest.mark.parametrize("door", DOORS)
def test_a_plug_that_raises_in_all_its_verbs(door: str, monkeypatch: pytest.MonkeyPatch) -> None:
    verbs = [verb for one, verb in VERBS if one == door and verb != MAKING]
    errors = live_through(door, verbs, monkeypatch)
    assert {error.plug for error in errors} == {PLUGS[door]}
    assert {error.verb for error in errors} <= set(verbs)
    if door != "discovery":
        assert {error.topic for error in errors} == {BROKEN.name}
    assert all(isinstance(error.__cause__, RAISED) for error in errors)


@pytest.mark.parametrize("door", DOORS)
def test_a_plug_that_raises_in_its_timer_has_the_same_timers_afterwards(door: str) -> None:
    """It has set none by then, and would never be woken again."""
    errors, woken, is_broken = list[PlugError](), list[float](), False
    world = World(repair=True)

    def armed() -> bool:
        woken.append(world.now)
        return is_broken

    settings = evolve(world.settings, discovery=GatewayDiscovery)
    gateway = world.start(settings)
    settings = evolve(settings, gateways={ROOT: (gateway.me.address,)})
    world.do(gateway, joining(BROKEN))
    broken_plug = with_broken_plug(settings, door, ["wake"], armed)
    victim = world.start(broken_plug, parts=evolve(world.parts, plug_failed=errors.append))
    world.do(victim, joining(BROKEN))
    counts = []
    for breaks in (False, False, True, False, False):
        is_broken = breaks
        woken.clear()
        world.run(60)
        counts.append(len(woken))
    _, before, failing, _, after = counts
    assert len(errors) == failing > 10
    assert before > 0
    assert abs(after - before) <= 0.2 * before + 1


@pytest.mark.slow
@pytest.mark.parametrize(("door", "verb"), VERBS)
def test_a_plug_that_raises_in_one_verb(
    door: str, verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = live_through(door, [verb], monkeypatch)
    assert {str(error.__cause__) for error in errors} <= {verb}  # others of the plug may call it
    assert bool(errors) is (verb not in UNCALLED[door])
