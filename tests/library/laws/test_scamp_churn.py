"""Departures, crashes, partitions, loss and pauses: SCAMP's tables mend and follow the law.

The real engine on virtual time with heartbeats of a second. Every test states its own bound in
heartbeats; none has a tolerance beyond the 10 % of the law and the size estimate's own error.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt
from random import Random
from statistics import mean

import pytest

from camcast.doors.contained import plug_of
from camcast.engine.errands import PROBE_UNITS
from camcast.engine.node import Node
from camcast.testing.world import World
from camcast.vocabulary.identity import PeerId
from camcast.vocabulary.size_estimate import SAMPLE
from membership.scamp.options import ScampOptions
from membership.scamp.scamp import SLACK
from tests.library.laws.communities import TOPIC, grow, scamp, strongly_connected, view_graph

DEFAULTS = ScampOptions()
# Seconds, at a heartbeat a second: suspect, and confirmed. Two periods more, each up to a tenth
# late: one until the silence is noticed, one until dead helpers are replaced.
VERDICT = DEFAULTS.suspect_after + PROBE_UNITS + 2 * 1.1
# What was lost of a question to a helper and its answer is asked for again, a period later: at 15 %
# loss each way 0.28^3 = 2 % of the helpers need more than three. Two of three helpers are enough.
ASKED_AGAIN = 3 * 1.1
# Among a thousand arcs to the dead, some have helpers that need more. That two of an arc's three
# helpers need more than five periods happens 3 * (0.28^5)^2 times: to none of a thousand at 99 %.
# Seeds 12 to 21 took 10.9 to 15.7 s, where three periods allow 13.5.
ASKED_AGAIN_OF_MANY = 5 * 1.1
PROBE = DEFAULTS.probe_seconds
LOSS = 0.15

also_with_loss = pytest.mark.parametrize("loss", [0.0, pytest.param(LOSS, marks=pytest.mark.slow)])
even_with_loss = pytest.mark.parametrize("loss", [pytest.param(0.0, marks=pytest.mark.slow), LOSS])

GiveUp = Callable[[PeerId, float], None]


def stale(nodes: list[Node]) -> int:
    """Count the arcs that lead to nobody."""
    alive = {node.me.address for node in nodes}
    return sum(len(view - alive) for view in view_graph(nodes).values())


def reached_from(start: Node, nodes: list[Node]) -> int:
    """Count the nodes that flooding from `start` reaches."""
    graph = view_graph(nodes)
    reached, frontier = {start.me.address}, [start.me.address]
    while frontier:
        new = (graph[frontier.pop()] & graph.keys()) - reached
        reached |= new
        frontier += new
    return len(reached)


def mean_view(nodes: list[Node]) -> float:
    return mean(len(scamp(node).peers()) for node in nodes)


def assert_lawful(nodes: list[Node]) -> None:
    """The mean view within 10 % of (c+1) ln N, and one component."""
    assert_near_law(nodes, 0.1)


def assert_near_law(nodes: list[Node], tolerance: float) -> None:
    """Likewise; with loss only the in-view control's own band, a quarter, is promised."""
    expected = (DEFAULTS.c + 1) * log(len(nodes))
    assert abs(mean_view(nodes) - expected) <= tolerance * expected
    assert strongly_connected(view_graph(nodes))


def settled(net: World, size: int) -> list[Node]:
    """Grow a community and wait until it is one: 5 s, or with loss three minutes of retries.

    Retries back off to 30 s, so those are ten round trips; at 15 % loss each way all ten of a
    process fail with probability 0.28^10 = 3e-6. (A minute holds six: one run in ten fails.)
    Who is in may still have lost every copy of its subscription: it is held by nobody, and tries
    again, as often as it probes.
    """
    nodes = grow(net, size)
    net.run(5.0)
    lossy = net.virtual.weather.climate.loss > 0
    everybody = 180.0 if lossy else 0.0
    assert net.run(everybody, until=lambda: all(scamp(node).joined for node in nodes))
    net.run(2 * PROBE if lossy else 0.0)
    assert strongly_connected(view_graph(nodes))
    return nodes


def crash(net: World, nodes: list[Node], share: float, seed: int) -> list[Node]:
    """Kill a random share but never the gateway; return the survivors."""
    dead = Random(seed).sample(nodes[1:], int(share * len(nodes)))
    for node in dead:
        net.kill(node)
    return [node for node in nodes if node not in dead]


# -- departures --------------------------------------------------------------------------------


@pytest.mark.slow  # 3 s; leaving one by one is looked at in every run
@also_with_loss
def test_half_of_the_members_leave_politely(loss: float) -> None:
    """Half leave within 2 s: no arc to a leaver once silence has told of the last of them.

    (A copy that was on its walk may be kept for a process that has left meanwhile.)
    """
    net = World(1, loss=loss)
    nodes = settled(net, 60)
    leavers = Random(1).sample(nodes[1:], 30)
    for node in leavers:
        net.do(node, lambda n, now: n.leave(TOPIC, now))
        net.run(0.05)
    stayers = [node for node in nodes if node not in leavers]
    net.run(VERDICT)
    assert stale(stayers) == 0
    assert strongly_connected(view_graph(stayers))
    net.run(35.0)  # the estimate forgets the leavers after 30 heartbeats
    assert all(scamp(node).size() == 30 for node in stayers)
    assert strongly_connected(view_graph(stayers))
    net.run(10.0)
    assert_near_law(stayers, SLACK)


def test_a_lost_goodbye_is_made_up_for_at_the_next_heartbeat() -> None:
    """A leaver told of it only whose heartbeat named the community, as one in ten does: of half of
    60 that left at 15 % loss one was in a table still after ten seconds."""
    net = World(1)
    nodes = settled(net, 20)
    net.cut(lambda *_: False)
    for _ in range(5):
        net.do(nodes.pop(), lambda n, now: n.leave(TOPIC, now))
    net.heal()
    assert stale(nodes) > 0
    net.run(2 * 1.1)
    assert stale(nodes) == 0


def test_a_leaver_is_in_no_table_at_the_next_heartbeat() -> None:
    net = World(1)
    nodes = settled(net, 40)
    for _ in range(10):
        net.do(nodes.pop(), lambda n, now: n.leave(TOPIC, now))
        net.run(1.0)
        assert stale(nodes) == 0


def test_leaving_one_by_one_keeps_everybody_linked() -> None:
    net = World(2)
    nodes = grow(net, 30)
    while len(nodes) > 2:
        net.do(nodes.pop(), lambda n, now: n.leave(TOPIC, now))
        net.run(0.05)
        assert strongly_connected(view_graph(nodes))


# -- crashes -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "loss"),
    [(0.5, LOSS), *(pytest.param(share, 0.0, marks=pytest.mark.slow) for share in (0.3, 0.5))],
)
def test_crash(share: float, loss: float) -> None:
    """At once all survivors are still reached; the dead are dropped when helpers have confirmed
    their silence, and everybody then reaches everybody again.

    Static uniform views with c = 2 reach all with 0.9996 and 0.984 at 30 and 50 %.
    Young members have short views, so that some may for those seconds reach nobody. Of the seeds
    1 to 60 four miss one survivor (50 % dead, 15 % loss), among them 3; one is to be expected, and
    four or more have a chance of 1.6 %. And of the seeds 1 to 30 four, among them 4, have one arc
    to the dead for up to 1.1 s longer; 0.2 are to be expected of a seed with its 200 such arcs.
    """
    net = World(5, loss=loss)
    nodes = settled(net, 60)
    survivors = crash(net, nodes, share, seed=5)
    assert reached_from(survivors[0], survivors) == len(survivors)
    net.run(VERDICT + ASKED_AGAIN * bool(loss))
    assert stale(survivors) == 0
    # The estimate forgets the dead after 30 heartbeats, then a lease puts every in-view right.
    net.run(35.0 + DEFAULTS.lease_seconds if not loss else 20.0)
    assert strongly_connected(view_graph(survivors))
    if not loss:
        assert_lawful(survivors)


@pytest.mark.slow  # 3 s; tests of suspicion have loss, too
def test_loss_alone_causes_no_epidemic_of_false_verdicts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """15 % loss each way for 30 s: no live peer is given up, and views stay near the law."""
    net = World(4, loss=LOSS)
    nodes = settled(net, 60)
    silent = 0
    for node in nodes:
        membership = plug_of(scamp(node))
        give_up = membership._give_up

        def counted(peer: PeerId, now: float, give_up: GiveUp = give_up) -> None:
            nonlocal silent
            silent += 1
            give_up(peer, now)

        monkeypatch.setattr(membership, "_give_up", counted)
    net.run(30.0)
    assert silent == 0
    assert_near_law(nodes, SLACK)
    assert strongly_connected(view_graph(nodes))


@even_with_loss
def test_a_node_whose_holders_all_die_is_found_again(loss: float) -> None:
    net = World(5, loss=loss)
    nodes = settled(net, 40)
    lonely = nodes[20]
    holders = {contact.address for contact in scamp(lonely).in_view()}
    survivors = [node for node in nodes if node.me.address not in holders]
    for node in nodes:
        if node.me.address in holders:
            net.kill(node)
    net.run(VERDICT + 5.0)
    assert lonely.me.address in set().union(*view_graph(survivors).values())
    assert strongly_connected(view_graph(survivors))


# -- partitions --------------------------------------------------------------------------------


@pytest.mark.slow  # 3 s; a scenario has halves that heal in every run
@even_with_loss
def test_a_healed_partition_is_one_within_two_probe_periods(loss: float) -> None:
    """G6; each half meanwhile drops the other and stays one component."""
    net = World(6, loss=loss)
    nodes = settled(net, 40)
    halves = nodes[:20], nodes[20:]
    side = {node.me.address: number for number, half in enumerate(halves) for node in half}
    net.cut(lambda source, target: side[source] == side[target])
    net.run(VERDICT + 10.0)
    for half in halves:
        assert stale(half) == 0
        assert strongly_connected(view_graph(half))
    net.heal()
    net.run(2 * PROBE)
    assert strongly_connected(view_graph(nodes))
    net.run(35.0)
    assert strongly_connected(view_graph(nodes))
    assert_near_law(nodes, SLACK)


def test_two_founders_merge_through_a_restarted_gateway() -> None:
    """Founded apart because the only gateway knew nobody; it comes to know both."""
    net = World(7)
    gateway = net.add()
    address = gateway.me.address
    second = net.add((address,))
    first = grow(net, 5, gateways=(address,))
    net.kill(gateway)
    net.run(5.0)
    net.restart(gateway)  # empty, under the old address
    one = {node.me.address for node in first}
    net.cut(lambda source, target: not (target == address and source in one))
    net.do(second, lambda n, now: n.join(TOPIC, now))
    net.run(1.0)
    assert scamp(second).joined
    net.heal()
    both = [*first, second]
    assert net.run(60.0, until=lambda: strongly_connected(view_graph(both)))


# -- gateways ----------------------------------------------------------------------------------


def test_gateway_out_of_reach() -> None:
    """Members unaffected; the newcomer names what it asked, and joins when it is back."""
    net = World(8)
    gateway = net.add()
    address = gateway.me.address
    nodes = grow(net, 20, gateways=(address,))
    newcomer = net.add((address,))
    net.cut(lambda source, target: address not in (source, target))
    local_group = net.do(newcomer, lambda n, now: n.join(TOPIC, now))
    net.run(15.0)
    assert not local_group.joined
    assert local_group.unanswered is not None
    assert local_group.unanswered.unreachable == (address,)
    assert strongly_connected(view_graph(nodes))
    net.heal()
    assert net.run(31.0, until=lambda: local_group.joined)
    net.run(1.0)
    assert strongly_connected(view_graph([*nodes, newcomer]))


# -- pauses ------------------------------------------------------------------------------------


def test_a_pause_of_half_a_minute_expels_nobody() -> None:
    """The sleeper gives up nobody when it wakes, and is a member again within a lease."""
    net = World(9)
    nodes = grow(net, 30)
    net.run(5.0)
    sleeper = nodes[10]
    known = view_graph([sleeper])[sleeper.me.address]
    process = net.virtual.processes[sleeper.me.address]
    net.virtual.pause(process)
    net.run(30.0)
    others = [node for node in nodes if node is not sleeper]
    assert strongly_connected(view_graph(others))
    net.virtual.resume(process)
    assert not len(scamp(sleeper)._cold)  # nobody given up: suspects go to the cold list
    assert view_graph([sleeper])[sleeper.me.address] <= known | {n.me.address for n in others}
    net.run(VERDICT)
    assert not len(scamp(sleeper)._cold)
    net.run(2 * PROBE)
    assert strongly_connected(view_graph(nodes))


# -- the size estimate -------------------------------------------------------------------------


def assert_estimates(nodes: list[Node]) -> None:
    """Exact below the sample; else all agree and lie within 99.9 % of the stated error."""
    sizes = [scamp(node).size() for node in nodes]
    if len(nodes) < SAMPLE:
        assert set(sizes) == {len(nodes)}
    else:
        error = 3.29 / sqrt(SAMPLE - 2)
        assert all(abs(size / len(nodes) - 1) <= error for size in sizes)


@also_with_loss
def test_size_estimate_of_fifty_is_exact(loss: float) -> None:
    net = World(10, loss=loss)
    nodes = grow(net, 50)
    net.run(45.0 if loss else 10.0)  # lost answers of the gateway cost seconds each
    assert_estimates(nodes)


@pytest.mark.slow  # 7 s; that of fifty is looked at in every run
@pytest.mark.parametrize("seed", [11])
def test_size_estimate_of_two_hundred(seed: int) -> None:
    net = World(seed)
    nodes = grow(net, 200, gap=0.03)
    net.run(10.0)
    assert_estimates(nodes)


@pytest.mark.slow
def test_size_estimates_over_seeds() -> None:
    """Unbiased at 99.9 %, given the standard error of 1/sqrt(62) of each of the runs."""
    size, errors = 200, []
    for seed in range(3):
        net = World(100 + seed)
        nodes = grow(net, size, gap=0.02)
        net.run(15.0)
        assert_estimates(nodes)
        errors.append(mean(scamp(node).size() for node in nodes) / size - 1)
    print(f"\nN={size} relative errors of the size estimate: {[round(e, 3) for e in errors]}")
    assert abs(mean(errors)) <= 3.29 / sqrt((SAMPLE - 2) * len(errors))


@pytest.mark.slow
@pytest.mark.parametrize(("share", "loss"), [(0.3, LOSS), (0.8, 0.0)])
def test_crash_of_two_hundred(share: float, loss: float) -> None:
    """Prints (``-s``) how long the dead stay and when the views are back at the law.

    Within 5 % of it; with loss only the in-view control's own band is promised (the 5 % are
    reached within the minute by two seeds in three). And with loss, one component is not
    promised within two probes: after 80 % it took 10, 30, 60 and 100 s with four seeds.
    """
    net = World(12, loss=loss)
    nodes = grow(net, 200, gap=0.05)
    net.run(70.0)  # all have drawn arcs: one that is made just then is missed two seconds later
    survivors = crash(net, nodes, share, seed=12)
    start = net.now
    # Of four in five dead some survivors know nobody alive, and find others to ask first.
    patience = VERDICT + ASKED_AGAIN_OF_MANY * bool(loss) + PROBE_UNITS * (share > 0.5)
    assert net.run(patience, until=lambda: stale(survivors) == 0)
    dropped = net.now - start
    expected = (DEFAULTS.c + 1) * log(len(survivors))
    near = SLACK if loss else 0.05
    lawful = net.run(60.0, until=lambda: abs(mean_view(survivors) / expected - 1) <= near)
    patience = 180.0 if loss else 2 * PROBE
    whole = net.run(patience, until=lambda: strongly_connected(view_graph(survivors)))
    print(
        f"\ncrash {share:.0%} of 200, loss {loss}: dead dropped after {dropped:.1f} s,"
        f" mean view {mean_view(survivors):.2f} (law {expected:.2f}) at {net.now - start:.1f} s"
    )
    assert whole
    assert lawful


def test_who_leaves_right_after_joining_is_not_kept() -> None:
    """A holder whose KEPT is still on its way when its subscriber leaves is told so then."""
    net = World(9)
    nodes = settled(net, 12)
    hasty = net.add((nodes[0].me.address,))
    net.do(hasty, lambda node, now: node.join(TOPIC, now))
    local_group = hasty.local_group(TOPIC)
    assert local_group is not None
    assert net.run(5.0, until=lambda: local_group.joined)
    net.do(hasty, lambda node, now: node.leave(TOPIC, now))
    net.run(1.0)  # far less than the silence that would end the arc otherwise
    assert all(hasty.me.peer not in scamp(node).peers() for node in nodes)
