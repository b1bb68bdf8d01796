"""The liveness service: who is sent heartbeats, who is silent, and what goes along.

Services exchange their records by hand, a part each; whole nodes then share peers in a world.
Periods last a second here, and so do the units of a suspicion: a silence is three of them.
"""

from __future__ import annotations

from collections import Counter
from math import ceil, inf, log, nan
from random import Random

import pytest

from camcast.doors.liveness import Watcher
from camcast.engine import liveness_messages
from camcast.engine.errands import ASKERS_MAX, PROBE_UNITS, PROBES_ASKER_MAX, PROBES_MAX
from camcast.engine.group_tallies import GroupTallies
from camcast.engine.groups import Groups
from camcast.engine.liveness import (
    AGAIN,
    HEALTH_MAX,
    HELPERS,
    HIGH_FACTOR,
    LOW_MAX,
    LOW_MIN,
    SILENCE_UNITS,
    UNREACHED,
    LivenessService,
    PartLiveness,
)
from camcast.engine.liveness_messages import (
    PIGGYBACKED_BYTES_MAX,
    PIGGYBACKED_MAX,
    Answer,
    Heartbeat,
    Here,
    Probe,
    Question,
    Verdict,
    page_of,
)
from camcast.engine.open_guard import Guard
from camcast.engine.questions import QUESTIONS_MAX
from camcast.engine.repair.told import LAG_SECONDS, Lateness
from camcast.testing.lone_process import LoneProcess
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.identity import Contact, PeerId, placeholder
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind, MalformedError

A, B = Topic.parse(".a"), Topic.parse(".b")
ALONE = SILENCE_UNITS + HIGH_FACTOR * LOW_MIN
"""After so many units a silent peer is given up with nobody to ask, in a group of a few."""


class Word(Message, tag=1, frozen=True):
    text: str


class Part(Watcher):
    """A part of a process, which notes what it is told."""

    def __init__(self, word: str = "", size: float = 1.0) -> None:
        self.told: list[tuple[str, str]] = []
        self.word = word
        self.group_size = size
        self.all_silent_told = 0

    def size(self) -> float:
        return self.group_size

    def all_silent(self, now: float) -> None:
        self.all_silent_told += 1

    def peer_silent(self, contact: Contact, now: float) -> None:
        self.told.append(("silent", contact.address))

    def peer_gone(self, contact: Contact, now: float) -> None:
        self.told.append(("gone", contact.address))

    def peer_back(self, contact: Contact, now: float) -> None:
        self.told.append(("back", contact.address))

    def heartbeat(self, contact: Contact, now: float) -> Word | None:
        return Word(self.word) if self.word else None


class AlwaysChanging(GroupTallies):
    """The tallies of two groups in which something changes each second."""

    def __init__(self) -> None:
        super().__init__(Groups(), Lateness(), Clock(), Guard())

    def _find_changing(self, second: int, now: float) -> dict[GroupId, bytes]:
        return {topic.group: tally(topic, second) for topic in (A, B)}


def tally(topic: Topic, second: int) -> bytes:
    return b"%b %d" % (topic.name.encode(), second)


class Process(LoneProcess):
    """One process with a liveness service, which is in some groups."""

    def __init__(
        self,
        number: int,
        *groups: Topic,
        host: int | None = None,
        tallies: GroupTallies | None = None,
    ) -> None:
        """A process at the host of its own number, or at another's."""
        host = number if host is None else host
        address = f"tcp://10.0.{host >> 8}.{host & 255}:{7000 + number - host}"
        super().__init__(Contact(PeerId(number.to_bytes(16)), address), liveness_messages.DECODER)
        self.groups = {topic.group for topic in groups}
        self.taken: list[tuple[GroupId, bytes]] = []
        self.service = LivenessService(
            self.outlet(Kind.LIVENESS), Random(number), self._take, tallies
        )

    def _take(self, _source: Contact, _kind: int, group: GroupId, body: bytes, _now: float) -> bool:
        if group in self.groups and body:
            self.taken.append((group, body))
        return group in self.groups

    def part(
        self,
        topic: Topic,
        word: str = "",
        period: float = 1.0,
        silence: float = 3.0,
        size: float = 1.0,
    ) -> tuple[Part, PartLiveness]:
        part, end = Part(word, size), self.service.part(Kind.MEMBERSHIP, topic.group)
        end.report_to(part, period, silence)
        return part, end

    def messages(self) -> list[Message]:
        """Take away what was sent."""
        return [message for _, message in self.said_to()]

    def addressed(self) -> list[tuple[str, Message]]:
        """Take away what was sent, with the address of each receiver."""
        return [(to.address, message) for to, message in self.said_to()]

    def get_no_answer(self, now: float) -> None:
        """Let the time for answers to questions end."""
        for wake in self.outbox.wakes:
            if wake.token.name[0] == "question":
                self.service.wake(wake.token.name, now)

    def period(self, now: float) -> list[Message]:
        """Let the period under way end; return what was sent."""
        return [message for _, message in self.period_to(now)]

    def period_to(self, now: float) -> list[tuple[str, Message]]:
        """Let the period under way end; return what was sent to which address."""
        names = [wake.token.name for wake in self.outbox.wakes]
        self.service.wake([name for name in names if name[0] == "period"][-1], now)
        return self.addressed()

    def hear(self, now: float, *peers: Process) -> None:
        """Let records arrive from these."""
        for peer in peers:
            self.service.heard(peer.me.peer, now)

    def errands(self, now: float) -> list[tuple[str, Message]]:
        """Let the errands under way end; return what was sent to which address."""
        for _, name in self.wakes("errand"):
            self.service.wake(name, now)
        return self.addressed()

    def take(self, source: Process, message: Message, now: float) -> list[Message]:
        """Let a message arrive; return what was sent."""
        self.service.heard(source.me.peer, now)
        self.service.receive(source.me, message, now)
        return self.messages()


def test_a_peer_that_parts_share_gets_one_heartbeat_with_a_piece_of_each() -> None:
    one, other = Process(1, A, B), Process(2, A, B)
    for topic, word in ((A, "in a"), (B, "")):
        one.part(topic, word)[1].watch(other.me, 0.0)
    (heartbeat,) = one.period(1.0)
    kind = int(Kind.MEMBERSHIP)
    expected = (kind, A.group, encode(Word("in a"))), (kind, B.group, b"")
    assert heartbeat == Heartbeat(expected)
    assert other.take(one, heartbeat, 1.0) == [Answer((), ())]
    assert other.taken == [(A.group, encode(Word("in a")))]


def test_tallies_go_along_of_the_groups_that_are_shared_and_of_the_second() -> None:
    """Also when no part has a message, where all who share the same groups are told the same."""
    one, tallies = Process(1, A, B, tallies=AlwaysChanging()), dict[str, list[object]]()
    shared = {2: [A], 3: [A], 4: [A, B]}
    for topic in (A, B):
        _, end = one.part(topic)
        for number, topics in shared.items():
            if topic in topics:
                end.watch(Process(number).me, 9.0)
    for now in (10.0, 11.0, 12.0):
        for address, message in one.period_to(now):
            assert isinstance(message, Heartbeat)
            assert bool(message.piggybacked) is (now == 10.0)
            tallies.setdefault(address, []).append((message.tallies, message.second))
    seconds = [int(now) - LAG_SECONDS for now in (10.0, 11.0, 12.0)]
    assert tallies == {
        Process(number).me.address: [
            (tuple((topic.group, tally(topic, second)) for topic in topics), second)
            for second in seconds
        ]
        for number, topics in shared.items()
    }
    other = Process(3)
    assert one.take(other, Heartbeat(()), 13.0) == []  # it has just sent one of its own
    (answer,) = one.take(other, Heartbeat(()), 13.0)
    second = 13 - LAG_SECONDS
    assert answer == Answer((), (), ((A.group, tally(A, second)),), second)


def test_two_that_watch_each_other_send_one_record_each() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    other.part(A)[1].watch(one.me, 0.0)
    for second in range(1, 10):
        for sender, receiver in ((one, other), (other, one)):
            (heartbeat,) = sender.period(float(second))
            answers = receiver.take(sender, heartbeat, float(second))
            # The very first comes before the receiver has spoken at all.
            assert len(answers) == (second == 1 and sender is one)


def test_a_part_that_cannot_wait_has_a_heartbeat_answered_though_it_has_sent_one() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    _, end = other.part(A, "at once")
    end.watch(one.me, 0.0)
    other.period(1.0)
    end.reply(one.me.peer)
    end.reply(Process(3).me.peer)  # one that is not watched
    (answer,) = other.take(one, Heartbeat(()), 1.5)
    assert answer == Answer(((int(Kind.MEMBERSHIP), A.group, encode(Word("at once"))),), ())


def test_a_part_that_watches_a_silent_peer_again_is_told_again_that_it_is_silent() -> None:
    """Another part listens to it all the while, so that the service has not forgotten the peer."""
    one, other = Process(1, A, B), Process(2)
    listening, ear = one.part(B, period=inf, silence=inf)
    ear.listen(other.me, 0.0)
    watching, end = one.part(A)
    for start in (0.0, 20.0):
        end.watch(other.me, start)
        for second in range(1, 18):
            one.period(start + second)
        end.unwatch(other.me.peer)
    assert watching.told == listening.told == [("silent", other.me.address)] * 2


def test_who_listens_sends_nothing_by_itself_and_tells_along_with_its_answers() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    other.part(A, "you hold me")[1].listen(one.me, 0.0)
    assert other.period(1.0) == []
    (heartbeat,) = one.period(1.0)
    (answer,) = other.take(one, heartbeat, 1.0)
    assert one.take(other, answer, 1.0) == []
    assert one.taken == [(A.group, encode(Word("you hold me")))]


def feed(source: Process, target: Process, now: float) -> None:
    """Note an event from one process to another as the outlet and the intake do."""
    source.service.entries[target.me.peer].event_sent = now
    entry = target.service.entries[source.me.peer]
    entry.heard = entry.event_heard = now


def test_where_events_flow_one_way_one_record_a_period_is_left() -> None:
    """Only the one that gets the events sends heartbeats, though it just listens, and no answer
    comes; but piggybacked messages go along with a heartbeat of the other as often as ever."""
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    other.part(A)[1].listen(one.me, 0.0)
    left = 0
    for second in range(1, 1 + 3 * AGAIN):
        feed(one, other, second - 0.5)
        (heartbeat,) = other.period(second - 0.3)
        assert one.take(other, heartbeat, second - 0.3) == []
        for heartbeat in one.period(float(second)):
            left += 1
            assert isinstance(heartbeat, Heartbeat)
            assert heartbeat.piggybacked
            assert other.take(one, heartbeat, float(second)) == []
    assert left == 3


def test_where_events_flow_both_ways_no_heartbeat_is_left_but_those_with_pieces() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    other.part(A)[1].watch(one.me, 0.0)
    sent: list[Message] = []
    for second in range(1, 1 + AGAIN):
        feed(one, other, second - 0.2)
        feed(other, one, second - 0.1)
        for sender, receiver in ((one, other), (other, one)):
            for heartbeat in sender.period(float(second)):
                sent += heartbeat, *receiver.take(sender, heartbeat, float(second))
    assert len(sent) == 2
    assert all(isinstance(message, Heartbeat) and message.piggybacked for message in sent)


def test_events_do_not_stand_for_heartbeats_of_a_peer_that_must_be_asked() -> None:
    """It does not know this process, and only answers: with events as without."""
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    for second in range(1, 10):
        one.service.entries[other.me.peer].event_sent = second - 0.5
        (heartbeat,) = one.period(float(second))
        (answer,) = other.take(one, heartbeat, float(second))
        one.take(other, answer, float(second))


def test_a_peer_that_falls_silent_while_it_is_sent_events_is_asked_before_it_is_suspect() -> None:
    one, other = Process(1, A), Process(2, A)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    one.period(1.0)
    asked = []
    for tenth in range(11, round(10 * (3.0 + ALONE)) + 20):
        now = tenth / 10
        one.service.entries[other.me.peer].event_sent = now
        if now <= 3.0:
            one.hear(now, other)
        if not tenth % 10 and one.period(now):
            asked.append(now)
    assert asked[0] == 5.0  # within three periods: the fourth would find the peer suspect
    assert asked == [float(second) for second in range(5, 5 + len(asked))]
    assert part.told == [("silent", other.me.address)]


def test_when_events_end_heartbeats_go_on() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    other.part(A)[1].listen(one.me, 0.0)
    for second in (1, 2, 3):
        feed(one, other, second - 0.5)
        for heartbeat in other.period(second - 0.3):
            one.take(other, heartbeat, second - 0.3)
        one.period(float(second))
    assert other.period(3.7) == []
    (heartbeat,) = one.period(4.0)
    (answer,) = other.take(one, heartbeat, 4.0)
    assert isinstance(answer, Answer)


def test_a_part_that_cannot_wait_is_answered_though_events_flow() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(other.me, 0.0)
    _, end = other.part(A, "at once")
    end.watch(one.me, 0.0)
    other.period(1.0)
    feed(other, one, 1.4)
    assert other.take(one, Heartbeat(()), 1.5) == []
    assert other.take(one, Heartbeat(()), 1.6) == []
    end.reply(one.me.peer)
    (answer,) = other.take(one, Heartbeat(()), 1.7)
    assert isinstance(answer, Answer)
    assert answer.piggybacked


def test_every_part_learns_once_of_a_silence_and_of_its_end() -> None:
    """The shortest silence counts; a part that only listens, with no silence of its own, too."""
    one, other = Process(1, A, B), Process(2)
    parts = [one.part(A, silence=3.0), one.part(B, silence=50.0), one.part(A, "", inf, inf)]
    for number, (_, end) in enumerate(parts):
        (end.watch if number < 2 else end.listen)(other.me, 0.0)
    for second in range(1, 20):
        one.period(float(second))
        told = [("silent", other.me.address)] if second > ALONE else []
        assert [part.told for part, _ in parts] == [told] * 3
    one.service.heard(other.me.peer, 20.0)
    assert all(part.told[1:] == [("back", other.me.address)] for part, _ in parts)


def test_a_part_that_has_ended_is_told_nothing_and_the_others_of_its_group_are() -> None:
    one, two = Process(1, A), Process(2, A)
    (ended, end), (stays, other) = one.part(A), one.part(A)
    for part in (end, other):
        part.watch(two.me, 0.0)
    end.close()
    end.close()
    end.watch(two.me, 0.0)
    assert one.service.give_up(two.me.peer, 1.0)
    assert (ended.told, stays.told) == ([], [("silent", two.me.address)])
    other.close()
    assert not one.service.entries
    one.service.close(A.group, 2.0)


def test_any_record_is_a_sign_of_life() -> None:
    one, other = Process(1, A), Process(2)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    for second in range(1, 30):
        one.service.heard(other.me.peer, float(second))  # none of them an answer
        one.period(float(second))
        assert end.heard(other.me.peer) == second
    assert part.told == []
    assert end.heard(PeerId(b"x" * 16)) == -inf


def test_a_peer_that_is_not_in_the_group_says_so() -> None:
    """Alive, and in one of the two groups: the part of the other group learns that it is gone."""
    one, other = Process(1, A, B), Process(2, B)
    (in_a, end_a), (in_b, end_b) = one.part(A), one.part(B)
    end_a.watch(other.me, 0.0)
    end_b.watch(other.me, 0.0)
    other.part(B)[1].watch(one.me, 0.0)
    other.period(0.5)  # it has spoken, and answers all the same
    (heartbeat,) = one.period(1.0)
    (answer,) = other.take(one, heartbeat, 1.0)
    (question,) = one.take(other, answer, 1.0)
    assert isinstance(question, Question)
    assert in_a.told == []  # it may be that another has said so
    assert other.take(one, question, 1.0) == []
    one.get_no_answer(1.4)
    assert (in_a.told, in_b.told) == ([("gone", other.me.address)], [])


def test_who_is_in_the_group_after_all_is_not_gone() -> None:
    """Another says in a peer's name that it left: the peer itself is asked, and answers."""
    one, other, liar = Process(1, A), Process(2, A), Process(3)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    (question,) = one.take(other, Answer((), ((int(Kind.MEMBERSHIP), A.group),)), 1.0)
    assert one.take(other, Answer((), ((int(Kind.MEMBERSHIP), A.group),)), 1.1) == []  # once
    assert isinstance(question, Question)
    one.take(liar, Here(question.nonce), 1.1)
    one.take(other, Here(b"guessed!"), 1.1)
    (here,) = other.take(one, question, 1.2)
    one.take(other, here, 1.3)
    one.get_no_answer(1.4)
    assert part.told == []


def test_another_groups_word_does_not_move_a_peers_heartbeats() -> None:
    """A membership may be made to watch a peer at an invented address, if it did not know it."""
    one, other = Process(1, A, B), Process(2, A)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    (heartbeat,) = one.period(1.0)
    (answer,) = other.take(one, heartbeat, 1.0)
    one.take(other, answer, 1.0)
    invented = Contact(other.me.peer, "tcp://10.9.9.9:7000")
    one.part(B)[1].watch(invented, 1.5)
    assert one.service.is_elsewhere(invented, 1.5)
    ((to, question),) = one.addressed()
    assert to == other.me.address
    (here,) = other.take(one, question, 1.5)
    one.take(other, here, 1.5)
    one.get_no_answer(1.9)
    assert {to for to, _ in one.period_to(2.0)} == {other.me.address}
    assert part.told == []


def test_a_peer_that_moved_is_gone_where_it_was() -> None:
    one, other = Process(1, A), Process(2, A)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    moved = Contact(other.me.peer, "tcp://10.9.9.9:7000")
    assert one.service.is_elsewhere(moved, 1.0)
    one.get_no_answer(1.4)
    assert part.told == [("gone", other.me.address)]
    end.unwatch(other.me.peer)
    assert not one.service.is_elsewhere(moved, 1.5)


def test_who_asks_for_much_proves_its_address_once() -> None:
    one, other, third = Process(1, A), Process(2), Process(3)
    _, end = one.part(A)
    served: list[float] = []
    for when in (1.0, 1.1):
        end.prove(other.me, when, served.append)
    (question,) = one.messages()
    assert isinstance(question, Question)
    assert len(encode(question)) <= 16
    one.take(third, Here(question.nonce), 1.2)
    assert served == []
    (here,) = other.take(one, question, 1.3)
    one.take(other, here, 1.4)
    assert served == [1.4, 1.4]
    end.prove(other.me, 2.0, served.append)
    assert served == [1.4, 1.4, 2.0]
    assert one.messages() == []


def test_questions_are_bounded_whoever_asks() -> None:
    one = Process(1, A)
    _, end = one.part(A)
    for number in range(2 * QUESTIONS_MAX):
        end.prove(Process(2 + number % 60_000).me, 1.0, lambda _now: None)
    assert len(one.messages()) == QUESTIONS_MAX


def test_who_took_over_a_peers_address_speaks_for_it() -> None:
    """The peer died, and its heartbeat reaches another process, which is in one of the groups."""
    one, dead, heir = Process(1, A, B), Process(2), Process(3, B)
    heir.outbox.me = Contact(heir.me.peer, dead.me.address)
    (in_a, end_a), (in_b, end_b) = one.part(A), one.part(B)
    end_a.watch(dead.me, 0.0)
    end_b.watch(dead.me, 0.0)
    (heartbeat,) = one.period(1.0)
    (answer,) = heir.take(one, heartbeat, 1.0)
    (question,) = one.take(heir, answer, 1.0)
    for said in heir.take(one, question, 1.0):
        one.take(heir, said, 1.0)
    one.get_no_answer(1.4)
    assert (in_a.told, in_b.told) == ([("gone", dead.me.address)], [])


def test_a_pause_of_the_process_itself_makes_nobody_silent() -> None:
    one, other = Process(1, A), Process(2)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    for now in (60.0, 120.0):
        assert one.service.on_standstill(60.0, now)
        assert len(one.period(now)) == 1  # at once: the peer waits for it
        assert one.outbox.wakes[-2].delay_seconds == 0.0
    assert not one.service.on_standstill(0.5, 120.5)
    assert part.told == []
    assert one.service.suspects(120.5) == 0
    assert (one.service.pauses, one.service.paused_seconds) == (2, 120.0)


def test_a_part_whose_group_was_left_watches_nobody() -> None:
    one, other = Process(1, A), Process(2)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    one.service.close(A.group, 0.0)
    end.watch(other.me, 0.0)
    assert one.period(30.0) == []
    assert part.told == []


def test_of_different_periods_the_shortest_counts() -> None:
    one, two, three = Process(1, A, B), Process(2), Process(3)
    slow, fast = one.part(A, "", 4.0, inf)[1], one.part(B, "", 1.0, inf)[1]
    slow.watch(two.me, 0.0)
    slow.watch(three.me, 0.0)
    fast.watch(three.me, 0.0)
    counts = [len(one.period(float(second))) for second in range(1, 13)]
    assert counts == [2, 1, 1, 1] * 3


@pytest.mark.parametrize("message", [Heartbeat, lambda piggybacked: Answer(piggybacked, ())])
def test_a_strangers_heartbeat_is_read_within_bounds_and_grows_nothing(message: object) -> None:
    one, stranger = Process(1, A), Process(2)
    assert callable(message)
    piggybacked = ((int(Kind.MEMBERSHIP), A.group, b"x"),) * (3 * PIGGYBACKED_MAX)
    answers = one.take(stranger, message(piggybacked), 1.0)
    assert len(one.taken) == PIGGYBACKED_MAX
    assert answers in ([], [Answer((), ())])
    assert one.service.entries == {}


def pieces_of(messages: list[Message]) -> list[bytes]:
    """Return the groups of the piggybacked messages of the one heartbeat that was sent."""
    (heartbeat,) = messages
    assert isinstance(heartbeat, Heartbeat)
    return [group for _, group, _ in heartbeat.piggybacked]


def test_parts_that_do_not_fit_into_a_heartbeat_wait_for_the_next() -> None:
    topics = [Topic.parse(f".t{number}") for number in range(PIGGYBACKED_MAX + 10)]
    one, other = Process(1, *topics), Process(2, *topics)
    for topic in topics:
        one.part(topic)[1].watch(other.me, 0.0)
    first, second = pieces_of(one.period(1.0)), pieces_of(one.period(2.0))
    assert (len(first), len(second)) == (PIGGYBACKED_MAX, 10)
    assert {*first, *second} == {topic.group for topic in topics}


def test_parts_that_always_have_much_to_say_take_turns_in_the_room_of_a_heartbeat() -> None:
    """Samples of the size estimate filled it: those that came first kept the others out."""
    topics = [Topic.parse(f".t{number}") for number in range(100)]
    one, other = Process(1, *topics), Process(2, *topics)
    ends = [one.part(topic, "x" * 600)[1] for topic in topics]
    for end in ends:
        end.watch(other.me, 0.0)
    turns = Counter[bytes]()
    for second in range(1, 13):
        one.hear(float(second), other)
        for end in ends:
            end.tell(other.me.peer)
        pieces = pieces_of(one.period(float(second)))
        assert len(pieces) * 600 < PIGGYBACKED_BYTES_MAX + 600
        turns.update(pieces)
    assert {turns[topic.group] for topic in topics} <= {3, 4}


@pytest.mark.parametrize("period", [1, 5, PIGGYBACKED_MAX])
@pytest.mark.parametrize(
    "count", [PIGGYBACKED_MAX, PIGGYBACKED_MAX + 1, PIGGYBACKED_MAX + 8, 2 * PIGGYBACKED_MAX + 16]
)
def test_heartbeats_carry_all_items_in_turn(count: int, period: int) -> None:
    """Heartbeats of one period, whose numbers are seconds."""
    items = tuple(range(count))
    pages = [page_of(items, second) for second in range(0, count * period, period)]
    assert {len(page) for page in pages} == {PIGGYBACKED_MAX}
    assert {one for page in pages for one in page} == set(items)


def test_a_part_is_asked_for_its_piece_when_it_wants_and_else_seldom() -> None:
    one, other = Process(1, A, B), Process(2, A, B)
    ends = [one.part(topic, "word")[1] for topic in (A, B)]
    for end in ends:
        end.watch(other.me, 0.0)
    said = []
    for now in range(1, 4 + AGAIN):
        one.hear(float(now), other)
        if now == 3:
            ends[1].tell(other.me.peer)
            ends[0].tell(Process(3).me.peer)  # one that is not watched
        said.append(pieces_of(one.period(float(now))))
    expected: list[list[bytes]] = [[] for _ in said]
    expected[0] = [A.group, B.group]
    expected[2], expected[AGAIN], expected[2 + AGAIN] = [B.group], [A.group], [B.group]
    assert said == expected


def test_a_suspect_is_told_everything_again() -> None:
    """It may have given this process up, and will know by this that both live."""
    one, other = Process(1, A), Process(2, A)
    one.part(A, "word")[1].watch(other.me, 0.0)
    said = [len(pieces_of(one.period(float(now)))) for now in range(1, 7)]
    assert said == [1, 0, 0, 1, 1, 1]


# -- suspicion ---------------------------------------------------------------------------------


class Suspicion:
    """A process that watches a suspect and helpers, in a group of the given size."""

    def __init__(self, helpers: int, size: float = 50.0, near: int = 0) -> None:
        """`near` of the helpers are at the host of one of the two, in turn."""
        self.one, self.suspect = Process(1, A), Process(2, A)
        hosts = [1 + number % 2 if number < near else None for number in range(helpers)]
        self.helpers = [Process(3 + number, A, host=host) for number, host in enumerate(hosts)]
        self.part, self.end = self.one.part(A, size=size)
        for other in (self.suspect, *self.helpers):
            self.end.watch(other.me, -0.1)
        self.one.hear(0.0, self.suspect, *self.helpers)
        self.now = 0.0

    def periods(self, number: int) -> list[tuple[str, Message]]:
        """Let periods pass in which all but the suspect are heard; return the last one's sends."""
        sent: list[tuple[str, Message]] = []
        for _ in range(number):
            self.now += 1.0
            self.one.hear(self.now, *self.helpers)
            sent = self.one.period_to(self.now)
        return sent

    def verdict(self, helper: Process, *, alive: bool) -> None:
        """Let what a helper found arrive."""
        self.one.take(helper, Verdict(self.suspect.me.peer, alive), self.now)

    def periods_until_told(self, limit: int = 400) -> int:
        """Count the periods from the first silence until the part is told."""
        while not self.part.told:
            assert self.now < limit
            self.periods(1)
        return round(self.now)


def probed(sent: list[tuple[str, Message]]) -> dict[str, Message]:
    return {address: message for address, message in sent if isinstance(message, Probe)}


def test_after_three_silent_periods_three_helpers_are_asked_and_no_part_is_told() -> None:
    world = Suspicion(helpers=5)
    assert probed(world.periods(SILENCE_UNITS)) == {}
    asked = probed(world.periods(1))
    seconds = PROBE_UNITS - 1.0
    assert list(asked.values()) == [Probe(world.suspect.me, seconds)] * HELPERS
    assert asked.keys() <= {helper.me.address for helper in world.helpers}
    assert world.part.told == []
    assert probed(world.periods(1)).keys() == asked.keys()  # none has answered


def test_helpers_at_other_hosts_are_asked_first() -> None:
    """At 30 % loss processes of one loop, whose connection was stuck, confirmed one another."""
    world = Suspicion(helpers=7, near=5)
    asked = probed(world.periods(SILENCE_UNITS + 1)).keys()
    assert len(asked) == HELPERS
    assert {helper.me.address for helper in world.helpers[5:]} < asked


def test_a_suspect_that_is_only_listened_to_gets_heartbeats() -> None:
    one, other = Process(1, A), Process(2, A)
    one.part(A)[1].watch(Process(3).me, 0.0)
    one.part(A)[1].listen(other.me, 0.0)
    sent = [address for second in range(1, 6) for address, _ in one.period_to(float(second))]
    assert sent.count(other.me.address) == 2


def test_each_confirmation_shortens_a_suspicion() -> None:
    """The formula of Lifeguard, 4.2: high - (high - low) log(C + 1) / log(k + 1)."""
    low = log(50)
    for confirmations in range(HELPERS + 1):
        world = Suspicion(helpers=HELPERS)
        world.periods(SILENCE_UNITS + 1)
        for helper in world.helpers[:confirmations]:
            world.verdict(helper, alive=False)
        share = 1 - log(confirmations + 1) / log(HELPERS + 1)
        limit = SILENCE_UNITS + low + (HIGH_FACTOR * low - low) * share
        assert world.periods_until_told() == ceil(limit)


def test_the_last_confirmation_ends_a_suspicion_that_has_lasted_long_enough() -> None:
    world = Suspicion(helpers=HELPERS)
    world.periods(SILENCE_UNITS + PROBE_UNITS)
    for helper in world.helpers:
        assert world.part.told == []
        world.verdict(helper, alive=False)
    assert world.part.told == [("silent", world.suspect.me.address)]


@pytest.mark.parametrize(("size", "low"), [(1, LOW_MIN), (50, log(50)), (10**6, LOW_MAX)])
def test_the_shortest_suspicion_grows_with_the_group_within_bounds(size: int, low: float) -> None:
    world = Suspicion(helpers=HELPERS, size=size)
    world.periods(SILENCE_UNITS + 1)
    for helper in world.helpers:
        world.verdict(helper, alive=False)
    assert world.periods_until_told() == ceil(SILENCE_UNITS + low + 1e-9)


def test_one_helper_that_reaches_a_suspect_ends_the_suspicion() -> None:
    world = Suspicion(helpers=HELPERS)
    world.periods(SILENCE_UNITS + 1)
    first, second, third = world.helpers
    world.verdict(first, alive=False)
    world.verdict(second, alive=False)
    world.verdict(third, alive=True)
    assert probed(world.periods(SILENCE_UNITS)) == {}
    assert len(probed(world.periods(1))) == HELPERS  # it is suspect again
    assert world.part.told == []


def test_a_peer_that_only_others_reach_is_given_up_in_the_end() -> None:
    """A cut between two processes must not keep them in each other's tables for ever."""
    world = Suspicion(helpers=HELPERS)
    while not world.part.told:
        for address in probed(world.periods(1)):
            world.verdict(next(h for h in world.helpers if h.me.address == address), alive=True)
    assert world.now == pytest.approx(UNREACHED, abs=SILENCE_UNITS + 1)


def test_verdicts_of_those_who_were_not_asked_do_not_count() -> None:
    world, stranger = Suspicion(helpers=HELPERS), Process(99)
    world.periods(1)
    world.verdict(world.helpers[0], alive=False)  # not asked yet
    world.periods(SILENCE_UNITS)
    world.verdict(stranger, alive=True)
    world.one.take(world.helpers[0], Verdict(stranger.me.peer, alive=False), world.now)
    untold = Suspicion(helpers=HELPERS)
    assert world.periods_until_told() == untold.periods_until_told()


def test_a_helper_that_falls_silent_itself_is_replaced_and_not_waited_for() -> None:
    world = Suspicion(helpers=8)
    asked = probed(world.periods(SILENCE_UNITS + 1)).keys()
    alive = [helper for helper in world.helpers if helper.me.address not in asked]
    for _ in range(SILENCE_UNITS + 1):  # nothing is heard of those who were asked
        world.now += 1.0
        world.one.hear(world.now, *alive)
        later = probed(world.one.period_to(world.now))
    assert later.keys() & asked == set()
    for helper in alive:
        if helper.me.address in later:
            world.verdict(helper, alive=False)
    assert ("silent", world.suspect.me.address) in world.part.told


# -- local health ------------------------------------------------------------------------------


def test_if_more_than_half_fall_silent_at_once_nobody_is_given_up_unless_others_say_so() -> None:
    """With less than half of them silent each is given up in time.

    With more, one whose silence the helpers confirm is given up, and without them a suspicion lasts
    up to eight times as long.
    """
    half, most = Suspicion(helpers=10), Suspicion(helpers=10)
    for world, silent in ((half, 4), (most, 8)):
        helpers = world.helpers
        del helpers[:silent]
        world.periods(30)
    assert len(half.part.told) == 5
    assert most.part.told == []
    assert most.part.all_silent_told == 0
    for helper in most.helpers:
        most.verdict(helper, alive=False)
    assert most.part.told == [("silent", most.suspect.me.address)]
    told = most.periods_until_told()
    del most.part.told[:]
    unconfirmed = most.periods_until_told()
    high = HIGH_FACTOR * log(50)
    assert told + high < unconfirmed <= SILENCE_UNITS + HEALTH_MAX * high + 1


def test_health_returns_with_the_peers() -> None:
    """After eight periods of all being well a suspicion lasts as long as it did before."""
    world = Suspicion(helpers=HELPERS)
    silent, world.helpers = world.helpers, []
    world.periods(20)
    world.helpers = silent
    world.one.hear(world.now, world.suspect)
    began = world.now
    fresh = Suspicion(helpers=HELPERS)
    assert world.periods_until_told() - began == fresh.periods_until_told()


def test_every_part_learns_that_all_are_silent_as_long_as_it_lasts() -> None:
    world = Suspicion(helpers=HELPERS)
    listening, _ = world.one.part(B)
    silent, world.helpers = world.helpers, []
    world.periods(SILENCE_UNITS + 2)
    assert world.part.all_silent_told == listening.all_silent_told == 2
    assert world.one.service.isolated
    assert world.one.service.suspects(world.now) == world.one.service.watched() == 1 + HELPERS
    world.helpers = silent[:1]
    world.periods(5)
    assert world.part.all_silent_told == listening.all_silent_told == 2
    assert not world.one.service.isolated
    assert world.one.service.suspects(world.now) == HELPERS


def test_who_was_paused_neither_gives_up_nor_confirms() -> None:
    """All that arrived meanwhile is read after the process learns that it stood still."""
    world = Suspicion(helpers=HELPERS)
    world.periods(SILENCE_UNITS + 1)
    world.now += 60.0
    world.one.service.on_standstill(60.0, world.now)
    for helper in world.helpers:
        world.verdict(helper, alive=False)
    asked = world.one.take(Process(9), Probe(world.suspect.me, 5.0), world.now)
    assert not any(isinstance(message, Verdict) for message in asked)
    world.one.period(world.now)
    assert world.part.told == []

    paused, asker, target = Process(1), Process(2), Process(3)
    paused.take(asker, Probe(target.me, 5.0), 0.0)
    assert paused.errands(60.0) == []


# -- helpers -----------------------------------------------------------------------------------


def test_a_helper_tries_by_itself_and_tells_each_asker_once_what_it_found() -> None:
    helper, target, one, two = Process(1), Process(2), Process(3), Process(4)
    probe = Probe(target.me, 5.0)
    for asker, now in ((one, 0.0), (two, 1.0)):
        helper.service.receive(asker.me, probe, now)
        assert helper.addressed() == [(target.me.address, Heartbeat(()))]
    helper.hear(2.0, target)
    verdict = Verdict(target.me.peer, alive=True)
    assert helper.addressed() == [(one.me.address, verdict), (two.me.address, verdict)]
    helper.hear(3.0, target)
    assert helper.errands(5.0) == []


def test_a_helper_that_hears_nothing_says_so_in_the_end_and_corrects_itself() -> None:
    helper, target, one, two = Process(1), Process(2), Process(3), Process(4)
    helper.take(one, Probe(target.me, 5.0), 0.0)
    verdict = Verdict(target.me.peer, alive=False)
    assert helper.errands(5.0) == [(one.me.address, verdict)]
    assert helper.take(two, Probe(target.me, 5.0), 6.0) == [verdict]
    helper.hear(7.0, target)
    assert helper.messages() == [Verdict(target.me.peer, alive=True)]
    assert helper.service._errands.under_way == {}


def test_a_helper_forgets_what_it_found() -> None:
    helper, target, one = Process(1), Process(2), Process(3)
    helper.take(one, Probe(target.me, 5.0), 0.0)
    helper.errands(5.0)
    assert helper.errands(10.0) == []
    assert helper.service._errands.under_way == {}


@pytest.mark.parametrize(("heard", "alive"), [(9.5, True), (7.0, None), (4.0, False)])
def test_a_helper_that_watches_the_suspect_itself_knows_or_tries(
    heard: float, alive: bool | None
) -> None:
    helper, target, asker = Process(1, A), Process(2), Process(3)
    end = helper.part(A)[1]
    end.watch(target.me, 0.0)
    for second in range(1, 10):
        helper.period(float(second))
    helper.service.entries[target.me.peer].heard = heard
    answers = helper.take(asker, Probe(target.me, 5.0), 10.0)
    assert answers == [Heartbeat(()) if alive is None else Verdict(target.me.peer, alive)]


def test_an_event_of_the_suspect_convinces_a_helper_that_listens_to_it() -> None:
    """Events are signs of life that the intake notes in the entry without a word."""
    helper, target, asker = Process(1, A), Process(2), Process(3)
    helper.part(A)[1].listen(target.me, 0.0)
    for second in range(1, 9):
        helper.period(float(second))
        if second == 3:
            assert helper.take(asker, Probe(target.me, 5.0), 3.5) == [Heartbeat(())]
    helper.service.entries[target.me.peer].heard = 6.0
    assert helper.errands(8.5) == [(asker.me.address, Verdict(target.me.peer, alive=True))]


def test_what_probes_draw_is_bounded() -> None:
    """One record for each probe, so many a second of one asker and of all; memory is bounded."""
    helper = Process(1)
    flooders = [Process(1000 + number) for number in range(20)]
    targets = [Process(2000 + number) for number in range(PROBES_MAX)]
    for flooder in flooders:
        drawn = [helper.take(flooder, Probe(target.me, 1e9), 0.0) for target in targets[:100]]
        assert sum(map(len, drawn)) <= PROBES_ASKER_MAX
    assert sum(helper.service._errands._read.values()) == PROBES_MAX
    for second in range(1, 20):
        for number, flooder in enumerate(flooders):
            target = Process(10_000 + 100 * second + number)
            assert len(helper.take(flooder, Probe(target.me, 1e9), float(second))) <= 1
    assert len(helper.service._errands.under_way) <= PROBES_MAX
    for number in range(2 * ASKERS_MAX):
        helper.take(Process(5000 + number), Probe(targets[0].me, 1.0), 25.0 + number)
    assert (
        max(len(errand.askers) for errand in helper.service._errands.under_way.values())
        <= ASKERS_MAX
    )
    helper.errands(30.0)
    helper.errands(60.0)
    assert helper.service._errands.under_way == {}


def test_whoever_asks_for_probes_without_end_keeps_no_other_asker_waiting() -> None:
    """It had all that may be under way within eight seconds, and others got no verdict."""
    helper, liar, asker = Process(1), Process(2), Process(3)
    for number in range(PROBES_MAX):
        second = float(number // PROBES_ASKER_MAX)
        helper.take(liar, Probe(Process(2000 + number).me, 30.0), second)
    suspects = [Process(3000 + number).me for number in range(PROBES_ASKER_MAX)]
    for suspect in suspects:
        assert helper.take(asker, Probe(suspect, 5.0), 9.0) == [Heartbeat(())]
    assert len(helper.service._errands.under_way) == PROBES_MAX
    assert helper.take(liar, Probe(Process(4000).me, 30.0), 10.0) == []
    assert len(helper.errands(14.5)) >= PROBES_ASKER_MAX


def test_a_probe_that_is_over_frees_its_place() -> None:
    helper, asker = Process(1), Process(2)
    errands = helper.service._errands
    for began in (0.0, 100.0):
        for number in range(PROBES_MAX):
            suspect = Process(2000 + PROBES_MAX * bool(began) + number).me
            helper.take(asker, Probe(suspect, 20.0), began + number // PROBES_ASKER_MAX)
        assert len(errands.under_way) == PROBES_MAX
        for peer in list(errands.under_way)[::2]:
            errands.heard(peer)
        for end in (30.0, 50.0):
            helper.errands(began + end)
        assert errands.under_way == {}


@pytest.mark.parametrize("seconds", [0.0, -1.0, nan])
def test_a_probe_without_time_for_it_draws_nothing(seconds: float) -> None:
    assert Process(1).take(Process(2), Probe(Process(3).me, seconds), 1.0) == []


def test_a_probe_to_an_address_that_is_none_is_malformed() -> None:
    body = encode(Probe(Process(1).me, 1.0)).replace(b"10.0.0.1", b"example.")
    with pytest.raises(MalformedError):
        liveness_messages.DECODER.decode(body)


def test_a_part_learns_that_its_own_peers_are_all_silent_though_other_parts_hear_theirs() -> None:
    """One whose last neighbour had died, and who had links upward, looked for others ten seconds
    later, and died with what nobody else had (scamp 345)."""
    world = Suspicion(helpers=HELPERS)
    other, end = world.one.part(B)
    end.watch(world.suspect.me, world.now)
    world.periods(SILENCE_UNITS + 2)
    assert (other.all_silent_told, world.part.all_silent_told) == (2, 0)
    assert not world.one.service.isolated


def test_a_helper_does_not_try_a_process_that_nobody_can_dial_and_it_does_not_know() -> None:
    """It may be attached to others: that it does not answer here would say nothing."""
    helper, asker = Process(1), Process(2)
    helper.take(asker, Probe(placeholder(PeerId(b"u" * 16)), 5.0), 0.0)
    assert helper.errands(5.0) == []
