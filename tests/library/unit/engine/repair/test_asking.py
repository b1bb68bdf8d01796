"""What is missing is asked for, and not what is only late; what nobody keeps is told as missed."""

from __future__ import annotations

from random import Random

import attrs
import pytest

from camcast.doors.repair import RepairWatcher
from camcast.engine.known_streams import KnownRanges
from camcast.engine.repair import asking
from camcast.engine.repair.asking import (
    AGAIN_SECONDS,
    AGAIN_SECONDS_MAX,
    GIVE_UP_SECONDS,
    Holder,
    MissingRanges,
)
from camcast.engine.repair.messages import NONCE_SECONDS, UNKNOWN, Have, Want
from camcast.virtual.climate import Climate, Constant
from camcast.virtual.weather import Weather
from camcast.vocabulary.batches import make_batch
from camcast.vocabulary.events import Missed, StreamId, stream_id
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.parameters import CommunitySettings
from camcast.vocabulary.topics import ROOT
from tests.library.unit.engine.repair.repair_world import (
    AX,
    RETENTION,
    A,
    RepairWorld,
    members,
    want,
)


class Patient(RepairWatcher):
    def patience(self, stream: StreamId, told: float, now: float) -> float:
        return 8.0


def test_a_hole_is_asked_for_though_what_was_told_before_is_still_waited_for(
    world: RepairWorld,
) -> None:
    """After a cut, what a tree waited for eight seconds for became a hole as the stream went on."""
    one, other = members(world, A, A)
    (local_group,) = other.local_groups
    assert local_group.repair is not None
    local_group.repair.report_to(Patient())
    world.publish(one, A, b"1")
    world.sever((one, other))
    world.publish(one, A, b"2", seconds=0.5)
    world.heal()
    world.run(2.5)
    assert world.payloads(other) == [b"1"]  # it was told of 2, and waits for it
    world.publish(one, A, b"3", seconds=2.0)
    assert sorted(world.payloads(other)) == [b"1", b"2", b"3"]


@pytest.mark.parametrize("latency", [0.3, 0.8])
def test_a_newcomer_gets_what_was_said_as_it_joined_however_long_its_question_takes(
    world: RepairWorld, latency: float
) -> None:
    """The time for which it asked ended with the question's arrival, 0.3 s later (scamp 380). What
    was not offered for that, after a second, was taken to be from before its time (hybrid 848)."""
    (one,) = members(world, A)
    world.virtual.weather = Weather(Climate(latency=Constant(latency)), Random(1))
    newcomer = world.join(A)
    (joins,) = newcomer.local_groups
    while not joins.joined:
        world.run(0.01)
    world.cut(lambda *_: False)
    world.publish(one, A, b"1", seconds=0.5)
    world.heal()
    world.publish(one, A, b"2", seconds=15.0)
    assert sorted(world.payloads(newcomer)) == [b"1", b"2"]


def test_what_is_late_by_a_second_and_not_lost_is_seldom_asked_for(world: RepairWorld) -> None:
    """Of 6,000 deliveries 234 were asked for; a process short of CPU repaired more than it got."""
    nodes = list(members(world, *[A] * 10))
    late = Climate(reordering=1.0, hold_seconds_max=1.0)
    world.virtual.weather = Weather(late, Random(1))
    for number in range(600):
        world.publish(nodes[number % 3], A, b"%d" % number, seconds=0.1)
    wants = sum(isinstance(message, Want) for *_, message in world.said)
    world.run(10.0)
    assert all(len(world.payloads(node)) == 600 for node in nodes)
    assert wants < 100


@pytest.mark.parametrize(("age", "lag"), [(0.0, 6), (3.5, 0)])
def test_only_what_lay_in_queues_makes_repair_wait_longer(
    world: RepairWorld, age: float, lag: int
) -> None:
    """What another process had asked for climbs to this one as a plain copy, and its age says so:
    it was taken for late, and after a cut two events came 2.3 s after they were due (scamp 409)."""
    (node,) = members(world, A)
    stream = stream_id(PeerId(bytes(16)), 1)

    def arrive(number: int, age: float) -> None:
        batch = make_batch(stream, number, [b"x"], A, published=round(1000 * world.now))
        world.hand(node, batch, age)

    arrive(1, 0.0)
    arrive(3, 0.0)
    world.run(2.99)
    arrive(2, age)
    world.run(0.1)
    assert len(world.payloads(node)) == 3
    assert node._around.lateness.lag(world.now) == lag


# -- whom to ask for what is missing, and when -----------------------------------------------------


STREAM = bytes(24)


def holder(
    number: int, heard: float = 0.0, *, offered: int = 1, bounds: tuple[int, ...] = (9,)
) -> Holder:
    """Return a process that keeps the events from `offered` on, and knows those of `bounds`."""
    contact = Contact(PeerId(bytes([number] * 16)), f"tcp://10.0.0.{number}:7000")
    return Holder(contact, bytes(8), "", (STREAM, offered, 0, bounds), 120.0, heard)


def asked_of(missing: MissingRanges, now: float) -> int:
    """Ask for what is missing; return whom."""
    one = missing.next_holder()
    one.asked = now
    missing.add_question(now)
    return one.contact.peer[0]


@pytest.mark.parametrize(
    ("holders", "expected"),
    [(1, [AGAIN_SECONDS] + [AGAIN_SECONDS_MAX] * 8), (3, [AGAIN_SECONDS] * 9)],
)
def test_holders_are_asked_in_turn_and_a_lone_one_more_rarely(
    holders: int, expected: list[float]
) -> None:
    missing = MissingRanges(0.0, 0.0)
    for number in range(holders):
        missing.add_holder(holder(number), offers=True)
    asked, pauses, now = [], [], 0.0
    for _ in range(9):
        asked.append(asked_of(missing, now))
        pauses.append(missing.due - now)
        now = missing.due
    assert asked == [number % holders for number in range(9)]
    assert pauses == expected


def test_news_of_one_who_was_asked_already_hasten_nothing() -> None:
    """With 30 % loss news that come each second had used up the quick questions at once."""
    missing = MissingRanges(0.0, 0.0)
    missing.add_holder(holder(1), offers=True)
    asked_of(missing, 0.0)
    assert not missing.add_holder(holder(1, 1.0), offers=True)
    assert not missing.add_holder(holder(2, 1.0), offers=False)  # it has nothing that is missing
    assert [one.contact.peer[0] for one in missing.holders] == [1]
    assert missing.add_holder(holder(2, 1.0), offers=True)  # another one to ask
    assert asked_of(missing, 1.0) == 2


def test_who_could_not_answer_an_old_nonce_is_asked_again_at_once() -> None:
    missing = MissingRanges(0.0, 0.0)
    missing.add_holder(holder(1), offers=True)
    asked_of(missing, NONCE_SECONDS)
    assert missing.add_holder(holder(1, NONCE_SECONDS), offers=True)


def test_what_one_neighbour_has_passed_is_missing_until_others_say_so() -> None:
    missing = MissingRanges(0.0, 0.0)
    assert missing.missing_here(None) == []
    for number in (1, 2):
        missing.add_holder(holder(number, offered=0, bounds=(5,)), offers=False)
        assert missing.missing_here(None) == [(1, 5)]
        assert missing.out_of_reach(neighbours=7) == 0
    known = KnownRanges(0.0, b"")
    known.add(1, 2)
    assert missing.missing_here(known) == [(3, 5)]
    missing.add_holder(holder(3, offered=0, bounds=(4,)), offers=False)
    assert missing.out_of_reach(neighbours=7) == 4


def test_what_is_missing_below_what_came_goes_first() -> None:
    missing = MissingRanges(0.0, 0.0)
    known = KnownRanges(0.0, b"")
    known.add(3, 1)
    missing.add_holder(holder(1, offered=0, bounds=(9,)), offers=False)
    assert missing.missing_here(known) == [(1, 3)]


def test_of_a_stream_that_flows_nothing_is_given_up_while_its_holes_are_mended() -> None:
    """Something is missing whenever that is looked at: the age of what is missing counts."""
    known = KnownRanges(0.0, b"")
    missing = MissingRanges(0.0, 0.0)
    for second in range(1, 300):
        known.add(2 * second - 1, 1)  # and the one above is a hole until the next second
        known.add(2 * second + 1, 1)
        missing.look(known, float(second))
        known.add(2 * second, 1)
    assert missing.since == 299.0
    for second in range(300, 340):
        known.add(second * 2 + 1, 1)
        missing.look(known, float(second))
    assert missing.since == 300.0


def seconds_lacking(holders: int, rng: Random) -> float:
    """Return how long something is missing where 30 % of all messages are lost.

    A question with an old nonce is answered with a new one, which may be lost as well.
    """
    missing, now = MissingRanges(0.0, 0.0), 0.0
    for number in range(holders):
        missing.add_holder(holder(number, -NONCE_SECONDS * rng.random()), offers=True)
    while True:
        one = missing.next_holder()
        one.asked = now
        missing.add_question(now)
        if rng.random() < 0.7 * 0.7:
            if now - one.heard < NONCE_SECONDS:
                return now
            if missing.add_holder(holder(one.contact.peer[0], now), offers=True):
                missing.due = now
        now = missing.due


@pytest.mark.parametrize("holders", [1, 2, 3])
def test_at_thirty_percent_loss_nothing_is_lacking_for_forty_seconds(holders: int) -> None:
    """Four events of scamp 163 came in none of fourteen answers until its end."""
    rng = Random(holders)
    assert max(seconds_lacking(holders, rng) for _ in range(5000)) < 40


# -- liars: tests/library/hostile/test_repair_lies.py has what they could do ----------------------


def test_who_was_asked_in_vain_makes_way_for_those_who_were_not() -> None:
    """The latest three to tell are asked: three liars who tell each second would keep out all."""
    missing = MissingRanges(0.0, 0.0)
    for number in (1, 2, 3):
        missing.add_holder(holder(number), offers=True)
    for liar in list(missing.holders)[:2]:
        missing.break_promise(liar)
    for second in range(1, 5):
        missing.add_holder(holder(4, float(second)), offers=True)
        for number in (1, 2):
            missing.add_holder(holder(number, float(second)), offers=True)
    assert [one.contact.peer[0] for one in missing.holders] == [2, 3, 4]


def test_a_stream_that_never_was_is_asked_for_in_vain_and_then_forgotten(
    world: RepairWorld,
) -> None:
    one, _ = members(world, A, A)
    streams = [stream_id(PeerId(b"p" * 16), number) for number in range(3)]
    told = tuple((stream, 1, 0, (9,)) for stream in streams)
    world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, told))
    (local_group,) = one.local_groups
    assert local_group.repair is not None
    assert local_group.repair.incomplete_streams == 3
    world.run(GIVE_UP_SECONDS + 2 * AGAIN_SECONDS_MAX)
    assert local_group.repair.incomplete_streams == 0
    assert one.counters.promises_broken == 3
    assert not world.told


def test_what_finds_no_room_to_be_asked_for_is_told_as_missed(
    world: RepairWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was neither asked for nor told. What others tell of takes no place of a hole's."""
    monkeypatch.setattr(asking, "MISSING_MAX", 2)
    (one,) = members(world, A)
    streams = [stream_id(PeerId(b"p" * 16), number) for number in range(6)]
    told = tuple((stream, 1, 0, (9,)) for stream in streams[:3])
    world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, told))
    for stream in streams[3:]:
        for number in (1, 4):
            world.hand(one, make_batch(stream, number, [b"x"], A, published=int(1000 * world.now)))
    world.run(0.1)
    assert world.told == [(one, Missed(streams[5], A, 2, 3))]
    assert one.counters.repairs_unplaced == 1  # those of the same minute are counted with the next


# -- giving up -------------------------------------------------------------------------------------


def test_a_forged_jump_silences_nobody(world: RepairWorld) -> None:
    """A forger names number 900 of a stream: what its publisher says later is delivered."""
    one, other = members(world, A, A)
    stream = world.publish(one, A, b"first").stream
    world.hand(other, make_batch(stream, 900, [b"forged"], A))
    world.run(RETENTION + 20.0)
    assert [(node, told.first, told.last) for node, told in world.told] == [(other, 2, 899)]
    for number in range(3):
        world.publish(one, A, b"%d" % number)
    assert world.payloads(other) == [b"first", b"forged", b"0", b"1", b"2"]


@pytest.mark.parametrize("retention", [1.0, 8.0, RETENTION])
@pytest.mark.parametrize("size", [2, 5])
def test_what_is_out_of_retention_is_told_though_nothing_follows(
    world: RepairWorld, retention: float, size: int
) -> None:
    """With a retention below ten seconds it was asked for no more before it could be given up."""
    parameters = CommunitySettings(retention_seconds=retention)
    world.settings = attrs.evolve(world.settings, parameters=parameters)
    one, *others = nodes = list(members(world, *[A] * size))
    away = others[-1]
    stream = world.publish(one, A, b"before").stream
    world.sever(*((away, node) for node in nodes))
    for number in range(3):
        world.publish(one, A, b"%d" % number)
    world.run(retention + 20.0)
    world.heal()
    world.run(60.0)
    assert world.told == [(away, Missed(stream, A, 2, 4))]


@pytest.mark.parametrize("begins_before", [True, False])
def test_what_two_of_three_neighbours_no_longer_keep_is_told_after_the_retention(
    world: RepairWorld, begins_before: bool
) -> None:
    """Nothing follows, and half of the members are cut off: the third neighbour never had it. Above
    all that had come, and of a stream of which nothing had, nobody was ever told."""
    one, other, *away = members(world, A, A, A, A)
    if begins_before:
        world.publish(one, A, b"before", seconds=3.0)
    world.sever(*((node, far) for node in (one, other) for far in away))
    stream = world.publish(one, A, b"missed").stream
    world.run(RETENTION + 20.0)
    world.heal()
    world.run(RETENTION + 60.0)
    number = 2 if begins_before else 1
    assert sorted(world.told, key=lambda told: away.index(told[0])) == [
        (node, Missed(stream, A, number, number)) for node in away
    ]


@pytest.mark.parametrize("latency", [0.01, 0.8])
def test_a_newcomer_is_told_of_nothing_from_before_its_time(
    world: RepairWorld, latency: float
) -> None:
    one, *_ = members(world, A, A, A, A)
    world.virtual.weather = Weather(Climate(latency=Constant(latency)), Random(1))
    for _ in range(5):
        world.publish(one, A, b"old", seconds=3.0)
    newcomer = world.join(A)
    world.run(10.0)
    world.publish(one, A, b"new", seconds=RETENTION + 30.0)
    assert world.payloads(newcomer) == [b"new"]
    assert not world.told


def test_who_joins_soon_after_a_stream_began_is_told_of_nothing_from_before(
    world: RepairWorld,
) -> None:
    """Its neighbour is hardly older than it is; what that told of its age was taken for new."""
    one = world.join(A)
    world.publish(one, A, b"old", seconds=0.3)
    newcomer = world.join(A)
    world.publish(one, A, b"new", seconds=60.0)
    assert world.payloads(newcomer) == [b"new"]
    assert not world.told


@pytest.mark.parametrize(("begun_after", "told"), [(0.3, 0), (1.5, 8)])
def test_nobody_is_told_of_a_stream_that_may_be_from_just_before_it_joined(
    world: RepairWorld, begun_after: float, told: int
) -> None:
    """An age leaves out the ways of the messages that told it, here of 0.3 s: with 30 % loss and
    such delays (dht 909) one was told of what had been published 0.2 s before it joined."""
    joined = world.now
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    for _ in range(30):
        begun = int(10 * (world.now - joined - begun_after))
        world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, ((stream, 0, begun, (9,)),)))
        world.run(0.5)
    assert sum(missed.last - missed.first + 1 for _, missed in world.told) == told


@pytest.mark.parametrize(("earliest", "told"), [(0.7, 0), (1.5, 8), (None, 8)])
def test_of_what_neighbours_say_of_a_beginning_the_earliest_time_counts(
    world: RepairWorld, earliest: float | None, told: int
) -> None:
    """Each one's age leaves out the ways to it, of seconds: nobody takes a stream for older than it
    is. In harsh runs (hybrid 64, dht 53) `Missed` was told of events of half a second before."""
    joined = world.now
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    neighbours = [Contact(PeerId(16 * bytes([n])), f"tcp://10.9.9.{n}:7000") for n in (1, 2)]
    for _ in range(30):
        for neighbour, after in zip(neighbours, (2.5, earliest), strict=True):
            begun = UNKNOWN if after is None else int(10 * (world.now - joined - after))
            told_of = stream, 0, begun, (9,)
            world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, (told_of,)), by=neighbour)
        world.run(0.5)
    assert sum(missed.last - missed.first + 1 for _, missed in world.told) == told


def test_nobody_is_told_of_what_seems_young_since_its_age_lay_in_a_queue(
    world: RepairWorld,
) -> None:
    """What a process was told before a pause it hears after it: `Missed` was told of the first
    event, of before its time, to one that was stopped for 25 s with a retention of 3 s."""
    joined = world.now
    (one,) = members(world, A)
    stream = stream_id(PeerId(b"p" * 16), 1)
    held = stream, 0, int(10 * (world.now - joined - 0.3)), (9,)
    for _ in range(30):
        world.ask(one, Have(b"n", 1.0, 1.0, "", 0, 0.0, (held,)))
        world.run(0.5)
    assert not world.told


def test_a_newcomer_is_not_told_of_holes_in_what_it_carries_upward(world: RepairWorld) -> None:
    """What was said before its time comes to it with a hole, which nobody can fill (hybrid 848)."""
    root, old, below, other = members(world, ROOT, A, AX, AX)
    world.kill(old)
    world.publish(below, AX, b"1", seconds=0.5)
    world.sever((below, other))
    stream = world.publish(below, AX, b"2", seconds=0.1).stream
    world.heal()
    world.publish(below, AX, b"3", seconds=0.1)
    world.kill(below)
    world.run(0.4)  # more than `REORDER_SECONDS`, within which an event is nobody's history
    newcomer = world.join(A)
    world.run(RETENTION + 30.0)
    assert sorted(world.payloads(root)) == [b"1", b"3"]
    assert not world.payloads(newcomer)
    assert {(node, missed) for node, missed in world.told} == {
        (node, Missed(stream, topic, 2, 2)) for node, topic in ((other, AX), (root, ROOT))
    }


def test_a_newcomer_does_not_go_on_asking_for_what_was_before_its_time(world: RepairWorld) -> None:
    """It is told of it by each that it is above, and by its own community at most once."""
    root, one, *below = members(world, ROOT, A, A, A)
    for _ in range(5):
        world.publish(one, A, b"old")
    newcomer = world.join(ROOT)
    world.said.clear()
    world.run(60.0)
    told = [
        who
        for who, to, said in world.said
        if to == newcomer.me.address and isinstance(said, Have) and said.streams
    ]
    assert {*told} >= {node.me.address for node in (one, *below)}
    assert told.count(root.me.address) <= 1
    asked = [said for who, _, said in world.said if who == newcomer.me.address]
    assert 0 < sum(isinstance(said, Want) for said in asked) <= 6


def test_a_stream_is_as_old_as_its_first_event_however_late_that_came(world: RepairWorld) -> None:
    one, other = members(world, A, A)
    world.sever((one, other))
    stream = world.publish(one, A, seconds=10.0).stream
    world.heal()
    world.run(10.0)
    (answer,) = world.ask(other, want(b"", stream, 1, 2))
    assert isinstance(answer, Have)
    ((_, _, begun, _),) = answer.streams
    assert begun == pytest.approx(200, abs=2)  # tenths of a second


def test_what_nobody_keeps_any_more_is_told(world: RepairWorld) -> None:
    """One of five is cut off for longer than the retention, while the others hear 1 to 3."""
    one, *others = members(world, A, A, A, A, A)
    away = others[-1]
    stream = world.publish(one, A, b"before").stream
    world.sever(*((away, node) for node in (one, *others[:-1])))
    for number in range(3):
        world.publish(one, A, b"%d" % number)
    world.run(RETENTION + 30.0)
    world.heal()
    world.run(60.0)
    world.publish(one, A, b"after", seconds=60.0)
    assert world.payloads(away) == [b"before", b"after"]
    assert world.told == [(away, Missed(stream, A, 2, 4))]
    (local_group,) = away.local_groups
    assert local_group.repair is not None
    assert local_group.repair.told_missed == 3
    said = [message for source, _, message in world.said if source == away.me.address]
    assert local_group.repair.haves_sent == sum(isinstance(one, Have) for one in said)
    assert local_group.repair.wants_sent == sum(isinstance(one, Want) for one in said) > 0
    assert local_group.repair.incomplete_streams == local_group.repair.holes() == 0


def test_nobody_is_told_while_one_that_is_cut_off_may_have_it(world: RepairWorld) -> None:
    """All neighbours say no: to two of four events they have a hole as well, or know no stream."""
    one, *others = members(world, A, A, A, A, A)
    apart = [(one, other) for other in others]
    for payload in (b"1", b"3"):
        world.sever(*apart)
        world.publish(one, A, payload, seconds=0.05)
        world.heal()
        world.publish(one, A, b"2 and 4", seconds=0.15)
    world.sever(*apart)
    world.run(60.0)
    assert [world.payloads(other) for other in others] == [[b"2 and 4"] * 2] * 4
    assert not world.told
    world.heal()
    world.run(10.0)
    assert all({b"1", b"3"} < set(world.payloads(other)) for other in others)
    assert not world.told
