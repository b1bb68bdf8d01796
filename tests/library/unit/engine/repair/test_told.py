"""What members tell each other: tallies, against all batches XORed by hand; agreement, against a
plain record of what is told; and what each knows, as seldom as it serves, and in bounded bytes.
"""

from __future__ import annotations

import hashlib
import time
from functools import reduce
from operator import xor
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair.messages import Have
from camcast.engine.repair.told import (
    APART_SECONDS,
    FULL_SECONDS,
    LAG_SECONDS,
    LATE_SECONDS_MAX,
    NEWS_SECONDS,
    OLDER_SECONDS,
    REORDER_SECONDS,
    REORDER_SECONDS_MAX,
    TOLD_MAX,
    Agreement,
    Changes,
    Lateness,
    Tally,
)
from camcast.virtual.climate import Climate
from camcast.virtual.weather import Weather
from camcast.vocabulary.batches import Batch, make_batch
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.events import StreamId, stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.topics import ROOT
from camcast.vocabulary.wire import Kind
from tests.library.unit.engine.repair.repair_world import RETENTION, A, RepairWorld, members
from tests.steps import exponent

NOW = 1_800_000_000
STREAM = stream_id(PeerId(b"p" * 16), 7)


def batch(first: int, second: float) -> Batch:
    return make_batch(STREAM, first, [b"!"], ROOT, published=round(1000 * second))


def counted(*batches: Batch) -> int:
    """Return the tally of these batches, reckoned another way."""
    hashes = (hashlib.blake2b(one.body[:30], digest_size=8).digest() for one in batches)
    return reduce(xor, (int.from_bytes(one) for one in hashes), 0)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 200)), max_size=30))
def test_a_tally_is_that_of_what_was_published_before_a_second(
    arrivals: list[tuple[int, int]],
) -> None:
    """Whatever the order of coming, and with batches that come up to 40 seconds late."""
    tally, known = Tally(), []
    for number, (late, second) in enumerate(sorted(arrivals, key=sum), 1):
        known.append(batch(number, NOW + second))
        tally.add(known[-1], NOW + second + late)
        asked = NOW + second + late - 3
        before = [one for one in known if one.published < 1000 * asked]
        assert tally.until(asked) == counted(*before)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.booleans()), max_size=12),
    st.integers(0, 9),
)
def test_two_differ_in_the_seconds_of_which_they_know_other_batches(
    batches: list[tuple[int, bool, bool]], member_since: int
) -> None:
    """But for those before one was a member, of which it knows nothing."""
    one, other = Tally(), Tally()
    seconds: dict[int, tuple[list[int], list[int]]] = {}
    for number, (second, in_one, in_other) in enumerate(batches, 1):
        known = seconds.setdefault(second, ([], []))
        for tally, has, numbers in zip((one, other), (in_one, in_other), known, strict=True):
            if has:
                tally.add(batch(number, NOW + second), NOW + second)
                numbers.append(number)
    differ = [
        second
        for second, (here, there) in seconds.items()
        if here != there and (here or second >= member_since)
    ]
    parts = other.parts(NOW, NOW + 10)
    assert bool(one.difference(parts, NOW, NOW + 10, NOW + member_since)) == bool(differ)


def test_batches_are_told_apart_by_stream_first_and_count() -> None:
    """So that no set of consecutive numbers cancels out, as it would with a CRC."""
    tally = Tally()
    for number in range(1, 9):
        tally.add(batch(number, NOW), NOW)
        assert tally.until(NOW + 1) != 0
    other = stream_id(PeerId(b"q" * 16), 7)
    assert counted(batch(1, NOW)) != counted(make_batch(other, 1, [b"!"], ROOT))


def test_a_publisher_whose_clock_is_wrong_counts_at_once() -> None:
    for wrong in (NOW + 10 * APART_SECONDS, 0, 2**63 // 1000):
        tally = Tally()
        tally.add(batch(1, NOW), NOW)
        tally.add(batch(2, wrong), NOW)
        assert tally.until(NOW - 3) == counted(batch(2, wrong))
        assert tally.until(NOW + 3) == counted(batch(1, NOW), batch(2, wrong))


def test_a_tally_of_long_ago_cannot_be_told_and_its_memory_is_bounded() -> None:
    tally = Tally()
    for second in range(10 * APART_SECONDS):
        tally.add(batch(second + 1, NOW + second), NOW + second)
    assert tally.until(NOW) is None
    assert tally.until(NOW + 9 * APART_SECONDS) is not None
    assert len(tally._recent) <= 3 * APART_SECONDS


@pytest.mark.parametrize("set_by", [-3600, -600, -90, 90, 600, 3600])
def test_a_tally_is_right_again_a_minute_after_the_own_clock_was_set(set_by: int) -> None:
    """Two members get each other's batches; the clock of one is off until it is set."""
    right, off = Tally(), Tally()
    for number in range(1, 401):
        second = NOW + number
        for one in (batch(2 * number, second), batch(2 * number + 1, second - set_by)):
            right.add(one, second)
            off.add(one, second - set_by)
    off.clock_set(NOW + 401)
    for number in range(401, 401 + 2 * APART_SECONDS):
        asked = NOW + number - 3
        for tally in (right, off):
            tally.add(batch(2 * number, NOW + number), NOW + number)
        if number > 401 + APART_SECONDS + 3:
            assert right.until(asked) == off.until(asked) is not None


class Neighbour:
    """Two neighbours' heartbeats, one a second, and when one is told all."""

    def __init__(self) -> None:
        self.agreement = Agreement()
        self.now = 0.0
        self.told: list[float] = []

    def hear(self, *differences: int) -> None:
        for difference in differences:
            if self.agreement.add_difference(difference, NOW + int(self.now), self.now):
                self.told.append(self.now)
                self.agreement.told_at = self.now
                self.agreement.add_telling(difference)
            self.now += 1.0


def test_a_difference_is_told_of_if_it_is_there_twice_running() -> None:
    neighbour = Neighbour()
    neighbour.hear(0, 0, 7, 0, 7, 0)
    assert not neighbour.told
    neighbour.hear(7, 9)
    assert neighbour.told == [7.0]


def test_a_new_neighbour_is_told_at_once() -> None:
    neighbour = Neighbour()
    neighbour.hear(7)
    assert neighbour.told == [0.0]


def test_a_neighbour_whose_clock_was_ahead_is_told_like_any_other_once_it_is_set() -> None:
    agreement = Agreement()
    assert agreement.add_difference(7, NOW + 3600, 0.0)  # it is new
    agreement.told_at = 0.0
    agreement.add_telling(7)
    told = [n for n in range(1, 9) if agreement.add_difference(9, NOW + n, float(n))]
    assert told[0] <= 1 + 2 * FULL_SECONDS


def test_two_beats_up_to_the_same_second_are_one() -> None:
    neighbour = Neighbour()
    neighbour.hear(0)
    for _ in range(3):
        assert not neighbour.agreement.add_difference(7, NOW + 5, 5.0)
    assert neighbour.agreement.add_difference(7, NOW + 6, 6.0)


def test_a_difference_that_remains_is_told_of_thrice_and_another_again() -> None:
    neighbour = Neighbour()
    neighbour.hear(*[7] * 100)
    assert len(neighbour.told) == TOLD_MAX
    assert neighbour.told[1] - neighbour.told[0] >= FULL_SECONDS
    neighbour.hear(7 ^ 32, 7, 7 ^ 32, 7)  # on its way, each time
    assert len(neighbour.told) == TOLD_MAX
    neighbour.hear(7 ^ 32, 7 ^ 32)
    assert len(neighbour.told) == TOLD_MAX + 1
    neighbour.hear(0, 7, 7)  # and when all came, the old one is news as well
    assert len(neighbour.told) == TOLD_MAX + 2


def test_first_what_came_since_the_agreement_is_told_and_then_all() -> None:
    neighbour = Neighbour()
    neighbour.hear(*[0] * 50, 7)
    assert 30.0 < neighbour.agreement.news_since() < 50.0
    neighbour.hear(7)
    assert 30.0 < neighbour.agreement.news_since() < 50.0
    neighbour.hear(*[7] * 10)
    assert neighbour.agreement.news_since() < 0.0


# -- pages of `Have`s ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds",
    [(), (0,), (5, 4, 6), (5, 6), (1, 1, 2), (2**32 + 1,), tuple(range(1, 2**8, 2))],
    ids=str,
)
def test_a_have_of_ranges_that_cannot_be_is_malformed(
    world: RepairWorld, bounds: tuple[int, ...]
) -> None:
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    before = one.counters.malformed
    world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, ((stream, 1, 0, bounds),)))
    assert one.counters.malformed == before + 1


def test_nothing_is_kept_of_a_have_that_names_no_topic(world: RepairWorld) -> None:
    """Once it was kept, and the timer of asking raised when it read the name (a fuzz found it)."""
    (one,) = members(world, A)
    stream, before = stream_id(PeerId(b"p" * 16), 1), one.counters.malformed
    world.ask(one, Have(b"n", 1.0, 1.0, "no topic", 0, 1.0, ((stream, 1, 0, (9,)),)))
    world.run(RETENTION)
    assert one.counters.malformed == before + 1
    assert world.said == []


def test_a_have_that_was_late_makes_no_member_younger(world: RepairWorld) -> None:
    """It was then not offered what is from its first second, and took that for older than itself
    (hybrid 848); but who comes back as itself is a member anew."""
    (one,) = members(world, A)
    joined = world.now
    world.publish(one, A, seconds=10.0)

    def offered_to(member: float) -> list[int]:
        said = world.ask(one, Have(b"n", member, 1.0, "", 1, 0.0, ()))
        world.run(FULL_SECONDS)
        return [held[1] for have in said if isinstance(have, Have) for held in have.streams]

    assert offered_to(world.now - joined) == [1]
    assert offered_to(world.now - joined - 1.0) == [1]  # it was on its way for a second
    assert offered_to(0.1) == []


@pytest.mark.slow  # 7 s; a steady flux of them is looked at in every run
def test_many_new_streams_do_not_make_repair_talk_without_end(world: RepairWorld) -> None:
    """200 publishers of one event a second: at most 32 kB of `Have` a second and node,
    once what may be said at once was said."""
    nodes = list(members(world, *[A] * 6))
    said: dict[str, int] = {}

    def count(source: str, _target: str, records: bytes) -> None:
        if records[4] == Kind.REPAIR:
            said[source] = said.get(source, 0) + len(records)

    world.virtual.on_send = count
    published = 0

    def publish(seconds: int) -> None:
        nonlocal published
        for _ in range(10 * seconds):
            for _ in range(20):
                published += 1
                stream = stream_id(PeerId(published.to_bytes(16)), 1)
                world.hand(nodes[published % 6], make_batch(stream, 1, [b"lone"], A))
            world.run(0.1)

    publish(seconds=60)
    said.clear()
    publish(seconds=20)
    assert max(said.values()) <= 20 * 32_000
    assert min(said.values()) >= 20 * 10_000  # and the news are told
    assert all(node.counters.events == published for node in nodes)


def fulls(world: RepairWorld) -> int:
    return sum(isinstance(message, Have) and message.reply for *_, message in world.said)


def test_under_a_steady_flux_of_new_streams_nobody_tells_all(world: RepairWorld) -> None:
    """Five lone events a second, by each member in turn: the hashes of what had been quiet for two
    seconds hardly ever agreed, and neighbours told each other all they knew without end."""
    nodes = list(members(world, *[A] * 10))
    for number in range(100):
        stream = stream_id(PeerId(number.to_bytes(16)), 1)
        lone = make_batch(stream, 1, [b"lone"], A, published=round(1000 * world.now))
        world.hand(nodes[number % 10], lone)
        world.run(0.2)
    assert all(node.counters.events == 100 for node in nodes)
    assert fulls(world) == 0
    world.run(OLDER_SECONDS)  # what is younger than that, a newcomer may still get
    newcomer = world.join(A)
    world.run(200.0)  # it knows less, and all neighbours find that out, some of them twice
    told = [said[:2] for said in world.said if isinstance(said[2], Have) and said[2].reply]
    assert 0 < max(map(told.count, told)) <= TOLD_MAX + 1
    assert newcomer.counters.events == 0


def test_where_events_are_seconds_late_neighbours_seldom_tell_all_they_know(
    world: RepairWorld,
) -> None:
    """431 full `Have`s when tallies went to three seconds ago, however late the events were."""
    nodes = list(members(world, *[A] * 10))
    late = Climate(reordering=1.0, hold_seconds_max=8.0)
    world.virtual.weather = Weather(late, Random(1))
    for number in range(200):
        world.publish(nodes[number % 3], A, b"%d" % number, seconds=0.2)
    assert fulls(world) < 100
    world.run(30.0)
    assert all(len(world.payloads(node)) == 200 for node in nodes)


@pytest.mark.parametrize(("late", "told"), [(0.0, 1), (3.0, 0)])
def test_who_is_late_itself_compares_nothing_with_those_who_are_not(
    world: RepairWorld, late: float, told: int
) -> None:
    one, other = members(world, A, A)
    world.publish(one, A, seconds=5.0)
    (local_group,) = one.local_groups
    assert local_group.repair is not None
    one._around.lateness.add(late, world.now)
    second, tally = one._around.lateness.second(one.clock, world.now), bytes(8)
    second += one._around.lateness.lag(world.now)  # to which one goes that is not late
    stranger = Contact(PeerId(b"newcomer-newcome"), other.me.address)
    hear = local_group.repair.on_tally
    world.do(one, lambda _, now: hear(stranger, tally, second, now))
    assert fulls(world) == told


def test_who_gave_up_what_its_neighbours_had_is_left_in_peace(world: RepairWorld) -> None:
    one, *others = members(world, A, A, A, A, A)
    away = others[-1]
    world.publish(one, A, b"before")
    world.sever(*((away, node) for node in (one, *others[:-1])))
    world.publish(one, A, b"missed", seconds=RETENTION + 30.0)
    world.heal()
    world.publish(one, A, b"after", seconds=60.0)
    assert [(node, told.first, told.last) for node, told in world.told] == [(away, 2, 2)]
    world.said.clear()
    world.run(60.0)
    assert not world.said


# -- what has changed ------------------------------------------------------------------------------


QUIET = StreamId(bytes(24))


def test_a_stream_is_told_upward_four_times_and_how_often_it_was_is_told() -> None:
    known = KnownRanges(0.0, b"")
    known.add(1, 1)
    changes = Changes({QUIET: known}.get)
    changes.add(QUIET, known)
    told = [
        (now, often)
        for now in range(12)
        for often, streams in enumerate(changes.take_news(now * NEWS_SECONDS)[1])
        if streams
    ]
    assert told == [(0, 0), (1, 1), (3, 2), (7, 3)]


def test_after_a_pause_the_last_time_of_telling_upward_is_made_up_for() -> None:
    """A round that came nine seconds late told nothing of what was brought in before the pause."""
    known = KnownRanges(0.0, b"")
    known.add(1, 1)
    changes = Changes({QUIET: known}.get)
    changes.add(QUIET, known)
    assert changes.take_news(1.0)[1] == [[], [QUIET], [], []]
    assert changes.take_news(20.0)[1] == [[], [], [], [QUIET]]
    assert changes.take_news(21.0)[1] == [[], [], [], []]


# -- how long repair waits for what is late and not lost -------------------------------------------


def test_without_anything_late_repair_waits_as_the_protocol_says() -> None:
    lateness = Lateness()
    lateness.add(0.05, 1.0)
    assert lateness.reorder_seconds(1.0) == REORDER_SECONDS
    assert lateness.lag(1.0) == 0


def test_repair_waits_twice_as_long_as_what_came_latest_was_late() -> None:
    lateness = Lateness()
    lateness.add(1.5, 0.0)
    lateness.add(0.1, 0.0)
    assert lateness.reorder_seconds(0.0) == pytest.approx(3.0)
    assert lateness.lag(0.0) == 3
    assert lateness.reorder_seconds(10.0) == pytest.approx(1.5)  # half of it ten seconds later
    assert lateness.reorder_seconds(1e3) == REORDER_SECONDS


def test_who_holds_an_event_back_for_long_makes_repair_wait_for_seconds_only() -> None:
    lateness = Lateness()
    lateness.add(1e9, 0.0)
    assert lateness.reorder_seconds(0.0) == REORDER_SECONDS_MAX
    assert lateness.lag(0.0) == 2 * LATE_SECONDS_MAX


def test_tallies_go_as_far_as_all_has_usually_come_and_less_far_where_events_are_late() -> None:
    lateness, clock = Lateness(), Clock(0.0, 1000.75)
    assert lateness.second(clock, 5.5) == 1006 - LAG_SECONDS
    lateness.add(1.25, 5.5)
    assert lateness.second(clock, 5.5) == 1006 - LAG_SECONDS - 3  # 2.5 s, rounded up


@pytest.mark.slow
def test_n_streams_are_forgotten_at_a_cost_of_n() -> None:
    """In CPU seconds, as a dict looks for its first key in C; squared, the exponent would be 2."""

    def seconds(count: int) -> float:
        changes = Changes(lambda _: None)
        changes._settled.update((StreamId(b"%024d" % number), None) for number in range(count))
        began = time.process_time()
        changes.take_news(1e4)
        return time.process_time() - began

    costs = [min(seconds(count) for _ in range(9)) for count in (2**11, 2**13)]
    assert exponent(costs, 4) <= 1.5  # small ones, which caches hold
