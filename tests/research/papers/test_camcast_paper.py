"""Paper 000, claim by claim: sections 2, 3 and 5 on the live engine (section 6: a later issue)."""

from __future__ import annotations

from math import ceil, log

import pytest

from camcast.engine.node import Node
from camcast.engine.super_topic_table import CHECK_TIMEOUT_SECONDS
from camcast.testing.world import World
from camcast.vocabulary.events import EventId
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import ROOT, Topic
from tests.library.laws.communities import grow

A = Topic.parse(".a")
AB = Topic.parse(".a.b")
ABC = Topic.parse(".a.b.c")
AX = Topic.parse(".a.x")
SURE = CommunitySettings(c=5, p_sel=1.0, a=3.0, z=3)  # every member links upward, to all it knows


@pytest.fixture
def net() -> World:
    return World(1)


def community(net: World, topic: Topic, size: int, settle: float = 3.0) -> list[Node]:
    """Let `size` nodes join, through the very first node of the network once there is one."""
    gateway = tuple(net.alive)[:1]
    nodes = grow(net, size, topic=topic, gateways=gateway, parameters=SURE)
    net.run(settle)
    return nodes


def publish(
    net: World, node: Node, topic: Topic, upward_probability: float | None = None
) -> set[Node]:
    """Publish one event, and return who delivered it."""

    def act(node: Node, now: float) -> EventId:
        return node.publish(topic, b"x", now, upward_probability=upward_probability).id

    event = net.do(node, act)
    net.run(1.0)
    return {n for n, delivery in net.delivered if delivery.event.id == event}


def links(node: Node, topic: Topic) -> tuple[Topic, set[str]]:
    """Return the level of the node's super-topic table and the addresses in it."""
    local_group = node.local_group(topic)
    assert local_group is not None
    level, contacts = local_group.links[0].nearest()
    return level, {contact.address for contact in contacts}


def addresses(nodes: list[Node]) -> set[str]:
    return {node.me.address for node in nodes}


def test_2_1_an_event_reaches_its_community_and_the_including_ones_only(net: World) -> None:
    """2.1: "we say that u includes t"; "several" communities, siblings among them."""
    root, a, ab, ax = (community(net, topic, 6) for topic in (ROOT, A, AB, AX))
    net.run(5.0)
    assert publish(net, ab[2], AB) == {*root, *a, *ab}
    assert publish(net, a[2], A) == {*root, *a}
    assert publish(net, root[2], ROOT) == set(root)
    assert publish(net, ax[2], AX) == {*root, *a, *ax}
    assert all(node.counters.parasites == 0 for node in net.alive.values())


def test_2_1_a_publisher_is_interested_like_a_subscriber(net: World) -> None:
    """2.1: "processes that either publish events of topic t, or have subscribed": a publisher
    keeps the same tables."""
    nodes = community(net, A, 5)
    assert nodes[-1] in publish(net, nodes[-1], A)
    assert all(len(p.membership.peers()) for n in nodes for p in n.local_groups)


def test_2_2_each_process_gossips_to_ln_n_plus_c(net: World) -> None:
    """2.2: "each process gossips an event to ln Nt + ct target processes"; ours rounds up."""
    nodes = community(net, ROOT, 30, settle=10.0)
    publish(net, nodes[0], ROOT)
    copies = [node.counters.event_copies_sent for node in nodes]
    for node, sent in zip(nodes, copies, strict=True):
        local_group = node.local_group(ROOT)
        assert local_group is not None
        assert sent == min(ceil(log(30) + 5), len(local_group.membership.peers()))


def test_3_1_the_publisher_may_leave_at_once(net: World) -> None:
    """3.1: "once a publisher (p1) has transmitted its event to at least another process in its
    community, the publisher can leave this community"."""
    nodes = community(net, A, 12)
    event = net.do(nodes[3], lambda n, now: n.publish(A, b"x", now)).id
    net.do(nodes[3], lambda n, now: n.leave(A, now))
    net.kill(nodes[3])
    net.run(1.0)
    assert {n for n, d in net.delivered if d.event.id == event} == set(nodes)


def test_3_1_another_process_links_upward_for_the_publisher(net: World) -> None:
    """3.1: "If p1 fails to do so, another process (here p4) from the community does the job"."""
    root, a = community(net, ROOT, 5), community(net, A, 10)
    net.run(5.0)
    publisher = a[4]
    mute, above = publisher.me.address, addresses(root)
    net.cut(lambda source, target: not (source == mute and target in above))
    assert publish(net, publisher, A) == {*root, *a}


def test_3_1_the_root_only_gossips_in_its_community(net: World) -> None:
    """3.1: "the processes receiving the event only gossip it in their community"."""
    root, a = community(net, ROOT, 6), community(net, A, 6)
    assert not publish(net, root[0], ROOT) & set(a)
    assert sum(node.counters.upward_sent for node in root) == 0


def test_3_2_two_tables_a_topic_whatever_lies_below(net: World) -> None:
    """3.2.2: "only two membership tables for each topic t of interest, irrespective of the
    total number of the subtopics"; the root, 4.4.1, "only" one."""
    root, a = community(net, ROOT, 4), community(net, A, 4)
    for topic in (AB, AX, ABC):
        community(net, topic, 3)
    for node, topic, supers in ((root[0], ROOT, 0), (a[0], A, 1)):
        assert [p.topic for p in node.local_groups] == [topic]
        assert [len(p.links) for p in node.local_groups] == [supers]
        members = addresses(root if topic == ROOT else a)
        assert {c.address for p in node.local_groups for c in p.membership.peers()} <= members


def test_3_2_1_the_super_topic_table_has_constant_size_z(net: World) -> None:
    """3.2.1: "This table has a constant size zt"."""
    root, a = community(net, ROOT, 12), community(net, A, 12)
    net.run(15.0)
    for node in a:
        level, known = links(node, A)
        assert level == ROOT
        assert len(known) == SURE.z
        assert known <= addresses(root)


def test_3_2_2_a_new_subtopic_is_transparent(net: World) -> None:
    """3.2.2: "new subtopics can be added dynamically [...] in a completely transparent manner"."""
    a = community(net, A, 6)
    before = [node.local_group(A) for node in a]
    ab = community(net, AB, 3)
    assert publish(net, ab[0], AB) == {*a, *ab}
    assert [node.local_group(A) for node in a] == before


def test_3_3_bootstrapping_finds_the_direct_super_community(net: World) -> None:
    """3.3, Figure 5, lines 16-18 and 31-32."""
    community(net, ROOT, 3)
    a, ab = community(net, A, 5), community(net, AB, 5)
    for node in ab:
        level, known = links(node, AB)
        assert level == A
        assert known <= addresses(a)


def test_3_3_the_scope_widens_by_one_ancestor_a_timeout(net: World) -> None:
    """3.3: "the reason why we do not include [...] all the topics of interest, up to the root
    [...] is to prevent processes interested in the root topic to reply"."""
    root = community(net, ROOT, 5)
    node = net.add((root[0].me.address,), parameters=SURE)
    net.do(node, lambda n, now: n.join(ABC, now))
    net.run(0.5 + SURE.search_seconds)
    assert links(node, ABC)[1] == set()
    net.run(2 * SURE.search_seconds)
    level, known = links(node, ABC)
    assert level == ROOT
    assert known <= addresses(root)


def test_3_3_from_a_farther_ancestor_the_search_goes_on(net: World) -> None:
    """3.3: "In this case, pj participating in Πt keeps searching"; nearer ones then replace."""
    root = community(net, ROOT, 5)
    ab = community(net, AB, 4, settle=6.0)
    assert {links(node, AB)[0] for node in ab} == {ROOT}
    assert publish(net, ab[0], AB) == {*root, *ab}
    a = community(net, A, 4)
    net.run(SURE.search_seconds_max + 5.0)
    assert {links(node, AB)[0] for node in ab} == {A}
    assert publish(net, ab[0], AB) == {*root, *a, *ab}


def test_3_3_note_4_a_search_ends_with_its_ttl(net: World) -> None:
    """Note 4: "a time to live indication (TTL) to not flood the network": at most
    4 + 16 + 64 requests a search, in a network that knows no answer."""
    nodes = community(net, AB, 60, settle=0.0)
    net.run(20.0)
    count = 0

    def watch(_source: str, _target: str, record: bytes) -> None:
        nonlocal count
        count += record[4] == 2 and b".a.b" not in record and b".a" in record

    net.virtual.on_send = watch
    newcomer = net.add((nodes[0].me.address,), parameters=SURE)
    net.do(newcomer, lambda n, now: n.join(AB, now))
    net.run(0.9)
    searchers = 61  # every member goes on searching for .a meanwhile, once a 15 s by now
    assert count <= 84 * searchers


def test_3_4_dead_super_processes_are_replaced(net: World) -> None:
    """3.4: "the process asks all alive processes in its super-topic table to provide it with
    [...] new processes"."""
    root, a = community(net, ROOT, 12), community(net, A, 5)
    net.run(10.0)
    dead = root[6:]
    for node in dead:
        net.kill(node)
    net.run(3 * SURE.check_seconds * 1.5 + CHECK_TIMEOUT_SECONDS)
    for node in a:
        level, known = links(node, A)
        assert level == ROOT
        assert known <= addresses(root[:6])
        assert len(known) >= 1
    assert publish(net, a[0], A) == {*root[:6], *a}


def test_3_4_a_table_that_died_out_starts_a_new_search(net: World) -> None:
    """3.4, Figure 6, lines 12-13: "start FIND_SUPER_CONTACT"."""
    root, a = community(net, ROOT, 12), community(net, A, 4)
    known = set().union(*(links(node, A)[1] for node in a)) - {root[0].me.address}
    for node in [node for node in root if node.me.address in known]:
        net.kill(node)
    net.run(30.0)
    alive = addresses([node for node in root if node.me.address in net.alive])
    assert all(links(node, A)[1] & alive for node in a)


def test_3_5_the_publisher_may_set_the_upward_probability(net: World) -> None:
    """3.5 and 5.3.2.1 (setUpwardProb): with 0 an event stays in its community."""
    root, a = community(net, ROOT, 5), community(net, A, 5)
    net.run(5.0)
    assert publish(net, a[0], A, upward_probability=0.0) == set(a)
    assert publish(net, a[0], A, upward_probability=1.0) == {*root, *a}


def test_3_5_every_process_forwards_once(net: World) -> None:
    """3.5: "every process [...] forwards once the event using the dissemination algorithm"."""
    nodes = community(net, ROOT, 20)
    publish(net, nodes[0], ROOT)
    first = [node.counters.event_copies_sent for node in nodes]
    assert all(0 < sent <= ceil(log(21) + 5) + 1 for sent in first)
    assert len(net.delivered) == len(nodes)


def test_3_6_unrelated_topics_in_one_process(net: World) -> None:
    """3.6: "multiple topics that do not include each other": two tables for each."""
    root, ab, ax = (community(net, topic, 4) for topic in (ROOT, AB, AX))
    both = ab[1]
    net.do(both, lambda n, now: n.join(AX, now))
    net.run(8.0)
    assert [p.topic for p in both.local_groups] == [AB, AX]
    assert publish(net, ax[0], AX) == {*root, *ax, both}
    assert publish(net, ab[0], AB) == {*root, *ab}


def test_3_6_several_super_topics_deliver_once(net: World) -> None:
    """3.6: "one topic and multiple super-topic tables"; two paths to the root, one delivery."""
    other = Topic.parse(".o")
    root, a, o = (community(net, topic, 4) for topic in (ROOT, A, other))
    node = net.add((root[0].me.address,), parameters=SURE)
    net.do(node, lambda n, now: n.join(AB, now, super_topics=(A, other)))
    net.run(10.0)
    local_group = node.local_group(AB)
    assert local_group is not None
    assert len(local_group.links) == 2
    before = len(net.delivered)
    assert publish(net, node, AB) == {node, *root, *a, *o}
    assert len(net.delivered) - before == 1 + len(root) + len(a) + len(o)


def test_4_5_1_a_small_community_links_with_all_its_members(net: World) -> None:
    """4.5.1: "If the number of processes in a community becomes very small, we make all
    processes to propagate the events"."""
    assert Parameters(g=5).selection_probability(4) == 1.0
    assert Parameters(g=5).selection_probability(50) == pytest.approx(0.1)


def test_5_1_a_community_may_be_empty(net: World) -> None:
    """5.1: "the case where a community is empty is not allowed in our implementation".
    Deviation: in ours the first member founds it, with or without a gateway."""
    gateway = net.add()
    founder = net.add((gateway.me.address,))
    local_group = net.do(founder, lambda n, now: n.join(A, now))
    net.run(1.0)
    assert local_group.joined
    assert publish(net, founder, A) == {founder}
    hermit = net.add(())
    assert net.do(hermit, lambda n, now: n.join(A, now)).joined


def test_5_1_leaving_ends_reception(net: World) -> None:
    """5.1: "a subscriber has to unsubscribe and a publisher has to leave the community"."""
    nodes = community(net, A, 8)
    net.do(nodes[3], lambda n, now: n.leave(A, now))
    net.run(1.0)
    assert publish(net, nodes[0], A) == set(nodes) - {nodes[3]}


def test_5_2_1_gateways_need_not_be_members(net: World) -> None:
    """5.2.1: they "provide bootstrapping contacts to new processes" and carry no events."""
    gateway = net.add()
    nodes = community(net, A, 8)
    assert publish(net, nodes[0], A) == set(nodes)
    assert gateway.counters.events == gateway.counters.parasites == 0
