"""The laws of archives: what a community has had outlives all its processes, and is had once."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

import attrs
import pytest

from camcast.engine.node import Node
from camcast.engine.repair import answering
from camcast.engine.repair.answering import OLD_BYTES_A_SECOND
from camcast.engine.repair.meeting import MEET_SECONDS
from camcast.engine.settings import Parts
from camcast.engine.store import Store
from camcast.testing import World
from camcast.testing.memory_archive import MemoryArchive
from camcast.vocabulary.batches import Batch, decode_body, make_batch
from camcast.vocabulary.events import stream_id
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.topics import ROOT, Topic

A = Topic.parse(".a")
B = Topic.parse(".b")
HOUR = 3600.0
DAY = 24 * HOUR
LONG = 700.0  # more than the 655 s of age that a batch can say, and than any retention


class ArchivedWorld(World):
    """A world in which each host has an archive, which outlives its nodes."""

    def __init__(self, seed: int = 1, loss: float = 0.0) -> None:
        super().__init__(seed, loss=loss, repair=True)
        self.settings = attrs.evolve(self.settings, order="fifo")
        self.archives: dict[int, MemoryArchive] = {}
        self.publishers: list[Node] = []
        self.published = 0

    def begin(self, number: int, *topics: Topic, archived: bool = True) -> Node:
        """Start a node at a host, with the host's archive, and let it join."""
        archive = self.archives.setdefault(number, MemoryArchive(lambda: self.now))
        parts = Parts(store=Store(), archive=archive if archived else None)
        node = self.start(self.settings, number, parts=parts)
        for topic in topics:
            self._joined[topic] = None
            self.do(node, partial(_join, topic))
        self.run(0.1)
        return node

    def publish_next(self, seconds: float) -> None:
        """Let the next publisher publish the next number, and let time pass."""
        publisher = self.publishers[self.published % len(self.publishers)]
        self.publish(publisher, A, b"%d" % self.published, seconds=seconds)
        self.published += 1

    def archived(self, number: int, topic: Topic) -> list[bytes]:
        """Return the payloads in a host's archive of a community, in the order of publication."""
        bodies = self.archives[number].history(topic, 0)
        return [payload for one in map(_decode, bodies) for payload in one.payloads()]

    def history_of(self, node: Node, topic: Topic, seconds: float) -> list[bytes]:
        """Return what a node has of the past at once; what it asks for is delivered."""
        local_group = node.local_group(topic)
        assert local_group is not None
        batches = self.do(node, lambda node, now: node.history(local_group, seconds, now))
        return _payloads(batches)


def _join(topic: Topic, node: Node, now: float) -> None:
    node.join(topic, now)


def _decode(body: bytes) -> Batch:
    return decode_body(body, 0, len(body))


def _payloads(batches: Iterable[Batch]) -> list[bytes]:
    return [payload for batch in batches for payload in batch.payloads()]


def _numbers(start: int, stop: int) -> list[bytes]:
    return [b"%d" % number for number in range(start, stop)]


def test_all_processes_stop_for_an_hour_and_every_archive_is_complete_afterwards() -> None:
    world = ArchivedWorld(loss=0.1)
    nodes = [world.begin(number, A) for number in range(1, 9)]
    world.run(5.0)
    for number in range(30):
        world.publish(nodes[number % 3], A, b"%d" % number, seconds=0.2)
    world.kill(nodes[7])  # its archive lacks what follows
    for number in range(30, 60):
        world.publish(nodes[number % 3], A, b"%d" % number, seconds=0.2)
    world.run(10.0)
    for node in nodes[:7]:
        world.kill(node)
    world.run(HOUR)
    again = [world.begin(number, A) for number in range(1, 9)]
    world.run(30.0)
    for number in range(1, 9):
        assert sorted(world.archived(number, A)) == sorted(_numbers(0, 60)), number
    assert sorted(world.history_of(again[7], A, 2 * HOUR)) == sorted(_numbers(0, 60))
    for node in again:
        assert not world.delivered_to(node), "nobody has asked for the past"


@pytest.mark.parametrize("seconds", [0.0, 20.0])
def test_what_the_last_process_of_all_published_alone_comes_to_all_when_they_start_again(
    seconds: float,
) -> None:
    """Also if it is the last to start, so that the others ask it when it is not yet there."""
    world = ArchivedWorld(loss=0.1)
    nodes = [world.begin(number, A) for number in range(1, 7)]
    world.run(5.0)
    for node in nodes[1:]:
        world.kill(node)
    for number in range(100):
        world.publish(nodes[0], A, b"%d" % number, seconds=0.1)
    world.kill(nodes[0])
    world.run(10.0)
    for number in range(2, 7):
        world.begin(number, A)
    world.run(seconds)
    world.begin(1, A)
    world.run(30.0)
    for number in range(1, 7):
        assert sorted(world.archived(number, A)) == sorted(_numbers(0, 100)), number


def test_a_newcomer_without_an_archive_gets_an_hour_of_the_past_from_those_who_have_one() -> None:
    world = ArchivedWorld()
    nodes = [world.begin(number, A) for number in range(1, 5)]
    world.run(5.0)
    for number in range(20):
        world.publish(nodes[0], A, b"%d" % number, seconds=1.0)
    world.run(LONG)
    for number in range(20, 30):
        world.publish(nodes[1], A, b"%d" % number, seconds=1.0)
    newcomer = world.begin(9, A, archived=False)
    world.run(2.0)
    assert world.history_of(newcomer, A, 2 * HOUR) == []
    world.run(10.0)
    assert world.delivered_to(newcomer) == {(A, payload): 1 for payload in _numbers(0, 30)}
    assert not world.archived(9, A)


@pytest.mark.slow
def test_what_an_archive_has_is_neither_asked_for_nor_delivered_again() -> None:
    world = ArchivedWorld()
    nodes = [world.begin(number, A) for number in range(1, 5)]
    world.run(5.0)
    for number in range(20):
        world.publish(nodes[0], A, b"%d" % number, seconds=1.0)
    world.kill(nodes[3])
    world.run(2.0)
    for number in range(20, 23):
        world.publish(nodes[0], A, b"%d" % number, seconds=1.0)
    sent = sum(node.counters.repairs_sent for node in nodes[:3])
    again = world.begin(4, A)
    world.run(10.0)
    for number in range(23, 26):
        world.publish(nodes[0], A, b"%d" % number, seconds=1.0)
    world.run(5.0)
    repaired = sum(node.counters.repairs_sent for node in nodes[:3]) - sent
    assert repaired <= 2 * 3, "only what was published meanwhile, by two holders at most"
    assert world.archived(4, A) == _numbers(0, 26)
    assert world.delivered_to(again) == {(A, payload): 1 for payload in _numbers(23, 26)}
    world.run(LONG)  # the memory of all has forgotten
    world.publish(nodes[0], A, b"26", seconds=5.0)
    assert world.delivered_to(again) == {(A, payload): 1 for payload in _numbers(23, 27)}


def _has_past(node: Node, now: float) -> bool:
    local_group = node.local_group(A)
    assert local_group is not None
    assert local_group.repair is not None
    return local_group.repair.has_past(now)


def _read_durably(world: ArchivedWorld, node: Node, number: int, seconds: float) -> list[int]:
    """Read a host's archive as a durable subscriber does: what the past has, then what comes."""
    read: list[int] = []
    begun = False
    for _ in range(round(seconds / 0.25)):
        begun = begun or world.do(node, _has_past)
        if begun:
            seen = set(read)
            read += [one for one in map(int, world.archived(number, A)) if one not in seen]
        world.publish_next(seconds=0.25)
    return read


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=pytest.mark.slow if seed > 1 else ()) for seed in range(1, 11)],
)
def test_who_was_off_reads_what_it_missed_in_order_and_then_what_is_new(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:  # the past takes a while; else a third of the questions have no answer
        monkeypatch.setattr(answering, "OLD_BYTES_A_SECOND", 200)
    world = ArchivedWorld(seed, loss=0.05 if seed % 2 else 0.2)
    nodes = [world.begin(number, A) for number in range(1, 6)]
    world.run(3.0)
    world.publishers = nodes[:4]
    for _ in range(10):
        world.publish_next(seconds=0.3)
    world.run(10.0)
    assert list(map(int, world.archived(5, A))) == list(range(10))
    world.kill(nodes[4])
    for _ in range(40 + 5 * seed):
        world.publish_next(seconds=4.0)
    missed = world.published
    read = _read_durably(world, world.begin(5, A), 5, seconds=40.0)
    assert read[:missed] == list(range(missed)), "nothing lost, in the order of publication"
    assert read[missed:], "then what is new"
    for publisher in range(4):
        own = [one for one in read if one % 4 == publisher]
        assert own == sorted(own), "and of each publisher in its order"
    assert len(world.archived(5, A)) == len(set(world.archived(5, A))), "each once"


def test_two_halves_that_archived_apart_for_a_day_are_one_after_the_cut() -> None:
    """What only one half has, and nobody remembers, is found by hours and fetched."""
    world = ArchivedWorld()
    world.run(2 * DAY)
    nodes = [world.begin(number, A) for number in range(1, 5)]
    world.run(30.0)  # all have asked for the past, which is empty
    began = int(1000 * (world.now - DAY))
    both, halves = [], (range(1, 3), range(3, 5))
    for hour in range(24):
        when = began + hour * 3_600_000
        for stream, hosts in ((1, range(1, 5)), (2, halves[hour % 2]), (3, halves[0])):
            batch = make_batch(
                stream_id(PeerId(bytes([stream] * 16)), 1),
                hour + 1,
                [b"%d" % (100 * stream + hour)],
                A,
                published=when + stream,
            )
            both.append(batch.payloads()[0])
            for host in hosts:
                world.archives[host].keep(A, batch, ())
    sent = sum(node.counters.repairs_sent for node in nodes)
    world.run(8 * MEET_SECONDS)
    for host in range(1, 5):
        assert sorted(world.archived(host, A)) == sorted(both), host
    repaired = sum(node.counters.repairs_sent for node in nodes) - sent
    lacked = 2 * 24 + 2 * 24  # of the second stream each half lacks half, the third one half
    assert repaired <= 2 * lacked, "what both have is not sent"
    for node in nodes:
        assert not world.delivered_to(node), "it is from before their time"


def test_whoever_is_not_interested_archives_nothing() -> None:
    world = ArchivedWorld()
    nodes = [world.begin(number, A) for number in range(1, 5)]
    other = world.begin(9, B)
    above = world.begin(10, ROOT)
    world.run(30.0)
    for number in range(10):
        world.publish(nodes[0], A, b"%d" % number, seconds=1.0)
    world.run(10.0)
    assert not world.archived(9, B)
    assert not world.archived(9, A)
    assert world.archived(10, ROOT) == _numbers(0, 10)
    assert not world.archived(10, A)
    assert world.parasites == 0
    assert not world.delivered_to(other)
    assert world.delivered_to(above)


@pytest.mark.slow
def test_history_is_fetched_at_a_bounded_rate_beside_which_events_go_on() -> None:
    world = ArchivedWorld()
    nodes = [world.begin(number, A) for number in range(1, 4)]
    world.run(5.0)
    body = bytes(60_000)
    for number in range(100):  # 6 MB
        world.publish(nodes[0], A, b"%d" % number + body, seconds=0.5)
    world.run(LONG)
    sent = [node.counters.repairs_sent for node in nodes]
    world.begin(9, A)
    seconds = 0
    while len(world.archived(9, A)) < 100:
        world.run(1.0)
        seconds += 1
        assert seconds < 60, len(world.archived(9, A))
        for before, node in zip(sent, nodes, strict=True):
            batches = node.counters.repairs_sent - before
            assert batches * len(body) <= OLD_BYTES_A_SECOND * (seconds + 1), seconds
        world.publish(nodes[1], A, b"live", seconds=0.0)
    assert seconds >= 2, "three holders have sent it, in more than a second"
