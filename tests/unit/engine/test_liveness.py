"""The liveness service: who is sent heartbeats, who is silent, and what goes along.

Services exchange their records by hand, a part each; whole nodes then share peers in a world.
"""

from __future__ import annotations

from math import inf
from random import Random

import pytest

from camcast.doors.liveness import Watcher
from camcast.engine import liveness
from camcast.engine.liveness import PIECES_MAX, Answer, Heartbeat, LivenessService, PartLiveness
from camcast.testing.world import World
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message, encode
from camcast.vocabulary.outbox import ControlOutlet, Outbox
from camcast.vocabulary.topics import GroupId, Topic
from camcast.vocabulary.wire import Kind, decode_control

A, B = Topic.parse(".a"), Topic.parse(".b")


class Word(Message, tag=1, frozen=True):
    text: str


class Part(Watcher):
    """A part of a process, which notes what it is told."""

    def __init__(self, word: str = "") -> None:
        self.told: list[tuple[str, str]] = []
        self.word = word

    def peer_silent(self, contact: Contact, now: float) -> None:
        self.told.append(("silent", contact.address))

    def peer_gone(self, contact: Contact, now: float) -> None:
        self.told.append(("gone", contact.address))

    def peer_back(self, contact: Contact, now: float) -> None:
        self.told.append(("back", contact.address))

    def heartbeat(self, contact: Contact, now: float) -> Word | None:
        return Word(self.word) if self.word else None


class Process:
    """One process with a liveness service, which is in some groups."""

    def __init__(self, number: int, *groups: Topic) -> None:
        self.me = Contact(PeerId(number.to_bytes(16)), f"tcp://10.0.0.{number}:7000")
        self.groups = {topic.group for topic in groups}
        self.taken: list[tuple[GroupId, bytes]] = []
        self.outbox = Outbox()
        outlet = ControlOutlet(self.outbox, self.me, Kind.LIVENESS, GroupId(bytes(8)))
        self.service = LivenessService(outlet, Random(number), self._take)

    def _take(self, _source: Contact, _kind: int, group: GroupId, body: bytes, _now: float) -> bool:
        if group in self.groups and body:
            self.taken.append((group, body))
        return group in self.groups

    def part(
        self, topic: Topic, word: str = "", period: float = 1.0, silence: float = 5.0
    ) -> tuple[Part, PartLiveness]:
        part, end = Part(word), self.service.part(Kind.MEMBERSHIP, topic.group)
        end.report_to(part, period, silence)
        return part, end

    def sent(self) -> list[Message]:
        """Take away what was sent."""
        sends, self.outbox.sends = self.outbox.sends, []
        return [liveness.DECODER.decode(decode_control(r, 0, len(r)).body) for _, r, *_ in sends]

    def period(self, now: float) -> list[Message]:
        """Let the period under way end; return what was sent."""
        self.service.wake(self.outbox.wakes[-1].token.name, now)
        return self.sent()

    def take(self, source: Process, message: Message, now: float) -> list[Message]:
        """Let a message arrive; return what was sent."""
        self.service.heard(source.me.peer, now)
        self.service.receive(source.me, message, now)
        return self.sent()


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
    for start in (0.0, 10.0):
        end.watch(other.me, start)
        for second in range(1, 8):
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


def test_every_part_learns_once_of_a_silence_and_of_its_end() -> None:
    """The shortest silence counts; a part that only listens, with no silence of its own, too."""
    one, other = Process(1, A, B), Process(2)
    parts = [one.part(A, silence=3.0), one.part(B, silence=50.0), one.part(A, "", inf, inf)]
    for number, (_, end) in enumerate(parts):
        (end.watch if number < 2 else end.listen)(other.me, 0.0)
    for second in range(1, 8):
        one.period(float(second))
        told = [("silent", other.me.address)] if second > 3 else []
        assert [part.told for part, _ in parts] == [told] * 3
    one.service.heard(other.me.peer, 8.0)
    assert all(part.told[1:] == [("back", other.me.address)] for part, _ in parts)


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
    one.take(other, answer, 1.0)
    assert (in_a.told, in_b.told) == ([("gone", other.me.address)], [])


def test_who_took_over_a_peers_address_speaks_for_it() -> None:
    """The peer died, and its heartbeat reaches another process, which is in one of the groups."""
    one, dead, heir = Process(1, A, B), Process(2), Process(3, B)
    heir.me = Contact(heir.me.peer, dead.me.address)
    (in_a, end_a), (in_b, end_b) = one.part(A), one.part(B)
    end_a.watch(dead.me, 0.0)
    end_b.watch(dead.me, 0.0)
    (heartbeat,) = one.period(1.0)
    (answer,) = heir.take(one, heartbeat, 1.0)
    one.take(heir, answer, 1.0)
    assert (in_a.told, in_b.told) == ([("gone", dead.me.address)], [])


def test_a_pause_of_the_process_itself_makes_nobody_silent() -> None:
    one, other = Process(1, A), Process(2)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    one.period(60.0)
    assert part.told == []


def test_a_part_whose_group_was_left_watches_nobody() -> None:
    one, other = Process(1, A), Process(2)
    part, end = one.part(A)
    end.watch(other.me, 0.0)
    one.service.close(A.group)
    end.watch(other.me, 0.0)
    assert one.period(30.0) == []
    assert part.told == []


def test_of_different_periods_the_shortest_counts() -> None:
    one, two, three = Process(1, A, B), Process(2), Process(3)
    slow, fast = one.part(A, period=4.0)[1], one.part(B, period=1.0)[1]
    slow.watch(two.me, 0.0)
    slow.watch(three.me, 0.0)
    fast.watch(three.me, 0.0)
    counts = [len(one.period(float(second))) for second in range(1, 13)]
    assert counts == [2, 1, 1, 1] * 3


@pytest.mark.parametrize("message", [Heartbeat, lambda pieces: Answer(pieces, ())])
def test_a_strangers_heartbeat_is_read_within_bounds_and_grows_nothing(message: object) -> None:
    one, stranger = Process(1, A), Process(2)
    assert callable(message)
    pieces = ((int(Kind.MEMBERSHIP), A.group, b"x"),) * (3 * PIECES_MAX)
    answers = one.take(stranger, message(pieces), 1.0)
    assert len(one.taken) == PIECES_MAX
    assert answers in ([], [Answer((), ())])
    assert one.service.entries == {}


def test_parts_that_do_not_fit_into_a_heartbeat_take_turns() -> None:
    topics = [Topic.parse(f".t{number}") for number in range(PIECES_MAX + 10)]
    one, other = Process(1, *topics), Process(2, *topics)
    for topic in topics:
        one.part(topic)[1].watch(other.me, 0.0)
    seen: list[bytes] = []
    for second in (1.0, 2.0):
        (heartbeat,) = one.period(second)
        assert isinstance(heartbeat, Heartbeat)
        assert len(heartbeat.pieces) == PIECES_MAX
        seen += [group for _, group, _ in heartbeat.pieces]
    assert set(seen) == {topic.group for topic in topics}


def heartbeats(topics: int, size: int = 10, seconds: float = 60.0) -> int:
    """Count the heartbeats and answers of processes that are all in the same communities."""
    world = World(membership="scamp")
    names = [Topic.parse(f".t{number}") for number in range(topics)]
    for _ in range(size):
        world.join(*names)
    world.run(30.0)
    kinds: list[int] = []
    world.virtual.on_send = lambda _source, _target, record: kinds.append(record[4])
    world.run(seconds)
    return kinds.count(Kind.LIVENESS)


def test_four_topics_with_the_same_peers_cost_little_more_than_one() -> None:
    """A process then has more different peers, but no peer gets more than one heartbeat."""
    assert heartbeats(4) <= 1.2 * heartbeats(1)
