"""The laws of super-topic tables; a test class inherits `SuperTableContract`.

The tables of a community are to be random draws of the community above (000, 5.2.3: "dynamic and
uniform random membership tables"). If they are copies of one, a few super-processes carry all that
climbs, and a crash of these cuts the community off.

The *in-degree* of a super-process is how many tables hold it. For n tables of z independent
uniform draws from N it is binomial; where draws go by the own in-degrees of the members, as the
answers of members from their topic tables do, its variance is mean + mean^2 CV^2 with the
coefficient of variation CV of those in-degrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from random import Random
from statistics import fmean, pvariance
from typing import ClassVar, Final

from attrs import frozen

from camcast.engine.node import Node
from camcast.observe.trace import TraceRecord
from camcast.testing.world import World
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import Topic

ABOVE: Final = Topic.parse(".above")
BELOW: Final = Topic.parse(".above.below")
# chosen: with one seed even draws, 79 tables of 3 from 28, exceed it in 2 to 3 % of 4,000 runs
EXCESS: Final = 1.5
HOT: Final = 1 / 7  # chosen: 4 of 28; by chance the busiest four have a fifth of all entries
HOT_SHARES: Final = 2.1  # chosen: 30 % for 4 of 28, of which 14 % would be even
SETTLE_SECONDS: Final = 70.0  # chosen: until all have linked and draws have followed the joins
CHURN: Final = 0.3  # chosen: of both communities, replaced by newcomers
CHURN_SECONDS: Final = 120.0  # chosen: p_sel finds the dead, and draws follow
EVENTS: Final = 60  # chosen: one a second, over the time in which four dead entries are replaced


@frozen
class InDegrees:
    """How many live tables hold each live super-process, and how many topic tables above do."""

    tables: tuple[int, ...]
    own: tuple[int, ...]

    @property
    def entries(self) -> int:
        """How many entries the tables have together."""
        return sum(self.tables)

    def expected_variance(self, *, uniform: bool) -> float:
        """Return the variance of draws, uniform or by the super-processes' own in-degrees."""
        count = len(self.tables)
        mean = self.entries / count
        if uniform:
            return mean * (1 - 1 / count)
        return mean + mean**2 * pvariance(self.own) / fmean(self.own) ** 2

    @property
    def variance(self) -> float:
        """The variance over the super-processes."""
        return pvariance(self.tables)


class _Climbed:
    """A trace's sink that counts upward messages by the process they go to."""

    def __init__(self) -> None:
        self.to: Counter[str] = Counter()

    def write(self, record: TraceRecord) -> None:
        if record.kind == "upward":
            self.to[record.peer] += 1


class TwoLevels:
    """A community and one below it, of processes that find others by their own discovery."""

    def __init__(self, contract: SuperTableContract, seed: int, *, repair: bool) -> None:
        self.contract = contract
        self.climbed = _Climbed()
        self.world = World(seed, self.climbed, repair=repair)
        self.rng = Random(seed)
        self.gateways: tuple[str, ...] = ()
        self.gateways = (self.start().me.address,)
        self.world.run(3.0)
        self.above: list[Node] = []
        self.below: list[Node] = []

    def start(self) -> Node:
        """Start a process that joins nothing yet; the first one is the gateway of the others."""
        options = dict(self.contract.options)
        return self.world.add(self.gateways, options, backend=self.contract.membership)

    def join(self, topic: Topic) -> None:
        """Let a new process join one of the two communities."""
        node = self.start()
        (self.above if topic is ABOVE else self.below).append(node)
        self.world.do(node, lambda node, now: node.join(topic, now))

    def live(self, nodes: Sequence[Node]) -> list[Node]:
        """Return those that are alive."""
        alive = {*self.world.alive.values()}
        return [node for node in nodes if node in alive]

    def in_degrees(self) -> InDegrees:
        """Count who is in how many tables."""
        held: Counter[PeerId] = Counter()
        own: Counter[PeerId] = Counter()
        for node in self.live(self.below):
            (local_group,) = node.local_groups
            topic, contacts = local_group.links[0].nearest()
            held.update(contact.peer for contact in contacts if topic == ABOVE)
        above = self.live(self.above)
        for node in above:
            (local_group,) = node.local_groups
            own.update(contact.peer for contact in local_group.membership.peers())
        peers = [node.me.peer for node in above]
        return InDegrees(tuple(held[p] for p in peers), tuple(own[p] for p in peers))

    def most_held(self, count: int) -> list[Node]:
        """Return the super-processes that most tables hold."""
        held = dict(zip(self.live(self.above), self.in_degrees().tables, strict=True))
        return sorted(held, key=held.__getitem__, reverse=True)[:count]

    def churn(self) -> None:
        """Crash some of both communities at once, and let as many join."""
        for nodes, topic in ((self.above, ABOVE), (self.below, BELOW)):
            live = self.live(nodes)
            victims = self.rng.sample(live, int(CHURN * len(live)))
            for victim in victims:
                self.world.kill(victim)
            for _ in victims:
                self.join(topic)
                self.world.run(0.5)
        self.world.run(CHURN_SECONDS)


def _together(levels: TwoLevels, above: int, below: int) -> None:
    order = [ABOVE] * above + [BELOW] * below
    levels.rng.shuffle(order)
    for topic in order:
        levels.join(topic)


def _one_a_second(levels: TwoLevels, above: int, below: int) -> None:
    order = [ABOVE] * above + [BELOW] * below
    levels.rng.shuffle(order)
    for topic in order:
        levels.join(topic)
        levels.world.run(1.0)


def _level_by_level(levels: TwoLevels, above: int, below: int) -> None:
    for _ in range(above):
        levels.join(ABOVE)
    levels.world.run(60.0)
    for _ in range(below):
        levels.join(BELOW)


WAYS: Final[Mapping[str, Callable[[TwoLevels, int, int], None]]] = {
    "together": _together,
    "one a second": _one_a_second,
    "level by level": _level_by_level,
}
"""The ways in which processes join."""


class SuperTableContract:
    """The laws of super-topic tables upon a membership and its discovery.

    A test class inherits it and names its plug: ``membership = "full-view"``. With the defaults it
    takes some CPU minutes, most of them for `test_super_topic_tables_stay_draws`.
    """

    membership: str
    """The name of the entry point in ``camcast.membership``."""
    options: ClassVar[Mapping[str, object]] = {}
    uniform: bool = False
    """Whether the backend's discovery is an overlay, which draws members uniformly."""
    sizes: ClassVar[tuple[int, int]] = (28, 79)
    """The sizes of the community above and of that below."""
    seeds: Sequence[int] = (1,)
    # chosen: the share of one seed has a deviation of .03 (measured on cyclon)
    load_seeds: ClassVar[Sequence[int]] = (1, 2, 3)
    """The seeds over which the load of the busiest is pooled."""
    ways: ClassVar[Sequence[str]] = tuple(WAYS)
    """How processes join; each way is judged by itself."""
    settle_seconds: ClassVar[float] = SETTLE_SECONDS
    """The time that tables have to settle after the last has joined."""
    levels: ClassVar[type[TwoLevels]] = TwoLevels
    """The system of two communities that is judged."""

    def grown(self, seed: int, way: str, *, repair: bool = False) -> TwoLevels:
        """Return two levels that have joined and settled."""
        levels = self.levels(self, seed, repair=repair)
        WAYS[way](levels, *self.sizes)
        levels.world.run(self.settle_seconds)
        return levels

    def test_super_topic_tables_are_draws(self) -> None:
        """000, 5.2.3. The variances are pooled over the seeds."""
        for way in self.ways:
            judged = [self.grown(seed, way).in_degrees() for seed in self.seeds]
            self._assert_draws(judged, f"{self.membership}, {way}")

    def test_super_topic_tables_stay_draws(self) -> None:
        """For ten minutes, and when newcomers have taken the places of processes that crashed.

        The variances are pooled over the seeds and over the looks after five and ten minutes and
        after the churn: a look by itself at even draws from 14 exceeds the bound in 4 of 100.
        """
        judged: list[InDegrees] = []
        for seed in self.seeds:
            levels = self.grown(seed, "together")
            for _ in range(2):
                levels.world.run(300.0)
                judged.append(levels.in_degrees())
            levels.churn()
            judged.append(levels.in_degrees())
        self._assert_draws(judged, f"{self.membership}, for ten minutes and after churn")

    def _assert_draws(self, of_seeds: Sequence[InDegrees], what: str) -> None:
        above, below = self.sizes
        entries = fmean(one.entries for one in of_seeds)
        assert entries >= 0.95 * below * min(above, CommunitySettings().z), f"{what}: {entries}"
        variance = fmean(one.variance for one in of_seeds)
        expected = fmean(one.expected_variance(uniform=self.uniform) for one in of_seeds)
        assert variance <= EXCESS * expected, f"{what}: {variance:.2f} of {expected:.2f}"

    def test_no_super_process_carries_much_more_than_others(self) -> None:
        """000, 1.3: "the overall load is evenly balanced". The shares are pooled over the seeds."""
        hot = round(HOT * self.sizes[0])
        shares: list[float] = []
        for seed in self.load_seeds:
            levels = self.grown(seed, "together")
            levels.climbed.to.clear()
            for _ in range(EVENTS):
                levels.world.publish(levels.rng.choice(levels.below), BELOW, seconds=0.2)
            counts = sorted(levels.climbed.to.values())
            shares.append(sum(counts[-hot:]) / sum(counts))
        assert fmean(shares) <= HOT_SHARES * hot / self.sizes[0], (self.membership, shares)

    def test_a_crash_of_the_most_held_loses_no_event_that_is_repaired(self) -> None:
        for seed in self.seeds:
            levels = self.grown(seed, "together", repair=True)
            received = _received_above_after_crash(levels)
            alive = self.sizes[0] - round(HOT * self.sizes[0])
            complete = [event for event, count in received.items() if count == alive]
            assert len(complete) == EVENTS, (self.membership, seed, received)

    def test_a_crash_of_the_most_held_loses_no_more_than_draws_would(self) -> None:
        """000, 3.5: an event is lost above if no upward message meets a live super-process."""
        above, below = self.sizes
        parameters = CommunitySettings()
        dead = HOT / above
        meets = (
            1 - (1 - parameters.link_probability(below, parameters.z) * (1 - dead)) ** parameters.z
        )
        expected = (1 - parameters.selection_probability(below) * meets) ** below * EVENTS
        for seed in self.seeds:
            received = _received_above_after_crash(self.grown(seed, "together"))
            lost = EVENTS - len(received)
            most = expected + 3 * expected**0.5
            assert lost <= most, f"{self.membership}, seed {seed}: {lost}, {most:.1f} expected"


def _received_above_after_crash(levels: TwoLevels) -> Counter[bytes]:
    """Crash the most held; return how many above received each of the events of the next minute."""
    for victim in levels.most_held(round(HOT * len(levels.above))):
        levels.world.kill(victim)
    for number in range(EVENTS):
        publisher = levels.rng.choice(levels.below)
        levels.world.publish(publisher, BELOW, b"%d" % number, seconds=1.0)
    levels.world.run(CHURN_SECONDS)
    above = {*levels.live(levels.above)}
    return Counter(one.event.payload for node, one in levels.world.delivered if node in above)
