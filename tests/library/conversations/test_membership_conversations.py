"""Golden conversations of Cyclon and HyParView, as their papers print them.

Nobody draws (`drawn_share=0`), so that each text shows one rule of a paper alone.

`tests.library.conversations.test_conversations` says how they are played, and rewritten.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from camcast.engine.link_messages import ReqContact
from camcast.engine.liveness_messages import Probe, Verdict
from camcast.testing.world import name_of
from membership.hyparview_messages import Meet, Shuffle, ShuffleReply
from tests.library.conversations.golden import (
    assert_says_what_is_written,
    assert_short_enough_to_read,
)
from tests.library.conversations.test_conversations import GATEWAY, HEARTBEATS, Story, community

HERE = Path(__file__).parent / "memberships"
UNSAID = (*HEARTBEATS, *GATEWAY, ReqContact)


def cyclon_join(story: Story) -> None:
    """Cyclon: the contact of a newcomer starts as many walks as a view has entries: three.

    n1 is the gateway, and names n2. Where a walk ends, the newcomer takes the place of an entry,
    and is given that one.
    """
    nodes = community(story, 5)
    newcomer = story.process(nodes[0])
    story.state(*nodes)
    story.say("n6 joins")
    story.join(newcomer, ".a")
    story.network.run(0.3)
    story.only(newcomer)
    story.run(0.0, *UNSAID)
    story.state(*nodes, newcomer)


def cyclon_shuffle(story: Story) -> None:
    """Cyclon: each process shuffles with the oldest of its view, once a second.

    An entry is shown with its age in periods. The first that is sent is the process's own. n3 has
    crashed: whoever finds it the oldest asks twice, and drops it.
    """
    nodes = community(story, 5)
    story.state(*nodes)
    story.say("a second passes")
    story.run(1.0, *UNSAID)
    story.state(*nodes)
    story.say("n3 crashes; three seconds later")
    story.network.kill(nodes.pop(2))
    story.skip(3.0)
    story.run(1.0, *UNSAID)
    story.state(*nodes)
    story.skip(4.0)
    story.say("four seconds later")
    story.state(*nodes)


def cyclon_leave(story: Story) -> None:
    """Cyclon: who leaves says so to its view, and to whoever still holds it and asks."""
    nodes = community(story, 6)
    leaver = nodes[3]
    story.state(*nodes)
    story.say(f"{name_of(leaver.me.address)} leaves")
    story.leave(leaver, 0.0)
    story.network.run(4.0)
    story.only(leaver)
    story.run(0.0, *UNSAID)
    nodes.remove(leaver)
    story.state(*nodes)


def hyparview_join(story: Story) -> None:
    """HyParView: three neighbours at most; the contact takes a newcomer in, and looks for others.

    n1 is the gateway. Whoever loses its place is told, and asks another for one.
    """
    nodes = community(story, 6)
    newcomer = story.process(nodes[0])
    story.state(*nodes)
    story.say("n7 joins")
    story.join(newcomer, ".a", 0.3, *UNSAID, Meet, Shuffle, ShuffleReply)
    story.state(*nodes, newcomer)


def hyparview_crash(story: Story) -> None:
    """HyParView: a neighbour that failed is replaced by one of the passive view.

    n3 crashes; its neighbours, who learn it from the liveness service, ask others in its place.
    """
    nodes = community(story, 8)
    story.state(*nodes)
    story.say("n3 crashes")
    story.network.kill(nodes.pop(2))
    story.run(12.0, *UNSAID, Meet, Shuffle, ShuffleReply, Probe, Verdict)
    story.state(*nodes)


def hyparview_shuffle(story: Story) -> None:
    """HyParView: a shuffle walks six steps; where it ends, as many of a passive view come back."""
    nodes = community(story, 8)
    story.skip(5.0)
    story.wait_for(nodes[0], Shuffle)
    story.run(0.2, *UNSAID, Meet)


def hyparview_leave(story: Story) -> None:
    """HyParView: who leaves says so to its neighbours, who ask others in its place."""
    nodes = community(story, 7)
    story.state(*nodes)
    leaver = nodes.pop(3)
    story.say(f"{name_of(leaver.me.address)} leaves")
    story.leave(leaver, 0.4, *UNSAID, Meet, Shuffle, ShuffleReply)
    story.state(*nodes)


CYCLON: tuple[Callable[[Story], None], ...] = (cyclon_join, cyclon_leave, cyclon_shuffle)
HYPARVIEW: tuple[Callable[[Story], None], ...] = (
    hyparview_join,
    hyparview_crash,
    hyparview_shuffle,
    hyparview_leave,
)


@pytest.mark.parametrize("scenario", CYCLON, ids=lambda scenario: scenario.__name__)
def test_cyclon_says_what_is_written(scenario: Callable[[Story], None]) -> None:
    assert_says_what_is_written(
        HERE, scenario, Story(membership="cyclon", view=3, shuffle=2, drawn_share=0.0)
    )


@pytest.mark.parametrize("scenario", HYPARVIEW, ids=lambda scenario: scenario.__name__)
def test_hyparview_says_what_is_written(scenario: Callable[[Story], None]) -> None:
    assert_says_what_is_written(
        HERE, scenario, Story(membership="hyparview", active=3, drawn_share=0.0)
    )


def test_every_text_is_of_a_scenario_and_short_enough_to_read() -> None:
    assert_short_enough_to_read(HERE, (*CYCLON, *HYPARVIEW))
