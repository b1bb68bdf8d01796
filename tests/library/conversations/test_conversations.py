"""Golden conversations: what processes say to each other, as plain text to read and review.

Each scenario is played by real nodes in a virtual network, whose messages take 0.01 s; what
they said is compared with the text beside this file. After a wanted change of behaviour:

    CAMCAST_REWRITE_CONVERSATIONS=1 pytest tests/library/conversations; git diff tests
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from camcast.doors.plugs import find_backend
from camcast.engine.link_messages import ReqContact
from camcast.engine.liveness_messages import Answer, Heartbeat, Probe
from camcast.engine.node import Node
from camcast.engine.publisher import BUSY_EVENTS
from camcast.engine.repair.messages import Have
from camcast.engine.settings import Parts
from camcast.engine.store import Store
from camcast.testing.world import World, name_of
from camcast.vocabulary.batches import Batch
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic
from membership.scamp.messages import Copy, Kept, Renew, Subscribe
from overlays.gateway_messages import Announce, Ask, Members, Nobody, Unknown
from tests.library.conversations.golden import (
    assert_says_what_is_written,
    assert_short_enough_to_read,
)
from tests.transcript import Transcript

HERE = Path(__file__).parent

HEARTBEATS = (Heartbeat, Answer)
GATEWAY = (Announce, Ask, Members, Nobody, Unknown)
SEARCH = (ReqContact,)
MEMBERSHIP = (Renew, Copy, Kept)


class Story:
    """A network, and the text of what is done and said in it."""

    def __init__(self, seed: int = 1, membership: str = "scamp", **options: Any) -> None:
        self.network = World(seed)
        self.membership = membership
        self.text: list[str] = []
        self.options = options
        self._topics = (".", ".a", ".a.b", ".a.b.c")
        keeper: Any = find_backend(membership).keeper
        self._transcript = Transcript(self.network, self._topics, keeper)

    def repair(self) -> None:
        """Let processes that are started from now on ask again for what they missed."""
        self.network.parts = Parts(store=Store())

    def process(self, *gateways: Node, **parameters: Any) -> Node:
        """Start a process that knows these gateways."""
        defaults = {"refresh_probability": 0.0, "spread": "infect"}
        return self.network.add(
            tuple(gateway.me.address for gateway in gateways),
            options=self.options,
            parameters=CommunitySettings(**{**defaults, **parameters}),
            backend=self.membership,
        )

    def say(self, text: str) -> None:
        """Write down what is done next."""
        self.text.append(f"\n# {text}")

    def join(self, node: Node, topic: str, seconds: float = 0.0, *hidden: type[Any]) -> None:
        """Join, and show what follows within so many seconds."""
        self.do(node, lambda n, now: n.join(Topic.parse(topic), now), seconds, *hidden)

    def leave(self, node: Node, seconds: float, *hidden: type[Any]) -> None:
        """Leave `.a`, and show what follows within so many seconds."""
        self.do(node, lambda n, now: n.leave(Topic.parse(".a"), now), seconds, *hidden)

    def do(
        self,
        node: Node,
        act: Callable[[Node, float], Any],
        seconds: float,
        *hidden: type[Any],
    ) -> None:
        """Give a command, and show what follows, if time is given for it."""
        self.network.do(node, act)
        if seconds:
            self.run(seconds, *hidden)

    def run(self, seconds: float, *hidden: type[Any]) -> None:
        """Let time pass, and show what is said but for messages of the hidden kinds."""
        self.network.run(seconds)
        self.text += self._transcript.lines(*hidden)
        self._transcript.exchanges.clear()

    def skip(self, seconds: float) -> None:
        """Let time pass unseen."""
        self.network.run(seconds)
        self._transcript.exchanges.clear()

    def wait_for(self, who: Node, kind: type[Any]) -> None:
        """Let time pass unseen until this process says a message of this kind."""
        while not any(e.sender == who.me.address for e in self._transcript.of(kind)):
            self._transcript.exchanges.clear()
            self.network.run(0.01)

    def only(self, who: Node) -> None:
        """Forget what was not said by, to or for this process."""
        about = [e for e in self._transcript.exchanges if who.me.address in (e.sender, e.target)]
        self._transcript.exchanges[:] = about

    def last_pushed(self) -> tuple[Node, Node]:
        """Return who has sent the last batch that was said, and to whom."""
        last = self._transcript.of(Batch)[-1]
        return self.network.alive[last.source], self.network.alive[last.target]

    def state(self, *nodes: Node, topic: str = ".a") -> None:
        """Write down who holds arcs to whom."""
        for node in nodes:
            (local_group,) = node.local_groups
            view = " ".join(sorted(name_of(c.address) for c in local_group.membership.peers()))
            self.text.append(f"{'':9}{name_of(node.me.address)}'s view of {topic}: {view}")


def community(
    story: Story, size: int, topic: str = ".a", seconds: float = 5.0, **parameters: Any
) -> list[Node]:
    """Let a gateway, which is a member too, and others join, unseen."""
    nodes = [story.process(**parameters)]
    nodes += [story.process(nodes[0], **parameters) for _ in range(size - 1)]
    for node in nodes:
        story.join(node, topic, 0.0)
        story.skip(1.0)
    story.skip(seconds)
    return nodes


def gateway_seek(story: Story) -> None:
    """A gateway of no community remembers who announces itself, and tells who asks.

    n1 is the gateway. Without members the newcomer founds the community.
    """
    gateway = story.process()
    founder, second = story.process(gateway), story.process(gateway)
    story.say("n2 joins .a: the gateway knows nobody, so n2 founds the community")
    story.join(founder, ".a", 0.5, *HEARTBEATS)
    story.say("n3 joins .a: the gateway names n2, who subscribes it")
    story.join(second, ".a", 0.4, *HEARTBEATS)
    story.say("n3 leaves: it withdraws from the gateway, and takes leave of its peers")
    story.leave(second, 0.1, *HEARTBEATS)
    story.say("the lease at the gateway is renewed every 10 s")
    story.run(9.5, *HEARTBEATS)


def gateway_silent(story: Story) -> None:
    """Nobody answers: the process asks again, at growing pauses, and founds nothing."""
    gateway = story.process()
    lonely = story.process(gateway)
    story.network.kill(gateway)
    story.say("n1, the only gateway, is dead; n2 joins .a")
    story.join(lonely, ".a", 14.0, Announce)
    (local_group,) = lonely.local_groups
    assert local_group.unanswered is not None
    asked = " ".join(map(name_of, local_group.unanswered.unreachable))
    story.text.append(f"{'':9}n2 has joined: {local_group.joined}; it asked in vain: {asked}")


def gateway_half(story: Story) -> None:
    """Half an answer founds no community: all registers that anybody goes by have to say nobody.

    n1 is the gateway, n2 and n3 are members of .a.b and .a. n4 is told of n1 and n3.
    """
    gateway = story.process()
    for topic in (".a.b", ".a"):
        member = story.process(gateway)
        story.join(member, topic)
        story.skip(1.0)
    story.network.kill(gateway)
    newcomer = story.process(gateway, member)
    story.say("n1 is dead; n4 joins .a.b: n3, in another community, does not know who is there")
    story.join(newcomer, ".a.b")
    story.network.run(2.5)
    story.only(newcomer)
    story.run(0.0, *HEARTBEATS, Announce)
    (local_group,) = newcomer.local_groups
    assert local_group.unanswered is not None
    silent, ignorant = local_group.unanswered.unreachable, local_group.unanswered.ignorant
    story.text.append(
        f"{'':9}n4 has joined: {local_group.joined}; silent: {' '.join(map(name_of, silent))};"
        f" do not know: {' '.join(map(name_of, ignorant))}"
    )
    gateway = story.network.restart(gateway)
    story.say(
        "n1 is back, and n3 goes by it alone: n4 founds .a.b again, and n2 seeks others there"
    )
    story.network.run(4.6)
    story.only(newcomer)
    story.run(0.0, *HEARTBEATS, *SEARCH)
    story.skip(10.0)
    story.state(newcomer, topic=".a.b")


def scamp_join(story: Story) -> None:
    """SCAMP: three processes join, through the gateway n1, which is a member too.

    A newcomer's view starts as {contact}; its contact sends |view| + c copies of the
    subscription, and who keeps one says so.
    """
    nodes = [story.process()]
    nodes += [story.process(nodes[0]) for _ in range(3)]
    story.join(nodes[0], ".a")
    for number, node in enumerate(nodes[1:], 2):
        story.say(f"n{number} joins")
        story.join(node, ".a", 0.9, *HEARTBEATS, *GATEWAY, *SEARCH)
        story.state(*nodes[:number])


def scamp_heartbeats(story: Story) -> None:
    """Heartbeats prove both ends of an arc alive; what SCAMP says of the arcs goes along.

    A heartbeat is answered unless its receiver has sent one of its own since the last.
    What did not change goes along once in ten. With c = 0 few arcs lead both ways.
    """
    story.options["c"] = 0
    nodes = community(story, 5)
    story.state(*nodes)
    story.say("one period of a community of five")
    story.run(1.0, *GATEWAY, *SEARCH)


def scamp_unsubscribe(story: Story) -> None:
    """A process leaves: of its l holders, l - c - 1 replace it by one of its own view.

    They ask it first whether it is there: anybody can say goodbye in its name.
    """
    nodes = community(story, 6)
    story.state(*nodes)
    story.say("n3 leaves")
    story.leave(nodes[2], 0.5, *HEARTBEATS, *GATEWAY, *SEARCH)
    story.state(*(node for node in nodes if node is not nodes[2]))


def scamp_lease(story: Story) -> None:
    """A lease ends: copies for new holders first, and then so many old holders drop.

    Of 20 processes, with c = 0, only what is said by, to or for n5 is shown.
    """
    story.options["c"] = 0
    nodes = community(story, 20, seconds=20.0)
    story.wait_for(nodes[4], Renew)
    story.say("n5's lease ends; it asks for one new holder, a quarter of three")
    story.network.run(2.5)
    story.only(nodes[4])
    story.run(0.0, *HEARTBEATS, *GATEWAY, *SEARCH)


def scamp_isolation(story: Story) -> None:
    """A process that is cut off keeps its view; when it is back, it subscribes again."""
    nodes = community(story, 3, seconds=2.0)
    cut = nodes[2].me.address
    story.say("n3's links are cut; n1 and n2 give it up, since neither reaches it")
    story.network.cut(lambda source, target: cut not in (source, target))
    story.run(8.0, *HEARTBEATS, *GATEWAY, *SEARCH, Subscribe, Renew)
    story.state(*nodes)
    story.say("the links heal")
    story.network.heal()
    story.run(5.0, *HEARTBEATS, *GATEWAY, *SEARCH)
    story.skip(5.0)
    story.say("five seconds later")
    story.state(*nodes)


def link_search(story: Story) -> None:
    """Figure 5: the search for super-processes widens by one ancestor a timeout.

    n1 is a gateway of no community. Nobody is in .a.b or .a; n2 is in the root community.
    """
    gateway = story.process()
    root, low, fellow = (story.process(gateway, z=2, check_seconds=1e6) for _ in range(3))
    story.join(root, ".")
    story.skip(2.0)
    story.say("n3 joins .a.b.c; its search starts at .a.b")
    story.join(low, ".a.b.c", 4.0, *HEARTBEATS, Announce)
    story.say("n4 joins .a.b; n3's search, which goes on for the nearer levels, finds it")
    story.join(fellow, ".a.b")
    story.run(3.0, *HEARTBEATS, Announce)


def link_relay(story: Story) -> None:
    """Figure 5, lines 4 to 13: a neighbour answers a search, or passes it on for the searcher.

    n1 is the gateway and founder of .a, and the only one in the root community. What is said
    to the gateway as such is not shown: without it the neighbours alone would do.
    """
    nodes = community(story, 3)
    story.skip(2.0)
    story.join(nodes[0], ".")
    story.say("n1 has joined the root community; the searches of .a meet it")
    story.run(9.0, *HEARTBEATS, *GATEWAY)


def link_upkeep(story: Story) -> None:
    """Figure 6: a check finds a dead super-process, and a live one names another.

    n1 is the gateway; n2 to n4 are in the root community, n5 is in .a with z = 2.
    """
    gateway = story.process()
    above = [story.process(gateway) for _ in range(3)]
    for node in above:
        story.join(node, ".")
        story.skip(1.0)
    low = story.process(gateway, z=2, check_seconds=4.0)
    story.join(low, ".a")
    story.skip(3.0)
    (local_group,) = low.local_groups
    dead = local_group.links[0].nearest()[1][0]
    story.say(f"n5 links to two of them; {name_of(dead.address)} crashes")
    story.network.kill(story.network.alive[dead.address])
    story.run(8.0, *HEARTBEATS, *GATEWAY, *SEARCH)
    links = " ".join(name_of(c.address) for c in local_group.links[0].nearest()[1])
    story.text.append(f"{'':9}n5 links to {links}")


def link_healing(story: Story) -> None:
    """Links come back after a cut between two levels, with no gateway alive.

    n1 was the gateway; n2 and n3 are in the root community, n4 and n5 in .a.
    """
    gateway = story.process()
    above, below = ([story.process(gateway, z=2) for _ in range(2)] for _ in range(2))
    for node, topic in zip([*above, *below], (".", ".", ".a", ".a"), strict=True):
        story.join(node, topic)
        story.skip(1.0)
    story.skip(20.0)
    story.network.kill(gateway)
    lower = {node.me.address for node in below}
    story.network.cut(lambda source, target: (source in lower) == (target in lower))
    story.say("n1 is dead and the levels are cut from each other, for 25 s")
    story.skip(25.0)
    story.say("the cut heals: the first that hears of a cold one again heals the other, too")
    story.network.heal()
    story.run(5.0, *HEARTBEATS, *GATEWAY, *MEMBERSHIP)


def upward(story: Story) -> None:
    """Figures 7 and 8: an event climbs from .a.b over .a to the root.

    n1 is a gateway of no community; n2 and n3 are in ., n4 and n5 in .a, n6 and n7 in .a.b.
    In communities of fewer than g = 5 everyone is a link: p_sel = 1; here p_a = a/z = 1/3.
    """
    gateway = story.process()
    nodes = []
    for topic in (".", ".", ".a", ".a", ".a.b", ".a.b"):
        nodes.append(story.process(gateway))
        story.join(nodes[-1], topic)
        story.skip(1.0)
    story.skip(20.0)
    story.say("n6 publishes in .a.b")
    story.do(
        nodes[4],
        lambda n, now: n.publish(Topic.parse(".a.b"), b"goal", now),
        0.2,
        *HEARTBEATS,
        *GATEWAY,
    )
    got = [name_of(node.me.address) for node, _ in story.network.delivered]
    story.text.append(f"{'':9}delivered once each, in this order, by {' '.join(got)}")


def tree(story: Story) -> None:
    """A stream is pushed along a tree: second copies prune it, and who loses its parent grafts.

    Who is not sent the stream is told of it (Have), and asks (Want) when its parent is silent.
    """
    story.repair()
    nodes = community(story, 5, seconds=15.0, spread="auto")

    def publish(node: Node, now: float) -> None:
        for _ in range(BUSY_EVENTS):
            node.publish(Topic.parse(".a"), b"!", now)

    quiet = (*HEARTBEATS, *GATEWAY, *SEARCH, *MEMBERSHIP)
    story.say("n1 publishes ten events at once, so that the stream is busy; it has three children")
    story.do(nodes[0], publish, 0.04, *quiet, Have)
    story.skip(2.5)
    story.say("the next batch takes a copy a process")
    story.network.do(nodes[0], publish)
    story.network.run(0.04)
    parent, child = story.last_pushed()
    story.run(0.0, *quiet, Have)
    story.skip(2.5)
    names = name_of(parent.me.address), name_of(child.me.address)
    story.say("{} crashes, and n1 publishes again: what {} says and hears".format(*names))
    story.network.kill(parent)
    story.network.do(nodes[0], publish)
    story.network.run(2.0)
    story.only(child)
    story.run(0.0, *quiet, Probe)
    story.say("the next batch")
    story.do(nodes[0], publish, 0.04, *quiet, Have)


def tree_above(story: Story) -> None:
    """A busy stream goes on in the community above, which it enters at one process.

    It is offered there (Have), asked for (Want), and pushed to who grafts. n2 and n3 are above, n4
    publishes below.
    """
    story.repair()
    gateway = story.process(spread="auto")
    above = [story.process(gateway, spread="auto") for _ in range(2)]
    publisher = story.process(gateway, spread="auto")
    for node in above:
        story.join(node, ".a", 0.0)
        story.skip(1.0)
    story.join(publisher, ".a.b", 0.0)
    story.skip(15.0)

    def publish(node: Node, now: float) -> None:
        for _ in range(BUSY_EVENTS):
            node.publish(Topic.parse(".a.b"), b"!", now)

    quiet = (*HEARTBEATS, *GATEWAY, *SEARCH, *MEMBERSHIP)
    story.say("n4 publishes ten events at once, so that the stream is busy")
    story.do(publisher, publish, 0.06, *quiet)
    story.skip(2.5)
    story.say("the next batch")
    story.network.do(publisher, publish)
    story.network.run(0.04)
    taker, _ = story.last_pushed()
    story.run(0.0, *quiet)
    story.skip(2.5)
    story.say(f"{name_of(taker.me.address)} leaves, and n4 publishes again")
    story.leave(taker, 0.02, *quiet)
    story.do(publisher, publish, 0.06, *quiet)


SCENARIOS: tuple[Callable[[Story], None], ...] = (
    *(gateway_seek, gateway_silent, gateway_half, scamp_join, scamp_heartbeats, scamp_unsubscribe),
    *(scamp_lease, scamp_isolation, link_search, link_relay, link_upkeep, link_healing, upward),
    *(tree, tree_above),
)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_they_say_what_is_written(scenario: Callable[[Story], None]) -> None:
    assert_says_what_is_written(HERE, scenario, Story())


def test_every_text_is_of_a_scenario_and_short_enough_to_read() -> None:
    assert_short_enough_to_read(HERE, SCENARIOS)
