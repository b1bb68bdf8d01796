"""The law of class hierarchies: who subscribes to a class gets every instance of it, each once.

README: "a class is a topic, its bases are its super-topics" (000, 2.1, 3.6 and 5.1). The oracle is
`isinstance`. Any subset of the classes is inhabited: the way from a class to a base may lead
through classes in which nobody is.
"""

from __future__ import annotations

from abc import ABC
from collections import Counter
from functools import partial
from itertools import count
from random import Random
from typing import Any

import attrs
import pytest

from camcast.engine.node import Node
from camcast.testing import World
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.typed import hierarchy_of, is_event_class, topic_of

CLASSES, BASES_MAX = 8, 3
SETTLED_SECONDS = 60.0  # in which searches widen to the farthest class, and tables are told
TRAVEL_SECONDS = 40.0  # of an event, what repair adds included


def class_hierarchy(rng: Random) -> list[type[Any]]:
    """Make classes with up to three bases among those before; some are interfaces."""
    made: list[type[Any]] = []
    for number in count():
        if len(made) == CLASSES:
            return made
        bases = rng.sample(made, min(len(made), rng.choice((1, 1, 2, BASES_MAX))))
        bases = bases if made[2:] else []  # several roots
        interface = len(made) < CLASSES // 2 and rng.random() < 0.2
        if interface:
            bases = [base for base in bases if not is_event_class(base)] or [ABC]
        try:
            cls = type(f"C{number}", tuple(bases), {"__module__": __name__})
        except TypeError:  # no order of these bases is consistent
            continue
        made.append(cls if interface else attrs.frozen(slots=False)(cls))
    raise AssertionError


def join(cls: type[Any], node: Node, now: float) -> None:
    """Let a node join the community of a class, as an application does."""
    above = hierarchy_of(cls)
    topic = topic_of(cls)
    node.join(topic, now, super_topics=above.pop(topic), above=above)


def faults(seed: int, membership: str) -> list[str]:
    """Return what was missing, came twice, or came to those that it is not for."""
    rng = Random(seed)
    classes = class_hierarchy(rng)
    world = World(seed, membership=membership, repair=True)
    inhabited = rng.sample(classes, rng.choice((2, 3, 4, CLASSES)))
    subscribed: dict[Node, list[type[Any]]] = {}
    for cls in inhabited:
        for _ in range(rng.randint(1, 2)):
            node = world.start(world.settings)
            subscribed[node] = [cls, *rng.sample(inhabited, int(rng.random() < 0.3))]
            for one in dict.fromkeys(subscribed[node]):
                world.do(node, partial(join, one))
            world.run(0.5)
    world.run(SETTLED_SECONDS)
    published: dict[bytes, type[Any]] = {}
    for node, mine in subscribed.items():
        for cls in dict.fromkeys(mine):
            if is_event_class(cls):
                payload = b"%d" % len(published)
                published[payload] = cls
                world.do(node, partial(publish, topic_of(cls), payload))
                world.run(1.0)
    world.run(TRAVEL_SECONDS)
    got = Counter(
        (node, delivered.group, delivered.event.payload) for node, delivered in world.delivered
    )
    names = {topic_of(cls).group: cls for cls in classes}
    due = {
        (node, topic_of(wanted).group, payload)
        for node, mine in subscribed.items()
        for wanted in mine
        for payload, cls in published.items()
        if isinstance(cls(), wanted)
    }
    wrong = [
        f"{word}: {published[payload].__mro__[:-1]} at {names[group].__name__}"
        for word, found in (
            ("missing", due - got.keys()),
            ("foreign", got.keys() - due),
            ("twice", {one for one, times in got.items() if times > 1}),
        )
        for _, group, payload in found
    ]
    return wrong + [
        f"forged: {node.counters.forged}" for node in world.nodes if node.counters.forged
    ]


def publish(topic: Topic, payload: bytes, node: Node, now: float) -> None:
    node.publish(topic, payload, now, typed=True)


@pytest.mark.parametrize(("membership", "seed"), [("scamp", 1), ("hybrid", 2), ("dht", 3)])
def test_every_instance_reaches_who_subscribes_to_a_class_of_it(membership: str, seed: int) -> None:
    assert faults(seed, membership) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("membership", "first"),
    [
        *(("scamp", first) for first in range(100, 300, 25)),
        *((membership, first) for membership in ("hybrid", "dht") for first in (300, 325)),
    ],
)
def test_every_instance_arrives_in_300_hierarchies(membership: str, first: int) -> None:
    found = {seed: faults(seed, membership) for seed in range(first, first + 25)}
    assert {seed: wrong for seed, wrong in found.items() if wrong} == {}
