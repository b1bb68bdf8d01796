"""Super-topic links: the search of Figure 5, the upkeep of Figure 6, MERGE (paper 000).

One `SuperTopicTable` alone for what it does with what it is told, and whole nodes in the memory
network for what comes of it.
"""

from __future__ import annotations

from math import inf
from random import Random
from typing import Any, cast

import pytest

from camcast.doors.membership import Membership
from camcast.engine.asked_lately import AskedLately
from camcast.engine.link_messages import (
    DECODER,
    SEARCH_TTL,
    AnsContact,
    Gone,
    NewProcess,
    Ping,
    Pong,
    ReqContact,
    SuperProcesses,
)
from camcast.engine.node import Node
from camcast.engine.questions import QUESTION_SECONDS
from camcast.engine.remote_queries import SEARCHES_REMEMBERED, SearchRelay
from camcast.engine.super_topic_table import (
    ANCESTOR_MAX,
    EARLY_DRAWS,
    NEW_PROCESSES,
    SERVES_SECONDS,
    KnownProcesses,
    SuperTopicTable,
)
from camcast.testing.lone_process import LoneProcess, contact
from camcast.testing.world import World
from camcast.vocabulary import messages, wire
from camcast.vocabulary.cold_list import COLD_MAX
from camcast.vocabulary.hierarchy import Hierarchy
from camcast.vocabulary.identity import Contact, PeerId
from camcast.vocabulary.messages import Message
from camcast.vocabulary.parameters import CommunitySettings, Tuning
from camcast.vocabulary.topics import ROOT, GroupId, Topic
from camcast.vocabulary.wire import Kind
from tests.event_frames import batch_of, frame_of
from tests.library.unit.engine.linked_network import join, network_of
from tests.transcript import Transcript

A, AB, ABC, ABCD = (Topic.parse(name) for name in (".a", ".a.b", ".a.b.c", ".a.b.c.d"))


def contacts(*numbers: int) -> tuple[Contact, ...]:
    return tuple(map(contact, numbers))


ME, NEIGHBOUR, FELLOW = contacts(1000, 1001, 1002)


class Fellows:
    """A membership with one fellow, whatever its size."""

    def __init__(self, size: float) -> None:
        self._size = size

    def size(self) -> float:
        return self._size

    def peers(self) -> Fellows:
        return self

    def sample(self, wanted: int, _rng: Random) -> list[Contact]:
        return [FELLOW][:wanted]


class Neighbours(KnownProcesses):
    """One neighbour, and no member of a super-topic."""

    def neighbours(self, wanted: int) -> list[Contact]:
        return [NEIGHBOUR][:wanted]

    def known(self, group: GroupId, wanted: int) -> list[Contact]:
        return []

    def is_super_process(self, peer: PeerId) -> bool:
        return False

    def remembers(self, table: SuperTopicTable, topic: Topic) -> None:
        return

    def entered(self, table: SuperTopicTable, peer: PeerId) -> None:
        return

    def removed(self, table: SuperTopicTable, peer: PeerId) -> None:
        return


class Bench(LoneProcess):
    """The links of a process of `.a.b.c.d`, whose super-topic is `.a.b.c`, without a network."""

    def __init__(self, size: float = 1.0, super_topic: Topic = ABC, **parameters: Any) -> None:
        super().__init__(ME, DECODER)
        self.now = 0.0
        self.parameters = CommunitySettings(**{"refresh_probability": 0.0, **parameters})
        self.tuning = Tuning(self.parameters)
        self.liveness = self.answered_liveness(ABCD.group)
        self.links = SuperTopicTable(
            Hierarchy().ways_up([super_topic])[0],
            self.tuning,
            self.outlet(Kind.LINKS, ABCD.group),
            self.liveness.part(Kind.LINKS, ABCD.group),
            Random(1),
            cast(Membership, Fellows(size)),
            Neighbours(),
            AskedLately(),
        )

    def start(self) -> None:
        self.links.start(self.now)

    def said_of(self, kind: type[Message]) -> list[tuple[list[str], Any]]:
        """Take away what was sent, and return the messages of one kind with their addresses."""
        sent = [([one.address for one in to], message) for to, message in self.sent()]
        return [(to, message) for to, message in sent if isinstance(message, kind)]

    def sought(self) -> list[str]:
        seeks, self.outbox.seeks = self.outbox.seeks, []
        return [seek.topic.name for seek in seeks]

    def fire(self, name: str) -> float:
        """Let the earliest timer of this name ring; return its delay."""
        wake = next(w for w in self.outbox.wakes if w.token.name[0] == name)
        self.outbox.wakes.remove(wake)
        self.now += wake.delay_seconds
        self.links.wake(wake.token.name, self.now)
        return wake.delay_seconds

    def tell(self, message: Message, source: Contact = NEIGHBOUR) -> None:
        self.liveness.heard(source.peer, self.now)
        self.links.receive(source, message, self.now)

    def know(self, topic: Topic, *numbers: int) -> None:
        self.links.contacts_found(topic, contacts(*numbers), self.now)

    def checked(self, *alive: int) -> None:
        """Go through one check that only these processes answer."""
        self.fire("check")
        for number in alive:
            self.tell(Pong("."), contact(number))
        self.fire("verdict")

    @property
    def nearest(self) -> tuple[str, list[int]]:
        topic, known = self.links.nearest()
        return topic.name, sorted(int.from_bytes(c.peer) for c in known)


# -- Figure 5: the search ------------------------------------------------------------------


def test_the_scope_widens_by_one_ancestor_a_timeout() -> None:
    bench = Bench(search_seconds=1.0)
    bench.start()
    expected = [[".a.b.c"], [".a.b.c", ".a.b"], [".a.b.c", ".a.b", ".a"]]
    expected.append([*expected[-1], "."])
    for scope in expected:
        assert bench.sought() == scope
        [(asked, request)] = bench.said_of(ReqContact)
        assert asked == [NEIGHBOUR.address]
        assert list(request.topics) == scope
        assert request.ttl == SEARCH_TTL
        assert bench.fire("search") == 1.0


def test_a_search_at_the_root_doubles_its_pause_up_to_a_maximum() -> None:
    bench = Bench(super_topic=A, search_seconds=1.0, search_seconds_max=5.0)
    bench.start()
    assert [bench.fire("search") for _ in range(6)] == [1, 1, 2, 4, 5, 5]


def test_an_answer_for_the_super_topic_ends_the_search() -> None:
    bench = Bench()
    bench.start()
    bench.tell(AnsContact(".a.b.c", contacts(1, 2)))
    assert not bench.links.searching
    assert bench.nearest == (".a.b.c", [1, 2])
    assert [(to, m.topic) for to, m in bench.said_of(SuperProcesses)] == [
        ([FELLOW.address], ".a.b.c")
    ]
    bench.sought()
    bench.fire("search")
    assert bench.sought() == []
    assert bench.said_of(ReqContact) == []


def test_a_farther_ancestor_is_used_while_the_search_goes_on_for_the_nearer() -> None:
    bench = Bench()
    bench.start()
    bench.fire("search")
    bench.fire("search")
    bench.tell(AnsContact(".a", contacts(1)))
    assert bench.nearest == (".a", [1])
    for _ in range(4):
        bench.sought()
        bench.fire("search")
        assert bench.sought() == [".a.b.c", ".a.b"]  # neither .a again nor beyond it
    bench.tell(AnsContact(".a.b", contacts(2)))
    assert bench.nearest == (".a.b", [2])
    bench.sought()
    bench.fire("search")
    assert bench.sought() == [".a.b.c"]
    bench.tell(AnsContact(".a.b.c", contacts(3)))
    assert bench.nearest == (".a.b.c", [3])
    assert not bench.links.searching


def test_an_answer_outside_the_scope_is_of_no_use() -> None:
    bench = Bench()
    bench.start()
    for name in (".", ".a", ".a.b.c.d", ".a.b.c.d.e", ".x"):
        bench.tell(AnsContact(name, contacts(1)))
    assert bench.nearest == (".a.b.c", [])
    assert bench.links.searching


def test_an_empty_answer_or_only_oneself_changes_nothing() -> None:
    bench = Bench()
    bench.start()
    bench.tell(AnsContact(".a.b.c", ()))
    bench.tell(AnsContact(".a.b.c", (ME, Contact(PeerId(b""), "tcp://10.0.0.1:1"))))
    assert bench.links.searching
    assert bench.nearest == (".a.b.c", [])


class Relay(LoneProcess):
    """A `SearchRelay` of a process that knows the communities in `known`."""

    def __init__(self, known: dict[Topic, tuple[Contact, ...]], **parameters: Any) -> None:
        super().__init__(ME, DECODER)
        by_group = {topic.group: list(members) for topic, members in known.items()}
        self.relay = SearchRelay(
            ME,
            known=lambda group, wanted: by_group.get(group, [])[:wanted],
            neighbours=lambda k: list(contacts(*range(1, 21)))[:k],
            outlet=lambda group: self.outlet(Kind.LINKS, group),
            parameters=CommunitySettings(**parameters),
        )

    def ask(
        self, search: bytes, topics: tuple[str, ...] = (".a", "."), ttl: int = 3
    ) -> list[tuple[list[str], str, Message]]:
        self.relay.receive(contact(1), GroupId(b"searcher"), ReqContact(search, topics, ttl))
        records = [([one.address for one in to], record) for to, record in self.records()]
        assert all(record.group == b"searcher" for _, record in records)
        return [(to, r.address, DECODER.decode(r.body)) for to, r in records]


def test_who_knows_answers_for_the_nearest_topic_only() -> None:
    relay = Relay({A: contacts(5, 6), ROOT: contacts(7)})
    [(to, _, answer)] = relay.ask(b"s" * 8)
    assert to == [contact(1).address]
    assert answer == AnsContact(".a", contacts(5, 6))
    [(_, _, answer)] = Relay({ROOT: contacts(7)}).ask(b"s" * 8)
    assert answer == AnsContact(".", contacts(7))


def test_who_knows_only_the_searcher_passes_the_search_on() -> None:
    [(_, _, passed_on)] = Relay({A: contacts(1)}).ask(b"s" * 8)
    assert isinstance(passed_on, ReqContact)


def test_who_does_not_know_passes_on_in_the_searchers_name_while_the_ttl_lasts() -> None:
    relay = Relay({})
    [(to, sender, passed_on)] = relay.ask(b"s" * 8, ttl=3)
    assert to == [contact(number).address for number in (2, 3, 4, 5)]  # four, not the searcher
    assert sender == contact(1).address
    assert passed_on == ReqContact(b"s" * 8, (".a", "."), 2)
    assert relay.ask(b"t" * 8, ttl=1) == []
    for ttl in (0, -1, -(2**62)):
        assert relay.ask(ttl.to_bytes(8, "big", signed=True), ttl=ttl) == []


def test_a_hostile_ttl_is_clamped() -> None:
    [(_, _, passed_on)] = Relay({}).ask(b"s" * 8, ttl=2**63)
    assert isinstance(passed_on, ReqContact)
    assert passed_on.ttl == 2


@pytest.mark.parametrize("search", [b"s" * 8, b"", b"s" * 16, b"s" * 17, b"s" * 1000])
def test_a_search_is_taken_once_per_process(search: bytes) -> None:
    relay = Relay({})
    first: list[Any] = []
    for attempt in range(3):
        try:
            sent = relay.ask(search)
        except wire.MalformedError:
            sent = []  # an identifier of a wrong length may be refused altogether
        first = first or sent
        assert attempt == 0 or sent == []


def test_the_searches_remembered_are_bounded() -> None:
    relay = Relay({})
    for number in range(3 * SEARCHES_REMEMBERED):
        relay.ask(number.to_bytes(8, "big"), ttl=1)
    assert len(relay.relay._searches) <= SEARCHES_REMEMBERED


# -- Figure 6: the upkeep ------------------------------------------------------------------


def linked(*numbers: int, **parameters: Any) -> Bench:
    bench = Bench(**parameters)
    bench.start()
    bench.know(ABC, *numbers)
    bench.links._early_draws = 0  # it has linked long ago
    bench.said_of(Message)
    bench.sought()
    return bench


def test_it_says_for_how_long_nobody_above_has_been_known() -> None:
    bench = Bench(tau=0)
    bench.now = 3.0
    bench.start()
    assert bench.links.alone_for(10.0) == 7.0
    bench.know(ABC, 1)
    assert bench.links.alone_for(20.0) == 0.0
    bench.now = 30.0
    bench.fire("check")
    bench.fire("verdict")  # it has not answered
    assert bench.nearest == (".a.b.c", [])
    assert bench.links.alone_for(bench.now + 5.0) == 5.0


def test_a_check_pings_every_super_process_and_who_is_silent_has_failed() -> None:
    bench = linked(1, 2, 3, tau=0)
    bench.fire("check")
    pings = bench.said_of(Ping)
    assert sorted(to for to, _ in pings) == [[contact(n).address] for n in (1, 2, 3)]
    assert {ping.topic for _, ping in pings} == {".a.b.c"}
    bench.tell(Pong(".a.b.c"), contact(1))
    bench.tell(Pong(".a.b.c"), contact(3))
    bench.fire("verdict")
    assert bench.nearest == (".a.b.c", [1, 3])
    assert bench.said_of(NewProcess) == []


@pytest.mark.parametrize(("tau", "alive", "asks"), [(1, 2, 0), (1, 1, 1), (2, 2, 2), (2, 3, 1)])
def test_with_tau_or_fewer_alive_the_live_ones_are_asked_for_more(
    tau: int, alive: int, asks: int
) -> None:
    """With more alive one is asked all the same, as long as the cold list has nobody."""
    bench = linked(1, 2, 3, tau=tau)
    bench.checked(*range(1, alive + 1))
    requests = bench.said_of(NewProcess)
    asked = {to: None for [to], _ in requests}
    assert len(asked) == len(requests) == asks
    assert {*asked} <= {contact(n + 1).address for n in range(alive)}
    assert all(request == NewProcess(".a.b.c", 16) for _, request in requests)


@pytest.mark.parametrize(("alive", "asks"), [(1, 1), (2, 0), (3, 0)])
def test_as_printed_z_less_tau_are_asked_for_where_tau_are_alive_and_else_none(
    alive: int, asks: int
) -> None:
    """Figure 6, lines 18 to 20."""
    bench = linked(1, 2, 3, z=3, tau=1, as_printed=True)
    bench.checked(*range(1, alive + 1))
    assert [request for _, request in bench.said_of(NewProcess)] == [NewProcess(".a.b.c", 2)] * asks


def test_fresh_processes_replace_the_failed_ones() -> None:
    bench = linked(1, 2, 3)
    bench.checked(1)
    bench.tell(SuperProcesses(".a.b.c", contacts(4, 5, 6), pushed=False), contact(1))
    topic, known = bench.nearest
    assert topic == ".a.b.c"
    assert len(known) == 3
    assert not {2, 3} & {*known}


def test_when_all_are_dead_the_search_begins_again() -> None:
    bench = linked(1, 2, 3)
    bench.checked()
    assert bench.nearest == (".a.b.c", [])
    assert bench.links.searching
    assert bench.sought() == [".a.b.c"]


@pytest.mark.parametrize("goodbye", [False, True])
def test_when_the_nearest_level_dies_or_leaves_the_search_for_it_begins_again(
    goodbye: bool,
) -> None:
    """A process that has only a farther ancestor keeps looking for the nearer."""
    bench = Bench()
    bench.start()
    bench.fire("search")
    bench.know(AB, 1)
    bench.know(ABC, 2)
    assert not bench.links.searching
    if goodbye:
        bench.tell(Gone(".a.b.c"), contact(2))
    else:
        bench.checked(1)
    assert bench.nearest == (".a.b", [1])
    bench.checked(1)
    assert bench.links.searching


def test_a_check_happens_with_probability_p_sel() -> None:
    """g/N = 0.05 of 2,000 checks: 100 expected; 4 standard deviations are 39. Seed fixed."""
    bench = linked(1, size=100.0)
    checks = 2_000
    for _ in range(checks):
        bench.fire("check")
        for wake in [w for w in bench.outbox.wakes if w.token.name == ("verdict",)]:
            bench.outbox.wakes.remove(wake)
    assert abs(len(bench.said_of(Ping)) - 100) < 39


def test_checks_are_jittered_around_their_period() -> None:
    bench = linked(1, check_seconds=4.0, size=1e9)
    pauses = [bench.fire("check") for _ in range(200)]
    assert 2.0 <= min(pauses) < 2.5 < 5.5 < max(pauses) <= 6.0


@pytest.mark.parametrize("alive", [(), (1,)])
def test_a_late_answer_brings_a_process_back(alive: tuple[int, ...]) -> None:
    """Also when all had failed, as they seem to have to a process that was paused itself."""
    bench = linked(1, 2)
    bench.checked(*alive)
    assert bench.nearest == (".a.b.c", [*alive])
    bench.tell(Pong(".a.b.c"), contact(2))
    assert bench.nearest == (".a.b.c", [*alive, 2])


def test_who_is_gone_is_forgotten_and_the_last_one_starts_a_search() -> None:
    bench = linked(1, 2)
    bench.tell(Gone(".a.b.c"), contact(1))
    assert bench.nearest == (".a.b.c", [2])
    assert not bench.links.searching
    bench.tell(Gone(".a.b.c"), contact(2))
    assert bench.links.searching


def test_gone_from_another_topic_is_no_reason_to_forget() -> None:
    bench = linked(1, 2)
    bench.tell(Gone(".x"), contact(1))
    assert bench.nearest == (".a.b.c", [1, 2])


# -- healing -------------------------------------------------------------------------------


def hour_of_silence(bench: Bench) -> set[str]:
    """Let checks and searches go on unanswered for an hour; return who was asked by `Ping`."""
    asked: set[str] = set()
    bench.said_of(Message)
    while bench.now < 3600.0:
        bench.fire("check")
        asked.update(to for addresses, _ in bench.said_of(Ping) for to in addresses)
    return asked


def test_who_failed_is_asked_until_it_answers_and_forgotten_by_no_timer() -> None:
    bench = linked(1, 2, 3)
    bench.checked()
    assert bench.nearest == (".a.b.c", [])
    assert hour_of_silence(bench) == {contact(n).address for n in (1, 2, 3)}
    bench.said_of(Message)
    bench.tell(Pong(".a.b.c"), contact(2))
    assert bench.nearest == (".a.b.c", [2])
    sends = list(bench.outbox.sends)
    [(asked, request)] = bench.said_of(NewProcess)
    assert (asked, request.topic) == ([contact(2).address], ".a.b.c")
    bench.outbox.sends = sends
    [(told, push)] = bench.said_of(SuperProcesses)
    assert (told, push.contacts, push.pushed) == ([FELLOW.address], contacts(2), True)
    assert not bench.links.searching


def test_an_empty_table_asks_all_of_the_few_that_it_remembers_at_each_check() -> None:
    """It asked three of eight, one of whom lived, and half of all answers were lost: 45 s passed
    before one arrived (dht 931)."""
    bench = linked(1, 2, 3)
    bench.tell(SuperProcesses(ABC.name, contacts(*range(1, 9)), pushed=False), contact(1))
    bench.checked()
    for _ in range(3):
        asked = [to for addresses, _ in bench.said_of(Ping) for to in addresses]
        assert sorted(asked[-8:]) == sorted(contact(n).address for n in range(1, 9))
        bench.fire("check")


def test_who_failed_is_asked_when_a_peer_says_that_it_lives() -> None:
    """So one that finds a survivor heals the others, who do not take its word for it."""
    bench = linked(1, 2)
    bench.checked(2)
    bench.said_of(Message)
    bench.tell(SuperProcesses(".a.b.c", contacts(1, 1, 1), pushed=True), FELLOW)
    assert bench.nearest == (".a.b.c", [2])
    assert [to for to, _ in bench.said_of(Ping)] == [[contact(1).address]]
    bench.tell(SuperProcesses(".a.b.c", contacts(3, 4, 1), pushed=True), FELLOW)
    assert bench.said_of(Ping) == []  # no room


def test_who_was_linked_while_it_was_still_joining_comes_back_when_it_is_named_again() -> None:
    """It said that it was not in the topic, and then nobody's word for it counted for a minute, nor
    was it asked: 44 s of events were lost to a community that had just begun (hybrid 1075)."""
    bench = linked(1)
    bench.tell(Gone(".a.b.c"), contact(1))
    assert bench.nearest == (".a.b.c", [])
    bench.said_of(Message)
    bench.tell(AnsContact(".a.b.c", contacts(1)), NEIGHBOUR)
    assert bench.nearest == (".a.b.c", [])
    assert [to for to, _ in bench.said_of(Ping)] == [[contact(1).address]]
    bench.tell(Pong(".a.b.c"), contact(1))
    bench.tell(AnsContact(".a.b.c", contacts(1)), NEIGHBOUR)
    assert bench.nearest == (".a.b.c", [1])


def test_who_has_left_a_topic_is_linked_in_the_one_above_whoever_still_names_it_below() -> None:
    """Its answer for the one above made it believable below again, and it was linked there once a
    second: nothing climbed to it any more (several scamp 20051)."""
    bench = linked(1)
    bench.tell(Gone(".a.b.c"), contact(1))
    bench.fire("search")  # of the search before, which is over
    bench.fire("search")
    bench.know(AB, 1)
    assert bench.nearest == (".a.b", [1])
    bench.tell(Pong(".a.b"), contact(1))
    bench.tell(AnsContact(".a.b.c", contacts(1)), NEIGHBOUR)
    assert bench.nearest == (".a.b", [1])
    bench.tell(Pong(".a.b.c"), contact(1))  # it has come again
    bench.tell(AnsContact(".a.b.c", contacts(1)), NEIGHBOUR)
    assert bench.nearest == (".a.b.c", [1])


def test_farther_ones_take_no_room_from_the_nearest() -> None:
    """One of `.a.b.c` and two of the root left it at that, and whoever it did not know unserved."""
    bench = linked(1, 2)
    bench.checked()  # both seem dead
    bench.know(AB, 3, 4, 5)
    bench.said_of(Message)
    bench.tell(SuperProcesses(ABC.name, contacts(6, 1), pushed=True), FELLOW)
    assert bench.nearest == (ABC.name, [6])
    assert [to for to, _ in bench.said_of(Ping)] == [[contact(1).address]]  # it may live after all
    bench.checked(4, 5, 6)
    assert [to for to, _ in bench.said_of(NewProcess)] == [[contact(6).address]]


def test_a_leaver_is_not_asked_again() -> None:
    bench = linked(1, 2)
    bench.tell(Gone(".a.b.c"), contact(1))
    bench.checked()
    bench.tell(Gone(".a.b.c"), contact(2))
    assert hour_of_silence(bench) == set()


def test_whom_a_super_process_named_is_asked_when_those_in_the_table_fail() -> None:
    bench = linked(1, 2, 3)
    bench.tell(SuperProcesses(".a.b.c", contacts(1, 2, 3, 4), pushed=False), contact(1))
    bench.checked()
    assert hour_of_silence(bench) == {contact(n).address for n in (1, 2, 3, 4)}
    bench.tell(Pong(".a.b.c"), contact(4))
    assert bench.nearest == (".a.b.c", [4])


def test_a_search_asks_for_more_than_the_table_holds_and_remembers_them() -> None:
    """A crash of all that are in the table, and of the gateway, then leaves somebody to ask."""
    bench = Bench(z=3)
    bench.start()
    assert [seek.wanted for seek in bench.outbox.seeks] == [NEW_PROCESSES]
    bench.know(ABC, *range(1, NEW_PROCESSES + 1))
    bench.checked()
    everybody = {contact(number).address for number in range(1, NEW_PROCESSES + 1)}
    assert hour_of_silence(bench) == everybody


def test_a_table_asks_as_many_as_it_has_room_for() -> None:
    bench = linked(1, 2, 3, tau=0)
    bench.tell(SuperProcesses(".a.b.c", contacts(*range(4, 40)), pushed=False), contact(1))
    bench.checked(1)
    bench.links._early_draws = 0  # a draw asks for more
    bench.said_of(Message)
    bench.checked(1)
    (entry, _), (first, _), (second, _) = bench.said_of(Ping)
    assert entry == [contact(1).address]
    assert first != second
    for asked in contacts(*range(2, 40)):
        if [asked.address] in (first, second):
            bench.tell(Pong(".a.b.c"), asked)
    bench.links._early_draws = 0
    bench.said_of(Message)
    bench.checked(*bench.nearest[1])
    assert [to for to, _ in bench.said_of(Ping)] == [[c.address] for c in bench.links.nearest()[1]]


def test_of_a_full_table_a_nearer_ancestors_process_is_asked() -> None:
    bench = Bench(z=2)
    bench.start()
    bench.fire("search")
    bench.know(AB, 2)
    bench.know(ABC, 1)
    bench.checked(2)
    bench.tell(SuperProcesses(".a.b", contacts(3), pushed=True))
    assert bench.nearest == (".a.b", [2, 3])
    bench.said_of(Message)
    bench.checked(2, 3)
    pings = bench.said_of(Ping)
    assert ([contact(1).address], Ping(".a.b.c")) in pings
    bench.tell(Pong(".a.b.c"), contact(1))
    assert bench.nearest == (".a.b.c", [1])
    assert not bench.links.searching


def test_another_process_at_the_address_takes_the_place_if_it_is_in_the_topic() -> None:
    """A process that is started anew has another identity; it answers for the one that died."""
    bench = linked(1, 2)
    anew = Contact(PeerId(b"anew" * 4), contact(1).address)
    bench.tell(Pong(".a.b.c"), anew)
    assert bench.links.nearest()[1] == [contact(2), anew]


def test_another_process_at_the_address_that_is_not_in_the_topic_ends_the_link() -> None:
    bench = linked(1, 2)
    heir = Contact(PeerId(b"heir" * 4), contact(1).address)
    bench.tell(Gone(".a.b.c"), heir)
    assert bench.nearest == (".a.b.c", [2])
    bench.checked()
    assert hour_of_silence(bench) == {contact(2).address}


def test_strangers_neither_fill_nor_flush_the_cold_list() -> None:
    bench = linked(1, 2, 3)
    bench.checked()
    for number in range(100, 2_000, 10):
        invented = contacts(*range(number, number + 10))
        bench.tell(SuperProcesses(".a.b.c", invented, pushed=False), contact(99))
        bench.tell(Pong(".a.b.c"), contact(number))
    assert {cold.contact.address for cold in bench.links._cold} <= {
        contact(n).address for n in (1, 2, 3)
    } | {c.address for c in bench.links.nearest()[1]}


# -- several tables of one process -----------------------------------------------------------


def searching_processes(topics: int) -> tuple[World, list[Node]]:
    """Start ten processes, each in so many topics whose super-topic nobody is in."""
    world = World(parameters=CommunitySettings(refresh_probability=0.0))
    return world, [world.join(*(Topic.parse(f".t{n}") for n in range(topics))) for _ in range(10)]


def all_know(nodes: list[Node], above: list[Node]) -> bool:
    """Whether all tables of these processes have those above, and no others."""
    tables = [table for node in nodes for part in node.local_groups for table in part.links]
    known = [{contact.peer for contact in table.nearest()[1]} for table in tables]
    return all(peers == {node.me.peer for node in above} for peers in known)


@pytest.mark.slow
def test_tables_that_look_for_the_same_topics_share_one_search() -> None:
    """Four topics cost no more than one; before they shared it was four times as much."""
    asked = []
    for topics in (1, 4):
        world, _ = searching_processes(topics)
        world.run(60)
        transcript = Transcript(world)
        world.run(150)
        asked.append(len(transcript.of(ReqContact)))
    assert 0 < asked[1] <= 1.1 * asked[0]


def test_tables_with_the_same_super_processes_share_their_questions() -> None:
    """And of those that die or are named all tables learn."""
    world, nodes = searching_processes(4)
    above = [world.join(ROOT) for _ in range(5)]
    world.run(20)
    transcript = Transcript(world)
    world.run(40)
    last: dict[tuple[Any, ...], float] = {}
    for e in transcript.of(Ping, NewProcess):
        question = e.source, e.target, type(e.content)
        assert e.when - last.get(question, -inf) >= 2.5  # half a period of the checks
        last[question] = e.when
    assert len(last) >= 3 * len(nodes)
    for node in above[:3]:
        world.kill(node)
    assert world.run(60, until=lambda: all_know(nodes, above[3:]))


def test_an_answer_reaches_every_table_that_needs_it() -> None:
    world, nodes = searching_processes(4)
    world.run(20)
    root = world.join(ROOT)
    assert world.run(60, until=lambda: all_know(nodes, [root]))
    late = nodes[0]
    transcript = Transcript(world)
    world.do(late, lambda n, now: n.join(Topic.parse(".late"), now))
    world.run(1.0)
    assert link_of(late, Topic.parse(".late")).nearest()[1] == [root.me]
    assert not transcript.of(ReqContact)


# -- MERGE ---------------------------------------------------------------------------------


def test_a_table_of_newcomers_knows_since_when_nobody_was_there_for_what_climbs() -> None:
    bench = Bench(z=1)
    bench.start()
    bench.know(ABC, 1)
    assert bench.links.unserved_since(bench.now) == -inf  # nobody was there before
    bench.now = SERVES_SECONDS
    bench.tell(Pong(ABC.name), contact(1))
    assert bench.links.unserved_since(bench.now) == inf
    bench.now += 7.0
    bench.tell(Gone(ABC.name), contact(1))
    left = bench.now
    bench.now += 3.0
    assert bench.links.linked_since() == inf
    bench.know(ABC, 2)
    assert bench.links.linked_since() == bench.now
    assert bench.links.unserved_since(bench.now) == left
    bench.now += SERVES_SECONDS  # by now that one was told all
    assert bench.links.unserved_since(bench.now) == inf


def test_one_that_died_at_once_has_served_nobody() -> None:
    bench = Bench(z=2)
    bench.start()
    bench.know(ABC, 1, 2)
    bench.now = SERVES_SECONDS
    bench.tell(Gone(ABC.name), contact(1))
    assert bench.links.unserved_since(bench.now) == inf  # 2 is there for what climbed to 1
    bench.tell(Gone(ABC.name), contact(2))
    bench.now += 5.0
    bench.know(ABC, 3)
    bench.now += 1.0
    bench.tell(Gone(ABC.name), contact(3))
    bench.know(ABC, 4)
    assert bench.links.unserved_since(bench.now) == SERVES_SECONDS


def test_who_was_started_anew_under_its_identity_counts_as_failed_and_come_in_again() -> None:
    """It had served until its former life answered last, and is there for what climbs from now."""
    bench = Bench(z=1)
    bench.start()
    bench.know(ABC, 1)
    answered = []
    for age in (5.0, 20.0, 1.0):  # when it was named first, it was still joining
        bench.fire("check")
        bench.tell(Pong(AB.name, 0.1), contact(1))  # another table has asked about another topic
        bench.tell(Pong(ABC.name, age), contact(1))
        answered.append(bench.now)
        bench.fire("verdict")
        assert bench.nearest == (ABC.name, [1])
        assert bench.links.failures == (len(answered) == 3)
    assert bench.links.unserved_since(bench.now) == answered[1]
    assert bench.links.linked_since() == answered[2]
    for _ in range(2):
        bench.tell(Pong(ABC.name, 0.0), contact(1))  # nobody has asked it
        bench.now += 4.0
    assert bench.links.failures == 1
    assert bench.links.linked_since() == answered[2]


def test_who_was_there_before_a_nearer_one_has_served_until_then() -> None:
    bench = Bench(super_topic=A, z=2)
    bench.start()
    bench.fire("search")
    bench.know(ROOT, 1)
    bench.now = 30.0
    bench.know(A, 2)
    assert bench.links.nearest()[0] == A
    assert bench.links.unserved_since(bench.now) == inf


def test_merge_keeps_the_live_and_the_size_z() -> None:
    bench = linked(1, 2, 3, z=3)
    bench.tell(SuperProcesses(".a.b.c", contacts(*range(4, 40)), pushed=True))
    assert bench.nearest == (".a.b.c", [1, 2, 3])


def test_merge_prefers_nearer_ancestors() -> None:
    bench = Bench(z=3)
    bench.start()
    bench.fire("search")
    bench.know(AB, 1, 2, 3)
    bench.tell(SuperProcesses(".a.b.c", contacts(4, 5), pushed=True))
    assert bench.nearest == (".a.b.c", [4, 5])
    assert len(bench.links._table) == 3
    bench.tell(SuperProcesses(".a.b", contacts(6, 7), pushed=True))
    assert bench.nearest == (".a.b.c", [4, 5])
    assert len(bench.links._table) == 3


def test_what_others_name_comes_in_beside_and_never_instead() -> None:
    bench = linked(1, 2, z=3)
    bench.tell(SuperProcesses(".a.b.c", contacts(*range(4, 40)), pushed=False), contact(1))
    topic, known = bench.nearest
    assert (topic, known[:2], len(known)) == (".a.b.c", [1, 2], 3)


def test_a_draw_lets_those_in_that_were_asked_and_have_answered_for_random_ones() -> None:
    """001, 4.2: fresh super-processes now and then, even if enough are alive."""
    bench = linked(1, 2, 3, refresh_probability=1.0)
    bench.tell(SuperProcesses(".a.b.c", contacts(*range(4, 9)), pushed=False), contact(1))
    bench.tell(Pong(".a.b.c"), contact(4))
    assert bench.nearest == (".a.b.c", [1, 2, 3])  # it was not asked
    bench.checked(1, 2, 3)
    asked = [to for [to], _ in bench.said_of(Ping)]
    fresh = [number for number in range(4, 9) if contact(number).address in asked]
    assert len(fresh) == 3
    others = [number for number in range(4, 9) if number not in fresh]
    bench.now += 0.1
    for number in (*others, *fresh[1:], fresh[1]):
        bench.tell(Pong(".a.b.c"), contact(number))
    topic, known = bench.nearest
    assert topic == ".a.b.c"
    assert {*fresh[1:]} < {*known}
    assert len({1, 2, 3} & {*known}) == 1


def test_a_table_by_hearsay_is_drawn_again_from_the_first_answer_of_the_discovery() -> None:
    """000, 5.2: the overlay draws at random; a neighbour names what it happens to know."""
    bench = Bench(z=3)
    bench.start()
    bench.tell(AnsContact(".a.b.c", contacts(1, 2, 3)))
    bench.know(ABC, *range(4, 20))
    topic, drawn = bench.nearest
    assert topic == ".a.b.c"
    assert len(drawn) == 3
    assert not {1, 2, 3} & {*drawn}
    bench.know(ABC, *range(20, 40))  # it was drawn; these are remembered
    assert bench.nearest == (topic, drawn)
    assert {contact(n).address for n in range(20, 40)} < {
        cold.contact.address for cold in bench.links._cold
    }


def test_an_answer_of_a_few_is_taken_and_the_next_is_drawn_from_too() -> None:
    bench = Bench(z=3)
    bench.start()
    bench.tell(AnsContact(".a.b.c", contacts(1, 2, 3)))
    bench.know(ABC, 4)
    assert 4 in bench.nearest[1]
    bench.know(ABC, *range(5, 20))
    assert not {1, 2, 3, 4} & {*bench.nearest[1]}


def test_a_farther_ancestor_is_drawn_again_too() -> None:
    bench = Bench(z=2)
    bench.start()
    bench.fire("search")
    bench.tell(AnsContact(".a.b", contacts(1, 2)))
    bench.know(AB, *range(3, 9))
    assert bench.nearest[0] == ".a.b"
    assert not {1, 2} & {*bench.nearest[1]}
    assert bench.links.searching


def test_others_are_named_a_sample_of_the_table_and_of_those_that_lived_lately() -> None:
    """Else the first that finds somebody would fill everybody's table (000, 1.3: even load)."""
    bench = linked(*range(1, 17), z=3)
    bench.checked(*bench.nearest[1])
    samples = [bench.links.sample(ABC.group, 3) for _ in range(200)]
    assert all(len({one.peer for one in sample}) == 3 for sample in samples)
    assert {one for sample in samples for one in sample} == {*contacts(*range(1, 17))}
    bench.now += 100.0
    bench.fire("check")
    table = {*bench.links.nearest()[1]}
    assert {*bench.links.sample(ABC.group, 99)} == table
    bench.fire("verdict")  # all have failed, and are not named
    assert bench.links.sample(ABC.group, 99) == []


def test_a_super_process_names_members_of_ancestors_to_which_the_table_turns_if_all_die() -> None:
    bench = linked(1, 2, 3, z=3)
    for number in range(10, 30):  # of a stranger, it would count only as an answer to a search
        bench.now += 10.0
        bench.tell(AnsContact(".a.b", contacts(number)), contact(1))
        bench.tell(AnsContact(".", contacts(number + 50)), contact(4))
    assert bench.nearest == (".a.b.c", [1, 2, 3])
    ancestors = [cold for cold in bench.links._cold if cold.topic == AB]
    assert len(ancestors) == ANCESTOR_MAX
    assert not [cold for cold in bench.links._cold if cold.topic == ROOT]
    bench.checked()
    asked = {to: ping.topic for [to], ping in bench.said_of(Ping)}
    bench.fire("check")
    asked |= {to: ping.topic for [to], ping in bench.said_of(Ping)}
    assert [*asked.values()].count(".a.b") == ANCESTOR_MAX
    alive = next(cold.contact for cold in ancestors)
    [number] = [n for n in range(10, 30) if contact(n).address == alive.address]
    bench.tell(Pong(".a.b"), contact(number))
    assert bench.nearest == (".a.b", [number])
    assert bench.links.searching


def test_draws_follow_a_change_at_pauses_that_double() -> None:
    """Whatever p_sel: a community that gathers is drawn from as a whole, not from its first."""
    bench = Bench(size=1e9, check_seconds=5.0)
    bench.start()
    bench.know(ABC, 1, 2, 3)
    bench.said_of(Message)
    pauses = []
    before = bench.now
    while bench.now < 400.0:
        bench.fire("check")
        if pings := bench.said_of(Ping):
            assert len(pings) == 3
            pauses.append(bench.now - before)
            before = bench.now
            for [address], ping in pings:
                [number] = [n for n in range(1, 4) if contact(n).address == address]
                bench.tell(Pong(ping.topic), contact(number))
            bench.fire("verdict")
    assert len(pauses) == EARLY_DRAWS
    for pause, least in zip(pauses, (0, 5, 10, 20, 40), strict=True):
        assert least <= pause <= least + 7.5


def test_draws_follow_as_long_as_super_processes_name_members_that_are_new() -> None:
    """Each joined a second after the other: of those that came last half as many tables knew as of
    the first, where an answer names six of 28."""
    bench = linked(1, 2, 3, size=1e9)
    drawn = 0

    def draws(*named: int) -> int:
        """Return how many draws follow an answer."""
        nonlocal drawn
        bench.tell(SuperProcesses(".a.b.c", contacts(*named), pushed=False), contact(1))
        before, until = drawn, bench.now + 400.0
        while bench.now < until:
            bench.fire("check")
            if bench.said_of(NewProcess):
                drawn += 1
                for number in (1, 2, 3):
                    bench.tell(Pong(".a.b.c"), contact(number))
                bench.fire("verdict")
        return drawn - before

    assert draws(4, 5) == EARLY_DRAWS
    assert draws(4, 5) == 0
    assert draws(5, 6) == EARLY_DRAWS
    for number in range(7, 7 + COLD_MAX):
        bench.tell(SuperProcesses(".a.b.c", contacts(number), pushed=False), contact(1))
    assert draws(200) == EARLY_DRAWS  # by those before, with which the list became full
    assert draws(201) == 0


def test_an_answer_of_one_who_was_not_asked_changes_nothing() -> None:
    bench = linked(1, z=3)
    bench.tell(SuperProcesses(".a.b.c", contacts(2, 3), pushed=False), contact(4))
    assert bench.nearest == (".a.b.c", [1])


def test_nobody_who_was_not_asked_gets_on_the_list_from_which_tables_are_drawn() -> None:
    bench = linked(1, 2, 3, z=3)
    bench.now += 60.0
    bench.tell(AnsContact(".a.b.c", contacts(*range(10, 20))), contact(9))
    bench.tell(SuperProcesses(".a.b.c", contacts(*range(20, 30)), pushed=False), contact(9))
    bench.tell(SuperProcesses(".a.b.c", contacts(*range(30, 40)), pushed=True), contact(9))
    bench.tell(Pong(".a.b.c"), contact(9))
    assert not len(bench.links._cold)
    assert bench.nearest == (".a.b.c", [1, 2, 3])


def test_a_push_is_not_passed_on() -> None:
    bench = linked()
    bench.tell(SuperProcesses(".a.b.c", contacts(1), pushed=True))
    assert bench.nearest == (".a.b.c", [1])
    assert bench.said_of(SuperProcesses) == []


@pytest.mark.parametrize("name", [".a.b.c.d", ".a.b.x", ".x"])
def test_processes_of_no_super_topic_do_not_get_in(name: str) -> None:
    bench = linked()
    bench.tell(SuperProcesses(name, contacts(1, 2), pushed=True))
    assert bench.nearest == (".a.b.c", [])


def test_a_flood_of_invented_processes_leaves_the_table_at_z() -> None:
    bench = linked(z=3)
    for number in range(1, 2_000, 10):
        invented = contacts(*range(number, number + 10))
        for pushed in (True, False):
            bench.tell(SuperProcesses(".a.b.c", invented, pushed=pushed))
            bench.tell(AnsContact(".a.b", invented))
    assert len(bench.nearest[1]) == 3
    assert len(bench.links._table) == 3


# -- in a network --------------------------------------------------------------------------


def link_of(node: Node, topic: Topic) -> SuperTopicTable:
    local_group = node.local_group(topic)
    assert local_group is not None
    return local_group.links[0]


def test_the_nearer_community_replaces_the_farther_when_it_appears() -> None:
    network, [root, low] = network_of(ROOT, AB)
    assert network.run(10, until=lambda: link_of(low, AB).nearest() == (ROOT, [root.me]))
    middle = network.add((next(iter(network.alive)),))
    join(network, middle, A)
    assert network.run(20, until=lambda: link_of(low, AB).nearest() == (A, [middle.me]))
    network.run(1.0)
    assert not link_of(low, AB).searching


def test_a_crashed_super_process_is_replaced() -> None:
    network, [*above, low] = network_of(*[ROOT] * 6, A)
    network.run(15)
    before = list(link_of(low, A).nearest()[1])
    assert len(before) == 3
    for node in [node for node in above if node.me in before[:2]]:
        network.kill(node)
    alive = [node.me for node in network.alive.values()]

    def has_healed() -> bool:
        known = link_of(low, A).nearest()[1]
        return len(known) == 3 and all(c in alive for c in known)

    assert network.run(60, until=has_healed)


@pytest.mark.parametrize("topic", [ABC, A], ids=["of another topic", "below the one it had"])
def test_who_took_over_a_dead_super_processes_address_gets_few_events(topic: Topic) -> None:
    """The network sends by address alone, as `zmq`; no check comes in the time.

    Before, who never was in the community answered nothing, and got every event.
    """
    never = CommunitySettings(check_seconds=1e6, p_sel=1.0, a=3.0)
    network, [dead, low] = network_of(ROOT, A, parameters=never)
    network.virtual.by_address = True
    assert network.run(10, until=lambda: link_of(low, A).nearest()[1] == [dead.me])
    network.kill(dead)
    heir = network.restart(dead)
    join(network, heir, topic)
    for _ in range(20):
        network.publish(low, A, seconds=0.1)
    # One until it says so, and what comes while the dead one has time to answer.
    assert heir.counters.parasites <= 1 + QUESTION_SECONDS / 0.1
    assert link_of(low, A).nearest()[1] == []


def test_goodbyes_to_the_senders_of_events_are_bounded() -> None:
    """Whoever forges addresses draws no more of them from a process, whatever it sends."""
    network, [low] = network_of(A)
    transcript = Transcript(network)
    batch = batch_of(contact(1).peer, 1, A)
    for number in range(1, 1000):
        liar = contact(number)
        network.inject(low.me.address, frame_of(batch, ROOT.group, liar.peer, liar.address))
    assert 0 < len(transcript.of(Gone)) <= 64


def test_the_links_learn_at_once_of_a_death_that_the_membership_has_found() -> None:
    """Of the own checks none comes in the time: only the membership of `.a.b` asks."""
    never = CommunitySettings(check_seconds=1e6)
    network, [both, low, *_] = network_of(*[AB] * 4, parameters=never)
    join(network, both, A)
    assert network.run(30, until=lambda: link_of(low, AB).nearest()[1] == [both.me])
    network.kill(both)
    (local_group,) = low.local_groups
    membership = local_group.membership
    assert network.run(30, until=lambda: both.me.peer not in membership.peers())
    assert link_of(low, AB).nearest()[1] == []
    assert link_of(low, AB).searching


def test_the_search_reaches_a_community_that_only_a_neighbours_neighbour_knows() -> None:
    """The first gateway alone is a member of `.a`; searches are passed on until they meet it."""
    network = World()
    first = network.add()
    join(network, first, AB)
    others = []
    for _ in range(3):
        node = network.add((first.me.address,))
        join(network, node, AB)
        others.append(node)
        network.run(2.0)
    transcript = Transcript(network)
    join(network, first, A)
    network.run(20)
    for node in others:
        assert link_of(node, AB).nearest() == (A, [first.me])
    assert transcript.of(ReqContact)
    assert any(e.sender != e.source for e in transcript.of(ReqContact))  # passed on for another


def test_two_communities_below_a_process_find_each_other_through_it_without_a_gateway() -> None:
    """The one survivor of a level was never found from below it: both had links to the root alone,
    where nobody knew them (scamp 483). Who is dead is named no longer than its checks last."""
    network, [_, low] = network_of(ROOT, AB)
    network.run(5.0)
    gateway = next(iter(network.alive.values()))
    middle = network.add((gateway.me.address,))
    join(network, middle, A)
    network.run(0.1)
    network.kill(gateway)
    assert network.run(30, until=lambda: link_of(low, AB).nearest() == (A, [middle.me]))
    network.kill(middle)
    network.run(120.0)
    transcript = Transcript(network)
    network.run(60.0)
    assert transcript.of(ReqContact)
    assert not transcript.of(AnsContact)


def test_who_is_still_joining_is_no_super_process_and_not_gone() -> None:
    """It cannot pass on what climbs; but who forgot its address found nobody else (scamp 1148)."""
    network, [root, low] = network_of(ROOT, A)
    waiting = network.add(("tcp://10.9.9.9:7000",))  # where nobody answers
    join(network, waiting, ROOT)
    network.run(1.0)
    transcript = Transcript(network)
    head = wire.control_head(Kind.LINKS, A.group, low.me.peer, low.me.address)
    for node in (root, waiting):
        ping = wire.encode_control(head, messages.encode(Ping(ROOT.name)))
        network.inject(node.me.address, wire.FRAME_HEADER + ping)
    network.run(0.5)
    answers = {e.source: type(e.content) for e in transcript.of(Pong, Gone)}
    assert answers == {root.me.address: Pong}


# -- settings that change ------------------------------------------------------------------


def test_a_table_fits_a_smaller_z_at_once_and_asks_cold_ones_for_a_larger() -> None:
    bench = Bench(z=4)
    bench.start()
    bench.know(ABC, 1, 2, 3, 4)
    bench.tuning.settings = bench.parameters.with_changes({"z": 2})
    bench.links.fit(bench.now)
    topic, kept = bench.nearest
    assert (topic, len(kept)) == (".a.b.c", 2)
    bench.said_of(Ping)
    bench.tuning.settings = bench.parameters
    bench.links.fit(bench.now)
    asked = {to for to, _ in ((to[0], one) for to, one in bench.said_of(Ping))}
    cold = {contact(number) for number in {1, 2, 3, 4} - {*kept}}
    assert asked == {one.address for one in cold}
    for one in cold:
        bench.tell(Pong(".a.b.c"), one)
    assert bench.nearest == (".a.b.c", [1, 2, 3, 4])


def test_a_smaller_z_costs_the_farthest_first() -> None:
    bench = Bench(z=3)
    bench.start()
    bench.fire("search")
    bench.fire("search")
    bench.know(A, 1, 2)
    bench.know(ABC, 3)
    assert bench.nearest == (".a.b.c", [3])
    bench.tuning.settings = bench.parameters.with_changes({"z": 1})
    bench.links.fit(bench.now)
    assert bench.nearest == (".a.b.c", [3])


def test_a_table_that_is_closed_listens_to_nobody_and_searches_no_more() -> None:
    bench = Bench()
    bench.start()
    bench.know(ABC, 1, 2)
    assert len(bench.liveness.entries) == 2
    bench.links.close()
    assert not bench.liveness.entries
    assert not bench.links.searching
    bench.sought()
    bench.said_of(ReqContact)
    bench.fire("search")
    assert bench.sought() == []
    assert bench.said_of(ReqContact) == []
