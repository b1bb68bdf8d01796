"""The checker finds each fault that is planted into a history, and nothing in one without."""

from __future__ import annotations

from math import inf
from pathlib import Path

import msgspec
import pytest
from attrs import asdict, evolve

from tests.library.chaos import records
from tests.library.chaos.checker import Fault, Findings, check, climb
from tests.library.chaos.records import (
    AnyRecord,
    Delivered,
    Ended,
    Failed,
    Joined,
    Lagged,
    Missed,
    NotReady,
    Published,
    Refused,
    Sample,
    Started,
)
from tests.library.chaos.scenario import verdict
from tests.library.chaos.scenarios import SCENARIOS

LOW, HIGH, ROOT = "low", "high", "root"
TOPICS = {LOW: ".a.x", HIGH: ".a", ROOT: "."}
STREAM = "ab" * 24
NO_FAULT = Fault()
EVENTS = range(1, 11)


def published(sequence: int, node: str = LOW) -> Published:
    """An event that is published at the second of its number."""
    return Published(float(sequence), node, TOPICS[node], STREAM, sequence, 3, 3)


def delivered(sequence: int, node: str, after: float = 0.1, count: int = 1) -> Delivered:
    return Delivered(sequence + after, node, ".a.x", STREAM, sequence, count)


def sample(parasites: int = 0, forgotten: int = 0, when: float = 20.0) -> Sample:
    return Sample(when, "p1", 1, 1, parasites, forgotten, {})


def sound() -> list[AnyRecord]:
    """Three nodes on three levels; ten events of the lowest reach all."""
    history: list[AnyRecord] = [Joined(0.0, node, topic) for node, topic in TOPICS.items()]
    history += [published(sequence) for sequence in EVENTS]
    history += [delivered(sequence, node) for node in TOPICS for sequence in EVENTS]
    return history


def without(sequence: int, node: str) -> list[AnyRecord]:
    """The same, but that one event did not come to one node."""
    return [record for record in sound() if record != delivered(sequence, node)]


def faults(findings: Findings) -> dict[str, int]:
    """What is counted against a run, if anything."""
    names = ("lost", "late", "missed", "excused_lost", "duplicated", "parasites", "not_ready")
    others = ("told_falsely", "history", "refused", "lagged", "failures", "forgotten")
    counts = {name: getattr(findings, name) for name in names + others}
    return {name: count for name, count in counts.items() if count}


def test_a_sound_history_has_no_faults() -> None:
    findings = check(sound(), NO_FAULT)
    assert faults(findings) == {}
    assert (findings.events, findings.due) == (10, 30)
    assert findings.lost_by_climb == {0: (0, 10), 1: (0, 10), 2: (0, 10)}
    assert findings.heal_seconds is None
    assert findings.arrival_seconds_max == pytest.approx(0.1)
    assert findings.examples == []


@pytest.mark.parametrize(("node", "levels"), [(LOW, 0), (HIGH, 1), (ROOT, 2)])
def test_an_event_that_never_came_is_lost_at_the_level_that_it_climbed_to(
    node: str, levels: int
) -> None:
    findings = check(without(4, node), NO_FAULT)
    assert faults(findings) == {"lost": 1}
    assert findings.lost_by_climb == {n: (int(n == levels), 10) for n in range(3)}
    [example] = findings.examples
    assert f"{STREAM[-12:]}-4" in example
    assert f"did not come to {node} in {TOPICS[node]}" in example


def test_an_event_of_a_level_above_is_not_due_below() -> None:
    history = [*sound(), Published(5.5, ROOT, ".", "cd" * 24, 1, 0, 0)]
    history.append(Delivered(5.5, ROOT, ".", "cd" * 24, 1, 1))
    assert check(history, NO_FAULT).due == 31


def test_a_batch_brings_all_its_events() -> None:
    history = [record for record in sound() if getattr(record, "subscriber", "") != HIGH]
    assert faults(check([*history, delivered(1, HIGH, count=10)], NO_FAULT)) == {}


def test_a_second_delivery_is_a_duplicate() -> None:
    assert faults(check([*sound(), delivered(4, HIGH, after=5)], NO_FAULT)) == {"duplicated": 1}


def test_the_first_of_two_deliveries_says_when_an_event_arrived() -> None:
    history = [delivered(4, HIGH, after=50), *sound()]
    findings = check(history, Fault(arrival_seconds=10))
    assert faults(findings) == {"duplicated": 1}


@pytest.mark.parametrize(
    "stray",
    [
        Delivered(5.0, LOW, ".", "cd" * 24, 1, 1),  # published, but above
        Delivered(5.0, LOW, ".a.x", "ef" * 24, 1, 1),  # published by nobody
        Delivered(5.0, LOW, ".a.x", STREAM, 11, 1),  # a number that was not given yet
        Delivered(5.0, "nobody", ".a.x", STREAM, 1, 1),  # to a node that never joined
        Delivered(5.0, f"{LOW}/slow", ".", "cd" * 24, 1, 1),
        sample(parasites=1),  # at the socket, and not delivered
    ],
)
def test_an_event_that_should_not_be_there_is_a_parasite(stray: AnyRecord) -> None:
    above: list[AnyRecord] = [
        Published(4.9, ROOT, ".", "cd" * 24, 1, 0, 0),
        Delivered(4.9, ROOT, ".", "cd" * 24, 1, 1),
    ]
    assert faults(check([*sound(), *above, stray], NO_FAULT)) == {"parasites": 1}


def test_the_last_sample_of_a_process_counts_and_no_other() -> None:
    samples: list[AnyRecord] = [sample(2, 5, when=3.0), sample(1, 4, when=2.0)]
    assert faults(check([*sound(), *samples], NO_FAULT)) == {"parasites": 2, "forgotten": 5}


def test_an_event_after_the_time_limit_is_late() -> None:
    history = [*without(4, HIGH), delivered(4, HIGH, after=10.5)]
    findings = check(history, Fault(arrival_seconds=10))
    assert faults(findings) == {"late": 1}
    assert findings.arrival_seconds_max == 10.5
    assert faults(check(history, Fault(arrival_seconds=11))) == {}


def test_the_time_limit_of_an_event_within_a_fault_begins_at_the_faults_end() -> None:
    history = [*without(4, HIGH), delivered(4, HIGH, after=13)]
    fault = Fault(began=3, healed=8, arrival_seconds=10)
    assert faults(check(history, fault)) == {}
    assert faults(check(history, evolve(fault, healed=6.5))) == {"late": 1}


@pytest.mark.parametrize(("first", "last", "told"), [(4, 4, True), (1, 9, True), (5, 9, False)])
def test_an_event_that_missed_told_of_is_missed_and_not_lost(
    first: int, last: int, told: bool
) -> None:
    notice = Missed(15.0, HIGH, STREAM, first, last)
    expected = {"missed": 1} if told else {"lost": 1}
    assert faults(check([*without(4, HIGH), notice], NO_FAULT)) == expected


@pytest.mark.parametrize("notice", [(ROOT, STREAM), (HIGH, "cd" * 24)])
def test_a_notice_to_another_subscriber_or_of_another_stream_excuses_nothing(
    notice: tuple[str, str],
) -> None:
    subscriber, stream = notice
    history = [*without(4, HIGH), Missed(15.0, subscriber, stream, 1, 10)]
    assert faults(check(history, NO_FAULT)) == {"lost": 1}


def test_a_notice_about_an_event_that_came_is_no_fault_of_the_event() -> None:
    assert faults(check([*sound(), Missed(15.0, HIGH, STREAM, 4, 4)], NO_FAULT)) == {}


def test_a_notice_about_what_was_before_the_node_is_false() -> None:
    newcomer: list[AnyRecord] = [Started(7.5, "new"), Joined(8.5, "new", ".")]
    newcomer += [delivered(9, "new", count=2)]
    assert faults(check([*sound(), *newcomer], NO_FAULT)) == {}
    notice = Missed(15.0, "new", STREAM, 3, 8)  # 8 was published after the start
    assert faults(check([*sound(), *newcomer, notice], NO_FAULT)) == {"told_falsely": 5}


def test_what_was_before_the_node_is_history() -> None:
    newcomer: list[AnyRecord] = [Started(7.5, "new"), Joined(8.5, "new", ".")]
    newcomer += [delivered(6, "new", after=5, count=5)]
    assert faults(check([*sound(), *newcomer], NO_FAULT)) == {"history": 2}


@pytest.mark.parametrize(
    ("record", "name"),
    [
        (NotReady(1.0, "late", "no contact"), "not_ready"),
        (Refused(1.0, LOW, "dropped"), "refused"),
        (Failed(1.0, "p1", "KeyError"), "failures"),
    ],
)
def test_what_processes_complain_of_is_counted(record: AnyRecord, name: str) -> None:
    assert faults(check([*sound(), record], NO_FAULT)) == {name: 1}


def test_what_a_full_queue_dropped_is_counted_and_stays_lost() -> None:
    history = [*without(4, HIGH), Lagged(4.5, HIGH, 3)]
    assert faults(check(history, NO_FAULT)) == {"lost": 1, "lagged": 3}


def test_nothing_is_due_before_a_node_joined() -> None:
    findings = check([*sound(), Joined(9.5, "new", "."), delivered(10, "new")], NO_FAULT)
    assert faults(findings) == {}
    assert findings.due == 31
    assert faults(check([*sound(), Joined(9.5, "new", ".")], NO_FAULT)) == {"lost": 1}


@pytest.mark.parametrize("killed", [True, False])
def test_nothing_is_due_at_a_node_that_ended(killed: bool) -> None:
    findings = check([*without(4, HIGH), Ended(12.0, HIGH, killed)], NO_FAULT)
    assert faults(findings) == {}
    assert findings.due == 20


def test_an_event_that_died_with_its_publisher_is_due_nowhere() -> None:
    history = [*sound(), Published(11.0, LOW, ".a.x", STREAM, 11, 3, 3)]
    killed = Ended(11.01, LOW, killed=True)
    assert faults(check([*history, killed], NO_FAULT)) == {}
    polite = Ended(11.01, LOW, killed=False)
    assert faults(check([*history, polite], NO_FAULT)) == {"lost": 2}


def test_an_event_that_one_survivor_got_from_a_killed_publisher_is_due_from_there_on() -> None:
    killed = Ended(4.3, LOW, killed=True)
    assert faults(check([*without(4, ROOT), killed], NO_FAULT)) == {"lost": 1}
    assert faults(check([*without(4, HIGH), killed], NO_FAULT)) == {}
    polite = Ended(4.3, LOW, killed=False)
    assert faults(check([*without(4, HIGH), polite], NO_FAULT)) == {"lost": 1}


@pytest.mark.parametrize(
    ("excused_from", "excused_to", "excused"),
    [(4.0, 5.0, True), (-inf, 9.0, True), (4.5, 9.0, False), (1.0, 4.0, False)],
)
def test_an_event_of_the_excused_window_is_counted_apart(
    excused_from: float, excused_to: float, excused: bool
) -> None:
    fault = Fault(began=4, excused_from=excused_from, excused_to=excused_to)
    findings = check(without(4, HIGH), fault)
    assert faults(findings) == {"excused_lost" if excused else "lost": 1}
    within = sum(excused_from <= number < excused_to for number in EVENTS)
    assert (findings.due, findings.excused_due) == (30 - 3 * within, 3 * within)


@pytest.mark.parametrize(
    ("fault", "seconds"),
    [
        (Fault(began=2), 2.0),  # a crash: since it happened
        (Fault(began=2, healed=3), 1.0),
        (Fault(began=2, healed=7), 0.0),  # the loss was before the end
        (Fault(began=2, excused_from=0, excused_to=9), 2.0),  # excused ones, too
    ],
)
def test_it_heals_with_the_last_event_that_never_arrived(fault: Fault, seconds: float) -> None:
    assert check(without(4, HIGH), fault).heal_seconds == seconds


def test_slow_subscriptions_are_not_judged() -> None:
    slow = [Delivered(1.1, f"{LOW}/slow", ".a.x", STREAM, 1, 1)]
    assert faults(check([*sound(), *slow], NO_FAULT)) == {}
    assert faults(check([*sound(), *slow, *slow], NO_FAULT)) == {"duplicated": 1}


@pytest.mark.parametrize(
    ("low", "high", "levels"),
    [(".a.x", ".a.x", 0), (".a.x", ".", 2), (".a", ".a.x", None), (".ab", ".a", None)],
)
def test_how_far_an_event_climbs(low: str, high: str, levels: int | None) -> None:
    assert climb(low, high) == levels


def test_memory_that_grows_in_the_second_half_is_growth_and_in_the_first_is_not() -> None:
    def process(name: str, sizes: list[int]) -> list[AnyRecord]:
        return [Sample(float(n), name, size, 9, 0, 0, {}) for n, size in enumerate(sizes)]

    flat = process("p1", [*range(50), *[50] * 50])
    growing = process("p2", [*[50] * 50, *range(50, 100)])
    assert check(flat, NO_FAULT).growth == 1
    assert check([*flat, *growing], NO_FAULT).growth == pytest.approx(94.5 / 54.5)
    assert check(flat[:9], NO_FAULT).growth is None


def test_memory_settles_if_it_grows_less_in_the_last_quarter_than_in_the_second() -> None:
    def process(name: str, megabytes_an_hour: tuple[float, ...]) -> list[AnyRecord]:
        size, samples = 0.0, list[AnyRecord]()
        for second in range(401):
            size += megabytes_an_hour[min(3, second // 100)] * 1e6 / 3600
            samples.append(Sample(float(second), name, int(size), 9, 0, 0, {}))
        return samples

    warm, leaky = process("p1", (90, 20, 9, 2)), process("p2", (20, 20, 20, 20))
    visitor = process("p3", (90, 90, 90, 90))[150:200]
    assert check([*warm, *visitor], NO_FAULT).settling == pytest.approx(0.1, abs=0.01)
    assert check([*warm, *leaky], NO_FAULT).settling == pytest.approx(0.55, abs=0.01)
    assert check(process("p1", (1, 0, 0, 0.5)), NO_FAULT).settling == pytest.approx(0.5, abs=0.01)
    assert check(visitor, NO_FAULT).settling is None


def test_what_comes_after_a_later_one_is_out_of_order_unless_it_is_flagged_as_late() -> None:
    order = (1, 2, 4, 5, 3, 6)
    history: list[AnyRecord] = [Joined(0.0, node, topic) for node, topic in TOPICS.items()]
    history += [published(sequence) for sequence in order]
    came = [Delivered(10.0 + n, HIGH, ".a.x", STREAM, number, 1) for n, number in enumerate(order)]
    found = check([*history, *came], NO_FAULT)
    assert (found.out_of_order, found.overtaking) == (1, 2)
    came[4] = Delivered(14.0, HIGH, ".a.x", STREAM, 3, 1, late=True)
    found = check([*history, *came], NO_FAULT)
    assert (found.out_of_order, found.overtaking) == (0, 2)


def test_who_was_given_up_soon_after_the_fault_began_counts() -> None:
    samples = [sample(forgotten=n, when=float(n)) for n in range(40)]
    assert check(samples, NO_FAULT).forgotten == 39
    assert check(samples, Fault(began=4.5)).forgotten == 10
    assert check(samples, Fault(began=34.5)).forgotten == 5
    assert check(samples[20:], Fault(began=15)).forgotten == 24  # a process that came later
    assert check(samples[20:], Fault(began=5)).forgotten == 0


def test_every_fault_fails_the_run() -> None:
    scenario = evolve(SCENARIOS[0], growth_max=1.1, forgotten_max=3)
    sound_findings = evolve(check(sound(), NO_FAULT), growth=1.0, forgotten=3)
    assert verdict(scenario, sound_findings) == []
    names = ("lost", "late", "missed", "duplicated", "parasites", "refused", "failures")
    for name in (*names, "told_falsely"):
        faulty = Findings(**{**asdict(sound_findings, recurse=False), name: 2})
        assert verdict(scenario, faulty) == [f"2 {name.replace('_', ' ')}"]
    grown = evolve(sound_findings, growth=1.2)
    assert verdict(scenario, grown) == ["memory grew by a factor of 1.20"]
    growing = evolve(sound_findings, settling=0.3)
    assert verdict(evolve(scenario, settling_max=0.2), growing) == [
        "memory grows on, by 0.30 of its earlier pace"
    ]
    back = evolve(sound_findings, out_of_order=2)
    assert verdict(scenario, back) == ["2 out of order"]
    assert verdict(scenario, back, "arrival") == []
    given_up = evolve(sound_findings, forgotten=4)
    assert verdict(scenario, given_up) == ["4 live peers given up"]
    assert verdict(scenario, evolve(sound_findings, due=0)) == ["nothing was due"]
    absent = evolve(sound_findings, not_ready=1)
    assert verdict(scenario, absent) == ["1 not ready"]
    assert verdict(evolve(scenario, may_stay_out=True), absent) == []


def test_records_survive_the_file_and_half_a_line_is_passed_over(tmp_path: Path) -> None:
    history = sound()
    lines = b"".join(msgspec.json.encode(record) + b"\n" for record in history)
    file = tmp_path / "p1.jsonl"
    file.write_bytes(lines + b'{"type":"Joined","wh')
    assert records.read([file]) == history
