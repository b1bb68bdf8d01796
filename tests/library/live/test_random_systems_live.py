"""Random systems of processes in several communities, over real sockets, with repair on.

The systems are those of `tests.library.laws.faults.make_system`: 4 to 12 processes with 1 to 3
topics each, some of which are below several others. Processes join and leave while events are on
their way, and one may die without a goodbye.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any, Final

import pytest
from attrs import define, field

from camcast import Community, CommunityManager, Missed, Received
from camcast.research.experiment.node import manager_of
from camcast.research.scenarios.super_topics import SuperTopics
from camcast.vocabulary.topics import Topic
from tests.library.laws.faults import KEPT_BACK, make_system
from tests.library.live.communities import CERTAIN
from tests.patience import live

MEMBERSHIPS: Final = ("scamp", "hybrid", "dht")
EVENTS: Final = 60
EVENT_SECONDS: Final = 0.1  # chosen: six seconds, in which links are found, and changes happen
CHANGES_EVERY: Final = 8  # chosen: in events
LOOKS: Final = 60  # chosen: seconds; repair after a death takes half of them at most
HEARING: Final = 10  # chosen: events; a process that has just joined may not be known to all


@define
class Member:
    """One process, and what its subscriptions got."""

    number: int
    manager: CommunityManager
    communities: dict[Topic, Community] = field(factory=dict)
    got: Counter[tuple[Topic, bytes]] = field(factory=Counter)
    missed: Counter[Topic] = field(factory=Counter)
    since: dict[Topic, int] = field(factory=dict)
    """After how many events it had joined each community."""
    left: dict[Topic, None] = field(factory=dict)
    dead: bool = False

    async def join(self, topic: Topic, above: SuperTopics, events: int) -> None:
        """Join a community, and subscribe there."""
        steps = {topic: above.of(topic), **above.declared}
        community = self.manager.community(topic, super_topics=steps)
        await community.join(timeout=20.0, retry=True)

        def note(received: Received) -> None:
            self.got[topic, bytes(received.payload)] += 1

        def note_missed(missed: Missed) -> None:
            self.missed[topic] += missed.last - missed.first + 1

        community.subscribe(note, on_missed=note_missed)
        self.communities[topic], self.since[topic] = community, events

    async def leave(self, topic: Topic) -> None:
        """Leave a community politely."""
        self.left[topic] = None
        await self.communities.pop(topic).leave()

    def die(self) -> None:
        """Fall silent without a goodbye, as a process that is killed."""
        self.dead = True
        self.manager._lifetime.running().close()


@define
class Event:
    """One event: its number is its payload."""

    payload: bytes
    topic: Topic
    publisher: Member
    stays: bool
    """Whether its upward probability is 0."""


class System:
    """The members of one drawn system, and what they published."""

    def __init__(self, seed: int, above: SuperTopics) -> None:
        self.rng = Random(f"live systems {seed}")
        self.above = above
        self.members: list[Member] = []
        self.events: list[Event] = []

    async def publish(self) -> None:
        """Let a member that is drawn publish one event."""
        living = [member for member in self.members if not member.dead and member.communities]
        member = self.rng.choice(living)
        topic = self.rng.choice(list(member.communities))
        stays = len(self.events) % KEPT_BACK == 0
        event = Event(b"%04d" % len(self.events), topic, member, stays)
        self.events.append(event)
        await member.communities[topic].publish(
            event.payload, upward_probability=0.0 if stays else None
        )

    async def change(self, topics: list[Topic]) -> None:
        """Let a member that is drawn join a community, or leave one of several."""
        member = self.rng.choice([one for one in self.members if not one.dead])
        topic = self.rng.choice(topics)
        if topic in member.communities:
            if len(member.communities) > 1:
                await member.leave(topic)
        elif topic not in member.left:
            await member.join(topic, self.above, len(self.events))

    def due(self) -> list[tuple[Member, Topic, bytes]]:
        """Return who is to have got what; what the dead published may have died with them."""
        return [
            (member, topic, event.payload)
            for number, event in enumerate(self.events)
            if not event.publisher.dead
            for member in self.members
            if not member.dead
            for topic in member.communities
            if topic in self.above.levels(event.topic)
            and (topic == event.topic or not event.stays)
            and (member.since[topic] == 0 or member.since[topic] + HEARING <= number)
        ]

    def missing(self) -> list[tuple[int, str, bytes]]:
        """Return what was neither delivered nor told as missed."""
        return [
            (member.number, str(topic), payload)
            for member, topic, payload in self.due()
            if not member.got[topic, payload] and not member.missed[topic]
        ]

    def wrong(self) -> list[str]:
        """Return in words what was delivered and should not have been."""
        events = {event.payload: event for event in self.events}
        words = []
        for member in self.members:
            for (topic, payload), times in member.got.items():
                event = events[payload]
                if times > 1:
                    words.append(f"{payload!r} in {topic} of {member.number}: {times} times")
                if topic not in self.above.levels(event.topic):
                    words.append(f"{payload!r} of {event.topic} in {topic}: foreign")
                if event.stays and topic != event.topic:
                    words.append(f"{payload!r} of {event.topic} in {topic}: undue")
            if forged := member.manager.counters.forged:
                words.append(f"{forged} forged at {member.number}")
        return words


@live
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
async def test_everybody_gets_everything_once_and_nothing_else(seed: int) -> None:
    membership = MEMBERSHIPS[seed % len(MEMBERSHIPS)]
    scenario = make_system(membership, seed).scenario
    system = System(seed, scenario.super_topics)
    common: dict[str, Any] = {"membership": membership, "parameters": CERTAIN}
    async with manager_of(**common) as gateway:
        kinds = [kind for kind, count in scenario.kinds.items() for _ in range(count)]
        for number in range(len(kinds)):
            manager = manager_of(gateways=[gateway.gateway], **common)
            await manager.start()
            system.members.append(Member(number, manager))
        try:
            for member, kind in zip(system.members, kinds, strict=True):
                for topic in kind:
                    await member.join(topic, system.above, 0)
            await asyncio.sleep(5 * CERTAIN.check_seconds)  # the tables settle
            victim = system.rng.choice(system.members) if seed % 2 else None
            for number in range(EVENTS):
                await system.publish()
                await asyncio.sleep(EVENT_SECONDS)
                if number % CHANGES_EVERY == CHANGES_EVERY - 1:
                    await system.change(list(scenario.sizes))
                if victim is not None and number == EVENTS // 2:
                    victim.die()
            assert len(system.due()) > EVENTS
            for _ in range(LOOKS):
                if not system.missing():
                    break
                await asyncio.sleep(1.0)
            await asyncio.sleep(1.0)  # what should not come has time to
            assert not system.missing()
            assert not system.wrong()
        finally:
            await asyncio.gather(*(member.manager.close() for member in system.members))
