"""Golden conversations of hpmcast's membership and gossip; see `test_conversations`.

Processes are n1, n2… in the order of their start; with arity 2 and two levels, n1, n3 and n5 are
the subsystem 1, n2 and n4 the subsystem 0. Messages take 0.01 s. A line is shown as its branch
address, its stamp, its delegates and its interest; a stamp alone as it is in `Gossip`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camcast.engine.node import Node
from camcast.research.systems.hpmcast.protocol import Herald, LevelWise
from camcast.research.systems.hpmcast.view_messages import (
    DECODER,
    Gossip,
    Join,
    Key,
    LineNews,
    Update,
    View,
    Visit,
)
from camcast.testing.world import name_of
from camcast.vocabulary import wire
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import Topic
from camcast.vocabulary.wire import Kind
from tests.library.conversations.golden import (
    assert_says_what_is_written,
    assert_short_enough_to_read,
)
from tests.research.laws.hpmcast_world import HpmcastWorld, views

HERE = Path(__file__).parent / "hpmcast"


class Story:
    """A small world, and the text of what is said in it."""

    def __init__(self, seed: int = 1) -> None:
        self.world = HpmcastWorld(seed, latency=0.01, arity=2, depth=2, redundancy=2, fan_out=2)
        self.text: list[str] = []
        self._said: list[str] = []
        self._started = 0
        self.world.virtual.on_send = self._take

    def join(self, topic: str = ".a", seconds: float = 0.2, where: str = "") -> Node:
        self._started += 1
        number = self._started
        process = self.world.begin(topic, gap=0.0, peer=PeerId(number.to_bytes(16)), where=where)
        self.world.run(seconds)
        return process

    def say(self, text: str) -> None:
        """Write down what is done next."""
        self.text.append(f"\n# {text}")

    def show(self, *hidden: type[Any] | str) -> None:
        """Write down what was said since the last time."""
        names = [kind if isinstance(kind, str) else kind.__name__ for kind in hidden]
        self.text += [line for line in self._said if not any(f" {n}(" in line for n in names)]
        self._said.clear()

    def skip(self, seconds: float) -> None:
        """Let time pass unseen."""
        self.world.run(seconds)
        self._said.clear()

    def tables(self, process: Node) -> None:
        """Write down somebody's views (Figure 5)."""
        membership = views(process)
        for level in (2, 1):
            lines = " | ".join(
                f"{'.'.join(map(str, line.branch))}: "
                + " ".join(name_of(membership.contact(one).address) for one in line.delegates)
                + f" of {line.processes} {line.interest}"
                for line in membership.table(level)
            )
            name = name_of(process.me.address)
            self.text.append(f"{'':9}{name}'s view of level {level}: {lines}")

    def _take(self, source: str, target: str, record: bytes) -> None:
        sender, shown = source, "Event()"
        if record[4] != Kind.EVENT:
            kind, _, _, sender, _, body = wire.decode_control(record, 0, len(record))
            if kind is Kind.PROTOCOL:
                assert LevelWise.decoder is not None
                shown = self._show(LevelWise.decoder.decode(body))
            elif kind is Kind.LIVENESS:
                return  # whether a newcomer is at its address; no message of the papers
            else:
                shown = self._show(DECODER.decode(body))
        passed_on = "" if sender == source else f" for {name_of(sender)}"
        path = f"{name_of(source)} → {name_of(target)}{passed_on}"
        self._said.append(f"{self.world.now:7.2f}  {path:<16} {shown}")

    def _show(self, message: Any) -> str:
        match message:
            case Join(line=line) | Visit(line=line):
                inside = self._line(line)
            case View(lines=lines) | Update(lines=lines):
                inside = ", ".join(map(self._line, lines))
            case Gossip(stamps=stamps):
                inside = " ".join(f"{self._key(level, key)}@{at}" for level, key, at in stamps)
            case Herald(share=share, rounds=rounds, level=level):
                inside = f"level={level} rounds={rounds} share={share:.2f}"
            case _:
                inside = ""
        return f"{type(message).__name__}({inside})"

    def _line(self, line: LineNews) -> str:
        who = " ".join(name_of(contact.address) for contact in line.contacts)
        said = f"{who} {line.interest}" if who else "gone"
        return f"{self._key(line.level, line.key)}@{line.stamp} {said}"

    def _key(self, level: int, key: Key) -> str:
        return f"n{int.from_bytes(key)}" if isinstance(key, bytes) else str(key)


def join(story: Story) -> None:
    """Joining by recursion (002, 4.2.1).

    A newcomer asks a random member. Who is not its neighbour passes it on to a delegate of its
    subsystem; the neighbour answers with its view, and the newcomer greets all neighbours.
    """
    story.join()
    story.say("n2 joins through n1, which knows nobody of its subsystem 0: n2 founds it")
    story.join(".b")
    story.show(Visit)
    story.skip(0.2)
    story.say("n3 joins, a neighbour of n1's")
    story.join(".a.x")
    story.show(Visit)
    story.skip(3.0)
    story.say("n4 joins, a neighbour of n2's")
    fourth = story.join(".c")
    story.show(Visit)
    story.skip(0.3)
    story.say("n5 joins")
    fifth = story.join()
    story.show(Visit)
    story.skip(5.0)
    story.say("five seconds later")
    story.tables(fourth)
    story.tables(fifth)


def period(story: Story) -> None:
    """A gossip period: stamps one way, newer lines the other way; and the visits of the first.

    n1 is the first of subsystem 1, n2 of subsystem 0.
    """
    for topic in (".a", ".b", ".a", ".b"):
        story.join(topic)
    story.skip(6.0)
    story.world.run(1.0)
    story.show()


def leave(story: Story) -> None:
    """A process leaves: it tells its neighbours, and gossip tells the others.

    n1 is the first delegate of its subsystem; the next one condenses it then.
    """
    processes = [story.join() for _ in range(5)]
    story.skip(6.0)
    story.tables(processes[1])
    story.say("n1 leaves")
    story.world.do(processes[0], lambda node, now: node.leave(Topic.parse(".a"), now))
    story.show()
    story.skip(4.0)
    story.say("four seconds later")
    story.tables(processes[1])
    story.tables(processes[2])


def crash(story: Story) -> None:
    """A neighbour falls silent: it is asked after five periods, and removed two later."""
    processes = [story.join() for _ in range(5)]
    story.skip(6.0)
    story.say("n1 crashes")
    story.world.kill(processes[0])
    story.world.run(12.0)
    story.show(Gossip, Visit, Update)
    story.tables(processes[1])
    story.tables(processes[2])


def event(story: Story) -> None:
    """Figure 6: an event, each copy with its herald, on level 2 and then on level 1.

    n4 and n5 want nothing of it; n4 is a delegate of its subsystem, and so n2's fellow.
    """
    processes = [story.join(topic) for topic in (".a", ".a", ".a", ".b", ".b")]
    story.skip(6.0)
    story.say("n1 publishes on .a")
    story.world.say(processes[0])
    story.world.run(1.5)
    story.show(Gossip, Visit, Update, "Event")


def attributes(story: Story) -> None:
    """Interests in attributes: precise among neighbours, weaker above (002, 4.2.2, 6.1.1).

    Of the subsystem 0 n2 wants what n4 wants, and more. Those of 1 want different attributes, on
    which they do not agree: their line names the topic only.
    """
    wheres = ("km < 30", "mag > 2", "mag > 4", "mag > 4 and km < 30", "km < 9")
    processes = [story.join(where=where) for where in wheres]
    story.skip(8.0)
    story.tables(processes[0])
    story.tables(processes[1])
    story.say("n1 publishes mag 3, km 50, which only n2 wants; n3 is a delegate of 1")
    story.world.say(processes[0], b'{"mag": 3, "km": 50}')
    story.world.run(1.5)
    story.show(Gossip, Visit, Update, "Event")
    story.say("n2 wants mag > 4 only")
    story.world.want(processes[1], ".a", "mag > 4")
    story.world.run(1.0)
    story.show(Gossip, Visit)
    story.skip(4.0)
    story.tables(processes[0])
    story.say("n3 publishes the same again")
    story.world.say(processes[2], b'{"mag": 3, "km": 50}')
    story.world.run(1.5)
    story.show(Gossip, Visit, Update, "Event")


SCENARIOS: tuple[Callable[[Story], None], ...] = (join, period, leave, crash, event, attributes)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_they_say_what_is_written(scenario: Callable[[Story], None]) -> None:
    assert_says_what_is_written(HERE, scenario, Story())


def test_every_text_is_of_a_scenario_and_short_enough_to_read() -> None:
    assert_short_enough_to_read(HERE, SCENARIOS)
