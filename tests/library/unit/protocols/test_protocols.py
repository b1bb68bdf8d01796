"""Details of single protocols: caches, clusters, buffers and timers."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from camcast.doors.contained import plug_of
from camcast.doors.plugs import find_protocol, membership_for
from camcast.engine.node import Node
from camcast.interests.bounded import TERMS_MAX
from camcast.research.systems.baselines.hierarchical import Hierarchical, cluster_of
from camcast.research.systems.baselines.multicast import Multicast
from camcast.research.systems.percolation.links import LINKS_MAX, Link
from camcast.research.systems.percolation.protocol import Percolation, Subscriptions
from camcast.research.systems.rfpbcast.protocol import BUFFERED_MAX
from camcast.testing.world import World
from camcast.vocabulary import messages, wire
from camcast.vocabulary.identity import PeerId, new_peer_id
from camcast.vocabulary.outbox import Wake
from camcast.vocabulary.parameters import CommunitySettings, Parameters
from camcast.vocabulary.topics import ROOT, Topic
from camcast.vocabulary.wire import FRAME_HEADER, Kind
from tests.event_frames import batch_of, frame_of
from tests.protocol_fleet import AB, TOPICS, A, X, fleet

ME = PeerId(bytes(16))


def stranger(number: int) -> PeerId:
    return PeerId(number.to_bytes(16, "big"))


def subscriptions(
    source: PeerId,
    *topics: str,
    address: str = "tcp://10.9.9.9:1",
    linked: bool = True,
    asks: bool = False,
) -> bytes:
    head = wire.control_head(Kind.PROTOCOL, ROOT.group, source, address)
    message = Subscriptions(topics, linked=linked, asks=asks)
    return FRAME_HEADER + wire.encode_control(head, messages.encode(message))


def event(number: int, topic: Topic = A, hops: int = 1) -> bytes:
    return frame_of(batch_of(stranger(number), 1, topic, hops=hops), ROOT.group, stranger(number))


def protocol_wakes(node: Node) -> list[Wake]:
    return [wake for wake in node.outbox.wakes if wake.token.kind is Kind.PROTOCOL]


# -- percolation: who subscribes to what (003, Algorithm 1) --------------------------------------


def links(node: Node) -> dict[PeerId, Link]:
    """Return the links of a process, by the other end."""
    [local_group] = node.local_groups
    found = plug_of(local_group.dissemination)._links
    return {link.contact.peer: link for link in found.all()}


def cached(group: World, at: int, of: int) -> tuple[Topic, ...] | None:
    """Return what a process of the fleet believes that another subscribes to."""
    link = links(group.nodes[at]).get(group.nodes[of].me.peer)
    return link.topics if link else None


def pair(**options: object) -> World:
    return fleet("percolation", (A, X), options={"gamma": 0.0} | options, settle_seconds=3.0)


def test_neighbours_know_what_each_other_subscribes_to() -> None:
    group = pair()
    assert cached(group, 0, of=1) == (X,)
    assert cached(group, 1, of=0) == (A,)


def test_a_change_is_told_within_a_tick() -> None:
    group = pair(tick_seconds=0.5, ticks_of_a_refresh=10**6)
    changing = group.nodes[1]
    group.do(changing, lambda node, now: node.join(A, now))
    group.run(0.6)
    assert cached(group, 0, of=1) == (A, X)
    group.leave(changing, X)
    group.run(0.6)
    assert cached(group, 0, of=1) == (A,)
    group.publish(group.nodes[0], A)
    assert group.delivered_to(changing) == Counter([(A, b"!")])


def test_a_lost_message_is_made_good_by_the_next_refresh() -> None:
    """Ticks of 0.5 s, and all is told again every 8th: a change that is lost is known 4 s later
    at most, and never without a refresh."""
    for ticks, known in ((8, (A, X)), (10**6, (X,))):
        group = pair(tick_seconds=0.5, ticks_of_a_refresh=ticks)
        group.cut(lambda source, target: False)
        group.do(group.nodes[1], lambda node, now: node.join(A, now))
        group.run(0.6)
        group.heal()
        assert cached(group, 0, of=1) == (X,)
        group.run(4.1)
        assert cached(group, 0, of=1) == known


def test_who_is_a_neighbour_no_more_is_forgotten() -> None:
    group = pair()
    group.leave(group.nodes[1], X)
    group.run(1.0)
    assert cached(group, 0, of=1) is None


def test_many_subscriptions_are_announced_as_topics_that_include_them() -> None:
    """300 topics of two levels: their super-topic is announced, and no event of any is missed."""
    topics = [Topic.parse(f".t.n{number:03}") for number in range(300)]
    world = World(protocol="percolation", protocol_options={"gamma": 0.0}, topics=topics)
    many = world.join(*topics, gap=1)
    one = world.join(X, gap=5)
    assert links(one)[many.me.peer].topics == (Topic.parse(".t"),)
    for topic in (topics[5], topics[290]):
        world.do(one, lambda node, now, topic=topic: node.join(topic, now))  # type: ignore[misc]  # mypy does not infer it
        world.publish(one, topic)
    assert world.delivered_to(many) == Counter([(topics[5], b"!"), (topics[290], b"!")])


def test_more_subscriptions_than_are_announced_are_malformed() -> None:
    group = pair()
    node, _ = group.nodes
    for number, counted in ((TERMS_MAX, 0), (TERMS_MAX + 1, 1)):
        node.receive(subscriptions(stranger(5), *(f".t{n}" for n in range(number))), group.now)
        assert node.counters.malformed == counted
    topics = links(node)[stranger(5)].topics
    assert topics is not None
    assert len(topics) == TERMS_MAX


def test_links_beyond_the_bound_have_one_end_and_their_question_is_answered() -> None:
    """The process that opens the link too many learns what this one subscribes to."""
    group = pair(tick_seconds=10**6)
    node, _ = group.nodes
    for number in range(LINKS_MAX + 10):
        node.receive(subscriptions(stranger(number), ".a"), group.now)
    assert len(links(node)) == LINKS_MAX
    node.receive(subscriptions(stranger(5), ".b"), group.now)
    assert links(node)[stranger(5)].topics == (Topic.parse(".b"),)
    node.outbox.sends.clear()
    node.receive(subscriptions(stranger(LINKS_MAX + 5), ".a", asks=True), group.now)
    [answer] = node.outbox.sends
    assert [contact.peer for contact in answer.contacts] == [stranger(LINKS_MAX + 5)]


def test_a_link_that_another_process_opens_lasts_until_it_is_closed_or_not_confirmed() -> None:
    """A tick of 0.5 s, confirmed every 4 ticks: three times as long is waited for the next."""
    group = pair(tick_seconds=0.5, ticks_of_a_refresh=4)
    node, _ = group.nodes
    node.receive(subscriptions(stranger(5), ".a"), group.now)
    group.run(5.9)
    assert links(node)[stranger(5)].topics == (A,)
    group.run(1.0)
    assert stranger(5) not in links(node)
    node.receive(subscriptions(stranger(5), ".a"), group.now)
    node.receive(subscriptions(stranger(5), ".a", linked=False), group.now)
    assert stranger(5) not in links(node)


def test_a_wrong_topic_leaves_what_was_known() -> None:
    group = pair()
    node, other = group.nodes
    said = subscriptions(other.me.peer, ".a", "no topic", address=other.me.address)
    node.receive(said, group.now)
    assert node.counters.malformed == 1
    assert cached(group, 0, of=1) == (X,)


def test_an_event_is_not_sent_back() -> None:
    """Two neighbours that both subscribe: one copy, none back (Algorithm 2, line 7)."""
    group = fleet("percolation", (A, A), options={"gamma": 1.0}, settle_seconds=3.0)
    group.publish(group.nodes[0], A)
    assert [node.counters.event_copies_sent for node in group.nodes] == [1, 0]


def test_an_event_that_has_come_as_far_as_its_ttl_is_kept() -> None:
    group = fleet("percolation", (A, A), options={"gamma": 1.0, "ttl": 3}, settle_seconds=3.0)
    node = group.nodes[0]
    for hops, copies in ((2, 1), (3, 1), (wire.HOPS_MAX, 1)):
        node.receive(event(hops, hops=hops), group.now)
        assert node.counters.event_copies_sent == copies


# -- rfpbcast: the buffer and its timer ----------------------------------------------------------


def test_no_timer_is_left_when_the_buffer_is_empty() -> None:
    group = fleet("rfpbcast", (A,) * 4, settle_seconds=5.0)
    tokens = Counter[str]()
    wakes = [node.wake for node in group.nodes]
    for node, wake in zip(group.nodes, wakes, strict=True):

        def counted(token, now, wake=wake):  # type: ignore[no-untyped-def]  # as Node.wake
            tokens[token.kind.name] += 1
            wake(token, now)

        node.wake = counted  # type: ignore[method-assign]  # to count the timers that go off
    group.publish(group.nodes[0], A, seconds=5.0)
    assert tokens["PROTOCOL"] > 4
    spent = tokens["PROTOCOL"]
    group.run(30.0)
    assert tokens["PROTOCOL"] == spent
    for node in group.nodes:
        [local_group] = node.local_groups
        spreading = vars(plug_of(local_group.dissemination))
        assert not spreading["_gossips"]
        assert not spreading["_awake"]


def test_events_share_one_timer() -> None:
    group = fleet("rfpbcast", (A,) * 2, settle_seconds=5.0)
    node = group.nodes[0]
    for number in range(10):
        node.receive(event(number), group.now)
    assert len(protocol_wakes(node)) == 1
    node.wake(node.outbox.wakes.pop().token, group.now + 0.1)
    assert len(protocol_wakes(node)) == 1


def test_an_event_of_its_last_round_is_not_gossiped() -> None:
    """ceil(ln 2 (1/4 + 1/ln 5) + 8) = 9 rounds among two: of hops 8 once more, of 9 no more."""
    for hops, copies in ((8, 1), (9, 0), (wire.HOPS_MAX, 0)):
        group = fleet("rfpbcast", (A,) * 2, settle_seconds=5.0)
        node = group.nodes[0]
        node.receive(event(1, hops=hops), group.now)
        while wakes := protocol_wakes(node):
            node.outbox.wakes.clear()
            node.wake(wakes[0].token, group.now)
        assert node.counters.event_copies_sent == copies


def test_the_oldest_event_leaves_a_full_buffer() -> None:
    group = fleet("rfpbcast", (A,), settle_seconds=1.0)
    [node] = group.nodes
    for number in range(BUFFERED_MAX + 3):
        node.receive(event(number), group.now)
    [local_group] = node.local_groups
    buffered = list(vars(plug_of(local_group.dissemination))["_gossips"])
    assert len(buffered) == BUFFERED_MAX
    assert buffered[0].publisher == stranger(3)


# -- hierarchical: clusters ----------------------------------------------------------------------


def test_clusters_are_even_and_everybody_knows_them() -> None:
    """9,000 identities in 3 clusters, each within 4.4 standard deviations: less than 1 in 10^5."""
    rng = Random(1)
    sizes = Counter(cluster_of(new_peer_id(rng.randbytes), 3) for _ in range(9000))
    assert set(sizes) == {0, 1, 2}
    assert all(abs(size - 3000) < 4.4 * (9000 * 2 / 9) ** 0.5 for size in sizes.values())


def test_a_process_is_in_its_cluster_whatever_it_wants() -> None:
    protocol = Hierarchical(clusters=5)
    for number in range(10):
        homes = {protocol.groups(topic, TOPICS, stranger(number))[0].topic for topic in TOPICS}
        assert homes == {Topic(("cluster", str(number % 5)))}
        home, everybody = protocol.groups(A, TOPICS, stranger(number))
        assert (home.transit, everybody.topic, everybody.transit) == (False, ROOT, True)


def test_copies_to_other_clusters_go_to_others_at_random() -> None:
    """With a fan-out of 1 between clusters, 60 events of one process go to more than half of the
    k others in its table: C(k, k/2) / 2^60 < 10^-12 that uniform draws do not."""
    group = fleet("hierarchical", (A,) * 30, parameters=Parameters(c=-2.0))
    sender = group.nodes[0]
    mine = cluster_of(sender.me.peer, 3)
    chosen = set[str]()
    _, across = sender.local_groups
    others = [c for c in across.membership.peers() if cluster_of(c.peer, 3) != mine]
    assert len(others) >= 4
    everybody = {node.me.address: node.me.peer for node in group.nodes}

    def note(source: str, target: str, record: bytes) -> None:
        is_event = record[4] == Kind.EVENT
        if is_event and source == sender.me.address and cluster_of(everybody[target], 3) != mine:
            chosen.add(target)

    group.virtual.on_send = note
    for _ in range(60):
        group.publish(sender, A, seconds=0.2)
    assert len(chosen) > len(others) / 2


# -- multicast: groups ---------------------------------------------------------------------------


def test_a_process_is_in_the_groups_of_all_subtopics() -> None:
    groups = {
        topic: [group.topic for group in Multicast().groups(topic, TOPICS, ME)] for topic in TOPICS
    }
    assert groups == {ROOT: [ROOT, A, AB, X], A: [A, AB], AB: [AB], X: [X]}


def test_a_subtopic_that_nobody_named_is_not_found() -> None:
    """4.2 (b): a process must know the subtopics beforehand."""
    assert [group.topic for group in Multicast().groups(A, (), ME)] == [A]


# -- backends ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["pmcast", "hpmcast"])
def test_hierarchical_views_are_part_of_the_protocol(name: str) -> None:
    assert membership_for(find_protocol(name), "scamp")[0].name == "hpmcast"


def test_others_take_the_backend_that_is_named() -> None:
    assert membership_for(Percolation(), "hybrid")[0].name == "hybrid"


@pytest.mark.parametrize(
    ("protocol", "groups"), [("camcast", 1), ("multicast", 2), ("broadcast", 1)]
)
def test_all_groups_of_a_topic_go_by_the_new_settings(protocol: str, groups: int) -> None:
    tuned = CommunitySettings(c=1, batch_events_max=7)
    world = World(protocol=protocol, topics=(ROOT, A, AB))
    node = world.join(A)
    assert len([*node.local_groups]) == groups
    world.do(node, lambda node, now: node.tune(A, tuned, now))
    world.do(node, lambda node, now: node.tune(AB, CommunitySettings(), now))  # not joined
    for local_group in node.local_groups:
        assert local_group.context.parameters is tuned
        assert local_group.batch_events_max == (7 if local_group.batched else 1)
