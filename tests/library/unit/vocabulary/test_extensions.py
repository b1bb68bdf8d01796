"""Extensions: used towards processes that have named them, and towards nobody else."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

import pytest
from attrs import evolve
from typing_extensions import override

from camcast.doors.discovery import DiscoveryContext
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.virtual.census import Census, CensusDiscovery
from camcast.vocabulary import extensions as wire
from camcast.vocabulary.extensions import (
    EXTENSION_BYTES_MAX,
    EXTENSIONS,
    EXTENSIONS_MAX,
    Extension,
)
from camcast.vocabulary.identity import Contact
from camcast.vocabulary.messages import Decoder, Message
from camcast.vocabulary.topics import GroupId, Topic

A = Topic.parse(".a")
TOY = (Extension("toy"),)
OF_COMMUNITIES = (Extension("labels", of_communities=True),)


class Plain(Message, tag=1, frozen=True):
    """What every release understands."""


class Toy(Message, tag=2, frozen=True):
    """What only a process with the extension understands."""

    extension: ClassVar[str] = "toy"


class Talking(CensusDiscovery):
    """A discovery of a later release, which says the same in the old and in the new way."""

    decoder: ClassVar[Decoder[Message] | None] = Decoder(Plain | Toy)

    def __init__(self, census: Census, context: DiscoveryContext) -> None:
        super().__init__(census, context)
        self.heard: list[Message] = []

    def talk(self, to: Iterable[Contact]) -> None:
        for message in (Plain(), Toy()):
            self._context.outlet.send(to, message)

    @override
    def receive(self, source: Contact, group: GroupId, message: Message, now: float) -> None:
        self.heard.append(message)


class Earlier(Talking):
    """The same of an earlier release."""

    decoder: ClassVar[Decoder[Message] | None] = Decoder(Plain)


def start(world: World, kind: type[Talking], extensions: tuple[Extension, ...]) -> Node:
    def discovery(context: DiscoveryContext) -> Talking:
        return kind(world.census, context)

    return world.start(evolve(world.settings, discovery=discovery, extensions=extensions))


def test_a_message_of_an_extension_goes_only_to_those_that_name_the_extension() -> None:
    world = World()
    ours = start(world, Talking, TOY)
    theirs = [start(world, Talking, TOY), start(world, Earlier, ())]
    absent = Contact(ours.me.peer, theirs[0].me.address)  # another process is there
    discovery = ours.discovery
    assert isinstance(discovery, Talking)
    world.do(ours, lambda node, now: discovery.talk([*(one.me for one in theirs), absent]))
    world.run(1.0)
    heard = [one.discovery.heard for one in theirs if isinstance(one.discovery, Talking)]
    assert heard == [[Plain(), Plain(), Toy()], [Plain()]]
    assert not any(one.counters.records_unknown for one in theirs)


def test_an_extension_of_communities_is_had_by_all_of_a_community_or_both_are_told() -> None:
    world = World()
    start_with = partial(evolve, world.settings)
    nodes = [world.start(start_with(extensions=some)) for some in (OF_COMMUNITIES, (), TOY)]
    for node in nodes:
        world.do(node, lambda node, now: node.join(A, now))
        world.run(5.0)
    later, earlier, _ = nodes
    has, lacks = "'camcast' with extension=labels", "'camcast'"
    for node, says in (
        (later, f"{lacks}, and this process 'scamp' and {has}: all of a"),
        (earlier, f"{has}, and this process 'scamp' and {lacks}: all of a"),
    ):
        assert any(says in one for one in node.misfits.lately(world.now))
    members = [[*group.membership.peers()] for node in nodes for group in node.local_groups]
    assert members[0] == []
    assert [contact.peer for contact in members[1]] == [nodes[2].me.peer]


def test_what_a_peer_names_is_bounded_and_may_be_anything() -> None:
    assert wire.read_extensions(wire.write_extensions([*TOY, *OF_COMMUNITIES])) == ("toy", "labels")
    many = ",".join(str(number) for number in range(100)).encode()
    assert len(wire.read_extensions(many)) == EXTENSIONS_MAX
    assert all(len(name) < 256 for name in wire.read_extensions(b"x" * 4096))
    wire.read_extensions(b"\xff,\0")
    for wrong in ("", "A", "a,b", "a" * (EXTENSION_BYTES_MAX + 1)):
        with pytest.raises(ValueError, match="name"):
            Extension(wrong)
    assert len(EXTENSIONS) <= EXTENSIONS_MAX
