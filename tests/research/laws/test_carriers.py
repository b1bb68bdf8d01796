"""What those that can be dialled pay for the others: the closed form, and the code that ships.

In the virtual network, with SCAMP, the processes that nobody can dial join after the others.
"""

from __future__ import annotations

from statistics import mean

import pytest

from camcast.research.systems.camcast.carriers import RECORD_BYTES, carriers_of
from camcast.testing.pressed_membership_contract import membership_of
from camcast.testing.world import World
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

TOPIC = Topic.parse(".c")
EVENTS = 8
EVENT_BYTES = 1000


@pytest.mark.parametrize(
    ("size", "unreachable"),
    [
        (10, 0.9),
        *(
            pytest.param(*setting, marks=pytest.mark.slow)
            for setting in [(20, 0.8), (20, 0.5), (40, 0.9), (40, 0.5)]
        ),
    ],
)
def test_carriers_hold_and_send_what_the_plan_says(size: int, unreachable: float) -> None:
    """To a fifth."""
    planned = carriers_of(
        size, CommunitySettings().fan_out(float(size)), unreachable, has_above=False
    )
    world = World(1, repair=True)
    gateway = world.add()
    nodes = []
    for number in range(size):
        node = world.add((gateway.me.address,), dialable=number < planned.carriers)
        world.do(node, lambda one, now: one.join(TOPIC, now))
        nodes.append(node)
        world.run(0.2)
    world.run(30.0)
    sent = dict[str, list[int]]()

    def note(source: str, _target: str, record: bytes) -> None:
        if len(record) > EVENT_BYTES:
            sent.setdefault(source, []).append(len(record))

    world.virtual.on_send = note
    for number in range(EVENTS):
        world.publish(nodes[number * 7 % size], TOPIC, b"!" * EVENT_BYTES, 0.4)
    carriers = nodes[: planned.carriers]
    links = mean(membership_of(node).peers().attached for node in carriers)
    copies = mean(len(sent[node.me.address]) for node in carriers) / EVENTS
    assert links == pytest.approx(planned.links, rel=0.2)
    assert copies == pytest.approx(planned.copies, rel=0.2)
    assert {one - EVENT_BYTES for several in sent.values() for one in several} == {RECORD_BYTES}
