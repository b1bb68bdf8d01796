"""A contract in which messages or timers breed others ends, and says which process it was."""

from __future__ import annotations

from typing import Any

import pytest

from camcast.testing.town import Town
from camcast.testing.world import ENDLESS_INPUTS, World
from camcast.vocabulary.outbox import Wake
from camcast.vocabulary.topics import ROOT

TOO_MANY = f"more than {ENDLESS_INPUTS} messages and timers within a second"


def test_a_world_in_which_timers_double() -> None:
    world = World()
    node = world.join(ROOT)

    def wake(token: Any, now: float) -> None:
        node.outbox.wakes += 2 * [Wake(0.1, token)]

    node.wake = wake  # type: ignore[method-assign]  # a broken plug's
    with pytest.raises(AssertionError, match=f"{node.me.address} takes {TOO_MANY}"):
        world.run(60.0)


def test_a_town_in_which_timers_double() -> None:
    town = Town("gateways")
    person = town.gateway

    def wake(name: Any, now: float) -> None:
        for _ in range(2):
            town.queue.after(0.1, town.wake, person, *name)

    person.discovery.wake = wake  # type: ignore[method-assign]  # a broken plug's
    town.wake(person, "tick")
    with pytest.raises(AssertionError, match=f"{person.me.address} takes {TOO_MANY}"):
        town.run(60.0)
