"""hpmcast's membership: its protocol, gossip, silence, and its own line (002, 4.2 and 6.1)."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest
from attrs import evolve

from camcast.doors.options import OptionError
from camcast.doors.plugs import find_backend, find_protocol, membership_for
from camcast.engine.node import Node
from camcast.engine.settings import Settings
from camcast.interests.interest import Interest
from camcast.research.systems.hpmcast.failure_detector import Silence
from camcast.research.systems.hpmcast.membership import HpmcastMembership, HpmcastOptions
from camcast.research.systems.hpmcast.protocol import Hpmcast
from camcast.research.systems.hpmcast.view_messages import Ask, Join, LineNews, Update, View
from camcast.testing.lone_process import contact
from camcast.testing.world import World
from camcast.virtual.census import Census
from camcast.vocabulary.clock import Clock
from camcast.vocabulary.topics import Topic
from tests.research.unit.systems.hpmcast.members import Member, group_tables, line, member_of_five

TOPIC = Topic.parse(".a")
A, B = Interest.parse(".a"), Interest.parse(".b")


def test_a_membership_without_hierarchical_views_is_refused() -> None:
    settings = Settings(find_backend("scamp"), Census(Random(1)).discovery, protocol=Hpmcast())
    node = Node(contact(1), settings, Random(1), Clock())
    with pytest.raises(OptionError, match="'hpmcast'; a Scamp keeps none"):
        node.join(TOPIC, 0.0)


def test_the_protocol_s_hierarchy_is_the_membership_s() -> None:
    for name, chosen, told in (
        ("hpmcast", {"arity": "7", "depth": "4"}, {"arity": 7, "depth": 4}),
        ("pmcast", {}, {"depth": 1, "redundancy": 1}),
    ):
        backend, options = membership_for(
            find_protocol(name, chosen), "scamp", {"suspect_after": 7}
        )
        assert options.suspect_after == 7
        membership = backend.keeper(Member().context, options)
        assert isinstance(membership, HpmcastMembership)
        assert membership.hierarchy == HpmcastOptions(suspect_after=7, **told)


def test_what_the_protocol_sets_is_no_option_of_the_membership_besides() -> None:
    with pytest.raises(OptionError, match="'depth' of membership 'hpmcast' is set by the protocol"):
        membership_for(find_protocol("pmcast"), "hpmcast", {"depth": 2})


def test_gossip_goes_with_events_once_a_period_and_in_place_of_dedicated_gossip() -> None:
    """4.2.1: "piggybacked by event gossips, except in the absence of events"."""
    member = member_of_five(depth=1)
    assert [kind for _, kind in member.tick(1.0)].count("Gossip") == 3
    member.membership.gossip_along([contact(3), contact(5), contact(7)], 1.1)
    assert member.kinds() == [(3, "Gossip"), (5, "Gossip")]
    member.membership.gossip_along([contact(7)], 1.2)
    assert member.kinds() == []
    assert [kind for _, kind in member.tick(2.0)].count("Gossip") == 1
    assert [kind for _, kind in member.tick(3.0)].count("Gossip") == 3


def test_a_silent_neighbour_is_asked_before_it_is_removed() -> None:
    """6.1.3: after five periods asked, after two more removed; whoever speaks is kept."""
    member = member_of_five()
    asked = []
    for now in range(1, 10):  # in the ninth its own subsystem's line says so, too
        asked += [(now, to) for to, kind in member.tick(float(now)) if kind == "Ask"]
        member.membership.receive(contact(9), Update(()), float(now))
    assert sorted(asked) == sorted((now, to) for now in (6, 7) for to in (3, 5, 7))
    assert [one.address for one in member.membership.peers()] == [contact(9).address]


def test_a_subsystem_is_given_up_later_and_the_own_one_never() -> None:
    """5 periods for each level until it is asked about, and two more until it is gone."""
    known, silence = group_tables(), Silence(1.0, 5)
    known.take(line(3), 0.0)
    for key, delegate in ((0, 2), (1, 3)):  # 1 is the subsystem of the process itself
        known.take(LineNews(2, key, 1, (contact(delegate),), 1, ".a"), 0.0)
    own, other = known.locate(2, 1), known.locate(2, 0)
    overdue, there = [], []
    for now in range(1, 15):
        silence.bury(known, float(now))
        overdue.append([level for level, _ in silence.overdue(known, float(now))])
        there.append([one.branch for level in (1, 2) for one in known.table(level)])
    neighbour = known.hierarchy.address_of(contact(3).peer)
    assert overdue == [[]] * 5 + [[1]] * 2 + [[]] * 3 + [[2]] * 2 + [[]] * 2
    assert there == [[neighbour, other, own]] * 7 + [[other, own]] * 5 + [[own]] * 2


def test_its_own_line_is_its_own_to_write() -> None:
    """Whoever says that it is gone is told better."""
    member = member_of_five()
    own = contact(1).peer
    member.membership.receive(contact(3), Update((LineNews(1, own, 77, (), 0, ""),)), 1.0)
    assert member.membership.size() == 5
    assert [stamp for _, key, stamp in member.membership._tables.stamps(1) if key == own] == [78]
    member.membership.receive(contact(3), Update((LineNews(2, 1, 99, (contact(3),), 1, ""),)), 1.0)
    table = member.membership.table(2)
    assert next(member.membership.contact(one) for one in table[0].delegates) == contact(1)


def test_who_joins_says_its_line_and_greets_the_neighbours_that_it_is_told_of() -> None:
    member = Member()
    member.membership.join([contact(9)], 0.0)
    [(to, join)] = member.said()
    assert (to, join) == (9, Join(line(1, stamp=join.line.stamp, interest=".")))
    member.receive(9, View(tuple(line(number) for number in (3, 5, 9))))
    greeted = [(to, one) for to, one in member.said() if isinstance(one, Update)]
    assert [to for to, _ in greeted] == [3, 5, 9]
    assert {one.lines[0].key for _, one in greeted} == {contact(1).peer}


def test_who_is_asked_whether_it_is_there_answers_with_its_line() -> None:
    member = member_of_five()
    member.receive(3, Ask(), 1.0)
    [(to, answer)] = member.said()
    assert to == 3
    assert [(one.key, one.contacts) for one in answer.lines] == [(contact(1).peer, (contact(1),))]


def test_a_member_asks_the_discovery_for_others_less_and_less_often() -> None:
    member = member_of_five()
    sought = []
    for now in range(1, 20):
        member.receive(3, Update(()), float(now))
        member.tick(float(now))
        sought += [now] * len(member.outbox.seeks)
        member.outbox.seeks.clear()
    assert sought[0] == 1
    pauses = [after - before for before, after in pairwise(sought)]
    assert len(pauses) > 2
    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]


def test_a_join_is_passed_on_while_somebody_is_nearer_to_who_joins() -> None:
    """A neighbour answers it, however many others there are."""
    member = member_of_five()
    other = next(n for n in range(2, 40) if member.tables.distance(contact(n).peer) > 1)
    member.receive(3, Update((LineNews(2, 0, 5, (contact(other),), 1, "."),)), 1.0)
    member.said()
    near = member.tables.distance(contact(other).peer)
    assert near == 2
    newcomer = next(
        n for n in range(other + 1, 99) if member.tables.distance(contact(n).peer) == near
    )
    member.receive(newcomer, Join(line(newcomer)), 1.5)
    assert member.kinds() == [(other, "Join")]
    neighbour = next(n for n in range(11, 99) if member.tables.distance(contact(n).peer) == 1)
    member.receive(neighbour, Join(line(neighbour)), 1.5)
    assert member.kinds() == [(neighbour, "View")]


def test_options_that_all_must_share_are_part_of_the_choice() -> None:
    """Two hierarchies of another depth give one process two places."""
    world = World(protocol="hpmcast")
    first = world.join(TOPIC)
    deeper = World(protocol="hpmcast", protocol_options={"depth": 3}).settings
    other = world.start(evolve(deeper, discovery=world.census.discovery))
    world.do(other, lambda node, now: node.join(TOPIC, now))
    world.run(10.0)
    for node, mine, another in ((first, 2, 3), (other, 3, 2)):
        (says,) = node.misfits.lately(world.now)
        assert f"with arity=10 depth={another} redundancy=3, and this process" in says
        assert f"with arity=10 depth={mine} redundancy=3: all of a" in says
